// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The spinlock du_lock, used by threads of different priorities. */
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "kselftest_harness.h"
#include "lock.h"

#define WORK_MS	20	/* CPU time in ms that the holder uses under the lock */
#define LIMIT_MS 500	/* if the waiter did not let the holder run, it would wait nearly 1 s */

static struct du_lock lock;
static int holds;

static double now_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* Hold the lock for WORK_MS of CPU time.  This thread has normal priority. */
static void *hold(void *arg)
{
	double end;

	(void)arg;
	du_lock(&lock);
	end = now_ms(CLOCK_THREAD_CPUTIME_ID) + WORK_MS;
	__atomic_store_n(&holds, 1, __ATOMIC_RELEASE);
	while (now_ms(CLOCK_THREAD_CPUTIME_ID) < end)
		;
	du_unlock(&lock);
	return NULL;
}

/* The holder and the realtime waiter share one CPU, so the waiter must let the holder run. */
TEST(a_realtime_thread_waits_for_one_that_is_not)
{
	struct sched_param rt = { .sched_priority = 10 }, other = {};
	pthread_t holder;
	cpu_set_t one;
	double start;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
	ASSERT_EQ(0, pthread_create(&holder, NULL, hold, NULL));
	while (!__atomic_load_n(&holds, __ATOMIC_ACQUIRE))
		sched_yield();
	if (sched_setscheduler(0, SCHED_FIFO, &rt))
		SKIP(return, "realtime priorities need the privilege");
	start = now_ms(CLOCK_MONOTONIC);
	du_lock(&lock);
	EXPECT_LT(now_ms(CLOCK_MONOTONIC) - start, LIMIT_MS);
	du_unlock(&lock);
	sched_setscheduler(0, SCHED_OTHER, &other);
	pthread_join(holder, NULL);
}

TEST_HARNESS_MAIN
