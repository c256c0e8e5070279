// SPDX-License-Identifier: GPL-2.0
/* RDMA devices: which there are, who may use them, what their addresses are. */
#include <linux/delay.h>
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "core/dat.h"

static DEFINE_MUTEX(dat_dev_lock);
static LIST_HEAD(dat_devs);

/*
 * Drivers that register user memory for a kernel protection domain correctly.
 * Others (irdma, mthca, hns) read a udata that isn't there or map the wrong
 * memory, so a driver has to be known to be good.
 */
static const enum rdma_driver_id dat_good_drivers[] = {
	RDMA_DRIVER_RXE, RDMA_DRIVER_SIW, RDMA_DRIVER_MLX4, RDMA_DRIVER_MLX5,
	RDMA_DRIVER_CXGB4, RDMA_DRIVER_BNXT_RE, RDMA_DRIVER_OCRDMA,
	RDMA_DRIVER_VMW_PVRDMA, RDMA_DRIVER_QEDR, RDMA_DRIVER_HFI1,
	RDMA_DRIVER_QIB, RDMA_DRIVER_ERDMA,
};

static bool dev_driver_good(const struct ib_device *ibdev)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(dat_good_drivers); i++)
		if (ibdev->ops.driver_id == dat_good_drivers[i])
			return true;
	return false;
}

static void dev_release(struct kref *ref)
{
	kfree(container_of(ref, struct dat_dev, ref));
}

struct dat_dev *dat_dev_get(struct dat_dev *dev)
{
	kref_get(&dev->ref);
	return dev;
}

void dat_dev_put(struct dat_dev *dev)
{
	kref_put(&dev->ref, dev_release);
}

static struct net_device *dev_ipoib_rcu(struct ib_device *ibdev, u32 port, struct net *net)
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

/* The interface that an iWARP device is bound to, if its driver does not tell. */
static struct net_device *dev_bound_rcu(struct ib_device *ibdev, struct net *net)
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

/* The network interface behind a port, with a reference, or NULL. */
static struct net_device *dev_netdev(struct ib_device *ibdev, u32 port, struct net *net)
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

/* RoCE: each GID has the network interface that its address is of. */
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

/* A port is for those who live where its network interface lives. */
static bool dev_port_visible(struct ib_device *ibdev, u32 port, struct net *net)
{
	struct net_device *ndev;
	bool visible;
	int i;

	if (!rdma_dev_access_netns(ibdev, net))
		return false;
	if (rdma_protocol_roce(ibdev, port)) {
		for (i = 0; i < ibdev->port_data[port].immutable.gid_tbl_len; i++)
			if (dev_gid_in_net(ibdev, port, i, net))
				return true;
		/* Without a GID it is of no use; let its host see that. */
		return net_eq(net, &init_net) && !dev_has_gids(ibdev, port);
	}
	ndev = dev_netdev(ibdev, port, net);
	visible = net_eq(ndev ? dev_net(ndev) : &init_net, net);
	dev_put(ndev);
	return visible;
}

/* Prefer IPv4, then IPv6 with a wider scope; 0: of no use. */
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

/* RoCE has a GID of the link-local address in any case, also if nobody has that. */
static bool dev_has_addr(struct net_device *ndev, const struct sockaddr_storage *ss)
{
#if IS_ENABLED(CONFIG_IPV6)
	return ipv6_chk_addr(dev_net(ndev), &((const struct sockaddr_in6 *)ss)->sin6_addr,
			     ndev, 1);
#else
	return false;
#endif
}

/* The address behind a GID, if it is of an interface in @net; else of no family. */
static void dev_gid_addr(const struct ib_gid_attr *attr, const struct net *net,
			 struct sockaddr_storage *ss)
{
	struct net_device *ndev;

	memset(ss, 0, sizeof(*ss));
	rdma_gid2ip((struct sockaddr *)ss, &attr->gid);
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	if (IS_ERR(ndev) || !net_eq(dev_net(ndev), net))
		ss->ss_family = AF_UNSPEC;
	else if (addr_rank(ss, AF_INET6) == 1 && !dev_has_addr(ndev, ss))
		ss->ss_family = AF_UNSPEC;
	else if (addr_rank(ss, AF_INET6) == 1)
		((struct sockaddr_in6 *)ss)->sin6_scope_id = ndev->ifindex;
	rcu_read_unlock();
}

/* RoCE: the GID table holds the addresses of the network interface. */
static void dev_addr_roce(const struct dat_ia *ia, sa_family_t family,
			  struct sockaddr_storage *best)
{
	struct ib_device *ibdev = ia->dev->ibdev;
	const struct ib_gid_attr *attr;
	struct sockaddr_storage ss;
	u32 port = ia->port;
	int i;

	for (i = 0; i < ibdev->port_data[port].immutable.gid_tbl_len; i++) {
		attr = rdma_get_gid_attr(ibdev, port, i);
		if (IS_ERR(attr))
			continue;
		dev_gid_addr(attr, ia->net, &ss);
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

/**
 * dat_dev_addr() - find the address of a port
 * @ia: opening of the port
 * @family: AF_INET, AF_INET6, or AF_UNSPEC for the best there is
 * @ss: result, port number 0
 *
 * Return: 0, or -ENETUNREACH while the port has no such address.
 */
int dat_dev_addr(const struct dat_ia *ia, sa_family_t family, struct sockaddr_storage *ss)
{
	struct ib_device *ibdev = ia->dev->ibdev;
	u32 port = ia->port;
	struct net_device *ndev;

	memset(ss, 0, sizeof(*ss));
	if (rdma_protocol_roce(ibdev, port)) {
		dev_addr_roce(ia, family, ss);
	} else if (family != AF_INET6) {
		ndev = dev_netdev(ibdev, port, ia->net);
		if (ndev)
			dev_addr_netdev(ndev, ss);
		dev_put(ndev);
	}
	return ss->ss_family ? 0 : -ENETUNREACH;
}

static void dev_port_name(const struct ib_device *ibdev, u32 port, char *name, size_t len)
{
	if (port == 1)
		strscpy(name, dev_name(&ibdev->dev), len);
	else
		snprintf(name, len, "%s:%u", dev_name(&ibdev->dev), port);
}

/* "<ibdev>" is port 1, "<ibdev>:<port>" any. */
static bool dev_port_matches(struct ib_device *ibdev, u32 port, const char *name)
{
	char full[DAT_NAME_SIZE];

	snprintf(full, sizeof(full), "%s:%u", dev_name(&ibdev->dev), port);
	if (!strcmp(full, name))
		return true;
	return port == 1 && !strcmp(dev_name(&ibdev->dev), name);
}

static struct dat_dev *dev_find(const char *name, struct net *net, u32 *port)
{
	struct dat_dev *dev;
	u32 p;

	lockdep_assert_held(&dat_dev_lock);
	list_for_each_entry(dev, &dat_devs, node) {
		rdma_for_each_port(dev->ibdev, p) {
			if (!dev_port_matches(dev->ibdev, p, name) ||
			    !dev_port_visible(dev->ibdev, p, net))
				continue;
			*port = p;
			return dev_driver_good(dev->ibdev) ? dev : ERR_PTR(-EOPNOTSUPP);
		}
	}
	return ERR_PTR(-ENOENT);
}

/**
 * dat_dev_find() - look an adapter up by name
 * @name: IA name
 * @net: network namespace of the asker
 * @port: result
 *
 * Return: the device with a reference, or an ERR_PTR: -ENOENT unknown or not
 * visible from @net, -EOPNOTSUPP its driver is not known to be good.
 */
struct dat_dev *dat_dev_find(const char *name, struct net *net, u32 *port)
{
	struct dat_dev *found;

	mutex_lock(&dat_dev_lock);
	found = dev_find(name, net, port);
	if (!IS_ERR(found))
		kref_get(&found->ref);
	mutex_unlock(&dat_dev_lock);
	return found;
}

static bool dev_port_active(struct ib_device *ibdev, u32 port)
{
	struct ib_port_attr attr;

	return !ib_query_port(ibdev, port, &attr) && attr.state == IB_PORT_ACTIVE;
}

/**
 * dat_dev_limits() - read what an adapter can do, without opening it
 * @name: IA name
 * @net: network namespace of the asker
 * @limits: result
 *
 * Return: 0, or as dat_dev_find().
 */
int dat_dev_limits(const char *name, struct net *net, struct dat_dev_limits *limits)
{
	const struct ib_device_attr *attrs;
	struct dat_dev *dev;
	int ret = 0;
	u32 port;

	mutex_lock(&dat_dev_lock);
	dev = dev_find(name, net, &port);
	if (IS_ERR(dev)) {
		ret = PTR_ERR(dev);
	} else {
		attrs = &dev->ibdev->attrs;
		limits->max_mr_size = attrs->max_mr_size;
		limits->max_mr = attrs->max_mr;
		limits->max_qp = attrs->max_qp;
		limits->active = dev_port_active(dev->ibdev, port);
	}
	mutex_unlock(&dat_dev_lock);
	return ret;
}

/**
 * dat_dev_nth() - enumerate the adapters that can be opened
 * @net: network namespace of the asker
 * @index: 0, 1, ...
 * @name: result
 * @len: of @name
 * @port: result
 * @active: result: the port is up
 *
 * Return: 0, or -ENOENT beyond the last.
 */
int dat_dev_nth(struct net *net, unsigned int index, char *name, size_t len, u32 *port,
		bool *active)
{
	struct dat_dev *dev;
	int ret = -ENOENT;
	u32 p;

	mutex_lock(&dat_dev_lock);
	list_for_each_entry(dev, &dat_devs, node) {
		rdma_for_each_port(dev->ibdev, p) {
			if (!dev_driver_good(dev->ibdev) ||
			    !dev_port_visible(dev->ibdev, p, net) || index--)
				continue;
			dev_port_name(dev->ibdev, p, name, len);
			*port = p;
			*active = dev_port_active(dev->ibdev, p);
			ret = 0;
			goto out;
		}
	}
out:
	mutex_unlock(&dat_dev_lock);
	return ret;
}

/* False if the device is being removed. */
bool dat_dev_attach(struct dat_dev *dev, struct dat_ia *ia)
{
	bool alive;

	mutex_lock(&dat_dev_lock);
	alive = !list_empty(&dev->node);
	if (alive)
		list_add_tail(&ia->node, &dev->ias);
	mutex_unlock(&dat_dev_lock);
	return alive;
}

void dat_dev_detach(struct dat_ia *ia)
{
	mutex_lock(&dat_dev_lock);
	list_del_init(&ia->node);
	mutex_unlock(&dat_dev_lock);
}

static int dat_client_add(struct ib_device *ibdev)
{
	struct dat_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return -ENOMEM;
	kref_init(&dev->ref);
	dev->ibdev = ibdev;
	INIT_LIST_HEAD(&dev->ias);
	mutex_lock(&dat_dev_lock);
	list_add_tail(&dev->node, &dat_devs);
	mutex_unlock(&dat_dev_lock);
	return 0;
}

static struct dat_ia *dev_first_ia(struct dat_dev *dev)
{
	struct dat_ia *ia;

	mutex_lock(&dat_dev_lock);
	ia = list_first_entry_or_null(&dev->ias, struct dat_ia, node);
	if (ia) {
		list_del_init(&ia->node);
		kref_get(&ia->ref);
	}
	mutex_unlock(&dat_dev_lock);
	return ia;
}

/* Nobody begins to pin memory for the device, so nobody new has to be waited for. */
static void dev_close_ias(struct dat_dev *dev)
{
	struct dat_ia *ia;

	mutex_lock(&dat_dev_lock);
	list_for_each_entry(ia, &dev->ias, node)
		WRITE_ONCE(ia->closing, true);
	mutex_unlock(&dat_dev_lock);
}

/*
 * The device goes.  When this returns nothing of it may be left: every IA is shut
 * down, which tells its consumer, and every CQ that waits to be freed is freed.
 */
static void dat_client_remove(struct ib_device *ibdev, void *client_data)
{
	struct dat_dev *d, *dev = NULL;
	struct dat_ia *ia;

	mutex_lock(&dat_dev_lock);
	list_for_each_entry(d, &dat_devs, node)
		if (d->ibdev == ibdev)
			dev = d;
	if (dev)
		list_del_init(&dev->node);
	mutex_unlock(&dat_dev_lock);
	if (!dev)
		return;

	dev_close_ias(dev);
	while ((ia = dev_first_ia(dev))) {
		/* A close takes the async EVD away under this lock. */
		down_read(&ia->sem);
		dat_ia_async(ia, DAT_EV_ASYNC_CATASTROPHIC, DAT_OBJ_IA, ia->user_data, 0);
		up_read(&ia->sem);
		dat_ia_shutdown(ia);
		dat_ia_put(ia);
	}
	wait_var_event(&dev->zombies, !atomic_read(&dev->zombies));
	dat_dev_put(dev);
}

static struct ib_client dat_client = {
	.name	= "dat",
	.add	= dat_client_add,
	.remove	= dat_client_remove,
};

int dat_dev_init(void)
{
	return ib_register_client(&dat_client);
}

void dat_dev_exit(void)
{
	ib_unregister_client(&dat_client);
}
