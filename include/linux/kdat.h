/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * kDAPL: Direct Access Transport for kernel modules.
 *
 *	#include <linux/kdat.h>
 *	MODULE_INFO(import_ns, "DAT");
 *
 * MODULE_IMPORT_NS() does the same, but takes a name before Linux 6.13 and a string since then.
 *
 * The functions are exported as kdat_*().  This header also defines DAT's names for them, dat_*(),
 * unless KDAT_NO_PUBLIC_NAMES is defined.
 *
 * Rules for all functions
 * =======================
 *
 * Every function may return these errors, which the descriptions omit:
 *
 *   DAT_INVALID_HANDLE     a handle is NULL, was freed, or names an object of another kind; two
 *                          handles belong to different IAs
 *   DAT_INVALID_STATE      the function does not allow the caller's context; the function does not
 *                          detect a spinlock that the caller holds
 *   DAT_INTERNAL_ERROR     a bug, or the RDMA device is gone (DAT_RESOURCE_DEVICE)
 *
 * A failed call has no effect and stores no result.  Calls on one object may run at the same time,
 * except frees: the consumer must not use an object during its free.  If a call uses an object
 * during its free, the call either takes effect before the free or returns an error; see also
 * dat_ep_free().
 *
 * "Context: process": the function may sleep.  The caller holds no spinlock, and neither preemption
 * nor softirqs are disabled.
 *
 * "Context: BH": the function neither sleeps nor allocates.  The function may be called anywhere
 * except in hard interrupt and with interrupts disabled.  If a lock is taken in an upcall in BH
 * context, the consumer takes the lock with spin_lock_bh() elsewhere.
 *
 * Upcalls
 * =======
 *
 * If the upcall policy of an EVD is not DISABLE, the EVD calls its consumer when a notification
 * event arrives.  All events are notification events, except the success of an operation that was
 * posted UNSIGNALLED.  Such a success is delivered with the next notification event.
 *
 *   policy            at a time   the event                more_events     continues until
 *   ---------------   ---------   ----------------------   -------------   ----------------
 *   DISABLE           0           stays queued             -               -
 *   SINGLE_INSTANCE   1           is taken from the queue  others queued   queue is empty
 *   MANY              up to 100   is taken from the queue  others queued   queue is empty
 *   NORIFY            1           stays queued, NULL       TRUE            once; see below
 *   TEARDOWN          0           stays queued             -               -
 *
 * With MANY, upcalls that run at the same time have no order.  Their number depends on the CPUs at
 * which events arrive.  With NORIFY, the consumer empties the queue: the next upcall comes after
 * dat_evd_dequeue() has returned DAT_QUEUE_EMPTY, or after an upcall that left the queue empty.
 *
 * The context of the upcalls depends on the streams of the EVD:
 *
 *   streams                    context of upcalls
 *   ------------------------   ------------------
 *   only DTO, RMR_BIND and     BH: an upcall must not sleep and allocates with GFP_ATOMIC; the
 *   SOFTWARE                   upcall usually follows on the CPU that took the completion
 *   at least one of CR,        process: an upcall may sleep, accept, connect, and free objects
 *   CONNECTION and ASYNC       other than this EVD; upcalls run one at a time also with MANY
 *
 * Upcalls that may sleep run in a workqueue with a rescuer (WQ_MEM_RECLAIM), so that drivers of
 * block devices and file systems make progress when the kernel has no free memory.  Such an upcall
 * must not flush a work of a workqueue without a rescuer.
 *
 * No upcall runs inside a call of the consumer: the completion of a post is delivered later.  So
 * the consumer and its upcall may take the same lock, and the consumer may post while holding the
 * lock.  The event pointer is valid until the upcall returns.
 *
 * After the return of dat_evd_free(), dat_ia_close(), or dat_evd_modify_upcall() with TEARDOWN, no
 * upcall runs or begins.  An upcall must not call dat_evd_free(), or dat_evd_modify_upcall() with
 * TEARDOWN, for its own EVD.  An upcall must not call dat_ia_close() for its own IA.  If upcalls of
 * two EVDs free each other's EVD at the same time, they deadlock.
 *
 * Removal of the device
 * =====================
 *
 * An RDMA device may be removed, or its driver unloaded, at any time.  Connections then end with
 * DAT_CONNECTION_EVENT_DISCONNECTED, posted requests are flushed, connection requests are refused,
 * and the async EVD gets DAT_ASYNC_ERROR_IA_CATASTROPHIC.  Memory is no longer registered.  EVDs,
 * their events and their upcalls stay.
 *
 * The event does not say that the removal has ended: it comes first, and it also comes when a
 * device reports a fatal error, which a removal may follow with another event.  So a device may
 * access memory until the consumer has freed its LMRs or closed its IA.
 *
 * After the removal, these calls still work: calls on existing EVDs and on consumer contexts, all
 * frees, dat_ep_disconnect(), dat_cr_reject() and dat_ia_close().  dat_lmr_sync_rdma_read() and
 * dat_lmr_sync_rdma_write() fail for LMRs, since the memory is no longer registered.  All other
 * calls return DAT_INTERNAL_ERROR with DAT_RESOURCE_DEVICE.  When the device is added again, the
 * consumer opens a new IA.
 *
 * Charges
 * =======
 *
 * Memory and RDMA objects are charged to the cgroups of the calling task.  For the init function of
 * a module, the calling task is modprobe.  An IA holds a reference to the network namespace of its
 * opener until the IA is closed.
 *
 * Modules
 * =======
 *
 * A module must close its IAs in its exit function.  If IAs are still open after the exit function,
 * kDAPL closes these IAs abruptly.  Until this close, upcalls may run and use data that the exit
 * function has freed.
 */
#ifndef _LINUX_KDAT_H
#define _LINUX_KDAT_H

#include <dat/dat_version.h>
#include <linux/kdat_types.h>
#include <linux/module.h>

/* ---- Registry and adapters ---- */

struct kdat_provider;
typedef struct kdat_provider DAT_PROVIDER;

/**
 * kdat_ia_openv() - open an adapter
 * @ia_name: "<ibdev>" for port 1 or "<ibdev>:<port>"
 * @async_evd_min_qlen: minimum queue length of the async EVD, from 1
 * @async_evd_handle: in: DAT_HANDLE_NULL: create an EVD for async events, whose upcall the consumer
 *	sets by dat_evd_modify_upcall(); DAT_EVD_ASYNC_EXISTS: the new IA gets no async events;
 *	else an async EVD to use.
 *	out: the async EVD
 * @ia_handle: out: the new IA
 * @dat_major: DAT_VERSION_MAJOR
 * @dat_minor: at most DAT_VERSION_MINOR
 * @thread_safety: ignored, because all calls are thread-safe
 * @owner: module that opens the adapter; NULL for built-in code.  The IA is closed when the module
 *	is unloaded
 *
 * The adapter must be in the caller's network namespace.  Consumers call dat_ia_openv() or
 * dat_ia_open() instead, which set @owner and, for dat_ia_open(), the version.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_PROVIDER_NOT_FOUND: no adapter has this name (DAT_NAME_NOT_REGISTERED), or kDAPL does not
 * have this version (DAT_MAJOR_NOT_FOUND, DAT_MINOR_NOT_FOUND);
 * DAT_MODEL_NOT_SUPPORTED: the adapter's driver is not supported; or *@async_evd_handle is an
 * EVD of another IA, which this IA cannot feed;
 * DAT_INVALID_PARAMETER: @ia_name is NULL or too long (DAT_INVALID_ARG1),
 * @async_evd_min_qlen is not positive (DAT_INVALID_ARG2), a pointer is NULL
 * (DAT_INVALID_ARG3, DAT_INVALID_ARG4);
 * DAT_INSUFFICIENT_RESOURCES: @async_evd_min_qlen is over max_evd_qlen (DAT_RESOURCE_TEVD);
 * no memory, or a cgroup limit.
 */
DAT_RETURN kdat_ia_openv(const DAT_NAME_PTR ia_name, DAT_COUNT async_evd_min_qlen,
			 DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle,
			 DAT_UINT32 dat_major, DAT_UINT32 dat_minor,
			 DAT_BOOLEAN thread_safety, struct module *owner);

/**
 * kdat_ia_query() - read attributes of an adapter and of this implementation
 * @ia_handle: the IA
 * @async_evd_handle: out: async EVD of the IA, or DAT_EVD_OUT_OF_SCOPE; may be NULL
 * @ia_attr_mask: fields to return; other fields may be filled in, too
 * @ia_attr: out; may be NULL if @ia_attr_mask is 0
 * @provider_attr_mask: fields to return
 * @provider_attr: out; may be NULL if @provider_attr_mask is 0
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in a mask (DAT_INVALID_ARG3, DAT_INVALID_ARG5), a
 * pointer is NULL (DAT_INVALID_ARG4, DAT_INVALID_ARG6).
 */
DAT_RETURN kdat_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle,
			 DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			 DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			 DAT_PROVIDER_ATTR *provider_attr);

/**
 * kdat_ia_close() - close an adapter
 * @ia_handle: the IA
 * @ia_flags: DAT_CLOSE_GRACEFUL_FLAG: close only if no object but the async EVD is left;
 *	DAT_CLOSE_ABRUPT_FLAG: destroy all objects, end connections, and report no outstanding
 *	operations
 *
 * The call waits for running upcalls.  When the call begins, the handles of the IA and of its
 * objects become invalid for other callers.
 *
 * Context: process; not in an upcall of the IA.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: objects are left (DAT_INVALID_STATE_IA_IN_USE), or an upcall of the IA makes
 * the call;
 * DAT_INVALID_PARAMETER: unknown flags (DAT_INVALID_ARG2).
 */
DAT_RETURN kdat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS ia_flags);

/**
 * kdat_ia_memtype_hint() - get the preferred length and alignment of registrations
 * @ia_handle: the IA
 * @mem_type: type of the registrations
 * @length: desired length of a registration, in bytes
 * @mem_opt: property to optimize
 * @preferred_length: out: preferred length, in bytes
 * @preferred_alignment: out: preferred alignment, in bytes
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown type (DAT_INVALID_ARG2), @length is 0 (DAT_INVALID_ARG3),
 * unknown flag (DAT_INVALID_ARG4), a pointer is NULL (DAT_INVALID_ARG5, DAT_INVALID_ARG6);
 * DAT_MODEL_NOT_SUPPORTED: lmr_mem_types_supported lacks the type.
 */
DAT_RETURN kdat_ia_memtype_hint(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
				DAT_VLEN length, DAT_MEM_OPTIMIZE_FLAGS mem_opt,
				DAT_VLEN *preferred_length, DAT_VADDR *preferred_alignment);

/**
 * kdat_ia_reserved_lmr() - get the reserved LMR, through which the device accesses all memory
 * @ia_handle: the IA
 * @lmr: out: the reserved LMR, which can only be queried and does not prevent a graceful close
 * @lmr_context: out: context for local segments of any PZ; their virtual_address is a DMA address
 *	of ib_dma_map_*()
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: a pointer is NULL (DAT_INVALID_ARG2, DAT_INVALID_ARG3);
 * DAT_MODEL_NOT_SUPPORTED: reserved_lmr_supported is DAT_FALSE.
 */
DAT_RETURN kdat_ia_reserved_lmr(DAT_IA_HANDLE ia_handle, DAT_LMR_HANDLE *lmr,
				DAT_LMR_CONTEXT *lmr_context);

/**
 * kdat_registry_list_providers() - list the adapters that can be opened
 * @max_to_return: number of entries of @provider_list
 * @number_entries: out: number of adapters, which may exceed @max_to_return
 * @provider_list: out; may be NULL if @max_to_return is 0
 *
 * Lists the adapters of the caller's network namespace.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @max_to_return is negative (DAT_INVALID_ARG1), a pointer is NULL
 * (DAT_INVALID_ARG2, DAT_INVALID_ARG3).
 */
DAT_RETURN kdat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *number_entries,
					DAT_PROVIDER_INFO **provider_list);

/**
 * kdat_registry_add_provider() - register another implementation
 * @provider: table of the implementation
 * @provider_info: name and version
 *
 * The function is not implemented.  The table of a provider has no size, version or owner, so kDAPL
 * could not check its functions or their lifetime.  Use a driver of <rdma/ib_verbs.h> to support a
 * device.
 *
 * Context: process.
 * Return: DAT_INVALID_PARAMETER: a pointer is NULL; DAT_PROVIDER_ALREADY_REGISTERED: an
 * adapter has the name; DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN kdat_registry_add_provider(const DAT_PROVIDER *provider,
				      const DAT_PROVIDER_INFO *provider_info);

/**
 * kdat_registry_remove_provider() - unregister a provider
 * @provider: table of the provider
 * @provider_info: name and version
 *
 * Context: process.
 * Return: DAT_INVALID_PARAMETER: a pointer is NULL; DAT_PROVIDER_IN_USE: an adapter of this driver
 * has the name; DAT_PROVIDER_NOT_FOUND.
 */
DAT_RETURN kdat_registry_remove_provider(const DAT_PROVIDER *provider,
					 const DAT_PROVIDER_INFO *provider_info);

/**
 * kdat_registry_providers_related() - query whether two adapters can replace each other
 * @name1: IA name
 * @name2: IA name
 * @answer: out
 *
 * Context: process.
 * Return: DAT_INVALID_PARAMETER: a pointer is NULL; DAT_MODEL_NOT_SUPPORTED: ha_supported
 * is DAT_FALSE.
 */
DAT_RETURN kdat_registry_providers_related(const DAT_NAME_PTR name1, const DAT_NAME_PTR name2,
					   DAT_HA_RELATIONSHIP *answer);

/* ---- All objects ---- */

/**
 * kdat_set_consumer_context() - attach a value to an object
 * @dat_handle: any object
 * @context: value to attach
 *
 * Context: BH.  Return: DAT_SUCCESS.
 */
DAT_RETURN kdat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context);

/**
 * kdat_get_consumer_context() - read the value attached to an object
 * @dat_handle: any object
 * @context: out; zero if never set
 *
 * Context: BH.  Return: DAT_SUCCESS; DAT_INVALID_PARAMETER: @context is NULL
 * (DAT_INVALID_ARG2).
 */
DAT_RETURN kdat_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context);

/**
 * kdat_get_handle_type() - query the type of the object of a handle
 * @dat_handle: any object
 * @handle_type: out
 *
 * Context: BH.  Return: DAT_SUCCESS; DAT_INVALID_PARAMETER: @handle_type is NULL
 * (DAT_INVALID_ARG2).
 */
DAT_RETURN kdat_get_handle_type(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *handle_type);

/**
 * kdat_strerror() - get the names of a return code
 * @value: return code of a call
 * @major_message: out: name of the type of @value; a constant string
 * @minor_message: out: name of the subtype of @value, or ""; a constant string
 *
 * Context: any.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @value is no return code (DAT_INVALID_ARG1), a pointer is NULL
 * (DAT_INVALID_ARG2, DAT_INVALID_ARG3).
 */
DAT_RETURN kdat_strerror(DAT_RETURN value, const char **major_message,
			 const char **minor_message);

/* ---- Event dispatchers ---- */

/**
 * kdat_evd_kcreate() - create an event dispatcher
 * @ia_handle: the parent IA
 * @evd_min_qlen: minimum queue length, from 1 to max_evd_qlen.  The queue should have room for all
 *	operations outstanding on the EPs that feed the EVD, because events are lost while the
 *	queue is full
 * @upcall_policy: any policy but TEARDOWN
 * @upcall: function to call; may be NULL or DAT_UPCALL_NULL if @upcall_policy is DISABLE
 * @evd_flags: bitwise OR of the streams that may feed the EVD; the streams determine the context of
 *	upcalls
 * @evd_handle: out: the new EVD; upcalls may begin before the call returns
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @evd_min_qlen is not positive (DAT_INVALID_ARG2), unknown policy
 * (DAT_INVALID_ARG3), @upcall has no function although the policy needs one (DAT_INVALID_ARG4), no
 * or unknown streams (DAT_INVALID_ARG5), @evd_handle is NULL (DAT_INVALID_ARG6);
 * DAT_INSUFFICIENT_RESOURCES: @evd_min_qlen is too large (DAT_RESOURCE_TEVD); no memory.
 */
DAT_RETURN kdat_evd_kcreate(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			    DAT_UPCALL_POLICY upcall_policy, const DAT_UPCALL_OBJECT *upcall,
			    DAT_EVD_FLAGS evd_flags, DAT_EVD_HANDLE *evd_handle);

/**
 * kdat_evd_modify_upcall() - change the upcall of an event dispatcher
 * @evd_handle: the EVD
 * @upcall_policy: new policy
 * @upcall: new object, or DAT_UPCALL_SAME
 * @flag: DAT_UPCALL_INVOC_ANY: call the upcall at once if events are queued;
 *	DAT_UPCALL_INVOC_NEW: call the upcall when the next event arrives
 *
 * If an upcall is running, or the EVD has already taken its event from the queue, the old upcall
 * may finish after this call returns.  TEARDOWN waits for such upcalls and sets the policy to
 * DISABLE.  A modification while TEARDOWN waits takes effect after the wait.
 *
 * Context: BH; process with TEARDOWN.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: TEARDOWN from an upcall of this EVD, or in a context that must not sleep;
 * DAT_INVALID_PARAMETER: unknown policy (DAT_INVALID_ARG2), @upcall has no function although the
 * policy needs one (DAT_INVALID_ARG3), unknown flag (DAT_INVALID_ARG4).
 */
DAT_RETURN kdat_evd_modify_upcall(DAT_EVD_HANDLE evd_handle, DAT_UPCALL_POLICY upcall_policy,
				  const DAT_UPCALL_OBJECT *upcall, DAT_UPCALL_FLAG flag);

/**
 * kdat_evd_query() - read the parameters of an event dispatcher
 * @evd_handle: the EVD
 * @evd_param_mask: fields to return; other fields may be filled in, too
 * @evd_param: out
 *
 * Context: BH.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @evd_param is NULL
 * (DAT_INVALID_ARG3).
 */
DAT_RETURN kdat_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK evd_param_mask,
			  DAT_EVD_PARAM *evd_param);

/**
 * kdat_evd_resize() - change the queue length of an event dispatcher
 * @evd_handle: the EVD; events may arrive during the call
 * @evd_min_qlen: minimum queue length, from 1 to max_evd_qlen
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @evd_min_qlen is not positive (DAT_INVALID_ARG2);
 * DAT_INVALID_STATE: more events are queued than the new queue can hold;
 * DAT_INSUFFICIENT_RESOURCES: @evd_min_qlen is over max_evd_qlen (DAT_RESOURCE_TEVD); no memory.
 */
DAT_RETURN kdat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen);

/**
 * kdat_evd_post_se() - queue a software event
 * @evd_handle: EVD with DAT_EVD_SOFTWARE_FLAG
 * @event: event with the event_number DAT_SOFTWARE_EVENT and the consumer's pointer
 *
 * Context: BH.
 * Return: DAT_SUCCESS;
 * DAT_QUEUE_FULL: the event was not queued;
 * DAT_INVALID_PARAMETER: @event is NULL or not a DAT_SOFTWARE_EVENT (DAT_INVALID_ARG2);
 * DAT_INVALID_HANDLE: the EVD takes no software events.
 */
DAT_RETURN kdat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event);

/**
 * kdat_evd_dequeue() - take the oldest event from the queue, if an event is queued
 * @evd_handle: the EVD
 * @event: out
 *
 * The call is allowed while upcalls run: each event goes either to an upcall or to a dequeue.
 *
 * Context: BH.
 * Return: DAT_SUCCESS;
 * DAT_QUEUE_EMPTY: no event is queued;
 * DAT_INVALID_PARAMETER: @event is NULL (DAT_INVALID_ARG2).
 */
DAT_RETURN kdat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);

/**
 * kdat_evd_free() - destroy an event dispatcher
 * @evd_handle: the EVD
 *
 * The call waits for running upcalls.  Queued events are lost, and queued connection requests are
 * refused.
 *
 * Context: process; not in an upcall of this EVD.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: an EP or service point feeds the EVD, or dat_ia_open() has created the EVD
 * (DAT_INVALID_STATE_EVD_IN_USE); an upcall of the EVD makes the call.
 */
DAT_RETURN kdat_evd_free(DAT_EVD_HANDLE evd_handle);

/* ---- Protection zones ---- */

/**
 * kdat_pz_create() - create a protection zone
 * @ia_handle: the parent IA
 * @pz_handle: out: the new PZ
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @pz_handle is NULL (DAT_INVALID_ARG2);
 * DAT_INSUFFICIENT_RESOURCES: too many PZs (DAT_RESOURCE_PROTECTION_DOMAIN); no memory.
 */
DAT_RETURN kdat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle);

/**
 * kdat_pz_query() - read the parameters of a protection zone
 * @pz_handle: the PZ
 * @pz_param_mask: fields to return
 * @pz_param: out
 *
 * Context: BH.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @pz_param is NULL
 * (DAT_INVALID_ARG3).
 */
DAT_RETURN kdat_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
			 DAT_PZ_PARAM *pz_param);

/**
 * kdat_pz_free() - destroy a protection zone
 * @pz_handle: the PZ
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: the protection zone has objects (DAT_INVALID_STATE_PZ_IN_USE).
 */
DAT_RETURN kdat_pz_free(DAT_PZ_HANDLE pz_handle);

/* ---- Memory ---- */

/**
 * kdat_lmr_kcreate() - register kernel memory
 * @ia_handle: the parent IA
 * @mem_type: kind of memory; selects the member of @region_description
 * @region_description: description of the memory
 * @length: total bytes, at least 1; ignored for LMR
 * @pz_handle: protection zone
 * @privileges: privileges of the memory; bitwise OR
 * @va_type: DAT_VA_TYPE_VA
 * @mem_opt: property to optimize; a registration always covers exactly @length bytes
 * @lmr_handle: out: the new LMR
 * @lmr_context: out: value for DAT_LMR_TRIPLETs; may be NULL
 * @rmr_context: out: key for peers; 0 without a remote privilege; may be NULL
 * @registered_length: out: registered bytes; may be NULL
 * @registered_address: out: virtual_address in a segment that begins at the first byte; may be NULL
 *
 * The consumer owns the memory and must keep it until the LMR is freed.  @mem_type determines the
 * content of @region_description::
 *
 *   VIRTUAL             address in the linear map, of vmalloc(), or of static data
 *   PHYSICAL            pages of PAGE_SIZE
 *   PHYSICAL_VAR_PAGES  pages of PAGE_SIZE or of a larger size
 *   PLATFORM            struct scatterlist; the entries between the first and the last byte must
 *                       begin and end at page boundaries
 *   BYPASS              struct scatterlist, which the consumer has mapped by ib_dma_map_sg(), with
 *                       the result of that call as nents; the consumer owns the mapping and syncs
 *                       the caches
 *   LMR                 the memory of another LMR, which may be freed before the new LMR
 *
 * Segments address a virtually contiguous range that starts at @registered_address.  For pages and
 * scatterlists, this is the physical address of the first byte; for BYPASS, it is the DMA address
 * of the first byte.
 *
 * The memory needs a device registration if it has a remote privilege or is not contiguous for the
 * device.  A device registration has at most max_fast_reg_page_list_len pages (see struct
 * ib_device_attr).  kDAPL uses the smallest page size with which the pages suffice.  The first
 * device registration of a protection zone takes as long as a connection, because kDAPL connects
 * the adapter to itself.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_LENGTH_ERROR: @length is 0 or more than max_lmr_block_size;
 * DAT_INVALID_PARAMETER: unknown type (DAT_INVALID_ARG2), bad memory (DAT_INVALID_ARG3),
 * unknown @privileges (DAT_INVALID_ARG6), @va_type (DAT_INVALID_ARG7) or @mem_opt
 * (DAT_INVALID_ARG8), @lmr_handle is NULL (DAT_INVALID_ARG9);
 * DAT_RESERVED_LMR: @region_description names the reserved LMR;
 * DAT_MODEL_NOT_SUPPORTED: lmr_mem_types_supported lacks the type; @va_type is zero-based; the
 * device cannot register memory for the kernel; or the memory is not whole pages, and the device
 * accesses it through bounce buffers with another alignment, as in an encrypted guest;
 * DAT_INVALID_ADDRESS: the adapter has no address, or cannot reach itself;
 * DAT_INTERNAL_ERROR: the device refused the registration;
 * DAT_INSUFFICIENT_RESOURCES: too many registrations, or too many pages in the registration
 * (DAT_RESOURCE_MEMORY_REGION); no memory.
 */
DAT_RETURN kdat_lmr_kcreate(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			    DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			    DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
			    DAT_VA_TYPE va_type, DAT_MEM_OPTIMIZE_FLAGS mem_opt,
			    DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			    DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			    DAT_VADDR *registered_address);

/**
 * kdat_lmr_allocate() - create an LMR without memory, for dat_lmr_fmr()
 * @ia_handle: the parent IA
 * @pz_handle: protection zone
 * @max_pages: maximum number of pages of the LMR, from 1 to the smaller of 1024 and
 *	max_fast_reg_page_list_len of struct ib_device_attr
 * @scope: DAT_LMR_SCOPE_PZ or DAT_LMR_SCOPE_ANY
 * @lmr_handle: out: the new LMR
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @max_pages is below 1 (DAT_INVALID_ARG3), unknown @scope
 * (DAT_INVALID_ARG4), @lmr_handle is NULL (DAT_INVALID_ARG5);
 * DAT_MODEL_NOT_SUPPORTED: fmr_supported is DAT_FALSE, or @scope is not supported;
 * DAT_INSUFFICIENT_RESOURCES: @max_pages is above the maximum, or there are too many registrations
 * (DAT_RESOURCE_MEMORY_REGION); no memory.
 */
DAT_RETURN kdat_lmr_allocate(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			     DAT_COUNT max_pages, DAT_LMR_SCOPE scope,
			     DAT_LMR_HANDLE *lmr_handle);

/**
 * kdat_lmr_fmr() - bind an allocated LMR to memory
 * @lmr_handle: LMR without memory, which dat_lmr_allocate() has created
 * @mem_type: PHYSICAL, PHYSICAL_VAR_PAGES or PLATFORM
 * @region_description: description of the memory
 * @num_pages: number of pages; PLATFORM: at least the number of pages of the scatterlist
 * @privileges: privileges of the memory; bitwise OR
 * @va_type: DAT_VA_TYPE_VA
 * @ep_handle: connected EP of the same zone
 * @user_cookie: value that the completion event returns
 * @completion_flags: SUPPRESS, BARRIER_FENCE, UNSIGNALLED
 * @lmr_context: out: context for requests posted to the EP after this call; may be NULL
 * @rmr_context: out: key for peers; 0 without a remote privilege; may be NULL
 *
 * The binding is a request.  Its completion is a DTO event of operation DAT_DTO_LMR_FMR.  In
 * segments, the virtual_address of the first byte is the physical address of this byte, as for
 * dat_lmr_kcreate().  If the request is flushed or fails, the LMR has no memory, and can be bound
 * again after a short time.
 *
 * Each context contains a generation of 12 bits, which all LMRs of an IA share.  If a consumer uses
 * an old context after 4096 further generations, the context may be valid for the current memory of
 * the LMR.
 *
 * Context: process, because some devices allocate memory for a page list.
 * Return: as dat_ep_post_send(), and
 * DAT_INVALID_HANDLE: dat_lmr_allocate() has not created the LMR (DAT_INVALID_HANDLE_LMR);
 * DAT_RESERVED_LMR: the LMR is the reserved LMR;
 * DAT_INVALID_STATE: the LMR has memory, or its last request has not completed
 * (DAT_INVALID_STATE_LMR_IN_USE);
 * DAT_INSUFFICIENT_RESOURCES: a failed request has lost the LMR's device registration, and the
 * device has no other registration (DAT_RESOURCE_MEMORY_REGION);
 * DAT_PROTECTION_VIOLATION: LMR and EP are in different protection zones;
 * DAT_INVALID_PARAMETER: unknown type (DAT_INVALID_ARG2), bad memory (DAT_INVALID_ARG3), no
 * pages or too many (DAT_INVALID_ARG4), unknown @privileges (DAT_INVALID_ARG5), @va_type
 * (DAT_INVALID_ARG6) or flags (DAT_INVALID_ARG9);
 * DAT_MODEL_NOT_SUPPORTED: @mem_type is not supported, or @va_type is zero-based.
 */
DAT_RETURN kdat_lmr_fmr(DAT_LMR_HANDLE lmr_handle, DAT_MEM_TYPE mem_type,
			DAT_REGION_DESCRIPTION region_description, DAT_VLEN num_pages,
			DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type,
			DAT_EP_HANDLE ep_handle, DAT_LMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags, DAT_LMR_CONTEXT *lmr_context,
			DAT_RMR_CONTEXT *rmr_context);

/**
 * kdat_lmr_invalidate() - unbind an allocated LMR from its memory
 * @lmr_handle: LMR with memory, which dat_lmr_allocate() has created
 * @ep_handle: connected EP of the same zone
 * @user_cookie: value that the completion event returns
 * @completion_flags: SUPPRESS, BARRIER_FENCE, UNSIGNALLED, LMR_INVALIDATE_FENCE
 *
 * The invalidation is a request.  Its completion is a DTO event of operation
 * DAT_DTO_LMR_INVALIDATE.  After the event, the LMR has no memory, and no peer can access the
 * memory.
 *
 * RDMA reads that were posted to the EP before the invalidation may still use the memory.  Other
 * requests that use the memory must have completed before this call, unless @completion_flags has
 * LMR_INVALIDATE_FENCE.  Otherwise, if the device has to retransmit such a request, the request
 * fails and breaks the connection.
 *
 * If the invalidation is flushed because the EP is already disconnected, the LMR keeps its memory.
 * If the invalidation breaks the connection, the memory is released a short time later;
 * dat_lmr_free() waits for this release.
 *
 * Context: BH.
 * Return: as dat_ep_post_send(), and
 * DAT_INVALID_HANDLE: dat_lmr_allocate() has not created the LMR (DAT_INVALID_HANDLE_LMR);
 * DAT_RESERVED_LMR: the LMR is the reserved LMR;
 * DAT_INVALID_STATE: the LMR has no memory (DAT_INVALID_STATE_LMR_FREE), or the request that binds
 * the LMR was posted to another EP and has not completed (DAT_INVALID_STATE_LMR_IN_USE);
 * DAT_INVALID_PARAMETER: unknown flags (DAT_INVALID_ARG4);
 * DAT_PROTECTION_VIOLATION: LMR and EP are in different protection zones.
 */
DAT_RETURN kdat_lmr_invalidate(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
			       DAT_LMR_COOKIE user_cookie,
			       DAT_COMPLETION_FLAGS completion_flags);

/**
 * kdat_lmr_query() - read the parameters of a registration
 * @lmr_handle: the LMR
 * @lmr_param_mask: fields to return; other fields may be filled in, too
 * @lmr_param: out
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @lmr_param is NULL
 * (DAT_INVALID_ARG3).
 */
DAT_RETURN kdat_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask,
			  DAT_LMR_PARAM *lmr_param);

/**
 * kdat_lmr_free() - end a registration
 * @lmr_handle: the LMR
 *
 * If peers use the memory, they get errors, which break connections.  Local operations that use the
 * memory should have completed before the call.  Otherwise, on contiguous memory without a remote
 * privilege, such operations continue after the call, although the consumer may reuse the memory.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: an RMR is bound to the LMR, or the bind of an RMR to the LMR has not
 * completed, or a request of dat_lmr_fmr() or dat_lmr_invalidate() for the LMR has not completed
 * (DAT_INVALID_STATE_LMR_IN_USE);
 * DAT_RESERVED_LMR: the LMR is the reserved LMR.
 */
DAT_RETURN kdat_lmr_free(DAT_LMR_HANDLE lmr_handle);

/**
 * kdat_lmr_sync_rdma_read() - make the CPU's writes to memory visible to RDMA reads of peers
 * @ia_handle: the IA
 * @local_segments: the memory
 * @num_segments: number of entries of @local_segments
 *
 * Call this function after writing to the memory and before the peer may read the memory.  If
 * lmr_sync_req is DAT_TRUE, also call this function before a send of the memory.  The function
 * ignores segments in LMRs of type BYPASS and in the reserved LMR.
 *
 * Context: BH.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @local_segments is NULL, or a segment is in no LMR (DAT_INVALID_ARG2).
 */
DAT_RETURN kdat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
				   const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments);

/**
 * kdat_lmr_sync_rdma_write() - make RDMA writes of peers to memory visible to the CPU
 * @ia_handle: the IA
 * @local_segments: the memory
 * @num_segments: number of entries of @local_segments
 *
 * Call this function before reading the memory, after the peer has reported that its RDMA write is
 * complete.  If lmr_sync_req is DAT_TRUE, also call this function after a receive and after an RDMA
 * read into the memory.
 *
 * Context: BH.  Return: as dat_lmr_sync_rdma_read().
 */
DAT_RETURN kdat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
				    const DAT_LMR_TRIPLET *local_segments,
				    DAT_VLEN num_segments);

/**
 * kdat_rmr_create() - create a remote memory region (RMR), which is not yet bound to memory
 * @pz_handle: protection zone
 * @rmr_handle: out: the new RMR
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @rmr_handle is NULL (DAT_INVALID_ARG2);
 * DAT_INSUFFICIENT_RESOURCES: too many RMRs; no memory.
 */
DAT_RETURN kdat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle);

/**
 * kdat_rmr_create_for_ep() - create an RMR that only one connection can use
 * @pz_handle: protection zone
 * @rmr_handle: out: the new RMR
 *
 * Context: process.
 * Return: DAT_MODEL_NOT_SUPPORTED, always.  Each key of this implementation is valid for all
 * connections of its protection zone.  A key for a single connection needs memory windows of type
 * 2, which kernel verbs do not have.
 */
DAT_RETURN kdat_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle);

/**
 * kdat_rmr_bind() - bind an RMR to memory, or unbind it
 * @rmr_handle: the RMR
 * @lmr_handle: LMR of the memory; ignored for an unbind
 * @lmr_triplet: the memory; a length of 0 unbinds the RMR
 * @mem_priv: privileges of peers
 * @va_type: DAT_VA_TYPE_VA
 * @ep_handle: connected EP, through whose connection the peer will access the memory
 * @user_cookie: value that the completion event returns
 * @completion_flags: SUPPRESS, UNSIGNALLED, BARRIER_FENCE
 * @rmr_context: out: key for the peer
 *
 * The bind is a request.  Its completion is an RMR bind event at the EP's request EVD.  Requests
 * that are posted after the bind start when the bind is complete.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INSUFFICIENT_RESOURCES: the queue is full (DAT_RESOURCE_TEP); no memory;
 * DAT_INVALID_PARAMETER: @lmr_triplet is NULL or outside the LMR (DAT_INVALID_ARG3),
 * unknown @mem_priv (DAT_INVALID_ARG4), @va_type (DAT_INVALID_ARG5) or flags
 * (DAT_INVALID_ARG8), @rmr_context is NULL (DAT_INVALID_ARG9);
 * DAT_INVALID_STATE: the EP is neither connected nor disconnected;
 * DAT_PROTECTION_VIOLATION: RMR, LMR and EP are in different protection zones;
 * DAT_PRIVILEGES_VIOLATION: @mem_priv has remote write, but the LMR has no local write;
 * DAT_RESERVED_LMR: the LMR is the reserved LMR;
 * DAT_MODEL_NOT_SUPPORTED: @va_type is zero-based, or dat_lmr_allocate() has created the LMR.
 */
DAT_RETURN kdat_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
			 const DAT_LMR_TRIPLET *lmr_triplet, DAT_MEM_PRIV_FLAGS mem_priv,
			 DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle,
			 DAT_RMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
			 DAT_RMR_CONTEXT *rmr_context);

/**
 * kdat_rmr_query() - read the parameters of an RMR
 * @rmr_handle: the RMR
 * @rmr_param_mask: fields to return; other fields may be filled in, too
 * @rmr_param: out
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @rmr_param is NULL
 * (DAT_INVALID_ARG3).
 */
DAT_RETURN kdat_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask,
			  DAT_RMR_PARAM *rmr_param);

/**
 * kdat_rmr_free() - destroy an RMR, which may be bound
 * @rmr_handle: the RMR
 *
 * Context: process.  Return: DAT_SUCCESS.
 */
DAT_RETURN kdat_rmr_free(DAT_RMR_HANDLE rmr_handle);

/* ---- Endpoints ---- */

/**
 * kdat_ep_create() - create an endpoint
 * @ia_handle: the parent IA
 * @pz_handle: protection zone
 * @recv_evd_handle: EVD with DAT_EVD_DTO_FLAG for completions of receives; DAT_HANDLE_NULL: the
 *	completions are discarded
 * @request_evd_handle: EVD with DAT_EVD_DTO_FLAG for completions of requests; DAT_HANDLE_NULL: the
 *	completions are discarded
 * @connect_evd_handle: EVD with DAT_EVD_CONNECTION_FLAG; DAT_HANDLE_NULL: the EP cannot connect
 * @ep_attributes: attributes of the EP; NULL for defaults
 * @ep_handle: out: the new EP
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: an EVD does not take the stream (DAT_INVALID_HANDLE_EVD_RECV,
 * _EVD_REQUEST, _EVD_CONN);
 * DAT_INVALID_PARAMETER: an attribute is out of range (DAT_INVALID_ARG6), @ep_handle is NULL
 * (DAT_INVALID_ARG7);
 * DAT_MODEL_NOT_SUPPORTED: the qos or srq_soft_hw attribute is not supported;
 * DAT_INSUFFICIENT_RESOURCES: no memory (DAT_RESOURCE_TEP).
 */
DAT_RETURN kdat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
			  DAT_EVD_HANDLE connect_evd_handle, const DAT_EP_ATTR *ep_attributes,
			  DAT_EP_HANDLE *ep_handle);

/**
 * kdat_ep_create_with_srq() - create an endpoint that receives into the buffers of an SRQ
 * @ia_handle: the parent IA
 * @pz_handle: protection zone of the SRQ
 * @recv_evd_handle: as for dat_ep_create()
 * @request_evd_handle: as for dat_ep_create()
 * @connect_evd_handle: as for dat_ep_create()
 * @srq_handle: the SRQ
 * @ep_attributes: attributes of the EP; must not be NULL
 * @ep_handle: out: the new EP
 *
 * Context: process.
 * Return: as dat_ep_create(), but
 * DAT_INVALID_PARAMETER: the SRQ is in another protection zone (DAT_INVALID_ARG2), an attribute is
 * out of range (DAT_INVALID_ARG7), @ep_handle is NULL (DAT_INVALID_ARG8).
 */
DAT_RETURN kdat_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
				   DAT_EVD_HANDLE recv_evd_handle,
				   DAT_EVD_HANDLE request_evd_handle,
				   DAT_EVD_HANDLE connect_evd_handle,
				   DAT_SRQ_HANDLE srq_handle,
				   const DAT_EP_ATTR *ep_attributes,
				   DAT_EP_HANDLE *ep_handle);

/**
 * kdat_ep_query() - read the parameters of an endpoint
 * @ep_handle: the EP
 * @ep_param_mask: fields to return; other fields may be filled in, too
 * @ep_param: out; addresses are valid until the next query, reset or free of the EP
 *
 * Context: BH.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @ep_param is NULL
 * (DAT_INVALID_ARG3).
 */
DAT_RETURN kdat_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			 DAT_EP_PARAM *ep_param);

/**
 * kdat_ep_modify() - change parameters of an endpoint
 * @ep_handle: the EP
 * @ep_param_mask: fields to change
 * @ep_param: new values of the fields
 *
 * The call changes all fields or, after an error, no field.  The PZ can be changed while the EP is
 * unconnected or tentative connection pending.  EVDs and attributes can also be changed while the
 * EP is reserved or passive connection pending.  The COMM may be set, but only one value is
 * supported.  A post during the call may fail because the queue seems full.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown or fixed fields in the mask (DAT_INVALID_ARG2), @ep_param
 * is NULL or has a value out of range (DAT_INVALID_ARG3);
 * DAT_INVALID_STATE: the EP's state does not allow the change, or more operations are posted than
 * the new queue can hold;
 * DAT_MODEL_NOT_SUPPORTED, DAT_COMM_NOT_SUPPORTED, DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN kdat_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			  const DAT_EP_PARAM *ep_param);

/**
 * kdat_ep_get_status() - read the state of an endpoint
 * @ep_handle: the EP
 * @ep_state: out; may be NULL
 * @recv_idle: out: whether no receive is outstanding; may be NULL
 * @request_idle: out: whether no request is outstanding; may be NULL
 *
 * Context: BH.  Return: DAT_SUCCESS.
 */
DAT_RETURN kdat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			      DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle);

/**
 * kdat_ep_connect() - request a connection to a peer
 * @ep_handle: unconnected EP with a connect EVD
 * @remote_ia_address: sockaddr_in or sockaddr_in6 of the peer; its port is ignored
 * @remote_conn_qual: qualifier of the peer's service point, not 0; see kdat_psp_create()
 * @timeout: microseconds, not 0; DAT_TIMEOUT_INFINITE: the timeout of the transport
 * @private_data_size: bytes of @private_data, from 0 to max_private_data_size
 * @private_data: data for the peer; may be NULL if @private_data_size is 0
 * @quality_of_service: type of service of the connection; see dat_ep_connect(3)
 * @connect_flags: DAT_CONNECT_DEFAULT_FLAG
 *
 * After success, the connect EVD gets one event: ESTABLISHED, PEER_REJECTED, NON_PEER_REJECTED,
 * UNREACHABLE or TIMED_OUT.  After an event other than ESTABLISHED, the EP is disconnected.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: the EP is not unconnected; the subtype tells the state;
 * DAT_INVALID_HANDLE: the EP lacks a connect EVD (DAT_INVALID_HANDLE_EVD_CONN);
 * DAT_INVALID_ADDRESS: the address family is neither AF_INET nor AF_INET6
 * (DAT_INVALID_ADDRESS_UNSUPPORTED), no route to the peer (DAT_INVALID_ADDRESS_UNREACHABLE);
 * DAT_INVALID_PARAMETER: the address is NULL (DAT_INVALID_ARG2); the qualifier (DAT_INVALID_ARG3),
 * @timeout (DAT_INVALID_ARG4) or @private_data_size (DAT_INVALID_ARG5) is out of range;
 * @private_data is NULL (DAT_INVALID_ARG6); unknown flags (DAT_INVALID_ARG8);
 * DAT_MODEL_NOT_SUPPORTED: the quality of service or multipath is not supported;
 * DAT_INSUFFICIENT_RESOURCES: no memory.
 */
DAT_RETURN kdat_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
			   DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			   DAT_COUNT private_data_size, const DAT_PVOID private_data,
			   DAT_QOS quality_of_service, DAT_CONNECT_FLAGS connect_flags);

/**
 * kdat_ep_dup_connect() - request a connection to the peer of another endpoint
 * @ep_handle: unconnected EP with a connect EVD
 * @dup_ep_handle: EP of the same IA that dat_ep_connect() has connected
 * @timeout: as for dat_ep_connect()
 * @private_data_size: as for dat_ep_connect()
 * @private_data: as for dat_ep_connect()
 * @quality_of_service: as for dat_ep_connect()
 *
 * Context: process.
 * Return: as dat_ep_connect(), but
 * DAT_INVALID_STATE: also if @dup_ep_handle is not connected;
 * DAT_INVALID_PARAMETER: @timeout (DAT_INVALID_ARG3), size (DAT_INVALID_ARG4),
 * @private_data is NULL (DAT_INVALID_ARG5).
 */
DAT_RETURN kdat_ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE dup_ep_handle,
			       DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
			       const DAT_PVOID private_data, DAT_QOS quality_of_service);

/**
 * kdat_ep_common_connect() - request a connection to an address and port
 * @ep_handle: unconnected EP with a connect EVD
 * @remote_ia_address: sockaddr_in or sockaddr_in6 with the port of the peer's CSP or PSP
 * @timeout: as for dat_ep_connect()
 * @private_data_size: as for dat_ep_connect()
 * @private_data: as for dat_ep_connect()
 *
 * Context: process.
 * Return: as dat_ep_connect(), but
 * DAT_INVALID_PARAMETER: address is NULL or has no port (DAT_INVALID_ARG2), @timeout
 * (DAT_INVALID_ARG3), size (DAT_INVALID_ARG4), @private_data is NULL (DAT_INVALID_ARG5).
 */
DAT_RETURN kdat_ep_common_connect(DAT_EP_HANDLE ep_handle,
				  DAT_IA_ADDRESS_PTR remote_ia_address, DAT_TIMEOUT timeout,
				  DAT_COUNT private_data_size, const DAT_PVOID private_data);

/**
 * kdat_ep_disconnect() - end a connection, or cancel a connection attempt
 * @ep_handle: the EP
 * @disconnect_flags: DAT_CLOSE_GRACEFUL_FLAG: outstanding requests complete first, and new requests
 *	are refused; DAT_CLOSE_ABRUPT_FLAG: the connection ends at once
 *
 * When the connection has ended, the connect EVD gets DAT_CONNECTION_EVENT_DISCONNECTED.  If the
 * connection had already ended, the call does nothing.
 *
 * Context: BH.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: the EP has never had a connection; the subtype tells the state;
 * DAT_INVALID_PARAMETER: unknown flags (DAT_INVALID_ARG2).
 */
DAT_RETURN kdat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS disconnect_flags);

/**
 * kdat_ep_reset() - make a disconnected endpoint unconnected, so that it can connect again
 * @ep_handle: disconnected or unconnected EP
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: the EP is neither disconnected nor unconnected; the subtype tells the state.
 */
DAT_RETURN kdat_ep_reset(DAT_EP_HANDLE ep_handle);

/**
 * kdat_ep_free() - destroy an endpoint
 * @ep_handle: the EP
 *
 * If the EP is connected, the connection ends at once, and completions that have not arrived are
 * lost.  If the EP is disconnected, no completions are lost: a post during the free either fails,
 * or succeeds and is flushed before the EP is freed.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: a service point or a connection request holds the EP.
 */
DAT_RETURN kdat_ep_free(DAT_EP_HANDLE ep_handle);

/**
 * kdat_ep_post_send() - send a message
 * @ep_handle: connected EP; if the EP is disconnected, the request is flushed at once
 * @num_segments: number of entries of @local_iov, from 0 to max_request_iov
 * @local_iov: segments of the message; the array may be reused after the return, and the memory of
 *	the segments after the completion
 * @user_cookie: value that the completion event returns
 * @completion_flags: SUPPRESS, SOLICITED_WAIT, BARRIER_FENCE, and UNSIGNALLED if
 *	request_completion_flags has it; bitwise OR
 *
 * Context: BH.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: the EP is neither connected nor disconnected; the subtype tells the state;
 * DAT_INSUFFICIENT_RESOURCES: the queue is full (DAT_RESOURCE_TEP);
 * DAT_INVALID_PARAMETER: too many segments (DAT_INVALID_ARG2), @local_iov is NULL or a
 * segment is outside its LMR (DAT_INVALID_ARG3), unknown flags (DAT_INVALID_ARG5);
 * DAT_LENGTH_ERROR: the message is longer than max_message_size;
 * DAT_PROTECTION_VIOLATION: an LMR and the EP are in different protection zones;
 * DAT_PRIVILEGES_VIOLATION: a segment names no LMR, or an LMR without the needed privilege.
 */
DAT_RETURN kdat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     DAT_COMPLETION_FLAGS completion_flags);

/**
 * kdat_linux_ep_post_send_immed() - send a message with immediate data
 * @ep_handle: as for dat_ep_post_send(); with the named attribute "immediate_data"
 * @num_segments: as for dat_ep_post_send()
 * @local_iov: as for dat_ep_post_send()
 * @user_cookie: as for dat_ep_post_send()
 * @immed_data: number that the peer gets in its own byte order; a peer that uses verbs gets it in
 *	network byte order
 * @completion_flags: as for dat_ep_post_send()
 *
 * The receive at the peer completes with operation DAT_LINUX_DTO_RECEIVE_IMMED and the immediate
 * data in immed_data.  If the EP of the peer does not have the attribute, the receive fails and the
 * connection breaks.  Not in DAT 2.0.
 *
 * Context: BH.
 * Return: as dat_ep_post_send(), but
 * DAT_INVALID_PARAMETER: unknown flags (DAT_INVALID_ARG6);
 * DAT_MODEL_NOT_SUPPORTED: the EP does not have the named attribute.
 */
DAT_RETURN kdat_linux_ep_post_send_immed(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					 DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					 DAT_UINT32 immed_data,
					 DAT_COMPLETION_FLAGS completion_flags);

/**
 * kdat_ep_post_send_with_invalidate() - send a message that invalidates a key of the peer
 * @ep_handle: as for dat_ep_post_send()
 * @num_segments: as for dat_ep_post_send()
 * @local_iov: as for dat_ep_post_send()
 * @user_cookie: as for dat_ep_post_send()
 * @completion_flags: as for dat_ep_post_send()
 * @invalidate_flag: DAT_TRUE: invalidate @rmr_context; DAT_FALSE: send only
 * @rmr_context: key of an RMR of the peer
 *
 * The receive at the peer completes with operation RECEIVE_WITH_INVALIDATE and the key.  The peer's
 * RMR is then unbound, and the peer can free the LMR.
 *
 * The peer's device refuses a key that is unknown, or that was not registered by a send queue
 * request.  The peer's kernel breaks the connection if the key belongs to an LMR, because only the
 * owner of an LMR may invalidate it.
 *
 * Context: BH.
 * Return: as dat_ep_post_send(), and
 * DAT_MODEL_NOT_SUPPORTED: @invalidate_flag is DAT_TRUE, but the device has no send with
 * invalidate.
 */
DAT_RETURN kdat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					     DAT_LMR_TRIPLET *local_iov,
					     DAT_DTO_COOKIE user_cookie,
					     DAT_COMPLETION_FLAGS completion_flags,
					     DAT_BOOLEAN invalidate_flag,
					     DAT_RMR_CONTEXT rmr_context);

/**
 * kdat_ep_post_recv() - post a buffer for a message
 * @ep_handle: EP without an SRQ, in any state; if the EP is disconnected, the receive is flushed
 * @num_segments: number of entries of @local_iov, from 0 to max_recv_iov
 * @local_iov: memory for the message
 * @user_cookie: value that the completion event returns
 * @completion_flags: DAT_COMPLETION_DEFAULT_FLAG, or UNSIGNALLED if
 *	recv_completion_flags has it
 *
 * Context: BH.
 * Return: as dat_ep_post_send(), but
 * DAT_INVALID_HANDLE: the EP has an SRQ (DAT_INVALID_HANDLE_EP).
 */
DAT_RETURN kdat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     DAT_COMPLETION_FLAGS completion_flags);

/**
 * kdat_ep_post_rdma_read() - read memory of the peer
 * @ep_handle: connected EP; if the EP is disconnected, the request is flushed at once
 * @num_segments: number of entries of @local_iov, from 0 to max_rdma_read_iov
 * @local_iov: segments into which the data is read, filled in order
 * @user_cookie: value that the completion event returns
 * @remote_buffer: the peer's memory, which is read as a whole
 * @completion_flags: SUPPRESS, BARRIER_FENCE, and UNSIGNALLED if request_completion_flags has it;
 *	bitwise OR
 *
 * Context: BH.
 * Return: as dat_ep_post_send(), but
 * DAT_LENGTH_ERROR: @local_iov is shorter than @remote_buffer, or longer than
 * max_rdma_size;
 * DAT_INVALID_PARAMETER: also @remote_buffer is NULL (DAT_INVALID_ARG5), unknown flags
 * (DAT_INVALID_ARG6).
 */
DAT_RETURN kdat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_buffer,
				  DAT_COMPLETION_FLAGS completion_flags);

/**
 * kdat_ep_post_rdma_read_to_rmr() - read memory of the peer into memory of an RMR
 * @ep_handle: connected EP
 * @local_buffer: part of an RMR that is bound with remote write and is in the EP's protection zone
 * @user_cookie: value that the completion event returns
 * @remote_buffer: the peer's memory, which is read as a whole
 * @completion_flags: as for dat_ep_post_rdma_read()
 *
 * The request executes after earlier binds in the queue of @ep_handle.  The request fails with
 * DAT_DTO_ERR_LOCAL_PROTECTION if the key of @local_buffer is not bound when the request executes,
 * or if @local_buffer exceeds the RMR.
 *
 * Context: BH.
 * Return: as dat_ep_post_rdma_read(), but
 * DAT_LENGTH_ERROR: @local_buffer is shorter than @remote_buffer, or @remote_buffer is longer than
 * max_rdma_size;
 * DAT_INVALID_PARAMETER: @local_buffer (DAT_INVALID_ARG2) or @remote_buffer
 * (DAT_INVALID_ARG4) is NULL, unknown flags (DAT_INVALID_ARG5).
 */
DAT_RETURN kdat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle,
					 const DAT_RMR_TRIPLET *local_buffer,
					 DAT_DTO_COOKIE user_cookie,
					 const DAT_RMR_TRIPLET *remote_buffer,
					 DAT_COMPLETION_FLAGS completion_flags);

/**
 * kdat_ep_post_rdma_write() - write memory of the peer
 * @ep_handle: connected EP; if the EP is disconnected, the request is flushed at once
 * @num_segments: number of entries of @local_iov, from 0 to max_rdma_write_iov
 * @local_iov: segments of the data
 * @user_cookie: value that the completion event returns
 * @remote_buffer: the peer's memory, which is written from its first byte on
 * @completion_flags: as for dat_ep_post_rdma_read()
 *
 * Context: BH.
 * Return: as dat_ep_post_rdma_read(), but
 * DAT_LENGTH_ERROR: @remote_buffer is shorter than @local_iov.
 */
DAT_RETURN kdat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				   DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				   const DAT_RMR_TRIPLET *remote_buffer,
				   DAT_COMPLETION_FLAGS completion_flags);

/**
 * kdat_linux_ep_post_rdma_write_immed() - write memory of the peer, and complete a receive there
 * @ep_handle: as for dat_ep_post_rdma_write(); with the named attribute "immediate_data"
 * @num_segments: as for dat_ep_post_rdma_write()
 * @local_iov: as for dat_ep_post_rdma_write()
 * @user_cookie: as for dat_ep_post_rdma_write()
 * @remote_buffer: as for dat_ep_post_rdma_write()
 * @immed_data: as for dat_linux_ep_post_send_immed()
 * @completion_flags: as for dat_ep_post_send()
 *
 * The write consumes a receive of the peer and leaves the memory of the receive unchanged.  The
 * receive completes after the write, with operation DAT_LINUX_DTO_RDMA_WRITE_IMMED, the length of
 * the write and the immediate data; see dat_linux_ep_post_send_immed().  Not in DAT 2.0.
 *
 * Context: BH.
 * Return: as dat_ep_post_rdma_write(), but
 * DAT_INVALID_PARAMETER: unknown flags (DAT_INVALID_ARG7);
 * DAT_MODEL_NOT_SUPPORTED: the EP does not have the named attribute.
 */
DAT_RETURN kdat_linux_ep_post_rdma_write_immed(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					       DAT_LMR_TRIPLET *local_iov,
					       DAT_DTO_COOKIE user_cookie,
					       const DAT_RMR_TRIPLET *remote_buffer,
					       DAT_UINT32 immed_data,
					       DAT_COMPLETION_FLAGS completion_flags);

/**
 * kdat_ep_recv_query() - query the number of buffers that an endpoint holds
 * @ep_handle: the EP
 * @nbufs_allocated: out: number of receives that have not completed; DAT_VALUE_UNKNOWN with an SRQ;
 *	may be NULL
 * @bufs_alloc_span: out: same value as @nbufs_allocated; may be NULL
 *
 * Context: BH.  Return: DAT_SUCCESS.
 */
DAT_RETURN kdat_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
			      DAT_COUNT *bufs_alloc_span);

/**
 * kdat_ep_set_watermark() - limit the number of SRQ buffers that an endpoint holds
 * @ep_handle: the EP
 * @soft_high_watermark: DAT_WATERMARK_INFINITE
 * @hard_high_watermark: DAT_WATERMARK_INFINITE
 *
 * Context: BH.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: a watermark is negative (DAT_INVALID_ARG2, DAT_INVALID_ARG3);
 * DAT_MODEL_NOT_SUPPORTED: a watermark is not DAT_WATERMARK_INFINITE.  Other values cannot be
 * supported, because verbs do not report which EP holds a buffer of an SRQ.
 */
DAT_RETURN kdat_ep_set_watermark(DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark,
				 DAT_COUNT hard_high_watermark);

/* ---- Shared receive queues ---- */

/**
 * kdat_srq_create() - create a shared receive queue
 * @ia_handle: the parent IA
 * @pz_handle: protection zone
 * @srq_attr: sizes; the low watermark must be DAT_SRQ_LW_DEFAULT
 * @srq_handle: out: the new SRQ
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: an attribute is out of range or @srq_attr is NULL
 * (DAT_INVALID_ARG3), @srq_handle is NULL (DAT_INVALID_ARG4);
 * DAT_MODEL_NOT_SUPPORTED: the adapter does not support SRQs;
 * DAT_INSUFFICIENT_RESOURCES: too many SRQs (DAT_RESOURCE_SRQ); no memory.
 */
DAT_RETURN kdat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			   DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle);

/**
 * kdat_srq_free() - destroy a shared receive queue
 * @srq_handle: the SRQ
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: an EP uses the SRQ (DAT_INVALID_STATE_SRQ_IN_USE).
 */
DAT_RETURN kdat_srq_free(DAT_SRQ_HANDLE srq_handle);

/**
 * kdat_srq_post_recv() - add a receive buffer to an SRQ
 * @srq_handle: the SRQ
 * @num_segments: number of entries of @local_iov, from 0 to max_recv_iov
 * @local_iov: memory for the message
 * @user_cookie: value that the completion event returns
 *
 * Context: BH.
 * Return: DAT_SUCCESS;
 * DAT_INSUFFICIENT_RESOURCES: max_recv_dtos buffers are outstanding (DAT_RESOURCE_SRQ);
 * DAT_INVALID_PARAMETER: too many segments (DAT_INVALID_ARG2), @local_iov is NULL or a
 * segment is outside its LMR (DAT_INVALID_ARG3);
 * DAT_LENGTH_ERROR, DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION: as
 * dat_ep_post_recv().
 */
DAT_RETURN kdat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			      DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie);

/**
 * kdat_srq_query() - read the parameters of a shared receive queue
 * @srq_handle: the SRQ
 * @srq_param_mask: fields to return; other fields may be filled in, too
 * @srq_param: out
 *
 * Context: BH.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @srq_param is NULL
 * (DAT_INVALID_ARG3).
 */
DAT_RETURN kdat_srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK srq_param_mask,
			  DAT_SRQ_PARAM *srq_param);

/**
 * kdat_srq_resize() - change the maximum number of buffers of an SRQ
 * @srq_handle: the SRQ; messages may arrive during the call
 * @srq_max_recv_dto: new maximum number of outstanding buffers
 *
 * A post during the call may fail because the queue seems full.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @srq_max_recv_dto is out of range (DAT_INVALID_ARG2);
 * DAT_INVALID_STATE: more buffers are outstanding than the new queue can hold, or the low watermark
 * is higher than @srq_max_recv_dto;
 * DAT_INSUFFICIENT_RESOURCES: no memory.
 */
DAT_RETURN kdat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto);

/**
 * kdat_srq_set_lw() - request an async event when an SRQ has few buffers
 * @srq_handle: the SRQ
 * @low_watermark: number of buffers below which one async event is sent, at once if the SRQ already
 *	has fewer buffers
 *
 * Context: BH.
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER: @low_watermark is out of range (DAT_INVALID_ARG2).
 */
DAT_RETURN kdat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark);

/* ---- Service points and connection requests ---- */

/**
 * kdat_psp_create() - listen at a connection qualifier
 * @ia_handle: the parent IA
 * @conn_qual: connection qualifier, not 0.  A qualifier up to 65535 is the number of an rdma_cm
 *	port.  A larger qualifier is mapped to port conn_qual % 32001 + 33534, as in OFED's uDAPL
 * @evd_handle: EVD with DAT_EVD_CR_FLAG; requests are refused while the EVD is full
 * @psp_flags: DAT_PSP_CONSUMER_FLAG: the consumer passes an EP to dat_cr_accept();
 *	DAT_PSP_PROVIDER_FLAG: the provider makes an EP for each request
 * @psp_handle: out: the new PSP; requests may arrive before the call returns
 *
 * With DAT_PSP_PROVIDER_FLAG, dat_cr_query() returns the EP of a request.  The EP is tentative
 * connection pending, has default attributes, no PZ and no EVDs.  The consumer sets the PZ and the
 * EVDs with dat_ep_modify(), and then calls dat_cr_accept() with DAT_HANDLE_NULL.  An accept makes
 * the EP the consumer's; a reject or a handoff of the request frees the EP.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_CONN_QUAL_IN_USE: the qualifier has a listener;
 * DAT_PRIVILEGES_VIOLATION: @conn_qual is below 1024 and the calling task has no
 * CAP_NET_BIND_SERVICE;
 * DAT_INVALID_HANDLE: @evd_handle does not take requests (DAT_INVALID_HANDLE_EVD_CR);
 * DAT_INVALID_PARAMETER: @conn_qual (DAT_INVALID_ARG2), @psp_flags (DAT_INVALID_ARG4),
 * @psp_handle is NULL (DAT_INVALID_ARG5);
 * DAT_INSUFFICIENT_RESOURCES: the port has no address (DAT_RESOURCE_DEVICE); no memory.
 */
DAT_RETURN kdat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			   DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			   DAT_PSP_HANDLE *psp_handle);

/**
 * kdat_psp_create_any() - listen at a free connection qualifier, which the provider chooses
 * @ia_handle: the parent IA
 * @conn_qual: out
 * @evd_handle: as for dat_psp_create()
 * @psp_flags: as for dat_psp_create()
 * @psp_handle: out: the new PSP
 *
 * Context: process.
 * Return: as dat_psp_create(), but DAT_CONN_QUAL_UNAVAILABLE: no qualifier is free.
 */
DAT_RETURN kdat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			       DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			       DAT_PSP_HANDLE *psp_handle);

/**
 * kdat_psp_query() - read the parameters of a public service point
 * @psp_handle: the PSP
 * @psp_param_mask: fields to return; other fields may be filled in, too
 * @psp_param: out
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @psp_param is NULL
 * (DAT_INVALID_ARG3).
 */
DAT_RETURN kdat_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
			  DAT_PSP_PARAM *psp_param);

/**
 * kdat_psp_free() - destroy a public service point, which stops listening
 * @psp_handle: the PSP
 *
 * The consumer can still accept connection requests that were delivered before.
 *
 * Context: process.  Return: DAT_SUCCESS.
 */
DAT_RETURN kdat_psp_free(DAT_PSP_HANDLE psp_handle);

/**
 * kdat_rsp_create() - listen at a connection qualifier for one request
 * @ia_handle: the parent IA
 * @conn_qual: not 0; see kdat_psp_create()
 * @ep_handle: unconnected EP for the connection; the EP becomes reserved.  When the request
 *	arrives, the EP becomes passive connection pending.  DAT_HANDLE_NULL: the provider makes an
 *	EP for the request, as with DAT_PSP_PROVIDER_FLAG of dat_psp_create()
 * @evd_handle: EVD with DAT_EVD_CR_FLAG
 * @rsp_handle: out: the new RSP
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_CONN_QUAL_IN_USE: the qualifier has a listener;
 * DAT_INVALID_STATE: the EP is not unconnected; the subtype tells the state;
 * DAT_PRIVILEGES_VIOLATION: as dat_psp_create();
 * DAT_INVALID_HANDLE: @evd_handle does not take requests (DAT_INVALID_HANDLE_EVD_CR);
 * DAT_INVALID_PARAMETER: @conn_qual (DAT_INVALID_ARG2), @rsp_handle is NULL
 * (DAT_INVALID_ARG5);
 * DAT_INSUFFICIENT_RESOURCES: as dat_psp_create().
 */
DAT_RETURN kdat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			   DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			   DAT_RSP_HANDLE *rsp_handle);

/**
 * kdat_rsp_query() - read the parameters of a reserved service point
 * @rsp_handle: the RSP
 * @rsp_param_mask: fields to return; other fields may be filled in, too
 * @rsp_param: out; ep_handle is DAT_HANDLE_NULL after the request has arrived
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @rsp_param is NULL
 * (DAT_INVALID_ARG3).
 */
DAT_RETURN kdat_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
			  DAT_RSP_PARAM *rsp_param);

/**
 * kdat_rsp_free() - destroy a reserved service point, which stops listening
 * @rsp_handle: the RSP
 *
 * If no request has arrived, the EP of the RSP becomes unconnected again.
 *
 * Context: process.  Return: DAT_SUCCESS.
 */
DAT_RETURN kdat_rsp_free(DAT_RSP_HANDLE rsp_handle);

/**
 * kdat_csp_create() - listen at a port of the adapter's address
 * @ia_handle: the parent IA
 * @comm: AF_INET or AF_INET6, SOCK_STREAM, 0 or IPPROTO_TCP
 * @ia_address: sockaddr_in or sockaddr_in6 with the adapter's address or the wildcard address, and
 *	with the port; port 0: any free port
 * @evd_handle: EVD with DAT_EVD_CR_FLAG
 * @csp_handle: out: the new CSP
 *
 * CSPs and PSPs share the same ports; see dat_psp_create().
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_PORT_IN_USE: the port has a listener;
 * DAT_COMM_NOT_SUPPORTED: @comm describes another kind of socket;
 * DAT_INVALID_ADDRESS: the adapter does not have the address;
 * DAT_PRIVILEGES_VIOLATION: as dat_psp_create();
 * DAT_INVALID_HANDLE: @evd_handle does not take requests (DAT_INVALID_HANDLE_EVD_CR);
 * DAT_INVALID_PARAMETER: a pointer is NULL (DAT_INVALID_ARG2, DAT_INVALID_ARG3,
 * DAT_INVALID_ARG5);
 * DAT_INSUFFICIENT_RESOURCES: as dat_psp_create().
 */
DAT_RETURN kdat_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *comm,
			   DAT_IA_ADDRESS_PTR ia_address, DAT_EVD_HANDLE evd_handle,
			   DAT_CSP_HANDLE *csp_handle);

/**
 * kdat_csp_query() - read the parameters of a common service point
 * @csp_handle: the CSP
 * @csp_param_mask: fields to return; other fields may be filled in, too
 * @csp_param: out
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @csp_param is NULL
 * (DAT_INVALID_ARG3).
 */
DAT_RETURN kdat_csp_query(DAT_CSP_HANDLE csp_handle, DAT_CSP_PARAM_MASK csp_param_mask,
			  DAT_CSP_PARAM *csp_param);

/**
 * kdat_csp_free() - destroy a common service point, which stops listening
 * @csp_handle: the CSP
 *
 * Context: process.  Return: DAT_SUCCESS.
 */
DAT_RETURN kdat_csp_free(DAT_CSP_HANDLE csp_handle);

/**
 * kdat_cr_query() - get the parameters of a connection request
 * @cr_handle: the CR
 * @cr_param_mask: fields to return; other fields may be filled in, too
 * @cr_param: out
 *
 * InfiniBand and RoCE do not transmit the size of private data, so zeros may follow the data.
 *
 * local_ep_handle is the EP of the RSP that received the request.  If the service point has
 * DAT_PSP_PROVIDER_FLAG or is an RSP without an EP, the first call makes the EP of the request.
 * Otherwise local_ep_handle is DAT_HANDLE_NULL.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @cr_param is NULL
 * (DAT_INVALID_ARG3);
 * DAT_INSUFFICIENT_RESOURCES: no memory for the EP of the request.
 */
DAT_RETURN kdat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
			 DAT_CR_PARAM *cr_param);

/**
 * kdat_cr_accept() - accept a connection request
 * @cr_handle: the CR; invalid after success
 * @ep_handle: unconnected EP with a connect EVD; DAT_HANDLE_NULL if the request has an EP, see
 *	dat_cr_query()
 * @private_data_size: bytes of @private_data, from 0 to max_private_data_size
 * @private_data: data for the peer; may be NULL if @private_data_size is 0
 *
 * After success, the connect EVD gets ESTABLISHED or ACCEPT_COMPLETION_ERROR.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: the request no longer exists (DAT_INVALID_HANDLE_CR), or the EP lacks a PZ
 * or a connect EVD, or @ep_handle must be DAT_HANDLE_NULL (DAT_INVALID_HANDLE_EP);
 * DAT_INVALID_STATE: the EP is not unconnected; the subtype tells the state;
 * DAT_INVALID_PARAMETER: @private_data_size is out of range (DAT_INVALID_ARG3), @private_data is
 * NULL (DAT_INVALID_ARG4);
 * DAT_INSUFFICIENT_RESOURCES: no memory.
 */
DAT_RETURN kdat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			  DAT_COUNT private_data_size, const DAT_PVOID private_data);

/**
 * kdat_cr_reject() - refuse a connection request
 * @cr_handle: the CR; invalid afterwards
 * @private_data_size: bytes of @private_data, at most max_private_data_size
 * @private_data: private data for the peer; NULL if there is none
 *
 * The peer gets PEER_REJECTED, whose event data has the private data.  The EP of an RSP that
 * received the request becomes unconnected again.  An EP that the provider made for the request is
 * freed.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @private_data_size is negative or too large (DAT_INVALID_ARG2), or it is
 * not 0 and @private_data is NULL (DAT_INVALID_ARG3).
 */
DAT_RETURN kdat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			  const DAT_PVOID private_data);

/**
 * kdat_cr_handoff() - pass a connection request to another service point of the adapter
 * @cr_handle: the CR; invalid after success
 * @handoff: connection qualifier of the other service point, which any module or process may own
 *
 * Context: process.
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER: @handoff has no listener (DAT_INVALID_ARG2).
 */
DAT_RETURN kdat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff);

#ifndef KDAT_NO_PUBLIC_NAMES
#include <linux/kdat_names.h>
#endif

#endif /* _LINUX_KDAT_H */
