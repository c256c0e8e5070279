// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Rings: the outstanding operations of a queue of an EP. */
#include <stdlib.h>

#include "fdat.h"

int fdat_ring_init(struct fdat_ring *ring, size_t size)
{
	uint32_t n = 1, i;

	while (n < size)
		n *= 2;
	ring->ops = calloc(n, sizeof(*ring->ops));
	if (!ring->ops)
		return -FI_ENOMEM;
	for (i = 0; i < n; i++)
		ring->ops[i].ring = ring;
	ring->mask = n - 1;
	ring->limit = (uint32_t)size;
	return 0;
}

void fdat_ring_free(struct fdat_ring *ring)
{
	free(ring->ops);
	ring->ops = NULL;
}

static int is_full(const struct fdat_ring *ring)
{
	return ring->head - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) >= ring->limit;
}

struct fdat_op *fdat_ring_next(struct fdat_ring *ring, struct fdat_cq *cq)
{
	if (is_full(ring))
		fdat_cq_pull(cq);
	return is_full(ring) ? NULL : &ring->ops[ring->head & ring->mask];
}

void fdat_ring_complete(struct fdat_ring *ring, const struct fdat_op *op)
{
	uint32_t place = (uint32_t)(op - ring->ops);
	uint32_t tail = ring->tail + ((place - ring->tail) & ring->mask) + 1;

	__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
}

int fdat_ring_has(const struct fdat_ring *ring, const void *context)
{
	uint32_t i = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);

	for (; i != ring->head; i++)
		if (ring->ops[i & ring->mask].context == context)
			return 1;
	return 0;
}
