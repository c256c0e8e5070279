// SPDX-License-Identifier: GPL-2.0
/*
 * Posting: check, write the entry, and have the pump look, all under the lock of the queue.
 * The pump checks segments again when it takes the entry, which may be much later.
 *
 * Before that the quick way is tried, which is inlined and does nothing but what is needed
 * if all is well and nothing is in the way: it posts at once.  Whatever else it meets it
 * leaves as it was, and to the other, which finds out what it is.
 */
#include "kdapl/direct.h"
#include "kdapl/kdapl.h"

#define RDMA_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG)
#define SEND_FLAGS	(RDMA_FLAGS | DAT_COMPLETION_SOLICITED_WAIT_FLAG)

#define LENGTH_ERROR	KDAT_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE)

static void to_sge(const DAT_LMR_TRIPLET *seg, struct dat_sge *sge)
{
	sge->addr = seg->virtual_address;
	sge->lmr = seg->lmr_context;
	sge->len = seg->segment_length;
}

static DAT_RETURN segment_error(int err, bool write)
{
	if (err == -ERANGE)
		return KDAT_ARG(3);
	if (err == -EXDEV)
		return KDAT_ERR(DAT_PROTECTION_VIOLATION,
				write ? DAT_PROTECTION_WRITE : DAT_PROTECTION_READ);
	return KDAT_ERR(DAT_PRIVILEGES_VIOLATION,
			write ? DAT_PRIVILEGES_WRITE : DAT_PRIVILEGES_READ);
}

/**
 * kdat_check_iov() - check the segments of a local IOV, which is always the third argument
 * @pz: zone that they must be of
 * @n: entries of @iov, not negative
 * @iov: segments
 * @write: the memory will be written
 * @total: result: bytes in all
 *
 * Context: under the lock of the queue.  Return: DAT_SUCCESS or an error.
 */
DAT_RETURN kdat_check_iov(struct dat_pz *pz, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
			  bool write, u64 *total)
{
	struct ib_sge unused;
	u64 sum = 0;
	DAT_COUNT i;
	int ret;

	if (n && !iov)
		return KDAT_ARG(3);
	for (i = 0; i < n; i++) {
		/* An empty segment may hold anything else. */
		if (!iov[i].segment_length)
			continue;
		ret = dat_lmr_resolve(pz, iov[i].lmr_context, iov[i].virtual_address,
				      iov[i].segment_length, write, &unused);
		if (ret)
			return segment_error(ret, write);
		sum += iov[i].segment_length;
	}
	*total = sum;
	return DAT_SUCCESS;
}

/* Segments hold no more than @bytes together. */
static void copy_iov(struct dat_sge *sge, u32 n, const DAT_LMR_TRIPLET *iov, u64 bytes)
{
	u32 i;

	for (i = 0; i < n; i++) {
		to_sge(&iov[i], &sge[i]);
		sge[i].len = min_t(u64, sge[i].len, bytes);
		bytes -= sge[i].len;
	}
}

/*
 * A modification changes the ring, and only then the attributes that posts are measured by:
 * what is written has to be measured by the ring.
 */
static bool iov_fits(const struct dat_queue *q, DAT_COUNT n)
{
	return n >= 0 && (u32)n <= q->ring.max_sge;
}

/**
 * kdat_post_locked() - queue a request
 * @ep: endpoint, not dead
 * @r: request, whose segments and flags have been checked
 *
 * Context: ep->lock held.
 * Return: DAT_SUCCESS; DAT_INVALID_STATE: neither connected nor disconnected;
 * DAT_INSUFFICIENT_RESOURCES: the queue is full; DAT_INVALID_PARAMETER: so many segments do
 * not fit its entries, since a modification that is under way has made them smaller.
 */
DAT_RETURN kdat_post_locked(struct dat_ep *ep, const struct kdat_request *r)
{
	struct dat_sqe *sqe;

	lockdep_assert_held(&ep->lock);
	if (ep->state != DAT_EP_CONNECTED && ep->state != DAT_EP_DISCONNECTED)
		return kdat_state_error(kdat_ep_state(ep));
	if (!iov_fits(&ep->sq, r->num))
		return KDAT_ARG(2);
	sqe = dat_kring_next(&ep->sq);
	if (!sqe)
		return KDAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	*sqe = (struct dat_sqe) {
		.opcode = r->op, .flags = r->flags & DAT_SQE_FLAGS_ALL, .num_sge = r->num,
		.rkey = r->rkey, .cookie = r->cookie.as_64, .raddr = r->raddr,
	};
	copy_iov((struct dat_sge *)(sqe + 1), r->num, r->iov, r->length);
	dat_kring_push(&ep->sq);
	dat_ep_kick_locked(ep, &ep->sq);
	return DAT_SUCCESS;
}

/* @allowed: by the operation; the EP has a say in one of them. */
bool kdat_request_flags_bad(const struct dat_ep *ep, u32 flags, u32 allowed)
{
	if (!(kdat_ep_of(ep)->attr.request_completion_flags & DAT_COMPLETION_UNSIGNALLED_FLAG))
		allowed &= ~DAT_COMPLETION_UNSIGNALLED_FLAG;
	return flags & ~allowed;
}

static bool recv_flags_bad(const DAT_EP_ATTR *attr, u32 flags)
{
	return flags & ~(attr->recv_completion_flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
}

/**
 * struct quick - what is posted by the quick way; never more than registers
 * @num: of a post
 * @iov: of a post
 * @cookie: of a post
 * @flags: of a post
 * @remote: of an RDMA operation
 */
struct quick {
	DAT_COUNT		num;
	const DAT_LMR_TRIPLET	*iov;
	DAT_DTO_COOKIE		cookie;
	DAT_COMPLETION_FLAGS	flags;
	const DAT_RMR_TRIPLET	*remote;
};

/* Any number of segments: how many have bytes, and in the low half their bytes; or 0. */
static noinline u64 quick_many(struct dat_ep *ep, DAT_COUNT num, const DAT_LMR_TRIPLET *iov,
			       bool write, struct ib_sge *sge)
{
	const DAT_LMR_TRIPLET *seg;
	u64 bytes, len = 0;
	u32 n = 0;

	for (seg = iov; seg != iov + num; seg++) {
		bytes = seg->segment_length;
		if (!bytes)
			continue;
		if (dat_lmr_resolve(ep->pz, seg->lmr_context, seg->virtual_address, bytes, write,
				    &sge[n++]))
			return 0;
		len += bytes;
	}
	return len <= U32_MAX ? (u64)n << 32 | len : 0;
}

/* Segments as the device wants them.  False: there may be something wrong with them. */
static __always_inline bool quick_sges(struct dat_ep *ep, const struct quick *p, bool write,
				       struct ib_sge *sge, u32 *n, u32 *len)
{
	const DAT_LMR_TRIPLET *seg = p->iov;
	u64 many;

	*n = 0;
	*len = 0;
	if (unlikely(!seg))
		return !p->num;
	if (unlikely(p->num != 1 || !seg->segment_length)) {
		many = quick_many(ep, p->num, seg, write, sge);
		*n = upper_32_bits(many);
		*len = lower_32_bits(many);
		return many;
	}
	*n = 1;
	*len = seg->segment_length;
	return !dat_lmr_resolve_quick(ep->pz, seg->lmr_context, seg->virtual_address, *len,
				      write, sge);
}

static __always_inline bool quick_request(struct dat_ep *ep, const struct quick *p, u8 op,
					  u32 allowed, u64 raddr, u32 rkey, u32 max)
{
	struct dat_conn *conn = dat_direct_sq(ep);
	u32 n, len;

	if (!conn || (u32)p->num > ep->attr.max_request_iov)
		return false;
	if (unlikely(p->flags) && kdat_request_flags_bad(ep, p->flags, allowed))
		return false;
	if (!quick_sges(ep, p, false, conn->sge, &n, &len) || len > max)
		return false;
	dat_direct_send(ep, conn, op, p->flags & DAT_SQE_FLAGS_ALL, n, len, p->cookie.as_64,
			raddr, rkey);
	return true;
}

static __always_inline bool quick_send(struct dat_ep *ep, const struct quick *p)
{
	const DAT_EP_ATTR *attr = &kdat_ep_of(ep)->attr;

	return (u32)p->num <= (u32)attr->max_request_iov &&
	       quick_request(ep, p, DAT_OP_SEND, SEND_FLAGS, 0, 0, attr->max_message_size);
}

static __always_inline bool quick_write(struct dat_ep *ep, const struct quick *p)
{
	const DAT_EP_ATTR *attr = &kdat_ep_of(ep)->attr;
	const DAT_RMR_TRIPLET *to = p->remote;

	return (u32)p->num <= (u32)attr->max_rdma_write_iov && to &&
	       quick_request(ep, p, DAT_OP_RDMA_WRITE, RDMA_FLAGS, to->virtual_address,
			     to->rmr_context, min(to->segment_length, attr->max_rdma_size));
}

static __always_inline bool quick_recv(struct dat_ep *ep, const struct quick *p)
{
	const DAT_EP_ATTR *attr = &kdat_ep_of(ep)->attr;
	struct dat_conn *conn;
	u32 n, len;

	if ((u32)p->num > (u32)attr->max_recv_iov || ep->srq)
		return false;
	if (unlikely(p->flags) && recv_flags_bad(attr, p->flags))
		return false;
	conn = dat_direct_rq(ep);
	if (!conn || (u32)p->num > ep->attr.max_recv_iov)
		return false;
	if (!quick_sges(ep, p, true, conn->sge, &n, &len) || len > ep->obj.ia->msg_max)
		return false;
	dat_direct_recv(ep, conn, p->flags, n, len, p->cookie.as_64);
	return true;
}

/* False: nothing has happened. */
static __always_inline bool quick_post(DAT_EP_HANDLE handle,
				       bool (*fn)(struct dat_ep *ep, const struct quick *p),
				       const struct quick *p)
{
	struct dat_obj *obj;
	bool bh, done = false;
	struct dat_ep *ep;

	if (kdat_cant_lock())
		return false;
	bh = kdat_bh_begin();
	obj = kdat_find(handle, DAT_HANDLE_TYPE_EP);
	if (likely(obj)) {
		ep = to_dat_ep(obj);
		spin_lock(&ep->lock);
		done = !ep->dead && fn(ep, p);
		spin_unlock(&ep->lock);
	}
	kdat_bh_end(bh);
	return done;
}

/*
 * What most posts are: one segment and no flags, from an upcall or with softirqs disabled
 * otherwise.  All attributes allow one segment.
 */

static __always_inline bool is_one(DAT_COUNT num, const DAT_LMR_TRIPLET *iov,
				   DAT_COMPLETION_FLAGS flags)
{
	/* Both at once. */
	return likely(!((num ^ 1) | flags)) && likely(iov);
}

static __always_inline bool one_fits(const struct dat_ep *ep, u8 op, u32 len,
				     const DAT_RMR_TRIPLET *to)
{
	const DAT_EP_ATTR *attr = &kdat_ep_of(ep)->attr;

	/* None is the longest. */
	len--;
	if (op == DAT_OP_INVALID)
		return len < ep->obj.ia->msg_max;
	if (op == DAT_OP_SEND)
		return len < attr->max_message_size;
	return len < attr->max_rdma_size && len < to->segment_length;
}

/* False: nothing has happened. */
static __always_inline bool one_post(DAT_EP_HANDLE handle, u8 op, const DAT_LMR_TRIPLET *seg,
				     DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to)
{
	struct dat_ep *ep;
	bool done;

	if (unlikely(!kdat_in_bh()))
		return false;
	ep = kdat_near_ep(handle);
	if (unlikely(!ep))
		return false;
	spin_lock(&ep->lock);
	/* Only then it is alive, and the attributes that belong to it are there. */
	done = likely(ep->direct) && one_fits(ep, op, seg->segment_length, to) &&
	       dat_direct_one(ep, op, seg, cookie.as_64, to ? to->virtual_address : 0,
			      to ? to->rmr_context : 0);
	spin_unlock(&ep->lock);
	return done;
}

static DAT_RETURN post_send(struct dat_ep *ep, void *arg)
{
	const DAT_EP_ATTR *attr = &kdat_ep_of(ep)->attr;
	struct kdat_request *r = arg;
	DAT_RETURN rc;

	if (r->num < 0 || r->num > attr->max_request_iov)
		return KDAT_ARG(2);
	if (kdat_request_flags_bad(ep, r->flags, SEND_FLAGS))
		return KDAT_ARG(5);
	rc = kdat_check_iov(ep->pz, r->num, r->iov, false, &r->length);
	if (rc != DAT_SUCCESS)
		return rc;
	if (r->length > attr->max_message_size)
		return LENGTH_ERROR;
	return kdat_post_locked(ep, r);
}

static DAT_RETURN post_rdma(struct dat_ep *ep, void *arg)
{
	const DAT_EP_ATTR *attr = &kdat_ep_of(ep)->attr;
	struct kdat_request *r = arg;
	bool read = r->op == DAT_OP_RDMA_READ;
	const DAT_RMR_TRIPLET *remote = r->remote;
	DAT_RETURN rc;
	u64 local;

	if (r->num < 0 ||
	    r->num > (read ? attr->max_rdma_read_iov : attr->max_rdma_write_iov))
		return KDAT_ARG(2);
	if (!remote)
		return KDAT_ARG(5);
	if (kdat_request_flags_bad(ep, r->flags, RDMA_FLAGS))
		return KDAT_ARG(6);
	r->rkey = remote->rmr_context;
	r->raddr = remote->virtual_address;
	rc = kdat_check_iov(ep->pz, r->num, r->iov, read, &local);
	if (rc != DAT_SUCCESS)
		return rc;
	r->length = read ? remote->segment_length : local;
	if ((read ? local : remote->segment_length) < r->length ||
	    r->length > attr->max_rdma_size)
		return LENGTH_ERROR;
	return kdat_post_locked(ep, r);
}

/* Not inlined: the quick way would have to keep its arguments in memory. */
static noinline DAT_RETURN ring_request(DAT_EP_HANDLE ep_handle, u8 op, DAT_COUNT num,
					const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					const DAT_RMR_TRIPLET *remote,
					DAT_COMPLETION_FLAGS flags)
{
	struct kdat_request r = {
		.op = op, .flags = flags, .num = num, .iov = iov, .remote = remote,
		.cookie = cookie,
	};

	return kdat_ep_call(ep_handle, op == DAT_OP_SEND ? post_send : post_rdma, &r);
}

/* Neither are the ways that are not so quick. */
static noinline DAT_RETURN any_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num,
				    const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				    DAT_COMPLETION_FLAGS flags)
{
	struct quick p = { num, iov, cookie, flags };

	if (likely(quick_post(ep_handle, quick_send, &p)))
		return DAT_SUCCESS;
	return ring_request(ep_handle, DAT_OP_SEND, num, iov, cookie, NULL, flags);
}

DAT_RETURN kdat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     DAT_COMPLETION_FLAGS completion_flags)
{
	if (!is_one(num_segments, local_iov, completion_flags))
		return any_send(ep_handle, num_segments, local_iov, user_cookie,
				completion_flags);
	if (likely(one_post(ep_handle, DAT_OP_SEND, local_iov, user_cookie, NULL)))
		return DAT_SUCCESS;
	return any_send(ep_handle, 1, local_iov, user_cookie, 0);
}
EXPORT_SYMBOL_DAT(kdat_ep_post_send);

/* Devices that register memory in a queue also take such requests. */
static bool can_invalidate(const struct dat_ep *ep)
{
	return ep->obj.ia->dev->limits.fast_reg_pages;
}

static DAT_RETURN post_send_invalidate(struct dat_ep *ep, void *arg)
{
	if (!can_invalidate(ep))
		return KDAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return post_send(ep, arg);
}

DAT_RETURN kdat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					     DAT_LMR_TRIPLET *local_iov,
					     DAT_DTO_COOKIE user_cookie,
					     DAT_COMPLETION_FLAGS completion_flags,
					     DAT_BOOLEAN invalidate_flag,
					     DAT_RMR_CONTEXT rmr_context)
{
	struct kdat_request r = {
		.op = DAT_OP_SEND, .flags = completion_flags, .num = num_segments,
		.iov = local_iov, .cookie = user_cookie, .rkey = rmr_context,
		.raddr = DAT_KOP_SEND_INVALIDATE,
	};

	if (invalidate_flag == DAT_TRUE)
		return kdat_ep_call(ep_handle, post_send_invalidate, &r);
	return kdat_ep_post_send(ep_handle, num_segments, local_iov, user_cookie,
				 completion_flags);
}
EXPORT_SYMBOL_DAT(kdat_ep_post_send_with_invalidate);

DAT_RETURN kdat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_buffer,
				  DAT_COMPLETION_FLAGS completion_flags)
{
	/* Its segments may have to be cut. */
	return ring_request(ep_handle, DAT_OP_RDMA_READ, num_segments, local_iov, user_cookie,
			    remote_buffer, completion_flags);
}
EXPORT_SYMBOL_DAT(kdat_ep_post_rdma_read);

static noinline DAT_RETURN any_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num,
				     const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				     const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	struct quick p = { num, iov, cookie, flags, remote };

	if (likely(quick_post(ep_handle, quick_write, &p)))
		return DAT_SUCCESS;
	return ring_request(ep_handle, DAT_OP_RDMA_WRITE, num, iov, cookie, remote, flags);
}

DAT_RETURN kdat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				   DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				   const DAT_RMR_TRIPLET *remote_buffer,
				   DAT_COMPLETION_FLAGS completion_flags)
{
	if (!is_one(num_segments, local_iov, completion_flags) || !remote_buffer)
		return any_write(ep_handle, num_segments, local_iov, user_cookie,
				 remote_buffer, completion_flags);
	if (likely(one_post(ep_handle, DAT_OP_RDMA_WRITE, local_iov, user_cookie,
			    remote_buffer)))
		return DAT_SUCCESS;
	return any_write(ep_handle, 1, local_iov, user_cookie, remote_buffer, 0);
}
EXPORT_SYMBOL_DAT(kdat_ep_post_rdma_write);

/* Whether the window is bound is found when the request has its turn: a bind may be before it. */
static DAT_RETURN post_read_to_rmr(struct dat_ep *ep, void *arg)
{
	struct kdat_request *r = arg;
	const DAT_RMR_TRIPLET *remote = r->remote;

	if (kdat_request_flags_bad(ep, r->flags, RDMA_FLAGS))
		return KDAT_ARG(5);
	r->rkey = remote->rmr_context;
	r->raddr = remote->virtual_address;
	r->length = remote->segment_length;
	if (r->iov->segment_length < r->length ||
	    r->length > kdat_ep_of(ep)->attr.max_rdma_size)
		return LENGTH_ERROR;
	return kdat_post_locked(ep, r);
}

DAT_RETURN kdat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle,
					 const DAT_RMR_TRIPLET *local_buffer,
					 DAT_DTO_COOKIE user_cookie,
					 const DAT_RMR_TRIPLET *remote_buffer,
					 DAT_COMPLETION_FLAGS completion_flags)
{
	DAT_LMR_TRIPLET window;
	struct kdat_request r = {
		.op = DAT_KOP_READ_TO_RMR, .flags = completion_flags, .num = 1, .iov = &window,
		.remote = remote_buffer, .cookie = user_cookie,
	};

	if (!local_buffer)
		return KDAT_ARG(2);
	if (!remote_buffer)
		return KDAT_ARG(4);
	window = (DAT_LMR_TRIPLET) {
		.virtual_address = local_buffer->virtual_address,
		.segment_length = local_buffer->segment_length,
		.lmr_context = local_buffer->rmr_context,
	};
	return kdat_ep_call(ep_handle, post_read_to_rmr, &r);
}
EXPORT_SYMBOL_DAT(kdat_ep_post_rdma_read_to_rmr);

/* Write the entry of a receive at the end of @q; false: it is full. */
static bool recv_push(struct dat_queue *q, u32 n, const DAT_LMR_TRIPLET *iov,
		      DAT_CONTEXT cookie, u32 flags)
{
	struct dat_rqe *rqe = dat_kring_next(q);

	if (!rqe)
		return false;
	*rqe = (struct dat_rqe) { .cookie = cookie.as_64, .num_sge = n, .flags = flags };
	copy_iov((struct dat_sge *)(rqe + 1), n, iov, U64_MAX);
	dat_kring_push(q);
	return true;
}

static DAT_RETURN post_recv(struct dat_ep *ep, void *arg)
{
	const DAT_EP_ATTR *attr = &kdat_ep_of(ep)->attr;
	const struct kdat_request *r = arg;
	DAT_RETURN rc;
	u64 total;

	if (ep->srq)
		return KDAT_BAD(EP);
	if (!iov_fits(&ep->rq, r->num) || r->num > attr->max_recv_iov)
		return KDAT_ARG(2);
	if (recv_flags_bad(attr, r->flags))
		return KDAT_ARG(5);
	rc = kdat_check_iov(ep->pz, r->num, r->iov, true, &total);
	if (rc != DAT_SUCCESS)
		return rc;
	if (total > ep->obj.ia->msg_max)
		return LENGTH_ERROR;
	if (!recv_push(&ep->rq, r->num, r->iov, r->cookie, r->flags))
		return KDAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	dat_ep_kick_locked(ep, &ep->rq);
	return DAT_SUCCESS;
}

static noinline DAT_RETURN ring_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num,
				     const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				     DAT_COMPLETION_FLAGS flags)
{
	struct kdat_request r = { .flags = flags, .num = num, .iov = iov, .cookie = cookie };

	return kdat_ep_call(ep_handle, post_recv, &r);
}

static noinline DAT_RETURN any_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num,
				    const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				    DAT_COMPLETION_FLAGS flags)
{
	struct quick p = { num, iov, cookie, flags };

	if (likely(quick_post(ep_handle, quick_recv, &p)))
		return DAT_SUCCESS;
	return ring_recv(ep_handle, num, iov, cookie, flags);
}

DAT_RETURN kdat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     DAT_COMPLETION_FLAGS completion_flags)
{
	if (!is_one(num_segments, local_iov, completion_flags))
		return any_recv(ep_handle, num_segments, local_iov, user_cookie,
				completion_flags);
	if (likely(one_post(ep_handle, DAT_OP_INVALID, local_iov, user_cookie, NULL)))
		return DAT_SUCCESS;
	return any_recv(ep_handle, 1, local_iov, user_cookie, 0);
}
EXPORT_SYMBOL_DAT(kdat_ep_post_recv);

static DAT_RETURN srq_post(struct dat_srq *srq, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
			   DAT_CONTEXT cookie)
{
	DAT_RETURN rc;
	u64 total;

	if (n < 0 || (u32)n > srq->max_iov)
		return KDAT_ARG(2);
	rc = kdat_check_iov(srq->pz, n, iov, true, &total);
	if (rc != DAT_SUCCESS)
		return rc;
	if (total > srq->obj.ia->msg_max)
		return LENGTH_ERROR;
	if (!recv_push(&srq->q, n, iov, cookie, 0))
		return KDAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	return DAT_SUCCESS;
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
		rc = srq_post(srq, num_segments, local_iov, user_cookie);
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
