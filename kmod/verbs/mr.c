// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Protection zones and memory registrations.
 *
 * Kernel memory needs no registration if no peer uses the memory and the memory is contiguous for
 * the device.  Segments then use the zone's key for DMA addresses, and dat_wr_to_sge() checks that
 * a segment is inside the memory.  All other memory is registered, so that the memory is contiguous
 * for the device and a peer can access no other bytes.
 *
 * Memory of a process is registered in the way that the driver needs: directly, or pinned here and
 * then registered like kernel memory.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/queue.h"
#include "core/mem/lmr.h"
#include "core/xport.h"
#include "verbs/verbs.h"

int verbs_pz_init(struct dat_pz *pz)
{
	struct verbs_pz *vpz = to_verbs_pz(pz);
	struct ib_pd *pd;

	mutex_init(&vpz->reg_lock);
	pd = ib_alloc_pd(verbs_device(pz->obj.ia->dev), 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	vpz->pd = pd;
	pz->dma_key = pd->local_dma_lkey;
	return 0;
}

void verbs_pz_exit(struct dat_pz *pz)
{
	struct verbs_pz *vpz = to_verbs_pz(pz);

	verbs_regqp_free(vpz->reg);
	vpz->reg = NULL;
	/* A PD that is in use has a QP or an MR that the driver could not destroy; see stuck.c. */
	if (vpz->pd && !atomic_read(&vpz->pd->usecnt))
		ib_dealloc_pd(vpz->pd);
	vpz->pd = NULL;
}

/* Converts DAT_PRIV_* bits to IB_ACCESS_* bits. */
static int lmr_access(u32 priv)
{
	int access = 0;

	if (priv & DAT_PRIV_LOCAL_WRITE)
		access |= IB_ACCESS_LOCAL_WRITE;
	if (priv & DAT_PRIV_REMOTE_READ)
		access |= IB_ACCESS_REMOTE_READ;
	/*
	 * In verbs, memory with remote write must also have local write.  dat_wr_to_sge() still
	 * refuses local writes.
	 */
	if (priv & DAT_PRIV_REMOTE_WRITE)
		access |= IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE;
	return access;
}

int verbs_mem_map(struct dat_dev *dev, struct dat_kmem *mem, u32 priv)
{
	bool written = priv & (DAT_PRIV_LOCAL_WRITE | DAT_PRIV_REMOTE_WRITE);
	int ret;

	if (mem->foreign)
		return 0;
	mem->dir = written ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	ret = ib_dma_map_sgtable_attrs(verbs_device(dev), &mem->sgt, mem->dir, 0);
	mem->mapped = !ret;
	return ret;
}

void verbs_mem_unmap(struct dat_dev *dev, struct dat_kmem *mem)
{
	if (mem->mapped)
		ib_dma_unmap_sgtable_attrs(verbs_device(dev), &mem->sgt, mem->dir, 0);
	mem->mapped = false;
}

/*
 * Syncs memory that verbs_mem_map() has mapped.  Does nothing for memory that the consumer has
 * mapped, because the consumer syncs such memory.
 */
void verbs_mem_sync(struct dat_dev *dev, struct dat_kmem *mem, u64 offset, u64 length,
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
			ib_dma_sync_single_for_cpu(verbs_device(dev), addr, len, mem->dir);
		else
			ib_dma_sync_single_for_device(verbs_device(dev), addr, len, mem->dir);
		length -= len;
		offset = 0;
	}
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
 * Returns the shift of the smallest page size with which the memory fits in *@pages pages, and sets
 * *@pages to the number of pages that the memory needs.  The memory may begin inside the first page
 * and end inside the last page.  Fails with -EINVAL if the memory has holes, with -E2BIG if the
 * memory does not fit.
 */
static int mr_page_shift(const struct dat_dev *dev, struct scatterlist *sgl, u32 n, u64 iova,
			 u32 *pages)
{
	u64 bits = dat_sg_boundaries(sgl, n, iova), sizes = to_verbs_dev(dev)->page_sizes, count;
	u32 shift = __ffs64(sizes);	/* @sizes is not 0, because fast_reg_pages is not 0 */

	if (bits & (BIT_ULL(shift) - 1))
		return -EINVAL;
	for (; shift < 31; shift++) {
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
 * Returns true if the DMA mapping has made the holes between the DMA addresses.  That is so if this
 * module has mapped the memory and the pages themselves adjoin without holes.  The cause is a
 * bounce buffer, which keeps the page offset of the memory only if the driver asks for that.
 */
static bool dma_map_made_holes(const struct dat_kmem *mem)
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

struct ib_mr *verbs_alloc_mr(const struct dat_pz *pz, u32 pages)
{
	if (pz->obj.ia->dev->quirks & DAT_QUIRK_MR_SPARE)
		pages++;
	return ib_alloc_mr(to_verbs_pz((struct dat_pz *)pz)->pd, IB_MR_TYPE_MEM_REG, pages);
}

/*
 * Returns an MR for @pages pages.  @spare: NULL; or an MR that may be used again, if any, which
 * gets a new key.  The caller owns the result.  Sets the other members of @spare to those of the
 * result.
 */
static struct ib_mr *mr_get(struct dat_pz *pz, u32 pages, struct verbs_mr *spare)
{
	struct ib_umem *none = NULL;
	struct ib_mr *mr;

	if (!spare)
		return verbs_alloc_mr(pz, pages);
	mr = spare->mr;
	spare->mr = NULL;
	if (mr && spare->pages >= pages && spare->keys < VERBS_MR_KEYS) {
		spare->keys++;
		ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
		return mr;
	}
	if (mr)
		verbs_dereg_mr(pz->obj.ia->dev, mr, &none);
	spare->keys = 1;
	/* Round up, so that the MR can be used again for a registration that is a little longer. */
	spare->pages = max(pages, min_t(u32, roundup_pow_of_two(pages),
					pz->obj.ia->dev->limits.fast_reg_pages));
	return verbs_alloc_mr(pz, spare->pages);
}

static struct ib_mr *mr_of(struct dat_pz *pz, struct scatterlist *sgl, u32 n, u64 iova,
			   struct verbs_mr *spare)
{
	const struct dat_dev *dev = pz->obj.ia->dev;
	u32 pages = dev->limits.fast_reg_pages;
	struct ib_umem *none = NULL;
	struct ib_mr *mr;
	int shift, ret;

	if (!pages)
		return ERR_PTR(-EOPNOTSUPP);
	shift = mr_page_shift(dev, sgl, n, iova, &pages);
	if (shift < 0)
		return ERR_PTR(shift);
	/* Some drivers count scatterlist entries, not pages, against the size of the MR. */
	mr = mr_get(pz, max(pages, n), spare);
	if (IS_ERR(mr))
		return mr;
	ret = map_mr(mr, sgl, n, shift, iova);
	if (!ret)
		return mr;
	verbs_dereg_mr(dev, mr, &none);
	return ERR_PTR(ret);
}

/*
 * Prepares a registration of a part of kernel memory that is mapped for DMA, and returns an MR that
 * the caller owns.  The registration takes effect when the work request REG_MR completes.  @iova:
 * address that peers use for the first byte; @spare: see mr_get().  May sleep.  Fails with -EINVAL
 * if the part has holes or is outside @mem, with -E2BIG if the part has too many pages, with
 * -EOPNOTSUPP if the device cannot register by work request or the DMA mapping has made holes, or
 * with -ENOMEM.
 */
struct ib_mr *verbs_mr_of_part(struct dat_pz *pz, struct dat_kmem *mem, u64 offset, u64 length,
			       u64 iova, struct verbs_mr *spare)
{
	struct dat_kmem *part = dat_kmem_of_dma(mem->sgt.sgl, mem->sgt.nents, offset, length);
	struct ib_mr *mr;

	if (IS_ERR(part))
		return ERR_CAST(part);
	mr = mr_of(pz, part->sgt.sgl, part->sgt.nents, iova, spare);
	dat_kmem_free(part, pz->obj.ia->dev);
	if (mr == ERR_PTR(-EINVAL) && dma_map_made_holes(mem))
		return ERR_PTR(-EOPNOTSUPP);
	return mr;
}

/* A position in pinned memory: @skip bytes after the beginning of the entry @sg. */
struct umem_pos {
	struct scatterlist	*sg;
	u64			skip;
};

/*
 * Prepares a registration of the @length bytes that begin at @pos, as verbs_mr_of_part() does.
 * Moves @pos to the end of these bytes.  @addr: address that peers use for the first byte.
 */
static struct ib_mr *mr_of_next(struct dat_pz *pz, struct umem_pos *pos, u64 addr, u64 length,
				struct verbs_mr *spare)
{
	u64 end = pos->skip + length, seen = 0;
	struct scatterlist *sg;
	struct dat_kmem *part;
	struct ib_mr *mr;
	u32 n = 0;

	for (sg = pos->sg; seen < end; sg = sg_next(sg), n++)
		seen += sg_dma_len(sg);
	part = dat_kmem_of_dma(pos->sg, n, pos->skip, length);
	if (IS_ERR(part))
		return ERR_CAST(part);
	mr = mr_of(pz, part->sgt.sgl, part->sgt.nents, addr, spare);
	dat_kmem_free(part, pz->obj.ia->dev);
	for (pos->skip = end; n && pos->skip >= sg_dma_len(pos->sg); n--) {
		pos->skip -= sg_dma_len(pos->sg);
		pos->sg = sg_next(pos->sg);
	}
	return mr;
}

static struct umem_pos umem_begin(const struct ib_umem *umem)
{
	return (struct umem_pos) {
		.sg = umem->sgt_append.sgt.sgl, .skip = offset_in_page(umem->address),
	};
}

/* Prepares a registration of all of @umem, as verbs_mr_of_part() does for kernel memory. */
struct ib_mr *verbs_mr_of_umem(struct dat_pz *pz, const struct ib_umem *umem,
			       struct verbs_mr *spare)
{
	struct umem_pos pos = umem_begin(umem);

	return mr_of_next(pz, &pos, umem->address, umem->length, spare);
}

/*
 * Registers memory of the current process directly.  @priv: DAT_PRIV_* bits of the LMR to which the
 * memory belongs.  May sleep.  Fails like ib_reg_user_mr().  Must not be called for a device with
 * VERBS_REG_REQUEST.
 *
 * IB_ACCESS_RELAXED_ORDERING is optional: a driver that does not know the flag ignores the flag.  A
 * registration by work request never has the flag, because mlx5 refuses a work request that changes
 * the flag of an MR.
 */
struct ib_mr *verbs_reg_user(struct dat_pz *pz, u64 addr, u64 length, int access, u32 priv)
{
	struct ib_pd *pd = to_verbs_pz(pz)->pd;

	if (priv & DAT_PRIV_RELAXED)
		access |= IB_ACCESS_RELAXED_ORDERING;
	if (to_verbs_dev(pz->obj.ia->dev)->reg == VERBS_REG_UDATA)
		return dat_reg_user_mr_udata(pd, addr, length, access);
	return ib_reg_user_mr(pd, addr, length, addr, access);
}

static int lmr_set_mr(struct dat_lmr *lmr, struct ib_mr *mr)
{
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	to_verbs_lmr(lmr)->mr = mr;
	lmr->lkey = mr->lkey;
	lmr->rkey = mr->rkey;
	return 0;
}

/*
 * Allocates the arrays of an LMR for its chunks.  A chunk is as long as one work request can
 * register in the worst case, rounded down to a power of two.  The LMR owns the arrays, even after
 * an error.
 */
static int chunks_alloc(struct dat_lmr *lmr)
{
	const struct dat_dev *dev = lmr->obj.ia->dev;
	u64 bytes = dev->limits.fast_reg_pages << __ffs64(to_verbs_dev(dev)->page_sizes);
	u32 shift = ilog2(bytes);
	u64 first = lmr->start >> shift;
	u64 n = ((lmr->start + lmr->length - 1) >> shift) - first + 1;
	struct verbs_lmr *vlmr = to_verbs_lmr(lmr);

	if (n > dev->limits.max_mr)
		return -ENOMEM;
	lmr->chunks = kvzalloc(struct_size(lmr->chunks, lkey, n), GFP_KERNEL_ACCOUNT);
	vlmr->chunk_mr = kvcalloc(n, sizeof(*vlmr->chunk_mr), GFP_KERNEL_ACCOUNT);
	if (!lmr->chunks || !vlmr->chunk_mr)
		return -ENOMEM;
	lmr->chunks->first = first;
	lmr->chunks->shift = shift;
	lmr->chunks->n = n;
	return 0;
}

/*
 * Registers an LMR in chunks.  A killed process registers no further chunks.  After an error,
 * verbs_lmr_exit() ends the registrations of the chunks.
 */
static int lmr_by_chunks(struct dat_lmr *lmr)
{
	struct verbs_lmr *vlmr = to_verbs_lmr(lmr);
	struct umem_pos pos = umem_begin(vlmr->umem);
	u64 end = lmr->start + lmr->length, at = lmr->start, next;
	struct dat_chunks *c;
	struct ib_mr *mr;
	int ret;

	ret = chunks_alloc(lmr);
	c = lmr->chunks;
	for (; !ret && at < end; at = next) {
		next = min(end, ((at >> c->shift) + 1) << c->shift);
		mr = mr_of_next(lmr->pz, &pos, at, next - at, NULL);
		if (IS_ERR(mr))
			return PTR_ERR(mr);
		c->lkey[vlmr->nchunks] = mr->lkey;
		vlmr->chunk_mr[vlmr->nchunks++] = mr;
		ret = verbs_pz_register(lmr->pz, mr, lmr_access(lmr->priv));
		if (fatal_signal_pending(current))
			ret = -EINTR;
	}
	return ret;
}

/*
 * Registers memory of a process by work request.  Memory that is too long for one registration is
 * registered in chunks, unless peers may access the memory.
 *
 * A request that names the LMR may still be in flight when the memory is unpinned.  So every LMR
 * has registrations of its own, which end first.  The zone's key for DMA addresses never ends and
 * is not used, even if the memory is contiguous for the device.
 */
static int lmr_by_request(struct dat_lmr *lmr)
{
	bool remote = lmr->priv & (DAT_PRIV_REMOTE_READ | DAT_PRIV_REMOTE_WRITE);
	struct ib_umem *umem;
	struct ib_mr *mr;
	int ret;

	umem = ib_umem_get_va(verbs_device(lmr->obj.ia->dev), lmr->start, lmr->length,
			      lmr_access(lmr->priv));
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	to_verbs_lmr(lmr)->umem = umem;
	mr = verbs_mr_of_umem(lmr->pz, umem, NULL);
	if (mr == ERR_PTR(-E2BIG))
		return remote ? -ENOMEM : lmr_by_chunks(lmr);
	ret = lmr_set_mr(lmr, mr);
	return ret ?: verbs_pz_register(lmr->pz, mr, lmr_access(lmr->priv));
}

int verbs_lmr_user(struct dat_lmr *lmr)
{
	int ret;

	if (to_verbs_dev(lmr->obj.ia->dev)->reg == VERBS_REG_REQUEST)
		ret = lmr_by_request(lmr);
	else
		ret = lmr_set_mr(lmr, verbs_reg_user(lmr->pz, lmr->start, lmr->length,
						     lmr_access(lmr->priv), lmr->priv));
	/* -EPERM means that RLIMIT_MEMLOCK is 0 and the process lacks CAP_IPC_LOCK. */
	return ret == -EPERM ? -ENOMEM : ret;
}

int verbs_lmr_kernel(struct dat_lmr *lmr)
{
	bool remote = lmr->priv & (DAT_PRIV_REMOTE_READ | DAT_PRIV_REMOTE_WRITE);
	struct dat_kmem *mem = lmr->mem;
	struct ib_mr *mr;

	if (mem->sgt.nents == 1 && !remote) {
		lmr->shift = sg_dma_address(mem->sgt.sgl) - lmr->start;
		lmr->lkey = lmr->pz->dma_key;
		return 0;
	}
	mr = verbs_mr_of_part(lmr->pz, mem, 0, lmr->length, lmr->start, NULL);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	to_verbs_lmr(lmr)->mr = mr;
	lmr->lkey = mr->lkey;
	if (remote)
		lmr->rkey = mr->rkey;
	return verbs_pz_register(lmr->pz, mr, lmr_access(lmr->priv));
}

void verbs_lmr_exit(struct dat_lmr *lmr)
{
	struct verbs_lmr *vlmr = to_verbs_lmr(lmr);
	const struct dat_dev *dev = lmr->obj.ia->dev;
	struct ib_mr *mr = xchg(&vlmr->mr, NULL);

	if (mr)
		verbs_dereg_mr(dev, mr, &vlmr->umem);
	while (vlmr->nchunks)
		verbs_dereg_mr(dev, vlmr->chunk_mr[--vlmr->nchunks], &vlmr->umem);
	kvfree(vlmr->chunk_mr);
	vlmr->chunk_mr = NULL;
	ib_umem_release(vlmr->umem);
	vlmr->umem = NULL;
}

int verbs_lmr_empty(struct dat_lmr *lmr, u32 max_pages)
{
	struct ib_mr *mr;

	verbs_lmr_exit(lmr);
	mr = verbs_alloc_mr(lmr->pz, max_pages);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	to_verbs_lmr(lmr)->mr = mr;
	return 0;
}

int verbs_lmr_map(struct dat_lmr *lmr, struct dat_kmem *mem, u32 max_pages, u64 start, u32 priv,
		  struct dat_keys *keys)
{
	struct verbs_lmr *vlmr = to_verbs_lmr(lmr);
	struct ib_mr *mr = vlmr->mr;
	u32 pages = max_pages;
	int shift, ret;

	shift = mr_page_shift(lmr->obj.ia->dev, mem->sgt.sgl, mem->sgt.nents, start, &pages);
	if (shift == -EINVAL && dma_map_made_holes(mem))
		return -EOPNOTSUPP;
	if (shift < 0)
		return shift;
	ret = map_mr(mr, mem->sgt.sgl, mem->sgt.nents, shift, start);
	if (ret)
		return ret;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	vlmr->access = lmr_access(priv);
	keys->lkey = mr->lkey;
	keys->rkey = priv & (DAT_PRIV_REMOTE_READ | DAT_PRIV_REMOTE_WRITE) ? mr->rkey : 0;
	return 0;
}

void verbs_lmr_build(struct dat_lmr *lmr, u8 op, union dat_send_wr *out)
{
	struct verbs_lmr *vlmr = to_verbs_lmr(lmr);

	if (op == DAT_KOP_LMR_INVALIDATE) {
		/* The fence waits for earlier RDMA reads, which may write to the memory. */
		out->wr.send_flags |= IB_SEND_FENCE;
		out->wr.opcode = IB_WR_LOCAL_INV;
		out->wr.ex.invalidate_rkey = vlmr->mr->rkey;
		return;
	}
	out->wr.opcode = IB_WR_REG_MR;
	out->reg.mr = vlmr->mr;
	out->reg.key = vlmr->mr->rkey;
	out->reg.access = vlmr->access;
}
