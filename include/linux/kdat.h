/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kDAPL: Direct Access Transport for kernel modules.
 *
 *	#include <linux/kdat.h>
 *	MODULE_IMPORT_NS(DAT);		"DAT", with quotes, from Linux 6.13
 *
 * The functions are exported as kdat_*().  This header also defines DAT's names for them, dat_*(),
 * unless KDAT_NO_PUBLIC_NAMES is defined.
 *
 * Rules for all functions
 * =======================
 *
 * Every function may return these errors, which the descriptions omit:
 *
 *   DAT_INVALID_HANDLE     a handle is NULL, freed, of another kind or, if the call has several
 *                          handles, of another IA
 *   DAT_INVALID_STATE      the caller's context is not allowed; a spinlock that the caller holds is
 *                          not detected
 *   DAT_INTERNAL_ERROR     a bug, or the RDMA device is gone (DAT_RESOURCE_DEVICE)
 *
 * A failed call has no effect and stores no result.  Calls on one object may run at the same time,
 * except frees: the consumer must not use an object while it is being freed.  A call that does so
 * gets an error, unless it took effect before the free; see also dat_ep_free().
 *
 * "Context: process": the function may sleep.  The caller holds no spinlock, and neither preemption
 * nor softirqs are disabled.  "Context: BH": the function neither sleeps nor allocates.  It may be
 * called anywhere except in hard interrupt and with interrupts disabled.  A consumer that shares a
 * lock with such a caller takes it with spin_lock_bh().
 *
 * Upcalls
 * =======
 *
 * An EVD with a policy other than DISABLE calls its consumer when an event arrives that notifies.
 * All events notify except the success of an operation posted UNSIGNALLED, which is delivered with
 * the next event that notifies.
 *
 *   policy            at a time   the event                more_events     goes on until
 *   ---------------   ---------   ----------------------   -------------   ----------------
 *   DISABLE           0           stays queued             -               -
 *   SINGLE_INSTANCE   1           is taken from the queue  others queued   queue is empty
 *   MANY              up to 100   is taken from the queue  others queued   queue is empty
 *   NORIFY            1           stays queued, NULL       TRUE            once; see below
 *   TEARDOWN          0           stays queued             -               -
 *
 * With MANY there is no order between upcalls that run at the same time; their number depends on
 * the CPUs at which events arrive.  With NORIFY the next upcall comes after a dat_evd_dequeue() has
 * returned DAT_QUEUE_EMPTY, or after an upcall that left the queue empty.
 *
 * Where they run depends on the streams of the EVD:
 *
 *   DTO, RMR_BIND, SOFTWARE    BH: must not sleep, allocates with GFP_ATOMIC; usually on
 *   and no other               the CPU that took the completion, right after that
 *   CR, CONNECTION or ASYNC    process: may sleep, accept, connect, and free objects other
 *   among them                 than this EVD; one at a time also with MANY
 *
 * Upcalls that may sleep run in a workqueue with a rescuer (WQ_MEM_RECLAIM), so that drivers of
 * block devices and file systems make progress without memory.  Such an upcall must not flush a
 * work of a workqueue without a rescuer.
 *
 * No upcall runs inside a call of the consumer: a completion of a post is delivered later.  So a
 * consumer may hold a lock around posts that its upcall takes, too.  The event pointer is valid
 * until the upcall returns.
 *
 * No upcall runs or begins after the return of dat_evd_free(), dat_ia_close(), or
 * dat_evd_modify_upcall() with TEARDOWN.  The first and the last must not be called from an upcall
 * of the same EVD, the second from no upcall of the IA.  Two EVDs whose upcalls free each other at
 * the same time deadlock.
 *
 * Removal of the device
 * =====================
 *
 * An RDMA device may be removed, or its driver unloaded, at any time.  Connections then end with
 * DAT_CONNECTION_EVENT_DISCONNECTED, posted requests are flushed, requests of peers are refused,
 * and the async EVD gets DAT_ASYNC_ERROR_IA_CATASTROPHIC.  Memory is no longer registered.  EVDs,
 * their events and their upcalls stay.
 *
 * From then on these calls work as before: those on existing EVDs and on consumer contexts, all
 * frees, dat_ep_disconnect(), dat_cr_reject() and dat_ia_close().  dat_lmr_sync_rdma_read() and
 * dat_lmr_sync_rdma_write() do not know the contexts of memory that is no longer registered.  All
 * other calls return DAT_INTERNAL_ERROR with DAT_RESOURCE_DEVICE.  When the device comes back, the
 * consumer opens it again.
 *
 * Charges
 * =======
 *
 * Memory and RDMA objects are charged to the cgroups of the calling task; for the init function of
 * a module that is modprobe.  An IA holds the network namespace of its opener until it is closed.
 *
 * Modules
 * =======
 *
 * A module closes its IAs before it is unloaded.  IAs that it leaves open are closed abruptly after
 * its exit function.  Until then upcalls may run, although the exit function has freed their data.
 */
#ifndef _LINUX_KDAT_H
#define _LINUX_KDAT_H

#include <linux/kdat_types.h>
#include <linux/module.h>

/* ---- Registry and adapters ---- */

struct kdat_provider;
typedef struct kdat_provider DAT_PROVIDER;

/**
 * kdat_ia_openv() - open an adapter
 * @ia_name: "<ibdev>" for port 1 or "<ibdev>:<port>"
 * @async_evd_min_qlen: events that the async EVD must hold, from 1
 * @async_evd_handle: in: DAT_HANDLE_NULL: make an EVD for async events; the consumer sets its
 *	upcall by dat_evd_modify_upcall(); DAT_EVD_ASYNC_EXISTS: this open gets no async events.
 *	out: the EVD
 * @ia_handle: out
 * @dat_major: DAT_VERSION_MAJOR
 * @dat_minor: at most DAT_VERSION_MINOR
 * @thread_safety: ignored: calls are safe
 * @owner: module that opens the adapter, which is closed when the module is unloaded; NULL for
 *	built-in code
 *
 * The adapter must be of the caller's network namespace.  Consumers call dat_ia_openv() or
 * dat_ia_open(), which fill in the other arguments.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_PROVIDER_NOT_FOUND: no such adapter (DAT_NAME_NOT_REGISTERED) or version;
 * DAT_MODEL_NOT_SUPPORTED: the driver is not known to be good; or *@async_evd_handle is an
 * EVD of another IA, which this IA can't feed;
 * DAT_INVALID_PARAMETER: @ia_name is NULL or too long (DAT_INVALID_ARG1),
 * @async_evd_min_qlen not positive (DAT_INVALID_ARG2), a pointer is NULL
 * (DAT_INVALID_ARG3, DAT_INVALID_ARG4);
 * DAT_INSUFFICIENT_RESOURCES: @async_evd_min_qlen is over max_evd_qlen (DAT_RESOURCE_TEVD);
 * memory or cgroup limits.
 */
DAT_RETURN kdat_ia_openv(const DAT_NAME_PTR ia_name, DAT_COUNT async_evd_min_qlen,
			 DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle,
			 DAT_UINT32 dat_major, DAT_UINT32 dat_minor,
			 DAT_BOOLEAN thread_safety, struct module *owner);

/**
 * kdat_ia_query() - read attributes of an adapter and of this implementation
 * @ia_handle: the IA
 * @async_evd_handle: out: async EVD of the IA, or DAT_EVD_OUT_OF_SCOPE; may be NULL
 * @ia_attr_mask: fields that are wanted; others may be filled in too
 * @ia_attr: out; may be NULL if the mask is 0
 * @provider_attr_mask: fields that are wanted
 * @provider_attr: out; may be NULL if the mask is 0
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
 * @ia_flags: GRACEFUL: only if nothing but the async EVD is left; ABRUPT: destroy
 *	everything: connections end, and outstanding operations are not reported
 *
 * Waits for upcalls that run.  For other callers the handles of the IA and of its objects are
 * invalid from the beginning of the call.
 *
 * Context: process; not in an upcall of the IA.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: objects are left (DAT_INVALID_STATE_IA_IN_USE), or the caller is an
 * upcall;
 * DAT_INVALID_PARAMETER: unknown flags (DAT_INVALID_ARG2).
 */
DAT_RETURN kdat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS ia_flags);

/**
 * kdat_ia_memtype_hint() - get the preferred length and alignment of registrations
 * @ia_handle: the IA
 * @mem_type: type of the registrations
 * @length: bytes wanted
 * @mem_opt: property to optimize
 * @preferred_length: out: bytes
 * @preferred_alignment: out: bytes
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
 * kdat_ia_reserved_lmr() - get the LMR that stands for all memory
 * @ia_handle: the IA
 * @lmr: out: can only be queried, and does not prevent a graceful close
 * @lmr_context: out: for segments whose virtual_address is a DMA address, as
 *	ib_dma_map_*() give it; for every PZ, for local use only
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
 * @max_to_return: entries of @provider_list
 * @number_entries: out: number of adapters, perhaps more than @max_to_return
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
 * Not implemented: a table has no size, version or owner, so neither its functions nor their
 * lifetime could be checked.  Devices are supported by drivers of <rdma/ib_verbs.h>.
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
 * Return: DAT_INVALID_PARAMETER: a pointer is NULL; DAT_PROVIDER_IN_USE: the name is that of an
 * adapter of this driver; DAT_PROVIDER_NOT_FOUND.
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
 * @context: value of the consumer
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
 * kdat_strerror() - name a return code
 * @value: what a call returned
 * @major_message: out: name of its type; a constant
 * @minor_message: out: name of its subtype, or ""; a constant
 *
 * Context: any.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @value is no code (DAT_INVALID_ARG1), a pointer is NULL
 * (DAT_INVALID_ARG2, DAT_INVALID_ARG3).
 */
DAT_RETURN kdat_strerror(DAT_RETURN value, const char **major_message,
			 const char **minor_message);

/* ---- Event dispatchers ---- */

/**
 * kdat_evd_kcreate() - make an event dispatcher
 * @ia_handle: parent
 * @evd_min_qlen: events that the EVD must hold, from 1 to max_evd_qlen; should have room for
 *	all operations outstanding on the EPs that feed it: an event that finds it full is lost
 * @upcall_policy: any but TEARDOWN
 * @upcall: function to call; may be NULL or DAT_UPCALL_NULL if @upcall_policy is DISABLE
 * @evd_flags: bitwise OR of the streams that may feed the EVD; they decide where upcalls run
 * @evd_handle: out; upcalls may begin before the call returns
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @evd_min_qlen is not positive (DAT_INVALID_ARG2), unknown policy
 * (DAT_INVALID_ARG3), no function though the policy calls one (DAT_INVALID_ARG4), no or
 * unknown streams (DAT_INVALID_ARG5), @evd_handle is NULL (DAT_INVALID_ARG6);
 * DAT_INSUFFICIENT_RESOURCES: @evd_min_qlen is too large (DAT_RESOURCE_TEVD); memory.
 */
DAT_RETURN kdat_evd_kcreate(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			    DAT_UPCALL_POLICY upcall_policy, const DAT_UPCALL_OBJECT *upcall,
			    DAT_EVD_FLAGS evd_flags, DAT_EVD_HANDLE *evd_handle);

/**
 * kdat_evd_modify_upcall() - change the upcall of an event dispatcher
 * @evd_handle: the EVD
 * @upcall_policy: new policy
 * @upcall: new object, or DAT_UPCALL_SAME
 * @flag: DAT_UPCALL_INVOC_ANY: call at once if events are queued; NEW: call when an event arrives
 *
 * An upcall that runs already, or whose event was dequeued, may finish after this call returns.
 * TEARDOWN waits for such upcalls and leaves the policy at DISABLE.  A modification while TEARDOWN
 * waits takes effect when the wait is over.
 *
 * Context: BH; with TEARDOWN process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: TEARDOWN from an upcall of this EVD, or in a context that must not sleep;
 * DAT_INVALID_PARAMETER: unknown policy (DAT_INVALID_ARG2), no function though the policy
 * calls one (DAT_INVALID_ARG3), unknown flag (DAT_INVALID_ARG4).
 */
DAT_RETURN kdat_evd_modify_upcall(DAT_EVD_HANDLE evd_handle, DAT_UPCALL_POLICY upcall_policy,
				  const DAT_UPCALL_OBJECT *upcall, DAT_UPCALL_FLAG flag);

/**
 * kdat_evd_query() - read the parameters of an event dispatcher
 * @evd_handle: the EVD
 * @evd_param_mask: fields that are wanted; others may be filled in too
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
 * kdat_evd_resize() - change the length of the queue
 * @evd_handle: the EVD; events may arrive meanwhile
 * @evd_min_qlen: events that the EVD must hold, from 1 to max_evd_qlen
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: not positive (DAT_INVALID_ARG2);
 * DAT_INVALID_STATE: more are queued;
 * DAT_INSUFFICIENT_RESOURCES: over max_evd_qlen (DAT_RESOURCE_TEVD), memory.
 */
DAT_RETURN kdat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen);

/**
 * kdat_evd_post_se() - queue a software event
 * @evd_handle: EVD with DAT_EVD_SOFTWARE_FLAG
 * @event: event_number DAT_SOFTWARE_EVENT and the pointer
 *
 * Context: BH.
 * Return: DAT_SUCCESS;
 * DAT_QUEUE_FULL;
 * DAT_INVALID_PARAMETER: @event is NULL or not a DAT_SOFTWARE_EVENT (DAT_INVALID_ARG2);
 * DAT_INVALID_HANDLE: the EVD takes no software events.
 */
DAT_RETURN kdat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event);

/**
 * kdat_evd_dequeue() - take the oldest event, if there is one
 * @evd_handle: the EVD
 * @event: out
 *
 * Allowed while upcalls run: each event goes to one of the two.
 *
 * Context: BH.
 * Return: DAT_SUCCESS;
 * DAT_QUEUE_EMPTY;
 * DAT_INVALID_PARAMETER: @event is NULL (DAT_INVALID_ARG2).
 */
DAT_RETURN kdat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);

/**
 * kdat_evd_free() - destroy an event dispatcher
 * @evd_handle: the EVD
 *
 * Waits for upcalls that run.  Queued events are lost, and queued connection requests are refused.
 *
 * Context: process; not in an upcall of this EVD.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: an EP or service point feeds it, or it is the async EVD that
 * dat_ia_open() made (DAT_INVALID_STATE_EVD_IN_USE); the caller is an upcall of the EVD.
 */
DAT_RETURN kdat_evd_free(DAT_EVD_HANDLE evd_handle);

/* ---- Protection zones ---- */

/**
 * kdat_pz_create() - make a protection zone
 * @ia_handle: parent
 * @pz_handle: out
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @pz_handle is NULL (DAT_INVALID_ARG2);
 * DAT_INSUFFICIENT_RESOURCES: too many (DAT_RESOURCE_PROTECTION_DOMAIN), memory.
 */
DAT_RETURN kdat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle);

/**
 * kdat_pz_query() - read the parameters of a protection zone
 * @pz_handle: the PZ
 * @pz_param_mask: fields that are wanted
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
 * DAT_INVALID_STATE: the zone has objects (DAT_INVALID_STATE_PZ_IN_USE).
 */
DAT_RETURN kdat_pz_free(DAT_PZ_HANDLE pz_handle);

/* ---- Memory ---- */

/**
 * kdat_lmr_kcreate() - register kernel memory
 * @ia_handle: parent
 * @mem_type: kind of memory; selects the member of @region_description
 * @region_description: description of the memory
 * @length: bytes, at least 1; PHYSICAL: bytes in all; ignored for LMR
 * @pz_handle: protection zone
 * @privileges: privileges of the memory; bitwise OR
 * @va_type: DAT_VA_TYPE_VA
 * @mem_opt: property to optimize; registrations are exact to the byte in any case
 * @lmr_handle: out
 * @lmr_context: out: goes into DAT_LMR_TRIPLETs; may be NULL
 * @rmr_context: out: goes to peers; 0 without a remote privilege; may be NULL
 * @registered_length: out: bytes; may be NULL
 * @registered_address: out: address of the first byte in segments; may be NULL
 *
 * The consumer owns the memory and keeps it until the LMR is freed.  By type the memory is
 *
 *   VIRTUAL             an address of the linear map, of vmalloc() or of static data
 *   PHYSICAL            pages of PAGE_SIZE
 *   PHYSICAL_VAR_PAGES  pages of a larger size, or the same
 *   PLATFORM            struct scatterlist; only its first and last byte may be anywhere in
 *                       their pages
 *   BYPASS              the same, mapped for the device by ib_dma_map_sg(), with its result as
 *                       nents; the consumer owns the mapping and syncs the caches
 *   LMR                 the memory of an LMR, which may be freed before this one
 *
 * Pages and scatterlists are named by the physical address of their first byte, BYPASS by its
 * DMA address, as if the rest followed: see @registered_address.
 *
 * Memory that has a remote privilege, or is not contiguous for the device, takes a registration.  A
 * registration lists at most max_fast_reg_page_list_len pages (see struct ib_device_attr), of the
 * smallest page size with which that is enough.  The first registration of a zone takes as long as
 * a connection, because it connects the adapter to itself.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_LENGTH_ERROR: @length is 0 or more than max_lmr_block_size;
 * DAT_INVALID_PARAMETER: unknown type (DAT_INVALID_ARG2), bad memory (DAT_INVALID_ARG3),
 * unknown @privileges (DAT_INVALID_ARG6), @va_type (DAT_INVALID_ARG7) or @mem_opt
 * (DAT_INVALID_ARG8), @lmr_handle is NULL (DAT_INVALID_ARG9);
 * DAT_RESERVED_LMR: memory of the reserved LMR;
 * DAT_MODEL_NOT_SUPPORTED: lmr_mem_types_supported lacks the type, or zero-based; the device has no
 * registrations for the kernel, or accesses the memory through bounce buffers with another
 * alignment, as in an encrypted guest: then only whole pages can be registered;
 * DAT_INVALID_ADDRESS: the adapter has no address, or can't reach itself;
 * DAT_INTERNAL_ERROR: the device refused the registration;
 * DAT_INSUFFICIENT_RESOURCES: registrations, or pages of one
 * (DAT_RESOURCE_MEMORY_REGION); memory.
 */
DAT_RETURN kdat_lmr_kcreate(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			    DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			    DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
			    DAT_VA_TYPE va_type, DAT_MEM_OPTIMIZE_FLAGS mem_opt,
			    DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			    DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			    DAT_VADDR *registered_address);

/**
 * kdat_lmr_allocate() - make an LMR without memory, for dat_lmr_fmr()
 * @ia_handle: parent
 * @pz_handle: protection zone
 * @max_pages: pages that it can hold at a time, from 1 to the smaller of 1024 and
 *	max_fast_reg_page_list_len of struct ib_device_attr
 * @scope: DAT_LMR_SCOPE_PZ or ANY
 * @lmr_handle: out
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @max_pages (DAT_INVALID_ARG3), unknown @scope (DAT_INVALID_ARG4),
 * @lmr_handle is NULL (DAT_INVALID_ARG5);
 * DAT_MODEL_NOT_SUPPORTED: fmr_supported is DAT_FALSE, or the scope;
 * DAT_INSUFFICIENT_RESOURCES: registrations (DAT_RESOURCE_MEMORY_REGION), memory.
 */
DAT_RETURN kdat_lmr_allocate(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			     DAT_COUNT max_pages, DAT_LMR_SCOPE scope,
			     DAT_LMR_HANDLE *lmr_handle);

/**
 * kdat_lmr_fmr() - bind an allocated LMR to memory
 * @lmr_handle: LMR of dat_lmr_allocate() without memory
 * @mem_type: PHYSICAL, PHYSICAL_VAR_PAGES or PLATFORM
 * @region_description: description of the memory
 * @num_pages: number of pages; PLATFORM: at least as many as the list has
 * @privileges: privileges of the memory; bitwise OR
 * @va_type: DAT_VA_TYPE_VA
 * @ep_handle: connected EP of the same zone
 * @user_cookie: returned in the completion
 * @completion_flags: SUPPRESS, BARRIER_FENCE, UNSIGNALLED
 * @lmr_context: out: valid for requests posted to the EP from now on; may be NULL
 * @rmr_context: out: 0 without a remote privilege; may be NULL
 *
 * The binding is a request; its completion is a DTO event of operation DAT_DTO_LMR_FMR.  Segments
 * name the memory by the physical address of its first byte, see dat_lmr_kcreate().  If the request
 * is flushed or fails, the LMR has no memory; it may take a moment until the LMR is free again.
 * A generation of 12 bits, which all LMRs of an IA share, distinguishes contexts.  A context
 * that is used 4096 generations after its end may name what the LMR holds then.
 *
 * Context: process: some devices allocate memory for their lists.
 * Return: as dat_ep_post_send(), and
 * DAT_INVALID_HANDLE: the LMR is not of dat_lmr_allocate() (DAT_INVALID_HANDLE_LMR);
 * DAT_RESERVED_LMR: the LMR is the reserved one;
 * DAT_INVALID_STATE: the LMR has memory, or its last request has not completed
 * (DAT_INVALID_STATE_LMR_IN_USE);
 * DAT_INSUFFICIENT_RESOURCES: the registration was lost by a failure, and there was no other
 * (DAT_RESOURCE_MEMORY_REGION);
 * DAT_PROTECTION_VIOLATION: zones differ;
 * DAT_INVALID_PARAMETER: unknown type (DAT_INVALID_ARG2), bad memory (DAT_INVALID_ARG3), no
 * pages or too many (DAT_INVALID_ARG4), unknown @privileges (DAT_INVALID_ARG5), @va_type
 * (DAT_INVALID_ARG6) or flags (DAT_INVALID_ARG9);
 * DAT_MODEL_NOT_SUPPORTED: @mem_type, or a zero-based @va_type.
 */
DAT_RETURN kdat_lmr_fmr(DAT_LMR_HANDLE lmr_handle, DAT_MEM_TYPE mem_type,
			DAT_REGION_DESCRIPTION region_description, DAT_VLEN num_pages,
			DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type,
			DAT_EP_HANDLE ep_handle, DAT_LMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags, DAT_LMR_CONTEXT *lmr_context,
			DAT_RMR_CONTEXT *rmr_context);

/**
 * kdat_lmr_invalidate() - invalidate an allocated LMR, which returns the memory
 * @lmr_handle: LMR of dat_lmr_allocate() with memory
 * @ep_handle: connected EP of the same zone
 * @user_cookie: returned in the completion
 * @completion_flags: SUPPRESS, BARRIER_FENCE, UNSIGNALLED, LMR_INVALIDATE_FENCE
 *
 * The invalidation is a request; its completion is a DTO event of operation
 * DAT_DTO_LMR_INVALIDATE.  After the event the LMR is free, and no peer can access the memory.
 * RDMA reads posted to the EP before the request may still use the memory.  Other operations may
 * use it only with LMR_INVALIDATE_FENCE in @completion_flags.  Without the fence they should have
 * completed before: a device that has to repeat one would fail and break the connection.  If the
 * request is flushed because the EP is disconnected already, the LMR keeps the memory.  If the
 * request broke the connection, the memory is released a little later, and dat_lmr_free() waits for
 * that.
 *
 * Context: BH.
 * Return: as dat_ep_post_send(), and
 * DAT_INVALID_HANDLE: the LMR is not of dat_lmr_allocate() (DAT_INVALID_HANDLE_LMR);
 * DAT_RESERVED_LMR: the LMR is the reserved one;
 * DAT_INVALID_STATE: the LMR has no memory (DAT_INVALID_STATE_LMR_FREE), or the request that binds
 * it was posted to another EP and has not completed (DAT_INVALID_STATE_LMR_IN_USE);
 * DAT_INVALID_PARAMETER: flags (DAT_INVALID_ARG4);
 * DAT_PROTECTION_VIOLATION: zones differ.
 */
DAT_RETURN kdat_lmr_invalidate(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
			       DAT_LMR_COOKIE user_cookie,
			       DAT_COMPLETION_FLAGS completion_flags);

/**
 * kdat_lmr_query() - read the parameters of a registration
 * @lmr_handle: the LMR
 * @lmr_param_mask: fields that are wanted; others may be filled in too
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
 * Peers that use the memory get errors, which break connections.  Local operations that use it
 * should have completed before: on contiguous memory without a remote privilege they would
 * continue, although the consumer may have reused the memory.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: an RMR is bound to the LMR, or about to be; or a request of dat_lmr_fmr() or
 * dat_lmr_invalidate() has not completed (DAT_INVALID_STATE_LMR_IN_USE);
 * DAT_RESERVED_LMR: the LMR is the reserved one.
 */
DAT_RETURN kdat_lmr_free(DAT_LMR_HANDLE lmr_handle);

/**
 * kdat_lmr_sync_rdma_read() - make what the CPU wrote visible to peers' RDMA reads
 * @ia_handle: the IA
 * @local_segments: the memory
 * @num_segments: entries of @local_segments
 *
 * Call this after writing to the memory, before the peer may read it.  Where lmr_sync_req is
 * DAT_TRUE, call it before a send as well.  What is of type BYPASS, or of the reserved LMR, is not
 * touched.
 *
 * Context: BH.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @local_segments is NULL, or one is in no LMR (DAT_INVALID_ARG2).
 */
DAT_RETURN kdat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
				   const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments);

/**
 * kdat_lmr_sync_rdma_write() - make data that peers have written visible to the CPU
 * @ia_handle: the IA
 * @local_segments: the memory
 * @num_segments: entries of @local_segments
 *
 * Call this before reading the memory, once the peer has reported that its RDMA write is
 * complete.  Where lmr_sync_req is DAT_TRUE, call it after a receive and after an RDMA read
 * into the memory as well.
 *
 * Context: BH.  Return: as dat_lmr_sync_rdma_read().
 */
DAT_RETURN kdat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
				    const DAT_LMR_TRIPLET *local_segments,
				    DAT_VLEN num_segments);

/**
 * kdat_rmr_create() - make a window for peers, bound to nothing yet
 * @pz_handle: protection zone
 * @rmr_handle: out
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @rmr_handle is NULL (DAT_INVALID_ARG2);
 * DAT_INSUFFICIENT_RESOURCES: too many, memory.
 */
DAT_RETURN kdat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle);

/**
 * kdat_rmr_create_for_ep() - make a window that only one connection can use
 * @pz_handle: protection zone
 * @rmr_handle: out
 *
 * Context: process.
 * Return: DAT_MODEL_NOT_SUPPORTED: each key of this implementation is valid for all connections of
 * its zone.  A key for one connection takes memory windows of type 2, which kernel verbs do not
 * have.
 */
DAT_RETURN kdat_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle);

/**
 * kdat_rmr_bind() - bind a window to memory, or to nothing
 * @rmr_handle: the RMR
 * @lmr_handle: LMR of the memory; ignored for an unbind
 * @lmr_triplet: the memory; a length of 0 unbinds
 * @mem_priv: privileges of peers
 * @va_type: DAT_VA_TYPE_VA
 * @ep_handle: connected EP, over whose connection the peer will use the window
 * @user_cookie: returned in the completion
 * @completion_flags: SUPPRESS, UNSIGNALLED, BARRIER_FENCE
 * @rmr_context: out: goes to the peer
 *
 * The bind is a request; its completion is an RMR bind event at the EP's request EVD.  Requests
 * that are posted later start when the bind is done.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INSUFFICIENT_RESOURCES: queue full (DAT_RESOURCE_TEP), memory;
 * DAT_INVALID_PARAMETER: @lmr_triplet is NULL or outside of the LMR (DAT_INVALID_ARG3),
 * unknown @mem_priv (DAT_INVALID_ARG4), @va_type (DAT_INVALID_ARG5) or flags
 * (DAT_INVALID_ARG8), @rmr_context is NULL (DAT_INVALID_ARG9);
 * DAT_INVALID_STATE: the EP is neither connected nor disconnected;
 * DAT_PROTECTION_VIOLATION: RMR, LMR and EP are not of one zone;
 * DAT_PRIVILEGES_VIOLATION: remote write of an LMR without local write;
 * DAT_RESERVED_LMR: the LMR is the reserved one;
 * DAT_MODEL_NOT_SUPPORTED: a zero-based @va_type, or an LMR of dat_lmr_allocate().
 */
DAT_RETURN kdat_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
			 const DAT_LMR_TRIPLET *lmr_triplet, DAT_MEM_PRIV_FLAGS mem_priv,
			 DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle,
			 DAT_RMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
			 DAT_RMR_CONTEXT *rmr_context);

/**
 * kdat_rmr_query() - read the parameters of a window
 * @rmr_handle: the RMR
 * @rmr_param_mask: fields that are wanted; others may be filled in too
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
 * kdat_rmr_free() - destroy a window, bound or not
 * @rmr_handle: the RMR
 *
 * Context: process.  Return: DAT_SUCCESS.
 */
DAT_RETURN kdat_rmr_free(DAT_RMR_HANDLE rmr_handle);

/* ---- Endpoints ---- */

/**
 * kdat_ep_create() - make an endpoint
 * @ia_handle: parent
 * @pz_handle: protection zone
 * @recv_evd_handle: EVD with DAT_EVD_DTO_FLAG for receives, or DAT_HANDLE_NULL, which
 *	discards their completions
 * @request_evd_handle: EVD with DAT_EVD_DTO_FLAG for requests, or DAT_HANDLE_NULL
 * @connect_evd_handle: EVD with DAT_EVD_CONNECTION_FLAG, or DAT_HANDLE_NULL; without one the EP
 *	can't be connected
 * @ep_attributes: attributes of the EP; NULL for defaults
 * @ep_handle: out
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: an EVD does not take the stream (DAT_INVALID_HANDLE_EVD_RECV,
 * _EVD_REQUEST, _EVD_CONN);
 * DAT_INVALID_PARAMETER: an attribute is out of range (DAT_INVALID_ARG6), @ep_handle is NULL
 * (DAT_INVALID_ARG7);
 * DAT_MODEL_NOT_SUPPORTED: qos or srq_soft_hw;
 * DAT_INSUFFICIENT_RESOURCES: memory (DAT_RESOURCE_TEP).
 */
DAT_RETURN kdat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
			  DAT_EVD_HANDLE connect_evd_handle, const DAT_EP_ATTR *ep_attributes,
			  DAT_EP_HANDLE *ep_handle);

/**
 * kdat_ep_create_with_srq() - make an endpoint that receives into shared buffers
 * @ia_handle: parent
 * @pz_handle: protection zone of the SRQ
 * @recv_evd_handle: as for dat_ep_create()
 * @request_evd_handle: as for dat_ep_create()
 * @connect_evd_handle: as for dat_ep_create()
 * @srq_handle: the SRQ
 * @ep_attributes: never NULL
 * @ep_handle: out
 *
 * Context: process.
 * Return: as dat_ep_create(), but
 * DAT_INVALID_PARAMETER: zones differ (DAT_INVALID_ARG2), attributes (DAT_INVALID_ARG7),
 * @ep_handle is NULL (DAT_INVALID_ARG8).
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
 * @ep_param_mask: fields that are wanted; others may be filled in too
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
 * @ep_param: their values
 *
 * All fields are changed or none.  PZ, EVDs and attributes of an unconnected EP can be
 * changed, EVDs and attributes also while it is reserved or passive connection pending;
 * the COMM may be given, but only one value is supported.  A post that comes at the same time may
 * find the queue full.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown or fixed fields in the mask (DAT_INVALID_ARG2), @ep_param
 * is NULL or has a value out of range (DAT_INVALID_ARG3);
 * DAT_INVALID_STATE: not in this state, or more operations are posted than would fit;
 * DAT_MODEL_NOT_SUPPORTED, DAT_COMM_NOT_SUPPORTED, DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN kdat_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			  const DAT_EP_PARAM *ep_param);

/**
 * kdat_ep_get_status() - read the state of an endpoint
 * @ep_handle: the EP
 * @ep_state: out; may be NULL
 * @recv_idle: out: no receive is outstanding; may be NULL
 * @request_idle: out: no request is outstanding; may be NULL
 *
 * Context: BH.  Return: DAT_SUCCESS.
 */
DAT_RETURN kdat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			      DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle);

/**
 * kdat_ep_connect() - ask a peer for a connection
 * @ep_handle: unconnected EP with a connect EVD
 * @remote_ia_address: sockaddr_in or sockaddr_in6 of the peer; its port is ignored
 * @remote_conn_qual: qualifier of the peer's service point, not 0; see kdat_psp_create()
 * @timeout: microseconds, not 0; DAT_TIMEOUT_INFINITE leaves the timeout to the transport
 * @private_data_size: bytes of @private_data, from 0 to max_private_data_size
 * @private_data: goes to the peer; may be NULL if its size is 0
 * @quality_of_service: type of service of the connection; see dat_ep_connect(3)
 * @connect_flags: DAT_CONNECT_DEFAULT_FLAG
 *
 * One event follows at the connect EVD: ESTABLISHED, PEER_REJECTED, NON_PEER_REJECTED,
 * UNREACHABLE or TIMED_OUT; after all but the first the EP is disconnected.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: the EP is not unconnected; the subtype gives the state;
 * DAT_INVALID_HANDLE: the EP lacks a connect EVD (DAT_INVALID_HANDLE_EVD_CONN);
 * DAT_INVALID_ADDRESS: another family (DAT_INVALID_ADDRESS_UNSUPPORTED), no route to the peer
 * (DAT_INVALID_ADDRESS_UNREACHABLE);
 * DAT_INVALID_PARAMETER: address is NULL (DAT_INVALID_ARG2), qualifier (DAT_INVALID_ARG3),
 * @timeout (DAT_INVALID_ARG4), size (DAT_INVALID_ARG5), @private_data is NULL
 * (DAT_INVALID_ARG6), flags (DAT_INVALID_ARG8);
 * DAT_MODEL_NOT_SUPPORTED: quality of service, multipath;
 * DAT_INSUFFICIENT_RESOURCES: memory.
 */
DAT_RETURN kdat_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
			   DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			   DAT_COUNT private_data_size, const DAT_PVOID private_data,
			   DAT_QOS quality_of_service, DAT_CONNECT_FLAGS connect_flags);

/**
 * kdat_ep_dup_connect() - ask the peer of another endpoint for a connection
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
 * kdat_ep_common_connect() - ask a peer for a connection, by address and port
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
 * kdat_ep_disconnect() - end a connection, or the attempt at one
 * @ep_handle: the EP
 * @disconnect_flags: GRACEFUL: outstanding requests complete first, and new ones are refused;
 *	ABRUPT: at once
 *
 * DAT_CONNECTION_EVENT_DISCONNECTED follows.  If the connection has ended already, the call does
 * nothing.
 *
 * Context: BH.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: there never was a connection; the subtype gives the state;
 * DAT_INVALID_PARAMETER: unknown flags (DAT_INVALID_ARG2).
 */
DAT_RETURN kdat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS disconnect_flags);

/**
 * kdat_ep_reset() - make a disconnected endpoint connectable again
 * @ep_handle: disconnected or unconnected EP
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: the EP is neither disconnected nor unconnected; the subtype gives the state.
 */
DAT_RETURN kdat_ep_reset(DAT_EP_HANDLE ep_handle);

/**
 * kdat_ep_free() - destroy an endpoint
 * @ep_handle: the EP
 *
 * A connection is broken at once, and completions that have not arrived are lost.  Completions of a
 * disconnected EP are not lost: a post during the free is refused, or it succeeds and is flushed
 * before the EP is freed.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: a service point or a request holds the EP.
 */
DAT_RETURN kdat_ep_free(DAT_EP_HANDLE ep_handle);

/**
 * kdat_ep_post_send() - send a message
 * @ep_handle: connected EP; on a disconnected one it is flushed at once
 * @num_segments: entries of @local_iov, from 0 to max_request_iov
 * @local_iov: the message; may be used again at return, the memory after completion
 * @user_cookie: returned in the completion
 * @completion_flags: SUPPRESS, SOLICITED_WAIT, BARRIER_FENCE, and UNSIGNALLED if
 *	request_completion_flags has it; bitwise OR
 *
 * Context: BH.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: neither connected nor disconnected; the subtype gives the state;
 * DAT_INSUFFICIENT_RESOURCES: the queue is full (DAT_RESOURCE_TEP);
 * DAT_INVALID_PARAMETER: too many segments (DAT_INVALID_ARG2), @local_iov is NULL or a
 * segment is outside of its LMR (DAT_INVALID_ARG3), flags (DAT_INVALID_ARG5);
 * DAT_LENGTH_ERROR: longer than max_message_size;
 * DAT_PROTECTION_VIOLATION: an LMR is of another zone;
 * DAT_PRIVILEGES_VIOLATION: no such LMR, or it lacks the privilege.
 */
DAT_RETURN kdat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     DAT_COMPLETION_FLAGS completion_flags);

/**
 * kdat_ep_post_send_with_invalidate() - send a message that ends a key of the peer
 * @ep_handle: as for dat_ep_post_send()
 * @num_segments: as for dat_ep_post_send()
 * @local_iov: as for dat_ep_post_send()
 * @user_cookie: as for dat_ep_post_send()
 * @completion_flags: as for dat_ep_post_send()
 * @invalidate_flag: DAT_FALSE: a plain send
 * @rmr_context: the key, which must be that of a window (RMR)
 *
 * The receive at the peer is a RECEIVE_WITH_INVALIDATE that names the key.  The window is then
 * bound to nothing, as after an unbind, and its LMR can be freed.  The device of the peer
 * refuses keys that are not its own or are not registered in a queue; the peer's kernel breaks the
 * connection if the key is that of an LMR, which only its owner may end.
 *
 * Context: BH.
 * Return: as dat_ep_post_send(), and
 * DAT_MODEL_NOT_SUPPORTED: with @invalidate_flag: the device has no such request.
 */
DAT_RETURN kdat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					     DAT_LMR_TRIPLET *local_iov,
					     DAT_DTO_COOKIE user_cookie,
					     DAT_COMPLETION_FLAGS completion_flags,
					     DAT_BOOLEAN invalidate_flag,
					     DAT_RMR_CONTEXT rmr_context);

/**
 * kdat_ep_post_recv() - post a buffer for a message
 * @ep_handle: EP without an SRQ, in any state; on a disconnected one it is flushed
 * @num_segments: entries of @local_iov, from 0 to max_recv_iov
 * @local_iov: memory for the message
 * @user_cookie: returned in the completion
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
 * @ep_handle: connected EP; on a disconnected one it is flushed at once
 * @num_segments: entries of @local_iov, from 0 to max_rdma_read_iov
 * @local_iov: memory for the data, filled from the front
 * @user_cookie: returned in the completion
 * @remote_buffer: the peer's memory; its length is read
 * @completion_flags: SUPPRESS, BARRIER_FENCE, and UNSIGNALLED if request_completion_flags has it;
 *	bitwise OR
 *
 * Context: BH.
 * Return: as dat_ep_post_send(), but
 * DAT_LENGTH_ERROR: @local_iov is shorter than @remote_buffer, or longer than
 * max_rdma_size;
 * DAT_INVALID_PARAMETER: also @remote_buffer is NULL (DAT_INVALID_ARG5), flags
 * (DAT_INVALID_ARG6).
 */
DAT_RETURN kdat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_buffer,
				  DAT_COMPLETION_FLAGS completion_flags);

/**
 * kdat_ep_post_rdma_read_to_rmr() - read memory of the peer into a window
 * @ep_handle: connected EP
 * @local_buffer: a part of a window (RMR) of the EP's zone that is bound with remote write
 * @user_cookie: returned in the completion
 * @remote_buffer: the peer's memory; its length is read
 * @completion_flags: as for dat_ep_post_rdma_read()
 *
 * The read sees the binds that precede it in the queue of @ep_handle.  A key that is not bound when
 * the request has its turn, or a part outside of the window, completes with
 * DAT_DTO_ERR_LOCAL_PROTECTION.
 *
 * Context: BH.
 * Return: as dat_ep_post_rdma_read(), but
 * DAT_LENGTH_ERROR: @local_buffer is shorter than @remote_buffer, or that longer than
 * max_rdma_size;
 * DAT_INVALID_PARAMETER: @local_buffer (DAT_INVALID_ARG2) or @remote_buffer
 * (DAT_INVALID_ARG4) is NULL, flags (DAT_INVALID_ARG5).
 */
DAT_RETURN kdat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle,
					 const DAT_RMR_TRIPLET *local_buffer,
					 DAT_DTO_COOKIE user_cookie,
					 const DAT_RMR_TRIPLET *remote_buffer,
					 DAT_COMPLETION_FLAGS completion_flags);

/**
 * kdat_ep_post_rdma_write() - write memory of the peer
 * @ep_handle: connected EP; on a disconnected one it is flushed at once
 * @num_segments: entries of @local_iov, from 0 to max_rdma_write_iov
 * @local_iov: the data
 * @user_cookie: returned in the completion
 * @remote_buffer: the peer's memory, filled from its front
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
 * kdat_ep_recv_query() - query the number of buffers that an endpoint holds
 * @ep_handle: the EP
 * @nbufs_allocated: out: receives posted and not completed; with an SRQ
 *	DAT_VALUE_UNKNOWN; may be NULL
 * @bufs_alloc_span: out: the same; may be NULL
 *
 * Context: BH.  Return: DAT_SUCCESS.
 */
DAT_RETURN kdat_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
			      DAT_COUNT *bufs_alloc_span);

/**
 * kdat_ep_set_watermark() - limit the buffers that an endpoint holds
 * @ep_handle: the EP
 * @soft_high_watermark: DAT_WATERMARK_INFINITE
 * @hard_high_watermark: DAT_WATERMARK_INFINITE
 *
 * Context: BH.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: negative (DAT_INVALID_ARG2, DAT_INVALID_ARG3);
 * DAT_MODEL_NOT_SUPPORTED: any other value: verbs do not report which EP holds a buffer of an SRQ.
 */
DAT_RETURN kdat_ep_set_watermark(DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark,
				 DAT_COUNT hard_high_watermark);

/* ---- Shared receive queues ---- */

/**
 * kdat_srq_create() - make a shared receive queue
 * @ia_handle: parent
 * @pz_handle: protection zone
 * @srq_attr: sizes; the low watermark must be DAT_SRQ_LW_DEFAULT
 * @srq_handle: out
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: an attribute is out of range or @srq_attr is NULL
 * (DAT_INVALID_ARG3), @srq_handle is NULL (DAT_INVALID_ARG4);
 * DAT_MODEL_NOT_SUPPORTED: the adapter has no SRQs;
 * DAT_INSUFFICIENT_RESOURCES: too many (DAT_RESOURCE_SRQ), memory.
 */
DAT_RETURN kdat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			   DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle);

/**
 * kdat_srq_free() - destroy a shared receive queue
 * @srq_handle: the SRQ
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: an EP uses it (DAT_INVALID_STATE_SRQ_IN_USE).
 */
DAT_RETURN kdat_srq_free(DAT_SRQ_HANDLE srq_handle);

/**
 * kdat_srq_post_recv() - add a buffer
 * @srq_handle: the SRQ
 * @num_segments: entries of @local_iov, from 0 to max_recv_iov
 * @local_iov: memory for the message
 * @user_cookie: returned in the completion
 *
 * Context: BH.
 * Return: DAT_SUCCESS;
 * DAT_INSUFFICIENT_RESOURCES: max_recv_dtos buffers are outstanding (DAT_RESOURCE_SRQ);
 * DAT_INVALID_PARAMETER: too many segments (DAT_INVALID_ARG2), @local_iov is NULL or a
 * segment is outside of its LMR (DAT_INVALID_ARG3);
 * DAT_LENGTH_ERROR, DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION: as
 * dat_ep_post_recv().
 */
DAT_RETURN kdat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			      DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie);

/**
 * kdat_srq_query() - read the parameters of a shared receive queue
 * @srq_handle: the SRQ
 * @srq_param_mask: fields that are wanted; others may be filled in too
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
 * kdat_srq_resize() - change the number of buffers
 * @srq_handle: the SRQ; messages may arrive meanwhile
 * @srq_max_recv_dto: buffers that the SRQ must hold
 *
 * A post that comes at the same time may find the queue full.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: out of range (DAT_INVALID_ARG2);
 * DAT_INVALID_STATE: more are outstanding, or the low watermark is higher;
 * DAT_INSUFFICIENT_RESOURCES: memory.
 */
DAT_RETURN kdat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto);

/**
 * kdat_srq_set_lw() - ask for an event when few buffers are left
 * @srq_handle: the SRQ
 * @low_watermark: number of buffers; one async event when fewer are available, perhaps at once
 *
 * Context: BH.
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER: out of range (DAT_INVALID_ARG2).
 */
DAT_RETURN kdat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark);

/* ---- Service points and connection requests ---- */

/**
 * kdat_psp_create() - listen at a connection qualifier
 * @ia_handle: parent
 * @conn_qual: not 0; up to 65535 a port of rdma_cm; a larger one stands for the port
 *	conn_qual % 32001 + 33534, as in OFED's uDAPL
 * @evd_handle: EVD with DAT_EVD_CR_FLAG; requests that find it full are refused
 * @psp_flags: DAT_PSP_CONSUMER_FLAG
 * @psp_handle: out; requests may arrive before the call returns
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_CONN_QUAL_IN_USE: the qualifier has a listener;
 * DAT_PRIVILEGES_VIOLATION: @conn_qual is below 1024 and the calling task has no
 * CAP_NET_BIND_SERVICE;
 * DAT_INVALID_HANDLE: @evd_handle does not take requests (DAT_INVALID_HANDLE_EVD_CR);
 * DAT_INVALID_PARAMETER: @conn_qual (DAT_INVALID_ARG2), @psp_flags (DAT_INVALID_ARG4),
 * @psp_handle is NULL (DAT_INVALID_ARG5);
 * DAT_MODEL_NOT_SUPPORTED: @psp_flags is DAT_PSP_PROVIDER_FLAG.  An EP that the provider made
 * would have no zone, and be useless before dat_ep_modify(): call dat_ep_create() instead;
 * DAT_INSUFFICIENT_RESOURCES: the port has no address (DAT_RESOURCE_DEVICE), memory.
 */
DAT_RETURN kdat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			   DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			   DAT_PSP_HANDLE *psp_handle);

/**
 * kdat_psp_create_any() - listen at a connection qualifier that is free
 * @ia_handle: parent
 * @conn_qual: out
 * @evd_handle: as for dat_psp_create()
 * @psp_flags: as for dat_psp_create()
 * @psp_handle: out
 *
 * Context: process.
 * Return: as dat_psp_create(), but DAT_CONN_QUAL_UNAVAILABLE: none is free.
 */
DAT_RETURN kdat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			       DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			       DAT_PSP_HANDLE *psp_handle);

/**
 * kdat_psp_query() - read the parameters of a public service point
 * @psp_handle: the PSP
 * @psp_param_mask: fields that are wanted; others may be filled in too
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
 * kdat_psp_free() - stop listening
 * @psp_handle: the PSP
 *
 * Requests that were delivered can still be accepted.
 *
 * Context: process.  Return: DAT_SUCCESS.
 */
DAT_RETURN kdat_psp_free(DAT_PSP_HANDLE psp_handle);

/**
 * kdat_rsp_create() - listen at a connection qualifier for one request
 * @ia_handle: parent
 * @conn_qual: not 0; see kdat_psp_create()
 * @ep_handle: unconnected EP, the one that can accept the request; it is reserved, and
 *	passive connection pending when the request has come
 * @evd_handle: EVD with DAT_EVD_CR_FLAG
 * @rsp_handle: out
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_CONN_QUAL_IN_USE: the qualifier has a listener;
 * DAT_INVALID_STATE: the EP is not unconnected; the subtype gives the state;
 * DAT_PRIVILEGES_VIOLATION: as dat_psp_create();
 * DAT_INVALID_HANDLE: @evd_handle does not take requests (DAT_INVALID_HANDLE_EVD_CR);
 * DAT_INVALID_PARAMETER: @conn_qual (DAT_INVALID_ARG2), @rsp_handle is NULL
 * (DAT_INVALID_ARG5);
 * DAT_MODEL_NOT_SUPPORTED: @ep_handle is NULL, see dat_psp_create();
 * DAT_INSUFFICIENT_RESOURCES: as dat_psp_create().
 */
DAT_RETURN kdat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			   DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			   DAT_RSP_HANDLE *rsp_handle);

/**
 * kdat_rsp_query() - read the parameters of a reserved service point
 * @rsp_handle: the RSP
 * @rsp_param_mask: fields that are wanted; others may be filled in too
 * @rsp_param: out; ep_handle is DAT_HANDLE_NULL once the request has come
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @rsp_param is NULL
 * (DAT_INVALID_ARG3).
 */
DAT_RETURN kdat_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
			  DAT_RSP_PARAM *rsp_param);

/**
 * kdat_rsp_free() - stop listening
 * @rsp_handle: the RSP
 *
 * If no request has come, the EP of the RSP is unconnected again.
 *
 * Context: process.  Return: DAT_SUCCESS.
 */
DAT_RETURN kdat_rsp_free(DAT_RSP_HANDLE rsp_handle);

/**
 * kdat_csp_create() - listen at a port of the adapter's address
 * @ia_handle: parent
 * @comm: AF_INET or AF_INET6, SOCK_STREAM, 0 or IPPROTO_TCP
 * @ia_address: sockaddr_in or sockaddr_in6 with the port; 0: any; its address is the
 *	adapter's or the wildcard
 * @evd_handle: EVD with DAT_EVD_CR_FLAG
 * @csp_handle: out
 *
 * The ports are those of dat_psp_create().
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_PORT_IN_USE: the port has a listener;
 * DAT_COMM_NOT_SUPPORTED: another kind of socket;
 * DAT_INVALID_ADDRESS: not of the adapter;
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
 * @csp_param_mask: fields that are wanted; others may be filled in too
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
 * kdat_csp_free() - stop listening
 * @csp_handle: the CSP
 *
 * Context: process.  Return: DAT_SUCCESS.
 */
DAT_RETURN kdat_csp_free(DAT_CSP_HANDLE csp_handle);

/**
 * kdat_cr_query() - get the parameters of a connection request
 * @cr_handle: the CR
 * @cr_param_mask: fields that are wanted; others may be filled in too
 * @cr_param: out
 *
 * InfiniBand and RoCE do not carry the size of private data: zeros follow the data.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @cr_param is NULL
 * (DAT_INVALID_ARG3).
 */
DAT_RETURN kdat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
			 DAT_CR_PARAM *cr_param);

/**
 * kdat_cr_accept() - accept a request
 * @cr_handle: the CR; invalid after success
 * @ep_handle: unconnected EP with a connect EVD; DAT_HANDLE_NULL if the request came to an RSP
 * @private_data_size: bytes of @private_data, from 0 to max_private_data_size
 * @private_data: goes to the peer; may be NULL if its size is 0
 *
 * One of ESTABLISHED and ACCEPT_COMPLETION_ERROR follows at the connect EVD.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_HANDLE: the request is gone (DAT_INVALID_HANDLE_CR), or the EP lacks a
 * connect EVD, or should have been DAT_HANDLE_NULL (DAT_INVALID_HANDLE_EP);
 * DAT_INVALID_STATE: the EP is not unconnected; the subtype gives the state;
 * DAT_INVALID_PARAMETER: size (DAT_INVALID_ARG3), @private_data is NULL
 * (DAT_INVALID_ARG4);
 * DAT_INSUFFICIENT_RESOURCES: memory.
 */
DAT_RETURN kdat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			  DAT_COUNT private_data_size, const DAT_PVOID private_data);

/**
 * kdat_cr_reject() - refuse a request
 * @cr_handle: the CR; invalid afterwards
 * @private_data_size: 0
 * @private_data: ignored
 *
 * The peer gets PEER_REJECTED; the EP of an RSP is unconnected again.
 *
 * Context: process.
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: negative size (DAT_INVALID_ARG2), @private_data is NULL
 * (DAT_INVALID_ARG3);
 * DAT_MODEL_NOT_SUPPORTED: private data: uDAPL 1.2, which the peer may be, has none.
 */
DAT_RETURN kdat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			  const DAT_PVOID private_data);

/**
 * kdat_cr_handoff() - pass a request on to another service point of the adapter
 * @cr_handle: the CR; invalid after success
 * @handoff: qualifier of the other service point, of any module or process
 *
 * Context: process.
 * Return: DAT_SUCCESS; DAT_INVALID_PARAMETER: @handoff has no listener (DAT_INVALID_ARG2).
 */
DAT_RETURN kdat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff);

#ifndef KDAT_NO_PUBLIC_NAMES
#include <linux/kdat_names.h>
#endif

#endif /* _LINUX_KDAT_H */
