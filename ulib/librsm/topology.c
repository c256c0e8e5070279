// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The topology: converts the driver's list of links to the format of RSMAPI. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "librsm.h"

/*
 * Get the list of links from the driver.  Repeat until the list has room for all links, because the
 * number of links may change between two calls.  Returns RSM_SUCCESS or an RSMERR_* code.  The
 * caller frees the list in either case.
 */
static int links_get(const struct rsm_ctx *ctx, struct dat_rsm_topology *arg,
		     struct dat_rsm_link **list)
{
	struct dat_rsm_link *links;
	uint32_t room;
	int ret;

	*list = NULL;
	*arg = (struct dat_rsm_topology) { .size = sizeof(*arg), .entry_size = sizeof(*links) };
	for (;;) {
		room = arg->count;
		ret = rsm_call(ctx, DAT_IOC_RSM_TOPOLOGY, arg);
		if (ret || arg->count <= room)
			return ret;
		links = realloc(*list, arg->count * sizeof(*links));
		if (!links)
			return RSMERR_INSUFFICIENT_MEM;
		*list = links;
		arg->list = (uintptr_t)links;
	}
}

static int is_local(const struct dat_rsm_link *link)
{
	return !!(link->flags & DAT_RSM_LINK_LOCAL);
}

/* Returns the size of the block that holds the header, the pointers and all connections. */
static size_t topology_size(const struct dat_rsm_link *links, uint32_t count, uint32_t *locals)
{
	size_t size = sizeof(rsm_topology_hdr_t);
	uint32_t i;

	*locals = 0;
	for (i = 0; i < count; i++) {
		*locals += (uint32_t)is_local(&links[i]);
		size += is_local(&links[i]) ?
			sizeof(rsm_connections_t *) + sizeof(rsm_connections_hdr_t) :
			sizeof(rsm_remote_cntlr_t);
	}
	return size > sizeof(rsm_topology_t) ? size : sizeof(rsm_topology_t);
}

static rsm_connections_t *add_local(char *at, const struct dat_rsm_link *link)
{
	rsm_connections_t *c = (rsm_connections_t *)at;

	snprintf(c->hdr.cntlr_name, sizeof(c->hdr.cntlr_name), "rdma%u", link->ctlr - 1);
	c->hdr.local_hwaddr = link->hwaddr;
	return c;
}

/* Add a remote controller.  A controller has the same name on all nodes of an interconnect. */
static void add_remote(char *at, const struct dat_rsm_link *link)
{
	rsm_remote_cntlr_t *r = (rsm_remote_cntlr_t *)at;

	r->remote_nodeid = link->node;
	snprintf(r->remote_cntlrname, sizeof(r->remote_cntlrname), "rdma%u", link->ctlr - 1);
	r->remote_hwaddr = link->hwaddr;
	r->connection_state = link->state;
}

static void topology_fill(rsm_topology_t *t, const struct dat_rsm_link *links, uint32_t count)
{
	char *at = (char *)&t->connections[t->topology_hdr.local_cntlr_count];
	rsm_connections_t *c = NULL;
	uint32_t i, n = 0;

	for (i = 0; i < count; i++) {
		if (is_local(&links[i])) {
			c = add_local(at, &links[i]);
			t->connections[n++] = c;
			at += sizeof(c->hdr);
		} else {
			add_remote(at, &links[i]);
			c->hdr.remote_cntlr_count++;
			at += sizeof(rsm_remote_cntlr_t);
		}
	}
}

static int topology_make(const struct rsm_ctx *ctx, rsm_topology_t **out)
{
	struct dat_rsm_topology arg;
	struct dat_rsm_link *links;
	rsm_topology_t *t = NULL;
	uint32_t locals;
	int ret;

	ret = links_get(ctx, &arg, &links);
	if (!ret) {
		t = calloc(1, topology_size(links, arg.count, &locals));
		ret = t ? RSM_SUCCESS : RSMERR_INSUFFICIENT_MEM;
	}
	if (!ret) {
		t->topology_hdr.local_nodeid = arg.node;
		t->topology_hdr.local_cntlr_count = locals;
		topology_fill(t, links, arg.count);
		*out = t;
	}
	free(links);
	return ret;
}

RSM_API int rsm_get_interconnect_topology(rsm_topology_t **topology_data)
{
	struct rsm_ctx *ctx;
	int ret;

	if (!topology_data)
		return RSMERR_BAD_TOPOLOGY_PTR;
	*topology_data = NULL;
	ret = rsm_ctx_get(&ctx);
	return ret ? ret : topology_make(ctx, topology_data);
}

RSM_API void rsm_free_interconnect_topology(rsm_topology_t *topology_data)
{
	free(topology_data);
}
