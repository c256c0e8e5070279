// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The process's half of the ring of an import; letters refer to <rdma/dat_rsm.h>.
 *
 * Data goes through the data area, where room is given out in the order of the entries and
 * taken back in that order: of a put when it is done, of a get when it has been copied, too.
 * The lock is held while entries are written and their data copied, never during a wait
 * or a system call.  So several threads may use an import, and each waits for its own
 * entries only.
 *
 * The caller's memory may fault, for long, or into a handler that never returns.  So a small
 * transfer goes by way of the stack, and the memory of a larger one is touched, all with
 * nothing held.  Who takes memory away in the middle of a transfer may still stop those
 * of other threads.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "librsm.h"

#define GET_PIECES	3	/* of a get that are under way; there are four chunks, or eight */
#define DATA_ALIGN	64
#define SMALL		256	/* bytes that go by way of the stack */
#define PAGE_LEAST	4096

/* Sleeping costs more than a short look, a long look in vain more than sleeping. */
#define SPIN_LONG	4000	/* looks */
#define SPIN_SHORT	50
#define SPIN_VAIN	4	/* long looks in vain, after which they are short */
#define SPIN_PROBE	64	/* waits after which a long look is tried again */

#define SLOT_BUSY	1
#define SLOT_AWAITED	2

/*
 * struct ring_slot - what there is to know of an entry
 * @end: of its data, and of all before it; as a count of bytes given out
 * @busy: a get whose data has not been copied; SLOT_AWAITED: and somebody sleeps until it is
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
};

/* Shared pages. */

static const struct dat_rsm_status *ring_status(const struct rsm_ring *r)
{
	return r->status.va;
}

static int ring_done(const struct rsm_ring *r, uint32_t index)
{
	uint32_t done = __atomic_load_n(&ring_status(r)->done, __ATOMIC_ACQUIRE);	/* (F) */

	return (int32_t)(done - index) > 0;
}

static int ring_needs_kick(const struct rsm_ring *r)
{
	return __atomic_load_n(&ring_status(r)->flags, __ATOMIC_ACQUIRE) & DAT_RSM_NEED_KICK;
}

/* Under the lock.  Afterwards it is to be kicked, or waited for, if it needs a kick. */
static void ring_show(struct rsm_ring *r)
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

/* Waiting. */

static void spin_learn(struct rsm_ring *r, int found)
{
	uint32_t vain = found ? 0 : __atomic_load_n(&r->vain, __ATOMIC_RELAXED) + 1;
	uint32_t looks = vain < SPIN_VAIN || vain % SPIN_PROBE == 0 ? SPIN_LONG : SPIN_SHORT;

	__atomic_store_n(&r->vain, vain, __ATOMIC_RELAXED);
	__atomic_store_n(&r->looks, looks, __ATOMIC_RELAXED);
}

#ifndef __has_builtin
#define __has_builtin(name)	0
#endif

static inline void spin_pause(void)
{
#if __has_builtin(__builtin_ia32_pause)
	__builtin_ia32_pause();
#endif
}

/* Looks for a while, unless nobody else does. */
static int ring_spin(struct rsm_ring *r, uint32_t index)
{
	uint32_t i, looks = __atomic_load_n(&r->looks, __ATOMIC_RELAXED);

	for (i = 0; i < looks; i++) {
		if (ring_done(r, index)) {
			spin_learn(r, 1);
			return 1;
		}
		/* What is not done by then was not seen by anybody. */
		if (ring_needs_kick(r))
			return ring_done(r, index);
		spin_pause();
	}
	spin_learn(r, 0);
	return 0;
}

/* Without the lock: until the entry at @index is done; who sleeps, sleeps until @sleep is. */
static int ring_wait(const struct rsm_import *imp, uint32_t index, uint32_t sleep,
		     int interruptible)
{
	struct rsm_ring *r = imp->ring;
	int ret;

	if (ring_spin(r, index))
		return RSM_SUCCESS;
	do {
		ret = ring_enter(imp, sleep, DAT_RSM_FOREVER);
	} while (ret == RSMERR_INTERRUPTED && !interruptible && !ring_done(r, index));
	return ring_done(r, index) ? RSM_SUCCESS : ret;
}

/* Slots of gets. */

static void slot_release(struct ring_slot *slot)
{
	/* Who sees it may use the room. */
	if (__atomic_exchange_n(&slot->busy, 0, __ATOMIC_RELEASE) == SLOT_AWAITED)
		syscall(SYS_futex, &slot->busy, FUTEX_WAKE_PRIVATE, INT_MAX, NULL);
}

/* Without the lock: until it is released, or perhaps not as long. */
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

/* Entries; all under the lock. */

static void ring_take_back(struct rsm_ring *r)
{
	struct ring_slot *slot = &r->slots[r->oldest & r->mask];

	if (r->flushing && ring_done(r, r->flush))
		r->flushing = 0;
	while (r->oldest != r->tail && ring_done(r, r->oldest) &&
	       !__atomic_load_n(&slot->busy, __ATOMIC_ACQUIRE)) {
		r->taken = slot->end;
		slot = &r->slots[++r->oldest & r->mask];
	}
}

/* Where @n bytes begin, as a count of bytes given out. */
static uint32_t ring_place(const struct rsm_ring *r, uint32_t n)
{
	uint32_t at = (r->given + DATA_ALIGN - 1) & ~(uint32_t)(DATA_ALIGN - 1);

	if ((at & (r->chunk - 1)) + n > r->chunk)
		at = (at + r->chunk - 1) & ~(r->chunk - 1);
	return at;
}

static int ring_fits(struct rsm_ring *r, uint32_t n)
{
	ring_take_back(r);
	return r->tail - r->oldest <= r->mask &&
	       ring_place(r, n) + n - r->taken <= (uint32_t)r->data.size;
}

/* Let go of the lock until the oldest entry has gone, or more of them if we have to sleep. */
static int ring_wait_for_room(const struct rsm_import *imp, int interruptible)
{
	struct rsm_ring *r = imp->ring;
	uint32_t oldest = r->oldest, half = oldest + (r->tail - oldest) / 2;
	int ret = RSM_SUCCESS;

	ring_show(r);
	pthread_mutex_unlock(&r->lock);
	if (ring_done(r, oldest))
		/* Another thread copies what it got. */
		ret = slot_wait(&r->slots[oldest & r->mask], interruptible);
	else
		ret = ring_wait(imp, oldest, half, interruptible);
	pthread_mutex_lock(&r->lock);
	return ret;
}

/* Have room for an entry with @n bytes. */
static int ring_reserve(const struct rsm_import *imp, uint32_t n, int interruptible)
{
	int ret = RSM_SUCCESS;

	while (!ret && !ring_fits(imp->ring, n))
		ret = ring_wait_for_room(imp, interruptible);
	return ret;
}

static void *ring_data(const struct rsm_ring *r, uint32_t at)
{
	return (char *)r->data.va + (at & ((uint32_t)r->data.size - 1));
}

/* Write an entry, for which there is room; its data is at @at.  Returns its index. */
static uint32_t ring_push(struct rsm_ring *r, enum dat_rsm_ring_op op, uint64_t offset,
			  uint32_t at, uint32_t n)
{
	struct ring_slot *slot = &r->slots[r->tail & r->mask];

	r->entries[r->tail & r->mask] = (struct dat_rsm_entry) {
		.offset = offset, .length = n, .op = op,
		.data = n ? at & ((uint32_t)r->data.size - 1) : 0,
	};
	__atomic_store_n(&slot->busy, op == DAT_RSM_RING_GET ? SLOT_BUSY : 0, __ATOMIC_RELAXED);
	slot->end = at + n;
	r->given = at + n;
	return r->tail++;
}

static int ring_push_flush(const struct rsm_import *imp, int interruptible)
{
	struct rsm_ring *r = imp->ring;
	int ret = ring_reserve(imp, 0, interruptible);

	if (ret)
		return ret;
	r->flush = ring_push(r, DAT_RSM_RING_FLUSH, 0, r->given, 0);
	r->flushing = 1;
	r->dirty = 0;
	return RSM_SUCCESS;
}

/* Transfers. */

static uint32_t piece_of(const struct rsm_ring *r, uint64_t left)
{
	return left < r->chunk ? (uint32_t)left : r->chunk;
}

/* Of what is read.  It may be memory that can't be written. */
static void touch_to_read(const char *from, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i += PAGE_LEAST)
		(void)*(const volatile char *)(from + i);
	(void)*(const volatile char *)(from + n - 1);
}

/* Of what is about to be written.  Until then it stays as it is, whoever writes it meanwhile. */
static void touch_to_write(char *to, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i += PAGE_LEAST)
		__atomic_fetch_or(to + i, 0, __ATOMIC_RELAXED);
	__atomic_fetch_or(to + n - 1, 0, __ATOMIC_RELAXED);
}

/*
 * struct piece - of a put
 * @offset: in the segment
 * @data: of @n bytes
 * @n: of them
 * @x: how @data is copied; NULL: as it is
 * @flush: out, if it is the last and somebody waits: index of a FLUSH behind it; or NULL
 */
struct piece {
	uint64_t		offset;
	const void		*data;
	uint32_t		n;
	const struct rsm_xfer	*x;
	uint32_t		*flush;
};

/* Under the lock. */
static int put_locked(const struct rsm_import *imp, const struct piece *p)
{
	struct rsm_ring *r = imp->ring;
	int ret = ring_reserve(imp, p->n, 0);
	uint32_t at;

	/* Of one that fails the next FLUSH tells, by failing as well. */
	r->dirty = 1;
	if (ret)
		return ret;
	at = ring_place(r, p->n);
	if (p->x)
		rsm_copy(ring_data(r, at), p->data, p->n, p->x);
	else
		memcpy(ring_data(r, at), p->data, p->n);
	ring_push(r, DAT_RSM_RING_PUT, p->offset, at, p->n);
	if (p->flush)
		ret = ring_push_flush(imp, 0);
	if (p->flush && !ret)
		*p->flush = r->flush;
	return ret;
}

/* It is shown, so that it is under way while the next is copied. */
static int put_piece(const struct rsm_import *imp, const struct piece *p)
{
	struct rsm_ring *r = imp->ring;
	int ret;

	pthread_mutex_lock(&r->lock);
	ret = put_locked(imp, p);
	ring_show(r);
	pthread_mutex_unlock(&r->lock);
	/* Who waits for the FLUSH kicks if need be. */
	if (!p->flush && ring_needs_kick(r))
		ring_enter(imp, 0, 0);
	return ret;
}

static int put_small(const struct rsm_xfer *x, uint32_t size, uint32_t *flush)
{
	struct piece p = { .offset = (uint64_t)x->offset, .n = size, .flush = flush };
	uint64_t buf[SMALL / sizeof(uint64_t)];

	rsm_copy(buf, x->data, size, x);
	p.data = buf;
	return put_piece(x->imp, &p);
}

static int put_pieces(const struct rsm_xfer *x, uint64_t size, uint32_t *flush)
{
	struct piece p = { .x = x };
	int ret = RSM_SUCCESS;
	uint64_t done;

	for (done = 0; !ret && done < size; done += p.n) {
		p.offset = (uint64_t)x->offset + done;
		p.data = (char *)x->data + done;
		p.n = piece_of(x->imp->ring, size - done);
		p.flush = done + p.n == size ? flush : NULL;
		touch_to_read(p.data, p.n);
		ret = put_piece(x->imp, &p);
	}
	return ret;
}

static int ring_put(const struct rsm_xfer *x, uint64_t size)
{
	int ret, implicit = rsm_import_implicit(x->imp);
	uint32_t flush = 0, *wanted = implicit ? &flush : NULL;

	if (size <= SMALL)
		ret = put_small(x, (uint32_t)size, wanted);
	else
		ret = put_pieces(x, size, wanted);
	/* Explicit: how it goes is told by the barrier. */
	return ret || !implicit ? ret : ring_wait(x->imp, flush, flush, 0);
}

/*
 * struct got - pieces of a get that are under way, in order
 * @index: of the entry
 * @at: of its data
 * @first: of those that were not retired
 * @next: one more
 * @posted: bytes
 * @copied: bytes
 */
struct got {
	uint32_t	index[GET_PIECES];
	uint32_t	at[GET_PIECES];
	uint32_t	first;
	uint32_t	next;
	uint64_t	posted;
	uint64_t	copied;
};

/* Under the lock: as many as there is room for, at least one. */
static int get_post(const struct rsm_xfer *x, struct got *g, uint64_t size)
{
	struct rsm_ring *r = x->imp->ring;
	int ret = RSM_SUCCESS;
	uint32_t n;

	while (g->posted < size && g->next - g->first < GET_PIECES) {
		n = piece_of(r, size - g->posted);
		/* Who has pieces makes room by retiring them, and waits for nobody. */
		if (g->next == g->first)
			ret = ring_reserve(x->imp, n, 0);
		else if (!ring_fits(r, n))
			break;
		if (ret)
			break;
		g->at[g->next % GET_PIECES] = ring_place(r, n);
		g->index[g->next % GET_PIECES] =
			ring_push(r, DAT_RSM_RING_GET, (uint64_t)x->offset + g->posted,
				  g->at[g->next % GET_PIECES], n);
		g->next++;
		g->posted += n;
	}
	ring_show(r);
	return ret;
}

/*
 * The oldest one: wait for it, and copy it unless that has failed; to @small, as it is, if
 * that is not NULL.
 */
static int get_retire(const struct rsm_xfer *x, struct got *g, uint64_t size, void *small, int ret)
{
	struct rsm_ring *r = x->imp->ring;
	uint32_t i = g->first++ % GET_PIECES, n = piece_of(r, size - g->copied);

	if (!ret)
		ret = ring_wait(x->imp, g->index[i], g->index[i], 0);
	if (!ret && small)
		memcpy(small, ring_data(r, g->at[i]), n);
	else if (!ret)
		rsm_copy((char *)x->data + g->copied, ring_data(r, g->at[i]), n, x);
	g->copied += n;
	slot_release(&r->slots[g->index[i] & r->mask]);
	return ret;
}

static int get_pieces(const struct rsm_xfer *x, uint64_t size, void *small)
{
	struct rsm_ring *r = x->imp->ring;
	struct got g = { .posted = 0 };
	int ret = RSM_SUCCESS;

	while (!ret && g.copied < size) {
		pthread_mutex_lock(&r->lock);
		ret = get_post(x, &g, size);
		pthread_mutex_unlock(&r->lock);
		if (!ret)
			ret = get_retire(x, &g, size, small, ret);
	}
	while (g.first != g.next)
		ret = get_retire(x, &g, size, small, ret);
	return ret;
}

static int ring_get(const struct rsm_xfer *x, uint64_t size)
{
	uint64_t buf[SMALL / sizeof(uint64_t)];
	int ret;

	if (size > SMALL) {
		touch_to_write(x->data, size);
		return get_pieces(x, size, NULL);
	}
	ret = get_pieces(x, size, buf);
	if (!ret)
		rsm_copy(x->data, buf, size, x);
	return ret;
}

int rsm_ring_xfer(const struct rsm_xfer *x)
{
	uint64_t size = x->count * x->width;

	return x->put ? ring_put(x, size) : ring_get(x, size);
}

int rsm_ring_settle(struct rsm_import *imp, int interruptible)
{
	struct rsm_ring *r = __atomic_load_n(&imp->ring, __ATOMIC_ACQUIRE);
	int ret = RSM_SUCCESS, flushing;
	uint32_t flush;

	if (!r)
		return RSM_SUCCESS;
	pthread_mutex_lock(&r->lock);
	if (r->dirty)
		ret = ring_push_flush(imp, interruptible);
	ring_take_back(r);
	flushing = r->flushing;
	flush = r->flush;
	ring_show(r);
	pthread_mutex_unlock(&r->lock);
	if (ret || !flushing)
		return ret;
	return ring_wait(imp, flush, flush, interruptible);
}

/* Making and freeing. */

static int ring_map(const struct rsm_import *imp, struct rsm_ring *r,
		    const struct dat_rsm_ring *arg)
{
	int ret = du_map_pair(imp->seg.ctx->fd, DU_REGIONS(arg), &r->submit, &r->status);

	if (ret)
		return ret;
	ret = du_map(imp->seg.ctx->fd, arg->data_offset, arg->data_size, 1, &r->data);
	if (ret) {
		du_unmap(&r->status);
		du_unmap(&r->submit);
	}
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
	r->entries = (struct dat_rsm_entry *)((struct dat_rsm_submit *)r->submit.va + 1);
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
		if (r)
			__atomic_store_n(&imp->ring, r, __ATOMIC_RELEASE);
		else if (ret == RSMERR_BAD_CTLR_HNDL)
			/* Other failures pass: the next transfer tries again. */
			__atomic_store_n(&imp->no_ring, 1, __ATOMIC_RELEASE);
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
