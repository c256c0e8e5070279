// SPDX-License-Identifier: GPL-2.0
/*
 * Registered memory, and the resolution of segments to what verbs take.
 *
 * A kernel QP believes every lkey and every address it is given, so this is the
 * security boundary: user space never sees an lkey, and a segment reaches a QP
 * only after its lmr_context, zone, rights and range have been checked here.
 *
 * lmr_context is an index (low bits, dense, so that the lookup tree stays flat)
 * and a generation (high bits), so that a freed one is not good again soon.
 */
#include <linux/overflow.h>

#include "dat.h"

#define LMR_INDEX_BITS	20
#define LMR_INDEX_MASK	((1U << LMR_INDEX_BITS) - 1)
#define LMR_LIMIT	XA_LIMIT(1, LMR_INDEX_MASK)

static int lmr_access(u32 priv)
{
	int access = 0;

	if (priv & DAT_PRIV_LOCAL_WRITE)
		access |= IB_ACCESS_LOCAL_WRITE;
	if (priv & DAT_PRIV_REMOTE_READ)
		access |= IB_ACCESS_REMOTE_READ;
	/* Verbs want local write along; dat_lmr_resolve() still denies it. */
	if (priv & DAT_PRIV_REMOTE_WRITE)
		access |= IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE;
	return access;
}

/* Reserve an index and compose the context; -ENOMEM or -EBUSY if there is none. */
static int lmr_context_alloc(struct dat_lmr *lmr)
{
	struct dat_ia *ia = lmr->obj.ia;
	u32 index;
	int ret;

	ret = xa_alloc(&ia->lmrs, &index, XA_ZERO_ENTRY, LMR_LIMIT, GFP_KERNEL_ACCOUNT);
	if (ret)
		return -ENOMEM;
	xa_lock(&ia->lmrs);
	lmr->context = index | ia->lmr_gen++ << LMR_INDEX_BITS;
	xa_unlock(&ia->lmrs);
	return 0;
}

static int lmr_register(struct dat_lmr *lmr)
{
	struct ib_mr *mr;

	mr = ib_reg_user_mr(lmr->pz->pd, lmr->start, lmr->length, lmr->start,
			    lmr_access(lmr->priv));
	if (IS_ERR(mr))
		/* -EPERM: no CAP_IPC_LOCK and RLIMIT_MEMLOCK is 0. */
		return PTR_ERR(mr) == -EPERM ? -ENOMEM : PTR_ERR(mr);
	lmr->mr = mr;
	lmr->lkey = mr->lkey;
	lmr->rkey = mr->rkey;
	return 0;
}

static int lmr_name(struct dat_lmr *lmr, const u8 *cookie)
{
	struct dat_share *share;

	if (!cookie)
		return 0;
	share = dat_share_get(lmr->obj.ia, lmr->start, lmr->length, cookie);
	if (IS_ERR(share))
		return PTR_ERR(share);
	lmr->share = share;
	return 0;
}

/**
 * dat_lmr_create() - register memory of the current process
 * @pz: protection zone
 * @start: first byte
 * @length: bytes, not 0
 * @priv: DAT_PRIV_*
 * @cookie: DAT_LMR_COOKIE bytes that name shared memory, or NULL
 *
 * Context: may sleep; pins pages of current->mm.  Return: the LMR with a reference, or an ERR_PTR:
 * -EFAULT no such memory, or it can't be written; -ENOMEM also RLIMIT_MEMLOCK; -EEXIST
 * the memory is not what the cookie stands for.
 */
struct dat_lmr *dat_lmr_create(struct dat_pz *pz, u64 start, u64 length, u32 priv,
			       const u8 *cookie)
{
	struct dat_ia *ia = pz->obj.ia;
	struct dat_lmr *lmr;
	int ret;

	lmr = dat_obj_alloc(ia, DAT_OBJ_LMR, 0);
	if (IS_ERR(lmr))
		return lmr;
	ret = dat_obj_use(&pz->obj);
	if (ret)
		goto err_abort;
	lmr->pz = pz;
	lmr->start = start;
	lmr->length = length;
	lmr->priv = priv;
	ret = lmr_name(lmr, cookie);
	if (ret)
		goto err_abort;
	ret = lmr_register(lmr);
	if (ret)
		goto err_abort;
	ret = lmr_context_alloc(lmr);
	if (ret)
		goto err_abort;
	xa_store(&ia->lmrs, lmr->context & LMR_INDEX_MASK, lmr, GFP_KERNEL_ACCOUNT);
	ret = dat_obj_publish(&lmr->obj);
	if (ret)
		goto err_abort;
	return lmr;

err_abort:
	dat_obj_abort(&lmr->obj);
	return ERR_PTR(ret);
}

static void lmr_shutdown(struct dat_obj *obj)
{
	struct dat_lmr *lmr = to_dat_lmr(obj);
	struct ib_mr *mr = xchg(&lmr->mr, NULL);

	if (lmr->context)
		xa_erase(&obj->ia->lmrs, lmr->context & LMR_INDEX_MASK);
	lmr->context = 0;
	if (mr)
		ib_dereg_mr(mr);
	if (lmr->share)
		dat_share_put(lmr->share);
	lmr->share = NULL;
	if (lmr->pz)
		dat_obj_unuse(&lmr->pz->obj);
	lmr->pz = NULL;
}

static void lmr_release(struct dat_obj *obj)
{
}

static bool lmr_covers(const struct dat_lmr *lmr, const struct dat_sge *sge)
{
	u64 end, lmr_end;

	if (check_add_overflow(sge->addr, (u64)sge->len, &end) ||
	    check_add_overflow(lmr->start, lmr->length, &lmr_end))
		return false;
	return sge->addr >= lmr->start && end <= lmr_end;
}

/**
 * dat_lmr_resolve() - turn a segment into what a QP takes
 * @pz: protection zone of the endpoint or SRQ
 * @in: segment in private memory, of a length not 0
 * @write: the memory will be written
 * @out: result
 *
 * Local read is not asked for: programs in the field send from memory that they
 * registered for local write alone.
 *
 * Context: any.  Return: 0, or -EACCES.
 */
int dat_lmr_resolve(struct dat_pz *pz, const struct dat_sge *in, bool write,
		    struct ib_sge *out)
{
	struct dat_lmr *lmr;
	int ret = -EACCES;

	rcu_read_lock();
	lmr = xa_load(&pz->obj.ia->lmrs, in->lmr & LMR_INDEX_MASK);
	if (lmr && READ_ONCE(lmr->context) == in->lmr && READ_ONCE(lmr->pz) == pz &&
	    lmr_covers(lmr, in) && (!write || lmr->priv & DAT_PRIV_LOCAL_WRITE)) {
		out->addr = in->addr;
		out->length = in->len;
		out->lkey = lmr->lkey;
		ret = 0;
	}
	rcu_read_unlock();
	return ret;
}

static void lmr_show(struct seq_file *m, struct dat_obj *obj)
{
	struct dat_lmr *lmr = to_dat_lmr(obj);

	seq_printf(m, " context=%#x length=%llu priv=%#x", lmr->context, lmr->length,
		   lmr->priv);
}

const struct dat_obj_ops dat_lmr_ops = {
	.name		= "lmr",
	.size		= sizeof(struct dat_lmr),
	.charge		= true,
	.shutdown	= lmr_shutdown,
	.release	= lmr_release,
	.show		= lmr_show,
};
