/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * A spinlock for critical sections of a few dozen instructions.  A short wait makes no system call.
 * On the post and reap paths, a system call would cost more than the critical section.
 */
#ifndef DU_LOCK_H
#define DU_LOCK_H

#include <sched.h>
#include <stdint.h>
#include <time.h>

#include "cancel.h"

#define DU_LOCK_YIELDS	16	/* number of yields before a waiter sleeps */

/*
 * struct du_lock - spinlock; a lock of zeros is free
 * @held: 1 while a thread holds the lock
 * @single: nonzero if only one thread uses the protected data; du_lock() then does nothing
 */
struct du_lock {
	uint32_t held;
	uint32_t single;
};

/* Yield or sleep after every 256 spins, because this thread may have preempted the lock holder. */
static inline void du_lock_pause(int spins)
{
	static const struct timespec nap = { .tv_nsec = 50000 };
	int state;

	if (spins % 256)
		return;
	if (spins / 256 <= DU_LOCK_YIELDS) {
		sched_yield();
		return;
	}
	state = du_cancel_off();
	nanosleep(&nap, NULL);
	du_cancel_restore(state);
}

/*
 * This slow path is not inlined.  Otherwise the callers of du_lock() would have to save more
 * registers.
 */
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
