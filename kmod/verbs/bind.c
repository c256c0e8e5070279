// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Memory registrations for the bindings of RMRs.
 *
 * verbs_bind_init() pins the pages of the process and chooses a key, which gives no access yet.
 * When the bind has its turn in the send queue, work requests end the previous registration and
 * register the memory, and the key takes effect.  An RMR keeps one MR that is not in use.  So a
 * program that binds one RMR again and again uses two MRs in turns, with another key each time.  An
 * MR that has had all its keys is destroyed, so that a key does not come back before the device
 * gives out the number of the MR again.
 *
 * If process memory is too large for a work request, verbs_bind_init() registers the memory
 * directly, and the key gives access before the bind completes.  If the driver registers by work
 * request only, or if the memory is kernel memory, verbs_bind_init() fails instead.
 *
 * On a device with DAT_QUIRK_OPEN_INVALIDATE, any peer of the host could end a registration that
 * was made by a work request.  A peer cannot end a registration that was made directly, so on such
 * a device verbs_bind_init() registers all process memory directly.  The parameter "registration"
 * can prevent that, for tests only.
 */
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <rdma/ib_umem.h>

#include "compat.h"
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/mem/lmr.h"
#include "core/mem/rmr.h"
#include "verbs/verbs.h"

static int bind_access(u32 priv)
{
	int access = 0;

	if (priv & DAT_PRIV_REMOTE_READ)
		access |= IB_ACCESS_REMOTE_READ;
	/*
	 * In verbs, memory with remote write must also have local write.  The lkey stays in the
	 * kernel, so no consumer can use local write.
	 */
	if (priv & DAT_PRIV_REMOTE_WRITE)
		access |= IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE;
	return access;
}

static u64 bind_pages(u64 addr, u64 length)
{
	return (PAGE_ALIGN(addr + length) - (addr & PAGE_MASK)) >> PAGE_SHIFT;
}

/* Takes the MR that the RMR keeps.  The caller owns the result. */
static struct verbs_mr spare_take(struct verbs_rmr *vrmr)
{
	struct verbs_mr m;

	spin_lock_bh(&vrmr->rmr.lock);
	m = vrmr->spare;
	vrmr->spare.mr = NULL;
	spin_unlock_bh(&vrmr->rmr.lock);
	return m;
}

/*
 * Lets the RMR keep an MR that gives no access, or destroys the MR.  @m may have no MR.  An MR that
 * was registered directly pins its pages, and a large one has more memory than the RMR is charged
 * for.
 */
static void spare_put(struct verbs_rmr *vrmr, struct verbs_mr *m)
{
	struct ib_umem *none = NULL;

	spin_lock_bh(&vrmr->rmr.lock);
	if (m->mr && m->pages && m->pages <= VERBS_MR_KEPT && !vrmr->rmr.dead && !vrmr->spare.mr)
		swap(vrmr->spare, *m);
	spin_unlock_bh(&vrmr->rmr.lock);
	if (m->mr)
		verbs_dereg_mr(vrmr->rmr.obj.ia->dev, m->mr, &none);
	m->mr = NULL;
}

static struct ib_mr *bind_pin(struct verbs_binding *vb, struct verbs_mr *spare)
{
	struct dat_binding *b = &vb->b;
	struct ib_umem *umem;

	umem = ib_umem_get_va(verbs_device(b->pz->obj.ia->dev), b->addr, b->length, vb->access);
	if (IS_ERR(umem))
		return ERR_CAST(umem);
	vb->umem = umem;
	return verbs_mr_of_umem(b->pz, umem, spare);
}

/* Gives a binding an MR that a work request registers. */
static int bind_by_request(struct verbs_binding *vb)
{
	struct verbs_rmr *vrmr = to_verbs_rmr(vb->b.rmr);
	struct verbs_mr spare = spare_take(vrmr);
	struct dat_binding *b = &vb->b;
	struct dat_kmem *mem = b->lmr->mem;
	struct ib_mr *mr;

	if (mem)
		mr = verbs_mr_of_part(b->pz, mem, b->addr - b->lmr->start, b->length, b->addr,
				      &spare);
	else
		mr = bind_pin(vb, &spare);
	if (IS_ERR(mr)) {
		spare_put(vrmr, &spare);
		return PTR_ERR(mr);
	}
	spare.mr = mr;
	vb->m = spare;
	b->by_request = true;
	return 0;
}

static int bind_directly(struct verbs_binding *vb)
{
	struct dat_binding *b = &vb->b;
	struct ib_mr *mr = verbs_reg_user(b->pz, b->addr, b->length, vb->access, b->lmr->priv);

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	vb->m.mr = mr;
	b->live = true;
	return 0;
}

static int bind_make(struct verbs_binding *vb)
{
	struct dat_binding *b = &vb->b;
	const struct dat_dev *dev = b->pz->obj.ia->dev;

	if (b->lmr->mem || to_verbs_dev(dev)->reg == VERBS_REG_REQUEST ||
	    (!(dev->quirks & DAT_QUIRK_OPEN_INVALIDATE) &&
	     bind_pages(b->addr, b->length) <= dev->limits.fast_reg_pages))
		return bind_by_request(vb);
	return bind_directly(vb);
}

int verbs_bind_init(struct dat_binding *b)
{
	struct verbs_binding *vb = to_verbs_binding(b);
	int ret;

	vb->access = bind_access(b->priv);
	ret = bind_make(vb);
	/* -EPERM means that RLIMIT_MEMLOCK is 0 and the process lacks CAP_IPC_LOCK. */
	if (ret)
		return ret == -EPERM || ret == -E2BIG ? -ENOMEM : ret;
	b->lkey = vb->m.mr->lkey;
	b->rkey = vb->m.mr->rkey;
	return 0;
}

void verbs_bind_exit(struct dat_binding *b)
{
	struct verbs_binding *vb = to_verbs_binding(b);

	if (!b->live)
		spare_put(to_verbs_rmr(b->rmr), &vb->m);
	else if (vb->m.mr)
		verbs_dereg_mr(b->pz->obj.ia->dev, vb->m.mr, &vb->umem);
	ib_umem_release(vb->umem);
}

void verbs_rmr_exit(struct dat_rmr *rmr)
{
	struct ib_umem *none = NULL;
	struct verbs_mr m = spare_take(to_verbs_rmr(rmr));

	if (m.mr)
		verbs_dereg_mr(rmr->obj.ia->dev, m.mr, &none);
}

/* Handles a completion for a bind.  Context: in verbs_poll(), ep->lock held. */
static void bind_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct verbs_conn *vc = container_of(wc->wr_cqe, struct verbs_conn, bind_cqe);
	u8 status = DAT_ST_RMR_FAILED;

	lockdep_assert_held(&vc->conn.ep->lock);
	if (wc->status == IB_WC_SUCCESS)
		status = DAT_ST_SUCCESS;
	else if (wc->status == IB_WC_WR_FLUSH_ERR)
		status = DAT_ST_FLUSHED;
	dat_conn_bind_done(&vc->conn, status);
}

int verbs_bind_start(struct dat_conn *conn, struct dat_binding *b)
{
	struct verbs_conn *vc = to_verbs_conn(conn);
	struct verbs_binding *vb = to_verbs_binding(b);
	struct ib_send_wr inv = {
		.opcode		= IB_WR_LOCAL_INV,
		.wr_cqe		= &vc->bind_cqe,
		.ex.invalidate_rkey = b->ends,
	};
	struct ib_reg_wr reg = {
		.wr.opcode	= IB_WR_REG_MR,
		.wr.send_flags	= IB_SEND_SIGNALED,
		.wr.wr_cqe	= &vc->bind_cqe,
		.mr		= vb->m.mr,
		.access		= vb->access,
	};
	int ret;

	lockdep_assert_held(&conn->ep->lock);
	if (!b->ends && !b->by_request)
		return 0;
	if (b->by_request) {
		reg.key = vb->m.mr->rkey;
		inv.next = &reg.wr;
		b->live = true;
	} else {
		inv.send_flags = IB_SEND_SIGNALED;
	}
	vc->bind_cqe.done = bind_done;
	ret = ib_post_send(vc->qp, b->ends ? &inv : &reg.wr, NULL);
	return ret ?: 1;
}
