/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Event dispatchers (EVD), which queue events, and consumer notification objects
 * (CNO), by which a thread waits for several EVDs.
 * Rules that hold for all functions are in udat.h.
 *
 * An event notifies unless its operation succeeded and was posted UNSIGNALLED, or is a
 * receive of an EP with the attribute SOLICITED_WAIT whose sender did not set that flag.
 * An event that notifies wakes the thread in dat_evd_wait(); if there is none, and the EVD
 * is enabled and has a CNO, it triggers the CNO.  An event that does not notify is found
 * by the next dat_evd_dequeue() or dat_evd_wait().
 *
 * The handle of an invalid EVD is reported with the subtype DAT_INVALID_HANDLE1.
 */
#ifndef DAT_API_EVD_H
#define DAT_API_EVD_H

#include "udat.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dat_evd_create - make an event dispatcher
 * @ia_handle: parent
 * @evd_min_qlen: events that the EVD must hold, from 1 to max_evd_qlen; dat_evd_query()
 *	returns how many it holds.  It should have room for all operations outstanding on
 *	the EPs that feed it: an event that finds the EVD full is lost
 * @cno_handle: CNO to trigger, or DAT_HANDLE_NULL
 * @evd_flags: bitwise OR of the streams that may feed the EVD; see
 *	evd_stream_merging_supported for those that go together
 * @evd_handle: out
 *
 * It is enabled and waitable.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @evd_min_qlen is not positive (DAT_INVALID_ARG2), @evd_flags is
 * 0, unknown or a mixture that the provider lacks (DAT_INVALID_ARG4), @evd_handle is
 * NULL (DAT_INVALID_ARG5);
 * DAT_INSUFFICIENT_RESOURCES: @evd_min_qlen is too large, or too many EVDs
 * (DAT_RESOURCE_TEVD); memory (DAT_RESOURCE_MEMORY).
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
 * Events in it are lost.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: an EP or service point feeds it, it is the async EVD that
 * dat_ia_open() made, or a thread waits on it (DAT_INVALID_STATE_EVD_IN_USE).
 *
 * Threads: one per object.  Page: dat_evd_free(3).
 */
DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle);

/**
 * dat_evd_query - read the parameters of an event dispatcher
 * @evd_handle: the EVD
 * @evd_param_mask: fields that are wanted; others may be filled in too
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
 * dat_evd_modify_cno - have an event dispatcher trigger another CNO
 * @evd_handle: the EVD
 * @cno_handle: the CNO, or DAT_HANDLE_NULL for none
 *
 * An event that comes at the same time triggers the old or the new one.  To miss none:
 * disable the EVD, change the CNO, enable it, and dequeue until it is empty.
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
 * Whether events that are queued already trigger is up to the provider: dequeue until the
 * EVD is empty.
 *
 * Return: DAT_SUCCESS, also if it was enabled.
 *
 * Threads: safe.  Page: dat_evd_enable(3).
 */
DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd_handle);

/**
 * dat_evd_disable - keep an event dispatcher from triggering its CNO
 * @evd_handle: the EVD
 *
 * Events are queued and dat_evd_wait() works as before.
 *
 * Return: DAT_SUCCESS, also if it was disabled.
 *
 * Threads: safe.  Page: dat_evd_disable(3).
 */
DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd_handle);

/**
 * dat_evd_set_unwaitable - refuse waits on an event dispatcher
 * @evd_handle: the EVD
 *
 * A thread that waits, and each that begins to wait, returns DAT_INVALID_STATE.  Events are
 * queued, can be dequeued, and trigger the CNO as before.
 *
 * Return: DAT_SUCCESS, also if it was unwaitable.
 *
 * Threads: safe.  Page: dat_evd_set_unwaitable(3).
 */
DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle);

/**
 * dat_evd_clear_unwaitable - let threads wait on an event dispatcher again
 * @evd_handle: the EVD
 *
 * Return: DAT_SUCCESS, also if it was waitable.
 *
 * Threads: safe.  Page: dat_evd_clear_unwaitable(3).
 */
DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle);

/**
 * dat_evd_wait - wait for events and take the oldest
 * @evd_handle: the EVD
 * @timeout: microseconds; 0 does not wait; DAT_TIMEOUT_INFINITE: no limit
 * @threshold: events that must be queued, from 1 to the length of the queue; more than
 *	1 only if no EP that feeds it has the attribute UNSIGNALLED or SOLICITED_WAIT
 * @event: out
 * @nmore: out: events left in the queue; also stored when @timeout has expired
 *
 * One thread may wait on an EVD.  Meanwhile no other thread can dequeue, and its events do not
 * trigger the CNO.
 *
 * Return: DAT_SUCCESS;
 * DAT_TIMEOUT_EXPIRED: fewer than @threshold events came in time; they stay queued;
 * DAT_INTERRUPTED_CALL: a signal was handled; no event was taken;
 * DAT_ABORT: the IA was closed or the EVD destroyed;
 * DAT_INVALID_STATE: another thread waits (DAT_INVALID_STATE_EVD_WAITER), the EVD is or
 * became unwaitable (DAT_INVALID_STATE_EVD_UNWAITABLE), or @threshold is above 1 and may
 * not be (DAT_INVALID_STATE_EVD_CONFIG_NOTIFY);
 * DAT_INVALID_PARAMETER: @threshold is out of range (DAT_INVALID_ARG3), @event
 * (DAT_INVALID_ARG4) or @nmore (DAT_INVALID_ARG5) is NULL.
 *
 * Threads: safe.  Page: dat_evd_wait(3).
 */
DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			DAT_EVENT *event, DAT_COUNT *nmore);

/**
 * dat_evd_dequeue - take the oldest event, if there is one
 * @evd_handle: the EVD
 * @event: out
 *
 * Never blocks.
 *
 * Return: DAT_SUCCESS;
 * DAT_QUEUE_EMPTY: there is none; without DAT_CLASS_ERROR if the EVD has
 * DAT_EVD_DTO_FLAG;
 * DAT_INVALID_STATE: a thread waits on it (DAT_INVALID_STATE_EVD_WAITER);
 * DAT_INVALID_PARAMETER: @event is NULL (DAT_INVALID_ARG2).
 *
 * Threads: safe.  Page: dat_evd_dequeue(3).
 */
DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);

/**
 * dat_evd_post_se - queue a software event
 * @evd_handle: an EVD with DAT_EVD_SOFTWARE_FLAG
 * @event: event whose number is DAT_SOFTWARE_EVENT; its pointer is delivered as it is and
 *	never followed
 *
 * Return: DAT_SUCCESS;
 * DAT_QUEUE_FULL: the event was not queued; no overflow is reported;
 * DAT_INVALID_PARAMETER: the EVD takes no software events (DAT_INVALID_ARG1), or @event is
 * NULL or not a DAT_SOFTWARE_EVENT (DAT_INVALID_ARG2).
 *
 * Threads: one per object.  Page: dat_evd_post_se(3).
 */
DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event);

/**
 * dat_evd_resize - change the length of an event dispatcher's queue
 * @evd_handle: the EVD
 * @evd_min_qlen: events that the EVD must hold, from 1 to max_evd_qlen
 *
 * No event is lost, and their order stays.  Other threads may dequeue meanwhile.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @evd_min_qlen is not positive (DAT_INVALID_ARG2);
 * DAT_INVALID_STATE: more events are queued, or a thread waits on the EVD
 * (DAT_INVALID_STATE_EVD_WAITER);
 * DAT_INSUFFICIENT_RESOURCES: too long (DAT_RESOURCE_TEVD); memory.
 *
 * Threads: one per object.  Page: dat_evd_resize(3).
 */
DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen);

/**
 * dat_cno_create - make a consumer notification object
 * @ia_handle: parent
 * @agent: function to be called when the CNO is triggered, or DAT_OS_WAIT_PROXY_AGENT_NULL
 * @cno_handle: out
 *
 * EVDs are attached by dat_evd_create() and dat_evd_modify_cno().  A trigger is kept
 * until a thread has waited for it.  The agent is called once and then detached.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @agent has data and no function (DAT_INVALID_ARG2), @cno_handle
 * is NULL (DAT_INVALID_ARG3);
 * DAT_INSUFFICIENT_RESOURCES: memory.
 *
 * Threads: safe.  Page: dat_cno_create(3).
 */
DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
			  DAT_CNO_HANDLE *cno_handle);

/**
 * dat_cno_modify_agent - attach another agent
 * @cno_handle: the CNO
 * @agent: replaces the present agent; DAT_OS_WAIT_PROXY_AGENT_NULL detaches it
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @agent has data and no function (DAT_INVALID_ARG2);
 * DAT_INSUFFICIENT_RESOURCES: there is no thread to call the agent with
 * (DAT_RESOURCE_MEMORY).
 *
 * Threads: one per object.  Page: dat_cno_modify_agent(3).
 */
DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT agent);

/**
 * dat_cno_query - read the parameters of a CNO
 * @cno_handle: the CNO
 * @cno_param_mask: fields that are wanted; others may be filled in too
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
 * DAT_INVALID_STATE: an EVD refers to it or a thread waits on it
 * (DAT_INVALID_STATE_CNO_IN_USE).
 *
 * Threads: one per object.  Page: dat_cno_free(3).
 */
DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno_handle);

/**
 * dat_cno_wait - wait for any of a CNO's event dispatchers
 * @cno_handle: the CNO
 * @timeout: microseconds; 0 does not wait; DAT_TIMEOUT_INFINITE: no limit
 * @evd_handle: out: an EVD that triggered the CNO, or DAT_HANDLE_NULL if that EVD was freed
 *	meanwhile, @timeout has expired, a signal came or the IA was closed
 *
 * The EVD is a hint: others may have events as well, and this one may have been emptied
 * meanwhile.  Any number of threads may wait.
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
