/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A lock for a few dozen instructions: no system call, not even when contended,
 * which on the post and reap paths would cost more than what it protects.
 */
#ifndef DU_LOCK_H
#define DU_LOCK_H

#include <sched.h>
#include <stdint.h>
#include <time.h>

#define DU_LOCK_YIELDS	16	/* before it sleeps */

/*
 * struct du_lock - zeros are a lock that nobody holds
 * @held: somebody does
 * @single: constant: the program promises to have no two threads here
 */
struct du_lock {
	uint32_t held;
	uint32_t single;
};

/* The holder may have lost its processor, and to us if it has a lower priority. */
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

/* Apart from du_lock(), whose callers would otherwise save registers for this. */
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
