// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Posting: check the arguments, write the entry, publish the entry.  The driver repeats all checks.
 * But if a check in the driver fails, the request fails and the connection breaks.  The library's
 * check returns an error before the post.
 */
#include <errno.h>
#include <string.h>

#include "foreign.h"
#include "libdat.h"

#define IP(arg)	DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##arg)

static int lmr_covers(const struct udat_lmr *lmr, const DAT_LMR_TRIPLET *seg)
{
	return seg->virtual_address >= lmr->start && seg->segment_length <= lmr->length &&
	       seg->virtual_address - lmr->start <= lmr->length - seg->segment_length;
}

static DAT_RETURN check_segment(struct udat_ia *ia, struct udat_pz *pz,
				const DAT_LMR_TRIPLET *seg, DAT_MEM_PRIV_FLAGS need)
{
	int write = need & DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	struct udat_lmr *lmr = udat_lmr_find(ia, seg->lmr_context);

	if (!lmr)
		return DAT_ERR(DAT_PRIVILEGES_VIOLATION, write ? DAT_PRIVILEGES_WRITE :
								 DAT_PRIVILEGES_READ);
	if (lmr->pz != pz)
		return DAT_ERR(DAT_PROTECTION_VIOLATION, write ? DAT_PROTECTION_WRITE :
								 DAT_PROTECTION_READ);
	if (need & ~lmr->priv)
		return DAT_ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	return lmr_covers(lmr, seg) ? DAT_SUCCESS : IP(3);
}

/* Returns 0 if the segment lies inside its LMR.  Does not check the zone and the privileges. */
int udat_check_range(struct udat_ia *ia, const DAT_LMR_TRIPLET *seg)
{
	struct udat_lmr *lmr = udat_lmr_find(ia, seg->lmr_context);

	return lmr && lmr_covers(lmr, seg) ? 0 : -ERANGE;
}

/*
 * Check the segments of a local IOV.  An error names argument 3, because the IOV is argument 3 of
 * all DAT functions that call this function.  @need contains the privileges that the operation
 * requires.  @need never includes local read, because existing programs send from memory that is
 * registered only for local write.
 */
DAT_RETURN udat_check_iov(struct udat_ia *ia, struct udat_pz *pz, DAT_COUNT n,
			  const DAT_LMR_TRIPLET *iov, DAT_MEM_PRIV_FLAGS need,
			  uint64_t *total)
{
	uint64_t sum = 0;
	DAT_RETURN rc;
	DAT_COUNT i;

	if (n && !iov)
		return IP(3);
	for (i = 0; i < n; i++) {
		/* Ignore the other fields of an empty segment. */
		if (!iov[i].segment_length)
			continue;
		rc = check_segment(ia, pz, &iov[i], need);
		if (rc != DAT_SUCCESS)
			return rc;
		sum += iov[i].segment_length;
		if (sum > ia->info.max_message_size)
			return DAT_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	}
	*total = sum;
	return DAT_SUCCESS;
}

void udat_copy_iov(struct dat_sge *sge, DAT_COUNT n, const DAT_LMR_TRIPLET *iov)
{
	DAT_COUNT i;

	for (i = 0; i < n; i++) {
		sge[i].addr = iov[i].virtual_address;
		sge[i].lmr = iov[i].lmr_context;
		sge[i].len = (uint32_t)iov[i].segment_length;
	}
}

/* Shorten the list of segments to @bytes bytes in total. */
static void trim_sge(struct dat_sge *sge, DAT_COUNT n, uint64_t bytes)
{
	DAT_COUNT i;

	for (i = 0; i < n; i++) {
		if (sge[i].len > bytes)
			sge[i].len = (uint32_t)bytes;
		bytes -= sge[i].len;
	}
}

/*
 * struct request - parameters of a request
 * @op: enum dat_op
 * @n, @iov: number and array of the local segments
 * @cookie: consumer's cookie
 * @flags: completion flags
 * @remote: memory of the peer, or NULL for a send
 * @length: number of bytes to transfer
 * @immed: immediate data, or NULL
 */
struct request {
	uint8_t			op;
	DAT_COUNT		n;
	const DAT_LMR_TRIPLET	*iov;
	uint64_t		cookie;
	DAT_COMPLETION_FLAGS	flags;
	const DAT_RMR_TRIPLET	*remote;
	uint64_t		length;
	const DAT_UINT32	*immed;
};

/*
 * Returns whether the data go into the entry.  A read has none.  With BARRIER_FENCE, an earlier
 * read may still have to bring the data.  The consumer has asked for inline data, so the data are
 * where the program can read them.
 */
static int goes_inline(const struct udat_ep *ep, const struct request *r)
{
	return r->length <= ep->want.max_inline && r->length && r->op != DAT_OP_RDMA_READ &&
	       !(r->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG);
}

/*
 * Copy the data of a request to @to, which has room for @r->length bytes.  Returns whether there
 * were that many: another thread of the program may change the IOV.
 */
static int gather(char *to, const struct request *r)
{
	uint64_t left = r->length, len;
	DAT_COUNT i;

	for (i = 0; i < r->n; i++) {
		len = r->iov[i].segment_length;
		if (!len)
			continue;
		if (len > left)
			return 0;
		memcpy(to, (const void *)(uintptr_t)r->iov[i].virtual_address, len);
		to += len;
		left -= len;
	}
	return !left;
}

/* @data: bytes of the request that go into the entry, or NULL */
static void request_write(struct udat_ep *ep, const struct request *r, const char *data)
{
	struct dat_sqe *sqe = du_queue_entry(&ep->sq);
	struct dat_sge *sge = (struct dat_sge *)(sqe + 1);

	*sqe = (struct dat_sqe) {
		.opcode = r->op, .num_sge = (uint8_t)r->n, .cookie = r->cookie,
		.flags = (uint16_t)(r->flags & ~DAT_LINUX_COMPLETION_MORE_FLAG),
	};
	if (r->immed) {
		sqe->flags |= DAT_SQE_IMM;
		sqe->imm = *r->immed;
	}
	if (r->remote) {
		sqe->rkey = r->remote->rmr_context;
		sqe->raddr = r->remote->target_address;
	}
	if (data && goes_inline(ep, r)) {
		sqe->num_sge = 0;
		sqe->inline_len = (uint16_t)r->length;
		memcpy(sqe + 1, data, r->length);
		return;
	}
	udat_copy_iov(sge, r->n, r->iov);
	if (r->op == DAT_OP_RDMA_READ)
		trim_sge(sge, r->n, r->length);
}

DAT_RETURN udat_kick_error(const struct udat_ia *ia)
{
	return dat_err_from_errno(-du_file_result(&ia->file, -errno));
}

static DAT_RETURN request_post(struct udat_ep *ep, const struct request *r)
{
	DAT_EP_STATE state = udat_ep_state(ep);
	/* A disconnected EP flushes each request at once. */
	int more = r->flags & DAT_LINUX_COMPLETION_MORE_FLAG && state == DAT_EP_STATE_CONNECTED;
	DAT_RETURN rc = DAT_SUCCESS;
	char buf[DAT_MAX_INLINE];
	const char *data;

	if (state != DAT_EP_STATE_CONNECTED && state != DAT_EP_STATE_DISCONNECTED)
		return udat_state_error(state);
	/* Read the program's memory without the lock, because a page fault may take long. */
	data = goes_inline(ep, r) && gather(buf, r) ? buf : NULL;
	du_lock(&ep->sq.lock);
	if (du_queue_full(&ep->sq)) {
		rc = DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	} else {
		request_write(ep, r, data);
		if (du_queue_push(&ep->sq, more))
			rc = udat_kick_error(ep->obj.ia);
	}
	du_unlock(&ep->sq.lock);
	return rc;
}

static int flags_bad(const struct udat_ep *ep, DAT_COMPLETION_FLAGS flags,
		     DAT_COMPLETION_FLAGS allowed)
{
	if (!(ep->attr.request_completion_flags & DAT_COMPLETION_UNSIGNALLED_FLAG))
		allowed &= ~DAT_COMPLETION_UNSIGNALLED_FLAG;
	return flags & ~allowed;
}

#define RDMA_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG | DAT_LINUX_COMPLETION_MORE_FLAG)
#define SEND_FLAGS	(RDMA_FLAGS | DAT_COMPLETION_SOLICITED_WAIT_FLAG)

/* Post a send.  @bad_flags: code for flags that are not allowed. */
static DAT_RETURN send_post(struct udat_ep *ep, struct request *r, DAT_RETURN bad_flags)
{
	DAT_RETURN rc;

	if (r->n < 0 || r->n > ep->attr.max_request_iov)
		return IP(2);
	if (flags_bad(ep, r->flags, SEND_FLAGS))
		return bad_flags;
	rc = udat_check_iov(ep->obj.ia, ep->pz, r->n, r->iov, 0, &r->length);
	if (rc == DAT_SUCCESS && r->length > ep->attr.max_message_size)
		rc = DAT_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	return rc == DAT_SUCCESS ? request_post(ep, r) : rc;
}

UDAT_EXPORT DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					DAT_COMPLETION_FLAGS flags)
{
	struct udat_ep *ep = udat_ep(ep_handle);
	struct request r = {
		.op = DAT_OP_SEND, .n = num_segments, .iov = local_iov,
		.cookie = user_cookie.as_64, .flags = flags,
	};

	UDAT_FORWARD(ep_handle, ep_post_send, num_segments, local_iov, user_cookie, flags);
	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return send_post(ep, &r, IP(5));
}

UDAT_EXPORT DAT_RETURN dat_linux_ep_post_send_immed(DAT_EP_HANDLE ep_handle,
						    DAT_COUNT num_segments,
						    DAT_LMR_TRIPLET *local_iov,
						    DAT_DTO_COOKIE user_cookie,
						    DAT_UINT32 immed_data,
						    DAT_COMPLETION_FLAGS flags)
{
	struct udat_ep *ep = udat_ep(ep_handle);
	struct request r = {
		.op = DAT_OP_SEND, .n = num_segments, .iov = local_iov,
		.cookie = user_cookie.as_64, .flags = flags, .immed = &immed_data,
	};

	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!ep->want.immediate)
		return DAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return send_post(ep, &r, IP(6));
}

static DAT_RETURN rdma_post(struct udat_ep *ep, struct request *r, DAT_COUNT max_iov,
			    DAT_MEM_PRIV_FLAGS need)
{
	/* A write with immediate data completes a receive of the peer, as a send does. */
	DAT_COMPLETION_FLAGS allowed = r->immed ? SEND_FLAGS : RDMA_FLAGS;
	uint64_t local;
	DAT_RETURN rc;

	if (r->n < 0 || r->n > max_iov)
		return IP(2);
	if (!r->remote)
		return IP(5);
	if (flags_bad(ep, r->flags, allowed))
		return r->immed ? IP(7) : IP(6);
	rc = udat_check_iov(ep->obj.ia, ep->pz, r->n, r->iov, need, &local);
	if (rc != DAT_SUCCESS)
		return rc;
	r->length = r->op == DAT_OP_RDMA_READ ? r->remote->segment_length : local;
	if (r->op == DAT_OP_RDMA_READ ? local < r->length : r->remote->segment_length < local)
		return DAT_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (r->length > ep->attr.max_rdma_size)
		return DAT_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	return request_post(ep, r);
}

UDAT_EXPORT DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					     DAT_LMR_TRIPLET *local_iov,
					     DAT_DTO_COOKIE user_cookie,
					     const DAT_RMR_TRIPLET *remote_buffer,
					     DAT_COMPLETION_FLAGS flags)
{
	struct udat_ep *ep = udat_ep(ep_handle);
	struct request r = {
		.op = DAT_OP_RDMA_READ, .n = num_segments, .iov = local_iov,
		.cookie = user_cookie.as_64, .flags = flags, .remote = remote_buffer,
	};

	UDAT_FORWARD(ep_handle, ep_post_rdma_read, num_segments, local_iov, user_cookie,
		     remote_buffer, flags);
	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return rdma_post(ep, &r, ep->attr.max_rdma_read_iov, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
}

UDAT_EXPORT DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					      DAT_LMR_TRIPLET *local_iov,
					      DAT_DTO_COOKIE user_cookie,
					      const DAT_RMR_TRIPLET *remote_buffer,
					      DAT_COMPLETION_FLAGS flags)
{
	struct udat_ep *ep = udat_ep(ep_handle);
	struct request r = {
		.op = DAT_OP_RDMA_WRITE, .n = num_segments, .iov = local_iov,
		.cookie = user_cookie.as_64, .flags = flags, .remote = remote_buffer,
	};

	UDAT_FORWARD(ep_handle, ep_post_rdma_write, num_segments, local_iov, user_cookie,
		     remote_buffer, flags);
	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return rdma_post(ep, &r, ep->attr.max_rdma_write_iov, 0);
}

UDAT_EXPORT DAT_RETURN dat_linux_ep_post_rdma_write_immed(DAT_EP_HANDLE ep_handle,
							  DAT_COUNT num_segments,
							  DAT_LMR_TRIPLET *local_iov,
							  DAT_DTO_COOKIE user_cookie,
							  const DAT_RMR_TRIPLET *remote_buffer,
							  DAT_UINT32 immed_data,
							  DAT_COMPLETION_FLAGS flags)
{
	struct udat_ep *ep = udat_ep(ep_handle);
	struct request r = {
		.op = DAT_OP_RDMA_WRITE, .n = num_segments, .iov = local_iov,
		.cookie = user_cookie.as_64, .flags = flags, .remote = remote_buffer,
		.immed = &immed_data,
	};

	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!ep->want.immediate)
		return DAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return rdma_post(ep, &r, ep->attr.max_rdma_write_iov, 0);
}

static void recv_write(struct udat_ep *ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
		       uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	struct dat_rqe *rqe = du_queue_entry(&ep->rq);

	*rqe = (struct dat_rqe) {
		.cookie = cookie, .num_sge = (uint8_t)n, .flags = (uint16_t)flags,
	};
	udat_copy_iov((struct dat_sge *)(rqe + 1), n, iov);
}

UDAT_EXPORT DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					DAT_COMPLETION_FLAGS flags)
{
	struct udat_ep *ep = udat_ep(ep_handle);
	uint64_t total;
	DAT_RETURN rc;

	UDAT_FORWARD(ep_handle, ep_post_recv, num_segments, local_iov, user_cookie, flags);
	/* Refuse an EP with an SRQ, because such an EP has no receive queue. */
	if (!ep || ep->srq)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	/*
	 * An EP that the library made for a request has no receive queue until the consumer sets a
	 * zone.
	 */
	if (!ep->obj.id)
		return DAT_ERR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE);
	if (num_segments < 0 || num_segments > ep->attr.max_recv_iov)
		return IP(2);
	if (flags & ~(ep->attr.recv_completion_flags & DAT_COMPLETION_UNSIGNALLED_FLAG))
		return IP(5);
	rc = udat_check_iov(ep->obj.ia, ep->pz, num_segments, local_iov,
			    DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &total);
	if (rc != DAT_SUCCESS)
		return rc;
	du_lock(&ep->rq.lock);
	if (du_queue_full(&ep->rq)) {
		rc = DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	} else {
		recv_write(ep, num_segments, local_iov, user_cookie.as_64, flags);
		if (du_queue_push(&ep->rq, 0))
			rc = udat_kick_error(ep->obj.ia);
	}
	du_unlock(&ep->rq.lock);
	return rc;
}
