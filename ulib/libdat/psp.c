// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Public service points. */
#include <errno.h>

#include "../common/log.h"
#include "foreign.h"
#include "libdat.h"

void udat_explain_address(const struct udat_ia *ia)
{
	du_log(DU_LOG_ERROR, "the adapter '%s' has no IP address: 'rdma link show' names its network interface, and 'ip address add ADDRESS dev INTERFACE' as root gives the interface one",
	       ia->name);
}

DAT_RETURN udat_listen_error(const struct udat_ia *ia, int err, int any)
{
	switch (err) {
	case EADDRINUSE:
		return any ? DAT_ERR(DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE) :
			     DAT_ERR(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
	case ENETUNREACH:
		if (any)
			udat_explain_address(ia);
		else
			du_log(DU_LOG_ERROR, "another RDMA device has all the addresses of the adapter '%s', too: give the adapter an address of its own",
			       ia->name);
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	default:
		return dat_err_from_errno(err);
	}
}

static DAT_RETURN psp_make(struct udat_ia *ia, DAT_CONN_QUAL *qual, struct udat_evd *evd,
			   DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *out)
{
	struct dat_psp_create arg = {
		.size = sizeof(arg), .evd = evd->obj.id, .conn_qual = *qual,
	};
	struct udat_psp *psp = udat_obj_new(ia);
	int ret;

	if (!psp)
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	arg.user_data = (uintptr_t)psp;
	if (udat_evd_feed_alone(evd, UDAT_FEED_OTHER)) {
		udat_obj_drop(&psp->obj);
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	}
	psp->evd = evd;
	psp->flags = flags;
	/*
	 * Publish the handle before the ioctl.  An event that names the handle may arrive before
	 * the ioctl returns.
	 */
	udat_obj_publish(&psp->obj, UDAT_TYPE(PSP));
	ret = du_file_ioctl(&ia->file, DAT_IOC_PSP_CREATE, &arg);
	if (ret) {
		udat_evd_unfeed(evd, UDAT_FEED_OTHER);
		udat_obj_drop(&psp->obj);
		return udat_listen_error(ia, -ret, !*qual);
	}
	psp->obj.id = arg.id;
	psp->conn_qual = arg.conn_qual;
	*qual = arg.conn_qual;
	*out = psp;
	return DAT_SUCCESS;
}

static DAT_RETURN psp_check(const struct udat_ia *ia, DAT_EVD_HANDLE evd_handle,
			    DAT_PSP_FLAGS flags, const DAT_PSP_HANDLE *out)
{
	struct udat_evd *evd = udat_evd(evd_handle);

	if (!evd || evd->obj.ia != ia || !(evd->flags & DAT_EVD_CR_FLAG))
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!out)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
				      DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
				      DAT_PSP_HANDLE *psp_handle)
{
	struct udat_ia *ia = udat_ia(ia_handle);
	DAT_RETURN rc;

	UDAT_FORWARD(ia_handle, psp_create, conn_qual, evd_handle, psp_flags, psp_handle);
	if (!ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!conn_qual)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	rc = psp_check(ia, evd_handle, psp_flags, psp_handle);
	return rc == DAT_SUCCESS ? psp_make(ia, &conn_qual, evd_handle, psp_flags,
					     psp_handle) : rc;
}

UDAT_EXPORT DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
					  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
					  DAT_PSP_HANDLE *psp_handle)
{
	struct udat_ia *ia = udat_ia(ia_handle);
	DAT_CONN_QUAL qual = 0;
	DAT_RETURN rc;

	UDAT_FORWARD(ia_handle, psp_create_any, conn_qual, evd_handle, psp_flags, psp_handle);
	if (!ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!conn_qual)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	rc = psp_check(ia, evd_handle, psp_flags, psp_handle);
	if (rc == DAT_SUCCESS)
		rc = psp_make(ia, &qual, evd_handle, psp_flags, psp_handle);
	if (rc == DAT_SUCCESS)
		*conn_qual = qual;
	return rc;
}

UDAT_EXPORT DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK mask,
				     DAT_PSP_PARAM *param)
{
	struct udat_psp *psp = udat_psp(psp_handle);

	UDAT_FORWARD(psp_handle, psp_query, mask, param);
	if (!psp)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
	if (mask & ~DAT_PSP_FIELD_ALL)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	param->ia_handle = psp->obj.ia;
	param->conn_qual = psp->conn_qual;
	param->evd_handle = psp->evd;
	param->psp_flags = psp->flags;
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle)
{
	struct udat_psp *psp = udat_psp(psp_handle);
	DAT_RETURN bad = DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
	DAT_RETURN rc;

	UDAT_FORWARD(psp_handle, psp_free);
	if (!psp)
		return bad;
	rc = udat_obj_free(&psp->obj, UDAT_TYPE(PSP), DAT_OBJ_PSP, bad, bad);
	if (rc != DAT_SUCCESS)
		return rc;
	udat_evd_unfeed(psp->evd, UDAT_FEED_OTHER);
	udat_obj_free_deferred(&psp->obj, &psp->evd, 1);
	return DAT_SUCCESS;
}
