/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Queues of work requests: the rings into which consumers post, and records of posted requests. */
#ifndef _DAT_QUEUE_H
#define _DAT_QUEUE_H

#include <rdma/ib_verbs.h>

#include "core/dat.h"
#include "core/ep/ring.h"
#include "core/stats.h"

struct dat_bind;
struct dat_conn;
struct dat_ep;
struct dat_failure;
struct dat_lmr;
struct dat_pz;
union dat_send_wr;

#define DAT_MAX_DTO		65536
#define DAT_BATCH		16	/* largest number of WRs in a chain */
/* WRs of the SQ for dat_queue_mark() and for a drain; mlx5 leaves a third one unused. */
#define DAT_SQ_MARKERS		3
/* An SQ that is too long is not shortened below this: a chain, and the markers. */
#define DAT_MIN_SQ		(DAT_BATCH + DAT_SQ_MARKERS)
#define DAT_SLICE		128	/* entries processed before the lock is dropped */
#define DAT_SILENT_WRS		8	/* a run of unsignalled WRs of a chain has fewer WRs */
#define DAT_SILENT_TAIL		16	/* a run of suppressed ones that owe no event has fewer */
#define DAT_SILENT_BYTES	16384	/* a run of unsignalled WRs has fewer bytes */
#define DAT_NO_BELL		U32_MAX

/* Opcodes for kernel consumers only.  The numbers follow those of enum dat_op. */
enum dat_kop {
	DAT_KOP_LMR_FMR		= DAT_OP_LAST,
	DAT_KOP_LMR_INVALIDATE,
	DAT_KOP_READ_TO_RMR,		/* the segment's lmr is the rkey of an RMR */
	DAT_KOP_LAST
};

/*
 * Flag in dat_wr.raddr of an LMR invalidation, beside the id of the LMR: the invalidation waits
 * until all earlier requests have completed.
 */
#define DAT_KOP_FENCE		BIT_ULL(32)

/*
 * Value of dat_wr.raddr of a kernel consumer's send: the send invalidates the peer's key
 * dat_wr.rkey.
 */
#define DAT_KOP_SEND_INVALIDATE	BIT_ULL(33)

/* Private copy of a work request, which the producer of the ring cannot change. */
struct dat_wr {
	u8		op;			/* enum dat_op or dat_kop; 0 for a receive */
	u8		flags;			/* enum dat_sqe_flags, and opcode: dat_flags_op() */
	u8		num_sge;
	u8		inline_len;		/* bytes of @inline_data; 0: the data are in @sge */
	bool		with_imm;		/* request: carries @imm; undefined for a receive */
	u32		imm;			/* immediate data, in the byte order of the host */
	u32		rkey;			/* RDMA, invalidation: peer's key; bind: ticket */
	u64		cookie;
	u64		raddr;			/* RDMA: peer's address; else: id of RMR or LMR */
	u64		len;			/* bytes of all segments; set by dat_wr_to_sge() */
	const u8	*inline_data;		/* in dat_epring.inline_data */
	struct dat_sge	sge[DAT_MAX_SGE];
};

static_assert(DAT_MAX_INLINE <= U8_MAX);	/* dat_wr.inline_len */

/* Kinds of the value that a message brings beside its bytes. */
enum dat_extra_kind {
	DAT_EXTRA_NONE,
	DAT_EXTRA_KEY,		/* key that the message has invalidated */
	DAT_EXTRA_IMM,		/* immediate data of a send */
	DAT_EXTRA_WRITE,	/* immediate data of an RDMA write, which wrote to other memory */
};

struct dat_extra {
	u32	value;		/* key, or immediate data in the byte order of the host */
	u8	kind;		/* enum dat_extra_kind */
};

/**
 * struct dat_slot - the kernel's record of a posted work request
 * @cqe: member to which the completion of the device points
 * @early: entry in conn->early, for a receive that completes before conn->live is set
 * @cookie: cookie of the entry; a copy, because the process may change the entry in shared memory
 * @len: number of bytes posted; for a completed receive, number of bytes received
 * @flags: flags of the entry
 * @status: enum dat_dto_status of a receive in conn->early
 * @recv: flag: the slot is for a receive, not for a request; constant
 * @at: low 16 bits of the request's index in the send queue, which differ for all requests in
 *	flight, because at most DAT_MAX_DTO are in flight; unused for receives
 * @extra_kind: enum dat_extra_kind of a completed receive
 * @extra_value: key or immediate data of a completed receive, see struct dat_extra
 * @lmr: LMR that an FMR request binds or invalidates, see fmr.c; NULL for DAT_KOP_READ_TO_RMR;
 *	undefined for other requests
 */
struct dat_slot {
	struct ib_cqe		cqe;
	struct list_head	early;
	u64			cookie;
	u32			len;
	u8			flags;
	u8			status;
	bool			recv;
	u8			extra_kind;
	u16			at;
	u32			extra_value;
	struct dat_lmr		*lmr;
};

/* Completion of a work request, as a transport reports it. */
struct dat_completion {
	struct dat_slot		*slot;
	u32			len;	/* bytes received; of a successful receive only */
	struct dat_extra	extra;	/* of a receive; kind DAT_EXTRA_NONE for a request */
	u8			status;	/* enum dat_dto_status */
	/*
	 * Flag: earlier requests without a completion of their own count as flushed, not as
	 * successful.  Ignored for a receive.
	 */
	bool			unproven;
};

/**
 * struct dat_queue - a send, receive or shared receive queue
 * @ops: operations of the ring, which is either shared with a process or private to the kernel
 * @ring: part of the ring memory that belongs to this queue
 * @obj: base object of the EP or SRQ that owns the queue
 * @entries: number of entries of the ring, a power of two
 * @window: largest number of entries that may be in flight; set by dat_conn_set_windows(), for an
 *	SRQ by dat_srq_create()
 * @head: index of the next entry that the pump takes from the ring
 * @done: index of the oldest entry that has not completed; @head - @done entries are in flight.
 *	The buffers of an SRQ complete in any order, so there only the difference has a meaning.
 * @peak: largest number of receives that were in flight at the same time, since the last
 *	dat_ep_reset(), or since the SRQ was created; used by dat_queue_kick_after()
 * @bad: number of entries that were malformed, or that the device refused to take; plus 1 if
 *	@broken
 * @posts: number of entries that were taken from the ring
 * @kicks: number of visits by a kick, or because of the doorbell bit, plus visits by a poller that
 *	stops, because such a poller visits every queue
 * @armed: number of entries in the ring at which the producer must kick; 0 while NEED_KICK is clear
 * @broken: flag: the producer's index was out of range, so no more entries are taken
 * @frozen: flag: the ring is being replaced, so no entries are taken
 * @kernel: flag: a kernel consumer owns the ring, so no process maps the ring, and each post runs
 *	the pump without a kick
 * @bell: number of the queue's bit in the doorbell region, or DAT_NO_BELL; only the user face uses
 *	this member
 *
 * The lock of the owner (ep->lock or srq->lock) protects all members except @bell.
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
	u64			bad;
	u64			posts;
	u64			kicks;
	u32			armed;
	bool			broken;
	bool			frozen;
	bool			kernel;
	u32			bell;
};

/**
 * struct dat_queue_ops - operations of a ring of work requests, per face
 * @fetch: copy the entry at q->head to @wr and advance q->head; return the number of entries that
 *	the ring held before; 0 if the ring is empty; -EBADMSG if the entry is malformed, in which
 *	case @wr is valid except its segments; -EOVERFLOW if the producer's index is out of range
 * @put: append a work request of a kernel consumer to the ring; return false if the ring is full or
 *	being replaced; only in the kernel face
 * @publish: write q->head, q->done and q->bad to the memory that the producer reads; optional
 * @pending: return the number of entries that are posted and not taken; if the producer's index is
 *	out of range, return the length of the ring
 * @arm: set NEED_KICK, so that the producer kicks once the ring holds @after entries that are not
 *	taken; then check the ring again, and return true if the ring already holds that many
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

#define DAT_FLAGS_OP_SHIFT	4	/* shift of the opcode in dat_wr.flags */
static_assert(DAT_SQE_FLAGS_ALL < 1 << DAT_FLAGS_OP_SHIFT);

/* Returns the opcode that dat_flags_with_op() has stored in a request's flags; 0 for a receive. */
static inline u8 dat_flags_op(u8 flags)
{
	return flags >> DAT_FLAGS_OP_SHIFT;
}

static inline u8 dat_flags_with_op(u8 op, u8 flags)
{
	return flags | op << DAT_FLAGS_OP_SHIFT;
}

/*
 * Returns true if the consumer gets an event even if the request succeeds, or if its success has
 * another effect.
 */
static inline bool dat_slot_owes_event(const struct dat_slot *slot)
{
	return !(slot->flags & DAT_SQE_SUPPRESS) || dat_flags_op(slot->flags) >= DAT_OP_LAST;
}

/*
 * Returns true if the ring of a kernel consumer is empty.  Returns false for a ring of a process,
 * because only the operations of the user face may read the index that the process writes.
 */
static inline bool dat_kring_idle(const struct dat_queue *q)
{
	return q->kernel && *q->ring.tail == q->head;
}

/*
 * Advances both indices of an empty ring by one, for an entry that is posted to the device without
 * being written to the ring.
 */
static inline void dat_kring_pass(struct dat_queue *q)
{
	*q->ring.tail = ++q->head;
}

/* Publishes the indices to a process.  A kernel consumer does not need the indices. */
static inline void dat_queue_publish(struct dat_queue *q)
{
	if (q->ops->publish)
		q->ops->publish(q);
}

/* Counts @n entries of @q that were taken from the ring.  Called with the queue's lock held. */
static inline void dat_queue_count_posts(struct dat_queue *q, enum dat_stat which, u32 n)
{
	if (!n)
		return;
	q->posts += n;
	dat_stat_add(q->obj->ia, which, n);
}

/* Counts a kick of the queue.  Called with the queue's lock held. */
static inline void dat_queue_count_kick(struct dat_queue *q)
{
	q->kicks++;
	dat_stat_add(q->obj->ia, DAT_STAT_KICKS, 1);
}

/*
 * Counts an entry that was malformed or refused, or an index that is out of range.  Called with the
 * queue's lock held.
 */
static inline void dat_queue_count_bad(struct dat_queue *q)
{
	q->bad++;
	dat_stat_add(q->obj->ia, DAT_STAT_MALFORMED, 1);
}

/*
 * Largest numbers of entries that a flush may still take.  The numbers start as the lengths of the
 * rings, so the flush ends even if the producer keeps posting.
 */
struct dat_flush {
	u32 sq, rq;
};

/* queue.c */
void dat_queue_init(struct dat_queue *q, struct dat_obj *obj, u32 entries);
void dat_queue_assert_held(const struct dat_queue *q);
int dat_queue_post(struct dat_ep *ep, u64 limit);
int dat_queue_post_recv(struct dat_ep *ep, u64 limit);
void dat_queue_update_open(struct dat_ep *ep);
void dat_queue_pump_sq(struct dat_conn *conn, bool kicked);
bool dat_queue_pump_rq(struct dat_conn *conn);
void dat_queue_kick(struct dat_ep *ep, struct dat_queue *q);
void dat_queue_mark(struct dat_conn *conn);
void dat_queue_mark_done(struct dat_conn *conn, u8 status);
void dat_queue_report(struct dat_ep *ep);
void dat_queue_process(struct dat_ep *ep, struct dat_queue *q);
void dat_queue_disarm(struct dat_queue *q);
bool dat_queue_arm(struct dat_queue *q, u32 after);
bool dat_queue_slice(struct dat_queue *q, u32 *slices);
u32 dat_queue_kick_after(const struct dat_queue *q);
void dat_queue_break(struct dat_ep *ep, struct dat_queue *q);
void dat_wr_to_bind(const struct dat_wr *wr, struct dat_bind *bind);

/* flush.c */
void dat_queue_flush_begin(struct dat_ep *ep, struct dat_flush *f);
bool dat_queue_flush(struct dat_ep *ep, struct dat_flush *f);
void dat_queue_flush_all(struct dat_ep *ep);
void dat_queue_forget(struct dat_ep *ep);
bool dat_queue_flush_silent(struct dat_conn *conn);
bool dat_queue_flush_recvs(struct dat_conn *conn);
void dat_queue_flush_bind(struct dat_conn *conn);
void dat_queue_fail_one(struct dat_ep *ep, struct dat_queue *q, struct dat_failure *f);

/* wr.c */

static inline int dat_wr_send_flags(u8 flags)
{
	return (flags & DAT_SQE_SOLICITED ? IB_SEND_SOLICITED : 0) |
	       (flags & DAT_SQE_FENCE ? IB_SEND_FENCE : 0);
}

/*
 * Fills in a request that has segments.  The caller sets the members next, wr_cqe and send_flags.
 * Sets remote_addr and rkey for every opcode, although only RDMA operations use these members.
 */
static __always_inline void dat_wr_fill(struct ib_rdma_wr *out, enum ib_wr_opcode opcode,
					const struct dat_wr *wr, struct ib_sge *sge, int n)
{
	out->wr.opcode = opcode;
	out->wr.sg_list = sge;
	out->wr.num_sge = n;
	out->remote_addr = wr->raddr;
	out->rkey = wr->rkey;
}

static __always_inline void dat_wr_fill_recv(struct ib_recv_wr *out, struct ib_sge *sge, int n)
{
	out->sg_list = sge;
	out->num_sge = n;
}

int dat_wr_to_sge(struct dat_pz *pz, struct dat_wr *wr, u32 max_sge, bool write,
		  struct ib_sge *sge);
int dat_wr_build_send(struct dat_conn *conn, union dat_send_wr *out, struct ib_sge *sge,
		      u32 *len);
int dat_wr_build_recv(struct dat_conn *conn, struct ib_recv_wr *out, struct ib_sge *sge,
		      u32 *len);
u8 dat_wr_error(int err);

#endif /* _DAT_QUEUE_H */
