/* SPDX-License-Identifier: GPL-2.0 */
/* Remote memory regions and their bindings. */
#ifndef _DAT_RMR_H
#define _DAT_RMR_H

#include <linux/rbtree.h>
#include <rdma/ib_verbs.h>

#include "core/dat.h"

struct dat_lmr;
struct dat_pz;

/**
 * struct dat_binding - a binding of an RMR, prepared or in effect
 * @node: entry in rmr->prepared
 * @in_pz: node in pz->windows while the binding is in effect and has an rkey
 * @rmr: RMR of the binding
 * @pz: zone of @rmr; it stays until the binding is carried out or freed
 * @ticket: number by which a queue entry names the binding; 0: no entry will carry it out
 * @lmr: bound LMR, reference held; NULL: this binding unbinds the RMR
 * @in_effect: flag: a use of @lmr is held, so @lmr can't be freed; set when the binding is taken
 *	from the queue, for kernel memory, which is not pinned, when it is prepared
 * @addr: address of the first byte
 * @length: bytes
 * @priv: DAT_PRIV_REMOTE_* bits
 * @lkey: key for segments, if @lmr
 * @rkey: key for peers, if @lmr; else 0
 */
struct dat_binding {
	struct list_head	node;
	struct rb_node		in_pz;
	struct dat_rmr		*rmr;
	struct dat_pz		*pz;
	u32			ticket;
	struct dat_lmr		*lmr;
	bool			in_effect;
	u64			addr;
	u64			length;
	u32			priv;
	u32			lkey;
	u32			rkey;
};

/**
 * struct dat_rmr - remote memory region
 * @obj: base object
 * @pz: zone; reference and use held
 * @lock: lock of all members from @bound to @dead
 * @bound: binding in effect, or NULL; written under pz->rmr_lock as well
 * @prepared: bindings that wait for their queue entry, and those that @purge_work will free
 * @nprepared: number of entries of @prepared
 * @ticket: ticket of the binding prepared last
 * @dead: flag: the RMR is shut down
 * @purge_work: work that frees bindings without a ticket; no lock
 */
struct dat_rmr {
	struct dat_obj		obj;
	struct dat_pz		*pz;
	spinlock_t		lock;		/* bound to dead */
	struct dat_binding	*bound;
	struct list_head	prepared;
	u32			nprepared;
	u32			ticket;
	bool			dead;
	struct work_struct	purge_work;
};

DAT_OBJ_CAST(rmr)

/**
 * struct dat_rmr_state - binding of an RMR that is in effect
 * @context: lmr_context of the LMR, or 0 if the RMR is unbound
 * @addr: address of the first byte
 * @length: bytes
 * @priv: DAT_PRIV_REMOTE_* bits
 * @rkey: key for peers
 */
struct dat_rmr_state {
	u32	context;
	u64	addr;
	u64	length;
	u32	priv;
	u32	rkey;
};

void dat_rmr_query(struct dat_rmr *rmr, struct dat_rmr_state *state);
struct dat_rmr *dat_rmr_create(struct dat_pz *pz, u64 user_data);
int dat_rmr_bind(struct dat_rmr *rmr, struct dat_lmr *lmr, struct dat_rmr_bind *arg);
struct dat_binding *dat_rmr_take(struct dat_rmr *rmr, const struct dat_pz *pz, u32 ticket);
void dat_binding_free(struct dat_binding *b);
u8 dat_rmr_carry_out(struct dat_rmr *rmr, struct dat_binding *b);
void dat_rmr_forget(struct dat_rmr *rmr, u32 ticket);
bool dat_rmr_invalidated(struct dat_pz *pz, u32 rkey);
int dat_rmr_to_sge(struct dat_pz *pz, const struct dat_sge *seg, struct ib_sge *out);

#endif /* _DAT_RMR_H */
