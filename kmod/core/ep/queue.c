// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The pump: dat_queue_pump_sq() and dat_queue_pump_rq() move entries from the rings of an endpoint
 * to the device.
 *
 * When the pump returns, one of these events will run the pump again: the completion of an entry of
 * this queue in flight, or on a solicited connection the next poll of its receive CQ; a kick by the
 * producer, for which the pump sets NEED_KICK; a visit by the poller thread, while that thread
 * polls the doorbells; a visit by a thread of the peer, see dat_conn_is_pulled() and
 * dat_conn.pulls_recvs; or the next post of a kernel consumer.
 *
 * A ring may be long, but softirqs must not be disabled for long.  So a loop over all entries of a
 * ring runs in slices of DAT_SLICE entries.
 */
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/ep/srq.h"
#include "core/mem/lmr.h"
#include "core/mem/rmr.h"
#include "core/trace.h"

void dat_queue_init(struct dat_queue *q, struct dat_obj *obj, u32 entries)
{
	q->obj = obj;
	q->entries = entries;
	q->bell = DAT_NO_BELL;
}

/* Asserts that the lock of the queue is held, which is the lock of the EP or SRQ. */
void dat_queue_assert_held(const struct dat_queue *q)
{
	if (q->obj->type == DAT_OBJ_SRQ)
		lockdep_assert_held(&to_dat_srq(q->obj)->lock);
	else
		lockdep_assert_held(&to_dat_ep(q->obj)->lock);
}

/* Tells the producer that no kick is needed.  The lock of the queue is held. */
void dat_queue_disarm(struct dat_queue *q)
{
	dat_queue_assert_held(q);

	if (q->armed)
		q->ops->disarm(q);
	q->armed = 0;
}

/*
 * Asks for a kick when the ring holds @after entries.  Returns true if the ring already holds that
 * many.  The caller must then take these entries.  The lock of the queue is held.
 */
bool dat_queue_arm(struct dat_queue *q, u32 after)
{
	dat_queue_assert_held(q);

	q->armed = after;
	return q->ops->arm(q, after);
}

/*
 * Counts a slice of DAT_SLICE entries that a thread of the consumer has pumped.  @slices: number of
 * slices of this pass so far.  Returns true if the thread must pump another slice.  The lock of the
 * queue is held and was not released since the pump.
 *
 * Another thread may go on posting, so the pass is limited.  After the first slice, this function
 * asks for kicks, so each later post has a kick of its own.  The pass then only has to take the
 * entries that are in the ring at that time.  Their number is at most q->entries.
 */
bool dat_queue_slice(struct dat_queue *q, u32 *slices)
{
	dat_queue_assert_held(q);

	if (!*slices)
		dat_queue_arm(q, 1);
	return (*slices)++ * DAT_SLICE < q->entries;
}

/*
 * Returns true while the poller thread polls the doorbells.  The thread finds new entries without a
 * kick.
 */
static bool queue_watched(const struct dat_queue *q)
{
	return READ_ONCE(q->obj->ia->watched);
}

/* Returns true if the device can hold another entry.  Does not use the producer's index. */
static bool queue_has_room(const struct dat_queue *q)
{
	return q->head - q->done < q->window;
}

/*
 * Returns true if completed receives of the queue may stay in the CQ until a thread polls it, and
 * do not make the pump run meanwhile; see core/event/solicited.c.  A timer polls for an SRQ.
 */
static bool queue_is_solicited(const struct dat_queue *q)
{
	const struct dat_conn *conn;

	if (q->obj->type == DAT_OBJ_SRQ)
		return false;
	conn = to_dat_ep(q->obj)->conn;
	return conn && conn->solicited;
}

/* Returns true if the transport runs the pump when it needs a receive. */
static bool queue_is_pulled(const struct dat_queue *q)
{
	const struct dat_conn *conn;

	if (q->obj->type == DAT_OBJ_SRQ)
		return false;
	conn = to_dat_ep(q->obj)->conn;
	return conn && conn->pulls_recvs && conn->live;
}

/*
 * Returns the number of receives in the ring at which the producer must kick; 0 if no kick is
 * needed, or if the device has no room.
 *
 * If no receive is in flight, only a kick makes the pump run.  If few receives are in flight, a
 * completion makes the pump run as well, but the peer may use up the remaining receives before
 * that.  So ask for a kick, which lets the pump add receives in time.
 *
 * If the transport runs the pump when a message needs a receive, only a message that has found none
 * needs a kick.  If that message waits because the device has no room, the next completion runs the
 * pump, which asks for the kick.
 *
 * On a solicited connection, no completion is sure to run the pump before the peer has used up all
 * receives at the device.  So no receive may stay in the ring while the device has room.
 *
 * With iWARP, a message that finds no receive at the device ends the connection.  So no receive may
 * stay in the ring while the device has room.  Each receive needs a kick even while the poller
 * thread runs, because that thread might find a request before the receive of its answer.
 */
u32 dat_queue_kick_after(const struct dat_queue *q)
{
	u32 low = max(min(q->entries, q->peak) / 2, 1U);
	u32 busy = q->head - q->done;

	if (q->obj->ia->iwarp && queue_has_room(q))
		return 1;
	if (queue_watched(q))
		return 0;
	if (queue_is_pulled(q))
		return to_dat_ep(q->obj)->conn->hungry && queue_has_room(q) ? 1 : 0;
	if (!busy || (queue_is_solicited(q) && queue_has_room(q)))
		return 1;
	return busy < low ? max(low / 2, 1U) : 0;
}

/* Marks the queue as broken and ends the connection: an index of the producer is out of range. */
void dat_queue_break(struct dat_ep *ep, struct dat_queue *q)
{
	lockdep_assert_held(&ep->lock);

	q->broken = true;
	dat_queue_count_bad(q);
	dat_ia_async(ep->obj.ia, DAT_EV_ASYNC_EP_BROKEN, DAT_OBJ_EP, ep->obj.user_data, 0);
	if (ep->conn)
		dat_conn_fail(ep->conn, DAT_EV_BROKEN);
}

static void queue_fail(struct dat_queue *q, struct dat_failure *f, u64 cookie, u8 flags,
		       int err)
{
	dat_queue_count_bad(q);
	*f = (struct dat_failure) {
		.set = true, .cookie = cookie, .flags = flags, .status = dat_wr_error(err),
	};
}

static struct dat_slot *queue_slot(struct dat_queue *q, struct dat_slot *slots)
{
	/* fetch() has just taken the entry, so q->head is one past the entry. */
	return &slots[(q->head - 1) & (q->entries - 1)];
}

void dat_wr_to_bind(const struct dat_wr *wr, struct dat_bind *bind)
{
	*bind = (struct dat_bind) {
		.set = true, .cookie = wr->cookie, .flags = wr->flags,
		.rmr = wr->raddr > U32_MAX ? 0 : wr->raddr, .ticket = wr->rkey,
	};
}

/*
 * Returns true if the driver carries out the fence of the request in ep->wr, and the device does
 * not: the request waits until all earlier requests have completed.
 */
static bool sq_is_fence(const struct dat_conn *conn, const struct dat_wr *wr)
{
	if (wr->op == DAT_KOP_LMR_INVALIDATE && wr->raddr & DAT_KOP_FENCE)
		return true;
	return wr->flags & DAT_SQE_FENCE && conn->dev->quirks & DAT_QUIRK_LATE_FENCE;
}

/*
 * Returns true if the request in ep->wr must wait until no request is in flight; sets conn->fenced.
 * @n: number of requests in the chain before this request.  Inline, because every request runs this
 * check and few requests have to wait.
 */
static __always_inline bool sq_must_wait(struct dat_conn *conn, unsigned int n)
{
	struct dat_wr *wr = &conn->ep->wr;

	if (likely(wr->op < DAT_OP_LAST && !(wr->flags & DAT_SQE_FENCE) && !conn->unordered))
		return false;
	/* dat_conn_progress() ends the wait. */
	conn->fenced = sq_is_fence(conn, wr) && (n || conn->inflight);
	/* If the request need not wait, neither does the device. */
	if (!conn->fenced && conn->dev->quirks & DAT_QUIRK_LATE_FENCE)
		wr->flags &= ~DAT_SQE_FENCE;
	if (!conn->fenced && conn->unordered)
		conn->fenced = conn->dev->ops->send_waits(conn, n);
	return conn->fenced;
}

static void sq_refuse(struct dat_conn *conn, int err)
{
	struct dat_failure *f = &conn->sq_failed;
	struct dat_wr *wr = &conn->ep->wr;

	queue_fail(&conn->ep->sq, f, wr->cookie, wr->flags, err);
	/*
	 * Even a malformed bind may name a prepared binding, which no other entry will use:
	 * dat_report_bind() drops the binding.
	 */
	if (wr->op == DAT_OP_RMR_BIND)
		dat_wr_to_bind(wr, &f->bind);
	f->op = wr->op;
	f->lmr = dat_fmr_find(conn->ep->obj.ia, wr);
}

/* Stores what the event for the request will need, and sets wr_cqe and next of the WR. */
static void sq_fill_slot(struct dat_conn *conn, struct dat_slot *slot, struct ib_send_wr *wr)
{
	slot->cookie = conn->ep->wr.cookie;
	slot->flags = conn->ep->wr.flags;
	slot->at = conn->ep->sq.head - 1;
	wr->wr_cqe = &slot->cqe;
	wr->next = NULL;
	trace_dat_post(&conn->ep->obj, conn->ep->wr.op, slot->cookie, slot->len, wr->num_sge,
		       conn->ep->wr.with_imm);
}

/*
 * Builds WR @n of a chain from the next request.  Returns the number of requests that the ring
 * held, including this one; 0 if there is no request or the queue has stopped; or an errno.
 */
static int sq_next(struct dat_conn *conn, unsigned int n)
{
	struct dat_ep *ep = conn->ep;
	struct dat_queue *q = &ep->sq;
	struct ib_sge *sge = conn->sge + n * ep->attr.max_request_iov;
	struct dat_slot *slot;
	int held, ret;

	held = q->ops->fetch(q, &ep->wr);
	if (!held)
		return 0;
	if (held == -EOVERFLOW) {
		dat_queue_break(ep, q);
		return held;
	}
	ret = held;
	if (ret > 0 && sq_must_wait(conn, n)) {
		q->head--;
		return 0;
	}
	slot = queue_slot(q, conn->sq_slots);
	if (ret > 0 && ep->wr.op == DAT_OP_RMR_BIND) {
		/*
		 * Stop the queue: dat_conn_progress() starts the bind when all earlier requests
		 * have completed.
		 */
		if (!ep->wr.num_sge && ep->wr.raddr <= U32_MAX) {
			dat_wr_to_bind(&ep->wr, &conn->bind);
			return 0;
		}
		ret = -EINVAL;
	} else if (ret > 0) {
		ret = dat_wr_build_send(conn, &conn->send_wr[n], sge, &slot->len);
	}
	if (ret < 0) {
		sq_refuse(conn, ret);
		return ret;
	}
	sq_fill_slot(conn, slot, &conn->send_wr[n].wr);
	if (unlikely(ep->wr.op >= DAT_OP_LAST))
		slot->lmr = dat_fmr_find(ep->obj.ia, &ep->wr);
	if (n)
		conn->send_wr[n - 1].wr.next = &conn->send_wr[n].wr;
	return held;
}

/*
 * Returns true if the completion of a request may depend on the peer's program: a send, or a write
 * with immediate data, waits until the program posts a receive.  The peer's device serves all other
 * requests without the program.
 */
static bool sq_waits_for_peer(const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_INV:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return true;
	default:
		return false;
	}
}

/*
 * Returns true if suppressed requests may stay unsignalled at the end of a chain.  With iWARP, a
 * completion need not prove that the reads before it have completed.
 */
static bool sq_may_end_silent(const struct dat_conn *conn)
{
	const struct dat_ia *ia = conn->ep->obj.ia;

	return ia->silent && !ia->iwarp && !(conn->dev->quirks & DAT_QUIRK_FLUSH_ALL);
}

/*
 * Chooses which of the @n requests in a chain are signalled.  A request that is not signalled is
 * reported only when the next signalled request completes.
 *
 * A request that owes an event is followed by a signalled request in its chain, because there may
 * be no later request.  No send lies in between: the completion of a send may depend on the peer's
 * program, so the request before a send is signalled.  The same holds for a write with immediate
 * data.
 *
 * A suppressed request owes no event, so no other request needs to follow.  But a full queue must
 * empty without a kick, so fewer than a quarter of the window stay silent.
 *
 * @kicked: a thread of the consumer runs the pump.  A chain that a completion has caused ends with
 * a signalled request, so that a stream of posts goes on without kicks.  So does a chain before a
 * request that stops the queue, which saves a marker.
 */
static void sq_moderate(struct dat_conn *conn, u32 n, bool kicked)
{
	u32 most = clamp(conn->ep->sq.window / 4, 1U, (u32)DAT_SILENT_TAIL);
	bool tail = kicked && !dat_queue_stopped(conn), loud = !sq_may_end_silent(conn), signal;
	u32 owed = 0, bytes = 0, i;

	for (i = 0; i < n; i++) {
		struct ib_send_wr *wr = &conn->send_wr[i].wr;
		const struct dat_slot *slot = container_of(wr->wr_cqe, struct dat_slot, cqe);
		bool last = i == n - 1;

		if (owed || loud || dat_slot_owes_event(slot)) {
			bytes += slot->len;
			signal = ++owed >= DAT_SILENT_WRS || bytes >= DAT_SILENT_BYTES || last ||
				 sq_waits_for_peer(wr->next);
		} else {
			signal = ++conn->silent >= most || (last && !tail);
		}
		if (!signal)
			continue;
		wr->send_flags |= IB_SEND_SIGNALED;
		conn->silent = 0;
		owed = 0;
		bytes = 0;
	}
}

/*
 * Lets the device report the requests in flight if all of them are silent: posts a marker, which
 * completes after them.  ep->lock is held.
 */
void dat_queue_mark(struct dat_conn *conn)
{
	lockdep_assert_held(&conn->ep->lock);

	if (!conn->inflight || dat_conn_awaits(conn) || dat_conn_is_closing(conn))
		return;
	conn->mark_at = conn->ep->sq.done + conn->inflight;
	conn->marked = true;
	if (conn->dev->ops->mark(conn))
		dat_conn_fail(conn, DAT_EV_BROKEN);
}

/*
 * Handles the completion of the marker with @status, which is a DAT_ST_*.  A marker that fails but
 * is not flushed was executed after all requests before it, which have succeeded.  The peer may
 * refuse the marker, or may be dead.  ep->lock is held; the caller calls dat_conn_completed()
 * afterwards.
 */
void dat_queue_mark_done(struct dat_conn *conn, u8 status)
{
	u32 n = conn->mark_at - conn->ep->sq.done;

	lockdep_assert_held(&conn->ep->lock);
	conn->marked = false;
	if (status == DAT_ST_FLUSHED)
		return;
	if (n && n <= conn->inflight)
		dat_complete_requests(conn, n, DAT_ST_SUCCESS, DAT_ST_SUCCESS);
	/* The consumer has ended a connection that drains, and nothing was lost. */
	if (status != DAT_ST_SUCCESS && (conn->state != DAT_CONN_DRAINING || conn->inflight))
		dat_conn_fail(conn, DAT_EV_BROKEN);
}

/*
 * Finds out which requests have completed, for a consumer that asks.  The answer of the device
 * comes later.  Context: softirqs enabled.
 */
void dat_queue_report(struct dat_ep *ep)
{
	spin_lock_bh(&ep->lock);
	if (ep->conn && ep->conn->inflight && dat_ep_posting(ep->state)) {
		ep->conn->report = true;
		ep->conn->report_at = ep->sq.head;
		dat_queue_mark(ep->conn);
	}
	spin_unlock_bh(&ep->lock);
}

/* Undoes the post of the requests from @bad to the end, which the device has refused. */
static void sq_refused(struct dat_conn *conn, const struct ib_send_wr *bad)
{
	struct dat_queue *q = &conn->ep->sq;
	struct dat_slot *slot;
	u32 refused = 0;

	/*
	 * @bad is NULL if siw has queued the whole chain but cannot start its SQ.  The requests
	 * stay in the SQ until the QP is flushed.
	 */
	if (!bad) {
		dat_conn_fail(conn, DAT_EV_BROKEN);
		return;
	}
	slot = container_of(bad->wr_cqe, struct dat_slot, cqe);
	for (; bad; bad = bad->next)
		refused++;
	conn->inflight -= refused;
	/*
	 * An entry that stopped the queue came after the refused requests: put that entry back as
	 * well.
	 */
	if (conn->sq_failed.set || conn->bind.set)
		refused++;
	conn->bind.set = false;
	conn->fenced = false;
	/*
	 * Report the first refused request as failed.  The other refused requests go back into the
	 * ring, where the teardown flushes them.
	 */
	q->head -= refused - 1;
	queue_fail(q, &conn->sq_failed, slot->cookie, slot->flags, -EIO);
	conn->sq_failed.op = dat_flags_op(slot->flags);
	if (conn->sq_failed.op >= DAT_OP_LAST)
		conn->sq_failed.lmr = slot->lmr;
	/*
	 * Earlier requests without IB_SEND_SIGNALED may depend on a signalled request that was
	 * refused.  End the connection: its teardown completes the earlier requests.
	 */
	dat_conn_fail(conn, DAT_EV_BROKEN);
}

/* Posts requests as one chain; see sq_moderate().  Returns true if the ring may have more. */
static bool sq_chain(struct dat_conn *conn, bool kicked)
{
	const struct ib_send_wr *bad = NULL;
	struct dat_queue *q = &conn->ep->sq;
	int held = 0;
	u32 n = 0;

	/* The ring is empty after its last entry, so do not look at the ring again. */
	while (n < DAT_BATCH && queue_has_room(q) && held != 1) {
		held = sq_next(conn, n);
		if (held <= 0)
			break;
		n++;
	}
	if (n) {
		sq_moderate(conn, n, kicked);
		conn->inflight += n;
		if (unlikely(conn->dev->ops->post_send(conn, &conn->send_wr[0].wr, &bad)))
			sq_refused(conn, bad);
	}
	return n == DAT_BATCH && !dat_queue_stopped(conn);
}

/*
 * Resumes a stopped queue if no completion will: because no request is in flight, or all of them
 * are silent.
 */
static void sq_resume_if_drained(struct dat_conn *conn)
{
	if (dat_queue_stopped(conn) && !dat_conn_awaits(conn))
		dat_conn_progress(conn);
}

/*
 * Updates ep->open, the connection to which posts may bypass the ring, after a change of one of the
 * conditions below.  Two functions stop the queue.  dat_queue_pump_sq() calls this function before
 * it returns.  sq_post_now() stops the queue only if the device refuses the request; sq_refused()
 * then closes the connection, and conn_close() calls this function.  ep->lock is held.
 */
void dat_queue_update_open(struct dat_ep *ep)
{
	struct dat_conn *conn = ep->conn;

	lockdep_assert_held(&ep->lock);
	if (ep->state != DAT_EP_CONNECTED || ep->dead || !ep->sq.kernel || !conn ||
	    dat_conn_is_closing(conn) || conn->unordered || dat_queue_stopped(conn))
		conn = NULL;
	ep->open = conn;
}

/*
 * Moves a slice of requests from the ring to the device.  The completions of the requests run the
 * pump again.  @kicked: the caller is a thread of the consumer, see sq_moderate().  The connection
 * is established or closing.  ep->lock is held.
 */
void dat_queue_pump_sq(struct dat_conn *conn, bool kicked)
{
	struct dat_ep *ep = conn->ep;
	struct dat_queue *q = &ep->sq;
	u32 start = q->head, end = start + DAT_SLICE;

	lockdep_assert_held(&ep->lock);
	for (;;) {
		if (dat_conn_is_closing(conn) || dat_queue_stopped(conn) || q->broken)
			break;
		while ((int)(end - q->head) > 0 && sq_chain(conn, kicked))
			;
		if (q->broken || dat_queue_stopped(conn))
			break;
		/* A completion or a polling thread will run the pump again: no kick is needed. */
		if (dat_conn_awaits(conn) || queue_watched(q) || dat_conn_is_pulled(conn)) {
			dat_queue_disarm(q);
			break;
		}
		if (!dat_queue_arm(q, 1))
			break;
	}
	dat_queue_publish(q);
	/* Count now: sq_resume_if_drained() may run the pump again, which counts its own posts. */
	dat_queue_count_posts(q, DAT_STAT_REQUESTS, q->head - start);
	if (q->kernel)
		dat_queue_update_open(ep);
	sq_resume_if_drained(conn);
}

/* Stores what the event for the receive will need, and sets wr_cqe and next of the WR. */
static void rq_fill_slot(struct dat_conn *conn, struct dat_slot *slot, struct ib_recv_wr *wr)
{
	slot->cookie = conn->ep->wr.cookie;
	slot->flags = conn->ep->wr.flags;
	wr->wr_cqe = &slot->cqe;
	wr->next = NULL;
	trace_dat_post(&conn->ep->obj, DAT_OP_INVALID, slot->cookie, slot->len, wr->num_sge, false);
}

static void rq_refuse(struct dat_conn *conn, u64 cookie, u8 flags, int err)
{
	queue_fail(&conn->ep->rq, &conn->rq_failed, cookie, flags, err);
	dat_conn_fail(conn, DAT_EV_BROKEN);
}

/*
 * Builds WR @n of a chain from the next receive.  Returns the number of receives that the ring
 * held, including this one; or an errno, where -EOVERFLOW means that the producer's index is out of
 * range.
 */
static int rq_next(struct dat_conn *conn, unsigned int n)
{
	struct dat_ep *ep = conn->ep;
	struct dat_queue *q = &ep->rq;
	struct ib_recv_wr *wr = &conn->recv_wr[n];
	struct dat_slot *slot;
	int held, ret;

	held = q->ops->fetch(q, &ep->wr);
	if (!held || held == -EOVERFLOW)
		return held;
	slot = queue_slot(q, conn->rq_slots);
	ret = held;
	if (ret > 0)
		ret = dat_wr_build_recv(conn, wr, conn->sge + n * ep->attr.max_recv_iov,
					&slot->len);
	if (ret < 0)
		return ret;
	rq_fill_slot(conn, slot, wr);
	if (n)
		conn->recv_wr[n - 1].next = wr;
	return held;
}

/*
 * Posts the chain in conn->recv_wr.  If the device refuses a receive, reports that receive as
 * failed, puts the later ones back into the ring, where the teardown flushes them, and returns
 * false.
 */
static bool rq_post(struct dat_conn *conn)
{
	const struct ib_recv_wr *bad = NULL;
	struct dat_slot *slot;
	int ret = conn->dev->ops->post_recv(conn, &conn->recv_wr[0], &bad);

	if (likely(!ret))
		return true;
	bad = bad ?: &conn->recv_wr[0];
	slot = container_of(bad->wr_cqe, struct dat_slot, cqe);
	while ((bad = bad->next))
		conn->ep->rq.head--;
	rq_refuse(conn, slot->cookie, slot->flags, ret);
	return false;
}

/*
 * Posts at most @most receives as one chain, and then ends the connection if the receive after them
 * is invalid.  Returns true if the ring may have more.
 */
static bool rq_chain(struct dat_conn *conn, u32 most)
{
	struct dat_ep *ep = conn->ep;
	struct dat_queue *q = &ep->rq;
	int ret = 0;
	u32 n = 0;

	most = min_t(u32, most, DAT_BATCH);
	while (n < most && queue_has_room(q) && ret != 1) {
		ret = rq_next(conn, n);
		if (ret <= 0)
			break;
		n++;
	}
	if (n && !rq_post(conn)) {
		/* The invalid receive goes back into the ring as well. */
		if (ret < 0 && ret != -EOVERFLOW)
			q->head--;
		return false;
	}
	if (ret == -EOVERFLOW)
		dat_queue_break(ep, q);
	else if (ret < 0)
		rq_refuse(conn, ep->wr.cookie, ep->wr.flags, ret);
	return n == DAT_BATCH;
}

/*
 * Moves a slice of receives from the ring to the device.  ep->lock is held.  Returns true if the
 * ring may have more.
 *
 * An invalid receive ends the connection, so all receives of a slice are valid, and the completion
 * of one of them runs the pump again.  The completions of one poll free fewer entries than a slice
 * has, so after a poll no receive stays in the ring while the device has room.  A thread of the
 * consumer pumps more slices; see dat_queue_slice().
 */
bool dat_queue_pump_rq(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;
	struct dat_queue *q = &ep->rq;
	u32 start = q->head, end = start + DAT_SLICE;
	bool more = false;
	u32 after;

	lockdep_assert_held(&ep->lock);
	if (ep->srq)
		return false;
	while (!dat_conn_is_closing(conn) && !q->broken) {
		while (q->head != end && rq_chain(conn, end - q->head))
			;
		if (q->broken || dat_conn_is_closing(conn))
			break;
		if (q->head == end) {
			more = true;
			break;
		}
		q->peak = max(q->peak, q->head - q->done);
		after = dat_queue_kick_after(q);
		if (!after)
			dat_queue_disarm(q);
		if (!after || !dat_queue_arm(q, after))
			break;
	}
	dat_queue_publish(q);
	dat_queue_count_posts(q, DAT_STAT_RECEIVES, q->head - start);
	return more;
}

/* Pumps a slice.  Returns true if the receive queue may have more entries. */
static bool queue_pump(struct dat_ep *ep, struct dat_queue *q)
{
	struct dat_conn *conn = ep->conn;

	lockdep_assert_held(&ep->lock);
	if (!conn)
		return false;
	if (q == &ep->rq)
		return conn->takes_recv && dat_queue_pump_rq(conn);
	/* Requests wait for an established connection: dat_conn_established() pumps them. */
	if (dat_ep_posting(ep->state))
		dat_queue_pump_sq(conn, true);
	return false;
}

/*
 * Processes a queue without slices.  This runs after each post of a kernel consumer, so the ring
 * has few entries.  ep->lock is held; never sleeps.
 */
static void queue_kick_locked(struct dat_ep *ep, struct dat_queue *q)
{
	struct dat_flush f;

	lockdep_assert_held(&ep->lock);
	if (ep->state != DAT_EP_DISCONNECTED) {
		queue_pump(ep, q);
		return;
	}
	dat_queue_flush_begin(ep, &f);
	while (dat_queue_flush(ep, &f))
		;
}

/*
 * Returns true if this thread must call ops->run() after it has pumped @q.  Some devices complete a
 * request in a softirq that runs when ep->lock is released; threads that poll then take the
 * completion at once.
 */
static bool queue_must_run(const struct dat_ep *ep, const struct dat_queue *q)
{
	const struct dat_conn *conn = ep->conn;

	lockdep_assert_held(&ep->lock);
	if (!conn)
		return false;
	return conn->runs || (q == &ep->sq && dat_busy_joined(conn) && dat_conn_awaits(conn));
}

static void queue_process(struct dat_ep *ep, struct dat_queue *q, bool kicked)
{
	u32 slices = 0;
	bool run;

	spin_lock_bh(&ep->lock);
	if (kicked)
		dat_queue_count_kick(q);
	ep->runner = true;
	if (ep->state == DAT_EP_DISCONNECTED)
		dat_queue_flush_all(ep);
	else
		while (queue_pump(ep, q) && dat_queue_slice(q, &slices))
			dat_ep_cond_resched(ep);
	ep->runner = false;
	run = queue_must_run(ep, q);
	spin_unlock_bh(&ep->lock);
	if (run)
		ep->obj.ia->dev->ops->run(ep);
}

/* Pumps the entries of a queue, or flushes the entries if the EP is DISCONNECTED.  May sleep. */
void dat_queue_process(struct dat_ep *ep, struct dat_queue *q)
{
	queue_process(ep, q, false);
}

/* Counts a kick of a queue, and processes the queue.  May sleep. */
void dat_queue_kick(struct dat_ep *ep, struct dat_queue *q)
{
	queue_process(ep, q, true);
}

/* Returns true if an entry may bypass the ring: the ring is empty, and the device has room. */
static __always_inline bool queue_is_free(const struct dat_queue *q)
{
	return dat_kring_idle(q) && queue_has_room(q);
}

/* Posts the request in ep->wr directly to the device.  ep->sge has @n SGEs of the request. */
static void sq_post_now(struct dat_conn *conn, u32 n)
{
	struct ib_rdma_wr *out = &conn->send_wr[0].rdma;
	const struct ib_send_wr *bad = NULL;
	struct dat_ep *ep = conn->ep;
	const struct dat_wr *wr = &ep->wr;
	struct dat_queue *q = &ep->sq;
	struct dat_slot *slot;

	dat_kring_pass(q);
	slot = queue_slot(q, conn->sq_slots);
	slot->len = wr->len;
	out->wr.send_flags = dat_wr_send_flags(wr->flags) | IB_SEND_SIGNALED;
	dat_wr_fill(out, wr->op == DAT_OP_RDMA_WRITE ? IB_WR_RDMA_WRITE : IB_WR_SEND, wr, ep->sge,
		    n);
	sq_fill_slot(conn, slot, &out->wr);
	conn->inflight++;
	if (unlikely(conn->dev->ops->post_send(conn, &out->wr, &bad))) {
		sq_refused(conn, bad);
		sq_resume_if_drained(conn);
	}
	dat_queue_count_posts(q, DAT_STAT_REQUESTS, 1);
}

/* Shortens the segments of a read to @bytes.  Fails with -EMSGSIZE if the segments have less. */
static int wr_cut(struct dat_wr *wr, u64 bytes)
{
	u32 i;

	if (wr->len < bytes)
		return -EMSGSIZE;
	for (i = 0; i < wr->num_sge; i++) {
		wr->sge[i].len = min_t(u64, wr->sge[i].len, bytes);
		bytes -= wr->sge[i].len;
	}
	return 0;
}

/**
 * dat_queue_post() - post a kernel consumer's request, which is in ep->wr
 * @ep: endpoint of a kernel consumer; ep->dead is not set
 * @limit: largest number of bytes of a message; for an RDMA read, number of bytes to transfer;
 *	unused for opcodes after DAT_OP_RDMA_READ
 *
 * If the device refuses the request, the request completes with an error.
 *
 * Context: ep->lock held.
 *
 * Return: 0; an error of dat_wr_to_sge(); -EMSGSIZE if the segments are longer than a message may
 * be, or shorter than the read; -ENOTCONN if the EP is neither CONNECTED nor DISCONNECTED; -E2BIG
 * if the request has too many segments for an entry of the ring, which dat_ep_modify() may have
 * made smaller; -ENOSPC if the ring is full or being replaced.
 */
int dat_queue_post(struct dat_ep *ep, u64 limit)
{
	struct dat_conn *conn = ep->open;
	struct dat_queue *q = &ep->sq;
	struct dat_wr *wr = &ep->wr;
	int n = 0, ret = 0;

	lockdep_assert_held(&ep->lock);
	/*
	 * Later opcodes have no segments, except DAT_KOP_READ_TO_RMR: its segment names an RMR,
	 * which a bind in the queue may still have to bind.
	 */
	if (wr->op <= DAT_OP_RDMA_READ) {
		n = dat_wr_to_sge(ep->pz, wr, DAT_MAX_SGE, wr->op == DAT_OP_RDMA_READ, ep->sge);
		if (unlikely(n < 0))
			return n;
		if (wr->op == DAT_OP_RDMA_READ)
			ret = wr_cut(wr, limit);
		else if (unlikely(wr->len > limit))
			ret = -EMSGSIZE;
		if (unlikely(ret))
			return ret;
	}
	if (likely(conn && (wr->op == DAT_OP_RDMA_WRITE || (wr->op == DAT_OP_SEND && !wr->raddr)) &&
		   !(wr->flags & DAT_SQE_FENCE) && !wr->with_imm &&
		   wr->num_sge <= ep->attr.max_request_iov && queue_is_free(q))) {
		sq_post_now(conn, n);
		return 0;
	}
	if (ep->state != DAT_EP_CONNECTED && ep->state != DAT_EP_DISCONNECTED)
		return -ENOTCONN;
	if (wr->num_sge > q->ring.max_sge)
		return -E2BIG;
	if (!q->ops->put(q, wr))
		return -ENOSPC;
	queue_kick_locked(ep, q);
	return 0;
}

/*
 * Posts a kernel consumer's receive, which is in ep->wr.  @limit: largest number of bytes of a
 * message.  ep->lock is held.  Fails with an error of dat_wr_to_sge(), with -EMSGSIZE if the
 * segments are longer than a message may be, with -ENOSPC if the ring is full or being replaced.
 */
int dat_queue_post_recv(struct dat_ep *ep, u64 limit)
{
	struct dat_conn *conn = ep->open;
	struct dat_queue *q = &ep->rq;
	struct dat_wr *wr = &ep->wr;
	struct dat_slot *slot;
	int n;

	lockdep_assert_held(&ep->lock);
	n = dat_wr_to_sge(ep->pz, wr, DAT_MAX_SGE, true, ep->sge);
	if (unlikely(n < 0))
		return n;
	if (unlikely(wr->len > limit))
		return -EMSGSIZE;
	if (likely(conn && wr->num_sge <= ep->attr.max_recv_iov && queue_is_free(q))) {
		dat_kring_pass(q);
		slot = queue_slot(q, conn->rq_slots);
		slot->len = wr->len;
		dat_wr_fill_recv(&conn->recv_wr[0], ep->sge, n);
		rq_fill_slot(conn, slot, &conn->recv_wr[0]);
		rq_post(conn);
		dat_queue_count_posts(q, DAT_STAT_RECEIVES, 1);
		return 0;
	}
	if (!q->ops->put(q, wr))
		return -ENOSPC;
	queue_kick_locked(ep, q);
	return 0;
}
