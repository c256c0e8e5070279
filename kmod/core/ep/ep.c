// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Endpoints (EPs): parents, attributes, state and rings, which outlive a connection. */
#include <linux/log2.h>

#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/ep/ring.h"
#include "core/ep/srq.h"
#include "core/event/evd.h"
#include "core/mem/lmr.h"
#include "core/peer.h"
#include "core/trace.h"
#include "core/xport.h"
#include "lib/state.h"

static const u16 ep_next[DAT_EP_NR_STATES] = {
	[DAT_EP_UNCONNECTED]	= BIT(DAT_EP_ACTIVE_PENDING) | BIT(DAT_EP_COMPL_PENDING),
	[DAT_EP_ACTIVE_PENDING]	= BIT(DAT_EP_CONNECTED) | BIT(DAT_EP_DISCONNECTED) |
				  BIT(DAT_EP_UNCONNECTED),
	[DAT_EP_COMPL_PENDING]	= BIT(DAT_EP_CONNECTED) | BIT(DAT_EP_DISCONNECTED) |
				  BIT(DAT_EP_UNCONNECTED),
	[DAT_EP_CONNECTED]	= BIT(DAT_EP_DISC_PENDING) | BIT(DAT_EP_DISCONNECTED),
	[DAT_EP_DISC_PENDING]	= BIT(DAT_EP_DISCONNECTED),
	[DAT_EP_DISCONNECTED]	= BIT(DAT_EP_UNCONNECTED),
};

static const char * const ep_state_names[DAT_EP_NR_STATES] = {
	[DAT_EP_UNCONNECTED]	= "UNCONNECTED",
	[DAT_EP_ACTIVE_PENDING]	= "ACTIVE_PENDING",
	[DAT_EP_COMPL_PENDING]	= "COMPLETION_PENDING",
	[DAT_EP_CONNECTED]	= "CONNECTED",
	[DAT_EP_DISC_PENDING]	= "DISCONNECT_PENDING",
	[DAT_EP_DISCONNECTED]	= "DISCONNECTED",
};

/* Changes ep->state.  No other function writes ep->state.  ep->lock is held. */
void dat_ep_set_state(struct dat_ep *ep, enum dat_ep_state state)
{
	lockdep_assert_held(&ep->lock);
	if (!dat_state_may(ep_next, ep->state, state))
		return;
	trace_dat_ep_state(ep, state);
	ep->state = state;
	dat_queue_update_open(ep);
	dat_epring_set_state(&ep->ring, state);
}

/*
 * Makes a new connection the EP's current one.  @state: DAT_EP_ACTIVE_PENDING or
 * DAT_EP_COMPL_PENDING.  After a success conn->held is set.  Fails with -EISCONN if the EP is not
 * UNCONNECTED, is being modified, or was modified after @conn was allocated; with -ENODEV if the EP
 * is shut down or its IA is closing.
 */
int dat_ep_claim(struct dat_ep *ep, enum dat_ep_state state, struct dat_conn *conn)
{
	int ret = 0;

	spin_lock_bh(&ep->lock);
	/* Once dat_dev_unregister() has ended the connections of an IA, the IA gets no new ones. */
	if (ep->dead || READ_ONCE(ep->obj.ia->closing)) {
		ret = -ENODEV;
	} else if (ep->state != DAT_EP_UNCONNECTED || conn->version != ep->version ||
		   ep->sq.frozen) {
		ret = -EISCONN;
	} else {
		conn->held = true;
		ep->conn = conn;
		WRITE_ONCE(ep->refusal, DAT_REFUSAL_NONE);
		dat_ep_set_state(ep, state);
	}
	spin_unlock_bh(&ep->lock);
	return ret;
}

/*
 * Undoes dat_ep_claim() after the transport could not start the connection.  Returns true if the
 * caller owns the connection again.  Returns false if the connection was closed meanwhile; its
 * teardown will then report an event.
 */
bool dat_ep_unclaim(struct dat_ep *ep)
{
	bool mine;

	spin_lock_bh(&ep->lock);
	mine = !dat_conn_is_closing(ep->conn);
	if (mine) {
		ep->conn = NULL;
		dat_ep_set_state(ep, DAT_EP_UNCONNECTED);
	}
	spin_unlock_bh(&ep->lock);
	return mine;
}

/*
 * Drops ep->lock for a moment, between two slices of work.  The state of the EP may change.
 * Context: ep->lock held, no other lock; may sleep.
 */
void dat_ep_cond_resched(struct dat_ep *ep)
{
	spin_unlock_bh(&ep->lock);
	cond_resched();
	spin_lock_bh(&ep->lock);
}

/*
 * Ends a connection or its establishment.  With @graceful, an established connection ends after all
 * posted requests have completed.  An abrupt disconnect ends a graceful disconnect that is in
 * progress.  Context: any but hard interrupt.  Returns 0 even if the connection has ended already.
 * Fails with -EISCONN if the EP is UNCONNECTED.
 */
int dat_ep_disconnect(struct dat_ep *ep, bool graceful)
{
	int ret = 0;

	spin_lock_bh(&ep->lock);
	if (ep->state == DAT_EP_UNCONNECTED)
		ret = -EISCONN;
	if (!ep->conn)
		goto out;
	if (ep->state == DAT_EP_CONNECTED)
		dat_ep_set_state(ep, DAT_EP_DISC_PENDING);
	if (ep->state == DAT_EP_DISC_PENDING && graceful)
		dat_conn_drain(ep->conn);
	else
		dat_conn_close(ep->conn, DAT_EV_DISCONNECTED);
out:
	spin_unlock_bh(&ep->lock);
	return ret;
}

/*
 * Makes a DISCONNECTED endpoint UNCONNECTED, so that it can connect again; does not change an
 * UNCONNECTED endpoint.  May sleep.  Fails with -EISCONN in other states, or if the producer's
 * index of a queue is out of range, which cannot be repaired.
 */
int dat_ep_reset(struct dat_ep *ep)
{
	int ret = 0;

	spin_lock_bh(&ep->lock);
	/* Entries that were posted before the reset belong to the old connection: flush them. */
	if (ep->state == DAT_EP_DISCONNECTED)
		dat_queue_flush_all(ep);
	if (ep->sq.broken || ep->rq.broken) {
		ret = -EISCONN;
	} else if (ep->state == DAT_EP_DISCONNECTED) {
		dat_queue_disarm(&ep->sq);
		dat_queue_disarm(&ep->rq);
		memset(&ep->local, 0, sizeof(ep->local));
		memset(&ep->remote, 0, sizeof(ep->remote));
		ep->read_in = ep->attr.read_in;
		ep->read_out = ep->attr.read_out;
		ep->rq.peak = 0;
		dat_epring_set_pd(&ep->ring, NULL, 0);
		dat_ep_set_state(ep, DAT_EP_UNCONNECTED);
	} else if (ep->state != DAT_EP_UNCONNECTED) {
		ret = -EISCONN;
	}
	spin_unlock_bh(&ep->lock);
	return ret;
}

static void parents_unuse(const struct dat_ep_parents *p)
{
	if (p->srq)
		dat_obj_unuse(&p->srq->obj);
	if (p->connect_evd)
		dat_obj_unuse(&p->connect_evd->obj);
	if (p->request_evd)
		dat_obj_unuse(&p->request_evd->obj);
	if (p->recv_evd)
		dat_obj_unuse(&p->recv_evd->obj);
	if (p->pz)
		dat_obj_unuse(&p->pz->obj);
}

/*
 * Takes a use of each parent that is not NULL.  If a parent is being freed, fails with -ENOENT and
 * takes no use.
 */
static int parents_use(const struct dat_ep_parents *p)
{
	struct dat_ep_parents used = {};

	if (p->pz && dat_obj_use(&p->pz->obj))
		goto err_unuse;
	used.pz = p->pz;
	if (p->recv_evd && dat_obj_use(&p->recv_evd->obj))
		goto err_unuse;
	used.recv_evd = p->recv_evd;
	if (p->request_evd && dat_obj_use(&p->request_evd->obj))
		goto err_unuse;
	used.request_evd = p->request_evd;
	if (p->connect_evd && dat_obj_use(&p->connect_evd->obj))
		goto err_unuse;
	used.connect_evd = p->connect_evd;
	if (p->srq && dat_obj_use(&p->srq->obj))
		goto err_unuse;
	return 0;

err_unuse:
	parents_unuse(&used);
	return -ENOENT;
}

/*
 * Exchanges the EP's parents with @p.  ep->lock is held, because many readers of the parents hold
 * no other lock.
 */
static void ep_swap_parents(struct dat_ep *ep, struct dat_ep_parents *p)
{
	lockdep_assert_held(&ep->lock);

	swap(ep->pz, p->pz);
	swap(ep->recv_evd, p->recv_evd);
	swap(ep->request_evd, p->request_evd);
	swap(ep->connect_evd, p->connect_evd);
	swap(ep->srq, p->srq);
}

static bool evd_takes(const struct dat_evd *evd, u32 stream)
{
	return !evd || evd->streams & stream;
}

static int ep_check_parents(const struct dat_ep_parents *p)
{
	if (!evd_takes(p->recv_evd, DAT_STREAM_DTO) ||
	    !evd_takes(p->request_evd, DAT_STREAM_DTO) ||
	    !evd_takes(p->connect_evd, DAT_STREAM_CONNECTION))
		return -EINVAL;
	if (p->srq && p->srq->pz != p->pz)
		return -EXDEV;
	return 0;
}

static u32 sq_entries(const struct dat_ep_attr *attr)
{
	return roundup_pow_of_two(max(attr->max_request, 1U));
}

static u32 rq_entries(const struct dat_ep_attr *attr, const struct dat_srq *srq)
{
	return srq ? 0 : roundup_pow_of_two(max(attr->max_recv, 1U));
}

static struct dat_epsize ring_size(const struct dat_ep_attr *attr, const struct dat_srq *srq)
{
	return (struct dat_epsize) {
		.sq_entries	= sq_entries(attr),
		.sq_sge		= attr->max_request_iov,
		.max_inline	= attr->max_inline,
		.rq_entries	= rq_entries(attr, srq),
		.rq_sge		= attr->max_recv_iov,
	};
}

static int ring_alloc(struct dat_ia *ia, struct dat_epring *ring, const struct dat_ep_attr *attr,
		      const struct dat_srq *srq)
{
	const struct dat_epsize size = ring_size(attr, srq);

	return dat_epring_alloc(ia, ring, &size);
}

static bool ring_fits(const struct dat_epring *ring, const struct dat_ep_attr *attr,
		      const struct dat_srq *srq)
{
	const struct dat_epsize size = ring_size(attr, srq);

	return dat_epring_fits(ring, &size);
}

static int ep_alloc_queues(struct dat_ep *ep)
{
	const struct dat_ep_attr *attr = &ep->attr;
	int ret;

	ret = ring_alloc(ep->obj.ia, &ep->ring, attr, ep->srq);
	if (!ret)
		ret = dat_epring_alloc_status(ep->obj.ia, &ep->ring);
	if (ret)
		return ret;
	dat_queue_init(&ep->sq, &ep->obj, sq_entries(attr));
	dat_queue_init(&ep->rq, &ep->obj, rq_entries(attr, ep->srq));
	dat_epring_bind(&ep->ring, &ep->sq, &ep->rq);
	return 0;
}

/* Returns true if the adapter supports an endpoint with these attributes. */
bool dat_ep_attr_fits(const struct dat_ia *ia, const struct dat_ep_attr *attr)
{
	const struct dat_limits *limits = &ia->dev->limits;
	u32 flags = DAT_SQE_SUPPRESS | DAT_SQE_SOLICITED | DAT_SQE_UNSIGNALLED;

	return attr->max_recv <= limits->max_dto && attr->max_request <= limits->max_dto &&
	       attr->max_recv_iov <= limits->recv_sge &&
	       attr->max_request_iov <= limits->send_sge &&
	       attr->max_inline <= limits->max_inline &&
	       attr->read_in <= limits->read_in && attr->read_out <= limits->read_out &&
	       !((attr->recv_flags | attr->request_flags) & ~flags);
}

/*
 * Makes an endpoint.  Each parent may be NULL.  Without a protection zone the EP takes no segments,
 * and the face must not let the EP connect or accept.  dat_ep_attr_fits() has accepted @attr.  May
 * sleep.  Fails with -EINVAL if an EVD does not accept the events of the EP, with -EXDEV if the SRQ
 * is in another zone, with -ENOENT if a parent is being freed, with -ENODEV if the IA is shut down,
 * or with -ENOMEM.
 */
struct dat_ep *dat_ep_create(struct dat_ia *ia, const struct dat_ep_parents *parents,
			     const struct dat_ep_attr *attr, u64 user_data)
{
	struct dat_ep *ep;
	int ret;

	ret = ep_check_parents(parents);
	if (ret)
		return ERR_PTR(ret);
	ep = dat_obj_alloc(ia, DAT_OBJ_EP, user_data);
	if (IS_ERR(ep))
		return ep;
	spin_lock_init(&ep->lock);
	ep->attr = *attr;
	ep->read_in = attr->read_in;
	ep->read_out = attr->read_out;
	ret = parents_use(parents);
	if (ret)
		goto err_abort;
	ep->pz = parents->pz;
	ep->recv_evd = parents->recv_evd;
	ep->request_evd = parents->request_evd;
	ep->connect_evd = parents->connect_evd;
	ep->srq = parents->srq;
	ret = ep_alloc_queues(ep);
	if (ret)
		goto err_abort;
	ret = dat_obj_publish(&ep->obj);
	if (ret)
		goto err_abort;
	return ep;

err_abort:
	dat_obj_abort(&ep->obj);
	return ERR_PTR(ret);
}

/* Freezes the queues of an UNCONNECTED EP, so that their entries can be copied without ep->lock. */
static int ep_begin_change(struct dat_ep *ep, struct dat_epmove *m)
{
	int ret = -EISCONN;

	spin_lock_bh(&ep->lock);
	if (!ep->dead && ep->state == DAT_EP_UNCONNECTED)
		ret = dat_epring_begin_move(m);
	ep->sq.frozen = !ret;
	ep->rq.frozen = !ret;
	spin_unlock_bh(&ep->lock);
	return ret;
}

/*
 * Puts the new ring, parents and attributes into use.  Fails with -EISCONN if the EP was shut down
 * meanwhile.
 */
static int ep_end_change(struct dat_ep *ep, struct dat_ep_parents *parents,
			 const struct dat_ep_attr *attr, const struct dat_epmove *m)
{
	int ret = -EISCONN;

	spin_lock_bh(&ep->lock);
	ep->sq.frozen = false;
	ep->rq.frozen = false;
	if (!ep->dead) {
		dat_epring_end_move(m);
		ep_swap_parents(ep, parents);
		ep->attr = *attr;
		ep->read_in = attr->read_in;
		ep->read_out = attr->read_out;
		ep->version++;
		ret = 0;
	}
	spin_unlock_bh(&ep->lock);
	return ret;
}

/* Replaces the ring of @ep by @ring.  After a success @ring is the old ring. */
static int ep_use_ring(struct dat_ep *ep, struct dat_ep_parents *parents,
		       const struct dat_ep_attr *attr, struct dat_epring *ring)
{
	struct dat_epmove m = {
		.ring = &ep->ring, .next = ring,
		.sq = &ep->sq, .sq_entries = sq_entries(attr),
		.rq = parents->srq ? NULL : &ep->rq, .rq_entries = rq_entries(attr, parents->srq),
	};
	int ret;

	if (!ring_fits(ring, attr, parents->srq))
		return -EINVAL;
	ret = ep_begin_change(ep, &m);
	if (ret)
		return ret;
	dat_epring_copy(&m);
	return ep_end_change(ep, parents, attr, &m);
}

/*
 * Carries out @step.  On entry @ring is the new ring, or empty if the step makes no ring.  On
 * return @ring is the ring that the caller must free.
 */
static int ep_step(struct dat_ep *ep, struct dat_ep_parents *parents,
		   const struct dat_ep_attr *attr, struct dat_epring *ring,
		   struct dat_step *step)
{
	bool at_once = step->what == DAT_RING_AT_ONCE;
	int ret;

	ret = dat_step_begin(ep->obj.ia, &ep->next.submit, &ep->generation, step);
	if (!ret && dat_step_uses(step))
		ret = ep_use_ring(ep, parents, attr, at_once ? ring : &ep->next);
	if (!ret && !at_once)
		swap(ep->next, *ring);
	return ret;
}

/**
 * dat_ep_modify() - change the parents and attributes of an UNCONNECTED endpoint
 * @ep: endpoint
 * @parents: new parents; the SRQ must be the same as before
 * @attr: new attributes; dat_ep_attr_fits() must have accepted them
 * @step: step of the ring's replacement, or DAT_RING_AT_ONCE for all steps
 *
 * Entries that are in the rings move to the new ring.  After an error nothing has changed.
 *
 * Context: may sleep.  Return: 0; -EISCONN if the EP is not UNCONNECTED or is shut down, or if a
 * queue is broken; -ENOSPC if more entries are posted than the new ring holds; -ESTALE if no ring
 * with the generation in @step is prepared; -EINVAL if the prepared ring has other sizes; or
 * -EINVAL, -EXDEV, -ENOENT or -ENOMEM as for dat_ep_create().
 */
int dat_ep_modify(struct dat_ep *ep, const struct dat_ep_parents *parents,
		  const struct dat_ep_attr *attr, struct dat_step *step)
{
	struct dat_ep_parents p = *parents;
	struct dat_epring ring = {};
	int ret;

	ret = ep_check_parents(parents);
	if (!ret)
		ret = parents_use(parents);
	if (ret)
		return ret;
	if (dat_step_makes(step))
		ret = ring_alloc(ep->obj.ia, &ring, attr, parents->srq);
	if (!ret) {
		mutex_lock(&ep->obj.ia->resize_lock);
		ret = ep_step(ep, &p, attr, &ring, step);
		mutex_unlock(&ep->obj.ia->resize_lock);
	}
	/* p and ring now hold the parents and the ring that the EP does not use. */
	parents_unuse(&p);
	dat_epring_free(&ring);
	return ret;
}

/*
 * Drops the references that a face's lookups of parents have taken.  Each member of @p is a valid
 * pointer, an ERR_PTR or NULL.  May sleep.
 */
void dat_ep_put_parents(const struct dat_ep_parents *p)
{
	if (!IS_ERR_OR_NULL(p->srq))
		dat_obj_put(&p->srq->obj);
	if (!IS_ERR_OR_NULL(p->connect_evd))
		dat_obj_put(&p->connect_evd->obj);
	if (!IS_ERR_OR_NULL(p->request_evd))
		dat_obj_put(&p->request_evd->obj);
	if (!IS_ERR_OR_NULL(p->recv_evd))
		dat_obj_put(&p->recv_evd->obj);
	if (!IS_ERR_OR_NULL(p->pz))
		dat_obj_put(&p->pz->obj);
}

/* Calls dat_obj_unuse() for all parents of an EP that is shut down.  May sleep. */
void dat_ep_drop_parents(struct dat_ep *ep)
{
	struct dat_ep_parents parents = {};

	spin_lock_bh(&ep->lock);
	ep_swap_parents(ep, &parents);
	spin_unlock_bh(&ep->lock);
	parents_unuse(&parents);
}

/*
 * Commits to the free of an EP.  Each post of a kernel consumer holds ep->lock.  So once ep->dead
 * and ep->freed are set, new posts of a kernel consumer are refused.  Events of earlier posts are
 * not queued any more, except those of receives from an SRQ.
 */
static int ep_may_free(struct dat_obj *obj)
{
	struct dat_ep *ep = to_dat_ep(obj);

	spin_lock_bh(&ep->lock);
	ep->dead = true;
	ep->freed = true;
	dat_queue_update_open(ep);
	spin_unlock_bh(&ep->lock);
	return 0;
}

static void ep_begin_shutdown(struct dat_obj *obj)
{
	struct dat_ep *ep = to_dat_ep(obj);

	spin_lock_bh(&ep->lock);
	ep->dead = true;
	dat_queue_update_open(ep);
	if (ep->conn)
		dat_conn_close(ep->conn, DAT_EV_DISCONNECTED);
	spin_unlock_bh(&ep->lock);
}

static void ep_shutdown(struct dat_obj *obj)
{
	struct dat_ep *ep = to_dat_ep(obj);

	ep_begin_shutdown(obj);
	wait_var_event(&ep->nconns, !atomic_read(&ep->nconns));
	/* Wait for a dat_ep_modify() that began before ep->dead was set.  Later ones do nothing. */
	mutex_lock(&obj->ia->resize_lock);
	mutex_unlock(&obj->ia->resize_lock);
	/* Without the mutex, which others need: a queue may have 65,536 entries. */
	dat_queue_forget(ep);
	dat_ep_drop_parents(ep);
}

static void ep_release(struct dat_obj *obj)
{
	dat_epring_free(&to_dat_ep(obj)->ring);
	dat_epring_free(&to_dat_ep(obj)->next);
}

static void ep_show(struct seq_file *m, struct dat_obj *obj)
{
	struct dat_ep *ep = to_dat_ep(obj);

	spin_lock_bh(&ep->lock);
	seq_printf(m, " state=%s sq_entries=%u sq_head=%u sq_done=%u sq_bad=%llu sq_armed=%u",
		   ep_state_names[ep->state], ep->sq.entries, ep->sq.head, ep->sq.done,
		   ep->sq.bad, ep->sq.armed);
	seq_printf(m, " rq_entries=%u rq_head=%u rq_done=%u rq_bad=%llu rq_armed=%u srq=%u",
		   ep->rq.entries, ep->rq.head, ep->rq.done, ep->rq.bad, ep->rq.armed,
		   ep->srq ? ep->srq->obj.id : 0);
	seq_printf(m, " immediate=%d inflight=%u silent=%u conns=%d",
		   dat_ep_has_imm(ep), ep->conn ? ep->conn->inflight : 0,
		   ep->conn ? ep->conn->silent : 0, atomic_read(&ep->nconns));
	if (ep->conn)
		seq_printf(m, " comp_vector=%u", ep->conn->comp_vector);
	seq_printf(m, " requests=%llu receives=%llu kicks=%llu", ep->sq.posts, ep->rq.posts,
		   ep->sq.kicks + ep->rq.kicks);
	seq_printf(m, " completed=%llu failed=%llu flushed=%llu malformed=%llu", ep->completed,
		   ep->failed, ep->flushed, ep->sq.bad + ep->rq.bad);
	spin_unlock_bh(&ep->lock);
}

const struct dat_obj_ops dat_ep_ops = {
	.name		= "ep",
	.size		= sizeof(struct dat_ep),
	.charge		= true,
	.may_free	= ep_may_free,
	.begin_shutdown	= ep_begin_shutdown,
	.shutdown	= ep_shutdown,
	.release	= ep_release,
	.show		= ep_show,
};
