/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* Statistics of latencies, for dat-perf and rsm-perf. */
#ifndef TOOLS_STATS_H
#define TOOLS_STATS_H

#include <stddef.h>
#include <stdint.h>

struct stats {
	double min, max, typical, avg, stdev, p99, p999;
};

/*
 * Compute the statistics of the @n intervals between the @n + 1 time stamps in @at.  @at is
 * overwritten.  @scale is the length of a tick in the unit of @s.
 */
void stats_of(uint64_t *at, size_t n, double scale, struct stats *s);

/* Print @s as members of a JSON object, with a comma before them and a closing brace after them. */
void stats_json(const struct stats *s);

#endif /* TOOLS_STATS_H */
