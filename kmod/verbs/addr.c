// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Addresses of ports, visibility of ports in network namespaces, and the choice of the source
 * address of a connection.
 */
#include <linux/bsearch.h>
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/ipv6.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "core/addr.h"
#include "core/dat.h"
#include "verbs/verbs.h"

/* Finds the IPoIB interface of an InfiniBand port by GID 0 of the port. */
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

/* Finds the network interface of an iWARP device in @net. */
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

/*
 * Returns the network interface of an InfiniBand or iWARP port, or NULL.  The caller drops the
 * reference.  If the driver has no get_netdev(), or if get_netdev() finds no interface, this
 * function searches @net.
 */
static struct net_device *dev_netdev(struct ib_device *ibdev, u32 port, struct net *net)
{
	struct net_device *ndev = NULL;

	if (ibdev->ops.get_netdev)
		ndev = ibdev->ops.get_netdev(ibdev, port);
	if (ndev)
		return ndev;
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

/*
 * Returns true if @net may use the device and a network interface of the port is in @net.  A port
 * for which no interface is found (with RoCE: no GID) counts as a port in init_net.
 */
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
		/* A port without GIDs cannot connect, but is listed in init_net nevertheless. */
		return net_eq(net, &init_net) && !dev_has_gids(ibdev, port);
	}
	ndev = dev_netdev(ibdev, port, net);
	visible = net_eq(ndev ? dev_net(ndev) : &init_net, net);
	dev_put(ndev);
	return visible;
}

/*
 * Returns false for an IPv6 address if IPv6 is disabled.  With ipv6.disable=1, a RoCE port still
 * has link-local GIDs, but IPv6 has no tables.  ipv6_chk_addr() and rdma_bind_addr() would then
 * dereference a NULL pointer.
 */
static bool addr_family_on(const struct sockaddr_storage *ss)
{
	return ss->ss_family != AF_INET6 || ipv6_mod_enabled();
}

/*
 * Returns true if an interface has the IPv6 address @ss.  @banned: IFA_F_* flags that the address
 * must not have.
 */
static bool has_addr6(struct net *net, const struct sockaddr_storage *ss, u32 banned)
{
	bool has = false;

#if IS_ENABLED(CONFIG_IPV6)
	const struct sockaddr_in6 *in6 = (const void *)ss;
	struct net_device *ndev = NULL;

	rcu_read_lock();
	if (in6->sin6_scope_id)
		ndev = dev_get_by_index_rcu(net, in6->sin6_scope_id);
	if (ndev || !in6->sin6_scope_id)
		has = ipv6_chk_addr_and_flags(net, &in6->sin6_addr, ndev, !ndev, 1, banned);
	rcu_read_unlock();
#endif
	return has;
}

/*
 * Returns true if @ss is an address of an interface in @net, and not a tentative IPv6 address.
 * Like rdma_bind_addr(), also finds an IPv4 address of an interface in a VRF.
 */
bool verbs_addr_usable(struct net *net, const struct sockaddr_storage *ss)
{
	const struct sockaddr_in *in = (const void *)ss;
	bool found;

	if (ss->ss_family == AF_INET) {
		rcu_read_lock();
		found = __ip_dev_find(net, in->sin_addr.s_addr, false);
		rcu_read_unlock();
		return found;
	}
	return ipv6_mod_enabled() && has_addr6(net, ss, IFA_F_TENTATIVE);
}

/*
 * Converts a GID to the address of an interface in @net.  Returns false if there is no such
 * address.
 */
static bool gid_addr(const struct ib_gid_attr *attr, struct net *net, struct sockaddr_storage *ss)
{
	struct net_device *ndev;
	bool found;

	memset(ss, 0, sizeof(*ss));
	rdma_gid2ip((struct sockaddr *)ss, &attr->gid);
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	found = !IS_ERR(ndev) && net_eq(dev_net(ndev), net) && addr_family_on(ss);
	if (found && dat_addr_is_link_local(ss)) {
		((struct sockaddr_in6 *)ss)->sin6_scope_id = ndev->ifindex;
		/* RoCE adds a link-local GID even if no interface has that address. */
		found = has_addr6(net, ss, 0);
	}
	rcu_read_unlock();
	return found;
}

/*
 * Finds the first entry of a RoCE port's GID table, at index *@nr or higher, that is the address of
 * an interface in @net.  Sets *@nr to the index of the entry.  Returns false if there is none.
 */
static bool addr_roce(struct ib_device *ibdev, u32 port, struct net *net, u32 *nr,
		      struct sockaddr_storage *ss)
{
	const struct ib_gid_attr *attr;
	bool found;

	for (; *nr < ibdev->port_data[port].immutable.gid_tbl_len; ++*nr) {
		attr = rdma_get_gid_attr(ibdev, port, *nr);
		if (IS_ERR(attr))
			continue;
		found = gid_addr(attr, net, ss);
		rdma_put_gid_attr(attr);
		if (found)
			return true;
	}
	return false;
}

/* A range of the numbered addresses of an interface. */
struct addr_range {
	struct sockaddr_storage	*out;	/* array for @max addresses, which is zeroed */
	u32			first;	/* number of the address for @out[0] */
	u32			max;
	u32			n;	/* number of addresses seen so far */
};

/* Counts an address.  Returns its place in the array, or NULL if the range excludes it. */
static struct sockaddr_storage *range_next(struct addr_range *r)
{
	u32 i = r->n++ - r->first;

	return i < r->max ? &r->out[i] : NULL;
}

static void netdev_addrs4(struct net_device *ndev, struct addr_range *r)
{
	struct in_device *in_dev = __in_dev_get_rcu(ndev);
	const struct in_ifaddr *ifa;
	struct sockaddr_in *in;

	if (!in_dev)
		return;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		in = (struct sockaddr_in *)range_next(r);
		if (!in)
			continue;
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = ifa->ifa_local;
	}
}

static void netdev_addrs6(struct net_device *ndev, struct addr_range *r)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct inet6_dev *in6_dev = __in6_dev_get(ndev);
	const struct inet6_ifaddr *ifa;
	struct sockaddr_storage *ss;
	struct sockaddr_in6 *in6;

	if (!in6_dev)
		return;
	list_for_each_entry_rcu(ifa, &in6_dev->addr_list, if_list) {
		ss = range_next(r);
		if (!ss)
			continue;
		in6 = (struct sockaddr_in6 *)ss;
		in6->sin6_family = AF_INET6;
		in6->sin6_addr = ifa->addr;
		if (dat_addr_is_link_local(ss))
			in6->sin6_scope_id = ndev->ifindex;
	}
#endif
}

/*
 * Copies the addresses of an interface, IPv4 before IPv6, from number @first on, but at most @max.
 * Returns the number of addresses that the interface has.
 */
static u32 netdev_addrs(struct net_device *ndev, u32 first, struct sockaddr_storage *out, u32 max)
{
	struct addr_range r = { .out = out, .first = first, .max = max };

	memset(out, 0, max * sizeof(*out));
	rcu_read_lock();
	netdev_addrs4(ndev, &r);
	netdev_addrs6(ndev, &r);
	rcu_read_unlock();
	return r.n;
}

/* Finds an address as verbs_addr() does, even if the address is still tentative. */
static bool find_addr(const struct dat_dev *dev, u32 port, struct net *net, u32 *nr,
		      struct sockaddr_storage *ss)
{
	struct net_device *ndev;
	bool found;

	if (rdma_protocol_roce(verbs_device(dev), port))
		return addr_roce(verbs_device(dev), port, net, nr, ss);
	ndev = dev_netdev(verbs_device(dev), port, net);
	found = ndev && net_eq(dev_net(ndev), net) && netdev_addrs(ndev, *nr, ss, 1) > *nr;
	dev_put(ndev);
	return found;
}

bool verbs_addr(const struct dat_dev *dev, u32 port, struct net *net,
		const struct sockaddr_storage *only, u32 *nr, struct sockaddr_storage *ss)
{
	for (; find_addr(dev, port, net, nr, ss); ++*nr)
		if (verbs_addr_usable(net, ss))
			return true;
	return false;
}

/* Copies at most @max addresses of a port.  Returns the number of addresses that the port has. */
static u32 addrs_copy(const struct dat_dev *dev, u32 port, struct net *net,
		      struct sockaddr_storage *out, u32 max)
{
	struct ib_device *ibdev = verbs_device(dev);
	struct sockaddr_storage ss;
	struct net_device *ndev;
	u32 nr, n = 0;

	if (!rdma_protocol_roce(ibdev, port)) {
		ndev = dev_netdev(ibdev, port, net);
		if (ndev && net_eq(dev_net(ndev), net))
			n = netdev_addrs(ndev, 0, out, max);
		dev_put(ndev);
		return n;
	}
	for (nr = 0; addr_roce(ibdev, port, net, &nr, &ss); nr++)
		if (n++ < max)
			out[n - 1] = ss;
	return n;
}

static int addr_cmp(const void *a, const void *b)
{
	return verbs_addr_cmp(a, b);
}

static void addrs_sort(struct verbs_addrs *a)
{
	u32 i, n = 0;

	sort(a->list, a->n, sizeof(*a->list), addr_cmp, NULL);
	for (i = 0; i < a->n; i++)
		if (!n || verbs_addr_cmp(&a->list[n - 1], &a->list[i]))
			a->list[n++] = a->list[i];
	a->n = n;
}

/* Reads the addresses as verbs_addrs_read() does, but in the order of the port. */
static int addrs_list(const struct dat_dev *dev, u32 port, struct net *net, struct verbs_addrs *a)
{
	u32 n = addrs_copy(dev, port, net, NULL, 0);

	*a = (struct verbs_addrs) {};
	if (!n)
		return 0;
	a->list = kvmalloc_array(n, sizeof(*a->list), GFP_KERNEL_ACCOUNT);
	if (!a->list)
		return -ENOMEM;
	/* An address that comes between the two calls is announced later. */
	a->n = min(addrs_copy(dev, port, net, a->list, n), n);
	return 0;
}

/*
 * Reads the addresses of a port in a network namespace, also tentative ones, into @a, sorted and
 * each once.  The caller frees @a with verbs_addrs_free(), also after an error.  May sleep.  Fails
 * with -ENOMEM.
 */
int verbs_addrs_read(const struct dat_dev *dev, u32 port, struct net *net, struct verbs_addrs *a)
{
	int ret = addrs_list(dev, port, net, a);

	if (!ret)
		addrs_sort(a);
	return ret;
}

bool verbs_addrs_same(const struct verbs_addrs *a, const struct verbs_addrs *b)
{
	return a->n == b->n && !memcmp(a->list, b->list, a->n * sizeof(*a->list));
}

void verbs_addrs_free(struct verbs_addrs *a)
{
	kvfree(a->list);
}

static int route4(struct net *net, const struct sockaddr_storage *dst,
		  struct sockaddr_storage *src)
{
	struct sockaddr_in *in = (struct sockaddr_in *)src;
	struct flowi4 fl4 = { .daddr = ((const struct sockaddr_in *)dst)->sin_addr.s_addr };
	struct rtable *rt = ip_route_output_key(net, &fl4);

	if (IS_ERR(rt))
		return PTR_ERR(rt);
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = fl4.saddr;
	ip_rt_put(rt);
	return 0;
}

static int route6(struct net *net, const struct sockaddr_storage *dst,
		  struct sockaddr_storage *src)
{
#if IS_ENABLED(CONFIG_IPV6)
	const struct sockaddr_in6 *to = (const void *)dst;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)src;
	struct flowi6 fl6 = { .daddr = to->sin6_addr, .flowi6_oif = to->sin6_scope_id };
	struct dst_entry *rt;

	if (!ipv6_mod_enabled())
		return -EAFNOSUPPORT;
	rt = ip6_dst_lookup_flow(net, NULL, &fl6, NULL);
	if (IS_ERR(rt))
		return PTR_ERR(rt);
	in6->sin6_family = AF_INET6;
	in6->sin6_addr = fl6.saddr;
	in6->sin6_scope_id = to->sin6_scope_id;
	dst_release(rt);
	return 0;
#else
	return -EAFNOSUPPORT;
#endif
}

/* Sets @src to the source address of the host's route to @dst.  Returns 0 or an errno. */
static int source_of_route(struct net *net, const struct sockaddr_storage *dst,
			   struct sockaddr_storage *src)
{
	memset(src, 0, sizeof(*src));
	return dst->ss_family == AF_INET ? route4(net, dst, src) : route6(net, dst, src);
}

/* Returns true if @ia may connect from @ss, an address of its port. */
static bool ia_may_use(const struct dat_ia *ia, const struct sockaddr_storage *ss)
{
	return (!ia->addr.ss_family || dat_addr_same(&ia->addr, ss)) &&
	       verbs_addr_usable(ia->net, ss);
}

/* Returns the entry of @a, which is sorted, for the address @ss if @ia may use it; or NULL. */
static const struct sockaddr_storage *usable_addr(const struct dat_ia *ia,
						  const struct sockaddr_storage *ss,
						  const struct verbs_addrs *a)
{
	const struct sockaddr_storage *own = bsearch(ss, a->list, a->n, sizeof(*ss), addr_cmp);

	return own && ia_may_use(ia, own) ? own : NULL;
}

/* Returns a usable address of @a that @ndev has in a subnet of @peer; or NULL. */
static const struct sockaddr_storage *neighbour4_rcu(const struct dat_ia *ia,
						     const struct net_device *ndev, __be32 peer,
						     const struct verbs_addrs *a)
{
	struct sockaddr_storage ss = { .ss_family = AF_INET };
	struct in_device *in_dev = __in_dev_get_rcu(ndev);
	const struct sockaddr_storage *own = NULL;
	const struct in_ifaddr *ifa;

	if (!in_dev)
		return NULL;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if (!inet_ifa_match(peer, ifa))
			continue;
		((struct sockaddr_in *)&ss)->sin_addr.s_addr = ifa->ifa_local;
		own = usable_addr(ia, &ss, a);
		if (own)
			break;
	}
	return own;
}

/* Returns a usable address of @a that @ndev has, if @ndev has a prefix of @peer; or NULL. */
static const struct sockaddr_storage *neighbour6_rcu(const struct dat_ia *ia,
						     struct net_device *ndev,
						     const struct in6_addr *peer,
						     const struct verbs_addrs *a)
{
	const struct sockaddr_storage *own = NULL;

#if IS_ENABLED(CONFIG_IPV6)
	struct sockaddr_storage ss = { .ss_family = AF_INET6 };
	struct inet6_dev *in6_dev = __in6_dev_get(ndev);
	const struct inet6_ifaddr *ifa;

	if (!in6_dev || !ipv6_chk_prefix(peer, ndev))
		return NULL;
	list_for_each_entry_rcu(ifa, &in6_dev->addr_list, if_list) {
		((struct sockaddr_in6 *)&ss)->sin6_addr = ifa->addr;
		own = usable_addr(ia, &ss, a);
		if (own)
			break;
	}
#endif
	return own;
}

/* Returns a usable link-local address of @a on the link of @dst; or NULL. */
static const struct sockaddr_storage *neighbour_on_link(const struct dat_ia *ia,
							const struct sockaddr_storage *dst,
							const struct verbs_addrs *a)
{
	u32 link = ((const struct sockaddr_in6 *)dst)->sin6_scope_id;
	const struct sockaddr_storage *ss;

	for (ss = a->list; ss < a->list + a->n; ss++)
		if (dat_addr_is_link_local(ss) &&
		    (!link || link == ((const struct sockaddr_in6 *)ss)->sin6_scope_id) &&
		    ia_may_use(ia, ss))
			return ss;
	return NULL;
}

/*
 * Returns a usable address of @a in a subnet, or on the link, of @dst; or NULL.  Sorts @a.
 *
 * The kernel finds the subnet of an address only by a walk over all addresses of its interface, of
 * which there may be thousands.  So this function walks each interface once, not once for each
 * address of the port.
 */
static const struct sockaddr_storage *find_neighbour(const struct dat_ia *ia,
						     const struct sockaddr_storage *dst,
						     struct verbs_addrs *a)
{
	const struct sockaddr_in6 *in6 = (const void *)dst;
	const struct sockaddr_in *in = (const void *)dst;
	const struct sockaddr_storage *own = NULL;
	struct net_device *ndev;

	if (dat_addr_is_link_local(dst))
		return neighbour_on_link(ia, dst, a);
	addrs_sort(a);
	rcu_read_lock();
	for_each_netdev_rcu(ia->net, ndev) {
		if (dst->ss_family == AF_INET)
			own = neighbour4_rcu(ia, ndev, in->sin_addr.s_addr, a);
		else
			own = neighbour6_rcu(ia, ndev, &in6->sin6_addr, a);
		if (own)
			break;
	}
	rcu_read_unlock();
	return own;
}

/*
 * Chooses from @a, and may sort @a; see verbs_source().  Calls ia_may_use() last, and so for few
 * addresses: the lists of the hash table that it searches grow with the addresses of the host.
 */
static int choose_source(const struct dat_ia *ia, const struct sockaddr_storage *dst,
			 const struct sockaddr_storage *of_route, struct verbs_addrs *a,
			 struct sockaddr_storage *src)
{
	const struct sockaddr_storage *ss;
	int rank, best_rank = 0;

	for (ss = a->list; ss < a->list + a->n; ss++) {
		if (dat_addr_same(ss, of_route) && ia_may_use(ia, ss)) {
			*src = *ss;
			return 0;
		}
		rank = dat_addr_rank(ss, dst->ss_family);
		if (rank <= best_rank || !ia_may_use(ia, ss))
			continue;
		*src = *ss;
		best_rank = rank;
	}
	if (!best_rank)
		return -ENETUNREACH;
	ss = find_neighbour(ia, dst, a);
	if (ss)
		*src = *ss;
	return 0;
}

/*
 * Sets @src to the address of a RoCE port that equals @of_route.  Returns false if there is none,
 * or if @ia may not connect from it.  The few addresses of most ports stand at the beginning of the
 * table of GIDs, which has hundreds of entries.
 */
static bool roce_source(const struct dat_ia *ia, const struct sockaddr_storage *of_route,
			struct sockaddr_storage *src)
{
	struct ib_device *ibdev = verbs_device(ia->dev);
	u32 nr;

	if (!rdma_protocol_roce(ibdev, ia->port))
		return false;
	for (nr = 0; addr_roce(ibdev, ia->port, ia->net, &nr, src); nr++)
		if (dat_addr_same(src, of_route))
			return ia_may_use(ia, src);
	return false;
}

/*
 * Sets @src to the address of a locked IA from which to connect to @dst.  The choices, in this
 * order, are:
 *
 * - the source address of the route to @dst, if the IA has that address;
 * - an address of the IA in a subnet of @dst, because the route may lead through another adapter in
 *   the same subnet;
 * - the address of the family of @dst for which dat_addr_rank() is highest.
 *
 * A process connects as often as it likes, and the port may have thousands of addresses, so this
 * reads them at most twice.  Fails with -ENETUNREACH if the IA has no address of the family of
 * @dst, or with -ENOMEM.
 */
int verbs_source(const struct dat_ia *ia, const struct sockaddr_storage *dst,
		 struct sockaddr_storage *src)
{
	struct sockaddr_storage of_route;
	struct verbs_addrs a;
	int ret;

	lockdep_assert_held(&ia->sem);
	if (source_of_route(ia->net, dst, &of_route))
		of_route.ss_family = AF_UNSPEC;
	else if (roce_source(ia, &of_route, src))
		return 0;
	ret = addrs_list(ia->dev, ia->port, ia->net, &a);
	if (!ret)
		ret = choose_source(ia, dst, &of_route, &a, src);
	verbs_addrs_free(&a);
	return ret;
}
