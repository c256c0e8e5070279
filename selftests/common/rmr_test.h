/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Binds of RMRs by ioctls and entries of a send queue. */
#ifndef RMR_TEST_H
#define RMR_TEST_H

#include <stdint.h>
#include <unistd.h>

#include "dat_test.h"
#include "proc.h"

static inline int make_rmr(struct t_file *f, uint32_t pz, uint32_t *id)
{
	struct dat_rmr_create arg = { .size = sizeof(arg), .pz = pz, .user_data = 77 };
	int ret = t_ioctl(f->fd, DAT_IOC_RMR_CREATE, &arg);

	*id = arg.id;
	return ret;
}

static inline int prepare(struct t_file *f, uint32_t rmr, const struct t_lmr *lmr,
			  struct dat_rmr_bind *arg)
{
	*arg = (struct dat_rmr_bind) {
		.size = sizeof(*arg), .id = rmr, .lmr = lmr ? lmr->id : 0,
		.priv = DAT_PRIV_REMOTE_READ, .addr = lmr ? (uintptr_t)lmr->va : 0,
		.length = lmr ? lmr->size : 0,
	};
	return t_ioctl(f->fd, DAT_IOC_RMR_BIND, arg);
}

static inline int post_bind_as(struct t_ep *ep, uint64_t cookie, uint64_t rmr, uint32_t ticket,
			       int num_sge)
{
	struct dat_sqe *sqe = t_sqe(&ep->sq);

	sqe->opcode = DAT_OP_RMR_BIND;
	sqe->raddr = rmr;
	sqe->rkey = ticket;
	sqe->cookie = cookie;
	sqe->num_sge = num_sge;
	return t_push(&ep->sq);
}

static inline int post_bind(struct t_ep *ep, uint64_t rmr, uint32_t ticket, int num_sge)
{
	return post_bind_as(ep, 55, rmr, ticket, num_sge);
}

/* Returns the status of the next event if the event has type @type; else -1. */
static inline int next_status(struct t_evd *evd, uint32_t type)
{
	struct dat_eqe eqe;

	if (!t_event(evd, T_WAIT_MS, &eqe) || eqe.type != type)
		return -1;
	return eqe.status;
}

/* Wait until @kb KiB are pinned, because unpinning is deferred.  Returns the pinned KiB. */
static inline long wait_for_pinned(long kb)
{
	int i;

	for (i = 0; i < 50 && vm_pin_kb() != kb; i++)
		usleep(20000);
	return vm_pin_kb();
}

#endif /* RMR_TEST_H */
