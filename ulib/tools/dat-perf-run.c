// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * The loops that are measured.  A loop does what a program would do for each message, and nothing
 * else.  It posts requests while the windows allow, reaps completions until there are none, and
 * takes one time stamp for all of these completions.
 */
#include "dat-perf.h"
#include "dat-perf-clock.h"

static void __attribute__((noreturn, cold)) unexpected(struct perf *p, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	if (event->event_number != DAT_DTO_COMPLETION_EVENT)
		perf_fail(p, "the connection ended in the middle of the test: %s",
			  tool_event_name(event->event_number));
	perf_fail(p, "a request failed: %s", tool_dto_name(dto->status));
}

/* --- functions for one request or one completion -------------------------------------- */

/* Post a receive to replace a completed receive.  @ep is unused if there is an SRQ. */
void perf_repost(struct perf *p, DAT_EP_HANDLE ep)
{
	DAT_RETURN rc;

	if (p->srq)
		rc = dat_srq_post_recv(p->srq, 1, &p->recv_seg, tool_cookie(COOKIE_RECV));
	else
		rc = dat_ep_post_recv(ep, 1, &p->recv_seg, tool_cookie(COOKIE_RECV),
				      DAT_COMPLETION_DEFAULT_FLAG);
	if (__builtin_expect(rc != DAT_SUCCESS, 0))
		perf_check(p, rc, "cannot post a receive");
}

/* Returns the connection that sends next. */
static struct perf_conn *turn(struct perf *p)
{
	return &p->conn[p->next];
}

static void next_turn(struct perf *p)
{
	if (++p->next == p->opt.eps)
		p->next = 0;
}

/*
 * Send a message of @len bytes, which begins at the offset @at in the memory.  Used for control
 * messages, whose length differs from the length of the test's messages.
 */
void perf_post_send_from(struct perf *p, size_t at, uint32_t len)
{
	DAT_LMR_TRIPLET seg = tool_seg(&p->mem, at, len);

	turn(p)->busy++;
	perf_check(p, dat_ep_post_send(turn(p)->ep, 1, &seg, tool_cookie(cookie_send(1, p->next)),
				       DAT_COMPLETION_DEFAULT_FLAG), "cannot post a send");
}

void perf_post_send(struct perf *p, uint32_t len)
{
	perf_post_send_from(p, 0, len);
}

/*
 * Post a request.  If @report is set, the request is signalled.  Its completion then also reports
 * all requests that were posted on the connection after the previous signalled request.
 */
static void post(struct perf *p, int report)
{
	struct perf_conn *c = turn(p);
	DAT_COMPLETION_FLAGS flags = report ? DAT_COMPLETION_DEFAULT_FLAG :
					      DAT_COMPLETION_SUPPRESS_FLAG;
	DAT_DTO_COOKIE id = tool_cookie(cookie_send(++c->silent, p->next));
	DAT_RETURN rc;

	if (p->opt.op == OP_SEND)
		rc = dat_ep_post_send(c->ep, 1, &p->send_seg, id, flags);
	else if (p->opt.op == OP_WRITE)
		rc = dat_ep_post_rdma_write(c->ep, 1, &p->send_seg, id, &p->remote, flags);
	else
		rc = dat_ep_post_rdma_read(c->ep, 1, &p->send_seg, id, &p->remote, flags);
	if (__builtin_expect(rc != DAT_SUCCESS, 0))
		perf_check(p, rc, "cannot post a request");
	c->busy++;
	if (report)
		c->silent = 0;
}

void perf_count(struct perf *p, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	uint64_t id = dto->user_cookie.as_64;

	if (__builtin_expect(event->event_number != DAT_DTO_COMPLETION_EVENT ||
			     dto->status != DAT_DTO_SUCCESS, 0))
		unexpected(p, event);
	if (id == COOKIE_RECV) {
		p->received++;
		return;
	}
	p->sent += id >> 32;
	p->conn[(uint32_t)id >> 1].busy -= id >> 32;
}

/* Wait for the next event. */
static void await(struct perf *p, DAT_EVENT *event)
{
	if (p->opt.event) {
		tool_event(&p->tool, 0, 0, event);
		return;
	}
	while (dat_evd_dequeue(p->tool.evd, event) != DAT_SUCCESS)
		;
}

/* Take events until p->sent and p->received have reached @sent and @received. */
void perf_reap(struct perf *p, uint64_t sent, uint64_t received)
{
	DAT_EVENT event;

	while (p->sent < sent || p->received < received) {
		await(p, &event);
		perf_count(p, &event);
	}
}

/* Take all queued events.  If there are none, wait for an event. */
static void reap_batch(struct perf *p)
{
	DAT_EVENT event;

	await(p, &event);
	do {
		perf_count(p, &event);
	} while (dat_evd_dequeue(p->tool.evd, &event) == DAT_SUCCESS);
}

/* --- latency -------------------------------------------------------------------------- */

#define LOOKS	1024	/* reads of the memory per poll of the event queue */

/* Wait until the last byte of an RDMA write has arrived. */
static void await_byte(struct perf *p, uint8_t value)
{
	volatile uint8_t *last = (uint8_t *)p->mem.va + p->slot + p->opt.size - 1;
	DAT_EVENT event;
	uint32_t looks;

	for (looks = 1; *last != value; looks++) {
		/*
		 * An RDMA write causes no event at its target.  But poll the event queue from time
		 * to time, because the connection may have broken.
		 */
		if (looks % LOOKS == 0 &&
		    dat_evd_dequeue(p->tool.evd, &event) == DAT_SUCCESS)
			perf_count(p, &event);
	}
}

static void lat_send(struct perf *p, uint64_t i)
{
	DAT_EP_HANDLE ep = turn(p)->ep;

	if (p->client) {
		post(p, 1);
		perf_reap(p, i, i);
		perf_repost(p, ep);
	} else {
		/*
		 * Post the answer before the receive is posted again, because the client waits for
		 * the answer.
		 */
		perf_reap(p, i - 1, i);
		post(p, 1);
		perf_repost(p, ep);
	}
}

static void lat_write(struct perf *p, uint64_t i)
{
	uint8_t value = (uint8_t)(i % 255 + 1);

	if (!p->client)
		await_byte(p, value);
	p->mem.va[p->opt.size - 1] = (char)value;
	post(p, 1);
	if (p->client)
		await_byte(p, value);
	perf_reap(p, i, 0);
}

static void lat_read(struct perf *p, uint64_t i)
{
	post(p, 1);
	perf_reap(p, i, 0);
}

static void (*const lat_ops[])(struct perf *p, uint64_t i) = {
	lat_send, lat_write, lat_read,
};

/* Send one message after the other, and use the connections in turn. */
static void run_lat(struct perf *p)
{
	void (*one)(struct perf *p, uint64_t i) = lat_ops[p->opt.op];
	uint64_t warmup = p->opt.iters / 10 + 1, i;

	for (i = 1; i <= warmup; i++, next_turn(p))
		one(p, i);
	p->at[0] = perf_ticks();
	for (; i <= warmup + p->opt.iters; i++, next_turn(p)) {
		one(p, i);
		p->at[i - warmup] = perf_ticks();
	}
	perf_reap(p, warmup + p->opt.iters, 0);
	p->stamps = p->opt.iters;
	if (p->opt.op == OP_SEND)
		p->due = warmup + p->opt.iters;
}

/* --- bandwidth ------------------------------------------------------------------------ */

/*
 * Post all requests that the windows allow.  On each connection, every cq_mod-th request and the
 * last request are signalled.
 */
static uint64_t post_batch(struct perf *p, uint64_t posted)
{
	const struct perf_opt *o = &p->opt;
	uint64_t last = o->iters > o->eps ? o->iters - o->eps : 0;

	while (posted < o->iters && turn(p)->busy < o->window) {
		post(p, posted >= last || turn(p)->silent + 1 == o->cq_mod);
		posted++;
		next_turn(p);
	}
	return posted;
}

static void run_bw(struct perf *p)
{
	uint64_t posted = 0, sent;

	p->at[0] = perf_ticks();
	p->done[0] = 0;
	while (p->sent < p->opt.iters) {
		posted = post_batch(p, posted);
		sent = p->sent;
		reap_batch(p);
		/* If no send has completed, the event was the server's final message. */
		if (p->sent == sent)
			continue;
		p->stamps++;
		p->at[p->stamps] = perf_ticks();
		p->done[p->stamps] = (uint32_t)p->sent;
	}
}

/*
 * Receive and repost.  The system calls of this loop are counted.  The loop stores the number of
 * received messages in memory, where the server reads the number by RDMA.
 */
void perf_receive(struct perf *p, uint64_t n)
{
	volatile uint64_t *progress = (uint64_t *)p->mem.va;
	DAT_EVENT event;

	p->due += n;
	while (p->received < p->due) {
		await(p, &event);
		do {
			perf_count(p, &event);
			perf_repost(p, event.event_data.dto_completion_event_data.ep_handle);
		} while (p->received < p->due &&
			 dat_evd_dequeue(p->tool.evd, &event) == DAT_SUCCESS);
		*progress = p->received;
	}
}

/* --- system calls ----------------------------------------------------------------------- */

static uint64_t read_progress(struct perf *p)
{
	DAT_LMR_TRIPLET seg = tool_seg(&p->mem, p->slot, sizeof(uint64_t));
	DAT_RMR_TRIPLET remote = p->peer;

	remote.segment_length = sizeof(uint64_t);
	p->conn[0].busy++;
	perf_check(p, dat_ep_post_rdma_read(p->conn[0].ep, 1, &seg, tool_cookie(cookie_send(1, 0)),
					    &remote, DAT_COMPLETION_DEFAULT_FLAG),
		   "cannot read the client's progress");
	perf_reap(p, p->sent + 1, 0);
	return *(uint64_t *)(p->mem.va + p->slot);
}

/*
 * Send messages, but never more than there are posted receives at the client.  The server reads the
 * client's progress by RDMA, because credit messages would add system calls to the client.
 */
static void feed(struct perf *p)
{
	uint64_t fed;

	for (fed = 0; fed < p->opt.iters; fed++, next_turn(p)) {
		while (fed % 16 == 0 && fed > read_progress(p) + p->opt.window)
			;
		post(p, 1);
		perf_reap(p, p->sent + 1, 0);
	}
}

/* --- roles --------------------------------------------------------------------------- */

/* Returns whether the server sends or writes in the test.  Otherwise it only provides memory. */
int perf_server_is_busy(const struct perf_opt *o)
{
	return o->op == OP_SEND || (o->op == OP_WRITE && o->test == TEST_LAT);
}

static void run_part(struct perf *p)
{
	if (!p->client && !perf_server_is_busy(&p->opt))
		return;
	if (p->opt.test == TEST_LAT)
		run_lat(p);
	else if (p->client != (p->opt.test == TEST_RECV))
		p->client ? run_bw(p) : feed(p);
	else
		perf_receive(p, p->opt.iters);
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

	busy_poll(p, p->opt.busy);
	ns = tool_now_ns();
	ticks = perf_ticks();
	run_part(p);
	ticks = perf_ticks() - ticks;
	busy_poll(p, 0);
	p->ns_per_tick = ticks ? (double)(tool_now_ns() - ns) / (double)ticks : 1;
}
