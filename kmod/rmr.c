// SPDX-License-Identifier: GPL-2.0
/*
 * Remote memory regions: keys for parts of an LMR that can be given and taken.
 *
 * Each binding is a registration of its own, made while the process is there to have its
 * pages pinned.  It begins, and the one before it ends, when its entry has its turn in a
 * send queue: the pump lets nothing pass a bind (see queue.c), so what follows it may
 * carry the new key, and what came before it has used the old one.
 */
#include <linux/slab.h>

#include "dat.h"
#include "trace.h"

/* Each is a registration, of which only the RMR is charged for. */
#define RMR_MAX_PREPARED	64

/**
 * struct dat_binding - what an RMR is bound to, or will be
 * @node: in rmr->prepared
 * @ticket: names it in the entry that carries it out; 0: there will be none
 * @lmr: reference held, and once it is in effect a use; NULL: unbound
 * @in_effect: @lmr can't be freed
 * @mr: the registration, or NULL
 */
struct dat_binding {
	struct list_head	node;
	u32			ticket;
	struct dat_lmr		*lmr;
	bool			in_effect;
	struct ib_mr		*mr;
};

static void binding_free(struct dat_binding *b)
{
	if (!b)
		return;
	if (b->mr)
		ib_dereg_mr(b->mr);
	if (b->lmr && b->in_effect)
		dat_obj_unuse(&b->lmr->obj);
	if (b->lmr)
		dat_obj_put(&b->lmr->obj);
	kfree(b);
}

static void bindings_free(struct list_head *list)
{
	struct dat_binding *b, *next;

	list_for_each_entry_safe(b, next, list, node)
		binding_free(b);
}

static int binding_access(u32 priv)
{
	int access = 0;

	if (priv & DAT_PRIV_REMOTE_READ)
		access |= IB_ACCESS_REMOTE_READ;
	/* Verbs want local write along; nobody has the lkey. */
	if (priv & DAT_PRIV_REMOTE_WRITE)
		access |= IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE;
	return access;
}

/* Local read isn't asked for, as it isn't for sends. */
static int binding_check(const struct dat_rmr *rmr, const struct dat_lmr *lmr, u32 priv,
			 u64 addr, u64 length)
{
	if (lmr->pz != rmr->pz)
		return -EXDEV;
	if (addr < lmr->start || length > lmr->length ||
	    addr - lmr->start > lmr->length - length)
		return -EINVAL;
	if (priv & DAT_PRIV_REMOTE_WRITE && !(lmr->priv & DAT_PRIV_LOCAL_WRITE))
		return -EPERM;
	return 0;
}

static int binding_register(struct dat_binding *b, struct dat_pz *pz, u32 priv, u64 addr,
			    u64 length)
{
	struct ib_mr *mr = ib_reg_user_mr(pz->pd, addr, length, addr, binding_access(priv));

	if (IS_ERR(mr))
		/* -EPERM: no CAP_IPC_LOCK and RLIMIT_MEMLOCK is 0. */
		return PTR_ERR(mr) == -EPERM ? -ENOMEM : PTR_ERR(mr);
	b->mr = mr;
	return 0;
}

/*
 * Queue it for the entry to come; from then on it may be carried out and freed.  -ENOENT:
 * the RMR is shut down; -ENOMEM: too many wait already.
 */
static int rmr_prepare(struct dat_rmr *rmr, struct dat_binding *b, u32 *ticket)
{
	int ret = -ENOENT;

	spin_lock_bh(&rmr->lock);
	if (rmr->dead)
		goto out;
	ret = -ENOMEM;
	if (rmr->nprepared == RMR_MAX_PREPARED)
		goto out;
	/* 0 is what an entry of zeros says. */
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

/* Let go of what was forgotten where that was not possible. */
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

/**
 * dat_rmr_create() - make a remote memory region
 * @pz: protection zone
 * @user_data: owner value of its bind events
 *
 * Context: may sleep.  Return: the RMR with a reference, or an ERR_PTR.
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
	ret = dat_obj_publish(&rmr->obj);
	if (ret)
		goto err_abort;
	return rmr;

err_abort:
	dat_obj_abort(&rmr->obj);
	return ERR_PTR(ret);
}

/**
 * dat_rmr_bind() - prepare a binding
 * @rmr: region; can't be freed meanwhile
 * @lmr: of the same zone, or NULL to unbind
 * @arg: @priv, @addr and @length are read, @rmr_context and @ticket written
 *
 * Context: may sleep; pins pages of current->mm.  Return: 0, -EXDEV another zone, -EPERM
 * a privilege is missing, -EINVAL out of range, -ENOENT something is being freed, -EFAULT,
 * -ENOMEM.
 */
int dat_rmr_bind(struct dat_rmr *rmr, struct dat_lmr *lmr, struct dat_rmr_bind *arg)
{
	struct dat_binding *b;
	int ret = 0;

	/* Whatever is freed meanwhile, the zone stays. */
	if (dat_obj_use(&rmr->obj))
		return -ENOENT;
	/* Not later: what is forgotten is not in the way of what comes now. */
	rmr_purge(rmr);
	b = kzalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);
	if (!b) {
		dat_obj_unuse(&rmr->obj);
		return -ENOMEM;
	}
	if (lmr)
		ret = binding_check(rmr, lmr, arg->priv, arg->addr, arg->length);
	if (ret)
		goto err_free;
	b->lmr = lmr;
	if (lmr) {
		kref_get(&lmr->obj.ref);
		ret = binding_register(b, rmr->pz, arg->priv, arg->addr, arg->length);
	}
	if (ret)
		goto err_free;
	arg->rmr_context = b->mr ? b->mr->rkey : 0;
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
	/* 0 marks those that nobody is to find. */
	if (!ticket)
		return NULL;
	list_for_each_entry(b, &rmr->prepared, node)
		if (b->ticket == ticket)
			return b;
	return NULL;
}

/**
 * dat_rmr_carry_out() - let a prepared binding take the place of the present one
 * @rmr: region
 * @pz: zone of the EP
 * @ticket: of the binding
 *
 * Context: may sleep.  When it returns the old key is dead.  Return: enum dat_dto_status.
 */
u8 dat_rmr_carry_out(struct dat_rmr *rmr, const struct dat_pz *pz, u32 ticket)
{
	struct dat_binding *b = NULL, *old = NULL;

	spin_lock_bh(&rmr->lock);
	if (!rmr->dead && rmr->pz == pz)
		b = rmr_find(rmr, ticket);
	if (b && b->lmr) {
		/* It may have been freed since the binding was prepared. */
		b->in_effect = !dat_obj_use(&b->lmr->obj);
		if (!b->in_effect)
			b = NULL;
	}
	if (b) {
		list_del(&b->node);
		rmr->nprepared--;
		old = rmr->bound;
		rmr->bound = b;
	}
	spin_unlock_bh(&rmr->lock);
	binding_free(old);
	return b ? DAT_ST_SUCCESS : DAT_ST_RMR_FAILED;
}

/**
 * dat_rmr_forget() - a prepared binding will not be carried out
 * @rmr: region
 * @ticket: of the binding
 *
 * Context: any but hard interrupt; its registration ends a little later.
 */
void dat_rmr_forget(struct dat_rmr *rmr, u32 ticket)
{
	struct dat_binding *b;

	spin_lock_bh(&rmr->lock);
	b = rmr_find(rmr, ticket);
	/* Not to be found again; its memory can't be let go of here. */
	if (b) {
		b->ticket = 0;
		queue_work(dat_wq, &rmr->purge_work);
	}
	spin_unlock_bh(&rmr->lock);
}

static void rmr_shutdown(struct dat_obj *obj)
{
	struct dat_rmr *rmr = to_dat_rmr(obj);
	LIST_HEAD(all);

	spin_lock_bh(&rmr->lock);
	rmr->dead = true;
	list_splice_init(&rmr->prepared, &all);
	if (rmr->bound)
		list_add(&rmr->bound->node, &all);
	rmr->bound = NULL;
	spin_unlock_bh(&rmr->lock);
	/* Nothing is prepared any more, so nothing queues it again. */
	cancel_work_sync(&rmr->purge_work);
	bindings_free(&all);
	if (rmr->pz)
		dat_obj_unuse(&rmr->pz->obj);
	rmr->pz = NULL;
}

static void rmr_release(struct dat_obj *obj)
{
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
	.release	= rmr_release,
	.show		= rmr_show,
};
