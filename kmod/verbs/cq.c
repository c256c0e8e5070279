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
#include "core/dat.h"
#include "verbs/verbs.h"

#define CQ_BUDGET	64	/* completions before others have their turn */

/* Context: ep->lock held.  Return: how many were taken, at most @budget. */
static int cq_take(struct dat_conn *conn, struct dat_ep *ep, int budget)
{
	int done = 0, n;

	lockdep_assert_held(&ep->lock);
	do {
		n = ib_poll_cq(conn->cq, min(budget - done, DAT_BATCH), conn->wc);
		if (n <= 0)
			break;
		verbs_complete(conn, conn->cq, n);
		done += n;
	} while (n == DAT_BATCH && done < budget);
	if (done && conn->live && !dat_queue_settled(conn)) {
		dat_queue_pump_rq(conn);
		dat_conn_progress(conn);
	}
	return done;
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
		done = cq_take(conn, ep, budget);
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
	return cq_take(conn, conn->ep, CQ_BUDGET);
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
	while (cq_take(conn, ep, CQ_BUDGET) == CQ_BUDGET)
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
