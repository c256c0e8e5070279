// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Listeners.  A listener has an rdma_cm id for each address of the adapter that psp->addr allows,
 * because the wildcard address of rdma_cm covers all devices of the host.  When the adapter gets or
 * loses such an address, the listener makes or destroys an id.
 *
 * Events about addresses come from every network namespace, in softirq or with rtnl_lock held.  So
 * an event costs no more than one work item for each adapter that it may concern, however many
 * listeners there are.  The work item visits listeners only if the addresses differ.
 */
#include <linux/capability.h>
#include <linux/hashtable.h>
#include <linux/inetdevice.h>
#include <linux/slab.h>
#include <linux/wait.h>
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
#define EVENT_DELAY	(HZ / 10UL)	/* time from an event to the check of the addresses */
/* Limits of the time before a listener tries an address again; the time doubles at each failure. */
#define FIRST_RETRY	(HZ * 1UL)
#define LAST_RETRY	(HZ * 60UL)

/* The listeners of an adapter in a network namespace, and the addresses that they follow. */
struct listen_watch {
	struct hlist_node	node;		/* entry in watches; watches_lock */
	struct list_head	dev_node;	/* entry in verbs_dev.watches; watches_lock */
	unsigned int		users;		/* number of listeners; watches_lock */
	struct dat_dev		*dev;
	u32			port;
	struct net		*net;
	struct delayed_work	work;		/* reads the addresses and updates the listeners */
	bool			queued;		/* @work will run at @due; watches_lock */
	unsigned long		due;		/* time in jiffies; watches_lock */
	struct verbs_addrs	addrs;		/* result of the last read; written by @work */
	wait_queue_head_t	idle;		/* wakes watch_leave() */
	struct mutex		lock;		/* lock of the members below and of l->busy */
	struct list_head	updated;	/* listeners that listen at @addrs */
	struct list_head	stale;		/* listeners that have to be updated */
	unsigned long		retry;		/* last retry delay in jiffies; 0: none */
};

/* A listener of the verbs transport. */
struct verbs_listener {
	struct dat_psp		*psp;
	u16			port;	/* port number; 0 until the first bind has chosen one */
	/*
	 * List of struct listen_point, sorted by address.  Needs no lock: used by verbs_listen(),
	 * then only by the work item of @watch, and after watch_leave() by verbs_unlisten().
	 */
	struct list_head	points;
	struct listen_watch	*watch;	/* NULL if the listener keeps its first addresses */
	struct list_head	node;	/* entry in a list of @watch; empty after watch_leave() */
	bool			busy;	/* flag: the work item of @watch uses the listener */
	bool			failed;	/* flag: the last update has failed at an address */
};

/* An address at which a listener listens. */
struct listen_point {
	struct list_head	node;	/* entry in verbs_listener.points */
	struct sockaddr_storage	addr;	/* address without a port number */
	struct rdma_cm_id	*id;
};

/* All watches, by network namespace.  Address notifiers may take the lock in softirq context. */
static DEFINE_HASHTABLE(watches, 8);
static DEFINE_SPINLOCK(watches_lock);

/*
 * Makes the work item of a watch run after @delay, or earlier if it is queued for an earlier time:
 * events that go on must not postpone it.
 */
static void watch_queue(struct listen_watch *w, unsigned long delay)
{
	unsigned long due = jiffies + delay;

	lockdep_assert_held(&watches_lock);
	if (w->queued && time_after_eq(due, w->due))
		return;
	w->queued = true;
	w->due = due;
	mod_delayed_work(dat_wq, &w->work, delay);
}

/* Checks the addresses of a network namespace soon.  Context: any but hard interrupt. */
static void net_addrs_changed(const struct net *net)
{
	struct listen_watch *w;

	spin_lock_bh(&watches_lock);
	hash_for_each_possible(watches, w, node, (unsigned long)net)
		if (net_eq(w->net, net))
			watch_queue(w, EVENT_DELAY);
	spin_unlock_bh(&watches_lock);
}

/* Checks the addresses of an adapter soon, in all network namespaces that have listeners of it. */
void verbs_addrs_changed(struct verbs_dev *vdev, u32 port)
{
	struct listen_watch *w;

	spin_lock_bh(&watches_lock);
	list_for_each_entry(w, &vdev->watches, dev_node)
		if (w->port == port)
			watch_queue(w, EVENT_DELAY);
	spin_unlock_bh(&watches_lock);
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

/* Listens at @addr.  @next: entry of l->points before which the new point is added. */
static int point_add(struct verbs_listener *l, const struct sockaddr_storage *addr,
		     struct list_head *next)
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
	list_add_tail(&p->node, next);
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
 * Listens at an address of the adapter; see point_add().  Logs a failure only in the first update
 * that fails.  A failure in verbs_listen(), or a tentative address, need not be logged if the work
 * item of the watch soon tries the address again.
 */
static int follow_addr(struct verbs_listener *l, const struct sockaddr_storage *addr,
		       struct list_head *next)
{
	const struct dat_psp *psp = l->psp;
	int ret = point_add(l, addr, next);

	if (ret && ret != -ENODEV && !l->failed &&
	    (!l->watch || (psp->listener && ret != -EAGAIN)))
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
 * Removes the points before @addr, or all if @addr is NULL, from @p on.  Returns the point at @addr
 * or after it, which may be the head of the list.
 */
static struct listen_point *points_prune(struct verbs_listener *l, struct listen_point *p,
					 const struct sockaddr_storage *addr)
{
	struct listen_point *next;

	list_for_each_entry_safe_from(p, next, &l->points, node) {
		if (addr && verbs_addr_cmp(&p->addr, addr) >= 0)
			break;
		point_remove(p);
	}
	return p;
}

/*
 * Removes all points.  rdma_cm may free an id that a handler of requests is about to use, unless it
 * is the last id with the port number at the device.  So the points at IPv4 addresses, which get
 * most requests and are the first in the list, go last.
 */
static void points_remove(struct verbs_listener *l)
{
	struct listen_point *p, *prev;

	list_for_each_entry_safe_reverse(p, prev, &l->points, node)
		point_remove(p);
}

/*
 * Makes the listener listen at exactly the addresses of @a that psp->addr allows.  Returns 0, or
 * the error of an address that fails; the listener then listens at the other addresses.  If several
 * addresses fail, an error for which is_refusal() is true takes precedence.  May sleep.
 */
static int follow(struct verbs_listener *l, const struct verbs_addrs *a)
{
	struct listen_point *p = list_first_entry(&l->points, struct listen_point, node);
	const struct sockaddr_storage *only = &l->psp->addr;
	int ret, err = 0;
	u32 i;

	for (i = 0; i < a->n; i++) {
		if (only->ss_family && !dat_addr_same(only, &a->list[i]))
			continue;
		p = points_prune(l, p, &a->list[i]);
		if (!list_entry_is_head(p, &l->points, node) &&
		    !verbs_addr_cmp(&p->addr, &a->list[i])) {
			p = list_next_entry(p, node);
			continue;
		}
		ret = follow_addr(l, &a->list[i], &p->node);
		if (ret && !is_refusal(err))
			err = ret;
	}
	points_prune(l, p, NULL);
	return err;
}

static struct listen_watch *watch_find(const struct dat_ia *ia)
{
	struct listen_watch *w;

	lockdep_assert_held(&watches_lock);
	hash_for_each_possible(watches, w, node, (unsigned long)ia->net)
		if (w->dev == ia->dev && w->port == ia->port && net_eq(w->net, ia->net))
			return w;
	return NULL;
}

/*
 * Updates a listener of a watch.  Drops w->lock meanwhile.  A listener that fails becomes stale.
 * Returns true if it has failed.
 */
static bool watch_update(struct listen_watch *w, struct verbs_listener *l)
{
	lockdep_assert_held(&w->lock);
	WRITE_ONCE(l->busy, true);
	list_move_tail(&l->node, &w->updated);
	mutex_unlock(&w->lock);
	l->failed = follow(l, &w->addrs);
	cond_resched();
	mutex_lock(&w->lock);
	WRITE_ONCE(l->busy, false);
	wake_up_all(&w->idle);
	/* watch_leave() may have removed the listener meanwhile. */
	if (!l->failed || list_empty(&l->node))
		return false;
	list_move_tail(&l->node, &w->stale);
	return true;
}

/*
 * Reads the addresses of an adapter.  If they have changed, updates all listeners, otherwise only
 * those that have failed or are new.  If an address fails, the work item queues itself again,
 * because no event tells that a tentative address can be used or that a port number is free again.
 */
static void watch_work(struct work_struct *work)
{
	struct listen_watch *w = container_of(to_delayed_work(work), struct listen_watch, work);
	struct verbs_addrs now;
	struct verbs_listener *l;
	LIST_HEAD(todo);
	bool failed;

	/* An event after this point queues the work item again. */
	spin_lock_bh(&watches_lock);
	w->queued = false;
	spin_unlock_bh(&watches_lock);
	failed = verbs_addrs_read(w->dev, w->port, w->net, &now);
	mutex_lock(&w->lock);
	if (!failed && !verbs_addrs_same(&now, &w->addrs)) {
		swap(now, w->addrs);
		list_splice_init(&w->updated, &w->stale);
		w->retry = 0;
	}
	verbs_addrs_free(&now);
	list_splice_init(&w->stale, &todo);
	while ((l = list_first_entry_or_null(&todo, struct verbs_listener, node)))
		failed |= watch_update(w, l);
	w->retry = failed ? clamp(2 * w->retry, FIRST_RETRY, LAST_RETRY) : 0;
	if (failed) {
		spin_lock_bh(&watches_lock);
		watch_queue(w, w->retry);
		spin_unlock_bh(&watches_lock);
	}
	mutex_unlock(&w->lock);
}

static struct listen_watch *watch_alloc(const struct dat_ia *ia)
{
	struct listen_watch *w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);

	if (!w)
		return NULL;
	w->dev = ia->dev;
	w->port = ia->port;
	w->net = ia->net;
	INIT_DELAYED_WORK(&w->work, watch_work);
	init_waitqueue_head(&w->idle);
	mutex_init(&w->lock);
	INIT_LIST_HEAD(&w->updated);
	INIT_LIST_HEAD(&w->stale);
	return w;
}

/*
 * Returns the watch of an adapter, with one user more, or NULL if memory is short.  An address that
 * changes after this call queues the work item.
 */
static struct listen_watch *watch_get(const struct dat_ia *ia)
{
	struct listen_watch *w, *spare = watch_alloc(ia);

	if (!spare)
		return NULL;
	spin_lock_bh(&watches_lock);
	w = watch_find(ia);
	if (!w) {
		w = spare;
		spare = NULL;
		hash_add(watches, &w->node, (unsigned long)w->net);
		list_add(&w->dev_node, &to_verbs_dev(w->dev)->watches);
	}
	w->users++;
	spin_unlock_bh(&watches_lock);
	kfree(spare);
	return w;
}

/* Drops a user that is in no list of the watch.  @w may be NULL.  May sleep. */
static void watch_put(struct listen_watch *w)
{
	bool last;

	if (!w)
		return;
	spin_lock_bh(&watches_lock);
	last = !--w->users;
	if (last) {
		hash_del(&w->node);
		list_del(&w->dev_node);
	}
	spin_unlock_bh(&watches_lock);
	if (!last)
		return;
	cancel_delayed_work_sync(&w->work);
	verbs_addrs_free(&w->addrs);
	kfree(w);
}

/*
 * Adds a listener that listens at @a, except where it has @failed.  The work item updates the
 * listener if w->addrs, which it has read before or after @a, differs.
 */
static void watch_join(struct verbs_listener *l, const struct verbs_addrs *a, bool failed)
{
	struct listen_watch *w = l->watch;
	bool differs;

	mutex_lock(&w->lock);
	differs = !verbs_addrs_same(a, &w->addrs);
	list_add_tail(&l->node, differs || failed ? &w->stale : &w->updated);
	if (differs || failed) {
		w->retry = 0;
		spin_lock_bh(&watches_lock);
		watch_queue(w, differs ? 0 : FIRST_RETRY);
		spin_unlock_bh(&watches_lock);
	}
	mutex_unlock(&w->lock);
}

/* Removes a listener.  On return the work item does not use the listener. */
static void watch_leave(struct verbs_listener *l)
{
	struct listen_watch *w = l->watch;

	mutex_lock(&w->lock);
	list_del_init(&l->node);
	while (l->busy) {
		mutex_unlock(&w->lock);
		wait_event(w->idle, !READ_ONCE(l->busy));
		mutex_lock(&w->lock);
	}
	mutex_unlock(&w->lock);
}

/*
 * Begins to listen at the addresses @a.  Sets *@failed if an address has failed.  A tentative
 * address is no error, because watch_work() tries the address later.  An address at which the
 * device cannot listen, or for which rdma_cm finds another device (-ENODEV), is no error if the
 * listener listens at another address.  If l->port is 0, at least one address must work, because
 * the first bind chooses the port number.
 */
static int listen_first(struct verbs_listener *l, const struct verbs_addrs *a, bool *failed)
{
	int ret = follow(l, a);

	*failed = ret;
	if (ret == -EAGAIN || (!is_refusal(ret) && !list_empty(&l->points)))
		ret = 0;
	if (!ret && !l->port)
		ret = -ENETUNREACH;
	if (ret)
		points_remove(l);
	return ret == -ENODEV ? -ENETUNREACH : ret;
}

/* Listens at all present addresses, and adds the listener to its watch, if any. */
static int listen_begin(struct verbs_listener *l, u16 port)
{
	const struct dat_ia *ia = l->psp->obj.ia;
	struct verbs_addrs a;
	unsigned int tries;
	bool failed;
	int ret;

	ret = verbs_addrs_read(ia->dev, ia->port, ia->net, &a);
	if (ret)
		return ret;
	/* rdma_cm chooses a number that is free at the first address, but perhaps not at others. */
	for (tries = 0; tries < ANY_TRIES; tries++) {
		l->port = port;
		ret = listen_first(l, &a, &failed);
		if (port || ret != -EADDRINUSE)
			break;
	}
	if (!ret) {
		l->psp->listener = l;
		if (l->watch)
			watch_join(l, &a, failed);
	}
	verbs_addrs_free(&a);
	return ret;
}

int verbs_listen(struct dat_psp *psp, u16 port)
{
	struct verbs_listener *l;
	int ret = -ENOMEM;

	/* Check here, because rdma_cm may see only the worker thread that runs watch_work(). */
	if (port && port < PROT_SOCK && !capable(CAP_NET_BIND_SERVICE))
		return -EPERM;
	l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	if (!l)
		return -ENOMEM;
	l->psp = psp;
	INIT_LIST_HEAD(&l->points);
	if (may_follow(psp->obj.ia)) {
		l->watch = watch_get(psp->obj.ia);
		if (!l->watch)
			goto err_free;
	}
	if (port)
		dat_psp_bound(psp, port);
	ret = listen_begin(l, port);
	if (!ret)
		return 0;
	watch_put(l->watch);
err_free:
	kfree(l);
	return ret;
}

void verbs_unlisten(struct dat_psp *psp)
{
	struct verbs_listener *l = psp->listener;

	if (l->watch)
		watch_leave(l);
	points_remove(l);
	watch_put(l->watch);
	psp->listener = NULL;
	kfree(l);
}

static int addr4_event(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct in_ifaddr *ifa = data;

	net_addrs_changed(dev_net(ifa->ifa_dev->dev));
	return NOTIFY_DONE;
}

static struct notifier_block addr4_nb = { .notifier_call = addr4_event };

#if IS_ENABLED(CONFIG_IPV6)
static int addr6_event(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct inet6_ifaddr *ifa = data;

	net_addrs_changed(dev_net(ifa->idev->dev));
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
