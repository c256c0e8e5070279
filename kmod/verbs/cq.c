// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The completion queue of a connection, and the handlers that poll the CQ.
 *
 * The handlers take completions in batches under ep->lock, and run the pump after a poll.  The
 * poll loops of ib_core are not used, because such a loop would take the lock and run the pump for
 * each completion.
 *
 * cq_notified() polls the CQ directly if it runs in softirq and finds ep->lock free.  Otherwise
 * cq_notified() schedules irq_poll, which calls cq_irq_poll().
 */
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/event/evd.h"
#include "core/xport.h"
#include "verbs/verbs.h"

static const u8 wc_status[] = {
	[IB_WC_SUCCESS]			= DAT_ST_SUCCESS,
	[IB_WC_LOC_LEN_ERR]		= DAT_ST_LOCAL_LENGTH,
	[IB_WC_LOC_QP_OP_ERR]		= DAT_ST_LOCAL_EP,
	[IB_WC_LOC_EEC_OP_ERR]		= DAT_ST_TRANSPORT,
	[IB_WC_LOC_PROT_ERR]		= DAT_ST_LOCAL_PROTECTION,
	[IB_WC_WR_FLUSH_ERR]		= DAT_ST_FLUSHED,
	[IB_WC_MW_BIND_ERR]		= DAT_ST_RMR_FAILED,
	[IB_WC_BAD_RESP_ERR]		= DAT_ST_BAD_RESPONSE,
	[IB_WC_LOC_ACCESS_ERR]		= DAT_ST_LOCAL_PROTECTION,
	[IB_WC_REM_INV_REQ_ERR]		= DAT_ST_REMOTE_RESPONDER,
	[IB_WC_REM_ACCESS_ERR]		= DAT_ST_REMOTE_ACCESS,
	[IB_WC_REM_OP_ERR]		= DAT_ST_REMOTE_RESPONDER,
	[IB_WC_RETRY_EXC_ERR]		= DAT_ST_TRANSPORT,
	[IB_WC_RNR_RETRY_EXC_ERR]	= DAT_ST_RECEIVER_NOT_READY,
	[IB_WC_LOC_RDD_VIOL_ERR]	= DAT_ST_LOCAL_PROTECTION,
	[IB_WC_REM_INV_RD_REQ_ERR]	= DAT_ST_REMOTE_RESPONDER,
	[IB_WC_REM_ABORT_ERR]		= DAT_ST_REMOTE_RESPONDER,
	[IB_WC_INV_EECN_ERR]		= DAT_ST_TRANSPORT,
	[IB_WC_INV_EEC_STATE_ERR]	= DAT_ST_TRANSPORT,
	[IB_WC_FATAL_ERR]		= DAT_ST_TRANSPORT,
	[IB_WC_RESP_TIMEOUT_ERR]	= DAT_ST_RECEIVER_NOT_READY,
	[IB_WC_GENERAL_ERR]		= DAT_ST_TRANSPORT,
};

static u8 wc_to_status(const struct ib_wc *wc, const struct dat_dev *dev, bool recv)
{
	/* The segments were valid when posted, so the message must be longer than the receive. */
	if (recv && wc->status == IB_WC_LOC_QP_OP_ERR && dev->quirks & DAT_QUIRK_LONG_IS_QP_OP)
		return DAT_ST_LOCAL_LENGTH;
	if ((unsigned int)wc->status >= ARRAY_SIZE(wc_status))
		return DAT_ST_TRANSPORT;
	return wc_status[wc->status];
}

/*
 * Returns true if a successful receive holds a message that fits into @posted bytes.  The peer
 * chooses the opcode and the length, so check both.  An RDMA write with immediate data is no
 * message, because the write consumes a receive but puts no data into the segments of the receive.
 * A send that invalidates a key is a message, because the invalidation can only revoke access.
 */
static __always_inline bool is_message(const struct ib_wc *wc, u32 posted)
{
	return wc->opcode == IB_WC_RECV && !(wc->wc_flags & IB_WC_WITH_IMM) &&
	       wc->byte_len <= posted;
}

/* Converts a receive with IB_WC_SUCCESS.  Sets an error if the receive holds no valid message. */
static __always_inline void recv_to_completion(const struct ib_wc *wc, u32 posted,
					       struct dat_completion *c)
{
	c->status = DAT_ST_SUCCESS;
	c->len = wc->byte_len;
	if (unlikely(!is_message(wc, posted)))
		c->status = wc->byte_len > posted ? DAT_ST_LOCAL_LENGTH : DAT_ST_BAD_RESPONSE;
	if (unlikely(wc->wc_flags & IB_WC_WITH_INVALIDATE))
		c->rkey = wc->ex.invalidate_rkey;
}

static noinline void failure_to_completion(struct verbs_conn *vc, const struct ib_wc *wc,
					   struct dat_completion *c)
{
	bool recv = c->slot->recv;

	c->status = wc_to_status(wc, vc->conn.dev, recv);
	c->unproven = vc->conn.unordered;
	/* The device refuses the peer's message.  The teardown waits for the NAK of the device. */
	if (recv && wc->status != IB_WC_WR_FLUSH_ERR)
		WRITE_ONCE(vc->refused, true);
}

static __always_inline void to_completion(struct verbs_conn *vc, const struct ib_wc *wc,
					  struct dat_completion *c)
{
	struct dat_slot *slot = container_of(wc->wr_cqe, struct dat_slot, cqe);

	c->slot = slot;
	c->rkey = 0;
	c->unproven = false;
	if (unlikely(wc->status != IB_WC_SUCCESS))
		failure_to_completion(vc, wc, c);
	else if (slot->recv)
		recv_to_completion(wc, slot->len, c);
	else
		c->status = DAT_ST_SUCCESS;
}

/*
 * Handles the @n completions in vc->wc.  A bind or a drain sets done() in the CQE of the work
 * request.  A NULL done() means that the CQE belongs to a struct dat_slot.
 */
static void wc_complete(struct verbs_conn *vc, struct ib_cq *cq, int n)
{
	struct ib_wc *wc = vc->wc, *end = wc + n;
	struct dat_completion *c = vc->done;
	struct dat_conn *conn = &vc->conn;
	u32 k = 0;

	for (; wc != end; wc++) {
		if (likely(!wc->wr_cqe->done)) {
			to_completion(vc, wc, &c[k++]);
			continue;
		}
		dat_complete(conn, c, k);
		k = 0;
		wc->wr_cqe->done(cq, wc);
	}
	dat_complete(conn, c, k);
}

/*
 * Takes at most @budget completions from @cq, reports the completions, and returns their number.
 * If the number is @budget, the CQ may hold more.  Context: ep->lock held, softirqs disabled.
 */
int verbs_poll(struct verbs_conn *vc, struct ib_cq *cq, int budget)
{
	const struct dat_ep *ep = vc->conn.ep;
	u32 sq_done = ep->sq.done, rq_done = ep->rq.done;
	int done = 0, n;

	lockdep_assert_held(&ep->lock);
	do {
		n = ib_poll_cq(cq, min(budget - done, DAT_BATCH), vc->wc);
		if (n <= 0)
			break;
		wc_complete(vc, cq, n);
		done += n;
	} while (n == DAT_BATCH && done < budget);
	if (done)
		dat_conn_completed(&vc->conn, sq_done, rq_done);
	return done;
}

/* Arms the CQ.  Returns true if the CQ may hold completions that will trigger no notification. */
static bool cq_rearm(struct ib_cq *cq)
{
	return ib_req_notify_cq(cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0;
}

static int cq_irq_poll(struct irq_poll *iop, int budget)
{
	struct verbs_conn *vc = container_of(iop, struct verbs_conn, iop);
	bool polled = false, open = false;
	struct dat_ep *ep;
	int done = 0;

	rcu_read_lock();
	ep = READ_ONCE(vc->conn.ep);
	if (ep) {
		dat_complete_begin(&vc->conn);
		spin_lock_bh(&ep->lock);
		open = verbs_takes(vc, ep);
		if (open)
			done = verbs_poll(vc, vc->cq, budget);
		polled = done && done < budget && dat_busy_join(&vc->conn);
		/*
		 * Call irq_poll_complete() while ep->lock is held.  The connection may leave busy
		 * polling as soon as ep->lock is free.  verbs_rearm() then calls irq_poll_sched(),
		 * which has no effect before irq_poll_complete().
		 */
		if (polled)
			irq_poll_complete(iop);
		spin_unlock_bh(&ep->lock);
		dat_complete_end(&vc->conn);
	}
	rcu_read_unlock();
	if (polled || done == budget)
		return done;
	irq_poll_complete(iop);
	if (open && cq_rearm(vc->cq))
		irq_poll_sched(iop);
	return done;
}

/*
 * Polls the CQ if ep->lock is free, then arms the CQ unless the connection has joined busy polling.
 * Returns true if the CQ must be polled again.  The caller is in softirq.
 */
static bool cq_try(struct verbs_conn *vc, struct dat_ep *ep)
{
	bool polled, open;
	int done = 0;

	if (!spin_trylock(&ep->lock))
		return true;
	dat_complete_begin(&vc->conn);
	open = verbs_takes(vc, ep);
	if (open)
		done = verbs_poll(vc, vc->cq, VERBS_CQ_BUDGET);
	polled = done && done < VERBS_CQ_BUDGET && dat_busy_join(&vc->conn);
	spin_unlock(&ep->lock);
	dat_complete_end(&vc->conn);
	return done == VERBS_CQ_BUDGET || (open && !polled && cq_rearm(vc->cq));
}

/*
 * Handles a notification of the CQ.  The driver may call this in any context, even inside a post,
 * which holds ep->lock on this CPU.
 */
static void cq_notified(struct ib_cq *cq, void *context)
{
	struct verbs_conn *vc = context;
	struct dat_ep *ep;
	bool more;

	/* Unless this CPU serves a softirq, the interrupted code may hold a lock of this module. */
	if (!in_serving_softirq() || in_hardirq() || irqs_disabled()) {
		irq_poll_sched(&vc->iop);
		return;
	}
	/* A softirq is an RCU read side, so the EP stays allocated. */
	ep = READ_ONCE(vc->conn.ep);
	more = ep && cq_try(vc, ep);
	if (more)
		irq_poll_sched(&vc->iop);
}

/*
 * Handles an asynchronous event of a CQ.  A CQ in error has lost completions and delivers no more,
 * so the connection ends.  The driver may call this in hard interrupt.
 */
void verbs_cq_event(struct ib_event *event, void *context)
{
	struct verbs_conn *vc = context;

	if (event->event != IB_EVENT_CQ_ERR)
		return;
	WRITE_ONCE(vc->cq_failed, true);
	queue_work(dat_wq, &vc->error_work);
}

/*
 * Chooses the completion vector with the fewest connections, and counts the connection.
 * Connections that are made at the same time may choose the same vector.
 */
static u32 vector_get(struct verbs_dev *vdev)
{
	u32 best = 0, i;

	for (i = 1; i < vdev->nvectors; i++)
		if (atomic_read(&vdev->vector_users[i]) < atomic_read(&vdev->vector_users[best]))
			best = i;
	atomic_inc(&vdev->vector_users[best]);
	return best;
}

static void vector_put(struct verbs_dev *vdev, u32 vector)
{
	atomic_dec(&vdev->vector_users[vector]);
}

/* Creates and arms a CQ for @entries completions, and chooses the completion vector.  May sleep. */
int verbs_cq_create(struct verbs_conn *vc, u32 entries)
{
	struct verbs_dev *vdev = to_verbs_dev(vc->conn.dev);
	struct ib_cq_init_attr attr = {
		.cqe = entries,
		.comp_vector = vector_get(vdev),
	};
	struct ib_cq *cq;

	irq_poll_init(&vc->iop, DAT_BATCH, cq_irq_poll);
	cq = ib_create_cq(vdev->ibdev, cq_notified, verbs_cq_event, vc, &attr);
	if (IS_ERR(cq)) {
		vector_put(vdev, attr.comp_vector);
		return PTR_ERR(cq);
	}
	vc->conn.comp_vector = attr.comp_vector;
	vc->cq = cq;
	ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	return 0;
}

int verbs_take(struct dat_conn *conn)
{
	struct verbs_conn *vc = to_verbs_conn(conn);

	return verbs_poll(vc, vc->cq, VERBS_CQ_BUDGET);
}

void verbs_rearm(struct dat_conn *conn)
{
	lockdep_assert_held(&conn->ep->lock);

	irq_poll_sched(&to_verbs_conn(conn)->iop);
}

/* Takes the completions that are in @cq at the call.  Their number is at most cq->cqe. */
static void take_rest_of(struct verbs_conn *vc, struct ib_cq *cq)
{
	int left = cq->cqe;

	while (verbs_poll(vc, cq, VERBS_CQ_BUDGET) == VERBS_CQ_BUDGET && left > VERBS_CQ_BUDGET) {
		left -= VERBS_CQ_BUDGET;
		dat_ep_cond_resched(vc->conn.ep);
	}
}

/*
 * Takes the completions that were in the CQs of a closing connection at the call, and perhaps later
 * ones.  Does not take all later completions: if the QP could not be moved to the error state, the
 * QP still receives into the buffers of an SRQ, and a peer that keeps sending would keep the
 * teardown here.  The QP may already be destroyed.  Context: process; may sleep.
 */
void verbs_take_rest(struct verbs_conn *vc)
{
	struct dat_ep *ep = vc->conn.ep;

	spin_lock_bh(&ep->lock);
	take_rest_of(vc, vc->cq);
	if (vc->recv_cq)
		take_rest_of(vc, vc->recv_cq);
	spin_unlock_bh(&ep->lock);
}

/*
 * Stops irq_poll for the CQ.  The caller has destroyed the QP.  A running cq_irq_poll() may still
 * arm the CQ, even after irq_poll_complete(), but has ended after an RCU grace period.  May sleep.
 */
void verbs_cq_stop(struct verbs_conn *vc)
{
	irq_poll_disable(&vc->iop);
}

/*
 * Destroys both CQs.  If a QP was ever created, the caller has waited for an RCU grace period since
 * verbs_cq_stop().  May sleep.
 */
void verbs_cq_destroy(struct verbs_conn *vc)
{
	verbs_recv_cq_destroy(vc);
	ib_destroy_cq(vc->cq);
	vc->cq = NULL;
	/* No CQ can report an error any more. */
	cancel_work_sync(&vc->error_work);
	vector_put(to_verbs_dev(vc->conn.dev), vc->conn.comp_vector);
}
