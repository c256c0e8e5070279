// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Exports: segments and their access lists. */
#define _GNU_SOURCE
#include "librsm.h"

/* The library passes the access list to the driver without conversion. */
_Static_assert(sizeof(rsmapi_access_entry_t) == sizeof(struct dat_rsm_access) &&
	       offsetof(rsmapi_access_entry_t, ae_permission) ==
	       offsetof(struct dat_rsm_access, perm), "access lists");

#define EXPORT_FLAGS (RSM_ALLOW_REBIND | RSM_CREATE_SEG_DONTWAIT | RSM_LOCK_OPS)

/*
 * Returns the export of a handle, or NULL.  The export may belong to the parent process; rsm_call()
 * then returns RSMERR_NOT_CREATOR.
 */
static struct rsm_export *export_of(rsm_memseg_export_handle_t handle)
{
	return du_slot_of(handle, RSM_EXPORT);
}

static int export_make(struct rsm_ctlr *ctlr, struct rsm_export *exp, void *vaddr, size_t length,
		       uint_t flags)
{
	struct dat_rsm_export arg = {
		.size = sizeof(arg), .ctlr = ctlr->id, .flags = flags & EXPORT_FLAGS,
		.addr = (uintptr_t)vaddr, .length = length,
	};
	struct rsm_ctx *ctx;
	int ret;

	ret = rsm_ctx_get(&ctx);
	if (!ret)
		ret = rsm_call(ctx, DAT_IOC_RSM_EXPORT, &arg);
	if (ret == RSMERR_BAD_CONF)
		rsm_explain_conf(ctx);
	if (ret == RSMERR_INSUFFICIENT_MEM)
		du_explain_memlock(length);
	if (ret == RSMERR_BAD_ADDR || ret == RSMERR_PERM_DENIED)
		du_explain_fault(arg.addr, length, 1);
	if (!ret)
		rsm_seg_init(&exp->seg, ctx, ctlr, arg.id);
	return ret;
}

RSM_API int rsm_memseg_export_create(rsmapi_controller_handle_t controller,
				     rsm_memseg_export_handle_t *memseg, void *vaddr,
				     size_t length, uint_t flags)
{
	struct rsm_ctlr *ctlr = rsm_ctlr_of(controller);
	struct rsm_export *exp;
	int ret;

	if (!ctlr)
		return RSMERR_BAD_CTLR_HNDL;
	if (!memseg)
		return RSMERR_BAD_SEG_HNDL;
	*memseg = NULL;
	exp = du_arena_alloc();
	if (!exp)
		return RSMERR_INSUFFICIENT_MEM;
	ret = export_make(ctlr, exp, vaddr, length, flags);
	if (ret) {
		du_arena_free(exp);
		return ret;
	}
	du_slot_publish(&exp->seg.slot, RSM_EXPORT);
	*memseg = exp;
	return RSM_SUCCESS;
}

RSM_API int rsm_memseg_export_destroy(rsm_memseg_export_handle_t memseg)
{
	struct rsm_export *exp = export_of(memseg);

	if (!exp)
		return RSMERR_BAD_SEG_HNDL;
	if (exp->seg.ctx->foreign)
		return RSMERR_NOT_CREATOR;
	return rsm_seg_free(&exp->seg, RSM_EXPORT, DAT_RSM_TYPE_EXPORT);
}

RSM_API int rsm_memseg_export_rebind(rsm_memseg_export_handle_t memseg, void *vaddr, offset_t off,
				     size_t length)
{
	struct rsm_export *exp = export_of(memseg);
	struct dat_rsm_rebind arg = {
		.size = sizeof(arg), .addr = (uintptr_t)vaddr, .length = length,
	};
	int ret;

	(void)off;	/* ignored, because RSMAPI defines no use of this offset */
	if (!exp)
		return RSMERR_BAD_SEG_HNDL;
	arg.id = exp->seg.id;
	ret = rsm_call(exp->seg.ctx, DAT_IOC_RSM_REBIND, &arg);
	if (ret == RSMERR_BAD_ADDR || ret == RSMERR_PERM_DENIED)
		du_explain_fault(arg.addr, length, 1);
	return ret;
}

RSM_API int rsm_memseg_export_publish(rsm_memseg_export_handle_t memseg,
				      rsm_memseg_id_t *segment_id,
				      rsmapi_access_entry_t access_list[],
				      uint_t access_list_length)
{
	struct rsm_export *exp = export_of(memseg);
	struct dat_rsm_publish arg = {
		.size = sizeof(arg), .list = (uintptr_t)access_list, .count = access_list_length,
		.entry_size = sizeof(access_list[0]),
	};
	int ret;

	if (!segment_id)
		return RSMERR_BAD_SEGID;
	if (!exp)
		return RSMERR_BAD_SEG_HNDL;
	arg.id = exp->seg.id;
	arg.segid = *segment_id;
	ret = rsm_call(exp->seg.ctx, DAT_IOC_RSM_PUBLISH, &arg);
	if (!ret)
		*segment_id = arg.segid;
	return ret;
}

RSM_API int rsm_memseg_export_unpublish(rsm_memseg_export_handle_t memseg)
{
	struct rsm_export *exp = export_of(memseg);
	struct dat_rsm_unpublish arg = { .size = sizeof(arg) };

	if (!exp)
		return RSMERR_BAD_SEG_HNDL;
	arg.id = exp->seg.id;
	return rsm_call(exp->seg.ctx, DAT_IOC_RSM_UNPUBLISH, &arg);
}

RSM_API int rsm_memseg_export_republish(rsm_memseg_export_handle_t memseg,
					rsmapi_access_entry_t access_list[],
					uint_t access_list_length)
{
	struct rsm_export *exp = export_of(memseg);
	struct dat_rsm_publish arg = {
		.size = sizeof(arg), .list = (uintptr_t)access_list, .count = access_list_length,
		.entry_size = sizeof(access_list[0]),
	};

	if (!exp)
		return RSMERR_BAD_SEG_HNDL;
	arg.id = exp->seg.id;
	return rsm_call(exp->seg.ctx, DAT_IOC_RSM_REPUBLISH, &arg);
}
