// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Resizing of the ring of an EVD. */
#include <errno.h>

#include "foreign.h"
#include "libdat.h"

/*
 * Commit the resize under evd->lock, so that no thread takes events from the old ring after the
 * commit.  Events that arrive after the commit are only in the new ring, but the tail, which
 * belongs to both rings, counts these events too.
 */
static int evd_commit(struct udat_evd *evd, struct udat_ring_change *c,
		      const struct dat_evd_resize *arg)
{
	int ret;

	du_lock(&evd->lock);
	ret = udat_ring_commit(c);
	if (!ret)
		du_events_move(&evd->events, arg->qlen, c->span.va);
	du_unlock(&evd->lock);
	return ret;
}

/*
 * The caller holds ia->lock.  The lock allows one resize at a time, and udat_obj_free_deferred()
 * reads the ring under the lock.
 */
static int evd_replace_ring(struct udat_evd *evd, uint32_t qlen)
{
	struct dat_evd_resize arg = { .size = sizeof(arg), .id = evd->obj.id, .qlen = qlen };
	struct udat_ring_change c = {
		.ia = evd->obj.ia, .cmd = DAT_IOC_EVD_RESIZE, .arg = &arg, .step = &arg.step,
		.at = &arg.ring,
	};
	int ret;

	ret = udat_ring_prepare(&c);
	if (ret)
		return ret;
	ret = evd_commit(evd, &c, &arg);
	if (ret) {
		udat_ring_cancel(&c);
		return ret;
	}
	udat_span_unmap(&evd->obj.ia->mappings, &evd->ring);
	evd->ring = c.span;
	return 0;
}

static DAT_RETURN evd_resize(struct udat_evd *evd, uint32_t qlen)
{
	int ret;

	pthread_mutex_lock(&evd->obj.ia->lock);
	ret = evd_replace_ring(evd, qlen);
	pthread_mutex_unlock(&evd->obj.ia->lock);
	switch (-ret) {
	case 0:
		return DAT_SUCCESS;
	case ENOSPC:
		return DAT_ERR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	case EBUSY:
		/*
		 * A thread began to wait during the resize, for more events than the new ring
		 * holds.
		 */
		return DAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	case ENOMEM:
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	default:
		return dat_err_from_errno(-ret);
	}
}

UDAT_EXPORT DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT min_qlen)
{
	struct udat_evd *evd = udat_evd(evd_handle);

	UDAT_FORWARD(evd_handle, evd_resize, min_qlen);
	if (!evd)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (min_qlen <= 0)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if ((uint32_t)min_qlen > evd->obj.ia->info.max_evd_qlen)
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	if (__atomic_load_n(&evd->waiting, __ATOMIC_RELAXED))
		return DAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	return evd_resize(evd, (uint32_t)min_qlen);
}
