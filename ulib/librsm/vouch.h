/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of the caller that the driver has found valid.
 *
 * RSMAPI requires RSMERR_BAD_ADDR if an entry of a vector names invalid memory.  A copy by the
 * library would raise a signal instead, so the driver carries out a vector the first time.  Memory
 * that it could access stays valid until the generation of the address space changes.  Until then
 * the library copies.
 */
#ifndef LIBRSM_VOUCH_H
#define LIBRSM_VOUCH_H

#include "librsm.h"

#define VOUCH_RANGES	32

/*
 * struct rsm_vouched_range - a range of valid memory
 * @from: address of the first byte
 * @to: address behind the last byte
 * @localmem: local memory that is mapped there; 0: any
 * @put: 1: a source of puts; 0: a target of gets
 */
struct rsm_vouched_range {
	uint64_t	from;
	uint64_t	to;
	uint32_t	localmem;
	int		put;
};

/*
 * struct rsm_vouched - the valid ranges; protected by the lock of the ring
 * @generation: generation of the address space in which the ranges were found valid
 * @count: number of ranges
 * @oldest: number of ranges that were replaced; gives the next to replace
 * @range: the ranges
 */
struct rsm_vouched {
	uint32_t			generation;
	uint32_t			count;
	uint32_t			oldest;
	struct rsm_vouched_range	range[VOUCH_RANGES];
};

/* Returns whether all @count parts are known to be valid for a put, or else for a get. */
int rsm_vouched_have(struct rsm_vouched *v, uint32_t generation, const struct rsm_part *part,
		     uint32_t count, int put);

/* Note that the driver has copied @part; @generation was read before that. */
void rsm_vouched_add(struct rsm_vouched *v, uint32_t generation, const struct rsm_part *part,
		     int put);

#endif /* LIBRSM_VOUCH_H */
