/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause) */
/* Copyright (c) The dat authors */
/*
 * ioctls of /dev/dat.
 *
 * Rules for all calls
 * ===================
 *
 * The argument is a structure, except where an ioctl says otherwise.  Its first field is the size
 * of the structure, as compiled into the caller.  The kernel extends a shorter structure with
 * zeros.  The kernel accepts a longer structure if all bytes after the structure that the kernel
 * knows are zero.  Reserved fields and unknown flag bits must be zero.
 *
 * An id names an object.  An id has at most DAT_ID_BITS bits and is never 0.  The id is valid
 * on the open file that created the object.  A file belongs to the address space that opened
 * the file.  No other address space may use the file, except for DAT_IOC_ABI.  When the address
 * space ends, all objects of the file end.
 *
 *   errno         means
 *   -----------   -------------------------------------------------------------
 *   ENOTTY        unknown ioctl number
 *   E2BIG         bytes of the structure that the kernel does not know are not 0, or the
 *                 structure is larger than 4,096 bytes
 *   EINVAL        size too small; a count or an address is out of range; no IA was
 *                 opened yet
 *   EOPNOTSUPP    the kernel does not know a flag or another value; a reserved field is
 *                 not 0; the adapter does not support a value
 *   ENOENT        no object of the required type has this id; no such adapter
 *   EFAULT        the argument or memory to be registered is not accessible; memory to
 *                 be registered with a write privilege is not writable; before Linux 6.2,
 *                 memory to be registered is a shared mapping that is not writable
 *   ENOMEM        no memory; the call would exceed RLIMIT_MEMLOCK, the limit of the memory
 *                 of queues, or an adapter limit
 *   EPERM         the file belongs to another address space; a qualifier below 1024
 *                 without CAP_NET_BIND_SERVICE; a status page mapped for writing; an
 *                 LMR that lacks a privilege
 *   EXDEV         objects are in different protection zones, but must be in the same one
 *   EBUSY         the object is in use; another thread waits on the EVD or is the
 *                 poller; a CNO or a thread needs notifications, which DAT_IOC_EVD_POLL
 *                 would stop; the file already has an IA
 *   EISCONN       the call is not allowed in the state of the EP or SRQ
 *   EEXIST        the cookie already names other memory
 *   EADDRINUSE    the connection qualifier is in use
 *   EADDRNOTAVAIL no service point has the connection qualifier
 *   ENETUNREACH   the adapter has no address of the needed family, or no route to the
 *                 peer; a wildcard, multicast or foreign loopback address of a peer; over a LOCAL
 *                 adapter: an address that is not of this host; the adapter needs a
 *                 connection to itself to register memory, and cannot make one
 *   EAFNOSUPPORT  address family is neither AF_INET nor AF_INET6
 *   ENOSPC        the event ring is full (software events only); a new ring is too short for
 *                 the content of the old ring; the file has no free queue
 *   EAGAIN        no event is queued, and the call does not sleep
 *   ETIMEDOUT     the deadline has passed
 *   EINTR         a signal handler ran; nothing was consumed
 *   EMFILE        DAT_IOC_FD: the process has too many open files
 *   ENFILE        DAT_IOC_FD: the system has too many open files
 *   ECANCELED     the EVD is unwaitable, or became unwaitable during the wait
 *   ESTALE        the prepared ring was committed, cancelled, or replaced by a newer
 *                 prepared ring
 *   ESHUTDOWN     during a wait or a poll, the EVD or CNO was freed or the IA was closed
 *   ENODEV        the RDMA device is gone, or the IA was closed
 *
 * A call that fails has no effect.
 */
#ifndef _UAPI_RDMA_DAT_IOCTL_H
#define _UAPI_RDMA_DAT_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>
#include <rdma/dat_ring.h>

#define DAT_ABI_VERSION		1
#define DAT_IOC_MAGIC		0xDA
#define DAT_ID_BITS		23	/* of an object's id */
#define DAT_NAME_SIZE		72	/* <ibdev> or <ibdev>:<port>; see also struct dat_ia_open */
/* Bytes of the largest socket address of an RDMA device. */
#define DAT_ADDR_SIZE		64

/**
 * struct dat_span - place of an object's memory in a mapping
 * @offset: mmap() offset of the mapping
 * @size: exact length of the mapping, in bytes
 * @start: offset of the object's memory in the mapping, in bytes; a multiple of 64
 * @rsvd: 0
 *
 * All objects with the same @offset are in the same mapping.  A process maps each mapping once and
 * as a whole.  The mapped pages stay valid after an object was freed.  When all objects of a
 * mapping have been freed, the kernel does not use the mapping's @offset again until it has used
 * millions of other offsets.  So a process may look up a mapping by @offset if it keeps the mapping
 * while any object is in the mapping.
 */
struct dat_span {
	__u64 offset;
	__u64 size;
	__u32 start;
	__u32 rsvd;
};

/* Types of objects. */
enum dat_obj_type {
	DAT_OBJ_NONE	= 0,
	DAT_OBJ_PZ	= 1,
	DAT_OBJ_LMR	= 2,
	DAT_OBJ_EVD	= 3,
	DAT_OBJ_SRQ	= 4,
	DAT_OBJ_EP	= 5,
	DAT_OBJ_PSP	= 6,
	DAT_OBJ_CR	= 7,
	DAT_OBJ_IA	= 8,	/* only in async events */
	DAT_OBJ_CNO	= 9,
	DAT_OBJ_RMR	= 10
};

/* Numbers of the ioctls. */
enum {
	DAT_NR_ABI		= 0,
	DAT_NR_ADAPTER		= 1,
	DAT_NR_IA_OPEN		= 2,
	DAT_NR_IA_QUERY		= 3,
	DAT_NR_FREE		= 4,
	DAT_NR_PZ_CREATE	= 5,
	DAT_NR_LMR_CREATE	= 6,
	DAT_NR_EVD_CREATE	= 7,
	DAT_NR_EVD_WAIT		= 8,
	DAT_NR_EVD_POST		= 9,
	DAT_NR_EVD_SET		= 10,
	DAT_NR_SRQ_CREATE	= 11,
	DAT_NR_EP_CREATE	= 12,
	DAT_NR_EP_CONNECT	= 13,
	DAT_NR_EP_DISCONNECT	= 14,
	DAT_NR_EP_RESET		= 15,
	DAT_NR_EP_QUERY		= 16,
	DAT_NR_PSP_CREATE	= 17,
	DAT_NR_CR_QUERY		= 18,
	DAT_NR_CR_ACCEPT	= 19,
	DAT_NR_CR_REJECT	= 20,
	DAT_NR_KICK		= 21,
	DAT_NR_IA_CLOSE		= 22,
	DAT_NR_CNO_CREATE	= 23,
	DAT_NR_CNO_QUERY	= 24,
	DAT_NR_CNO_WAIT		= 25,
	DAT_NR_EVD_MODIFY_CNO	= 26,
	DAT_NR_EVD_RESIZE	= 27,
	DAT_NR_FD		= 28,
	DAT_NR_SRQ_RESIZE	= 29,
	DAT_NR_SRQ_SET_LW	= 30,
	DAT_NR_EP_MODIFY	= 31,
	DAT_NR_CR_HANDOFF	= 32,
	DAT_NR_RMR_CREATE	= 33,
	DAT_NR_RMR_BIND		= 34,
	DAT_NR_POLLER_SET	= 35,
	DAT_NR_POLLER_RUN	= 36,
	DAT_NR_EVD_POLL		= 37,
	DAT_NR_IA_ADDR		= 38,
	DAT_NR_EVD_LOOK		= 39,
	DAT_NR_EVD_SLEEP	= 40,
	DAT_NR_LMR_STALE	= 41
};

#define DAT_IOC(nr)		_IO(DAT_IOC_MAGIC, DAT_NR_##nr)

/**
 * struct dat_abi - version of the interface
 * @size: size of this structure, in bytes
 * @version: out: DAT_ABI_VERSION
 * @features: out: bits of DAT_FEATURE_*
 * @file: out: random number of this open file, never 0.  A process that remembers the number can
 *	tell later whether its descriptor still refers to this open file, or was closed and is used
 *	again
 *
 * The call also works before DAT_IOC_IA_OPEN, and from every address space.  Version 1 ends with
 * @features.
 */
struct dat_abi {
	__u32 size;
	__u32 version;
	__u64 features;
	__u64 file;
};

#define DAT_IOC_ABI		DAT_IOC(ABI)

/* DAT_IOC_EVD_LOOK and DAT_IOC_EVD_SLEEP exist, and DAT_IOC_KICK can name a queue. */
#define DAT_FEATURE_WORDS	0x1ULL
/*
 * For a caller of DAT_IOC_IA_OPEN that asks for this feature, status.sq.done may lag behind
 * requests with DAT_SQE_SUPPRESS that have completed, until DAT_KICK_REPORT or a later completion.
 */
#define DAT_FEATURE_SILENT	0x2ULL
/* struct dat_ep_create and struct dat_ep_modify have the field @max_inline. */
#define DAT_FEATURE_INLINE	0x4ULL
/*
 * struct dat_cr_reject has the fields @pd_len and @pd.  For a caller of DAT_IOC_IA_OPEN that asks
 * for this feature, DAT_EV_PEER_REJECTED brings the private data of the peer's reject.
 */
#define DAT_FEATURE_REJECT	0x8ULL
/* struct dat_ep_create and struct dat_ep_modify have the field @flags. */
#define DAT_FEATURE_IMMEDIATE	0x10ULL
/* DAT_LMR_WATCHED and DAT_IOC_LMR_STALE exist. */
#define DAT_FEATURE_WATCH	0x20ULL

/**
 * struct dat_adapter - find the next adapter that the caller may open
 * @size: size of this structure, in bytes
 * @port: out: port of the RDMA device
 * @cursor: 0 for the first adapter; then the value that the previous call has written
 * @name: out: IA name, NUL-terminated
 * @active: out: 1 if the port is up
 * @rsvd: 0
 *
 * The call also works before DAT_IOC_IA_OPEN.  ENOENT: no further adapter exists.  A caller must
 * not interpret the value of a cursor.  If an adapter is present during a whole loop over all
 * adapters, the loop returns the adapter exactly once, even if other adapters are added or removed.
 */
struct dat_adapter {
	__u32 size;
	__u32 port;
	__u64 cursor;
	__u8  name[DAT_NAME_SIZE];
	__u32 active;
	__u32 rsvd;
};

#define DAT_IOC_ADAPTER		DAT_IOC(ADAPTER)

/**
 * struct dat_ia_open - bind this file to an adapter; once per file
 * @size: size of this structure, in bytes
 * @flags: 0; reserved for flags of later versions
 * @name: IA name, NUL-terminated; or an IA name, an at sign and the only address that the IA uses,
 *	a link-local address with a percent sign and the interface.  Without an address, the IA
 *	uses all addresses of the port
 * @user_data: value of @owner in async events about the IA
 * @doorbell_offset: out: mmap() offset of the doorbell region
 * @doorbell_size: out: bytes of the doorbell region
 * @features: bits of dat_abi.features that the caller needs or allows
 * @max_queues: minimum number of queues, at most 196,608; 0 means 32,768; out: number of queues.
 *	An EP has two queues.  An SRQ has one queue
 * @rsvd: 0
 *
 * ENOENT: this network namespace has no such adapter.  EOPNOTSUPP: the adapter's driver cannot
 * register user memory for a kernel consumer, or the kernel lacks a feature.  EBUSY: the file
 * already has an IA.
 */
struct dat_ia_open {
	__u32 size;
	__u32 flags;
	__u8  name[DAT_NAME_SIZE];
	__u64 user_data;
	__u64 doorbell_offset;
	__u64 doorbell_size;
	__u64 features;
	__u32 max_queues;
	__u32 rsvd;
};

#define DAT_IOC_IA_OPEN		DAT_IOC(IA_OPEN)

/**
 * struct dat_ia_query - get the limits and the identity of the adapter; all fields but @size are
 * out
 * @size: size of this structure, in bytes
 * @addr_len: number of valid bytes in @addr, 0 if the port has no address
 * @addr: struct sockaddr_in or sockaddr_in6 of the adapter
 * @device: name of the RDMA device
 * @fw: firmware version of the device, as text
 * @vendor_id: IEEE OUI of the device's vendor
 * @vendor_part_id: part number of the device
 * @hw_ver: hardware version of the device
 * @port: port number of the device
 * @max_eps: maximum number of endpoints
 * @max_dto_per_ep: maximum number of requests, and of receives, of an endpoint
 * @max_evd_qlen: maximum number of events of an EVD
 * @max_iov: maximum number of segments of a send or receive
 * @max_iov_read: maximum number of segments of an RDMA read
 * @max_lmrs: maximum number of registrations
 * @max_pzs: maximum number of protection zones
 * @max_srqs: maximum number of shared receive queues; 0 if the adapter has none
 * @max_recv_per_srq: maximum number of buffers of an SRQ
 * @max_rdma_read_in: maximum number of RDMA reads in flight that target an endpoint
 * @max_rdma_read_out: maximum number of RDMA reads in flight that an endpoint originates
 * @max_pd_request: maximum bytes of private data of a connect
 * @max_pd_reply: maximum bytes of private data of an accept
 * @flags: DAT_IA_FLAG_*.  With IWARP, the destination of an RDMA read needs the remote write
 *	privilege.  LOCAL: the adapter reaches this host only, through no RDMA device
 * @max_message_size: maximum bytes of a send or an RDMA operation
 * @max_lmr_size: maximum bytes of a registration.  Memory without remote privileges may be longer
 * @ops: supported operations: bit n is set if the enum dat_op with value n is supported
 * @sqe_flags: supported enum dat_sqe_flags
 * @caps: DAT_IA_CAP_*
 * @max_inline: maximum bytes of inline data of an entry; 0: inline data are not supported
 * @num_comp_vectors: number of completion vectors; the comp_vector of an EVD must be less than this
 *	number
 * @mtu: largest number of bytes of a packet's payload, when the file was bound to the adapter; 0:
 *	unknown, the port was down, or the adapter speaks iWARP
 * @max_pd_reject: maximum bytes of private data of a reject; 0: the kernel lacks
 *	DAT_FEATURE_REJECT
 *
 * Version 1 ends with @num_comp_vectors.
 */
struct dat_ia_query {
	__u32 size;
	__u32 addr_len;
	__u8  addr[DAT_ADDR_SIZE];
	__u8  device[64];
	__u8  fw[32];
	__u32 vendor_id;
	__u32 vendor_part_id;
	__u32 hw_ver;
	__u32 port;
	__u32 max_eps;
	__u32 max_dto_per_ep;
	__u32 max_evd_qlen;
	__u32 max_iov;
	__u32 max_iov_read;
	__u32 max_lmrs;
	__u32 max_pzs;
	__u32 max_srqs;
	__u32 max_recv_per_srq;
	__u32 max_rdma_read_in;
	__u32 max_rdma_read_out;
	__u32 max_pd_request;
	__u32 max_pd_reply;
	__u32 flags;
	__u64 max_message_size;
	__u64 max_lmr_size;
	__u64 ops;
	__u64 sqe_flags;
	__u64 caps;
	__u32 max_inline;
	__u32 num_comp_vectors;
	__u32 mtu;
	__u32 max_pd_reject;
};

#define DAT_IOC_IA_QUERY	DAT_IOC(IA_QUERY)
#define DAT_IA_FLAG_IWARP	0x1
#define DAT_IA_FLAG_LOCAL	0x2

/*
 * @caps of struct dat_ia_query.  RELAXED: the kernel knows DAT_PRIV_RELAXED, and the other two bits
 * name the keys through which the bytes of a peer's write may become visible out of order: the keys
 * of all LMRs (RELAXED_LMR), and the keys of RMRs and of memory of kernel modules (RELAXED_RMR).
 */
#define DAT_IA_CAP_RELAXED	0x1
#define DAT_IA_CAP_RELAXED_LMR	0x2
#define DAT_IA_CAP_RELAXED_RMR	0x4

/**
 * struct dat_ia_addr - get the next address of the adapter
 * @size: size of this structure, in bytes
 * @cursor: in: 0 for the first address, then the value of the last call; out: value for the next
 *	call
 * @addr_len: out: number of valid bytes in @addr
 * @rsvd: 0
 * @addr: out: struct sockaddr_in or sockaddr_in6 with the port 0
 *
 * The IA listens at all these addresses, and connects from the one that the route to the peer
 * prefers.  An address may come several times.  ENOENT: no further address exists.
 */
struct dat_ia_addr {
	__u32 size;
	__u32 cursor;
	__u32 addr_len;
	__u32 rsvd;
	__u8  addr[DAT_ADDR_SIZE];
};

#define DAT_IOC_IA_ADDR		DAT_IOC(IA_ADDR)

/**
 * struct dat_ia_close - destroy every object of the IA at once
 * @size: size of this structure, in bytes
 * @rsvd: 0
 *
 * Closing the file does the same.  This call also works while other threads sleep in
 * DAT_IOC_EVD_WAIT, which then returns ESHUTDOWN.  Every later call on the file
 * fails with ENODEV.  Mappings stay readable until they are unmapped.
 */
struct dat_ia_close {
	__u32 size;
	__u32 rsvd;
};

#define DAT_IOC_IA_CLOSE	DAT_IOC(IA_CLOSE)

/* Reasons of async events about an IA, as in DAT_IA_REASON. */
#define DAT_IA_REASON_CATASTROPHIC	0
#define DAT_IA_REASON_OTHER		1

/**
 * struct dat_free - destroy an object
 * @size: size of this structure, in bytes
 * @type: enum dat_obj_type
 * @id: id of the object
 * @rsvd: 0
 *
 * EBUSY: other objects use the object, or a thread waits on the object.  Freeing a CR rejects the
 * connection request.
 */
struct dat_free {
	__u32 size;
	__u32 type;
	__u32 id;
	__u32 rsvd;
};

#define DAT_IOC_FREE		DAT_IOC(FREE)

/**
 * struct dat_pz_create - create a protection zone
 * @size: size of this structure, in bytes
 * @id: out: id of the new protection zone
 */
struct dat_pz_create {
	__u32 size;
	__u32 id;
};

#define DAT_IOC_PZ_CREATE	DAT_IOC(PZ_CREATE)

/* Memory privileges, as in DAT_MEM_PRIV_FLAGS. */
#define DAT_PRIV_LOCAL_READ	0x01
#define DAT_PRIV_REMOTE_READ	0x02
#define DAT_PRIV_LOCAL_WRITE	0x10
#define DAT_PRIV_REMOTE_WRITE	0x20
/*
 * For an LMR only: the bytes of a write or a receive may become visible in any order.  That allows
 * the device to use relaxed ordering of PCI Express.  A device that does not know the privilege
 * ignores it, and so does a registration by work request.
 */
#define DAT_PRIV_RELAXED	0x200

/*
 * @flags of struct dat_lmr_create.  SHARED: @cookie names memory that processes share.  WATCHED:
 * the process can learn that addresses of the memory have got other pages, see struct
 * dat_lmr_stale.
 */
#define DAT_LMR_SHARED		0x1
#define DAT_LMR_WATCHED		0x2
#define DAT_LMR_COOKIE		40

/**
 * struct dat_lmr_create - register memory of the caller
 * @size: size of this structure, in bytes
 * @pz: id of the protection zone
 * @addr: address of the first byte
 * @length: bytes, at least 1
 * @priv: DAT_PRIV_*
 * @id: out: id of the new LMR
 * @lmr_context: out: value for @lmr in struct dat_sge
 * @rmr_context: out: value that peers use to access the memory; 0 without remote privileges
 * @flags: DAT_LMR_*
 * @rsvd: 0
 * @cookie: with DAT_LMR_SHARED: name of the memory, common to all processes with the same effective
 *	user, device and network namespace; else 0
 *
 * The pages are pinned and charged to RLIMIT_MEMLOCK until the LMR is freed.  Each process that
 * shares the memory registers its own mapping of the memory.  EEXIST: the memory is not a shared
 * mapping of one file, or another process uses the cookie for other memory.
 */
struct dat_lmr_create {
	__u32 size;
	__u32 pz;
	__u64 addr;
	__u64 length;
	__u32 priv;
	__u32 id;
	__u32 lmr_context;
	__u32 rmr_context;
	__u32 flags;
	__u32 rsvd;
	__u8  cookie[DAT_LMR_COOKIE];
};

#define DAT_IOC_LMR_CREATE	DAT_IOC(LMR_CREATE)

/* Largest number of ids that one DAT_IOC_LMR_STALE returns. */
#define DAT_LMR_STALE_IDS	64

/**
 * struct dat_lmr_stale - get the LMRs that have become stale
 * @size: size of this structure, in bytes
 * @count: out: number of valid entries of @ids.  If it is DAT_LMR_STALE_IDS, there may be more
 * @word: out: place of a __u32 that the kernel increments when LMRs become stale; of the same
 *	mapping as status pages, which a process maps for reading only
 * @ids: out: ids of stale LMRs, each of which is returned once; the rest is 0
 *
 * An LMR with DAT_LMR_WATCHED becomes stale when an address of its memory gets another page, or
 * none, in the address space that has registered it: by munmap(), by mmap() over it, by mremap(),
 * by madvise() that discards pages, or because a mapped file was truncated.  The kernel increments
 * the word before such a call returns, so a process that reads the same number as before has no LMR
 * that has become stale meanwhile.  mprotect() makes no LMR stale.  Other changes that leave the
 * pages may do so, and so may a change of any memory of the process during DAT_IOC_LMR_CREATE.
 *
 * A stale LMR goes on to give access to the pages that were pinned, until it is freed.
 *
 * The id of an LMR may be returned before the DAT_IOC_LMR_CREATE that makes it has returned.
 */
struct dat_lmr_stale {
	__u32 size;
	__u32 count;
	struct dat_span word;
	__u32 ids[DAT_LMR_STALE_IDS];
};

#define DAT_IOC_LMR_STALE	DAT_IOC(LMR_STALE)

/**
 * struct dat_rmr_create - create a remote memory region, which is not yet bound
 * @size: size of this structure, in bytes
 * @pz: id of the protection zone
 * @user_data: value of @owner in the RMR's bind events
 * @id: out: id of the new RMR
 * @rsvd: 0
 *
 * ENOMEM: also if the device queues and RMRs of the user would exceed both RLIMIT_MEMLOCK and the
 * parameter queue_memory.  An RMR counts a page.
 */
struct dat_rmr_create {
	__u32 size;
	__u32 pz;
	__u64 user_data;
	__u32 id;
	__u32 rsvd;
};

#define DAT_IOC_RMR_CREATE	DAT_IOC(RMR_CREATE)

/**
 * struct dat_rmr_bind - prepare to bind an RMR to a part of an LMR, or to unbind the RMR
 * @size: size of this structure, in bytes
 * @id: id of the RMR
 * @lmr: id of the LMR, or 0 to unbind
 * @priv: DAT_PRIV_REMOTE_*
 * @addr: address of the first byte
 * @length: bytes; 0 to unbind
 * @rmr_context: out: value that peers use to access the memory
 * @ticket: out: value for @rkey of the DAT_OP_RMR_BIND entry
 *
 * After this call, the process posts a DAT_OP_RMR_BIND entry with the ticket to the send queue of
 * an EP in the same protection zone.  The execution of this bind entry ends the present binding of
 * the RMR and starts the new binding.  The bind entry starts after all earlier entries have
 * completed, and later entries start after the bind entry.  The completion event is
 * DAT_EV_RMR_BIND.  EPERM: the LMR lacks a local privilege that a privilege in @priv requires.
 *
 * If the bind entry fails or is flushed, the RMR has the previous binding or none.  It has none if
 * the device may have executed a part of the bind entry; then both keys are invalid when the event
 * comes that ends the connection.
 *
 * The call pins the pages and charges them to RLIMIT_MEMLOCK.  The pages are unpinned when the
 * binding ends; when the bind entry is flushed, is refused or fails; when the EP whose ring
 * contains the bind entry is freed; or when the RMR is freed.  The kernel may unpin the pages of
 * the previous binding a moment after the event of the bind that has ended it, but not after the
 * next DAT_IOC_RMR_BIND for this RMR.
 *
 * A peer can access the memory once the bind entry has been executed.  Exception: if the range has
 * more pages than the device can register by a send queue entry (max_fast_reg_page_list_len of
 * struct ib_device_attr), or if the device cannot register memory in that way, a peer can access
 * the memory from this call on.  ENOMEM: 64 bindings already wait for their bind entries.
 */
struct dat_rmr_bind {
	__u32 size;
	__u32 id;
	__u32 lmr;
	__u32 priv;
	__u64 addr;
	__u64 length;
	__u32 rmr_context;
	__u32 ticket;
};

#define DAT_IOC_RMR_BIND	DAT_IOC(RMR_BIND)

/**
 * struct dat_evd_create - create an event dispatcher (EVD)
 * @size: size of this structure, in bytes
 * @streams: enum dat_stream bits of the events that the EVD accepts
 * @qlen: minimum length of the event ring; out: length, a power of two
 * @id: out: id of the new EVD
 * @user_data: value of @owner in async events about this EVD
 * @flags: 0
 * @comp_vector: 0; reserved for the completion vector of a CQ of the EVD
 * @submit: out: place of struct dat_evd_head
 * @status: out: place of struct dat_evd_status
 * @ring: out: place of the event ring
 * @eqe_shift: out: log2 of the distance of two events in bytes; struct dat_eqe is at the start of
 *	each event
 * @rsvd: 0
 *
 * The first EVD with DAT_STREAM_ASYNC becomes the IA's async EVD.
 */
struct dat_evd_create {
	__u32 size;
	__u32 streams;
	__u32 qlen;
	__u32 id;
	__u64 user_data;
	__u32 flags;
	__u32 comp_vector;
	struct dat_span submit;
	struct dat_span status;
	struct dat_span ring;
	__u32 eqe_shift;
	__u32 rsvd;
};

#define DAT_IOC_EVD_CREATE	DAT_IOC(EVD_CREATE)

#define DAT_WAIT_FOREVER	(~(__u64)0)

/**
 * struct dat_evd_wait - sleep until enough events are queued
 * @size: size of this structure, in bytes
 * @id: id of the EVD
 * @threshold: number of events to wait for, 1 to qlen
 * @rsvd: 0
 * @deadline_ns: absolute time in ns of CLOCK_MONOTONIC; DAT_WAIT_FOREVER: no deadline; 0: do not
 *	sleep
 *
 * The call consumes no events: the caller reads the ring.  EBUSY: another thread waits on the EVD.
 * Only a notification event wakes a sleeping thread.  When the thread is awake, all queued events
 * count for @threshold.
 */
struct dat_evd_wait {
	__u32 size;
	__u32 id;
	__u32 threshold;
	__u32 rsvd;
	__u64 deadline_ns;
};

#define DAT_IOC_EVD_WAIT	DAT_IOC(EVD_WAIT)

/*
 * DAT_IOC_EVD_WAIT with the threshold 1 and without a deadline.  The argument is the id of the EVD,
 * not an address.  Other bits of the argument are reserved (EOPNOTSUPP).
 */
#define DAT_IOC_EVD_SLEEP	DAT_IOC(EVD_SLEEP)

/* Longest time for which DAT_IOC_EVD_POLL spins, in microseconds. */
#define DAT_MAX_SPIN_US		1000000

/**
 * struct dat_evd_poll - poll the device until an event is queued
 * @size: size of this structure, in bytes
 * @id: id of the EVD
 * @spin_us: longest time in microseconds, at most DAT_MAX_SPIN_US; 0: poll once
 * @rsvd: 0
 *
 * The call takes completions on the caller's CPU, not on the CPU that the device interrupts.  If an
 * event is already in the ring, the call returns without polling the device.
 *
 * While a process polls an EVD, the CQs of the EVD's EPs are not armed.  Their completions then
 * reach the ring only by polls, so the caller should continue to poll.  DAT_IOC_EVD_WAIT and poll()
 * of the EVD's file descriptor arm the CQs again.  A timer also arms the CQs a few ticks after the
 * last poll.
 *
 * If the receives of an EP are SOLICITED_WAIT, a poll with @spin_us 0 takes only unsolicited
 * receives, and all CQs stay armed.
 *
 * EAGAIN: no event is queued, and the time is over or another task needs the CPU.  EBUSY: a CNO or
 * a thread that sleeps on the EVD needs notifications, so the call did not poll.  EINTR: a signal
 * handler ran.
 */
struct dat_evd_poll {
	__u32 size;
	__u32 id;
	__u32 spin_us;
	__u32 rsvd;
};

#define DAT_IOC_EVD_POLL	DAT_IOC(EVD_POLL)

/*
 * DAT_IOC_EVD_POLL with @spin_us 0.  The argument is the id of the EVD, not an address.  Other bits
 * of the argument are reserved (EOPNOTSUPP).
 */
#define DAT_IOC_EVD_LOOK	DAT_IOC(EVD_LOOK)

/**
 * struct dat_evd_post - queue a software event
 * @size: size of this structure, in bytes
 * @id: id of the EVD
 * @cookie: value that the event delivers
 */
struct dat_evd_post {
	__u32 size;
	__u32 id;
	__u64 cookie;
};

#define DAT_IOC_EVD_POST	DAT_IOC(EVD_POST)

/* States of an EVD.  UNWAITABLE: waits on the EVD fail.  DISABLED: events trigger no CNO. */
#define DAT_EVD_UNWAITABLE	0x1
#define DAT_EVD_DISABLED	0x2

/**
 * struct dat_evd_set - change the state of an EVD
 * @size: size of this structure, in bytes
 * @id: id of the EVD
 * @flags: new values of the DAT_EVD_UNWAITABLE and DAT_EVD_DISABLED bits
 * @mask: bits to change; the other bits of @flags are ignored
 *
 * If events are queued, clearing DAT_EVD_DISABLED triggers the CNO.
 */
struct dat_evd_set {
	__u32 size;
	__u32 id;
	__u32 flags;
	__u32 mask;
};

#define DAT_IOC_EVD_SET		DAT_IOC(EVD_SET)

/**
 * struct dat_evd_modify_cno - attach an EVD to a CNO
 * @size: size of this structure, in bytes
 * @id: id of the EVD
 * @cno: id of the CNO, or 0 for none
 * @rsvd: 0
 */
struct dat_evd_modify_cno {
	__u32 size;
	__u32 id;
	__u32 cno;
	__u32 rsvd;
};

#define DAT_IOC_EVD_MODIFY_CNO	DAT_IOC(EVD_MODIFY_CNO)

/*
 * Steps of the replacement of a ring.  AT_ONCE replaces the ring, and the caller maps the new ring
 * afterwards.  If that mapping fails, the caller has no ring.  PREPARE and COMMIT avoid this:
 *
 * 1. PREPARE allocates the new ring, and returns the ring's place and a generation, which is not 0.
 * 2. The caller maps the new ring.
 * 3. COMMIT, with the same parameters (else EINVAL) and the generation, replaces the old ring.
 *
 * The prepared ring stays if COMMIT fails.  The kernel drops the prepared ring on CANCEL with the
 * generation, on the next PREPARE by any thread, and when the object is freed.  COMMIT and CANCEL
 * then fail with ESTALE for the dropped generation.
 */
enum dat_ring_step {
	DAT_RING_AT_ONCE	= 0,
	DAT_RING_PREPARE	= 1,
	DAT_RING_COMMIT		= 2,
	DAT_RING_CANCEL		= 3
};

/**
 * struct dat_evd_resize - change the length of an EVD's ring
 * @size: size of this structure, in bytes
 * @id: id of the EVD
 * @qlen: minimum length of the new ring; out: length, a power of two
 * @step: enum dat_ring_step
 * @ring: out: place of the new ring
 * @generation: PREPARE: out; COMMIT, CANCEL: generation of the prepared ring; AT_ONCE: 0
 * @rsvd: 0
 *
 * Queued events keep their indices.  ENOSPC: the new ring is too short for the queued events.
 *
 * After AT_ONCE or COMMIT, the old ring gets no new events, and the kernel may use the old ring's
 * memory for another object.  So, after this call has begun, the process must not consume an event
 * before it uses the new ring.  struct dat_evd_head and struct dat_evd_status do not move.
 */
struct dat_evd_resize {
	__u32 size;
	__u32 id;
	__u32 qlen;
	__u32 step;
	struct dat_span ring;
	__u32 generation;
	__u32 rsvd;
};

#define DAT_IOC_EVD_RESIZE	DAT_IOC(EVD_RESIZE)

/**
 * struct dat_cno_create - create a consumer notification object (CNO)
 * @size: size of this structure, in bytes
 * @id: out: id of the new CNO
 *
 * A notification event triggers the CNO of its EVD, unless the EVD is disabled or a thread waits on
 * the EVD itself.  A CNO stays triggered until a wait consumes the trigger.
 */
struct dat_cno_create {
	__u32 size;
	__u32 id;
};

#define DAT_IOC_CNO_CREATE	DAT_IOC(CNO_CREATE)

/**
 * struct dat_cno_query - get the state of a CNO
 * @size: size of this structure, in bytes
 * @id: id of the CNO
 * @generation: out: number of triggers so far
 * @triggered: out: 1 if a wait would not sleep
 */
struct dat_cno_query {
	__u32 size;
	__u32 id;
	__u32 generation;
	__u32 triggered;
};

#define DAT_IOC_CNO_QUERY	DAT_IOC(CNO_QUERY)

#define DAT_CNO_WATCH		0x1

/**
 * struct dat_cno_wait - sleep until a CNO is triggered
 * @size: size of this structure, in bytes
 * @id: id of the CNO
 * @flags: DAT_CNO_WATCH: wait for a trigger after @generation and consume nothing
 * @generation: with DAT_CNO_WATCH, number of triggers that the caller knows; out: number of
 *	triggers so far
 * @deadline_ns: absolute time in ns of CLOCK_MONOTONIC; DAT_WAIT_FOREVER: no deadline; 0: do not
 *	sleep
 * @evd: out: user_data of an EVD that triggered the CNO, or 0 if the EVD has been freed
 *
 * A trigger wakes all waiters with DAT_CNO_WATCH, and one waiter without DAT_CNO_WATCH.
 */
struct dat_cno_wait {
	__u32 size;
	__u32 id;
	__u32 flags;
	__u32 generation;
	__u64 deadline_ns;
	__u64 evd;
};

#define DAT_IOC_CNO_WAIT	DAT_IOC(CNO_WAIT)

/**
 * struct dat_fd - get a file descriptor for poll(), select() and epoll
 * @size: size of this structure, in bytes
 * @type: DAT_OBJ_EVD or DAT_OBJ_CNO
 * @id: id of the object
 * @fd: out: file descriptor, which is closed on exec; read() and write() fail
 *
 * For an EVD, POLLIN means that events are queued.  Only a notification event wakes a sleeping
 * poll().  For a CNO, POLLIN means that the CNO is triggered; DAT_IOC_CNO_WAIT with a deadline of 0
 * consumes the trigger.  POLLHUP means that the object was freed.
 */
struct dat_fd {
	__u32 size;
	__u32 type;
	__u32 id;
	__s32 fd;
};

#define DAT_IOC_FD		DAT_IOC(FD)

/**
 * struct dat_srq_create - create a shared receive queue (SRQ)
 * @size: size of this structure, in bytes
 * @pz: id of the protection zone
 * @max_recv: maximum number of outstanding buffers; out: number of entries of the ring
 * @max_iov: maximum number of segments of a buffer
 * @user_data: value of @owner in async events about this SRQ
 * @id: out: id of the new SRQ
 * @queue: out: number of the queue, which selects the dirty bit in the doorbell region
 * @submit: out: place of struct dat_submit and the RQEs
 * @status: out: place of struct dat_status
 * @rq_offset: out: offset of the RQEs from struct dat_submit
 * @rq_shift: out: log2 of the distance of two RQEs in bytes
 */
struct dat_srq_create {
	__u32 size;
	__u32 pz;
	__u32 max_recv;
	__u32 max_iov;
	__u64 user_data;
	__u32 id;
	__u32 queue;
	struct dat_span submit;
	struct dat_span status;
	__u32 rq_offset;
	__u32 rq_shift;
};

#define DAT_IOC_SRQ_CREATE	DAT_IOC(SRQ_CREATE)

/**
 * struct dat_srq_resize - change the length of an SRQ's ring
 * @size: size of this structure, in bytes
 * @id: id of the SRQ
 * @max_recv: maximum number of outstanding buffers; out: number of entries of the new ring
 * @rq_offset: out: offset of the RQEs from the new struct dat_submit
 * @submit: out: place of the new struct dat_submit and the RQEs
 * @step: enum dat_ring_step
 * @generation: see struct dat_evd_resize
 *
 * Indices continue, and the kernel copies entries that it has not yet taken.  After AT_ONCE or
 * COMMIT, the kernel no longer reads the old ring and may use its memory for another object.  So no
 * thread may post before the process uses the new ring.  struct dat_status does not move.  ENOSPC:
 * the new ring is too short for the outstanding buffers.
 */
struct dat_srq_resize {
	__u32 size;
	__u32 id;
	__u32 max_recv;
	__u32 rq_offset;
	struct dat_span submit;
	__u32 step;
	__u32 generation;
};

#define DAT_IOC_SRQ_RESIZE	DAT_IOC(SRQ_RESIZE)

/* Reasons of async events about an SRQ, as in DAT_SRQ_REASON. */
#define DAT_SRQ_REASON_ERROR		0
#define DAT_SRQ_REASON_OTHER		1
#define DAT_SRQ_REASON_LOW_WATERMARK	2

/**
 * struct dat_srq_set_lw - request an async event when an SRQ has few buffers
 * @size: size of this structure, in bytes
 * @id: id of the SRQ
 * @low_watermark: number of buffers below which the kernel sends one event; 0: no event
 * @rsvd: 0
 *
 * The event is DAT_EV_ASYNC_INTERNAL with DAT_SRQ_REASON_LOW_WATERMARK.  If the SRQ already has
 * fewer buffers, the kernel sends the event at once.
 */
struct dat_srq_set_lw {
	__u32 size;
	__u32 id;
	__u32 low_watermark;
	__u32 rsvd;
};

#define DAT_IOC_SRQ_SET_LW	DAT_IOC(SRQ_SET_LW)

/*
 * @flags of struct dat_ep_create: the EP sends and receives immediate data.  EOPNOTSUPP: the
 * adapter has none, so sqe_flags of struct dat_ia_query lacks DAT_SQE_IMM.  Without the flag, an
 * entry with immediate data is malformed, and a message with immediate data breaks the connection.
 */
#define DAT_EP_FLAG_IMMEDIATE	0x1

/**
 * struct dat_ep_create - create an endpoint (EP)
 * @size: size of this structure, in bytes
 * @pz: id of the protection zone
 * @recv_evd: id of the EVD for receives, or 0
 * @request_evd: id of the EVD for requests, or 0
 * @connect_evd: id of the EVD for connection events, or 0
 * @srq: id of the SRQ, or 0
 * @max_recv: maximum number of outstanding receives, 0 with an SRQ; out: number of entries of the
 *	ring, a power of two, which may be more than max_dto_per_ep
 * @max_request: maximum number of outstanding requests; out: number of entries of the ring, a power
 *	of two, which may be more than max_dto_per_ep
 * @max_recv_iov: maximum number of segments of a receive
 * @max_request_iov: maximum number of segments of a request
 * @read_in: maximum number of RDMA reads in flight that target the EP
 * @read_out: maximum number of RDMA reads in flight that the EP originates
 * @recv_flags: DAT_COMPLETION_FLAGS of receives; with SOLICITED_WAIT, an unsolicited receive
 *	reaches the ring of @recv_evd only in DAT_IOC_EVD_POLL or DAT_IOC_EVD_WAIT
 * @request_flags: DAT_COMPLETION_FLAGS of requests
 * @user_data: value of @owner in this EP's events
 * @id: out: id of the new EP
 * @sq_queue: out: number of the send queue, which selects the dirty bit in the doorbell region
 * @rq_queue: out: number of the receive queue, which selects the dirty bit in the doorbell region
 * @rsvd: 0
 * @submit: out: place of struct dat_submit, SQEs and RQEs
 * @status: out: place of struct dat_status
 * @sq_offset: out: offset of the SQEs from struct dat_submit
 * @sq_shift: out: log2 of the distance of two SQEs in bytes
 * @rq_offset: out: offset of the RQEs from struct dat_submit
 * @rq_shift: out: log2 of the distance of two RQEs in bytes
 * @max_inline: maximum number of bytes of inline data of a request, or 0; out: number that the
 *	kernel allows, which is not larger, and 0 if the adapter has no inline data
 * @flags: 0 or DAT_EP_FLAG_IMMEDIATE
 *
 * Version 1 ends with @rq_shift.
 */
struct dat_ep_create {
	__u32 size;
	__u32 pz;
	__u32 recv_evd;
	__u32 request_evd;
	__u32 connect_evd;
	__u32 srq;
	__u32 max_recv;
	__u32 max_request;
	__u32 max_recv_iov;
	__u32 max_request_iov;
	__u32 read_in;
	__u32 read_out;
	__u32 recv_flags;
	__u32 request_flags;
	__u64 user_data;
	__u32 id;
	__u32 sq_queue;
	__u32 rq_queue;
	__u32 rsvd;
	struct dat_span submit;
	struct dat_span status;
	__u32 sq_offset;
	__u32 sq_shift;
	__u32 rq_offset;
	__u32 rq_shift;
	__u32 max_inline;
	__u32 flags;
};

#define DAT_IOC_EP_CREATE	DAT_IOC(EP_CREATE)

/**
 * struct dat_ep_modify - change the parameters of an unconnected EP
 * @size: size of this structure, in bytes
 * @id: id of the EP
 * @pz: as in struct dat_ep_create
 * @recv_evd: as in struct dat_ep_create
 * @request_evd: as in struct dat_ep_create
 * @connect_evd: as in struct dat_ep_create
 * @max_recv: as in struct dat_ep_create
 * @max_request: as in struct dat_ep_create
 * @max_recv_iov: as in struct dat_ep_create
 * @max_request_iov: as in struct dat_ep_create
 * @read_in: as in struct dat_ep_create
 * @read_out: as in struct dat_ep_create
 * @recv_flags: as in struct dat_ep_create
 * @request_flags: as in struct dat_ep_create
 * @submit: out: place of the new struct dat_submit, SQEs and RQEs
 * @sq_offset: out: offset of the SQEs from the new struct dat_submit
 * @sq_shift: out: log2 of the distance of two SQEs in bytes
 * @rq_offset: out: offset of the RQEs from the new struct dat_submit
 * @rq_shift: out: log2 of the distance of two RQEs in bytes
 * @step: enum dat_ring_step
 * @generation: see struct dat_evd_resize
 * @max_inline: as in struct dat_ep_create
 * @flags: as in struct dat_ep_create
 *
 * The caller must set all parameters, including those that do not change.  The SRQ cannot be
 * changed.  Posted entries keep their indices.  A posted entry is malformed if it has more segments
 * or inline data than the new parameters allow, or immediate data that they do not allow.
 * Version 1 ends with @generation.
 *
 * After AT_ONCE or COMMIT, the kernel no longer reads the old ring and may use its memory for
 * another object.  So no thread may post before the process uses the new ring.  struct dat_status
 * does not move.  EISCONN: the EP is not UNCONNECTED.  ENOSPC: the new ring is too short for the
 * posted entries.
 */
struct dat_ep_modify {
	__u32 size;
	__u32 id;
	__u32 pz;
	__u32 recv_evd;
	__u32 request_evd;
	__u32 connect_evd;
	__u32 max_recv;
	__u32 max_request;
	__u32 max_recv_iov;
	__u32 max_request_iov;
	__u32 read_in;
	__u32 read_out;
	__u32 recv_flags;
	__u32 request_flags;
	struct dat_span submit;
	__u32 sq_offset;
	__u32 sq_shift;
	__u32 rq_offset;
	__u32 rq_shift;
	__u32 step;
	__u32 generation;
	__u32 max_inline;
	__u32 flags;
};

#define DAT_IOC_EP_MODIFY	DAT_IOC(EP_MODIFY)

/*
 * Quality of service of a connection.  DAT_QOS has the same numbers.  0 is best effort.  The
 * comment of each class has the DSCP class and the IP type of service.
 */
enum dat_qos_class {
	DAT_QOS_CLASS_HIGH_THROUGHPUT	= 0x1,	/* AF11: 0x28 */
	DAT_QOS_CLASS_LOW_LATENCY	= 0x2,	/* AF21: 0x48 */
	DAT_QOS_CLASS_ECONOMY		= 0x4,	/* CS1: 0x20 */
	DAT_QOS_CLASS_PREMIUM		= 0x8	/* EF: 0xb8 */
};

/**
 * struct dat_ep_connect - connect to a peer
 * @size: size of this structure, in bytes
 * @id: id of the EP
 * @conn_qual: qualifier of the peer's service point, not 0; see struct dat_psp_create
 * @timeout_us: microseconds until DAT_EV_TIMED_OUT; DAT_WAIT_FOREVER: timeout of the transport
 * @addr_len: size of the socket address in @addr, in bytes
 * @pd_len: bytes of private data
 * @qos: 0 or one value of enum dat_qos_class; EINVAL: several classes
 * @rsvd: 0
 * @addr: struct sockaddr_in or sockaddr_in6 of the peer; the kernel ignores the port
 * @pd: private data
 *
 * After success, the EP gets exactly one connection event.
 */
struct dat_ep_connect {
	__u32 size;
	__u32 id;
	__u64 conn_qual;
	__u64 timeout_us;
	__u32 addr_len;
	__u32 pd_len;
	__u32 qos;
	__u32 rsvd;
	__u8  addr[DAT_ADDR_SIZE];
	__u8  pd[DAT_MAX_PRIVATE_DATA];
};

#define DAT_IOC_EP_CONNECT	DAT_IOC(EP_CONNECT)

#define DAT_DISCONNECT_GRACEFUL	0x1

/**
 * struct dat_ep_disconnect - end a connection, or cancel its establishment
 * @size: size of this structure, in bytes
 * @id: id of the EP
 * @flags: DAT_DISCONNECT_GRACEFUL: let outstanding requests finish first
 * @rsvd: 0
 */
struct dat_ep_disconnect {
	__u32 size;
	__u32 id;
	__u32 flags;
	__u32 rsvd;
};

#define DAT_IOC_EP_DISCONNECT	DAT_IOC(EP_DISCONNECT)

/**
 * struct dat_ep_reset - make a disconnected EP unconnected, so that it can connect again
 * @size: size of this structure, in bytes
 * @id: id of the EP
 *
 * EISCONN: the EP is connected, or cannot be reset, because the process has written a tail that is
 * out of range.
 */
struct dat_ep_reset {
	__u32 size;
	__u32 id;
};

#define DAT_IOC_EP_RESET	DAT_IOC(EP_RESET)

/**
 * struct dat_ep_query - get the state of an EP; all fields but @size and @id are out
 * @size: size of this structure, in bytes
 * @id: id of the EP
 * @state: DAT_EP_STATE
 * @local_port: local port of the connection, 0 without a connection
 * @remote_port: remote port of the connection, 0 without a connection
 * @read_in: negotiated maximum number of RDMA reads in flight that target the EP
 * @read_out: negotiated maximum number of RDMA reads in flight that the EP originates
 * @local_len: number of valid bytes in @local, 0 without a connection
 * @remote_len: number of valid bytes in @remote, 0 without a connection
 * @rsvd: 0
 * @local: struct sockaddr_in or sockaddr_in6 of the local adapter
 * @remote: struct sockaddr_in or sockaddr_in6 of the peer
 */
struct dat_ep_query {
	__u32 size;
	__u32 id;
	__u32 state;
	__u32 local_port;
	__u32 remote_port;
	__u32 read_in;
	__u32 read_out;
	__u32 local_len;
	__u32 remote_len;
	__u32 rsvd;
	__u8  local[DAT_ADDR_SIZE];
	__u8  remote[DAT_ADDR_SIZE];
};

#define DAT_IOC_EP_QUERY	DAT_IOC(EP_QUERY)

/* @flags of struct dat_psp_create: accept one connection request, and refuse later requests. */
#define DAT_PSP_ONE_SHOT	0x1

/**
 * struct dat_psp_create - create a service point (PSP), which listens for connection requests
 * @size: size of this structure, in bytes
 * @evd: id of the EVD for connection requests
 * @conn_qual: connection qualifier; 0: the kernel chooses a port; out: qualifier in use
 * @user_data: value of @owner in the connection request events
 * @id: out: id of the new service point
 * @flags: 0 or DAT_PSP_ONE_SHOT
 *
 * A qualifier up to 65535 is the number of an rdma_cm port.  A larger qualifier is mapped to port
 * conn_qual % 32001 + 33534.  EADDRINUSE: the port is in use.
 *
 * If the EVD is full when a connection request arrives, the kernel refuses the request.
 */
struct dat_psp_create {
	__u32 size;
	__u32 evd;
	__u64 conn_qual;
	__u64 user_data;
	__u32 id;
	__u32 flags;
};

#define DAT_IOC_PSP_CREATE	DAT_IOC(PSP_CREATE)

/**
 * struct dat_cr_query - get a request's addresses and data; all fields but @size and @id are out
 * @size: size of this structure, in bytes
 * @id: id of the CR
 * @remote_len: number of valid bytes in @remote
 * @remote_port: port of the requester
 * @pd_len: number of valid bytes in @pd
 * @rsvd: 0
 * @remote: struct sockaddr_in or sockaddr_in6 of the requester
 * @pd: private data
 * @local_len: number of valid bytes in @local
 * @local_port: port that has received the request
 * @local: address of the adapter that has received the request
 *
 * Version 1 ends with @pd.
 */
struct dat_cr_query {
	__u32 size;
	__u32 id;
	__u32 remote_len;
	__u32 remote_port;
	__u32 pd_len;
	__u32 rsvd;
	__u8  remote[DAT_ADDR_SIZE];
	__u8  pd[DAT_MAX_PRIVATE_DATA];
	__u32 local_len;
	__u32 local_port;
	__u8  local[DAT_ADDR_SIZE];
};

#define DAT_IOC_CR_QUERY	DAT_IOC(CR_QUERY)

/**
 * struct dat_cr_accept - accept a connection request; success frees the CR
 * @size: size of this structure, in bytes
 * @id: id of the CR
 * @ep: id of an unconnected EP
 * @pd_len: bytes of private data
 * @pd: private data
 *
 * After success, the EP gets either DAT_EV_ESTABLISHED or DAT_EV_ACCEPT_ERROR.  The module
 * parameter "accept_timeout" limits the time until this event.
 */
struct dat_cr_accept {
	__u32 size;
	__u32 id;
	__u32 ep;
	__u32 pd_len;
	__u8  pd[DAT_MAX_PRIVATE_DATA];
};

#define DAT_IOC_CR_ACCEPT	DAT_IOC(CR_ACCEPT)

/**
 * struct dat_cr_reject - refuse a connection request; frees the CR
 * @size: size of this structure, in bytes
 * @id: id of the CR
 * @pd_len: bytes of private data
 * @rsvd: 0
 * @pd: private data
 *
 * Version 1 ends with @id.
 */
struct dat_cr_reject {
	__u32 size;
	__u32 id;
	__u32 pd_len;
	__u32 rsvd;
	__u8  pd[DAT_MAX_PRIVATE_DATA];
};

#define DAT_IOC_CR_REJECT	DAT_IOC(CR_REJECT)

/**
 * struct dat_cr_handoff - pass a connection request to another service point; frees the CR
 * @size: size of this structure, in bytes
 * @id: id of the CR
 * @conn_qual: connection qualifier of a service point on the same adapter; any process may own the
 *	service point
 *
 * The target service point gets an ordinary connection request with the same peer and private data.
 * EADDRNOTAVAIL: the service point does not exist, takes no more requests, or has
 * DAT_PSP_ONE_SHOT and already had a request; or its EVD is full.  The CR stays valid then.
 */
struct dat_cr_handoff {
	__u32 size;
	__u32 id;
	__u64 conn_qual;
};

#define DAT_IOC_CR_HANDOFF	DAT_IOC(CR_HANDOFF)

/* Longest time for which a poller may stay awake without work, in microseconds. */
#define DAT_MAX_POLLER_IDLE_US	1000000

/**
 * struct dat_poller_set - allow or forbid a poller, and set its idle time
 * @size: size of this structure, in bytes
 * @idle_us: microseconds without a post after which the poller sleeps until the next kick,
 *	at most DAT_MAX_POLLER_IDLE_US; 0, the initial value, forbids a poller
 *
 * The call also affects a running poller: 0 ends the poller.  After DAT_IOC_RSM_OPEN, a file of
 * /dev/rsm also accepts this call and DAT_IOC_POLLER_RUN, for the rings of the file's imports.
 */
struct dat_poller_set {
	__u32 size;
	__u32 idle_us;
};

#define DAT_IOC_POLLER_SET	DAT_IOC(POLLER_SET)

/**
 * struct dat_poller_run - make the calling thread the poller
 * @size: size of this structure, in bytes
 * @rsvd: 0
 *
 * The call returns 0 when DAT_IOC_POLLER_SET ends the poller, or at once if no poller is allowed.
 * EINTR: a signal arrived.  EBUSY: another thread is the poller.
 *
 * While the poller is awake, the kernel does not set NEED_KICK, except for receives over iWARP.  A
 * NEED_KICK that the kernel has set earlier may remain.  When the poller sleeps or has returned,
 * the kernel sets NEED_KICK again.
 *
 * The call keeps the file open: close(2) in another thread does not end the call and does not close
 * the adapter.  So end the call by DAT_IOC_POLLER_SET or DAT_IOC_IA_CLOSE before the close.
 */
struct dat_poller_run {
	__u32 size;
	__u32 rsvd;
};

#define DAT_IOC_POLLER_RUN	DAT_IOC(POLLER_RUN)

/*
 * Makes the kernel take the entries of a queue.  The argument is not an address but the number of
 * the queue plus 1, if the kernel has DAT_FEATURE_WORDS; or 0, which names every queue whose dirty
 * bit is set.  The dirty bit of a queue that is named does not matter and stays as it is.  A number
 * that no queue has is ignored.
 *
 * DAT_KICK_REPORT, beside the number of a send queue: the kernel also finds out which requests have
 * completed, see DAT_FEATURE_SILENT.  The call does not wait for the answer of the device.
 *
 * Bits from 19 up are reserved, and so is DAT_KICK_REPORT alone or beside the number of another
 * queue (EOPNOTSUPP).
 */
#define DAT_KICK_REPORT		0x40000U
#define DAT_IOC_KICK		DAT_IOC(KICK)

/* The layout is the same for 32-bit and 64-bit processes: every size is a multiple of 8. */
DAT_RING_ASSERT(sizeof(struct dat_span) == 24);
DAT_RING_OFFSET(dat_span, offset, 0);
DAT_RING_OFFSET(dat_span, size, 8);
DAT_RING_OFFSET(dat_span, start, 16);
DAT_RING_OFFSET(dat_span, rsvd, 20);
DAT_RING_ASSERT(sizeof(struct dat_abi) == 24);
DAT_RING_OFFSET(dat_abi, size, 0);
DAT_RING_OFFSET(dat_abi, version, 4);
DAT_RING_OFFSET(dat_abi, features, 8);
DAT_RING_OFFSET(dat_abi, file, 16);
DAT_RING_ASSERT(sizeof(struct dat_adapter) == 96);
DAT_RING_OFFSET(dat_adapter, size, 0);
DAT_RING_OFFSET(dat_adapter, port, 4);
DAT_RING_OFFSET(dat_adapter, cursor, 8);
DAT_RING_OFFSET(dat_adapter, name, 16);
DAT_RING_OFFSET(dat_adapter, active, 88);
DAT_RING_OFFSET(dat_adapter, rsvd, 92);
DAT_RING_ASSERT(sizeof(struct dat_ia_open) == 120);
DAT_RING_OFFSET(dat_ia_open, size, 0);
DAT_RING_OFFSET(dat_ia_open, flags, 4);
DAT_RING_OFFSET(dat_ia_open, name, 8);
DAT_RING_OFFSET(dat_ia_open, user_data, 80);
DAT_RING_OFFSET(dat_ia_open, doorbell_offset, 88);
DAT_RING_OFFSET(dat_ia_open, doorbell_size, 96);
DAT_RING_OFFSET(dat_ia_open, features, 104);
DAT_RING_OFFSET(dat_ia_open, max_queues, 112);
DAT_RING_OFFSET(dat_ia_open, rsvd, 116);
DAT_RING_ASSERT(sizeof(struct dat_ia_query) == 296);
DAT_RING_OFFSET(dat_ia_query, size, 0);
DAT_RING_OFFSET(dat_ia_query, addr_len, 4);
DAT_RING_OFFSET(dat_ia_query, addr, 8);
DAT_RING_OFFSET(dat_ia_query, device, 72);
DAT_RING_OFFSET(dat_ia_query, fw, 136);
DAT_RING_OFFSET(dat_ia_query, vendor_id, 168);
DAT_RING_OFFSET(dat_ia_query, vendor_part_id, 172);
DAT_RING_OFFSET(dat_ia_query, hw_ver, 176);
DAT_RING_OFFSET(dat_ia_query, port, 180);
DAT_RING_OFFSET(dat_ia_query, max_eps, 184);
DAT_RING_OFFSET(dat_ia_query, max_dto_per_ep, 188);
DAT_RING_OFFSET(dat_ia_query, max_evd_qlen, 192);
DAT_RING_OFFSET(dat_ia_query, max_iov, 196);
DAT_RING_OFFSET(dat_ia_query, max_iov_read, 200);
DAT_RING_OFFSET(dat_ia_query, max_lmrs, 204);
DAT_RING_OFFSET(dat_ia_query, max_pzs, 208);
DAT_RING_OFFSET(dat_ia_query, max_srqs, 212);
DAT_RING_OFFSET(dat_ia_query, max_recv_per_srq, 216);
DAT_RING_OFFSET(dat_ia_query, max_rdma_read_in, 220);
DAT_RING_OFFSET(dat_ia_query, max_rdma_read_out, 224);
DAT_RING_OFFSET(dat_ia_query, max_pd_request, 228);
DAT_RING_OFFSET(dat_ia_query, max_pd_reply, 232);
DAT_RING_OFFSET(dat_ia_query, flags, 236);
DAT_RING_OFFSET(dat_ia_query, max_message_size, 240);
DAT_RING_OFFSET(dat_ia_query, max_lmr_size, 248);
DAT_RING_OFFSET(dat_ia_query, ops, 256);
DAT_RING_OFFSET(dat_ia_query, sqe_flags, 264);
DAT_RING_OFFSET(dat_ia_query, caps, 272);
DAT_RING_OFFSET(dat_ia_query, max_inline, 280);
DAT_RING_OFFSET(dat_ia_query, num_comp_vectors, 284);
DAT_RING_OFFSET(dat_ia_query, mtu, 288);
DAT_RING_OFFSET(dat_ia_query, max_pd_reject, 292);
DAT_RING_ASSERT(sizeof(struct dat_ia_addr) == 80);
DAT_RING_OFFSET(dat_ia_addr, size, 0);
DAT_RING_OFFSET(dat_ia_addr, cursor, 4);
DAT_RING_OFFSET(dat_ia_addr, addr_len, 8);
DAT_RING_OFFSET(dat_ia_addr, rsvd, 12);
DAT_RING_OFFSET(dat_ia_addr, addr, 16);
DAT_RING_ASSERT(sizeof(struct dat_ia_close) == 8);
DAT_RING_OFFSET(dat_ia_close, size, 0);
DAT_RING_OFFSET(dat_ia_close, rsvd, 4);
DAT_RING_ASSERT(sizeof(struct dat_free) == 16);
DAT_RING_OFFSET(dat_free, size, 0);
DAT_RING_OFFSET(dat_free, type, 4);
DAT_RING_OFFSET(dat_free, id, 8);
DAT_RING_OFFSET(dat_free, rsvd, 12);
DAT_RING_ASSERT(sizeof(struct dat_pz_create) == 8);
DAT_RING_OFFSET(dat_pz_create, size, 0);
DAT_RING_OFFSET(dat_pz_create, id, 4);
DAT_RING_ASSERT(sizeof(struct dat_lmr_create) == 88);
DAT_RING_OFFSET(dat_lmr_create, size, 0);
DAT_RING_OFFSET(dat_lmr_create, pz, 4);
DAT_RING_OFFSET(dat_lmr_create, addr, 8);
DAT_RING_OFFSET(dat_lmr_create, length, 16);
DAT_RING_OFFSET(dat_lmr_create, priv, 24);
DAT_RING_OFFSET(dat_lmr_create, id, 28);
DAT_RING_OFFSET(dat_lmr_create, lmr_context, 32);
DAT_RING_OFFSET(dat_lmr_create, rmr_context, 36);
DAT_RING_OFFSET(dat_lmr_create, flags, 40);
DAT_RING_OFFSET(dat_lmr_create, rsvd, 44);
DAT_RING_OFFSET(dat_lmr_create, cookie, 48);
DAT_RING_ASSERT(sizeof(struct dat_lmr_stale) == 288);
DAT_RING_OFFSET(dat_lmr_stale, size, 0);
DAT_RING_OFFSET(dat_lmr_stale, count, 4);
DAT_RING_OFFSET(dat_lmr_stale, word, 8);
DAT_RING_OFFSET(dat_lmr_stale, ids, 32);
DAT_RING_ASSERT(sizeof(struct dat_rmr_create) == 24);
DAT_RING_OFFSET(dat_rmr_create, size, 0);
DAT_RING_OFFSET(dat_rmr_create, pz, 4);
DAT_RING_OFFSET(dat_rmr_create, user_data, 8);
DAT_RING_OFFSET(dat_rmr_create, id, 16);
DAT_RING_OFFSET(dat_rmr_create, rsvd, 20);
DAT_RING_ASSERT(sizeof(struct dat_rmr_bind) == 40);
DAT_RING_OFFSET(dat_rmr_bind, size, 0);
DAT_RING_OFFSET(dat_rmr_bind, id, 4);
DAT_RING_OFFSET(dat_rmr_bind, lmr, 8);
DAT_RING_OFFSET(dat_rmr_bind, priv, 12);
DAT_RING_OFFSET(dat_rmr_bind, addr, 16);
DAT_RING_OFFSET(dat_rmr_bind, length, 24);
DAT_RING_OFFSET(dat_rmr_bind, rmr_context, 32);
DAT_RING_OFFSET(dat_rmr_bind, ticket, 36);
DAT_RING_ASSERT(sizeof(struct dat_evd_create) == 112);
DAT_RING_OFFSET(dat_evd_create, size, 0);
DAT_RING_OFFSET(dat_evd_create, streams, 4);
DAT_RING_OFFSET(dat_evd_create, qlen, 8);
DAT_RING_OFFSET(dat_evd_create, id, 12);
DAT_RING_OFFSET(dat_evd_create, user_data, 16);
DAT_RING_OFFSET(dat_evd_create, flags, 24);
DAT_RING_OFFSET(dat_evd_create, comp_vector, 28);
DAT_RING_OFFSET(dat_evd_create, submit, 32);
DAT_RING_OFFSET(dat_evd_create, status, 56);
DAT_RING_OFFSET(dat_evd_create, ring, 80);
DAT_RING_OFFSET(dat_evd_create, eqe_shift, 104);
DAT_RING_OFFSET(dat_evd_create, rsvd, 108);
DAT_RING_ASSERT(sizeof(struct dat_evd_wait) == 24);
DAT_RING_OFFSET(dat_evd_wait, size, 0);
DAT_RING_OFFSET(dat_evd_wait, id, 4);
DAT_RING_OFFSET(dat_evd_wait, threshold, 8);
DAT_RING_OFFSET(dat_evd_wait, rsvd, 12);
DAT_RING_OFFSET(dat_evd_wait, deadline_ns, 16);
DAT_RING_ASSERT(sizeof(struct dat_evd_post) == 16);
DAT_RING_OFFSET(dat_evd_post, size, 0);
DAT_RING_OFFSET(dat_evd_post, id, 4);
DAT_RING_OFFSET(dat_evd_post, cookie, 8);
DAT_RING_ASSERT(sizeof(struct dat_evd_set) == 16);
DAT_RING_OFFSET(dat_evd_set, size, 0);
DAT_RING_OFFSET(dat_evd_set, id, 4);
DAT_RING_OFFSET(dat_evd_set, flags, 8);
DAT_RING_OFFSET(dat_evd_set, mask, 12);
DAT_RING_ASSERT(sizeof(struct dat_evd_modify_cno) == 16);
DAT_RING_OFFSET(dat_evd_modify_cno, size, 0);
DAT_RING_OFFSET(dat_evd_modify_cno, id, 4);
DAT_RING_OFFSET(dat_evd_modify_cno, cno, 8);
DAT_RING_OFFSET(dat_evd_modify_cno, rsvd, 12);
DAT_RING_ASSERT(sizeof(struct dat_evd_resize) == 48);
DAT_RING_OFFSET(dat_evd_resize, size, 0);
DAT_RING_OFFSET(dat_evd_resize, id, 4);
DAT_RING_OFFSET(dat_evd_resize, qlen, 8);
DAT_RING_OFFSET(dat_evd_resize, step, 12);
DAT_RING_OFFSET(dat_evd_resize, ring, 16);
DAT_RING_OFFSET(dat_evd_resize, generation, 40);
DAT_RING_OFFSET(dat_evd_resize, rsvd, 44);
DAT_RING_ASSERT(sizeof(struct dat_cno_create) == 8);
DAT_RING_OFFSET(dat_cno_create, size, 0);
DAT_RING_OFFSET(dat_cno_create, id, 4);
DAT_RING_ASSERT(sizeof(struct dat_cno_query) == 16);
DAT_RING_OFFSET(dat_cno_query, size, 0);
DAT_RING_OFFSET(dat_cno_query, id, 4);
DAT_RING_OFFSET(dat_cno_query, generation, 8);
DAT_RING_OFFSET(dat_cno_query, triggered, 12);
DAT_RING_ASSERT(sizeof(struct dat_cno_wait) == 32);
DAT_RING_OFFSET(dat_cno_wait, size, 0);
DAT_RING_OFFSET(dat_cno_wait, id, 4);
DAT_RING_OFFSET(dat_cno_wait, flags, 8);
DAT_RING_OFFSET(dat_cno_wait, generation, 12);
DAT_RING_OFFSET(dat_cno_wait, deadline_ns, 16);
DAT_RING_OFFSET(dat_cno_wait, evd, 24);
DAT_RING_ASSERT(sizeof(struct dat_fd) == 16);
DAT_RING_OFFSET(dat_fd, size, 0);
DAT_RING_OFFSET(dat_fd, type, 4);
DAT_RING_OFFSET(dat_fd, id, 8);
DAT_RING_OFFSET(dat_fd, fd, 12);
DAT_RING_ASSERT(sizeof(struct dat_srq_create) == 88);
DAT_RING_OFFSET(dat_srq_create, size, 0);
DAT_RING_OFFSET(dat_srq_create, pz, 4);
DAT_RING_OFFSET(dat_srq_create, max_recv, 8);
DAT_RING_OFFSET(dat_srq_create, max_iov, 12);
DAT_RING_OFFSET(dat_srq_create, user_data, 16);
DAT_RING_OFFSET(dat_srq_create, id, 24);
DAT_RING_OFFSET(dat_srq_create, queue, 28);
DAT_RING_OFFSET(dat_srq_create, submit, 32);
DAT_RING_OFFSET(dat_srq_create, status, 56);
DAT_RING_OFFSET(dat_srq_create, rq_offset, 80);
DAT_RING_OFFSET(dat_srq_create, rq_shift, 84);
DAT_RING_ASSERT(sizeof(struct dat_srq_resize) == 48);
DAT_RING_OFFSET(dat_srq_resize, size, 0);
DAT_RING_OFFSET(dat_srq_resize, id, 4);
DAT_RING_OFFSET(dat_srq_resize, max_recv, 8);
DAT_RING_OFFSET(dat_srq_resize, rq_offset, 12);
DAT_RING_OFFSET(dat_srq_resize, submit, 16);
DAT_RING_OFFSET(dat_srq_resize, step, 40);
DAT_RING_OFFSET(dat_srq_resize, generation, 44);
DAT_RING_ASSERT(sizeof(struct dat_srq_set_lw) == 16);
DAT_RING_OFFSET(dat_srq_set_lw, size, 0);
DAT_RING_OFFSET(dat_srq_set_lw, id, 4);
DAT_RING_OFFSET(dat_srq_set_lw, low_watermark, 8);
DAT_RING_OFFSET(dat_srq_set_lw, rsvd, 12);
DAT_RING_ASSERT(sizeof(struct dat_ep_create) == 152);
DAT_RING_OFFSET(dat_ep_create, size, 0);
DAT_RING_OFFSET(dat_ep_create, pz, 4);
DAT_RING_OFFSET(dat_ep_create, recv_evd, 8);
DAT_RING_OFFSET(dat_ep_create, request_evd, 12);
DAT_RING_OFFSET(dat_ep_create, connect_evd, 16);
DAT_RING_OFFSET(dat_ep_create, srq, 20);
DAT_RING_OFFSET(dat_ep_create, max_recv, 24);
DAT_RING_OFFSET(dat_ep_create, max_request, 28);
DAT_RING_OFFSET(dat_ep_create, max_recv_iov, 32);
DAT_RING_OFFSET(dat_ep_create, max_request_iov, 36);
DAT_RING_OFFSET(dat_ep_create, read_in, 40);
DAT_RING_OFFSET(dat_ep_create, read_out, 44);
DAT_RING_OFFSET(dat_ep_create, recv_flags, 48);
DAT_RING_OFFSET(dat_ep_create, request_flags, 52);
DAT_RING_OFFSET(dat_ep_create, user_data, 56);
DAT_RING_OFFSET(dat_ep_create, id, 64);
DAT_RING_OFFSET(dat_ep_create, sq_queue, 68);
DAT_RING_OFFSET(dat_ep_create, rq_queue, 72);
DAT_RING_OFFSET(dat_ep_create, rsvd, 76);
DAT_RING_OFFSET(dat_ep_create, submit, 80);
DAT_RING_OFFSET(dat_ep_create, status, 104);
DAT_RING_OFFSET(dat_ep_create, sq_offset, 128);
DAT_RING_OFFSET(dat_ep_create, sq_shift, 132);
DAT_RING_OFFSET(dat_ep_create, rq_offset, 136);
DAT_RING_OFFSET(dat_ep_create, rq_shift, 140);
DAT_RING_OFFSET(dat_ep_create, max_inline, 144);
DAT_RING_OFFSET(dat_ep_create, flags, 148);
DAT_RING_ASSERT(sizeof(struct dat_ep_modify) == 112);
DAT_RING_OFFSET(dat_ep_modify, size, 0);
DAT_RING_OFFSET(dat_ep_modify, id, 4);
DAT_RING_OFFSET(dat_ep_modify, pz, 8);
DAT_RING_OFFSET(dat_ep_modify, recv_evd, 12);
DAT_RING_OFFSET(dat_ep_modify, request_evd, 16);
DAT_RING_OFFSET(dat_ep_modify, connect_evd, 20);
DAT_RING_OFFSET(dat_ep_modify, max_recv, 24);
DAT_RING_OFFSET(dat_ep_modify, max_request, 28);
DAT_RING_OFFSET(dat_ep_modify, max_recv_iov, 32);
DAT_RING_OFFSET(dat_ep_modify, max_request_iov, 36);
DAT_RING_OFFSET(dat_ep_modify, read_in, 40);
DAT_RING_OFFSET(dat_ep_modify, read_out, 44);
DAT_RING_OFFSET(dat_ep_modify, recv_flags, 48);
DAT_RING_OFFSET(dat_ep_modify, request_flags, 52);
DAT_RING_OFFSET(dat_ep_modify, submit, 56);
DAT_RING_OFFSET(dat_ep_modify, sq_offset, 80);
DAT_RING_OFFSET(dat_ep_modify, sq_shift, 84);
DAT_RING_OFFSET(dat_ep_modify, rq_offset, 88);
DAT_RING_OFFSET(dat_ep_modify, rq_shift, 92);
DAT_RING_OFFSET(dat_ep_modify, step, 96);
DAT_RING_OFFSET(dat_ep_modify, generation, 100);
DAT_RING_OFFSET(dat_ep_modify, max_inline, 104);
DAT_RING_OFFSET(dat_ep_modify, flags, 108);
DAT_RING_ASSERT(sizeof(struct dat_ep_connect) == 360);
DAT_RING_OFFSET(dat_ep_connect, size, 0);
DAT_RING_OFFSET(dat_ep_connect, id, 4);
DAT_RING_OFFSET(dat_ep_connect, conn_qual, 8);
DAT_RING_OFFSET(dat_ep_connect, timeout_us, 16);
DAT_RING_OFFSET(dat_ep_connect, addr_len, 24);
DAT_RING_OFFSET(dat_ep_connect, pd_len, 28);
DAT_RING_OFFSET(dat_ep_connect, qos, 32);
DAT_RING_OFFSET(dat_ep_connect, rsvd, 36);
DAT_RING_OFFSET(dat_ep_connect, addr, 40);
DAT_RING_OFFSET(dat_ep_connect, pd, 104);
DAT_RING_ASSERT(sizeof(struct dat_ep_disconnect) == 16);
DAT_RING_OFFSET(dat_ep_disconnect, size, 0);
DAT_RING_OFFSET(dat_ep_disconnect, id, 4);
DAT_RING_OFFSET(dat_ep_disconnect, flags, 8);
DAT_RING_OFFSET(dat_ep_disconnect, rsvd, 12);
DAT_RING_ASSERT(sizeof(struct dat_ep_reset) == 8);
DAT_RING_OFFSET(dat_ep_reset, size, 0);
DAT_RING_OFFSET(dat_ep_reset, id, 4);
DAT_RING_ASSERT(sizeof(struct dat_ep_query) == 168);
DAT_RING_OFFSET(dat_ep_query, size, 0);
DAT_RING_OFFSET(dat_ep_query, id, 4);
DAT_RING_OFFSET(dat_ep_query, state, 8);
DAT_RING_OFFSET(dat_ep_query, local_port, 12);
DAT_RING_OFFSET(dat_ep_query, remote_port, 16);
DAT_RING_OFFSET(dat_ep_query, read_in, 20);
DAT_RING_OFFSET(dat_ep_query, read_out, 24);
DAT_RING_OFFSET(dat_ep_query, local_len, 28);
DAT_RING_OFFSET(dat_ep_query, remote_len, 32);
DAT_RING_OFFSET(dat_ep_query, rsvd, 36);
DAT_RING_OFFSET(dat_ep_query, local, 40);
DAT_RING_OFFSET(dat_ep_query, remote, 104);
DAT_RING_ASSERT(sizeof(struct dat_psp_create) == 32);
DAT_RING_OFFSET(dat_psp_create, size, 0);
DAT_RING_OFFSET(dat_psp_create, evd, 4);
DAT_RING_OFFSET(dat_psp_create, conn_qual, 8);
DAT_RING_OFFSET(dat_psp_create, user_data, 16);
DAT_RING_OFFSET(dat_psp_create, id, 24);
DAT_RING_OFFSET(dat_psp_create, flags, 28);
DAT_RING_ASSERT(sizeof(struct dat_cr_query) == 416);
DAT_RING_OFFSET(dat_cr_query, size, 0);
DAT_RING_OFFSET(dat_cr_query, id, 4);
DAT_RING_OFFSET(dat_cr_query, remote_len, 8);
DAT_RING_OFFSET(dat_cr_query, remote_port, 12);
DAT_RING_OFFSET(dat_cr_query, pd_len, 16);
DAT_RING_OFFSET(dat_cr_query, rsvd, 20);
DAT_RING_OFFSET(dat_cr_query, remote, 24);
DAT_RING_OFFSET(dat_cr_query, pd, 88);
DAT_RING_OFFSET(dat_cr_query, local_len, 344);
DAT_RING_OFFSET(dat_cr_query, local_port, 348);
DAT_RING_OFFSET(dat_cr_query, local, 352);
DAT_RING_ASSERT(sizeof(struct dat_cr_accept) == 272);
DAT_RING_OFFSET(dat_cr_accept, size, 0);
DAT_RING_OFFSET(dat_cr_accept, id, 4);
DAT_RING_OFFSET(dat_cr_accept, ep, 8);
DAT_RING_OFFSET(dat_cr_accept, pd_len, 12);
DAT_RING_OFFSET(dat_cr_accept, pd, 16);
DAT_RING_ASSERT(sizeof(struct dat_cr_reject) == 272);
DAT_RING_OFFSET(dat_cr_reject, size, 0);
DAT_RING_OFFSET(dat_cr_reject, id, 4);
DAT_RING_OFFSET(dat_cr_reject, pd_len, 8);
DAT_RING_OFFSET(dat_cr_reject, rsvd, 12);
DAT_RING_OFFSET(dat_cr_reject, pd, 16);
DAT_RING_ASSERT(sizeof(struct dat_cr_handoff) == 16);
DAT_RING_OFFSET(dat_cr_handoff, size, 0);
DAT_RING_OFFSET(dat_cr_handoff, id, 4);
DAT_RING_OFFSET(dat_cr_handoff, conn_qual, 8);
DAT_RING_ASSERT(sizeof(struct dat_poller_set) == 8);
DAT_RING_OFFSET(dat_poller_set, size, 0);
DAT_RING_OFFSET(dat_poller_set, idle_us, 4);
DAT_RING_ASSERT(sizeof(struct dat_poller_run) == 8);
DAT_RING_OFFSET(dat_poller_run, size, 0);
DAT_RING_OFFSET(dat_poller_run, rsvd, 4);
DAT_RING_ASSERT(sizeof(struct dat_evd_poll) == 16);
DAT_RING_OFFSET(dat_evd_poll, size, 0);
DAT_RING_OFFSET(dat_evd_poll, id, 4);
DAT_RING_OFFSET(dat_evd_poll, spin_us, 8);
DAT_RING_OFFSET(dat_evd_poll, rsvd, 12);

#endif /* _UAPI_RDMA_DAT_IOCTL_H */
