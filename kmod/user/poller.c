// SPDX-License-Identifier: GPL-2.0
/*
 * The poller: a thread of the process that looks at the doorbells of a file, so that
 * posting needs no system call.  It parks itself after a time in which nobody rang; until
 * then "ia->watched" is set and the pumps do not ask for kicks.
 *
 * The thread is inside DAT_IOC_POLLER_RUN all the time.  So it is limited, accounted,
 * scheduled, frozen and killed like any other thread of the process.
 *
 * Only this thread writes ia->watched.  Having cleared it, it pumps every queue once:
 * a pump reads it under the lock of its queue, so what was left unarmed is armed then.
 */
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "user/file.h"

/* True if there was something to do. */
static bool poller_look(struct dat_file *file)
{
	if (!dat_file_rung(file))
		return false;
	if (dat_ia_lock_live(file->ia))
		return false;
	dat_file_kick(file);
	dat_ia_unlock(file->ia);
	return true;
}

/* Queues of an IA without its device have no connection, and are armed. */
static void poller_leave(struct dat_file *file)
{
	WRITE_ONCE(file->ia->watched, false);
	if (dat_ia_lock_live(file->ia))
		return;
	dat_file_kick_all(file);
	dat_ia_unlock(file->ia);
}

/* 0: go on; 1: it was told to end; else why it has to. */
static int poller_over(const struct dat_file *file)
{
	if (!READ_ONCE(file->poller.idle_us))
		return 1;
	if (READ_ONCE(file->ia->dead))
		return -ENODEV;
	return signal_pending(current) ? -EINTR : 0;
}

static void poller_park(struct dat_file *file)
{
	struct dat_poller *p = &file->poller;

	WRITE_ONCE(p->parked, true);
	poller_leave(file);
	wait_event_interruptible(p->wq, !READ_ONCE(p->parked) || poller_over(file));
	WRITE_ONCE(p->parked, false);
}

static u64 poller_idle_ns(const struct dat_poller *p)
{
	return (u64)READ_ONCE(p->idle_us) * NSEC_PER_USEC;
}

static void poller_watch(struct dat_file *file)
{
	struct dat_poller *p = &file->poller;
	u64 last = ktime_get_ns();

	WRITE_ONCE(file->ia->watched, true);
	while (!poller_over(file)) {
		if (poller_look(file))
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
 */
void dat_poller_init(struct dat_poller *p)
{
	mutex_init(&p->lock);
	init_waitqueue_head(&p->wq);
}

/**
 * dat_poller_run() - be the poller
 * @file: has an IA, and stays open
 *
 * Context: a thread of the process, which sleeps or looks until somebody ends it; no
 * lock of the IA, which it takes.  Return: 0 it was told to end, or may not run; -EBUSY
 * there is one; -ENODEV; -EINTR.
 */
int dat_poller_run(struct dat_file *file)
{
	struct dat_poller *p = &file->poller;
	int ret;

	if (!poller_enter(p))
		return -EBUSY;
	for (ret = poller_over(file); !ret; ret = poller_over(file)) {
		poller_watch(file);
		poller_park(file);
	}
	poller_exit(p);
	return min(ret, 0);
}

/**
 * dat_poller_set() - say whether there may be a poller, and how long it looks
 * @p: poller
 * @idle_us: how long it looks in vain before it parks; 0: it ends
 *
 * Also wakes it: who asks for it has something to post, or wants it to leave.
 */
void dat_poller_set(struct dat_poller *p, u32 idle_us)
{
	WRITE_ONCE(p->idle_us, idle_us);
	dat_poller_wake(p);
}

/**
 * dat_poller_wake() - have it look around, parked or not
 * @p: poller
 */
void dat_poller_wake(struct dat_poller *p)
{
	WRITE_ONCE(p->parked, false);
	wake_up(&p->wq);
}

/**
 * dat_poller_unpark() - somebody rings: there may be more to come
 * @p: poller
 *
 * The caller looks at the queues itself, so nothing is lost if it sleeps on.
 */
void dat_poller_unpark(struct dat_poller *p)
{
	if (READ_ONCE(p->parked))
		dat_poller_wake(p);
}
