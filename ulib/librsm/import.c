// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Imports: connections to segments, and mappings of segments. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "librsm.h"

static uint64_t last_serial;

struct rsm_import *rsm_import_of(rsm_memseg_import_handle_t handle)
{
	struct rsm_import *imp = du_slot_of(handle, RSM_IMPORT);

	return imp && !imp->seg.ctx->foreign ? imp : NULL;
}

static void import_init(struct rsm_import *imp, struct rsm_ctx *ctx, struct rsm_ctlr *ctlr,
			const struct dat_rsm_connect *arg)
{
	rsm_seg_init(&imp->seg, ctx, ctlr, arg->id);
	imp->serial = __atomic_add_fetch(&last_serial, 1, __ATOMIC_RELAXED);
	imp->view = (const struct dat_rsm_slot *)ctx->slots.va + arg->slot;
	imp->generation = arg->generation;
	imp->perm = arg->perm;
	imp->length = arg->length;
	imp->map_offset = arg->map_offset;
	imp->swapped = !!(arg->flags & DAT_RSM_SWAPPED);
	imp->owned = !!arg->owned;
	imp->owner = arg->owner;
	imp->mode = RSM_BARRIER_MODE_IMPLICIT;
}

static int import_make(struct rsm_ctlr *ctlr, struct rsm_import *imp, rsm_node_id_t node,
		       rsm_memseg_id_t segid, rsm_permission_t perm)
{
	struct dat_rsm_connect arg = {
		.size = sizeof(arg), .ctlr = ctlr->id, .node = node, .segid = segid,
		.perm = perm,
	};
	struct rsm_ctx *ctx;
	int ret;

	ret = rsm_ctx_get(&ctx);
	if (!ret)
		ret = rsm_call(ctx, DAT_IOC_RSM_CONNECT, &arg);
	if (ret == RSMERR_BAD_CONF)
		rsm_explain_conf(ctx);
	if (ret == RSMERR_INSUFFICIENT_MEM && ctlr->id != DAT_RSM_LOOPBACK)
		du_explain_queue_memory();
	if (!ret)
		import_init(imp, ctx, ctlr, &arg);
	return ret;
}

RSM_API int rsm_memseg_import_connect(rsmapi_controller_handle_t controller,
				      rsm_node_id_t node_id, rsm_memseg_id_t segment_id,
				      rsm_permission_t perm,
				      rsm_memseg_import_handle_t *im_memseg)
{
	struct rsm_ctlr *ctlr = rsm_ctlr_of(controller);
	struct rsm_import *imp;
	int ret;

	if (!ctlr)
		return RSMERR_BAD_CTLR_HNDL;
	if (!im_memseg)
		return RSMERR_BAD_SEG_HNDL;
	*im_memseg = NULL;
	if (perm & ~(rsm_permission_t)RSM_PERM_RDWR)
		return RSMERR_PERM_DENIED;
	imp = du_arena_alloc();
	if (!imp)
		return RSMERR_INSUFFICIENT_MEM;
	ret = import_make(ctlr, imp, node_id, segment_id, perm);
	if (ret) {
		du_arena_free(imp);
		return ret;
	}
	du_slot_publish(&imp->seg.slot, RSM_IMPORT);
	*im_memseg = imp;
	return RSM_SUCCESS;
}

RSM_API int rsm_linux_import_owner(rsm_memseg_import_handle_t im_memseg, uid_t *owner)
{
	struct rsm_import *imp = rsm_import_of(im_memseg);

	if (!imp)
		return RSMERR_BAD_SEG_HNDL;
	if (!owner)
		return RSMERR_BAD_ADDR;
	if (!imp->owned)
		return RSMERR_BAD_CONF;
	*owner = imp->owner;
	return RSM_SUCCESS;
}

RSM_API int rsm_linux_import_connect_from(rsmapi_controller_handle_t controller,
					  rsm_node_id_t node_id, rsm_memseg_id_t segment_id,
					  uid_t owner, rsm_permission_t perm,
					  rsm_memseg_import_handle_t *im_memseg)
{
	uid_t is;
	int ret = rsm_memseg_import_connect(controller, node_id, segment_id, perm, im_memseg);

	if (ret)
		return ret;
	ret = rsm_linux_import_owner(*im_memseg, &is);
	if (!ret && is != owner)
		ret = RSMERR_PERM_DENIED;
	/* Nothing has been transferred yet, and no other thread has the handle. */
	if (ret) {
		rsm_memseg_import_disconnect(*im_memseg);
		*im_memseg = NULL;
	}
	return ret;
}

RSM_API int rsm_memseg_import_disconnect(rsm_memseg_import_handle_t im_memseg)
{
	struct rsm_import *imp = rsm_import_of(im_memseg);
	struct rsm_ring *ring = NULL;
	char *window = NULL;
	int ret;

	if (!imp)
		return RSMERR_BAD_SEG_HNDL;
	pthread_mutex_lock(&imp->seg.lock);
	/*
	 * Detach the window, the ring and the barriers under one lock, because other threads may be
	 * using the import.
	 */
	ret = imp->map_len ? RSMERR_SEG_STILL_MAPPED : rsm_seg_revoke(&imp->seg, RSM_IMPORT);
	if (!ret) {
		rsm_barriers_free(imp);
		window = imp->window;
		imp->window = NULL;
		imp->no_window = 1;
		ring = imp->ring;
		imp->ring = NULL;
		imp->no_ring = 1;
	}
	pthread_mutex_unlock(&imp->seg.lock);
	if (ret)
		return ret;
	if (window)
		munmap(window, imp->length);
	rsm_ring_free(ring);
	return rsm_seg_end(&imp->seg, DAT_RSM_TYPE_IMPORT);
}

/* Mappings that the program makes. */

static size_t page_mask(void)
{
	static size_t mask;
	size_t now = __atomic_load_n(&mask, __ATOMIC_RELAXED);

	if (!now) {
		now = (size_t)sysconf(_SC_PAGESIZE) - 1;
		__atomic_store_n(&mask, now, __ATOMIC_RELAXED);
	}
	return now;
}

static int map_error(int err)
{
	switch (err) {
	case ENXIO:
	case ENOMEM:
		return RSMERR_BAD_LENGTH;
	case ENODEV:
		return RSMERR_CONN_ABORTED;
	case EAGAIN:
		return RSMERR_INSUFFICIENT_RESOURCES;
	case EACCES:
		return RSMERR_BAD_PERMS;
	default:
		return RSMERR_MAP_FAILED;
	}
}

/* Check the arguments of rsm_memseg_import_map().  The caller holds seg.lock. */
static int map_check(const struct rsm_import *imp, void *const *address, rsm_attribute_t attr,
		     rsm_permission_t perm, off_t offset, size_t length)
{
	if (imp->map_len)
		return RSMERR_SEG_ALREADY_MAPPED;
	if (perm & ~(rsm_permission_t)RSM_PERM_RDWR || perm & ~imp->perm)
		return RSMERR_BAD_PERMS;
	if (offset < 0)
		return RSMERR_BAD_OFFSET;
	if (!length || (uint64_t)offset > imp->length || length > imp->length - (uint64_t)offset)
		return RSMERR_BAD_LENGTH;
	if ((size_t)offset & page_mask())
		return RSMERR_BAD_MEM_ALIGNMENT;
	if (attr == RSM_MAP_FIXED && (uintptr_t)*address & page_mask())
		return RSMERR_BAD_MEM_ALIGNMENT;
	return rsm_import_cut(imp) ? RSMERR_CONN_ABORTED : RSM_SUCCESS;
}

/* Map a part of the segment.  The caller holds seg.lock. */
static int map_make(struct rsm_import *imp, void **address, int fixed, rsm_permission_t perm,
		    uint64_t offset, size_t length)
{
	int prot = 0;
	void *va;

	/* Write permission includes read access, because a writable mapping is readable. */
	if (perm & RSM_PERM_READ)
		prot |= PROT_READ;
	if (perm & RSM_PERM_WRITE)
		prot |= PROT_READ | PROT_WRITE;
	if (!imp->map_offset || rsm_ctx_closed(imp->seg.ctx))
		return RSMERR_MAP_FAILED;
	va = mmap(fixed ? *address : NULL, length, prot, MAP_SHARED | (fixed ? MAP_FIXED : 0),
		  imp->seg.ctx->file.fd, (off_t)(imp->map_offset + offset));
	if (va == MAP_FAILED)
		return map_error(errno);
	imp->map = va;
	imp->map_off = offset;
	__atomic_store_n(&imp->map_len, length, __ATOMIC_RELEASE);
	*address = va;
	return RSM_SUCCESS;
}

RSM_API int rsm_memseg_import_map(rsm_memseg_import_handle_t im_memseg, void **address,
				  rsm_attribute_t attr, rsm_permission_t perm, off_t offset,
				  size_t length)
{
	struct rsm_import *imp = rsm_import_of(im_memseg);
	int ret;

	if (!imp)
		return RSMERR_BAD_SEG_HNDL;
	if (!address)
		return RSMERR_BAD_ADDR;
	pthread_mutex_lock(&imp->seg.lock);
	ret = map_check(imp, address, attr, perm, offset, length);
	if (!ret)
		ret = map_make(imp, address, attr == RSM_MAP_FIXED, perm, (uint64_t)offset, length);
	pthread_mutex_unlock(&imp->seg.lock);
	return ret;
}

RSM_API int rsm_memseg_import_unmap(rsm_memseg_import_handle_t im_memseg)
{
	struct rsm_import *imp = rsm_import_of(im_memseg);
	int ret = RSM_SUCCESS;

	if (!imp)
		return RSMERR_BAD_SEG_HNDL;
	pthread_mutex_lock(&imp->seg.lock);
	if (!imp->map_len)
		ret = RSMERR_SEG_NOT_MAPPED;
	else
		munmap(imp->map, imp->map_len);
	__atomic_store_n(&imp->map_len, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&imp->seg.lock);
	return ret;
}
