// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The adapter within the host, and which peers it reaches. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tool.h"

/* After <dat/udat.h>, which has a type with the name of a macro in this header. */
#include <rdma/dat_ioctl.h>

static int is_loopback(const struct sockaddr *sa)
{
	const struct sockaddr_in6 *in6 = (const void *)sa;
	const struct sockaddr_in *in = (const void *)sa;

	if (sa->sa_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return sa->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

/* Returns whether two addresses are the same, without the ports. */
static int same_address(const struct sockaddr *a, const struct sockaddr *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;

	if (a->sa_family != b->sa_family)
		return 0;
	if (a->sa_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a->sa_family == AF_INET6 && a6->sin6_scope_id == b6->sin6_scope_id &&
	       IN6_ARE_ADDR_EQUAL(&a6->sin6_addr, &b6->sin6_addr);
}

static int is_own(const struct sockaddr *sa, const struct ifaddrs *list)
{
	const struct ifaddrs *i;

	for (i = list; i; i = i->ifa_next)
		if (i->ifa_addr && same_address(i->ifa_addr, sa))
			return 1;
	/* All of 127.0.0.0/8 is this host, though an interface has a part of it at most. */
	return is_loopback(sa);
}

int tool_is_here(const struct tool_host *h)
{
	struct ifaddrs *list = NULL;
	const struct addrinfo *ai;
	int here = !!h->list;

	if (getifaddrs(&list))
		list = NULL;
	for (ai = h->list; ai && here; ai = ai->ai_next)
		here = is_own(ai->ai_addr, list);
	freeifaddrs(list);
	return here;
}

/* The driver lists this adapter last, and opens one adapter per file. */
int tool_local_adapter(char name[TOOL_NAME_SIZE])
{
	struct dat_ia_query query = { .size = sizeof(query) };
	struct dat_adapter adapter = { .size = sizeof(adapter) };
	struct dat_ia_open arg = { .size = sizeof(arg) };
	int fd = open("/dev/dat", O_RDWR | O_CLOEXEC), found;

	if (fd < 0)
		return 0;
	while (!ioctl(fd, DAT_IOC_ADAPTER, &adapter))
		memcpy(arg.name, adapter.name, sizeof(arg.name));
	found = arg.name[0] && !ioctl(fd, DAT_IOC_IA_OPEN, &arg) &&
		!ioctl(fd, DAT_IOC_IA_QUERY, &query) && query.flags & DAT_IA_FLAG_LOCAL;
	close(fd);
	if (found)
		snprintf(name, TOOL_NAME_SIZE, "%.72s", (const char *)arg.name);
	return found;
}
