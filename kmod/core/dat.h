/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The objects of dat.ko, parents first.
 *
 *   dat_dev                an RDMA device (ib_client)
 *    └ dat_ia              one opening of one of its ports
 *       ├ dat_cno          notification object that several EVDs trigger
 *       ├ dat_evd          event dispatcher with its ring
 *       ├ dat_pz           protection zone (ib_pd)
 *       │  ├ dat_lmr       registered memory (ib_mr)
 *       │  ├ dat_rmr       key for a part of an LMR (ib_mr)
 *       │  ├ dat_srq       shared receive queue (ib_srq)
 *       │  └ dat_ep        endpoint; outlives its connections
 *       │     └ dat_conn   one connection of the endpoint (cm_id, QP, CQ)
 *       ├ dat_psp          listener (cm_id)
 *       └ dat_cr           connection request (cm_id)
 *
 * References.  A child holds a kref on each parent.  "users" counts the objects
 * that keep this one from being freed, by the rules of DAT; it is -1 once a free
 * has succeeded.
 *
 * An object ends in two steps.  shutdown() releases everything that belongs to
 * the device; it is idempotent, since a free, the close of the IA and the removal
 * of the device each call it.  release() runs when the last reference is dropped
 * and frees memory.
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
 *   ia->map_lock          leaf, under mmap_lock or ia->sem: the regions that objects map
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
#define DAT_MAX_PD_REQUEST	56	/* private data of an IB CM REQ, less rdma_cm's header */
#define DAT_MAX_PD_REPLY	196
#define DAT_MAX_PD_REJECT	148
#define DAT_MAX_BACKLOG		1024
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

/* In the data of a kernel consumer's DTO event: the key that a receive has invalidated. */
#define DAT_EQE_RKEY_SHIFT	32

/* The operation in the flags of a kernel consumer's struct dat_eqe. */
#define DAT_EQE_KOP_SHIFT	8

/* EP states, with the numbers of DAT_EP_STATE. */
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
 * @ref: one reference for the transport, one per IA
 * @ops: operations of the transport
 * @priv: private data of the transport; valid until dat_dev_unregister(), so also while an IA of
 *	the device is locked and not dead
 * @cg: device of the rdma cgroup, for charges; valid as long as @priv
 * @nports: number of the last port, the first is 1; constant since registration, as are @usable,
 *	@quirks and @limits
 * @usable: flag: DAT supports the driver of the device
 * @quirks: enum dat_quirk bits
 * @limits: limits of the device
 * @node: entry in the list of devices; dat_dev_lock
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
 * @ref: one reference for the face, one per object
 * @dev: device
 * @name: adapter name given to the open
 * @port: port number of the device
 * @net: network namespace of the opener
 * @node: entry in dev->ias; dat_dev_lock
 * @sem: lock against shutdown; see the top of this file
 * @dead: flag: no object may be created; written under xa_lock(&objs) and @sem
 * @closing: flag: a shutdown waits for @sem, so a thread that sleeps with @sem held gives up;
 *	no lock
 * @pinning: number of registrations of user memory in progress, which do not hold @sem; none
 *	begins after @closing is set; shutdown waits for 0 before it takes @sem
 * @watched: flag: a thread of the face polls the doorbells, so no queue needs a kick;
 *	written by that thread, read under the lock of a queue
 * @map_lock: lock of the objects' regions, against a resize
 * @objs: all objects by id
 * @next_id: id at which the search for a free one begins; xa_lock(&objs)
 * @id_rounds: number of times that @next_id has wrapped
 * @face: face that has opened the IA; constant
 * @lmr_lock: lock for changes of @lmrs
 * @lmr_ids: allocator of the indices in lmr_contexts
 * @lmrs: LMRs by those indices; RCU; NULL before the first LMR
 * @lmr_gen: generation of the next lmr_context
 * @reserved: LMR for all memory, created on demand; freed after all other objects
 * @async_evd: EVD for async events; set once, reference held
 * @user_data: owner value of events about the IA itself
 * @msg_max: largest message of the port, in bytes
 * @iwarp: flag: the port speaks iWARP
 * @cg: rdma cgroup that the open is charged to
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
	struct mutex		map_lock;	/* regions of objects */
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
 * struct dat_obj - common first member of all objects
 * @type: enum dat_obj_type
 * @id: index in ia->objs
 * @ref: reference count; the last put frees the memory
 * @users: number of objects built on this one; -1: being freed
 * @ia: IA of the object; reference held
 * @user_data: owner value of the object's events
 * @published: flag: a lookup by id finds the object, or did before the free
 * @priv: data of a face with handles; owned once the object is published
 * @context: context value of that face's consumer
 * @round: ia->id_rounds when the object got its id
 * @cg: rdma cgroup that the object is charged to
 * @rcu: head for the deferred free, since lookups run under RCU
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
 * struct dat_obj_ops - operations of an object type
 * @name: name in fdinfo and traces
 * @size: bytes of the structure
 * @charge: flag: each object counts as an hca_object of the rdma cgroup
 * @may_free: commit to the free and return 0, or return an error that forbids it; optional
 * @begin_shutdown: start the slow part of @shutdown without waiting for it; optional
 * @shutdown: release everything that belongs to the device; idempotent; may sleep
 * @release: free what the structure points to, not the structure; may sleep
 * @region: return shared memory number @kind, or NULL; ia->map_lock held
 * @poll: return EPOLL* bits; only for types with a file descriptor
 * @show: write one line of fdinfo
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
 * @obj: base object; users: EVDs
 * @lock: lock of all members below
 * @wq: wait queue of the waiters
 * @waiters: number of threads that wait to consume a trigger
 * @generation: number of triggers so far
 * @triggered: flag: no waiter has consumed the last trigger
 * @evd: user_data of the EVD of that unconsumed trigger, or 0
 * @last: user_data of the EVD that triggered the CNO last, or 0
 * @dead: flag: the CNO is shut down
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
 * struct dat_busy - connections whose CQs a poller of the EVD polls
 * @lock: lock of @links
 * @links: list of struct dat_busy_link
 * @count: number of entries of @links
 * @on: flag: a thread polls the EVD, or polled it a moment ago; set under evd->lock, cleared
 *	under @lock
 * @last: time of the last poll, in jiffies
 * @timer: timer that removes idle connections, and all of them when polling has ended
 */
struct dat_busy {
	spinlock_t		lock;		/* links */
	struct list_head	links;
	u32			count;
	bool			on;
	unsigned long		last;
	struct timer_list	timer;
};

/**
 * struct dat_busy_link - a connection in the list of one of the EVDs that it feeds
 * @node: entry in evd->busy.links; evd->busy.lock
 * @evd: EVD whose list this is in, or NULL if it is in no list; ep->lock
 * @conn: connection
 */
struct dat_busy_link {
	struct list_head	node;
	struct dat_evd		*evd;
	struct dat_conn		*conn;
};

/**
 * struct dat_solicited - connections that notify an EVD only of solicited receives
 * @lock: lock of @conns
 * @conns: struct dat_conn, by their sol.node
 * @count: connections in the list; read without the lock
 */
struct dat_solicited {
	spinlock_t		lock;		/* conns */
	struct list_head	conns;
	u32			count;
};

/**
 * struct dat_solicited_conn - state of a connection that notifies only of solicited receives
 * @node: entry in evd->solicited.conns; evd->solicited.lock
 * @evd: EVD that the connection has joined, or NULL; ep->lock
 * @early: flag: a receive that notifies arrived before ESTABLISHED; ep->lock
 * @timer: timer that polls the receives of a connection with an SRQ
 */
struct dat_solicited_conn {
	struct list_head	node;
	struct dat_evd		*evd;
	bool			early;
	struct timer_list	timer;
};

/**
 * struct dat_evd - event dispatcher
 * @obj: base object
 * @streams: enum dat_stream bits of the events that it accepts
 * @sink: operations of the face that consumes the events; constant
 * @busy: connections that its pollers poll; has a lock of its own
 * @solicited: connections that notify only of solicited receives; has a lock of its own
 * @lock: lock of all members from @ring to @overflowed
 * @ring: ring of events
 * @wq: wait queue of the waiter
 * @waiting: flag: a thread waits
 * @threshold: number of events that the waiter waits for
 * @poll: wait queue of the file descriptor
 * @cno: CNO that an event triggers while no thread waits; use held; or NULL
 * @unwaitable: flag: no thread may wait
 * @disabled: flag: an event does not trigger @cno
 * @dead: flag: the EVD is shut down
 * @overflowed: flag: an overflow has been reported since the ring last had room
 * @next: prepared status region, not in use yet; ia->map_lock
 * @generation: generation of the region prepared last; ia->map_lock
 */
struct dat_evd {
	struct dat_obj		obj;
	u32			streams;
	const struct dat_sink	*sink;
	struct dat_busy		busy;
	struct dat_solicited	solicited;
	spinlock_t		lock;		/* ring to overflowed */
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
 * @obj: base object; users: LMRs, RMRs, SRQs, EPs
 * @dma_key: lkey for segments of the reserved LMR, whose addresses are DMA addresses
 * @rmr_lock: lock of @windows
 * @windows: bindings in effect that have an rkey, by rkey
 */
struct dat_pz {
	struct dat_obj		obj;
	u32			dma_key;
	spinlock_t		rmr_lock;	/* windows */
	struct rb_root		windows;
};

/**
 * struct dat_kmem - kernel memory that a device can reach
 * @sgt: pages and their DMA addresses, or only the addresses
 * @dir: direction of the DMA mapping
 * @mapped: flag: @sgt has to be unmapped
 * @foreign: flag: the consumer has mapped the memory and syncs its caches
 */
struct dat_kmem {
	struct sg_table		sgt;
	enum dma_data_direction	dir;
	bool			mapped;
	bool			foreign;
};

/**
 * struct dat_lmr_kind - operations of a kind of memory
 * @name: name in fdinfo
 * @attach: register the memory with the device and set the keys; may sleep
 * @detach: end the registration, also after @attach has failed, and release the memory;
 *	may sleep
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
 * @obj: base object
 * @kind: kind of memory
 * @pz: zone; reference and use held; NULL: the reserved LMR, which is valid in all zones
 * @start: address of the first byte in the owner's address space
 * @length: bytes
 * @priv: DAT_PRIV_* bits that the consumer asked for
 * @index: index in ia->lmrs, allocated from ia->lmr_ids; or 0
 * @context: lmr_context: @index and a generation; 0 while the LMR is invalid; set after the
 *	members that it makes valid, cleared before they change
 * @shift: difference from an address of the owner to the one that the device wants with @lkey
 * @lkey: key for segments
 * @rkey: key for peers
 * @share: shared memory cookie among processes, or NULL
 * @lock: lock of @mem and of the state in @fmr
 * @mem: kernel memory that is registered now, or NULL
 * @fmr: state of an LMR that FMR requests bind, or NULL
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
 * @rcu: head for the deferred free, once a longer table has replaced this one
 * @size: number of entries
 * @lmr: LMRs, or NULL
 */
struct dat_lmr_table {
	struct rcu_head		rcu;
	u32			size;
	struct dat_lmr __rcu	*lmr[];
};

/**
 * struct dat_lmr_param - parameters of a new LMR
 * @kind: kind of memory
 * @start: address of the first byte in the owner's address space
 * @length: bytes
 * @priv: DAT_PRIV_* bits
 * @arg: argument of @kind->attach()
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
 * struct dat_binding - a binding of an RMR, prepared or in effect
 * @node: entry in rmr->prepared
 * @in_pz: node in pz->windows while the binding is in effect and has an rkey
 * @rmr: RMR of the binding
 * @pz: zone of @rmr; it stays until the binding is carried out or freed
 * @ticket: number by which a queue entry names the binding; 0: no entry will carry it out
 * @lmr: bound LMR, reference held; NULL: this binding unbinds the RMR
 * @in_effect: flag: a use of @lmr is held, so @lmr can't be freed; set when the binding is taken
 *	from the queue, for kernel memory, which is not pinned, when it is prepared
 * @addr: address of the first byte
 * @length: bytes
 * @priv: DAT_PRIV_REMOTE_* bits
 * @lkey: key for segments, if @lmr
 * @rkey: key for peers, if @lmr; else 0
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
 * @obj: base object
 * @pz: zone; reference and use held
 * @lock: lock of all members from @bound to @dead
 * @bound: binding in effect, or NULL; written under pz->rmr_lock as well
 * @prepared: bindings that wait for their queue entry, and those that @purge_work will free
 * @nprepared: number of entries of @prepared
 * @ticket: ticket of the binding prepared last
 * @dead: flag: the RMR is shut down
 * @purge_work: work that frees bindings without a ticket; no lock
 */
struct dat_rmr {
	struct dat_obj		obj;
	struct dat_pz		*pz;
	spinlock_t		lock;		/* bound to dead */
	struct dat_binding	*bound;
	struct list_head	prepared;
	u32			nprepared;
	u32			ticket;
	bool			dead;
	struct work_struct	purge_work;
};

/**
 * struct dat_wr - private copy of a work request, which the producer cannot change
 * @op: enum dat_op or enum dat_kop; unused for receives
 * @flags: enum dat_sqe_flags bits
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
 * @bell: bit in the doorbell page, or DAT_NO_BELL; used by the user face alone
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

/**
 * struct dat_srq - shared receive queue
 * @obj: base object; users: EPs
 * @pz: zone; reference and use held
 * @max_iov: largest number of segments of a buffer
 * @lock: lock of all members from @ring to @sge
 * @ring: memory of the ring, which the owner may map
 * @q: queue of the buffers
 * @window: number of buffers that the device holds at most; constant, unlike the ring's size
 * @slots: @window slots
 * @free: stack of the numbers of free slots, since buffers complete in any order
 * @nfree: number of free slots
 * @live: flag: the transport takes buffers, from creation to shutdown
 * @lost: number of buffers that have completed without an event
 * @low_watermark: number of available buffers below which an event is queued; 0: no event
 * @wr: scratch of the pump
 * @sge: scratch of the pump
 * @error_work: work that handles a device error, which may come in hard interrupt; no lock
 * @pump_work: work that takes the buffers that one slice has left; no lock
 * @next: prepared ring, not in use yet; ia->map_lock
 * @generation: generation of the ring prepared last; ia->map_lock
 */
struct dat_srq {
	struct dat_obj		obj;
	struct dat_pz		*pz;
	u32			max_iov;
	spinlock_t		lock;		/* ring to sge */
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
 * struct dat_ep_attr - attributes of an EP
 * @max_recv: largest number of outstanding receives
 * @max_request: largest number of outstanding requests
 * @max_recv_iov: largest number of segments of a receive
 * @max_request_iov: largest number of segments of a request
 * @read_in: largest number of the peer's RDMA reads in flight
 * @read_out: largest number of own RDMA reads in flight
 * @recv_flags: DAT_COMPLETION_FLAGS of receives
 * @request_flags: DAT_COMPLETION_FLAGS of requests
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
 * @obj: base object
 * @pz: zone; reference and use held
 * @recv_evd: EVD for receives; reference and use held; or NULL
 * @request_evd: EVD for requests; reference and use held; or NULL
 * @connect_evd: EVD for connection events; reference and use held; or NULL
 * @srq: SRQ; reference and use held; or NULL
 * @attr: attributes; constant while there is a connection
 * @traits: enum dat_ep_trait bits; constant while there is a connection
 * @lock: lock of @state to @sge, except @next and @generation, and of changes of the members above
 * @state: DAT state; written by dat_ep_set_state() alone
 * @dead: flag: the EP is being shut down, so no connection may begin
 * @freed: flag: the owner has freed the EP, so it gets no more events; implies @dead
 * @version: number of modifications; dat_ep_claim() refuses a connection made before the last one
 * @conn: current connection, from connect or accept to DISCONNECTED
 * @open: @conn while a kernel consumer may post past the ring, given room at the device and an
 *	empty ring; else NULL; see dat_ep_settle()
 * @sq: queue of requests
 * @rq: queue of receives, empty with an SRQ
 * @ring: memory of the rings, which the owner may map; also shows state and private data
 * @nconns: number of connections that refer to the EP; shutdown waits for 0
 * @local: address of the connection
 * @remote: address of the connection's peer
 * @read_in: negotiated number of the peer's RDMA reads in flight
 * @read_out: negotiated number of own RDMA reads in flight
 * @next: prepared ring, not in use yet; ia->map_lock
 * @generation: generation of the ring prepared last; ia->map_lock
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
	spinlock_t		lock;		/* state to sge, see above */
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
 * struct dat_bind - a bind request that has been taken from the queue
 * @set: flag: there is such a request; nothing else is posted until it completes
 * @started: flag: the registration has begun, or conn->bind_work is queued or runs; keeps the
 *	bind from being started twice
 * @failed: flag: the registration failed
 * @cookie: cookie of the request
 * @flags: flags of the request
 * @rmr: id of the RMR, or 0
 * @ticket: ticket of the prepared binding
 * @taken: the prepared binding once the bind has started; owned
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
 * struct dat_failure - a work request that failed before it reached the device
 * @set: flag: there is such a request
 * @cookie: cookie of the request
 * @flags: flags of the request
 * @status: enum dat_dto_status to report
 * @bind: copy of the request, if it is a bind
 * @lmr: LMR of an FMR request, else NULL
 * @op: enum dat_kop of the request, if @lmr is set
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

/* A request in the transport's format. */
union dat_send_wr {
	struct ib_send_wr	wr;
	struct ib_rdma_wr	rdma;
	struct ib_reg_wr	reg;
};

/**
 * enum dat_conn_state - state of a connection
 * @DAT_CONN_CONNECTING: from connect or accept to the end of the handshake
 * @DAT_CONN_ABORTING: closing, and the handshake did not succeed
 * @DAT_CONN_ESTABLISHED: the handshake has succeeded
 * @DAT_CONN_DRAINING: graceful disconnect: closes when all requests have completed
 * @DAT_CONN_HUNG_UP: closing, because the peer has disconnected
 * @DAT_CONN_CLOSING: closing for any other reason
 *
 * dat_conn_was_established() and dat_conn_is_closing() compare states, so their order matters.
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
 * @ep: EP; reference held until the end is reported, then NULL
 * @version: ep->version when the connection was made
 * @dev: device; kept by @ep, later by a reference that conn_close_work() takes
 * @sink: where events of the EP go; constant
 * @rcu: delays the free, since looks at an EVD find the connection under RCU
 * @solicited: flag: only solicited and failed receives notify; constant
 * @sol: state of a @solicited connection
 * @unordered: flag: the device completes requests before earlier RDMA reads; constant
 * @sq_slots: slots, one per SQ entry
 * @rq_slots: slots, one per RQ entry
 * @close_work: work that tears the connection down; queued once
 * @early_work: work of the transport; queued when data arrives before ESTABLISHED and implies it
 * @pump_work: work that posts the receives that one slice has left
 * @bind_work: work that carries out @bind once no request is in flight
 * @timer: connect timeout of the consumer, or deadline of an accepted connection
 * @psp: listener whose backlog counts an accepted connection until it is established;
 *	reference held; xchg()ed to NULL by the release
 * @read_in: number of the peer's RDMA reads in flight that this end asks for or agrees to
 * @read_out: number of own RDMA reads in flight that this end asks for or agrees to
 * @pd: private data to send
 * @pd_len: bytes of @pd
 *
 * Under ep->lock:
 *
 * @early: receives that completed before @live, oldest first
 * @sq_failed: request that failed before the device; reported after all earlier ones complete
 * @rq_failed: receive that failed before the device; reported when the queue is flushed
 * @bind: bind request that all later requests wait for
 * @fenced: flag: the next entry waits until no request is in flight
 * @reads: RDMA reads posted since the device last had no request, if @unordered
 * @inflight: number of requests in flight
 * @passive: flag: accepted, not connected
 * @state: connection state; written by conn_set_state() alone
 * @live: flag: the events of all early receives are queued, so receives are reported at once
 * @held: flag: a thread uses the transport's part, so @close_work waits for dat_conn_unhold()
 * @end_event: connection event that reports the end
 * @end_pd: bytes of private data that came with @end_event; for kernel consumers
 * @busy: entries in the lists of recv_evd and of a different request_evd
 * @busy_seen: flag: a poll has found completions since the timer last ran
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

/* True from the end of a successful handshake on, also while the connection closes. */
static inline bool dat_conn_was_established(const struct dat_conn *conn)
{
	return READ_ONCE(conn->state) >= DAT_CONN_ESTABLISHED;
}

/* True once no more is posted: conn->close_work is queued, or dat_conn_unhold() will queue it. */
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
 * @obj: base object
 * @evd: EVD; reference and use held; @lock, except for requests that @listener reports
 * @lock: lock of @evd for requests that another listener hands over
 * @listener: listener of the transport; NULL after shutdown
 * @conn_qual: connection qualifier, as the consumer gave it
 * @port: port for @conn_qual; see dat_qual_port()
 * @one_shot: flag: the PSP takes one request
 * @spent: flag: a @one_shot PSP has taken its request
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
 * @obj: base object
 * @request: request of the transport; owned; xchg()ed to NULL by the thread that takes it over
 * @gone: flag: the peer has given up; lock of @request
 * @ep: EP that the face has reserved for the request; use held; xchg()ed
 * @psp: listener whose backlog counts the request; reference held; xchg()ed to NULL by the
 *	release
 * @remote: address that the peer claims
 * @off_path: flag: @remote is not the address of the path; constant
 * @read_in: number of RDMA reads that the peer wants to have in flight
 * @read_out: number of RDMA reads that the peer answers at a time
 * @qpn: queue pair number of the peer; 0 with iWARP
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

/* kdapl/ring.c */
#define DAT_KRING_OP_SHIFT	4	/* position of the opcode in the flags of struct dat_wr */

/* Returns the opcode that a kernel consumer's flags contain; 0 in flags of a process. */
static inline u8 dat_kring_op(u8 flags)
{
	return flags >> DAT_KRING_OP_SHIFT;
}

static inline u8 dat_kring_flags(u8 op, u8 flags)
{
	return flags | op << DAT_KRING_OP_SHIFT;
}

/*
 * Returns true if a kernel consumer's ring is empty.  Returns false for a shared ring, whose
 * indices only its fetch() may read.
 */
static inline bool dat_kring_idle(const struct dat_queue *q)
{
	return q->kernel && *q->ring.tail == q->head;
}

bool dat_kevring_pop(struct dat_evring *r, struct dat_eqe *eqe);

/*
 * Returns the number of events in a kernel consumer's ring.  No process maps the ring, so its
 * indices can be trusted.  evd->lock held.
 */
static inline u32 dat_kevring_count(const struct dat_evring *r)
{
	return r->tail - r->head;
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
	/* An address before the start gives a huge offset, so the check cannot wrap around. */
	return len <= lmr->length && addr - lmr->start <= lmr->length - len;
}

/* Returns the LMR with this context, or NULL.  The caller holds RCU or has disabled softirqs. */
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
 * struct dat_rmr_state - binding of an RMR that is in effect
 * @context: lmr_context of the LMR, or 0 if the RMR is unbound
 * @addr: address of the first byte
 * @length: bytes
 * @priv: DAT_PRIV_REMOTE_* bits
 * @rkey: key for peers
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
 * struct dat_step - one step of replacing a ring
 * @what: kind of step
 * @generation: generation of the prepared ring; set by PREPARE, read by COMMIT and CANCEL
 */
struct dat_step {
	enum dat_ring_step	what;
	u32			generation;
};

/* Returns true if the step allocates a ring. */
static inline bool dat_step_makes(const struct dat_step *step)
{
	return step->what == DAT_RING_AT_ONCE || step->what == DAT_RING_PREPARE;
}

/* Returns true if the step puts a ring into use. */
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

/*
 * Returns the number of free entries of the ring.  Once it is at least @want, it may be too low.
 * evd->lock held.
 */
static __always_inline u32 dat_evd_room(struct dat_evd *evd, u32 want)
{
	const struct dat_evring *r = &evd->ring;
	u32 room = r->entries - (r->tail - r->head);

	/* count() reads the consumer's index, which is slow: call it only if r->head is too old. */
	return likely(room >= want) ? room : r->entries - evd->sink->count(evd);
}

int dat_evd_wait(struct dat_evd *evd, u32 threshold, u64 deadline_ns);
void dat_evd_set_unwaitable(struct dat_evd *evd, bool unwaitable);
void dat_evd_set_disabled(struct dat_evd *evd, bool disabled);
int dat_evd_set_cno(struct dat_evd *evd, struct dat_cno *cno);
int dat_evd_resize(struct dat_evd *evd, u32 qlen, struct dat_step *step);
int dat_sleep(u64 deadline_ns);

/* poll.c */
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

/* Polls the connections that notify only of solicited receives; most EVDs have none. */
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

/* user/fd.c */
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
 * struct dat_flush - number of entries that a flush may still take
 * @sq: requests
 * @rq: receives
 *
 * Both begin with the size of the ring, so a producer that keeps posting cannot prolong the flush.
 */
struct dat_flush {
	u32 sq, rq;
};

/**
 * dat_queue_stopped() - check whether requests must wait for those in flight
 * @conn: connection
 *
 * Context: ep->lock held.  Return: true if a failed request, a bind or a fenced request stops
 * the queue.
 */
static inline bool dat_queue_stopped(const struct dat_conn *conn)
{
	return conn->sq_failed.set || conn->bind.set || conn->fenced;
}

/**
 * dat_queue_settled() - check whether the pumps and dat_conn_progress() have nothing to do
 * @conn: established connection
 *
 * This check is cheap and may return false although there is nothing to do.
 *
 * Context: ep->lock held.  Return: true if the calls may be skipped.
 */
static inline bool dat_queue_settled(const struct dat_conn *conn)
{
	const struct dat_ep *ep = conn->ep;

	/* ep->open is NULL while the queue is stopped or the connection is closing. */
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

/* Returns true once a free has succeeded: no event about the object may be queued. */
static inline bool dat_obj_dying(const struct dat_obj *obj)
{
	return atomic_read(&obj->users) < 0;
}

static inline u16 dat_addr_port(const struct sockaddr_storage *ss)
{
	/* sin_port and sin6_port have the same offset. */
	return be16_to_cpu(((const struct sockaddr_in *)ss)->sin_port);
}

static inline void dat_addr_set_port(struct sockaddr_storage *ss, u16 port)
{
	((struct sockaddr_in *)ss)->sin_port = cpu_to_be16(port);
}

/*
 * Returns the rdma_cm port for a connection qualifier.  A qualifier above 65535 maps to a port
 * from 33534 to 65534, as in OFED's uDAPL, so that both libraries reach each other.
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
