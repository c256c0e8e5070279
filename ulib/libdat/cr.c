// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Connection requests. */
#include <errno.h>
#include <string.h>

#include "foreign.h"
#include "libdat.h"

#define BAD_CR	DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR)

/*
 * Fetch the data of a request from the driver.  One fetch is enough, because a request never
 * changes.
 */
static int cr_fetch(struct udat_cr *cr)
{
	struct dat_cr_query arg = { .size = sizeof(arg), .id = cr->obj.id };
	int ret = 0;

	pthread_mutex_lock(&cr->obj.ia->lock);
	if (cr->queried)
		goto out;
	ret = du_file_ioctl(&cr->obj.ia->file, DAT_IOC_CR_QUERY, &arg);
	if (ret)
		goto out;
	memcpy(cr->remote, arg.remote, sizeof(cr->remote));
	memcpy(cr->pd, arg.pd, sizeof(cr->pd));
	cr->remote_port = arg.remote_port;
	memcpy(cr->local, arg.local, sizeof(cr->local));
	cr->local_len = arg.local_len;
	cr->pd_len = arg.pd_len;
	cr->queried = 1;
out:
	pthread_mutex_unlock(&cr->obj.ia->lock);
	return ret;
}

/*
 * Prepare a request whose event has been dequeued.  @sp is the service point of the request.  An
 * RSP passes its reserved EP to the request.  A PSP with DAT_PSP_PROVIDER_FLAG, or an RSP without
 * an EP, makes the library create an EP for the request.  If @sp has been freed, the request has no
 * EP.
 */
void udat_cr_arrived(struct udat_cr *cr, void *sp)
{
	struct udat_psp *psp = udat_psp(sp);
	struct udat_rsp *rsp = udat_rsp(sp);

	if (rsp)
		cr->ep = udat_rsp_spend(rsp);
	if ((psp && psp->flags == DAT_PSP_PROVIDER_FLAG) || (rsp && !cr->ep)) {
		cr->ep = udat_ep_tentative(cr->obj.ia);
		cr->ep_is_ours = 1;
	}
}

/*
 * Returns the local address that received the request.  If the request is gone, or if the driver is
 * older than this field, returns the address that represents the adapter.
 */
DAT_IA_ADDRESS_PTR udat_cr_local(struct udat_cr *cr)
{
	if (cr_fetch(cr) || !cr->local_len)
		return (DAT_IA_ADDRESS_PTR)cr->obj.ia->info.addr;
	return (DAT_IA_ADDRESS_PTR)cr->local;
}

/* Give up the EP of a request that is rejected or handed off. */
static void cr_release_ep(struct udat_cr *cr)
{
	if (!cr->ep)
		return;
	if (cr->ep_is_ours)
		udat_ep_discard(cr->ep);
	else
		cr->ep->stage = DAT_EP_STATE_UNCONNECTED;
}

UDAT_EXPORT DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK mask,
				    DAT_CR_PARAM *param)
{
	struct udat_cr *cr = udat_cr(cr_handle);
	int ret;

	UDAT_FORWARD(cr_handle, cr_query, mask, param);
	if (!cr)
		return BAD_CR;
	if (mask & ~DAT_CR_FIELD_ALL)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ret = cr_fetch(cr);
	if (ret)
		return ret == -ENOENT ? BAD_CR : dat_err_from_errno(-ret);
	param->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)cr->remote;
	param->remote_port_qual = cr->remote_port;
	param->private_data_size = (DAT_COUNT)cr->pd_len;
	param->private_data = cr->pd_len ? cr->pd : NULL;
	param->local_ep_handle = cr->ep;
	return DAT_SUCCESS;
}

static DAT_RETURN accept_error(const struct udat_ep *ep, int err)
{
	switch (err) {
	case EISCONN:
		return udat_state_error(udat_ep_state(ep));
	case ENOENT:
		return BAD_CR;
	case ENOMEM:
		du_explain_queue_memory();
		return dat_err_from_errno(err);
	default:
		return dat_err_from_errno(err);
	}
}

/*
 * Returns the EP for an accept: the EP of the request, or else the EP that the consumer passed.
 * Returns NULL if both or neither exist, or if the EP cannot be used.
 */
static struct udat_ep *accept_ep(const struct udat_cr *cr, DAT_EP_HANDLE ep_handle)
{
	struct udat_ep *ep = udat_ep(ep_handle);

	if (cr->ep)
		ep = ep_handle == DAT_HANDLE_NULL ? cr->ep : NULL;
	/*
	 * An EP that the library made has no connect EVD and no zone until the consumer sets them.
	 */
	if (!ep || ep->obj.ia != cr->obj.ia || !ep->connect_evd || !ep->obj.id)
		return NULL;
	return ep;
}

UDAT_EXPORT DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
				     DAT_COUNT private_data_size, const DAT_PVOID private_data)
{
	struct dat_cr_accept arg = { .size = sizeof(arg) };
	struct udat_cr *cr = udat_cr(cr_handle);
	DAT_CONN_QUAL target_qual;
	DAT_EP_STATE stage;
	struct udat_ep *ep;
	int ret;

	UDAT_FORWARD(cr_handle, cr_accept, ep_handle, private_data_size, private_data);
	if (!cr)
		return BAD_CR;
	ep = accept_ep(cr, ep_handle);
	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (ep->stage && ep != cr->ep)
		return udat_state_error(ep->stage);
	if (private_data_size < 0 || private_data_size > udat_pd_max(cr->obj.ia))
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (private_data_size && !private_data)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	arg.id = cr->obj.id;
	arg.ep = ep->obj.id;
	arg.pd_len = private_data_size;
	if (private_data_size)
		memcpy(arg.pd, private_data, private_data_size);
	if (!du_slot_revoke(&cr->obj.slot, UDAT_TYPE(CR)))
		return BAD_CR;
	/*
	 * Save these fields before the accept, because another thread may free the EP after the
	 * accept.
	 */
	stage = ep->stage;
	target_qual = ep->target_qual;
	ep->stage = DAT_EP_STATE_UNCONNECTED;
	ep->target_qual = 0;
	ret = du_file_ioctl(&cr->obj.ia->file, DAT_IOC_CR_ACCEPT, &arg);
	if (ret) {
		ep->stage = stage;
		ep->target_qual = target_qual;
		du_slot_publish(&cr->obj.slot, UDAT_TYPE(CR));
		return accept_error(ep, -ret);
	}
	udat_obj_drop(&cr->obj);
	return DAT_SUCCESS;
}

/* Reject a request.  The caller has checked @pd_size, the number of bytes of private data. */
static DAT_RETURN cr_reject(struct udat_cr *cr, DAT_COUNT pd_size, const void *pd)
{
	struct dat_cr_reject arg = { .size = sizeof(arg), .pd_len = (uint32_t)pd_size };

	if (!du_slot_revoke(&cr->obj.slot, UDAT_TYPE(CR)))
		return BAD_CR;
	arg.id = cr->obj.id;
	if (pd_size)
		memcpy(arg.pd, pd, (size_t)pd_size);
	/* Ignore errors of the ioctl: they mean that the request no longer exists in the driver. */
	du_file_ioctl(&cr->obj.ia->file, DAT_IOC_CR_REJECT, &arg);
	cr_release_ep(cr);
	udat_obj_drop(&cr->obj);
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle)
{
	struct udat_cr *cr = udat_cr(cr_handle);

	UDAT_FORWARD(cr_handle, cr_reject);
	return cr ? cr_reject(cr, 0, NULL) : BAD_CR;
}

UDAT_EXPORT DAT_RETURN dat_linux_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
					   const DAT_PVOID private_data)
{
	struct udat_cr *cr = udat_cr(cr_handle);

	if (!cr)
		return BAD_CR;
	if (private_data_size < 0 || private_data_size > udat_pd_max(cr->obj.ia))
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (private_data_size && !private_data)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	/* The driver is older than the data: leave the request, which can be rejected without. */
	if (private_data_size && !(cr->obj.ia->file.features & DAT_FEATURE_REJECT))
		return DAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return cr_reject(cr, private_data_size, private_data);
}

UDAT_EXPORT DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff)
{
	struct dat_cr_handoff arg = { .size = sizeof(arg), .conn_qual = handoff };
	struct udat_cr *cr = udat_cr(cr_handle);
	int ret;

	UDAT_FORWARD(cr_handle, cr_handoff, handoff);
	if (!cr)
		return BAD_CR;
	if (!handoff)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!du_slot_revoke(&cr->obj.slot, UDAT_TYPE(CR)))
		return BAD_CR;
	arg.id = cr->obj.id;
	ret = du_file_ioctl(&cr->obj.ia->file, DAT_IOC_CR_HANDOFF, &arg);
	if (ret) {
		du_slot_publish(&cr->obj.slot, UDAT_TYPE(CR));
		/* EADDRNOTAVAIL: no such service point exists, or it takes no more requests. */
		return ret == -EADDRNOTAVAIL ?
		       DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2) :
		       ret == -ENOENT ? BAD_CR : dat_err_from_errno(-ret);
	}
	cr_release_ep(cr);
	udat_obj_drop(&cr->obj);
	return DAT_SUCCESS;
}
