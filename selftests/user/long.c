// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Long rings, which the driver processes in slices: no entry is forgotten, and the order is kept.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"

#define LONG	4096		/* entries */
#define STREAMS	(DAT_STREAM_DTO | DAT_STREAM_CONNECTION)

FIXTURE(rings) {
	struct t_pair p;
	struct t_evd evd[2];
	struct t_ep ep[2];
	struct t_evd async;
};

FIXTURE_SETUP(rings)
{
	struct t_pair *p = &self->p;
	int i;

	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, t_evd(&p->f, DAT_STREAM_ASYNC, 1024, &self->async));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, t_evd(&p->f, STREAMS, 8 * LONG, &self->evd[i]));
		ASSERT_EQ(0, t_long_ep(&p->f, p->pz, &self->evd[i], 0, i, LONG, &self->ep[i]));
	}
}

FIXTURE_TEARDOWN(rings)
{
	t_pair_close(&self->p);
}

static int connect_them(FIXTURE_DATA(rings) *self)
{
	return t_connect_eps(&self->p, self->ep, self->evd);
}

static int post_recvs(FIXTURE_DATA(rings) *self, int side, int n)
{
	struct t_pair *p = &self->p;
	int i, ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = t_recv(&self->ep[side].rq, i, (uintptr_t)p->mem.va, p->mem.lkey, 8);
	return ret;
}

static int post_sends(FIXTURE_DATA(rings) *self, int side, int n)
{
	struct t_pair *p = &self->p;
	int i, ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = t_send(&self->ep[side], i, (uintptr_t)p->mem.va, p->mem.lkey, 8);
	return ret;
}

/*
 * Returns how many of the next @n events have the cookies 0, 1, ... in order, together with @flags
 * and @status.
 */
static int in_order(struct t_evd *evd, int n, int flags, int status)
{
	struct dat_eqe eqe;
	int i;

	for (i = 0; i < n; i++)
		if (!t_event(evd, T_WAIT_MS, &eqe) || eqe.type != DAT_EV_DTO ||
		    eqe.cookie != (uint64_t)i || eqe.status != status || eqe.flags != flags)
			break;
	return i;
}

/*
 * If entries are posted before the connection is established, the driver processes them as soon as
 * the connection is established, without a kick.
 */
TEST_F_TIMEOUT(rings, what_was_posted_before_the_connection_is_carried_out, 120)
{
	ASSERT_EQ(0, post_recvs(self, 0, LONG));
	ASSERT_EQ(0, post_sends(self, 1, LONG));
	ASSERT_EQ(0, connect_them(self));
	EXPECT_EQ(LONG, in_order(&self->evd[1], LONG, 0, DAT_ST_SUCCESS));
	EXPECT_EQ(LONG, in_order(&self->evd[0], LONG, DAT_EQE_RECV, DAT_ST_SUCCESS));
}

/* If receives are posted before the connect, they are at the device before the peer can send. */
TEST_F_TIMEOUT(rings, receives_posted_before_the_connection_are_at_the_device, 60)
{
	ASSERT_EQ(0, post_recvs(self, 0, LONG));
	ASSERT_EQ(0, connect_them(self));
	EXPECT_EQ(LONG, self->ep[0].rq.status->head - self->ep[0].rq.status->done);
}

TEST_F_TIMEOUT(rings, receives_posted_at_once_all_get_to_the_device, 60)
{
	struct t_queue *rq = &self->ep[0].rq;
	int i;

	ASSERT_EQ(0, connect_them(self));
	for (i = 0; i < LONG; i++) {
		t_rqe(rq)->num_sge = 0;
		rq->tail++;
	}
	__atomic_store_n(rq->shared_tail, rq->tail, __ATOMIC_RELEASE);
	t_ring(&self->p.f, rq->bell);
	ASSERT_EQ(0, t_kick(&self->p.f));
	for (i = 0; i < T_WAIT_MS && rq->status->head != rq->tail; i++)
		usleep(1000);
	EXPECT_EQ(rq->tail, rq->status->head);
}

static volatile int stop;

static void *kicker(void *arg)
{
	struct t_pair *p = arg;

	while (!stop) {
		t_ring_all(&p->f, 64);
		t_kick(&p->f);
	}
	return NULL;
}

/*
 * The flush of a long queue drops the queue's lock between slices, so a kick can run between two
 * slices.
 */
TEST_F_TIMEOUT(rings, the_end_comes_after_all_that_is_flushed, 120)
{
	struct dat_eqe eqe;
	pthread_t thread;
	int n, last = 0;

	ASSERT_EQ(0, connect_them(self));
	/* The peer posts no receives, so all sends are still in flight at the disconnect. */
	ASSERT_EQ(0, post_sends(self, 1, LONG));
	ASSERT_EQ(0, post_recvs(self, 1, LONG));
	stop = 0;
	ASSERT_EQ(0, pthread_create(&thread, NULL, kicker, &self->p));
	ASSERT_EQ(0, t_disconnect(&self->p.f, &self->ep[1], 0));
	for (n = 0; !last && t_event(&self->evd[1], T_WAIT_MS, &eqe); n++) {
		last = eqe.type == DAT_EV_DISCONNECTED;
		EXPECT_TRUE(last || eqe.status == DAT_ST_FLUSHED);
	}
	EXPECT_EQ(2 * LONG + 1, n);
	EXPECT_TRUE(last);
	EXPECT_EQ(0, t_event(&self->evd[1], T_QUIET_MS, &eqe));
	stop = 1;
	pthread_join(thread, NULL);
}

/*
 * Thread that posts receives during the teardown of the connection.  Each post kicks if the kernel
 * asks for kicks, so no entry may stay in the ring.
 */
static void *poster(void *arg)
{
	FIXTURE_DATA(rings) *self = arg;
	struct t_queue *rq = &self->ep[1].rq;
	struct t_pair *p = &self->p;
	intptr_t n = 0;

	while (!stop && n < 7 * LONG) {
		if (rq->tail - __atomic_load_n(&rq->status->done, __ATOMIC_ACQUIRE) >= LONG)
			continue;
		t_recv(rq, 1, (uintptr_t)p->mem.va, p->mem.lkey, 8);
		n++;
	}
	return (void *)n;
}

TEST_F_TIMEOUT(rings, nothing_posted_around_the_end_is_left_over, 240)
{
	struct dat_eqe eqe;
	pthread_t thread;
	void *posted;
	intptr_t n;
	int round;

	for (round = 0; round < 20; round++) {
		ASSERT_EQ(0, connect_them(self));
		stop = 0;
		ASSERT_EQ(0, pthread_create(&thread, NULL, poster, self));
		usleep(rand() % 3000);
		ASSERT_EQ(0, t_disconnect(&self->p.f, &self->ep[1], 0));
		while (self->ep[1].st->state != 11)
			usleep(100);
		usleep(rand() % 3000);
		stop = 1;
		pthread_join(thread, &posted);
		for (n = 0; n < (intptr_t)posted + 1; n++) {
			ASSERT_EQ(1, t_event(&self->evd[1], T_WAIT_MS, &eqe))
				TH_LOG("round %d: %ld of %ld", round, (long)n, (long)posted);
		}
		EXPECT_EQ(0, t_event(&self->evd[1], 0, &eqe));
		ASSERT_EQ(1, t_event(&self->evd[0], T_WAIT_MS, &eqe));
		for (n = 0; n < 2; n++)
			ASSERT_EQ(0, t_reset(&self->p.f, &self->ep[n]));
	}
}

TEST_F_TIMEOUT(rings, a_reset_flushes_what_was_posted_before_it, 60)
{
	struct t_queue *rq = &self->ep[1].rq;
	struct dat_eqe eqe;
	int i;

	ASSERT_EQ(0, connect_them(self));
	ASSERT_EQ(0, t_disconnect(&self->p.f, &self->ep[1], 0));
	ASSERT_EQ(1, t_event(&self->evd[1], T_WAIT_MS, &eqe));
	ASSERT_EQ(DAT_EV_DISCONNECTED, eqe.type);
	for (i = 0; i < LONG; i++) {
		t_rqe(rq)->cookie = i;
		rq->tail++;
	}
	__atomic_store_n(rq->shared_tail, rq->tail, __ATOMIC_RELEASE);
	ASSERT_EQ(0, t_reset(&self->p.f, &self->ep[1]));
	EXPECT_EQ(0, self->ep[1].st->state);
	EXPECT_EQ(LONG, in_order(&self->evd[1], LONG, DAT_EQE_RECV, DAT_ST_FLUSHED));
}

TEST_F_TIMEOUT(rings, an_EP_that_is_modified_takes_its_entries_along, 120)
{
	struct dat_ep_modify arg = {
		.size = sizeof(arg), .id = self->ep[1].id, .pz = self->p.pz,
		.recv_evd = self->evd[1].id, .request_evd = self->evd[1].id,
		.connect_evd = self->evd[1].id, .max_recv = 2 * LONG, .max_request = 2 * LONG,
		.max_recv_iov = 2, .max_request_iov = 2,
	};

	ASSERT_EQ(0, post_recvs(self, 0, LONG));
	ASSERT_EQ(0, post_sends(self, 1, LONG));
	ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_EP_MODIFY, &arg));
	ASSERT_EQ(0, connect_them(self));
	EXPECT_EQ(LONG, in_order(&self->evd[1], LONG, 0, DAT_ST_SUCCESS));
	EXPECT_EQ(LONG, in_order(&self->evd[0], LONG, DAT_EQE_RECV, DAT_ST_SUCCESS));
}

/* Replace ep[0] by an EP that takes its receives from a new SRQ. */
static int use_srq(FIXTURE_DATA(rings) *self, struct t_srq *srq)
{
	struct t_pair *p = &self->p;
	int ret = t_srq(&p->f, p->pz, LONG, srq);

	return ret ? ret : t_long_ep(&p->f, p->pz, &self->evd[0], srq->id, 9, 16, &self->ep[0]);
}

/*
 * Post more invalid receives than the driver processes in one slice, then post 16 valid receives,
 * and kick once.  The invalid receives must not keep the driver from using the valid ones.
 */
TEST_F_TIMEOUT(rings, bad_buffers_are_not_in_the_way_of_good_ones, 60)
{
	struct t_srq srq;
	int i;

	ASSERT_EQ(0, use_srq(self, &srq));
	for (i = 0; i < LONG; i++) {
		struct dat_rqe *rqe = t_rqe(&srq.rq);

		rqe->num_sge = i < LONG - 16 ? 255 : 0;
		rqe->cookie = i - (LONG - 16);
		srq.rq.tail++;
	}
	__atomic_store_n(srq.rq.shared_tail, srq.rq.tail, __ATOMIC_RELEASE);
	t_ring(&self->p.f, srq.rq.bell);
	ASSERT_EQ(0, t_kick(&self->p.f));
	ASSERT_EQ(0, connect_them(self));
	for (i = 0; i < 16; i++)
		ASSERT_EQ(0, t_send(&self->ep[1], i, 0, 0, 0));
	EXPECT_EQ(16, in_order(&self->evd[1], 16, 0, DAT_ST_SUCCESS));
	EXPECT_EQ(16, in_order(&self->evd[0], 16, DAT_EQE_RECV | DAT_EQE_SRQ, DAT_ST_SUCCESS));
	EXPECT_EQ(LONG - 16, srq.rq.status->bad);
}

#define SENDERS		4
#define EACH		(LONG / SENDERS)	/* messages of a sender */

/* Post the whole SRQ; buffer @i is word @i of the memory. */
static int post_words(FIXTURE_DATA(rings) *self, struct t_srq *srq)
{
	struct t_pair *p = &self->p;
	int i, ret = 0;

	for (i = 0; i < LONG && !ret; i++)
		ret = t_recv(&srq->rq, i, (uintptr_t)p->mem.va + 8 * i, p->mem.lkey, 8);
	return ret;
}

/* Post all messages of all senders in turn.  Message @n of sender @i is word @i * EACH + @n. */
static int post_burst(FIXTURE_DATA(rings) *self, struct t_ep *out)
{
	char *from = self->p.mem.va + self->p.mem.size / 2;
	int i, ret = 0;
	uint64_t word;

	for (i = 0; i < LONG && !ret; i++) {
		word = (uint64_t)(i % SENDERS) * EACH + i / SENDERS;
		*(uint64_t *)(from + 8 * word) = word;
		ret = t_send(&out[i % SENDERS], i / SENDERS, (uintptr_t)from + 8 * word,
			     self->p.mem.lkey, 8);
	}
	return ret;
}

/*
 * The device may hold only a part of a long SRQ.  While the process does nothing, all buffers reach
 * the device in turn, and the messages of each sender come in order.
 */
TEST_F_TIMEOUT(rings, a_burst_takes_all_buffers_of_a_long_SRQ_though_nobody_looks, 120)
{
	struct t_ep in[SENDERS], out[SENDERS], both[2];
	uint64_t got[SENDERS] = { 0 }, word;
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	struct t_srq srq;
	int i;

	ASSERT_EQ(0, t_srq(&p->f, p->pz, LONG, &srq));
	ASSERT_EQ(0, post_words(self, &srq));
	for (i = 0; i < SENDERS; i++) {
		ASSERT_EQ(0, t_ep(&p->f, p->pz, &self->evd[0], srq.id, i, &in[i]));
		ASSERT_EQ(0, t_long_ep(&p->f, p->pz, &self->evd[1], 0, i, EACH, &out[i]));
		both[0] = in[i];
		both[1] = out[i];
		ASSERT_EQ(0, t_connect_eps(p, both, self->evd));
	}
	ASSERT_EQ(0, post_burst(self, out));
	for (i = 0; i < LONG; i++) {
		ASSERT_EQ(1, t_event(&self->evd[1], T_WAIT_MS, &eqe));
		ASSERT_EQ(DAT_ST_SUCCESS, eqe.status);
	}
	for (i = 0; i < LONG; i++) {
		ASSERT_EQ(1, t_event(&self->evd[0], T_WAIT_MS, &eqe));
		ASSERT_EQ(DAT_ST_SUCCESS, eqe.status);
		word = *(uint64_t *)(p->mem.va + 8 * eqe.cookie);
		ASSERT_EQ(eqe.owner * EACH + got[eqe.owner], word);
		got[eqe.owner]++;
	}
}

static void *resizer(void *arg)
{
	FIXTURE_DATA(rings) *self = arg;
	struct dat_srq_resize r = { .size = sizeof(r), .id = self->ep[0].rq.bell };
	int ret = 0;

	while (!stop && !ret) {
		r.max_recv = LONG << (rand() & 1);
		r.size = sizeof(r);
		ret = t_ioctl(self->p.f.fd, DAT_IOC_SRQ_RESIZE, &r);
	}
	return (void *)(intptr_t)ret;
}

/* While the ring of an SRQ is being replaced, each buffer is still used exactly once. */
TEST_F_TIMEOUT(rings, an_SRQ_that_is_resized_loses_no_buffer, 120)
{
	struct t_pair *p = &self->p;
	pthread_t thread;
	struct t_srq srq;
	void *ret;
	int i;

	ASSERT_EQ(0, use_srq(self, &srq));
	for (i = 0; i < LONG; i++)
		ASSERT_EQ(0, t_recv(&srq.rq, i, (uintptr_t)p->mem.va, p->mem.lkey, 8));
	ASSERT_EQ(0, connect_them(self));
	self->ep[0].rq.bell = srq.id;	/* SRQ id for resizer() */
	stop = 0;
	ASSERT_EQ(0, pthread_create(&thread, NULL, resizer, self));
	ASSERT_EQ(0, post_sends(self, 1, LONG));
	EXPECT_EQ(LONG, in_order(&self->evd[1], LONG, 0, DAT_ST_SUCCESS));
	EXPECT_EQ(LONG, in_order(&self->evd[0], LONG, DAT_EQE_RECV | DAT_EQE_SRQ,
				 DAT_ST_SUCCESS));
	stop = 1;
	pthread_join(thread, &ret);
	EXPECT_EQ(NULL, ret);
}

TEST_HARNESS_MAIN
