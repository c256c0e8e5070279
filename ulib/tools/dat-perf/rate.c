// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Average and best rate of a bandwidth test.  The best rate is that of any period in which at least
 * a full window of messages completed.  It is computed during the test, in memory whose size does
 * not depend on the length of the test.
 */
#include "perf.h"

static uint64_t *slot(uint64_t *ring, uint64_t i)
{
	return &ring[i & (PERF_RATE_SLOTS - 1)];
}

void perf_rate_begin(struct perf_rate *r, uint64_t now, uint32_t window)
{
	r->window = window;
	r->stamps = 0;
	r->from = 0;
	r->at[0] = now;
	r->done[0] = 0;
	r->begin = now;
	r->best_n = 0;
	r->best_ticks = 0;
}

/*
 * Each time stamp stands for at least one message, so a period has at most @window + 1 time stamps,
 * and the ring has room for them.
 */
void perf_rate_add(struct perf_rate *r, uint64_t now, uint64_t done)
{
	uint64_t to = ++r->stamps, n, ticks;

	*slot(r->at, to) = now;
	*slot(r->done, to) = done;
	while (r->from + 1 < to && done - *slot(r->done, r->from + 1) >= r->window)
		r->from++;
	n = done - *slot(r->done, r->from);
	ticks = now - *slot(r->at, r->from);
	if (n >= r->window && (!r->best_n || n * r->best_ticks > r->best_n * ticks)) {
		r->best_n = n;
		r->best_ticks = ticks;
	}
}

static uint64_t ns_of(uint64_t ticks, double ns_per_tick)
{
	double ns = (double)ticks * ns_per_tick;

	return ns < 1 ? 1 : (uint64_t)ns;
}

void perf_rate_result(const struct perf_rate *r, double ns_per_tick, struct perf_result *result)
{
	result->messages = r->done[r->stamps & (PERF_RATE_SLOTS - 1)];
	result->ns = ns_of(r->at[r->stamps & (PERF_RATE_SLOTS - 1)] - r->begin, ns_per_tick);
	result->best_messages = r->best_n;
	result->best_ns = ns_of(r->best_ticks, ns_per_tick);
	/* A test with less than a window of messages has only one period. */
	if (!r->best_n) {
		result->best_messages = result->messages;
		result->best_ns = result->ns;
	}
}
