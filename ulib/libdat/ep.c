// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Endpoints: create, free and query. */
#include <dat_error_names.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "foreign.h"
#include "libdat.h"

/* Default attributes, for a consumer that passes no attributes. */
#define DEFAULT_DTOS	64
#define DEFAULT_IOV	4
#define DEFAULT_READS	4

void udat_ep_unmap(struct udat_ep *ep)
{
	struct udat_mappings *m = &ep->obj.ia->mappings;

	udat_span_unmap(m, &ep->status);
	udat_span_unmap(m, &ep->submit);
}

DAT_EP_STATE udat_ep_state(const struct udat_ep *ep)
{
	const struct dat_status *status = ep->status.va;
	DAT_EP_STATE state;

	/*
	 * An EP that the library made for a request has no status page until the consumer sets a
	 * zone.
	 */
	if (!status)
		return ep->stage;
	state = (DAT_EP_STATE)__atomic_load_n(&status->state, __ATOMIC_ACQUIRE);
	return state == DAT_EP_STATE_UNCONNECTED ? ep->stage : state;
}

#define STATE(state, subtype)	[DAT_EP_STATE_##state] = DAT_INVALID_STATE_##subtype,

/* Returns a DAT_INVALID_STATE error whose subtype is @state. */
DAT_RETURN udat_state_error(DAT_EP_STATE state)
{
	static const DAT_RETURN_SUBTYPE subtypes[] = {
		DAT_ERROR_EP_STATES(STATE)
	};
	DAT_RETURN_SUBTYPE sub = DAT_NO_SUBTYPE;

	if ((unsigned int)state < sizeof(subtypes) / sizeof(subtypes[0]))
		sub = subtypes[state];
	return DAT_ERR(DAT_INVALID_STATE, sub);
}

/* Returns the default @n, limited by what the adapter offers. */
static DAT_COUNT default_count(uint32_t n, uint32_t limit)
{
	return (DAT_COUNT)(n < limit ? n : limit);
}

/* Signed: udat_ep_attr_bad() has refused negative counts, and none may become a large one here. */
static DAT_COUNT min_count(DAT_COUNT a, DAT_COUNT b)
{
	return a < b ? a : b;
}

static void attr_default(const struct udat_ia *ia, DAT_EP_ATTR *attr)
{
	const struct dat_ia_query *info = &ia->info;

	memset(attr, 0, sizeof(*attr));
	attr->service_type = DAT_SERVICE_TYPE_RC;
	attr->max_recv_dtos = DEFAULT_DTOS;
	attr->max_request_dtos = DEFAULT_DTOS;
	attr->max_recv_iov = default_count(DEFAULT_IOV, info->max_iov);
	attr->max_request_iov = default_count(DEFAULT_IOV, info->max_iov);
	attr->max_rdma_read_in = default_count(DEFAULT_READS, info->max_rdma_read_in);
	attr->max_rdma_read_out = default_count(DEFAULT_READS, info->max_rdma_read_out);
	attr->srq_soft_hw = DAT_HW_DEFAULT;
}

#define INLINE_NAME	"max_inline"
#define IMMEDIATE_NAME	"immediate_data"

/* Returns 0 if @text is a decimal number without a sign, else -1. */
static int to_number(const char *text, uint32_t *number)
{
	uint64_t n = 0;

	if (!text || !*text)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -1;
		n = n * 10 + (uint64_t)(*text - '0');
		if (n > UINT32_MAX)
			n = UINT32_MAX;
	}
	*number = (uint32_t)n;
	return 0;
}

/* Get the named attributes.  Returns 0, or -1 if one is unknown or has a malformed value. */
static int parse_named(const DAT_EP_ATTR *attr, struct udat_ep_want *want)
{
	const DAT_NAMED_ATTR *named = attr->ep_provider_specific;
	uint32_t *number;
	DAT_COUNT i;

	memset(want, 0, sizeof(*want));
	if (attr->ep_provider_specific_count < 0 || (attr->ep_provider_specific_count && !named))
		return -1;
	for (i = 0; i < attr->ep_provider_specific_count; i++) {
		if (!named[i].name)
			return -1;
		if (!strcmp(named[i].name, INLINE_NAME))
			number = &want->max_inline;
		else if (!strcmp(named[i].name, IMMEDIATE_NAME))
			number = &want->immediate;
		else
			return -1;
		if (to_number(named[i].value, number))
			return -1;
	}
	return want->immediate > 1 ? -1 : 0;
}

/*
 * Returns what @attr asks for.  There are no inline data if the driver does not know them.
 * udat_ep_attr_bad() and udat_ep_attr_unsupported() have accepted @attr.
 */
struct udat_ep_want udat_ep_attr_want(const struct udat_ia *ia, const DAT_EP_ATTR *attr)
{
	struct udat_ep_want want;

	parse_named(attr, &want);
	if (!(ia->file.features & DAT_FEATURE_INLINE))
		want.max_inline = 0;
	return want;
}

/* Add the named attributes of @ep to @attr, except those that are 0. */
void udat_ep_name_attr(struct udat_ep *ep, DAT_EP_ATTR *attr)
{
	DAT_COUNT n = 0;

	memset(ep->named, 0, sizeof(ep->named));
	if (ep->want.max_inline) {
		snprintf(ep->number, sizeof(ep->number), "%" PRIu32, ep->want.max_inline);
		ep->named[n++] = (DAT_NAMED_ATTR) { .name = INLINE_NAME, .value = ep->number };
	}
	if (ep->want.immediate)
		ep->named[n++] = (DAT_NAMED_ATTR) { .name = IMMEDIATE_NAME, .value = "1" };
	if (!n)
		return;
	attr->ep_provider_specific_count = n;
	attr->ep_provider_specific = ep->named;
}

static int over(DAT_COUNT value, uint32_t limit)
{
	return value < 0 || (uint32_t)value > limit;
}

int udat_ep_attr_bad(const struct udat_ia *ia, const DAT_EP_ATTR *attr)
{
	const struct dat_ia_query *info = &ia->info;
	DAT_COMPLETION_FLAGS recv = DAT_COMPLETION_UNSIGNALLED_FLAG |
				    DAT_COMPLETION_SOLICITED_WAIT_FLAG |
				    DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	/*
	 * Some programs set SUPPRESS in the EP's attributes to announce that their posts may use
	 * it.
	 */
	DAT_COMPLETION_FLAGS request = recv | DAT_COMPLETION_SUPPRESS_FLAG;
	struct udat_ep_want want;

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
	       over(attr->max_rdma_write_iov, info->max_iov) ||
	       attr->ep_transport_specific_count || parse_named(attr, &want);
}

/*
 * Returns whether the attributes ask for a feature that the provider, the driver or the adapter
 * does not support.
 */
int udat_ep_attr_unsupported(const struct udat_ia *ia, const DAT_EP_ATTR *attr)
{
	struct udat_ep_want want;

	parse_named(attr, &want);
	if (want.immediate && !(ia->info.sqe_flags & DAT_SQE_IMM))
		return 1;
	/* A program that does not use the soft high watermark leaves srq_soft_hw 0. */
	return attr->qos != DAT_QOS_BEST_EFFORT ||
	       (attr->srq_soft_hw && attr->srq_soft_hw != DAT_HW_DEFAULT);
}

/* Returns those completion flags of receives that the driver needs to know. */
uint32_t udat_ep_recv_flags(const DAT_EP_ATTR *attr)
{
	return attr->recv_completion_flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG;
}

/* Set the attributes that the consumer has left out. */
void udat_ep_attr_complete(const struct udat_ia *ia, DAT_EP_ATTR *attr)
{
	/* 0 means that the program does not set an attribute: replace 0 by a default. */
	if (!attr->max_message_size)
		attr->max_message_size = ia->info.max_message_size;
	if (!attr->max_rdma_size)
		attr->max_rdma_size = ia->info.max_message_size;
	if (!attr->max_request_iov)
		attr->max_request_iov = 1;
	if (!attr->max_recv_iov)
		attr->max_recv_iov = 1;
	if (!attr->max_rdma_read_iov)
		attr->max_rdma_read_iov = min_count(attr->max_request_iov,
						    (DAT_COUNT)ia->info.max_iov_read);
	if (!attr->max_rdma_write_iov)
		attr->max_rdma_write_iov = attr->max_request_iov;
	attr->max_rdma_read_iov = min_count(attr->max_rdma_read_iov, attr->max_request_iov);
	attr->max_rdma_write_iov = min_count(attr->max_rdma_write_iov, attr->max_request_iov);
	attr->ep_transport_specific_count = 0;
	attr->ep_transport_specific = NULL;
	attr->ep_provider_specific_count = 0;
	attr->ep_provider_specific = NULL;
}

/*
 * Switch to the rings @r.  @next->attr gets the numbers of entries that the driver granted.  A ring
 * may be longer than the adapter's limit, because its length is a power of two.
 */
void udat_ep_use_ring(struct udat_ep *ep, struct udat_ep *next, struct udat_ep_ring *r)
{
	uint32_t limit = ep->obj.ia->info.max_dto_per_ep;
	struct dat_submit *head = r->submit.va;

	udat_span_unmap(&ep->obj.ia->mappings, &ep->submit);
	ep->submit = r->submit;
	ep->sq.shift = r->sq_shift;
	du_queue_move(&ep->sq, (char *)head + r->sq_offset, r->max_request, limit, &head->sq_tail);
	next->attr.max_request_dtos = (DAT_COUNT)ep->sq.limit;
	if (ep->srq)
		return;
	ep->rq.shift = r->rq_shift;
	du_queue_move(&ep->rq, (char *)head + r->rq_offset, r->max_recv, limit, &head->rq_tail);
	next->attr.max_recv_dtos = (DAT_COUNT)ep->rq.limit;
}

static int ep_map(struct udat_ep *ep, const struct dat_ep_create *arg)
{
	struct udat_ep_ring r = {
		.sq_offset = arg->sq_offset, .sq_shift = arg->sq_shift,
		.rq_offset = arg->rq_offset, .rq_shift = arg->rq_shift,
		.max_request = arg->max_request, .max_recv = arg->max_recv,
	};
	struct udat_ia *ia = ep->obj.ia;
	const struct dat_status *st;
	int ret;

	ret = udat_span_map(&ia->mappings, ia->file.fd, &arg->submit, 1, &r.submit);
	if (ret)
		return ret;
	ret = udat_span_map(&ia->mappings, ia->file.fd, &arg->status, 0, &ep->status);
	if (ret) {
		udat_span_unmap(&ia->mappings, &r.submit);
		return ret;
	}
	st = ep->status.va;
	du_queue_init(&ep->sq, &ia->file, ia->doorbell.va, arg->sq_queue, arg->sq_shift, &st->sq,
		      udat_unlocked(ia));
	if (!ep->srq)
		du_queue_init(&ep->rq, &ia->file, ia->doorbell.va, arg->rq_queue, arg->rq_shift,
			      &st->rq, udat_unlocked(ia));
	udat_ep_use_ring(ep, ep, &r);
	return 0;
}

/* Make the driver create an EP with the parameters in @ep. */
DAT_RETURN udat_ep_make(struct udat_ep *ep)
{
	DAT_EP_ATTR *attr = &ep->attr;
	struct dat_ep_create arg = {
		.size = sizeof(arg), .pz = UDAT_ID(ep->pz), .recv_evd = UDAT_ID(ep->recv_evd),
		.request_evd = UDAT_ID(ep->request_evd),
		.connect_evd = UDAT_ID(ep->connect_evd), .srq = UDAT_ID(ep->srq),
		.max_recv = ep->srq ? 0 : attr->max_recv_dtos,
		.max_request = attr->max_request_dtos, .max_recv_iov = attr->max_recv_iov,
		.max_request_iov = attr->max_request_iov,
		.read_in = attr->max_rdma_read_in, .read_out = attr->max_rdma_read_out,
		.recv_flags = udat_ep_recv_flags(attr),
		.user_data = (uintptr_t)ep, .max_inline = ep->want.max_inline,
		.flags = ep->want.immediate ? DAT_EP_FLAG_IMMEDIATE : 0,
	};
	struct dat_free undo = { .size = sizeof(undo), .type = DAT_OBJ_EP };
	int ret;

	ret = du_file_ioctl(&ep->obj.ia->file, DAT_IOC_EP_CREATE, &arg);
	if (ret)
		return ret == -ENOMEM ? DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP) :
					dat_err_from_errno(-ret);
	ret = ep_map(ep, &arg);
	if (ret) {
		undo.id = arg.id;
		du_file_ioctl(&ep->obj.ia->file, DAT_IOC_FREE, &undo);
		return dat_err_from_errno(-ret);
	}
	ep->want.max_inline = arg.max_inline;
	ep->obj.id = arg.id;
	return DAT_SUCCESS;
}

static enum udat_feed feed_of(DAT_COMPLETION_FLAGS flags)
{
	if (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		return UDAT_FEED_SOLICITED;
	if (flags & DAT_COMPLETION_UNSIGNALLED_FLAG)
		return UDAT_FEED_NOTIFY;
	return flags & DAT_COMPLETION_EVD_THRESHOLD_FLAG ? UDAT_FEED_THRESHOLD :
							   UDAT_FEED_DEFAULT;
}

/*
 * A post to an SRQ has no completion flags, so the flag UNSIGNALLED of an EP with an SRQ is
 * ignored.
 */
static enum udat_feed recv_feed(const struct udat_ep *ep)
{
	DAT_COMPLETION_FLAGS flags = ep->attr.recv_completion_flags;

	return feed_of(ep->srq ? flags & ~DAT_COMPLETION_UNSIGNALLED_FLAG : flags);
}

/*
 * Add the streams of @ep to the EP's EVDs.  Returns 0, or -1 if a stream conflicts with another
 * stream of its EVD.
 */
int udat_ep_feed(const struct udat_ep *ep)
{
	if (udat_evd_feed(ep->recv_evd, recv_feed(ep)))
		return -1;
	if (udat_evd_feed(ep->request_evd, feed_of(ep->attr.request_completion_flags)))
		goto err_recv;
	if (udat_evd_feed(ep->connect_evd, UDAT_FEED_OTHER))
		goto err_request;
	return 0;

err_request:
	udat_evd_unfeed(ep->request_evd, feed_of(ep->attr.request_completion_flags));
err_recv:
	udat_evd_unfeed(ep->recv_evd, recv_feed(ep));
	return -1;
}

void udat_ep_unfeed(const struct udat_ep *ep)
{
	udat_evd_unfeed(ep->connect_evd, UDAT_FEED_OTHER);
	udat_evd_unfeed(ep->request_evd, feed_of(ep->attr.request_completion_flags));
	udat_evd_unfeed(ep->recv_evd, recv_feed(ep));
}

/* Returns false if @handle is NULL, or is an EVD of @ia that accepts @stream; otherwise true. */
static int evd_bad(const struct udat_ia *ia, DAT_EVD_HANDLE handle, DAT_EVD_FLAGS stream)
{
	struct udat_evd *evd;

	if (handle == DAT_HANDLE_NULL)
		return 0;
	evd = udat_evd(handle);
	return !evd || evd->obj.ia != ia || !(evd->flags & stream);
}

/* Check the EVDs of @ep.  They are unchecked handles from the consumer. */
DAT_RETURN udat_ep_check_evds(const struct udat_ia *ia, const struct udat_ep *ep)
{
	if (evd_bad(ia, ep->recv_evd, DAT_EVD_DTO_FLAG))
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV);
	if (evd_bad(ia, ep->request_evd, DAT_EVD_DTO_FLAG))
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	if (evd_bad(ia, ep->connect_evd, DAT_EVD_CONNECTION_FLAG))
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN);
	return DAT_SUCCESS;
}

static DAT_RETURN create_check(const struct udat_ia *ia, const struct udat_ep *ep)
{
	if (!ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!ep->pz || ep->pz->obj.ia != ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	return udat_ep_check_evds(ia, ep);
}

/*
 * Create an EP with the parameters in @proto.  The caller has checked the handles and completed the
 * attributes.
 */
static DAT_RETURN ep_create(struct udat_ia *ia, const struct udat_ep *proto,
			    DAT_EP_HANDLE *out)
{
	struct udat_ep *ep = udat_obj_new(ia);
	DAT_RETURN rc;
	int unfit;

	if (!ep)
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ep->pz = proto->pz;
	ep->recv_evd = proto->recv_evd;
	ep->request_evd = proto->request_evd;
	ep->connect_evd = proto->connect_evd;
	ep->srq = proto->srq;
	ep->attr = proto->attr;
	ep->want = proto->want;
	pthread_mutex_lock(&ia->feed_lock);
	unfit = udat_ep_feed(ep);
	pthread_mutex_unlock(&ia->feed_lock);
	if (unfit) {
		/*
		 * The attributes are argument 7 of dat_ep_create_with_srq() and argument 6 of
		 * dat_ep_create().
		 */
		rc = DAT_ERR(DAT_INVALID_PARAMETER,
			     ep->srq ? DAT_INVALID_ARG7 : DAT_INVALID_ARG6);
		goto err_drop;
	}
	rc = udat_ep_make(ep);
	if (rc != DAT_SUCCESS)
		goto err_unfeed;
	udat_obj_publish(&ep->obj, UDAT_TYPE(EP));
	*out = ep;
	return DAT_SUCCESS;

err_unfeed:
	udat_ep_unfeed(ep);
err_drop:
	udat_obj_drop(&ep->obj);
	return rc;
}

/*
 * Make an EP for a connection request.  The EP has no zone and no EVDs: the consumer sets them
 * before the accept.  Returns NULL if memory is short.
 */
struct udat_ep *udat_ep_tentative(struct udat_ia *ia)
{
	struct udat_ep *ep = udat_obj_new(ia);

	if (!ep)
		return NULL;
	attr_default(ia, &ep->attr);
	udat_ep_attr_complete(ia, &ep->attr);
	ep->stage = DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;
	udat_obj_publish(&ep->obj, UDAT_TYPE(EP));
	return ep;
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

	UDAT_FORWARD(ia_handle, ep_create, pz_handle, recv_evd_handle, request_evd_handle,
		     connect_evd_handle, attr, ep_handle);
	rc = create_check(ia, &proto);
	if (rc != DAT_SUCCESS)
		return rc;
	if (attr && udat_ep_attr_bad(ia, attr))
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (attr && udat_ep_attr_unsupported(ia, attr))
		return DAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (!ep_handle)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	if (attr)
		proto.attr = *attr;
	else
		attr_default(ia, &proto.attr);
	proto.want = udat_ep_attr_want(ia, &proto.attr);
	udat_ep_attr_complete(ia, &proto.attr);
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

	UDAT_FORWARD(ia_handle, ep_create_with_srq, pz_handle, recv_evd_handle, request_evd_handle,
		     connect_evd_handle, srq_handle, attr, ep_handle);
	rc = create_check(ia, &proto);
	if (rc != DAT_SUCCESS)
		return rc;
	if (!proto.srq || proto.srq->obj.ia != ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	/*
	 * The EP and its SRQ must have one zone, because srq_ep_pz_difference_supported is false.
	 */
	if (proto.srq->pz != proto.pz)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!attr)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	proto.attr = *attr;
	/* All receives use buffers of the SRQ, so the SRQ's max_recv_iov replaces the EP's. */
	proto.attr.max_recv_iov = proto.srq->attr.max_recv_iov;
	if (udat_ep_attr_bad(ia, &proto.attr))
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	if (udat_ep_attr_unsupported(ia, attr))
		return DAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (!ep_handle)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	proto.want = udat_ep_attr_want(ia, &proto.attr);
	udat_ep_attr_complete(ia, &proto.attr);
	return ep_create(ia, &proto, ep_handle);
}

/* Free the library's memory of an EP that the driver has freed. */
static void ep_release(struct udat_ep *ep)
{
	struct udat_evd *evds[] = { ep->recv_evd, ep->request_evd, ep->connect_evd };

	udat_ep_unfeed(ep);
	/*
	 * A thread that dequeues a connection event reads private data in the pages of the EP.  The
	 * EVD's lock keeps the pages mapped while the thread reads.
	 */
	if (ep->connect_evd)
		du_lock(&ep->connect_evd->lock);
	udat_ep_unmap(ep);
	if (ep->connect_evd)
		du_unlock(&ep->connect_evd->lock);
	udat_obj_free_deferred(&ep->obj, evds, 3);
}

UDAT_EXPORT DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle)
{
	struct udat_ep *ep = udat_ep(ep_handle);
	DAT_RETURN bad = DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	DAT_RETURN rc;

	UDAT_FORWARD(ep_handle, ep_free);
	if (!ep)
		return bad;
	/* Refuse to free the EP while an RSP or a connection request owns it. */
	if (ep->stage)
		return udat_state_error(ep->stage);
	rc = udat_obj_free(&ep->obj, UDAT_TYPE(EP), DAT_OBJ_EP, bad,
			   DAT_ERR(DAT_INVALID_STATE, DAT_NO_SUBTYPE));
	if (rc == DAT_SUCCESS)
		ep_release(ep);
	return rc;
}

/* Destroy an EP that the library made for a connection request. */
void udat_ep_discard(struct udat_ep *ep)
{
	ep->stage = DAT_EP_STATE_UNCONNECTED;
	if (ep->obj.id) {
		dat_ep_free(ep);
	} else if (du_slot_revoke(&ep->obj.slot, UDAT_TYPE(EP))) {
		udat_ep_unfeed(ep);
		udat_obj_drop(&ep->obj);
	}
}

/* Returns the number of posted receives that have not completed. */
DAT_COUNT udat_ep_recvs(const struct udat_ep *ep)
{
	return ep->srq || !ep->obj.id ? 0 : (DAT_COUNT)du_queue_busy(&ep->rq);
}

UDAT_EXPORT DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
					 DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	struct udat_ep *ep = udat_ep(ep_handle);

	UDAT_FORWARD(ep_handle, ep_get_status, ep_state, recv_idle, request_idle);
	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (ep_state)
		*ep_state = udat_ep_state(ep);
	if (recv_idle)
		*recv_idle = !udat_ep_recvs(ep) ? DAT_TRUE : DAT_FALSE;
	if (request_idle && ep->obj.id && du_queue_busy(&ep->sq))
		du_queue_report(&ep->sq);
	if (request_idle)
		*request_idle = !ep->obj.id || !du_queue_busy(&ep->sq) ? DAT_TRUE : DAT_FALSE;
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
					 DAT_COUNT *bufs_alloc_span)
{
	struct udat_ep *ep = udat_ep(ep_handle);
	DAT_COUNT n;

	UDAT_FORWARD(ep_handle, ep_recv_query, nbufs_allocated, bufs_alloc_span);
	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	/* A device does not report which buffers of an SRQ it uses for an EP. */
	n = ep->srq ? DAT_VALUE_UNKNOWN : udat_ep_recvs(ep);
	if (nbufs_allocated)
		*nbufs_allocated = n;
	/*
	 * The span equals the count, because the messages of a connection fill the buffers in
	 * order.
	 */
	if (bufs_alloc_span)
		*bufs_alloc_span = n;
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle,
					    DAT_COUNT soft_high_watermark,
					    DAT_COUNT hard_high_watermark)
{
	struct udat_ep *ep = udat_ep(ep_handle);

	UDAT_FORWARD(ep_handle, ep_set_watermark, soft_high_watermark, hard_high_watermark);
	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (soft_high_watermark < DAT_WATERMARK_INFINITE)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (hard_high_watermark < DAT_WATERMARK_INFINITE)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	/* Both watermarks are always infinite, so setting them to infinite succeeds. */
	if (soft_high_watermark == DAT_WATERMARK_INFINITE &&
	    hard_high_watermark == DAT_WATERMARK_INFINITE)
		return DAT_SUCCESS;
	/* No other value is supported: srq_watermarks_supported names only the low watermark. */
	return DAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
}

static void query_addresses(struct udat_ep *ep, const struct dat_ep_query *q,
			    DAT_EP_PARAM *param)
{
	const struct sockaddr *remote = (const struct sockaddr *)q->remote;

	memcpy(ep->local, q->local, sizeof(ep->local));
	memcpy(ep->remote, q->remote, sizeof(ep->remote));
	/* An EP that is not connected reports the address of the adapter as its local address. */
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

	UDAT_FORWARD(ep_handle, ep_query, mask, param);
	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (mask & ~(DAT_EP_PARAM_MASK)DAT_EP_FIELD_ALL)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	arg.id = ep->obj.id;
	ret = arg.id ? du_file_ioctl(&ep->obj.ia->file, DAT_IOC_EP_QUERY, &arg) : 0;
	if (ret)
		return dat_err_from_errno(-ret);
	memset(param, 0, sizeof(*param));
	param->ia_handle = ep->obj.ia;
	param->ep_state = arg.state ? (DAT_EP_STATE)arg.state : ep->stage;
	query_addresses(ep, &arg, param);
	param->pz_handle = ep->pz;
	param->recv_evd_handle = ep->recv_evd;
	param->request_evd_handle = ep->request_evd;
	param->connect_evd_handle = ep->connect_evd;
	param->srq_handle = ep->srq;
	param->ep_attr = ep->attr;
	udat_ep_name_attr(ep, &param->ep_attr);
	if (param->ep_state == DAT_EP_STATE_CONNECTED) {
		param->ep_attr.max_rdma_read_in = (DAT_COUNT)arg.read_in;
		param->ep_attr.max_rdma_read_out = (DAT_COUNT)arg.read_out;
	}
	if (ep->srq)
		param->ep_attr.max_recv_dtos = ep->srq->attr.max_recv_dtos;
	return DAT_SUCCESS;
}
