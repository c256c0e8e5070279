// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The kernel's side of the rings of imports.  Letters in parentheses refer to the memory barriers
 * described in <rdma/dat_rsm.h>.
 *
 * The kernel does not trust the shared pages.  For each batch, the kernel reads the tail once and
 * compares the tail with a private index.  The kernel copies each entry once and checks the copy.
 * Invalid content cuts the import.
 */
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "lib/device.h"
#include "rsm/ring.h"
#include "rsm/trace.h"

static unsigned int ring_start;
module_param(ring_start, uint, 0644);
MODULE_PARM_DESC(ring_start, "First index of new rings; lets tests cross the wrap at 2^32 (0)");

static_assert(sizeof(struct dat_rsm_entry) <= BIT(RSM_RING_ENTRY_SHIFT));
static_assert(sizeof(struct dat_rsm_submit) == 128);
static_assert(sizeof(struct dat_rsm_status) == 16);

static struct dat_rsm_submit *ring_submit(const struct rsm_ring *r)
{
	return r->submit.va;
}

static struct dat_rsm_status *ring_status(const struct rsm_ring *r)
{
	return r->status.va;
}

static bool ring_has_entry(const struct rsm_ring *r)
{
	return READ_ONCE(ring_submit(r)->tail) != READ_ONCE(r->head);
}

static void ring_fetch(const struct rsm_ring *r, u32 index, struct dat_rsm_entry *e)
{
	const void *entries = r->submit.va + RSM_RING_ENTRY_OFFSET;

	memcpy(e, entries + ((index & (RSM_RING_ENTRIES - 1)) << RSM_RING_ENTRY_SHIFT), sizeof(*e));
	/* Keep the compiler from reading the shared entry again instead of the copy. */
	barrier();
}

static void ring_set_armed(struct rsm_ring *r, bool armed)
{
	if (r->armed != armed)
		WRITE_ONCE(ring_status(r)->flags, armed ? DAT_RSM_NEED_KICK : 0);
	r->armed = armed;
}

/* Sets DAT_RSM_NEED_KICK.  Returns true if the process has already added an entry. */
static bool ring_arm(struct rsm_ring *r)
{
	ring_set_armed(r, true);
	smp_mb();						/* (E) */
	return ring_has_entry(r);
}

static void ring_show_done(const struct rsm_ring *r)
{
	smp_store_release(&ring_status(r)->done, r->done);	/* (G) */
}

static int transfer_check(const struct rsm_ring *r, const struct dat_rsm_entry *e)
{
	u32 right = e->op == DAT_RSM_RING_PUT ? DAT_RSM_WRITE : DAT_RSM_READ;
	u64 end;

	if (!(r->imp->perm & right))
		return -EACCES;
	if (!e->length || e->data >= RSM_RING_DATA ||
	    e->length > r->chunk - (e->data & (r->chunk - 1)))
		return -EBADMSG;
	if (check_add_overflow(e->offset, (u64)e->length, &end) || end > r->conn->length)
		return -EBADMSG;
	return 0;
}

/* Returns the kernel address of byte @data of the ring's data area; @data has been checked. */
static void *ring_data(const struct rsm_ring *r, u32 data)
{
	return page_address(r->data.pages[data >> PAGE_SHIFT]) + offset_in_page(data);
}

static int ring_transfer(struct rsm_ring *r, const struct dat_rsm_entry *e, bool silent)
{
	u32 data = array_index_nospec(e->data, RSM_RING_DATA);
	struct rsm_request req = {
		.put = e->op == DAT_RSM_RING_PUT, .silent = silent, .offset = e->offset,
		.channel = RSM_CHANNEL_RING, .seq = r->head,
	};

	req.local = (DAT_LMR_TRIPLET) {
		.virtual_address = (uintptr_t)ring_data(r, data),
		.segment_length = e->length, .lmr_context = r->context[data / r->chunk],
	};
	if (e->op == DAT_RSM_RING_GET)
		r->got[r->head % RSM_RING_WRS] = req.local;
	return rsm_conn_rdma(r->conn, &req);
}

static int ring_issue(struct rsm_ring *r, const struct dat_rsm_entry *e, bool silent)
{
	int ret = -EBADMSG;

	r->got[r->head % RSM_RING_WRS].segment_length = 0;
	if (e->rsvd[0] || e->rsvd[1] || e->rsvd[2])
		return -EBADMSG;
	if (e->op == DAT_RSM_RING_PUT || e->op == DAT_RSM_RING_GET) {
		ret = transfer_check(r, e);
		if (!ret)
			ret = ring_transfer(r, e, silent);
	} else if (e->op == DAT_RSM_RING_FLUSH && !e->offset && !e->length && !e->data) {
		ret = rsm_conn_flush(r->conn, RSM_CHANNEL_RING, r->head);
	}
	return ret;
}

/* Marks the ring dead, so that the kernel takes no more entries.  Returns false if already dead. */
static bool ring_stop(struct rsm_ring *r, int err)
{
	lockdep_assert_held(&r->lock);
	if (r->dead)
		return false;
	WRITE_ONCE(r->dead, true);
	trace_rsm_ring(r->imp->obj.id, true, err);
	return true;
}

/* Stops the ring and cuts the import, after an error of an entry or an invalid tail. */
static void ring_kill(struct rsm_ring *r, int err)
{
	if (ring_stop(r, err))
		queue_work(rsm_wq, &r->cut);
}

static void ring_cut(struct work_struct *work)
{
	struct rsm_ring *r = container_of(work, struct rsm_ring, cut);

	rsm_obj_cut(&r->imp->obj);
	rsm_conn_hang_up(r->conn);
}

/* Calls ring_kill().  Sets dat_rsm_status.bad if the process wrote an invalid entry or tail. */
static void ring_refuse(struct rsm_ring *r, int err)
{
	if (err == -EBADMSG || err == -EACCES || err == -EOVERFLOW)
		WRITE_ONCE(ring_status(r)->bad, 1);
	ring_kill(r, err);
}

/* Returns the number of entries that can be posted now; -EOVERFLOW if the tail is invalid. */
static int ring_batch(const struct rsm_ring *r)
{
	u32 n = smp_load_acquire(&ring_submit(r)->tail) - r->head;	/* (D) */

	if (n > RSM_RING_ENTRIES)
		return -EOVERFLOW;
	return min(n, RSM_RING_WRS - (r->head - r->done));
}

/* Posts @n entries.  If an entry cannot be posted, ring_refuse() cuts the import. */
static void ring_post_batch(struct rsm_ring *r, u32 n)
{
	struct dat_rsm_entry e;
	int ret = 0;

	while (n-- && !ret) {
		ring_fetch(r, r->head, &e);
		/*
		 * Signal the last entry.  Also signal every RSM_RING_SIGNAL_EVERY-th entry, so
		 * completions make room for new entries early.
		 */
		ret = ring_issue(r, &e, n && (r->head + 1) % RSM_RING_SIGNAL_EVERY);
		if (ret)
			ring_refuse(r, ret);
		else
			WRITE_ONCE(r->head, r->head + 1);
	}
}

/* Posts entries while the send queue has room.  Returns true if at least one entry was posted. */
static bool ring_post(struct rsm_ring *r)
{
	u32 begin = r->head;
	int n;

	/* The loop ends, because a completion, which makes room, has to wait for ring->lock. */
	while (!r->dead) {
		n = ring_batch(r);
		if (n < 0)
			ring_refuse(r, n);
		if (n <= 0)
			break;
		ring_post_batch(r, n);
	}
	return r->head != begin;
}

/*
 * Returns true if the poller takes new entries.  The caller has checked that the ring is not dead,
 * so the context is valid.
 */
static bool ring_watched(const struct rsm_ring *r)
{
	return READ_ONCE(r->imp->obj.ctx->watched);
}

/*
 * Posts new entries.  The next completion or the poller takes later entries.  If no request is in
 * flight and no poller watches the ring, the function arms the ring, so that the process kicks.
 */
static void ring_pump(struct rsm_ring *r)
{
	lockdep_assert_held(&r->lock);
	if (r->dead)
		return;
	ring_set_armed(r, false);
	ring_post(r);
	if (r->dead || r->head != r->done || ring_watched(r) || !ring_arm(r))
		return;
	ring_set_armed(r, false);
	/* If the entry that ring_arm() saw is gone, the process has moved the tail back. */
	if (!ring_post(r) && !r->dead)
		ring_refuse(r, -EOVERFLOW);
}

/*
 * Returns true if the ring has an entry that can be posted now.  ring->lock is not needed, because
 * the poller's next call finds an entry that this call misses.
 */
static bool ring_has_work(const struct rsm_ring *r)
{
	return ring_has_entry(r) && READ_ONCE(r->head) - READ_ONCE(r->done) < RSM_RING_WRS;
}

/*
 * Takes the new entries of a ring for the poller.  Returns true if the ring had an entry and the
 * send queue had room.  Context: process; ctx->rings_lock is held.
 */
bool rsm_ring_poll(struct rsm_ring *ring)
{
	lockdep_assert_held(&ring->imp->obj.ctx->rings_lock);

	if (READ_ONCE(ring->dead) || !ring_has_work(ring))
		return false;
	rsm_ring_pump(ring);
	return true;
}

/* Takes the new entries of a ring, and arms an idle ring if no poller watches the ring. */
void rsm_ring_pump(struct rsm_ring *ring)
{
	spin_lock_bh(&ring->lock);
	ring_pump(ring);
	spin_unlock_bh(&ring->lock);
}

/* Handles the completion of entry @seq.  Entries complete in the order of their indexes. */
static void ring_completed(struct rsm_conn *conn, u32 seq, bool ok)
{
	struct rsm_ring *r = conn->ring;
	DAT_LMR_TRIPLET *got = &r->got[seq % RSM_RING_WRS];
	bool wakes;

	spin_lock_bh(&r->lock);
	if (ok) {
		if (got->segment_length)
			kdat_lmr_sync_rdma_write(r->conn->ia, got, 1);
		WRITE_ONCE(r->done, seq + 1);
		ring_show_done(r);
	} else {
		/*
		 * Do not advance r->done to @seq, because an earlier completion may have reported
		 * the failure of a silent put before @seq.  At the first failure, all these puts
		 * have succeeded, and the process counts them as not done nevertheless.
		 */
		ring_kill(r, -EIO);
	}
	ring_pump(r);
	wakes = r->waiting && (s32)(r->done - r->wake_at) > 0;
	if (wakes)
		r->waiting = false;
	spin_unlock_bh(&r->lock);
	if (wakes)
		wake_up_all(&r->imp->obj.wq);
}

/*
 * Fills the data region with contiguous chunks.  alloc_pages_exact() splits a chunk into single
 * pages, so each page can be mapped and freed separately.  After an error, the caller frees the
 * region.
 */
static int data_fill(struct dat_region *region, u32 chunk, gfp_t gfp)
{
	unsigned int i, n = RSM_RING_DATA / PAGE_SIZE, per = chunk / PAGE_SIZE;
	void *va = NULL;

	for (i = 0; i < n; i++) {
		if (i % per == 0)
			va = alloc_pages_exact(chunk, GFP_KERNEL_ACCOUNT | __GFP_ZERO | gfp);
		if (!va)
			return -ENOMEM;
		region->pages[i] = virt_to_page(va + i % per * PAGE_SIZE);
		region->npages = i + 1;
	}
	return 0;
}

static int data_alloc(struct dat_region *region, u32 chunk, gfp_t gfp)
{
	int ret;

	region->pages = kvcalloc(RSM_RING_DATA / PAGE_SIZE, sizeof(*region->pages),
				 GFP_KERNEL_ACCOUNT);
	if (!region->pages)
		return -ENOMEM;
	region->writable = true;
	ret = data_fill(region, chunk, gfp);
	if (ret)
		dat_region_free(region);
	return ret;
}

/*
 * Allocates the data area.  Large chunks reduce the number of requests of a large transfer, but do
 * not justify repeated memory reclaim.
 */
static int ring_alloc_data(struct rsm_ring *r)
{
	r->chunk = RSM_RING_CHUNK_MOST;
	if (!data_alloc(&r->data, r->chunk, __GFP_NORETRY | __GFP_NOWARN))
		return 0;
	r->chunk = RSM_RING_CHUNK_LEAST;
	return data_alloc(&r->data, r->chunk, 0);
}

static void ring_release(struct rsm_ring *r)
{
	dat_region_free(&r->data);
	dat_region_free(&r->status);
	dat_region_free(&r->submit);
	rsm_conn_put(r->conn);
	kfree(r);
}

static struct rsm_ring *ring_alloc(struct rsm_conn *conn)
{
	struct rsm_ring *r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);

	if (!r)
		return NULL;
	r->imp = conn->owner;
	r->conn = conn;
	kref_get(&conn->ref);
	spin_lock_init(&r->lock);
	INIT_WORK(&r->cut, ring_cut);
	if (dat_region_alloc(&r->submit, RSM_RING_ENTRY_OFFSET +
			     (RSM_RING_ENTRIES << RSM_RING_ENTRY_SHIFT), true) ||
	    dat_region_alloc(&r->status, sizeof(struct dat_rsm_status), false) ||
	    ring_alloc_data(r)) {
		ring_release(r);
		return NULL;
	}
	r->head = READ_ONCE(ring_start);
	r->done = r->head;
	ring_submit(r)->tail = r->head;
	ring_show_done(r);
	/* Set DAT_RSM_NEED_KICK, because the process must kick after the first entry. */
	ring_set_armed(r, true);
	return r;
}

static void ring_unregister(struct rsm_ring *r)
{
	unsigned int i;

	for (i = 0; i < RSM_RING_CHUNKS && r->lmr[i]; i++)
		kdat_lmr_free(r->lmr[i]);
}

static int ring_register(struct rsm_ring *r)
{
	struct rsm_ctlr *ctlr = r->conn->ctlr;
	unsigned int i;
	int ret;

	/*
	 * The process can make this function take long, and a held end_lock delays the upcalls for
	 * all connections of the adapter, so the caller must not hold end_lock.
	 */
	lockdep_assert_not_held(&r->conn->end_lock);
	for (i = 0; i < RSM_RING_DATA / r->chunk; i++) {
		ret = rsm_conn_register(ctlr, r->conn->pz,
					page_address(r->data.pages[i * (r->chunk / PAGE_SIZE)]),
					r->chunk, true, &r->lmr[i], &r->context[i]);
		if (ret) {
			r->lmr[i] = NULL;
			ring_unregister(r);
			return ret;
		}
	}
	return 0;
}

/*
 * Registers a new ring and attaches the ring to the connection.  On success, *@ring is NULL, unless
 * the connection already had a ring.  The adapter and the protection zone stay valid while
 * ring_lock is held.  rsm_ring_end() takes ring_lock after RSM_CONN_ENDED is set, so either this
 * function sees RSM_CONN_ENDED, or rsm_ring_end() finds the ring.
 *
 * Each import has its own ring_lock.  A process that slows the registration down thus delays the
 * end of its own import only.
 */
static int ring_begin(struct rsm_conn *conn, struct rsm_ring **ring)
{
	struct rsm_ctx *ctx = (*ring)->imp->obj.ctx;
	int ret;

	lockdep_assert_held(&conn->ring_lock);
	if (READ_ONCE(conn->state) == RSM_CONN_ENDED || READ_ONCE((*ring)->imp->obj.cut))
		return -ECONNABORTED;
	if (conn->ring)
		return 0;
	ret = ring_register(*ring);
	if (ret)
		return ret;
	mutex_lock(&ctx->rings_lock);
	list_add_tail(&(*ring)->node, &ctx->rings);
	mutex_unlock(&ctx->rings_lock);
	conn->done[RSM_CHANNEL_RING] = ring_completed;
	smp_store_release(&conn->ring, *ring);	/* pairs with ring_of() */
	*ring = NULL;
	return 0;
}

static int ring_add(struct rsm_conn *conn)
{
	struct rsm_ring *r = ring_alloc(conn);
	int ret;

	if (!r)
		return -ENOMEM;
	mutex_lock(&conn->ring_lock);
	ret = ring_begin(conn, &r);
	mutex_unlock(&conn->ring_lock);
	if (r)
		ring_release(r);
	return ret;
}

static struct rsm_ring *ring_of(const struct rsm_import *imp)
{
	/* Pairs with smp_store_release() in ring_begin(). */
	return imp->remote ? smp_load_acquire(&imp->remote->conn->ring) : NULL;
}

void rsm_ring_end(struct rsm_conn *conn)
{
	struct rsm_ctx *ctx;
	struct rsm_ring *r;

	/* A call that takes ring_lock later sees RSM_CONN_ENDED, and so makes no ring. */
	mutex_lock(&conn->ring_lock);
	r = conn->ring;
	mutex_unlock(&conn->ring_lock);
	if (!r)
		return;
	ctx = r->imp->obj.ctx;
	spin_lock_bh(&r->lock);
	ring_stop(r, 0);
	spin_unlock_bh(&r->lock);
	mutex_lock(&ctx->rings_lock);
	list_del(&r->node);
	mutex_unlock(&ctx->rings_lock);
	flush_work(&r->cut);
	ring_unregister(r);
}

void rsm_ring_free(struct rsm_conn *conn)
{
	if (conn->ring)
		ring_release(conn->ring);
}

static const struct {
	unsigned int	kind;
	size_t		offset;
} ring_regions[] = {
	{ RSM_REGION_SUBMIT,	offsetof(struct rsm_ring, submit) },
	{ RSM_REGION_STATUS,	offsetof(struct rsm_ring, status) },
	{ RSM_REGION_DATA,		offsetof(struct rsm_ring, data) },
};

/* Returns the region @kind of the import's ring, or NULL.  The region stays as long as @imp. */
struct dat_region *rsm_ring_region(struct rsm_import *imp, unsigned int kind)
{
	struct rsm_ring *r = ring_of(imp);
	unsigned int i;

	for (i = 0; r && i < ARRAY_SIZE(ring_regions); i++)
		if (ring_regions[i].kind == kind)
			return (void *)r + ring_regions[i].offset;
	return NULL;
}

static void ring_answer(const struct rsm_import *imp, struct dat_rsm_ring *arg)
{
	const struct rsm_ring *r = ring_of(imp);

	arg->entries = RSM_RING_ENTRIES;
	arg->chunk = r->chunk;
	arg->entry_offset = RSM_RING_ENTRY_OFFSET;
	arg->entry_shift = RSM_RING_ENTRY_SHIFT;
	arg->submit_offset = dat_mmap_place(imp->obj.id, RSM_REGION_SUBMIT);
	arg->submit_size = dat_mmap_size(&r->submit);
	arg->status_offset = dat_mmap_place(imp->obj.id, RSM_REGION_STATUS);
	arg->status_size = dat_mmap_size(&r->status);
	arg->data_offset = dat_mmap_place(imp->obj.id, RSM_REGION_DATA);
	arg->data_size = dat_mmap_size(&r->data);
}

int rsm_ring_make(struct dat_ucmd *ucmd)
{
	struct dat_rsm_ring *arg = ucmd->arg;
	struct rsm_import *imp;
	struct rsm_obj *obj;
	int ret = 0;

	if (arg->rsvd)
		return -EOPNOTSUPP;
	obj = rsm_obj_get(ucmd->bound, DAT_RSM_TYPE_IMPORT, arg->id);
	if (!obj)
		return -EBADF;
	imp = to_rsm_import(obj);
	if (!imp->remote)
		ret = -ENXIO;
	else if (!ring_of(imp))
		ret = ring_add(imp->remote->conn);
	trace_rsm_ring(obj->id, false, ret);
	if (!ret)
		ring_answer(imp, arg);
	rsm_obj_put(obj);
	return ret;
}

/*
 * Checks whether entry @index has completed.  Return: 0; -EBADF if the import has ended;
 * -ECONNABORTED if the import is cut; -EAGAIN otherwise.  If @sleep is set and the result is
 * -EAGAIN, the completion of the entry, a cut or the end of the import wakes the caller.
 */
static int ring_wait_for(struct rsm_ring *r, u32 index, bool sleep)
{
	int ret = -EAGAIN;

	spin_lock_bh(&r->lock);
	if ((s32)(r->done - index) > 0) {
		ret = 0;
	} else if (READ_ONCE(r->imp->obj.stopped)) {
		ret = -EBADF;
	} else if (smp_load_acquire(&r->imp->obj.cut)) {	/* see rsm_obj_cut() */
		ret = -ECONNABORTED;
	} else if (sleep) {
		if (!r->waiting || (s32)(index - r->wake_at) < 0)
			r->wake_at = index;
		r->waiting = true;
	}
	spin_unlock_bh(&r->lock);
	return ret;
}

static int ring_wait(struct rsm_ring *r, u32 index, u64 deadline_ns)
{
	DEFINE_WAIT(wait);
	int ret;

	/* A kick with deadline 0 does not wait, and so must not change r->wake_at. */
	if (!deadline_ns) {
		ret = ring_wait_for(r, index, false);
		return ret == -EAGAIN ? -ETIMEDOUT : ret;
	}
	do {
		prepare_to_wait(&r->imp->obj.wq, &wait, TASK_INTERRUPTIBLE);
		ret = ring_wait_for(r, index, true);
		if (ret == -EAGAIN)
			ret = rsm_event_sleep(deadline_ns);
	} while (ret == -EAGAIN);
	finish_wait(&r->imp->obj.wq, &wait);
	return ret;
}

int rsm_ring_kick(struct dat_ucmd *ucmd)
{
	struct dat_rsm_kick *arg = ucmd->arg;
	int ret = -ENXIO;
	struct rsm_obj *obj;
	struct rsm_ring *r;

	obj = rsm_obj_get(ucmd->bound, DAT_RSM_TYPE_IMPORT, arg->id);
	if (!obj)
		return -EBADF;
	r = ring_of(to_rsm_import(obj));
	if (r) {
		dat_poller_unpark(&ucmd->file->poller);
		spin_lock_bh(&r->lock);
		/* If requests are in flight, the next completion takes the new entries. */
		if (r->head == r->done)
			ring_pump(r);
		spin_unlock_bh(&r->lock);
		ret = ring_wait(r, arg->index, dat_deadline_to_host(arg->deadline_ns));
	}
	rsm_obj_put(obj);
	return ret;
}
