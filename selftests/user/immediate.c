// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Immediate data: 32 bits beside the bytes of a send or an RDMA write, between EPs that have asked
 * for it.  For all other EPs it is an error.
 */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"

#define POSTED	64	/* bytes of a receive */
#define FROM	8192	/* offsets of the memory of the sender, and of that to which it writes */
#define TO	32768
#define LONG	5000	/* longer than a receive, and than a packet */
#define PARTS	300000	/* longer than what lo0 copies at once */
#define ROUNDS	200	/* more than any queue of the tests has entries */
#define NUMBER	0x12345678U

FIXTURE(immediate) {
	struct t_pair p;
	struct t_evd evd[2];
	struct t_ep ep[2];
	struct t_srq srq;
	struct t_queue *rq;	/* of ep[0], or of its SRQ */
	uint32_t recv;		/* flags of each receive's event */
	unsigned int count[16];
};

FIXTURE_VARIANT(immediate) {
	int shared;
	uint64_t features;	/* with DAT_FEATURE_SILENT, suppressed requests may be silent */
};

FIXTURE_VARIANT_ADD(immediate, rq) { };
FIXTURE_VARIANT_ADD(immediate, srq) { .shared = 1, .features = DAT_FEATURE_SILENT };

static struct dat_ep_create ep_arg(FIXTURE_DATA(immediate) *self, int i, uint32_t flags)
{
	const struct t_evd *evd = &self->evd[i];
	int shared = !i && self->srq.id;

	return (struct dat_ep_create) {
		.size = sizeof(struct dat_ep_create), .pz = self->p.pz, .recv_evd = evd->id,
		.request_evd = evd->id, .connect_evd = evd->id, .user_data = (unsigned int)i,
		.srq = shared ? self->srq.id : 0, .max_recv = shared ? 0 : T_QUEUE,
		.max_request = T_QUEUE, .max_recv_iov = 1, .max_request_iov = 2, .read_in = 4,
		.read_out = 4, .max_inline = self->p.f.info.max_inline, .flags = flags,
	};
}

static int make_ep(FIXTURE_DATA(immediate) *self, int i, uint32_t flags)
{
	struct dat_ep_create arg = ep_arg(self, i, flags);

	return t_any_ep(&self->p.f, &arg, &self->ep[i]);
}

/* Makes both EPs with these flags, and connects ep[1] to ep[0]. */
static int connected(FIXTURE_DATA(immediate) *self, uint32_t receiver, uint32_t sender)
{
	int ret = make_ep(self, 0, receiver);

	if (!ret)
		ret = make_ep(self, 1, sender);
	self->rq = self->srq.id ? &self->srq.rq : &self->ep[0].rq;
	return ret ? ret : t_connect_eps(&self->p, self->ep, self->evd);
}

#define NEEDS_IMMEDIATE() do {							\
	if (!(self->p.f.info.sqe_flags & DAT_SQE_IMM))				\
		SKIP(return, "the adapter has no immediate data");		\
} while (0)

#define BOTH	DAT_EP_FLAG_IMMEDIATE, DAT_EP_FLAG_IMMEDIATE

FIXTURE_SETUP(immediate)
{
	struct t_pair *p = &self->p;
	int i;

	memset(&self->srq, 0, sizeof(self->srq));
	self->recv = DAT_EQE_RECV | (variant->shared ? DAT_EQE_SRQ : 0);
	t_features = variant->features;
	ASSERT_EQ(0, t_pair_open(p));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, t_evd(&p->f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, 256,
				   &self->evd[i]));
	if (variant->shared)
		ASSERT_EQ(0, t_srq(&p->f, p->pz, T_QUEUE, &self->srq));
	memset(p->mem.va + FROM, 'f', LONG);
}

FIXTURE_TEARDOWN(immediate)
{
	t_pair_close(&self->p);
}

static int recv(FIXTURE_DATA(immediate) *self, uint64_t cookie)
{
	return t_recv(self->rq, cookie, (uintptr_t)self->p.mem.va, self->p.mem.lkey, POSTED);
}

/* Fills in the next request, a send or a write of @len bytes with immediate data. */
static struct dat_sqe *fill(FIXTURE_DATA(immediate) *self, int op, uint64_t cookie, uint32_t len,
			    uint32_t imm)
{
	struct dat_sqe *sqe = t_sqe(&self->ep[1].sq);

	sqe->opcode = (uint8_t)op;
	sqe->flags = DAT_SQE_IMM;
	sqe->cookie = cookie;
	sqe->imm = imm;
	sqe->num_sge = 1;
	*(struct dat_sge *)(sqe + 1) = (struct dat_sge) {
		(uintptr_t)self->p.mem.va + FROM, self->p.mem.lkey, len,
	};
	if (op == DAT_OP_RDMA_WRITE) {
		sqe->raddr = (uintptr_t)self->p.mem.va + TO;
		sqe->rkey = self->p.mem.rkey;
	}
	return sqe;
}

static int post(FIXTURE_DATA(immediate) *self, int op, uint64_t cookie, uint32_t len, uint32_t imm)
{
	fill(self, op, cookie, len, imm);
	return t_push(&self->ep[1].sq);
}

/* Takes the event of a receive, and compares all of it.  Returns 0 or the place of a difference. */
static int received(FIXTURE_DATA(immediate) *self, uint64_t cookie, uint32_t flags, uint32_t len,
		    uint32_t imm)
{
	struct dat_eqe eqe;

	if (t_event(&self->evd[0], T_WAIT_MS, &eqe) != 1)
		return 1;
	if (eqe.type != DAT_EV_DTO || eqe.status || eqe.op != DAT_OP_INVALID || eqe.owner)
		return 2;
	if (eqe.cookie != cookie)
		return 3;
	if (eqe.flags != (self->recv | flags))
		return 4;
	return eqe.len != len ? 5 : eqe.imm != imm ? 6 : 0;
}

/* Takes the event of a request, which has no immediate data. */
static int sent(FIXTURE_DATA(immediate) *self, uint64_t cookie, int op, uint32_t len)
{
	struct dat_eqe eqe;

	if (t_event(&self->evd[1], T_WAIT_MS, &eqe) != 1)
		return 1;
	if (eqe.type != DAT_EV_DTO || eqe.status || eqe.op != op || eqe.cookie != cookie)
		return 2;
	return eqe.flags || eqe.imm ? 3 : eqe.len != len ? 4 : 0;
}

#define SEND_IMM	DAT_EQE_IMM
#define WRITE_IMM	(DAT_EQE_IMM | DAT_EQE_WRITE)

TEST_F_TIMEOUT(immediate, a_send_brings_its_number, 60)
{
	const uint32_t numbers[] = { NUMBER, 0, 1, 0x80000000U, UINT32_MAX };
	unsigned int i;

	NEEDS_IMMEDIATE();
	ASSERT_EQ(0, connected(self, BOTH));
	for (i = 0; i < 5; i++) {
		memset(self->p.mem.va, 0, POSTED);
		ASSERT_EQ(0, recv(self, i));
		ASSERT_EQ(0, post(self, DAT_OP_SEND, 10 + i, POSTED - i, numbers[i]));
		EXPECT_EQ(0, received(self, i, SEND_IMM, POSTED - i, numbers[i]));
		EXPECT_EQ(0, sent(self, 10 + i, DAT_OP_SEND, POSTED - i));
		EXPECT_EQ(0, memcmp(self->p.mem.va, self->p.mem.va + FROM, POSTED - i));
	}
}

TEST_F_TIMEOUT(immediate, a_send_may_be_nothing_but_its_number, 60)
{
	NEEDS_IMMEDIATE();
	ASSERT_EQ(0, connected(self, BOTH));
	ASSERT_EQ(0, recv(self, 1));
	fill(self, DAT_OP_SEND, 2, 0, NUMBER)->num_sge = 0;
	ASSERT_EQ(0, t_push(&self->ep[1].sq));
	EXPECT_EQ(0, received(self, 1, SEND_IMM, 0, NUMBER));
}

/* The length is that of the write, however short the receive, whose memory nothing touches. */
TEST_F_TIMEOUT(immediate, a_write_completes_a_receive_and_leaves_its_memory, 60)
{
	const uint32_t lens[] = { 1, 0, POSTED, POSTED + 1, LONG };
	char *to = self->p.mem.va + TO;
	char clean[POSTED];
	unsigned int i;

	NEEDS_IMMEDIATE();
	memset(clean, 'c', sizeof(clean));
	ASSERT_EQ(0, connected(self, BOTH));
	for (i = 0; i < 5; i++) {
		memset(self->p.mem.va, 'c', POSTED);
		memset(to, 't', LONG + 1);
		ASSERT_EQ(0, recv(self, i));
		ASSERT_EQ(0, post(self, DAT_OP_RDMA_WRITE, 10 + i, lens[i], NUMBER + i));
		EXPECT_EQ(0, received(self, i, WRITE_IMM, lens[i], NUMBER + i))
			TH_LOG("%u bytes", lens[i]);
		EXPECT_EQ(0, sent(self, 10 + i, DAT_OP_RDMA_WRITE, lens[i]));
		EXPECT_EQ(0, memcmp(to, self->p.mem.va + FROM, lens[i]));
		EXPECT_EQ('t', to[lens[i]]);
		EXPECT_EQ(0, memcmp(self->p.mem.va, clean, sizeof(clean)));
	}
}

/* A long write is carried out in parts, and completes its receive with the last one. */
TEST_F_TIMEOUT(immediate, a_long_write_completes_one_receive, 60)
{
	char *from = self->p.mem.va + 400000, *to = self->p.mem.va + TO;
	struct dat_sqe *sqe;
	unsigned int i;

	NEEDS_IMMEDIATE();
	ASSERT_EQ(0, connected(self, BOTH));
	for (i = 0; i < PARTS; i++)
		from[i] = (char)(i * 7 + i / 256);
	ASSERT_EQ(0, recv(self, 1));
	ASSERT_EQ(0, recv(self, 2));
	sqe = fill(self, DAT_OP_RDMA_WRITE, 3, PARTS, NUMBER);
	((struct dat_sge *)(sqe + 1))->addr = (uintptr_t)from;
	ASSERT_EQ(0, t_push(&self->ep[1].sq));
	ASSERT_EQ(0, post(self, DAT_OP_SEND, 4, 8, NUMBER + 1));
	EXPECT_EQ(0, received(self, 1, WRITE_IMM, PARTS, NUMBER));
	EXPECT_EQ(0, memcmp(to, from, PARTS));
	EXPECT_EQ(0, received(self, 2, SEND_IMM, 8, NUMBER + 1));
	EXPECT_EQ(0, sent(self, 3, DAT_OP_RDMA_WRITE, PARTS));
	EXPECT_EQ(0, sent(self, 4, DAT_OP_SEND, 8));
}

/* A write that the peer's memory refuses breaks the connection, as without a number. */
TEST_F_TIMEOUT(immediate, a_write_without_access_is_an_error, 60)
{
	struct dat_eqe eqe;

	NEEDS_IMMEDIATE();
	ASSERT_EQ(0, connected(self, BOTH));
	ASSERT_EQ(0, recv(self, 1));
	fill(self, DAT_OP_RDMA_WRITE, 2, 8, NUMBER)->rkey ^= 0x7700;
	ASSERT_EQ(0, t_push(&self->ep[1].sq));
	ASSERT_EQ(1, t_event(&self->evd[1], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_ST_REMOTE_ACCESS, eqe.status);
	EXPECT_EQ(DAT_EV_BROKEN, t_end(&self->evd[1], self->count));
	EXPECT_NE(0, t_end(&self->evd[0], self->count));
	EXPECT_EQ(0, self->count[DAT_ST_SUCCESS]);
}

TEST_F_TIMEOUT(immediate, inline_data_go_with_them, 60)
{
	char text[] = "inline";
	struct dat_sqe *sqe;
	int op;

	NEEDS_IMMEDIATE();
	if (!self->p.f.info.max_inline)
		SKIP(return, "the adapter has no inline data");
	ASSERT_EQ(0, connected(self, BOTH));
	for (op = DAT_OP_SEND; op <= DAT_OP_RDMA_WRITE; op++) {
		ASSERT_EQ(0, recv(self, op));
		sqe = fill(self, op, 10 + op, 0, NUMBER);
		sqe->num_sge = 0;
		sqe->inline_len = sizeof(text);
		memcpy(sqe + 1, text, sizeof(text));
		ASSERT_EQ(0, t_push(&self->ep[1].sq));
		EXPECT_EQ(0, received(self, op, op == DAT_OP_SEND ? SEND_IMM : WRITE_IMM,
				      sizeof(text), NUMBER));
		EXPECT_EQ(0, sent(self, 10 + op, op, sizeof(text)));
		EXPECT_EQ(0, memcmp(self->p.mem.va + (op == DAT_OP_SEND ? 0 : TO), text,
				    sizeof(text)));
	}
}

/* A plain message between two with immediate data has none, and the order is that of the posts. */
TEST_F_TIMEOUT(immediate, each_message_has_its_own, 120)
{
	unsigned int i;

	NEEDS_IMMEDIATE();
	ASSERT_EQ(0, connected(self, BOTH));
	for (i = 0; i < 3 * T_QUEUE; i++) {
		ASSERT_EQ(0, recv(self, i));
		if (i % 3 == 1) {
			ASSERT_EQ(0, t_send(&self->ep[1], 1000 + i,
					    (uintptr_t)self->p.mem.va + FROM, self->p.mem.lkey, 8));
			EXPECT_EQ(0, received(self, i, 0, 8, 0));
		} else {
			ASSERT_EQ(0, post(self, i % 3 ? DAT_OP_SEND : DAT_OP_RDMA_WRITE, 1000 + i,
					  8, i));
			EXPECT_EQ(0, received(self, i, i % 3 ? SEND_IMM : WRITE_IMM, 8, i));
		}
		EXPECT_EQ(0, sent(self, 1000 + i, i % 3 ? DAT_OP_SEND : DAT_OP_RDMA_WRITE, 8));
	}
}

/*
 * Posts with one kick @n messages of 8 bytes: a write with a number, a send with one, and a send
 * without one, in turns.
 */
static int post_row(FIXTURE_DATA(immediate) *self, unsigned int n)
{
	struct dat_sqe *sqe;
	unsigned int i;

	for (i = 0; i < n; i++) {
		sqe = fill(self, i % 3 ? DAT_OP_SEND : DAT_OP_RDMA_WRITE, i, 8, NUMBER + i);
		if (i % 3 == 2) {
			sqe->flags = 0;
			sqe->imm = 0;
		}
		self->ep[1].sq.tail += i + 1 < n;
	}
	return t_push(&self->ep[1].sq);
}

/* Messages that complete together, some of which have numbers, are reported together. */
TEST_F_TIMEOUT(immediate, each_message_of_a_row_has_its_own, 60)
{
	static const uint32_t flags[] = { WRITE_IMM, SEND_IMM, 0 };
	unsigned int i;

	NEEDS_IMMEDIATE();
	ASSERT_EQ(0, connected(self, BOTH));
	for (i = 0; i < T_QUEUE; i++)
		ASSERT_EQ(0, recv(self, i));
	ASSERT_EQ(0, post_row(self, T_QUEUE));
	for (i = 0; i < T_QUEUE; i++)
		EXPECT_EQ(0, received(self, i, flags[i % 3], 8, flags[i % 3] ? NUMBER + i : 0))
			TH_LOG("message %u", i);
	for (i = 0; i < T_QUEUE; i++)
		EXPECT_EQ(0, sent(self, i, i % 3 ? DAT_OP_SEND : DAT_OP_RDMA_WRITE, 8));
	EXPECT_EQ(self->rq->status->head, self->rq->status->done);
}

/* A message without a number that arrives before one with a number is good. */
TEST_F_TIMEOUT(immediate, a_row_is_good_up_to_the_first_that_is_refused, 60)
{
	struct dat_eqe eqe;
	struct dat_sqe *sqe;
	unsigned int i;

	NEEDS_IMMEDIATE();
	ASSERT_EQ(0, connected(self, 0, DAT_EP_FLAG_IMMEDIATE));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, recv(self, i));
	sqe = fill(self, DAT_OP_SEND, 0, 8, 0);
	sqe->flags = 0;
	self->ep[1].sq.tail++;
	fill(self, DAT_OP_RDMA_WRITE, 1, 8, NUMBER);
	self->ep[1].sq.tail++;
	ASSERT_EQ(0, post(self, DAT_OP_SEND, 2, 8, NUMBER));
	EXPECT_EQ(0, received(self, 0, 0, 8, 0));
	ASSERT_EQ(1, t_event(&self->evd[0], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_ST_BAD_RESPONSE, eqe.status);
	EXPECT_EQ(1, eqe.cookie);
	EXPECT_EQ(self->recv, eqe.flags);
	EXPECT_EQ(0, eqe.imm);
	EXPECT_EQ(DAT_EV_BROKEN, t_end(&self->evd[0], self->count));
	EXPECT_EQ(0, self->count[DAT_ST_SUCCESS]);
}

/*
 * Writes consume receives, so their completions must give the entries of the receive queue back,
 * and move on to those that wait in the ring.
 */
TEST_F_TIMEOUT(immediate, receives_that_writes_use_up_are_posted_again, 240)
{
	unsigned int i, posted = 0;

	NEEDS_IMMEDIATE();
	ASSERT_EQ(0, connected(self, BOTH));
	for (i = 0; i < ROUNDS; i++) {
		while (posted < ROUNDS && posted < i + self->rq->entries)
			ASSERT_EQ(0, recv(self, posted++));
		ASSERT_EQ(0, post(self, DAT_OP_RDMA_WRITE, i, 4, i));
		ASSERT_EQ(0, received(self, i, WRITE_IMM, 4, i)) TH_LOG("round %u", i);
		ASSERT_EQ(0, sent(self, i, DAT_OP_RDMA_WRITE, 4));
	}
	EXPECT_EQ(self->rq->status->head, self->rq->status->done);
}

/* Suppressed requests have no event, and those that only do not wake have one. */
TEST_F_TIMEOUT(immediate, completion_flags_hold, 60)
{
	const struct dat_evd_status *st = self->evd[1].status.va;
	struct t_queue *sq = &self->ep[1].sq;
	struct dat_eqe eqe;
	unsigned int i;

	NEEDS_IMMEDIATE();
	ASSERT_EQ(0, connected(self, BOTH));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, recv(self, i));
		fill(self, i & 1 ? DAT_OP_SEND : DAT_OP_RDMA_WRITE, i, 4, i)->flags |=
			i < 2 ? DAT_SQE_SUPPRESS : DAT_SQE_UNSIGNALLED | DAT_SQE_FENCE;
		ASSERT_EQ(0, t_push(sq));
		EXPECT_EQ(0, received(self, i, i & 1 ? SEND_IMM : WRITE_IMM, 4, i));
	}
	/* t_event() sleeps until an event wakes it, and these do not. */
	for (i = 0; i < T_WAIT_MS &&
	     __atomic_load_n(&st->tail, __ATOMIC_ACQUIRE) - self->evd[1].head < 2; i++)
		usleep(1000);
	for (i = 2; i < 4; i++)
		EXPECT_EQ(0, sent(self, i, i & 1 ? DAT_OP_SEND : DAT_OP_RDMA_WRITE, 4));
	EXPECT_EQ(0, t_event(&self->evd[1], T_QUIET_MS, &eqe));
	EXPECT_EQ(sq->tail, sq->status->done);
}

/* A stream of requests without events goes on, and an event at its end follows all of them. */
TEST_F_TIMEOUT(immediate, suppressed_requests_bring_their_numbers, 120)
{
	unsigned int i;

	NEEDS_IMMEDIATE();
	ASSERT_EQ(0, connected(self, BOTH));
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, recv(self, i));
		fill(self, i & 1 ? DAT_OP_SEND : DAT_OP_RDMA_WRITE, i, 4, i)->flags |=
			DAT_SQE_SUPPRESS;
		ASSERT_EQ(0, t_push(&self->ep[1].sq));
		ASSERT_EQ(0, received(self, i, i & 1 ? SEND_IMM : WRITE_IMM, 4, i))
			TH_LOG("round %u", i);
	}
	ASSERT_EQ(0, recv(self, ROUNDS));
	ASSERT_EQ(0, post(self, DAT_OP_RDMA_WRITE, ROUNDS, 4, NUMBER));
	EXPECT_EQ(0, received(self, ROUNDS, WRITE_IMM, 4, NUMBER));
	EXPECT_EQ(0, sent(self, ROUNDS, DAT_OP_RDMA_WRITE, 4));
	EXPECT_EQ(self->ep[1].sq.tail, self->ep[1].sq.status->done);
}

/* Without a receive of the peer, a write with immediate data waits, as a send does. */
TEST_F_TIMEOUT(immediate, a_write_waits_for_a_receive, 120)
{
	struct dat_eqe eqe;

	NEEDS_IMMEDIATE();
	ASSERT_EQ(0, connected(self, BOTH));
	ASSERT_EQ(0, post(self, DAT_OP_RDMA_WRITE, 1, LONG, NUMBER));
	ASSERT_EQ(0, post(self, DAT_OP_SEND, 2, 8, NUMBER + 1));
	EXPECT_EQ(0, t_event(&self->evd[1], T_QUIET_MS, &eqe));
	ASSERT_EQ(0, recv(self, 7));
	EXPECT_EQ(0, received(self, 7, WRITE_IMM, LONG, NUMBER));
	ASSERT_EQ(0, recv(self, 8));
	EXPECT_EQ(0, received(self, 8, SEND_IMM, 8, NUMBER + 1));
	EXPECT_EQ(0, sent(self, 1, DAT_OP_RDMA_WRITE, LONG));
	EXPECT_EQ(0, sent(self, 2, DAT_OP_SEND, 8));
}

/* A request is reported when it is done, though a write behind it waits for the peer. */
TEST_F_TIMEOUT(immediate, the_request_before_a_write_that_waits_is_reported, 60)
{
	struct t_queue *sq = &self->ep[1].sq;
	struct dat_sqe *sqe;

	NEEDS_IMMEDIATE();
	ASSERT_EQ(0, connected(self, BOTH));
	sqe = fill(self, DAT_OP_RDMA_WRITE, 1, 8, 0);
	sqe->flags = 0;
	sq->tail++;
	fill(self, DAT_OP_RDMA_WRITE, 2, 8, NUMBER);
	ASSERT_EQ(0, t_push(sq));
	EXPECT_EQ(0, sent(self, 1, DAT_OP_RDMA_WRITE, 8));
	ASSERT_EQ(0, recv(self, 7));
	EXPECT_EQ(0, received(self, 7, WRITE_IMM, 8, NUMBER));
	EXPECT_EQ(0, sent(self, 2, DAT_OP_RDMA_WRITE, 8));
}

/* A request that waits for a receive is flushed by a disconnect, and its event has no number. */
TEST_F_TIMEOUT(immediate, what_is_flushed_has_no_number, 60)
{
	struct dat_eqe eqe;

	NEEDS_IMMEDIATE();
	ASSERT_EQ(0, connected(self, BOTH));
	ASSERT_EQ(0, post(self, DAT_OP_RDMA_WRITE, 1, 8, NUMBER));
	EXPECT_EQ(0, t_event(&self->evd[1], T_QUIET_MS, &eqe));
	ASSERT_EQ(0, t_disconnect(&self->p.f, &self->ep[1], 0));
	ASSERT_EQ(1, t_event(&self->evd[1], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_DTO, eqe.type);
	EXPECT_EQ(DAT_ST_FLUSHED, eqe.status);
	EXPECT_EQ(0, eqe.flags);
	EXPECT_EQ(0, eqe.imm);
	EXPECT_EQ(DAT_EV_DISCONNECTED, t_end(&self->evd[1], self->count));
	EXPECT_EQ(DAT_EV_DISCONNECTED, t_end(&self->evd[0], self->count));
}

/*
 * A receiver that has not asked must not take a write for a message: the receive fails, with the
 * status that it has always had.
 */
TEST_F_TIMEOUT(immediate, an_ep_that_has_not_asked_refuses_them, 60)
{
	struct t_pair *p = &self->p;
	struct {
		int op;
		uint32_t len;
		int status;
	} cases[] = {
		{ DAT_OP_SEND, 8, DAT_ST_BAD_RESPONSE },
		{ DAT_OP_RDMA_WRITE, 8, DAT_ST_BAD_RESPONSE },
		{ DAT_OP_RDMA_WRITE, LONG, DAT_ST_LOCAL_LENGTH },
	};
	struct dat_eqe eqe;
	unsigned int i;

	NEEDS_IMMEDIATE();
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, connected(self, 0, DAT_EP_FLAG_IMMEDIATE));
		memset(p->mem.va + TO, 't', 8);
		ASSERT_EQ(0, recv(self, 1));
		ASSERT_EQ(0, post(self, cases[i].op, 2, cases[i].len, NUMBER));
		ASSERT_EQ(1, t_event(&self->evd[0], T_WAIT_MS, &eqe));
		EXPECT_EQ(cases[i].status, eqe.status) TH_LOG("case %u", i);
		EXPECT_EQ(self->recv, eqe.flags);
		EXPECT_EQ(0, eqe.len);
		EXPECT_EQ(0, eqe.imm);
		EXPECT_EQ(DAT_EV_BROKEN, t_end(&self->evd[0], self->count));
		EXPECT_NE(0, t_end(&self->evd[1], self->count));
		/* Over lo0 the kernel knows before it copies. */
		if (!t_is_device(&p->f)) {
			EXPECT_EQ(1, self->count[DAT_ST_REMOTE_RESPONDER]);
			EXPECT_EQ(0, memcmp(p->mem.va + TO, "tttttttt", 8));
		}
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, self->ep[0].id));
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, self->ep[1].id));
	}
}

/* Each EP of an SRQ decides for itself whether it takes immediate data. */
TEST_F_TIMEOUT(immediate, eps_of_one_srq_decide_for_themselves, 60)
{
	struct t_ep asking[2];
	struct dat_eqe eqe;

	NEEDS_IMMEDIATE();
	if (!variant->shared)
		SKIP(return, "the EP has a receive queue");
	ASSERT_EQ(0, connected(self, BOTH));
	memcpy(asking, self->ep, sizeof(asking));
	ASSERT_EQ(0, connected(self, 0, DAT_EP_FLAG_IMMEDIATE));
	ASSERT_EQ(0, recv(self, 1));
	ASSERT_EQ(0, post(self, DAT_OP_SEND, 2, 8, NUMBER));
	ASSERT_EQ(1, t_event(&self->evd[0], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_ST_BAD_RESPONSE, eqe.status);
	EXPECT_EQ(self->recv, eqe.flags);
	EXPECT_EQ(DAT_EV_BROKEN, t_end(&self->evd[0], self->count));
	EXPECT_NE(0, t_end(&self->evd[1], self->count));
	memcpy(self->ep, asking, sizeof(asking));
	ASSERT_EQ(0, recv(self, 3));
	ASSERT_EQ(0, post(self, DAT_OP_RDMA_WRITE, 4, 8, NUMBER));
	EXPECT_EQ(0, received(self, 3, WRITE_IMM, 8, NUMBER));
	EXPECT_EQ(0, sent(self, 4, DAT_OP_RDMA_WRITE, 8));
}

/* Posts what is in the next entry.  Returns 0 if it is malformed and breaks the connection. */
static int is_malformed(FIXTURE_DATA(immediate) *self)
{
	struct dat_eqe eqe;

	if (t_push(&self->ep[1].sq) || t_event(&self->evd[1], T_WAIT_MS, &eqe) != 1)
		return 1;
	if (eqe.type != DAT_EV_DTO || eqe.status != DAT_ST_LOCAL_EP || eqe.flags || eqe.imm)
		return 2;
	if (t_end(&self->evd[1], self->count) != DAT_EV_BROKEN ||
	    !t_end(&self->evd[0], self->count))
		return 3;
	return self->ep[1].sq.status->bad != 1;
}

TEST_F_TIMEOUT(immediate, an_ep_that_has_not_asked_cannot_send_them, 60)
{
	ASSERT_EQ(0, connected(self, 0, 0));
	fill(self, DAT_OP_SEND, 1, 8, NUMBER);
	EXPECT_EQ(0, is_malformed(self));
}

/* A process may write anything to an entry: only sends and writes may have them. */
TEST_F_TIMEOUT(immediate, other_entries_with_them_are_malformed, 240)
{
	struct t_pair *p = &self->p;
	struct dat_sqe *sqe;
	unsigned int i;

	NEEDS_IMMEDIATE();
	for (i = 0; i < 6; i++) {
		ASSERT_EQ(0, connected(self, BOTH));
		sqe = fill(self, i == 3 ? DAT_OP_RDMA_READ : DAT_OP_SEND, 1, 8, NUMBER);
		switch (i) {
		case 0:
			sqe->flags = 0;		/* a number without the flag */
			break;
		case 1:
			sqe->rsvd = 1;
			break;
		case 2:
			sqe->rkey = 1;		/* would be a send with invalidate */
			break;
		case 3:
			sqe->raddr = (uintptr_t)p->mem.va + TO;
			sqe->rkey = p->mem.rkey;
			break;
		case 4:
			sqe->opcode = DAT_OP_RMR_BIND;
			sqe->num_sge = 0;
			break;
		case 5:
			sqe->flags |= 0x400;
			break;
		}
		/* The event of a bind is of another type. */
		if (i == 4) {
			ASSERT_EQ(0, t_push(&self->ep[1].sq));
			EXPECT_EQ(DAT_EV_BROKEN, t_end(&self->evd[1], self->count));
			EXPECT_NE(0, t_end(&self->evd[0], self->count));
			EXPECT_EQ(1, self->ep[1].sq.status->bad);
		} else {
			EXPECT_EQ(0, is_malformed(self)) TH_LOG("case %u", i);
		}
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, self->ep[0].id));
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, self->ep[1].id));
	}
}

/* An event that finds the ring full is lost, and counted; a buffer of an SRQ is then lost. */
TEST_F_TIMEOUT(immediate, an_evd_that_is_full_loses_their_events, 60)
{
	struct dat_evd_status *st;
	unsigned int i, n;

	NEEDS_IMMEDIATE();
	ASSERT_EQ(0, t_evd(&self->p.f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, 2, &self->evd[0]));
	ASSERT_EQ(0, connected(self, BOTH));
	st = self->evd[0].status.va;
	n = self->evd[0].entries + 2;
	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, recv(self, i));
		ASSERT_EQ(0, post(self, DAT_OP_RDMA_WRITE, i, 4, i));
		ASSERT_EQ(0, sent(self, i, DAT_OP_RDMA_WRITE, 4));
	}
	for (i = 0; i < n - 2; i++)
		EXPECT_EQ(0, received(self, i, WRITE_IMM, 4, i));
	EXPECT_EQ(2, st->dropped);
	if (variant->shared)
		EXPECT_EQ(2, ((struct dat_status *)self->srq.status.va)->lost);
}

TEST_F(immediate, only_an_adapter_that_has_them_makes_such_an_ep)
{
	struct dat_abi abi = { .size = sizeof(abi) };

	ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_ABI, &abi));
	EXPECT_TRUE(abi.features & DAT_FEATURE_IMMEDIATE);
	EXPECT_EQ(!(self->p.f.info.flags & DAT_IA_FLAG_IWARP),
		  !!(self->p.f.info.sqe_flags & DAT_SQE_IMM));
	EXPECT_EQ(self->p.f.info.sqe_flags & DAT_SQE_IMM ? 0 : -EOPNOTSUPP,
		  make_ep(self, 0, DAT_EP_FLAG_IMMEDIATE));
	EXPECT_EQ(0, make_ep(self, 0, 0));
}

/* Modifies ep[1], and uses its new ring. */
static int modify(FIXTURE_DATA(immediate) *self, uint32_t flags)
{
	struct dat_ep_modify arg = {
		.size = sizeof(arg), .id = self->ep[1].id, .pz = self->p.pz,
		.recv_evd = self->evd[1].id, .request_evd = self->evd[1].id,
		.connect_evd = self->evd[1].id, .max_recv = T_QUEUE, .max_request = T_QUEUE,
		.max_recv_iov = 1, .max_request_iov = 2, .read_in = 4, .read_out = 4,
		.flags = flags,
	};
	struct t_map ring;
	int ret = t_ioctl(self->p.f.fd, DAT_IOC_EP_MODIFY, &arg);

	if (!ret)
		ret = t_map_span(&self->p.f, &arg.submit, PROT_READ | PROT_WRITE, &ring);
	if (ret)
		return ret;
	self->ep[1].sq.ring = (char *)ring.va + arg.sq_offset;
	self->ep[1].sq.shift = arg.sq_shift;
	self->ep[1].sq.shared_tail = &((struct dat_submit *)ring.va)->sq_tail;
	return 0;
}

/* A modification sets all parameters, this one too. */
TEST_F_TIMEOUT(immediate, a_modification_can_give_and_take_them, 60)
{
	struct t_pair *p = &self->p;
	uint32_t flags;

	NEEDS_IMMEDIATE();
	ASSERT_EQ(0, make_ep(self, 0, DAT_EP_FLAG_IMMEDIATE));
	ASSERT_EQ(0, make_ep(self, 1, 0));
	self->rq = self->srq.id ? &self->srq.rq : &self->ep[0].rq;
	for (flags = 2; flags; flags <<= 1)
		EXPECT_EQ(-EOPNOTSUPP, modify(self, flags));
	ASSERT_EQ(0, modify(self, DAT_EP_FLAG_IMMEDIATE));
	ASSERT_EQ(0, t_connect_eps(p, self->ep, self->evd));
	ASSERT_EQ(0, recv(self, 1));
	ASSERT_EQ(0, post(self, DAT_OP_SEND, 2, 8, NUMBER));
	EXPECT_EQ(0, received(self, 1, SEND_IMM, 8, NUMBER));
	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, self->ep[0].id));
	ASSERT_NE(0, t_end(&self->evd[1], self->count));
	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, self->ep[1].id));
	ASSERT_EQ(0, make_ep(self, 0, 0));
	ASSERT_EQ(0, make_ep(self, 1, DAT_EP_FLAG_IMMEDIATE));
	ASSERT_EQ(0, modify(self, 0));
	ASSERT_EQ(0, t_connect_eps(p, self->ep, self->evd));
	fill(self, DAT_OP_SEND, 1, 8, NUMBER);
	EXPECT_EQ(0, is_malformed(self));
}

TEST_HARNESS_MAIN
