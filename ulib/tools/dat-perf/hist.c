// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Histogram of latencies.  Its size does not depend on the number of latencies, so a timed test
 * keeps its latencies in one.  The width of a line is less than 1 % of its latencies.
 */
#include <math.h>
#include <string.h>

#include "../common/stats.h"
#include "perf.h"

#define LINES_PER_OCTAVE	(1U << PERF_HIST_BITS)

/* Returns the line of a latency.  Below 2^(PERF_HIST_BITS + 1) a line is one tick wide. */
static uint32_t line_of(uint64_t ticks)
{
	uint32_t octave;

	if (ticks < LINES_PER_OCTAVE)
		return (uint32_t)ticks;
	octave = 63 - (uint32_t)__builtin_clzll(ticks) - PERF_HIST_BITS;
	return ((octave + 1) << PERF_HIST_BITS) +
	       (uint32_t)((ticks >> octave) & (LINES_PER_OCTAVE - 1));
}

/* Returns the latency in the middle of a line. */
static double middle(uint32_t line)
{
	uint32_t octave = line >> PERF_HIST_BITS;
	double width;

	if (!octave)
		return line;
	width = ldexp(1, (int)octave - 1);
	return ((line & (LINES_PER_OCTAVE - 1)) + LINES_PER_OCTAVE) * width + (width - 1) / 2;
}

void perf_hist_clear(struct perf_hist *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

void perf_hist_add(struct perf_hist *h, uint64_t ticks)
{
	h->n++;
	if (ticks < h->min)
		h->min = ticks;
	if (ticks > h->max)
		h->max = ticks;
	h->sum += (double)ticks;
	h->squares += (double)ticks * (double)ticks;
	h->line[line_of(ticks)]++;
}

/* Returns the latency that @rank others do not exceed, within the width of a line. */
static double latency_of_rank(const struct perf_hist *h, uint64_t rank)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < PERF_HIST_LINES; i++) {
		n += h->line[i];
		if (n > rank)
			break;
	}
	return fmin(fmax(middle(i), (double)h->min), (double)h->max);
}

void perf_hist_stats(const struct perf_hist *h, double scale, struct stats *s)
{
	double n = (double)h->n, avg = h->sum / n;

	s->avg = avg * scale;
	s->stdev = sqrt(fmax(h->squares / n - avg * avg, 0)) * scale;
	s->min = (double)h->min * scale;
	s->max = (double)h->max * scale;
	s->typical = latency_of_rank(h, h->n / 2) * scale;
	s->p99 = latency_of_rank(h, h->n * 99 / 100) * scale;
	s->p999 = latency_of_rank(h, h->n * 999 / 1000) * scale;
}

#define PER_DECADE	10	/* buckets */

/* Returns the lower end of a bucket.  Bucket 0 begins at 1. */
static double bound(int i)
{
	static const double of_decade[PER_DECADE] = { 1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.4, 8 };
	int decade = (i < 0 ? i - PER_DECADE + 1 : i) / PER_DECADE;

	return of_decade[i - decade * PER_DECADE] * pow(10, decade);
}

/* Returns the bucket of a latency above 0. */
static int bucket_of(double latency)
{
	int i = (int)floor(log10(latency) * PER_DECADE);

	/* The bounds are round numbers, so the estimate may be off by one. */
	while (latency < bound(i))
		i--;
	while (latency >= bound(i + 1))
		i++;
	return i;
}

static double latency_of_line(const struct perf_hist *h, uint32_t line)
{
	return fmax(fmin(fmax(middle(line), (double)h->min), (double)h->max), 0.5);
}

uint32_t perf_hist_buckets(const struct perf_hist *h, double scale,
			   struct perf_bucket b[PERF_BUCKETS])
{
	uint32_t i, n = 0;
	int first = 0, this;

	for (i = 0; i < PERF_HIST_LINES; i++) {
		if (!h->line[i])
			continue;
		this = bucket_of(latency_of_line(h, i) * scale);
		if (!n)
			first = this;
		for (; n < PERF_BUCKETS && first + (int)n <= this; n++)
			b[n] = (struct perf_bucket) {
				.from = bound(first + (int)n), .to = bound(first + (int)n + 1),
			};
		b[n - 1].n += h->line[i];
	}
	return n;
}
