// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Waits for the events that the model expects, compares them, and prints them.
 *
 * The order of the events of an EVD is compared, except when a connection ends: the device flushes
 * requests and receives in any order to each other.  So a step's events are compared in the order
 * receives, requests, others; the end of a connection must be the last in the ring.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "differ.h"

#define SPINS		100	/* looks before a thread sleeps between looks */
#define SLEEP_US	200

/*
 * Adapters may differ in the points below, for the causes given there.  The output then has the
 * name of the point instead of the value.
 *
 *   REFUSED_END   the end of a connection at a peer whose device has refused an access: BROKEN, or
 *                 DISCONNECTED if the device reports the refusal to the requester alone (rxe before
 *                 Linux 7.2)
 *   DEAD_RECEIVE  status of a receive whose memory was freed after the device had taken it:
 *                 LOCAL_PROTECTION, or LOCAL_LENGTH on rxe, which has one error for both
 *   LATE_REFUSAL  status of an invalid request behind a fence that the end of the connection
 *                 flushes: its own, or FLUSHED on rxe, where the driver takes nothing before the
 *                 fence ends.  If the peer has ended the connection, its end follows from that
 *   PADDING       length of private data: RoCE pads it with zeros
 *
 * Besides: the bytes of a message that its receive cannot hold (memory_undefined()), and the order
 * above.
 */
static const char * const allowed[] = {
	[REFUSED_END]	= "refused-end",
	[DEAD_RECEIVE]	= "dead-receive",
	[LATE_REFUSAL]	= "late-refusal",
	[PADDING]	= "padding",
};

static uint32_t cr_id;

/* Returns the id of the last connection request. */
uint32_t last_cr(void)
{
	return cr_id;
}

static uint32_t queued(const struct t_evd *evd)
{
	const struct dat_evd_status *st = evd->status.va;

	return __atomic_load_n(&st->tail, __ATOMIC_ACQUIRE) - evd->head;
}

static const char *name(int evd)
{
	static const char * const names[EVDS] = { "ep0", "ep1", "ep2", "ep3", "cr", "async" };

	return names[evd];
}

static int format(char *to, size_t size, const struct dat_eqe *e, enum allowed may)
{
	char type[24], status[24], len[24];

	snprintf(type, sizeof(type), "%#x", e->type);
	snprintf(status, sizeof(status), "%u", e->status);
	snprintf(len, sizeof(len), "%u", e->len);
	if (may == REFUSED_END)
		strcpy(type, allowed[may]);
	if (may == DEAD_RECEIVE || may == LATE_REFUSAL)
		strcpy(status, allowed[may]);
	if (may == PADDING)
		strcpy(len, allowed[may]);
	return snprintf(to, size, "type=%s status=%s op=%u flags=%u owner=%llu cookie=%llu len=%s",
			type, status, e->op, e->flags, (unsigned long long)e->owner,
			(unsigned long long)e->cookie, len);
}

static bool same(const struct dat_eqe *got, const struct expect *want)
{
	struct dat_eqe e = *got;

	if (want->may == REFUSED_END && (e.type == DAT_EV_BROKEN || e.type == DAT_EV_DISCONNECTED))
		e.type = want->e.type;
	if (want->may == DEAD_RECEIVE && e.status == DAT_ST_LOCAL_LENGTH)
		e.status = want->e.status;
	if (want->may == LATE_REFUSAL && e.status == DAT_ST_FLUSHED)
		e.status = want->e.status;
	if (want->may == PADDING && e.len >= want->e.len)
		e.len = want->e.len;
	/* The kernel chooses the ids of requests. */
	if (e.type == DAT_EV_CR)
		e.len = want->e.len;
	return !memcmp(&e, &want->e, sizeof(e));
}

/* Receives, requests, others. */
static int rank(const struct dat_eqe *e)
{
	if (e->type == DAT_EV_RMR_BIND)
		return 1;
	return e->type != DAT_EV_DTO ? 2 : e->flags & DAT_EQE_RECV ? 0 : 1;
}

/*
 * Returns whether a sleeping thread is sure to be woken when all events of @x are queued: the last
 * one must notify.
 */
static bool wakes(const struct expects *x, bool solicited)
{
	return !solicited && !x->e[x->n - 1].quiet;
}

/* Gives the CPU to other scripts; @tries: number of looks so far. */
static void rest(uint32_t tries)
{
	if (tries < SPINS)
		sched_yield();
	else
		usleep(SLEEP_US);
}

/*
 * Waits for the events of @x.  The way depends on the step, but not on rnd(), which both sides must
 * call alike.
 */
static void await_events(int nr, const struct expects *x, bool solicited)
{
	uint64_t end = now_ms() + T_WAIT_MS;
	struct t_evd *evd = object_evd(nr);
	uint32_t way = (step * 7 + nr * 3) % 8, tries = 0;
	int ret = 0;

	if (solicited || nr >= EPS)
		way = solicited ? 1 : 2;
	while (queued(evd) < (uint32_t)x->n) {
		if (ret == -ETIME || now_ms() > end)
			fail("side %u, %s: %u events instead of %u", me, name(nr), queued(evd),
			     x->n);
		if (way > 1 && wakes(x, solicited)) {
			ret = t_evd_wait(evd, x->n, T_WAIT_MS);
			continue;
		}
		if (way)
			t_word(evd->f, DAT_IOC_EVD_LOOK, evd->id);
		rest(tries++);
	}
}

static void report(int nr, const struct dat_eqe *got, const struct expect *want)
{
	char a[200], b[200];

	format(a, sizeof(a), got, SAME);
	format(b, sizeof(b), &want->e, SAME);
	fail("side %u, %s: got %s\n# instead of %s", me, name(nr), a, b);
}

/* Compares the events of rank @r in both lists, in order. */
static void compare(int nr, const struct dat_eqe *got, const struct expects *x, int r)
{
	char line[200];
	int i = 0, k;

	for (k = 0; k < x->n; k++) {
		if (rank(&x->e[k].e) != r)
			continue;
		while (i < x->n && rank(&got[i]) != r)
			i++;
		if (i == x->n || !same(&got[i], &x->e[k]))
			report(nr, i == x->n ? &got[x->n - 1] : &got[i], &x->e[k]);
		if (got[i].type == DAT_EV_CR)
			cr_id = got[i].len;
		format(line, sizeof(line), &x->e[k].e, x->e[k].may);
		say("%s %s", name(nr), line);
		i++;
	}
}

static void collect(int nr)
{
	struct expects *x = &m.events[me][nr];
	bool solicited = nr < EPS && m.ep[me][nr].solicited;
	struct dat_eqe got[4 * DEPTH];
	int i, r;

	if (!x->n)
		return;
	await_events(nr, x, solicited);
	for (i = 0; i < x->n; i++)
		t_event(object_evd(nr), 0, &got[i]);
	for (i = 0; i + 1 < x->n; i++)
		if (got[i].type >= DAT_EV_DISCONNECTED && got[i].type <= DAT_EV_BROKEN)
			report(nr, &got[i], &x->e[i]);
	for (r = 0; r < 3; r++)
		compare(nr, got, x, r);
}

/* Waits until @at is @want, which the kernel may write a moment after the last event. */
static void await_word(const uint32_t *at, uint32_t want, const char *what, int nr)
{
	uint64_t end = now_ms() + T_WAIT_MS;
	struct t_evd *evd = object_evd(nr);
	uint32_t tries = 0;

	while (__atomic_load_n(at, __ATOMIC_ACQUIRE) != want) {
		if (now_ms() > end)
			fail("side %u, %s: %s is %u instead of %u", me, name(nr), what, *at, want);
		t_word(evd->f, DAT_IOC_EVD_LOOK, evd->id);
		rest(tries++);
	}
}

/* The counters of the queues have no event when a suppressed request completes. */
static void check_status(uint32_t nr)
{
	const struct m_ep *ep = &m.ep[me][nr];
	const struct t_ep *t = object_ep(nr);
	const struct dat_status *st;

	/* The other side may have answered a connect already. */
	if (!ep->live || ep->state == PENDING)
		return;
	st = t->status.va;
	/* With DAT_FEATURE_SILENT, a report ends when all requests have completed. */
	if (!features || !ep->nsq) {
		if (st->sq.done != t->sq.tail - ep->nsq)
			object_report(nr);
		await_word(&st->sq.done, t->sq.tail - ep->nsq, "sq.done", nr);
	}
	if (!ep->srq)
		await_word(&st->rq.done, t->rq.tail - ep->nrq, "rq.done", nr);
	await_word(&st->state, ep->state, "state", nr);
}

static void check_srq(void)
{
	const struct dat_status *st = object_srq()->status.va;

	await_word(&st->rq.done, object_srq()->rq.tail - m.srq[me].n, "srq.done", EVD_ASYNC);
	await_word(&st->lost, m.srq[me].lost, "srq.lost", EVD_ASYNC);
}

static void collect_all(void)
{
	uint32_t i;

	for (i = 0; i < EVDS; i++)
		collect(i);
	for (i = 0; i < EPS; i++)
		check_status(i);
	check_srq();
}

/* Waits for what the model expects at this side, if the step concerns it. */
void collect_events(void)
{
	uint32_t i;

	if (is_concerned())
		collect_all();
	for (i = 0; i < SIDES * EVDS; i++)
		m.events[i / EVDS][i % EVDS].n = 0;
}

/* No event may have come that no step has expected. */
void expect_silence(void)
{
	struct dat_eqe e;
	char line[200];
	int i;

	for (i = 0; i < EVDS; i++) {
		if (!queued(object_evd(i)))
			continue;
		t_event(object_evd(i), 0, &e);
		format(line, sizeof(line), &e, SAME);
		fail("side %u, %s: an event too many: %s", me, name(i), line);
	}
}
