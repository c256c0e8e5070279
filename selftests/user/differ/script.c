// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The steps of the script: transfers, memory, and queues. */
#include <errno.h>

#include "differ.h"

/* Returns a random endpoint that @fits accepts, or NULL. */
struct m_ep *pick_ep(bool (*fits)(const struct m_ep *ep))
{
	uint32_t i, from = rnd(SIDES * EPS), at;

	for (i = 0; i < SIDES * EPS; i++) {
		at = (from + i) % (SIDES * EPS);
		if (fits(&m.ep[at / EPS][at % EPS]))
			return &m.ep[at / EPS][at % EPS];
	}
	return NULL;
}

bool may_request(const struct m_ep *ep)
{
	return ep->live && ep->state == CONNECTED && ep->nsq < ep->sq_len;
}

static bool may_recv(const struct m_ep *ep)
{
	return ep->live && !ep->srq && ep->nrq < ep->rq_len && ep->state != DISCONNECTED;
}

/*
 * Returns whether a send of @ep may wait for a receive.  Two connections must not wait for the same
 * SRQ, since either might get its next buffer.
 */
static bool may_wait(const struct m_ep *ep)
{
	struct m_ep *waiter;

	if (easy)
		return false;
	waiter = ep->peer->srq ? model_srq_waiter(ep->peer->side) : NULL;
	return !waiter || waiter == ep;
}

static bool step_send(void)
{
	struct m_ep *ep = pick_ep(may_request);
	uint32_t len = rnd_len();
	int64_t room;
	struct wr *wr;

	room = ep ? wr_capacity(ep) : -1;
	if (!ep || (room < 0 && (!may_wait(ep) || chance(512))))
		return false;
	if (room >= 0 && len > room)
		len = room;
	wr = wr_new(ep, DAT_OP_SEND);
	wr_segments(ep->side, wr, SOURCE, len, ep->iov);
	describe("send %u.%u len=%u segments=%d flags=%#x%s", ep->side, ep->nr, len, wr->nseg,
		 wr->flags, room < 0 ? " waits" : "");
	wr_post(ep, wr, chance(512));
	return true;
}

static bool step_rdma(void)
{
	struct m_ep *ep = pick_ep(may_request);
	uint32_t len = rnd_len();
	bool write = rnd(2);
	struct wr *wr;

	if (!ep)
		return false;
	wr = wr_new(ep, write ? DAT_OP_RDMA_WRITE : DAT_OP_RDMA_READ);
	if (!wr_remote(ep->peer->side, wr, &len))
		return false;
	wr_segments(ep->side, wr, write ? SOURCE : BACK, len, easy && !write ? 1 : ep->iov);
	describe("%s %u.%u len=%u segments=%d flags=%#x key=%d", write ? "write" : "read",
		 ep->side, ep->nr, len, wr->nseg, wr->flags, wr->to.kind);
	wr_post(ep, wr, chance(512));
	return true;
}

/* Returns the length of the first send in the queue, or 0. */
static uint32_t first_send(const struct m_ep *ep)
{
	uint32_t i;

	for (i = 0; ep && i < ep->nsq; i++)
		if (ep->sq[i].op == DAT_OP_SEND)
			return ep->sq[i].len;
	return 0;
}

static bool step_recv(void)
{
	struct m_ep *ep = pick_ep(may_recv);
	uint32_t len = rnd_len(), least;
	struct wr *wr;

	if (!ep)
		return false;
	least = first_send(ep->peer);
	if (len < least)
		len = least;
	wr = wr_new(ep, DAT_OP_INVALID);
	wr_segments(ep->side, wr, TARGET, len, MAX_RECV_IOV);
	describe("recv %u.%u len=%u segments=%d", ep->side, ep->nr, len, wr->nseg);
	wr_post(ep, wr, chance(512));
	return true;
}

/* Entries of a disconnected endpoint are flushed at once. */
static bool step_post_over(void)
{
	struct m_ep *ep = pick_ep(is_disconnected);
	bool recv = rnd(2);
	struct wr *wr;

	if (!ep || (recv && ep->srq))
		return false;
	wr = wr_new(ep, recv ? DAT_OP_INVALID : DAT_OP_SEND);
	wr_segments(ep->side, wr, recv ? TARGET : SOURCE, rnd_len(), recv ? MAX_RECV_IOV : ep->iov);
	describe("post %u.%u after the end, recv=%d", ep->side, ep->nr, recv);
	wr_post(ep, wr, false);
	return true;
}

/* --- SRQs ---------------------------------------------------------------------- */

static bool step_srq_post(void)
{
	uint32_t side = rnd(SIDES), len = rnd_len(), least;
	struct m_srq *srq = &m.srq[side];
	struct wr *wr = &srq->rq[srq->n];

	if (srq->n == DEPTH || srq->n == srq->len)
		return false;
	least = first_send(model_srq_waiter(side));
	*wr = (struct wr) { .cookie = ++m.cookie };
	wr_segments(side, wr, TARGET, len < least ? least : len, SRQ_IOV);
	describe("srq_post %u len=%u segments=%d", side, wr->len, wr->nseg);
	object_srq_post(side, wr, chance(512));
	model_srq_posted(side);
	return true;
}

static bool step_srq_low(void)
{
	uint32_t side = rnd(SIDES);

	m.srq[side].low = rnd(DEPTH);
	describe("srq_low %u %u", side, m.srq[side].low);
	object_srq_low(side);
	model_srq_low(side);
	return true;
}

static bool step_srq_resize(void)
{
	uint32_t side = rnd(SIDES), len = 4U << rnd(4);
	int want = len < m.srq[side].n ? -ENOSPC : 0;

	describe("srq_resize %u to %u: %d", side, len, want);
	object_srq_resize(side, len, want);
	if (!want)
		m.srq[side].len = len;
	return true;
}

/* --- EVDs ---------------------------------------------------------------------- */

/* Resizes an EVD with events in it. */
static bool step_evd_resize(void)
{
	struct m_ep *ep = &m.ep[rnd(SIDES)][rnd(EPS)];
	struct dat_eqe e = { .type = DAT_EV_SOFTWARE };
	uint32_t n = rnd(8), len = 64U << rnd(4), way = rnd(3);

	describe("evd_resize %u.%u to %u, way %u, %u events", ep->side, ep->nr, len, way, n);
	while (n--) {
		e.cookie = ++m.cookie;
		object_soft(ep, e.cookie);
		expect_event(ep->side, ep->nr, &e, SAME, false);
	}
	object_evd_resize(ep, len, way);
	return true;
}

/* --- memory -------------------------------------------------------------------- */

static const uint32_t privs[] = {
	T_PRIV_ALL, T_PRIV_ALL, DAT_PRIV_LOCAL_READ, DAT_PRIV_LOCAL_READ | DAT_PRIV_LOCAL_WRITE,
	DAT_PRIV_LOCAL_READ | DAT_PRIV_REMOTE_READ,
	DAT_PRIV_LOCAL_READ | DAT_PRIV_LOCAL_WRITE | DAT_PRIV_REMOTE_WRITE,
};

static void lmr_make(uint32_t side, int nr, uint32_t at, uint32_t len, uint32_t priv,
		     uint32_t zone)
{
	struct m_lmr *l = &m.lmr[side][nr];

	*l = (struct m_lmr) {
		.live = true, .gen = l->gen + 1, .at = at, .len = len, .priv = priv, .zone = zone,
	};
	object_lmr_create(side, nr);
}

/* Makes the LMRs that always exist: one of each area. */
void script_begin_side(uint32_t side)
{
	int i;

	for (i = 0; i < AREAS; i++)
		lmr_make(side, i, i * AREA, AREA, T_PRIV_ALL, 0);
}

/* Makes or frees an LMR.  A binding in effect keeps its LMR. */
static bool step_lmr(void)
{
	uint32_t side = rnd(SIDES), len = 1 + rnd(chance(100) ? AREA : 20000);
	int nr = AREAS + rnd(LMRS - AREAS), want;
	struct m_lmr *l = &m.lmr[side][nr];

	if (!l->live) {
		describe("lmr_create %u.%d", side, nr);
		lmr_make(side, nr, rnd(AREAS) * AREA + rnd(AREA - len + 1), len,
			 privs[rnd(sizeof(privs) / sizeof(privs[0]))], chance(128));
		return true;
	}
	if (lmr_is_posted(side, nr))
		return false;
	want = l->bindings ? -EBUSY : 0;
	describe("lmr_free %u.%d: %d", side, nr, want);
	object_kick_all(side);
	object_lmr_free(side, nr, want);
	l->live = want;
	return true;
}

static bool step_rmr(void)
{
	uint32_t side = rnd(SIDES), i;
	int nr = rnd(RMRS);
	struct m_rmr *r = &m.rmr[side][nr];

	if (!r->live) {
		r->live = true;
		r->life++;
		r->zone = chance(128);
		describe("rmr_create %u.%d", side, nr);
		object_rmr_create(side, nr);
		return true;
	}
	if (!chance(128))
		return false;
	describe("rmr_free %u.%d", side, nr);
	object_rmr_free(side, nr);
	model_binding_gone(side, nr);
	r->live = false;
	r->last = 0;
	for (i = 0; i < 4; i++)
		r->ready[i].nr = 0;
	return true;
}

/* Chooses a part of an LMR for a binding, or none.  Returns what the call must return. */
static int choose_part(uint32_t side, const struct m_rmr *r, struct m_bind *b)
{
	static const uint32_t some[] = {
		DAT_PRIV_REMOTE_READ, DAT_PRIV_REMOTE_WRITE,
		DAT_PRIV_REMOTE_READ | DAT_PRIV_REMOTE_WRITE,
	};
	const struct m_lmr *l;

	b->lmr = chance(200) ? NO_LMR : (int)rnd(LMRS);
	if (b->lmr == NO_LMR)
		return 0;
	l = &m.lmr[side][b->lmr];
	if (!l->live)
		return -ENOENT;
	b->gen = l->gen;
	b->at = l->at + rnd(l->len);
	b->len = 1 + rnd(l->at + l->len - b->at);
	b->priv = some[rnd(3)];
	if (l->zone != r->zone)
		return -EXDEV;
	return b->priv & DAT_PRIV_REMOTE_WRITE && !(l->priv & DAT_PRIV_LOCAL_WRITE) ? -EPERM : 0;
}

/* Prepares a binding.  Returns its number, or 0. */
static uint32_t prepare(uint32_t side, int nr)
{
	struct m_rmr *r = &m.rmr[side][nr];
	struct m_bind b = {};
	uint32_t i;
	int want;

	for (i = 0; i < 4 && r->ready[i].nr; i++)
		;
	if (i == 4)
		return 0;
	want = choose_part(side, r, &b);
	if (want == -ENOENT)
		return 0;
	if (!want)
		b.nr = ++r->nr;
	describe("prepare %u.%d lmr=%d len=%u priv=%#x: %d", side, nr, b.lmr, b.len, b.priv, want);
	object_bind(side, nr, &b, want);
	if (!want)
		r->ready[i] = b;
	return b.nr;
}

/* Binds an RMR: prepares a binding, or takes one that was prepared before. */
static bool step_bind(void)
{
	struct m_ep *ep = pick_ep(may_request);
	int nr = rnd(RMRS);
	struct m_rmr *r;
	uint32_t bind;
	struct wr *wr;

	if (!ep)
		return false;
	r = &m.rmr[ep->side][nr];
	if (!r->live)
		return false;
	bind = chance(200) ? r->ready[rnd(4)].nr : prepare(ep->side, nr);
	if (!bind || r->zone || chance(100))
		return false;
	wr = wr_new(ep, DAT_OP_RMR_BIND);
	wr->rmr = nr;
	wr->life = r->life;
	wr->bind = bind;
	describe("bind %u.%u rmr=%d binding=%u", ep->side, ep->nr, nr, bind);
	wr_post(ep, wr, chance(512));
	return true;
}

static bool step_busy(void)
{
	uint32_t side = rnd(SIDES);

	describe("busy %u", side);
	object_busy(side);
	return true;
}

/* Starts or ends the threads that make kicks needless. */
static bool step_poller(void)
{
	uint32_t side = rnd(SIDES), idle_us = rnd(3) * 50;

	describe("poller %u idle %u", side, idle_us);
	object_poller(side, idle_us);
	return true;
}

static const struct {
	bool		(*run)(void);
	uint32_t	weight;
} kinds[] = {
	{ step_send,		300 },
	{ step_recv,		260 },
	{ step_rdma,		200 },
	{ step_srq_post,	70 },
	{ step_bind,		60 },
	{ step_lmr,		40 },
	{ step_rmr,		20 },
	{ step_srq_low,		6 },
	{ step_srq_resize,	4 },
	{ step_evd_resize,	6 },
	{ step_modify,		6 },
	{ step_post_over,	20 },
	{ step_busy,		2 },
	{ step_poller,		2 },
	{ step_connect,		60 },
	{ step_renew,		60 },
	{ step_reset,		40 },
	{ step_disconnect,	4 },
	{ step_fault,		12 },
	{ step_kill,		1 },
};

/* Runs a random step, which does nothing if the model does not allow it. */
void script_step(void)
{
	uint32_t i, sum = 0, at;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		sum += kinds[i].weight;
	at = rnd(sum);
	for (i = 0; at >= kinds[i].weight; i++)
		at -= kinds[i].weight;
	kinds[i].run();
}
