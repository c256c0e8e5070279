// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Modification of the parameters of an endpoint.  Either all parameters in @mask change, or none.
 */
#include <errno.h>

#include "foreign.h"
#include "libdat.h"

#define IP(arg)	DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##arg)

#define NEVER	(DAT_EP_FIELD_IA_HANDLE | DAT_EP_FIELD_EP_STATE |			\
		 DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR | DAT_EP_FIELD_LOCAL_PORT_QUAL |	\
		 DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR | DAT_EP_FIELD_REMOTE_PORT_QUAL |	\
		 DAT_EP_FIELD_SRQ_HANDLE)
#define SPECIFIC (DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR |				\
		  DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR |			\
		  DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |				\
		  DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)

/* Check whether the parameters in @mask may be changed in the present state of the EP. */
static DAT_RETURN state_check(const struct udat_ep *ep, DAT_EP_PARAM_MASK mask)
{
	DAT_EP_STATE state = udat_ep_state(ep);

	switch (state) {
	case DAT_EP_STATE_UNCONNECTED:
		return DAT_SUCCESS;
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		return mask & SPECIFIC ? udat_state_error(state) : DAT_SUCCESS;
	case DAT_EP_STATE_RESERVED:
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		return mask & (SPECIFIC | DAT_EP_FIELD_PZ_HANDLE) ? udat_state_error(state) :
								    DAT_SUCCESS;
	default:
		return udat_state_error(state);
	}
}

/* Copy the attributes whose bits are set in @mask. */
static void take_attr(DAT_EP_ATTR *to, const DAT_EP_ATTR *from, DAT_EP_PARAM_MASK mask)
{
#define TAKE(FIELD, field) do {								\
	if (mask & DAT_EP_FIELD_EP_ATTR_##FIELD)					\
		to->field = from->field;						\
} while (0)
	TAKE(SERVICE_TYPE, service_type);
	TAKE(MAX_MESSAGE_SIZE, max_message_size);
	TAKE(MAX_RDMA_SIZE, max_rdma_size);
	TAKE(QOS, qos);
	TAKE(RECV_COMPLETION_FLAGS, recv_completion_flags);
	TAKE(REQUEST_COMPLETION_FLAGS, request_completion_flags);
	TAKE(MAX_RECV_DTOS, max_recv_dtos);
	TAKE(MAX_REQUEST_DTOS, max_request_dtos);
	TAKE(MAX_RECV_IOV, max_recv_iov);
	TAKE(MAX_REQUEST_IOV, max_request_iov);
	TAKE(MAX_RDMA_READ_IN, max_rdma_read_in);
	TAKE(MAX_RDMA_READ_OUT, max_rdma_read_out);
	TAKE(SRQ_SOFT_HW, srq_soft_hw);
	TAKE(MAX_RDMA_READ_IOV, max_rdma_read_iov);
	TAKE(MAX_RDMA_WRITE_IOV, max_rdma_write_iov);
	TAKE(NUM_TRANSPORT_ATTR, ep_transport_specific_count);
	TAKE(NUM_PROVIDER_ATTR, ep_provider_specific_count);
	TAKE(PROVIDER_SPECIFIC_ATTR, ep_provider_specific);
#undef TAKE
}

/* Copy the parameters in @mask from @param to @next, which is a copy of the EP. */
static void take_param(struct udat_ep *next, const DAT_EP_PARAM *param, DAT_EP_PARAM_MASK mask)
{
	if (mask & DAT_EP_FIELD_PZ_HANDLE)
		next->pz = udat_pz(param->pz_handle);
	if (mask & DAT_EP_FIELD_RECV_EVD_HANDLE)
		next->recv_evd = param->recv_evd_handle;
	if (mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE)
		next->request_evd = param->request_evd_handle;
	if (mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE)
		next->connect_evd = param->connect_evd_handle;
	take_attr(&next->attr, &param->ep_attr, mask);
}

static DAT_RETURN next_check(const struct udat_ep *ep, struct udat_ep *next,
			     DAT_EP_PARAM_MASK mask)
{
	struct udat_ia *ia = ep->obj.ia;
	DAT_RETURN rc;

	if (mask & DAT_EP_FIELD_PZ_HANDLE && (!next->pz || next->pz->obj.ia != ia))
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (ep->srq && next->pz != ep->srq->pz)
		return IP(3);
	rc = udat_ep_check_evds(ia, next);
	if (rc != DAT_SUCCESS)
		return rc;
	if (udat_ep_attr_bad(ia, &next->attr))
		return IP(3);
	if (udat_ep_attr_unsupported(ia, &next->attr))
		return DAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	next->want = udat_ep_attr_want(ia, &next->attr);
	/*
	 * This call also lowers the maximum numbers of segments in RDMA operations to
	 * max_request_iov, because an entry of the new ring has room only for that many segments.
	 */
	udat_ep_attr_complete(ia, &next->attr);
	return DAT_SUCCESS;
}

/* Make the driver give @ep the parameters of @next, and a new ring. */
static DAT_RETURN ep_remake(struct udat_ep *ep, struct udat_ep *next)
{
	const DAT_EP_ATTR *attr = &next->attr;
	struct dat_ep_modify arg = {
		.size = sizeof(arg), .id = ep->obj.id, .pz = UDAT_ID(next->pz),
		.recv_evd = UDAT_ID(next->recv_evd), .request_evd = UDAT_ID(next->request_evd),
		.connect_evd = UDAT_ID(next->connect_evd),
		.max_recv = ep->srq ? 0 : attr->max_recv_dtos,
		.max_request = attr->max_request_dtos, .max_recv_iov = attr->max_recv_iov,
		.max_request_iov = attr->max_request_iov, .read_in = attr->max_rdma_read_in,
		.read_out = attr->max_rdma_read_out,
		.recv_flags = udat_ep_recv_flags(attr), .max_inline = next->want.max_inline,
		.flags = next->want.immediate ? DAT_EP_FLAG_IMMEDIATE : 0,
	};
	struct udat_ring_change c = {
		.ia = ep->obj.ia, .cmd = DAT_IOC_EP_MODIFY, .arg = &arg, .step = &arg.step,
		.at = &arg.submit, .writable = 1,
	};
	struct udat_ep_ring r;
	int ret;

	ret = udat_ring_replace(&c);
	if (ret == -EISCONN || ret == -ENOSPC)
		return udat_state_error(udat_ep_state(ep));
	if (ret)
		return dat_err_from_errno(-ret);
	r = (struct udat_ep_ring) {
		.submit = c.span, .sq_offset = arg.sq_offset, .sq_shift = arg.sq_shift,
		.rq_offset = arg.rq_offset, .rq_shift = arg.rq_shift,
		.max_request = arg.max_request, .max_recv = arg.max_recv,
	};
	next->want.max_inline = arg.max_inline;
	udat_ep_use_ring(ep, next, &r);
	return DAT_SUCCESS;
}

static void ep_become(struct udat_ep *ep, const struct udat_ep *next)
{
	struct udat_evd *evd = ep->connect_evd;

	ep->pz = next->pz;
	ep->recv_evd = next->recv_evd;
	ep->request_evd = next->request_evd;
	/*
	 * A thread that dequeues an event from @evd holds evd->lock while it reads the mapped pages
	 * of the EP.
	 */
	if (evd)
		du_lock(&evd->lock);
	ep->connect_evd = next->connect_evd;
	if (evd)
		du_unlock(&evd->lock);
	ep->attr = next->attr;
	ep->want = next->want;
}

/* Note the EVDs that @ep no longer uses: events of @ep may still be queued in those EVDs. */
static void ep_defer_on_old_evds(struct udat_ep *ep, const struct udat_ep *next)
{
	if (next->recv_evd != ep->recv_evd)
		udat_obj_defer_on(&ep->obj, ep->recv_evd);
	if (next->request_evd != ep->request_evd)
		udat_obj_defer_on(&ep->obj, ep->request_evd);
	if (next->connect_evd != ep->connect_evd)
		udat_obj_defer_on(&ep->obj, ep->connect_evd);
}

static DAT_RETURN ep_modify_made(struct udat_ep *ep, struct udat_ep *next)
{
	DAT_RETURN rc;

	/*
	 * This call takes ia->lock, which is an outer lock, so make the call before the queue locks
	 * are taken.  The call does no harm if the modification fails later.
	 */
	ep_defer_on_old_evds(ep, next);
	du_lock(&ep->sq.lock);
	du_lock(&ep->rq.lock);
	rc = ep_remake(ep, next);
	if (rc == DAT_SUCCESS)
		ep_become(ep, next);
	du_unlock(&ep->rq.lock);
	du_unlock(&ep->sq.lock);
	return rc;
}

/*
 * Modify an EP that has no zone.  Only the library knows such an EP.  If the modification sets a
 * zone, the driver creates the EP.
 */
static DAT_RETURN ep_modify_unmade(struct udat_ep *ep, const struct udat_ep *next)
{
	const struct udat_ep old = *ep;
	DAT_RETURN rc;

	ep_become(ep, next);
	if (!ep->pz)
		return DAT_SUCCESS;
	rc = udat_ep_make(ep);
	if (rc != DAT_SUCCESS)
		ep_become(ep, &old);
	return rc;
}

static DAT_RETURN ep_modify(struct udat_ep *ep, struct udat_ep *next)
{
	DAT_RETURN rc;

	udat_ep_unfeed(ep);
	if (udat_ep_feed(next)) {
		udat_ep_feed(ep);
		return IP(3);
	}
	rc = ep->obj.id ? ep_modify_made(ep, next) : ep_modify_unmade(ep, next);
	if (rc != DAT_SUCCESS) {
		udat_ep_unfeed(next);
		udat_ep_feed(ep);
	}
	return rc;
}

UDAT_EXPORT DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK mask,
				     const DAT_EP_PARAM *param)
{
	struct udat_ep *ep = udat_ep(ep_handle), next;
	DAT_RETURN rc;

	UDAT_FORWARD(ep_handle, ep_modify, mask, param);
	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (mask & ~(DAT_EP_PARAM_MASK)DAT_EP_FIELD_ALL || mask & NEVER)
		return IP(2);
	if (!param)
		return IP(3);
	rc = state_check(ep, mask);
	if (rc != DAT_SUCCESS)
		return rc;
	/*
	 * A posted receive must complete with the flags that were in effect at the post, so the
	 * flags cannot change while receives are posted.
	 */
	if (mask & DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS && udat_ep_recvs(ep))
		return DAT_ERR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	/* Without the pointer, the count may not exceed that of the present attributes. */
	if (mask & DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR &&
	    !(mask & DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR) &&
	    param->ep_attr.ep_provider_specific_count >
		    !!ep->want.max_inline + !!ep->want.immediate)
		return IP(3);
	next = *ep;
	/* @param may have the attribute of a query, which the program has changed in @ep. */
	udat_ep_name_attr(&next, &next.attr);
	take_param(&next, param, mask);
	rc = next_check(ep, &next, mask);
	if (rc != DAT_SUCCESS)
		return rc;
	/*
	 * ep_modify() removes the streams of @ep from their EVDs, and adds them again on failure.
	 * The lock prevents other objects from adding a conflicting stream meanwhile.
	 */
	pthread_mutex_lock(&ep->obj.ia->feed_lock);
	rc = ep_modify(ep, &next);
	pthread_mutex_unlock(&ep->obj.ia->feed_lock);
	return rc;
}
