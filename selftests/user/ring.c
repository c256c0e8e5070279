// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Rings: indices that wrap around, and everything that a malicious process can write. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "suppressed.h"

#define WRAP_START	0xfffffff0U
#define WRAP_MESSAGES	200

FIXTURE(wrap) {
	struct t_pair p;
	struct t_srq srq;
	struct t_ep srq_ep;
};

FIXTURE_SETUP(wrap)
{
	ASSERT_EQ(0, t_set_ring_start(WRAP_START));
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, t_srq(&self->p.f, self->p.pz, 8, &self->srq));
	ASSERT_EQ(0, t_ep(&self->p.f, self->p.pz, &self->p.evd[0], self->srq.id, 3,
			  &self->srq_ep));
	ASSERT_EQ(0, t_set_ring_start(0));
}

FIXTURE_TEARDOWN(wrap)
{
	t_pair_close(&self->p);
}

/* Send the messages one by one.  Meanwhile every index wraps around at 2^32. */
static void stream(struct __test_metadata *_metadata, struct t_pair *p, struct t_queue *rq)
{
	char *from = p->mem.va + 4096, *to = p->mem.va;
	struct dat_eqe eqe;
	int i;

	for (i = 0; i < WRAP_MESSAGES; i++) {
		memset(from, i, 64);
		ASSERT_EQ(0, t_recv(rq, i, (uintptr_t)to, p->mem.lkey, 64));
		ASSERT_EQ(0, t_send(&p->ep[1], 1000 + i, (uintptr_t)from, p->mem.lkey, 64));
		ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
		ASSERT_EQ(DAT_ST_SUCCESS, eqe.status);
		ASSERT_EQ(i, eqe.cookie);
		ASSERT_EQ(0, memcmp(from, to, 64));
		ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
		ASSERT_EQ(1000 + i, eqe.cookie);
	}
	EXPECT_EQ(WRAP_START + WRAP_MESSAGES, rq->status->done);
	EXPECT_EQ(WRAP_START + WRAP_MESSAGES, p->ep[1].sq.status->done);
	EXPECT_GT(WRAP_START, p->evd[0].head);
}

TEST_F_TIMEOUT(wrap, queues_and_events_cross_2_to_the_32, 120)
{
	ASSERT_EQ(0, t_pair_connect(&self->p));
	stream(_metadata, &self->p, &self->p.ep[0].rq);
}

TEST_F_TIMEOUT(wrap, an_srq_crosses_2_to_the_32, 120)
{
	self->p.ep[0] = self->srq_ep;
	ASSERT_EQ(0, t_pair_connect(&self->p));
	stream(_metadata, &self->p, &self->srq.rq);
}

#define LONG		512	/* entries of each queue */
#define SLICE		128	/* bound of the driver */

FIXTURE(slice) {
	struct t_pair p;
	struct t_evd evd[2];
	struct t_ep ep[2];
};

FIXTURE_SETUP(slice)
{
	struct t_pair *p = &self->p;
	int i;

	ASSERT_EQ(0, t_pair_open(p));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, t_evd(&p->f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, 4 * LONG,
				   &self->evd[i]));
		ASSERT_EQ(0, t_long_ep(&p->f, p->pz, &self->evd[i], 0, i, LONG, &self->ep[i]));
	}
	ASSERT_EQ(0, t_connect_eps(p, self->ep, self->evd));
}

FIXTURE_TEARDOWN(slice)
{
	t_pair_close(&self->p);
}

/* Store @n valid entries and the tail, without a kick. */
static void store(FIXTURE_DATA(slice) *self, struct t_queue *q, int sends, unsigned int n)
{
	struct dat_sge sge = { (uintptr_t)self->p.mem.va, self->p.mem.lkey, 8 };
	struct dat_sqe *sqe;
	struct dat_rqe *rqe;

	while (n--) {
		if (sends) {
			sqe = t_sqe(q);
			sqe->opcode = DAT_OP_SEND;
			sqe->num_sge = 1;
			*(struct dat_sge *)(sqe + 1) = sge;
		} else {
			rqe = t_rqe(q);
			rqe->num_sge = 1;
			*(struct dat_sge *)(rqe + 1) = sge;
		}
		q->tail++;
	}
	__atomic_store_n(q->shared_tail, q->tail, __ATOMIC_RELEASE);
}

/* Returns how many entries the driver has taken, once it takes no more than @at_least. */
static uint32_t taken(struct t_queue *q, uint32_t at_least)
{
	int i;

	for (i = 0; i < T_WAIT_MS && q->status->head < at_least; i++)
		usleep(1000);
	usleep(T_QUIET_MS * 1000);
	return q->status->head;
}

/* A completion runs outside of the process.  The peer sends no second message. */
TEST_F_TIMEOUT(slice, of_receives_is_what_a_completion_takes, 60)
{
	struct t_queue *rq = &self->ep[0].rq;
	uint64_t addr = (uintptr_t)self->p.mem.va;

	ASSERT_EQ(0, t_recv(rq, 0, addr, self->p.mem.lkey, 8));
	ASSERT_EQ(1, taken(rq, 1));
	store(self, rq, 0, LONG - 1);
	ASSERT_EQ(0, t_send(&self->ep[1], 0, addr, self->p.mem.lkey, 8));
	EXPECT_EQ(1 + SLICE, taken(rq, 1 + SLICE));
}

/* The peer has a receive for the first request only. */
TEST_F_TIMEOUT(slice, of_requests_is_what_a_completion_takes, 60)
{
	struct t_queue *sq = &self->ep[1].sq;
	uint64_t addr = (uintptr_t)self->p.mem.va;

	ASSERT_EQ(0, t_send(&self->ep[1], 0, addr, self->p.mem.lkey, 8));
	ASSERT_EQ(1, taken(sq, 1));
	store(self, sq, 1, LONG - 1);
	ASSERT_EQ(0, t_recv(&self->ep[0].rq, 0, addr, self->p.mem.lkey, 8));
	EXPECT_EQ(1 + SLICE, taken(sq, 1 + SLICE));
}

TEST_F(slice, a_kick_that_names_a_queue_takes_its_entries_alone)
{
	struct t_queue *sq = &self->ep[1].sq, *rq = &self->ep[0].rq;

	store(self, rq, 0, 1);
	store(self, sq, 1, 1);
	ASSERT_EQ(0, t_word(&self->p.f, DAT_IOC_KICK, rq->bell + 1));
	EXPECT_EQ(1, rq->status->head);
	EXPECT_EQ(0, sq->status->head);
	ASSERT_EQ(0, t_word(&self->p.f, DAT_IOC_KICK, sq->bell + 1));
	EXPECT_EQ(1, sq->status->head);
}

TEST_F(slice, only_a_send_queue_can_be_reported)
{
	struct t_file *f = &self->p.f;

	EXPECT_EQ(0, t_word(f, DAT_IOC_KICK, DAT_KICK_REPORT | (self->ep[1].sq.bell + 1)));
	store(self, &self->ep[0].rq, 0, 1);
	EXPECT_EQ(-EOPNOTSUPP,
		  t_word(f, DAT_IOC_KICK, DAT_KICK_REPORT | (self->ep[0].rq.bell + 1)));
	EXPECT_EQ(0, self->ep[0].rq.status->head);
	EXPECT_EQ(-EOPNOTSUPP, t_word(f, DAT_IOC_KICK, DAT_KICK_REPORT));
}

FIXTURE(silent) {
	struct t_pair p;
};

FIXTURE_SETUP(silent)
{
	t_features = DAT_FEATURE_SILENT;
	ASSERT_EQ(0, t_pair_open(&self->p));
	t_features = 0;
	ASSERT_EQ(0, t_pair_connect(&self->p));
	ASSERT_EQ(0, await_handshake(&self->p));
}

FIXTURE_TEARDOWN(silent)
{
	t_pair_close(&self->p);
}

/* Store a send without a kick. */
static void store_send(struct t_pair *p, uint16_t flags)
{
	struct t_queue *sq = &p->ep[1].sq;
	struct dat_sqe *sqe = t_sqe(sq);

	sqe->opcode = DAT_OP_SEND;
	sqe->flags = flags;
	sqe->num_sge = 1;
	*(struct dat_sge *)(sqe + 1) = (struct dat_sge) { (uintptr_t)p->mem.va, p->mem.lkey, 8 };
	__atomic_store_n(sq->shared_tail, ++sq->tail, __ATOMIC_RELEASE);
}

TEST_F_TIMEOUT(silent, done_lags_until_a_report, 60)
{
	struct t_queue *sq = &self->p.ep[1].sq;

	ASSERT_EQ(0, post_suppressed(&self->p));
	usleep(T_QUIET_MS * 1000);
	EXPECT_EQ(0, sq->status->done);
	ASSERT_EQ(0, t_word(sq->f, DAT_IOC_KICK, DAT_KICK_REPORT | (sq->bell + 1)));
	EXPECT_TRUE(done_reaches(sq, 1));
}

/* The send waits for a receive.  So a completion is due when the report is asked for. */
TEST_F_TIMEOUT(silent, a_report_is_not_forgotten_while_a_completion_is_due, 60)
{
	struct t_pair *p = &self->p;
	uint64_t addr = (uintptr_t)p->mem.va;
	struct t_queue *sq = &p->ep[1].sq;

	ASSERT_EQ(0, t_send(&p->ep[1], 1, addr, p->mem.lkey, 8));
	ASSERT_EQ(0, post_suppressed(p));
	ASSERT_EQ(2, sq->status->head);
	ASSERT_EQ(0, t_word(sq->f, DAT_IOC_KICK, DAT_KICK_REPORT | (sq->bell + 1)));
	ASSERT_EQ(0, t_recv(&p->ep[0].rq, 2, addr, p->mem.lkey, 8));
	EXPECT_TRUE(done_reaches(sq, 2));
}

static int report(const struct t_queue *sq)
{
	return t_word(sq->f, DAT_IOC_KICK, DAT_KICK_REPORT | (sq->bell + 1));
}

/* The suppressed request comes after the report, so nothing asks for its end. */
TEST_F_TIMEOUT(silent, a_report_ends_with_the_requests_before_it, 60)
{
	struct t_pair *p = &self->p;
	uint64_t addr = (uintptr_t)p->mem.va;
	struct t_queue *sq = &p->ep[1].sq;

	ASSERT_EQ(0, t_send(&p->ep[1], 1, addr, p->mem.lkey, 8));
	ASSERT_EQ(0, report(sq));
	ASSERT_EQ(0, post_suppressed(p));
	ASSERT_EQ(0, t_recv(&p->ep[0].rq, 2, addr, p->mem.lkey, 8));
	ASSERT_TRUE(done_reaches(sq, 1));
	usleep(T_QUIET_MS * 1000);
	EXPECT_EQ(1, sq->status->done);
}

/* The send waits for a receive, and so does the question to the device whether it has ended. */
TEST_F_TIMEOUT(silent, many_reports_ask_the_device_once, 60)
{
	struct t_pair *p = &self->p;
	uint64_t addr = (uintptr_t)p->mem.va;
	struct t_queue *sq = &p->ep[1].sq;
	struct dat_eqe eqe;
	int i;

	store_send(p, DAT_SQE_SUPPRESS);
	ASSERT_EQ(0, t_word(sq->f, DAT_IOC_KICK, sq->bell + 1));
	for (i = 0; i < 4 * T_QUEUE; i++)
		ASSERT_EQ(0, report(sq));
	ASSERT_EQ(0, t_recv(&p->ep[0].rq, 2, addr, p->mem.lkey, 8));
	EXPECT_TRUE(done_reaches(sq, 1));
	EXPECT_EQ(0, t_event(&p->evd[1], 0, &eqe));
}

/* Nobody kicks for them, so nobody might ask for their end. */
TEST_F_TIMEOUT(silent, done_does_not_lag_for_what_a_completion_takes, 60)
{
	struct t_pair *p = &self->p;
	uint64_t addr = (uintptr_t)p->mem.va;
	struct t_queue *sq = &p->ep[1].sq;
	int i;

	ASSERT_EQ(0, t_send(&p->ep[1], 1, addr, p->mem.lkey, 8));
	for (i = 0; i < 3; i++)
		store_write(p, DAT_SQE_SUPPRESS);
	ASSERT_EQ(0, t_recv(&p->ep[0].rq, 2, addr, p->mem.lkey, 8));
	EXPECT_TRUE(done_reaches(sq, 4));
}

/* Both are in one chain.  The send waits for a receive, which depends on the peer. */
TEST_F_TIMEOUT(silent, an_event_does_not_wait_for_a_send_behind_it, 60)
{
	struct t_pair *p = &self->p;
	uint64_t addr = (uintptr_t)p->mem.va;
	struct t_queue *sq = &p->ep[1].sq;
	struct dat_eqe eqe;

	store_write(p, 0);
	store_send(p, 0);
	ASSERT_EQ(0, t_word(sq->f, DAT_IOC_KICK, sq->bell + 1));
	ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_OP_RDMA_WRITE, eqe.op);
	ASSERT_EQ(0, t_recv(&p->ep[0].rq, 2, addr, p->mem.lkey, 8));
	ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_OP_SEND, eqe.op);
}

/* A program that has not asked for the feature knows of each end. */
TEST_F_TIMEOUT(slice, done_does_not_lag_without_the_feature, 60)
{
	ASSERT_EQ(0, t_connect_eps(&self->p, self->p.ep, self->p.evd));
	ASSERT_EQ(0, post_suppressed(&self->p));
	EXPECT_TRUE(done_reaches(&self->p.ep[1].sq, 1));
}

FIXTURE(garbage) {
	struct t_pair p;
	struct t_link neighbour;	/* second connection on the same file */
	unsigned int count[16];
};

FIXTURE_SETUP(garbage)
{
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, t_pair_connect(&self->p));
	ASSERT_EQ(0, t_link_open(&self->p, &self->neighbour));
}

/* Whatever a test does to the pair, the connection @neighbour must still work. */
FIXTURE_TEARDOWN(garbage)
{
	EXPECT_EQ(0, t_link_works(&self->p, &self->neighbour));
	t_pair_close(&self->p);
}

#define EXPECT_BROKEN(side) \
	EXPECT_EQ(DAT_EV_BROKEN, t_end(&self->p.evd[side], self->count))

TEST_F_TIMEOUT(garbage, an_sqe_of_zeros, 60)
{
	t_sqe(&self->p.ep[1].sq);
	t_push(&self->p.ep[1].sq);
	EXPECT_BROKEN(1);
	EXPECT_EQ(1, self->count[DAT_ST_LOCAL_EP]);
}

TEST_F_TIMEOUT(garbage, an_unknown_flag, 60)
{
	struct dat_sqe *sqe = t_sqe(&self->p.ep[1].sq);

	sqe->opcode = DAT_OP_SEND;
	sqe->flags = 0x10;
	t_push(&self->p.ep[1].sq);
	EXPECT_BROKEN(1);
}

TEST_F_TIMEOUT(garbage, more_segments_than_fit, 60)
{
	struct dat_sqe *sqe = t_sqe(&self->p.ep[1].sq);

	sqe->opcode = DAT_OP_SEND;
	sqe->num_sge = 255;
	t_push(&self->p.ep[1].sq);
	EXPECT_BROKEN(1);
}

TEST_F_TIMEOUT(garbage, reserved_fields, 60)
{
	struct dat_sqe *sqe = t_sqe(&self->p.ep[1].sq);

	sqe->opcode = DAT_OP_SEND;
	sqe->imm = 1;
	t_push(&self->p.ep[1].sq);
	EXPECT_BROKEN(1);
}

TEST_F_TIMEOUT(garbage, a_send_with_an_rkey, 60)
{
	struct dat_sqe *sqe = t_sqe(&self->p.ep[1].sq);

	sqe->opcode = DAT_OP_SEND;
	sqe->rkey = 1;
	t_push(&self->p.ep[1].sq);
	EXPECT_BROKEN(1);
}

/*
 * Post one entry on a new connection: a receive if @recv is set, else a send with opcode @op.  In
 * header word @word of the entry, also set the bits @bits.  The entry must break the connection.
 * Returns the number of malformed entries that the queue has counted, or -1 on failure.
 */
static int bad_entry(int recv, uint8_t op, unsigned int word, uint32_t bits)
{
	unsigned int count[16];
	struct t_pair p;
	uint32_t *entry;
	int bad = -1;

	if (t_pair_open(&p))
		return -1;
	if (t_pair_connect(&p))
		goto out;
	entry = recv ? (uint32_t *)t_rqe(&p.ep[0].rq) : (uint32_t *)t_sqe(&p.ep[1].sq);
	if (!recv)
		((struct dat_sqe *)entry)->opcode = op;
	entry[word] |= bits;
	t_push(recv ? &p.ep[0].rq : &p.ep[1].sq);
	if (t_end(&p.evd[!recv], count) == DAT_EV_BROKEN)
		bad = recv ? p.ep[0].st->rq.bad : p.ep[1].st->sq.bad;
out:
	t_pair_close(&p);
	return bad;
}

static int bad_with_bit(int recv, unsigned int bit)
{
	return bad_entry(recv, DAT_OP_SEND, bit / 32, 1U << (bit % 32));
}

FIXTURE(reserved) {
	struct t_file f;
};

FIXTURE_SETUP(reserved)
{
	ASSERT_EQ(0, t_open(&self->f));
}

FIXTURE_TEARDOWN(reserved)
{
	t_close(&self->f);
}

TEST_F(reserved, the_operations_of_this_version_are_announced)
{
	EXPECT_EQ(1 << DAT_OP_SEND | 1 << DAT_OP_RDMA_WRITE | 1 << DAT_OP_RDMA_READ |
		  1 << DAT_OP_RMR_BIND, (int)self->f.info.ops);
	EXPECT_EQ(DAT_SQE_SUPPRESS | DAT_SQE_SOLICITED | DAT_SQE_UNSIGNALLED | DAT_SQE_FENCE |
		  (self->f.info.flags & DAT_IA_FLAG_IWARP ? 0 : DAT_SQE_IMM),
		  (int)self->f.info.sqe_flags);
	EXPECT_GE(DAT_MAX_INLINE, self->f.info.max_inline);
}

/* A process may leave any value in the reserved bytes beside the indices. */
TEST_F_TIMEOUT(reserved, what_a_process_shares_beside_its_indices_is_ignored, 60)
{
	struct dat_evd_head *head;
	struct dat_submit *submit;
	struct dat_eqe eqe;
	struct t_pair p;
	int i;

	ASSERT_EQ(0, t_pair_open(&p));
	for (i = 0; i < 2; i++) {
		submit = p.ep[i].submit.va;
		memset(submit->rsvd0, 0xff, sizeof(submit->rsvd0));
		memset(submit->rsvd1, 0xff, sizeof(submit->rsvd1));
		head = p.evd[i].submit.va;
		memset(head->rsvd, 0xff, sizeof(head->rsvd));
	}
	ASSERT_EQ(0, t_pair_connect(&p));
	ASSERT_EQ(0, t_recv(&p.ep[0].rq, 1, (uintptr_t)p.mem.va, p.mem.lkey, 64));
	ASSERT_EQ(0, t_send(&p.ep[1], 2, (uintptr_t)p.mem.va + 64, p.mem.lkey, 64));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(1, t_event(&p.evd[i], T_WAIT_MS, &eqe));
		EXPECT_EQ(DAT_ST_SUCCESS, eqe.status);
	}
	t_pair_close(&p);
}

TEST_F_TIMEOUT(reserved, each_opcode_that_is_not_announced_is_malformed, 300)
{
	unsigned int op;

	for (op = 0; op < 64; op++) {
		if (!(self->f.info.ops >> op & 1)) {
			EXPECT_EQ(1, bad_entry(0, op, 0, 0)) TH_LOG("opcode %u", op);
		}
	}
	/* Opcodes beyond the bits of @ops whose low six bits are an announced opcode. */
	for (op = 64; op < 256; op++) {
		if (self->f.info.ops >> (op % 64) & 1) {
			EXPECT_EQ(1, bad_entry(0, op, 0, 0)) TH_LOG("opcode %u", op);
		}
	}
}

/*
 * Bits 16 to 31 of an SQE are flags; bits 192 to 255 are reserved.  The EP has not asked for
 * immediate data.
 */
TEST_F_TIMEOUT(reserved, each_bit_of_an_sqe_that_is_not_announced_is_malformed, 300)
{
	uint64_t known = self->f.info.sqe_flags & ~(uint64_t)DAT_SQE_IMM;
	unsigned int bit;

	for (bit = 16; bit < 32; bit++) {
		if (!(known >> (bit - 16) & 1)) {
			EXPECT_EQ(1, bad_with_bit(0, bit)) TH_LOG("bit %u", bit);
		}
	}
	for (bit = 192; bit < 256; bit++) {
		EXPECT_EQ(1, bad_with_bit(0, bit)) TH_LOG("bit %u", bit);
	}
}

/* Bits 64 to 71 and 96 to 127 of an RQE are reserved; bits 80 to 95 are flags. */
TEST_F_TIMEOUT(reserved, each_bit_of_an_rqe_is_malformed, 300)
{
	unsigned int bit;

	for (bit = 64; bit < 72; bit++) {
		EXPECT_EQ(1, bad_with_bit(1, bit)) TH_LOG("bit %u", bit);
	}
	for (bit = 80; bit < 128; bit++)
		if (bit != 82)	/* DAT_SQE_UNSIGNALLED */
			EXPECT_EQ(1, bad_with_bit(1, bit)) TH_LOG("bit %u", bit);
}

TEST_F_TIMEOUT(garbage, a_bad_receive, 60)
{
	t_rqe(&self->p.ep[0].rq)->flags = 0xff;
	t_push(&self->p.ep[0].rq);
	EXPECT_BROKEN(0);
	EXPECT_EQ(1, self->count[DAT_ST_LOCAL_EP]);
}

TEST_F_TIMEOUT(garbage, a_receive_with_more_segments_than_fit, 60)
{
	t_rqe(&self->p.ep[0].rq)->num_sge = 255;
	t_push(&self->p.ep[0].rq);
	EXPECT_BROKEN(0);
	EXPECT_EQ(1, self->p.ep[0].st->rq.bad);
}

/*
 * The four entries before the invalid entry succeed.  The entries after the invalid entry are
 * flushed in order.
 */
TEST_F_TIMEOUT(garbage, a_bad_sqe_among_good_ones, 60)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, t_recv(&p->ep[0].rq, i, (uintptr_t)p->mem.va, p->mem.lkey, 64));
	for (i = 0; i < 8; i++) {
		struct dat_sqe *sqe = t_sqe(&p->ep[1].sq);

		sqe->opcode = i == 4 ? 77 : DAT_OP_SEND;
		sqe->cookie = i;
		p->ep[1].sq.tail++;
	}
	p->ep[1].sq.tail--;
	t_ring(&p->f, p->ep[1].sq.bell);
	t_push(&p->ep[1].sq);
	t_kick(&p->f);
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
		EXPECT_EQ(i, eqe.cookie);
		EXPECT_EQ(i < 4 ? DAT_ST_SUCCESS : i == 4 ? DAT_ST_LOCAL_EP : DAT_ST_FLUSHED,
			  eqe.status);
	}
	EXPECT_BROKEN(1);
}

TEST_F_TIMEOUT(garbage, a_wild_sq_tail, 60)
{
	self->p.ep[1].sq.tail += 0x10000;
	t_push(&self->p.ep[1].sq);
	t_kick(&self->p.f);
	EXPECT_BROKEN(1);
}

TEST_F_TIMEOUT(garbage, a_wild_rq_tail, 60)
{
	self->p.ep[0].rq.tail += 0x80000000U;
	t_push(&self->p.ep[0].rq);
	t_kick(&self->p.f);
	EXPECT_BROKEN(0);
}

TEST_F_TIMEOUT(garbage, a_tail_that_goes_back, 60)
{
	self->p.ep[1].sq.tail -= 5;
	t_push(&self->p.ep[1].sq);
	t_kick(&self->p.f);
	EXPECT_BROKEN(1);
}

TEST_F_TIMEOUT(garbage, a_wild_event_head, 60)
{
	struct dat_evd_head *head = self->p.evd[0].submit.va;
	struct dat_evd_status *status = self->p.evd[0].status.va;
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;

	head->head += 0x1000;
	ASSERT_EQ(0, t_recv(&p->ep[0].rq, 1, (uintptr_t)p->mem.va, p->mem.lkey, 64));
	ASSERT_EQ(0, t_send(&p->ep[1], 1, (uintptr_t)p->mem.va, p->mem.lkey, 64));
	/* The kernel ignores a head that is out of range, and queues the event. */
	ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
	while (__atomic_load_n(&status->tail, __ATOMIC_ACQUIRE) == p->evd[0].head)
		usleep(1000);
	EXPECT_EQ(p->evd[0].head + 1, status->tail);
}

TEST_F_TIMEOUT(garbage, every_doorbell_bit, 60)
{
	memset(self->p.f.db.va, 0xff, self->p.f.db.size);
	EXPECT_EQ(0, t_kick(&self->p.f));
	memset(self->p.f.db.va, 0xff, self->p.f.db.size);
	EXPECT_EQ(0, t_kick(&self->p.f));
}

TEST_F_TIMEOUT(garbage, bad_srq_entries_are_counted_and_dropped, 60)
{
	struct dat_status *status;
	struct t_evd async;
	struct dat_eqe eqe;
	struct t_srq srq;
	int i;

	ASSERT_EQ(0, t_evd(&self->p.f, DAT_STREAM_ASYNC, 64, &async));
	ASSERT_EQ(0, t_srq(&self->p.f, self->p.pz, 8, &srq));
	status = srq.status.va;
	for (i = 0; i < 20; i++) {
		t_rqe(&srq.rq)->num_sge = 200;
		t_push(&srq.rq);
		t_kick(&self->p.f);
	}
	EXPECT_EQ(20, status->rq.bad);
	EXPECT_EQ(srq.rq.tail, status->rq.done);
	ASSERT_EQ(1, t_event(&async, T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_ASYNC_INTERNAL, eqe.type);
	EXPECT_EQ(DAT_OBJ_SRQ, eqe.cookie);
	/* A tail that is out of range breaks the SRQ. */
	srq.rq.tail += 1000;
	t_push(&srq.rq);
	t_kick(&self->p.f);
	EXPECT_EQ(1, status->state);
}

static unsigned int seed;
static volatile int stop;

/* Memory of one object in the submit mapping.  The rest of the mapping belongs to other objects. */
struct area {
	void	*va;
	size_t	size;
};

static struct area ep_area(const struct t_ep *ep)
{
	return (struct area) {
		.va = ep->submit.va,
		.size = (size_t)(ep->rq.ring - (char *)ep->submit.va) +
			((size_t)ep->rq.entries << ep->rq.shift),
	};
}

static void *scribble(void *arg)
{
	struct area *a = arg;
	unsigned int s = seed;

	while (!stop) {
		uint32_t *w = (uint32_t *)a->va + rand_r(&s) % (a->size / 4);

		__atomic_store_n(w, rand_r(&s) << 16 ^ rand_r(&s), __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Threads overwrite entries and tails while the kernel reads them. */
TEST_F_TIMEOUT(garbage, scribbling_while_kicking, 240)
{
	struct t_pair *p = &self->p;
	struct area areas[3];
	pthread_t thread[3];
	int round, i;

	seed = (unsigned int)time(NULL);
	TH_LOG("seed %u", seed);
	for (round = 0; round < 20; round++) {
		areas[0] = ep_area(&p->ep[0]);
		areas[1] = ep_area(&p->ep[1]);
		areas[2] = (struct area) { p->evd[1].submit.va, sizeof(struct dat_evd_head) };
		stop = 0;
		for (i = 0; i < 3; i++)
			ASSERT_EQ(0, pthread_create(&thread[i], NULL, scribble, &areas[i]));
		for (i = 0; i < 500; i++) {
			t_ring_all(&p->f, 4);
			t_kick(&p->f);
		}
		stop = 1;
		for (i = 0; i < 3; i++)
			pthread_join(thread[i], NULL);
		/* Replace the EPs and their EVDs, because a broken queue cannot be repaired. */
		for (i = 0; i < 2; i++) {
			ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, p->ep[i].id));
			t_unmap(&p->ep[i].submit);
			t_unmap(&p->ep[i].status);
			ASSERT_EQ(0, t_evd(&p->f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, 256,
					   &p->evd[i]));
			ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[i], 0, 1, &p->ep[i]));
		}
		ASSERT_EQ(0, t_pair_connect(p));
		seed++;
	}
}

TEST_HARNESS_MAIN
