// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Resizing the ring of an EVD. */
#include <errno.h>

#include "foreign.h"
#include "libdat.h"

/* A ring that the driver has prepared: all of its pages, and those again for the first. */
struct evd_ring {
	struct du_map	all;
	struct du_map	first;
};

static int evd_map_ring(struct udat_evd *evd, const struct dat_evd_resize *arg,
			struct evd_ring *r)
{
	int fd = evd->obj.ia->fd;
	int ret = du_map(fd, arg->status_offset, arg->status_size, 0, &r->all);

	if (ret)
		return ret;
	ret = du_map(fd, arg->status_offset, arg->status_size, 0, &r->first);
	if (ret)
		du_unmap(&r->all);
	return ret;
}

/* Look at the new ring.  Until here events were taken from the old one, which has them too. */
static void evd_use_ring(struct udat_evd *evd, uint32_t qlen, struct evd_ring *r)
{
	du_lock(&evd->lock);
	du_map_over(&evd->status, &r->first);
	du_unmap(&evd->ring);
	evd->ring = r->all;
	du_events_move(&evd->events, qlen, evd->status.va, evd->ring.va);
	du_unlock(&evd->lock);
}

/* Under the IA's lock: one resize at a time, and udat_obj_bury() looks at the pages. */
static int evd_change(struct udat_evd *evd, uint32_t qlen)
{
	struct dat_evd_resize arg = {
		.size = sizeof(arg), .id = evd->obj.id, .qlen = qlen, .step = DAT_RING_PREPARE,
	};
	int fd = evd->obj.ia->fd;
	struct evd_ring r = {};
	int ret;

	ret = du_ioctl(fd, DAT_IOC_EVD_RESIZE, &arg);
	if (ret)
		return ret;
	ret = evd_map_ring(evd, &arg, &r);
	if (ret)
		goto err_cancel;
	arg.step = DAT_RING_COMMIT;
	ret = du_ioctl(fd, DAT_IOC_EVD_RESIZE, &arg);
	if (ret)
		goto err_unmap;
	evd_use_ring(evd, arg.qlen, &r);
	return 0;

err_unmap:
	du_unmap(&r.first);
	du_unmap(&r.all);
err_cancel:
	arg.step = DAT_RING_CANCEL;
	du_ioctl(fd, DAT_IOC_EVD_RESIZE, &arg);
	return ret;
}

static DAT_RETURN evd_resize(struct udat_evd *evd, uint32_t qlen)
{
	int ret;

	pthread_mutex_lock(&evd->obj.ia->lock);
	ret = evd_change(evd, qlen);
	pthread_mutex_unlock(&evd->obj.ia->lock);
	switch (-ret) {
	case 0:
		return DAT_SUCCESS;
	case EISCONN:
		return DAT_ERR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	case EBUSY:
		/* One that came meanwhile, for more events than it would hold. */
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
