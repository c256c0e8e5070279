// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Controllers and reserved segment ids. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "librsm.h"
#include "segid.h"

static pthread_mutex_t ctlr_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rsm_ctlr *ctlrs;

void rsm_ctlr_lock(void)
{
	pthread_mutex_lock(&ctlr_lock);
}

void rsm_ctlr_unlock(void)
{
	pthread_mutex_unlock(&ctlr_lock);
}

/*
 * Parse a controller name: @type in upper or lower case, then a decimal number or nothing.  Returns
 * the number as a string, or NULL if the name does not match.
 */
static const char *unit_of(const char *name, const char *type)
{
	size_t len = strlen(type);

	if (strnlen(name, MAXNAMELEN) == MAXNAMELEN || strncasecmp(name, type, len))
		return NULL;
	name += len;
	return name[strspn(name, "0123456789")] ? NULL : name;
}

/*
 * Find the driver's id of a controller name.  NULL and every loopback name, with or without a
 * number, mean the loopback controller.  Returns 0, or -1 if the name is invalid.
 */
static int ctlr_parse(const char *name, uint32_t *id)
{
	const char *unit = name ? unit_of(name, "rdma") : NULL;
	unsigned long n;

	*id = DAT_RSM_LOOPBACK;
	if (!name || unit_of(name, "loopback"))
		return 0;
	if (!unit || !*unit)
		return -1;
	n = strtoul(unit, NULL, 10);
	*id = (uint32_t)n + 1;
	/* Refuse UINT32_MAX and larger numbers, because their id would wrap around. */
	return n < UINT32_MAX ? 0 : -1;
}

/* Returns the controller with the id @id, or NULL.  The caller holds ctlr_lock. */
static struct rsm_ctlr *ctlr_find(uint32_t id)
{
	struct rsm_ctlr *ctlr = ctlrs;

	while (ctlr && ctlr->id != id)
		ctlr = ctlr->next;
	return ctlr;
}

/* Find or create the controller with the id @id.  The caller holds ctlr_lock. */
static int ctlr_open(uint32_t id, struct rsm_ctlr **out)
{
	struct dat_rsm_ctlr arg = { .size = sizeof(arg), .ctlr = id };
	struct rsm_ctlr *ctlr = ctlr_find(id);
	struct rsm_ctx *ctx;
	int ret;

	/*
	 * Ask the driver even if @ctlr exists already, because the adapter may have been removed.
	 */
	ret = rsm_ctx_get(&ctx);
	if (!ret)
		ret = rsm_call(ctx, DAT_IOC_RSM_CTLR, &arg);
	if (ret)
		return ret;
	if (!ctlr) {
		ctlr = du_arena_alloc();
		if (!ctlr)
			return RSMERR_INSUFFICIENT_MEM;
		ctlr->id = id;
		ctlr->next = ctlrs;
		ctlrs = ctlr;
		du_slot_publish(&ctlr->slot, RSM_CTLR);
	}
	*out = ctlr;
	return RSM_SUCCESS;
}

RSM_API int rsm_get_controller(char *name, rsmapi_controller_handle_t *controller)
{
	struct rsm_ctlr *ctlr;
	uint32_t id;
	int ret;

	if (!controller)
		return RSMERR_BAD_CTLR_HNDL;
	*controller = NULL;
	if (ctlr_parse(name, &id))
		return RSMERR_CTLR_NOT_PRESENT;
	pthread_mutex_lock(&ctlr_lock);
	ret = ctlr_open(id, &ctlr);
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

RSM_API int rsm_get_segmentid_range(const char *appid, rsm_memseg_id_t *baseid, uint32_t *length)
{
	if (!appid || !baseid || !length)
		return RSMERR_BAD_ADDR;
	return segid_lookup(SEGID_FILE, appid, baseid, length);
}
