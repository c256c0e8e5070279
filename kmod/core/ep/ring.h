/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Queues of work requests in memory that a process may map: their layout, and the fields that the
 * driver writes.  Only user/ring.c reads the fields that a process writes, except that
 * core/ep/ring.c copies entries to a new ring.  <rdma/dat_ring.h> describes the protocol.
 */
#ifndef _DAT_EP_RING_H
#define _DAT_EP_RING_H

#include <rdma/dat_ring.h>

#include "core/mem/pool.h"

struct dat_ia;
struct dat_queue;

/* The shared memory of an EP or an SRQ. */
struct dat_epring {
	struct dat_slice	submit;		/* dat_submit and entries; written by the process */
	struct dat_slice	status;		/* dat_status, written by the driver; never moves */
	u32			sq_offset;	/* offset of the SQEs in @submit, in bytes */
	u32			rq_offset;	/* offset of the RQEs in @submit, in bytes */
	u32			sq_shift;	/* log2 of the SQE stride */
	u32			rq_shift;	/* log2 of the RQE stride */
	u32			max_inline;	/* bytes of inline data that an SQE may have */
	/*
	 * Private copies of the inline data of a chain, by index % DAT_BATCH, until the transport
	 * has copied them; NULL if @max_inline is 0.
	 */
	u8			(*inline_data)[DAT_MAX_INLINE];
	u32			start;		/* initial index of both queues */
};

/* Sizes of the queues of an EP or SRQ. */
struct dat_epsize {
	u32			sq_entries;	/* a power of two, or 0 */
	u32			sq_sge;		/* segments of an SQE */
	u32			max_inline;	/* bytes of inline data of an SQE */
	u32			rq_entries;	/* a power of two, or 0 */
	u32			rq_sge;		/* segments of an RQE */
};

/* Replacement of the ring of an EP or SRQ. */
struct dat_epmove {
	struct dat_epring	*ring;
	struct dat_epring	*next;		/* new ring; takes over the status of @ring */
	struct dat_queue	*sq;		/* send queue, or NULL */
	u32			sq_entries;	/* SQEs in @next */
	struct dat_queue	*rq;		/* receive queue, or NULL */
	u32			rq_entries;	/* RQEs in @next */
	u32			nsq;		/* SQEs that are posted and not taken */
	u32			nrq;		/* RQEs that are posted and not taken */
};

/* The part of a struct dat_epring that belongs to one queue. */
struct dat_subring {
	u32			*tail;		/* the producer's index of the next post */
	void			*entries;	/* written by the producer */
	struct dat_queue_status	*status;	/* written by the driver */
	u32			shift;		/* log2 of an entry's size in bytes */
	u32			max_sge;	/* largest number of segments of an entry */
	u32			max_inline;	/* bytes of inline data that an entry may have */
	u8			(*inline_data)[DAT_MAX_INLINE];	/* as in struct dat_epring */
};

int dat_epring_alloc(struct dat_ia *ia, struct dat_epring *r, const struct dat_epsize *size);
int dat_epring_alloc_status(struct dat_ia *ia, struct dat_epring *r);
bool dat_epring_fits(const struct dat_epring *r, const struct dat_epsize *size);
void dat_epring_free(struct dat_epring *r);
void dat_epring_bind(struct dat_epring *r, struct dat_queue *sq, struct dat_queue *rq);
int dat_epring_begin_move(struct dat_epmove *m);
void dat_epring_copy(const struct dat_epmove *m);
void dat_epring_end_move(const struct dat_epmove *m);
u32 dat_ring_posted(const struct dat_queue *q);
void dat_epring_set_state(struct dat_epring *r, u32 state);
void dat_epring_set_lost(struct dat_epring *r, u32 lost);
void dat_epring_set_pd(struct dat_epring *r, const void *pd, u32 len);

#endif /* _DAT_EP_RING_H */
