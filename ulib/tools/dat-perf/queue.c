// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Computes the lengths of the queues for a run, and checks them against the limits of the adapter.
 */
#include <stdio.h>

#include "perf.h"

/* Returns whether this side receives messages of the test. */
static int receives(const struct perf *p)
{
	if (p->opt.op != OP_SEND)
		return 0;
	return p->opt.test == TEST_LAT || p->opt.bidir || p->client == (p->opt.test == TEST_RECV);
}

#define CTRL_RECVS	4	/* receives for control messages alone */

/* Returns the number of receives that a connection needs. */
static uint32_t wanted_recvs(const struct perf *p)
{
	if (!receives(p))
		return CTRL_RECVS;
	return p->opt.test == TEST_LAT ? PERF_LAT_RECVS : 4 * p->opt.window;
}

/* Returns the maximum number of completions of requests that the EVD contains at the same time. */
static uint32_t request_events(const struct perf *p)
{
	const struct perf_opt *o = &p->opt;

	if ((!p->client && !o->bidir) || o->test != TEST_BW)
		return PERF_LAT_RECVS;
	/*
	 * The last request of each connection is always signalled, in addition to every cq_mod-th
	 * request.
	 */
	return o->eps * ((o->window + o->cq_mod - 1) / o->cq_mod + (o->cq_mod > 1));
}

/*
 * Returns the number of EVD entries for the end of a run, besides the completions of receives.  The
 * entries are for disconnects and control messages.
 */
static uint32_t end_events(const struct perf *p)
{
	return perf_conns(&p->opt) + 16;
}

/*
 * Returns the number of receives of each connection, or of the SRQ.  Returns 0 if the EVD is too
 * short for any receives.
 */
uint32_t perf_recvs(const struct perf *p)
{
	uint32_t max_evd = (uint32_t)p->tool.attr.max_evd_qlen, room, n;
	int srq = p->opt.srq && !p->client;

	if (max_evd < end_events(p) + request_events(p))
		return 0;
	room = max_evd - end_events(p) - request_events(p);
	if (srq)
		n = perf_at_most((uint64_t)wanted_recvs(p) * p->opt.eps,
				 (uint64_t)p->tool.attr.max_recv_per_srq);
	else
		n = perf_at_most(wanted_recvs(p), (uint64_t)p->tool.attr.max_dto_per_ep);
	return perf_at_most(n, srq ? room : room / p->opt.eps);
}

/* Returns the number of EVD entries for a run. */
uint32_t perf_evd_entries(const struct perf *p)
{
	return request_events(p) + end_events(p) + p->recvs * (p->srq ? 1 : p->opt.eps);
}

/* Returns NULL if the adapter can do the run, otherwise the reason with advice for the user. */
const char *perf_too_much(const struct perf *p)
{
	static char text[256];
	const DAT_IA_ATTR *a = &p->tool.attr;
	const struct perf_opt *o = &p->opt;

	if (perf_conns(o) > (uint32_t)a->max_eps)
		snprintf(text, sizeof(text), "%s has %d endpoints: lower --eps or --idle",
			 p->tool.name, a->max_eps);
	else if (o->window > (uint32_t)a->max_dto_per_ep)
		snprintf(text, sizeof(text), "an endpoint of %s takes %d requests: lower --window",
			 p->tool.name, a->max_dto_per_ep);
	else if (o->srq && !p->client && !a->max_srqs)
		snprintf(text, sizeof(text), "%s has no shared receive queues: leave out --srq",
			 p->tool.name);
	else if (!perf_recvs(p))
		snprintf(text, sizeof(text), "an event queue of %s takes %d completions: lower --eps or --window, or raise --cq-mod",
			 p->tool.name, a->max_evd_qlen);
	else
		return NULL;
	return text;
}
