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
 * Objects are looked up by id under RCU.  A kref keeps their memory.  An object ends earlier, in
 * three steps, which rsm_obj_end() takes for one object and the end of a context for all of its
 * objects at once:
 *
 *   stop     lookups fail, imports are cut, windows show a page of zeros
 *   wait     for a grace period of rsm_transfers, after which no transfer uses the object
 *   drop     unpin the memory
 *
 * A transfer reads import->cut and the pages of the segment under rsm_transfers, for one page at a
 * time and without page faults.  So an importer whose memory is slow to fault in cannot delay the
 * end of a segment.  rsm_transfers is SRCU, because a process waits for it to get its memory back:
 * the wait must not depend on the RCU callbacks of others, of which importers can queue many.
 *
 * Locks, outer to inner:
 *
 *   node->ctlr_lock       mutex: list and states of the adapters; not held while an adapter is
 *                         opened or closed, which takes long and is a state of its own
 *   export->rebind_lock     mutex: one rebind at a time
 *   node->lock            mutex: published segments and their importers; never held while user
 *                         memory is accessed, windows are zapped, or memory is reclaimed
 *   import->map_lock      mutex, inside mmap_lock, not inside node->lock: content of the window;
 *                         never held while user memory is accessed or memory is reclaimed
 *   ctx->windows_lock     mutex, inside node->lock and import->map_lock: offsets of windows
 *   ctx->rings_lock       mutex, inside conn->ring_lock, outside ring->lock: rings for the poller;
 *                         its holders wait for no peer and no process
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

/* Largest segment, in bytes. */
#define RSM_MAX_LENGTH	BIT_ULL(40)

/* Maximum number of VMAs of a window; a withdrawal and a rebind zap all of them. */
#define RSM_MAX_MAPS	1024

/* Objects of a file, and the slot of the address space behind theirs. */
#define RSM_SLOTS	4096
#define RSM_MEM_SLOT	RSM_SLOTS

/* Adapters that a node numbers, including those that are gone. */
#define RSM_MAX_CTLRS	63

struct key;
struct net;
struct rsm_conn;
struct rsm_ctlr;
struct rsm_remote;
struct rsm_survey;
struct seq_file;

/* Read side: a transfer, one page at a time; see the top of this file. */
extern struct srcu_struct rsm_transfers;

/* Waits until all transfers that may have read an old state have left it.  Context: may sleep. */
static inline void rsm_transfers_wait(void)
{
	synchronize_srcu_expedited(&rsm_transfers);
}

/**
 * struct rsm_table - addresses of other nodes
 * @rcu: head for the deferred free, since lookups run under RCU
 * @count: number of @nodes
 * @nodes: nodes, checked
 */
struct rsm_table {
	struct rcu_head		rcu;
	u32			count;
	struct dat_rsm_node	nodes[];
};

/**
 * struct rsm_user - a user of a node
 * @refs: number of contexts; lock of node->users
 * @objs: number of exports and imports; grows under node->lock
 * @served: number of connections of remote importers to the user's segments; grows under node->lock
 */
struct rsm_user {
	unsigned int	refs;
	atomic_t	objs;
	atomic_t	served;
};

/**
 * struct rsm_node - RSM in a network namespace
 * @lock: see the top of this file
 * @segs: published exports by segment id; an export replaces its reserved entry under @lock
 * @next_auto: id at which the search for an automatic segment id begins
 * @id: node id; changes under @lock, while there are no objects
 * @objs: number of exports and imports; grows under @lock
 * @users: struct rsm_user by uid
 * @net: network namespace, which owns the node
 * @ctlr_lock: see the top of this file
 * @ctlrs: struct rsm_ctlr of adapters that are open, or are being opened or closed; @ctlr_lock
 * @ctlr_changes: number of changes of their states; written under @ctlr_lock
 * @ctlr_wq: wait queue for @ctlr_changes
 * @names: adapter names; number n is at n - 1 and never changes; @ctlr_lock, not needed to read the
 *	name of a valid number
 * @nr_names: number of @names; @ctlr_lock
 * @table: table of other nodes, or NULL; changed under @ctlr_lock, read under RCU
 * @key_lock: spinlock of @key
 * @key: logon key with the cluster key; reference held; or NULL
 * @trusts: flag: the administrator trusts all hosts of the network
 * @survey_lock: lock of @surveys and @survey; held by a survey; outer to @ctlr_lock
 * @surveys: number of surveys begun
 * @survey: result of the last survey, or NULL
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
 * @mm: address space of the opener; other processes are refused, since calls pass addresses
 * @net: network namespace of the opener
 * @inode: anonymous inode; see dat_mapping_alloc()
 * @lock: lock of the creation of @ctx
 * @ctx: context, or NULL; set once, with release
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
	return smp_load_acquire(&file->ctx);	/* pairs with rsm_cmd_open() */
}

/* Kinds of region in an mmap offset: the file's slots, and parts of an import's ring. */
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
 * @next_id: id at which the search for a free one begins
 * @slots: struct dat_rsm_slot by id - 1, and one slot for @mm
 * @windows_lock: mutex of @windows and @next_window; see the top of this file
 * @windows: imports with windows, by page offset
 * @next_window: page offset at which the search for a free one begins
 * @mn: notifier of the end of @mm and of changes of its mappings
 * @uid: user id of the opener
 * @user: user of @uid, whose quota covers exports and imports
 * @ended: bit 0: the objects are being stopped, or are stopped
 * @ending: stopped objects, linked by their RCU heads; set before @end_work is queued
 * @busy: flag: transfers may be in progress on @ending; set before @end_work is queued
 * @end_work: work that waits for transfers and peers, then frees @ending
 * @drain_deadline: time until which the end waits for acknowledgments of peers, in jiffies
 * @rings_lock: mutex of @rings; see the top of this file
 * @rings: struct rsm_ring, from registration to the end of the connection
 * @poller: poller of @rings; runs if the process has enabled it
 * @watched: flag: the poller runs; read under the locks of rings
 */
struct rsm_ctx {
	struct mm_struct	*mm;
	struct rsm_node		*node;
	struct address_space	*mapping;
	struct xarray		objs;
	u32			next_id;
	struct dat_region	slots;
	struct mutex		windows_lock;	/* protects windows, next_window */
	struct rb_root_cached	windows;
	u64			next_window;
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

struct rsm_obj;

/**
 * struct rsm_obj_ops - operations of an object type
 * @type: enum dat_rsm_type
 * @charged: flag: the object counts against the quotas of the node and the user
 * @stop: cut the object off from transfers; return true if transfers may be in progress; optional:
 *	they may
 * @wait: wait for peers that reach the memory by an adapter; optional
 * @drop: unpin the memory, or end the connection
 * @release: free what the object points to, with the last reference; optional
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
 * @lock: lock of all members below
 * @slot: slot in ctx->slots; NULL once the object is stopped
 * @generation: generation of the connection
 * @pending: number of events that have not been consumed
 * @cut: flag: the segment of an import is gone; transfers read it under rsm_transfers
 * @stopped: flag: the object has ended; transfers read it under rsm_transfers
 * @wq: wait queue for events, also of poll()
 */
struct rsm_obj {
	const struct rsm_obj_ops *ops;
	u32			id;
	struct kref		ref;
	struct rcu_head		rcu;
	struct rsm_ctx		*ctx;
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
 * @lmr: registration with an adapter, which pins the pages, so that @npages is 0; or NULL
 * @rkey: key of @lmr
 * @budget: number of pages charged to the budget of exported memory
 * @npages: number of pages in @pages
 * @exported: flag: memory of a segment
 * @writable: flag: transfers may write
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
 * @obj: base
 * @flags: DAT_RSM_REBINDABLE, ...
 * @uid: user id of the creator
 * @unlimited: flag: the creator's quota does not bound the importers
 * @gid: group id of the creator
 * @umask_perm: permissions of importers that @acl does not list
 * @length: bytes
 * @addr: address of the memory, as last bound; node->lock
 * @mem: memory; changed under node->lock, read under rsm_transfers
 * @segid: segment id, or 0 while not published; node->lock
 * @withdrawing: flag: lookups of @segid fail, and the end waits for importers; node->lock
 * @acl: access list, or NULL; node->lock
 * @acl_count: number of entries of @acl; node->lock
 * @imports: loopback imports; node->lock; an import leaves the list after its window is zapped
 * @rebind_lock: lock of a rebind, from the swap of the pages until all windows are zapped; outside
 *	node->lock
 * @rebinds: number of rebinds; node->lock
 * @shared: flag: an import has existed, so transfers may be in progress; node->lock
 * @ctlr: adapter; reference held until the export is dropped; NULL: loopback
 * @pz: zone of @mem and of the endpoints of all importers
 * @peers: struct rsm_conn that have not been told to end; node->lock
 * @conns: number of connections, also of those that are ending; waited for at obj.wq
 * @importers: number of connections whose peer has been sent the key
 * @rebinds_pending: number of connections whose peer may use the old memory; waited for at obj.wq
 * @calls: number of calls in progress that use @ctlr and @pz; waited for at obj.wq
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
 * @remote: adapter's part; NULL: loopback
 * @length: bytes of the segment
 * @export: loopback: segment; reference held
 * @node: entry in export->imports until the import is cut and its window zapped; node->lock
 * @rebinds: export->rebinds at the connect or at the last zap of the window; node->lock
 * @perm: DAT_RSM_READ, DAT_RSM_WRITE
 * @window: page offset of the window in the file; 0: there is none
 * @window_rb: entry in ctx->windows
 * @window_subtree_last: last page offset in the subtree of @window_rb
 * @map_lock: see the top of this file
 * @dropped: flag: the import has ended, so only VMAs need the window; @map_lock
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
 * @obj: base
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
 * @ctx: context of @file; NULL if the operation needs none
 * @arg: private copy of the argument
 * @made: published object that the call has made; reference held
 * @made_file: file that the call has made, for a reserved descriptor
 */
struct rsm_ucmd {
	struct file	*file;
	struct rsm_ctx	*ctx;
	void		*arg;
	struct rsm_obj	*made;
	struct file	*made_file;
};

extern unsigned int rsm_max_segments, rsm_max_exported;

/*
 * Workqueue for the teardown of contexts.  A teardown waits for peers, but not for another
 * teardown.
 */
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
int rsm_obj_setup(struct rsm_ctx *ctx, struct rsm_obj *obj, const struct rsm_obj_ops *ops);
int rsm_obj_publish(struct rsm_ucmd *ucmd, struct rsm_obj *obj);
void rsm_obj_abort(struct rsm_obj *obj);
struct rsm_obj *rsm_obj_get(struct rsm_ctx *ctx, enum dat_rsm_type type, u32 id);
struct rsm_obj *rsm_obj_get_events(struct rsm_ctx *ctx, u32 id);
void rsm_obj_put(struct rsm_obj *obj);
int rsm_obj_end(struct rsm_ctx *ctx, enum dat_rsm_type type, u32 id);
void rsm_obj_undo(struct rsm_obj *obj);
void rsm_obj_cut(struct rsm_obj *obj);

/* Returns the part of @total that one user may have. */
unsigned int rsm_user_share(unsigned int total);

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

/* rsm/ctlr.c; the rest is in rsm/rdma.h */
void rsm_ctlrs_init(struct rsm_node *node);
void rsm_ctlrs_exit(struct rsm_node *node);
bool rsm_ctlr_present(struct rsm_node *node, u32 number);
u32 rsm_ctlr_next(struct rsm_node *node, u32 number, bool *active);
int rsm_ctlr_describe(struct rsm_node *node, struct dat_rsm_ctlr *arg);

/* rsm/serve.c: the adapters' part of exports */
int rsm_serve_init(void);
void rsm_serve_exit(void);
int rsm_serve_open(struct rsm_export *exp, struct rsm_node *node, u32 ctlr);
void rsm_serve_close(struct rsm_export *exp);
void rsm_serve_cut(struct rsm_export *exp);
void rsm_serve_wait(struct rsm_export *exp);
void rsm_serve_rebind(struct rsm_export *exp, struct rsm_mem *mem);
void rsm_serve_rebind_wait(struct rsm_export *exp);
void rsm_serve_post(struct rsm_export *exp, bool single);

/* rsm/remote.c: the adapters' part of imports */
int rsm_remote_connect(struct rsm_import *imp, struct rsm_node *node,
		       const struct dat_rsm_connect *arg);
void rsm_remote_end(struct rsm_import *imp);
void rsm_remote_release(struct rsm_import *imp);
int rsm_remote_post(struct rsm_import *imp, bool single);

/**
 * struct rsm_transfer - a call that transfers
 * @ctx: context of the caller
 * @imp: import; reference held
 * @put: flag: a put, not a get
 * @interruptible: flag: any signal ends the call, not only a fatal one
 * @e: entries, unchecked
 * @count: number of entries
 * @done: result: number of entries carried out
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

/* rsm/stage.c: transfers across an adapter by calls; rsm/ring.c has those of rings */
int rsm_stage_io(struct rsm_transfer *t);

/* rsm/auth.c */

/**
 * rsm_auth_ready() - tell whether adapters may be used
 * @node: node
 *
 * Return: DAT_RSM_OK; DAT_RSM_BAD_CONF: the node has no cluster key and does not trust the network.
 */
int rsm_auth_ready(struct rsm_node *node);

/* Makes a logon key of the caller the cluster key; @serial 0: no key.  Return: enum dat_rsm_err. */
int rsm_auth_set_key(struct rsm_node *node, s32 serial);

/* rsm/node.c; the rest is in rsm/rdma.h */
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

/* Converts the result of dat_copy_array_from() or dat_copy_array_to() to that of a call. */
static inline int rsm_array_error(int err)
{
	return err == -EFAULT ? DAT_RSM_BAD_ADDR : err;
}

/* rsm/cmd.c */
struct rsm_node *rsm_ucmd_node(const struct rsm_ucmd *ucmd);
long rsm_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);

#endif /* _DAT_RSM_H */
