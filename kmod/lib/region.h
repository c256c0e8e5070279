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
	void		*va;		/* kernel address of the pages */
	bool		writable;	/* a process may map the region for writing */
};

/*
 * Allocates zeroed pages for @r, which the caller has zeroed.  The pages are charged to the
 * caller's memory cgroup.  May sleep.  Fails with -ENOMEM.
 */
int dat_region_alloc(struct dat_region *r, size_t size, bool writable);

/* Frees a region, which may be empty.  A page stays allocated while it is mapped.  May sleep. */
void dat_region_free(struct dat_region *r);

/*
 * Maps all pages of @r into a process.  Context: mmap_lock held.  Fails with -EINVAL if @vma is
 * private or differs from @r in length; with -EPERM if @vma is executable, or if @vma is writable
 * and @r is not; or with an error of vm_insert_pages().
 */
int dat_region_map(struct vm_area_struct *vma, struct dat_region *r);

/* Number of low bits of an mmap() page offset that hold the kind of mapping; the rest is the id. */
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
