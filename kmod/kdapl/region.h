/* SPDX-License-Identifier: GPL-2.0 */
/* Memory that kernel consumers describe, by DAT memory type. */
#ifndef _DAT_KDAPL_REGION_H
#define _DAT_KDAPL_REGION_H

#include "core/lmr.h"
#include "kdapl/kdapl.h"

#define KDAT_RESERVED_LMR	KDAT_ERR(DAT_RESERVED_LMR, DAT_NO_SUBTYPE)
#define KDAT_NOT_SUPPORTED	KDAT_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)

/**
 * struct kdat_pages - memory as pages
 * @page: pages; freed by kvfree()
 * @n: number of pages
 * @offset: offset of the first byte in the first page
 */
struct kdat_pages {
	struct page	**page;
	u32		n;
	u32		offset;
};

/**
 * struct kdat_mem_kind - a kind of memory
 * @type: DAT memory type
 * @pages: list the pages of @length bytes; return 0, -EINVAL if the memory is invalid, or -ENOMEM;
 *	the caller frees the list, also after an error
 * @fill: enter @n pages into a scatterlist with room for @max entries, for an allocated LMR;
 *	return the number of entries or an error; optional
 */
struct kdat_mem_kind {
	DAT_MEM_TYPE	type;
	int		(*pages)(const DAT_REGION_DESCRIPTION *region, u64 length,
				 struct kdat_pages *l);
	int		(*fill)(const DAT_REGION_DESCRIPTION *region, u32 n,
				struct scatterlist *sg, u32 max);
};

/**
 * struct kdat_region - arguments of dat_lmr_kcreate()
 * @type: DAT memory type
 * @memory: description by the consumer
 * @length: bytes
 * @priv: DAT_MEM_PRIV_* bits
 */
struct kdat_region {
	DAT_MEM_TYPE		type;
	DAT_REGION_DESCRIPTION	memory;
	u64			length;
	u32			priv;
};

const struct kdat_mem_kind *kdat_mem_kind(DAT_MEM_TYPE type);
DAT_RETURN kdat_unknown_kind(DAT_MEM_TYPE type);
DAT_RETURN kdat_mem_error(int err);
DAT_RETURN kdat_va_type_check(DAT_VA_TYPE va_type, DAT_RETURN bad);
struct dat_kmem *kdat_region_mem(const struct dat_dev *dev, const struct kdat_region *r,
				 u64 *start);

#endif /* _DAT_KDAPL_REGION_H */
