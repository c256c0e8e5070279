// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Protection zones of kernel consumers. */
#include "core/dat.h"
#include "core/mem/lmr.h"
#include "kdapl/kdapl.h"

DAT_RETURN kdat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	struct kdat_ia *kia;
	struct dat_pz *pz;
	int ret;

	if (!pz_handle)
		return KDAT_ARG(2);
	kia = kdat_ia_get(ia_handle);
	if (IS_ERR(kia))
		return kdat_lookup_error(PTR_ERR(kia), KDAT_BAD(IA));
	pz = dat_pz_create(kia->ia);
	ret = PTR_ERR_OR_ZERO(pz);
	if (!ret) {
		*pz_handle = kdat_handle(&pz->obj);
		dat_obj_put(&pz->obj);
	}
	kdat_ia_done(kia);
	if (ret == -ENOMEM)
		return KDAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_PROTECTION_DOMAIN);
	return ret ? kdat_error(ret) : DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_pz_create);

DAT_RETURN kdat_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
			 DAT_PZ_PARAM *pz_param)
{
	struct dat_obj *obj;

	if (pz_param_mask & ~DAT_PZ_FIELD_ALL)
		return KDAT_ARG(2);
	if (!pz_param)
		return KDAT_ARG(3);
	rcu_read_lock();
	obj = kdat_find(pz_handle, DAT_HANDLE_TYPE_PZ);
	if (obj)
		pz_param->ia_handle = kdat_ia_handle(obj->ia);
	rcu_read_unlock();
	return obj ? DAT_SUCCESS : KDAT_BAD(PZ);
}
EXPORT_SYMBOL_DAT(kdat_pz_query);

DAT_RETURN kdat_pz_free(DAT_PZ_HANDLE pz_handle)
{
	return kdat_free(pz_handle, DAT_HANDLE_TYPE_PZ, KDAT_BAD(PZ),
			 KDAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE));
}
EXPORT_SYMBOL_DAT(kdat_pz_free);
