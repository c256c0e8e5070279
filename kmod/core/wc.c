// SPDX-License-Identifier: GPL-2.0
/*
 * From a verbs completion to a DAT event.  All of it is called with ep->lock held, by
 * cq.c or by those who complete without the device.
 */
#include "core/dat.h"
#include "core/trace.h"

static const u8 wc_status[] = {
	[IB_WC_SUCCESS]			= DAT_ST_SUCCESS,
	[IB_WC_LOC_LEN_ERR]		= DAT_ST_LOCAL_LENGTH,
	[IB_WC_LOC_QP_OP_ERR]		= DAT_ST_LOCAL_EP,
	[IB_WC_LOC_EEC_OP_ERR]		= DAT_ST_TRANSPORT,
	[IB_WC_LOC_PROT_ERR]		= DAT_ST_LOCAL_PROTECTION,
	[IB_WC_WR_FLUSH_ERR]		= DAT_ST_FLUSHED,
	[IB_WC_MW_BIND_ERR]		= DAT_ST_RMR_FAILED,
	[IB_WC_BAD_RESP_ERR]		= DAT_ST_BAD_RESPONSE,
	[IB_WC_LOC_ACCESS_ERR]		= DAT_ST_LOCAL_PROTECTION,
	[IB_WC_REM_INV_REQ_ERR]		= DAT_ST_REMOTE_RESPONDER,
	[IB_WC_REM_ACCESS_ERR]		= DAT_ST_REMOTE_ACCESS,
	[IB_WC_REM_OP_ERR]		= DAT_ST_REMOTE_RESPONDER,
	[IB_WC_RETRY_EXC_ERR]		= DAT_ST_TRANSPORT,
	[IB_WC_RNR_RETRY_EXC_ERR]	= DAT_ST_RECEIVER_NOT_READY,
	[IB_WC_LOC_RDD_VIOL_ERR]	= DAT_ST_LOCAL_PROTECTION,
	[IB_WC_REM_INV_RD_REQ_ERR]	= DAT_ST_REMOTE_RESPONDER,
	[IB_WC_REM_ABORT_ERR]		= DAT_ST_REMOTE_RESPONDER,
	[IB_WC_INV_EECN_ERR]		= DAT_ST_TRANSPORT,
	[IB_WC_INV_EEC_STATE_ERR]	= DAT_ST_TRANSPORT,
	[IB_WC_FATAL_ERR]		= DAT_ST_TRANSPORT,
	[IB_WC_RESP_TIMEOUT_ERR]	= DAT_ST_RECEIVER_NOT_READY,
	[IB_WC_GENERAL_ERR]		= DAT_ST_TRANSPORT,
};

static u8 wc_to_status(const struct ib_wc *wc, const struct dat_dev *dev, bool recv)
{
	/* Other causes for that status can't be: the segments were checked before posting. */
	if (recv && wc->status == IB_WC_LOC_QP_OP_ERR && dev->quirks & DAT_QUIRK_LONG_IS_QP_OP)
		return DAT_ST_LOCAL_LENGTH;
	if ((unsigned int)wc->status >= ARRAY_SIZE(wc_status))
		return DAT_ST_TRANSPORT;
	return wc_status[wc->status];
}

static bool is_failure(u8 status)
{
	return status != DAT_ST_SUCCESS && status != DAT_ST_FLUSHED;
}

/* dat_wc_deliver(), for callers who know what it was. */
static __always_inline void wc_deliver(struct dat_ep *ep, bool recv, u64 cookie, u8 flags,
				       u8 status, u64 len)
{
	struct dat_eqe eqe = {
		.type	= DAT_EV_DTO,
		.status	= status,
		.owner	= ep->obj.user_data,
		.cookie	= cookie,
		.data	= status == DAT_ST_SUCCESS ? len : 0,
	};
	bool failed = status != DAT_ST_SUCCESS, told;
	struct dat_evd *evd;

	lockdep_assert_held(&ep->lock);
	trace_dat_complete(ep, recv, cookie, status, len);
	if (!failed && flags & DAT_SQE_SUPPRESS)
		return;
	if (recv)
		eqe.flags = DAT_EQE_RECV | (ep->srq ? DAT_EQE_SRQ : 0);
	else
		eqe.flags = dat_kring_op(flags) << DAT_EQE_KOP_SHIFT;
	/* Buffers of an SRQ go back to their owner in any case. */
	if (unlikely(ep->freed) && !(eqe.flags & DAT_EQE_SRQ))
		return;
	evd = recv ? ep->recv_evd : ep->request_evd;
	told = dat_evd_deliver_bh(evd, &eqe, failed || !(flags & DAT_SQE_UNSIGNALLED)) && evd;
	if (!told && eqe.flags & DAT_EQE_SRQ)
		dat_srq_lost(ep->srq);
}

/**
 * dat_wc_deliver() - queue a DTO event
 * @ep: endpoint
 * @recv: a receive, else a request
 * @cookie: of the entry
 * @flags: of the entry
 * @status: enum dat_dto_status
 * @len: bytes
 *
 * Context: ep->lock held.
 */
noinline void dat_wc_deliver(struct dat_ep *ep, bool recv, u64 cookie, u8 flags, u8 status,
			     u32 len)
{
	wc_deliver(ep, recv, cookie, flags, status, len);
}

/**
 * dat_wc_deliver_bind() - queue the event of a bind
 * @ep: endpoint
 * @bind: the bind
 * @status: enum dat_dto_status
 *
 * One that is not carried out is forgotten.
 *
 * Context: ep->lock held.
 */
void dat_wc_deliver_bind(struct dat_ep *ep, const struct dat_bind *bind, u8 status)
{
	struct dat_eqe eqe = {
		.type = DAT_EV_RMR_BIND, .status = status, .cookie = bind->cookie,
	};
	bool failed = status != DAT_ST_SUCCESS;
	struct dat_evd *evd = ep->request_evd;
	struct dat_rmr *rmr;

	lockdep_assert_held(&ep->lock);
	trace_dat_complete(ep, false, bind->cookie, status, 0);
	rmr = dat_obj_get(ep->obj.ia, DAT_OBJ_RMR, bind->rmr);
	if (!IS_ERR(rmr)) {
		eqe.owner = rmr->obj.user_data;
		if (failed)
			dat_rmr_forget(rmr, bind->ticket);
	}
	if ((failed || !(bind->flags & DAT_SQE_SUPPRESS)) && !ep->freed &&
	    evd && evd->streams & DAT_STREAM_RMR_BIND)
		dat_evd_deliver_bh(evd, &eqe, failed || !(bind->flags & DAT_SQE_UNSIGNALLED));
	/* Not before: the event names it. */
	if (!IS_ERR(rmr))
		dat_obj_put(&rmr->obj);
}

/*
 * On siw each request speaks for itself.  A post that meets the end of the connection is
 * flushed ahead of what is in siw's queue, which did not get so far: an invalidation that
 * was taken for done would leave memory open that its owner has back.
 */
static u8 silent_status(const struct dat_conn *conn, u8 status, u8 last)
{
	return unlikely(conn->unordered) && last != DAT_ST_SUCCESS ? DAT_ST_FLUSHED : status;
}

/**
 * dat_wc_requests_done() - report requests, oldest first
 * @conn: connection
 * @n: how many, at least 1
 * @status: enum dat_dto_status of all but the last, for which no completion came
 * @last: enum dat_dto_status of the last
 *
 * Context: ep->lock held.
 */
void dat_wc_requests_done(struct dat_conn *conn, u32 n, u8 status, u8 last)
{
	struct dat_ep *ep = conn->ep;
	struct dat_queue *q = &ep->sq;
	u32 at = q->done, end = at + n;
	struct dat_slot *slot;
	u8 st, op;

	lockdep_assert_held(&ep->lock);
	conn->inflight -= n;
	q->done = end;
	dat_queue_publish(q);
	for (; at != end; at++) {
		slot = &conn->sq_slots[at & (q->entries - 1)];
		st = at + 1 == end ? last : silent_status(conn, status, last);
		op = dat_kring_op(slot->flags);
		if (unlikely(op >= DAT_OP_LAST) && slot->lmr)
			dat_fmr_end(slot->lmr, op, true, st);
		wc_deliver(ep, false, slot->cookie, slot->flags, st, slot->len);
	}
}

/* The requests before it had no completion of their own, which means that they succeeded. */
void dat_wc_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct dat_slot *slot = container_of(wc->wr_cqe, struct dat_slot, cqe);
	struct dat_conn *conn = cq->cq_context;
	struct dat_queue *q = &conn->ep->sq;
	u8 status = wc_to_status(wc, conn->dev, false);
	u32 n = ((u32)(slot - conn->sq_slots) - q->done) & (q->entries - 1);

	/* Not at the device: its completions can't be counted. */
	if (unlikely(n >= conn->inflight)) {
		dat_conn_fail(conn, DAT_EV_BROKEN);
		return;
	}
	dat_wc_requests_done(conn, n + 1, DAT_ST_SUCCESS, status);
	if (is_failure(status))
		dat_conn_fail(conn, DAT_EV_BROKEN);
}

/**
 * dat_wc_recv_finish() - report a receive
 * @conn: connection
 * @slot: of the RQ or the SRQ; free afterwards
 * @status: enum dat_dto_status
 *
 * Context: ep->lock held.
 */
void dat_wc_recv_finish(struct dat_conn *conn, struct dat_slot *slot, u8 status)
{
	struct dat_ep *ep = conn->ep;
	struct dat_queue *q = &ep->rq;
	u64 cookie = slot->cookie;
	/* What notifies of it is the queue that it comes from. */
	u8 flags = slot->flags | (conn->solicited ? DAT_SQE_UNSIGNALLED : 0);
	u32 rkey = slot->rkey;
	bool good = status == DAT_ST_SUCCESS;
	u64 len = slot->len;

	lockdep_assert_held(&ep->lock);
	/* The device has ended the key, even if the receive is reported as flushed. */
	if (unlikely(rkey)) {
		/* Only windows are for the peer to close. */
		if (!dat_rmr_invalidated(ep->pz, rkey) && good)
			status = DAT_ST_BAD_RESPONSE;
		if (good && ep->sq.kernel)
			len |= (u64)rkey << DAT_EQE_RKEY_SHIFT;
	}
	if (ep->srq) {
		dat_srq_complete(ep->srq, slot);
	} else {
		q->done++;
		dat_queue_publish(q);
	}
	wc_deliver(ep, true, cookie, flags, status, len);
	if (is_failure(status))
		dat_conn_fail(conn, DAT_EV_BROKEN);
}

/* The peer may be faster than the last message of the handshake: keep it for later. */
static void wc_recv_early(struct dat_conn *conn, struct dat_slot *slot, u8 status)
{
	slot->status = status;
	list_add_tail(&slot->early, &conn->early);
	/*
	 * Whatever the peer sent, an error too, proves that the connection stands.  The end of
	 * the connection has cancelled that work, and completes what comes after.
	 */
	if (conn->passive && conn->state == DAT_CONN_CONNECTING && status != DAT_ST_FLUSHED)
		queue_work(dat_wq, &conn->early_work);
}

/* A receive holds a message that fits, or it completes with an error. */
static u8 wc_recv_status(const struct ib_wc *wc, const struct dat_dev *dev, u32 posted)
{
	u8 status = wc_to_status(wc, dev, true);

	if (status != DAT_ST_SUCCESS || likely(dat_wc_is_message(wc, posted)))
		return status;
	return wc->byte_len > posted ? DAT_ST_LOCAL_LENGTH : DAT_ST_BAD_RESPONSE;
}

void dat_wc_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct dat_slot *slot = container_of(wc->wr_cqe, struct dat_slot, cqe);
	struct dat_conn *conn = cq->cq_context;
	u8 status = wc_recv_status(wc, conn->dev, slot->len);

	slot->rkey = 0;
	if (wc->status == IB_WC_SUCCESS && wc->wc_flags & IB_WC_WITH_INVALIDATE)
		slot->rkey = wc->ex.invalidate_rkey;
	slot->len = status == DAT_ST_SUCCESS ? wc->byte_len : 0;
	if (conn->live)
		dat_wc_recv_finish(conn, slot, status);
	else
		wc_recv_early(conn, slot, status);
}
