/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * The process's half of the ring protocol.  Letters such as (A) refer to <rdma/dat_ring.h>.
 *
 * Posting and reaping make no system call, with one exception: the process kicks the driver by an
 * ioctl if the driver asks for a kick.  The driver asks when nothing else will make it process the
 * queue.
 */
#ifndef DU_RING_H
#define DU_RING_H

#include <stdint.h>
#include <sys/ioctl.h>

#include <rdma/dat_ioctl.h>

#include "dev.h"
#include "lock.h"

/*
 * struct du_queue - a send, receive or shared receive queue
 * @lock: lock that protects @tail and the entry at @tail
 * @tail: number of entries posted so far
 * @mask: number of entries in the ring - 1
 * @shift: log2 of the size of an entry
 * @fd: open device, for kicks
 * @entries: ring of entries
 * @shared_tail: copy of @tail that the driver reads
 * @status: the driver's status of the queue; the address never changes
 * @kick: argument of DAT_IOC_KICK: number of the queue plus 1; 0 if the driver takes no number
 * @report: argument of DAT_IOC_KICK for du_queue_report(); 0 if the driver knows all completions
 * @dirty: word of the doorbell region that contains the dirty bit of the queue
 * @bit: mask of the queue's dirty bit in @dirty
 * @limit: number of entries that may be in use; the ring may be longer, because its length is a
 *	power of two
 */
struct du_queue {
	struct du_lock			lock;
	uint32_t			tail;
	uint32_t			mask;
	uint32_t			shift;
	int				fd;
	char				*entries;
	uint32_t			*shared_tail;
	const struct dat_queue_status	*status;
	unsigned long			kick;
	unsigned long			report;
	__u32				*dirty;
	uint32_t			bit;
	uint32_t			limit;
};

/*
 * Set the fields that keep their values when the ring is replaced.  du_queue_move() sets the other
 * fields.
 */
static inline void du_queue_init(struct du_queue *q, const struct du_file *f, __u32 *doorbell,
				 uint32_t bell, uint32_t shift,
				 const struct dat_queue_status *status, int single)
{
	q->status = status;
	q->lock.single = single;
	q->fd = f->fd;
	q->kick = f->features & DAT_FEATURE_WORDS ? bell + 1 : 0;
	q->report = f->features & DAT_FEATURE_SILENT ? q->kick | DAT_KICK_REPORT : 0;
	q->shift = shift;
	q->dirty = &doorbell[bell / 32];
	q->bit = 1U << (bell % 32);
}

/* Switch to a ring of @n entries, of which at most @limit may be in use. */
static inline void du_queue_move(struct du_queue *q, void *entries, uint32_t n, uint32_t limit,
				 uint32_t *shared_tail)
{
	q->mask = n - 1;
	q->limit = n < limit ? n : limit;
	q->entries = entries;
	q->shared_tail = shared_tail;
	__atomic_store_n(&q->tail, *shared_tail, __ATOMIC_RELAXED);
}

/* Returns the number of entries that the driver has not completed.  The caller needs no lock. */
static inline uint32_t du_queue_busy(const struct du_queue *q)
{
	return __atomic_load_n(&q->tail, __ATOMIC_RELAXED) -
	       __atomic_load_n(&q->status->done, __ATOMIC_ACQUIRE);
}

/* Returns whether no further entry may be used.  The caller holds the lock. */
static inline int du_queue_full(const struct du_queue *q)
{
	return q->tail - __atomic_load_n(&q->status->done, __ATOMIC_ACQUIRE) >= q->limit;
}

/* Returns the next entry to write.  The caller holds the lock, and the queue is not full. */
static inline void *du_queue_entry(struct du_queue *q)
{
	return q->entries + ((uint64_t)(q->tail & q->mask) << q->shift);
}

/*
 * Returns whether the driver asks for a kick and the tail has reached the value at which the driver
 * needs the kick.  Called after barrier (B).
 */
static inline int du_queue_needs_kick(const struct du_queue *q)
{
	const struct dat_queue_status *st = q->status;

	if (!(__atomic_load_n(&st->flags, __ATOMIC_ACQUIRE) & DAT_QUEUE_NEED_KICK))
		return 0;
	return (int32_t)(q->tail - __atomic_load_n(&st->kick_at, __ATOMIC_RELAXED)) >= 0;
}

/*
 * Make the driver take entries that are in the ring.  Returns 0, or -1 with errno set.  The caller
 * needs no lock.
 */
static inline int du_queue_kick(const struct du_queue *q)
{
	if (!q->kick)
		__atomic_fetch_or(q->dirty, q->bit, __ATOMIC_SEQ_CST);
	return ioctl(q->fd, DAT_IOC_KICK, q->kick);
}

/*
 * Make the driver find out which requests have completed, for a later du_queue_busy(): it need not
 * know of suppressed ones.  The caller needs no lock.
 */
static inline void du_queue_report(const struct du_queue *q)
{
	if (q->report)
		ioctl(q->fd, DAT_IOC_KICK, q->report);
}

/*
 * Publish the entry that the caller has written.  @more: leave the kick to the next entry, unless
 * the queue is full.  Returns 0, or -1 with errno set if the kick failed.
 */
static inline int du_queue_push(struct du_queue *q, int more)
{
	__atomic_store_n(&q->tail, q->tail + 1, __ATOMIC_RELAXED);
	__atomic_store_n(q->shared_tail, q->tail, __ATOMIC_RELEASE);	/* (A) */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);			/* (B) */
	if (__builtin_expect(du_queue_needs_kick(q), 0) && (!more || du_queue_full(q)))
		return du_queue_kick(q);
	/* The poller finds the entry by this bit. */
	if (!(__atomic_load_n(q->dirty, __ATOMIC_RELAXED) & q->bit))
		__atomic_fetch_or(q->dirty, q->bit, __ATOMIC_SEQ_CST);
	return 0;
}

/*
 * struct du_events - the event ring of an EVD
 * @head: number of events consumed so far; written under the lock of the EVD
 * @mask: number of entries in the ring - 1
 * @shift: log2 of the size of an event
 * @shared_head: copy of @head that the driver reads
 * @status: the driver's status of the EVD; the address never changes, because threads read the
 *	status without a lock
 * @ring: ring of events
 */
struct du_events {
	uint32_t			head;
	uint32_t			mask;
	uint32_t			shift;
	uint32_t			*shared_head;
	const struct dat_evd_status	*status;
	const char			*ring;
};

/* Switch to a ring of @n events.  @head keeps its value. */
static inline void du_events_move(struct du_events *e, uint32_t n, const void *ring)
{
	e->mask = n - 1;
	e->ring = ring;
}

static inline void du_events_init(struct du_events *e, uint32_t n, uint32_t shift,
				  struct dat_evd_head *submit,
				  const struct dat_evd_status *status, const void *ring)
{
	e->shift = shift;
	e->shared_head = &submit->head;
	e->status = status;
	e->head = submit->head;
	du_events_move(e, n, ring);
}

static inline uint32_t du_events_count(const struct du_events *e)
{
	return __atomic_load_n(&e->status->tail, __ATOMIC_ACQUIRE) -	/* (K) */
	       __atomic_load_n(&e->head, __ATOMIC_RELAXED);
}

/* Returns the event number @index.  The event is valid until du_events_pop() has consumed it. */
static inline const struct dat_eqe *du_events_at(const struct du_events *e, uint32_t index)
{
	return (const struct dat_eqe *)(e->ring + ((uint64_t)(index & e->mask) << e->shift));
}

/* Returns the next event, which is valid until du_events_pop().  The ring is not empty. */
static inline const struct dat_eqe *du_events_next(const struct du_events *e)
{
	return du_events_at(e, e->head);
}

static inline void du_events_pop(struct du_events *e)
{
	/* Release: a thread that sees the new head may free the object that the event named. */
	__atomic_store_n(&e->head, e->head + 1, __ATOMIC_RELEASE);
	__atomic_store_n(e->shared_head, e->head, __ATOMIC_RELEASE);	/* (L) */
}

#endif /* DU_RING_H */
