// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Connection requests (CRs).  A CR exists from the peer's message until it is accepted, rejected or
 * handed off.
 */
#include <linux/sched/mm.h>

#include "core/dat.h"
#include "core/ep/ep.h"
#include "core/ep/psp.h"
#include "core/event/evd.h"
#include "core/face.h"
#include "core/xport.h"

/*
 * The first bytes of the private data of a consumer's reject, without and with data of the
 * consumer.  To OFED's libraries, a reject without private data would look like a refusal by the
 * peer's kernel.  They skip four bytes of the private data of a reject.
 */
#define CR_HEAD		4
static const char cr_no_data[CR_HEAD] = "DATr";
static const char cr_has_data[CR_HEAD] = "DATd";

static const struct dat_xport_ops *cr_xport(const struct dat_cr *cr)
{
	return cr->obj.ia->dev->ops;
}

/*
 * Makes later accepts of a request fail, because the peer has given up or the device is removed.
 * Context: transport's lock of the request held.
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
	 * With verbs, this runs in the worker of the CM, which serves all connections of the host;
	 * over lo0, in the thread that connects, which holds psp->lock.  An atomic allocation does
	 * not reclaim, so neither waits for memory of this listener's cgroup.  Atomic charges may
	 * exceed the cgroup's limit, but by at most one full backlog.  The owner's next allocation
	 * then has to reclaim memory.  The CR of a kernel consumer is charged to the current task.
	 */
	old = set_active_memcg(psp->memcg);
	cr = dat_obj_alloc_gfp(psp->obj.ia, DAT_OBJ_CR, psp->obj.user_data,
			       GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	set_active_memcg(old);
	if (IS_ERR(cr))
		return cr;
	cr->psp = psp;
	cr->makes_ep = psp->makes_ep;
	cr->local = req->local;
	cr->remote = req->remote;
	cr->place = req->place;
	cr->gone = req->gone;
	cr->read_in = req->read_in;
	cr->read_out = req->read_out;
	cr->qpn = req->qpn;
	cr->pd_len = min_t(u32, req->pd_len, sizeof(cr->pd));
	if (cr->pd_len)
		memcpy(cr->pd, req->pd, cr->pd_len);
	return cr;
}

/* Queues the event for a published CR.  Fails with -ENOSPC if the EVD is full. */
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

/*
 * Creates a CR for a request, and queues its event.  After success, the CR owns req->handle, and
 * the CR later removes the request from the backlog of @psp.  After an error, the request is no
 * longer in the backlog, and belongs to the caller.  Fails with -ECONNREFUSED if the EVD is full;
 * with -ENODEV if the IA was shut down; or with an error of dat_obj_alloc_gfp().
 * Context: transport's lock of the request held; the caller keeps the IA from being closed.
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
	/*
	 * The CR is published: a process that guesses its id may have taken the request.  In that
	 * case that process answers the peer, and this call must succeed.
	 */
	ret = xchg(&cr->request, NULL) ? -ECONNREFUSED : 0;
	/*
	 * The consumer got no event, so a one-shot listener may take another request.  After an
	 * error, dat_psp_request() clears psp->spent.
	 */
	if (!ret)
		atomic_set(&psp->spent, 0);
	dat_obj_free(&cr->obj);
	dat_obj_put(&cr->obj);
	return ret;
}

/*
 * Rejects a request and sends @pd unchanged; the caller frees the CR afterwards.  @pd_len: bytes of
 * @pd, at most CR_HEAD more than dat_limits.pd_reject.  Does nothing if another thread has taken
 * the request.  May sleep.
 */
void dat_cr_refuse(struct dat_cr *cr, const void *pd, u32 pd_len)
{
	void *request = xchg(&cr->request, NULL);

	if (request)
		cr_xport(cr)->reject(request, pd, pd_len);
}

/*
 * Rejects a request like dat_cr_refuse(), with the consumer's data.  @pd_len: bytes of @pd, at most
 * dat_limits.pd_reject; 0: no data.
 */
void dat_cr_reject(struct dat_cr *cr, const void *pd, u32 pd_len)
{
	u8 buf[CR_HEAD + DAT_MAX_PRIVATE_DATA];

	memcpy(buf, pd_len ? cr_has_data : cr_no_data, CR_HEAD);
	if (pd_len)
		memcpy(buf + CR_HEAD, pd, pd_len);
	dat_cr_refuse(cr, buf, CR_HEAD + pd_len);
}

/*
 * Finds the data of a consumer in the private data of a reject.  Returns true if dat_cr_reject()
 * has sent data, and sets @pd and @pd_len to them.
 */
bool dat_cr_reject_data(const void **pd, u32 *pd_len)
{
	if (*pd_len < CR_HEAD || memcmp(*pd, cr_has_data, CR_HEAD))
		return false;
	*pd += CR_HEAD;
	*pd_len -= CR_HEAD;
	return true;
}

/*
 * Returns true if a reject has no data of a consumer: only zeros, which the IB CM appends, or what
 * dat_cr_reject() sends without data.
 */
bool dat_cr_reject_is_empty(const void *pd, u32 pd_len)
{
	return !pd_len || !memchr_inv(pd, 0, pd_len) ||
	       (pd_len >= CR_HEAD && !memcmp(pd, cr_no_data, CR_HEAD));
}

/*
 * Gives a request back to the CR from which the caller has taken it with xchg().  May sleep.
 *
 * A free of the CR or a shutdown of the IA abandons cr->request.  If one of the two ran while the
 * caller had the request, the free or the shutdown found NULL, and this function must abandon the
 * request.
 *
 * This function writes cr->request, then checks whether the CR is being freed or the IA is dead.
 * The other thread marks the CR or the IA, then reads cr->request.  Each thread has a full barrier
 * between its two steps, so at least one thread sees what the other has written.  xchg() lets only
 * one thread get the request.
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

/*
 * Hands a request over to another listener.  After an error, the request belongs to @cr again, and
 * the caller must call dat_cr_give_back().
 */
static int cr_move(struct dat_cr *cr, void *request, struct dat_psp *psp)
{
	const struct dat_xport_ops *xport = cr_xport(cr);
	struct dat_request req = {
		.handle = request, .local = cr->local, .remote = cr->remote,
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
 * dat_cr_handoff() - move a request to another public service point
 * @cr: request; after a success the caller must free the CR
 * @conn_qual: qualifier of the other service point, which must listen on the same port of the
 *	device, at @cr->local, and in the same network namespace; the owner of that service point
 *	may be any process or kernel consumer
 *
 * Context: may sleep; the caller holds no ia->sem, because this function takes the ia->sem of the
 * other service point.  Return: 0; -EADDRNOTAVAIL if there is no such service point, or if that
 * service point takes no more requests; -ENOENT if another thread has taken the request; or
 * -ENOMEM.  After an error @cr is as before the call.
 */
int dat_cr_handoff(struct dat_cr *cr, u64 conn_qual)
{
	struct dat_psp *psp;
	int ret = -ENOENT;
	void *request;

	psp = dat_psp_find(cr->obj.ia, &cr->local, conn_qual);
	if (!psp)
		return -EADDRNOTAVAIL;
	request = xchg(&cr->request, NULL);
	if (!request)
		goto out_put;
	/*
	 * If the IA of the other service point is gone, do not return -ENODEV, which would mean
	 * that the caller's IA is gone.
	 */
	ret = -EADDRNOTAVAIL;
	if (!dat_ia_lock_live(psp->obj.ia)) {
		ret = cr_move(cr, request, psp);
		dat_ia_unlock(psp->obj.ia);
	}
	/* -EBUSY is the error of a gate that lets no more requests in. */
	if (ret == -ECONNREFUSED || ret == -EBUSY)
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
		obj->ia->face->unreserve(ep);
	dat_psp_leave(&cr->psp);
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
	.show		= cr_show,
};
