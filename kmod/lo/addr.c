// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Addresses and port numbers of connections within the host.
 *
 * An end has an address of its network namespace, because the API names peers by addresses.  The
 * adapter lists only the loopback addresses, which every host has, but takes each local address: a
 * program may use the one by which others reach it.
 *
 * The port numbers are a space of their own for each network namespace, beside those of TCP and of
 * rdma_cm.  As with these, numbers below PROT_SOCK tell that no unprivileged process has the port.
 */
#include <linux/capability.h>
#include <linux/inetdevice.h>
#include <linux/ipv6.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <net/addrconf.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>

#include "core/addr.h"
#include "core/ep/psp.h"
#include "core/peer.h"
#include "lo/lo.h"

static bool is_local6(struct net *net, const struct sockaddr_in6 *in6)
{
	bool local = false;

#if IS_ENABLED(CONFIG_IPV6)
	const struct in6_addr *addr = &in6->sin6_addr;
	struct net_device *ndev;

	if (!ipv6_mod_enabled())
		return false;
	if (ipv6_addr_loopback(addr))
		return true;
	rcu_read_lock();
	if (ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL) {
		/* The address tells nothing without its interface. */
		ndev = dev_get_by_index_rcu(net, in6->sin6_scope_id);
		local = ndev && ipv6_chk_addr(net, addr, ndev, 1);
	} else {
		local = ipv6_chk_addr(net, addr, NULL, 0);
	}
	rcu_read_unlock();
#endif
	return local;
}

static bool is_local4(struct net *net, __be32 addr)
{
	bool local;

	rcu_read_lock();
	local = ipv4_is_loopback(addr) || __ip_dev_find(net, addr, false);
	rcu_read_unlock();
	return local;
}

/*
 * Returns true if @ss is an address of the network namespace.  Loopback addresses always are, even
 * while the interface lo is down, as in a fresh container.
 */
static bool is_local(struct net *net, const struct sockaddr_storage *ss)
{
	if (!dat_addr_is_unicast(ss))
		return false;
	if (ss->ss_family == AF_INET6)
		return is_local6(net, (const struct sockaddr_in6 *)ss);
	return is_local4(net, ((const struct sockaddr_in *)ss)->sin_addr.s_addr);
}

/* Sets @ss to loopback address @nr.  Returns false if there is no such address. */
static bool loopback(u32 nr, struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *in = (struct sockaddr_in *)ss;

	if (nr > 1 || (nr && (!IS_ENABLED(CONFIG_IPV6) || !ipv6_mod_enabled())))
		return false;
	memset(ss, 0, sizeof(*ss));
	if (nr) {
		in6->sin6_family = AF_INET6;
		in6->sin6_addr = in6addr_loopback;
	} else {
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	}
	return true;
}

bool lo_addr(const struct dat_dev *dev, u32 port, struct net *net,
	     const struct sockaddr_storage *only, u32 *nr, struct sockaddr_storage *ss)
{
	if (!only->ss_family)
		return loopback(*nr, ss);
	if (*nr || !is_local(net, only))
		return false;
	*ss = *only;
	dat_addr_set_port(ss, 0);
	return true;
}

/* Sets the first number and the count of the ports that unprivileged processes get. */
static void port_range(struct net *net, u32 *first, u32 *n)
{
	int low, high;

	inet_get_local_port_range(net, &low, &high);
	/* An administrator may have set the range below PROT_SOCK. */
	low = max(low, PROT_SOCK);
	*first = low;
	*n = max(high, low) - low + 1;
}

/*
 * Chooses the port number of an end that connects.  The number need not be unique.  Fails with
 * -EPERM if the end must have a privileged port, and the caller may not use one.
 */
static int port_of(const struct dat_ep *ep, u16 *port)
{
	u32 first = DAT_FIRST_PORT, n = PROT_SOCK - DAT_FIRST_PORT;

	if (!(ep->traits & DAT_EP_KERNEL_PORT))
		port_range(ep->obj.ia->net, &first, &n);
	else if (!capable(CAP_NET_BIND_SERVICE))
		return -EPERM;
	*port = first + get_random_u32() % n;
	return 0;
}

/*
 * Sets @src to the address from which an endpoint connects to @dst: to the address of its IA, if it
 * has but one, else to @dst, as with TCP on the same host.  Fails with -ENETUNREACH if one of them
 * is no local address, or with -EPERM; see port_of().
 */
int lo_source(const struct dat_ep *ep, const struct sockaddr_storage *dst,
	      struct sockaddr_storage *src)
{
	const struct dat_ia *ia = ep->obj.ia;
	u16 port = 0;
	int ret;

	*src = ia->addr.ss_family ? ia->addr : *dst;
	if (src->ss_family != dst->ss_family || !is_local(ia->net, dst) || !is_local(ia->net, src))
		return -ENETUNREACH;
	ret = port_of(ep, &port);
	dat_addr_set_port(src, port);
	return ret;
}

/* Listens at any free port.  A user may have taken most of them, so the search may be long. */
static int listen_any(struct dat_psp *psp)
{
	int ret = -EADDRINUSE;
	u32 first, n, start, i;

	port_range(psp->obj.ia->net, &first, &n);
	start = get_random_u32() % n;
	for (i = 0; i < n && ret == -EADDRINUSE && !fatal_signal_pending(current); i++) {
		dat_psp_bound(psp, first + (start + i) % n);
		ret = dat_psp_add(psp);
		cond_resched();
	}
	return ret;
}

/*
 * Listens at a port, or at any free one if @port is 0.  lo_connect() finds the listener in the
 * core's table, so psp->listener stays NULL, and the core stops the listener alone.
 */
int lo_listen(struct dat_psp *psp, u16 port)
{
	if (!port)
		return listen_any(psp);
	if (port < PROT_SOCK && !capable(CAP_NET_BIND_SERVICE))
		return -EPERM;
	dat_psp_bound(psp, port);
	return dat_psp_add(psp);
}
