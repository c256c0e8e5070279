// SPDX-License-Identifier: GPL-2.0
/*
 * The completion queue of a connection: who polls it, and when.
 *
 * Completions are taken in batches under ep->lock, and the rings are looked at once per
 * batch.  ib_core's own poll loops would take the lock, and pump, for each of them.
 *
 * The device's notification is answered on the spot if that is possible: in softirq,
 * with nobody holding the lock.  Else irq_poll does it a little later.
 */
#include <linux/indirect_call_wrapper.h>

#include "core/dat.h"
#include "core/trace.h"

#define CQ_BUDGET	64	/* completions before others have their turn */

/*
 * The most common of completions are successes of a kernel consumer's, who is told.  Events of
 * those that follow each other are written where they stay, and told of, under one lock.  What
 * comes of any other is the same, or found out, by the longer way of wc.c.
 */

/* Flags of a slot: those, and the operations of binds and registrations. */
#define RARE_FLAGS	(DAT_SQE_SUPPRESS | DAT_SQE_UNSIGNALLED | 4 << DAT_KRING_OP_SHIFT)
static_assert(DAT_OP_RMR_BIND == 4 && DAT_OP_LAST == 5 && DAT_KOP_LAST <= 8);

static __always_inline const struct dat_slot *cq_slot(const struct ib_wc *wc)
{
	return container_of(wc->wr_cqe, struct dat_slot, cqe);
}

/* A receive, or the oldest request but for @ahead that are being reported. */
static __always_inline bool cq_is_plain(const struct dat_conn *conn, const struct dat_ep *ep,
					const struct ib_wc *wc, u32 ahead, bool recv)
{
	const struct dat_slot *slot = cq_slot(wc);

	/* A window may have been closed with it. */
	if (recv && unlikely(wc->wc_flags & IB_WC_WITH_INVALIDATE))
		return false;
	if (wc->wr_cqe->done != (recv ? dat_wc_recv_done : dat_wc_send_done) ||
	    unlikely(wc->status != IB_WC_SUCCESS || slot->flags & RARE_FLAGS))
		return false;
	if (recv)
		return likely(dat_wc_is_message(wc, slot->len));
	return slot->at == (u16)(ep->sq.done + ahead) && conn->inflight != ahead;
}

static __always_inline void cq_write_event(struct dat_ep *ep, struct dat_eqe *eqe,
					   const struct ib_wc *wc, bool recv)
{
	const struct dat_slot *slot = cq_slot(wc);
	u32 len = recv ? wc->byte_len : slot->len;
	u64 cookie = slot->cookie;

	eqe->type = DAT_EV_DTO;
	eqe->status = DAT_ST_SUCCESS;
	eqe->flags = recv ? DAT_EQE_RECV : dat_kring_op(slot->flags) << DAT_EQE_KOP_SHIFT;
	eqe->owner = ep->obj.user_data;
	eqe->cookie = cookie;
	eqe->data = len;
	trace_dat_complete(ep, recv, cookie, DAT_ST_SUCCESS, len);
}

/* From @wc, which is plain, to the first that is not.  Return: that. */
static __always_inline struct ib_wc *cq_write_run(struct dat_conn *conn, struct dat_ep *ep,
						  struct dat_evd *evd, struct ib_wc *wc,
						  const struct ib_wc *end, bool recv)
{
	struct dat_evring *r = &evd->ring;
	u32 tail = r->tail, room = r->entries - dat_kevring_count(r), n = 0;
	struct dat_eqe *eqe;

	lockdep_assert_held(&evd->lock);
	do {
		/* What finds no room is lost, and reported, by the longer way. */
		if (unlikely(n == room))
			break;
		eqe = dat_kevring_entry(r, tail + n++);
		cq_write_event(ep, eqe, wc, recv);
		trace_dat_event(evd, eqe, true);
	} while (++wc != end && cq_is_plain(conn, ep, wc, n, recv));
	if (unlikely(!n))
		return wc;
	r->tail = tail + n;
	if (recv) {
		ep->rq.done += n;
	} else {
		ep->sq.done += n;
		conn->inflight -= n;
	}
	evd->overflowed = false;
	evd->sink->wake(evd);
	return wc;
}

/* Those at the front that are plain and of one kind.  Return: the first of the others. */
static __always_inline struct ib_wc *cq_take_run(struct dat_conn *conn, struct dat_ep *ep,
						 struct ib_wc *wc, const struct ib_wc *end,
						 bool recv)
{
	struct dat_evd *evd = recv ? ep->recv_evd : ep->request_evd;

	if (unlikely(!evd || (recv && (!conn->live || ep->srq))))
		return wc;
	spin_lock(&evd->lock);
	wc = cq_write_run(conn, ep, evd, wc, end, recv);
	spin_unlock(&evd->lock);
	return wc;
}

static __always_inline struct ib_wc *cq_take_plain(struct dat_conn *conn, struct dat_ep *ep,
						   struct ib_wc *wc, const struct ib_wc *end)
{
	if (!ep->sq.kernel || unlikely(ep->freed))
		return wc;
	if (cq_is_plain(conn, ep, wc, 0, true))
		return cq_take_run(conn, ep, wc, end, true);
	if (likely(cq_is_plain(conn, ep, wc, 0, false)))
		return cq_take_run(conn, ep, wc, end, false);
	return wc;
}

static __always_inline void cq_take_batch(struct dat_conn *conn, struct dat_ep *ep, int n)
{
	struct ib_wc *wc = conn->wc, *end = wc + n;

	while (wc != end) {
		wc = cq_take_plain(conn, ep, wc, end);
		if (likely(wc == end))
			break;
		/* Nearly all are of these two kinds. */
		INDIRECT_CALL_2(wc->wr_cqe->done, dat_wc_recv_done, dat_wc_send_done,
				conn->cq, wc);
		wc++;
	}
}

/* Context: ep->lock held.  Return: how many were taken, at most @budget. */
static __always_inline int cq_take(struct dat_conn *conn, struct dat_ep *ep, int budget)
{
	int done = 0, n;

	lockdep_assert_held(&ep->lock);
	do {
		n = ib_poll_cq(conn->cq, min(budget - done, DAT_BATCH), conn->wc);
		if (n <= 0)
			break;
		cq_take_batch(conn, ep, n);
		done += n;
	} while (n == DAT_BATCH && done < budget);
	if (done && conn->live && !dat_queue_settled(conn)) {
		dat_queue_pump_rq(conn);
		dat_conn_progress(conn);
	}
	return done;
}

/* The same for those who are not in a hurry. */
static noinline int cq_take_some(struct dat_conn *conn, struct dat_ep *ep, int budget)
{
	return cq_take(conn, ep, budget);
}

/* More to do: the queue is not empty, or was not when it was armed. */
static bool cq_rearm(struct ib_cq *cq)
{
	return ib_req_notify_cq(cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0;
}

static int cq_irq_poll(struct irq_poll *iop, int budget)
{
	struct dat_conn *conn = container_of(iop, struct dat_conn, iop);
	bool polled = false;
	struct dat_ep *ep;
	int done = 0;

	rcu_read_lock();
	ep = READ_ONCE(conn->ep);
	if (ep) {
		dat_complete_begin(ep);
		spin_lock_bh(&ep->lock);
		done = cq_take_some(conn, ep, budget);
		polled = done && done < budget && dat_busy_join(conn);
		/* Who makes it leave, schedules us: in vain as long as we are not complete. */
		if (polled)
			irq_poll_complete(iop);
		spin_unlock_bh(&ep->lock);
		dat_complete_end(ep);
	}
	rcu_read_unlock();
	if (polled || done == budget)
		return done;
	irq_poll_complete(iop);
	/* Without its EP the connection is over: nothing comes any more. */
	if (ep && cq_rearm(conn->cq))
		irq_poll_sched(iop);
	return done;
}

/* True if somebody has to look again. */
static bool cq_try(struct dat_conn *conn, struct dat_ep *ep)
{
	bool polled;
	int done;

	if (!spin_trylock(&ep->lock))
		return true;
	dat_complete_begin(ep);
	done = cq_take(conn, ep, CQ_BUDGET);
	/* Kernel consumers don't poll. */
	polled = !ep->sq.kernel && done && done < CQ_BUDGET && dat_busy_join(conn);
	spin_unlock(&ep->lock);
	dat_complete_end(ep);
	return done == CQ_BUDGET || (!polled && cq_rearm(conn->cq));
}

/*
 * Called by the driver in any context, perhaps from within a post of ours, which holds
 * the lock.
 */
static void cq_notified(struct ib_cq *cq, void *context)
{
	struct dat_conn *conn = context;
	struct dat_ep *ep;
	bool more;

	/* A hard interrupt may have come while this CPU holds a lock of ours. */
	if (!in_serving_softirq() || in_hardirq() || irqs_disabled()) {
		irq_poll_sched(&conn->iop);
		return;
	}
	/* A softirq is to RCU what rcu_read_lock() is. */
	ep = READ_ONCE(conn->ep);
	more = ep && cq_try(conn, ep);
	if (more)
		irq_poll_sched(&conn->iop);
}

/**
 * dat_cq_create() - make the completion queue of a connection
 * @conn: has none
 * @entries: completions that it must hold
 *
 * Context: may sleep.  Return: 0, or what verbs say.
 */
int dat_cq_create(struct dat_conn *conn, u32 entries)
{
	struct ib_device *ibdev = conn->dev->ibdev;
	struct ib_cq_init_attr attr = {
		.cqe = entries,
		.comp_vector = conn->ep->obj.id % max(ibdev->num_comp_vectors, 1),
	};
	struct ib_cq *cq;

	irq_poll_init(&conn->iop, DAT_BATCH, cq_irq_poll);
	cq = ib_create_cq(ibdev, cq_notified, NULL, conn, &attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	conn->cq = cq;
	ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	return 0;
}

/**
 * dat_cq_take() - take completions without having been notified
 * @conn: connection
 *
 * Context: ep->lock held.  Return: how many; there may be more.
 */
int dat_cq_take(struct dat_conn *conn)
{
	return cq_take_some(conn, conn->ep, CQ_BUDGET);
}

/**
 * dat_cq_schedule() - look at the queue soon, and arm it when it is empty
 * @conn: has a queue
 *
 * Context: any.
 */
void dat_cq_schedule(struct dat_conn *conn)
{
	irq_poll_sched(&conn->iop);
}

/**
 * dat_cq_take_rest() - take what is left, once nothing is added any more
 * @conn: without QP
 *
 * Context: process.
 */
void dat_cq_take_rest(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;

	spin_lock_bh(&ep->lock);
	while (cq_take_some(conn, ep, CQ_BUDGET) == CQ_BUDGET)
		dat_ep_breathe(ep);
	spin_unlock_bh(&ep->lock);
}

/**
 * dat_cq_destroy() - destroy the completion queues
 * @conn: without QP; may have none
 *
 * Context: may sleep.
 */
void dat_cq_destroy(struct dat_conn *conn)
{
	if (!conn->cq)
		return;
	irq_poll_disable(&conn->iop);
	/* A handler that has said it is done may be about to arm the queue. */
	synchronize_rcu();
	dat_solicited_destroy(conn);
	ib_destroy_cq(conn->cq);
	conn->cq = NULL;
}
