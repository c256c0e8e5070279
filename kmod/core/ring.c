// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Layout of the rings in pages that a process may map, and the fields that the driver writes.
 * Letters such as (H) name the barriers in <rdma/dat_ring.h>.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "core/dat.h"
#include "core/ep/queue.h"
#include "core/face.h"
#include "core/ring.h"

/**
 * dat_step_begin() - begin a step in the replacement of a ring
 * @next: memory of the prepared ring; empty if no ring is prepared
 * @generation: generation number of the ring that was prepared last; PREPARE increments it
 * @step: step; PREPARE sets step->generation
 *
 * Context: ia->resize_lock held.  Return: 0, or -ESTALE if @step commits or cancels a generation
 * that is not prepared.
 */
int dat_step_begin(const struct dat_slice *next, u32 *generation, struct dat_step *step)
{
	switch (step->what) {
	case DAT_RING_PREPARE:
		/* Skip 0, which means "no generation" in the argument of an ioctl. */
		if (!++*generation)
			++*generation;
		step->generation = *generation;
		return 0;
	case DAT_RING_COMMIT:
	case DAT_RING_CANCEL:
		return next->chunk && step->generation == *generation ? 0 : -ESTALE;
	default:
		return 0;
	}
}

/* Event rings. */

static struct dat_evd_status *evring_status(struct dat_evring *r)
{
	return r->status.va;
}

/* Uses r->slots as the memory of the events.  r->slots has room for @entries events. */
static void evring_use(struct dat_evring *r, u32 entries)
{
	r->events = r->slots.va;
	WRITE_ONCE(r->entries, entries); /* queries read it without a lock */
	r->mask = entries - 1;
}

int dat_evring_alloc(struct dat_ia *ia, struct dat_evring *r, u32 entries)
{
	u32 start = READ_ONCE(dat_ring_start);
	struct dat_evd_head *head;
	int ret;

	ret = dat_slice_alloc(&ia->submit_pool, sizeof(struct dat_evd_head), &r->submit);
	if (ret)
		return ret;
	ret = dat_slice_alloc(&ia->status_pool, sizeof(struct dat_evd_status), &r->status);
	if (ret)
		goto err_free_submit;
	ret = dat_evring_alloc_slots(ia, &r->slots, entries);
	if (ret)
		goto err_free_status;
	head = r->submit.va;
	evring_use(r, entries);
	r->tail = start;
	r->head = start;
	head->head = start;
	evring_status(r)->tail = start;
	return 0;

err_free_status:
	dat_slice_free(&r->status);
err_free_submit:
	dat_slice_free(&r->submit);
	return ret;
}

void dat_evring_free(struct dat_evring *r)
{
	dat_slice_free(&r->slots);
	dat_slice_free(&r->status);
	dat_slice_free(&r->submit);
}

/* Counts an event that was lost because the ring was full. */
void dat_evring_drop(struct dat_evring *r)
{
	WRITE_ONCE(evring_status(r)->dropped, ++r->dropped);
}

/**
 * dat_evring_copy() - copy events to the memory that will replace the memory of a ring
 * @r: ring
 * @slots: memory of the new length
 * @entries: new length, a power of two
 * @from: index of the first event
 * @to: index after the last event; not above r->tail
 *
 * The caller need not hold evd->lock, but must keep @r from being replaced.  An event does not
 * change before the consumer takes it, and the copy of an event that the consumer has taken is
 * never read.
 */
void dat_evring_copy(const struct dat_evring *r, struct dat_slice *slots, u32 entries,
		     u32 from, u32 to)
{
	const struct dat_eqe *old = r->slots.va;
	struct dat_eqe *new = slots->va;

	for (; from != to; from++)
		new[from & (entries - 1)] = old[from & (r->entries - 1)];
}

/**
 * dat_evring_resize() - change the length of a ring
 * @r: ring; the caller holds evd->lock
 * @slots: memory of the new length; on return, the old memory
 * @entries: new length, a power of two; enough for the queued events
 * @copied: index after the events that dat_evring_copy() has already copied
 *
 * The indices and the status do not change, so the consumer continues at its head.
 */
void dat_evring_resize(struct dat_evring *r, struct dat_slice *slots, u32 entries,
		       u32 copied)
{
	/* The consumer may meanwhile have taken events after @copied: copy from its head on. */
	if (r->tail - copied > r->tail - r->head)
		copied = r->head;
	dat_evring_copy(r, slots, entries, copied, r->tail);
	swap(r->slots, *slots);
	evring_use(r, entries);
}

int dat_evring_alloc_slots(struct dat_ia *ia, struct dat_slice *slots, u32 entries)
{
	return dat_slice_alloc(&ia->status_pool, size_mul(entries, sizeof(struct dat_eqe)), slots);
}

/* Returns true if @slots was allocated for @entries events. */
bool dat_evring_slots_fit(const struct dat_slice *slots, u32 entries)
{
	return slots->chunk && slots->size == size_mul(entries, sizeof(struct dat_eqe));
}

/* Queues of work requests. */

static u32 stride_shift(size_t header, u32 sges)
{
	return order_base_2(header + sges * sizeof(struct dat_sge));
}

/* Sets the offsets and strides of @r.  Returns the size of the memory for r->submit. */
static size_t epring_layout(struct dat_epring *r, u32 sq_entries, u32 sq_sge,
			    u32 rq_entries, u32 rq_sge)
{
	size_t size = sizeof(struct dat_submit);

	r->sq_shift = stride_shift(sizeof(struct dat_sqe), sq_sge);
	r->rq_shift = stride_shift(sizeof(struct dat_rqe), rq_sge);
	r->sq_offset = size;
	size += (size_t)sq_entries << r->sq_shift;
	r->rq_offset = size;
	return size + ((size_t)rq_entries << r->rq_shift);
}

/**
 * dat_epring_alloc() - allocate the queues of an EP or SRQ
 * @ia: IA of the EP or SRQ
 * @r: result; r->status is not allocated
 * @sq_entries: length of the send queue, a power of two or 0
 * @sq_sge: largest number of segments of an SQE
 * @rq_entries: length of the receive queue, a power of two or 0
 * @rq_sge: largest number of segments of an RQE
 *
 * Context: may sleep.  Return: 0, -ENOMEM.
 */
int dat_epring_alloc(struct dat_ia *ia, struct dat_epring *r, u32 sq_entries, u32 sq_sge,
		     u32 rq_entries, u32 rq_sge)
{
	size_t size = epring_layout(r, sq_entries, sq_sge, rq_entries, rq_sge);
	struct dat_submit *submit;
	int ret;

	ret = dat_slice_alloc(&ia->submit_pool, size, &r->submit);
	if (ret)
		return ret;
	submit = r->submit.va;
	r->start = READ_ONCE(dat_ring_start);
	submit->sq_tail = r->start;
	submit->rq_tail = r->start;
	return 0;
}

/* Allocates r->status for a ring from dat_epring_alloc().  Returns 0 or -ENOMEM. */
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

/* Returns true if @r has the layout that dat_epring_alloc() makes for these arguments. */
bool dat_epring_fits(const struct dat_epring *r, u32 sq_entries, u32 sq_sge, u32 rq_entries,
		     u32 rq_sge)
{
	struct dat_epring want;
	size_t size = epring_layout(&want, sq_entries, sq_sge, rq_entries, rq_sge);

	return r->submit.chunk && r->submit.size == size &&
	       r->sq_shift == want.sq_shift && r->rq_shift == want.rq_shift &&
	       r->rq_offset == want.rq_offset;
}

void dat_epring_free(struct dat_epring *r)
{
	dat_slice_free(&r->status);
	dat_slice_free(&r->submit);
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

/* Makes @sq and @rq use a new ring.  Either queue may be NULL. */
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

/* Returns the number of entries that were posted and have not completed. */
u32 dat_ring_posted(const struct dat_queue *q)
{
	return q->head - q->done + q->ops->pending(q);
}

/*
 * Copies the @n entries that are posted and not taken.  @to is the new ring, which has @entries
 * entries.  Does not check the entries, because fetch() checks them later.
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
	WRITE_ONCE(q->entries, entries); /* queries read it without a lock */
	q->armed = 0;
	dat_queue_publish(q);
}

/**
 * dat_epring_begin_move() - begin to replace the ring of an EP or SRQ
 * @m: replacement; the function sets m->nsq and m->nrq
 *
 * The caller must not take entries from the queues before dat_epring_end_move().
 *
 * Context: lock of the queues held.  Return: 0; -EISCONN if a queue is broken; -ENOSPC if more
 * entries are posted than the new ring holds.
 */
int dat_epring_begin_move(struct dat_epmove *m)
{
	const struct dat_queue *sq = m->sq, *rq = m->rq;

	/*
	 * Read each producer index only once, because the process may change it: ring_copy() must
	 * use the number that is checked below.
	 */
	m->nsq = sq ? sq->ops->pending(sq) : 0;
	m->nrq = rq ? rq->ops->pending(rq) : 0;
	if ((sq && sq->broken) || (rq && rq->broken))
		return -EISCONN;
	if ((sq && sq->head - sq->done + m->nsq > m->sq_entries) ||
	    (rq && rq->head - rq->done + m->nrq > m->rq_entries))
		return -ENOSPC;
	return 0;
}

/**
 * dat_epring_copy() - copy to the new ring the entries that are posted and not taken
 * @m: replacement for which dat_epring_begin_move() has succeeded
 *
 * Context: may sleep.
 */
void dat_epring_copy(const struct dat_epmove *m)
{
	struct dat_subring to;

	if (m->sq) {
		epring_sq(m->next, m->ring->status.va, &to);
		ring_copy(m->sq, &to, m->sq_entries, m->nsq);
	}
	if (m->rq) {
		epring_rq(m->next, m->ring->status.va, &to);
		ring_copy(m->rq, &to, m->rq_entries, m->nrq);
	}
}

/**
 * dat_epring_end_move() - make the queues use the new ring
 * @m: replacement; dat_epring_copy() has copied the entries
 *
 * The indices and the status do not change.  On return @m->next is the old ring.
 *
 * Context: lock of the queues held; the caller disarms or pumps them afterwards.
 */
void dat_epring_end_move(const struct dat_epmove *m)
{
	struct dat_subring to;

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

void dat_epring_set_state(struct dat_epring *r, u32 state)
{
	struct dat_status *status = r->status.va;

	/*
	 * Release: a process that reads the new state also sees everything that was written before.
	 */
	smp_store_release(&status->state, state);
}

void dat_epring_set_lost(struct dat_epring *r, u32 lost)
{
	struct dat_status *status = r->status.va;

	WRITE_ONCE(status->lost, lost);
}

void dat_epring_set_pd(struct dat_epring *r, const void *pd, u32 len)
{
	struct dat_status *status = r->status.va;

	len = min_t(u32, len, sizeof(status->pd));
	memset(status->pd, 0, sizeof(status->pd));
	if (len)
		memcpy(status->pd, pd, len);
	WRITE_ONCE(status->pd_len, len);
}
