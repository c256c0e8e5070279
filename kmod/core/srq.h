/* SPDX-License-Identifier: GPL-2.0 */
/* Shared receive queues. */
#ifndef _DAT_SRQ_H
#define _DAT_SRQ_H

#include "core/queue.h"

struct dat_pz;

/**
 * struct dat_srq - shared receive queue
 * @obj: base object; users: EPs
 * @pz: zone; reference and use held
 * @max_iov: largest number of segments of a buffer
 * @lock: lock of all members from @ring to @sge
 * @ring: memory of the ring, which the owner may map
 * @q: queue of the buffers
 * @window: number of buffers that the device holds at most; constant, unlike the ring's size
 * @slots: @window slots
 * @free: stack of the numbers of free slots, since buffers complete in any order
 * @nfree: number of free slots
 * @live: flag: the transport takes buffers, from creation to shutdown
 * @lost: number of buffers that have completed without an event
 * @low_watermark: number of available buffers below which an event is queued; 0: no event
 * @wr: scratch of the pump
 * @sge: scratch of the pump
 * @error_work: work that handles a device error, which may come in hard interrupt; no lock
 * @pump_work: work that takes the buffers that one slice has left; no lock
 * @next: prepared ring, not in use yet; ia->resize_lock
 * @generation: generation of the ring prepared last; ia->resize_lock
 */
struct dat_srq {
	struct dat_obj		obj;
	struct dat_pz		*pz;
	u32			max_iov;
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
	struct work_struct	pump_work;
	struct dat_epring	next;
	u32			generation;
};

DAT_OBJ_CAST(srq)

int dat_srq_fits(const struct dat_ia *ia, u32 max_recv, u32 max_iov);
struct dat_srq *dat_srq_create(struct dat_pz *pz, u32 max_recv, u32 max_iov,
			       u64 user_data);
void dat_srq_broken(struct dat_srq *srq);
void dat_srq_pump(struct dat_srq *srq);
u32 dat_srq_pump_locked(struct dat_srq *srq);
void dat_srq_report_bad(struct dat_srq *srq);
void dat_srq_complete(struct dat_srq *srq, struct dat_slot *slot);
void dat_srq_lost(struct dat_srq *srq);
void dat_srq_set_lw(struct dat_srq *srq, u32 low_watermark);
bool dat_srq_set_lw_locked(struct dat_srq *srq, u32 low_watermark);
void dat_srq_report_low(struct dat_srq *srq);
int dat_srq_resize(struct dat_srq *srq, u32 max_recv, struct dat_step *step);

#endif /* _DAT_SRQ_H */
