/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Endpoints (EP).  An EP is one end of a connection and has the queues of the operations on
 * the connection.  udat.h has rules for all functions.
 *
 *	state				leaves the state by	next state
 *
 *	UNCONNECTED			dat_ep_connect()	ACTIVE_CONNECTION_PENDING
 *					dat_cr_accept()		COMPLETION_PENDING
 *	ACTIVE_CONNECTION_PENDING,	the peer's answer	CONNECTED
 *	COMPLETION_PENDING		failure, disconnect	DISCONNECTED
 *	CONNECTED			graceful disconnect	DISCONNECT_PENDING
 *					abrupt disconnect,	DISCONNECTED
 *					the peer, an error
 *	DISCONNECT_PENDING		the last request	DISCONNECTED
 *	DISCONNECTED			dat_ep_reset()		UNCONNECTED
 *
 * Each connection attempt ends with one event: ESTABLISHED, or an event that gives the reason
 * of the failure.  Each connection ends with one event: DISCONNECTED or BROKEN.  All
 * outstanding operations complete before this event; unfinished operations are flushed.
 *
 * Requests (sends, RDMA operations, binds) complete in the order in which they were posted.
 * Receives also complete in this order.  A request that fails breaks the connection.
 */
#ifndef DAT_API_EP_H
#define DAT_API_EP_H

#include "udat.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dat_ep_create - create an endpoint
 * @ia_handle: the parent IA
 * @pz_handle: protection zone
 * @recv_evd_handle: EVD with DAT_EVD_DTO_FLAG for completions of receives; DAT_HANDLE_NULL:
 *	the completions are discarded
 * @request_evd_handle: EVD with DAT_EVD_DTO_FLAG for completions of requests;
 *	DAT_HANDLE_NULL: the completions are discarded
 * @connect_evd_handle: EVD with DAT_EVD_CONNECTION_FLAG; DAT_HANDLE_NULL: the EP cannot connect
 * @ep_attributes: attributes of the EP; NULL: defaults of the provider.  Counts must be within
 *	the limits of dat_ia_query().  The provider may make the queues longer; dat_ep_query()
 *	returns the actual lengths
 * @ep_handle: out: the new EP
 *
 * The new EP is unconnected.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: an EVD does not take the stream (DAT_INVALID_HANDLE_EVD_RECV,
 * _EVD_REQUEST, _EVD_CONN);
 * DAT_INVALID_PARAMETER: an attribute is out of range, or attributes contradict each other
 * (DAT_INVALID_ARG6), @ep_handle is NULL (DAT_INVALID_ARG7);
 * DAT_MODEL_NOT_SUPPORTED: the provider does not support an attribute;
 * DAT_INSUFFICIENT_RESOURCES: too many EPs (DAT_RESOURCE_TEP); no memory.
 *
 * Threads: safe.  Page: dat_ep_create(3).
 */
DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			 DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
			 DAT_EVD_HANDLE connect_evd_handle, const DAT_EP_ATTR *ep_attributes,
			 DAT_EP_HANDLE *ep_handle);

/**
 * dat_ep_create_with_srq - create an endpoint that receives into the buffers of an SRQ
 * @ia_handle: the parent IA
 * @pz_handle: protection zone for all operations but receives; must be the zone of the SRQ
 *	unless srq_ep_pz_difference_supported is DAT_TRUE
 * @recv_evd_handle: as for dat_ep_create()
 * @request_evd_handle: as for dat_ep_create()
 * @connect_evd_handle: as for dat_ep_create()
 * @srq_handle: SRQ from which the EP receives until the EP is freed
 * @ep_attributes: as for dat_ep_create(), but never NULL; max_recv_iov is ignored
 * @ep_handle: out: the new EP
 *
 * dat_ep_post_recv() cannot be used with this EP.
 *
 * Return: as dat_ep_create(), but
 * DAT_INVALID_PARAMETER: the SRQ is in another protection zone (DAT_INVALID_ARG2),
 * @ep_attributes is NULL or invalid (DAT_INVALID_ARG7), @ep_handle is NULL (DAT_INVALID_ARG8).
 *
 * Threads: safe.  Page: dat_ep_create_with_srq(3).
 */
DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
				  DAT_EVD_HANDLE recv_evd_handle,
				  DAT_EVD_HANDLE request_evd_handle,
				  DAT_EVD_HANDLE connect_evd_handle,
				  DAT_SRQ_HANDLE srq_handle,
				  const DAT_EP_ATTR *ep_attributes, DAT_EP_HANDLE *ep_handle);

/**
 * dat_ep_free - destroy an endpoint
 * @ep_handle: the EP
 *
 * The call ends a connection or a connection attempt at once.  Completions may be lost.
 * Events that are already queued stay in the queue, with the EP handle that is no longer
 * valid.  Afterwards, the consumer may reuse the memory of the buffers.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: a service point or a connection request holds the EP: the EP is reserved,
 * passive connection pending or tentative connection pending.
 *
 * Threads: one per object.  Page: dat_ep_free(3).
 */
DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle);

/**
 * dat_ep_query - read the parameters of an endpoint
 * @ep_handle: the EP
 * @ep_param_mask: fields to return; other fields may be filled in, too
 * @ep_param: out; the remote address and port are valid only during a connection or a
 *	connection attempt
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @ep_param is NULL
 * (DAT_INVALID_ARG3).
 *
 * Threads: one per object.  Page: dat_ep_query(3).
 */
DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			DAT_EP_PARAM *ep_param);

/**
 * dat_ep_modify - change parameters of an endpoint
 * @ep_handle: the EP
 * @ep_param_mask: fields to change
 * @ep_param: new values of the fields
 *
 * The call changes all fields or, after an error, no field.  The PZ can be changed while the EP is
 * unconnected or tentative connection pending.  EVDs and attributes can also be changed while the
 * EP is reserved or passive connection pending.  The completion flags of receives cannot be changed
 * after a receive was posted.  IA, state, addresses, ports and SRQ cannot be changed.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown or fixed fields in the mask (DAT_INVALID_ARG2),
 * @ep_param is NULL, has a value out of range, a zone other than the SRQ's zone, or
 * completion flags that the other objects that feed the EVD do not allow (DAT_INVALID_ARG3);
 * DAT_INVALID_HANDLE: the zone belongs to another IA (DAT_INVALID_HANDLE_PZ), or an EVD belongs
 * to another IA or does not take the stream (DAT_INVALID_HANDLE_EVD_RECV, _EVD_REQUEST,
 * _EVD_CONN);
 * DAT_INVALID_STATE: the EP's state does not allow the change, and the subtype tells the state;
 * more operations are posted than the new queue can hold; or the completion flags of receives
 * would change while receives are posted;
 * DAT_MODEL_NOT_SUPPORTED: the provider does not support an attribute;
 * DAT_INSUFFICIENT_RESOURCES: no memory for the new queues.
 *
 * Threads: one per object.  Page: dat_ep_modify(3).
 */
DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			 const DAT_EP_PARAM *ep_param);

/**
 * dat_ep_get_status - read the state of an endpoint
 * @ep_handle: the EP
 * @ep_state: out; may be NULL
 * @recv_idle: out: whether no receive is outstanding; may be NULL
 * @request_idle: out: whether no request is outstanding; may be NULL
 *
 * Return: DAT_SUCCESS.
 *
 * Threads: safe.  Page: dat_ep_get_status(3).
 */
DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle);

/**
 * dat_ep_connect - request a connection to a peer
 * @ep_handle: unconnected EP with a connect EVD
 * @remote_ia_address: sockaddr_in or sockaddr_in6 of the peer; its port is ignored
 * @remote_conn_qual: connection qualifier of the peer's service point, not 0
 * @timeout: microseconds, not 0; DAT_TIMEOUT_INFINITE: the timeout of the transport
 * @private_data_size: bytes of @private_data, from 0 to max_private_data_size
 * @private_data: data for the peer, sent with the request; may be NULL if @private_data_size is 0
 * @quality_of_service: DAT_QOS_BEST_EFFORT, or a value in dat_qos_supported
 * @connect_flags: DAT_CONNECT_DEFAULT_FLAG, or MULTIPATH if supports_multipath is DAT_TRUE
 *
 * After success, the EP is active connection pending.  Then the EP's connect EVD gets one event:
 * ESTABLISHED, with the peer's private data;
 * PEER_REJECTED: the peer called dat_cr_reject();
 * NON_PEER_REJECTED: the qualifier has no listener, or the listener has no room;
 * UNREACHABLE: there is no route to the peer, or the peer does not answer;
 * TIMED_OUT: @timeout has expired.
 * After an event other than ESTABLISHED, the EP is disconnected.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: the EP is not unconnected; the subtype tells the state;
 * DAT_INVALID_HANDLE: the EP lacks a connect EVD (DAT_INVALID_HANDLE_EVD_CONN);
 * DAT_INVALID_ADDRESS: the address is neither IPv4 nor IPv6 (DAT_INVALID_ADDRESS_UNSUPPORTED),
 * or the adapter has no address of the family (DAT_INVALID_ADDRESS_UNREACHABLE);
 * DAT_INVALID_PARAMETER: @remote_ia_address is NULL (DAT_INVALID_ARG2), qualifier out of
 * range (DAT_INVALID_ARG3), @timeout is 0 (DAT_INVALID_ARG4), size out of range
 * (DAT_INVALID_ARG5), @private_data is NULL (DAT_INVALID_ARG6), unknown @connect_flags
 * (DAT_INVALID_ARG8);
 * DAT_MODEL_NOT_SUPPORTED: the provider does not support @quality_of_service or @connect_flags;
 * DAT_INSUFFICIENT_RESOURCES: no memory, or a limit of the adapter is reached.
 *
 * Threads: one per object.  Page: dat_ep_connect(3).
 */
DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
			  DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			  DAT_COUNT private_data_size, const DAT_PVOID private_data,
			  DAT_QOS quality_of_service, DAT_CONNECT_FLAGS connect_flags);

/**
 * dat_ep_dup_connect - request a connection to the peer of another endpoint
 * @ep_handle: unconnected EP with a connect EVD
 * @dup_ep_handle: connected EP of the same IA; the new connection uses the address, qualifier
 *	and flags with which this EP was connected
 * @timeout: as for dat_ep_connect()
 * @private_data_size: as for dat_ep_connect()
 * @private_data: as for dat_ep_connect()
 * @quality_of_service: as for dat_ep_connect()
 *
 * Return: as dat_ep_connect(), but
 * DAT_INVALID_STATE: also if @dup_ep_handle is not connected;
 * DAT_INVALID_PARAMETER: @timeout is 0 (DAT_INVALID_ARG3), size out of range
 * (DAT_INVALID_ARG4), @private_data is NULL (DAT_INVALID_ARG5).
 *
 * Threads: one per object.  Page: dat_ep_dup_connect(3).
 */
DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE dup_ep_handle,
			      DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
			      const DAT_PVOID private_data, DAT_QOS quality_of_service);

/**
 * dat_ep_disconnect - end a connection, or cancel a connection attempt
 * @ep_handle: the EP
 * @disconnect_flags: DAT_CLOSE_GRACEFUL_FLAG: outstanding requests complete first, and new
 *	requests are refused; DAT_CLOSE_ABRUPT_FLAG: the connection ends at once
 *
 * If the EP is connected, DAT_CONNECTION_EVENT_DISCONNECTED arrives when the connection has ended.
 * If the EP is connecting or accepting, both flags cancel the attempt, and the same event arrives.
 * If the EP is disconnect pending, an abrupt disconnect ends the wait for requests, and a graceful
 * disconnect changes nothing.  If the EP is disconnected, the call does nothing.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: the EP has neither a connection nor a connection attempt; the subtype tells
 * the state;
 * DAT_INVALID_PARAMETER: unknown @disconnect_flags (DAT_INVALID_ARG2);
 * DAT_INSUFFICIENT_RESOURCES: no memory.
 *
 * Threads: one per object.  Page: dat_ep_disconnect(3).
 */
DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS disconnect_flags);

/**
 * dat_ep_reset - make a disconnected endpoint unconnected, so that it can connect again
 * @ep_handle: disconnected EP; on an unconnected EP the call does nothing, and posted
 *	receives stay
 *
 * Completions that were not dequeued may be lost.  To get all completions before the reset, the
 * consumer posts one more operation, which is flushed.  The consumer then dequeues until it gets
 * the completion of that operation.  After the reset, private data of the peer is no longer valid.
 * The call may block.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: the EP is neither disconnected nor unconnected; the subtype tells the state.
 *
 * Threads: one per object.  Page: dat_ep_reset(3).
 */
DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle);

/**
 * dat_ep_post_send - send a message
 * @ep_handle: connected EP; if the EP is disconnected, the request is flushed at once
 * @num_segments: number of entries of @local_iov, from 0 to max_request_iov
 * @local_iov: segments of the message, at most max_message_size bytes in total; may be NULL if
 *	@num_segments is 0, which sends an empty message.  The array may be reused after the
 *	return if iov_ownership_on_return is DAT_IOV_CONSUMER.  The memory of the segments may
 *	be reused after the completion
 * @user_cookie: value that the completion event returns
 * @completion_flags: bitwise OR of SUPPRESS, SOLICITED_WAIT and BARRIER_FENCE, and of
 *	UNSIGNALLED if request_completion_flags has it
 *
 * The peer must have posted a receive that is large enough for the message.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: the EP is neither connected nor disconnected; the subtype tells the state;
 * DAT_INSUFFICIENT_RESOURCES: max_request_dtos requests are outstanding
 * (DAT_RESOURCE_TEP);
 * DAT_INVALID_PARAMETER: too many segments (DAT_INVALID_ARG2), a segment is outside its LMR
 * or @local_iov is NULL (DAT_INVALID_ARG3), invalid @completion_flags (DAT_INVALID_ARG5);
 * DAT_LENGTH_ERROR: the message is longer than max_message_size;
 * DAT_PROTECTION_VIOLATION: an LMR and the EP are in different protection zones;
 * DAT_PRIVILEGES_VIOLATION: a segment names no LMR.
 *
 * Threads: one per object.  Page: dat_ep_post_send(3).
 */
DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_post_recv - post a buffer for a message
 * @ep_handle: EP without an SRQ, in any state; if the EP is disconnected, the receive is flushed at
 *	once
 * @num_segments: number of entries of @local_iov, from 0 to max_recv_iov
 * @local_iov: segments of the buffer, which need DAT_MEM_PRIV_LOCAL_WRITE_FLAG; may be NULL if
 *	@num_segments is 0: the buffer is then for an empty message
 * @user_cookie: value that the completion event returns
 * @completion_flags: DAT_COMPLETION_DEFAULT_FLAG, or UNSIGNALLED if
 *	recv_completion_flags has it
 *
 * A message that is longer than the buffer breaks the connection.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: the EP has an SRQ (DAT_INVALID_HANDLE_EP);
 * DAT_INSUFFICIENT_RESOURCES: max_recv_dtos receives are outstanding (DAT_RESOURCE_TEP);
 * DAT_INVALID_PARAMETER, DAT_LENGTH_ERROR, DAT_PROTECTION_VIOLATION: as
 * dat_ep_post_send();
 * DAT_PRIVILEGES_VIOLATION: a segment names no LMR, or an LMR that may not be written.
 *
 * Threads: one per object.  Page: dat_ep_post_recv(3).
 */
DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_post_rdma_read - read memory of the peer
 * @ep_handle: connected EP; if the EP is disconnected, the request is flushed at once
 * @num_segments: number of entries of @local_iov, from 0 to max_rdma_read_iov
 * @local_iov: segments into which the data is read, filled in order.  They need
 *	DAT_MEM_PRIV_LOCAL_WRITE_FLAG, and also DAT_MEM_PRIV_REMOTE_WRITE_FLAG if
 *	rdma_write_for_rdma_read_req is DAT_TRUE
 * @user_cookie: value that the completion event returns
 * @remote_buffer: the peer's memory, which has DAT_MEM_PRIV_REMOTE_READ_FLAG and is read as a
 *	whole; at most max_rdma_size bytes
 * @completion_flags: SUPPRESS, BARRIER_FENCE, and UNSIGNALLED if request_completion_flags
 *	has it; bitwise OR
 *
 * The peer's program is not involved.  If the peer has not exposed the memory, the read
 * completes with DAT_DTO_ERR_REMOTE_ACCESS and breaks the connection.
 *
 * Return: as dat_ep_post_send(), but
 * DAT_LENGTH_ERROR: @local_iov is shorter than @remote_buffer, or too long;
 * DAT_INVALID_PARAMETER: also @remote_buffer is NULL (DAT_INVALID_ARG5), invalid
 * @completion_flags (DAT_INVALID_ARG6);
 * DAT_PRIVILEGES_VIOLATION: a segment names no LMR, or an LMR that may not be written.
 *
 * Threads: one per object.  Page: dat_ep_post_rdma_read(3).
 */
DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_buffer,
				 DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_post_rdma_write - write memory of the peer
 * @ep_handle: connected EP; if the EP is disconnected, the request is flushed at once
 * @num_segments: number of entries of @local_iov, from 0 to max_rdma_write_iov
 * @local_iov: segments of the data, at most max_rdma_size bytes in total
 * @user_cookie: value that the completion event returns
 * @remote_buffer: the peer's memory, which has DAT_MEM_PRIV_REMOTE_WRITE_FLAG and is written from
 *	its first byte on
 * @completion_flags: as for dat_ep_post_rdma_read()
 *
 * The peer's program is not involved.  A send that is posted after the write arrives after the
 * data.
 *
 * Return: as dat_ep_post_rdma_read(), but
 * DAT_LENGTH_ERROR: @remote_buffer is shorter than @local_iov;
 * DAT_PRIVILEGES_VIOLATION: a segment names no LMR.
 *
 * Threads: one per object.  Page: dat_ep_post_rdma_write(3).
 */
DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_buffer,
				  DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_recv_query - query the number of buffers that an endpoint holds
 * @ep_handle: the EP
 * @nbufs_allocated: out: with an SRQ, number of buffers that messages in progress have taken;
 *	without an SRQ, number of posted buffers that have not completed; may be NULL
 * @bufs_alloc_span: out: number of buffers from the oldest to the newest message in progress; may
 *	be NULL
 *
 * A count that the provider does not know is DAT_VALUE_UNKNOWN; see ep_recv_info_supported.
 *
 * Return: DAT_SUCCESS;
 * DAT_MODEL_NOT_SUPPORTED: the provider does not know either count.
 *
 * Threads: one per object.  Page: dat_ep_recv_query(3).
 */
DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
			     DAT_COUNT *bufs_alloc_span);

/**
 * dat_ep_set_watermark - limit the number of SRQ buffers that an endpoint holds
 * @ep_handle: the EP
 * @soft_high_watermark: number of buffers above which the IA gets one async event, with the EP as
 *	dat_handle and the reason DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT; DAT_WATERMARK_INFINITE: no
 *	event
 * @hard_high_watermark: number of buffers above which the connection is broken;
 *	DAT_WATERMARK_INFINITE: no limit
 *
 * The event or the end of the connection may occur during the call.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: a watermark is out of range (DAT_INVALID_ARG2, DAT_INVALID_ARG3);
 * DAT_MODEL_NOT_SUPPORTED: srq_watermarks_supported lacks the watermark.
 *
 * Threads: one per object.  Page: dat_ep_set_watermark(3).
 */
DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark,
				DAT_COUNT hard_high_watermark);

#ifdef __cplusplus
}
#endif

#endif /* DAT_API_EP_H */
