// SPDX-License-Identifier: GPL-2.0
/*
 * The completion queue for the receives of a connection that asks for SOLICITED_WAIT; see
 * core/solicited.c.  The queue of its requests is armed as usual, so a request in flight still
 * brings the pump back.
 *
 * The queue is armed before it is emptied.  A solicited message that arrives in between notifies
 * again, and an unsolicited one never does.
 */
#include "verbs/verbs.h"

#define RECV_BUDGET	64	/* completions before others have their turn */

/**
 * verbs_recv_take() - take receives, solicited or not
 * @conn: connection; one without such a queue has none
 *
 * Context: ep->lock held.  Return: how many were taken; from RECV_BUDGET on there may be more.
 */
int verbs_recv_take(struct dat_conn *conn)
{
	struct verbs_conn *vc = to_verbs_conn(conn);
	int done = 0, n;

	lockdep_assert_held(&conn->ep->lock);
	if (!vc->recv_cq)
		return 0;
	do {
		n = ib_poll_cq(vc->recv_cq, DAT_BATCH, vc->wc);
		if (n <= 0)
			break;
		verbs_complete(vc, vc->recv_cq, n);
		done += n;
	} while (n == DAT_BATCH && done < RECV_BUDGET);
	if (done && conn->live)
		dat_queue_pump_rq(conn);
	return done;
}

/* Take what a notification announces.  Return: true if there may be more. */
static bool recv_answer(struct verbs_conn *vc)
{
	struct dat_conn *conn = &vc->conn;
	int done;

	/* The end of a connection waits for its receives, with or without the flag. */
	ib_req_notify_cq(vc->recv_cq,
			 dat_conn_is_closing(conn) ? IB_CQ_NEXT_COMP : IB_CQ_SOLICITED);
	done = verbs_recv_take(conn);
	dat_solicited_notify(conn);
	return done >= RECV_BUDGET;
}

/* A softirq is to RCU what rcu_read_lock() is, and RCU keeps the EP. */
static void recv_task(struct tasklet_struct *t)
{
	struct verbs_conn *vc = from_tasklet(vc, t, recv_task);
	struct dat_ep *ep = READ_ONCE(vc->conn.ep);
	bool more = false;

	if (!ep)
		return;
	dat_complete_begin(&vc->conn);
	spin_lock(&ep->lock);
	/* A connection that has left its EP has no EVD any more. */
	if (vc->conn.ep == ep)
		more = recv_answer(vc);
	spin_unlock(&ep->lock);
	dat_complete_end(&vc->conn);
	if (more)
		tasklet_schedule(t);
}

/* Called by the driver in any context, perhaps under ep->lock. */
static void recv_notified(struct ib_cq *cq, void *context)
{
	struct verbs_conn *vc = context;

	tasklet_schedule(&vc->recv_task);
}

void verbs_recv_cq_init(struct verbs_conn *vc)
{
	tasklet_setup(&vc->recv_task, recv_task);
}

/**
 * verbs_recv_cq_create() - make the completion queue of the receives
 * @vc: solicited, without QP
 * @entries: completions that it must hold
 *
 * Context: may sleep.  Return: 0, or what verbs say.
 */
int verbs_recv_cq_create(struct verbs_conn *vc, u32 entries)
{
	struct ib_device *ibdev = verbs_device(vc->conn.dev);
	struct ib_cq_init_attr attr = {
		.cqe = entries,
		.comp_vector = vc->conn.ep->obj.id % max(ibdev->num_comp_vectors, 1),
	};
	struct ib_cq *cq = ib_create_cq(ibdev, recv_notified, NULL, vc, &attr);

	if (IS_ERR(cq))
		return PTR_ERR(cq);
	vc->recv_cq = cq;
	ib_req_notify_cq(cq, IB_CQ_SOLICITED);
	return 0;
}

/**
 * verbs_recv_notify_all() - from now on every receive notifies
 * @vc: closing, with QP; solicited or not
 *
 * Context: any.
 */
void verbs_recv_notify_all(struct verbs_conn *vc)
{
	if (vc->recv_cq)
		tasklet_schedule(&vc->recv_task);
}

/**
 * verbs_recv_cq_destroy() - destroy the completion queue of the receives
 * @vc: without QP and EP, no reader of conn->ep is left; solicited or not
 *
 * Context: may sleep.
 */
void verbs_recv_cq_destroy(struct verbs_conn *vc)
{
	if (vc->recv_cq)
		ib_destroy_cq(vc->recv_cq);
	vc->recv_cq = NULL;
	tasklet_kill(&vc->recv_task);
}
