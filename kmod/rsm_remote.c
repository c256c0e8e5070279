// SPDX-License-Identifier: GPL-2.0
/*
 * The importer's side of connections: connecting, and the transfers of DAT_IOC_RSM_IO.
 *
 * These go through the stage, kernel memory of the connection in slots: what is put is
 * copied there first, what is got is copied from there.  So user memory need not be pinned,
 * and no page fault is taken while the segment or anything of the adapter is held.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "rsm_ring.h"

#define CONNECT_US	(5 * USEC_PER_SEC)
#define PROBE_US	(2 * USEC_PER_SEC)

/* Upcalls. */

static void remote_told(struct rsm_conn *conn, bool single, u32 events)
{
	struct rsm_import *imp = conn->owner;

	if (single)
		rsm_event_add(&imp->obj, false);
	rsm_event_add_many(&imp->obj, events);
}

static void remote_lost(struct rsm_conn *conn)
{
	struct rsm_import *imp = conn->owner;

	rsm_obj_cut(&imp->obj);
}

static const struct rsm_conn_ops remote_ops = {
	.moves	= true,
	.told	= remote_told,
	.lost	= remote_lost,
};

static void probe_told(struct rsm_conn *conn, bool single, u32 events)
{
}

static void probe_lost(struct rsm_conn *conn)
{
}

static const struct rsm_conn_ops probe_ops = {
	.moves	= true,
	.told	= probe_told,
	.lost	= probe_lost,
};

static void remote_stage_done(struct rsm_conn *conn, u32 seq, bool ok)
{
	struct rsm_import *imp = conn->owner;
	struct rsm_remote *r = imp->remote;

	if (ok)
		smp_store_release(&r->done, seq + 1);	/* what was read is there */
	else
		WRITE_ONCE(r->failed, true);
	wake_up_all(&conn->wq);
}

/* Connecting. */

static u8 greeting_groups(struct rsm_greeting *g)
{
	const struct group_info *info = current_cred()->group_info;
	u32 n = min_t(u32, info->ngroups, RSM_GREETING_GROUPS), i;

	for (i = 0; i < n; i++)
		g->groups[i] = cpu_to_be32(from_kgid_munged(&init_user_ns, info->gid[i]));
	return n;
}

static void greeting_fill(struct rsm_greeting *g, u32 own, u32 node, u32 segid, u32 perm)
{
	*g = (struct rsm_greeting) {
		.magic = cpu_to_be32(RSM_MAGIC), .version = RSM_VERSION, .endian = RSM_ENDIAN,
		.node = cpu_to_be32(own), .to = cpu_to_be32(node),
		.segid = cpu_to_be32(segid), .perm = cpu_to_be32(perm),
		.uid = cpu_to_be32(from_kuid_munged(&init_user_ns, current_euid())),
		.gid = cpu_to_be32(from_kgid_munged(&init_user_ns, current_egid())),
		.flags = capable(CAP_DAC_OVERRIDE) ? RSM_GREETING_CAPABLE : 0,
	};
	g->ngroups = greeting_groups(g);
}

static bool conn_decided(struct rsm_conn *conn)
{
	bool decided;

	spin_lock_bh(&conn->lock);
	decided = conn->up || conn->lost;
	spin_unlock_bh(&conn->lock);
	return decided;
}

static int conn_begin(struct rsm_conn *conn, struct rsm_greeting *g, u32 timeout_us)
{
	struct rsm_ctlr *ctlr = conn->ctlr;
	struct sockaddr_storage addr;
	DAT_RETURN rc;
	int ret;

	ret = rsm_node_addr(ctlr, be32_to_cpu(g->to), &addr);
	if (ret)
		return ret;
	/* Nobody is told anything before there is a request. */
	ret = rsm_conn_make_ep(conn, ctlr->pz, DAT_EP_KERNEL_PORT);
	if (ret)
		return ret;
	rc = kdat_ep_connect(conn->ep, (struct sockaddr *)&addr, READ_ONCE(rsm_port), timeout_us,
			     sizeof(*g), g, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (DAT_GET_TYPE(rc) == DAT_INVALID_ADDRESS)
		return DAT_RSM_UNREACHABLE;
	return rc ? rsm_dat_error(rc) : DAT_RSM_OK;
}

/* What fails is undone by rsm_conn_end(). */
static int conn_connect(struct rsm_conn *conn, struct rsm_greeting *g, u32 timeout_us)
{
	int ret = conn_begin(conn, g, timeout_us);

	if (ret)
		return ret;
	if (wait_event_interruptible(conn->wq, conn_decided(conn)))
		return DAT_RSM_INTERRUPTED;
	spin_lock_bh(&conn->lock);
	/* That it was there for a moment is good enough: the import is cut. */
	if (conn->been_up)
		ret = DAT_RSM_OK;
	else
		ret = conn->err == DAT_RSM_CONN_ABORTED ? DAT_RSM_UNREACHABLE : conn->err;
	spin_unlock_bh(&conn->lock);
	return ret;
}

static struct rsm_remote *remote_alloc(void)
{
	struct rsm_remote *r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);

	if (r)
		mutex_init(&r->io_lock);
	return r;
}

static int remote_open(struct rsm_import *imp, struct rsm_node *node,
		       const struct dat_rsm_connect *arg)
{
	struct rsm_remote *r = imp->remote;
	struct rsm_greeting g;
	int ret;

	ret = rsm_ctlr_get(node, arg->ctlr, &r->ctlr);
	if (ret)
		return ret;
	ret = rsm_conn_make(r->ctlr, &remote_ops, imp, RSM_STAGE_SLOTS * RSM_SLOT_SIZE,
			    &r->conn);
	if (ret)
		goto err_ctlr;
	r->conn->done[RSM_CHANNEL_STAGE] = remote_stage_done;
	greeting_fill(&g, node->id, arg->node, arg->segid, arg->perm);
	ret = conn_connect(r->conn, &g, CONNECT_US);
	if (ret)
		goto err_conn;
	imp->length = r->conn->length;
	return DAT_RSM_OK;

err_conn:
	rsm_conn_end(r->conn);
	rsm_conn_put(r->conn);
err_ctlr:
	rsm_ctlr_put(r->ctlr);
	return ret;
}

/**
 * rsm_remote_connect() - connect an import to its segment
 * @imp: set up, not published
 * @node: its node
 * @arg: which segment
 *
 * Context: sleeps, until the other side has answered.  Return: enum dat_rsm_err; to be
 * undone by rsm_remote_end() and rsm_remote_release().
 */
int rsm_remote_connect(struct rsm_import *imp, struct rsm_node *node,
		       const struct dat_rsm_connect *arg)
{
	int ret;

	imp->remote = remote_alloc();
	if (!imp->remote)
		return DAT_RSM_NO_MEM;
	ret = remote_open(imp, node, arg);
	if (ret) {
		kfree(imp->remote);
		imp->remote = NULL;
	}
	return ret;
}

/* The import was stopped: nobody is told anything any more.  Context: sleeps. */
void rsm_remote_end(struct rsm_import *imp)
{
	struct rsm_remote *r = imp->remote;
	struct rsm_ctx *ctx = imp->obj.ctx;

	/* What was posted to the exporter shall arrive. */
	rsm_conn_settle(r->conn, test_bit(0, &ctx->ended) ? ctx->settle_by : jiffies + HZ);
	rsm_conn_end(r->conn);
	rsm_ring_end(r->conn);
	rsm_ctlr_put(r->ctlr);
}

/* The last reference is gone. */
void rsm_remote_release(struct rsm_import *imp)
{
	rsm_ring_free(imp->remote->conn);
	rsm_conn_put(imp->remote->conn);
	kfree(imp->remote);
}

int rsm_remote_probe(struct rsm_ctlr *ctlr, u32 node)
{
	struct rsm_greeting g;
	struct rsm_conn *conn;
	int ret;

	ret = rsm_conn_make(ctlr, &probe_ops, NULL, 0, &conn);
	if (ret)
		return ret;
	/* Nobody has a segment of this id, but who says so is there. */
	greeting_fill(&g, ctlr->node->id, node, 0, 0);
	ret = conn_connect(conn, &g, PROBE_US);
	/* RSM listens only while somebody has a use for it. */
	if (conn->refused)
		ret = DAT_RSM_NOT_PUBLISHED;
	rsm_conn_end(conn);
	rsm_conn_put(conn);
	return ret == DAT_RSM_NOT_PUBLISHED ? DAT_RSM_OK : ret;
}

/* An event for the exporter. */
int rsm_remote_post(struct rsm_import *imp, bool single)
{
	return rsm_conn_tell(imp->remote->conn, single) ? DAT_RSM_CONN_ABORTED : DAT_RSM_OK;
}

/* Transfers. */

/**
 * struct chunk - a slot of the stage in use
 * @n: bytes
 * @addr: where they go, as in the entry
 * @lm: local memory, reference held, or NULL: user memory
 * @last: the entry ends with it
 */
struct chunk {
	u32			n;
	u64			addr;
	struct rsm_localmem	*lm;
	bool			last;
};

/**
 * struct stage - the stage, during a call
 * @t: the call
 * @r: of its import
 * @conn: likewise
 * @first: sequence number of the oldest chunk that was not retired
 * @err: of the first chunk that has failed: those behind it count for nothing
 * @chunk: by sequence number
 */
struct stage {
	struct rsm_transfer	*t;
	struct rsm_remote	*r;
	struct rsm_conn		*conn;
	u32			first;
	int			err;
	struct chunk		chunk[RSM_STAGE_SLOTS];
};

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

static bool stage_reached(const struct stage *s, u32 seq)
{
	u32 done = smp_load_acquire(&s->r->done);	/* see remote_stage_done() */

	return (s32)(done - seq) > 0;
}

static bool stage_decided(const struct stage *s, u32 seq)
{
	return stage_reached(s, seq) || READ_ONCE(s->r->failed) || READ_ONCE(s->conn->lost);
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

static int chunk_copy(const struct chunk *c, void *slot, bool put)
{
	void __user *user = (void __user *)c->addr;

	if (c->lm)
		return rsm_localmem_copy(c->lm, c->addr, slot, c->n, put);
	if (put ? copy_from_user(slot, user, c->n) : copy_to_user(user, slot, c->n))
		return DAT_RSM_BAD_ADDR;
	return DAT_RSM_OK;
}

/* The oldest one, once it is complete. */
static int stage_retire(struct stage *s)
{
	struct chunk *c = stage_chunk(s, s->first);
	DAT_LMR_TRIPLET seg = stage_triplet(s, s->first, c->n);
	int ret = stage_await(s, s->first);

	if (!ret && !s->t->put && !s->err) {
		kdat_lmr_sync_rdma_write(s->conn->ia, &seg, 1);
		ret = chunk_copy(c, stage_slot(s, s->first), false);
	}
	if (!s->err)
		s->err = ret;
	if (!s->err && c->last)
		s->t->done++;
	if (c->lm)
		rsm_obj_put(&c->lm->obj);
	c->lm = NULL;
	s->first++;
	return s->err;
}

static int stage_retire_all(struct stage *s)
{
	while (s->first != s->r->posted)
		stage_retire(s);
	return s->err;
}

static int stage_post(struct stage *s, u64 offset, u32 n)
{
	u32 seq = s->r->posted;
	DAT_LMR_TRIPLET seg = stage_triplet(s, seq, n);

	if (rsm_conn_rdma(s->conn, s->t->put, offset, &seg, RSM_CHANNEL_STAGE, seq))
		return DAT_RSM_CONN_ABORTED;
	s->r->posted++;
	return DAT_RSM_OK;
}

static bool stage_interrupted(const struct stage *s)
{
	return s->t->interruptible ? signal_pending(current) : fatal_signal_pending(current);
}

static int stage_chunk_begin(struct stage *s, const struct dat_rsm_ioent *e, u64 done, u32 n,
			     struct rsm_localmem *lm)
{
	u32 seq = s->r->posted;
	struct chunk *c = stage_chunk(s, seq);
	int ret = DAT_RSM_OK;

	*c = (struct chunk) { .n = n, .addr = e->addr + done, .last = done + n == e->length };
	c->lm = lm;
	if (s->t->put)
		ret = chunk_copy(c, stage_slot(s, seq), true);
	if (!ret)
		ret = stage_post(s, e->offset + done, n);
	if (ret)
		c->lm = NULL;
	else if (lm)
		kref_get(&lm->obj.ref);
	return ret;
}

static int stage_chunks(struct stage *s, const struct dat_rsm_ioent *e, struct rsm_localmem *lm)
{
	int ret = DAT_RSM_OK;
	u64 done = 0;
	u32 n;

	for (; !ret && done < e->length; done += n) {
		n = min_t(u64, e->length - done, RSM_SLOT_SIZE);
		if (stage_interrupted(s))
			return DAT_RSM_INTERRUPTED;
		if (s->r->posted - s->first == RSM_STAGE_SLOTS)
			ret = stage_retire(s);
		if (!ret)
			ret = stage_chunk_begin(s, e, done, n, lm);
	}
	return ret;
}

static int stage_local(struct stage *s, const struct dat_rsm_ioent *e)
{
	struct rsm_obj *obj = rsm_obj_get(s->t->ctx, DAT_RSM_TYPE_LOCALMEM, e->localmem);
	int ret;

	if (!obj)
		return DAT_RSM_BAD_LOCALMEM;
	ret = rsm_localmem_check(to_rsm_localmem(obj), e, s->t->put);
	if (!ret)
		ret = stage_chunks(s, e, to_rsm_localmem(obj));
	rsm_obj_put(obj);
	return ret;
}

/* An entry of no bytes is done when those before it are. */
static int stage_nothing(struct stage *s)
{
	int ret = stage_retire_all(s);

	if (!ret)
		s->t->done++;
	return ret;
}

static int stage_entry(struct stage *s, const struct dat_rsm_ioent *e)
{
	int ret = rsm_io_entry_check(s->t->imp, e);

	if (ret)
		return ret;
	if (e->localmem)
		ret = stage_local(s, e);
	else
		ret = stage_chunks(s, e, NULL);
	return ret || e->length ? ret : stage_nothing(s);
}

/* What was put is there, for whoever looks. */
static int stage_flush(struct stage *s)
{
	u32 seq = s->r->posted;

	if (rsm_conn_flush(s->conn, RSM_CHANNEL_STAGE, seq))
		return DAT_RSM_CONN_ABORTED;
	s->r->posted++;
	s->first = s->r->posted;
	return stage_await(s, seq);
}

/* That it can't be said whether the last one is there makes it the one that has failed. */
static int stage_flush_puts(struct stage *s)
{
	int ret = s->t->put && s->t->done ? stage_flush(s) : DAT_RSM_OK;

	if (ret)
		s->t->done--;
	return ret;
}

static int stage_run(struct stage *s)
{
	int ret = DAT_RSM_OK, err;
	u32 i;

	for (i = 0; !ret && i < s->t->count; i++)
		ret = stage_entry(s, &s->t->e[i]);
	err = stage_retire_all(s);
	if (!err)
		err = stage_flush_puts(s);
	/* Those before a bad entry come first, and with them their error. */
	return err ?: ret;
}

/**
 * rsm_remote_io() - transfer by way of the stage
 * @t: the call
 *
 * Context: sleeps.  Return: enum dat_rsm_err.
 */
int rsm_remote_io(struct rsm_transfer *t)
{
	struct rsm_remote *r = t->imp->remote;
	struct stage s = { .t = t, .r = r, .conn = r->conn };
	int ret;

	ret = t->interruptible ? mutex_lock_interruptible(&r->io_lock) :
				 mutex_lock_killable(&r->io_lock);
	if (ret)
		return DAT_RSM_INTERRUPTED;
	s.first = r->posted;
	ret = stage_run(&s);
	mutex_unlock(&r->io_lock);
	if (ret == DAT_RSM_CONN_ABORTED) {
		/* Whoever asks next is told so, too. */
		rsm_conn_hang_up(r->conn);
		rsm_obj_cut(&t->imp->obj);
	}
	return ret;
}
