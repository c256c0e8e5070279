// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Memory registrations for the bindings of RMRs.
 *
 * verbs_bind_init() pins the pages of the process and chooses a key, which gives no access yet.
 * When the bind has its turn in the send queue, a work request registers the memory, and the key
 * takes effect.  If process memory is too large for a work request, verbs_bind_init() registers the
 * memory directly, and the key gives access before the bind completes.  If the driver registers by
 * work request only, or if the memory is kernel memory, verbs_bind_init() fails instead.
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

/* Pins the pages and allocates the MR.  verbs_bind_start() later registers the pages. */
static int binding_pin(struct verbs_binding *vb)
{
	struct dat_binding *b = &vb->b;
	struct ib_umem *umem;
	struct ib_mr *mr;

	umem = ib_umem_get_va(verbs_device(b->pz->obj.ia->dev), b->addr, b->length, vb->access);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	vb->umem = umem;
	mr = verbs_mr_of_umem(b->pz, umem);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	vb->mr = mr;
	return 0;
}

static int binding_set_mr(struct verbs_binding *vb, struct ib_mr *mr)
{
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	vb->mr = mr;
	return 0;
}

static int bind_make(struct verbs_binding *vb)
{
	struct dat_binding *b = &vb->b;
	const struct dat_dev *dev = b->pz->obj.ia->dev;
	struct dat_kmem *mem = b->lmr->mem;

	if (mem) {
		vb->queued = true;
		return binding_set_mr(vb, verbs_mr_of_part(b->pz, mem, b->addr - b->lmr->start,
							   b->length, b->addr));
	}
	vb->queued = to_verbs_dev(dev)->reg == VERBS_REG_REQUEST ||
		     (!(dev->quirks & DAT_QUIRK_OPEN_INVALIDATE) &&
		      bind_pages(b->addr, b->length) <= dev->limits.fast_reg_pages);
	if (vb->queued)
		return binding_pin(vb);
	return binding_set_mr(vb, verbs_reg_user(b->pz, b->addr, b->length, vb->access,
						 b->lmr->priv));
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
	b->lkey = vb->mr->lkey;
	b->rkey = vb->mr->rkey;
	return 0;
}

void verbs_bind_exit(struct dat_binding *b)
{
	struct verbs_binding *vb = to_verbs_binding(b);

	if (vb->mr)
		verbs_dereg_mr(b->pz->obj.ia->dev, vb->mr, &vb->umem);
	ib_umem_release(vb->umem);
}

/* Handles the completion of the registration.  Context: in verbs_poll(), ep->lock held. */
static void bind_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct verbs_conn *vc = cq->cq_context;

	lockdep_assert_held(&vc->conn.ep->lock);
	/* A flush means that the connection is closing.  The teardown completes the bind. */
	if (wc->status != IB_WC_WR_FLUSH_ERR)
		dat_conn_bind_done(&vc->conn, wc->status != IB_WC_SUCCESS);
}

int verbs_bind_start(struct dat_conn *conn, struct dat_binding *b)
{
	struct verbs_conn *vc = to_verbs_conn(conn);
	struct verbs_binding *vb = to_verbs_binding(b);
	struct ib_reg_wr reg = {
		.wr.opcode	= IB_WR_REG_MR,
		.wr.send_flags	= IB_SEND_SIGNALED,
		.wr.wr_cqe	= &vc->bind_cqe,
		.mr		= vb->mr,
		.access		= vb->access,
	};
	int ret;

	lockdep_assert_held(&conn->ep->lock);
	if (!vb->queued)
		return 0;
	reg.key = vb->mr->rkey;
	vc->bind_cqe.done = bind_done;
	ret = ib_post_send(vc->qp, &reg.wr, NULL);
	return ret ?: 1;
}
