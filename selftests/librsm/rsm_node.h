/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* The node table of the driver.  Outside of the tests, the tool rsm-nodes sets it. */
#ifndef RSM_NODE_H
#define RSM_NODE_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "rsm_call.h"

static inline int device_open(void)
{
	return open("/dev/rsm", O_RDWR | O_CLOEXEC);
}

static inline struct dat_rsm_node node_at(uint32_t node, uint32_t ctlr, const char *text)
{
	struct dat_rsm_node e = { .node = node, .ctlr = ctlr, .family = AF_INET };

	if (inet_pton(AF_INET, text, e.addr) != 1) {
		e.family = AF_INET6;
		inet_pton(AF_INET6, text, e.addr);
	}
	return e;
}

static inline int table_set(int fd, const struct dat_rsm_node *list, uint32_t count)
{
	struct dat_rsm_nodes arg = {
		.size = sizeof(arg), .flags = DAT_RSM_NODES_TABLE, .list = (uintptr_t)list,
		.count = count, .entry_size = sizeof(*list),
	};

	return CALL(fd, NODES, &arg);
}

/*
 * Read up to @room entries of the node table into @list.  Returns the number of entries in the
 * table, or -1.
 */
static inline int table_get(int fd, struct dat_rsm_node *list, uint32_t room)
{
	struct dat_rsm_nodes arg = {
		.size = sizeof(arg), .list = (uintptr_t)list, .count = room,
		.entry_size = sizeof(*list),
	};

	return CALL(fd, NODES, &arg) ? -1 : (int)arg.count;
}

static inline int local_set(int fd, uint32_t id)
{
	struct dat_rsm_nodes arg = {
		.size = sizeof(arg), .flags = DAT_RSM_NODES_LOCAL, .local = id,
	};

	return CALL(fd, NODES, &arg);
}

/*
 * Replace the node table by @n entries.  If @local >= 0, also set the id of this node.  Returns 0
 * or -1.
 */
static inline int r_nodes(const struct dat_rsm_node *list, unsigned int n, int local)
{
	int fd = device_open(), ret = table_set(fd, list, n);

	if (!ret && local >= 0)
		ret = local_set(fd, (uint32_t)local);
	close(fd);
	return ret ? -1 : 0;
}

/* Returns a table entry for node @id at @addr, reached through the first controller. */
static inline struct dat_rsm_node r_node_at(unsigned int id, const char *addr)
{
	return node_at(id, 1, addr);
}

#endif /* RSM_NODE_H */
