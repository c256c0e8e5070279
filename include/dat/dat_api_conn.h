/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waiting for peers: public service points (PSP), reserved service points (RSP) and
 * connection requests (CR).  Rules that hold for all functions are in udat.h.
 *
 * Connection qualifiers are 64 bits wide.  Those up to 65535 are ports of rdma_cm's TCP space,
 * and the ones below 1024 are privileged.  A larger one stands for the port
 * qual % 32001 + 33534, as in OFED's uDAPL.  0 is no qualifier.
 */
#ifndef DAT_API_CONN_H
#define DAT_API_CONN_H

#include "udat.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dat_psp_create - listen at a connection qualifier
 * @ia_handle: parent
 * @conn_qual: the qualifier
 * @evd_handle: EVD with DAT_EVD_CR_FLAG, where requests arrive; requests that find it full
 *	are refused
 * @psp_flags: DAT_PSP_CONSUMER_FLAG: dat_cr_accept() names the EP;
 *	DAT_PSP_PROVIDER_FLAG: the provider makes an EP for each request (see ep_creator)
 * @psp_handle: out; requests may arrive before the call returns
 *
 * Return: DAT_SUCCESS;
 * DAT_CONN_QUAL_IN_USE: a process listens at this qualifier, or at another one that maps to the
 * same port;
 * DAT_INVALID_HANDLE: @evd_handle does not take requests (DAT_INVALID_HANDLE_EVD_CR);
 * DAT_INVALID_PARAMETER: @conn_qual is 0 (DAT_INVALID_ARG2), unknown
 * @psp_flags (DAT_INVALID_ARG4), @psp_handle is NULL (DAT_INVALID_ARG5);
 * DAT_PRIVILEGES_VIOLATION: @conn_qual is below 1024 and the process lacks
 * CAP_NET_BIND_SERVICE;
 * DAT_MODEL_NOT_SUPPORTED: ep_creator excludes @psp_flags;
 * DAT_INSUFFICIENT_RESOURCES: the port has no address (DAT_RESOURCE_DEVICE); memory.
 *
 * Threads: safe.  Page: dat_psp_create(3).
 */
DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			  DAT_PSP_HANDLE *psp_handle);

/**
 * dat_psp_create_any - listen at a connection qualifier that is free
 * @ia_handle: parent
 * @conn_qual: out: the qualifier
 * @evd_handle: as for dat_psp_create()
 * @psp_flags: as for dat_psp_create()
 * @psp_handle: out
 *
 * Return: as dat_psp_create(), but
 * DAT_CONN_QUAL_UNAVAILABLE: none is free;
 * DAT_INVALID_PARAMETER: also @conn_qual is NULL (DAT_INVALID_ARG2).
 *
 * Threads: safe.  Page: dat_psp_create_any(3).
 */
DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			      DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			      DAT_PSP_HANDLE *psp_handle);

/**
 * dat_psp_query - read the parameters of a public service point
 * @psp_handle: the PSP
 * @psp_param_mask: fields that are wanted; others may be filled in too
 * @psp_param: out
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @psp_param is NULL
 * (DAT_INVALID_ARG3).
 *
 * Threads: safe.  Page: dat_psp_query(3).
 */
DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
			 DAT_PSP_PARAM *psp_param);

/**
 * dat_psp_free - stop listening
 * @psp_handle: the PSP
 *
 * Requests that were delivered can still be accepted.
 *
 * Return: DAT_SUCCESS.
 *
 * Threads: one per object.  Page: dat_psp_free(3).
 */
DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle);

/**
 * dat_rsp_create - listen at a connection qualifier for one request
 * @ia_handle: parent
 * @conn_qual: the qualifier
 * @ep_handle: unconnected EP, the one that can accept the request; it is reserved, and
 *	passive connection pending when the request has come
 * @evd_handle: EVD with DAT_EVD_CR_FLAG, where the request arrives
 * @rsp_handle: out
 *
 * Return: DAT_SUCCESS;
 * DAT_CONN_QUAL_IN_USE: the qualifier has a listener;
 * DAT_INVALID_STATE: the EP is not unconnected; the subtype gives the state;
 * DAT_INVALID_HANDLE: @evd_handle does not take requests (DAT_INVALID_HANDLE_EVD_CR);
 * DAT_INVALID_PARAMETER: @conn_qual is 0 (DAT_INVALID_ARG2), @rsp_handle is
 * NULL (DAT_INVALID_ARG5);
 * DAT_PRIVILEGES_VIOLATION: as dat_psp_create();
 * DAT_INSUFFICIENT_RESOURCES: the port has no address (DAT_RESOURCE_DEVICE); memory.
 *
 * Threads: safe.  Page: dat_rsp_create(3).
 */
DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			  DAT_RSP_HANDLE *rsp_handle);

/**
 * dat_rsp_query - read the parameters of a reserved service point
 * @rsp_handle: the RSP
 * @rsp_param_mask: fields that are wanted; others may be filled in too
 * @rsp_param: out
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @rsp_param is NULL
 * (DAT_INVALID_ARG3).
 *
 * Threads: safe.  Page: dat_rsp_query(3).
 */
DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
			 DAT_RSP_PARAM *rsp_param);

/**
 * dat_rsp_free - stop listening
 * @rsp_handle: the RSP
 *
 * If no request has arrived, the EP of the RSP is unconnected again.  The handle is valid until
 * this call, even after a request has arrived.
 *
 * Return: DAT_SUCCESS.
 *
 * Threads: one per object.  Page: dat_rsp_free(3).
 */
DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle);

/**
 * dat_cr_query - get the parameters of a connection request
 * @cr_handle: the CR
 * @cr_param_mask: fields that are wanted; others may be filled in too
 * @cr_param: out; what it points to is valid as long as the CR
 *
 * InfiniBand and RoCE do not carry the size of private data: what the peer sent is
 * followed by zeros.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @cr_param is NULL
 * (DAT_INVALID_ARG3).
 *
 * Threads: safe.  Page: dat_cr_query(3).
 */
DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
			DAT_CR_PARAM *cr_param);

/**
 * dat_cr_accept - accept a request
 * @cr_handle: the CR; invalid after success
 * @ep_handle: unconnected EP with a connect EVD; DAT_HANDLE_NULL if the CR has one
 * @private_data_size: bytes of @private_data, from 0 to max_private_data_size
 * @private_data: goes to the peer with DAT_CONNECTION_EVENT_ESTABLISHED; may be NULL if
 *	its size is 0
 *
 * The EP is completion pending.  One of DAT_CONNECTION_EVENT_ESTABLISHED and
 * DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR follows at its connect EVD; after the
 * latter it is disconnected.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: the request is gone (DAT_INVALID_HANDLE_CR), or the EP lacks a
 * connect EVD, or should have been DAT_HANDLE_NULL (DAT_INVALID_HANDLE_EP);
 * DAT_INVALID_STATE: the EP is not unconnected; the subtype gives the state;
 * DAT_INVALID_PARAMETER: size out of range (DAT_INVALID_ARG3), @private_data is NULL
 * (DAT_INVALID_ARG4);
 * DAT_INSUFFICIENT_RESOURCES: memory or limits of the adapter.
 *
 * Threads: one per object.  Page: dat_cr_accept(3).
 */
DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			 DAT_COUNT private_data_size, const DAT_PVOID private_data);

/**
 * dat_cr_reject - refuse a request
 * @cr_handle: the CR; invalid afterwards
 *
 * The peer gets DAT_CONNECTION_EVENT_PEER_REJECTED.  The EP of an RSP is unconnected
 * again; an EP that the provider made is destroyed.
 *
 * Return: DAT_SUCCESS.
 *
 * Threads: one per object.  Page: dat_cr_reject(3).
 */
DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle);

/**
 * dat_cr_handoff - pass a request on to another service point of the IA
 * @cr_handle: the CR; invalid after success
 * @handoff: connection qualifier of the other service point, perhaps of another process
 *
 * The other service point receives a request with the same private data and address; the
 * peer is not notified.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @handoff has no listener (DAT_INVALID_ARG2);
 * DAT_INSUFFICIENT_RESOURCES: memory;
 * DAT_NOT_IMPLEMENTED: the provider has no handoff.
 *
 * Threads: one per object.  Page: dat_cr_handoff(3).
 */
DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff);

#ifdef __cplusplus
}
#endif

#endif /* DAT_API_CONN_H */
