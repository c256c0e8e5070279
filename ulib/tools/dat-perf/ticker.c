// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * A thread that ends a timed test, so that the measured loop only reads a flag, and that shows
 * progress.  There is no thread if there is nothing to do for it.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "perf.h"

#define NS_PER_S	1000000000ULL
#define LOG_INTERVAL	(3 * NS_PER_S)	/* no progress is shown before */
#define TTY_INTERVAL	NS_PER_S
#define TTY_WIDTH	78

/* Returns how much of the test is done.  A stale value of p->sent does no harm. */
static uint64_t percent(const struct perf *p, uint64_t now)
{
	const struct perf_ticker *t = &p->ticker;
	uint64_t sent = *(volatile const uint64_t *)&p->sent;
	uint64_t done = t->end ? now - t->begin : sent > t->base ? sent - t->base : 0;
	uint64_t all = t->end ? t->end - t->begin : p->opt.iters;

	return done >= all ? 100 : done * 100 / all;
}

static void describe(const struct perf *p, uint64_t now, char *text, size_t len)
{
	const struct perf_ticker *t = &p->ticker;
	char round[32] = "";

	if (t->stage == STAGE_CONNECT) {
		snprintf(text, len, "dat-perf: %u of %u connections",
			 *(volatile const uint32_t *)&p->up, perf_conns(&p->opt));
		return;
	}
	if (p->args.sizes.n > 1)
		snprintf(round, sizeof(round), ", size %u of %u", p->round, p->args.sizes.n);
	if (t->stage == STAGE_WARM_UP)
		snprintf(text, len, "dat-perf: %u bytes%s: warming up", p->size, round);
	else
		snprintf(text, len, "dat-perf: %u bytes%s: %u %% after %u s", p->size, round,
			 (unsigned int)percent(p, now),
			 (unsigned int)((now - t->begin) / NS_PER_S));
}

/* On a terminal, leave the cursor at the begin of the line, where a message overwrites it. */
static void show(struct perf *p, uint64_t now)
{
	char text[TTY_WIDTH + 1];

	describe(p, now, text, sizeof(text));
	if (p->ticker.tty)
		fprintf(stderr, "\r%-*s\r", TTY_WIDTH, text);
	else
		fprintf(stderr, "%s\n", text);
	p->ticker.shown = p->ticker.tty;
}

static void *tick(void *arg)
{
	struct perf *p = arg;
	struct perf_ticker *t = &p->ticker;
	uint64_t quiet = p->args.interval ? p->args.interval * NS_PER_S : LOG_INTERVAL;
	uint64_t interval = t->tty && !p->args.interval ? TTY_INTERVAL : quiet;
	uint64_t next = t->begin + interval, wake, now;
	struct timespec ts;

	if (!t->tty && !p->args.progress)
		next = UINT64_MAX;
	else if (next < t->first + quiet)
		next = t->first + quiet;
	pthread_mutex_lock(&t->lock);
	for (;;) {
		now = tool_now_ns();
		if (t->stop || (t->end && now >= t->end))
			break;
		if (now >= next) {
			show(p, now);
			next += interval;
		}
		wake = t->end && t->end < next ? t->end : next;
		ts.tv_sec = (time_t)(wake / NS_PER_S);
		ts.tv_nsec = (long)(wake % NS_PER_S);
		pthread_cond_timedwait(&t->wake, &t->lock, &ts);
	}
	__atomic_store_n(&t->over, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

void perf_ticker_start(struct perf *p, enum perf_stage stage)
{
	struct perf_ticker *t = &p->ticker;
	pthread_condattr_t attr;

	t->over = 0;
	if (!p->client || p->args.syscalls)
		return;
	t->tty = isatty(STDERR_FILENO);
	t->stop = 0;
	t->stage = stage;
	t->base = p->sent;
	t->begin = tool_now_ns();
	t->first = t->first ? t->first : t->begin;
	t->end = stage == STAGE_TEST && p->args.duration ?
		 t->begin + p->args.duration * NS_PER_S : 0;
	if (!t->end && !t->tty && !p->args.progress)
		return;
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&t->thread, NULL, tick, p))
		tool_die("cannot make a thread");
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
	if (t->shown)
		fprintf(stderr, "\r%*s\r", TTY_WIDTH, "");
	t->shown = 0;
}
