// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The model of queues, connections, memory keys and SRQs tells which events a script must cause.
 *
 * A request of an EP is carried out when all requests before it have completed.  A send waits for a
 * receive.  An entry that the driver finds invalid stops its queue when the driver takes it from
 * the ring, and so does a bind; its event comes when the entries before it have completed, or when
 * the connection ends.
 */
#include <string.h>

#include "differ.h"

#define WAITS	0xff

struct model m;

void model_start(void)
{
	model_side(0);
	model_side(1);
}

/* Side @side has no objects yet. */
void model_side(uint32_t side)
{
	uint32_t i, nr;

	for (i = 0; i < EPS; i++)
		m.ep[side][i] = (struct m_ep) { .side = side, .nr = i };
	for (i = 0; i < LMRS; i++) {
		nr = m.lmr[side][i].gen;
		m.lmr[side][i] = (struct m_lmr) { .gen = nr };
	}
	for (i = 0; i < RMRS; i++) {
		nr = m.rmr[side][i].nr;
		m.rmr[side][i] = (struct m_rmr) { .nr = nr, .life = m.rmr[side][i].life };
	}
	m.srq[side] = (struct m_srq) { .len = DEPTH };
	for (i = 0; i < EVDS; i++)
		m.events[side][i].n = 0;
}

void expect_event(uint32_t side, int evd, const struct dat_eqe *e, enum allowed may, bool quiet)
{
	struct expects *x = &m.events[side][evd];

	concern(side);
	x->e[x->n++] = (struct expect) { .e = *e, .may = may, .quiet = quiet };
}

void expect_conn(struct m_ep *ep, uint32_t type, enum allowed may)
{
	struct dat_eqe e = { .type = type, .owner = OWNER_EP(ep) };

	expect_event(ep->side, ep->nr, &e, may, false);
}

static void expect_async(uint32_t side, uint8_t reason)
{
	struct dat_eqe e = {
		.type = DAT_EV_ASYNC_INTERNAL, .status = reason, .owner = OWNER_SRQ(side),
		.cookie = DAT_OBJ_SRQ,
	};

	expect_event(side, EVD_ASYNC, &e, SAME, false);
}

/* Returns the RMR that a bind names, or NULL if it was freed. */
static struct m_rmr *rmr_of(const struct m_ep *ep, const struct wr *wr)
{
	struct m_rmr *r = &m.rmr[ep->side][wr->rmr];

	return r->live && r->life == wr->life ? r : NULL;
}

/* The entry @wr of @ep has completed. */
static void completed(struct m_ep *ep, const struct wr *wr, uint8_t status, uint32_t len,
		      enum allowed may)
{
	struct dat_eqe e = {
		.type = DAT_EV_DTO, .status = status, .owner = OWNER_EP(ep),
		.cookie = wr->cookie, .len = status ? 0 : len,
		.op = wr->flaw == BAD_OPCODE ? DAT_OP_INVALID : wr->op,
	};

	/* The counters of the queue change. */
	concern(ep->side);
	if (!status && wr->flags & DAT_SQE_SUPPRESS)
		return;
	if (wr->op == DAT_OP_INVALID)
		e.flags = ep->srq ? DAT_EQE_RECV | DAT_EQE_SRQ : DAT_EQE_RECV;
	if (wr->op == DAT_OP_RMR_BIND && wr->flaw != BAD_OPCODE) {
		e.type = DAT_EV_RMR_BIND;
		e.op = 0;
		e.owner = rmr_of(ep, wr) ? OWNER_RMR(ep->side, wr->rmr) : 0;
	}
	expect_event(ep->side, ep->nr, &e, may, !status && wr->flags & DAT_SQE_UNSIGNALLED);
}

static void drop_first(struct wr *q, uint32_t *n)
{
	memmove(q, q + 1, --*n * sizeof(*q));
}

/* Returns the place for the next entry of a queue, which the caller fills. */
struct wr *model_add(struct m_ep *ep, bool recv)
{
	struct wr *wr = recv ? &ep->rq[ep->nrq] : &ep->sq[ep->nsq];

	memset(wr, 0, sizeof(*wr));
	wr->cookie = ++m.cookie;
	return wr;
}

/* Returns the status with which the driver refuses a segment, or 0. */
static uint8_t check_segment(uint32_t side, uint32_t zone, const struct seg *s, bool write)
{
	const struct m_lmr *l;

	if (!s->len)
		return 0;
	if (s->lmr == NO_LMR)
		return DAT_ST_LOCAL_PROTECTION;
	l = &m.lmr[side][s->lmr];
	if (!l->live || l->gen != s->gen || l->zone != zone ||
	    (write && !(l->priv & DAT_PRIV_LOCAL_WRITE)) ||
	    s->at < l->at || s->at + s->len > l->at + l->len)
		return DAT_ST_LOCAL_PROTECTION;
	return 0;
}

/* Returns the status with which the driver of side @side refuses @wr, or 0. */
uint8_t model_verdict(uint32_t side, uint32_t zone, const struct wr *wr)
{
	bool write = wr->op == DAT_OP_INVALID || wr->op == DAT_OP_RDMA_READ;
	uint8_t bad = wr->flaw ? DAT_ST_LOCAL_EP : 0;
	int i;

	for (i = 0; i < wr->nseg && !bad; i++)
		bad = check_segment(side, zone, &wr->seg[i], write);
	return bad;
}

static bool stops(const struct wr *wr)
{
	return wr->bad || wr->op == DAT_OP_RMR_BIND;
}

/* The driver takes requests from the ring up to the first that stops the queue. */
static void take(struct m_ep *ep)
{
	struct wr *wr;
	uint32_t i;

	for (i = 0; i < ep->nsq; i++) {
		wr = &ep->sq[i];
		if (!wr->taken)
			wr->bad = model_verdict(ep->side, 0, wr);
		wr->taken = true;
		if (stops(wr))
			break;
	}
}

/* --- binds --------------------------------------------------------------------- */

static struct m_bind *find_ready(struct m_rmr *r, uint32_t nr)
{
	uint32_t i;

	for (i = 0; nr && i < 4; i++)
		if (r->ready[i].nr == nr)
			return &r->ready[i];
	return NULL;
}

/* Ends the binding in effect.  Returns whether there was one. */
bool model_binding_gone(uint32_t side, int rmr)
{
	struct m_rmr *r = &m.rmr[side][rmr];
	bool bound = r->now.nr && r->now.lmr != NO_LMR;

	if (bound)
		m.lmr[side][r->now.lmr].bindings--;
	r->now.nr = 0;
	return bound;
}

/* A bind that fails or is flushed uses up its ticket. */
static void forget_bind(struct m_ep *ep, const struct wr *wr)
{
	struct m_rmr *r = rmr_of(ep, wr);
	struct m_bind *b = r ? find_ready(r, wr->bind) : NULL;

	if (b)
		b->nr = 0;
}

static uint8_t run_bind(struct m_ep *ep, const struct wr *wr)
{
	struct m_rmr *r = rmr_of(ep, wr);
	struct m_bind *b = r ? find_ready(r, wr->bind) : NULL;
	const struct m_lmr *l;

	if (!b || r->zone != 0)
		return DAT_ST_RMR_FAILED;
	if (b->lmr != NO_LMR) {
		l = &m.lmr[ep->side][b->lmr];
		if (!l->live || l->gen != b->gen)
			return DAT_ST_RMR_FAILED;
		m.lmr[ep->side][b->lmr].bindings++;
	}
	r->last = r->now.nr;
	model_binding_gone(ep->side, wr->rmr);
	r->now = *b;
	b->nr = 0;
	return DAT_ST_SUCCESS;
}

/* --- ends of connections ------------------------------------------------------- */

/*
 * Returns the request that the driver has refused, if any.  Sets *@may if there is a fence before
 * that request, and the driver may not have looked at it.
 */
static const struct wr *refused(const struct m_ep *ep, enum allowed *may)
{
	const struct wr *wr;
	uint32_t i;

	*may = SAME;
	for (i = 0; i < ep->nsq; i++) {
		wr = &ep->sq[i];
		if (i && wr->flags & DAT_SQE_FENCE)
			*may = LATE_REFUSAL;
		if (wr->taken && wr->bad)
			return wr;
	}
	return NULL;
}

static void flush(struct m_ep *ep)
{
	enum allowed may;
	const struct wr *bad = refused(ep, &may);
	uint64_t cookie = bad ? bad->cookie : 0;
	struct wr *wr;

	while (ep->nsq) {
		wr = &ep->sq[0];
		if (wr->cookie == cookie)
			completed(ep, wr, wr->bad, 0, may);
		else
			completed(ep, wr, DAT_ST_FLUSHED, 0, SAME);
		if (wr->op == DAT_OP_RMR_BIND)
			forget_bind(ep, wr);
		drop_first(ep->sq, &ep->nsq);
	}
	while (ep->nrq) {
		wr = &ep->rq[0];
		completed(ep, wr, wr->taken && wr->bad ? wr->bad : DAT_ST_FLUSHED, 0, SAME);
		drop_first(ep->rq, &ep->nrq);
	}
}

/* The connection of @ep ends with an event of type @type. */
void model_end(struct m_ep *ep, uint32_t type, enum allowed may)
{
	flush(ep);
	expect_conn(ep, type, may);
	ep->state = DISCONNECTED;
	ep->peer = NULL;
}

/* The peer of @ep has ended the connection.  A request that the driver has refused breaks it. */
void model_hung_up(struct m_ep *ep)
{
	enum allowed may;

	if (refused(ep, &may))
		model_end(ep, DAT_EV_BROKEN, may ? REFUSED_END : SAME);
	else
		model_end(ep, DAT_EV_DISCONNECTED, SAME);
}

/* This end of the connection, @ep, ends with an event of type @type. */
void model_end_both(struct m_ep *ep, uint32_t type)
{
	struct m_ep *peer = ep->peer;

	model_end(ep, type, SAME);
	model_hung_up(peer);
}

/* The requests of an EP that ends without events drop their bindings. */
void model_forget(struct m_ep *ep)
{
	uint32_t i;

	for (i = 0; i < ep->nsq; i++)
		if (ep->sq[i].op == DAT_OP_RMR_BIND)
			forget_bind(ep, &ep->sq[i]);
	*ep = (struct m_ep) { .side = ep->side, .nr = ep->nr };
}

/* --- requests ------------------------------------------------------------------ */

/* Returns the EP with a send that waits for a buffer of the SRQ of side @side, or NULL. */
struct m_ep *model_srq_waiter(uint32_t side)
{
	struct m_ep *ep, *peer;
	uint32_t i;

	for (i = 0; i < SIDES * EPS; i++) {
		ep = &m.ep[i / EPS][i % EPS];
		peer = ep->peer;
		if (peer && peer->side == side && peer->srq && ep->nsq)
			return ep;
	}
	return NULL;
}

/* A buffer of the SRQ has completed. */
static void srq_low(uint32_t side)
{
	struct m_srq *srq = &m.srq[side];

	if (srq->n >= srq->low)
		return;
	srq->low = 0;
	expect_async(side, DAT_SRQ_REASON_LOW_WATERMARK);
}

static void recv_done(struct m_ep *ep, uint8_t status, uint32_t len, enum allowed may)
{
	struct m_srq *srq = &m.srq[ep->side];
	struct wr wr = ep->srq ? srq->rq[0] : ep->rq[0];

	if (ep->srq)
		drop_first(srq->rq, &srq->n);
	else
		drop_first(ep->rq, &ep->nrq);
	completed(ep, &wr, status, len, may);
	if (ep->srq)
		srq_low(ep->side);
}

static uint8_t run_send(struct m_ep *ep, const struct wr *wr)
{
	struct m_ep *peer = ep->peer;
	const struct wr *r = peer->srq ? m.srq[peer->side].rq : peer->rq;
	bool dead;

	if (!(peer->srq ? m.srq[peer->side].n : peer->nrq))
		return WAITS;
	dead = model_verdict(peer->side, 0, r);
	if (wr->len > r->len || dead) {
		memory_undefined(peer->side, r);
		recv_done(peer, wr->len > r->len ? DAT_ST_LOCAL_LENGTH : DAT_ST_LOCAL_PROTECTION,
			  0, dead ? DEAD_RECEIVE : SAME);
		return DAT_ST_REMOTE_RESPONDER;
	}
	memory_move(ep->side, wr, peer->side, r);
	recv_done(peer, DAT_ST_SUCCESS, wr->len, SAME);
	return DAT_ST_SUCCESS;
}

static bool covers(uint32_t at, uint32_t len, uint32_t want, uint32_t n)
{
	return want >= at && want + n <= at + len;
}

/* Returns whether the key of @wr lets @ep do to the memory of its peer what needs @priv. */
static bool key_opens(const struct m_ep *ep, const struct wr *wr, uint32_t priv)
{
	uint32_t side = ep->peer->side;
	const struct m_bind *b;
	const struct m_lmr *l;

	switch (wr->to.kind) {
	case KEY_LMR:
		l = &m.lmr[side][wr->to.nr];
		return l->live && l->gen == wr->to.gen && l->zone == 0 && l->priv & priv &&
		       covers(l->at, l->len, wr->to.at, wr->len);
	case KEY_RMR:
		b = &m.rmr[side][wr->to.nr].now;
		return m.rmr[side][wr->to.nr].live && b->nr && b->nr == wr->to.gen &&
		       b->lmr != NO_LMR && b->priv & priv &&
		       covers(b->at, b->len, wr->to.at, wr->len);
	default:
		return false;
	}
}

static uint8_t run_rdma(struct m_ep *ep, const struct wr *wr)
{
	bool write = wr->op == DAT_OP_RDMA_WRITE;

	/* An empty operation uses no key. */
	if (!wr->len)
		return DAT_ST_SUCCESS;
	if (!key_opens(ep, wr, write ? DAT_PRIV_REMOTE_WRITE : DAT_PRIV_REMOTE_READ))
		return DAT_ST_REMOTE_ACCESS;
	if (write)
		memory_write(ep->side, wr, ep->peer->side, wr->to.at);
	else
		memory_read(ep->peer->side, wr->to.at, ep->side, wr);
	return DAT_ST_SUCCESS;
}

static uint8_t run_one(struct m_ep *ep, const struct wr *wr)
{
	if (wr->bad)
		return wr->bad;
	if (wr->op == DAT_OP_SEND)
		return run_send(ep, wr);
	if (wr->op == DAT_OP_RMR_BIND)
		return run_bind(ep, wr);
	return run_rdma(ep, wr);
}

/* The first request of @ep has failed. */
static void request_failed(struct m_ep *ep, const struct wr *wr, uint8_t status)
{
	struct m_ep *peer = ep->peer;

	completed(ep, wr, status, 0, SAME);
	if (wr->op == DAT_OP_RMR_BIND)
		forget_bind(ep, wr);
	model_end(ep, DAT_EV_BROKEN, SAME);
	if (status == DAT_ST_REMOTE_ACCESS)
		model_end(peer, DAT_EV_DISCONNECTED, REFUSED_END);
	else if (status == DAT_ST_REMOTE_RESPONDER)
		model_end(peer, DAT_EV_BROKEN, SAME);
	else
		model_hung_up(peer);
}

/* Carries out the requests of @ep up to one that has to wait. */
void model_run(struct m_ep *ep)
{
	struct wr wr;
	uint8_t status;

	take(ep);
	while (ep->nsq) {
		status = run_one(ep, &ep->sq[0]);
		if (status == WAITS)
			return;
		wr = ep->sq[0];
		drop_first(ep->sq, &ep->nsq);
		if (status) {
			request_failed(ep, &wr, status);
			return;
		}
		completed(ep, &wr, status, wr.len, SAME);
		take(ep);
	}
	if (ep->state == DRAINING)
		model_end_both(ep, DAT_EV_DISCONNECTED);
}

static bool is_open(const struct m_ep *ep)
{
	return ep->state == CONNECTED || ep->state == DRAINING;
}

/* The entry from model_add() was posted. */
void model_posted(struct m_ep *ep, bool recv)
{
	struct wr *wr;

	if (!recv) {
		ep->nsq++;
		if (ep->state == DISCONNECTED)
			flush(ep);
		else
			model_run(ep);
		return;
	}
	wr = &ep->rq[ep->nrq++];
	if (ep->state == DISCONNECTED) {
		flush(ep);
	} else if (is_open(ep)) {
		wr->taken = true;
		wr->bad = model_verdict(ep->side, 0, wr);
		if (wr->bad)
			model_end_both(ep, DAT_EV_BROKEN);
		else
			model_run(ep->peer);
	}
}

/* The buffer in the last place of the SRQ was posted.  An invalid one has no event of its own. */
void model_srq_posted(uint32_t side)
{
	struct m_srq *srq = &m.srq[side];
	struct m_ep *waiter = model_srq_waiter(side);

	if (model_verdict(side, 0, &srq->rq[srq->n])) {
		m.srq[side].lost++;
		expect_async(side, DAT_SRQ_REASON_OTHER);
		return;
	}
	srq->n++;
	if (waiter)
		model_run(waiter);
}

/* The low watermark of the SRQ was set. */
void model_srq_low(uint32_t side)
{
	srq_low(side);
}
