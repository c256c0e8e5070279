// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Endpoints: making, connecting, asking. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "libdat.h"

/* For consumers that pass no attributes. */
#define DEFAULT_DTOS	64
#define DEFAULT_IOV	4
#define DEFAULT_READS	4

void udat_ep_unmap(struct udat_ep *ep)
{
	du_unmap(&ep->status);
	du_unmap(&ep->submit);
}

DAT_EP_STATE udat_ep_state(const struct udat_ep *ep)
{
	const struct dat_status *status = ep->status.va;

	return (DAT_EP_STATE)__atomic_load_n(&status->state, __ATOMIC_ACQUIRE);
}

/* "Not in this state", with the state as the subtype. */
DAT_RETURN udat_state_error(DAT_EP_STATE state)
{
	static const DAT_RETURN_SUBTYPE subtypes[] = {
		[DAT_EP_STATE_UNCONNECTED] = DAT_INVALID_STATE_EP_UNCONNECTED,
		[DAT_EP_STATE_ACTIVE_CONNECTION_PENDING] = DAT_INVALID_STATE_EP_ACTCONNPENDING,
		[DAT_EP_STATE_CONNECTED] = DAT_INVALID_STATE_EP_CONNECTED,
		[DAT_EP_STATE_DISCONNECT_PENDING] = DAT_INVALID_STATE_EP_DISCPENDING,
		[DAT_EP_STATE_DISCONNECTED] = DAT_INVALID_STATE_EP_DISCONNECTED,
		[DAT_EP_STATE_COMPLETION_PENDING] = DAT_INVALID_STATE_EP_COMPLPENDING,
	};
	DAT_RETURN_SUBTYPE sub = DAT_NO_SUBTYPE;

	if ((unsigned int)state < sizeof(subtypes) / sizeof(subtypes[0]))
		sub = subtypes[state];
	return DAT_ERR(DAT_INVALID_STATE, sub);
}

static void attr_default(const struct udat_ia *ia, int srq, DAT_EP_ATTR *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->service_type = DAT_SERVICE_TYPE_RC;
	attr->max_message_size = ia->info.max_message_size;
	attr->max_rdma_size = ia->info.max_message_size;
	attr->max_recv_dtos = srq ? 0 : DEFAULT_DTOS;
	attr->max_request_dtos = DEFAULT_DTOS;
	attr->max_recv_iov = DEFAULT_IOV;
	attr->max_request_iov = DEFAULT_IOV;
	attr->max_rdma_read_in = DEFAULT_READS;
	attr->max_rdma_read_out = DEFAULT_READS;
	attr->srq_soft_hw = DAT_HW_DEFAULT;
}

static int over(DAT_COUNT value, uint32_t limit)
{
	return value < 0 || (uint32_t)value > limit;
}

static int attr_bad(const struct udat_ia *ia, const DAT_EP_ATTR *attr)
{
	const struct dat_ia_query *info = &ia->info;
	DAT_COMPLETION_FLAGS recv = DAT_COMPLETION_UNSIGNALLED_FLAG |
				    DAT_COMPLETION_SOLICITED_WAIT_FLAG |
				    DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	/* Programs also set SUPPRESS here; it means that posts may. */
	DAT_COMPLETION_FLAGS request = recv | DAT_COMPLETION_SUPPRESS_FLAG;

	return attr->service_type != DAT_SERVICE_TYPE_RC ||
	       attr->max_message_size > info->max_message_size ||
	       attr->max_rdma_size > info->max_message_size ||
	       attr->recv_completion_flags & ~recv ||
	       attr->request_completion_flags & ~request ||
	       over(attr->max_recv_dtos, info->max_dto_per_ep) ||
	       over(attr->max_request_dtos, info->max_dto_per_ep) ||
	       over(attr->max_recv_iov, info->max_iov) ||
	       over(attr->max_request_iov, info->max_iov) ||
	       over(attr->max_rdma_read_in, info->max_rdma_read_in) ||
	       over(attr->max_rdma_read_out, info->max_rdma_read_out) ||
	       over(attr->max_rdma_read_iov, info->max_iov_read) ||
	       over(attr->max_rdma_write_iov, info->max_iov);
}

static DAT_COUNT min_count(DAT_COUNT a, DAT_COUNT b)
{
	return a < b ? a : b;
}

/* What the consumer left to us. */
static void attr_complete(const struct udat_ia *ia, DAT_EP_ATTR *attr)
{
	DAT_COUNT max_read = (DAT_COUNT)ia->info.max_iov_read;

	if (!attr->max_request_iov)
		attr->max_request_iov = 1;
	if (!attr->max_recv_iov)
		attr->max_recv_iov = 1;
	if (!attr->max_rdma_read_iov)
		attr->max_rdma_read_iov = min_count(attr->max_request_iov, max_read);
	if (!attr->max_rdma_write_iov)
		attr->max_rdma_write_iov = attr->max_request_iov;
	attr->max_rdma_read_iov = min_count(attr->max_rdma_read_iov, attr->max_request_iov);
	attr->max_rdma_write_iov = min_count(attr->max_rdma_write_iov, attr->max_request_iov);
	attr->ep_transport_specific_count = 0;
	attr->ep_transport_specific = NULL;
	attr->ep_provider_specific_count = 0;
	attr->ep_provider_specific = NULL;
}

static DAT_RETURN ep_map(struct udat_ep *ep, const struct dat_ep_create *arg)
{
	struct udat_ia *ia = ep->obj.ia;
	const struct dat_status *status;
	struct dat_submit *submit;
	int ret;

	ret = du_map(ia->fd, arg->submit_offset, arg->submit_size, 1, &ep->submit);
	if (!ret)
		ret = du_map(ia->fd, arg->status_offset, arg->status_size, 0, &ep->status);
	if (ret)
		return dat_err_from_errno(-ret);
	submit = ep->submit.va;
	status = ep->status.va;
	du_queue_init(&ep->sq, ia->fd, ia->doorbell.va, arg->sq_queue,
		      (char *)submit + arg->sq_offset, arg->max_request, arg->sq_shift,
		      &submit->sq_tail, &status->sq);
	if (!ep->srq)
		du_queue_init(&ep->rq, ia->fd, ia->doorbell.va, arg->rq_queue,
			      (char *)submit + arg->rq_offset, arg->max_recv, arg->rq_shift,
			      &submit->rq_tail, &status->rq);
	return DAT_SUCCESS;
}

#define ID(p)	((p) ? (p)->obj.id : 0)

static DAT_RETURN ep_make(struct udat_ep *ep)
{
	DAT_EP_ATTR *attr = &ep->attr;
	struct dat_ep_create arg = {
		.size = sizeof(arg), .pz = ep->pz->obj.id, .recv_evd = ID(ep->recv_evd),
		.request_evd = ID(ep->request_evd), .connect_evd = ID(ep->connect_evd),
		.srq = ID(ep->srq), .max_recv = ep->srq ? 0 : attr->max_recv_dtos,
		.max_request = attr->max_request_dtos, .max_recv_iov = attr->max_recv_iov,
		.max_request_iov = attr->max_request_iov,
		.read_in = attr->max_rdma_read_in, .read_out = attr->max_rdma_read_out,
		.user_data = (uintptr_t)ep,
	};
	DAT_RETURN rc;
	int ret;

	ret = du_ioctl(ep->obj.ia->fd, DAT_IOC_EP_CREATE, &arg);
	if (ret)
		return ret == -ENOMEM ? DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP) :
					dat_err_from_errno(-ret);
	ep->obj.id = arg.id;
	if (!ep->srq)
		attr->max_recv_dtos = arg.max_recv;
	attr->max_request_dtos = arg.max_request;
	rc = ep_map(ep, &arg);
	if (rc != DAT_SUCCESS) {
		du_slot_publish(&ep->obj.slot, UDAT_TYPE(EP));
		udat_obj_free(&ep->obj, UDAT_TYPE(EP), DAT_OBJ_EP, rc, rc);
		udat_ep_unmap(ep);
	}
	return rc;
}

/* What waiters of an EVD may count on, once flags of an EP say it. */
static void evd_configure(struct udat_evd *evd, DAT_COMPLETION_FLAGS flags)
{
	if (!evd)
		return;
	du_lock(&evd->lock);
	if (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		evd->config = DAT_EVD_STATE_CONFIG_SOLICITED;
	else if (flags & DAT_COMPLETION_UNSIGNALLED_FLAG)
		evd->config = DAT_EVD_STATE_CONFIG_NOTIFY;
	else if (flags & DAT_COMPLETION_EVD_THRESHOLD_FLAG)
		evd->config = DAT_EVD_STATE_CONFIG_THRESHOLD;
	du_unlock(&evd->lock);
}

/* A handle that may be NULL, else an EVD of @ia that takes the stream. */
static int evd_bad(const struct udat_ia *ia, DAT_EVD_HANDLE handle, DAT_EVD_FLAGS stream)
{
	struct udat_evd *evd;

	if (handle == DAT_HANDLE_NULL)
		return 0;
	evd = udat_evd(handle);
	return !evd || evd->obj.ia != ia || !(evd->flags & stream);
}

static DAT_RETURN create_check(const struct udat_ia *ia, const struct udat_pz *pz,
			       DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
			       DAT_EVD_HANDLE connect)
{
	if (!ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!pz || pz->obj.ia != ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (evd_bad(ia, recv, DAT_EVD_DTO_FLAG))
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV);
	if (evd_bad(ia, request, DAT_EVD_DTO_FLAG))
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	if (evd_bad(ia, connect, DAT_EVD_CONNECTION_FLAG))
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN);
	return DAT_SUCCESS;
}

/* The handles in @proto are checked; its attributes are complete. */
static DAT_RETURN ep_create(struct udat_ia *ia, const struct udat_ep *proto,
			    DAT_EP_HANDLE *out)
{
	struct udat_ep *ep = udat_obj_new(ia);
	DAT_RETURN rc;

	if (!ep)
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ep->pz = proto->pz;
	ep->recv_evd = proto->recv_evd;
	ep->request_evd = proto->request_evd;
	ep->connect_evd = proto->connect_evd;
	ep->srq = proto->srq;
	ep->attr = proto->attr;
	rc = ep_make(ep);
	if (rc != DAT_SUCCESS) {
		udat_obj_drop(&ep->obj);
		return rc;
	}
	evd_configure(ep->recv_evd, ep->attr.recv_completion_flags);
	evd_configure(ep->request_evd, ep->attr.request_completion_flags);
	udat_obj_publish(&ep->obj, UDAT_TYPE(EP));
	*out = ep;
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
				     DAT_EVD_HANDLE recv_evd_handle,
				     DAT_EVD_HANDLE request_evd_handle,
				     DAT_EVD_HANDLE connect_evd_handle,
				     const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_handle)
{
	struct udat_ep proto = {
		.pz = udat_pz(pz_handle), .recv_evd = recv_evd_handle,
		.request_evd = request_evd_handle, .connect_evd = connect_evd_handle,
	};
	struct udat_ia *ia = udat_ia(ia_handle);
	DAT_RETURN rc;

	rc = create_check(ia, proto.pz, recv_evd_handle, request_evd_handle,
			  connect_evd_handle);
	if (rc != DAT_SUCCESS)
		return rc;
	if (attr && attr_bad(ia, attr))
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (!ep_handle)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	if (attr)
		proto.attr = *attr;
	else
		attr_default(ia, 0, &proto.attr);
	attr_complete(ia, &proto.attr);
	return ep_create(ia, &proto, ep_handle);
}

UDAT_EXPORT DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
					      DAT_EVD_HANDLE recv_evd_handle,
					      DAT_EVD_HANDLE request_evd_handle,
					      DAT_EVD_HANDLE connect_evd_handle,
					      DAT_SRQ_HANDLE srq_handle,
					      const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_handle)
{
	struct udat_ep proto = {
		.pz = udat_pz(pz_handle), .recv_evd = recv_evd_handle,
		.request_evd = request_evd_handle, .connect_evd = connect_evd_handle,
		.srq = udat_srq(srq_handle),
	};
	struct udat_ia *ia = udat_ia(ia_handle);
	DAT_RETURN rc;

	rc = create_check(ia, proto.pz, recv_evd_handle, request_evd_handle,
			  connect_evd_handle);
	if (rc != DAT_SUCCESS)
		return rc;
	if (!proto.srq || proto.srq->obj.ia != ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	/* srq_ep_pz_difference_supported is false. */
	if (proto.srq->pz != proto.pz)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!attr || attr_bad(ia, attr))
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	if (!ep_handle)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	proto.attr = *attr;
	attr_complete(ia, &proto.attr);
	return ep_create(ia, &proto, ep_handle);
}

UDAT_EXPORT DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle)
{
	struct udat_ep *ep = udat_ep(ep_handle);
	DAT_RETURN bad = DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	struct udat_evd *evds[UDAT_GRAVES];
	DAT_RETURN rc;

	if (!ep)
		return bad;
	rc = udat_obj_free(&ep->obj, UDAT_TYPE(EP), DAT_OBJ_EP, bad,
			   DAT_ERR(DAT_INVALID_STATE, DAT_NO_SUBTYPE));
	if (rc != DAT_SUCCESS)
		return rc;
	udat_ep_unmap(ep);
	evds[0] = ep->recv_evd;
	evds[1] = ep->request_evd;
	evds[2] = ep->connect_evd;
	udat_obj_bury(&ep->obj, evds, UDAT_GRAVES);
	return DAT_SUCCESS;
}

static DAT_RETURN connect_check(const struct udat_ep *ep, const struct sockaddr *addr,
				DAT_CONN_QUAL qual, DAT_TIMEOUT timeout, DAT_COUNT pd_size,
				const void *pd)
{
	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!ep->connect_evd)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN);
	if (!addr)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (addr->sa_family != AF_INET && addr->sa_family != AF_INET6)
		return DAT_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	/* The port space of rdma_cm has 16 bits. */
	if (!qual || qual > 0xffff)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!timeout)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (pd_size < 0 || pd_size > UDAT_PD_MAX)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (pd_size && !pd)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	return DAT_SUCCESS;
}

static DAT_RETURN connect_error(const struct udat_ep *ep, int err)
{
	switch (err) {
	case EISCONN:
		return udat_state_error(udat_ep_state(ep));
	case ENETUNREACH:
		return DAT_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	default:
		return dat_err_from_errno(err);
	}
}

UDAT_EXPORT DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle,
				      DAT_IA_ADDRESS_PTR remote_ia_address,
				      DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
				      DAT_COUNT private_data_size,
				      const DAT_PVOID private_data, DAT_QOS quality_of_service,
				      DAT_CONNECT_FLAGS connect_flags)
{
	struct udat_ep *ep = udat_ep(ep_handle);
	struct dat_ep_connect arg = { .size = sizeof(arg) };
	DAT_RETURN rc;
	int ret;

	rc = connect_check(ep, remote_ia_address, remote_conn_qual, timeout,
			   private_data_size, private_data);
	if (rc != DAT_SUCCESS)
		return rc;
	if (connect_flags & ~DAT_CONNECT_MULTIPATH_FLAG)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	if (quality_of_service != DAT_QOS_BEST_EFFORT || connect_flags)
		return DAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	arg.id = ep->obj.id;
	memcpy(arg.addr, remote_ia_address,
	       remote_ia_address->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
							 sizeof(struct sockaddr_in6));
	arg.conn_qual = remote_conn_qual;
	arg.timeout_us = timeout == DAT_TIMEOUT_INFINITE ? DAT_WAIT_FOREVER : timeout;
	arg.pd_len = private_data_size;
	if (private_data_size)
		memcpy(arg.pd, private_data, private_data_size);
	ret = du_ioctl(ep->obj.ia->fd, DAT_IOC_EP_CONNECT, &arg);
	return ret ? connect_error(ep, -ret) : DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS flags)
{
	struct udat_ep *ep = udat_ep(ep_handle);
	struct dat_ep_disconnect arg = { .size = sizeof(arg) };
	int ret;

	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	arg.id = ep->obj.id;
	arg.flags = flags == DAT_CLOSE_GRACEFUL_FLAG ? DAT_DISCONNECT_GRACEFUL : 0;
	ret = du_ioctl(ep->obj.ia->fd, DAT_IOC_EP_DISCONNECT, &arg);
	return ret ? connect_error(ep, -ret) : DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle)
{
	struct udat_ep *ep = udat_ep(ep_handle);
	struct dat_ep_reset arg = { .size = sizeof(arg) };
	int ret;

	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	arg.id = ep->obj.id;
	ret = du_ioctl(ep->obj.ia->fd, DAT_IOC_EP_RESET, &arg);
	return ret ? connect_error(ep, -ret) : DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
					 DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	struct udat_ep *ep = udat_ep(ep_handle);

	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (ep_state)
		*ep_state = udat_ep_state(ep);
	if (recv_idle)
		*recv_idle = ep->srq || !du_queue_busy(&ep->rq) ? DAT_TRUE : DAT_FALSE;
	if (request_idle)
		*request_idle = !du_queue_busy(&ep->sq) ? DAT_TRUE : DAT_FALSE;
	return DAT_SUCCESS;
}

static void query_addresses(struct udat_ep *ep, const struct dat_ep_query *q,
			    DAT_EP_PARAM *param)
{
	const struct sockaddr *remote = (const struct sockaddr *)q->remote;

	memcpy(ep->local, q->local, sizeof(ep->local));
	memcpy(ep->remote, q->remote, sizeof(ep->remote));
	/* Before a connection the address is that of the adapter. */
	param->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)
		(((struct sockaddr *)ep->local)->sa_family ? ep->local : ep->obj.ia->info.addr);
	param->local_port_qual = q->local_port;
	param->remote_ia_address_ptr = remote->sa_family ? (DAT_IA_ADDRESS_PTR)ep->remote : NULL;
	param->remote_port_qual = q->remote_port;
}

UDAT_EXPORT DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK mask,
				    DAT_EP_PARAM *param)
{
	struct udat_ep *ep = udat_ep(ep_handle);
	struct dat_ep_query arg = { .size = sizeof(arg) };
	int ret;

	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (mask & ~(DAT_EP_PARAM_MASK)DAT_EP_FIELD_ALL)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	arg.id = ep->obj.id;
	ret = du_ioctl(ep->obj.ia->fd, DAT_IOC_EP_QUERY, &arg);
	if (ret)
		return dat_err_from_errno(-ret);
	memset(param, 0, sizeof(*param));
	param->ia_handle = ep->obj.ia;
	param->ep_state = (DAT_EP_STATE)arg.state;
	query_addresses(ep, &arg, param);
	param->pz_handle = ep->pz;
	param->recv_evd_handle = ep->recv_evd;
	param->request_evd_handle = ep->request_evd;
	param->connect_evd_handle = ep->connect_evd;
	param->srq_handle = ep->srq;
	param->ep_attr = ep->attr;
	return DAT_SUCCESS;
}
