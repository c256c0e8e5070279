// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Transfers of DAT_IOC_RSM_IO through an adapter.
 *
 * All data goes through the stage, which is kernel memory of the connection, divided into slots.  A
 * put copies user memory into the stage before the RDMA write.  A get copies the stage to user
 * memory after the RDMA read.  So user memory need not be pinned, and no page fault delays a
 * request in flight.
 *
 * Bytes that are adjacent in the segment share a request, even if the bytes belong to different
 * entries, because a request costs a round trip, and a copy of a few bytes costs little.
 *
 * Puts are posted in groups, and only the last put of a group, or the flush after the last group,
 * is signalled.  The data of a group is copied before the first put is posted, because an access to
 * user memory can take arbitrarily long, and a rebind by the exporter waits for all requests in
 * flight.
 */
#include <linux/math.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "rsm/ring.h"

/* Adjacent bytes of the segment, which share a slot of the stage and a request. */
struct chunk {
	u64	offset;		/* offset in the segment */
	u64	at;		/* offset of the first byte in @entry */
	u32	entry;		/* index of the entry to which the first byte belongs */
	u32	n;		/* number of bytes */
};

/*
 * State of the stage during a DAT_IOC_RSM_IO call.  @begin, @first and @next are numbers of chunks,
 * which are also the numbers of the chunks' requests.
 */
struct stage {
	struct rsm_transfer	*t;
	struct rsm_remote	*r;
	struct rsm_conn		*conn;
	u32			begin;		/* first chunk of the call */
	u32			first;		/* oldest chunk that is not retired */
	/* Chunk to fill; the chunks from r->posted to @next - 1 are filled, but not posted. */
	u32			next;
	u32			checked;	/* number of checked entries */
	bool			filling;	/* flag: the chunk @next has been begun */
	/* Error of the first chunk that failed; later chunks do not count as done. */
	int			err;
	/* Chunks, indexed by chunk number modulo RSM_STAGE_SLOTS. */
	struct chunk		chunk[RSM_STAGE_SLOTS];
	/*
	 * Local memory of each entry, with a reference; NULL for user memory, and before
	 * stage_entry().
	 */
	struct rsm_localmem	*lm[DAT_RSM_MAX_IO];
};

/* Handles the completion of a stage request.  Calls for one connection run one at a time. */
void rsm_stage_done(struct rsm_conn *conn, u32 seq, bool ok)
{
	struct rsm_import *imp = conn->owner;
	struct rsm_remote *r = imp->remote;

	/*
	 * All silent requests before @seq have succeeded, because a silent request that fails
	 * reports a completion.
	 */
	if (!r->failed)
		/* A reader that sees r->done also sees the data of a get. */
		smp_store_release(&r->done, seq + ok);
	if (!ok)
		/* A reader that sees r->failed also sees the final value of r->done. */
		smp_store_release(&r->failed, true);
	wake_up_all(&conn->wq);
}

static struct chunk *stage_chunk(struct stage *s, u32 seq)
{
	return &s->chunk[seq % RSM_STAGE_SLOTS];
}

static void *stage_slot(const struct stage *s, u32 seq)
{
	return s->conn->mem + PAGE_SIZE + seq % RSM_STAGE_SLOTS * RSM_SLOT_SIZE;
}

static DAT_LMR_TRIPLET stage_triplet(const struct stage *s, u32 seq, u32 n)
{
	return (DAT_LMR_TRIPLET) {
		.virtual_address = (uintptr_t)stage_slot(s, seq), .segment_length = n,
		.lmr_context = s->conn->context,
	};
}

/*
 * Copies @n bytes between @buf and an entry's memory, where the bytes begin at offset @at.  A put
 * copies to @buf.  A get copies from @buf.
 */
static int stage_copy(const struct stage *s, u32 entry, u64 at, void *buf, u32 n)
{
	u64 addr = s->t->e[entry].addr + at;
	void __user *user = (void __user *)addr;

	if (s->lm[entry])
		return rsm_localmem_copy(s->lm[entry], addr, buf, n, s->t->put);
	if (s->t->put ? copy_from_user(buf, user, n) : copy_to_user(user, buf, n))
		return -EFAULT;
	return 0;
}

static bool stage_reached(const struct stage *s, u32 seq)
{
	u32 done = smp_load_acquire(&s->r->done);	/* see rsm_stage_done() */

	return (s32)(done - seq) > 0;
}

static bool stage_decided(const struct stage *s, u32 seq)
{
	/* Once r->failed is set, r->done is final, and requests from r->done on have failed. */
	return stage_reached(s, seq) || smp_load_acquire(&s->r->failed) ||
	       READ_ONCE(s->conn->state) >= RSM_CONN_LOST;
}

/*
 * Waits for request @seq and returns the result.  If the peer does not answer, the heartbeat ends
 * the connection after PEER_TIMEOUT.  A killed process disconnects at once.
 */
static int stage_await(const struct stage *s, u32 seq)
{
	if (wait_event_killable(s->conn->wq, stage_decided(s, seq))) {
		/* A disconnect flushes the requests in flight, even if the peer does not answer. */
		rsm_conn_hang_up(s->conn);
		wait_event(s->conn->wq, stage_decided(s, seq));
	}
	return stage_reached(s, seq) ? 0 : -ECONNABORTED;
}

/* Counts an entry and the empty entries directly behind it as done.  Returns their total number. */
static u32 stage_count(struct stage *s, u32 entry)
{
	u32 n = 1;

	while (entry + n < s->checked && !s->t->e[entry + n].length)
		n++;
	s->t->done += n;
	return n;
}

/*
 * Takes the oldest chunk, which has completed.  For a get, copies the data to the caller's memory.
 * Counts the entries that end in the chunk as done.
 */
static int stage_take(struct stage *s)
{
	const struct chunk *c = stage_chunk(s, s->first);
	DAT_LMR_TRIPLET seg = stage_triplet(s, s->first, c->n);
	u32 i = c->entry, done, n;
	u64 at = c->at, length;
	int ret;

	if (!s->t->put)
		kdat_lmr_sync_rdma_write(s->conn->ia, &seg, 1);
	for (done = 0; done < c->n; done += n) {
		length = s->t->e[i].length;
		n = min_t(u64, length - at, c->n - done);
		ret = s->t->put ? 0 :
		      stage_copy(s, i, at, stage_slot(s, s->first) + done, n);
		if (ret)
			return ret;
		at += n;
		if (at == length) {
			i += stage_count(s, i);
			at = 0;
		}
	}
	return 0;
}

/* Waits for the oldest chunk's request, takes the chunk if no chunk failed, frees its slot. */
static int stage_retire(struct stage *s)
{
	int ret = stage_await(s, s->first);

	if (!s->err)
		s->err = ret ?: stage_take(s);
	s->first++;
	return s->err;
}

/* Retires all chunks before @seq. */
static int stage_retire_until(struct stage *s, u32 seq)
{
	while (s->first != seq)
		stage_retire(s);
	return s->err;
}

static int stage_post_one(struct stage *s, bool silent)
{
	u32 seq = s->r->posted;
	const struct chunk *c = stage_chunk(s, seq);
	struct rsm_request req = {
		.put = s->t->put, .silent = silent, .offset = c->offset,
		.local = stage_triplet(s, seq, c->n), .channel = RSM_CHANNEL_STAGE, .seq = seq,
	};

	if (rsm_conn_rdma(s->conn, &req))
		return -ECONNABORTED;
	s->r->posted++;
	return 0;
}

/*
 * Posts the filled chunks.  Of puts, signals only the last, and with @more none.  After a call with
 * @more, the caller must post another request at once.
 */
static int stage_post(struct stage *s, bool more)
{
	int ret = 0;

	while (!ret && s->r->posted != s->next)
		ret = stage_post_one(s, s->t->put && (more || s->r->posted + 1 != s->next));
	return ret;
}

/*
 * Returns the number of bytes, from @offset in the segment, that fit into the chunk being filled.
 * The result is a multiple of @width.
 */
static u32 stage_room(struct stage *s, u64 offset, u32 width)
{
	const struct chunk *c = stage_chunk(s, s->next);

	/* Keep elements aligned within the request, because a misaligned element may be torn. */
	if (!s->filling || c->offset + c->n != offset || c->offset & (width - 1))
		return 0;
	return round_down(RSM_SLOT_SIZE - c->n, width);
}

/* Closes the chunk being filled.  Returns true if the caller should post the filled chunks now. */
static bool stage_close(struct stage *s)
{
	u32 n = stage_chunk(s, s->next)->n;

	if (!s->filling)
		return false;
	s->filling = false;
	s->next += !!n;
	return n == RSM_SLOT_SIZE || s->next - s->r->posted == RSM_STAGE_GROUP;
}

/* Begins a chunk at byte @at of an entry.  Retires the oldest chunk if all slots are in use. */
static int stage_begin(struct stage *s, u32 entry, u64 at)
{
	int ret = stage_close(s) ? stage_post(s, false) : 0;

	if (!ret && s->next - s->first == RSM_STAGE_SLOTS)
		ret = stage_retire(s);
	if (ret)
		return ret;
	*stage_chunk(s, s->next) = (struct chunk) {
		.offset = s->t->e[entry].offset + at, .entry = entry, .at = at,
	};
	s->filling = true;
	return 0;
}

/* Adds @n bytes to the chunk being filled.  The caller has checked that the chunk has room. */
static int stage_fill(struct stage *s, u32 entry, u64 at, u32 n)
{
	struct chunk *c = stage_chunk(s, s->next);
	int ret = 0;

	if (s->t->put)
		ret = stage_copy(s, entry, at, stage_slot(s, s->next) + c->n, n);
	if (!ret)
		c->n += n;
	return ret;
}

static bool stage_interrupted(const struct stage *s)
{
	return s->t->interruptible ? signal_pending(current) : fatal_signal_pending(current);
}

static int stage_bytes(struct stage *s, u32 entry)
{
	const struct dat_rsm_ioent *e = &s->t->e[entry];
	int ret = 0;
	u64 done = 0;
	u32 n;

	while (!ret && done < e->length) {
		if (stage_interrupted(s))
			return -EINTR;
		n = min_t(u64, e->length - done, stage_room(s, e->offset + done, e->width));
		ret = n ? stage_fill(s, entry, done, n) : stage_begin(s, entry, done);
		done += n;
	}
	return ret;
}

static int stage_localmem(struct stage *s, u32 entry)
{
	const struct dat_rsm_ioent *e = &s->t->e[entry];
	struct rsm_obj *obj = rsm_obj_get(s->t->ctx, DAT_RSM_TYPE_LOCALMEM, e->localmem);

	if (!obj)
		return -ESTALE;
	s->lm[entry] = to_rsm_localmem(obj);
	return rsm_localmem_check(s->lm[entry], e, s->t->put);
}

static int stage_entry(struct stage *s, u32 entry)
{
	const struct dat_rsm_ioent *e = &s->t->e[entry];
	int ret = rsm_io_entry_check(s->t->imp, e);

	if (!ret && e->localmem)
		ret = stage_localmem(s, entry);
	if (ret)
		return ret;
	s->checked = entry + 1;
	if (e->length)
		return stage_bytes(s, entry);
	/* An empty entry is done when all earlier entries are done; see also stage_count(). */
	if (!s->filling && s->first == s->next)
		s->t->done++;
	return 0;
}

/*
 * Uncounts the last non-empty entry and the following empty entries after a failed flush, which
 * leaves unknown whether the last put has arrived in the segment.
 */
static void stage_uncount(struct rsm_transfer *t)
{
	while (t->done && !t->e[--t->done].length)
		;
}

/* Posts a flush after the puts and waits until the exporter can see the data of all puts. */
static int stage_finish_puts(struct stage *s)
{
	int ret = stage_post(s, true);
	u32 flush = s->r->posted;

	if (flush == s->begin)
		return ret;
	/* If a put or the flush cannot be posted, disconnect, so that the silent puts complete. */
	if (ret || rsm_conn_flush(s->conn, RSM_CHANNEL_STAGE, flush))
		rsm_conn_hang_up(s->conn);
	ret = stage_retire_until(s, flush);
	s->r->posted++;
	if (ret)
		return ret;
	ret = stage_await(s, flush);
	if (ret)
		stage_uncount(s->t);
	return ret;
}

/* Posts the remaining chunks and waits for all requests in flight, even after an error. */
static int stage_finish(struct stage *s)
{
	int ret, posted;

	stage_close(s);
	if (s->t->put)
		return stage_finish_puts(s);
	posted = stage_post(s, false);
	ret = stage_retire_until(s, s->r->posted);
	return ret ?: posted;
}

static int stage_run(struct stage *s)
{
	int ret = 0, err;
	u32 i;

	for (i = 0; !ret && i < s->t->count; i++)
		ret = stage_entry(s, i);
	err = stage_finish(s);
	for (i = 0; i < s->t->count; i++)
		if (s->lm[i])
			rsm_obj_put(&s->lm[i]->obj);
	/* An error of stage_finish() takes precedence, because it belongs to earlier bytes. */
	return err ?: ret;
}

/*
 * Transfers entries between the caller's memory and a segment, through the stage.  Sets t->done.
 * Context: may sleep.
 */
int rsm_stage_io(struct rsm_transfer *t)
{
	struct rsm_remote *r = t->imp->remote;
	struct stage s = { .t = t, .r = r, .conn = r->conn };
	int ret;

	ret = t->interruptible ? mutex_lock_interruptible(&r->io_lock) :
				 mutex_lock_killable(&r->io_lock);
	if (ret)
		return -EINTR;
	s.begin = r->posted;
	s.first = r->posted;
	s.next = r->posted;
	ret = stage_run(&s);
	mutex_unlock(&r->io_lock);
	if (ret == -ECONNABORTED) {
		/* Disconnect and cut the import, so that later calls fail with the same error. */
		rsm_conn_hang_up(r->conn);
		rsm_obj_cut(&t->imp->obj);
	}
	return ret;
}
