// SPDX-License-Identifier: GPL-2.0
/* Public service points: listeners. */
#include <linux/hashtable.h>
#include <linux/memcontrol.h>
#include <linux/moduleparam.h>
#include <linux/sched/mm.h>
#include <rdma/ib_cm.h>

#include "core/dat.h"

#define PSP_CM_BACKLOG	128	/* requests inside the CM of a device; iWARP alone */

static unsigned int psp_backlog = DAT_MAX_BACKLOG;
module_param_named(backlog, psp_backlog, uint, 0644);
MODULE_PARM_DESC(backlog, "Pending requests and half-open connections of a listener (1024)");

/* Those that listen, whoever's they are.  Nothing is taken under the lock. */
static DEFINE_MUTEX(psp_lock);
static DEFINE_HASHTABLE(psps, 10);

static void psp_show_up(struct dat_psp *psp)
{
	mutex_lock(&psp_lock);
	hash_add(psps, &psp->node, psp->port);
	mutex_unlock(&psp_lock);
}

static void psp_hide(struct dat_psp *psp)
{
	mutex_lock(&psp_lock);
	hash_del(&psp->node);
	mutex_unlock(&psp_lock);
}

/**
 * dat_psp_find() - find a listener of a port, whoever's it is
 * @ia: an opening of the port
 * @conn_qual: a qualifier that maps to the listener's port
 *
 * Context: may sleep.  Return: it, with a reference, or NULL.
 */
struct dat_psp *dat_psp_find(const struct dat_ia *ia, u64 conn_qual)
{
	struct dat_psp *psp, *found = NULL;
	u16 port = dat_qual_port(conn_qual);

	mutex_lock(&psp_lock);
	hash_for_each_possible(psps, psp, node, port) {
		const struct dat_ia *other = psp->obj.ia;

		if (psp->port == port && other->dev == ia->dev &&
		    other->port == ia->port && net_eq(other->net, ia->net) &&
		    kref_get_unless_zero(&psp->obj.ref)) {
			found = psp;
			break;
		}
	}
	mutex_unlock(&psp_lock);
	return found;
}

/* Take a place in the backlog, with a reference.  The count never exceeds the limit. */
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

/**
 * dat_psp_leave() - give back a place in a listener's backlog
 * @psp: field that holds the place, or NULL; NULL afterwards
 *
 * Context: may sleep.
 */
void dat_psp_leave(struct dat_psp **psp)
{
	struct dat_psp *old = xchg(psp, NULL);

	if (!old)
		return;
	atomic_dec(&old->pending);
	dat_obj_put(&old->obj);
}

/**
 * dat_psp_request() - a peer wants to connect
 * @psp: listener; its EVD stays for the length of the call
 * @id: of the request, its handler lock held
 * @param: what it asks for
 *
 * Return: 0: a CR owns @id; -ECONNREFUSED the backlog is full; after any error nothing has
 * happened to @id.
 */
int dat_psp_request(struct dat_psp *psp, struct rdma_cm_id *id,
		    const struct rdma_conn_param *param)
{
	int ret;

	if (psp->one_shot && atomic_xchg(&psp->spent, 1))
		return -ECONNREFUSED;
	ret = psp_join(psp) ? dat_cr_create(psp, id, param) : -ECONNREFUSED;
	if (ret)
		atomic_set(&psp->spent, 0);
	return ret;
}

/* An error makes rdma_cm destroy the id. */
static int psp_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct dat_psp *psp = id->context;
	int ret;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	ret = dat_psp_request(psp, id, &event->param.conn);
	/* rdma_cm would send a consumer's reject, or nothing for -ENOMEM. */
	if (ret)
		dat_cr_refuse(id, IB_CM_REJ_NO_RESOURCES);
	return ret;
}

/* What rdma_cm says of a port in the words of the errno contract. */
static int psp_bind_error(int err)
{
	if (err == -EADDRNOTAVAIL)
		return -EADDRINUSE;
	return err == -EACCES ? -EPERM : err;
}

static int psp_listen(struct dat_psp *psp, u64 conn_qual)
{
	struct dat_ia *ia = psp->obj.ia;
	struct sockaddr_storage addr;
	struct rdma_cm_id *id;
	int ret;

	/* The wildcard address would listen on every device there is. */
	ret = dat_dev_addr(ia, AF_UNSPEC, &addr);
	if (ret)
		return ret;
	((struct sockaddr_in *)&addr)->sin_port = cpu_to_be16(dat_qual_port(conn_qual));
	id = rdma_create_id(ia->net, psp_handler, psp, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	psp->id = id;
	ret = rdma_bind_addr(id, (struct sockaddr *)&addr);
	if (ret)
		return psp_bind_error(ret);
	/* Another device may have the same address; its requests would be no use. */
	if (id->device != ia->dev->ibdev || id->port_num != ia->port)
		return -ENETUNREACH;
	psp->port = dat_addr_port(&id->route.addr.src_addr);
	psp->conn_qual = conn_qual ?: psp->port;
	return rdma_listen(id, PSP_CM_BACKLOG);
}

/**
 * dat_psp_create() - listen
 * @evd: where requests are reported
 * @conn_qual: qualifier, or 0 for any
 * @one_shot: refuse every request but one
 * @user_data: owner value of the requests' events
 *
 * Context: may sleep.  Return: the PSP with a reference, or an ERR_PTR: -EINVAL the EVD takes no
 * requests, -EADDRINUSE, -EPERM a privileged port, -ENETUNREACH the adapter has no
 * address.
 */
struct dat_psp *dat_psp_create(struct dat_evd *evd, u64 conn_qual, bool one_shot,
			       u64 user_data)
{
	struct dat_psp *psp;
	int ret;

	if (!(evd->streams & DAT_STREAM_CR))
		return ERR_PTR(-EINVAL);
	psp = dat_obj_alloc(evd->obj.ia, DAT_OBJ_PSP, user_data);
	if (IS_ERR(psp))
		return psp;
	mutex_init(&psp->lock);
	/* Listeners of kernel consumers belong to no process. */
	if (!psp->obj.ia->face->kernel)
		psp->memcg = get_mem_cgroup_from_mm(current->mm);
	ret = dat_obj_use(&evd->obj);
	if (ret)
		goto err_abort;
	psp->evd = evd;
	psp->one_shot = one_shot;
	ret = psp_listen(psp, conn_qual);
	if (ret)
		goto err_abort;
	/* Not later: once it is published it may be freed. */
	psp_show_up(psp);
	ret = dat_obj_publish(&psp->obj);
	if (ret)
		goto err_abort;
	return psp;

err_abort:
	dat_obj_abort(&psp->obj);
	return ERR_PTR(ret);
}

/* Requests that are CRs by now stay; those in rdma_cm's hands are rejected. */
static void psp_shutdown(struct dat_obj *obj)
{
	struct dat_psp *psp = to_dat_psp(obj);
	struct dat_evd *evd;

	psp_hide(psp);
	if (psp->id)
		rdma_destroy_id(psp->id);
	psp->id = NULL;
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
