// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Endpoints: what they are bound to, their life and their options. */
#include <stdlib.h>
#include <string.h>

#include "fdat.h"
#include "hints.h"

static struct fdat_ep *to_ep(fid_t fid)
{
	return fdat_of(fid, struct fdat_ep, ep.fid);
}

/* ---- Bindings ---- */

static int bind_cq(struct fdat_ep *ep, struct fdat_cq *cq, uint64_t flags)
{
	int selective = !!(flags & FI_SELECTIVE_COMPLETION);

	if (flags & ~(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION))
		return -FI_EBADFLAGS;
	if (!(flags & (FI_TRANSMIT | FI_RECV)) || cq->domain != ep->domain ||
	    (flags & FI_TRANSMIT && ep->tx_cq) || (flags & FI_RECV && ep->rx_cq))
		return -FI_EINVAL;
	if (flags & FI_TRANSMIT) {
		ep->tx_cq = cq;
		ep->tx_selective = selective;
		fdat_ref(&cq->refs);
	}
	if (flags & FI_RECV) {
		ep->rx_cq = cq;
		ep->rx_selective = selective;
		fdat_ref(&cq->refs);
	}
	return 0;
}

static int ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct fdat_ep *ep = to_ep(fid);

	if (ep->handle)
		return -FI_EOPBADSTATE;
	switch (bfid->fclass) {
	case FI_CLASS_CQ:
		return bind_cq(ep, fdat_of(bfid, struct fdat_cq, cq.fid), flags);
	case FI_CLASS_EQ:
		if (ep->eq)
			return -FI_EINVAL;
		ep->eq = fdat_of(bfid, struct fdat_eq, eq.fid);
		fdat_ref(&ep->eq->refs);
		return 0;
	case FI_CLASS_SRX_CTX:
		if (ep->srx || fdat_of(bfid, struct fdat_srx, ep.fid)->domain != ep->domain)
			return -FI_EINVAL;
		ep->srx = fdat_of(bfid, struct fdat_srx, ep.fid);
		fdat_ref(&ep->srx->refs);
		return 0;
	case FI_CLASS_CNTR:
	case FI_CLASS_STX_CTX:
		return -FI_ENOSYS;
	default:
		return -FI_EINVAL;
	}
}

static void unbind(struct fdat_ep *ep)
{
	if (ep->srx)
		fdat_unref(&ep->srx->refs);
	if (ep->eq)
		fdat_unref(&ep->eq->refs);
	if (ep->rx_cq)
		fdat_unref(&ep->rx_cq->refs);
	if (ep->tx_cq)
		fdat_unref(&ep->tx_cq->refs);
}

/* ---- Enable ---- */

/* Make a ring, and reserve room for its events. */
static int ring_open(struct fdat_ring *ring, struct fdat_cq *cq, size_t size,
		     struct fdat_evd **evd)
{
	int ret;

	if (!cq)
		return 0;
	ret = fdat_cq_reserve(cq, size, evd);
	if (ret)
		return ret;
	ret = fdat_ring_init(ring, size);
	if (ret)
		fdat_cq_unreserve(cq, *evd, size);
	return ret;
}

static void ring_close(struct fdat_ring *ring, struct fdat_cq *cq, struct fdat_evd *evd)
{
	if (!ring->ops)
		return;
	fdat_cq_unreserve(cq, evd, ring->limit);
	fdat_ring_free(ring);
}

static int queues_open(struct fdat_ep *ep)
{
	int ret = ring_open(&ep->tx, ep->tx_cq, ep->info->tx_attr->size, &ep->tx_evd);

	if (ret)
		return ret;
	if (ep->srx && ep->rx_cq)
		ret = fdat_cq_share(ep->rx_cq, ep->srx, &ep->rx_evd);
	else if (!ep->srx)
		ret = ring_open(&ep->rx, ep->rx_cq, ep->info->rx_attr->size, &ep->rx_evd);
	if (ret)
		ring_close(&ep->tx, ep->tx_cq, ep->tx_evd);
	return ret;
}

static void queues_close(struct fdat_ep *ep)
{
	if (ep->srx && ep->rx_cq)
		fdat_cq_unshare(ep->rx_cq, ep->rx_evd, ep->srx);
	else
		ring_close(&ep->rx, ep->rx_cq, ep->rx_evd);
	ring_close(&ep->tx, ep->tx_cq, ep->tx_evd);
}

static int bounce_open(struct fdat_ep *ep)
{
	DAT_REGION_DESCRIPTION region;
	size_t size;
	int ret;

	if (!ep->tx.ops)
		return 0;
	size = ((size_t)ep->tx.mask + 1) * FDAT_INJECT;
	ep->bounce = malloc(size);
	if (!ep->bounce)
		return -FI_ENOMEM;
	region.for_va = ep->bounce;
	ret = fdat_error(dat_lmr_create(ep->domain->ia->handle, DAT_MEM_TYPE_VIRTUAL, region, size,
					ep->domain->pz, DAT_MEM_PRIV_LOCAL_READ_FLAG,
					&ep->bounce_lmr, &ep->bounce_ctx, NULL, NULL, NULL));
	if (ret) {
		free(ep->bounce);
		ep->bounce = NULL;
	}
	return ret;
}

static void bounce_close(struct fdat_ep *ep)
{
	if (!ep->bounce)
		return;
	dat_lmr_free(ep->bounce_lmr);
	free(ep->bounce);
}

static DAT_COUNT at_most(size_t n, DAT_COUNT limit)
{
	return n < (size_t)limit ? (DAT_COUNT)n : limit;
}

static int dat_ep_open(struct fdat_ep *ep)
{
	const DAT_IA_ATTR *limits = &ep->domain->ia->attr;
	const struct fi_info *info = ep->info;
	DAT_NAMED_ATTR named[] = {
		{ .name = "max_inline", .value = FDAT_INLINE },
		{ .name = "immediate_data", .value = "1" },
	};
	DAT_EVD_HANDLE rx = ep->rx_evd ? ep->rx_evd->handle : DAT_HANDLE_NULL;
	DAT_EVD_HANDLE tx = ep->tx_evd ? ep->tx_evd->handle : DAT_HANDLE_NULL;
	const struct fdat_ia *adapter = ep->domain->ia;
	DAT_IA_HANDLE ia = adapter->handle;
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = (DAT_COUNT)ep->rx.limit,
		.max_request_dtos = (DAT_COUNT)ep->tx.limit,
		.max_recv_iov = fdat_parts(adapter, info->rx_attr->iov_limit),
		.max_request_iov = fdat_parts(adapter, info->tx_attr->iov_limit),
		.max_rdma_read_in = at_most(FDAT_READS, limits->max_rdma_read_per_ep_in),
		.max_rdma_read_out = at_most(FDAT_READS, limits->max_rdma_read_per_ep_out),
		.max_rdma_read_iov = at_most(info->tx_attr->iov_limit,
					     limits->max_iov_segments_per_rdma_read),
		.srq_soft_hw = DAT_HW_DEFAULT,
		.ep_provider_specific_count = 1 + ep->immediate,
		.ep_provider_specific = named,
	};
	DAT_CONTEXT context = { .as_ptr = ep };
	int ret;

	if (ep->srx)
		ret = fdat_error(dat_ep_create_with_srq(ia, ep->domain->pz, rx, tx,
							ep->source->evd, ep->srx->srq, &attr,
							&ep->handle));
	else
		ret = fdat_error(dat_ep_create(ia, ep->domain->pz, rx, tx, ep->source->evd, &attr,
					       &ep->handle));
	if (!ret)
		dat_set_consumer_context(ep->handle, context);
	return ret;
}

static int enable_locked(struct fdat_ep *ep)
{
	int ret = fdat_eq_connections(ep->eq, ep->domain->ia, &ep->source);

	if (ret)
		return ret;
	ret = dat_ep_open(ep);
	if (ret) {
		fdat_eq_unreserve(ep->eq, ep->source);
		ep->handle = DAT_HANDLE_NULL;
	}
	return ret;
}

static int ep_enable(struct fdat_ep *ep)
{
	int ret;

	if (ep->handle)
		return -FI_EOPBADSTATE;
	if (!ep->eq)
		return -FI_ENOEQ;
	if ((!ep->tx_cq && ep->info->caps & (FI_SEND | FI_READ | FI_WRITE)) ||
	    (!ep->rx_cq && ep->info->caps & FI_RECV))
		return -FI_ENOCQ;
	if (ep->srx && ep->rx_cq) {
		ret = fdat_srx_selective(ep->srx, ep->rx_selective);
		if (ret)
			return ret;
	}
	ret = queues_open(ep);
	if (ret)
		return ret;
	ret = bounce_open(ep);
	if (ret)
		goto err_queues;
	pthread_mutex_lock(&ep->eq->lock);
	ret = enable_locked(ep);
	pthread_mutex_unlock(&ep->eq->lock);
	if (ret)
		goto err_bounce;
	return 0;

err_bounce:
	bounce_close(ep);
	ep->bounce = NULL;
err_queues:
	queues_close(ep);
	fdat_info(EP_CTRL, "cannot enable an endpoint: %s\n", fi_strerror(-ret));
	return ret;
}

/* ---- Close ---- */

/* Free the EP of DAT, and deliver a completion for each operation that has none. */
static int ep_disable(struct fdat_ep *ep)
{
	int ret = ep->tx_cq ? fdat_cq_flush_prepare(ep->tx_cq) : 0;

	if (!ret && ep->rx_cq)
		ret = fdat_cq_flush_prepare(ep->rx_cq);
	if (ret)
		return ret;
	pthread_mutex_lock(&ep->eq->lock);
	dat_ep_free(ep->handle);
	ep->handle = DAT_HANDLE_NULL;
	fdat_eq_forget(ep->eq, &ep->ep.fid);
	fdat_eq_unreserve(ep->eq, ep->source);
	pthread_mutex_unlock(&ep->eq->lock);
	if (ep->tx_cq)
		ret = fdat_cq_flush(ep->tx_cq, &ep->tx);
	if (ep->rx_cq)
		ret |= fdat_cq_flush(ep->rx_cq, ep->srx ? NULL : &ep->rx);
	if (ret)
		FI_WARN(&fdat_prov, FI_LOG_EP_CTRL,
			"no memory: completions of a closed endpoint are lost\n");
	bounce_close(ep);
	queues_close(ep);
	return 0;
}

static int ep_close(struct fid *fid)
{
	struct fdat_ep *ep = to_ep(fid);
	int ret;

	if (ep->handle) {
		ret = ep_disable(ep);
		if (ret)
			return ret;
	}
	if (ep->connreq)
		fdat_connreq_leave(ep->connreq);
	unbind(ep);
	pthread_mutex_destroy(&ep->lock);
	fdat_unref(&ep->domain->refs);
	fi_freeinfo(ep->info);
	free(ep);
	return 0;
}

/* ---- Options ---- */

/* Returns the default flags of one direction, or NULL if @flags is not one direction. */
static uint64_t *op_flags(struct fdat_ep *ep, uint64_t flags)
{
	switch (flags & (FI_TRANSMIT | FI_RECV)) {
	case FI_TRANSMIT:
		return &ep->tx_flags;
	case FI_RECV:
		return &ep->rx_flags;
	default:
		return NULL;
	}
}

static int set_op_flags(struct fdat_ep *ep, uint64_t flags)
{
	uint64_t *own = op_flags(ep, flags);
	uint64_t some = own == &ep->tx_flags ? FDAT_TX_FLAGS : FI_COMPLETION;

	if (!own)
		return -FI_EINVAL;
	flags &= ~(FI_TRANSMIT | FI_RECV);
	if (flags & ~some)
		return -FI_EBADFLAGS;
	*own = flags;
	return 0;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct fdat_ep *ep = to_ep(fid);
	uint64_t *flags = arg, *own;

	switch (command) {
	case FI_ENABLE:
		return ep_enable(ep);
	case FI_GETOPSFLAG:
		own = op_flags(ep, *flags);
		if (!own)
			return -FI_EINVAL;
		*flags = *own;
		return 0;
	case FI_SETOPSFLAG:
		return set_op_flags(ep, *flags);
	default:
		return -FI_ENOSYS;
	}
}

static int ep_getopt(fid_t fid, int level, int name, void *val, size_t *len)
{
	struct fdat_ep *ep = to_ep(fid);

	return fdat_cm_getopt(ep->domain->ia, level, name, val, len);
}

/*
 * An adapter does not give back a buffer or a request before the connection ends, so an operation
 * that is outstanding can't be canceled.
 */
static ssize_t ep_cancel(fid_t fid, void *context)
{
	struct fdat_ep *ep = to_ep(fid);
	int found;

	pthread_mutex_lock(&ep->lock);
	found = fdat_ring_has(&ep->rx, context) || fdat_ring_has(&ep->tx, context);
	pthread_mutex_unlock(&ep->lock);
	return found ? -FI_EOPNOTSUPP : -FI_ENOENT;
}

/* ---- Objects ---- */

static struct fi_ops ep_fid_ops = {
	.size = sizeof(ep_fid_ops),
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
	FDAT_NO_FID_OPS,
};

static struct fi_ops_ep ep_ops = {
	.size = sizeof(ep_ops),
	.cancel = ep_cancel,
	.getopt = ep_getopt,
	.setopt = fdat_no_setopt,
	.tx_ctx = fdat_no_tx_ctx,
	.rx_ctx = fdat_no_rx_ctx,
	.rx_size_left = fdat_no_size_left,
	.tx_size_left = fdat_no_size_left,
};

/* Returns whether the endpoint can have these sizes; they may not be those of fi_getinfo(). */
static int sizes_fit(const struct fdat_ia *ia, const struct fi_info *info)
{
	size_t depth = (size_t)ia->attr.max_dto_per_ep;
	const struct fi_tx_attr *tx = info->tx_attr;
	const struct fi_rx_attr *rx = info->rx_attr;

	return tx->size <= depth && tx->iov_limit <= fdat_tx_iov_max(ia) &&
	       rx->iov_limit <= fdat_rx_iov_max(ia) &&
	       (rx->size <= depth || info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT);
}

/* Replace sizes that the program has left open. */
static void complete_sizes(const struct fdat_ia *ia, struct fi_info *info)
{
	size_t depth = (size_t)at_most(FDAT_DEPTH, ia->attr.max_dto_per_ep);
	size_t iov = (size_t)at_most(fdat_tx_iov_max(ia), FDAT_IOV);

	if (!info->tx_attr->size)
		info->tx_attr->size = depth;
	if (!info->tx_attr->iov_limit)
		info->tx_attr->iov_limit = iov;
	if (!info->rx_attr->size)
		info->rx_attr->size = depth;
	if (!info->rx_attr->iov_limit)
		info->rx_attr->iov_limit = iov;
}

static int ep_init(struct fdat_ep *ep, const struct fi_info *info)
{
	ep->info = fi_dupinfo(info);
	if (!ep->info)
		return -FI_ENOMEM;
	complete_sizes(ep->domain->ia, ep->info);
	if (!sizes_fit(ep->domain->ia, ep->info)) {
		fi_freeinfo(ep->info);
		return -FI_EINVAL;
	}
	ep->immediate = ep->domain->ia->immediate && info->domain_attr &&
			info->domain_attr->cq_data_size;
	ep->tx_flags = ep->info->tx_attr->op_flags & FDAT_TX_FLAGS;
	ep->rx_flags = ep->info->rx_attr->op_flags & FI_COMPLETION;
	return 0;
}

/* Connect the endpoint with the request that it is for. */
static int take_request(struct fdat_ep *ep, const struct fi_info *info)
{
	struct fdat_connreq *req;

	if (!info->handle)
		return 0;
	if (info->handle->fclass != FI_CLASS_CONNREQ)
		return -FI_ENOSYS;
	req = fdat_of(info->handle, struct fdat_connreq, fid);
	if (req->ep)
		return -FI_EBUSY;
	if (req->ia != ep->domain->ia)
		return -FI_EINVAL;
	req->ep = ep;
	ep->connreq = req;
	return 0;
}

int fdat_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out,
		 void *context)
{
	struct fdat_ep *ep;
	int ret;

	if (!info || !info->ep_attr || !info->tx_attr || !info->rx_attr ||
	    info->ep_attr->type != FI_EP_MSG)
		return -FI_EINVAL;
	ep = calloc(1, sizeof(*ep));
	if (!ep)
		return -FI_ENOMEM;
	ep->domain = fdat_of(domain, struct fdat_domain, domain);
	ret = ep_init(ep, info);
	if (!ret) {
		ret = take_request(ep, info);
		if (ret)
			fi_freeinfo(ep->info);
	}
	if (ret) {
		free(ep);
		return ret;
	}
	pthread_mutex_init(&ep->lock, NULL);
	fdat_ref(&ep->domain->refs);
	ep->ep.fid.fclass = FI_CLASS_EP;
	ep->ep.fid.context = context;
	ep->ep.fid.ops = &ep_fid_ops;
	ep->ep.ops = &ep_ops;
	ep->ep.cm = &fdat_cm_ops;
	ep->ep.msg = &fdat_msg_ops;
	ep->ep.rma = &fdat_rma_ops;
	ep->ep.tagged = &fdat_no_tagged_ops;
	ep->ep.atomic = &fdat_no_atomic_ops;
	ep->ep.collective = &fdat_no_collective_ops;
	*out = &ep->ep;
	return 0;
}
