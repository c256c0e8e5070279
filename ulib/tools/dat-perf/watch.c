// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * A thread of the server that gives up a client from which nothing comes, so that one client cannot
 * keep a server from the next.  Once a second, the thread looks at the counters of the main thread.
 * The measured loops do nothing for that.
 *
 * The thread counts seconds in which it has run.  Time in which the server was stopped does not
 * count.
 */
#include <errno.h>
#include <time.h>

#include "perf.h"

/*
 * Returns whether the test goes on without the client's program: the devices alone carry out RDMA
 * reads and writes, and the client's program sends a message at the end of the test.
 */
static int is_one_sided(const struct perf_opt *o)
{
	return o->op == OP_READ || (o->op == OP_WRITE && o->test == TEST_BW);
}

/* Returns a number that changes when the client shows a sign.  A stale value does no harm. */
static uint64_t signs(const struct perf *p)
{
	const volatile struct perf *v = p;

	return v->received + v->marks + (is_one_sided(&p->opt) ? 0 : v->sent);
}

/*
 * Returns the limit for the test of a size.  If the test is one-sided, the limit is the time that
 * two slow hosts take for all of it: 10 ms for a message and 1 s for 128 KiB.  A timed test ends
 * when the windows are empty.  If the test is not one-sided, the first messages of all connections
 * may arrive together.
 */
unsigned int perf_watch_round(const struct perf *p)
{
	const struct perf_opt *o = &p->opt;
	uint64_t n = o->iters ? o->iters : (uint64_t)o->eps * o->window;

	if (!is_one_sided(o))
		return PERF_SILENCE + (unsigned int)((uint64_t)o->eps * p->size >> 17);
	return 2 * PERF_SILENCE + 2 * o->duration + (unsigned int)(n / 100 + (n * p->size >> 17));
}

/* End all connections of the client.  The main thread then gets an event of each. */
static void give_up(struct perf *p)
{
	uint32_t i;

	tool_warn("a client has been silent for %u s", p->watch.limit);
	for (i = 0; i < perf_conns(&p->opt); i++)
		dat_ep_disconnect(p->conn[i].ep, DAT_CLOSE_ABRUPT_FLAG);
}

static void *look(void *arg)
{
	struct perf *p = arg;
	struct perf_watch *w = &p->watch;
	uint64_t last = signs(p), now;
	struct timespec ts;

	pthread_mutex_lock(&w->lock);
	while (!w->stop && w->quiet < w->limit) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		ts.tv_sec++;
		if (pthread_cond_timedwait(&w->wake, &w->lock, &ts) != ETIMEDOUT)
			continue;
		now = signs(p);
		w->quiet = now == last ? w->quiet + 1 : 0;
		last = now;
	}
	if (!w->stop)
		give_up(p);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void start(struct perf *p)
{
	struct perf_watch *w = &p->watch;
	pthread_condattr_t attr;

	w->stop = 0;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&w->thread, NULL, look, p))
		perf_fail(p, "cannot make a thread");
	w->running = 1;
}

void perf_watch(struct perf *p, unsigned int limit)
{
	struct perf_watch *w = &p->watch;

	if (p->client)
		return;
	if (w->running) {
		pthread_mutex_lock(&w->lock);
		w->limit = limit;
		w->quiet = 0;
		pthread_mutex_unlock(&w->lock);
		return;
	}
	w->limit = limit;
	w->quiet = 0;
	start(p);
}

void perf_watch_stop(struct perf *p)
{
	struct perf_watch *w = &p->watch;

	if (!w->running)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = 1;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	w->running = 0;
}
