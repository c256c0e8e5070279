// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* fi_getinfo(): a description of each adapter and address family that the hints allow. */
#include <stdlib.h>
#include <string.h>

#include "fdat.h"
#include "hints.h"

/*
 * struct query - arguments of fi_getinfo()
 * @version: version of the API
 * @hints: hints, or NULL
 * @src: address of this host, or family 0
 * @dest: address of the peer, or family 0
 * @last: where the next result goes
 */
struct query {
	uint32_t		version;
	const struct fi_info	*hints;
	union fdat_addr		src;
	union fdat_addr		dest;
	struct fi_info		**last;
};

static size_t smaller(size_t a, size_t limit)
{
	return a < limit ? a : limit;
}

static void describe_tx(const struct fdat_ia *ia, struct fi_tx_attr *tx)
{
	tx->caps = FDAT_TX_CAPS;
	tx->op_flags = FDAT_TX_FLAGS;
	tx->msg_order = FDAT_MSG_ORDER;
	tx->comp_order = FDAT_COMP_ORDER;
	tx->inject_size = FDAT_INJECT;
	tx->size = smaller(FDAT_DEPTH, (size_t)ia->attr.max_dto_per_ep);
	tx->iov_limit = smaller(FDAT_IOV, fdat_tx_iov_max(ia));
	tx->rma_iov_limit = 1;
}

static void describe_rx(const struct fdat_ia *ia, struct fi_rx_attr *rx)
{
	rx->caps = FDAT_RX_CAPS;
	rx->mode = ia->immediate ? FI_RX_CQ_DATA : 0;
	rx->op_flags = FI_COMPLETION;
	rx->msg_order = FDAT_MSG_ORDER;
	rx->comp_order = FDAT_COMP_ORDER;
	rx->size = smaller(FDAT_DEPTH, (size_t)ia->attr.max_dto_per_ep);
	rx->iov_limit = smaller(FDAT_IOV, fdat_rx_iov_max(ia));
}

static void describe_ep(const struct fdat_ia *ia, struct fi_ep_attr *ep)
{
	ep->type = FI_EP_MSG;
	ep->protocol = ia->iwarp ? FI_PROTO_IWARP :
		       ia->local ? FDAT_PROTO_LOCAL : FI_PROTO_RDMA_CM_IB_RC;
	ep->protocol_version = 1;
	ep->max_msg_size = fdat_message_max(ia);
	/* A peer over iWARP may place the data of several messages in any order. */
	ep->max_order_raw_size = ia->iwarp ? 0 : ep->max_msg_size;
	ep->max_order_waw_size = ep->max_order_raw_size;
	ep->tx_ctx_cnt = 1;
	ep->rx_ctx_cnt = 1;
}

static void describe_domain(const struct fdat_ia *ia, struct fi_domain_attr *d)
{
	d->threading = FI_THREAD_SAFE;
	d->control_progress = FI_PROGRESS_AUTO;
	d->data_progress = FI_PROGRESS_AUTO;
	d->resource_mgmt = FI_RM_ENABLED;
	d->mr_mode = FDAT_MR_MODE;
	d->mr_key_size = sizeof(DAT_RMR_CONTEXT);
	d->cq_cnt = (size_t)ia->attr.max_evds;
	d->ep_cnt = (size_t)ia->attr.max_eps;
	d->tx_ctx_cnt = (size_t)ia->attr.max_eps;
	d->rx_ctx_cnt = (size_t)ia->attr.max_eps;
	d->max_ep_tx_ctx = 1;
	d->max_ep_rx_ctx = 1;
	d->max_ep_srx_ctx = (size_t)ia->attr.max_srqs;
	d->mr_iov_limit = 1;
	d->mr_cnt = (size_t)ia->attr.max_lmrs;
	d->caps = FDAT_DOMAIN_CAPS;
	d->cq_data_size = ia->immediate ? FDAT_DATA : 0;
}

/* Returns a copy with room for an address of either family. */
static union fdat_addr *addr_dup(const union fdat_addr *from)
{
	union fdat_addr *to = malloc(sizeof(*to));

	if (to)
		*to = *from;
	return to;
}

struct fi_info *fdat_info_new(const struct fdat_ia *ia, const union fdat_addr *addr)
{
	struct fi_info *info = fi_allocinfo();

	if (!info)
		return NULL;
	info->caps = FDAT_TX_CAPS | FDAT_RX_CAPS | FDAT_DOMAIN_CAPS;
	info->mode = ia->immediate ? FI_RX_CQ_DATA : 0;
	info->addr_format = fdat_addr_format(addr);
	info->src_addrlen = fdat_addr_len(&addr->sa);
	info->src_addr = addr_dup(addr);
	describe_tx(ia, info->tx_attr);
	describe_rx(ia, info->rx_attr);
	describe_ep(ia, info->ep_attr);
	describe_domain(ia, info->domain_attr);
	info->domain_attr->name = strdup(ia->name);
	info->fabric_attr->name = strdup(ia->local ? FDAT_FABRIC_LOCAL : FDAT_FABRIC);
	/* libfabric itself fills in the name and the version of the provider. */
	if (!info->src_addr || !info->domain_attr->name || !info->fabric_attr->name) {
		fi_freeinfo(info);
		return NULL;
	}
	return info;
}

/* Returns whether an endpoint of the adapter may have the address of this host @src. */
static int is_source(const struct fdat_ia *ia, const union fdat_addr *own,
		     const union fdat_addr *src)
{
	/* A listener without an address of its own takes both families: only the port counts. */
	if (fdat_addr_is_any(src))
		return 1;
	if (src->sa.sa_family != own->sa.sa_family)
		return 0;
	if (fdat_addr_same_host(src, own))
		return 1;
	/* An interface may have several addresses, of which the adapter names one. */
	return ia->local ? fdat_addr_is_local(src) : fdat_addr_same_interface(src, own);
}

/* Returns whether the adapter may reach the peer. */
static int is_target(const struct fdat_ia *ia, const union fdat_addr *own,
		     const union fdat_addr *dest)
{
	if (dest->sa.sa_family != own->sa.sa_family)
		return 0;
	return ia->local ? fdat_addr_is_local(dest) : !fdat_addr_is_loopback(dest);
}

static int set_addresses(const struct query *q, struct fi_info *info)
{
	union fdat_addr *own = info->src_addr;

	if (q->src.sa.sa_family) {
		if (!fdat_addr_is_any(&q->src))
			*own = q->src;
		fdat_addr_set_port(own, fdat_addr_port(&q->src));
	}
	if (!q->dest.sa.sa_family)
		return 0;
	info->dest_addrlen = fdat_addr_len(&q->dest.sa);
	info->dest_addr = addr_dup(&q->dest);
	return info->dest_addr ? 0 : -FI_ENOMEM;
}

/* Add the description of the adapter with @own, its address, unless the query excludes it. */
static int add_info(struct query *q, const struct fdat_ia *ia, const union fdat_addr *own)
{
	struct fi_info *info;
	int ret;

	if (q->src.sa.sa_family && !is_source(ia, own, &q->src)) {
		fdat_info(CORE, "%s does not have the source address\n", ia->name);
		return 0;
	}
	if (q->dest.sa.sa_family && !is_target(ia, own, &q->dest)) {
		fdat_info(CORE, "%s does not reach the destination\n", ia->name);
		return 0;
	}
	info = fdat_info_new(ia, own);
	if (!info)
		return -FI_ENOMEM;
	if (q->hints && fdat_hints_check(ia, info, q->hints, q->version)) {
		fi_freeinfo(info);
		return 0;
	}
	/* Until here op_flags has the supported flags; from here on, the endpoint's defaults. */
	info->tx_attr->op_flags = 0;
	info->rx_attr->op_flags = 0;
	ret = set_addresses(q, info);
	if (ret) {
		fi_freeinfo(info);
		return ret;
	}
	if (q->hints)
		fdat_hints_apply(info, q->hints, q->version);
	*q->last = info;
	q->last = &info->next;
	return 0;
}

/* Returns whether @who, if it names an adapter at all, names another one than @name. */
static int names_another(const char *who, const char *wanted, const char *name)
{
	if (!wanted || !strcmp(wanted, name))
		return 0;
	fdat_info(CORE, "%s asks for %s, not for %s\n", who, wanted, name);
	return 1;
}

static int add_adapter(struct query *q, const char *name)
{
	const struct fi_domain_attr *want = q->hints ? q->hints->domain_attr : NULL;
	const union fdat_addr *own;
	struct fdat_ia *ia;
	char *only = NULL;
	int ret = 0;

	/* A program that names an adapter need not wait until the others are open. */
	fi_param_get_str(&fdat_prov, "adapter", &only);
	if (names_another("FI_DAT_ADAPTER", only, name) ||
	    names_another("domain_attr->name", want ? want->name : NULL, name))
		return 0;
	/* An adapter that can't be opened hides no other one. */
	if (fdat_ia_get(name, &ia))
		return 0;
	if (!fdat_ia_address(ia, AF_UNSPEC))
		fdat_info(CORE, "%s has no address\n", name);
	own = fdat_ia_address(ia, AF_INET);
	if (own)
		ret = add_info(q, ia, own);
	own = fdat_ia_address(ia, AF_INET6);
	if (own && !ret)
		ret = add_info(q, ia, own);
	fdat_ia_put(ia);
	return ret;
}

static int hint_family(const struct fi_info *hints)
{
	if (hints && hints->addr_format == FI_SOCKADDR_IN)
		return AF_INET;
	return hints && hints->addr_format == FI_SOCKADDR_IN6 ? AF_INET6 : AF_UNSPEC;
}

static int bad_address(const char *what)
{
	fdat_info(CORE, "%s is neither an IPv4 nor an IPv6 address\n", what);
	return -FI_ENODATA;
}

static int query_addresses(struct query *q, const char *node, const char *service, uint64_t flags)
{
	const struct fi_info *hints = q->hints;
	int family = hint_family(hints);
	int named = node || service;
	union fdat_addr *to = flags & FI_SOURCE ? &q->src : &q->dest;
	union fdat_addr *other = flags & FI_SOURCE ? &q->dest : &q->src;

	/* The name of a host replaces the address in the hints, which may be anything then. */
	if (hints && hints->src_addr && !(named && to == &q->src) &&
	    fdat_addr_copy(&q->src, hints->src_addr, hints->src_addrlen))
		return bad_address("src_addr");
	if (hints && hints->dest_addr && !(named && to == &q->dest) &&
	    fdat_addr_copy(&q->dest, hints->dest_addr, hints->dest_addrlen))
		return bad_address("dest_addr");
	if (!named)
		return 0;
	/* Both ends of a connection have one family. */
	if (family == AF_UNSPEC && other->sa.sa_family && !fdat_addr_is_any(other))
		family = other->sa.sa_family;
	return fdat_addr_resolve(node, service, flags, family, to);
}

int fdat_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		 const struct fi_info *hints, struct fi_info **info)
{
	struct query q = { .version = version, .hints = hints, .last = info };
	DAT_PROVIDER_INFO *names;
	size_t n, i;
	int ret;

	*info = NULL;
	ret = query_addresses(&q, node, service, flags);
	if (ret)
		return ret;
	ret = fdat_ia_names(&names, &n);
	if (ret)
		return ret;
	if (!n)
		fdat_info(CORE, "the driver is not loaded, or there is no adapter\n");
	for (i = 0; i < n && !ret; i++)
		ret = add_adapter(&q, names[i].ia_name);
	free(names);
	if (ret) {
		fi_freeinfo(*info);
		*info = NULL;
		return ret;
	}
	return *info ? 0 : -FI_ENODATA;
}
