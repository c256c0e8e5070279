/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Shared receive queues. */
#ifndef _DAT_SRQ_H
#define _DAT_SRQ_H

#include "core/ep/queue.h"
#include "core/locked.h"

struct dat_pz;

/*
 * Largest number of buffers of an SRQ at a device, unless the device is iWARP.  Besides the
 * completions of these buffers, a CQ of 1,024 entries, one of which stays free, has room for those
 * of 128 requests.
 */
#define DAT_SRQ_WINDOW		(1023 - 128)

/* Shared receive queue; its users are EPs. */
struct dat_srq {
	struct dat_obj		obj;
	struct dat_pz		*pz;		/* held with dat_obj_use() */
	u32			max_iov;	/* segments of a buffer */
	struct dat_locked	locked;		/* charge of the transport's SRQ */
	spinlock_t		lock;		/* lock of @ring to @sge */
	struct dat_epring	ring;		/* memory that the owner may map */
	struct dat_queue	q;		/* posted buffers */
	u32			window;		/* limit of buffers at the device; constant */
	struct dat_slot		*slots;		/* @window records of posted buffers */
	u32			*free;		/* stack of the indices of unused @slots */
	u32			nfree;		/* number of entries of @free */
	bool			live;		/* the transport accepts buffers */
	u32			lost;		/* buffers that have completed without an event */
	u32			low_watermark;	/* threshold of the async event; 0: disarmed */
	struct dat_wr		wr;		/* copy of the buffer that is being posted */
	struct ib_sge		sge[DAT_MAX_SGE]; /* segments of @wr */
	/* Work that reports a device error, which may come in hard interrupt; needs no @lock. */
	struct work_struct	error_work;
	struct dat_epring	next;		/* prepared ring, not in use yet; ia->resize_lock */
	u32			generation;	/* latest prepared generation; ia->resize_lock */
};

DAT_OBJ_CAST(srq)

int dat_srq_fits(const struct dat_ia *ia, u32 max_recv, u32 max_iov);
struct dat_srq *dat_srq_create(struct dat_pz *pz, u32 max_recv, u32 max_iov,
			       u64 user_data);
void dat_srq_broken(struct dat_srq *srq);
void dat_srq_process(struct dat_srq *srq);
void dat_srq_kick(struct dat_srq *srq);
int dat_srq_post(struct dat_srq *srq, u64 limit);
u32 dat_srq_pump_locked(struct dat_srq *srq);
void dat_srq_report_bad(struct dat_srq *srq);
void dat_srq_release(struct dat_srq *srq, const struct dat_completion *c, u32 n);
void dat_srq_refill(struct dat_srq *srq);
void dat_srq_lost(struct dat_srq *srq);
void dat_srq_set_lw(struct dat_srq *srq, u32 low_watermark);
bool dat_srq_set_lw_locked(struct dat_srq *srq, u32 low_watermark);
void dat_srq_report_low(struct dat_srq *srq);
int dat_srq_resize(struct dat_srq *srq, u32 max_recv, struct dat_step *step);

#endif /* _DAT_SRQ_H */
