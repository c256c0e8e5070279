// SPDX-License-Identifier: GPL-2.0
/*
 * The poller: a thread that looks at the doorbells of a file, so that posting needs no
 * system call.  It parks itself after a time in which nobody rang; until then
 * "ia->watched" is set and the pumps do not ask for kicks.
 *
 * Only the thread writes ia->watched.  Having cleared it, it pumps every queue once:
 * a pump reads it under the lock of its queue, so what was left unarmed is armed then.
 */
#include <linux/cgroup.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "file.h"

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

static void poller_park(struct dat_file *file)
{
	struct dat_poller *p = &file->poller;

	WRITE_ONCE(p->parked, true);
	poller_leave(file);
	wait_event_idle(p->wq, !READ_ONCE(p->parked) || kthread_should_stop());
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
	while (!kthread_should_stop()) {
		if (poller_look(file))
			last = ktime_get_ns();
		else if (ktime_get_ns() - last >= poller_idle_ns(p) || READ_ONCE(file->ia->dead))
			break;
		/* It may run for ever, and RCU's tasks must not wait for that. */
		cond_resched_tasks_rcu_qs();
		cpu_relax();
	}
}

static int poller_main(void *data)
{
	struct dat_file *file = data;

	while (!kthread_should_stop()) {
		poller_watch(file);
		poller_park(file);
	}
	return 0;
}

static int poller_move(struct task_struct *task, s32 cpu)
{
	return set_cpus_allowed_ptr(task, cpu < 0 ? current->cpus_ptr : cpumask_of(cpu));
}

/* Its time is the asking process's: same cgroups, same weight, and no CPU that one may not use. */
static int poller_settle(struct task_struct *task, s32 cpu)
{
	int ret = cgroup_attach_task_all(current, task);

	if (ret)
		return ret;
	set_user_nice(task, task_nice(current));
	return poller_move(task, cpu);
}

static int poller_start(struct dat_file *file, s32 cpu)
{
	struct dat_poller *p = &file->poller;
	struct task_struct *task;
	int ret;

	p->parked = false;
	task = kthread_create(poller_main, file, "dat-poll-%d", current->tgid);
	if (IS_ERR(task))
		return PTR_ERR(task);
	ret = poller_settle(task, cpu);
	if (ret) {
		/* It never ran. */
		kthread_stop(task);
		return ret;
	}
	p->task = task;
	wake_up_process(task);
	return 0;
}

/* Also wakes it: who asks for it has something to post. */
static int poller_change(struct dat_poller *p, s32 cpu)
{
	int ret = poller_move(p->task, cpu);

	if (!ret)
		dat_poller_unpark(p);
	return ret;
}

static void poller_stop(struct dat_poller *p)
{
	if (p->task)
		kthread_stop(p->task);
	p->task = NULL;
}

/**
 * dat_poller_init() - prepare the poller of a file; it does not run
 * @p: of a new file
 */
void dat_poller_init(struct dat_poller *p)
{
	mutex_init(&p->lock);
	init_waitqueue_head(&p->wq);
}

/**
 * dat_poller_set() - start, change or end the poller
 * @file: has an IA
 * @idle_us: how long it looks in vain before it parks; 0: end it
 * @cpu: where it runs, one that the caller may use, or -1
 *
 * One that runs already is changed and not replaced: attaching a thread to a cgroup
 * stops every fork of the machine for a moment.
 *
 * Context: may sleep; no lock of the IA, which the poller takes.  Return: 0, -ENODEV,
 * -EINVAL @cpu has gone, or -ENOMEM, -EINTR, or what the cgroup says.
 */
int dat_poller_set(struct dat_file *file, u32 idle_us, s32 cpu)
{
	struct dat_poller *p = &file->poller;
	int ret = 0;

	mutex_lock(&p->lock);
	WRITE_ONCE(p->idle_us, idle_us);
	p->cpu = cpu;
	if (!idle_us)
		poller_stop(p);
	else if (READ_ONCE(file->ia->dead))
		ret = -ENODEV;
	else if (p->task)
		ret = poller_change(p, cpu);
	else
		ret = poller_start(file, cpu);
	mutex_unlock(&p->lock);
	return ret;
}

/**
 * dat_poller_end() - end the poller, if there is one
 * @file: any
 *
 * Context: may sleep; no lock of the IA.
 */
void dat_poller_end(struct dat_file *file)
{
	struct dat_poller *p = &file->poller;

	mutex_lock(&p->lock);
	poller_stop(p);
	mutex_unlock(&p->lock);
}

/**
 * dat_poller_unpark() - somebody rings: there may be more to come
 * @p: poller
 *
 * The caller looks at the queues itself, so nothing is lost if it sleeps on.
 */
void dat_poller_unpark(struct dat_poller *p)
{
	if (!READ_ONCE(p->parked))
		return;
	WRITE_ONCE(p->parked, false);
	wake_up(&p->wq);
}
