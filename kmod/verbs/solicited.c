// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The receive CQ of a connection with the completion flag SOLICITED_WAIT; see
 * core/event/solicited.c.  No other connection uses that CQ.  The requests of such a connection
 * complete in a CQ of their EVD, which is armed for all completions, so that each completed request
 * runs the pump.
 *
 * recv_answer() arms the receive CQ before it polls the CQ.  A solicited message that arrives
 * between the two steps triggers another notification.  An unsolicited message triggers a
 * notification only with DAT_QUIRK_NO_SOLICITED, or while the connection is closing.
 */
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/event/evd.h"
#include "verbs/verbs.h"

/* The pump that follows a poll takes a slice, which must be all that the poll has made room for. */
static_assert(VERBS_CQ_BUDGET < DAT_SLICE);

/*
 * Takes completions of receives, both solicited and unsolicited, and returns their number.  The CQ
 * may hold more.  The caller's RCU read lock, or the teardown, keeps the CQ.
 */
int verbs_recv_take(struct dat_conn *conn)
{
	struct verbs_cq *vcq = READ_ONCE(to_verbs_conn(conn)->recvs.vcq);
	u32 taken = 0;

	if (!vcq)
		return 0;
	spin_lock_bh(&vcq->cq.lock);
	verbs_poll(vcq, VERBS_CQ_BUDGET, &taken);
	spin_unlock_bh(&vcq->cq.lock);
	return taken;
}

/*
 * Arms the receive CQ for solicited messages.  Arms the CQ for all completions with
 * DAT_QUIRK_NO_SOLICITED, and if the connection is closing, because a teardown also drains
 * unsolicited receives.
 */
void verbs_recv_arm(struct verbs_cq *vcq)
{
	const struct dat_conn *conn = &vcq->solicited->conn;
	bool all = dat_conn_is_closing(conn) || conn->dev->quirks & DAT_QUIRK_NO_SOLICITED;

	ib_req_notify_cq(vcq->ib, all ? IB_CQ_NEXT_COMP : IB_CQ_SOLICITED);
}

/*
 * Arms and polls the receive CQ, and notifies the consumer of solicited messages.  Returns true if
 * the CQ may hold more completions.  cq->lock is held, so the connection stays with its EP.
 */
static bool recv_answer(struct verbs_cq *vcq)
{
	struct dat_conn *conn = &vcq->solicited->conn;
	struct dat_ep *ep = conn->ep;
	u32 taken = 0;
	bool more;

	lockdep_assert_held(&vcq->cq.lock);
	verbs_recv_arm(vcq);
	more = verbs_poll(vcq, VERBS_CQ_BUDGET, &taken);
	spin_lock(&ep->lock);
	dat_solicited_notify(conn);
	spin_unlock(&ep->lock);
	return more;
}

/* Polls the receive CQ, unless the connection has left it. */
static void recv_task(struct tasklet_struct *t)
{
	struct verbs_cq *vcq = from_tasklet(vcq, t, recv_task);
	struct dat_cq *cq = &vcq->cq;
	bool more = false;

	dat_complete_begin(cq);
	spin_lock(&cq->lock);
	if (vcq->solicited)
		more = recv_answer(vcq);
	spin_unlock(&cq->lock);
	dat_complete_end(cq);
	if (more)
		tasklet_schedule(t);
}

/*
 * Handles a notification of the receive CQ.  The driver may call this in any context, even while
 * this CPU holds ep->lock, so the tasklet polls the CQ.
 */
void verbs_recv_notified(struct ib_cq *ib, void *context)
{
	struct verbs_cq *vcq = context;

	tasklet_schedule(&vcq->recv_task);
}

/* Makes a CQ the receive CQ of the solicited connection @vc. */
void verbs_recv_init(struct verbs_cq *vcq, struct verbs_conn *vc)
{
	tasklet_setup(&vcq->recv_task, recv_task);
	vcq->solicited = vc;
}

/*
 * Schedules the tasklet of a closing connection.  The tasklet arms the receive CQ for all receives,
 * not only for solicited ones.  Context: any.
 */
void verbs_recv_notify_all(struct verbs_conn *vc)
{
	if (vc->conn.solicited)
		tasklet_schedule(&vc->recvs.vcq->recv_task);
}
