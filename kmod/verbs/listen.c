// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Listeners.  A listener has an rdma_cm id for each address of the adapter that psp->addr allows,
 * because the wildcard address of rdma_cm covers all devices of the host.  When the adapter gets or
 * loses such an address, the listener makes or destroys an id.
 */
#include <linux/capability.h>
#include <linux/inetdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/sock.h>
#include <rdma/rdma_cm.h>

#include "core/addr.h"
#include "core/dat.h"
#include "core/ep/psp.h"
#include "lib/log.h"
#include "verbs/verbs.h"

#define CM_BACKLOG	128	/* limit of waiting requests in the iWARP CM; other CMs ignore it */
#define ANY_TRIES	8	/* attempts to find a port number that is free at all addresses */
#define EVENT_DELAY	(HZ / 10UL)	/* time from the last change to a check of the addresses */
/* Limits of the time before a listener tries an address again; the time doubles at each failure. */
#define FIRST_RETRY	(HZ * 1UL)
#define LAST_RETRY	(HZ * 60UL)

/* A listener of the verbs transport. */
struct verbs_listener {
	struct dat_psp		*psp;
	u16			port;	/* port number; 0 until the first bind has chosen one */
	/*
	 * List of struct listen_point.  Needs no lock: used by verbs_listen(), then only by @work,
	 * and after the end of @work by verbs_unlisten().
	 */
	struct list_head	points;
	struct delayed_work	work;	/* follows the addresses of the adapter */
	unsigned long		retry;	/* last retry delay in jiffies; 0: no address has failed */
	struct list_head	node;	/* entry in listeners; protected by listeners_lock */
};

/* An address at which a listener listens. */
struct listen_point {
	struct list_head	node;	/* entry in verbs_listener.points */
	struct sockaddr_storage	addr;	/* address without a port number */
	struct rdma_cm_id	*id;
	bool			seen;	/* flag: the running follow() has found the address */
};

/* List of all listeners.  Address notifiers may take the lock in softirq context. */
static LIST_HEAD(listeners);
static DEFINE_SPINLOCK(listeners_lock);

/*
 * Schedules the work items of listeners, which check the addresses EVENT_DELAY after the last call.
 * @net: network namespace of the listeners, or NULL for all namespaces.  @ibdev: device of the
 * listeners, or NULL for all devices.  Context: any but hard interrupt.
 */
void verbs_addrs_changed(const struct net *net, const struct ib_device *ibdev)
{
	struct verbs_listener *l;

	spin_lock_bh(&listeners_lock);
	list_for_each_entry(l, &listeners, node) {
		const struct dat_ia *ia = l->psp->obj.ia;

		if ((!net || net_eq(net, ia->net)) && (!ibdev || ibdev == verbs_device(ia->dev)))
			mod_delayed_work(dat_wq, &l->work, EVENT_DELAY);
	}
	spin_unlock_bh(&listeners_lock);
}

/*
 * Converts an error of rdma_bind_addr() or rdma_listen() to the errno that <rdma/dat_ioctl.h>
 * documents.  Returns -EAGAIN if @addr is still tentative or was removed.
 */
static int listen_error(struct net *net, const struct sockaddr_storage *addr, int err)
{
	if (err == -EADDRNOTAVAIL)
		return verbs_addr_usable(net, addr) ? -EADDRINUSE : -EAGAIN;
	return err == -EACCES ? -EPERM : err;
}

/*
 * Makes @id listen at an address, and chooses the listener's port number if none is chosen yet.
 * Fails with -ENODEV if rdma_cm finds another device or adapter port for the address, or no device.
 */
static int id_listen(struct verbs_listener *l, struct rdma_cm_id *id,
		     const struct sockaddr_storage *addr)
{
	const struct dat_ia *ia = l->psp->obj.ia;
	struct sockaddr_storage at = *addr;
	int ret;

	dat_addr_set_port(&at, l->port);
	ret = rdma_bind_addr(id, (struct sockaddr *)&at);
	if (ret)
		return listen_error(ia->net, addr, ret);
	/* If two devices have the address, rdma_cm may have bound @id to the other device. */
	if (id->device != verbs_device(ia->dev) || id->port_num != ia->port)
		return -ENODEV;
	if (!l->port) {
		l->port = dat_addr_port(&id->route.addr.src_addr);
		dat_psp_bound(l->psp, l->port);
	}
	ret = rdma_listen(id, CM_BACKLOG);
	return ret ? listen_error(ia->net, addr, ret) : 0;
}

static int point_add(struct verbs_listener *l, const struct sockaddr_storage *addr)
{
	struct listen_point *p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	struct rdma_cm_id *id;
	int ret;

	if (!p)
		return -ENOMEM;
	id = rdma_create_id(l->psp->obj.ia->net, verbs_request_handler, l->psp, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id)) {
		ret = PTR_ERR(id);
		goto err_free;
	}
	ret = id_listen(l, id, addr);
	if (ret)
		goto err_destroy;
	p->addr = *addr;
	p->id = id;
	p->seen = true;
	list_add_tail(&p->node, &l->points);
	return 0;

err_destroy:
	rdma_destroy_id(id);
err_free:
	kfree(p);
	return ret;
}

static void point_remove(struct listen_point *p)
{
	list_del(&p->node);
	rdma_destroy_id(p->id);
	kfree(p);
}

static void points_remove(struct verbs_listener *l)
{
	struct listen_point *p, *next;

	list_for_each_entry_safe(p, next, &l->points, node)
		point_remove(p);
}

static struct listen_point *point_find(struct verbs_listener *l,
				       const struct sockaddr_storage *addr)
{
	struct listen_point *p;

	list_for_each_entry(p, &l->points, node)
		if (dat_addr_same(&p->addr, addr))
			return p;
	return NULL;
}

/*
 * Returns true if a work item can listen for @ia.  siw listens in the network namespace of the
 * calling task, which is init_net in a work item.  So an iWARP listener of another namespace keeps
 * the addresses that verbs_listen() has found.
 */
static bool may_follow(const struct dat_ia *ia)
{
	return !ia->iwarp || net_eq(ia->net, &init_net);
}

/*
 * Listens at an address of the adapter.  Does nothing if psp->addr excludes the address, or if the
 * listener already listens there.
 */
static int follow_addr(struct verbs_listener *l, const struct sockaddr_storage *addr)
{
	const struct dat_psp *psp = l->psp;
	struct listen_point *p;
	int ret;

	if (psp->addr.ss_family && !dat_addr_same(&psp->addr, addr))
		return 0;
	p = point_find(l, addr);
	if (p) {
		p->seen = true;
		return 0;
	}
	ret = point_add(l, addr);
	/*
	 * Log a failure only in the first attempt of follow_work(), not in a retry.  A failure in
	 * verbs_listen(), or a tentative address, need not be logged if follow_work() soon tries
	 * the address again.
	 */
	if (ret && ret != -ENODEV && !l->retry &&
	    (!may_follow(psp->obj.ia) || (psp->listener && ret != -EAGAIN)))
		dat_log("%s: port %u does not listen at %pISc: error %d", psp->obj.ia->name,
			l->port, addr, ret);
	return ret;
}

/* Returns true for an error that ends the creation of a listener, even if other addresses work. */
static bool is_refusal(int err)
{
	return err == -EADDRINUSE || err == -EPERM || err == -ENOMEM;
}

/*
 * Makes the listener listen at exactly the addresses of the adapter that psp->addr allows.  Returns
 * 0, or the error of an address that fails; the listener then listens at the other addresses.  If
 * several addresses fail, an error for which is_refusal() is true takes precedence.  May sleep.
 */
static int follow(struct verbs_listener *l)
{
	const struct dat_ia *ia = l->psp->obj.ia;
	struct listen_point *p, *next;
	struct sockaddr_storage ss;
	int ret, err = 0;
	u32 nr;

	list_for_each_entry(p, &l->points, node)
		p->seen = false;
	for (nr = 0; verbs_find_addr(ia->dev, ia->port, ia->net, &nr, &ss); nr++) {
		ret = follow_addr(l, &ss);
		if (ret && !is_refusal(err))
			err = ret;
	}
	list_for_each_entry_safe(p, next, &l->points, node)
		if (!p->seen)
			point_remove(p);
	return err;
}

/*
 * Follows the addresses of the adapter.  If an address fails, the work item queues itself again,
 * because no event tells that a tentative address can be used or that a port number is free again.
 */
static void follow_work(struct work_struct *work)
{
	struct verbs_listener *l = container_of(to_delayed_work(work), struct verbs_listener, work);
	const struct dat_ia *ia = l->psp->obj.ia;

	if (!may_follow(ia))
		return;
	if (!follow(l)) {
		l->retry = 0;
		return;
	}
	l->retry = clamp(2 * l->retry, FIRST_RETRY, LAST_RETRY);
	queue_delayed_work(dat_wq, &l->work, l->retry);
}

/*
 * Begins to listen at all addresses.  A tentative address is no error, because follow_work() tries
 * the address later.  An address at which the device cannot listen, or for which rdma_cm finds
 * another device (-ENODEV), is no error if the listener listens at another address.  If l->port is
 * 0, at least one address must work, because the first bind chooses the port number.
 */
static int listen_first(struct verbs_listener *l)
{
	int ret = follow(l);

	if (ret == -EAGAIN || (!is_refusal(ret) && !list_empty(&l->points)))
		ret = 0;
	if (!ret && !l->port)
		ret = -ENETUNREACH;
	if (ret)
		points_remove(l);
	return ret == -ENODEV ? -ENETUNREACH : ret;
}

int verbs_listen(struct dat_psp *psp, u16 port)
{
	struct verbs_listener *l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	unsigned int tries;
	int ret;

	if (!l)
		return -ENOMEM;
	/* Check here, because rdma_cm may see only the worker thread that runs follow_work(). */
	if (port && port < PROT_SOCK && !capable(CAP_NET_BIND_SERVICE)) {
		kfree(l);
		return -EPERM;
	}
	l->psp = psp;
	INIT_LIST_HEAD(&l->points);
	INIT_DELAYED_WORK(&l->work, follow_work);
	if (port)
		dat_psp_bound(psp, port);
	/* rdma_cm chooses a number that is free at the first address, but perhaps not at others. */
	for (tries = 0; tries < ANY_TRIES; tries++) {
		l->port = port;
		ret = listen_first(l);
		if (port || ret != -EADDRINUSE)
			break;
	}
	if (ret) {
		kfree(l);
		return ret;
	}
	psp->listener = l;
	spin_lock_bh(&listeners_lock);
	list_add_tail(&l->node, &listeners);
	/* Check again: an address may have come after listen_first() and before list_add_tail(). */
	queue_delayed_work(dat_wq, &l->work, 0);
	spin_unlock_bh(&listeners_lock);
	return 0;
}

void verbs_unlisten(struct dat_psp *psp)
{
	struct verbs_listener *l = psp->listener;

	spin_lock_bh(&listeners_lock);
	list_del(&l->node);
	spin_unlock_bh(&listeners_lock);
	cancel_delayed_work_sync(&l->work);
	points_remove(l);
	psp->listener = NULL;
	kfree(l);
}

static int addr4_event(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct in_ifaddr *ifa = data;

	verbs_addrs_changed(dev_net(ifa->ifa_dev->dev), NULL);
	return NOTIFY_DONE;
}

static struct notifier_block addr4_nb = { .notifier_call = addr4_event };

#if IS_ENABLED(CONFIG_IPV6)
static int addr6_event(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct inet6_ifaddr *ifa = data;

	verbs_addrs_changed(dev_net(ifa->idev->dev), NULL);
	return NOTIFY_DONE;
}

static struct notifier_block addr6_nb = { .notifier_call = addr6_event };
#endif

/*
 * Registers notifiers for the addresses of network interfaces.  The GIDs of a RoCE port change
 * later than the addresses, and device_event() then calls verbs_addrs_changed() again.
 */
int verbs_listen_init(void)
{
	int ret = register_inetaddr_notifier(&addr4_nb);

	if (ret)
		return ret;
#if IS_ENABLED(CONFIG_IPV6)
	ret = register_inet6addr_notifier(&addr6_nb);
	if (ret)
		unregister_inetaddr_notifier(&addr4_nb);
#endif
	return ret;
}

void verbs_listen_exit(void)
{
#if IS_ENABLED(CONFIG_IPV6)
	unregister_inet6addr_notifier(&addr6_nb);
#endif
	unregister_inetaddr_notifier(&addr4_nb);
}
