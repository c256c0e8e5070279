// SPDX-License-Identifier: GPL-2.0
/*
 * Transfers of DAT_IOC_RSM_IO across an adapter.
 *
 * They go through the stage, kernel memory of the connection in slots: what is put is
 * copied there first, what is got is copied from there.  So user memory need not be pinned,
 * and no page fault is taken while the segment or anything of the adapter is held.
 *
 * What adjoins in the segment is one request, however many entries it is of: a request costs
 * a message on the wire and its answer, a copy of a few bytes costs nothing beside that.
 *
 * Puts are posted in groups, the last of which tells how all have gone: all that is posted is
 * told of without anything being waited for.  For user memory may take for ever, and while
 * something is untold the exporter waits that rebinds.
 */
#include <linux/math.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "rsm/ring.h"

/**
 * struct chunk - bytes that adjoin in the segment, in a slot of the stage
 * @offset: in the segment
 * @n: bytes
 * @entry: the first of them is of this entry
 * @at: and is this byte of it
 */
struct chunk {
	u64	offset;
	u64	at;
	u32	entry;
	u32	n;
};

/**
 * struct stage - the stage, during a call
 * @t: the call
 * @r: of its import
 * @conn: likewise
 * @begin: sequence number of the first chunk
 * @first: and of the oldest that was not retired
 * @next: and of the one that is filled next; those from r->posted on were not posted yet
 * @checked: entries so far
 * @filling: @next has been begun
 * @err: of the first chunk that has failed: those behind it count for nothing
 * @chunk: by sequence number
 * @lm: local memory of entries, reference held, or NULL: user memory, or not begun
 */
struct stage {
	struct rsm_transfer	*t;
	struct rsm_remote	*r;
	struct rsm_conn		*conn;
	u32			begin;
	u32			first;
	u32			next;
	u32			checked;
	bool			filling;
	int			err;
	struct chunk		chunk[RSM_STAGE_SLOTS];
	struct rsm_localmem	*lm[DAT_RSM_MAX_IO];
};

/* Upcall of the connection; one at a time. */
void rsm_stage_done(struct rsm_conn *conn, u32 seq, bool ok)
{
	struct rsm_import *imp = conn->owner;
	struct rsm_remote *r = imp->remote;

	/* Silent ones before it have succeeded, be it the first that has not. */
	if (!r->failed)
		smp_store_release(&r->done, seq + ok);	/* what was read is there */
	if (!ok)
		smp_store_release(&r->failed, true);	/* and @done is final */
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

/* Bytes of an entry, from byte @at on: to @buf if they are put, else from there. */
static int stage_copy(const struct stage *s, u32 entry, u64 at, void *buf, u32 n)
{
	u64 addr = s->t->e[entry].addr + at;
	void __user *user = (void __user *)addr;

	if (s->lm[entry])
		return rsm_localmem_copy(s->lm[entry], addr, buf, n, s->t->put);
	if (s->t->put ? copy_from_user(buf, user, n) : copy_to_user(user, buf, n))
		return DAT_RSM_BAD_ADDR;
	return DAT_RSM_OK;
}

/* Retiring. */

static bool stage_reached(const struct stage *s, u32 seq)
{
	u32 done = smp_load_acquire(&s->r->done);	/* see rsm_stage_done() */

	return (s32)(done - seq) > 0;
}

static bool stage_decided(const struct stage *s, u32 seq)
{
	/* With @failed, @done is final. */
	return stage_reached(s, seq) || smp_load_acquire(&s->r->failed) ||
	       READ_ONCE(s->conn->lost);
}

/*
 * Whether it has succeeded.  A peer that says neither yes nor no is given up by the heartbeat
 * after a while; who is killed does not wait for that.
 */
static int stage_await(const struct stage *s, u32 seq)
{
	if (wait_event_killable(s->conn->wq, stage_decided(s, seq))) {
		/* What is under way fails then, without the peer's help. */
		rsm_conn_hang_up(s->conn);
		wait_event(s->conn->wq, stage_decided(s, seq));
	}
	return stage_reached(s, seq) ? DAT_RSM_OK : DAT_RSM_CONN_ABORTED;
}

/* An entry is done, and so are those of no bytes behind it.  Returns how many. */
static u32 stage_count(struct stage *s, u32 entry)
{
	u32 n = 1;

	while (entry + n < s->checked && !s->t->e[entry + n].length)
		n++;
	s->t->done += n;
	return n;
}

/* The oldest chunk is complete: what was got is copied, and the entries that end in it count. */
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
		ret = s->t->put ? DAT_RSM_OK :
		      stage_copy(s, i, at, stage_slot(s, s->first) + done, n);
		if (ret)
			return ret;
		at += n;
		if (at == length) {
			i += stage_count(s, i);
			at = 0;
		}
	}
	return DAT_RSM_OK;
}

/* The oldest chunk, once it is complete. */
static int stage_retire(struct stage *s)
{
	int ret = stage_await(s, s->first);

	if (!s->err)
		s->err = ret ?: stage_take(s);
	s->first++;
	return s->err;
}

/* All chunks before @seq. */
static int stage_retire_until(struct stage *s, u32 seq)
{
	while (s->first != seq)
		stage_retire(s);
	return s->err;
}

/* Posting. */

static int stage_post_one(struct stage *s, bool silent)
{
	u32 seq = s->r->posted;
	const struct chunk *c = stage_chunk(s, seq);
	struct rsm_request req = {
		.put = s->t->put, .silent = silent, .offset = c->offset,
		.local = stage_triplet(s, seq, c->n), .channel = RSM_CHANNEL_STAGE, .seq = seq,
	};

	if (rsm_conn_rdma(s->conn, &req))
		return DAT_RSM_CONN_ABORTED;
	s->r->posted++;
	return DAT_RSM_OK;
}

/* What was filled goes to the adapter.  The last one tells, unless @more is posted at once. */
static int stage_post(struct stage *s, bool more)
{
	int ret = DAT_RSM_OK;

	while (!ret && s->r->posted != s->next)
		ret = stage_post_one(s, s->t->put && (more || s->r->posted + 1 != s->next));
	return ret;
}

/* Filling. */

/* Bytes at @offset of the segment for which what is being filled has room; whole elements. */
static u32 stage_room(struct stage *s, u64 offset, u32 width)
{
	const struct chunk *c = stage_chunk(s, s->next);

	/* What is aligned stays aligned in its request, or it might be torn. */
	if (!s->filling || c->offset + c->n != offset || c->offset & (width - 1))
		return 0;
	return round_down(RSM_SLOT_SIZE - c->n, width);
}

/* What is being filled is whole.  Returns true if it is not worth to wait for others. */
static bool stage_close(struct stage *s)
{
	u32 n = stage_chunk(s, s->next)->n;

	if (!s->filling)
		return false;
	s->filling = false;
	s->next += !!n;
	return n == RSM_SLOT_SIZE || s->next - s->r->posted == RSM_STAGE_GROUP;
}

/* Begin another chunk, at byte @at of an entry. */
static int stage_begin(struct stage *s, u32 entry, u64 at)
{
	int ret = stage_close(s) ? stage_post(s, false) : DAT_RSM_OK;

	if (!ret && s->next - s->first == RSM_STAGE_SLOTS)
		ret = stage_retire(s);
	if (ret)
		return ret;
	*stage_chunk(s, s->next) = (struct chunk) {
		.offset = s->t->e[entry].offset + at, .entry = entry, .at = at,
	};
	s->filling = true;
	return DAT_RSM_OK;
}

/* @n more bytes, for which there is room. */
static int stage_fill(struct stage *s, u32 entry, u64 at, u32 n)
{
	struct chunk *c = stage_chunk(s, s->next);
	int ret = DAT_RSM_OK;

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
	int ret = DAT_RSM_OK;
	u64 done = 0;
	u32 n;

	while (!ret && done < e->length) {
		if (stage_interrupted(s))
			return DAT_RSM_INTERRUPTED;
		n = min_t(u64, e->length - done, stage_room(s, e->offset + done, e->width));
		ret = n ? stage_fill(s, entry, done, n) : stage_begin(s, entry, done);
		done += n;
	}
	return ret;
}

/* Entries. */

static int stage_localmem(struct stage *s, u32 entry)
{
	const struct dat_rsm_ioent *e = &s->t->e[entry];
	struct rsm_obj *obj = rsm_obj_get(s->t->ctx, DAT_RSM_TYPE_LOCALMEM, e->localmem);

	if (!obj)
		return DAT_RSM_BAD_LOCALMEM;
	s->lm[entry] = to_rsm_localmem(obj);
	return rsm_localmem_check(s->lm[entry], e, s->t->put);
}

/* An entry of no bytes is done when those before it are; see stage_count(). */
static int stage_nothing(struct stage *s)
{
	if (!s->filling && s->first == s->next)
		s->t->done++;
	return DAT_RSM_OK;
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
	return e->length ? stage_bytes(s, entry) : stage_nothing(s);
}

/* That it can't be said whether the last bytes are there makes their entry one that has failed. */
static void stage_doubt(struct rsm_transfer *t)
{
	while (t->done && !t->e[--t->done].length)
		;
}

/* What was put is there, for whoever looks. */
static int stage_finish_puts(struct stage *s)
{
	int ret = stage_post(s, true);
	u32 flush = s->r->posted;

	if (flush == s->begin)
		return ret;
	/* Without it silent ones have nobody to tell of them, but the end. */
	if (ret || rsm_conn_flush(s->conn, RSM_CHANNEL_STAGE, flush))
		rsm_conn_hang_up(s->conn);
	ret = stage_retire_until(s, flush);
	s->r->posted++;
	if (ret)
		return ret;
	ret = stage_await(s, flush);
	if (ret)
		stage_doubt(s->t);
	return ret;
}

static int stage_finish_gets(struct stage *s)
{
	int posted = stage_post(s, false), ret;

	ret = stage_retire_until(s, s->r->posted);
	return ret ?: posted;
}

/* What is under way comes to its end, whatever has become of the rest. */
static int stage_finish(struct stage *s)
{
	stage_close(s);
	return s->t->put ? stage_finish_puts(s) : stage_finish_gets(s);
}

static void stage_put(struct stage *s)
{
	unsigned int i;

	for (i = 0; i < s->t->count; i++)
		if (s->lm[i])
			rsm_obj_put(&s->lm[i]->obj);
}

static int stage_run(struct stage *s)
{
	int ret = DAT_RSM_OK, err;
	u32 i;

	for (i = 0; !ret && i < s->t->count; i++)
		ret = stage_entry(s, i);
	err = stage_finish(s);
	stage_put(s);
	/* Those before a bad entry come first, and with them their error. */
	return err ?: ret;
}

/**
 * rsm_stage_io() - transfer by way of the stage
 * @t: the call
 *
 * Context: sleeps.  Return: enum dat_rsm_err.
 */
int rsm_stage_io(struct rsm_transfer *t)
{
	struct rsm_remote *r = t->imp->remote;
	struct stage s = { .t = t, .r = r, .conn = r->conn };
	int ret;

	ret = t->interruptible ? mutex_lock_interruptible(&r->io_lock) :
				 mutex_lock_killable(&r->io_lock);
	if (ret)
		return DAT_RSM_INTERRUPTED;
	s.begin = r->posted;
	s.first = r->posted;
	s.next = r->posted;
	ret = stage_run(&s);
	mutex_unlock(&r->io_lock);
	if (ret == DAT_RSM_CONN_ABORTED) {
		/* Whoever asks next is told so, too. */
		rsm_conn_hang_up(r->conn);
		rsm_obj_cut(&t->imp->obj);
	}
	return ret;
}
