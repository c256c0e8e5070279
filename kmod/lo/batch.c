// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Batches of requests.  A slice of a lane carries out a batch.  Then it reports the receives that
 * the batch has used, and after them the requests.  The memory of a message is copied without any
 * ep->lock.  An ep->lock is taken to pull receives, and for the reports: that of one end, then that
 * of the other.
 */
#include <rdma/ib_verbs.h>

#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/event/evd.h"
#include "lo/lo.h"

/* Result of an attempt to carry out the oldest request. */
enum lo_step {
	STEP_DONE,	/* it has ended; batch->status is its status */
	STEP_PART,	/* a part of the message is copied */
	STEP_STALL,	/* there is no receive */
	STEP_LATER,	/* it is too long for a softirq */
	STEP_NONE,	/* there is no request */
};

/**
 * struct lo_batch - requests that a slice has carried out, and not reported yet
 * @l: lane, which is locked
 * @slot: slot of this CPU if it is locked, else NULL
 * @room: number of bytes that the slice may still copy
 * @soft: flag: the thread is a tasklet
 * @nreq: number of requests
 * @status: DAT_ST_* of the last request; the others have succeeded
 * @bound: flag: the only request is LO_BIND
 * @broken: flag: the last request has failed so that the connection ends at the peer as well
 * @rdma: flag: one of the requests is an RDMA operation
 * @solicited: flag: one of the messages is solicited
 * @nrecv: number of receives
 * @done: completions of the receives, then of the requests
 */
struct lo_batch {
	struct lo_lane		*l;
	struct lo_slot		*slot;
	u32			room;
	bool			soft;
	u32			nreq;
	u8			status;
	bool			bound;
	bool			broken;
	bool			rdma;
	bool			solicited;
	u32			nrecv;
	struct dat_completion	done[LO_BATCH];
};

/* Ends the copies, since the caller waits for other copies or takes an ep->lock. */
static void batch_unlock(struct lo_batch *b)
{
	if (b->slot)
		lo_slot_unlock(b->slot);
	b->slot = NULL;
}

static enum lo_step request_done(struct lo_batch *b, u8 status)
{
	b->l->done = 0;
	b->nreq++;
	b->status = status;
	return STEP_DONE;
}

/* Ends a request that the peer's end refuses. */
static enum lo_step request_refused(struct lo_batch *b, u8 status)
{
	b->broken = true;
	return request_done(b, status);
}

/*
 * Copies the next part of a message of @len bytes.  All its keys are checked before.  Returns the
 * side that gives no access, if any.
 */
static enum lo_copied copy_part(struct lo_batch *b, const struct lo_side *from,
				const struct lo_side *to, u32 len)
{
	struct lo_lane *l = b->l;
	/* A short message is not cut: its words are to become visible at once. */
	u32 part = min(len - l->done, max_t(u32, b->room, LO_ORDERED));
	enum lo_copied ret;

	/* lo_copy() checks the keys of two single segments before it copies. */
	if (from->n > 1 || to->n > 1) {
		if (!lo_side_check(from, len))
			return LO_BAD_FROM;
		if (!lo_side_check(to, len))
			return LO_BAD_TO;
	}
	if (!b->slot)
		b->slot = lo_slot_lock();
	ret = lo_copy(b->slot, from, to, l->done, &part, l->done + part == len);
	if (ret == LO_COPIED) {
		l->done += part;
		b->room = l->done == len ? b->room - min(part, b->room) : 0;
	}
	return ret;
}

/* Returns the segments of a request; @data: room for the segment of inline data. */
static struct lo_side local_side(const struct lo_conn *lc, const struct lo_wqe *wqe,
				 struct ib_sge *data)
{
	if (!wqe->inlined)
		return (struct lo_side) {
			.sge = wqe->seg, .n = wqe->nseg, .pz = lc->conn.ep->pz,
			.kernel = lc->kernel,
		};
	*data = (struct ib_sge) { .addr = (uintptr_t)wqe->seg, .length = wqe->len };
	return (struct lo_side) { .sge = data, .n = 1, .kernel = true };
}

/*
 * Takes receives from the ring of the receiver.  Returns the first.  If there is none, lets the
 * next post of a receive mark the lane, and returns NULL.
 */
static const struct lo_wqe *pull_recv(struct lo_lane *l)
{
	struct dat_conn *conn = &l->to->conn;
	struct dat_ep *ep = conn->ep;
	const struct lo_wqe *recv;

	lockdep_assert_held(&l->lock);
	spin_lock(&ep->lock);
	ep->runner = true;
	if (conn->live)
		dat_queue_pump_rq(conn);
	recv = lo_fifo_peek(&l->to->rq, 0);
	if (!recv) {
		/* Now the pump asks for a kick, and looks at the ring again. */
		conn->hungry = true;
		if (conn->live)
			dat_queue_pump_rq(conn);
		recv = lo_fifo_peek(&l->to->rq, 0);
	}
	ep->runner = false;
	spin_unlock(&ep->lock);
	return recv;
}

/*
 * Returns the receive of the oldest message.  NULL: there is none; the post of one will mark the
 * lane.
 */
static const struct lo_wqe *batch_recv(struct lo_batch *b)
{
	const struct lo_wqe *recv = NULL;
	struct lo_lane *l = b->l;
	bool shared = l->to->conn.ep->srq;

	if (!shared)
		recv = lo_fifo_peek(&l->to->rq, 0);
	if (recv)
		return recv;
	/* The end of a key waits for the slot, and must not wait for another lock as well. */
	batch_unlock(b);
	return shared ? lo_srq_take(l) : pull_recv(l);
}

/* Ends a receive.  @extra: invalidated key or immediate data of the message. */
static void recv_done(struct lo_batch *b, const struct lo_wqe *recv, u8 status, u32 len,
		      struct dat_extra extra)
{
	struct lo_conn *to = b->l->to;

	b->done[b->nrecv++] = (struct dat_completion) {
		.slot = recv->slot, .status = status, .len = len, .extra = extra,
	};
	if (to->conn.ep->srq)
		b->l->taken = LO_NONE;
	else
		WRITE_ONCE(to->rq.head, to->rq.head + 1);
}

/* Returns the registration whose key a message may invalidate, or NULL. */
static struct lo_mr *invalidated_mr(const struct lo_lane *l, const struct lo_wqe *wqe)
{
	struct lo_mr *mr = lo_mr_find(wqe->rkey);

	/* Acquire: pairs with the release in mr_publish(). */
	return mr && smp_load_acquire(&mr->key) == wqe->rkey && mr->window &&
	       mr->pz == l->to->conn.ep->pz ? mr : NULL;
}

/* Ends a message and its receive, both with an error. */
static enum lo_step send_refused(struct lo_batch *b, const struct lo_wqe *recv, u8 status)
{
	recv_done(b, recv, status, 0, (struct dat_extra) {});
	return request_refused(b, DAT_ST_REMOTE_RESPONDER);
}

/* Ends a message that is too long for its receive, or that the receiver does not take. */
static enum lo_step message_unfit(struct lo_batch *b, const struct lo_wqe *wqe,
				  const struct lo_wqe *recv, const struct lo_side *from)
{
	/* As on devices, an error of the sender's memory comes first. */
	if (wqe->len && !lo_side_check(from, wqe->len))
		return request_done(b, DAT_ST_LOCAL_PROTECTION);
	return send_refused(b, recv, wqe->len > recv->len ? DAT_ST_LOCAL_LENGTH :
							    DAT_ST_BAD_RESPONSE);
}

/* Returns true if the receiver takes what the message has in addition to its bytes. */
static bool takes_extra(const struct lo_lane *l, const struct lo_wqe *wqe)
{
	if (wqe->op == LO_SEND_INV)
		return invalidated_mr(l, wqe);
	return wqe->op != LO_SEND_IMM || dat_ep_has_imm(l->to->conn.ep);
}

/* Ends a message that has arrived. */
static enum lo_step send_done(struct lo_batch *b, const struct lo_wqe *wqe,
			      const struct lo_wqe *recv)
{
	struct dat_extra extra = {};
	struct lo_mr *mr;

	if (unlikely(wqe->op == LO_SEND_IMM))
		extra = (struct dat_extra) { wqe->imm, DAT_EXTRA_IMM };
	if (unlikely(wqe->op == LO_SEND_INV)) {
		batch_unlock(b);
		mr = invalidated_mr(b->l, wqe);
		/* The owner, or another message, may just have ended the key. */
		if (!mr || !lo_mr_kill(mr, wqe->rkey))
			return send_refused(b, recv, DAT_ST_BAD_RESPONSE);
		extra = (struct dat_extra) { wqe->rkey, DAT_EXTRA_KEY };
	}
	b->solicited |= wqe->solicited;
	recv_done(b, recv, DAT_ST_SUCCESS, wqe->len, extra);
	return request_done(b, DAT_ST_SUCCESS);
}

static enum lo_step do_send(struct lo_batch *b, const struct lo_wqe *wqe)
{
	struct lo_lane *l = b->l;
	const struct lo_wqe *recv = batch_recv(b);
	struct lo_side from, to;
	struct ib_sge data;

	if (!recv)
		return STEP_STALL;
	from = local_side(l->from, wqe, &data);
	if (unlikely(wqe->len > recv->len ||
		     (wqe->op != LO_SEND && !l->done && !takes_extra(l, wqe))))
		return message_unfit(b, wqe, recv, &from);
	if (!wqe->len)
		return send_done(b, wqe, recv);
	to = (struct lo_side) {
		.sge = recv->seg, .n = recv->nseg, .pz = l->to->conn.ep->pz, .write = true,
		.kernel = l->to->kernel,
	};
	switch (copy_part(b, &from, &to, wqe->len)) {
	case LO_BAD_FROM:
		return request_done(b, DAT_ST_LOCAL_PROTECTION);
	case LO_BAD_TO:
		return send_refused(b, recv, DAT_ST_LOCAL_PROTECTION);
	default:
		return l->done < wqe->len ? STEP_PART : send_done(b, wqe, recv);
	}
}

/* Ends an RDMA operation that has succeeded.  @recv: receive of a write with immediate data. */
static enum lo_step remote_done(struct lo_batch *b, const struct lo_wqe *wqe,
				const struct lo_wqe *recv)
{
	if (recv) {
		b->solicited |= wqe->solicited;
		recv_done(b, recv, DAT_ST_SUCCESS, wqe->len,
			  (struct dat_extra) { wqe->imm, DAT_EXTRA_WRITE });
	}
	return request_done(b, DAT_ST_SUCCESS);
}

/*
 * Carries out an RDMA operation.  The receiver's endpoint takes no part, except that a write with
 * immediate data consumes a receive, and stalls until there is one.
 */
static enum lo_step do_rdma(struct lo_batch *b, const struct lo_wqe *wqe)
{
	bool write = wqe->op != LO_READ;
	const struct lo_wqe *recv = NULL;
	u32 need = write ? DAT_PRIV_REMOTE_WRITE : DAT_PRIV_REMOTE_READ;
	struct ib_sge data, there = {
		.addr = wqe->raddr, .length = wqe->len, .lkey = wqe->rkey,
	};
	struct lo_side local, remote;
	enum lo_copied ret;
	struct lo_lane *l = b->l;

	b->rdma = true;
	if (unlikely(!(READ_ONCE(l->rights) & need)))
		return request_refused(b, DAT_ST_REMOTE_ACCESS);
	local = local_side(l->from, wqe, &data);
	local.write = !write;
	if (unlikely(wqe->op == LO_WRITE_IMM)) {
		recv = batch_recv(b);
		if (!recv)
			return STEP_STALL;
		if (!l->done && !dat_ep_has_imm(l->to->conn.ep))
			return message_unfit(b, wqe, recv, &local);
	}
	/* As on devices, an operation of length 0 needs no key. */
	if (!wqe->len)
		return remote_done(b, wqe, recv);
	remote = (struct lo_side) {
		.sge = &there, .n = 1, .pz = l->to->conn.ep->pz, .need = need, .write = write,
	};
	ret = write ? copy_part(b, &local, &remote, wqe->len) :
		      copy_part(b, &remote, &local, wqe->len);
	if (ret == LO_COPIED)
		return l->done < wqe->len ? STEP_PART : remote_done(b, wqe, recv);
	if (ret == (write ? LO_BAD_FROM : LO_BAD_TO))
		return request_done(b, DAT_ST_LOCAL_PROTECTION);
	return request_refused(b, DAT_ST_REMOTE_ACCESS);
}

/* Puts keys into effect, or ends them.  An end waits for copies. */
static enum lo_step do_key(struct lo_batch *b, const struct lo_wqe *wqe)
{
	const struct dat_pz *pz = b->l->from->conn.ep->pz;
	struct lo_mr *mr;
	bool good;

	batch_unlock(b);
	mr = wqe->op == LO_REG ? NULL : lo_mr_find(wqe->rkey);
	if (mr && mr->pz != pz)
		mr = NULL;
	switch (wqe->op) {
	case LO_REG:
		good = lo_mr_open(pz, wqe->rkey);
		break;
	case LO_INV:
		good = mr && lo_mr_kill(mr, wqe->rkey);
		break;
	default:
		/* The peer may have invalidated the previous key. */
		if (mr)
			lo_mr_kill(mr, wqe->rkey);
		b->bound = true;
		good = !wqe->bind || lo_mr_open(pz, wqe->bind);
		return request_done(b, good ? DAT_ST_SUCCESS : DAT_ST_RMR_FAILED);
	}
	return request_done(b, good ? DAT_ST_SUCCESS : DAT_ST_LOCAL_PROTECTION);
}

/* Carries out the request after those of the batch. */
static enum lo_step batch_step(struct lo_batch *b)
{
	const struct lo_wqe *wqe = lo_fifo_peek(&b->l->from->sq, b->nreq);

	if (!wqe)
		return STEP_NONE;
	if (b->soft && wqe->len - b->l->done > LO_SOFT)
		return STEP_LATER;
	switch (wqe->op) {
	case LO_SEND:
	case LO_SEND_INV:
	case LO_SEND_IMM:
		return do_send(b, wqe);
	case LO_WRITE:
	case LO_WRITE_IMM:
	case LO_READ:
		return do_rdma(b, wqe);
	default:
		return do_key(b, wqe);
	}
}

/* Reports the receives of a batch, and a failure that ends the connection of the receiver. */
static void report_recvs(struct lo_batch *b)
{
	struct dat_conn *conn = &b->l->to->conn;
	struct dat_ep *ep = conn->ep;
	u32 sq_done, rq_done;

	spin_lock(&ep->lock);
	sq_done = ep->sq.done;
	rq_done = ep->rq.done;
	/* This thread looks at the mark of the lane again, if a receive that is posted sets it. */
	ep->runner = true;
	dat_complete(conn, b->done, b->nrecv);
	if (b->solicited && conn->solicited)
		dat_solicited_notify(conn);
	if (b->broken)
		dat_conn_fail(conn, DAT_EV_BROKEN);
	dat_conn_completed(conn, sq_done, rq_done);
	ep->runner = false;
	spin_unlock(&ep->lock);
}

/* Fills in the completions of the requests of a batch, and frees their entries. */
static void pop_requests(struct lo_batch *b)
{
	struct lo_fifo *f = &b->l->from->sq;
	u32 i;

	for (i = 0; i < b->nreq; i++)
		b->done[i] = (struct dat_completion) {
			.slot = lo_fifo_at(f, f->head + i)->slot,
			.status = i + 1 < b->nreq ? DAT_ST_SUCCESS : b->status,
		};
	WRITE_ONCE(f->head, f->head + b->nreq);
}

/* Reports the requests of a batch.  The pump may append others to the lane. */
static void report_requests(struct lo_batch *b)
{
	struct dat_conn *conn = &b->l->from->conn;
	struct dat_ep *ep = conn->ep;
	u32 sq_done, rq_done;

	pop_requests(b);
	spin_lock(&ep->lock);
	sq_done = ep->sq.done;
	rq_done = ep->rq.done;
	ep->runner = true;
	if (unlikely(b->bound))
		dat_conn_bind_done(conn, b->status);
	else
		dat_complete(conn, b->done, b->nreq);
	dat_conn_completed(conn, sq_done, rq_done);
	ep->runner = false;
	spin_unlock(&ep->lock);
}

/* Lets threads that poll the EVD of a CQ find the lane, if there are any and it has not joined. */
static void cq_join(struct lo_cq *lcq)
{
	struct dat_cq *cq = &lcq->cq;

	if (READ_ONCE(cq->link.round) || !cq->evd || !READ_ONCE(cq->evd->busy.on))
		return;
	spin_lock(&cq->lock);
	dat_busy_join(cq);
	spin_unlock(&cq->lock);
}

/*
 * Lets the threads that poll pull from now on, or stops that, because the lane is used for RDMA
 * operations.
 */
static void lane_join(struct lo_lane *l, const struct lo_batch *b)
{
	struct dat_cq *cq = &l->recv_cq.cq;

	if (unlikely(b->rdma && !l->rdma)) {
		l->rdma = true;
		spin_lock(&cq->lock);
		if (dat_busy_leave(cq))
			lo_rearm(cq);
		spin_unlock(&cq->lock);
	}
	if (b->nrecv && !l->rdma)
		cq_join(&l->recv_cq);
	if (b->nreq && READ_ONCE(cq->link.round))
		cq_join(&l->request_cq);
}

static void batch_report(struct lo_batch *b)
{
	if (b->nrecv || b->broken)
		report_recvs(b);
	if (b->nreq)
		report_requests(b);
	lane_join(b->l, b);
	if (unlikely(b->status != DAT_ST_SUCCESS))
		b->l->failed = true;
}

/*
 * Carries out a slice.  The lane is locked and not closed; softirqs are disabled.  Adds the number
 * of completions to *@n.  Returns true if more can be done at once.
 */
bool lo_slice(struct lo_lane *l, bool soft, u32 *n)
{
	struct lo_batch b;
	enum lo_step step = STEP_DONE;

	lockdep_assert_held(&l->lock);
	if (l->failed || lo_lane_ends(l))
		return false;
	b.l = l;
	b.slot = NULL;
	b.room = LO_SLICE;
	b.soft = soft;
	b.nreq = 0;
	b.nrecv = 0;
	b.status = DAT_ST_SUCCESS;
	b.bound = false;
	b.broken = false;
	b.rdma = false;
	b.solicited = false;
	while (step == STEP_DONE && b.nreq < LO_BATCH && b.room && b.status == DAT_ST_SUCCESS)
		step = batch_step(&b);
	batch_unlock(&b);
	batch_report(&b);
	*n += b.nreq + b.nrecv;
	if (l->failed)
		return false;
	switch (step) {
	case STEP_NONE:
	case STEP_STALL:
		return false;
	case STEP_DONE:
		/* The slice was full.  The report may have appended requests. */
		return lo_fifo_peek(&l->from->sq, 0);
	default:
		return true;
	}
}
