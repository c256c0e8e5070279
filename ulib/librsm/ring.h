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
 * struct ring_slot - what there is to know of an entry
 * @end: of its data, and of all before it; as a count of bytes given out
 * @busy: a get whose data has not been copied; and whether somebody sleeps until it is
 */
struct ring_slot {
	uint32_t	end;
	uint32_t	busy;
};

/*
 * struct rsm_ring - the ring of an import
 * @submit: entries, by the process
 * @status: by the driver
 * @data: what is put, and what was got
 * @entries: in @submit
 * @mask: entries - 1
 * @chunk: whose multiples no data crosses; larger transfers go in as many pieces as it takes
 * @slots: of the entries
 * @looks: before who waits sleeps; a guess that any thread may improve
 * @vain: waits in a row for which that was not enough
 * @lock: everything below
 * @tail: entries written
 * @shown: of them, those that the driver was shown
 * @oldest: entry before which all room was taken back
 * @given: bytes of @data given out so far
 * @taken: of them, those taken back
 * @dirty: there are puts without a FLUSH behind them
 * @flushing: the FLUSH at @flush was not yet seen done
 * @flush: the last one
 * @vouched: memory of the caller that entries of vectors may be in
 */
struct rsm_ring {
	struct du_map		submit;
	struct du_map		status;
	struct du_map		data;
	struct dat_rsm_entry	*entries;
	uint32_t		mask;
	uint32_t		chunk;
	struct ring_slot	*slots;
	uint32_t		looks;
	uint32_t		vain;
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

/* The entry at @index is complete, and so are those before it. */
static inline int rsm_ring_done(const struct rsm_ring *r, uint32_t index)
{
	const struct dat_rsm_status *status = r->status.va;

	return (int32_t)(__atomic_load_n(&status->done, __ATOMIC_ACQUIRE) - index) > 0;	/* (F) */
}

/* Nobody will look at the entries that were shown. */
static inline int rsm_ring_needs_kick(const struct rsm_ring *r)
{
	const struct dat_rsm_status *status = r->status.va;

	return __atomic_load_n(&status->flags, __ATOMIC_ACQUIRE) & DAT_RSM_NEED_KICK;
}

/* Where the data of an entry is, @at bytes given out. */
static inline void *rsm_ring_data(const struct rsm_ring *r, uint32_t at)
{
	return (char *)r->data.va + (at & ((uint32_t)r->data.size - 1));
}

/* Without the lock. */

/* Have the driver look now, and return. */
int rsm_ring_kick(const struct rsm_import *imp);

/*
 * Until the entry at @index is done; who sleeps, sleeps until @sleep is.  Returns RSM_SUCCESS
 * or RSMERR_CONN_ABORTED, if it may also RSMERR_INTERRUPTED.
 */
int rsm_ring_wait(const struct rsm_import *imp, uint32_t index, uint32_t sleep,
		  int interruptible);

/* The data of a get is in use no more. */
void rsm_ring_release(struct rsm_ring *r, uint32_t index);

/* With the lock. */

/* Whether there is room for an entry with @n bytes. */
int rsm_ring_fits(struct rsm_ring *r, uint32_t n);

/* Have room for one; lets go of the lock meanwhile.  Returns as rsm_ring_wait(). */
int rsm_ring_reserve(const struct rsm_import *imp, uint32_t n, int interruptible);

/* Where its data goes, as a count of bytes given out. */
uint32_t rsm_ring_place(const struct rsm_ring *r, uint32_t n);

/* Write it; its data is at @at.  Returns its index. */
uint32_t rsm_ring_push(struct rsm_ring *r, enum dat_rsm_ring_op op, uint64_t offset,
		       uint32_t at, uint32_t n);

/* Have room for a FLUSH, and write it: its index is in @flush.  Returns as rsm_ring_wait(). */
int rsm_ring_push_flush(const struct rsm_import *imp, int interruptible);

/* Show the driver what was written.  Then it is to be kicked or waited for, if need be. */
void rsm_ring_show(struct rsm_ring *r);

#endif /* LIBRSM_RING_H */
