// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Remote memory regions (RMRs): rkeys for parts of an LMR, which the owner can bind and revoke.
 *
 * Each binding has a registration of its own, and takes effect in two steps.  First an ioctl or a
 * kernel call prepares the binding: the call pins the pages and chooses an rkey, which gives no
 * access yet.  Then an entry in a send queue carries out the binding: work requests end the
 * registration of the previous binding and register the memory.  The pump lets no request pass a
 * bind (see queue.c).  So earlier requests have used the old rkey, and later requests may carry the
 * new rkey.
 *
 * The second step runs for one binding of an RMR at a time (rmr->busy).  So at its end, the
 * previous binding has ended, and so have all bindings before that.
 *
 * A registration that a work request or a peer has ended gives no access, so the transport keeps it
 * for a later binding.  If the end of a registration is not certain, for example because the
 * connection has ended before the bind has completed, the registration is destroyed.
 *
 * If a part is too large to be registered by a work request, the first step registers the part.
 * The rkey then gives access before the second step.  The second step of the next binding destroys
 * the registration, which may sleep.
 */
#include <linux/rbtree.h>
#include <linux/slab.h>

#include "core/dat.h"
#include "core/face.h"
#include "core/mem/lmr.h"
#include "core/mem/rmr.h"
#include "core/trace.h"

/* Limit of prepared bindings of an RMR: no cgroup is charged for the registration of a binding. */
#define RMR_MAX_PREPARED	64

/*
 * Frees a binding, so that its rkey gives no access.  @b: NULL, or a binding that is in no list.
 * May sleep.
 */
static void binding_free(struct dat_binding *b)
{
	if (!b)
		return;
	b->pz->obj.ia->dev->ops->bind_exit(b);
	if (b->lmr && b->in_effect)
		dat_obj_unuse(&b->lmr->obj);
	if (b->lmr)
		dat_obj_put(&b->lmr->obj);
	dat_obj_put(&b->rmr->obj);
	kfree(b);
}

static void bindings_free(struct list_head *list)
{
	struct dat_binding *b, *next;

	list_for_each_entry_safe(b, next, list, node)
		binding_free(b);
}

/* Checks zone, range and privileges.  REMOTE_READ needs no check: all LMRs allow local reads. */
static int binding_check(const struct dat_rmr *rmr, const struct dat_lmr *lmr, u32 priv,
			 u64 addr, u64 length)
{
	if (READ_ONCE(lmr->pz) != rmr->pz)
		return -EXDEV;
	if (addr < lmr->start || length > lmr->length ||
	    addr - lmr->start > lmr->length - length)
		return -EINVAL;
	if (priv & DAT_PRIV_REMOTE_WRITE && !(lmr->priv & DAT_PRIV_LOCAL_WRITE))
		return -EPERM;
	return 0;
}

static int binding_make(struct dat_binding *b)
{
	struct dat_lmr *lmr = b->lmr;

	/* A binding of kernel memory pins no pages: keep the LMR from being freed instead. */
	if (!lmr->kind->pinned) {
		if (dat_obj_use(&lmr->obj))
			return -ENOENT;
		b->in_effect = true;
		/*
		 * The reserved LMR has no memory.  An FMR request may invalidate the memory of an
		 * LMR from dat_lmr_create_fmr().
		 */
		if (!lmr->mem || lmr->fmr)
			return -EOPNOTSUPP;
	}
	return lmr->obj.ia->dev->ops->bind_init(b);
}

/*
 * Adds a binding to rmr->prepared.  After a success an entry in a send queue may carry out and free
 * the binding.  Fails with -ENOENT if the RMR is shut down, with -ENOMEM if the RMR has
 * RMR_MAX_PREPARED bindings.
 */
static int rmr_prepare(struct dat_rmr *rmr, struct dat_binding *b, u32 *ticket)
{
	int ret = -ENOENT;

	spin_lock_bh(&rmr->lock);
	if (rmr->dead)
		goto out;
	ret = -ENOMEM;
	/* binding_drop() may have added bindings beyond the limit. */
	if (rmr->nprepared >= RMR_MAX_PREPARED)
		goto out;
	/* Skip 0, so that a queue entry with ticket 0 names no binding. */
	if (!++rmr->ticket)
		rmr->ticket++;
	*ticket = rmr->ticket;
	b->ticket = rmr->ticket;
	list_add_tail(&b->node, &rmr->prepared);
	rmr->nprepared++;
	ret = 0;
out:
	spin_unlock_bh(&rmr->lock);
	return ret;
}

/* Frees the bindings that rmr_forget() and binding_drop() have dropped.  May sleep. */
static void rmr_purge(struct dat_rmr *rmr)
{
	struct dat_binding *b, *next;
	LIST_HEAD(gone);

	spin_lock_bh(&rmr->lock);
	list_for_each_entry_safe(b, next, &rmr->prepared, node)
		if (!b->ticket) {
			list_move(&b->node, &gone);
			rmr->nprepared--;
		}
	spin_unlock_bh(&rmr->lock);
	bindings_free(&gone);
}

static void rmr_purge_work(struct work_struct *work)
{
	rmr_purge(container_of(work, struct dat_rmr, purge_work));
}

/*
 * Creates an RMR.  @user_data: value of dat_eqe.owner in events of the RMR's binds.  May sleep.
 * Fails with -ENOENT if the zone is being freed; with -ENOMEM, also if dat_locked_charge() refuses
 * the registration that the transport may keep; or with -ENODEV if the IA is shut down.
 */
struct dat_rmr *dat_rmr_create(struct dat_pz *pz, u64 user_data)
{
	struct dat_rmr *rmr = dat_obj_alloc(pz->obj.ia, DAT_OBJ_RMR, user_data);
	int ret;

	if (IS_ERR(rmr))
		return rmr;
	spin_lock_init(&rmr->lock);
	INIT_LIST_HEAD(&rmr->prepared);
	INIT_WORK(&rmr->purge_work, rmr_purge_work);
	ret = dat_obj_use(&pz->obj);
	if (ret)
		goto err_abort;
	rmr->pz = pz;
	/* No cgroup is charged for the registration that the transport keeps for the RMR. */
	if (!pz->obj.ia->face->kernel)
		ret = dat_locked_charge(&rmr->locked, DAT_LOCKED_RMR);
	if (ret)
		goto err_abort;
	ret = dat_obj_publish(&rmr->obj);
	if (ret)
		goto err_abort;
	return rmr;

err_abort:
	dat_obj_abort(&rmr->obj);
	return ERR_PTR(ret);
}

/**
 * dat_rmr_bind() - prepare a binding of an RMR
 * @rmr: remote memory region; the caller has a reference
 * @lmr: LMR to bind, in the same protection zone; NULL to unbind the RMR
 * @arg: parameters; the function reads priv, addr and length, and sets rmr_context and ticket
 *
 * Context: may sleep; pins pages of current->mm.
 *
 * Return: 0; -EXDEV if the LMR is in another protection zone; -EPERM if the LMR does not allow the
 * privileges; -EINVAL if the part exceeds the LMR; -ENOENT if the RMR or the LMR is being freed;
 * -EFAULT; -ENOMEM, also if the part has too many pages.  For kernel memory also -EINVAL if the
 * part has holes, and -EOPNOTSUPP if the LMR is the reserved one or comes from
 * dat_lmr_create_fmr(), if the device cannot register by work request, or if the DMA mapping has
 * made holes.
 */
int dat_rmr_bind(struct dat_rmr *rmr, struct dat_lmr *lmr, struct dat_rmr_bind *arg)
{
	struct dat_binding *b;
	int ret = 0;

	/* The use keeps @rmr and its protection zone from being freed. */
	if (dat_obj_use(&rmr->obj))
		return -ENOENT;
	/*
	 * Dropped bindings must not count against RMR_MAX_PREPARED, nor their pages against the
	 * limit of locked memory.  purge_work may be freeing some of them.
	 */
	cancel_work_sync(&rmr->purge_work);
	rmr_purge(rmr);
	b = kzalloc(rmr->obj.ia->dev->ops->binding_size, GFP_KERNEL_ACCOUNT);
	if (!b) {
		dat_obj_unuse(&rmr->obj);
		return -ENOMEM;
	}
	kref_get(&rmr->obj.ref);
	b->rmr = rmr;
	b->pz = rmr->pz;
	RB_CLEAR_NODE(&b->in_pz);
	if (lmr)
		ret = binding_check(rmr, lmr, arg->priv, arg->addr, arg->length);
	if (ret)
		goto err_free;
	b->lmr = lmr;
	if (lmr) {
		kref_get(&lmr->obj.ref);
		b->addr = arg->addr;
		b->length = arg->length;
		b->priv = arg->priv;
		ret = binding_make(b);
	}
	if (ret)
		goto err_free;
	arg->rmr_context = b->rkey;
	ret = rmr_prepare(rmr, b, &arg->ticket);
	if (ret)
		goto err_free;
	dat_obj_unuse(&rmr->obj);
	return 0;

err_free:
	binding_free(b);
	dat_obj_unuse(&rmr->obj);
	return ret;
}

static struct dat_binding *rmr_find(struct dat_rmr *rmr, u32 ticket)
{
	struct dat_binding *b;

	lockdep_assert_held(&rmr->lock);
	/* Ticket 0 marks a dropped binding, which must not be found. */
	if (!ticket)
		return NULL;
	list_for_each_entry(b, &rmr->prepared, node)
		if (b->ticket == ticket)
			return b;
	return NULL;
}

/* Drops a prepared binding.  A free may sleep, so purge_work frees the binding later. */
static void rmr_forget(struct dat_rmr *rmr, struct dat_binding *b)
{
	lockdep_assert_held(&rmr->lock);
	b->ticket = 0;
	queue_work(dat_wq, &rmr->purge_work);
}

/* Takes a use of the binding's LMR.  Returns false if the LMR was freed after the preparation. */
static bool binding_begin(struct dat_binding *b)
{
	if (b->lmr && !b->in_effect)
		b->in_effect = !dat_obj_use(&b->lmr->obj);
	return b->in_effect || !b->lmr;
}

/* Returns true if a work request or a peer can end a registration for good. */
static bool rmr_can_invalidate(const struct dat_rmr *rmr)
{
	return !(rmr->obj.ia->dev->quirks & DAT_QUIRK_NO_INVALIDATE);
}

/* Chooses how @b ends the binding in effect, if that may give access. */
static void binding_replaces(struct dat_binding *b, const struct dat_binding *old)
{
	lockdep_assert_held(&b->rmr->lock);
	if (!old || !old->live)
		return;
	if (old->by_request && rmr_can_invalidate(b->rmr))
		b->ends = old->rkey;
	else
		b->sleeps = true;
}

/*
 * Returns true if a binding other than @ticket waits for the end of the one that was taken: its EP
 * looks again later, and another EP that binds all the time must not be first each time.
 */
static bool rmr_awaited(struct dat_rmr *rmr, u32 ticket)
{
	lockdep_assert_held(&rmr->lock);
	return rmr->waiter && rmr->waiter != ticket && rmr_find(rmr, rmr->waiter);
}

/*
 * Takes the prepared binding that a queue entry names.  @pz: protection zone of the EP to whose
 * queue the entry was posted.  The caller owns the binding and then calls dat_rmr_abandon(), unless
 * dat_rmr_carry_out() succeeds.  Until then, the caller keeps @pz from being freed, and no other
 * binding of the RMR takes effect.  Context: any but hard interrupt.  Fails with -ENOENT if there
 * is no such binding, or if the LMR of the binding was freed; with -EBUSY if another binding of the
 * RMR was taken and has not ended.
 */
struct dat_binding *dat_rmr_take(struct dat_rmr *rmr, const struct dat_pz *pz, u32 ticket)
{
	struct dat_binding *b = NULL;

	spin_lock_bh(&rmr->lock);
	if (!rmr->dead && rmr->pz == pz)
		b = rmr_find(rmr, ticket);
	if (!b) {
		b = ERR_PTR(-ENOENT);
	} else if (rmr->busy || rmr_awaited(rmr, ticket)) {
		if (!rmr_awaited(rmr, ticket))
			rmr->waiter = ticket;
		b = ERR_PTR(-EBUSY);
	} else if (!binding_begin(b)) {
		rmr_forget(rmr, b);
		b = ERR_PTR(-ENOENT);
	} else {
		list_del(&b->node);
		rmr->nprepared--;
		rmr->busy = true;
		rmr->waiter = 0;
		binding_replaces(b, rmr->bound);
	}
	spin_unlock_bh(&rmr->lock);
	return b;
}

static int binding_compare_key(const void *key, const struct rb_node *node)
{
	const struct dat_binding *b = rb_entry(node, struct dat_binding, in_pz);
	u32 rkey = *(const u32 *)key;

	return rkey < b->rkey ? -1 : rkey > b->rkey;
}

static int binding_compare(struct rb_node *node, const struct rb_node *other)
{
	return binding_compare_key(&rb_entry(node, struct dat_binding, in_pz)->rkey, other);
}

static struct dat_binding *window_find(struct dat_pz *pz, u32 rkey)
{
	struct rb_node *node;

	lockdep_assert_held(&pz->rmr_lock);
	node = rb_find(&rkey, &pz->windows, binding_compare_key);
	return node ? rb_entry(node, struct dat_binding, in_pz) : NULL;
}

/*
 * Makes @b the binding in effect, or none if @b is NULL.  Returns the previous binding.
 * pz->rmr_lock and rmr->lock are held; a reader of rmr->bound needs only one of the two locks.
 */
static struct dat_binding *rmr_exchange(struct dat_rmr *rmr, struct dat_pz *pz,
					struct dat_binding *b)
{
	struct dat_binding *old = rmr->bound;

	lockdep_assert_held(&pz->rmr_lock);
	lockdep_assert_held(&rmr->lock);
	if (old && !RB_EMPTY_NODE(&old->in_pz)) {
		rb_erase(&old->in_pz, &pz->windows);
		RB_CLEAR_NODE(&old->in_pz);
	}
	if (b && b->rkey)
		rb_find_add(&b->in_pz, &pz->windows, binding_compare);
	rmr->bound = b;
	return old;
}

/*
 * Drops a binding that is not in effect any more.  If the rkey gives no access, the use of the LMR
 * ends at once, and rmr_purge() frees the rest later.  dat_obj_unuse() does not sleep here, because
 * the binding keeps a reference to the LMR.  If the binding also pins no pages, the next bind frees
 * it, and its registration serves that bind.  If the device may still give access, purge_work
 * destroys the registration and then ends the use of the LMR.
 */
static void binding_drop(struct dat_rmr *rmr, struct dat_binding *b)
{
	lockdep_assert_held(&rmr->lock);
	list_add_tail(&b->node, &rmr->prepared);
	rmr->nprepared++;
	b->ticket = 0;
	if (b->live || (b->lmr && b->lmr->kind->pinned))
		queue_work(dat_wq, &rmr->purge_work);
	if (b->live)
		return;
	if (b->in_effect)
		dat_obj_unuse(&b->lmr->obj);
	b->in_effect = false;
}

/* Ends the binding in effect, if any, and destroys its registration.  May sleep. */
static void rmr_unbind(struct dat_rmr *rmr, struct dat_pz *pz)
{
	struct dat_binding *old;

	spin_lock_bh(&pz->rmr_lock);
	spin_lock(&rmr->lock);
	old = rmr_exchange(rmr, pz, NULL);
	spin_unlock(&rmr->lock);
	spin_unlock_bh(&pz->rmr_lock);
	binding_free(old);
}

/*
 * Ends the previous binding and destroys its registration, if the work requests of @b have not
 * ended that registration.  @b: binding from dat_rmr_take(), whose work requests have completed.
 * May sleep.
 */
void dat_rmr_end_old(struct dat_binding *b)
{
	if (b->sleeps)
		rmr_unbind(b->rmr, b->pz);
	b->sleeps = false;
}

/**
 * dat_rmr_carry_out() - put a registered binding into effect
 * @b: binding from dat_rmr_take(), whose work requests have completed without an error; @b->sleeps
 *	is not set
 *
 * After a success the RMR owns @b, and the rkeys of earlier bindings give no access.
 *
 * Context: any but hard interrupt.  Return: DAT_ST_SUCCESS; DAT_ST_RMR_FAILED if the RMR is shut
 * down.
 */
u8 dat_rmr_carry_out(struct dat_binding *b)
{
	struct dat_rmr *rmr = b->rmr;
	struct dat_binding *old;
	struct dat_pz *pz = b->pz;
	bool dead;

	spin_lock_bh(&pz->rmr_lock);
	spin_lock(&rmr->lock);
	dead = rmr->dead;
	if (!dead) {
		old = rmr_exchange(rmr, pz, b);
		if (old) {
			old->live = false;
			binding_drop(rmr, old);
		}
		rmr->busy = false;
	}
	spin_unlock(&rmr->lock);
	spin_unlock_bh(&pz->rmr_lock);
	return dead ? DAT_ST_RMR_FAILED : DAT_ST_SUCCESS;
}

/*
 * Frees a binding from dat_rmr_take() that does not take effect.  @b: NULL or a binding; its work
 * requests are not in flight.  If the work requests may have ended the registration of the binding
 * in effect, unbinds the RMR.  May sleep.
 */
void dat_rmr_abandon(struct dat_binding *b)
{
	struct dat_rmr *rmr;

	if (!b)
		return;
	rmr = b->rmr;
	kref_get(&rmr->obj.ref);
	if (b->ends)
		rmr_unbind(rmr, b->pz);
	binding_free(b);
	spin_lock_bh(&rmr->lock);
	rmr->busy = false;
	spin_unlock_bh(&rmr->lock);
	dat_obj_put(&rmr->obj);
}

/*
 * Drops a prepared binding that no queue entry will carry out; purge_work ends its registration
 * later.  Context: any but hard interrupt.
 */
void dat_rmr_forget(struct dat_rmr *rmr, u32 ticket)
{
	struct dat_binding *b;

	spin_lock_bh(&rmr->lock);
	b = rmr_find(rmr, ticket);
	if (b)
		rmr_forget(rmr, b);
	spin_unlock_bh(&rmr->lock);
}

/* Ends a binding whose rkey the device has invalidated.  pz->rmr_lock is held. */
static void window_drop(struct dat_pz *pz, struct dat_binding *b)
{
	struct dat_rmr *rmr = b->rmr;

	lockdep_assert_held(&pz->rmr_lock);
	spin_lock(&rmr->lock);
	rmr_exchange(rmr, pz, NULL);
	if (rmr_can_invalidate(rmr))
		b->live = false;
	binding_drop(rmr, b);
	spin_unlock(&rmr->lock);
}

/*
 * Ends the binding whose rkey a peer has invalidated.  Context: any but hard interrupt.  Returns
 * false if no binding in effect in @pz has this rkey.
 */
bool dat_rmr_invalidated(struct dat_pz *pz, u32 rkey)
{
	struct dat_binding *b;

	spin_lock_bh(&pz->rmr_lock);
	b = window_find(pz, rkey);
	if (b)
		window_drop(pz, b);
	spin_unlock_bh(&pz->rmr_lock);
	return b;
}

static int window_sge(const struct dat_binding *b, const struct dat_sge *seg, struct ib_sge *out)
{
	/*
	 * An RDMA read writes with the lkey of the binding, whose registration allows local write
	 * only if the binding allows remote write.
	 */
	if (!(b->priv & DAT_PRIV_REMOTE_WRITE))
		return -EACCES;
	if (seg->len > b->length || seg->addr - b->addr > b->length - seg->len)
		return -ERANGE;
	*out = (struct ib_sge) { .addr = seg->addr, .length = seg->len, .lkey = b->lkey };
	return 0;
}

/*
 * Converts a segment in a bound RMR to the SGE of an RDMA read; seg->lmr is the rkey of the RMR.
 * Context: any but hard interrupt.  Fails with -EACCES if no binding in effect in @pz has the rkey,
 * or if the binding allows no remote write; with -ERANGE if the segment exceeds the binding.
 */
int dat_rmr_to_sge(struct dat_pz *pz, const struct dat_sge *seg, struct ib_sge *out)
{
	const struct dat_binding *b;
	int ret;

	spin_lock_bh(&pz->rmr_lock);
	b = window_find(pz, seg->lmr);
	ret = b ? window_sge(b, seg, out) : -EACCES;
	spin_unlock_bh(&pz->rmr_lock);
	return ret;
}

/* Reads the binding in effect.  Context: any but hard interrupt. */
void dat_rmr_query(struct dat_rmr *rmr, struct dat_rmr_state *state)
{
	const struct dat_binding *b;

	*state = (struct dat_rmr_state) {};
	spin_lock_bh(&rmr->lock);
	b = rmr->bound;
	if (b && b->lmr)
		*state = (struct dat_rmr_state) {
			.context = b->lmr->context, .addr = b->addr, .length = b->length,
			.priv = b->priv, .rkey = b->rkey,
		};
	spin_unlock_bh(&rmr->lock);
}

static void rmr_shutdown(struct dat_obj *obj)
{
	struct dat_rmr *rmr = to_dat_rmr(obj);
	struct dat_pz *pz = rmr->pz;
	struct dat_binding *bound;
	LIST_HEAD(all);

	if (!pz)
		return;
	spin_lock_bh(&pz->rmr_lock);
	spin_lock(&rmr->lock);
	rmr->dead = true;
	list_splice_init(&rmr->prepared, &all);
	bound = rmr_exchange(rmr, pz, NULL);
	spin_unlock(&rmr->lock);
	spin_unlock_bh(&pz->rmr_lock);
	/* rmr->prepared is empty and rmr->dead is set, so purge_work cannot be queued again. */
	cancel_work_sync(&rmr->purge_work);
	bindings_free(&all);
	binding_free(bound);
	pz->obj.ia->dev->ops->rmr_exit(rmr);
	dat_locked_uncharge(&rmr->locked);
	rmr->pz = NULL;
	dat_obj_unuse(&pz->obj);
}

static void rmr_show(struct seq_file *m, struct dat_obj *obj)
{
	struct dat_rmr *rmr = to_dat_rmr(obj);

	spin_lock_bh(&rmr->lock);
	seq_printf(m, " lmr=%u ticket=%u",
		   rmr->bound && rmr->bound->lmr ? rmr->bound->lmr->obj.id : 0, rmr->ticket);
	spin_unlock_bh(&rmr->lock);
}

const struct dat_obj_ops dat_rmr_ops = {
	.name		= "rmr",
	.size		= sizeof(struct dat_rmr),
	.charge		= true,
	.shutdown	= rmr_shutdown,
	.show		= rmr_show,
};
