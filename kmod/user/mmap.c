// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * mmap() of pages that the driver shares with a process.  The offset contains the id of a chunk and
 * the kind of the mapping.
 */
#include <linux/mm.h>

#include "core/dat.h"
#include "core/mem/pool.h"
#include "user/file.h"

/*
 * Returns the mmap() offset and size of the chunk with an object's memory, and the offset of the
 * memory in the chunk.  If @slice is empty, all members of the result are 0.  ia->resize_lock is
 * held, because another thread of the process may resize the object as soon as the object has an
 * id, and a resize frees @slice.
 */
struct dat_span dat_mmap_span(struct dat_ia *ia, const struct dat_slice *slice)
{
	lockdep_assert_held(&ia->resize_lock);
	if (!slice->chunk)
		return (struct dat_span) {};
	return (struct dat_span) {
		.offset	= dat_slice_offset(slice),
		.size	= dat_slice_map_size(slice),
		.start	= slice->start,
	};
}

int dat_mmap(struct dat_devfile *devfile, struct vm_area_struct *vma)
{
	struct dat_file *file = to_dat_file(devfile);
	unsigned int kind = vma->vm_pgoff & (BIT(DAT_REGION_KIND_BITS) - 1);
	unsigned long id = vma->vm_pgoff >> DAT_REGION_KIND_BITS;
	struct dat_ia *ia = dat_file_ia(file);

	if (id > U32_MAX)
		return -EINVAL;
	if (!ia)
		return -EINVAL;
	switch (kind) {
	case DAT_MAP_DOORBELL:
		return id ? -EINVAL : dat_region_map(vma, &file->doorbell);
	case DAT_MAP_SUBMIT:
		return dat_pool_map(&ia->submit_pool, id, vma);
	case DAT_MAP_STATUS:
		return dat_pool_map(&ia->status_pool, id, vma);
	default:
		return -EINVAL;
	}
}
