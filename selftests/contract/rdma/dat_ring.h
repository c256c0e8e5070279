/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause) */
/* Copyright (c) The dat authors */
/*
 * Shared pages of /dev/dat: queue entries, event entries, indices, doorbells.
 *
 * Pages that the process writes are mapped read-write.  The kernel does not trust them:
 * it fetches an entry once into private memory and checks the copy.  It writes to one of
 * them, the doorbell region, where it clears dirty bits with an atomic exchange.  Pages
 * that the kernel writes are mapped read-only, and the kernel never reads them back.
 *
 *   object   process writes ("submit")            kernel writes ("status", "ring")
 *   ------   ----------------------------------   -------------------------------
 *   file     dirty bits                           -
 *   EP       struct dat_submit, SQEs, RQEs        struct dat_status
 *   SRQ      struct dat_submit, RQEs              struct dat_status
 *   EVD      struct dat_evd_head                  struct dat_evd_status; events
 *
 * One mapping holds the memory of many objects; struct dat_span says where.
 *
 * The doorbell region is an array of __u32, with a dirty bit for each queue: bit (n % 32)
 * of word (n / 32) is that of queue n, as creation returned it.  DAT_IOC_IA_OPEN returns
 * the number of queues.
 *
 * Indices are free-running 32-bit counters; "index & (entries - 1)" is the slot
 * and "producer - consumer" is the fill level, also across the wrap at 2^32.
 *
 * The protocol
 * ============
 *
 * Posting (process is the producer, the kernel's pump the consumer):
 *
 *   process                                  kernel pump
 *   -------                                  -----------
 *   write entry[tail & mask]
 *   submit.tail = tail + 1        (A)        n = submit.tail - head       (D)
 *   full barrier                  (B)        copy, check, post n entries
 *   if the queue's dirty bit is clear,       if a completion in flight or the
 *     set it                                   poller will pump again: leave
 *   full barrier                  (C)        status.kick_at = head + m
 *   if status.flags & NEED_KICK and          status.flags |= NEED_KICK
 *      tail has reached kick_at              full barrier                 (E)
 *     ioctl(DAT_IOC_KICK)                    if submit.tail has reached
 *                                              kick_at: again             (D)
 *
 *   kick: take the dirty words with an       (F)
 *         exchange (full barrier), then for
 *         each bit pump
 *
 *   The pump asks for a kick at the next entry (m = 1) if nothing is in flight, and
 *   after several entries if few receives are in flight, so that one system call hands
 *   over several in time.  "Has reached" is (int)(tail - kick_at) >= 0.
 *
 *   (A) store-release: pairs with the load-acquire at (D), so the pump sees the
 *       entry whenever it sees the tail.
 *   (B) orders the tail before the loads of the dirty bit and of NEED_KICK.  If the bit
 *       is seen set, the exchange at (F) comes later and finds the new tail.
 *       With (E), store-barrier-load on both sides: either the process sees NEED_KICK
 *       and enters, or the pump sees the new tail.  Never neither.
 *   (C) orders the dirty bit before the load of NEED_KICK; if the bit was set already,
 *       there is nothing to order.  A kick finds the caller's own bit in any case, and
 *       the poller pumps every queue, dirty or not, before it sleeps.
 *   (F) pairs with (B).  The poller does the same without a kick.  While it is awake the
 *       pump leaves without NEED_KICK, and only this pair finds the tail.
 *   NEED_KICK is stored with release after kick_at, and loaded with acquire before it.
 *
 * Completions (the kernel is the producer, the process the consumer):
 *
 *   kernel                                   process
 *   ------                                   -------
 *   head = head.head              (G)        tail = status.tail           (K)
 *   if tail - head == entries: overflow      if tail == head: empty
 *   write event[tail & mask]                 copy event[head & mask]
 *   status.tail = tail + 1        (H)        head.head = head + 1         (L)
 *   full barrier                  (I)
 *   if a waiter's threshold is met: wake     to sleep: ioctl(DAT_IOC_EVD_WAIT)
 *                                              set waiter, full barrier   (J)
 *                                              if enough events: return, else sleep
 *
 *   (H)/(K) release/acquire: the event is whole when the tail shows it.
 *   (L)/(G) release/acquire: the slot has been read when the head frees it.
 *   (I)/(J) store-barrier-load on both sides: no lost wake-up.  In the driver one lock
 *       provides both.
 *
 * Completed requests free their queue slots through status.sq.done and
 * status.rq.done.  The kernel publishes these with release before the event of the
 * completion, so a process that sees the event may post again.
 *
 * selftests/model models the protocol, and is checked with all barriers and with each
 * barrier removed.
 */
#ifndef _UAPI_RDMA_DAT_RING_H
#define _UAPI_RDMA_DAT_RING_H

#include <linux/types.h>

/* Operation codes of struct dat_sqe. */
enum dat_op {
	DAT_OP_INVALID		= 0,	/* an entry of zeros is malformed */
	DAT_OP_SEND		= 1,
	DAT_OP_RDMA_WRITE	= 2,
	DAT_OP_RDMA_READ	= 3,
	DAT_OP_RMR_BIND		= 4	/* execute a bind of DAT_IOC_RMR_BIND */
};

/* Flags of struct dat_sqe; the low byte has the values of DAT_COMPLETION_FLAGS. */
enum dat_sqe_flags {
	DAT_SQE_SUPPRESS	= 0x01,	/* no event if it succeeds */
	DAT_SQE_SOLICITED	= 0x02,	/* ask for a notification at the peer */
	DAT_SQE_UNSIGNALLED	= 0x04,	/* event without notification */
	DAT_SQE_FENCE		= 0x08	/* start after earlier RDMA reads ended */
};

/* Largest number of segments in one entry. */
#define DAT_MAX_SGE		30

/**
 * struct dat_sge - one segment of local memory
 * @addr: address in the process's terms
 * @lmr: lmr_context of the registration that covers it
 * @len: bytes; 0: the segment is skipped, and @addr and @lmr are ignored
 */
struct dat_sge {
	__u64 addr;
	__u32 lmr;
	__u32 len;
};

/**
 * struct dat_sqe - send queue entry
 * @opcode: enum dat_op
 * @num_sge: segments used
 * @flags: enum dat_sqe_flags
 * @rkey: rmr_context of the peer's memory (RDMA operations); ticket of
 *	DAT_IOC_RMR_BIND (binds); else 0
 * @cookie: returned in the completion
 * @raddr: address in the peer's terms (RDMA operations); id of the RMR (binds); else 0
 * @imm: reserved for immediate data, or the peer's key to invalidate; 0
 * @inline_len: reserved for bytes of inline data behind the entry; 0
 * @rsvd: must be 0
 *
 * Followed by the segments.  The stride of the queue is a power of two,
 * 1 << sq_shift bytes, chosen by the kernel at creation.
 *
 * Inline data, or the two operands of an atomic operation, will precede the segments.  An
 * entry with an opcode, a flag or a field that dat_ia_query does not announce is malformed.
 */
struct dat_sqe {
	__u8  opcode;
	__u8  num_sge;
	__u16 flags;
	__u32 rkey;
	__u64 cookie;
	__u64 raddr;
	__u32 imm;
	__u16 inline_len;
	__u16 rsvd;
};

/**
 * struct dat_rqe - receive queue entry of an EP or an SRQ
 * @cookie: returned in the completion
 * @rsvd: must be 0
 * @num_sge: segments used
 * @flags: 0 or DAT_SQE_UNSIGNALLED (never on an SRQ)
 * @rsvd2: must be 0
 *
 * Followed by the segments.
 */
struct dat_rqe {
	__u64 cookie;
	__u8  rsvd;
	__u8  num_sge;
	__u16 flags;
	__u32 rsvd2;
};

/* Event streams, as in dat_evd_create(3). */
enum dat_stream {
	DAT_STREAM_SOFTWARE	= 0x001,
	DAT_STREAM_CR		= 0x010,
	DAT_STREAM_DTO		= 0x020,
	DAT_STREAM_CONNECTION	= 0x040,
	DAT_STREAM_RMR_BIND	= 0x080,
	DAT_STREAM_ASYNC	= 0x100
};

/* Values of struct dat_eqe.type; numbers of DAT_EVENT_NUMBER. */
enum dat_event_type {
	DAT_EV_DTO			= 0x00001,
	DAT_EV_RMR_BIND			= 0x01001,
	DAT_EV_CR			= 0x02001,
	DAT_EV_ESTABLISHED		= 0x04001,
	DAT_EV_PEER_REJECTED		= 0x04002,
	DAT_EV_NON_PEER_REJECTED	= 0x04003,
	DAT_EV_ACCEPT_ERROR		= 0x04004,
	DAT_EV_DISCONNECTED		= 0x04005,
	DAT_EV_BROKEN			= 0x04006,
	DAT_EV_TIMED_OUT		= 0x04007,
	DAT_EV_UNREACHABLE		= 0x04008,
	DAT_EV_ASYNC_OVERFLOW		= 0x08001,
	DAT_EV_ASYNC_CATASTROPHIC	= 0x08002,
	DAT_EV_ASYNC_EP_BROKEN		= 0x08003,
	DAT_EV_ASYNC_TIMED_OUT		= 0x08004,
	DAT_EV_ASYNC_INTERNAL		= 0x08005,
	DAT_EV_SOFTWARE			= 0x10001
};

/* Values of struct dat_eqe.status for DTOs; numbers of DAT_DTO_COMPLETION_STATUS. */
enum dat_dto_status {
	DAT_ST_SUCCESS			= 0,
	DAT_ST_FLUSHED			= 1,
	DAT_ST_LOCAL_LENGTH		= 2,
	DAT_ST_LOCAL_EP			= 3,
	DAT_ST_LOCAL_PROTECTION		= 4,
	DAT_ST_BAD_RESPONSE		= 5,
	DAT_ST_REMOTE_ACCESS		= 6,
	DAT_ST_REMOTE_RESPONDER		= 7,
	DAT_ST_TRANSPORT		= 8,
	DAT_ST_RECEIVER_NOT_READY	= 9,
	DAT_ST_PARTIAL_PACKET		= 10,
	DAT_ST_RMR_FAILED		= 11
};

/* Flags of struct dat_eqe. */
enum dat_eqe_flags {
	DAT_EQE_RECV		= 0x1,	/* DTO: a receive, else a request */
	DAT_EQE_SRQ		= 0x2	/* DTO: the buffer came from the EP's SRQ */
};

/**
 * struct dat_eqe - one event
 * @type: enum dat_event_type
 * @status: DTO: enum dat_dto_status; async: the reason; else 0
 * @op: DTO: enum dat_op of a request; DAT_OP_INVALID of a receive, and of a request that has
 *	none because it was malformed; else 0
 * @flags: enum dat_eqe_flags
 * @owner: user_data of the object that the event is about: the EP (DTO,
 *	connection), the PSP (connection request), the failing object (async)
 * @cookie: DTO: cookie of the entry; connection request: connection qualifier;
 *	software: the value posted; async: enum dat_obj_type of the owner
 * @len: DTO: bytes transferred, 0 if it failed; connection request: id of the CR;
 *	connection: bytes of private data in dat_status
 * @imm: reserved for immediate data, or the key that the peer has invalidated; 0
 */
struct dat_eqe {
	__u32 type;
	__u8  status;
	__u8  op;
	__u16 flags;
	__u64 owner;
	__u64 cookie;
	__u32 len;
	__u32 imm;
};

/**
 * struct dat_submit - head of what a process writes for an EP or SRQ
 * @sq_tail: SQEs written so far (EP only)
 * @rq_tail: RQEs written so far (unused by an EP that has an SRQ)
 *
 * The tails live in different cache lines because different threads may post
 * sends and receives.  Entries follow at the offsets that creation returned.
 */
struct dat_submit {
	__u32 sq_tail;
	__u32 rsvd0[15];
	__u32 rq_tail;
	__u32 rsvd1[15];
};

/* Flags of struct dat_queue_status. */
enum dat_queue_flags {
	DAT_QUEUE_NEED_KICK	= 0x1	/* ioctl(DAT_IOC_KICK) once tail reaches kick_at */
};

/**
 * struct dat_queue_status - the kernel's view of one queue, a cache line
 * @done: entries completed since creation; their slots may be written again
 * @head: entries taken by the kernel
 * @flags: enum dat_queue_flags
 * @bad: entries that were malformed
 * @kick_at: tail from which on a post must kick, while NEED_KICK is set
 * @rsvd: 0
 */
struct dat_queue_status {
	__u32 done;
	__u32 head;
	__u32 flags;
	__u32 bad;
	__u32 kick_at;
	__u32 rsvd[11];
};

#define DAT_MAX_PRIVATE_DATA	256

/* States of an SRQ, as in DAT_SRQ_STATE.  ERROR: its tail was out of range. */
enum dat_srq_health {
	DAT_SRQ_OPERATIONAL	= 0,
	DAT_SRQ_ERROR		= 1
};

/**
 * struct dat_status - what the kernel writes for an EP or SRQ
 * @sq: the send queue
 * @rq: the receive queue
 * @state: DAT_EP_STATE of an EP, enum dat_srq_health of an SRQ
 * @pd_len: bytes valid in @pd
 * @lost: SRQ: number of buffers that completed without an event, because there was no EVD,
 *	the EVD was full, or a segment was invalid when posted to the device
 * @rsvd: 0
 * @pd: private data of the peer's accept or reject; complete before the connection event
 *	that reports it, valid until the EP is reset
 */
struct dat_status {
	struct dat_queue_status sq;
	struct dat_queue_status rq;
	__u32 state;
	__u32 pd_len;
	__u32 lost;
	__u32 rsvd[13];
	__u8  pd[DAT_MAX_PRIVATE_DATA];
};

/**
 * struct dat_evd_status - what the kernel writes for an EVD, besides the events
 * @tail: events written since creation
 * @dropped: events lost because the ring was full
 * @rsvd: 0
 */
struct dat_evd_status {
	__u32 tail;
	__u32 dropped;
	__u32 rsvd[14];
};

/**
 * struct dat_evd_head - what a process writes for an EVD
 * @head: events consumed since creation
 * @rsvd: ignored
 */
struct dat_evd_head {
	__u32 head;
	__u32 rsvd[15];
};

/* The layout is fixed: a change of it fails to compile. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define DAT_RING_ASSERT(cond) static_assert(cond, #cond)
#elif defined(__KERNEL__) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
#define DAT_RING_ASSERT(cond) _Static_assert(cond, #cond)
#else
#define DAT_RING_ASSERT_NAME2(line) dat_ring_assert_##line
#define DAT_RING_ASSERT_NAME(line) DAT_RING_ASSERT_NAME2(line)
#define DAT_RING_ASSERT(cond) \
	extern char DAT_RING_ASSERT_NAME(__LINE__)[(cond) ? 1 : -1]
#endif
#define DAT_RING_OFFSET(type, field, at) \
	DAT_RING_ASSERT(__builtin_offsetof(struct type, field) == (at))

DAT_RING_ASSERT(sizeof(struct dat_sge) == 16);
DAT_RING_OFFSET(dat_sge, addr, 0);
DAT_RING_OFFSET(dat_sge, lmr, 8);
DAT_RING_OFFSET(dat_sge, len, 12);
DAT_RING_ASSERT(sizeof(struct dat_sqe) == 32);
DAT_RING_OFFSET(dat_sqe, opcode, 0);
DAT_RING_OFFSET(dat_sqe, num_sge, 1);
DAT_RING_OFFSET(dat_sqe, flags, 2);
DAT_RING_OFFSET(dat_sqe, rkey, 4);
DAT_RING_OFFSET(dat_sqe, cookie, 8);
DAT_RING_OFFSET(dat_sqe, raddr, 16);
DAT_RING_OFFSET(dat_sqe, imm, 24);
DAT_RING_OFFSET(dat_sqe, inline_len, 28);
DAT_RING_OFFSET(dat_sqe, rsvd, 30);
DAT_RING_ASSERT(sizeof(struct dat_rqe) == 16);
DAT_RING_OFFSET(dat_rqe, cookie, 0);
DAT_RING_OFFSET(dat_rqe, rsvd, 8);
DAT_RING_OFFSET(dat_rqe, num_sge, 9);
DAT_RING_OFFSET(dat_rqe, flags, 10);
DAT_RING_OFFSET(dat_rqe, rsvd2, 12);
DAT_RING_ASSERT(sizeof(struct dat_eqe) == 32);
DAT_RING_OFFSET(dat_eqe, type, 0);
DAT_RING_OFFSET(dat_eqe, status, 4);
DAT_RING_OFFSET(dat_eqe, op, 5);
DAT_RING_OFFSET(dat_eqe, flags, 6);
DAT_RING_OFFSET(dat_eqe, owner, 8);
DAT_RING_OFFSET(dat_eqe, cookie, 16);
DAT_RING_OFFSET(dat_eqe, len, 24);
DAT_RING_OFFSET(dat_eqe, imm, 28);
DAT_RING_ASSERT(sizeof(struct dat_submit) == 128);
DAT_RING_OFFSET(dat_submit, sq_tail, 0);
DAT_RING_OFFSET(dat_submit, rsvd0, 4);
DAT_RING_OFFSET(dat_submit, rq_tail, 64);
DAT_RING_OFFSET(dat_submit, rsvd1, 68);
DAT_RING_ASSERT(sizeof(struct dat_queue_status) == 64);
DAT_RING_OFFSET(dat_queue_status, done, 0);
DAT_RING_OFFSET(dat_queue_status, head, 4);
DAT_RING_OFFSET(dat_queue_status, flags, 8);
DAT_RING_OFFSET(dat_queue_status, bad, 12);
DAT_RING_OFFSET(dat_queue_status, kick_at, 16);
DAT_RING_OFFSET(dat_queue_status, rsvd, 20);
DAT_RING_ASSERT(sizeof(struct dat_status) == 448);
DAT_RING_OFFSET(dat_status, sq, 0);
DAT_RING_OFFSET(dat_status, rq, 64);
DAT_RING_OFFSET(dat_status, state, 128);
DAT_RING_OFFSET(dat_status, pd_len, 132);
DAT_RING_OFFSET(dat_status, lost, 136);
DAT_RING_OFFSET(dat_status, rsvd, 140);
DAT_RING_OFFSET(dat_status, pd, 192);
DAT_RING_ASSERT(sizeof(struct dat_evd_status) == 64);
DAT_RING_OFFSET(dat_evd_status, tail, 0);
DAT_RING_OFFSET(dat_evd_status, dropped, 4);
DAT_RING_OFFSET(dat_evd_status, rsvd, 8);
DAT_RING_ASSERT(sizeof(struct dat_evd_head) == 64);
DAT_RING_OFFSET(dat_evd_head, head, 0);
DAT_RING_OFFSET(dat_evd_head, rsvd, 4);

#endif /* _UAPI_RDMA_DAT_RING_H */
