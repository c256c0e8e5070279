// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Event dispatchers: create, query, modify, free, and software events. */
#include <errno.h>

#include "foreign.h"
#include "libdat.h"

void udat_evd_unmap(struct udat_evd *evd)
{
	struct udat_mappings *m = &evd->obj.ia->mappings;

	udat_span_unmap(m, &evd->ring);
	udat_span_unmap(m, &evd->status);
	udat_span_unmap(m, &evd->submit);
}

static DAT_RETURN evd_map(struct udat_evd *evd, const struct dat_evd_create *arg)
{
	struct udat_mappings *m = &evd->obj.ia->mappings;
	int ret;

	ret = udat_span_map(m, evd->obj.ia->file.fd, &arg->submit, 1, &evd->submit);
	if (!ret)
		ret = udat_span_map(m, evd->obj.ia->file.fd, &arg->status, 0, &evd->status);
	if (!ret)
		ret = udat_span_map(m, evd->obj.ia->file.fd, &arg->ring, 0, &evd->ring);
	if (ret)
		return dat_err_from_errno(-ret);
	du_events_init(&evd->events, arg->qlen, arg->eqe_shift, evd->submit.va, evd->status.va,
		       evd->ring.va);
	return DAT_SUCCESS;
}

DAT_RETURN udat_evd_make(struct udat_ia *ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
			 struct udat_evd **out)
{
	struct dat_evd_create arg = { .size = sizeof(arg), .streams = flags, .qlen = qlen };
	struct dat_free undo = { .size = sizeof(undo), .type = DAT_OBJ_EVD };
	struct udat_evd *evd = udat_obj_new(ia);
	DAT_RETURN rc;
	int ret;

	if (!evd)
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	arg.user_data = (uintptr_t)evd;
	ret = du_file_ioctl(&ia->file, DAT_IOC_EVD_CREATE, &arg);
	if (ret) {
		rc = ret == -ENOMEM ? DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD) :
				      dat_err_from_errno(-ret);
		goto err_drop;
	}
	evd->obj.id = arg.id;
	evd->lock.single = udat_unlocked(ia);
	evd->flags = flags;
	rc = evd_map(evd, &arg);
	if (rc != DAT_SUCCESS)
		goto err_free;
	udat_obj_publish(&evd->obj, UDAT_TYPE(EVD));
	*out = evd;
	return DAT_SUCCESS;

err_free:
	undo.id = arg.id;
	du_file_ioctl(&ia->file, DAT_IOC_FREE, &undo);
	udat_evd_unmap(evd);
err_drop:
	udat_obj_drop(&evd->obj);
	return rc;
}

/* Returns false if @handle is NULL, or is a CNO of @ia; otherwise true. */
static int cno_bad(const struct udat_ia *ia, DAT_CNO_HANDLE handle)
{
	struct udat_cno *cno = udat_cno(handle);

	return handle != DAT_HANDLE_NULL && (!cno || cno->obj.ia != ia);
}

static DAT_RETURN evd_set_cno(struct udat_evd *evd, struct udat_cno *cno)
{
	struct dat_evd_modify_cno arg = {
		.size = sizeof(arg), .id = evd->obj.id, .cno = cno ? cno->obj.id : 0,
	};
	int ret;

	/* If two threads change the CNO, ia->lock keeps @cno equal to the driver's CNO. */
	pthread_mutex_lock(&evd->obj.ia->lock);
	ret = du_file_ioctl(&evd->obj.ia->file, DAT_IOC_EVD_MODIFY_CNO, &arg);
	if (!ret) {
		du_lock(&evd->lock);
		__atomic_store_n(&evd->cno, cno, __ATOMIC_RELAXED);
		du_unlock(&evd->lock);
	}
	pthread_mutex_unlock(&evd->obj.ia->lock);
	return ret ? dat_err_from_errno(-ret) : DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT min_qlen,
				      DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS flags,
				      DAT_EVD_HANDLE *evd_handle)
{
	struct udat_ia *ia = udat_ia(ia_handle);
	struct udat_evd *evd;
	DAT_RETURN rc;

	UDAT_FORWARD(ia_handle, evd_create, min_qlen, cno_handle, flags, evd_handle);
	if (!ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (cno_bad(ia, cno_handle))
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	if (min_qlen <= 0)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if ((uint32_t)min_qlen > ia->info.max_evd_qlen)
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	if (!flags || flags & ~(DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG))
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!evd_handle)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	rc = udat_evd_make(ia, min_qlen, flags, &evd);
	if (rc != DAT_SUCCESS)
		return rc;
	if (cno_handle != DAT_HANDLE_NULL)
		rc = evd_set_cno(evd, cno_handle);
	if (rc != DAT_SUCCESS) {
		dat_evd_free(evd);
		return rc;
	}
	*evd_handle = evd;
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle)
{
	struct udat_evd *evd = udat_evd(evd_handle);

	UDAT_FORWARD(evd_handle, evd_modify_cno, cno_handle);
	if (!evd)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (cno_bad(evd->obj.ia, cno_handle))
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	return evd_set_cno(evd, cno_handle);
}

static DAT_EVD_STATE evd_config(const struct udat_evd *evd)
{
	if (evd->feeds[UDAT_FEED_NOTIFY])
		return DAT_EVD_STATE_CONFIG_NOTIFY;
	if (evd->feeds[UDAT_FEED_SOLICITED])
		return DAT_EVD_STATE_CONFIG_SOLICITED;
	return evd->feeds[UDAT_FEED_THRESHOLD] ? DAT_EVD_STATE_CONFIG_THRESHOLD :
						 (DAT_EVD_STATE)0;
}

UDAT_EXPORT DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK mask,
				     DAT_EVD_PARAM *param)
{
	struct udat_evd *evd = udat_evd(evd_handle);

	UDAT_FORWARD(evd_handle, evd_query, mask, param);
	if (!evd)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (mask & ~DAT_EVD_FIELD_ALL)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	param->ia_handle = evd->obj.ia;
	du_lock(&evd->lock);
	param->evd_qlen = evd->events.mask + 1;
	param->evd_state = evd_config(evd) |
			   (evd->disabled ? DAT_EVD_STATE_DISABLED : DAT_EVD_STATE_ENABLED) |
			   (evd->unwaitable ? DAT_EVD_STATE_UNWAITABLE : DAT_EVD_STATE_WAITABLE);
	param->cno_handle = evd->cno;
	du_unlock(&evd->lock);
	param->evd_flags = evd->flags;
	return DAT_SUCCESS;
}

static int evd_is_fed(const struct udat_evd *evd)
{
	int i;

	for (i = 0; i < UDAT_FEED_KINDS; i++)
		if (evd->feeds[i])
			return 1;
	return 0;
}

static int evd_occupy(struct udat_evd *evd)
{
	int free;

	du_lock(&evd->lock);
	free = !evd->waiting && !evd_is_fed(evd);
	if (free)
		__atomic_store_n(&evd->waiting, 1, __ATOMIC_RELAXED);
	du_unlock(&evd->lock);
	return free;
}

/*
 * Correct the SRQs' counts of outstanding buffers when an EVD is freed with events in its ring.
 * Before the free, the caller passes 1 as @by, because the free ends the use of the buffers of
 * these events.  If the driver refuses the free, the caller passes -1 to undo the correction.  The
 * EPs that the events name exist as long as the EVD.
 */
static void evd_disown_srq(struct udat_evd *evd, int by)
{
	const struct du_events *e = &evd->events;
	uint32_t left = du_events_count(e), i;

	for (i = 0; i < left; i++) {
		const struct dat_eqe *eqe = du_events_at(e, e->head + i);
		struct udat_ep *ep = (struct udat_ep *)(uintptr_t)eqe->owner;

		if (eqe->type == DAT_EV_DTO && eqe->flags & DAT_EQE_SRQ)
			__atomic_fetch_add(&ep->srq->reaped, (uint32_t)by, __ATOMIC_RELAXED);
	}
}

UDAT_EXPORT DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle)
{
	struct udat_evd *evd = udat_evd(evd_handle);
	DAT_RETURN bad = DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	DAT_RETURN in_use = DAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	DAT_RETURN rc;

	UDAT_FORWARD(evd_handle, evd_free);
	if (!evd)
		return bad;
	/*
	 * Set @waiting, as a waiter does, so that no other thread begins to wait before the pages
	 * are unmapped.
	 */
	if (!evd_occupy(evd))
		return in_use;
	evd_disown_srq(evd, 1);
	/*
	 * udat_obj_free_deferred() reads the pages of live EVDs under ia->lock.  While the driver
	 * may still refuse the free, that function must not see the handle revoked, because the
	 * queued events still name other objects.
	 */
	pthread_mutex_lock(&evd->obj.ia->lock);
	rc = udat_obj_free(&evd->obj, UDAT_TYPE(EVD), DAT_OBJ_EVD, bad, in_use);
	if (rc == DAT_SUCCESS)
		udat_evd_unmap(evd);
	pthread_mutex_unlock(&evd->obj.ia->lock);
	if (rc != DAT_SUCCESS) {
		evd_disown_srq(evd, -1);
		du_lock(&evd->lock);
		__atomic_store_n(&evd->waiting, 0, __ATOMIC_RELAXED);
		du_unlock(&evd->lock);
		return rc;
	}
	/* A queued async event about an overflow may still name the EVD. */
	udat_obj_free_deferred(&evd->obj, NULL, 0);
	return DAT_SUCCESS;
}

/* Set or clear @flag (DAT_EVD_*) in the driver, and in *@mine, the library's copy. */
static DAT_RETURN evd_set(struct udat_evd *evd, uint32_t flag, int *mine, int on)
{
	struct dat_evd_set arg = {
		.size = sizeof(arg), .id = evd->obj.id, .flags = on ? flag : 0, .mask = flag,
	};
	int ret;

	/*
	 * If two threads change the flag, the lock keeps the library's copy equal to the driver's
	 * flag.
	 */
	pthread_mutex_lock(&evd->obj.ia->lock);
	ret = du_file_ioctl(&evd->obj.ia->file, DAT_IOC_EVD_SET, &arg);
	if (!ret) {
		du_lock(&evd->lock);
		*mine = on;
		du_unlock(&evd->lock);
	}
	pthread_mutex_unlock(&evd->obj.ia->lock);
	return ret ? dat_err_from_errno(-ret) : DAT_SUCCESS;
}

static DAT_RETURN evd_set_unwaitable(struct udat_evd *evd, int on)
{
	return evd ? evd_set(evd, DAT_EVD_UNWAITABLE, &evd->unwaitable, on) :
		     DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

static DAT_RETURN evd_set_disabled(struct udat_evd *evd, int on)
{
	return evd ? evd_set(evd, DAT_EVD_DISABLED, &evd->disabled, on) :
		     DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

UDAT_EXPORT DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	UDAT_FORWARD(evd_handle, evd_set_unwaitable);
	return evd_set_unwaitable(udat_evd(evd_handle), 1);
}

UDAT_EXPORT DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	UDAT_FORWARD(evd_handle, evd_clear_unwaitable);
	return evd_set_unwaitable(udat_evd(evd_handle), 0);
}

UDAT_EXPORT DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd_handle)
{
	UDAT_FORWARD(evd_handle, evd_enable);
	return evd_set_disabled(udat_evd(evd_handle), 0);
}

UDAT_EXPORT DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd_handle)
{
	UDAT_FORWARD(evd_handle, evd_disable);
	return evd_set_disabled(udat_evd(evd_handle), 1);
}

UDAT_EXPORT DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	struct udat_evd *evd = udat_evd(evd_handle);
	struct dat_evd_post arg = { .size = sizeof(arg) };
	int ret;

	UDAT_FORWARD(evd_handle, evd_post_se, event);
	if (!evd)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!event || event->event_number != DAT_SOFTWARE_EVENT)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!(evd->flags & DAT_EVD_SOFTWARE_FLAG))
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	arg.id = evd->obj.id;
	arg.cookie = (uintptr_t)event->event_data.software_event_data.pointer;
	ret = du_file_ioctl(&evd->obj.ia->file, DAT_IOC_EVD_POST, &arg);
	if (ret == -ENOSPC)
		return DAT_ERR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE);
	return ret ? dat_err_from_errno(-ret) : DAT_SUCCESS;
}
