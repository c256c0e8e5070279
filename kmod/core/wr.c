// SPDX-License-Identifier: GPL-2.0
/* Builds verbs work requests from private copies of queue entries, and checks them. */
#include "core/conn.h"
#include "core/ep.h"
#include "core/lmr.h"
#include "core/queue.h"
#include "core/rmr.h"

/* Properties of each opcode. */
static const struct wr_op {
	enum ib_wr_opcode	opcode;
	bool			rdma;		/* uses rkey and raddr */
	bool			writes;		/* writes local memory */
	/* builds the request, except its flags; such a request has no segments */
	int			(*build)(struct dat_conn *conn, union dat_send_wr *out);
} wr_ops[DAT_KOP_LAST] = {
	[DAT_OP_SEND]			= { IB_WR_SEND,		false,	false },
	[DAT_OP_RDMA_WRITE]		= { IB_WR_RDMA_WRITE,	true,	false },
	[DAT_OP_RDMA_READ]		= { IB_WR_RDMA_READ,	true,	true },
	[DAT_KOP_LMR_FMR]		= { .build = dat_fmr_build },
	[DAT_KOP_LMR_INVALIDATE]	= { .build = dat_fmr_build },
	[DAT_KOP_READ_TO_RMR]		= { IB_WR_RDMA_READ,	true,	true },
};

/*
 * Checks a segment and translates it for a QP.  The consumer chose its LMR and its range, so none
 * of it can be trusted.  All segments of requests and receives pass here.
 *
 * Local read is not checked: devices grant it always, and programs in the field send from memory
 * that they registered for local write alone.
 */
static __always_inline int resolve(struct dat_pz *pz, const struct dat_sge *seg, bool write,
				   struct ib_sge *out)
{
	struct dat_lmr *lmr = dat_lmr_find(pz->obj.ia, seg->lmr);

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
	return 0;
}

/**
 * dat_wr_to_sge() - resolve the segments of a work request
 * @pz: zone of the LMRs
 * @wr: private copy of the entry; sets its @len
 * @max_sge: largest number of segments
 * @write: the work request writes the memory
 * @sge: result
 *
 * Drops empty segments without a check of their other members.
 *
 * Context: softirqs disabled, as under the lock of a queue, which keeps LMRs as RCU does.
 * Return: segments, -E2BIG; -EACCES there is no such LMR, or it may not be written, -EXDEV it is of
 * another zone, -ERANGE the segment is not inside of it.
 */
int dat_wr_to_sge(struct dat_pz *pz, struct dat_wr *wr, u32 max_sge, bool write,
		  struct ib_sge *sge)
{
	const struct dat_sge *s;
	u32 n = 0, i;
	u64 len = 0;
	int ret;

	for (i = 0; i < wr->num_sge; i++) {
		s = &wr->sge[i];
		if (!s->len)
			continue;
		if (n == max_sge)
			return -E2BIG;
		ret = resolve(pz, s, write, &sge[n]);
		if (ret)
			return ret;
		len += s->len;
		n++;
	}
	wr->len = len;
	return n;
}

/* Resolves ep->wr.  Returns the number of segments, or -EMSGSIZE if a message cannot be so long. */
static int wr_resolve(struct dat_ep *ep, u32 max_sge, bool write, u32 max_len,
		      struct ib_sge *sge, u32 *len)
{
	int n = dat_wr_to_sge(ep->pz, &ep->wr, max_sge, write, sge);

	if (n >= 0 && ep->wr.len > max_len)
		return -EMSGSIZE;
	*len = ep->wr.len;
	return n;
}

/* Builds a send that invalidates a key of the peer, for kernel consumers only. */
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

/* Resolves the segment of a read to a bound RMR; an empty segment needs no RMR. */
static int wr_window_to_sge(struct dat_ep *ep, const struct dat_wr *wr, struct ib_sge *sge,
			    u32 *len)
{
	const struct dat_sge *seg = &wr->sge[0];

	*len = seg->len;
	if (!seg->len)
		return 0;
	return dat_rmr_to_sge(ep->pz, seg, sge) ?: 1;
}

/**
 * dat_wr_build_send() - build a verbs request from ep->wr
 * @conn: connection that will post it
 * @out: result, except next and wr_cqe
 * @sge: room for attr.max_request_iov segments
 * @len: result: total bytes
 *
 * Return: 0, or an error for dat_wr_error().
 */
int dat_wr_build_send(struct dat_conn *conn, union dat_send_wr *out, struct ib_sge *sge,
		      u32 *len)
{
	const struct dat_wr *wr = &conn->ep->wr;
	const struct wr_op *op = &wr_ops[wr->op];
	struct dat_ep *ep = conn->ep;
	u32 max_sge = ep->attr.max_request_iov;
	int n;

	out->wr.sg_list = sge;
	out->wr.num_sge = 0;
	out->wr.send_flags = dat_wr_send_flags(wr->flags);
	*len = 0;
	if (unlikely(op->build))
		return op->build(conn, out);
	if (!op->rdma && (wr->rkey || wr->raddr))
		return wr_build_invalidate(conn, out, sge, len);
	if (op->opcode == IB_WR_RDMA_READ) {
		/* Without read credits the device would never send the read. */
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
	out->wr.opcode = op->opcode;
	out->wr.sg_list = sge;
	out->wr.num_sge = n;
	out->rdma.remote_addr = wr->raddr;
	out->rdma.rkey = wr->rkey;
	return 0;
}

/**
 * dat_wr_build_recv() - build a verbs receive from ep->wr
 * @conn: connection that will post it
 * @out: result, except next and wr_cqe
 * @sge: room for attr.max_recv_iov segments
 * @len: result: total bytes
 *
 * Return: 0, or an error for dat_wr_error().
 */
int dat_wr_build_recv(struct dat_conn *conn, struct ib_recv_wr *out, struct ib_sge *sge,
		      u32 *len)
{
	struct dat_ep *ep = conn->ep;
	int n;

	n = wr_resolve(ep, ep->attr.max_recv_iov, true, U32_MAX, sge, len);
	if (n < 0)
		return n;
	out->sg_list = sge;
	out->num_sge = n;
	return 0;
}

/* Returns the DTO status for the error of a work request that could not be built. */
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
