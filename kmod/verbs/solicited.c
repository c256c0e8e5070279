// SPDX-License-Identifier: GPL-2.0
/*
 * Receives that notify only if the sender or an error asks for it (SOLICITED_WAIT).
 *
 * A completion does not say whether its message was solicited; only the notification of a
 * completion queue tells.  So such a connection has a second queue, for its receives alone,
 * and arms it for solicited completions.  The queue of its requests is armed as ever, so a
 * request in flight still brings the pump back.
 *
 * Unsolicited receives stay in the second queue until somebody looks: a dequeue that finds the
 * EVD empty, a wait before it sleeps and when it ends, or the next notification.  Their events
 * are written like those of UNSIGNALLED receives.  The notification wakes the EVD once, after
 * all that has arrived is in the ring.
 *
 * The queue is armed before it is emptied.  A solicited message that arrives in between
 * notifies again, and an unsolicited one never does.
 *
 * Buffers of an SRQ serve other connections as well, so a timer returns those that nobody
 * looks at.
 */
#include <linux/jiffies.h>

#include "compat.h"
#include "core/dat.h"
#include "verbs/verbs.h"

#define SOL_BUDGET	64		/* completions before others have their turn */
#define SOL_PERIOD	(HZ / 10)	/* of the timer of a connection with an SRQ */

/* Context: ep->lock held.  Return: how many were taken; from SOL_BUDGET on there may be more. */
static int sol_take(struct dat_conn *conn, struct dat_ep *ep)
{
	int done = 0, n;

	lockdep_assert_held(&ep->lock);
	do {
		n = ib_poll_cq(conn->recv_cq, DAT_BATCH, conn->wc);
		if (n <= 0)
			break;
		verbs_complete(conn, conn->recv_cq, n);
		done += n;
	} while (n == DAT_BATCH && done < SOL_BUDGET);
	if (done && conn->live)
		dat_queue_pump_rq(conn);
	return done;
}

/* Take what a notification announces.  Return: true if there may be more. */
static bool sol_answer(struct dat_conn *conn, struct dat_ep *ep)
{
	int done;

	lockdep_assert_held(&ep->lock);
	/* Whatever ends a connection waits for its receives, with or without the flag. */
	ib_req_notify_cq(conn->recv_cq,
			 dat_conn_is_closing(conn) ? IB_CQ_NEXT_COMP : IB_CQ_SOLICITED);
	done = sol_take(conn, ep);
	if (conn->live)
		dat_evd_notify(ep->recv_evd);
	else
		conn->sol.early = true;
	return done >= SOL_BUDGET;
}

/* A softirq is to RCU what rcu_read_lock() is, and RCU keeps the EP. */
static void sol_task(struct tasklet_struct *t)
{
	struct dat_conn *conn = from_tasklet(conn, t, sol.task);
	struct dat_ep *ep = READ_ONCE(conn->ep);
	bool more = false;

	if (!ep)
		return;
	dat_complete_begin(ep);
	spin_lock(&ep->lock);
	/* A connection that has left its EP has no EVD any more. */
	if (conn->ep == ep)
		more = sol_answer(conn, ep);
	spin_unlock(&ep->lock);
	dat_complete_end(ep);
	if (more)
		tasklet_schedule(t);
}

/* Called by the driver in any context, perhaps under ep->lock. */
static void sol_notified(struct ib_cq *cq, void *context)
{
	struct dat_conn *conn = context;

	tasklet_schedule(&conn->sol.task);
}

static void sol_timer(struct timer_list *timer)
{
	struct dat_conn *conn = container_of(timer, struct dat_conn, sol.timer);
	struct dat_ep *ep = READ_ONCE(conn->ep);

	if (!ep)
		return;
	spin_lock(&ep->lock);
	if (conn->sol.evd) {
		sol_take(conn, ep);
		mod_timer(timer, jiffies + SOL_PERIOD);
	}
	spin_unlock(&ep->lock);
}

/**
 * dat_solicited_init_conn() - prepare a connection, solicited or not
 * @conn: connection
 */
void dat_solicited_init_conn(struct dat_conn *conn)
{
	tasklet_setup(&conn->sol.task, sol_task);
	timer_setup(&conn->sol.timer, sol_timer, 0);
}

/**
 * dat_solicited_create() - make the completion queue of the receives
 * @conn: solicited, without QP
 * @entries: completions that it must hold
 *
 * Context: may sleep.  Return: 0, or what verbs say.
 */
int dat_solicited_create(struct dat_conn *conn, u32 entries)
{
	struct ib_device *ibdev = conn->dev->ibdev;
	struct ib_cq_init_attr attr = {
		.cqe = entries,
		.comp_vector = conn->ep->obj.id % max(ibdev->num_comp_vectors, 1),
	};
	struct ib_cq *cq = ib_create_cq(ibdev, sol_notified, NULL, conn, &attr);

	if (IS_ERR(cq))
		return PTR_ERR(cq);
	conn->recv_cq = cq;
	ib_req_notify_cq(cq, IB_CQ_SOLICITED);
	return 0;
}

/**
 * dat_solicited_join() - let those who look at the EVD find the receives
 * @conn: established, its early receives reported
 *
 * Context: ep->lock held.
 */
void dat_solicited_join(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;
	struct dat_solicited *s;

	lockdep_assert_held(&ep->lock);
	if (!conn->recv_cq)
		return;
	s = &ep->recv_evd->solicited;
	conn->sol.evd = ep->recv_evd;
	spin_lock(&s->lock);
	list_add_tail(&conn->sol.node, &s->conns);
	WRITE_ONCE(s->count, s->count + 1);
	spin_unlock(&s->lock);
	if (conn->sol.early)
		dat_evd_notify(ep->recv_evd);
	if (ep->srq)
		mod_timer(&conn->sol.timer, jiffies + SOL_PERIOD);
}

/**
 * dat_solicited_leave() - the connection is closing
 * @conn: connection
 *
 * Context: ep->lock held.
 */
void dat_solicited_leave(struct dat_conn *conn)
{
	struct dat_solicited *s;

	lockdep_assert_held(&conn->ep->lock);
	if (!conn->sol.evd)
		return;
	s = &conn->sol.evd->solicited;
	spin_lock(&s->lock);
	list_del(&conn->sol.node);
	WRITE_ONCE(s->count, s->count - 1);
	spin_unlock(&s->lock);
	conn->sol.evd = NULL;
}

/**
 * dat_solicited_end() - from now on every receive notifies
 * @conn: closing, with QP; solicited or not
 *
 * Context: any.
 */
void dat_solicited_end(struct dat_conn *conn)
{
	if (conn->recv_cq)
		tasklet_schedule(&conn->sol.task);
}

/**
 * dat_solicited_take_rest() - take what is left, once nothing is added any more
 * @conn: without QP; solicited or not
 *
 * Context: process.
 */
void dat_solicited_take_rest(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;

	if (!conn->recv_cq)
		return;
	spin_lock_bh(&ep->lock);
	while (sol_take(conn, ep) >= SOL_BUDGET)
		dat_ep_breathe(ep);
	spin_unlock_bh(&ep->lock);
}

/**
 * dat_solicited_destroy() - destroy the completion queue of the receives
 * @conn: without QP; nobody that has read conn->ep is left; solicited or not
 *
 * Context: may sleep.
 */
void dat_solicited_destroy(struct dat_conn *conn)
{
	if (conn->recv_cq)
		ib_destroy_cq(conn->recv_cq);
	conn->recv_cq = NULL;
	tasklet_kill(&conn->sol.task);
	dat_timer_delete_sync(&conn->sol.timer);
}

/* The next connection in turn, or NULL.  RCU keeps it and its EP. */
static struct dat_conn *sol_turn(struct dat_solicited *s)
{
	struct dat_conn *conn;

	spin_lock_bh(&s->lock);
	conn = list_first_entry_or_null(&s->conns, struct dat_conn, sol.node);
	if (conn)
		list_move_tail(&conn->sol.node, &s->conns);
	spin_unlock_bh(&s->lock);
	return conn;
}

static int sol_look(struct dat_evd *evd, struct dat_conn *conn)
{
	struct dat_ep *ep = READ_ONCE(conn->ep);
	int done = 0;

	if (!ep)
		return 0;
	spin_lock_bh(&ep->lock);
	if (conn->sol.evd == evd)
		done = sol_take(conn, ep);
	spin_unlock_bh(&ep->lock);
	return done;
}

/**
 * dat_solicited_look_all() - look for unsolicited receives
 * @evd: event dispatcher
 *
 * It ends with the first connection that has some; the next look begins behind that.
 *
 * Context: any but hard interrupt; no lock of ours.  Return: true if there were some.
 */
bool dat_solicited_look_all(struct dat_evd *evd)
{
	struct dat_solicited *s = &evd->solicited;
	u32 n = READ_ONCE(s->count);
	struct dat_conn *conn;
	int done = 0;

	rcu_read_lock();
	while (n-- && !done) {
		conn = sol_turn(s);
		if (!conn)
			break;
		done = sol_look(evd, conn);
	}
	rcu_read_unlock();
	return done;
}

void dat_solicited_init(struct dat_solicited *s)
{
	spin_lock_init(&s->lock);
	INIT_LIST_HEAD(&s->conns);
}
