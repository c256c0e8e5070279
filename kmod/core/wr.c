// SPDX-License-Identifier: GPL-2.0
/* From a checked copy of a queue entry to a verbs work request. */
#include "core/dat.h"

/* What a request may hold. */
static const struct wr_op {
	enum ib_wr_opcode	opcode;
	bool			rdma;		/* uses rkey and raddr */
	bool			writes;		/* the local memory */
	/* makes the whole of it, but for flags; has no segments */
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
 * The only resolver: from a segment, whose LMR, range and zone are the consumer's word, to what a QP
 * takes.  Every LMR has local read: devices grant it always, and programs in the field send from
 * memory that they registered for local write alone.
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
 * @pz: zone that the LMRs must be of
 * @wr: private copy; its len is set
 * @max_sge: segments that the device takes
 * @write: the memory will be written
 * @sge: result
 *
 * Empty segments are dropped, whatever else they say.
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

/* Segments and bytes of ep->wr, no more bytes than a message may have. */
static int wr_resolve(struct dat_ep *ep, u32 max_sge, bool write, u32 max_len,
		      struct ib_sge *sge, u32 *len)
{
	int n = dat_wr_to_sge(ep->pz, &ep->wr, max_sge, write, sge);

	if (n >= 0 && ep->wr.len > max_len)
		return -EMSGSIZE;
	*len = ep->wr.len;
	return n;
}

/* A send that ends a key of the peer, which kernel consumers can ask for. */
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

/* An empty part needs no window. */
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
 * dat_wr_build_send() - make a verbs request of ep->wr
 * @conn: where it will be posted
 * @out: result, but for next and wr_cqe
 * @sge: room for attr.max_request_iov segments
 * @len: result: bytes in all
 *
 * Return: 0, or a reason that dat_wr_error() explains.
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
		/* A device waits for ever for a credit that was never negotiated. */
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
 * dat_wr_build_recv() - make a verbs receive of ep->wr
 * @conn: where it will be posted
 * @out: result, but for next and wr_cqe
 * @sge: room for attr.max_recv_iov segments
 * @len: result: bytes in all
 *
 * Return: 0, or a reason that dat_wr_error() explains.
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

/* The DTO status of a work request that was refused here. */
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
