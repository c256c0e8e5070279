// SPDX-License-Identifier: GPL-2.0
/*
 * The receive CQ of a connection that asks for SOLICITED_WAIT; see core/solicited.c.  The CQ of its
 * requests is armed as usual, so the completion of a request runs the pump.
 *
 * The receive CQ is armed before it is polled: a solicited message that arrives in between notifies
 * again, an unsolicited one does not.
 */
#include "core/conn.h"
#include "core/ep.h"
#include "core/evd.h"
#include "core/queue.h"
#include "verbs/verbs.h"

#define RECV_BUDGET	64	/* completions taken before the lock is dropped */

/**
 * verbs_recv_take() - take receives, solicited or not
 * @conn: connection, with or without a receive CQ
 *
 * Context: ep->lock held.  Return: number taken, 0 without a receive CQ; if it is at least
 * RECV_BUDGET, there may be more.
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

/* Takes receives after a notification.  Returns true if there may be more. */
static bool recv_answer(struct verbs_conn *vc)
{
	struct dat_conn *conn = &vc->conn;
	int done;

	/* A closing connection waits for all receives, solicited or not. */
	ib_req_notify_cq(vc->recv_cq,
			 dat_conn_is_closing(conn) ? IB_CQ_NEXT_COMP : IB_CQ_SOLICITED);
	done = verbs_recv_take(conn);
	dat_solicited_notify(conn);
	return done >= RECV_BUDGET;
}

/* Runs in softirq, which is an RCU read side, so the EP stays. */
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

/* Handles a notification.  The driver may call this in any context, also under ep->lock. */
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
 * verbs_recv_cq_create() - make the receive CQ
 * @vc: solicited connection without QP
 * @entries: number of completions that the CQ must hold
 *
 * Context: may sleep.  Return: 0, or an error of verbs.
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
 * verbs_recv_notify_all() - arm the receive CQ for all receives
 * @vc: closing connection with QP, solicited or not
 *
 * Context: any.
 */
void verbs_recv_notify_all(struct verbs_conn *vc)
{
	if (vc->recv_cq)
		tasklet_schedule(&vc->recv_task);
}

/**
 * verbs_recv_cq_destroy() - destroy the receive CQ
 * @vc: connection without QP and EP, solicited or not; no reader of conn->ep is left
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
