// SPDX-License-Identifier: GPL-2.0
/*
 * Rings of kernel consumers: the same memory as those of processes, but no process maps it.
 * Posts and dequeues hold the lock of the queue or the EVD, so indices are exact and no kick is
 * ever needed.  The pump checks entries as it checks those of processes.
 */
#include "kdapl/kdapl.h"

static u32 *kring_tail(const struct dat_queue *q)
{
	return (u32 *)q->ring.tail;
}

static void *kring_entry(const struct dat_queue *q, u32 index)
{
	return (void *)q->ring.entries + ((size_t)(index & (q->entries - 1)) << q->ring.shift);
}

/**
 * dat_kring_next() - where the next entry goes
 * @q: queue of a kernel consumer; its lock is held
 *
 * Return: struct dat_sqe or dat_rqe with room for the segments, to be followed by
 * dat_kring_push(); or NULL: the queue is full, or about to be
 * another one.
 */
void *dat_kring_next(const struct dat_queue *q)
{
	u32 tail = *kring_tail(q);

	/* What it holds is just being copied elsewhere. */
	if (q->frozen)
		return NULL;
	return tail - q->done < q->entries ? kring_entry(q, tail) : NULL;
}

/* The entry is whole. */
void dat_kring_push(struct dat_queue *q)
{
	++*kring_tail(q);
}

static int ksq_fetch(struct dat_queue *q, struct dat_wr *wr)
{
	const struct dat_sqe *sqe = kring_entry(q, q->head);

	if (*kring_tail(q) == q->head)
		return 0;
	q->head++;
	wr->cookie = sqe->cookie;
	wr->op = sqe->opcode;
	/* For the event of its completion. */
	wr->flags = dat_kring_flags(sqe->opcode, sqe->flags);
	wr->num_sge = sqe->num_sge;
	wr->rkey = sqe->rkey;
	wr->raddr = sqe->raddr;
	/* The ring has been made narrower meanwhile. */
	if (wr->num_sge > q->ring.max_sge)
		return -EBADMSG;
	memcpy(wr->sge, sqe + 1, wr->num_sge * sizeof(wr->sge[0]));
	return 1;
}

static int krq_fetch(struct dat_queue *q, struct dat_wr *wr)
{
	const struct dat_rqe *rqe = kring_entry(q, q->head);

	if (*kring_tail(q) == q->head)
		return 0;
	q->head++;
	wr->cookie = rqe->cookie;
	wr->op = DAT_OP_INVALID;
	wr->flags = rqe->flags;
	wr->num_sge = rqe->num_sge;
	if (wr->num_sge > q->ring.max_sge)
		return -EBADMSG;
	memcpy(wr->sge, rqe + 1, wr->num_sge * sizeof(wr->sge[0]));
	return 1;
}

static void kring_publish(struct dat_queue *q)
{
}

static u32 kring_pending(const struct dat_queue *q)
{
	return *kring_tail(q) - q->head;
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
	.publish	= kring_publish,
	.pending	= kring_pending,
	.arm		= kring_arm,
	.disarm		= kring_disarm,
};

const struct dat_queue_ops kdat_rq_ops = {
	.fetch		= krq_fetch,
	.publish	= kring_publish,
	.pending	= kring_pending,
	.arm		= kring_arm,
	.disarm		= kring_disarm,
};

static u32 kevring_count(struct dat_evd *evd)
{
	return dat_kevring_count(&evd->ring);
}

const struct dat_sink kdat_sink = {
	.count		= kevring_count,
	.wake		= dat_upcall_wake,
	.begin		= dat_upcall_hold,
	.release	= dat_upcall_release,
	.reject_data	= true,
};

/**
 * dat_kevring_pop() - take the oldest event
 * @r: ring of a kernel consumer; the EVD's lock is held
 * @eqe: result
 *
 * Return: false if there is none.
 */
bool dat_kevring_pop(struct dat_evring *r, struct dat_eqe *eqe)
{
	if (!dat_kevring_count(r))
		return false;
	*eqe = *dat_evring_at(r, r->head);
	r->head++;
	return true;
}

/**
 * dat_kring_pd() - what the peer sent with its answer
 * @r: ring, which stays
 * @len: bytes that there were when the event of it was made
 *
 * Context: ep->lock held.  Return: NULL if the EP was reset since; an event that
 * is dequeued after yet another connect shows what that peer sent.
 */
void *dat_kring_pd(const struct dat_epring *r, u32 len)
{
	struct dat_status *status = r->status.va;

	return status->pd_len == len ? status->pd : NULL;
}
