// SPDX-License-Identifier: GPL-2.0
/* Connection requests, from the peer's message to accept or reject. */
#include <linux/sched/mm.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cm.h>

#include "core/dat.h"

/* A consumer rejects: peers with OFED's libraries take a reject without data for a kernel's. */
static const char cr_reject_data[4] = "DATr";

/* The kernel refuses: iWARP has no reason codes. */
static const char cr_refusal_data[4] = "DATn";

/*
 * The requester may give up, or its device vanish, while the consumer thinks: then
 * the accept is what fails.
 */
int dat_cr_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct dat_cr *cr = id->context;

	/* Of all events only the end of the request can come here. */
	cr->gone = true;
	return 0;
}

/*
 * The address that a request claims is a part of its private data.  With RoCE the path's GID, to
 * which the answers go, is made of an address, too.
 */
static bool cr_off_path(const struct rdma_cm_id *id)
{
	union ib_gid gid;

	if (!rdma_protocol_roce(id->device, id->port_num))
		return false;
	rdma_ip2gid((struct sockaddr *)&id->route.addr.dst_addr, &gid);
	return memcmp(&gid, &id->route.path_rec->dgid, sizeof(gid));
}

static struct dat_cr *cr_alloc(struct dat_psp *psp, struct rdma_cm_id *id,
			       const struct rdma_conn_param *param)
{
	struct mem_cgroup *old;
	struct dat_cr *cr;

	/*
	 * All connections of the host share the CM's worker, so it must not reclaim memory of
	 * this listener's cgroup.  An atomic charge may exceed the limit by a backlog; the next
	 * allocation of the owner reclaims that.
	 */
	old = set_active_memcg(psp->memcg);
	cr = dat_obj_alloc_gfp(psp->obj.ia, DAT_OBJ_CR, psp->obj.user_data,
			       GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	set_active_memcg(old);
	if (IS_ERR(cr))
		return cr;
	cr->psp = psp;
	cr->remote = id->route.addr.dst_addr;
	cr->off_path = cr_off_path(id);
	cr->param = *param;
	cr->param.private_data = NULL;
	cr->pd_len = min_t(u32, param->private_data_len, sizeof(cr->pd));
	if (cr->pd_len)
		memcpy(cr->pd, param->private_data, cr->pd_len);
	return cr;
}

/* 0, or -ENOSPC: the object is published already, but nobody was told. */
static int cr_announce(struct dat_cr *cr, struct dat_psp *psp)
{
	struct dat_eqe eqe = {
		.type	= DAT_EV_CR,
		.owner	= psp->obj.user_data,
		.cookie	= psp->conn_qual,
		.data	= cr->obj.id,
	};

	return dat_evd_offer(psp->evd, &eqe) ? 0 : -ENOSPC;
}

/**
 * dat_cr_create() - turn a peer's request into an object and an event
 * @psp: listener with a place in its backlog, which this function takes over even when it fails
 * @id: of the request
 * @param: what it asks for
 *
 * Context: handler of @id, or its handler lock held; no close of the IA drops its objects
 * meanwhile.  Return: 0: the CR owned @id; else the caller has to refuse the peer: the EVD is
 * full, there is no memory, or the IA closes.
 */
int dat_cr_create(struct dat_psp *psp, struct rdma_cm_id *id,
		  const struct rdma_conn_param *param)
{
	struct dat_cr *cr = cr_alloc(psp, id, param);
	int ret;

	if (IS_ERR(cr)) {
		dat_psp_leave(&psp);
		return PTR_ERR(cr);
	}
	id->context = cr;
	id->event_handler = dat_cr_handler;
	cr->id = id;
	ret = dat_obj_publish(&cr->obj);
	if (ret) {
		cr->id = NULL;
		dat_obj_abort(&cr->obj);
		return ret;
	}
	if (!cr_announce(cr, psp)) {
		dat_obj_put(&cr->obj);
		return 0;
	}
	/* A process that guessed the CR's id may have taken @id, and then answers the peer. */
	ret = xchg(&cr->id, NULL) ? -ECONNREFUSED : 0;
	/* The consumer never learned of it: this was not the one request. */
	if (!ret)
		atomic_set(&psp->spent, 0);
	dat_obj_free(&cr->obj);
	dat_obj_put(&cr->obj);
	return ret;
}

/**
 * dat_cr_refuse() - refuse the peer without a consumer's word
 * @id: of the request; to be destroyed next
 * @reason: enum ib_cm_rej_reason, not IB_CM_REJ_CONSUMER_DEFINED
 */
void dat_cr_refuse(struct rdma_cm_id *id, u8 reason)
{
	rdma_reject(id, cr_refusal_data, sizeof(cr_refusal_data), reason);
}

/* Nobody is here any more who could answer the peer. */
static void cr_abandon(struct rdma_cm_id *id)
{
	dat_cr_refuse(id, IB_CM_REJ_INVALID_SERVICE_ID);
	rdma_destroy_id(id);
}

/**
 * dat_cr_reject() - refuse the peer
 * @cr: request; to be freed next
 * @pd: private data, or NULL: what all consumers send
 * @pd_len: bytes of it, 1 to DAT_MAX_PD_REJECT
 *
 * Context: may sleep.
 */
void dat_cr_reject(struct dat_cr *cr, const void *pd, u32 pd_len)
{
	struct rdma_cm_id *id = xchg(&cr->id, NULL);

	if (!id)
		return;
	if (!pd) {
		pd = cr_reject_data;
		pd_len = sizeof(cr_reject_data);
	}
	rdma_reject(id, pd, pd_len, IB_CM_REJ_CONSUMER_DEFINED);
	rdma_destroy_id(id);
}

/* The peer has said no more than that it is a consumer who rejects. */
bool dat_cr_reject_is_plain(const void *pd, u32 pd_len)
{
	return pd_len < sizeof(cr_reject_data) ||
	       !memcmp(pd, cr_reject_data, sizeof(cr_reject_data));
}

bool dat_cr_reject_is_refusal(const void *pd, u32 pd_len)
{
	return pd && pd_len >= sizeof(cr_refusal_data) &&
	       !memcmp(pd, cr_refusal_data, sizeof(cr_refusal_data));
}

/**
 * dat_cr_give_back() - return an id that could not be used
 * @cr: request that it was taken from by xchg()
 * @id: of the request
 *
 * A free, or a shutdown of the IA, that came meanwhile found no id to destroy: then it is
 * done here.  Both sides write first (the id, the death) and look at the other's word after
 * a full barrier, so one of them sees it, and xchg() lets only one have it.
 *
 * Context: may sleep.
 */
void dat_cr_give_back(struct dat_cr *cr, struct rdma_cm_id *id)
{
	xchg(&cr->id, id);
	if (!dat_obj_dying(&cr->obj) && !READ_ONCE(cr->obj.ia->dead))
		return;
	id = xchg(&cr->id, NULL);
	if (id)
		cr_abandon(id);
}

static int cr_move(struct dat_cr *cr, struct rdma_cm_id *id, struct dat_psp *psp)
{
	struct rdma_conn_param param = cr->param;
	int ret = -EADDRNOTAVAIL;

	param.private_data = cr->pd;
	param.private_data_len = cr->pd_len;
	mutex_lock(&psp->lock);
	rdma_lock_handler(id);
	if (psp->evd)
		ret = dat_psp_request(psp, id, &param);
	if (ret) {
		id->context = cr;
		id->event_handler = dat_cr_handler;
	} else {
		/* The new one may be on its way out, but not before we let go of the id. */
		((struct dat_cr *)id->context)->gone = cr->gone;
	}
	rdma_unlock_handler(id);
	mutex_unlock(&psp->lock);
	return ret;
}

/**
 * dat_cr_handoff() - make it a request at another service point
 * @cr: request; if that works, to be freed next
 * @conn_qual: of a service point of the same port, anybody's
 *
 * Context: may sleep; no ia->sem is held, since another IA's is taken.  Return: 0,
 * -EADDRNOTAVAIL no such service point, or it takes no more, -ENOENT the request is taken,
 * -ENOMEM; after an error @cr is as before.
 */
int dat_cr_handoff(struct dat_cr *cr, u64 conn_qual)
{
	struct rdma_cm_id *id;
	struct dat_psp *psp;
	int ret = -ENOENT;

	psp = dat_psp_find(cr->obj.ia, conn_qual);
	if (!psp)
		return -EADDRNOTAVAIL;
	id = xchg(&cr->id, NULL);
	if (!id)
		goto out_put;
	/* That its IA is closed, or has its one request, is not about ours. */
	ret = -EADDRNOTAVAIL;
	if (!dat_ia_lock_live(psp->obj.ia)) {
		ret = cr_move(cr, id, psp);
		dat_ia_unlock(psp->obj.ia);
	}
	if (ret == -ECONNREFUSED)
		ret = -EADDRNOTAVAIL;
	if (ret)
		dat_cr_give_back(cr, id);
out_put:
	dat_obj_put(&psp->obj);
	return ret;
}

static void cr_shutdown(struct dat_obj *obj)
{
	struct dat_cr *cr = to_dat_cr(obj);
	struct rdma_cm_id *id = xchg(&cr->id, NULL);
	struct dat_ep *ep = xchg(&cr->ep, NULL);

	if (id)
		cr_abandon(id);
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
