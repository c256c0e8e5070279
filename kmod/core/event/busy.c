// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Busy polling.  A thread that waits for an event in an EVD polls the CQs of the connections that
 * feed the EVD.  These connections need no interrupts meanwhile.
 *
 * A connection joins the round evd->busy.round of each EVD that it feeds.  The connection joins
 * when its CQ has notified, provided that threads poll all these EVDs.  The CQ is then not armed
 * again, and a thread that polls one of the EVDs takes completions from the CQ.  An idle connection
 * is in no round, so no poll looks at the connection.
 *
 * A connection leaves the rounds, and its CQ is armed again, in four cases: dat_busy_stop() ends
 * polling of one of the EVDs, for example because a thread is about to sleep on the EVD;
 * busy_timer() finds that an EVD was not polled for BUSY_TICKS; busy_timer() finds that the
 * connection has become idle; or the connection closes.
 *
 * A thread that makes a connection join or leave holds ep->lock.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>

#include "compat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/event/evd.h"

#define BUSY_TICKS	2	/* jiffies from the last poll to the end of polling */

static bool busy_polled(const struct dat_busy *b)
{
	return READ_ONCE(b->on) && time_before(jiffies, READ_ONCE(b->last) + BUSY_TICKS);
}

/*
 * Adds @link to the round of @evd.  Returns 1 if @link was added, 0 if @evd is NULL, or -EAGAIN if
 * no thread polls @evd.
 */
static int link_join(struct dat_round_link *link, struct dat_evd *evd)
{
	struct dat_busy *b;
	int ret = -EAGAIN;

	if (!evd)
		return 0;
	b = &evd->busy;
	/*
	 * Check first without the lock: b->on is never set for a kernel consumer.  If another
	 * thread sets b->on at this moment, the CQ may be armed nevertheless, which is harmless.
	 */
	if (!READ_ONCE(b->on))
		return -EAGAIN;
	spin_lock_bh(&b->round.lock);
	if (busy_polled(b)) {
		dat_round_join(&b->round, link);
		if (!timer_pending(&b->timer))
			mod_timer(&b->timer, jiffies + 1);
		ret = 1;
	}
	spin_unlock_bh(&b->round.lock);
	return ret;
}

/*
 * Adds a connection to the rounds of its EVDs, if the connection is open and not solicited, and
 * threads poll all of these EVDs.  Returns false if the caller must arm the CQ.  ep->lock is held.
 */
bool dat_busy_join_polled(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;

	lockdep_assert_held(&ep->lock);
	if (!dat_conn_is_open(conn) || conn->solicited)
		return false;
	/* The caller has found that recv_evd, if any, was polled, so try the other EVD first. */
	if (ep->request_evd != ep->recv_evd && link_join(&conn->busy[1], ep->request_evd) < 0)
		return false;
	if (link_join(&conn->busy[0], ep->recv_evd) < 0) {
		dat_round_leave(&conn->busy[1]);
		return false;
	}
	conn->busy_seen = true;
	return dat_busy_joined(conn);
}

/*
 * Removes a connection from its rounds.  Returns true if the connection was in a round.  The caller
 * must then call ops->rearm().  ep->lock is held.
 */
bool dat_busy_leave(struct dat_conn *conn)
{
	bool first, second;

	lockdep_assert_held(&conn->ep->lock);
	first = dat_round_leave(&conn->busy[0]);
	second = dat_round_leave(&conn->busy[1]);
	return first || second;
}

static void busy_take(struct dat_conn *conn)
{
	if (dat_busy_joined(conn) && conn->dev->ops->take(conn))
		conn->busy_seen = true;
}

/* Removes a connection from its rounds if it had no completions since the last call, or if @all. */
static void busy_expire(struct dat_conn *conn, struct dat_ep *ep, bool all)
{
	spin_lock_bh(&ep->lock);
	/* A connection that has left its EP meanwhile is in no round. */
	if (conn->ep == ep && (all || !conn->busy_seen) && dat_busy_leave(conn))
		conn->dev->ops->rearm(conn);
	conn->busy_seen = false;
	spin_unlock_bh(&ep->lock);
}

/* Takes completions, unless another thread holds ep->lock: that thread may be taking them. */
static void busy_try(struct dat_conn *conn, struct dat_ep *ep)
{
	if (!spin_trylock_bh(&ep->lock))
		return;
	busy_take(conn);
	spin_unlock_bh(&ep->lock);
}

/* Takes completions from the connections of the round; see busy_try(). */
static void busy_look(struct dat_busy *b)
{
	u32 n = READ_ONCE(b->round.count);
	struct dat_conn *conn;
	struct dat_ep *ep;

	rcu_read_lock();
	while (n--) {
		conn = dat_round_turn(&b->round);
		if (!conn)
			break;
		ep = READ_ONCE(conn->ep);
		if (ep)
			busy_try(conn, ep);
	}
	rcu_read_unlock();
}

/*
 * Removes idle connections from the round.  With @all, removes all connections, but stops when a
 * thread polls again.
 */
static void busy_sweep(struct dat_busy *b, bool all)
{
	u32 n = READ_ONCE(b->round.count);
	struct dat_conn *conn;
	struct dat_ep *ep;

	rcu_read_lock();
	while (all ? !busy_polled(b) : n--) {
		conn = dat_round_turn(&b->round);
		if (!conn)
			break;
		ep = READ_ONCE(conn->ep);
		if (ep)
			busy_expire(conn, ep, all);
	}
	rcu_read_unlock();
}

static void busy_timer(struct timer_list *timer)
{
	struct dat_busy *b = container_of(timer, struct dat_busy, timer);

	busy_sweep(b, !busy_polled(b));
	spin_lock_bh(&b->round.lock);
	if (b->round.count)
		mod_timer(&b->timer, jiffies + 1);
	spin_unlock_bh(&b->round.lock);
}

/*
 * Marks @evd as polled.  Returns false, and does not mark @evd, if the consumer needs notifications
 * or @evd is shut down.
 */
static bool busy_begin(struct dat_evd *evd)
{
	struct dat_busy *b = &evd->busy;
	bool useful;

	WRITE_ONCE(b->last, jiffies);
	if (READ_ONCE(b->on))
		return true;
	spin_lock_bh(&evd->lock);
	/* A CNO, a thread that sleeps on the EVD and a waiter in poll() need notifications. */
	useful = !evd->dead && !evd->cno && !evd->waiting && !waitqueue_active(&evd->poll);
	if (useful)
		WRITE_ONCE(b->on, true);
	spin_unlock_bh(&evd->lock);
	return useful;
}

/* Ends polling of an EVD.  Context: any but hard interrupt; no spinlock of this module held. */
void dat_busy_stop(struct dat_evd *evd)
{
	struct dat_busy *b = &evd->busy;

	/*
	 * Another dat_busy_stop() may have cleared b->on, but not emptied the round yet.  In that
	 * case this thread empties the round as well.
	 */
	if (!READ_ONCE(b->on) && !READ_ONCE(b->round.count))
		return;
	/* link_join() checks b->on under round.lock, so no connection joins once b->on is false. */
	spin_lock_bh(&b->round.lock);
	WRITE_ONCE(b->on, false);
	spin_unlock_bh(&b->round.lock);
	busy_sweep(b, true);
}

/*
 * Takes completions of requests that were just posted.  Some devices complete a request in a
 * softirq that runs when ep->lock is released, just before this call.  Context: any but hard
 * interrupt; no spinlock of this module held.
 */
void dat_busy_posted(struct dat_ep *ep)
{
	if (!spin_trylock_bh(&ep->lock))
		return;
	if (ep->conn)
		busy_take(ep->conn);
	spin_unlock_bh(&ep->lock);
}

/*
 * Returns 0 if the thread may go on polling, or the errno that ends dat_busy_poll().  @end: time in
 * ns at which polling ends; 0: poll only once.
 */
static int busy_over(const struct dat_busy *b, u64 end)
{
	if (!READ_ONCE(b->on))
		return -EBUSY;
	if (!end)
		return -EAGAIN;
	if (signal_pending(current))
		return -ERESTARTNOHAND;
	return need_resched() || ktime_get_ns() >= end ? -EAGAIN : 0;
}

/* Polls until the tail of the ring differs from @tail.  Fails with an errno of dat_busy_poll(). */
static int busy_spin(struct dat_evd *evd, u32 tail, u64 spin_ns)
{
	u64 end = spin_ns ? ktime_get_ns() + spin_ns : 0;
	struct dat_busy *b = &evd->busy;
	int ret;

	for (;;) {
		busy_look(b);
		/*
		 * Acquire: a thread that sees an event of the IA's shutdown must also see
		 * evd->dead.
		 */
		if (smp_load_acquire(&evd->ring.tail) != tail)
			return 0;
		ret = busy_over(b, end);
		if (ret)
			return ret;
		WRITE_ONCE(b->last, jiffies);
		cpu_relax();
	}
}

/**
 * dat_busy_poll() - poll the device until the EVD has an event
 * @evd: event dispatcher
 * @spin_ns: longest time to poll, in ns; the poll ends earlier if another task needs the CPU; 0:
 *	poll once
 *
 * If the EVD has no event, the call first polls for unsolicited receives, which do not notify.  If
 * the EVD has solicited connections and @spin_ns is 0, the call then polls for nothing else, so the
 * other connections of the EVD keep notifying.
 *
 * Context: process; no spinlock of this module held.  Return: 0 if the EVD has events; -EAGAIN if
 * no event came in time; -EBUSY if the EVD cannot be polled, because a CNO, a sleeping thread or a
 * waiter in poll() needs notifications, or because the EVD became unwaitable during the poll;
 * -ERESTARTNOHAND after a signal; -ESHUTDOWN if the EVD is shut down, because the shutdown may have
 * caused its events.
 */
int dat_busy_poll(struct dat_evd *evd, u64 spin_ns)
{
	u32 tail = READ_ONCE(evd->ring.tail);
	int ret;

	if (dat_evd_count(evd) || dat_solicited_look(evd))
		ret = 0;
	else if (!spin_ns && READ_ONCE(evd->solicited.count))
		ret = -EAGAIN;
	else
		ret = busy_begin(evd) ? busy_spin(evd, tail, spin_ns) : -EBUSY;
	return READ_ONCE(evd->dead) ? -ESHUTDOWN : ret;
}

void dat_busy_show(struct seq_file *m, struct dat_busy *b)
{
	seq_printf(m, " polled=%d joined=%u", busy_polled(b), READ_ONCE(b->round.count));
}

void dat_busy_init(struct dat_busy *b)
{
	dat_round_init(&b->round);
	timer_setup(&b->timer, busy_timer, 0);
}

/* Ends polling of an EVD.  evd->dead is set, so polling cannot begin again.  May sleep. */
void dat_busy_end(struct dat_evd *evd)
{
	dat_busy_stop(evd);
	dat_timer_delete_sync(&evd->busy.timer);
}

void dat_busy_init_conn(struct dat_conn *conn)
{
	conn->busy[0].conn = conn;
	conn->busy[1].conn = conn;
}
