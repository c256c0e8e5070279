// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The steps of the script after which a connection breaks, or an SRQ drops a buffer. */
#include "differ.h"

/* A request whose segments or fields the driver refuses. */
static bool bad_request(void)
{
	struct m_ep *ep = pick_ep(may_request);
	uint32_t len = 1 + rnd(5000);
	struct wr *wr;

	if (!ep)
		return false;
	wr = wr_new(ep, DAT_OP_SEND + rnd(3));
	if (wr->op != DAT_OP_SEND && !wr_remote(ep->peer->side, wr, &len))
		return false;
	wr_segments(ep->side, wr, wr->op == DAT_OP_RDMA_READ ? BACK : SOURCE, len, ep->iov);
	if (!wr_make_invalid(ep->side, wr))
		return false;
	describe("bad request %u.%u op=%u flaw=%d", ep->side, ep->nr, wr->op, wr->flaw);
	wr_post(ep, wr, true);
	return true;
}

/* An RDMA operation that the peer's device refuses. */
static bool bad_remote(void)
{
	struct m_ep *ep = pick_ep(may_request);
	uint32_t len = 1 + rnd(5000);
	struct wr *wr;

	if (!ep)
		return false;
	wr = wr_new(ep, DAT_OP_RDMA_WRITE + rnd(2));
	if (!wr_remote(ep->peer->side, wr, &len))
		return false;
	wr_segments(ep->side, wr, wr->op == DAT_OP_RDMA_READ ? BACK : SOURCE, len, ep->iov);
	if (!wr_remote_wrong(ep->peer->side, wr))
		return false;
	describe("bad remote %u.%u op=%u key=%d", ep->side, ep->nr, wr->op, wr->to.kind);
	wr_post(ep, wr, false);
	return true;
}

static bool too_long(void)
{
	struct m_ep *ep = pick_ep(may_request);
	int64_t room = ep ? wr_capacity(ep) : -1;
	struct wr *wr;

	if (room < 0 || room > AREA / 2)
		return false;
	wr = wr_new(ep, DAT_OP_SEND);
	wr_segments(ep->side, wr, SOURCE, room + 1 + rnd(rnd(2) ? 20 : 20000), ep->iov);
	describe("too long %u.%u len=%u for %d", ep->side, ep->nr, wr->len, (int)room);
	wr_post(ep, wr, false);
	return true;
}

static bool takes_recv(const struct m_ep *ep)
{
	return ep->live && ep->state == CONNECTED && !ep->srq && ep->nrq < ep->rq_len;
}

static bool bad_recv(void)
{
	struct m_ep *ep = pick_ep(takes_recv);
	struct wr *wr;

	if (!ep)
		return false;
	wr = wr_new(ep, DAT_OP_INVALID);
	wr_segments(ep->side, wr, TARGET, 1 + rnd(5000), MAX_RECV_IOV);
	if (!wr_make_invalid(ep->side, wr))
		return false;
	describe("bad recv %u.%u flaw=%d", ep->side, ep->nr, wr->flaw);
	wr_post(ep, wr, true);
	return true;
}

static bool is_idle(const struct m_ep *ep)
{
	return takes_recv(ep) && !ep->nrq && may_request(ep->peer) && !ep->peer->nsq;
}

/* The memory of a receive is freed, and then a message comes. */
static bool dead_recv(void)
{
	struct m_ep *ep = pick_ep(is_idle), *peer;
	int nr = AREAS + rnd(LMRS - AREAS);
	uint32_t len;
	struct m_lmr *l;
	struct wr *wr;

	if (!ep)
		return false;
	peer = ep->peer;
	l = &m.lmr[ep->side][nr];
	if (!l->live || l->zone || l->at / AREA != TARGET || !(l->priv & DAT_PRIV_LOCAL_WRITE) ||
	    l->bindings || lmr_is_posted(ep->side, nr))
		return false;
	wr = wr_new(ep, DAT_OP_INVALID);
	wr->nseg = 1;
	wr->len = l->len;
	wr->seg[0] = (struct seg) { .at = l->at, .len = l->len, .lmr = nr, .gen = l->gen };
	describe("dead recv %u.%u", ep->side, ep->nr);
	wr_post(ep, wr, true);
	object_lmr_free(ep->side, nr, 0);
	l->live = false;
	len = 1 + rnd(wr->len);
	wr = wr_new(peer, DAT_OP_SEND);
	wr_segments(peer->side, wr, SOURCE, len, peer->iov);
	meet();
	wr_post(peer, wr, false);
	return true;
}

/* A bind without a ticket, or a malformed one, which uses up its ticket. */
static bool bad_bind(void)
{
	struct m_ep *ep = pick_ep(may_request);
	int nr = rnd(RMRS);
	struct m_rmr *r;
	struct wr *wr;

	if (!ep || !m.rmr[ep->side][nr].live)
		return false;
	r = &m.rmr[ep->side][nr];
	wr = wr_new(ep, DAT_OP_RMR_BIND);
	wr->rmr = nr;
	wr->life = r->life;
	wr->bind = r->ready[rnd(4)].nr;
	if (!r->zone || rnd(2)) {
		wr->flaw = rnd(2) ? BAD_COUNT : WELL;
		if (!wr->flaw)
			wr->bind = 0;
	}
	describe("bad bind %u.%u rmr=%d binding=%u flaw=%d", ep->side, ep->nr, nr, wr->bind,
		 wr->flaw);
	wr_post(ep, wr, true);
	return true;
}

static bool bad_srq_buffer(void)
{
	uint32_t side = rnd(SIDES);
	struct m_srq *srq = &m.srq[side];
	struct wr *wr = &srq->rq[srq->n];

	if (srq->n == DEPTH || srq->n == srq->len)
		return false;
	*wr = (struct wr) { .cookie = ++m.cookie };
	wr_segments(side, wr, TARGET, 1 + rnd(5000), SRQ_IOV);
	if (!wr_make_invalid(side, wr))
		return false;
	describe("bad buffer %u", side);
	object_srq_post(side, wr, true);
	model_srq_posted(side);
	return true;
}

bool step_fault(void)
{
	static bool (* const kinds[])(void) = {
		bad_request, bad_request, bad_remote, bad_remote, too_long, bad_recv, dead_recv,
		dead_recv, bad_bind, bad_srq_buffer,
	};

	return !easy && kinds[rnd(sizeof(kinds) / sizeof(kinds[0]))]();
}
