/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The objects of dat.ko, parents first.
 *
 *   dat_dev                an RDMA device
 *    └ dat_ia              one opening of one of its ports
 *       ├ dat_cno          notification object that several EVDs trigger (evd.h)
 *       ├ dat_evd          event dispatcher with its ring (evd.h)
 *       ├ dat_pz           protection zone (lmr.h)
 *       │  ├ dat_lmr       registered memory (lmr.h)
 *       │  ├ dat_rmr       key for a part of an LMR (rmr.h)
 *       │  ├ dat_srq       shared receive queue (srq.h, queue.h)
 *       │  └ dat_ep        endpoint; outlives its connections (ep.h, queue.h)
 *       │     └ dat_conn   one connection of the endpoint (conn.h)
 *       ├ dat_psp          listener (psp.h)
 *       └ dat_cr           connection request (psp.h)
 *
 * This file has what all objects share; the header in parentheses has the rest.
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
 *   ia->resize_lock       under ia->sem: replacements of rings
 *   pool->lock            leaf, under mmap_lock or ia->sem: memory that the process can map
 *
 * Never under a spinlock: rdma_destroy_id, ib_drain_*, ib_destroy_*, ib_dereg_mr.
 * Posting to a QP under ep->lock is fine, under evd->lock it is not.
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
#include "core/pool.h"
#include "core/xport.h"
#include "region.h"

/* Ids of objects and of chunks. */
#define DAT_ID_LIMIT	XA_LIMIT(1, (1 << DAT_ID_BITS) - 1)

/* The page offset of a chunk fits in 32 bits, which is what a 32-bit process passes to mmap(). */
static_assert(DAT_ID_BITS + DAT_REGION_KIND_BITS <= 32);

struct dat_evd;
struct dat_face;
struct dat_lmr;
struct dat_lmr_table;
struct poll_table_struct;
struct rdma_cgroup;
struct rdmacg_device;

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
 * @serial: number of the registration, from 1
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
	u32				serial;
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
 * @resize_lock: lock of the prepared rings of the objects, and of the exchange of rings
 * @submit_pool: memory of rings that the consumer writes; has a lock of its own
 * @status_pool: memory of rings that the driver writes; has a lock of its own
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
	struct mutex		resize_lock;	/* prepared rings */
	struct dat_pool		submit_pool;
	struct dat_pool		status_pool;
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

/* mapping.c */
int dat_mapping_init(void);
void dat_mapping_exit(void);

/* adapter.c */
struct dat_dev *dat_dev_alloc(const struct dat_xport_ops *ops);
void dat_dev_register(struct dat_dev *dev);
void dat_dev_unregister(struct dat_dev *dev);
struct dat_dev *dat_dev_find(const char *name, struct net *net, u32 *port);
int dat_dev_query(const char *name, struct net *net, struct dat_limits *limits,
		  struct dat_port *port);
int dat_dev_next(struct net *net, u64 *cursor, char *name, size_t len, u32 *port, bool *active);
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
void dat_obj_put(struct dat_obj *obj);
int dat_obj_use(struct dat_obj *obj);
void dat_obj_unuse(struct dat_obj *obj);
void dat_obj_unuse_atomic(struct dat_obj *obj);
int dat_obj_begin_free(struct dat_obj *obj);
int dat_obj_free(struct dat_obj *obj);
void dat_obj_shutdown(struct dat_obj *obj);
const struct dat_obj_ops *dat_obj_ops(const struct dat_obj *obj);
bool dat_obj_type_known(u32 type);

/* Returns true once a free has succeeded: no event about the object may be queued. */
static inline bool dat_obj_dying(const struct dat_obj *obj)
{
	return atomic_read(&obj->users) < 0;
}

#endif /* _DAT_H */
