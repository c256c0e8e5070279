// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Greetings.  A greeting is the private data of a connection request: it describes the test to the
 * server, and says which connection of which run the request is for.
 */
#include <arpa/inet.h>
#include <string.h>

#include "perf.h"

#define GREETING_MAGIC	0x44415470	/* "DATp" */
#define GREETING_VERSION	5
#define GREETING_EVENT	0x1
#define GREETING_SRQ	0x2
#define GREETING_BIDIR	0x4
#define GREETING_INLINE	0x8
#define GREETING_FLAGS	0xf

/* Big endian.  @magic and @version are in the same place in all versions. */
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

_Static_assert(sizeof(struct greeting) == PERF_GREETING_SIZE, "a greeting has no padding");

void perf_greeting_pack(const struct perf *p, uint32_t index, uint8_t greeting[PERF_GREETING_SIZE])
{
	const struct perf_opt *o = &p->opt;
	struct greeting h = {
		.magic = htonl(GREETING_MAGIC), .version = htonl(GREETING_VERSION),
		.session = htonl(p->session), .index = htonl(index),
		.op = (uint8_t)o->op, .test = (uint8_t)o->test,
		.flags = htons((o->event ? GREETING_EVENT : 0) | (o->srq ? GREETING_SRQ : 0) |
			       (o->bidir ? GREETING_BIDIR : 0) |
			       (o->inline_data ? GREETING_INLINE : 0)),
		.size = htonl(o->size), .iters = htonl(o->iters),
		.window = htons((uint16_t)o->window), .cq_mod = htons((uint16_t)o->cq_mod),
		.eps = htons((uint16_t)o->eps), .idle = htons((uint16_t)o->idle),
		.poller = htonl(o->poller), .busy = htonl(o->busy),
		.duration = htonl(p->args.duration),
	};

	memcpy(greeting, &h, sizeof(h));
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

int perf_greeting_unpack(const DAT_CR_PARAM *cr, struct perf_request *r)
{
	struct greeting h;
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
		.idle = ntohs(h.idle), .srq = !!(flags & GREETING_SRQ),
		.bidir = !!(flags & GREETING_BIDIR),
		.inline_data = !!(flags & GREETING_INLINE),
		.event = !!(flags & GREETING_EVENT), .poller = ntohl(h.poller),
		.busy = ntohl(h.busy), .duration = ntohl(h.duration),
	};
	return ntohl(h.magic) == GREETING_MAGIC && ntohl(h.version) == GREETING_VERSION &&
	       !(flags & ~GREETING_FLAGS) && good(&r->opt);
}
