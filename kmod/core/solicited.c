// SPDX-License-Identifier: GPL-2.0
/*
 * Receives that notify only if the sender or an error asks for it (SOLICITED_WAIT).
 *
 * A completion does not show whether its message was solicited; only a CQ armed for solicited
 * completions does.  So the receives of such a connection have a CQ of their own.
 *
 * Unsolicited receives stay in that CQ until a thread polls it: a dequeue that finds the EVD empty,
 * a wait before it sleeps and when it ends, or the next notification.  Their events are written
 * like those of UNSIGNALLED receives.  A notification wakes the EVD once, after the events of all
 * completed receives are in the ring.
 *
 * Other connections need the buffers of an SRQ too, so a timer polls the CQ of a connection with
 * an SRQ.
 */
#include <linux/jiffies.h>

#include "compat.h"
#include "core/conn.h"
#include "core/ep.h"
#include "core/evd.h"

#define SOL_PERIOD	(HZ / 10)	/* period of the timer of a connection with an SRQ */

/* A timer runs in softirq, which is an RCU read side, so the EP stays. */
static void sol_timer(struct timer_list *timer)
{
	struct dat_conn *conn = container_of(timer, struct dat_conn, sol.timer);
	struct dat_ep *ep = READ_ONCE(conn->ep);

	if (!ep)
		return;
	spin_lock(&ep->lock);
	if (conn->sol.evd) {
		conn->dev->ops->take_unsolicited(conn);
		mod_timer(timer, jiffies + SOL_PERIOD);
	}
	spin_unlock(&ep->lock);
}

/**
 * dat_solicited_join() - add a connection to the list that the EVD polls
 * @conn: established connection whose early receives are reported
 *
 * Context: ep->lock held.
 */
void dat_solicited_join(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;
	struct dat_solicited *s;

	lockdep_assert_held(&ep->lock);
	if (!conn->solicited)
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
 * dat_solicited_leave() - remove a closing connection from the EVD's list
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
 * dat_solicited_notify() - wake the EVD after a notification
 * @conn: solicited connection, whose completed receives have been taken
 *
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

/* Returns the next connection of the list, or NULL.  RCU keeps it and its EP. */
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
		done = conn->dev->ops->take_unsolicited(conn);
	spin_unlock_bh(&ep->lock);
	return done;
}

/**
 * dat_solicited_look_all() - poll connections for unsolicited receives
 * @evd: event dispatcher
 *
 * Stops after the first connection with receives; the next call begins with its successor.
 *
 * Context: any but hard interrupt; no lock of this module.  Return: true if it found receives.
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

void dat_solicited_init_conn(struct dat_conn *conn)
{
	timer_setup(&conn->sol.timer, sol_timer, 0);
}

/* Stops the timer of a connection that is being freed.  Context: may sleep. */
void dat_solicited_exit_conn(struct dat_conn *conn)
{
	dat_timer_delete_sync(&conn->sol.timer);
}
