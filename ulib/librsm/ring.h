/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ring of an import, as transfers use it; the protocol is in <rdma/dat_rsm.h>.
 *
 * The lock is held while entries are written and what is put is copied, never during a wait
 * or a system call.  So several threads may use an import, and each waits for its own
 * entries only.
 */
#ifndef LIBRSM_RING_H
#define LIBRSM_RING_H

#include "librsm.h"
#include "vouch.h"

/*
 * struct ring_slot - state of an entry
 * @end: end of its data, as a count of bytes allocated
 * @busy: SLOT_BUSY: a get whose data is not copied yet; SLOT_AWAITED: a thread also sleeps on it
 */
struct ring_slot {
	uint32_t	end;
	uint32_t	busy;
};

/*
 * struct rsm_ring - the ring of an import
 * @submit: submit region, written by the process
 * @status: status region, written by the driver
 * @data: data area, for the data of puts and gets
 * @entries: entries, in @submit, 2^@shift bytes apart
 * @mask: entries - 1
 * @shift: see @entries
 * @chunk: the data of an entry crosses no multiple of this; larger transfers are split
 * @slots: state of each entry
 * @looks: number of polls before a wait sleeps; adapted by all threads without a lock
 * @misses: consecutive waits for which @looks did not suffice
 * @lock: protects the fields below
 * @tail: number of entries written
 * @shown: number of entries that are published to the driver
 * @oldest: first entry whose room in @data is not reclaimed
 * @given: number of bytes of @data allocated so far
 * @taken: number of bytes of @data reclaimed so far
 * @dirty: there are puts without a FLUSH behind them
 * @flushing: the FLUSH at @flush may still be in flight
 * @flush: index of the last FLUSH
 * @vouched: valid memory of the caller, for vectors
 */
struct rsm_ring {
	struct du_map		submit;
	struct du_map		status;
	struct du_map		data;
	char			*entries;
	uint32_t		mask;
	uint32_t		shift;
	uint32_t		chunk;
	struct ring_slot	*slots;
	uint32_t		looks;
	uint32_t		misses;
	pthread_mutex_t		lock;
	uint32_t		tail;
	uint32_t		shown;
	uint32_t		oldest;
	uint32_t		given;
	uint32_t		taken;
	int			dirty;
	int			flushing;
	uint32_t		flush;
	struct rsm_vouched	vouched;
};

/* Returns whether the entry at @index is complete, and so those before it. */
static inline int rsm_ring_done(const struct rsm_ring *r, uint32_t index)
{
	const struct dat_rsm_status *status = r->status.va;

	return (int32_t)(__atomic_load_n(&status->done, __ATOMIC_ACQUIRE) - index) > 0;	/* (F) */
}

/* The driver will process published entries only after a kick. */
static inline int rsm_ring_needs_kick(const struct rsm_ring *r)
{
	const struct dat_rsm_status *status = r->status.va;

	return __atomic_load_n(&status->flags, __ATOMIC_ACQUIRE) & DAT_RSM_NEED_KICK;
}

/* Returns the data of an entry.  @at: its position, as a count of bytes allocated. */
static inline void *rsm_ring_data(const struct rsm_ring *r, uint32_t at)
{
	return (char *)r->data.va + (at & ((uint32_t)r->data.size - 1));
}

/* Without the lock. */

/* Have the driver process the ring now; does not wait. */
int rsm_ring_kick(const struct rsm_import *imp);

/*
 * Wait until the entry at @index is done; a sleep lasts until the entry at @sleep is.  Returns
 * RSM_SUCCESS, RSMERR_CONN_ABORTED or, if @interruptible, RSMERR_INTERRUPTED.
 */
int rsm_ring_wait(const struct rsm_import *imp, uint32_t index, uint32_t sleep,
		  int interruptible);

/* The data of a get has been copied: release its room. */
void rsm_ring_release(struct rsm_ring *r, uint32_t index);

/* With the lock. */

/* Returns whether there is room for an entry with @n bytes. */
int rsm_ring_fits(struct rsm_ring *r, uint32_t n);

/* Wait for room for an entry; drops the lock meanwhile.  Returns as rsm_ring_wait(). */
int rsm_ring_reserve(const struct rsm_import *imp, uint32_t n, int interruptible);

/* Allocate @n bytes of the data region: the position is the number of bytes allocated before. */
uint32_t rsm_ring_place(const struct rsm_ring *r, uint32_t n);

/* Write an entry whose data is at @at.  Returns its index. */
uint32_t rsm_ring_push(struct rsm_ring *r, enum dat_rsm_ring_op op, uint64_t offset,
		       uint32_t at, uint32_t n);

/* Wait for room, and write a FLUSH; its index is in @flush.  Returns as rsm_ring_wait(). */
int rsm_ring_push_flush(const struct rsm_import *imp, int interruptible);

/*
 * Publish the entries that were written.  The caller then waits, or kicks if the driver needs a
 * kick.
 */
void rsm_ring_show(struct rsm_ring *r);

#endif /* LIBRSM_RING_H */
