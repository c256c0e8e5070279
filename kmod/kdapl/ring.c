// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Rings of kernel consumers.  The layout is that of the rings that processes map, but no process
 * maps these rings.  A post holds the lock of the queue, and a dequeue holds the lock of the EVD,
 * so the indices are exact.  A post also processes the queue, so the consumer need not kick.  The
 * core checks the segments of each entry as strictly as those of an entry from a process.  Opcodes
 * and flags come from this folder and are trusted.
 */
#include "core/ep/queue.h"
#include "core/ep/ring.h"
#include "core/event/evd.h"
#include "core/event/ring.h"
#include "core/face.h"
#include "kdapl/kdapl.h"

static void *kring_entry(const struct dat_queue *q, u32 index)
{
	return q->ring.entries + ((size_t)(index & (q->entries - 1)) << q->ring.shift);
}

/* Returns the next free entry, or NULL if the ring is full or is being replaced. */
static void *kring_next(const struct dat_queue *q)
{
	u32 tail = *q->ring.tail;

	return !q->frozen && tail - q->done < q->entries ? kring_entry(q, tail) : NULL;
}

static bool ksq_put(struct dat_queue *q, const struct dat_wr *wr)
{
	struct dat_sqe *sqe = kring_next(q);

	if (!sqe)
		return false;
	*sqe = (struct dat_sqe) {
		.opcode = wr->op, .flags = wr->flags & DAT_SQE_FLAGS_ALL, .num_sge = wr->num_sge,
		.rkey = wr->rkey, .cookie = wr->cookie, .raddr = wr->raddr,
	};
	if (unlikely(wr->with_imm)) {
		sqe->flags |= DAT_SQE_IMM;
		sqe->imm = wr->imm;
	}
	memcpy(sqe + 1, wr->sge, wr->num_sge * sizeof(wr->sge[0]));
	++*q->ring.tail;
	return true;
}

static bool krq_put(struct dat_queue *q, const struct dat_wr *wr)
{
	struct dat_rqe *rqe = kring_next(q);

	if (!rqe)
		return false;
	*rqe = (struct dat_rqe) {
		.cookie = wr->cookie, .num_sge = wr->num_sge, .flags = wr->flags,
	};
	memcpy(rqe + 1, wr->sge, wr->num_sge * sizeof(wr->sge[0]));
	++*q->ring.tail;
	return true;
}

static int ksq_fetch(struct dat_queue *q, struct dat_wr *wr)
{
	const struct dat_sqe *sqe = kring_entry(q, q->head);
	u32 n = *q->ring.tail - q->head;

	if (!n)
		return 0;
	q->head++;
	wr->cookie = sqe->cookie;
	wr->op = sqe->opcode;
	wr->flags = dat_flags_with_op(sqe->opcode, sqe->flags & DAT_SQE_FLAGS_ALL);
	wr->num_sge = sqe->num_sge;
	wr->rkey = sqe->rkey;
	wr->raddr = sqe->raddr;
	wr->with_imm = sqe->flags & DAT_SQE_IMM;
	wr->imm = sqe->imm;
	/* dat_ep_modify() may have reduced the number of segments that an entry holds. */
	if (wr->num_sge > q->ring.max_sge)
		return -EBADMSG;
	memcpy(wr->sge, sqe + 1, wr->num_sge * sizeof(wr->sge[0]));
	return n;
}

static int krq_fetch(struct dat_queue *q, struct dat_wr *wr)
{
	const struct dat_rqe *rqe = kring_entry(q, q->head);
	u32 n = *q->ring.tail - q->head;

	if (!n)
		return 0;
	q->head++;
	wr->cookie = rqe->cookie;
	wr->op = DAT_OP_INVALID;
	wr->flags = rqe->flags;
	wr->num_sge = rqe->num_sge;
	if (wr->num_sge > q->ring.max_sge)
		return -EBADMSG;
	memcpy(wr->sge, rqe + 1, wr->num_sge * sizeof(wr->sge[0]));
	return n;
}

static u32 kring_pending(const struct dat_queue *q)
{
	return *q->ring.tail - q->head;
}

static bool kring_arm(struct dat_queue *q, u32 after)
{
	return kring_pending(q) >= after;
}

static void kring_disarm(struct dat_queue *q)
{
}

const struct dat_queue_ops kdat_sq_ops = {
	.fetch		= ksq_fetch,
	.put		= ksq_put,
	.pending	= kring_pending,
	.arm		= kring_arm,
	.disarm		= kring_disarm,
};

const struct dat_queue_ops kdat_rq_ops = {
	.fetch		= krq_fetch,
	.put		= krq_put,
	.pending	= kring_pending,
	.arm		= kring_arm,
	.disarm		= kring_disarm,
};

static u32 kevring_count(struct dat_evd *evd)
{
	lockdep_assert_held(&evd->lock);

	return kdat_evring_count(&evd->ring);
}

const struct dat_sink kdat_sink = {
	.count		= kevring_count,
	.wake		= kdat_upcall_wake,
	.begin		= kdat_upcall_hold,
	.release	= kdat_upcall_release,
};

/* Takes the oldest event.  Returns false if the ring is empty.  evd->lock is held. */
bool kdat_evring_pop(struct dat_evring *r, struct dat_eqe *eqe)
{
	lockdep_assert_held(&container_of(r, struct dat_evd, ring)->lock);

	if (!kdat_evring_count(r))
		return false;
	*eqe = *dat_evring_at(r, r->head);
	r->head++;
	return true;
}

/*
 * Returns the private data of the peer's answer, or NULL if the EP was reset since the event.  If
 * the EP has connected again since the event, the result is NULL, or the private data of the new
 * peer if that data has the same length.
 * @len: length of the private data, from the event.  ep->lock is held.
 */
void *kdat_ring_pd(const struct dat_epring *r, u32 len)
{
	struct dat_status *status = r->status.va;

	lockdep_assert_held(&container_of(r, struct dat_ep, ring)->lock);
	return status->pd_len == len ? status->pd : NULL;
}
