// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Pinned memory of RSM segments, and locked local memory for transfers. */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "rsm/rdma.h"

#define PIN_BATCH	512U
/* Memory privileges with which an adapter registers a segment. */
#define RSM_PRIV	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG |	\
			 DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/* Total number of pages of all segments that this host exports. */
static atomic_long_t exported_pages;

/* Returns the limit on the memory of all segments of this host, in bytes. */
u64 rsm_mem_budget(void)
{
	unsigned int percent = READ_ONCE(rsm_max_exported);

	if (!percent || percent > 100)
		percent = 100;
	return (u64)totalram_pages() * percent / 100 << PAGE_SHIFT;
}

/* Returns true if all of [addr, addr + length) is mapped, with any protection.  Takes mmap_lock. */
static bool mem_mapped(u64 addr, u64 length)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	u64 at = addr;

	mmap_read_lock(mm);
	while (at < addr + length) {
		vma = vma_lookup(mm, at);
		if (!vma)
			break;
		at = vma->vm_end;
	}
	mmap_read_unlock(mm);
	return at >= addr + length;
}

static bool mem_budget_take(u32 npages)
{
	if ((u64)atomic_long_add_return(npages, &exported_pages) << PAGE_SHIFT <= rsm_mem_budget())
		return true;
	atomic_long_sub(npages, &exported_pages);
	return false;
}

static int mem_charge(struct mm_struct *mm, u32 npages, bool exported)
{
	u64 limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	u64 pinned = atomic64_add_return(npages, &mm->pinned_vm);

	if (pinned > limit && !capable(CAP_IPC_LOCK))
		goto err_uncharge;
	if (exported && !mem_budget_take(npages))
		goto err_uncharge;
	return 0;

err_uncharge:
	atomic64_sub(npages, &mm->pinned_vm);
	return -ENOMEM;
}

static void mem_uncharge(struct mm_struct *mm, u32 npages, u32 budget)
{
	atomic_long_sub(budget, &exported_pages);
	atomic64_sub(npages, &mm->pinned_vm);
}

static void mem_free(struct rsm_mem *mem)
{
	mmdrop(mem->mm);
	kvfree(mem->pages);
	kfree(mem);
}

static struct rsm_mem *mem_alloc(u64 length, bool exported)
{
	struct rsm_mem *mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);

	if (!mem)
		return NULL;
	mem->mm = current->mm;
	mmgrab(mem->mm);
	mem->length = length;
	mem->exported = exported;
	return mem;
}

/*
 * Pins pages of the memory at @addr until @npages pages are pinned.  Returns 0 or a negative errno.
 * Sets mem->npages to the number of pinned pages, which the caller must unpin even after an error.
 */
static int mem_pin_pages(struct rsm_mem *mem, u64 addr, u32 npages, unsigned int gup)
{
	int n;

	while (mem->npages < npages) {
		if (fatal_signal_pending(current))
			return -EINTR;
		n = pin_user_pages_fast(addr + ((u64)mem->npages << PAGE_SHIFT),
					min(npages - mem->npages, PIN_BATCH), gup,
					&mem->pages[mem->npages]);
		if (n <= 0)
			return n ? n : -EFAULT;
		mem->npages += n;
		cond_resched();
	}
	return 0;
}

static void mem_unpin_pages(struct rsm_mem *mem)
{
	u32 at, n;

	for (at = 0; at < mem->npages; at += n) {
		n = min(mem->npages - at, PIN_BATCH);
		unpin_user_pages_dirty_lock(mem->pages + at, n, mem->writable);
		cond_resched();
	}
	mem->npages = 0;
}

/*
 * Allocates an array for @npages pages.  kvmalloc() refuses more than INT_MAX bytes, of which the
 * array for RSM_MAX_LENGTH has one more.
 */
static struct page **mem_alloc_pages(u32 npages)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NOWARN;

	if (npages > INT_MAX / sizeof(struct page *))
		return __vmalloc_array(npages, sizeof(struct page *), gfp);
	return kvmalloc_array(npages, sizeof(struct page *), gfp);
}

/*
 * Pins memory and sets mem->writable.  Local memory may be read-only, because a put only reads
 * local memory.  The pin of a private read-only mapping uses FOLL_FORCE and FOLL_WRITE, which break
 * copy-on-write before the pages are pinned, so the process keeps seeing the pinned pages.  The
 * kernel refuses the two flags for a shared read-only mapping, which has no copies, so the pages of
 * such a mapping are pinned one by one without the flags.  After an error, the caller unpins the
 * pages in @mem.
 */
static int mem_pin_some_way(struct rsm_mem *mem, u64 addr, u32 npages)
{
	int ret;

	mem->pages = mem_alloc_pages(npages);
	if (!mem->pages)
		return -ENOMEM;

	mem->writable = true;
	ret = mem_pin_pages(mem, addr, npages, FOLL_WRITE | FOLL_LONGTERM);
	if (ret != -EFAULT || mem->exported)
		return ret;
	mem_unpin_pages(mem);
	mem->writable = false;
	for (;;) {
		ret = mem_pin_pages(mem, addr, npages, FOLL_WRITE | FOLL_FORCE | FOLL_LONGTERM);
		if (ret != -EFAULT)
			return ret;
		ret = mem_pin_pages(mem, addr, mem->npages + 1, FOLL_LONGTERM);
		if (ret)
			return ret;
	}
}

static int mem_error(int err, u64 addr, u64 length, bool exported)
{
	if (err == -EFAULT)
		return exported && mem_mapped(addr, length) ? -EACCES : -EFAULT;
	return err == -EINTR ? -EINTR : -ENOMEM;
}

static int mem_check(u64 addr, u64 length)
{
	if (addr + length < addr || !access_ok((void __user *)addr, length))
		return -EFAULT;
	if (length > RSM_MAX_LENGTH)
		return -EMSGSIZE;
	if (length > (u64)totalram_pages() << PAGE_SHIFT)
		return mem_mapped(addr, length) ? -ENOMEM : -EFAULT;
	return 0;
}

/*
 * Pins memory of the current process, including the whole last page.  Memory of a segment must be
 * writable and counts against rsm_mem_budget().  Context: may sleep; takes mmap_lock.
 *
 * Returns -EMSGSIZE if @length exceeds RSM_MAX_LENGTH; -EFAULT if part of the memory is not mapped,
 * or if local memory cannot be pinned; -EACCES if memory of a segment is mapped but cannot be
 * pinned for writing; -ENOMEM if memory is short, if @length exceeds the host's memory, or if the
 * pages exceed RLIMIT_MEMLOCK or the budget; -EINTR if the process is being killed.
 */
int rsm_mem_pin(u64 addr, u64 length, bool exported, struct rsm_mem **out)
{
	struct rsm_mem *mem;
	u32 npages;
	int ret;

	ret = mem_check(addr, length);
	if (ret)
		return ret;
	npages = PAGE_ALIGN(length) >> PAGE_SHIFT;
	/* Charge the limits before the array of page pointers is allocated. */
	ret = mem_charge(current->mm, npages, exported);
	if (ret)
		return ret;
	mem = mem_alloc(length, exported);
	if (!mem) {
		ret = -ENOMEM;
		goto err_uncharge;
	}
	mem->budget = exported ? npages : 0;
	ret = mem_pin_some_way(mem, addr, npages);
	if (ret) {
		ret = mem_error(ret, addr, length, exported);
		goto err_unpin;
	}
	*out = mem;
	return 0;

err_unpin:
	mem_unpin_pages(mem);
	mem_free(mem);
err_uncharge:
	mem_uncharge(current->mm, npages, exported ? npages : 0);
	return ret;
}

/*
 * Deregisters or unpins the memory, and frees @mem, which may be NULL.  No transfer may use @mem.
 * Context: may sleep.
 */
void rsm_mem_unpin(struct rsm_mem *mem)
{
	if (!mem)
		return;
	if (mem->lmr)
		kdat_lmr_free(mem->lmr);
	mem_uncharge(mem->mm, mem->npages, mem->budget);
	mem_unpin_pages(mem);
	mem_free(mem);
}

static int mem_register_error(int err, u64 addr, u64 length)
{
	if (err == -ENODEV || err == -EMSGSIZE)
		return err;
	return mem_error(err, addr, length, true);
}

/*
 * Registers memory of the current process with an adapter, in the protection zone @pz of the
 * segment.  The registration pins the pages and charges RLIMIT_MEMLOCK.  Returns -ENODEV if the
 * device is gone; -EMSGSIZE also if the device registers less; or another error of rsm_mem_pin().
 * Context: may sleep; takes mmap_lock.
 */
int rsm_mem_register(void *pz, u64 addr, u64 length, struct rsm_mem **out)
{
	struct rsm_mem *mem;
	int ret;

	ret = mem_check(addr, length);
	if (ret)
		return ret;
	mem = mem_alloc(length, true);
	if (!mem)
		return -ENOMEM;
	if (!mem_budget_take(length >> PAGE_SHIFT)) {
		mem_free(mem);
		return -ENOMEM;
	}
	mem->budget = length >> PAGE_SHIFT;
	ret = kdat_lmr_of_user(pz, addr, length, RSM_PRIV, &mem->lmr, &mem->rkey);
	if (ret) {
		rsm_mem_unpin(mem);
		return mem_register_error(ret, addr, length);
	}
	*out = mem;
	return 0;
}

static void localmem_drop(struct rsm_obj *obj)
{
	rsm_mem_unpin(rcu_dereference_protected(to_rsm_localmem(obj)->mem, true));
}

static void localmem_show(struct seq_file *m, const struct rsm_obj *obj)
{
	seq_printf(m, "rsm-localmem:\tid=%u\n", obj->id);
}

static const struct rsm_obj_ops localmem_ops = {
	.type	= DAT_RSM_TYPE_LOCALMEM,
	.drop	= localmem_drop,
	.show	= localmem_show,
};

int rsm_localmem_create(struct dat_ucmd *ucmd)
{
	struct dat_rsm_localmem *arg = ucmd->arg;
	struct rsm_localmem *lm;
	struct rsm_mem *mem;
	int ret;

	/* Any controller can use the pinned pages, so only check that arg->ctlr exists. */
	if (!rsm_ctlr_present(rsm_ucmd_ctx(ucmd)->node, arg->ctlr))
		return -ENODEV;
	if (!arg->addr || !PAGE_ALIGNED(arg->addr))
		return -EFAULT;
	if (!arg->length)
		return -EMSGSIZE;
	ret = rsm_mem_pin(arg->addr, arg->length, false, &mem);
	if (ret)
		return ret;
	lm = kzalloc(sizeof(*lm), GFP_KERNEL_ACCOUNT);
	if (!lm) {
		ret = -ENOMEM;
		goto err_unpin;
	}
	ret = rsm_obj_setup(ucmd->bound, &lm->obj, &localmem_ops);
	if (ret)
		goto err_free;
	RCU_INIT_POINTER(lm->mem, mem);
	lm->addr = arg->addr;
	arg->id = lm->obj.id;
	return rsm_obj_publish(ucmd, &lm->obj);

err_free:
	kfree(lm);
err_unpin:
	rsm_mem_unpin(mem);
	return ret;
}
