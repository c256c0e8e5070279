/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * The software adapter of the virtual machine, rxe0 or with scripts/vm --siw siw0, and the
 * addresses of its interface v0.  Many tests ask for them, so the answers need no other program: on
 * a debug kernel its start takes half a second.
 */
#ifndef ADAPTER_H
#define ADAPTER_H

#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Returns the type of the adapter, or NULL if there is none. */
static inline const char *adapter_type(void)
{
	if (!access("/sys/class/infiniband/rxe0/ports/1", F_OK))
		return "rxe";
	return access("/sys/class/infiniband/siw0/ports/1", F_OK) ? NULL : "siw";
}

static inline int rxe_exists(void)
{
	return adapter_type() && !strcmp(adapter_type(), "rxe");
}

/* Returns 1 if the first RDMA device of the machine is an iWARP device. */
static inline int adapter_is_iwarp(void)
{
	char type[16] = "";
	glob_t g;
	FILE *f;

	if (glob("/sys/class/infiniband/*/node_type", 0, NULL, &g))
		return 0;
	f = fopen(g.gl_pathv[0], "r");
	if (f) {
		fgets(type, sizeof(type), f);
		fclose(f);
	}
	globfree(&g);
	return strstr(type, "RNIC") != NULL;
}

/* Remove the adapter @n of the type @type. */
static inline int adapter_remove(const char *type, unsigned int n)
{
	char cmd[80];

	snprintf(cmd, sizeof(cmd), "rdma link delete %s%u", type, n);
	return system(cmd);
}

/* Add the adapter @n of the type @type on @netdev. */
static inline int adapter_add(const char *type, unsigned int n, const char *netdev)
{
	char cmd[80];

	snprintf(cmd, sizeof(cmd), "rdma link add %s%u type %s netdev %s", type, n, type, netdev);
	return system(cmd);
}

/* Remove the adapter from v0, or add it again, and give it time to become usable. */
static inline int adapter_plug(const char *type, int in)
{
	if (!in)
		return adapter_remove(type, 0);
	return adapter_add(type, 0, "v0") || usleep(999999);
}

/* Returns 1 if v0 has the IPv4 address @addr. */
static inline int v0_has(const char *addr)
{
	const struct sockaddr_in *sin;
	struct ifaddrs *all, *i;
	struct in_addr in;
	int found = 0;

	inet_pton(AF_INET, addr, &in);
	if (getifaddrs(&all))
		return 0;
	for (i = all; i; i = i->ifa_next) {
		sin = (const void *)i->ifa_addr;
		if (sin && sin->sin_family == AF_INET && !strcmp(i->ifa_name, "v0") &&
		    sin->sin_addr.s_addr == in.s_addr)
			found = 1;
	}
	freeifaddrs(all);
	return found;
}

/*
 * Add the IPv4 or IPv6 address @addr to the interface @name, or remove it: @type is RTM_NEWADDR or
 * RTM_DELADDR.  The subnet has 24 or 64 bits.  Returns 0 or a negative errno.
 */
static inline int address_change(const char *name, int type, const char *addr)
{
	int ipv6 = !!strchr(addr, ':'), len = ipv6 ? 16 : 4, fd;
	struct {
		struct nlmsghdr		head;
		struct ifaddrmsg	msg;
		struct rtattr		attr;
		unsigned char		addr[16];
	} ask = {
		.head = {
			.nlmsg_len = NLMSG_LENGTH(sizeof(ask.msg)) + RTA_LENGTH(len),
			.nlmsg_type = type,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
		},
		.msg = {
			.ifa_family = ipv6 ? AF_INET6 : AF_INET,
			.ifa_prefixlen = ipv6 ? 64 : 24,
			.ifa_index = if_nametoindex(name),
		},
		.attr = { .rta_type = IFA_LOCAL, .rta_len = RTA_LENGTH(len) },
	};
	struct {
		struct nlmsghdr	head;
		struct nlmsgerr	err;
		char		rest[256];
	} answer = { .err.error = -EIO };

	if (inet_pton(ask.msg.ifa_family, addr, ask.addr) != 1)
		return -EINVAL;
	if (type == RTM_NEWADDR)
		ask.head.nlmsg_flags |= NLM_F_CREATE | NLM_F_EXCL;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (send(fd, &ask, ask.head.nlmsg_len, 0) > 0)
		recv(fd, &answer, sizeof(answer), 0);
	close(fd);
	return answer.err.error;
}

static inline int v0_change(int type, const char *addr)
{
	return address_change("v0", type, addr);
}

/*
 * Add the address @addr to v0, unless v0 has it.  An adapter needs a moment to accept a new
 * address.
 */
static inline int v0_add(const char *addr)
{
	return v0_has(addr) ? 0 : v0_change(RTM_NEWADDR, addr) || usleep(500000);
}

#endif /* ADAPTER_H */
