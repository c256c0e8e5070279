// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Layout of the queues of an EP or SRQ in pages that a process may map, and the fields that the
 * driver writes.
 */
#include <linux/log2.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "core/dat.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/ep/ring.h"
#include "core/ep/srq.h"
#include "core/face.h"

static u32 stride_shift(size_t header, u32 sges, u32 max_inline)
{
	return order_base_2(header + max(sges * (u32)sizeof(struct dat_sge), max_inline));
}

/* Sets the offsets and strides of a ring.  Returns the size of the memory for r->submit. */
static size_t epring_layout(struct dat_epring *r, const struct dat_epsize *size)
{
	size_t end = sizeof(struct dat_submit);

	r->sq_shift = stride_shift(sizeof(struct dat_sqe), size->sq_sge, size->max_inline);
	r->rq_shift = stride_shift(sizeof(struct dat_rqe), size->rq_sge, 0);
	r->max_inline = size->max_inline;
	r->sq_offset = end;
	end += (size_t)size->sq_entries << r->sq_shift;
	r->rq_offset = end;
	return end + ((size_t)size->rq_entries << r->rq_shift);
}

/* Allocates the queues, but not r->status.  May sleep. */
int dat_epring_alloc(struct dat_ia *ia, struct dat_epring *r, const struct dat_epsize *size)
{
	size_t bytes = epring_layout(r, size);
	struct dat_submit *submit;
	int ret;

	if (size->max_inline) {
		r->inline_data = kcalloc(DAT_BATCH, sizeof(*r->inline_data), GFP_KERNEL_ACCOUNT);
		if (!r->inline_data)
			return -ENOMEM;
	}
	ret = dat_slice_alloc(&ia->submit_pool, bytes, &r->submit);
	if (ret) {
		kfree(r->inline_data);
		r->inline_data = NULL;
		return ret;
	}
	submit = r->submit.va;
	r->start = READ_ONCE(dat_ring_start);
	submit->sq_tail = r->start;
	submit->rq_tail = r->start;
	return 0;
}

/* Allocates r->status for a ring from dat_epring_alloc().  May sleep. */
int dat_epring_alloc_status(struct dat_ia *ia, struct dat_epring *r)
{
	struct dat_status *status;
	int ret;

	ret = dat_slice_alloc(&ia->status_pool, sizeof(struct dat_status), &r->status);
	if (ret)
		return ret;
	status = r->status.va;
	status->sq.head = r->start;
	status->sq.done = r->start;
	status->rq.head = r->start;
	status->rq.done = r->start;
	return 0;
}

/* Returns true if @r is a ring that dat_epring_alloc() has made for @size. */
bool dat_epring_fits(const struct dat_epring *r, const struct dat_epsize *size)
{
	struct dat_epring want;
	size_t bytes = epring_layout(&want, size);

	return r->submit.chunk && r->submit.size == bytes &&
	       r->sq_shift == want.sq_shift && r->rq_shift == want.rq_shift &&
	       r->rq_offset == want.rq_offset && r->max_inline == want.max_inline;
}

void dat_epring_free(struct dat_epring *r)
{
	dat_slice_free(&r->status);
	dat_slice_free(&r->submit);
	kfree(r->inline_data);
	r->inline_data = NULL;
}

static u32 sges_in_stride(u32 shift, size_t header)
{
	return min_t(u32, DAT_MAX_SGE, ((1U << shift) - header) / sizeof(struct dat_sge));
}

static void epring_bind_queue(struct dat_epring *r, struct dat_queue *q)
{
	q->head = r->start;
	q->done = r->start;
}

static void epring_sq(struct dat_epring *r, struct dat_status *status, struct dat_subring *sq)
{
	struct dat_submit *submit = r->submit.va;

	sq->tail = &submit->sq_tail;
	sq->entries = r->submit.va + r->sq_offset;
	sq->status = &status->sq;
	sq->shift = r->sq_shift;
	sq->max_sge = sges_in_stride(r->sq_shift, sizeof(struct dat_sqe));
	sq->max_inline = r->max_inline;
	sq->inline_data = r->inline_data;
}

static void epring_rq(struct dat_epring *r, struct dat_status *status, struct dat_subring *rq)
{
	struct dat_submit *submit = r->submit.va;

	rq->tail = &submit->rq_tail;
	rq->entries = r->submit.va + r->rq_offset;
	rq->status = &status->rq;
	rq->shift = r->rq_shift;
	rq->max_sge = sges_in_stride(r->rq_shift, sizeof(struct dat_rqe));
}

/* Makes @sq and @rq use a new ring.  Each of the two may be NULL. */
void dat_epring_bind(struct dat_epring *r, struct dat_queue *sq, struct dat_queue *rq)
{
	if (sq) {
		epring_bind_queue(r, sq);
		sq->kernel = sq->obj->ia->face->kernel;
		sq->ops = sq->obj->ia->face->sq;
		epring_sq(r, r->status.va, &sq->ring);
	}
	if (rq) {
		epring_bind_queue(r, rq);
		rq->kernel = rq->obj->ia->face->kernel;
		rq->ops = rq->obj->ia->face->rq;
		epring_rq(r, r->status.va, &rq->ring);
	}
}

/*
 * Returns the number of entries that were posted and have not completed.  The lock of the queue is
 * held.
 */
u32 dat_ring_posted(const struct dat_queue *q)
{
	dat_queue_assert_held(q);

	return q->head - q->done + q->ops->pending(q);
}

/*
 * Copies to @to, a new ring of @entries entries, the @n entries that are posted and not taken.
 * Does not check the entries, because fetch() does so later.  May sleep.
 */
static void ring_copy(const struct dat_queue *q, const struct dat_subring *to, u32 entries,
		      u32 n)
{
	size_t stride = 1UL << min(q->ring.shift, to->shift);
	u32 i;

	for (i = q->head; i != q->head + n; i++) {
		memcpy(to->entries + ((size_t)(i & (entries - 1)) << to->shift),
		       q->ring.entries + ((size_t)(i & (q->entries - 1)) << q->ring.shift),
		       stride);
		cond_resched();
	}
	*to->tail = q->head + n;
}

static void ring_go_on(struct dat_queue *q, const struct dat_subring *to, u32 entries)
{
	q->ring = *to;
	WRITE_ONCE(q->entries, entries); /* some readers hold only ia->resize_lock */
	dat_queue_disarm(q);
	dat_queue_publish(q);
}

/*
 * Begins to replace a ring; sets m->nsq and m->nrq.  After a success the caller takes no entries
 * from the queues until dat_epring_end_move().  The lock of the queues is held.  Fails with
 * -EISCONN if a queue is broken, with -ENOSPC if more entries are posted than the new ring holds.
 */
int dat_epring_begin_move(struct dat_epmove *m)
{
	const struct dat_queue *sq = m->sq, *rq = m->rq;

	dat_queue_assert_held(sq ?: rq);
	/* Read each producer index once: ring_copy() must use the number that is checked below. */
	m->nsq = sq ? sq->ops->pending(sq) : 0;
	m->nrq = rq ? rq->ops->pending(rq) : 0;
	if ((sq && sq->broken) || (rq && rq->broken))
		return -EISCONN;
	if ((sq && sq->head - sq->done + m->nsq > m->sq_entries) ||
	    (rq && rq->head - rq->done + m->nrq > m->rq_entries))
		return -ENOSPC;
	return 0;
}

/* Copies to the new ring the entries that are posted and not taken.  May sleep. */
void dat_epring_copy(const struct dat_epmove *m)
{
	struct dat_subring to = {};

	if (m->sq) {
		epring_sq(m->next, m->ring->status.va, &to);
		ring_copy(m->sq, &to, m->sq_entries, m->nsq);
	}
	if (m->rq) {
		epring_rq(m->next, m->ring->status.va, &to);
		ring_copy(m->rq, &to, m->rq_entries, m->nrq);
	}
}

/*
 * Makes the queues use the new ring, with the same indices and status.  On return @m->next is the
 * old ring.  The lock of the queues is held; the caller pumps the queues afterwards, unless they
 * belong to an UNCONNECTED EP.
 */
void dat_epring_end_move(const struct dat_epmove *m)
{
	struct dat_subring to = {};

	dat_queue_assert_held(m->sq ?: m->rq);
	if (m->sq) {
		epring_sq(m->next, m->ring->status.va, &to);
		ring_go_on(m->sq, &to, m->sq_entries);
	}
	if (m->rq) {
		epring_rq(m->next, m->ring->status.va, &to);
		ring_go_on(m->rq, &to, m->rq_entries);
	}
	swap(*m->ring, *m->next);
	swap(m->ring->status, m->next->status);
}

/* Publishes the state of an EP or SRQ.  ep->lock or srq->lock, which orders writers, is held. */
void dat_epring_set_state(struct dat_epring *r, u32 state)
{
	struct dat_status *status = r->status.va;

	/*
	 * Release: a process that reads the new state also sees everything that was written before.
	 */
	smp_store_release(&status->state, state);
}

/* Publishes the number of buffers that have completed without an event.  srq->lock is held. */
void dat_epring_set_lost(struct dat_epring *r, u32 lost)
{
	struct dat_status *status = r->status.va;

	lockdep_assert_held(&container_of(r, struct dat_srq, ring)->lock);
	WRITE_ONCE(status->lost, lost);
}

/* Publishes the peer's private data.  If @len is 0, clears the data.  ep->lock is held. */
void dat_epring_set_pd(struct dat_epring *r, const void *pd, u32 len)
{
	struct dat_status *status = r->status.va;

	lockdep_assert_held(&container_of(r, struct dat_ep, ring)->lock);
	len = min_t(u32, len, sizeof(status->pd));
	memset(status->pd, 0, sizeof(status->pd));
	if (len)
		memcpy(status->pd, pd, len);
	WRITE_ONCE(status->pd_len, len);
}
