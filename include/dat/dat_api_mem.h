/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Protection zones (PZ), local memory regions (LMR), which register memory, and remote memory
 * regions (RMR), which give peers access to a part of an LMR.  udat.h has rules for all
 * functions.
 *
 * An endpoint can use only memory in its own protection zone.
 */
#ifndef DAT_API_MEM_H
#define DAT_API_MEM_H

#include "udat.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dat_pz_create - create a protection zone
 * @ia_handle: the parent IA
 * @pz_handle: out: the new PZ
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @pz_handle is NULL (DAT_INVALID_ARG2);
 * DAT_INSUFFICIENT_RESOURCES: too many PZs (DAT_RESOURCE_PROTECTION_DOMAIN); no memory.
 *
 * Threads: safe.  Page: dat_pz_create(3).
 */
DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle);

/**
 * dat_pz_query - read the parameters of a protection zone
 * @pz_handle: the PZ
 * @pz_param_mask: fields to return
 * @pz_param: out
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @pz_param is NULL
 * (DAT_INVALID_ARG3).
 *
 * Threads: safe.  Page: dat_pz_query(3).
 */
DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
			DAT_PZ_PARAM *pz_param);

/**
 * dat_pz_free - destroy a protection zone
 * @pz_handle: the PZ
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: the PZ has an EP, SRQ, LMR or RMR (DAT_INVALID_STATE_PZ_IN_USE).
 *
 * Threads: one per object.  Page: dat_pz_free(3).
 */
DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle);

/**
 * dat_lmr_create - register memory
 * @ia_handle: the parent IA
 * @mem_type: kind of memory; selects the member of @region_description
 * @region_description: VIRTUAL: address of the first byte; LMR: another LMR, whose memory is
 *	registered again; SHARED_VIRTUAL: address of the first byte, and a cookie, which names the
 *	memory for all processes that share it
 * @length: bytes, at least 1; ignored for DAT_MEM_TYPE_LMR
 * @pz_handle: protection zone
 * @privileges: privileges of the memory; bitwise OR
 * @lmr_handle: out: the new LMR
 * @lmr_context: out: value for DAT_LMR_TRIPLETs; may be NULL
 * @rmr_context: out: key for the DAT_RMR_TRIPLETs of peers; 0 without a remote
 *	privilege; may be NULL
 * @registered_size: out: registered bytes, @length or more; may be NULL
 * @registered_address: out: address of the first registered byte; may be NULL
 *
 * The pages are pinned until the LMR is freed, even if the process unmaps them.  They count
 * against RLIMIT_MEMLOCK ("ulimit -l").
 *
 * Return: DAT_SUCCESS;
 * DAT_LENGTH_ERROR: @length is 0;
 * DAT_INVALID_PARAMETER: the memory is not mapped, or lacks write permission for a write
 * privilege, or wraps around the address space (DAT_INVALID_ARG3), unknown @privileges
 * (DAT_INVALID_ARG6), @lmr_handle is NULL (DAT_INVALID_ARG7);
 * DAT_INSUFFICIENT_RESOURCES: a limit on pinned memory or registrations is reached
 * (DAT_RESOURCE_MEMORY_REGION); no memory (DAT_RESOURCE_MEMORY);
 * DAT_INVALID_STATE: the memory is not shared as DAT_MEM_TYPE_SHARED_VIRTUAL requires;
 * DAT_MODEL_NOT_SUPPORTED: lmr_mem_types_supported lacks @mem_type.
 *
 * Threads: safe.  Page: dat_lmr_create(3).
 */
DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			  DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			  DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
			  DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			  DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_size,
			  DAT_VADDR *registered_address);

/**
 * dat_lmr_query - read the parameters of a registration
 * @lmr_handle: the LMR
 * @lmr_param_mask: fields to return; other fields may be filled in, too
 * @lmr_param: out
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @lmr_param is NULL
 * (DAT_INVALID_ARG3).
 *
 * Threads: one per object.  Page: dat_lmr_query(3).
 */
DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask,
			 DAT_LMR_PARAM *lmr_param);

/**
 * dat_lmr_free - end a registration
 * @lmr_handle: the LMR
 *
 * Outstanding operations that use the LMR, and accesses of peers, fail and break their
 * connections.  The memory itself still belongs to the consumer.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_STATE: an RMR is bound to the LMR (DAT_INVALID_STATE_LMR_IN_USE).
 *
 * Threads: one per object.  Page: dat_lmr_free(3).
 */
DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle);

/**
 * dat_lmr_sync_rdma_read - make writes to memory visible to RDMA reads of peers
 * @ia_handle: the IA
 * @local_segments: the memory
 * @num_segments: number of entries of @local_segments
 *
 * Call this function after writing to the memory and before the peer may read the memory.  The
 * function is needed only if lmr_sync_req is DAT_TRUE; otherwise it does nothing.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @local_segments is NULL, or a segment is not in an LMR of
 * this IA (DAT_INVALID_ARG2).
 *
 * Threads: one per object.  Page: dat_lmr_sync_rdma_read(3).
 */
DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
				  const DAT_LMR_TRIPLET *local_segments,
				  DAT_VLEN num_segments);

/**
 * dat_lmr_sync_rdma_write - make RDMA writes of peers to memory visible to the CPU
 * @ia_handle: the IA
 * @local_segments: the memory
 * @num_segments: number of entries of @local_segments
 *
 * Call this function before reading the memory, after the peer has reported that its write is
 * complete.  The function is needed only if lmr_sync_req is DAT_TRUE; otherwise it does nothing.
 *
 * Return: as dat_lmr_sync_rdma_read().
 *
 * Threads: one per object.  Page: dat_lmr_sync_rdma_write(3).
 */
DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
				   const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments);

/**
 * dat_rmr_create - create a remote memory region (RMR), which is not yet bound to memory
 * @pz_handle: protection zone
 * @rmr_handle: out: the new RMR
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @rmr_handle is NULL (DAT_INVALID_ARG2);
 * DAT_MODEL_NOT_SUPPORTED: the provider does not support RMRs, because max_rmrs is 0;
 * DAT_INSUFFICIENT_RESOURCES: too many RMRs; no memory.
 *
 * Threads: safe.  Page: dat_rmr_create(3).
 */
DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle);

/**
 * dat_rmr_bind - bind an RMR to memory, or unbind it
 * @rmr_handle: the RMR
 * @lmr_triplet: the memory, in one LMR; a length of 0 unbinds the RMR
 * @mem_priv: privileges of peers; remote read requires local read of the LMR, and remote write
 *	requires local write
 * @ep_handle: connected EP, through whose connection the peer will access the memory
 * @user_cookie: value that the completion event returns
 * @completion_flags: all flags but SOLICITED_WAIT; UNSIGNALLED only if the EP has this attribute
 * @rmr_context: out: key for the peer; undefined after an unbind
 *
 * The bind is a request.  Its completion is a DAT_RMR_BIND_COMPLETION_EVENT at the EP's
 * request EVD, which must take RMR_BIND events.  Requests posted to the EP after the bind start
 * when the bind is complete, so the next send may contain *@rmr_context.  The context of the
 * previous binding becomes invalid.
 *
 * Return: DAT_SUCCESS;
 * DAT_INSUFFICIENT_RESOURCES: max_request_dtos requests are outstanding
 * (DAT_RESOURCE_TEP);
 * DAT_INVALID_PARAMETER: @lmr_triplet is NULL, names no LMR or is outside its LMR
 * (DAT_INVALID_ARG2), unknown @mem_priv (DAT_INVALID_ARG3) or @completion_flags
 * (DAT_INVALID_ARG6), @rmr_context is NULL (DAT_INVALID_ARG7);
 * DAT_INVALID_STATE: the EP is neither connected nor disconnected;
 * DAT_PROTECTION_VIOLATION: RMR, LMR and EP are in different protection zones;
 * DAT_PRIVILEGES_VIOLATION: @mem_priv has remote write, but the LMR has no local write;
 * DAT_MODEL_NOT_SUPPORTED: the provider does not support RMRs.
 *
 * Threads: one per object.  Page: dat_rmr_bind(3).
 */
DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle, const DAT_LMR_TRIPLET *lmr_triplet,
			DAT_MEM_PRIV_FLAGS mem_priv, DAT_EP_HANDLE ep_handle,
			DAT_RMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
			DAT_RMR_CONTEXT *rmr_context);

/**
 * dat_rmr_query - read the parameters of an RMR
 * @rmr_handle: the RMR
 * @rmr_param_mask: fields to return; other fields may be filled in, too
 * @rmr_param: out; only the IA and the PZ are defined while the RMR is not bound
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: unknown bits in the mask (DAT_INVALID_ARG2), @rmr_param is NULL
 * (DAT_INVALID_ARG3).
 *
 * Threads: one per object.  Page: dat_rmr_query(3).
 */
DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask,
			 DAT_RMR_PARAM *rmr_param);

/**
 * dat_rmr_free - destroy an RMR, which may be bound
 * @rmr_handle: the RMR
 *
 * Return: DAT_SUCCESS.
 *
 * Threads: one per object.  Page: dat_rmr_free(3).
 */
DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle);

#ifdef __cplusplus
}
#endif

#endif /* DAT_API_MEM_H */
