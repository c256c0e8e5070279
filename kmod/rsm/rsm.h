/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Remote Shared Memory (RSM): segments, imports of segments, and transfers between processes and
 * segments.
 *
 *   rsm_node              a network namespace, with the segments published in the namespace
 *   rsm_ctx               an open file of RSM; ends with its address space
 *    ├ rsm_export         a segment; its pages are in a struct rsm_mem
 *    ├ rsm_import         a connection to a segment; has a reference to a local segment's export
 *    └ rsm_localmem       locked memory for transfers; its pages are in a struct rsm_mem
 *
 * Objects are looked up by id under RCU.  The last kref_put() of an object frees its struct.  The
 * object ends before that, in three steps.  rsm_obj_end() takes the steps for one object.  The end
 * of a context takes the steps for all objects of the context together:
 *
 *   stop     Lookups fail, imports are cut, and windows show a page of zeros.
 *   wait     The caller waits for a grace period of rsm_transfers, after which no transfer uses
 *            the object.
 *   drop     The pages are unpinned.
 *
 * A transfer reads import->cut and the pages of the segment under rsm_transfers, for one page at a
 * time and without page faults.  So an importer whose memory is slow to fault in cannot delay the
 * end of a segment.  rsm_transfers is SRCU, because a process that frees a segment waits for the
 * grace period.  An RCU grace period could be late: importers can queue many RCU callbacks.
 *
 * Locks, outer to inner:
 *
 *   node->ctlr_lock       mutex: list and states of the adapters; not held while an adapter is
 *                         opened or closed, because that takes long; meanwhile, the states
 *                         OPENING and CLOSING make other users of the adapter wait
 *   export->rebind_lock     mutex: one rebind at a time
 *   node->lock            mutex: published segments and their importers; never held while user
 *                         memory is accessed, windows are zapped, or memory is reclaimed
 *   import->map_lock      mutex, inside mmap_lock, never inside node->lock: pages that the window
 *                         shows; never held while user memory is accessed or memory is reclaimed
 *   ctx->windows_lock     mutex, inside node->lock and import->map_lock: offsets of windows
 *   ctx->rings_lock       mutex, inside conn->ring_lock, outside ring->lock: rings that the poller
 *                         polls; a holder of this lock never waits for a peer or a process
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

#include "lib/device.h"
#include "lib/poller.h"
#include "lib/region.h"

/* Largest segment, in bytes. */
#define RSM_MAX_LENGTH	BIT_ULL(40)

/* Maximum number of VMAs of a window.  A withdrawal or a rebind must zap all VMAs of a window. */
#define RSM_MAX_MAPS	1024

/* RSM_SLOTS: slots for the objects of a file.  RSM_MEM_SLOT: index of the address space's slot. */
#define RSM_SLOTS	4096
#define RSM_MEM_SLOT	RSM_SLOTS

/* Maximum number of adapters of a node.  A removed adapter keeps its number, so it still counts. */
#define RSM_MAX_CTLRS	63

struct key;
struct net;
struct rsm_conn;
struct rsm_ctlr;
struct rsm_remote;
struct rsm_survey;
struct seq_file;

/* A transfer copies each page in a read-side section of this SRCU; see the top of this file. */
extern struct srcu_struct rsm_transfers;

/* Waits for the copies of all transfers that are in progress.  Context: may sleep. */
static inline void rsm_transfers_wait(void)
{
	synchronize_srcu_expedited(&rsm_transfers);
}

/**
 * struct rsm_table - addresses of other nodes
 * @rcu: head for the deferred free, since lookups run under RCU
 * @count: number of @nodes
 * @nodes: addresses of nodes; table_good() has checked the entries
 */
struct rsm_table {
	struct rcu_head		rcu;
	u32			count;
	struct dat_rsm_node	nodes[];
};

/**
 * struct rsm_user - a user of a node
 * @refs: number of contexts of the user; xa_lock of node->users
 * @uid: uid; constant
 * @objs: number of exports and imports of the user, and of everybody in user namespaces that the
 *	user has created, or that lie below these; incremented under node->lock
 * @served: number of connections of remote importers to the segments among @objs; incremented under
 *	node->lock
 */
struct rsm_user {
	kuid_t		uid;
	unsigned int	refs;
	atomic_t	objs;
	atomic_t	served;
};

/**
 * struct rsm_node - RSM in a network namespace
 * @lock: see the top of this file
 * @segs: published exports by segment id; segid_reserve() inserts a reserved entry, which the
 *	export replaces under @lock
 * @next_auto: id at which the search for an automatic segment id begins
 * @id: node id; changes only under @lock and while @objs is 0
 * @objs: number of exports and imports of the node; incremented under @lock
 * @users: struct rsm_user by uid
 * @net: network namespace, which owns the node
 * @ctlr_lock: see the top of this file
 * @ctlrs: struct rsm_ctlr of adapters that are open, or are being opened or closed; @ctlr_lock
 * @ctlr_changes: number of state changes of all @ctlrs; written under @ctlr_lock
 * @ctlr_wq: wait queue for @ctlr_changes
 * @names: adapter names; the adapter with controller number n has entry n - 1, which never changes;
 *	entries are added under @ctlr_lock and read without a lock
 * @nr_names: number of @names; @ctlr_lock
 * @table: addresses of other nodes, or NULL; changed under @ctlr_lock, read under RCU
 * @key_lock: spinlock of @key
 * @key: logon key that contains the cluster key, with a reference; or NULL
 * @trusts: flag: the administrator trusts all hosts of the network
 * @survey_lock: mutex of @surveys and @survey; held while a survey runs; outer to @ctlr_lock
 * @surveys: number of topology surveys that have begun
 * @survey: result of the last topology survey, or NULL
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
 * @mm: address space of the opener; calls from other address spaces fail, because arguments
 *	contain addresses
 * @net: network namespace of the opener
 * @inode: anonymous inode; see dat_mapping_alloc()
 * @number: number that DAT_IOC_ABI returns; constant
 * @lock: mutex that serializes the creation of @ctx
 * @ctx: context, or NULL before DAT_IOC_RSM_OPEN; set once, by smp_store_release()
 */
struct rsm_file {
	struct mm_struct	*mm;
	struct net		*net;
	struct inode		*inode;
	u64			number;
	struct mutex		lock;		/* ctx */
	struct rsm_ctx		*ctx;
};

static inline struct rsm_ctx *rsm_file_ctx(struct rsm_file *file)
{
	return smp_load_acquire(&file->ctx);	/* pairs with rsm_cmd_open() */
}

/*
 * Kinds of mapped regions, as encoded in an mmap offset.  SLOTS are the slots of the file.  SUBMIT,
 * STATUS and DATA are the parts of an import's ring.
 */
enum rsm_region_kind {
	RSM_REGION_SLOTS	= 5,
	RSM_REGION_SUBMIT	= 6,
	RSM_REGION_STATUS	= 7,
	RSM_REGION_DATA		= 8,
};

/**
 * struct rsm_ctx - context of an open file after DAT_IOC_RSM_OPEN
 * @mm: address space of the opener
 * @node: node of the file's network namespace; the file holds the namespace
 * @mapping: mapping of the file, for zaps of windows
 * @objs: objects by id, from 1
 * @next_id: id at which the search for a free id begins
 * @slots: array of struct dat_rsm_slot: object id n has slot n - 1, @mm has slot RSM_MEM_SLOT
 * @windows_lock: mutex of @windows and @next_window; see the top of this file
 * @windows: imports with windows, by page offset
 * @next_window: page offset at which the search for a free range of offsets begins
 * @mn: MMU notifier for the end of @mm and for changes of mappings in @mm
 * @users: users whose quotas are charged for the objects; dat_payers() has found them for the
 *	opener
 * @nr_users: number of @users
 * @ended: bit 0: ctx_stop() has begun to stop the objects
 * @ending: list of stopped objects, linked by their RCU heads; set before @end_work is queued
 * @busy: flag: transfers may still use objects of @ending; set before @end_work is queued
 * @end_work: work that waits for transfers and peers, then drops the objects of @ending
 * @drain_deadline: time until which the end of the context waits for acknowledgments of peers, in
 *	jiffies
 * @rings_lock: mutex of @rings; see the top of this file
 * @rings: list of struct rsm_ring; a ring is in the list until the end of its connection
 * @poller: poller of @rings; runs if the process has enabled it
 * @watched: flag: the poller takes new entries of @rings; read under the rings' locks
 */
struct rsm_ctx {
	struct mm_struct	*mm;
	struct rsm_node		*node;
	struct address_space	*mapping;
	struct xarray		objs;
	u32			next_id;
	struct dat_region	slots;
	struct mutex		windows_lock;	/* windows, next_window */
	struct rb_root_cached	windows;
	u64			next_window;
	struct mmu_notifier	mn;
	struct rsm_user		*users[DAT_MAX_PAYERS];
	unsigned int		nr_users;
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

struct rsm_obj;

/**
 * struct rsm_obj_ops - operations of an object type
 * @type: enum dat_rsm_type
 * @charged: flag: the object counts against the quotas of the node and the user
 * @stop: cut the object off from new transfers; return true if earlier transfers may still use the
 *	object; NULL: same as a function that does nothing and returns true
 * @wait: wait until no peer can access the memory through an adapter; optional
 * @drop: unpin the memory, or end the connection
 * @release: put and free what the object points to, after the last reference is gone; optional
 * @show: write one line of fdinfo
 *
 * The steps of an object's end are at the top of this file.
 */
struct rsm_obj_ops {
	enum dat_rsm_type	type;
	bool			charged;
	bool			(*stop)(struct rsm_obj *obj);
	void			(*wait)(struct rsm_obj *obj);
	void			(*drop)(struct rsm_obj *obj);
	void			(*release)(struct rsm_obj *obj);
	void			(*show)(struct seq_file *m, const struct rsm_obj *obj);
};

/**
 * struct rsm_obj - common first member of all objects
 * @ops: operations of the type; constant
 * @id: id in ctx->objs
 * @ref: reference count; the last put frees the memory
 * @rcu: head for the deferred free, since lookups run under RCU
 * @ctx: context; valid until the object is dropped
 * @number: number that DAT_IOC_ABI returns on descriptors for the object's events; constant
 * @lock: spinlock of all members below
 * @slot: slot in ctx->slots; NULL once the object is stopped
 * @generation: last value of slot->generation, which changes when the object is made or cut
 * @pending: number of events that have not been consumed
 * @cut: flag: the segment of an import is gone; transfers read it under rsm_transfers
 * @stopped: flag: the object has ended; transfers read it under rsm_transfers
 * @wq: wait queue of callers that wait for an event, also by poll()
 */
struct rsm_obj {
	const struct rsm_obj_ops *ops;
	u32			id;
	struct kref		ref;
	struct rcu_head		rcu;
	struct rsm_ctx		*ctx;
	u64			number;
	spinlock_t		lock;		/* protects all members below */
	struct dat_rsm_slot	*slot;
	u32			generation;
	u32			pending;
	bool			cut;
	bool			stopped;
	wait_queue_head_t	wq;
};

/**
 * struct rsm_mem - pinned pages
 * @mm: address space whose locked-memory limit is charged
 * @length: bytes
 * @lmr: registration with an adapter, or NULL; a registration pins the pages, so @npages is then 0
 * @rkey: remote key of @lmr
 * @budget: number of pages charged to the budget of exported memory
 * @npages: number of pages in @pages
 * @exported: flag: the memory belongs to a segment
 * @writable: flag: transfers may write to the memory
 * @pages: pages in order
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
 * @obj: common members of all objects
 * @flags: DAT_RSM_REBINDABLE, ...
 * @uid: user id of the creator
 * @unlimited: flag: the creator has CAP_SYS_RESOURCE, so no user quota limits the importers
 * @gid: group id of the creator
 * @umask_perm: permissions of importers that @acl does not list
 * @length: bytes
 * @addr: address of the memory in the creator's address space; a rebind changes it; node->lock
 * @mem: memory; changed under node->lock, read under rsm_transfers
 * @segid: segment id, or 0 while not published; node->lock
 * @withdrawing: flag: a withdrawal waits for importers, and lookups of @segid fail; node->lock
 * @acl: access list, or NULL; node->lock
 * @acl_count: number of entries of @acl; node->lock
 * @imports: loopback imports; node->lock; an import leaves the list after its window is zapped
 * @rebind_lock: mutex held by a rebind from the swap of the pages until all windows are zapped;
 *	outside node->lock
 * @rebinds: number of rebinds; node->lock
 * @shared: flag: a loopback import has existed, so transfers may be in progress; node->lock
 * @ctlr: adapter, with a reference until the export is dropped; NULL for a loopback segment
 * @pz: protection zone of @mem and of the endpoints of all importers
 * @peers: struct rsm_conn of remote importers, until their teardown is queued; node->lock
 * @conns: number of connections of remote importers, until their teardown is complete; obj.wq is
 *	woken at 0
 * @importers: number of connections whose peer has been sent the segment's key
 * @rebinds_pending: number of connections whose peer may still use the old memory; obj.wq is woken
 *	at 0
 * @calls: number of calls in progress that use @ctlr and @pz; obj.wq is woken at 0
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
 * @obj: common members of all objects
 * @remote: state of an import through an adapter; NULL for a loopback import
 * @length: bytes of the segment
 * @export: segment of a loopback import, with a reference
 * @node: entry in export->imports until the import is cut and its window is zapped; node->lock
 * @rebinds: export->rebinds at the connect or at the last zap of the window; node->lock
 * @perm: DAT_RSM_READ, DAT_RSM_WRITE
 * @owner: user of the exporter; INVALID_UID if the exporter's kernel has not sent it
 * @window: page offset of the window in the file; 0 if the import has no window
 * @window_rb: entry in ctx->windows
 * @window_subtree_last: last page offset in the subtree of @window_rb
 * @map_lock: see the top of this file
 * @dropped: flag: the import has ended, so @window is free once @maps is 0; @map_lock
 * @maps: number of VMAs of the window, at most RSM_MAX_MAPS; @map_lock
 * @trash: page that the window shows after a cut; allocated with the first VMA; @map_lock
 */
struct rsm_import {
	struct rsm_obj		obj;
	struct rsm_remote	*remote;
	u64			length;
	struct rsm_export	*export;
	struct list_head	node;
	u32			rebinds;
	u32			perm;
	kuid_t			owner;
	u64			window;
	struct rb_node		window_rb;
	u64			window_subtree_last;
	struct mutex		map_lock;	/* see the top of this file */
	bool			dropped;
	unsigned int		maps;
	struct page		*trash;
};

/**
 * struct rsm_localmem - locked memory
 * @obj: common members of all objects
 * @addr: address at which the memory was mapped when it was locked
 * @mem: memory; transfers read it under rsm_transfers
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
 * struct rsm_ucmd - an ioctl in progress
 * @file: file of the caller
 * @ctx: context of @file; NULL before DAT_IOC_RSM_OPEN
 * @arg: private copy of the argument
 * @made: object that the call has created and published, with a reference; or NULL
 * @made_file: file that the call has created for a reserved descriptor; or NULL
 */
struct rsm_ucmd {
	struct file	*file;
	struct rsm_ctx	*ctx;
	void		*arg;
	struct rsm_obj	*made;
	struct file	*made_file;
};

/* Steps of a segment, in the trace. */
enum rsm_export_op {
	RSM_EXPORT_CREATE,
	RSM_EXPORT_PUBLISH,
	RSM_EXPORT_REPUBLISH,
	RSM_EXPORT_REBIND,
	RSM_EXPORT_REVOKE,
};

extern unsigned int rsm_max_segments, rsm_max_exported;

/*
 * Workqueue for the teardown of contexts.  The works run in parallel, so a teardown that waits for
 * its peers does not delay the teardown of another context.
 */
extern struct workqueue_struct *rsm_end_wq;

/* poller.c */
extern const struct dat_poller_ops rsm_poller_ops;
long rsm_ioctl_poller(struct rsm_file *file, unsigned int cmd, void __user *ubuf);

/* file.c */
int rsm_file_init(void);
void rsm_file_exit(void);

/* obj.c */
int rsm_ctx_open(struct file *filp, struct rsm_ctx **out);
void rsm_ctx_close(struct rsm_ctx *ctx);
void rsm_ctx_show(struct seq_file *m, struct rsm_ctx *ctx);
int rsm_obj_setup(struct rsm_ctx *ctx, struct rsm_obj *obj, const struct rsm_obj_ops *ops);
int rsm_obj_publish(struct rsm_ucmd *ucmd, struct rsm_obj *obj);
void rsm_obj_abort(struct rsm_obj *obj);
struct rsm_obj *rsm_obj_get(struct rsm_ctx *ctx, enum dat_rsm_type type, u32 id);
struct rsm_obj *rsm_obj_get_events(struct rsm_ctx *ctx, u32 id);
void rsm_obj_put(struct rsm_obj *obj);
int rsm_obj_end(struct rsm_ctx *ctx, enum dat_rsm_type type, u32 id);
void rsm_obj_undo(struct rsm_obj *obj);
void rsm_obj_cut(struct rsm_obj *obj);

/*
 * Returns true if each user that is charged for the context has fewer objects, or with @served
 * fewer connections to its segments, than the parameter max_user allows to one user out of @total.
 */
bool rsm_users_have_room(const struct rsm_ctx *ctx, bool served, unsigned int total);

/* Adds @by to the objects, or with @served to the connections, of these users. */
void rsm_users_count(struct rsm_ctx *ctx, bool served, int by);

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
int rsm_export_allows(const struct rsm_export *exp, u32 node, u32 want, bool owner, bool group);

/* rsm/import.c */
int rsm_import_connect(struct rsm_ucmd *ucmd);
void rsm_import_cut(struct rsm_import *imp, struct rsm_node *node);
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

/* rsm/ctlr.c; see also rsm/rdma.h */
void rsm_ctlrs_init(struct rsm_node *node);
void rsm_ctlrs_exit(struct rsm_node *node);
bool rsm_ctlr_present(struct rsm_node *node, u32 number);
u32 rsm_ctlr_next(struct rsm_node *node, u32 number, bool *active);
int rsm_ctlr_describe(struct rsm_node *node, struct dat_rsm_ctlr *arg);

/* rsm/serve.c: exports whose importers connect through an adapter */
int rsm_serve_init(void);
void rsm_serve_exit(void);
int rsm_serve_open(struct rsm_export *exp, struct rsm_node *node, u32 ctlr);
void rsm_serve_close(struct rsm_export *exp);
void rsm_serve_cut(struct rsm_export *exp);
void rsm_serve_wait(struct rsm_export *exp);
void rsm_serve_rebind(struct rsm_export *exp, struct rsm_mem *mem);
void rsm_serve_rebind_wait(struct rsm_export *exp);
void rsm_serve_post(struct rsm_export *exp, bool single);

/* rsm/remote.c: imports that connect through an adapter */
int rsm_remote_connect(struct rsm_import *imp, struct rsm_node *node,
		       const struct dat_rsm_connect *arg);
void rsm_remote_end(struct rsm_import *imp);
void rsm_remote_release(struct rsm_import *imp);
int rsm_remote_post(struct rsm_import *imp, bool single);

/**
 * struct rsm_transfer - a DAT_IOC_RSM_IO call for an import through an adapter
 * @ctx: context of the caller
 * @imp: import; reference held
 * @put: flag: the call writes to the segment; false: the call reads from the segment
 * @interruptible: flag: any signal ends the call; false: only a fatal signal ends the call
 * @e: entries, unchecked
 * @count: number of @e
 * @done: result: number of entries that have been transferred
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

/* rsm/stage.c: transfers of DAT_IOC_RSM_IO through an adapter; see rsm/ring.c for rings */
int rsm_stage_io(struct rsm_transfer *t);

/* rsm/auth.c */

/**
 * rsm_auth_ready() - check that a node is configured to use adapters
 * @node: node
 *
 * Return: 0 if the node has a valid cluster key or trusts the network, else
 * -EKEYREJECTED.
 */
int rsm_auth_ready(struct rsm_node *node);

/*
 * Sets the cluster key of @node to the caller's logon key with serial number @serial.  0 removes
 * the cluster key.  Return: 0, an errno of rsm/error.c, or -ENOPKG if this kernel has no
 * hmac(sha256).
 */
int rsm_auth_set_key(struct rsm_node *node, s32 serial);

/* rsm/node.c; see also rsm/rdma.h */
int rsm_node_init(void);
void rsm_node_exit(void);
struct rsm_node *rsm_node_of(struct net *net);
int rsm_nodes(struct rsm_ucmd *ucmd);
int rsm_table_copy(struct rsm_node *node, struct rsm_table **out);

/* rsm/topology.c */
int rsm_topology_init(void);
void rsm_topology_exit(void);
int rsm_topology(struct rsm_ucmd *ucmd);

/* rsm/ring.c: rings of imports that connect through an adapter */
int rsm_ring_make(struct rsm_ucmd *ucmd);
int rsm_ring_kick(struct rsm_ucmd *ucmd);
struct dat_region *rsm_ring_region(struct rsm_import *imp, unsigned int kind);

/* rsm/error.c */

/*
 * Converts an errno of this module to the result of an ioctl.  Returns DAT_RSM_OK for an errno that
 * is no result: the ioctl itself fails with it.
 */
enum dat_rsm_err rsm_error(int err);

/* rsm/cmd.c */
struct rsm_node *rsm_ucmd_node(const struct rsm_ucmd *ucmd);
long rsm_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);

#endif /* _DAT_RSM_H */
