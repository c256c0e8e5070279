// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Reads and writes of the peer's memory. */
#include "fdat.h"

/*
 * FI_DELIVERY_COMPLETE asks for no more than there is, as in libfabric's provider for verbs: a
 * message that follows tells the peer's program of the data.  Layers above pass it on.
 */
#define RMA_FLAGS	(FI_COMPLETION | FI_MORE | FI_FENCE | FI_INJECT_COMPLETE | \
			 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define WRITE_FLAGS	(RMA_FLAGS | FI_INJECT | FI_REMOTE_CQ_DATA)

static struct fdat_ep *to_ep(struct fid_ep *fid)
{
	return fdat_of(fid, struct fdat_ep, ep);
}

static uint64_t total(const struct iovec *iov, size_t count)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < count; i++)
		sum += iov[i].iov_len;
	return sum;
}

static ssize_t rma(struct fdat_ep *ep, const struct fi_msg_rma *msg, uint64_t op_flags,
		   uint64_t direction)
{
	struct fdat_request r = {
		.iov = msg->msg_iov, .desc = msg->desc, .count = msg->iov_count,
		.remote = msg->rma_iov, .context = msg->context, .data = msg->data,
		.op_flags = op_flags, .flags = FI_RMA | direction,
	};

	if (msg->rma_iov_count != 1 || msg->rma_iov->key > UINT32_MAX)
		return -FI_EINVAL;
	/* A read has no data of its own, which the endpoint's default flags could have copied. */
	if (direction == FI_READ)
		r.op_flags &= ~FI_INJECT;
	return fdat_post(ep, &r);
}

static ssize_t rma_iov(struct fdat_ep *ep, const struct iovec *iov, void **desc, size_t count,
		       const struct fi_rma_iov *remote, void *context, uint64_t direction)
{
	struct fi_msg_rma msg = {
		.msg_iov = iov, .desc = desc, .iov_count = count, .rma_iov = remote,
		.rma_iov_count = 1, .context = context,
	};

	return rma(ep, &msg, ep->tx_flags, direction);
}

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t from, uint64_t addr, uint64_t key, void *context)
{
	struct fi_rma_iov remote = { .addr = addr, .len = total(iov, count), .key = key };

	(void)from;
	return rma_iov(to_ep(fid), iov, desc, count, &remote, context, FI_READ);
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t from,
			uint64_t addr, uint64_t key, void *context)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };

	return rma_readv(fid, &iov, &desc, 1, from, addr, key, context);
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	if (flags & ~RMA_FLAGS)
		return -FI_EBADFLAGS;
	return rma(to_ep(fid), msg, flags, FI_READ);
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t to, uint64_t addr, uint64_t key, void *context)
{
	struct fi_rma_iov remote = { .addr = addr, .len = total(iov, count), .key = key };

	(void)to;
	return rma_iov(to_ep(fid), iov, desc, count, &remote, context, FI_WRITE);
}

static ssize_t rma_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	if (flags & ~WRITE_FLAGS)
		return -FI_EBADFLAGS;
	return rma(to_ep(fid), msg, flags, FI_WRITE);
}

/* Write @len bytes with @op_flags. */
static ssize_t write_buf(struct fdat_ep *ep, const void *buf, size_t len, void *desc,
			 uint64_t data, uint64_t addr, uint64_t key, void *context,
			 uint64_t op_flags)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };
	struct fi_rma_iov remote = { .addr = addr, .len = len, .key = key };
	struct fi_msg_rma msg = {
		.msg_iov = &iov, .desc = &desc, .iov_count = 1, .rma_iov = &remote,
		.rma_iov_count = 1, .context = context, .data = data,
	};

	return rma(ep, &msg, op_flags, FI_WRITE);
}

static ssize_t rma_write(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t to,
			 uint64_t addr, uint64_t key, void *context)
{
	struct fdat_ep *ep = to_ep(fid);

	(void)to;
	return write_buf(ep, buf, len, desc, 0, addr, key, context, ep->tx_flags);
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t to,
			  uint64_t addr, uint64_t key)
{
	(void)to;
	return write_buf(to_ep(fid), buf, len, NULL, 0, addr, key, NULL,
			 FI_INJECT | FDAT_NO_CONTEXT);
}

static ssize_t rma_writedata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			     uint64_t data, fi_addr_t to, uint64_t addr, uint64_t key,
			     void *context)
{
	struct fdat_ep *ep = to_ep(fid);

	(void)to;
	return write_buf(ep, buf, len, desc, data, addr, key, context,
			 ep->tx_flags | FI_REMOTE_CQ_DATA);
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			      fi_addr_t to, uint64_t addr, uint64_t key)
{
	(void)to;
	return write_buf(to_ep(fid), buf, len, NULL, data, addr, key, NULL,
			 FI_INJECT | FDAT_NO_CONTEXT | FI_REMOTE_CQ_DATA);
}

struct fi_ops_rma fdat_rma_ops = {
	.size = sizeof(fdat_rma_ops),
	.read = rma_read,
	.readv = rma_readv,
	.readmsg = rma_readmsg,
	.write = rma_write,
	.writev = rma_writev,
	.writemsg = rma_writemsg,
	.inject = rma_inject,
	.writedata = rma_writedata,
	.injectdata = rma_injectdata,
};
