/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * The transport lo: connections within the host, without an RDMA device.  The kernel copies.
 *
 *   lo_link                a connection request, then a connection
 *    ├ lo_conn (2)         the two ends; each is a connection of an endpoint
 *    └ lo_lane (2)         one for each direction: requests of one end, receives of the other
 *
 * A post appends a request to the queue of its end and marks the lane (lane->want).  A thread that
 * gets the lock of the lane by trylock carries requests out, and looks at the mark again after the
 * unlock; see lane.c.  A copy holds the slot of its CPU, for which the end of a key waits; see
 * copy.c.
 *
 * Locks, in addition to those in core/dat.h, outer to inner:
 *
 *   link->lock		mutex; the request lock; ends of a link, handshake, close
 *   lane->lock		BH spinlock; a thread never holds two of them; outside cq->lock and ep->lock
 *
 * Leaves:
 *
 *   lo_slot.lock	spinlock of a CPU, taken with softirqs disabled; held during the copies of a
 *			slice
 *   lo_keys.xa_lock	spinlock; table of keys
 */
#ifndef _DAT_LO_H
#define _DAT_LO_H

#include <linux/interrupt.h>
#include <linux/kref.h>
#include <linux/mm_types.h>
#include <linux/refcount.h>
#include <linux/sizes.h>

#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/queue.h"
#include "core/ep/srq.h"
#include "core/mem/lmr.h"
#include "core/mem/rmr.h"

/* Softirqs stay disabled for that many bytes or requests; the unit in which a lane is locked. */
#define LO_SLICE	SZ_64K
#define LO_BATCH	16
/* Longest message that a softirq copies; a work item copies longer messages. */
#define LO_SOFT		SZ_16K
/* Slices that a kick carries out at least, if there is as much. */
#define LO_TURN		16
/*
 * Messages up to this length, and the last bytes of longer ones, are stored in order.  A slice does
 * not end within so few bytes.
 */
#define LO_ORDERED	128
/* Largest number of entries of a queue that are in flight; the others wait in the ring. */
#define LO_WINDOW	64U

/* A run of contiguous bytes of a struct lo_mem. */
struct lo_extent {
	u64	at;		/* offset of the first byte in the memory */
	void	*va;		/* kernel address of the first byte */
};

/**
 * struct lo_mem - pages of a process, or memory of the kernel
 * @ref: references of the LMR and of the bindings of its parts
 * @mm: address space that is charged for the pages, with a reference of mmgrab(); NULL for memory
 *	of the kernel, which is not pinned
 * @npages: number of pages that are pinned and charged
 * @length: bytes
 * @write: flag: the pages are pinned for writing
 * @max: number of entries of @ext
 * @n: number of extents
 * @ext: extents, by ascending offset; constant while a key gives access
 */
struct lo_mem {
	refcount_t		ref;
	struct mm_struct	*mm;
	u64			npages;
	u64			length;
	bool			write;
	u32			max;
	u32			n;
	struct lo_extent	ext[];
};

/**
 * struct lo_mr - what a key gives access to
 * @key: the key while it gives access, else 0; written last by lo_mr_open().  While @key is not 0,
 *	the other members are constant.  A copy that a slot names sees them constant until the copy
 *	has ended; any other reader gets a hint, which the copy checks again.
 * @index: index in the table of keys
 * @next: key that lo_mr_open() puts into effect
 * @priv: DAT_PRIV_* bits
 * @write: flag: the memory may be written
 * @window: flag: the key belongs to a binding of an RMR, so a peer may invalidate it
 * @pz: protection zone in which the key is valid; only compared
 * @start: address of the first byte, as segments and peers use it
 * @length: bytes
 * @mem: memory, with a reference; NULL before lo_mr_set()
 * @offset: offset of the first byte in @mem
 * @rcu: head for the deferred free: lookups by key run under RCU
 */
struct lo_mr {
	u32			key;
	u32			index;
	u32			next;
	u32			priv;
	bool			write;
	bool			window;
	const struct dat_pz	*pz;
	u64			start;
	u64			length;
	struct lo_mem		*mem;
	u64			offset;
	struct rcu_head		rcu;
};

struct lo_lmr {
	struct dat_lmr		lmr;
	/* Cleared under lmr.lock, because threads may bind parts of the LMR meanwhile. */
	struct lo_mr		*mr;	/* NULL: the key is 0, or there is no registration */
	struct lo_mem		*mem;	/* memory of @mr, or of an LMR without a key; or NULL */
};

struct lo_binding {
	struct dat_binding	b;
	struct lo_mr		*mr;	/* NULL if lo_bind_init() has failed or was not called */
};

/* Kinds of requests in the queue of a lane. */
enum lo_op {
	LO_SEND, LO_SEND_INV, LO_SEND_IMM, LO_WRITE, LO_WRITE_IMM, LO_READ, LO_REG, LO_INV, LO_BIND
};

/**
 * struct lo_wqe - a request, or a receive
 * @slot: core's record; undefined for LO_BIND
 * @raddr: RDMA: address at the peer
 * @rkey: RDMA: key of the peer; LO_SEND_INV: key that the message invalidates; LO_REG: key to put
 *	into effect; LO_INV: key to end; LO_BIND: key of the binding to end, or 0
 * @bind: LO_BIND: key to put into effect, or 0
 * @imm: LO_SEND_IMM, LO_WRITE_IMM: immediate data
 * @len: bytes of all segments
 * @op: enum lo_op of a request
 * @nseg: number of segments
 * @inlined: flag: the entry holds the data instead of segments
 * @solicited: flag: the message is solicited
 * @seg: segments, or the data
 */
struct lo_wqe {
	struct dat_slot		*slot;
	u64			raddr;
	u32			rkey;
	union {
		u32		bind;
		u32		imm;
	};
	u32			len;
	u8			op;
	u8			nseg;
	bool			inlined;
	bool			solicited;
	struct ib_sge		seg[];
};

/* A queue of requests or receives, which one thread at a time fills and another empties. */
struct lo_fifo {
	void	*mem;		/* array of struct lo_wqe */
	u32	mask;		/* number of entries - 1 */
	u32	stride;		/* bytes of an entry */
	u32	room;		/* bytes of an entry that hold segments or data */
	u32	tail;		/* written under ep->lock of the end */
	u32	head;		/* lock of the lane */
};

struct lo_conn;
struct lo_link;

#define LO_NONE	U32_MAX

/* Entry of a lane in the round of an EVD, by which threads that poll the EVD find the lane. */
struct lo_cq {
	struct dat_cq		cq;
	struct lo_lane		*lane;	/* constant */
};

/**
 * struct lo_lane - direction of a connection: requests of @from, and the receives of @to they use
 * @recv_cq: while this has joined busy polling, the threads that poll the receive EVD of @to take
 *	requests from the ring of @from, which needs no kicks meanwhile
 * @request_cq: while this has joined, the threads that poll the request EVD of @from do so as well,
 *	so they do not wait for a receiver that polls rarely; joins only if @recv_cq has joined,
 *	because otherwise the kicks suffice
 * @link: connection, which contains the lane; constant
 * @lock: lock of the lane: the thread that holds it carries requests out
 * @kernel: flag: @from belongs to a kernel module; set before the end can post, then constant
 * @want: flag: some thread must look for requests; set without the lock, cleared before a slice
 * @taken: index of the buffer that the oldest request has got from the SRQ of @to, or LO_NONE;
 *	written under srq->lock while the lane is in @stalled, else with @lock held
 * @stalled: entry in the SRQ's list of lanes that wait for a buffer; srq->lock
 * @task: tasklet that carries requests of a kernel module out
 * @work: work item that carries out what no thread of a consumer does
 * @rights: DAT_PRIV_REMOTE_* bits that @from has at @to; read without a lock
 *
 * Protected by @lock:
 *
 * @closed: flag: no request may be carried out any more, or not yet.  While it is clear, both ends
 *	have an EP.
 * @failed: flag: a request has failed, so none is carried out any more
 * @rdma: flag: the lane has carried out an RDMA operation, so @recv_cq does not join any more: the
 *	program of @to might wait for the next one by polling memory, and then poll no EVD
 * @from: end that posts the requests
 * @to: end that posts the receives
 * @done: number of bytes of the oldest request that are copied
 */
struct lo_lane {
	struct lo_cq		recv_cq;
	struct lo_cq		request_cq;
	struct lo_link		*link;
	spinlock_t		lock;		/* lock of the lane, see above */
	bool			kernel;
	u32			want;
	u32			taken;
	struct list_head	stalled;
	struct tasklet_struct	task;
	struct work_struct	work;
	bool			closed;
	bool			failed;
	bool			rdma;
	u32			rights;
	struct lo_conn		*from;
	struct lo_conn		*to;
	u32			done;
};

/**
 * struct lo_link - connection request, then connection
 * @ref: references of both ends, of the CR, and of threads that carry out
 * @free_work: work that frees the link after a grace period, since threads find lanes under RCU
 * @lock: request lock; protects @end, @cr, the state of the handshake and the close
 * @end: the ends; [0] has called connect; NULL before and after the connection
 * @cr: CR that owns the request, or NULL
 * @addr: address of each end; constant
 * @id: number of each end; set together with @end, then constant
 * @dev: the device, with a reference, and counted by dat_dev_ending(); constant
 * @lane: lane[i] carries the requests of end[i]
 */
struct lo_link {
	struct kref		ref;
	struct rcu_work		free_work;
	struct mutex		lock;		/* request lock, see above */
	struct lo_conn		*end[2];
	struct dat_cr		*cr;
	struct sockaddr_storage	addr[2];
	u32			id[2];
	struct dat_dev		*dev;
	struct lo_lane		lane[2];
};

/**
 * struct lo_conn - end of a connection
 * @conn: connection of the core
 * @link: connection, with a reference until conn_exit(); NULL before connect or accept; set once,
 *	also read under RCU
 * @side: index of this end in link->end
 * @id: number of the end, which serves as a queue pair number
 * @kernel: flag: the consumer is a kernel module, whose addresses are trusted; constant
 * @sq: requests
 * @rq: receives; no entries with an SRQ
 */
struct lo_conn {
	struct dat_conn		conn;
	struct lo_link		*link;
	u32			side;
	u32			id;
	bool			kernel;
	struct lo_fifo		sq;
	struct lo_fifo		rq;
};

/**
 * struct lo_srq - shared receive queue
 * @srq: core's part; its lock protects @fifo to @stalled
 * @bufs: array of struct lo_wqe: the buffers, by the index of their slots
 * @stride: bytes of an entry of @bufs
 * @room: bytes of an entry that hold segments
 * @fifo: indices of the buffers that no lane has taken; empty while @stalled is not
 * @mask: number of entries of @fifo - 1
 * @head: index of the oldest entry of @fifo
 * @tail: index of the next free entry of @fifo
 * @stalled: lanes that wait for a buffer, in the order of their arrival
 */
struct lo_srq {
	struct dat_srq		srq;
	void			*bufs;
	u32			stride;
	u32			room;
	u32			*fifo;
	u32			mask;
	u32			head;
	u32			tail;
	struct list_head	stalled;
};

static inline struct lo_lmr *to_lo_lmr(struct dat_lmr *lmr)
{
	return container_of(lmr, struct lo_lmr, lmr);
}

static inline struct lo_binding *to_lo_binding(struct dat_binding *b)
{
	return container_of(b, struct lo_binding, b);
}

static inline struct lo_srq *to_lo_srq(struct dat_srq *srq)
{
	return container_of(srq, struct lo_srq, srq);
}

static inline struct lo_conn *to_lo_conn(struct dat_conn *conn)
{
	return container_of(conn, struct lo_conn, conn);
}

static inline struct lo_wqe *lo_fifo_at(const struct lo_fifo *f, u32 index)
{
	return f->mem + (size_t)(index & f->mask) * f->stride;
}

/* Returns entry @n from the oldest on, or NULL.  The lane is locked. */
static inline struct lo_wqe *lo_fifo_peek(const struct lo_fifo *f, u32 n)
{
	/* Acquire: pairs with the release in fifo_push(). */
	return smp_load_acquire(&f->tail) - f->head > n ? lo_fifo_at(f, f->head + n) : NULL;
}

/* Returns the lane that carries the requests of an end.  The end has a link. */
static inline struct lo_lane *lo_lane_out(const struct lo_conn *lc)
{
	return &lc->link->lane[lc->side];
}

/* Returns true if the teardown of either end has begun, which does the rest.  The lane is open. */
static inline bool lo_lane_ends(const struct lo_lane *l)
{
	return dat_conn_is_closing(&l->from->conn) || dat_conn_is_closing(&l->to->conn);
}

/* Returns the lane that carries the requests of the peer. */
static inline struct lo_lane *lo_lane_in(const struct lo_conn *lc)
{
	return &lc->link->lane[!lc->side];
}

/* mr.c */
int lo_pz_init(struct dat_pz *pz);
void lo_pz_exit(struct dat_pz *pz);
int lo_mem_map(struct dat_dev *dev, struct dat_kmem *mem, u32 priv);
void lo_mem_unmap(struct dat_dev *dev, struct dat_kmem *mem);
void lo_mem_sync(struct dat_dev *dev, struct dat_kmem *mem, u64 offset, u64 length, bool for_cpu);
int lo_lmr_user(struct dat_lmr *lmr);
int lo_lmr_kernel(struct dat_lmr *lmr);
int lo_lmr_empty(struct dat_lmr *lmr, u32 max_pages);
int lo_lmr_map(struct dat_lmr *lmr, struct dat_kmem *mem, u32 max_pages, u64 start, u32 priv,
	       struct dat_keys *keys);
void lo_lmr_build(struct dat_lmr *lmr, u8 op, union dat_send_wr *out);
void lo_lmr_exit(struct dat_lmr *lmr);

struct lo_mem *lo_lmr_mem(struct dat_lmr *lmr, u64 *offset);
void lo_mem_put(struct lo_mem *mem);
struct lo_mr *lo_mr_alloc(void);
int lo_mr_set(struct lo_mr *mr, const struct dat_pz *pz, struct lo_mem *mem, u64 offset,
	      u64 start, u64 length, u32 priv);
void lo_mr_free(struct lo_mr *mr);
struct lo_mr *lo_mr_find(u32 key);
bool lo_mr_open(const struct dat_pz *pz, u32 key);
bool lo_mr_kill(struct lo_mr *mr, u32 key);
void *lo_mem_at(const struct lo_mem *mem, u64 offset, u32 *hint, u64 *n);
void lo_keys_exit(void);

/* bind.c */
int lo_bind_init(struct dat_binding *b);
void lo_bind_exit(struct dat_binding *b);
void lo_rmr_exit(struct dat_rmr *rmr);
int lo_bind_start(struct dat_conn *conn, struct dat_binding *b);

/* srq.c */
int lo_srq_init(struct dat_srq *srq, u32 max_recv, u32 max_iov);
void lo_srq_exit(struct dat_srq *srq);
int lo_srq_post(struct dat_srq *srq, const struct ib_recv_wr *wr);
const struct lo_wqe *lo_srq_take(struct lo_lane *l);
void lo_srq_leave(struct lo_lane *l);

/* copy.c */

/* Slot of a CPU.  A copy names here the registrations that it uses. */
struct lo_slot {
	spinlock_t		lock;		/* held while a thread of the CPU copies */
	const struct lo_mr	*mr[2];
};

/**
 * struct lo_side - memory at one side of a copy
 * @sge: segments, none of which is empty
 * @n: number of segments
 * @pz: protection zone in which the keys must be valid
 * @need: DAT_PRIV_* bits that the registrations must have
 * @write: flag: the copy writes to this side
 * @kernel: flag: the key 0 gives access to all memory of the kernel
 */
struct lo_side {
	const struct ib_sge	*sge;
	u32			n;
	const struct dat_pz	*pz;
	u32			need;
	bool			write;
	bool			kernel;
};

/* Result of lo_copy(): the side whose memory gives no access, if any. */
enum lo_copied { LO_COPIED, LO_BAD_FROM, LO_BAD_TO };

void lo_slots_init(void);
struct lo_slot *lo_slot_lock(void);
void lo_slot_unlock(struct lo_slot *slot);
void lo_slots_wait(const struct lo_mr *mr);
bool lo_side_check(const struct lo_side *side, u32 len);
enum lo_copied lo_copy(struct lo_slot *slot, const struct lo_side *from, const struct lo_side *to,
		       u32 skip, u32 *len, bool end);

/* queue.c */

/* Returns the number of entries of a queue that may be in flight. */
static inline u32 lo_window(u32 entries)
{
	return min(entries, LO_WINDOW);
}

int lo_queues_alloc(struct lo_conn *lc);
void lo_queues_free(struct lo_conn *lc);
int lo_post_send(struct dat_conn *conn, struct ib_send_wr *wr, const struct ib_send_wr **bad);
int lo_post_recv(struct dat_conn *conn, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **bad);
void lo_post_bind(struct dat_conn *conn, u32 ends, u32 key);

/* batch.c */
bool lo_slice(struct lo_lane *l, bool soft, u32 *n);

/* lane.c */
int lo_lanes_init(void);
void lo_lanes_exit(void);
void lo_lane_init(struct lo_lane *l, struct lo_link *link);
void lo_lane_open(struct lo_lane *l, struct lo_conn *from, struct lo_conn *to);
void lo_lane_close(struct lo_lane *l);
void lo_lane_stop(struct lo_lane *l);
void lo_lane_carry(struct lo_lane *l);
void lo_lane_posted(struct lo_lane *l, bool runner);
void lo_lane_wake(struct lo_lane *l, bool runner);
int lo_allow_peer(struct dat_conn *conn, bool write);
void lo_run(struct dat_ep *ep);
void lo_look(struct dat_cq *cq);
void lo_rearm(struct dat_cq *cq);

/* link.c */
void lo_link_put(struct lo_link *link);
void lo_request_lock(void *request);
void lo_request_unlock(void *request);
void lo_request_own(void *request, struct dat_cr *cr);
void lo_reject(void *request, const void *pd, u32 pd_len);
void lo_abandon(void *request);
int lo_connect(struct dat_conn *conn, const struct sockaddr_storage *dst, u32 qos);
int lo_accept(struct dat_conn *conn, struct dat_cr *cr, void *request);
void lo_conn_init(struct dat_conn *conn);
void lo_implied_established(struct dat_conn *conn);
unsigned long lo_conn_quiesce(struct dat_conn *conn);
void lo_conn_unbind(struct dat_conn *conn);
void lo_conn_exit(struct dat_conn *conn);
void lo_path(struct dat_conn *conn, struct dat_path *path);

/* addr.c */
bool lo_addr(const struct dat_dev *dev, u32 port, struct net *net,
	     const struct sockaddr_storage *only, u32 *nr, struct sockaddr_storage *ss);
int lo_source(const struct dat_ep *ep, const struct sockaddr_storage *dst,
	      struct sockaddr_storage *src);
int lo_listen(struct dat_psp *psp, u16 port);

/* device.c */
int dat_lo_init(void);
void dat_lo_exit(void);

#endif /* _DAT_LO_H */
