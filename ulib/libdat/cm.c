// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Connections of endpoints: connect, duplicate, disconnect and reset. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "../common/cancel.h"
#include "../common/log.h"
#include "foreign.h"
#include "libdat.h"

/*
 * struct connect - arguments that dat_ep_connect() and dat_ep_dup_connect() share
 * @timeout: time limit of the connect, in microseconds
 * @timeout_arg: position of the timeout argument; the next two arguments are @pd_size and @pd
 * @pd_size, @pd: length and bytes of the private data
 * @qos: quality of service
 */
struct connect {
	DAT_TIMEOUT	timeout;
	int		timeout_arg;
	DAT_COUNT	pd_size;
	const void	*pd;
	DAT_QOS		qos;
};

#define ARG(n)	DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1 + (n) - 1)

static DAT_RETURN connect_check(const struct udat_ep *ep, const struct connect *c)
{
	if (!ep->connect_evd)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN);
	if (!c->timeout)
		return ARG(c->timeout_arg);
	if (c->pd_size < 0 || c->pd_size > udat_pd_max(ep->obj.ia))
		return ARG(c->timeout_arg + 1);
	if (c->pd_size && !c->pd)
		return ARG(c->timeout_arg + 2);
	if (c->qos & ~UDAT_QOS_ALL || c->qos & (c->qos - 1))
		return DAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (ep->stage)
		return udat_state_error(ep->stage);
	return DAT_SUCCESS;
}

static DAT_RETURN address_check(const struct sockaddr *addr, DAT_CONN_QUAL qual)
{
	if (!addr)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (addr->sa_family != AF_INET && addr->sa_family != AF_INET6)
		return DAT_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	if (!qual)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return DAT_SUCCESS;
}

static int is_loopback(const struct sockaddr *addr)
{
	const struct in6_addr *in6 = &((const struct sockaddr_in6 *)addr)->sin6_addr;

	if (addr->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)addr)->sin_addr.s_addr) >> 24 ==
		       IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(in6) ||
	       (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == IN_LOOPBACKNET);
}

/* Write the IPv4 or IPv6 address as text.  Returns @text. */
static const char *addr_text(const void *addr, char *text, socklen_t size)
{
	const struct sockaddr_in *in = addr;
	const struct sockaddr_in6 *in6 = addr;
	int is4 = in->sin_family == AF_INET;

	if (!inet_ntop(in->sin_family, is4 ? (const void *)&in->sin_addr : &in6->sin6_addr, text,
		       size))
		text[0] = '\0';
	return text;
}

/*
 * Log why a loopback address is unreachable, once per process: "localhost" may have two addresses,
 * and programs try again.
 */
static void explain_loopback(const struct udat_ep *ep)
{
	struct dat_ia_query info = { .size = sizeof(info) };
	char target[INET6_ADDRSTRLEN], own[INET6_ADDRSTRLEN];
	static int said;

	if (!is_loopback((const struct sockaddr *)ep->target) ||
	    __atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
		return;
	addr_text(ep->target, target, sizeof(target));
	if (du_file_ioctl(&ep->obj.ia->file, DAT_IOC_IA_QUERY, &info) || !info.addr_len)
		du_log(DU_LOG_ERROR, "%s is a loopback address, which '%s' does not serve: open 'lo0', the adapter within the host, if the driver has it",
		       target, ep->obj.ia->name);
	else
		du_log(DU_LOG_ERROR, "%s is a loopback address, which '%s' does not serve: connect to %s, its address, or open 'lo0', the adapter within the host, if the driver has it",
		       target, ep->obj.ia->name, addr_text(info.addr, own, sizeof(own)));
}

/* Log that ENOMEM may mean that rdma_cm has no port for this side of the connection. */
static void explain_no_port(void)
{
	int n = 0, state = du_cancel_off();
	unsigned int low, high;
	FILE *f;

	f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
	if (f) {
		n = fscanf(f, "%u %u", &low, &high);
		fclose(f);
	}
	du_cancel_restore(state);
	if (n == 2)
		du_log(DU_LOG_ERROR, "cannot connect: no memory, or no free port from %u to %u: widen net.ipv4.ip_local_port_range",
		       low, high);
}

static DAT_RETURN connect_error(const struct udat_ep *ep, int err)
{
	switch (err) {
	case EISCONN:
		return udat_state_error(udat_ep_state(ep));
	case ENOMEM:
		/* The driver's error is the same for both causes. */
		du_explain_queue_memory();
		explain_no_port();
		return dat_err_from_errno(err);
	case ENETUNREACH:
		explain_loopback(ep);
		return DAT_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	default:
		return dat_err_from_errno(err);
	}
}

/* Connect to the address in ep->target. */
static DAT_RETURN ep_connect(struct udat_ep *ep, const struct connect *c)
{
	struct dat_ep_connect arg = {
		.size = sizeof(arg), .id = ep->obj.id, .conn_qual = ep->target_qual,
		.timeout_us = c->timeout == DAT_TIMEOUT_INFINITE ? DAT_WAIT_FOREVER : c->timeout,
		.addr_len = ep->target_len, .pd_len = c->pd_size, .qos = c->qos,
	};
	int ret;

	memcpy(arg.addr, ep->target, ep->target_len);
	if (c->pd_size)
		memcpy(arg.pd, c->pd, c->pd_size);
	ret = du_file_ioctl(&ep->obj.ia->file, DAT_IOC_EP_CONNECT, &arg);
	return ret ? connect_error(ep, -ret) : DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle,
				      DAT_IA_ADDRESS_PTR remote_ia_address,
				      DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
				      DAT_COUNT private_data_size,
				      const DAT_PVOID private_data, DAT_QOS quality_of_service,
				      DAT_CONNECT_FLAGS connect_flags)
{
	const struct connect c = {
		.timeout = timeout, .timeout_arg = 4, .pd_size = private_data_size,
		.pd = private_data, .qos = quality_of_service,
	};
	struct udat_ep *ep = udat_ep(ep_handle);
	DAT_RETURN rc;

	UDAT_FORWARD(ep_handle, ep_connect, remote_ia_address, remote_conn_qual, timeout,
		     private_data_size, private_data, quality_of_service, connect_flags);
	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	rc = address_check(remote_ia_address, remote_conn_qual);
	if (rc == DAT_SUCCESS && connect_flags & ~DAT_CONNECT_MULTIPATH_FLAG)
		rc = DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	if (rc == DAT_SUCCESS)
		rc = connect_check(ep, &c);
	if (rc != DAT_SUCCESS)
		return rc;
	/* Refuse DAT_CONNECT_MULTIPATH_FLAG, because supports_multipath is false. */
	if (connect_flags)
		return DAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (udat_ep_state(ep) != DAT_EP_STATE_UNCONNECTED)
		return udat_state_error(udat_ep_state(ep));
	ep->target_len = remote_ia_address->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
								   sizeof(struct sockaddr_in6);
	memcpy(ep->target, remote_ia_address, ep->target_len);
	ep->target_qual = remote_conn_qual;
	return ep_connect(ep, &c);
}

/*
 * Set the target of @ep to the target of @dup.  If @dup is the accepting side of its connection,
 * @dup has no target: use the address of its peer.
 */
static int dup_target(struct udat_ep *dup, struct udat_ep *ep)
{
	struct dat_ep_query arg = { .size = sizeof(arg), .id = dup->obj.id };
	int ret;

	memcpy(ep->target, dup->target, sizeof(ep->target));
	ep->target_len = dup->target_len;
	ep->target_qual = dup->target_qual;
	if (dup->target_qual)
		return 0;
	ret = du_file_ioctl(&dup->obj.ia->file, DAT_IOC_EP_QUERY, &arg);
	memcpy(ep->target, arg.remote, sizeof(ep->target));
	ep->target_len = arg.remote_len;
	ep->target_qual = arg.remote_port;
	return ret;
}

UDAT_EXPORT DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE dup_ep_handle,
					  DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
					  const DAT_PVOID private_data,
					  DAT_QOS quality_of_service)
{
	const struct connect c = {
		.timeout = timeout, .timeout_arg = 3, .pd_size = private_data_size,
		.pd = private_data, .qos = quality_of_service,
	};
	struct udat_ep *ep = udat_ep(ep_handle), *dup = udat_ep(dup_ep_handle);
	DAT_RETURN rc;
	int ret;

	UDAT_FORWARD(ep_handle, ep_dup_connect, dup_ep_handle, timeout, private_data_size,
		     private_data, quality_of_service);
	if (!ep || !dup || dup->obj.ia != ep->obj.ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	rc = connect_check(ep, &c);
	if (rc != DAT_SUCCESS)
		return rc;
	if (udat_ep_state(ep) != DAT_EP_STATE_UNCONNECTED)
		return udat_state_error(udat_ep_state(ep));
	if (udat_ep_state(dup) != DAT_EP_STATE_CONNECTED)
		return udat_state_error(udat_ep_state(dup));
	ret = dup_target(dup, ep);
	return ret ? dat_err_from_errno(-ret) : ep_connect(ep, &c);
}

UDAT_EXPORT DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS flags)
{
	struct udat_ep *ep = udat_ep(ep_handle);
	struct dat_ep_disconnect arg = { .size = sizeof(arg) };
	int ret;

	UDAT_FORWARD(ep_handle, ep_disconnect, flags);
	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (ep->stage)
		return udat_state_error(ep->stage);
	arg.id = ep->obj.id;
	arg.flags = flags == DAT_CLOSE_GRACEFUL_FLAG ? DAT_DISCONNECT_GRACEFUL : 0;
	ret = du_file_ioctl(&ep->obj.ia->file, DAT_IOC_EP_DISCONNECT, &arg);
	return ret ? connect_error(ep, -ret) : DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle)
{
	struct udat_ep *ep = udat_ep(ep_handle);
	struct dat_ep_reset arg = { .size = sizeof(arg) };
	int ret;

	UDAT_FORWARD(ep_handle, ep_reset);
	if (!ep)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (ep->stage)
		return udat_state_error(ep->stage);
	arg.id = ep->obj.id;
	ret = du_file_ioctl(&ep->obj.ia->file, DAT_IOC_EP_RESET, &arg);
	return ret ? connect_error(ep, -ret) : DAT_SUCCESS;
}
