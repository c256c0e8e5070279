// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Memory of the caller that is known to be valid. */
#include "known_mem.h"

#define PAGE_LEAST	4096	/* smallest page size of all machines */

/* Drop all ranges if they belong to another generation. */
static void known_mem_renew(struct rsm_known_mem *mem, uint32_t generation)
{
	if (mem->generation == generation)
		return;
	mem->generation = generation;
	mem->count = 0;
	mem->oldest = 0;
}

static int part_known(const struct rsm_known_mem *mem, const struct rsm_part *part, int put)
{
	const struct rsm_known_range *r;
	uint64_t from = (uintptr_t)part->data;

	for (r = mem->range; r < mem->range + mem->count; r++)
		/*
		 * Subtract instead of adding, because a sum could wrap around: the address and the
		 * length of the part are unchecked.
		 */
		if (r->from <= from && from <= r->to && part->n <= r->to - from &&
		    r->localmem == part->localmem && r->put == put)
			return 1;
	return 0;
}

int rsm_known_mem_covers(struct rsm_known_mem *mem, uint32_t generation,
			 const struct rsm_part *part, uint32_t count, int put)
{
	known_mem_renew(mem, generation);
	while (count && part_known(mem, part, put)) {
		part++;
		count--;
	}
	return !count;
}

static int range_join(struct rsm_known_range *r, const struct rsm_known_range *add)
{
	if (r->localmem != add->localmem || r->put != add->put || add->from > r->to ||
	    r->from > add->to)
		return 0;
	if (add->from < r->from)
		r->from = add->from;
	if (add->to > r->to)
		r->to = add->to;
	return 1;
}

void rsm_known_mem_add(struct rsm_known_mem *mem, uint32_t generation,
		       const struct rsm_part *part, int put)
{
	uint64_t from = (uintptr_t)part->data, to = from + part->n;
	struct rsm_known_range *r, add = {
		/* If one byte of a page is valid, the whole page is valid. */
		.from = from & ~(uint64_t)(PAGE_LEAST - 1),
		.to = (to + PAGE_LEAST - 1) & ~(uint64_t)(PAGE_LEAST - 1),
		.localmem = part->localmem, .put = put,
	};

	known_mem_renew(mem, generation);
	for (r = mem->range; r < mem->range + mem->count; r++)
		if (range_join(r, &add))
			return;
	if (mem->count < KNOWN_RANGES)
		mem->range[mem->count++] = add;
	else
		mem->range[mem->oldest++ % KNOWN_RANGES] = add;
}
