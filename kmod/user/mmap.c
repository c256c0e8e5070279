// SPDX-License-Identifier: GPL-2.0
/* mmap() of shared pages.  The offset encodes an object's id and a kind of region. */
#include <linux/mm.h>

#include "core/dat.h"
#include "core/ring.h"
#include "user/file.h"

u64 dat_mmap_offset(const struct dat_obj *obj, unsigned int kind)
{
	return dat_mmap_place(obj->id, kind);
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
		ret = dat_region_map(vma, r);
	mutex_unlock(&ia->map_lock);
	dat_obj_put(obj);
	return ret;
}

int dat_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct dat_file *file = filp->private_data;
	unsigned int kind = vma->vm_pgoff & (BIT(DAT_REGION_KIND_BITS) - 1);
	unsigned long id = vma->vm_pgoff >> DAT_REGION_KIND_BITS;
	struct dat_ia *ia = dat_file_ia(file);

	if (current->mm != file->mm)
		return -EPERM;
	if (id > U32_MAX)
		return -EINVAL;
	if (!ia)
		return -EINVAL;
	if (kind != DAT_REGION_DOORBELL)
		return map_object(vma, ia, id, kind);
	return id ? -EINVAL : dat_region_map(vma, &file->doorbell);
}
