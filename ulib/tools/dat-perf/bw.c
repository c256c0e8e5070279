// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Loop of the bandwidth tests.  It posts requests while the windows allow, reaps completions until
 * there are none, and takes one time stamp for all of these completions.
 */
#include "clock.h"
#include "perf.h"
#include "request.h"

/* Returns whether more requests are to be posted. */
static int more(const struct perf *p, uint64_t posted)
{
	if (p->opt.iters)
		return posted < p->opt.iters;
	return p->client ? !perf_time_is_over(p) : !perf_client_is_done(p);
}

/* Returns the flag of a request that another one follows at once on the same connection. */
static DAT_COMPLETION_FLAGS followed(struct perf *p, uint64_t posted)
{
	int follows = p->args.more && perf_turn(p)->busy + 1 < p->opt.window && more(p, posted + 1);

	return follows ? DAT_LINUX_COMPLETION_MORE_FLAG : DAT_COMPLETION_DEFAULT_FLAG;
}

/*
 * Post all requests that the windows allow.  On each connection, every cq_mod-th request is
 * signalled, and the last one if the number of messages is known.
 */
static uint64_t post_batch(struct perf *p, uint64_t posted)
{
	const struct perf_opt *o = &p->opt;
	uint64_t last = !o->iters ? UINT64_MAX : o->iters > o->eps ? o->iters - o->eps : 0;

	while (perf_turn(p)->busy < o->window && more(p, posted)) {
		perf_post_more(p, posted >= last || perf_turn(p)->silent + 1 == o->cq_mod,
			       followed(p, posted));
		posted++;
		perf_next_turn(p);
	}
	return posted;
}

/*
 * When the time is over, post a signalled request on each connection whose last request is not
 * signalled.  A full window waits for completions first.
 */
static uint64_t post_last(struct perf *p, uint64_t posted)
{
	for (p->next = 0; p->next < p->opt.eps; p->next++) {
		if (!perf_turn(p)->silent || perf_turn(p)->busy == p->opt.window)
			continue;
		perf_post(p, 1);
		posted++;
	}
	p->next = 0;
	return posted;
}

static void send_all(struct perf *p)
{
	uint64_t posted = 0, sent;

	perf_ticker_start(p, STAGE_TEST);
	perf_rate_begin(&p->rate, perf_ticks(), p->opt.window);
	do {
		posted = post_batch(p, posted);
		if (!p->opt.iters && !more(p, posted))
			posted = post_last(p, posted);
		sent = p->sent;
		if (sent < posted)
			perf_reap_batch(p);
		if (p->sent > sent)
			perf_rate_add(&p->rate, perf_ticks(), p->sent);
	} while (p->sent < posted || more(p, posted));
	perf_ticker_stop(p);
}

void perf_run_bw(struct perf *p)
{
	if (p->client || p->opt.bidir)
		send_all(p);
	/* The server receives until the client has finished on all connections. */
	while (!p->client && p->marks < 1 + p->opt.eps)
		perf_reap_batch(p);
}
