/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* DAT types that are common to user and kernel.  Programs include <dat/udat.h> instead. */
#ifndef DAT_H
#define DAT_H

#include "udat_config.h"
#include "dat_platform_specific.h"
#include "dat_error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Names, handles, scalars ---- */

#define DAT_NAME_MAX_LENGTH	256	/* bytes with the NUL */

typedef char	*DAT_NAME_PTR;

typedef struct dat_named_attr {
	const char	*name;
	const char	*value;
} DAT_NAMED_ATTR;

typedef enum dat_boolean {
	DAT_FALSE	= 0,
	DAT_TRUE	= 1
} DAT_BOOLEAN;

/* Value of 8 bytes that the consumer sets, and that DAT returns unchanged. */
typedef union dat_context {
	DAT_PVOID	as_ptr;
	DAT_UINT64	as_64;
	DAT_UVERYLONG	as_index;
} DAT_CONTEXT;

typedef DAT_CONTEXT	DAT_DTO_COOKIE;
typedef DAT_CONTEXT	DAT_RMR_COOKIE;

typedef DAT_UINT32	DAT_TIMEOUT;	/* microseconds */

#define DAT_TIMEOUT_INFINITE	((DAT_TIMEOUT)~0)

/* All handles have the same C type.  The library, not the compiler, detects a wrong handle type. */
typedef DAT_PVOID	DAT_HANDLE;
typedef DAT_HANDLE	DAT_CR_HANDLE;
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

typedef DAT_SOCK_ADDR	*DAT_IA_ADDRESS_PTR;	/* sockaddr_in or sockaddr_in6 */
typedef DAT_UINT64	DAT_CONN_QUAL;		/* connection qualifier */
typedef DAT_UINT64	DAT_PORT_QUAL;

typedef DAT_UINT32	DAT_LMR_CONTEXT;	/* key of memory in this process */
typedef DAT_UINT32	DAT_RMR_CONTEXT;	/* key of memory for the peer */
typedef DAT_UINT64	DAT_VLEN;		/* bytes */
typedef DAT_UINT64	DAT_VADDR;

/* ---- Flags ---- */

typedef enum dat_completion_flags {
	DAT_COMPLETION_DEFAULT_FLAG		= 0x00,
	/* an operation that succeeds has no event */
	DAT_COMPLETION_SUPPRESS_FLAG		= 0x01,
	/*
	 * for a send: the receive at the peer is a notification event; for the receives of an EP:
	 * a receive is a notification event only if the sender set this flag
	 */
	DAT_COMPLETION_SOLICITED_WAIT_FLAG	= 0x02,
	/* the event of a successful operation wakes no waiter */
	DAT_COMPLETION_UNSIGNALLED_FLAG		= 0x04,
	/* the operation starts when all earlier RDMA reads have completed */
	DAT_COMPLETION_BARRIER_FENCE_FLAG	= 0x08,
	/* for an EP: the threshold of dat_evd_wait() determines when a waiter wakes */
	DAT_COMPLETION_EVD_THRESHOLD_FLAG	= 0x10
} DAT_COMPLETION_FLAGS;

typedef enum dat_qos {
	DAT_QOS_BEST_EFFORT	= 0x00,
	DAT_QOS_HIGH_THROUGHPUT	= 0x01,
	DAT_QOS_LOW_LATENCY	= 0x02,
	DAT_QOS_ECONOMY		= 0x04,
	DAT_QOS_PREMIUM		= 0x08
} DAT_QOS;

typedef enum dat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG	= 0x00,
	DAT_CONNECT_MULTIPATH_FLAG	= 0x01
} DAT_CONNECT_FLAGS;

typedef enum dat_close_flags {
	DAT_CLOSE_ABRUPT_FLAG	= 0x00,
	DAT_CLOSE_GRACEFUL_FLAG	= 0x01
} DAT_CLOSE_FLAGS;

#define DAT_CLOSE_DEFAULT	DAT_CLOSE_ABRUPT_FLAG

/* Event streams, which may feed an EVD. */
typedef enum dat_evd_flags {
	DAT_EVD_SOFTWARE_FLAG	= 0x001,
	DAT_EVD_CR_FLAG		= 0x010,
	DAT_EVD_DTO_FLAG	= 0x020,
	DAT_EVD_CONNECTION_FLAG	= 0x040,
	DAT_EVD_RMR_BIND_FLAG	= 0x080,
	DAT_EVD_ASYNC_FLAG	= 0x100,
	DAT_EVD_DEFAULT_FLAG	= 0x1f0		/* all but software */
} DAT_EVD_FLAGS;

/* The creator of the EP for a connection request: the consumer or the provider. */
typedef enum dat_psp_flags {
	DAT_PSP_CONSUMER_FLAG	= 0x00,
	DAT_PSP_PROVIDER_FLAG	= 0x01
} DAT_PSP_FLAGS;

typedef enum dat_mem_priv_flags {
	DAT_MEM_PRIV_NONE_FLAG		= 0x00,
	DAT_MEM_PRIV_LOCAL_READ_FLAG	= 0x01,
	DAT_MEM_PRIV_REMOTE_READ_FLAG	= 0x02,
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG	= 0x10,
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG	= 0x20,
	DAT_MEM_PRIV_ALL_FLAG		= 0x33,
	DAT_MEM_PRIV_RO_DISABLE_FLAG	= 0x100		/* Solaris only */
} DAT_MEM_PRIV_FLAGS;

#define DAT_MEM_PRIV_READ_FLAG \
	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)
#define DAT_MEM_PRIV_WRITE_FLAG \
	(DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/* ---- Memory ---- */

/**
 * struct dat_lmr_triplet - a segment of local memory
 * @lmr_context: context of the LMR that contains the segment
 * @pad: ignored
 * @virtual_address: address of the first byte
 * @segment_length: bytes; if 0, the other fields are ignored
 */
typedef struct dat_lmr_triplet {
	DAT_LMR_CONTEXT	lmr_context;
	DAT_UINT32	pad;
	DAT_VADDR	virtual_address;
	DAT_VLEN	segment_length;
} DAT_LMR_TRIPLET;

/**
 * struct dat_rmr_triplet - a segment of the peer's memory
 * @rmr_context: key that the peer has sent
 * @pad: ignored
 * @target_address: address of the first byte in the peer's memory
 * @segment_length: bytes
 *
 * The fields are in host byte order.  A consumer that sends the structure to another machine must
 * convert the fields to a common byte order.
 */
typedef struct dat_rmr_triplet {
	DAT_RMR_CONTEXT	rmr_context;
	DAT_UINT32	pad;
	DAT_VADDR	target_address;
	DAT_VLEN	segment_length;
} DAT_RMR_TRIPLET;

typedef enum dat_lmr_param_mask {
	DAT_LMR_FIELD_IA_HANDLE			= 0x001,
	DAT_LMR_FIELD_MEM_TYPE			= 0x002,
	DAT_LMR_FIELD_REGION_DESC		= 0x004,
	DAT_LMR_FIELD_LENGTH			= 0x008,
	DAT_LMR_FIELD_PZ_HANDLE			= 0x010,
	DAT_LMR_FIELD_MEM_PRIV			= 0x020,
	DAT_LMR_FIELD_LMR_CONTEXT		= 0x040,
	DAT_LMR_FIELD_RMR_CONTEXT		= 0x080,
	DAT_LMR_FIELD_REGISTERED_SIZE		= 0x100,
	DAT_LMR_FIELD_REGISTERED_ADDRESS	= 0x200,
	DAT_LMR_FIELD_ALL			= 0x3ff
} DAT_LMR_PARAM_MASK;

/* Parameters of an RMR.  While the RMR is not bound, only ia_handle and pz_handle are defined. */
typedef struct dat_rmr_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_PZ_HANDLE		pz_handle;
	DAT_LMR_TRIPLET		lmr_triplet;
	DAT_MEM_PRIV_FLAGS	mem_priv;
	DAT_RMR_CONTEXT		rmr_context;
} DAT_RMR_PARAM;

typedef enum dat_rmr_param_mask {
	DAT_RMR_FIELD_IA_HANDLE		= 0x01,
	DAT_RMR_FIELD_PZ_HANDLE		= 0x02,
	DAT_RMR_FIELD_LMR_TRIPLET	= 0x04,
	DAT_RMR_FIELD_MEM_PRIV		= 0x08,
	DAT_RMR_FIELD_RMR_CONTEXT	= 0x10,
	DAT_RMR_FIELD_ALL		= 0x1f
} DAT_RMR_PARAM_MASK;

typedef struct dat_pz_param {
	DAT_IA_HANDLE	ia_handle;
} DAT_PZ_PARAM;

typedef enum dat_pz_param_mask {
	DAT_PZ_FIELD_IA_HANDLE	= 0x01,
	DAT_PZ_FIELD_ALL	= 0x01
} DAT_PZ_PARAM_MASK;

/* ---- Interface adapters ---- */

/* Time after which the consumer may reuse the array of segments that it has given to a post. */
typedef enum dat_iov_ownership {
	DAT_IOV_CONSUMER	= 0x0,	/* at return */
	DAT_IOV_PROVIDER_NOMOD	= 0x1,	/* at completion, unchanged */
	DAT_IOV_PROVIDER_MOD	= 0x2	/* at completion, contents lost */
} DAT_IOV_OWNERSHIP;

/* Whether a provider supports DAT_PSP_PROVIDER_FLAG. */
typedef enum dat_ep_creator_for_psp {
	DAT_PSP_CREATES_EP_NEVER	= 0,
	DAT_PSP_CREATES_EP_IFASKED	= 1,
	DAT_PSP_CREATES_EP_ALWAYS	= 2
} DAT_EP_CREATOR_FOR_PSP;

/* Names from DAT 1.0 and 1.1 that later versions of DAT have changed. */
#ifndef DAT_NO_OLD_NAMES
#define max_rdma_read_per_ep	max_rdma_read_per_ep_in
#define max_mtu_size		max_message_size
#endif

/**
 * struct dat_ia_attr - properties and limits of an adapter, the same for every IA of the adapter
 * @adapter_name: name under which the adapter was opened
 * @vendor_name: vendor of the device
 * @hardware_version_major: major hardware version of the device
 * @hardware_version_minor: minor hardware version of the device
 * @firmware_version_major: major firmware version of the device
 * @firmware_version_minor: minor firmware version of the device
 * @ia_address_ptr: address of the port; NULL if the port has no address
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
 * @num_transport_attr: number of entries of @transport_attr
 * @transport_attr: attributes of the transport, valid until the IA is closed
 * @num_vendor_attr: number of entries of @vendor_attr
 * @vendor_attr: attributes of the vendor, valid until the IA is closed
 */
typedef struct dat_ia_attr {
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
	DAT_VLEN		max_lmr_block_size;
	DAT_VADDR		max_lmr_virtual_address;
	DAT_COUNT		max_pzs;
	DAT_VLEN		max_message_size;
	DAT_VLEN		max_rdma_size;
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
	DAT_COUNT		num_transport_attr;
	DAT_NAMED_ATTR		*transport_attr;
	DAT_COUNT		num_vendor_attr;
	DAT_NAMED_ATTR		*vendor_attr;
} DAT_IA_ATTR;

/* Mask of the fields of DAT_IA_ATTR: bit n selects field n. */
typedef DAT_UINT64	DAT_IA_ATTR_MASK;

#define DAT_IA_FIELD_IA_ADAPTER_NAME			UINT64_C(0x000000001)
#define DAT_IA_FIELD_IA_VENDOR_NAME			UINT64_C(0x000000002)
#define DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION		UINT64_C(0x000000004)
#define DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION		UINT64_C(0x000000008)
#define DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION		UINT64_C(0x000000010)
#define DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION		UINT64_C(0x000000020)
#define DAT_IA_FIELD_IA_ADDRESS_PTR			UINT64_C(0x000000040)
#define DAT_IA_FIELD_IA_MAX_EPS				UINT64_C(0x000000080)
#define DAT_IA_FIELD_IA_MAX_DTO_PER_EP			UINT64_C(0x000000100)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN		UINT64_C(0x000000200)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT	UINT64_C(0x000000400)
#define DAT_IA_FIELD_IA_MAX_EVDS			UINT64_C(0x000000800)
#define DAT_IA_FIELD_IA_MAX_EVD_QLEN			UINT64_C(0x000001000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO	UINT64_C(0x000002000)
#define DAT_IA_FIELD_IA_MAX_LMRS			UINT64_C(0x000004000)
#define DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE		UINT64_C(0x000008000)
#define DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS		UINT64_C(0x000010000)
#define DAT_IA_FIELD_IA_MAX_PZS				UINT64_C(0x000020000)
#define DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE		UINT64_C(0x000040000)
#define DAT_IA_FIELD_IA_MAX_RDMA_SIZE			UINT64_C(0x000080000)
#define DAT_IA_FIELD_IA_MAX_RMRS			UINT64_C(0x000100000)
#define DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS		UINT64_C(0x000200000)
#define DAT_IA_FIELD_IA_MAX_SRQS			UINT64_C(0x000400000)
#define DAT_IA_FIELD_IA_MAX_EP_PER_SRQ			UINT64_C(0x000800000)
#define DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ		UINT64_C(0x001000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ	UINT64_C(0x002000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE	UINT64_C(0x004000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_IN		UINT64_C(0x008000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT		UINT64_C(0x010000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED \
							UINT64_C(0x020000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED \
							UINT64_C(0x040000000)
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR		UINT64_C(0x080000000)
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR			UINT64_C(0x100000000)
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR			UINT64_C(0x200000000)
#define DAT_IA_FIELD_IA_VENDOR_ATTR			UINT64_C(0x400000000)
#define DAT_IA_FIELD_ALL				UINT64_C(0x7ffffffff)
#define DAT_IA_FIELD_NONE				UINT64_C(0x0)

#define DAT_IA_ALL			DAT_IA_FIELD_ALL
#define DAT_IA_FIELD_IA_MAX_MTU_SIZE	DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE
#define DAT_IA_FIELD_IA_MAX_DTO_PER_OP	DAT_IA_FIELD_IA_MAX_DTO_PER_EP

/* Entry of the list of adapters that can be opened: IA name, version and thread safety. */
typedef struct dat_provider_info {
	char		ia_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32	dapl_version_major;
	DAT_UINT32	dapl_version_minor;
	DAT_BOOLEAN	is_thread_safe;
} DAT_PROVIDER_INFO;

/* udat.h defines these structures. */
typedef struct dat_provider_attr	DAT_PROVIDER_ATTR;
typedef struct dat_evd_param		DAT_EVD_PARAM;
typedef struct dat_lmr_param		DAT_LMR_PARAM;

/* ---- Endpoints ---- */

typedef enum dat_service_type {
	DAT_SERVICE_TYPE_RC	= 0	/* reliable connection */
} DAT_SERVICE_TYPE;

/**
 * struct dat_ep_attr - attributes of an EP
 * @service_type: DAT_SERVICE_TYPE_RC
 * @max_message_size: maximum bytes of a send or receive
 * @max_rdma_size: maximum bytes of an RDMA operation
 * @qos: quality of service of the EP's connections
 * @recv_completion_flags: 0, or UNSIGNALLED, SOLICITED_WAIT or EVD_THRESHOLD
 * @request_completion_flags: 0, or UNSIGNALLED or EVD_THRESHOLD
 * @max_recv_dtos: maximum number of outstanding receives.  With an SRQ, the value is ignored, and
 *	dat_ep_query() returns the length of the SRQ, because the EP may hold all buffers of the SRQ
 * @max_request_dtos: maximum number of outstanding requests, including binds
 * @max_recv_iov: maximum number of segments of a receive
 * @max_request_iov: maximum number of segments of a request
 * @max_rdma_read_in: maximum number of the peer's RDMA reads in progress
 * @max_rdma_read_out: maximum number of the EP's own RDMA reads in progress
 * @srq_soft_hw: initial soft high watermark, or DAT_HW_DEFAULT
 * @max_rdma_read_iov: maximum number of segments of an RDMA read
 * @max_rdma_write_iov: maximum number of segments of an RDMA write
 * @ep_transport_specific_count: number of entries of @ep_transport_specific
 * @ep_transport_specific: attributes of the transport, or NULL
 * @ep_provider_specific_count: number of entries of @ep_provider_specific
 * @ep_provider_specific: attributes of the provider, or NULL
 */
typedef struct dat_ep_attr {
	DAT_SERVICE_TYPE	service_type;
	DAT_VLEN		max_message_size;
	DAT_VLEN		max_rdma_size;
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

/*
 * States of an EP.  An UNCONFIGURED state is like the state whose name is the same apart from
 * UNCONFIGURED, but the EP lacks a PZ, an EVD or an attribute.
 */
typedef enum dat_ep_state {
	DAT_EP_STATE_UNCONNECTED			= 0,
	DAT_EP_STATE_UNCONFIGURED_UNCONNECTED		= 1,
	DAT_EP_STATE_RESERVED				= 2,	/* held by an RSP */
	DAT_EP_STATE_UNCONFIGURED_RESERVED		= 3,
	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING		= 4,	/* RSP has a request */
	DAT_EP_STATE_UNCONFIGURED_PASSIVE		= 5,
	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING		= 6,	/* dat_ep_connect() was called */
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING	= 7,	/* made by a PSP */
	DAT_EP_STATE_UNCONFIGURED_TENTATIVE		= 8,
	DAT_EP_STATE_CONNECTED				= 9,
	DAT_EP_STATE_DISCONNECT_PENDING			= 10,	/* requests outstanding */
	DAT_EP_STATE_DISCONNECTED			= 11,
	DAT_EP_STATE_COMPLETION_PENDING			= 12	/* dat_cr_accept() was called */
} DAT_EP_STATE;

#define DAT_EP_STATE_ERROR	DAT_EP_STATE_DISCONNECTED

typedef struct dat_ep_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_EP_STATE		ep_state;
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

typedef DAT_UINT64	DAT_EP_PARAM_MASK;

#define DAT_EP_FIELD_IA_HANDLE				UINT64_C(0x00000001)
#define DAT_EP_FIELD_EP_STATE				UINT64_C(0x00000002)
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR		UINT64_C(0x00000004)
#define DAT_EP_FIELD_LOCAL_PORT_QUAL			UINT64_C(0x00000008)
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR		UINT64_C(0x00000010)
#define DAT_EP_FIELD_REMOTE_PORT_QUAL			UINT64_C(0x00000020)
#define DAT_EP_FIELD_PZ_HANDLE				UINT64_C(0x00000040)
#define DAT_EP_FIELD_RECV_EVD_HANDLE			UINT64_C(0x00000080)
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE			UINT64_C(0x00000100)
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE			UINT64_C(0x00000200)
#define DAT_EP_FIELD_SRQ_HANDLE				UINT64_C(0x00000400)
/* Fields of DAT_EP_PARAM.ep_attr.  The bit 0x800 is unused. */
#define DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE		UINT64_C(0x00001000)
#define DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE		UINT64_C(0x00002000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE		UINT64_C(0x00004000)
#define DAT_EP_FIELD_EP_ATTR_QOS			UINT64_C(0x00008000)
#define DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS	UINT64_C(0x00010000)
#define DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS	UINT64_C(0x00020000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS		UINT64_C(0x00040000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS		UINT64_C(0x00080000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV		UINT64_C(0x00100000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV		UINT64_C(0x00200000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN		UINT64_C(0x00400000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT		UINT64_C(0x00800000)
#define DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW		UINT64_C(0x01000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV		UINT64_C(0x02000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV		UINT64_C(0x04000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR		UINT64_C(0x08000000)
#define DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR	UINT64_C(0x10000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR		UINT64_C(0x20000000)
#define DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR	UINT64_C(0x40000000)
#define DAT_EP_FIELD_EP_ATTR_ALL			UINT64_C(0x7ffff000)
#define DAT_EP_FIELD_ALL				UINT64_C(0x7ffff7ff)

/* ---- Shared receive queues ---- */

#define DAT_WATERMARK_INFINITE	((DAT_COUNT)~0)		/* -1: never */
#define DAT_HW_DEFAULT		DAT_WATERMARK_INFINITE
#define DAT_SRQ_LW_DEFAULT	0x0
#define DAT_VALUE_UNKNOWN	(((DAT_COUNT)~0) - 1)	/* -2: the provider can't tell */

typedef enum dat_srq_state {
	DAT_SRQ_STATE_OPERATIONAL	= 0,
	DAT_SRQ_STATE_ERROR		= 1
} DAT_SRQ_STATE;

/**
 * struct dat_srq_attr - attributes of an SRQ
 * @max_recv_dtos: largest number of outstanding buffers
 * @max_recv_iov: largest number of segments of a buffer
 * @low_watermark: DAT_SRQ_LW_DEFAULT at creation
 */
typedef struct dat_srq_attr {
	DAT_COUNT	max_recv_dtos;
	DAT_COUNT	max_recv_iov;
	DAT_COUNT	low_watermark;
} DAT_SRQ_ATTR;

/**
 * struct dat_srq_param - parameters of an SRQ
 * @ia_handle: parent
 * @srq_state: state of the SRQ
 * @pz_handle: protection zone
 * @max_recv_dtos: maximum number of outstanding buffers
 * @max_recv_iov: maximum number of segments of a buffer
 * @low_watermark: low watermark
 * @available_dto_count: number of buffers that no message has taken, or DAT_VALUE_UNKNOWN
 * @outstanding_dto_count: number of buffers whose completions were not dequeued, or
 *	DAT_VALUE_UNKNOWN
 */
typedef struct dat_srq_param {
	DAT_IA_HANDLE	ia_handle;
	DAT_SRQ_STATE	srq_state;
	DAT_PZ_HANDLE	pz_handle;
	DAT_COUNT	max_recv_dtos;
	DAT_COUNT	max_recv_iov;
	DAT_COUNT	low_watermark;
	DAT_COUNT	available_dto_count;
	DAT_COUNT	outstanding_dto_count;
} DAT_SRQ_PARAM;

typedef enum dat_srq_param_mask {
	DAT_SRQ_FIELD_IA_HANDLE			= 0x001,
	DAT_SRQ_FIELD_SRQ_STATE			= 0x002,
	DAT_SRQ_FIELD_PZ_HANDLE			= 0x004,
	DAT_SRQ_FIELD_MAX_RECV_DTO		= 0x008,
	DAT_SRQ_FIELD_MAX_RECV_IOV		= 0x010,
	DAT_SRQ_FIELD_LOW_WATERMARK		= 0x020,
	DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT	= 0x040,
	DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT	= 0x080,
	DAT_SRQ_FIELD_ALL			= 0x0ff
} DAT_SRQ_PARAM_MASK;

/* ---- Service points and connection requests ---- */

typedef struct dat_psp_param {
	DAT_IA_HANDLE	ia_handle;
	DAT_CONN_QUAL	conn_qual;
	DAT_EVD_HANDLE	evd_handle;
	DAT_PSP_FLAGS	psp_flags;
} DAT_PSP_PARAM;

typedef enum dat_psp_param_mask {
	DAT_PSP_FIELD_IA_HANDLE		= 0x01,
	DAT_PSP_FIELD_CONN_QUAL		= 0x02,
	DAT_PSP_FIELD_EVD_HANDLE	= 0x04,
	DAT_PSP_FIELD_PSP_FLAGS		= 0x08,
	DAT_PSP_FIELD_ALL		= 0x0f
} DAT_PSP_PARAM_MASK;

typedef struct dat_rsp_param {
	DAT_IA_HANDLE	ia_handle;
	DAT_CONN_QUAL	conn_qual;
	DAT_EVD_HANDLE	evd_handle;
	DAT_EP_HANDLE	ep_handle;
} DAT_RSP_PARAM;

typedef enum dat_rsp_param_mask {
	DAT_RSP_FIELD_IA_HANDLE		= 0x01,
	DAT_RSP_FIELD_CONN_QUAL		= 0x02,
	DAT_RSP_FIELD_EVD_HANDLE	= 0x04,
	DAT_RSP_FIELD_EP_HANDLE		= 0x08,
	DAT_RSP_FIELD_ALL		= 0x0f
} DAT_RSP_PARAM_MASK;

/**
 * struct dat_cr_param - parameters of a connection request
 * @remote_ia_address_ptr: address of the peer
 * @remote_port_qual: port of the peer
 * @private_data_size: bytes of @private_data, including padding by the transport
 * @private_data: private data of the peer, in memory of the provider; valid until the CR is
 *	accepted, rejected or handed off
 * @local_ep_handle: EP with which the CR must be accepted, or DAT_HANDLE_NULL if any EP is allowed
 */
typedef struct dat_cr_param {
	DAT_IA_ADDRESS_PTR	remote_ia_address_ptr;
	DAT_PORT_QUAL		remote_port_qual;
	DAT_COUNT		private_data_size;
	DAT_PVOID		private_data;
	DAT_EP_HANDLE		local_ep_handle;
} DAT_CR_PARAM;

typedef enum dat_cr_param_mask {
	DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR	= 0x01,
	DAT_CR_FIELD_REMOTE_PORT_QUAL		= 0x02,
	DAT_CR_FIELD_PRIVATE_DATA_SIZE		= 0x04,
	DAT_CR_FIELD_PRIVATE_DATA		= 0x08,
	DAT_CR_FIELD_LOCAL_EP_HANDLE		= 0x10,
	DAT_CR_FIELD_ALL			= 0x1f
} DAT_CR_PARAM_MASK;

/* ---- Events ---- */

typedef enum dat_dto_completion_status {
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
	DAT_RMR_OPERATION_FAILED	= 11
} DAT_DTO_COMPLETION_STATUS;

#define DAT_DTO_LENGTH_ERROR	DAT_DTO_ERR_LOCAL_LENGTH
#define DAT_DTO_FAILURE		DAT_DTO_ERR_FLUSHED

#define DAT_RMR_BIND_SUCCESS	DAT_DTO_SUCCESS
#define DAT_RMR_BIND_FAILURE	DAT_DTO_ERR_FLUSHED
#define DAT_RMR_BIND_COMPLETION_STATUS	DAT_DTO_COMPLETION_STATUS

/**
 * struct dat_dto_completion_event_data - data of the completion event of an operation
 * @ep_handle: EP of the operation; for a receive from an SRQ, the EP that received the message
 * @user_cookie: cookie of the post
 * @status: result of the operation
 * @transfered_length: number of bytes; defined only if @status is DAT_DTO_SUCCESS
 */
typedef struct dat_dto_completion_event_data {
	DAT_EP_HANDLE			ep_handle;
	DAT_DTO_COOKIE			user_cookie;
	DAT_DTO_COMPLETION_STATUS	status;
	DAT_VLEN			transfered_length;
} DAT_DTO_COMPLETION_EVENT_DATA;

typedef struct dat_rmr_bind_completion_event_data {
	DAT_RMR_HANDLE			rmr_handle;
	DAT_RMR_COOKIE			user_cookie;
	DAT_RMR_BIND_COMPLETION_STATUS	status;
} DAT_RMR_BIND_COMPLETION_EVENT_DATA;

typedef union dat_sp_handle {
	DAT_RSP_HANDLE	rsp_handle;
	DAT_PSP_HANDLE	psp_handle;
} DAT_SP_HANDLE;

/**
 * struct dat_cr_arrival_event_data - data of the event that reports a connection request
 * @sp_handle: service point that received the request
 * @local_ia_address_ptr: local address that received the request
 * @conn_qual: connection qualifier that received the request
 * @cr_handle: the connection request, which the consumer must accept, reject or hand off
 */
typedef struct dat_cr_arrival_event_data {
	DAT_SP_HANDLE		sp_handle;
	DAT_IA_ADDRESS_PTR	local_ia_address_ptr;
	DAT_CONN_QUAL		conn_qual;
	DAT_CR_HANDLE		cr_handle;
} DAT_CR_ARRIVAL_EVENT_DATA;

/**
 * struct dat_connection_event_data - data of the event that a connection began, ended or failed
 * @ep_handle: EP of the connection
 * @private_data_size: bytes of @private_data, including padding by the transport
 * @private_data: private data of the peer, in memory of the provider; valid until the EP is
 *	freed or reset
 */
typedef struct dat_connection_event_data {
	DAT_EP_HANDLE	ep_handle;
	DAT_COUNT	private_data_size;
	DAT_PVOID	private_data;
} DAT_CONNECTION_EVENT_DATA;

/**
 * struct dat_asynch_error_event_data - data of an async event, which concerns no single operation
 * @dat_handle: object that has the error: an IA, EP, EVD, SRQ, LMR, RMR or PZ
 * @reason: DAT_*_ASYNC_ERROR_REASON for the kind of object
 */
typedef struct dat_asynch_error_event_data {
	DAT_HANDLE	dat_handle;
	DAT_COUNT	reason;
} DAT_ASYNCH_ERROR_EVENT_DATA;

typedef enum ia_async_error_reason {
	DAT_IA_CATASTROPHIC_ERROR	= 0,
	DAT_IA_OTHER_ERROR		= 1
} DAT_IA_ASYNC_ERROR_REASON;

typedef enum ep_async_error_reason {
	DAT_EP_TRANSFER_TO_ERROR		= 0,
	DAT_EP_OTHER_ERROR			= 1,
	DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT	= 2
} DAT_EP_ASYNC_ERROR_REASON;

typedef enum ep_evd_error_reason {
	DAT_EVD_OVERFLOW_ERROR	= 0,
	DAT_EVD_OTHER_ERROR	= 1
} DAT_EVD_ASYNC_ERROR_REASON;

typedef enum ep_srq_error_reason {
	DAT_SRQ_TRANSFER_TO_ERROR	= 0,
	DAT_SRQ_OTHER_ERROR		= 1,
	DAT_SRQ_LOW_WATERMARK_EVENT	= 2
} DAT_SRQ_ASYNC_ERROR_REASON;

typedef enum lmr_async_error_reason {
	DAT_LMR_OTHER_ERROR	= 0
} DAT_LMR_ASYNC_ERROR_REASON;

typedef enum rmr_async_error_reason {
	DAT_RMR_OTHER_ERROR	= 0
} DAT_RMR_ASYNC_ERROR_REASON;

typedef enum pz_async_error_reason {
	DAT_PZ_OTHER_ERROR	= 0
} DAT_PZ_ASYNC_ERROR_REASON;

typedef struct dat_software_event_data {
	DAT_PVOID	pointer;	/* as posted */
} DAT_SOFTWARE_EVENT_DATA;

/* Event numbers.  Bits 12 and up are the number of the event's stream. */
typedef enum dat_event_number {
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

	DAT_SOFTWARE_EVENT				= 0x10001
} DAT_EVENT_NUMBER;

typedef union dat_event_data {
	DAT_DTO_COMPLETION_EVENT_DATA		dto_completion_event_data;
	DAT_RMR_BIND_COMPLETION_EVENT_DATA	rmr_completion_event_data;
	DAT_CR_ARRIVAL_EVENT_DATA		cr_arrival_event_data;
	DAT_CONNECTION_EVENT_DATA		connect_event_data;
	DAT_ASYNCH_ERROR_EVENT_DATA		asynch_error_event_data;
	DAT_SOFTWARE_EVENT_DATA			software_event_data;
} DAT_EVENT_DATA;

/**
 * struct dat_event - an event that dat_evd_wait() or dat_evd_dequeue() returns
 * @event_number: kind of the event
 * @evd_handle: EVD that delivered the event
 * @event_data: data of the event; the stream of @event_number selects the member
 */
typedef struct dat_event {
	DAT_EVENT_NUMBER	event_number;
	DAT_EVD_HANDLE		evd_handle;
	DAT_EVENT_DATA		event_data;
} DAT_EVENT;

#ifdef __cplusplus
}
#endif

#endif /* DAT_H */
