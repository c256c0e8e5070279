// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Fast memory registration (FMR): LMRs that an EP's requests bind to memory and invalidate.
 *
 *         claim           bind            queue          leave            end
 *   FREE ------> CLAIMED -----> BINDING ------> BOUND ------> LEAVING ------> FREE
 *
 * dat_fmr_unqueue() goes back from BOUND to BINDING.  An invalidation that fails before it reaches
 * the device goes back from LEAVING to BOUND.  A release goes from any state to FREE.  fmr_next has
 * all transitions.
 *
 * After dat_fmr_queue() or dat_fmr_leave() the caller puts an entry into the send queue of an EP.
 * dat_fmr_end() is called when the entry has completed, or has failed before it reached the device.
 * Until then the entry has a use of the LMR, which keeps the LMR and its zone from being freed.
 *
 * An invalidation must not reach the device before its bind.  Some devices report success in that
 * case, and later give peers access to memory that is the consumer's again.  So until the bind has
 * completed, the invalidation must be posted to the same send queue.
 *
 * dat_fmr_bind() makes the lmr_context valid, so that requests that follow the bind in the queue
 * can use the context.  dat_fmr_build() makes the context invalid only when the pump takes the
 * invalidation, because requests that precede the invalidation in the ring still need the context.
 *
 * If the device completes the bind or the invalidation with an error, the state of the registration
 * is unknown.  renew_work then makes a new registration before the LMR becomes FREE.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/mem/lmr.h"
#include "core/xport.h"
#include "lib/state.h"

/* Limit of pages: the completion of an invalidation unmaps all pages with softirqs disabled. */
#define FMR_MAX_PAGES	1024U

enum fmr_state { FMR_FREE, FMR_CLAIMED, FMR_BINDING, FMR_BOUND, FMR_LEAVING };

/* State of an LMR that FMR requests bind to memory. */
struct dat_fmr {
	struct dat_lmr		*lmr;
	struct scatterlist	*sg;		/* room for @max_pages entries */
	u32			max_pages;
	struct dat_kmem		mem;		/* memory in @sg; lmr->mem points here if bound */
	struct work_struct	renew_work;	/* replaces a registration whose state is unknown */

	/* Protected by lmr->lock. */
	enum fmr_state		state;
	u32			pending;	/* number of entries that await dat_fmr_end() */
	const struct dat_ep	*ep;		/* EP of the queued bind; never dereferenced */
	/* The bind failed before it reached the device, while its invalidation was queued. */
	bool			lost;
	bool			broken;		/* registration state unknown; see @renew_work */
	bool			registered;	/* false after @renew_work has failed */
};

static const u8 fmr_next[] = {
	[FMR_FREE]	= BIT(FMR_FREE) | BIT(FMR_CLAIMED),
	[FMR_CLAIMED]	= BIT(FMR_FREE) | BIT(FMR_BINDING),
	[FMR_BINDING]	= BIT(FMR_FREE) | BIT(FMR_BOUND),
	[FMR_BOUND]	= BIT(FMR_FREE) | BIT(FMR_BINDING) | BIT(FMR_LEAVING),
	[FMR_LEAVING]	= BIT(FMR_FREE) | BIT(FMR_BOUND),
};

static void fmr_set_state(struct dat_lmr *lmr, enum fmr_state state)
{
	lockdep_assert_held(&lmr->lock);
	if (dat_state_may(fmr_next, lmr->fmr->state, state))
		lmr->fmr->state = state;
}

/* Makes the LMR FREE and releases its memory, to which the device has no access any more. */
static void fmr_release(struct dat_lmr *lmr)
{
	struct dat_fmr *fmr = lmr->fmr;

	lockdep_assert_held(&lmr->lock);
	dat_lmr_close(lmr);
	lmr->mem = NULL;
	lmr->length = 0;
	lmr->obj.ia->dev->ops->mem_unmap(lmr->obj.ia->dev, &fmr->mem);
	fmr_set_state(lmr, FMR_FREE);
}

/* Replaces a registration whose state is unknown, then releases the memory. */
static void fmr_renew(struct work_struct *work)
{
	struct dat_fmr *fmr = container_of(work, struct dat_fmr, renew_work);
	struct dat_lmr *lmr = fmr->lmr;
	unsigned int noio;
	int ret;

	dat_lmr_close(lmr);
	/*
	 * An allocation must not start I/O to reclaim memory: that I/O might wait for the pages of
	 * this LMR, which are released below.
	 */
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

/*
 * Makes an LMR without memory, which FMR requests can bind.  May sleep.  Fails with -EOPNOTSUPP if
 * the device has no registrations by work request, with -E2BIG if @max_pages exceeds a limit, or
 * with an error of dat_lmr_make().
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
 * dat_fmr_claim() - reserve an LMR in the state FREE and get its scatterlist
 * @lmr: LMR of dat_lmr_create_fmr()
 * @max: result: number of entries of the scatterlist
 *
 * The caller fills in the scatterlist and calls dat_fmr_bind().  If that fails, or if the caller
 * then queues no entry, the caller must call dat_fmr_unclaim().
 *
 * Context: any but hard interrupt.  Return: the scatterlist, or an ERR_PTR: -EBUSY if the LMR is
 * not FREE; -ENOENT if the LMR is being freed; -ENOMEM if renew_work could not make a new
 * registration.
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
		fmr_set_state(lmr, FMR_CLAIMED);
	spin_unlock_bh(&lmr->lock);
	if (ret) {
		dat_obj_unuse(&lmr->obj);
		return ERR_PTR(ret);
	}
	*max = fmr->max_pages;
	/* Remove the end mark that fmr_map() set for the previous memory. */
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

/*
 * Binds the LMR to the memory in its scatterlist.  The LMR gets a new lmr_context and new keys.
 * Segments and peers refer to the first byte by the address @start.  After a success the caller
 * must call dat_fmr_queue() or dat_fmr_unclaim().  May sleep on some devices.  Fails with -EINVAL
 * if the memory has holes, with -E2BIG if the memory has too many pages, or with another error of
 * the transport's mem_map() or lmr_map().
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
	fmr_set_state(lmr, FMR_BINDING);
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

/*
 * Prepares to queue the entry of a bind.  The caller queues the entry, or calls dat_fmr_unqueue(),
 * before dropping ep->lock.
 */
void dat_fmr_queue(struct dat_lmr *lmr, const struct dat_ep *ep)
{
	struct dat_fmr *fmr = lmr->fmr;

	lockdep_assert_held(&ep->lock);
	spin_lock_bh(&lmr->lock);
	fmr_set_state(lmr, FMR_BOUND);
	fmr->pending = 1;
	fmr->ep = ep;
	spin_unlock_bh(&lmr->lock);
}

/* Undoes dat_fmr_queue(), because the entry could not be queued.  ep->lock is held. */
void dat_fmr_unqueue(struct dat_lmr *lmr)
{
	struct dat_fmr *fmr = lmr->fmr;

	spin_lock_bh(&lmr->lock);
	fmr_set_state(lmr, FMR_BINDING);
	fmr->pending = 0;
	fmr->ep = NULL;
	spin_unlock_bh(&lmr->lock);
}

/* Undoes dat_fmr_claim(), and dat_fmr_bind() if that was called.  The bind is in no queue. */
void dat_fmr_unclaim(struct dat_lmr *lmr)
{
	spin_lock_bh(&lmr->lock);
	fmr_release(lmr);
	spin_unlock_bh(&lmr->lock);
	dat_obj_unuse(&lmr->obj);
}

/*
 * Prepares to queue the entry of an invalidation.  If the entry cannot be queued, the caller calls
 * dat_fmr_end().  ep->lock is held.  Fails with -EINVAL if the LMR is not bound or the state of its
 * registration is unknown, with -EBUSY if the bind is in the queue of another EP, with -ENOENT if
 * the LMR is being freed.
 */
int dat_fmr_leave(struct dat_lmr *lmr, const struct dat_ep *ep)
{
	struct dat_fmr *fmr = lmr->fmr;
	int ret = dat_obj_use(&lmr->obj);

	lockdep_assert_held(&ep->lock);
	if (ret)
		return ret;
	spin_lock_bh(&lmr->lock);
	if (fmr->state != FMR_BOUND || fmr->broken) {
		ret = -EINVAL;
	} else if (fmr->ep && fmr->ep != ep) {
		ret = -EBUSY;
	} else {
		fmr_set_state(lmr, FMR_LEAVING);
		fmr->pending++;
	}
	spin_unlock_bh(&lmr->lock);
	if (ret)
		dat_obj_unuse_atomic(&lmr->obj);
	return ret;
}

/*
 * Returns the LMR of an FMR entry, or NULL for another entry.  The entry has a use of the LMR,
 * which keeps the LMR until dat_fmr_end().
 */
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

	lockdep_assert_held(&lmr->lock);
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

	lockdep_assert_held(&lmr->lock);
	/*
	 * If fmr->ep is set, the bind has not ended.  The device has then executed the invalidation
	 * before the bind, so the invalidation has invalidated nothing.
	 */
	if (reached && fmr->ep)
		fmr->broken = true;
	else if (good || (fmr->lost && !reached))
		fmr_release(lmr);
	else if (!reached && lmr->context)
		fmr_set_state(lmr, FMR_BOUND);
	else
		fmr->broken = true;
}

/*
 * Updates the LMR of an FMR entry that has completed or failed.  @op: enum dat_kop; @reached: the
 * entry has reached the device.  Context: any but hard interrupt.
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

/*
 * Builds the transport's request for the FMR request in ep->wr.  Fails with -EINVAL if ep->wr names
 * no LMR of the EP's protection zone.
 */
int dat_fmr_build(struct dat_conn *conn, union dat_send_wr *out)
{
	struct dat_lmr *lmr = dat_fmr_find(conn->ep->obj.ia, &conn->ep->wr);

	if (!lmr || READ_ONCE(lmr->pz) != conn->ep->pz)
		return -EINVAL;
	if (conn->ep->wr.op == DAT_KOP_LMR_INVALIDATE)
		dat_lmr_close(lmr);
	conn->dev->ops->lmr_build(lmr, conn->ep->wr.op, out);
	return 0;
}
