// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Posts of kernel consumers.  Each call takes the lock of the queue, checks the arguments and fills
 * in the work request.  The core then resolves the segments and posts the work request.
 */
#include "core/dat.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/ep/srq.h"
#include "kdapl/kdapl.h"

#define RDMA_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG)
#define SEND_FLAGS	(RDMA_FLAGS | DAT_COMPLETION_SOLICITED_WAIT_FLAG)

#define LENGTH_ERROR	KDAT_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE)

static noinline DAT_RETURN post_error(const struct dat_ep *ep, int err)
{
	u8 op = ep->wr.op;

	switch (err) {
	case -ENOTCONN:
		return kdat_state_error(kdat_ep_state(ep));
	case -E2BIG:
		return KDAT_ARG(2);
	case -ENOSPC:
		return KDAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	default:
		return kdat_segment_error(err, op == DAT_OP_INVALID || op == DAT_OP_RDMA_READ);
	}
}

static __always_inline DAT_RETURN post_wr(struct dat_ep *ep, u64 limit)
{
	int ret = dat_queue_post(ep, limit);

	return likely(!ret) ? DAT_SUCCESS : post_error(ep, ret);
}

/*
 * Posts the work request in ep->wr.  @limit: see dat_queue_post().  ep->lock is held.  Fails with
 * DAT_INVALID_STATE if the EP is neither connected nor disconnected, with DAT_INVALID_PARAMETER if
 * dat_ep_modify() has made the queue's entries too small for the segments, with
 * DAT_INSUFFICIENT_RESOURCES if the queue is full or being replaced, or with a return code of
 * kdat_segment_error().
 */
DAT_RETURN kdat_post_wr(struct dat_ep *ep, u64 limit)
{
	return post_wr(ep, limit);
}

/*
 * Returns true if @flags has a bit that is not in @allowed, or has UNSIGNALLED although the
 * attributes of the EP do not allow UNSIGNALLED.  ep->lock is held.
 */
bool kdat_request_flags_bad(const struct dat_ep *ep, u32 flags, u32 allowed)
{
	lockdep_assert_held(&ep->lock);

	if (!(kdat_ep_of(ep)->attr.request_completion_flags & DAT_COMPLETION_UNSIGNALLED_FLAG))
		allowed &= ~DAT_COMPLETION_UNSIGNALLED_FLAG;
	return flags & ~allowed;
}

static __always_inline void fill_segments(struct dat_wr *wr, u32 n, const DAT_LMR_TRIPLET *iov)
{
	u32 i;

	wr->num_sge = n;
	for (i = 0; i < n; i++) {
		wr->sge[i].addr = iov[i].virtual_address;
		wr->sge[i].lmr = iov[i].lmr_context;
		wr->sge[i].len = iov[i].segment_length;
	}
}

/* Adds immediate data, if there is any, to the request in ep->wr. */
static __always_inline void add_immed(struct dat_ep *ep, const DAT_UINT32 *immed)
{
	if (!immed)
		return;
	ep->wr.with_imm = true;
	ep->wr.imm = *immed;
}

/*
 * Posts a send.  @key: key of the peer's memory, which the message invalidates, or NULL; @immed:
 * immediate data, or NULL.
 */
static __always_inline DAT_RETURN post_send(struct dat_ep *ep, DAT_COUNT num,
					    const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					    const DAT_RMR_CONTEXT *key, const DAT_UINT32 *immed,
					    u32 flags)
{
	const DAT_EP_ATTR *attr = &kdat_ep_of(ep)->attr;

	/* Send with invalidate needs a device that registers memory by work request. */
	if (key && !ep->obj.ia->dev->limits.fast_reg_pages)
		return KDAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (unlikely((u32)num > (u32)attr->max_request_iov))
		return KDAT_ARG(2);
	if (unlikely(flags) && kdat_request_flags_bad(ep, flags, SEND_FLAGS))
		return immed ? KDAT_ARG(6) : KDAT_ARG(5);
	if (unlikely(num && !iov))
		return KDAT_ARG(3);
	kdat_fill_wr(ep, DAT_OP_SEND, cookie.as_64, flags, key ? DAT_KOP_SEND_INVALIDATE : 0,
		     key ? *key : 0);
	add_immed(ep, immed);
	fill_segments(&ep->wr, num, iov);
	return post_wr(ep, attr->max_message_size);
}

static __always_inline DAT_RETURN post_rdma(struct dat_ep *ep, u8 op, DAT_COUNT num,
					    const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					    const DAT_RMR_TRIPLET *remote,
					    const DAT_UINT32 *immed, u32 flags)
{
	const DAT_EP_ATTR *attr = &kdat_ep_of(ep)->attr;
	bool read = op == DAT_OP_RDMA_READ;
	u64 limit;

	if (unlikely((u32)num > (u32)(read ? attr->max_rdma_read_iov : attr->max_rdma_write_iov)))
		return KDAT_ARG(2);
	if (unlikely(!remote))
		return KDAT_ARG(5);
	/* A write with immediate data completes a receive of the peer, as a send does. */
	if (unlikely(flags) && kdat_request_flags_bad(ep, flags, immed ? SEND_FLAGS : RDMA_FLAGS))
		return immed ? KDAT_ARG(7) : KDAT_ARG(6);
	if (unlikely(num && !iov))
		return KDAT_ARG(3);
	kdat_fill_wr(ep, op, cookie.as_64, flags, remote->virtual_address, remote->rmr_context);
	add_immed(ep, immed);
	fill_segments(&ep->wr, num, iov);
	limit = remote->segment_length;
	/* No segments are U64_MAX bytes long, so a read above max_rdma_size fails. */
	if (limit > attr->max_rdma_size)
		limit = read ? U64_MAX : attr->max_rdma_size;
	return post_wr(ep, limit);
}

static __always_inline DAT_RETURN post_recv(struct dat_ep *ep, DAT_COUNT num,
					    const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					    u32 flags)
{
	const DAT_EP_ATTR *attr = &kdat_ep_of(ep)->attr;
	int ret;

	if (unlikely(ep->srq))
		return KDAT_BAD(EP);
	/* dat_ep_modify() may have reduced the number of segments that an entry holds. */
	if (unlikely((u32)num > (u32)attr->max_recv_iov || (u32)num > ep->rq.ring.max_sge))
		return KDAT_ARG(2);
	if (unlikely(flags & ~(attr->recv_completion_flags & DAT_COMPLETION_UNSIGNALLED_FLAG)))
		return KDAT_ARG(5);
	if (unlikely(num && !iov))
		return KDAT_ARG(3);
	kdat_fill_wr(ep, DAT_OP_INVALID, cookie.as_64, flags, 0, 0);
	fill_segments(&ep->wr, num, iov);
	ret = dat_queue_post_recv(ep, ep->obj.ia->msg_max);
	return likely(!ret) ? DAT_SUCCESS : post_error(ep, ret);
}

/*
 * Posts a work request.  @op: compile-time constant, which is DAT_OP_INVALID for a receive,
 * DAT_OP_SEND, or an RDMA operation.  Only RDMA operations use @remote.  Only sends use @key.  Only
 * sends and RDMA writes use @immed.
 */
static __always_inline DAT_RETURN post(DAT_EP_HANDLE handle, u8 op, DAT_COUNT num,
				       const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				       const DAT_RMR_TRIPLET *remote, const DAT_RMR_CONTEXT *key,
				       const DAT_UINT32 *immed, u32 flags)
{
	DAT_RETURN rc = KDAT_BAD(EP);
	struct dat_obj *obj;
	struct dat_ep *ep;
	bool bh;

	if (unlikely(kdat_cant_lock()))
		return KDAT_CONTEXT;
	bh = kdat_bh_begin();
	obj = kdat_find(handle, DAT_HANDLE_TYPE_EP);
	if (likely(obj)) {
		ep = to_dat_ep(obj);
		spin_lock(&ep->lock);
		if (unlikely(ep->dead))
			rc = kdat_dead(obj, rc);
		else if (immed && !dat_ep_has_imm(ep))
			rc = KDAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
		else if (op == DAT_OP_INVALID)
			rc = post_recv(ep, num, iov, cookie, flags);
		else if (op == DAT_OP_SEND)
			rc = post_send(ep, num, iov, cookie, key, immed, flags);
		else
			rc = post_rdma(ep, op, num, iov, cookie, remote, immed, flags);
		spin_unlock(&ep->lock);
	}
	kdat_bh_end(bh);
	return rc;
}

DAT_RETURN kdat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     DAT_COMPLETION_FLAGS completion_flags)
{
	return post(ep_handle, DAT_OP_SEND, num_segments, local_iov, user_cookie, NULL, NULL,
		    NULL, completion_flags);
}
EXPORT_SYMBOL_DAT(kdat_ep_post_send);

DAT_RETURN kdat_linux_ep_post_send_immed(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					 DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					 DAT_UINT32 immed_data,
					 DAT_COMPLETION_FLAGS completion_flags)
{
	return post(ep_handle, DAT_OP_SEND, num_segments, local_iov, user_cookie, NULL, NULL,
		    &immed_data, completion_flags);
}
EXPORT_SYMBOL_DAT(kdat_linux_ep_post_send_immed);

DAT_RETURN kdat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					     DAT_LMR_TRIPLET *local_iov,
					     DAT_DTO_COOKIE user_cookie,
					     DAT_COMPLETION_FLAGS completion_flags,
					     DAT_BOOLEAN invalidate_flag,
					     DAT_RMR_CONTEXT rmr_context)
{
	return post(ep_handle, DAT_OP_SEND, num_segments, local_iov, user_cookie, NULL,
		    invalidate_flag == DAT_TRUE ? &rmr_context : NULL, NULL, completion_flags);
}
EXPORT_SYMBOL_DAT(kdat_ep_post_send_with_invalidate);

DAT_RETURN kdat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_buffer,
				  DAT_COMPLETION_FLAGS completion_flags)
{
	return post(ep_handle, DAT_OP_RDMA_READ, num_segments, local_iov, user_cookie,
		    remote_buffer, NULL, NULL, completion_flags);
}
EXPORT_SYMBOL_DAT(kdat_ep_post_rdma_read);

DAT_RETURN kdat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				   DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				   const DAT_RMR_TRIPLET *remote_buffer,
				   DAT_COMPLETION_FLAGS completion_flags)
{
	return post(ep_handle, DAT_OP_RDMA_WRITE, num_segments, local_iov, user_cookie,
		    remote_buffer, NULL, NULL, completion_flags);
}
EXPORT_SYMBOL_DAT(kdat_ep_post_rdma_write);

DAT_RETURN kdat_linux_ep_post_rdma_write_immed(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					       DAT_LMR_TRIPLET *local_iov,
					       DAT_DTO_COOKIE user_cookie,
					       const DAT_RMR_TRIPLET *remote_buffer,
					       DAT_UINT32 immed_data,
					       DAT_COMPLETION_FLAGS completion_flags)
{
	return post(ep_handle, DAT_OP_RDMA_WRITE, num_segments, local_iov, user_cookie,
		    remote_buffer, NULL, &immed_data, completion_flags);
}
EXPORT_SYMBOL_DAT(kdat_linux_ep_post_rdma_write_immed);

/* Arguments of dat_ep_post_rdma_read_to_rmr(). */
struct read_to_rmr {
	const DAT_RMR_TRIPLET	*local;
	const DAT_RMR_TRIPLET	*remote;
	DAT_DTO_COOKIE		cookie;
	u32			flags;
};

/*
 * Posts an RDMA read to an RMR.  The RMR may still be unbound, because a bind may precede the read
 * in the queue.  So the pump, not this function, checks whether the RMR is bound.
 */
static DAT_RETURN post_read_to_rmr(struct dat_ep *ep, void *arg)
{
	const struct read_to_rmr *r = arg;
	const DAT_RMR_TRIPLET *remote = r->remote;

	if (kdat_request_flags_bad(ep, r->flags, RDMA_FLAGS))
		return KDAT_ARG(5);
	if (r->local->segment_length < remote->segment_length ||
	    remote->segment_length > kdat_ep_of(ep)->attr.max_rdma_size)
		return LENGTH_ERROR;
	kdat_fill_wr(ep, DAT_KOP_READ_TO_RMR, r->cookie.as_64, r->flags, remote->virtual_address,
		     remote->rmr_context);
	ep->wr.num_sge = 1;
	ep->wr.sge[0].addr = r->local->virtual_address;
	ep->wr.sge[0].lmr = r->local->rmr_context;
	ep->wr.sge[0].len = remote->segment_length;
	return kdat_post_wr(ep, 0);
}

DAT_RETURN kdat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle,
					 const DAT_RMR_TRIPLET *local_buffer,
					 DAT_DTO_COOKIE user_cookie,
					 const DAT_RMR_TRIPLET *remote_buffer,
					 DAT_COMPLETION_FLAGS completion_flags)
{
	struct read_to_rmr r = {
		.local = local_buffer, .remote = remote_buffer, .cookie = user_cookie,
		.flags = completion_flags,
	};

	if (!local_buffer)
		return KDAT_ARG(2);
	if (!remote_buffer)
		return KDAT_ARG(4);
	return kdat_ep_call(ep_handle, post_read_to_rmr, &r);
}
EXPORT_SYMBOL_DAT(kdat_ep_post_rdma_read_to_rmr);

DAT_RETURN kdat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     DAT_COMPLETION_FLAGS completion_flags)
{
	return post(ep_handle, DAT_OP_INVALID, num_segments, local_iov, user_cookie, NULL, NULL,
		    NULL, completion_flags);
}
EXPORT_SYMBOL_DAT(kdat_ep_post_recv);

static DAT_RETURN ksrq_post(struct dat_srq *srq, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
			    DAT_CONTEXT cookie)
{
	struct dat_wr *wr = &srq->wr;
	int ret;

	if (n < 0 || (u32)n > srq->max_iov)
		return KDAT_ARG(2);
	if (n && !iov)
		return KDAT_ARG(3);
	wr->cookie = cookie.as_64;
	wr->flags = 0;
	fill_segments(wr, n, iov);
	ret = dat_srq_post(srq, srq->obj.ia->msg_max);
	if (ret == -ENOSPC)
		return KDAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	return ret ? kdat_segment_error(ret, true) : DAT_SUCCESS;
}

DAT_RETURN kdat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			      DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie)
{
	DAT_RETURN rc = KDAT_BAD(SRQ);
	struct dat_srq *srq;
	struct dat_obj *obj;
	u32 bad = 0;
	bool bh;

	if (kdat_cant_lock())
		return KDAT_CONTEXT;
	bh = kdat_bh_begin();
	obj = kdat_find(srq_handle, DAT_HANDLE_TYPE_SRQ);
	if (!obj)
		goto out;
	srq = to_dat_srq(obj);
	spin_lock(&srq->lock);
	rc = kdat_dead(obj, rc);
	if (srq->live)
		rc = ksrq_post(srq, num_segments, local_iov, user_cookie);
	if (rc == DAT_SUCCESS)
		bad = dat_srq_pump_locked(srq);
	spin_unlock(&srq->lock);
	if (bad)
		dat_srq_report_bad(srq);
out:
	kdat_bh_end(bh);
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_srq_post_recv);
