/* SPDX-License-Identifier: GPL-2.0 */
/* Queues of work requests: what a face posts, and the record of what the device has. */
#ifndef _DAT_QUEUE_H
#define _DAT_QUEUE_H

#include <rdma/ib_verbs.h>

#include "core/dat.h"
#include "core/ring.h"

struct dat_bind;
struct dat_conn;
struct dat_ep;
struct dat_failure;
struct dat_lmr;
struct dat_pz;
union dat_send_wr;

#define DAT_MAX_DTO		65536
#define DAT_BATCH		16	/* WRs in one chain */
#define DAT_MIN_SQ		(DAT_BATCH + 1)	/* WRs of the smallest SQ, one for a drain */
#define DAT_SLICE		128	/* entries processed before a lock is dropped */
#define DAT_SILENT_WRS		8	/* every 8th WR of a chain is signalled */
#define DAT_SILENT_BYTES	16384	/* consecutive unsignalled WRs transfer fewer bytes */
#define DAT_NO_BELL		U32_MAX

/* Kernel-only opcodes, numbered after enum dat_op. */
enum dat_kop {
	DAT_KOP_LMR_FMR		= DAT_OP_LAST,
	DAT_KOP_LMR_INVALIDATE,
	DAT_KOP_READ_TO_RMR,		/* the segment names an RMR's key instead of an LMR */
	DAT_KOP_LAST
};

/* In raddr of an invalidation, with the id of the LMR: wait for all earlier requests. */
#define DAT_KOP_FENCE		BIT_ULL(32)

/* In raddr of a kernel consumer's send: the send invalidates the peer's key in rkey. */
#define DAT_KOP_SEND_INVALIDATE	BIT_ULL(33)

/**
 * struct dat_wr - private copy of a work request, which the producer cannot change
 * @op: enum dat_op or enum dat_kop; unused for receives
 * @flags: enum dat_sqe_flags bits; of a request also its opcode, for the event; see dat_flags_op()
 * @num_sge: number of segments
 * @rkey: peer's key, for RDMA operations
 * @cookie: consumer's cookie
 * @raddr: peer's address, for RDMA operations
 * @len: bytes of all segments, set by dat_wr_to_sge()
 * @sge: segments
 */
struct dat_wr {
	u8		op;
	u8		flags;
	u8		num_sge;
	u32		rkey;
	u64		cookie;
	u64		raddr;
	u64		len;
	struct dat_sge	sge[DAT_MAX_SGE];
};

/**
 * struct dat_slot - the kernel's record of a posted work request
 * @cqe: member that leads from the completion to the slot
 * @early: entry in conn->early while a receive waits for conn->live
 * @cookie: copy of the entry's cookie; shared memory is never read again
 * @len: bytes posted; once a receive has completed, bytes received
 * @flags: flags of the entry
 * @status: enum dat_dto_status of an early receive
 * @recv: flag: a receive, not a request; constant
 * @at: low 16 bits of a request's index; unique in a queue, which has at most DAT_MAX_DTO entries
 * @rkey: key that the peer has invalidated with a receive, or 0
 * @lmr: LMR of an FMR request, see fmr.c; undefined for other requests
 */
struct dat_slot {
	struct ib_cqe		cqe;
	struct list_head	early;
	u64			cookie;
	u32			len;
	u8			flags;
	u8			status;
	bool			recv;
	u16			at;
	u32			rkey;
	struct dat_lmr		*lmr;
};

/**
 * struct dat_completion - completion of a work request, as a transport reports it
 * @slot: slot of the work request
 * @len: bytes received; successful receives only
 * @rkey: key that the peer has invalidated with the message, or 0; receives only
 * @status: enum dat_dto_status
 */
struct dat_completion {
	struct dat_slot		*slot;
	u32			len;
	u32			rkey;
	u8			status;
};

/**
 * struct dat_queue - a send, receive or shared receive queue
 * @ops: operations of the ring, which is either shared with a process or private to the kernel
 * @ring: ring; only the ring.c of each folder accesses its members
 * @obj: EP or SRQ of the queue
 * @entries: number of entries of the ring, a power of two
 * @window: number of entries that may be in flight, at most @entries; set when a connection
 *	gets its QP
 * @head: number of entries taken so far
 * @done: number of entries completed so far; head - done are in flight
 * @peak: largest head - done of this connection; bounds the low-water mark
 * @bad: number of malformed entries
 * @armed: number of further entries after which the producer kicks; 0: NEED_KICK is clear
 * @broken: flag: the producer's index was invalid, so no more entries are taken
 * @frozen: flag: the ring is being replaced, so no entries are taken
 * @kernel: flag: no process maps the ring; each post runs the pump, so no kick is needed
 * @bell: bit in the doorbell region, or DAT_NO_BELL; used by the user face alone
 *
 * The lock of the owner, ep->lock or srq->lock, protects all members except @bell.
 */
struct dat_queue {
	const struct dat_queue_ops *ops;
	struct dat_subring	ring;
	struct dat_obj		*obj;
	u32			entries;
	u32			window;
	u32			head;
	u32			done;
	u32			peak;
	u32			bad;
	u32			armed;
	bool			broken;
	bool			frozen;
	bool			kernel;
	u32			bell;
};

/**
 * struct dat_queue_ops - operations of a source of work requests
 * @fetch: take the entry at head into @wr; return 1 if an entry was taken, 0 if there is none,
 *	-EBADMSG if it is malformed (the cookie is valid), -EOVERFLOW if the producer's index is
 *	out of range
 * @put: append a request of a kernel consumer; return false if the ring is full or being replaced
 * @publish: make head, done, bad and NEED_KICK visible to the producer
 * @pending: return the number of entries posted and not taken; an index out of range counts as a
 *	full ring
 * @arm: ask for a kick after @after more entries, then check the ring again; return true if
 *	they are in the ring already
 * @disarm: clear NEED_KICK
 */
struct dat_queue_ops {
	int	(*fetch)(struct dat_queue *q, struct dat_wr *wr);
	bool	(*put)(struct dat_queue *q, const struct dat_wr *wr);
	void	(*publish)(struct dat_queue *q);
	u32	(*pending)(const struct dat_queue *q);
	bool	(*arm)(struct dat_queue *q, u32 after);
	void	(*disarm)(struct dat_queue *q);
};

#define DAT_FLAGS_OP_SHIFT	4	/* position of the opcode in the flags of struct dat_wr */
static_assert(DAT_SQE_FLAGS_ALL < 1 << DAT_FLAGS_OP_SHIFT);

/* Returns the opcode in the flags of a request; 0 for a receive. */
static inline u8 dat_flags_op(u8 flags)
{
	return flags >> DAT_FLAGS_OP_SHIFT;
}

static inline u8 dat_flags_with_op(u8 op, u8 flags)
{
	return flags | op << DAT_FLAGS_OP_SHIFT;
}

/*
 * Returns true if a kernel consumer's ring is empty.  Returns false for a shared ring, whose
 * indices only its fetch() may read.
 */
static inline bool dat_kring_idle(const struct dat_queue *q)
{
	return q->kernel && *q->ring.tail == q->head;
}

/* Counts an entry that was posted past an empty ring as written and taken. */
static inline void dat_kring_pass(struct dat_queue *q)
{
	*(u32 *)q->ring.tail = ++q->head;
}

/* Avoids an indirect call for a kernel consumer, which reads no published indices. */
static inline void dat_queue_publish(struct dat_queue *q)
{
	if (!q->kernel)
		q->ops->publish(q);
}

/**
 * struct dat_flush - number of entries that a flush may still take
 * @sq: requests
 * @rq: receives
 *
 * Both begin with the size of the ring, so a producer that keeps posting cannot prolong the flush.
 */
struct dat_flush {
	u32 sq, rq;
};

/* queue.c */
void dat_queue_init(struct dat_queue *q, struct dat_obj *obj, u32 entries);
int dat_queue_post(struct dat_ep *ep, u64 limit);
int dat_queue_post_recv(struct dat_ep *ep, u64 limit);
void dat_queue_pump_sq(struct dat_conn *conn);
bool dat_queue_pump_rq(struct dat_conn *conn);
void dat_queue_disarm(struct dat_queue *q);
bool dat_queue_arm(struct dat_queue *q, u32 after);
u32 dat_queue_kick_after(const struct dat_queue *q);
void dat_queue_break(struct dat_ep *ep, struct dat_queue *q);
void dat_wr_to_bind(const struct dat_wr *wr, struct dat_bind *bind);

/* flush.c */
void dat_queue_flush_begin(struct dat_ep *ep, struct dat_flush *f);
bool dat_queue_flush(struct dat_ep *ep, struct dat_flush *f);
void dat_queue_forget(struct dat_ep *ep);
bool dat_queue_flush_silent(struct dat_conn *conn);
void dat_queue_flush_bind(struct dat_conn *conn);
void dat_queue_fail_one(struct dat_ep *ep, struct dat_queue *q, struct dat_failure *f);

/* wr.c */

/* Returns the IB_SEND_* flags for enum dat_sqe_flags bits. */
static inline int dat_wr_send_flags(u8 flags)
{
	return (flags & DAT_SQE_SOLICITED ? IB_SEND_SOLICITED : 0) |
	       (flags & DAT_SQE_FENCE ? IB_SEND_FENCE : 0);
}

int dat_wr_to_sge(struct dat_pz *pz, struct dat_wr *wr, u32 max_sge, bool write,
		  struct ib_sge *sge);
int dat_wr_build_send(struct dat_conn *conn, union dat_send_wr *out, struct ib_sge *sge,
		      u32 *len);
int dat_wr_build_recv(struct dat_conn *conn, struct ib_recv_wr *out, struct ib_sge *sge,
		      u32 *len);
u8 dat_wr_error(int err);

#endif /* _DAT_QUEUE_H */
