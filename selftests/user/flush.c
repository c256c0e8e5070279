// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Every posted entry completes exactly once, and does so before the event that ends the connection.
 * An entry may complete as flushed.
 */
#define _GNU_SOURCE
#include <string.h>

#include "kselftest_harness.h"
#include "dat_test.h"

FIXTURE(flush) {
	struct t_pair p;
	unsigned int count[16];
};

FIXTURE_SETUP(flush)
{
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, t_pair_connect(&self->p));
}

FIXTURE_TEARDOWN(flush)
{
	t_pair_close(&self->p);
}

static int post_recvs(struct t_pair *p, int side, int n)
{
	int i, ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = t_recv(&p->ep[side].rq, 100 + i, (uintptr_t)p->mem.va, p->mem.lkey, 64);
	return ret;
}

static int post_sends(struct t_pair *p, int side, int n)
{
	int i, ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = t_send(&p->ep[side], 200 + i, (uintptr_t)p->mem.va, p->mem.lkey, 64);
	return ret;
}

TEST_F_TIMEOUT(flush, receives_are_flushed_in_order, 60)
{
	struct dat_eqe eqe;
	int i;

	ASSERT_EQ(0, post_recvs(&self->p, 0, T_QUEUE));
	ASSERT_EQ(0, t_disconnect(&self->p.f, &self->p.ep[1], 0));
	for (i = 0; i < T_QUEUE; i++) {
		ASSERT_EQ(1, t_event(&self->p.evd[0], T_WAIT_MS, &eqe));
		EXPECT_EQ(DAT_EV_DTO, eqe.type);
		EXPECT_EQ(DAT_ST_FLUSHED, eqe.status);
		EXPECT_EQ(DAT_EQE_RECV, eqe.flags);
		EXPECT_EQ(100 + i, eqe.cookie);
		EXPECT_EQ(0, eqe.len);
	}
	EXPECT_EQ(DAT_EV_DISCONNECTED, t_end(&self->p.evd[0], self->count));
}

TEST_F_TIMEOUT(flush, requests_are_flushed_too, 60)
{
	/* The peer posts no receives, so the sends stay in flight. */
	ASSERT_EQ(0, post_sends(&self->p, 1, T_QUEUE));
	ASSERT_EQ(0, post_recvs(&self->p, 1, T_QUEUE));
	ASSERT_EQ(0, t_disconnect(&self->p.f, &self->p.ep[1], 0));
	EXPECT_EQ(DAT_EV_DISCONNECTED, t_end(&self->p.evd[1], self->count));
	EXPECT_EQ(2 * T_QUEUE, self->count[DAT_ST_FLUSHED]);
	EXPECT_EQ(0, self->count[DAT_ST_SUCCESS]);
	EXPECT_EQ(self->p.ep[1].sq.tail, self->p.ep[1].sq.status->done);
	EXPECT_EQ(self->p.ep[1].rq.tail, self->p.ep[1].rq.status->done);
}

TEST_F_TIMEOUT(flush, each_completes_once_when_the_peer_goes_in_the_middle, 120)
{
	int i, sum;

	ASSERT_EQ(0, post_recvs(&self->p, 0, T_QUEUE));
	ASSERT_EQ(0, post_sends(&self->p, 1, T_QUEUE));
	ASSERT_EQ(0, t_disconnect(&self->p.f, &self->p.ep[0], 0));
	EXPECT_NE(0, t_end(&self->p.evd[1], self->count));
	for (sum = 0, i = 0; i < 16; i++)
		sum += self->count[i];
	EXPECT_EQ(T_QUEUE, sum);
	EXPECT_EQ(DAT_EV_DISCONNECTED, t_end(&self->p.evd[0], self->count));
	EXPECT_EQ(T_QUEUE, self->count[DAT_ST_SUCCESS] + self->count[DAT_ST_FLUSHED]);
}

TEST_F_TIMEOUT(flush, posts_after_the_end_are_flushed_at_once, 60)
{
	struct dat_eqe eqe;

	ASSERT_EQ(0, t_disconnect(&self->p.f, &self->p.ep[1], 0));
	ASSERT_EQ(DAT_EV_DISCONNECTED, t_end(&self->p.evd[1], self->count));
	ASSERT_EQ(0, post_sends(&self->p, 1, 1));
	ASSERT_EQ(1, t_event(&self->p.evd[1], 0, &eqe));
	EXPECT_EQ(DAT_ST_FLUSHED, eqe.status);
	EXPECT_EQ(200, eqe.cookie);
	ASSERT_EQ(0, post_recvs(&self->p, 1, 1));
	ASSERT_EQ(1, t_event(&self->p.evd[1], 0, &eqe));
	EXPECT_EQ(DAT_ST_FLUSHED, eqe.status);
	EXPECT_EQ(100, eqe.cookie);
}

TEST_F_TIMEOUT(flush, suppressed_requests_show_when_they_fail, 60)
{
	struct t_pair *p = &self->p;
	struct dat_sqe *sqe;
	struct dat_eqe eqe;

	/* A suppressed send that succeeds has no event. */
	ASSERT_EQ(0, post_recvs(p, 0, 1));
	sqe = t_sqe(&p->ep[1].sq);
	sqe->opcode = DAT_OP_SEND;
	sqe->flags = DAT_SQE_SUPPRESS;
	ASSERT_EQ(0, t_push(&p->ep[1].sq));
	ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
	EXPECT_EQ(0, t_event(&p->evd[1], T_QUIET_MS, &eqe));
	EXPECT_EQ(p->ep[1].sq.tail, p->ep[1].sq.status->done);
	/* A suppressed send that is flushed has an event. */
	sqe = t_sqe(&p->ep[1].sq);
	sqe->opcode = DAT_OP_SEND;
	sqe->flags = DAT_SQE_SUPPRESS;
	ASSERT_EQ(0, t_push(&p->ep[1].sq));
	ASSERT_EQ(0, t_disconnect(&p->f, &p->ep[1], 0));
	EXPECT_EQ(DAT_EV_DISCONNECTED, t_end(&p->evd[1], self->count));
	EXPECT_EQ(1, self->count[DAT_ST_FLUSHED]);
}

TEST_F_TIMEOUT(flush, a_message_longer_than_its_receive_breaks, 60)
{
	struct t_pair *p = &self->p;

	ASSERT_EQ(0, t_recv(&p->ep[0].rq, 1, (uintptr_t)p->mem.va, p->mem.lkey, 63));
	ASSERT_EQ(0, t_send(&p->ep[1], 2, (uintptr_t)p->mem.va, p->mem.lkey, 64));
	EXPECT_EQ(DAT_EV_BROKEN, t_end(&p->evd[0], self->count));
	EXPECT_EQ(1, self->count[DAT_ST_LOCAL_LENGTH]);
	EXPECT_EQ(DAT_EV_BROKEN, t_end(&p->evd[1], self->count));
	EXPECT_EQ(1, self->count[DAT_ST_REMOTE_RESPONDER]);
}

TEST_HARNESS_MAIN
