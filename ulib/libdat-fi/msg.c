// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Messages of endpoints, and posts of all requests. */
#include <string.h>

#include "fdat.h"

uint64_t fdat_segments(DAT_LMR_TRIPLET *to, const struct iovec *iov, void **desc, size_t count)
{
	uint64_t total = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		to[i].lmr_context = desc ? (DAT_LMR_CONTEXT)(uintptr_t)desc[i] : 0;
		to[i].pad = 0;
		to[i].virtual_address = (uintptr_t)iov[i].iov_base;
		to[i].segment_length = iov[i].iov_len;
		total += iov[i].iov_len;
	}
	return total;
}

/* ---- Requests ---- */

/* Copy the data of an injected request to the memory of its place, and make that the segment. */
static ssize_t inject(struct fdat_ep *ep, const struct fdat_op *op, const struct fdat_request *r,
		      DAT_LMR_TRIPLET *seg)
{
	uint8_t *to = ep->bounce + (size_t)(op - ep->tx.ops) * FDAT_INJECT;
	size_t i, len = 0;

	for (i = 0; i < r->count; i++) {
		if (r->iov[i].iov_len > FDAT_INJECT - len)
			return -FI_EMSGSIZE;
		if (r->iov[i].iov_len)
			memcpy(to + len, r->iov[i].iov_base, r->iov[i].iov_len);
		len += r->iov[i].iov_len;
	}
	seg->lmr_context = ep->bounce_ctx;
	seg->pad = 0;
	seg->virtual_address = (uintptr_t)to;
	seg->segment_length = len;
	return 1;
}

/*
 * Decide whether a success of the next request has an event.  What the program does not want is
 * suppressed, but not for half of the ring: an event has to free the places.
 */
static unsigned int dat_flags(struct fdat_ring *ring, const struct fdat_op *op, uint64_t op_flags)
{
	uint32_t used = ring->head - __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
	unsigned int flags = DAT_COMPLETION_DEFAULT_FLAG;

	if (!op->report && ring->head + 1 - ring->signalled < ring->limit / 2)
		flags |= DAT_COMPLETION_SUPPRESS_FLAG;
	if (op_flags & FI_FENCE)
		flags |= DAT_COMPLETION_BARRIER_FENCE_FLAG;
	/* The last place that is free: the program can't post what would follow. */
	if (op_flags & FI_MORE && used + 1 < ring->limit)
		flags |= DAT_LINUX_COMPLETION_MORE_FLAG;
	return flags;
}

static DAT_RETURN post(struct fdat_ep *ep, const struct fdat_op *op, const struct fdat_request *r,
		       DAT_LMR_TRIPLET *seg, ssize_t n, unsigned int flags)
{
	DAT_DTO_COOKIE cookie = { .as_ptr = (void *)op };
	DAT_COMPLETION_FLAGS f = (DAT_COMPLETION_FLAGS)flags;
	int immediate = !!(r->op_flags & FI_REMOTE_CQ_DATA);
	DAT_UINT32 data = (DAT_UINT32)r->data;
	DAT_RMR_TRIPLET remote;

	if (!r->remote && immediate)
		return dat_linux_ep_post_send_immed(ep->handle, (DAT_COUNT)n, seg, cookie, data, f);
	if (!r->remote)
		return dat_ep_post_send(ep->handle, (DAT_COUNT)n, seg, cookie, f);
	remote.rmr_context = (DAT_RMR_CONTEXT)r->remote->key;
	remote.pad = 0;
	remote.target_address = r->remote->addr;
	remote.segment_length = r->remote->len;
	if (r->flags & FI_READ)
		return dat_ep_post_rdma_read(ep->handle, (DAT_COUNT)n, seg, cookie, &remote, f);
	if (immediate)
		return dat_linux_ep_post_rdma_write_immed(ep->handle, (DAT_COUNT)n, seg, cookie,
							  &remote, data, f);
	return dat_ep_post_rdma_write(ep->handle, (DAT_COUNT)n, seg, cookie, &remote, f);
}

static ssize_t post_locked(struct fdat_ep *ep, const struct fdat_request *r)
{
	struct fdat_op *op = fdat_ring_next(&ep->tx, ep->tx_cq);
	DAT_LMR_TRIPLET seg[FDAT_MAX_IOV];
	ssize_t n = (ssize_t)r->count;
	unsigned int flags;
	int ret;

	if (!op)
		return -FI_EAGAIN;
	op->context = r->context;
	op->flags = r->flags;
	op->inject = !!(r->op_flags & FDAT_NO_CONTEXT);
	op->report = !op->inject && (!ep->tx_selective || r->op_flags & FI_COMPLETION);
	if (r->op_flags & FI_INJECT)
		n = inject(ep, op, r, seg);
	else
		fdat_segments(seg, r->iov, r->desc, r->count);
	if (n < 0)
		return n;
	flags = dat_flags(&ep->tx, op, r->op_flags);
	ret = fdat_post_error(post(ep, op, r, seg, n, flags));
	if (ret)
		return ret;
	ep->tx.head++;
	if (!(flags & DAT_COMPLETION_SUPPRESS_FLAG))
		ep->tx.signalled = ep->tx.head;
	return 0;
}

ssize_t fdat_post(struct fdat_ep *ep, const struct fdat_request *r)
{
	ssize_t ret;

	if (!ep->handle)
		return -FI_EOPBADSTATE;
	if (!ep->tx.ops || (r->op_flags & FI_REMOTE_CQ_DATA && !ep->immediate))
		return -FI_EOPNOTSUPP;
	if (r->count > FDAT_MAX_IOV)
		return -FI_EINVAL;
	pthread_mutex_lock(&ep->lock);
	ret = post_locked(ep, r);
	pthread_mutex_unlock(&ep->lock);
	return ret;
}

/* ---- Sends ---- */

#define SEND_FLAGS	(FI_COMPLETION | FI_MORE | FI_INJECT | FI_FENCE | FI_INJECT_COMPLETE | \
			 FI_TRANSMIT_COMPLETE | FI_REMOTE_CQ_DATA)

static struct fdat_ep *to_ep(struct fid_ep *fid)
{
	return fdat_of(fid, struct fdat_ep, ep);
}

static ssize_t send_iov(struct fdat_ep *ep, const struct iovec *iov, void **desc, size_t count,
			void *context, uint64_t data, uint64_t op_flags)
{
	struct fdat_request r = {
		.iov = iov, .desc = desc, .count = count, .context = context, .data = data,
		.op_flags = op_flags, .flags = FI_SEND | FI_MSG,
	};

	return fdat_post(ep, &r);
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t to, void *context)
{
	struct fdat_ep *ep = to_ep(fid);

	(void)to;
	return send_iov(ep, iov, desc, count, context, 0, ep->tx_flags);
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t to,
			void *context)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };

	return msg_sendv(fid, &iov, &desc, 1, to, context);
}

static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	if (flags & ~SEND_FLAGS)
		return -FI_EBADFLAGS;
	return send_iov(to_ep(fid), msg->msg_iov, msg->desc, msg->iov_count, msg->context,
			msg->data, flags);
}

static ssize_t msg_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t to)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };

	(void)to;
	return send_iov(to_ep(fid), &iov, NULL, 1, NULL, 0, FI_INJECT | FDAT_NO_CONTEXT);
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			    uint64_t data, fi_addr_t to, void *context)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };
	struct fdat_ep *ep = to_ep(fid);

	(void)to;
	return send_iov(ep, &iov, &desc, 1, context, data, ep->tx_flags | FI_REMOTE_CQ_DATA);
}

static ssize_t msg_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			      fi_addr_t to)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };

	(void)to;
	return send_iov(to_ep(fid), &iov, NULL, 1, NULL, data,
			FI_INJECT | FDAT_NO_CONTEXT | FI_REMOTE_CQ_DATA);
}

/* ---- Receives ---- */

static ssize_t recv_locked(struct fdat_ep *ep, const struct iovec *iov, void **desc, size_t count,
			   void *context, uint64_t op_flags)
{
	struct fdat_op *op = fdat_ring_next(&ep->rx, ep->rx_cq);
	DAT_DTO_COOKIE cookie = { .as_ptr = op };
	DAT_LMR_TRIPLET seg[FDAT_MAX_IOV];
	int ret;

	if (!op)
		return -FI_EAGAIN;
	op->context = context;
	op->flags = FI_RECV | FI_MSG;
	op->report = !ep->rx_selective || op_flags & FI_COMPLETION;
	fdat_segments(seg, iov, desc, count);
	ret = fdat_post_error(dat_ep_post_recv(ep->handle, (DAT_COUNT)count, seg, cookie,
					       DAT_COMPLETION_DEFAULT_FLAG));
	if (!ret)
		ep->rx.head++;
	return ret;
}

static ssize_t recv_iov(struct fdat_ep *ep, const struct iovec *iov, void **desc, size_t count,
			void *context, uint64_t op_flags)
{
	ssize_t ret;

	if (!ep->handle)
		return -FI_EOPBADSTATE;
	/* The buffers are those of the shared receive context. */
	if (!ep->rx.ops)
		return -FI_EOPNOTSUPP;
	if (count > FDAT_MAX_IOV)
		return -FI_EINVAL;
	pthread_mutex_lock(&ep->lock);
	ret = recv_locked(ep, iov, desc, count, context, op_flags);
	pthread_mutex_unlock(&ep->lock);
	return ret;
}

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t from, void *context)
{
	struct fdat_ep *ep = to_ep(fid);

	(void)from;
	return recv_iov(ep, iov, desc, count, context, ep->rx_flags);
}

static ssize_t msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t from,
			void *context)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };

	return msg_recvv(fid, &iov, &desc, 1, from, context);
}

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	if (flags & ~(FI_COMPLETION | FI_MORE))
		return -FI_EBADFLAGS;
	return recv_iov(to_ep(fid), msg->msg_iov, msg->desc, msg->iov_count, msg->context, flags);
}

struct fi_ops_msg fdat_msg_ops = {
	.size = sizeof(fdat_msg_ops),
	.recv = msg_recv,
	.recvv = msg_recvv,
	.recvmsg = msg_recvmsg,
	.send = msg_send,
	.sendv = msg_sendv,
	.sendmsg = msg_sendmsg,
	.inject = msg_inject,
	.senddata = msg_senddata,
	.injectdata = msg_injectdata,
};
