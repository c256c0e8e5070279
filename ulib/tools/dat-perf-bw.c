// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Loop of the bandwidth tests.  It posts requests while the windows allow, reaps completions until
 * there are none, and takes one time stamp for all of these completions.
 */
#include "dat-perf.h"
#include "dat-perf-clock.h"
#include "dat-perf-request.h"

/*
 * Post all requests that the windows allow.  On each connection, every cq_mod-th request and the
 * last request are signalled.
 */
static uint64_t post_batch(struct perf *p, uint64_t posted)
{
	const struct perf_opt *o = &p->opt;
	uint64_t last = o->iters > o->eps ? o->iters - o->eps : 0;

	while (posted < o->iters && perf_turn(p)->busy < o->window) {
		perf_post(p, posted >= last || perf_turn(p)->silent + 1 == o->cq_mod);
		posted++;
		perf_next_turn(p);
	}
	return posted;
}

void perf_run_bw(struct perf *p)
{
	uint64_t posted = 0, sent;

	perf_rate_begin(&p->rate, perf_ticks(), perf_at_most(p->opt.window, p->opt.iters));
	while (p->sent < p->opt.iters) {
		posted = post_batch(p, posted);
		sent = p->sent;
		perf_reap_batch(p);
		if (p->sent > sent)
			perf_rate_add(&p->rate, perf_ticks(), p->sent);
	}
}

/* The server's part: receive until the client has finished on all connections. */
void perf_receive_until_marks(struct perf *p)
{
	while (p->marks < 1 + p->opt.eps)
		perf_reap_batch(p);
}
