/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Remote Shared Memory: segments, their imports, and what moves bytes between them.
 *
 *   rsm_node              a network namespace: the segments published in it
 *   rsm_ctx               an open file of RSM; ends with its address space
 *    ├ rsm_export         a segment; has rsm_mem, its pages
 *    ├ rsm_import         a connection to a segment; holds a reference on the export
 *    └ rsm_localmem       locked memory for transfers; has rsm_mem
 *
 * Objects are found by id, under RCU, and live while their kref is held; what they do for
 * others ends earlier, in three steps that rsm_obj_end() takes for one of them and
 * the end of a context for all at once:
 *
 *   stop     nobody finds it any more, imports are cut, windows show trash
 *   wait     for a grace period of rsm_transfers, after which none is under way
 *   drop     unpin
 *
 * A transfer looks at import->cut and at the pages of the segment under rsm_transfers, for
 * no more than a page at a time and without page faults.  So nobody, least of all an
 * importer whose memory is slow to fault in, can hold up the end of a segment.  It is SRCU
 * because who waits is a process that wants its memory back: that must not take until all
 * that others have given to RCU to free is freed, which importers can make a lot.
 *
 * Locks, outer to inner:
 *
 *   node->ctlr_lock       mutex: which adapters there are and are open; not held while one
 *                         is opened or closed: that takes its time, and is a state of it
 *   export->rebind_lock     mutex: one rebind at a time
 *   node->lock            mutex: who is published, who imports what; never held while
 *                         user memory is touched, windows are zapped, or memory is reclaimed
 *   import->map_lock      mutex, not inside node->lock but inside mmap_lock: what the window
 *                         shows; never held while user memory is touched or memory is reclaimed
 *   ctx->rings_lock       mutex, inside conn->ring_lock and outside of ring->lock: the rings that
 *                         the poller looks at; nothing under it waits for a peer or a process
 *   obj->lock             spinlock: events
 */
#ifndef _DAT_RSM_H
#define _DAT_RSM_H

#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/srcu.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/dat_rsm.h>

#include "poller.h"
#include "region.h"

/* Bytes of a segment, and of the room that its window has among page offsets. */
#define RSM_MAX_SHIFT	40
#define RSM_MAX_LENGTH	BIT_ULL(RSM_MAX_SHIFT)

/* VMAs of an import's window: each is zapped when the segment is withdrawn or rebound. */
#define RSM_MAX_MAPS	1024

/* Adapters of a node, counted from the first one that it has seen. */
#define RSM_MAX_CTLRS	63

struct key;
struct net;
struct rsm_conn;
struct rsm_ctlr;
struct rsm_remote;
struct rsm_survey;
struct seq_file;

/* Transfers of all, each from page to page; see the top of this file. */
extern struct srcu_struct rsm_transfers;

/* Context: sleeps.  Until no transfer goes on that has seen what was before. */
static inline void rsm_transfers_wait(void)
{
	synchronize_srcu_expedited(&rsm_transfers);
}

/**
 * struct rsm_table - where other nodes are
 * @rcu: it is looked at under RCU
 * @count: of @nodes
 * @nodes: checked
 */
struct rsm_table {
	struct rcu_head		rcu;
	u32			count;
	struct dat_rsm_node	nodes[];
};

/**
 * struct rsm_user - a user of a node
 * @refs: contexts; lock of node->users
 * @objs: number of exports and imports; grows under node->lock
 * @served: connections of importers to its segments; grows under node->lock
 */
struct rsm_user {
	unsigned int	refs;
	atomic_t	objs;
	atomic_t	served;
};

/**
 * struct rsm_node - RSM in a network namespace
 * @lock: see the top of this file
 * @segs: published exports by segment id; to store in a place that is reserved, @lock
 * @next_auto: where the search for an automatic id begins
 * @id: node id; changes under @lock, while there are no objects
 * @objs: number of exports and imports; grows under @lock
 * @users: struct rsm_user by uid
 * @net: the namespace, which holds the node
 * @ctlr_lock: see the top of this file
 * @ctlrs: struct rsm_ctlr: adapters that are open, or are being opened or closed; @ctlr_lock
 * @ctlr_changes: of their states, so far; @ctlr_lock to write
 * @ctlr_wq: who waits for @ctlr_changes
 * @names: of adapters: number n is at n - 1, for as long as the node lives; @ctlr_lock, but
 *	for who knows the number to be one
 * @nr_names: of them; @ctlr_lock
 * @table: or NULL; changed under @ctlr_lock, read under RCU
 * @key_lock: spinlock: @key
 * @key: logon key with the cluster key, reference held, or NULL
 * @trusts: the administrator has said that all hosts of the network are trusted
 * @survey_lock: one survey at a time; outer to @ctlr_lock
 * @surveys: that have begun; @survey_lock
 * @survey: what the last one found, or NULL; @survey_lock
 */
struct rsm_node {
	struct mutex		lock;		/* see the top of this file */
	struct xarray		segs;
	u32			next_auto;
	u32			id;
	atomic_t		objs;
	struct xarray		users;
	struct net		*net;
	struct mutex		ctlr_lock;	/* see the top of this file */
	struct list_head	ctlrs;
	u32			ctlr_changes;
	wait_queue_head_t	ctlr_wq;
	char			*names[RSM_MAX_CTLRS];
	unsigned int		nr_names;
	struct rsm_table __rcu	*table;
	spinlock_t		key_lock;	/* key */
	struct key		*key;
	bool			trusts;
	struct mutex		survey_lock;	/* surveys, survey */
	u32			surveys;
	struct rsm_survey	*survey;
};

/**
 * struct rsm_file - an open file of /dev/rsm
 * @mm: of the opener; nobody else may use the file, since addresses are meant in it
 * @net: network namespace of the opener
 * @inode: anonymous; see dat_mapping_alloc()
 * @lock: opening of @ctx
 * @ctx: set once, with release
 */
struct rsm_file {
	struct mm_struct	*mm;
	struct net		*net;
	struct inode		*inode;
	struct mutex		lock;		/* ctx */
	struct rsm_ctx		*ctx;
};

static inline struct rsm_ctx *rsm_file_ctx(struct rsm_file *file)
{
	return smp_load_acquire(&file->ctx);	/* whole since it was opened */
}

/* Kinds of region in an mmap offset; the slots are of no object, the others of an import. */
enum rsm_region_kind {
	RSM_REGION_SLOTS	= 5,
	RSM_REGION_SUBMIT	= 6,
	RSM_REGION_STATUS	= 7,
	RSM_REGION_DATA		= 8,
};

/**
 * struct rsm_ctx - an open file that has become one of RSM
 * @mm: whose memory and whose file it is
 * @node: of the file's network namespace, which the file holds
 * @mapping: of the file; windows are zapped through it
 * @objs: by id, from 1
 * @next_id: where the search for a free id begins
 * @slots: struct dat_rsm_slot, by id - 1, and that of @mm
 * @mn: tells of the end of @mm, and of changes to what is mapped
 * @uid: of the opener
 * @user: of @uid: whose places its exports and imports take
 * @ended: objects are being stopped, or have been; bit 0
 * @ending: stopped objects, linked by their RCU heads; set before @end_work is queued
 * @busy: transfers may be in progress on them; likewise
 * @end_work: waits for transfers and peers, then frees @ending
 * @drain_deadline: once it is ended: in jiffies, until when peers may take to hear the last
 * @rings_lock: mutex, inside conn->ring_lock: @rings
 * @rings: struct rsm_ring, from registration to the end of the connection
 * @poller: looks at @rings, if the process asked for that
 * @watched: it does now; rings read it under their locks
 */
struct rsm_ctx {
	struct mm_struct	*mm;
	struct rsm_node		*node;
	struct address_space	*mapping;
	struct xarray		objs;
	u32			next_id;
	struct dat_region	slots;
	struct mmu_notifier	mn;
	kuid_t			uid;
	struct rsm_user		*user;
	unsigned long		ended;
	struct callback_head	*ending;
	bool			busy;
	struct work_struct	end_work;
	unsigned long		drain_deadline;
	struct mutex		rings_lock;	/* rings */
	struct list_head	rings;
	struct dat_poller	poller;
	bool			watched;
};

/**
 * struct rsm_obj - what all objects begin with
 * @type: enum dat_rsm_type
 * @id: in ctx->objs
 * @ref: memory lives while it is held
 * @rcu: lookups are under RCU
 * @ctx: valid until the object is dropped
 * @lock: everything below
 * @slot: in ctx->slots; NULL once stopped
 * @generation: of the connection
 * @pending: events that nobody has consumed
 * @cut: an import whose segment is gone; also read under RCU by transfers
 * @stopped: the object is no more; of local memory also read under RCU by transfers
 * @wq: those who wait for events, and pollers
 */
struct rsm_obj {
	enum dat_rsm_type	type;
	u32			id;
	struct kref		ref;
	struct rcu_head		rcu;
	struct rsm_ctx		*ctx;
	spinlock_t		lock;		/* of all that follows */
	struct dat_rsm_slot	*slot;
	u32			generation;
	u32			pending;
	bool			cut;
	bool			stopped;
	wait_queue_head_t	wq;
};

/**
 * struct rsm_mem - pinned pages
 * @mm: charged for them
 * @length: bytes
 * @lmr: registration of a segment that an adapter reaches; it holds the pages, and @npages is 0
 * @rkey: of @lmr
 * @budget: pages that count against the node's budget
 * @npages: number of pages in @pages
 * @exported: of a segment
 * @writable: transfers may write
 * @pages: in order
 */
struct rsm_mem {
	struct mm_struct	*mm;
	u64			length;
	void			*lmr;
	u32			rkey;
	u32			budget;
	u32			npages;
	bool			exported;
	bool			writable;
	struct page		**pages;
};

/**
 * struct rsm_export - a segment
 * @obj: base
 * @flags: DAT_RSM_REBINDABLE, ...
 * @uid: of the creator
 * @unlimited: the creator may use what resources it likes
 * @gid: of the creator
 * @umask_perm: for those who are in no list
 * @length: bytes
 * @addr: of the memory, as last bound; node->lock
 * @mem: changed under node->lock, read under rsm_transfers
 * @segid: 0: not published; node->lock
 * @withdrawing: it is not found by @segid any more, but importers are still being waited for;
 *	node->lock
 * @acl: who may import, or NULL; node->lock
 * @acl_count: of them; node->lock
 * @imports: connections; node->lock.  An import leaves the list only after its window was zapped
 * @rebind_lock: serializes rebinds from the swap of the pages until all windows are zapped; outside
 *	node->lock
 * @rebinds: number of rebinds; node->lock
 * @shared: there has been one, so transfers may be under way; node->lock
 * @ctlr: adapter, reference held until it is dropped; NULL: loopback
 * @pz: zone of @mem and of all endpoints of importers
 * @peers: struct rsm_conn, those that are not to end; node->lock
 * @conns: connections, also those that are ending; obj.wq
 * @importers: number of @conns whose peer was told the key
 * @rebinds_pending: of them, those that may use the memory of before; obj.wq
 * @calls: that use @ctlr and @pz, under way; obj.wq
 */
struct rsm_export {
	struct rsm_obj		obj;
	u32			flags;
	kuid_t			uid;
	bool			unlimited;
	kgid_t			gid;
	u32			umask_perm;
	u64			length;
	u64			addr;
	struct rsm_mem __rcu	*mem;
	u32			segid;
	bool			withdrawing;
	struct dat_rsm_access	*acl;
	u32			acl_count;
	struct list_head	imports;
	struct mutex		rebind_lock;	/* rebinds */
	u32			rebinds;
	bool			shared;
	struct rsm_ctlr		*ctlr;
	void			*pz;
	struct list_head	peers;
	atomic_t		conns;
	atomic_t		importers;
	atomic_t		rebinds_pending;
	atomic_t		calls;
};

/**
 * struct rsm_import - a connection to a segment
 * @obj: base
 * @remote: what it has of an adapter; NULL: loopback
 * @length: of the segment
 * @export: loopback: the segment; reference held
 * @node: in export->imports until it is cut and its window zapped; node->lock
 * @rebinds: export->rebinds when its window was last zapped, or when it connected; node->lock
 * @perm: DAT_RSM_READ, DAT_RSM_WRITE
 * @window: number of its window
 * @map_lock: see the top of this file
 * @maps: number of VMAs of the window, at most RSM_MAX_MAPS; @map_lock
 * @trash: what the window shows after a cut; made with the first VMA, under @map_lock
 */
struct rsm_import {
	struct rsm_obj		obj;
	struct rsm_remote	*remote;
	u64			length;
	struct rsm_export	*export;
	struct list_head	node;
	u32			rebinds;
	u32			perm;
	u32			window;
	struct mutex		map_lock;	/* see the top of this file */
	unsigned int		maps;
	struct page		*trash;
};

/**
 * struct rsm_localmem - locked memory
 * @obj: base
 * @addr: where it was mapped when it was locked
 * @mem: read under RCU by transfers
 */
struct rsm_localmem {
	struct rsm_obj		obj;
	u64			addr;
	struct rsm_mem __rcu	*mem;
};

static inline struct rsm_export *to_rsm_export(struct rsm_obj *obj)
{
	return container_of(obj, struct rsm_export, obj);
}

static inline struct rsm_import *to_rsm_import(struct rsm_obj *obj)
{
	return container_of(obj, struct rsm_import, obj);
}

static inline struct rsm_localmem *to_rsm_localmem(struct rsm_obj *obj)
{
	return container_of(obj, struct rsm_localmem, obj);
}

/**
 * struct rsm_ucmd - a call under way
 * @file: of the caller
 * @ctx: of @file; NULL if the operation needs none
 * @arg: private copy of the argument
 * @made: object that the call made, published, with a reference
 * @made_file: file that it made, for a descriptor that is reserved
 */
struct rsm_ucmd {
	struct file	*file;
	struct rsm_ctx	*ctx;
	void		*arg;
	struct rsm_obj	*made;
	struct file	*made_file;
};

extern unsigned int rsm_max_segments, rsm_max_exported;

/* Runs the ends of contexts, which wait for peers, but never for one of their kind. */
extern struct workqueue_struct *rsm_end_wq;

/* poller.c */
extern const struct dat_poller_ops rsm_poller_ops;
long rsm_ioctl_poller(struct rsm_file *file, unsigned int cmd, void __user *ubuf);

/* main.c */
struct rsm_node *rsm_node_of(struct net *net);

/* file.c */
int rsm_file_init(void);
void rsm_file_exit(void);

/* obj.c */
int rsm_ctx_open(struct file *filp, struct rsm_ctx **out);
void rsm_ctx_close(struct rsm_ctx *ctx);
void rsm_ctx_show(struct seq_file *m, struct rsm_ctx *ctx);
int rsm_obj_setup(struct rsm_ctx *ctx, struct rsm_obj *obj, enum dat_rsm_type type);
int rsm_obj_publish(struct rsm_ucmd *ucmd, struct rsm_obj *obj);
void rsm_obj_abort(struct rsm_obj *obj);
struct rsm_obj *rsm_obj_get(struct rsm_ctx *ctx, enum dat_rsm_type type, u32 id);
struct rsm_obj *rsm_obj_get_events(struct rsm_ctx *ctx, u32 id);
void rsm_obj_put(struct rsm_obj *obj);
int rsm_obj_end(struct rsm_ctx *ctx, enum dat_rsm_type type, u32 id);
void rsm_obj_undo(struct rsm_obj *obj);
void rsm_obj_cut(struct rsm_obj *obj);

/* How many of so many places one user may have. */
unsigned int rsm_user_share(unsigned int places);

/* rsm/mem.c */
int rsm_mem_pin(u64 addr, u64 length, bool exported, struct rsm_mem **out);
int rsm_mem_register(void *pz, u64 addr, u64 length, struct rsm_mem **out);
int rsm_localmem_copy(struct rsm_localmem *lm, u64 at, void *buf, u32 n, bool from);
int rsm_localmem_check(struct rsm_localmem *lm, const struct dat_rsm_ioent *e, bool put);
void rsm_mem_unpin(struct rsm_mem *mem);
u64 rsm_mem_budget(void);
int rsm_localmem_create(struct rsm_ucmd *ucmd);

/* rsm/export.c */
int rsm_export_create(struct rsm_ucmd *ucmd);
int rsm_export_rebind(struct rsm_ucmd *ucmd);
int rsm_export_publish(struct rsm_ucmd *ucmd);
int rsm_export_republish(struct rsm_ucmd *ucmd);
int rsm_export_unpublish(struct rsm_ucmd *ucmd);
bool rsm_export_stop(struct rsm_export *exp);
void rsm_export_wait(struct rsm_export *exp);
int rsm_export_allows(const struct rsm_export *exp, u32 node, u32 want, bool owner, bool group);
void rsm_export_drop(struct rsm_export *exp);

/* rsm/import.c */
int rsm_import_connect(struct rsm_ucmd *ucmd);
void rsm_import_cut(struct rsm_import *imp, struct rsm_node *node);
bool rsm_import_stop(struct rsm_import *imp);
void rsm_import_drop(struct rsm_import *imp);
void rsm_import_release(struct rsm_import *imp);
void rsm_import_zap(struct rsm_import *imp);
bool rsm_window_is(const struct vm_area_struct *vma);
int rsm_window_map(struct rsm_ctx *ctx, struct vm_area_struct *vma);

/* rsm/io.c */
int rsm_io_entry_check(const struct rsm_import *imp, const struct dat_rsm_ioent *e);
int rsm_io(struct rsm_ucmd *ucmd);

/* rsm/event.c */
void rsm_event_add(struct rsm_obj *obj, bool accumulate);
void rsm_event_add_many(struct rsm_obj *obj, u32 n);
int rsm_import_post(struct rsm_import *imp, u32 flags);
int rsm_event_post(struct rsm_ucmd *ucmd);
int rsm_event_sleep(u64 deadline_ns);
int rsm_event_wait(struct rsm_ucmd *ucmd);
int rsm_event_fd(struct rsm_ucmd *ucmd);

/* rsm/ctlr.c; the rest is in rsm/rdma.h */
void rsm_ctlrs_init(struct rsm_node *node);
void rsm_ctlrs_exit(struct rsm_node *node);
bool rsm_ctlr_present(struct rsm_node *node, u32 number);
u32 rsm_ctlr_next(struct rsm_node *node, u32 number, bool *active);
int rsm_ctlr_describe(struct rsm_node *node, struct dat_rsm_ctlr *arg);

/* rsm/serve.c: what exports have of adapters */
int rsm_serve_init(void);
void rsm_serve_exit(void);
int rsm_serve_open(struct rsm_export *exp, struct rsm_node *node, u32 ctlr);
void rsm_serve_close(struct rsm_export *exp);
void rsm_serve_cut(struct rsm_export *exp);
void rsm_serve_wait(struct rsm_export *exp);
void rsm_serve_rebind(struct rsm_export *exp, struct rsm_mem *mem);
void rsm_serve_rebind_wait(struct rsm_export *exp);
void rsm_serve_post(struct rsm_export *exp, bool single);

/* rsm/remote.c: what imports have of adapters */
int rsm_remote_connect(struct rsm_import *imp, struct rsm_node *node,
		       const struct dat_rsm_connect *arg);
void rsm_remote_end(struct rsm_import *imp);
void rsm_remote_release(struct rsm_import *imp);
int rsm_remote_post(struct rsm_import *imp, bool single);

/**
 * struct rsm_transfer - a call that transfers
 * @ctx: of the caller
 * @imp: reference held
 * @put: or a get
 * @interruptible: by any signal; else by those that kill
 * @e: entries, checked against the segment
 * @count: of them
 * @done: result: entries that were carried out
 */
struct rsm_transfer {
	struct rsm_ctx			*ctx;
	struct rsm_import		*imp;
	bool				put;
	bool				interruptible;
	const struct dat_rsm_ioent	*e;
	u32				count;
	u32				done;
};

/* rsm/stage.c: their transfers, other than those of rings */
int rsm_stage_io(struct rsm_transfer *t);

/* rsm/auth.c */

/**
 * rsm_auth_ready() - tell whether adapters may be used
 * @node: node
 *
 * Return: DAT_RSM_OK; DAT_RSM_BAD_CONF: the node has no cluster key and does not trust the network.
 */
int rsm_auth_ready(struct rsm_node *node);

/* Have a logon key of the caller be the cluster key; @serial 0: none.  Return: enum dat_rsm_err. */
int rsm_auth_set_key(struct rsm_node *node, s32 serial);

/* rsm/node.c; likewise */
int rsm_nodes(struct rsm_ucmd *ucmd);
int rsm_table_copy(struct rsm_node *node, struct rsm_table **out);

/* rsm/topology.c */
int rsm_topology_init(void);
void rsm_topology_exit(void);
int rsm_topology(struct rsm_ucmd *ucmd);

/* rsm/ring.c: rings of such imports */
int rsm_ring_make(struct rsm_ucmd *ucmd);
int rsm_ring_kick(struct rsm_ucmd *ucmd);
struct dat_region *rsm_ring_region(struct rsm_import *imp, unsigned int kind);

/* rsm/cmd.c */
struct rsm_node *rsm_ucmd_node(const struct rsm_ucmd *ucmd);
long rsm_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);

#endif /* _DAT_RSM_H */
