/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The process's half of the ring protocol.  Letters refer to <rdma/dat_ring.h>.
 *
 * Posting and reaping make no system call, except a kick when the driver has said
 * that nobody will look at the queue.
 */
#ifndef DU_RING_H
#define DU_RING_H

#include <stdint.h>
#include <sys/ioctl.h>

#include <rdma/dat_ioctl.h>

#include "lock.h"

/*
 * struct du_queue - a send, receive or shared receive queue
 * @lock: @tail, and the entry at it
 * @tail: entries posted
 * @mask: entries - 1
 * @shift: log2 of the stride
 * @fd: to kick
 * @entries: in the submit page
 * @shared_tail: in the submit page
 * @status: in the status page
 * @dirty: word of the doorbell page that has the bit of the queue
 * @bit: in @dirty
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
	__u64				*dirty;
	uint64_t			bit;
};

/* What stays when the ring is replaced; du_queue_move() says where that is. */
static inline void du_queue_init(struct du_queue *q, int fd, struct dat_doorbell *db,
				 uint32_t bell, uint32_t shift, int single)
{
	q->lock.single = single;
	q->fd = fd;
	q->shift = shift;
	q->dirty = &db->dirty[bell / 64];
	q->bit = 1ULL << (bell % 64);
}

static inline void du_queue_move(struct du_queue *q, void *entries, uint32_t n,
				 uint32_t *shared_tail, const struct dat_queue_status *status)
{
	q->mask = n - 1;
	q->entries = entries;
	q->shared_tail = shared_tail;
	/* Those who ask how busy it is do so without the lock. */
	if (q->status != status)
		__atomic_store_n(&q->status, status, __ATOMIC_RELEASE);
	__atomic_store_n(&q->tail, *shared_tail, __ATOMIC_RELAXED);
}

/* Entries that the driver has not completed; anybody may ask. */
static inline uint32_t du_queue_busy(const struct du_queue *q)
{
	const struct dat_queue_status *status = __atomic_load_n(&q->status, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&q->tail, __ATOMIC_RELAXED) -
	       __atomic_load_n(&status->done, __ATOMIC_ACQUIRE);
}

/* Under the lock. */
static inline int du_queue_full(const struct du_queue *q)
{
	return q->tail - __atomic_load_n(&q->status->done, __ATOMIC_ACQUIRE) > q->mask;
}

/* Where to write the next entry; under the lock, when the queue is not full. */
static inline void *du_queue_entry(struct du_queue *q)
{
	return q->entries + ((uint64_t)(q->tail & q->mask) << q->shift);
}

/* After (C). */
static inline int du_queue_needs_kick(const struct du_queue *q)
{
	const struct dat_queue_status *st = q->status;

	if (!(__atomic_load_n(&st->flags, __ATOMIC_ACQUIRE) & DAT_QUEUE_NEED_KICK))
		return 0;
	return (int32_t)(q->tail - __atomic_load_n(&st->kick_at, __ATOMIC_RELAXED)) >= 0;
}

/* The entry is written: show it.  Returns 0, or -1 with errno of the kick. */
static inline int du_queue_push(struct du_queue *q)
{
	__atomic_store_n(&q->tail, q->tail + 1, __ATOMIC_RELAXED);
	__atomic_store_n(q->shared_tail, q->tail, __ATOMIC_RELEASE);	/* (A) */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);			/* (B) */
	if (!(__atomic_load_n(q->dirty, __ATOMIC_RELAXED) & q->bit)) {
		__atomic_fetch_or(q->dirty, q->bit, __ATOMIC_SEQ_CST);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);		/* (C) */
	}
	if (__builtin_expect(du_queue_needs_kick(q), 0))
		return ioctl(q->fd, DAT_IOC_KICK, 0);
	return 0;
}

/*
 * struct du_events - the event ring of an EVD
 * @head: events consumed; under the lock of the EVD
 * @mask: entries - 1
 * @shared_head: in the submit page
 * @status: in the status page
 * @ring: in the status page
 */
struct du_events {
	uint32_t			head;
	uint32_t			mask;
	uint32_t			*shared_head;
	const struct dat_evd_status	*status;
	const struct dat_eqe		*ring;
};

static inline void du_events_init(struct du_events *e, uint32_t n,
				  struct dat_evd_head *submit,
				  const struct dat_evd_status *status)
{
	e->mask = n - 1;
	e->shared_head = &submit->head;
	e->status = status;
	e->ring = (const struct dat_eqe *)(status + 1);
	e->head = submit->head;
}

/* The ring is replaced; @head and what is consumed stay. */
static inline void du_events_move(struct du_events *e, uint32_t n,
				  const struct dat_evd_status *status,
				  const struct dat_evd_status *ring)
{
	/* Others look at the status without a lock, which is where it was nearly always. */
	if (e->status != status)
		__atomic_store_n(&e->status, status, __ATOMIC_RELEASE);
	e->mask = n - 1;
	e->ring = (const struct dat_eqe *)(ring + 1);
}

static inline uint32_t du_events_count(const struct du_events *e)
{
	return __atomic_load_n(&e->status->tail, __ATOMIC_ACQUIRE) -	/* (K) */
	       __atomic_load_n(&e->head, __ATOMIC_RELAXED);
}

/* The next event; there must be one, and it stays until the pop. */
static inline const struct dat_eqe *du_events_next(const struct du_events *e)
{
	return &e->ring[e->head & e->mask];
}

static inline void du_events_pop(struct du_events *e)
{
	/* Release: whoever sees it may let go of what the event named. */
	__atomic_store_n(&e->head, e->head + 1, __ATOMIC_RELEASE);
	__atomic_store_n(e->shared_head, e->head, __ATOMIC_RELEASE);	/* (L) */
}

#endif /* DU_RING_H */
