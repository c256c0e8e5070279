/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause) */
/* Copyright (c) The dat authors */
/*
 * ioctls of /dev/dat.
 *
 * Rules for all calls
 * ===================
 *
 * The argument is a structure.  Its first field is its size, as compiled into the
 * caller.  The kernel extends a shorter structure with zeros, and accepts a longer
 * one if the excess is zero.  Reserved fields and unknown flag bits must be zero.
 * An id names an object.  It has at most DAT_ID_BITS bits, is valid on the open file that
 * created the object, and is never 0.  A file belongs to the address space that opened it: no
 * other one may use it, and all its objects end with that one.
 *
 *   errno         means
 *   -----------   -------------------------------------------------------------
 *   ENOTTY        unknown ioctl number
 *   E2BIG         the excess of a longer structure is not zero, or the structure is
 *                 larger than 4,096 bytes
 *   EINVAL        size too small; a count or an address is out of range; no IA was
 *                 opened yet
 *   EOPNOTSUPP    the kernel does not know a flag or another value, or a reserved field
 *                 isn't 0; the adapter does not support a known value
 *   ENOENT        no object of the required type has this id; no such adapter
 *   EFAULT        the argument, or memory to be registered, is not accessible, or
 *                 not writable although a write privilege was asked for
 *   ENOMEM        out of memory, or over RLIMIT_MEMLOCK, or over an adapter limit
 *   EPERM         the file belongs to another address space; a qualifier below 1024
 *                 without CAP_NET_BIND_SERVICE; a status page mapped for writing; an
 *                 LMR that lacks a privilege
 *   EXDEV         objects that must share a protection zone don't
 *   EBUSY         the object is in use; another thread waits on the EVD or is the
 *                 poller; something needs the notifications that a poll would stop;
 *                 the file has an IA
 *   EISCONN       the state of the EP or SRQ forbids it
 *   EEXIST        the cookie stands for other memory
 *   EADDRINUSE    the connection qualifier is taken
 *   EADDRNOTAVAIL no service point has the connection qualifier
 *   ENETUNREACH   the adapter has no address of the needed family, or no route to the
 *                 peer
 *   EAFNOSUPPORT  address family is neither AF_INET nor AF_INET6
 *   ENOSPC        the event ring is full (software events only); a new ring is too short for
 *                 what the old one holds; no queue of the file is free
 *   EAGAIN        there is no event, and the call doesn't sleep for one
 *   ETIMEDOUT     the deadline has passed
 *   EINTR         a signal handler ran; nothing was consumed
 *   ECANCELED     the EVD is, or was made, unwaitable
 *   ESTALE        another ring was prepared since, or this one was committed or
 *                 cancelled
 *   ESHUTDOWN     the EVD or CNO was freed or the IA closed during the wait, or the poll
 *   ENODEV        the RDMA device is gone, or the IA was closed
 *
 * A call that fails has changed nothing.
 */
#ifndef _UAPI_RDMA_DAT_IOCTL_H
#define _UAPI_RDMA_DAT_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>
#include <rdma/dat_ring.h>

#define DAT_ABI_VERSION		1
#define DAT_IOC_MAGIC		0xDA
#define DAT_ID_BITS		23	/* of an object's id */
#define DAT_NAME_SIZE		72	/* IA name: <ibdev> or <ibdev>:<port> */
#define DAT_ADDR_SIZE		64	/* of any socket address of an RDMA device */

/**
 * struct dat_span - where a process finds memory of an object
 * @offset: for mmap()
 * @size: for mmap(): the mapping is exactly so long
 * @start: offset of the memory in the mapping, in bytes; a multiple of 64
 * @rsvd: 0
 *
 * One mapping holds the memory of many objects: those with the same @offset.  A process maps it
 * once, whole.  A mapping of a freed object's memory stays valid.  When the last object of a
 * mapping is freed, its @offset names nothing until millions of others were used.  So a process
 * that keeps a mapping as long as one of its objects lives may find it by its @offset.
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
	DAT_OBJ_IA	= 8,	/* only as the subject of an async event */
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
	DAT_NR_EVD_POLL		= 37
};

#define DAT_IOC(nr)		_IO(DAT_IOC_MAGIC, DAT_NR_##nr)

/**
 * struct dat_abi - version of the interface
 * @size: of this structure
 * @version: out: DAT_ABI_VERSION
 * @features: out: bits to be defined; 0 today
 *
 * Needs no IA.
 */
struct dat_abi {
	__u32 size;
	__u32 version;
	__u64 features;
};

#define DAT_IOC_ABI		DAT_IOC(ABI)

/**
 * struct dat_adapter - the next adapter that the caller may open
 * @size: of this structure
 * @port: out: port of the RDMA device
 * @cursor: 0 for the first adapter; else as the last call has left it; ENOENT: there is no other
 * @name: out: IA name, NUL-terminated
 * @active: out: 1 if the port is up
 * @rsvd: 0
 *
 * Needs no IA.  The value of a cursor has no meaning.  A list that is read with it has each
 * adapter that was there all the time once, although others come and go.
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
 * @size: of this structure
 * @flags: bits to be defined; 0
 * @name: IA name, NUL-terminated
 * @user_data: owner of the IA's async events
 * @doorbell_offset: out: where to mmap the doorbell region
 * @doorbell_size: out: bytes to mmap
 * @features: features that the caller needs, of dat_abi.features
 * @max_queues: queues wanted, at most 196,608; 0: 32,768; out: queues given, at least as many.
 *	An EP has two queues, an SRQ one
 * @rsvd: 0
 *
 * ENOENT: no such adapter in this network namespace.  EOPNOTSUPP: its driver
 * can't register user memory for a kernel consumer, or the kernel lacks a feature.
 * EBUSY: the file has an IA.
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
 * struct dat_ia_query - limits and identity of the adapter, all out
 * @size: of this structure
 * @addr_len: bytes valid in @addr, 0 if the port has no address
 * @addr: struct sockaddr_in or sockaddr_in6 of the adapter
 * @device: name of the RDMA device
 * @fw: firmware version, text of the device
 * @vendor_id: IEEE OUI
 * @vendor_part_id: of the device
 * @hw_ver: of the device
 * @port: of the device
 * @max_eps: endpoints
 * @max_dto_per_ep: requests, and receives, per endpoint
 * @max_evd_qlen: events
 * @max_iov: segments per send or receive
 * @max_iov_read: segments per RDMA read
 * @max_lmrs: registrations
 * @max_pzs: protection zones
 * @max_srqs: shared receive queues, 0 if none
 * @max_recv_per_srq: buffers
 * @max_rdma_read_in: RDMA reads per endpoint as target
 * @max_rdma_read_out: RDMA reads per endpoint as originator
 * @max_pd_request: bytes of private data with a connect
 * @max_pd_reply: bytes of private data with an accept
 * @flags: 0x1: iWARP, the sink of an RDMA read needs remote write
 * @max_message_size: bytes of a send or RDMA operation
 * @max_lmr_size: bytes of a registration
 * @ops: operations: bit n for the enum dat_op n
 * @sqe_flags: enum dat_sqe_flags that an entry may have
 * @caps: bits to be defined; 0 today
 * @max_inline: bytes of inline data in an entry; 0: none
 * @num_comp_vectors: the comp_vector of an EVD is below this
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
};

#define DAT_IOC_IA_QUERY	DAT_IOC(IA_QUERY)
#define DAT_IA_FLAG_IWARP	0x1

/**
 * struct dat_ia_close - destroy every object of the IA, now and abruptly
 * @size: of this structure
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

/**
 * struct dat_free - destroy an object
 * @size: of this structure
 * @type: enum dat_obj_type
 * @id: of the object
 * @rsvd: 0
 *
 * EBUSY: other objects use it, or a thread waits on it.  EISCONN: an EP that a
 * service point or a CR holds.  Freeing a CR rejects it.
 */
struct dat_free {
	__u32 size;
	__u32 type;
	__u32 id;
	__u32 rsvd;
};

#define DAT_IOC_FREE		DAT_IOC(FREE)

/**
 * struct dat_pz_create - make a protection zone
 * @size: of this structure
 * @id: out
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

#define DAT_LMR_SHARED		0x1	/* @cookie names memory shared by processes */
#define DAT_LMR_COOKIE		40

/**
 * struct dat_lmr_create - register memory of the caller
 * @size: of this structure
 * @pz: id of the protection zone
 * @addr: first byte
 * @length: bytes, at least 1
 * @priv: DAT_PRIV_*
 * @id: out
 * @lmr_context: out: goes into struct dat_sge
 * @rmr_context: out: goes to peers; 0 without remote privileges
 * @flags: DAT_LMR_SHARED
 * @rsvd: 0
 * @cookie: DAT_LMR_SHARED: the memory's name among the processes of this effective user that
 *	use the device in this network namespace; else 0
 *
 * The pages are pinned and charged to RLIMIT_MEMLOCK until the LMR is freed.  Each process
 * that shares the memory registers its own mapping of it.  EEXIST: the memory is not a
 * shared mapping of one file, or another process uses the cookie for other memory.
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

/**
 * struct dat_rmr_create - make a remote memory region, unbound
 * @size: of this structure
 * @pz: id of the protection zone
 * @user_data: owner value of its bind events
 * @id: out
 * @rsvd: 0
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
 * struct dat_rmr_bind - prepare to bind an RMR to a part of an LMR, or to unbind it
 * @size: of this structure
 * @id: of the RMR
 * @lmr: id of the LMR, or 0 to unbind
 * @priv: DAT_PRIV_REMOTE_*
 * @addr: first byte
 * @length: bytes; 0 to unbind
 * @rmr_context: out: goes to peers
 * @ticket: out: value for @rkey of the DAT_OP_RMR_BIND entry
 *
 * The binding takes effect, and the present one ends, when an entry of DAT_OP_RMR_BIND
 * with the ticket is executed in the send queue of an EP of the same zone.  All earlier
 * entries have completed by then, and later ones start after it.  Its event is
 * DAT_EV_RMR_BIND.  EPERM: the LMR lacks the local privilege for a remote one.
 *
 * The pages are pinned and charged from this call until one of these: the binding ends;
 * its entry is flushed, refused or fails; the EP whose ring holds the entry is freed; the
 * RMR is freed.  A peer gets access when the entry is executed.  The exception is a range
 * of more pages than the device registers in a queue (max_fast_reg_page_list_len of
 * ib_device_attr, if it supports that): its key is valid from this call on.  ENOMEM: 64
 * bindings wait for their entries.
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
 * struct dat_evd_create - make an event dispatcher
 * @size: of this structure
 * @streams: enum dat_stream bits that may feed it
 * @qlen: events wanted; out: events given (a power of two)
 * @id: out
 * @user_data: owner value of async events about this EVD
 * @flags: 0
 * @comp_vector: reserved for the completion vector of the EVD's own CQ; 0
 * @submit: out: struct dat_evd_head
 * @status: out: struct dat_evd_status
 * @ring: out: the events
 * @eqe_shift: out: log2 of the stride of the events; struct dat_eqe is the start of each
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
 * @size: of this structure
 * @id: of the EVD
 * @threshold: events, 1 to qlen
 * @rsvd: 0
 * @deadline_ns: absolute, CLOCK_MONOTONIC; DAT_WAIT_FOREVER; 0 never sleeps
 *
 * Consumes nothing: the caller reads the ring.  One waiter at a time (EBUSY).
 * Only an event that notifies wakes a sleeper.  A waiter that is awake counts all
 * events.
 */
struct dat_evd_wait {
	__u32 size;
	__u32 id;
	__u32 threshold;
	__u32 rsvd;
	__u64 deadline_ns;
};

#define DAT_IOC_EVD_WAIT	DAT_IOC(EVD_WAIT)

/* Longest time that DAT_IOC_EVD_POLL spins. */
#define DAT_MAX_SPIN_US		1000000

/**
 * struct dat_evd_poll - poll the device until an event is queued
 * @size: of this structure
 * @id: of the EVD
 * @spin_us: longest time in microseconds, at most DAT_MAX_SPIN_US; 0: poll once
 * @rsvd: 0
 *
 * Takes completions on the caller's CPU instead of on the CPU that the device notifies.
 * While an EVD is polled, the CQs of its EPs are not armed.  Their completions reach the
 * ring by polls alone, so the caller should keep polling.  DAT_IOC_EVD_WAIT and poll() of
 * the EVD's descriptor re-arm the CQs, as does a timer some ticks after the last poll.
 * With an event in the ring the call returns without polling the device.
 * If receives of an EP are SOLICITED_WAIT, a poll of 0 microseconds takes unsolicited
 * receives only, and all CQs stay armed.
 * The CQ of a connection that feeds two EVDs stays armed unless both are polled.
 *
 * EAGAIN: there is no event, and the time is up or another task needs the CPU.  EBUSY: a CNO or a
 * thread that sleeps on the EVD needs notification, so the call did not poll.  EINTR: a signal
 * handler ran.
 */
struct dat_evd_poll {
	__u32 size;
	__u32 id;
	__u32 spin_us;
	__u32 rsvd;
};

#define DAT_IOC_EVD_POLL	DAT_IOC(EVD_POLL)

/**
 * struct dat_evd_post - queue a software event
 * @size: of this structure
 * @id: of the EVD
 * @cookie: value to deliver
 */
struct dat_evd_post {
	__u32 size;
	__u32 id;
	__u64 cookie;
};

#define DAT_IOC_EVD_POST	DAT_IOC(EVD_POST)

#define DAT_EVD_UNWAITABLE	0x1	/* waits fail */
#define DAT_EVD_DISABLED	0x2	/* its events trigger no CNO */

/**
 * struct dat_evd_set - change the state of an EVD
 * @size: of this structure
 * @id: of the EVD
 * @flags: DAT_EVD_* bits wanted
 * @mask: bits of @flags that take effect
 *
 * Clearing DAT_EVD_DISABLED triggers the CNO if events are queued.
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
 * @size: of this structure
 * @id: of the EVD
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
 * Steps of replacing a ring.  With PREPARE and COMMIT no failure leaves the caller without
 * a ring.  PREPARE allocates the new ring, and returns its place and a generation, never 0.
 * The caller maps it.  COMMIT, with the same parameters (else EINVAL) and that
 * generation, swaps them in.  A COMMIT that fails leaves the prepared ring.  A CANCEL of its
 * generation, the next PREPARE by any thread, or the end of the object drops the prepared
 * ring.  COMMIT and CANCEL of a dropped generation fail with ESTALE.
 */
enum dat_ring_step {
	DAT_RING_AT_ONCE	= 0,	/* swap now, map afterwards */
	DAT_RING_PREPARE	= 1,
	DAT_RING_COMMIT		= 2,
	DAT_RING_CANCEL		= 3
};

/**
 * struct dat_evd_resize - change the length of an EVD's ring
 * @size: of this structure
 * @id: of the EVD
 * @qlen: events wanted; out: events given (a power of two)
 * @step: enum dat_ring_step
 * @ring: out: the events
 * @generation: PREPARE: out; COMMIT, CANCEL: of the prepared ring; else 0
 * @rsvd: 0
 *
 * Queued events stay, with their indices.  ENOSPC: the new ring is too short for them.
 * The old ring gets no new events, and its memory may serve another object.  So the process must
 * not consume events from before the call that swaps the rings until it uses the new one.
 * struct dat_evd_head and struct dat_evd_status stay where they are.
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
 * struct dat_cno_create - make a consumer notification object
 * @size: of this structure
 * @id: out
 *
 * An event that notifies triggers the CNO of its EVD unless the EVD is disabled or has a
 * waiter of its own.  A CNO stays triggered until a wait consumes the trigger.
 */
struct dat_cno_create {
	__u32 size;
	__u32 id;
};

#define DAT_IOC_CNO_CREATE	DAT_IOC(CNO_CREATE)

/**
 * struct dat_cno_query - state of a CNO
 * @size: of this structure
 * @id: of the CNO
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
 * @size: of this structure
 * @id: of the CNO
 * @flags: DAT_CNO_WATCH: wait for a trigger after @generation and consume nothing
 * @generation: in, for DAT_CNO_WATCH; out
 * @deadline_ns: absolute, CLOCK_MONOTONIC; DAT_WAIT_FOREVER; 0 never sleeps
 * @evd: out: user_data of an EVD that triggered it, or 0 if that is gone
 *
 * A trigger wakes one waiter, and every waiter with DAT_CNO_WATCH.
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
 * struct dat_fd - a file descriptor for poll(), select() and epoll
 * @size: of this structure
 * @type: DAT_OBJ_EVD or DAT_OBJ_CNO
 * @id: of the object
 * @fd: out: close-on-exec; reads and writes fail
 *
 * EVD: POLLIN means that events are queued; an event that doesn't notify does not wake a
 * sleeper.  CNO: POLLIN means that it is triggered; DAT_IOC_CNO_WAIT with a deadline of 0
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
 * struct dat_srq_create - make a shared receive queue
 * @size: of this structure
 * @pz: id of the protection zone
 * @max_recv: buffers outstanding; out: entries of the ring
 * @max_iov: segments per buffer
 * @user_data: owner value of async events about this SRQ
 * @id: out
 * @queue: out: bit in the doorbell region
 * @submit: out: struct dat_submit and the RQEs
 * @status: out: struct dat_status
 * @rq_offset: out: offset of the RQEs from struct dat_submit
 * @rq_shift: out: log2 of the stride
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
 * @size: of this structure
 * @id: of the SRQ
 * @max_recv: buffers outstanding; out: entries of the new ring
 * @rq_offset: out: offset of the RQEs from the new struct dat_submit
 * @submit: out: the new struct dat_submit and the RQEs
 * @step: enum dat_ring_step
 * @generation: see struct dat_evd_resize
 *
 * Indices continue, and entries that the kernel has not taken are copied.  The old ring is
 * no longer read, and its memory may serve another object: no thread may post until the new one
 * is mapped.  struct dat_status stays where it is.  ENOSPC: more
 * buffers are outstanding than fit.
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
 * struct dat_srq_set_lw - ask for an async event when buffers become few
 * @size: of this structure
 * @id: of the SRQ
 * @low_watermark: number of buffers; one event when fewer are available, which may be
 *	at once; 0: no event
 * @rsvd: 0
 *
 * The event is DAT_EV_ASYNC_INTERNAL with DAT_SRQ_REASON_LOW_WATERMARK.
 */
struct dat_srq_set_lw {
	__u32 size;
	__u32 id;
	__u32 low_watermark;
	__u32 rsvd;
};

#define DAT_IOC_SRQ_SET_LW	DAT_IOC(SRQ_SET_LW)

/**
 * struct dat_ep_create - make an endpoint
 * @size: of this structure
 * @pz: id of the protection zone
 * @recv_evd: id of the EVD for receives, or 0
 * @request_evd: id of the EVD for requests, or 0
 * @connect_evd: id of the EVD for connection events, or 0
 * @srq: id of the SRQ, or 0
 * @max_recv: receives outstanding, 0 with an SRQ; out: entries of the ring
 * @max_request: requests outstanding; out: entries of the ring
 * @max_recv_iov: segments per receive
 * @max_request_iov: segments per request
 * @read_in: RDMA reads as target
 * @read_out: RDMA reads as originator
 * @recv_flags: DAT_COMPLETION_FLAGS of receives; with SOLICITED_WAIT unsolicited receives
 *	reach the ring of @recv_evd by DAT_IOC_EVD_POLL or DAT_IOC_EVD_WAIT
 * @request_flags: DAT_COMPLETION_FLAGS of requests
 * @user_data: owner value of this EP's events
 * @id: out
 * @sq_queue: out: bit of the send queue in the doorbell region
 * @rq_queue: out: bit of the receive queue in the doorbell region
 * @rsvd: 0
 * @submit: out: struct dat_submit, SQEs and RQEs
 * @status: out: struct dat_status
 * @sq_offset: out: offset of the SQEs from struct dat_submit
 * @sq_shift: out: log2 of their stride
 * @rq_offset: out: offset of the RQEs from struct dat_submit
 * @rq_shift: out: log2 of their stride
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
};

#define DAT_IOC_EP_CREATE	DAT_IOC(EP_CREATE)

/**
 * struct dat_ep_modify - change the parameters of an unconnected EP
 * @size: of this structure
 * @id: of the EP
 * @pz: id; see struct dat_ep_create for this and the fields below
 * @recv_evd: id or 0
 * @request_evd: id or 0
 * @connect_evd: id or 0
 * @max_recv: in, out
 * @max_request: in, out
 * @max_recv_iov: in
 * @max_request_iov: in
 * @read_in: in
 * @read_out: in
 * @recv_flags: in
 * @request_flags: in
 * @submit: out: the new struct dat_submit, SQEs and RQEs
 * @sq_offset: out
 * @sq_shift: out
 * @rq_offset: out
 * @rq_shift: out
 * @step: enum dat_ring_step
 * @generation: see struct dat_evd_resize
 *
 * Takes every parameter, including unchanged ones.  The SRQ can't be changed.
 * Posted entries stay, with their indices; an entry with more segments than the new
 * stride holds is malformed.  The old ring is no longer read, and its memory may serve another
 * object: no thread may post until the new one is mapped.  struct dat_status stays where it is.
 * EISCONN: the EP isn't UNCONNECTED.  ENOSPC: more is posted than
 * fits.
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
};

#define DAT_IOC_EP_MODIFY	DAT_IOC(EP_MODIFY)

/* Quality of service of a connection; numbers of DAT_QOS; 0 is best effort. */
enum dat_qos_class {
	DAT_QOS_CLASS_HIGH_THROUGHPUT	= 0x1,	/* AF11: type of service 0x28 */
	DAT_QOS_CLASS_LOW_LATENCY	= 0x2,	/* AF21: 0x48 */
	DAT_QOS_CLASS_ECONOMY		= 0x4,	/* CS1: 0x20 */
	DAT_QOS_CLASS_PREMIUM		= 0x8	/* EF: 0xb8 */
};

/**
 * struct dat_ep_connect - connect to a peer
 * @size: of this structure
 * @id: of the EP
 * @conn_qual: qualifier of the peer's service point, not 0; see struct dat_psp_create
 * @timeout_us: microseconds until DAT_EV_TIMED_OUT; DAT_WAIT_FOREVER: the transport decides
 * @addr_len: bytes of @addr: the size of its structure
 * @pd_len: bytes of private data
 * @qos: 0 or enum dat_qos_class: the connection's type of service; EINVAL: several classes
 * @rsvd: 0
 * @addr: struct sockaddr_in or sockaddr_in6 of the peer; its port is ignored
 * @pd: private data
 *
 * Exactly one connection event follows.
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
 * struct dat_ep_disconnect - end a connection or its establishment
 * @size: of this structure
 * @id: of the EP
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
 * struct dat_ep_reset - make a disconnected EP connectable again
 * @size: of this structure
 * @id: of the EP
 *
 * EISCONN also after the process has written a tail beyond its ring; that EP can't be reset.
 */
struct dat_ep_reset {
	__u32 size;
	__u32 id;
};

#define DAT_IOC_EP_RESET	DAT_IOC(EP_RESET)

/**
 * struct dat_ep_query - state and addresses, all out but the id
 * @size: of this structure
 * @id: of the EP
 * @state: DAT_EP_STATE
 * @local_port: of the connection, 0 if none
 * @remote_port: of the connection, 0 if none
 * @read_in: RDMA reads as target, as negotiated
 * @read_out: RDMA reads as originator, as negotiated
 * @local_len: bytes valid in @local, 0 if none
 * @remote_len: bytes valid in @remote, 0 if none
 * @rsvd: 0
 * @local: struct sockaddr_in or sockaddr_in6
 * @remote: struct sockaddr_in or sockaddr_in6
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

#define DAT_PSP_ONE_SHOT	0x1	/* takes one request, refuses later ones */

/**
 * struct dat_psp_create - create a service point that listens
 * @size: of this structure
 * @evd: id of the EVD for connection requests
 * @conn_qual: qualifier; 0: the kernel chooses a port; out: the one in use
 * @user_data: owner value of the requests' events
 * @id: out
 * @flags: DAT_PSP_ONE_SHOT
 *
 * A qualifier up to 65535 is a port of rdma_cm.  A larger one maps to the port
 * conn_qual % 32001 + 33534.  EADDRINUSE: the port is taken.
 *
 * A request that finds the EVD full is refused.
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
 * struct dat_cr_query - requester and private data, all out but the id
 * @size: of this structure
 * @id: of the CR
 * @remote_len: bytes valid in @remote
 * @remote_port: of the requester
 * @pd_len: bytes valid in @pd
 * @rsvd: 0
 * @remote: struct sockaddr_in or sockaddr_in6
 * @pd: private data
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
};

#define DAT_IOC_CR_QUERY	DAT_IOC(CR_QUERY)

/**
 * struct dat_cr_accept - accept a connection request; success ends the CR
 * @size: of this structure
 * @id: of the CR
 * @ep: id of an unconnected EP
 * @pd_len: bytes of private data
 * @pd: private data
 *
 * Exactly one of DAT_EV_ESTABLISHED and DAT_EV_ACCEPT_ERROR follows, at the latest after the
 * time of the module's parameter "accept_timeout".
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
 * struct dat_cr_reject - refuse a connection request; ends the CR
 * @size: of this structure
 * @id: of the CR
 */
struct dat_cr_reject {
	__u32 size;
	__u32 id;
};

#define DAT_IOC_CR_REJECT	DAT_IOC(CR_REJECT)

/**
 * struct dat_cr_handoff - pass a connection request to another service point; ends the CR
 * @size: of this structure
 * @id: of the CR
 * @conn_qual: of a service point of the same adapter, of this process or another
 *
 * The other service point gets an ordinary request with the same peer and private data.  If
 * its EVD is full, the request is refused.  EADDRNOTAVAIL: no such service point, or a
 * one-shot one that has had its request; the CR stays.
 */
struct dat_cr_handoff {
	__u32 size;
	__u32 id;
	__u64 conn_qual;
};

#define DAT_IOC_CR_HANDOFF	DAT_IOC(CR_HANDOFF)

/* Longest time that the poller may stay awake without work. */
#define DAT_MAX_POLLER_IDLE_US	1000000

/**
 * struct dat_poller_set - allow a poller and set its idle time
 * @size: of this structure
 * @idle_us: microseconds without a post after which the poller sleeps until the next kick,
 *	at most DAT_MAX_POLLER_IDLE_US; 0 (initial value): no poller may run
 *
 * Applies to a running poller as well; 0 ends it.  A file of /dev/rsm also answers this and
 * DAT_IOC_POLLER_RUN, for the rings of its imports, after DAT_IOC_RSM_OPEN.
 */
struct dat_poller_set {
	__u32 size;
	__u32 idle_us;
};

#define DAT_IOC_POLLER_SET	DAT_IOC(POLLER_SET)

/**
 * struct dat_poller_run - make the calling thread the poller
 * @size: of this structure
 * @rsvd: 0
 *
 * Returns 0 when DAT_IOC_POLLER_SET ends the poller, at once if none may run; EINTR after a
 * signal; ENODEV.  EBUSY: another thread is the poller.  While the poller is awake no queue
 * sets NEED_KICK; some may have it from before.  When the poller sleeps or has returned,
 * queues ask for kicks again.
 *
 * The call keeps the file open: a close(2) in another thread neither ends it nor closes the
 * adapter.  End the call first, by DAT_IOC_POLLER_SET or DAT_IOC_IA_CLOSE.
 */
struct dat_poller_run {
	__u32 size;
	__u32 rsvd;
};

#define DAT_IOC_POLLER_RUN	DAT_IOC(POLLER_RUN)

/*
 * Drain every queue whose dirty bit is set.  The only ioctl without a structure: its argument is
 * a number of 32 bits, 0.  Other numbers are reserved for a queue and for a call that kicks and
 * polls at once (EOPNOTSUPP).
 */
#define DAT_IOC_KICK		DAT_IOC(KICK)

/* The layout is the same for 32-bit processes: every size is a multiple of 8. */
DAT_RING_ASSERT(sizeof(struct dat_span) == 24);
DAT_RING_OFFSET(dat_span, offset, 0);
DAT_RING_OFFSET(dat_span, size, 8);
DAT_RING_OFFSET(dat_span, start, 16);
DAT_RING_OFFSET(dat_span, rsvd, 20);
DAT_RING_ASSERT(sizeof(struct dat_abi) == 16);
DAT_RING_OFFSET(dat_abi, size, 0);
DAT_RING_OFFSET(dat_abi, version, 4);
DAT_RING_OFFSET(dat_abi, features, 8);
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
DAT_RING_ASSERT(sizeof(struct dat_ia_query) == 288);
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
DAT_RING_ASSERT(sizeof(struct dat_ep_create) == 144);
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
DAT_RING_ASSERT(sizeof(struct dat_ep_modify) == 104);
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
DAT_RING_ASSERT(sizeof(struct dat_cr_query) == 344);
DAT_RING_OFFSET(dat_cr_query, size, 0);
DAT_RING_OFFSET(dat_cr_query, id, 4);
DAT_RING_OFFSET(dat_cr_query, remote_len, 8);
DAT_RING_OFFSET(dat_cr_query, remote_port, 12);
DAT_RING_OFFSET(dat_cr_query, pd_len, 16);
DAT_RING_OFFSET(dat_cr_query, rsvd, 20);
DAT_RING_OFFSET(dat_cr_query, remote, 24);
DAT_RING_OFFSET(dat_cr_query, pd, 88);
DAT_RING_ASSERT(sizeof(struct dat_cr_accept) == 272);
DAT_RING_OFFSET(dat_cr_accept, size, 0);
DAT_RING_OFFSET(dat_cr_accept, id, 4);
DAT_RING_OFFSET(dat_cr_accept, ep, 8);
DAT_RING_OFFSET(dat_cr_accept, pd_len, 12);
DAT_RING_OFFSET(dat_cr_accept, pd, 16);
DAT_RING_ASSERT(sizeof(struct dat_cr_reject) == 8);
DAT_RING_OFFSET(dat_cr_reject, size, 0);
DAT_RING_OFFSET(dat_cr_reject, id, 4);
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
