// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Reserved service points.  An RSP takes a single connection request, for one endpoint. */
#include <errno.h>

#include "foreign.h"
#include "libdat.h"

#define BAD_RSP	DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP)

static void listener_free(const struct udat_ia *ia, uint32_t id)
{
	struct dat_free arg = { .size = sizeof(arg), .type = DAT_OBJ_PSP, .id = id };

	if (id)
		du_file_ioctl(&ia->file, DAT_IOC_FREE, &arg);
}

/*
 * Stop listening and release the reserved EP.  The EP gets the state @stage.  Returns the EP, or
 * NULL if none was reserved.
 */
static struct udat_ep *rsp_end(struct udat_rsp *rsp, DAT_EP_STATE stage)
{
	struct udat_ia *ia = rsp->obj.ia;
	struct udat_ep *ep;
	uint32_t id;

	pthread_mutex_lock(&ia->lock);
	ep = rsp->ep;
	id = rsp->obj.id;
	rsp->ep = NULL;
	rsp->obj.id = 0;
	rsp->spent = 1;
	if (ep)
		ep->stage = stage;
	pthread_mutex_unlock(&ia->lock);
	listener_free(ia, id);
	return ep;
}

/*
 * Stop listening when the request has come, so that the connection qualifier becomes free.  The
 * handle of the RSP stays valid until dat_rsp_free().  Returns the reserved EP, or NULL.
 */
struct udat_ep *udat_rsp_spend(struct udat_rsp *rsp)
{
	return rsp_end(rsp, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
}

static DAT_RETURN rsp_listen(struct udat_rsp *rsp)
{
	struct dat_psp_create arg = {
		.size = sizeof(arg), .evd = rsp->evd->obj.id, .conn_qual = rsp->conn_qual,
		.user_data = (uintptr_t)rsp, .flags = DAT_PSP_ONE_SHOT,
	};
	struct udat_ia *ia = rsp->obj.ia;
	int ret = du_file_ioctl(&ia->file, DAT_IOC_PSP_CREATE, &arg);
	int spent;

	if (ret)
		return udat_listen_error(ia, -ret, 0);
	pthread_mutex_lock(&ia->lock);
	spent = rsp->spent;
	if (!spent)
		rsp->obj.id = arg.id;
	pthread_mutex_unlock(&ia->lock);
	/*
	 * If the request came before @obj.id was stored, udat_rsp_spend() could not free the
	 * listener.
	 */
	if (spent)
		listener_free(ia, arg.id);
	return DAT_SUCCESS;
}

/* Reserve @ep for the request of the RSP.  Does nothing if @ep is NULL. */
static DAT_RETURN rsp_reserve(struct udat_rsp *rsp, struct udat_ep *ep)
{
	DAT_RETURN rc = DAT_SUCCESS;

	if (!ep)
		return DAT_SUCCESS;
	pthread_mutex_lock(&rsp->obj.ia->lock);
	if (udat_ep_state(ep) == DAT_EP_STATE_UNCONNECTED) {
		ep->stage = DAT_EP_STATE_RESERVED;
		rsp->ep = ep;
	} else {
		rc = udat_state_error(udat_ep_state(ep));
	}
	pthread_mutex_unlock(&rsp->obj.ia->lock);
	return rc;
}

static DAT_RETURN rsp_check(const struct udat_ia *ia, DAT_CONN_QUAL qual,
			    DAT_EP_HANDLE ep_handle, const struct udat_evd *evd,
			    const DAT_RSP_HANDLE *out)
{
	struct udat_ep *ep = udat_ep(ep_handle);

	if (!ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!qual)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (ep_handle != DAT_HANDLE_NULL && (!ep || ep->obj.ia != ia))
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!evd || evd->obj.ia != ia || !(evd->flags & DAT_EVD_CR_FLAG))
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	if (!out)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (ep && udat_ep_state(ep) != DAT_EP_STATE_UNCONNECTED)
		return udat_state_error(udat_ep_state(ep));
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
				      DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
				      DAT_RSP_HANDLE *rsp_handle)
{
	struct udat_evd *evd = udat_evd(evd_handle);
	struct udat_ia *ia = udat_ia(ia_handle);
	struct udat_ep *ep = udat_ep(ep_handle);
	struct udat_rsp *rsp;
	DAT_RETURN rc;

	UDAT_FORWARD(ia_handle, rsp_create, conn_qual, ep_handle, evd_handle, rsp_handle);
	rc = rsp_check(ia, conn_qual, ep_handle, evd, rsp_handle);
	if (rc != DAT_SUCCESS)
		return rc;
	rsp = udat_obj_new(ia);
	if (!rsp)
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (udat_evd_feed_alone(evd, UDAT_FEED_OTHER)) {
		udat_obj_drop(&rsp->obj);
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	}
	rsp->evd = evd;
	rsp->conn_qual = conn_qual;
	rc = rsp_reserve(rsp, ep);
	if (rc != DAT_SUCCESS)
		goto err_unfeed;
	/*
	 * Publish the handle before rsp_listen().  A request that names the handle may arrive
	 * before rsp_listen() returns.
	 */
	udat_obj_publish(&rsp->obj, UDAT_TYPE(RSP));
	rc = rsp_listen(rsp);
	if (rc != DAT_SUCCESS)
		goto err_release;
	*rsp_handle = rsp;
	return DAT_SUCCESS;

err_release:
	rsp_end(rsp, DAT_EP_STATE_UNCONNECTED);
err_unfeed:
	udat_evd_unfeed(evd, UDAT_FEED_OTHER);
	udat_obj_drop(&rsp->obj);
	return rc;
}

UDAT_EXPORT DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK mask,
				     DAT_RSP_PARAM *param)
{
	struct udat_rsp *rsp = udat_rsp(rsp_handle);

	UDAT_FORWARD(rsp_handle, rsp_query, mask, param);
	if (!rsp)
		return BAD_RSP;
	if (mask & ~DAT_RSP_FIELD_ALL)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	param->ia_handle = rsp->obj.ia;
	param->conn_qual = rsp->conn_qual;
	param->evd_handle = rsp->evd;
	param->ep_handle = rsp->ep;
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	struct udat_rsp *rsp = udat_rsp(rsp_handle);

	UDAT_FORWARD(rsp_handle, rsp_free);
	if (!rsp || !du_slot_revoke(&rsp->obj.slot, UDAT_TYPE(RSP)))
		return BAD_RSP;
	rsp_end(rsp, DAT_EP_STATE_UNCONNECTED);
	udat_evd_unfeed(rsp->evd, UDAT_FEED_OTHER);
	udat_obj_free_deferred(&rsp->obj, &rsp->evd, 1);
	return DAT_SUCCESS;
}
