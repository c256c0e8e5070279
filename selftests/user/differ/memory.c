// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The shadow of the memory of both sides, which side 0 keeps.  What a step should have written is
 * compared after the step, and all memory from time to time, for bytes that nothing should have
 * written.
 *
 * A message that its receive cannot hold leaves undefined bytes there: side 0 restores them.
 */
#include <stdlib.h>
#include <string.h>

#include "differ.h"

#define RANGES	1024

struct range {
	uint32_t	side, at, len;
};

struct ranges {
	int		n;
	struct range	r[RANGES];
};

static char *shadow[SIDES];
static struct ranges touched, undefined;

static void add(struct ranges *rs, uint32_t side, uint32_t at, uint32_t len)
{
	if (!len || rs->n == RANGES)
		return;
	/* Side 0 compares. */
	concern(0);
	rs->r[rs->n++] = (struct range) { side, at, len };
}

/* Fill the memory with bytes that differ between the sides and between pages. */
void memory_start(void)
{
	uint32_t side, i, *w;

	for (side = 0; side < SIDES; side++) {
		shadow[side] = malloc(MEMORY);
		w = (uint32_t *)shadow[side];
		for (i = 0; i < MEMORY / 4; i++)
			w[i] = (side + 1) * 0x9e3779b9U ^ i * 0x85ebca6bU;
		memcpy(base[side], shadow[side], MEMORY);
	}
}

/* Copies @len bytes to the segments of @to, in order.  Segments in excess stay as they are. */
static void scatter(const char *from, uint32_t len, uint32_t side, const struct wr *to)
{
	uint32_t n;
	int i;

	for (i = 0; i < to->nseg && len; i++) {
		n = to->seg[i].len < len ? to->seg[i].len : len;
		if (me == 0)
			memcpy(shadow[side] + to->seg[i].at, from, n);
		add(&touched, side, to->seg[i].at, n);
		from += n;
		len -= n;
	}
}

static void gather(uint32_t side, const struct wr *from, char *to)
{
	int i;

	for (i = 0; i < from->nseg; i++) {
		memcpy(to, shadow[side] + from->seg[i].at, from->seg[i].len);
		to += from->seg[i].len;
	}
}

static char flat[AREA];

/* A message of request @a of side @from goes to the receive @b of side @to. */
void memory_move(uint32_t from, const struct wr *a, uint32_t to, const struct wr *b)
{
	if (me == 0)
		gather(from, a, flat);
	scatter(flat, a->len, to, b);
}

void memory_write(uint32_t from, const struct wr *a, uint32_t to, uint32_t at)
{
	if (me == 0)
		gather(from, a, shadow[to] + at);
	add(&touched, to, at, a->len);
}

void memory_read(uint32_t from, uint32_t at, uint32_t to, const struct wr *b)
{
	scatter(me == 0 ? shadow[from] + at : flat, b->len, to, b);
}

/* The bytes of a receive are undefined. */
void memory_undefined(uint32_t side, const struct wr *wr)
{
	int i;

	for (i = 0; i < wr->nseg; i++)
		add(&undefined, side, wr->seg[i].at, wr->seg[i].len);
}

/* Returns whether memory_check_touched() must run. */
bool memory_touched(void)
{
	return touched.n || undefined.n;
}

static void compare(uint32_t side, uint32_t at, uint32_t len)
{
	const char *got = base[side] + at, *want = shadow[side] + at;
	uint32_t i;

	if (!memcmp(got, want, len))
		return;
	for (i = 0; got[i] == want[i]; i++)
		;
	fail("memory of side %u at %#x, byte %u of %u: %02x instead of %02x", side, at + i, i, len,
	     (uint8_t)got[i], (uint8_t)want[i]);
}

static void restore(void)
{
	const struct range *r;
	int i;

	for (i = 0; i < undefined.n; i++) {
		r = &undefined.r[i];
		memcpy(base[r->side] + r->at, shadow[r->side] + r->at, r->len);
	}
}

/* Both sides call this.  Nothing changes the memory meanwhile. */
void memory_check_touched(void)
{
	int i;

	if (me == 0) {
		restore();
		for (i = 0; i < touched.n; i++)
			compare(touched.r[i].side, touched.r[i].at, touched.r[i].len);
	}
	touched.n = 0;
	undefined.n = 0;
}

/* Compares all memory, and prints a sum of it. */
void memory_check_all(void)
{
	const uint64_t *w;
	uint64_t sum = 0;
	uint32_t side, i;

	if (me != 0)
		return;
	for (side = 0; side < SIDES; side++) {
		compare(side, 0, MEMORY);
		w = (const uint64_t *)base[side];
		for (i = 0; i < MEMORY / 8; i++)
			sum = (sum ^ w[i]) * 0x100000001b3ULL;
	}
	say("memory %016llx", (unsigned long long)sum);
}
