// SPDX-License-Identifier: GPL-2.0
/*
 * LMRs of kernel consumers.  Each DAT memory type is converted to the pages or DMA addresses that
 * the core takes.
 *
 * Pages without a kernel address are named by physical addresses: the first byte by its own
 * address, the others by their distance from it.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/dat.h"
#include "core/ep.h"
#include "core/lmr.h"
#include "core/queue.h"
#include "core/xport.h"
#include "kdapl/kdapl.h"

#define RESERVED_LMR	KDAT_ERR(DAT_RESERVED_LMR, DAT_NO_SUBTYPE)
#define NOT_SUPPORTED	KDAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)
#define REGISTRATIONS	KDAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION)

#define OPTIMIZE_ALL	(DAT_MEM_OPTIMIZE_IA | DAT_MEM_OPTIMIZE_MIN_EXPOSURE |	\
			 DAT_MEM_OPTIMIZE_EXACT_EXPOSURE)
#define EXPOSURE	(DAT_MEM_OPTIMIZE_MIN_EXPOSURE | DAT_MEM_OPTIMIZE_EXACT_EXPOSURE)

#define FMR_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG)
#define INV_FLAGS	(FMR_FLAGS | DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG)

/**
 * struct page_list - memory as pages
 * @page: pages; freed by kvfree()
 * @n: number of pages
 * @offset: offset of the first byte in the first page
 */
struct page_list {
	struct page	**page;
	u32		n;
	u32		offset;
};

static int pages_alloc(struct page_list *l, u64 offset, u64 length)
{
	l->offset = offset;
	l->n = DIV_ROUND_UP_ULL(offset + length, PAGE_SIZE);
	l->page = kvmalloc_array(l->n, sizeof(*l->page), GFP_KERNEL | __GFP_NOWARN);
	return l->page ? 0 : -ENOMEM;
}

static bool is_mapped(unsigned long va)
{
#ifdef MODULES_VADDR
	if (va >= MODULES_VADDR && va < MODULES_END)
		return true;
#endif
	return is_vmalloc_addr((void *)va);
}

/* Returns the page at a kernel address, or NULL. */
static struct page *va_page(unsigned long va)
{
	struct page *page;

	if (virt_addr_valid((void *)va))
		return virt_to_page((void *)va);
	page = is_mapped(va) ? vmalloc_to_page((void *)va) : NULL;
	/* The address may map device registers, which have no page. */
	return page && pfn_valid(page_to_pfn(page)) ? page : NULL;
}

static int virtual_pages(const DAT_REGION_DESCRIPTION *region, u64 length, struct page_list *l)
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

/* Returns the first PAGE_SIZE page of the page at a physical address, or NULL. */
static struct page *phys_page(u64 addr, u64 page_size)
{
	u64 last = addr + page_size - 1;

	if (addr & (page_size - 1) || !pfn_valid(PHYS_PFN(addr)) || !pfn_valid(PHYS_PFN(last)))
		return NULL;
	return pfn_to_page(PHYS_PFN(addr));
}

static int sized_pages(const DAT_PADDR *addr, u64 page_size, u64 length, struct page_list *l)
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
			  struct page_list *l)
{
	return sized_pages(region->for_physical, PAGE_SIZE, length, l);
}

static bool page_size_good(u64 size)
{
	return is_power_of_2(size) && size >= PAGE_SIZE && size <= SZ_1G;
}

static int var_pages(const DAT_REGION_DESCRIPTION *region, u64 length, struct page_list *l)
{
	if (!page_size_good(region->for_array.page_size))
		return -EINVAL;
	return sized_pages(region->for_array.pages, region->for_array.page_size, length, l);
}

/**
 * struct sg_walk - iterator over the pieces of a DAT_PLATFORM_MEMORY
 * @sg: next entry
 * @left: number of entries left
 * @skip: bytes before the first piece
 * @page: page of the present piece
 * @offset: offset of its first byte from the start of @page, possibly beyond @page
 * @length: bytes of the present piece
 */
struct sg_walk {
	struct scatterlist	*sg;
	unsigned int		left;
	u64			skip;
	struct page		*page;
	u32			offset;
	u32			length;
};

static bool sg_walk_begin(struct sg_walk *w, const DAT_PLATFORM_MEMORY *mem)
{
	if (!mem || !mem->sg)
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
			  struct page_list *l)
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
		/* Pieces must meet at page boundaries. */
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

/* Fills in at most @max scatterlist entries.  Returns their number, or -E2BIG if there are more. */
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

/* The whole list from its offset on, which may not have more than @n pages. */
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

/**
 * struct mem_kind - a kind of memory
 * @type: DAT memory type
 * @pages: list the pages of @length bytes; return 0, -EINVAL if the memory is invalid, or -ENOMEM;
 *	the caller frees the list, also after an error
 * @fill: enter @n pages into a scatterlist with room for @max entries, for an allocated LMR;
 *	return the number of entries or an error; optional
 */
struct mem_kind {
	DAT_MEM_TYPE	type;
	int		(*pages)(const DAT_REGION_DESCRIPTION *region, u64 length,
				 struct page_list *l);
	int		(*fill)(const DAT_REGION_DESCRIPTION *region, u32 n,
				struct scatterlist *sg, u32 max);
};

static const struct mem_kind mem_kinds[] = {
	{ DAT_MEM_TYPE_VIRTUAL,			virtual_pages },
	{ DAT_MEM_TYPE_PHYSICAL,		physical_pages,	physical_fill },
	{ DAT_MEM_TYPE_PHYSICAL_VAR_PAGES,	var_pages,	var_fill },
	{ DAT_MEM_TYPE_PLATFORM,		platform_pages,	platform_fill },
	/* The other types have no pages: another LMR, and DMA addresses. */
	{ DAT_MEM_TYPE_LMR },
	{ DAT_MEM_TYPE_BYPASS },
};

static const struct mem_kind *find_kind(DAT_MEM_TYPE type)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mem_kinds); i++)
		if (mem_kinds[i].type == type)
			return &mem_kinds[i];
	return NULL;
}

/* Verbs gives kernel consumers no adapter memory, so there is none to register. */
static DAT_RETURN unknown_kind(DAT_MEM_TYPE type)
{
	return type == DAT_MEM_TYPE_IA ? NOT_SUPPORTED : KDAT_ARG(2);
}

/* Memory types for lmr_mem_types_supported. */
DAT_MEM_TYPE kdat_mem_types(void)
{
	u32 types = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mem_kinds); i++)
		types |= mem_kinds[i].type;
	return types;
}

/* Returns the DAT error for the memory, which is the third argument of kcreate and of fmr. */
static DAT_RETURN mem_error(int err)
{
	if (err == -EINVAL)
		return KDAT_ARG(3);
	if (err == -E2BIG || err == -ENOMEM)
		return REGISTRATIONS;
	return kdat_error(err);
}

/**
 * struct region - arguments of dat_lmr_kcreate()
 * @type: DAT memory type
 * @memory: description by the consumer
 * @length: bytes
 * @priv: DAT_MEM_PRIV_* bits
 */
struct region {
	DAT_MEM_TYPE		type;
	DAT_REGION_DESCRIPTION	memory;
	u64			length;
	u32			priv;
};

static u64 region_start(const struct region *r, const struct page_list *l)
{
	if (r->type == DAT_MEM_TYPE_VIRTUAL)
		return (uintptr_t)r->memory.for_va;
	return page_to_phys(l->page[0]) + l->offset;
}

static struct dat_kmem *kmem_of_pages(const struct dat_dev *dev, const struct mem_kind *kind,
				      const struct region *r, u64 *start)
{
	struct page_list l = {};
	struct dat_kmem *mem;
	int ret;

	ret = kind->pages(&r->memory, r->length, &l);
	mem = ERR_PTR(ret);
	if (!ret) {
		*start = region_start(r, &l);
		mem = dat_kmem_of_pages(dev, l.page, l.n, l.offset, r->length);
	}
	kvfree(l.page);
	return mem;
}

static struct dat_kmem *kmem_of_dma(const struct region *r, u64 *start)
{
	const DAT_PLATFORM_MEMORY *p = r->memory.for_platform;
	struct dat_kmem *mem;

	if (!p || !p->sg || !p->nents)
		return ERR_PTR(-EINVAL);
	mem = dat_kmem_of_dma(p->sg, p->nents, p->offset, r->length);
	if (!IS_ERR(mem))
		*start = sg_dma_address(mem->sgt.sgl);
	return mem;
}

static DAT_RETURN lmr_make(struct dat_pz *pz, const struct region *r, struct dat_kmem *mem,
			   u64 start, struct dat_lmr **out)
{
	struct kdat_lmr *klmr = kzalloc(sizeof(*klmr), GFP_KERNEL);
	struct dat_lmr *lmr;

	if (!klmr) {
		dat_kmem_free(mem, pz->obj.ia->dev);
		return kdat_error(-ENOMEM);
	}
	mutex_init(&klmr->lock);
	klmr->mem_type = r->type;
	klmr->region = r->memory;
	klmr->length = r->length;
	lmr = dat_lmr_create_kmem(pz, mem, start, r->length, r->priv, (uintptr_t)klmr);
	if (IS_ERR(lmr)) {
		kfree(klmr);
		return mem_error(PTR_ERR(lmr));
	}
	*out = lmr;
	return DAT_SUCCESS;
}

/* Makes an LMR of pages or DMA addresses. */
static DAT_RETURN create_new(struct dat_pz *pz, struct region *r, struct dat_lmr **out)
{
	const struct mem_kind *kind = find_kind(r->type);
	struct dat_kmem *mem;
	u64 start = 0;

	mem = kind->pages ? kmem_of_pages(pz->obj.ia->dev, kind, r, &start) :
			    kmem_of_dma(r, &start);
	return IS_ERR(mem) ? mem_error(PTR_ERR(mem)) : lmr_make(pz, r, mem, start, out);
}

static DAT_RETURN create_clone(struct dat_pz *pz, struct region *r, struct dat_lmr *of,
			       struct dat_lmr **out)
{
	struct dat_kmem *mem;

	/* The memory of an allocated LMR may be invalidated at any time. */
	if (of->fmr)
		return KDAT_ARG(3);
	/* Only the reserved LMR has no memory; ia->reserved may not be set yet. */
	if (!of->mem)
		return RESERVED_LMR;
	r->length = of->length;
	mem = dat_kmem_clone(of->mem);
	return IS_ERR(mem) ? mem_error(PTR_ERR(mem)) : lmr_make(pz, r, mem, of->start, out);
}

/* Makes an LMR of another LMR's memory; the other LMR stays during the call. */
static DAT_RETURN create_of_lmr(struct dat_pz *pz, struct region *r, struct dat_lmr **out)
{
	struct dat_lmr *of = kdat_get_in(pz->obj.ia, r->memory.for_lmr_handle,
					 DAT_HANDLE_TYPE_LMR);
	DAT_RETURN rc = KDAT_BAD(LMR);

	if (IS_ERR(of))
		return rc;
	if (!dat_obj_use(&of->obj)) {
		rc = create_clone(pz, r, of, out);
		dat_obj_unuse(&of->obj);
	}
	dat_obj_put(&of->obj);
	return rc;
}

static DAT_RETURN va_type_check(DAT_VA_TYPE va_type, DAT_RETURN bad)
{
	if (va_type == DAT_VA_TYPE_ZB)
		return NOT_SUPPORTED;
	return va_type == DAT_VA_TYPE_VA ? DAT_SUCCESS : bad;
}

static DAT_RETURN kcreate_check(const struct region *r, DAT_VA_TYPE va_type,
				DAT_MEM_OPTIMIZE_FLAGS mem_opt, const DAT_LMR_HANDLE *lmr)
{
	if (!find_kind(r->type))
		return unknown_kind(r->type);
	if (r->type != DAT_MEM_TYPE_LMR && (!r->length || r->length > U32_MAX))
		return KDAT_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (r->priv & ~DAT_MEM_PRIV_ALL_FLAG)
		return KDAT_ARG(6);
	if (mem_opt & ~OPTIMIZE_ALL)
		return KDAT_ARG(8);
	return lmr ? va_type_check(va_type, KDAT_ARG(7)) : KDAT_ARG(9);
}

static DAT_RETURN kcreate(struct dat_ia *ia, DAT_PZ_HANDLE pz_handle, struct region *r,
			  struct dat_lmr **out)
{
	struct dat_pz *pz = kdat_get_in(ia, pz_handle, DAT_HANDLE_TYPE_PZ);
	DAT_RETURN rc;

	if (IS_ERR(pz))
		return KDAT_BAD(PZ);
	if (r->type == DAT_MEM_TYPE_LMR)
		rc = create_of_lmr(pz, r, out);
	else
		rc = create_new(pz, r, out);
	dat_obj_put(&pz->obj);
	return rc;
}

DAT_RETURN kdat_lmr_kcreate(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			    DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			    DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
			    DAT_VA_TYPE va_type, DAT_MEM_OPTIMIZE_FLAGS mem_opt,
			    DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			    DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			    DAT_VADDR *registered_address)
{
	struct region r = {
		.type = mem_type, .memory = region_description, .length = length,
		.priv = privileges,
	};
	struct kdat_ia *kia;
	struct dat_lmr *lmr;
	DAT_RETURN rc;

	rc = kcreate_check(&r, va_type, mem_opt, lmr_handle);
	if (rc != DAT_SUCCESS)
		return rc;
	kia = kdat_ia_get(ia_handle);
	if (IS_ERR(kia))
		return kdat_lookup_error(PTR_ERR(kia), KDAT_BAD(IA));
	rc = kcreate(kia->ia, pz_handle, &r, &lmr);
	if (rc == DAT_SUCCESS) {
		*lmr_handle = kdat_handle(&lmr->obj);
		if (lmr_context)
			*lmr_context = lmr->context;
		if (rmr_context)
			*rmr_context = lmr->rkey;
		if (registered_length)
			*registered_length = lmr->length;
		if (registered_address)
			*registered_address = lmr->start;
		dat_obj_put(&lmr->obj);
	}
	kdat_ia_done(kia);
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_lmr_kcreate);

DAT_RETURN kdat_ia_memtype_hint(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
				DAT_VLEN length, DAT_MEM_OPTIMIZE_FLAGS mem_opt,
				DAT_VLEN *preferred_length, DAT_VADDR *preferred_alignment)
{
	const struct dat_limits *limits;
	struct kdat_ia *kia;
	u64 most;

	if (!find_kind(mem_type))
		return unknown_kind(mem_type);
	if (!length)
		return KDAT_ARG(3);
	if (mem_opt & ~OPTIMIZE_ALL)
		return KDAT_ARG(4);
	if (!preferred_length)
		return KDAT_ARG(5);
	if (!preferred_alignment)
		return KDAT_ARG(6);
	kia = kdat_ia_get(ia_handle);
	if (IS_ERR(kia))
		return kdat_lookup_error(PTR_ERR(kia), KDAT_BAD(IA));
	/* Assume that no two pages are contiguous, so that each takes an entry. */
	limits = &kia->ia->dev->limits;
	most = (u64)max(limits->fast_reg_pages, 1U) * PAGE_SIZE;
	most = min3(most, limits->max_mr_size, (u64)U32_MAX);
	kdat_ia_done(kia);
	/* Registrations are exact to the byte, so page alignment only saves list entries. */
	*preferred_alignment = mem_opt & EXPOSURE ? 1 : PAGE_SIZE;
	*preferred_length = min(mem_opt & EXPOSURE ? length : PAGE_ALIGN(min(length, most)), most);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_ia_memtype_hint);

/* Makes the reserved LMR, unless another thread is faster. */
static int ia_reserve(struct dat_ia *ia)
{
	struct kdat_lmr *klmr = kzalloc(sizeof(*klmr), GFP_KERNEL);
	struct dat_lmr *lmr;

	if (!klmr)
		return -ENOMEM;
	mutex_init(&klmr->lock);
	klmr->mem_type = DAT_MEM_TYPE_BYPASS;
	klmr->length = U64_MAX;
	lmr = dat_lmr_create_reserved(ia, (uintptr_t)klmr);
	if (IS_ERR(lmr)) {
		kfree(klmr);
		return PTR_ERR(lmr);
	}
	/* The object table holds a reference until the IA is closed. */
	if (cmpxchg(&ia->reserved, NULL, lmr))
		dat_obj_free(&lmr->obj);
	dat_obj_put(&lmr->obj);
	return 0;
}

DAT_RETURN kdat_ia_reserved_lmr(DAT_IA_HANDLE ia_handle, DAT_LMR_HANDLE *lmr,
				DAT_LMR_CONTEXT *lmr_context)
{
	struct kdat_ia *kia;
	struct dat_lmr *reserved;
	int ret = 0;

	if (!lmr)
		return KDAT_ARG(2);
	if (!lmr_context)
		return KDAT_ARG(3);
	kia = kdat_ia_get(ia_handle);
	if (IS_ERR(kia))
		return kdat_lookup_error(PTR_ERR(kia), KDAT_BAD(IA));
	if (!READ_ONCE(kia->ia->reserved))
		ret = ia_reserve(kia->ia);
	if (!ret) {
		reserved = READ_ONCE(kia->ia->reserved);
		*lmr = kdat_handle(&reserved->obj);
		*lmr_context = reserved->context;
	}
	kdat_ia_done(kia);
	return ret ? kdat_error(ret) : DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_ia_reserved_lmr);

static DAT_RETURN allocate(struct dat_pz *pz, u32 max_pages, DAT_LMR_HANDLE *out)
{
	struct kdat_lmr *klmr = kzalloc(sizeof(*klmr), GFP_KERNEL);
	struct dat_lmr *lmr;

	if (!klmr)
		return kdat_error(-ENOMEM);
	mutex_init(&klmr->lock);
	lmr = dat_lmr_create_fmr(pz, max_pages, (uintptr_t)klmr);
	if (IS_ERR(lmr)) {
		kfree(klmr);
		return mem_error(PTR_ERR(lmr));
	}
	*out = kdat_handle(&lmr->obj);
	dat_obj_put(&lmr->obj);
	return DAT_SUCCESS;
}

DAT_RETURN kdat_lmr_allocate(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			     DAT_COUNT max_pages, DAT_LMR_SCOPE scope,
			     DAT_LMR_HANDLE *lmr_handle)
{
	struct kdat_ia *kia;
	struct dat_pz *pz;
	DAT_RETURN rc;

	if (max_pages <= 0)
		return KDAT_ARG(3);
	if (scope == DAT_LMR_SCOPE_EP)
		return NOT_SUPPORTED;
	if (scope != DAT_LMR_SCOPE_PZ && scope != DAT_LMR_SCOPE_ANY)
		return KDAT_ARG(4);
	if (!lmr_handle)
		return KDAT_ARG(5);
	kia = kdat_ia_get(ia_handle);
	if (IS_ERR(kia))
		return kdat_lookup_error(PTR_ERR(kia), KDAT_BAD(IA));
	pz = kdat_get_in(kia->ia, pz_handle, DAT_HANDLE_TYPE_PZ);
	if (IS_ERR(pz)) {
		rc = KDAT_BAD(PZ);
	} else {
		rc = allocate(pz, max_pages, lmr_handle);
		dat_obj_put(&pz->obj);
	}
	kdat_ia_done(kia);
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_lmr_allocate);

/* Returns DAT_SUCCESS for an LMR of dat_lmr_allocate(), else an error. */
static DAT_RETURN fmr_check(const struct dat_lmr *lmr)
{
	if (lmr == READ_ONCE(lmr->obj.ia->reserved))
		return RESERVED_LMR;
	return lmr->fmr ? DAT_SUCCESS : KDAT_BAD(LMR);
}

static u64 sg_bytes(const struct scatterlist *sg, u32 n)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < n; i++)
		bytes += sg[i].length;
	return bytes;
}

/* Claims @lmr and binds it to the memory.  An error leaves it unchanged. */
static DAT_RETURN fmr_bind(struct dat_lmr *lmr, const struct region *r)
{
	struct scatterlist *sg;
	u32 max;
	int n;

	sg = dat_fmr_claim(lmr, &max);
	if (sg == ERR_PTR(-EBUSY))
		return KDAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
	if (IS_ERR(sg))
		return mem_error(PTR_ERR(sg));
	n = r->length > U32_MAX ? -E2BIG :
	    find_kind(r->type)->fill(&r->memory, r->length, sg, max);
	/* Some devices silently truncate a longer registration. */
	if (n > 0 && sg_bytes(sg, n) > U32_MAX)
		n = -E2BIG;
	if (n > 0)
		n = dat_fmr_bind(lmr, n, page_to_phys(sg_page(sg)) + sg->offset,
				 sg_bytes(sg, n), r->priv);
	if (!n)
		return DAT_SUCCESS;
	dat_fmr_unclaim(lmr);
	return n == -E2BIG ? KDAT_ARG(4) : mem_error(n);
}

/**
 * struct fmr_request - a request that binds or invalidates an LMR
 * @lmr: LMR
 * @handle: handle of @lmr
 * @allowed: DAT_COMPLETION_FLAGS that are allowed
 * @bad_flags: error for other flags
 * @context: result of a bind
 * @rkey: result of a bind
 * @op: DAT_KOP_LMR_FMR or DAT_KOP_LMR_INVALIDATE
 * @flags: DAT_COMPLETION_FLAGS
 * @cookie: cookie of the consumer
 */
struct fmr_request {
	struct dat_lmr		*lmr;
	DAT_LMR_HANDLE		handle;
	u32			allowed;
	DAT_RETURN		bad_flags;
	u32			context;
	u32			rkey;
	u8			op;
	u32			flags;
	DAT_LMR_COOKIE		cookie;
};

static DAT_RETURN fmr_post(struct dat_ep *ep, struct fmr_request *f)
{
	u64 raddr = f->lmr->obj.id;

	lockdep_assert_held(&ep->lock);
	if (ep->obj.ia != f->lmr->obj.ia)
		return KDAT_BAD(EP);
	if (ep->pz != f->lmr->pz)
		return KDAT_ERR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	if (kdat_request_flags_bad(ep, f->flags, f->allowed))
		return f->bad_flags;
	if (f->flags & DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG)
		raddr |= DAT_KOP_FENCE;
	kdat_fill_wr(ep, f->op, f->cookie.as_64, f->flags, raddr, 0);
	return kdat_post_wr(ep, 0);
}

/* Prepares the LMR before the post, since the entry may end before the post returns. */
static DAT_RETURN bind_post(struct dat_ep *ep, void *arg)
{
	struct fmr_request *f = arg;
	DAT_RETURN rc;

	dat_fmr_queue(f->lmr, ep);
	rc = fmr_post(ep, f);
	if (rc != DAT_SUCCESS)
		dat_fmr_unqueue(f->lmr);
	return rc;
}

static DAT_RETURN fmr(struct fmr_request *f, const struct region *region,
		      DAT_EP_HANDLE ep_handle)
{
	struct dat_lmr *lmr = f->lmr;
	struct kdat_lmr *klmr = kdat_lmr_of(lmr);
	DAT_RETURN rc;

	lockdep_assert_held(&klmr->lock);
	rc = fmr_bind(lmr, region);
	if (rc != DAT_SUCCESS)
		return rc;
	klmr->mem_type = region->type;
	klmr->region = region->memory;
	klmr->length = lmr->length;
	/* Read the keys before the post, since the request may end at any time after it. */
	f->context = lmr->context;
	f->rkey = lmr->rkey;
	rc = kdat_ep_call(ep_handle, bind_post, f);
	if (rc != DAT_SUCCESS)
		dat_fmr_unclaim(lmr);
	return rc;
}

static DAT_RETURN fmr_args(const struct region *r, DAT_VA_TYPE va_type)
{
	const struct mem_kind *kind = find_kind(r->type);

	if (!kind)
		return unknown_kind(r->type);
	if (!kind->fill)
		return NOT_SUPPORTED;
	if (!r->length)
		return KDAT_ARG(4);
	if (r->priv & ~DAT_MEM_PRIV_ALL_FLAG)
		return KDAT_ARG(5);
	return va_type_check(va_type, KDAT_ARG(6));
}

DAT_RETURN kdat_lmr_fmr(DAT_LMR_HANDLE lmr_handle, DAT_MEM_TYPE mem_type,
			DAT_REGION_DESCRIPTION region_description, DAT_VLEN num_pages,
			DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type,
			DAT_EP_HANDLE ep_handle, DAT_LMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags, DAT_LMR_CONTEXT *lmr_context,
			DAT_RMR_CONTEXT *rmr_context)
{
	struct fmr_request f = {
		.allowed = FMR_FLAGS, .bad_flags = KDAT_ARG(9),
		.op = DAT_KOP_LMR_FMR, .flags = completion_flags, .cookie = user_cookie,
	};
	struct region region = {
		.type = mem_type, .memory = region_description, .length = num_pages,
		.priv = privileges,
	};
	struct dat_lmr *lmr;
	DAT_RETURN rc;

	rc = fmr_args(&region, va_type);
	if (rc != DAT_SUCCESS)
		return rc;
	lmr = kdat_get(lmr_handle, DAT_HANDLE_TYPE_LMR);
	if (IS_ERR(lmr))
		return kdat_lookup_error(PTR_ERR(lmr), KDAT_BAD(LMR));
	rc = fmr_check(lmr);
	if (rc == DAT_SUCCESS) {
		f.lmr = lmr;
		mutex_lock(&kdat_lmr_of(lmr)->lock);
		rc = fmr(&f, &region, ep_handle);
		mutex_unlock(&kdat_lmr_of(lmr)->lock);
	}
	kdat_done(&lmr->obj);
	if (rc == DAT_SUCCESS && lmr_context)
		*lmr_context = f.context;
	if (rc == DAT_SUCCESS && rmr_context)
		*rmr_context = f.rkey;
	return rc;
}
EXPORT_SYMBOL_DAT(kdat_lmr_fmr);

/* Posts an invalidation.  RCU and ep->lock held. */
static DAT_RETURN invalidate(struct dat_ep *ep, void *arg)
{
	struct fmr_request *f = arg;
	struct dat_obj *obj = kdat_find(f->handle, DAT_HANDLE_TYPE_LMR);
	struct dat_lmr *lmr;
	DAT_RETURN rc;
	int ret;

	if (!obj || obj->ia != ep->obj.ia)
		return KDAT_BAD(LMR);
	lmr = to_dat_lmr(obj);
	rc = fmr_check(lmr);
	if (rc != DAT_SUCCESS)
		return rc;
	ret = dat_fmr_leave(lmr, ep);
	if (ret == -EINVAL)
		return KDAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_FREE);
	if (ret == -EBUSY)
		return KDAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
	if (ret)
		return KDAT_BAD(LMR);
	f->lmr = lmr;
	rc = fmr_post(ep, f);
	if (rc != DAT_SUCCESS)
		dat_fmr_end(lmr, DAT_KOP_LMR_INVALIDATE, false, DAT_ST_FLUSHED);
	return rc;
}

DAT_RETURN kdat_lmr_invalidate(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
			       DAT_LMR_COOKIE user_cookie,
			       DAT_COMPLETION_FLAGS completion_flags)
{
	struct fmr_request f = {
		.handle = lmr_handle, .allowed = INV_FLAGS, .bad_flags = KDAT_ARG(4),
		.op = DAT_KOP_LMR_INVALIDATE, .flags = completion_flags, .cookie = user_cookie,
	};

	return kdat_ep_call(ep_handle, invalidate, &f);
}
EXPORT_SYMBOL_DAT(kdat_lmr_invalidate);

static void fill_memory(struct dat_lmr *lmr, DAT_LMR_PARAM *param)
{
	struct kdat_lmr *klmr = kdat_lmr_of(lmr);

	lockdep_assert_held(&klmr->lock);
	param->mem_type = klmr->mem_type;
	param->region_desc = klmr->region;
	param->length = klmr->length;
	param->mem_priv = lmr->priv;
	param->lmr_context = lmr->context;
	param->rmr_context = lmr->rkey;
	param->registered_size = lmr->length;
	param->registered_address = lmr->start;
}

static void fill_param(struct dat_lmr *lmr, DAT_LMR_PARAM *param)
{
	bool bound;

	memset(param, 0, sizeof(*param));
	param->ia_handle = kdat_ia_handle(lmr->obj.ia);
	param->pz_handle = KDAT_HANDLE(lmr->pz);
	param->va_type = DAT_VA_TYPE_VA;
	param->lmr_state.fmr_support = lmr->fmr ? DAT_TRUE : DAT_FALSE;
	/* An allocated LMR may lose its memory at any time. */
	spin_lock_bh(&lmr->lock);
	bound = !lmr->fmr || lmr->mem;
	if (bound)
		fill_memory(lmr, param);
	spin_unlock_bh(&lmr->lock);
	param->lmr_state.bound = bound ? DAT_TRUE : DAT_FALSE;
}

DAT_RETURN kdat_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask,
			  DAT_LMR_PARAM *lmr_param)
{
	struct dat_lmr *lmr;

	if (lmr_param_mask & ~DAT_LMR_FIELD_ALL)
		return KDAT_ARG(2);
	if (!lmr_param)
		return KDAT_ARG(3);
	lmr = kdat_get(lmr_handle, DAT_HANDLE_TYPE_LMR);
	if (IS_ERR(lmr))
		return kdat_lookup_error(PTR_ERR(lmr), KDAT_BAD(LMR));
	mutex_lock(&kdat_lmr_of(lmr)->lock);
	fill_param(lmr, lmr_param);
	mutex_unlock(&kdat_lmr_of(lmr)->lock);
	kdat_done(&lmr->obj);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_DAT(kdat_lmr_query);

DAT_RETURN kdat_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	struct dat_lmr *lmr = kdat_get_gone(lmr_handle, DAT_HANDLE_TYPE_LMR);
	bool reserved;

	if (IS_ERR(lmr))
		return kdat_lookup_error(PTR_ERR(lmr), KDAT_BAD(LMR));
	reserved = lmr == READ_ONCE(lmr->obj.ia->reserved);
	kdat_done(&lmr->obj);
	if (reserved)
		return RESERVED_LMR;
	return kdat_free(lmr_handle, DAT_HANDLE_TYPE_LMR, KDAT_BAD(LMR),
			 KDAT_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE));
}
EXPORT_SYMBOL_DAT(kdat_lmr_free);

static DAT_RETURN lmr_sync(struct dat_ia *ia, const DAT_LMR_TRIPLET *seg, u64 n, bool for_cpu)
{
	struct dat_sge sge;
	u64 i;

	for (i = 0; i < n; i++) {
		if (!seg[i].segment_length)
			continue;
		sge = (struct dat_sge) {
			.addr = seg[i].virtual_address, .lmr = seg[i].lmr_context,
			.len = seg[i].segment_length,
		};
		if (dat_lmr_sync(ia, &sge, for_cpu))
			return KDAT_ARG(2);
	}
	return DAT_SUCCESS;
}

/* Syncs @n segments under RCU alone: a close waits for readers before it changes anything. */
static DAT_RETURN ia_sync(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *seg, u64 n,
			  bool for_cpu)
{
	struct kdat_ia *kia;
	DAT_RETURN rc;

	if (n && !seg)
		return KDAT_ARG(2);
	if (kdat_cant_lock())
		return KDAT_CONTEXT;
	rcu_read_lock();
	kia = kdat_ia_find(ia_handle);
	rc = kia ? lmr_sync(kia->ia, seg, n, for_cpu) : KDAT_BAD(IA);
	rcu_read_unlock();
	return rc;
}

DAT_RETURN kdat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
				   const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments)
{
	return ia_sync(ia_handle, local_segments, num_segments, false);
}
EXPORT_SYMBOL_DAT(kdat_lmr_sync_rdma_read);

DAT_RETURN kdat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
				    const DAT_LMR_TRIPLET *local_segments,
				    DAT_VLEN num_segments)
{
	return ia_sync(ia_handle, local_segments, num_segments, true);
}
EXPORT_SYMBOL_DAT(kdat_lmr_sync_rdma_write);
