// SPDX-License-Identifier: GPL-2.0
/*
 * LMRs that requests of an EP bind to memory and invalidate.
 *
 *         claim           bind            queue          leave            end
 *   FREE ------> CLAIMED -----> BINDING ------> BOUND ------> LEAVING ------> FREE
 *
 * After dat_fmr_queue() and dat_fmr_leave() the caller puts an entry into the queue of an EP.
 * dat_fmr_end() ends the entry: upon its completion, or when it fails before the device.  Until
 * then the entry holds a use of the LMR, which keeps the LMR and its zone.
 *
 * An invalidation must not overtake its bind.  Some devices accept that silently and then register
 * memory for peers that the consumer has got back.  So until the bind has completed, its
 * invalidation must follow it in the same queue.
 *
 * The lmr_context is valid from dat_fmr_bind(), for requests that follow the bind in the queue,
 * until the pump takes the invalidation: requests ahead of it in the ring still need it.
 *
 * If the device fails one of the two requests, the state of the registration is unknown.  A work
 * then makes a new one before the LMR becomes FREE.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "core/conn.h"
#include "core/dat.h"
#include "core/ep.h"
#include "core/lmr.h"
#include "core/queue.h"
#include "core/xport.h"

/* Limited, because the memory is unmapped with softirqs off, upon the completion. */
#define FMR_MAX_PAGES	1024U

enum fmr_state { FMR_FREE, FMR_CLAIMED, FMR_BINDING, FMR_BOUND, FMR_LEAVING };

/**
 * struct dat_fmr - additional state of an LMR that requests bind
 * @lmr: LMR
 * @sg: scatterlist with room for @max_pages entries
 * @max_pages: largest number of pages; constant
 * @mem: memory in @sg; lmr->mem points here while it is bound
 * @renew_work: work that replaces a registration in an unknown state
 *
 * Under lmr->lock:
 *
 * @state: state, as in the picture above
 * @pending: number of entries that have not ended
 * @ep: EP whose queue has the bind, until the bind ends; only compared, never dereferenced
 * @lost: flag: the bind failed before it reached the device, and an invalidation is queued behind
 *	it
 * @broken: flag: @renew_work has to run
 * @registered: flag: the transport has a registration for the LMR
 */
struct dat_fmr {
	struct dat_lmr		*lmr;
	struct scatterlist	*sg;
	u32			max_pages;
	struct dat_kmem		mem;
	struct work_struct	renew_work;

	/* Under lmr->lock. */
	enum fmr_state		state;
	u32			pending;
	const struct dat_ep	*ep;
	bool			lost;
	bool			broken;
	bool			registered;
};

/* Returns the memory to the consumer, once the device has no access to it. */
static void fmr_release(struct dat_lmr *lmr)
{
	struct dat_fmr *fmr = lmr->fmr;

	lockdep_assert_held(&lmr->lock);
	dat_lmr_close(lmr);
	lmr->mem = NULL;
	lmr->length = 0;
	lmr->obj.ia->dev->ops->mem_unmap(lmr->obj.ia->dev, &fmr->mem);
	fmr->state = FMR_FREE;
}

static void fmr_renew(struct work_struct *work)
{
	struct dat_fmr *fmr = container_of(work, struct dat_fmr, renew_work);
	struct dat_lmr *lmr = fmr->lmr;
	unsigned int noio;
	int ret;

	dat_lmr_close(lmr);
	/* Reclaim must not wait for the pages of this LMR, which are released below. */
	noio = memalloc_noio_save();
	ret = lmr->obj.ia->dev->ops->lmr_empty(lmr, fmr->max_pages);
	memalloc_noio_restore(noio);
	spin_lock_bh(&lmr->lock);
	fmr_release(lmr);
	fmr->broken = false;
	fmr->registered = !ret;
	spin_unlock_bh(&lmr->lock);
}

static int fmr_attach(struct dat_lmr *lmr, const void *arg)
{
	struct dat_fmr *fmr;
	int ret;

	fmr = kzalloc(sizeof(*fmr), GFP_KERNEL);
	if (!fmr)
		return -ENOMEM;
	lmr->fmr = fmr;
	fmr->lmr = lmr;
	fmr->max_pages = *(const u32 *)arg;
	INIT_WORK(&fmr->renew_work, fmr_renew);
	fmr->sg = kvcalloc(fmr->max_pages, sizeof(*fmr->sg), GFP_KERNEL);
	if (!fmr->sg)
		return -ENOMEM;
	sg_init_table(fmr->sg, fmr->max_pages);
	ret = lmr->obj.ia->dev->ops->lmr_empty(lmr, fmr->max_pages);
	fmr->registered = !ret;
	return ret;
}

static void fmr_detach(struct dat_lmr *lmr)
{
	struct dat_fmr *fmr = lmr->fmr;

	if (!fmr)
		return;
	cancel_work_sync(&fmr->renew_work);
	lmr->obj.ia->dev->ops->lmr_exit(lmr);
	spin_lock_bh(&lmr->lock);
	fmr_release(lmr);
	spin_unlock_bh(&lmr->lock);
}

static void fmr_free(struct dat_lmr *lmr)
{
	if (lmr->fmr)
		kvfree(lmr->fmr->sg);
	kfree(lmr->fmr);
}

static const struct dat_lmr_kind fmr_kind = {
	.name	= "allocated",
	.attach	= fmr_attach,
	.detach	= fmr_detach,
	.free	= fmr_free,
};

/**
 * dat_lmr_create_fmr() - make an LMR without memory
 * @pz: protection zone
 * @max_pages: number of pages that it can hold, at least 1
 * @user_data: owner value
 *
 * Context: may sleep.  Return: the LMR with a reference, or an ERR_PTR: -EOPNOTSUPP if the device
 * has no such registrations, -E2BIG if it does not take so many pages or they exceed
 * FMR_MAX_PAGES, -ENOMEM.
 */
struct dat_lmr *dat_lmr_create_fmr(struct dat_pz *pz, u32 max_pages, u64 user_data)
{
	u32 most = min(pz->obj.ia->dev->limits.fast_reg_pages, FMR_MAX_PAGES);
	struct dat_lmr_param param = {
		.kind = &fmr_kind, .arg = &max_pages, .user_data = user_data,
	};

	if (!most)
		return ERR_PTR(-EOPNOTSUPP);
	if (max_pages > most)
		return ERR_PTR(-E2BIG);
	return dat_lmr_make(pz->obj.ia, pz, &param);
}

/**
 * dat_fmr_claim() - reserve a free LMR and get its scatterlist
 * @lmr: LMR of dat_lmr_create_fmr()
 * @max: result: number of entries of the scatterlist
 *
 * The caller fills in the scatterlist and calls dat_fmr_bind().  If no entry is queued it calls
 * dat_fmr_unclaim().
 *
 * Context: any but hard interrupt.  Return: the scatterlist, or an ERR_PTR: -EBUSY if the LMR is
 * not free, -ENOENT if it is being freed, -ENOMEM if its registration could not be renewed.
 */
struct scatterlist *dat_fmr_claim(struct dat_lmr *lmr, u32 *max)
{
	struct dat_fmr *fmr = lmr->fmr;
	int ret = dat_obj_use(&lmr->obj);

	if (ret)
		return ERR_PTR(ret);
	spin_lock_bh(&lmr->lock);
	if (fmr->state != FMR_FREE || fmr->pending || fmr->broken)
		ret = -EBUSY;
	else if (!fmr->registered)
		ret = -ENOMEM;
	else
		fmr->state = FMR_CLAIMED;
	spin_unlock_bh(&lmr->lock);
	if (ret) {
		dat_obj_unuse(&lmr->obj);
		return ERR_PTR(ret);
	}
	*max = fmr->max_pages;
	/* Remove the end mark of the previous memory. */
	if (fmr->mem.sgt.orig_nents)
		sg_unmark_end(&fmr->sg[fmr->mem.sgt.orig_nents - 1]);
	return fmr->sg;
}

static int fmr_map(struct dat_lmr *lmr, u32 nents, u64 start, u32 priv, struct dat_keys *keys)
{
	struct dat_dev *dev = lmr->obj.ia->dev;
	struct dat_fmr *fmr = lmr->fmr;
	int ret;

	sg_mark_end(&fmr->sg[nents - 1]);
	fmr->mem = (struct dat_kmem) {
		.sgt = { .sgl = fmr->sg, .nents = nents, .orig_nents = nents },
	};
	ret = dev->ops->mem_map(dev, &fmr->mem, priv);
	if (ret)
		return ret;
	ret = dev->ops->lmr_map(lmr, &fmr->mem, fmr->max_pages, start, priv, keys);
	if (ret)
		dev->ops->mem_unmap(dev, &fmr->mem);
	return ret;
}

/**
 * dat_fmr_bind() - bind an LMR to the memory in its scatterlist
 * @lmr: claimed LMR; gets a new context and new keys
 * @nents: number of entries in the scatterlist, at least 1
 * @start: address of the first byte in segments and for peers
 * @length: bytes
 * @priv: DAT_PRIV_* bits
 *
 * After a success the caller calls dat_fmr_queue() or dat_fmr_unclaim().
 *
 * Context: may sleep on some devices.  Return: 0, -EINVAL if the memory has holes, -E2BIG if it has
 * too many pages, or an error of the DMA mapping or the transport.
 */
int dat_fmr_bind(struct dat_lmr *lmr, u32 nents, u64 start, u64 length, u32 priv)
{
	struct dat_fmr *fmr = lmr->fmr;
	struct dat_keys keys;
	int ret;

	ret = fmr_map(lmr, nents, start, priv, &keys);
	if (ret)
		return ret;
	spin_lock_bh(&lmr->lock);
	fmr->state = FMR_BINDING;
	fmr->lost = false;
	lmr->mem = &fmr->mem;
	lmr->start = start;
	lmr->length = length;
	lmr->priv = priv;
	lmr->lkey = keys.lkey;
	lmr->rkey = keys.rkey;
	dat_lmr_open(lmr);
	spin_unlock_bh(&lmr->lock);
	return 0;
}

/**
 * dat_fmr_queue() - prepare for the entry of a bind
 * @lmr: LMR of dat_fmr_bind()
 * @ep: endpoint whose queue gets the entry
 *
 * The caller queues the entry before it drops ep->lock.  If that fails, it calls dat_fmr_unqueue()
 * under the same lock.
 *
 * Context: ep->lock held.
 */
void dat_fmr_queue(struct dat_lmr *lmr, const struct dat_ep *ep)
{
	struct dat_fmr *fmr = lmr->fmr;

	lockdep_assert_held(&ep->lock);
	spin_lock_bh(&lmr->lock);
	fmr->state = FMR_BOUND;
	fmr->pending = 1;
	fmr->ep = ep;
	spin_unlock_bh(&lmr->lock);
}

void dat_fmr_unqueue(struct dat_lmr *lmr)
{
	struct dat_fmr *fmr = lmr->fmr;

	spin_lock_bh(&lmr->lock);
	fmr->state = FMR_BINDING;
	fmr->pending = 0;
	fmr->ep = NULL;
	spin_unlock_bh(&lmr->lock);
}

/* Undoes dat_fmr_claim(), and dat_fmr_bind() if it was called, when no entry was queued. */
void dat_fmr_unclaim(struct dat_lmr *lmr)
{
	spin_lock_bh(&lmr->lock);
	fmr_release(lmr);
	spin_unlock_bh(&lmr->lock);
	dat_obj_unuse(&lmr->obj);
}

/**
 * dat_fmr_leave() - prepare for the entry of an invalidation
 * @lmr: LMR of dat_lmr_create_fmr()
 * @ep: endpoint whose queue gets the entry
 *
 * After a success the caller queues the entry, or calls dat_fmr_end() if that fails.
 *
 * Context: ep->lock held.  Return: 0; -EINVAL if the LMR has no memory; -EBUSY if its bind is in
 * the queue of another EP; -ENOENT if it is being freed.
 */
int dat_fmr_leave(struct dat_lmr *lmr, const struct dat_ep *ep)
{
	struct dat_fmr *fmr = lmr->fmr;
	int ret = dat_obj_use(&lmr->obj);

	if (ret)
		return ret;
	spin_lock_bh(&lmr->lock);
	if (fmr->state != FMR_BOUND || fmr->broken) {
		ret = -EINVAL;
	} else if (fmr->ep && fmr->ep != ep) {
		ret = -EBUSY;
	} else {
		fmr->state = FMR_LEAVING;
		fmr->pending++;
	}
	spin_unlock_bh(&lmr->lock);
	if (ret)
		dat_obj_unuse_atomic(&lmr->obj);
	return ret;
}

/* Returns the LMR of an FMR entry, whose use keeps it until dat_fmr_end(), or NULL. */
struct dat_lmr *dat_fmr_find(struct dat_ia *ia, const struct dat_wr *wr)
{
	struct dat_obj *obj;

	if (likely(wr->op < DAT_OP_LAST) || wr->op == DAT_KOP_READ_TO_RMR)
		return NULL;
	rcu_read_lock();
	obj = xa_load(&ia->objs, (u32)wr->raddr);
	rcu_read_unlock();
	return obj && obj->type == DAT_OBJ_LMR ? to_dat_lmr(obj) : NULL;
}

static void bind_ended(struct dat_lmr *lmr, bool reached, bool good)
{
	struct dat_fmr *fmr = lmr->fmr;

	fmr->ep = NULL;
	if (reached)
		fmr->broken |= !good;
	else if (fmr->state == FMR_BOUND)
		fmr_release(lmr);
	else
		fmr->lost = true;
}

static void leave_ended(struct dat_lmr *lmr, bool reached, bool good)
{
	struct dat_fmr *fmr = lmr->fmr;

	/* The entry reached the device before its bind, so it did not invalidate anything. */
	if (reached && fmr->ep)
		fmr->broken = true;
	else if (good || (fmr->lost && !reached))
		fmr_release(lmr);
	else if (!reached && lmr->context)
		fmr->state = FMR_BOUND;
	else
		fmr->broken = true;
}

/**
 * dat_fmr_end() - end an entry that has completed or failed
 * @lmr: LMR of the entry
 * @op: enum dat_kop of the entry
 * @reached: the entry has reached the device
 * @status: enum dat_dto_status of the entry
 *
 * Context: any but hard interrupt.
 */
void dat_fmr_end(struct dat_lmr *lmr, u8 op, bool reached, u8 status)
{
	bool good = reached && status == DAT_ST_SUCCESS;
	struct dat_fmr *fmr = lmr->fmr;

	spin_lock_bh(&lmr->lock);
	fmr->pending--;
	if (op == DAT_KOP_LMR_FMR)
		bind_ended(lmr, reached, good);
	else
		leave_ended(lmr, reached, good);
	if (fmr->broken && !fmr->pending)
		queue_work(dat_wq, &fmr->renew_work);
	spin_unlock_bh(&lmr->lock);
	dat_obj_unuse_atomic(&lmr->obj);
}

/* Builds the transport's request for ep->wr.  Returns 0, or -EINVAL. */
int dat_fmr_build(struct dat_conn *conn, union dat_send_wr *out)
{
	struct dat_lmr *lmr = dat_fmr_find(conn->ep->obj.ia, &conn->ep->wr);

	if (!lmr || lmr->pz != conn->ep->pz)
		return -EINVAL;
	if (conn->ep->wr.op == DAT_KOP_LMR_INVALIDATE)
		dat_lmr_close(lmr);
	conn->dev->ops->lmr_build(lmr, conn->ep->wr.op, out);
	return 0;
}
