// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Controllers, the topology, and reserved segment ids. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "librsm.h"
#include "segid.h"

static pthread_mutex_t ctlr_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rsm_ctlr *loopback;

void rsm_ctlr_lock(void)
{
	pthread_mutex_lock(&ctlr_lock);
}

void rsm_ctlr_unlock(void)
{
	pthread_mutex_unlock(&ctlr_lock);
}

/* "loopback" in any case, with or without a number; no name at all means it, too. */
static int is_loopback(const char *name)
{
	static const char type[] = "loopback";
	size_t len = sizeof(type) - 1;

	if (!name)
		return 1;
	if (strnlen(name, MAXNAMELEN) == MAXNAMELEN || strncasecmp(name, type, len))
		return 0;
	return name[len + strspn(name + len, "0123456789")] == '\0';
}

/* Under the lock. */
static int ctlr_open(struct rsm_ctlr **out)
{
	struct dat_rsm_ctlr arg = { .size = sizeof(arg), .ctlr = DAT_RSM_LOOPBACK };
	struct rsm_ctx *ctx;
	int ret;

	ret = rsm_ctx_get(&ctx);
	if (!ret)
		ret = rsm_call(ctx, DAT_IOC_RSM_CTLR, &arg);
	if (ret)
		return ret;
	if (!loopback) {
		loopback = du_arena_alloc();
		if (!loopback)
			return RSMERR_INSUFFICIENT_MEM;
		loopback->id = arg.ctlr;
		du_slot_publish(&loopback->slot, RSM_CTLR);
	}
	*out = loopback;
	return RSM_SUCCESS;
}

RSM_API int rsm_get_controller(char *name, rsmapi_controller_handle_t *controller)
{
	struct rsm_ctlr *ctlr;
	int ret;

	if (!controller)
		return RSMERR_BAD_CTLR_HNDL;
	*controller = NULL;
	if (!is_loopback(name))
		return RSMERR_CTLR_NOT_PRESENT;
	pthread_mutex_lock(&ctlr_lock);
	ret = ctlr_open(&ctlr);
	if (!ret) {
		__atomic_fetch_add(&ctlr->refs, 1, __ATOMIC_RELAXED);
		*controller = ctlr;
	}
	pthread_mutex_unlock(&ctlr_lock);
	return ret;
}

struct rsm_ctlr *rsm_ctlr_of(rsmapi_controller_handle_t handle)
{
	struct rsm_ctlr *ctlr = du_slot_of(handle, RSM_CTLR);

	return ctlr && __atomic_load_n(&ctlr->refs, __ATOMIC_RELAXED) ? ctlr : NULL;
}

static void attr_fill(rsmapi_controller_attr_t *attr, const struct dat_rsm_ctlr *arg)
{
	*attr = (rsmapi_controller_attr_t) {
		.attr_direct_access_sizes	= arg->direct_sizes,
		.attr_atomic_sizes		= arg->atomic_sizes,
		.attr_page_size			= arg->page_sizes,
		.attr_max_export_segment_size	= arg->max_export_size,
		.attr_tot_export_segment_size	= arg->tot_export_size,
		.attr_max_export_segments	= arg->max_exports,
		.attr_max_import_map_size	= arg->max_map_size,
		.attr_tot_import_map_size	= arg->tot_map_size,
		.attr_max_import_segments	= arg->max_imports,
	};
}

RSM_API int rsm_get_controller_attr(rsmapi_controller_handle_t chdl,
				    rsmapi_controller_attr_t *attr)
{
	struct rsm_ctlr *ctlr = du_slot_of(chdl, RSM_CTLR);
	struct dat_rsm_ctlr arg = { .size = sizeof(arg) };
	struct rsm_ctx *ctx;
	int ret;

	if (!ctlr)
		return RSMERR_BAD_CTLR_HNDL;
	if (!attr)
		return RSMERR_BAD_ADDR;
	if (!rsm_ctlr_of(chdl))
		return RSMERR_CTLR_NOT_PRESENT;
	arg.ctlr = ctlr->id;
	ret = rsm_ctx_get(&ctx);
	if (!ret)
		ret = rsm_call(ctx, DAT_IOC_RSM_CTLR, &arg);
	if (!ret)
		attr_fill(attr, &arg);
	return ret;
}

RSM_API int rsm_release_controller(rsmapi_controller_handle_t chdl)
{
	struct rsm_ctlr *ctlr;

	pthread_mutex_lock(&ctlr_lock);
	ctlr = rsm_ctlr_of(chdl);
	if (ctlr)
		__atomic_fetch_sub(&ctlr->refs, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&ctlr_lock);
	return ctlr ? RSM_SUCCESS : RSMERR_BAD_CTLR_HNDL;
}

/* Loopback is not in the topology, and there is no other controller yet. */
RSM_API int rsm_get_interconnect_topology(rsm_topology_t **topology_data)
{
	rsm_topology_t *t;
	struct rsm_ctx *ctx;
	int ret;

	if (!topology_data)
		return RSMERR_BAD_TOPOLOGY_PTR;
	*topology_data = NULL;
	ret = rsm_ctx_get(&ctx);
	if (ret)
		return ret;
	t = calloc(1, sizeof(*t));
	if (!t)
		return RSMERR_INSUFFICIENT_MEM;
	t->topology_hdr.local_nodeid = ctx->node;
	*topology_data = t;
	return RSM_SUCCESS;
}

RSM_API void rsm_free_interconnect_topology(rsm_topology_t *topology_data)
{
	free(topology_data);
}

RSM_API int rsm_get_segmentid_range(const char *appid, rsm_memseg_id_t *baseid, uint32_t *length)
{
	if (!appid || !baseid || !length)
		return RSMERR_BAD_ADDR;
	return segid_lookup(SEGID_FILE, appid, baseid, length);
}
