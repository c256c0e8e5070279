// SPDX-License-Identifier: GPL-2.0
/*
 * The watcher: a thread that looks at the rings into which entries come thick and fast, so
 * that nobody has to enter the kernel for them.  There is one for all rings, made with the
 * first.  So what imports can take of the machine, beside the time of their own processes,
 * is a processor, and that only where there is another; a ring that keeps the thread looking
 * for nothing is given up.
 */
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/moduleparam.h>

#include "kdat.h"
#include "rsm_ring.h"

static unsigned int rsm_watch_us = 1000;
module_param_named(rsm_watch_us, rsm_watch_us, uint, 0644);
MODULE_PARM_DESC(rsm_watch_us,
		 "How long a ring of RSM is looked at in vain, in us; 0: never (1000)");

static DEFINE_MUTEX(watch_mutex);	/* making of the thread */
static struct task_struct *watcher;
static DEFINE_SPINLOCK(watch_lock);	/* BH; rings that the thread has not taken yet */
static LIST_HEAD(watch_new);

u64 rsm_watch_ns(void)
{
	return (u64)READ_ONCE(rsm_watch_us) * NSEC_PER_USEC;
}

/**
 * rsm_watch_add() - have a ring watched
 * @ring: not watched
 *
 * Context: ring->lock held, and the import is referenced.  Return: whether it is.
 */
bool rsm_watch_add(struct rsm_ring *ring)
{
	struct task_struct *task = smp_load_acquire(&watcher);	/* whole */

	lockdep_assert_held(&ring->lock);
	if (!task || num_online_cpus() == 1)
		return false;
	kref_get(&ring->imp->obj.ref);
	ring->watched = true;
	spin_lock(&watch_lock);
	list_add_tail(&ring->watch, &watch_new);
	spin_unlock(&watch_lock);
	wake_up_process(task);
	return true;
}

static void watch_take(struct list_head *rings)
{
	if (list_empty_careful(&watch_new))
		return;
	spin_lock_bh(&watch_lock);
	list_splice_tail_init(&watch_new, rings);
	spin_unlock_bh(&watch_lock);
}

/* Rings that are given up are in no list any more. */
static void watch_round(struct list_head *rings)
{
	struct rsm_ring *ring, *next;

	list_for_each_entry_safe(ring, next, rings, watch)
		if (!rsm_ring_look(ring))
			rsm_obj_put(&ring->imp->obj);
}

static void watch_sleep(void)
{
	set_current_state(TASK_IDLE);
	if (list_empty_careful(&watch_new) && !kthread_should_stop())
		schedule();
	__set_current_state(TASK_RUNNING);
}

static int watch_run(void *unused)
{
	LIST_HEAD(rings);

	while (!kthread_should_stop()) {
		watch_take(&rings);
		if (list_empty(&rings))
			watch_sleep();
		watch_round(&rings);
		/* It may run for long, and RCU's tasks must not wait for that. */
		cond_resched_tasks_rcu_qs();
		cpu_relax();
	}
	/* Their imports are gone, so none of them stays. */
	watch_take(&rings);
	watch_round(&rings);
	return 0;
}

/* Where there is no memory for it, processes enter the kernel.  Context: sleeps. */
void rsm_watch_start(void)
{
	struct task_struct *task;

	if (READ_ONCE(watcher))
		return;
	mutex_lock(&watch_mutex);
	if (!watcher) {
		task = kthread_run(watch_run, NULL, "dat-rsm");
		if (!IS_ERR(task))
			smp_store_release(&watcher, task);	/* see rsm_watch_add() */
	}
	mutex_unlock(&watch_mutex);
}

/* The module goes: there is no open file any more. */
void rsm_watch_exit(void)
{
	if (watcher)
		kthread_stop(watcher);
}
