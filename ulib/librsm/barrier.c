// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Barriers.  Within a host, a transfer is complete when its call returns.  So a barrier is only a
 * memory fence and a check of the connection.  Across an adapter, a barrier also waits for puts.
 */
#define _GNU_SOURCE
#include "librsm.h"

/*
 * struct rsm_barrier - object behind an rsmapi_barrier_t
 * @slot: head of the slot
 * @imp: import; valid only if its handle is valid and its serial number is @serial
 * @serial: serial number of @imp
 * @next: next in imp->barriers
 * @open: flag: rsm_memseg_import_open_barrier() was called, and the barrier is not closed
 */
struct rsm_barrier {
	struct du_slot		slot;
	struct rsm_import	*imp;
	uint64_t		serial;
	struct rsm_barrier	*next;
	int			open;
};

void rsm_barriers_free(struct rsm_import *imp)
{
	struct rsm_barrier *b;

	while ((b = imp->barriers)) {
		imp->barriers = b->next;
		if (du_slot_revoke(&b->slot, RSM_BARRIER))
			du_arena_free(b);
	}
	imp->implicit = NULL;
}

RSM_API int rsm_memseg_import_init_barrier(rsm_memseg_import_handle_t im_memseg,
					   rsm_barrier_type_t type, rsmapi_barrier_t *barrier)
{
	struct rsm_import *imp = rsm_import_of(im_memseg);
	struct rsm_barrier *b;

	(void)type;	/* ignored: every barrier covers all transfers of the node */
	if (!imp)
		return RSMERR_BAD_SEG_HNDL;
	if (!barrier)
		return RSMERR_BAD_BARRIER_PTR;
	b = du_arena_alloc();
	if (!b)
		return RSMERR_INSUFFICIENT_MEM;
	b->imp = imp;
	b->serial = imp->serial;
	barrier->seg = imp;
	barrier->gnum = (uint16_t)imp->generation;
	barrier->privdata = b;
	du_slot_publish(&b->slot, RSM_BARRIER);
	pthread_mutex_lock(&imp->seg.lock);
	b->next = imp->barriers;
	imp->barriers = b;
	__atomic_store_n(&imp->implicit, b, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&imp->seg.lock);
	return RSM_SUCCESS;
}

static int barrier_find(const rsmapi_barrier_t *barrier, struct rsm_barrier **b,
			struct rsm_import **imp)
{
	if (!barrier)
		return RSMERR_BAD_BARRIER_PTR;
	*b = du_slot_of(barrier->privdata, RSM_BARRIER);
	if (!*b)
		return RSMERR_BARRIER_UNINITIALIZED;
	*imp = rsm_import_of((*b)->imp);
	if (!*imp || (*imp)->serial != (*b)->serial || barrier->seg != *imp)
		return RSMERR_BAD_SEG_HNDL;
	return RSM_SUCCESS;
}

RSM_API int rsm_memseg_import_open_barrier(rsmapi_barrier_t *barrier)
{
	struct rsm_import *imp;
	struct rsm_barrier *b;
	int ret = barrier_find(barrier, &b, &imp);

	if (!ret)
		__atomic_store_n(&b->open, 1, __ATOMIC_SEQ_CST);
	return ret;
}

/* Wait for all earlier puts.  Returns RSM_SUCCESS or the error of the puts. */
static int barrier_result(struct rsm_import *imp)
{
	int ret = rsm_ring_drain(imp, 0);

	if (ret)
		return ret;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return rsm_import_cut(imp) ? RSMERR_CONN_ABORTED : RSM_SUCCESS;
}

RSM_API int rsm_memseg_import_order_barrier(rsmapi_barrier_t *barrier)
{
	struct rsm_import *imp;
	struct rsm_barrier *b;
	int ret = barrier_find(barrier, &b, &imp);

	if (ret)
		return ret;
	if (!__atomic_load_n(&b->open, __ATOMIC_RELAXED))
		return RSMERR_BARRIER_NOT_OPENED;
	return barrier_result(imp);
}

RSM_API int rsm_memseg_import_close_barrier(rsmapi_barrier_t *barrier)
{
	struct rsm_import *imp;
	struct rsm_barrier *b;
	int ret = barrier_find(barrier, &b, &imp);

	if (ret)
		return ret;
	/* Close the barrier even if the transfers have failed. */
	if (!__atomic_exchange_n(&b->open, 0, __ATOMIC_SEQ_CST))
		return RSMERR_BARRIER_NOT_OPENED;
	return barrier_result(imp);
}

RSM_API int rsm_memseg_import_destroy_barrier(rsmapi_barrier_t *barrier)
{
	struct rsm_barrier *b, **at;
	struct rsm_import *imp;
	int ret = barrier_find(barrier, &b, &imp);

	if (ret)
		return ret;
	pthread_mutex_lock(&imp->seg.lock);
	for (at = &imp->barriers; *at && *at != b; at = &(*at)->next)
		;
	if (!*at) {
		ret = RSMERR_BARRIER_UNINITIALIZED;
	} else {
		*at = b->next;
		if (imp->implicit == b)
			__atomic_store_n(&imp->implicit, NULL, __ATOMIC_RELAXED);
		if (du_slot_revoke(&b->slot, RSM_BARRIER))
			du_arena_free(b);
		barrier->privdata = NULL;
	}
	pthread_mutex_unlock(&imp->seg.lock);
	return ret;
}

RSM_API int rsm_memseg_import_set_mode(rsm_memseg_import_handle_t memseg, rsm_barrier_mode_t mode)
{
	struct rsm_import *imp = rsm_import_of(memseg);

	if (!imp)
		return RSMERR_BAD_SEG_HNDL;
	if (mode != RSM_BARRIER_MODE_EXPLICIT && mode != RSM_BARRIER_MODE_IMPLICIT)
		return RSMERR_BAD_MODE;
	__atomic_store_n(&imp->mode, (int)mode, __ATOMIC_RELAXED);
	return RSM_SUCCESS;
}

RSM_API int rsm_memseg_import_get_mode(rsm_memseg_import_handle_t memseg, rsm_barrier_mode_t *mode)
{
	struct rsm_import *imp = rsm_import_of(memseg);

	if (!imp)
		return RSMERR_BAD_SEG_HNDL;
	if (!mode)
		return RSMERR_BAD_ADDR;
	*mode = (rsm_barrier_mode_t)__atomic_load_n(&imp->mode, __ATOMIC_RELAXED);
	return RSM_SUCCESS;
}
