// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The poller of an open file: a thread of the process that polls the file's queues, so that posts
 * need no system call.  The thread parks when nothing was posted for a while (idle_us).  Until the
 * thread parks, the queues need no kicks, except for receives over iWARP.
 *
 * The thread stays inside DAT_IOC_POLLER_RUN.  So the kernel limits, accounts, schedules, freezes
 * and kills the thread like any other thread of the process.
 *
 * ops->watch() sets a flag before the thread polls, and clears the flag before the thread parks.
 * Only the poller thread changes the flag.  The code of a queue reads the flag under the lock of
 * the queue, and need not ask for kicks while the flag is set.  After ops->watch() has cleared the
 * flag, ops->watch() processes every queue once, so that each queue asks for kicks again.
 */
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/processor.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>

#include "compat.h"
#include "lib/poller.h"

/* Returns 0 to go on, 1 if the poller was disabled, or the error that dat_poller_run() returns. */
static int poller_over(const struct dat_poller *p)
{
	if (!READ_ONCE(p->idle_us))
		return 1;
	if (p->ops->gone(p))
		return -ENODEV;
	return signal_pending(current) ? -ERESTARTNOHAND : 0;
}

static void poller_park(struct dat_poller *p)
{
	/* Set p->parked before watch() makes the queues ask for kicks: a kick clears p->parked. */
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
		/* The loop may run without end, so report a quiescent state to Tasks RCU. */
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

/* Initializes @p, which the caller has zeroed.  @p is disabled until dat_poller_set(). */
void dat_poller_init(struct dat_poller *p, const struct dat_poller_ops *ops)
{
	p->ops = ops;
	mutex_init(&p->lock);
	init_waitqueue_head(&p->wq);
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_poller_init);

/**
 * dat_poller_run() - run a poller in the calling thread until the poller is disabled
 * @p: poller; the caller keeps its file open
 *
 * Context: process.  The caller holds no lock that the poller's operations take.
 * Return: 0 if the poller was disabled; -EBUSY if another thread runs the poller; -ENODEV if
 * ops->gone() returns true; -ERESTARTNOHAND after a signal, so that the system call restarts unless
 * a signal handler runs.
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

/*
 * Sets the idle time before the poller parks; 0 disables the poller.  Wakes the poller, because the
 * caller is about to post or the poller has to end.
 */
void dat_poller_set(struct dat_poller *p, u32 idle_us)
{
	WRITE_ONCE(p->idle_us, idle_us);
	dat_poller_wake(p);
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_poller_set);

/* Wakes a parked poller, which then checks whether it has to end. */
void dat_poller_wake(struct dat_poller *p)
{
	WRITE_ONCE(p->parked, false);
	wake_up(&p->wq);
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_poller_wake);

/* Writes a line to fdinfo if a thread runs the poller.  @awake: the thread is not parked. */
void dat_poller_show(struct seq_file *m, struct dat_poller *p, bool awake)
{
	mutex_lock(&p->lock);
	if (p->task)
		seq_printf(m, "poller:\tthread=%d idle_us=%u awake=%d\n",
			   task_pid_vnr(p->task), READ_ONCE(p->idle_us), awake);
	mutex_unlock(&p->lock);
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_poller_show);
