// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The ABI of uDAPL 1.2: numbers, layouts, DAT_PROVIDER and its macros, and the names of return
 * codes.  This file repeats the numbers of DAT 1.2 for LP64.  Most of the numbers are compared with
 * the headers at compile time.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat/udat.h>
#include <dat/dat_registry.h>

#include "kselftest_harness.h"

#define TYPES(X) \
	X(DAT_SUCCESS, 0x00000000) X(DAT_ABORT, 0x00010000) X(DAT_CONN_QUAL_IN_USE, 0x00020000) \
	X(DAT_INSUFFICIENT_RESOURCES, 0x00030000) X(DAT_INTERNAL_ERROR, 0x00040000) \
	X(DAT_INVALID_HANDLE, 0x00050000) X(DAT_INVALID_PARAMETER, 0x00060000) \
	X(DAT_INVALID_STATE, 0x00070000) X(DAT_LENGTH_ERROR, 0x00080000) \
	X(DAT_MODEL_NOT_SUPPORTED, 0x00090000) X(DAT_PROVIDER_NOT_FOUND, 0x000a0000) \
	X(DAT_PRIVILEGES_VIOLATION, 0x000b0000) X(DAT_PROTECTION_VIOLATION, 0x000c0000) \
	X(DAT_QUEUE_EMPTY, 0x000d0000) X(DAT_QUEUE_FULL, 0x000e0000) \
	X(DAT_TIMEOUT_EXPIRED, 0x000f0000) X(DAT_PROVIDER_ALREADY_REGISTERED, 0x00100000) \
	X(DAT_PROVIDER_IN_USE, 0x00110000) X(DAT_INVALID_ADDRESS, 0x00120000) \
	X(DAT_INTERRUPTED_CALL, 0x00130000) X(DAT_CONN_QUAL_UNAVAILABLE, 0x00140000) \
	X(DAT_NOT_IMPLEMENTED, 0x0fff0000)

#define SUBTYPES(X) \
	X(DAT_NO_SUBTYPE, 0) X(DAT_SUB_INTERRUPTED, 1) X(DAT_RESOURCE_MEMORY, 2) \
	X(DAT_RESOURCE_DEVICE, 3) X(DAT_RESOURCE_TEP, 4) X(DAT_RESOURCE_TEVD, 5) \
	X(DAT_RESOURCE_PROTECTION_DOMAIN, 6) X(DAT_RESOURCE_MEMORY_REGION, 7) \
	X(DAT_RESOURCE_ERROR_HANDLER, 8) X(DAT_RESOURCE_CREDITS, 9) X(DAT_RESOURCE_SRQ, 10) \
	X(DAT_INVALID_HANDLE_IA, 11) X(DAT_INVALID_HANDLE_EP, 12) X(DAT_INVALID_HANDLE_LMR, 13) \
	X(DAT_INVALID_HANDLE_RMR, 14) X(DAT_INVALID_HANDLE_PZ, 15) \
	X(DAT_INVALID_HANDLE_PSP, 16) X(DAT_INVALID_HANDLE_RSP, 17) \
	X(DAT_INVALID_HANDLE_CR, 18) X(DAT_INVALID_HANDLE_CNO, 19) \
	X(DAT_INVALID_HANDLE_EVD_CR, 20) X(DAT_INVALID_HANDLE_EVD_REQUEST, 21) \
	X(DAT_INVALID_HANDLE_EVD_RECV, 22) X(DAT_INVALID_HANDLE_EVD_CONN, 23) \
	X(DAT_INVALID_HANDLE_EVD_ASYNC, 24) X(DAT_INVALID_HANDLE_SRQ, 25) \
	X(DAT_INVALID_HANDLE1, 26) X(DAT_INVALID_HANDLE2, 27) X(DAT_INVALID_HANDLE3, 28) \
	X(DAT_INVALID_HANDLE4, 29) X(DAT_INVALID_HANDLE5, 30) X(DAT_INVALID_HANDLE6, 31) \
	X(DAT_INVALID_HANDLE7, 32) X(DAT_INVALID_HANDLE8, 33) X(DAT_INVALID_HANDLE9, 34) \
	X(DAT_INVALID_HANDLE10, 35) X(DAT_INVALID_ARG1, 36) X(DAT_INVALID_ARG2, 37) \
	X(DAT_INVALID_ARG3, 38) X(DAT_INVALID_ARG4, 39) X(DAT_INVALID_ARG5, 40) \
	X(DAT_INVALID_ARG6, 41) X(DAT_INVALID_ARG7, 42) X(DAT_INVALID_ARG8, 43) \
	X(DAT_INVALID_ARG9, 44) X(DAT_INVALID_ARG10, 45) \
	X(DAT_INVALID_STATE_EP_UNCONNECTED, 46) X(DAT_INVALID_STATE_EP_ACTCONNPENDING, 47) \
	X(DAT_INVALID_STATE_EP_PASSCONNPENDING, 48) X(DAT_INVALID_STATE_EP_TENTCONNPENDING, 49) \
	X(DAT_INVALID_STATE_EP_CONNECTED, 50) X(DAT_INVALID_STATE_EP_DISCONNECTED, 51) \
	X(DAT_INVALID_STATE_EP_RESERVED, 52) X(DAT_INVALID_STATE_EP_COMPLPENDING, 53) \
	X(DAT_INVALID_STATE_EP_DISCPENDING, 54) X(DAT_INVALID_STATE_EP_PROVIDERCONTROL, 55) \
	X(DAT_INVALID_STATE_EP_NOTREADY, 56) X(DAT_INVALID_STATE_EP_RECV_WATERMARK, 57) \
	X(DAT_INVALID_STATE_EP_PZ, 58) X(DAT_INVALID_STATE_EP_EVD_REQUEST, 59) \
	X(DAT_INVALID_STATE_EP_EVD_RECV, 60) X(DAT_INVALID_STATE_EP_EVD_CONNECT, 61) \
	X(DAT_INVALID_STATE_EP_UNCONFIGURED, 62) X(DAT_INVALID_STATE_EP_UNCONFRESERVED, 63) \
	X(DAT_INVALID_STATE_EP_UNCONFPASSIVE, 64) X(DAT_INVALID_STATE_EP_UNCONFTENTATIVE, 65) \
	X(DAT_INVALID_STATE_CNO_IN_USE, 66) X(DAT_INVALID_STATE_CNO_DEAD, 67) \
	X(DAT_INVALID_STATE_EVD_OPEN, 68) X(DAT_INVALID_STATE_EVD_ENABLED, 69) \
	X(DAT_INVALID_STATE_EVD_DISABLED, 70) X(DAT_INVALID_STATE_EVD_WAITABLE, 71) \
	X(DAT_INVALID_STATE_EVD_UNWAITABLE, 72) X(DAT_INVALID_STATE_EVD_IN_USE, 73) \
	X(DAT_INVALID_STATE_EVD_CONFIG_NOTIFY, 74) \
	X(DAT_INVALID_STATE_EVD_CONFIG_SOLICITED, 75) \
	X(DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD, 76) X(DAT_INVALID_STATE_EVD_WAITER, 77) \
	X(DAT_INVALID_STATE_EVD_ASYNC, 78) X(DAT_INVALID_STATE_IA_IN_USE, 79) \
	X(DAT_INVALID_STATE_LMR_IN_USE, 80) X(DAT_INVALID_STATE_LMR_FREE, 81) \
	X(DAT_INVALID_STATE_PZ_IN_USE, 82) X(DAT_INVALID_STATE_PZ_FREE, 83) \
	X(DAT_INVALID_STATE_SRQ_OPERATIONAL, 84) X(DAT_INVALID_STATE_SRQ_ERROR, 85) \
	X(DAT_INVALID_STATE_SRQ_IN_USE, 86) X(DAT_PRIVILEGES_READ, 87) \
	X(DAT_PRIVILEGES_WRITE, 88) X(DAT_PRIVILEGES_RDMA_READ, 89) \
	X(DAT_PRIVILEGES_RDMA_WRITE, 90) X(DAT_PROTECTION_READ, 91) X(DAT_PROTECTION_WRITE, 92) \
	X(DAT_PROTECTION_RDMA_READ, 93) X(DAT_PROTECTION_RDMA_WRITE, 94) \
	X(DAT_INVALID_ADDRESS_UNSUPPORTED, 95) X(DAT_INVALID_ADDRESS_UNREACHABLE, 96) \
	X(DAT_INVALID_ADDRESS_MALFORMED, 97) X(DAT_NAME_NOT_REGISTERED, 98) \
	X(DAT_MAJOR_NOT_FOUND, 99) X(DAT_MINOR_NOT_FOUND, 100) \
	X(DAT_THREAD_SAFETY_NOT_FOUND, 101) X(DAT_INVALID_RO_COOKIE, 102)

#define ENUMS(X) \
	X(DAT_FALSE, 0) X(DAT_TRUE, 1) X(DAT_COMPLETION_DEFAULT_FLAG, 0x00) \
	X(DAT_COMPLETION_SUPPRESS_FLAG, 0x01) X(DAT_COMPLETION_SOLICITED_WAIT_FLAG, 0x02) \
	X(DAT_COMPLETION_UNSIGNALLED_FLAG, 0x04) X(DAT_COMPLETION_BARRIER_FENCE_FLAG, 0x08) \
	X(DAT_COMPLETION_EVD_THRESHOLD_FLAG, 0x10) X(DAT_QOS_BEST_EFFORT, 0) \
	X(DAT_QOS_HIGH_THROUGHPUT, 1) X(DAT_QOS_LOW_LATENCY, 2) X(DAT_QOS_ECONOMY, 4) \
	X(DAT_QOS_PREMIUM, 8) X(DAT_CONNECT_DEFAULT_FLAG, 0) X(DAT_CONNECT_MULTIPATH_FLAG, 1) \
	X(DAT_CLOSE_ABRUPT_FLAG, 0) X(DAT_CLOSE_GRACEFUL_FLAG, 1) X(DAT_CLOSE_DEFAULT, 0) \
	X(DAT_EVD_SOFTWARE_FLAG, 0x001) X(DAT_EVD_CR_FLAG, 0x010) X(DAT_EVD_DTO_FLAG, 0x020) \
	X(DAT_EVD_CONNECTION_FLAG, 0x040) X(DAT_EVD_RMR_BIND_FLAG, 0x080) \
	X(DAT_EVD_ASYNC_FLAG, 0x100) X(DAT_EVD_DEFAULT_FLAG, 0x1F0) X(DAT_PSP_CONSUMER_FLAG, 0) \
	X(DAT_PSP_PROVIDER_FLAG, 1) X(DAT_MEM_PRIV_NONE_FLAG, 0) \
	X(DAT_MEM_PRIV_LOCAL_READ_FLAG, 0x01) X(DAT_MEM_PRIV_REMOTE_READ_FLAG, 0x02) \
	X(DAT_MEM_PRIV_LOCAL_WRITE_FLAG, 0x10) X(DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 0x20) \
	X(DAT_MEM_PRIV_ALL_FLAG, 0x33) X(DAT_MEM_PRIV_RO_DISABLE_FLAG, 0x100) \
	X(DAT_MEM_PRIV_READ_FLAG, 0x03) X(DAT_MEM_PRIV_WRITE_FLAG, 0x30) X(DAT_IOV_CONSUMER, 0) \
	X(DAT_IOV_PROVIDER_NOMOD, 1) X(DAT_IOV_PROVIDER_MOD, 2) X(DAT_PSP_CREATES_EP_NEVER, 0) \
	X(DAT_PSP_CREATES_EP_IFASKED, 1) X(DAT_PSP_CREATES_EP_ALWAYS, 2) \
	X(DAT_SERVICE_TYPE_RC, 0) X(DAT_EP_STATE_UNCONNECTED, 0) \
	X(DAT_EP_STATE_UNCONFIGURED_UNCONNECTED, 1) X(DAT_EP_STATE_RESERVED, 2) \
	X(DAT_EP_STATE_UNCONFIGURED_RESERVED, 3) X(DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, 4) \
	X(DAT_EP_STATE_UNCONFIGURED_PASSIVE, 5) X(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, 6) \
	X(DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, 7) \
	X(DAT_EP_STATE_UNCONFIGURED_TENTATIVE, 8) X(DAT_EP_STATE_CONNECTED, 9) \
	X(DAT_EP_STATE_DISCONNECT_PENDING, 10) X(DAT_EP_STATE_DISCONNECTED, 11) \
	X(DAT_EP_STATE_COMPLETION_PENDING, 12) X(DAT_EP_STATE_ERROR, 11) \
	X(DAT_SRQ_STATE_OPERATIONAL, 0) X(DAT_SRQ_STATE_ERROR, 1) X(DAT_DTO_SUCCESS, 0) \
	X(DAT_DTO_ERR_FLUSHED, 1) X(DAT_DTO_ERR_LOCAL_LENGTH, 2) X(DAT_DTO_ERR_LOCAL_EP, 3) \
	X(DAT_DTO_ERR_LOCAL_PROTECTION, 4) X(DAT_DTO_ERR_BAD_RESPONSE, 5) \
	X(DAT_DTO_ERR_REMOTE_ACCESS, 6) X(DAT_DTO_ERR_REMOTE_RESPONDER, 7) \
	X(DAT_DTO_ERR_TRANSPORT, 8) X(DAT_DTO_ERR_RECEIVER_NOT_READY, 9) \
	X(DAT_DTO_ERR_PARTIAL_PACKET, 10) X(DAT_DTO_LENGTH_ERROR, 2) X(DAT_DTO_FAILURE, 1) \
	X(DAT_RMR_OPERATION_FAILED, 11) X(DAT_RMR_BIND_SUCCESS, 0) X(DAT_RMR_BIND_FAILURE, 1) \
	X(DAT_RMR_OTHER_ERROR, 0) X(DAT_IA_CATASTROPHIC_ERROR, 0) X(DAT_IA_OTHER_ERROR, 1) \
	X(DAT_EP_TRANSFER_TO_ERROR, 0) X(DAT_EP_OTHER_ERROR, 1) \
	X(DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT, 2) X(DAT_EVD_OVERFLOW_ERROR, 0) \
	X(DAT_EVD_OTHER_ERROR, 1) X(DAT_SRQ_TRANSFER_TO_ERROR, 0) X(DAT_SRQ_OTHER_ERROR, 1) \
	X(DAT_SRQ_LOW_WATERMARK_EVENT, 2) X(DAT_LMR_OTHER_ERROR, 0) X(DAT_PZ_OTHER_ERROR, 0) \
	X(DAT_MEM_TYPE_VIRTUAL, 0) X(DAT_MEM_TYPE_LMR, 1) X(DAT_MEM_TYPE_SHARED_VIRTUAL, 2) \
	X(DAT_MEM_TYPE_SO_VIRTUAL, 3) X(DAT_HANDLE_TYPE_CR, 0) X(DAT_HANDLE_TYPE_EP, 1) \
	X(DAT_HANDLE_TYPE_EVD, 2) X(DAT_HANDLE_TYPE_IA, 3) X(DAT_HANDLE_TYPE_LMR, 4) \
	X(DAT_HANDLE_TYPE_PSP, 5) X(DAT_HANDLE_TYPE_PZ, 6) X(DAT_HANDLE_TYPE_RMR, 7) \
	X(DAT_HANDLE_TYPE_RSP, 8) X(DAT_HANDLE_TYPE_CNO, 9) X(DAT_HANDLE_TYPE_SRQ, 10) \
	X(DAT_EVD_STATE_ENABLED, 0x01) X(DAT_EVD_STATE_DISABLED, 0x02) \
	X(DAT_EVD_STATE_WAITABLE, 0x04) X(DAT_EVD_STATE_UNWAITABLE, 0x08) \
	X(DAT_EVD_STATE_CONFIG_NOTIFY, 0x10) X(DAT_EVD_STATE_CONFIG_SOLICITED, 0x20) \
	X(DAT_EVD_STATE_CONFIG_THRESHOLD, 0x30) X(DAT_PZ_UNIQUE, 0) X(DAT_PZ_SAME, 1) \
	X(DAT_PZ_SHAREABLE, 2)

#define EVENTS(X) \
	X(DAT_DTO_COMPLETION_EVENT, 0x00001) X(DAT_RMR_BIND_COMPLETION_EVENT, 0x01001) \
	X(DAT_CONNECTION_REQUEST_EVENT, 0x02001) X(DAT_CONNECTION_EVENT_ESTABLISHED, 0x04001) \
	X(DAT_CONNECTION_EVENT_PEER_REJECTED, 0x04002) \
	X(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, 0x04003) \
	X(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, 0x04004) \
	X(DAT_CONNECTION_EVENT_DISCONNECTED, 0x04005) X(DAT_CONNECTION_EVENT_BROKEN, 0x04006) \
	X(DAT_CONNECTION_EVENT_TIMED_OUT, 0x04007) X(DAT_CONNECTION_EVENT_UNREACHABLE, 0x04008) \
	X(DAT_ASYNC_ERROR_EVD_OVERFLOW, 0x08001) X(DAT_ASYNC_ERROR_IA_CATASTROPHIC, 0x08002) \
	X(DAT_ASYNC_ERROR_EP_BROKEN, 0x08003) X(DAT_ASYNC_ERROR_TIMED_OUT, 0x08004) \
	X(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, 0x08005) X(DAT_SOFTWARE_EVENT, 0x10001)

#define MASKS(X) \
	X(DAT_LMR_FIELD_IA_HANDLE, 0x1) X(DAT_LMR_FIELD_MEM_TYPE, 0x2) \
	X(DAT_LMR_FIELD_REGION_DESC, 0x4) X(DAT_LMR_FIELD_LENGTH, 0x8) \
	X(DAT_LMR_FIELD_PZ_HANDLE, 0x10) X(DAT_LMR_FIELD_MEM_PRIV, 0x20) \
	X(DAT_LMR_FIELD_LMR_CONTEXT, 0x40) X(DAT_LMR_FIELD_RMR_CONTEXT, 0x80) \
	X(DAT_LMR_FIELD_REGISTERED_SIZE, 0x100) X(DAT_LMR_FIELD_REGISTERED_ADDRESS, 0x200) \
	X(DAT_LMR_FIELD_ALL, 0x3ff) X(DAT_RMR_FIELD_IA_HANDLE, 0x1) \
	X(DAT_RMR_FIELD_PZ_HANDLE, 0x2) X(DAT_RMR_FIELD_LMR_TRIPLET, 0x4) \
	X(DAT_RMR_FIELD_MEM_PRIV, 0x8) X(DAT_RMR_FIELD_RMR_CONTEXT, 0x10) \
	X(DAT_RMR_FIELD_ALL, 0x1f) X(DAT_SRQ_FIELD_IA_HANDLE, 0x1) \
	X(DAT_SRQ_FIELD_SRQ_STATE, 0x2) X(DAT_SRQ_FIELD_PZ_HANDLE, 0x4) \
	X(DAT_SRQ_FIELD_MAX_RECV_DTO, 0x8) X(DAT_SRQ_FIELD_MAX_RECV_IOV, 0x10) \
	X(DAT_SRQ_FIELD_LOW_WATERMARK, 0x20) X(DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT, 0x40) \
	X(DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT, 0x80) X(DAT_SRQ_FIELD_ALL, 0xff) \
	X(DAT_PZ_FIELD_IA_HANDLE, 0x1) X(DAT_PZ_FIELD_ALL, 0x1) X(DAT_PSP_FIELD_IA_HANDLE, 0x1) \
	X(DAT_PSP_FIELD_CONN_QUAL, 0x2) X(DAT_PSP_FIELD_EVD_HANDLE, 0x4) \
	X(DAT_PSP_FIELD_PSP_FLAGS, 0x8) X(DAT_PSP_FIELD_ALL, 0xf) \
	X(DAT_RSP_FIELD_IA_HANDLE, 0x1) X(DAT_RSP_FIELD_CONN_QUAL, 0x2) \
	X(DAT_RSP_FIELD_EVD_HANDLE, 0x4) X(DAT_RSP_FIELD_EP_HANDLE, 0x8) \
	X(DAT_RSP_FIELD_ALL, 0xf) X(DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR, 0x1) \
	X(DAT_CR_FIELD_REMOTE_PORT_QUAL, 0x2) X(DAT_CR_FIELD_PRIVATE_DATA_SIZE, 0x4) \
	X(DAT_CR_FIELD_PRIVATE_DATA, 0x8) X(DAT_CR_FIELD_LOCAL_EP_HANDLE, 0x10) \
	X(DAT_CR_FIELD_ALL, 0x1f) X(DAT_EVD_FIELD_IA_HANDLE, 0x1) \
	X(DAT_EVD_FIELD_EVD_QLEN, 0x2) X(DAT_EVD_FIELD_EVD_STATE, 0x4) \
	X(DAT_EVD_FIELD_CNO, 0x8) X(DAT_EVD_FIELD_EVD_FLAGS, 0x10) X(DAT_EVD_FIELD_ALL, 0x1f) \
	X(DAT_CNO_FIELD_IA_HANDLE, 0x1) X(DAT_CNO_FIELD_AGENT, 0x2) X(DAT_CNO_FIELD_ALL, 0x3) \
	X(DAT_IA_FIELD_IA_ADAPTER_NAME, 0x1) X(DAT_IA_FIELD_IA_VENDOR_NAME, 0x2) \
	X(DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION, 0x4) \
	X(DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION, 0x8) \
	X(DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION, 0x10) \
	X(DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION, 0x20) X(DAT_IA_FIELD_IA_ADDRESS_PTR, 0x40) \
	X(DAT_IA_FIELD_IA_MAX_EPS, 0x80) X(DAT_IA_FIELD_IA_MAX_DTO_PER_EP, 0x100) \
	X(DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN, 0x200) \
	X(DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT, 0x400) X(DAT_IA_FIELD_IA_MAX_EVDS, 0x800) \
	X(DAT_IA_FIELD_IA_MAX_EVD_QLEN, 0x1000) \
	X(DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO, 0x2000) X(DAT_IA_FIELD_IA_MAX_LMRS, 0x4000) \
	X(DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE, 0x8000) \
	X(DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS, 0x10000) X(DAT_IA_FIELD_IA_MAX_PZS, 0x20000) \
	X(DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE, 0x40000) X(DAT_IA_FIELD_IA_MAX_RDMA_SIZE, 0x80000) \
	X(DAT_IA_FIELD_IA_MAX_RMRS, 0x100000) \
	X(DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS, 0x200000) \
	X(DAT_IA_FIELD_IA_MAX_SRQS, 0x400000) X(DAT_IA_FIELD_IA_MAX_EP_PER_SRQ, 0x800000) \
	X(DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ, 0x1000000) \
	X(DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ, 0x2000000) \
	X(DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE, 0x4000000) \
	X(DAT_IA_FIELD_IA_MAX_RDMA_READ_IN, 0x8000000) \
	X(DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT, 0x10000000) \
	X(DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED, 0x20000000) \
	X(DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED, 0x40000000) \
	X(DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR, 0x80000000) \
	X(DAT_IA_FIELD_IA_TRANSPORT_ATTR, 0x100000000) \
	X(DAT_IA_FIELD_IA_NUM_VENDOR_ATTR, 0x200000000) \
	X(DAT_IA_FIELD_IA_VENDOR_ATTR, 0x400000000) X(DAT_IA_FIELD_ALL, 0x7ffffffff) \
	X(DAT_IA_FIELD_NONE, 0) X(DAT_PROVIDER_FIELD_PROVIDER_NAME, 0x1) \
	X(DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR, 0x2) \
	X(DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR, 0x4) \
	X(DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR, 0x8) \
	X(DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR, 0x10) \
	X(DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED, 0x20) \
	X(DAT_PROVIDER_FIELD_IOV_OWNERSHIP, 0x40) X(DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED, 0x80) \
	X(DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED, 0x100) \
	X(DAT_PROVIDER_FIELD_IS_THREAD_SAFE, 0x200) \
	X(DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE, 0x400) \
	X(DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH, 0x800) \
	X(DAT_PROVIDER_FIELD_EP_CREATOR, 0x1000) X(DAT_PROVIDER_FIELD_PZ_SUPPORT, 0x2000) \
	X(DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT, 0x4000) \
	X(DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED, 0x8000) \
	X(DAT_PROVIDER_FIELD_SRQ_SUPPORTED, 0x10000) \
	X(DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED, 0x20000) \
	X(DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED, 0x40000) \
	X(DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED, 0x80000) \
	X(DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED, 0x100000) \
	X(DAT_PROVIDER_FIELD_LMR_SYNC_REQ, 0x200000) \
	X(DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED, 0x400000) \
	X(DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ, 0x800000) \
	X(DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR, 0x1000000) \
	X(DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR, 0x2000000) \
	X(DAT_PROVIDER_FIELD_ALL, 0x3ffffff) X(DAT_PROVIDER_FIELD_NONE, 0) \
	X(DAT_EP_FIELD_IA_HANDLE, 0x1) X(DAT_EP_FIELD_EP_STATE, 0x2) \
	X(DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR, 0x4) X(DAT_EP_FIELD_LOCAL_PORT_QUAL, 0x8) \
	X(DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR, 0x10) X(DAT_EP_FIELD_REMOTE_PORT_QUAL, 0x20) \
	X(DAT_EP_FIELD_PZ_HANDLE, 0x40) X(DAT_EP_FIELD_RECV_EVD_HANDLE, 0x80) \
	X(DAT_EP_FIELD_REQUEST_EVD_HANDLE, 0x100) X(DAT_EP_FIELD_CONNECT_EVD_HANDLE, 0x200) \
	X(DAT_EP_FIELD_SRQ_HANDLE, 0x400) X(DAT_EP_FIELD_ALL, 0x7ffff7ff) \
	X(DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE, 0x1000) \
	X(DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE, 0x2000) \
	X(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, 0x4000) X(DAT_EP_FIELD_EP_ATTR_QOS, 0x8000) \
	X(DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, 0x10000) \
	X(DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS, 0x20000) \
	X(DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, 0x40000) \
	X(DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, 0x80000) \
	X(DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, 0x100000) \
	X(DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV, 0x200000) \
	X(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, 0x400000) \
	X(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT, 0x800000) \
	X(DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, 0x1000000) \
	X(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV, 0x2000000) \
	X(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV, 0x4000000) \
	X(DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR, 0x8000000) \
	X(DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR, 0x10000000) \
	X(DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR, 0x20000000) \
	X(DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR, 0x40000000) \
	X(DAT_EP_FIELD_EP_ATTR_ALL, 0x7ffff000)

#define SIZES(X) \
	X(DAT_NAMED_ATTR, 16) X(DAT_LMR_TRIPLET, 24) X(DAT_RMR_TRIPLET, 24) \
	X(DAT_RMR_PARAM, 48) X(DAT_IA_ATTR, 688) X(DAT_EP_ATTR, 104) X(DAT_EP_PARAM, 192) \
	X(DAT_SRQ_ATTR, 12) X(DAT_SRQ_PARAM, 48) X(DAT_PZ_PARAM, 8) X(DAT_PSP_PARAM, 32) \
	X(DAT_RSP_PARAM, 32) X(DAT_CR_PARAM, 40) X(DAT_PROVIDER_INFO, 268) X(DAT_EVD_PARAM, 32) \
	X(DAT_OS_WAIT_PROXY_AGENT, 16) X(DAT_SHARED_MEMORY, 16) X(DAT_REGION_DESCRIPTION, 16) \
	X(DAT_LMR_PARAM, 80) X(DAT_CNO_PARAM, 24) X(DAT_PROVIDER_ATTR, 504) X(DAT_EVENT, 48) \
	X(DAT_EVENT_DATA, 32) X(DAT_DTO_COMPLETION_EVENT_DATA, 32) \
	X(DAT_RMR_BIND_COMPLETION_EVENT_DATA, 24) X(DAT_CR_ARRIVAL_EVENT_DATA, 32) \
	X(DAT_CONNECTION_EVENT_DATA, 24) X(DAT_ASYNCH_ERROR_EVENT_DATA, 16) \
	X(DAT_SOFTWARE_EVENT_DATA, 8) X(DAT_CONTEXT, 8) X(DAT_PROVIDER, 560)

#define OFFSETS(X) \
	X(DAT_NAMED_ATTR, name, 0) X(DAT_NAMED_ATTR, value, 8) \
	X(DAT_LMR_TRIPLET, lmr_context, 0) X(DAT_LMR_TRIPLET, pad, 4) \
	X(DAT_LMR_TRIPLET, virtual_address, 8) X(DAT_LMR_TRIPLET, segment_length, 16) \
	X(DAT_RMR_TRIPLET, rmr_context, 0) X(DAT_RMR_TRIPLET, pad, 4) \
	X(DAT_RMR_TRIPLET, target_address, 8) X(DAT_RMR_TRIPLET, segment_length, 16) \
	X(DAT_RMR_PARAM, ia_handle, 0) X(DAT_RMR_PARAM, pz_handle, 8) \
	X(DAT_RMR_PARAM, lmr_triplet, 16) X(DAT_RMR_PARAM, mem_priv, 40) \
	X(DAT_RMR_PARAM, rmr_context, 44) X(DAT_IA_ATTR, adapter_name, 0) \
	X(DAT_IA_ATTR, vendor_name, 256) X(DAT_IA_ATTR, hardware_version_major, 512) \
	X(DAT_IA_ATTR, hardware_version_minor, 516) X(DAT_IA_ATTR, firmware_version_major, 520) \
	X(DAT_IA_ATTR, firmware_version_minor, 524) X(DAT_IA_ATTR, ia_address_ptr, 528) \
	X(DAT_IA_ATTR, max_eps, 536) X(DAT_IA_ATTR, max_dto_per_ep, 540) \
	X(DAT_IA_ATTR, max_rdma_read_per_ep_in, 544) \
	X(DAT_IA_ATTR, max_rdma_read_per_ep_out, 548) X(DAT_IA_ATTR, max_evds, 552) \
	X(DAT_IA_ATTR, max_evd_qlen, 556) X(DAT_IA_ATTR, max_iov_segments_per_dto, 560) \
	X(DAT_IA_ATTR, max_lmrs, 564) X(DAT_IA_ATTR, max_lmr_block_size, 568) \
	X(DAT_IA_ATTR, max_lmr_virtual_address, 576) X(DAT_IA_ATTR, max_pzs, 584) \
	X(DAT_IA_ATTR, max_message_size, 592) X(DAT_IA_ATTR, max_rdma_size, 600) \
	X(DAT_IA_ATTR, max_rmrs, 608) X(DAT_IA_ATTR, max_rmr_target_address, 616) \
	X(DAT_IA_ATTR, max_srqs, 624) X(DAT_IA_ATTR, max_ep_per_srq, 628) \
	X(DAT_IA_ATTR, max_recv_per_srq, 632) \
	X(DAT_IA_ATTR, max_iov_segments_per_rdma_read, 636) \
	X(DAT_IA_ATTR, max_iov_segments_per_rdma_write, 640) \
	X(DAT_IA_ATTR, max_rdma_read_in, 644) X(DAT_IA_ATTR, max_rdma_read_out, 648) \
	X(DAT_IA_ATTR, max_rdma_read_per_ep_in_guaranteed, 652) \
	X(DAT_IA_ATTR, max_rdma_read_per_ep_out_guaranteed, 656) \
	X(DAT_IA_ATTR, num_transport_attr, 660) X(DAT_IA_ATTR, transport_attr, 664) \
	X(DAT_IA_ATTR, num_vendor_attr, 672) X(DAT_IA_ATTR, vendor_attr, 680) \
	X(DAT_EP_ATTR, service_type, 0) X(DAT_EP_ATTR, max_message_size, 8) \
	X(DAT_EP_ATTR, max_rdma_size, 16) X(DAT_EP_ATTR, qos, 24) \
	X(DAT_EP_ATTR, recv_completion_flags, 28) X(DAT_EP_ATTR, request_completion_flags, 32) \
	X(DAT_EP_ATTR, max_recv_dtos, 36) X(DAT_EP_ATTR, max_request_dtos, 40) \
	X(DAT_EP_ATTR, max_recv_iov, 44) X(DAT_EP_ATTR, max_request_iov, 48) \
	X(DAT_EP_ATTR, max_rdma_read_in, 52) X(DAT_EP_ATTR, max_rdma_read_out, 56) \
	X(DAT_EP_ATTR, srq_soft_hw, 60) X(DAT_EP_ATTR, max_rdma_read_iov, 64) \
	X(DAT_EP_ATTR, max_rdma_write_iov, 68) X(DAT_EP_ATTR, ep_transport_specific_count, 72) \
	X(DAT_EP_ATTR, ep_transport_specific, 80) \
	X(DAT_EP_ATTR, ep_provider_specific_count, 88) X(DAT_EP_ATTR, ep_provider_specific, 96) \
	X(DAT_EP_PARAM, ia_handle, 0) X(DAT_EP_PARAM, ep_state, 8) \
	X(DAT_EP_PARAM, local_ia_address_ptr, 16) X(DAT_EP_PARAM, local_port_qual, 24) \
	X(DAT_EP_PARAM, remote_ia_address_ptr, 32) X(DAT_EP_PARAM, remote_port_qual, 40) \
	X(DAT_EP_PARAM, pz_handle, 48) X(DAT_EP_PARAM, recv_evd_handle, 56) \
	X(DAT_EP_PARAM, request_evd_handle, 64) X(DAT_EP_PARAM, connect_evd_handle, 72) \
	X(DAT_EP_PARAM, srq_handle, 80) X(DAT_EP_PARAM, ep_attr, 88) \
	X(DAT_SRQ_ATTR, max_recv_dtos, 0) X(DAT_SRQ_ATTR, max_recv_iov, 4) \
	X(DAT_SRQ_ATTR, low_watermark, 8) X(DAT_SRQ_PARAM, ia_handle, 0) \
	X(DAT_SRQ_PARAM, srq_state, 8) X(DAT_SRQ_PARAM, pz_handle, 16) \
	X(DAT_SRQ_PARAM, max_recv_dtos, 24) X(DAT_SRQ_PARAM, max_recv_iov, 28) \
	X(DAT_SRQ_PARAM, low_watermark, 32) X(DAT_SRQ_PARAM, available_dto_count, 36) \
	X(DAT_SRQ_PARAM, outstanding_dto_count, 40) X(DAT_PZ_PARAM, ia_handle, 0) \
	X(DAT_PSP_PARAM, ia_handle, 0) X(DAT_PSP_PARAM, conn_qual, 8) \
	X(DAT_PSP_PARAM, evd_handle, 16) X(DAT_PSP_PARAM, psp_flags, 24) \
	X(DAT_RSP_PARAM, ia_handle, 0) X(DAT_RSP_PARAM, conn_qual, 8) \
	X(DAT_RSP_PARAM, evd_handle, 16) X(DAT_RSP_PARAM, ep_handle, 24) \
	X(DAT_CR_PARAM, remote_ia_address_ptr, 0) X(DAT_CR_PARAM, remote_port_qual, 8) \
	X(DAT_CR_PARAM, private_data_size, 16) X(DAT_CR_PARAM, private_data, 24) \
	X(DAT_CR_PARAM, local_ep_handle, 32) X(DAT_PROVIDER_INFO, ia_name, 0) \
	X(DAT_PROVIDER_INFO, dapl_version_major, 256) \
	X(DAT_PROVIDER_INFO, dapl_version_minor, 260) X(DAT_PROVIDER_INFO, is_thread_safe, 264) \
	X(DAT_EVD_PARAM, ia_handle, 0) X(DAT_EVD_PARAM, evd_qlen, 8) \
	X(DAT_EVD_PARAM, evd_state, 12) X(DAT_EVD_PARAM, cno_handle, 16) \
	X(DAT_EVD_PARAM, evd_flags, 24) X(DAT_OS_WAIT_PROXY_AGENT, instance_data, 0) \
	X(DAT_OS_WAIT_PROXY_AGENT, proxy_agent_func, 8) \
	X(DAT_SHARED_MEMORY, virtual_address, 0) X(DAT_SHARED_MEMORY, shared_memory_id, 8) \
	X(DAT_REGION_DESCRIPTION, for_va, 0) X(DAT_REGION_DESCRIPTION, for_lmr_handle, 0) \
	X(DAT_REGION_DESCRIPTION, for_shared_memory, 0) X(DAT_LMR_PARAM, ia_handle, 0) \
	X(DAT_LMR_PARAM, mem_type, 8) X(DAT_LMR_PARAM, region_desc, 16) \
	X(DAT_LMR_PARAM, length, 32) X(DAT_LMR_PARAM, pz_handle, 40) \
	X(DAT_LMR_PARAM, mem_priv, 48) X(DAT_LMR_PARAM, lmr_context, 52) \
	X(DAT_LMR_PARAM, rmr_context, 56) X(DAT_LMR_PARAM, registered_size, 64) \
	X(DAT_LMR_PARAM, registered_address, 72) X(DAT_CNO_PARAM, ia_handle, 0) \
	X(DAT_CNO_PARAM, agent, 8) X(DAT_PROVIDER_ATTR, provider_name, 0) \
	X(DAT_PROVIDER_ATTR, provider_version_major, 256) \
	X(DAT_PROVIDER_ATTR, provider_version_minor, 260) \
	X(DAT_PROVIDER_ATTR, dapl_version_major, 264) \
	X(DAT_PROVIDER_ATTR, dapl_version_minor, 268) \
	X(DAT_PROVIDER_ATTR, lmr_mem_types_supported, 272) \
	X(DAT_PROVIDER_ATTR, iov_ownership_on_return, 276) \
	X(DAT_PROVIDER_ATTR, dat_qos_supported, 280) \
	X(DAT_PROVIDER_ATTR, completion_flags_supported, 284) \
	X(DAT_PROVIDER_ATTR, is_thread_safe, 288) \
	X(DAT_PROVIDER_ATTR, max_private_data_size, 292) \
	X(DAT_PROVIDER_ATTR, supports_multipath, 296) X(DAT_PROVIDER_ATTR, ep_creator, 300) \
	X(DAT_PROVIDER_ATTR, pz_support, 304) \
	X(DAT_PROVIDER_ATTR, optimal_buffer_alignment, 308) \
	X(DAT_PROVIDER_ATTR, evd_stream_merging_supported, 312) \
	X(DAT_PROVIDER_ATTR, srq_supported, 456) \
	X(DAT_PROVIDER_ATTR, srq_watermarks_supported, 460) \
	X(DAT_PROVIDER_ATTR, srq_ep_pz_difference_supported, 464) \
	X(DAT_PROVIDER_ATTR, srq_info_supported, 468) \
	X(DAT_PROVIDER_ATTR, ep_recv_info_supported, 472) \
	X(DAT_PROVIDER_ATTR, lmr_sync_req, 476) \
	X(DAT_PROVIDER_ATTR, dto_async_return_guaranteed, 480) \
	X(DAT_PROVIDER_ATTR, rdma_write_for_rdma_read_req, 484) \
	X(DAT_PROVIDER_ATTR, num_provider_specific_attr, 488) \
	X(DAT_PROVIDER_ATTR, provider_specific_attr, 496) X(DAT_EVENT, event_number, 0) \
	X(DAT_EVENT, evd_handle, 8) X(DAT_EVENT, event_data, 16) \
	X(DAT_EVENT_DATA, dto_completion_event_data, 0) \
	X(DAT_EVENT_DATA, rmr_completion_event_data, 0) \
	X(DAT_EVENT_DATA, cr_arrival_event_data, 0) X(DAT_EVENT_DATA, connect_event_data, 0) \
	X(DAT_EVENT_DATA, asynch_error_event_data, 0) X(DAT_EVENT_DATA, software_event_data, 0) \
	X(DAT_DTO_COMPLETION_EVENT_DATA, ep_handle, 0) \
	X(DAT_DTO_COMPLETION_EVENT_DATA, user_cookie, 8) \
	X(DAT_DTO_COMPLETION_EVENT_DATA, status, 16) \
	X(DAT_DTO_COMPLETION_EVENT_DATA, transfered_length, 24) \
	X(DAT_RMR_BIND_COMPLETION_EVENT_DATA, rmr_handle, 0) \
	X(DAT_RMR_BIND_COMPLETION_EVENT_DATA, user_cookie, 8) \
	X(DAT_RMR_BIND_COMPLETION_EVENT_DATA, status, 16) \
	X(DAT_CR_ARRIVAL_EVENT_DATA, sp_handle.rsp_handle, 0) \
	X(DAT_CR_ARRIVAL_EVENT_DATA, sp_handle.psp_handle, 0) \
	X(DAT_CR_ARRIVAL_EVENT_DATA, local_ia_address_ptr, 8) \
	X(DAT_CR_ARRIVAL_EVENT_DATA, conn_qual, 16) X(DAT_CR_ARRIVAL_EVENT_DATA, cr_handle, 24) \
	X(DAT_CONNECTION_EVENT_DATA, ep_handle, 0) \
	X(DAT_CONNECTION_EVENT_DATA, private_data_size, 8) \
	X(DAT_CONNECTION_EVENT_DATA, private_data, 16) \
	X(DAT_ASYNCH_ERROR_EVENT_DATA, dat_handle, 0) X(DAT_ASYNCH_ERROR_EVENT_DATA, reason, 8) \
	X(DAT_SOFTWARE_EVENT_DATA, pointer, 0) X(DAT_CONTEXT, as_ptr, 0) \
	X(DAT_CONTEXT, as_64, 0) X(DAT_CONTEXT, as_index, 0) X(DAT_PROVIDER, device_name, 0) \
	X(DAT_PROVIDER, extension, 8)

#define SLOTS(X) \
	X(ia_open, 1) X(ia_query, 2) X(ia_close, 3) X(set_consumer_context, 4) \
	X(get_consumer_context, 5) X(get_handle_type, 6) X(cno_create, 7) \
	X(cno_modify_agent, 8) X(cno_query, 9) X(cno_free, 10) X(cno_wait, 11) X(cr_query, 12) \
	X(cr_accept, 13) X(cr_reject, 14) X(cr_handoff, 15) X(evd_create, 16) X(evd_query, 17) \
	X(evd_modify_cno, 18) X(evd_enable, 19) X(evd_disable, 20) X(evd_wait, 21) \
	X(evd_resize, 22) X(evd_post_se, 23) X(evd_dequeue, 24) X(evd_free, 25) \
	X(ep_create, 26) X(ep_query, 27) X(ep_modify, 28) X(ep_connect, 29) \
	X(ep_dup_connect, 30) X(ep_disconnect, 31) X(ep_post_send, 32) X(ep_post_recv, 33) \
	X(ep_post_rdma_read, 34) X(ep_post_rdma_write, 35) X(ep_get_status, 36) X(ep_free, 37) \
	X(lmr_create, 38) X(lmr_query, 39) X(lmr_free, 40) X(rmr_create, 41) X(rmr_query, 42) \
	X(rmr_bind, 43) X(rmr_free, 44) X(psp_create, 45) X(psp_query, 46) X(psp_free, 47) \
	X(rsp_create, 48) X(rsp_query, 49) X(rsp_free, 50) X(pz_create, 51) X(pz_query, 52) \
	X(pz_free, 53) X(psp_create_any, 54) X(ep_reset, 55) X(evd_set_unwaitable, 56) \
	X(evd_clear_unwaitable, 57) X(lmr_sync_rdma_read, 58) X(lmr_sync_rdma_write, 59) \
	X(ep_create_with_srq, 60) X(ep_recv_query, 61) X(ep_set_watermark, 62) \
	X(srq_create, 63) X(srq_free, 64) X(srq_post_recv, 65) X(srq_query, 66) \
	X(srq_resize, 67) X(srq_set_lw, 68)

/* ---- Compile time ---- */

#define ASSERT_VALUE(name, value) \
	_Static_assert((unsigned long long)(name) == (value), #name);
TYPES(ASSERT_VALUE)
SUBTYPES(ASSERT_VALUE)
ENUMS(ASSERT_VALUE)
EVENTS(ASSERT_VALUE)
MASKS(ASSERT_VALUE)

/* Sizes that do not depend on the machine. */
_Static_assert(sizeof(DAT_COUNT) == 4 && (DAT_COUNT)-1 < 0, "counts have a sign");
_Static_assert(sizeof(DAT_BOOLEAN) == 4, "DAT_BOOLEAN");
_Static_assert(sizeof(DAT_RETURN) == 4 && (DAT_RETURN)-1 > 0, "DAT_RETURN");
_Static_assert(sizeof(DAT_TIMEOUT) == 4 && (DAT_TIMEOUT)-1 > 0, "DAT_TIMEOUT");
_Static_assert(sizeof(DAT_CONN_QUAL) == 8, "DAT_CONN_QUAL");
_Static_assert(sizeof(DAT_PORT_QUAL) == 8, "DAT_PORT_QUAL");
_Static_assert(sizeof(DAT_LMR_CONTEXT) == 4, "DAT_LMR_CONTEXT");
_Static_assert(sizeof(DAT_RMR_CONTEXT) == 4, "DAT_RMR_CONTEXT");
_Static_assert(sizeof(DAT_VLEN) == 8, "DAT_VLEN");
_Static_assert(sizeof(DAT_VADDR) == 8, "DAT_VADDR");
_Static_assert(sizeof(DAT_CONTEXT) == 8, "DAT_CONTEXT");

#ifdef __LP64__
#define ASSERT_SIZE(type, size) \
	_Static_assert(sizeof(type) == (size), #type);
#define ASSERT_OFFSET(type, field, offset) \
	_Static_assert(offsetof(type, field) == (offset), #type "." #field);
/* Slots are numbered from 1.  Before the slot of number 1, DAT_PROVIDER has two other words. */
#define ASSERT_SLOT(name, slot) \
	_Static_assert(offsetof(DAT_PROVIDER, name##_func) == 8 * ((slot) + 1), #name);
SIZES(ASSERT_SIZE)
OFFSETS(ASSERT_OFFSET)
SLOTS(ASSERT_SLOT)
#endif

/* Each slot must have the type of the function with this name. */
DAT_RETURN (dat_ia_open)(const DAT_NAME_PTR ia_name, DAT_COUNT async_evd_min_qlen,
			 DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle);
#define ASSERT_TYPE(name, slot) \
	_Static_assert(__builtin_types_compatible_p( \
		__typeof__(&dat_##name), __typeof__(((DAT_PROVIDER *)0)->name##_func)), #name);
SLOTS(ASSERT_TYPE)

/* ---- Run time ---- */

struct entry {
	const char		*name;
	unsigned long long	got;
	unsigned long long	want;
};

#define ENTRY(name, value)	{ #name, (unsigned long long)(name), (value) },

static const struct entry types[] = { TYPES(ENTRY) };
static const struct entry subtypes[] = { SUBTYPES(ENTRY) };
static const struct entry enums[] = { ENUMS(ENTRY) };
static const struct entry events[] = { EVENTS(ENTRY) };
static const struct entry masks[] = { MASKS(ENTRY) };

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))
#define COMPARE(table)	EXPECT_EQ(0, compare(table, COUNT(table)))

static int compare(const struct entry *table, size_t n)
{
	int wrong = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (table[i].got == table[i].want)
			continue;
		printf("# %s is %#llx instead of %#llx\n", table[i].name, table[i].got,
		       table[i].want);
		wrong++;
	}
	return wrong;
}

/* Covers: SH 69 */
TEST(return_code_encoding)
{
	DAT_RETURN ret = DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_SRQ_IN_USE;

	EXPECT_EQ(0x80000000U, DAT_CLASS_ERROR);
	EXPECT_EQ(0x40000000U, DAT_CLASS_WARNING);
	EXPECT_EQ(0U, DAT_CLASS_SUCCESS);
	EXPECT_EQ(0x3fff0000U, DAT_TYPE_MASK);
	EXPECT_EQ(0x0000ffffU, DAT_SUBTYPE_MASK);
	EXPECT_EQ(0x80070056U, ret);
	EXPECT_EQ(DAT_INVALID_STATE, DAT_GET_TYPE(ret));
	EXPECT_EQ(DAT_INVALID_STATE_SRQ_IN_USE, DAT_GET_SUBTYPE(ret));
	EXPECT_FALSE(DAT_IS_WARNING(ret));
	EXPECT_TRUE(DAT_IS_WARNING(DAT_CLASS_WARNING | DAT_SUCCESS));
	EXPECT_EQ(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_FOUND);
	EXPECT_EQ(22, COUNT(types));
	EXPECT_EQ(103, COUNT(subtypes));
	COMPARE(types);
	COMPARE(subtypes);
}

TEST(enum_values)
{
	COMPARE(enums);
	EXPECT_EQ(17, COUNT(events));
	COMPARE(events);
	EXPECT_EQ(4, sizeof(DAT_EP_STATE));
	EXPECT_EQ(4, sizeof(DAT_EVENT_NUMBER));
	EXPECT_EQ(4, sizeof(DAT_RETURN_TYPE));
}

TEST(mask_bits)
{
	COMPARE(masks);
	EXPECT_EQ(8, sizeof(DAT_IA_ATTR_MASK));
	EXPECT_EQ(8, sizeof(DAT_PROVIDER_ATTR_MASK));
	EXPECT_EQ(8, sizeof(DAT_EP_PARAM_MASK));
}

TEST(constants)
{
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;

	EXPECT_EQ(1, DAT_VERSION_MAJOR);
	EXPECT_EQ(2, DAT_VERSION_MINOR);
	EXPECT_EQ(DAT_FALSE, DAT_THREADSAFE);
	EXPECT_EQ(256, DAT_NAME_MAX_LENGTH);
	EXPECT_EQ(256, DAT_OPTIMAL_ALIGNMENT);
	EXPECT_EQ(40, DAT_LMR_COOKIE_SIZE);
	EXPECT_EQ(40, sizeof(*(DAT_LMR_COOKIE)0));
	EXPECT_EQ(0xffffffffU, DAT_TIMEOUT_INFINITE);
	EXPECT_EQ(-1, DAT_WATERMARK_INFINITE);
	EXPECT_EQ(-1, DAT_HW_DEFAULT);
	EXPECT_EQ(0, DAT_SRQ_LW_DEFAULT);
	EXPECT_EQ(-2, DAT_VALUE_UNKNOWN);
	EXPECT_EQ(NULL, DAT_HANDLE_NULL);
	EXPECT_EQ((void *)1, DAT_EVD_ASYNC_EXISTS);
	EXPECT_EQ((void *)2, DAT_EVD_OUT_OF_SCOPE);
	EXPECT_EQ(NULL, agent.instance_data);
	EXPECT_EQ(NULL, agent.proxy_agent_func);
}

#ifdef __LP64__
#define SIZE_ENTRY(type, size)		{ #type, sizeof(type), (size) },
#define OFFSET_ENTRY(type, field, at)	{ #type "." #field, offsetof(type, field), (at) },
#define SLOT_ENTRY(name, slot) \
	{ #name, offsetof(DAT_PROVIDER, name##_func) / 8 - 1, (slot) },

static const struct entry sizes[] = { SIZES(SIZE_ENTRY) };
static const struct entry offsets[] = { OFFSETS(OFFSET_ENTRY) };
static const struct entry slots[] = { SLOTS(SLOT_ENTRY) };

TEST(struct_layouts)
{
	COMPARE(sizes);
	COMPARE(offsets);
}

TEST(provider_table)
{
	EXPECT_EQ(68, COUNT(slots));
	COMPARE(slots);
}
#endif

/*
 * Each macro must call the slot that the macro is named after.  The fake functions ignore their
 * arguments, which every calling convention of Linux allows.
 */
#define FAKE(name, slot) \
	static DAT_RETURN fake_##name(void) { return (slot); }
#define FAKE_SLOT(name, slot)	.name##_func = (void *)fake_##name,
#define CALL(name, call)	EXPECT_EQ(fake_##name(), (call))

SLOTS(FAKE)

static DAT_PROVIDER fake = { SLOTS(FAKE_SLOT) };

FIXTURE(redirection) {
	DAT_PROVIDER	*object;	/* first member of the object behind a handle */
	DAT_HANDLE	handle;
};

FIXTURE_SETUP(redirection)
{
	self->object = &fake;
	self->handle = &self->object;
}

FIXTURE_TEARDOWN(redirection)
{
}

TEST_F(redirection, adapters_events_service_points)
{
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	DAT_CONTEXT cookie = { .as_64 = 0 };
	DAT_HANDLE h = self->handle;

	CALL(ia_query, DAT_IA_QUERY(h, NULL, 0, NULL, 0, NULL));
	CALL(set_consumer_context, DAT_SET_CONSUMER_CONTEXT(h, cookie));
	CALL(get_consumer_context, DAT_GET_CONSUMER_CONTEXT(h, NULL));
	CALL(get_handle_type, DAT_GET_HANDLE_TYPE(h, NULL));
	CALL(cno_create, DAT_CNO_CREATE(h, agent, NULL));
	CALL(cno_modify_agent, DAT_CNO_MODIFY_AGENT(h, agent));
	CALL(cno_query, DAT_CNO_QUERY(h, 0, NULL));
	CALL(cno_free, DAT_CNO_FREE(h));
	CALL(cno_wait, DAT_CNO_WAIT(h, 0, NULL));
	CALL(cr_query, DAT_CR_QUERY(h, 0, NULL));
	CALL(cr_accept, DAT_CR_ACCEPT(h, h, 0, NULL));
	CALL(cr_reject, DAT_CR_REJECT(h));
	CALL(cr_handoff, DAT_CR_HANDOFF(h, 0));
	CALL(evd_create, DAT_EVD_CREATE(h, 0, h, 0, NULL));
	CALL(evd_query, DAT_EVD_QUERY(h, 0, NULL));
	CALL(evd_modify_cno, DAT_EVD_MODIFY_CNO(h, h));
	CALL(evd_enable, DAT_EVD_ENABLE(h));
	CALL(evd_disable, DAT_EVD_DISABLE(h));
	CALL(evd_wait, DAT_EVD_WAIT(h, 0, 0, NULL, NULL));
	CALL(evd_resize, DAT_EVD_RESIZE(h, 0));
	CALL(evd_post_se, DAT_EVD_POST_SE(h, NULL));
	CALL(evd_dequeue, DAT_EVD_DEQUEUE(h, NULL));
	CALL(evd_free, DAT_EVD_FREE(h));
	CALL(psp_create, DAT_PSP_CREATE(h, 0, h, 0, NULL));
	CALL(psp_query, DAT_PSP_QUERY(h, 0, NULL));
	CALL(psp_free, DAT_PSP_FREE(h));
	CALL(rsp_create, DAT_RSP_CREATE(h, 0, h, h, NULL));
	CALL(rsp_query, DAT_RSP_QUERY(h, 0, NULL));
	CALL(rsp_free, DAT_RSP_FREE(h));
	CALL(psp_create_any, DAT_PSP_CREATE_ANY(h, NULL, h, 0, NULL));
	CALL(evd_set_unwaitable, DAT_EVD_SET_UNWAITABLE(h));
	CALL(evd_clear_unwaitable, DAT_EVD_CLEAR_UNWAITABLE(h));
}

TEST_F(redirection, memory)
{
	DAT_REGION_DESCRIPTION region = { .for_va = NULL };
	DAT_RMR_COOKIE cookie = { .as_64 = 0 };
	DAT_HANDLE h = self->handle;

	CALL(lmr_create, DAT_LMR_CREATE(h, 0, region, 0, h, 0, NULL, NULL, NULL, NULL, NULL));
	CALL(lmr_query, DAT_LMR_QUERY(h, 0, NULL));
	CALL(lmr_free, DAT_LMR_FREE(h));
	CALL(rmr_create, DAT_RMR_CREATE(h, NULL));
	CALL(rmr_query, DAT_RMR_QUERY(h, 0, NULL));
	CALL(rmr_bind, DAT_RMR_BIND(h, NULL, 0, h, cookie, 0, NULL));
	CALL(rmr_free, DAT_RMR_FREE(h));
	CALL(pz_create, DAT_PZ_CREATE(h, NULL));
	CALL(pz_query, DAT_PZ_QUERY(h, 0, NULL));
	CALL(pz_free, DAT_PZ_FREE(h));
	CALL(lmr_sync_rdma_read, DAT_LMR_SYNC_RDMA_READ(h, NULL, 0));
	CALL(lmr_sync_rdma_write, DAT_LMR_SYNC_RDMA_WRITE(h, NULL, 0));
}

TEST_F(redirection, endpoints)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_HANDLE h = self->handle;

	CALL(ep_create, DAT_EP_CREATE(h, h, h, h, h, NULL, NULL));
	CALL(ep_query, DAT_EP_QUERY(h, 0, NULL));
	CALL(ep_modify, DAT_EP_MODIFY(h, 0, NULL));
	CALL(ep_connect, DAT_EP_CONNECT(h, NULL, 0, 0, 0, NULL, 0, 0));
	CALL(ep_dup_connect, DAT_EP_DUP_CONNECT(h, h, 0, 0, NULL, 0));
	CALL(ep_disconnect, DAT_EP_DISCONNECT(h, 0));
	CALL(ep_post_send, DAT_EP_POST_SEND(h, 0, NULL, cookie, 0));
	CALL(ep_post_recv, DAT_EP_POST_RECV(h, 0, NULL, cookie, 0));
	CALL(ep_post_rdma_read, DAT_EP_POST_RDMA_READ(h, 0, NULL, cookie, NULL, 0));
	CALL(ep_post_rdma_write, DAT_EP_POST_RDMA_WRITE(h, 0, NULL, cookie, NULL, 0));
	CALL(ep_get_status, DAT_EP_GET_STATUS(h, NULL, NULL, NULL));
	CALL(ep_free, DAT_EP_FREE(h));
	CALL(ep_reset, DAT_EP_RESET(h));
	CALL(ep_create_with_srq, DAT_EP_CREATE_WITH_SRQ(h, h, h, h, h, h, NULL, NULL));
	CALL(ep_recv_query, DAT_EP_RECV_QUERY(h, NULL, NULL));
	CALL(ep_set_watermark, DAT_EP_SET_WATERMARK(h, 0, 0));
	CALL(srq_create, DAT_SRQ_CREATE(h, h, NULL, NULL));
	CALL(srq_free, DAT_SRQ_FREE(h));
	CALL(srq_post_recv, DAT_SRQ_POST_RECV(h, 0, NULL, cookie));
	CALL(srq_query, DAT_SRQ_QUERY(h, 0, NULL));
	CALL(srq_resize, DAT_SRQ_RESIZE(h, 0));
	CALL(srq_set_lw, DAT_SRQ_SET_LW(h, 0));
}

struct fake_ep {
	DAT_PROVIDER	*provider;
	DAT_COUNT	num_segments;
	DAT_LMR_TRIPLET	*iov;
	DAT_UINT64	cookie;
	DAT_UINT64	target;
};

static DAT_RETURN fake_write(DAT_EP_HANDLE handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			     const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	struct fake_ep *ep = handle;

	ep->num_segments = num_segments;
	ep->iov = iov;
	ep->cookie = cookie.as_64;
	ep->target = remote->target_address;
	return DAT_CLASS_ERROR | flags;
}

TEST(arguments_arrive)
{
	DAT_PROVIDER provider = { .ep_post_rdma_write_func = fake_write };
	struct fake_ep ep = { .provider = &provider };
	DAT_DTO_COOKIE cookie = { .as_64 = 0x1122334455667788 };
	DAT_RMR_TRIPLET remote = { .target_address = 0x99aabbccddeeff00 };
	DAT_LMR_TRIPLET iov[3] = { { .pad = 0 } };
	DAT_EP_HANDLE handle = &ep;

	EXPECT_EQ(DAT_CLASS_ERROR | DAT_COMPLETION_SUPPRESS_FLAG,
		  DAT_EP_POST_RDMA_WRITE(handle, 3, iov, cookie, &remote,
					 DAT_COMPLETION_SUPPRESS_FLAG));
	EXPECT_EQ(3, ep.num_segments);
	EXPECT_EQ(&iov[0], ep.iov);
	EXPECT_EQ(0x1122334455667788, ep.cookie);
	EXPECT_EQ(0x99aabbccddeeff00, ep.target);
}

/* Return codes of libdat contain DAT_CLASS_ERROR.  Constants such as DAT_INVALID_HANDLE do not. */
/* Covers: SH 69 */
TEST(errors_have_the_class)
{
	DAT_CONTEXT context;
	DAT_EVENT event;

	EXPECT_EQ(DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE1,
		  dat_get_consumer_context(DAT_HANDLE_NULL, &context));
	EXPECT_EQ(DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_EP,
		  dat_ep_reset(DAT_HANDLE_NULL));
	/* The special values are not valid handles. */
	EXPECT_EQ(DAT_INVALID_HANDLE, DAT_GET_TYPE(dat_evd_dequeue(DAT_EVD_ASYNC_EXISTS, &event)));
	EXPECT_EQ(DAT_INVALID_HANDLE, DAT_GET_TYPE(dat_evd_dequeue(DAT_EVD_OUT_OF_SCOPE, &event)));
}

static int strerror_is(DAT_RETURN value, const char *want_major, const char *want_minor)
{
	const char *major = "", *minor = "";

	if (dat_strerror(value, &major, &minor) == DAT_SUCCESS &&
	    !strcmp(major, want_major) && !strcmp(minor, want_minor))
		return 1;
	printf("# %#x is \"%s\" \"%s\" instead of \"%s\" \"%s\"\n", value, major, minor,
	       want_major, want_minor);
	return 0;
}

/* Covers: dat_strerror */
TEST(strerror_types)
{
	size_t i;

	for (i = 0; i < COUNT(types); i++) {
		EXPECT_TRUE(strerror_is(types[i].want, types[i].name, ""));
		EXPECT_TRUE(strerror_is(DAT_CLASS_ERROR | types[i].want, types[i].name, ""));
	}
	EXPECT_TRUE(strerror_is(DAT_CLASS_WARNING, "DAT_SUCCESS", ""));
}

/* Covers: dat_strerror */
TEST(strerror_subtypes)
{
	size_t i;

	for (i = 1; i < COUNT(subtypes); i++)
		EXPECT_TRUE(strerror_is(DAT_CLASS_ERROR | DAT_INVALID_STATE | subtypes[i].want,
					"DAT_INVALID_STATE", subtypes[i].name));
}

/* Covers: dat_strerror INVALID_PARAMETER|ARG1|ARG2|ARG3 */
TEST(strerror_refuses)
{
	const DAT_RETURN bad_code = DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG1;
	const char *major = "untouched", *minor = "untouched";
	DAT_RETURN type, sub, ret;

	/* The types are consecutive numbers, except DAT_NOT_IMPLEMENTED, which is larger. */
	for (type = COUNT(types) - 1; type <= DAT_TYPE_MASK >> 16; type++)
		if (type << 16 != DAT_NOT_IMPLEMENTED)
			ASSERT_EQ(bad_code, dat_strerror(type << 16, &major, &minor));
	for (sub = COUNT(subtypes); sub <= DAT_SUBTYPE_MASK; sub++)
		ASSERT_EQ(bad_code, dat_strerror(DAT_ABORT | sub, &major, &minor));
	EXPECT_EQ(bad_code, dat_strerror(0xffffffff, &major, &minor));
	EXPECT_STREQ("untouched", major);
	EXPECT_STREQ("untouched", minor);
	ret = dat_strerror(DAT_QUEUE_EMPTY, NULL, &minor);
	EXPECT_EQ(DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG2, ret);
	ret = dat_strerror(DAT_QUEUE_EMPTY, &major, NULL);
	EXPECT_EQ(DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG3, ret);
	EXPECT_STREQ("untouched", major);
	EXPECT_STREQ("untouched", minor);
}

/* Names of functions that have no slot in DAT_PROVIDER. */
static const char *const other_names[] = {
	"dat_ia_openv", "dat_provider_fini", "dat_provider_init", "dat_registry_add_provider",
	"dat_registry_list_providers", "dat_registry_remove_provider", "dat_strerror",
};

#define NAME(name, slot)	"dat_" #name,
static const char *const slot_names[] = { SLOTS(NAME) };

static int name_known(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT(slot_names); i++)
		if (!strcmp(name, slot_names[i]))
			return 1;
	for (i = 0; i < COUNT(other_names); i++)
		if (!strcmp(name, other_names[i]))
			return 1;
	return 0;
}

/* Open dat_names.txt in the directory of this program.  The file lists each name once, in order. */
static FILE *names_open(void)
{
	char path[PATH_MAX] = "", file[PATH_MAX + 16];

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		return NULL;
	snprintf(file, sizeof(file), "%s/dat_names.txt", dirname(path));
	return fopen(file, "r");
}

TEST(names)
{
	char line[64], last[64] = "";
	FILE *file = names_open();
	int n = 0;

	if (!file)
		SKIP(return, "dat_names.txt is not beside the program: copy it there");
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line == '#')
			continue;
		n++;
		EXPECT_TRUE(name_known(line))
			TH_LOG("%s is no name of DAT 1.2", line);
		EXPECT_LT(strcmp(last, line), 0);
		strcpy(last, line);
	}
	fclose(file);
	EXPECT_EQ(COUNT(slot_names) + COUNT(other_names), n);
	EXPECT_EQ(75, n);
}

/* Symbols that are internal to libdat must not be visible. */
TEST(private_symbols_are_hidden)
{
	EXPECT_EQ(NULL, dlsym(RTLD_DEFAULT, "dat_err_from_errno"));
	EXPECT_EQ(NULL, dlsym(RTLD_DEFAULT, "du_ioctl"));
	EXPECT_EQ(NULL, dlsym(RTLD_DEFAULT, "udat_obj_new"));
	EXPECT_NE(NULL, dlsym(RTLD_DEFAULT, "dat_strerror"));
}

TEST_HARNESS_MAIN
