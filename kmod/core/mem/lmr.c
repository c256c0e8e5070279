// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Local memory regions (LMRs), and the lookup of the LMR that a segment names.
 *
 * The checks of a segment are a security boundary, because a kernel QP accepts any lkey and any
 * address.  User space never gets an lkey.  A segment that names an LMR is posted to a QP only
 * after resolve() in wr.c has checked its lmr_context, protection zone, rights and range.
 *
 * The low bits of an lmr_context are the index of the LMR in ia->lmrs.  The high bits are a
 * generation number, so that the lmr_context of a freed LMR does not match a new LMR with the same
 * index before the generation wraps.
 */
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "core/dat.h"
#include "core/mem/lmr.h"
#include "core/mem/watch.h"

#define LMR_TABLE_MIN	16

static struct dat_lmr_table *lmr_table(struct dat_ia *ia)
{
	return rcu_dereference_protected(ia->lmrs, lockdep_is_held(&ia->lmr_lock));
}

static bool lmr_table_has(struct dat_ia *ia, u32 index)
{
	struct dat_lmr_table *table = lmr_table(ia);

	return table && index < table->size;
}

/*
 * Grows ia->lmrs until the table has an entry for @index.  The table never shrinks.  It may have
 * 8 MiB, so the lock under which it is copied is a mutex.  The new table is allocated before, so
 * that a call which needs the lock only for an entry does not wait for the allocation.
 */
static int lmr_table_grow(struct dat_ia *ia, u32 index)
{
	u32 size = max_t(u32, roundup_pow_of_two(index + 1), LMR_TABLE_MIN);
	struct dat_lmr_table *table, *old;

	table = kvzalloc(struct_size(table, lmr, size), GFP_KERNEL_ACCOUNT);
	if (!table)
		return -ENOMEM;
	table->size = size;
	mutex_lock(&ia->lmr_lock);
	old = lmr_table(ia);
	if (lmr_table_has(ia, index)) {
		/* Another thread has grown the table meanwhile. */
		old = table;
	} else {
		if (old)
			memcpy(table->lmr, old->lmr, old->size * sizeof(old->lmr[0]));
		rcu_assign_pointer(ia->lmrs, table);
	}
	mutex_unlock(&ia->lmr_lock);
	if (old)
		kvfree_rcu(old, rcu);
	return 0;
}

void dat_lmr_init_ia(struct dat_ia *ia)
{
	mutex_init(&ia->lmr_lock);
	ida_init(&ia->lmr_ids);
}

/* Frees the table of LMRs.  The last reference to the IA has been dropped, so no lock is needed. */
void dat_lmr_release_ia(struct dat_ia *ia)
{
	kvfree(rcu_dereference_protected(ia->lmrs, true));
	ida_destroy(&ia->lmr_ids);
}

static int lmr_alloc_index(struct dat_lmr *lmr)
{
	struct dat_ia *ia = lmr->obj.ia;
	int index, ret = 0;
	bool room;

	index = ida_alloc_range(&ia->lmr_ids, 1, DAT_LMR_INDEX_MASK, GFP_KERNEL_ACCOUNT);
	if (index < 0)
		return -ENOMEM;
	mutex_lock(&ia->lmr_lock);
	room = lmr_table_has(ia, index);
	mutex_unlock(&ia->lmr_lock);
	if (!room)
		ret = lmr_table_grow(ia, index);
	if (ret) {
		ida_free(&ia->lmr_ids, index);
		return ret;
	}
	mutex_lock(&ia->lmr_lock);
	rcu_assign_pointer(lmr_table(ia)->lmr[index], lmr);
	mutex_unlock(&ia->lmr_lock);
	lmr->index = index;
	return 0;
}

static void lmr_free_index(struct dat_lmr *lmr)
{
	struct dat_ia *ia = lmr->obj.ia;

	if (!lmr->index)
		return;
	mutex_lock(&ia->lmr_lock);
	RCU_INIT_POINTER(lmr_table(ia)->lmr[lmr->index], NULL);
	mutex_unlock(&ia->lmr_lock);
	ida_free(&ia->lmr_ids, lmr->index);
	lmr->index = 0;
}

/* Makes an LMR valid by a new lmr_context.  The range and the keys must be set.  Context: any. */
void dat_lmr_open(struct dat_lmr *lmr)
{
	u32 gen = atomic_inc_return(&lmr->obj.ia->lmr_gen);

	/* Release: publishes the range and the keys.  Pairs with the acquire in dat_lmr_find(). */
	smp_store_release(&lmr->context, lmr->index | gen << DAT_LMR_INDEX_BITS);
}

/* Makes an LMR invalid.  A thread that has found the LMR may still use the range and the keys. */
void dat_lmr_close(struct dat_lmr *lmr)
{
	WRITE_ONCE(lmr->context, 0);
}

/*
 * Makes an LMR.  If param->length is 0, the LMR is invalid, so its lmr_context is 0.  @pz is NULL
 * for the reserved LMR, which is valid in all zones.  May sleep.  Returns the LMR with a reference.
 * Fails with -ENOENT if the zone is being freed, with -ENODEV if the IA is shut down, with -ENOMEM,
 * or with an error of param->kind->attach().
 */
struct dat_lmr *dat_lmr_make(struct dat_ia *ia, struct dat_pz *pz,
			     const struct dat_lmr_param *param)
{
	struct dat_lmr *lmr;
	int ret;

	lmr = dat_obj_alloc(ia, DAT_OBJ_LMR, param->user_data);
	if (IS_ERR(lmr))
		return lmr;
	spin_lock_init(&lmr->lock);
	lmr->kind = param->kind;
	lmr->start = param->start;
	lmr->length = param->length;
	lmr->priv = param->priv;
	ret = pz ? dat_obj_use(&pz->obj) : 0;
	if (ret)
		goto err_abort;
	lmr->pz = pz;
	ret = lmr->kind->attach(lmr, param->arg);
	if (ret)
		goto err_abort;
	ret = lmr_alloc_index(lmr);
	if (ret)
		goto err_abort;
	if (lmr->length)
		dat_lmr_open(lmr);
	ret = dat_obj_publish(&lmr->obj);
	if (ret)
		goto err_abort;
	return lmr;

err_abort:
	dat_obj_abort(&lmr->obj);
	return ERR_PTR(ret);
}

static int user_attach(struct dat_lmr *lmr, const void *arg)
{
	const struct dat_lmr_user *user = arg;
	struct dat_share *share;
	int ret;

	if (user->cookie) {
		share = dat_share_get(lmr->obj.ia, lmr->start, lmr->length, user->cookie);
		if (IS_ERR(share))
			return PTR_ERR(share);
		lmr->share = share;
	}
	/* Before the pages are pinned, so that no change of the memory is missed. */
	if (user->watched) {
		ret = dat_watch_begin(lmr);
		if (ret)
			return ret;
	}
	return lmr->obj.ia->dev->ops->lmr_user(lmr);
}

static void user_detach(struct dat_lmr *lmr)
{
	dat_watch_end(lmr);
	lmr->obj.ia->dev->ops->lmr_exit(lmr);
	if (lmr->share)
		dat_share_put(lmr->share);
	lmr->share = NULL;
}

static const struct dat_lmr_kind user_kind = {
	.name	= "user",
	.attach	= user_attach,
	.detach	= user_detach,
	.pinned	= true,
};

/**
 * dat_lmr_create() - register memory of the current process, and pin its pages
 * @pz: protection zone
 * @start: address of the first byte
 * @length: bytes, not 0
 * @priv: DAT_PRIV_* bits
 * @user: options
 *
 * Context: between dat_ia_pin_begin() and dat_ia_pin_end(); may sleep.  Return: the LMR with a
 * reference, or an ERR_PTR: -EFAULT if a page is not mapped, or is read-only although @priv allows
 * writes; -ENOMEM, also if the pages exceed RLIMIT_MEMLOCK; -EEXIST if dat_share_get() refuses the
 * cookie; -ENOENT if the zone is being freed; -ENODEV if the IA is closing; or another error of
 * ops->lmr_user().  If memory is registered by work request, that may be -EINTR after a fatal
 * signal, or -ENETUNREACH or -EIO as for ops->lmr_kernel().
 */
struct dat_lmr *dat_lmr_create(struct dat_pz *pz, u64 start, u64 length, u32 priv,
			       const struct dat_lmr_user *user)
{
	struct dat_lmr_param param = {
		.kind = &user_kind, .start = start, .length = length, .priv = priv,
		.arg = user,
	};

	return dat_lmr_make(pz->obj.ia, pz, &param);
}

/* Registers nothing: pz->dma_key gives access to all DMA addresses; see resolve() in wr.c. */
static int reserved_attach(struct dat_lmr *lmr, const void *arg)
{
	return 0;
}

static void reserved_detach(struct dat_lmr *lmr)
{
}

const struct dat_lmr_kind dat_lmr_reserved_kind = {
	.name	= "reserved",
	.attach	= reserved_attach,
	.detach	= reserved_detach,
};

/*
 * Makes the reserved LMR, which covers all DMA addresses.  @ia belongs to a kernel consumer, whose
 * addresses are trusted.  May sleep.
 */
struct dat_lmr *dat_lmr_create_reserved(struct dat_ia *ia, u64 user_data)
{
	struct dat_lmr_param param = {
		.kind = &dat_lmr_reserved_kind, .length = U64_MAX, .user_data = user_data,
		.priv = DAT_PRIV_LOCAL_READ | DAT_PRIV_LOCAL_WRITE,
	};

	return dat_lmr_make(ia, NULL, &param);
}

static void lmr_shutdown(struct dat_obj *obj)
{
	struct dat_lmr *lmr = to_dat_lmr(obj);

	dat_lmr_close(lmr);
	lmr_free_index(lmr);
	lmr->kind->detach(lmr);
	if (lmr->pz)
		dat_obj_unuse(&lmr->pz->obj);
	WRITE_ONCE(lmr->pz, NULL); /* readers compare lmr->pz without a lock */
}

static void lmr_release(struct dat_obj *obj)
{
	struct dat_lmr *lmr = to_dat_lmr(obj);

	if (lmr->kind->free)
		lmr->kind->free(lmr);
	if (lmr->chunks)
		kvfree_rcu(lmr->chunks, rcu);
}

/*
 * Syncs the caches for kernel memory.  With @for_cpu, makes writes of the device visible to the
 * CPU; otherwise makes writes of the CPU visible to the device.  The caller keeps @ia from being
 * freed.  The device may be removed meanwhile: the removal clears lmr->mem under lmr->lock.
 * Context: any but hard interrupt.  Fails with -EACCES if @seg names no valid LMR or exceeds the
 * range of the LMR.
 */
int dat_lmr_sync(struct dat_ia *ia, const struct dat_sge *seg, bool for_cpu)
{
	struct dat_lmr *lmr;
	int ret = -EACCES;

	rcu_read_lock();
	lmr = dat_lmr_find(ia, seg->lmr);
	if (!lmr || !dat_lmr_covers(lmr, seg->addr, seg->len))
		goto out;
	ret = 0;
	spin_lock_bh(&lmr->lock);
	if (lmr->mem)
		ia->dev->ops->mem_sync(ia->dev, lmr->mem, seg->addr - lmr->start, seg->len,
				       for_cpu);
	spin_unlock_bh(&lmr->lock);
out:
	rcu_read_unlock();
	return ret;
}

static void lmr_show(struct seq_file *m, struct dat_obj *obj)
{
	struct dat_lmr *lmr = to_dat_lmr(obj);

	seq_printf(m, " context=%#x length=%llu priv=%#x kind=%s", lmr->context, lmr->length,
		   lmr->priv, lmr->kind->name);
}

const struct dat_obj_ops dat_lmr_ops = {
	.name		= "lmr",
	.size		= sizeof(struct dat_lmr),
	.charge		= true,
	.shutdown	= lmr_shutdown,
	.release	= lmr_release,
	.show		= lmr_show,
};
