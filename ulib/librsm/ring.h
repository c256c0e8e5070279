/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * The ring of an import.  <rdma/dat_rsm.h> specifies the protocol.
 *
 * A thread holds the lock of the ring while it writes entries and copies the data of puts.  A
 * thread never holds the lock during a wait or a system call.  So several threads may use an
 * import, and each thread waits only for its own entries.
 *
 * A position in the data area counts the bytes that have been allocated since the ring was created,
 * so it may exceed the size of the area.  The position modulo the size is the offset in the area.
 */
#ifndef LIBRSM_RING_H
#define LIBRSM_RING_H

#include "librsm.h"
#include "known_mem.h"

/*
 * struct ring_slot - state of an entry
 * @end: position in the data area at which the entry's data ends
 * @busy: SLOT_BUSY if the entry is a get whose data is not copied yet; SLOT_AWAITED if, in
 *	addition, a thread sleeps until the data is copied; otherwise 0
 */
struct ring_slot {
	uint32_t	end;
	uint32_t	busy;
};

/*
 * struct rsm_ring - the ring of an import
 * @submit: mapping of the submit region, which the process writes
 * @status: mapping of the status region, which the driver writes
 * @data: mapping of the data area, for the data of puts and gets
 * @entries: array of entries, in @submit; an entry has 2^@shift bytes
 * @mask: number of entries - 1
 * @shift: log2 of the size of an entry
 * @chunk: size of a chunk of the data area in bytes; the data of an entry lies in one chunk, so
 *	larger transfers are split
 * @slots: state of each entry
 * @looks: number of polls before a wait sleeps; all threads adapt it without a lock
 * @misses: number of consecutive waits that had to sleep after @looks polls
 * @lock: lock that protects the fields below
 * @tail: number of entries written
 * @shown: number of entries published to the driver
 * @oldest: index of the oldest entry whose room in @data is not reclaimed
 * @given: number of bytes of @data allocated since creation
 * @taken: number of bytes of @data reclaimed since creation
 * @dirty: flag: no FLUSH follows the last put
 * @flushing: flag: the FLUSH at index @flush may be in flight
 * @flush: index of the last FLUSH
 * @known: memory of the caller that is known to be valid, for vectors
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
	struct rsm_known_mem	known;
};

/*
 * Returns whether the entry at @index is complete.  All entries before @index are then complete
 * too.
 */
static inline int rsm_ring_done(const struct rsm_ring *r, uint32_t index)
{
	const struct dat_rsm_status *status = r->status.va;

	return (int32_t)(__atomic_load_n(&status->done, __ATOMIC_ACQUIRE) - index) > 0;	/* (F) */
}

/* Returns whether the driver processes published entries only after a kick. */
static inline int rsm_ring_needs_kick(const struct rsm_ring *r)
{
	const struct dat_rsm_status *status = r->status.va;

	return __atomic_load_n(&status->flags, __ATOMIC_ACQUIRE) & DAT_RSM_NEED_KICK;
}

/* Returns the address of an entry's data.  @at is the position of the data in the data area. */
static inline void *rsm_ring_data(const struct rsm_ring *r, uint32_t at)
{
	return (char *)r->data.va + (at & ((uint32_t)r->data.size - 1));
}

/* The next functions are called without the lock. */

/* Make the driver process the ring now.  Does not wait for the entries. */
int rsm_ring_kick(const struct rsm_import *imp);

/*
 * Wait until the entry at @index is done.  If the thread has to sleep, it sleeps until the entry at
 * @sleep is done.  Returns RSM_SUCCESS, RSMERR_CONN_ABORTED or, if @interruptible is set,
 * RSMERR_INTERRUPTED.
 */
int rsm_ring_wait(const struct rsm_import *imp, uint32_t index, uint32_t sleep,
		  int interruptible);

/* Release the room of a get whose data has been copied. */
void rsm_ring_release(struct rsm_ring *r, uint32_t index);

/* The next functions are called with the lock held. */

/* Returns whether the ring and the data area have room for an entry with @n bytes. */
int rsm_ring_fits(struct rsm_ring *r, uint32_t n);

/*
 * Wait for room for an entry with @n bytes.  Drops the lock during the wait.  Returns like
 * rsm_ring_wait().
 */
int rsm_ring_reserve(const struct rsm_import *imp, uint32_t n, int interruptible);

/*
 * Returns the position in the data area at which the next @n bytes will be allocated.
 * rsm_ring_push() then allocates the bytes.
 */
uint32_t rsm_ring_place(const struct rsm_ring *r, uint32_t n);

/* Write an entry whose data is at the position @at.  Returns the index of the entry. */
uint32_t rsm_ring_push(struct rsm_ring *r, enum dat_rsm_ring_op op, uint64_t offset,
		       uint32_t at, uint32_t n);

/*
 * Wait for room, and write a FLUSH.  The index of the FLUSH is stored in the ring's @flush field.
 * Returns like rsm_ring_wait().
 */
int rsm_ring_push_flush(const struct rsm_import *imp, int interruptible);

/*
 * Publish all entries that were written.  The caller must then wait for an entry, or kick the
 * driver if the driver needs a kick.
 */
void rsm_ring_show(struct rsm_ring *r);

#endif /* LIBRSM_RING_H */
