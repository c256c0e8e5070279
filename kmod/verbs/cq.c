// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The completion queue of a connection, and the handlers that poll the CQ.
 *
 * The handlers take completions in batches under ep->lock, and run the pump once per batch.  The
 * poll loops of ib_core are not used, because they would take the lock and run the pump for each
 * completion.
 *
 * cq_notified() polls the CQ directly if it runs in softirq and finds ep->lock free.  Otherwise
 * cq_notified() schedules irq_poll, which calls cq_irq_poll().
 */
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/event/evd.h"
#include "verbs/verbs.h"

/* Arms the CQ.  Returns true if the CQ may hold completions that will trigger no notification. */
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
		done = verbs_poll(vc, vc->cq, budget);
		polled = done && done < budget && dat_busy_join(&vc->conn);
		/*
		 * Call irq_poll_complete() while ep->lock is held.  After the unlock, the
		 * connection may leave busy polling, and verbs_rearm() then calls irq_poll_sched(),
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
	/* Without an EP, the teardown has drained the connection, and no completions follow. */
	if (ep && cq_rearm(vc->cq))
		irq_poll_sched(iop);
	return done;
}

/* Polls the CQ if ep->lock is free.  Returns true if the CQ has to be polled again. */
static bool cq_try(struct verbs_conn *vc, struct dat_ep *ep)
{
	bool polled;
	int done;

	if (!spin_trylock(&ep->lock))
		return true;
	dat_complete_begin(&vc->conn);
	done = verbs_poll(vc, vc->cq, VERBS_CQ_BUDGET);
	polled = done && done < VERBS_CQ_BUDGET && dat_busy_join(&vc->conn);
	spin_unlock(&ep->lock);
	dat_complete_end(&vc->conn);
	return done == VERBS_CQ_BUDGET || (!polled && cq_rearm(vc->cq));
}

/* The driver may call this in any context, even inside a post on this CPU, which holds ep->lock. */
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
	struct verbs_conn *vc = to_verbs_conn(conn);

	return verbs_poll(vc, vc->cq, VERBS_CQ_BUDGET);
}

void verbs_rearm(struct dat_conn *conn)
{
	irq_poll_sched(&to_verbs_conn(conn)->iop);
}

/* Takes the completions that a drain has left in the CQs.  Context: process; the QP is drained. */
void verbs_take_rest(struct verbs_conn *vc)
{
	struct dat_ep *ep = vc->conn.ep;

	spin_lock_bh(&ep->lock);
	while (verbs_poll(vc, vc->cq, VERBS_CQ_BUDGET) == VERBS_CQ_BUDGET)
		dat_ep_cond_resched(ep);
	while (verbs_recv_take(&vc->conn) == VERBS_CQ_BUDGET)
		dat_ep_cond_resched(ep);
	spin_unlock_bh(&ep->lock);
}

/*
 * The QP is destroyed.  A running cq_irq_poll() may still arm the CQ, even after
 * irq_poll_complete().  It has ended after an RCU grace period.  May sleep.
 */
void verbs_cq_stop(struct verbs_conn *vc)
{
	irq_poll_disable(&vc->iop);
}

/* Unless there never was a QP, an RCU grace period has passed since verbs_cq_stop().  May sleep. */
void verbs_cq_destroy(struct verbs_conn *vc)
{
	verbs_recv_cq_destroy(vc);
	ib_destroy_cq(vc->cq);
	vc->cq = NULL;
}
