// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Computes the results from what was measured, and prints them for people. */
#include <stdio.h>

#include "../common/stats.h"
#include "perf.h"

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

static void report_lat(struct perf *p)
{
	/*
	 * The unit is microseconds.  The latency of a send or write is half the time of a
	 * ping-pong.
	 */
	double scale = p->ns_per_tick * (p->opt.op == OP_READ ? 1e-3 : 0.5e-3);
	static struct perf_bucket buckets[PERF_BUCKETS];
	uint32_t nbuckets = 0;
	struct stats s;

	if (p->at)
		stats_of(p->at, p->stamps, scale, &s);
	else
		perf_hist_stats(&p->hist, scale, &s);
	if (p->args.histogram) {
		fill_histogram(p);
		nbuckets = perf_hist_buckets(&p->hist, scale, buckets);
	}
	perf_json_lat(p, &s, buckets, nbuckets);
	if (p->args.json)
		return;
	printf(" %-10u %-12llu %-13.2f %-13.2f %-18.2f %-13.2f %-13.2f %-18.2f %.2f\n",
	       p->size, (unsigned long long)p->stamps, s.min, s.max, s.typical, s.avg, s.stdev,
	       s.p99, s.p999);
	if (p->args.histogram)
		print_histogram(buckets, nbuckets, p->hist.n);
}

static double per_second(uint64_t messages, uint64_t ns)
{
	return (double)messages / (double)ns * 1e9;
}

static void report_bw(struct perf *p)
{
	struct perf_rates rates;
	struct perf_result r;

	perf_rate_result(&p->rate, p->ns_per_tick, &r);
	rates = (struct perf_rates) {
		.mb = (double)p->size / 1048576, .client = per_second(r.messages, r.ns),
		.peak = per_second(r.best_messages, r.best_ns),
	};
	if (p->opt.bidir) {
		rates.server = per_second(p->peer_result.messages, p->peer_result.ns);
		rates.peak += per_second(p->peer_result.best_messages, p->peer_result.best_ns);
	}
	rates.average = rates.client + rates.server;
	perf_json_bw(p, &rates, r.messages);
	if (p->args.json)
		return;
	printf(" %-10u %-12llu %-18.2f %-18.2f %.6f\n", p->size, (unsigned long long)r.messages,
	       rates.peak * rates.mb, rates.average * rates.mb, rates.average / 1e6);
}

void perf_header(const struct perf *p)
{
	const struct perf_opt *o = &p->opt;

	if (p->args.json)
		return;
	printf(" dat-perf: %s, %s %s, %s", p->tool.name, perf_op_names[o->op],
	       perf_test_names[o->test], o->event ? "waiting for events" : "polling");
	if (o->eps > 1)
		printf(", %u connections", o->eps);
	if (o->idle)
		printf(", %u idle", o->idle);
	if (o->srq)
		printf(", SRQ");
	if (o->poller)
		printf(", driver's poller");
	if (o->busy)
		printf(", polling the device");
	if (o->inline_data)
		printf(", inline");
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
