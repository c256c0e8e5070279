/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The objects of dat.ko, parents first.
 *
 *   dat_dev                an RDMA device (ib_client)
 *    └ dat_ia              one opening of one of its ports
 *       ├ dat_cno          what several event rings wake
 *       ├ dat_evd          event ring
 *       ├ dat_pz           protection zone (ib_pd)
 *       │  ├ dat_lmr       registered memory (ib_mr)
 *       │  ├ dat_rmr       key for a part of it (ib_mr)
 *       │  ├ dat_srq       shared receive queue (ib_srq)
 *       │  └ dat_ep        endpoint, lives longer than
 *       │     └ dat_conn   one connection of it (cm_id, QP, CQ)
 *       ├ dat_psp          listener (cm_id)
 *       └ dat_cr           connection request (cm_id)
 *
 * References.  A child holds a kref on each parent.  "users" counts the objects
 * that DAT says are in the way of freeing this one; it is -1 from the moment a
 * free has won.
 *
 * Two steps to the end.  shutdown() lets go of everything that belongs to the
 * device and may be called any number of times: by free, by IA close, by device
 * removal.  release() runs when the last reference is gone and frees memory.
 *
 * Locks, outer to inner:
 *
 *   dat_dev_lock          list of devices, list of IAs of a device
 *   ia->sem               read: a call that uses the device; write: shutting down
 *   rdma_cm handler lock  (rdma_lock_handler); its handlers never take ia->sem
 *   ep->lock              BH spinlock; never two at once
 *   srq->lock             BH spinlock
 *   pz->rmr_lock          BH spinlock
 *   rmr->lock             BH spinlock
 *   lmr->lock             BH spinlock
 *   evd->busy.lock        BH spinlock; never two at once
 *   evd->solicited.lock   BH spinlock; never two at once
 *   evd->lock             BH spinlock; never two at once
 *   cno->lock             BH spinlock
 *   ia->lmr_lock          spinlock; leaf, under ia->sem
 *
 *   ia->map_lock          leaf, under mmap_lock or ia->sem: which pages an object shows
 *
 * Never under a spinlock: rdma_destroy_id, ib_drain_*, ib_destroy_*, ib_dereg_mr.
 * Posting to a QP under ep->lock is fine, under evd->lock it is not.
 */
#ifndef _DAT_H
#define _DAT_H

#include <linux/dma-direction.h>
#include <linux/idr.h>
#include <linux/interrupt.h>
#include <linux/kref.h>
#include <linux/math64.h>
#include <linux/nospec.h>
#include <linux/rwsem.h>
#include <linux/scatterlist.h>
#include <linux/seq_file.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/dat_ioctl.h>

#include "core/face.h"
#include "core/xport.h"
#include "core/ring.h"
#include "peer.h"

struct dat_obj;
struct dat_fmr;
struct dat_lmr;
struct dat_lmr_table;
struct dat_share;
struct mem_cgroup;
struct poll_table_struct;
struct rdma_cgroup;
struct rdmacg_device;

#define DAT_MAX_EVD_QLEN	65536
#define DAT_MAX_DTO		65536
#define DAT_MAX_PD_REQUEST	56	/* what rdma_cm leaves of an IB CM REQ */
#define DAT_MAX_PD_REPLY	196
#define DAT_MAX_PD_REJECT	148
#define DAT_MAX_BACKLOG		1024
#define DAT_BATCH		16	/* WRs in one chain */
#define DAT_MIN_SQ		(DAT_BATCH + 1)	/* WRs of the smallest SQ, one for a drain */
#define DAT_SLICE		128	/* entries that are dealt with under one lock */
#define DAT_SILENT_WRS		8	/* of a chain, between those that report, */
#define DAT_SILENT_BYTES	16384	/* and what they may transfer */
#define DAT_NO_BELL		U32_MAX

/* What only the kernel itself can ask for, beside enum dat_op. */
enum dat_kop {
	DAT_KOP_LMR_FMR		= DAT_OP_LAST,
	DAT_KOP_LMR_INVALIDATE,
	DAT_KOP_READ_TO_RMR,		/* its segment names a key in place of an LMR */
	DAT_KOP_LAST
};

/* In raddr of an invalidation, beside the id of the LMR: all before it have completed. */
#define DAT_KOP_FENCE		BIT_ULL(32)

/* In raddr of a kernel consumer's send: it invalidates the key in rkey at the peer. */
#define DAT_KOP_SEND_INVALIDATE	BIT_ULL(33)

/* In the data of a kernel consumer's DTO event: what a receive has invalidated. */
#define DAT_EQE_RKEY_SHIFT	32

/* The operation in the flags of a kernel consumer's struct dat_eqe. */
#define DAT_EQE_KOP_SHIFT	8

/* DAT_EP_STATE, with its numbers. */
enum dat_ep_state {
	DAT_EP_UNCONNECTED	= 0,
	DAT_EP_ACTIVE_PENDING	= 6,
	DAT_EP_CONNECTED	= 9,
	DAT_EP_DISC_PENDING	= 10,
	DAT_EP_DISCONNECTED	= 11,
	DAT_EP_COMPL_PENDING	= 12,
	DAT_EP_NR_STATES
};

/**
 * struct dat_dev - an RDMA device that DAT can use
 * @ref: one for the transport, one per IA
 * @ops: of the transport
 * @priv: the transport's; valid until dat_dev_unregister(), that is while an IA of the device that
 *	is not dead is locked
 * @cg: what the rdma cgroup counts against; valid as long as @priv
 * @nports: its ports are 1 to @nports; this and what follows is constant since registration
 * @usable: its driver is known to be good
 * @quirks: enum dat_quirk
 * @limits: what it can do
 * @node: in the list of devices; dat_dev_lock
 * @ias: open IAs; dat_dev_lock
 * @ending: number of connections that have left their EP and not the transport; see dat_conn_gone()
 */
struct dat_dev {
	struct kref			ref;
	const struct dat_xport_ops	*ops;
	void				*priv;
	struct rdmacg_device		*cg;
	u32				nports;
	bool				usable;
	unsigned long			quirks;
	struct dat_limits		limits;
	struct list_head		node;
	struct list_head		ias;
	atomic_t			ending;
};

/**
 * struct dat_ia - interface adapter: one opening of one port
 * @ref: the face's, and one per object
 * @dev: the device
 * @name: as it was opened by
 * @port: of the device
 * @net: network namespace of the opener
 * @node: in dev->ias; dat_dev_lock
 * @sem: see the top of this file
 * @dead: no new objects; written under xa_lock(&objs) and @sem
 * @closing: somebody wants @sem to shut it down: what waits with it held gives up; no lock
 * @pinning: number of registrations of user memory in progress, which do not hold @sem; none
 *	begins after @closing is set; shutdown waits for 0 before it takes @sem
 * @watched: a thread of the face looks at the doorbells, so no queue needs a kick;
 *	written by that thread, read under the lock of a queue
 * @map_lock: regions of objects, against resizing them
 * @objs: all objects by id
 * @next_id: where the search for a free id begins; xa_lock(&objs)
 * @id_rounds: how often it began from the front again
 * @face: the face that has opened it; constant
 * @lmr_lock: changes of @lmrs
 * @lmr_ids: index parts of lmr_contexts
 * @lmrs: LMRs by them; RCU; NULL before there is one
 * @lmr_gen: generation of the next lmr_context
 * @reserved: the LMR that stands for all memory, once somebody has asked for it; never freed
 *	before the rest
 * @async_evd: where async events go; set once, reference held
 * @user_data: owner value of events about the IA itself
 * @msg_max: largest message of the port
 * @iwarp: the port speaks iWARP
 * @cg: what the opening was charged to
 */
struct dat_ia {
	struct kref		ref;
	struct dat_dev		*dev;
	char			name[DAT_NAME_SIZE];
	u32			port;
	struct net		*net;
	struct list_head	node;
	struct rw_semaphore	sem;
	bool			dead;
	bool			closing;
	atomic_t		pinning;
	bool			watched;
	struct mutex		map_lock;	/* see the top of this file */
	struct xarray		objs;
	u32			next_id;
	atomic_t		id_rounds;
	const struct dat_face	*face;
	spinlock_t		lmr_lock;	/* changes of lmrs */
	struct ida		lmr_ids;
	struct dat_lmr_table __rcu *lmrs;
	atomic_t		lmr_gen;
	struct dat_lmr		*reserved;
	struct dat_evd		*async_evd;
	u64			user_data;
	u32			msg_max;
	bool			iwarp;
	struct rdma_cgroup	*cg;
};

/**
 * struct dat_obj - what all objects begin with
 * @type: enum dat_obj_type
 * @id: in ia->objs
 * @ref: memory lives while it is held
 * @users: objects built on this one; -1: being freed
 * @ia: reference held
 * @user_data: owner value of the object's events
 * @published: it was
 * @priv: what a face with handles remembers of it; owned once the object is published
 * @context: of that face's consumer
 * @round: ia->id_rounds when it got its id
 * @cg: what the object was charged to
 * @rcu: lookups are under RCU
 */
struct dat_obj {
	enum dat_obj_type	type;
	u32			id;
	struct kref		ref;
	atomic_t		users;
	struct dat_ia		*ia;
	u64			user_data;
	bool			published;
	void			*priv;
	u64			context;
	u32			round;
	struct rdma_cgroup	*cg;
	struct rcu_head		rcu;
};

/**
 * struct dat_obj_ops - per type
 * @name: for people
 * @size: of the structure
 * @charge: counts against the rdma cgroup's hca_object
 * @may_free: 0, and the object is going; or the reason against, beyond @users
 * @begin_shutdown: start what takes long, without waiting for it; optional
 * @shutdown: let go of the device; idempotent; may sleep
 * @release: free what the structure holds, not the structure; may sleep
 * @region: shared memory number @kind, or NULL; ia->map_lock
 * @poll: EPOLL* bits, for those with a file descriptor
 * @show: one line of fdinfo
 */
struct dat_obj_ops {
	const char	*name;
	size_t		size;
	bool		charge;
	int		(*may_free)(struct dat_obj *obj);
	void		(*begin_shutdown)(struct dat_obj *obj);
	void		(*shutdown)(struct dat_obj *obj);
	void		(*release)(struct dat_obj *obj);
	struct dat_region *(*region)(struct dat_obj *obj, unsigned int kind);
	__poll_t	(*poll)(struct dat_obj *obj, struct file *file,
				struct poll_table_struct *wait);
	void		(*show)(struct seq_file *m, struct dat_obj *obj);
};

extern const struct dat_obj_ops dat_pz_ops, dat_lmr_ops, dat_evd_ops, dat_srq_ops,
	dat_ep_ops, dat_psp_ops, dat_cr_ops, dat_cno_ops, dat_rmr_ops;

/**
 * struct dat_cno - consumer notification object
 * @obj: base; users: EVDs
 * @lock: everything below
 * @wq: waiters sleep here
 * @waiters: those who want to consume a trigger
 * @generation: how often it was triggered
 * @triggered: nobody has consumed the last trigger
 * @evd: user_data of the EVD that triggered it, or 0
 * @last: user_data of the EVD that did so last, or 0
 * @dead: shut down
 */
struct dat_cno {
	struct dat_obj		obj;
	spinlock_t		lock;		/* of all that follows */
	wait_queue_head_t	wq;
	u32			waiters;
	u32			generation;
	bool			triggered;
	u64			evd;
	u64			last;
	bool			dead;
};

/**
 * struct dat_busy - connections that those who poll an EVD take completions from
 * @lock: of the list
 * @links: struct dat_busy_link
 * @count: of them
 * @on: somebody polls, or did; set under evd->lock, cleared under @lock
 * @last: when, in jiffies
 * @timer: finds that nobody does, and who has become idle
 */
struct dat_busy {
	spinlock_t		lock;		/* of the list */
	struct list_head	links;
	u32			count;
	bool			on;
	unsigned long		last;
	struct timer_list	timer;
};

/**
 * struct dat_busy_link - a connection in the list of one of the EVDs that it feeds
 * @node: in evd->busy.links; its lock
 * @evd: whose, or NULL: in none; ep->lock
 * @conn: the connection
 */
struct dat_busy_link {
	struct list_head	node;
	struct dat_evd		*evd;
	struct dat_conn		*conn;
};

/**
 * struct dat_solicited - connections that notify an EVD of solicited receives alone
 * @lock: the list
 * @conns: struct dat_conn, by their sol.node
 * @count: connections in the list; read without the lock
 */
struct dat_solicited {
	spinlock_t		lock;		/* the list */
	struct list_head	conns;
	u32			count;
};

/**
 * struct dat_solicited_conn - part of a connection with a queue for its receives
 * @node: in evd->solicited.conns; its lock
 * @evd: EVD that the connection has joined, or NULL; ep->lock
 * @early: a receive that notifies arrived before ESTABLISHED; ep->lock
 * @timer: looks at the queue of a connection with an SRQ
 */
struct dat_solicited_conn {
	struct list_head	node;
	struct dat_evd		*evd;
	bool			early;
	struct timer_list	timer;
};

/**
 * struct dat_evd - event dispatcher
 * @obj: base
 * @streams: enum dat_stream bits that may feed it
 * @sink: where its events go; constant
 * @busy: has a lock of its own
 * @solicited: has a lock of its own
 * @lock: everything below
 * @ring: the events
 * @wq: the waiter sleeps here
 * @waiting: there is one
 * @threshold: events it wants
 * @poll: users of its file descriptor
 * @cno: triggered when nobody waits; use held; or NULL
 * @unwaitable: nobody may wait
 * @disabled: @cno is not triggered
 * @dead: shut down
 * @overflowed: an overflow has been reported since the ring was last not full
 * @next: prepared status region, in no use yet; ia->map_lock alone
 * @generation: of what was prepared last; likewise
 */
struct dat_evd {
	struct dat_obj		obj;
	u32			streams;
	const struct dat_sink	*sink;
	struct dat_busy		busy;
	struct dat_solicited	solicited;
	spinlock_t		lock;		/* of all that follows */
	struct dat_evring	ring;
	wait_queue_head_t	wq;
	bool			waiting;
	u32			threshold;
	wait_queue_head_t	poll;
	struct dat_cno		*cno;
	bool			unwaitable;
	bool			disabled;
	bool			dead;
	bool			overflowed;
	struct dat_region	next;
	u32			generation;
};

/**
 * struct dat_pz - protection zone
 * @obj: base; users: LMRs, SRQs, EPs
 * @dma_key: for segments of the reserved LMR, whose addresses are DMA addresses
 * @rmr_lock: @windows
 * @windows: bindings of the zone's RMRs that have a key, by that key
 */
struct dat_pz {
	struct dat_obj		obj;
	u32			dma_key;
	spinlock_t		rmr_lock;	/* windows */
	struct rb_root		windows;
};

/**
 * struct dat_kmem - kernel memory that a device can reach
 * @sgt: its pages and their DMA addresses, or the addresses alone
 * @dir: what it is mapped for
 * @mapped: @sgt has to be unmapped
 * @foreign: somebody else has mapped it, and sees to its caches too
 */
struct dat_kmem {
	struct sg_table		sgt;
	enum dma_data_direction	dir;
	bool			mapped;
	bool			foreign;
};

/**
 * struct dat_lmr_kind - a kind of memory
 * @name: for people
 * @attach: let the device reach it: fill in the keys; may sleep
 * @detach: no device reaches it any more: undo @attach, whole or not, and let go of the
 *	memory; may sleep
 * @free: free what the LMR still holds; optional
 */
struct dat_lmr_kind {
	const char	*name;
	int		(*attach)(struct dat_lmr *lmr, const void *arg);
	void		(*detach)(struct dat_lmr *lmr);
	void		(*free)(struct dat_lmr *lmr);
};

/**
 * struct dat_lmr - registered memory
 * @obj: base
 * @kind: of memory
 * @pz: reference and use held; NULL: the reserved one, which is good for all
 * @start: first byte in the owner's address space
 * @length: bytes
 * @priv: DAT_PRIV_* as asked for
 * @index: in ia->lmrs, of ia->lmr_ids; or 0
 * @context: lmr_context: @index and a generation, or 0; what it is good for is written
 *	before it, and it is taken back before that changes
 * @shift: from an address of the owner's to what @lkey wants
 * @lkey: for segments
 * @rkey: for peers
 * @share: its name among processes, or NULL
 * @lock: @mem, and what is in @fmr
 * @mem: kernel memory that it has now, or NULL
 * @fmr: for memory that comes and goes; or NULL
 */
struct dat_lmr {
	struct dat_obj		obj;
	const struct dat_lmr_kind *kind;
	struct dat_pz		*pz;
	u64			start;
	u64			length;
	u32			priv;
	u32			index;
	u32			context;
	u64			shift;
	u32			lkey;
	u32			rkey;
	struct dat_share	*share;
	spinlock_t		lock;		/* mem, fmr */
	struct dat_kmem		*mem;
	struct dat_fmr		*fmr;
};

/**
 * struct dat_lmr_table - LMRs by index
 * @rcu: it is replaced by a longer one
 * @size: entries
 * @lmr: LMRs, or NULL
 */
struct dat_lmr_table {
	struct rcu_head		rcu;
	u32			size;
	struct dat_lmr __rcu	*lmr[];
};

/**
 * struct dat_lmr_param - what an LMR is made with
 * @kind: of memory
 * @start: first byte in the owner's address space
 * @length: bytes
 * @priv: DAT_PRIV_*
 * @arg: for @kind->attach()
 * @user_data: owner value
 */
struct dat_lmr_param {
	const struct dat_lmr_kind *kind;
	u64			start;
	u64			length;
	u32			priv;
	const void		*arg;
	u64			user_data;
};

/**
 * struct dat_binding - what an RMR is bound to, or will be
 * @node: in rmr->prepared
 * @in_pz: in pz->windows, while it is what @rmr is bound to and peers have a key for it
 * @rmr: region that it is of
 * @pz: its zone, which stays until the binding is carried out or freed
 * @ticket: names it in the entry that carries it out; 0: there will be none
 * @lmr: reference held, and once it has its turn a use; NULL: unbound
 * @in_effect: @lmr can't be freed; kernel memory is not pinned, so its LMR never can
 * @addr: first byte
 * @length: bytes
 * @priv: DAT_PRIV_REMOTE_*
 * @lkey: for segments, if @lmr
 * @rkey: for peers, if @lmr; else 0
 */
struct dat_binding {
	struct list_head	node;
	struct rb_node		in_pz;
	struct dat_rmr		*rmr;
	struct dat_pz		*pz;
	u32			ticket;
	struct dat_lmr		*lmr;
	bool			in_effect;
	u64			addr;
	u64			length;
	u32			priv;
	u32			lkey;
	u32			rkey;
};

/**
 * struct dat_rmr - remote memory region
 * @obj: base
 * @pz: reference and use held
 * @lock: everything below
 * @bound: what peers reach with its key, or NULL; changes under pz->rmr_lock, too
 * @prepared: bindings that wait for their entry
 * @nprepared: of them
 * @ticket: of the last one prepared
 * @dead: shut down
 * @purge_work: frees what was forgotten; no lock
 */
struct dat_rmr {
	struct dat_obj		obj;
	struct dat_pz		*pz;
	spinlock_t		lock;		/* of all that follows */
	struct dat_binding	*bound;
	struct list_head	prepared;
	u32			nprepared;
	u32			ticket;
	bool			dead;
	struct work_struct	purge_work;
};

/**
 * struct dat_wr - a work request in private memory, checked or to be checked
 * @op: enum dat_op; unused for receives
 * @flags: enum dat_sqe_flags
 * @num_sge: segments
 * @rkey: RDMA operations
 * @cookie: the consumer's
 * @raddr: RDMA operations
 * @len: bytes in all segments, from dat_wr_to_sge()
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
 * struct dat_slot - the kernel's memory of a posted work request
 * @cqe: finds the slot from the completion
 * @early: in conn->early while a receive waits for conn->live
 * @cookie: copied from the entry, never read again from shared memory
 * @len: bytes posted; once a receive has completed, bytes received
 * @flags: of the entry
 * @status: enum dat_dto_status of an early receive
 * @recv: a receive, else a request; constant
 * @rkey: of a receive: key that the peer has invalidated, or 0
 * @at: low half of the index of a request; differs among the entries of a queue, of which there
 *	are at most DAT_MAX_DTO
 * @lmr: of a request about an LMR's memory, see fmr.c; else undefined
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
 * @ops: where work requests come from: a ring shared with a process, or one of the kernel's
 * @ring: the ring; only the ring.c of each folder looks inside
 * @obj: the EP or SRQ
 * @entries: of the ring, a power of two
 * @window: entries that may be at the device at a time, at most @entries; set when a connection
 *	gets its QP
 * @head: entries taken so far
 * @done: entries completed so far; head - done are at the device
 * @peak: largest head - done of this connection; bounds the low-water mark
 * @bad: malformed entries
 * @armed: NEED_KICK is set; 0, or after how many more entries
 * @broken: the producer's index made no sense; nothing more is taken
 * @frozen: its ring is being replaced; nothing is taken meanwhile
 * @kernel: no process maps its ring: a post has the pump look, so no kick is asked for
 *
 * All under the lock of the owner, ep->lock or srq->lock, but
 *
 * @bell: bit in the doorbell page or DAT_NO_BELL; the user face's
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
 * struct dat_queue_ops - a source of work requests
 * @fetch: take the entry at head into @wr: 1 taken, 0 none there, -EBADMSG
 *	malformed (the cookie is valid), -EOVERFLOW the producer's index is wild
 * @put: append a request of a kernel consumer; false: the ring is full or being replaced
 * @publish: make head, done, bad and NEED_KICK visible to the producer
 * @pending: number of entries posted that were not taken; a wild index counts as a full ring
 * @arm: ask for a kick once @after more entries are there, then look again: true if
 *	they are there already
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

/**
 * struct dat_srq - shared receive queue
 * @obj: base; users: EPs
 * @pz: reference and use held
 * @max_iov: segments per buffer
 * @lock: everything below
 * @ring: shared memory
 * @q: the buffers
 * @window: buffers that the device takes; constant, unlike the ring
 * @slots: one per buffer that the device takes
 * @free: stack of free slots, @nfree deep; buffers complete in any order
 * @nfree: free slots
 * @live: the transport takes buffers: from its creation to the shutdown
 * @lost: buffers that are done and that no event reports
 * @low_watermark: an event when fewer are available; 0: none is wanted
 * @wr: scratch of the pump
 * @sge: scratch of the pump
 * @error_work: the device reported an error, perhaps in hard interrupt; no lock
 * @pump_work: takes buffers that were too many to be taken at once; no lock
 * @next: prepared ring, in no use yet; ia->map_lock alone
 * @generation: of what was prepared last; likewise
 */
struct dat_srq {
	struct dat_obj		obj;
	struct dat_pz		*pz;
	u32			max_iov;
	spinlock_t		lock;		/* of all that follows */
	struct dat_epring	ring;
	struct dat_queue	q;
	u32			window;
	struct dat_slot		*slots;
	u32			*free;
	u32			nfree;
	bool			live;
	u32			lost;
	u32			low_watermark;
	struct dat_wr		wr;
	struct ib_sge		sge[DAT_MAX_SGE];
	struct work_struct	error_work;
	struct work_struct	pump_work;
	struct dat_epring	next;
	u32			generation;
};

/**
 * struct dat_ep_attr - what an EP is made with
 * @max_recv: receives outstanding
 * @max_request: requests outstanding
 * @max_recv_iov: segments per receive
 * @max_request_iov: segments per request
 * @read_in: RDMA reads as target
 * @read_out: RDMA reads as originator
 * @recv_flags: DAT_COMPLETION_FLAGS
 * @request_flags: DAT_COMPLETION_FLAGS
 */
struct dat_ep_attr {
	u32	max_recv;
	u32	max_request;
	u32	max_recv_iov;
	u32	max_request_iov;
	u32	read_in;
	u32	read_out;
	u32	recv_flags;
	u32	request_flags;
};

/**
 * struct dat_ep - endpoint
 * @obj: base
 * @pz: reference and use held, like those of
 * @recv_evd: or NULL
 * @request_evd: or NULL
 * @connect_evd: or NULL
 * @srq: or NULL
 * @attr: constant while there is a connection
 * @traits: enum dat_ep_trait bits; likewise
 * @lock: everything below, and changes of what is above
 * @state: changed by dat_ep_set_state() alone
 * @dead: being shut down; no connection may begin
 * @freed: by its owner, who is told of nothing any more; @dead as well
 * @version: counts modifications, which a connection under construction must not miss
 * @conn: the current connection, from connect or accept to DISCONNECTED
 * @open: @conn while nothing keeps a kernel consumer's posts from its device but a lack of room
 *	or entries in the ring before them; else NULL; see dat_ep_settle()
 * @sq: requests
 * @rq: receives, empty with an SRQ
 * @ring: shared memory, also shows state and private data
 * @nconns: connections that still hold verbs objects; waited for by shutdown
 * @local: address of the connection
 * @remote: address of the connection's peer
 * @read_in: negotiated
 * @read_out: negotiated
 * @next: prepared ring, in no use yet; ia->map_lock alone
 * @generation: of what was prepared last; likewise
 * @wr: request being posted or pumped
 * @sge: resolved segments of a request being posted
 */
struct dat_ep {
	struct dat_obj		obj;
	struct dat_pz		*pz;
	struct dat_evd		*recv_evd;
	struct dat_evd		*request_evd;
	struct dat_evd		*connect_evd;
	struct dat_srq		*srq;
	struct dat_ep_attr	attr;
	u32			traits;
	spinlock_t		lock;		/* of all that follows */
	enum dat_ep_state	state;
	bool			dead;
	bool			freed;
	u32			version;
	struct dat_conn		*conn;
	struct dat_conn		*open;
	struct dat_queue	sq;
	struct dat_queue	rq;
	struct dat_epring	ring;
	atomic_t		nconns;
	struct sockaddr_storage	local;
	struct sockaddr_storage	remote;
	u32			read_in;
	u32			read_out;
	struct dat_epring	next;
	u32			generation;
	struct dat_wr		wr;
	struct ib_sge		sge[DAT_MAX_SGE];
};

/**
 * struct dat_bind - a bind that has its turn
 * @set: there is one: nothing is posted before it is done
 * @started: it is being registered, or its work is queued or runs; once is enough
 * @failed: it could not be registered
 * @cookie: of the request
 * @flags: of the request
 * @rmr: id of the region, or 0
 * @ticket: of the prepared binding
 * @taken: the prepared binding, once started; owned
 */
struct dat_bind {
	bool			set;
	bool			started;
	bool			failed;
	u64			cookie;
	u8			flags;
	u32			rmr;
	u32			ticket;
	struct dat_binding	*taken;
};

/**
 * struct dat_failure - a work request that never reached the device
 * @set: there is one
 * @cookie: of the request
 * @flags: of the request
 * @status: enum dat_dto_status
 * @bind: what else to tell of it, if it is a bind
 * @lmr: whose memory it is about, with that; else NULL
 * @op: enum dat_kop, with @lmr
 */
struct dat_failure {
	bool		set;
	u64		cookie;
	u8		flags;
	u8		status;
	struct dat_bind	bind;
	struct dat_lmr	*lmr;
	u8		op;
};

/* A request for the device. */
union dat_send_wr {
	struct ib_send_wr	wr;
	struct ib_rdma_wr	rdma;
	struct ib_reg_wr	reg;
};

/**
 * enum dat_conn_state - where a connection is between its request and its end
 * @DAT_CONN_CONNECTING: from connect or accept to the end of the handshake
 * @DAT_CONN_ABORTING: its end has begun before the end of the handshake
 * @DAT_CONN_ESTABLISHED: the handshake is over, and ESTABLISHED is queued
 * @DAT_CONN_DRAINING: it closes when its requests are done: a graceful disconnect
 * @DAT_CONN_HUNG_UP: the peer's disconnect has begun its end
 * @DAT_CONN_CLOSING: anything else has begun its end
 *
 * The order lets two compares answer what is asked most; see dat_conn_was_established() and
 * dat_conn_is_closing().
 */
enum dat_conn_state {
	DAT_CONN_CONNECTING,
	DAT_CONN_ABORTING,
	DAT_CONN_ESTABLISHED,
	DAT_CONN_DRAINING,
	DAT_CONN_HUNG_UP,
	DAT_CONN_CLOSING,
	DAT_CONN_NR_STATES
};

/**
 * struct dat_conn - one connection of an EP
 * @ep: reference held until the end is reported
 * @version: of the EP that it is made for
 * @dev: device; no reference before the connection has left its EP
 * @sink: where events of its EP go; constant
 * @rcu: the connection is looked at under RCU
 * @solicited: receives notify if the sender or an error asks for it; constant
 * @sol: for a @solicited connection
 * @unordered: its device completes requests before RDMA reads that they follow; constant
 * @sq_slots: one per SQ entry
 * @rq_slots: one per RQ entry
 * @close_work: tears down; queued once
 * @early_work: the transport's: data came before the end of the handshake, and proves it
 * @pump_work: posts receives that were too many to be posted at once
 * @bind_work: carries out @bind once no request is in flight
 * @timer: the consumer's connect timeout, or the deadline of an accepted connection
 * @psp: listener whose backlog counts an accepted connection until it is established;
 *	reference held; xchg()ed to NULL by the release
 * @read_in: RDMA reads of the peer in flight that this end asks for, or agrees to
 * @read_out: own RDMA reads in flight, likewise
 * @pd: private data to send
 * @pd_len: bytes of it
 *
 * Under ep->lock:
 *
 * @early: receives that completed before @live, oldest first
 * @sq_failed: malformed request; reported once all before it are complete
 * @rq_failed: malformed receive; reported when the queue is flushed
 * @bind: the entry that everything behind it waits for
 * @fenced: the next entry waits until none is in flight
 * @reads: RDMA reads posted since none was in flight, if @unordered
 * @inflight: requests at the device
 * @passive: accepted, not connected
 * @state: written by dat_conn_set_state() alone
 * @live: the events of all early receives are queued: the next completion has its turn
 * @held: a thread uses the transport's part: dat_conn_unhold() queues @close_work
 * @end_event: connection event that will tell of the end
 * @end_pd: bytes of private data that came with it; a kernel consumer's
 * @busy: who polls, of recv_evd and of request_evd if that is another
 * @busy_seen: there was something to take since the timer looked
 * @send_wr: scratch of the pump
 * @recv_wr: scratch of the pump
 * @sge: scratch of the pump, DAT_BATCH times the larger max_iov
 */
struct dat_conn {
	struct dat_ep		*ep;
	u32			version;
	struct dat_dev		*dev;
	const struct dat_sink	*sink;
	struct rcu_head		rcu;
	bool			solicited;
	struct dat_solicited_conn sol;
	bool			unordered;
	struct dat_slot		*sq_slots;
	struct dat_slot		*rq_slots;
	struct work_struct	close_work;
	struct work_struct	early_work;
	struct work_struct	pump_work;
	struct work_struct	bind_work;
	struct delayed_work	timer;
	struct dat_psp		*psp;
	u32			read_in;
	u32			read_out;
	u8			pd[DAT_MAX_PRIVATE_DATA];
	u32			pd_len;

	/* Under ep->lock. */
	struct list_head	early;
	struct dat_failure	sq_failed;
	struct dat_failure	rq_failed;
	struct dat_bind		bind;
	bool			fenced;
	u32			reads;
	u32			inflight;
	bool			passive;
	enum dat_conn_state	state;
	bool			live;
	bool			held;
	u32			end_event;
	u32			end_pd;
	struct dat_busy_link	busy[2];
	bool			busy_seen;
	union {
		union dat_send_wr	send_wr[DAT_BATCH];
		struct ib_recv_wr	recv_wr[DAT_BATCH];
	};
	struct ib_sge		*sge;
};

/* The handshake was over at some time; it stays true. */
static inline bool dat_conn_was_established(const struct dat_conn *conn)
{
	return READ_ONCE(conn->state) >= DAT_CONN_ESTABLISHED;
}

/* Nothing is posted any more: @close_work is queued, or will be when nobody holds it. */
static inline bool dat_conn_is_closing(const struct dat_conn *conn)
{
	enum dat_conn_state state = READ_ONCE(conn->state);

	return state >= DAT_CONN_HUNG_UP || state == DAT_CONN_ABORTING;
}

static inline bool dat_conn_is_open(const struct dat_conn *conn)
{
	enum dat_conn_state state = READ_ONCE(conn->state);

	return state == DAT_CONN_ESTABLISHED || state == DAT_CONN_DRAINING;
}

/**
 * struct dat_psp - public service point
 * @obj: base
 * @evd: reference and use held; @lock, but not for requests that @listener reports
 * @lock: @evd, for those who bring a request from elsewhere
 * @listener: the transport's; NULL after shutdown
 * @conn_qual: qualifier, as the consumer gave it
 * @port: port that it maps to; see dat_qual_port()
 * @one_shot: takes one request
 * @spent: and has
 * @pending: number of requests without an answer, and of accepted connections that are not
 *	established
 * @memcg: memory cgroup that pays for the requests; reference held; or NULL
 * @node: entry among all listeners, by @port; psp.c
 */
struct dat_psp {
	struct dat_obj		obj;
	struct dat_evd		*evd;
	struct mutex		lock;		/* evd */
	void			*listener;
	u64			conn_qual;
	u16			port;
	bool			one_shot;
	atomic_t		spent;
	atomic_t		pending;
	struct mem_cgroup	*memcg;
	struct hlist_node	node;
};

/**
 * struct dat_cr - connection request
 * @obj: base
 * @request: the transport's; owned; xchg()ed to NULL by the thread that takes it over
 * @gone: the peer has given up; lock of @request
 * @ep: that the face has for it, use held; xchg()ed
 * @psp: listener whose backlog counts the request; reference held; xchg()ed to NULL by the
 *	release
 * @remote: address that the peer claims
 * @off_path: @remote, which the peer claims, is not the address of the path; constant
 * @read_in: RDMA reads that the peer wants to have in flight
 * @read_out: RDMA reads that the peer answers at a time
 * @qpn: number of the peer's queue pair; 0 with iWARP
 * @pd_len: bytes of @pd
 * @pd: private data
 */
struct dat_cr {
	struct dat_obj		obj;
	void			*request;
	bool			gone;
	struct dat_ep		*ep;
	struct dat_psp		*psp;
	struct sockaddr_storage	remote;
	bool			off_path;
	u32			read_in;
	u32			read_out;
	u32			qpn;
	u32			pd_len;
	u8			pd[DAT_MAX_PRIVATE_DATA];
};

#define DAT_OBJ_CAST(name)						\
static inline struct dat_##name *to_dat_##name(struct dat_obj *obj)	\
{									\
	return container_of(obj, struct dat_##name, obj);		\
}

DAT_OBJ_CAST(evd)
DAT_OBJ_CAST(pz)
DAT_OBJ_CAST(lmr)
DAT_OBJ_CAST(srq)
DAT_OBJ_CAST(ep)
DAT_OBJ_CAST(psp)
DAT_OBJ_CAST(cr)
DAT_OBJ_CAST(cno)
DAT_OBJ_CAST(rmr)

/* core.c */
extern struct workqueue_struct *dat_wq, *dat_close_wq;
extern unsigned int dat_ring_start;

int dat_core_init(void);
void dat_core_exit(void);

/* mapping.c */
int dat_mapping_init(void);
void dat_mapping_exit(void);

/* verbs/device.c */
int dat_verbs_init(void);
void dat_verbs_exit(void);

/* adapter.c */
struct dat_dev *dat_dev_alloc(const struct dat_xport_ops *ops);
void dat_dev_register(struct dat_dev *dev);
void dat_dev_unregister(struct dat_dev *dev);
struct dat_dev *dat_dev_find(const char *name, struct net *net, u32 *port);
int dat_dev_query(const char *name, struct net *net, struct dat_limits *limits,
		  struct dat_port *port);
int dat_dev_nth(struct net *net, unsigned int index, char *name, size_t len,
		u32 *port, bool *active);
struct dat_dev *dat_dev_get(struct dat_dev *dev);
void dat_dev_put(struct dat_dev *dev);
bool dat_dev_attach(struct dat_dev *dev, struct dat_ia *ia);
void dat_dev_detach(struct dat_ia *ia);
int dat_dev_addr(const struct dat_ia *ia, sa_family_t family, struct sockaddr_storage *ss);

/* ia.c */
struct dat_ia *dat_ia_open(const char *name, struct net *net, const struct dat_face *face,
			   u64 user_data);
void dat_ia_shutdown(struct dat_ia *ia);
void dat_ia_wake(struct dat_ia *ia);
void dat_ia_close(struct dat_ia *ia);
void dat_ia_put(struct dat_ia *ia);
void dat_ia_async(struct dat_ia *ia, u32 type, enum dat_obj_type kind, u64 owner,
		  u16 reason);
void dat_ia_set_async_evd(struct dat_ia *ia, struct dat_evd *evd);
int dat_ia_lock_live(struct dat_ia *ia);
void dat_ia_unlock(struct dat_ia *ia);
int dat_ia_pin_begin(struct dat_ia *ia, u64 start, u64 length, u32 priv);
void dat_ia_pin_end(struct dat_ia *ia);
struct dat_obj *dat_ia_next(struct dat_ia *ia, unsigned long *id);

/* obj.c */
void *dat_obj_alloc_gfp(struct dat_ia *ia, enum dat_obj_type type, u64 user_data, gfp_t gfp);
void *dat_obj_alloc(struct dat_ia *ia, enum dat_obj_type type, u64 user_data);
int dat_obj_publish(struct dat_obj *obj);
void dat_obj_unpublish(struct dat_obj *obj);
void dat_obj_abort(struct dat_obj *obj);
void *dat_obj_get(struct dat_ia *ia, enum dat_obj_type type, u32 id);
struct dat_obj *dat_obj_get_any(struct dat_ia *ia, u32 id);
void dat_obj_put(struct dat_obj *obj);
int dat_obj_use(struct dat_obj *obj);
void dat_obj_unuse(struct dat_obj *obj);
int dat_obj_begin_free(struct dat_obj *obj);
int dat_obj_free(struct dat_obj *obj);
void dat_obj_shutdown(struct dat_obj *obj);
const struct dat_obj_ops *dat_obj_ops(const struct dat_obj *obj);
bool dat_obj_type_known(u32 type);

/* kring.c */
#define DAT_KRING_OP_SHIFT	4	/* of the operation, in the flags of struct dat_wr */

/* The operation of a request, from the flags of its completion; 0: of a process's. */
static inline u8 dat_kring_op(u8 flags)
{
	return flags >> DAT_KRING_OP_SHIFT;
}

static inline u8 dat_kring_flags(u8 op, u8 flags)
{
	return flags | op << DAT_KRING_OP_SHIFT;
}

/* There is nothing to be taken.  Of a ring that is shared only its fetch can tell. */
static inline bool dat_kring_idle(const struct dat_queue *q)
{
	return q->kernel && *q->ring.tail == q->head;
}

bool dat_kevring_pop(struct dat_evring *r, struct dat_eqe *eqe);

/*
 * Of a ring of a kernel consumer, whose EVD's lock is held: both of its indices are true, and
 * in its pages, which nobody maps, there are events alone.
 */
static inline u32 dat_kevring_count(const struct dat_evring *r)
{
	return r->tail - r->head;
}

/* Of an empty ring: an entry that was never written has been taken. */
static inline void dat_kring_pass(struct dat_queue *q)
{
	*(u32 *)q->ring.tail = ++q->head;
}

/* A kernel consumer has nobody to tell, and most of its completions come by here. */
static inline void dat_queue_publish(struct dat_queue *q)
{
	if (!q->kernel)
		q->ops->publish(q);
}

void *dat_kring_pd(const struct dat_epring *r, u32 len);

/* pz.c, lmr.c */
struct dat_pz *dat_pz_create(struct dat_ia *ia);
struct dat_lmr *dat_lmr_make(struct dat_ia *ia, struct dat_pz *pz,
			     const struct dat_lmr_param *param);
struct dat_lmr *dat_lmr_create(struct dat_pz *pz, u64 start, u64 length, u32 priv,
			       const u8 *cookie);
struct dat_lmr *dat_lmr_create_reserved(struct dat_ia *ia, u64 user_data);
void dat_lmr_init_ia(struct dat_ia *ia);
void dat_lmr_release_ia(struct dat_ia *ia);
void dat_lmr_open(struct dat_lmr *lmr);
void dat_lmr_close(struct dat_lmr *lmr);
int dat_lmr_sync(struct dat_ia *ia, const struct dat_sge *seg, bool for_cpu);

#define DAT_LMR_INDEX_BITS	20
#define DAT_LMR_INDEX_MASK	((1U << DAT_LMR_INDEX_BITS) - 1)

extern const struct dat_lmr_kind dat_lmr_reserved_kind;

static inline bool dat_lmr_covers(const struct dat_lmr *lmr, u64 addr, u64 len)
{
	/* An address before the first is an offset beyond the end: nothing wraps around. */
	return len <= lmr->length && addr - lmr->start <= lmr->length - len;
}

/* Under RCU, or with softirqs disabled.  The LMR that has this context, or NULL. */
static __always_inline struct dat_lmr *dat_lmr_find(struct dat_ia *ia, u32 context)
{
	struct dat_lmr_table *table = rcu_dereference_check(ia->lmrs, rcu_read_lock_bh_held());
	u32 index = context & DAT_LMR_INDEX_MASK;
	struct dat_lmr *lmr;

	if (unlikely(!table || index >= table->size))
		return NULL;
	index = array_index_nospec(index, table->size);
	lmr = rcu_dereference_check(table->lmr[index], rcu_read_lock_bh_held());
	/* Pairs with dat_lmr_open(). */
	if (unlikely(!lmr || smp_load_acquire(&lmr->context) != context))
		return NULL;
	return lmr;
}

/* kmem.c */
struct dat_kmem *dat_kmem_of_pages(const struct dat_dev *dev, struct page **pages, u32 n,
				   u32 offset, u64 length);
struct dat_kmem *dat_kmem_of_dma(struct scatterlist *sg, u32 n, u64 offset, u64 length);
struct dat_kmem *dat_kmem_clone(const struct dat_kmem *mem);
void dat_kmem_free(struct dat_kmem *mem, struct dat_dev *dev);
struct dat_lmr *dat_lmr_create_kmem(struct dat_pz *pz, struct dat_kmem *mem, u64 start,
				    u64 length, u32 priv, u64 user_data);

/* fmr.c */
struct dat_lmr *dat_lmr_create_fmr(struct dat_pz *pz, u32 max_pages, u64 user_data);
struct scatterlist *dat_fmr_claim(struct dat_lmr *lmr, u32 *max);
int dat_fmr_bind(struct dat_lmr *lmr, u32 nents, u64 start, u64 length, u32 priv);
void dat_fmr_queue(struct dat_lmr *lmr, const struct dat_ep *ep);
void dat_fmr_unqueue(struct dat_lmr *lmr);
void dat_fmr_unclaim(struct dat_lmr *lmr);
int dat_fmr_leave(struct dat_lmr *lmr, const struct dat_ep *ep);
struct dat_lmr *dat_fmr_find(struct dat_ia *ia, const struct dat_wr *wr);
void dat_fmr_end(struct dat_lmr *lmr, u8 op, bool reached, u8 status);
int dat_fmr_build(struct dat_conn *conn, union dat_send_wr *out);

/* rmr.c */
/**
 * struct dat_rmr_state - what an RMR is bound to
 * @context: lmr_context, or 0: to nothing
 * @addr: first byte
 * @length: bytes
 * @priv: DAT_PRIV_REMOTE_*
 * @rkey: for peers
 */
struct dat_rmr_state {
	u32	context;
	u64	addr;
	u64	length;
	u32	priv;
	u32	rkey;
};

void dat_rmr_query(struct dat_rmr *rmr, struct dat_rmr_state *state);
struct dat_rmr *dat_rmr_create(struct dat_pz *pz, u64 user_data);
int dat_rmr_bind(struct dat_rmr *rmr, struct dat_lmr *lmr, struct dat_rmr_bind *arg);
struct dat_binding *dat_rmr_take(struct dat_rmr *rmr, const struct dat_pz *pz, u32 ticket);
void dat_binding_free(struct dat_binding *b);
u8 dat_rmr_carry_out(struct dat_rmr *rmr, struct dat_binding *b);
void dat_rmr_forget(struct dat_rmr *rmr, u32 ticket);
bool dat_rmr_invalidated(struct dat_pz *pz, u32 rkey);
int dat_rmr_to_sge(struct dat_pz *pz, const struct dat_sge *seg, struct ib_sge *out);

/* share.c */
struct dat_share *dat_share_get(const struct dat_ia *ia, u64 start, u64 length,
				const u8 *cookie);
void dat_share_put(struct dat_share *share);
int dat_share_init(void);
void dat_share_exit(void);

/**
 * struct dat_step - a step of replacing a ring
 * @what: which
 * @generation: PREPARE: result; COMMIT, CANCEL: of what was prepared
 */
struct dat_step {
	enum dat_ring_step	what;
	u32			generation;
};

/* The steps that make a ring, and those that put one into use. */
static inline bool dat_step_makes(const struct dat_step *step)
{
	return step->what == DAT_RING_AT_ONCE || step->what == DAT_RING_PREPARE;
}

static inline bool dat_step_uses(const struct dat_step *step)
{
	return step->what == DAT_RING_AT_ONCE || step->what == DAT_RING_COMMIT;
}

/* evd.c */
struct dat_evd *dat_evd_create(struct dat_ia *ia, u32 streams, u32 qlen, u64 user_data);
bool dat_evd_deliver_bh(struct dat_evd *evd, const struct dat_eqe *eqe, bool notify);
bool dat_evd_deliver(struct dat_evd *evd, const struct dat_eqe *eqe, bool notify);
void dat_evd_notify(struct dat_evd *evd);
bool dat_evd_offer(struct dat_evd *evd, const struct dat_eqe *eqe);
bool dat_evd_offer_locked(struct dat_evd *evd, const struct dat_eqe *eqe);
int dat_evd_post(struct dat_evd *evd, u64 cookie);
u32 dat_evd_count(struct dat_evd *evd);
void dat_evd_wake_waiters(struct dat_evd *evd);

/* Room for events: at least @want, or all there is.  evd->lock held. */
static __always_inline u32 dat_evd_room(struct dat_evd *evd, u32 want)
{
	const struct dat_evring *r = &evd->ring;
	u32 room = r->entries - (r->tail - r->head);

	/* The consumer is asked how far it is only when the ring looks full. */
	return likely(room >= want) ? room : r->entries - evd->sink->count(evd);
}

int dat_evd_wait(struct dat_evd *evd, u32 threshold, u64 deadline_ns);
void dat_evd_set_unwaitable(struct dat_evd *evd, bool unwaitable);
void dat_evd_set_disabled(struct dat_evd *evd, bool disabled);
int dat_evd_set_cno(struct dat_evd *evd, struct dat_cno *cno);
int dat_evd_resize(struct dat_evd *evd, u32 qlen, struct dat_step *step);
int dat_sleep(u64 deadline_ns);

/* busy.c */
void dat_busy_init(struct dat_busy *b);
void dat_busy_init_conn(struct dat_conn *conn);
bool dat_busy_join(struct dat_conn *conn);
bool dat_busy_leave(struct dat_conn *conn);
bool dat_busy_joined(const struct dat_conn *conn);
void dat_busy_show(struct seq_file *m, struct dat_busy *b);
void dat_busy_posted(struct dat_ep *ep);
int dat_busy_poll(struct dat_evd *evd, u64 spin_ns);
void dat_busy_stop(struct dat_evd *evd);
void dat_busy_end(struct dat_evd *evd);

/* solicited.c */
void dat_solicited_init(struct dat_solicited *s);
void dat_solicited_init_conn(struct dat_conn *conn);
void dat_solicited_exit_conn(struct dat_conn *conn);
void dat_solicited_join(struct dat_conn *conn);
void dat_solicited_leave(struct dat_conn *conn);
void dat_solicited_notify(struct dat_conn *conn);
bool dat_solicited_look_all(struct dat_evd *evd);

/* Most EVDs have no such connection. */
static inline bool dat_solicited_look(struct dat_evd *evd)
{
	return unlikely(READ_ONCE(evd->solicited.count)) && dat_solicited_look_all(evd);
}

/* cno.c */
struct dat_cno *dat_cno_create(struct dat_ia *ia);
void dat_cno_trigger(struct dat_cno *cno, u64 evd);
void dat_cno_forget(struct dat_cno *cno, u64 evd);
bool dat_cno_query(struct dat_cno *cno, u32 *generation);
int dat_cno_wait(struct dat_cno *cno, u64 deadline_ns, u64 *evd);
int dat_cno_watch(struct dat_cno *cno, u32 *generation, u64 deadline_ns, u64 *evd);

/* fd.c */
struct file *dat_fd_file(struct dat_obj *obj);

/* srq.c */
int dat_srq_fits(const struct dat_ia *ia, u32 max_recv, u32 max_iov);
struct dat_srq *dat_srq_create(struct dat_pz *pz, u32 max_recv, u32 max_iov,
			       u64 user_data);
void dat_srq_broken(struct dat_srq *srq);
void dat_srq_pump(struct dat_srq *srq);
u32 dat_srq_pump_locked(struct dat_srq *srq);
void dat_srq_report_bad(struct dat_srq *srq);
void dat_srq_complete(struct dat_srq *srq, struct dat_slot *slot);
void dat_srq_lost(struct dat_srq *srq);
void dat_srq_set_lw(struct dat_srq *srq, u32 low_watermark);
bool dat_srq_set_lw_locked(struct dat_srq *srq, u32 low_watermark);
void dat_srq_report_low(struct dat_srq *srq);
int dat_srq_resize(struct dat_srq *srq, u32 max_recv, struct dat_step *step);

/* ep.c */
struct dat_ep_parents {
	struct dat_pz *pz;
	struct dat_evd *recv_evd, *request_evd, *connect_evd;
	struct dat_srq *srq;
};

bool dat_ep_attr_fits(const struct dat_ia *ia, const struct dat_ep_attr *attr);
struct dat_ep *dat_ep_create(const struct dat_ep_parents *parents,
			     const struct dat_ep_attr *attr, u64 user_data);
void dat_ep_set_state(struct dat_ep *ep, enum dat_ep_state state);
void dat_ep_settle(struct dat_ep *ep);
int dat_ep_claim(struct dat_ep *ep, enum dat_ep_state state, struct dat_conn *conn);
bool dat_ep_unclaim(struct dat_ep *ep);
int dat_ep_disconnect(struct dat_ep *ep, bool graceful);
int dat_ep_reset(struct dat_ep *ep);
int dat_ep_modify(struct dat_ep *ep, const struct dat_ep_parents *parents,
		  const struct dat_ep_attr *attr, struct dat_step *step);
void dat_ep_kick(struct dat_ep *ep, struct dat_queue *q);
void dat_ep_kick_locked(struct dat_ep *ep, struct dat_queue *q);
void dat_ep_breathe(struct dat_ep *ep);

/* conn.c */
struct dat_conn *dat_conn_alloc(struct dat_ep *ep);
void dat_conn_free(struct dat_conn *conn);
void dat_conn_gone(struct dat_conn *conn);
void dat_conn_bind_done(struct dat_conn *conn, bool failed);
int dat_ep_path(struct dat_ep *ep, struct dat_path *path);
int dat_ep_let_peer(struct dat_ep *ep, bool write);
void dat_conn_drain(struct dat_conn *conn);
void dat_conn_unhold(struct dat_conn *conn);
void dat_conn_close(struct dat_conn *conn, u32 event);
void dat_conn_fail(struct dat_conn *conn, u32 event);
void dat_conn_hung_up(struct dat_conn *conn);
void dat_conn_established(struct dat_conn *conn, const struct dat_handshake *h);
void dat_conn_progress(struct dat_conn *conn);

/* queue.c */

/**
 * struct dat_flush - how many entries a flush still may take
 * @sq: requests
 * @rq: receives
 *
 * At first a ring full of each: what was posted before it began.
 */
struct dat_flush {
	u32 sq, rq;
};

/**
 * dat_queue_stopped() - true if nothing may be posted before something else has happened
 * @conn: connection
 *
 * Context: ep->lock held.
 */
static inline bool dat_queue_stopped(const struct dat_conn *conn)
{
	return conn->sq_failed.set || conn->bind.set || conn->fenced;
}

/**
 * dat_queue_settled() - true if neither pump nor dat_conn_progress() would find anything to do
 * @conn: established
 *
 * It is a quick look, and may be false for no reason.
 *
 * Context: ep->lock held.
 */
static inline bool dat_queue_settled(const struct dat_conn *conn)
{
	const struct dat_ep *ep = conn->ep;

	/* Where posts may go at once it is neither stopped nor ending. */
	return dat_kring_idle(&ep->sq) && dat_kring_idle(&ep->rq) &&
	       (likely(ep->open == conn) ||
		(conn->state == DAT_CONN_ESTABLISHED && !dat_queue_stopped(conn)));
}

void dat_queue_init(struct dat_queue *q, struct dat_obj *obj, u32 entries);
int dat_queue_post(struct dat_ep *ep, u64 limit);
int dat_queue_post_recv(struct dat_ep *ep, u64 limit);
void dat_queue_pump_sq(struct dat_conn *conn);
bool dat_queue_pump_rq(struct dat_conn *conn);
void dat_queue_flush_begin(struct dat_ep *ep, struct dat_flush *f);
bool dat_queue_flush(struct dat_ep *ep, struct dat_flush *f);
void dat_queue_forget(struct dat_ep *ep);
bool dat_queue_flush_silent(struct dat_conn *conn);
void dat_queue_flush_bind(struct dat_conn *conn);
void dat_queue_fail_one(struct dat_ep *ep, struct dat_queue *q, struct dat_failure *f);
void dat_queue_disarm(struct dat_queue *q);
bool dat_queue_arm(struct dat_queue *q, u32 after);
u32 dat_queue_kick_after(const struct dat_queue *q);

/* wr.c */

/* IB_SEND_* of enum dat_sqe_flags. */
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

/* complete.c */

/*
 * A batch of completions begins, in softirq.  The IA may be freed before the batch has ended, so
 * this reads the connection alone, which its transport keeps as long as handlers run.
 */
static __always_inline void dat_complete_begin(const struct dat_conn *conn)
{
	if (conn->sink->begin)
		conn->sink->begin();
}

/* The batch has ended: the upcalls of its events run here, with no lock held. */
static __always_inline void dat_complete_end(const struct dat_conn *conn)
{
	if (conn->sink->release)
		conn->sink->release();
}

void dat_complete(struct dat_conn *conn, const struct dat_completion *c, u32 n);
void dat_complete_requests(struct dat_conn *conn, u32 n, u8 status, u8 last);
void dat_complete_recv(struct dat_conn *conn, struct dat_slot *slot, u8 status);
void dat_report_dto(struct dat_ep *ep, bool recv, u64 cookie, u8 flags, u8 status, u64 len);
void dat_report_bind(struct dat_ep *ep, const struct dat_bind *bind, u8 status);

/* connect.c */
int dat_ep_connect(struct dat_ep *ep, const struct sockaddr_storage *dst, u64 timeout_us,
		   u32 qos, const void *pd, u32 pd_len);
int dat_ep_accept(struct dat_ep *ep, struct dat_cr *cr, const void *pd, u32 pd_len);
void dat_conn_accepted(struct dat_conn *conn, struct dat_cr *cr);
void dat_conn_rejected(struct dat_conn *conn, const void *pd, u32 pd_len);

/* psp.c, cr.c */
struct dat_psp *dat_psp_create(struct dat_evd *evd, u64 conn_qual, bool one_shot,
			       u64 user_data);
struct dat_psp *dat_psp_find(const struct dat_ia *ia, u64 conn_qual);
void dat_psp_bound(struct dat_psp *psp, u16 port);
int dat_psp_request(struct dat_psp *psp, const struct dat_request *req);
void dat_psp_leave(struct dat_psp **psp);
int dat_cr_create(struct dat_psp *psp, const struct dat_request *req);
void dat_cr_gone(struct dat_cr *cr);
void dat_cr_reject(struct dat_cr *cr, const void *pd, u32 pd_len);
bool dat_cr_reject_is_plain(const void *pd, u32 pd_len);
int dat_cr_handoff(struct dat_cr *cr, u64 conn_qual);
void dat_cr_give_back(struct dat_cr *cr, void *request);

/* A free has won: nobody wants to hear of the object again. */
static inline bool dat_obj_dying(const struct dat_obj *obj)
{
	return atomic_read(&obj->users) < 0;
}

static inline u16 dat_addr_port(const struct sockaddr_storage *ss)
{
	/* sin_port and sin6_port are at the same place. */
	return be16_to_cpu(((const struct sockaddr_in *)ss)->sin_port);
}

static inline void dat_addr_set_port(struct sockaddr_storage *ss, u16 port)
{
	((struct sockaddr_in *)ss)->sin_port = cpu_to_be16(port);
}

/*
 * The port of rdma_cm that a connection qualifier stands for.  A larger one than a port maps to
 * the range from 33534 to 65534 as in OFED's uDAPL, so that both libraries reach each other.
 */
static inline u16 dat_qual_port(u64 qual)
{
	u32 rest;

	if (qual <= U16_MAX)
		return qual;
	div_u64_rem(qual, 32001, &rest);
	return rest + 33534;
}

static inline bool dat_ep_posting(enum dat_ep_state state)
{
	return state == DAT_EP_CONNECTED || state == DAT_EP_DISC_PENDING;
}

#endif /* _DAT_H */
