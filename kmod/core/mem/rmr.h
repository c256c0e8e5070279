/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Remote memory regions and their bindings. */
#ifndef _DAT_RMR_H
#define _DAT_RMR_H

#include <linux/rbtree.h>
#include <rdma/ib_verbs.h>

#include "core/dat.h"
#include "core/locked.h"

struct dat_lmr;
struct dat_pz;

/**
 * struct dat_binding - a binding of an RMR, prepared or in effect
 * @node: entry in rmr->prepared, while the binding is prepared or was dropped
 * @in_pz: node in pz->windows, while the binding is in effect and has an rkey
 * @rmr: RMR that the binding binds or unbinds, reference held
 * @pz: protection zone of @rmr; not freed before the binding
 * @ticket: number by which an entry of a send queue names the binding; 0 if the binding was dropped
 * @lmr: LMR to which the RMR is bound, reference held; NULL if the binding unbinds the RMR
 * @in_effect: flag: the binding has a use of @lmr (dat_obj_use()), so @lmr cannot be freed.  Set by
 *	dat_rmr_take(); for kernel memory, which a binding does not pin, set when the binding is
 *	prepared.
 * @addr: address of the first byte of the bound memory
 * @length: bytes
 * @priv: DAT_PRIV_REMOTE_* bits
 * @lkey: key for local access; undefined without @lmr
 * @rkey: key for access by peers; 0 without @lmr
 * @by_request: flag: work requests begin and end the registration; set by ops->bind_init()
 * @live: flag: the device may give access by @rkey, so the registration cannot be used again.  Set
 *	by the transport; cleared when a work request or a peer has ended the registration.
 * @ends: rkey of the binding in effect, whose registration the work requests of this binding end;
 *	0: none; set by dat_rmr_take()
 * @sleeps: flag: the registration of the binding in effect must be destroyed, which may sleep,
 *	before this binding takes effect; set by dat_rmr_take(), cleared by dat_rmr_end_old()
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
	bool			by_request;
	bool			live;
	u32			ends;
	bool			sleeps;
};

/* A remote memory region. */
struct dat_rmr {
	struct dat_obj		obj;
	struct dat_pz		*pz;		/* held with dat_obj_use() */
	spinlock_t		lock;		/* lock of @bound to @dead */
	struct dat_binding	*bound;		/* binding in effect, or NULL; see rmr_exchange() */
	struct list_head	prepared;	/* bindings that await an SQ entry or a purge */
	u32			nprepared;	/* length of @prepared */
	u32			ticket;		/* ticket of the binding that was prepared last */
	bool			busy;		/* a binding was taken and has not ended */
	u32			waiter;		/* ticket of the first that met @busy, or 0 */
	bool			dead;		/* the RMR is shut down */
	struct work_struct	purge_work;	/* frees dropped bindings, whose ticket is 0 */
	struct dat_locked	locked;		/* charge of a registration between two bindings */
};

DAT_OBJ_CAST(rmr)

/* Result of dat_rmr_query(): the binding in effect; @context is 0 if no binding is in effect. */
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
void dat_rmr_end_old(struct dat_binding *b);
u8 dat_rmr_carry_out(struct dat_binding *b);
void dat_rmr_abandon(struct dat_binding *b);
void dat_rmr_forget(struct dat_rmr *rmr, u32 ticket);
bool dat_rmr_invalidated(struct dat_pz *pz, u32 rkey);
int dat_rmr_to_sge(struct dat_pz *pz, const struct dat_sge *seg, struct ib_sge *out);

#endif /* _DAT_RMR_H */
