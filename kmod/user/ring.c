// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The rings that processes map.  Only this file reads what a process writes to its rings, except
 * that core/ep/ring.c copies unchecked entries to a new ring.  The letters in parentheses mark
 * memory barriers that <rdma/dat_ring.h> describes.
 *
 * This file trusts nothing that it reads from a ring.  Each index is read once and compared with a
 * private index.  Each entry is copied once, and the copy is checked.
 */
#include <linux/nospec.h>

#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/event/evd.h"
#include "core/event/ring.h"
#include "core/face.h"
#include "user/file.h"

/*
 * Returns the number of events that the process has not consumed.  The process writes the head.  A
 * valid head lies between the last valid head and the tail.  The function ignores any other value:
 * a wrong head harms only the process that wrote it.
 */
static u32 user_count(struct dat_evd *evd)
{
	struct dat_evring *r = &evd->ring;
	const struct dat_evd_head *submit = r->submit.va;
	u32 head = smp_load_acquire(&submit->head);	/* (G) */

	lockdep_assert_held(&evd->lock);
	if (r->tail - head <= r->tail - r->head)
		r->head = head;
	return r->tail - r->head;
}

static const struct dat_sink user_sink = {
	.count	= user_count,
	.wake	= dat_evd_wake_waiters,
};

static u32 ring_pending(const struct dat_queue *q)
{
	u32 n = smp_load_acquire(q->ring.tail) - q->head;	/* (D) */

	return min(n, q->entries);
}

/*
 * Returns the number of entries from q->head on, or -EOVERFLOW if the tail that the process wrote
 * is out of range.
 */
static int ring_peek(struct dat_queue *q)
{
	u32 n = smp_load_acquire(q->ring.tail) - q->head;	/* (D) */

	return n <= q->entries ? n : -EOVERFLOW;
}

static const void *ring_entry(struct dat_queue *q)
{
	return q->ring.entries + ((size_t)(q->head & (q->entries - 1)) << q->ring.shift);
}

/* Copies the segments of an entry.  The caller has checked wr->num_sge, which is a private copy. */
static void ring_copy_sge(struct dat_wr *wr, const void *from)
{
	memcpy(wr->sge, from, wr->num_sge * sizeof(wr->sge[0]));
	/* Without a barrier, a later check might read the shared segments instead of the copy. */
	barrier();
}

/*
 * Copies the inline data of an entry.  wr->inline_len and the other members of @wr are private
 * copies.  Fails with -EBADMSG if the entry may not have that many bytes.
 */
static int ring_copy_inline(const struct dat_queue *q, struct dat_wr *wr, const void *from)
{
	u8 *to;

	if (wr->inline_len > q->ring.max_inline || wr->num_sge ||
	    (wr->op != DAT_OP_SEND && wr->op != DAT_OP_RDMA_WRITE))
		return -EBADMSG;
	to = q->ring.inline_data[q->head % DAT_BATCH];
	memcpy(to, from, wr->inline_len);
	wr->inline_data = to;
	return 0;
}

/* Returns true if both the EP and the operation of the entry may have immediate data. */
static bool sqe_may_have_imm(const struct dat_queue *q, const struct dat_sqe *sqe)
{
	return sqe->flags & DAT_SQE_IMM && dat_ep_has_imm(to_dat_ep(q->obj)) &&
	       (sqe->opcode == DAT_OP_SEND || sqe->opcode == DAT_OP_RDMA_WRITE);
}

static int sq_fetch(struct dat_queue *q, struct dat_wr *wr)
{
	const struct dat_sqe *entry = ring_entry(q);
	struct dat_sqe sqe;
	int ret = ring_peek(q);

	if (ret <= 0)
		return ret;
	memcpy(&sqe, entry, sizeof(sqe));
	barrier();
	q->head++;
	wr->cookie = sqe.cookie;
	wr->op = array_index_nospec(sqe.opcode, DAT_OP_LAST);
	/* The event of a rejected entry needs wr->flags, so set wr->flags before the checks. */
	wr->flags = dat_flags_with_op(wr->op, sqe.flags & DAT_SQE_FLAGS_ALL);
	wr->num_sge = sqe.num_sge;
	wr->rkey = sqe.rkey;
	wr->raddr = sqe.raddr;
	wr->inline_len = sqe.inline_len;
	wr->with_imm = sqe.flags & DAT_SQE_IMM;
	wr->imm = sqe.imm;
	if (unlikely(wr->with_imm || sqe.imm) && !sqe_may_have_imm(q, &sqe))
		return -EBADMSG;
	if (sqe.num_sge > q->ring.max_sge || sqe.inline_len > DAT_MAX_INLINE ||
	    sqe.rsvd || sqe.flags & ~(DAT_SQE_FLAGS_ALL | DAT_SQE_IMM) ||
	    sqe.opcode == DAT_OP_INVALID || sqe.opcode >= DAT_OP_LAST)
		return -EBADMSG;
	if (sqe.inline_len)
		return ring_copy_inline(q, wr, entry + 1) ?: ret;
	ring_copy_sge(wr, entry + 1);
	return ret;
}

static int rq_fetch(struct dat_queue *q, struct dat_wr *wr)
{
	const struct dat_rqe *entry = ring_entry(q);
	struct dat_rqe rqe;
	int ret = ring_peek(q);

	if (ret <= 0)
		return ret;
	memcpy(&rqe, entry, sizeof(rqe));
	barrier();
	q->head++;
	wr->cookie = rqe.cookie;
	wr->op = DAT_OP_INVALID;
	wr->flags = rqe.flags & DAT_SQE_UNSIGNALLED;
	wr->num_sge = rqe.num_sge;
	if (rqe.num_sge > q->ring.max_sge || rqe.flags & ~DAT_SQE_UNSIGNALLED || rqe.rsvd ||
	    rqe.rsvd2)
		return -EBADMSG;
	ring_copy_sge(wr, entry + 1);
	return ret;
}

static void ring_publish(struct dat_queue *q)
{
	struct dat_queue_status *status = q->ring.status;

	WRITE_ONCE(status->bad, q->bad);
	WRITE_ONCE(status->head, q->head);
	/* Publish q->done before the completion event, after which the process may post again. */
	smp_store_release(&status->done, q->done);
}

static bool ring_arm(struct dat_queue *q, u32 after)
{
	struct dat_queue_status *status = q->ring.status;
	u32 n;

	WRITE_ONCE(status->kick_at, q->head + after);
	smp_store_release(&status->flags, DAT_QUEUE_NEED_KICK);	/* publishes kick_at */
	smp_mb();						/* (E) */
	n = smp_load_acquire(q->ring.tail) - q->head;		/* (D) */
	/* A tail out of range counts as entries, so that fetch() finds the error. */
	return n >= after;
}

static void ring_disarm(struct dat_queue *q)
{
	WRITE_ONCE(q->ring.status->flags, 0);
}

static const struct dat_queue_ops user_sq_ops = {
	.fetch		= sq_fetch,
	.publish	= ring_publish,
	.pending	= ring_pending,
	.arm		= ring_arm,
	.disarm		= ring_disarm,
};

static const struct dat_queue_ops user_rq_ops = {
	.fetch		= rq_fetch,
	.publish	= ring_publish,
	.pending	= ring_pending,
	.arm		= ring_arm,
	.disarm		= ring_disarm,
};

const struct dat_face dat_user_face = {
	.sink	= &user_sink,
	.sq	= &user_sq_ops,
	.rq	= &user_rq_ops,
};

/* Returns true if a bit of a doorbell word is set, and leaves the word unchanged. */
bool dat_doorbell_rung(const struct dat_region *r, unsigned int word)
{
	const u32 *dirty = r->va;

	return READ_ONCE(dirty[word]);
}

/* Reads and clears a word of doorbell bits.  Skips the expensive xchg() if the word is 0. */
u32 dat_doorbell_take(struct dat_region *r, unsigned int word)
{
	u32 *dirty = r->va;

	if (!READ_ONCE(dirty[word]))
		return 0;
	return xchg(&dirty[word], 0);				/* (F) */
}
