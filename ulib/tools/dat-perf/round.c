// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Control messages before and after the test of a size.  The connections serve for all sizes.
 *
 *	client				server
 *	header			 -->
 *				<--	header
 *	mark			 -->
 *			the test
 *	mark on each connection	 -->
 *				<--	mark on each connection
 *	mark, if bidirectional	 -->
 *				<--	result, if bidirectional
 *
 * A header has the size of the messages, and the address and key of the sender's memory.  A mark is
 * a message of no bytes; messages of a test have at least one.  The last mark of a connection is
 * behind all messages of the test on it.  The server's marks say that the server is ready for the
 * next round.  A header of size 0 says that there is none.
 *
 * A result has the figures of the server's direction.  The client asks for the result by a mark,
 * after it has received the server's marks.  Messages, RDMA writes and the result share a receive
 * buffer, and a message on one connection can arrive after a later message on another.
 */
#include <endian.h>
#include <string.h>

#include "perf.h"
#include "request.h"

/* Big endian. */
struct header {
	uint64_t	addr;
	uint32_t	rkey;
	uint32_t	size;
};

/* Big endian. */
struct result {
	uint64_t	messages;
	uint64_t	ns;
	uint64_t	best_messages;
	uint64_t	best_ns;
};

_Static_assert(sizeof(struct result) <= PERF_CTRL_SIZE, "a control message fits");

#define MAX_RESULT	(1ULL << 56)	/* of nanoseconds: two years */

/*
 * Wait until @sent requests and @received messages have completed, and @marks have arrived.
 * Sleep meanwhile, unless the peer may still send messages of the test.
 */
static void await(struct perf *p, uint64_t sent, uint64_t received, uint64_t marks)
{
	DAT_EVENT event;

	while (p->sent < sent || p->received < received || p->marks < marks) {
		if (p->opt.bidir && marks)
			perf_await(p, &event);
		else
			tool_event(&p->tool, 0, 0, &event);
		perf_count(p, &event);
	}
}

/* Send a control message from the last bytes of the first slot.  No test uses these bytes. */
static void send_ctrl(struct perf *p, const void *message, uint32_t len)
{
	size_t at = p->slot - PERF_CTRL_SIZE;

	memcpy(p->mem.va + at, message, len);
	p->next = 0;
	perf_post_send_from(p, at, len);
}

static void send_header(struct perf *p, uint32_t size)
{
	struct header mine = {
		.addr = htobe64((uintptr_t)p->mem.va), .rkey = htobe32(p->mem.rmr_context),
		.size = htobe32(size),
	};

	send_ctrl(p, &mine, sizeof(mine));
}

/* Take the peer's header from the receive buffer.  Returns the size. */
static uint32_t take_header(struct perf *p)
{
	struct header theirs;

	if (p->length != sizeof(theirs))
		perf_fail(p, "the peer sent %llu bytes in place of a header",
			  (unsigned long long)p->length);
	memcpy(&theirs, p->mem.va + p->slot, sizeof(theirs));
	memset(p->mem.va + p->slot, 0, sizeof(theirs));
	if (p->opt.test == TEST_LAT)
		perf_repost(p, p->conn[0].ep);
	p->peer.rmr_context = be32toh(theirs.rkey);
	p->peer.target_address = be64toh(theirs.addr);
	return be32toh(theirs.size);
}

/* Set the segments for @size.  The test of writes waits for the last byte to change from 0. */
static void set_size(struct perf *p, uint32_t size)
{
	p->size = size;
	p->send_seg = tool_seg(&p->mem, p->opt.op == OP_READ ? p->slot : 0, size);
	p->peer.segment_length = size;
	p->remote = p->peer;
	if (p->opt.op == OP_WRITE)
		p->remote.target_address += p->slot;
	p->mem.va[p->slot + size - 1] = 0;
	p->stamps = 0;
	perf_hist_clear(&p->hist);
	p->due = 0;
}

static void post_mark(struct perf *p)
{
	perf_post_send_from(p, 0, 0);
}

void perf_round_begin(struct perf *p, uint32_t size)
{
	uint32_t answer;

	p->round++;
	send_header(p, size);
	await(p, 1, 1, 0);
	answer = take_header(p);
	if (answer != size)
		perf_fail(p, "the server is ready for %u bytes, not %u", answer, size);
	set_size(p, size);
	p->sent = 0;
	p->received = 0;
	/* After this mark the server may send. */
	post_mark(p);
	await(p, 1, 0, 0);
	p->sent = 0;
}

int perf_round_accept(struct perf *p)
{
	uint32_t size;

	/* The header may have been counted already; see accept_one(). */
	await(p, 0, 1, 0);
	size = take_header(p);
	if (size > p->opt.size)
		perf_fail(p, "the client asks for %u bytes after it said %u", size, p->opt.size);
	p->received = 0;
	if (!size)
		return 0;
	set_size(p, size);
	perf_watch(p, perf_watch_round(p));
	send_header(p, size);
	/* The first messages of the test may be counted here, too. */
	await(p, 1, 0, 1);
	p->sent--;
	return 1;
}

static void send_result(struct perf *p)
{
	struct perf_result r;
	struct result mine;

	perf_rate_result(&p->rate, p->ns_per_tick, &r);
	mine = (struct result) {
		.messages = htobe64(r.messages), .ns = htobe64(r.ns),
		.best_messages = htobe64(r.best_messages), .best_ns = htobe64(r.best_ns),
	};
	send_ctrl(p, &mine, sizeof(mine));
}

/* Take the server's result from the receive buffer. */
static void take_result(struct perf *p)
{
	struct perf_result *r = &p->peer_result;
	struct result theirs;

	if (p->length != sizeof(theirs))
		perf_fail(p, "the server sent %llu bytes in place of a result",
			  (unsigned long long)p->length);
	memcpy(&theirs, p->mem.va + p->slot, sizeof(theirs));
	*r = (struct perf_result) {
		.messages = be64toh(theirs.messages), .ns = be64toh(theirs.ns),
		.best_messages = be64toh(theirs.best_messages), .best_ns = be64toh(theirs.best_ns),
	};
	if (r->messages > MAX_RESULT || r->best_messages > r->messages || !r->ns ||
	    r->ns > MAX_RESULT || !r->best_ns || r->best_ns > r->ns)
		perf_fail(p, "the server sent a result that makes no sense");
}

static void post_marks(struct perf *p)
{
	uint32_t i;

	for (i = 0; i < p->opt.eps; i++) {
		p->next = i;
		post_mark(p);
	}
}

/* Get the server's result.  All messages of the test have arrived. */
static void request_result(struct perf *p)
{
	p->received = 0;
	p->next = 0;
	post_mark(p);
	await(p, p->sent + 1, 1, 0);
	take_result(p);
}

void perf_round_end(struct perf *p)
{
	uint32_t eps = p->opt.eps;
	uint64_t sent = p->sent + eps;

	if (p->client) {
		post_marks(p);
		await(p, sent, 0, eps);
		if (p->opt.bidir)
			request_result(p);
		p->received = 0;
	} else {
		await(p, 0, 0, 1 + eps);
		/* The next header may come as soon as the client has the last message. */
		p->received = 0;
		post_marks(p);
		if (p->opt.bidir) {
			await(p, 0, 0, 1 + eps + 1);
			send_result(p);
		}
		await(p, sent + p->opt.bidir, 0, 0);
	}
	p->sent = 0;
	p->marks = 0;
	perf_watch(p, PERF_PAUSE);
}

void perf_no_more_rounds(struct perf *p)
{
	send_header(p, 0);
	await(p, 1, 0, 0);
}
