// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Conversion of memory from a kernel consumer's description to the pages or DMA addresses that the
 * core takes, for each DAT memory type.
 *
 * Segments address virtual memory by the kernel virtual address.  For other memory that consists of
 * pages, the address of byte n of the region is the physical address of the first byte, plus n.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/dat.h"
#include "core/mem/lmr.h"
#include "kdapl/kdapl.h"
#include "kdapl/region.h"

static int pages_alloc(struct kdat_pages *l, u64 offset, u64 length)
{
	l->offset = offset;
	l->n = DIV_ROUND_UP_ULL(offset + length, PAGE_SIZE);
	l->page = kvmalloc_array(l->n, sizeof(*l->page), GFP_KERNEL | __GFP_NOWARN);
	return l->page ? 0 : -ENOMEM;
}

/* Returns the struct page of a kernel virtual address, or NULL if no struct page exists. */
static struct page *va_page(unsigned long va)
{
	struct page *page;

	if (virt_addr_valid((void *)va))
		return virt_to_page((void *)va);
	page = dat_is_vmalloc_or_module(va) ? vmalloc_to_page((void *)va) : NULL;
	/* The address may map device registers, for which no struct page exists. */
	return page && pfn_valid(page_to_pfn(page)) ? page : NULL;
}

static int virtual_pages(const DAT_REGION_DESCRIPTION *region, u64 length, struct kdat_pages *l)
{
	unsigned long va = (unsigned long)region->for_va;
	u32 i;
	int ret;

	if (!va || va + length < va)
		return -EINVAL;
	ret = pages_alloc(l, offset_in_page(va), length);
	for (i = 0; !ret && i < l->n; i++) {
		l->page[i] = va_page((va & PAGE_MASK) + i * PAGE_SIZE);
		if (!l->page[i])
			ret = -EINVAL;
	}
	return ret;
}

/*
 * Returns the struct page of a physical address, or NULL if @addr is not aligned to @page_size or
 * the memory has no struct page.
 */
static struct page *phys_page(u64 addr, u64 page_size)
{
	u64 last = addr + page_size - 1;

	if (addr & (page_size - 1) || !pfn_valid(PHYS_PFN(addr)) || !pfn_valid(PHYS_PFN(last)))
		return NULL;
	return pfn_to_page(PHYS_PFN(addr));
}

static int sized_pages(const DAT_PADDR *addr, u64 page_size, u64 length, struct kdat_pages *l)
{
	u32 per = page_size >> PAGE_SHIFT, i;
	struct page *page = NULL;
	int ret;

	if (!addr)
		return -EINVAL;
	ret = pages_alloc(l, 0, length);
	for (i = 0; !ret && i < l->n; i++) {
		if (i % per == 0)
			page = phys_page(addr[i / per], page_size);
		if (!page)
			ret = -EINVAL;
		else
			l->page[i] = nth_page(page, i % per);
	}
	return ret;
}

static int physical_pages(const DAT_REGION_DESCRIPTION *region, u64 length,
			  struct kdat_pages *l)
{
	return sized_pages(region->for_physical, PAGE_SIZE, length, l);
}

static bool page_size_good(u64 size)
{
	return is_power_of_2(size) && size >= PAGE_SIZE && size <= SZ_1G;
}

static int var_pages(const DAT_REGION_DESCRIPTION *region, u64 length, struct kdat_pages *l)
{
	if (!page_size_good(region->for_array.page_size))
		return -EINVAL;
	return sized_pages(region->for_array.pages, region->for_array.page_size, length, l);
}

/* Iterator over the pieces of a DAT_PLATFORM_MEMORY. */
struct sg_walk {
	struct scatterlist	*sg;		/* next entry */
	unsigned int		left;		/* number of entries from @sg on */
	u64			skip;		/* number of bytes from @sg to the region */
	struct page		*page;		/* first page of the current piece */
	u32			offset;		/* offset of the current piece in @page */
	u32			length;		/* length of the current piece in bytes */
};

static bool sg_walk_begin(struct sg_walk *w, const DAT_PLATFORM_MEMORY *mem)
{
	if (!mem)
		return false;
	*w = (struct sg_walk) { .sg = mem->sg, .left = mem->nents, .skip = mem->offset };
	return true;
}

static bool sg_walk_next(struct sg_walk *w)
{
	struct scatterlist *sg;

	while (w->left && w->sg) {
		sg = w->sg;
		w->left--;
		w->sg = sg_next(sg);
		if (w->skip >= sg->length) {
			w->skip -= sg->length;
			continue;
		}
		w->offset = sg->offset + w->skip;
		w->length = sg->length - w->skip;
		w->page = nth_page(sg_page(sg), w->offset >> PAGE_SHIFT);
		w->offset = offset_in_page(w->offset);
		w->skip = 0;
		return true;
	}
	return false;
}

static int platform_pages(const DAT_REGION_DESCRIPTION *region, u64 length,
			  struct kdat_pages *l)
{
	u64 left = length, len;
	u32 at = 0, i, n;
	struct sg_walk w;
	int ret;

	if (!sg_walk_begin(&w, region->for_platform) || !sg_walk_next(&w))
		return -EINVAL;
	ret = pages_alloc(l, w.offset, length);
	if (ret)
		return ret;
	for (;;) {
		len = min_t(u64, w.length, left);
		left -= len;
		/* The region must have no holes, so pieces must meet at page boundaries. */
		if ((at && w.offset) || (left && offset_in_page(w.offset + len)))
			return -EINVAL;
		n = DIV_ROUND_UP_ULL(w.offset + len, PAGE_SIZE);
		for (i = 0; i < n; i++)
			l->page[at++] = nth_page(w.page, i);
		if (!left)
			return 0;
		if (!sg_walk_next(&w))
			return -EINVAL;
	}
}

static int fill_sized(const DAT_PADDR *addr, u64 page_size, u32 n, struct scatterlist *sg,
		      u32 max)
{
	struct page *page;
	u32 i;

	if (!addr)
		return -EINVAL;
	if (n > max)
		return -E2BIG;
	for (i = 0; i < n; i++) {
		page = phys_page(addr[i], page_size);
		if (!page)
			return -EINVAL;
		sg_set_page(&sg[i], page, page_size, 0);
	}
	return n;
}

static int physical_fill(const DAT_REGION_DESCRIPTION *region, u32 n, struct scatterlist *sg,
			 u32 max)
{
	return fill_sized(region->for_physical, PAGE_SIZE, n, sg, max);
}

static int var_fill(const DAT_REGION_DESCRIPTION *region, u32 n, struct scatterlist *sg, u32 max)
{
	if (!page_size_good(region->for_array.page_size))
		return -EINVAL;
	return fill_sized(region->for_array.pages, region->for_array.page_size, n, sg, max);
}

/*
 * Fills in entries for the whole region, and returns the number of entries.  Fails with -EINVAL if
 * the region is missing or empty, or with -E2BIG if the region has more than @n pages or needs more
 * than @max entries.
 */
static int platform_fill(const DAT_REGION_DESCRIPTION *region, u32 n, struct scatterlist *sg,
			 u32 max)
{
	u64 pages = 0;
	struct sg_walk w;
	u32 used = 0;

	if (!sg_walk_begin(&w, region->for_platform))
		return -EINVAL;
	while (sg_walk_next(&w)) {
		pages += DIV_ROUND_UP_ULL((u64)w.offset + w.length, PAGE_SIZE);
		if (pages > n || used == max)
			return -E2BIG;
		sg_set_page(&sg[used++], w.page, w.length, w.offset);
	}
	return used ?: -EINVAL;
}

static const struct kdat_mem_kind mem_kinds[] = {
	{ DAT_MEM_TYPE_VIRTUAL,			virtual_pages },
	{ DAT_MEM_TYPE_PHYSICAL,		physical_pages,	physical_fill },
	{ DAT_MEM_TYPE_PHYSICAL_VAR_PAGES,	var_pages,	var_fill },
	{ DAT_MEM_TYPE_PLATFORM,		platform_pages,	platform_fill },
	/* These types list no pages: LMR names another LMR, and BYPASS has DMA addresses. */
	{ DAT_MEM_TYPE_LMR },
	{ DAT_MEM_TYPE_BYPASS },
};

const struct kdat_mem_kind *kdat_mem_kind(DAT_MEM_TYPE type)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mem_kinds); i++)
		if (mem_kinds[i].type == type)
			return &mem_kinds[i];
	return NULL;
}

/*
 * Returns the error for a type that is not in mem_kinds.  DAT_MEM_TYPE_IA is a valid type but not
 * supported, because verbs offers kernel consumers no adapter memory.
 */
DAT_RETURN kdat_unknown_kind(DAT_MEM_TYPE type)
{
	return type == DAT_MEM_TYPE_IA ? KDAT_NOT_SUPPORTED : KDAT_ARG(2);
}

/* Returns the memory types for lmr_mem_types_supported of dat_ia_query(). */
DAT_MEM_TYPE kdat_mem_types(void)
{
	u32 types = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mem_kinds); i++)
		types |= mem_kinds[i].type;
	return types;
}

static struct dat_kmem *kmem_of_pages(const struct dat_dev *dev, const struct kdat_mem_kind *kind,
				      const struct kdat_region *r, u64 *start)
{
	struct kdat_pages l = {};
	struct dat_kmem *mem;
	int ret;

	ret = kind->pages(&r->memory, r->length, &l);
	mem = ERR_PTR(ret);
	if (!ret) {
		*start = r->type == DAT_MEM_TYPE_VIRTUAL ? (uintptr_t)r->memory.for_va :
			 page_to_phys(l.page[0]) + l.offset;
		mem = dat_kmem_of_pages(dev, l.page, l.n, l.offset, r->length);
	}
	kvfree(l.page);
	return mem;
}

static struct dat_kmem *kmem_of_dma(const struct kdat_region *r, u64 *start)
{
	const DAT_PLATFORM_MEMORY *p = r->memory.for_platform;
	struct dat_kmem *mem;

	if (!p || !p->nents)
		return ERR_PTR(-EINVAL);
	mem = dat_kmem_of_dma(p->sg, p->nents, p->offset, r->length);
	if (!IS_ERR(mem))
		*start = sg_dma_address(mem->sgt.sgl);
	return mem;
}

DAT_RETURN kdat_va_type_check(DAT_VA_TYPE va_type, DAT_RETURN bad)
{
	if (va_type == DAT_VA_TYPE_ZB)
		return KDAT_NOT_SUPPORTED;
	return va_type == DAT_VA_TYPE_VA ? DAT_SUCCESS : bad;
}

/*
 * Lists the pages or DMA addresses of a region.  The type of the region is not DAT_MEM_TYPE_LMR.
 * Sets *@start to the address that segments use for the first byte.  May sleep.  The caller frees
 * the returned list by dat_kmem_free(), or passes the list to an LMR.  kdat_mem_error() converts
 * the errno after a failure.
 */
struct dat_kmem *kdat_region_mem(const struct dat_dev *dev, const struct kdat_region *r,
				 u64 *start)
{
	const struct kdat_mem_kind *kind = kdat_mem_kind(r->type);

	return kind->pages ? kmem_of_pages(dev, kind, r, start) : kmem_of_dma(r, start);
}
