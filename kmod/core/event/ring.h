/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Event rings in memory that a process may map: their layout, and the fields that the driver
 * writes.  Only user/ring.c reads the fields that a process writes.  <rdma/dat_ring.h> describes
 * the protocol; its letters (A), (B) ... name the memory barriers.
 */
#ifndef _DAT_EVENT_RING_H
#define _DAT_EVENT_RING_H

#include <rdma/dat_ring.h>

#include "core/mem/pool.h"

struct dat_ia;

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

int dat_evring_alloc(struct dat_ia *ia, struct dat_evring *r, u32 entries);
void dat_evring_free(struct dat_evring *r);
void dat_evring_drop(struct dat_evring *r);
int dat_evring_alloc_slots(struct dat_ia *ia, struct dat_slice *slots, u32 entries);
bool dat_evring_slots_fit(const struct dat_slice *slots, u32 entries);
void dat_evring_copy(const struct dat_evring *r, struct dat_slice *slots, u32 entries,
		     u32 from, u32 to);
void dat_evring_resize(struct dat_evring *r, struct dat_slice *slots, u32 entries,
		       u32 copied);

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

#endif /* _DAT_EVENT_RING_H */
