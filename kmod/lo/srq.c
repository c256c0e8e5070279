// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Shared receive queues.  A message takes a buffer when its lane finds one, or waits in a list of
 * lanes.  A new buffer goes to the first lane of the list, so while lanes wait, no buffer is free:
 * lo_srq.fifo is empty, or the connections of all lanes in lo_srq.stalled end.  Each message takes
 * one buffer and waits anew for the next, so the senders take turns.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "core/ep/srq.h"
#include "lo/lo.h"

static struct lo_wqe *srq_buf(const struct lo_srq *lsrq, u32 index)
{
	return lsrq->bufs + (size_t)index * lsrq->stride;
}

int lo_srq_init(struct dat_srq *srq, u32 max_recv, u32 max_iov)
{
	struct lo_srq *lsrq = to_lo_srq(srq);
	u32 entries = roundup_pow_of_two(max_recv);

	INIT_LIST_HEAD(&lsrq->stalled);
	lsrq->room = max_iov * sizeof(struct ib_sge);
	lsrq->stride = sizeof(struct lo_wqe) + lsrq->room;
	lsrq->mask = entries - 1;
	lsrq->bufs = kvcalloc(max_recv, lsrq->stride, GFP_KERNEL_ACCOUNT);
	lsrq->fifo = kvcalloc(entries, sizeof(*lsrq->fifo), GFP_KERNEL_ACCOUNT);
	return lsrq->bufs && lsrq->fifo ? 0 : -ENOMEM;
}

/* The EPs of the SRQ are shut down, so no lane uses a buffer. */
void lo_srq_exit(struct dat_srq *srq)
{
	struct lo_srq *lsrq = to_lo_srq(srq);

	kvfree(lsrq->bufs);
	kvfree(lsrq->fifo);
	lsrq->bufs = NULL;
	lsrq->fifo = NULL;
}

/*
 * Gives a buffer to the first lane that waits, or appends it to the FIFO.  Skips lanes whose
 * connection ends, because these use no buffer any more.  A lane in the list is open.
 */
static void srq_give(struct lo_srq *lsrq, u32 index)
{
	struct lo_lane *l;

	lockdep_assert_held(&lsrq->srq.lock);
	list_for_each_entry(l, &lsrq->stalled, stalled) {
		if (lo_lane_ends(l))
			continue;
		list_del_init(&l->stalled);
		l->taken = index;
		lo_lane_wake(l, false);
		return;
	}
	lsrq->fifo[lsrq->tail++ & lsrq->mask] = index;
}

int lo_srq_post(struct dat_srq *srq, const struct ib_recv_wr *wr)
{
	struct dat_slot *slot = container_of(wr->wr_cqe, struct dat_slot, cqe);
	struct lo_srq *lsrq = to_lo_srq(srq);
	u32 index = slot - srq->slots;
	struct lo_wqe *buf;

	lockdep_assert_held(&srq->lock);
	if (!lsrq->bufs || wr->num_sge * sizeof(wr->sg_list[0]) > lsrq->room)
		return -EINVAL;
	buf = srq_buf(lsrq, index);
	buf->slot = slot;
	buf->nseg = wr->num_sge;
	buf->len = slot->len;
	memcpy(buf->seg, wr->sg_list, wr->num_sge * sizeof(wr->sg_list[0]));
	srq_give(lsrq, index);
	return 0;
}

/*
 * Returns the buffer of the lane's oldest request.  If there is none, lets the lane wait for one
 * and returns NULL; the post of a buffer then wakes the lane.  The lane is locked.  The caller
 * resets l->taken when the message has ended.
 */
const struct lo_wqe *lo_srq_take(struct lo_lane *l)
{
	struct lo_srq *lsrq = to_lo_srq(l->to->conn.ep->srq);
	u32 index;

	lockdep_assert_held(&l->lock);
	spin_lock(&lsrq->srq.lock);
	if (l->taken == LO_NONE && list_empty(&l->stalled)) {
		if (lsrq->head != lsrq->tail)
			l->taken = lsrq->fifo[lsrq->head++ & lsrq->mask];
		else
			list_add_tail(&l->stalled, &lsrq->stalled);
	}
	index = l->taken;
	spin_unlock(&lsrq->srq.lock);
	return index == LO_NONE ? NULL : srq_buf(lsrq, index);
}

/* Gives the buffer of a message that was not completed back.  The lane is locked and closes. */
void lo_srq_leave(struct lo_lane *l)
{
	struct lo_srq *lsrq = to_lo_srq(l->to->conn.ep->srq);

	lockdep_assert_held(&l->lock);
	spin_lock(&lsrq->srq.lock);
	list_del_init(&l->stalled);
	if (l->taken != LO_NONE)
		srq_give(lsrq, l->taken);
	l->taken = LO_NONE;
	spin_unlock(&lsrq->srq.lock);
}
