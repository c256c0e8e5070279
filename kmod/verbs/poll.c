// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Polls of the completion queues, and the handlers that poll.
 *
 * Connections share a CQ.  Who polls holds cq->lock until the completions have been reported, so
 * the completions of a connection are reported in the order in which the device has added them.
 * The completions are taken in batches.  The ep->lock of a connection is taken for a run of its
 * completions in a batch, and the pump runs at the end of the run.  The poll loops of ib_core are
 * not used, because such a loop would take the lock and run the pump for each completion.
 *
 * verbs_notified() polls the CQ directly if it runs in softirq and finds cq->lock free.  Otherwise
 * it schedules irq_poll, which calls verbs_irq_poll().
 *
 * A poll waits for the ep->lock of each connection that has completions, and then runs upcalls of
 * kernel consumers.  So no poll may begin inside a post, which holds an ep->lock on this CPU.  The
 * handler of a driver with DAT_QUIRK_NOTIFIES_IN_POST therefore only schedules irq_poll.
 *
 * ib_wc.qp tells whose completion it is.  The pointer may be that of a queue pair that is destroyed
 * already, so it is only compared; see use_attach().
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
 * Returns true if a successful receive holds a plain message that fits into @posted bytes.  The
 * peer chooses the opcode and the length, so check both.  A send that invalidates a key is a plain
 * message, because the invalidation can only revoke access.
 */
static __always_inline bool is_message(const struct ib_wc *wc, u32 posted)
{
	return wc->opcode == IB_WC_RECV && !(wc->wc_flags & IB_WC_WITH_IMM) &&
	       wc->byte_len <= posted;
}

/*
 * Converts a successful receive that holds no plain message.  The core refuses immediate data that
 * the EP has not asked for.  An RDMA write with immediate data consumes a receive but puts no data
 * into its segments, so its length has no limit here.
 */
static noinline void imm_to_completion(const struct ib_wc *wc, u32 posted,
				       struct dat_completion *c)
{
	c->extra.value = be32_to_cpu(wc->ex.imm_data);
	if (wc->opcode == IB_WC_RECV_RDMA_WITH_IMM)
		c->extra.kind = DAT_EXTRA_WRITE;
	else if (wc->opcode == IB_WC_RECV && wc->byte_len <= posted)
		c->extra.kind = DAT_EXTRA_IMM;
	else
		c->status = wc->byte_len > posted ? DAT_ST_LOCAL_LENGTH : DAT_ST_BAD_RESPONSE;
}

/* Converts a receive with IB_WC_SUCCESS.  Sets an error if the receive holds no valid message. */
static __always_inline void recv_to_completion(const struct ib_wc *wc, u32 posted,
					       struct dat_completion *c)
{
	c->status = DAT_ST_SUCCESS;
	c->len = wc->byte_len;
	if (unlikely(!is_message(wc, posted)))
		imm_to_completion(wc, posted, c);
	if (unlikely(wc->wc_flags & IB_WC_WITH_INVALIDATE)) {
		/* No message has both, so the device cannot be trusted. */
		if (c->extra.kind != DAT_EXTRA_NONE)
			c->status = DAT_ST_BAD_RESPONSE;
		c->extra = (struct dat_extra) { wc->ex.invalidate_rkey, DAT_EXTRA_KEY };
	}
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
	c->extra.kind = DAT_EXTRA_NONE;
	c->unproven = false;
	if (unlikely(wc->status != IB_WC_SUCCESS))
		failure_to_completion(vc, wc, c);
	else if (slot->recv)
		recv_to_completion(wc, slot->len, c);
	else
		c->status = DAT_ST_SUCCESS;
}

/*
 * Reports the completions of @vc from @wc up to @end.  A bind or a drain sets done() in the CQE of
 * the work request.  A NULL done() means that the CQE belongs to a struct dat_slot.
 */
static __always_inline void wc_complete(struct verbs_cq *vcq, struct verbs_conn *vc,
					struct ib_wc *wc, const struct ib_wc *end)
{
	struct dat_completion *c = vcq->done;
	struct dat_conn *conn = &vc->conn;
	u32 k = 0;

	for (; wc != end; wc++) {
		if (likely(!wc->wr_cqe->done)) {
			to_completion(vc, wc, &c[k++]);
			continue;
		}
		dat_complete(conn, c, k);
		k = 0;
		wc->wr_cqe->done(vcq->ib, wc);
	}
	dat_complete(conn, c, k);
}

/*
 * Reports the completions of one queue pair from @wc up to @end, and runs the pump.  Returns the
 * number of work requests that the pump has posted.  A connection that uses a CQ has an EP.
 */
static __always_inline u32 run_report(struct verbs_cq *vcq, struct ib_wc *wc,
				      const struct ib_wc *end)
{
	const struct verbs_cq_use *use = verbs_cq_find(vcq, wc->qp);
	u32 sq_done, rq_done, head;
	struct dat_conn *conn;
	struct dat_ep *ep;

	if (unlikely(!use))
		return 0;
	conn = &use->vc->conn;
	ep = conn->ep;
	spin_lock(&ep->lock);
	sq_done = ep->sq.done;
	rq_done = ep->rq.done;
	head = ep->sq.head + ep->rq.head;
	wc_complete(vcq, use->vc, wc, end);
	dat_conn_completed(conn, sq_done, rq_done);
	head = ep->sq.head + ep->rq.head - head;
	spin_unlock(&ep->lock);
	return head;
}

/* Reports the first @n completions in vcq->wc.  Returns the number of work requests posted. */
static __always_inline u32 poll_report(struct verbs_cq *vcq, u32 n)
{
	struct ib_wc *wc = vcq->wc, *end = wc + n, *next;
	u32 posted = 0;

	for (; wc != end; wc = next) {
		for (next = wc + 1; next != end && next->qp == wc->qp; next++)
			;
		posted += run_report(vcq, wc, next);
	}
	return posted;
}

/*
 * Takes at most @budget completions from a CQ, reports them, and adds their number to *@taken.
 * Returns true if the CQ may hold more.
 *
 * Each queue pair that has completions may have full rings.  So the poll ends early when the pumps
 * have posted a slice.  Context: cq->lock held, softirqs disabled, no ep->lock held.
 */
bool verbs_poll(struct verbs_cq *vcq, u32 budget, u32 *taken)
{
	u32 posted = 0, done = 0;
	int n;

	lockdep_assert_held(&vcq->cq.lock);
	do {
		n = ib_poll_cq(vcq->ib, min_t(u32, budget - done, DAT_BATCH), vcq->wc);
		if (n <= 0)
			break;
		done += n;
		posted += poll_report(vcq, n);
	} while (n == DAT_BATCH && done < budget && posted < DAT_SLICE);
	*taken += done;
	return done == budget || (n == DAT_BATCH && posted >= DAT_SLICE);
}

/* Arms the CQ.  Returns true if the CQ may hold completions that will trigger no notification. */
static bool poll_rearm(struct ib_cq *ib)
{
	return ib_req_notify_cq(ib, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0;
}

int verbs_irq_poll(struct irq_poll *iop, int budget)
{
	struct verbs_cq *vcq = container_of(iop, struct verbs_cq, iop);
	struct dat_cq *cq = &vcq->cq;
	bool more, polled;
	u32 taken = 0;

	dat_complete_begin(cq);
	spin_lock_bh(&cq->lock);
	more = verbs_poll(vcq, budget, &taken);
	polled = taken && !more && dat_busy_join(cq);
	/*
	 * Call irq_poll_complete() while cq->lock is held.  The CQ may leave busy polling, and a
	 * handler may find completions that it leaves, as soon as the lock is free.  Both then call
	 * irq_poll_sched(), which has no effect before irq_poll_complete().
	 */
	if (!more)
		irq_poll_complete(iop);
	spin_unlock_bh(&cq->lock);
	dat_complete_end(cq);
	if (more)
		return budget;
	if (!polled && poll_rearm(vcq->ib))
		irq_poll_sched(iop);
	return taken;
}

/*
 * Polls the CQ if cq->lock is free, then arms the CQ unless it has joined busy polling.  Returns
 * true if the CQ must be polled again.  The caller is in softirq, and not inside a post.
 */
static bool poll_try(struct verbs_cq *vcq)
{
	struct dat_cq *cq = &vcq->cq;
	bool more, polled;
	u32 taken = 0;

	if (!spin_trylock(&cq->lock))
		return true;
	dat_complete_begin(cq);
	more = !vcq->abandoned && verbs_poll(vcq, VERBS_CQ_BUDGET, &taken);
	polled = vcq->abandoned || (taken && !more && dat_busy_join(cq));
	spin_unlock(&cq->lock);
	dat_complete_end(cq);
	return more || (!polled && poll_rearm(vcq->ib));
}

/*
 * Returns true if the handler of a CQ, which runs now, may poll.  Unless this CPU serves a softirq,
 * the interrupted code may hold a lock of this module.
 */
static bool may_poll(const struct verbs_cq *vcq)
{
	return in_serving_softirq() && !in_hardirq() && !irqs_disabled() &&
	       !(vcq->vdev->dev->quirks & DAT_QUIRK_NOTIFIES_IN_POST);
}

/* Handles a notification of the CQ.  The driver may call this in any context. */
void verbs_notified(struct ib_cq *ib, void *context)
{
	struct verbs_cq *vcq = context;

	if (!may_poll(vcq) || poll_try(vcq))
		irq_poll_sched(&vcq->iop);
}

/* Polls a CQ that has joined, unless another thread holds cq->lock: that thread polls. */
void verbs_look(struct dat_cq *cq)
{
	u32 taken = 0;

	if (!spin_trylock_bh(&cq->lock))
		return;
	if (cq->link.round)
		verbs_poll(to_verbs_cq(cq), VERBS_CQ_BUDGET, &taken);
	if (taken)
		cq->seen = true;
	spin_unlock_bh(&cq->lock);
}

void verbs_run(struct dat_ep *ep)
{
	struct dat_conn *conn;

	rcu_read_lock();
	conn = READ_ONCE(ep->conn);
	if (conn && READ_ONCE(conn->cq))
		verbs_look(conn->cq);
	rcu_read_unlock();
}

void verbs_rearm(struct dat_cq *cq)
{
	lockdep_assert_held(&cq->lock);

	irq_poll_sched(&to_verbs_cq(cq)->iop);
}

/*
 * Takes the completions that are in the CQ at the call, and perhaps later ones, also those of other
 * connections.  Their number at the call is at most vcq->reserved.  Does not take all later
 * completions: peers that keep sending would keep the teardown here.  Context: process; may sleep.
 */
void verbs_empty_cq(struct verbs_cq *vcq)
{
	u32 most = READ_ONCE(vcq->reserved), taken = 0;
	bool more;

	do {
		spin_lock_bh(&vcq->cq.lock);
		more = verbs_poll(vcq, VERBS_CQ_BUDGET, &taken);
		spin_unlock_bh(&vcq->cq.lock);
		cond_resched();
	} while (more && taken < most);
}
