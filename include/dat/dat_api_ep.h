/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Endpoints (EP): one end of a connection, and the queues of what moves over it.
 * Rules that hold for all functions are in udat.h.
 *
 *	state				leaves it by		for
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
 * Each attempt ends with one event: ESTABLISHED, or an event that gives the reason of the
 * failure.  Each connection ends with one event: DISCONNECTED or BROKEN.  All outstanding
 * operations complete before that event; those that were not done are flushed.
 *
 * Requests (sends, RDMA, binds) complete in the order they were posted, receives too.
 * A request that fails breaks the connection.
 */
#ifndef DAT_API_EP_H
#define DAT_API_EP_H

#include "udat.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dat_ep_create - make an endpoint
 * @ia_handle: parent
 * @pz_handle: protection zone
 * @recv_evd_handle: EVD with DAT_EVD_DTO_FLAG for receives, or DAT_HANDLE_NULL, which
 *	discards their completions
 * @request_evd_handle: EVD with DAT_EVD_DTO_FLAG for requests, or DAT_HANDLE_NULL
 * @connect_evd_handle: EVD with DAT_EVD_CONNECTION_FLAG, or DAT_HANDLE_NULL; without one
 *	the EP can't be connected
 * @ep_attributes: attributes of the EP; NULL for the provider's defaults.  Counts must be
 *	within the limits of dat_ia_query(); the queues may come out longer, see
 *	dat_ep_query()
 * @ep_handle: out
 *
 * The EP is unconnected.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: an EVD does not take the stream (DAT_INVALID_HANDLE_EVD_RECV,
 * _EVD_REQUEST, _EVD_CONN);
 * DAT_INVALID_PARAMETER: an attribute is out of range, or several do not go together
 * (DAT_INVALID_ARG6), @ep_handle is NULL (DAT_INVALID_ARG7);
 * DAT_MODEL_NOT_SUPPORTED: an attribute that the provider lacks;
 * DAT_INSUFFICIENT_RESOURCES: too many EPs (DAT_RESOURCE_TEP); memory.
 *
 * Threads: safe.  Page: dat_ep_create(3).
 */
DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			 DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
			 DAT_EVD_HANDLE connect_evd_handle, const DAT_EP_ATTR *ep_attributes,
			 DAT_EP_HANDLE *ep_handle);

/**
 * dat_ep_create_with_srq - make an endpoint that receives into shared buffers
 * @ia_handle: parent
 * @pz_handle: protection zone of everything but receives; that of the SRQ unless
 *	srq_ep_pz_difference_supported is DAT_TRUE
 * @recv_evd_handle: as for dat_ep_create()
 * @request_evd_handle: as for dat_ep_create()
 * @connect_evd_handle: as for dat_ep_create()
 * @srq_handle: the SRQ; it serves the EP until the EP is freed
 * @ep_attributes: as for dat_ep_create(), but never NULL; max_recv_iov is ignored
 * @ep_handle: out
 *
 * dat_ep_post_recv() can't be used with this EP.
 *
 * Return: as dat_ep_create(), but
 * DAT_INVALID_PARAMETER: the zones differ (DAT_INVALID_ARG2), @ep_attributes is NULL or
 * wrong (DAT_INVALID_ARG7), @ep_handle is NULL (DAT_INVALID_ARG8).
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
 * A connection, or the attempt at one, is ended at once.  Completions may be lost;
 * events that are queued already stay and name a handle that is no longer valid.
 * Buffers are the consumer's again.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: a service point or a request holds the EP: it is reserved, passive
 * connection pending or tentative connection pending.
 *
 * Threads: one per object.  Page: dat_ep_free(3).
 */
DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle);

/**
 * dat_ep_query - read the parameters of an endpoint
 * @ep_handle: the EP
 * @ep_param_mask: fields that are wanted; others may be filled in too
 * @ep_param: out; the remote address and port are of use while there is a connection or
 *	an attempt at one
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
 * @ep_param: their values
 *
 * All fields are changed or none.  The PZ can be changed while the EP is unconnected or
 * tentative connection pending; EVDs and attributes also while it is reserved or passive
 * connection pending.  Completion flags of receives can't be changed once one was
 * posted.  IA, state, addresses, ports and SRQ are fixed.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown or fixed fields in the mask (DAT_INVALID_ARG2),
 * @ep_param is NULL, has a value out of range, a zone that is not the SRQ's, or
 * completion flags that do not go with what else feeds the EVD (DAT_INVALID_ARG3);
 * DAT_INVALID_HANDLE: the zone is none of this IA (DAT_INVALID_HANDLE_PZ), or an EVD is of
 * another IA or does not take the stream (DAT_INVALID_HANDLE_EVD_RECV, _EVD_REQUEST,
 * _EVD_CONN);
 * DAT_INVALID_STATE: not in this state; the subtype gives the state.  Also if more
 * operations are posted than the new queue holds, or completion flags were to be changed
 * of receives that are posted;
 * DAT_MODEL_NOT_SUPPORTED: an attribute that the provider lacks;
 * DAT_INSUFFICIENT_RESOURCES: memory for the new queues.
 *
 * Threads: one per object.  Page: dat_ep_modify(3).
 */
DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			 const DAT_EP_PARAM *ep_param);

/**
 * dat_ep_get_status - read the state of an endpoint
 * @ep_handle: the EP
 * @ep_state: out; may be NULL
 * @recv_idle: out: no receive is outstanding; may be NULL
 * @request_idle: out: no request is outstanding; may be NULL
 *
 * Return: DAT_SUCCESS.
 *
 * Threads: safe.  Page: dat_ep_get_status(3).
 */
DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle);

/**
 * dat_ep_connect - ask a peer for a connection
 * @ep_handle: unconnected EP with a connect EVD
 * @remote_ia_address: sockaddr_in or sockaddr_in6 of the peer; its port is ignored
 * @remote_conn_qual: connection qualifier of the peer's service point, not 0
 * @timeout: microseconds, not 0; DAT_TIMEOUT_INFINITE leaves the timeout to the transport
 * @private_data_size: bytes of @private_data, from 0 to max_private_data_size
 * @private_data: goes to the peer with the request; may be NULL if its size is 0
 * @quality_of_service: DAT_QOS_BEST_EFFORT, or what dat_qos_supported has
 * @connect_flags: DAT_CONNECT_DEFAULT_FLAG, or MULTIPATH if supports_multipath is DAT_TRUE
 *
 * The EP is active connection pending.  One event follows at its connect EVD:
 * ESTABLISHED, with the peer's private data;
 * PEER_REJECTED: the peer called dat_cr_reject();
 * NON_PEER_REJECTED: the qualifier has no listener, or the listener has no room;
 * UNREACHABLE: there is no route to the peer, or the peer does not answer;
 * TIMED_OUT: @timeout has expired.
 * After all but the first the EP is disconnected.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: the EP is not unconnected; the subtype gives the state;
 * DAT_INVALID_HANDLE: the EP lacks a connect EVD (DAT_INVALID_HANDLE_EVD_CONN);
 * DAT_INVALID_ADDRESS: neither IPv4 nor IPv6 (DAT_INVALID_ADDRESS_UNSUPPORTED), or the
 * adapter has no address of that family (DAT_INVALID_ADDRESS_UNREACHABLE);
 * DAT_INVALID_PARAMETER: @remote_ia_address is NULL (DAT_INVALID_ARG2), qualifier out of
 * range (DAT_INVALID_ARG3), @timeout is 0 (DAT_INVALID_ARG4), size out of range
 * (DAT_INVALID_ARG5), @private_data is NULL (DAT_INVALID_ARG6), unknown @connect_flags
 * (DAT_INVALID_ARG8);
 * DAT_MODEL_NOT_SUPPORTED: @quality_of_service or @connect_flags;
 * DAT_INSUFFICIENT_RESOURCES: memory or limits of the adapter.
 *
 * Threads: one per object.  Page: dat_ep_connect(3).
 */
DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
			  DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			  DAT_COUNT private_data_size, const DAT_PVOID private_data,
			  DAT_QOS quality_of_service, DAT_CONNECT_FLAGS connect_flags);

/**
 * dat_ep_dup_connect - ask the peer of another endpoint for a connection
 * @ep_handle: unconnected EP with a connect EVD
 * @dup_ep_handle: connected EP of the same IA; gives address, qualifier and flags of the
 *	call that connected it
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
 * dat_ep_disconnect - end a connection, or the attempt at one
 * @ep_handle: the EP
 * @disconnect_flags: DAT_CLOSE_GRACEFUL_FLAG: outstanding requests complete first, and new
 *	ones are refused; DAT_CLOSE_ABRUPT_FLAG: at once
 *
 * Connected: DAT_CONNECTION_EVENT_DISCONNECTED follows.  Connecting or accepting: either
 * flag gives up the attempt, and the same event follows.  Disconnect pending: abrupt does
 * not wait any longer, graceful changes nothing.  Disconnected: nothing happens.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: there is neither a connection nor an attempt of this EP; the subtype
 * gives its state;
 * DAT_INVALID_PARAMETER: unknown @disconnect_flags (DAT_INVALID_ARG2);
 * DAT_INSUFFICIENT_RESOURCES: memory.
 *
 * Threads: one per object.  Page: dat_ep_disconnect(3).
 */
DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS disconnect_flags);

/**
 * dat_ep_reset - make a disconnected endpoint connectable again
 * @ep_handle: disconnected EP; on an unconnected EP the call does nothing, and posted
 *	receives stay
 *
 * Completions that were not dequeued may be lost: to see them all, post one more
 * operation, which is flushed, and dequeue until it comes.  Private data of the peer
 * is no longer valid.  May block.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: neither disconnected nor unconnected; the subtype gives the state.
 *
 * Threads: one per object.  Page: dat_ep_reset(3).
 */
DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle);

/**
 * dat_ep_post_send - send a message
 * @ep_handle: connected EP; on a disconnected one it is flushed at once
 * @num_segments: entries of @local_iov, from 0 to max_request_iov
 * @local_iov: the message, at most max_message_size bytes; may be NULL if @num_segments
 *	is 0, which sends an empty message.  The array may be used again at return if
 *	iov_ownership_on_return is DAT_IOV_CONSUMER, the memory after completion
 * @user_cookie: returned in the completion
 * @completion_flags: bitwise OR of SUPPRESS, SOLICITED_WAIT and BARRIER_FENCE, and of
 *	UNSIGNALLED if request_completion_flags has it
 *
 * The peer must have posted a receive that is large enough.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: neither connected nor disconnected; the subtype gives the state;
 * DAT_INSUFFICIENT_RESOURCES: max_request_dtos requests are outstanding
 * (DAT_RESOURCE_TEP);
 * DAT_INVALID_PARAMETER: too many segments (DAT_INVALID_ARG2), one is outside of its LMR
 * or @local_iov is NULL (DAT_INVALID_ARG3), wrong @completion_flags (DAT_INVALID_ARG5);
 * DAT_LENGTH_ERROR: longer than max_message_size;
 * DAT_PROTECTION_VIOLATION: an LMR is of another zone than the EP;
 * DAT_PRIVILEGES_VIOLATION: no such LMR.
 *
 * Threads: one per object.  Page: dat_ep_post_send(3).
 */
DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_post_recv - post a buffer for a message
 * @ep_handle: EP without an SRQ, in any state; on a disconnected one it is flushed at once
 * @num_segments: entries of @local_iov, from 0 to max_recv_iov
 * @local_iov: memory for the message; needs DAT_MEM_PRIV_LOCAL_WRITE_FLAG; may be NULL if
 *	@num_segments is 0, which makes a buffer for an empty message
 * @user_cookie: returned in the completion
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
 * DAT_PRIVILEGES_VIOLATION: no such LMR, or it may not be written.
 *
 * Threads: one per object.  Page: dat_ep_post_recv(3).
 */
DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_post_rdma_read - read memory of the peer
 * @ep_handle: connected EP; on a disconnected one it is flushed at once
 * @num_segments: entries of @local_iov, from 0 to max_rdma_read_iov
 * @local_iov: memory for the data, filled from the front; needs
 *	DAT_MEM_PRIV_LOCAL_WRITE_FLAG, and DAT_MEM_PRIV_REMOTE_WRITE_FLAG as well if
 *	rdma_write_for_rdma_read_req is DAT_TRUE
 * @user_cookie: returned in the completion
 * @remote_buffer: the peer's memory, with DAT_MEM_PRIV_REMOTE_READ_FLAG; its length is
 *	read, at most max_rdma_size
 * @completion_flags: SUPPRESS, BARRIER_FENCE, and UNSIGNALLED if request_completion_flags
 *	has it; bitwise OR
 *
 * The peer's program is not involved.  A read of memory that it has not exposed completes
 * with DAT_DTO_ERR_REMOTE_ACCESS and breaks the connection.
 *
 * Return: as dat_ep_post_send(), but
 * DAT_LENGTH_ERROR: @local_iov is shorter than @remote_buffer, or too long;
 * DAT_INVALID_PARAMETER: also @remote_buffer is NULL (DAT_INVALID_ARG5), wrong
 * @completion_flags (DAT_INVALID_ARG6);
 * DAT_PRIVILEGES_VIOLATION: no such LMR, or it may not be written.
 *
 * Threads: one per object.  Page: dat_ep_post_rdma_read(3).
 */
DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_buffer,
				 DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_post_rdma_write - write memory of the peer
 * @ep_handle: connected EP; on a disconnected one it is flushed at once
 * @num_segments: entries of @local_iov, from 0 to max_rdma_write_iov
 * @local_iov: the data, at most max_rdma_size bytes
 * @user_cookie: returned in the completion
 * @remote_buffer: the peer's memory, with DAT_MEM_PRIV_REMOTE_WRITE_FLAG; filled from
 *	its front
 * @completion_flags: as for dat_ep_post_rdma_read()
 *
 * The peer's program is not involved; a send that is posted next arrives after the data.
 *
 * Return: as dat_ep_post_rdma_read(), but
 * DAT_LENGTH_ERROR: @remote_buffer is shorter than @local_iov;
 * DAT_PRIVILEGES_VIOLATION: no such LMR.
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
 * @nbufs_allocated: out: buffers that messages have taken and not completed (with an
 *	SRQ), or that were posted and have not completed; may be NULL
 * @bufs_alloc_span: out: from the oldest message in progress to the youngest; may be NULL
 *
 * A count that the provider can't tell is DAT_VALUE_UNKNOWN; see ep_recv_info_supported.
 *
 * Return: DAT_SUCCESS;
 * DAT_MODEL_NOT_SUPPORTED: the provider knows neither count.
 *
 * Threads: one per object.  Page: dat_ep_recv_query(3).
 */
DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
			     DAT_COUNT *bufs_alloc_span);

/**
 * dat_ep_set_watermark - limit the buffers that an endpoint holds
 * @ep_handle: the EP
 * @soft_high_watermark: buffers; above it one async event comes, whose dat_handle is the
 *	EP and whose reason is DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT;
 *	DAT_WATERMARK_INFINITE: never
 * @hard_high_watermark: buffers; above it the connection is broken;
 *	DAT_WATERMARK_INFINITE: never
 *
 * The event or the end of the connection may come during the call.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: out of range (DAT_INVALID_ARG2, DAT_INVALID_ARG3);
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
