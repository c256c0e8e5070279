// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Endpoints (EPs): the state and the queues, which outlive a connection. */
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/ep/ring.h"
#include "core/ep/srq.h"
#include "core/event/evd.h"
#include "core/mem/lmr.h"
#include "core/trace.h"
#include "core/xport.h"
#include "lib/state.h"

static const u16 ep_next[DAT_EP_NR_STATES] = {
	[DAT_EP_UNCONNECTED]	= BIT(DAT_EP_ACTIVE_PENDING) | BIT(DAT_EP_COMPL_PENDING),
	[DAT_EP_ACTIVE_PENDING]	= BIT(DAT_EP_CONNECTED) | BIT(DAT_EP_DISCONNECTED) |
				  BIT(DAT_EP_UNCONNECTED),
	[DAT_EP_COMPL_PENDING]	= BIT(DAT_EP_CONNECTED) | BIT(DAT_EP_DISCONNECTED) |
				  BIT(DAT_EP_UNCONNECTED),
	[DAT_EP_CONNECTED]	= BIT(DAT_EP_DISC_PENDING) | BIT(DAT_EP_DISCONNECTED),
	[DAT_EP_DISC_PENDING]	= BIT(DAT_EP_DISCONNECTED),
	[DAT_EP_DISCONNECTED]	= BIT(DAT_EP_UNCONNECTED),
};

static const char * const ep_state_names[DAT_EP_NR_STATES] = {
	[DAT_EP_UNCONNECTED]	= "UNCONNECTED",
	[DAT_EP_ACTIVE_PENDING]	= "ACTIVE_PENDING",
	[DAT_EP_COMPL_PENDING]	= "COMPLETION_PENDING",
	[DAT_EP_CONNECTED]	= "CONNECTED",
	[DAT_EP_DISC_PENDING]	= "DISCONNECT_PENDING",
	[DAT_EP_DISCONNECTED]	= "DISCONNECTED",
};

/*
 * Updates ep->open, the connection to which posts may bypass the ring, after a change of one of the
 * conditions below.  Only dat_queue_pump_sq() stops the queue, and it calls this before it returns.
 * ep->lock is held.
 */
void dat_ep_update_open(struct dat_ep *ep)
{
	struct dat_conn *conn = ep->conn;

	lockdep_assert_held(&ep->lock);
	if (ep->state != DAT_EP_CONNECTED || ep->dead || !ep->sq.kernel || !conn ||
	    dat_conn_is_closing(conn) || conn->unordered || dat_queue_stopped(conn))
		conn = NULL;
	ep->open = conn;
}

/* No other function writes ep->state.  ep->lock is held. */
void dat_ep_set_state(struct dat_ep *ep, enum dat_ep_state state)
{
	lockdep_assert_held(&ep->lock);
	if (!dat_state_may(ep_next, ep->state, state))
		return;
	trace_dat_ep_state(ep, state);
	ep->state = state;
	dat_ep_update_open(ep);
	dat_epring_set_state(&ep->ring, state);
}

/*
 * Makes a new connection the EP's current one.  @state: DAT_EP_ACTIVE_PENDING or
 * DAT_EP_COMPL_PENDING.  After a success conn->held is set.  Fails with -EISCONN if the EP is not
 * UNCONNECTED, is being modified, or was modified after @conn was allocated; with -ENODEV if it is
 * being freed.
 */
int dat_ep_claim(struct dat_ep *ep, enum dat_ep_state state, struct dat_conn *conn)
{
	int ret = 0;

	spin_lock_bh(&ep->lock);
	if (ep->dead) {
		ret = -ENODEV;
	} else if (ep->state != DAT_EP_UNCONNECTED || conn->version != ep->version ||
		   ep->sq.frozen) {
		ret = -EISCONN;
	} else {
		conn->held = true;
		ep->conn = conn;
		WRITE_ONCE(ep->peer_busy, false);
		dat_ep_set_state(ep, state);
	}
	spin_unlock_bh(&ep->lock);
	return ret;
}

/*
 * Undoes dat_ep_claim() after the transport could not start the connection.  Returns true: the
 * caller owns the connection again; or false: the connection was closed meanwhile, and its teardown
 * will report an event.
 */
bool dat_ep_unclaim(struct dat_ep *ep)
{
	bool mine;

	spin_lock_bh(&ep->lock);
	mine = !dat_conn_is_closing(ep->conn);
	if (mine) {
		ep->conn = NULL;
		dat_ep_set_state(ep, DAT_EP_UNCONNECTED);
	}
	spin_unlock_bh(&ep->lock);
	return mine;
}

/*
 * Drops ep->lock for a moment, between two slices of work: the state of the EP may change.
 * Context: ep->lock held, no other lock; may sleep.
 */
void dat_ep_cond_resched(struct dat_ep *ep)
{
	spin_unlock_bh(&ep->lock);
	cond_resched();
	spin_lock_bh(&ep->lock);
}

/*
 * Ends a connection or its establishment; if @graceful, after all posted requests have completed.
 * An abrupt disconnect ends a graceful one that is in progress.  Context: any but hard interrupt.
 * Returns 0 even if the connection has ended already.  Fails with -EISCONN if the EP is
 * UNCONNECTED.
 */
int dat_ep_disconnect(struct dat_ep *ep, bool graceful)
{
	int ret = 0;

	spin_lock_bh(&ep->lock);
	if (ep->state == DAT_EP_UNCONNECTED)
		ret = -EISCONN;
	if (!ep->conn)
		goto out;
	if (ep->state == DAT_EP_CONNECTED)
		dat_ep_set_state(ep, DAT_EP_DISC_PENDING);
	if (ep->state == DAT_EP_DISC_PENDING && graceful)
		dat_conn_drain(ep->conn);
	else
		dat_conn_close(ep->conn, DAT_EV_DISCONNECTED);
out:
	spin_unlock_bh(&ep->lock);
	return ret;
}

/* Flushes the rings of a DISCONNECTED EP.  Drops ep->lock for a moment after each slice. */
static void ep_flush(struct dat_ep *ep)
{
	struct dat_flush f;

	lockdep_assert_held(&ep->lock);
	dat_queue_flush_begin(ep, &f);
	while (ep->state == DAT_EP_DISCONNECTED && dat_queue_flush(ep, &f))
		dat_ep_cond_resched(ep);
}

/*
 * Makes a DISCONNECTED endpoint UNCONNECTED, so that it can connect again; leaves an UNCONNECTED
 * one as it is.  May sleep.  Fails with -EISCONN in other states, or if the producer's index of a
 * queue is out of range, which cannot be repaired.
 */
int dat_ep_reset(struct dat_ep *ep)
{
	int ret = 0;

	spin_lock_bh(&ep->lock);
	/* Entries that were posted before the reset belong to the old connection: flush them. */
	if (ep->state == DAT_EP_DISCONNECTED)
		ep_flush(ep);
	if (ep->sq.broken || ep->rq.broken) {
		ret = -EISCONN;
	} else if (ep->state == DAT_EP_DISCONNECTED) {
		dat_queue_disarm(&ep->sq);
		dat_queue_disarm(&ep->rq);
		memset(&ep->local, 0, sizeof(ep->local));
		memset(&ep->remote, 0, sizeof(ep->remote));
		ep->read_in = ep->attr.read_in;
		ep->read_out = ep->attr.read_out;
		ep->rq.peak = 0;
		dat_epring_set_pd(&ep->ring, NULL, 0);
		dat_ep_set_state(ep, DAT_EP_UNCONNECTED);
	} else if (ep->state != DAT_EP_UNCONNECTED) {
		ret = -EISCONN;
	}
	spin_unlock_bh(&ep->lock);
	return ret;
}

/* Pumps a slice.  Returns true if the receive queue may have more entries. */
static bool ep_pump(struct dat_ep *ep, struct dat_queue *q)
{
	struct dat_conn *conn = ep->conn;

	lockdep_assert_held(&ep->lock);
	if (!conn)
		return false;
	if (q == &ep->rq)
		return conn->takes_recv && dat_queue_pump_rq(conn);
	/* Requests wait for an established connection: dat_conn_established() pumps them. */
	if (dat_ep_posting(ep->state))
		dat_queue_pump_sq(conn);
	return false;
}

/*
 * Processes a queue after each post of a kernel consumer, so few entries are in the ring and no
 * slices are needed.  ep->lock is held; never sleeps.
 */
void dat_ep_kick_locked(struct dat_ep *ep, struct dat_queue *q)
{
	struct dat_flush f;

	if (ep->state != DAT_EP_DISCONNECTED) {
		ep_pump(ep, q);
		return;
	}
	dat_queue_flush_begin(ep, &f);
	while (dat_queue_flush(ep, &f))
		;
}

static void ep_process(struct dat_ep *ep, struct dat_queue *q, bool kicked)
{
	u32 slices = 0;
	bool polled;

	spin_lock_bh(&ep->lock);
	if (kicked)
		dat_queue_count_kick(q);
	if (ep->state == DAT_EP_DISCONNECTED)
		ep_flush(ep);
	else
		while (ep_pump(ep, q) && dat_queue_slice(q, &slices))
			dat_ep_cond_resched(ep);
	polled = q == &ep->sq && ep->conn && dat_busy_joined(ep->conn);
	spin_unlock_bh(&ep->lock);
	if (polled)
		dat_busy_posted(ep);
}

/* Pumps the entries of a queue, or flushes them if the EP is DISCONNECTED.  May sleep. */
void dat_ep_process(struct dat_ep *ep, struct dat_queue *q)
{
	ep_process(ep, q, false);
}

/* Counts a kick of a queue, and processes the queue.  May sleep. */
void dat_ep_kick(struct dat_ep *ep, struct dat_queue *q)
{
	ep_process(ep, q, true);
}

/*
 * Each post holds ep->lock.  So once ep->dead and ep->freed are set, new posts are refused, and no
 * event of an earlier post is queued any more.
 */
static int ep_may_free(struct dat_obj *obj)
{
	struct dat_ep *ep = to_dat_ep(obj);

	spin_lock_bh(&ep->lock);
	ep->dead = true;
	ep->freed = true;
	dat_ep_update_open(ep);
	spin_unlock_bh(&ep->lock);
	return 0;
}

static void ep_begin_shutdown(struct dat_obj *obj)
{
	struct dat_ep *ep = to_dat_ep(obj);

	spin_lock_bh(&ep->lock);
	ep->dead = true;
	dat_ep_update_open(ep);
	if (ep->conn)
		dat_conn_close(ep->conn, DAT_EV_DISCONNECTED);
	spin_unlock_bh(&ep->lock);
}

static void ep_shutdown(struct dat_obj *obj)
{
	struct dat_ep *ep = to_dat_ep(obj);

	ep_begin_shutdown(obj);
	wait_var_event(&ep->nconns, !atomic_read(&ep->nconns));
	/* This waits for a dat_ep_modify() that began before ep->dead was set. */
	mutex_lock(&obj->ia->resize_lock);
	dat_queue_forget(ep);
	mutex_unlock(&obj->ia->resize_lock);
	dat_ep_drop_parents(ep);
}

static void ep_release(struct dat_obj *obj)
{
	dat_epring_free(&to_dat_ep(obj)->ring);
	dat_epring_free(&to_dat_ep(obj)->next);
}

static void ep_show(struct seq_file *m, struct dat_obj *obj)
{
	struct dat_ep *ep = to_dat_ep(obj);

	spin_lock_bh(&ep->lock);
	seq_printf(m, " state=%s sq_entries=%u sq_head=%u sq_done=%u sq_bad=%llu sq_armed=%u",
		   ep_state_names[ep->state], ep->sq.entries, ep->sq.head, ep->sq.done,
		   ep->sq.bad, ep->sq.armed);
	seq_printf(m, " rq_entries=%u rq_head=%u rq_done=%u rq_bad=%llu rq_armed=%u srq=%u",
		   ep->rq.entries, ep->rq.head, ep->rq.done, ep->rq.bad, ep->rq.armed,
		   ep->srq ? ep->srq->obj.id : 0);
	seq_printf(m, " inflight=%u conns=%d", ep->conn ? ep->conn->inflight : 0,
		   atomic_read(&ep->nconns));
	seq_printf(m, " requests=%llu receives=%llu kicks=%llu completed=%llu failed=%llu flushed=%llu malformed=%llu",
		   ep->sq.posts, ep->rq.posts, ep->sq.kicks + ep->rq.kicks, ep->completed,
		   ep->failed, ep->flushed, ep->sq.bad + ep->rq.bad);
	spin_unlock_bh(&ep->lock);
}

const struct dat_obj_ops dat_ep_ops = {
	.name		= "ep",
	.size		= sizeof(struct dat_ep),
	.charge		= true,
	.may_free	= ep_may_free,
	.begin_shutdown	= ep_begin_shutdown,
	.shutdown	= ep_shutdown,
	.release	= ep_release,
	.show		= ep_show,
};
