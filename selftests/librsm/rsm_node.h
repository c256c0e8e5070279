/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Set the node table of the driver.  Outside of the tests, the tool rsm-nodes sets the table. */
#ifndef RSM_NODE_H
#define RSM_NODE_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "rsm_call.h"

/*
 * Replace the node table by @n entries.  If @local >= 0, also set the id of this node.  Returns 0
 * or -1.
 */
static inline int r_nodes(const struct dat_rsm_node *list, unsigned int n, int local)
{
	struct dat_rsm_nodes arg = {
		.size = sizeof(arg), .flags = DAT_RSM_NODES_TABLE, .list = (uintptr_t)list,
		.count = n, .entry_size = sizeof(*list),
	};
	int fd = open("/dev/rsm", O_RDWR | O_CLOEXEC), ret;

	if (local >= 0) {
		arg.flags |= DAT_RSM_NODES_LOCAL;
		arg.local = (uint32_t)local;
	}
	ret = CALL(fd, NODES, &arg);
	close(fd);
	return ret ? -1 : 0;
}

/* Returns a table entry for node @id at @addr, reached through the first controller. */
static inline struct dat_rsm_node r_node_at(unsigned int id, const char *addr)
{
	struct dat_rsm_node node = { .node = id, .ctlr = 1, .family = AF_INET };

	inet_pton(AF_INET, addr, node.addr);
	return node;
}

#endif /* RSM_NODE_H */
