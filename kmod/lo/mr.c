// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Memory and its keys.
 *
 * Memory of a process is pinned and charged to the process, and is accessed through the kernel's
 * own mapping of all pages, so no memory of one process is mapped into another.  Contiguous pages
 * are one extent.
 *
 * A key names an entry in lo_keys.  The low bits of a key are a generation, the others the index of
 * the entry.  A key opens memory only in its protection zone, so a key that is guessed opens
 * nothing of another consumer.  An index is not used again before all others were, and then with
 * another generation.  So a key that has ended comes back after 2^32 others at the earliest.  Only
 * the LMRs of FMR requests keep their index and count the generation; their keys come back after
 * 255 binds, as on devices.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "core/dat.h"
#include "core/ep/queue.h"
#include "core/mem/lmr.h"
#include "core/xport.h"
#include "lo/lo.h"

#define KEY_GEN_BITS	8
#define KEY_GEN_MASK	((1U << KEY_GEN_BITS) - 1)
#define KEY_LIMIT	XA_LIMIT(1, U32_MAX >> KEY_GEN_BITS)
/* Pages that are pinned by one call. */
#define PIN_BATCH	(PAGE_SIZE / sizeof(struct page *))
/* Extents for which the first array has room. */
#define MEM_FIRST	16
/* Largest number of extents: kvmalloc() warns of more bytes.  They have 256 GiB at least. */
#define MEM_MAX		((u32)((INT_MAX - sizeof(struct lo_mem)) / sizeof(struct lo_extent)))
/* Pages that are unpinned before other tasks get the CPU. */
#define UNPIN_BATCH	16384UL

static DEFINE_XARRAY_ALLOC1(lo_keys);
static u32 lo_keys_next;	/* start of the search for an index; xa_lock */
static u32 lo_keys_gen;		/* generation of new keys; xa_lock */

/* The key of all memory is 0; see lo_side.kernel. */
int lo_pz_init(struct dat_pz *pz)
{
	pz->dma_key = 0;
	return 0;
}

void lo_pz_exit(struct dat_pz *pz)
{
}

/* Uses the kernel addresses as DMA addresses, as ib_core does for software devices. */
int lo_mem_map(struct dat_dev *dev, struct dat_kmem *mem, u32 priv)
{
	struct scatterlist *sg;
	unsigned int i;

	if (mem->foreign)
		return 0;
	for_each_sgtable_sg(&mem->sgt, sg, i) {
		sg_dma_address(sg) = (uintptr_t)sg_virt(sg);
		sg_dma_len(sg) = sg->length;
	}
	mem->sgt.nents = mem->sgt.orig_nents;
	return 0;
}

void lo_mem_unmap(struct dat_dev *dev, struct dat_kmem *mem)
{
}

void lo_mem_sync(struct dat_dev *dev, struct dat_kmem *mem, u64 offset, u64 length, bool for_cpu)
{
}

static struct lo_mem *mem_alloc(u32 max)
{
	struct lo_mem *mem;

	mem = kvzalloc(struct_size(mem, ext, max), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mem)
		return NULL;
	refcount_set(&mem->ref, 1);
	mem->max = max;
	return mem;
}

/*
 * Returns memory with the contents of @mem and room for more extents, and frees @mem.  Returns
 * NULL, and does not free @mem, if memory is short or there are too many extents.
 */
static struct lo_mem *mem_grow(struct lo_mem *mem)
{
	u32 max = min(mem->max, MEM_MAX / 2) * 2;
	struct lo_mem *more = max > mem->max ? mem_alloc(max) : NULL;

	if (!more)
		return NULL;
	*more = *mem;
	more->max = max;
	memcpy(more->ext, mem->ext, mem->n * sizeof(mem->ext[0]));
	kvfree(mem);
	return more;
}

/* Returns true if the bytes at @va continue the last extent. */
static bool mem_continues(const struct lo_mem *mem, const void *va)
{
	const struct lo_extent *last = mem->n ? &mem->ext[mem->n - 1] : NULL;

	return last && last->va + (mem->length - last->at) == va;
}

/* Appends bytes, to the last extent if @join.  Returns false if @mem has no room for another. */
static bool mem_add(struct lo_mem *mem, void *va, u64 length, bool join)
{
	if (!join) {
		if (mem->n == mem->max)
			return false;
		mem->ext[mem->n++] = (struct lo_extent) { .at = mem->length, .va = va };
	}
	mem->length += length;
	return true;
}

/* Unpins the pages of an extent. */
static void extent_unpin(const struct lo_extent *ext, u64 pages, bool dirty)
{
	struct page *page = virt_to_page(ext->va);
	u64 n;

	for (; pages; pages -= n, page += n) {
		n = min_t(u64, pages, UNPIN_BATCH);
		unpin_user_page_range_dirty_lock(page, n, dirty);
		cond_resched();
	}
}

/* Unpins all pages, which are those of all extents. */
static void mem_unpin(struct lo_mem *mem)
{
	u64 end;
	u32 i;

	for (i = 0; i < mem->n; i++) {
		end = i + 1 < mem->n ? mem->ext[i + 1].at : mem->length;
		extent_unpin(&mem->ext[i], (end - mem->ext[i].at) >> PAGE_SHIFT, mem->write);
	}
}

static void mem_get(struct lo_mem *mem)
{
	refcount_inc(&mem->ref);
}

/* Drops a reference, after lo_mr_kill() for all keys of the owner; @mem may be NULL.  May sleep. */
void lo_mem_put(struct lo_mem *mem)
{
	if (!mem || !refcount_dec_and_test(&mem->ref))
		return;
	if (mem->mm) {
		mem_unpin(mem);
		atomic64_sub(mem->npages, &mem->mm->pinned_vm);
		mmdrop(mem->mm);
	}
	kvfree(mem);
}

/*
 * Charges pages to the current process, as ib_umem_get() does.  Fails with -ENOMEM beyond
 * RLIMIT_MEMLOCK.
 */
static int mem_charge(struct lo_mem *mem, u64 npages)
{
	u64 limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	struct mm_struct *mm = current->mm;

	if (atomic64_add_return(npages, &mm->pinned_vm) > limit && !capable(CAP_IPC_LOCK)) {
		atomic64_sub(npages, &mm->pinned_vm);
		return -ENOMEM;
	}
	mmgrab(mm);
	mem->mm = mm;
	mem->npages = npages;
	return 0;
}

/* Adds pages that were pinned.  Returns the number of pages for which there was memory. */
static long mem_add_pages(struct lo_mem **memp, struct page **pages, long n)
{
	struct lo_mem *more;
	bool join;
	void *va;
	long i;

	for (i = 0; i < n; i++) {
		va = page_address(pages[i]);
		/* In some memory models, pages that adjoin may have structures that do not. */
		join = mem_continues(*memp, va) && virt_to_page(va - 1) + 1 == pages[i];
		if (mem_add(*memp, va, PAGE_SIZE, join))
			continue;
		more = mem_grow(*memp);
		if (!more)
			break;
		*memp = more;
		mem_add(more, va, PAGE_SIZE, false);
	}
	return i;
}

/* Pins @npages pages from @at on.  After an error some pages may be pinned. */
static int mem_pin_pages(struct lo_mem **memp, unsigned long at, u64 npages)
{
	unsigned int flags = dat_umem_gup_flags((*memp)->write) | FOLL_LONGTERM;
	struct page **pages = (struct page **)__get_free_page(GFP_KERNEL);
	long n, added;
	int ret = 0;

	if (!pages)
		return -ENOMEM;
	while (npages && !ret) {
		cond_resched();
		if (fatal_signal_pending(current)) {
			ret = -EINTR;
			break;
		}
		n = pin_user_pages_fast(at, min_t(u64, npages, PIN_BATCH), flags, pages);
		if (n <= 0) {
			ret = n ?: -EFAULT;
			break;
		}
		added = mem_add_pages(memp, pages, n);
		if (added < n) {
			unpin_user_pages(pages + added, n - added);
			ret = -ENOMEM;
		}
		npages -= n;
		at += n << PAGE_SHIFT;
	}
	free_page((unsigned long)pages);
	return ret;
}

/* Pins memory of the current process.  May sleep.  Returns an ERR_PTR after an error. */
static struct lo_mem *mem_pin(u64 start, u64 length, bool write)
{
	unsigned long at = start & PAGE_MASK;
	struct lo_mem *mem;
	u64 npages, last;
	int ret;

	if (check_add_overflow(start, length - 1, &last))
		return ERR_PTR(-EINVAL);
	npages = (last >> PAGE_SHIFT) - (start >> PAGE_SHIFT) + 1;
	if (npages > UINT_MAX)
		return ERR_PTR(-EINVAL);
	mem = mem_alloc(MEM_FIRST);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	mem->write = write;
	ret = mem_charge(mem, npages);
	if (!ret)
		ret = mem_pin_pages(&mem, at, npages);
	if (!ret)
		return mem;
	lo_mem_put(mem);
	return ERR_PTR(ret);
}

/*
 * Returns true if the entries of @sgl have holes, or if the offset of the first byte in its page is
 * not that of @start.  No device can register such memory.  This transport could, but a kernel
 * module that works here must work on devices.
 */
static bool sg_has_holes(struct scatterlist *sgl, u32 n, u64 start)
{
	return dat_sg_boundaries(sgl, n, start) & ~PAGE_MASK;
}

/* Sets the extents of @mem to those of mapped kernel memory.  Fails with -E2BIG without room. */
static int mem_of_sg(struct lo_mem *mem, const struct dat_kmem *from)
{
	struct scatterlist *sg;
	unsigned int i;
	void *va;

	mem->write = true;
	mem->length = 0;
	mem->n = 0;
	for_each_sgtable_dma_sg(&from->sgt, sg, i) {
		va = (void *)(uintptr_t)sg_dma_address(sg);
		if (!mem_add(mem, va, sg_dma_len(sg), mem_continues(mem, va)))
			return -E2BIG;
	}
	return 0;
}

/**
 * lo_mem_at() - find a byte of memory
 * @mem: memory
 * @offset: offset of the byte, less than mem->length
 * @hint: index of the extent of an earlier call, or 0; set to that of the byte
 * @n: result: number of bytes from the byte to the end of its extent
 *
 * Return: kernel address of the byte.
 */
void *lo_mem_at(const struct lo_mem *mem, u64 offset, u32 *hint, u64 *n)
{
	const struct lo_extent *ext = mem->ext;
	u32 low = *hint, high = mem->n, mid;

	/* A copy in rising order finds the byte in the extent of the hint or in the next one. */
	if (low + 1 < high && ext[low + 1].at <= offset)
		low++;
	if (ext[low].at > offset)
		low = 0;
	if (low + 1 < high && ext[low + 1].at > offset)
		high = low + 1;
	while (high - low > 1) {
		mid = low + (high - low) / 2;
		if (ext[mid].at <= offset)
			low = mid;
		else
			high = mid;
	}
	*hint = low;
	*n = (low + 1 < mem->n ? ext[low + 1].at : mem->length) - offset;
	return ext[low].va + (offset - ext[low].at);
}

/* Makes an entry of the table of keys, whose key gives no access yet.  May sleep. */
struct lo_mr *lo_mr_alloc(void)
{
	struct lo_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	xa_lock(&lo_keys);
	ret = __xa_alloc_cyclic(&lo_keys, &mr->index, mr, KEY_LIMIT, &lo_keys_next,
				GFP_KERNEL_ACCOUNT);
	if (ret == 1)
		lo_keys_gen++;
	mr->next = mr->index << KEY_GEN_BITS | (lo_keys_gen & KEY_GEN_MASK);
	xa_unlock(&lo_keys);
	if (ret >= 0)
		return mr;
	kfree(mr);
	return ERR_PTR(-ENOMEM);
}

/*
 * Sets what the key of @mr gives access to, once the key is in effect.  Takes a reference to @mem,
 * if @mr does not have it.  No key of @mr gives access at the call.  Fails with -EINVAL if @mem has
 * not all of the bytes: whatever a caller has checked, a key never exceeds its memory.
 */
int lo_mr_set(struct lo_mr *mr, const struct dat_pz *pz, struct lo_mem *mem, u64 offset,
	      u64 start, u64 length, u32 priv)
{
	if (length > mem->length || offset > mem->length - length)
		return -EINVAL;
	if (mr->mem != mem)
		mem_get(mem);
	mr->mem = mem;
	mr->pz = pz;
	mr->offset = offset;
	mr->start = start;
	mr->length = length;
	mr->priv = priv;
	mr->write = mem->write;
	return 0;
}

/* Ends the key, and frees @mr and its reference to memory; @mr may be NULL.  May sleep. */
void lo_mr_free(struct lo_mr *mr)
{
	if (!mr)
		return;
	xchg(&mr->key, 0);
	lo_slots_wait(mr);
	xa_erase(&lo_keys, mr->index);
	lo_mem_put(mr->mem);
	kfree_rcu(mr, rcu);
}

/* Finds the entry of a key, which may give no access.  Softirqs are disabled. */
struct lo_mr *lo_mr_find(u32 key)
{
	return xa_load(&lo_keys, key >> KEY_GEN_BITS);
}

static void mr_publish(struct lo_mr *mr)
{
	/* Release: publishes the other members.  Pairs with the acquire in mr_covers(). */
	smp_store_release(&mr->key, mr->next);
}

/*
 * Puts a key into effect, for which lo_mr_set() was called.  The caller keeps the key from being
 * freed.  Context: softirqs disabled.  Returns false if the key is another or is in effect already.
 */
bool lo_mr_open(const struct dat_pz *pz, u32 key)
{
	struct lo_mr *mr = lo_mr_find(key);

	if (!mr || mr->next != key || mr->pz != pz || READ_ONCE(mr->key))
		return false;
	mr_publish(mr);
	return true;
}

/*
 * Ends a key.  On return no copy uses the memory through the key.  Waits for a slice of each copy
 * that uses @mr; the caller holds the lock of no slot.  Context: any but hard interrupt.  Returns
 * false if the key was not in effect.
 */
bool lo_mr_kill(struct lo_mr *mr, u32 key)
{
	bool killed = key && cmpxchg(&mr->key, key, 0) == key;

	/* Wait even if another thread has just ended the key: that thread may still be waiting. */
	lo_slots_wait(mr);
	return killed;
}

/* Gives the registration of an LMR a key. */
static int lmr_add_key(struct dat_lmr *lmr, struct lo_mem *mem, u64 offset)
{
	struct lo_mr *mr = lo_mr_alloc();
	int ret;

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	to_lo_lmr(lmr)->mr = mr;
	ret = lo_mr_set(mr, lmr->pz, mem, offset, lmr->start, lmr->length, lmr->priv);
	if (ret)
		return ret;
	mr_publish(mr);
	lmr->lkey = mr->key;
	return 0;
}

int lo_lmr_user(struct dat_lmr *lmr)
{
	bool write = lmr->priv & (DAT_PRIV_LOCAL_WRITE | DAT_PRIV_REMOTE_WRITE);
	struct lo_mem *mem = mem_pin(lmr->start, lmr->length, write);
	int ret;

	if (IS_ERR(mem))
		return PTR_ERR(mem);
	to_lo_lmr(lmr)->mem = mem;
	ret = lmr_add_key(lmr, mem, offset_in_page(lmr->start));
	lmr->rkey = lmr->lkey;
	return ret;
}

/*
 * Registers memory of the kernel.  Contiguous memory that no peer uses needs no key of its own, as
 * on a device.
 */
int lo_lmr_kernel(struct dat_lmr *lmr)
{
	bool remote = lmr->priv & (DAT_PRIV_REMOTE_READ | DAT_PRIV_REMOTE_WRITE);
	struct scatterlist *sgl = lmr->mem->sgt.sgl;
	u32 n = lmr->mem->sgt.nents;
	struct lo_mem *mem;
	int ret;

	if (n > 1 || remote) {
		if (sg_has_holes(sgl, n, lmr->start))
			return -EINVAL;
		if (n > lmr->obj.ia->dev->limits.fast_reg_pages)
			return -E2BIG;
	}
	mem = mem_alloc(n);
	if (!mem)
		return -ENOMEM;
	to_lo_lmr(lmr)->mem = mem;
	ret = mem_of_sg(mem, lmr->mem);
	if (ret)
		return ret;
	if (lmr->length > mem->length)
		return -EINVAL;
	if (n == 1 && !remote) {
		lmr->shift = sg_dma_address(sgl) - lmr->start;
		lmr->lkey = lmr->pz->dma_key;
		return 0;
	}
	ret = lmr_add_key(lmr, mem, 0);
	if (remote)
		lmr->rkey = lmr->lkey;
	return ret;
}

/*
 * Returns the memory of an LMR, with a reference, and sets *@offset to the offset of the first byte
 * of the LMR.  Returns NULL if the LMR is shut down, perhaps by another thread at this moment.
 */
struct lo_mem *lo_lmr_mem(struct dat_lmr *lmr, u64 *offset)
{
	struct lo_lmr *llmr = to_lo_lmr(lmr);
	struct lo_mem *mem;

	spin_lock_bh(&lmr->lock);
	mem = llmr->mem;
	if (mem)
		mem_get(mem);
	*offset = llmr->mr ? llmr->mr->offset : 0;
	spin_unlock_bh(&lmr->lock);
	return mem;
}

void lo_lmr_exit(struct dat_lmr *lmr)
{
	struct lo_lmr *llmr = to_lo_lmr(lmr);
	struct lo_mem *mem;
	struct lo_mr *mr;

	spin_lock_bh(&lmr->lock);
	mem = llmr->mem;
	mr = llmr->mr;
	llmr->mem = NULL;
	llmr->mr = NULL;
	spin_unlock_bh(&lmr->lock);
	lo_mr_free(mr);
	lo_mem_put(mem);
}

int lo_lmr_empty(struct dat_lmr *lmr, u32 max_pages)
{
	struct lo_lmr *llmr = to_lo_lmr(lmr);
	struct lo_mr *mr;

	lo_lmr_exit(lmr);
	llmr->mem = mem_alloc(max_pages);
	if (!llmr->mem)
		return -ENOMEM;
	mr = lo_mr_alloc();
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	llmr->mr = mr;
	return lo_mr_set(mr, lmr->pz, llmr->mem, 0, 0, 0, 0);
}

/* Counts the generation.  0 as a key would mean that the key gives no access. */
static u32 key_next(u32 key)
{
	return (key & ~KEY_GEN_MASK) | ((key + 1) & KEY_GEN_MASK);
}

/* The previous key has ended, so no copy uses the memory.  Allocates nothing. */
int lo_lmr_map(struct dat_lmr *lmr, struct dat_kmem *mem, u32 max_pages, u64 start, u32 priv,
	       struct dat_keys *keys)
{
	struct lo_lmr *llmr = to_lo_lmr(lmr);
	struct lo_mr *mr = llmr->mr;
	int ret;

	if (sg_has_holes(mem->sgt.sgl, mem->sgt.nents, start))
		return -EINVAL;
	ret = mem_of_sg(llmr->mem, mem);
	if (ret)
		return ret;
	mr->next = key_next(mr->next);
	ret = lo_mr_set(mr, lmr->pz, llmr->mem, 0, start, llmr->mem->length, priv);
	if (ret)
		return ret;
	keys->lkey = mr->next;
	keys->rkey = priv & (DAT_PRIV_REMOTE_READ | DAT_PRIV_REMOTE_WRITE) ? mr->next : 0;
	return 0;
}

void lo_lmr_build(struct dat_lmr *lmr, u8 op, union dat_send_wr *out)
{
	u32 key = to_lo_lmr(lmr)->mr->next;

	if (op == DAT_KOP_LMR_INVALIDATE) {
		out->wr.opcode = IB_WR_LOCAL_INV;
		out->wr.ex.invalidate_rkey = key;
		return;
	}
	out->wr.opcode = IB_WR_REG_MR;
	out->reg.key = key;
}

/* Called at the end of the module, when no object is left. */
void lo_keys_exit(void)
{
	WARN_ON(!xa_empty(&lo_keys));
	xa_destroy(&lo_keys);
}
