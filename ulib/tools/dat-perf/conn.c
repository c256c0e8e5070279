// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Memory, queues and connections of a run.
 *
 * The client makes the connections one after another.  First it makes the connections that carry
 * messages, and then the idle connections.  The private data of each connection request describes
 * the test.  The connections serve for all sizes.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf.h"
#include "request.h"

/* The server's timeout for all connections of a client, in ms: a base, and a part for each. */
#define GATHER_MS	5000
#define GATHER_EACH_MS	200
#define LOOK_MS		100		/* interval of checks for a lost client meanwhile */

/* --- queues and memory ---------------------------------------------------------------- */

static void make_srq(struct perf *p)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = (DAT_COUNT)p->recvs, .max_recv_iov = 1,
		.low_watermark = DAT_SRQ_LW_DEFAULT,
	};
	uint32_t i;

	perf_check(p, dat_srq_create(p->tool.ia, p->tool.pz, &attr, &p->srq),
		   "cannot make a shared receive queue: lower --eps or --window");
	for (i = 0; i < p->recvs; i++)
		perf_repost(p, NULL);
}

/* Post @recvs receives to an endpoint that has no shared receive queue. */
static void post_recvs(struct perf *p, struct perf_conn *c, uint32_t recvs)
{
	uint32_t i;

	for (i = 0; !p->srq && i < recvs; i++)
		perf_repost(p, c->ep);
}

static void make_ep(struct perf *p, struct perf_conn *c, uint32_t recvs, uint32_t requests)
{
	perf_check(p,
		   tool_try_ep(&p->tool, p->srq, (DAT_COUNT)recvs, (DAT_COUNT)requests, &c->ep),
		   "cannot make an endpoint: lower --eps, --idle or --window");
	post_recvs(p, c, recvs);
}

static void make_conns(struct perf *p)
{
	uint32_t requests = p->opt.window < PERF_LAT_RECVS ? PERF_LAT_RECVS : p->opt.window, i;

	p->conn = calloc(perf_conns(&p->opt), sizeof(*p->conn));
	if (!p->conn)
		perf_fail(p, "no memory for %u connections", perf_conns(&p->opt));
	p->recvs = perf_recvs(p);
	if (p->opt.srq && !p->client)
		make_srq(p);
	perf_check(p, dat_evd_resize(p->tool.evd, (DAT_COUNT)perf_evd_entries(p)),
		   "cannot make the event queue as long as it takes: lower --eps or --window");
	requests = perf_at_most(requests, (uint64_t)p->tool.attr.max_dto_per_ep);
	for (i = 0; i < p->opt.eps; i++)
		make_ep(p, &p->conn[i], p->recvs, requests);
	for (; i < perf_conns(&p->opt); i++)
		make_ep(p, &p->conn[i], 0, 1);
}

/* Allocate memory and write to all of it, so that no page faults occur during the measurement. */
static void *touched(struct perf *p, size_t n, size_t size)
{
	void *mem = malloc(n * size);

	if (!mem)
		perf_fail(p, "no memory for %zu samples: lower --iters", n);
	return memset(mem, 0xff, n * size);
}

/*
 * Returns the privileges that the requests of the peer need.  In TEST_RECV, the server reads the
 * client's progress by RDMA, which needs remote read.  Other tests of sends need no remote
 * privilege.
 */
static DAT_MEM_PRIV_FLAGS privileges(const struct perf *p)
{
	if (p->opt.op == OP_WRITE)
		return TOOL_LOCAL | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	if (p->opt.op == OP_READ || p->opt.test == TEST_RECV)
		return TOOL_LOCAL | DAT_MEM_PRIV_REMOTE_READ_FLAG;
	return TOOL_LOCAL;
}

/* Returns 1 if the endpoint copies small messages into the queue, as it was asked to. */
static int has_inline_data(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	return dat_ep_query(ep, DAT_EP_FIELD_ALL, &param) == DAT_SUCCESS &&
	       param.ep_attr.ep_provider_specific_count > 0;
}

/* Allocate all resources of a run.  Called before the first connection. */
void perf_prepare(struct perf *p)
{
	p->sent = 0;
	p->received = 0;
	p->marks = 0;
	p->up = 0;
	p->next = 0;
	p->slot = (p->opt.size + PERF_CTRL_SIZE + 63) & ~(size_t)63;
	perf_check(p, tool_try_alloc(&p->tool, &p->mem, 2 * p->slot, privileges(p)),
		   "cannot register memory");
	/* All receives use one buffer, because the content of the messages does not matter. */
	p->recv_seg = tool_seg(&p->mem, p->slot, p->slot);
	p->tool.max_inline = p->opt.inline_data ? "96" : NULL;
	make_conns(p);
	/* From now on the option tells what the adapter does, for the report and for the server. */
	if (p->client)
		p->opt.inline_data = p->opt.inline_data && has_inline_data(p->conn[0].ep);
	/*
	 * Set the poller even if it is 0, because the run of an earlier client may have started a
	 * poller.
	 */
	perf_check(p, dat_linux_ia_poller(p->tool.ia, p->opt.poller, -1),
		   "cannot start the driver's poller: leave out --poller");
	if (p->client && p->opt.test == TEST_LAT && p->opt.iters)
		p->at = touched(p, (size_t)p->opt.iters + 1, sizeof(*p->at));
}

/* --- connecting --------------------------------------------------------------------- */

/* Connect all endpoints.  Exits if a connection fails. */
void perf_connect(struct perf *p)
{
	uint8_t greeting[PERF_GREETING_SIZE];

	perf_ticker_start(p, STAGE_CONNECT);
	p->session = (uint32_t)tool_now_ns() ^ (uint32_t)getpid() << 16;
	for (p->up = 0; p->up < perf_conns(&p->opt); p->up++) {
		perf_greeting_pack(p, p->up, greeting);
		while (!tool_connect(&p->tool, p->conn[p->up].ep, &p->host, p->args.port, greeting,
				     sizeof(greeting)))
			post_recvs(p, &p->conn[p->up], p->up < p->opt.eps ? p->recvs : 0);
	}
	perf_ticker_stop(p);
	tool_host_free(&p->host);
}

/*
 * Take the next connection request.  Waits at most @timeout_ms milliseconds, or without limit if
 * @timeout_ms is 0.  Returns 1 if the request comes from a dat-perf, and 0 if there is none or it
 * was refused.
 */
static int next_request(struct perf *p, unsigned int timeout_ms, struct perf_request *r)
{
	DAT_CR_PARAM param;
	DAT_EVENT event;

	r->adapter = tool_request(&p->service, timeout_ms, &event);
	if (r->adapter < 0)
		return 0;
	r->cr = event.event_data.cr_arrival_event_data.cr_handle;
	if (dat_cr_query(r->cr, DAT_CR_FIELD_ALL, &param) == DAT_SUCCESS &&
	    perf_greeting_unpack(&param, r))
		return 1;
	tool_warn("refusing a client that isn't dat-perf of this version");
	dat_cr_reject(r->cr);
	return 0;
}

/*
 * Take the first connection request of a client whose test its adapter can run, and use that
 * adapter.
 */
static void first_request(struct perf *p, struct perf_request *r)
{
	const char *why;

	for (;;) {
		if (p->held.cr)
			*r = p->held;
		else if (!next_request(p, 0, r))
			continue;
		p->held.cr = NULL;
		p->tool = p->service.tool[r->adapter];
		p->opt = r->opt;
		p->session = r->session;
		why = perf_too_much(p);
		if (!why && !r->index)
			return;
		tool_warn("refusing a client: %s", why ? why : "its first connection was dropped");
		dat_cr_reject(r->cr);
	}
}

/* Returns 1 if a connection of the run has ended. */
static int lost_one(struct perf *p)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(p->tool.evd, &event) == DAT_SUCCESS) {
		if (event.event_number != DAT_DTO_COMPLETION_EVENT) {
			p->up--;
			return 1;
		}
	}
	return 0;
}

/*
 * Handle a request of another client.  Keep the first such request for the next run, and reject the
 * others.
 */
static void hold(struct perf *p, struct perf_request *r)
{
	if (p->held.cr || r->index) {
		tool_warn("refusing a client: others come first");
		dat_cr_reject(r->cr);
	} else {
		p->held = *r;
	}
}

/*
 * Take the request for the next connection of the client.  Returns 0 if the client has
 * disconnected, or sends no request before @end, however many requests others send.
 */
static int further_request(struct perf *p, struct perf_request *r, uint64_t end)
{
	uint32_t all = p->up;

	do {
		if (lost_one(p))
			break;
		if (!next_request(p, LOOK_MS, r))
			continue;
		if (r->session == p->session && r->index == p->up &&
		    p->service.tool[r->adapter].ia == p->tool.ia)
			return 1;
		hold(p, r);
	} while (tool_now_ns() < end);
	tool_warn("a client went away after %u of %u connections", all, perf_conns(&p->opt));
	return 0;
}

/* Accept a request.  Returns 0 if there is no connection before @end. */
static int accept_one(struct perf *p, struct perf_request *r, uint64_t end)
{
	DAT_RETURN rc = dat_cr_accept(r->cr, p->conn[p->up].ep, 0, NULL);
	DAT_EVENT event;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	if (rc != DAT_SUCCESS) {
		tool_warn("cannot accept a client: %s", tool_strerror(rc));
		return 0;
	}
	for (;;) {
		uint64_t now = tool_now_ns();

		if (now >= end ||
		    !tool_event(&p->tool, 0, (unsigned int)((end - now) / 1000000) + 1, &event)) {
			tool_warn("a client does not complete its connection");
			return 0;
		}
		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			break;
		if (event.event_number != DAT_DTO_COMPLETION_EVENT) {
			tool_warn("a client went away: %s", tool_event_name(event.event_number));
			return 0;
		}
		/*
		 * The client's first message may arrive before the event of the connection.  Ignore
		 * a receive that failed: the connection then ends, and the event of its end is
		 * handled above.
		 */
		if (dto->status == DAT_DTO_SUCCESS)
			perf_count(p, &event);
	}
	p->up++;
	return 1;
}

/*
 * Wait for a client and accept all of its connections.  Returns 0 if a connection is missing.
 * Otherwise the client has to send a header next.
 */
int perf_accept(struct perf *p)
{
	struct perf_request r;
	uint64_t end;

	first_request(p, &r);
	perf_prepare(p);
	end = tool_now_ns() + (GATHER_MS + (uint64_t)GATHER_EACH_MS * perf_conns(&p->opt)) * 1000000;
	for (;;) {
		if (!accept_one(p, &r, end))
			return 0;
		if (p->up == perf_conns(&p->opt))
			break;
		if (!further_request(p, &r, end))
			return 0;
	}
	perf_watch(p, PERF_SILENCE);
	return 1;
}

/* --- end of a run -------------------------------------------------------------------- */

/* Wait until all connections have ended. */
static void await_end(struct perf *p)
{
	DAT_EVENT event;

	while (p->up) {
		tool_event(&p->tool, 0, 0, &event);
		if (event.event_number != DAT_DTO_COMPLETION_EVENT)
			p->up--;
	}
}

/* Free the resources of a run, which may be incomplete. */
void perf_drop(struct perf *p)
{
	DAT_EVENT event;
	uint32_t i;

	perf_watch_stop(p);
	for (i = 0; p->conn && i < perf_conns(&p->opt); i++)
		if (p->conn[i].ep)
			dat_ep_free(p->conn[i].ep);
	if (p->srq)
		dat_srq_free(p->srq);
	p->srq = NULL;
	free(p->conn);
	p->conn = NULL;
	/* Drain the EVD, because the next client's run must not see events of this run. */
	while (dat_evd_dequeue(p->tool.evd, &event) == DAT_SUCCESS)
		;
	tool_free(&p->mem);
	free(p->at);
	p->at = NULL;
}

/* End a run.  The client disconnects, and the server waits for the disconnects. */
void perf_end(struct perf *p)
{
	uint32_t i;

	perf_watch(p, PERF_SILENCE);
	for (i = 0; p->client && i < p->up; i++)
		dat_ep_disconnect(p->conn[i].ep, DAT_CLOSE_GRACEFUL_FLAG);
	await_end(p);
	perf_drop(p);
}
