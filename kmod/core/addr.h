/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Socket addresses, and the port numbers of connection qualifiers. */
#ifndef _DAT_ADDR_H
#define _DAT_ADDR_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/math64.h>
#include <linux/socket.h>
#include <net/ipv6.h>

#include "core/dat.h"
#include "core/xport.h"

static inline bool dat_addr_is_link_local(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *in6 = (const void *)ss;

	return ss->ss_family == AF_INET6 &&
	       ipv6_addr_type(&in6->sin6_addr) & IPV6_ADDR_LINKLOCAL;
}

/* Returns false for a wildcard, multicast or broadcast address, or for a mapped IPv4 address. */
static inline bool dat_addr_is_unicast(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *in6 = (const void *)ss;
	__be32 in = ((const struct sockaddr_in *)ss)->sin_addr.s_addr;
	int type;

	if (ss->ss_family == AF_INET)
		return !ipv4_is_zeronet(in) && !ipv4_is_multicast(in) && !ipv4_is_lbcast(in);
	type = ipv6_addr_type(&in6->sin6_addr);
	return type != IPV6_ADDR_ANY && !(type & (IPV6_ADDR_MULTICAST | IPV6_ADDR_MAPPED));
}

/*
 * Returns true if @a and @b are the same IPv4 or IPv6 address; ignores ports.  A link-local address
 * without an interface equals the same address on any interface.
 */
static inline bool dat_addr_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	if (a->ss_family != AF_INET6 || !ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr))
		return false;
	return !dat_addr_is_link_local(a) || !a6->sin6_scope_id || !b6->sin6_scope_id ||
	       a6->sin6_scope_id == b6->sin6_scope_id;
}

#define DAT_ADDR_BEST_RANK	3

/* Returns 3 for IPv4, 2 for IPv6, 1 for link-local IPv6; 0 unless @family is 0 or matches. */
static inline int dat_addr_rank(const struct sockaddr_storage *ss, sa_family_t family)
{
	if (family && ss->ss_family != family)
		return 0;
	if (ss->ss_family == AF_INET)
		return DAT_ADDR_BEST_RANK;
	return dat_addr_is_link_local(ss) ? 1 : 2;
}

/*
 * Finds the next address of the port of an IA.  @nr: 0 in the first call; updated for the next
 * call.  @only: address to look for; family AF_UNSPEC: each address.  The caller has locked the IA
 * or is counted in ia->pinning.  May find an address several times.  Returns false if there is no
 * further address.
 */
static inline bool dat_dev_next_addr(const struct dat_ia *ia, const struct sockaddr_storage *only,
				     u32 *nr, struct sockaddr_storage *ss)
{
	while (ia->dev->ops->addr(ia->dev, ia->port, ia->net, only, nr, ss)) {
		++*nr;
		if (!only->ss_family || dat_addr_same(only, ss))
			return true;
	}
	return false;
}

/* Returns the size of an IPv4 or IPv6 address, or 0 for another family. */
static inline u32 dat_addr_len(const struct sockaddr_storage *ss)
{
	switch (ss->ss_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

static inline u16 dat_addr_port(const struct sockaddr_storage *ss)
{
	/* sin_port and sin6_port have the same offset. */
	return be16_to_cpu(((const struct sockaddr_in *)ss)->sin_port);
}

static inline void dat_addr_set_port(struct sockaddr_storage *ss, u16 port)
{
	((struct sockaddr_in *)ss)->sin_port = cpu_to_be16(port);
}

/*
 * Returns the port number for a connection qualifier.  A qualifier above 65535 maps to a port from
 * 33534 to 65534, as in OFED's uDAPL, so that programs of the two implementations can connect to
 * each other.
 */
static inline u16 dat_qual_port(u64 qual)
{
	u32 rest;

	if (qual <= U16_MAX)
		return qual;
	div_u64_rem(qual, 32001, &rest);
	return rest + 33534;
}

#endif /* _DAT_ADDR_H */
