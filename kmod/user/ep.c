// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* ioctl operations on endpoints, service points and connection requests. */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/string.h>

#include "core/addr.h"
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/psp.h"
#include "core/ep/ring.h"
#include "core/ep/srq.h"
#include "core/event/evd.h"
#include "core/mem/lmr.h"
#include "user/file.h"

/* Looks up an optional parent of an EP like dat_obj_get(); returns NULL for id 0: no parent. */
static void *ep_find(struct dat_ia *ia, enum dat_obj_type type, u32 id)
{
	return id ? dat_obj_get(ia, type, id) : NULL;
}

static int ep_get_parents(struct dat_ia *ia, const struct dat_ep_create *arg,
			  struct dat_ep_parents *p)
{
	p->pz = dat_obj_get(ia, DAT_OBJ_PZ, arg->pz);
	p->recv_evd = ep_find(ia, DAT_OBJ_EVD, arg->recv_evd);
	p->request_evd = ep_find(ia, DAT_OBJ_EVD, arg->request_evd);
	p->connect_evd = ep_find(ia, DAT_OBJ_EVD, arg->connect_evd);
	p->srq = ep_find(ia, DAT_OBJ_SRQ, arg->srq);
	if (!IS_ERR(p->pz) && !IS_ERR(p->recv_evd) && !IS_ERR(p->request_evd) &&
	    !IS_ERR(p->connect_evd) && !IS_ERR(p->srq))
		return 0;
	dat_ep_put_parents(p);
	return -ENOENT;
}

static struct dat_ep_attr ep_attr(const struct dat_ia *ia, const struct dat_ep_create *arg)
{
	return (struct dat_ep_attr) {
		.max_recv		= arg->max_recv,
		.max_request		= arg->max_request,
		.max_recv_iov		= max(arg->max_recv_iov, 1U),
		.max_request_iov	= max(arg->max_request_iov, 1U),
		.read_in		= arg->read_in,
		.read_out		= arg->read_out,
		.recv_flags		= arg->recv_flags,
		.request_flags		= arg->request_flags,
		.max_inline		= min(arg->max_inline, ia->dev->limits.max_inline),
		.flags			= arg->flags,
	};
}

static int ep_check(const struct dat_ia *ia, const struct dat_ep_create *arg)
{
	const struct dat_ep_attr attr = ep_attr(ia, arg);

	if (arg->rsvd || arg->flags & ~dat_ia_ep_flags(ia) ||
	    (arg->recv_flags | arg->request_flags) & ~DAT_EP_FLAGS_ALL)
		return -EOPNOTSUPP;
	if ((arg->srq && arg->max_recv) || !dat_ep_attr_fits(ia, &attr))
		return -EINVAL;
	return 0;
}

static u32 ep_srq_id(struct dat_ep *ep)
{
	u32 id;

	spin_lock_bh(&ep->lock);
	id = ep->srq ? ep->srq->obj.id : 0;
	spin_unlock_bh(&ep->lock);
	return id;
}

static struct dat_ep *ep_make(struct dat_ia *ia, const struct dat_ep_create *arg)
{
	const struct dat_ep_attr attr = ep_attr(ia, arg);
	struct dat_ep_parents parents;
	struct dat_ep *ep;
	int ret;

	ret = ep_get_parents(ia, arg, &parents);
	if (ret)
		return ERR_PTR(ret);
	ep = dat_ep_create(ia, &parents, &attr, arg->user_data);
	dat_ep_put_parents(&parents);
	return ep;
}

static void ep_fill(struct dat_ep_create *arg, struct dat_ep *ep)
{
	struct dat_ia *ia = ep->obj.ia;

	mutex_lock(&ia->resize_lock);
	arg->max_recv = ep->rq.entries;
	arg->max_request = ep->sq.entries;
	arg->id = ep->obj.id;
	arg->sq_queue = READ_ONCE(ep->sq.bell);
	arg->rq_queue = READ_ONCE(ep->rq.bell);
	arg->submit = dat_mmap_span(ia, &ep->ring.submit);
	arg->status = dat_mmap_span(ia, &ep->ring.status);
	arg->sq_offset = ep->ring.sq_offset;
	arg->sq_shift = ep->ring.sq_shift;
	arg->rq_offset = ep->ring.rq_offset;
	arg->rq_shift = ep->ring.rq_shift;
	arg->max_inline = ep->ring.max_inline;
	mutex_unlock(&ia->resize_lock);
}

int dat_cmd_ep_create(struct dat_ucmd *ucmd)
{
	struct dat_ep_create *arg = ucmd->arg;
	struct dat_ep *ep;
	int ret;

	ret = ep_check(ucmd->bound, arg);
	if (ret)
		return ret;
	ep = ep_make(ucmd->bound, arg);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	ret = dat_file_add_bells(to_dat_file(ucmd->file), &ep->obj);
	if (ret) {
		dat_obj_free(&ep->obj);
		dat_obj_put(&ep->obj);
		return ret;
	}
	ep_fill(arg, ep);
	ucmd->made = &ep->obj;
	return 0;
}

static void ep_modify_to_create(const struct dat_ep_modify *arg, u32 srq,
				struct dat_ep_create *create)
{
	*create = (struct dat_ep_create) {
		.pz			= arg->pz,
		.recv_evd		= arg->recv_evd,
		.request_evd		= arg->request_evd,
		.connect_evd		= arg->connect_evd,
		.srq			= srq,
		.max_recv		= arg->max_recv,
		.max_request		= arg->max_request,
		.max_recv_iov		= arg->max_recv_iov,
		.max_request_iov	= arg->max_request_iov,
		.read_in		= arg->read_in,
		.read_out		= arg->read_out,
		.recv_flags		= arg->recv_flags,
		.request_flags		= arg->request_flags,
		.max_inline		= arg->max_inline,
		.flags			= arg->flags,
	};
}

static void ep_modify_fill(struct dat_ep_modify *arg, struct dat_ep *ep,
			   const struct dat_step *step)
{
	bool prepare = step->what == DAT_RING_PREPARE;
	struct dat_epring *ring = prepare ? &ep->next : &ep->ring;
	struct dat_ia *ia = ep->obj.ia;

	mutex_lock(&ia->resize_lock);
	arg->submit = dat_mmap_span(ia, &ring->submit);
	if (prepare) {
		arg->generation = step->generation;
	} else {
		arg->max_recv = ep->rq.entries;
		arg->max_request = ep->sq.entries;
		arg->sq_offset = ring->sq_offset;
		arg->sq_shift = ring->sq_shift;
		arg->rq_offset = ring->rq_offset;
		arg->rq_shift = ring->rq_shift;
		arg->max_inline = ring->max_inline;
	}
	mutex_unlock(&ia->resize_lock);
}

static int ep_modify(struct dat_ia *ia, struct dat_ep *ep, const struct dat_ep_create *arg,
		     struct dat_step *step)
{
	struct dat_ep_parents parents;
	struct dat_ep_attr attr;
	int ret;

	ret = ep_check(ia, arg);
	if (!ret)
		ret = ep_get_parents(ia, arg, &parents);
	if (ret)
		return ret;
	attr = ep_attr(ia, arg);
	ret = dat_ep_modify(ep, &parents, &attr, step);
	dat_ep_put_parents(&parents);
	return ret;
}

int dat_cmd_ep_modify(struct dat_ucmd *ucmd)
{
	struct dat_ep_modify *arg = ucmd->arg;
	struct dat_ep_create create;
	struct dat_step step;
	struct dat_ep *ep;
	int ret;

	ret = dat_cmd_step(arg->step, arg->generation, &step);
	if (ret)
		return ret;
	ep = dat_obj_get(ucmd->bound, DAT_OBJ_EP, arg->id);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	/*
	 * The EP uses the SRQ, so the id of the SRQ stays valid, unless another thread frees the
	 * EP, whose parents and attributes then no longer matter.
	 */
	ep_modify_to_create(arg, ep_srq_id(ep), &create);
	ret = ep_modify(ucmd->bound, ep, &create, &step);
	ep_modify_fill(arg, ep, &step);
	dat_obj_put(&ep->obj);
	return ret;
}

static int addr_from_user(struct sockaddr_storage *ss, const struct dat_ep_connect *arg)
{
	memset(ss, 0, sizeof(*ss));
	if (arg->addr_len < sizeof(ss->ss_family) || arg->addr_len > sizeof(arg->addr))
		return -EINVAL;
	memcpy(ss, arg->addr, arg->addr_len);
	if (!dat_addr_len(ss))
		return -EAFNOSUPPORT;
	if (arg->addr_len != dat_addr_len(ss))
		return -EINVAL;
	dat_addr_set_port(ss, dat_qual_port(arg->conn_qual));
	return 0;
}

int dat_cmd_ep_connect(struct dat_ucmd *ucmd)
{
	struct dat_ep_connect *arg = ucmd->arg;
	struct sockaddr_storage dst;
	struct dat_ep *ep;
	int ret;

	if (arg->rsvd || arg->qos & ~DAT_QOS_ALL)
		return -EOPNOTSUPP;
	if (!arg->conn_qual || !arg->timeout_us ||
	    arg->pd_len > dat_ucmd_ia(ucmd)->dev->limits.pd_request)
		return -EINVAL;
	ret = addr_from_user(&dst, arg);
	if (ret)
		return ret;
	ep = dat_obj_get(ucmd->bound, DAT_OBJ_EP, arg->id);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	ret = dat_ep_connect(ep, &dst, arg->timeout_us, arg->qos, arg->pd, arg->pd_len);
	dat_obj_put(&ep->obj);
	return ret;
}

int dat_cmd_ep_disconnect(struct dat_ucmd *ucmd)
{
	struct dat_ep_disconnect *arg = ucmd->arg;
	struct dat_ep *ep;
	int ret;

	if (arg->rsvd || arg->flags & ~DAT_DISCONNECT_GRACEFUL)
		return -EOPNOTSUPP;
	ep = dat_obj_get(ucmd->bound, DAT_OBJ_EP, arg->id);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	ret = dat_ep_disconnect(ep, arg->flags & DAT_DISCONNECT_GRACEFUL);
	dat_obj_put(&ep->obj);
	return ret;
}

int dat_cmd_ep_reset(struct dat_ucmd *ucmd)
{
	struct dat_ep_reset *arg = ucmd->arg;
	struct dat_ep *ep = dat_obj_get(ucmd->bound, DAT_OBJ_EP, arg->id);
	int ret;

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	ret = dat_ep_reset(ep);
	dat_obj_put(&ep->obj);
	return ret;
}

int dat_cmd_ep_query(struct dat_ucmd *ucmd)
{
	struct dat_ep_query *arg = ucmd->arg;
	struct dat_ep *ep;

	if (arg->rsvd)
		return -EOPNOTSUPP;
	ep = dat_obj_get(ucmd->bound, DAT_OBJ_EP, arg->id);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	spin_lock_bh(&ep->lock);
	arg->state = ep->state;
	arg->read_in = ep->read_in;
	arg->read_out = ep->read_out;
	arg->local_port = dat_addr_port(&ep->local);
	arg->remote_port = dat_addr_port(&ep->remote);
	arg->local_len = dat_cmd_addr(arg->local, &ep->local);
	arg->remote_len = dat_cmd_addr(arg->remote, &ep->remote);
	spin_unlock_bh(&ep->lock);
	dat_obj_put(&ep->obj);
	return 0;
}

int dat_cmd_psp_create(struct dat_ucmd *ucmd)
{
	struct dat_psp_create *arg = ucmd->arg;
	struct dat_evd *evd;
	struct dat_psp *psp;

	if (arg->flags & ~DAT_PSP_ONE_SHOT)
		return -EOPNOTSUPP;
	evd = dat_obj_get(ucmd->bound, DAT_OBJ_EVD, arg->evd);
	if (IS_ERR(evd))
		return PTR_ERR(evd);
	psp = dat_psp_create(evd, NULL, arg->conn_qual,
			     arg->flags & DAT_PSP_ONE_SHOT ? DAT_LISTEN_ONE_SHOT : 0,
			     current->mm, arg->user_data);
	dat_obj_put(&evd->obj);
	if (IS_ERR(psp))
		return PTR_ERR(psp);
	arg->conn_qual = psp->conn_qual;
	arg->id = psp->obj.id;
	ucmd->made = &psp->obj;
	return 0;
}

int dat_cmd_cr_query(struct dat_ucmd *ucmd)
{
	struct dat_cr_query *arg = ucmd->arg;
	struct dat_cr *cr;

	if (arg->rsvd)
		return -EOPNOTSUPP;
	cr = dat_obj_get(ucmd->bound, DAT_OBJ_CR, arg->id);
	if (IS_ERR(cr))
		return PTR_ERR(cr);
	arg->remote_len = dat_cmd_addr(arg->remote, &cr->remote);
	arg->remote_port = dat_addr_port(&cr->remote);
	arg->pd_len = cr->pd_len;
	memcpy(arg->pd, cr->pd, sizeof(arg->pd));
	arg->local_len = dat_cmd_addr(arg->local, &cr->local);
	arg->local_port = dat_addr_port(&cr->local);
	dat_obj_put(&cr->obj);
	return 0;
}

int dat_cmd_cr_accept(struct dat_ucmd *ucmd)
{
	struct dat_cr_accept *arg = ucmd->arg;
	struct dat_cr *cr;
	struct dat_ep *ep;
	int ret;

	if (arg->pd_len > dat_ucmd_ia(ucmd)->dev->limits.pd_reply)
		return -EINVAL;
	cr = dat_obj_get(ucmd->bound, DAT_OBJ_CR, arg->id);
	if (IS_ERR(cr))
		return PTR_ERR(cr);
	ep = dat_obj_get(ucmd->bound, DAT_OBJ_EP, arg->ep);
	ret = PTR_ERR_OR_ZERO(ep);
	if (ret)
		goto out_put_cr;
	ret = dat_ep_accept(ep, cr, arg->pd, arg->pd_len);
	if (!ret)
		dat_obj_free(&cr->obj);
	dat_obj_put(&ep->obj);
out_put_cr:
	dat_obj_put(&cr->obj);
	return ret;
}

int dat_cmd_cr_reject(struct dat_ucmd *ucmd)
{
	struct dat_cr_reject *arg = ucmd->arg;
	struct dat_cr *cr;
	int ret;

	if (arg->rsvd)
		return -EOPNOTSUPP;
	if (arg->pd_len > dat_ucmd_ia(ucmd)->dev->limits.pd_reject)
		return -EINVAL;
	cr = dat_obj_get(ucmd->bound, DAT_OBJ_CR, arg->id);
	if (IS_ERR(cr))
		return PTR_ERR(cr);
	dat_cr_reject(cr, arg->pd, arg->pd_len);
	ret = dat_obj_free(&cr->obj);
	dat_obj_put(&cr->obj);
	return ret;
}

/*
 * Hands a request off.  Runs without ia->sem, because dat_cr_handoff() takes ia->sem of the service
 * point's IA.
 */
int dat_cmd_cr_handoff(struct dat_ucmd *ucmd)
{
	struct dat_cr_handoff *arg = ucmd->arg;
	struct dat_cr *cr;
	int ret;

	if (!arg->conn_qual)
		return -EINVAL;
	cr = dat_obj_get(ucmd->bound, DAT_OBJ_CR, arg->id);
	if (IS_ERR(cr))
		return READ_ONCE(dat_ucmd_ia(ucmd)->dead) ? -ENODEV : PTR_ERR(cr);
	ret = dat_cr_handoff(cr, arg->conn_qual);
	if (!ret && !dat_ia_lock_live(ucmd->bound)) {
		dat_obj_free(&cr->obj);
		dat_ia_unlock(ucmd->bound);
	}
	dat_obj_put(&cr->obj);
	return ret;
}
