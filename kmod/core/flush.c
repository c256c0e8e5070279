// SPDX-License-Identifier: GPL-2.0
/*
 * Without a connection the entries in the rings of an endpoint complete as flushed.  Those of a
 * freed endpoint are dropped.
 */
#include "core/conn.h"
#include "core/dat.h"
#include "core/ep.h"
#include "core/lmr.h"
#include "core/queue.h"
#include "core/rmr.h"

/* Completes an entry that failed before it reached the device. */
void dat_queue_fail_one(struct dat_ep *ep, struct dat_queue *q, struct dat_failure *f)
{
	lockdep_assert_held(&ep->lock);

	if (!f->set)
		return;
	f->set = false;
	q->done++;
	q->ops->publish(q);
	if (f->lmr)
		dat_fmr_end(f->lmr, f->op, false, f->status);
	if (f->bind.set)
		dat_report_bind(ep, &f->bind, f->status);
	else
		dat_report_dto(ep, q == &ep->rq, f->cookie, f->flags, f->status, 0, 0);
}

static void wr_flush(struct dat_ep *ep, bool recv, const struct dat_wr *wr)
{
	struct dat_lmr *lmr = dat_fmr_find(ep->obj.ia, wr);
	struct dat_bind bind;

	if (lmr)
		dat_fmr_end(lmr, wr->op, false, DAT_ST_FLUSHED);
	if (recv || wr->op != DAT_OP_RMR_BIND) {
		dat_report_dto(ep, recv, wr->cookie, wr->flags, DAT_ST_FLUSHED, 0, 0);
		return;
	}
	dat_wr_to_bind(wr, &bind);
	dat_report_bind(ep, &bind, DAT_ST_FLUSHED);
}

/* Flushes a slice.  Returns how many of the @left entries remain, or 0 if the ring is empty. */
static u32 queue_flush(struct dat_ep *ep, struct dat_queue *q, u32 left)
{
	u32 n = min_t(u32, left, DAT_SLICE);
	struct dat_wr wr;
	u32 i;
	int ret;

	for (i = 0; i < n && !q->broken; i++) {
		ret = q->ops->fetch(q, &wr);
		if (ret == -EOVERFLOW)
			dat_queue_break(ep, q);
		if (!ret || ret == -EOVERFLOW)
			break;
		q->done++;
		q->ops->publish(q);
		wr_flush(ep, q == &ep->rq, &wr);
	}
	q->ops->publish(q);
	return i < n ? 0 : left - n;
}

/**
 * dat_queue_flush_silent() - complete unsignalled requests that have no successor
 * @conn: connection whose QP is drained
 *
 * Such requests exist only if the device has refused the signalled one that followed them.
 *
 * Context: ep->lock held.  Return: true if there may be more.
 */
bool dat_queue_flush_silent(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;
	struct dat_queue *q = &ep->sq;
	u32 n = min_t(u32, conn->inflight, DAT_SLICE);

	lockdep_assert_held(&ep->lock);
	if (n)
		dat_complete_requests(conn, n, DAT_ST_FLUSHED, DAT_ST_FLUSHED);
	if (conn->inflight)
		return true;
	dat_queue_fail_one(ep, q, &conn->sq_failed);
	return false;
}

/**
 * dat_queue_flush_bind() - complete a bind that the end of the connection has prevented
 * @conn: connection
 *
 * Context: ep->lock held.
 */
void dat_queue_flush_bind(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;
	struct dat_queue *q = &ep->sq;

	lockdep_assert_held(&ep->lock);
	if (!conn->bind.set)
		return;
	conn->bind.set = false;
	q->done++;
	q->ops->publish(q);
	dat_report_bind(ep, &conn->bind, DAT_ST_FLUSHED);
}

/**
 * dat_queue_flush_begin() - begin to flush the rings
 * @ep: endpoint with no work request in flight
 * @f: result
 *
 * Sets NEED_KICK first.  A producer that has not seen it can have posted one ring full at most, and
 * a later post comes with a kick.  So a flush of one ring full misses nothing.
 *
 * Context: ep->lock held.
 */
void dat_queue_flush_begin(struct dat_ep *ep, struct dat_flush *f)
{
	lockdep_assert_held(&ep->lock);

	dat_queue_arm(&ep->sq, 1);
	f->sq = ep->sq.entries;
	f->rq = 0;
	if (ep->srq)
		return;
	dat_queue_arm(&ep->rq, 1);
	f->rq = ep->rq.entries;
}

/**
 * dat_queue_flush() - complete a slice of the rings as flushed
 * @ep: endpoint with no work request in flight
 * @f: set by dat_queue_flush_begin()
 *
 * Context: ep->lock held.  Return: true if there may be more.
 */
bool dat_queue_flush(struct dat_ep *ep, struct dat_flush *f)
{
	lockdep_assert_held(&ep->lock);

	if (f->sq)
		f->sq = queue_flush(ep, &ep->sq, f->sq);
	else if (f->rq)
		f->rq = queue_flush(ep, &ep->rq, f->rq);
	return f->sq || f->rq;
}

/* Drops an entry of a freed EP without an event, with the binding or FMR request behind it. */
static void wr_forget(struct dat_ep *ep, const struct dat_wr *wr)
{
	struct dat_lmr *lmr = dat_fmr_find(ep->obj.ia, wr);
	struct dat_bind bind;
	struct dat_rmr *rmr;

	if (lmr)
		dat_fmr_end(lmr, wr->op, false, DAT_ST_FLUSHED);
	if (wr->op != DAT_OP_RMR_BIND)
		return;
	dat_wr_to_bind(wr, &bind);
	rmr = dat_obj_get(ep->obj.ia, DAT_OBJ_RMR, bind.rmr);
	if (IS_ERR(rmr))
		return;
	dat_rmr_forget(rmr, bind.ticket);
	dat_obj_put(&rmr->obj);
}

/**
 * dat_queue_forget() - drop the requests that are left in the ring
 * @ep: dead endpoint without connection
 *
 * Context: may sleep.
 */
void dat_queue_forget(struct dat_ep *ep)
{
	struct dat_queue *q = &ep->sq;
	struct dat_wr wr;
	u32 i;
	int ret;

	for (i = 0; i < q->entries; i++) {
		spin_lock_bh(&ep->lock);
		ret = q->broken ? 0 : q->ops->fetch(q, &wr);
		if (ret && ret != -EOVERFLOW)
			wr_forget(ep, &wr);
		spin_unlock_bh(&ep->lock);
		if (!ret || ret == -EOVERFLOW)
			return;
	}
}
