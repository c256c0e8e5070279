/* SPDX-License-Identifier: GPL-2.0 */
/* Pages that the driver shares with a process; for both modules. */
#ifndef _DAT_REGION_H
#define _DAT_REGION_H

#include <linux/mm_types.h>

/**
 * struct dat_region - pages that a process can map
 * @pages: each held once here and once per mapping
 * @npages: of them
 * @va: the kernel's mapping
 * @writable: the process may map it for writing
 */
struct dat_region {
	struct page	**pages;
	unsigned int	npages;
	void		*va;
	bool		writable;
};

/**
 * dat_region_alloc() - allocate pages to share
 * @r: result, zeroed
 * @size: bytes, not 0; rounded up to whole pages
 * @writable: a process may map them for writing
 *
 * The pages are zeroed, and charged to the memory cgroup of the caller.
 *
 * Context: may sleep.  Return: 0, -ENOMEM.
 */
int dat_region_alloc(struct dat_region *r, size_t size, bool writable);

/**
 * dat_region_free() - free the pages
 * @r: allocated, or zeroed
 *
 * A process that still maps the pages keeps them by its own references.
 *
 * Context: may sleep.
 */
void dat_region_free(struct dat_region *r);

#endif /* _DAT_REGION_H */
