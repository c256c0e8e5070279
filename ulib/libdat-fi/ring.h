/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* Operations, and the rings of those that are outstanding. */
#ifndef FDAT_RING_H
#define FDAT_RING_H

#include <stddef.h>
#include <stdint.h>

struct fdat_cq;
struct fdat_srx;

/**
 * struct fdat_op - a posted operation, whose address is the cookie of DAT
 * @context: context of the program
 * @flags: flags of the completion, such as FI_SEND | FI_MSG
 * @ring: ring of the operation, or NULL if @srx has it
 * @srx: shared receive context of the operation, or NULL
 * @next: next free operation of @srx; protected by srx->lock
 * @report: whether the program wants a completion of a success.  A receive of @srx has a
 *	completion also if the endpoints are not selective
 * @inject: whether the operation has no context, so that its failure is not reported, either
 */
struct fdat_op {
	void			*context;
	uint64_t		flags;
	struct fdat_ring	*ring;
	struct fdat_srx		*srx;
	struct fdat_op		*next;
	uint8_t			report;
	uint8_t			inject;
};

/**
 * struct fdat_ring - operations of one queue of an EP, in the order of the posts
 * @ops: places; their number is a power of two
 * @mask: number of places minus 1
 * @limit: number of places that may be in use: the room that the CQ has reserved for them
 * @head: number of operations that were posted; protected by ep->lock
 * @tail: number of operations that have completed; written under cq->lock
 * @signalled: @head after the last post whose success has an event; protected by ep->lock
 */
struct fdat_ring {
	struct fdat_op		*ops;
	uint32_t		mask;
	uint32_t		limit;
	uint32_t		head;
	uint32_t		tail;
	uint32_t		signalled;
};

int fdat_ring_init(struct fdat_ring *ring, size_t size);
void fdat_ring_free(struct fdat_ring *ring);

/**
 * fdat_ring_next - get the place for the next post
 * @ring: the ring; the caller holds ep->lock
 * @cq: its CQ
 *
 * Return: the place, or NULL if the ring is full.  The caller adds 1 to @head after the post.
 */
struct fdat_op *fdat_ring_next(struct fdat_ring *ring, struct fdat_cq *cq);

/* Free the place of a completed operation and those before it; the caller holds cq->lock. */
void fdat_ring_complete(struct fdat_ring *ring, const struct fdat_op *op);

/* Returns whether an operation with this context is outstanding; the caller holds ep->lock. */
int fdat_ring_has(const struct fdat_ring *ring, const void *context);

#endif /* FDAT_RING_H */
