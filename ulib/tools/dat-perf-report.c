// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Computes the results from the time stamps, and prints them. */
#include <stdio.h>

#include "dat-perf.h"
#include "stats.h"
#include "text.h"

static void json_head(const struct perf *p, uint64_t iters)
{
	const struct perf_opt *o = &p->opt;

	printf("{\"op\":\"%s\",\"test\":\"%s\",\"device\":", perf_op_names[o->op],
	       perf_test_names[o->test]);
	text_json(p->tool.name);
	printf(",\"event\":%s,\"bytes\":%u,\"iterations\":%llu,\"eps\":%u,\"idle\":%u,"
	       "\"srq\":%s,\"poller\":%u,\"busy_poll\":%u", o->event ? "true" : "false",
	       p->size, (unsigned long long)iters, o->eps, o->idle, o->srq ? "true" : "false", o->poller,
	       o->busy);
}

/* Print the buckets, each with a bar whose length is its share of the fullest bucket. */
static void print_histogram(const struct perf_bucket *b, uint32_t n, uint64_t all)
{
	static const char bar[] = "########################################";
	uint64_t most = 1;
	uint32_t i;

	for (i = 0; i < n; i++)
		most = b[i].n > most ? b[i].n : most;
	printf(" #from[usec] to[usec]     messages        %%\n");
	for (i = 0; i < n; i++)
		printf(" %11.6g %-10.6g %10llu %8.3f %.*s\n", b[i].from, b[i].to,
		       (unsigned long long)b[i].n, 100.0 * (double)b[i].n / (double)all,
		       (int)(sizeof(bar) * b[i].n / (most + 1)), bar);
}

/* Fill the histogram of a test that is not timed from the latencies in p->at. */
static void fill_histogram(struct perf *p)
{
	uint64_t i;

	for (i = 0; p->at && i < p->stamps; i++)
		perf_hist_add(&p->hist, p->at[i]);
}

static void report_histogram(struct perf *p, double scale)
{
	static struct perf_bucket b[PERF_BUCKETS];
	uint32_t n;

	fill_histogram(p);
	n = perf_hist_buckets(&p->hist, scale, b);
	print_histogram(b, n, p->hist.n);
}

static void report_lat(struct perf *p)
{
	/*
	 * The unit is microseconds.  The latency of a send or write is half the time of a
	 * ping-pong.
	 */
	double scale = p->ns_per_tick * (p->opt.op == OP_READ ? 1e-3 : 0.5e-3);
	struct stats s;

	if (p->at)
		stats_of(p->at, p->stamps, scale, &s);
	else
		perf_hist_stats(&p->hist, scale, &s);
	if (p->args.json) {
		json_head(p, p->stamps);
		stats_json(&s);
		return;
	}
	printf(" %-10u %-12llu %-13.2f %-13.2f %-18.2f %-13.2f %-13.2f %-18.2f %.2f\n",
	       p->size, (unsigned long long)p->stamps, s.min, s.max, s.typical, s.avg, s.stdev,
	       s.p99, s.p999);
	if (p->args.histogram)
		report_histogram(p, scale);
}

/* Print the bandwidth.  1 MB is 2^20 bytes, as in perftest. */
static void report_bw(struct perf *p)
{
	double mb = (double)p->size / 1048576.0, rate, peak;
	struct perf_result r;

	perf_rate_result(&p->rate, p->ns_per_tick, &r);
	rate = (double)r.messages / (double)r.ns * 1e9;
	peak = (double)r.best_messages / (double)r.best_ns * 1e9;
	if (p->opt.bidir) {
		rate += (double)p->peer_result.messages / (double)p->peer_result.ns * 1e9;
		peak += (double)p->peer_result.best_messages / (double)p->peer_result.best_ns * 1e9;
	}
	if (p->args.json) {
		json_head(p, r.messages);
		printf(",\"window\":%u,\"cq_mod\":%u,\"bw_peak\":%.2f,\"bw_average\":%.2f,"
		       "\"msg_rate\":%.6f}", p->opt.window, p->opt.cq_mod, peak * mb,
		       rate * mb, rate / 1e6);
		return;
	}
	printf(" %-10u %-12llu %-18.2f %-18.2f %.6f\n", p->size, (unsigned long long)r.messages,
	       peak * mb, rate * mb, rate / 1e6);
}

void perf_header(const struct perf *p)
{
	const struct perf_opt *o = &p->opt;

	if (p->args.json) {
		printf("[");
		return;
	}
	printf(" dat-perf: %s %s, %s", perf_op_names[o->op], perf_test_names[o->test],
	       o->event ? "waiting for events" : "polling");
	if (o->eps > 1)
		printf(", %u connections", o->eps);
	if (o->idle)
		printf(", %u idle", o->idle);
	if (o->srq)
		printf(", SRQ");
	if (o->poller)
		printf(", driver's poller");
	if (o->busy)
		printf(", looking at the device");
	if (o->bidir)
		printf(", both directions together");
	if (o->cq_mod > 1)
		printf(", 1 of %u reports", o->cq_mod);
	putchar('\n');
	if (o->test == TEST_LAT)
		printf(" #bytes     #iterations  t_min[usec]   t_max[usec]   t_typical[usec]"
		       "    t_avg[usec]   t_stdev[usec] 99%%[usec]          99.9%%[usec]\n");
	else
		printf(" #bytes     #iterations  BW peak[MB/sec]    BW average[MB/sec] MsgRate[Mpps]\n");
}

void perf_report(struct perf *p)
{
	if (p->opt.test == TEST_LAT)
		report_lat(p);
	else
		report_bw(p);
	fflush(stdout);
}
