// SPDX-License-Identifier: GPL-2.0
/*
 * The completion queue of a connection: which context polls it, and when.
 *
 * Completions are taken in batches under ep->lock, and the rings are looked at once per
 * batch.  ib_core's own poll loops would take the lock, and pump, for each of them.
 *
 * The device's notification is answered on the spot if that is possible: in softirq, with the
 * lock free.  Else irq_poll answers it a little later.
 */
#include "verbs/verbs.h"

#define CQ_BUDGET	64	/* completions before others have their turn */

/* Context: ep->lock held.  Return: how many were taken, at most @budget. */
static int cq_take(struct verbs_conn *vc, struct dat_ep *ep, int budget)
{
	struct dat_conn *conn = &vc->conn;
	int done = 0, n;

	lockdep_assert_held(&ep->lock);
	do {
		n = ib_poll_cq(vc->cq, min(budget - done, DAT_BATCH), vc->wc);
		if (n <= 0)
			break;
		verbs_complete(vc, vc->cq, n);
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
	struct verbs_conn *vc = container_of(iop, struct verbs_conn, iop);
	bool polled = false;
	struct dat_ep *ep;
	int done = 0;

	rcu_read_lock();
	ep = READ_ONCE(vc->conn.ep);
	if (ep) {
		dat_complete_begin(&vc->conn);
		spin_lock_bh(&ep->lock);
		done = cq_take(vc, ep, budget);
		polled = done && done < budget && dat_busy_join(&vc->conn);
		/* A leave schedules this, which has no effect before the poll is complete. */
		if (polled)
			irq_poll_complete(iop);
		spin_unlock_bh(&ep->lock);
		dat_complete_end(&vc->conn);
	}
	rcu_read_unlock();
	if (polled || done == budget)
		return done;
	irq_poll_complete(iop);
	/* Without its EP the connection is over: nothing comes any more. */
	if (ep && cq_rearm(vc->cq))
		irq_poll_sched(iop);
	return done;
}

/* True if the queue has to be looked at again. */
static bool cq_try(struct verbs_conn *vc, struct dat_ep *ep)
{
	bool polled;
	int done;

	if (!spin_trylock(&ep->lock))
		return true;
	dat_complete_begin(&vc->conn);
	done = cq_take(vc, ep, CQ_BUDGET);
	/* Kernel consumers don't poll. */
	polled = !ep->sq.kernel && done && done < CQ_BUDGET && dat_busy_join(&vc->conn);
	spin_unlock(&ep->lock);
	dat_complete_end(&vc->conn);
	return done == CQ_BUDGET || (!polled && cq_rearm(vc->cq));
}

/*
 * Called by the driver in any context, perhaps from within a post of this CPU, which holds
 * the lock.
 */
static void cq_notified(struct ib_cq *cq, void *context)
{
	struct verbs_conn *vc = context;
	struct dat_ep *ep;
	bool more;

	/* A hard interrupt may have come while this CPU holds a lock of this module. */
	if (!in_serving_softirq() || in_hardirq() || irqs_disabled()) {
		irq_poll_sched(&vc->iop);
		return;
	}
	/* A softirq is to RCU what rcu_read_lock() is. */
	ep = READ_ONCE(vc->conn.ep);
	more = ep && cq_try(vc, ep);
	if (more)
		irq_poll_sched(&vc->iop);
}

/**
 * verbs_cq_create() - make the completion queue of a connection
 * @vc: has none
 * @entries: completions that it must hold
 *
 * Context: may sleep.  Return: 0, or what verbs say.
 */
int verbs_cq_create(struct verbs_conn *vc, u32 entries)
{
	struct ib_device *ibdev = verbs_device(vc->conn.dev);
	struct ib_cq_init_attr attr = {
		.cqe = entries,
		.comp_vector = vc->conn.ep->obj.id % max(ibdev->num_comp_vectors, 1),
	};
	struct ib_cq *cq;

	irq_poll_init(&vc->iop, DAT_BATCH, cq_irq_poll);
	cq = ib_create_cq(ibdev, cq_notified, NULL, vc, &attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	vc->cq = cq;
	ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	return 0;
}

int verbs_take(struct dat_conn *conn)
{
	return cq_take(to_verbs_conn(conn), conn->ep, CQ_BUDGET);
}

void verbs_rearm(struct dat_conn *conn)
{
	irq_poll_sched(&to_verbs_conn(conn)->iop);
}

/**
 * verbs_take_rest() - take what is left, once nothing is added any more
 * @vc: connection with queues, drained
 *
 * Context: process.
 */
void verbs_take_rest(struct verbs_conn *vc)
{
	struct dat_ep *ep = vc->conn.ep;

	spin_lock_bh(&ep->lock);
	while (cq_take(vc, ep, CQ_BUDGET) == CQ_BUDGET)
		dat_ep_breathe(ep);
	while (verbs_recv_take(&vc->conn) >= CQ_BUDGET)
		dat_ep_breathe(ep);
	spin_unlock_bh(&ep->lock);
}

/**
 * verbs_cq_destroy() - destroy the completion queues
 * @vc: without QP; may have none
 *
 * Context: may sleep.
 */
void verbs_cq_destroy(struct verbs_conn *vc)
{
	if (!vc->cq)
		return;
	irq_poll_disable(&vc->iop);
	/* A handler that has said it is done may be about to arm the queue. */
	synchronize_rcu();
	verbs_recv_cq_destroy(vc);
	ib_destroy_cq(vc->cq);
	vc->cq = NULL;
}
