/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Pages that the driver shares with a process.  dat.ko and dat_rsm.ko use this header. */
#ifndef _DAT_REGION_H
#define _DAT_REGION_H

#include <linux/mm_types.h>

/* Pages that a process can map.  The region and each mapping hold references to the pages. */
struct dat_region {
	struct page	**pages;
	unsigned int	npages;
	void		*va;		/* the kernel's mapping */
	bool		writable;	/* a process may map the region for writing */
};

/*
 * @r is zeroed.  The pages are zeroed, and charged to the memory cgroup of the caller.  May sleep.
 */
int dat_region_alloc(struct dat_region *r, size_t size, bool writable);

/* The pages stay allocated while a process maps them.  May sleep. */
void dat_region_free(struct dat_region *r);

/*
 * Maps all pages of @r.  Context: mmap_lock held.  Fails with -EINVAL if the length differs or the
 * mapping is private, with -EPERM if it is executable, or writable while the region is not.
 */
int dat_region_map(struct vm_area_struct *vma, struct dat_region *r);

/* An mmap() offset, in pages: the object's id above these bits, the kind of region in them. */
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
