// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From time stamps to what is printed. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "rsm-perf.h"
#include "text.h"

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

struct stats {
	double min, max, typical, avg, stdev, p99, p999;
};

/* In microseconds. */
static void lat_stats(struct perf *p, struct stats *s)
{
	double scale = p->ns_per_tick * 1e-3, sum = 0, dev = 0;
	unsigned long n = p->opt.iters, i;

	for (i = 0; i < n; i++)
		p->at[i] = p->at[i + 1] - p->at[i];
	qsort(p->at, n, sizeof(*p->at), by_value);
	for (i = 0; i < n; i++)
		sum += (double)p->at[i];
	s->avg = sum / (double)n;
	for (i = 0; i < n; i++)
		dev += ((double)p->at[i] - s->avg) * ((double)p->at[i] - s->avg);
	s->avg *= scale;
	s->stdev = sqrt(dev / (double)n) * scale;
	s->min = (double)p->at[0] * scale;
	s->max = (double)p->at[n - 1] * scale;
	s->typical = (double)p->at[n / 2] * scale;
	s->p99 = (double)p->at[n * 99 / 100] * scale;
	s->p999 = (double)p->at[n * 999 / 1000] * scale;
}

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

	lat_stats(p, &s);
	if (p->opt.json) {
		json_head(&p->opt);
		printf(",\"t_min\":%.3f,\"t_max\":%.3f,\"t_typical\":%.3f,\"t_avg\":%.3f,"
		       "\"t_stdev\":%.3f,\"t_99\":%.3f,\"t_99_9\":%.3f}", s.min, s.max,
		       s.typical, s.avg, s.stdev, s.p99, s.p999);
		return;
	}
	printf(" %-10lu %-10lu %-12lu %-13.3f %-13.3f %-18.3f %-13.3f %-13.3f %-13.3f %.3f\n",
	       p->opt.size, p->opt.entries, p->opt.iters, s.min, s.max, s.typical, s.avg,
	       s.stdev, s.p99, s.p999);
}

/* The barrier at the end of explicit calls included.  0: the clock has not moved. */
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
