/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Protection zones and registered memory. */
#ifndef _DAT_LMR_H
#define _DAT_LMR_H

#include <linux/dma-direction.h>
#include <linux/nospec.h>
#include <linux/scatterlist.h>

#include "core/dat.h"

struct dat_conn;
struct dat_ep;
struct dat_fmr;
struct dat_share;
struct dat_watch;
struct dat_wr;
union dat_send_wr;

struct dat_pz {
	struct dat_obj		obj;		/* users: LMRs, RMRs, SRQs and EPs */
	u32			dma_key;	/* lkey for all DMA addresses */
	spinlock_t		rmr_lock;	/* lock of @windows */
	struct rb_root		windows;	/* bindings in effect that have an rkey, by rkey */
};

/* Kernel memory that a device can access. */
struct dat_kmem {
	struct sg_table		sgt;		/* memory; DMA addresses only, if @foreign */
	enum dma_data_direction	dir;
	bool			mapped;		/* the transport has mapped @sgt */
	bool			foreign;	/* from dat_kmem_of_dma(): do not map or sync */
};

/**
 * struct dat_lmr_kind - operations of a kind of LMR
 * @name: name in fdinfo
 * @attach: register the memory with the device and set the keys; may sleep
 * @detach: end the registration and release the memory; called even if @attach has failed or was
 *	not called; idempotent; may sleep
 * @free: free the memory that lmr->fmr points to; optional
 * @pinned: flag: the memory is pages of a process; the LMR pins the pages, and each binding of an
 *	RMR pins its part again
 */
struct dat_lmr_kind {
	const char	*name;
	int		(*attach)(struct dat_lmr *lmr, const void *arg);
	void		(*detach)(struct dat_lmr *lmr);
	void		(*free)(struct dat_lmr *lmr);
	bool		pinned;
};

/*
 * Keys of an LMR without remote access that is too long for one registration.  Chunk i has the
 * addresses with address >> @shift == @first + i.  Constant.
 */
struct dat_chunks {
	struct rcu_head		rcu;		/* for the free: resolve() runs under RCU */
	u64			first;
	u32			shift;
	u32			n;
	u32			lkey[];
};

/**
 * struct dat_lmr - registered memory
 * @obj: base object
 * @kind: kind of memory
 * @pz: protection zone, held with dat_obj_use(); NULL for the reserved LMR, which is valid in all
 *	zones
 * @start: address of the first byte in the owner's address space
 * @length: bytes
 * @priv: DAT_PRIV_* bits that the consumer asked for
 * @index: index in ia->lmrs, allocated from ia->lmr_ids; 0 if none is allocated
 * @context: lmr_context, which consists of @index and a generation; 0 while the LMR is invalid.
 *	Set after the range and the keys are set, and cleared before these change.
 * @shift: number that is added to an address of the owner to get the address that the device uses
 *	with @lkey
 * @lkey: key for local access, which goes into SGEs; unused with @chunks and in the reserved LMR
 * @chunks: keys of the parts of the LMR, or NULL; set by the transport in @kind->attach(), freed by
 *	the release of the LMR
 * @rkey: key for access by peers
 * @share: name of memory that several processes register, or NULL
 * @watch: state of a watched LMR, or NULL
 * @lock: lock of @mem and of the state in @fmr
 * @mem: kernel memory that the LMR registers at present, or NULL
 * @fmr: additional state of an LMR that FMR requests bind to memory, or NULL
 */
struct dat_lmr {
	struct dat_obj		obj;
	const struct dat_lmr_kind *kind;
	struct dat_pz		*pz;
	u64			start;
	u64			length;
	u32			priv;
	u32			index;
	u32			context;
	u64			shift;
	u32			lkey;
	struct dat_chunks	*chunks;
	u32			rkey;
	struct dat_share	*share;
	struct dat_watch	*watch;
	spinlock_t		lock;		/* lock of @mem and @fmr */
	struct dat_kmem		*mem;
	struct dat_fmr		*fmr;
};

struct dat_lmr_table {
	struct rcu_head		rcu;		/* for the free after a longer table is in use */
	u32			size;
	struct dat_lmr __rcu	*lmr[];		/* NULL for an unused index */
};

/* Parameters of a new LMR, as in struct dat_lmr; @arg is for @kind->attach(). */
struct dat_lmr_param {
	const struct dat_lmr_kind *kind;
	u64			start;
	u64			length;
	u32			priv;
	const void		*arg;
	u64			user_data;
};

/**
 * struct dat_lmr_user - options of an LMR with memory of a process
 * @cookie: name of shared memory, DAT_LMR_COOKIE bytes; or NULL
 * @watched: flag: the process is told when the memory changes
 */
struct dat_lmr_user {
	const u8	*cookie;
	bool		watched;
};

DAT_OBJ_CAST(lmr)
DAT_OBJ_CAST(pz)

/* pz.c, lmr.c */
struct dat_pz *dat_pz_create(struct dat_ia *ia);
struct dat_lmr *dat_lmr_make(struct dat_ia *ia, struct dat_pz *pz,
			     const struct dat_lmr_param *param);
struct dat_lmr *dat_lmr_create(struct dat_pz *pz, u64 start, u64 length, u32 priv,
			       const struct dat_lmr_user *user);
struct dat_lmr *dat_lmr_create_reserved(struct dat_ia *ia, u64 user_data);
void dat_lmr_init_ia(struct dat_ia *ia);
void dat_lmr_release_ia(struct dat_ia *ia);
void dat_lmr_open(struct dat_lmr *lmr);
void dat_lmr_close(struct dat_lmr *lmr);
int dat_lmr_sync(struct dat_ia *ia, const struct dat_sge *seg, bool for_cpu);

#define DAT_LMR_INDEX_BITS	20
#define DAT_LMR_INDEX_MASK	((1U << DAT_LMR_INDEX_BITS) - 1)

extern const struct dat_lmr_kind dat_lmr_reserved_kind;

static inline bool dat_lmr_covers(const struct dat_lmr *lmr, u64 addr, u64 len)
{
	/* For @addr below the start the difference wraps, so the comparison fails. */
	return len <= lmr->length && addr - lmr->start <= lmr->length - len;
}

/*
 * Returns the valid LMR with this lmr_context, or NULL.  The caller holds the RCU read lock or has
 * disabled softirqs.
 */
static __always_inline struct dat_lmr *dat_lmr_find(struct dat_ia *ia, u32 context)
{
	struct dat_lmr_table *table = rcu_dereference_check(ia->lmrs, rcu_read_lock_bh_held());
	u32 index = context & DAT_LMR_INDEX_MASK;
	struct dat_lmr *lmr;

	if (unlikely(!table || index >= table->size))
		return NULL;
	index = array_index_nospec(index, table->size);
	lmr = rcu_dereference_check(table->lmr[index], rcu_read_lock_bh_held());
	/* Acquire: pairs with the release in dat_lmr_open(), so range and keys are valid. */
	if (unlikely(!lmr || smp_load_acquire(&lmr->context) != context))
		return NULL;
	return lmr;
}

/* kmem.c */
struct dat_kmem *dat_kmem_of_pages(const struct dat_dev *dev, struct page **pages, u32 n,
				   u32 offset, u64 length);
u64 dat_sg_boundaries(struct scatterlist *sgl, u32 n, u64 iova);
struct dat_kmem *dat_kmem_of_dma(struct scatterlist *sg, u32 n, u64 offset, u64 length);
struct dat_kmem *dat_kmem_clone(const struct dat_kmem *mem);
void dat_kmem_free(struct dat_kmem *mem, struct dat_dev *dev);
struct dat_lmr *dat_lmr_create_kmem(struct dat_pz *pz, struct dat_kmem *mem, u64 start,
				    u64 length, u32 priv, u64 user_data);

/* fmr.c */
struct dat_lmr *dat_lmr_create_fmr(struct dat_pz *pz, u32 max_pages, u64 user_data);
struct scatterlist *dat_fmr_claim(struct dat_lmr *lmr, u32 *max);
int dat_fmr_bind(struct dat_lmr *lmr, u32 nents, u64 start, u64 length, u32 priv);
void dat_fmr_queue(struct dat_lmr *lmr, const struct dat_ep *ep);
void dat_fmr_unqueue(struct dat_lmr *lmr);
void dat_fmr_unclaim(struct dat_lmr *lmr);
int dat_fmr_leave(struct dat_lmr *lmr, const struct dat_ep *ep);
struct dat_lmr *dat_fmr_find(struct dat_ia *ia, const struct dat_wr *wr);
void dat_fmr_end(struct dat_lmr *lmr, u8 op, bool reached, u8 status);
int dat_fmr_build(struct dat_conn *conn, union dat_send_wr *out);

/* share.c */
struct dat_share *dat_share_get(const struct dat_ia *ia, u64 start, u64 length,
				const u8 *cookie);
void dat_share_put(struct dat_share *share);
int dat_share_init(void);
void dat_share_exit(void);

#endif /* _DAT_LMR_H */
