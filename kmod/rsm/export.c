// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* RSM segments (exports): creation, publication, rebind and withdrawal. */
#include <linux/cred.h>
#include <linux/fs_struct.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "lib/device.h"
#include "rsm/trace.h"

#define SEGID_FIRST	0x400000U	/* lower ids are reserved */
#define SEGID_AUTO	0x80000000U	/* first automatic id */
#define PERM_BITS	0666U
#define EXPORT_FLAGS	(DAT_RSM_REBINDABLE | DAT_RSM_DONT_WAIT | DAT_RSM_LOCK_OPS)

static struct rsm_export *export_get(struct rsm_ctx *ctx, u32 id)
{
	struct rsm_obj *obj = rsm_obj_get(ctx, DAT_RSM_TYPE_EXPORT, id);

	return obj ? to_rsm_export(obj) : NULL;
}

static int export_check(struct rsm_node *node, const struct dat_rsm_export *arg)
{
	if (!rsm_ctlr_present(node, arg->ctlr))
		return -ENODEV;
	if (!arg->addr)
		return -EFAULT;
	if (!arg->length)
		return -EMSGSIZE;
	if (!PAGE_ALIGNED(arg->addr) || !PAGE_ALIGNED(arg->length))
		return -EDOM;
	return 0;
}

static struct rsm_export *export_alloc(const struct dat_rsm_export *arg)
{
	struct rsm_export *exp = kzalloc(sizeof(*exp), GFP_KERNEL_ACCOUNT);

	if (!exp)
		return NULL;
	exp->flags = arg->flags;
	exp->uid = current_euid();
	exp->gid = current_egid();
	exp->umask_perm = PERM_BITS & ~current_umask();
	exp->addr = arg->addr;
	exp->length = arg->length;
	INIT_LIST_HEAD(&exp->imports);
	mutex_init(&exp->walk_lock);
	INIT_LIST_HEAD(&exp->peers);
	return exp;
}

/* Pins memory of the current process, or registers the memory with the segment's adapter. */
static int export_pin(const struct rsm_export *exp, u64 addr, struct rsm_mem **mem)
{
	if (exp->ctlr)
		return rsm_mem_register(exp->pz, addr, exp->length, mem);
	return rsm_mem_pin(addr, exp->length, true, mem);
}

/*
 * Checks the permission to import a published segment.  @node: importer's node id.  @want:
 * DAT_RSM_READ, DAT_RSM_WRITE.  @owner: true if the importer is the exporter's user.  @group: true
 * if the importer is in the exporter's group.  node->lock is held.  Returns 0, -ENONET if the
 * access list does not contain the node, or -EACCES.
 */
int rsm_export_allows(const struct rsm_export *exp, u32 node, u32 want, bool owner, bool group)
{
	u32 perm = exp->umask_perm, i;

	lockdep_assert_held(&exp->obj.ctx->node->lock);
	for (i = 0; i < exp->acl_count; i++)
		if (exp->acl[i].node == node)
			break;
	if (exp->acl_count && i == exp->acl_count)
		return -ENONET;
	if (exp->acl_count)
		perm = exp->acl[i].perm;
	/* Shift the permission bits of the group or of others to the bits of the owner. */
	if (!owner)
		perm <<= group ? 3 : 6;
	perm &= DAT_RSM_READ | DAT_RSM_WRITE;
	/* Refuse an importer without any permission, because an import can always post events. */
	return want & ~perm || !perm ? -EACCES : 0;
}

static int rebind_check(const struct rsm_export *exp, const struct dat_rsm_rebind *arg)
{
	if (!(exp->flags & DAT_RSM_REBINDABLE))
		return -EROFS;
	if (!arg->addr || !PAGE_ALIGNED(arg->addr))
		return -EFAULT;
	return arg->length == exp->length ? 0 : -EMSGSIZE;
}

/*
 * Swaps the pages of a segment with *@mem, unless the segment is already at @addr.  For each page,
 * a transfer uses either the old or the new page, so one transfer may use pages of both kinds.  A
 * window shows the new pages once rsm_import_zap() has zapped the window.  On return, *@mem is the
 * memory that the caller must unpin.  After success, the caller must first call
 * rsm_serve_rebind_wait() if the segment has an adapter, and rsm_transfers_wait() if *@shared is
 * set.  Returns 0, or -EBADF if the segment has been stopped.
 */
static int export_swap(struct rsm_export *exp, struct rsm_mem **mem, u64 addr, bool *shared)
{
	struct rsm_node *node = exp->obj.ctx->node;
	int ret = 0;

	lockdep_assert_held(&exp->walk_lock);

	mutex_lock(&node->lock);
	*shared = exp->shared;
	if (exp->obj.stopped) {
		ret = -EBADF;
	} else if (exp->addr != addr) {
		*mem = rcu_replace_pointer(exp->mem, *mem, lockdep_is_held(&node->lock));
		exp->addr = addr;
		exp->walks++;
		if (exp->ctlr)
			rsm_serve_rebind(exp, rcu_dereference_protected(exp->mem, true));
	}
	mutex_unlock(&node->lock);
	return ret;
}

/*
 * Returns a loopback import that the current walk has not visited, with a reference, or NULL.
 * Moves the import to the end of exp->imports.  New imports are also added at the end, so those
 * that were not visited are always at the beginning.
 */
static struct rsm_import *export_walk(struct rsm_export *exp)
{
	struct rsm_node *node = exp->obj.ctx->node;
	struct rsm_import *imp;

	lockdep_assert_held(&exp->walk_lock);
	mutex_lock(&node->lock);
	imp = list_first_entry_or_null(&exp->imports, struct rsm_import, node);
	if (imp && imp->walks == exp->walks)
		imp = NULL;
	if (imp) {
		imp->walks = exp->walks;
		list_move_tail(&imp->node, &exp->imports);
		kref_get(&imp->obj.ref);
	}
	mutex_unlock(&node->lock);
	return imp;
}

/*
 * Adds an event to each import of a segment.  node->lock is not held while thousands of threads are
 * woken, because unrelated processes need that lock.
 */
void rsm_export_post(struct rsm_export *exp, bool accumulate)
{
	struct rsm_node *node = exp->obj.ctx->node;
	struct rsm_import *imp;

	mutex_lock(&exp->walk_lock);
	mutex_lock(&node->lock);
	exp->walks++;
	rsm_serve_post(exp, !accumulate);
	mutex_unlock(&node->lock);
	while ((imp = export_walk(exp))) {
		lockdep_assert_not_held(&node->lock);
		rsm_event_add(&imp->obj, accumulate);
		rsm_obj_put(&imp->obj);
	}
	mutex_unlock(&exp->walk_lock);
}

/*
 * Swaps the pages of a segment, then zaps the windows of the loopback imports.  node->lock is not
 * held for the zaps, because unrelated processes need that lock.  See export_swap() for the
 * results.
 */
static int export_move(struct rsm_export *exp, struct rsm_mem **mem, u64 addr, bool *shared)
{
	struct rsm_import *imp;
	int ret;

	mutex_lock(&exp->walk_lock);
	ret = export_swap(exp, mem, addr, shared);
	while ((imp = export_walk(exp))) {
		rsm_import_zap(imp);
		rsm_obj_put(&imp->obj);
	}
	mutex_unlock(&exp->walk_lock);
	return ret;
}

/*
 * Begins a call that uses the segment's protection zone and adapter, if any.  The teardown of a
 * segment with an adapter waits for the matching call_end().  Returns false if the segment has been
 * stopped.
 */
static bool call_begin(struct rsm_export *exp)
{
	struct rsm_node *node = exp->obj.ctx->node;
	bool begun;

	mutex_lock(&node->lock);
	begun = !exp->obj.stopped;
	if (begun)
		atomic_inc(&exp->calls);
	mutex_unlock(&node->lock);
	return begun;
}

static void call_end(struct rsm_export *exp)
{
	if (atomic_dec_and_test(&exp->calls))
		wake_up_all(&exp->obj.wq);
}

/* Pins the new memory, swaps the pages, and unpins the old memory when nothing uses it. */
static int export_rebind(struct rsm_export *exp, u64 addr)
{
	struct rsm_mem *mem;
	bool shared;
	int ret;

	if (!call_begin(exp))
		return -EBADF;
	ret = export_pin(exp, addr, &mem);
	if (ret)
		goto out;
	ret = export_move(exp, &mem, addr, &shared);
	/* Peers use the old memory until they have acknowledged the new key. */
	if (!ret && exp->ctlr)
		rsm_serve_rebind_wait(exp);
	if (!ret && shared)
		rsm_transfers_wait();
	rsm_mem_unpin(mem);
out:
	call_end(exp);
	return ret;
}

int rsm_export_rebind(struct dat_ucmd *ucmd)
{
	struct dat_rsm_rebind *arg = ucmd->arg;
	struct rsm_export *exp;
	int ret;

	if (arg->rsvd)
		return -EOPNOTSUPP;
	exp = export_get(ucmd->bound, arg->id);
	if (!exp)
		return -EBADF;
	ret = rebind_check(exp, arg);
	if (!ret && READ_ONCE(exp->addr) != arg->addr)
		ret = export_rebind(exp, arg->addr);
	trace_rsm_export(exp, RSM_EXPORT_REBIND, READ_ONCE(exp->segid), ret);
	rsm_obj_put(&exp->obj);
	return ret;
}

/* Checks an access list.  The list of a loopback segment has at most one entry: the local node. */
static int acl_check(const struct rsm_export *exp, const struct dat_rsm_access *acl, u32 count)
{
	const struct rsm_node *node = exp->obj.ctx->node;
	u32 i;

	for (i = 0; i < count; i++)
		if (acl[i].node > DAT_RSM_MAX_NODE || acl[i].perm & ~PERM_BITS)
			return -EBADE;
	if (!exp->ctlr && (count > 1 || (count && acl[0].node != node->id)))
		return -EBADE;
	return 0;
}

/* Copies the access list from user memory to *@out, which the caller frees; NULL for no list. */
static int acl_copy(const struct rsm_export *exp, const struct dat_rsm_publish *arg,
		    struct dat_rsm_access **out)
{
	struct dat_rsm_access *acl;
	int ret;

	*out = NULL;
	if (!arg->count)
		return 0;
	ret = dat_check_entry_size(arg->entry_size, sizeof(*acl));
	if (ret)
		return ret;
	if (!arg->list || arg->count > DAT_RSM_MAX_NODE)
		return -EBADE;
	acl = kmalloc_array(arg->count, sizeof(*acl), GFP_KERNEL_ACCOUNT);
	if (!acl)
		return -ENOMEM;
	ret = dat_copy_array_from(acl, sizeof(*acl), arg->list, arg->entry_size, arg->count);
	if (!ret)
		ret = acl_check(exp, acl, arg->count);
	if (ret)
		kfree(acl);
	else
		*out = acl;
	return ret;
}

static int segid_check(u32 segid)
{
	return segid && (segid < SEGID_FIRST || segid >= SEGID_AUTO) ? -EADDRNOTAVAIL : 0;
}

/*
 * Reserves an entry in node->segs for *@segid.  If *@segid is 0, chooses a free id.  The caller
 * does not hold node->lock, because the allocation may reclaim memory, and other processes need
 * node->lock to tear down their segments.
 */
static int segid_reserve(struct rsm_node *node, u32 *segid)
{
	int ret;

	if (*segid)
		ret = xa_insert(&node->segs, *segid, XA_ZERO_ENTRY, GFP_KERNEL_ACCOUNT);
	else
		ret = xa_alloc_cyclic(&node->segs, segid, XA_ZERO_ENTRY,
				      XA_LIMIT(SEGID_AUTO, U32_MAX), &node->next_auto,
				      GFP_KERNEL_ACCOUNT);
	if (ret == -EBUSY)
		return *segid ? -EADDRINUSE : -ENOSPC;
	return ret < 0 ? -ENOMEM : 0;
}

static void export_set_acl(struct rsm_export *exp, struct dat_rsm_access *acl, u32 count)
{
	lockdep_assert_held(&exp->obj.ctx->node->lock);

	kfree(exp->acl);
	exp->acl = acl;
	exp->acl_count = count;
}

/*
 * Publishes @exp under @segid.  @reserved: result of segid_reserve().  After an error, the function
 * frees the reserved entry, if any.  Return: 0; -EBADF if @exp has been stopped; -EALREADY if @exp
 * is published or being withdrawn; or @reserved.
 */
static int export_publish_locked(struct rsm_export *exp, struct rsm_node *node, u32 segid,
				 int reserved)
{
	int ret = reserved;

	lockdep_assert_held(&node->lock);
	if (exp->obj.stopped)
		ret = -EBADF;
	else if (exp->segid)
		ret = -EALREADY;
	if (!ret) {
		/* xa_store() allocates nothing, because segid_reserve() has made the entry. */
		xa_store(&node->segs, segid, exp, GFP_KERNEL_ACCOUNT);
		exp->segid = segid;
	} else if (!reserved) {
		xa_erase(&node->segs, segid);
	}
	return ret;
}

static bool export_published(const struct rsm_export *exp)
{
	return exp->segid && !exp->withdrawing;
}

static int export_republish_locked(struct rsm_export *exp)
{
	lockdep_assert_held(&exp->obj.ctx->node->lock);

	if (exp->obj.stopped)
		return -EBADF;
	return export_published(exp) ? 0 : -ENOENT;
}

/*
 * Publishes a segment under *@segid.  If @segid is NULL, replaces the access list of a segment that
 * is already published.
 */
static int export_announce(struct rsm_export *exp, struct dat_rsm_publish *arg, u32 *segid)
{
	struct rsm_node *node = exp->obj.ctx->node;
	struct dat_rsm_access *acl;
	int ret, reserved = 0;

	ret = acl_copy(exp, arg, &acl);
	if (ret)
		return ret;
	if (segid)
		reserved = segid_reserve(node, segid);
	mutex_lock(&node->lock);
	if (segid)
		ret = export_publish_locked(exp, node, *segid, reserved);
	else
		ret = export_republish_locked(exp);
	if (!ret)
		export_set_acl(exp, acl, arg->count);
	mutex_unlock(&node->lock);
	if (ret)
		kfree(acl);
	return ret;
}

int rsm_export_publish(struct dat_ucmd *ucmd)
{
	struct dat_rsm_publish *arg = ucmd->arg;
	struct rsm_export *exp;
	u32 segid = arg->segid;
	int ret;

	if (arg->key || arg->auth)
		return -EOPNOTSUPP;
	exp = export_get(ucmd->bound, arg->id);
	if (!exp)
		return -EBADF;
	ret = segid_check(segid);
	if (!ret && exp->flags & DAT_RSM_LOCK_OPS)
		ret = -ENOLCK;
	if (!ret)
		ret = export_announce(exp, arg, &segid);
	if (!ret)
		arg->segid = segid;
	trace_rsm_export(exp, RSM_EXPORT_PUBLISH, segid, ret);
	rsm_obj_put(&exp->obj);
	return ret;
}

int rsm_export_republish(struct dat_ucmd *ucmd)
{
	struct dat_rsm_publish *arg = ucmd->arg;
	struct rsm_export *exp;
	int ret;

	if (arg->segid || arg->key || arg->auth)
		return -EOPNOTSUPP;
	exp = export_get(ucmd->bound, arg->id);
	if (!exp)
		return -EBADF;
	ret = export_announce(exp, arg, NULL);
	trace_rsm_export(exp, RSM_EXPORT_REPUBLISH, READ_ONCE(exp->segid), ret);
	rsm_obj_put(&exp->obj);
	return ret;
}

/*
 * Begins a withdrawal of a segment.  The caller then cuts the loopback imports, and waits for
 * transfers and for remote importers.  The segment cannot be published again while exp->withdrawing
 * is set, because new importers would prolong the wait.
 */
static void export_withdraw(struct rsm_export *exp, struct rsm_node *node)
{
	lockdep_assert_held(&node->lock);
	trace_rsm_export(exp, RSM_EXPORT_REVOKE, exp->segid, 0);
	xa_erase(&node->segs, exp->segid);
	exp->withdrawing = true;
	export_set_acl(exp, NULL, 0);
	rsm_serve_cut(exp);
}

static struct rsm_import *export_first_import(struct rsm_export *exp, struct rsm_node *node)
{
	struct rsm_import *imp;

	mutex_lock(&node->lock);
	imp = list_first_entry_or_null(&exp->imports, struct rsm_import, node);
	if (imp)
		kref_get(&imp->obj.ref);
	mutex_unlock(&node->lock);
	return imp;
}

/*
 * Cuts all loopback imports of a withdrawn segment.  On return, exp->imports is empty, even if
 * another thread cuts imports at the same time.
 */
static void export_cut(struct rsm_export *exp, struct rsm_node *node)
{
	struct rsm_import *imp;

	while ((imp = export_first_import(exp, node))) {
		rsm_import_cut(imp, node);
		rsm_obj_put(&imp->obj);
	}
}

/* Waits for transfers and remote importers, then ends the withdrawal. */
static void export_withdrawn(struct rsm_export *exp, struct rsm_node *node, bool shared)
{
	if (shared)
		rsm_transfers_wait();
	if (exp->ctlr)
		rsm_serve_wait(exp);
	mutex_lock(&node->lock);
	exp->segid = 0;
	exp->withdrawing = false;
	mutex_unlock(&node->lock);
}

int rsm_export_unpublish(struct dat_ucmd *ucmd)
{
	struct dat_rsm_unpublish *arg = ucmd->arg;
	struct rsm_node *node = rsm_ucmd_ctx(ucmd)->node;
	struct rsm_export *exp;
	bool shared = false;
	int ret;

	if (arg->rsvd)
		return -EOPNOTSUPP;
	exp = export_get(ucmd->bound, arg->id);
	if (!exp)
		return -EBADF;
	mutex_lock(&node->lock);
	ret = export_republish_locked(exp);
	if (!ret) {
		export_withdraw(exp, node);
		shared = exp->shared;
		atomic_inc(&exp->calls);
	}
	mutex_unlock(&node->lock);
	if (!ret) {
		export_cut(exp, node);
		export_withdrawn(exp, node, shared);
		call_end(exp);
	}
	rsm_obj_put(&exp->obj);
	return ret;
}

/* Stops the export; see the top of rsm.h.  Returns true if transfers may be in progress. */
static bool export_stop(struct rsm_obj *obj)
{
	struct rsm_export *exp = to_rsm_export(obj);
	struct rsm_node *node = obj->ctx->node;
	bool shared;

	mutex_lock(&node->lock);
	if (export_published(exp))
		export_withdraw(exp, node);
	shared = exp->shared;
	/* Set the flag under node->lock, because running calls check it under node->lock. */
	WRITE_ONCE(exp->obj.stopped, true);
	mutex_unlock(&node->lock);
	export_cut(exp, node);
	return shared;
}

/*
 * Waits until no remote importer has a connection, and until all calls have reached call_end().
 * Does nothing for a loopback segment, which uses no adapter.
 */
static void export_wait(struct rsm_obj *obj)
{
	struct rsm_export *exp = to_rsm_export(obj);

	if (!exp->ctlr)
		return;
	rsm_serve_wait(exp);
	wait_event(exp->obj.wq, !atomic_read(&exp->calls));
}

/* Unpins the memory of a stopped export, frees the zone, and drops the reference to the adapter. */
static void export_drop(struct rsm_obj *obj)
{
	struct rsm_export *exp = to_rsm_export(obj);

	rsm_mem_unpin(rcu_replace_pointer(exp->mem, NULL, true));
	if (exp->ctlr)
		rsm_serve_close(exp);
}

static void export_show(struct seq_file *m, const struct rsm_obj *obj)
{
	const struct rsm_export *exp = container_of(obj, struct rsm_export, obj);

	seq_printf(m, "rsm-export:\tid=%u segid=%#x length=%llu pending=%u\n", obj->id,
		   READ_ONCE(exp->segid), exp->length, READ_ONCE(obj->pending));
}

static const struct rsm_obj_ops export_ops = {
	.type		= DAT_RSM_TYPE_EXPORT,
	.charged	= true,
	.stop		= export_stop,
	.wait		= export_wait,
	.drop		= export_drop,
	.show		= export_show,
};

int rsm_export_create(struct dat_ucmd *ucmd)
{
	struct dat_rsm_export *arg = ucmd->arg;
	struct rsm_node *node = rsm_ucmd_ctx(ucmd)->node;
	struct rsm_export *exp;
	struct rsm_mem *mem;
	int ret;

	if (arg->flags & ~EXPORT_FLAGS)
		return -EOPNOTSUPP;
	ret = export_check(node, arg);
	if (ret)
		return ret;
	exp = export_alloc(arg);
	if (!exp)
		return -ENOMEM;
	/* Charge the quota before the adapter is opened and the memory is pinned. */
	ret = rsm_obj_setup(ucmd->bound, &exp->obj, &export_ops);
	if (ret)
		goto err_free;
	if (arg->ctlr != DAT_RSM_LOOPBACK)
		ret = rsm_serve_open(exp, node, arg->ctlr);
	if (ret)
		goto err_abort;
	ret = export_pin(exp, arg->addr, &mem);
	if (ret)
		goto err_close;
	RCU_INIT_POINTER(exp->mem, mem);
	arg->id = exp->obj.id;
	arg->slot = exp->obj.id - 1;
	trace_rsm_export(exp, RSM_EXPORT_CREATE, 0, 0);
	return rsm_obj_publish(ucmd, &exp->obj);

err_close:
	if (exp->ctlr)
		rsm_serve_close(exp);
err_abort:
	rsm_obj_abort(&exp->obj);
err_free:
	trace_rsm_export(exp, RSM_EXPORT_CREATE, 0, ret);
	kfree(exp);
	return ret;
}
