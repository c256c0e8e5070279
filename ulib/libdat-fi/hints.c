// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Hints of fi_getinfo().  A hint that an adapter cannot meet excludes the adapter, and the reason
 * is logged.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fdat.h"
#include "hints.h"

/* Log why an adapter cannot meet the hints.  Returns -FI_ENODATA. */
static int __attribute__((format(printf, 2, 3)))
miss(const struct fdat_ia *ia, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fdat_info(CORE, "%s: %s\n", ia->name, text);
	return -FI_ENODATA;
}

/* All bits that are wanted must be offered. */
static int check_bits(const struct fdat_ia *ia, const char *what, uint64_t want, uint64_t have)
{
	if (!(want & ~have))
		return 0;
	return miss(ia, "%s asks for %#" PRIx64 ", of which %#" PRIx64 " is not supported", what,
		    want, want & ~have);
}

static int check_limit(const struct fdat_ia *ia, const char *what, uint64_t want, uint64_t have)
{
	if (want <= have)
		return 0;
	return miss(ia, "%s asks for %" PRIu64 ", but the limit is %" PRIu64, what, want, have);
}

/* A value of 0 asks for nothing. */
static int check_value(const struct fdat_ia *ia, const char *what, uint64_t want, uint64_t have)
{
	if (!want || want == have)
		return 0;
	return miss(ia, "%s asks for %" PRIu64 ", but is %" PRIu64, what, want, have);
}

static int check_name(const struct fdat_ia *ia, const char *what, const char *want,
		      const char *have)
{
	if (!want || !strcmp(want, have))
		return 0;
	return miss(ia, "%s asks for %s, but is %s", what, want, have);
}

static int check_tx(const struct fdat_ia *ia, const struct fi_tx_attr *want,
		    const struct fi_tx_attr *have)
{
	return check_bits(ia, "tx_attr->caps", want->caps, have->caps | FDAT_DOMAIN_CAPS) ||
	       check_bits(ia, "tx_attr->op_flags", want->op_flags, have->op_flags) ||
	       check_bits(ia, "tx_attr->msg_order", want->msg_order, have->msg_order) ||
	       check_bits(ia, "tx_attr->comp_order", want->comp_order, have->comp_order) ||
	       check_limit(ia, "tx_attr->inject_size", want->inject_size, have->inject_size) ||
	       check_limit(ia, "tx_attr->size", want->size, (size_t)ia->attr.max_dto_per_ep) ||
	       check_limit(ia, "tx_attr->iov_limit", want->iov_limit,
			   fdat_tx_iov_max(ia)) ||
	       check_limit(ia, "tx_attr->rma_iov_limit", want->rma_iov_limit, have->rma_iov_limit);
}

static int check_rx(const struct fdat_ia *ia, const struct fi_info *hints,
		    const struct fi_rx_attr *have)
{
	const struct fi_rx_attr *want = hints->rx_attr;
	int shared = hints->ep_attr && hints->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT;
	DAT_COUNT size = shared ? ia->attr.max_recv_per_srq : ia->attr.max_dto_per_ep;

	return check_bits(ia, "rx_attr->caps", want->caps, have->caps | FDAT_DOMAIN_CAPS) ||
	       check_bits(ia, "rx_attr->op_flags", want->op_flags, have->op_flags) ||
	       check_bits(ia, "rx_attr->msg_order", want->msg_order, have->msg_order) ||
	       check_bits(ia, "rx_attr->comp_order", want->comp_order, have->comp_order) ||
	       check_limit(ia, "rx_attr->total_buffered_recv", want->total_buffered_recv, 0) ||
	       check_limit(ia, "rx_attr->size", want->size, (size_t)size) ||
	       check_limit(ia, "rx_attr->iov_limit", want->iov_limit,
			   fdat_rx_iov_max(ia));
}

static int check_contexts(const struct fdat_ia *ia, const struct fi_ep_attr *want)
{
	if (want->rx_ctx_cnt == FI_SHARED_CONTEXT) {
		if (ia->attr.max_srqs <= 0)
			return miss(ia, "the adapter has no shared receive contexts");
	} else if (check_limit(ia, "ep_attr->rx_ctx_cnt", want->rx_ctx_cnt, 1)) {
		return -FI_ENODATA;
	}
	return check_limit(ia, "ep_attr->tx_ctx_cnt", want->tx_ctx_cnt, 1);
}

static int check_ep(const struct fdat_ia *ia, const struct fi_ep_attr *want,
		    const struct fi_ep_attr *have)
{
	return check_value(ia, "ep_attr->type", want->type, have->type) ||
	       check_value(ia, "ep_attr->protocol", want->protocol, have->protocol) ||
	       check_limit(ia, "ep_attr->protocol_version", want->protocol_version,
			   have->protocol_version) ||
	       check_limit(ia, "ep_attr->max_msg_size", want->max_msg_size, have->max_msg_size) ||
	       check_limit(ia, "ep_attr->max_order_raw_size", want->max_order_raw_size,
			   have->max_order_raw_size) ||
	       check_limit(ia, "ep_attr->max_order_war_size", want->max_order_war_size, 0) ||
	       check_limit(ia, "ep_attr->max_order_waw_size", want->max_order_waw_size,
			   have->max_order_waw_size) ||
	       check_limit(ia, "ep_attr->auth_key_size", want->auth_key_size, 0) ||
	       check_contexts(ia, want);
}

/* FI_MR_BASIC, and versions before 1.5, stand for all of FDAT_MR_MODE with FI_LOCAL_MR. */
static int is_basic(const struct fi_info *hints, uint32_t version)
{
	int mode = hints->domain_attr ? hints->domain_attr->mr_mode : 0;

	return mode == FDAT_MR_BASIC || (!mode && FI_VERSION_LT(version, FI_VERSION(1, 5)));
}

static int check_mr_mode(const struct fdat_ia *ia, const struct fi_info *hints, uint32_t version)
{
	/* Hints without attributes of a domain accept any mode. */
	if (!hints->domain_attr)
		return 0;
	if (is_basic(hints, version)) {
		if (hints->mode & FDAT_LOCAL_MR)
			return 0;
		return miss(ia, "mode lacks FI_LOCAL_MR");
	}
	if (!(FDAT_MR_MODE & ~hints->domain_attr->mr_mode))
		return 0;
	return miss(ia, "domain_attr->mr_mode is %#x, but lacks %#x, which is needed",
		    hints->domain_attr->mr_mode, FDAT_MR_MODE & ~hints->domain_attr->mr_mode);
}

/* The keys of DAT must fit into what the program can carry. */
static int check_key_size(const struct fdat_ia *ia, size_t want, size_t have)
{
	if (!want || want >= have)
		return 0;
	return miss(ia, "domain_attr->mr_key_size is %zu, but a key has %zu bytes", want, have);
}

static int check_domain(const struct fdat_ia *ia, const struct fi_domain_attr *want,
			const struct fi_domain_attr *have)
{
	return check_bits(ia, "domain_attr->caps", want->caps, have->caps) ||
	       check_key_size(ia, want->mr_key_size, have->mr_key_size) ||
	       check_limit(ia, "domain_attr->cq_data_size", want->cq_data_size,
			   have->cq_data_size) ||
	       check_limit(ia, "domain_attr->cq_cnt", want->cq_cnt, have->cq_cnt) ||
	       check_limit(ia, "domain_attr->ep_cnt", want->ep_cnt, have->ep_cnt) ||
	       check_limit(ia, "domain_attr->tx_ctx_cnt", want->tx_ctx_cnt, have->tx_ctx_cnt) ||
	       check_limit(ia, "domain_attr->rx_ctx_cnt", want->rx_ctx_cnt, have->rx_ctx_cnt) ||
	       check_limit(ia, "domain_attr->max_ep_tx_ctx", want->max_ep_tx_ctx, 1) ||
	       check_limit(ia, "domain_attr->max_ep_rx_ctx", want->max_ep_rx_ctx, 1) ||
	       check_limit(ia, "domain_attr->max_ep_stx_ctx", want->max_ep_stx_ctx, 0) ||
	       check_limit(ia, "domain_attr->max_ep_srx_ctx", want->max_ep_srx_ctx,
			   have->max_ep_srx_ctx) ||
	       check_limit(ia, "domain_attr->cntr_cnt", want->cntr_cnt, 0) ||
	       check_limit(ia, "domain_attr->mr_iov_limit", want->mr_iov_limit, 1) ||
	       check_limit(ia, "domain_attr->auth_key_size", want->auth_key_size, 0) ||
	       check_limit(ia, "domain_attr->mr_cnt", want->mr_cnt, have->mr_cnt);
}

/* Returns whether the program knows that a write with immediate data takes a receive. */
static int takes_data(const struct fi_info *hints)
{
	return hints->mode & FI_RX_CQ_DATA ||
	       (hints->rx_attr && hints->rx_attr->mode & FI_RX_CQ_DATA);
}

static int check_data(const struct fdat_ia *ia, const struct fi_info *hints)
{
	if (!hints->domain_attr || !hints->domain_attr->cq_data_size || takes_data(hints))
		return 0;
	return miss(ia, "domain_attr->cq_data_size is not 0, but mode lacks FI_RX_CQ_DATA");
}

static int check_format(const struct fdat_ia *ia, const struct fi_info *info,
			const struct fi_info *hints)
{
	if (hints->addr_format == FI_FORMAT_UNSPEC || hints->addr_format == FI_SOCKADDR)
		return 0;
	return check_value(ia, "addr_format", hints->addr_format, info->addr_format);
}

int fdat_hints_check(const struct fdat_ia *ia, const struct fi_info *info,
		     const struct fi_info *hints, uint32_t version)
{
	if (check_bits(ia, "caps", hints->caps, info->caps) || check_format(ia, info, hints) ||
	    (hints->tx_attr && check_tx(ia, hints->tx_attr, info->tx_attr)) ||
	    (hints->rx_attr && check_rx(ia, hints, info->rx_attr)) ||
	    (hints->ep_attr && check_ep(ia, hints->ep_attr, info->ep_attr)) ||
	    (hints->domain_attr && check_domain(ia, hints->domain_attr, info->domain_attr)) ||
	    (hints->fabric_attr && check_name(ia, "fabric_attr->name", hints->fabric_attr->name,
					      info->fabric_attr->name)) ||
	    check_mr_mode(ia, hints, version) || check_data(ia, hints))
		return -FI_ENODATA;
	return 0;
}

/* A capability without a direction stands for all of its directions. */
static uint64_t all_directions(uint64_t caps)
{
	uint64_t rma = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

	if (caps & FI_MSG && !(caps & (FI_SEND | FI_RECV)))
		caps |= FI_SEND | FI_RECV;
	if (caps & FI_RMA && !(caps & rma))
		caps |= rma;
	return caps;
}

static void apply_sizes(struct fi_info *info, const struct fi_info *hints)
{
	const struct fi_tx_attr *tx = hints->tx_attr;
	const struct fi_rx_attr *rx = hints->rx_attr;

	if (tx) {
		info->tx_attr->op_flags = tx->op_flags;
		if (tx->size)
			info->tx_attr->size = tx->size;
		if (tx->iov_limit)
			info->tx_attr->iov_limit = tx->iov_limit;
	}
	if (rx) {
		info->rx_attr->op_flags = rx->op_flags;
		if (rx->size)
			info->rx_attr->size = rx->size;
		if (rx->iov_limit)
			info->rx_attr->iov_limit = rx->iov_limit;
	}
	if (hints->ep_attr && hints->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT)
		info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
}

/* Report the weaker guarantees that the hints ask for, as libfabric's own tests expect. */
static void apply_domain(struct fi_domain_attr *domain, const struct fi_domain_attr *hints)
{
	if (hints->threading)
		domain->threading = hints->threading;
	if (hints->control_progress == FI_PROGRESS_MANUAL)
		domain->control_progress = FI_PROGRESS_MANUAL;
	if (hints->data_progress == FI_PROGRESS_MANUAL)
		domain->data_progress = FI_PROGRESS_MANUAL;
}

void fdat_hints_apply(struct fi_info *info, const struct fi_info *hints, uint32_t version)
{
	apply_sizes(info, hints);
	if (hints->caps)
		info->caps = all_directions(hints->caps) | FDAT_DOMAIN_CAPS;
	info->tx_attr->caps &= info->caps;
	info->rx_attr->caps &= info->caps;
	if (hints->domain_attr)
		apply_domain(info->domain_attr, hints->domain_attr);
	info->mode &= hints->mode;
	if (!takes_data(hints)) {
		info->rx_attr->mode = 0;
		info->domain_attr->cq_data_size = 0;
	}
	if (is_basic(hints, version)) {
		info->domain_attr->mr_mode = FDAT_MR_BASIC;
		info->mode |= FDAT_LOCAL_MR;
	}
}
