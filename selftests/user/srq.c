// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Shared receive queues (SRQs): receive buffers that many connections share. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "tracefs.h"

#define EPS		8
#define PER_EP		64
#define MSG		256
#define DEPTH		32

FIXTURE(srq) {
	struct t_pair p;
	struct t_srq srq;
	struct t_ep in[EPS];
	struct t_ep out[EPS];
	struct t_evd out_evd;
};

FIXTURE_SETUP(srq)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	int i;

	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, t_srq(&p->f, p->pz, DEPTH, &self->srq));
	ASSERT_EQ(0, t_evd(&p->f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, 1024, &self->out_evd));
	for (i = 0; i < EPS; i++) {
		ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[0], self->srq.id, 100 + i, &self->in[i]));
		ASSERT_EQ(0, t_ep(&p->f, p->pz, &self->out_evd, 0, 200 + i, &self->out[i]));
		ASSERT_EQ(0, t_connect(&p->f, &self->out[i], T_QUAL, NULL, 0));
		ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
		ASSERT_EQ(0, t_accept(&p->f, eqe.len, &self->in[i], NULL, 0));
		ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
		ASSERT_EQ(DAT_EV_ESTABLISHED, eqe.type);
		ASSERT_EQ(1, t_event(&self->out_evd, T_WAIT_MS, &eqe));
		ASSERT_EQ(DAT_EV_ESTABLISHED, eqe.type);
	}
}

FIXTURE_TEARDOWN(srq)
{
	t_pair_close(&self->p);
}

static char *buffer(FIXTURE_DATA(srq) *self, unsigned int i)
{
	return self->p.mem.va + i * MSG;
}

static int offer(FIXTURE_DATA(srq) *self, unsigned int i)
{
	return t_recv(&self->srq.rq, i, (uintptr_t)buffer(self, i), self->p.mem.lkey, MSG);
}

/* Send message @n on connection @i.  Every word of the message contains both numbers. */
static int send_one(FIXTURE_DATA(srq) *self, int i, uint32_t n)
{
	char *at = self->p.mem.va + (1 << 19) + (i * PER_EP + n) * MSG;
	uint32_t *w = (uint32_t *)at, k;

	for (k = 0; k < MSG / 4; k++)
		w[k] = (uint32_t)i << 16 | n;
	return t_send(&self->out[i], n, (uintptr_t)at, self->p.mem.lkey, MSG);
}

TEST_F_TIMEOUT(srq, fan_in_keeps_the_order_of_each_connection, 240)
{
	uint32_t sent[EPS] = { 0 }, got[EPS] = { 0 }, total = 0, i, k;
	struct dat_eqe eqe;

	for (i = 0; i < DEPTH; i++)
		ASSERT_EQ(0, offer(self, i));
	while (total < EPS * PER_EP) {
		for (i = 0; i < EPS; i++)
			if (sent[i] < PER_EP && sent[i] - got[i] < T_QUEUE / 4)
				ASSERT_EQ(0, send_one(self, i, sent[i]++));
		ASSERT_EQ(1, t_event(&self->p.evd[0], T_WAIT_MS, &eqe));
		ASSERT_EQ(DAT_ST_SUCCESS, eqe.status);
		ASSERT_EQ(DAT_EQE_RECV | DAT_EQE_SRQ, eqe.flags);
		ASSERT_EQ(MSG, eqe.len);
		i = eqe.owner - 100;
		ASSERT_GT(EPS, i);
		for (k = 0; k < MSG / 4; k++)
			ASSERT_EQ(i << 16 | got[i], ((uint32_t *)buffer(self, eqe.cookie))[k]);
		got[i]++;
		total++;
		ASSERT_EQ(0, offer(self, eqe.cookie));
	}
	for (i = 0; i < EPS * PER_EP; i++) {
		ASSERT_EQ(1, t_event(&self->out_evd, T_WAIT_MS, &eqe));
		ASSERT_EQ(DAT_ST_SUCCESS, eqe.status);
	}
}

/* Covers: SH 46 */
TEST_F_TIMEOUT(srq, buffers_survive_a_disconnect, 60)
{
	struct dat_eqe eqe;
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, offer(self, i));
	ASSERT_EQ(0, t_disconnect(&self->p.f, &self->in[0], 0));
	ASSERT_EQ(1, t_event(&self->p.evd[0], T_WAIT_MS, &eqe));
	/* The disconnect has flushed no buffer of the SRQ. */
	EXPECT_EQ(DAT_EV_DISCONNECTED, eqe.type);
	/* Each buffer still takes a message of another connection. */
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, send_one(self, 1, i));
		ASSERT_EQ(1, t_event(&self->p.evd[0], T_WAIT_MS, &eqe));
		EXPECT_EQ(DAT_ST_SUCCESS, eqe.status);
		EXPECT_EQ(101, eqe.owner);
	}
}

/* Covers: SH 53 */
TEST_F_TIMEOUT(srq, an_empty_one_makes_senders_wait, 60)
{
	struct dat_eqe eqe;

	ASSERT_EQ(0, send_one(self, 0, 0));
	EXPECT_EQ(0, t_event(&self->out_evd, T_QUIET_MS, &eqe));
	ASSERT_EQ(0, offer(self, 0));
	ASSERT_EQ(1, t_event(&self->out_evd, T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_ST_SUCCESS, eqe.status);
	ASSERT_EQ(1, t_event(&self->p.evd[0], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_ST_SUCCESS, eqe.status);
}

/* Post @n malformed buffers.  The next kick does not process them. */
static void offer_malformed(struct t_srq *srq, unsigned int n)
{
	struct t_queue *q = &srq->rq;

	while (n--) {
		t_rqe(q)->num_sge = 200;
		q->tail++;
	}
	__atomic_store_n(q->shared_tail, q->tail, __ATOMIC_RELEASE);
}

static int kick_srq(struct t_srq *srq)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	t_ring(srq->rq.f, srq->rq.bell);
	return t_kick(srq->rq.f);
}

TEST_F_TIMEOUT(srq, malformed_buffers_give_their_places_back, 60)
{
	volatile struct dat_queue_status *st = self->srq.rq.status;
	struct dat_eqe eqe;
	int i;

	for (i = 1; i <= 3; i++) {
		offer_malformed(&self->srq, DEPTH);
		ASSERT_EQ(0, kick_srq(&self->srq));
		EXPECT_EQ(i * DEPTH, st->bad);
		EXPECT_EQ(self->srq.rq.tail, st->done);
	}
	/* The SRQ and the device still hold as many buffers as they should. */
	for (i = 0; i < DEPTH; i++)
		ASSERT_EQ(0, offer(self, i));
	for (i = 0; i < DEPTH; i++) {
		ASSERT_EQ(0, send_one(self, 0, i));
		ASSERT_EQ(1, t_event(&self->p.evd[0], T_WAIT_MS, &eqe));
		EXPECT_EQ(DAT_ST_SUCCESS, eqe.status);
		EXPECT_EQ(i, eqe.cookie);
	}
	EXPECT_EQ(3 * DEPTH, st->bad);
	EXPECT_EQ(self->srq.rq.tail, st->done);
}

/* A process must not start work that a thread of the kernel does for it. */
TEST_F_TIMEOUT(srq, a_kick_takes_a_long_ring_of_malformed_buffers_itself, 60)
{
	struct t_srq srq;
	char log[4096];

	ASSERT_EQ(0, t_srq(&self->p.f, self->p.pz, 1024, &srq));
	if (trace_start())
		SKIP(return, "no tracefs");
	ASSERT_EQ(0, trace_on("workqueue/workqueue_queue_work", "workqueue == \"dat\""));
	offer_malformed(&srq, 1024);
	ASSERT_EQ(0, kick_srq(&srq));
	EXPECT_EQ(1024, srq.rq.status->bad);
	EXPECT_EQ(0, trace_read(log, sizeof(log), "")) TH_LOG("%s", log);
	trace_end();
	/* Without a kick, nobody takes the next ring. */
	offer_malformed(&srq, 1024);
	usleep(T_QUIET_MS * 1000);
	EXPECT_EQ(1024, srq.rq.status->bad);
}

static void *kick_once(void *srq)
{
	return (void *)(intptr_t)kick_srq(srq);
}

#define LONG	16384	/* length of a ring that takes many slices */
#define ROUNDS	20

/*
 * While a thread kicks a full ring, post @n buffers as the ring gets room.  Like any producer, kick
 * only if the driver asks for it.
 */
static int refill(struct t_srq *srq, unsigned int n)
{
	struct t_queue *q = &srq->rq;
	int ret = 0;

	while (n && !ret) {
		if (q->tail - __atomic_load_n(&q->status->done, __ATOMIC_ACQUIRE) >= LONG)
			continue;
		t_rqe(q)->num_sge = 200;
		ret = t_push(q);
		n--;
	}
	return ret;
}

/* A kick has an end even if another thread goes on posting, whose kick takes the other buffers. */
TEST_F_TIMEOUT(srq, buffers_that_are_posted_during_a_long_kick_are_taken, 120)
{
	struct t_srq srq;
	struct t_queue *q = &srq.rq;
	pthread_t kicker;
	void *ret;
	int i;

	ASSERT_EQ(0, t_srq(&self->p.f, self->p.pz, LONG, &srq));
	/* While the device has a buffer, no post has to kick. */
	ASSERT_EQ(0, t_recv(q, 0, (uintptr_t)buffer(self, 0), self->p.mem.lkey, MSG));
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, kick_srq(&srq));
		ASSERT_EQ(0, q->status->flags & DAT_QUEUE_NEED_KICK);
		offer_malformed(&srq, LONG - 1);
		ASSERT_EQ(0, pthread_create(&kicker, NULL, kick_once, &srq));
		EXPECT_EQ(0, refill(&srq, 32));
		pthread_join(kicker, &ret);
		ASSERT_EQ(NULL, ret);
		/* If the driver asks for a kick, no buffer waits for a kick that nobody owes. */
		if (q->status->flags & DAT_QUEUE_NEED_KICK)
			ASSERT_EQ(q->tail, q->status->head) TH_LOG("round %d", i);
	}
}

/* A completion runs outside of the process.  The rest of the ring waits for a kick. */
TEST_F_TIMEOUT(srq, a_completion_takes_one_malformed_buffer, 60)
{
	volatile struct dat_queue_status *st = self->srq.rq.status;
	struct dat_eqe eqe;

	ASSERT_EQ(0, offer(self, 0));
	offer_malformed(&self->srq, 8);
	ASSERT_EQ(0, send_one(self, 0, 0));
	ASSERT_EQ(1, t_event(&self->p.evd[0], T_WAIT_MS, &eqe));
	EXPECT_EQ(1, st->bad);
	EXPECT_EQ(DAT_QUEUE_NEED_KICK, st->flags);
	ASSERT_EQ(0, kick_srq(&self->srq));
	EXPECT_EQ(8, st->bad);
	EXPECT_EQ(self->srq.rq.tail, st->done);
}

TEST_F(srq, in_use_is_EBUSY)
{
	EXPECT_EQ(-EBUSY, t_free(&self->p.f, DAT_OBJ_SRQ, self->srq.id));
}

TEST_HARNESS_MAIN
