// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * perf-peer - peer of dat-perf that violates the protocol; dat_perf.sh runs it
 *
 *	perf-peer HOST PORT greeting		send greetings that are wrong, and a good one
 *	perf-peer HOST PORT header SIZE LEN	announce 64 bytes, and send LEN bytes of a header
 *						with this size
 *	perf-peer HOST PORT silent STAGE	stop at a stage of a test, but stay connected:
 *						"greeting", or after the mark "send" or "write"
 *	perf-peer HOST PORT hold SECONDS	make one of two connections, and then only send
 *						requests of other tests, until the connection ends
 *	perf-peer HOST PORT slow N MS		make N connections, with this time between two
 *	perf-peer HOST PORT progress N		in a test of system calls, say that N messages have
 *						been received
 *	perf-peer - PORT serve size		answer a header with another size
 *	perf-peer - PORT serve result		send a result of no nanoseconds
 *	perf-peer - PORT serve short		send 8 bytes of a result
 *	perf-peer - PORT serve late		send a message on the second connection after the
 *						mark on the first, and a good result
 *
 * perf-peer prints what happened, and dat_perf.sh checks that output.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/tool.h"
#include "common/opt.h"

#define RECVS		64
#define BYTES		256	/* of a message */
#define PATIENCE_MS	60000
#define OTHERS		32	/* requests of other clients under way */
#define LATE_US		300000
#define COOKIE_RECV	1
#define COOKIE_SEND	2

/* The greeting of version 5; big endian. */
struct greeting {
	uint32_t	magic;
	uint32_t	version;
	uint32_t	session;
	uint32_t	index;
	uint8_t		op;
	uint8_t		test;
	uint16_t	flags;
	uint32_t	size;
	uint32_t	iters;
	uint16_t	window;
	uint16_t	cq_mod;
	uint16_t	eps;
	uint16_t	idle;
	uint32_t	poller;
	uint32_t	busy;
	uint32_t	duration;
};

struct header {
	uint64_t	addr;
	uint32_t	rkey;
	uint32_t	size;
};

static struct tool_host host;
static unsigned int port;
static struct tool tool;
static struct tool_mem mem;	/* to receive, to send, and what the server can read */
static DAT_EP_HANDLE ep;		/* connection over which messages are sent */
static unsigned int arrived;	/* messages that receive() has not returned */

/* A latency test of sends of 64 bytes. */
static struct greeting good_greeting(void)
{
	return (struct greeting) {
		.magic = htonl(0x44415470), .version = htonl(5), .session = htonl(7),
		.size = htonl(64), .iters = htonl(10), .window = htons(64), .cq_mod = htons(1),
		.eps = htons(1),
	};
}

static void make_ep(void)
{
	DAT_LMR_TRIPLET seg = tool_seg(&mem, 0, BYTES);
	unsigned int i;

	ep = tool_ep(&tool, DAT_HANDLE_NULL, RECVS, RECVS);
	for (i = 0; i < RECVS; i++)
		tool_check(dat_ep_post_recv(ep, 1, &seg, tool_cookie(COOKIE_RECV),
					    DAT_COMPLETION_DEFAULT_FLAG), "post a receive");
}

/* Take the next event, and count a message that has arrived. */
static void take_event(DAT_EVENT *event)
{
	if (!tool_event(&tool, 0, PATIENCE_MS, event))
		tool_die("nothing happens");
	if (event->event_number == DAT_DTO_COMPLETION_EVENT &&
	    event->event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS &&
	    event->event_data.dto_completion_event_data.user_cookie.as_64 == COOKIE_RECV)
		arrived++;
}

/* Returns the next event that is no completion. */
static DAT_EVENT_NUMBER connection_event(void)
{
	DAT_EVENT event;

	do {
		take_event(&event);
	} while (event.event_number == DAT_DTO_COMPLETION_EVENT);
	return event.event_number;
}

static DAT_EVENT_NUMBER try_greeting(const struct greeting *h)
{
	make_ep();
	tool_start_connect(ep, &host, port, h, sizeof(*h));
	return connection_event();
}

/* Each greeting differs from the good one in one rule.  The last one is good. */
static void greetings(void)
{
	struct greeting h[21];
	unsigned int n = sizeof(h) / sizeof(h[0]), i, refused = 0;
	DAT_EVENT_NUMBER number;

	for (i = 0; i < n; i++)
		h[i] = good_greeting();
	h[0].magic = 0;
	h[1].version = htonl(4);
	h[2].version = htonl(6);
	h[3].op = 3;
	h[4].test = 3;
	h[5].flags = htons(0x10);
	h[6].size = 0;
	h[7].size = htonl((4 << 20) + 1);
	h[8].iters = htonl(10000001);
	h[9].window = 0;
	h[10].window = htons(513);
	h[11].cq_mod = 0;
	h[12].cq_mod = htons(2);	/* of a latency test */
	h[13].eps = 0;
	h[14].idle = htons(1025);
	h[15].flags = htons(0x4);	/* both directions of a latency test */
	h[16].test = 2;
	h[16].iters = 0;		/* system calls for a time */
	h[16].duration = htonl(1);
	h[17].iters = 0;		/* and no duration */
	h[18].duration = htonl(1);	/* and iters */
	h[19].iters = 0;
	h[19].duration = htonl(86401);
	for (i = 0; i < n - 1; i++) {
		number = try_greeting(&h[i]);
		if (number == DAT_CONNECTION_EVENT_PEER_REJECTED)
			refused++;
		else
			printf("greeting %u: %s\n", i, tool_event_name(number));
	}
	printf("%u of %u wrong greetings refused\n", refused, n - 1);
	printf("good greeting: %s\n", tool_event_name(try_greeting(&h[n - 1])));
}

/* Send @len bytes from the memory after the receive buffer. */
static void send_bytes(const void *message, size_t len)
{
	DAT_LMR_TRIPLET seg = tool_seg(&mem, BYTES, len);

	memcpy(mem.va + BYTES, message, len);
	tool_check(dat_ep_post_send(ep, len ? 1 : 0, &seg, tool_cookie(COOKIE_SEND),
				    DAT_COMPLETION_DEFAULT_FLAG), "post a send");
}

static void send_header(uint32_t size, size_t len)
{
	struct header h = {
		.addr = htobe64((uintptr_t)mem.va + 2 * BYTES), .rkey = htobe32(mem.rmr_context),
		.size = htobe32(size),
	};

	send_bytes(&h, len);
}

static void connect_as(const struct greeting *h)
{
	if (try_greeting(h) != DAT_CONNECTION_EVENT_ESTABLISHED)
		tool_die("not connected");
}

static void client_header(uint32_t size, size_t len)
{
	struct greeting h = good_greeting();

	connect_as(&h);
	send_header(size, len);
	printf("after the header: %s\n", tool_event_name(connection_event()));
}

/* Wait until @n more messages have arrived. */
static void receive(unsigned int n)
{
	DAT_EVENT event;

	while (arrived < n) {
		take_event(&event);
		if (event.event_number != DAT_DTO_COMPLETION_EVENT)
			tool_die("%s", tool_event_name(event.event_number));
	}
	arrived -= n;
}

/* Begin the test of 64 bytes that @h describes, up to the client's mark. */
static void begin_test(const struct greeting *h)
{
	connect_as(h);
	send_header(64, sizeof(struct header));
	receive(1);
	send_bytes("", 0);
}

/* The server polls in the test of sends, and sleeps in that of writes. */
static void silent(const char *stage)
{
	struct greeting h = good_greeting();

	if (!strcmp(stage, "write")) {
		h.op = 1;
		h.test = 1;
	}
	if (!strcmp(stage, "greeting"))
		connect_as(&h);
	else
		begin_test(&h);
	printf("after silence: %s\n", tool_event_name(connection_event()));
}

/* Request the second connection of another client. */
static void request_other(DAT_EP_HANDLE other, struct greeting *h)
{
	h->session = htonl(ntohl(h->session) + 1);
	h->index = htonl(1);
	tool_start_connect(other, &host, port, h, sizeof(*h));
}

/* Keep requests under way, so that the server always finds one. */
static void hold(unsigned int seconds)
{
	uint64_t end = tool_now_ns() + seconds * 1000000000ULL;
	struct greeting h = good_greeting();
	DAT_EP_HANDLE first, other;
	DAT_EVENT event;
	unsigned int i;

	h.eps = htons(2);
	connect_as(&h);
	first = ep;
	for (i = 0; i < OTHERS; i++)
		request_other(tool_ep(&tool, NULL, 1, 1), &h);
	while (tool_now_ns() < end) {
		if (!tool_event(&tool, 0, PATIENCE_MS, &event) ||
		    event.event_number == DAT_DTO_COMPLETION_EVENT)
			continue;
		other = event.event_data.connect_event_data.ep_handle;
		if (other == first) {
			printf("the connection ended\n");
			return;
		}
		tool_check(dat_ep_reset(other), "reset an endpoint");
		request_other(other, &h);
	}
	printf("held for %u s\n", seconds);
}

/* The server must not wait for all connections as long as for one. */
static void slow(unsigned int n, unsigned int ms)
{
	struct greeting h = good_greeting();
	DAT_EVENT_NUMBER number;
	unsigned int i;

	h.eps = htons((uint16_t)n);
	for (i = 0; i < n; i++) {
		if (i)
			usleep(ms * 1000);
		h.index = htonl(i);
		number = try_greeting(&h);
		if (number != DAT_CONNECTION_EVENT_ESTABLISHED)
			break;
	}
	printf("%u of %u connections\n", i, n);
}

static void progress(uint64_t n)
{
	struct greeting h = good_greeting();

	h.test = 2;
	h.iters = htonl(1000);
	h.window = htons(1);
	memcpy(mem.va + 2 * BYTES, &n, sizeof(n));
	begin_test(&h);
	printf("after the progress: %s\n", tool_event_name(connection_event()));
}

/* Accept the next connection of a client. */
static void accept_next(void)
{
	DAT_EVENT event;

	make_ep();
	tool_event(&tool, 0, 0, &event);
	tool_check(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL),
		   "accept");
	if (connection_event() != DAT_CONNECTION_EVENT_ESTABLISHED)
		tool_die("not connected");
}

/* Send a mark on the first connection, and then a message and a mark on the second. */
static void send_late(DAT_EP_HANDLE first, DAT_EP_HANDLE second)
{
	static const char message[64] = { 1 };

	send_bytes("", 0);
	ep = second;
	usleep(LATE_US);
	send_bytes(message, sizeof(message));
	usleep(LATE_US);
	send_bytes("", 0);
	ep = first;
}

/* Serve dat-perf --bidirectional --test bw; "late" has 2 connections and messages, others one. */
static void serve(const char *how)
{
	uint64_t result[4] = { htobe64(7), htobe64(1000), htobe64(7), htobe64(1000) };
	unsigned int n = !strcmp(how, "late") ? 2 : 1;
	DAT_EP_HANDLE first, second;
	DAT_PSP_HANDLE psp;
	struct header h;

	tool_check(dat_psp_create(tool.ia, port, tool.evd, DAT_PSP_CONSUMER_FLAG, &psp), "listen");
	printf("listening\n");
	fflush(stdout);
	accept_next();
	first = ep;
	if (n == 2)
		accept_next();
	second = ep;
	ep = first;
	receive(1);
	memcpy(&h, mem.va, sizeof(h));
	send_header(be32toh(h.size) + !strcmp(how, "size"), sizeof(h));
	if (strcmp(how, "size")) {
		/* a mark, and a message and a mark on each connection */
		receive(1 + 2 * n);
		if (n == 2)
			send_late(first, second);
		else
			send_bytes("", 0);
		/* the mark that asks for the result */
		receive(1);
		if (!strcmp(how, "result"))
			result[1] = 0;
		send_bytes(result, strcmp(how, "short") ? sizeof(result) : 8);
	}
	connection_event();
}

int main(int argc, char **argv)
{
	tool_prog = "perf-peer";
	if (argc < 4)
		tool_usage("see its source");
	if (strcmp(argv[3], "serve"))
		tool_host_find(&host, argv[1]);
	port = (unsigned int)opt_number(tool_prog, "PORT", argv[2], 1, 65535);
	tool_open(&tool, NULL, 1024);
	tool_alloc(&tool, &mem, 3 * BYTES, TOOL_LOCAL | DAT_MEM_PRIV_REMOTE_READ_FLAG);
	if (!strcmp(argv[3], "greeting"))
		greetings();
	else if (!strcmp(argv[3], "header") && argc == 6)
		client_header((uint32_t)opt_number(tool_prog, "SIZE", argv[4], 0, UINT32_MAX),
			      opt_number(tool_prog, "LEN", argv[5], 0, BYTES));
	else if (!strcmp(argv[3], "silent") && argc == 5)
		silent(argv[4]);
	else if (!strcmp(argv[3], "hold") && argc == 5)
		hold((unsigned int)opt_number(tool_prog, "SECONDS", argv[4], 1, 3600));
	else if (!strcmp(argv[3], "slow") && argc == 6)
		slow((unsigned int)opt_number(tool_prog, "N", argv[4], 1, 1024),
		     (unsigned int)opt_number(tool_prog, "MS", argv[5], 0, 10000));
	else if (!strcmp(argv[3], "progress") && argc == 5)
		progress(opt_number(tool_prog, "N", argv[4], 0, UINT64_MAX));
	else if (!strcmp(argv[3], "serve") && argc == 5)
		serve(argv[4]);
	else
		tool_usage("no such mode: %s", argv[3]);
	return 0;
}
