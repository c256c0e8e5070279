// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Connections of an EVD share a completion queue of the device: how many there are, and that the
 * end of a connection leaves the others alone.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "clock.h"
#include "rdma_count.h"

#define STREAMS	(DAT_STREAM_DTO | DAT_STREAM_CONNECTION)
#define EPS	8
#define LONG	4096	/* events of an EVD for all connections of a test */
#define ENDS	120	/* connections that end beside another one: more than a CQ holds */

/* The EPs at each end have an EVD; ep[i][1] is connected to ep[i][0]. */
FIXTURE(cq) {
	struct t_pair p;
	struct t_evd evd[2];
	struct t_ep ep[EPS][2];
	int before;	/* CQs of all devices */
	int idle;	/* the same before the first connection; registration may have made one */
};

FIXTURE_SETUP(cq)
{
	self->before = rdma_count_settled("cq");
	ASSERT_LE(0, self->before);
	ASSERT_EQ(0, t_pair_open(&self->p));
	self->idle = rdma_count("cq");
}

/* The CQs go with their last connection. */
FIXTURE_TEARDOWN(cq)
{
	t_pair_close(&self->p);
	EXPECT_EQ(self->before, rdma_count_falls("cq", self->before));
}

/* Connect @n pairs of EPs.  Those of evd[0], which is for @qlen events, use @srq if it is not 0. */
static int open_pairs(FIXTURE_DATA(cq) *self, int n, uint32_t qlen, uint32_t srq)
{
	struct t_pair *p = &self->p;
	int ret, i;

	ret = t_evd(&p->f, STREAMS, qlen, &self->evd[0]);
	if (!ret)
		ret = t_evd(&p->f, STREAMS, LONG, &self->evd[1]);
	for (i = 0; i < n && !ret; i++) {
		ret = t_ep(&p->f, p->pz, &self->evd[0], srq, i, &self->ep[i][0]);
		if (!ret)
			ret = t_ep(&p->f, p->pz, &self->evd[1], 0, EPS + i, &self->ep[i][1]);
		if (!ret)
			ret = t_connect_eps(p, self->ep[i], self->evd);
	}
	return ret;
}

/* Returns the number of CQs that the test has, beside that of evd[1]. */
static int cqs(const FIXTURE_DATA(cq) *self)
{
	return rdma_count("cq") - self->idle - 1;
}

/*
 * Send a message over a connection into a buffer of the receive queue @rq, and take the event at
 * each end.  Returns 0 or an errno.
 */
static int message_to(FIXTURE_DATA(cq) *self, int i, struct t_queue *rq, uint64_t cookie)
{
	struct t_lmr *mem = &self->p.mem;
	uint64_t addr = (uintptr_t)mem->va;
	struct dat_eqe eqe;
	int ret, end;

	ret = t_recv(rq, cookie, addr, mem->lkey, 64);
	if (!ret)
		ret = t_send(&self->ep[i][1], cookie, addr, mem->lkey, 64);
	for (end = 0; end < 2 && !ret; end++) {
		if (!t_event(&self->evd[end], T_WAIT_MS, &eqe))
			ret = -ETIMEDOUT;
		else if (eqe.type != DAT_EV_DTO || eqe.status || eqe.cookie != cookie)
			ret = -EIO;
	}
	return ret;
}

static int message(FIXTURE_DATA(cq) *self, int i, uint64_t cookie)
{
	return message_to(self, i, &self->ep[i][0].rq, cookie);
}

TEST_F_TIMEOUT(cq, connections_of_an_EVD_share_one, 60)
{
	int i;

	ASSERT_EQ(0, open_pairs(self, EPS, LONG, 0));
	EXPECT_EQ(1, cqs(self));
	for (i = 0; i < EPS; i++)
		EXPECT_EQ(0, message(self, i, i));
}

/* The EVD has an entry for each work request, but the CQ also needs entries for the markers. */
TEST_F_TIMEOUT(cq, connections_of_an_EVD_of_the_exact_length_share_one, 60)
{
	int i;

	ASSERT_EQ(0, open_pairs(self, EPS, EPS * 2 * T_QUEUE, 0));
	EXPECT_EQ(1, cqs(self));
	for (i = 0; i < EPS; i++)
		EXPECT_EQ(0, message(self, i, i));
}

/* Each further CQ is twice as long: they have room for 1, 3 and 7 connections. */
TEST_F_TIMEOUT(cq, connections_of_a_short_EVD_share_few, 60)
{
	int i;

	ASSERT_EQ(0, open_pairs(self, EPS, 8, 0));
	EXPECT_EQ(3, cqs(self));
	for (i = 0; i < EPS; i++)
		EXPECT_EQ(0, message(self, i, i));
}

/* A CQ of 1,024 entries holds the 895 buffers that are at the device, and requests of some EPs. */
TEST_F_TIMEOUT(cq, an_SRQ_has_its_place_in_one_once, 60)
{
	enum { SOME = 5 };
	struct t_srq srq;

	ASSERT_EQ(0, t_srq(&self->p.f, self->p.pz, 16384, &srq));
	ASSERT_EQ(0, open_pairs(self, SOME, 8, srq.id));
	EXPECT_EQ(1, cqs(self));
}

TEST_F_TIMEOUT(cq, two_EVDs_of_an_EP_have_one_each, 60)
{
	struct t_pair *p = &self->p;
	struct dat_ep_create arg = {
		.pz = p->pz, .max_recv = T_QUEUE, .max_request = T_QUEUE, .max_recv_iov = 1,
		.max_request_iov = 1,
	};
	struct t_evd requests;

	ASSERT_EQ(0, open_pairs(self, 0, LONG, 0));
	ASSERT_EQ(0, t_evd(&p->f, STREAMS, LONG, &requests));
	arg.recv_evd = self->evd[0].id;
	arg.connect_evd = self->evd[0].id;
	arg.request_evd = requests.id;
	ASSERT_EQ(0, t_any_ep(&p->f, &arg, &self->ep[0][0]));
	ASSERT_EQ(0, t_ep(&p->f, p->pz, &self->evd[1], 0, 1, &self->ep[0][1]));
	ASSERT_EQ(0, t_connect_eps(p, self->ep[0], self->evd));
	EXPECT_EQ(2, cqs(self));
	EXPECT_EQ(0, message(self, 0, 1));
}

TEST_F_TIMEOUT(cq, a_connection_whose_kinds_have_no_EVD_works, 60)
{
	struct t_pair *p = &self->p;
	struct dat_ep_create arg = {
		.pz = p->pz, .max_recv = T_QUEUE, .max_request = T_QUEUE, .max_recv_iov = 1,
		.max_request_iov = 1,
	};
	uint64_t addr = (uintptr_t)p->mem.va, end = now_ms() + T_WAIT_MS;
	struct dat_eqe eqe;
	uint32_t i;

	ASSERT_EQ(0, open_pairs(self, 0, LONG, 0));
	arg.connect_evd = self->evd[0].id;
	ASSERT_EQ(0, t_any_ep(&p->f, &arg, &self->ep[0][0]));
	ASSERT_EQ(0, t_ep(&p->f, p->pz, &self->evd[1], 0, 1, &self->ep[0][1]));
	ASSERT_EQ(0, t_connect_eps(p, self->ep[0], self->evd));
	EXPECT_EQ(1, cqs(self));
	/* Twice the length of the queues: completions make room. */
	for (i = 0; i < 2 * T_QUEUE; i++) {
		ASSERT_EQ(0, t_recv(&self->ep[0][0].rq, i, addr, p->mem.lkey, 64));
		ASSERT_EQ(0, t_send(&self->ep[0][1], i, addr, p->mem.lkey, 64));
		ASSERT_EQ(1, t_event(&self->evd[1], T_WAIT_MS, &eqe));
		ASSERT_EQ(0, eqe.status);
		while (self->ep[0][0].rq.status->done != i + 1 && now_ms() < end)
			usleep(100);
		ASSERT_EQ(i + 1, self->ep[0][0].rq.status->done);
	}
}

/* Sends messages over ep[0], one by one, until it is told to stop. */
struct talker {
	FIXTURE_DATA(cq)	*self;
	atomic_bool		stop;
	uint32_t		sent;
	int			ret;
	pthread_t		thread;
};

static void *talk(void *arg)
{
	struct talker *t = arg;
	struct t_lmr *mem = &t->self->p.mem;
	struct t_ep *ep = t->self->ep[0];
	uint64_t addr = (uintptr_t)mem->va;
	uint64_t end;

	for (; !t->stop && !t->ret; t->sent++) {
		t->ret = t_recv(&ep[0].rq, t->sent, addr, mem->lkey, 64);
		if (!t->ret)
			t->ret = t_send(&ep[1], t->sent, addr, mem->lkey, 64);
		end = now_ms() + T_WAIT_MS;
		while (!t->ret && (ep[0].rq.status->done != t->sent + 1 ||
				   ep[1].sq.status->done != t->sent + 1))
			if (now_ms() > end)
				t->ret = -ETIMEDOUT;
	}
	return NULL;
}

/*
 * Take the events of an EVD until the connection of @owner has ended.  Counts in @flushed the
 * entries of @owner that were flushed in order, and in @next the events of the talker.  Returns 0,
 * or -EIO if an event is wrong.
 */
static int events_until_end(struct t_evd *evd, uint64_t owner, uint64_t *flushed, uint64_t *next)
{
	struct dat_eqe eqe;

	*flushed = 0;
	while (t_event(evd, T_WAIT_MS, &eqe)) {
		if (eqe.owner != owner) {
			if (eqe.type != DAT_EV_DTO || eqe.status || eqe.cookie != (*next)++)
				return -EIO;
			continue;
		}
		if (eqe.type == DAT_EV_DISCONNECTED)
			return 0;
		if (eqe.type != DAT_EV_DTO || eqe.status != DAT_ST_FLUSHED ||
		    eqe.cookie != (*flushed)++)
			return -EIO;
	}
	return -ETIMEDOUT;
}

/* Connect ep[1] anew.  Other events than those of the connect are the talker's. */
static int connect_beside(FIXTURE_DATA(cq) *self, uint64_t next[2])
{
	struct t_pair *p = &self->p;
	struct t_ep *ep = self->ep[1];
	struct dat_eqe eqe;
	int i, ret;

	ret = t_connect(&p->f, &ep[1], T_QUAL, NULL, 0);
	if (ret || !t_event(&p->cr, T_WAIT_MS, &eqe))
		return ret ? ret : -ETIMEDOUT;
	ret = t_accept(&p->f, (uint32_t)eqe.len, &ep[0], NULL, 0);
	for (i = 0; i < 2 && !ret; i++) {
		do {
			if (!t_event(&self->evd[i], T_WAIT_MS, &eqe))
				return -ETIMEDOUT;
			if (eqe.type == DAT_EV_DTO && (eqe.status || eqe.cookie != next[i]++))
				return -EIO;
		} while (eqe.type == DAT_EV_DTO);
		ret = eqe.type == DAT_EV_ESTABLISHED ? 0 : -ECONNREFUSED;
	}
	return ret;
}

/* Post receives at both ends of ep[1], and disconnect.  Returns 0 if each one is flushed once. */
static int end_beside(FIXTURE_DATA(cq) *self, uint64_t next[2])
{
	struct t_lmr *mem = &self->p.mem;
	struct t_ep *ep = self->ep[1];
	uint64_t flushed;
	int i, k, ret = 0;

	for (i = 0; i < 2; i++)
		for (k = 0; k < T_QUEUE && !ret; k++)
			ret = t_recv(&ep[i].rq, k, (uintptr_t)mem->va, mem->lkey, 64);
	if (!ret)
		ret = t_disconnect(&self->p.f, &ep[0], 0);
	for (i = 0; i < 2 && !ret; i++) {
		ret = events_until_end(&self->evd[i], i * EPS + 1, &flushed, &next[i]);
		if (!ret && flushed != T_QUEUE)
			ret = -EIO;
	}
	for (i = 0; i < 2 && !ret; i++)
		ret = t_reset(&self->p.f, &ep[i]);
	return ret;
}

/* Connections come and go in the CQ of one that talks all the time. */
TEST_F_TIMEOUT(cq, connections_end_beside_one_that_goes_on, 240)
{
	uint64_t next[2] = { 0 }, end;
	struct talker t = { .self = self };
	struct dat_eqe eqe;
	int i;

	ASSERT_EQ(0, open_pairs(self, 2, LONG / 2, 0));
	ASSERT_EQ(0, pthread_create(&t.thread, NULL, talk, &t));
	for (i = 0; i < ENDS; i++) {
		ASSERT_EQ(0, end_beside(self, next)) TH_LOG("end %d", i);
		ASSERT_EQ(0, connect_beside(self, next)) TH_LOG("connect %d", i);
	}
	t.stop = true;
	pthread_join(t.thread, NULL);
	EXPECT_EQ(0, t.ret);
	end = now_ms() + T_WAIT_MS;
	for (i = 0; i < 2; i++) {
		while (next[i] < t.sent && now_ms() < end)
			if (t_event(&self->evd[i], 0, &eqe))
				ASSERT_EQ(next[i]++, eqe.cookie);
		EXPECT_EQ(t.sent, next[i]);
	}
	EXPECT_EQ(1, cqs(self));
}

/*
 * Connect EPs of which one uses an SRQ, send a message, and end all three.  Returns 0 or an errno.
 */
static int srq_beside(FIXTURE_DATA(cq) *self, uint64_t cookie)
{
	struct t_pair *p = &self->p;
	struct t_ep *ep = self->ep[1];
	uint64_t flushed, none = 0;
	struct t_srq srq;
	int i, ret;

	ret = t_srq(&p->f, p->pz, 16384, &srq);
	if (!ret)
		ret = t_ep(&p->f, p->pz, &self->evd[0], srq.id, 1, &ep[0]);
	if (!ret)
		ret = t_ep(&p->f, p->pz, &self->evd[1], 0, EPS + 1, &ep[1]);
	if (!ret)
		ret = t_connect_eps(p, ep, self->evd);
	if (!ret)
		ret = message_to(self, 1, &srq.rq, cookie);
	if (!ret)
		ret = t_disconnect(&p->f, &ep[0], 0);
	for (i = 0; i < 2 && !ret; i++)
		ret = events_until_end(&self->evd[i], i * EPS + 1, &flushed, &none);
	for (i = 0; i < 2 && !ret; i++)
		ret = t_free(&p->f, DAT_OBJ_EP, ep[i].id);
	return ret ? ret : t_free(&p->f, DAT_OBJ_SRQ, srq.id);
}

/* The CQ has room for the windows of at most two SRQs, 895 entries each. */
TEST_F_TIMEOUT(cq, an_SRQ_gives_its_place_in_one_back, 120)
{
	int i;

	ASSERT_EQ(0, open_pairs(self, 1, 1024, 0));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, srq_beside(self, i));
	EXPECT_EQ(1, cqs(self));
}

/* The CQ may end after the EVD. */
TEST_F_TIMEOUT(cq, an_EVD_is_freed_right_after_its_EPs, 60)
{
	struct t_pair *p = &self->p;
	int i, k;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, open_pairs(self, 1, LONG, 0));
		for (k = 0; k < 2; k++)
			ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, self->ep[0][k].id));
		for (k = 0; k < 2; k++)
			ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EVD, self->evd[k].id));
	}
}

TEST_HARNESS_MAIN
