/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Interface adapters (IA), and functions for handles of all types.  udat.h has rules for all
 * functions.
 */
#ifndef DAT_API_IA_H
#define DAT_API_IA_H

#include "udat.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dat_ia_openv - open an interface adapter for a version of the API
 * @ia_name: name of the adapter, such as "mlx5_0", "mlx5_0:2" for its second port, or a name
 *	that dat.conf defines; at most 255 characters
 * @async_evd_min_qlen: minimum queue length of the async EVD that the call creates, from 1;
 *	ignored if the call creates no EVD
 * @async_evd_handle: in: DAT_HANDLE_NULL: create an EVD for async events, which is enabled,
 *	waitable and without a CNO; an async EVD: use this EVD; DAT_EVD_ASYNC_EXISTS: the new
 *	IA gets no async events.
 *	out: the async EVD
 * @ia_handle: out: the new IA
 * @dat_major: version of the API that the program was compiled for
 * @dat_minor: minor version; a provider of a later minor version is accepted
 * @thread_safety: DAT_TRUE: several threads may make calls on one object at the same time
 *
 * An adapter may be opened many times.  The resulting IAs are independent, and each async EVD
 * gets every async event of the adapter.  dat_registry_list_providers() lists the adapters.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @ia_name is NULL or too long (DAT_INVALID_ARG1), @async_evd_min_qlen is
 * not positive (DAT_INVALID_ARG2), @async_evd_handle (DAT_INVALID_ARG3) or @ia_handle
 * (DAT_INVALID_ARG4) is NULL;
 * DAT_INVALID_HANDLE: *@async_evd_handle is no async EVD (DAT_INVALID_HANDLE_EVD_ASYNC);
 * DAT_PROVIDER_NOT_FOUND: no adapter has this name (DAT_NAME_NOT_REGISTERED), or no adapter of
 * this name has the version (DAT_MAJOR_NOT_FOUND, DAT_MINOR_NOT_FOUND) or the thread safety
 * (DAT_THREAD_SAFETY_NOT_FOUND);
 * DAT_MODEL_NOT_SUPPORTED: DAT cannot use the device, or the provider cannot use an async EVD
 * of another IA;
 * DAT_INSUFFICIENT_RESOURCES: no memory, too many open files, or @async_evd_min_qlen is too large.
 *
 * Threads: safe.  Page: dat_ia_open(3).
 */
DAT_RETURN dat_ia_openv(const DAT_NAME_PTR ia_name, DAT_COUNT async_evd_min_qlen,
			DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle,
			DAT_UINT32 dat_major, DAT_UINT32 dat_minor,
			DAT_BOOLEAN thread_safety);

/**
 * dat_ia_open - open an interface adapter
 * @name: as @ia_name of dat_ia_openv()
 * @qlen: as @async_evd_min_qlen
 * @async_evd: as @async_evd_handle
 * @ia: as @ia_handle
 *
 * The macro calls dat_ia_openv() with the version and the thread safety for which the program was
 * compiled; see udat_config.h.
 *
 * Return: as dat_ia_openv().
 *
 * Threads: safe.  Page: dat_ia_open(3).
 */
#define dat_ia_open(name, qlen, async_evd, ia) \
	dat_ia_openv((name), (qlen), (async_evd), (ia), \
		     DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE)

/**
 * dat_ia_query - query the attributes of an adapter and its provider
 * @ia_handle: the IA
 * @async_evd_handle: out: async EVD of the IA, or DAT_EVD_OUT_OF_SCOPE if the IA was opened
 *	with DAT_EVD_ASYNC_EXISTS; may be NULL
 * @ia_attr_mask: fields of @ia_attr to return; other fields may be filled in, too
 * @ia_attr: out; may be NULL if @ia_attr_mask is DAT_IA_FIELD_NONE
 * @provider_attr_mask: fields of @provider_attr to return
 * @provider_attr: out; may be NULL if @provider_attr_mask is DAT_PROVIDER_FIELD_NONE
 *
 * Pointers in the results point to the provider's memory and are valid until the IA
 * is closed.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: a mask has unknown bits (DAT_INVALID_ARG3, DAT_INVALID_ARG5), or a
 * structure is NULL although its mask is not 0 (DAT_INVALID_ARG4, DAT_INVALID_ARG6).
 *
 * Threads: safe.  Page: dat_ia_query(3).
 */
DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			DAT_PROVIDER_ATTR *provider_attr);

/**
 * dat_ia_close - close an interface adapter
 * @ia_handle: the IA
 * @ia_flags: DAT_CLOSE_ABRUPT_FLAG: destroy all objects of the IA;
 *	DAT_CLOSE_GRACEFUL_FLAG: close only if no object is left but the async EVD that
 *	dat_ia_open() has created
 *
 * An abrupt close breaks connections, rejects connection requests and releases memory.  Threads
 * in dat_evd_wait() return DAT_ABORT.  Threads in dat_cno_wait() return DAT_SUCCESS without an
 * EVD.  The close does not destroy an async EVD that the consumer has passed to dat_ia_open().
 * All handles of the IA are invalid afterwards.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @ia_flags has another value (DAT_INVALID_ARG2);
 * DAT_INVALID_STATE: the close is graceful, and objects exist (DAT_INVALID_STATE_IA_IN_USE).
 * An abrupt close of a valid IA always succeeds.
 *
 * Threads: one per object.  Page: dat_ia_close(3).
 */
DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS ia_flags);

/**
 * dat_set_consumer_context - attach a value to a handle
 * @dat_handle: handle of any object
 * @context: new value
 *
 * The library does not interpret the value.  The value of a new object is 0.
 *
 * Return: DAT_SUCCESS; @dat_handle is invalid (DAT_INVALID_HANDLE1).
 *
 * Threads: one per object.  Page: dat_set_consumer_context(3).
 */
DAT_RETURN dat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context);

/**
 * dat_get_consumer_context - read the value attached to a handle
 * @dat_handle: handle of any object
 * @context: out: value that was set last, or 0
 *
 * Return: DAT_SUCCESS; @dat_handle is invalid (DAT_INVALID_HANDLE1);
 * DAT_INVALID_PARAMETER: @context is NULL (DAT_INVALID_ARG2).
 *
 * Threads: one per object.  Page: dat_get_consumer_context(3).
 */
DAT_RETURN dat_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context);

/**
 * dat_get_handle_type - query the type of the object of a handle
 * @dat_handle: handle of any object
 * @handle_type: out: type of the object
 *
 * Return: DAT_SUCCESS; @dat_handle is invalid (DAT_INVALID_HANDLE1);
 * DAT_INVALID_PARAMETER: @handle_type is NULL (DAT_INVALID_ARG2).
 *
 * Threads: one per object.  Page: dat_get_handle_type(3).
 */
DAT_RETURN dat_get_handle_type(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *handle_type);

/**
 * dat_registry_list_providers - list the adapters that can be opened
 * @max_to_return: number of entries of @dat_provider_list; 0: only return @entries_returned
 * @entries_returned: out: number of adapters, even if @max_to_return is too small or 0
 * @dat_provider_list: array of pointers to structures of the caller, which are filled
 *	in; may be NULL if @max_to_return is 0
 *
 * The list has the adapters of the driver first, then the adapters that dat.conf defines.  An
 * adapter has an entry for each thread safety with which it can be opened.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @max_to_return is 0, negative, or too small for all adapters; if it is too
 * small, the call still fills the list (DAT_INVALID_ARG1); @entries_returned or a pointer in the
 * list is NULL (DAT_INVALID_ARG2); the list is NULL (DAT_INVALID_ARG3);
 * DAT_INSUFFICIENT_RESOURCES: no memory.
 *
 * Threads: safe.  Page: dat_registry_list_providers(3).
 */
DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *dat_provider_list[]);

#ifdef __cplusplus
}
#endif

#endif /* DAT_API_IA_H */
