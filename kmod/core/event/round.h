/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Rounds: completion queues or connections of an EVD that a thread polls in turn. */
#ifndef _DAT_ROUND_H
#define _DAT_ROUND_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/* Completion queues or connections of an EVD that threads poll in turn. */
struct dat_round {
	spinlock_t		lock;		/* lock of @links */
	struct list_head	links;		/* list of struct dat_round_link */
	u32			count;		/* length of @links; only writers take @lock */
};

/* Entry in a round.  The owner's lock is the lock of the CQ, or ep->lock of the connection. */
struct dat_round_link {
	struct list_head	node;		/* entry in round->links; round->lock */
	struct dat_round	*round;		/* round of the entry, or NULL; owner's lock */
};

void dat_round_init(struct dat_round *r);
void dat_round_join(struct dat_round *r, struct dat_round_link *link);
bool dat_round_leave(struct dat_round_link *link);
struct dat_round_link *dat_round_turn(struct dat_round *r);

#endif /* _DAT_ROUND_H */
