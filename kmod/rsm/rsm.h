/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Remote Shared Memory (RSM): segments, imports of segments, and transfers between processes and
 * segments.
 *
 *   rsm_node              a network namespace, with the segments published in the namespace
 *   rsm_ctx               an open file of RSM; ends with its address space or with the file
 *    ├ rsm_export         a segment; its pages are in a struct rsm_mem
 *    ├ rsm_import         a connection to a segment; by loopback, has a reference to the export
 *    └ rsm_localmem       locked memory for transfers; its pages are in a struct rsm_mem
 *
 * Objects are looked up by id under RCU.  The last kref_put() of an object frees the struct.  An
 * object ends earlier, in three steps.  obj_end() takes the steps for one object.  The end of a
 * context takes the steps for all objects of the context together:
 *
 *   stop     Lookups fail, imports are cut, and windows show a page that is private to the import.
 *   wait     If transfers may use the pages of the object, the caller waits for a grace period of
 *            rsm_transfers.  The caller then waits until no peer can access the pages.
 *   drop     The pages are unpinned, the connection of an import ends, and a window is freed.
 *
 * A transfer within the host reads import->obj.cut and the pages of the segment under
 * rsm_transfers, for at most one page at a time and without page faults.  So an importer whose
 * memory is slow to fault in cannot delay the end of a segment.  rsm_transfers is SRCU, not RCU,
 * because a process that frees a segment waits for the grace period, and importers could delay an
 * RCU grace period by many RCU callbacks.
 *
 * Locks, outer to inner:
 *
 *   file->lock            mutex: creation of the context
 *   node->survey_lock     mutex: one survey of the topology at a time
 *   node->ctlr_lock       mutex: list, states and names of the adapters, and node->table; not held
 *                         during an open or close, which takes long, so the states OPENING and
 *                         CLOSING make other users of the adapter wait
 *   export->walk_lock     mutex: one walk over the loopback imports at a time, for a rebind or an
 *                         event
 *   node->lock            mutex: published segments and their importers; never held while user
 *                         memory is accessed, windows are zapped, or memory is reclaimed
 *   import->map_lock      mutex, inside mmap_lock, never inside node->lock: pages that the window
 *                         shows; never held while user memory is accessed or memory is reclaimed
 *   ctx->windows_lock     mutex, inside import->map_lock, never inside node->lock: offsets of
 *                         windows
 *   ctx->rings_lock       mutex, inside conn->ring_lock, outside ring->lock: rings that the poller
 *                         polls; a holder of rings_lock never waits for a peer or a process
 *   obj->lock             spinlock: events, slot and flags of an object
 *   node->key_lock        spinlock: the cluster key
 *
 * A lock at the end of the comment of a member protects the member.
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

#include "lib/chardev.h"
#include "lib/device.h"
#include "lib/region.h"

/* Largest segment or local memory, in bytes. */
#define RSM_MAX_LENGTH	BIT_ULL(40)

/* Maximum number of VMAs of a window.  A cut or a rebind must zap all VMAs of a window. */
#define RSM_MAX_MAPS	1024

/* Number of slots for the objects of a file, and index of the slot for the address space. */
#define RSM_SLOTS	4096
#define RSM_MEM_SLOT	RSM_SLOTS

/* Maximum number of adapters of a node, including removed adapters, which keep their numbers. */
#define RSM_MAX_CTLRS	63

struct key;
struct net;
struct rsm_conn;
struct rsm_ctlr;
struct rsm_remote;
struct rsm_survey;
struct seq_file;

/* SRCU in whose read-side sections transfers copy pages; see the top of this file. */
extern struct srcu_struct rsm_transfers;

/* Waits for the copies of all transfers that are in progress.  Context: may sleep. */
static inline void rsm_transfers_wait(void)
{
	synchronize_srcu_expedited(&rsm_transfers);
}

/* Addresses of other nodes. */
struct rsm_table {
	struct rcu_head		rcu;
	u32			count;
	struct dat_rsm_node	nodes[];	/* checked by table_good() */
};

/* A user of a node. */
struct rsm_user {
	kuid_t		uid;	/* constant */
	unsigned int	refs;	/* number of contexts; protected by xa_lock of node->users */
	/*
	 * Number of exports and imports of the user, and of all users in user namespaces that the
	 * user owns, at any depth; without obj->unlimited objects; incremented under node->lock.
	 */
	atomic_t	objs;
	/*
	 * Number of connections of remote importers to the exports that @objs counts, including
	 * connections in teardown; incremented under node->lock.
	 */
	atomic_t	served;
};

/* RSM in a network namespace. */
struct rsm_node {
	struct mutex		lock;		/* see the top of this file */
	/* Published exports by segment id, and reserved entries; see segid_reserve(). */
	struct xarray		segs;
	/* Start of the search for an automatic segment id. */
	u32			next_auto;
	u32			id;		/* node id; changes under @lock while @objs is 0 */
	atomic_t		objs;	/* number of exports and imports; incremented under @lock */
	struct xarray		users;		/* struct rsm_user by uid */
	struct net		*net;		/* network namespace, which owns the node */
	struct mutex		ctlr_lock;	/* see the top of this file */
	/* List of struct rsm_ctlr in all states except RSM_CTLR_GONE; @ctlr_lock. */
	struct list_head	ctlrs;
	/* Number of state changes of @ctlrs; written under @ctlr_lock. */
	u32			ctlr_changes;
	wait_queue_head_t	ctlr_wq;	/* woken by changes of @ctlr_changes */
	/* Name of controller n at index n - 1; set once under @ctlr_lock, read without a lock. */
	char			*names[RSM_MAX_CTLRS];
	unsigned int		nr_names;	/* length of @names; @ctlr_lock */
	struct rsm_table __rcu	*table;	/* NULL, or set under @ctlr_lock; read under RCU */
	spinlock_t		key_lock;	/* protects @key */
	/*
	 * Logon key that contains the cluster key, with a reference; NULL without a key.
	 * nodes_get() compares @key with NULL without the lock.
	 */
	struct key		*key;
	bool			trusts;	/* flag: the administrator trusts the whole network */
	/* Mutex for @surveys and @survey; held while a survey runs; taken before @ctlr_lock. */
	struct mutex		survey_lock;
	/* Number of surveys that have begun; survey_get() also reads @surveys without the lock. */
	u32			surveys;
	struct rsm_survey	*survey;	/* result of the last survey, or NULL */
};

/* An open file of /dev/rsm. */
struct rsm_file {
	struct dat_devfile	base;
	struct mutex		lock;	/* serializes the creation of @ctx */
	/* NULL before DAT_IOC_RSM_OPEN; set once, by smp_store_release(). */
	struct rsm_ctx		*ctx;
};

static inline struct rsm_file *to_rsm_file(struct dat_devfile *file)
{
	return container_of(file, struct rsm_file, base);
}

static inline struct rsm_ctx *rsm_file_ctx(struct rsm_file *file)
{
	return smp_load_acquire(&file->ctx);	/* pairs with rsm_cmd_open() */
}

/*
 * Kinds of mapped regions, as encoded in an mmap offset.  SLOTS means the slots of the file.
 * SUBMIT, STATUS and DATA are the parts of an import's ring.
 */
enum rsm_region_kind {
	RSM_REGION_SLOTS	= 5,
	RSM_REGION_SUBMIT	= 6,
	RSM_REGION_STATUS	= 7,
	RSM_REGION_DATA		= 8,
};

/* Context of an open file after DAT_IOC_RSM_OPEN. */
struct rsm_ctx {
	struct mm_struct	*mm;		/* address space of the opener */
	struct rsm_node		*node;	/* node of the file's network namespace */
	struct address_space	*mapping;	/* mapping of the file, for zaps of windows */
	struct xarray		objs;		/* objects by id, from 1 */
	u32			next_id;	/* start of the search for a free id */
	/* Array of struct dat_rsm_slot: object id n has slot n - 1, @mm has slot RSM_MEM_SLOT. */
	struct dat_region	slots;
	struct mutex		windows_lock;	/* protects @windows and @next_window */
	struct rb_root_cached	windows;	/* imports with windows, by page offset */
	u64			next_window;	/* start of the search for free page offsets */
	struct mmu_notifier	mn;		/* reports the end of @mm and changes of mappings */
	/* Users who are charged for the objects; see dat_payers(). */
	struct rsm_user		*users[DAT_MAX_PAYERS];
	unsigned int		nr_users;
	unsigned long		ended;		/* bit 0: ctx_stop() has begun */
	/* Stopped objects, linked by obj->rcu; set before @end_work is queued. */
	struct callback_head	*ending;
	/* Flag: transfers may still use objects of @ending; set before @end_work is queued. */
	bool			busy;
	/* Work that waits for transfers and peers, and drops the objects of @ending. */
	struct work_struct	end_work;
	/*
	 * Time in jiffies until which the end of the context waits for exporters to acknowledge the
	 * events of imports.
	 */
	unsigned long		drain_deadline;
	struct mutex		rings_lock;	/* protects @rings */
	struct list_head	rings;	/* struct rsm_ring of all imports that have a ring */
	/* Flag: the poller of the file takes new entries; written by the poller without a lock. */
	bool			watched;
};

struct rsm_obj;

/* Operations of an object type.  The steps of an object's end are at the top of this file. */
struct rsm_obj_ops {
	enum dat_rsm_type	type;
	/* Flag: objects count against the limits of the node and of the users. */
	bool			charged;
	/*
	 * Cuts the object off from new transfers; optional.  Returns true if earlier transfers may
	 * still use pinned pages through the object, so that the caller must wait for a grace
	 * period of rsm_transfers.  Without @stop, such transfers are assumed.
	 */
	bool			(*stop)(struct rsm_obj *obj);
	/* Waits until no peer can access the memory and no call uses the adapter; optional. */
	void			(*wait)(struct rsm_obj *obj);
	/* Unpins the memory, ends the connection, or frees the window; may sleep. */
	void			(*drop)(struct rsm_obj *obj);
	/* Frees what the object points to, at the last put; optional; see rsm_obj_put(). */
	void			(*release)(struct rsm_obj *obj);
	/* Writes one line of fdinfo. */
	void			(*show)(struct seq_file *m, const struct rsm_obj *obj);
};

/* Common first member of all objects. */
struct rsm_obj {
	const struct rsm_obj_ops *ops;		/* constant */
	u32			id;		/* index in ctx->objs */
	struct kref		ref;
	struct rcu_head		rcu;		/* delays the free, for lookups */
	/* Context; valid until the object is dropped, and while the window is mapped. */
	struct rsm_ctx		*ctx;
	/* Flag: the creator had CAP_SYS_RESOURCE, so no limit of a user applies; constant. */
	bool			unlimited;
	/* Number that DAT_IOC_ABI on an event descriptor of the object returns; constant. */
	u64			number;
	spinlock_t		lock;		/* protects all members below */
	struct dat_rsm_slot	*slot;		/* NULL once the object is stopped */
	/* Copy of the generation in @slot; changes when the object is made or cut. */
	u32			generation;
	u32			pending;	/* number of pending events */
	/* Flag: rsm_obj_cut() has cut the import; transfers read @cut under rsm_transfers. */
	bool			cut;
	/*
	 * Flag: the object has ended; transfers read @stopped under rsm_transfers.  For an export,
	 * export_stop() sets @stopped under node->lock, not under @lock.
	 */
	bool			stopped;
	/* Waits for events, also by poll(); for entries of a ring; and for peers of an export. */
	wait_queue_head_t	wq;
};

/* Pinned pages. */
struct rsm_mem {
	struct mm_struct	*mm;		/* address space that is charged */
	u64			length;		/* length in bytes */
	/* LMR, or NULL.  An LMR pins the pages itself, so @npages is then 0. */
	void			*lmr;
	u32			rkey;		/* remote key of @lmr */
	u32			budget;		/* number of pages charged to exported_pages */
	u32			npages;		/* length of @pages */
	bool			exported;	/* flag: the memory belongs to a segment */
	/* Flag: transfers may write to the memory; not set for memory with an LMR. */
	bool			writable;
	struct page		**pages;
};

/* A segment. */
struct rsm_export {
	struct rsm_obj		obj;
	u32			flags;		/* DAT_RSM_REBINDABLE, ... */
	kuid_t			uid;		/* user of the creator */
	kgid_t			gid;		/* group of the creator */
	u32			umask_perm;	/* permissions of importers if @acl is NULL */
	u64			length;		/* length in bytes */
	u64			addr;		/* address in the creator's memory; node->lock */
	/*
	 * Memory of the segment; changed under node->lock.  Read under node->lock, under
	 * rsm_transfers, or under map_lock of an import that is not cut.
	 */
	struct rsm_mem __rcu	*mem;
	/* Segment id; 0 if the segment is neither published nor withdrawing; node->lock. */
	u32			segid;
	/* Flag: the segment is being withdrawn, and has left node->segs already; node->lock. */
	bool			withdrawing;
	struct dat_rsm_access	*acl;		/* access list, or NULL; node->lock */
	u32			acl_count;	/* length of @acl; node->lock */
	/* Loopback imports whose windows have not been zapped by a cut; node->lock. */
	struct list_head	imports;
	/*
	 * Held during a walk over @imports, and from the swap of the pages until all windows are
	 * zapped; outside node->lock.
	 */
	struct mutex		walk_lock;
	u32			walks;	/* number of walks over @imports; node->lock */
	/* Flag: a loopback import has existed, so transfers may run; node->lock. */
	bool			shared;
	struct rsm_ctlr		*ctlr;	/* NULL for loopback; with a reference until the drop */
	void			*pz;		/* PZ of @mem and of the importers' endpoints */
	/* struct rsm_conn of each importer, until the teardown is queued; node->lock. */
	struct list_head	peers;
	/* Number of connections whose teardown is not complete; obj.wq is woken at 0. */
	atomic_t		conns;
	/* Number of connections that may have the key, including connections in teardown. */
	atomic_t		importers;
	/* Number of connections that may still use the old memory; obj.wq is woken at 0. */
	atomic_t		rebinds_pending;
	/* Number of rebind and unpublish calls that are running; obj.wq is woken at 0. */
	atomic_t		calls;
};

/* A connection to a segment. */
struct rsm_import {
	struct rsm_obj		obj;
	struct rsm_remote	*remote;	/* NULL for loopback */
	u64			length;		/* size of the segment in bytes */
	struct rsm_export	*export;	/* segment of a loopback import, with a reference */
	/* Entry in export->imports, until a cut has zapped the window; node->lock. */
	struct list_head	node;
	/* Value of export->walks at the connect, or when a walk visited the import; node->lock. */
	u32			walks;
	u32			perm;		/* DAT_RSM_READ, DAT_RSM_WRITE */
	/* User of the exporting process; INVALID_UID if unknown. */
	kuid_t			owner;
	u64			window;		/* page offset of the window in the file, or 0 */
	struct rb_node		window_rb;	/* node of ctx->windows */
	u64			window_subtree_last;	/* used by the interval tree */
	struct mutex		map_lock;	/* see the top of this file */
	/* Flag: a loopback import has ended, so @window is freed once @maps is 0; @map_lock. */
	bool			dropped;
	unsigned int		maps;	/* number of VMAs, at most RSM_MAX_MAPS; @map_lock */
	/* Page that the window shows after a cut; allocated with the first VMA; @map_lock. */
	struct page		*trash;
};

/* Locked memory. */
struct rsm_localmem {
	struct rsm_obj		obj;
	u64			addr;	/* address at which the memory was locked */
	struct rsm_mem __rcu	*mem;	/* pinned pages; transfers use rsm_transfers */
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

/* Returns the context of the caller's file; NULL before DAT_IOC_RSM_OPEN. */
static inline struct rsm_ctx *rsm_ucmd_ctx(const struct dat_ucmd *ucmd)
{
	return ucmd->bound;
}

/* Operations on a segment, for the trace. */
enum rsm_export_op {
	RSM_EXPORT_CREATE,
	RSM_EXPORT_PUBLISH,
	RSM_EXPORT_REPUBLISH,
	RSM_EXPORT_REBIND,
	RSM_EXPORT_REVOKE,
};

extern unsigned int rsm_max_segments, rsm_max_exported;

/*
 * Workqueue for the teardown of contexts.  Up to CTX_ENDS work items run in parallel, because a
 * teardown may wait for peers.
 */
extern struct workqueue_struct *rsm_end_wq;

/* poller.c */
extern const struct dat_poller_ops rsm_poller_ops;

/* file.c */
int rsm_file_init(void);
void rsm_file_exit(void);

/* obj.c */
int rsm_ctx_open(struct rsm_file *file, struct rsm_ctx **out);
void rsm_ctx_close(struct rsm_ctx *ctx);
void rsm_ctx_show(struct seq_file *m, struct rsm_ctx *ctx);
int rsm_obj_setup(struct rsm_ctx *ctx, struct rsm_obj *obj, const struct rsm_obj_ops *ops);
int rsm_obj_publish(struct dat_ucmd *ucmd, struct rsm_obj *obj);
void rsm_obj_abort(struct rsm_obj *obj);
struct rsm_obj *rsm_obj_get(struct rsm_ctx *ctx, enum dat_rsm_type type, u32 id);
struct rsm_obj *rsm_obj_get_events(struct rsm_ctx *ctx, u32 id);
void rsm_obj_put(struct rsm_obj *obj);
int rsm_obj_end(struct rsm_ctx *ctx, enum dat_rsm_type type, u32 id);
void rsm_obj_undo(struct rsm_obj *obj);
void rsm_obj_cut(struct rsm_obj *obj);

/*
 * Returns true if each user that is charged for the object has fewer objects than the parameter
 * max_user allows to one user out of @total, or if @obj->unlimited is set.  With @served, compares
 * connections of remote importers instead of objects.
 */
bool rsm_users_have_room(const struct rsm_obj *obj, bool served, unsigned int total);

/*
 * Adds @by to a count of each user that is charged for the object: with @served to the number of
 * connections of remote importers, otherwise to the number of objects.  Does nothing if
 * @obj->unlimited is set: such an object must not use up the share of other processes.
 */
void rsm_users_count(const struct rsm_obj *obj, bool served, int by);

/* rsm/mem.c */
int rsm_mem_pin(u64 addr, u64 length, bool exported, struct rsm_mem **out);
int rsm_mem_register(void *pz, u64 addr, u64 length, struct rsm_mem **out);
int rsm_localmem_copy(struct rsm_localmem *lm, u64 at, void *buf, u32 n, bool from);
int rsm_localmem_check(struct rsm_localmem *lm, const struct dat_rsm_ioent *e, bool put);
void rsm_mem_unpin(struct rsm_mem *mem);
u64 rsm_mem_budget(void);
int rsm_localmem_create(struct dat_ucmd *ucmd);

/* rsm/export.c */
int rsm_export_create(struct dat_ucmd *ucmd);
int rsm_export_rebind(struct dat_ucmd *ucmd);
int rsm_export_publish(struct dat_ucmd *ucmd);
int rsm_export_republish(struct dat_ucmd *ucmd);
int rsm_export_unpublish(struct dat_ucmd *ucmd);
void rsm_export_post(struct rsm_export *exp, bool accumulate);
int rsm_export_allows(const struct rsm_export *exp, u32 node, u32 want, bool owner, bool group);

/* rsm/import.c */
int rsm_import_connect(struct dat_ucmd *ucmd);
void rsm_import_cut(struct rsm_import *imp, struct rsm_node *node);
void rsm_import_zap(struct rsm_import *imp);
bool rsm_window_is(const struct vm_area_struct *vma);
int rsm_window_map(struct rsm_ctx *ctx, struct vm_area_struct *vma);

/* rsm/io.c */
int rsm_io_entry_check(const struct rsm_import *imp, const struct dat_rsm_ioent *e);
int rsm_io(struct dat_ucmd *ucmd);

/* rsm/event.c */
void rsm_event_add(struct rsm_obj *obj, bool accumulate);
void rsm_event_add_many(struct rsm_obj *obj, u32 n);
int rsm_import_post(struct rsm_import *imp, u32 flags);
int rsm_event_post(struct dat_ucmd *ucmd);
int rsm_event_sleep(u64 deadline_ns);
int rsm_event_wait(struct dat_ucmd *ucmd);
int rsm_event_fd(struct dat_ucmd *ucmd);

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

/* A DAT_IOC_RSM_IO call for an import through an adapter. */
struct rsm_transfer {
	struct rsm_ctx			*ctx;
	struct rsm_import		*imp;	/* the call holds a reference */
	bool				put;	/* flag: the call writes to the segment */
	/* Flag: any signal ends the call, not only a fatal signal. */
	bool				interruptible;
	const struct dat_rsm_ioent	*e;	/* entries, unchecked */
	u32				count;	/* number of entries */
	u32				done;	/* result: number of transferred entries */
};

/* rsm/stage.c: transfers of DAT_IOC_RSM_IO through an adapter; see rsm/ring.c for rings */
int rsm_stage_io(struct rsm_transfer *t);

/* rsm/auth.c */

/* Returns 0 if the node has a valid cluster key or trusts the network, else -EKEYREJECTED. */
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
int rsm_nodes(struct dat_ucmd *ucmd);
int rsm_table_copy(struct rsm_node *node, struct rsm_table **out);

/* rsm/topology.c */
int rsm_topology_init(void);
void rsm_topology_exit(void);
int rsm_topology(struct dat_ucmd *ucmd);

/* rsm/ring.c: rings of imports that connect through an adapter */
int rsm_ring_make(struct dat_ucmd *ucmd);
int rsm_ring_kick(struct dat_ucmd *ucmd);
struct dat_region *rsm_ring_region(struct rsm_import *imp, unsigned int kind);

/* rsm/error.c */

/*
 * Converts an errno of this module to the result of an ioctl.  Returns DAT_RSM_OK for 0, and for an
 * errno without a result code.  With such an errno, the ioctl fails with the errno.
 */
enum dat_rsm_err rsm_error(int err);

/* rsm/cmd.c */
struct rsm_node *rsm_ucmd_node(const struct dat_ucmd *ucmd);
#define DAT_NR_RSM_LAST	(DAT_NR_RSM_KICK + 1)

extern const struct dat_ioctl_op rsm_ioctls[DAT_NR_RSM_LAST];

int rsm_run(struct dat_ucmd *ucmd, const struct dat_ioctl_op *op);

#endif /* _DAT_RSM_H */
