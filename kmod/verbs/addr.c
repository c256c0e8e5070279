// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Addresses of ports, and visibility of ports in network namespaces. */
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/ipv6.h>
#include <net/addrconf.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "core/dat.h"
#include "verbs/verbs.h"

static struct net_device *dev_ipoib_rcu(struct ib_device *ibdev, u32 port,
					const struct net *net)
{
	struct net_device *ndev;
	union ib_gid gid;

	if (rdma_query_gid(ibdev, port, 0, &gid))
		return NULL;
	for_each_netdev_rcu(net, ndev)
		if (ndev->type == ARPHRD_INFINIBAND &&
		    !memcmp(ndev->dev_addr + 4, &gid, sizeof(gid)))
			return ndev;
	return NULL;
}

/* Finds the network interface of an iWARP device whose driver has no get_netdev(). */
static struct net_device *dev_bound_rcu(struct ib_device *ibdev, const struct net *net)
{
	struct net_device *ndev;
	struct ib_device *found;

	for_each_netdev_rcu(net, ndev) {
		found = ib_device_get_by_netdev(ndev, ibdev->ops.driver_id);
		if (!found)
			continue;
		ib_device_put(found);
		if (found == ibdev)
			return ndev;
	}
	return NULL;
}

/* Returns the network interface of a port, or NULL.  The caller drops the reference. */
static struct net_device *dev_netdev(struct ib_device *ibdev, u32 port,
				     const struct net *net)
{
	struct net_device *ndev;

	if (ibdev->ops.get_netdev)
		return ibdev->ops.get_netdev(ibdev, port);
	rcu_read_lock();
	ndev = rdma_protocol_iwarp(ibdev, port) ? dev_bound_rcu(ibdev, net) :
						 dev_ipoib_rcu(ibdev, port, net);
	dev_hold(ndev);
	rcu_read_unlock();
	return ndev;
}

static bool dev_has_gids(struct ib_device *ibdev, u32 port)
{
	const struct ib_gid_attr *attr;
	bool any = false;
	int i;

	for (i = 0; !any && i < ibdev->port_data[port].immutable.gid_tbl_len; i++) {
		attr = rdma_get_gid_attr(ibdev, port, i);
		any = !IS_ERR(attr);
		if (any)
			rdma_put_gid_attr(attr);
	}
	return any;
}

/* Returns true if the network interface of the RoCE GID @i is in @net. */
static bool dev_gid_in_net(struct ib_device *ibdev, u32 port, int i, const struct net *net)
{
	const struct ib_gid_attr *attr = rdma_get_gid_attr(ibdev, port, i);
	struct net_device *ndev;
	bool ours;

	if (IS_ERR(attr))
		return false;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	ours = !IS_ERR(ndev) && net_eq(dev_net(ndev), net);
	rcu_read_unlock();
	rdma_put_gid_attr(attr);
	return ours;
}

/* Returns true if the network interface of the port is in @net. */
bool verbs_port_visible(const struct dat_dev *dev, u32 port, struct net *net)
{
	struct ib_device *ibdev = verbs_device(dev);
	struct net_device *ndev;
	bool visible;
	int i;

	if (!rdma_dev_access_netns(ibdev, net))
		return false;
	if (rdma_protocol_roce(ibdev, port)) {
		for (i = 0; i < ibdev->port_data[port].immutable.gid_tbl_len; i++)
			if (dev_gid_in_net(ibdev, port, i, net))
				return true;
		/* A port without GIDs cannot connect.  List the port in init_net nevertheless. */
		return net_eq(net, &init_net) && !dev_has_gids(ibdev, port);
	}
	ndev = dev_netdev(ibdev, port, net);
	visible = net_eq(ndev ? dev_net(ndev) : &init_net, net);
	dev_put(ndev);
	return visible;
}

/* Ranks an address: IPv4 is 3, IPv6 is 2, link-local IPv6 is 1, and an unusable address is 0. */
static int addr_rank(const struct sockaddr_storage *ss, sa_family_t family)
{
	const struct sockaddr_in6 *in6 = (const void *)ss;

	if (family && ss->ss_family != family)
		return 0;
	if (ss->ss_family == AF_INET)
		return 3;
	if (ss->ss_family != AF_INET6)
		return 0;
	return ipv6_addr_type(&in6->sin6_addr) & IPV6_ADDR_LINKLOCAL ? 1 : 2;
}

/*
 * Returns true if @ndev has the IPv6 address @ss.  RoCE adds a link-local GID even if no interface
 * has that address.
 */
static bool dev_has_addr(struct net_device *ndev, const struct sockaddr_storage *ss)
{
#if IS_ENABLED(CONFIG_IPV6)
	return ipv6_chk_addr(dev_net(ndev), &((const struct sockaddr_in6 *)ss)->sin6_addr,
			     ndev, 1);
#else
	return false;
#endif
}

/*
 * Returns false for an IPv6 address if IPv6 is disabled.  With ipv6.disable=1 a RoCE port still has
 * link-local GIDs, but IPv6 has no tables, so ipv6_chk_addr() and rdma_bind_addr() would
 * dereference a NULL pointer.
 */
static bool addr_family_on(const struct sockaddr_storage *ss)
{
	return ss->ss_family != AF_INET6 || ipv6_mod_enabled();
}

/*
 * Converts a GID to an address.  Sets AF_UNSPEC if no interface in @net has the GID, or if the GID
 * is an IPv6 address and IPv6 is disabled.
 */
static void dev_gid_addr(const struct ib_gid_attr *attr, const struct net *net,
			 struct sockaddr_storage *ss)
{
	struct net_device *ndev;

	memset(ss, 0, sizeof(*ss));
	rdma_gid2ip((struct sockaddr *)ss, &attr->gid);
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	if (IS_ERR(ndev) || !net_eq(dev_net(ndev), net) || !addr_family_on(ss))
		ss->ss_family = AF_UNSPEC;
	else if (addr_rank(ss, AF_INET6) == 1 && !dev_has_addr(ndev, ss))
		ss->ss_family = AF_UNSPEC;
	else if (addr_rank(ss, AF_INET6) == 1)
		((struct sockaddr_in6 *)ss)->sin6_scope_id = ndev->ifindex;
	rcu_read_unlock();
}

/* Sets @best to the address with the highest rank in the GID table of a RoCE port. */
static void dev_addr_roce(struct ib_device *ibdev, u32 port, const struct net *net,
			  sa_family_t family, struct sockaddr_storage *best)
{
	const struct ib_gid_attr *attr;
	struct sockaddr_storage ss;
	int i;

	for (i = 0; i < ibdev->port_data[port].immutable.gid_tbl_len; i++) {
		attr = rdma_get_gid_attr(ibdev, port, i);
		if (IS_ERR(attr))
			continue;
		dev_gid_addr(attr, net, &ss);
		rdma_put_gid_attr(attr);
		if (addr_rank(&ss, family) > addr_rank(best, family))
			*best = ss;
	}
}

static void dev_addr_netdev(struct net_device *ndev, struct sockaddr_storage *best)
{
	struct sockaddr_in *in = (struct sockaddr_in *)best;
	const struct in_ifaddr *ifa;
	struct in_device *in_dev;

	rcu_read_lock();
	in_dev = __in_dev_get_rcu(ndev);
	ifa = in_dev ? rcu_dereference(in_dev->ifa_list) : NULL;
	if (ifa) {
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = ifa->ifa_local;
	}
	rcu_read_unlock();
}

/*
 * Gets the address of a port: with RoCE from the GID table, else from the network interface.  Sets
 * AF_UNSPEC if the port has no address of @family.
 */
void verbs_addr(const struct dat_dev *dev, u32 port, const struct net *net,
		sa_family_t family, struct sockaddr_storage *ss)
{
	struct net_device *ndev;

	memset(ss, 0, sizeof(*ss));
	if (rdma_protocol_roce(verbs_device(dev), port)) {
		dev_addr_roce(verbs_device(dev), port, net, family, ss);
	} else if (family != AF_INET6) {
		ndev = dev_netdev(verbs_device(dev), port, net);
		if (ndev)
			dev_addr_netdev(ndev, ss);
		dev_put(ndev);
	}
}
