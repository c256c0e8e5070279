// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Counters of an adapter: one set per CPU, summed when they are read. */
#include "core/stats.h"

/* Names of the counters in fdinfo, which are ABI; see Documentation/uapi.rst. */
static const char *const stat_names[DAT_NR_STATS] = {
	[DAT_STAT_REQUESTS]	= "requests",
	[DAT_STAT_RECEIVES]	= "receives",
	[DAT_STAT_KICKS]	= "kicks",
	[DAT_STAT_COMPLETED]	= "completed",
	[DAT_STAT_FAILED]	= "failed",
	[DAT_STAT_FLUSHED]	= "flushed",
	[DAT_STAT_MALFORMED]	= "malformed",
	[DAT_STAT_EVENTS]	= "events",
	[DAT_STAT_DROPPED]	= "dropped",
};

/*
 * Writes the sums of the counters.  A sum is never lower than in an earlier output: dat_stat_add()
 * loses no addition, and a load of 64 bits is one step, because compat.h refuses 32-bit kernels.
 * Other threads go on counting, so the sums of one output need not agree with each other.
 */
void dat_stats_show(struct seq_file *m, struct dat_stats __percpu *stats)
{
	unsigned int i;
	u64 sum;
	int cpu;

	for (i = 0; i < DAT_NR_STATS; i++) {
		sum = 0;
		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu_ptr(stats, cpu)->n[i]);
		seq_printf(m, " %s=%llu", stat_names[i], sum);
	}
}
