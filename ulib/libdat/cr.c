// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Connection requests. */
#include <errno.h>
#include <string.h>

#include "libdat.h"

#define BAD_CR	DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR)

/* The driver is asked once; what it says doesn't change. */
static int cr_fetch(struct udat_cr *cr)
{
	struct dat_cr_query arg = { .size = sizeof(arg), .id = cr->obj.id };
	int ret = 0;

	pthread_mutex_lock(&cr->obj.ia->lock);
	if (cr->queried)
		goto out;
	ret = du_ioctl(cr->obj.ia->fd, DAT_IOC_CR_QUERY, &arg);
	if (ret)
		goto out;
	memcpy(cr->remote, arg.remote, sizeof(cr->remote));
	memcpy(cr->pd, arg.pd, sizeof(cr->pd));
	cr->remote_port = arg.remote_port;
	cr->pd_len = arg.pd_len;
	cr->queried = 1;
out:
	pthread_mutex_unlock(&cr->obj.ia->lock);
	return ret;
}

UDAT_EXPORT DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK mask,
				    DAT_CR_PARAM *param)
{
	struct udat_cr *cr = udat_cr(cr_handle);
	int ret;

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
	param->local_ep_handle = DAT_HANDLE_NULL;
	return DAT_SUCCESS;
}

static DAT_RETURN accept_error(const struct udat_ep *ep, int err)
{
	switch (err) {
	case EISCONN:
		return udat_state_error(udat_ep_state(ep));
	case ENOENT:
		return BAD_CR;
	default:
		return dat_err_from_errno(err);
	}
}

UDAT_EXPORT DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
				     DAT_COUNT private_data_size, const DAT_PVOID private_data)
{
	struct dat_cr_accept arg = { .size = sizeof(arg) };
	struct udat_cr *cr = udat_cr(cr_handle);
	struct udat_ep *ep = udat_ep(ep_handle);
	int ret;

	if (!cr)
		return BAD_CR;
	if (!ep || ep->obj.ia != cr->obj.ia || !ep->connect_evd)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (private_data_size < 0 || private_data_size > UDAT_PD_MAX)
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
	ret = du_ioctl(cr->obj.ia->fd, DAT_IOC_CR_ACCEPT, &arg);
	if (ret) {
		du_slot_publish(&cr->obj.slot, UDAT_TYPE(CR));
		return accept_error(ep, -ret);
	}
	udat_obj_drop(&cr->obj);
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle)
{
	struct dat_cr_reject arg = { .size = sizeof(arg) };
	struct udat_cr *cr = udat_cr(cr_handle);

	if (!cr || !du_slot_revoke(&cr->obj.slot, UDAT_TYPE(CR)))
		return BAD_CR;
	arg.id = cr->obj.id;
	/* Whatever it says, the request is no more. */
	du_ioctl(cr->obj.ia->fd, DAT_IOC_CR_REJECT, &arg);
	udat_obj_drop(&cr->obj);
	return DAT_SUCCESS;
}
