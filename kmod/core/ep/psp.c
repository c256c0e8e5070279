// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Public service points (PSPs): listeners for connection requests. */
#include <linux/hashtable.h>
#include <linux/memcontrol.h>
#include <linux/moduleparam.h>
#include <linux/sched/mm.h>
#include <net/net_namespace.h>
#include <net/netns/hash.h>

#include "core/addr.h"
#include "core/dat.h"
#include "core/ep/psp.h"
#include "core/event/evd.h"
#include "core/peer.h"
#include "core/xport.h"
#include "lib/log.h"

static unsigned int psp_backlog = DAT_MAX_BACKLOG;
module_param_named(backlog, psp_backlog, uint, 0644);
MODULE_PARM_DESC(backlog, "Pending requests and half-open connections of a listener (1024)");

/*
 * Hash table of the listeners of all processes and kernel consumers, by network namespace and port
 * number.  psp_lock protects the table.  No other lock is taken under psp_lock.  It is a spinlock,
 * because each connect over lo0 takes it: a thread that is not scheduled must not hold up others.
 */
static DEFINE_SPINLOCK(psp_lock);
static DEFINE_HASHTABLE(psps, 10);

static u32 psp_key(const struct dat_ia *ia, u16 port)
{
	return net_hash_mix(ia->net) ^ port;
}

/*
 * Finds a listener by the device, the device's port and the network namespace of @ia, by the port
 * number to which dat_qual_port() maps @conn_qual, and by the address @local.  The listener may
 * belong to any process or kernel consumer.  Returns the listener with a reference, or NULL.  May
 * sleep.
 */
struct dat_psp *dat_psp_find(const struct dat_ia *ia, const struct sockaddr_storage *local,
			     u64 conn_qual)
{
	struct dat_psp *psp, *found = NULL;
	u16 port = dat_qual_port(conn_qual);

	spin_lock(&psp_lock);
	hash_for_each_possible(psps, psp, node, psp_key(ia, port)) {
		const struct dat_ia *other = psp->obj.ia;

		if (psp->port == port && other->dev == ia->dev &&
		    other->port == ia->port && net_eq(other->net, ia->net) &&
		    (!psp->addr.ss_family || dat_addr_same(&psp->addr, local)) &&
		    kref_get_unless_zero(&psp->obj.ref)) {
			found = psp;
			break;
		}
	}
	spin_unlock(&psp_lock);
	return found;
}

/* Counts a request and takes a reference to @psp.  Returns false if the backlog is full. */
static bool psp_join(struct dat_psp *psp)
{
	int max = clamp_t(unsigned int, READ_ONCE(psp_backlog), 1, DAT_MAX_BACKLOG);
	int n = atomic_read(&psp->pending);

	do {
		if (n >= max)
			return false;
	} while (!atomic_try_cmpxchg(&psp->pending, &n, n + 1));
	kref_get(&psp->obj.ref);
	return true;
}

/*
 * Removes a request or an accepted connection from the backlog of its listener.  @psp: address of
 * the pointer to the listener in the request or connection.  The pointer may be NULL, and is NULL
 * on return.  May sleep.
 */
void dat_psp_leave(struct dat_psp **psp)
{
	struct dat_psp *old = xchg(psp, NULL);

	if (!old)
		return;
	atomic_dec(&old->pending);
	dat_obj_put(&old->obj);
}

/*
 * Makes the CR of a request.  Fails if the gate of the EVD, if any, refuses the request, if the
 * backlog is full, or with an error of dat_cr_create().
 */
static int psp_admit(struct dat_psp *psp, struct dat_request *req)
{
	const struct dat_gate *gate = psp->evd->gate;
	int ret;

	req->place = 0;
	if (gate)
		req->place = gate->enter(gate->arg, (const struct sockaddr *)&req->remote,
					 req->pd, req->pd_len);
	if (req->place < 0)
		return req->place;
	if (psp_join(psp)) {
		ret = dat_cr_create(psp, req);
		if (ret == -ECONNREFUSED)
			dat_log("%s: port %u refuses %pISc: the EVD is full", psp->obj.ia->name,
				psp->port, &req->remote);
	} else {
		ret = -ECONNREFUSED;
		dat_log("%s: port %u refuses %pISc: the backlog is full", psp->obj.ia->name,
			psp->port, &req->remote);
	}
	if (ret && gate)
		gate->leave(gate->arg, req->place);
	return ret;
}

/*
 * Handles a peer's request.  The caller holds the transport's lock of the request, and ensures that
 * psp->evd stays set.  Returns 0 if a CR owns req->handle.  Fails with -EADDRNOTAVAIL if a one-shot
 * listener has had its request, with -ECONNREFUSED if the backlog is full, or with an error of the
 * gate or of dat_cr_create().
 */
int dat_psp_request(struct dat_psp *psp, struct dat_request *req)
{
	int ret;

	if (psp->one_shot && atomic_xchg(&psp->spent, 1))
		return -EADDRNOTAVAIL;
	ret = psp_admit(psp, req);
	if (ret)
		atomic_set(&psp->spent, 0);
	return ret;
}

/*
 * Sets the port number.  The transport calls this function before it reports the first request, and
 * again if it has to choose another number.
 */
void dat_psp_bound(struct dat_psp *psp, u16 port)
{
	psp->port = port;
	if (psp->any_port)
		psp->conn_qual = port;
}

/* Returns true if there is an address whose requests both listeners would get. */
static bool psp_overlaps(const struct dat_psp *a, const struct dat_psp *b)
{
	return a->port == b->port && a->obj.ia->dev == b->obj.ia->dev &&
	       a->obj.ia->port == b->obj.ia->port && net_eq(a->obj.ia->net, b->obj.ia->net) &&
	       (!a->addr.ss_family || !b->addr.ss_family || dat_addr_same(&a->addr, &b->addr));
}

/*
 * Adds a listener to the hash table, unless it is there.  Fails with -EADDRINUSE if there is a
 * listener for which psp_overlaps() is true.  A transport that gives out port numbers refuses such
 * a listener as well, unless the adapter has no usable address for the listener; another transport
 * calls this function to claim a number.
 */
int dat_psp_add(struct dat_psp *psp)
{
	u32 key = psp_key(psp->obj.ia, psp->port);
	struct dat_psp *other;
	int ret = 0;

	if (hash_hashed(&psp->node))
		return 0;
	spin_lock(&psp_lock);
	hash_for_each_possible(psps, other, node, key)
		if (psp_overlaps(psp, other))
			ret = -EADDRINUSE;
	if (!ret)
		hash_add(psps, &psp->node, key);
	spin_unlock(&psp_lock);
	return ret;
}

/*
 * Creates a listener.  @addr: address of the adapter at which to listen, or NULL for all addresses
 * of the IA; @conn_qual: connection qualifier, or 0 for any free port number; @flags: DAT_LISTEN_*
 * bits; @mm: process whose memory cgroup is charged for requests, or NULL; @user_data: value of
 * dat_eqe.owner in the events of requests, or for a face with handles as in dat_obj_alloc_gfp().
 * May sleep.  Fails with -EINVAL if the EVD does not accept requests; with -ENOENT if the EVD is
 * being freed; with -EADDRINUSE if the port number is in use at an address; with -EPERM if the port
 * number is privileged and the caller has no CAP_NET_BIND_SERVICE; with -ENETUNREACH if @conn_qual
 * is 0 and the adapter has no usable address, or if all addresses of the adapter belong to other
 * devices; with -ENODEV if the IA is shut down; with -ENOMEM; or with an error of the device, if it
 * can listen at no address.
 */
struct dat_psp *dat_psp_create(struct dat_evd *evd, const struct sockaddr_storage *addr,
			       u64 conn_qual, u32 flags, struct mm_struct *mm, u64 user_data)
{
	struct dat_psp *psp;
	int ret;

	if (!(evd->streams & DAT_STREAM_CR))
		return ERR_PTR(-EINVAL);
	psp = dat_obj_alloc(evd->obj.ia, DAT_OBJ_PSP, user_data);
	if (IS_ERR(psp))
		return psp;
	mutex_init(&psp->lock);
	if (mm)
		psp->memcg = get_mem_cgroup_from_mm(mm);
	ret = dat_obj_use(&evd->obj);
	if (ret)
		goto err_abort;
	psp->evd = evd;
	psp->addr = addr ? *addr : psp->obj.ia->addr;
	psp->one_shot = flags & DAT_LISTEN_ONE_SHOT;
	psp->makes_ep = flags & DAT_LISTEN_MAKES_EP;
	psp->conn_qual = conn_qual;
	psp->any_port = !conn_qual;
	ret = psp->obj.ia->dev->ops->listen(psp, dat_qual_port(conn_qual));
	if (ret)
		goto err_abort;
	/*
	 * Add the listener to the hash table before dat_obj_publish(), after which another thread
	 * may free the listener and remove it from the table.
	 */
	ret = dat_psp_add(psp);
	if (ret)
		goto err_abort;
	ret = dat_obj_publish(&psp->obj);
	if (ret)
		goto err_abort;
	return psp;

err_abort:
	dat_obj_abort(&psp->obj);
	return ERR_PTR(ret);
}

/*
 * Stops listening.  CRs of the listener stay.  The transport refuses requests that have no CR yet.
 */
static void psp_shutdown(struct dat_obj *obj)
{
	struct dat_psp *psp = to_dat_psp(obj);
	struct dat_evd *evd;

	spin_lock(&psp_lock);
	hash_del(&psp->node);
	spin_unlock(&psp_lock);
	if (psp->listener)
		obj->ia->dev->ops->unlisten(psp);
	mutex_lock(&psp->lock);
	evd = psp->evd;
	psp->evd = NULL;
	mutex_unlock(&psp->lock);
	if (evd)
		dat_obj_unuse(&evd->obj);
}

static void psp_release(struct dat_obj *obj)
{
	mem_cgroup_put(to_dat_psp(obj)->memcg);
}

static void psp_show(struct seq_file *m, struct dat_obj *obj)
{
	struct dat_psp *psp = to_dat_psp(obj);

	seq_printf(m, " conn_qual=%llu port=%u one_shot=%d spent=%d pending=%d", psp->conn_qual,
		   psp->port, psp->one_shot, atomic_read(&psp->spent),
		   atomic_read(&psp->pending));
}

const struct dat_obj_ops dat_psp_ops = {
	.name		= "psp",
	.size		= sizeof(struct dat_psp),
	.charge		= true,
	.shutdown	= psp_shutdown,
	.release	= psp_release,
	.show		= psp_show,
};
