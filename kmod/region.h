/* SPDX-License-Identifier: GPL-2.0 */
/* Pages that the driver shares with a process.  Both modules use them. */
#ifndef _DAT_REGION_H
#define _DAT_REGION_H

#include <linux/mm_types.h>

/**
 * struct dat_region - pages that a process can map
 * @pages: pages, each with one reference here and one per mapping
 * @npages: number of @pages
 * @va: address of the kernel's mapping
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
 * @r: result, zeroed by the caller
 * @size: number of bytes, not 0; rounded up to whole pages
 * @writable: true if a process may map the region for writing
 *
 * The pages are zeroed, and charged to the memory cgroup of the caller.
 *
 * Context: may sleep.  Return: 0, -ENOMEM.
 */
int dat_region_alloc(struct dat_region *r, size_t size, bool writable);

/**
 * dat_region_free() - free the pages of a region
 * @r: allocated or zeroed region
 *
 * A process that still maps the pages keeps them by its own references.
 *
 * Context: may sleep.
 */
void dat_region_free(struct dat_region *r);

/**
 * dat_region_map() - map all pages of a region
 * @vma: mapping, which must be shared and as long as the region
 * @r: allocated region
 *
 * The mapping references each page, so it may outlive the region.
 *
 * Context: under mmap_lock.  Return: 0; -EINVAL if the length differs or the mapping is private;
 * -EPERM if the mapping is executable, or writable and the region is not; -ENOMEM.
 */
int dat_region_map(struct vm_area_struct *vma, struct dat_region *r);

/* An offset for mmap() encodes the id of an object and a kind of region, in units of pages. */
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
