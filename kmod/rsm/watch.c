// SPDX-License-Identifier: GPL-2.0
/*
 * The watcher: a thread that looks at the rings into which entries come thick and fast, so
 * that nobody has to enter the kernel for them.  There is one for all rings, made with the
 * first.  So what imports can take of the machine, beside the time of their own processes,
 * is a processor, and that only where there is another; a ring that keeps the thread looking
 * for too little is given up, see rsm_ring.c.
 *
 * It looks at few rings, and at few of a process, so that the round it makes is short.  The
 * others are kicked, which is always right.
 */
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/moduleparam.h>

#include "rsm/ring.h"

#define WATCH_MOST	16
#define WATCH_MOST_CTX	4

#define WATCH_COSTS	25	/* as long as so many entries are worth, */
#define WATCH_MOST_US	250	/* but no longer */

static int rsm_watch_us = -1;
module_param_named(watch_us, rsm_watch_us, int, 0644);
MODULE_PARM_DESC(watch_us,
		 "How long a ring of RSM is looked at in vain, in us; 0: never; -1: 25 times what a system call with an entry takes, at most 250 us (-1)");

static DEFINE_MUTEX(watch_mutex);	/* making of the thread */
static struct task_struct *watcher;
static DEFINE_SPINLOCK(watch_lock);	/* BH, within ring->lock; to change what follows */
static struct rsm_ring *watched[WATCH_MOST];	/* only the thread takes one out */
static unsigned int watch_count;

/* How long a ring is looked at in vain, where it costs a process @cost_ns to enter. */
u64 rsm_watch_ns(u32 cost_ns)
{
	int us = READ_ONCE(rsm_watch_us);

	/* What is less than -1 means the same. */
	if (us >= 0)
		return (u64)us * NSEC_PER_USEC;
	return min_t(u64, (u64)cost_ns * WATCH_COSTS, WATCH_MOST_US * NSEC_PER_USEC);
}

/* Returns false if there are enough, of this context or of all. */
static bool watch_insert(struct rsm_ring *ring)
{
	struct rsm_ring **free = NULL;
	unsigned int i, same = 0;

	lockdep_assert_held(&watch_lock);
	for (i = 0; i < WATCH_MOST; i++) {
		if (!watched[i])
			free = &watched[i];
		/* It may be gone, and is not looked into. */
		else if (watched[i]->imp->obj.ctx == ring->imp->obj.ctx)
			same++;
	}
	if (!free || same >= WATCH_MOST_CTX)
		return false;
	WRITE_ONCE(*free, ring);
	WRITE_ONCE(watch_count, watch_count + 1);
	return true;
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
	spin_lock(&watch_lock);
	ring->watched = watch_insert(ring);
	if (ring->watched)
		kref_get(&ring->imp->obj.ref);
	spin_unlock(&watch_lock);
	if (ring->watched)
		wake_up_process(task);
	return ring->watched;
}

/**
 * rsm_watch_remove() - have a ring watched no more
 * @ring: watched
 *
 * Context: the watcher, ring->lock held.  The reference on its import is the caller's.
 */
void rsm_watch_remove(struct rsm_ring *ring)
{
	unsigned int i;

	lockdep_assert_held(&ring->lock);
	spin_lock(&watch_lock);
	for (i = 0; i < WATCH_MOST; i++)
		if (watched[i] == ring)
			WRITE_ONCE(watched[i], NULL);
	WRITE_ONCE(watch_count, watch_count - 1);
	spin_unlock(&watch_lock);
	ring->watched = false;
}

/* A look posts no more than what may be under way, and then others have their turn. */
static void watch_round(void)
{
	struct rsm_ring *ring;
	unsigned int i;

	for (i = 0; i < WATCH_MOST; i++) {
		ring = READ_ONCE(watched[i]);
		if (ring && !rsm_ring_look(ring))
			rsm_obj_put(&ring->imp->obj);
		cond_resched();
	}
}

static void watch_sleep(void)
{
	set_current_state(TASK_IDLE);
	if (!READ_ONCE(watch_count) && !kthread_should_stop())
		schedule();
	__set_current_state(TASK_RUNNING);
}

static int watch_run(void *unused)
{
	while (!kthread_should_stop()) {
		if (!READ_ONCE(watch_count))
			watch_sleep();
		watch_round();
		/* It may run for long, and RCU's tasks must not wait for that. */
		cond_resched_tasks_rcu_qs();
		cpu_relax();
	}
	/* Their imports are gone, so none of them stays. */
	watch_round();
	return 0;
}

/* Where there is no memory for it, processes enter the kernel.  Context: sleeps. */
void rsm_watch_start(void)
{
	struct task_struct *task;

	if (smp_load_acquire(&watcher))	/* whole */
		return;
	mutex_lock(&watch_mutex);
	if (!watcher) {
		task = kthread_run(watch_run, NULL, "dat-rsm-watch");
		if (!IS_ERR(task))
			smp_store_release(&watcher, task);	/* it is whole */
	}
	mutex_unlock(&watch_mutex);
}

/* The module goes: there is no open file any more. */
void rsm_watch_exit(void)
{
	if (watcher)
		kthread_stop(watcher);
}
