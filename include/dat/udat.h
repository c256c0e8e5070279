/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * uDAPL 1.2: the header that programs include.
 *
 *	#include <dat/udat.h>		cc ... -ldat
 *
 * dat.h has the types that user and kernel DAT share.  dat_error.h has the return codes.
 * These headers have the functions:
 *
 *	dat_api_ia.h	adapters, functions for handles of all types
 *	dat_api_evd.h	event dispatchers, consumer notification objects
 *	dat_api_mem.h	protection zones, local and remote memory
 *	dat_api_ep.h	endpoints, data transfer
 *	dat_api_srq.h	shared receive queues
 *	dat_api_conn.h	service points, connection requests
 *
 * Rules for all functions
 * =======================
 *
 * Every function may return the following errors, which the descriptions omit:
 *
 *   DAT_INVALID_HANDLE     a handle is NULL, was freed, or names an object of another
 *                          kind; two handles belong to different IAs
 *   DAT_PRIVILEGES_VIOLATION
 *                          the handle was created before a fork(), by the parent process
 *   DAT_INTERNAL_ERROR     a bug, or the RDMA device is gone
 *
 * A call that fails has no effect and stores no result.
 *
 * "Threads: safe" means that several threads may make the call for the same object at the
 * same time.  "Threads: one per object" means that the consumer must serialize such calls
 * for the same object.  Calls for different objects may run at the same time, even if the
 * objects share an EVD, SRQ or PZ.
 *
 * Timeouts are in microseconds, sizes in bytes.
 */
#ifndef UDAT_H
#define UDAT_H

#include "udat_config.h"
#include "dat_platform_specific.h"
#include "dat.h"
#include "dat_error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef DAT_HANDLE	DAT_CNO_HANDLE;

/* Argument of dat_ia_open(): the new IA gets no async events. */
#define DAT_EVD_ASYNC_EXISTS	((DAT_EVD_HANDLE)0x1)
/* dat_ia_query() returns this value as the async EVD of an IA that gets no async events. */
#define DAT_EVD_OUT_OF_SCOPE	((DAT_EVD_HANDLE)0x2)

typedef enum dat_mem_type {
	DAT_MEM_TYPE_VIRTUAL		= 0x00,	/* of the process */
	DAT_MEM_TYPE_LMR		= 0x01,	/* memory of another LMR */
	DAT_MEM_TYPE_SHARED_VIRTUAL	= 0x02,	/* shared with other processes */
	DAT_MEM_TYPE_SO_VIRTUAL		= 0x03	/* Solaris only */
} DAT_MEM_TYPE;

typedef enum dat_handle_type {
	DAT_HANDLE_TYPE_CR	= 0,
	DAT_HANDLE_TYPE_EP	= 1,
	DAT_HANDLE_TYPE_EVD	= 2,
	DAT_HANDLE_TYPE_IA	= 3,
	DAT_HANDLE_TYPE_LMR	= 4,
	DAT_HANDLE_TYPE_PSP	= 5,
	DAT_HANDLE_TYPE_PZ	= 6,
	DAT_HANDLE_TYPE_RMR	= 7,
	DAT_HANDLE_TYPE_RSP	= 8,
	DAT_HANDLE_TYPE_CNO	= 9,
	DAT_HANDLE_TYPE_SRQ	= 10
} DAT_HANDLE_TYPE;

/* ---- Event dispatchers and notification ---- */

/*
 * State of an EVD, a bitwise OR: ENABLED or DISABLED, with WAITABLE or UNWAITABLE, and optionally
 * with one CONFIG value.
 */
typedef enum dat_evd_state {
	DAT_EVD_STATE_ENABLED		= 0x01,
	DAT_EVD_STATE_DISABLED		= 0x02,

	DAT_EVD_STATE_WAITABLE		= 0x04,
	DAT_EVD_STATE_UNWAITABLE	= 0x08,

	DAT_EVD_STATE_CONFIG_NOTIFY	= 0x10,
	DAT_EVD_STATE_CONFIG_SOLICITED	= 0x20,
	DAT_EVD_STATE_CONFIG_THRESHOLD	= 0x30
} DAT_EVD_STATE;

struct dat_evd_param {
	DAT_IA_HANDLE	ia_handle;
	DAT_COUNT	evd_qlen;
	DAT_EVD_STATE	evd_state;
	DAT_CNO_HANDLE	cno_handle;
	DAT_EVD_FLAGS	evd_flags;
};

typedef enum dat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE	= 0x01,
	DAT_EVD_FIELD_EVD_QLEN	= 0x02,
	DAT_EVD_FIELD_EVD_STATE	= 0x04,
	DAT_EVD_FIELD_CNO	= 0x08,
	DAT_EVD_FIELD_EVD_FLAGS	= 0x10,
	DAT_EVD_FIELD_ALL	= 0x1f
} DAT_EVD_PARAM_MASK;

/*
 * Agent of a CNO.  The library calls the agent with the agent's instance data, and with the EVD
 * that triggered the CNO.  When the CNO is destroyed, @evd_handle is NULL.
 */
typedef void (*DAT_AGENT_FUNC)(DAT_PVOID instance_data, DAT_EVD_HANDLE evd_handle);

typedef struct dat_os_wait_proxy_agent {
	DAT_PVOID	instance_data;
	DAT_AGENT_FUNC	proxy_agent_func;
} DAT_OS_WAIT_PROXY_AGENT;

#ifdef __cplusplus
#define DAT_OS_WAIT_PROXY_AGENT_NULL	DAT_OS_WAIT_PROXY_AGENT()
#else
#define DAT_OS_WAIT_PROXY_AGENT_NULL \
	((DAT_OS_WAIT_PROXY_AGENT) { (DAT_PVOID)NULL, (DAT_AGENT_FUNC)NULL })
#endif

typedef struct dat_cno_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_OS_WAIT_PROXY_AGENT	agent;
} DAT_CNO_PARAM;

typedef enum dat_cno_param_mask {
	DAT_CNO_FIELD_IA_HANDLE	= 0x1,
	DAT_CNO_FIELD_AGENT	= 0x2,
	DAT_CNO_FIELD_ALL	= 0x3
} DAT_CNO_PARAM_MASK;

/* ---- Memory ---- */

/* Name of shared memory.  A cookie is not a string: all 40 bytes are compared. */
#define DAT_LMR_COOKIE_SIZE	40
typedef char	(*DAT_LMR_COOKIE)[DAT_LMR_COOKIE_SIZE];

typedef struct dat_shared_memory {
	DAT_PVOID	virtual_address;
	DAT_LMR_COOKIE	shared_memory_id;
} DAT_SHARED_MEMORY;

/* Description of memory.  A DAT_MEM_TYPE, which is stored elsewhere, selects the member. */
typedef union dat_region_description {
	DAT_PVOID		for_va;
	DAT_LMR_HANDLE		for_lmr_handle;
	DAT_SHARED_MEMORY	for_shared_memory;
} DAT_REGION_DESCRIPTION;

struct dat_lmr_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_MEM_TYPE		mem_type;
	DAT_REGION_DESCRIPTION	region_desc;
	DAT_VLEN		length;
	DAT_PZ_HANDLE		pz_handle;
	DAT_MEM_PRIV_FLAGS	mem_priv;
	DAT_LMR_CONTEXT		lmr_context;
	DAT_RMR_CONTEXT		rmr_context;
	DAT_VLEN		registered_size;
	DAT_VADDR		registered_address;
};

/* ---- Providers ---- */

/* Whether only one process or several processes may use a PZ. */
typedef enum dat_pz_support {
	DAT_PZ_UNIQUE		= 0,
	DAT_PZ_SAME		= 1,
	DAT_PZ_SHAREABLE	= 2
} DAT_PZ_SUPPORT;

/* A C++ program cannot define a variable whose type has a const member. */
#ifdef __cplusplus
#define DAT_MERGING_CONST
#else
#define DAT_MERGING_CONST const
#endif

/**
 * struct dat_provider_attr - attributes of the provider of an open IA
 * @provider_name: name of the provider
 * @provider_version_major: major version of the provider
 * @provider_version_minor: minor version of the provider
 * @dapl_version_major: major version of the API
 * @dapl_version_minor: minor version of the API
 * @lmr_mem_types_supported: bitwise OR of the supported DAT_MEM_TYPEs; always has VIRTUAL
 * @iov_ownership_on_return: time after which the array of segments given to a post may be reused
 * @dat_qos_supported: bitwise OR of the supported DAT_QOS values; always has BEST_EFFORT
 * @completion_flags_supported: bitwise OR of the supported completion flags
 * @is_thread_safe: thread safety, as the provider has registered it
 * @max_private_data_size: maximum bytes of private data for dat_ep_connect() and dat_cr_accept()
 * @supports_multipath: whether DAT_CONNECT_MULTIPATH_FLAG is supported
 * @ep_creator: whether DAT_PSP_PROVIDER_FLAG is supported
 * @pz_support: whether processes can share a PZ
 * @optimal_buffer_alignment: best alignment of buffers, in bytes, at most DAT_OPTIMAL_ALIGNMENT
 * @evd_stream_merging_supported: whether two streams may feed one EVD; the indices are
 *	0 software, 1 CR, 2 DTO, 3 connection, 4 RMR bind, 5 async
 * @srq_supported: whether SRQs are supported
 * @srq_watermarks_supported: supported watermarks, DAT_SRQ_WATERMARKS_*
 * @srq_ep_pz_difference_supported: whether an EP and its SRQ may be in different PZs
 * @srq_info_supported: counts that dat_srq_query() returns, DAT_SRQ_INFO_*
 * @ep_recv_info_supported: counts that dat_ep_recv_query() returns, DAT_EP_RECV_INFO_*
 * @lmr_sync_req: whether dat_lmr_sync_rdma_read() and dat_lmr_sync_rdma_write() are needed
 * @dto_async_return_guaranteed: whether posts report errors only by completions
 * @rdma_write_for_rdma_read_req: whether the local memory of an RDMA read needs
 *	DAT_MEM_PRIV_REMOTE_WRITE_FLAG
 * @num_provider_specific_attr: number of entries of @provider_specific_attr
 * @provider_specific_attr: attributes of the provider; valid until the IA is closed.
 *	"relaxed_order" names the contexts through which the bytes of a peer's write may become
 *	visible out of order: "none", "rmr" or "lmr,rmr".  "immediate_data" is there, with the value
 *	"1", if endpoints may have the attribute of that name
 */
struct dat_provider_attr {
	char				provider_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32			provider_version_major;
	DAT_UINT32			provider_version_minor;
	DAT_UINT32			dapl_version_major;
	DAT_UINT32			dapl_version_minor;
	DAT_MEM_TYPE			lmr_mem_types_supported;
	DAT_IOV_OWNERSHIP		iov_ownership_on_return;
	DAT_QOS				dat_qos_supported;
	DAT_COMPLETION_FLAGS		completion_flags_supported;
	DAT_BOOLEAN			is_thread_safe;
	DAT_COUNT			max_private_data_size;
	DAT_BOOLEAN			supports_multipath;
	DAT_EP_CREATOR_FOR_PSP		ep_creator;
	DAT_PZ_SUPPORT			pz_support;
	DAT_UINT32			optimal_buffer_alignment;
	DAT_MERGING_CONST DAT_BOOLEAN	evd_stream_merging_supported[6][6];
	DAT_BOOLEAN			srq_supported;
	DAT_COUNT			srq_watermarks_supported;
	DAT_BOOLEAN			srq_ep_pz_difference_supported;
	DAT_COUNT			srq_info_supported;
	DAT_COUNT			ep_recv_info_supported;
	DAT_BOOLEAN			lmr_sync_req;
	DAT_BOOLEAN			dto_async_return_guaranteed;
	DAT_BOOLEAN			rdma_write_for_rdma_read_req;
	DAT_COUNT			num_provider_specific_attr;
	DAT_NAMED_ATTR			*provider_specific_attr;
};

#undef DAT_MERGING_CONST

/* Mask of the fields of DAT_PROVIDER_ATTR: bit n selects field n. */
typedef DAT_UINT64	DAT_PROVIDER_ATTR_MASK;

#define DAT_PROVIDER_FIELD_PROVIDER_NAME		UINT64_C(0x0000001)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR	UINT64_C(0x0000002)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR	UINT64_C(0x0000004)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR		UINT64_C(0x0000008)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR		UINT64_C(0x0000010)
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED	UINT64_C(0x0000020)
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP		UINT64_C(0x0000040)
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED		UINT64_C(0x0000080)
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED	UINT64_C(0x0000100)
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE		UINT64_C(0x0000200)
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE	UINT64_C(0x0000400)
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH		UINT64_C(0x0000800)
#define DAT_PROVIDER_FIELD_EP_CREATOR			UINT64_C(0x0001000)
#define DAT_PROVIDER_FIELD_PZ_SUPPORT			UINT64_C(0x0002000)
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT	UINT64_C(0x0004000)
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED	UINT64_C(0x0008000)
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED		UINT64_C(0x0010000)
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED	UINT64_C(0x0020000)
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED \
							UINT64_C(0x0040000)
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED		UINT64_C(0x0080000)
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED	UINT64_C(0x0100000)
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ			UINT64_C(0x0200000)
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED	UINT64_C(0x0400000)
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ	UINT64_C(0x0800000)
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR	UINT64_C(0x1000000)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR	UINT64_C(0x2000000)
#define DAT_PROVIDER_FIELD_ALL				UINT64_C(0x3ffffff)
#define DAT_PROVIDER_FIELD_NONE				UINT64_C(0x0)

#ifdef __cplusplus
}
#endif

#include "udat_vendor_specific.h"

#include "dat_api_ia.h"
#include "dat_api_evd.h"
#include "dat_api_mem.h"
#include "dat_api_ep.h"
#include "dat_api_srq.h"
#include "dat_api_conn.h"

#endif /* UDAT_H */
