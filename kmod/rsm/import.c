// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* RSM imports: connections to segments, and windows.  A process maps a segment through a window. */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/interval_tree_generic.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "compat.h"
#include "rsm/trace.h"

/*
 * Range of the page offsets of windows.  A 32-bit process passes a 32-bit offset in units of 4 KiB
 * to mmap2(), so such a process can map byte offsets below 2^44.  Regions other than windows have
 * byte offsets below 2^42.
 */
#define WINDOWS_BEGIN	BIT_ULL(42 - PAGE_SHIFT)
#define WINDOWS_END	BIT_ULL(43 - PAGE_SHIFT)
#define FAULT_AROUND	64

static u64 window_first(const struct rsm_import *imp)
{
	return imp->window;
}

static u64 window_last(const struct rsm_import *imp)
{
	return imp->window + (imp->length >> PAGE_SHIFT) - 1;
}

/* Interval tree of imports, ordered by the page offsets of the imports' windows. */
INTERVAL_TREE_DEFINE(struct rsm_import, window_rb, u64, window_subtree_last, window_first,
		     window_last, static __maybe_unused, windows)

/* Returns the lowest page offset >= @from at which @pages free page offsets begin, or 0. */
static u64 window_gap(struct rsm_ctx *ctx, u64 from, u64 pages)
{
	struct rsm_import *other;
	u64 at;

	for (at = from; at + pages <= WINDOWS_END; at = window_last(other) + 1) {
		other = windows_iter_first(&ctx->windows, at, at + pages - 1);
		if (!other)
			return at;
	}
	return 0;
}

/*
 * Allocates page offsets for the import's window.  imp->window stays 0 if no range of free offsets
 * is long enough.  The search starts behind the last allocation, so freed offsets are not reused
 * soon.
 */
static void window_alloc(struct rsm_import *imp)
{
	struct rsm_ctx *ctx = imp->obj.ctx;
	u64 pages = imp->length >> PAGE_SHIFT;

	/* A process can make the search long, by windows that it maps and no longer imports. */
	lockdep_assert_not_held(&ctx->node->lock);
	mutex_lock(&ctx->windows_lock);
	imp->window = window_gap(ctx, max(ctx->next_window, WINDOWS_BEGIN), pages);
	if (!imp->window)
		imp->window = window_gap(ctx, WINDOWS_BEGIN, pages);
	if (imp->window) {
		windows_insert(imp, &ctx->windows);
		ctx->next_window = window_last(imp) + 1;
	}
	mutex_unlock(&ctx->windows_lock);
}

/*
 * Frees the page offsets of the import's window if the import was dropped and no VMA is left.  The
 * caller is dropping the import or closing a VMA, which holds the file, so imp->obj.ctx is valid.
 */
static void window_free(struct rsm_import *imp)
{
	struct rsm_ctx *ctx = imp->obj.ctx;

	lockdep_assert_held(&imp->map_lock);
	if (!imp->window || !imp->dropped || imp->maps)
		return;
	mutex_lock(&ctx->windows_lock);
	windows_remove(imp, &ctx->windows);
	mutex_unlock(&ctx->windows_lock);
}

static int import_allowed(const struct rsm_export *exp, const struct rsm_node *node, u32 want)
{
	int ret;

	lockdep_assert_held(&node->lock);
	/* A segment that was exported through an adapter cannot be imported by loopback. */
	if (exp->ctlr)
		return -ENOENT;
	ret = rsm_export_allows(exp, node->id, want, uid_eq(current_euid(), exp->uid),
				in_egroup_p(exp->gid));
	if (ret == -EACCES && capable(CAP_DAC_OVERRIDE))
		ret = 0;
	return ret;
}

/* Connects to a segment of this node by loopback. */
static int import_attach(struct rsm_import *imp, struct rsm_node *node, u32 segid)
{
	struct rsm_export *exp;
	int ret;

	mutex_lock(&node->lock);
	exp = xa_load(&node->segs, segid);
	ret = exp ? import_allowed(exp, node, imp->perm) : -ENOENT;
	if (!ret) {
		kref_get(&exp->obj.ref);
		imp->export = exp;
		imp->length = exp->length;
		imp->owner = exp->uid;
		exp->shared = true;
		imp->walks = exp->walks;
		list_add_tail(&imp->node, &exp->imports);
	}
	mutex_unlock(&node->lock);
	/* Allocate the window last, because another thread may map a window at once. */
	if (!ret)
		window_alloc(imp);
	return ret;
}

static void import_answer(const struct rsm_import *imp, u32 generation,
			  struct dat_rsm_connect *arg)
{
	uid_t owner = from_kuid(current_user_ns(), imp->owner);

	arg->id = imp->obj.id;
	arg->slot = imp->obj.id - 1;
	arg->generation = generation;
	arg->length = imp->length;
	arg->map_offset = imp->window << PAGE_SHIFT;
	if (imp->remote && imp->remote->conn->swapped)
		arg->flags = DAT_RSM_SWAPPED;
	/* The overflow uid would make all users without an id in the namespace look the same. */
	arg->owned = owner != (uid_t)-1;
	arg->owner = arg->owned ? owner : 0;
}

/*
 * Unmaps all pages of an import's window, so that accesses fault again.  Context: may sleep;
 * node->lock must not be held.
 */
void rsm_import_zap(struct rsm_import *imp)
{
	mutex_lock(&imp->map_lock);
	/* If @maps is not 0, a VMA holds the file, so the context and the mapping are valid. */
	if (imp->maps)
		unmap_mapping_range(imp->obj.ctx->mapping, imp->window << PAGE_SHIFT, imp->length,
				    1);
	mutex_unlock(&imp->map_lock);
}

/*
 * Cuts a loopback import.  Repeated and concurrent calls are harmless.  The function zaps the
 * window before it removes the import from export->imports, because an exporter that finds this
 * list empty may unpin the pages.  The caller must then wait for transfers.  Context: may sleep;
 * node->lock must not be held.
 */
void rsm_import_cut(struct rsm_import *imp, struct rsm_node *node)
{
	rsm_obj_cut(&imp->obj);
	rsm_import_zap(imp);
	mutex_lock(&node->lock);
	list_del_init(&imp->node);
	mutex_unlock(&node->lock);
}

/*
 * Stops the import; see the top of rsm.h.  Returns true for a loopback import, whose transfers may
 * be using the pages of the segment.
 */
static bool import_stop(struct rsm_obj *obj)
{
	struct rsm_import *imp = to_rsm_import(obj);

	if (imp->remote) {
		rsm_obj_cut(&imp->obj);
		return false;
	}
	rsm_import_cut(imp, imp->obj.ctx->node);
	return true;
}

/*
 * Ends the connection of a stopped import.  A loopback import has no connection; the function frees
 * the window, unless a VMA still uses the window.
 */
static void import_drop(struct rsm_obj *obj)
{
	struct rsm_import *imp = to_rsm_import(obj);

	if (imp->remote) {
		rsm_remote_end(imp);
		return;
	}
	mutex_lock(&imp->map_lock);
	imp->dropped = true;
	window_free(imp);
	mutex_unlock(&imp->map_lock);
}

/*
 * Frees the objects to which the import points.  The context may be gone, because a descriptor for
 * events may have held the last reference.
 */
static void import_release(struct rsm_obj *obj)
{
	struct rsm_import *imp = to_rsm_import(obj);

	if (imp->remote) {
		rsm_remote_release(imp);
		return;
	}
	if (imp->trash)
		put_page(imp->trash);
	rsm_obj_put(&imp->export->obj);
}

static void import_show(struct seq_file *m, const struct rsm_obj *obj)
{
	const struct rsm_import *imp = container_of(obj, struct rsm_import, obj);

	seq_printf(m, "rsm-import:\tid=%u perm=%#o cut=%d maps=%u pending=%u\n", obj->id, imp->perm,
		   READ_ONCE(obj->cut), READ_ONCE(imp->maps), READ_ONCE(obj->pending));
}

static const struct rsm_obj_ops import_ops = {
	.type		= DAT_RSM_TYPE_IMPORT,
	.charged	= true,
	.stop		= import_stop,
	.drop		= import_drop,
	.release	= import_release,
	.show		= import_show,
};

int rsm_import_connect(struct dat_ucmd *ucmd)
{
	struct dat_rsm_connect *arg = ucmd->arg;
	struct rsm_node *node = rsm_ucmd_ctx(ucmd)->node;
	struct rsm_import *imp;
	u32 generation;
	int ret;

	if (arg->flags || arg->perm & ~(DAT_RSM_READ | DAT_RSM_WRITE) || arg->key || arg->auth)
		return -EOPNOTSUPP;
	/* The loopback controller reaches only the local node. */
	if (arg->ctlr == DAT_RSM_LOOPBACK && arg->node != node->id)
		return -ENODEV;
	imp = kzalloc(sizeof(*imp), GFP_KERNEL_ACCOUNT);
	if (!imp)
		return -ENOMEM;
	ret = rsm_obj_setup(ucmd->bound, &imp->obj, &import_ops);
	if (ret)
		goto err_free;
	imp->perm = arg->perm;
	imp->owner = INVALID_UID;
	mutex_init(&imp->map_lock);
	INIT_LIST_HEAD(&imp->node);
	/*
	 * Read the generation before the connect, because a withdrawal of the connected segment
	 * changes the generation.
	 */
	generation = imp->obj.generation;
	if (arg->ctlr == DAT_RSM_LOOPBACK)
		ret = import_attach(imp, node, arg->segid);
	else
		ret = rsm_remote_connect(imp, node, arg);
	if (ret)
		goto err_abort;
	import_answer(imp, generation, arg);
	trace_rsm_import(imp->obj.id, arg, 0);
	return rsm_obj_publish(ucmd, &imp->obj);

err_abort:
	rsm_obj_abort(&imp->obj);
err_free:
	trace_rsm_import(imp->obj.id, arg, ret);
	kfree(imp);
	return ret;
}

static void window_open(struct vm_area_struct *vma)
{
	struct rsm_import *imp = vma->vm_private_data;

	kref_get(&imp->obj.ref);
	mutex_lock(&imp->map_lock);
	imp->maps++;
	mutex_unlock(&imp->map_lock);
}

static void window_close(struct vm_area_struct *vma)
{
	struct rsm_import *imp = vma->vm_private_data;

	mutex_lock(&imp->map_lock);
	imp->maps--;
	window_free(imp);
	mutex_unlock(&imp->map_lock);
	rsm_obj_put(&imp->obj);
}

static int window_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	struct rsm_import *imp = vma->vm_private_data;

	return READ_ONCE(imp->maps) < RSM_MAX_MAPS ? 0 : -ENOMEM;
}

/* Maps the page that faulted, and up to FAULT_AROUND - 1 pages that follow that page. */
static vm_fault_t window_fill(struct vm_fault *vmf, struct rsm_import *imp)
{
	struct rsm_mem *mem = rcu_dereference_protected(imp->export->mem,
							lockdep_is_held(&imp->map_lock));
	u64 page = vmf->pgoff - imp->window;
	unsigned long addr = vmf->address & PAGE_MASK;
	unsigned long end = min(vmf->vma->vm_end, addr + FAULT_AROUND * PAGE_SIZE);
	vm_fault_t ret, first;

	/* window_check() limits a mapping to the segment, and the whole segment is pinned. */
	if (WARN_ON_ONCE(page >= mem->npages || mem->npages - page < (end - addr) >> PAGE_SHIFT))
		return VM_FAULT_SIGBUS;
	first = vmf_insert_pfn(vmf->vma, addr, page_to_pfn(mem->pages[page]));
	ret = first;
	while (ret == VM_FAULT_NOPAGE && (addr += PAGE_SIZE) < end)
		ret = vmf_insert_pfn(vmf->vma, addr, page_to_pfn(mem->pages[++page]));
	return first;
}

/*
 * Handles a page fault in a window.  A cut or a rebind zaps the window under map_lock, so this
 * function maps no old page after the zap.  The allocation of page tables must not reclaim memory,
 * because the exporter may wait for map_lock.  If the allocation fails, the access faults again.
 */
static vm_fault_t window_fault(struct vm_fault *vmf)
{
	struct rsm_import *imp = vmf->vma->vm_private_data;
	unsigned int flags;
	vm_fault_t ret;

	mutex_lock(&imp->map_lock);
	flags = memalloc_noreclaim_save();
	if (READ_ONCE(imp->obj.cut))
		ret = vmf_insert_pfn(vmf->vma, vmf->address & PAGE_MASK, page_to_pfn(imp->trash));
	else
		ret = window_fill(vmf, imp);
	memalloc_noreclaim_restore(flags);
	mutex_unlock(&imp->map_lock);
	return ret;
}

static const struct vm_operations_struct window_ops = {
	.open		= window_open,
	.close		= window_close,
	.may_split	= window_may_split,
	.fault		= window_fault,
};

static int window_check(const struct rsm_import *imp, struct vm_area_struct *vma)
{
	u64 left = window_last(imp) + 1 - vma->vm_pgoff;

	if (!(vma->vm_flags & VM_SHARED) || vma->vm_flags & VM_EXEC)
		return -EINVAL;
	if (vma_pages(vma) > left)
		return -EINVAL;
	if (!(imp->perm & DAT_RSM_READ))
		return -EOPNOTSUPP;
	if (vma->vm_flags & VM_WRITE && !(imp->perm & DAT_RSM_WRITE))
		return -EACCES;
	return 0;
}

static int window_add(struct rsm_import *imp)
{
	struct page *trash = NULL;
	int ret = -ENODEV;

	/* Allocate the page before taking map_lock, because the exporter may wait for map_lock. */
	if (!READ_ONCE(imp->trash)) {
		trash = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!trash)
			return -ENOMEM;
	}
	mutex_lock(&imp->map_lock);
	if (!imp->trash)
		swap(imp->trash, trash);
	if (!READ_ONCE(imp->obj.cut) && imp->maps >= RSM_MAX_MAPS) {
		ret = -ENOMEM;
	} else if (!READ_ONCE(imp->obj.cut)) {
		imp->maps++;
		ret = 0;
	}
	mutex_unlock(&imp->map_lock);
	if (trash)
		__free_page(trash);
	return ret;
}

bool rsm_window_is(const struct vm_area_struct *vma)
{
	return vma->vm_pgoff >= WINDOWS_BEGIN && vma->vm_pgoff < WINDOWS_END;
}

/* Returns the import whose window contains the page offset @at, with a reference, or NULL. */
static struct rsm_import *window_find(struct rsm_ctx *ctx, u64 at)
{
	struct rsm_import *imp;

	mutex_lock(&ctx->windows_lock);
	imp = windows_iter_first(&ctx->windows, at, at);
	if (imp && READ_ONCE(imp->obj.stopped))
		imp = NULL;
	/* The creating call, the context or a VMA has a reference to each import in the tree. */
	if (imp)
		kref_get(&imp->obj.ref);
	mutex_unlock(&ctx->windows_lock);
	return imp;
}

/*
 * Maps the window of an import, or a part of the window.  Returns the errno of mmap(): -ENOENT if
 * the offset is in no window, or in the window of an import that has ended; -EINVAL for a bad range
 * or bad flags; -EACCES for a writable mapping without DAT_RSM_WRITE; -EOPNOTSUPP without
 * DAT_RSM_READ; -ENODEV if the import is cut; -ENOMEM if memory is short or the window has
 * RSM_MAX_MAPS VMAs.
 */
int rsm_window_map(struct rsm_ctx *ctx, struct vm_area_struct *vma)
{
	unsigned long clear = VM_MAYEXEC;
	struct rsm_import *imp;
	int ret;

	imp = window_find(ctx, vma->vm_pgoff);
	if (!imp)
		return -ENOENT;
	ret = window_check(imp, vma);
	if (!ret)
		ret = window_add(imp);
	if (ret) {
		rsm_obj_put(&imp->obj);
		return ret;
	}
	/*
	 * Clearing VM_MAYWRITE and VM_MAYEXEC also limits mprotect().  VM_IO makes
	 * madvise(MADV_DOFORK) fail.
	 */
	if (!(imp->perm & DAT_RSM_WRITE))
		clear |= VM_MAYWRITE;
	dat_vm_flags_mod(vma, VM_PFNMAP | VM_IO | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP,
			 clear);
	vma->vm_ops = &window_ops;
	vma->vm_private_data = imp;	/* owns the reference */
	return 0;
}
