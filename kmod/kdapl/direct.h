/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a kernel consumer posts while nothing is in the way: straight to the device, with no
 * detour by the ring.  All of it is inlined into the calls that post, and no structure is
 * made on the stack: kernels clear and guard those, which costs as much as the post.
 */
#ifndef _DAT_DIRECT_H
#define _DAT_DIRECT_H

#include <linux/kdat_types.h>

#include "core/dat.h"
#include "core/trace.h"

/* Nothing was posted that has not been taken, and there is room for one more. */
static __always_inline bool dat_direct_room(const struct dat_queue *q)
{
	return *q->ring.tail == q->head && q->head - q->done < q->window;
}

/**
 * dat_direct_sq() - may a request be posted without a detour by the ring?
 * @ep: endpoint of a kernel consumer
 *
 * It may if nothing is before it or in its way.
 *
 * Context: ep->lock held.  Return: where, with room for the segments of one in its sge; or
 * NULL.
 */
static __always_inline struct dat_conn *dat_direct_sq(const struct dat_ep *ep)
{
	struct dat_conn *conn = ep->conn;

	lockdep_assert_held(&ep->lock);
	if (ep->state != DAT_EP_CONNECTED || !conn || dat_conn_is_closing(conn) || conn->unordered)
		return NULL;
	return !dat_queue_stopped(conn) && dat_direct_room(&ep->sq) ? conn : NULL;
}

/**
 * dat_direct_rq() - may a receive be posted without a detour by the ring?
 * @ep: endpoint of a kernel consumer, without SRQ
 *
 * Context: ep->lock held.  Return: as dat_direct_sq().
 */
static __always_inline struct dat_conn *dat_direct_rq(const struct dat_ep *ep)
{
	struct dat_conn *conn = ep->conn;

	lockdep_assert_held(&ep->lock);
	if (!dat_ep_posting(ep->state) || !conn || dat_conn_is_closing(conn))
		return NULL;
	return dat_direct_room(&ep->rq) ? conn : NULL;
}

static __always_inline struct dat_slot *dat_direct_slot(struct dat_queue *q,
							struct dat_slot *slots, u64 cookie,
							u8 flags, u32 len)
{
	struct dat_slot *slot = &slots[q->head & (q->entries - 1)];

	slot->at = q->head;
	dat_kring_pass(q);
	slot->cookie = cookie;
	slot->flags = flags;
	slot->len = len;
	return slot;
}

/**
 * dat_direct_send() - post a request that never was in the ring
 * @ep: endpoint
 * @conn: from dat_direct_sq(), its sge filled in
 * @op: DAT_OP_SEND or DAT_OP_RDMA_WRITE
 * @flags: enum dat_sqe_flags
 * @num_sge: segments in conn->sge
 * @len: bytes in them
 * @cookie: the consumer's
 * @raddr: RDMA operations
 * @rkey: RDMA operations
 *
 * What the device refuses completes with an error.
 *
 * Context: ep->lock held.
 */
static __always_inline void dat_direct_send(struct dat_ep *ep, struct dat_conn *conn, u8 op,
					    u8 flags, u32 num_sge, u32 len, u64 cookie,
					    u64 raddr, u32 rkey)
{
	struct ib_rdma_wr *wr = &conn->send_wr[0].rdma;
	const struct ib_send_wr *bad = NULL;
	struct dat_slot *slot;

	slot = dat_direct_slot(&ep->sq, conn->sq_slots, cookie, dat_kring_flags(op, flags), len);
	wr->wr.next = NULL;
	wr->wr.wr_cqe = &slot->cqe;
	wr->wr.sg_list = conn->sge;
	wr->wr.num_sge = num_sge;
	wr->wr.opcode = op == DAT_OP_SEND ? IB_WR_SEND : IB_WR_RDMA_WRITE;
	wr->wr.send_flags = IB_SEND_SIGNALED;
	if (unlikely(flags))
		wr->wr.send_flags |= dat_wr_send_flags(flags);
	if (op != DAT_OP_SEND) {
		wr->remote_addr = raddr;
		wr->rkey = rkey;
	}
	trace_dat_post(&ep->obj, op, cookie, len, num_sge);
	conn->inflight++;
	if (unlikely(conn->dev->ops->post_send(conn, &wr->wr, &bad)))
		dat_queue_refused_sq(conn, bad);
}

/**
 * dat_direct_recv() - post a receive that never was in the ring
 * @ep: endpoint
 * @conn: from dat_direct_rq(), its sge filled in
 * @flags: enum dat_sqe_flags
 * @num_sge: segments in conn->sge
 * @len: bytes in them
 * @cookie: the consumer's
 *
 * Context: ep->lock held.
 */
static __always_inline void dat_direct_recv(struct dat_ep *ep, struct dat_conn *conn, u8 flags,
					    u32 num_sge, u32 len, u64 cookie)
{
	struct ib_recv_wr *wr = &conn->recv_wr[0];
	struct dat_slot *slot;
	int ret;

	slot = dat_direct_slot(&ep->rq, conn->rq_slots, cookie, flags, len);
	wr->next = NULL;
	wr->wr_cqe = &slot->cqe;
	wr->sg_list = conn->sge;
	wr->num_sge = num_sge;
	ret = conn->dev->ops->post_recv(conn, wr);
	if (unlikely(ret))
		dat_queue_refused_rq(conn, slot, ret);
	else
		trace_dat_post(&ep->obj, DAT_OP_INVALID, cookie, len, num_sge);
}

static __always_inline void dat_direct_post_send(struct dat_ep *ep, struct dat_conn *conn,
						 const struct ib_send_wr *wr)
{
	if (likely(!conn->dev->ops->post_send(conn, wr, &conn->one.bad_send)))
		return;
	/* Not what it was called with: that would have to be kept. */
	conn = ep->conn;
	dat_queue_refused_sq(conn, conn->one.bad_send);
	conn->one.bad_send = NULL;
}

static __always_inline void dat_direct_post_recv(struct dat_ep *ep, struct dat_conn *conn,
						 const struct dat_slot *slot)
{
	struct dat_direct *one = &conn->one;
	int ret = conn->dev->ops->post_recv(conn, &one->recv);

	if (unlikely(ret))
		dat_queue_refused_rq(ep->conn, slot, ret);
}

/**
 * dat_direct_one() - post what has one segment and no flags, if nothing is in the way
 * @ep: endpoint
 * @op: DAT_OP_SEND, DAT_OP_RDMA_WRITE or, for a receive, DAT_OP_INVALID
 * @seg: its segment, not empty, no longer than a message may be
 * @cookie: the consumer's
 * @raddr: RDMA operations
 * @rkey: RDMA operations
 *
 * The device's own functions are called: those of verbs have a variable for who does not want
 * to know which request was refused, and variables whose address is taken are guarded.
 *
 * Context: ep->lock held.  Return: false: nothing was posted.
 */
static __always_inline bool dat_direct_one(struct dat_ep *ep, u8 op,
					   const DAT_LMR_TRIPLET *seg, u64 cookie, u64 raddr,
					   u32 rkey)
{
	bool recv = op == DAT_OP_INVALID;
	struct dat_queue *q = recv ? &ep->rq : &ep->sq;
	struct dat_conn *conn = ep->direct;
	u32 len = seg->segment_length, head = q->head, *tail = (u32 *)q->ring.tail;
	struct dat_direct *one;
	struct dat_slot *slot;

	lockdep_assert_held(&ep->lock);
	/* In this order: where there is an SRQ there is no ring. */
	if (unlikely(!conn || head - q->done >= q->window || *tail != head))
		return false;
	one = &conn->one;
	if (unlikely(!dat_lmr_resolve_near(ep->pz, seg->lmr_context, seg->virtual_address, len,
					   recv, &one->sge)))
		return false;
	slot = (recv ? conn->rq_slots : conn->sq_slots) + (head & (q->entries - 1));
	slot->cookie = cookie;
	slot->flags = recv ? 0 : dat_kring_flags(op, 0);
	slot->at = head;
	slot->len = len;
	*tail = q->head = head + 1;
	trace_dat_post(&ep->obj, op, cookie, len, 1);
	if (recv) {
		one->recv.wr_cqe = &slot->cqe;
		dat_direct_post_recv(ep, conn, slot);
		return true;
	}
	conn->inflight++;
	if (op == DAT_OP_SEND) {
		one->send.wr_cqe = &slot->cqe;
		dat_direct_post_send(ep, conn, &one->send);
	} else {
		one->write.wr.wr_cqe = &slot->cqe;
		one->write.remote_addr = raddr;
		one->write.rkey = rkey;
		dat_direct_post_send(ep, conn, &one->write.wr);
	}
	return true;
}

#endif /* _DAT_DIRECT_H */
