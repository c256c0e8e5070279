// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Pages that the driver shares with a process. */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "lib/region.h"

/* Largest region in contiguous pages, which need no page tables of their own in the kernel. */
#define CONTIGUOUS	SZ_64K

/* Allocates @n contiguous pages, if that is easy. */
static bool region_alloc_contiguous(struct dat_region *r, unsigned int n)
{
	unsigned int i;

	if (n > CONTIGUOUS / PAGE_SIZE)
		return false;
	r->va = alloc_pages_exact(n * PAGE_SIZE, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NORETRY |
						 __GFP_NOWARN);
	if (!r->va)
		return false;
	for (i = 0; i < n; i++)
		r->pages[i] = virt_to_page(r->va + i * PAGE_SIZE);
	return true;
}

int dat_region_alloc(struct dat_region *r, size_t size, bool writable)
{
	unsigned int n = DIV_ROUND_UP(size, PAGE_SIZE);
	unsigned int i = 0;

	r->pages = kvcalloc(n, sizeof(*r->pages), GFP_KERNEL_ACCOUNT);
	if (!r->pages)
		return -ENOMEM;
	if (region_alloc_contiguous(r, n))
		goto out;
	for (; i < n; i++) {
		r->pages[i] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!r->pages[i])
			goto err_free_pages;
	}
	r->va = vmap(r->pages, n, VM_MAP, PAGE_KERNEL);
	if (!r->va)
		goto err_free_pages;
out:
	r->npages = n;
	r->writable = writable;
	return 0;

err_free_pages:
	while (i--)
		put_page(r->pages[i]);
	kvfree(r->pages);
	r->pages = NULL;
	return -ENOMEM;
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_region_alloc);

void dat_region_free(struct dat_region *r)
{
	unsigned int i;

	if (!r->pages)
		return;
	if (is_vmalloc_addr(r->va))
		vunmap(r->va);
	/* A mapping holds references of its own, so it may outlive the region. */
	for (i = 0; i < r->npages; i++)
		put_page(r->pages[i]);
	kvfree(r->pages);
	r->pages = NULL;
	r->npages = 0;
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_region_free);

int dat_region_map(struct vm_area_struct *vma, struct dat_region *r)
{
	unsigned long n = r->npages, clear = VM_MAYEXEC;

	/* Do not check VM_SHARED, which mmap() clears if the file is open for reading only. */
	if (!(vma->vm_flags & VM_MAYSHARE) || vma_pages(vma) != n)
		return -EINVAL;
	if (!r->writable && vma->vm_flags & VM_WRITE)
		return -EPERM;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	/* Keep mprotect() from adding the refused permissions later. */
	if (!r->writable)
		clear |= VM_MAYWRITE;
	/* With VM_IO, madvise(MADV_DOFORK) cannot undo VM_DONTCOPY. */
	dat_vm_flags_mod(vma, VM_IO | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, clear);
	/* The mapping takes a reference to each page, so the mapping may outlive the region. */
	return vm_insert_pages(vma, vma->vm_start, r->pages, &n);
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_region_map);
