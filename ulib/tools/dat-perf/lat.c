// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Loop of the latency tests.  The client sends one message after the other, over the connections in
 * turn, and takes one time stamp for each.  The server answers until the client's marks arrive.
 */
#include "clock.h"
#include "perf.h"
#include "request.h"

#define LOOKS	1024	/* reads of the memory per poll of the event queue */

/*
 * Wait until the last byte of an RDMA write has arrived.  Returns 0 if the client has finished
 * instead.
 */
static int await_byte(struct perf *p, uint8_t value)
{
	volatile uint8_t *last = (uint8_t *)p->mem.va + p->slot + p->size - 1;
	DAT_EVENT event;
	uint32_t looks;

	for (looks = 1; *last != value; looks++) {
		/*
		 * An RDMA write causes no event at its target.  But poll the event queue from time
		 * to time, because the client may have finished, or the connection may have broken.
		 */
		if (looks % LOOKS)
			continue;
		while (dat_evd_dequeue(p->tool.evd, &event) == DAT_SUCCESS)
			perf_count(p, &event);
		if (!p->client && perf_client_is_done(p))
			return 0;
	}
	return 1;
}

/* Wait for message @i of the client.  Returns 0 if the client has finished instead. */
static int await_message(struct perf *p, uint64_t i)
{
	DAT_EVENT event;

	while (p->received < i) {
		if (perf_client_is_done(p))
			return 0;
		perf_await(p, &event);
		perf_count(p, &event);
	}
	return 1;
}

static uint8_t value_of(uint64_t i)
{
	return (uint8_t)(i % 255 + 1);
}

static void post_value(struct perf *p, uint64_t i)
{
	p->mem.va[p->size - 1] = (char)value_of(i);
	perf_post(p, 1);
}

static void ping_send(struct perf *p, uint64_t i)
{
	DAT_EP_HANDLE ep = perf_turn(p)->ep;

	perf_post(p, 1);
	perf_reap(p, i, i);
	perf_repost(p, ep);
}

static void ping_write(struct perf *p, uint64_t i)
{
	post_value(p, i);
	await_byte(p, value_of(i));
	perf_reap(p, i, 0);
}

static void ping_read(struct perf *p, uint64_t i)
{
	perf_post(p, 1);
	perf_reap(p, i, 0);
}

static int answer_send(struct perf *p, uint64_t i)
{
	DAT_EP_HANDLE ep = perf_turn(p)->ep;

	if (!await_message(p, i))
		return 0;
	perf_reap(p, i - 1, 0);
	/*
	 * Post the answer before the receive is posted again, because the client waits for the
	 * answer.
	 */
	perf_post(p, 1);
	perf_repost(p, ep);
	return 1;
}

static int answer_write(struct perf *p, uint64_t i)
{
	if (!await_byte(p, value_of(i)))
		return 0;
	post_value(p, i);
	perf_reap(p, i, 0);
	return 1;
}

static void (*const ping_ops[])(struct perf *p, uint64_t i) = {
	ping_send, ping_write, ping_read,
};

static void answer(struct perf *p)
{
	int (*one)(struct perf *p, uint64_t i) = p->opt.op == OP_SEND ? answer_send : answer_write;
	uint64_t i;

	for (i = 1; one(p, i); i++)
		perf_next_turn(p);
	perf_reap(p, i - 1, 0);
}

/* Send messages that are not measured, a tenth of the others.  Returns their number. */
static uint64_t warm_up(struct perf *p, void (*one)(struct perf *p, uint64_t i))
{
	uint64_t end = tool_now_ns() + p->args.duration * 100000000ULL, i = 0;

	do {
		one(p, ++i);
		perf_next_turn(p);
	} while (p->opt.iters ? i <= p->opt.iters / 10 : tool_now_ns() < end);
	return i;
}

static int is_over(const struct perf *p)
{
	return p->opt.iters ? p->stamps == p->opt.iters : perf_time_is_over(p);
}

static void ping(struct perf *p)
{
	void (*one)(struct perf *p, uint64_t i) = ping_ops[p->opt.op];
	uint64_t i, last, now;

	perf_ticker_start(p, STAGE_WARM_UP);
	i = warm_up(p, one);
	perf_ticker_stop(p);
	perf_ticker_start(p, STAGE_TEST);
	last = perf_ticks();
	if (p->at)
		p->at[0] = last;
	do {
		one(p, ++i);
		perf_next_turn(p);
		now = perf_ticks();
		p->stamps++;
		if (p->at)
			p->at[p->stamps] = now;
		else
			perf_hist_add(&p->hist, now - last);
		last = now;
	} while (!is_over(p));
	perf_ticker_stop(p);
}

void perf_run_lat(struct perf *p)
{
	if (p->client)
		ping(p);
	else
		answer(p);
}
