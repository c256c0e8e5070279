// SPDX-License-Identifier: GPL-2.0
/*
 * Busy polling: who has nothing to do but wait for an event looks at the device's queues
 * itself, and is told nothing meanwhile.
 *
 * A connection joins when the device notifies of it and somebody polls the EVDs that it
 * feeds: its queue stays unarmed, and whoever polls one of them takes from it.  So an idle
 * connection costs nothing.  It leaves, and its queue is armed again, when one of the EVDs
 * is polled no more: when a thread is about to sleep on it, or when a timer has found that
 * nobody has come for a while.  The latter is also what a connection leaves by that has
 * become idle.
 *
 * ep->lock decides about joining and leaving; evd->busy.lock is inside of it.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>

#include "core/dat.h"
#include "compat.h"

#define BUSY_TICKS	2	/* without a poll, and nobody polls any more */

static bool busy_polled(const struct dat_busy *b)
{
	return READ_ONCE(b->on) && time_before(jiffies, READ_ONCE(b->last) + BUSY_TICKS);
}

/* 1: joined, 0: there is no EVD, negative: nobody polls it. */
static int link_join(struct dat_busy_link *link, struct dat_evd *evd)
{
	struct dat_busy *b;
	int ret = -EAGAIN;

	if (!evd)
		return 0;
	b = &evd->busy;
	/* As ever with kernel consumers.  Who misses that it is just being set is told as ever. */
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
 * dat_busy_joined() - is a connection polled?
 * @conn: connection
 *
 * Context: ep->lock held.
 */
bool dat_busy_joined(const struct dat_conn *conn)
{
	return conn->busy[0].evd || conn->busy[1].evd;
}

/**
 * dat_busy_join() - the device has notified of completions
 * @conn: whose queue is not armed
 *
 * Context: ep->lock held.  Return: true if somebody polls, who will take what comes next;
 * else the queue must be armed.
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
 * dat_busy_leave() - nobody polls a connection any more
 * @conn: connection
 *
 * Context: ep->lock held.  Return: true if its queue must be looked at and armed.
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

/* Unless others are at it, who may take what there is. */
static void busy_try(struct dat_conn *conn, struct dat_ep *ep)
{
	if (!spin_trylock_bh(&ep->lock))
		return;
	busy_take(conn);
	spin_unlock_bh(&ep->lock);
}

/* The next in turn, or NULL.  Under RCU, which keeps it and its EP. */
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

/* Take from all that have joined. */
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

/* Those that were idle leave; or all, and none joins, unless somebody polls again. */
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

/* Somebody polls.  False: it is of no use. */
static bool busy_begin(struct dat_evd *evd)
{
	struct dat_busy *b = &evd->busy;
	bool useful;

	WRITE_ONCE(b->last, jiffies);
	if (READ_ONCE(b->on))
		return true;
	spin_lock_bh(&evd->lock);
	/* A CNO wants to hear of events, and so do those who sleep. */
	useful = !evd->dead && !evd->cno && !evd->waiting && !waitqueue_active(&evd->poll);
	if (useful)
		WRITE_ONCE(b->on, true);
	spin_unlock_bh(&evd->lock);
	return useful;
}

/**
 * dat_busy_stop() - somebody wants to be told of events
 * @evd: event dispatcher
 *
 * Context: any but hard interrupt; no lock of ours.
 */
void dat_busy_stop(struct dat_evd *evd)
{
	struct dat_busy *b = &evd->busy;

	/* Another who stops it may not be through. */
	if (!READ_ONCE(b->on) && !READ_ONCE(b->count))
		return;
	/* Who joins has seen "on" under this lock, and is in the list; nobody will be. */
	spin_lock_bh(&b->lock);
	WRITE_ONCE(b->on, false);
	spin_unlock_bh(&b->lock);
	busy_sweep(b, true);
}

/**
 * dat_busy_posted() - requests were handed over, and some devices complete them at once
 * @ep: whose
 *
 * Such a device does so when ep->lock has been let go, and softirqs have run.
 *
 * Context: any but hard interrupt; no lock of ours.
 */
void dat_busy_posted(struct dat_ep *ep)
{
	if (!spin_trylock_bh(&ep->lock))
		return;
	if (ep->conn)
		busy_take(ep->conn);
	spin_unlock_bh(&ep->lock);
}

/* Time is up, somebody wants to be told instead, or others want the CPU. */
static bool busy_over(const struct dat_busy *b, u64 end)
{
	return !end || !READ_ONCE(b->on) || need_resched() || signal_pending(current) ||
	       ktime_get_ns() >= end;
}

/* True if something came after @tail. */
static bool busy_spin(struct dat_evd *evd, u32 tail, u64 spin_ns)
{
	u64 end = spin_ns ? ktime_get_ns() + spin_ns : 0;
	struct dat_busy *b = &evd->busy;

	for (;;) {
		busy_look(b);
		/* Acquire: who sees an event of the EVD's end, sees that it is dead. */
		if (smp_load_acquire(&evd->ring.tail) != tail)
			return true;
		if (busy_over(b, end))
			return false;
		WRITE_ONCE(b->last, jiffies);
		cpu_relax();
	}
}

/**
 * dat_busy_poll() - look at the device until there is an event
 * @evd: event dispatcher
 * @spin_ns: how long, or until others want the CPU; 0: once
 *
 * Unsolicited receives are found by any call.  One that looks once for them does not stop
 * other connections from notifying.
 *
 * Context: may sleep; no lock of ours.  Return: 0: there are events; -EAGAIN: none;
 * -ESHUTDOWN: the EVD is shut down, and what it has may be of its end.
 */
int dat_busy_poll(struct dat_evd *evd, u64 spin_ns)
{
	u32 tail = READ_ONCE(evd->ring.tail);
	bool found;

	found = dat_evd_count(evd) || dat_solicited_look(evd);
	if (!found && (spin_ns || !READ_ONCE(evd->solicited.count)))
		found = busy_begin(evd) && busy_spin(evd, tail, spin_ns);
	if (READ_ONCE(evd->dead))
		return -ESHUTDOWN;
	return found ? 0 : -EAGAIN;
}

/**
 * dat_busy_show() - for fdinfo
 * @m: where
 * @b: of an EVD
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
 * dat_busy_end() - the EVD is dead: nobody polls it any more
 * @evd: event dispatcher
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
