/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Memory of the caller that is known to be valid.
 *
 * RSMAPI requires RSMERR_BAD_ADDR if an entry of a vector names invalid memory.  A copy by the
 * library would raise a signal instead.  So the driver performs the first transfer of a vector.  If
 * the driver could access the memory, the memory stays valid until the generation of the address
 * space changes.  Until then the library copies the data itself.
 */
#ifndef LIBRSM_KNOWN_MEM_H
#define LIBRSM_KNOWN_MEM_H

#include "librsm.h"

#define KNOWN_RANGES	32

/*
 * struct rsm_known_range - a range of valid memory
 * @from: address of the first byte
 * @to: address after the last byte
 * @localmem: driver's number of the local memory that contains the range, or 0
 * @put: 1 if the range is valid as a source of puts; 0 if it is valid as a target of gets
 */
struct rsm_known_range {
	uint64_t	from;
	uint64_t	to;
	uint32_t	localmem;
	int		put;
};

/*
 * struct rsm_known_mem - the valid ranges; protected by the lock of the ring
 * @generation: generation of the address space in which the ranges were valid
 * @count: number of ranges
 * @oldest: number of replacements so far; selects the range that is replaced next
 * @range: array of ranges
 */
struct rsm_known_mem {
	uint32_t		generation;
	uint32_t		count;
	uint32_t		oldest;
	struct rsm_known_range	range[KNOWN_RANGES];
};

/*
 * Returns whether all @count parts are known to be valid, for a put if @put is set, otherwise for a
 * get.
 */
int rsm_known_mem_covers(struct rsm_known_mem *mem, uint32_t generation,
			 const struct rsm_part *part, uint32_t count, int put);

/*
 * Note that the memory of @part is valid, because the driver has copied it.  The caller has read
 * @generation before that copy.
 */
void rsm_known_mem_add(struct rsm_known_mem *mem, uint32_t generation,
		       const struct rsm_part *part, int put);

#endif /* LIBRSM_KNOWN_MEM_H */
