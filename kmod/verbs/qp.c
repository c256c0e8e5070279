// SPDX-License-Identifier: GPL-2.0
/* The queue pair of a connection: how it is made, and how it is quiesced. */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <rdma/ib_addr.h>
#include <rdma/rdma_cm.h>

#include "compat.h"
#include "verbs/verbs.h"

/* For the NAK of a refused request to leave, after the device has reported the refusal. */
#define NAK_TIME	(HZ / 10)
/* For the device to report the last receive that a QP has taken from its SRQ. */
#define LAST_WQE_TIME	HZ

void verbs_path(struct dat_conn *conn, struct dat_path *path)
{
	struct verbs_conn *vc = to_verbs_conn(conn);
	const struct rdma_route *route = &vc->id->route;

	memset(path, 0, sizeof(*path));
	if (rdma_protocol_iwarp(vc->id->device, vc->id->port_num)) {
		rdma_ip2gid((struct sockaddr *)&route->addr.src_addr, &path->local);
		rdma_ip2gid((struct sockaddr *)&route->addr.dst_addr, &path->remote);
		return;
	}
	path->local = route->path_rec->sgid;
	path->remote = route->path_rec->dgid;
	path->local_qpn = vc->qp->qp_num;
	path->remote_qpn = vc->peer_qpn;
}

int verbs_let_peer(struct dat_conn *conn, bool write)
{
	struct verbs_conn *vc = to_verbs_conn(conn);
	struct ib_qp_attr attr = {
		.qp_access_flags = IB_ACCESS_REMOTE_READ | (write ? IB_ACCESS_REMOTE_WRITE : 0),
	};
	int ret = ib_modify_qp(vc->qp, &attr, IB_QP_ACCESS_FLAGS);

	vc->peer_let = !ret;
	return ret;
}

static void error_work(struct work_struct *work)
{
	struct verbs_conn *vc = container_of(work, struct verbs_conn, error_work.work);
	struct dat_ep *ep = vc->conn.ep;

	spin_lock_bh(&ep->lock);
	dat_conn_fail(&vc->conn, DAT_EV_BROKEN);
	spin_unlock_bh(&ep->lock);
}

/*
 * What the peer sent proves that the connection stands, whatever became of the last message of the
 * handshake.  rdma_cm finds out by itself; rdma_notify() is not called: if the peer's disconnect
 * comes before its CM has dealt with that, the CM retransmits its reply for a minute, and for so
 * long the id can't be destroyed.
 */
static void early_work(struct work_struct *work)
{
	struct dat_conn *conn = container_of(work, struct dat_conn, early_work);
	struct verbs_conn *vc = to_verbs_conn(conn);

	/* Not while it is being accepted. */
	rdma_lock_handler(vc->id);
	if (conn->passive)
		verbs_established(conn, NULL);
	rdma_unlock_handler(vc->id);
}

/*
 * May be called in hard interrupt.
 *
 * A device may report an access error before it sends the NAK for it, as rxe of 7.2 does, and a
 * QP that is taken down at once never sends it: the peer would see its request flushed instead
 * of refused.  The delay costs nothing, since the QP is in error and flushes already.
 */
static void qp_event(struct ib_event *event, void *context)
{
	struct verbs_conn *vc = context;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		queue_work(dat_wq, &vc->conn.early_work);
		break;
	case IB_EVENT_QP_ACCESS_ERR:
		queue_delayed_work(dat_wq, &vc->error_work, NAK_TIME);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
		mod_delayed_work(dat_wq, &vc->error_work, 0);
		break;
	case IB_EVENT_QP_LAST_WQE_REACHED:
		complete(&vc->last_wqe);
		break;
	default:
		break;
	}
}

/* @sq: work requests that the SQ must hold */
static int create_qp(struct verbs_conn *vc, u32 sq)
{
	struct dat_ep *ep = vc->conn.ep;
	struct ib_qp_init_attr init = {
		.event_handler	= qp_event,
		.qp_context	= vc,
		.send_cq	= vc->cq,
		.recv_cq	= vc->recv_cq ?: vc->cq,
		.srq		= ep->srq ? to_verbs_srq(ep->srq)->srq : NULL,
		.cap.max_send_wr	= sq,
		.cap.max_recv_wr	= ep->rq.entries,
		.cap.max_send_sge	= ep->attr.max_request_iov,
		.cap.max_recv_sge	= ep->srq ? 0 : ep->attr.max_recv_iov,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
	int ret;

	ret = rdma_create_qp(vc->id, to_verbs_pz(ep->pz)->pd, &init);
	if (ret)
		return ret;
	vc->qp = vc->id->qp;
	/* The default of rdma_cm makes a late receive cost the sender 655 ms. */
	rdma_set_min_rnr_timer(vc->id, IB_RNR_TIMER_000_64);
	return 0;
}

/* @sq and @recvs: completions that the queues must hold, markers of a drain among them. */
static int create_cqs(struct verbs_conn *vc, u32 sq, u32 recvs)
{
	bool solicited = vc->conn.solicited;
	int ret;

	ret = verbs_cq_create(vc, solicited ? sq : sq + recvs);
	if (ret || !solicited)
		return ret;
	ret = verbs_recv_cq_create(vc, recvs);
	if (ret)
		verbs_cq_destroy(vc);
	return ret;
}

/*
 * Work requests to ask of the device for the SQ, one of them for the marker of a drain.  Where
 * queues are powers of two, one more than the ring has would double a long queue, or exceed the
 * device's limit: there the last entry of a full ring waits for the first to complete.
 */
static u32 sq_size(const struct dat_conn *conn, u32 recvs)
{
	const struct ib_device_attr *attrs = &verbs_device(conn->dev)->attrs;
	u32 entries = conn->ep->sq.entries;

	return min3(entries > DAT_BATCH ? entries : entries + 1,
		    (u32)attrs->max_qp_wr, attrs->max_cqe - recvs);
}

/*
 * The limit that a device tells holds for the smallest work requests.  If ours are too large for
 * so many, the device takes fewer at a time and the rest wait in the ring.
 */
static int create_longest_qp(struct verbs_conn *vc, u32 *sq)
{
	int ret;

	for (;;) {
		ret = create_qp(vc, *sq);
		if ((ret != -ENOMEM && ret != -EINVAL) || *sq <= DAT_MIN_SQ)
			return ret;
		*sq = max_t(u32, *sq / 2, DAT_MIN_SQ);
	}
}

/**
 * verbs_make_qp() - make CQs and QP
 * @conn: its id is bound to the device; handler lock held
 *
 * Context: may sleep.  Return: 0, -ENODEV the id is bound elsewhere, or what verbs
 * say.
 */
int verbs_make_qp(struct dat_conn *conn)
{
	struct verbs_conn *vc = to_verbs_conn(conn);
	struct dat_ep *ep = conn->ep;
	struct ib_device *ibdev = verbs_device(conn->dev);
	u32 recvs = ep->srq ? ep->srq->window : ep->rq.entries;
	u32 sq = sq_size(conn, recvs);
	int ret;

	if (vc->id->device != ibdev || vc->id->port_num != ep->obj.ia->port)
		return -ENODEV;
	ret = create_cqs(vc, sq, recvs);
	if (ret)
		return ret;
	ret = create_longest_qp(vc, &sq);
	if (ret) {
		verbs_cq_destroy(vc);
		return ret;
	}
	spin_lock_bh(&ep->lock);
	ep->sq.window = min(ep->sq.entries, sq - 1);
	ep->rq.window = ep->rq.entries;
	spin_unlock_bh(&ep->lock);
	return 0;
}

/* Every receive that the RQ can hold may be at the device. */
static bool rq_full(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;
	bool full;

	spin_lock_bh(&ep->lock);
	verbs_take(conn);
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
static void drain_shared(struct verbs_conn *vc)
{
	struct dat_conn *conn = &vc->conn;

	ib_drain_sq(vc->qp);
	if ((dat_conn_was_established(conn) || conn->passive) &&
	    !(conn->dev->quirks & DAT_QUIRK_NO_LAST_WQE))
		wait_for_completion_timeout(&vc->last_wqe, LAST_WQE_TIME);
	verbs_take_rest(vc);
}

/* The SQ has a place for the marker of a drain, the RQ has one once a receive was flushed. */
static void drain(struct verbs_conn *vc)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	if (vc->conn.ep->srq) {
		drain_shared(vc);
		return;
	}
	/* As in ib_drain_qp(): a QP that can't be flushed has nothing to drain. */
	if (ib_modify_qp(vc->qp, &attr, IB_QP_STATE))
		return;
	while (rq_full(&vc->conn))
		usleep_range(50, 200);
	ib_drain_qp(vc->qp);
}

static bool is_strangers(const struct verbs_conn *vc)
{
	return vc->conn.ep->traits & DAT_EP_STRANGER && !vc->peer_let;
}

void verbs_conn_quiesce(struct dat_conn *conn)
{
	struct verbs_conn *vc = to_verbs_conn(conn);

	/* A connect that failed early. */
	if (!vc->id)
		return;
	/*
	 * To a CM that still waits for the handshake's end, a disconnect means nothing.  Strangers
	 * could make many wait, so those that were not let in are rejected instead.
	 */
	if (conn->passive && dat_conn_was_established(conn) && !is_strangers(vc))
		wait_for_completion_timeout(&vc->cm_heard, HZ);
	/* A handler that began before the connection was closing has ended after this. */
	rdma_lock_handler(vc->id);
	rdma_unlock_handler(vc->id);
	rdma_disconnect(vc->id);
	if (!vc->qp)
		return;
	verbs_recv_notify_all(vc);
	drain(vc);
	rdma_destroy_qp(vc->id);
	/* The peer has hung up upon an access error: that is what ended the connection. */
	if (cancel_delayed_work_sync(&vc->error_work))
		error_work(&vc->error_work.work);
	/* What came from an SRQ after the drain. */
	if (conn->ep->srq)
		verbs_take_rest(vc);
}

void verbs_conn_unbind(struct dat_conn *conn)
{
	struct verbs_conn *vc = to_verbs_conn(conn);

	if (vc->id)
		rdma_destroy_id(vc->id);
	vc->id = NULL;
}

static void exit_work(struct work_struct *work)
{
	struct verbs_conn *vc = container_of(work, struct verbs_conn, exit_work.work);

	verbs_cq_destroy(vc);
	dat_conn_gone(&vc->conn);
}

void verbs_conn_exit(struct dat_conn *conn)
{
	struct verbs_conn *vc = to_verbs_conn(conn);

	if (vc->cq && conn->dev->quirks & DAT_QUIRK_CQ_GRACE)
		queue_delayed_work(dat_close_wq, &vc->exit_work, HZ);
	else
		exit_work(&vc->exit_work.work);
}

void verbs_conn_init(struct dat_conn *conn)
{
	struct verbs_conn *vc = to_verbs_conn(conn);

	init_completion(&vc->cm_heard);
	init_completion(&vc->last_wqe);
	INIT_WORK(&conn->early_work, early_work);
	INIT_DELAYED_WORK(&vc->error_work, error_work);
	INIT_DELAYED_WORK(&vc->exit_work, exit_work);
	verbs_recv_cq_init(vc);
}

int verbs_post_send(struct dat_conn *conn, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad)
{
	return ib_post_send(to_verbs_conn(conn)->qp, wr, bad);
}

int verbs_post_recv(struct dat_conn *conn, const struct ib_recv_wr *wr)
{
	return ib_post_recv(to_verbs_conn(conn)->qp, wr, NULL);
}
