/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Suppressed requests of a process that knows that their end may not be reported. */
#ifndef SUPPRESSED_H
#define SUPPRESSED_H

#include <unistd.h>

#include "dat_test.h"

/*
 * Wait for the end of the handshake, which hands over what is in the ring when ESTABLISHED is
 * reported, as a completion would: the last of these requests reports its end.
 */
static inline int await_handshake(struct t_pair *p)
{
	return t_word(&p->f, DAT_IOC_KICK, p->ep[1].sq.bell + 1);
}

/* Store a write of ep[1], and do not kick. */
static inline void store_write(struct t_pair *p, uint16_t flags)
{
	struct t_queue *sq = &p->ep[1].sq;
	struct dat_sqe *sqe = t_sqe(sq);

	sqe->opcode = DAT_OP_RDMA_WRITE;
	sqe->flags = flags;
	sqe->raddr = (uintptr_t)p->mem.va;
	sqe->rkey = p->mem.rkey;
	__atomic_store_n(sq->shared_tail, ++sq->tail, __ATOMIC_RELEASE);
}

/* Store a write without an event, and hand it to the device. */
static inline int post_suppressed(struct t_pair *p)
{
	struct t_queue *sq = &p->ep[1].sq;

	store_write(p, DAT_SQE_SUPPRESS);
	return t_word(sq->f, DAT_IOC_KICK, sq->bell + 1);
}

/* Returns whether the driver comes to report that @at entries of the queue have ended. */
static inline int done_reaches(const struct t_queue *q, uint32_t at)
{
	int i;

	for (i = 0; i < T_WAIT_MS && __atomic_load_n(&q->status->done, __ATOMIC_ACQUIRE) != at; i++)
		usleep(1000);
	return q->status->done == at;
}

#endif /* SUPPRESSED_H */
