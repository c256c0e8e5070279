// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Busy polling.  A thread that waits for an event in an EVD polls the CQs that feed the EVD.  These
 * CQs need no interrupts meanwhile.
 *
 * A CQ joins the round evd->busy.round when it has notified, provided that threads poll the EVD.
 * The CQ is then not armed again, and the threads take the completions of all its connections.  An
 * idle CQ is in no round, so no poll looks at it.
 *
 * A CQ leaves the round, and is armed again, in three cases: dat_busy_stop() ends polling of the
 * EVD, for example because a thread is about to sleep on the EVD; busy_timer() finds that the EVD
 * was not polled for BUSY_TICKS; or busy_timer() finds that the CQ has become idle.  A CQ that has
 * no connection any more leaves, too, but is not armed.
 *
 * A thread that makes a CQ join or leave holds cq->lock.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>

#include "compat.h"
#include "core/event/evd.h"
#include "core/xport.h"

#define BUSY_TICKS	2	/* jiffies from the last poll to the end of polling */

static bool busy_polled(const struct dat_busy *b)
{
	return READ_ONCE(b->on) && time_before(jiffies, READ_ONCE(b->last) + BUSY_TICKS);
}

/*
 * Adds a CQ to the round of its EVD.  Returns false if no thread polls the EVD.  cq->lock is held,
 * softirqs are disabled.
 *
 * dat_busy_join() has checked without the round's lock: b->on is never set for a kernel consumer.
 * If another thread sets b->on at that moment, the CQ may be armed nevertheless, which is harmless.
 */
bool dat_busy_join_polled(struct dat_cq *cq)
{
	struct dat_busy *b = &cq->evd->busy;
	bool polled;

	lockdep_assert_held(&cq->lock);
	spin_lock(&b->round.lock);
	polled = busy_polled(b);
	if (polled) {
		dat_round_join(&b->round, &cq->link);
		if (!timer_pending(&b->timer))
			mod_timer(&b->timer, jiffies + 1);
		cq->seen = true;
	}
	spin_unlock(&b->round.lock);
	return polled;
}

/*
 * Removes a CQ from its round.  Returns true if the CQ was in a round.  The caller must then call
 * ops->rearm(), unless the CQ ends.  cq->lock is held.
 */
bool dat_busy_leave(struct dat_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	return dat_round_leave(&cq->link);
}

/* Removes a CQ from its round if it had no completions since the last call, or if @all. */
static void busy_expire(struct dat_cq *cq, bool all)
{
	spin_lock_bh(&cq->lock);
	if ((all || !cq->seen) && dat_busy_leave(cq))
		cq->ops->rearm(cq);
	cq->seen = false;
	spin_unlock_bh(&cq->lock);
}

static struct dat_cq *busy_turn(struct dat_busy *b)
{
	struct dat_round_link *link = dat_round_turn(&b->round);

	return link ? container_of(link, struct dat_cq, link) : NULL;
}

/*
 * Takes completions from the CQs of the round, until the tail of the EVD's ring differs from @tail.
 * The round may be long, and a look may take as long as a copy of many bytes.  So another task that
 * needs the CPU gets it, and the next call goes on with the next CQ.
 */
static void busy_look(struct dat_evd *evd, u32 tail)
{
	struct dat_busy *b = &evd->busy;
	u32 n = READ_ONCE(b->round.count);
	struct dat_cq *cq;

	while (n--) {
		rcu_read_lock();
		cq = busy_turn(b);
		if (cq)
			cq->ops->look(cq);
		rcu_read_unlock();
		if (!cq || READ_ONCE(evd->ring.tail) != tail || need_resched())
			break;
	}
}

/*
 * Removes idle CQs from the round.  With @all, removes all CQs, but stops when a thread polls
 * again.
 */
static void busy_sweep(struct dat_busy *b, bool all)
{
	u32 n = READ_ONCE(b->round.count);
	struct dat_cq *cq;

	rcu_read_lock();
	while ((all ? !busy_polled(b) : n--) && (cq = busy_turn(b)))
		busy_expire(cq, all);
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
	/* dat_busy_join_polled() checks b->on under round.lock, so no CQ joins from now on. */
	spin_lock_bh(&b->round.lock);
	WRITE_ONCE(b->on, false);
	spin_unlock_bh(&b->round.lock);
	busy_sweep(b, true);
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
		busy_look(evd, tail);
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
 * CQs of the EVD keep notifying.
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
