// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Checks private copies of queue entries and builds verbs work requests from them. */
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/mem/lmr.h"
#include "core/mem/rmr.h"

/* Parameters for building the verbs work request of an opcode; DAT_OP_RMR_BIND has none. */
static const struct wr_op {
	enum ib_wr_opcode	opcode;
	bool			rdma;		/* the request uses rkey and raddr */
	bool			writes;		/* the request writes local memory */
	/* builds a request without segments; the caller has set send_flags; optional */
	int			(*build)(struct dat_conn *conn, union dat_send_wr *out);
} wr_ops[DAT_KOP_LAST] = {
	[DAT_OP_SEND]			= { IB_WR_SEND,		false,	false },
	[DAT_OP_RDMA_WRITE]		= { IB_WR_RDMA_WRITE,	true,	false },
	[DAT_OP_RDMA_READ]		= { IB_WR_RDMA_READ,	true,	true },
	[DAT_KOP_LMR_FMR]		= { .build = dat_fmr_build },
	[DAT_KOP_LMR_INVALIDATE]	= { .build = dat_fmr_build },
	[DAT_KOP_READ_TO_RMR]		= { IB_WR_RDMA_READ,	true,	true },
};

/* Sets the lkey of the chunk that has @addr, and ends the SGE at the end of that chunk. */
static void chunk_to_sge(const struct dat_chunks *c, u64 addr, struct ib_sge *out)
{
	u64 chunk = (addr >> c->shift) - c->first;

	/* resolve() has checked that the LMR has @addr. */
	out->lkey = c->lkey[array_index_nospec(chunk, c->n)];
	out->length = min_t(u64, out->length, BIT_ULL(c->shift) - (addr & (BIT_ULL(c->shift) - 1)));
}

/*
 * Checks a segment and converts it to an SGE, which is shorter than the segment if the segment
 * continues in another chunk of the LMR.  The consumer has chosen the LMR and the range, so this
 * function trusts neither the LMR nor the range.  A segment that names an LMR is posted to a QP
 * only after this function has checked the segment.
 *
 * DAT_PRIV_LOCAL_READ is not checked.  Devices always allow local reads, and existing programs send
 * from memory that they have registered without DAT_PRIV_LOCAL_READ.
 */
static __always_inline int resolve(struct dat_pz *pz, const struct dat_sge *seg, bool write,
				   struct ib_sge *out)
{
	struct dat_lmr *lmr;

	if (unlikely(!pz))
		return -EXDEV;
	lmr = dat_lmr_find(pz->obj.ia, seg->lmr);
	if (unlikely(!lmr))
		return -EACCES;
	out->lkey = lmr->lkey;
	if (unlikely(READ_ONCE(lmr->pz) != pz)) {
		if (lmr->kind != &dat_lmr_reserved_kind)
			return -EXDEV;
		out->lkey = pz->dma_key;
	}
	if (write && !(lmr->priv & DAT_PRIV_LOCAL_WRITE))
		return -EACCES;
	if (unlikely(!dat_lmr_covers(lmr, seg->addr, seg->len)))
		return -ERANGE;
	out->addr = seg->addr + lmr->shift;
	out->length = seg->len;
	if (unlikely(lmr->chunks))
		chunk_to_sge(lmr->chunks, seg->addr, out);
	return 0;
}

/**
 * dat_wr_to_sge() - convert the segments of a work request to SGEs
 * @pz: protection zone to which the LMRs must belong; NULL: no LMR may be named
 * @wr: private copy of the queue entry; the function sets wr->len
 * @max_sge: largest number of SGEs; a segment takes one SGE for each chunk of the LMR
 * @write: true if the work request writes to the memory
 * @sge: result
 *
 * Skips segments of length 0 and does not check their other members.
 *
 * Context: softirqs disabled, which keeps the LMRs from being freed, as rcu_read_lock() does.
 *
 * Return: number of SGEs; -E2BIG if there are more than @max_sge SGEs; -EACCES if a segment
 * names no valid LMR, or names an LMR without local write although @write is true; -EXDEV if
 * the LMR is in another protection zone, or if @pz is NULL; -ERANGE if the segment exceeds the LMR.
 */
int dat_wr_to_sge(struct dat_pz *pz, struct dat_wr *wr, u32 max_sge, bool write,
		  struct ib_sge *sge)
{
	struct dat_sge rest;
	u32 n = 0, i;
	u64 len = 0;
	int ret;

	for (i = 0; i < wr->num_sge; i++) {
		rest = wr->sge[i];
		len += rest.len;
		while (rest.len) {
			if (n == max_sge)
				return -E2BIG;
			ret = resolve(pz, &rest, write, &sge[n]);
			if (ret)
				return ret;
			rest.addr += sge[n].length;
			rest.len -= sge[n].length;
			n++;
		}
	}
	wr->len = len;
	return n;
}

/*
 * Converts the segments of ep->wr to SGEs.  Fails with -EMSGSIZE if the segments have more than
 * @max_len bytes, or with an error of dat_wr_to_sge().
 */
static int wr_resolve(struct dat_ep *ep, u32 max_sge, bool write, u32 max_len,
		      struct ib_sge *sge, u32 *len)
{
	int n = dat_wr_to_sge(ep->pz, &ep->wr, max_sge, write, sge);

	if (n >= 0 && ep->wr.len > max_len)
		return -EMSGSIZE;
	*len = ep->wr.len;
	return n;
}

/*
 * Builds a send that also invalidates an rkey of the peer.  Fails with -EINVAL if the consumer is
 * not a kernel module or wr->raddr is not DAT_KOP_SEND_INVALIDATE, or with an error of
 * wr_resolve().
 */
static int wr_build_invalidate(struct dat_conn *conn, union dat_send_wr *out,
			       struct ib_sge *sge, u32 *len)
{
	const struct dat_wr *wr = &conn->ep->wr;
	struct dat_ep *ep = conn->ep;
	int n;

	if (!ep->sq.kernel || wr->raddr != DAT_KOP_SEND_INVALIDATE)
		return -EINVAL;
	n = wr_resolve(ep, ep->attr.max_request_iov, false, ep->obj.ia->msg_max, sge, len);
	if (n < 0)
		return n;
	out->wr.opcode = IB_WR_SEND_WITH_INV;
	out->wr.ex.invalidate_rkey = wr->rkey;
	out->wr.sg_list = sge;
	out->wr.num_sge = n;
	return 0;
}

/*
 * Converts the segment of a DAT_KOP_READ_TO_RMR request, which names a bound RMR.  Returns the
 * number of SGEs, 0 for an empty segment, or an error of dat_rmr_to_sge().
 */
static int wr_window_to_sge(struct dat_ep *ep, const struct dat_wr *wr, struct ib_sge *sge,
			    u32 *len)
{
	const struct dat_sge *seg = &wr->sge[0];

	*len = seg->len;
	if (!seg->len)
		return 0;
	return dat_rmr_to_sge(ep->pz, seg, sge) ?: 1;
}

/* Adds the immediate data of a send or a write, if it has any.  Other requests have none. */
static __always_inline void wr_add_imm(const struct dat_wr *wr, union dat_send_wr *out)
{
	if (likely(!wr->with_imm))
		return;
	out->wr.opcode = wr->op == DAT_OP_SEND ? IB_WR_SEND_WITH_IMM : IB_WR_RDMA_WRITE_WITH_IMM;
	out->wr.ex.imm_data = cpu_to_be32(wr->imm);
}

/*
 * Builds a send or a write with inline data, which are in the memory of the driver: the device must
 * copy them when the request is posted.  The data name no LMR that could be checked.
 */
static int wr_build_inline(const struct dat_wr *wr, union dat_send_wr *out, struct ib_sge *sge,
			   u32 *len)
{
	if (!wr_ops[wr->op].rdma && (wr->rkey || wr->raddr))
		return -EINVAL;
	sge->addr = (uintptr_t)wr->inline_data;
	sge->length = wr->inline_len;
	sge->lkey = 0;
	*len = wr->inline_len;
	dat_wr_fill(&out->rdma, wr_ops[wr->op].opcode, wr, sge, 1);
	wr_add_imm(wr, out);
	out->wr.send_flags |= IB_SEND_INLINE;
	return 0;
}

/*
 * Builds a verbs request from ep->wr; the caller sets next and wr_cqe.  @sge: room for
 * ep->attr.max_request_iov entries; @len: bytes of all segments.  ep->lock is held.  Fails with an
 * errno that dat_wr_error() converts to a DTO status.
 */
int dat_wr_build_send(struct dat_conn *conn, union dat_send_wr *out, struct ib_sge *sge,
		      u32 *len)
{
	const struct dat_wr *wr = &conn->ep->wr;
	const struct wr_op *op = &wr_ops[wr->op];
	struct dat_ep *ep = conn->ep;
	u32 max_sge = ep->attr.max_request_iov;
	int n;

	lockdep_assert_held(&ep->lock);
	out->wr.sg_list = sge;
	out->wr.num_sge = 0;
	out->wr.send_flags = dat_wr_send_flags(wr->flags);
	*len = 0;
	if (unlikely(op->build))
		return op->build(conn, out);
	if (wr->inline_len)
		return wr_build_inline(wr, out, sge, len);
	if (!op->rdma && (wr->rkey || wr->raddr))
		return wr_build_invalidate(conn, out, sge, len);
	if (op->opcode == IB_WR_RDMA_READ) {
		/* If the EP allows no reads in flight, the device would never send this read. */
		if (!ep->read_out)
			return -EINVAL;
		max_sge = min(max_sge, ep->obj.ia->dev->limits.read_sge);
	}
	if (unlikely(wr->op == DAT_KOP_READ_TO_RMR))
		n = wr_window_to_sge(ep, wr, sge, len);
	else
		n = wr_resolve(ep, max_sge, op->writes, ep->obj.ia->msg_max, sge, len);
	if (n < 0)
		return n;
	dat_wr_fill(&out->rdma, op->opcode, wr, sge, n);
	wr_add_imm(wr, out);
	return 0;
}

/*
 * Builds a receive from ep->wr, like dat_wr_build_send().  @sge: room for ep->attr.max_recv_iov
 * entries.  ep->lock is held.
 */
int dat_wr_build_recv(struct dat_conn *conn, struct ib_recv_wr *out, struct ib_sge *sge,
		      u32 *len)
{
	struct dat_ep *ep = conn->ep;
	int n;

	lockdep_assert_held(&ep->lock);
	n = wr_resolve(ep, ep->attr.max_recv_iov, true, U32_MAX, sge, len);
	if (n < 0)
		return n;
	dat_wr_fill_recv(out, sge, n);
	return 0;
}

/*
 * Returns the enum dat_dto_status of a work request that could not be built because of @err, or
 * that the device has refused.
 */
u8 dat_wr_error(int err)
{
	switch (err) {
	case -EACCES:
	case -EXDEV:
	case -ERANGE:
		return DAT_ST_LOCAL_PROTECTION;
	case -EMSGSIZE:
		return DAT_ST_LOCAL_LENGTH;
	default:
		return DAT_ST_LOCAL_EP;
	}
}
