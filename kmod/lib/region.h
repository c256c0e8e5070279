/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Pages that the driver shares with a process.  dat.ko and dat_rsm.ko use this header. */
#ifndef _DAT_REGION_H
#define _DAT_REGION_H

#include <linux/mm_types.h>

/**
 * struct dat_region - pages that a process can map
 * @pages: pages of the region; the region holds one reference to each page, and each mapping
 *	another
 * @npages: number of @pages
 * @va: address at which the kernel has mapped the pages
 * @writable: true if a process may map the region for writing
 */
struct dat_region {
	struct page	**pages;
	unsigned int	npages;
	void		*va;
	bool		writable;
};

/**
 * dat_region_alloc() - allocate pages to share
 * @r: region to fill in; zeroed by the caller
 * @size: number of bytes, not 0; rounded up to whole pages
 * @writable: true if a process may map the region for writing
 *
 * The pages are zeroed.  The memory cgroup of the caller is charged for the pages.
 *
 * Context: may sleep.  Return: 0, -ENOMEM.
 */
int dat_region_alloc(struct dat_region *r, size_t size, bool writable);

/**
 * dat_region_free() - free the pages of a region
 * @r: allocated or zeroed region
 *
 * The pages stay allocated while a process maps them, because the mapping holds references.
 *
 * Context: may sleep.
 */
void dat_region_free(struct dat_region *r);

/**
 * dat_region_map() - map all pages of a region
 * @vma: VMA of the new mapping; must be shared and as long as the region
 * @r: allocated region
 *
 * The mapping holds a reference to each page, so the mapping may outlive the region.
 *
 * Context: mmap_lock held.  Return: 0; -EINVAL if the length differs or the mapping is private;
 * -EPERM if the mapping is executable, or if the mapping is writable and the region is not;
 * -ENOMEM.
 */
int dat_region_map(struct vm_area_struct *vma, struct dat_region *r);

/* An mmap() offset in pages has the kind of region in these low bits, and the object's id above. */
#define DAT_REGION_KIND_BITS	8

static inline u64 dat_mmap_place(u32 id, unsigned int kind)
{
	return ((u64)id << DAT_REGION_KIND_BITS | kind) << PAGE_SHIFT;
}

static inline u64 dat_mmap_size(const struct dat_region *r)
{
	return (u64)r->npages << PAGE_SHIFT;
}

#endif /* _DAT_REGION_H */
