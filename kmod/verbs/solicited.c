// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The receive CQ of a connection with the completion flag SOLICITED_WAIT; see
 * core/event/solicited.c.  The send queue of such a connection has a separate CQ, which is armed
 * for all completions, so that each completed request runs the pump.
 *
 * recv_answer() arms the receive CQ before it polls the CQ.  A solicited message that arrives
 * between the two steps triggers another notification.  An unsolicited message triggers a
 * notification only with DAT_QUIRK_NO_SOLICITED, or while the connection is closing.
 */
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/event/evd.h"
#include "verbs/verbs.h"

/* The pump that follows a poll takes a slice, which must be all that the poll has made room for. */
static_assert(VERBS_CQ_BUDGET < DAT_SLICE);

/*
 * Takes completions of receives, both solicited and unsolicited, and returns their number.  If the
 * number is VERBS_CQ_BUDGET, the CQ may hold more.  ep->lock is held.
 */
int verbs_recv_take(struct dat_conn *conn)
{
	struct verbs_conn *vc = to_verbs_conn(conn);

	lockdep_assert_held(&conn->ep->lock);
	return vc->recv_cq ? verbs_poll(vc, vc->recv_cq, VERBS_CQ_BUDGET) : 0;
}

/*
 * Arms the receive CQ for solicited messages.  Arms the CQ for all completions with
 * DAT_QUIRK_NO_SOLICITED, and if the connection is closing, because a teardown also drains
 * unsolicited receives.
 */
static void recv_arm(struct verbs_conn *vc)
{
	const struct dat_conn *conn = &vc->conn;
	bool all = dat_conn_is_closing(conn) || conn->dev->quirks & DAT_QUIRK_NO_SOLICITED;

	ib_req_notify_cq(vc->recv_cq, all ? IB_CQ_NEXT_COMP : IB_CQ_SOLICITED);
}

/*
 * Arms and polls the receive CQ, and notifies the consumer of solicited messages.  Returns true if
 * the CQ may hold more completions.  ep->lock is held.
 */
static bool recv_answer(struct verbs_conn *vc)
{
	struct dat_conn *conn = &vc->conn;
	int done;

	lockdep_assert_held(&conn->ep->lock);
	recv_arm(vc);
	done = verbs_recv_take(conn);
	dat_solicited_notify(conn);
	return done == VERBS_CQ_BUDGET;
}

/* Polls the receive CQ.  A softirq is an RCU read side, so the EP stays allocated. */
static void recv_task(struct tasklet_struct *t)
{
	struct verbs_conn *vc = from_tasklet(vc, t, recv_task);
	struct dat_ep *ep = READ_ONCE(vc->conn.ep);
	bool more = false;

	if (!ep)
		return;
	dat_complete_begin(&vc->conn);
	spin_lock(&ep->lock);
	if (verbs_takes(vc, ep))
		more = recv_answer(vc);
	spin_unlock(&ep->lock);
	dat_complete_end(&vc->conn);
	if (more)
		tasklet_schedule(t);
}

/*
 * Handles a notification of the receive CQ.  The driver may call this in any context, even while
 * this CPU holds ep->lock, so the tasklet polls the CQ.
 */
static void recv_notified(struct ib_cq *cq, void *context)
{
	struct verbs_conn *vc = context;

	tasklet_schedule(&vc->recv_task);
}

/* Creates and arms the receive CQ.  @vc has no QP yet, and conn.solicited is set.  May sleep. */
int verbs_recv_cq_create(struct verbs_conn *vc, u32 entries)
{
	struct ib_device *ibdev = verbs_device(vc->conn.dev);
	struct ib_cq_init_attr attr = {
		.cqe = entries,
		.comp_vector = vc->conn.comp_vector,
	};
	struct ib_cq *cq;

	tasklet_setup(&vc->recv_task, recv_task);
	cq = ib_create_cq(ibdev, recv_notified, verbs_cq_event, vc, &attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	vc->recv_cq = cq;
	recv_arm(vc);
	return 0;
}

/*
 * Schedules the tasklet of a closing connection.  The tasklet arms the receive CQ for all receives,
 * not only for solicited ones.  Context: any.
 */
void verbs_recv_notify_all(struct verbs_conn *vc)
{
	if (vc->recv_cq)
		tasklet_schedule(&vc->recv_task);
}

/* Destroys the receive CQ.  @vc has no QP, and no handler uses the EP any more.  May sleep. */
void verbs_recv_cq_destroy(struct verbs_conn *vc)
{
	if (!vc->recv_cq)
		return;
	ib_destroy_cq(vc->recv_cq);
	vc->recv_cq = NULL;
	tasklet_kill(&vc->recv_task);
}
