/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Conversion of memory that a kernel consumer describes, for each DAT memory type. */
#ifndef _DAT_KDAPL_REGION_H
#define _DAT_KDAPL_REGION_H

#include "core/mem/lmr.h"
#include "kdapl/kdapl.h"

#define KDAT_RESERVED_LMR	KDAT_ERR(DAT_RESERVED_LMR, DAT_NO_SUBTYPE)
#define KDAT_NOT_SUPPORTED	KDAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)

struct kdat_pages {
	struct page	**page;		/* array; freed by kvfree() */
	u32		n;		/* number of pages */
	u32		offset;		/* offset of the first byte in the first page */
};

/**
 * struct kdat_mem_kind - operations of a DAT memory type
 * @type: DAT memory type
 * @pages: function that stores the pages of a region of @length bytes in *@l and returns 0, -EINVAL
 *	if the memory is invalid, or -ENOMEM; the caller frees l->page, even after an error; NULL
 *	if the type has no pages
 * @fill: function that enters a region of @n pages (DAT_MEM_TYPE_PLATFORM: at most @n pages) into
 *	@sg, which has room for @max entries, and returns the number of entries or an errno; NULL
 *	if LMRs of dat_lmr_allocate() do not support the type
 */
struct kdat_mem_kind {
	DAT_MEM_TYPE	type;
	int		(*pages)(const DAT_REGION_DESCRIPTION *region, u64 length,
				 struct kdat_pages *l);
	int		(*fill)(const DAT_REGION_DESCRIPTION *region, u32 n,
				struct scatterlist *sg, u32 max);
};

/* Memory arguments of dat_lmr_kcreate() or dat_lmr_fmr(). */
struct kdat_region {
	DAT_MEM_TYPE		type;
	DAT_REGION_DESCRIPTION	memory;
	u64			length;		/* in bytes; for dat_lmr_fmr() in pages */
	u32			priv;		/* DAT_MEM_PRIV_* bits */
};

const struct kdat_mem_kind *kdat_mem_kind(DAT_MEM_TYPE type);
DAT_RETURN kdat_unknown_kind(DAT_MEM_TYPE type);
DAT_RETURN kdat_va_type_check(DAT_VA_TYPE va_type, DAT_RETURN bad);
struct dat_kmem *kdat_region_mem(const struct dat_dev *dev, const struct kdat_region *r,
				 u64 *start);

#endif /* _DAT_KDAPL_REGION_H */
