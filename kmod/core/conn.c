// SPDX-License-Identifier: GPL-2.0
/*
 * Connections: the verbs objects of an endpoint, from connect or accept until the
 * last completion.
 *
 * A connection has one end, dat_conn_close(), that anybody may ask for from any
 * context, and one teardown, conn_close_work().  Once its state says that it is closing
 * nothing is posted any more and the handlers of rdma_cm do nothing.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/ib_addr.h>

#include "core/dat.h"
#include "compat.h"
#include "core/trace.h"

/* For the NAK of a refused request to leave, after the device has reported the refusal. */
#define CONN_NAK_TIME		(HZ / 10)
/* For the device to report the last receive that a QP has taken from its SRQ. */
#define CONN_LAST_WQE_TIME	HZ

static void conn_event(struct dat_ep *ep, u32 type, u32 pd_len)
{
	struct dat_eqe eqe = {
		.type = type, .owner = ep->obj.user_data, .data = pd_len,
	};

	lockdep_assert_held(&ep->lock);
	if (!ep->freed)
		dat_evd_deliver(ep->connect_evd, &eqe, true);
}

/* The states that may follow each. */
static const u8 conn_next[DAT_CONN_NR_STATES] = {
	[DAT_CONN_CONNECTING]	= BIT(DAT_CONN_ABORTING) | BIT(DAT_CONN_ESTABLISHED),
	[DAT_CONN_ABORTING]	= 0,
	[DAT_CONN_ESTABLISHED]	= BIT(DAT_CONN_DRAINING) | BIT(DAT_CONN_HUNG_UP) |
				  BIT(DAT_CONN_CLOSING),
	[DAT_CONN_DRAINING]	= BIT(DAT_CONN_HUNG_UP) | BIT(DAT_CONN_CLOSING),
	/* The peer's disconnect may be here before the failure that it answers. */
	[DAT_CONN_HUNG_UP]	= BIT(DAT_CONN_CLOSING),
	[DAT_CONN_CLOSING]	= 0,
};

/* The only writer of conn->state. */
static void conn_set_state(struct dat_conn *conn, enum dat_conn_state state)
{
	lockdep_assert_held(&conn->ep->lock);

	/* Callers have looked at the state under this lock: a bug of ours alone. */
	if (WARN_ON_ONCE(!(conn_next[conn->state] & BIT(state))))
		return;
	trace_dat_conn_state(conn, state);
	WRITE_ONCE(conn->state, state);
}

/* @closing: DAT_CONN_HUNG_UP or DAT_CONN_CLOSING, if the handshake is over */
static void conn_close(struct dat_conn *conn, enum dat_conn_state closing, u32 event)
{
	if (dat_conn_is_closing(conn))
		return;
	conn_set_state(conn, dat_conn_was_established(conn) ? closing : DAT_CONN_ABORTING);
	dat_ep_settle(conn->ep);
	conn->end_event = event;
	if (dat_busy_leave(conn))
		dat_cq_schedule(conn);
	dat_solicited_leave(conn);
	if (!conn->held)
		queue_work(dat_close_wq, &conn->close_work);
}

/**
 * dat_conn_close() - begin the end of a connection
 * @conn: connection
 * @event: DAT_EV_* that will tell the consumer when all is flushed
 *
 * Who comes first chooses the event; later calls do nothing.
 *
 * Context: ep->lock held.
 */
void dat_conn_close(struct dat_conn *conn, u32 event)
{
	conn_close(conn, DAT_CONN_CLOSING, event);
}

/**
 * dat_conn_fail() - like dat_conn_close(), when it is not the consumer's wish
 * @conn: connection
 * @event: DAT_EV_*; an accepted connection that never was established has its own
 *
 * Context: ep->lock held.
 */
void dat_conn_fail(struct dat_conn *conn, u32 event)
{
	if (conn->passive && !dat_conn_was_established(conn))
		event = DAT_EV_ACCEPT_ERROR;
	if (conn->state == DAT_CONN_HUNG_UP && event == DAT_EV_BROKEN) {
		conn_set_state(conn, DAT_CONN_CLOSING);
		conn->end_event = event;
	}
	conn_close(conn, DAT_CONN_CLOSING, event);
}

/**
 * dat_conn_hung_up() - the peer has disconnected
 * @conn: connection
 *
 * Context: ep->lock held.
 */
void dat_conn_hung_up(struct dat_conn *conn)
{
	if (dat_conn_was_established(conn))
		conn_close(conn, DAT_CONN_HUNG_UP, DAT_EV_DISCONNECTED);
	else
		dat_conn_fail(conn, DAT_EV_DISCONNECTED);
}

/**
 * dat_conn_drain() - close a connection once its requests are done
 * @conn: connection
 *
 * Context: ep->lock held.
 */
void dat_conn_drain(struct dat_conn *conn)
{
	if (conn->state == DAT_CONN_ESTABLISHED)
		conn_set_state(conn, DAT_CONN_DRAINING);
	dat_conn_progress(conn);
}

/**
 * dat_conn_unhold() - the thread that connects, accepts or changes the QP is done
 * @conn: held; from here on its teardown may run
 */
void dat_conn_unhold(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;

	spin_lock_bh(&ep->lock);
	conn->held = false;
	if (dat_conn_is_closing(conn))
		queue_work(dat_close_wq, &conn->close_work);
	spin_unlock_bh(&ep->lock);
}

/* At most @n early receives, in the order in which they came; true if there are more. */
static bool conn_replay(struct dat_conn *conn, bool flushed, u32 n)
{
	struct dat_slot *slot, *next;

	list_for_each_entry_safe(slot, next, &conn->early, early) {
		if (!n--)
			return true;
		list_del(&slot->early);
		/* An error is reported as such; a message has nobody to receive it any more. */
		if (flushed && slot->status == DAT_ST_SUCCESS)
			slot->status = DAT_ST_FLUSHED;
		dat_complete_recv(conn, slot, slot->status);
	}
	return false;
}

static void conn_note_peer(struct dat_conn *conn, const struct rdma_conn_param *param)
{
	struct dat_ep *ep = conn->ep;

	ep->local = conn->id->route.addr.src_addr;
	ep->remote = conn->id->route.addr.dst_addr;
	ep->read_in = min_t(u32, ep->attr.read_in, param->responder_resources);
	ep->read_out = min_t(u32, ep->attr.read_out, param->initiator_depth);
	if (!conn->passive)
		conn->peer_qpn = param->qp_num;
}

/**
 * dat_conn_established() - the handshake is over
 * @conn: connection
 * @param: what the peer answered, or NULL on the accepting side
 *
 * Context: process, with the handler lock of the id.
 */
void dat_conn_established(struct dat_conn *conn, const struct rdma_conn_param *param)
{
	struct dat_ep *ep = conn->ep;
	u32 pd_len = param ? param->private_data_len : 0;

	spin_lock_bh(&ep->lock);
	if (conn->state != DAT_CONN_CONNECTING)
		goto out;
	cancel_delayed_work(&conn->timer);
	conn_note_peer(conn, param ?: &conn->param);
	dat_epring_set_pd(&ep->ring, param ? param->private_data : NULL, pd_len);
	conn_set_state(conn, DAT_CONN_ESTABLISHED);
	dat_ep_set_state(ep, DAT_EP_CONNECTED);
	conn_event(ep, DAT_EV_ESTABLISHED, pd_len);
	/* Receives that complete meanwhile join the end of the list. */
	while (conn_replay(conn, false, DAT_SLICE))
		dat_ep_breathe(ep);
	conn->live = true;
	/* A close in between has left already. */
	if (dat_conn_is_open(conn))
		dat_solicited_join(conn);
	dat_queue_pump_rq(conn);
	dat_conn_progress(conn);
out:
	spin_unlock_bh(&ep->lock);
	dat_psp_leave(&conn->psp);
}

static void conn_path(const struct dat_conn *conn, struct dat_path *path)
{
	const struct rdma_route *route = &conn->id->route;

	memset(path, 0, sizeof(*path));
	if (rdma_protocol_iwarp(conn->id->device, conn->id->port_num)) {
		rdma_ip2gid((struct sockaddr *)&route->addr.src_addr, &path->local);
		rdma_ip2gid((struct sockaddr *)&route->addr.dst_addr, &path->remote);
		return;
	}
	path->local = route->path_rec->sgid;
	path->remote = route->path_rec->dgid;
	path->local_qpn = conn->qp->qp_num;
	path->remote_qpn = conn->peer_qpn;
}

/**
 * dat_ep_path() - tell between which queue pairs a connection is
 * @ep: endpoint
 * @path: result
 *
 * Context: BH.  Return: 0; -ENOTCONN.
 */
int dat_ep_path(struct dat_ep *ep, struct dat_path *path)
{
	int ret = -ENOTCONN;

	spin_lock_bh(&ep->lock);
	if (ep->conn && dat_conn_is_open(ep->conn)) {
		conn_path(ep->conn, path);
		ret = 0;
	}
	spin_unlock_bh(&ep->lock);
	return ret;
}

/**
 * dat_ep_let_peer() - let a peer that was accepted with DAT_EP_PEER_WAITS reach memory
 * @ep: endpoint
 * @write: the peer may write, too, and not only read
 *
 * Context: may sleep.  Return: 0; -ENOTCONN; or why the device refuses.
 */
int dat_ep_let_peer(struct dat_ep *ep, bool write)
{
	struct ib_qp_attr attr = {
		.qp_access_flags = IB_ACCESS_REMOTE_READ | (write ? IB_ACCESS_REMOTE_WRITE : 0),
	};
	struct dat_conn *conn;
	int ret;

	spin_lock_bh(&ep->lock);
	conn = ep->conn;
	if (!conn || !dat_conn_is_open(conn) || conn->held) {
		spin_unlock_bh(&ep->lock);
		return -ENOTCONN;
	}
	/* Keeps the teardown away from the queue pair. */
	conn->held = true;
	spin_unlock_bh(&ep->lock);
	ret = ib_modify_qp(conn->qp, &attr, IB_QP_ACCESS_FLAGS);
	conn->peer_let = !ret;
	dat_conn_unhold(conn);
	return ret;
}

/* Called with ep->lock held, by cq.c. */
static void conn_bind_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct dat_conn *conn = cq->cq_context;

	/* The end of the connection is near, or here, and flushes it. */
	if (wc->status == IB_WC_WR_FLUSH_ERR || dat_conn_is_closing(conn))
		return;
	conn->bind.failed = wc->status != IB_WC_SUCCESS;
	queue_work(dat_wq, &conn->bind_work);
}

/* All before it are complete: register the memory in its turn, then the work does the rest. */
static void conn_start_bind(struct dat_conn *conn)
{
	struct dat_bind *bind = &conn->bind;
	struct dat_ep *ep = conn->ep;
	struct dat_rmr *rmr;
	int ret = 0;

	lockdep_assert_held(&ep->lock);
	bind->started = true;
	rmr = dat_obj_get(ep->obj.ia, DAT_OBJ_RMR, bind->rmr);
	if (!IS_ERR(rmr)) {
		bind->taken = dat_rmr_take(rmr, ep->pz, bind->ticket);
		dat_obj_put(&rmr->obj);
	}
	bind->cqe.done = conn_bind_done;
	if (bind->taken)
		ret = dat_binding_post(bind->taken, conn->qp, &bind->cqe);
	if (ret > 0)
		return;
	bind->failed = ret < 0;
	queue_work(dat_wq, &conn->bind_work);
}

/**
 * dat_conn_progress() - requests completed, or can't
 * @conn: connection
 *
 * Context: ep->lock held.
 */
void dat_conn_progress(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;

	lockdep_assert_held(&ep->lock);
	if (conn->sq_failed.set) {
		if (conn->inflight)
			return;
		dat_queue_fail_one(ep, &ep->sq, &conn->sq_failed);
		dat_conn_fail(conn, DAT_EV_BROKEN);
		return;
	}
	if (conn->bind.set) {
		if (!conn->inflight && !dat_conn_is_closing(conn) && !conn->bind.started)
			conn_start_bind(conn);
		return;
	}
	if (conn->fenced && conn->inflight)
		return;
	conn->fenced = false;
	dat_queue_pump_sq(conn);
	if (conn->state == DAT_CONN_DRAINING && !conn->inflight && !dat_queue_stopped(conn))
		dat_conn_close(conn, DAT_EV_DISCONNECTED);
}

static void conn_timer(struct work_struct *work)
{
	struct dat_conn *conn = container_of(work, struct dat_conn, timer.work);
	struct dat_ep *ep = conn->ep;

	spin_lock_bh(&ep->lock);
	if (!dat_conn_was_established(conn))
		dat_conn_fail(conn, DAT_EV_TIMED_OUT);
	spin_unlock_bh(&ep->lock);
}

static void conn_error_work(struct work_struct *work)
{
	struct dat_conn *conn = container_of(work, struct dat_conn, error_work.work);
	struct dat_ep *ep = conn->ep;

	spin_lock_bh(&ep->lock);
	dat_conn_fail(conn, DAT_EV_BROKEN);
	spin_unlock_bh(&ep->lock);
}

/*
 * What the peer sent proves that the connection stands, whatever became of the last
 * message of the handshake.  rdma_cm finds out by itself and is not told: should the
 * peer's disconnect come before its CM has dealt with rdma_notify(), nobody ends the
 * retransmission of the reply, and for a minute the id can't be destroyed.
 */
static void conn_early_work(struct work_struct *work)
{
	struct dat_conn *conn = container_of(work, struct dat_conn, early_work);

	/* Not while it is being accepted. */
	rdma_lock_handler(conn->id);
	if (conn->passive)
		dat_conn_established(conn, NULL);
	rdma_unlock_handler(conn->id);
}

static u8 conn_carry_out(struct dat_conn *conn)
{
	struct dat_bind *bind = &conn->bind;
	struct dat_ep *ep = conn->ep;
	struct dat_rmr *rmr = ERR_PTR(-ENOENT);
	u8 status = DAT_ST_RMR_FAILED;

	if (bind->taken && !bind->failed)
		rmr = dat_obj_get(ep->obj.ia, DAT_OBJ_RMR, bind->rmr);
	if (IS_ERR(rmr)) {
		dat_binding_free(bind->taken);
	} else {
		status = dat_rmr_carry_out(rmr, bind->taken);
		dat_obj_put(&rmr->obj);
	}
	bind->taken = NULL;
	return status;
}

/* While there is a bind nobody else changes it, and the EP keeps its zone. */
static void conn_bind_work(struct work_struct *work)
{
	struct dat_conn *conn = container_of(work, struct dat_conn, bind_work);
	struct dat_ep *ep = conn->ep;
	struct dat_queue *q = &ep->sq;
	u8 status;

	status = conn_carry_out(conn);
	spin_lock_bh(&ep->lock);
	conn->bind.set = false;
	q->done++;
	q->ops->publish(q);
	dat_report_bind(ep, &conn->bind, status);
	if (status != DAT_ST_SUCCESS)
		dat_conn_fail(conn, DAT_EV_BROKEN);
	dat_conn_progress(conn);
	spin_unlock_bh(&ep->lock);
}

static void conn_pump_work(struct work_struct *work)
{
	struct dat_conn *conn = container_of(work, struct dat_conn, pump_work);
	struct dat_ep *ep = conn->ep;

	spin_lock_bh(&ep->lock);
	dat_queue_pump_rq(conn);
	spin_unlock_bh(&ep->lock);
}

/*
 * May be called in hard interrupt.
 *
 * A device may report an access error before it sends the NAK for it, as rxe of 7.2 does, and a
 * QP that is taken down at once never sends it: the peer would see its request flushed instead
 * of refused.  The delay costs nobody anything, since the QP is in error and flushes already.
 */
static void conn_qp_event(struct ib_event *event, void *context)
{
	struct dat_conn *conn = context;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		queue_work(dat_wq, &conn->early_work);
		break;
	case IB_EVENT_QP_ACCESS_ERR:
		queue_delayed_work(dat_wq, &conn->error_work, CONN_NAK_TIME);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
		mod_delayed_work(dat_wq, &conn->error_work, 0);
		break;
	case IB_EVENT_QP_LAST_WQE_REACHED:
		complete(&conn->last_wqe);
		break;
	default:
		break;
	}
}

/* @sq: work requests that the SQ must hold */
static int conn_create_qp(struct dat_conn *conn, u32 sq)
{
	struct dat_ep *ep = conn->ep;
	struct ib_qp_init_attr init = {
		.event_handler	= conn_qp_event,
		.qp_context	= conn,
		.send_cq	= conn->cq,
		.recv_cq	= conn->recv_cq ?: conn->cq,
		.srq		= ep->srq ? ep->srq->srq : NULL,
		.cap.max_send_wr	= sq,
		.cap.max_recv_wr	= ep->rq.entries,
		.cap.max_send_sge	= ep->attr.max_request_iov,
		.cap.max_recv_sge	= ep->srq ? 0 : ep->attr.max_recv_iov,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
	int ret;

	ret = rdma_create_qp(conn->id, ep->pz->pd, &init);
	if (ret)
		return ret;
	conn->qp = conn->id->qp;
	conn->unordered = conn->dev->quirks & DAT_QUIRK_UNORDERED;
	/* The default of rdma_cm makes a late receive cost the sender 655 ms. */
	rdma_set_min_rnr_timer(conn->id, IB_RNR_TIMER_000_64);
	return 0;
}

/* @sq and @recvs: completions that the queues must hold, markers of a drain among them. */
static int conn_create_cqs(struct dat_conn *conn, u32 sq, u32 recvs)
{
	int ret;

	ret = dat_cq_create(conn, conn->solicited ? sq : sq + recvs);
	if (ret || !conn->solicited)
		return ret;
	ret = dat_solicited_create(conn, recvs);
	if (ret)
		dat_cq_destroy(conn);
	return ret;
}

/*
 * Work requests to ask of the device for the SQ, one of them for the marker of a drain.  Where
 * queues are powers of two, one more than the ring has would double a long queue, or exceed the
 * device's limit: there the last entry of a full ring waits for the first to complete.
 */
static u32 conn_sq_size(const struct dat_conn *conn, u32 recvs)
{
	const struct ib_device_attr *attrs = &conn->ep->obj.ia->dev->ibdev->attrs;
	u32 entries = conn->ep->sq.entries;

	return min3(entries > DAT_BATCH ? entries : entries + 1,
		    (u32)attrs->max_qp_wr, attrs->max_cqe - recvs);
}

/*
 * The limit that a device tells holds for the smallest work requests.  If ours are too large for
 * so many, the device takes fewer at a time and the rest wait in the ring.
 */
static int conn_create_longest_qp(struct dat_conn *conn, u32 *sq)
{
	int ret;

	for (;;) {
		ret = conn_create_qp(conn, *sq);
		if ((ret != -ENOMEM && ret != -EINVAL) || *sq <= DAT_MIN_SQ)
			return ret;
		*sq = max_t(u32, *sq / 2, DAT_MIN_SQ);
	}
}

/**
 * dat_conn_make_qp() - make CQs and QP
 * @conn: its id is bound to the device; handler lock held
 *
 * Context: may sleep.  Return: 0, -ENODEV the id is bound elsewhere, or what verbs
 * say.
 */
int dat_conn_make_qp(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;
	struct ib_device *ibdev = ep->obj.ia->dev->ibdev;
	u32 recvs = ep->srq ? ep->srq->window : ep->rq.entries;
	u32 sq = conn_sq_size(conn, recvs);
	int ret;

	if (conn->id->device != ibdev || conn->id->port_num != ep->obj.ia->port)
		return -ENODEV;
	ret = conn_create_cqs(conn, sq, recvs);
	if (ret)
		return ret;
	ret = conn_create_longest_qp(conn, &sq);
	if (ret) {
		dat_cq_destroy(conn);
		return ret;
	}
	spin_lock_bh(&ep->lock);
	ep->sq.window = min(ep->sq.entries, sq - 1);
	ep->rq.window = ep->rq.entries;
	spin_unlock_bh(&ep->lock);
	return 0;
}

/* Every receive that the RQ can hold may be at the device. */
static bool conn_rq_full(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;
	bool full;

	spin_lock_bh(&ep->lock);
	dat_cq_take(conn);
	full = ep->rq.head - ep->rq.done == ep->rq.entries && list_empty(&conn->early) &&
	       !conn->rq_failed.set;
	spin_unlock_bh(&ep->lock);
	return full;
}

/*
 * A drained SQ says nothing of receives that the QP has taken from an SRQ.  When the device
 * reports the last of them, the completions of all are in the CQ.  They are taken before the QP
 * is destroyed, since drivers remove the completions of a destroyed QP from its CQ.
 *
 * A QP that was never ready to receive has taken none.
 */
static void conn_drain_shared(struct dat_conn *conn)
{
	ib_drain_sq(conn->qp);
	if ((dat_conn_was_established(conn) || conn->passive) &&
	    !(conn->dev->quirks & DAT_QUIRK_NO_LAST_WQE))
		wait_for_completion_timeout(&conn->last_wqe, CONN_LAST_WQE_TIME);
	dat_cq_take_rest(conn);
	dat_solicited_take_rest(conn);
}

/* The SQ has a place for the marker of a drain, the RQ has one once a receive was flushed. */
static void conn_drain(struct dat_conn *conn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	if (conn->ep->srq) {
		conn_drain_shared(conn);
		return;
	}
	/* As in ib_drain_qp(): a QP that can't be flushed has nothing to drain. */
	if (ib_modify_qp(conn->qp, &attr, IB_QP_STATE))
		return;
	while (conn_rq_full(conn))
		usleep_range(50, 200);
	ib_drain_qp(conn->qp);
}

static bool conn_is_strangers(const struct dat_conn *conn)
{
	return conn->ep->traits & DAT_EP_STRANGER && !conn->peer_let;
}

/* Afterwards no handler runs and every posted work request has completed. */
static void conn_quiesce(struct dat_conn *conn)
{
	cancel_delayed_work_sync(&conn->timer);
	cancel_work_sync(&conn->bind_work);
	cancel_work_sync(&conn->pump_work);
	cancel_work_sync(&conn->early_work);
	/*
	 * To a CM that still waits for the handshake's end, a disconnect means nothing.  Strangers
	 * could make many wait, so those that were not let in are rejected instead.
	 */
	if (conn->passive && dat_conn_was_established(conn) && !conn_is_strangers(conn))
		wait_for_completion_timeout(&conn->cm_heard, HZ);
	/* A handler that began before the connection was closing has ended after this. */
	rdma_lock_handler(conn->id);
	rdma_unlock_handler(conn->id);
	rdma_disconnect(conn->id);
	if (!conn->qp)
		return;
	dat_solicited_end(conn);
	conn_drain(conn);
	rdma_destroy_qp(conn->id);
	/* The peer has hung up upon an access error: that is what ended the connection. */
	if (cancel_delayed_work_sync(&conn->error_work))
		conn_error_work(&conn->error_work.work);
	cancel_work_sync(&conn->early_work);
	/* What came from an SRQ after the drain. */
	if (conn->ep->srq) {
		dat_cq_take_rest(conn);
		dat_solicited_take_rest(conn);
	}
}

/* Complete a slice of what is left, in order; true if there is more. */
static bool conn_flush(struct dat_conn *conn, struct dat_flush *f)
{
	struct dat_ep *ep = conn->ep;

	if (conn_replay(conn, true, DAT_SLICE) || dat_queue_flush_silent(conn))
		return true;
	dat_queue_fail_one(ep, &ep->rq, &conn->rq_failed);
	dat_queue_flush_bind(conn);
	return dat_queue_flush(ep, f);
}

/*
 * Tell of the end when all is complete.  Until then the EP has its connection, which is
 * closing, so whoever gets the lock in between finds nothing to do: a kick is in vain, and
 * is made up for afterwards.
 */
static void conn_report_end(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;
	struct dat_flush f;

	/* Its work doesn't run any more, and its registration has ended. */
	dat_binding_free(conn->bind.taken);
	conn->bind.taken = NULL;
	spin_lock_bh(&ep->lock);
	dat_queue_flush_begin(ep, &f);
	while (conn_flush(conn, &f))
		dat_ep_breathe(ep);
	ep->conn = NULL;
	dat_ep_set_state(ep, DAT_EP_DISCONNECTED);
	conn_event(ep, conn->end_event, conn->end_pd);
	spin_unlock_bh(&ep->lock);
	dat_ep_kick(ep, &ep->sq);
}

static void conn_bury(struct dat_conn *conn)
{
	struct dat_dev *dev = conn->dev;

	dat_cq_destroy(conn);
	dat_conn_free(conn);
	if (atomic_dec_and_test(&dev->zombies))
		wake_up_var(&dev->zombies);
	dat_dev_put(dev);
}

static void conn_bury_work(struct work_struct *work)
{
	conn_bury(container_of(work, struct dat_conn, bury_work.work));
}

static void conn_close_work(struct work_struct *work)
{
	struct dat_conn *conn = container_of(work, struct dat_conn, close_work);
	unsigned int noio = memalloc_noio_save();
	struct dat_ep *ep = conn->ep;
	unsigned long grace;

	/* Memory that is asked for here may wait for pages that are let go here. */
	conn_quiesce(conn);
	dat_psp_leave(&conn->psp);
	conn_report_end(conn);
	rdma_destroy_id(conn->id);
	memalloc_noio_restore(noio);
	conn->id = NULL;

	/* The CQ outlives the EP's interest in it, but not the device. */
	grace = conn->cq && conn->dev->quirks & DAT_QUIRK_CQ_GRACE ? HZ : 0;
	atomic_inc(&dat_dev_get(conn->dev)->zombies);
	WRITE_ONCE(conn->ep, NULL);	/* for the handlers in cq.c, which RCU lets finish */
	if (atomic_dec_and_test(&ep->nconns))
		wake_up_var(&ep->nconns);
	dat_obj_put(&ep->obj);
	if (grace)
		queue_delayed_work(dat_close_wq, &conn->bury_work, grace);
	else
		conn_bury(conn);
}

static struct dat_slot *conn_alloc_slots(u32 n, bool recv)
{
	struct dat_slot *slots = kvcalloc(n, sizeof(*slots), GFP_KERNEL_ACCOUNT);
	u32 i;

	for (i = 0; slots && i < n; i++)
		slots[i].recv = recv;
	return slots;
}

static void conn_init_direct(struct dat_direct *one)
{
	one->send.sg_list = &one->sge;
	one->send.num_sge = 1;
	one->send.opcode = IB_WR_SEND;
	one->send.send_flags = IB_SEND_SIGNALED;
	one->write.wr = one->send;
	one->write.wr.opcode = IB_WR_RDMA_WRITE;
	one->recv.sg_list = &one->sge;
	one->recv.num_sge = 1;
}

static int conn_alloc_memory(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;
	u32 iov, sq, rq;

	/* If it is modified after this, dat_ep_claim() refuses. */
	spin_lock_bh(&ep->lock);
	conn->version = ep->version;
	/* Without an EVD nobody would look. */
	conn->solicited = ep->recv_evd && ep->attr.recv_flags & DAT_SQE_SOLICITED;
	iov = max(ep->attr.max_recv_iov, ep->attr.max_request_iov);
	sq = ep->sq.entries;
	rq = max(ep->rq.entries, 1U);
	spin_unlock_bh(&ep->lock);

	conn->sq_slots = conn_alloc_slots(sq, false);
	conn->rq_slots = conn_alloc_slots(rq, true);
	conn->sge = kvcalloc(DAT_BATCH * iov, sizeof(*conn->sge), GFP_KERNEL_ACCOUNT);
	return conn->sq_slots && conn->rq_slots && conn->sge ? 0 : -ENOMEM;
}

/**
 * dat_conn_alloc() - prepare a connection
 * @ep: endpoint; not changed
 *
 * Context: may sleep.  Return: a connection without id and QP, to be freed with
 * dat_conn_free() unless the EP has taken it; or ERR_PTR(-ENOMEM).
 */
struct dat_conn *dat_conn_alloc(struct dat_ep *ep)
{
	struct dat_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL_ACCOUNT);

	if (!conn)
		return ERR_PTR(-ENOMEM);
	kref_get(&ep->obj.ref);
	atomic_inc(&ep->nconns);
	conn->ep = ep;
	conn->dev = ep->obj.ia->dev;
	INIT_LIST_HEAD(&conn->early);
	init_completion(&conn->cm_heard);
	init_completion(&conn->last_wqe);
	dat_busy_init_conn(conn);
	dat_solicited_init_conn(conn);
	conn_init_direct(&conn->one);
	INIT_WORK(&conn->close_work, conn_close_work);
	INIT_DELAYED_WORK(&conn->error_work, conn_error_work);
	INIT_WORK(&conn->early_work, conn_early_work);
	INIT_WORK(&conn->bind_work, conn_bind_work);
	INIT_WORK(&conn->pump_work, conn_pump_work);
	INIT_DELAYED_WORK(&conn->timer, conn_timer);
	INIT_DELAYED_WORK(&conn->bury_work, conn_bury_work);
	if (conn_alloc_memory(conn)) {
		dat_conn_free(conn);
		return ERR_PTR(-ENOMEM);
	}
	return conn;
}

/**
 * dat_conn_free() - free a connection
 * @conn: without QP
 *
 * Context: may sleep; not in a handler of its id.
 */
void dat_conn_free(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;

	if (conn->id)
		rdma_destroy_id(conn->id);
	kvfree(conn->sge);
	kvfree(conn->rq_slots);
	kvfree(conn->sq_slots);
	kfree(conn);
	if (!ep)
		return;
	if (atomic_dec_and_test(&ep->nconns))
		wake_up_var(&ep->nconns);
	dat_obj_put(&ep->obj);
}
