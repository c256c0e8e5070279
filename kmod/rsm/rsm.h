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

#include "lib/chardev.h"
#include "lib/device.h"
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

/* Addresses of other nodes. */
struct rsm_table {
	struct rcu_head		rcu;
	u32			count;
	struct dat_rsm_node	nodes[];	/* checked by table_good() */
};

/* A user of a node. */
struct rsm_user {
	kuid_t		uid;	/* constant */
	unsigned int	refs;	/* contexts of the user; xa_lock of node->users */
	/*
	 * Exports and imports of the user, and of everybody in user namespaces below the user;
	 * incremented under node->lock.
	 */
	atomic_t	objs;
	/* Connections of remote importers to these exports; incremented under node->lock. */
	atomic_t	served;
};

/* RSM in a network namespace. */
struct rsm_node {
	struct mutex		lock;		/* see the top of this file */
	/* Published exports by segment id, and reserved entries; see segid_reserve(). */
	struct xarray		segs;
	/* Where the search for an automatic segment id begins. */
	u32			next_auto;
	u32			id;		/* changes only under @lock and while @objs is 0 */
	atomic_t		objs;		/* exports and imports; incremented under @lock */
	struct xarray		users;		/* struct rsm_user by uid */
	struct net		*net;		/* owns the node */
	struct mutex		ctlr_lock;	/* see the top of this file */
	/* struct rsm_ctlr from the begin of an open to the end of a close; @ctlr_lock. */
	struct list_head	ctlrs;
	/* Counts state changes of @ctlrs; written under @ctlr_lock. */
	u32			ctlr_changes;
	wait_queue_head_t	ctlr_wq;	/* for @ctlr_changes */
	/* Name n - 1 is controller n's and stays.  Added under @ctlr_lock, read without a lock. */
	char			*names[RSM_MAX_CTLRS];
	unsigned int		nr_names;	/* @ctlr_lock */
	struct rsm_table __rcu	*table;	/* may be NULL; changed under @ctlr_lock, read under RCU */
	spinlock_t		key_lock;	/* key */
	/* Logon key with the cluster key, with a reference; or NULL. */
	struct key		*key;
	bool			trusts;	/* the administrator trusts all hosts of the network */
	/* Protects @surveys and @survey; held while a survey runs; outside @ctlr_lock. */
	struct mutex		survey_lock;
	u32			surveys;	/* surveys of the topology that have begun */
	struct rsm_survey	*survey;	/* last result, or NULL */
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
 * Kinds of mapped regions, as encoded in an mmap offset.  SLOTS are the slots of the file.  SUBMIT,
 * STATUS and DATA are the parts of an import's ring.
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
	struct rsm_node		*node;	/* of the file's network namespace, which the file holds */
	struct address_space	*mapping;	/* of the file, for zaps of windows */
	struct xarray		objs;		/* by id, from 1 */
	u32			next_id;	/* where the search for a free id begins */
	/* Array of struct dat_rsm_slot: object id n has slot n - 1, @mm has slot RSM_MEM_SLOT. */
	struct dat_region	slots;
	struct mutex		windows_lock;	/* windows, next_window */
	struct rb_root_cached	windows;	/* imports with windows, by page offset */
	u64			next_window;	/* where the search for free page offsets begins */
	struct mmu_notifier	mn;		/* for the end of @mm and changes of its mappings */
	/* Users who are charged for the objects; see dat_payers(). */
	struct rsm_user		*users[DAT_MAX_PAYERS];
	unsigned int		nr_users;
	unsigned long		ended;		/* bit 0: ctx_stop() has begun */
	/* Stopped objects, linked by their RCU heads; set before @end_work is queued. */
	struct callback_head	*ending;
	/* Transfers may still use objects of @ending; set before @end_work is queued. */
	bool			busy;
	/* Waits for transfers and peers, then drops @ending. */
	struct work_struct	end_work;
	/* Time until which the end waits for acknowledgments of peers, in jiffies. */
	unsigned long		drain_deadline;
	struct mutex		rings_lock;	/* rings */
	struct list_head	rings;	/* struct rsm_ring, until the end of its connection */
	/* The poller of the file takes new entries; read under the rings' locks. */
	bool			watched;
};

struct rsm_obj;

/* Operations of an object type.  The steps of an object's end are at the top of this file. */
struct rsm_obj_ops {
	enum dat_rsm_type	type;
	/* Counts against the quotas of the node and the user. */
	bool			charged;
	/*
	 * Cuts the object off from new transfers; NULL: does nothing.  Returns true, as NULL does,
	 * if earlier transfers may still use the object.
	 */
	bool			(*stop)(struct rsm_obj *obj);
	/* Waits until no peer reaches the memory; optional. */
	void			(*wait)(struct rsm_obj *obj);
	/* Unpins the memory, or ends the connection. */
	void			(*drop)(struct rsm_obj *obj);
	/* After the last put: puts and frees what the object points to; optional. */
	void			(*release)(struct rsm_obj *obj);
	/* Writes one line of fdinfo. */
	void			(*show)(struct seq_file *m, const struct rsm_obj *obj);
};

/* Common first member of all objects. */
struct rsm_obj {
	const struct rsm_obj_ops *ops;		/* constant */
	u32			id;		/* in ctx->objs */
	struct kref		ref;
	struct rcu_head		rcu;		/* lookups run under RCU */
	struct rsm_ctx		*ctx;		/* valid until the object is dropped */
	u64			number;	/* for DAT_IOC_ABI of descriptors for events; constant */
	spinlock_t		lock;		/* protects all members below */
	struct dat_rsm_slot	*slot;		/* NULL once the object is stopped */
	/* That of @slot; changes when the object is made or cut. */
	u32			generation;
	u32			pending;	/* events */
	/* The segment of an import is gone; transfers read this under rsm_transfers. */
	bool			cut;
	/* The object has ended; transfers read this under rsm_transfers. */
	bool			stopped;
	wait_queue_head_t	wq;		/* of waits for events, poll() included */
};

/* Pinned pages. */
struct rsm_mem {
	struct mm_struct	*mm;		/* whose locked-memory limit is charged */
	u64			length;		/* bytes */
	/* Registration with an adapter, or NULL.  It pins the pages, so @npages is then 0. */
	void			*lmr;
	u32			rkey;		/* of @lmr */
	u32			budget;		/* pages charged to the budget of exported memory */
	u32			npages;		/* in @pages */
	bool			exported;	/* belongs to a segment */
	bool			writable;	/* transfers may write to it */
	struct page		**pages;
};

/* A segment. */
struct rsm_export {
	struct rsm_obj		obj;
	u32			flags;		/* DAT_RSM_REBINDABLE, ... */
	kuid_t			uid;		/* of the creator */
	/* CAP_SYS_RESOURCE: no quota of a user limits importers. */
	bool			unlimited;
	kgid_t			gid;		/* of the creator */
	u32			umask_perm;	/* of importers if there is no @acl */
	u64			length;		/* bytes */
	u64			addr;		/* in the creator's address space; node->lock */
	struct rsm_mem __rcu	*mem;	/* changed under node->lock, read under rsm_transfers */
	u32			segid;		/* 0 while not published; node->lock */
	/* A withdrawal waits for importers, and lookups of @segid fail; node->lock. */
	bool			withdrawing;
	struct dat_rsm_access	*acl;		/* access list, or NULL; node->lock */
	u32			acl_count;	/* node->lock */
	/* Loopback imports, until their windows are zapped; node->lock. */
	struct list_head	imports;
	/* Held from the swap of the pages until all windows are zapped; outside node->lock. */
	struct mutex		rebind_lock;
	u32			rebinds;	/* node->lock */
	/* A loopback import has existed, so transfers may be in progress; node->lock. */
	bool			shared;
	struct rsm_ctlr		*ctlr;	/* NULL for loopback; with a reference until the drop */
	void			*pz;		/* of @mem and of the endpoints of all importers */
	/* struct rsm_conn of importers, until their teardown is queued; node->lock. */
	struct list_head	peers;
	/* Connections of importers, until their teardown is complete; obj.wq is woken at 0. */
	atomic_t		conns;
	atomic_t		importers;	/* connections that have got the key */
	/* Connections that may still use the old memory; obj.wq is woken at 0. */
	atomic_t		rebinds_pending;
	/* Calls in progress that use @ctlr and @pz; obj.wq is woken at 0. */
	atomic_t		calls;
};

/* A connection to a segment. */
struct rsm_import {
	struct rsm_obj		obj;
	struct rsm_remote	*remote;	/* NULL for loopback */
	u64			length;		/* bytes of the segment */
	struct rsm_export	*export;	/* segment of a loopback import, with a reference */
	/* In export->imports until the import is cut and its window is zapped; node->lock. */
	struct list_head	node;
	u32			rebinds;	/* export->rebinds at the last zap; node->lock */
	u32			perm;		/* DAT_RSM_READ, DAT_RSM_WRITE */
	/* User of the exporter; INVALID_UID if its kernel has not sent it. */
	kuid_t			owner;
	u64			window;		/* page offset in the file, or 0 */
	struct rb_node		window_rb;	/* in ctx->windows */
	u64			window_subtree_last;	/* of the interval tree */
	struct mutex		map_lock;	/* see the top of this file */
	/* The import has ended, so @window is free once @maps is 0; @map_lock. */
	bool			dropped;
	unsigned int		maps;	/* VMAs of the window, at most RSM_MAX_MAPS; @map_lock */
	/* Page that the window shows after a cut; made with the first VMA; @map_lock. */
	struct page		*trash;
};

/* Locked memory. */
struct rsm_localmem {
	struct rsm_obj		obj;
	u64			addr;	/* where the memory was mapped when it was locked */
	struct rsm_mem __rcu	*mem;	/* transfers read it under rsm_transfers */
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
int rsm_localmem_create(struct dat_ucmd *ucmd);

/* rsm/export.c */
int rsm_export_create(struct dat_ucmd *ucmd);
int rsm_export_rebind(struct dat_ucmd *ucmd);
int rsm_export_publish(struct dat_ucmd *ucmd);
int rsm_export_republish(struct dat_ucmd *ucmd);
int rsm_export_unpublish(struct dat_ucmd *ucmd);
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
	struct rsm_import		*imp;	/* reference held */
	bool				put;	/* writes to the segment */
	/* Any signal ends the call, not only a fatal one. */
	bool				interruptible;
	const struct dat_rsm_ioent	*e;	/* unchecked */
	u32				count;	/* of @e */
	u32				done;	/* result: entries transferred */
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
 * Converts an errno of this module to the result of an ioctl.  Returns DAT_RSM_OK for an errno that
 * is no result: the ioctl itself fails with it.
 */
enum dat_rsm_err rsm_error(int err);

/* rsm/cmd.c */
struct rsm_node *rsm_ucmd_node(const struct dat_ucmd *ucmd);
#define DAT_NR_RSM_LAST	(DAT_NR_RSM_KICK + 1)

extern const struct dat_ioctl_op rsm_ioctls[DAT_NR_RSM_LAST];

int rsm_run(struct dat_ucmd *ucmd, const struct dat_ioctl_op *op);

#endif /* _DAT_RSM_H */
