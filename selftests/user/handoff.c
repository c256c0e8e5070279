// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Handoff of connection requests to other listeners, while other threads close the listeners and
 * accept or reject the requests, and while processes exit.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "clock.h"

#ifndef RACE_S
#define RACE_S		4	/* shortest time of a race in seconds */
#endif
#define NOBODY		65534
#define OTHER		(T_QUAL + 20)
#define NO_PSP		(T_QUAL + 21)

static int handoff(struct t_file *f, uint32_t cr, uint64_t qual)
{
	struct dat_cr_handoff arg = { .size = sizeof(arg), .id = cr, .conn_qual = qual };

	return t_ioctl(f->fd, DAT_IOC_CR_HANDOFF, &arg);
}

static int reject(struct t_file *f, uint32_t cr)
{
	struct dat_cr_reject arg = { .size = sizeof(arg), .id = cr };

	return t_ioctl(f->fd, DAT_IOC_CR_REJECT, &arg);
}

static int query(struct t_file *f, uint32_t cr, struct dat_cr_query *arg)
{
	*arg = (struct dat_cr_query) { .size = sizeof(*arg), .id = cr };
	return t_ioctl(f->fd, DAT_IOC_CR_QUERY, arg);
}

/* A file with a listener and no endpoints.  @to: qualifier that play() hands requests to. */
struct listener {
	struct t_file	f;
	struct t_evd	cr;
	uint32_t	psp;
	uint64_t	to;
};

static int listener_open(struct listener *l, uint64_t qual, uint32_t qlen)
{
	int ret = t_open(&l->f);

	if (!ret)
		ret = t_evd(&l->f, DAT_STREAM_CR, qlen, &l->cr);
	return ret ? ret : t_psp(&l->f, &l->cr, qual, &l->psp);
}

static void listener_close(struct listener *l)
{
	t_unmap(&l->cr.submit);
	t_unmap(&l->cr.status);
	t_close(&l->f);
}

FIXTURE(handoff) {
	struct t_pair p;
	struct t_link link;
	uint32_t other;
};

FIXTURE_VARIANT(handoff) {
	uint32_t poller_us;
};

FIXTURE_VARIANT_ADD(handoff, kicks) {
};

FIXTURE_VARIANT_ADD(handoff, poller) {
	.poller_us = 1000,
};

FIXTURE_SETUP(handoff)
{
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, t_poller(&self->p.f, variant->poller_us));
	ASSERT_EQ(0, t_link_open(&self->p, &self->link));
	ASSERT_EQ(0, t_psp(&self->p.f, &self->p.cr, OTHER, &self->other));
}

FIXTURE_TEARDOWN(handoff)
{
	EXPECT_EQ(0, t_link_works(&self->p, &self->link));
	t_pair_close(&self->p);
}

/* Returns the id of the next connection request at @evd, or 0 if none arrives within @ms. */
static uint32_t next_cr(struct t_evd *evd, unsigned int ms)
{
	struct dat_eqe eqe;

	return t_event(evd, ms, &eqe) && eqe.type == DAT_EV_CR ? eqe.len : 0;
}

static int ask(struct t_pair *p, struct t_ep *ep, uint64_t qual)
{
	int ret = t_ep(&p->f, p->pz, &p->evd[1], 0, 5, ep);

	return ret ? ret : t_connect(&p->f, ep, qual, "hello", 6);
}

static void forget(struct t_pair *p, struct t_ep *ep)
{
	t_free(&p->f, DAT_OBJ_EP, ep->id);
	t_unmap(&ep->submit);
	t_unmap(&ep->status);
}

/* Returns the type of the event that ends the connection attempt on the connecting side, or 0. */
static uint32_t answer(struct t_pair *p)
{
	struct dat_eqe eqe;

	return t_event(&p->evd[1], T_WAIT_MS, &eqe) ? eqe.type : 0;
}

/* Expect that the request @cr is unchanged and can be accepted. */
static void expect_good(struct __test_metadata *_metadata, struct t_pair *p, uint32_t cr)
{
	struct dat_eqe eqe;

	EXPECT_EQ(0, t_accept(&p->f, cr, &p->ep[0], NULL, 0));
	EXPECT_EQ(DAT_EV_ESTABLISHED, answer(p));
	EXPECT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_ESTABLISHED, eqe.type);
}

TEST_F(handoff, to_what_is_no_service_point_leaves_the_request)
{
	static const struct {
		uint64_t	qual;
		int		err;
	} bad[] = {
		{ 0, -EINVAL }, { 65536, -EADDRNOTAVAIL }, { ~0ULL, -EADDRNOTAVAIL },
		{ 1ULL << 32 | OTHER, -EADDRNOTAVAIL }, { NO_PSP, -EADDRNOTAVAIL },
		{ 1, -EADDRNOTAVAIL }, { 65535, -EADDRNOTAVAIL },
	};
	struct t_pair *p = &self->p;
	struct dat_cr_query q;
	uint32_t cr, i;
	struct t_ep out;

	ASSERT_EQ(0, ask(p, &out, T_QUAL));
	cr = next_cr(&p->cr, T_WAIT_MS);
	ASSERT_NE(0, cr);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EXPECT_EQ(bad[i].err, handoff(&p->f, cr, bad[i].qual)) TH_LOG("%u", i);
	}
	EXPECT_EQ(-ENOENT, handoff(&p->f, 0, OTHER));
	EXPECT_EQ(-ENOENT, handoff(&p->f, cr + 1, OTHER));
	EXPECT_EQ(-ENOENT, handoff(&p->f, p->ep[0].id, OTHER));
	EXPECT_EQ(0, query(&p->f, cr, &q));
	expect_good(_metadata, p, cr);
}

/*
 * A request can be handed off repeatedly, also to the listener that already has the request.  Each
 * handoff invalidates the previous id of the request.  In the end the request can be accepted.
 */
TEST_F_TIMEOUT(handoff, to_oneself_is_a_new_request, 60)
{
	struct t_pair *p = &self->p;
	struct dat_cr_query q;
	struct t_ep out;
	uint32_t cr, next;
	int i;

	ASSERT_EQ(0, ask(p, &out, T_QUAL));
	cr = next_cr(&p->cr, T_WAIT_MS);
	for (i = 0; i < 50; i++) {
		/*
		 * Alternate between the listeners of T_QUAL and OTHER, sometimes without a change.
		 */
		ASSERT_EQ(0, handoff(&p->f, cr, i % 3 ? OTHER : T_QUAL)) TH_LOG("%d", i);
		EXPECT_EQ(-ENOENT, query(&p->f, cr, &q));
		EXPECT_EQ(-ENOENT, reject(&p->f, cr));
		EXPECT_EQ(-ENOENT, handoff(&p->f, cr, OTHER));
		EXPECT_EQ(-ENOENT, t_accept(&p->f, cr, &p->ep[0], NULL, 0));
		next = next_cr(&p->cr, T_WAIT_MS);
		ASSERT_NE(0, next);
		ASSERT_NE(cr, next);
		cr = next;
		ASSERT_EQ(0, query(&p->f, cr, &q));
		EXPECT_EQ(0, memcmp(q.pd, "hello", 6));
	}
	expect_good(_metadata, p, cr);
}

TEST_F(handoff, to_one_that_takes_no_more_leaves_the_request)
{
	struct dat_psp_create psp = {
		.size = sizeof(psp), .evd = self->p.cr.id, .conn_qual = NO_PSP,
		.flags = DAT_PSP_ONE_SHOT,
	};
	struct t_pair *p = &self->p;
	uint32_t cr[2], i;
	struct t_ep out[2];

	ASSERT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_PSP_CREATE, &psp));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, ask(p, &out[i], T_QUAL));
		cr[i] = next_cr(&p->cr, T_WAIT_MS);
		ASSERT_NE(0, cr[i]);
	}
	EXPECT_EQ(0, handoff(&p->f, cr[0], NO_PSP));
	EXPECT_EQ(-EADDRNOTAVAIL, handoff(&p->f, cr[1], NO_PSP));
	EXPECT_EQ(-EADDRNOTAVAIL, handoff(&p->f, cr[1], NO_PSP));
	expect_good(_metadata, p, cr[1]);
}

TEST_F(handoff, to_one_whose_EVD_is_full_leaves_the_request)
{
	struct t_pair *p = &self->p;
	struct listener l;
	struct t_ep out;
	int i;

	ASSERT_EQ(0, listener_open(&l, NO_PSP, 4));
	for (i = 0; i < 6; i++) {
		uint32_t cr;

		ASSERT_EQ(0, ask(p, &out, T_QUAL));
		cr = next_cr(&p->cr, T_WAIT_MS);
		ASSERT_EQ(i < 4 ? 0 : -EADDRNOTAVAIL, handoff(&p->f, cr, NO_PSP));
		if (i < 4)
			continue;
		ASSERT_EQ(0, reject(&p->f, cr));
		EXPECT_EQ(DAT_EV_PEER_REJECTED, answer(p));
	}
	/* Closing the listener refuses the four requests that are still queued. */
	listener_close(&l);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(DAT_EV_NON_PEER_REJECTED, answer(p));
}

/*
 * A process of another user accepts the request.  When that process is killed, the connecting side
 * gets DISCONNECTED.
 */
TEST_F_TIMEOUT(handoff, to_another_process_that_dies, 60)
{
	struct t_pair *p = &self->p;
	int ready[2], status;
	struct t_ep out;
	uint32_t cr;
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	if (!pid) {
		struct t_evd evd;
		struct t_file f;
		struct t_ep ep;
		uint32_t pz, psp;

		if (t_open(&f) || setuid(NOBODY) || t_pz(&f, &pz) ||
		    t_evd(&f, DAT_STREAM_CR | DAT_STREAM_CONNECTION | DAT_STREAM_DTO, 8, &evd) ||
		    t_ep(&f, pz, &evd, 0, 1, &ep) || t_psp(&f, &evd, NO_PSP, &psp))
			_exit(1);
		write(ready[1], "", 1);
		cr = next_cr(&evd, T_WAIT_MS);
		if (!cr || t_accept(&f, cr, &ep, NULL, 0))
			_exit(2);
		pause();
	}
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	ASSERT_EQ(0, ask(p, &out, T_QUAL));
	ASSERT_EQ(0, handoff(&p->f, next_cr(&p->cr, T_WAIT_MS), NO_PSP));
	EXPECT_EQ(DAT_EV_ESTABLISHED, answer(p));
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	EXPECT_EQ(DAT_EV_DISCONNECTED, answer(p));
}

/*
 * The connecting side gives up before or after the handoff.  The accept by the new owner of the
 * request then ends with ACCEPT_ERROR.
 */
TEST_F_TIMEOUT(handoff, of_a_request_whose_peer_is_gone, 120)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	struct t_ep out;
	uint32_t cr;
	int i;

	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, ask(p, &out, T_QUAL));
		cr = next_cr(&p->cr, T_WAIT_MS);
		if (i & 1)
			forget(p, &out);
		ASSERT_EQ(0, handoff(&p->f, cr, OTHER));
		if (!(i & 1))
			forget(p, &out);
		cr = next_cr(&p->cr, T_WAIT_MS);
		ASSERT_NE(0, cr);
		ASSERT_EQ(0, t_accept(&p->f, cr, &p->ep[0], NULL, 0));
		ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
		EXPECT_EQ(DAT_EV_ACCEPT_ERROR, eqe.type) TH_LOG("round %d", i);
		ASSERT_EQ(0, t_reset(&p->f, &p->ep[0]));
	}
}

static int listen_there(struct t_file *f, void *arg)
{
	struct t_evd evd;
	uint32_t psp;
	int ret = t_evd(f, DAT_STREAM_CR, 8, &evd);

	(void)arg;
	if (!ret)
		ret = t_psp(f, &evd, NO_PSP, &psp);
	/*
	 * The test itself already listens at OTHER, but in its own network namespace.  OTHER is
	 * free in the container.
	 */
	return ret ? ret : t_psp(f, &evd, OTHER, &psp);
}

TEST_F_TIMEOUT(handoff, to_another_network_namespace_leaves_the_request, 60)
{
	struct t_pair *p = &self->p;
	struct t_container c;
	struct t_ep out;
	uint32_t cr;
	int ret;

	ret = t_container_start(&c, &p->f, listen_there, NULL);
	if (ret == -ENODEV)
		SKIP(return, "no network namespaces, or no macvlan");
	EXPECT_EQ(0, ret);
	ASSERT_EQ(0, ask(p, &out, T_QUAL));
	cr = next_cr(&p->cr, T_WAIT_MS);
	ASSERT_NE(0, cr);
	EXPECT_EQ(-EADDRNOTAVAIL, handoff(&p->f, cr, NO_PSP));
	/* The handoff reaches the listener in the network namespace of the request. */
	EXPECT_EQ(0, handoff(&p->f, cr, OTHER));
	cr = next_cr(&p->cr, T_WAIT_MS);
	ASSERT_NE(0, cr);
	expect_good(_metadata, p, cr);
	t_container_end(&c);
}

static volatile int stop;

/* Open and close a listener in a loop until @stop. */
static void *fickle(void *arg)
{
	unsigned long *rounds = arg;
	struct listener l;

	while (!stop) {
		if (listener_open(&l, NO_PSP, 8))
			return (void *)1L;
		usleep(rand() % 3000);
		listener_close(&l);
		++*rounds;
	}
	return NULL;
}

TEST_F_TIMEOUT(handoff, races_with_the_close_of_the_receiver, 300)
{
	unsigned long opened = 0, given = 0, kept = 0;
	struct t_pair *p = &self->p;
	double end = now_s() + RACE_S;
	pthread_t thread;
	struct t_ep out;
	void *bad;

	stop = 0;
	ASSERT_EQ(0, pthread_create(&thread, NULL, fickle, &opened));
	while (now_s() < end) {
		uint32_t cr;
		int ret;

		ASSERT_EQ(0, ask(p, &out, T_QUAL));
		cr = next_cr(&p->cr, T_WAIT_MS);
		ASSERT_NE(0, cr);
		ret = handoff(&p->f, cr, NO_PSP);
		ASSERT_TRUE(!ret || ret == -EADDRNOTAVAIL) TH_LOG("%d", ret);
		/*
		 * The request belongs either to this file or to the new listener.  Closing the
		 * owner's file ends the request.
		 */
		EXPECT_EQ(ret ? 0 : -ENOENT, t_free(&p->f, DAT_OBJ_CR, cr));
		ret ? kept++ : given++;
		ASSERT_EQ(DAT_EV_NON_PEER_REJECTED, answer(p));
		forget(p, &out);
	}
	stop = 1;
	pthread_join(thread, &bad);
	EXPECT_EQ(NULL, bad);
	TH_LOG("%lu listeners, %lu given, %lu kept", opened, given, kept);
}

struct giver {
	struct t_file	*f;
	uint32_t	cr;
	int		ret;
};

static void *give(void *arg)
{
	struct giver *g = arg;

	g->ret = handoff(g->f, g->cr, OTHER);
	return NULL;
}

TEST_F_TIMEOUT(handoff, races_with_the_close_of_the_giver, 300)
{
	struct t_pair *p = &self->p;
	double end = now_s() + RACE_S;
	unsigned int given = 0, kept = 0;

	while (now_s() < end) {
		struct dat_ia_close close_arg = { .size = sizeof(close_arg) };
		struct listener l;
		struct giver g = { .f = &l.f };
		pthread_t thread;
		struct t_ep out;
		uint32_t cr;

		ASSERT_EQ(0, listener_open(&l, NO_PSP, 8));
		ASSERT_EQ(0, ask(p, &out, NO_PSP));
		g.cr = next_cr(&l.cr, T_WAIT_MS);
		ASSERT_NE(0, g.cr);
		ASSERT_EQ(0, pthread_create(&thread, NULL, give, &g));
		usleep(rand() % 200);
		ASSERT_EQ(0, t_ioctl(l.f.fd, DAT_IOC_IA_CLOSE, &close_arg));
		pthread_join(thread, NULL);
		listener_close(&l);
		if (!g.ret) {
			given++;
			cr = next_cr(&p->cr, T_WAIT_MS);
			EXPECT_EQ(0, t_free(&p->f, DAT_OBJ_CR, cr));
		} else {
			kept++;
			ASSERT_TRUE(g.ret == -ENODEV || g.ret == -ENOENT) TH_LOG("%d", g.ret);
		}
		ASSERT_EQ(DAT_EV_NON_PEER_REJECTED, answer(p));
		forget(p, &out);
	}
	TH_LOG("%u given, %u kept", given, kept);
}

/*
 * Three threads claim the same request at once: by a handoff, by an accept, and by a reject or a
 * free.
 */
struct claim {
	struct t_pair		*p;
	volatile uint32_t	cr;
	pthread_barrier_t	start;
	pthread_barrier_t	done;
	int			handed;
	int			accepted;
	int			ended;
};

static void *hand_on(void *arg)
{
	struct claim *c = arg;

	for (;;) {
		pthread_barrier_wait(&c->start);
		if (!c->cr)
			return NULL;
		c->handed = handoff(&c->p->f, c->cr, OTHER);
		pthread_barrier_wait(&c->done);
	}
}

static void *accept_it(void *arg)
{
	struct claim *c = arg;

	for (;;) {
		pthread_barrier_wait(&c->start);
		if (!c->cr)
			return NULL;
		c->accepted = t_accept(&c->p->f, c->cr, &c->p->ep[0], NULL, 0);
		pthread_barrier_wait(&c->done);
	}
}

/* After an accept: take the events of both ends, disconnect, and reset ep[0]. */
static void finish_accepted(struct __test_metadata *_metadata, struct t_pair *p)
{
	struct dat_eqe eqe;

	ASSERT_EQ(DAT_EV_ESTABLISHED, answer(p));
	ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
	ASSERT_EQ(DAT_EV_ESTABLISHED, eqe.type);
	ASSERT_EQ(0, t_disconnect(&p->f, &p->ep[0], 0));
	ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
	ASSERT_EQ(DAT_EV_DISCONNECTED, answer(p));
	ASSERT_EQ(0, t_reset(&p->f, &p->ep[0]));
}

TEST_F_TIMEOUT(handoff, races_with_accept_and_reject, 300)
{
	struct t_pair *p = &self->p;
	struct claim c = { .p = p };
	double end = now_s() + RACE_S;
	unsigned int won[4] = { 0 };
	pthread_t thread[2];
	struct t_ep out;
	int i;

	pthread_barrier_init(&c.start, NULL, 3);
	pthread_barrier_init(&c.done, NULL, 3);
	ASSERT_EQ(0, pthread_create(&thread[0], NULL, hand_on, &c));
	ASSERT_EQ(0, pthread_create(&thread[1], NULL, accept_it, &c));
	while (now_s() < end) {
		ASSERT_EQ(0, ask(p, &out, T_QUAL));
		c.cr = next_cr(&p->cr, T_WAIT_MS);
		ASSERT_NE(0, c.cr);
		pthread_barrier_wait(&c.start);
		usleep(rand() % 100);
		c.ended = rand() & 1 ? reject(&p->f, c.cr) : t_free(&p->f, DAT_OBJ_CR, c.cr);
		pthread_barrier_wait(&c.done);
		ASSERT_TRUE(!c.handed || c.handed == -ENOENT) TH_LOG("%d", c.handed);
		ASSERT_TRUE(!c.accepted || c.accepted == -ENOENT) TH_LOG("%d", c.accepted);
		ASSERT_TRUE(!c.ended || c.ended == -ENOENT) TH_LOG("%d", c.ended);
		/*
		 * Only one thread gets the request.  The third thread may also end a request that
		 * is already taken, which is no failure.
		 */
		ASSERT_FALSE(!c.handed && !c.accepted);
		won[!c.handed ? 0 : !c.accepted ? 1 : 2]++;
		if (!c.accepted) {
			finish_accepted(_metadata, p);
		} else {
			if (!c.handed)
				EXPECT_EQ(0, t_free(&p->f, DAT_OBJ_CR,
						    next_cr(&p->cr, T_WAIT_MS)));
			ASSERT_NE(0, answer(p));
		}
		EXPECT_EQ(-ENOENT, t_free(&p->f, DAT_OBJ_CR, c.cr));
		forget(p, &out);
	}
	c.cr = 0;
	pthread_barrier_wait(&c.start);
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	TH_LOG("%u handed on, %u accepted, %u ended", won[0], won[1], won[2]);
}

/* Hand off every request of listener @l to the qualifier @l->to. */
static void *play(void *arg)
{
	struct listener *l = arg;
	uint32_t cr;

	while (!stop) {
		cr = next_cr(&l->cr, 20);
		if (cr && handoff(&l->f, cr, l->to))
			t_free(&l->f, DAT_OBJ_CR, cr);
	}
	return NULL;
}

/* Two files hand off requests to each other until the test closes the files. */
TEST_F_TIMEOUT(handoff, to_and_fro_ends_with_the_files, 300)
{
	struct t_pair *p = &self->p;
	double end = now_s() + RACE_S;
	int i, rounds;

	for (rounds = 0; now_s() < end; rounds++) {
		struct listener l[2];
		pthread_t thread[2];
		struct t_ep out[4];

		stop = 0;
		ASSERT_EQ(0, listener_open(&l[0], NO_PSP, 8));
		ASSERT_EQ(0, listener_open(&l[1], NO_PSP + 1, 8));
		l[0].to = NO_PSP + 1;
		l[1].to = NO_PSP;
		for (i = 0; i < 4; i++)
			ASSERT_EQ(0, ask(p, &out[i], NO_PSP));
		for (i = 0; i < 2; i++)
			ASSERT_EQ(0, pthread_create(&thread[i], NULL, play, &l[i]));
		usleep(rand() % 30000);
		for (i = 0; i < 2; i++) {
			struct dat_ia_close arg = { .size = sizeof(arg) };

			ASSERT_EQ(0, t_ioctl(l[i].f.fd, DAT_IOC_IA_CLOSE, &arg));
		}
		stop = 1;
		for (i = 0; i < 2; i++)
			pthread_join(thread[i], NULL);
		for (i = 0; i < 2; i++)
			listener_close(&l[i]);
		/*
		 * While the rdma_cm id of the listener is being destroyed, rdma_cm itself rejects
		 * requests.  The peer sees PEER_REJECTED, as if a consumer had rejected the
		 * request.
		 */
		for (i = 0; i < 4; i++) {
			uint32_t type = answer(p);

			ASSERT_TRUE(type == DAT_EV_NON_PEER_REJECTED ||
				    type == DAT_EV_PEER_REJECTED) TH_LOG("%d", rounds);
		}
		for (i = 0; i < 4; i++)
			forget(p, &out[i]);
	}
	TH_LOG("%d rounds", rounds);
}

TEST_HARNESS_MAIN
