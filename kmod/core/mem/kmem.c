// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Kernel memory, described by its pages or by its DMA addresses, and the LMRs that register such
 * memory.  The transport maps pages for DMA, and registers the memory.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/dat.h"
#include "core/mem/lmr.h"

/*
 * Makes a description of kernel memory from its pages, which are not mapped for DMA yet.  @offset:
 * offset of the first byte in the first page.  Returns an ERR_PTR if memory is short.  May sleep.
 */
struct dat_kmem *dat_kmem_of_pages(const struct dat_dev *dev, struct page **pages,
				   u32 n, u32 offset, u64 length)
{
	struct dat_kmem *mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	int ret;

	if (!mem)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table_from_pages_segment(&mem->sgt, pages, n, offset, length,
						dev->limits.max_seg, GFP_KERNEL);
	if (!ret)
		return mem;
	kfree(mem);
	return ERR_PTR(ret);
}

/*
 * Copies to @to the DMA addresses of the @length bytes that begin at @offset in @from.  Reads at
 * most @n entries of @from; @to has room for @n entries.  Returns the number of entries used in
 * @to, or -EINVAL if the entries of @from are too short.
 */
static int copy_dma(struct scatterlist *to, struct scatterlist *from, u32 n, u64 offset,
		    u64 length)
{
	struct scatterlist *sg;
	u32 used = 0, i, len;

	/* The consumer's list may have fewer entries than the consumer has stated, so check sg. */
	for (i = 0, sg = from; i < n && sg; i++, sg = sg_next(sg)) {
		if (offset >= sg_dma_len(sg)) {
			offset -= sg_dma_len(sg);
			continue;
		}
		if (!length)
			break;
		len = min_t(u64, sg_dma_len(sg) - offset, length);
		sg_dma_address(to) = sg_dma_address(sg) + offset;
		sg_dma_len(to) = len;
		to = sg_next(to);
		length -= len;
		offset = 0;
		used++;
	}
	return length ? -EINVAL : used;
}

/*
 * Returns the OR of all addresses at which a page must begin or end, and of the bits in which the
 * first DMA address differs from @iova.  The lowest set bit of the result is the largest possible
 * page size.
 */
u64 dat_sg_boundaries(struct scatterlist *sgl, u32 n, u64 iova)
{
	u64 bits = sg_dma_address(sgl) ^ iova;
	struct scatterlist *sg;
	u32 i;

	for_each_sg(sgl, sg, n, i) {
		if (i)
			bits |= sg_dma_address(sg);
		if (i < n - 1)
			bits |= sg_dma_address(sg) + sg_dma_len(sg);
	}
	return bits;
}

/*
 * Describes memory that is mapped for the device already, by the consumer or by the transport, and
 * that stays mapped as long as the description exists.  @n: number of mapped entries of @sg.  May
 * sleep.  Fails with -EINVAL if @sg is too short, or with -ENOMEM.
 */
struct dat_kmem *dat_kmem_of_dma(struct scatterlist *sg, u32 n, u64 offset, u64 length)
{
	struct dat_kmem *mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	int ret;

	if (!mem)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table(&mem->sgt, n, GFP_KERNEL);
	if (ret)
		goto err_free;
	ret = copy_dma(mem->sgt.sgl, sg, n, offset, length);
	if (ret < 0)
		goto err_free_table;
	mem->sgt.nents = ret;
	mem->foreign = true;
	return mem;

err_free_table:
	sg_free_table(&mem->sgt);
err_free:
	kfree(mem);
	return ERR_PTR(ret);
}

static u64 dma_bytes(const struct dat_kmem *mem)
{
	struct scatterlist *sg;
	unsigned int i;
	u64 bytes = 0;

	for_each_sgtable_dma_sg(&mem->sgt, sg, i)
		bytes += sg_dma_len(sg);
	return bytes;
}

/*
 * Makes another description of the memory of @mem.  The transport has not mapped the new
 * description for DMA yet.  The caller keeps @mem.  May sleep.  Returns an ERR_PTR if memory is
 * short.
 */
struct dat_kmem *dat_kmem_clone(const struct dat_kmem *mem)
{
	struct scatterlist *sg, *to;
	struct dat_kmem *copy;
	unsigned int i;
	int ret;

	if (mem->foreign)
		return dat_kmem_of_dma(mem->sgt.sgl, mem->sgt.nents, 0,
				       dma_bytes(mem));
	copy = kzalloc(sizeof(*copy), GFP_KERNEL);
	if (!copy)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table(&copy->sgt, mem->sgt.orig_nents, GFP_KERNEL);
	if (ret) {
		kfree(copy);
		return ERR_PTR(ret);
	}
	to = copy->sgt.sgl;
	for_each_sgtable_sg(&mem->sgt, sg, i) {
		sg_set_page(to, sg_page(sg), sg->length, sg->offset);
		to = sg_next(to);
	}
	return copy;
}

/*
 * Undoes the DMA mapping, if the transport has made one, and frees the description of the memory.
 * @mem may be NULL.  The caller keeps the device from being removed.  Does not sleep.
 */
void dat_kmem_free(struct dat_kmem *mem, struct dat_dev *dev)
{
	if (!mem)
		return;
	dev->ops->mem_unmap(dev, mem);
	sg_free_table(&mem->sgt);
	kfree(mem);
}

static int kmem_attach(struct dat_lmr *lmr, const void *arg)
{
	struct dat_kmem **memp = (struct dat_kmem **)arg;
	struct dat_dev *dev = lmr->obj.ia->dev;
	int ret;

	ret = dev->ops->mem_map(dev, *memp, lmr->priv);
	if (ret)
		return ret;
	lmr->mem = *memp;
	*memp = NULL;
	return dev->ops->lmr_kernel(lmr);
}

static void kmem_detach(struct dat_lmr *lmr)
{
	struct dat_dev *dev = lmr->obj.ia->dev;
	struct dat_kmem *mem;

	spin_lock_bh(&lmr->lock);
	mem = lmr->mem;
	lmr->mem = NULL;
	spin_unlock_bh(&lmr->lock);
	dev->ops->lmr_exit(lmr);
	/* The LMR is shut down before its device is removed, so dev is valid. */
	if (mem)
		dat_kmem_free(mem, dev);
}

static const struct dat_lmr_kind kmem_kind = {
	.name	= "kernel",
	.attach	= kmem_attach,
	.detach	= kmem_detach,
};

/*
 * Registers memory of the kernel.  The ownership of @mem passes to this function, even if the
 * function fails.  Segments and peers refer to the first byte by the address @start.  May sleep.
 * Fails like dat_lmr_make(), also with the errors of the transport's mem_map() and lmr_kernel().
 */
struct dat_lmr *dat_lmr_create_kmem(struct dat_pz *pz, struct dat_kmem *mem, u64 start,
				    u64 length, u32 priv, u64 user_data)
{
	struct dat_lmr_param param = {
		.kind = &kmem_kind, .start = start, .length = length, .priv = priv,
		.arg = &mem, .user_data = user_data,
	};
	struct dat_lmr *lmr = dat_lmr_make(pz->obj.ia, pz, &param);

	/* kmem_attach() has set @mem to NULL if the LMR owns the memory. */
	dat_kmem_free(mem, pz->obj.ia->dev);
	return lmr;
}
