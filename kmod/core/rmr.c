// SPDX-License-Identifier: GPL-2.0
/*
 * Remote memory regions: keys for parts of an LMR that can be given and taken.
 *
 * Each binding is a registration of its own.  Its pages are pinned while the process is
 * there, and a key is chosen, which opens nothing yet.  It begins, and the one before it
 * ends, when its entry has its turn in a send queue: the pump lets nothing pass a bind (see
 * queue.c), so what follows it may carry the new key, and what came before it has used the
 * old one.
 *
 * What is too large to be registered in a queue is registered when it is prepared; such a
 * key works too early.
 */
#include <linux/rbtree.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "core/dat.h"
#include "compat.h"
#include "core/trace.h"

/* Each is a registration, of which only the RMR is charged for. */
#define RMR_MAX_PREPARED	64

/**
 * struct dat_binding - what an RMR is bound to, or will be
 * @node: in rmr->prepared
 * @in_pz: in pz->windows, while it is what @rmr is bound to and peers have a key for it
 * @rmr: region that it is of
 * @pz: its zone, which stays until the binding is carried out or freed
 * @ticket: names it in the entry that carries it out; 0: there will be none
 * @lmr: reference held, and once it has its turn a use; NULL: unbound
 * @in_effect: @lmr can't be freed; kernel memory is not pinned, so its LMR never can
 * @addr: first byte
 * @length: bytes
 * @priv: DAT_PRIV_REMOTE_*
 * @mr: the registration, or NULL
 * @queued: it is registered in a queue
 * @umem: its pages, if it is and a process has them; else NULL
 * @access: IB_ACCESS_*
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
	struct ib_mr		*mr;
	bool			queued;
	struct ib_umem		*umem;
	int			access;
};

/**
 * dat_binding_free() - end a binding
 * @b: in no list, and its registration not under way; or NULL
 *
 * Context: may sleep.  Its key is dead afterwards.
 */
void dat_binding_free(struct dat_binding *b)
{
	if (!b)
		return;
	if (b->mr)
		ib_dereg_mr(b->mr);
	ib_umem_release(b->umem);
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
		dat_binding_free(b);
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

/* Remote read needs no privilege of the LMR: every LMR has local read. */
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

static u64 pages_of(u64 addr, u64 length)
{
	return (PAGE_ALIGN(addr + length) - (addr & PAGE_MASK)) >> PAGE_SHIFT;
}

static bool fits_queue(const struct dat_dev *dev, u64 addr, u64 length)
{
	return pages_of(addr, length) <= dev->limits.fast_reg_pages;
}

/* Tell @mr its pages, from the first byte to the last.  A umem has whole pages. */
static int binding_map(struct ib_mr *mr, const struct ib_umem *umem, u64 addr, u64 length)
{
	const struct sg_table *pages = &umem->sgt_append.sgt;
	u32 skip = offset_in_page(addr);
	struct scatterlist *sg, *to;
	struct sg_table exact;
	unsigned int i;
	int n;

	n = sg_alloc_table(&exact, pages->nents, GFP_KERNEL);
	if (n)
		return n;
	to = exact.sgl;
	for_each_sgtable_dma_sg(pages, sg, i) {
		sg_dma_address(to) = sg_dma_address(sg) + skip;
		sg_dma_len(to) = min_t(u64, sg_dma_len(sg) - skip, length);
		length -= sg_dma_len(to);
		skip = 0;
		to = sg_next(to);
	}
	n = ib_map_mr_sg(mr, exact.sgl, pages->nents, NULL, PAGE_SIZE);
	sg_free_table(&exact);
	if (n < 0)
		return n;
	/* Peers name it by its address in the process, which has the same offset in its page. */
	mr->iova = addr;
	return n == pages->nents ? 0 : -EINVAL;
}

/* Pin the pages and choose a key; the rest is dat_binding_post(). */
static int binding_pin(struct dat_binding *b, struct ib_pd *pd, u64 addr, u64 length)
{
	struct ib_umem *umem = ib_umem_get(pd->device, addr, length, b->access);
	struct ib_mr *mr;

	if (IS_ERR(umem))
		return PTR_ERR(umem);
	b->umem = umem;
	mr = dat_alloc_mr(pd, pages_of(addr, length));
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	b->mr = mr;
	return binding_map(mr, umem, addr, length);
}

static int binding_register(struct dat_binding *b, struct ib_pd *pd, u64 addr, u64 length)
{
	struct ib_mr *mr = ib_reg_user_mr(pd, addr, length, addr, b->access);

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	b->mr = mr;
	return 0;
}

static int binding_make_kernel(struct dat_binding *b, struct ib_pd *pd)
{
	struct dat_lmr *lmr = b->lmr;
	struct ib_mr *mr;

	if (dat_obj_use(&lmr->obj))
		return -ENOENT;
	b->in_effect = true;
	/* The reserved LMR, or memory that goes when others want it. */
	if (!lmr->mem || lmr->fmr)
		return -EOPNOTSUPP;
	mr = dat_kmem_mr(lmr->mem, pd, b->addr - lmr->start, b->length, b->addr);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	b->mr = mr;
	b->queued = true;
	return 0;
}

static int binding_make(struct dat_binding *b, struct ib_pd *pd)
{
	int ret;

	b->access = binding_access(b->priv);
	if (b->lmr->obj.ia->face->kernel)
		return binding_make_kernel(b, pd);
	b->queued = fits_queue(b->lmr->obj.ia->dev, b->addr, b->length);
	if (b->queued)
		ret = binding_pin(b, pd, b->addr, b->length);
	else
		ret = binding_register(b, pd, b->addr, b->length);
	/* -EPERM: no CAP_IPC_LOCK and RLIMIT_MEMLOCK is 0. */
	return ret == -EPERM ? -ENOMEM : ret;
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
 * -ENOMEM; of kernel memory -E2BIG too many pages, -EOPNOTSUPP an LMR without memory of
 * its own.
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
	b->rmr = rmr;
	b->pz = rmr->pz;
	RB_CLEAR_NODE(&b->in_pz);
	b->lmr = lmr;
	if (lmr) {
		kref_get(&lmr->obj.ref);
		b->addr = arg->addr;
		b->length = arg->length;
		b->priv = arg->priv;
		ret = binding_make(b, rmr->pz->pd);
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
	dat_binding_free(b);
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

/* Not to be found again; its memory can't be let go of here. */
static void rmr_forget(struct dat_rmr *rmr, struct dat_binding *b)
{
	lockdep_assert_held(&rmr->lock);
	b->ticket = 0;
	queue_work(dat_wq, &rmr->purge_work);
}

/* From now on its LMR can't be freed: false, if it has been since this was prepared. */
static bool binding_begin(struct dat_binding *b)
{
	if (b->lmr && !b->in_effect)
		b->in_effect = !dat_obj_use(&b->lmr->obj);
	return b->in_effect || !b->lmr;
}

/**
 * dat_rmr_take() - a prepared binding has its turn
 * @rmr: region
 * @pz: zone of the EP
 * @ticket: of the binding
 *
 * The zone must stay until the binding is carried out or freed.
 *
 * Context: any but hard interrupt.  Return: the binding, now the caller's, whose LMR can't
 * be freed; or NULL, also if it has been.
 */
struct dat_binding *dat_rmr_take(struct dat_rmr *rmr, const struct dat_pz *pz, u32 ticket)
{
	struct dat_binding *b = NULL;

	spin_lock_bh(&rmr->lock);
	if (!rmr->dead && rmr->pz == pz)
		b = rmr_find(rmr, ticket);
	if (b && !binding_begin(b)) {
		rmr_forget(rmr, b);
		b = NULL;
	}
	if (b) {
		list_del(&b->node);
		rmr->nprepared--;
	}
	spin_unlock_bh(&rmr->lock);
	return b;
}

/**
 * dat_binding_post() - register the memory of a binding
 * @b: taken
 * @qp: of the same zone, with room for one
 * @cqe: of the registration; @b stays until it completes
 *
 * Return: 1, or 0 if nothing is left to do, or what verbs say.
 */
int dat_binding_post(struct dat_binding *b, struct ib_qp *qp, struct ib_cqe *cqe)
{
	struct ib_reg_wr reg = {
		.wr.opcode	= IB_WR_REG_MR,
		.wr.send_flags	= IB_SEND_SIGNALED,
		.wr.wr_cqe	= cqe,
		.mr		= b->mr,
		.access		= b->access,
	};
	int ret;

	if (!b->queued)
		return 0;
	reg.key = b->mr->rkey;
	ret = ib_post_send(qp, &reg.wr, NULL);
	return ret ?: 1;
}

static int binding_compare_key(const void *key, const struct rb_node *node)
{
	const struct dat_binding *b = rb_entry(node, struct dat_binding, in_pz);
	u32 rkey = *(const u32 *)key;

	return rkey < b->mr->rkey ? -1 : rkey > b->mr->rkey;
}

static int binding_compare(struct rb_node *node, const struct rb_node *other)
{
	return binding_compare_key(&rb_entry(node, struct dat_binding, in_pz)->mr->rkey, other);
}

/* The binding that peers have a key for, or NULL. */
static struct dat_binding *window_find(struct dat_pz *pz, u32 rkey)
{
	struct rb_node *node;

	lockdep_assert_held(&pz->rmr_lock);
	node = rb_find(&rkey, &pz->windows, binding_compare_key);
	return node ? rb_entry(node, struct dat_binding, in_pz) : NULL;
}

/* Let @b, or nothing, take the place of what @rmr is bound to.  Return: that. */
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
	if (b && b->mr)
		rb_find_add(&b->in_pz, &pz->windows, binding_compare);
	rmr->bound = b;
	return old;
}

/**
 * dat_rmr_carry_out() - let a binding take the place of the present one
 * @rmr: region
 * @b: taken from it, and registered; the caller's no more
 *
 * Context: may sleep.  When it returns the old key is dead.  Return: enum dat_dto_status.
 */
u8 dat_rmr_carry_out(struct dat_rmr *rmr, struct dat_binding *b)
{
	struct dat_binding *old = b;
	struct dat_pz *pz = b->pz;

	spin_lock_bh(&pz->rmr_lock);
	spin_lock(&rmr->lock);
	if (!rmr->dead)
		old = rmr_exchange(rmr, pz, b);
	spin_unlock(&rmr->lock);
	spin_unlock_bh(&pz->rmr_lock);
	dat_binding_free(old);
	return old == b ? DAT_ST_RMR_FAILED : DAT_ST_SUCCESS;
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
	if (b)
		rmr_forget(rmr, b);
	spin_unlock_bh(&rmr->lock);
}

/* The device has ended the registration: the LMR is free at once, the rest goes later. */
static void window_drop(struct dat_pz *pz, struct dat_binding *b)
{
	struct dat_rmr *rmr = b->rmr;

	spin_lock(&rmr->lock);
	rmr_exchange(rmr, pz, NULL);
	list_add_tail(&b->node, &rmr->prepared);
	rmr->nprepared++;
	rmr_forget(rmr, b);
	if (b->in_effect)
		dat_obj_unuse(&b->lmr->obj);
	b->in_effect = false;
	spin_unlock(&rmr->lock);
}

/**
 * dat_rmr_invalidated() - a peer has ended the key of a window
 * @pz: zone of the endpoint
 * @rkey: the key, which the device has invalidated
 *
 * Context: any but hard interrupt.  Return: false: no window of the zone is bound to it.
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
	/* Binding gives local write along with it. */
	if (!(b->priv & DAT_PRIV_REMOTE_WRITE))
		return -EACCES;
	if (seg->len > b->length || seg->addr - b->addr > b->length - seg->len)
		return -ERANGE;
	*out = (struct ib_sge) { .addr = seg->addr, .length = seg->len, .lkey = b->mr->lkey };
	return 0;
}

/**
 * dat_rmr_to_sge() - turn a part of a window into the sink of a read
 * @pz: zone of the endpoint
 * @seg: part; its lmr is the key of the window
 * @out: result
 *
 * Context: any but hard interrupt.  Return: 0, -EACCES no window of the zone has the key, or
 * peers may not write to it; -ERANGE the part is not inside of it.
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

/**
 * dat_rmr_query() - tell what an RMR is bound to
 * @rmr: region
 * @state: result
 *
 * Context: any but hard interrupt.
 */
void dat_rmr_query(struct dat_rmr *rmr, struct dat_rmr_state *state)
{
	const struct dat_binding *b;

	*state = (struct dat_rmr_state) {};
	spin_lock_bh(&rmr->lock);
	b = rmr->bound;
	if (b && b->lmr)
		*state = (struct dat_rmr_state) {
			.context = b->lmr->context, .addr = b->addr, .length = b->length,
			.priv = b->priv, .rkey = b->mr->rkey,
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
	/* Nothing is prepared any more, so nothing queues it again. */
	cancel_work_sync(&rmr->purge_work);
	bindings_free(&all);
	dat_binding_free(bound);
	rmr->pz = NULL;
	dat_obj_unuse(&pz->obj);
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
