/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Sizes and port numbers of socket addresses, and the port numbers of connection qualifiers. */
#ifndef _DAT_ADDR_H
#define _DAT_ADDR_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/math64.h>
#include <linux/socket.h>

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
 * Returns the rdma_cm port for a connection qualifier.  A qualifier above 65535 maps to a port from
 * 33534 to 65534, as in OFED's uDAPL, so that programs of both can connect to each other.
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
