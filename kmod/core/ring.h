/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rings in memory that a process may map: layout, and fields that the driver writes.  Only
 * user/ring.c reads what a process writes.  The protocol and its lettered barriers are in
 * <rdma/dat_ring.h>.
 */
#ifndef _DAT_RING_H
#define _DAT_RING_H

#include <rdma/dat_ioctl.h>
#include <rdma/dat_ring.h>

#include "core/pool.h"

struct dat_ia;
struct dat_queue;
struct dat_queue_ops;

/**
 * struct dat_step - one step of replacing a ring
 * @what: kind of step
 * @generation: generation of the prepared ring; set by PREPARE, read by COMMIT and CANCEL
 */
struct dat_step {
	enum dat_ring_step	what;
	u32			generation;
};

/* Returns true if the step allocates a ring. */
static inline bool dat_step_makes(const struct dat_step *step)
{
	return step->what == DAT_RING_AT_ONCE || step->what == DAT_RING_PREPARE;
}

/* Returns true if the step puts a ring into use. */
static inline bool dat_step_uses(const struct dat_step *step)
{
	return step->what == DAT_RING_AT_ONCE || step->what == DAT_RING_COMMIT;
}

/**
 * struct dat_evring - an event ring
 * @submit: struct dat_evd_head, written by the process
 * @status: struct dat_evd_status, written by the driver; stays when the ring is resized
 * @slots: memory of @events
 * @events: array of events, written by the driver
 * @entries: length of @events, a power of two
 * @mask: @entries - 1
 * @tail: index behind the last event written
 * @head: last valid index that the process wrote, of the first event it has not consumed
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
	u32			dropped;
};

/**
 * struct dat_epring - the shared memory of an EP or an SRQ
 * @submit: struct dat_submit and the entries, written by the process
 * @status: struct dat_status, written by the driver; stays when the ring is replaced
 * @sq_offset: offset of the SQEs in @submit
 * @rq_offset: offset of the RQEs in @submit
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
 * struct dat_epmove - replacement of an EP's or SRQ's ring by another one
 * @ring: ring in use
 * @next: ring of other sizes, not in use yet, without a status
 * @sq: send queue of @ring, or NULL
 * @sq_entries: number of SQEs in @next
 * @rq: receive queue of @ring, or NULL
 * @rq_entries: number of RQEs in @next
 * @nsq: number of SQEs to copy: posted and not taken
 * @nrq: number of RQEs to copy: posted and not taken
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
 * struct dat_subring - one queue's part of a struct dat_epring
 * @tail: index behind the last entry posted, written by the process
 * @entries: array of entries, written by the process
 * @status: state of the queue, written by the driver
 * @shift: log2 of the stride of @entries
 * @max_sge: number of segments that fit the stride
 */
struct dat_subring {
	const u32		*tail;
	const void		*entries;
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

/* Returns the slot of the event with index @index. */
static inline struct dat_eqe *dat_evring_at(const struct dat_evring *r, u32 index)
{
	return &r->events[index & r->mask];
}

/**
 * dat_evring_publish() - make events visible that were written behind the tail
 * @r: ring
 * @n: number of events
 *
 * Context: evd->lock held.
 */
static inline void dat_evring_publish(struct dat_evring *r, u32 n)
{
	struct dat_evd_status *status = r->status.va;

	r->tail += n;
	smp_store_release(&status->tail, r->tail);	/* (H) */
}

#endif /* _DAT_RING_H */
