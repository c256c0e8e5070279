// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The addresses of an adapter: listeners follow them, and a connect takes its source by route. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "adapter.h"
#include "dat_test.h"
#include "meet.h"
#include "proc.h"
#include "tracefs.h"

#define LISTENERS	30	/* listeners in the tests that count work items */
#define FEW		60	/* more than the work items of some events of one adapter */
#define MANY		200	/* addresses of an adapter in the test that counts look-ups */
#define PROBE		"dat_address/lookup"

/* Set @text to the link-local address of v0, with the interface. */
static int link_local(char text[64])
{
	struct ifaddrs *all, *i;
	int ret = -1;

	if (getifaddrs(&all))
		return -1;
	for (i = all; i && ret; i = i->ifa_next) {
		const struct sockaddr_in6 *in6 = (const void *)i->ifa_addr;

		if (!in6 || in6->sin6_family != AF_INET6 || strcmp(i->ifa_name, "v0") ||
		    !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
			continue;
		print(in6, text);
		ret = 0;
	}
	freeifaddrs(all);
	return ret;
}

/* Returns 1 if the IA lists the address @text. */
static int lists(struct t_file *f, const char *text)
{
	struct dat_ia_addr arg = { .size = sizeof(arg) };
	char found[64];

	while (!t_ioctl(f->fd, DAT_IOC_IA_ADDR, &arg)) {
		print(arg.addr, found);
		if (!strcmp(found, text))
			return 1;
	}
	return 0;
}

/* Wait until the IA lists the address @text, or does not list it if @there is 0. */
static int await_address(struct t_file *f, const char *text, int there)
{
	int i;

	for (i = 0; i < 200 && lists(f, text) != there; i++)
		usleep(100000);
	return lists(f, text) == there ? 0 : -1;
}

/*
 * Connect until the listener follows the addresses.  A listener that does not follow yet gives
 * DAT_EV_NON_PEER_REJECTED.
 */
static int meet_soon(struct t_pair *p, const char *to, char from[64])
{
	int ret = -1, i;

	for (i = 0; i < 100 && ret; i++) {
		ret = meet(p, to, from);
		if (ret)
			usleep(100000);
	}
	return ret;
}

FIXTURE(address) {
	struct t_pair p;
	char from[64];
};

/* Remove the second adapter, if there is one. */
static void second_remove(void)
{
	if (!if_nametoindex("second"))
		return;
	adapter_remove(adapter_type(), 1);
	ip("link del second");
}

/*
 * Let the CM send its last messages from an address before the address is removed.  If soft-RoCE
 * sends such a message afterwards, its GSI queue pair fails, and each later connect of the host
 * fails too.
 */
static void settle(void)
{
	usleep(300000);
}

/* Give v0 a link-local address.  The kernel makes one when the mode of making them changes. */
static void v0_link_local(void)
{
	static const char mode[] = "/proc/sys/net/ipv6/conf/v0/addr_gen_mode";

	write_text(mode, "1");
	write_text(mode, "0");
}

static void forget(void)
{
	char text[64];

	settle();
	second_remove();
	if (if_nametoindex("over"))
		ip("link set v0 nomaster; ip link set v0 up; ip link del over");
	if (if_nametoindex("v0.7"))
		ip("link del v0.7");
	v0_change(RTM_DELADDR, "10.9.9.1");
	v0_change(RTM_DELADDR, "10.9.9.2");
	v0_change(RTM_DELADDR, "fd00:77::1");
	v0_add("10.9.0.1");
	if (link_local(text))
		v0_link_local();
}

FIXTURE_SETUP(address)
{
	ASSERT_EQ(0, t_pair_open(&self->p));
	if (!if_nametoindex("v0"))
		SKIP(return, "the adapter is not on an interface v0");
	forget();
}

/* Programs that run next want an address of each family. */
FIXTURE_TEARDOWN(address)
{
	forget();
	EXPECT_EQ(0, link_local(self->from));
	t_pair_close(&self->p);
}

TEST_F_TIMEOUT(address, a_listener_follows_a_second_address, 120)
{
	struct t_pair *p = &self->p;

	ASSERT_EQ(0, v0_change(RTM_NEWADDR, "10.9.9.1"));
	ASSERT_EQ(0, await_address(&p->f, "10.9.9.1", 1));
	EXPECT_EQ(ESTABLISHED, meet_soon(p, "10.9.9.1", self->from));
	EXPECT_STREQ("10.9.9.1", self->from);
	EXPECT_EQ(ESTABLISHED, meet(p, "10.9.0.1", self->from));
	EXPECT_STREQ("10.9.0.1", self->from);
}

TEST_F_TIMEOUT(address, a_listener_follows_an_address_that_is_replaced, 120)
{
	struct t_pair *p = &self->p;

	ASSERT_EQ(0, v0_change(RTM_NEWADDR, "10.9.9.1"));
	ASSERT_EQ(ESTABLISHED, meet_soon(p, "10.9.9.1", self->from));
	settle();
	ASSERT_EQ(0, v0_change(RTM_DELADDR, "10.9.9.1"));
	ASSERT_EQ(0, v0_change(RTM_NEWADDR, "10.9.9.2"));
	EXPECT_EQ(ESTABLISHED, meet_soon(p, "10.9.9.2", self->from));
	EXPECT_EQ(0, await_address(&p->f, "10.9.9.1", 0));
	/* The same address again. */
	ASSERT_EQ(0, v0_change(RTM_NEWADDR, "10.9.9.1"));
	EXPECT_EQ(ESTABLISHED, meet_soon(p, "10.9.9.1", self->from));
}

TEST_F_TIMEOUT(address, a_listener_listens_on_a_VLAN, 120)
{
	struct t_pair *p = &self->p;

	if (ip("link add link v0 name v0.7 type vlan id 7"))
		SKIP(return, "this kernel has no VLANs");
	ASSERT_EQ(0, ip("addr add 10.9.7.1/24 dev v0.7"));
	ASSERT_EQ(0, ip("link set v0.7 up"));
	ASSERT_EQ(0, await_address(&p->f, "10.9.7.1", 1));
	EXPECT_EQ(ESTABLISHED, meet_soon(p, "10.9.7.1", self->from));
	EXPECT_STREQ("10.9.7.1", self->from);
	EXPECT_EQ(ESTABLISHED, meet(p, "10.9.0.1", self->from));
}

/*
 * Give 10.9.8.1 to the interface "over", which carries v0.  Return ESTABLISHED if the listener is
 * reached there, and from there.
 */
static int meet_over(FIXTURE_DATA(address) *self)
{
	struct t_pair *p = &self->p;
	int ret;

	if (ip("addr add 10.9.8.1/24 dev over") || ip("link set over up") ||
	    await_address(&p->f, "10.9.8.1", 1))
		return -ENODEV;
	ret = meet_soon(p, "10.9.8.1", self->from);
	return ret ? ret : strcmp(self->from, "10.9.8.1");
}

TEST_F_TIMEOUT(address, a_listener_listens_on_a_macvlan, 120)
{
	struct t_pair *p = &self->p;

	if (ip("link add link v0 name over type macvlan mode bridge"))
		SKIP(return, "this kernel has no macvlan");
	EXPECT_EQ(ESTABLISHED, meet_over(self));
	EXPECT_EQ(ESTABLISHED, meet(p, "10.9.0.1", self->from));
	settle();
	ASSERT_EQ(0, ip("link del over"));
	EXPECT_EQ(0, await_address(&p->f, "10.9.8.1", 0));
}

TEST_F_TIMEOUT(address, a_listener_listens_on_a_bridge, 120)
{
	struct t_pair *p = &self->p;

	if (ip("link add over type bridge"))
		SKIP(return, "this kernel has no bridges");
	ASSERT_EQ(0, ip("link set v0 master over"));
	EXPECT_EQ(ESTABLISHED, meet_over(self));
	settle();
	ASSERT_EQ(0, ip("link set v0 nomaster"));
	EXPECT_EQ(0, await_address(&p->f, "10.9.8.1", 0));
	EXPECT_EQ(ESTABLISHED, meet_soon(p, "10.9.0.1", self->from));
}

TEST_F_TIMEOUT(address, a_listener_listens_on_a_bond, 120)
{
	struct t_pair *p = &self->p;

	if (ip("link add over type bond mode active-backup"))
		SKIP(return, "this kernel has no bonds");
	ASSERT_EQ(0, ip("link set v0 down"));
	ASSERT_EQ(0, ip("link set v0 master over"));
	EXPECT_EQ(ESTABLISHED, meet_over(self));
	settle();
	ASSERT_EQ(0, ip("link set v0 nomaster"));
	ASSERT_EQ(0, ip("link set v0 up"));
	EXPECT_EQ(0, await_address(&p->f, "10.9.8.1", 0));
	EXPECT_EQ(ESTABLISHED, meet_soon(p, "10.9.0.1", self->from));
}

/* Runs in a network namespace that has 10.9.0.77 only. */
static int own_addresses(struct t_file *f, void *arg)
{
	struct t_file g;
	int ret = 0;

	if (await_address(f, "10.9.0.77", 1))
		ret |= 1;
	if (lists(f, "10.9.0.1"))
		ret |= 2;
	if (t_open_at(&g, "10.9.0.77") || !lists(&g, "10.9.0.77"))
		ret |= 4;
	/* An IA may be opened before its address is there. */
	if (!t_open_at(&g, "10.9.0.1") && lists(&g, "10.9.0.1"))
		ret |= 8;
	return ret;
}

TEST_F_TIMEOUT(address, a_network_namespace_has_the_addresses_of_its_interfaces, 60)
{
	struct t_container c;
	int ret = t_container_start(&c, &self->p.f, own_addresses, NULL);

	if (ret == -ENODEV)
		SKIP(return, "no network namespaces, or no macvlan");
	EXPECT_EQ(0, ret);
	EXPECT_EQ(0, lists(&self->p.f, "10.9.0.77"));
	EXPECT_EQ(1, lists(&self->p.f, "10.9.0.1"));
	t_container_end(&c);
}

TEST_F_TIMEOUT(address, a_listener_listens_at_IPv6_addresses, 120)
{
	struct t_pair *p = &self->p;
	char local[64];

	ASSERT_EQ(0, v0_add("fd00:77::1"));
	EXPECT_EQ(ESTABLISHED, meet_soon(p, "fd00:77::1", self->from));
	EXPECT_STREQ("fd00:77::1", self->from);
	ASSERT_EQ(0, link_local(local));
	EXPECT_EQ(ESTABLISHED, meet_soon(p, local, self->from)) TH_LOG("%s", local);
	EXPECT_STREQ(local, self->from);
}

/* No event tells when the detection of duplicates ends. */
TEST_F_TIMEOUT(address, a_tentative_address_is_followed_when_it_is_usable, 120)
{
	struct t_pair *p = &self->p;

	ASSERT_EQ(0, write_text("/proc/sys/net/ipv6/conf/v0/accept_dad", "1"));
	EXPECT_EQ(0, v0_change(RTM_NEWADDR, "fd00:77::1"));
	EXPECT_EQ(ESTABLISHED, meet_soon(p, "fd00:77::1", self->from));
	ASSERT_EQ(0, write_text("/proc/sys/net/ipv6/conf/v0/accept_dad", "0"));
}

TEST_F_TIMEOUT(address, a_listener_may_begin_before_there_is_an_address, 120)
{
	struct t_pair *p = &self->p;
	uint32_t psp, any;

	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_PSP, p->psp));
	ASSERT_EQ(0, ip("addr flush dev v0"));
	ASSERT_EQ(0, await_address(&p->f, "10.9.0.1", 0));
	EXPECT_EQ(-ENETUNREACH, t_psp(&p->f, &p->cr, 0, &any));
	EXPECT_EQ(0, t_psp(&p->f, &p->cr, T_QUAL, &psp));
	EXPECT_EQ(-EADDRINUSE, t_psp(&p->f, &p->cr, T_QUAL, &any));
	EXPECT_EQ(-ENETUNREACH, meet(p, "10.9.0.1", self->from));
	ASSERT_EQ(0, v0_change(RTM_NEWADDR, "10.9.0.1"));
	ASSERT_EQ(0, await_address(&p->f, "10.9.0.1", 1));
	EXPECT_EQ(ESTABLISHED, meet_soon(p, "10.9.0.1", self->from));
}

TEST_F_TIMEOUT(address, a_port_is_in_use_if_it_is_in_use_at_one_address, 120)
{
	struct t_pair *p = &self->p;
	struct t_file f;
	struct t_evd evd;
	uint32_t psp;

	ASSERT_EQ(0, v0_change(RTM_NEWADDR, "10.9.9.1"));
	ASSERT_EQ(0, await_address(&p->f, "10.9.9.1", 1));
	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_PSP, p->psp));
	ASSERT_EQ(0, t_open_at(&f, "10.9.9.1"));
	ASSERT_EQ(0, t_evd(&f, DAT_STREAM_CR, 8, &evd));
	ASSERT_EQ(0, t_psp(&f, &evd, T_QUAL, &psp));
	EXPECT_EQ(-EADDRINUSE, t_psp(&p->f, &p->cr, T_QUAL, &p->psp));
	t_close(&f);
	EXPECT_EQ(0, t_psp(&p->f, &p->cr, T_QUAL, &p->psp));
	EXPECT_EQ(ESTABLISHED, meet(p, "10.9.9.1", self->from));
}

TEST_F_TIMEOUT(address, an_IA_with_an_address_listens_only_there, 120)
{
	struct t_pair p;
	struct t_file f;
	struct t_evd evd;
	uint32_t psp;

	ASSERT_EQ(0, v0_change(RTM_NEWADDR, "10.9.9.1"));
	ASSERT_EQ(0, await_address(&self->p.f, "10.9.9.1", 1));
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_PSP, self->p.psp));
	ASSERT_EQ(0, t_pair_open_at(&p, "10.9.9.1"));
	EXPECT_EQ(0, lists(&p.f, "10.9.0.1"));
	EXPECT_EQ(1, lists(&p.f, "10.9.9.1"));
	EXPECT_EQ(ESTABLISHED, meet(&p, "10.9.9.1", self->from));
	/* rdma_cm rejects such a request as if a consumer did. */
	EXPECT_NE(ESTABLISHED, meet(&p, "10.9.0.1", self->from));
	/* Another process listens at the other address. */
	ASSERT_EQ(0, t_open_at(&f, "10.9.0.1"));
	ASSERT_EQ(0, t_evd(&f, DAT_STREAM_CR, 8, &evd));
	EXPECT_EQ(0, t_psp(&f, &evd, T_QUAL, &psp));
	t_close(&f);
	t_pair_close(&p);
}

/* The peer is another address of the host, and the route to that one has itself as the source. */
TEST_F_TIMEOUT(address, an_IA_with_an_address_connects_from_there, 120)
{
	struct t_pair *p = &self->p;
	struct sockaddr_storage ss;
	struct dat_eqe eqe;
	struct t_pair from;
	struct dat_ep_connect arg = {
		.size = sizeof(arg), .conn_qual = T_QUAL, .timeout_us = DAT_WAIT_FOREVER,
	};
	struct dat_cr_query cr = { .size = sizeof(cr) };

	ASSERT_EQ(0, v0_change(RTM_NEWADDR, "10.9.9.1"));
	ASSERT_EQ(0, await_address(&p->f, "10.9.9.1", 1));
	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_PSP, p->psp));
	ASSERT_EQ(0, t_pair_open_at(&from, "10.9.9.1"));
	ASSERT_EQ(0, t_free(&from.f, DAT_OBJ_PSP, from.psp));
	ASSERT_EQ(0, t_psp(&p->f, &p->cr, T_QUAL, &p->psp));
	arg.id = from.ep[1].id;
	arg.addr_len = parse("10.9.0.1", &ss);
	memcpy(arg.addr, &ss, arg.addr_len);
	ASSERT_EQ(0, t_ioctl(from.f.fd, DAT_IOC_EP_CONNECT, &arg));
	ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
	cr.id = eqe.len;
	ASSERT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_CR_QUERY, &cr));
	print(cr.remote, self->from);
	EXPECT_STREQ("10.9.9.1", self->from);
	t_pair_close(&from);
}

/* The driver binds the port when the address comes, in a context with all capabilities. */
TEST_F_TIMEOUT(address, a_privileged_port_without_an_address_is_EPERM, 60)
{
	struct t_pair *p = &self->p;
	uint32_t psp;

	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_PSP, p->psp));
	ASSERT_EQ(0, ip("addr flush dev v0"));
	ASSERT_EQ(0, await_address(&p->f, "10.9.0.1", 0));
	ASSERT_EQ(0, seteuid(65534));
	EXPECT_EQ(-EPERM, t_psp(&p->f, &p->cr, 99, &psp));
	ASSERT_EQ(0, seteuid(0));
	EXPECT_EQ(0, t_psp(&p->f, &p->cr, 99, &psp));
}

TEST_F_TIMEOUT(address, a_name_with_no_address_after_the_at_sign_is_ENOENT, 60)
{
	static const char *const bad[] = {
		"", "x", "10.9.0", "10.9.0.1 ", "fe80::1%nowhere", "@", "0.0.0.0", "::",
		"224.0.0.1", "::ffff:10.9.0.1",
	};
	struct t_file f;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-ENOENT, t_open_at(&f, bad[i])) TH_LOG("'%s'", bad[i]);
		close(f.fd);
	}
}

/*
 * Connect to @to, where nobody answers, so that the id of the connection shows its addresses for a
 * while.  Return 0 if the connection comes from @from and from the device @link.
 */
static int comes_from(struct t_file *f, const struct t_ep *ep, const char *to, const char *from,
		      const char *link)
{
	struct dat_ep_connect arg = {
		.size = sizeof(arg), .id = ep->id, .conn_qual = T_QUAL,
		.timeout_us = DAT_WAIT_FOREVER,
	};
	struct sockaddr_storage ss;
	char cmd[200];
	int ret;

	arg.addr_len = parse(to, &ss);
	memcpy(arg.addr, &ss, arg.addr_len);
	ret = t_ioctl(f->fd, DAT_IOC_EP_CONNECT, &arg);
	snprintf(cmd, sizeof(cmd), "rdma resource show cm_id | grep 'dst-addr %s:4711' |"
		 " grep '^link %s/' | grep -q 'src-addr %s:'", to, link, from);
	return ret ? ret : system(cmd);
}

TEST_F_TIMEOUT(address, a_connect_comes_from_the_address_of_the_route, 120)
{
	const char *link = (char *)self->p.f.info.device;
	struct t_pair *p = &self->p;

	ASSERT_EQ(0, v0_change(RTM_NEWADDR, "10.9.9.1"));
	ASSERT_EQ(0, await_address(&p->f, "10.9.9.1", 1));
	ASSERT_EQ(0, ip("neigh replace 10.9.9.77 lladdr 02:00:00:00:00:77 dev v0"));
	EXPECT_EQ(0, comes_from(&p->f, &p->ep[1], "10.9.9.77", "10.9.9.1", link));
	ip("neigh del 10.9.9.77 dev v0");
	part(p);
}

/* Add a second adapter, whose interface is in a subnet of its own and in that of v0. */
static int second_add(const char *type)
{
	return ip("link add second type veth peer name second_peer") ||
	       ip("addr add 10.99.0.2/24 dev second") ||
	       ip("addr add 10.9.0.2/24 dev second") || ip("link set second up") ||
	       ip("link set second_peer up") || adapter_add(type, 1, "second");
}

/* The second adapter, and an endpoint of it. */
struct second {
	char		name[32];
	struct t_file	f;
	struct t_evd	evd;
	struct t_ep	ep;
};

/* Open the second adapter, which has the address 10.9.0.2 and knows the host 10.9.0.78. */
static int second_open(const char *type, struct second *s)
{
	struct dat_ia_open arg = { .size = sizeof(arg) };
	uint32_t pz;

	memset(s, 0, sizeof(*s));
	snprintf(s->name, sizeof(s->name), "%s1", type);
	strcpy((char *)arg.name, s->name);
	s->f.fd = open("/dev/dat", O_RDWR | O_CLOEXEC);
	return t_ioctl(s->f.fd, DAT_IOC_IA_OPEN, &arg) || await_address(&s->f, "10.9.0.2", 1) ||
	       t_pz(&s->f, &pz) ||
	       t_evd(&s->f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, 8, &s->evd) ||
	       t_ep(&s->f, pz, &s->evd, 0, 1, &s->ep) ||
	       ip("neigh replace 10.9.0.78 lladdr 02:00:00:00:00:78 dev second");
}

/* The route leads through v0, because its address came first. */
TEST_F_TIMEOUT(address, a_connect_of_the_second_of_two_adapters_in_a_subnet_comes_from_there, 120)
{
	const char *type = adapter_type(), *first = (char *)self->p.f.info.device;
	struct t_pair *p = &self->p;
	struct second s;

	if (!type || second_add(type))
		SKIP(return, "can't make another adapter");
	ASSERT_EQ(0, second_open(type, &s));
	EXPECT_EQ(0, lists(&s.f, "10.9.0.1"));
	EXPECT_EQ(0, lists(&p->f, "10.9.0.2"));
	ASSERT_EQ(0, ip("neigh replace 10.9.0.78 lladdr 02:00:00:00:00:78 dev v0"));
	EXPECT_EQ(0, comes_from(&s.f, &s.ep, "10.9.0.78", "10.9.0.2", s.name));
	close(s.f.fd);
	EXPECT_EQ(0, comes_from(&p->f, &p->ep[1], "10.9.0.78", "10.9.0.1", first));
	part(p);
	ip("neigh del 10.9.0.78 dev v0");
}

/* The route leads through v0, because its metric is lower.  Another address comes first. */
TEST_F_TIMEOUT(address, so_does_one_to_an_IPv6_address, 120)
{
	const char *type = adapter_type();
	struct second s;

	if (!type || second_add(type))
		SKIP(return, "can't make another adapter");
	ASSERT_EQ(0, v0_add("fd00:77::1"));
	ASSERT_EQ(0, second_open(type, &s));
	ASSERT_EQ(0, ip("addr add fd00:99::2/64 dev second"));
	ASSERT_EQ(0, await_address(&s.f, "fd00:99::2", 1));
	ASSERT_EQ(0, ip("addr add fd00:77::2/64 dev second metric 2000"));
	ASSERT_EQ(0, await_address(&s.f, "fd00:77::2", 1));
	ASSERT_EQ(0, ip("neigh replace fd00:77::78 lladdr 02:00:00:00:00:78 dev second"));
	EXPECT_EQ(0, comes_from(&s.f, &s.ep, "fd00:77::78", "fd00:77::2", s.name));
	close(s.f.fd);
}

/* Add MANY addresses to the second adapter, each in a subnet of its own. */
static int add_many(void)
{
	char addr[20];
	int i, ret = 0;

	for (i = 0; i < MANY && !ret; i++) {
		snprintf(addr, sizeof(addr), "10.98.%d.1", i);
		ret = address_change("second", RTM_NEWADDR, addr);
	}
	return ret;
}

/*
 * To find the interface or the subnet of an address, the kernel walks a list that grows with the
 * addresses.  If a connect did that for each address, the work would grow with their square.  An
 * assertion that ends the test would leave the probe behind.
 */
TEST_F_TIMEOUT(address, a_connect_looks_few_of_the_addresses_up, 120)
{
	const char *type = adapter_type();
	struct second s;
	char text[4096];
	int n;

	if (!type || second_add(type))
		SKIP(return, "can't make another adapter");
	if (trace_start() || access(TRACE_PROBES, W_OK))
		SKIP(return, "needs tracefs and kprobes");
	ASSERT_EQ(0, add_many());
	ASSERT_EQ(0, second_open(type, &s));
	snprintf(text, sizeof(text), "10.98.%d.1", MANY - 1);
	ASSERT_EQ(0, await_address(&s.f, text, 1));
	snprintf(text, sizeof(text), "common_pid == %d", getpid());
	EXPECT_EQ(0, trace_probe("p:" PROBE " __ip_dev_find\n"));
	EXPECT_EQ(0, trace_on(PROBE, text));
	EXPECT_EQ(0, comes_from(&s.f, &s.ep, "10.9.0.78", "10.9.0.2", s.name));
	n = trace_read(text, sizeof(text), "__ip_dev_find");
	EXPECT_GT(n, 0);
	EXPECT_LT(n, MANY / 4) TH_LOG("%s", text);
	trace_end();
	trace_probe("-:" PROBE "\n");
	close(s.f.fd);
}

/* Make LISTENERS listeners, and begin to count the work items that the driver queues. */
static int count_work(FIXTURE_DATA(address) *self)
{
	uint32_t psp;
	int i, ret;

	for (i = 0; i < LISTENERS; i++) {
		ret = t_psp(&self->p.f, &self->p.cr, 0, &psp);
		if (ret)
			return ret;
	}
	usleep(500000);
	ret = trace_start();
	return ret ? ret : trace_on("workqueue/workqueue_queue_work", "workqueue == \"dat\"");
}

/* The number of work items that were queued since count_work(). */
static int work_queued(char *log, size_t size)
{
	int n;

	usleep(500000);
	n = trace_read(log, size, "workqueue_queue_work");
	trace_end();
	return n;
}

/* Runs in a network namespace that shares the adapter: its GIDs change, again and again. */
static int change_addresses(struct t_file *f, void *arg)
{
	int i, ret = 0;

	for (i = 0; i < 3 && !ret; i++)
		if (ip("addr add 10.9.8.1/24 dev dat-test") || await_address(f, "10.9.8.1", 1) ||
		    ip("addr del 10.9.8.1/24 dev dat-test") || await_address(f, "10.9.8.1", 0))
			ret = -EIO;
	return ret;
}

TEST_F_TIMEOUT(address, a_change_in_another_namespace_costs_few_work_items, 120)
{
	struct t_container c;
	char log[4096];
	int ret, n;

	if (geteuid())
		SKIP(return, "tracefs needs root");
	ASSERT_EQ(0, count_work(self));
	ret = t_container_start(&c, &self->p.f, change_addresses, NULL);
	n = work_queued(log, sizeof(log));
	if (ret == -ENODEV)
		SKIP(return, "no network namespaces, or no macvlan");
	t_container_end(&c);
	EXPECT_EQ(0, ret);
	EXPECT_LT(n, FEW) TH_LOG("%s", log);
}

/* Returns the number of listeners at @addr. */
static int listeners_at(const char *addr)
{
	char cmd[128];
	int n = -1;
	FILE *f;

	snprintf(cmd, sizeof(cmd),
		 "rdma resource show cm_id | grep LISTEN | grep -c 'src-addr %s:'", addr);
	f = popen(cmd, "r");
	if (f && fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		pclose(f);
	return n;
}

static int await_listeners(const char *addr, int n)
{
	int i;

	for (i = 0; i < 100 && listeners_at(addr) != n; i++)
		usleep(100000);
	return listeners_at(addr);
}

TEST_F_TIMEOUT(address, many_listeners_follow_in_one_work_item, 120)
{
	char log[4096];
	int n;

	if (geteuid())
		SKIP(return, "tracefs needs root");
	ASSERT_EQ(0, count_work(self));
	ASSERT_EQ(0, v0_change(RTM_NEWADDR, "10.9.9.1"));
	/* The fixture has a listener of its own. */
	EXPECT_EQ(LISTENERS + 1, await_listeners("10.9.9.1", LISTENERS + 1));
	ASSERT_EQ(0, v0_change(RTM_DELADDR, "10.9.9.1"));
	EXPECT_EQ(0, await_listeners("10.9.9.1", 0));
	EXPECT_EQ(LISTENERS + 1, listeners_at("10.9.0.1"));
	n = work_queued(log, sizeof(log));
	EXPECT_GT(n, 0);
	EXPECT_LT(n, FEW) TH_LOG("%s", log);
}

/* Change addresses of another interface until *@arg is set. */
static void *keep_changing(void *arg)
{
	volatile int *stop = arg;

	while (!*stop) {
		address_change("lo", RTM_NEWADDR, "127.9.9.2");
		usleep(20000);
		address_change("lo", RTM_DELADDR, "127.9.9.2");
		usleep(20000);
	}
	return NULL;
}

/* If each event postponed the check of the addresses, the listener would never follow. */
TEST_F_TIMEOUT(address, a_listener_follows_while_addresses_go_on_changing, 120)
{
	pthread_t changer;
	int stop = 0;

	if (geteuid())
		SKIP(return, "a change of addresses needs root");
	ASSERT_EQ(0, pthread_create(&changer, NULL, keep_changing, &stop));
	EXPECT_EQ(0, v0_change(RTM_NEWADDR, "10.9.9.1"));
	EXPECT_EQ(1, await_listeners("10.9.9.1", 1));
	stop = 1;
	pthread_join(changer, NULL);
}

TEST_HARNESS_MAIN
