// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "stats.h"

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void stats_of(uint64_t *at, size_t n, double scale, struct stats *s)
{
	double sum = 0, dev = 0;
	size_t i;

	for (i = 0; i < n; i++)
		at[i] = at[i + 1] - at[i];
	qsort(at, n, sizeof(*at), by_value);
	for (i = 0; i < n; i++)
		sum += (double)at[i];
	s->avg = sum / (double)n;
	for (i = 0; i < n; i++)
		dev += ((double)at[i] - s->avg) * ((double)at[i] - s->avg);
	s->avg *= scale;
	s->stdev = sqrt(dev / (double)n) * scale;
	s->min = (double)at[0] * scale;
	s->max = (double)at[n - 1] * scale;
	s->typical = (double)at[n / 2] * scale;
	s->p99 = (double)at[n * 99 / 100] * scale;
	s->p999 = (double)at[n * 999 / 1000] * scale;
}

void stats_json(const struct stats *s)
{
	printf(",\"t_min\":%.3f,\"t_max\":%.3f,\"t_typical\":%.3f,\"t_avg\":%.3f,"
	       "\"t_stdev\":%.3f,\"t_99\":%.3f,\"t_99_9\":%.3f}", s->min, s->max, s->typical,
	       s->avg, s->stdev, s->p99, s->p999);
}
