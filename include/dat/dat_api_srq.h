/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Shared receive queues (SRQ).  An SRQ has buffers for the messages of several endpoints.
 * udat.h has rules for all functions.  These functions fail unless srq_supported is DAT_TRUE.
 *
 * When a message arrives at a connected EP, the message takes a buffer from the SRQ.  The
 * completion goes to the receive EVD of this EP.  A buffer is available until a message takes
 * the buffer.  A buffer is outstanding until its completion was dequeued.
 */
#ifndef DAT_API_SRQ_H
#define DAT_API_SRQ_H

#include "udat.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dat_srq_create - create a shared receive queue
 * @ia_handle: the parent IA
 * @pz_handle: protection zone of the buffers
 * @srq_attr: number of buffers, from 1 to max_recv_per_srq, and number of segments, from 1 to
 *	max_iov_segments_per_dto.  The provider may choose larger values, which
 *	dat_srq_query() returns.  The low watermark must be DAT_SRQ_LW_DEFAULT
 * @srq_handle: out: the new SRQ
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: an attribute is out of range or @srq_attr is NULL
 * (DAT_INVALID_ARG3), @srq_handle is NULL (DAT_INVALID_ARG4);
 * DAT_MODEL_NOT_SUPPORTED: the adapter does not support SRQs;
 * DAT_INSUFFICIENT_RESOURCES: too many SRQs (DAT_RESOURCE_SRQ); no memory.
 *
 * Threads: safe.  Page: dat_srq_create(3).
 */
DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle);

/**
 * dat_srq_free - destroy a shared receive queue
 * @srq_handle: the SRQ
 *
 * Afterwards, the consumer may reuse the memory of the buffers.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: an EP uses the SRQ (DAT_INVALID_STATE_SRQ_IN_USE).
 *
 * Threads: one per object.  Page: dat_srq_free(3).
 */
DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle);

/**
 * dat_srq_post_recv - add a receive buffer to an SRQ
 * @srq_handle: the SRQ
 * @num_segments: number of entries of @local_iov, from 0 to max_recv_iov
 * @local_iov: segments of the buffer, which need DAT_MEM_PRIV_LOCAL_WRITE_FLAG; may be NULL if
 *	@num_segments is 0: the buffer is then for an empty message
 * @user_cookie: value that the completion event returns
 *
 * The completion is a notification event, unless the EP that receives the message has the
 * attribute SOLICITED_WAIT and the sender did not set SOLICITED_WAIT.
 *
 * Return: DAT_SUCCESS;
 * DAT_INSUFFICIENT_RESOURCES: max_recv_dtos buffers are outstanding (DAT_RESOURCE_SRQ);
 * DAT_INVALID_PARAMETER: too many segments (DAT_INVALID_ARG2), or a segment is outside its
 * LMR (DAT_INVALID_ARG3);
 * DAT_PROTECTION_VIOLATION: an LMR and the SRQ are in different protection zones;
 * DAT_PRIVILEGES_VIOLATION: a segment names no LMR, or an LMR that may not be written;
 * DAT_LENGTH_ERROR: the total length of the segments exceeds max_message_size.
 *
 * Threads: one per object.  Page: dat_srq_post_recv(3).
 */
DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie);

/**
 * dat_srq_query - read the parameters of a shared receive queue
 * @srq_handle: the SRQ
 * @srq_param_mask: fields to return; other fields may be filled in, too
 * @srq_param: out; counts that the provider does not know (see srq_info_supported) are
 *	DAT_VALUE_UNKNOWN
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @srq_param is NULL
 * (DAT_INVALID_ARG3).
 *
 * Threads: one per object.  Page: dat_srq_query(3).
 */
DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK srq_param_mask,
			 DAT_SRQ_PARAM *srq_param);

/**
 * dat_srq_resize - change the maximum number of buffers of an SRQ
 * @srq_handle: the SRQ
 * @srq_max_recv_dto: new maximum number of outstanding buffers, from 1 to max_recv_per_srq
 *
 * No buffer and no message is lost.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @srq_max_recv_dto is out of range (DAT_INVALID_ARG2);
 * DAT_INVALID_STATE: more buffers are outstanding than the new queue can hold, or the low watermark
 * is higher than @srq_max_recv_dto;
 * DAT_INSUFFICIENT_RESOURCES: no memory.
 *
 * Threads: one per object.  Page: dat_srq_resize(3).
 */
DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto);

/**
 * dat_srq_set_lw - request an async event when an SRQ has few buffers
 * @srq_handle: the SRQ
 * @low_watermark: number of buffers, from 0 to max_recv_dtos
 *
 * When fewer than @low_watermark buffers are available, the IA gets one async event, with the SRQ
 * as dat_handle and the reason DAT_SRQ_LOW_WATERMARK_EVENT.  The event may arrive during the call.
 * The IA gets no further event for the watermark until the consumer sets the watermark again.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @low_watermark is out of range (DAT_INVALID_ARG2);
 * DAT_MODEL_NOT_SUPPORTED: srq_watermarks_supported lacks DAT_SRQ_WATERMARKS_LOW.
 *
 * Threads: one per object.  Page: dat_srq_set_lw(3).
 */
DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark);

#ifdef __cplusplus
}
#endif

#endif /* DAT_API_SRQ_H */
