// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Remote memory regions.
 *
 * DAT_IOC_RMR_BIND prepares a bind and returns the new key.  An entry in the send queue then
 * executes the bind, in order with the other requests.
 */
#include <errno.h>

#include "foreign.h"
#include "libdat.h"

#define BAD_RMR	DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR)
#define IP(arg)	DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##arg)

UDAT_EXPORT DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	struct dat_rmr_create arg = { .size = sizeof(arg) };
	struct udat_pz *pz = udat_pz(pz_handle);
	struct udat_rmr *rmr;
	int ret;

	UDAT_FORWARD(pz_handle, rmr_create, rmr_handle);
	if (!pz)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (!rmr_handle)
		return IP(2);
	rmr = udat_obj_new(pz->obj.ia);
	if (!rmr)
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	rmr->pz = pz;
	arg.pz = pz->obj.id;
	arg.user_data = (uintptr_t)rmr;
	ret = du_file_ioctl(&pz->obj.ia->file, DAT_IOC_RMR_CREATE, &arg);
	if (ret) {
		udat_obj_drop(&rmr->obj);
		return ret == -ENOMEM ? DAT_ERR(DAT_INSUFFICIENT_RESOURCES,
						DAT_RESOURCE_MEMORY_REGION) :
					dat_err_from_errno(-ret);
	}
	rmr->obj.id = arg.id;
	udat_obj_publish(&rmr->obj, UDAT_TYPE(RMR));
	*rmr_handle = rmr;
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK mask,
				     DAT_RMR_PARAM *param)
{
	struct udat_rmr *rmr = udat_rmr(rmr_handle);

	UDAT_FORWARD(rmr_handle, rmr_query, mask, param);
	if (!rmr)
		return BAD_RMR;
	if (mask & ~DAT_RMR_FIELD_ALL)
		return IP(2);
	if (!param)
		return IP(3);
	param->ia_handle = rmr->obj.ia;
	param->pz_handle = rmr->pz;
	param->lmr_triplet = rmr->segment;
	param->mem_priv = rmr->priv;
	param->rmr_context = rmr->context;
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	struct udat_rmr *rmr = udat_rmr(rmr_handle);
	DAT_RETURN rc;

	UDAT_FORWARD(rmr_handle, rmr_free);
	if (!rmr)
		return BAD_RMR;
	rc = udat_obj_free(&rmr->obj, UDAT_TYPE(RMR), DAT_OBJ_RMR, BAD_RMR, BAD_RMR);
	if (rc != DAT_SUCCESS)
		return rc;
	udat_obj_free_deferred(&rmr->obj, NULL, 0);
	return DAT_SUCCESS;
}

/* Find the LMR of the segment @seg.  *@lmr is NULL if the segment is empty, which means unbind. */
static DAT_RETURN find_lmr(const struct udat_rmr *rmr, const DAT_LMR_TRIPLET *seg,
			   DAT_MEM_PRIV_FLAGS priv, struct udat_lmr **lmr)
{
	*lmr = NULL;
	if (!seg->segment_length)
		return DAT_SUCCESS;
	*lmr = udat_lmr_find(rmr->obj.ia, seg->lmr_context);
	if (!*lmr)
		return IP(2);
	if ((*lmr)->pz != rmr->pz)
		return DAT_ERR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	if (udat_check_range(rmr->obj.ia, seg))
		return IP(2);
	/*
	 * Remote write requires local write.  Remote read would require local read, but the library
	 * never requires local read.
	 */
	if (priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG &&
	    !((*lmr)->priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		return DAT_ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	return DAT_SUCCESS;
}

#define BIND_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG)

static DAT_RETURN bind_check(const struct udat_rmr *rmr, const DAT_LMR_TRIPLET *seg,
			     DAT_MEM_PRIV_FLAGS priv, const struct udat_ep *ep,
			     DAT_COMPLETION_FLAGS flags)
{
	DAT_COMPLETION_FLAGS allowed = BIND_FLAGS;
	DAT_EP_STATE state;

	if (!rmr)
		return BAD_RMR;
	if (!seg)
		return IP(2);
	if (priv & ~DAT_MEM_PRIV_ALL_FLAG)
		return IP(3);
	if (!ep || ep->obj.ia != rmr->obj.ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!(ep->attr.request_completion_flags & DAT_COMPLETION_UNSIGNALLED_FLAG))
		allowed &= ~DAT_COMPLETION_UNSIGNALLED_FLAG;
	if (flags & ~allowed)
		return IP(6);
	if (ep->request_evd && !(ep->request_evd->flags & DAT_EVD_RMR_BIND_FLAG))
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	state = udat_ep_state(ep);
	if (state != DAT_EP_STATE_CONNECTED && state != DAT_EP_STATE_DISCONNECTED)
		return udat_state_error(state);
	if (ep->pz != rmr->pz)
		return DAT_ERR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

static DAT_RETURN bind_error(int err)
{
	switch (err) {
	case EFAULT:
	case EINVAL:
		return IP(2);
	case EXDEV:
		return DAT_ERR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	case EPERM:
		return DAT_ERR(DAT_PRIVILEGES_VIOLATION, DAT_NO_SUBTYPE);
	case ENOMEM:
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	default:
		return dat_err_from_errno(err);
	}
}

/*
 * Prepare and post a bind.  The caller holds the lock of the send queue, so that no other post
 * takes the free entry between the check and the write.
 */
static DAT_RETURN bind_post(struct udat_ep *ep, struct udat_rmr *rmr, struct dat_rmr_bind *arg,
			    const struct dat_sqe *sqe)
{
	struct dat_sqe *entry;
	int ret;

	if (du_queue_full(&ep->sq))
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	ret = du_file_ioctl(&ep->obj.ia->file, DAT_IOC_RMR_BIND, arg);
	if (ret)
		return bind_error(-ret);
	entry = du_queue_entry(&ep->sq);
	*entry = *sqe;
	entry->rkey = arg->ticket;
	entry->raddr = rmr->obj.id;
	return du_queue_push(&ep->sq, 0) ? udat_kick_error(ep->obj.ia) : DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle,
				    const DAT_LMR_TRIPLET *lmr_triplet,
				    DAT_MEM_PRIV_FLAGS mem_priv, DAT_EP_HANDLE ep_handle,
				    DAT_RMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS flags,
				    DAT_RMR_CONTEXT *rmr_context)
{
	struct udat_rmr *rmr = udat_rmr(rmr_handle);
	struct udat_ep *ep = udat_ep(ep_handle);
	struct dat_rmr_bind arg = { .size = sizeof(arg) };
	struct dat_sqe sqe = {
		.opcode = DAT_OP_RMR_BIND, .flags = (uint8_t)flags, .cookie = user_cookie.as_64,
	};
	struct udat_lmr *lmr;
	DAT_RETURN rc;

	UDAT_FORWARD(rmr_handle, rmr_bind, lmr_triplet, mem_priv, ep_handle, user_cookie, flags,
		     rmr_context);
	rc = bind_check(rmr, lmr_triplet, mem_priv, ep, flags);
	if (rc == DAT_SUCCESS && !rmr_context)
		rc = IP(7);
	if (rc == DAT_SUCCESS)
		rc = find_lmr(rmr, lmr_triplet, mem_priv, &lmr);
	if (rc != DAT_SUCCESS)
		return rc;
	arg.id = rmr->obj.id;
	arg.lmr = UDAT_ID(lmr);
	arg.priv = mem_priv & (DAT_PRIV_REMOTE_READ | DAT_PRIV_REMOTE_WRITE);
	arg.addr = lmr_triplet->virtual_address;
	arg.length = lmr_triplet->segment_length;
	do {
		du_lock(&ep->sq.lock);
		rc = bind_post(ep, rmr, &arg, &sqe);
		du_unlock(&ep->sq.lock);
		/* LMRs that are kept but not used give way to the binding. */
	} while (rc == DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION) &&
		 udat_lmr_cache_clear(ep->obj.ia));
	if (rc != DAT_SUCCESS)
		return rc;
	udat_obj_defer_on(&rmr->obj, ep->request_evd);
	rmr->segment = *lmr_triplet;
	rmr->priv = mem_priv;
	rmr->context = arg.rmr_context;
	*rmr_context = arg.rmr_context;
	return DAT_SUCCESS;
}
