/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause) */
/* Copyright (c) The dat authors */
/*
 * Shared pages of /dev/dat: queue entries, event entries, indices, doorbells.
 *
 * Pages that the process writes are mapped read-write.  The kernel does not trust these pages:
 * it copies an entry once into private memory and checks the copy.  The kernel writes to only
 * one of these regions, the doorbell region, where it clears dirty bits with an atomic
 * exchange.  Pages that the kernel writes are mapped read-only for the process, and the kernel
 * never reads them back.
 *
 *   object   process writes ("submit")            kernel writes ("status", "ring")
 *   ------   ----------------------------------   -------------------------------
 *   file     dirty bits                           -
 *   EP       struct dat_submit, SQEs, RQEs        struct dat_status
 *   SRQ      struct dat_submit, RQEs              struct dat_status
 *   EVD      struct dat_evd_head                  struct dat_evd_status; events
 *
 * One mapping contains the memory of many objects.  struct dat_span gives the place of an
 * object's memory in its mapping.
 *
 * The kernel ignores the reserved fields of struct dat_submit and struct dat_evd_head.  A later
 * kernel will read a reserved field only if the process sets a flag when it creates the object.
 *
 * The doorbell region is an array of __u32, with a dirty bit for each queue.  Queue n, as
 * returned by the creation of an object, has bit (n % 32) of word (n / 32).  DAT_IOC_IA_OPEN
 * returns the number of queues.
 *
 * Indices are free-running 32-bit counters.  The slot of an index is "index & (entries - 1)".
 * The fill level is "producer - consumer", also across the wrap at 2^32.
 *
 * The protocol
 * ============
 *
 * Posting (the process is the producer, the kernel's pump is the consumer):
 *
 *   process                                  kernel pump
 *   -------                                  -----------
 *   write entry[tail & mask]
 *   submit.tail = tail + 1        (A)        n = submit.tail - head       (D)
 *   full barrier                  (B)        copy, check, post n entries
 *   if status.flags & NEED_KICK and          if a completion in flight or the
 *      tail has reached kick_at                poller will pump again: leave
 *     ioctl(DAT_IOC_KICK, queue + 1)         status.kick_at = head + m
 *   else if the queue's dirty bit is         status.flags |= NEED_KICK
 *      clear, set it                         full barrier                 (E)
 *                                            if submit.tail has reached
 *                                              kick_at: again             (D)
 *
 *   kick: pump the queue
 *   poller: take the dirty words with        (F)
 *         an exchange (full barrier),
 *         then pump the queue of each
 *         set bit
 *
 *   Without DAT_FEATURE_WORDS, the process sets the dirty bit before the kick and calls
 *   ioctl(DAT_IOC_KICK, 0), which does what the poller does.  Every kernel accepts this, also from
 *   a process that sets the bit before the load of NEED_KICK, if a full barrier (C) follows the
 *   store of the bit.
 *
 *   If nothing is in flight that will complete by itself, the pump asks for a kick at the next
 *   entry (m = 1).  If few receives are in flight, the pump asks for a kick after several
 *   entries, so that one system call posts several receives before the queue runs empty.
 *   Over iWARP, and if the EP notifies for solicited receives only, the pump asks for a kick at
 *   the next receive while the device has room.  Over iWARP it does so beside the poller too.
 *   A post may leave out the kick if another post follows that does not.
 *   "tail has reached kick_at" means (int)(tail - kick_at) >= 0.
 *
 *   (A) store-release: pairs with the load-acquire at (D).  If the pump sees the new tail,
 *       it also sees the entry.
 *   (B) orders the store of the tail before the loads of NEED_KICK and of the dirty bit.
 *       If the process sees the bit set, the exchange at (F) comes later, and the kernel
 *       then sees the new tail.
 *       (B) and (E) are store-barrier-load on both sides: the process sees NEED_KICK and
 *       kicks, or the pump sees the new tail, or both.
 *   (C) orders the store of the dirty bit before the load of NEED_KICK.  If the bit was
 *       already set, (C) is not needed.
 *       A kick with the argument 0 finds the bit that the calling thread has set, unless
 *       another kick or the poller has taken the bit and pumps the queue.  Over iWARP the kick
 *       then waits for that thread.
 *   (F) pairs with (B).  While the poller is awake, the pump does not set NEED_KICK (except
 *       for receives over iWARP), so only (B) and (F) ensure that the kernel sees the new tail.
 *       Before the poller sleeps, it pumps every queue, even if no bit is set.
 *   The kernel stores NEED_KICK with release after kick_at.  The process loads NEED_KICK with
 *   acquire before kick_at.
 *
 * Completions (the kernel is the producer, the process is the consumer):
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
 *   (H)/(K) release/acquire: if the process sees the new tail, it sees the whole event.
 *   (L)/(G) release/acquire: if the kernel sees the new head, the process has read the event,
 *       so the kernel may write to the slot.
 *   (I)/(J) store-barrier-load on both sides: no wake-up is lost.  In the driver, one lock
 *       provides both barriers.
 *
 * The kernel frees the slots of completed entries by status.sq.done and status.rq.done.  It
 * stores these counters with release before it writes the completion event.  So a process that
 * sees the event may post again.
 *
 * selftests/model contains a model of the protocol.  The tests check the model with all
 * barriers, and with each barrier removed.
 */
#ifndef _UAPI_RDMA_DAT_RING_H
#define _UAPI_RDMA_DAT_RING_H

#include <linux/types.h>

/*
 * Operation codes of struct dat_sqe.  DAT_OP_INVALID makes an entry of zeros malformed.
 * DAT_OP_RMR_BIND executes a bind that DAT_IOC_RMR_BIND has prepared.
 */
enum dat_op {
	DAT_OP_INVALID		= 0,
	DAT_OP_SEND		= 1,
	DAT_OP_RDMA_WRITE	= 2,
	DAT_OP_RDMA_READ	= 3,
	DAT_OP_RMR_BIND		= 4
};

/*
 * Flags of struct dat_sqe.  The low byte has the values of DAT_COMPLETION_FLAGS.  A notification
 * event wakes a waiting thread or triggers a CNO; other events are only queued.
 *
 * SUPPRESS:    the entry has no event if it succeeds
 * SOLICITED:   the receive at the peer is a notification event, even if the peer waits for
 *              solicited events only
 * UNSIGNALLED: the event of an entry that succeeds is not a notification event
 * FENCE:       the entry starts after all earlier RDMA reads have completed
 * IMM:         the send or RDMA write carries immediate data, see @imm; only if the EP has
 *              DAT_EP_FLAG_IMMEDIATE.  The values 0x10 and 0x100 are flags of DAT in libdat
 */
enum dat_sqe_flags {
	DAT_SQE_SUPPRESS	= 0x01,
	DAT_SQE_SOLICITED	= 0x02,
	DAT_SQE_UNSIGNALLED	= 0x04,
	DAT_SQE_FENCE		= 0x08,
	DAT_SQE_IMM		= 0x200
};

/* Largest number of segments in one entry. */
#define DAT_MAX_SGE		30

/* Largest number of bytes of inline data in one entry.  An adapter may allow fewer. */
#define DAT_MAX_INLINE		96

/**
 * struct dat_sge - one segment of local memory
 * @addr: address of the segment in the process's address space
 * @lmr: lmr_context of the registration that contains the segment
 * @len: bytes; 0: the kernel skips the segment and ignores @addr and @lmr
 */
struct dat_sge {
	__u64 addr;
	__u32 lmr;
	__u32 len;
};

/**
 * struct dat_sqe - send queue entry
 * @opcode: enum dat_op
 * @num_sge: number of segments
 * @flags: enum dat_sqe_flags
 * @rkey: rmr_context of the peer's memory (RDMA operations); ticket of
 *	DAT_IOC_RMR_BIND (binds); else 0
 * @cookie: value that the completion event returns
 * @raddr: address in the peer's memory (RDMA operations); id of the RMR (binds); else 0
 * @imm: with DAT_SQE_IMM, the immediate data: a number in the byte order of the host, and in
 *	network byte order on the wire; else 0
 * @inline_len: number of bytes of inline data that follow the entry; at most @max_inline of the
 *	EP, see struct dat_ep_create.  0: the entry has no inline data
 * @rsvd: must be 0
 *
 * An array of struct dat_sge follows the entry.  Entries are 1 << sq_shift bytes apart; the
 * kernel chooses sq_shift when it creates the queue.
 *
 * The entry of a send or of an RDMA write may have inline data instead of segments; @num_sge is 0
 * then.  The kernel transmits the bytes as they are in the entry.  The memory from which the
 * process has copied them need not be registered.
 *
 * A send or an RDMA write with immediate data consumes a receive of the peer.  The peer's EP must
 * have DAT_EP_FLAG_IMMEDIATE, too: otherwise the receive fails and the connection breaks.
 *
 * In a later version, the two operands of an atomic operation may precede the segments.  An entry
 * is malformed if it has an opcode, a flag or a field that dat_ia_query does not report as
 * supported.
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
 * @cookie: value that the completion event returns
 * @rsvd: must be 0
 * @num_sge: number of segments
 * @flags: 0 or DAT_SQE_UNSIGNALLED; 0 on an SRQ
 * @rsvd2: must be 0
 *
 * An array of struct dat_sge follows the entry.
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

/* Values of @type in struct dat_eqe.  DAT_EVENT_NUMBER has the same numbers. */
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

/*
 * Values of @status in struct dat_eqe for DTOs.  DAT_DTO_COMPLETION_STATUS has the same numbers.
 */
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

/*
 * Flags of struct dat_eqe for DTOs.  RECV: the DTO is a receive; without RECV, the DTO is a
 * request.  SRQ: the receive's buffer came from the EP's SRQ.  IMM: the event has immediate data;
 * only with RECV, and only if the DTO succeeded.  WRITE: an RDMA write has sent the immediate data,
 * so the receive's buffer is unchanged; only with IMM.
 */
enum dat_eqe_flags {
	DAT_EQE_RECV		= 0x1,
	DAT_EQE_SRQ		= 0x2,
	DAT_EQE_IMM		= 0x4,
	DAT_EQE_WRITE		= 0x8
};

/**
 * struct dat_eqe - one event
 * @type: enum dat_event_type
 * @status: DTO: enum dat_dto_status; async: the reason; else 0
 * @op: DTO: enum dat_op of a request, DAT_OP_INVALID for a receive or a malformed request;
 *	else 0
 * @flags: enum dat_eqe_flags
 * @owner: user_data of the object that the event concerns: the EP (DTO, connection), the RMR
 *	(bind), the PSP (connection request), the failing object (async)
 * @cookie: DTO: cookie of the entry; connection request: connection qualifier;
 *	software: the value posted; async: enum dat_obj_type of the owner
 * @len: DTO: bytes transferred, with DAT_EQE_WRITE those of the RDMA write, 0 if the DTO failed;
 *	connection request: id of the CR; connection: bytes of private data in dat_status
 * @imm: with DAT_EQE_IMM, the immediate data; else 0
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
 * struct dat_submit - start of the memory that a process writes for an EP or SRQ
 * @sq_tail: number of SQEs written so far (EP only)
 * @rq_tail: number of RQEs written so far (unused for an EP that has an SRQ)
 * @rsvd0: ignored
 * @rsvd1: ignored
 *
 * The tails are in different cache lines, because different threads may post sends and
 * receives.  The entries follow, at the offsets that the creation of the object returned.
 */
struct dat_submit {
	__u32 sq_tail;
	__u32 rsvd0[15];
	__u32 rq_tail;
	__u32 rsvd1[15];
};

/* Flags of struct dat_queue_status.  NEED_KICK: call DAT_IOC_KICK once the tail reaches kick_at. */
enum dat_queue_flags {
	DAT_QUEUE_NEED_KICK	= 0x1
};

/**
 * struct dat_queue_status - the kernel's state of one queue, in one cache line
 * @done: number of entries completed since creation; the process may write to their slots again
 * @head: number of entries that the kernel has taken
 * @flags: enum dat_queue_flags
 * @bad: number of entries that were malformed
 * @kick_at: while NEED_KICK is set, a post must kick if the tail has reached this index
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

/* States of an SRQ, as in DAT_SRQ_STATE.  ERROR: the process wrote a tail that is out of range. */
enum dat_srq_health {
	DAT_SRQ_OPERATIONAL	= 0,
	DAT_SRQ_ERROR		= 1
};

/**
 * struct dat_status - memory that the kernel writes for an EP or SRQ
 * @sq: the send queue
 * @rq: the receive queue
 * @state: DAT_EP_STATE of an EP, enum dat_srq_health of an SRQ
 * @pd_len: number of valid bytes in @pd
 * @lost: SRQ: number of buffers that completed without an event, because the EP had no EVD,
 *	the EVD was full, or a segment was invalid when the kernel posted it to the device
 * @rsvd: 0
 * @pd: private data of the peer's accept or reject; written before the connection event, and
 *	valid until the EP is reset
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
 * struct dat_evd_status - memory that the kernel writes for an EVD, in addition to the events
 * @tail: number of events written since creation
 * @dropped: number of events lost because the ring was full
 * @rsvd: 0
 */
struct dat_evd_status {
	__u32 tail;
	__u32 dropped;
	__u32 rsvd[14];
};

/**
 * struct dat_evd_head - memory that a process writes for an EVD
 * @head: number of events consumed since creation
 * @rsvd: ignored
 */
struct dat_evd_head {
	__u32 head;
	__u32 rsvd[15];
};

/* The layout is part of the ABI: if a member moves, these assertions fail to compile. */
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
