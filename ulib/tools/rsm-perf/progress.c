// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * The progress of long measurements, on a terminal.  A thread shows it, because a signal or a look
 * at the clock would disturb the calls that are measured.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "perf.h"

#define FIRST_MS	3000
#define NEXT_MS		500

/*
 * @measured: the run whose progress is shown
 * @thread: the thread, which ends when @stop[1] is closed
 * @lock: serializes output, and @shown
 * @shown: flag: the line of the progress is on the terminal
 */
static const struct perf *measured;
static pthread_t thread;
static int stop[2] = { -1, -1 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shown;

static void show(void)
{
	unsigned long done = __atomic_load_n(&measured->done, __ATOMIC_RELAXED);
	unsigned long size = __atomic_load_n(&measured->opt.size, __ATOMIC_RELAXED);

	pthread_mutex_lock(&lock);
	fprintf(stderr, "\rrsm-perf: %s of %lu bytes: %3lu %%\033[K",
		perf_op_names[measured->opt.op], size, done * 100 / measured->opt.iters);
	shown = 1;
	pthread_mutex_unlock(&lock);
}

static void *run(void *unused)
{
	struct pollfd p = { .fd = stop[0], .events = POLLIN };
	int given = measured->opt.interval_ms, ms = given ? given : FIRST_MS;

	/* poll() returns 0 after the time, and 1 when the other end is closed. */
	while (!poll(&p, 1, ms)) {
		show();
		ms = given ? given : NEXT_MS;
	}
	return unused;
}

void perf_progress_begin(const struct perf *p)
{
	if (!isatty(STDERR_FILENO) || pipe(stop))
		return;
	measured = p;
	if (!pthread_create(&thread, NULL, run, NULL))
		return;
	close(stop[0]);
	close(stop[1]);
	stop[1] = -1;
}

void perf_progress_clear(void)
{
	pthread_mutex_lock(&lock);
	if (shown)
		fputs("\r\033[K", stderr);
	shown = 0;
	pthread_mutex_unlock(&lock);
}

void perf_progress_end(void)
{
	if (stop[1] < 0)
		return;
	close(stop[1]);
	stop[1] = -1;
	pthread_join(thread, NULL);
	close(stop[0]);
	perf_progress_clear();
}
