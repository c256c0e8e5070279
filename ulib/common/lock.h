/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A spinlock for a few dozen instructions.  A short wait makes no system call: on the post and
 * reap paths, one would cost more than what the lock protects.
 */
#ifndef DU_LOCK_H
#define DU_LOCK_H

#include <sched.h>
#include <stdint.h>
#include <time.h>

#define DU_LOCK_YIELDS	16	/* yields before a waiter sleeps */

/*
 * struct du_lock - spinlock; zeros are a free lock
 * @held: 1 while the lock is held
 * @single: the lock does nothing, as only one thread uses what it protects
 */
struct du_lock {
	uint32_t held;
	uint32_t single;
};

/* Yield or sleep now and then: this thread may have preempted the holder of the lock. */
static inline void du_lock_pause(int spins)
{
	static const struct timespec nap = { .tv_nsec = 50000 };

	if (spins % 256)
		return;
	if (spins / 256 <= DU_LOCK_YIELDS)
		sched_yield();
	else
		nanosleep(&nap, NULL);
}

/* Out of line: inlined, it would make the callers of du_lock() save registers. */
static void __attribute__((noinline, cold, unused)) du_lock_wait(struct du_lock *l)
{
	int spins = 0;

	do {
		while (__atomic_load_n(&l->held, __ATOMIC_RELAXED))
			du_lock_pause(++spins);
	} while (__atomic_exchange_n(&l->held, 1, __ATOMIC_ACQUIRE));
}

static inline void du_lock(struct du_lock *l)
{
	if (l->single)
		return;
	if (__builtin_expect(__atomic_exchange_n(&l->held, 1, __ATOMIC_ACQUIRE), 0))
		du_lock_wait(l);
}

static inline void du_unlock(struct du_lock *l)
{
	__atomic_store_n(&l->held, 0, __ATOMIC_RELEASE);
}

#endif /* DU_LOCK_H */
