// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Endpoint attributes of kernel consumers: default values, checks and changes. */
#include <linux/in.h>
#include <linux/net.h>

#include "core/dat.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/xport.h"
#include "kdapl/kdapl.h"

#define DEFAULT_DTOS	64
#define DEFAULT_IOV	4
#define DEFAULT_READS	4

/*
 * Fills in the default attributes, for a consumer that passes no attributes, and for the EP of a
 * request.  kdat_attr_complete() fills in the rest.
 */
void kdat_attr_default(const struct dat_ia *ia, DAT_EP_ATTR *attr)
{
	const struct dat_limits *limits = &ia->dev->limits;

	*attr = (DAT_EP_ATTR) {
		.max_recv_dtos		= DEFAULT_DTOS,
		.max_request_dtos	= DEFAULT_DTOS,
		.max_recv_iov		= min_t(u32, DEFAULT_IOV, limits->recv_sge),
		.max_request_iov	= min_t(u32, DEFAULT_IOV, limits->send_sge),
		.max_rdma_read_in	= min_t(u32, DEFAULT_READS, limits->read_in),
		.max_rdma_read_out	= min_t(u32, DEFAULT_READS, limits->read_out),
		.srq_soft_hw		= DAT_HW_DEFAULT,
	};
}

#define IMMED_NAME	"immediate_data"

/* The named attribute of an EP that has immediate data, as kdat_ep_query() returns it. */
static DAT_NAMED_ATTR attr_immed = { IMMED_NAME, "1" };

/*
 * Returns 1 if the named attributes ask for immediate data, 0 if they do not, or -EINVAL if one is
 * unknown or has an unknown value.
 */
static int attr_immediate(const DAT_EP_ATTR *attr)
{
	const DAT_NAMED_ATTR *named = attr->ep_provider_specific;
	int i, asks = 0;

	if (attr->ep_provider_specific_count < 0 || (attr->ep_provider_specific_count && !named))
		return -EINVAL;
	for (i = 0; i < attr->ep_provider_specific_count; i++) {
		if (!named[i].name || strcmp(named[i].name, IMMED_NAME) || !named[i].value ||
		    (strcmp(named[i].value, "0") && strcmp(named[i].value, "1")))
			return -EINVAL;
		asks = named[i].value[0] == '1';
	}
	return asks;
}

/* Converts attributes for the core.  @srq: true if the EP has an SRQ instead of a receive queue. */
struct dat_ep_attr kdat_attr_convert(const DAT_EP_ATTR *attr, bool srq)
{
	u32 flags = DAT_SQE_SUPPRESS | DAT_SQE_SOLICITED | DAT_SQE_UNSIGNALLED;

	return (struct dat_ep_attr) {
		.max_recv		= srq ? 0 : attr->max_recv_dtos,
		.max_request		= attr->max_request_dtos,
		.max_recv_iov		= attr->max_recv_iov,
		.max_request_iov	= attr->max_request_iov,
		.read_in		= attr->max_rdma_read_in,
		.read_out		= attr->max_rdma_read_out,
		.recv_flags		= attr->recv_completion_flags & flags,
		.request_flags		= attr->request_completion_flags & flags,
		.flags			= attr_immediate(attr) > 0 ? DAT_EP_FLAG_IMMEDIATE : 0,
	};
}

static bool over(DAT_COUNT value, u32 limit)
{
	return value < 0 || (u32)value > limit;
}

static bool attr_sizes_bad(const struct dat_ia *ia, const DAT_EP_ATTR *attr)
{
	const struct dat_limits *limits = &ia->dev->limits;
	const struct dat_ep_attr sizes = kdat_attr_convert(attr, false);

	/* A negative size is converted to a u32 that exceeds every limit. */
	return !dat_ep_attr_fits(ia, &sizes) ||
	       over(attr->max_rdma_read_iov, min(limits->read_sge, limits->send_sge)) ||
	       over(attr->max_rdma_write_iov, limits->send_sge) ||
	       attr->max_message_size > ia->msg_max || attr->max_rdma_size > ia->msg_max;
}

/* Checks a consumer's attributes.  Returns DAT_SUCCESS, @bad, or DAT_MODEL_NOT_SUPPORTED. */
DAT_RETURN kdat_attr_check(const struct dat_ia *ia, const DAT_EP_ATTR *attr, DAT_RETURN bad)
{
	u32 recv = DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	/*
	 * In DAT, SUPPRESS in request_completion_flags allows each post to set SUPPRESS.  Here each
	 * post may set SUPPRESS in any case.
	 */
	u32 request = recv | DAT_COMPLETION_SUPPRESS_FLAG;

	if (attr->service_type != DAT_SERVICE_TYPE_RC ||
	    attr->recv_completion_flags & ~recv || attr->request_completion_flags & ~request ||
	    attr->ep_transport_specific_count || attr_immediate(attr) < 0 ||
	    attr_sizes_bad(ia, attr))
		return bad;
	if (attr_immediate(attr) && ia->iwarp)
		return KDAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	/* A consumer that does not know the member srq_soft_hw leaves the member 0. */
	if (attr->qos != DAT_QOS_BEST_EFFORT ||
	    (attr->srq_soft_hw && attr->srq_soft_hw != DAT_HW_DEFAULT))
		return KDAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

/*
 * Fills in the lengths of messages and the numbers of segments that the consumer left 0.  Limits
 * the numbers of segments of RDMA reads and writes to max_request_iov.
 */
void kdat_attr_complete(const struct dat_ia *ia, DAT_EP_ATTR *attr)
{
	DAT_COUNT max_read = ia->dev->limits.read_sge;

	attr->max_message_size = attr->max_message_size ?: ia->msg_max;
	attr->max_rdma_size = attr->max_rdma_size ?: ia->msg_max;
	attr->max_request_iov = attr->max_request_iov ?: 1;
	attr->max_recv_iov = attr->max_recv_iov ?: 1;
	attr->max_rdma_read_iov = attr->max_rdma_read_iov ?:
				  min(attr->max_request_iov, max_read);
	attr->max_rdma_write_iov = attr->max_rdma_write_iov ?: attr->max_request_iov;
	attr->max_rdma_read_iov = min(attr->max_rdma_read_iov, attr->max_request_iov);
	attr->max_rdma_write_iov = min(attr->max_rdma_write_iov, attr->max_request_iov);
	attr->ep_transport_specific = NULL;
	/* The consumer's array may go away. */
	attr->ep_provider_specific_count = attr_immediate(attr) > 0;
	attr->ep_provider_specific = attr->ep_provider_specific_count ? &attr_immed : NULL;
}

/* Entry for an attribute that dat_ep_modify() can change.  Each of these attributes has 4 bytes. */
#define ATTR(FIELD, field)	\
	{ DAT_EP_FIELD_EP_ATTR_##FIELD, offsetof(DAT_EP_ATTR, field) }

static const struct {
	DAT_EP_PARAM_MASK	bit;
	size_t			offset;
} ep_attrs[] = {
	ATTR(SERVICE_TYPE, service_type),
	ATTR(MAX_MESSAGE_SIZE, max_message_size),
	ATTR(MAX_RDMA_SIZE, max_rdma_size),
	ATTR(QOS, qos),
	ATTR(RECV_COMPLETION_FLAGS, recv_completion_flags),
	ATTR(REQUEST_COMPLETION_FLAGS, request_completion_flags),
	ATTR(MAX_RECV_DTOS, max_recv_dtos),
	ATTR(MAX_REQUEST_DTOS, max_request_dtos),
	ATTR(MAX_RECV_IOV, max_recv_iov),
	ATTR(MAX_REQUEST_IOV, max_request_iov),
	ATTR(MAX_RDMA_READ_IN, max_rdma_read_in),
	ATTR(MAX_RDMA_READ_OUT, max_rdma_read_out),
	ATTR(SRQ_SOFT_HW, srq_soft_hw),
	ATTR(MAX_RDMA_READ_IOV, max_rdma_read_iov),
	ATTR(MAX_RDMA_WRITE_IOV, max_rdma_write_iov),
	ATTR(NUM_TRANSPORT_ATTR, ep_transport_specific_count),
	ATTR(NUM_PROVIDER_ATTR, ep_provider_specific_count),
};

/* Copies the attributes whose bit is set in @mask. */
void kdat_attr_take(DAT_EP_ATTR *to, const DAT_EP_ATTR *from, DAT_EP_PARAM_MASK mask)
{
	unsigned int i;
	size_t at;

	for (i = 0; i < ARRAY_SIZE(ep_attrs); i++) {
		at = ep_attrs[i].offset;
		if (mask & ep_attrs[i].bit)
			memcpy((void *)to + at, (const void *)from + at, sizeof(u32));
	}
	if (mask & DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)
		to->ep_provider_specific = from->ep_provider_specific;
}

/* Returns true for the only supported kind of connection: a stream over IPv4 or IPv6. */
bool kdat_comm_good(const DAT_COMM *comm)
{
	return (comm->domain == AF_INET || comm->domain == AF_INET6) &&
	       comm->type == SOCK_STREAM &&
	       (comm->protocol == 0 || comm->protocol == IPPROTO_TCP);
}
