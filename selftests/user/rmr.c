// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Remote memory regions (RMRs): bind tickets that are stale, forged, of another file or zone, or
 * never used.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "adapter.h"
#include "dat_test.h"
#include "clock.h"
#include "proc.h"
#include "rmr_test.h"
#include "roce_peer.h"

#ifndef RACE_S
#define RACE_S		4	/* shortest time of a race in seconds */
#endif

#define NOBODY		65534
#define KB		64	/* size of mem and of its bindings, in KiB */
#define PREPARED	64	/* largest number of prepared bindings of an RMR */

FIXTURE(rmr) {
	struct t_pair p;
	struct t_link link;
	struct t_evd evd[2];
	struct t_ep ep[2];
	struct t_lmr mem;
	uint32_t rmr;
	long pin;
	long bound;	/* KiB that a binding pins beside its LMR: none without a device */
	long pages;
};

FIXTURE_SETUP(rmr)
{
	struct t_pair *p = &self->p;
	int i;

	self->pages = pinned_pages();
	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, t_link_open(p, &self->link));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, t_evd(&p->f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION |
				   DAT_STREAM_RMR_BIND, 256, &self->evd[i]));
		ASSERT_EQ(0, t_ep(&p->f, p->pz, &self->evd[i], 0, 20 + i, &self->ep[i]));
	}
	ASSERT_EQ(0, t_connect_eps(p, self->ep, self->evd));
	ASSERT_EQ(0, t_lmr(&p->f, p->pz, KB << 10, T_PRIV_ALL, &self->mem));
	ASSERT_EQ(0, make_rmr(&p->f, p->pz, &self->rmr));
	self->pin = vm_pin_kb();
	self->bound = t_is_device(&p->f) ? KB : 0;
}

FIXTURE_TEARDOWN(rmr)
{
	EXPECT_EQ(0, t_link_works(&self->p, &self->link));
	t_pair_close(&self->p);
	EXPECT_EQ(self->pages, pinned_pages());
}

static int prepare_it(FIXTURE_DATA(rmr) *self, struct dat_rmr_bind *arg)
{
	return prepare(&self->p.f, self->rmr, &self->mem, arg);
}

/* Let the peer read @mem with the key @key.  Returns the status of the RDMA read. */
static int peer_reads(FIXTURE_DATA(rmr) *self, uint32_t key)
{
	int ret = t_rdma(&self->ep[1], DAT_OP_RDMA_READ, 9, (uintptr_t)self->p.mem.va,
			 self->p.mem.lkey, 64, (uintptr_t)self->mem.va, key);

	return ret ? ret : next_status(&self->evd[1], DAT_EV_DTO);
}

TEST_F(rmr, a_ticket_works_once)
{
	struct dat_rmr_bind b;

	ASSERT_EQ(0, prepare_it(self, &b));
	EXPECT_EQ(self->pin + self->bound, vm_pin_kb());
	ASSERT_EQ(0, post_bind(&self->ep[0], b.id, b.ticket, 0));
	EXPECT_EQ(DAT_ST_SUCCESS, next_status(&self->evd[0], DAT_EV_RMR_BIND));
	EXPECT_EQ(DAT_ST_SUCCESS, peer_reads(self, b.rmr_context));
	ASSERT_EQ(0, post_bind(&self->ep[0], b.id, b.ticket, 0));
	EXPECT_EQ(DAT_ST_RMR_FAILED, next_status(&self->evd[0], DAT_EV_RMR_BIND));
	EXPECT_LE(0, next_status(&self->evd[0], DAT_EV_BROKEN));
	/*
	 * The failed bind broke the connection, but did not end the binding: the key still works
	 * after a reconnect.
	 */
	ASSERT_EQ(0, t_reconnect_eps(&self->p, self->ep, self->evd));
	EXPECT_EQ(DAT_ST_SUCCESS, peer_reads(self, b.rmr_context));
	EXPECT_EQ(-EBUSY, t_free(&self->p.f, DAT_OBJ_LMR, self->mem.id));
}

/* A bind with an invalid id, ticket or segment breaks only its own connection. */
TEST_F_TIMEOUT(rmr, entries_that_make_no_sense_fail, 120)
{
	struct dat_rmr_bind b;
	uint32_t gone;
	unsigned int i;

	ASSERT_EQ(0, make_rmr(&self->p.f, self->p.pz, &gone));
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_RMR, gone));
	ASSERT_EQ(0, prepare_it(self, &b));
	const struct {
		uint64_t	id;
		uint32_t	ticket;
		int		num_sge;
	} bad[] = {
		{ 0, 0, 0 }, { 0, b.ticket, 0 }, { b.id, 0, 0 }, { b.id, b.ticket + 1, 0 },
		{ b.id, ~0U, 0 }, { ~0U, b.ticket, 0 }, { gone, b.ticket, 0 },
		{ self->mem.id, b.ticket, 0 }, { self->ep[0].id, b.ticket, 0 },
		{ b.id | 1ULL << 32, b.ticket, 0 },
	};

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ASSERT_EQ(0, post_bind(&self->ep[0], bad[i].id, bad[i].ticket,
				       bad[i].num_sge));
		EXPECT_LT(0, next_status(&self->evd[0], DAT_EV_RMR_BIND)) TH_LOG("entry %u", i);
		EXPECT_LE(0, next_status(&self->evd[0], DAT_EV_BROKEN)) TH_LOG("entry %u", i);
		ASSERT_EQ(0, t_reconnect_eps(&self->p, self->ep, self->evd)) TH_LOG("entry %u", i);
	}
	/* The failed binds have not used up the ticket. */
	ASSERT_EQ(0, post_bind(&self->ep[0], b.id, b.ticket, 0));
	EXPECT_EQ(DAT_ST_SUCCESS, next_status(&self->evd[0], DAT_EV_RMR_BIND));
	EXPECT_EQ(DAT_ST_SUCCESS, peer_reads(self, b.rmr_context));
}

/*
 * The driver refuses a bind that has segments.  The refused bind uses up its ticket and unpins its
 * memory.
 */
TEST_F(rmr, a_malformed_bind_lets_go_of_its_memory)
{
	static const int segments[] = { 1, 255 };
	struct dat_rmr_bind b;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, prepare_it(self, &b));
		ASSERT_EQ(0, post_bind(&self->ep[0], b.id, b.ticket, segments[i]));
		EXPECT_LT(0, next_status(&self->evd[0], DAT_EV_RMR_BIND));
		EXPECT_LE(0, next_status(&self->evd[0], DAT_EV_BROKEN));
		EXPECT_EQ(self->pin, wait_for_pinned(self->pin));
		ASSERT_EQ(0, t_reconnect_eps(&self->p, self->ep, self->evd));
	}
	/* A bind that is flushed also unpins the memory of its binding. */
	ASSERT_EQ(0, prepare_it(self, &b));
	ASSERT_EQ(0, t_disconnect(&self->p.f, &self->ep[0], 0));
	EXPECT_LE(0, next_status(&self->evd[0], DAT_EV_DISCONNECTED));
	ASSERT_EQ(0, post_bind(&self->ep[0], b.id, b.ticket, 255));
	EXPECT_EQ(DAT_ST_FLUSHED, next_status(&self->evd[0], DAT_EV_RMR_BIND));
	EXPECT_EQ(self->pin, wait_for_pinned(self->pin));
}

TEST_F(rmr, a_freed_endpoint_lets_go_of_every_bind_in_its_ring)
{
	struct t_pair *p = &self->p;
	struct dat_rmr_bind b;
	struct t_ep ep;
	uint32_t i;

	ASSERT_EQ(0, t_long_ep(&p->f, p->pz, &self->evd[0], 0, 9, 4, &ep));
	for (i = 0; i < ep.sq.entries; i++) {
		ASSERT_EQ(0, prepare_it(self, &b));
		ASSERT_EQ(0, post_bind(&ep, b.id, b.ticket, 0));
	}
	EXPECT_EQ(!!self->bound, self->pin < vm_pin_kb());
	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, ep.id));
	EXPECT_EQ(self->pin, wait_for_pinned(self->pin));
}

/* A listener of another file and zone, to which a stranger connects. */
struct elsewhere {
	struct t_file	f;
	uint32_t	pz;
	struct t_evd	cr, evd;
	struct t_ep	ep;
	struct t_lmr	mem;
};

static int elsewhere_connect(struct elsewhere *e, struct roce_peer *peer)
{
	struct roce_answers a;
	struct dat_eqe eqe;
	uint32_t psp;
	int ret;

	ret = t_open(&e->f);
	if (!ret)
		ret = t_pz(&e->f, &e->pz);
	if (!ret)
		ret = t_lmr(&e->f, e->pz, 4096, T_PRIV_ALL, &e->mem);
	if (!ret)
		ret = t_evd(&e->f, DAT_STREAM_CR, 4, &e->cr);
	if (!ret)
		ret = t_evd(&e->f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, 16, &e->evd);
	if (!ret)
		ret = t_ep(&e->f, e->pz, &e->evd, 0, 30, &e->ep);
	if (!ret)
		ret = t_recv(&e->ep.rq, 1, (uintptr_t)e->mem.va, e->mem.lkey, 64);
	if (!ret)
		ret = t_recv(&e->ep.rq, 2, (uintptr_t)e->mem.va, e->mem.lkey, 64);
	if (!ret)
		ret = t_psp(&e->f, &e->cr, T_QUAL + 7, &psp);
	if (!ret)
		ret = roce_request(peer, T_QUAL + 7, 1);
	if (ret)
		return ret;
	if (!t_event(&e->cr, T_WAIT_MS, &eqe))
		return -ETIMEDOUT;
	ret = t_accept(&e->f, (uint32_t)eqe.len, &e->ep, NULL, 0);
	return ret ? ret : roce_answers(peer, 1, T_WAIT_MS, &a);
}

TEST_F_TIMEOUT(rmr, a_stranger_of_another_zone_does_not_end_a_window, 60)
{
	struct roce_peer peer = { 0 };
	struct elsewhere e = { 0 };
	struct dat_rmr_bind b;
	int ret;

	ret = roce_start(&peer, self->p.f.info.addr);
	if (ret == -ENODEV)
		SKIP(return, "no soft-RoCE on a veth pair");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, elsewhere_connect(&e, &peer));
	ASSERT_EQ(0, prepare_it(self, &b));
	ASSERT_EQ(0, post_bind(&self->ep[0], b.id, b.ticket, 0));
	ASSERT_EQ(DAT_ST_SUCCESS, next_status(&self->evd[0], DAT_EV_RMR_BIND));
	/* The first message establishes the connection. */
	ASSERT_EQ(0, roce_talk(&peer, 0));
	ASSERT_LE(0, next_status(&e.evd, DAT_EV_ESTABLISHED));
	ASSERT_EQ(DAT_ST_SUCCESS, next_status(&e.evd, DAT_EV_DTO));
	ASSERT_EQ(0, roce_invalidate(&peer, 0, b.rmr_context));
	/* The stranger's message has ended its own connection and not the window. */
	EXPECT_LT(0, next_status(&e.evd, DAT_EV_DTO));
	EXPECT_LE(0, next_status(&e.evd, DAT_EV_BROKEN));
	EXPECT_EQ(DAT_ST_SUCCESS, peer_reads(self, b.rmr_context));
	t_close(&e.f);
	roce_end(&peer);
}

static int bind_part(FIXTURE_DATA(rmr) *self, const struct t_lmr *lmr, size_t at, size_t len,
		     struct dat_rmr_bind *arg)
{
	int ret;

	*arg = (struct dat_rmr_bind) {
		.size = sizeof(*arg), .id = self->rmr, .lmr = lmr->id,
		.priv = DAT_PRIV_REMOTE_READ, .addr = (uintptr_t)lmr->va + at, .length = len,
	};
	ret = t_ioctl(self->p.f.fd, DAT_IOC_RMR_BIND, arg);
	if (!ret)
		ret = post_bind(&self->ep[0], arg->id, arg->ticket, 0);
	return ret ? ret : next_status(&self->evd[0], DAT_EV_RMR_BIND);
}

/*
 * Let the peer read @len bytes at @at with the key @key.  Returns the status of the RDMA read, or
 * -EIO if the data are wrong.
 */
static int peer_reads_at(FIXTURE_DATA(rmr) *self, const struct t_lmr *lmr, size_t at,
			 size_t len, uint32_t key)
{
	int ret = t_rdma(&self->ep[1], DAT_OP_RDMA_READ, 9, (uintptr_t)self->p.mem.va,
			 self->p.mem.lkey, len, (uintptr_t)lmr->va + at, key);

	ret = ret ? ret : next_status(&self->evd[1], DAT_EV_DTO);
	if (ret)
		return ret;
	return memcmp(self->p.mem.va, (char *)lmr->va + at, len) ? -EIO : 0;
}

/*
 * The peer can access exactly the bound bytes, wherever in their pages the bytes begin and end.  No
 * part spans a multiple of 256 pages, because rxe of Linux 6.1 would then read beyond its page
 * table.
 */
TEST_F_TIMEOUT(rmr, exactly_the_bytes_that_were_bound_can_be_reached, 120)
{
	static const struct {
		size_t at, len;
	} parts[] = {
		{ 0, 1 }, { 1, 1 }, { 4095, 2 }, { 100, 4096 }, { 4096, 8192 }, { 5000, 3192 },
		{ 1 << 20, (2 << 20) - 4096 }, { (1 << 20) + 1, 2 << 20 }, { 8, (5 << 20) - 8192 },
	};
	struct dat_rmr_bind b;
	struct t_lmr mem;
	unsigned int i, j;

	ASSERT_EQ(0, t_lmr(&self->p.f, self->p.pz, 5 << 20, T_PRIV_ALL, &mem));
	for (i = 0; i < 5 << 20; i++)
		((uint8_t *)mem.va)[i] = i * 7 + i / 4096;
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t at = parts[i].at, len = parts[i].len, n = len < 64 ? len : 64;
		const struct {
			size_t at, len;
		} out[] = { { at - 1, 1 }, { at + len, 1 }, { at + len - 1, 2 } };

		ASSERT_EQ(0, bind_part(self, &mem, at, len, &b)) TH_LOG("part %u", i);
		EXPECT_EQ(0, peer_reads_at(self, &mem, at, n, b.rmr_context))
			TH_LOG("part %u", i);
		EXPECT_EQ(0, peer_reads_at(self, &mem, at + len - n, n, b.rmr_context))
			TH_LOG("part %u", i);
		for (j = 0; j < 3; j++) {
			EXPECT_EQ(DAT_ST_REMOTE_ACCESS,
				  peer_reads_at(self, &mem, out[j].at, out[j].len, b.rmr_context))
				TH_LOG("part %u, outside %u", i, j);
			ASSERT_EQ(0, t_reconnect_eps(&self->p, self->ep, self->evd));
		}
	}
}

/*
 * A peer has no access before the bind completes, even if the peer already knows the key.  On
 * soft-RoCE the driver registers the memory directly (DAT_QUIRK_OPEN_INVALIDATE), so the key gives
 * access at once, but only to the bytes and with the privileges of the binding.
 */
TEST_F(rmr, before_its_bind_a_key_opens_nothing_or_on_soft_roce_only_its_binding)
{
	int soft = !strncmp((char *)self->p.f.info.device, "rxe", 3);
	uint64_t at = (uintptr_t)self->mem.va;
	struct dat_rmr_bind b;

	ASSERT_EQ(0, prepare_it(self, &b));
	EXPECT_EQ(soft ? DAT_ST_SUCCESS : DAT_ST_REMOTE_ACCESS, peer_reads(self, b.rmr_context));
	if (soft) {
		EXPECT_EQ(DAT_ST_REMOTE_ACCESS,
			  peer_reads_at(self, &self->mem, self->mem.size, 1, b.rmr_context));
		ASSERT_EQ(0, t_reconnect_eps(&self->p, self->ep, self->evd));
		ASSERT_EQ(0, t_rdma(&self->ep[1], DAT_OP_RDMA_WRITE, 9, (uintptr_t)self->p.mem.va,
				    self->p.mem.lkey, 64, at, b.rmr_context));
		EXPECT_EQ(DAT_ST_REMOTE_ACCESS, next_status(&self->evd[1], DAT_EV_DTO));
	}
	ASSERT_EQ(0, t_reconnect_eps(&self->p, self->ep, self->evd));
	ASSERT_EQ(0, post_bind(&self->ep[0], b.id, b.ticket, 0));
	EXPECT_EQ(DAT_ST_SUCCESS, next_status(&self->evd[0], DAT_EV_RMR_BIND));
	EXPECT_EQ(DAT_ST_SUCCESS, peer_reads(self, b.rmr_context));
}

TEST_F(rmr, bindings_of_what_is_not_there_or_not_allowed)
{
	uint64_t at = (uintptr_t)self->mem.va, len = self->mem.size;
	struct t_lmr sealed, other;
	uint32_t pz, i;

	ASSERT_EQ(0, t_pz(&self->p.f, &pz));
	ASSERT_EQ(0, t_lmr(&self->p.f, self->p.pz, 4096, DAT_PRIV_LOCAL_READ, &sealed));
	ASSERT_EQ(0, t_lmr(&self->p.f, pz, 4096, T_PRIV_ALL, &other));
	const struct {
		uint32_t	lmr;
		uint32_t	priv;
		uint64_t	addr;
		uint64_t	length;
		int		err;
	} bad[] = {
		{ self->mem.id, 0, at - 1, 1, -EINVAL },
		{ self->mem.id, 0, at, len + 1, -EINVAL },
		{ self->mem.id, 0, at + len, 1, -EINVAL },
		{ self->mem.id, 0, at + 1, ~0ULL, -EINVAL },
		{ self->mem.id, 0, ~0ULL, 2, -EINVAL },
		{ self->mem.id, 0, at, 0, -EINVAL },
		{ 0, 0, at, 1, -EINVAL },
		{ self->mem.id, DAT_PRIV_LOCAL_WRITE, at, 1, -EINVAL },
		{ self->rmr, 0, at, 1, -ENOENT },
		{ ~0U, 0, at, 1, -ENOENT },
		{ sealed.id, DAT_PRIV_REMOTE_WRITE, (uintptr_t)sealed.va, 1, -EPERM },
		{ other.id, 0, (uintptr_t)other.va, 1, -EXDEV },
	};

	self->pin = vm_pin_kb();
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct dat_rmr_bind arg = {
			.size = sizeof(arg), .id = self->rmr, .lmr = bad[i].lmr,
			.priv = bad[i].priv, .addr = bad[i].addr, .length = bad[i].length,
		};

		EXPECT_EQ(bad[i].err, t_ioctl(self->p.f.fd, DAT_IOC_RMR_BIND, &arg))
			TH_LOG("binding %u", i);
	}
	EXPECT_EQ(self->pin, vm_pin_kb());
}

/*
 * The zone of the EP must equal the zone of the RMR.  It is not enough that the RMR and its memory
 * have the same zone.
 */
TEST_F(rmr, a_ticket_of_another_zone_fails)
{
	struct dat_rmr_bind b;
	struct t_lmr mem;
	uint32_t pz, rmr;

	ASSERT_EQ(0, t_pz(&self->p.f, &pz));
	ASSERT_EQ(0, t_lmr(&self->p.f, pz, KB << 10, T_PRIV_ALL, &mem));
	ASSERT_EQ(0, make_rmr(&self->p.f, pz, &rmr));
	ASSERT_EQ(0, prepare(&self->p.f, rmr, &mem, &b));
	ASSERT_EQ(0, post_bind(&self->ep[0], rmr, b.ticket, 0));
	EXPECT_EQ(DAT_ST_RMR_FAILED, next_status(&self->evd[0], DAT_EV_RMR_BIND));
	EXPECT_EQ(self->pin + KB, wait_for_pinned(self->pin + KB));
	EXPECT_EQ(0, t_free(&self->p.f, DAT_OBJ_LMR, mem.id));
	EXPECT_EQ(0, t_free(&self->p.f, DAT_OBJ_RMR, rmr));
	EXPECT_EQ(0, t_free(&self->p.f, DAT_OBJ_PZ, pz));
}

TEST_F(rmr, a_ticket_of_another_file_fails)
{
	struct dat_rmr_bind b;
	struct t_file f;
	struct t_lmr mem;
	uint32_t pz, rmr, i;

	ASSERT_EQ(0, t_open(&f));
	ASSERT_EQ(0, t_pz(&f, &pz));
	ASSERT_EQ(0, t_lmr(&f, pz, KB << 10, T_PRIV_ALL, &mem));
	/* Create RMRs in the other file until an RMR has the same id as self->rmr. */
	do {
		ASSERT_EQ(0, make_rmr(&f, pz, &rmr));
	} while (rmr < self->rmr);
	ASSERT_EQ(rmr, self->rmr);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, prepare(&f, rmr, &mem, &b));
	ASSERT_EQ(0, post_bind(&self->ep[0], rmr, b.ticket, 0));
	EXPECT_EQ(DAT_ST_RMR_FAILED, next_status(&self->evd[0], DAT_EV_RMR_BIND));
	/*
	 * The failed bind has not used up the ticket in the other file: its memory is still pinned
	 * there.
	 */
	EXPECT_EQ(self->pin + KB + 5 * self->bound, vm_pin_kb());
	t_close(&f);
	EXPECT_EQ(self->pin, vm_pin_kb());
}

TEST_F(rmr, memory_that_is_freed_before_its_bind_is_not_bound)
{
	struct dat_rmr_bind b;

	ASSERT_EQ(0, prepare_it(self, &b));
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_LMR, self->mem.id));
	ASSERT_EQ(0, post_bind(&self->ep[0], b.id, b.ticket, 0));
	EXPECT_EQ(DAT_ST_RMR_FAILED, next_status(&self->evd[0], DAT_EV_RMR_BIND));
	/* Neither the LMR nor the binding has pages pinned any more, so the key gives no access. */
	EXPECT_EQ(self->pin - KB, wait_for_pinned(self->pin - KB));
	ASSERT_EQ(0, t_reconnect_eps(&self->p, self->ep, self->evd));
	EXPECT_EQ(DAT_ST_REMOTE_ACCESS, peer_reads(self, b.rmr_context));
}

TEST_F(rmr, a_binding_that_was_flushed_lets_go_of_its_memory)
{
	struct dat_rmr_bind b;

	ASSERT_EQ(0, prepare_it(self, &b));
	ASSERT_EQ(0, t_disconnect(&self->p.f, &self->ep[0], 0));
	EXPECT_LE(0, next_status(&self->evd[0], DAT_EV_DISCONNECTED));
	ASSERT_EQ(0, post_bind(&self->ep[0], b.id, b.ticket, 0));
	EXPECT_EQ(DAT_ST_FLUSHED, next_status(&self->evd[0], DAT_EV_RMR_BIND));
	EXPECT_EQ(self->pin, wait_for_pinned(self->pin));
	ASSERT_EQ(0, t_reconnect_eps(&self->p, self->ep, self->evd));
	EXPECT_EQ(DAT_ST_REMOTE_ACCESS, peer_reads(self, b.rmr_context));
}

/*
 * The device of the owner refuses an access of the peer, and flushes a send that waits for its
 * receive.  The bind behind the send must not take effect.
 */
TEST_F_TIMEOUT(rmr, a_bind_behind_a_request_that_the_device_has_flushed_is_flushed, 60)
{
	struct dat_rmr_bind old, b;

	if (adapter_is_iwarp())
		SKIP(return, "a send that finds no receive ends the connection");
	ASSERT_EQ(0, prepare_it(self, &old));
	ASSERT_EQ(0, post_bind(&self->ep[0], old.id, old.ticket, 0));
	ASSERT_EQ(DAT_ST_SUCCESS, next_status(&self->evd[0], DAT_EV_RMR_BIND));
	ASSERT_EQ(0, prepare_it(self, &b));
	ASSERT_EQ(0, t_send(&self->ep[0], 1, 0, 0, 0));
	ASSERT_EQ(0, post_bind(&self->ep[0], b.id, b.ticket, 0));
	EXPECT_EQ(DAT_ST_REMOTE_ACCESS, peer_reads(self, ~old.rmr_context));
	EXPECT_EQ(DAT_ST_FLUSHED, next_status(&self->evd[0], DAT_EV_DTO));
	EXPECT_EQ(DAT_ST_FLUSHED, next_status(&self->evd[0], DAT_EV_RMR_BIND));
	ASSERT_EQ(0, t_reconnect_eps(&self->p, self->ep, self->evd));
	EXPECT_EQ(DAT_ST_SUCCESS, peer_reads(self, old.rmr_context));
}

TEST_F(rmr, a_region_that_is_freed_takes_its_tickets_along)
{
	struct dat_rmr_bind b;
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, prepare_it(self, &b));
	EXPECT_EQ(self->pin + 4 * self->bound, vm_pin_kb());
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_RMR, self->rmr));
	EXPECT_EQ(self->pin, vm_pin_kb());
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_LMR, self->mem.id));
	ASSERT_EQ(0, post_bind(&self->ep[0], b.id, b.ticket, 0));
	EXPECT_EQ(DAT_ST_RMR_FAILED, next_status(&self->evd[0], DAT_EV_RMR_BIND));
}

/*
 * If an EP never connects, a bind in its ring ends when the EP is freed.  The ticket of the bind is
 * then used up, and the memory is unpinned.
 */
TEST_F(rmr, an_EP_that_is_freed_takes_the_binds_in_its_ring_along)
{
	struct dat_rmr_bind b;
	struct t_ep ep;

	ASSERT_EQ(0, t_ep(&self->p.f, self->p.pz, &self->evd[0], 0, 30, &ep));
	ASSERT_EQ(0, prepare_it(self, &b));
	ASSERT_EQ(0, post_bind(&ep, b.id, b.ticket, 0));
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_EP, ep.id));
	EXPECT_EQ(self->pin, wait_for_pinned(self->pin));
	/* The RMR can still be bound. */
	ASSERT_EQ(0, prepare_it(self, &b));
	ASSERT_EQ(0, post_bind(&self->ep[0], b.id, b.ticket, 0));
	EXPECT_EQ(DAT_ST_SUCCESS, next_status(&self->evd[0], DAT_EV_RMR_BIND));
	EXPECT_EQ(DAT_ST_SUCCESS, peer_reads(self, b.rmr_context));
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_RMR, self->rmr));
	EXPECT_EQ(self->pin, vm_pin_kb());
}

TEST_F(rmr, a_flood_of_tickets_ends_and_is_given_back)
{
	struct dat_rmr_bind b, first;
	int i, n;

	ASSERT_EQ(0, prepare_it(self, &first));
	for (n = 1; !prepare_it(self, &b); n++)
		ASSERT_GT(1000, n);
	EXPECT_EQ(PREPARED, n);
	EXPECT_EQ(-ENOMEM, prepare_it(self, &b));
	EXPECT_EQ(self->pin + PREPARED * self->bound, vm_pin_kb());
	/* A completed bind makes room for one more prepared binding. */
	ASSERT_EQ(0, post_bind(&self->ep[0], first.id, first.ticket, 0));
	EXPECT_EQ(DAT_ST_SUCCESS, next_status(&self->evd[0], DAT_EV_RMR_BIND));
	EXPECT_EQ(0, prepare_it(self, &b));
	EXPECT_EQ(-ENOMEM, prepare_it(self, &b));
	/* A flushed bind unpins its memory as well. */
	ASSERT_EQ(0, t_disconnect(&self->p.f, &self->ep[0], 0));
	EXPECT_LE(0, next_status(&self->evd[0], DAT_EV_DISCONNECTED));
	for (i = 1; i <= PREPARED; i++) {
		ASSERT_EQ(0, post_bind(&self->ep[0], first.id, first.ticket + i, 0));
		ASSERT_EQ(DAT_ST_FLUSHED, next_status(&self->evd[0], DAT_EV_RMR_BIND));
	}
	EXPECT_EQ(0, prepare_it(self, &b));
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_RMR, self->rmr));
	EXPECT_EQ(self->pin, vm_pin_kb());
}

TEST_F(rmr, bindings_are_charged_to_the_limit_and_refusals_are_not)
{
	struct rlimit lim = { (self->pin + KB) << 10, (self->pin + KB) << 10 };
	struct dat_rmr_bind b;
	int i;

	if (!self->bound)
		SKIP(return, "a binding pins nothing beside its LMR");
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &lim));
	ASSERT_EQ(0, seteuid(NOBODY));
	EXPECT_EQ(0, prepare_it(self, &b));
	for (i = 0; i < 5; i++)
		EXPECT_EQ(-ENOMEM, prepare_it(self, &b));
	EXPECT_EQ(0, prepare(&self->p.f, self->rmr, NULL, &b));
	ASSERT_EQ(0, seteuid(0));
	EXPECT_EQ(self->pin + KB, vm_pin_kb());
}

/* Kill a process whose bindings are in every state: prepared, posted, and bound. */
TEST_F_TIMEOUT(rmr, a_killed_process_leaves_nothing_pinned, 60)
{
	int ready[2], i;
	pid_t pid;
	char c;
	long before = pinned_pages();

	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_PSP, self->p.psp));
	pid = fork();
	if (!pid) {
		struct t_pair p;
		struct t_lmr mem;
		struct dat_rmr_bind b;
		uint32_t rmr;

		if (t_pair_open(&p) || t_pair_connect(&p) || make_rmr(&p.f, p.pz, &rmr) ||
		    t_lmr(&p.f, p.pz, KB << 10, T_PRIV_ALL, &mem))
			_exit(1);
		for (i = 0; i < 12; i++)
			if (prepare(&p.f, rmr, &mem, &b) ||
			    (i % 3 == 0 && post_bind(&p.ep[0], rmr, b.ticket, 0)))
				_exit(1);
		write(ready[1], "", 1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	EXPECT_LT(before, pinned_pages());
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_EQ(before, pinned_pages());
}

static volatile int stop;

struct racer {
	struct t_file	*f;
	uint32_t	pz;
	volatile uint32_t rmr;
	volatile uint32_t lmr;
};

/* Thread that frees the LMR and the RMR that frees_race_with_binds() uses. */
static void *freer(void *arg)
{
	struct racer *r = arg;

	while (!stop) {
		usleep(rand() % 500);
		t_free(r->f, DAT_OBJ_LMR, r->lmr);
		if (rand() % 4 == 0)
			t_free(r->f, DAT_OBJ_RMR, r->rmr);
	}
	return NULL;
}

/*
 * Free the RMR, then the LMR.  The LMR is busy until the RMR has been freed completely, and freer()
 * may still be freeing the RMR.
 */
static void free_both(struct t_file *f, uint32_t rmr, uint32_t lmr)
{
	t_free(f, DAT_OBJ_RMR, rmr);
	while (t_free(f, DAT_OBJ_LMR, lmr) == -EBUSY)
		usleep(100);
}

TEST_F_TIMEOUT(rmr, frees_race_with_binds, 300)
{
	struct racer r = { .f = &self->p.f, .pz = self->p.pz };
	unsigned int bound = 0, failed = 0;
	double end = now_s() + RACE_S;
	struct dat_rmr_bind b;
	struct dat_eqe eqe;
	struct t_lmr mem = self->mem;
	pthread_t thread;

	r.rmr = self->rmr;
	r.lmr = mem.id;
	ASSERT_EQ(0, pthread_create(&thread, NULL, freer, &r));
	while (now_s() < end || !bound) {
		struct dat_lmr_create lmr = {
			.size = sizeof(lmr), .pz = self->p.pz, .addr = (uintptr_t)mem.va,
			.length = mem.size, .priv = T_PRIV_ALL,
		};

		int ret = prepare(&self->p.f, r.rmr, &mem, &b);

		if (ret) {
			ASSERT_TRUE(ret == -ENOENT || ret == -EXDEV) TH_LOG("%d", ret);
			/* freer() has freed the LMR or the RMR: create both again. */
			free_both(&self->p.f, r.rmr, mem.id);
			ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_LMR_CREATE, &lmr));
			ASSERT_EQ(0, make_rmr(&self->p.f, self->p.pz, &b.id));
			mem.id = lmr.id;
			r.lmr = lmr.id;
			r.rmr = b.id;
			continue;
		}
		ASSERT_EQ(0, post_bind(&self->ep[0], b.id, b.ticket, 0));
		ASSERT_EQ(1, t_event(&self->evd[0], T_WAIT_MS, &eqe));
		ASSERT_EQ(DAT_EV_RMR_BIND, eqe.type);
		if (!eqe.status) {
			bound++;
			continue;
		}
		ASSERT_EQ(DAT_ST_RMR_FAILED, eqe.status);
		failed++;
		ASSERT_EQ(0, t_reconnect_eps(&self->p, self->ep, self->evd));
	}
	stop = 1;
	pthread_join(thread, NULL);
	TH_LOG("%u bound, %u failed", bound, failed);
	EXPECT_LT(0, bound);
	free_both(&self->p.f, r.rmr, mem.id);
	EXPECT_EQ(self->pin - KB, wait_for_pinned(self->pin - KB));
}

TEST_HARNESS_MAIN
