/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Event dispatchers (EVD), which queue events, and consumer notification objects
 * (CNO), with which a thread waits for several EVDs.  udat.h has rules for all functions.
 *
 * All events are notification events, with two exceptions: the success of an operation that
 * was posted UNSIGNALLED; and, if an EP has the attribute SOLICITED_WAIT, a receive whose sender
 * did not set SOLICITED_WAIT.  A notification event wakes the thread in dat_evd_wait().  If
 * no thread waits, and the EVD is enabled and has a CNO, the event triggers the CNO.  Other
 * events stay queued until the next dat_evd_dequeue() or dat_evd_wait().
 *
 * If an EVD handle is invalid, functions return the subtype DAT_INVALID_HANDLE1.
 */
#ifndef DAT_API_EVD_H
#define DAT_API_EVD_H

#include "udat.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dat_evd_create - create an event dispatcher
 * @ia_handle: the parent IA
 * @evd_min_qlen: minimum queue length, from 1 to max_evd_qlen; dat_evd_query() returns the
 *	actual length.  The queue should have room for all operations outstanding on the EPs
 *	that feed the EVD, because events are lost while the queue is full
 * @cno_handle: CNO to trigger, or DAT_HANDLE_NULL
 * @evd_flags: bitwise OR of the streams that may feed the EVD; see
 *	evd_stream_merging_supported for the allowed combinations
 * @evd_handle: out: the new EVD
 *
 * The new EVD is enabled and waitable.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @evd_min_qlen is not positive (DAT_INVALID_ARG2), @evd_flags is
 * 0, unknown or an unsupported combination (DAT_INVALID_ARG4), @evd_handle is
 * NULL (DAT_INVALID_ARG5);
 * DAT_INSUFFICIENT_RESOURCES: @evd_min_qlen is too large, or too many EVDs
 * (DAT_RESOURCE_TEVD); no memory (DAT_RESOURCE_MEMORY).
 *
 * Threads: safe.  Page: dat_evd_create(3).
 */
DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			  DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
			  DAT_EVD_HANDLE *evd_handle);

/**
 * dat_evd_free - destroy an event dispatcher
 * @evd_handle: the EVD
 *
 * Queued events are lost.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: an EP or service point feeds the EVD, dat_ia_open() has created the EVD,
 * or a thread waits on the EVD (DAT_INVALID_STATE_EVD_IN_USE).
 *
 * Threads: one per object.  Page: dat_evd_free(3).
 */
DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle);

/**
 * dat_evd_query - read the parameters of an event dispatcher
 * @evd_handle: the EVD
 * @evd_param_mask: fields to return; other fields may be filled in, too
 * @evd_param: out
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @evd_param is NULL
 * (DAT_INVALID_ARG3).
 *
 * Threads: one per object.  Page: dat_evd_query(3).
 */
DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK evd_param_mask,
			 DAT_EVD_PARAM *evd_param);

/**
 * dat_evd_modify_cno - change the CNO that an event dispatcher triggers
 * @evd_handle: the EVD
 * @cno_handle: the new CNO, or DAT_HANDLE_NULL for no CNO
 *
 * An event that arrives during the call triggers either the old or the new CNO.  To miss no
 * event, disable the EVD, change the CNO, enable the EVD, and dequeue until the EVD is empty.
 *
 * Return: DAT_SUCCESS.
 *
 * Threads: one per object.  Page: dat_evd_modify_cno(3).
 */
DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle);

/**
 * dat_evd_enable - let an event dispatcher trigger its CNO
 * @evd_handle: the EVD
 *
 * The provider determines whether events that are already queued trigger the CNO.  So the
 * consumer must dequeue events until the EVD is empty.
 *
 * Return: DAT_SUCCESS, also if the EVD was already enabled.
 *
 * Threads: safe.  Page: dat_evd_enable(3).
 */
DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd_handle);

/**
 * dat_evd_disable - keep an event dispatcher from triggering its CNO
 * @evd_handle: the EVD
 *
 * Events are still queued, and dat_evd_wait() still works.
 *
 * Return: DAT_SUCCESS, also if the EVD was already disabled.
 *
 * Threads: safe.  Page: dat_evd_disable(3).
 */
DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd_handle);

/**
 * dat_evd_set_unwaitable - refuse waits on an event dispatcher
 * @evd_handle: the EVD
 *
 * Present and later calls of dat_evd_wait() return DAT_INVALID_STATE.  Events are still
 * queued, can still be dequeued, and still trigger the CNO.
 *
 * Return: DAT_SUCCESS, also if the EVD was already unwaitable.
 *
 * Threads: safe.  Page: dat_evd_set_unwaitable(3).
 */
DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle);

/**
 * dat_evd_clear_unwaitable - let threads wait on an event dispatcher again
 * @evd_handle: the EVD
 *
 * Return: DAT_SUCCESS, also if the EVD was already waitable.
 *
 * Threads: safe.  Page: dat_evd_clear_unwaitable(3).
 */
DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle);

/**
 * dat_evd_wait - wait for events and take the oldest event
 * @evd_handle: the EVD
 * @timeout: microseconds; 0: do not wait; DAT_TIMEOUT_INFINITE: no limit
 * @threshold: number of queued events to wait for, from 1 to the queue length.  A threshold above
 *	1 is allowed only if no EP that feeds the EVD has the attribute UNSIGNALLED or
 *	SOLICITED_WAIT
 * @event: out
 * @nmore: out: number of events left in the queue; also stored when @timeout has expired
 *
 * Only one thread may wait on an EVD.  While a thread waits, no other thread can dequeue, and
 * events of the EVD do not trigger the CNO.
 *
 * Return: DAT_SUCCESS;
 * DAT_TIMEOUT_EXPIRED: fewer than @threshold events arrived in time; these events stay queued;
 * DAT_INTERRUPTED_CALL: a signal was handled; no event was taken;
 * DAT_ABORT: the IA was closed, or the EVD was destroyed;
 * DAT_INVALID_STATE: another thread waits (DAT_INVALID_STATE_EVD_WAITER), the EVD is or
 * became unwaitable (DAT_INVALID_STATE_EVD_UNWAITABLE), or @threshold is above 1 and an EP has
 * UNSIGNALLED or SOLICITED_WAIT (DAT_INVALID_STATE_EVD_CONFIG_NOTIFY);
 * DAT_INVALID_PARAMETER: @threshold is out of range (DAT_INVALID_ARG3), @event
 * (DAT_INVALID_ARG4) or @nmore (DAT_INVALID_ARG5) is NULL.
 *
 * Threads: safe.  Page: dat_evd_wait(3).
 */
DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			DAT_EVENT *event, DAT_COUNT *nmore);

/**
 * dat_evd_dequeue - take the oldest event from the queue, if an event is queued
 * @evd_handle: the EVD
 * @event: out
 *
 * The call never blocks.
 *
 * Return: DAT_SUCCESS;
 * DAT_QUEUE_EMPTY: no event is queued; if the EVD has DAT_EVD_DTO_FLAG, the return code has no
 * DAT_CLASS_ERROR;
 * DAT_INVALID_STATE: a thread waits on the EVD (DAT_INVALID_STATE_EVD_WAITER);
 * DAT_INVALID_PARAMETER: @event is NULL (DAT_INVALID_ARG2).
 *
 * Threads: safe.  Page: dat_evd_dequeue(3).
 */
DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);

/**
 * dat_evd_post_se - queue a software event
 * @evd_handle: an EVD with DAT_EVD_SOFTWARE_FLAG
 * @event: event whose number is DAT_SOFTWARE_EVENT; the library delivers the event's pointer
 *	unchanged and never dereferences the pointer
 *
 * Return: DAT_SUCCESS;
 * DAT_QUEUE_FULL: the event was not queued; the async EVD gets no overflow event;
 * DAT_INVALID_PARAMETER: the EVD takes no software events (DAT_INVALID_ARG1), or @event is
 * NULL or not a DAT_SOFTWARE_EVENT (DAT_INVALID_ARG2).
 *
 * Threads: one per object.  Page: dat_evd_post_se(3).
 */
DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event);

/**
 * dat_evd_resize - change the length of an event dispatcher's queue
 * @evd_handle: the EVD
 * @evd_min_qlen: minimum queue length, from 1 to max_evd_qlen
 *
 * No event is lost, and events keep their order.  Other threads may dequeue during the call.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @evd_min_qlen is not positive (DAT_INVALID_ARG2);
 * DAT_INVALID_STATE: more events are queued than the new queue can hold, or a thread waits on the
 * EVD (DAT_INVALID_STATE_EVD_WAITER);
 * DAT_INSUFFICIENT_RESOURCES: @evd_min_qlen is too large (DAT_RESOURCE_TEVD); no memory.
 *
 * Threads: one per object.  Page: dat_evd_resize(3).
 */
DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen);

/**
 * dat_cno_create - create a consumer notification object
 * @ia_handle: the parent IA
 * @agent: function to be called when the CNO is triggered, or DAT_OS_WAIT_PROXY_AGENT_NULL
 * @cno_handle: out: the new CNO
 *
 * dat_evd_create() and dat_evd_modify_cno() attach EVDs to a CNO.  A CNO stays triggered until
 * dat_cno_wait() consumes the trigger.  The library calls the agent once and then detaches it.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @agent has data but no function (DAT_INVALID_ARG2), @cno_handle
 * is NULL (DAT_INVALID_ARG3);
 * DAT_INSUFFICIENT_RESOURCES: no memory.
 *
 * Threads: safe.  Page: dat_cno_create(3).
 */
DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
			  DAT_CNO_HANDLE *cno_handle);

/**
 * dat_cno_modify_agent - replace or detach the agent of a CNO
 * @cno_handle: the CNO
 * @agent: new agent; DAT_OS_WAIT_PROXY_AGENT_NULL: detach the present agent
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @agent has data but no function (DAT_INVALID_ARG2);
 * DAT_INSUFFICIENT_RESOURCES: the library cannot create the thread that calls the agent
 * (DAT_RESOURCE_MEMORY).
 *
 * Threads: one per object.  Page: dat_cno_modify_agent(3).
 */
DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT agent);

/**
 * dat_cno_query - read the parameters of a CNO
 * @cno_handle: the CNO
 * @cno_param_mask: fields to return; other fields may be filled in, too
 * @cno_param: out
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @cno_param is NULL
 * (DAT_INVALID_ARG3).
 *
 * Threads: one per object.  Page: dat_cno_query(3).
 */
DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno_handle, DAT_CNO_PARAM_MASK cno_param_mask,
			 DAT_CNO_PARAM *cno_param);

/**
 * dat_cno_free - destroy a CNO
 * @cno_handle: the CNO
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: an EVD uses the CNO, or a thread waits on the CNO
 * (DAT_INVALID_STATE_CNO_IN_USE).
 *
 * Threads: one per object.  Page: dat_cno_free(3).
 */
DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno_handle);

/**
 * dat_cno_wait - wait for any of a CNO's event dispatchers
 * @cno_handle: the CNO
 * @timeout: microseconds; 0: do not wait; DAT_TIMEOUT_INFINITE: no limit
 * @evd_handle: out: an EVD that triggered the CNO; DAT_HANDLE_NULL if the EVD has been freed, if
 *	@timeout has expired, after a signal, or if the IA was closed
 *
 * *@evd_handle is only a hint: other EVDs may have events, too, and another thread may have
 * dequeued the events of this EVD.  Any number of threads may wait.
 *
 * Return: DAT_SUCCESS;
 * DAT_QUEUE_EMPTY: @timeout has expired;
 * DAT_INTERRUPTED_CALL: a signal was handled;
 * DAT_INVALID_PARAMETER: @evd_handle is NULL (DAT_INVALID_ARG3).
 *
 * Threads: safe.  Page: dat_cno_wait(3).
 */
DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout,
			DAT_EVD_HANDLE *evd_handle);

#ifdef __cplusplus
}
#endif

#endif /* DAT_API_EVD_H */
