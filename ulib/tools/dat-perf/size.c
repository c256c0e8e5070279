// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Sizes of messages: the lists of --size and --all-sizes. */
#include "../common/opt.h"
#include "perf.h"

#define LARGEST_OF_ALL	(1U << 20)

/* Parse one size.  *@end gets the first character after it.  Returns 0 if there is none. */
static uint32_t parse_one(const char *text, char **end)
{
	unsigned long n;
	int shift = 0;

	if (opt_parse_number(text, end, MAX_SIZE, &n))
		return 0;
	if (**end == 'K' || **end == 'k')
		shift = 10;
	else if (**end == 'M' || **end == 'm')
		shift = 20;
	if (shift)
		(*end)++;
	return n > MAX_SIZE >> shift ? 0 : (uint32_t)n << shift;
}

int perf_sizes_parse(const char *text, struct perf_sizes *s)
{
	uint32_t size;
	char *end;

	for (s->n = 0; s->n < MAX_SIZES; text = end + 1) {
		size = parse_one(text, &end);
		if (!size)
			return 0;
		s->at[s->n++] = size;
		if (!*end)
			return 1;
		if (*end != ',')
			return 0;
	}
	return 0;
}

void perf_sizes_all(struct perf_sizes *s)
{
	uint32_t size;

	s->n = 0;
	for (size = 1; size <= LARGEST_OF_ALL; size <<= 1)
		s->at[s->n++] = size;
}

uint32_t perf_sizes_largest(const struct perf_sizes *s)
{
	uint32_t largest = 0, i;

	for (i = 0; i < s->n; i++)
		if (s->at[i] > largest)
			largest = s->at[i];
	return largest;
}
