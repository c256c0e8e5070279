// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Shared receive contexts: SRQs. */
#include <stdlib.h>

#include "fdat.h"

static struct fdat_srx *to_srx(fid_t fid)
{
	return fdat_of(fid, struct fdat_srx, ep.fid);
}

void fdat_srx_release(struct fdat_op *op)
{
	struct fdat_srx *srx = op->srx;

	pthread_mutex_lock(&srx->lock);
	op->next = srx->free;
	srx->free = op;
	pthread_mutex_unlock(&srx->lock);
}

int fdat_srx_selective(struct fdat_srx *srx, int selective)
{
	int differs;

	pthread_mutex_lock(&srx->lock);
	if (srx->selective < 0)
		srx->selective = selective;
	differs = srx->selective != selective;
	pthread_mutex_unlock(&srx->lock);
	if (!differs)
		return 0;
	fdat_info(EP_CTRL, "endpoints of one SRX differ in FI_SELECTIVE_COMPLETION\n");
	return -FI_EINVAL;
}

/* ---- Receives ---- */

static ssize_t recv_locked(struct fdat_srx *srx, const struct iovec *iov, void **desc,
			   size_t count, void *context, uint64_t op_flags)
{
	struct fdat_op *op = srx->free;
	DAT_DTO_COOKIE cookie = { .as_ptr = op };
	DAT_LMR_TRIPLET seg[FDAT_MAX_IOV];
	int ret;

	if (!op)
		return -FI_EAGAIN;
	op->context = context;
	op->report = !!(op_flags & FI_COMPLETION);
	fdat_segments(seg, iov, desc, count);
	/* The message may arrive before this returns, and the place may be put back. */
	srx->free = op->next;
	ret = fdat_post_error(dat_srq_post_recv(srx->srq, (DAT_COUNT)count, seg, cookie));
	if (ret) {
		op->next = srx->free;
		srx->free = op;
	}
	return ret;
}

static ssize_t recv_iov(struct fdat_srx *srx, const struct iovec *iov, void **desc, size_t count,
			void *context, uint64_t op_flags)
{
	ssize_t ret;

	if (count > srx->iov_limit)
		return -FI_EINVAL;
	pthread_mutex_lock(&srx->lock);
	ret = recv_locked(srx, iov, desc, count, context, op_flags);
	pthread_mutex_unlock(&srx->lock);
	return ret;
}

static ssize_t srx_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t from, void *context)
{
	struct fdat_srx *srx = to_srx(&fid->fid);

	(void)from;
	return recv_iov(srx, iov, desc, count, context, srx->op_flags);
}

static ssize_t srx_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t from,
			void *context)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };

	return srx_recvv(fid, &iov, &desc, 1, from, context);
}

static ssize_t srx_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	if (flags & ~(FI_COMPLETION | FI_MORE))
		return -FI_EBADFLAGS;
	return recv_iov(to_srx(&fid->fid), msg->msg_iov, msg->desc, msg->iov_count, msg->context,
			flags);
}

static struct fi_ops_msg srx_msg_ops = {
	.size = sizeof(srx_msg_ops),
	.recv = srx_recv,
	.recvv = srx_recvv,
	.recvmsg = srx_recvmsg,
	.send = fdat_no_send,
	.sendv = fdat_no_sendv,
	.sendmsg = fdat_no_sendmsg,
	.inject = fdat_no_inject,
	.senddata = fdat_no_senddata,
	.injectdata = fdat_no_injectdata,
};

/* ---- Objects ---- */

static int srx_close(struct fid *fid)
{
	struct fdat_srx *srx = to_srx(fid);
	int ret;

	if (fdat_refs(&srx->refs))
		return -FI_EBUSY;
	ret = fdat_error(dat_srq_free(srx->srq));
	if (ret)
		return ret == -FI_EOPBADSTATE ? -FI_EBUSY : ret;
	pthread_mutex_destroy(&srx->lock);
	fdat_unref(&srx->domain->refs);
	free(srx->ops);
	free(srx);
	return 0;
}

static int srx_control(struct fid *fid, int command, void *arg)
{
	(void)fid;
	(void)arg;
	/* An SRX is usable from fi_srx_context() on. */
	return command == FI_ENABLE ? 0 : -FI_ENOSYS;
}

static struct fi_ops srx_fid_ops = {
	.size = sizeof(srx_fid_ops),
	.close = srx_close,
	.bind = fdat_no_bind,
	.control = srx_control,
	FDAT_NO_FID_OPS,
};

static struct fi_ops_ep srx_ops = {
	.size = sizeof(srx_ops),
	.cancel = fdat_no_cancel,
	.getopt = fdat_no_getopt,
	.setopt = fdat_no_setopt,
	.tx_ctx = fdat_no_tx_ctx,
	.rx_ctx = fdat_no_rx_ctx,
	.rx_size_left = fdat_no_size_left,
	.tx_size_left = fdat_no_size_left,
};

static int srx_places(struct fdat_srx *srx)
{
	size_t i;

	srx->ops = calloc(srx->size, sizeof(*srx->ops));
	if (!srx->ops)
		return -FI_ENOMEM;
	for (i = 0; i < srx->size; i++) {
		srx->ops[i].srx = srx;
		srx->ops[i].flags = FI_RECV | FI_MSG;
		srx->ops[i].next = srx->free;
		srx->free = &srx->ops[i];
	}
	return 0;
}

static int srx_create(struct fdat_srx *srx, const struct fi_rx_attr *attr)
{
	const DAT_IA_ATTR *limits = &srx->domain->ia->attr;
	DAT_SRQ_ATTR want = { .low_watermark = DAT_SRQ_LW_DEFAULT };
	int ret;

	if (limits->max_srqs <= 0)
		return -FI_ENOSYS;
	srx->size = attr && attr->size ? attr->size : FDAT_SRX_DEPTH;
	srx->iov_limit = fdat_rx_iov_max(srx->domain->ia);
	if (attr && attr->iov_limit > srx->iov_limit)
		return -FI_EINVAL;
	if (srx->iov_limit > FDAT_IOV)
		srx->iov_limit = FDAT_IOV;
	if (attr && attr->iov_limit)
		srx->iov_limit = attr->iov_limit;
	if (srx->size > (size_t)limits->max_recv_per_srq)
		srx->size = (size_t)limits->max_recv_per_srq;
	ret = srx_places(srx);
	if (ret)
		return ret;
	want.max_recv_dtos = (DAT_COUNT)srx->size;
	want.max_recv_iov = fdat_parts(srx->domain->ia, srx->iov_limit);
	ret = fdat_error(dat_srq_create(srx->domain->ia->handle, srx->domain->pz, &want,
					&srx->srq));
	if (ret)
		free(srx->ops);
	return ret;
}

int fdat_srx_open(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **out,
		  void *context)
{
	struct fdat_srx *srx = calloc(1, sizeof(*srx));
	int ret;

	if (!srx)
		return -FI_ENOMEM;
	srx->domain = fdat_of(domain, struct fdat_domain, domain);
	srx->selective = -1;
	srx->op_flags = attr ? attr->op_flags : 0;
	ret = srx_create(srx, attr);
	if (ret) {
		free(srx);
		return ret;
	}
	pthread_mutex_init(&srx->lock, NULL);
	fdat_ref(&srx->domain->refs);
	srx->ep.fid.fclass = FI_CLASS_SRX_CTX;
	srx->ep.fid.context = context;
	srx->ep.fid.ops = &srx_fid_ops;
	srx->ep.ops = &srx_ops;
	srx->ep.cm = &fdat_no_cm_ops;
	srx->ep.msg = &srx_msg_ops;
	srx->ep.rma = &fdat_no_rma_ops;
	srx->ep.tagged = &fdat_no_tagged_ops;
	srx->ep.atomic = &fdat_no_atomic_ops;
	srx->ep.collective = &fdat_no_collective_ops;
	*out = &srx->ep;
	return 0;
}
