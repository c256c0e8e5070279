// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * The process's half of the ring of an import.  Letters such as (A) refer to <rdma/dat_rsm.h>.
 *
 * Data passes through the data area.  Room in the data area is allocated and reclaimed in the order
 * of the entries.  The room of a put is reclaimed when the put is done.  The room of a get is
 * reclaimed when its data has been copied.  ring_xfer.c contains the transfers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../common/spin.h"
#include "ring.h"

#define DATA_ALIGN	64

/*
 * A short spin costs less than a sleep and a wake-up.  A long spin pays off only if an entry
 * completes during the spin.
 */
#define SPIN_LONG	4000	/* number of polls of the status */
#define SPIN_SHORT	50
#define SPIN_MISSES	4	/* number of failed long spins before spins become short */
#define SPIN_PROBE	64	/* number of failed spins before a long spin is tried again */

#define SLOT_BUSY	1
#define SLOT_AWAITED	2

/* Functions that access the shared pages and make kicks. */

void rsm_ring_show(struct rsm_ring *r)
{
	struct dat_rsm_submit *submit = r->submit.va;

	if (r->shown == r->tail)
		return;
	r->shown = r->tail;
	__atomic_store_n(&submit->tail, r->tail, __ATOMIC_RELEASE);	/* (A) */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);			/* (B) */
}

static int ring_enter(const struct rsm_import *imp, uint32_t index, uint64_t deadline)
{
	struct dat_rsm_kick arg = {
		.size = sizeof(arg), .id = imp->seg.id, .index = index, .deadline_ns = deadline,
	};

	return rsm_call(imp->seg.ctx, DAT_IOC_RSM_KICK, &arg);
}

int rsm_ring_kick(const struct rsm_import *imp)
{
	return ring_enter(imp, 0, 0);
}

/* Functions that wait. */

static void spin_learn(struct rsm_ring *r, int found)
{
	uint32_t misses = found ? 0 : __atomic_load_n(&r->misses, __ATOMIC_RELAXED) + 1;
	uint32_t looks = misses < SPIN_MISSES || misses % SPIN_PROBE == 0 ? SPIN_LONG : SPIN_SHORT;

	__atomic_store_n(&r->misses, misses, __ATOMIC_RELAXED);
	__atomic_store_n(&r->looks, looks, __ATOMIC_RELAXED);
}

/*
 * Poll until the entry at @index is done.  Stop after @looks polls, or if the driver needs a kick.
 * Returns whether the entry is done.
 */
static int ring_spin(struct rsm_ring *r, uint32_t index)
{
	uint32_t i, looks = __atomic_load_n(&r->looks, __ATOMIC_RELAXED);

	for (i = 0; i < looks; i++) {
		if (rsm_ring_done(r, index)) {
			spin_learn(r, 1);
			return 1;
		}
		/*
		 * If the driver needs a kick, it does not process the ring until the kick.  So
		 * check the entry once more, and stop polling.
		 */
		if (rsm_ring_needs_kick(r))
			return rsm_ring_done(r, index);
		du_spin_pause();
	}
	spin_learn(r, 0);
	return 0;
}

int rsm_ring_wait(const struct rsm_import *imp, uint32_t index, uint32_t sleep,
		  int interruptible)
{
	struct rsm_ring *r = imp->ring;
	int ret;

	if (ring_spin(r, index))
		return RSM_SUCCESS;
	do {
		ret = ring_enter(imp, sleep, DAT_RSM_FOREVER);
	} while (ret == RSMERR_INTERRUPTED && !interruptible && !rsm_ring_done(r, index));
	return rsm_ring_done(r, index) ? RSM_SUCCESS : ret;
}

/* Functions for the slots of gets. */

void rsm_ring_release(struct rsm_ring *r, uint32_t index)
{
	struct ring_slot *slot = &r->slots[index & r->mask];

	/* Release: a thread that sees 0 may reuse the room of the get. */
	if (__atomic_exchange_n(&slot->busy, 0, __ATOMIC_RELEASE) == SLOT_AWAITED)
		syscall(SYS_futex, &slot->busy, FUTEX_WAKE_PRIVATE, INT_MAX, NULL);
}

/* Sleep until the slot is released.  May return early.  The caller does not hold the lock. */
static int slot_wait(struct ring_slot *slot, int interruptible)
{
	uint32_t busy = SLOT_BUSY;

	__atomic_compare_exchange_n(&slot->busy, &busy, SLOT_AWAITED, 0, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	if (!busy)
		return RSM_SUCCESS;
	if (syscall(SYS_futex, &slot->busy, FUTEX_WAIT_PRIVATE, SLOT_AWAITED, NULL) &&
	    errno == EINTR && interruptible)
		return RSMERR_INTERRUPTED;
	return RSM_SUCCESS;
}

/* Functions that reclaim and write entries.  The caller holds the lock of the ring. */

static void ring_take_back(struct rsm_ring *r)
{
	struct ring_slot *slot = &r->slots[r->oldest & r->mask];

	if (r->flushing && rsm_ring_done(r, r->flush))
		r->flushing = 0;
	while (r->oldest != r->tail && rsm_ring_done(r, r->oldest) &&
	       !__atomic_load_n(&slot->busy, __ATOMIC_ACQUIRE)) {
		r->taken = slot->end;
		slot = &r->slots[++r->oldest & r->mask];
	}
}

uint32_t rsm_ring_place(const struct rsm_ring *r, uint32_t n)
{
	uint32_t at = (r->given + DATA_ALIGN - 1) & ~(uint32_t)(DATA_ALIGN - 1);

	if ((at & (r->chunk - 1)) + n > r->chunk)
		at = (at + r->chunk - 1) & ~(r->chunk - 1);
	return at;
}

int rsm_ring_fits(struct rsm_ring *r, uint32_t n)
{
	ring_take_back(r);
	return r->tail - r->oldest <= r->mask &&
	       rsm_ring_place(r, n) + n - r->taken <= (uint32_t)r->data.size;
}

/*
 * Drop the lock, wait until the oldest entry is done, and take the lock again.  If the thread has
 * to sleep, it sleeps until half of the entries are done, to avoid a sleep per entry.
 */
static int ring_wait_for_room(const struct rsm_import *imp, int interruptible)
{
	struct rsm_ring *r = imp->ring;
	uint32_t oldest = r->oldest, half = oldest + (r->tail - oldest) / 2;
	int ret = RSM_SUCCESS;

	rsm_ring_show(r);
	pthread_mutex_unlock(&r->lock);
	if (rsm_ring_done(r, oldest))
		/* The oldest entry is a get, and another thread is copying its data. */
		ret = slot_wait(&r->slots[oldest & r->mask], interruptible);
	else
		ret = rsm_ring_wait(imp, oldest, half, interruptible);
	pthread_mutex_lock(&r->lock);
	return ret;
}

int rsm_ring_reserve(const struct rsm_import *imp, uint32_t n, int interruptible)
{
	int ret = RSM_SUCCESS;

	while (!ret && !rsm_ring_fits(imp->ring, n))
		ret = ring_wait_for_room(imp, interruptible);
	return ret;
}

uint32_t rsm_ring_push(struct rsm_ring *r, enum dat_rsm_ring_op op, uint64_t offset,
		       uint32_t at, uint32_t n)
{
	struct ring_slot *slot = &r->slots[r->tail & r->mask];
	char *entry = r->entries + ((size_t)(r->tail & r->mask) << r->shift);

	*(struct dat_rsm_entry *)entry = (struct dat_rsm_entry) {
		.offset = offset, .length = n, .op = op,
		.data = n ? at & ((uint32_t)r->data.size - 1) : 0,
	};
	__atomic_store_n(&slot->busy, op == DAT_RSM_RING_GET ? SLOT_BUSY : 0, __ATOMIC_RELAXED);
	slot->end = at + n;
	r->given = at + n;
	return r->tail++;
}

int rsm_ring_push_flush(const struct rsm_import *imp, int interruptible)
{
	struct rsm_ring *r = imp->ring;
	int ret = rsm_ring_reserve(imp, 0, interruptible);

	if (ret)
		return ret;
	r->flush = rsm_ring_push(r, DAT_RSM_RING_FLUSH, 0, r->given, 0);
	r->flushing = 1;
	r->dirty = 0;
	return RSM_SUCCESS;
}

int rsm_ring_drain(struct rsm_import *imp, int interruptible)
{
	struct rsm_ring *r = __atomic_load_n(&imp->ring, __ATOMIC_ACQUIRE);
	int ret = RSM_SUCCESS, flushing;
	uint32_t flush;

	if (!r)
		return RSM_SUCCESS;
	pthread_mutex_lock(&r->lock);
	if (r->dirty)
		ret = rsm_ring_push_flush(imp, interruptible);
	ring_take_back(r);
	flushing = r->flushing;
	flush = r->flush;
	rsm_ring_show(r);
	pthread_mutex_unlock(&r->lock);
	if (ret || !flushing)
		return ret;
	return rsm_ring_wait(imp, flush, flush, interruptible);
}

/* Functions that create and free rings. */

static int ring_map(const struct rsm_import *imp, struct rsm_ring *r,
		    const struct dat_rsm_ring *arg)
{
	int fd = imp->seg.ctx->file.fd;
	int ret;

	ret = du_map(fd, arg->submit_offset, arg->submit_size, 1, &r->submit);
	if (ret)
		return ret;
	ret = du_map(fd, arg->status_offset, arg->status_size, 0, &r->status);
	if (ret)
		goto err_unmap_submit;
	ret = du_map(fd, arg->data_offset, arg->data_size, 1, &r->data);
	if (ret)
		goto err_unmap_status;
	return 0;

err_unmap_status:
	du_unmap(&r->status);
err_unmap_submit:
	du_unmap(&r->submit);
	return ret;
}

static struct rsm_ring *ring_make(const struct rsm_import *imp, const struct dat_rsm_ring *arg)
{
	struct rsm_ring *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->slots = calloc(arg->entries, sizeof(*r->slots));
	if (!r->slots || ring_map(imp, r, arg)) {
		free(r->slots);
		free(r);
		return NULL;
	}
	pthread_mutex_init(&r->lock, NULL);
	r->mask = arg->entries - 1;
	r->chunk = arg->chunk;
	r->looks = SPIN_LONG;
	r->entries = (char *)r->submit.va + arg->entry_offset;
	r->shift = arg->entry_shift;
	r->tail = ((struct dat_rsm_submit *)r->submit.va)->tail;
	r->shown = r->tail;
	r->oldest = r->tail;
	return r;
}

struct rsm_ring *rsm_ring_make(struct rsm_import *imp)
{
	struct dat_rsm_ring arg = { .size = sizeof(arg), .id = imp->seg.id };
	struct rsm_ring *r = NULL;
	int ret;

	pthread_mutex_lock(&imp->seg.lock);
	if (!imp->ring && !imp->no_ring) {
		ret = rsm_call(imp->seg.ctx, DAT_IOC_RSM_RING, &arg);
		if (!ret)
			r = ring_make(imp, &arg);
		if (r) {
			rsm_ctx_start_poller(imp->seg.ctx);
			__atomic_store_n(&imp->ring, r, __ATOMIC_RELEASE);
		} else if (ret == RSMERR_BAD_CTLR_HNDL) {
			/*
			 * Only this error is permanent.  After any other error, the next transfer
			 * tries again to make a ring.
			 */
			__atomic_store_n(&imp->no_ring, 1, __ATOMIC_RELEASE);
		}
	}
	pthread_mutex_unlock(&imp->seg.lock);
	return imp->ring;
}

void rsm_ring_free(struct rsm_ring *r)
{
	if (!r)
		return;
	du_unmap(&r->data);
	du_unmap(&r->status);
	du_unmap(&r->submit);
	pthread_mutex_destroy(&r->lock);
	free(r->slots);
	free(r);
}
