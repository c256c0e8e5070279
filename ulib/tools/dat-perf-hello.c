// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The hello: private data of a connection request, which describes the test to the server. */
#include <arpa/inet.h>
#include <string.h>

#include "dat-perf.h"

#define HELLO_MAGIC	0x44415470	/* "DATp" */
#define HELLO_VERSION	5
#define HELLO_EVENT	0x1
#define HELLO_SRQ	0x2
#define HELLO_BIDIR	0x4
#define HELLO_FLAGS	0x7

/* Big endian.  @magic and @version are in the same place in all versions. */
struct hello {
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

_Static_assert(sizeof(struct hello) == PERF_HELLO_SIZE, "the hello has no padding");

void perf_hello_pack(const struct perf *p, uint32_t index, uint8_t hello[PERF_HELLO_SIZE])
{
	const struct perf_opt *o = &p->opt;
	struct hello h = {
		.magic = htonl(HELLO_MAGIC), .version = htonl(HELLO_VERSION),
		.session = htonl(p->session), .index = htonl(index),
		.op = (uint8_t)o->op, .test = (uint8_t)o->test,
		.flags = htons((o->event ? HELLO_EVENT : 0) | (o->srq ? HELLO_SRQ : 0) |
			       (o->bidir ? HELLO_BIDIR : 0)),
		.size = htonl(o->size), .iters = htonl(o->iters),
		.window = htons((uint16_t)o->window), .cq_mod = htons((uint16_t)o->cq_mod),
		.eps = htons((uint16_t)o->eps), .idle = htons((uint16_t)o->idle),
		.poller = htonl(o->poller), .busy = htonl(o->busy),
		.duration = htonl(p->args.duration),
	};

	memcpy(hello, &h, sizeof(h));
}

static int good(const struct perf_opt *o)
{
	return o->op <= OP_READ && o->test <= TEST_RECV && o->size && o->size <= MAX_SIZE &&
	       o->iters <= MAX_ITERS && o->duration <= MAX_DURATION &&
	       !o->iters != !o->duration && o->window && o->window <= MAX_WINDOW &&
	       o->cq_mod && o->cq_mod <= MAX_WINDOW && o->eps && o->eps <= MAX_EPS &&
	       o->idle <= MAX_IDLE && o->poller <= MAX_POLLER && o->busy <= MAX_POLLER &&
	       !perf_opt_wrong(o);
}

int perf_hello_unpack(const DAT_CR_PARAM *cr, struct perf_request *r)
{
	struct hello h;
	uint16_t flags;

	if (cr->private_data_size < (DAT_COUNT)sizeof(h))
		return 0;
	memcpy(&h, cr->private_data, sizeof(h));
	flags = ntohs(h.flags);
	r->session = ntohl(h.session);
	r->index = ntohl(h.index);
	r->opt = (struct perf_opt) {
		.op = h.op, .test = h.test, .size = ntohl(h.size), .iters = ntohl(h.iters),
		.window = ntohs(h.window), .cq_mod = ntohs(h.cq_mod), .eps = ntohs(h.eps),
		.idle = ntohs(h.idle), .srq = !!(flags & HELLO_SRQ),
		.bidir = !!(flags & HELLO_BIDIR),
		.event = !!(flags & HELLO_EVENT), .poller = ntohl(h.poller),
		.busy = ntohl(h.busy), .duration = ntohl(h.duration),
	};
	return ntohl(h.magic) == HELLO_MAGIC && ntohl(h.version) == HELLO_VERSION &&
	       !(flags & ~HELLO_FLAGS) && good(&r->opt);
}
