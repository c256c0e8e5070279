/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of the caller that the driver has found to be such.
 *
 * RSMAPI asks for RSMERR_BAD_ADDR where an entry of a vector names what is no memory, and who
 * copies there himself gets a signal.  So the driver carries out a vector the first time.
 * What it did not stumble over is memory until the generation of the address space changes,
 * and for as long the library copies.
 */
#ifndef LIBRSM_VOUCH_H
#define LIBRSM_VOUCH_H

#include "librsm.h"

#define VOUCH_RANGES	32

/*
 * struct rsm_vouched_range - memory, and what it is good for
 * @from: first byte
 * @to: behind the last one
 * @localmem: whose memory it is that is mapped there; 0: it does not matter
 * @put: it may be the source of puts, or else the target of gets
 */
struct rsm_vouched_range {
	uint64_t	from;
	uint64_t	to;
	uint32_t	localmem;
	int		put;
};

/*
 * struct rsm_vouched - the ranges known; by the lock of what it is in
 * @generation: of the address space, in which they were
 * @count: of them
 * @oldest: the next one to be forgotten
 * @range: of them
 */
struct rsm_vouched {
	uint32_t			generation;
	uint32_t			count;
	uint32_t			oldest;
	struct rsm_vouched_range	range[VOUCH_RANGES];
};

/* All of @part may be copied @put or got. */
int rsm_vouched_have(struct rsm_vouched *v, uint32_t generation, const struct rsm_part *part,
		     uint32_t count, int put);

/* The driver has copied @part, and the generation was @generation before. */
void rsm_vouched_add(struct rsm_vouched *v, uint32_t generation, const struct rsm_part *part,
		     int put);

#endif /* LIBRSM_VOUCH_H */
