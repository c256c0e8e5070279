// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Queue pair of a connection: creation, error events, drain and destruction. */
#include <linux/jiffies.h>
#include <rdma/ib_addr.h>
#include <rdma/rdma_cm.h>

#include "compat.h"
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/peer.h"
#include "core/xport.h"
#include "lib/log.h"
#include "verbs/verbs.h"

/* Time limit for the last message of a peer's handshake. */
#define CM_EVENT_TIME	HZ
/* Time limit for a device to send the NAK of a refused request. */
#define NAK_TIME	(HZ / 10)
/* Time that a device with DAT_QUIRK_REPLAYS gets to end the last request of the peer. */
#define REQUEST_TIME	msecs_to_jiffies(20)
/*
 * Time limit for the device to complete all work requests of a QP that is in the error state.  A
 * device that works needs milliseconds, even for the longest queues.  A device that has failed may
 * never complete them, and its consumers still have to end in a time that a person waits for.
 */
#define DRAIN_TIME	(5 * HZ)
/* Time limit for the device to report the last receive that a QP has taken from the SRQ. */
#define LAST_WQE_TIME	HZ
/* Time that a device with DAT_QUIRK_NO_LAST_WQE gets to flush such a receive. */
#define FLUSH_TIME	msecs_to_jiffies(20)
/* Longest time between two polls of a step. */
#define MAX_DELAY	(HZ / 20UL)

void verbs_path(struct dat_conn *conn, struct dat_path *path)
{
	struct verbs_conn *vc = to_verbs_conn(conn);
	const struct rdma_route *route = &vc->id->route;

	lockdep_assert_held(&conn->ep->lock);
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

int verbs_allow_peer(struct dat_conn *conn, bool write)
{
	struct verbs_conn *vc = to_verbs_conn(conn);
	struct ib_qp_attr attr = {
		.qp_access_flags = IB_ACCESS_REMOTE_READ | (write ? IB_ACCESS_REMOTE_WRITE : 0),
	};
	int ret = 0;

	/* With DAT_QUIRK_OPEN_ACCESS, cm_accept_locked() has already enabled the access. */
	if (!(conn->dev->quirks & DAT_QUIRK_OPEN_ACCESS))
		ret = ib_modify_qp(vc->qp, &attr, IB_QP_ACCESS_FLAGS);
	vc->peer_let = !ret;
	return ret;
}

static void error_work(struct work_struct *work)
{
	struct verbs_conn *vc = container_of(work, struct verbs_conn, error_work);
	struct dat_ep *ep;

	rcu_read_lock();
	ep = READ_ONCE(vc->conn.ep);
	if (ep) {
		spin_lock_bh(&ep->lock);
		/* The connection stays with the EP at least until destroy_qp() has cleared @qp. */
		if (vc->qp)
			dat_conn_fail(&vc->conn, DAT_EV_BROKEN);
		spin_unlock_bh(&ep->lock);
	}
	rcu_read_unlock();
}

/* Handles an asynchronous event of the QP.  The driver may call this in hard interrupt. */
static void qp_event(struct ib_event *event, void *context)
{
	struct verbs_conn *vc = context;

	/* The works that this function queues need a connection that has an EP. */
	if (READ_ONCE(vc->stuck))
		return;
	switch (event->event) {
	case IB_EVENT_COMM_EST:
		dat_conn_imply_established(&vc->conn);
		break;
	case IB_EVENT_QP_ACCESS_ERR:
		WRITE_ONCE(vc->refused, true);
		fallthrough;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
		queue_work(dat_wq, &vc->error_work);
		break;
	case IB_EVENT_QP_LAST_WQE_REACHED:
		/* Pairs with the acquire in await_last_wqe(). */
		smp_store_release(&vc->last_wqe, true);
		break;
	default:
		break;
	}
}

/* Creates the QP.  @sq and @recvs: numbers of work requests that the SQ and the RQ must hold. */
static int create_qp(struct verbs_conn *vc, u32 sq, u32 recvs)
{
	struct dat_ep *ep = vc->conn.ep;
	struct ib_qp_init_attr init = {
		.event_handler	= qp_event,
		.qp_context	= vc,
		.send_cq	= vc->requests.vcq->ib,
		.recv_cq	= (vc->recvs.vcq ?: vc->requests.vcq)->ib,
		.srq		= ep->srq ? to_verbs_srq(ep->srq)->srq : NULL,
		.cap.max_send_wr	= sq,
		.cap.max_recv_wr	= recvs,
		.cap.max_send_sge	= ep->attr.max_request_iov,
		.cap.max_recv_sge	= ep->srq ? 0 : ep->attr.max_recv_iov,
		.cap.max_inline_data	= ep->attr.max_inline,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
	int ret;

	ret = rdma_create_qp(vc->id, to_verbs_pz(ep->pz)->pd, &init);
	if (ret)
		return ret;
	/* The entries of the ring may have that much, so the connection cannot do with less. */
	if (init.cap.max_inline_data < ep->attr.max_inline) {
		rdma_destroy_qp(vc->id);
		return -EOPNOTSUPP;
	}
	vc->qp = vc->id->qp;
	/* A peer that finds no receive retries after 0.64 ms, not after rdma_cm's 655 ms. */
	rdma_set_min_rnr_timer(vc->id, IB_RNR_TIMER_000_64);
	return 0;
}

/*
 * Returns the number of work requests that the SQ must hold, including the markers.  A bind posts
 * two work requests while no other request is in flight.
 *
 * A device rounds the number up to a power of two.  For a ring with more than DAT_BATCH entries,
 * additional entries for the markers would double the SQ or exceed the limit of the device.  So the
 * SQ of such a ring has no additional entries: while the ring is full, the last requests wait until
 * the first requests complete.
 */
static u32 sq_size(const struct dat_conn *conn, u32 recvs)
{
	const struct ib_device_attr *attrs = &verbs_device(conn->dev)->attrs;
	u32 entries = conn->ep->sq.entries;

	return min3(entries > DAT_BATCH ? entries : entries + DAT_SQ_MARKERS,
		    (u32)attrs->max_qp_wr, attrs->max_cqe - recvs);
}

/*
 * Creates the QP with an SQ of *@sq entries.  Halves *@sq while the device refuses the SQ, but not
 * below DAT_MIN_SQ.  The limit max_qp_wr of a device applies to the smallest work requests; larger
 * work requests may need a shorter SQ.  Requests that do not fit into the SQ wait in the ring.
 */
static int create_longest_qp(struct verbs_conn *vc, u32 *sq, u32 recvs)
{
	int ret;

	for (;;) {
		ret = create_qp(vc, *sq, recvs);
		if ((ret != -ENOMEM && ret != -EINVAL) || *sq <= DAT_MIN_SQ)
			return ret;
		*sq = max_t(u32, *sq / 2, DAT_MIN_SQ);
	}
}

/*
 * Gets the CQs and creates the QP of a connection whose rdma_cm id is bound to a device.  May
 * sleep.  Fails with -ENODEV if the device or the adapter port of the id is not that of the IA.
 */
int verbs_make_qp(struct dat_conn *conn)
{
	struct verbs_conn *vc = to_verbs_conn(conn);
	struct dat_ep *ep = conn->ep;
	struct ib_device *ibdev = verbs_device(conn->dev);
	u32 rq = dat_conn_max_recvs(conn), recvs = ep->srq ? ep->srq->window : rq;
	u32 sq = sq_size(conn, recvs);
	int ret;

	if (vc->id->device != ibdev || vc->id->port_num != ep->obj.ia->port)
		return -ENODEV;
	ret = verbs_cqs_get(vc, sq, rq);
	if (ret)
		return ret;
	ret = create_longest_qp(vc, &sq, rq);
	if (ret) {
		verbs_cqs_detach(vc, false);
		verbs_cqs_put(vc);
		return ret;
	}
	verbs_cqs_attach(vc);
	conn->comp_vector = vc->requests.vcq->vector;
	/* Reserve the entries of the SQ for the markers. */
	dat_conn_set_windows(conn, sq - DAT_SQ_MARKERS, &vc->requests.vcq->cq);
	/* A CQ that has failed before verbs_cqs_attach() did not end this connection. */
	if (verbs_cq_failed(vc))
		queue_work(dat_wq, &vc->error_work);
	return 0;
}

/*
 * Returns true if the QP may ever have been able to receive.  rdma_cm makes the QP of the active
 * side able to receive just before it reports ESTABLISHED, even if the connection is closing.
 */
static bool may_have_received(const struct verbs_conn *vc)
{
	return READ_ONCE(vc->established) || vc->conn.passive;
}

/* Returns true if the peer is unauthenticated and has no access to memory. */
static bool is_strangers(const struct verbs_conn *vc)
{
	return vc->conn.ep->traits & DAT_EP_STRANGER && !vc->peer_let;
}

/* Returns the number of jiffies until the current step has taken @limit jiffies. */
static unsigned long step_left(const struct verbs_conn *vc, unsigned long limit)
{
	unsigned long taken = jiffies - vc->step_began;

	return taken < limit ? limit - taken : 0;
}

/*
 * Returns the number of jiffies after which a step polls again.  The delays double, up to
 * MAX_DELAY.  Returns 0 if the step has taken @limit jiffies.
 */
static unsigned long step_again(const struct verbs_conn *vc, unsigned long limit)
{
	return min(step_left(vc, limit), clamp(jiffies - vc->step_began, 1UL, MAX_DELAY));
}

/*
 * Waits for handlers that started before the state of the connection became closing.  Then lets the
 * receive CQ notify of all receives: unsolicited ones may hold buffers of an SRQ, which others need
 * while this teardown waits for the peer.  From then on such receives may wake the consumer.
 */
static unsigned long end_handlers(struct verbs_conn *vc)
{
	rdma_lock_handler(vc->id);
	rdma_unlock_handler(vc->id);
	if (vc->qp)
		verbs_recv_notify_all(vc);
	return 0;
}

/*
 * Waits for a CM event of an accepted connection, because the CM ignores rdma_disconnect() while it
 * waits for the last message of the handshake.  The teardown does not wait for an unauthenticated
 * peer without access to memory, so that such a peer cannot delay the teardown.
 */
static unsigned long await_cm_event(struct verbs_conn *vc)
{
	if (!vc->conn.passive || !dat_conn_was_established(&vc->conn) || is_strangers(vc) ||
	    READ_ONCE(vc->cm_event_seen))
		return 0;
	return step_again(vc, CM_EVENT_TIME);
}

/*
 * Waits until the device has sent the NAK of a request that the device has refused.
 *
 * rxe reports a failed receive before it sends the NAK.  Since Linux 7.2, rxe also reports an
 * access error before the NAK.  If the QP is moved to the error state in between, the peer's
 * request completes as flushed instead of refused.  The device itself moves the QP to the error
 * state when the NAK is sent.  With a device that does not report the state, such as siw of Linux
 * 6.1, the wait takes all of NAK_TIME.
 */
static unsigned long await_nak(struct verbs_conn *vc)
{
	struct ib_qp_attr attr = {};
	struct ib_qp_init_attr init;

	if (ib_query_qp(vc->qp, &attr, IB_QP_STATE, &init) || attr.qp_state == IB_QPS_ERR)
		return 0;
	return step_again(vc, NAK_TIME);
}

/*
 * Gives the device time to end the last request of the peer, before the QP is moved to the error
 * state.
 *
 * A device with DAT_QUIRK_REPLAYS executes the request again if the state of the QP changes between
 * the completion of the request and the end of its execution.  Such a change is likely, because a
 * consumer often closes a connection because of the message that it has just received.
 *
 * Peers can provoke these delays.  So the delays are short, and the teardown does not wait for the
 * NAK to an unauthenticated peer without access to memory.
 */
static unsigned long await_request(struct verbs_conn *vc)
{
	if (!may_have_received(vc))
		return 0;
	if (READ_ONCE(vc->refused) && !is_strangers(vc))
		return await_nak(vc);
	if (vc->conn.dev->quirks & DAT_QUIRK_REPLAYS)
		return step_left(vc, REQUEST_TIME);
	return 0;
}

static unsigned long disconnect(struct verbs_conn *vc)
{
	rdma_disconnect(vc->id);
	return 0;
}

/* Handles the completion of the drain's marker.  Context: in verbs_poll(), ep->lock held. */
static void drain_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct verbs_conn *vc = container_of(wc->wr_cqe, struct verbs_conn, drain_cqe);

	vc->sq_drained = true;
	/* A CQ that has failed may have lost the completion of a request that was flushed. */
	vc->conn.drained = !verbs_cq_failed(vc);
	if (vc->draining)
		dat_conn_resume_close(&vc->conn);
}

/*
 * Moves the QP to the error state, and posts a marker to the SQ, which completes after all other
 * requests.  The SQ has room, because verbs_make_qp() has reserved an entry.  The RQ needs no
 * marker, because each receive has a completion.
 *
 * ib_drain_qp() is not used, because it waits without a time limit and occupies the worker.
 */
static unsigned long begin_drain(struct verbs_conn *vc)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_rdma_wr marker = {
		.wr.opcode	= IB_WR_RDMA_WRITE,
		.wr.send_flags	= IB_SEND_SIGNALED,
		.wr.wr_cqe	= &vc->drain_cqe,
	};
	struct dat_ep *ep = vc->conn.ep;

	vc->in_error = !ib_modify_qp(vc->qp, &attr, IB_QP_STATE);
	if (!vc->in_error)
		return 0;
	vc->drain_cqe.done = drain_done;
	spin_lock_bh(&ep->lock);
	/* mlx5 refuses the marker after an internal error, and flushes requests when polled. */
	vc->sq_drained = ib_post_send(vc->qp, &marker.wr, NULL);
	spin_unlock_bh(&ep->lock);
	return 0;
}

/*
 * Returns true if the CQs hold no more completions of a closing connection.  The number of buffers
 * that a QP has taken from an SRQ is unknown.
 */
static bool all_taken(struct verbs_conn *vc)
{
	struct dat_ep *ep = vc->conn.ep;
	bool all;

	spin_lock_bh(&ep->lock);
	all = vc->conn.drained && !dat_conn_recvs(&vc->conn) && !ep->srq;
	spin_unlock_bh(&ep->lock);
	return all;
}

/*
 * Takes the completions of a closing connection that are in its CQs at the call.  Others may keep
 * the CQs full, so this does nothing if none is left.  May sleep.
 */
static void empty_cqs(struct verbs_conn *vc)
{
	if (all_taken(vc))
		return;
	verbs_empty_cq(vc->requests.vcq);
	if (vc->recvs.vcq)
		verbs_empty_cq(vc->recvs.vcq);
}

/* Returns true if completions of the QP are still to come.  ep->lock is held. */
static bool must_drain(const struct verbs_conn *vc)
{
	/* The work requests of a QP that is not in error need not complete. */
	return vc->in_error && !verbs_cq_failed(vc) &&
	       (!vc->sq_drained || dat_conn_recvs(&vc->conn));
}

/*
 * Waits until all requests and receives of the QP have completed.  After DRAIN_TIME the teardown
 * continues nevertheless: once the QP is destroyed, the device does not use the memory of its work
 * requests, and the core reports these as flushed.
 */
static unsigned long await_drain(struct verbs_conn *vc)
{
	struct dat_ep *ep = vc->conn.ep;
	unsigned long delay = 0;
	bool more;

	empty_cqs(vc);
	spin_lock_bh(&ep->lock);
	more = must_drain(vc);
	if (more)
		delay = step_again(vc, DRAIN_TIME);
	vc->draining = delay;
	spin_unlock_bh(&ep->lock);
	if (more && !delay)
		dat_log("%s: the device does not complete the requests of a closed connection",
			ep->obj.ia->name);
	return delay;
}

/*
 * Waits for the receives that the QP has taken from an SRQ, because the drain of the SQ does not
 * cover such receives.  IB_EVENT_QP_LAST_WQE_REACHED says that the completions of all these
 * receives are in the CQ.  A QP that was never able to receive has taken no receives and reports no
 * event.
 *
 * Without the event, a wait of FLUSH_TIME makes it likely that the completions are in the CQ.  The
 * completions should be taken before the QP is destroyed, because some drivers drop them then, or
 * follow a pointer to the QP when such a completion is polled (qedr).  A buffer whose completion is
 * lost counts as posted until the SRQ is freed.
 */
static unsigned long await_last_wqe(struct verbs_conn *vc)
{
	if (!vc->conn.ep->srq || !may_have_received(vc) || !vc->in_error ||
	    verbs_cq_failed(vc))
		return 0;
	if (vc->conn.dev->quirks & DAT_QUIRK_NO_LAST_WQE)
		return step_left(vc, FLUSH_TIME);
	/* Pairs with the release in qp_event(): a poll of the CQ finds the completions. */
	return smp_load_acquire(&vc->last_wqe) ? 0 : step_again(vc, LAST_WQE_TIME);
}

static unsigned long destroy_qp(struct verbs_conn *vc)
{
	struct dat_ep *ep = vc->conn.ep;
	bool stuck;

	/* The destruction of the QP removes completions from the CQ, so take them first. */
	empty_cqs(vc);
	/* rdma_destroy_qp() does not tell whether the driver has destroyed the QP. */
	rdma_lock_handler(vc->id);
	vc->id->qp = NULL;
	rdma_unlock_handler(vc->id);
	stuck = ib_destroy_qp(vc->qp);
	if (stuck) {
		verbs_qp_stuck(vc);
		dat_log("%s: the driver cannot destroy a queue pair, which is kept",
			ep->obj.ia->name);
	}
	/* Report a pending error, because the error may be why the peer has disconnected. */
	if (cancel_work_sync(&vc->error_work))
		error_work(&vc->error_work);
	/*
	 * Take the completions that arrived after the drain: those of SRQ receives, or those of a
	 * device that was late.  Later ones do not count, because the core flushes the rest.
	 */
	empty_cqs(vc);
	verbs_cqs_detach(vc, stuck);
	spin_lock_bh(&ep->lock);
	vc->qp = NULL;
	spin_unlock_bh(&ep->lock);
	return 0;
}

/* A step of a teardown. */
struct verbs_step {
	unsigned long	(*run)(struct verbs_conn *vc);	/* returns jiffies to the next call, or 0 */
	bool		needs_qp;			/* the step is skipped without a QP */
};

static const struct verbs_step steps[] = {
	{ end_handlers },
	{ await_cm_event },
	{ await_request,	.needs_qp = true },
	{ disconnect },
	{ begin_drain,		.needs_qp = true },
	{ await_drain,		.needs_qp = true },
	{ await_last_wqe,	.needs_qp = true },
	{ destroy_qp,		.needs_qp = true },
};

unsigned long verbs_conn_quiesce(struct dat_conn *conn)
{
	struct verbs_conn *vc = to_verbs_conn(conn);
	unsigned long delay;

	/* verbs_connect() may have failed before it created the id. */
	if (!vc->id)
		return 0;
	for (; vc->step < ARRAY_SIZE(steps); vc->step++) {
		const struct verbs_step *step = &steps[vc->step];

		if (step->needs_qp && !vc->qp)
			continue;
		delay = step->run(vc);
		if (delay)
			return delay;
		vc->step_began = jiffies;
	}
	return 0;
}

void verbs_conn_unbind(struct dat_conn *conn)
{
	struct verbs_conn *vc = to_verbs_conn(conn);

	if (vc->id)
		rdma_destroy_id(vc->id);
	vc->id = NULL;
}

/* Ends the use of the CQs.  Keeps the connection if its QP still exists. */
void verbs_conn_exit(struct dat_conn *conn)
{
	struct verbs_conn *vc = to_verbs_conn(conn);

	if (vc->stuck) {
		verbs_stuck_keep(vc);
		return;
	}
	verbs_cqs_put(vc);
	dat_conn_gone(conn);
}

void verbs_conn_init(struct dat_conn *conn)
{
	struct verbs_conn *vc = to_verbs_conn(conn);

	INIT_WORK(&vc->error_work, error_work);
	verbs_cqs_init(vc);
}

int verbs_post_send(struct dat_conn *conn, struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	lockdep_assert_held(&conn->ep->lock);

	if (unlikely(conn->unordered))
		verbs_order_sends(wr);
	return ib_post_send(to_verbs_conn(conn)->qp, wr, bad);
}

/* Handles the completion of a marker.  Context: in verbs_poll(), ep->lock held. */
static void mark_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct verbs_conn *vc = container_of(wc->wr_cqe, struct verbs_conn, mark_cqe);
	u8 status = DAT_ST_TRANSPORT;

	if (wc->status == IB_WC_SUCCESS)
		status = DAT_ST_SUCCESS;
	else if (wc->status == IB_WC_WR_FLUSH_ERR)
		status = DAT_ST_FLUSHED;
	dat_queue_mark_done(&vc->conn, status);
}

/*
 * Posts a write of 0 bytes, which the peer's device completes without the peer's program.  The SQ
 * has room, because verbs_make_qp() has reserved an entry.
 */
int verbs_mark(struct dat_conn *conn)
{
	struct verbs_conn *vc = to_verbs_conn(conn);
	struct ib_rdma_wr marker = {
		.wr.opcode	= IB_WR_RDMA_WRITE,
		.wr.send_flags	= IB_SEND_SIGNALED,
		.wr.wr_cqe	= &vc->mark_cqe,
	};

	lockdep_assert_held(&conn->ep->lock);
	vc->mark_cqe.done = mark_done;
	return ib_post_send(vc->qp, &marker.wr, NULL);
}

int verbs_post_recv(struct dat_conn *conn, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad)
{
	lockdep_assert_held(&conn->ep->lock);

	return ib_post_recv(to_verbs_conn(conn)->qp, wr, bad);
}
