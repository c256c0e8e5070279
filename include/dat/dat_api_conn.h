/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Functions that wait for connections of peers: public service points (PSP), reserved service
 * points (RSP) and connection requests (CR).  udat.h has rules for all functions.
 *
 * A connection qualifier has 64 bits.  A qualifier from 1 to 65535 is a port in rdma_cm's TCP
 * port space; ports below 1024 are privileged.  A larger qualifier is mapped to port
 * qual % 32001 + 33534, as in OFED's uDAPL.  0 is not a valid qualifier.
 */
#ifndef DAT_API_CONN_H
#define DAT_API_CONN_H

#include "udat.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dat_psp_create - listen at a connection qualifier
 * @ia_handle: the parent IA
 * @conn_qual: the qualifier
 * @evd_handle: EVD with DAT_EVD_CR_FLAG, where requests arrive; requests are refused while
 *	the EVD is full
 * @psp_flags: DAT_PSP_CONSUMER_FLAG: the consumer passes an EP to dat_cr_accept();
 *	DAT_PSP_PROVIDER_FLAG: the provider creates an EP for each request (see ep_creator)
 * @psp_handle: out: the new PSP; requests may arrive before the call returns
 *
 * Return: DAT_SUCCESS;
 * DAT_CONN_QUAL_IN_USE: a process listens at this qualifier, or at a qualifier for the same port;
 * DAT_INVALID_HANDLE: @evd_handle does not take requests (DAT_INVALID_HANDLE_EVD_CR);
 * DAT_INVALID_PARAMETER: @conn_qual is 0 (DAT_INVALID_ARG2), unknown
 * @psp_flags (DAT_INVALID_ARG4), @psp_handle is NULL (DAT_INVALID_ARG5);
 * DAT_PRIVILEGES_VIOLATION: @conn_qual is below 1024 and the process lacks
 * CAP_NET_BIND_SERVICE;
 * DAT_MODEL_NOT_SUPPORTED: the provider does not support @psp_flags (see ep_creator);
 * DAT_INSUFFICIENT_RESOURCES: the port has no address (DAT_RESOURCE_DEVICE); no memory.
 *
 * Threads: safe.  Page: dat_psp_create(3).
 */
DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			  DAT_PSP_HANDLE *psp_handle);

/**
 * dat_psp_create_any - listen at a free connection qualifier, which the provider chooses
 * @ia_handle: the parent IA
 * @conn_qual: out: the qualifier
 * @evd_handle: as for dat_psp_create()
 * @psp_flags: as for dat_psp_create()
 * @psp_handle: out: the new PSP
 *
 * Return: as dat_psp_create(), but
 * DAT_CONN_QUAL_UNAVAILABLE: no qualifier is free;
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
 * @psp_param_mask: fields to return; other fields may be filled in, too
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
 * dat_psp_free - destroy a public service point, which stops listening
 * @psp_handle: the PSP
 *
 * The consumer can still accept connection requests that were delivered before.
 *
 * Return: DAT_SUCCESS.
 *
 * Threads: one per object.  Page: dat_psp_free(3).
 */
DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle);

/**
 * dat_rsp_create - listen at a connection qualifier for one request
 * @ia_handle: the parent IA
 * @conn_qual: the qualifier
 * @ep_handle: unconnected EP for the connection; the EP becomes reserved.  When the request
 *	arrives, the EP becomes passive connection pending
 * @evd_handle: EVD with DAT_EVD_CR_FLAG, where the request arrives
 * @rsp_handle: out: the new RSP
 *
 * Return: DAT_SUCCESS;
 * DAT_CONN_QUAL_IN_USE: the qualifier has a listener;
 * DAT_INVALID_STATE: the EP is not unconnected; the subtype tells the state;
 * DAT_INVALID_HANDLE: @evd_handle does not take requests (DAT_INVALID_HANDLE_EVD_CR);
 * DAT_INVALID_PARAMETER: @conn_qual is 0 (DAT_INVALID_ARG2), @rsp_handle is
 * NULL (DAT_INVALID_ARG5);
 * DAT_PRIVILEGES_VIOLATION: as dat_psp_create();
 * DAT_INSUFFICIENT_RESOURCES: the port has no address (DAT_RESOURCE_DEVICE); no memory.
 *
 * Threads: safe.  Page: dat_rsp_create(3).
 */
DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			  DAT_RSP_HANDLE *rsp_handle);

/**
 * dat_rsp_query - read the parameters of a reserved service point
 * @rsp_handle: the RSP
 * @rsp_param_mask: fields to return; other fields may be filled in, too
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
 * dat_rsp_free - destroy a reserved service point, which stops listening
 * @rsp_handle: the RSP
 *
 * If no request has arrived, the EP of the RSP becomes unconnected again.  The RSP handle stays
 * valid until this call, even after a request has arrived.
 *
 * Return: DAT_SUCCESS.
 *
 * Threads: one per object.  Page: dat_rsp_free(3).
 */
DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle);

/**
 * dat_cr_query - get the parameters of a connection request
 * @cr_handle: the CR
 * @cr_param_mask: fields to return; other fields may be filled in, too
 * @cr_param: out; its pointers are valid until the CR is accepted, rejected or handed off
 *
 * InfiniBand and RoCE do not transmit the size of private data, so zeros may follow the data
 * of the peer.
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
 * dat_cr_accept - accept a connection request
 * @cr_handle: the CR; invalid after success
 * @ep_handle: unconnected EP with a connect EVD; DAT_HANDLE_NULL if the CR already has an EP
 * @private_data_size: bytes of @private_data, from 0 to max_private_data_size
 * @private_data: data for the peer, which gets it with DAT_CONNECTION_EVENT_ESTABLISHED; may be
 *	NULL if @private_data_size is 0
 *
 * After success, the EP is completion pending.  Then the EP's connect EVD gets
 * DAT_CONNECTION_EVENT_ESTABLISHED or DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR.  After
 * DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, the EP is disconnected.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: the request no longer exists (DAT_INVALID_HANDLE_CR), or the EP lacks a
 * connect EVD, or @ep_handle must be DAT_HANDLE_NULL (DAT_INVALID_HANDLE_EP);
 * DAT_INVALID_STATE: the EP is not unconnected; the subtype tells the state;
 * DAT_INVALID_PARAMETER: size out of range (DAT_INVALID_ARG3), @private_data is NULL
 * (DAT_INVALID_ARG4);
 * DAT_INSUFFICIENT_RESOURCES: no memory, or a limit of the adapter is reached.
 *
 * Threads: one per object.  Page: dat_cr_accept(3).
 */
DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			 DAT_COUNT private_data_size, const DAT_PVOID private_data);

/**
 * dat_cr_reject - refuse a connection request
 * @cr_handle: the CR; invalid afterwards
 *
 * The peer gets DAT_CONNECTION_EVENT_PEER_REJECTED.  If an RSP received the request, its EP
 * becomes unconnected again.  An EP that the provider has created for the request is destroyed.
 *
 * Return: DAT_SUCCESS.
 *
 * Threads: one per object.  Page: dat_cr_reject(3).
 */
DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle);

/**
 * dat_cr_handoff - pass a connection request to another service point of the IA
 * @cr_handle: the CR; invalid after success
 * @handoff: connection qualifier of the other service point, which any process may own
 *
 * The other service point receives a request with the same private data and address.  The
 * peer does not notice the handoff.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @handoff has no listener (DAT_INVALID_ARG2);
 * DAT_INSUFFICIENT_RESOURCES: no memory;
 * DAT_NOT_IMPLEMENTED: the provider does not support the handoff.
 *
 * Threads: one per object.  Page: dat_cr_handoff(3).
 */
DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff);

#ifdef __cplusplus
}
#endif

#endif /* DAT_API_CONN_H */
