// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * A thread that ends a timed test, so that the measured loop only reads a flag.  There is no thread
 * if no test is timed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "dat-perf.h"

#define NS_PER_S	1000000000ULL

static struct timespec time_of(uint64_t ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S),
	};

	return ts;
}

static void *tick(void *arg)
{
	struct perf_ticker *t = arg;
	struct timespec end = time_of(t->end);

	pthread_mutex_lock(&t->lock);
	while (!t->stop && tool_now_ns() < t->end)
		pthread_cond_timedwait(&t->wake, &t->lock, &end);
	__atomic_store_n(&t->over, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

void perf_ticker_start(struct perf *p)
{
	struct perf_ticker *t = &p->ticker;
	pthread_condattr_t attr;

	memset(t, 0, sizeof(*t));
	if (!p->client || !p->args.duration)
		return;
	t->end = tool_now_ns() + p->args.duration * NS_PER_S;
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&t->thread, NULL, tick, t))
		perf_fail(p, "cannot make a thread");
	t->running = 1;
}

void perf_ticker_stop(struct perf *p)
{
	struct perf_ticker *t = &p->ticker;

	if (!t->running)
		return;
	pthread_mutex_lock(&t->lock);
	t->stop = 1;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	t->running = 0;
}
