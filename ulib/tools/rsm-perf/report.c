// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Computes the results from the time stamps, and prints them. */
#define _GNU_SOURCE
#include <stdio.h>

#include "../common/stats.h"
#include "../common/text.h"
#include "perf.h"

static void json_head(const struct perf_opt *o)
{
	printf("{\"op\":\"%s\",\"test\":\"%s\",\"controller\":", perf_op_names[o->op],
	       perf_test_names[o->test]);
	text_json(o->controller);
	printf(",\"explicit\":%s,\"local\":%s,\"write_only\":%s,\"bytes\":%lu,\"entries\":%lu,"
	       "\"iterations\":%lu", o->explicit ? "true" : "false", o->handle ? "true" : "false",
	       o->write_only ? "true" : "false", o->size, o->entries, o->iters);
}

static void report_lat(struct perf *p)
{
	struct stats s;

	/* The unit is microseconds. */
	stats_of(p->at, p->opt.iters, p->ns_per_tick * 1e-3, &s);
	if (p->opt.json) {
		json_head(&p->opt);
		stats_json(&s);
		return;
	}
	printf(" %-10lu %-10lu %-12lu %-13.3f %-13.3f %-18.3f %-13.3f %-13.3f %-13.3f %.3f\n",
	       p->opt.size, p->opt.entries, p->opt.iters, s.min, s.max, s.typical, s.avg,
	       s.stdev, s.p99, s.p999);
}

/*
 * Print the bandwidth.  In explicit mode, the time includes the barrier after the calls.  The rate
 * is 0 if the clock shows no difference between start and end.
 */
static void report_bw(const struct perf *p)
{
	double seconds = (double)(p->end_ns - p->start_ns) * 1e-9;
	double rate = seconds > 0 ? (double)p->opt.iters / seconds : 0;
	double mb = rate * (double)(p->opt.size * p->opt.entries) / 1048576.0;

	if (p->opt.json) {
		json_head(&p->opt);
		printf(",\"bw_average\":%.2f,\"call_rate\":%.6f}", mb, rate / 1e6);
		return;
	}
	printf(" %-10lu %-10lu %-12lu %-18.2f %.6f\n", p->opt.size, p->opt.entries, p->opt.iters,
	       mb, rate / 1e6);
}

void perf_header(const struct perf_opt *o)
{
	if (o->json) {
		printf("[");
		return;
	}
	printf(" rsm-perf: %s %s, %s, %s%s%s\n", perf_op_names[o->op], perf_test_names[o->test],
	       o->op == OP_MEMCPY ? "one process" : o->controller,
	       o->explicit ? "explicit" : "implicit", o->handle ? ", local memory handle" : "",
	       o->write_only ? ", write-only" : "");
	if (o->test == TEST_LAT)
		printf(" #bytes     #entries   #iterations  t_min[usec]   t_max[usec]   "
		       "t_typical[usec]    t_avg[usec]   t_stdev[usec] 99%%[usec]     99.9%%[usec]\n");
	else
		printf(" #bytes     #entries   #iterations  BW average[MB/sec] CallRate[Mcps]\n");
}

void perf_report(struct perf *p, int more)
{
	if (p->opt.test == TEST_LAT)
		report_lat(p);
	else
		report_bw(p);
	if (p->opt.json)
		printf("%s\n", more ? "," : "]");
	fflush(stdout);
}
