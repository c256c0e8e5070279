// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The ways to register memory of a process.  A driver needs one of them; the parameter
 * "registration" makes every adapter that is added later use it.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "adapter.h"
#include "dat_test.h"
#include "proc.h"
#include "rdma_count.h"

#define PARAM	"/sys/module/dat/parameters/registration"
#define MIB	(1UL << 20)
#define LONG	(5 * MIB)	/* longer than two registrations by work request */
#define LOCAL	(DAT_PRIV_LOCAL_READ | DAT_PRIV_LOCAL_WRITE)

FIXTURE(registration) {
	struct t_pair p;
	struct t_lmr mem[2];
};

FIXTURE_VARIANT(registration) {
	const char *way;
};

FIXTURE_VARIANT_ADD(registration, directly) {
	.way = "0",
};

FIXTURE_VARIANT_ADD(registration, with_udata) {
	.way = "1",
};

FIXTURE_VARIANT_ADD(registration, by_request) {
	.way = "2",
};

static int by_request(const char *way)
{
	return way[0] == '2';
}

static int param_read(char *text, size_t size)
{
	FILE *f = fopen(PARAM, "r");
	int ok = f && fgets(text, size, f);

	if (f)
		fclose(f);
	return ok ? 0 : -1;
}

/* Add the adapter anew, so that it registers memory in another way, unless it does so already. */
static int replug(const char *way)
{
	const char *type = adapter_type();
	char now[8];

	if (param_read(now, sizeof(now)) || atoi(now) == atoi(way))
		return 0;
	return write_text(PARAM, way) || adapter_plug(type, 0) || adapter_plug(type, 1);
}

FIXTURE_SETUP(registration)
{
	if (!adapter_type())
		SKIP(return, "no adapter here that could be taken away");
	ASSERT_EQ(0, replug(variant->way));
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, t_pair_connect(&self->p));
}

FIXTURE_TEARDOWN(registration)
{
	t_pair_close(&self->p);
}

/* Register @size bytes of small pages, which are hardly contiguous. */
static int pages(struct t_pair *p, size_t size, uint32_t priv, struct t_lmr *lmr)
{
	struct dat_lmr_create arg = {
		.size = sizeof(arg), .pz = p->pz, .length = size, .priv = priv,
	};
	int ret;

	lmr->size = size;
	lmr->va = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (lmr->va == MAP_FAILED)
		return -ENOMEM;
	madvise(lmr->va, size, MADV_NOHUGEPAGE);
	arg.addr = (uintptr_t)lmr->va;
	ret = t_ioctl(p->f.fd, DAT_IOC_LMR_CREATE, &arg);
	lmr->id = arg.id;
	lmr->lkey = arg.lmr_context;
	lmr->rkey = arg.rmr_context;
	return ret;
}

static void scribble(char *va, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		va[i] = (char)((seed + i * 2654435761U) >> 16);
}

/* Send @len bytes at @at of mem[0] to the same place of mem[1].  Returns 0 or an error. */
static int passes(struct __test_metadata *_metadata, FIXTURE_DATA(registration) *self, size_t at,
		  size_t len)
{
	struct t_pair *p = &self->p;
	char *from = self->mem[0].va + at, *to = self->mem[1].va + at;
	struct dat_eqe eqe;
	int i;

	scribble(from, len, (unsigned int)at);
	memset(to, 0, len);
	if (t_recv(&p->ep[0].rq, 1, (uintptr_t)to, self->mem[1].lkey, (uint32_t)len) ||
	    t_send(&p->ep[1], 2, (uintptr_t)from, self->mem[0].lkey, (uint32_t)len))
		return -EIO;
	for (i = 0; i < 2; i++) {
		if (!t_event(&p->evd[i], T_WAIT_MS, &eqe))
			return -ETIMEDOUT;
		if (eqe.type != DAT_EV_DTO || eqe.status)
			return -EIO;
	}
	return memcmp(from, to, len) ? -EILSEQ : 0;
}

TEST_F_TIMEOUT(registration, a_message_passes, 120)
{
	ASSERT_EQ(0, pages(&self->p, MIB, LOCAL, &self->mem[0]));
	ASSERT_EQ(0, pages(&self->p, MIB, LOCAL, &self->mem[1]));
	EXPECT_EQ(0, passes(_metadata, self, 0, MIB));
	EXPECT_EQ(0, passes(_metadata, self, 4095, 2));
	EXPECT_EQ(0, passes(_metadata, self, MIB - 1, 1));
}

TEST_F_TIMEOUT(registration, a_peer_writes_and_reads, 120)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;

	ASSERT_EQ(0, pages(p, MIB, LOCAL, &self->mem[0]));
	ASSERT_EQ(0, pages(p, MIB, T_PRIV_ALL, &self->mem[1]));
	scribble(self->mem[0].va, MIB, 1);
	ASSERT_EQ(0, t_rdma(&p->ep[1], DAT_OP_RDMA_WRITE, 1, (uintptr_t)self->mem[0].va,
			    self->mem[0].lkey, MIB, (uintptr_t)self->mem[1].va, self->mem[1].rkey));
	ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_ST_SUCCESS, eqe.status);
	EXPECT_EQ(0, memcmp(self->mem[0].va, self->mem[1].va, MIB));
	scribble(self->mem[1].va, MIB, 2);
	ASSERT_EQ(0, t_rdma(&p->ep[1], DAT_OP_RDMA_READ, 1, (uintptr_t)self->mem[0].va,
			    self->mem[0].lkey, MIB, (uintptr_t)self->mem[1].va, self->mem[1].rkey));
	ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_ST_SUCCESS, eqe.status);
	EXPECT_EQ(0, memcmp(self->mem[0].va, self->mem[1].va, MIB));
	/* The byte after the end. */
	ASSERT_EQ(0, t_rdma(&p->ep[1], DAT_OP_RDMA_WRITE, 2, (uintptr_t)self->mem[0].va,
			    self->mem[0].lkey, 2, (uintptr_t)self->mem[1].va + MIB - 1,
			    self->mem[1].rkey));
	ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
	EXPECT_NE(DAT_ST_SUCCESS, eqe.status);
}

TEST_F_TIMEOUT(registration, long_memory_of_this_end_is_usable_everywhere, 120)
{
	size_t at;

	ASSERT_EQ(0, pages(&self->p, LONG, LOCAL, &self->mem[0]));
	ASSERT_EQ(0, pages(&self->p, LONG, LOCAL, &self->mem[1]));
	/* By work request, some of these messages cross the end of a chunk. */
	for (at = 0; at + MIB <= LONG; at += MIB / 2 + 4096) {
		EXPECT_EQ(0, passes(_metadata, self, at, MIB)) TH_LOG("at %zu", at);
	}
	EXPECT_EQ(0, passes(_metadata, self, LONG - 1, 1));
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_LMR, self->mem[0].id));
	EXPECT_EQ(-EIO, passes(_metadata, self, 0, 1));
}

/* The memory of the page may belong to somebody else by then. */
TEST_F_TIMEOUT(registration, a_receive_does_not_write_to_an_lmr_that_was_freed, 120)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;

	ASSERT_EQ(0, pages(p, 4096, LOCAL, &self->mem[0]));
	ASSERT_EQ(0, pages(p, 4096, LOCAL, &self->mem[1]));
	ASSERT_EQ(0, t_recv(&p->ep[0].rq, 1, (uintptr_t)self->mem[1].va, self->mem[1].lkey, 64));
	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_LMR, self->mem[1].id));
	memset(self->mem[0].va, 1, 64);
	memset(self->mem[1].va, 0, 64);
	ASSERT_EQ(0, t_send(&p->ep[1], 2, (uintptr_t)self->mem[0].va, self->mem[0].lkey, 64));
	ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
	EXPECT_NE(DAT_ST_SUCCESS, eqe.status);
	EXPECT_EQ(0, self->mem[1].va[0]);
}

TEST_F_TIMEOUT(registration, long_memory_for_peers_needs_one_registration, 120)
{
	struct dat_ia_query *info = &self->p.f.info;

	EXPECT_EQ(by_request(variant->way), info->max_lmr_size <= 2 * MIB);
	EXPECT_EQ(by_request(variant->way) ? -ENOMEM : 0,
		  pages(&self->p, LONG, T_PRIV_ALL, &self->mem[0]));
	EXPECT_EQ(0, pages(&self->p, 2 * MIB, T_PRIV_ALL, &self->mem[1]));
}

TEST_F_TIMEOUT(registration, pages_are_charged_and_given_back, 120)
{
	long before = vm_pin_kb();

	ASSERT_EQ(0, pages(&self->p, LONG, LOCAL, &self->mem[0]));
	EXPECT_EQ(before + (long)(LONG / 1024), vm_pin_kb());
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_LMR, self->mem[0].id));
	EXPECT_EQ(before, vm_pin_kb());
}

/*
 * The zone connects the adapter to itself for the first registration by work request, and keeps the
 * two queue pairs for the next ones.
 */
TEST_F_TIMEOUT(registration, those_of_a_zone_share_a_connection, 120)
{
	struct t_file *f = &self->p.f;
	int i, qps;
	uint32_t pz;

	ASSERT_EQ(0, t_pz(f, &pz));
	qps = rdma_count_settled("qp");
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, t_lmr(f, pz, 8192, T_PRIV_ALL, &self->mem[i]));
		EXPECT_EQ(qps + (by_request(variant->way) ? 2 : 0), rdma_count("qp"));
	}
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, t_free(f, DAT_OBJ_LMR, self->mem[i].id));
	ASSERT_EQ(0, t_free(f, DAT_OBJ_PZ, pz));
	EXPECT_EQ(qps, rdma_count_falls("qp", qps));
}

/* Each test is a process.  The adapter stays as it is between tests, and is restored at the end. */
static char loaded_with[8];

static void restore(void)
{
	if (replug(loaded_with))
		_exit(1);
}

int main(int argc, char **argv)
{
	if (param_read(loaded_with, sizeof(loaded_with))) {
		fprintf(stderr, "# " PARAM " cannot be read\n");
		return 1;
	}
	/* test_harness_run() does not return. */
	atexit(restore);
	return test_harness_run(argc, argv);
}
