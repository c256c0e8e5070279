// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Layout of an event ring in pages that a process may map, and the fields that the driver writes.
 */
#include <linux/overflow.h>

#include "core/dat.h"
#include "core/event/evd.h"
#include "core/event/ring.h"

static struct dat_evd_status *evring_status(struct dat_evring *r)
{
	return r->status.va;
}

/* Makes r->slots the memory of the events, with room for @entries events. */
static void evring_use(struct dat_evring *r, u32 entries)
{
	r->events = r->slots.va;
	WRITE_ONCE(r->entries, entries); /* queries read r->entries without a lock */
	r->mask = entries - 1;
}

/* Allocates a ring for @entries events, a power of two.  May sleep. */
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

/* Counts an event that has found no room, and publishes the count.  evd->lock is held. */
void dat_evring_drop(struct dat_evring *r)
{
	lockdep_assert_held(&container_of(r, struct dat_evd, ring)->lock);

	WRITE_ONCE(evring_status(r)->dropped, ++r->dropped);
}

/*
 * Copies the events with the indices @from to @to - 1 into @slots, which has room for @entries
 * events.  The caller need not hold evd->lock, but must keep @r from being replaced.  An event does
 * not change before the consumer takes it, and the copy of an event that the consumer has taken is
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

/*
 * Replaces the memory of the events by @slots, which has room for @entries events, at least as many
 * as are queued.  On return @slots is the old memory.  @copied: index after the last event that
 * dat_evring_copy() has copied.  Indices and status do not change, so the consumer continues at its
 * head.  evd->lock is held.
 */
void dat_evring_resize(struct dat_evring *r, struct dat_slice *slots, u32 entries,
		       u32 copied)
{
	lockdep_assert_held(&container_of(r, struct dat_evd, ring)->lock);

	/* If the consumer has meanwhile taken the event at @copied, copy only from r->head on. */
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

bool dat_evring_slots_fit(const struct dat_slice *slots, u32 entries)
{
	return slots->chunk && slots->size == size_mul(entries, sizeof(struct dat_eqe));
}
