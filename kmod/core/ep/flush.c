// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Flush of an endpoint's rings.  When the connection has ended, all entries in the rings complete
 * as flushed.  If the endpoint was freed, the entries are dropped without events.
 */
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/mem/lmr.h"
#include "core/mem/rmr.h"

/* Reports the entry in @f, if any, which failed before it reached the device.  ep->lock is held. */
void dat_queue_fail_one(struct dat_ep *ep, struct dat_queue *q, struct dat_failure *f)
{
	lockdep_assert_held(&ep->lock);

	if (!f->set)
		return;
	f->set = false;
	q->done++;
	dat_queue_publish(q);
	if (f->lmr)
		dat_fmr_end(f->lmr, f->op, false, f->status);
	if (f->bind.set)
		dat_report_bind(ep, &f->bind, f->status);
	else
		dat_report_dto(ep, q == &ep->rq, f->cookie, f->flags, f->status, 0, NULL);
}

static void wr_flush(struct dat_ep *ep, bool recv, const struct dat_wr *wr)
{
	struct dat_lmr *lmr = dat_fmr_find(ep->obj.ia, wr);
	struct dat_bind bind;

	if (lmr)
		dat_fmr_end(lmr, wr->op, false, DAT_ST_FLUSHED);
	if (recv || wr->op != DAT_OP_RMR_BIND) {
		dat_report_dto(ep, recv, wr->cookie, wr->flags, DAT_ST_FLUSHED, 0, NULL);
		return;
	}
	dat_wr_to_bind(wr, &bind);
	dat_report_bind(ep, &bind, DAT_ST_FLUSHED);
}

/*
 * Flushes at most a slice of the ring.  @left: entries that the caller still wants to flush.
 * Returns the new value of @left, or 0 if the ring is empty.
 */
static u32 queue_flush(struct dat_ep *ep, struct dat_queue *q, u32 left)
{
	u32 n = min_t(u32, left, DAT_SLICE);
	bool recv = q == &ep->rq;
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
		dat_queue_publish(q);
		wr_flush(ep, recv, &wr);
	}
	dat_queue_publish(q);
	dat_queue_count_posts(q, recv ? DAT_STAT_RECEIVES : DAT_STAT_REQUESTS, i);
	return i < n ? 0 : left - n;
}

/*
 * Completes up to DAT_SLICE of the requests that remain in flight after the drain: the silent ones
 * at the end of the queue, and unsignalled ones before a request that the device has refused.  The
 * device completes each request that it flushes, although the request is unsignalled, so the
 * requests that remain have succeeded.  If the drain is not complete, any request may remain, and
 * the requests count as flushed; so they do on an unordered device.
 *
 * Reports conn->sq_failed, if set, once no request is in flight.  The failed request breaks the
 * connection, even if the peer has ended the connection first.  ep->lock is held.  Returns true if
 * requests remain.
 */
bool dat_queue_flush_silent(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;
	struct dat_queue *q = &ep->sq;
	u32 n = min_t(u32, conn->inflight, DAT_SLICE);
	u8 st = conn->drained && !conn->unordered ? DAT_ST_SUCCESS : DAT_ST_FLUSHED;

	lockdep_assert_held(&ep->lock);
	if (n)
		dat_complete_requests(conn, n, st, st);
	if (conn->inflight)
		return true;
	if (conn->sq_failed.set)
		dat_conn_fail(conn, DAT_EV_BROKEN);
	dat_queue_fail_one(ep, q, &conn->sq_failed);
	return false;
}

/*
 * Flushes up to DAT_SLICE of the receives that remain in flight after the drain, because the device
 * has failed.  Receives complete in the order in which they were posted, so the receives from
 * q->done on remain.  conn->early is empty, and ep->lock is held.  Returns true if receives remain.
 */
bool dat_queue_flush_recvs(struct dat_conn *conn)
{
	struct dat_queue *q = &conn->ep->rq;
	u32 n = min_t(u32, dat_conn_recvs(conn), DAT_SLICE);
	struct dat_slot *slot;

	lockdep_assert_held(&conn->ep->lock);
	while (n--) {
		slot = &conn->rq_slots[q->done & (q->entries - 1)];
		slot->extra_kind = DAT_EXTRA_NONE;
		slot->len = 0;
		dat_complete_recv(conn, slot, DAT_ST_FLUSHED);
	}
	return dat_conn_recvs(conn);
}

/* Flushes the bind in conn->bind, if any.  ep->lock is held. */
void dat_queue_flush_bind(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;
	struct dat_queue *q = &ep->sq;

	lockdep_assert_held(&ep->lock);
	if (!conn->bind.set)
		return;
	conn->bind.set = false;
	q->done++;
	dat_queue_publish(q);
	dat_report_bind(ep, &conn->bind, DAT_ST_FLUSHED);
}

/*
 * Begins a flush; the device has no work request any more.  ep->lock is held.
 *
 * Sets NEED_KICK, then limits the flush to the length of each ring.  A producer that has not seen
 * NEED_KICK can have filled the ring at most once.  A producer that has seen NEED_KICK kicks, which
 * starts another flush.  So no entry is missed.
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

/* Flushes at most a slice of the rings.  ep->lock is held.  Returns true if there may be more. */
bool dat_queue_flush(struct dat_ep *ep, struct dat_flush *f)
{
	lockdep_assert_held(&ep->lock);

	if (f->sq)
		f->sq = queue_flush(ep, &ep->sq, f->sq);
	else if (f->rq)
		f->rq = queue_flush(ep, &ep->rq, f->rq);
	return f->sq || f->rq;
}

/* Flushes the rings of a DISCONNECTED EP.  Drops ep->lock after each slice, so it may sleep. */
void dat_queue_flush_all(struct dat_ep *ep)
{
	struct dat_flush f;

	lockdep_assert_held(&ep->lock);
	dat_queue_flush_begin(ep, &f);
	while (ep->state == DAT_EP_DISCONNECTED && dat_queue_flush(ep, &f))
		dat_ep_cond_resched(ep);
}

/*
 * Drops an entry of an EP that is shut down, without an event.  Drops the prepared binding of a
 * bind, or ends the FMR request.
 */
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

/*
 * Drops the entries left in the send queue of an endpoint that is shut down and has no connection,
 * because the entries may name prepared bindings or have uses of LMRs.  May sleep.
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
		cond_resched();
	}
}
