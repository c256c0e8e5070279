// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Solicited connections (DAT_COMPLETION_SOLICITED_WAIT_FLAG): a receive notifies the consumer only
 * if the sender has asked for a notification, or if the receive has failed.
 *
 * A completion does not tell whether the message was solicited.  But a CQ that is armed with
 * IB_CQ_SOLICITED notifies of solicited and failed receives only.  So the receives of a solicited
 * connection have a CQ of their own.
 *
 * Unsolicited receives stay in the receive CQ until a thread polls the CQ.  A dequeue that finds
 * the EVD empty polls the CQ.  A wait polls the CQ before it sleeps and after it wakes up.  The
 * handler of the next CQ notification polls the CQ as well.  The events of unsolicited receives are
 * queued without a notification, like those of UNSIGNALLED receives.  After the CQ has raised a
 * notification, the handler first queues the events of a batch of completed receives, and then
 * wakes the consumer.  If more receives have completed, the handler runs again.
 *
 * Receives in the CQ of a connection with an SRQ use up buffers that other connections need, so a
 * timer polls the CQ.  A timer also polls the CQ of a connection whose ring has more receives than
 * the device can hold: the others go to the device only after the CQ has been polled.
 *
 * A transport without take_unsolicited() knows which messages are solicited.  It reports each
 * receive at once, and calls dat_solicited_notify() for the solicited ones.
 */
#include <linux/jiffies.h>

#include "compat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/event/evd.h"

/*
 * Polls the receive CQ of a connection, if the connection is in the round @r; NULL: in any round.
 * Returns the number of receives, or -ENOTCONN.  The caller's RCU read lock keeps the connection,
 * its EP and its CQ allocated.  No spinlock of this module is held.
 */
static int sol_take(struct dat_conn *conn, const struct dat_round *r)
{
	struct dat_ep *ep = READ_ONCE(conn->ep);
	const struct dat_round *joined;

	if (!ep)
		return -ENOTCONN;
	spin_lock_bh(&ep->lock);
	joined = conn->sol.link.round;
	spin_unlock_bh(&ep->lock);
	if (!joined || (r && joined != r))
		return -ENOTCONN;
	return conn->dev->ops->take_unsolicited(conn);
}

#define SOL_PERIOD	(HZ / 10UL)	/* longest time between two calls of sol_timer() */

/*
 * Polls the receive CQ of a connection.  Polls again in the next jiffy if there were receives,
 * because one poll takes only some of the completions.  Otherwise doubles the delay, up to
 * SOL_PERIOD: soon after a receive, a sender that had found no buffer may try again.
 *
 * A timer runs in softirq, which is an RCU read side.  Only this function uses sol.delay once the
 * timer is pending.
 */
static void sol_timer(struct timer_list *timer)
{
	struct dat_conn *conn = container_of(timer, struct dat_conn, sol.timer);
	int n = sol_take(conn, NULL);
	unsigned long delay;

	if (n < 0)
		return;
	delay = n ? 1 : 2 * conn->sol.delay;
	conn->sol.delay = min(delay, SOL_PERIOD);
	mod_timer(timer, jiffies + conn->sol.delay);
}

/*
 * Adds a solicited connection to evd->solicited, where threads find the connection to poll its
 * receive CQ.  ep->lock is held.
 */
static void sol_join(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;
	struct dat_round *r = &ep->recv_evd->solicited;

	spin_lock(&r->lock);
	dat_round_join(r, &conn->sol.link);
	spin_unlock(&r->lock);
	if (!ep->srq && ep->rq.entries <= ep->rq.window)
		return;
	conn->sol.delay = SOL_PERIOD;
	mod_timer(&conn->sol.timer, jiffies + SOL_PERIOD);
}

/*
 * Lets threads poll the receive CQ of a solicited connection; ignores other connections.  The
 * connection is established, and its early receives have been reported.  ep->lock is held.
 */
void dat_solicited_join(struct dat_conn *conn)
{
	lockdep_assert_held(&conn->ep->lock);
	if (!conn->solicited)
		return;
	if (conn->dev->ops->take_unsolicited)
		sol_join(conn);
	if (conn->sol.early)
		dat_evd_notify(conn->ep->recv_evd);
}

/* Removes a closing connection from evd->solicited, if it is in that round.  ep->lock is held. */
void dat_solicited_leave(struct dat_conn *conn)
{
	lockdep_assert_held(&conn->ep->lock);
	dat_round_leave(&conn->sol.link);
}

/*
 * Notifies the consumer, after the receive CQ has raised a notification and the completions of the
 * CQ have been polled.  Before conn->live is set, leaves the notification to dat_solicited_join().
 * Context: ep->lock held, softirqs disabled.
 */
void dat_solicited_notify(struct dat_conn *conn)
{
	lockdep_assert_held(&conn->ep->lock);
	if (conn->live)
		dat_evd_notify(conn->ep->recv_evd);
	else
		conn->sol.early = true;
}

/*
 * Polls the solicited connections of an EVD in turn, until one of them has receives.  The next call
 * begins with the connection after that one.  Returns true if a receive was found.  Context: any
 * but hard interrupt; no spinlock of this module held.
 */
bool dat_solicited_look_all(struct dat_evd *evd)
{
	struct dat_round *r = &evd->solicited;
	u32 n = READ_ONCE(r->count);
	struct dat_round_link *link;
	int done = 0;

	rcu_read_lock();
	while (n-- && done <= 0) {
		link = dat_round_turn(r);
		if (!link)
			break;
		done = sol_take(container_of(link, struct dat_conn, sol.link), r);
	}
	rcu_read_unlock();
	return done > 0;
}

void dat_solicited_init_conn(struct dat_conn *conn)
{
	timer_setup(&conn->sol.timer, sol_timer, 0);
}

/* Stops the timer of a connection that is being freed.  May sleep. */
void dat_solicited_exit_conn(struct dat_conn *conn)
{
	dat_timer_delete_sync(&conn->sol.timer);
}
