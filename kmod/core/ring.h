/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Rings in memory that a process may map: their layout, and the fields that the driver writes.
 * Only user/ring.c reads the fields that a process writes.  <rdma/dat_ring.h> describes the
 * protocol; its letters (A), (B) ... name the memory barriers.
 */
#ifndef _DAT_RING_H
#define _DAT_RING_H

#include <rdma/dat_ioctl.h>
#include <rdma/dat_ring.h>

#include "core/mem/pool.h"

struct dat_ia;
struct dat_queue;
struct dat_queue_ops;

/**
 * struct dat_step - one step in the replacement of a ring
 * @what: kind of step
 * @generation: generation number of the prepared ring; an output of PREPARE, an input of COMMIT and
 *	CANCEL
 */
struct dat_step {
	enum dat_ring_step	what;
	u32			generation;
};

/* Returns true if the step allocates a new ring. */
static inline bool dat_step_makes(const struct dat_step *step)
{
	return step->what == DAT_RING_AT_ONCE || step->what == DAT_RING_PREPARE;
}

/* Returns true if the step puts the new ring into use. */
static inline bool dat_step_uses(const struct dat_step *step)
{
	return step->what == DAT_RING_AT_ONCE || step->what == DAT_RING_COMMIT;
}

/**
 * struct dat_evring - an event ring
 * @submit: memory of struct dat_evd_head, which the process writes
 * @status: memory of struct dat_evd_status, which the driver writes; kept when the ring is resized
 * @slots: memory of @events
 * @events: array of events, which the driver writes
 * @entries: length of @events, a power of two
 * @mask: @entries - 1
 * @tail: index of the next event to be written
 * @head: index of the first event that the consumer has not taken, as last read from the consumer;
 *	an invalid index from a process is ignored
 * @published: number of events that were queued
 * @dropped: number of events lost because the ring was full
 */
struct dat_evring {
	struct dat_slice	submit;
	struct dat_slice	status;
	struct dat_slice	slots;
	struct dat_eqe		*events;
	u32			entries;
	u32			mask;
	u32			tail;
	u32			head;
	u64			published;
	u64			dropped;
};

/**
 * struct dat_epring - the shared memory of an EP or an SRQ
 * @submit: memory of struct dat_submit and of the entries, which the process writes
 * @status: memory of struct dat_status, which the driver writes; kept when the ring is replaced
 * @sq_offset: offset of the SQEs in @submit, in bytes
 * @rq_offset: offset of the RQEs in @submit, in bytes
 * @sq_shift: log2 of the SQE stride
 * @rq_shift: log2 of the RQE stride
 * @start: initial index of both queues
 */
struct dat_epring {
	struct dat_slice	submit;
	struct dat_slice	status;
	u32			sq_offset;
	u32			rq_offset;
	u32			sq_shift;
	u32			rq_shift;
	u32			start;
};

/**
 * struct dat_epmove - replacement of the ring of an EP or SRQ
 * @ring: ring in use
 * @next: new ring, not in use yet; @next->status is empty, because the status memory of
 *	@ring stays in use
 * @sq: send queue whose entries move, or NULL
 * @sq_entries: number of SQEs in @next
 * @rq: receive queue whose entries move, or NULL
 * @rq_entries: number of RQEs in @next
 * @nsq: number of SQEs to copy: those that are posted and not taken
 * @nrq: number of RQEs to copy: those that are posted and not taken
 */
struct dat_epmove {
	struct dat_epring	*ring;
	struct dat_epring	*next;
	struct dat_queue	*sq;
	u32			sq_entries;
	struct dat_queue	*rq;
	u32			rq_entries;
	u32			nsq;
	u32			nrq;
};

/**
 * struct dat_subring - the part of a struct dat_epring that belongs to one queue
 * @tail: index of the next entry to be posted; written by the producer, which is the process, or
 *	the driver on behalf of a kernel consumer
 * @entries: array of entries; written by the producer
 * @status: state of the queue; written by the driver
 * @shift: log2 of the distance between two entries, in bytes
 * @max_sge: largest number of segments of an entry
 */
struct dat_subring {
	u32			*tail;
	void			*entries;
	struct dat_queue_status	*status;
	u32			shift;
	u32			max_sge;
};

int dat_step_begin(const struct dat_slice *next, u32 *generation, struct dat_step *step);

int dat_evring_alloc(struct dat_ia *ia, struct dat_evring *r, u32 entries);
void dat_evring_free(struct dat_evring *r);
void dat_evring_drop(struct dat_evring *r);
int dat_evring_alloc_slots(struct dat_ia *ia, struct dat_slice *slots, u32 entries);
bool dat_evring_slots_fit(const struct dat_slice *slots, u32 entries);
void dat_evring_copy(const struct dat_evring *r, struct dat_slice *slots, u32 entries,
		     u32 from, u32 to);
void dat_evring_resize(struct dat_evring *r, struct dat_slice *slots, u32 entries,
		       u32 copied);

int dat_epring_alloc(struct dat_ia *ia, struct dat_epring *r, u32 sq_entries, u32 sq_sge,
		     u32 rq_entries, u32 rq_sge);
int dat_epring_alloc_status(struct dat_ia *ia, struct dat_epring *r);
bool dat_epring_fits(const struct dat_epring *r, u32 sq_entries, u32 sq_sge, u32 rq_entries,
		     u32 rq_sge);
void dat_epring_free(struct dat_epring *r);
void dat_epring_bind(struct dat_epring *r, struct dat_queue *sq, struct dat_queue *rq);
int dat_epring_begin_move(struct dat_epmove *m);
void dat_epring_copy(const struct dat_epmove *m);
void dat_epring_end_move(const struct dat_epmove *m);
u32 dat_ring_posted(const struct dat_queue *q);
void dat_epring_set_state(struct dat_epring *r, u32 state);
void dat_epring_set_lost(struct dat_epring *r, u32 lost);
void dat_epring_set_pd(struct dat_epring *r, const void *pd, u32 len);

/* Returns the place in the ring for the event with index @index. */
static inline struct dat_eqe *dat_evring_at(const struct dat_evring *r, u32 index)
{
	return &r->events[index & r->mask];
}

/**
 * dat_evring_publish() - make new events visible to the consumer
 * @r: ring
 * @n: number of events that the caller has written at r->tail
 *
 * Context: evd->lock held.
 */
static inline void dat_evring_publish(struct dat_evring *r, u32 n)
{
	struct dat_evd_status *status = r->status.va;

	r->tail += n;
	r->published += n;
	smp_store_release(&status->tail, r->tail);	/* (H) */
}

#endif /* _DAT_RING_H */
