// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Turns completions into DAT events.  A transport reports completions in batches with
 * dat_complete().  dat_queue_fail_one() reports a work request that failed before it reached the
 * device.
 *
 * Fast path: for a run of successful sends and RDMA operations, or of successful receives,
 * evd->lock is taken once, all events are stored, and the consumer is woken once.  Slow path: every
 * other completion is reported singly.
 */
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/ep/srq.h"
#include "core/event/evd.h"
#include "core/event/ring.h"
#include "core/mem/lmr.h"
#include "core/mem/rmr.h"
#include "core/stats.h"
#include "core/trace.h"

/*
 * Flags that force the slow path: those that suppress the event or its notification, and all
 * opcodes from DAT_OP_RMR_BIND up.
 */
#define RARE_FLAGS	(DAT_SQE_SUPPRESS | DAT_SQE_UNSIGNALLED | 4 << DAT_FLAGS_OP_SHIFT)
static_assert(DAT_OP_RMR_BIND == 4 && DAT_OP_LAST == 5 && DAT_KOP_LAST <= 8);

static bool is_failure(u8 status)
{
	return status != DAT_ST_SUCCESS && status != DAT_ST_FLUSHED;
}

/* Counts a completion of the slow path.  ep->lock is held. */
static void count_completion(struct dat_ep *ep, u8 status)
{
	const struct dat_ia *ia = ep->obj.ia;

	ep->completed++;
	dat_stat_add(ia, DAT_STAT_COMPLETED, 1);
	if (is_failure(status)) {
		ep->failed++;
		dat_stat_add(ia, DAT_STAT_FAILED, 1);
	} else if (status == DAT_ST_FLUSHED) {
		ep->flushed++;
		dat_stat_add(ia, DAT_STAT_FLUSHED, 1);
	}
}

static __always_inline struct dat_eqe dto_event(const struct dat_ep *ep, bool recv, u64 cookie,
						u8 flags, u8 status, u32 len)
{
	return (struct dat_eqe) {
		.type	= DAT_EV_DTO,
		.status	= status,
		.op	= dat_flags_op(flags),
		.flags	= !recv ? 0 : ep->srq ? DAT_EQE_RECV | DAT_EQE_SRQ : DAT_EQE_RECV,
		.owner	= ep->obj.user_data,
		.cookie	= cookie,
		.len	= len,
	};
}

/* Flags of the event of a receive whose message carries more than its bytes. */
static const u16 extra_flags[] = {
	[DAT_EXTRA_KEY]		= 0,
	[DAT_EXTRA_IMM]		= DAT_EQE_IMM,
	[DAT_EXTRA_WRITE]	= DAT_EQE_IMM | DAT_EQE_WRITE,
};

/*
 * Queues the event for a completed request or receive.  @len: bytes transferred; @extra:
 * invalidated key or immediate data of a received message, or NULL.  ep->lock is held.
 */
void dat_report_dto(struct dat_ep *ep, bool recv, u64 cookie, u8 flags, u8 status, u32 len,
		    const struct dat_extra *extra)
{
	bool failed = status != DAT_ST_SUCCESS, reported;
	struct dat_evd *evd;
	struct dat_eqe eqe;

	lockdep_assert_held(&ep->lock);
	count_completion(ep, status);
	trace_dat_complete(ep, recv, cookie, status, len, extra ? extra->kind : DAT_EXTRA_NONE);
	if (!failed && flags & DAT_SQE_SUPPRESS)
		return;
	eqe = dto_event(ep, recv, cookie, flags, status, failed ? 0 : len);
	if (!failed && extra && extra->kind != DAT_EXTRA_NONE) {
		eqe.imm = extra->value;
		eqe.flags |= extra_flags[extra->kind];
	}
	/*
	 * An event with DAT_EQE_SRQ gives a buffer back to the owner of the SRQ, so queue such an
	 * event even if the EP was freed.
	 */
	if (unlikely(ep->freed) && !(eqe.flags & DAT_EQE_SRQ))
		return;
	evd = recv ? ep->recv_evd : ep->request_evd;
	reported = dat_evd_deliver_bh(evd, &eqe, failed || !(flags & DAT_SQE_UNSIGNALLED)) && evd;
	if (!reported && eqe.flags & DAT_EQE_SRQ)
		dat_srq_lost(ep->srq);
}

/*
 * Queues the event for a completed bind.  If the bind failed, drops the prepared binding.  ep->lock
 * is held.
 */
void dat_report_bind(struct dat_ep *ep, const struct dat_bind *bind, u8 status)
{
	struct dat_eqe eqe = {
		.type = DAT_EV_RMR_BIND, .status = status, .cookie = bind->cookie,
	};
	bool failed = status != DAT_ST_SUCCESS;
	struct dat_evd *evd = ep->request_evd;
	struct dat_rmr *rmr;

	lockdep_assert_held(&ep->lock);
	count_completion(ep, status);
	trace_dat_complete(ep, false, bind->cookie, status, 0, DAT_EXTRA_NONE);
	rmr = dat_obj_get(ep->obj.ia, DAT_OBJ_RMR, bind->rmr);
	if (!IS_ERR(rmr)) {
		eqe.owner = rmr->obj.user_data;
		if (failed)
			dat_rmr_forget(rmr, bind->ticket);
	}
	if ((failed || !(bind->flags & DAT_SQE_SUPPRESS)) && !ep->freed &&
	    evd && evd->streams & DAT_STREAM_RMR_BIND)
		dat_evd_deliver_bh(evd, &eqe, failed || !(bind->flags & DAT_SQE_UNSIGNALLED));
	/* The event contains the RMR's user_data, so keep the RMR until the event is queued. */
	if (!IS_ERR(rmr))
		dat_obj_put(&rmr->obj);
}

/*
 * Reports the @n oldest requests in flight as completed.  @status: status of the first @n - 1
 * requests, for which the device has reported no completion; @last: status of the last request.
 * ep->lock is held.
 */
void dat_complete_requests(struct dat_conn *conn, u32 n, u8 status, u8 last)
{
	struct dat_ep *ep = conn->ep;
	struct dat_queue *q = &ep->sq;
	u32 at = q->done, end = at + n;
	struct dat_slot *slot;
	u32 quiet = 0;
	u8 st, op;

	lockdep_assert_held(&ep->lock);
	conn->inflight -= n;
	conn->silent = min(conn->silent, conn->inflight);
	q->done = end;
	dat_queue_publish(q);
	for (; at != end; at++) {
		slot = &conn->sq_slots[at & (q->entries - 1)];
		st = at + 1 == end ? last : status;
		op = dat_flags_op(slot->flags);
		if (st == DAT_ST_SUCCESS && !dat_slot_owes_event(slot)) {
			trace_dat_complete(ep, false, slot->cookie, st, slot->len, DAT_EXTRA_NONE);
			quiet++;
			continue;
		}
		if (unlikely(op >= DAT_OP_LAST) && slot->lmr)
			dat_fmr_end(slot->lmr, op, true, st);
		dat_report_dto(ep, false, slot->cookie, slot->flags, st, slot->len, NULL);
	}
	ep->completed += quiet;
	dat_stat_add(ep->obj.ia, DAT_STAT_COMPLETED, quiet);
}

/* Reports a completed request, and the earlier requests that have no completion of their own. */
static void complete_request(struct dat_conn *conn, const struct dat_completion *c)
{
	struct dat_queue *q = &conn->ep->sq;
	u32 n = ((u32)(c->slot - conn->sq_slots) - q->done) & (q->entries - 1);

	/*
	 * The device has completed a request that is not in flight: its completions cannot be
	 * trusted.  End the connection.
	 */
	if (unlikely(n >= conn->inflight)) {
		dat_conn_fail(conn, DAT_EV_BROKEN);
		return;
	}
	dat_complete_requests(conn, n + 1, c->unproven ? DAT_ST_FLUSHED : DAT_ST_SUCCESS,
			      c->status);
	if (c->status == DAT_ST_FLUSHED)
		conn->flushed = true;
	if (is_failure(c->status))
		dat_conn_fail(conn, DAT_EV_BROKEN);
}

/* Frees the queue entries of the @n oldest requests, or of the @n receives from @c on. */
static __always_inline void queue_done(struct dat_conn *conn, const struct dat_completion *c,
				       u32 n, bool recv)
{
	struct dat_queue *q = recv ? &conn->ep->rq : &conn->ep->sq;

	if (recv && conn->ep->srq) {
		dat_srq_release(conn->ep->srq, c, n);
		return;
	}
	q->done += n;
	if (!recv)
		conn->inflight -= n;
	dat_queue_publish(q);
}

/*
 * Reports a receive of the RQ or the SRQ.  @slot may be in use again on return.  ep->lock is held.
 */
void dat_complete_recv(struct dat_conn *conn, struct dat_slot *slot, u8 status)
{
	struct dat_ep *ep = conn->ep;
	u64 cookie = slot->cookie;
	/*
	 * On a solicited connection, a successful receive does not notify the consumer: a
	 * notification of the receive CQ does.
	 */
	u8 flags = slot->flags | (conn->solicited ? DAT_SQE_UNSIGNALLED : 0);
	struct dat_extra extra = { slot->extra_value, slot->extra_kind };
	u32 len = slot->len;
	bool good = status == DAT_ST_SUCCESS;

	lockdep_assert_held(&ep->lock);
	/* The device has invalidated the key even if the receive is reported as flushed. */
	if (unlikely(extra.kind == DAT_EXTRA_KEY)) {
		/*
		 * A peer may invalidate only the key of a bound RMR: another key is an error of the
		 * peer.
		 */
		if (!dat_rmr_invalidated(ep->pz, extra.value) && good)
			status = DAT_ST_BAD_RESPONSE;
		if (!ep->sq.kernel)
			extra.kind = DAT_EXTRA_NONE;
	}
	queue_done(conn, &(struct dat_completion){ .slot = slot }, 1, true);
	dat_report_dto(ep, true, cookie, flags, status, len, &extra);
	if (ep->srq)
		dat_srq_refill(ep->srq);
	if (is_failure(status))
		dat_conn_fail(conn, DAT_EV_BROKEN);
}

/* Keeps a receive that completes before conn->live is set. */
static void recv_early(struct dat_conn *conn, struct dat_slot *slot, u8 status)
{
	slot->status = status;
	list_add_tail(&slot->early, &conn->early);
	conn->nr_early++;
	/*
	 * Data from the peer implies that the handshake has succeeded, even if the receive has an
	 * error status: let the transport report ESTABLISHED.  A closing connection gets no
	 * ESTABLISHED, and conn_flush() reports the receives in conn->early.
	 */
	if (conn->passive && conn->state == DAT_CONN_CONNECTING && status != DAT_ST_FLUSHED)
		dat_conn_imply_established(conn);
}

/*
 * Returns the status of a receive, whose slot still has the number of bytes posted.  Refuses
 * immediate data that the EP has not asked for: the program would take the length of a write for
 * the length of a message.
 */
static u8 recv_status(const struct dat_conn *conn, const struct dat_completion *c)
{
	bool imm = c->extra.kind == DAT_EXTRA_IMM || c->extra.kind == DAT_EXTRA_WRITE;

	if (!imm || c->status != DAT_ST_SUCCESS || dat_ep_has_imm(conn->ep))
		return c->status;
	return c->len > c->slot->len ? DAT_ST_LOCAL_LENGTH : DAT_ST_BAD_RESPONSE;
}

static void complete_one(struct dat_conn *conn, const struct dat_completion *c)
{
	struct dat_slot *slot = c->slot;
	u8 status;

	if (!slot->recv) {
		complete_request(conn, c);
		return;
	}
	status = recv_status(conn, c);
	slot->extra_kind = c->extra.kind;
	slot->extra_value = c->extra.value;
	slot->len = status == DAT_ST_SUCCESS ? c->len : 0;
	if (conn->live)
		dat_complete_recv(conn, slot, status);
	else
		recv_early(conn, slot, status);
}

/*
 * Returns true if a completion may take the fast path.  @ahead: number of completions that precede
 * this one in its run.  @recv: the run consists of receives, not of requests.
 *
 * A run of requests begins with the oldest request in flight and skips none.  Requests without
 * IB_SEND_SIGNALED between the run and this request would complete together with this request, and
 * only the slow path reports such requests.
 */
static __always_inline bool takes_fast_path(const struct dat_conn *conn,
					    const struct dat_completion *c, u32 ahead, bool recv)
{
	const struct dat_slot *slot = c->slot;

	/* The slow path ends the binding of a key that the message has invalidated. */
	if (unlikely(c->status != DAT_ST_SUCCESS || slot->flags & RARE_FLAGS || c->extra.kind) ||
	    slot->recv != recv)
		return false;
	return recv || (slot->at == (u16)(conn->ep->sq.done + ahead) && conn->inflight != ahead);
}

/*
 * Returns the number of completions from @c on that take the fast path together.  These are either
 * all requests or all receives.
 */
static __always_inline u32 fast_run(const struct dat_conn *conn, const struct dat_completion *c,
				    const struct dat_completion *end)
{
	bool recv = c->slot->recv;
	u32 n = 0;

	while (c + n != end && takes_fast_path(conn, c + n, n, recv))
		n++;
	return n;
}

static __always_inline void write_event(const struct dat_ep *ep, struct dat_evd *evd, u32 n,
					const struct dat_completion *c, bool recv)
{
	struct dat_eqe *eqe = dat_evring_at(&evd->ring, evd->ring.tail + n);
	const struct dat_slot *slot = c->slot;
	u32 len = recv ? c->len : slot->len;

	*eqe = dto_event(ep, recv, slot->cookie, slot->flags, DAT_ST_SUCCESS, len);
	trace_dat_complete(ep, recv, slot->cookie, DAT_ST_SUCCESS, len, DAT_EXTRA_NONE);
	trace_dat_event(evd, eqe, evd->ring.tail + n + 1, true);
}

/*
 * Takes the fast path for the completions from @c on, as many as the EVD has room for.  Returns the
 * number of these completions; 0 if @c must take the slow path.
 */
static __always_inline u32 complete_run(struct dat_conn *conn, const struct dat_completion *c,
					const struct dat_completion *end)
{
	struct dat_ep *ep = conn->ep;
	bool recv = c->slot->recv;
	struct dat_evd *evd = recv ? ep->recv_evd : ep->request_evd;
	u32 n, i;

	if (unlikely(!evd || ep->freed || (recv && (!conn->live || conn->solicited))))
		return 0;
	n = fast_run(conn, c, end);
	if (unlikely(!n))
		return 0;
	spin_lock(&evd->lock);
	/* The slow path handles a completion that finds no room, and reports the overflow. */
	n = min(n, dat_evd_room(evd, n));
	for (i = 0; i < n; i++)
		write_event(ep, evd, i, c + i, recv);
	if (likely(n)) {
		/*
		 * Publish the free entries before the events: the consumer may post again as soon
		 * as an event is visible.
		 */
		queue_done(conn, c, n, recv);
		dat_evring_publish(&evd->ring, n);
		evd->overflowed = false;
		evd->sink->wake(evd);
	}
	spin_unlock(&evd->lock);
	if (recv && ep->srq && n)
		dat_srq_refill(ep->srq);
	/* Count last: the consumer waits for the event.  ep->lock protects ep->completed. */
	ep->completed += n;
	dat_stat_add(ep->obj.ia, DAT_STAT_COMPLETED, n);
	dat_stat_add(ep->obj.ia, DAT_STAT_EVENTS, n);
	return n;
}

/*
 * Reports @n completions, in the order in which the device has reported them.  Context: ep->lock
 * held, softirqs disabled.
 */
void dat_complete(struct dat_conn *conn, const struct dat_completion *c, u32 n)
{
	const struct dat_completion *end = c + n;
	u32 run;

	lockdep_assert_held(&conn->ep->lock);
	while (c != end) {
		run = complete_run(conn, c, end);
		if (unlikely(!run)) {
			complete_one(conn, c);
			run = 1;
		}
		c += run;
	}
}
