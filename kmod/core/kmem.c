// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of the kernel: its pages, their DMA addresses, and LMRs of it.
 *
 * What is one piece for the device, and for local use only, is reached by the zone's key
 * for DMA addresses, within the range that dat_lmr_resolve() checks.  All else gets a
 * registration, by which a segment is one piece again and a peer reaches these bytes and
 * no others.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "core/dat.h"
#include "compat.h"

/**
 * dat_kmem_of_pages() - describe memory by its pages
 * @ibdev: device that it is for
 * @pages: in the order of their addresses
 * @n: of them, at least 1
 * @offset: of the first byte in the first page
 * @length: bytes, at least 1
 *
 * Context: may sleep.  Return: the memory, not mapped; or ERR_PTR(-ENOMEM).
 */
struct dat_kmem *dat_kmem_of_pages(struct ib_device *ibdev, struct page **pages, u32 n,
				   u32 offset, u64 length)
{
	struct dat_kmem *mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	int ret;

	if (!mem)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table_from_pages_segment(&mem->sgt, pages, n, offset, length,
						ib_dma_max_seg_size(ibdev), GFP_KERNEL);
	if (!ret)
		return mem;
	kfree(mem);
	return ERR_PTR(ret);
}

/*
 * Copy the DMA addresses of @length bytes from @offset on to the front of @to; there are as
 * many.  Return: entries, or -EINVAL: there are fewer bytes.
 */
static int copy_dma(struct scatterlist *to, struct scatterlist *from, u32 n, u64 offset,
		    u64 length)
{
	struct scatterlist *sg;
	u32 used = 0, i, len;

	/* The list is the consumer's, and so is its length. */
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

/**
 * dat_kmem_of_dma() - describe memory by DMA addresses, which stay their owner's
 * @sg: mapped for the device
 * @n: entries of it, as mapping it has returned
 * @offset: of the first byte
 * @length: bytes, at least 1
 *
 * Context: may sleep.  Return: the memory, or an ERR_PTR: -EINVAL @sg is shorter, -ENOMEM.
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

/**
 * dat_kmem_clone() - the same memory once more
 * @mem: stays meanwhile
 *
 * Context: may sleep.  Return: the memory, not mapped; or ERR_PTR(-ENOMEM).
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

/**
 * dat_kmem_free() - forget memory
 * @mem: of the functions above; or NULL
 * @ibdev: device that it may be mapped for
 *
 * Context: may sleep.
 */
void dat_kmem_free(struct dat_kmem *mem, struct ib_device *ibdev)
{
	if (!mem)
		return;
	dat_kmem_unmap(mem, ibdev);
	sg_free_table(&mem->sgt);
	kfree(mem);
}

/**
 * dat_kmem_map() - get DMA addresses
 * @mem: not mapped
 * @ibdev: device
 * @priv: DAT_PRIV_*: what will be done to it
 *
 * Context: any.  Return: 0, or what the DMA layer says.
 */
int dat_kmem_map(struct dat_kmem *mem, struct ib_device *ibdev, u32 priv)
{
	bool written = priv & (DAT_PRIV_LOCAL_WRITE | DAT_PRIV_REMOTE_WRITE);
	int ret;

	if (mem->foreign)
		return 0;
	mem->dir = written ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	ret = ib_dma_map_sgtable_attrs(ibdev, &mem->sgt, mem->dir, 0);
	mem->mapped = !ret;
	return ret;
}

/* Context: any. */
void dat_kmem_unmap(struct dat_kmem *mem, struct ib_device *ibdev)
{
	if (mem->mapped)
		ib_dma_unmap_sgtable_attrs(ibdev, &mem->sgt, mem->dir, 0);
	mem->mapped = false;
}

/**
 * dat_kmem_sync() - let CPU and device see the same
 * @mem: memory; what somebody else has mapped is that one's to sync
 * @ibdev: device
 * @offset: of the first byte
 * @length: bytes; what is beyond the memory is ignored
 * @for_cpu: what the device has written; else what the CPU has
 *
 * Context: any.
 */
void dat_kmem_sync(struct dat_kmem *mem, struct ib_device *ibdev, u64 offset, u64 length,
		   bool for_cpu)
{
	struct scatterlist *sg;
	unsigned int i;
	u64 addr;
	u32 len;

	if (!mem->mapped)
		return;
	for_each_sgtable_dma_sg(&mem->sgt, sg, i) {
		if (offset >= sg_dma_len(sg)) {
			offset -= sg_dma_len(sg);
			continue;
		}
		if (!length)
			break;
		addr = sg_dma_address(sg) + offset;
		len = min_t(u64, sg_dma_len(sg) - offset, length);
		if (for_cpu)
			ib_dma_sync_single_for_cpu(ibdev, addr, len, mem->dir);
		else
			ib_dma_sync_single_for_device(ibdev, addr, len, mem->dir);
		length -= len;
		offset = 0;
	}
}

/*
 * Pages that a registration by REG_MR may be made of.  What a driver says of page sizes is
 * about registrations of processes; in this request some take all pages for PAGE_SIZE, and
 * would give peers other memory.  These have been found to look at the size.
 */
static u64 reg_page_sizes(const struct ib_device *ibdev)
{
	switch (ibdev->ops.driver_id) {
	case RDMA_DRIVER_BNXT_RE:
	case RDMA_DRIVER_CXGB4:
	case RDMA_DRIVER_MLX4:
	case RDMA_DRIVER_MLX5:
	case RDMA_DRIVER_OCRDMA:
	case RDMA_DRIVER_QEDR:
	case RDMA_DRIVER_RXE:
		return ibdev->attrs.page_size_cap | PAGE_SIZE;
	default:
		return PAGE_SIZE;
	}
}

/* Bits of addresses where a page has to begin or end; see mr_page_shift(). */
static u64 boundaries(struct scatterlist *sgl, u32 n, u64 iova)
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

static u64 pages_of(struct scatterlist *sgl, u32 n, u32 shift)
{
	struct scatterlist *sg;
	u64 pages = 0;
	u32 i;

	for_each_sg(sgl, sg, n, i)
		pages += ((sg_dma_address(sg) + sg_dma_len(sg) - 1) >> shift) -
			 (sg_dma_address(sg) >> shift) + 1;
	return pages;
}

/*
 * The smallest page of the device of which at most *@pages are enough, which is then set to
 * how many.  Only the first page may begin, and only the last one end, with something else.
 * -EINVAL: there are holes; -E2BIG.
 */
static int mr_page_shift(const struct ib_device *ibdev, struct scatterlist *sgl, u32 n,
			 u64 iova, u32 *pages)
{
	u64 bits = boundaries(sgl, n, iova), sizes = reg_page_sizes(ibdev), count;
	u32 shift;

	if (bits & ~PAGE_MASK)
		return -EINVAL;
	for (shift = PAGE_SHIFT; shift < 31; shift++) {
		if (bits & (BIT_ULL(shift) - 1))
			break;
		count = pages_of(sgl, n, shift);
		if (!(sizes & BIT_ULL(shift)) || count > *pages)
			continue;
		*pages = count;
		return shift;
	}
	return -E2BIG;
}

/*
 * Whether the fault is not the memory's: bounce buffers need not begin where the pages do,
 * unless the driver asks for it.
 */
static bool mapping_moved(const struct dat_kmem *mem)
{
	struct scatterlist *sg;
	unsigned int i;
	u64 bits = 0;

	if (mem->foreign)
		return false;
	for_each_sgtable_sg(&mem->sgt, sg, i) {
		if (i)
			bits |= sg->offset;
		if (i < mem->sgt.orig_nents - 1)
			bits |= sg->offset + sg->length;
	}
	return !(bits & ~PAGE_MASK);
}

static int map_mr(struct ib_mr *mr, struct scatterlist *sgl, u32 n, u32 shift, u64 iova)
{
	int ret = ib_map_mr_sg(mr, sgl, n, NULL, 1U << shift);

	if (ret < 0)
		return ret;
	mr->iova = iova;
	return (u32)ret == n ? 0 : -EINVAL;
}

/**
 * dat_kmem_into_mr() - tell a registration that nobody uses of memory
 * @mem: mapped; all of it
 * @mr: registration
 * @max_pages: that it takes
 * @iova: address of the first byte for those who will use it
 *
 * Context: may sleep on some devices.  Return: 0, -EINVAL there are holes in the memory,
 * -EOPNOTSUPP its mapping has some, -E2BIG, or what verbs say.
 */
int dat_kmem_into_mr(struct dat_kmem *mem, struct ib_mr *mr, u32 max_pages, u64 iova)
{
	u32 pages = max_pages;
	int shift;

	shift = mr_page_shift(mr->device, mem->sgt.sgl, mem->sgt.nents, iova, &pages);
	if (shift == -EINVAL && mapping_moved(mem))
		return -EOPNOTSUPP;
	return shift < 0 ? shift : map_mr(mr, mem->sgt.sgl, mem->sgt.nents, shift, iova);
}

static struct ib_mr *mr_of(struct ib_pd *pd, struct scatterlist *sgl, u32 n, u64 iova)
{
	u32 pages = pd->device->attrs.max_fast_reg_page_list_len;
	struct ib_mr *mr;
	int shift, ret;

	if (!(pd->device->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS))
		return ERR_PTR(-EOPNOTSUPP);
	shift = mr_page_shift(pd->device, sgl, n, iova, &pages);
	if (shift < 0)
		return ERR_PTR(shift);
	/* Some count entries. */
	mr = dat_alloc_mr(pd, max(pages, n));
	if (IS_ERR(mr))
		return mr;
	ret = map_mr(mr, sgl, n, shift, iova);
	if (!ret)
		return mr;
	ib_dereg_mr(mr);
	return ERR_PTR(ret);
}

/**
 * dat_kmem_mr() - make a registration of a part, which REG_MR is to bring into effect
 * @mem: mapped
 * @pd: zone
 * @offset: of the first byte
 * @length: bytes, at least 1
 * @iova: address of the first byte for those who will use it
 *
 * Context: may sleep.  Return: the MR, or an ERR_PTR: -EINVAL there are holes in the
 * memory, or less of it; -E2BIG too many pages; -ENOMEM; -EOPNOTSUPP no such MRs, or the
 * mapping has holes.
 */
struct ib_mr *dat_kmem_mr(struct dat_kmem *mem, struct ib_pd *pd, u64 offset, u64 length,
			  u64 iova)
{
	struct sg_table part;
	struct ib_mr *mr;
	int n;

	n = sg_alloc_table(&part, mem->sgt.nents, GFP_KERNEL);
	if (n)
		return ERR_PTR(n);
	n = copy_dma(part.sgl, mem->sgt.sgl, mem->sgt.nents, offset, length);
	mr = n < 0 ? ERR_PTR(n) : mr_of(pd, part.sgl, n, iova);
	sg_free_table(&part);
	if (n > 0 && mr == ERR_PTR(-EINVAL) && mapping_moved(mem))
		return ERR_PTR(-EOPNOTSUPP);
	return mr;
}

static int kmem_register(struct dat_lmr *lmr)
{
	struct ib_mr *mr;

	mr = dat_kmem_mr(lmr->mem, lmr->pz->pd, 0, lmr->length, lmr->start);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	lmr->mr = mr;
	lmr->lkey = mr->lkey;
	if (lmr->priv & (DAT_PRIV_REMOTE_READ | DAT_PRIV_REMOTE_WRITE))
		lmr->rkey = mr->rkey;
	return dat_pz_register(lmr->pz, mr, dat_lmr_access(lmr->priv));
}

static int kmem_attach(struct dat_lmr *lmr, const void *arg)
{
	struct dat_kmem **memp = (struct dat_kmem **)arg;
	struct dat_kmem *mem = *memp;
	int ret;

	ret = dat_kmem_map(mem, lmr->obj.ia->dev->ibdev, lmr->priv);
	if (ret)
		return ret;
	lmr->mem = mem;
	*memp = NULL;
	if (mem->sgt.nents > 1 || lmr->priv & (DAT_PRIV_REMOTE_READ | DAT_PRIV_REMOTE_WRITE))
		return kmem_register(lmr);
	lmr->shift = sg_dma_address(mem->sgt.sgl) - lmr->start;
	lmr->lkey = lmr->pz->pd->local_dma_lkey;
	return 0;
}

static void kmem_detach(struct dat_lmr *lmr)
{
	struct ib_mr *mr = xchg(&lmr->mr, NULL);
	struct dat_kmem *mem;

	spin_lock_bh(&lmr->lock);
	mem = lmr->mem;
	lmr->mem = NULL;
	spin_unlock_bh(&lmr->lock);
	if (mr)
		ib_dereg_mr(mr);
	/* Its device is there as long as something is mapped for it. */
	if (mem)
		dat_kmem_free(mem, lmr->obj.ia->dev->ibdev);
}

static const struct dat_lmr_kind kmem_kind = {
	.name	= "kernel",
	.attach	= kmem_attach,
	.detach	= kmem_detach,
};

/**
 * dat_lmr_create_kmem() - register memory of the kernel
 * @pz: protection zone
 * @mem: the memory, not mapped; not the caller's any more, whatever happens
 * @start: address of its first byte for those who use the LMR
 * @length: bytes, not 0
 * @priv: DAT_PRIV_*
 * @user_data: owner value
 *
 * Context: may sleep.  Return: the LMR with a reference, or an ERR_PTR: -EINVAL there are
 * holes in the memory; -E2BIG too many pages; -ENOMEM; -EOPNOTSUPP; and those of
 * dat_pz_register().
 */
struct dat_lmr *dat_lmr_create_kmem(struct dat_pz *pz, struct dat_kmem *mem, u64 start,
				    u64 length, u32 priv, u64 user_data)
{
	struct dat_lmr_param param = {
		.kind = &kmem_kind, .start = start, .length = length, .priv = priv,
		.arg = &mem, .user_data = user_data,
	};
	struct dat_lmr *lmr = dat_lmr_make(pz->obj.ia, pz, &param);

	/* Unless the LMR has it. */
	dat_kmem_free(mem, pz->obj.ia->dev->ibdev);
	return lmr;
}
