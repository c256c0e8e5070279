// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Connections of an endpoint.  A connection exists from connect or accept until the end of its
 * teardown.
 *
 * conn_close() is the only function that begins a teardown; any context but hard interrupt may call
 * it.  conn_close() queues conn_close_work(), which does the teardown.  While dat_conn_is_closing()
 * is true, no work request of the consumer is posted, and the CM's events only let the teardown
 * proceed.
 */
#include <linux/jiffies.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/psp.h"
#include "core/ep/queue.h"
#include "core/ep/ring.h"
#include "core/ep/srq.h"
#include "core/event/evd.h"
#include "core/face.h"
#include "core/mem/rmr.h"
#include "core/peer.h"
#include "core/trace.h"
#include "core/xport.h"
#include "lib/log.h"
#include "lib/state.h"

static void conn_event(struct dat_ep *ep, u32 type, u32 pd_len)
{
	struct dat_eqe eqe = {
		.type = type, .owner = ep->obj.user_data, .len = pd_len,
	};

	lockdep_assert_held(&ep->lock);
	if (!ep->freed)
		dat_evd_deliver(ep->connect_evd, &eqe, true);
}

static const u8 conn_next[DAT_CONN_NR_STATES] = {
	[DAT_CONN_CONNECTING]	= BIT(DAT_CONN_ABORTING) | BIT(DAT_CONN_ESTABLISHED),
	[DAT_CONN_ABORTING]	= 0,
	[DAT_CONN_ESTABLISHED]	= BIT(DAT_CONN_DRAINING) | BIT(DAT_CONN_HUNG_UP) |
				  BIT(DAT_CONN_CLOSING),
	[DAT_CONN_DRAINING]	= BIT(DAT_CONN_HUNG_UP) | BIT(DAT_CONN_CLOSING),
	/*
	 * The state may still become CLOSING: this end may notice later that a failure made the
	 * peer disconnect.  The connection then ends with BROKEN.
	 */
	[DAT_CONN_HUNG_UP]	= BIT(DAT_CONN_CLOSING),
	[DAT_CONN_CLOSING]	= 0,
};

/* Changes conn->state.  No other function writes conn->state. */
static void conn_set_state(struct dat_conn *conn, enum dat_conn_state state)
{
	lockdep_assert_held(&conn->ep->lock);
	if (!dat_state_may(conn_next, conn->state, state))
		return;
	trace_dat_conn_state(conn, state);
	WRITE_ONCE(conn->state, state);
}

/*
 * Begins the teardown, unless it has begun.  @closing: next state of an established connection,
 * DAT_CONN_HUNG_UP or DAT_CONN_CLOSING.  @event: DAT_EV_* that reports the end.  ep->lock is held.
 */
static void conn_close(struct dat_conn *conn, enum dat_conn_state closing, u32 event)
{
	lockdep_assert_held(&conn->ep->lock);

	if (dat_conn_is_closing(conn))
		return;
	conn_set_state(conn, dat_conn_was_established(conn) ? closing : DAT_CONN_ABORTING);
	dat_queue_update_open(conn->ep);
	conn->end_event = event;
	dat_solicited_leave(conn);
	if (!conn->held)
		queue_delayed_work(dat_close_wq, &conn->close_work, 0);
}

/*
 * Begins the teardown.  @event: DAT_EV_* to report once all work requests have been flushed; only
 * the first call chooses the event, but see dat_conn_fail().  ep->lock is held.
 */
void dat_conn_close(struct dat_conn *conn, u32 event)
{
	conn_close(conn, DAT_CONN_CLOSING, event);
}

/*
 * Begins the teardown because of an error.  An accepted connection whose handshake has not
 * succeeded reports DAT_EV_ACCEPT_ERROR instead of @event.  If the teardown has begun because the
 * peer has disconnected, DAT_EV_BROKEN replaces the event of that disconnect.  ep->lock is held.
 */
void dat_conn_fail(struct dat_conn *conn, u32 event)
{
	lockdep_assert_held(&conn->ep->lock);

	if (conn->passive && !dat_conn_was_established(conn))
		event = DAT_EV_ACCEPT_ERROR;
	if (conn->state == DAT_CONN_HUNG_UP && event == DAT_EV_BROKEN) {
		conn_set_state(conn, DAT_CONN_CLOSING);
		conn->end_event = event;
	}
	conn_close(conn, DAT_CONN_CLOSING, event);
}

/* Begins the teardown because the peer has disconnected.  ep->lock is held. */
void dat_conn_hung_up(struct dat_conn *conn)
{
	lockdep_assert_held(&conn->ep->lock);

	if (dat_conn_was_established(conn))
		conn_close(conn, DAT_CONN_HUNG_UP, DAT_EV_DISCONNECTED);
	else
		dat_conn_fail(conn, DAT_EV_DISCONNECTED);
}

/*
 * Begins a graceful disconnect: the connection closes when its requests have completed.  ep->lock
 * is held.
 */
void dat_conn_drain(struct dat_conn *conn)
{
	lockdep_assert_held(&conn->ep->lock);

	if (conn->state == DAT_CONN_ESTABLISHED)
		conn_set_state(conn, DAT_CONN_DRAINING);
	dat_conn_progress(conn);
}

/*
 * Lets the teardown proceed when a thread that connects, accepts or changes the QP has finished.
 * @conn may be freed on return.
 */
void dat_conn_unhold(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;

	spin_lock_bh(&ep->lock);
	conn->held = false;
	if (dat_conn_is_closing(conn))
		queue_delayed_work(dat_close_wq, &conn->close_work, 0);
	spin_unlock_bh(&ep->lock);
}

/*
 * Reports up to @n receives of conn->early, oldest first.  @flushed: the handshake has failed.
 * Returns true if more are left.
 */
static bool conn_replay(struct dat_conn *conn, bool flushed, u32 n)
{
	struct dat_slot *slot, *next;

	lockdep_assert_held(&conn->ep->lock);
	list_for_each_entry_safe(slot, next, &conn->early, early) {
		if (!n--)
			return true;
		list_del(&slot->early);
		conn->nr_early--;
		/* The handshake has failed: report a success as flushed, and an error as it is. */
		if (flushed && slot->status == DAT_ST_SUCCESS)
			slot->status = DAT_ST_FLUSHED;
		dat_complete_recv(conn, slot, slot->status);
	}
	return false;
}

/*
 * Reports a slice of the receives that completed before ESTABLISHED, and pumps a slice of those in
 * the ring.  Once none is left, sets conn->live and pumps the requests.  If more are left,
 * early_work calls this function again.  A loop here might not end while a process posts receives
 * and the peer sends, and would block the worker of rdma_cm, which serves the whole host.  Receives
 * that complete meanwhile are added to the end of conn->early, because conn->live is still false.
 *
 * No receive may stay in the ring once conn->live is set: on a solicited connection, no completion
 * is sure to run the pump again.
 */
static void conn_go_live(struct dat_conn *conn)
{
	lockdep_assert_held(&conn->ep->lock);
	if (conn_replay(conn, false, DAT_SLICE) || dat_queue_pump_rq(conn)) {
		queue_work(dat_wq, &conn->early_work);
		return;
	}
	conn->live = true;
	/*
	 * A receive that has failed closes the connection, which then must not join evd->solicited.
	 */
	if (dat_conn_is_open(conn))
		dat_solicited_join(conn);
	dat_conn_progress(conn);
}

/*
 * Reports that the handshake has succeeded.  Context: process; the caller holds the transport's
 * lock against other events of the connection.
 */
void dat_conn_established(struct dat_conn *conn, const struct dat_handshake *h)
{
	struct dat_ep *ep = conn->ep;

	spin_lock_bh(&ep->lock);
	if (conn->state != DAT_CONN_CONNECTING)
		goto out;
	cancel_delayed_work(&conn->timer);
	ep->local = *h->local;
	ep->remote = *h->remote;
	ep->read_in = h->read_in;
	ep->read_out = h->read_out;
	dat_epring_set_pd(&ep->ring, h->pd, h->pd_len);
	conn_set_state(conn, DAT_CONN_ESTABLISHED);
	dat_ep_set_state(ep, DAT_EP_CONNECTED);
	conn_event(ep, DAT_EV_ESTABLISHED, h->pd_len);
	conn_go_live(conn);
out:
	spin_unlock_bh(&ep->lock);
	if (conn->passive)
		dat_psp_leave(&conn->psp);
}

/*
 * Reads the GIDs and queue pair numbers of the connection.  Context: any but hard interrupt.  Fails
 * with -ENOTCONN if the EP has no open connection.
 */
int dat_ep_path(struct dat_ep *ep, struct dat_path *path)
{
	int ret = -ENOTCONN;

	spin_lock_bh(&ep->lock);
	if (ep->conn && dat_conn_is_open(ep->conn)) {
		ep->conn->dev->ops->path(ep->conn, path);
		ret = 0;
	}
	spin_unlock_bh(&ep->lock);
	return ret;
}

/*
 * Lets a peer that was accepted with DAT_EP_PEER_WAITS read memory, and also write memory if @write
 * is true.  May sleep.  Fails with -ENOTCONN if no connection is open or if another thread holds
 * the connection (conn->held), or with a device error.
 */
int dat_ep_allow_peer(struct dat_ep *ep, bool write)
{
	struct dat_conn *conn;
	int ret;

	spin_lock_bh(&ep->lock);
	conn = ep->conn;
	if (!conn || !dat_conn_is_open(conn) || conn->held) {
		spin_unlock_bh(&ep->lock);
		return -ENOTCONN;
	}
	/* Keep the teardown from destroying the queue pair meanwhile. */
	conn->held = true;
	spin_unlock_bh(&ep->lock);
	ret = conn->dev->ops->allow_peer(conn, write);
	dat_conn_unhold(conn);
	return ret;
}

/*
 * Returns the number of receives that the transport must be able to hold; 0 with an SRQ.  The ring
 * may be longer: its length is a power of two, and the device may have a limit.
 */
u32 dat_conn_max_recvs(const struct dat_conn *conn)
{
	const struct dat_limits *limits = &conn->dev->limits;

	return min3(conn->ep->rq.entries, limits->max_dto, limits->max_recvs);
}

/*
 * Sets how many entries of each queue may be in flight, after the transport has made the queue
 * pair.  @max_send: number of requests that the queue pair holds; the queue pair also holds
 * dat_conn_max_recvs() receives.  @cq: CQ of the requests.
 */
void dat_conn_set_windows(struct dat_conn *conn, u32 max_send, struct dat_cq *cq)
{
	struct dat_ep *ep = conn->ep;

	spin_lock_bh(&ep->lock);
	ep->sq.window = min(ep->sq.entries, max_send);
	ep->rq.window = dat_conn_max_recvs(conn);
	conn->takes_recv = true;
	WRITE_ONCE(conn->cq, cq);
	spin_unlock_bh(&ep->lock);
}

/*
 * Returns the number of receives that are posted to the device and have not completed; 0 with an
 * SRQ.  Receives in conn->early have completed, and the receive in conn->rq_failed was not posted.
 * ep->lock is held.
 */
u32 dat_conn_recvs(const struct dat_conn *conn)
{
	const struct dat_queue *q = &conn->ep->rq;

	lockdep_assert_held(&conn->ep->lock);
	if (conn->ep->srq)
		return 0;
	return q->head - q->done - conn->nr_early - conn->rq_failed.set;
}

/*
 * Lets a teardown that waits for the device continue at once.  The transport's conn_quiesce() has
 * returned a delay, and returns 0 only after this call.  Context: any but hard interrupt; ep->lock
 * held.
 */
void dat_conn_resume_close(struct dat_conn *conn)
{
	lockdep_assert_held(&conn->ep->lock);
	mod_delayed_work(dat_close_wq, &conn->close_work, 0);
}

/*
 * Continues with the send queue after requests have completed or failed.  ep->lock is held.
 *
 * A failed request, a bind or a fenced request stops the queue.  While the queue is stopped and
 * other requests are in flight, this function does nothing.  Once no request is in flight, this
 * function reports the failure and closes the connection, starts the bind, or ends the fence.  If
 * nothing stops the queue, this function pumps requests, and ends a graceful disconnect when all
 * requests have completed.
 */
void dat_conn_progress(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;

	lockdep_assert_held(&ep->lock);
	if (dat_queue_stopped(conn))
		dat_queue_mark(conn);
	if (conn->sq_failed.set) {
		if (conn->inflight)
			return;
		dat_queue_fail_one(ep, &ep->sq, &conn->sq_failed);
		dat_conn_fail(conn, DAT_EV_BROKEN);
		return;
	}
	if (conn->bind.set) {
		if (!conn->inflight && !dat_conn_is_closing(conn) && !conn->bind.started)
			dat_bind_start(conn);
		return;
	}
	if (conn->fenced && conn->inflight)
		return;
	conn->fenced = false;
	dat_queue_pump_sq(conn, false);
	if (conn->report && (s32)(ep->sq.done - conn->report_at) >= 0)
		conn->report = false;
	if (conn->report || conn->state == DAT_CONN_DRAINING)
		dat_queue_mark(conn);
	if (conn->state == DAT_CONN_DRAINING && !conn->inflight && !dat_queue_stopped(conn))
		dat_conn_close(conn, DAT_EV_DISCONNECTED);
}

static void conn_timer(struct work_struct *work)
{
	struct dat_conn *conn = container_of(work, struct dat_conn, timer.work);
	struct dat_ep *ep = conn->ep;
	bool late;

	spin_lock_bh(&ep->lock);
	late = !dat_conn_was_established(conn) && !dat_conn_is_closing(conn);
	if (late)
		dat_conn_fail(conn, DAT_EV_TIMED_OUT);
	spin_unlock_bh(&ep->lock);
	if (late && conn->passive)
		dat_log("%s: %pISpc has not confirmed an accept in time", ep->obj.ia->name,
			&conn->peer);
	else if (late)
		dat_log("%s: %pISpc has not answered a connect in time", ep->obj.ia->name,
			&conn->peer);
}

static void conn_early_work(struct work_struct *work)
{
	struct dat_conn *conn = container_of(work, struct dat_conn, early_work);
	struct dat_ep *ep = conn->ep;

	conn->dev->ops->implied_established(conn);
	spin_lock_bh(&ep->lock);
	if (dat_conn_is_open(conn) && !conn->live)
		conn_go_live(conn);
	spin_unlock_bh(&ep->lock);
}

/*
 * Completes at most a slice of the remaining work requests, in order.  Returns true if more may be
 * left.
 */
static bool conn_flush(struct dat_conn *conn, struct dat_flush *f)
{
	struct dat_ep *ep = conn->ep;

	if (conn_replay(conn, !dat_conn_was_established(conn), DAT_SLICE) ||
	    dat_queue_flush_silent(conn) || dat_queue_flush_recvs(conn))
		return true;
	dat_queue_fail_one(ep, &ep->rq, &conn->rq_failed);
	dat_queue_flush_bind(conn);
	return dat_queue_flush(ep, f);
}

/*
 * Flushes the rings, then reports the end of the connection.  The loop drops ep->lock between two
 * slices.  ep->conn stays set until the loop ends, and the connection is closing, so another thread
 * that takes ep->lock meanwhile posts nothing.  A kick in that time is ignored; dat_queue_process()
 * at the end flushes the entries of that kick.
 */
static void conn_report_end(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;
	struct dat_flush f;

	/*
	 * conn_quiesce() has cancelled bind_work, and the QP no longer runs the work requests of
	 * the bind, so nothing else uses the binding.
	 */
	dat_rmr_abandon(conn->bind.taken);
	spin_lock_bh(&ep->lock);
	dat_queue_flush_begin(ep, &f);
	while (conn_flush(conn, &f))
		dat_ep_cond_resched(ep);
	ep->conn = NULL;
	dat_ep_set_state(ep, DAT_EP_DISCONNECTED);
	conn_event(ep, conn->end_event, conn->end_pd);
	spin_unlock_bh(&ep->lock);
	dat_queue_process(ep, &ep->sq);
}

/*
 * Stops all other users of a closing connection.  Returns 0 once the device has no work request of
 * the connection any more, and no other work item or handler changes the connection.  Until then,
 * returns the number of jiffies after which the caller must call again.
 */
static unsigned long conn_quiesce(struct dat_conn *conn)
{
	unsigned long delay;

	cancel_delayed_work_sync(&conn->timer);
	cancel_delayed_work_sync(&conn->bind_work);
	cancel_work_sync(&conn->early_work);
	delay = conn->dev->ops->conn_quiesce(conn);
	/* Receives that completed during the drain may have queued early_work again. */
	if (!delay)
		cancel_work_sync(&conn->early_work);
	return delay;
}

/*
 * Lets a removal of the device continue without a connection that has left its EP, and that the
 * transport keeps.  The transport later calls dat_conn_free() and dat_dev_put().
 */
void dat_conn_keep(struct dat_conn *conn)
{
	struct dat_dev *dev = conn->dev;

	dat_dev_ended(dev);
}

/*
 * Frees a connection that has left its EP, after the transport has released its resources.  May
 * sleep.
 */
void dat_conn_gone(struct dat_conn *conn)
{
	struct dat_dev *dev = conn->dev;

	dat_conn_free(conn);
	dat_dev_ended(dev);
	dat_dev_put(dev);
}

/* Ends the use of the EP by a connection.  The put may be the last, so this may sleep. */
static void conn_leave_ep(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;

	/*
	 * Clear conn->ep before nconns drops: handlers and pollers read conn->ep under RCU, without
	 * a lock, and must not find the EP after its shutdown, which waits until nconns is 0.
	 * Handlers and pollers that hold ep->lock rely on conn->ep.
	 */
	spin_lock_bh(&ep->lock);
	WRITE_ONCE(conn->ep, NULL);
	spin_unlock_bh(&ep->lock);
	atomic_dec(&ep->obj.ia->nconns);
	if (atomic_dec_and_test(&ep->nconns))
		wake_up_var(&ep->nconns);
	dat_obj_put(&ep->obj);
}

static void conn_close_work(struct work_struct *work)
{
	struct dat_conn *conn = container_of(work, struct dat_conn, close_work.work);
	const struct dat_xport_ops *xport = conn->dev->ops;
	unsigned long delay;
	unsigned int noio;

	/*
	 * An allocation must not start I/O to reclaim memory, which might wait for pages that this
	 * teardown releases.
	 */
	noio = memalloc_noio_save();
	delay = conn_quiesce(conn);
	if (!delay) {
		/* dat_conn_resume_close() may have queued this work again during its last run. */
		cancel_delayed_work(&conn->close_work);
		dat_psp_leave(&conn->psp);
		conn_report_end(conn);
		xport->conn_unbind(conn);
	}
	memalloc_noio_restore(noio);
	if (delay) {
		queue_delayed_work(dat_close_wq, &conn->close_work, delay);
		return;
	}

	/*
	 * conn_exit() may run after the EP is freed.  conn_exit() may use the device, whose removal
	 * waits until dev->ending is 0.
	 */
	dat_dev_ending(dat_dev_get(conn->dev));
	conn_leave_ep(conn);
	xport->conn_exit(conn);
}

static struct dat_slot *conn_alloc_slots(u32 n, bool recv)
{
	struct dat_slot *slots = kvcalloc(n, sizeof(*slots), GFP_KERNEL_ACCOUNT);
	u32 i;

	for (i = 0; slots && i < n; i++)
		slots[i].recv = recv;
	return slots;
}

static bool conn_is_charged(const struct dat_conn *conn)
{
	const struct dat_ep *ep = conn->ep;

	return !ep->obj.ia->face->kernel || ep->traits & DAT_EP_CHARGED;
}

/*
 * Charges @bytes of queues that a connection needs.  Kernel modules are charged with DAT_EP_CHARGED
 * only.  Fails with -ENOMEM if the caller's users may not have that much.
 */
int dat_conn_charge(const struct dat_conn *conn, struct dat_locked *l, u64 bytes)
{
	return conn_is_charged(conn) ? dat_locked_charge(l, bytes) : 0;
}

/* Like dat_conn_charge(), for queues that are longer than they must be. */
int dat_conn_charge_optional(const struct dat_conn *conn, struct dat_locked *l, u64 bytes)
{
	return conn_is_charged(conn) ? dat_locked_charge_optional(l, bytes) : 0;
}

/*
 * Allocates the slots and the SGEs, and charges the memory that the device needs for the queue
 * pair.
 */
static int conn_alloc_memory(struct dat_conn *conn)
{
	u32 iov, sq, rq, recv_iov, request_iov, request_sges;
	struct dat_ep *ep = conn->ep;
	u64 bytes;

	/* Copy the version: if the EP is modified later, dat_ep_claim() refuses the connection. */
	spin_lock_bh(&ep->lock);
	conn->version = ep->version;
	/* Without a receive EVD, pollers could not find a solicited connection. */
	conn->solicited = ep->recv_evd && ep->attr.recv_flags & DAT_SQE_SOLICITED;
	recv_iov = ep->attr.max_recv_iov;
	request_iov = ep->attr.max_request_iov;
	iov = max(recv_iov, request_iov);
	/* A device has inline data in the place of the segments. */
	request_sges = max_t(u32, request_iov,
			     DIV_ROUND_UP(ep->attr.max_inline, sizeof(struct ib_sge)));
	sq = ep->sq.entries;
	rq = max(ep->rq.entries, 1U);
	spin_unlock_bh(&ep->lock);

	bytes = dat_locked_bytes(sq, DAT_LOCKED_REQUEST, request_sges) +
		dat_locked_bytes(rq, DAT_LOCKED_RECV, recv_iov);
	if (dat_conn_charge(conn, &conn->locked, bytes))
		return -ENOMEM;
	conn->sq_slots = conn_alloc_slots(sq, false);
	conn->rq_slots = conn_alloc_slots(rq, true);
	conn->sge = kvcalloc(DAT_BATCH * iov, sizeof(*conn->sge), GFP_KERNEL_ACCOUNT);
	return conn->sq_slots && conn->rq_slots && conn->sge ? 0 : -ENOMEM;
}

/*
 * Allocates a connection without CM id and QP; ep->conn is not set yet.  The caller must call
 * dat_conn_free(), unless dat_ep_claim() takes the connection.  May sleep.  Fails with -ENOMEM,
 * also if dat_locked_charge() refuses the memory of the queues.
 */
struct dat_conn *dat_conn_alloc(struct dat_ep *ep)
{
	struct dat_dev *dev = ep->obj.ia->dev;
	struct dat_conn *conn = kzalloc(dev->ops->conn_size, GFP_KERNEL_ACCOUNT);

	if (!conn)
		return ERR_PTR(-ENOMEM);
	kref_get(&ep->obj.ref);
	atomic_inc(&ep->nconns);
	atomic_inc(&ep->obj.ia->nconns);
	conn->ep = ep;
	conn->dev = dev;
	conn->sink = ep->obj.ia->face->sink;
	conn->unordered = dev->quirks & DAT_QUIRK_UNORDERED;
	INIT_LIST_HEAD(&conn->early);
	dat_solicited_init_conn(conn);
	INIT_DELAYED_WORK(&conn->close_work, conn_close_work);
	dat_bind_init(conn);
	INIT_WORK(&conn->early_work, conn_early_work);
	INIT_DELAYED_WORK(&conn->timer, conn_timer);
	dev->ops->conn_init(conn);
	if (conn_alloc_memory(conn)) {
		dat_conn_free(conn);
		return ERR_PTR(-ENOMEM);
	}
	return conn;
}

/*
 * Frees a connection whose QP was destroyed or never made.  Context: may sleep; not in a handler of
 * the transport.
 */
void dat_conn_free(struct dat_conn *conn)
{
	conn->dev->ops->conn_unbind(conn);
	dat_solicited_exit_conn(conn);
	if (conn->ep)
		conn_leave_ep(conn);
	dat_locked_uncharge(&conn->locked);
	kvfree(conn->sge);
	kvfree(conn->rq_slots);
	kvfree(conn->sq_slots);
	/*
	 * A thread that polls an EVD may still read @conn under RCU.  Such a thread sees that
	 * conn->ep is NULL.
	 */
	kfree_rcu(conn, rcu);
}
