// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Resizing the ring of an EVD. */
#include <errno.h>

#include "foreign.h"
#include "libdat.h"

enum { ALL, FIRST };

/*
 * The status region is mapped twice: all of its pages, and the first page once more, which replaces
 * the old first page.
 */
static int evd_map_ring(int fd, const void *p, struct du_map pages[2])
{
	const struct dat_evd_resize *arg = p;
	int ret = du_map(fd, arg->status_offset, arg->status_size, 0, &pages[ALL]);

	if (ret)
		return ret;
	ret = du_map(fd, arg->status_offset, arg->status_size, 0, &pages[FIRST]);
	if (ret)
		du_unmap(&pages[ALL]);
	return ret;
}

/* Under the IA's lock: one resize at a time, and udat_obj_free_deferred() reads the pages. */
static int evd_replace_ring(struct udat_evd *evd, uint32_t qlen)
{
	struct dat_evd_resize arg = { .size = sizeof(arg), .id = evd->obj.id, .qlen = qlen };
	struct udat_ring_change c = {
		.cmd = DAT_IOC_EVD_RESIZE, .arg = &arg, .step = &arg.step, .map = evd_map_ring,
	};
	int ret;

	ret = udat_ring_replace(evd->obj.ia->fd, &c);
	if (ret)
		return ret;
	/* Until here, events were taken from the old ring; the new ring holds them as well. */
	du_lock(&evd->lock);
	du_map_over(&evd->status, &c.pages[FIRST]);
	du_unmap(&evd->ring);
	evd->ring = c.pages[ALL];
	du_events_move(&evd->events, arg.qlen, evd->status.va, evd->ring.va);
	du_unlock(&evd->lock);
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
		/* A waiter came meanwhile, for more events than the new ring holds. */
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
