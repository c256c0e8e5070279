// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Entries of queues: segments, the peer's memory, and what is wrong with those that must fail. */
#include <string.h>

#include "differ.h"

/* Begins the next entry of @ep, with random flags. */
struct wr *wr_new(struct m_ep *ep, uint8_t op)
{
	struct wr *wr = model_add(ep, op == DAT_OP_INVALID);
	uint16_t bit;

	wr->op = op;
	for (bit = DAT_SQE_SUPPRESS; bit <= DAT_SQE_FENCE; bit <<= 1)
		if (chance(128) && (op != DAT_OP_INVALID || bit == DAT_SQE_UNSIGNALLED))
			wr->flags |= bit;
	wr->in_line = ep->in_line && (op == DAT_OP_SEND || op == DAT_OP_RDMA_WRITE);
	return wr;
}

/* Posts the entry.  An entry that the driver refuses is kicked, so it is refused now. */
void wr_post(struct m_ep *ep, struct wr *wr, bool kick)
{
	object_post(ep, wr, kick || model_verdict(ep->side, 0, wr));
	model_posted(ep, wr->op == DAT_OP_INVALID);
}

static enum area area_of(const struct m_lmr *l)
{
	return l->at / AREA;
}

static bool usable(const struct m_lmr *l, enum area where)
{
	return l->live && l->zone == 0 && area_of(l) == where &&
	       (where == SOURCE || l->priv & DAT_PRIV_LOCAL_WRITE);
}

/* Chooses an LMR of @len bytes or more.  The LMR that covers the whole area is one. */
static int pick_lmr(uint32_t side, enum area where, uint32_t len)
{
	int fit[LMRS], n = 0, i;

	for (i = 0; i < LMRS; i++)
		if (usable(&m.lmr[side][i], where) && m.lmr[side][i].len >= len)
			fit[n++] = i;
	return fit[rnd(n)];
}

/* Gives a segment the key of an LMR that contains it; mostly that of @nr. */
static void name_segment(uint32_t side, struct seg *s, int nr, enum area where)
{
	const struct m_lmr *l;
	int i;

	s->lmr = nr;
	if (chance(256)) {
		i = rnd(LMRS);
		l = &m.lmr[side][i];
		if (usable(l, where) && s->at >= l->at && s->at + s->len <= l->at + l->len)
			s->lmr = i;
	}
	s->gen = m.lmr[side][s->lmr].gen;
}

/* Fills @wr with at most @max segments, which do not overlap and have @len bytes. */
void wr_segments(uint32_t side, struct wr *wr, enum area where, uint32_t len, uint32_t max)
{
	int nr = pick_lmr(side, where, len), i;
	const struct m_lmr *l = &m.lmr[side][nr];
	uint32_t slack = l->len - len, at = l->at + rnd(slack + 1), left = len, gap;
	struct seg *s;

	slack = l->at + l->len - at - len;
	wr->nseg = chance(700) ? 1 : rnd(max + 1);
	if (len && !wr->nseg)
		wr->nseg = 1;
	for (i = 0; i < wr->nseg; i++) {
		s = &wr->seg[i];
		gap = rnd((slack < 64 ? slack : 64) + 1);
		slack -= gap;
		at += gap;
		s->at = at;
		s->len = rnd(2 * left / (wr->nseg - i) + 1);
		if (s->len > left || i == wr->nseg - 1)
			s->len = left;
		at += s->len;
		left -= s->len;
		if (s->len)
			name_segment(side, s, nr, where);
		else
			*s = (struct seg) {
				.at = rnd(MEMORY), .lmr = NO_LMR, .key = rnd(1U << 31),
			};
	}
	wr->len = len;
}

static int find_lmr(uint32_t side, bool (*fits)(const struct m_lmr *l))
{
	int i, from = rnd(LMRS);

	for (i = 0; i < LMRS; i++)
		if (fits(&m.lmr[side][(from + i) % LMRS]))
			return (from + i) % LMRS;
	return NO_LMR;
}

static bool is_stale(const struct m_lmr *l)
{
	return !l->live && l->gen;
}

static bool in_other_zone(const struct m_lmr *l)
{
	return l->live && l->zone != 0;
}

static bool is_read_only(const struct m_lmr *l)
{
	return l->live && l->zone == 0 && !(l->priv & DAT_PRIV_LOCAL_WRITE);
}

static bool has_no_access(const struct m_lmr *l)
{
	const uint32_t remote = DAT_PRIV_REMOTE_READ | DAT_PRIV_REMOTE_WRITE;

	return l->live && l->zone == 0 && !(l->priv & remote);
}

static struct seg *some_segment(struct wr *wr)
{
	int i, from = wr->nseg ? rnd(wr->nseg) : 0;

	for (i = 0; i < wr->nseg; i++)
		if (wr->seg[(from + i) % wr->nseg].len)
			return &wr->seg[(from + i) % wr->nseg];
	return NULL;
}

/* Lets @s name another LMR, which does not allow what the segment needs. */
static bool rename_segment(uint32_t side, struct seg *s, int nr)
{
	if (nr == NO_LMR)
		return false;
	s->lmr = nr;
	s->gen = m.lmr[side][nr].gen;
	s->at = m.lmr[side][nr].at;
	return true;
}

/* Makes an entry invalid, so that the driver must refuse it.  Returns false if it cannot. */
bool wr_make_invalid(uint32_t side, struct wr *wr)
{
	struct seg *s = some_segment(wr);
	const struct m_lmr *l;

	wr->in_line = false;
	if (chance(256) || !s) {
		wr->flaw = BAD_OPCODE + rnd(FLAWS - BAD_OPCODE);
		if (wr->op == DAT_OP_INVALID && wr->flaw == BAD_OPCODE)
			wr->flaw = BAD_COUNT;
		return true;
	}
	switch (rnd(5)) {
	case 0:
		s->lmr = NO_LMR;
		s->key = rnd(1U << 31);
		return true;
	case 1:
		return rename_segment(side, s, find_lmr(side, is_stale));
	case 2:
		return rename_segment(side, s, find_lmr(side, in_other_zone));
	case 3:
		return (wr->op == DAT_OP_INVALID || wr->op == DAT_OP_RDMA_READ) &&
		       rename_segment(side, s, find_lmr(side, is_read_only));
	default:
		l = &m.lmr[side][s->lmr];
		s->at = l->at + l->len - s->len + 1;
		return true;
	}
}

/* Chooses memory of @side that @wr may read or write, and cuts *@len to what that has. */
bool wr_remote(uint32_t side, struct wr *wr, uint32_t *len)
{
	bool write = wr->op == DAT_OP_RDMA_WRITE;
	uint32_t priv = write ? DAT_PRIV_REMOTE_WRITE : DAT_PRIV_REMOTE_READ, at, have;
	enum area where = write ? TARGET : SOURCE;
	int nr = rnd(LMRS + RMRS), rmr = nr - LMRS;
	const struct m_lmr *l = &m.lmr[side][nr < LMRS ? nr : 0];
	const struct m_bind *b = &m.rmr[side][rmr < 0 ? 0 : rmr].now;

	if (nr < LMRS) {
		if (!l->live || l->zone || area_of(l) != where || !(l->priv & priv))
			return false;
		wr->to = (struct remote) { .kind = KEY_LMR, .nr = nr, .gen = l->gen };
		at = l->at;
		have = l->len;
	} else {
		if (!m.rmr[side][rmr].live || !b->nr || b->lmr == NO_LMR || !(b->priv & priv) ||
		    m.rmr[side][rmr].zone || b->at / AREA != where)
			return false;
		wr->to = (struct remote) { .kind = KEY_RMR, .nr = rmr, .gen = b->nr };
		at = b->at;
		have = b->len;
	}
	if (*len > have)
		*len = have;
	wr->to.at = at + rnd(have - *len + 1);
	return true;
}

/* Lets @wr name memory of @side that its key does not open. */
bool wr_remote_wrong(uint32_t side, struct wr *wr)
{
	uint32_t i = rnd(RMRS);
	const struct m_rmr *r = &m.rmr[side][i];
	struct remote *to = &wr->to;
	const struct m_bind *b;
	const struct m_lmr *l;
	int nr;

	switch (rnd(5)) {
	case 0:
		*to = (struct remote) { .kind = KEY_NONE, .nr = rnd(AREAS), .at = to->at };
		return true;
	case 1:
	case 2:
		nr = find_lmr(side, rnd(2) ? is_stale : has_no_access);
		if (nr == NO_LMR)
			return false;
		*to = (struct remote) {
			.kind = KEY_LMR, .nr = nr, .gen = m.lmr[side][nr].gen,
			.at = m.lmr[side][nr].at,
		};
		return true;
	case 3:
		if (!r->last || r->last == r->now.nr || r->nr - r->last >= BINDS)
			return false;
		*to = (struct remote) { .kind = KEY_RMR, .nr = i, .gen = r->last, .at = to->at };
		return true;
	default:
		b = &m.rmr[side][to->nr % RMRS].now;
		l = &m.lmr[side][to->nr];
		to->at = (to->kind == KEY_RMR ? b->at + b->len : l->at + l->len) - wr->len + 1;
		return true;
	}
}

/*
 * Returns the length of the receive that the next send of @ep will find, or -1 if that send must
 * wait for one.
 */
int64_t wr_capacity(const struct m_ep *ep)
{
	const struct m_ep *peer = ep->peer;
	const struct wr *r = peer->srq ? m.srq[peer->side].rq : peer->rq;
	uint32_t n = peer->srq ? m.srq[peer->side].n : peer->nrq, i;

	for (i = 0; i < ep->nsq; i++)
		if (ep->sq[i].op == DAT_OP_SEND)
			return -1;
	return n ? (int64_t)r[0].len : -1;
}

static bool names(const struct wr *wr, int nr, uint32_t gen)
{
	int i;

	for (i = 0; i < wr->nseg; i++)
		if (wr->seg[i].lmr == nr && wr->seg[i].gen == gen)
			return true;
	return false;
}

/* Returns whether an entry that has not completed names the LMR. */
bool lmr_is_posted(uint32_t side, int nr)
{
	uint32_t gen = m.lmr[side][nr].gen, i, k;
	const struct m_ep *ep;

	for (i = 0; i < m.srq[side].n; i++)
		if (names(&m.srq[side].rq[i], nr, gen))
			return true;
	for (k = 0; k < EPS; k++) {
		ep = &m.ep[side][k];
		for (i = 0; i < ep->nsq; i++)
			if (names(&ep->sq[i], nr, gen))
				return true;
		for (i = 0; i < ep->nrq; i++)
			if (names(&ep->rq[i], nr, gen))
				return true;
	}
	return false;
}
