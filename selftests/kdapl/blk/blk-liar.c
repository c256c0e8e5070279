// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * blk-liar [-d IA] [-r] HOST PORT: send dat-blkd everything that the protocol forbids.  With -r,
 * test only that a read-only server refuses writes.
 *
 * A "lie" is an invalid hello or request.  For each lie the server must refuse or end the
 * connection, and must still serve a second, correct client.  Exit status: 0 if it does; else 1,
 * with the reason on stderr.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blk_proto.h"
#include "common/tool.h"
#include "common/opt.h"

#define DATA_SIZE	65536
#define MESSAGE_SIZE	64	/* larger than struct datblk_request */
#define MAX_CLIENTS	8	/* maximum number of clients of dat-blkd */
#define PATIENCE_MS	15000
#define NOISE_ROUNDS	40
#define COOKIE_SEND	1
#define COOKIE_REPLY	2

/*
 * struct link - a connection to the server
 * @tool: open adapter, with an EVD for this connection only
 * @mem: memory for a request, a reply, and data
 * @ep: EP of the connection
 * @export: private data that the server sent
 */
struct link {
	struct tool		tool;
	struct tool_mem		mem;
	DAT_EP_HANDLE		ep;
	struct datblk_export	export;
};

enum outcome { REPLIED, DROPPED, SILENT };

static struct datblk_request *message(struct link *l)
{
	return (struct datblk_request *)l->mem.va;
}

static struct datblk_reply *answer(struct link *l)
{
	return (struct datblk_reply *)(l->mem.va + MESSAGE_SIZE);
}

static struct tool_host host;
static unsigned int port;

/* ---- Connections ---- */

static void link_open(struct link *l, const char *device)
{
	tool_open(&l->tool, device, 64);
	tool_alloc(&l->tool, &l->mem, 2 * MESSAGE_SIZE + DATA_SIZE,
		   DAT_MEM_PRIV_ALL_FLAG);
}

/* Return 1 with the next event of @l->ep, or 0 on timeout. */
static int link_event(struct link *l, DAT_EVENT *event)
{
	DAT_EP_HANDLE ep;

	do {
		if (!tool_event(&l->tool, 0, PATIENCE_MS, event))
			return 0;
		ep = event->event_number == DAT_DTO_COMPLETION_EVENT ?
			event->event_data.dto_completion_event_data.ep_handle :
			event->event_data.connect_event_data.ep_handle;
	} while (ep != l->ep);
	return 1;
}

/* Connect to the server.  Return the number of the event that ends the attempt. */
static DAT_EVENT_NUMBER link_connect(struct link *l, const void *hello, size_t len)
{
	const DAT_CONNECTION_EVENT_DATA *data;
	DAT_EVENT event = { 0 };

	l->ep = tool_ep(&l->tool, NULL, 4, 4);
	tool_start_connect(l->ep, &host, port, hello, len);
	if (!link_event(l, &event))
		tool_die("no answer to a hello of %zu bytes", len);
	data = &event.event_data.connect_event_data;
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		memcpy(&l->export, data->private_data, sizeof(l->export));
	return event.event_number;
}

static struct datblk_hello good_hello(void)
{
	return (struct datblk_hello) {
		.magic = htole16(DATBLK_MAGIC), .version = htole16(DATBLK_VERSION),
		.depth = htole32(4), .max_bytes = htole32(DATA_SIZE),
	};
}

static void link_up(struct link *l)
{
	struct datblk_hello hello = good_hello();
	DAT_EVENT_NUMBER number;
	int i;

	/* Retry: the server may not have seen yet that earlier clients have disconnected. */
	for (i = 0; i < 200; i++) {
		number = link_connect(l, &hello, sizeof(hello));
		if (number == DAT_CONNECTION_EVENT_ESTABLISHED)
			return;
		dat_ep_free(l->ep);
		if (number != DAT_CONNECTION_EVENT_PEER_REJECTED)
			break;
		usleep(20000);
	}
	tool_die("cannot connect: %s", tool_event_name(number));
}

static void link_down(struct link *l)
{
	dat_ep_free(l->ep);
}

static enum outcome say(struct link *l, size_t len)
{
	DAT_LMR_TRIPLET out = tool_seg(&l->mem, 0, len);
	DAT_LMR_TRIPLET in = tool_seg(&l->mem, MESSAGE_SIZE, sizeof(struct datblk_reply));
	DAT_DTO_COOKIE sent = { .as_64 = COOKIE_SEND }, reply = { .as_64 = COOKIE_REPLY };
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	tool_check(dat_ep_post_recv(l->ep, 1, &in, reply, DAT_COMPLETION_DEFAULT_FLAG),
		   "cannot post a receive");
	tool_check(dat_ep_post_send(l->ep, 1, &out, sent, DAT_COMPLETION_DEFAULT_FLAG),
		   "cannot post a send");
	while (link_event(l, &event)) {
		dto = &event.event_data.dto_completion_event_data;
		if (event.event_number != DAT_DTO_COMPLETION_EVENT)
			return DROPPED;
		if (dto->status == DAT_DTO_SUCCESS && dto->user_cookie.as_64 == COOKIE_REPLY)
			return REPLIED;
	}
	return SILENT;
}

/* Prepare a valid request in the message buffer and return it. */
static struct datblk_request *request(struct link *l, unsigned int op)
{
	struct datblk_request *r = message(l);

	memset(r, 0, MESSAGE_SIZE);
	*r = (struct datblk_request) {
		.magic = htole16(DATBLK_MAGIC), .version = DATBLK_VERSION, .op = (__u8)op,
		.tag = htole64(1), .length = htole32(op == DATBLK_FLUSH ? 0 : 4096),
		.rkey = htole32(l->mem.rmr_context),
		.addr = htole64((uintptr_t)l->mem.va + 2 * MESSAGE_SIZE),
	};
	return r;
}

static void honest(struct link *l, const char *after)
{
	request(l, DATBLK_READ);
	if (say(l, sizeof(struct datblk_request)) == REPLIED &&
	    answer(l)->op == DATBLK_READ && answer(l)->status == DATBLK_OK)
		return;
	tool_die("after '%s' an honest client is not served", after);
}

/* ---- Lies in the private data ---- */

static size_t hello_short(struct datblk_hello *h)
{
	return sizeof(*h) / 2;
}

static size_t hello_magic(struct datblk_hello *h)
{
	h->magic = 0;
	return sizeof(*h);
}

static size_t hello_version(struct datblk_hello *h)
{
	h->version = htole16(DATBLK_VERSION + 1);
	return sizeof(*h);
}

static size_t hello_depth(struct datblk_hello *h)
{
	h->depth = 0;
	return sizeof(*h);
}

static size_t hello_bytes(struct datblk_hello *h)
{
	h->max_bytes = htole32(4095);
	return sizeof(*h);
}

static size_t hello_reserved(struct datblk_hello *h)
{
	h->reserved = 1;
	return sizeof(*h);
}

static const struct {
	const char	*name;
	size_t		(*lie)(struct datblk_hello *h);
} hellos[] = {
	{ "half a hello", hello_short },
	{ "hello: magic", hello_magic },
	{ "hello: version", hello_version },
	{ "hello: depth", hello_depth },
	{ "hello: bytes", hello_bytes },
	{ "hello: reserved", hello_reserved },
};

static void lie_at_the_door(struct link *l, struct link *other)
{
	struct datblk_hello hello;
	unsigned int i;
	size_t len;

	for (i = 0; i < sizeof(hellos) / sizeof(hellos[0]); i++) {
		hello = good_hello();
		len = hellos[i].lie(&hello);
		if (link_connect(l, &hello, len) != DAT_CONNECTION_EVENT_PEER_REJECTED)
			tool_die("'%s' is not refused", hellos[i].name);
		link_down(l);
		honest(other, hellos[i].name);
	}
}

/* A client that asks for huge limits is accepted, and the server reduces the limits. */
static void ask_for_too_much(struct link *l)
{
	struct datblk_hello hello = good_hello();
	uint64_t memory;

	hello.depth = htole32(UINT32_MAX);
	hello.max_bytes = htole32(UINT32_MAX);
	if (link_connect(l, &hello, sizeof(hello)) != DAT_CONNECTION_EVENT_ESTABLISHED)
		tool_die("who asks for much gets nothing");
	memory = (uint64_t)le32toh(l->export.depth) * le32toh(l->export.max_bytes);
	if (memory > 64 << 20)
		tool_die("who asks for much gets %llu bytes", (unsigned long long)memory);
	link_down(l);
}

/* ---- Lies about requests ---- */

/*
 * struct lie - a request that the server must not carry out
 * @name: name in error messages
 * @op: operation, DATBLK_*
 * @tell: function that makes the request invalid, or NULL
 * @length: length of the message in bytes
 */
struct lie {
	const char	*name;
	unsigned int	op;
	void		(*tell)(struct datblk_request *r, const struct datblk_export *e);
	size_t		length;
};

#define LIE(fn, statement) \
static void fn(struct datblk_request *r, const struct datblk_export *e) \
{ \
	(void)e; \
	statement; \
}

LIE(magic, r->magic = htole16(0xdead))
LIE(version, r->version++)
LIE(unknown_flags, r->flags = htole32(2))
LIE(fua, r->flags = htole32(DATBLK_FUA))
LIE(no_length, r->length = 0)
LIE(some_length, r->length = htole32(512))
LIE(odd_length, r->length = htole32(513))
LIE(long_length, r->length = htole32(le32toh(e->max_bytes) + 512))
LIE(huge_length, r->length = htole32(~511U))
LIE(odd_offset, r->offset = htole64(1))
LIE(some_offset, r->offset = htole64(512))
LIE(at_the_end, r->offset = e->size)
LIE(over_the_end, r->offset = htole64(le64toh(e->size) - 512))
LIE(beyond, r->offset = htole64(le64toh(e->size) + 4096))
LIE(negative, r->offset = htole64(~511ULL))
LIE(around, r->offset = htole64(0ULL - 4096))
LIE(wrong_key, r->rkey = htole32(le32toh(r->rkey) ^ 0x5a5a00))
LIE(wrong_address, r->addr = htole64(le64toh(r->addr) + (1ULL << 40)))
LIE(too_far, r->addr = htole64(le64toh(r->addr) + DATA_SIZE - 2048))

static const struct lie lies[] = {
	{ .name = "an empty message", .length = 0 },
	{ .name = "half a request", .op = DATBLK_READ,
	  .length = sizeof(struct datblk_request) / 2 },
	{ .name = "more than a request", .op = DATBLK_READ, .length = MESSAGE_SIZE },
#define A_LIE(op_, fn) { .name = #op_ ": " #fn, .op = DATBLK_##op_, .tell = fn, \
			 .length = sizeof(struct datblk_request) }
	{ .name = "operation 0", .op = 0, .length = sizeof(struct datblk_request) },
	{ .name = "operation 5", .op = 5, .length = sizeof(struct datblk_request) },
	{ .name = "operation 255", .op = 255, .length = sizeof(struct datblk_request) },
	A_LIE(READ, magic), A_LIE(READ, version), A_LIE(READ, unknown_flags),
	A_LIE(READ, fua), A_LIE(READ, no_length), A_LIE(READ, odd_length),
	A_LIE(READ, long_length), A_LIE(READ, huge_length), A_LIE(READ, odd_offset),
	A_LIE(READ, at_the_end), A_LIE(READ, over_the_end), A_LIE(READ, beyond),
	A_LIE(READ, negative), A_LIE(READ, around), A_LIE(READ, wrong_key),
	A_LIE(READ, wrong_address), A_LIE(READ, too_far),
	A_LIE(WRITE, unknown_flags), A_LIE(WRITE, no_length), A_LIE(WRITE, odd_length),
	A_LIE(WRITE, long_length), A_LIE(WRITE, huge_length), A_LIE(WRITE, odd_offset),
	A_LIE(WRITE, at_the_end), A_LIE(WRITE, over_the_end), A_LIE(WRITE, beyond),
	A_LIE(WRITE, negative), A_LIE(WRITE, around), A_LIE(WRITE, wrong_key),
	A_LIE(WRITE, wrong_address), A_LIE(WRITE, too_far),
	A_LIE(FLUSH, fua), A_LIE(FLUSH, some_length), A_LIE(FLUSH, some_offset),
	A_LIE(DISCARD, fua), A_LIE(DISCARD, no_length), A_LIE(DISCARD, odd_length),
	A_LIE(DISCARD, huge_length), A_LIE(DISCARD, odd_offset), A_LIE(DISCARD, over_the_end),
	A_LIE(DISCARD, negative), A_LIE(DISCARD, around),
};

#define NLIES	(sizeof(lies) / sizeof(lies[0]))

static void lie_about_requests(struct link *l, struct link *other)
{
	const struct lie *lie;
	struct datblk_request *r;

	for (lie = lies; lie < lies + NLIES; lie++) {
		link_up(l);
		r = request(l, lie->op);
		if (lie->tell)
			lie->tell(r, &l->export);
		if (say(l, lie->length) != DROPPED)
			tool_die("'%s' does not end the connection", lie->name);
		link_down(l);
		honest(other, lie->name);
	}
}

/* ---- Noise ---- */

static uint64_t noise(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state >> 16;
}

/* Send requests with up to three random bytes.  Some of the requests may still be valid. */
static void make_noise(struct link *l, struct link *other)
{
	unsigned int i, dropped = 0;
	enum outcome outcome;
	struct datblk_request *r;
	int n;

	link_up(l);
	for (i = 0; i < NOISE_ROUNDS; i++) {
		r = request(l, 1 + noise() % 4);
		for (n = (int)(noise() % 4); n > 0; n--)
			((unsigned char *)r)[noise() % sizeof(*r)] = (unsigned char)noise();
		outcome = say(l, sizeof(*r));
		if (outcome == SILENT)
			tool_die("round %u of noise has no answer", i);
		if (outcome == REPLIED)
			continue;
		dropped++;
		link_down(l);
		link_up(l);
	}
	link_down(l);
	honest(other, "noise");
	printf("noise: %u of %u dropped\n", dropped, NOISE_ROUNDS);
}

/* Send requests and disconnect before the server can carry them out. */
static void hit_and_run(struct link *l, struct link *other)
{
	DAT_LMR_TRIPLET out = tool_seg(&l->mem, 0, sizeof(struct datblk_request));
	DAT_DTO_COOKIE cookie = { .as_64 = COOKIE_SEND };
	unsigned int i;

	for (i = 0; i < 12; i++) {
		link_up(l);
		request(l, 1 + i % 4);
		dat_ep_post_send(l->ep, 1, &out, cookie, DAT_COMPLETION_DEFAULT_FLAG);
		if (i % 2)
			dat_ep_disconnect(l->ep, DAT_CLOSE_ABRUPT_FLAG);
		link_down(l);
	}
	honest(other, "hit and run");
}

/* Connect one client more than the server allows.  @other is one of the allowed clients. */
static void crowd(struct link *l, struct link *other)
{
	struct datblk_hello hello = good_hello();
	DAT_EP_HANDLE in[MAX_CLIENTS - 1];
	unsigned int i;

	for (i = 0; i < MAX_CLIENTS - 1; i++) {
		link_up(l);
		in[i] = l->ep;
	}
	if (link_connect(l, &hello, sizeof(hello)) != DAT_CONNECTION_EVENT_PEER_REJECTED)
		tool_die("there is room for %u clients", MAX_CLIENTS + 1);
	link_down(l);
	honest(other, "a crowd");
	for (i = 0; i < MAX_CLIENTS - 1; i++)
		dat_ep_free(in[i]);
}

/* A read-only server replies DATBLK_EROFS to a write, but does not end the connection. */
static void write_read_only(struct link *l)
{
	static const unsigned int writes[] = { DATBLK_WRITE, DATBLK_DISCARD };
	unsigned int i;

	for (i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
		request(l, writes[i]);
		if (say(l, sizeof(struct datblk_request)) != REPLIED ||
		    le32toh(answer(l)->status) != DATBLK_EROFS || answer(l)->length)
			tool_die("operation %u is not refused", writes[i]);
		honest(l, "a write");
	}
}

static int parse(int argc, char **argv, const char **device)
{
	int c, read_only = 0;

	while ((c = getopt(argc, argv, "d:r")) >= 0) {
		if (c == 'd')
			*device = optarg;
		else if (c == 'r')
			read_only = 1;
		else
			break;
	}
	if (c != -1 || argc - optind != 2)
		tool_usage("blk-liar [-d IA] [-r] HOST PORT");
	tool_host_find(&host, argv[optind]);
	port = (unsigned int)opt_number(tool_prog, "PORT", argv[optind + 1], 1, 65535);
	return read_only;
}

int main(int argc, char **argv)
{
	static struct link liar, other;
	const char *device = NULL;
	int read_only;

	tool_prog = "blk-liar";
	read_only = parse(argc, argv, &device);
	link_open(&liar, device);
	link_open(&other, device);
	link_up(&other);
	honest(&other, "hello");
	if (read_only) {
		write_read_only(&other);
		return 0;
	}
	lie_at_the_door(&liar, &other);
	ask_for_too_much(&liar);
	lie_about_requests(&liar, &other);
	make_noise(&liar, &other);
	hit_and_run(&liar, &other);
	crowd(&liar, &other);
	printf("%zu lies\n", NLIES + sizeof(hellos) / sizeof(hellos[0]));
	return 0;
}
