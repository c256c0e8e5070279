// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The queues of a lane: posts of requests and receives. */
#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/face.h"
#include "lo/lo.h"

/* Returns the next free entry.  Its number is below the window, so one is free. */
static struct lo_wqe *fifo_free(const struct lo_fifo *f)
{
	return f->tail - READ_ONCE(f->head) <= f->mask ? lo_fifo_at(f, f->tail) : NULL;
}

static void fifo_push(struct lo_fifo *f)
{
	/* Release: publishes the entry.  Pairs with the acquire in lo_fifo_peek(). */
	smp_store_release(&f->tail, f->tail + 1);
}

static int fifo_alloc(struct lo_fifo *f, u32 entries, u32 room)
{
	u32 n = roundup_pow_of_two(lo_window(entries));

	f->room = room;
	f->stride = ALIGN(sizeof(struct lo_wqe) + room, SMP_CACHE_BYTES);
	f->mem = kvcalloc(n, f->stride, GFP_KERNEL_ACCOUNT);
	f->mask = n - 1;
	return f->mem ? 0 : -ENOMEM;
}

/* Allocates the queues of an end whose EP is claimed.  After an error the caller frees them. */
int lo_queues_alloc(struct lo_conn *lc)
{
	const struct dat_ep *ep = lc->conn.ep;
	u32 room = max_t(u32, max(ep->attr.max_request_iov, 1U) * sizeof(struct ib_sge),
			 ep->attr.max_inline);
	int ret;

	lc->kernel = ep->obj.ia->face->kernel;
	ret = fifo_alloc(&lc->sq, ep->sq.entries, room);
	if (ret || ep->srq)
		return ret;
	return fifo_alloc(&lc->rq, ep->rq.entries, ep->attr.max_recv_iov * sizeof(struct ib_sge));
}

/* Frees the queues; idempotent.  No lane uses them. */
void lo_queues_free(struct lo_conn *lc)
{
	kvfree(lc->sq.mem);
	kvfree(lc->rq.mem);
	lc->sq.mem = NULL;
	lc->rq.mem = NULL;
}

static u8 wr_op(const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
		return LO_WRITE;
	case IB_WR_RDMA_READ:
		return LO_READ;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return LO_WRITE_IMM;
	case IB_WR_SEND_WITH_IMM:
		return LO_SEND_IMM;
	case IB_WR_SEND_WITH_INV:
		return LO_SEND_INV;
	case IB_WR_REG_MR:
		return LO_REG;
	case IB_WR_LOCAL_INV:
		return LO_INV;
	default:
		return LO_SEND;
	}
}

/* Copies the segments, or the inline data.  Returns false if the entry has no room for them. */
static bool wqe_fill(const struct lo_fifo *f, struct lo_wqe *wqe, const struct ib_sge *sge, int n,
		     bool inlined)
{
	u64 len = 0;
	int i;

	for (i = 0; i < n; i++)
		len += sge[i].length;
	if (unlikely((inlined ? len : n * sizeof(*sge)) > f->room))
		return false;
	wqe->len = len;
	wqe->nseg = n;
	wqe->inlined = inlined;
	if (inlined)
		memcpy(wqe->seg, (void *)(uintptr_t)sge->addr, len);
	else
		memcpy(wqe->seg, sge, n * sizeof(*sge));
	return true;
}

/* Fills in a request.  Only the core's requests come here, so all are valid. */
static bool wqe_of_send(const struct lo_fifo *f, struct lo_wqe *wqe, const struct ib_send_wr *wr)
{
	wqe->slot = container_of(wr->wr_cqe, struct dat_slot, cqe);
	wqe->op = wr_op(wr);
	wqe->solicited = wr->send_flags & IB_SEND_SOLICITED;
	switch (wqe->op) {
	case LO_SEND_IMM:
		wqe->imm = be32_to_cpu(wr->ex.imm_data);
		break;
	case LO_WRITE_IMM:
		wqe->imm = be32_to_cpu(wr->ex.imm_data);
		fallthrough;
	case LO_WRITE:
	case LO_READ:
		wqe->raddr = rdma_wr(wr)->remote_addr;
		wqe->rkey = rdma_wr(wr)->rkey;
		break;
	case LO_REG:
		wqe->rkey = reg_wr(wr)->key;
		break;
	case LO_SEND_INV:
	case LO_INV:
		wqe->rkey = wr->ex.invalidate_rkey;
		break;
	}
	return wqe_fill(f, wqe, wr->sg_list, wr->num_sge, wr->send_flags & IB_SEND_INLINE);
}

int lo_post_send(struct dat_conn *conn, struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct lo_conn *lc = to_lo_conn(conn);
	struct lo_wqe *wqe;
	int ret = 0;

	lockdep_assert_held(&conn->ep->lock);
	for (; wr; wr = wr->next) {
		wqe = fifo_free(&lc->sq);
		if (unlikely(!wqe || !wqe_of_send(&lc->sq, wqe, wr))) {
			*bad = wr;
			ret = -EINVAL;
			break;
		}
		fifo_push(&lc->sq);
	}
	lo_lane_posted(lo_lane_out(lc), conn->ep->runner);
	return ret;
}

/*
 * Appends a request that ends the key @ends and puts @key into effect, unless they are 0.  No other
 * request is in flight, so there is room.
 */
void lo_post_bind(struct dat_conn *conn, u32 ends, u32 key)
{
	struct lo_conn *lc = to_lo_conn(conn);
	struct lo_wqe *wqe;

	lockdep_assert_held(&conn->ep->lock);
	wqe = fifo_free(&lc->sq);
	wqe->op = LO_BIND;
	wqe->rkey = ends;
	wqe->bind = key;
	wqe->len = 0;
	fifo_push(&lc->sq);
	lo_lane_posted(lo_lane_out(lc), conn->ep->runner);
}

int lo_post_recv(struct dat_conn *conn, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct lo_conn *lc = to_lo_conn(conn);
	struct lo_wqe *wqe;
	int ret = 0;

	lockdep_assert_held(&conn->ep->lock);
	for (; wr; wr = wr->next) {
		wqe = fifo_free(&lc->rq);
		if (unlikely(!wqe || !wqe_fill(&lc->rq, wqe, wr->sg_list, wr->num_sge, false))) {
			*bad = wr;
			ret = -EINVAL;
			break;
		}
		wqe->slot = container_of(wr->wr_cqe, struct dat_slot, cqe);
		fifo_push(&lc->rq);
	}
	if (conn->hungry) {
		conn->hungry = false;
		lo_lane_wake(lo_lane_in(lc), conn->ep->runner);
	}
	return ret;
}
