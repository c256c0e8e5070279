/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Shared receive queues. */
#ifndef _DAT_SRQ_H
#define _DAT_SRQ_H

#include "core/ep/queue.h"
#include "core/locked.h"

struct dat_pz;

/**
 * struct dat_srq - shared receive queue
 * @obj: base object; its users are EPs
 * @pz: protection zone, held with dat_obj_use()
 * @max_iov: largest number of segments of a buffer
 * @locked: charge of the transport's SRQ
 * @lock: lock of all members from @ring to @sge
 * @ring: memory of the ring, which the owner of the SRQ may map
 * @q: queue of the posted buffers
 * @window: largest number of buffers that the device holds; constant, although the length of the
 *	ring may change
 * @slots: array of @window records of posted buffers
 * @free: stack of the indices of free slots; a stack, because buffers complete in any order
 * @nfree: number of entries of @free
 * @live: flag: the transport accepts buffers; set from creation until shutdown
 * @lost: number of buffers that have completed without an event
 * @low_watermark: an async event is queued when fewer buffers than this are available; 0: no event
 * @wr: copy of the buffer that is being posted
 * @sge: segments of the buffer that is being posted
 * @error_work: work that reports a device error, because the device may report the error in hard
 *	interrupt; not protected by @lock
 * @next: prepared ring, not in use yet; protected by ia->resize_lock
 * @generation: generation number of the ring that was prepared last; protected by ia->resize_lock
 */
struct dat_srq {
	struct dat_obj		obj;
	struct dat_pz		*pz;
	u32			max_iov;
	struct dat_locked	locked;
	spinlock_t		lock;		/* ring to sge */
	struct dat_epring	ring;
	struct dat_queue	q;
	u32			window;
	struct dat_slot		*slots;
	u32			*free;
	u32			nfree;
	bool			live;
	u32			lost;
	u32			low_watermark;
	struct dat_wr		wr;
	struct ib_sge		sge[DAT_MAX_SGE];
	struct work_struct	error_work;
	struct dat_epring	next;
	u32			generation;
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
void dat_srq_complete(struct dat_srq *srq, struct dat_slot *slot);
void dat_srq_lost(struct dat_srq *srq);
void dat_srq_set_lw(struct dat_srq *srq, u32 low_watermark);
bool dat_srq_set_lw_locked(struct dat_srq *srq, u32 low_watermark);
void dat_srq_report_low(struct dat_srq *srq);
int dat_srq_resize(struct dat_srq *srq, u32 max_recv, struct dat_step *step);

#endif /* _DAT_SRQ_H */
