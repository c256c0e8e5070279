// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The steps of the script that make and end connections, endpoints and processes. */
#include <errno.h>

#include "differ.h"

#define NOBODY	9	/* a qualifier without a listener, from @qual on */

static bool is_fresh(const struct m_ep *ep)
{
	return ep->live && ep->state == UNCONNECTED;
}

static bool is_open(const struct m_ep *ep)
{
	return ep->live && (ep->state == CONNECTED || ep->state == DRAINING);
}

bool is_disconnected(const struct m_ep *ep)
{
	return ep->live && ep->state == DISCONNECTED;
}

static uint64_t listener(uint32_t side, uint32_t psp)
{
	return qual + 2 * side + psp;
}

static void expect_request(uint32_t side, uint32_t psp)
{
	struct dat_eqe e = {
		.type = DAT_EV_CR, .owner = OWNER_PSP(side, psp), .cookie = listener(side, psp),
	};

	expect_event(side, EVD_CR, &e, SAME, false);
}

/* The connect of @ep has failed. */
static void connect_fails(struct m_ep *ep, uint32_t type)
{
	model_end(ep, type, SAME);
	collect_events();
}

static void established(struct m_ep *a, struct m_ep *b, uint32_t pd)
{
	struct dat_eqe e = { .type = DAT_EV_ESTABLISHED, .owner = OWNER_EP(a), .len = pd };

	expect_event(a->side, a->nr, &e, PADDING, false);
	expect_conn(b, DAT_EV_ESTABLISHED, SAME);
	a->state = CONNECTED;
	b->state = CONNECTED;
	a->peer = b;
	b->peer = a;
	collect_events();
	object_check_pd(a, pd);
}

/* Answers the request @cr of @a to side @side. */
static void answer(struct m_ep *a, struct m_ep *b, uint32_t side, uint32_t cr, uint32_t pd)
{
	uint32_t how = rnd(16);

	if (how == 0) {
		describe("reject by %u", side);
		object_reject(side, cr, false);
		connect_fails(a, DAT_EV_PEER_REJECTED);
	} else if (how == 1) {
		describe("free of the request by %u", side);
		object_reject(side, cr, true);
		connect_fails(a, DAT_EV_NON_PEER_REJECTED);
	} else if (how == 2 || b->side != side) {
		describe("disconnect during the handshake, request at %u", side);
		meet();
		object_disconnect(a, rnd(2));
		connect_fails(a, DAT_EV_DISCONNECTED);
		meet();
		object_reject(side, cr, true);
	} else {
		if (how == 3 && a->side == side)
			object_accept(a, cr, pd, -EISCONN);
		describe("accept by %u.%u", b->side, b->nr);
		object_accept(b, cr, pd, 0);
		established(a, b, pd);
	}
}

/* Connects two endpoints, which may be of the same side. */
bool step_connect(void)
{
	struct m_ep *a = pick_ep(is_fresh), *b;
	uint32_t pd = rnd(PD_MAX + 1), side, psp = rnd(PSPS), cr;

	if (!a)
		return false;
	a->state = PENDING;
	b = pick_ep(is_fresh);
	if (!b || chance(16)) {
		a->state = UNCONNECTED;
		if (!chance(64))
			return false;
		describe("connect %u.%u to nobody", a->side, a->nr);
		object_connect(a, qual + NOBODY, pd);
		connect_fails(a, DAT_EV_NON_PEER_REJECTED);
		return true;
	}
	side = chance(900) ? b->side : !b->side;
	describe("connect %u.%u to %u, data %u", a->side, a->nr, side, pd);
	object_connect(a, listener(side, psp), pd);
	expect_request(side, psp);
	collect_events();
	cr = object_cr(side, pd);
	if (side != b->side || chance(64)) {
		describe("handoff to %u", b->side);
		object_handoff(side, cr, qual + NOBODY, -EADDRNOTAVAIL);
		psp = side == b->side ? !psp : rnd(PSPS);
		object_handoff(side, cr, listener(b->side, psp), 0);
		side = b->side;
		expect_request(side, psp);
		collect_events();
		cr = object_cr(side, pd);
	}
	answer(a, b, side, cr, rnd(PD_MAX + 1));
	return true;
}

/* A graceful disconnect waits for the requests in the queue. */
bool step_disconnect(void)
{
	struct m_ep *ep = pick_ep(is_open);
	bool graceful = rnd(2);

	if (!ep)
		return false;
	describe("disconnect %u.%u graceful=%d requests=%u", ep->side, ep->nr, graceful, ep->nsq);
	object_disconnect(ep, graceful);
	if (graceful && ep->nsq)
		ep->state = DRAINING;
	else
		model_end_both(ep, DAT_EV_DISCONNECTED);
	return true;
}

bool step_reset(void)
{
	struct m_ep *ep = pick_ep(is_disconnected);

	if (!ep)
		return false;
	describe("reset %u.%u", ep->side, ep->nr);
	object_reset(ep);
	ep->state = UNCONNECTED;
	return true;
}

static void choose_lengths(struct m_ep *ep)
{
	ep->sq_len = 4U << rnd(3);
	ep->rq_len = 4U << rnd(3);
	ep->iov = easy ? 1 + rnd(4) : 1 + rnd(DAT_MAX_SGE);
}

/* Makes an endpoint, or rarely frees one, whatever it does. */
bool step_renew(void)
{
	struct m_ep *ep = &m.ep[rnd(SIDES)][rnd(EPS)], *peer = ep->peer;

	if (!ep->live) {
		ep->live = true;
		ep->srq = chance(256);
		ep->solicited = chance(128);
		ep->in_line = chance(256);
		choose_lengths(ep);
		describe("ep_create %u.%u srq=%d solicited=%d", ep->side, ep->nr, ep->srq,
			 ep->solicited);
		object_ep_create(ep);
		return true;
	}
	if (!chance(16))
		return false;
	describe("ep_free %u.%u", ep->side, ep->nr);
	object_ep_free(ep);
	model_forget(ep);
	if (peer)
		model_hung_up(peer);
	return true;
}

/* Changes the lengths of the queues of an endpoint with receives in the ring. */
bool step_modify(void)
{
	struct m_ep *ep = pick_ep(is_fresh), old;
	int want;

	if (!ep)
		return false;
	old = *ep;
	choose_lengths(ep);
	want = ep->rq_len < ep->nrq ? -ENOSPC : 0;
	describe("ep_modify %u.%u: %d", ep->side, ep->nr, want);
	object_ep_modify(ep, want);
	if (want)
		*ep = old;
	return true;
}

/* The process of side 1 ends, and another one takes its place. */
bool step_kill(void)
{
	uint32_t i;

	if (!chance(400))
		return false;
	describe("kill");
	for (i = 0; i < EPS; i++)
		if (m.ep[0][i].peer && m.ep[0][i].peer->side == 1)
			model_hung_up(&m.ep[0][i]);
	model_side(1);
	replace_side_1();
	script_begin_side(1);
	return true;
}
