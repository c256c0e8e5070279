/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Queues of work requests in memory that a process may map: their layout, and the fields that the
 * driver writes.  Only user/ring.c reads the fields that a process writes.  <rdma/dat_ring.h>
 * describes the protocol.
 */
#ifndef _DAT_EP_RING_H
#define _DAT_EP_RING_H

#include <rdma/dat_ring.h>

#include "core/mem/pool.h"

struct dat_ia;
struct dat_queue;

/**
 * struct dat_epring - the shared memory of an EP or an SRQ
 * @submit: memory of struct dat_submit and of the entries, which the process writes
 * @status: memory of struct dat_status, which the driver writes; kept when the ring is replaced
 * @sq_offset: offset of the SQEs in @submit, in bytes
 * @rq_offset: offset of the RQEs in @submit, in bytes
 * @sq_shift: log2 of the SQE stride
 * @rq_shift: log2 of the RQE stride
 * @start: initial index of both queues
 */
struct dat_epring {
	struct dat_slice	submit;
	struct dat_slice	status;
	u32			sq_offset;
	u32			rq_offset;
	u32			sq_shift;
	u32			rq_shift;
	u32			start;
};

/**
 * struct dat_epmove - replacement of the ring of an EP or SRQ
 * @ring: ring in use
 * @next: new ring, not in use yet; @next->status is empty, because the status memory of
 *	@ring stays in use
 * @sq: send queue whose entries move, or NULL
 * @sq_entries: number of SQEs in @next
 * @rq: receive queue whose entries move, or NULL
 * @rq_entries: number of RQEs in @next
 * @nsq: number of SQEs to copy: those that are posted and not taken
 * @nrq: number of RQEs to copy: those that are posted and not taken
 */
struct dat_epmove {
	struct dat_epring	*ring;
	struct dat_epring	*next;
	struct dat_queue	*sq;
	u32			sq_entries;
	struct dat_queue	*rq;
	u32			rq_entries;
	u32			nsq;
	u32			nrq;
};

/**
 * struct dat_subring - the part of a struct dat_epring that belongs to one queue
 * @tail: index of the next entry to be posted; written by the producer, which is the process, or
 *	the driver on behalf of a kernel consumer
 * @entries: array of entries; written by the producer
 * @status: state of the queue; written by the driver
 * @shift: log2 of the distance between two entries, in bytes
 * @max_sge: largest number of segments of an entry
 */
struct dat_subring {
	u32			*tail;
	void			*entries;
	struct dat_queue_status	*status;
	u32			shift;
	u32			max_sge;
};

int dat_epring_alloc(struct dat_ia *ia, struct dat_epring *r, u32 sq_entries, u32 sq_sge,
		     u32 rq_entries, u32 rq_sge);
int dat_epring_alloc_status(struct dat_ia *ia, struct dat_epring *r);
bool dat_epring_fits(const struct dat_epring *r, u32 sq_entries, u32 sq_sge, u32 rq_entries,
		     u32 rq_sge);
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
