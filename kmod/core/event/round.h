/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Rounds: connections of an EVD that a thread polls in turn. */
#ifndef _DAT_ROUND_H
#define _DAT_ROUND_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct dat_conn;

/**
 * struct dat_round - connections of an EVD
 * @lock: lock of @links
 * @links: list of struct dat_round_link
 * @count: number of @links; may be read without @lock
 */
struct dat_round {
	spinlock_t		lock;		/* links */
	struct list_head	links;
	u32			count;
};

/**
 * struct dat_round_link - entry of a connection in a round
 * @node: list entry; protected by round->lock
 * @round: round that contains the entry, or NULL; protected by ep->lock
 * @conn: connection; constant
 */
struct dat_round_link {
	struct list_head	node;
	struct dat_round	*round;
	struct dat_conn		*conn;
};

void dat_round_init(struct dat_round *r);
void dat_round_join(struct dat_round *r, struct dat_round_link *link);
bool dat_round_leave(struct dat_round_link *link);
struct dat_conn *dat_round_turn(struct dat_round *r);

#endif /* _DAT_ROUND_H */
