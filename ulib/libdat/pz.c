// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Protection zones. */
#include <errno.h>

#include "foreign.h"
#include "libdat.h"

UDAT_EXPORT DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	struct dat_pz_create arg = { .size = sizeof(arg) };
	struct udat_ia *ia = udat_ia(ia_handle);
	struct udat_pz *pz;
	int ret;

	UDAT_FORWARD(ia_handle, pz_create, pz_handle);
	if (!ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!pz_handle)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	pz = udat_obj_new(ia);
	if (!pz)
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ret = du_file_ioctl(&ia->file, DAT_IOC_PZ_CREATE, &arg);
	if (ret) {
		udat_obj_drop(&pz->obj);
		return ret == -ENOMEM ?
		       DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_PROTECTION_DOMAIN) :
		       dat_err_from_errno(-ret);
	}
	pz->obj.id = arg.id;
	udat_obj_publish(&pz->obj, UDAT_TYPE(PZ));
	*pz_handle = pz;
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK mask,
				    DAT_PZ_PARAM *param)
{
	struct udat_pz *pz = udat_pz(pz_handle);

	UDAT_FORWARD(pz_handle, pz_query, mask, param);
	if (!pz)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (mask & ~DAT_PZ_FIELD_ALL)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	param->ia_handle = pz->obj.ia;
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle)
{
	struct udat_pz *pz = udat_pz(pz_handle);
	DAT_RETURN bad = DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	DAT_RETURN rc;

	UDAT_FORWARD(pz_handle, pz_free);
	if (!pz)
		return bad;
	udat_lmr_cache_leave(pz);
	rc = udat_obj_free(&pz->obj, UDAT_TYPE(PZ), DAT_OBJ_PZ, bad,
			   DAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE));
	if (rc == DAT_SUCCESS)
		udat_obj_drop(&pz->obj);
	return rc;
}
