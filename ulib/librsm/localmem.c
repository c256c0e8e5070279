// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Local memory handles.  The memory of a handle stays locked for use by vectors. */
#define _GNU_SOURCE
#include <unistd.h>

#include "librsm.h"

static int localmem_make(const struct rsm_ctlr *ctlr, struct rsm_localmem *lm, void *vaddr,
			 size_t length)
{
	struct dat_rsm_localmem arg = {
		.size = sizeof(arg), .ctlr = ctlr->id, .addr = (uintptr_t)vaddr, .length = length,
	};
	int ret = rsm_ctx_get(&lm->ctx);

	if (!ret)
		ret = rsm_call(lm->ctx, DAT_IOC_RSM_LOCALMEM, &arg);
	if (ret == RSMERR_INSUFFICIENT_MEM)
		du_explain_memlock(length);
	if (ret == RSMERR_BAD_ADDR)
		du_explain_fault(arg.addr, length, 0);
	lm->id = arg.id;
	lm->addr = arg.addr;
	lm->length = arg.length;
	return ret;
}

RSM_API int rsm_create_localmemory_handle(rsmapi_controller_handle_t handle,
					  rsm_localmemory_handle_t *l_handle,
					  caddr_t local_vaddr, size_t length)
{
	struct rsm_ctlr *ctlr = rsm_ctlr_of(handle);
	struct rsm_localmem *lm;
	int ret;

	if (!local_vaddr || (uintptr_t)local_vaddr % (uintptr_t)sysconf(_SC_PAGESIZE))
		return RSMERR_BAD_ADDR;
	if (!ctlr)
		return RSMERR_BAD_CTLR_HNDL;
	if (!l_handle)
		return RSMERR_BAD_LOCALMEM_HNDL;
	*l_handle = NULL;
	if (!length)
		return RSMERR_BAD_LENGTH;
	lm = du_arena_alloc();
	if (!lm)
		return RSMERR_INSUFFICIENT_MEM;
	ret = localmem_make(ctlr, lm, local_vaddr, length);
	if (ret) {
		du_arena_free(lm);
		return ret;
	}
	du_slot_publish(&lm->slot, RSM_LOCALMEM);
	*l_handle = lm;
	return RSM_SUCCESS;
}

RSM_API int rsm_free_localmemory_handle(rsmapi_controller_handle_t handle,
					rsm_localmemory_handle_t l_handle)
{
	struct rsm_localmem *lm = du_slot_of(l_handle, RSM_LOCALMEM);
	struct dat_rsm_free arg = { .size = sizeof(arg), .type = DAT_RSM_TYPE_LOCALMEM };
	int ret;

	if (!rsm_ctlr_of(handle))
		return RSMERR_BAD_CTLR_HNDL;
	if (!lm || lm->ctx->foreign || !du_slot_revoke(&lm->slot, RSM_LOCALMEM))
		return RSMERR_BAD_LOCALMEM_HNDL;
	arg.id = lm->id;
	ret = rsm_call(lm->ctx, DAT_IOC_RSM_FREE, &arg);
	du_arena_free(lm);
	return ret;
}
