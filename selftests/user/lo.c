// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The adapter lo0: its place in the list, and the addresses and ports of connections over it. */
#define _GNU_SOURCE
#include <grp.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "meet.h"

#define NOBODY	65534
#define PD	DAT_MAX_PRIVATE_DATA

FIXTURE(lo) {
	struct t_pair p;
	char from[64];
	int missing;
};

/* A test begins with this, since a fixture cannot skip its tests. */
#define NEED_LO()							\
	do {								\
		if (self->missing)					\
			SKIP(return, "dat.ko was loaded with lo=0");	\
	} while (0)

FIXTURE_SETUP(lo)
{
	int ret;

	setenv("DAT_ADAPTER", "lo0", 1);
	ret = t_pair_open(&self->p);
	self->missing = ret == -ENOENT;
	if (!self->missing)
		ASSERT_EQ(0, ret);
}

FIXTURE_TEARDOWN(lo)
{
	if (!self->missing)
		t_pair_close(&self->p);
}

TEST_F(lo, is_the_last_adapter)
{
	struct dat_adapter a = { .size = sizeof(a) };
	int found = 0;

	NEED_LO();
	while (!t_ioctl(self->p.f.fd, DAT_IOC_ADAPTER, &a)) {
		EXPECT_EQ(0, found);
		found += !strcmp((char *)a.name, "lo0");
	}
	EXPECT_EQ(1, found);
	EXPECT_EQ(DAT_IA_FLAG_LOCAL, self->p.f.info.flags);
}

TEST_F(lo, reaches_each_local_address)
{
	static const char *const local[] = {
		"127.0.0.1", "127.9.8.7", "::1", "192.0.2.77", "2001:db8::77", "fe80::77%lo",
	};
	unsigned int i;

	NEED_LO();
	ip("link set lo up");
	ip("addr add 192.0.2.77/32 dev lo");
	ip("addr add 2001:db8::77/128 dev lo nodad");
	ip("addr add fe80::77/64 dev lo nodad");
	for (i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
		EXPECT_EQ(ESTABLISHED, meet(&self->p, local[i], self->from)) TH_LOG("%s", local[i]);
		EXPECT_STREQ(local[i], self->from);
	}
	/* The scope of a link-local address is its interface. */
	EXPECT_EQ(-ENETUNREACH, meet(&self->p, "fe80::77", self->from));
	ip("link add lo-other type veth peer name lo-peer");
	if (if_nametoindex("lo-other"))
		EXPECT_EQ(-ENETUNREACH, meet(&self->p, "fe80::77%lo-other", self->from));
	ip("link del lo-other");
	ip("addr del fe80::77/64 dev lo");
	ip("addr del 2001:db8::77/128 dev lo");
	ip("addr del 192.0.2.77/32 dev lo");
	for (i = 3; i < sizeof(local) / sizeof(local[0]); i++)
		EXPECT_EQ(-ENETUNREACH, meet(&self->p, local[i], self->from));
}

static int connect_to(struct t_pair *p, const char *to)
{
	struct dat_ep_connect arg = {
		.size = sizeof(arg), .id = p->ep[1].id, .conn_qual = T_QUAL,
		.timeout_us = DAT_WAIT_FOREVER,
	};
	struct sockaddr_storage ss;

	arg.addr_len = parse(to, &ss);
	memcpy(arg.addr, &ss, arg.addr_len);
	return t_ioctl(p->f.fd, DAT_IOC_EP_CONNECT, &arg);
}

TEST_F(lo, listeners_at_two_addresses_share_a_port)
{
	struct dat_cr_query q = { .size = sizeof(q) };
	struct t_pair a, b;
	struct dat_eqe eqe;
	struct t_file f;
	struct t_evd cr;
	uint32_t psp;

	NEED_LO();
	/* The listener at all addresses has the port. */
	ASSERT_EQ(-EADDRINUSE, t_pair_open_at(&a, "127.0.0.5"));
	t_pair_close(&a);
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_PSP, self->p.psp));
	ASSERT_EQ(0, t_pair_open_at(&a, "127.0.0.5"));
	ASSERT_EQ(0, t_pair_open_at(&b, "127.0.0.6"));
	EXPECT_EQ(ESTABLISHED, meet(&a, "127.0.0.5", self->from));
	EXPECT_EQ(ESTABLISHED, meet(&b, "127.0.0.6", self->from));
	EXPECT_STREQ("127.0.0.6", self->from);
	EXPECT_EQ(DAT_EV_NON_PEER_REJECTED, meet(&a, "127.0.0.7", self->from));
	/* a connects to the listener of b, and from its own address. */
	ASSERT_EQ(0, connect_to(&a, "127.0.0.6"));
	ASSERT_EQ(1, t_event(&b.cr, T_WAIT_MS, &eqe));
	q.id = eqe.len;
	ASSERT_EQ(0, t_ioctl(b.f.fd, DAT_IOC_CR_QUERY, &q));
	print(q.remote, self->from);
	EXPECT_STREQ("127.0.0.5", self->from);
	ASSERT_EQ(0, t_open(&f));
	ASSERT_EQ(0, t_evd(&f, DAT_STREAM_CR, 8, &cr));
	EXPECT_EQ(-EADDRINUSE, t_psp(&f, &cr, T_QUAL, &psp));
	t_close(&f);
	t_pair_close(&a);
	t_pair_close(&b);
}

/* The result of t_psp() for a process without privileges. */
static int listen_as_nobody(uint64_t qual)
{
	struct t_file f;
	struct t_evd cr;
	uint32_t psp;
	int ret, status;
	pid_t pid = fork();

	if (!pid) {
		ret = t_open(&f);
		if (!ret)
			ret = t_evd(&f, DAT_STREAM_CR, 8, &cr);
		if (!ret && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
			ret = -ENOTSUP;
		_exit(ret ? -ret : -t_psp(&f, &cr, qual, &psp));
	}
	waitpid(pid, &status, 0);
	return -WEXITSTATUS(status);
}

TEST_F(lo, a_port_below_1024_is_privileged)
{
	uint32_t psp;

	NEED_LO();
	EXPECT_EQ(-EPERM, listen_as_nobody(1023));
	EXPECT_EQ(0, listen_as_nobody(1024));
	ASSERT_EQ(0, t_psp(&self->p.f, &self->p.cr, 1023, &psp));
	EXPECT_EQ(-EADDRINUSE, t_psp(&self->p.f, &self->p.cr, 1023, &psp));
}

TEST_F(lo, the_peer_has_an_unprivileged_port)
{
	struct dat_cr_query q = { .size = sizeof(q) };
	struct dat_eqe eqe;

	NEED_LO();
	ASSERT_EQ(0, t_connect(&self->p.f, &self->p.ep[1], T_QUAL, NULL, 0));
	ASSERT_EQ(1, t_event(&self->p.cr, T_WAIT_MS, &eqe));
	q.id = eqe.len;
	ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_CR_QUERY, &q));
	EXPECT_LE(1024, q.remote_port);
	EXPECT_EQ(T_QUAL, q.local_port);
}

TEST_F(lo, private_data_has_its_true_length)
{
	struct dat_cr_query q = { .size = sizeof(q) };
	struct t_pair *p = &self->p;
	char pd[PD + 1], back[PD + 1];
	struct dat_eqe eqe;

	NEED_LO();
	ASSERT_EQ(PD, p->f.info.max_pd_request);
	ASSERT_EQ(PD, p->f.info.max_pd_reply);
	memset(pd, 1, sizeof(pd));
	memset(back, 2, sizeof(back));
	ASSERT_EQ(0, t_connect(&p->f, &p->ep[1], T_QUAL, pd, PD));
	ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
	q.id = eqe.len;
	ASSERT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_CR_QUERY, &q));
	EXPECT_EQ(PD, q.pd_len);
	EXPECT_EQ(0, memcmp(pd, q.pd, PD));
	ASSERT_EQ(0, t_accept(&p->f, q.id, &p->ep[0], back, 77));
	ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_ESTABLISHED, eqe.type);
	EXPECT_EQ(77, eqe.len);
}

/*
 * Meet in a new network namespace, whose loopback is down.  Neither is the other listener in the
 * way there, nor can it be reached.
 */
static int meet_elsewhere(void)
{
	struct t_pair p;
	char from[64];

	if (unshare(CLONE_NEWNET))
		return 100;
	if (t_pair_open(&p) || meet(&p, "127.0.0.1", from) || meet(&p, "::1", from))
		return 101;
	if (t_free(&p.f, DAT_OBJ_PSP, p.psp))
		return 102;
	if (meet(&p, "127.0.0.1", from) != DAT_EV_NON_PEER_REJECTED)
		return 103;
	return 0;
}

TEST_F(lo, a_connection_stays_in_its_network_namespace)
{
	struct dat_eqe eqe;
	int status;
	pid_t pid = fork();

	NEED_LO();
	if (!pid)
		_exit(meet_elsewhere());
	waitpid(pid, &status, 0);
	if (WEXITSTATUS(status) == 100)
		SKIP(return, "no network namespaces");
	EXPECT_EQ(0, WEXITSTATUS(status));
	EXPECT_EQ(0, t_event(&self->p.cr, 0, &eqe));
}

TEST_HARNESS_MAIN
