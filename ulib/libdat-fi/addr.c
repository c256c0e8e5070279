// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Addresses of IPv4 and IPv6. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <string.h>

#include "fdat.h"

size_t fdat_addr_len(const struct sockaddr *sa)
{
	switch (sa->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

uint16_t fdat_addr_port(const union fdat_addr *a)
{
	return ntohs(a->sa.sa_family == AF_INET6 ? a->in6.sin6_port : a->in.sin_port);
}

void fdat_addr_set_port(union fdat_addr *a, uint16_t port)
{
	if (a->sa.sa_family == AF_INET6)
		a->in6.sin6_port = htons(port);
	else
		a->in.sin_port = htons(port);
}

int fdat_addr_is_any(const union fdat_addr *a)
{
	if (a->sa.sa_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&a->in6.sin6_addr);
	return a->in.sin_addr.s_addr == htonl(INADDR_ANY);
}

int fdat_addr_is_loopback(const union fdat_addr *a)
{
	if (a->sa.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&a->in6.sin6_addr);
	return ntohl(a->in.sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
}

int fdat_addr_same_host(const union fdat_addr *a, const union fdat_addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return 0;
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	return IN6_ARE_ADDR_EQUAL(&a->in6.sin6_addr, &b->in6.sin6_addr) &&
	       (!a->in6.sin6_scope_id || !b->in6.sin6_scope_id ||
		a->in6.sin6_scope_id == b->in6.sin6_scope_id);
}

uint32_t fdat_addr_format(const union fdat_addr *a)
{
	return a->sa.sa_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
}

int fdat_addr_copy(union fdat_addr *a, const void *from, size_t len)
{
	const struct sockaddr *sa = from;
	size_t need;

	if (!from || len < sizeof(sa->sa_family))
		return -FI_EINVAL;
	need = fdat_addr_len(sa);
	if (!need || len < need)
		return -FI_EINVAL;
	memset(a, 0, sizeof(*a));
	memcpy(a, from, need);
	return 0;
}

/*
 * Returns the first IPv4 address, which every adapter can reach.  IPv6 is for names that have no
 * other address.
 */
static const struct addrinfo *preferred(const struct addrinfo *list)
{
	const struct addrinfo *i;

	for (i = list; i; i = i->ai_next)
		if (i->ai_family == AF_INET)
			return i;
	return list;
}

int fdat_addr_resolve(const char *node, const char *service, uint64_t flags, int family,
		      union fdat_addr *a)
{
	struct addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_STREAM }, *list;
	const struct addrinfo *found;
	int ret;

	if (flags & FI_SOURCE)
		hints.ai_flags |= AI_PASSIVE;
	if (flags & FI_NUMERICHOST)
		hints.ai_flags |= AI_NUMERICHOST;
	ret = getaddrinfo(node, service, &hints, &list);
	if (ret) {
		fdat_info(CORE, "cannot resolve %s, service %s: %s\n", node ? node : "this host",
			  service ? service : "none", gai_strerror(ret));
		return -FI_ENODATA;
	}
	found = preferred(list);
	ret = fdat_addr_copy(a, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(list);
	return ret ? -FI_ENODATA : 0;
}

int fdat_addr_give(const union fdat_addr *a, void *to, size_t *len)
{
	size_t need = fdat_addr_len(&a->sa), room = *len;

	*len = need;
	memcpy(to, a, room < need ? room : need);
	return room < need ? -FI_ETOOSMALL : 0;
}

/* Returns the first address of the list that is @a. */
static const struct ifaddrs *find_interface(const struct ifaddrs *list, const union fdat_addr *a)
{
	const struct ifaddrs *i;

	for (i = list; i; i = i->ifa_next)
		if (i->ifa_addr && i->ifa_addr->sa_family == a->sa.sa_family &&
		    fdat_addr_same_host((const union fdat_addr *)i->ifa_addr, a))
			return i;
	return NULL;
}

/* Interfaces of IPv4 addresses may have a label behind a colon. */
static int same_name(const char *a, const char *b)
{
	size_t len = strcspn(a, ":");

	return len == strcspn(b, ":") && !strncmp(a, b, len);
}

int fdat_addr_same_interface(const union fdat_addr *a, const union fdat_addr *b)
{
	const struct ifaddrs *of_a, *of_b;
	struct ifaddrs *list;
	int same;

	if (getifaddrs(&list))
		return 0;
	of_a = find_interface(list, a);
	of_b = find_interface(list, b);
	same = of_a && of_b && same_name(of_a->ifa_name, of_b->ifa_name);
	freeifaddrs(list);
	return same;
}

int fdat_addr_is_local(const union fdat_addr *a)
{
	struct ifaddrs *list;
	int found;

	if (fdat_addr_is_loopback(a))
		return 1;
	if (getifaddrs(&list))
		return 0;
	found = !!find_interface(list, a);
	freeifaddrs(list);
	return found;
}

static int is_link_local(const union fdat_addr *a)
{
	return a->sa.sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&a->in6.sin6_addr);
}

void fdat_addr_of_interface(const union fdat_addr *a, int family, union fdat_addr *found)
{
	const struct ifaddrs *own, *i;
	struct ifaddrs *list;

	memset(found, 0, sizeof(*found));
	if (getifaddrs(&list))
		return;
	own = find_interface(list, a);
	for (i = list; own && i; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != family ||
		    !same_name(i->ifa_name, own->ifa_name))
			continue;
		if (found->sa.sa_family && !is_link_local(found))
			break;
		memcpy(found, i->ifa_addr, fdat_addr_len(i->ifa_addr));
	}
	freeifaddrs(list);
}
