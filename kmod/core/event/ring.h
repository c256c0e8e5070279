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

struct dat_evring {
	struct dat_slice	submit;		/* struct dat_evd_head, which the process writes */
	struct dat_slice	status;		/* struct dat_evd_status, which the driver writes */
	struct dat_slice	slots;		/* memory of @events */
	struct dat_eqe		*events;	/* array that the driver writes */
	u32			entries;	/* length of @events, a power of two */
	u32			mask;		/* @entries - 1 */
	u32			tail;		/* index of the next event to be written */
	/* Consumer's index; a process's index as user_count() last read it. */
	u32			head;
	u64			published;	/* events that were queued */
	u64			dropped;	/* events lost because the ring was full */
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

static inline struct dat_eqe *dat_evring_at(const struct dat_evring *r, u32 index)
{
	return &r->events[index & r->mask];
}

/* Makes @n events at r->tail visible to the consumer.  evd->lock is held. */
static inline void dat_evring_publish(struct dat_evring *r, u32 n)
{
	struct dat_evd_status *status = r->status.va;

	r->tail += n;
	r->published += n;
	smp_store_release(&status->tail, r->tail);	/* (H) */
}

#endif /* _DAT_EVENT_RING_H */
