/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Return codes.
 *
 *   31  30  29                    16  15                     0
 *   ┌──────┬────────────────────────┬────────────────────────┐
 *   │ class│          type          │        subtype         │
 *   └──────┴────────────────────────┴────────────────────────┘
 *
 * A call returns DAT_SUCCESS, or DAT_CLASS_ERROR | type | subtype.  The constants of the
 * types do not contain the class.  To check for an error, write
 *
 *	if (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
 *
 * and not "ret == DAT_QUEUE_EMPTY".  The second form works only for dat_evd_dequeue() on an EVD
 * with DAT_EVD_DTO_FLAG, which returns DAT_QUEUE_EMPTY without a class.  The subtype is for
 * diagnostics only, because providers may use different subtypes.  dat_strerror(3) returns the
 * names of the type and the subtype.
 */
#ifndef DAT_ERROR_H
#define DAT_ERROR_H

#include "dat_platform_specific.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef DAT_UINT32	DAT_RETURN;

#define DAT_CLASS_ERROR		0x80000000U
#define DAT_CLASS_WARNING	0x40000000U
#define DAT_CLASS_SUCCESS	0x00000000U

#define DAT_TYPE_MASK		0x3fff0000U
#define DAT_SUBTYPE_MASK	0x0000ffffU

#define DAT_IS_WARNING(status)	((DAT_UINT32)(status) & DAT_CLASS_WARNING)
#define DAT_GET_TYPE(status)	((DAT_UINT32)(status) & DAT_TYPE_MASK)
#define DAT_GET_SUBTYPE(status)	((DAT_UINT32)(status) & DAT_SUBTYPE_MASK)

typedef enum dat_return_type {
	DAT_SUCCESS				= 0x00000000,
	/* the object was destroyed during the call */
	DAT_ABORT				= 0x00010000,
	/* the connection qualifier has a listener */
	DAT_CONN_QUAL_IN_USE			= 0x00020000,
	DAT_INSUFFICIENT_RESOURCES		= 0x00030000,
	/* a bug of the provider or of a layer below */
	DAT_INTERNAL_ERROR			= 0x00040000,
	/* a handle is NULL, was freed, or names an object of another kind or another IA */
	DAT_INVALID_HANDLE			= 0x00050000,
	DAT_INVALID_PARAMETER			= 0x00060000,
	/* the call is not allowed in the present state of an object */
	DAT_INVALID_STATE			= 0x00070000,
	/* the lengths of local and remote memory do not match, or a length is out of range */
	DAT_LENGTH_ERROR			= 0x00080000,
	/* this provider lacks an optional feature of DAT */
	DAT_MODEL_NOT_SUPPORTED			= 0x00090000,
	DAT_PROVIDER_NOT_FOUND			= 0x000a0000,
	/* the memory, port or operation needs a privilege that is missing */
	DAT_PRIVILEGES_VIOLATION		= 0x000b0000,
	/* memory and endpoint are in different protection zones */
	DAT_PROTECTION_VIOLATION		= 0x000c0000,
	DAT_QUEUE_EMPTY				= 0x000d0000,
	DAT_QUEUE_FULL				= 0x000e0000,
	DAT_TIMEOUT_EXPIRED			= 0x000f0000,
	DAT_PROVIDER_ALREADY_REGISTERED		= 0x00100000,
	DAT_PROVIDER_IN_USE			= 0x00110000,
	DAT_INVALID_ADDRESS			= 0x00120000,
	/* a signal was handled */
	DAT_INTERRUPTED_CALL			= 0x00130000,
	/* no connection qualifier is left */
	DAT_CONN_QUAL_UNAVAILABLE		= 0x00140000,
	DAT_NOT_IMPLEMENTED			= 0x0fff0000
} DAT_RETURN_TYPE;

/* Name of this code in DAT 1.0. */
#define DAT_NAME_NOT_FOUND	DAT_PROVIDER_NOT_FOUND

typedef enum dat_return_subtype {
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
	/* DAT_INVALID_HANDLE: position of the argument in the call, from 1 */
	DAT_INVALID_HANDLE1			= 26,
	DAT_INVALID_HANDLE2			= 27,
	DAT_INVALID_HANDLE3			= 28,
	DAT_INVALID_HANDLE4			= 29,
	DAT_INVALID_HANDLE5			= 30,
	DAT_INVALID_HANDLE6			= 31,
	DAT_INVALID_HANDLE7			= 32,
	DAT_INVALID_HANDLE8			= 33,
	DAT_INVALID_HANDLE9			= 34,
	DAT_INVALID_HANDLE10			= 35,

	/* DAT_INVALID_PARAMETER: position of the invalid argument in the call, from 1 */
	DAT_INVALID_ARG1			= 36,
	DAT_INVALID_ARG2			= 37,
	DAT_INVALID_ARG3			= 38,
	DAT_INVALID_ARG4			= 39,
	DAT_INVALID_ARG5			= 40,
	DAT_INVALID_ARG6			= 41,
	DAT_INVALID_ARG7			= 42,
	DAT_INVALID_ARG8			= 43,
	DAT_INVALID_ARG9			= 44,
	DAT_INVALID_ARG10			= 45,

	/* DAT_INVALID_STATE: the state that does not allow the call */
	DAT_INVALID_STATE_EP_UNCONNECTED	= 46,
	DAT_INVALID_STATE_EP_ACTCONNPENDING	= 47,
	DAT_INVALID_STATE_EP_PASSCONNPENDING	= 48,
	DAT_INVALID_STATE_EP_TENTCONNPENDING	= 49,
	DAT_INVALID_STATE_EP_CONNECTED		= 50,
	DAT_INVALID_STATE_EP_DISCONNECTED	= 51,
	DAT_INVALID_STATE_EP_RESERVED		= 52,
	DAT_INVALID_STATE_EP_COMPLPENDING	= 53,
	DAT_INVALID_STATE_EP_DISCPENDING	= 54,
	DAT_INVALID_STATE_EP_PROVIDERCONTROL	= 55,
	DAT_INVALID_STATE_EP_NOTREADY		= 56,
	DAT_INVALID_STATE_EP_RECV_WATERMARK	= 57,
	DAT_INVALID_STATE_EP_PZ			= 58,
	DAT_INVALID_STATE_EP_EVD_REQUEST	= 59,
	DAT_INVALID_STATE_EP_EVD_RECV		= 60,
	DAT_INVALID_STATE_EP_EVD_CONNECT	= 61,
	DAT_INVALID_STATE_EP_UNCONFIGURED	= 62,
	DAT_INVALID_STATE_EP_UNCONFRESERVED	= 63,
	DAT_INVALID_STATE_EP_UNCONFPASSIVE	= 64,
	DAT_INVALID_STATE_EP_UNCONFTENTATIVE	= 65,
	DAT_INVALID_STATE_CNO_IN_USE		= 66,
	DAT_INVALID_STATE_CNO_DEAD		= 67,
	DAT_INVALID_STATE_EVD_OPEN		= 68,
	DAT_INVALID_STATE_EVD_ENABLED		= 69,
	DAT_INVALID_STATE_EVD_DISABLED		= 70,
	DAT_INVALID_STATE_EVD_WAITABLE		= 71,
	DAT_INVALID_STATE_EVD_UNWAITABLE	= 72,
	DAT_INVALID_STATE_EVD_IN_USE		= 73,
	DAT_INVALID_STATE_EVD_CONFIG_NOTIFY	= 74,
	DAT_INVALID_STATE_EVD_CONFIG_SOLICITED	= 75,
	DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD	= 76,
	DAT_INVALID_STATE_EVD_WAITER		= 77,
	DAT_INVALID_STATE_EVD_ASYNC		= 78,
	DAT_INVALID_STATE_IA_IN_USE		= 79,
	DAT_INVALID_STATE_LMR_IN_USE		= 80,
	DAT_INVALID_STATE_LMR_FREE		= 81,
	DAT_INVALID_STATE_PZ_IN_USE		= 82,
	DAT_INVALID_STATE_PZ_FREE		= 83,
	DAT_INVALID_STATE_SRQ_OPERATIONAL	= 84,
	DAT_INVALID_STATE_SRQ_ERROR		= 85,
	DAT_INVALID_STATE_SRQ_IN_USE		= 86,

	/* DAT_PRIVILEGES_VIOLATION: the missing privilege */
	DAT_PRIVILEGES_READ			= 87,
	DAT_PRIVILEGES_WRITE			= 88,
	DAT_PRIVILEGES_RDMA_READ		= 89,
	DAT_PRIVILEGES_RDMA_WRITE		= 90,

	/* DAT_PROTECTION_VIOLATION: the access that is not allowed */
	DAT_PROTECTION_READ			= 91,
	DAT_PROTECTION_WRITE			= 92,
	DAT_PROTECTION_RDMA_READ		= 93,
	DAT_PROTECTION_RDMA_WRITE		= 94,

	/* DAT_INVALID_ADDRESS */
	DAT_INVALID_ADDRESS_UNSUPPORTED		= 95,	/* a family that the IA lacks */
	DAT_INVALID_ADDRESS_UNREACHABLE		= 96,
	DAT_INVALID_ADDRESS_MALFORMED		= 97,

	/* DAT_PROVIDER_NOT_FOUND: the first attribute that did not match */
	DAT_NAME_NOT_REGISTERED			= 98,
	DAT_MAJOR_NOT_FOUND			= 99,
	DAT_MINOR_NOT_FOUND			= 100,
	DAT_THREAD_SAFETY_NOT_FOUND		= 101,

	/* DAT_INVALID_PARAMETER; only for relaxed ordering on Solaris */
	DAT_INVALID_RO_COOKIE			= 102
} DAT_RETURN_SUBTYPE;

/**
 * dat_strerror - get the names of a return code
 * @value: return code of a DAT call
 * @major_message: out: name of the type of @value, such as "DAT_QUEUE_EMPTY"
 * @minor_message: out: name of the subtype of @value, or "" if @value has no subtype
 *
 * The function ignores the class bits.  The strings are constants: do not free or change them.
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: @value is no return code of this version (DAT_INVALID_ARG1), or a
 * pointer is NULL (DAT_INVALID_ARG2, DAT_INVALID_ARG3); nothing is stored.
 *
 * Threads: safe.  Page: dat_strerror(3).
 */
DAT_RETURN dat_strerror(DAT_RETURN value, const char **major_message,
			const char **minor_message);

#ifdef __cplusplus
}
#endif

#endif /* DAT_ERROR_H */
