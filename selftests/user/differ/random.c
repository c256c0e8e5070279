// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Random numbers.  Each step begins anew from the seed and its own number, so the steps that remain
 * when others are left out choose as before.
 */
#include "differ.h"

static uint64_t state;

/* The generator splitmix64. */
static uint64_t next(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

void rnd_begin(uint64_t seed, uint64_t n)
{
	state = seed << 32 ^ n;
	next();
}

/* Returns a number below @n. */
uint32_t rnd(uint32_t n)
{
	return (uint32_t)((next() >> 32) * n >> 32);
}

bool chance(uint32_t per_1024)
{
	return rnd(1024) < per_1024;
}

/* Returns the length of a message: most are short, some empty, few long. */
uint32_t rnd_len(void)
{
	uint32_t kind = rnd(1024);

	if (kind < 80)
		return 0;
	if (kind < 600)
		return 1 + rnd(128);
	if (kind < 950)
		return 1 + rnd(4096);
	if (kind < 1022)
		return 1 + rnd(32768);
	return 1 + rnd(AREA);
}
