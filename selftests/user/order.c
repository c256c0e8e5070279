// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Requests complete in the order of posting, and each completion is reported without delay.  A
 * device may send later requests before it has the data of an RDMA read; the order must hold
 * nevertheless.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "adapter.h"
#include "dat_test.h"

#define ROUNDS	60
#define PART	(256 << 10)	/* size of each of the four parts of p->mem */

FIXTURE(order) {
	struct t_pair p;
};

FIXTURE_SETUP(order)
{
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, t_pair_connect(&self->p));
}

FIXTURE_TEARDOWN(order)
{
	t_pair_close(&self->p);
}

/*
 * Post an RDMA request between part @local and part @remote of p->mem, which serves as local and
 * remote memory.
 */
static int transfer_on(struct t_pair *p, struct t_queue *q, int op, int flags, uint64_t cookie,
		       int local, int remote, uint32_t len)
{
	uint64_t base = (uintptr_t)p->mem.va;
	struct dat_sqe *sqe = t_sqe(q);

	sqe->opcode = op;
	sqe->flags = flags;
	sqe->cookie = cookie;
	sqe->raddr = base + remote * PART;
	sqe->rkey = p->mem.rkey;
	sqe->num_sge = 1;
	*(struct dat_sge *)(sqe + 1) = (struct dat_sge) {
		base + local * PART, p->mem.lkey, len,
	};
	return t_push(q);
}

static int transfer_from(struct t_pair *p, int side, int op, int flags, uint64_t cookie,
			 int local, int remote, uint32_t len)
{
	return transfer_on(p, &p->ep[side].sq, op, flags, cookie, local, remote, len);
}

static int transfer(struct t_pair *p, int op, int flags, uint64_t cookie, int local, int remote,
		    uint32_t len)
{
	return transfer_from(p, 1, op, flags, cookie, local, remote, len);
}

/* Post a receive to ep[0] and send an empty message from ep[1]. */
static int message(struct t_pair *p, uint64_t cookie)
{
	int ret = t_recv(&p->ep[0].rq, cookie, 0, 0, 0);

	return ret ? ret : t_send(&p->ep[1], cookie, 0, 0, 0);
}

/*
 * Returns 0 if the next event is the successful completion of @cookie, else a negative errno:
 * -ETIMEDOUT: no event; -EIO: wrong type or status; -EBADMSG: wrong cookie.
 */
static int done_at(struct t_pair *p, int side, uint64_t cookie)
{
	struct dat_eqe eqe;

	if (!t_event(&p->evd[side], T_WAIT_MS, &eqe))
		return -ETIMEDOUT;
	if (eqe.type != DAT_EV_DTO || eqe.status != DAT_ST_SUCCESS)
		return -EIO;
	return eqe.cookie == cookie ? 0 : -EBADMSG;
}

static int done(struct t_pair *p, uint64_t cookie)
{
	return done_at(p, 1, cookie);
}

static int received(struct t_pair *p)
{
	struct dat_eqe eqe;

	return t_event(&p->evd[0], T_WAIT_MS, &eqe) && eqe.type == DAT_EV_DTO &&
	       eqe.status == DAT_ST_SUCCESS;
}

static int holds(struct t_pair *p, int part, int byte)
{
	const char *va = p->mem.va + part * PART;

	return va[0] == (char)byte && !memcmp(va, va + 1, PART - 1);
}

TEST_F_TIMEOUT(order, a_read_is_done_when_its_data_is_there, 120)
{
	struct t_pair *p = &self->p;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		memset(p->mem.va, i, PART);
		memset(p->mem.va + PART, ~i, PART);
		ASSERT_EQ(0, transfer(p, DAT_OP_RDMA_READ, 0, 2 * i, 1, 0, PART));
		ASSERT_EQ(0, message(p, 2 * i + 1));
		ASSERT_EQ(0, done(p, 2 * i)) TH_LOG("round %d", i);
		ASSERT_TRUE(holds(p, 1, i)) TH_LOG("round %d", i);
		ASSERT_EQ(0, done(p, 2 * i + 1)) TH_LOG("round %d", i);
		ASSERT_TRUE(received(p));
	}
}

/*
 * Fill in a request without publishing it.  The t_push() of the next request publishes both
 * requests.
 */
static void with_the_next(struct t_pair *p, int op, uint64_t cookie)
{
	struct t_queue *q = &p->ep[1].sq;
	struct dat_sqe *sqe = t_sqe(q);

	sqe->opcode = op;
	sqe->cookie = cookie;
	if (op != DAT_OP_SEND) {
		sqe->raddr = (uintptr_t)p->mem.va;
		sqe->rkey = p->mem.rkey;
	}
	sqe->num_sge = 0;
	q->tail++;
}

#define NO_RNR "with iWARP a send that finds no receive ends the connection"

/* The write must complete while the send after the write still waits for a receive of the peer. */
TEST_F_TIMEOUT(order, a_write_is_reported_while_the_send_behind_it_waits, 60)
{
	struct t_pair *p = &self->p;

	if (adapter_is_iwarp())
		SKIP(return, NO_RNR);
	with_the_next(p, DAT_OP_RDMA_WRITE, 0);
	ASSERT_EQ(0, t_send(&p->ep[1], 1, 0, 0, 0));
	ASSERT_EQ(0, done(p, 0));
	ASSERT_EQ(0, t_recv(&p->ep[0].rq, 0, 0, 0, 0));
	ASSERT_EQ(0, done(p, 1));
	ASSERT_TRUE(received(p));
}

/* Post the receive for each send only after the previous send has completed. */
TEST_F_TIMEOUT(order, a_send_is_reported_while_the_next_one_waits, 60)
{
	struct t_pair *p = &self->p;
	int i;

	if (adapter_is_iwarp())
		SKIP(return, NO_RNR);
	with_the_next(p, DAT_OP_SEND, 0);
	with_the_next(p, DAT_OP_SEND, 1);
	ASSERT_EQ(0, t_send(&p->ep[1], 2, 0, 0, 0));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, t_recv(&p->ep[0].rq, i, 0, 0, 0));
		ASSERT_EQ(0, done(p, i));
		ASSERT_TRUE(received(p));
	}
}

/*
 * A receive must be at the device before the peer's next message.  With other adapters the sender
 * would wait, so several receives share a kick.
 */
TEST_F(order, over_iwarp_each_receive_asks_for_a_kick)
{
	struct t_queue *q = &self->p.ep[0].rq;
	int i;

	if (!adapter_is_iwarp())
		SKIP(return, "needs an iWARP adapter");
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, t_recv(q, i, 0, 0, 0));
		ASSERT_TRUE(q->status->flags & DAT_QUEUE_NEED_KICK) TH_LOG("receive %d", i);
		ASSERT_EQ(q->tail + 1, q->status->kick_at) TH_LOG("receive %d", i);
	}
}

/* Post more reads than the device may have outstanding, with RDMA writes in between. */
TEST_F_TIMEOUT(order, reads_and_others_complete_in_order, 120)
{
	struct t_pair *p = &self->p;
	uint64_t posted = 0, seen = 0;
	int i, n;

	for (i = 0; i < ROUNDS; i++) {
		for (n = 0; n < 4; n++) {
			ASSERT_EQ(0, transfer(p, DAT_OP_RDMA_READ, 0, posted++, 1, 0, 20000));
			ASSERT_EQ(0, transfer(p, DAT_OP_RDMA_READ, 0, posted++, 2, 0, 100));
			ASSERT_EQ(0, transfer(p, DAT_OP_RDMA_WRITE, 0, posted++, 0, 3, 3000));
		}
		ASSERT_EQ(0, message(p, posted++));
		while (seen != posted) {
			ASSERT_EQ(0, done(p, seen++)) TH_LOG("request %d", (int)seen);
		}
		ASSERT_TRUE(received(p));
	}
}

/* Each side answers the reads of its peer while its own reads are outstanding. */
TEST_F_TIMEOUT(order, both_peers_may_read_and_write, 120)
{
	struct t_pair *p = &self->p;
	uint64_t posted = 0, seen = 0;
	int i, n, side;

	for (i = 0; i < ROUNDS; i++) {
		for (n = 0; n < 2; n++, posted += 7)
			for (side = 0; side < 2; side++) {
				for (seen = 0; seen < 6; seen++)
					ASSERT_EQ(0, transfer_from(p, side, DAT_OP_RDMA_READ, 0,
								   posted + seen, 1 + side, 0,
								   20000));
				ASSERT_EQ(0, transfer_from(p, side, DAT_OP_RDMA_WRITE, 0,
							   posted + 6, 0, 3, 3000));
			}
		for (side = 0; side < 2; side++) {
			for (seen = posted - 14; seen != posted; seen++) {
				ASSERT_EQ(0, done_at(p, side, seen)) TH_LOG("round %d", i);
			}
		}
	}
}

/* The second read, which has a fence, fetches the data that the first read has stored in part 1. */
TEST_F_TIMEOUT(order, a_read_with_a_fence_waits_for_others, 120)
{
	struct t_pair *p = &self->p;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		memset(p->mem.va, i, PART);
		memset(p->mem.va + PART, ~i, 2 * PART);
		ASSERT_EQ(0, transfer(p, DAT_OP_RDMA_READ, 0, 2 * i, 1, 0, PART));
		ASSERT_EQ(0, transfer(p, DAT_OP_RDMA_READ, DAT_SQE_FENCE, 2 * i + 1, 2, 1, PART));
		ASSERT_EQ(0, done(p, 2 * i)) TH_LOG("round %d", i);
		ASSERT_EQ(0, done(p, 2 * i + 1)) TH_LOG("round %d", i);
		ASSERT_TRUE(holds(p, 2, i)) TH_LOG("round %d", i);
	}
}

/*
 * If the connection breaks, a read in flight either has its data and succeeds, or completes with an
 * error.
 */
TEST_F_TIMEOUT(order, a_read_of_a_broken_connection_is_not_called_done, 120)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	int reads = 0;

	memset(p->mem.va, 1, PART);
	memset(p->mem.va + PART, 0, PART);
	ASSERT_EQ(0, transfer(p, DAT_OP_RDMA_READ, 0, 0, 1, 0, PART));
	ASSERT_EQ(0, message(p, 1));
	ASSERT_EQ(0, t_disconnect(&p->f, &p->ep[0], 0));
	while (t_event(&p->evd[1], T_WAIT_MS, &eqe) && eqe.type == DAT_EV_DTO) {
		if (eqe.cookie || ++reads != 1)
			continue;
		if (eqe.status == DAT_ST_SUCCESS)
			EXPECT_TRUE(holds(p, 1, 1));
	}
	EXPECT_EQ(1, reads);
}

/* Create an EP that allows no RDMA reads in either direction, and an EVD for the EP. */
static int make_end_without_reads(struct t_pair *p, struct t_evd *evd, struct t_ep *ep)
{
	struct dat_ep_create arg = {
		.size = sizeof(arg), .pz = p->pz, .max_recv = 4, .max_request = 4,
		.max_recv_iov = 1, .max_request_iov = 1,
	};
	int ret = t_evd(&p->f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, 16, evd);

	arg.recv_evd = evd->id;
	arg.request_evd = evd->id;
	arg.connect_evd = evd->id;
	return ret ? ret : t_any_ep(&p->f, &arg, ep);
}

/*
 * Some devices never start a read when no reads were negotiated; other devices fail the read in
 * different ways.
 */
TEST_F_TIMEOUT(order, a_read_beyond_what_was_agreed_on_is_never_done, 120)
{
	struct t_pair *p = &self->p;
	unsigned int count[16], i;
	struct t_link l = {};
	unsigned int all = 0;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, make_end_without_reads(p, &l.evd[i], &l.ep[i]));
	ASSERT_EQ(0, t_connect_eps(p, l.ep, l.evd));
	ASSERT_EQ(0, transfer_on(p, &l.ep[1].sq, DAT_OP_RDMA_READ, 0, 1, 1, 0, 100));
	usleep(T_QUIET_MS * 1000);
	t_disconnect(&p->f, &l.ep[0], 0);
	EXPECT_NE(0, t_end(&l.evd[1], count));
	EXPECT_EQ(0, count[DAT_ST_SUCCESS]);
	for (i = 0; i < 16; i++)
		all += count[i];
	EXPECT_EQ(1, all);
	t_link_close(p, &l);
}

TEST_F_TIMEOUT(order, a_fenced_send_that_waits_for_its_receive_does_not_wait_for_a_later_read, 60)
{
	struct t_pair *p = &self->p;
	struct dat_sqe *sqe = t_sqe(&p->ep[1].sq);

	if (adapter_is_iwarp())
		SKIP(return, "a send that finds no receive ends the connection");
	sqe->opcode = DAT_OP_SEND;
	sqe->flags = DAT_SQE_FENCE;
	sqe->cookie = 1;
	ASSERT_EQ(0, t_push(&p->ep[1].sq));
	ASSERT_EQ(0, transfer(p, DAT_OP_RDMA_READ, 0, 2, 1, 2, 64));
	/* The driver hands over the read although no receive has come. */
	ASSERT_EQ(0, t_word(&p->f, DAT_IOC_KICK, p->ep[1].sq.bell + 1));
	usleep(T_QUIET_MS * 1000);
	ASSERT_EQ(0, t_recv(&p->ep[0].rq, 3, 0, 0, 0));
	EXPECT_EQ(0, done(p, 1));
	EXPECT_EQ(0, done(p, 2));
	EXPECT_TRUE(received(p));
}

TEST_HARNESS_MAIN
