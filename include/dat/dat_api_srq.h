/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared receive queues (SRQ): buffers for the messages of several endpoints.
 * Rules that hold for all functions are in udat.h.  These functions fail unless
 * srq_supported is DAT_TRUE.
 *
 * A message takes a buffer when it comes in over a connected EP, and the completion
 * goes to that EP's receive EVD.  A buffer is available until a message takes it, and
 * outstanding until its completion was dequeued.
 */
#ifndef DAT_API_SRQ_H
#define DAT_API_SRQ_H

#include "udat.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dat_srq_create - make a shared receive queue
 * @ia_handle: parent
 * @pz_handle: protection zone of its buffers
 * @srq_attr: sizes, from 1 to max_recv_per_srq and max_iov_segments_per_dto; the provider
 *	may give more, see dat_srq_query(); the low watermark must be
 *	DAT_SRQ_LW_DEFAULT
 * @srq_handle: out
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: an attribute is out of range or @srq_attr is NULL
 * (DAT_INVALID_ARG3), @srq_handle is NULL (DAT_INVALID_ARG4);
 * DAT_MODEL_NOT_SUPPORTED: the adapter has no SRQs;
 * DAT_INSUFFICIENT_RESOURCES: too many SRQs (DAT_RESOURCE_SRQ); memory.
 *
 * Threads: safe.  Page: dat_srq_create(3).
 */
DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle);

/**
 * dat_srq_free - destroy a shared receive queue
 * @srq_handle: the SRQ
 *
 * Its buffers are the consumer's again.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: an EP uses it (DAT_INVALID_STATE_SRQ_IN_USE).
 *
 * Threads: one per object.  Page: dat_srq_free(3).
 */
DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle);

/**
 * dat_srq_post_recv - add a buffer
 * @srq_handle: the SRQ
 * @num_segments: entries of @local_iov, from 0 to max_recv_iov
 * @local_iov: memory for the message; needs DAT_MEM_PRIV_LOCAL_WRITE_FLAG; may be NULL if
 *	@num_segments is 0, which makes a buffer for empty messages
 * @user_cookie: returned in the completion
 *
 * Each completion notifies, unless an EP has the attribute SOLICITED_WAIT and the sender
 * did not request a notification.
 *
 * Return: DAT_SUCCESS;
 * DAT_INSUFFICIENT_RESOURCES: max_recv_dtos buffers are outstanding (DAT_RESOURCE_SRQ);
 * DAT_INVALID_PARAMETER: too many segments (DAT_INVALID_ARG2), or one is outside of its
 * LMR (DAT_INVALID_ARG3);
 * DAT_PROTECTION_VIOLATION: an LMR is of another zone than the SRQ;
 * DAT_PRIVILEGES_VIOLATION: no such LMR, or it may not be written;
 * DAT_LENGTH_ERROR: the segments are longer than max_message_size together.
 *
 * Threads: one per object.  Page: dat_srq_post_recv(3).
 */
DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie);

/**
 * dat_srq_query - read the parameters of a shared receive queue
 * @srq_handle: the SRQ
 * @srq_param_mask: fields that are wanted; others may be filled in too
 * @srq_param: out; counts that the provider can't tell (see srq_info_supported) are
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
 * dat_srq_resize - change the number of buffers
 * @srq_handle: the SRQ
 * @srq_max_recv_dto: buffers that the SRQ must hold, from 1 to max_recv_per_srq
 *
 * No buffer and no message is lost.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: out of range (DAT_INVALID_ARG2);
 * DAT_INVALID_STATE: more are outstanding, or the low watermark is higher;
 * DAT_INSUFFICIENT_RESOURCES: memory.
 *
 * Threads: one per object.  Page: dat_srq_resize(3).
 */
DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto);

/**
 * dat_srq_set_lw - ask for an event when few buffers are left
 * @srq_handle: the SRQ
 * @low_watermark: buffers, from 0 to max_recv_dtos
 *
 * As soon as fewer than @low_watermark buffers are available, perhaps during the call,
 * one async event comes, whose dat_handle is the SRQ and whose reason is
 * DAT_SRQ_LOW_WATERMARK_EVENT.  No other event comes until the watermark is set again.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: out of range (DAT_INVALID_ARG2);
 * DAT_MODEL_NOT_SUPPORTED: srq_watermarks_supported lacks DAT_SRQ_WATERMARKS_LOW.
 *
 * Threads: one per object.  Page: dat_srq_set_lw(3).
 */
DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark);

#ifdef __cplusplus
}
#endif

#endif /* DAT_API_SRQ_H */
