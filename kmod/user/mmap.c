// SPDX-License-Identifier: GPL-2.0
/* Mapping of shared pages.  An offset is an object's id and a kind of region. */
#include <linux/mm.h>

#include "compat.h"
#include "user/file.h"
#include "rsm/rsm.h"

#define KIND_BITS	8

u64 dat_mmap_place(u32 id, unsigned int kind)
{
	return ((u64)id << KIND_BITS | kind) << PAGE_SHIFT;
}

u64 dat_mmap_offset(const struct dat_obj *obj, unsigned int kind)
{
	return dat_mmap_place(obj->id, kind);
}

u64 dat_mmap_size(const struct dat_region *r)
{
	return (u64)r->npages << PAGE_SHIFT;
}

static int map_region(struct vm_area_struct *vma, struct dat_region *r)
{
	unsigned long n = r->npages, clear = VM_MAYEXEC;

	if (!(vma->vm_flags & VM_SHARED) || vma_pages(vma) != n)
		return -EINVAL;
	if (!r->writable && vma->vm_flags & VM_WRITE)
		return -EPERM;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	/* Nor may mprotect() change that later. */
	if (!r->writable)
		clear |= VM_MAYWRITE;
	dat_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, clear);
	/* Each mapped page is referenced, so it may outlive the object. */
	return vm_insert_pages(vma, vma->vm_start, r->pages, &n);
}

static int map_object(struct vm_area_struct *vma, struct dat_ia *ia, u32 id,
		      unsigned int kind)
{
	const struct dat_obj_ops *ops;
	struct dat_region *r;
	struct dat_obj *obj;
	int ret = -EINVAL;

	obj = dat_obj_get_any(ia, id);
	if (!obj)
		return -ENOENT;
	ops = dat_obj_ops(obj);
	mutex_lock(&ia->map_lock);
	r = ops->region ? ops->region(obj, kind) : NULL;
	if (r)
		ret = map_region(vma, r);
	mutex_unlock(&ia->map_lock);
	dat_obj_put(obj);
	return ret;
}

static int map_ring(struct vm_area_struct *vma, struct rsm_ctx *rsm, u32 id, unsigned int kind)
{
	struct dat_region *r;
	struct rsm_obj *obj;
	int ret = -EINVAL;

	obj = rsm_obj_get(rsm, DAT_RSM_TYPE_IMPORT, id);
	if (!obj)
		return -ENOENT;
	r = rsm_ring_region(to_rsm_import(obj), kind);
	if (r)
		ret = map_region(vma, r);
	rsm_obj_put(obj);
	return ret;
}

static bool is_ring(unsigned int kind)
{
	return kind >= DAT_REGION_RSM_SUBMIT && kind <= DAT_REGION_RSM_DATA;
}

int dat_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct dat_file *file = filp->private_data;
	unsigned int kind = vma->vm_pgoff & (BIT(KIND_BITS) - 1);
	unsigned long id = vma->vm_pgoff >> KIND_BITS;
	struct dat_ia *ia = dat_file_ia(file);
	struct rsm_ctx *rsm = smp_load_acquire(&file->rsm);	/* whole since it was opened */

	if (current->mm != file->mm)
		return -EPERM;
	if (dat_rsm_is_window(vma))
		return dat_rsm_mmap(file, vma);
	if (kind == DAT_REGION_RSM_SLOTS)
		return id || !rsm ? -EINVAL : map_region(vma, &rsm->slots);
	if (id > U32_MAX)
		return -EINVAL;
	if (is_ring(kind))
		return rsm ? map_ring(vma, rsm, id, kind) : -ENOENT;
	if (!ia)
		return -EINVAL;
	if (kind != DAT_REGION_DOORBELL)
		return map_object(vma, ia, id, kind);
	return id ? -EINVAL : map_region(vma, &file->doorbell);
}
