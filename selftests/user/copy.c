// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Where the bytes of messages go: all lengths and offsets, segments, long messages, and memory that
 * is freed meanwhile.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "clock.h"
#include "dat_test.h"

#define LEN	300		/* a little more than what the transport lo stores in order */
#define GUARD	16
#define LONG	(5 << 20)	/* many slices */
#define RACE_MS	2000

FIXTURE(copy) {
	struct t_pair p;
	struct t_lmr from, to;
};

FIXTURE_SETUP(copy)
{
	struct t_pair *p = &self->p;
	size_t i;

	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, t_pair_connect(p));
	ASSERT_EQ(0, t_lmr(&p->f, p->pz, LONG, T_PRIV_ALL, &self->from));
	ASSERT_EQ(0, t_lmr(&p->f, p->pz, LONG, T_PRIV_ALL, &self->to));
	for (i = 0; i < LONG; i++)
		self->from.va[i] = i * 31 + i / 251;
}

FIXTURE_TEARDOWN(copy)
{
	t_pair_close(&self->p);
}

/* Carry out an RDMA operation of ep[1] between offsets of @from and @to.  Returns its status. */
static int rdma(FIXTURE_DATA(copy) *self, int op, size_t from, size_t to, uint32_t len)
{
	struct t_pair *p = &self->p;
	const struct t_lmr *local = op == DAT_OP_RDMA_WRITE ? &self->from : &self->to;
	const struct t_lmr *remote = op == DAT_OP_RDMA_WRITE ? &self->to : &self->from;
	size_t here = op == DAT_OP_RDMA_WRITE ? from : to, there = from + to - here;
	int ret = t_rdma(&p->ep[1], op, 1, (uintptr_t)local->va + here, local->lkey, len,
			 (uintptr_t)remote->va + there, remote->rkey);

	return ret ? ret : t_status(&p->evd[1]);
}

/* Returns 0 if @to holds @len bytes of @from and guards of 0xee at both sides of them. */
static int differs(FIXTURE_DATA(copy) *self, size_t from, size_t to, uint32_t len)
{
	const char *at = self->to.va + to;
	char guard[GUARD];

	memset(guard, 0xee, GUARD);
	return memcmp(at - GUARD, guard, GUARD) || memcmp(at, self->from.va + from, len) ||
	       memcmp(at + len, guard, GUARD);
}

TEST_F_TIMEOUT(copy, all_lengths_and_offsets, 120)
{
	static const size_t froms[] = { 0, 1, 6 };
	size_t to, i;
	uint32_t len;
	int op;

	for (len = 1; len < LEN; len += len < 160 ? 1 : 13) {
		for (to = GUARD; to < GUARD + 9; to++) {
			i = (len + to) % 3;
			op = len & 1 ? DAT_OP_RDMA_READ : DAT_OP_RDMA_WRITE;
			memset(self->to.va, 0xee, 2 * GUARD + LEN);
			ASSERT_EQ(DAT_ST_SUCCESS, rdma(self, op, froms[i], to, len));
			ASSERT_EQ(0, differs(self, froms[i], to, len))
				TH_LOG("%u bytes from %zu to %zu", len, froms[i], to);
		}
	}
}

TEST_F_TIMEOUT(copy, long_messages_at_odd_offsets, 120)
{
	static const struct {
		size_t from, to;
		uint32_t len;
	} parts[] = {
		{ 0, 4096, 65536 }, { 0, 4096, 65537 }, { 5, 4099, 131071 },
		{ 4091, 8191, 3 << 20 }, { 1, GUARD + 7, LONG - 100 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		memset(self->to.va, 0xee, LONG);
		ASSERT_EQ(DAT_ST_SUCCESS, rdma(self, i & 1 ? DAT_OP_RDMA_READ : DAT_OP_RDMA_WRITE,
					       parts[i].from, parts[i].to, parts[i].len));
		ASSERT_EQ(0, differs(self, parts[i].from, parts[i].to, parts[i].len))
			TH_LOG("part %u", i);
	}
}

/* Fill in @n segments of @lmr, @len bytes in all, with gaps of 3 bytes between them. */
static void scatter(struct dat_sge *sge, int n, const struct t_lmr *lmr, uint32_t len)
{
	uint64_t at = (uintptr_t)lmr->va;
	uint32_t part;
	int i;

	for (i = 0; i < n; i++) {
		part = i == n - 1 ? len : len / (n - i) - i * 7 % 5;
		sge[i] = (struct dat_sge) { at, lmr->lkey, part };
		at += part + 3;
		len -= part;
	}
}

/* Returns the byte at offset @i of the segments. */
static char byte_at(const struct dat_sge *sge, uint32_t i)
{
	while (i >= sge->len)
		i -= (sge++)->len;
	return ((const char *)(uintptr_t)sge->addr)[i];
}

static int send_scattered(FIXTURE_DATA(copy) *self, struct dat_sge *from, int nfrom,
			  struct dat_sge *to, int nto)
{
	struct t_pair *p = &self->p;
	struct dat_rqe *rqe = t_rqe(&p->ep[0].rq);
	struct dat_sqe *sqe;
	int ret;

	rqe->num_sge = nto;
	memcpy(rqe + 1, to, nto * sizeof(*to));
	ret = t_push(&p->ep[0].rq);
	if (ret)
		return ret;
	sqe = t_sqe(&p->ep[1].sq);
	sqe->opcode = DAT_OP_SEND;
	sqe->num_sge = nfrom;
	memcpy(sqe + 1, from, nfrom * sizeof(*from));
	ret = t_push(&p->ep[1].sq);
	ret = ret ? ret : t_status(&p->evd[1]);
	return ret ? ret : t_status(&p->evd[0]);
}

TEST_F_TIMEOUT(copy, segments_of_all_kinds, 120)
{
	static const uint32_t lens[] = { 40, 200, 5000, 70001, 300007 };
	struct dat_sge from[4], to[4];
	unsigned int l, n;
	uint32_t i;

	for (l = 0; l < sizeof(lens) / sizeof(lens[0]); l++) {
		for (n = 0; n < 16; n++) {
			scatter(from, 1 + n % 4, &self->from, lens[l]);
			scatter(to, 1 + n / 4, &self->to, lens[l]);
			memset(self->to.va, 0xee, lens[l] + 16);
			ASSERT_EQ(DAT_ST_SUCCESS,
				  send_scattered(self, from, 1 + n % 4, to, 1 + n / 4));
			for (i = 0; i < lens[l]; i++)
				if (byte_at(from, i) != byte_at(to, i))
					break;
			ASSERT_EQ(lens[l], i) TH_LOG("%u to %u segments", 1 + n % 4, 1 + n / 4);
		}
	}
}

/* A message whose later segment gives no access leaves the memory of the earlier ones alone. */
TEST_F_TIMEOUT(copy, all_segments_are_checked_before_the_first_byte, 60)
{
	struct t_pair *p = &self->p;
	struct dat_sge from = { (uintptr_t)self->from.va, self->from.lkey, 4096 };
	struct dat_sge to[2] = {
		{ (uintptr_t)self->to.va, self->to.lkey, 2048 },
	};
	struct t_lmr gone;
	struct dat_eqe eqe;
	struct dat_rqe *rqe;

	if (!(p->f.info.flags & DAT_IA_FLAG_LOCAL))
		SKIP(return, "a device may write the first segment");
	ASSERT_EQ(0, t_lmr(&p->f, p->pz, 4096, T_PRIV_ALL, &gone));
	to[1] = (struct dat_sge) { (uintptr_t)gone.va, gone.lkey, 2048 };
	rqe = t_rqe(&p->ep[0].rq);
	rqe->num_sge = 2;
	memcpy(rqe + 1, to, sizeof(to));
	ASSERT_EQ(0, t_push(&p->ep[0].rq));
	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_LMR, gone.id));
	memset(self->to.va, 0xee, 2048);
	ASSERT_EQ(0, t_send(&p->ep[1], 1, from.addr, from.lmr, from.len));
	EXPECT_EQ(DAT_ST_REMOTE_RESPONDER, t_status(&p->evd[1]));
	EXPECT_EQ(DAT_ST_LOCAL_PROTECTION, t_status(&p->evd[0]));
	EXPECT_EQ((char)0xee, self->to.va[0]);
	EXPECT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_BROKEN, eqe.type);
	EXPECT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_BROKEN, eqe.type);
}

/* Post long writes to @to, until one of them fails. */
static void *write_on(void *arg)
{
	FIXTURE_DATA(copy) *self = arg;

	while (rdma(self, DAT_OP_RDMA_WRITE, 0, 0, LONG) == DAT_ST_SUCCESS)
		;
	return NULL;
}

/* Once a free has returned, no write that the peer has posted changes the memory. */
TEST_F_TIMEOUT(copy, a_freed_key_is_dead_at_once, 120)
{
	struct t_pair *p = &self->p;
	uint64_t end = now_ms() + RACE_MS;
	pthread_t thread;
	unsigned int i, n;

	if (!(p->f.info.flags & DAT_IA_FLAG_LOCAL))
		SKIP(return, "a driver may refuse to free memory that is in use");
	for (n = 0; now_ms() < end || n < 3; n++) {
		ASSERT_EQ(0, pthread_create(&thread, NULL, write_on, self));
		usleep(1000 + n * 700 % 5000);
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_LMR, self->to.id));
		memset(self->to.va, 0xee, LONG);
		pthread_join(thread, NULL);
		for (i = 0; i < LONG; i += 64)
			if (self->to.va[i] != (char)0xee)
				break;
		ASSERT_LE(LONG, i);
		munmap(self->to.va, self->to.size);
		ASSERT_EQ(0, t_lmr(&p->f, p->pz, LONG, T_PRIV_ALL, &self->to));
		ASSERT_EQ(0, t_reconnect_eps(p, p->ep, p->evd));
	}
}

TEST_HARNESS_MAIN
