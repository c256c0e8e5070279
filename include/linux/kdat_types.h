/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * kDAPL: types and values.  Consumers include <linux/kdat.h>.
 *
 * Numbers and layouts are those of the kDAPL that was published with DAT 2.0.  The assertions at
 * the end of this file check them.  uDAPL 1.2, in <dat/udat.h>, has different numbers and layouts.
 */
#ifndef _LINUX_KDAT_TYPES_H
#define _LINUX_KDAT_TYPES_H

#include <linux/build_bug.h>
#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/stddef.h>
#include <linux/types.h>

#define DAT_VERSION_MAJOR	1
#define DAT_VERSION_MINOR	2

/* ---- Names, handles, scalars ---- */

#define DAT_NAME_MAX_LENGTH	256	/* bytes with the NUL */
#define DAT_OPTIMAL_ALIGNMENT	256	/* bytes */

typedef u32			DAT_UINT32;
typedef u64			DAT_UINT64;
typedef unsigned long long	DAT_UVERYLONG;
typedef void			*DAT_PVOID;
typedef int			DAT_COUNT;	/* signed: -1 and -2 have a meaning */
typedef u64			DAT_PADDR;	/* address in physical memory */
typedef char			*DAT_NAME_PTR;
typedef u32			DAT_RETURN;	/* see DAT_GET_TYPE() */
typedef u32			DAT_SEG_LENGTH;	/* bytes of a segment */
typedef u64			DAT_VLEN;	/* bytes */
typedef u64			DAT_VADDR;
typedef u64			DAT_CONN_QUAL;	/* connection qualifier */
typedef u64			DAT_PORT_QUAL;
typedef u32			DAT_LMR_CONTEXT;	/* key of memory on this IA */
typedef u32			DAT_RMR_CONTEXT;	/* key of memory for the peer */
typedef u32			DAT_TIMEOUT;	/* microseconds */
typedef struct sockaddr		DAT_SOCK_ADDR;
typedef struct sockaddr_in6	DAT_SOCK_ADDR6;
typedef struct sockaddr		*DAT_IA_ADDRESS_PTR;	/* sockaddr_in or sockaddr_in6 */

#define DAT_TIMEOUT_INFINITE	((DAT_TIMEOUT)~0)

typedef enum kdat_boolean {
	DAT_FALSE	= 0,
	DAT_TRUE	= 1,
} DAT_BOOLEAN;

typedef struct kdat_named_attr {
	const char	*name;
	const char	*value;
} DAT_NAMED_ATTR;

/* Value of 8 bytes that the consumer sets, and that DAT returns unchanged. */
typedef union kdat_context {
	DAT_PVOID	as_ptr;
	DAT_UINT64	as_64;
	DAT_UVERYLONG	as_index;
} DAT_CONTEXT;

typedef DAT_CONTEXT	DAT_DTO_COOKIE;
typedef DAT_CONTEXT	DAT_LMR_COOKIE;
typedef DAT_CONTEXT	DAT_RMR_COOKIE;

/*
 * A handle is not an address but a number, which each call looks up.  All handles have the same C
 * type.  Each call checks the type of the object.
 */
typedef DAT_PVOID	DAT_HANDLE;
typedef DAT_HANDLE	DAT_CR_HANDLE;
typedef DAT_HANDLE	DAT_CSP_HANDLE;
typedef DAT_HANDLE	DAT_EP_HANDLE;
typedef DAT_HANDLE	DAT_EVD_HANDLE;
typedef DAT_HANDLE	DAT_IA_HANDLE;
typedef DAT_HANDLE	DAT_LMR_HANDLE;
typedef DAT_HANDLE	DAT_PSP_HANDLE;
typedef DAT_HANDLE	DAT_PZ_HANDLE;
typedef DAT_HANDLE	DAT_RMR_HANDLE;
typedef DAT_HANDLE	DAT_RSP_HANDLE;
typedef DAT_HANDLE	DAT_SRQ_HANDLE;

#define DAT_HANDLE_NULL		((DAT_HANDLE)NULL)

/* Argument of dat_ia_open(): the new IA gets no async events. */
#define DAT_EVD_ASYNC_EXISTS	((DAT_EVD_HANDLE)0x1)
/* dat_ia_query() returns this value as the async EVD of an IA that gets no async events. */
#define DAT_EVD_OUT_OF_SCOPE	((DAT_EVD_HANDLE)0x2)

typedef enum kdat_handle_type {
	DAT_HANDLE_TYPE_CR		= 0,
	DAT_HANDLE_TYPE_EP		= 1,
	DAT_HANDLE_TYPE_EVD		= 2,
	DAT_HANDLE_TYPE_IA		= 3,
	DAT_HANDLE_TYPE_LMR		= 4,
	DAT_HANDLE_TYPE_PSP		= 5,
	DAT_HANDLE_TYPE_PZ		= 6,
	DAT_HANDLE_TYPE_RMR		= 7,
	DAT_HANDLE_TYPE_RSP		= 8,
	DAT_HANDLE_TYPE_SRQ		= 9,
	DAT_HANDLE_TYPE_CSP		= 10,
	DAT_HANDLE_TYPE_EXTENSION_BASE	= 11,
} DAT_HANDLE_TYPE;

/* ---- Return codes: class | type | subtype ---- */

#define DAT_CLASS_ERROR		0x80000000U
#define DAT_CLASS_WARNING	0x40000000U
#define DAT_CLASS_SUCCESS	0x00000000U
#define DAT_TYPE_MASK		0x3fff0000U
#define DAT_SUBTYPE_MASK	0x0000ffffU

#define DAT_IS_WARNING(status)	((DAT_UINT32)(status) & DAT_CLASS_WARNING)
/* Returns the type of a return code without the class, for comparison with the DAT_* constants. */
#define DAT_GET_TYPE(status)	((DAT_UINT32)(status) & DAT_TYPE_MASK)
/* Returns the subtype, for diagnostics only: a later version may return another subtype. */
#define DAT_GET_SUBTYPE(status)	((DAT_UINT32)(status) & DAT_SUBTYPE_MASK)

typedef enum kdat_return_type {
	DAT_SUCCESS				= 0x00000000,
	/* the object was destroyed during the call */
	DAT_ABORT				= 0x00010000,
	/* the connection qualifier has a listener */
	DAT_CONN_QUAL_IN_USE			= 0x00020000,
	DAT_INSUFFICIENT_RESOURCES		= 0x00030000,
	/* a bug, or the device is gone */
	DAT_INTERNAL_ERROR			= 0x00040000,
	/* a handle is NULL, was freed, or names an object of another kind or another IA */
	DAT_INVALID_HANDLE			= 0x00050000,
	DAT_INVALID_PARAMETER			= 0x00060000,
	/* the call is valid, but not in the present state or context */
	DAT_INVALID_STATE			= 0x00070000,
	/* the lengths of local and remote memory do not match, or a length is out of range */
	DAT_LENGTH_ERROR			= 0x00080000,
	/* an optional feature of DAT that is not supported */
	DAT_MODEL_NOT_SUPPORTED			= 0x00090000,
	DAT_PROVIDER_NOT_FOUND			= 0x000a0000,
	/* the memory, port or operation needs a privilege that is missing */
	DAT_PRIVILEGES_VIOLATION		= 0x000b0000,
	/* memory and endpoint are in different protection zones */
	DAT_PROTECTION_VIOLATION		= 0x000c0000,
	DAT_QUEUE_EMPTY				= 0x000d0000,
	DAT_QUEUE_FULL				= 0x000e0000,
	DAT_TIMEOUT_EXPIRED			= 0x000f0000,	/* of uDAPL; no call returns it */
	DAT_PROVIDER_ALREADY_REGISTERED		= 0x00100000,
	DAT_PROVIDER_IN_USE			= 0x00110000,
	DAT_INVALID_ADDRESS			= 0x00120000,
	DAT_INTERRUPTED_CALL			= 0x00130000,
	/* no connection qualifier is left */
	DAT_CONN_QUAL_UNAVAILABLE		= 0x00140000,
	/* the call is not allowed on the reserved LMR */
	DAT_RESERVED_LMR			= 0x00150000,
	/* the port of a common service point is in use */
	DAT_PORT_IN_USE				= 0x00160000,
	DAT_COMM_NOT_SUPPORTED			= 0x00170000,
	DAT_NOT_IMPLEMENTED			= 0x3fff0000,
} DAT_RETURN_TYPE;

#define DAT_NAME_NOT_FOUND	DAT_PROVIDER_NOT_FOUND

typedef enum kdat_return_subtype {
	DAT_NO_SUBTYPE				= 0,

	/* DAT_ABORT */
	DAT_SUB_INTERRUPTED			= 1,

	/* DAT_INSUFFICIENT_RESOURCES */
	DAT_RESOURCE_MEMORY			= 2,
	DAT_RESOURCE_DEVICE			= 3,
	DAT_RESOURCE_TEP			= 4,	/* EPs, or room in their queues */
	DAT_RESOURCE_TEVD			= 5,	/* EVDs, or room in them */
	DAT_RESOURCE_PROTECTION_DOMAIN		= 6,
	DAT_RESOURCE_MEMORY_REGION		= 7,
	DAT_RESOURCE_ERROR_HANDLER		= 8,
	DAT_RESOURCE_CREDITS			= 9,
	DAT_RESOURCE_SRQ			= 10,

	/* DAT_INVALID_HANDLE: kind of the invalid handle */
	DAT_INVALID_HANDLE_IA			= 11,
	DAT_INVALID_HANDLE_EP			= 12,
	DAT_INVALID_HANDLE_LMR			= 13,
	DAT_INVALID_HANDLE_RMR			= 14,
	DAT_INVALID_HANDLE_PZ			= 15,
	DAT_INVALID_HANDLE_PSP			= 16,
	DAT_INVALID_HANDLE_RSP			= 17,
	DAT_INVALID_HANDLE_CR			= 18,
	DAT_INVALID_HANDLE_CNO			= 19,
	DAT_INVALID_HANDLE_EVD_CR		= 20,
	DAT_INVALID_HANDLE_EVD_REQUEST		= 21,
	DAT_INVALID_HANDLE_EVD_RECV		= 22,
	DAT_INVALID_HANDLE_EVD_CONN		= 23,
	DAT_INVALID_HANDLE_EVD_ASYNC		= 24,
	DAT_INVALID_HANDLE_SRQ			= 25,
	DAT_INVALID_HANDLE_CSP			= 26,
	/* DAT_INVALID_HANDLE: position of the argument in the call, from 1 */
	DAT_INVALID_HANDLE1			= 27,
	DAT_INVALID_HANDLE2			= 28,
	DAT_INVALID_HANDLE3			= 29,
	DAT_INVALID_HANDLE4			= 30,
	DAT_INVALID_HANDLE5			= 31,
	DAT_INVALID_HANDLE6			= 32,
	DAT_INVALID_HANDLE7			= 33,
	DAT_INVALID_HANDLE8			= 34,
	DAT_INVALID_HANDLE9			= 35,
	DAT_INVALID_HANDLE10			= 36,

	/* DAT_INVALID_PARAMETER: position of the invalid argument in the call, from 1 */
	DAT_INVALID_ARG1			= 37,
	DAT_INVALID_ARG2			= 38,
	DAT_INVALID_ARG3			= 39,
	DAT_INVALID_ARG4			= 40,
	DAT_INVALID_ARG5			= 41,
	DAT_INVALID_ARG6			= 42,
	DAT_INVALID_ARG7			= 43,
	DAT_INVALID_ARG8			= 44,
	DAT_INVALID_ARG9			= 45,
	DAT_INVALID_ARG10			= 46,

	/* DAT_INVALID_STATE: the state that does not allow the call */
	DAT_INVALID_STATE_EP_UNCONNECTED	= 47,
	DAT_INVALID_STATE_EP_ACTCONNPENDING	= 48,
	DAT_INVALID_STATE_EP_PASSCONNPENDING	= 49,
	DAT_INVALID_STATE_EP_TENTCONNPENDING	= 50,
	DAT_INVALID_STATE_EP_CONNECTED		= 51,
	DAT_INVALID_STATE_EP_DISCONNECTED	= 52,
	DAT_INVALID_STATE_EP_RESERVED		= 53,
	DAT_INVALID_STATE_EP_COMPLPENDING	= 54,
	DAT_INVALID_STATE_EP_DISCPENDING	= 55,
	DAT_INVALID_STATE_EP_PROVIDERCONTROL	= 56,
	DAT_INVALID_STATE_EP_NOTREADY		= 57,
	DAT_INVALID_STATE_EP_RECV_WATERMARK	= 58,
	DAT_INVALID_STATE_EP_PZ			= 59,
	DAT_INVALID_STATE_EP_EVD_REQUEST	= 60,
	DAT_INVALID_STATE_EP_EVD_RECV		= 61,
	DAT_INVALID_STATE_EP_EVD_CONNECT	= 62,
	DAT_INVALID_STATE_EP_UNCONFIGURED	= 63,
	DAT_INVALID_STATE_EP_UNCONFRESERVED	= 64,
	DAT_INVALID_STATE_EP_UNCONFPASSIVE	= 65,
	DAT_INVALID_STATE_EP_UNCONFTENTATIVE	= 66,
	DAT_INVALID_STATE_CNO_IN_USE		= 67,
	DAT_INVALID_STATE_CNO_DEAD		= 68,
	DAT_INVALID_STATE_EVD_OPEN		= 69,
	DAT_INVALID_STATE_EVD_ENABLED		= 70,
	DAT_INVALID_STATE_EVD_DISABLED		= 71,
	DAT_INVALID_STATE_EVD_WAITABLE		= 72,
	DAT_INVALID_STATE_EVD_UNWAITABLE	= 73,
	DAT_INVALID_STATE_EVD_IN_USE		= 74,
	DAT_INVALID_STATE_EVD_CONFIG_NOTIFY	= 75,
	DAT_INVALID_STATE_EVD_CONFIG_SOLICITED	= 76,
	DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD	= 77,
	DAT_INVALID_STATE_EVD_WAITER		= 78,
	DAT_INVALID_STATE_EVD_ASYNC		= 79,
	DAT_INVALID_STATE_IA_IN_USE		= 80,
	DAT_INVALID_STATE_LMR_IN_USE		= 81,
	DAT_INVALID_STATE_LMR_FREE		= 82,
	DAT_INVALID_STATE_PZ_IN_USE		= 83,
	DAT_INVALID_STATE_PZ_FREE		= 84,
	DAT_INVALID_STATE_SRQ_OPERATIONAL	= 85,
	DAT_INVALID_STATE_SRQ_ERROR		= 86,
	DAT_INVALID_STATE_SRQ_IN_USE		= 87,
	DAT_INVALID_STATE_SRQ_SHUTDOWN		= 88,

	/* DAT_PRIVILEGES_VIOLATION: the missing privilege */
	DAT_PRIVILEGES_READ			= 89,
	DAT_PRIVILEGES_WRITE			= 90,
	DAT_PRIVILEGES_RDMA_READ		= 91,
	DAT_PRIVILEGES_RDMA_WRITE		= 92,

	/* DAT_PROTECTION_VIOLATION: the access that is not allowed */
	DAT_PROTECTION_READ			= 93,
	DAT_PROTECTION_WRITE			= 94,
	DAT_PROTECTION_RDMA_READ		= 95,
	DAT_PROTECTION_RDMA_WRITE		= 96,

	/* DAT_INVALID_ADDRESS */
	DAT_INVALID_ADDRESS_UNSUPPORTED		= 97,	/* a family that the IA lacks */
	DAT_INVALID_ADDRESS_UNREACHABLE		= 98,
	DAT_INVALID_ADDRESS_MALFORMED		= 99,

	/* DAT_PROVIDER_NOT_FOUND: the first attribute that did not match */
	DAT_NAME_NOT_REGISTERED			= 100,
	DAT_MAJOR_NOT_FOUND			= 101,
	DAT_MINOR_NOT_FOUND			= 102,
	DAT_THREAD_SAFETY_NOT_FOUND		= 103,
} DAT_RETURN_SUBTYPE;

/* ---- Flags ---- */

typedef enum kdat_completion_flags {
	DAT_COMPLETION_DEFAULT_FLAG			= 0x00,
	/* an operation that succeeds has no event */
	DAT_COMPLETION_SUPPRESS_FLAG			= 0x01,
	/* for a send: the receive at the peer is a notification event */
	DAT_COMPLETION_SOLICITED_WAIT_FLAG		= 0x02,
	/* the event of a successful operation starts no upcall */
	DAT_COMPLETION_UNSIGNALLED_FLAG			= 0x04,
	/* the operation starts when all earlier RDMA reads have completed */
	DAT_COMPLETION_BARRIER_FENCE_FLAG		= 0x08,
	/* for dat_lmr_invalidate(): the request starts when all earlier requests have completed */
	DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG	= 0x20,
} DAT_COMPLETION_FLAGS;

typedef enum kdat_qos {
	DAT_QOS_BEST_EFFORT	= 0x00,
	DAT_QOS_HIGH_THROUGHPUT	= 0x01,
	DAT_QOS_LOW_LATENCY	= 0x02,
	DAT_QOS_ECONOMY		= 0x04,
	DAT_QOS_PREMIUM		= 0x08,
} DAT_QOS;

typedef enum kdat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG		= 0x00,
	DAT_CONNECT_MULTIPATH_FLAG		= 0x01,
	DAT_CONNECT_MULTIPATH_REQUESTED_FLAG	= 0x01,
	DAT_CONNECT_MULTIPATH_REQUIRED_FLAG	= 0x02,
} DAT_CONNECT_FLAGS;

typedef enum kdat_close_flags {
	DAT_CLOSE_ABRUPT_FLAG	= 0x00,
	DAT_CLOSE_GRACEFUL_FLAG	= 0x01,
} DAT_CLOSE_FLAGS;

#define DAT_CLOSE_DEFAULT	DAT_CLOSE_ABRUPT_FLAG

/* Event streams, which may feed an EVD. */
typedef enum kdat_evd_flags {
	DAT_EVD_SOFTWARE_FLAG	= 0x001,
	DAT_EVD_CR_FLAG		= 0x010,
	DAT_EVD_DTO_FLAG	= 0x020,
	DAT_EVD_CONNECTION_FLAG	= 0x040,
	DAT_EVD_RMR_BIND_FLAG	= 0x080,
	DAT_EVD_ASYNC_FLAG	= 0x100,
	DAT_EVD_DEFAULT_FLAG	= 0x1f0,	/* all but software */
} DAT_EVD_FLAGS;

typedef enum kdat_psp_flags {
	DAT_PSP_CONSUMER_FLAG	= 0x00,
	DAT_PSP_PROVIDER_FLAG	= 0x01,
} DAT_PSP_FLAGS;

typedef enum kdat_mem_priv_flags {
	DAT_MEM_PRIV_NONE_FLAG		= 0x00,
	DAT_MEM_PRIV_LOCAL_READ_FLAG	= 0x01,
	DAT_MEM_PRIV_REMOTE_READ_FLAG	= 0x02,
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG	= 0x10,
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG	= 0x20,
	DAT_MEM_PRIV_ALL_FLAG		= 0x33,
} DAT_MEM_PRIV_FLAGS;

#define DAT_MEM_PRIV_READ_FLAG \
	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)
#define DAT_MEM_PRIV_WRITE_FLAG \
	(DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/* ---- Upcalls ---- */

struct kdat_event;

/**
 * typedef DAT_UPCALL_FUNC - upcall function of an EVD
 * @instance_data: instance_data of the DAT_UPCALL_OBJECT
 * @event: event, valid until the upcall returns; NULL with DAT_UPCALL_NORIFY
 * @more_events: DAT_TRUE if further events were queued when the upcall began
 *
 * "Upcalls" in <linux/kdat.h> describes when, in which context and how often upcalls run.
 */
typedef void (*DAT_UPCALL_FUNC)(DAT_PVOID instance_data, const struct kdat_event *event,
				DAT_BOOLEAN more_events);

typedef struct kdat_upcall_object {
	DAT_PVOID	instance_data;
	DAT_UPCALL_FUNC	upcall_func;
} DAT_UPCALL_OBJECT;

#define DAT_UPCALL_NULL	((DAT_UPCALL_OBJECT) { NULL, NULL })
/* Argument of dat_evd_modify_upcall(): keep the present DAT_UPCALL_OBJECT. */
#define DAT_UPCALL_SAME	((DAT_UPCALL_OBJECT *)NULL)

/* Upcall policies.  A policy also limits how many upcalls of an EVD run at the same time. */
typedef enum kdat_upcall_policy {
	DAT_UPCALL_TEARDOWN		= -1,
	DAT_UPCALL_DISABLE		= 0,
	DAT_UPCALL_SINGLE_INSTANCE	= 1,
	DAT_UPCALL_NORIFY		= 2,	/* spelled as in DAT */
	DAT_UPCALL_MANY			= 100,
} DAT_UPCALL_POLICY;

#define DAT_UPCALL_NOTIFY	DAT_UPCALL_NORIFY

typedef enum kdat_upcall_flag {
	DAT_UPCALL_INVOC_NEW	= 0,	/* only for new events */
	DAT_UPCALL_INVOC_ANY	= 1,	/* also for queued events */
} DAT_UPCALL_FLAG;

/* ---- Memory ---- */

typedef enum kdat_mem_type {
	DAT_MEM_TYPE_VIRTUAL		= 0x00,
	DAT_MEM_TYPE_LMR		= 0x01,
	DAT_MEM_TYPE_PHYSICAL		= 0x10,
	DAT_MEM_TYPE_PLATFORM		= 0x20,
	DAT_MEM_TYPE_IA			= 0x40,
	DAT_MEM_TYPE_BYPASS		= 0x80,
	DAT_MEM_TYPE_PHYSICAL_VAR_PAGES	= 0x100,
} DAT_MEM_TYPE;

typedef enum kdat_va_type {
	DAT_VA_TYPE_VA	= 0,	/* addresses */
	DAT_VA_TYPE_ZB	= 1,	/* offsets from the first byte */
} DAT_VA_TYPE;

typedef enum kdat_mem_optimize_flags {
	DAT_MEM_OPTIMIZE_DONT_CARE	= 0,
	DAT_MEM_OPTIMIZE_IA		= 1,	/* best for adapter */
	DAT_MEM_OPTIMIZE_MIN_EXPOSURE	= 2,	/* little extra memory */
	DAT_MEM_OPTIMIZE_EXACT_EXPOSURE	= 4,	/* no extra memory */
} DAT_MEM_OPTIMIZE_FLAGS;

#define DAT_MEM_OPT	DAT_MEM_OPTIMIZE_FLAGS

typedef enum kdat_lmr_scope {
	DAT_LMR_SCOPE_EP	= 0,
	DAT_LMR_SCOPE_PZ	= 1,
	DAT_LMR_SCOPE_ANY	= 2,
} DAT_LMR_SCOPE;

typedef enum kdat_rmr_scope {
	DAT_RMR_SCOPE_EP	= 0,
	DAT_RMR_SCOPE_PZ	= 1,
	DAT_RMR_SCOPE_ANY	= 2,
} DAT_RMR_SCOPE;

/**
 * struct kdat_physical_var_pages - pages of memory of type DAT_MEM_TYPE_PHYSICAL_VAR_PAGES
 * @page_size: bytes, a power of two from PAGE_SIZE to 1 GiB
 * @pages: DAT_PADDR of each page, aligned to @page_size
 */
typedef struct kdat_physical_var_pages {
	DAT_VLEN	page_size;
	void		*pages;
} DAT_PHYSICAL_VAR_PAGES;

/**
 * struct kdat_platform_memory - memory described by a scatterlist, for types PLATFORM and BYPASS
 * @sg: scatterlist; mapped for DMA only for BYPASS
 * @nents: number of entries of @sg; for BYPASS, the result of ib_dma_map_sg()
 * @offset: offset of the region's first byte in @sg
 */
typedef struct kdat_platform_memory {
	struct scatterlist	*sg;
	unsigned int		nents;
	DAT_VLEN		offset;
} DAT_PLATFORM_MEMORY;

/**
 * union kdat_region_description - description of memory; a DAT_MEM_TYPE selects the member
 * @for_va: VIRTUAL: address of the first byte in kernel memory (linear map or vmalloc)
 * @for_lmr_handle: LMR: LMR that has the memory
 * @for_platform: PLATFORM and BYPASS: DAT_PLATFORM_MEMORY, which is read only during the call
 * @for_array: PHYSICAL_VAR_PAGES: struct kdat_physical_var_pages
 * @for_physical: PHYSICAL: array of addresses of pages of PAGE_SIZE, read only during the call
 * @for_ia: IA: address in the adapter
 */
typedef union kdat_region_description {
	DAT_PVOID		for_va;
	DAT_LMR_HANDLE		for_lmr_handle;
	void			*for_platform;
	DAT_PHYSICAL_VAR_PAGES	for_array;
	DAT_PADDR		*for_physical;
	DAT_PADDR		for_ia;
} DAT_REGION_DESCRIPTION;

/* A segment of local memory.  If segment_length is 0, the other fields are ignored. */
typedef struct kdat_lmr_triplet {
	DAT_VADDR	virtual_address;
	DAT_SEG_LENGTH	segment_length;
	DAT_LMR_CONTEXT	lmr_context;
} DAT_LMR_TRIPLET;

/* A segment of the peer's memory.  The fields are in host byte order. */
typedef struct kdat_rmr_triplet {
	DAT_VADDR	virtual_address;
	DAT_SEG_LENGTH	segment_length;
	DAT_RMR_CONTEXT	rmr_context;
} DAT_RMR_TRIPLET;

/**
 * struct kdat_lmr_state - state of an LMR
 * @fmr_support: DAT_TRUE if dat_lmr_allocate() has created the LMR
 * @bound: DAT_TRUE if dat_lmr_fmr() has bound the LMR to memory
 */
typedef struct kdat_lmr_state {
	DAT_BOOLEAN	fmr_support;
	DAT_BOOLEAN	bound;
} DAT_LMR_STATE;

typedef struct kdat_lmr_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_MEM_TYPE		mem_type;
	DAT_REGION_DESCRIPTION	region_desc;
	DAT_VLEN		length;
	DAT_PZ_HANDLE		pz_handle;
	DAT_MEM_PRIV_FLAGS	mem_priv;
	DAT_VA_TYPE		va_type;
	DAT_LMR_CONTEXT		lmr_context;
	DAT_RMR_CONTEXT		rmr_context;
	DAT_VLEN		registered_size;
	DAT_VADDR		registered_address;
	DAT_LMR_STATE		lmr_state;
} DAT_LMR_PARAM;

typedef enum kdat_lmr_param_mask {
	DAT_LMR_FIELD_IA_HANDLE			= 0x001,
	DAT_LMR_FIELD_MEM_TYPE			= 0x002,
	DAT_LMR_FIELD_REGION_DESC		= 0x004,
	DAT_LMR_FIELD_LENGTH			= 0x008,
	DAT_LMR_FIELD_PZ_HANDLE			= 0x010,
	DAT_LMR_FIELD_MEM_PRIV			= 0x020,
	DAT_LMR_FIELD_VA_TYPE			= 0x040,
	DAT_LMR_FIELD_LMR_CONTEXT		= 0x080,
	DAT_LMR_FIELD_RMR_CONTEXT		= 0x100,
	DAT_LMR_FIELD_REGISTERED_SIZE		= 0x200,
	DAT_LMR_FIELD_REGISTERED_ADDRESS	= 0x400,
	DAT_LMR_FIELD_LMR_STATE			= 0x800,
	DAT_LMR_FIELD_ALL			= 0xfff,
} DAT_LMR_PARAM_MASK;

/* Parameters of an RMR.  While the RMR is not bound, only ia_handle and pz_handle are defined. */
typedef struct kdat_rmr_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_PZ_HANDLE		pz_handle;
	DAT_LMR_TRIPLET		lmr_triplet;
	DAT_MEM_PRIV_FLAGS	mem_priv;
	DAT_RMR_CONTEXT		rmr_context;
	DAT_RMR_SCOPE		rmr_scope;
	DAT_VA_TYPE		va_type;
} DAT_RMR_PARAM;

typedef enum kdat_rmr_param_mask {
	DAT_RMR_FIELD_IA_HANDLE		= 0x01,
	DAT_RMR_FIELD_PZ_HANDLE		= 0x02,
	DAT_RMR_FIELD_LMR_TRIPLET	= 0x04,
	DAT_RMR_FIELD_MEM_PRIV		= 0x08,
	DAT_RMR_FIELD_RMR_CONTEXT	= 0x10,
	DAT_RMR_FIELD_RMR_SCOPE		= 0x20,
	DAT_RMR_FIELD_VA_TYPE		= 0x40,
	DAT_RMR_FIELD_ALL		= 0x7f,
} DAT_RMR_PARAM_MASK;

typedef struct kdat_pz_param {
	DAT_IA_HANDLE	ia_handle;
} DAT_PZ_PARAM;

typedef enum kdat_pz_param_mask {
	DAT_PZ_FIELD_IA_HANDLE	= 0x01,
	DAT_PZ_FIELD_ALL	= 0x01,
} DAT_PZ_PARAM_MASK;

/* ---- Interface adapters ---- */

/*
 * Time after which the consumer may reuse the array of segments that it has given to a post.
 * CONSUMER: at the return.
 */
typedef enum kdat_iov_ownership {
	DAT_IOV_CONSUMER	= 0x0,
	DAT_IOV_PROVIDER_NOMOD	= 0x1,
	DAT_IOV_PROVIDER_MOD	= 0x2,
} DAT_IOV_OWNERSHIP;

typedef enum kdat_ep_creator_for_psp {
	DAT_PSP_CREATES_EP_NEVER	= 0,
	DAT_PSP_CREATES_EP_IFASKED	= 1,
	DAT_PSP_CREATES_EP_ALWAYS	= 2,
} DAT_EP_CREATOR_FOR_PSP;

typedef u32	DAT_HA_LB;

#define DAT_HA_LB_NONE		((DAT_HA_LB)0)
#define DAT_HA_LB_INTERCOMM	((DAT_HA_LB)1)
#define DAT_HA_LB_INTRACOMM	((DAT_HA_LB)2)

typedef enum kdat_ha_relationship {
	DAT_HA_FALSE		= 0,
	DAT_HA_TRUE		= 1,
	DAT_HA_UNKNOWN		= 2,
	DAT_HA_CONFLICTING	= 3,
	DAT_HA_EXTENSION_BASE	= 4,
} DAT_HA_RELATIONSHIP;

/**
 * struct kdat_ia_attr - properties and limits of an adapter
 * @adapter_name: name under which the adapter was opened
 * @vendor_name: vendor of the device
 * @hardware_version_major: major hardware version of the device
 * @hardware_version_minor: minor hardware version of the device
 * @firmware_version_major: major firmware version of the device
 * @firmware_version_minor: minor firmware version of the device
 * @ia_address_ptr: address of the port, valid until the IA is closed; NULL if the port has no
 *	address
 * @max_eps: maximum number of endpoints
 * @max_dto_per_ep: maximum number of outstanding requests, and of outstanding receives, of an EP
 * @max_rdma_read_per_ep_in: per EP, maximum number of the peer's RDMA reads in progress
 * @max_rdma_read_per_ep_out: per EP, maximum number of its own RDMA reads in progress
 * @max_evds: maximum number of event dispatchers
 * @max_evd_qlen: maximum number of events in an EVD
 * @max_iov_segments_per_dto: maximum number of segments of a send or a receive
 * @max_lmrs: maximum number of registrations
 * @max_lmr_block_size: maximum bytes of a registration
 * @max_lmr_virtual_address: highest address in a registration
 * @max_pzs: maximum number of protection zones
 * @max_message_size: maximum bytes of a send
 * @max_rdma_size: maximum bytes of an RDMA operation
 * @max_rmrs: maximum number of remote memory regions
 * @max_rmr_target_address: highest address in a remote memory region
 * @max_srqs: maximum number of shared receive queues
 * @max_ep_per_srq: maximum number of endpoints that share an SRQ
 * @max_recv_per_srq: maximum number of buffers in an SRQ
 * @max_iov_segments_per_rdma_read: maximum number of segments of an RDMA read
 * @max_iov_segments_per_rdma_write: maximum number of segments of an RDMA write
 * @max_rdma_read_in: for all EPs together, maximum number of RDMA reads of peers in progress
 * @max_rdma_read_out: for all EPs together, maximum number of their own RDMA reads in progress
 * @max_rdma_read_per_ep_in_guaranteed: whether each EP can reach @max_rdma_read_per_ep_in even
 *	while other EPs have incoming reads in progress
 * @max_rdma_read_per_ep_out_guaranteed: whether each EP can reach @max_rdma_read_per_ep_out even
 *	while other EPs have outgoing reads in progress
 * @zb_supported: whether DAT_VA_TYPE_ZB is supported
 * @reserved_lmr_supported: whether dat_ia_reserved_lmr() is supported
 * @num_transport_attr: number of entries of @transport_attr
 * @transport_attr: attributes of the transport, valid until the IA is closed
 * @num_vendor_attr: number of entries of @vendor_attr
 * @vendor_attr: attributes of the vendor, valid until the IA is closed
 */
typedef struct kdat_ia_attr {
	char			adapter_name[DAT_NAME_MAX_LENGTH];
	char			vendor_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32		hardware_version_major;
	DAT_UINT32		hardware_version_minor;
	DAT_UINT32		firmware_version_major;
	DAT_UINT32		firmware_version_minor;
	DAT_IA_ADDRESS_PTR	ia_address_ptr;
	DAT_COUNT		max_eps;
	DAT_COUNT		max_dto_per_ep;
	DAT_COUNT		max_rdma_read_per_ep_in;
	DAT_COUNT		max_rdma_read_per_ep_out;
	DAT_COUNT		max_evds;
	DAT_COUNT		max_evd_qlen;
	DAT_COUNT		max_iov_segments_per_dto;
	DAT_COUNT		max_lmrs;
	DAT_SEG_LENGTH		max_lmr_block_size;
	DAT_VADDR		max_lmr_virtual_address;
	DAT_COUNT		max_pzs;
	DAT_SEG_LENGTH		max_message_size;
	DAT_SEG_LENGTH		max_rdma_size;
	DAT_COUNT		max_rmrs;
	DAT_VADDR		max_rmr_target_address;
	DAT_COUNT		max_srqs;
	DAT_COUNT		max_ep_per_srq;
	DAT_COUNT		max_recv_per_srq;
	DAT_COUNT		max_iov_segments_per_rdma_read;
	DAT_COUNT		max_iov_segments_per_rdma_write;
	DAT_COUNT		max_rdma_read_in;
	DAT_COUNT		max_rdma_read_out;
	DAT_BOOLEAN		max_rdma_read_per_ep_in_guaranteed;
	DAT_BOOLEAN		max_rdma_read_per_ep_out_guaranteed;
	DAT_BOOLEAN		zb_supported;
	DAT_BOOLEAN		reserved_lmr_supported;
	DAT_COUNT		num_transport_attr;
	DAT_NAMED_ATTR		*transport_attr;
	DAT_COUNT		num_vendor_attr;
	DAT_NAMED_ATTR		*vendor_attr;
} DAT_IA_ATTR;

/* Mask of the fields of DAT_IA_ATTR: bit n selects field n. */
typedef u64	DAT_IA_ATTR_MASK;

#define DAT_IA_FIELD_IA_ADAPTER_NAME			0x0000000001ULL
#define DAT_IA_FIELD_IA_VENDOR_NAME			0x0000000002ULL
#define DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION		0x0000000004ULL
#define DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION		0x0000000008ULL
#define DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION		0x0000000010ULL
#define DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION		0x0000000020ULL
#define DAT_IA_FIELD_IA_ADDRESS_PTR			0x0000000040ULL
#define DAT_IA_FIELD_IA_MAX_EPS				0x0000000080ULL
#define DAT_IA_FIELD_IA_MAX_DTO_PER_EP			0x0000000100ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN		0x0000000200ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT	0x0000000400ULL
#define DAT_IA_FIELD_IA_MAX_EVDS			0x0000000800ULL
#define DAT_IA_FIELD_IA_MAX_EVD_QLEN			0x0000001000ULL
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO	0x0000002000ULL
#define DAT_IA_FIELD_IA_MAX_LMRS			0x0000004000ULL
#define DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE		0x0000008000ULL
#define DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS		0x0000010000ULL
#define DAT_IA_FIELD_IA_MAX_PZS				0x0000020000ULL
#define DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE		0x0000040000ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_SIZE			0x0000080000ULL
#define DAT_IA_FIELD_IA_MAX_RMRS			0x0000100000ULL
#define DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS		0x0000200000ULL
#define DAT_IA_FIELD_IA_MAX_SRQS			0x0000400000ULL
#define DAT_IA_FIELD_IA_MAX_EP_PER_SRQ			0x0000800000ULL
#define DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ		0x0001000000ULL
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ	0x0002000000ULL
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE	0x0004000000ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_IN		0x0008000000ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT		0x0010000000ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED	0x0020000000ULL
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED	0x0040000000ULL
#define DAT_IA_FIELD_IA_ZB_SUPPORTED			0x0080000000ULL
#define DAT_IA_FIELD_IA_RESERVED_LMR_SUPPORTED		0x0100000000ULL
#define DAT_IA_FIELD_IA_EXTENSION			0x0200000000ULL
#define DAT_IA_FIELD_IA_EXTENSION_VERSION		0x0400000000ULL
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR		0x0800000000ULL
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR			0x1000000000ULL
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR			0x2000000000ULL
#define DAT_IA_FIELD_IA_VENDOR_ATTR			0x4000000000ULL
#define DAT_IA_FIELD_ALL				0x7fffffffffULL
#define DAT_IA_FIELD_NONE				0x0ULL
#define DAT_IA_ALL					DAT_IA_FIELD_ALL

/* Entry of the list of adapters that can be opened. */
typedef struct kdat_provider_info {
	char		ia_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32	dapl_version_major;
	DAT_UINT32	dapl_version_minor;
	DAT_BOOLEAN	is_thread_safe;
} DAT_PROVIDER_INFO;

/**
 * struct kdat_provider_attr - attributes of this implementation
 * @provider_name: name of this implementation
 * @provider_version_major: major version of the implementation
 * @provider_version_minor: minor version of the implementation
 * @dapl_version_major: major version of the API
 * @dapl_version_minor: minor version of the API
 * @lmr_mem_types_supported: bitwise OR of the supported DAT_MEM_TYPEs; always has VIRTUAL
 * @iov_ownership_on_return: time after which the array of segments given to a post may be reused
 * @dat_qos_supported: bitwise OR of the supported DAT_QOS values
 * @completion_flags_supported: bitwise OR of the supported completion flags
 * @is_thread_safe: whether threads may make calls on one object at the same time
 * @max_private_data_size: maximum bytes of private data for dat_ep_connect() and dat_cr_accept()
 * @supports_multipath: whether DAT_CONNECT_MULTIPATH_FLAG is supported
 * @ep_creator: whether DAT_PSP_PROVIDER_FLAG is supported
 * @upcall_policy: supported upcall policy with the most upcalls at a time
 * @optimal_buffer_alignment: best alignment of buffers, in bytes
 * @evd_stream_merging_supported: whether two streams may feed one EVD; the indices are
 *	0 software, 1 CR, 2 DTO, 3 connection, 4 RMR bind, 5 async
 * @srq_supported: whether SRQs are supported
 * @srq_watermarks_supported: supported watermarks: 0x001 low, 0x010 soft high, 0x100 hard high
 * @srq_ep_pz_difference_supported: whether an EP and its SRQ may be in different PZs
 * @srq_info_supported: counts that dat_srq_query() returns: 0x01 available, 0x10 outstanding
 * @ep_recv_info_supported: counts that dat_ep_recv_query() returns: 0x01 buffers, 0x10 span
 * @lmr_sync_req: whether dat_lmr_sync_rdma_read() and dat_lmr_sync_rdma_write() are needed
 * @dto_async_return_guaranteed: whether posts report errors only by completions
 * @rdma_write_for_rdma_read_req: whether the local memory of an RDMA read needs
 *	DAT_MEM_PRIV_REMOTE_WRITE_FLAG
 * @rdma_read_lmr_rmr_context_exposure: whether the privilege that is required for the local memory
 *	of an RDMA read also gives the peer access to this memory
 * @rmr_scope_supported: supported scopes of RMRs
 * @is_interrupt_safe: whether calls are allowed in hard interrupt
 * @fmr_supported: whether dat_lmr_allocate() is supported
 * @lmr_for_fmr_scope_supported: supported scopes of the LMRs that dat_lmr_allocate() creates
 * @ha_supported: DAT_FALSE
 * @ha_loadbalancing: load balancing between adapters, which is not supported
 * @num_provider_specific_attr: number of entries of @provider_specific_attr
 * @provider_specific_attr: attributes of the implementation; valid until the IA is closed.
 *	"relaxed_order" is "lmr,rmr" if the bytes of a peer's write may become visible out of order,
 *	else "none".  "immediate_data" is there, with the value "1", if endpoints may have the
 *	attribute of that name
 */
typedef struct kdat_provider_attr {
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
	DAT_UPCALL_POLICY		upcall_policy;
	DAT_UINT32			optimal_buffer_alignment;
	DAT_BOOLEAN			evd_stream_merging_supported[6][6];
	DAT_BOOLEAN			srq_supported;
	DAT_COUNT			srq_watermarks_supported;
	DAT_BOOLEAN			srq_ep_pz_difference_supported;
	DAT_COUNT			srq_info_supported;
	DAT_COUNT			ep_recv_info_supported;
	DAT_BOOLEAN			lmr_sync_req;
	DAT_BOOLEAN			dto_async_return_guaranteed;
	DAT_BOOLEAN			rdma_write_for_rdma_read_req;
	DAT_BOOLEAN			rdma_read_lmr_rmr_context_exposure;
	DAT_RMR_SCOPE			rmr_scope_supported;
	DAT_BOOLEAN			is_interrupt_safe;
	DAT_BOOLEAN			fmr_supported;
	DAT_LMR_SCOPE			lmr_for_fmr_scope_supported;
	DAT_BOOLEAN			ha_supported;
	DAT_HA_LB			ha_loadbalancing;
	DAT_COUNT			num_provider_specific_attr;
	DAT_NAMED_ATTR			*provider_specific_attr;
} DAT_PROVIDER_ATTR;

/* Mask of the fields of DAT_PROVIDER_ATTR: bit n selects field n. */
typedef u64	DAT_PROVIDER_ATTR_MASK;

#define DAT_PROVIDER_FIELD_PROVIDER_NAME			0x000000001ULL
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR		0x000000002ULL
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR		0x000000004ULL
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR			0x000000008ULL
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR			0x000000010ULL
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED		0x000000020ULL
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP			0x000000040ULL
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED			0x000000080ULL
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED		0x000000100ULL
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE			0x000000200ULL
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE		0x000000400ULL
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH			0x000000800ULL
#define DAT_PROVIDER_FIELD_EP_CREATOR				0x000001000ULL
#define DAT_PROVIDER_FIELD_UPCALL_POLICY			0x000002000ULL
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT		0x000004000ULL
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED		0x000008000ULL
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED			0x000010000ULL
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED		0x000020000ULL
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED	0x000040000ULL
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED			0x000080000ULL
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED		0x000100000ULL
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ				0x000200000ULL
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED		0x000400000ULL
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ		0x000800000ULL
#define DAT_PROVIDER_FIELD_RDMA_READ_LMR_RMR_CONTEXT_EXPOSURE	0x001000000ULL
#define DAT_PROVIDER_FIELD_RMR_SCOPE_SUPPORTED			0x002000000ULL
#define DAT_PROVIDER_FIELD_IS_INTERRUPT_SAFE			0x004000000ULL
#define DAT_PROVIDER_FIELD_FMR_SUPPORTED			0x008000000ULL
#define DAT_PROVIDER_FIELD_LMR_FOR_FMR_SCOPE			0x010000000ULL
#define DAT_PROVIDER_FIELD_LMR_FOR_FMR_SCOPE_SUPPORTED		DAT_PROVIDER_FIELD_LMR_FOR_FMR_SCOPE
#define DAT_PROVIDER_FIELD_HA_SUPPORTED				0x020000000ULL
#define DAT_PROVIDER_FIELD_HA_LB				0x040000000ULL
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR		0x080000000ULL
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR		0x100000000ULL
#define DAT_PROVIDER_FIELD_ALL					0x1ffffffffULL
#define DAT_PROVIDER_FIELD_NONE					0x0ULL

/* ---- Event dispatchers ---- */

typedef struct kdat_evd_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_COUNT		evd_qlen;
	DAT_UPCALL_POLICY	upcall_policy;
	DAT_UPCALL_OBJECT	upcall;
	DAT_EVD_FLAGS		evd_flags;
} DAT_EVD_PARAM;

typedef enum kdat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE		= 0x01,
	DAT_EVD_FIELD_EVD_QLEN		= 0x02,
	DAT_EVD_FIELD_UPCALL_POLICY	= 0x04,
	DAT_EVD_FIELD_UPCALL		= 0x08,
	DAT_EVD_FIELD_EVD_FLAGS		= 0x10,
	DAT_EVD_FIELD_ALL		= 0x1f,
} DAT_EVD_PARAM_MASK;

/* ---- Endpoints ---- */

typedef enum kdat_service_type {
	DAT_SERVICE_TYPE_RC	= 0,	/* reliable connection */
} DAT_SERVICE_TYPE;

/* Kind of a connection, as the arguments of socket(). */
typedef struct kdat_comm {
	int	domain;
	int	type;
	int	protocol;
} DAT_COMM;

/**
 * struct kdat_ep_attr - attributes of an EP
 * @service_type: DAT_SERVICE_TYPE_RC
 * @max_message_size: maximum bytes of a send or receive; 0: the limit of the adapter
 * @max_rdma_size: maximum bytes of an RDMA operation; 0: the limit of the adapter
 * @qos: DAT_QOS_BEST_EFFORT
 * @recv_completion_flags: 0, or UNSIGNALLED or SOLICITED_WAIT.  With SOLICITED_WAIT, only a receive
 *	that fails, or whose sender set SOLICITED_WAIT, starts an upcall.  Other receives are
 *	delivered with the next notification event, or by dat_evd_dequeue()
 * @request_completion_flags: 0 or UNSIGNALLED; SUPPRESS and SOLICITED_WAIT have no effect
 * @max_recv_dtos: maximum number of outstanding receives.  With an SRQ, the value is ignored, and
 *	dat_ep_query() returns the length of the SRQ, because the EP may hold all buffers of the SRQ
 * @max_request_dtos: maximum number of outstanding requests
 * @max_recv_iov: maximum number of segments of a receive; 0 means 1
 * @max_request_iov: maximum number of segments of a request; 0 means 1
 * @max_rdma_read_in: maximum number of the peer's RDMA reads in progress
 * @max_rdma_read_out: maximum number of the EP's own RDMA reads in progress
 * @srq_soft_hw: DAT_HW_DEFAULT or 0
 * @max_rdma_read_iov: maximum number of segments of an RDMA read; 0: as many as fit
 * @max_rdma_write_iov: maximum number of segments of an RDMA write; 0: as many as fit
 * @ep_transport_specific_count: 0
 * @ep_transport_specific: ignored
 * @ep_provider_specific_count: number of entries of @ep_provider_specific
 * @ep_provider_specific: named attributes.  "immediate_data" is "1" if the EP sends and receives
 *	immediate data, which is not supported over iWARP; "0" is the same as no attribute
 */
typedef struct kdat_ep_attr {
	DAT_SERVICE_TYPE	service_type;
	DAT_SEG_LENGTH		max_message_size;
	DAT_SEG_LENGTH		max_rdma_size;
	DAT_QOS			qos;
	DAT_COMPLETION_FLAGS	recv_completion_flags;
	DAT_COMPLETION_FLAGS	request_completion_flags;
	DAT_COUNT		max_recv_dtos;
	DAT_COUNT		max_request_dtos;
	DAT_COUNT		max_recv_iov;
	DAT_COUNT		max_request_iov;
	DAT_COUNT		max_rdma_read_in;
	DAT_COUNT		max_rdma_read_out;
	DAT_COUNT		srq_soft_hw;
	DAT_COUNT		max_rdma_read_iov;
	DAT_COUNT		max_rdma_write_iov;
	DAT_COUNT		ep_transport_specific_count;
	DAT_NAMED_ATTR		*ep_transport_specific;
	DAT_COUNT		ep_provider_specific_count;
	DAT_NAMED_ATTR		*ep_provider_specific;
} DAT_EP_ATTR;

typedef enum kdat_ep_state {
	DAT_EP_STATE_UNCONNECTED			= 0,
	DAT_EP_STATE_UNCONFIGURED_UNCONNECTED		= 1,
	DAT_EP_STATE_RESERVED				= 2,	/* held by an RSP */
	DAT_EP_STATE_UNCONFIGURED_RESERVED		= 3,
	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING		= 4,	/* RSP has a request */
	DAT_EP_STATE_UNCONFIGURED_PASSIVE		= 5,
	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING		= 6,	/* dat_ep_connect() was called */
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING	= 7,
	DAT_EP_STATE_UNCONFIGURED_TENTATIVE		= 8,
	DAT_EP_STATE_CONNECTED				= 9,
	DAT_EP_STATE_DISCONNECT_PENDING			= 10,	/* requests outstanding */
	DAT_EP_STATE_DISCONNECTED			= 11,
	DAT_EP_STATE_COMPLETION_PENDING			= 12,	/* dat_cr_accept() was called */
	DAT_EP_STATE_CONNECTED_SINGLE_PATH		= 13,
	DAT_EP_STATE_CONNECTED_MULTI_PATH		= 14,
} DAT_EP_STATE;

#define DAT_EP_STATE_ERROR	DAT_EP_STATE_DISCONNECTED

typedef struct kdat_ep_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_EP_STATE		ep_state;
	DAT_COMM		comm;
	DAT_IA_ADDRESS_PTR	local_ia_address_ptr;
	DAT_PORT_QUAL		local_port_qual;
	DAT_IA_ADDRESS_PTR	remote_ia_address_ptr;
	DAT_PORT_QUAL		remote_port_qual;
	DAT_PZ_HANDLE		pz_handle;
	DAT_EVD_HANDLE		recv_evd_handle;
	DAT_EVD_HANDLE		request_evd_handle;
	DAT_EVD_HANDLE		connect_evd_handle;
	DAT_SRQ_HANDLE		srq_handle;
	DAT_EP_ATTR		ep_attr;
} DAT_EP_PARAM;

typedef u64	DAT_EP_PARAM_MASK;

#define DAT_EP_FIELD_IA_HANDLE				0x00000001ULL
#define DAT_EP_FIELD_EP_STATE				0x00000002ULL
#define DAT_EP_FIELD_COMM				0x00000004ULL
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR		0x00000008ULL
#define DAT_EP_FIELD_LOCAL_PORT_QUAL			0x00000010ULL
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR		0x00000020ULL
#define DAT_EP_FIELD_REMOTE_PORT_QUAL			0x00000040ULL
#define DAT_EP_FIELD_PZ_HANDLE				0x00000080ULL
#define DAT_EP_FIELD_RECV_EVD_HANDLE			0x00000100ULL
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE			0x00000200ULL
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE			0x00000400ULL
#define DAT_EP_FIELD_SRQ_HANDLE				0x00000800ULL
#define DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE		0x00001000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE		0x00002000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE		0x00004000ULL
#define DAT_EP_FIELD_EP_ATTR_QOS			0x00008000ULL
#define DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS	0x00010000ULL
#define DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS	0x00020000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS		0x00040000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS		0x00080000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV		0x00100000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV		0x00200000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN		0x00400000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT		0x00800000ULL
#define DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW		0x01000000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV		0x02000000ULL
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV		0x04000000ULL
#define DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR		0x08000000ULL
#define DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR	0x10000000ULL
#define DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR		0x20000000ULL
#define DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR	0x40000000ULL
#define DAT_EP_FIELD_EP_ATTR_ALL			0x7ffff000ULL
#define DAT_EP_FIELD_ALL				0x7fffffffULL

/* ---- Shared receive queues ---- */

#define DAT_WATERMARK_INFINITE	((DAT_COUNT)~0)		/* -1: never */
#define DAT_HW_DEFAULT		DAT_WATERMARK_INFINITE
#define DAT_SRQ_LW_DEFAULT	0x0
#define DAT_VALUE_UNKNOWN	(((DAT_COUNT)~0) - 1)	/* -2 */

typedef enum kdat_srq_state {
	DAT_SRQ_STATE_ERROR		= 0,
	DAT_SRQ_STATE_OPERATIONAL	= 1,
	DAT_SRQ_STATE_SHUTDOWN		= 2,
} DAT_SRQ_STATE;

typedef struct kdat_srq_attr {
	DAT_COUNT	max_recv_dtos;
	DAT_COUNT	max_recv_iov;
	DAT_COUNT	low_watermark;
} DAT_SRQ_ATTR;

/**
 * struct kdat_srq_param - parameters of an SRQ
 * @ia_handle: parent
 * @srq_state: state of the SRQ
 * @pz_handle: protection zone
 * @max_recv_dtos: maximum number of outstanding buffers
 * @max_recv_iov: maximum number of segments of a buffer
 * @low_watermark: low watermark; 0 after the event for the watermark was sent
 * @available_dto_count: number of buffers that no message has taken
 * @outstanding_dto_count: DAT_VALUE_UNKNOWN
 */
typedef struct kdat_srq_param {
	DAT_IA_HANDLE	ia_handle;
	DAT_SRQ_STATE	srq_state;
	DAT_PZ_HANDLE	pz_handle;
	DAT_COUNT	max_recv_dtos;
	DAT_COUNT	max_recv_iov;
	DAT_COUNT	low_watermark;
	DAT_COUNT	available_dto_count;
	DAT_COUNT	outstanding_dto_count;
} DAT_SRQ_PARAM;

typedef enum kdat_srq_param_mask {
	DAT_SRQ_FIELD_IA_HANDLE			= 0x001,
	DAT_SRQ_FIELD_SRQ_STATE			= 0x002,
	DAT_SRQ_FIELD_PZ_HANDLE			= 0x004,
	DAT_SRQ_FIELD_MAX_RECV_DTO		= 0x008,
	DAT_SRQ_FIELD_MAX_RECV_IOV		= 0x010,
	DAT_SRQ_FIELD_LOW_WATERMARK		= 0x020,
	DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT	= 0x040,
	DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT	= 0x080,
	DAT_SRQ_FIELD_ALL			= 0x0ff,
} DAT_SRQ_PARAM_MASK;

/* ---- Service points and connection requests ---- */

typedef struct kdat_psp_param {
	DAT_IA_HANDLE	ia_handle;
	DAT_CONN_QUAL	conn_qual;
	DAT_EVD_HANDLE	evd_handle;
	DAT_PSP_FLAGS	psp_flags;
} DAT_PSP_PARAM;

typedef enum kdat_psp_param_mask {
	DAT_PSP_FIELD_IA_HANDLE		= 0x01,
	DAT_PSP_FIELD_CONN_QUAL		= 0x02,
	DAT_PSP_FIELD_EVD_HANDLE	= 0x04,
	DAT_PSP_FIELD_PSP_FLAGS		= 0x08,
	DAT_PSP_FIELD_ALL		= 0x0f,
} DAT_PSP_PARAM_MASK;

typedef struct kdat_rsp_param {
	DAT_IA_HANDLE	ia_handle;
	DAT_CONN_QUAL	conn_qual;
	DAT_EVD_HANDLE	evd_handle;
	DAT_EP_HANDLE	ep_handle;
} DAT_RSP_PARAM;

typedef enum kdat_rsp_param_mask {
	DAT_RSP_FIELD_IA_HANDLE		= 0x01,
	DAT_RSP_FIELD_CONN_QUAL		= 0x02,
	DAT_RSP_FIELD_EVD_HANDLE	= 0x04,
	DAT_RSP_FIELD_EP_HANDLE		= 0x08,
	DAT_RSP_FIELD_ALL		= 0x0f,
} DAT_RSP_PARAM_MASK;

/**
 * struct kdat_csp_param - parameters of a CSP
 * @ia_handle: parent
 * @comm: out: kind of the connections, as arguments of socket(); valid until the CSP is freed
 * @address_ptr: address and port at which the CSP listens; valid until the CSP is freed
 * @evd_handle: EVD of the connection requests
 */
typedef struct kdat_csp_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_COMM		*comm;
	DAT_IA_ADDRESS_PTR	address_ptr;
	DAT_EVD_HANDLE		evd_handle;
} DAT_CSP_PARAM;

typedef enum kdat_csp_param_mask {
	DAT_CSP_FIELD_IA_HANDLE		= 0x01,
	DAT_CSP_FIELD_COMM		= 0x02,
	DAT_CSP_FIELD_IA_ADDRESS	= 0x04,
	DAT_CSP_FIELD_EVD_HANDLE	= 0x08,
	DAT_CSP_FIELD_ALL		= 0x0f,
} DAT_CSP_PARAM_MASK;

/**
 * struct kdat_cr_param - parameters of a connection request
 * @remote_ia_address_ptr: address of the peer; valid until the CR is accepted, rejected or handed
 *	off
 * @remote_port_qual: port of the peer
 * @private_data_size: bytes of @private_data, including padding by the transport
 * @private_data: private data of the peer; valid until the CR is accepted, rejected or handed off
 * @local_ep_handle: EP with which the CR must be accepted, or DAT_HANDLE_NULL if any EP is allowed
 */
typedef struct kdat_cr_param {
	DAT_IA_ADDRESS_PTR	remote_ia_address_ptr;
	DAT_PORT_QUAL		remote_port_qual;
	DAT_COUNT		private_data_size;
	DAT_PVOID		private_data;
	DAT_EP_HANDLE		local_ep_handle;
} DAT_CR_PARAM;

typedef enum kdat_cr_param_mask {
	DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR	= 0x01,
	DAT_CR_FIELD_REMOTE_PORT_QUAL		= 0x02,
	DAT_CR_FIELD_PRIVATE_DATA_SIZE		= 0x04,
	DAT_CR_FIELD_PRIVATE_DATA		= 0x08,
	DAT_CR_FIELD_LOCAL_EP_HANDLE		= 0x10,
	DAT_CR_FIELD_ALL			= 0x1f,
} DAT_CR_PARAM_MASK;

/* ---- Events ---- */

typedef enum kdat_dto_completion_status {
	DAT_DTO_SUCCESS			= 0,
	/* the connection ended before the operation was complete */
	DAT_DTO_ERR_FLUSHED		= 1,
	/* the message is longer than the buffer */
	DAT_DTO_ERR_LOCAL_LENGTH	= 2,
	DAT_DTO_ERR_LOCAL_EP		= 3,
	/* local memory is not registered, is in another zone, or lacks a privilege */
	DAT_DTO_ERR_LOCAL_PROTECTION	= 4,
	DAT_DTO_ERR_BAD_RESPONSE	= 5,
	/* the key or range of remote memory is invalid, or the memory lacks a privilege */
	DAT_DTO_ERR_REMOTE_ACCESS	= 6,
	DAT_DTO_ERR_REMOTE_RESPONDER	= 7,
	/* the peer does not acknowledge */
	DAT_DTO_ERR_TRANSPORT		= 8,
	/* the peer has posted no receive */
	DAT_DTO_ERR_RECEIVER_NOT_READY	= 9,
	DAT_DTO_ERR_PARTIAL_PACKET	= 10,
	DAT_RMR_OPERATION_FAILED	= 11,
	/* dat_lmr_fmr() or dat_lmr_invalidate() has failed */
	DAT_DTO_ERR_LOCAL_MM_ERROR	= 12,
} DAT_DTO_COMPLETION_STATUS;

#define DAT_DTO_LENGTH_ERROR	DAT_DTO_ERR_LOCAL_LENGTH
#define DAT_DTO_FAILURE		DAT_DTO_ERR_FLUSHED

#define DAT_RMR_BIND_SUCCESS	DAT_DTO_SUCCESS
#define DAT_RMR_BIND_FAILURE	DAT_DTO_ERR_FLUSHED
#define DAT_RMR_BIND_COMPLETION_STATUS	DAT_DTO_COMPLETION_STATUS

typedef enum kdat_dtos {
	DAT_DTO_SEND			= 0,
	DAT_DTO_RDMA_WRITE		= 1,
	DAT_DTO_RDMA_READ		= 2,
	DAT_DTO_RECEIVE			= 3,
	DAT_DTO_RECEIVE_WITH_INVALIDATE	= 4,
	DAT_DTO_BIND_MW			= 5,
	DAT_DTO_LMR_FMR			= 6,
	DAT_DTO_LMR_INVALIDATE		= 7,
	/*
	 * Receives that carry immediate data, of an RDMA write and of a send.  The numbers are
	 * those of DAT_IB_DTO_RECV_IMMED and DAT_IB_DTO_RECV_MSG_IMMED in DAT 2.0.
	 */
	DAT_LINUX_DTO_RDMA_WRITE_IMMED	= 9,
	DAT_LINUX_DTO_RECEIVE_IMMED	= 12,
} DAT_DTOS;

/**
 * struct kdat_dto_completion_event_data - data of the completion event of an operation
 * @ep_handle: EP of the operation; for a receive from an SRQ, the EP that received the message
 * @user_cookie: cookie of the post
 * @status: result of the operation
 * @transfered_length: number of bytes; defined only if @status is DAT_DTO_SUCCESS
 * @operation: kind of the operation
 * @rmr_context: key that the peer has invalidated; only for RECEIVE_WITH_INVALIDATE
 * @immed_data: immediate data; only for DAT_LINUX_DTO_RECEIVE_IMMED and
 *	DAT_LINUX_DTO_RDMA_WRITE_IMMED
 */
typedef struct kdat_dto_completion_event_data {
	DAT_EP_HANDLE			ep_handle;
	DAT_DTO_COOKIE			user_cookie;
	DAT_DTO_COMPLETION_STATUS	status;
	DAT_SEG_LENGTH			transfered_length;
	DAT_DTOS			operation;
	union {
		DAT_RMR_CONTEXT		rmr_context;
		DAT_UINT32		immed_data;
	};
} DAT_DTO_COMPLETION_EVENT_DATA;

typedef struct kdat_rmr_bind_completion_event_data {
	DAT_RMR_HANDLE			rmr_handle;
	DAT_RMR_COOKIE			user_cookie;
	DAT_RMR_BIND_COMPLETION_STATUS	status;
} DAT_RMR_BIND_COMPLETION_EVENT_DATA;

typedef union kdat_sp_handle {
	DAT_RSP_HANDLE	rsp_handle;
	DAT_PSP_HANDLE	psp_handle;
	DAT_CSP_HANDLE	csp_handle;
} DAT_SP_HANDLE;

/**
 * struct kdat_cr_arrival_event_data - data of the event that reports a connection request
 * @sp_handle: service point that received the request
 * @local_ia_address_ptr: local address that received the request, valid as long as @cr_handle
 * @conn_qual: connection qualifier that received the request
 * @cr_handle: the connection request, which the consumer must accept, reject or hand off
 * @truncate_flag: whether private data was truncated; always DAT_FALSE
 */
typedef struct kdat_cr_arrival_event_data {
	DAT_SP_HANDLE		sp_handle;
	DAT_IA_ADDRESS_PTR	local_ia_address_ptr;
	DAT_CONN_QUAL		conn_qual;
	DAT_CR_HANDLE		cr_handle;
	DAT_BOOLEAN		truncate_flag;
} DAT_CR_ARRIVAL_EVENT_DATA;

/**
 * struct kdat_connection_event_data - data of the event that a connection began, ended or failed
 * @ep_handle: EP of the connection
 * @private_data_size: bytes of @private_data, including padding by the transport
 * @private_data: private data of the peer; valid until any thread modifies, resets or frees the EP,
 *	which may happen during an upcall
 */
typedef struct kdat_connection_event_data {
	DAT_EP_HANDLE	ep_handle;
	DAT_COUNT	private_data_size;
	DAT_PVOID	private_data;
} DAT_CONNECTION_EVENT_DATA;

/**
 * struct kdat_asynch_error_event_data - data of an async event, which concerns no single operation
 * @dat_handle: object that has the error: an IA, EP, EVD or SRQ
 * @reason: DAT_*_ASYNC_ERROR_REASON for the kind of object
 */
typedef struct kdat_asynch_error_event_data {
	DAT_HANDLE	dat_handle;
	DAT_COUNT	reason;
} DAT_ASYNCH_ERROR_EVENT_DATA;

typedef enum kdat_ia_async_error_reason {
	DAT_IA_CATASTROPHIC_ERROR	= 0,
	DAT_IA_OTHER_ERROR		= 1,
} DAT_IA_ASYNC_ERROR_REASON;

typedef enum kdat_ep_async_error_reason {
	DAT_EP_TRANSFER_TO_ERROR		= 0,
	DAT_EP_OTHER_ERROR			= 1,
	DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT	= 2,
} DAT_EP_ASYNC_ERROR_REASON;

typedef enum kdat_evd_async_error_reason {
	DAT_EVD_OVERFLOW_ERROR	= 0,
	DAT_EVD_OTHER_ERROR	= 1,
} DAT_EVD_ASYNC_ERROR_REASON;

typedef enum kdat_srq_async_error_reason {
	DAT_SRQ_TRANSFER_TO_ERROR	= 0,
	DAT_SRQ_OTHER_ERROR		= 1,
	DAT_SRQ_LOW_WATERMARK_EVENT	= 2,
} DAT_SRQ_ASYNC_ERROR_REASON;

typedef struct kdat_software_event_data {
	DAT_PVOID	pointer;	/* as posted */
} DAT_SOFTWARE_EVENT_DATA;

/* Event numbers.  Bits 12 and up are the number of the event's stream. */
typedef enum kdat_event_number {
	DAT_DTO_COMPLETION_EVENT			= 0x00001,
	DAT_RMR_BIND_COMPLETION_EVENT			= 0x01001,
	DAT_CONNECTION_REQUEST_EVENT			= 0x02001,
	DAT_CONNECTION_EVENT_ESTABLISHED		= 0x04001,
	/* the peer called dat_cr_reject() */
	DAT_CONNECTION_EVENT_PEER_REJECTED		= 0x04002,
	/* the peer's host has no listener, or the queue of the listener is full */
	DAT_CONNECTION_EVENT_NON_PEER_REJECTED		= 0x04003,
	/* after dat_cr_accept(): the peer has cancelled the connection or is gone */
	DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR	= 0x04004,
	DAT_CONNECTION_EVENT_DISCONNECTED		= 0x04005,
	/* the connection ended with an error */
	DAT_CONNECTION_EVENT_BROKEN			= 0x04006,
	/* the timeout of dat_ep_connect() has expired */
	DAT_CONNECTION_EVENT_TIMED_OUT			= 0x04007,
	DAT_CONNECTION_EVENT_UNREACHABLE		= 0x04008,
	DAT_ASYNC_ERROR_EVD_OVERFLOW			= 0x08001,
	DAT_ASYNC_ERROR_IA_CATASTROPHIC			= 0x08002,
	DAT_ASYNC_ERROR_EP_BROKEN			= 0x08003,
	DAT_ASYNC_ERROR_TIMED_OUT			= 0x08004,
	DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR		= 0x08005,
	DAT_HA_DOWN_TO_1				= 0x08101,
	DAT_HA_UP_TO_MULTI_PATH				= 0x08102,
	DAT_SOFTWARE_EVENT				= 0x10001,
} DAT_EVENT_NUMBER;

typedef union kdat_event_data {
	DAT_DTO_COMPLETION_EVENT_DATA		dto_completion_event_data;
	DAT_RMR_BIND_COMPLETION_EVENT_DATA	rmr_completion_event_data;
	DAT_CR_ARRIVAL_EVENT_DATA		cr_arrival_event_data;
	DAT_CONNECTION_EVENT_DATA		connect_event_data;
	DAT_ASYNCH_ERROR_EVENT_DATA		asynch_error_event_data;
	DAT_SOFTWARE_EVENT_DATA			software_event_data;
} DAT_EVENT_DATA;

/**
 * struct kdat_event - an event that is passed to an upcall or returned by dat_evd_dequeue()
 * @event_number: kind of the event
 * @evd_handle: EVD that delivered the event
 * @event_data: data of the event; the stream of @event_number selects the member
 * @event_extension_data: zeros
 */
typedef struct kdat_event {
	DAT_EVENT_NUMBER	event_number;
	DAT_EVD_HANDLE		evd_handle;
	DAT_EVENT_DATA		event_data;
	DAT_UINT64		event_extension_data[8];
} DAT_EVENT;

/* Event of an upcall that passes none, which is the case with DAT_UPCALL_NORIFY. */
#define DAT_EVENT_NULL	((const DAT_EVENT *)NULL)

static_assert(sizeof(DAT_CONTEXT) == 8);
static_assert(sizeof(DAT_UPCALL_OBJECT) == 16);
static_assert(sizeof(DAT_PHYSICAL_VAR_PAGES) == 16);
static_assert(sizeof(DAT_REGION_DESCRIPTION) == 16);
static_assert(sizeof(DAT_LMR_TRIPLET) == 16);
static_assert(sizeof(DAT_RMR_TRIPLET) == 16);
static_assert(sizeof(DAT_LMR_STATE) == 8);
static_assert(sizeof(DAT_LMR_PARAM) == 88);
static_assert(offsetof(DAT_LMR_PARAM, lmr_context) == 56);
static_assert(sizeof(DAT_RMR_PARAM) == 48);
static_assert(sizeof(DAT_IA_ATTR) == 680);
static_assert(offsetof(DAT_IA_ATTR, reserved_lmr_supported) == 648);
static_assert(offsetof(DAT_IA_ATTR, num_transport_attr) == 652);
static_assert(sizeof(DAT_PROVIDER_INFO) == 268);
static_assert(sizeof(DAT_PROVIDER_ATTR) == 528);
static_assert(offsetof(DAT_PROVIDER_ATTR, upcall_policy) == 304);
static_assert(offsetof(DAT_PROVIDER_ATTR, evd_stream_merging_supported) == 312);
static_assert(offsetof(DAT_PROVIDER_ATTR, num_provider_specific_attr) == 516);
static_assert(sizeof(DAT_EVD_PARAM) == 40);
static_assert(sizeof(DAT_COMM) == 12);
static_assert(sizeof(DAT_EP_ATTR) == 88);
static_assert(sizeof(DAT_EP_PARAM) == 184);
static_assert(offsetof(DAT_EP_PARAM, ep_attr) == 96);
static_assert(sizeof(DAT_SRQ_ATTR) == 12);
static_assert(sizeof(DAT_SRQ_PARAM) == 48);
static_assert(sizeof(DAT_PSP_PARAM) == 32);
static_assert(sizeof(DAT_RSP_PARAM) == 32);
static_assert(sizeof(DAT_CSP_PARAM) == 32);
static_assert(sizeof(DAT_CR_PARAM) == 40);
static_assert(sizeof(DAT_DTO_COMPLETION_EVENT_DATA) == 32);
static_assert(sizeof(DAT_CR_ARRIVAL_EVENT_DATA) == 40);
static_assert(sizeof(DAT_EVENT_DATA) == 40);
static_assert(sizeof(DAT_EVENT) == 120);

#endif /* _LINUX_KDAT_TYPES_H */
