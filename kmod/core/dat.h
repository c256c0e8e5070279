/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * The objects of dat.ko, parents first.
 *
 *   dat_dev                an RDMA device
 *    └ dat_ia              one open instance of a port of the device
 *       ├ dat_cno          notification object that several EVDs trigger (event/evd.h)
 *       ├ dat_evd          event dispatcher with its ring (event/evd.h)
 *       ├ dat_pz           protection zone (mem/lmr.h)
 *       │  ├ dat_lmr       registered memory (mem/lmr.h)
 *       │  ├ dat_rmr       key for a part of an LMR (mem/rmr.h)
 *       │  ├ dat_srq       shared receive queue (ep/srq.h, ep/queue.h)
 *       │  └ dat_ep        endpoint; outlives its connections (ep/ep.h, ep/queue.h)
 *       │     └ dat_conn   one connection of the endpoint (ep/conn.h)
 *       ├ dat_psp          listener (ep/psp.h)
 *       └ dat_cr           connection request (ep/psp.h)
 *
 * This file declares what all objects have in common.  The header in parentheses declares the rest
 * of each object.
 *
 * References.  A child holds a kref on each parent.  obj->users counts the uses of an object, for
 * example the EPs that use an EVD.  DAT forbids a free while the count is above 0.  The count is -1
 * once a free has begun.
 *
 * The teardown of an object has two steps.  shutdown() releases all device resources that the
 * object holds.  shutdown() is idempotent, because a free, the close of the IA and the removal of
 * the device each call shutdown().  release() runs when the last reference is dropped, and frees
 * memory.
 *
 * Locks, outer to inner:
 *
 *   dat_dev_lock          mutex; registered devices
 *   dat_ias_lock          mutex; lists of the IAs of devices
 *   ia->sem               read: a call that sleeps and uses the device; write: a shutdown
 *   cr_make_lock          mutex of the kernel face: creation of the EP of a request
 *   kdat_ep->modify       mutex of the kernel face: one modification of an EP at a time
 *   kdat_lmr->lock        mutex of the kernel face: parameters of an LMR
 *   dat_file->lock        mutex of the user face: doorbell bits; taken before mmap_lock
 *   dat_file->kicking     mutex of the user face: a kick over iWARP
 *   ia->resize_lock       mutex; replacements of rings
 *   verbs_pz->reg_lock    mutex of the verbs transport: connection that registers memory
 *   verbs_evd->making     mutex of the verbs transport: creation of the CQs of an EVD
 *   psp->lock             mutex; EVD of a listener
 *   request lock          ops->request_lock(), or the transport's lock of a connection; held around
 *                         event handlers of the transport, which never take ia->sem
 *   lane->lock            BH spinlock of the lo transport; requests that are carried out; a thread
 *                         never holds two of them
 *   cq->lock              BH spinlock; polls of a CQ; a thread never holds two of them
 *   ep->lock              BH spinlock; a thread never holds two of them
 *   evd->lock             BH spinlock; a thread never holds two of them
 *   srq->lock             BH spinlock
 *   pz->rmr_lock          BH spinlock
 *   rmr->lock             BH spinlock
 *   lmr->lock             BH spinlock
 *   round->lock           BH spinlock; a thread never holds two of them
 *   cno->lock             BH spinlock
 *
 * Leaves, under which no other lock of this list is taken:
 *
 *   psp_lock              spinlock; hash table of listeners
 *   share_lock            mutex; names of shared memory
 *   watches->lock         spinlock; watched LMRs; also taken under locks of an mm
 *   poller->lock          mutex; thread of a poller
 *   pool->lock            mutex, also taken under mmap_lock; memory that the process can map; not
 *                         held while a chunk is allocated or mapped
 *   ia->lmr_lock          mutex; table of LMRs
 *   locked_users.xa_lock  spinlock; device queues that users are charged for
 *   other xa_locks        spinlocks of ia->objs, dat_file->bells and kdat_ias
 *   verbs_evd->lock       spinlock of the verbs transport; CQs of an EVD
 *   lo_slot.lock          spinlock of the lo transport, softirqs disabled; copies of a CPU
 *   lo_keys.xa_lock       spinlock of the lo transport; table of keys
 *   upcall_cpu.lock       spinlock of the kernel face; queued runners of a CPU
 *   listen_watch.lock     mutex of the verbs transport; listeners of an adapter; only watches_lock
 *                         is taken under it
 *   watches_lock          BH spinlock of the verbs transport; all listen_watches
 *
 * Never under a spinlock: rdma_destroy_id, ib_drain_*, ib_destroy_*, ib_dereg_mr.
 * A post to a QP is allowed under ep->lock, but not under evd->lock.
 */
#ifndef _DAT_H
#define _DAT_H

#include <linux/idr.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/seq_file.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "core/abi.h"
#include "core/mem/pool.h"
#include "core/mem/watch.h"
#include "core/xport.h"
#include "lib/region.h"

/* Range of the ids of objects (ia->objs) and of chunks of shared memory (pool->ids). */
#define DAT_ID_LIMIT	XA_LIMIT(1, (1 << DAT_ID_BITS) - 1)

/* The page offset of a chunk must fit into the 32 bits that a 32-bit process passes to mmap(). */
static_assert(DAT_ID_BITS + DAT_REGION_KIND_BITS <= 32);

struct dat_evd;
struct dat_face;
struct dat_lmr;
struct dat_lmr_table;
struct dat_stats;
struct poll_table_struct;
struct rdma_cgroup;
struct rdmacg_device;

/* An RDMA device.  After dat_dev_register() only @ref, @ias and @ending change. */
struct dat_dev {
	struct kref			ref;	/* held by transport, IAs, closing connections */
	const struct dat_xport_ops	*ops;
	/*
	 * Transport's structure for the device, which the core frees by kfree().  What it points to
	 * may be invalid once dat_dev_unregister() has returned; see struct dat_xport_ops.
	 */
	void				*priv;
	/* rdma cgroup's device; valid until dat_dev_unregister() returns. */
	struct rdmacg_device		*cg;
	u32				nports;	/* ports are numbered from 1 */
	bool				usable;	/* DAT supports the driver of the device */
	unsigned long			quirks;	/* enum dat_quirk bits */
	struct dat_limits		limits;
	u32				serial;	/* registration, from 1 on; U32_MAX: local */
	struct list_head		ias;	/* open IAs; dat_ias_lock */
	/* Number of connections and CQs that a removal waits for; see dat_dev_ending(). */
	atomic_t			ending;
	struct dat_stats __percpu	*stats[]; /* counters of each port; [0]: port 1 */
};

/* Interface adapter: one opening of one port. */
struct dat_ia {
	struct kref		ref;		/* held by the opener, by objects, and by calls */
	struct dat_dev		*dev;
	char			name[DAT_NAME_SIZE];	/* name that was passed to dat_ia_open() */
	u32			port;
	/* Only address to use; family 0: all addresses.  Set before the IA has objects. */
	struct sockaddr_storage	addr;
	struct dat_stats __percpu *stats;	/* counters of the port */
	struct net		*net;		/* network namespace of the opener */
	struct list_head	node;		/* entry in dev->ias; dat_ias_lock */
	/*
	 * A call that sleeps and uses the device holds @sem for reading, except a registration of
	 * user memory, see @pinning.  A shutdown holds @sem for writing.
	 */
	struct rw_semaphore	sem;
	/*
	 * The IA is shut down: no object may be published any more.  Written with both @sem and
	 * xa_lock(&objs) held.
	 */
	bool			dead;
	/*
	 * No connection and no registration begins any more.  A shutdown waits for @sem and
	 * @pinning, so a thread that sleeps with @sem held, or is counted in @pinning, returns
	 * early.  Accessed without a lock.
	 */
	bool			closing;
	/*
	 * Number of registrations of user memory in progress.  A registration does not hold @sem,
	 * and no registration begins after @closing is set.  A shutdown waits until the number is
	 * 0, then takes @sem.
	 */
	atomic_t		pinning;
	atomic_t		nconns;		/* number of connections that use an EP of the IA */
	/*
	 * A poller thread polls the doorbells, so producers need not kick the queues, except for
	 * receives over iWARP.  Written by the poller thread without a lock; the pump reads
	 * @watched under the lock of a queue.
	 */
	bool			watched;
	/*
	 * Held while a ring is prepared, put into use or cancelled, and while its location in
	 * shared memory is read.
	 */
	struct mutex		resize_lock;
	struct dat_pool		submit_pool;	/* ring parts that the consumer writes */
	struct dat_pool		status_pool;	/* ring parts that the driver writes */
	struct xarray		objs;		/* published objects, by id; see obj.c */
	u32			next_id;	/* start of the search for a free id; xa_lock */
	atomic_t		id_rounds;	/* number of wraps of @next_id */
	const struct dat_face	*face;		/* face that has opened the IA; constant */
	bool			silent;		/* the consumer allows silent requests; constant */
	bool			reject_data;	/* the consumer gets data of rejects; constant */
	struct mutex		lmr_lock;	/* lock for changes of @lmrs */
	struct ida		lmr_ids;	/* LMR indices: the low bits of an lmr_context */
	struct dat_lmr_table __rcu *lmrs;	/* LMRs by index; NULL before the first LMR */
	atomic_t		lmr_gen;	/* generation of the newest lmr_context */
	struct dat_watches	watches;	/* LMRs with DAT_LMR_WATCHED */
	struct dat_lmr		*reserved;	/* LMR that covers all memory, or NULL */
	/* Async EVD, with a reference, or NULL; set once, cleared by dat_ia_close(). */
	struct dat_evd		*async_evd;
	u64			user_data;	/* dat_eqe.owner of events about the IA itself */
	u32			msg_max;	/* dat_port.msg_max when the IA was opened */
	u32			mtu;		/* dat_port.mtu when the IA was opened */
	bool			iwarp;
	struct rdma_cgroup	*cg;		/* cgroup that is charged for the open IA */
};

/* Common first member of all objects. */
struct dat_obj {
	enum dat_obj_type	type;
	u32			id;		/* index in ia->objs */
	struct kref		ref;		/* the last put frees the memory */
	atomic_t		users;		/* number of uses; -1: a free has begun */
	struct dat_ia		*ia;		/* reference held */
	u64			user_data;	/* dat_eqe.owner of the object's events */
	bool			published;	/* was made visible to lookups; never cleared */
	/* Face's structure for the object, or NULL; in a CR of the kernel face: PSP's handle. */
	void			*priv;
	u64			context;	/* value that a kernel consumer has set, or 0 */
	u32			round;		/* ia->id_rounds at the allocation of @id */
	struct rdma_cgroup	*cg;		/* cgroup that is charged for the object, or NULL */
	struct rcu_head		rcu;		/* for the free: lookups by id run under RCU */
};

/**
 * struct dat_obj_ops - operations of an object type
 * @name: name of the type in fdinfo
 * @size: size of the structure in bytes
 * @charge: flag: each object is charged to the rdma cgroup as an hca_object
 * @may_free: commit to the free of the object and return 0, or return an error that forbids the
 *	free; optional
 * @begin_shutdown: start the slow part of @shutdown without waiting for the end of that part;
 *	optional
 * @shutdown: release all device resources that the object holds; idempotent; may sleep
 * @release: free the memory that the structure points to, but not the structure; may sleep;
 *	optional
 * @poll: return EPOLL* bits; set only for types that can have a file descriptor
 * @show: write the fields of the object's line in fdinfo
 */
struct dat_obj_ops {
	const char	*name;
	size_t		size;
	bool		charge;
	int		(*may_free)(struct dat_obj *obj);
	void		(*begin_shutdown)(struct dat_obj *obj);
	void		(*shutdown)(struct dat_obj *obj);
	void		(*release)(struct dat_obj *obj);
	__poll_t	(*poll)(struct dat_obj *obj, struct file *file,
				struct poll_table_struct *wait);
	void		(*show)(struct seq_file *m, struct dat_obj *obj);
};

extern const struct dat_obj_ops dat_pz_ops, dat_lmr_ops, dat_evd_ops, dat_srq_ops,
	dat_ep_ops, dat_psp_ops, dat_cr_ops, dat_cno_ops, dat_rmr_ops;

#define DAT_OBJ_CAST(name)						\
static inline struct dat_##name *to_dat_##name(struct dat_obj *obj)	\
{									\
	return container_of(obj, struct dat_##name, obj);		\
}

/* core.c */
extern struct workqueue_struct *dat_wq, *dat_close_wq;
extern unsigned int dat_ring_start;

int dat_core_init(void);
void dat_core_exit(void);

/* adapter.c */
struct dat_dev *dat_dev_alloc(const struct dat_xport_ops *ops, u32 nports);
int dat_dev_register(struct dat_dev *dev);
void dat_dev_unregister(struct dat_dev *dev);
void dat_dev_async(struct dat_dev *dev, u32 port, u32 type, u16 reason);
struct dat_dev *dat_dev_find(const char *name, struct net *net, u32 *port, struct dat_port *attr);
/* Characters that fdinfo shows in octal, so that no value contains a blank. */
#define DAT_SHOW_OCTAL	" \t\n\\"

int dat_dev_query(const char *name, struct net *net, struct dat_limits *limits,
		  struct dat_port *port);

/* An adapter, as dat_dev_next() lists it. */
struct dat_dev_entry {
	char	name[DAT_NAME_SIZE];
	u32	port;
	bool	local;	/* dat_limits.local */
};

int dat_dev_next(struct net *net, u64 *cursor, struct dat_dev_entry *out, bool *active);
void dat_dev_show(struct seq_file *m, struct net *net, const struct dat_ia *ia);
struct dat_dev *dat_dev_get(struct dat_dev *dev);
void dat_dev_ending(struct dat_dev *dev);
void dat_dev_ended(struct dat_dev *dev);
void dat_dev_put(struct dat_dev *dev);
bool dat_dev_attach(struct dat_dev *dev, struct dat_ia *ia);
void dat_dev_detach(struct dat_ia *ia);
int dat_dev_addr(const struct dat_ia *ia, struct sockaddr_storage *ss);

/* ia.c */
struct dat_ia *dat_ia_open(const char *name, struct net *net, const struct dat_face *face,
			   u64 user_data);
void dat_ia_shutdown(struct dat_ia *ia);
void dat_ia_wake(struct dat_ia *ia);
void dat_ia_begin_end(struct dat_ia *ia);
bool dat_ia_begin_close(struct dat_ia *ia);
void dat_ia_close(struct dat_ia *ia);
void dat_ia_put(struct dat_ia *ia);
void dat_ia_async(struct dat_ia *ia, u32 type, enum dat_obj_type kind, u64 owner,
		  u16 reason);
void dat_ia_report(struct dat_ia *ia, u32 type, u16 reason);
void dat_ia_abort_conns(struct dat_ia *ia);
void dat_ia_set_async_evd(struct dat_ia *ia, struct dat_evd *evd);
void dat_ia_drain(struct dat_ia *ia);
void dat_ia_lock(struct dat_ia *ia);
int dat_ia_lock_live(struct dat_ia *ia);
void dat_ia_unlock(struct dat_ia *ia);
int dat_ia_pin_begin(struct dat_ia *ia, u64 start, u64 length, u32 priv);
void dat_ia_pin_end(struct dat_ia *ia);
void dat_ia_set_watched(struct dat_ia *ia, bool watched);
struct dat_obj *dat_ia_next(struct dat_ia *ia, unsigned long *id);

/* Returns the DAT_EP_FLAG_* bits that the adapter supports.  iWARP has no immediate data. */
static inline u32 dat_ia_ep_flags(const struct dat_ia *ia)
{
	return ia->iwarp ? 0 : DAT_EP_FLAG_IMMEDIATE;
}

/* obj.c */
void *dat_obj_alloc_gfp(struct dat_ia *ia, enum dat_obj_type type, u64 user_data, gfp_t gfp);
void *dat_obj_alloc(struct dat_ia *ia, enum dat_obj_type type, u64 user_data);
int dat_obj_publish(struct dat_obj *obj);
void dat_obj_unpublish(struct dat_obj *obj);
void dat_obj_abort(struct dat_obj *obj);
void *dat_obj_get(struct dat_ia *ia, enum dat_obj_type type, u32 id);
void dat_obj_release(struct kref *ref);
int dat_obj_use(struct dat_obj *obj);
void dat_obj_unuse(struct dat_obj *obj);
void dat_obj_unuse_atomic(struct dat_obj *obj);
int dat_obj_begin_free(struct dat_obj *obj);
int dat_obj_free(struct dat_obj *obj);
void dat_obj_shutdown(struct dat_obj *obj);
const struct dat_obj_ops *dat_obj_ops(const struct dat_obj *obj);
bool dat_obj_type_known(u32 type);

/*
 * Drops a reference; @obj may be NULL.  The last put may sleep, for example because release() of an
 * EVD, an EP or an SRQ takes the mutex pool->lock.  An RMR may be put under ep->lock: an RMR has no
 * release(), and the EP's reference keeps the IA.
 */
static inline void dat_obj_put(struct dat_obj *obj)
{
	if (obj)
		kref_put(&obj->ref, dat_obj_release);
}

/*
 * Returns true once a free of the object has begun.  If ops->may_free() then forbids the free, the
 * result is true for a moment only.
 */
static inline bool dat_obj_dying(const struct dat_obj *obj)
{
	return atomic_read(&obj->users) < 0;
}

#endif /* _DAT_H */
