// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Endpoints of kernel consumers: create, query, modify, reset and free.  post.c has the posts. */
#include <linux/slab.h>
#include <net/sock.h>

#include "core/addr.h"
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/ring.h"
#include "core/ep/srq.h"
#include "core/event/evd.h"
#include "core/mem/lmr.h"
#include "kdapl/kdapl.h"

/* Fields that dat_ep_modify() cannot change. */
#define EP_FIXED (DAT_EP_FIELD_IA_HANDLE | DAT_EP_FIELD_EP_STATE |			\
		  DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR | DAT_EP_FIELD_LOCAL_PORT_QUAL |	\
		  DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR | DAT_EP_FIELD_REMOTE_PORT_QUAL |	\
		  DAT_EP_FIELD_SRQ_HANDLE)

static const DAT_COMM ep_comm = { AF_INET, SOCK_STREAM, IPPROTO_TCP };

/* Returns the kDAPL state of an EP.  ep->lock is held. */
DAT_EP_STATE kdat_ep_state(const struct dat_ep *ep)
{
	lockdep_assert_held(&ep->lock);

	/* The constants of enum dat_ep_state and of DAT_EP_STATE have the same values. */
	return ep->state == DAT_EP_UNCONNECTED ? kdat_ep_of(ep)->stage :
						 (DAT_EP_STATE)ep->state;
}

/*
 * Changes the kDAPL state of an EP from @from to @to.  Both are values of the member stage of
 * struct kdat_ep.  Returns the previous state, and changes nothing if the previous state is not
 * @from.  Context: any but hard interrupt.
 */
DAT_EP_STATE kdat_ep_reserve(struct dat_ep *ep, DAT_EP_STATE from, DAT_EP_STATE to)
{
	DAT_EP_STATE state;

	spin_lock_bh(&ep->lock);
	state = kdat_ep_state(ep);
	if (state == from)
		kdat_ep_of(ep)->stage = to;
	spin_unlock_bh(&ep->lock);
	return state;
}

/*
 * Sets the queue sizes in @attr to those of the allocated rings, but at most to the adapter's
 * limit.  A ring may be longer than the limit, because the length of a ring is a power of two.
 */
static void attr_note_rings(const struct dat_ep *ep, DAT_EP_ATTR *attr)
{
	u32 limit = ep->obj.ia->dev->limits.max_dto;

	attr->max_request_dtos = min(ep->sq.entries, limit);
	if (!ep->srq)
		attr->max_recv_dtos = min(ep->rq.entries, limit);
}

/* Handles of the objects that an EP refers to. */
struct ep_handles {
	DAT_PZ_HANDLE	pz;
	DAT_EVD_HANDLE	recv_evd;
	DAT_EVD_HANDLE	request_evd;
	DAT_EVD_HANDLE	connect_evd;
	DAT_SRQ_HANDLE	srq;
};

/*
 * Looks up an optional EVD.  Returns true if @handle is DAT_HANDLE_NULL, or an EVD that takes
 * events of @stream.  Sets *@evd to an EVD that was found, with a reference that the caller must
 * drop even if the result is false.
 */
static bool evd_get(struct dat_ia *ia, DAT_EVD_HANDLE handle, u32 stream, struct dat_evd **evd)
{
	struct dat_evd *found;

	if (handle == DAT_HANDLE_NULL)
		return true;
	found = kdat_get_in(ia, handle, DAT_HANDLE_TYPE_EVD);
	if (IS_ERR(found))
		return false;
	*evd = found;
	return found->streams & stream;
}

static DAT_RETURN parents_find(struct dat_ia *ia, const struct ep_handles *h,
			       struct dat_ep_parents *p)
{
	void *obj;

	if (h->pz != DAT_HANDLE_NULL) {
		obj = kdat_get_in(ia, h->pz, DAT_HANDLE_TYPE_PZ);
		if (IS_ERR(obj))
			return KDAT_BAD(PZ);
		p->pz = obj;
	}
	if (!evd_get(ia, h->recv_evd, DAT_STREAM_DTO, &p->recv_evd))
		return KDAT_BAD(EVD_RECV);
	if (!evd_get(ia, h->request_evd, DAT_STREAM_DTO, &p->request_evd))
		return KDAT_BAD(EVD_REQUEST);
	if (!evd_get(ia, h->connect_evd, DAT_STREAM_CONNECTION, &p->connect_evd))
		return KDAT_BAD(EVD_CONN);
	if (h->srq == DAT_HANDLE_NULL)
		return DAT_SUCCESS;
	obj = kdat_get_in(ia, h->srq, DAT_HANDLE_TYPE_SRQ);
	if (IS_ERR(obj))
		return KDAT_BAD(SRQ);
	p->srq = obj;
	return DAT_SUCCESS;
}

static DAT_RETURN parents_get(struct dat_ia *ia, const struct ep_handles *h,
			      struct dat_ep_parents *p)
{
	DAT_RETURN rc;

	*p = (struct dat_ep_parents) {};
	rc = parents_find(ia, h, p);
	if (rc != DAT_SUCCESS)
		dat_ep_put_parents(p);
	return rc;
}

static struct dat_ep *ep_new(struct dat_ia *ia, const struct dat_ep_parents *p,
			     const DAT_EP_ATTR *attr, DAT_EP_STATE stage)
{
	const struct dat_ep_attr oattr = kdat_attr_convert(attr, p->srq);
	struct kdat_ep *kep = kzalloc(sizeof(*kep), GFP_KERNEL);
	struct dat_ep *ep;

	if (!kep)
		return ERR_PTR(-ENOMEM);
	kep->attr = *attr;
	kep->stage = stage;
	mutex_init(&kep->modify);
	ep = dat_ep_create(ia, p, &oattr, (uintptr_t)kep);
	if (IS_ERR(ep))
		kfree(kep);
	else
		/* No lock is needed, because no consumer has the handle yet. */
		attr_note_rings(ep, &kep->attr);
	return ep;
}

/*
 * Makes an EP for a connection request.  The EP has no zone and no EVDs; the consumer sets both by
 * dat_ep_modify() before the accept.  The caller must later call dat_obj_unuse() for the returned
 * EP.  Context: may sleep; ia->sem held.
 */
struct dat_ep *kdat_ep_tentative(struct dat_ia *ia)
{
	const struct dat_ep_parents none = {};
	DAT_EP_ATTR attr;
	struct dat_ep *ep;
	int ret;

	lockdep_assert_held(&ia->sem);
	kdat_attr_default(ia, &attr);
	kdat_attr_complete(ia, &attr);
	ep = ep_new(ia, &none, &attr, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	if (IS_ERR(ep))
		return ep;
	/* dat_obj_use() fails only if a consumer has guessed the handle and freed the EP. */
	ret = dat_obj_use(&ep->obj);
	dat_obj_put(&ep->obj);
	return ret ? ERR_PTR(-ENOMEM) : ep;
}

static DAT_RETURN kep_make(struct dat_ia *ia, const struct dat_ep_parents *p,
			   const DAT_EP_ATTR *attr, DAT_EP_HANDLE *out)
{
	struct dat_ep *ep = ep_new(ia, p, attr, DAT_EP_STATE_UNCONNECTED);

	if (IS_ERR(ep))
		return ep == ERR_PTR(-ENOMEM) ?
		       KDAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP) :
		       ep == ERR_PTR(-EXDEV) ? KDAT_ARG(2) : kdat_error(PTR_ERR(ep));
	*out = kdat_handle(&ep->obj);
	dat_obj_put(&ep->obj);
	return DAT_SUCCESS;
}

static DAT_RETURN ep_create(DAT_IA_HANDLE ia_handle, const struct ep_handles *h,
			    const DAT_EP_ATTR *wanted, DAT_RETURN bad_attr, DAT_EP_HANDLE *out)
{
	struct kdat_ia *kia = kdat_ia_get(ia_handle);
	struct dat_ep_parents parents;
	DAT_EP_ATTR attr;
	DAT_RETURN rc;

	if (IS_ERR(kia))
		return kdat_lookup_error(PTR_ERR(kia), KDAT_BAD(IA));
	rc = h->pz == DAT_HANDLE_NULL ? KDAT_BAD(PZ) : parents_get(kia->ia, h, &parents);
	if (rc != DAT_SUCCESS)
		goto out_done;
	if (wanted)
		attr = *wanted;
	else
		kdat_attr_default(kia->ia, &attr);
	rc = kdat_attr_check(kia->ia, &attr, bad_attr);
	if (rc == DAT_SUCCESS) {
		kdat_attr_complete(kia->ia, &attr);
		rc = kep_make(kia->ia, &parents, &attr, out);
	}
	dat_ep_put_parents(&parents);
out_done:
	kdat_ia_done(kia);
	return rc;
}

DAT_RETURN kdat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
			  DAT_EVD_HANDLE connect_evd_handle, const DAT_EP_ATTR *ep_attributes,
			  DAT_EP_HANDLE *ep_handle)
{
	struct ep_handles h = {
		.pz = pz_handle, .recv_evd = recv_evd_handle,
		.request_evd = request_evd_handle, .connect_evd = connect_evd_handle,
	};

	if (!ep_handle)
		return KDAT_ARG(7);
	return ep_create(ia_handle, &h, ep_attributes, KDAT_ARG(6), ep_handle);
}
EXPORT_SYMBOL_DAT(kdat_ep_create);

DAT_RETURN kdat_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
				   DAT_EVD_HANDLE recv_evd_handle,
				   DAT_EVD_HANDLE request_evd_handle,
				   DAT_EVD_HANDLE connect_evd_handle,
				   DAT_SRQ_HANDLE srq_handle,
				   const DAT_EP_ATTR *ep_attributes,
				   DAT_EP_HANDLE *ep_handle)
{
	struct ep_handles h = {
		.pz = pz_handle, .recv_evd = recv_evd_handle,
		.request_evd = request_evd_handle, .connect_evd = connect_evd_handle,
		.srq = srq_handle,
	};

	if (srq_handle == DAT_HANDLE_NULL)
		return KDAT_BAD(SRQ);
	if (!ep_attributes)
		return KDAT_ARG(7);
	if (!ep_handle)
		return KDAT_ARG(8);
	return ep_create(ia_handle, &h, ep_attributes, KDAT_ARG(7), ep_handle);
}
EXPORT_SYMBOL_DAT(kdat_ep_create_with_srq);

static DAT_RETURN ep_set_traits(struct dat_ep *ep, void *arg)
{
	ep->traits = *(u32 *)arg;
	return DAT_SUCCESS;
}

/**
 * kdat_ep_set_traits() - set the traits of an EP before it connects or accepts
 * @ep_handle: EP that has no connection yet
 * @traits: enum dat_ep_trait bits
 *
 * For dat_rsm.ko only.
 *
 * Context: any but hard interrupt.  Return: DAT_SUCCESS, or an error of kdat_ep_call().
 */
DAT_RETURN kdat_ep_set_traits(DAT_EP_HANDLE ep_handle, u32 traits)
{
	return kdat_ep_call(ep_handle, ep_set_traits, &traits);
}
EXPORT_SYMBOL_DAT_INTERNAL(kdat_ep_set_traits);

/**
 * kdat_ep_path() - read the GIDs and queue pair numbers of an EP's connection
 * @ep_handle: connected EP
 * @path: set to the GIDs and queue pair numbers
 *
 * For dat_rsm.ko only.  Context: may sleep.  Return: DAT_SUCCESS; DAT_INVALID_HANDLE if there is no
 * such EP, or if the EP has no open connection; or another error of kdat_get().
 */
DAT_RETURN kdat_ep_path(DAT_EP_HANDLE ep_handle, struct dat_path *path)
{
	struct dat_ep *ep = kdat_get(ep_handle, DAT_HANDLE_TYPE_EP);
	int ret;

	if (IS_ERR(ep))
		return kdat_lookup_error(PTR_ERR(ep), KDAT_BAD(EP));
	ret = dat_ep_path(ep, path);
	kdat_done(&ep->obj);
	return ret ? KDAT_BAD(EP) : DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT_INTERNAL(kdat_ep_path);

/**
 * kdat_ep_allow_peer() - allow the peer of an EP to access memory
 * @ep_handle: connected EP with the trait DAT_EP_PEER_WAITS
 * @write: false: the peer may only read; true: the peer may read and write
 *
 * For dat_rsm.ko only.  Context: may sleep.  Return: DAT_SUCCESS; DAT_INVALID_HANDLE if there is no
 * such EP, or if dat_ep_allow_peer() fails; or another error of kdat_get().
 */
DAT_RETURN kdat_ep_allow_peer(DAT_EP_HANDLE ep_handle, bool write)
{
	struct dat_ep *ep = kdat_get(ep_handle, DAT_HANDLE_TYPE_EP);
	int ret;

	if (IS_ERR(ep))
		return kdat_lookup_error(PTR_ERR(ep), KDAT_BAD(EP));
	ret = dat_ep_allow_peer(ep, write);
	kdat_done(&ep->obj);
	return ret ? KDAT_BAD(EP) : DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT_INTERNAL(kdat_ep_allow_peer);

enum dat_refusal kdat_ep_refusal(DAT_EP_HANDLE ep_handle)
{
	struct dat_ep *ep = kdat_get(ep_handle, DAT_HANDLE_TYPE_EP);
	enum dat_refusal refusal;

	if (IS_ERR(ep))
		return DAT_REFUSAL_NONE;
	refusal = READ_ONCE(ep->refusal);
	kdat_done(&ep->obj);
	return refusal;
}
EXPORT_SYMBOL_DAT_INTERNAL(kdat_ep_refusal);

/* Copies an address to memory that outlives the connection.  Returns NULL for an unset address. */
static DAT_IA_ADDRESS_PTR addr_copy(struct sockaddr_storage *to,
				    const struct sockaddr_storage *from)
{
	*to = *from;
	return to->ss_family ? (DAT_IA_ADDRESS_PTR)to : NULL;
}

static void query_addresses(struct dat_ep *ep, DAT_EP_PARAM *param)
{
	struct kdat_ep *kep = kdat_ep_of(ep);
	struct kdat_ia *kia = kdat_ia_find(kdat_ia_handle(ep->obj.ia));

	param->comm = ep_comm;
	param->local_ia_address_ptr = addr_copy(&kep->local, &ep->local);
	param->local_port_qual = dat_addr_port(&ep->local);
	param->remote_ia_address_ptr = addr_copy(&kep->remote, &ep->remote);
	param->remote_port_qual = dat_addr_port(&ep->remote);
	if (kia && !param->local_ia_address_ptr)
		param->local_ia_address_ptr = kdat_ia_addr(kia);
	if (param->local_ia_address_ptr)
		param->comm.domain = param->local_ia_address_ptr->sa_family;
}

static DAT_RETURN ep_query(struct dat_ep *ep, void *arg)
{
	DAT_EP_PARAM *param = arg;

	query_addresses(ep, param);
	param->ia_handle = kdat_ia_handle(ep->obj.ia);
	param->ep_state = kdat_ep_state(ep);
	param->pz_handle = KDAT_HANDLE(ep->pz);
	param->recv_evd_handle = KDAT_HANDLE(ep->recv_evd);
	param->request_evd_handle = KDAT_HANDLE(ep->request_evd);
	param->connect_evd_handle = KDAT_HANDLE(ep->connect_evd);
	param->srq_handle = KDAT_HANDLE(ep->srq);
	param->ep_attr = kdat_ep_of(ep)->attr;
	if (ep->srq)
		param->ep_attr.max_recv_dtos = kdat_srq_length(ep->srq);
	if (ep->state == DAT_EP_CONNECTED) {
		param->ep_attr.max_rdma_read_in = ep->read_in;
		param->ep_attr.max_rdma_read_out = ep->read_out;
	}
	return DAT_SUCCESS;
}

DAT_RETURN kdat_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			 DAT_EP_PARAM *ep_param)
{
	if (ep_param_mask & ~DAT_EP_FIELD_ALL)
		return KDAT_ARG(2);
	return ep_param ? kdat_ep_call(ep_handle, ep_query, ep_param) : KDAT_ARG(3);
}
EXPORT_SYMBOL_DAT(kdat_ep_query);

/*
 * Reads the current handles and attributes of an EP.  Fails if the state of the EP, or a posted
 * receive, does not allow a modification of the fields in @mask.
 */
static DAT_RETURN modify_begin(struct dat_ep *ep, DAT_EP_PARAM_MASK mask, struct ep_handles *h,
			       DAT_EP_ATTR *attr)
{
	DAT_RETURN rc = DAT_SUCCESS;
	DAT_EP_STATE state;

	spin_lock_bh(&ep->lock);
	state = kdat_ep_state(ep);
	*attr = kdat_ep_of(ep)->attr;
	*h = (struct ep_handles) {
		.pz = KDAT_HANDLE(ep->pz), .recv_evd = KDAT_HANDLE(ep->recv_evd),
		.request_evd = KDAT_HANDLE(ep->request_evd),
		.connect_evd = KDAT_HANDLE(ep->connect_evd), .srq = KDAT_HANDLE(ep->srq),
	};
	if (ep->state != DAT_EP_UNCONNECTED ||
	    (mask & DAT_EP_FIELD_PZ_HANDLE && state != DAT_EP_STATE_UNCONNECTED &&
	     state != DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING))
		rc = kdat_state_error(state);
	/* Posted receives must complete with the flags that the EP had when they were posted. */
	else if (mask & DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS && !ep->srq &&
		 dat_ring_posted(&ep->rq))
		rc = KDAT_ERR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	spin_unlock_bh(&ep->lock);
	return rc;
}

static void take_handles(struct ep_handles *h, const DAT_EP_PARAM *param,
			 DAT_EP_PARAM_MASK mask)
{
	if (mask & DAT_EP_FIELD_PZ_HANDLE)
		h->pz = param->pz_handle;
	if (mask & DAT_EP_FIELD_RECV_EVD_HANDLE)
		h->recv_evd = param->recv_evd_handle;
	if (mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE)
		h->request_evd = param->request_evd_handle;
	if (mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE)
		h->connect_evd = param->connect_evd_handle;
}

static DAT_RETURN modify_commit(struct dat_ep *ep, const struct ep_handles *h,
				DAT_EP_ATTR *attr)
{
	struct dat_step step = { .what = DAT_RING_AT_ONCE };
	struct dat_ia *ia = ep->obj.ia;
	struct dat_ep_parents parents;
	struct dat_ep_attr oattr;
	DAT_RETURN rc;
	int ret;

	rc = parents_get(ia, h, &parents);
	if (rc != DAT_SUCCESS)
		return rc;
	kdat_attr_complete(ia, attr);
	oattr = kdat_attr_convert(attr, parents.srq);
	ret = dat_ep_modify(ep, &parents, &oattr, &step);
	dat_ep_put_parents(&parents);
	if (ret)
		return ret == -EXDEV ? KDAT_ARG(3) : kdat_resize_error(ret);
	spin_lock_bh(&ep->lock);
	attr_note_rings(ep, attr);
	kdat_ep_of(ep)->attr = *attr;
	spin_unlock_bh(&ep->lock);
	return DAT_SUCCESS;
}

static DAT_RETURN kep_modify(struct dat_ep *ep, DAT_EP_PARAM_MASK mask,
			     const DAT_EP_PARAM *param)
{
	struct ep_handles h;
	DAT_EP_ATTR attr;
	DAT_RETURN rc;

	rc = modify_begin(ep, mask, &h, &attr);
	if (rc != DAT_SUCCESS)
		return rc;
	take_handles(&h, param, mask);
	/* A tentative EP may have no zone yet, but a consumer cannot take the zone away. */
	if (mask & DAT_EP_FIELD_PZ_HANDLE && h.pz == DAT_HANDLE_NULL)
		return KDAT_BAD(PZ);
	/* Without the pointer, the count may not exceed that of the present array. */
	if (mask & DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR &&
	    !(mask & DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR) &&
	    param->ep_attr.ep_provider_specific_count > attr.ep_provider_specific_count)
		return KDAT_ARG(3);
	kdat_attr_take(&attr, &param->ep_attr, mask);
	rc = kdat_attr_check(ep->obj.ia, &attr, KDAT_ARG(3));
	return rc == DAT_SUCCESS ? modify_commit(ep, &h, &attr) : rc;
}

DAT_RETURN kdat_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			  const DAT_EP_PARAM *ep_param)
{
	struct kdat_ep *kep;
	struct dat_ep *ep;
	DAT_RETURN rc;

	if (ep_param_mask & ~DAT_EP_FIELD_ALL || ep_param_mask & EP_FIXED)
		return KDAT_ARG(2);
	if (!ep_param)
		return KDAT_ARG(3);
	if (ep_param_mask & DAT_EP_FIELD_COMM && !kdat_comm_good(&ep_param->comm))
		return KDAT_ERR(DAT_COMM_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	ep = kdat_get(ep_handle, DAT_HANDLE_TYPE_EP);
	if (IS_ERR(ep))
		return kdat_lookup_error(PTR_ERR(ep), KDAT_BAD(EP));
	kep = kdat_ep_of(ep);
	mutex_lock(&kep->modify);
	rc = kep_modify(ep, ep_param_mask, ep_param);
	mutex_unlock(&kep->modify);
	kdat_done(&ep->obj);
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_ep_modify);

/* State of an EP, and numbers of outstanding receives and requests.  With an SRQ, @recvs is 0. */
struct ep_status {
	DAT_EP_STATE	state;
	bool		srq;
	u32		recvs;
	u32		requests;
};

static DAT_RETURN ep_status(struct dat_ep *ep, void *arg)
{
	struct ep_status *status = arg;

	status->state = kdat_ep_state(ep);
	status->srq = ep->srq;
	status->recvs = ep->srq ? 0 : dat_ring_posted(&ep->rq);
	status->requests = dat_ring_posted(&ep->sq);
	return DAT_SUCCESS;
}

DAT_RETURN kdat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			      DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	struct ep_status status;
	DAT_RETURN rc = kdat_ep_call(ep_handle, ep_status, &status);

	if (rc != DAT_SUCCESS)
		return rc;
	if (ep_state)
		*ep_state = status.state;
	if (recv_idle)
		*recv_idle = status.recvs ? DAT_FALSE : DAT_TRUE;
	if (request_idle)
		*request_idle = status.requests ? DAT_FALSE : DAT_TRUE;
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_ep_get_status);

DAT_RETURN kdat_ep_reset(DAT_EP_HANDLE ep_handle)
{
	struct dat_ep *ep = kdat_get(ep_handle, DAT_HANDLE_TYPE_EP);
	DAT_RETURN rc = DAT_SUCCESS;
	DAT_EP_STATE state;

	if (IS_ERR(ep))
		return kdat_lookup_error(PTR_ERR(ep), KDAT_BAD(EP));
	/* Check the states that kDAPL adds: in these, the core sees the EP as UNCONNECTED. */
	spin_lock_bh(&ep->lock);
	state = kdat_ep_state(ep);
	spin_unlock_bh(&ep->lock);
	if (state == DAT_EP_STATE_RESERVED || state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING ||
	    state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING) {
		rc = kdat_state_error(state);
	} else if (dat_ep_reset(ep)) {
		spin_lock_bh(&ep->lock);
		rc = kdat_state_error(kdat_ep_state(ep));
		spin_unlock_bh(&ep->lock);
	}
	kdat_done(&ep->obj);
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_ep_reset);

/* Returns the return code for an EP that cannot be freed, because an RSP or a request uses it. */
static DAT_RETURN ep_busy(struct dat_ep *ep)
{
	DAT_EP_STATE state;

	spin_lock_bh(&ep->lock);
	state = kdat_ep_state(ep);
	spin_unlock_bh(&ep->lock);
	return kdat_state_error(state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING ||
				state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING ?
				state : DAT_EP_STATE_RESERVED);
}

DAT_RETURN kdat_ep_free(DAT_EP_HANDLE ep_handle)
{
	struct dat_ep *ep = kdat_get_gone(ep_handle, DAT_HANDLE_TYPE_EP);
	DAT_RETURN rc = DAT_SUCCESS;
	int ret;

	if (IS_ERR(ep))
		return kdat_lookup_error(PTR_ERR(ep), KDAT_BAD(EP));
	ret = dat_obj_free(&ep->obj);
	if (ret)
		rc = ret == -EBUSY ? ep_busy(ep) : kdat_lookup_error(ret, KDAT_BAD(EP));
	kdat_done(&ep->obj);
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_ep_free);

DAT_RETURN kdat_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
			      DAT_COUNT *bufs_alloc_span)
{
	struct ep_status status;
	DAT_RETURN rc = kdat_ep_call(ep_handle, ep_status, &status);
	DAT_COUNT recvs;

	if (rc != DAT_SUCCESS)
		return rc;
	recvs = status.srq ? DAT_VALUE_UNKNOWN : (DAT_COUNT)status.recvs;
	if (nbufs_allocated)
		*nbufs_allocated = recvs;
	if (bufs_alloc_span)
		*bufs_alloc_span = recvs;
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_ep_recv_query);

static bool watermark_bad(DAT_COUNT mark)
{
	return mark < 0 && mark != DAT_WATERMARK_INFINITE;
}

DAT_RETURN kdat_ep_set_watermark(DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark,
				 DAT_COUNT hard_high_watermark)
{
	struct ep_status status;
	DAT_RETURN rc = kdat_ep_call(ep_handle, ep_status, &status);

	if (rc != DAT_SUCCESS)
		return rc;
	if (watermark_bad(soft_high_watermark))
		return KDAT_ARG(2);
	if (watermark_bad(hard_high_watermark))
		return KDAT_ARG(3);
	if (soft_high_watermark != DAT_WATERMARK_INFINITE ||
	    hard_high_watermark != DAT_WATERMARK_INFINITE)
		return KDAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_ep_set_watermark);
