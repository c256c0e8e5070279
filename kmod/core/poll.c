// SPDX-License-Identifier: GPL-2.0
/*
 * Busy polling: a thread that waits for an event polls the CQs of the EVD's connections, which
 * need no interrupts meanwhile.
 *
 * A connection joins when the device notifies of it and threads poll all EVDs that it feeds.
 * Its CQ then stays unarmed, and a thread that polls one of the EVDs takes completions from it.
 * An idle connection is not in the list, so it costs a poll nothing.
 *
 * A connection leaves, and its CQ is armed again, when a thread is about to sleep on one of the
 * EVDs, when a timer finds that an EVD was not polled for a while, or when the timer finds that
 * the connection has become idle.
 *
 * ep->lock is held to join and to leave; evd->busy.lock nests inside.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>

#include "compat.h"
#include "core/conn.h"
#include "core/ep.h"
#include "core/evd.h"

#define BUSY_TICKS	2	/* jiffies after the last poll until polling has ended */

static bool busy_polled(const struct dat_busy *b)
{
	return READ_ONCE(b->on) && time_before(jiffies, READ_ONCE(b->last) + BUSY_TICKS);
}

/* Returns 1 if @link joined @evd, 0 if there is no EVD, -EAGAIN if no thread polls it. */
static int link_join(struct dat_busy_link *link, struct dat_evd *evd)
{
	struct dat_busy *b;
	int ret = -EAGAIN;

	if (!evd)
		return 0;
	b = &evd->busy;
	/*
	 * Never set for kernel consumers.  A concurrent set may be missed: the CQ is then armed,
	 * which is harmless.
	 */
	if (!READ_ONCE(b->on))
		return -EAGAIN;
	spin_lock_bh(&b->lock);
	if (busy_polled(b)) {
		list_add_tail(&link->node, &b->links);
		b->count++;
		link->evd = evd;
		if (!timer_pending(&b->timer))
			mod_timer(&b->timer, jiffies + 1);
		ret = 1;
	}
	spin_unlock_bh(&b->lock);
	return ret;
}

static bool link_leave(struct dat_busy_link *link)
{
	struct dat_busy *b;

	if (!link->evd)
		return false;
	b = &link->evd->busy;
	spin_lock_bh(&b->lock);
	list_del(&link->node);
	b->count--;
	spin_unlock_bh(&b->lock);
	link->evd = NULL;
	return true;
}

/**
 * dat_busy_joined() - true if threads poll for a connection's completions
 * @conn: connection
 *
 * Context: ep->lock held.
 */
bool dat_busy_joined(const struct dat_conn *conn)
{
	return conn->busy[0].evd || conn->busy[1].evd;
}

/**
 * dat_busy_join() - let polling threads take the completions of a connection
 * @conn: connection whose CQ has notified and is not armed
 *
 * Context: ep->lock held.  Return: true if threads poll and take the next completions; false if
 * the caller must arm the CQ.
 */
bool dat_busy_join(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;

	lockdep_assert_held(&ep->lock);
	if (dat_busy_joined(conn))
		return true;
	if (!dat_conn_is_open(conn) || conn->solicited)
		return false;
	if (link_join(&conn->busy[0], ep->recv_evd) < 0)
		return false;
	if (ep->request_evd != ep->recv_evd && link_join(&conn->busy[1], ep->request_evd) < 0) {
		link_leave(&conn->busy[0]);
		return false;
	}
	conn->busy_seen = true;
	return dat_busy_joined(conn);
}

/**
 * dat_busy_leave() - end polling of a connection
 * @conn: connection
 *
 * Context: ep->lock held.  Return: true if the connection had joined, so that the caller must
 * poll its CQ once more and arm it.
 */
bool dat_busy_leave(struct dat_conn *conn)
{
	bool first, second;

	lockdep_assert_held(&conn->ep->lock);
	first = link_leave(&conn->busy[0]);
	second = link_leave(&conn->busy[1]);
	return first || second;
}

static void busy_take(struct dat_conn *conn)
{
	if (dat_busy_joined(conn) && conn->dev->ops->take(conn))
		conn->busy_seen = true;
}

static void busy_expire(struct dat_conn *conn, struct dat_ep *ep, bool all)
{
	spin_lock_bh(&ep->lock);
	if (!all && conn->busy_seen)
		conn->busy_seen = false;
	else if (dat_busy_leave(conn))
		conn->dev->ops->rearm(conn);
	spin_unlock_bh(&ep->lock);
}

/* Skips the connection if ep->lock is contended: its holder may take the completions. */
static void busy_try(struct dat_conn *conn, struct dat_ep *ep)
{
	if (!spin_trylock_bh(&ep->lock))
		return;
	busy_take(conn);
	spin_unlock_bh(&ep->lock);
}

/* Returns the next connection, round robin, or NULL.  RCU keeps it and its EP allocated. */
static struct dat_conn *busy_turn(struct dat_busy *b)
{
	struct dat_busy_link *link;
	struct list_head *first;

	if (READ_ONCE(b->count) == 1) {
		first = READ_ONCE(b->links.next);
		link = list_entry(first, struct dat_busy_link, node);
		return first == &b->links ? NULL : link->conn;
	}
	spin_lock_bh(&b->lock);
	link = list_first_entry_or_null(&b->links, struct dat_busy_link, node);
	if (link)
		list_move_tail(&link->node, &b->links);
	spin_unlock_bh(&b->lock);
	return link ? link->conn : NULL;
}

/* Takes completions from every connection that has joined. */
static void busy_look(struct dat_busy *b)
{
	u32 n = READ_ONCE(b->count);
	struct dat_conn *conn;
	struct dat_ep *ep;

	rcu_read_lock();
	while (n--) {
		conn = busy_turn(b);
		if (!conn)
			break;
		ep = READ_ONCE(conn->ep);
		if (ep)
			busy_try(conn, ep);
	}
	rcu_read_unlock();
}

/* Makes idle connections leave; with @all, every connection until a thread polls again. */
static void busy_sweep(struct dat_busy *b, bool all)
{
	u32 n = READ_ONCE(b->count);
	struct dat_conn *conn;
	struct dat_ep *ep;

	rcu_read_lock();
	while (all ? !busy_polled(b) : n--) {
		conn = busy_turn(b);
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
	spin_lock_bh(&b->lock);
	if (b->count)
		mod_timer(&b->timer, jiffies + 1);
	spin_unlock_bh(&b->lock);
}

/* Notes that a thread polls @evd.  Returns false if consumers need notifications instead. */
static bool busy_begin(struct dat_evd *evd)
{
	struct dat_busy *b = &evd->busy;
	bool useful;

	WRITE_ONCE(b->last, jiffies);
	if (READ_ONCE(b->on))
		return true;
	spin_lock_bh(&evd->lock);
	/* A CNO and threads that sleep need notifications. */
	useful = !evd->dead && !evd->cno && !evd->waiting && !waitqueue_active(&evd->poll);
	if (useful)
		WRITE_ONCE(b->on, true);
	spin_unlock_bh(&evd->lock);
	return useful;
}

/**
 * dat_busy_stop() - end polling of an EVD, whose consumer needs notifications
 * @evd: event dispatcher
 *
 * Context: any but hard interrupt; no lock of this module.
 */
void dat_busy_stop(struct dat_evd *evd)
{
	struct dat_busy *b = &evd->busy;

	/* While a concurrent stop has cleared "on" and not swept the list, count is not 0. */
	if (!READ_ONCE(b->on) && !READ_ONCE(b->count))
		return;
	/* A join checks "on" under this lock, so after this no connection joins. */
	spin_lock_bh(&b->lock);
	WRITE_ONCE(b->on, false);
	spin_unlock_bh(&b->lock);
	busy_sweep(b, true);
}

/**
 * dat_busy_posted() - take completions of requests that were just posted
 * @ep: endpoint that they were posted to
 *
 * Some devices complete a request in a softirq that runs once ep->lock has been released.
 *
 * Context: any but hard interrupt; no lock of this module.
 */
void dat_busy_posted(struct dat_ep *ep)
{
	if (!spin_trylock_bh(&ep->lock))
		return;
	if (ep->conn)
		busy_take(ep->conn);
	spin_unlock_bh(&ep->lock);
}

/* Returns 0 to go on polling, or the reason to end. */
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

/* Polls until an event is stored after @tail.  Returns 0, or the reason to end. */
static int busy_spin(struct dat_evd *evd, u32 tail, u64 spin_ns)
{
	u64 end = spin_ns ? ktime_get_ns() + spin_ns : 0;
	struct dat_busy *b = &evd->busy;
	int ret;

	for (;;) {
		busy_look(b);
		/* Acquire: a thread that sees an event of the shutdown also sees evd->dead. */
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
 * dat_busy_poll() - poll the device until there is an event
 * @evd: event dispatcher
 * @spin_ns: maximum time to poll; ends early if another task needs the CPU; 0: poll once
 *
 * Every call finds unsolicited receives.  A call with @spin_ns 0 for an EVD that may have such
 * receives only polls for those: other connections of the EVD keep notifying.
 *
 * Context: may sleep; no lock of this module.  Return: 0 if there are events; -EAGAIN if none came
 * in time; -EBUSY if a CNO or a sleeper needs notification; -ERESTARTNOHAND after a signal;
 * -ESHUTDOWN if the EVD is shut down: its events may stem from the shutdown.
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

/**
 * dat_busy_show() - show the state of polling in fdinfo
 * @m: fdinfo
 * @b: state of an EVD
 */
void dat_busy_show(struct seq_file *m, struct dat_busy *b)
{
	seq_printf(m, " polled=%d joined=%u", busy_polled(b), READ_ONCE(b->count));
}

void dat_busy_init(struct dat_busy *b)
{
	spin_lock_init(&b->lock);
	INIT_LIST_HEAD(&b->links);
	timer_setup(&b->timer, busy_timer, 0);
}

/**
 * dat_busy_end() - end polling of an EVD for good
 * @evd: event dispatcher, dead: polling cannot begin again
 *
 * Context: may sleep.
 */
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
