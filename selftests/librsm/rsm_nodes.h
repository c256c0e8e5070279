/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Access to the driver's node table without the library. */
#ifndef RSM_NODES_H
#define RSM_NODES_H

#include "rsm_test.h"

#include <arpa/inet.h>
#include <fcntl.h>

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

#endif /* RSM_NODES_H */
