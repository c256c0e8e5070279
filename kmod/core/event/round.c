// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Rounds: completion queues or connections of an EVD that a thread polls in turn.  A thread that
 * makes a link join or leave holds the owner's lock, in which round->lock nests.
 */
#include "core/event/round.h"

void dat_round_init(struct dat_round *r)
{
	spin_lock_init(&r->lock);
	INIT_LIST_HEAD(&r->links);
}

/* Adds a link to a round.  The owner's lock and the lock of the round are held. */
void dat_round_join(struct dat_round *r, struct dat_round_link *link)
{
	lockdep_assert_held(&r->lock);
	list_add_tail(&link->node, &r->links);
	WRITE_ONCE(r->count, r->count + 1);
	WRITE_ONCE(link->round, r);
}

/*
 * Removes a link from its round.  Returns false if the link is in no round.  The owner's lock is
 * held.
 */
bool dat_round_leave(struct dat_round_link *link)
{
	struct dat_round *r = link->round;

	if (!r)
		return false;
	spin_lock_bh(&r->lock);
	list_del(&link->node);
	WRITE_ONCE(r->count, r->count - 1);
	spin_unlock_bh(&r->lock);
	WRITE_ONCE(link->round, NULL);
	return true;
}

/*
 * Returns the next link in round-robin order, or NULL if the round is empty.  The caller's RCU read
 * lock keeps the owner of the link allocated.
 */
struct dat_round_link *dat_round_turn(struct dat_round *r)
{
	struct dat_round_link *link;
	struct list_head *first;

	/* A single link needs no turn, so do not take the lock. */
	if (READ_ONCE(r->count) == 1) {
		first = READ_ONCE(r->links.next);
		link = list_entry(first, struct dat_round_link, node);
		return first == &r->links ? NULL : link;
	}
	spin_lock_bh(&r->lock);
	link = list_first_entry_or_null(&r->links, struct dat_round_link, node);
	if (link)
		list_move_tail(&link->node, &r->links);
	spin_unlock_bh(&r->lock);
	return link;
}
