// SPDX-License-Identifier: GPL-2.0
/*
 * The poller: a thread of the process that looks at the queues of a file, so that posting needs
 * no system call.  The thread parks itself after a time in which nothing was posted; until then
 * the queues do not ask for kicks.
 *
 * The thread is inside DAT_IOC_POLLER_RUN all the time.  So it is limited, accounted, scheduled,
 * frozen and killed like any other thread of the process.
 *
 * Only this thread says whether it watches.  When it no longer does, it has every queue looked at
 * once: a queue reads under its own lock whether it is watched, so each queue that was left
 * unarmed is armed then.
 */
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/processor.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>

#include "compat.h"
#include "poller.h"

/* 0: go on; 1: it was told to end; otherwise why it has to end. */
static int poller_over(const struct dat_poller *p)
{
	if (!READ_ONCE(p->idle_us))
		return 1;
	if (p->ops->gone(p))
		return -ENODEV;
	return signal_pending(current) ? -EINTR : 0;
}

static void poller_park(struct dat_poller *p)
{
	WRITE_ONCE(p->parked, true);
	p->ops->watch(p, false);
	wait_event_interruptible(p->wq, !READ_ONCE(p->parked) || poller_over(p));
	WRITE_ONCE(p->parked, false);
}

static u64 poller_idle_ns(const struct dat_poller *p)
{
	return (u64)READ_ONCE(p->idle_us) * NSEC_PER_USEC;
}

static void poller_watch(struct dat_poller *p)
{
	u64 last = ktime_get_ns();

	p->ops->watch(p, true);
	while (!poller_over(p)) {
		if (p->ops->look(p))
			last = ktime_get_ns();
		else if (ktime_get_ns() - last >= poller_idle_ns(p))
			break;
		/* It may run for ever, and RCU's tasks must not wait for that. */
		cond_resched_tasks_rcu_qs();
		cpu_relax();
	}
}

static bool poller_enter(struct dat_poller *p)
{
	bool mine;

	mutex_lock(&p->lock);
	mine = !p->task;
	if (mine)
		p->task = current;
	mutex_unlock(&p->lock);
	return mine;
}

static void poller_exit(struct dat_poller *p)
{
	mutex_lock(&p->lock);
	p->task = NULL;
	mutex_unlock(&p->lock);
}

/**
 * dat_poller_init() - prepare the poller of a file; it may not run
 * @p: of a new file
 * @ops: its queues
 */
void dat_poller_init(struct dat_poller *p, const struct dat_poller_ops *ops)
{
	p->ops = ops;
	mutex_init(&p->lock);
	init_waitqueue_head(&p->wq);
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_poller_init);

/**
 * dat_poller_run() - be the poller
 * @p: of a file that stays open
 *
 * Context: a thread of the process, which sleeps or looks until somebody ends it; no lock that
 * the operations take.  Return: 0 it was told to end, or may not run; -EBUSY there is one;
 * -ENODEV nothing is left to look at; -EINTR.
 */
int dat_poller_run(struct dat_poller *p)
{
	int ret;

	if (!poller_enter(p))
		return -EBUSY;
	for (ret = poller_over(p); !ret; ret = poller_over(p)) {
		poller_watch(p);
		poller_park(p);
	}
	poller_exit(p);
	return min(ret, 0);
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_poller_run);

/**
 * dat_poller_set() - say whether there may be a poller, and how long it looks
 * @p: poller
 * @idle_us: microseconds without an entry after which the poller parks; 0: the poller ends
 *
 * Also wakes it: the caller has something to post, or wants it to leave.
 */
void dat_poller_set(struct dat_poller *p, u32 idle_us)
{
	WRITE_ONCE(p->idle_us, idle_us);
	dat_poller_wake(p);
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_poller_set);

/**
 * dat_poller_wake() - have it look around, parked or not
 * @p: poller
 */
void dat_poller_wake(struct dat_poller *p)
{
	WRITE_ONCE(p->parked, false);
	wake_up(&p->wq);
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_poller_wake);

/**
 * dat_poller_unpark() - somebody rings: there may be more to come
 * @p: poller
 *
 * The caller looks at the queues itself, so nothing is lost if the poller sleeps on.
 */
void dat_poller_unpark(struct dat_poller *p)
{
	if (READ_ONCE(p->parked))
		dat_poller_wake(p);
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_poller_unpark);

/**
 * dat_poller_show() - a line of fdinfo, if there is a poller
 * @m: fdinfo
 * @p: poller
 * @awake: it watches
 */
void dat_poller_show(struct seq_file *m, struct dat_poller *p, bool awake)
{
	mutex_lock(&p->lock);
	if (p->task)
		seq_printf(m, "poller:\tthread=%d idle_us=%u awake=%d\n",
			   task_pid_vnr(p->task), READ_ONCE(p->idle_us), awake);
	mutex_unlock(&p->lock);
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_poller_show);
