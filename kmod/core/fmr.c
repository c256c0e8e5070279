// SPDX-License-Identifier: GPL-2.0
/*
 * LMRs whose memory comes and goes with requests of an EP.
 *
 *         claim           bind            queue          leave            end
 *   FREE ------> CLAIMED -----> BINDING ------> BOUND ------> LEAVING ------> FREE
 *
 * A queue and a leave are followed by an entry in the queue of an EP, which ends in
 * dat_fmr_end(): with the completion at the device, or without one if it never got there.
 * Each holds a use of the LMR until then, so that neither it nor the EP's zone goes.
 *
 * An invalidation must not be ahead of its bind: some devices take it without a word, and
 * then register for peers what the consumer has got back.  So until the bind has ended, the
 * invalidation has to be behind it in the same queue.
 *
 * The context is good from the bind on, for requests behind it in the queue, until the pump
 * takes the invalidation: what was posted before that may still have been in the queue.
 *
 * Once the device has failed at one of them nobody knows what it made of the registration:
 * a work gets a new one, and the LMR is not FREE before.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "core/dat.h"

/* The memory is unmapped where its end is reported, with softirqs off. */
#define FMR_MAX_PAGES	1024U

enum fmr_state { FMR_FREE, FMR_CLAIMED, FMR_BINDING, FMR_BOUND, FMR_LEAVING };

/**
 * struct dat_fmr - what such an LMR has beyond others
 * @lmr: it
 * @sg: room for @max_pages entries
 * @max_pages: constant
 * @mem: of @sg; lmr->mem while it is good
 * @renew_work: see the top of this file
 *
 * Under lmr->lock:
 *
 * @state: see the top of this file
 * @pending: entries that have not ended
 * @ep: where the bind's is, if that has not; only to be compared
 * @lost: the bind never got to the device, and a leave follows it
 * @broken: @renew_work has to come
 * @registered: the transport has a registration for it
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

/* Its memory is the consumer's again; no device reaches it. */
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
	/* The pages of this one may be what memory is to be gained from. */
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
 * @max_pages: that it can hold, at least 1
 * @user_data: owner value
 *
 * Context: may sleep.  Return: the LMR with a reference, or an ERR_PTR: -EOPNOTSUPP,
 * -E2BIG more pages than the device takes, or than are unmapped at a time; -ENOMEM.
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
 * dat_fmr_claim() - begin to give an LMR memory
 * @lmr: of dat_lmr_create_fmr()
 * @max: result: entries there is room for
 *
 * Context: any.  Return: where to put the memory, to be followed by dat_fmr_bind() and, if
 * no entry comes of it, dat_fmr_unclaim(); or an ERR_PTR: -EBUSY it is not free, -ENOENT
 * it is being freed, -ENOMEM it has lost its registration for good.
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
	/* The end of what it had last. */
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
 * dat_fmr_bind() - give an LMR the memory that was put where dat_fmr_claim() has said
 * @lmr: claimed; its context and keys are new afterwards
 * @nents: entries that were put there, at least 1
 * @start: address of the first byte for those who will use it
 * @length: bytes
 * @priv: DAT_PRIV_*
 *
 * Context: may sleep on some devices.  Return: 0, and dat_fmr_queue() must follow; or -EINVAL
 * there are holes, -E2BIG, or what DMA layer and verbs say.
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
 * dat_fmr_queue() - the entry of a bind follows
 * @lmr: of dat_fmr_bind()
 * @ep: endpoint in whose queue it will be
 *
 * If it doesn't, dat_fmr_unqueue() has to, before anybody else has had the lock.
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

/* After a claim, bound or not, but not queued: no entry comes of it. */
void dat_fmr_unclaim(struct dat_lmr *lmr)
{
	spin_lock_bh(&lmr->lock);
	fmr_release(lmr);
	spin_unlock_bh(&lmr->lock);
	dat_obj_unuse(&lmr->obj);
}

/**
 * dat_fmr_leave() - begin to take the memory
 * @lmr: of dat_lmr_create_fmr()
 * @ep: endpoint in whose queue the entry will be
 *
 * Context: ep->lock held.  Return: 0, to be followed by the entry, or by dat_fmr_end();
 * -EINVAL it has no memory; -EBUSY it is being bound by another EP; -ENOENT it is being
 * freed.
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
		dat_obj_unuse(&lmr->obj);
	return ret;
}

/* The LMR that an entry is about; it stays until that has ended.  Or NULL. */
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

	/* At the device before its bind it was good for nothing. */
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
 * dat_fmr_end() - an entry has ended
 * @lmr: that it was about
 * @op: enum dat_kop
 * @reached: the device had it
 * @status: enum dat_dto_status
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
	/* Not the last: the object is still to be found. */
	dat_obj_unuse(&lmr->obj);
}

/* Make the transport's request of ep->wr.  Return: 0, or -EINVAL. */
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
