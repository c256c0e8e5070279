// SPDX-License-Identifier: GPL-2.0
/* Connection requests, from the peer's message to accept or reject. */
#include <linux/sched/mm.h>

#include "core/dat.h"
#include "core/ep.h"
#include "core/evd.h"
#include "core/psp.h"
#include "core/xport.h"

/*
 * Private data of a reject by a consumer.  Without data, OFED's libraries would take such a reject
 * for one by the peer's kernel.
 */
static const char cr_reject_data[4] = "DATr";

static const struct dat_xport_ops *cr_xport(const struct dat_cr *cr)
{
	return cr->obj.ia->dev->ops;
}

/**
 * dat_cr_gone() - note that a requester has given up, or that its device is gone
 * @cr: request that no consumer has answered; a later accept fails
 *
 * Context: lock of the request held.
 */
void dat_cr_gone(struct dat_cr *cr)
{
	cr->gone = true;
}

static struct dat_cr *cr_alloc(struct dat_psp *psp, const struct dat_request *req)
{
	struct mem_cgroup *old;
	struct dat_cr *cr;

	/*
	 * All connections of the host share the worker of the CM, which runs this.  An atomic
	 * allocation keeps that worker from reclaiming memory of this listener's cgroup.  The
	 * charge may exceed the limit by a backlog, which the owner's next allocation reclaims.
	 */
	old = set_active_memcg(psp->memcg);
	cr = dat_obj_alloc_gfp(psp->obj.ia, DAT_OBJ_CR, psp->obj.user_data,
			       GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	set_active_memcg(old);
	if (IS_ERR(cr))
		return cr;
	cr->psp = psp;
	cr->remote = req->remote;
	cr->off_path = req->off_path;
	cr->gone = req->gone;
	cr->read_in = req->read_in;
	cr->read_out = req->read_out;
	cr->qpn = req->qpn;
	cr->pd_len = min_t(u32, req->pd_len, sizeof(cr->pd));
	if (cr->pd_len)
		memcpy(cr->pd, req->pd, cr->pd_len);
	return cr;
}

/* Queues the event of a published CR.  Returns 0, or -ENOSPC if there is no room. */
static int cr_announce(struct dat_cr *cr, struct dat_psp *psp)
{
	struct dat_eqe eqe = {
		.type	= DAT_EV_CR,
		.owner	= psp->obj.user_data,
		.cookie	= psp->conn_qual,
		.len	= cr->obj.id,
	};

	return dat_evd_offer(psp->evd, &eqe) ? 0 : -ENOSPC;
}

/**
 * dat_cr_create() - create the CR of a peer's request, and queue its event
 * @psp: listener; this function takes over the count in its backlog even when it fails
 * @req: request
 *
 * Context: lock of the request held; no close of the IA drops its objects meanwhile.  Return: 0 if
 * the CR has taken over @req->handle.  After an error the caller must refuse the peer: the EVD is
 * full, there is no memory, or the IA closes.
 */
int dat_cr_create(struct dat_psp *psp, const struct dat_request *req)
{
	struct dat_cr *cr = cr_alloc(psp, req);
	int ret;

	if (IS_ERR(cr)) {
		dat_psp_leave(&psp);
		return PTR_ERR(cr);
	}
	cr_xport(cr)->request_own(req->handle, cr);
	cr->request = req->handle;
	ret = dat_obj_publish(&cr->obj);
	if (ret) {
		cr->request = NULL;
		dat_obj_abort(&cr->obj);
		return ret;
	}
	if (!cr_announce(cr, psp)) {
		dat_obj_put(&cr->obj);
		return 0;
	}
	/* A process that guessed the CR's id may have taken the request, and answers the peer. */
	ret = xchg(&cr->request, NULL) ? -ECONNREFUSED : 0;
	/* A request without an event does not count as the one request of a one-shot listener. */
	if (!ret)
		atomic_set(&psp->spent, 0);
	dat_obj_free(&cr->obj);
	dat_obj_put(&cr->obj);
	return ret;
}

/**
 * dat_cr_reject() - reject a request
 * @cr: request, which the caller frees next
 * @pd: private data, or NULL for that of a plain reject
 * @pd_len: length of @pd, 1 to DAT_MAX_PD_REJECT
 *
 * Context: may sleep.
 */
void dat_cr_reject(struct dat_cr *cr, const void *pd, u32 pd_len)
{
	void *request = xchg(&cr->request, NULL);

	if (!request)
		return;
	if (!pd) {
		pd = cr_reject_data;
		pd_len = sizeof(cr_reject_data);
	}
	cr_xport(cr)->reject(request, pd, pd_len);
}

/* Returns true for the private data of a plain reject: none, or cr_reject_data. */
bool dat_cr_reject_has_no_data(const void *pd, u32 pd_len)
{
	return pd_len < sizeof(cr_reject_data) ||
	       !memcmp(pd, cr_reject_data, sizeof(cr_reject_data));
}

/**
 * dat_cr_give_back() - return a transport's request to its CR
 * @cr: CR, from which the caller took @request by xchg()
 * @request: request of the transport
 *
 * A concurrent free, or shutdown of the IA, found no request to abandon: then this abandons it.
 * This function writes cr->request and then checks whether the CR is dying or the IA is dead.  The
 * other side marks the CR or the IA and then reads cr->request.  Both have a full barrier in
 * between, so at least one sees the other's write, and xchg() gives the request to only one.
 *
 * Context: may sleep.
 */
void dat_cr_give_back(struct dat_cr *cr, void *request)
{
	xchg(&cr->request, request);
	if (!dat_obj_dying(&cr->obj) && !READ_ONCE(cr->obj.ia->dead))
		return;
	request = xchg(&cr->request, NULL);
	if (request)
		cr_xport(cr)->abandon(request);
}

static int cr_move(struct dat_cr *cr, void *request, struct dat_psp *psp)
{
	const struct dat_xport_ops *xport = cr_xport(cr);
	struct dat_request req = {
		.handle = request, .remote = cr->remote, .off_path = cr->off_path,
		.read_in = cr->read_in, .read_out = cr->read_out, .qpn = cr->qpn,
		.pd = cr->pd, .pd_len = cr->pd_len,
	};
	int ret = -EADDRNOTAVAIL;

	mutex_lock(&psp->lock);
	xport->request_lock(request);
	req.gone = cr->gone;
	if (psp->evd)
		ret = dat_psp_request(psp, &req);
	if (ret)
		xport->request_own(request, cr);
	xport->request_unlock(request);
	mutex_unlock(&psp->lock);
	return ret;
}

/**
 * dat_cr_handoff() - move a request to another service point
 * @cr: request; on success the caller frees it next
 * @conn_qual: qualifier of a service point of the same port, of any process or kernel consumer
 *
 * Context: may sleep; no ia->sem held, because this takes that of the service point's IA.
 * Return: 0; -EADDRNOTAVAIL if there is no such service point, or it takes no more requests;
 * -ENOENT if another call has taken the request; -ENOMEM.  After an error @cr is unchanged.
 */
int dat_cr_handoff(struct dat_cr *cr, u64 conn_qual)
{
	struct dat_psp *psp;
	int ret = -ENOENT;
	void *request;

	psp = dat_psp_find(cr->obj.ia, conn_qual);
	if (!psp)
		return -EADDRNOTAVAIL;
	request = xchg(&cr->request, NULL);
	if (!request)
		goto out_put;
	/* Do not return -ENODEV if the listener's IA is gone: it would mean the caller's IA. */
	ret = -EADDRNOTAVAIL;
	if (!dat_ia_lock_live(psp->obj.ia)) {
		ret = cr_move(cr, request, psp);
		dat_ia_unlock(psp->obj.ia);
	}
	if (ret == -ECONNREFUSED)
		ret = -EADDRNOTAVAIL;
	if (ret)
		dat_cr_give_back(cr, request);
out_put:
	dat_obj_put(&psp->obj);
	return ret;
}

static void cr_shutdown(struct dat_obj *obj)
{
	struct dat_cr *cr = to_dat_cr(obj);
	void *request = xchg(&cr->request, NULL);
	struct dat_ep *ep = xchg(&cr->ep, NULL);

	if (request)
		cr_xport(cr)->abandon(request);
	if (ep)
		dat_obj_unuse(&ep->obj);
	dat_psp_leave(&cr->psp);
}

static void cr_release(struct dat_obj *obj)
{
}

static void cr_show(struct seq_file *m, struct dat_obj *obj)
{
	struct dat_cr *cr = to_dat_cr(obj);

	seq_printf(m, " remote=%pISpc pd_len=%u", &cr->remote, cr->pd_len);
}

const struct dat_obj_ops dat_cr_ops = {
	.name		= "cr",
	.size		= sizeof(struct dat_cr),
	.shutdown	= cr_shutdown,
	.release	= cr_release,
	.show		= cr_show,
};
