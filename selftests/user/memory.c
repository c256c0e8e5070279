// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Registered memory is the security boundary.  These tests check which segments a request may name,
 * and which the driver or the device must refuse.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "proc.h"

FIXTURE(memory) {
	struct t_pair p;
	struct t_lmr other;	/* LMR in another protection zone */
	struct t_lmr no_write;
	struct t_lmr no_remote;
};

FIXTURE_SETUP(memory)
{
	struct t_pair *p = &self->p;
	uint32_t pz;

	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, t_pair_connect(p));
	ASSERT_EQ(0, t_pz(&p->f, &pz));
	ASSERT_EQ(0, t_lmr(&p->f, pz, 4096, T_PRIV_ALL, &self->other));
	ASSERT_EQ(0, t_lmr(&p->f, p->pz, 4096, DAT_PRIV_LOCAL_READ, &self->no_write));
	ASSERT_EQ(0, t_lmr(&p->f, p->pz, 4096, DAT_PRIV_LOCAL_READ | DAT_PRIV_LOCAL_WRITE,
			   &self->no_remote));
}

FIXTURE_TEARDOWN(memory)
{
	t_pair_close(&self->p);
}

/*
 * Expect that a send of the segment [@addr, @addr + @len) fails with @status and breaks the
 * connection.
 */
static void expect_send_fails(struct __test_metadata *_metadata, struct t_pair *p,
			      uint64_t addr, uint32_t lkey, uint32_t len, int status)
{
	unsigned int count[16];

	ASSERT_EQ(0, t_send(&p->ep[1], 1, addr, lkey, len));
	EXPECT_EQ(DAT_EV_BROKEN, t_end(&p->evd[1], count));
	EXPECT_EQ(1, count[status]);
	EXPECT_EQ(DAT_EV_DISCONNECTED, t_end(&p->evd[0], count));
	EXPECT_EQ(1, p->ep[1].st->sq.bad);
}

static void expect_recv_fails(struct __test_metadata *_metadata, struct t_pair *p,
			      uint64_t addr, uint32_t lkey, uint32_t len)
{
	unsigned int count[16];

	ASSERT_EQ(0, t_recv(&p->ep[0].rq, 1, addr, lkey, len));
	EXPECT_EQ(DAT_EV_BROKEN, t_end(&p->evd[0], count));
	EXPECT_EQ(1, count[DAT_ST_LOCAL_PROTECTION]);
}

#define VA(lmr) ((uintptr_t)(lmr).va)

TEST_F_TIMEOUT(memory, send_from_no_lmr, 60)
{
	expect_send_fails(_metadata, &self->p, VA(self->p.mem), 0xdeadbeef, 64,
			  DAT_ST_LOCAL_PROTECTION);
}

TEST_F_TIMEOUT(memory, send_with_context_0, 60)
{
	expect_send_fails(_metadata, &self->p, VA(self->p.mem), 0, 64, DAT_ST_LOCAL_PROTECTION);
}

/* The file has no LMR at first, so it has no table of LMRs, and then a table with one LMR. */
TEST_F_TIMEOUT(memory, a_context_beyond_the_table_is_refused, 60)
{
	static const uint32_t beyond[] = { 1, 0xfffff };
	struct t_pair *p = &self->p;
	unsigned int count[16];
	struct dat_eqe eqe;
	struct t_evd evd;
	struct t_lmr lmr;
	struct t_file f;
	struct t_ep ep;
	uint32_t pz;
	int i;

	ASSERT_EQ(0, t_open(&f));
	ASSERT_EQ(0, t_pz(&f, &pz));
	ASSERT_EQ(0, t_evd(&f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, 64, &evd));
	ASSERT_EQ(0, t_ep(&f, pz, &evd, 0, 1, &ep));
	for (i = 0; i < 2; i++) {
		t_disconnect(&p->f, &p->ep[0], 0);
		EXPECT_EQ(DAT_EV_DISCONNECTED, t_end(&p->evd[0], count));
		ASSERT_EQ(0, t_reset(&p->f, &p->ep[0]));
		ASSERT_EQ(0, t_connect(&f, &ep, T_QUAL, NULL, 0));
		ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
		ASSERT_EQ(0, t_accept(&p->f, (uint32_t)eqe.len, &p->ep[0], NULL, 0));
		ASSERT_EQ(1, t_event(&evd, T_WAIT_MS, &eqe));
		ASSERT_EQ(DAT_EV_ESTABLISHED, eqe.type);
		ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
		ASSERT_EQ(0, t_send(&ep, 1, (uintptr_t)p->mem.va, beyond[i], 8));
		EXPECT_EQ(DAT_EV_BROKEN, t_end(&evd, count));
		EXPECT_EQ(1, count[DAT_ST_LOCAL_PROTECTION]);
		ASSERT_EQ(0, t_reset(&f, &ep));
		ASSERT_EQ(0, t_lmr(&f, pz, 4096, T_PRIV_ALL, &lmr));
	}
	t_close(&f);
}

TEST_F_TIMEOUT(memory, send_from_another_zone, 60)
{
	expect_send_fails(_metadata, &self->p, VA(self->other), self->other.lkey, 64,
			  DAT_ST_LOCAL_PROTECTION);
}

TEST_F_TIMEOUT(memory, send_one_byte_too_far, 60)
{
	struct t_lmr *m = &self->p.mem;

	expect_send_fails(_metadata, &self->p, VA(*m) + m->size - 63, m->lkey, 64,
			  DAT_ST_LOCAL_PROTECTION);
}

TEST_F_TIMEOUT(memory, send_one_byte_too_early, 60)
{
	struct t_lmr *m = &self->p.mem;

	expect_send_fails(_metadata, &self->p, VA(*m) - 1, m->lkey, 64, DAT_ST_LOCAL_PROTECTION);
}

TEST_F_TIMEOUT(memory, send_around_the_end_of_the_address_space, 60)
{
	expect_send_fails(_metadata, &self->p, ~0ULL - 10, self->p.mem.lkey, 4096,
			  DAT_ST_LOCAL_PROTECTION);
}

TEST_F_TIMEOUT(memory, send_from_kernel_addresses, 60)
{
	expect_send_fails(_metadata, &self->p, 0xffff888000000000ULL, self->p.mem.lkey, 4096,
			  DAT_ST_LOCAL_PROTECTION);
}

/* Covers: SH 38, 40 */
TEST_F_TIMEOUT(memory, stale_lmr, 60)
{
	struct t_lmr again;

	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_LMR, self->no_remote.id));
	/* The new LMR reuses the index of the freed LMR, but gets a different context (lkey). */
	ASSERT_EQ(0, t_lmr(&self->p.f, self->p.pz, 4096, T_PRIV_ALL, &again));
	EXPECT_NE(again.lkey, self->no_remote.lkey);
	expect_send_fails(_metadata, &self->p, VA(again), self->no_remote.lkey, 64,
			  DAT_ST_LOCAL_PROTECTION);
}

TEST_F_TIMEOUT(memory, recv_without_write_privilege, 60)
{
	expect_recv_fails(_metadata, &self->p, VA(self->no_write), self->no_write.lkey, 64);
}

TEST_F_TIMEOUT(memory, recv_from_another_zone, 60)
{
	expect_recv_fails(_metadata, &self->p, VA(self->other), self->other.lkey, 64);
}

TEST_F_TIMEOUT(memory, read_into_memory_without_write_privilege, 60)
{
	struct t_pair *p = &self->p;
	unsigned int count[16];

	ASSERT_EQ(0, t_rdma(&p->ep[1], DAT_OP_RDMA_READ, 1, VA(self->no_write),
			    self->no_write.lkey, 64, VA(p->mem), p->mem.rkey));
	EXPECT_EQ(DAT_EV_BROKEN, t_end(&p->evd[1], count));
	EXPECT_EQ(1, count[DAT_ST_LOCAL_PROTECTION]);
}

/*
 * The sum of the segment lengths overflows 32 bits.  A 32-bit sum would make the request look
 * short.
 */
TEST_F_TIMEOUT(memory, segments_whose_lengths_sum_to_more_than_32_bits, 60)
{
	struct t_lmr *m = &self->p.mem;
	struct dat_sqe *sqe = t_sqe(&self->p.ep[1].sq);
	struct dat_sge *sge = (struct dat_sge *)(sqe + 1);
	unsigned int count[16];
	int i;

	sqe->opcode = DAT_OP_SEND;
	sqe->num_sge = 4;
	for (i = 0; i < 4; i++)
		sge[i] = (struct dat_sge) { VA(*m), m->lkey, i ? 0x55555556U : 64 };
	ASSERT_EQ(0, t_push(&self->p.ep[1].sq));
	EXPECT_EQ(DAT_EV_BROKEN, t_end(&self->p.evd[1], count));
	EXPECT_EQ(1, count[DAT_ST_LOCAL_PROTECTION]);
}

/* Only the last segment is invalid; the request must still fail. */
TEST_F_TIMEOUT(memory, every_segment_is_checked, 60)
{
	struct t_lmr *m = &self->p.mem;
	struct dat_sqe *sqe = t_sqe(&self->p.ep[1].sq);
	struct dat_sge *sge = (struct dat_sge *)(sqe + 1);
	unsigned int count[16];

	sqe->opcode = DAT_OP_SEND;
	sqe->num_sge = 4;
	sge[0] = (struct dat_sge) { VA(*m), m->lkey, 64 };
	sge[1] = (struct dat_sge) { 1, 2, 0 };
	sge[2] = (struct dat_sge) { VA(*m) + 4096, m->lkey, 64 };
	sge[3] = (struct dat_sge) { VA(self->other), self->other.lkey, 64 };
	ASSERT_EQ(0, t_push(&self->p.ep[1].sq));
	EXPECT_EQ(DAT_EV_BROKEN, t_end(&self->p.evd[1], count));
	EXPECT_EQ(1, count[DAT_ST_LOCAL_PROTECTION]);
}

TEST_F_TIMEOUT(memory, the_last_byte_is_still_inside, 60)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	struct t_lmr m;

	/*
	 * Register one page.  The 256 pages of p->mem make rxe of Linux 6.1 read one entry beyond
	 * its page table.
	 */
	ASSERT_EQ(0, t_lmr(&p->f, p->pz, 4096, T_PRIV_ALL, &m));
	ASSERT_EQ(0, t_recv(&p->ep[0].rq, 1, VA(m) + m.size - 128, m.lkey, 64));
	ASSERT_EQ(0, t_send(&p->ep[1], 2, VA(m) + m.size - 64, m.lkey, 64));
	ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_ST_SUCCESS, eqe.status);
	ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_ST_SUCCESS, eqe.status);
}

/* Covers: SH 35 */
TEST_F_TIMEOUT(memory, empty_segment_may_hold_garbage, 60)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;

	ASSERT_EQ(0, t_recv(&p->ep[0].rq, 7, 0x1234, 0xdeadbeef, 0));
	ASSERT_EQ(0, t_send(&p->ep[1], 8, ~0ULL, 0xdeadbeef, 0));
	ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_ST_SUCCESS, eqe.status);
	EXPECT_EQ(7, eqe.cookie);
	EXPECT_EQ(0, eqe.len);
	ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_ST_SUCCESS, eqe.status);
}

/* Expect that the peer refuses the remote access, which breaks the connection. */
static void expect_remote_access(struct __test_metadata *_metadata, struct t_pair *p, int op,
				 uint64_t raddr, uint32_t rkey)
{
	unsigned int count[16];

	ASSERT_EQ(0, t_rdma(&p->ep[1], op, 1, VA(p->mem), p->mem.lkey, 64, raddr, rkey));
	EXPECT_EQ(DAT_EV_BROKEN, t_end(&p->evd[1], count));
	EXPECT_EQ(1, count[DAT_ST_REMOTE_ACCESS]);
}

TEST_F_TIMEOUT(memory, write_with_wrong_rkey, 60)
{
	expect_remote_access(_metadata, &self->p, DAT_OP_RDMA_WRITE, VA(self->p.mem),
			     self->p.mem.rkey ^ 0xff00);
}

TEST_F_TIMEOUT(memory, write_with_rkey_of_another_zone, 60)
{
	expect_remote_access(_metadata, &self->p, DAT_OP_RDMA_WRITE, VA(self->other),
			     self->other.rkey);
}

TEST_F_TIMEOUT(memory, write_beyond_the_remote_memory, 60)
{
	struct t_lmr *m = &self->p.mem;

	expect_remote_access(_metadata, &self->p, DAT_OP_RDMA_WRITE, VA(*m) + m->size - 63,
			     m->rkey);
}

TEST_F_TIMEOUT(memory, an_event_names_the_operation, 60)
{
	static const int ops[] = { DAT_OP_SEND, DAT_OP_RDMA_WRITE, DAT_OP_RDMA_READ };
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	unsigned int i;

	ASSERT_EQ(0, t_recv(&p->ep[0].rq, 1, VA(p->mem), p->mem.lkey, 64));
	for (i = 0; i < 3; i++) {
		int rdma = ops[i] != DAT_OP_SEND;

		ASSERT_EQ(0, t_rdma(&p->ep[1], ops[i], i, VA(p->mem) + 4096, p->mem.lkey, 64,
				    rdma ? VA(p->mem) : 0, rdma ? p->mem.rkey : 0));
		ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
		EXPECT_EQ(ops[i], eqe.op);
		EXPECT_EQ(0, eqe.flags);
		EXPECT_EQ(64, eqe.len);
		EXPECT_EQ(0, eqe.imm);
	}
	ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_OP_INVALID, eqe.op);
	EXPECT_EQ(DAT_EQE_RECV, eqe.flags);
}

TEST_F_TIMEOUT(memory, read_with_a_stale_rkey, 60)
{
	struct t_lmr victim;

	ASSERT_EQ(0, t_lmr(&self->p.f, self->p.pz, 4096, T_PRIV_ALL, &victim));
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_LMR, victim.id));
	expect_remote_access(_metadata, &self->p, DAT_OP_RDMA_READ, VA(victim), victim.rkey);
}

/* The LMR lets the peer read, but not write. */
TEST_F_TIMEOUT(memory, write_without_remote_write_privilege, 60)
{
	struct t_lmr lmr;

	ASSERT_EQ(0, t_lmr(&self->p.f, self->p.pz, 4096, DAT_PRIV_LOCAL_READ | DAT_PRIV_REMOTE_READ,
			   &lmr));
	expect_remote_access(_metadata, &self->p, DAT_OP_RDMA_WRITE, VA(lmr), lmr.rkey);
}

/* The LMR lets the peer write, but not read. */
TEST_F_TIMEOUT(memory, read_without_remote_read_privilege, 60)
{
	struct t_lmr lmr;

	ASSERT_EQ(0, t_lmr(&self->p.f, self->p.pz, 4096,
			   DAT_PRIV_LOCAL_WRITE | DAT_PRIV_REMOTE_WRITE, &lmr));
	expect_remote_access(_metadata, &self->p, DAT_OP_RDMA_READ, VA(lmr), lmr.rkey);
}

TEST_F_TIMEOUT(memory, write_around_the_end_of_the_address_space, 60)
{
	expect_remote_access(_metadata, &self->p, DAT_OP_RDMA_WRITE, ~0ULL - 10,
			     self->p.mem.rkey);
}

/* Covers: SH 39 */
TEST_F(memory, no_remote_privilege_means_no_rkey)
{
	EXPECT_EQ(0, self->no_remote.rkey);
	EXPECT_NE(0, self->p.mem.rkey);
}

TEST_F(memory, memory_that_is_not_there_is_EFAULT)
{
	struct dat_lmr_create arg = {
		.size = sizeof(arg), .pz = self->p.pz, .length = 8192, .priv = T_PRIV_ALL,
	};
	char *hole = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(hole + 4096, 4096);
	arg.addr = (uintptr_t)hole;
	EXPECT_EQ(-EFAULT, t_ioctl(self->p.f.fd, DAT_IOC_LMR_CREATE, &arg));
	arg.addr = 0xffff888000000000ULL;
	EXPECT_EQ(-EFAULT, t_ioctl(self->p.f.fd, DAT_IOC_LMR_CREATE, &arg));
}

/* The number of pages must not wrap to 0: the key would open all addresses, also the kernel's. */
TEST_F(memory, memory_at_the_end_of_the_address_space_is_refused)
{
	static const uint64_t addrs[] = { 0, 1, 4095, 4096, 4097, 1 << 20 };
	struct dat_lmr_create arg = {
		.size = sizeof(arg), .pz = self->p.pz, .priv = T_PRIV_ALL,
	};
	unsigned int i;
	uint64_t end;

	for (i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++) {
		for (end = -1ULL; end >= -4098ULL; end--) {
			arg.addr = addrs[i];
			arg.length = end - arg.addr;
			ASSERT_NE(0, t_ioctl(self->p.f.fd, DAT_IOC_LMR_CREATE, &arg))
				TH_LOG("%#llx to %#llx", (long long)arg.addr, (long long)end);
		}
		arg.length = -1;
		ASSERT_NE(0, t_ioctl(self->p.f.fd, DAT_IOC_LMR_CREATE, &arg));
	}
}

TEST_F(memory, read_only_memory_cannot_be_registered_for_writing)
{
	struct dat_lmr_create arg = {
		.size = sizeof(arg), .pz = self->p.pz, .length = 4096, .priv = T_PRIV_ALL,
	};

	arg.addr = (uintptr_t)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT_EQ(-EFAULT, t_ioctl(self->p.f.fd, DAT_IOC_LMR_CREATE, &arg));
}

/* Covers: SH 38 */
TEST_F(memory, pages_are_pinned_until_the_lmr_or_its_file_goes)
{
	long before = vm_pin_kb();
	struct t_lmr lmr;
	struct t_file f;
	uint32_t pz;

	ASSERT_EQ(0, t_open(&f));
	ASSERT_EQ(0, t_pz(&f, &pz));
	ASSERT_EQ(0, t_lmr(&f, pz, 1 << 20, T_PRIV_ALL, &lmr));
	EXPECT_EQ(before + 1024, vm_pin_kb());
	/* Unmapping the memory does not unpin its pages, because the device still uses them. */
	ASSERT_EQ(0, munmap(lmr.va, lmr.size));
	EXPECT_EQ(before + 1024, vm_pin_kb());
	ASSERT_EQ(0, t_free(&f, DAT_OBJ_LMR, lmr.id));
	EXPECT_EQ(before, vm_pin_kb());
	ASSERT_EQ(0, t_lmr(&f, pz, 1 << 20, T_PRIV_ALL, &lmr));
	t_close(&f);
	EXPECT_EQ(before, vm_pin_kb());
}

/*
 * Without CAP_IPC_LOCK, RLIMIT_MEMLOCK limits the pinned memory.  Freeing an LMR uncharges its
 * pages.
 */
TEST_F(memory, RLIMIT_MEMLOCK_is_charged_and_given_back)
{
	struct rlimit lim = { 256 << 10, 256 << 10 };
	struct t_lmr a, b;
	uint32_t pz;
	struct t_file f;

	ASSERT_EQ(0, t_open(&f));
	ASSERT_EQ(0, t_pz(&f, &pz));
	t_pair_close(&self->p);
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &lim));
	ASSERT_EQ(0, seteuid(65534));
	/* t_pair_close() has unpinned and uncharged the pages of the pair. */
	ASSERT_EQ(0, t_lmr(&f, pz, 200 << 10, T_PRIV_ALL, &a));
	EXPECT_EQ(-ENOMEM, t_lmr(&f, pz, 100 << 10, T_PRIV_ALL, &b));
	EXPECT_EQ(0, t_free(&f, DAT_OBJ_LMR, a.id));
	EXPECT_EQ(0, t_lmr(&f, pz, 100 << 10, T_PRIV_ALL, &b));
	ASSERT_EQ(0, seteuid(0));
	ASSERT_EQ(0, t_open(&self->p.f));
}

TEST_HARNESS_MAIN
