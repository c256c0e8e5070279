// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Connections.  Some transports pad private data with zeros, so the first byte tells the length of
 * the program's data, as in libfabric's provider for verbs.
 */
#include <stdlib.h>
#include <string.h>

#include "fdat.h"

/* ---- Private data ---- */

size_t fdat_cm_size(const struct fdat_ia *ia)
{
	return ia->cm_size - 1 < UINT8_MAX ? ia->cm_size - 1 : UINT8_MAX;
}

int fdat_cm_getopt(const struct fdat_ia *ia, int level, int name, void *val, size_t *len)
{
	size_t room = *len;

	if (level != FI_OPT_ENDPOINT || name != FI_OPT_CM_DATA_SIZE)
		return -FI_ENOPROTOOPT;
	*len = sizeof(size_t);
	if (room < sizeof(size_t))
		return -FI_ETOOSMALL;
	*(size_t *)val = fdat_cm_size(ia);
	return 0;
}

/* Store the data of the program, after their length.  Returns the bytes of @to, or an error. */
static int pack(const struct fdat_ia *ia, const void *param, size_t len, uint8_t *to)
{
	if (len > fdat_cm_size(ia) || (len && !param))
		return -FI_EINVAL;
	to[0] = (uint8_t)len;
	if (len)
		memcpy(to + 1, param, len);
	return (int)len + 1;
}

/* Returns the bytes of the peer's program in the private data. */
static size_t packed_length(const uint8_t *data, DAT_COUNT size)
{
	if (size <= 0 || !data)
		return 0;
	return data[0] < size - 1 ? data[0] : (size_t)size - 1;
}

/* ---- Events ---- */

static struct fdat_event *error_event(struct fdat_ep *ep, int err,
				      const DAT_CONNECTION_EVENT_DATA *data, int number)
{
	size_t len = packed_length(data->private_data, data->private_data_size);
	struct fdat_event *e = calloc(1, sizeof(*e) + len);

	if (!e)
		return NULL;
	e->fid = &ep->ep.fid;
	e->err = err;
	e->prov_errno = number;
	e->size = len;
	if (len)
		memcpy(e->data, (const uint8_t *)data->private_data + 1, len);
	return e;
}

static struct fdat_event *cm_event(uint32_t event, fid_t fid, struct fi_info *info,
				   const uint8_t *data, DAT_COUNT size)
{
	size_t len = packed_length(data, size);
	struct fdat_event *e = calloc(1, sizeof(*e) + sizeof(struct fi_eq_cm_entry) + len);
	struct fi_eq_cm_entry *entry;

	if (!e)
		return NULL;
	entry = (struct fi_eq_cm_entry *)e->data;
	entry->fid = fid;
	entry->info = info;
	if (len)
		memcpy(entry->data, data + 1, len);
	e->event = event;
	e->fid = fid;
	e->least = sizeof(*entry);
	e->size = sizeof(*entry) + len;
	return e;
}

static struct fdat_event *connection_event(const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;
	int number = event->event_number;
	DAT_CONTEXT context;
	struct fdat_ep *ep;

	/* An event may be older than the close of its EP. */
	if (dat_get_consumer_context(data->ep_handle, &context) != DAT_SUCCESS)
		return NULL;
	ep = context.as_ptr;
	switch (number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return cm_event(FI_CONNECTED, &ep->ep.fid, NULL, data->private_data,
				data->private_data_size);
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
		return cm_event(FI_SHUTDOWN, &ep->ep.fid, NULL, NULL, 0);
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return error_event(ep, FI_ECONNREFUSED, data, number);
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return error_event(ep, FI_ETIMEDOUT, data, number);
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return error_event(ep, FI_EHOSTUNREACH, data, number);
	default:
		return error_event(ep, FI_ECONNABORTED, data, number);
	}
}

/* ---- Requests ---- */

static int connreq_close(struct fid *fid)
{
	fdat_connreq_free(fdat_of(fid, struct fdat_connreq, fid));
	return 0;
}

static struct fi_ops connreq_fid_ops = {
	.size = sizeof(connreq_fid_ops),
	.close = connreq_close,
	.bind = fdat_no_bind,
	.control = fdat_no_control,
	FDAT_NO_FID_OPS,
};

/* Reject the request with @n bytes of @data, unless it has an answer.  The handle remains. */
static void connreq_end(struct fdat_connreq *req, int n, uint8_t *data)
{
	/* A driver that is older than data of rejects still knows rejects. */
	if (req->cr && dat_linux_cr_reject(req->cr, n, data) != DAT_SUCCESS)
		dat_cr_reject(req->cr);
	req->cr = DAT_HANDLE_NULL;
	fdat_ia_put(req->ia);
	req->ia = NULL;
}

static void connreq_drop(struct fdat_connreq *req, int n, uint8_t *data)
{
	if (req->ep)
		req->ep->connreq = NULL;
	connreq_end(req, n, data);
	pthread_mutex_lock(&req->fabric->lock);
	*req->at = req->next;
	if (req->next)
		req->next->at = req->at;
	pthread_mutex_unlock(&req->fabric->lock);
	free(req);
}

void fdat_connreq_free(struct fdat_connreq *req)
{
	connreq_drop(req, 0, NULL);
}

void fdat_connreq_reject(struct fdat_connreq *req, const void *param, size_t len)
{
	uint8_t data[UINT8_MAX + 1];
	int n = 0;

	/* Without the IA, the request was rejected when its endpoint was closed. */
	if (len && req->ia) {
		if (len > fdat_cm_size(req->ia))
			len = fdat_cm_size(req->ia);
		n = pack(req->ia, param, len, data);
	}
	connreq_drop(req, n, data);
}

void fdat_connreq_leave(struct fdat_connreq *req)
{
	if (!req->cr) {
		fdat_connreq_free(req);
		return;
	}
	connreq_end(req, 0, NULL);
	req->ep = NULL;
}

static struct fdat_connreq *connreq_new(struct fdat_pep *pep, DAT_CR_HANDLE cr)
{
	struct fdat_connreq *req = calloc(1, sizeof(*req));
	struct fdat_fabric *f = pep->fabric;

	if (!req)
		return NULL;
	req->fid.fclass = FI_CLASS_CONNREQ;
	req->fid.ops = &connreq_fid_ops;
	req->fabric = f;
	req->ia = pep->ia;
	req->cr = cr;
	fdat_ia_hold(pep->ia);
	pthread_mutex_lock(&f->lock);
	req->next = f->requests;
	if (req->next)
		req->next->at = &req->next;
	req->at = &f->requests;
	f->requests = req;
	pthread_mutex_unlock(&f->lock);
	return req;
}

/* Replace *@to by a copy of an address with @port. */
static int set_addr(void **to, size_t *len, const struct sockaddr *sa, uint16_t port)
{
	union fdat_addr *a = malloc(sizeof(*a));

	if (!a)
		return -FI_ENOMEM;
	if (!sa || fdat_addr_copy(a, sa, sizeof(*a))) {
		free(a);
		return -FI_EINVAL;
	}
	fdat_addr_set_port(a, port);
	free(*to);
	*to = a;
	*len = fdat_addr_len(&a->sa);
	return 0;
}

/* Describe the endpoint that a request asks for. */
static struct fi_info *request_info(const struct fdat_pep *pep, const struct sockaddr *local,
				    const DAT_CR_PARAM *param)
{
	struct fi_info *info = fi_dupinfo(pep->info);
	union fdat_addr *src;

	if (!info)
		return NULL;
	if (set_addr(&info->src_addr, &info->src_addrlen, local, fdat_addr_port(&pep->addr)) ||
	    set_addr(&info->dest_addr, &info->dest_addrlen, param->remote_ia_address_ptr,
		     (uint16_t)param->remote_port_qual)) {
		fi_freeinfo(info);
		return NULL;
	}
	src = info->src_addr;
	info->addr_format = fdat_addr_format(src);
	return info;
}

static struct fdat_event *request_event(struct fdat_pep *pep, const DAT_EVENT *event)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *data = &event->event_data.cr_arrival_event_data;
	struct fdat_connreq *req = connreq_new(pep, data->cr_handle);
	struct fi_info *info = NULL;
	struct fdat_event *e = NULL;
	DAT_CR_PARAM param;

	if (!req) {
		dat_cr_reject(data->cr_handle);
		return NULL;
	}
	/* A request that the peer has given up meanwhile is not reported. */
	if (dat_cr_query(req->cr, DAT_CR_FIELD_ALL, &param) == DAT_SUCCESS)
		info = request_info(pep, data->local_ia_address_ptr, &param);
	if (info)
		e = cm_event(FI_CONNREQ, &pep->pep.fid, info, param.private_data,
			     param.private_data_size);
	if (!e) {
		fi_freeinfo(info);
		fdat_connreq_free(req);
		return NULL;
	}
	info->handle = &req->fid;
	return e;
}

struct fdat_event *fdat_cm_event(struct fdat_source *source, const DAT_EVENT *event)
{
	return source->pep ? request_event(source->pep, event) : connection_event(event);
}

/* ---- Calls ---- */

static int ep_connect(struct fid_ep *fid, const void *addr, const void *param, size_t len)
{
	struct fdat_ep *ep = fdat_of(fid, struct fdat_ep, ep);
	uint8_t data[UINT8_MAX + 1];
	union fdat_addr to;
	int n, ret;

	if (!ep->handle)
		return -FI_EOPBADSTATE;
	if (!addr)
		addr = ep->info->dest_addr;
	if (!addr || fdat_addr_copy(&to, addr, fdat_addr_len(addr)))
		return -FI_EINVAL;
	n = pack(ep->domain->ia, param, len, data);
	if (n < 0)
		return n;
	pthread_mutex_lock(&ep->lock);
	ret = fdat_error(dat_ep_connect(ep->handle, &to.sa, fdat_addr_port(&to),
					DAT_TIMEOUT_INFINITE, n, data, DAT_QOS_BEST_EFFORT,
					DAT_CONNECT_DEFAULT_FLAG));
	pthread_mutex_unlock(&ep->lock);
	return ret;
}

static int ep_accept(struct fid_ep *fid, const void *param, size_t len)
{
	struct fdat_ep *ep = fdat_of(fid, struct fdat_ep, ep);
	uint8_t data[UINT8_MAX + 1];
	int n, ret;

	if (!ep->handle || !ep->connreq || !ep->connreq->cr)
		return -FI_EOPBADSTATE;
	n = pack(ep->domain->ia, param, len, data);
	if (n < 0)
		return n;
	pthread_mutex_lock(&ep->lock);
	ret = fdat_error(dat_cr_accept(ep->connreq->cr, ep->handle, n, data));
	if (!ret)
		ep->connreq->cr = DAT_HANDLE_NULL;
	pthread_mutex_unlock(&ep->lock);
	return ret;
}

static int ep_shutdown(struct fid_ep *fid, uint64_t flags)
{
	struct fdat_ep *ep = fdat_of(fid, struct fdat_ep, ep);
	int ret;

	if (flags)
		return -FI_EBADFLAGS;
	if (!ep->handle)
		return -FI_ENOTCONN;
	pthread_mutex_lock(&ep->lock);
	/* A graceful disconnect would wait for a peer that posts no receive. */
	ret = fdat_error(dat_ep_disconnect(ep->handle, DAT_CLOSE_ABRUPT_FLAG));
	pthread_mutex_unlock(&ep->lock);
	return ret == -FI_EOPBADSTATE ? -FI_ENOTCONN : ret;
}

/* Return an address of @info, with which the endpoint was opened. */
static int info_addr(const void *addr, void *to, size_t *len)
{
	return addr ? fdat_addr_give(addr, to, len) : -FI_ENODATA;
}

/* Get an address of the connection; the caller holds ep->lock, since DAT has one place for it. */
static int query_addr(struct fdat_ep *ep, int remote, union fdat_addr *a)
{
	struct sockaddr *sa;
	DAT_EP_PARAM param;

	if (!ep->handle || dat_ep_query(ep->handle, DAT_EP_FIELD_ALL, &param) != DAT_SUCCESS)
		return -FI_ENOTCONN;
	sa = remote ? param.remote_ia_address_ptr : param.local_ia_address_ptr;
	if (!sa || fdat_addr_copy(a, sa, sizeof(*a)))
		return -FI_ENOTCONN;
	fdat_addr_set_port(a, (uint16_t)(remote ? param.remote_port_qual : param.local_port_qual));
	return 0;
}

/*
 * Return the local or the remote address of a connection; what the endpoint was opened with serves
 * until there is one.
 */
static int ep_addr(struct fdat_ep *ep, int remote, void *to, size_t *len)
{
	union fdat_addr a;
	int ret;

	pthread_mutex_lock(&ep->lock);
	ret = query_addr(ep, remote, &a);
	pthread_mutex_unlock(&ep->lock);
	if (!ret)
		return fdat_addr_give(&a, to, len);
	return info_addr(remote ? ep->info->dest_addr : ep->info->src_addr, to, len);
}

static int ep_getname(fid_t fid, void *addr, size_t *len)
{
	return ep_addr(fdat_of(fid, struct fdat_ep, ep.fid), 0, addr, len);
}

static int ep_getpeer(struct fid_ep *fid, void *addr, size_t *len)
{
	return ep_addr(fdat_of(fid, struct fdat_ep, ep), 1, addr, len);
}

struct fi_ops_cm fdat_cm_ops = {
	.size = sizeof(fdat_cm_ops),
	.setname = fdat_no_setname,
	.getname = ep_getname,
	.getpeer = ep_getpeer,
	.connect = ep_connect,
	.listen = fdat_no_listen,
	.accept = ep_accept,
	.reject = fdat_no_reject,
	.shutdown = ep_shutdown,
	.join = fdat_no_join,
};
