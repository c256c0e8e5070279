// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Runs the test of a size: each side's part.  A loop does what a program would do for each message,
 * and nothing else.
 */
#include "clock.h"
#include "perf.h"

/* Returns whether the server sends or writes in the test.  Otherwise it only provides memory. */
static int server_is_busy(const struct perf_opt *o)
{
	return o->op == OP_SEND || o->bidir || (o->op == OP_WRITE && o->test == TEST_LAT);
}

static void run_part(struct perf *p)
{
	if (!p->client && !server_is_busy(&p->opt))
		return;
	if (p->opt.test == TEST_LAT)
		perf_run_lat(p);
	else if (p->opt.test == TEST_RECV)
		p->client ? perf_receive(p, p->opt.iters) : perf_feed(p);
	else
		perf_run_bw(p);
}

static void busy_poll(struct perf *p, uint32_t usec)
{
	perf_check(p, dat_linux_evd_busy_poll(p->tool.evd, usec),
		   "cannot poll the device: leave out --busy-poll");
}

/* Run this side's part of the test. */
void perf_run(struct perf *p)
{
	uint64_t ns, ticks;

	p->next = 0;
	busy_poll(p, p->opt.busy);
	ns = tool_now_ns();
	ticks = perf_ticks();
	run_part(p);
	ticks = perf_ticks() - ticks;
	busy_poll(p, 0);
	p->ns_per_tick = ticks ? (double)(tool_now_ns() - ns) / (double)ticks : 1;
}
