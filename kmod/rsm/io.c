// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The call DAT_IOC_RSM_IO, and transfers within the host; see rsm/stage.c for transfers through an
 * adapter.  A transfer copies between the pages of a segment and the caller's memory.  A read-side
 * section of rsm_transfers covers at most one page and has no page faults; see the top of rsm.h.
 * No lock is held while the caller's pages are faulted in.
 */
#include <linux/highmem.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "lib/device.h"
#include "rsm/ring.h"

#define IO_WORDS	32	/* number of u64 words in a buffer */
#define IO_FLAGS	(DAT_RSM_SIGPOST | DAT_RSM_NO_ACCUMULATE | DAT_RSM_INTERRUPTIBLE)

/* A DAT_IOC_RSM_IO call in progress. */
struct io {
	struct rsm_ctx		*ctx;
	struct rsm_import	*imp;	/* the call holds a reference */
	bool			put;	/* flag: the call writes to the segment */
};

/*
 * Maps the page that contains byte @offset.  The caller has checked the offset, but the CPU may
 * speculate past the check.  The caller is in a read-side section of rsm_transfers, and passes the
 * result to kunmap_local().
 */
static void *mem_byte(const struct rsm_mem *mem, u64 offset)
{
	u32 page = array_index_nospec(offset >> PAGE_SHIFT, mem->npages);

	return kmap_local_page(mem->pages[page]) + offset_in_page(offset);
}

/* Returns the number of bytes from @offset to the end of the page, but at most @left. */
static u32 mem_chunk(u64 offset, u64 left)
{
	return min_t(u64, left, PAGE_SIZE - offset_in_page(offset));
}

/* Maps a page of the segment as mem_byte() does.  Returns NULL if the import is cut. */
static void *io_map(const struct io *io, u64 offset)
{
	if (READ_ONCE(io->imp->obj.cut))
		return NULL;
	return mem_byte(srcu_dereference(io->imp->export->mem, &rsm_transfers), offset);
}

/*
 * Copies @n bytes between a page of the segment and user memory.  Returns -EFAULT if the caller
 * must first fault in the user memory at @addr, or -ECONNABORTED if the import is cut.
 */
static int io_copy_user(const struct io *io, u64 offset, u64 addr, u32 n)
{
	int idx, ret = -ECONNABORTED;
	void *va;

	idx = srcu_read_lock(&rsm_transfers);
	va = io_map(io, offset);
	if (va) {
		ret = io->put ? copy_from_user_nofault(va, (void __user *)addr, n) :
				copy_to_user_nofault((void __user *)addr, va, n);
		kunmap_local(va);
	}
	srcu_read_unlock(&rsm_transfers, idx);
	return ret;
}

static int io_fault_in(const struct io *io, u64 addr, u32 n)
{
	size_t left;

	if (!access_ok((void __user *)addr, n))
		return -EFAULT;
	left = io->put ? fault_in_readable((void __user *)addr, n) :
			 fault_in_safe_writeable((void __user *)addr, n);
	return left ? -EFAULT : 0;
}

static int io_user(const struct io *io, const struct dat_rsm_ioent *e)
{
	u64 done = 0;
	int ret = 0;
	u32 n;

	while (!ret && done < e->length) {
		/* The loop may be endless if another thread unmaps the memory repeatedly. */
		if (fatal_signal_pending(current))
			return -EINTR;
		n = mem_chunk(e->offset + done, e->length - done);
		ret = io_copy_user(io, e->offset + done, e->addr + done, n);
		if (ret == -EFAULT)
			ret = io_fault_in(io, e->addr + done, n);
		else
			done += n;
		cond_resched();
	}
	return ret;
}

/* Copies one element of @width bytes at a time, so that readers never see a torn element. */
static void io_copy_words(void *to, const void *from, u32 n, u32 width)
{
	u32 i;

	for (i = 0; i < n; i += width) {
		if (width == 8)
			WRITE_ONCE(*(u64 *)(to + i), READ_ONCE(*(const u64 *)(from + i)));
		else if (width == 4)
			WRITE_ONCE(*(u32 *)(to + i), READ_ONCE(*(const u32 *)(from + i)));
		else
			WRITE_ONCE(*(u16 *)(to + i), READ_ONCE(*(const u16 *)(from + i)));
	}
}

static int io_copy_buf(const struct io *io, u64 offset, u64 *buf, u32 n, u32 width)
{
	void *va;
	int idx;

	idx = srcu_read_lock(&rsm_transfers);
	va = io_map(io, offset);
	if (va) {
		if (io->put)
			io_copy_words(va, buf, n, width);
		else
			io_copy_words(buf, va, n, width);
		kunmap_local(va);
	}
	srcu_read_unlock(&rsm_transfers, idx);
	return va ? 0 : -ECONNABORTED;
}

static int io_words(const struct io *io, const struct dat_rsm_ioent *e)
{
	u64 buf[IO_WORDS], done = 0;
	void __user *user;
	int ret = 0;
	u32 n;

	while (!ret && done < e->length) {
		if (fatal_signal_pending(current))
			return -EINTR;
		n = min_t(u32, mem_chunk(e->offset + done, e->length - done), sizeof(buf));
		user = (void __user *)(e->addr + done);
		if (io->put && copy_from_user(buf, user, n))
			return -EFAULT;
		ret = io_copy_buf(io, e->offset + done, buf, n, e->width);
		if (!ret && !io->put && copy_to_user(user, buf, n))
			return -EFAULT;
		done += n;
		cond_resched();
	}
	return ret;
}

/*
 * Copies @n bytes between a segment and local memory.  On each side, the bytes are within one page.
 * Segment and local memory may be the same page.
 */
static int io_copy_local(const struct io *io, u64 offset, struct rsm_localmem *lm, u64 at, u32 n)
{
	int idx, ret = -ECONNABORTED;
	void *va, *local;

	idx = srcu_read_lock(&rsm_transfers);
	if (READ_ONCE(lm->obj.stopped)) {
		srcu_read_unlock(&rsm_transfers, idx);
		return -ESTALE;
	}
	va = io_map(io, offset);
	if (va) {
		local = mem_byte(srcu_dereference(lm->mem, &rsm_transfers), at);
		memmove(io->put ? va : local, io->put ? local : va, n);
		kunmap_local(local);
		kunmap_local(va);
		ret = 0;
	}
	srcu_read_unlock(&rsm_transfers, idx);
	return ret;
}

/* Checks that an entry is within the local memory @lm, and that a get may write to @lm. */
int rsm_localmem_check(struct rsm_localmem *lm, const struct dat_rsm_ioent *e, bool put)
{
	struct rsm_mem *mem;
	int idx, ret = 0;
	u64 end;

	idx = srcu_read_lock(&rsm_transfers);
	mem = srcu_dereference(lm->mem, &rsm_transfers);
	if (READ_ONCE(lm->obj.stopped))
		ret = -ESTALE;
	else if (check_add_overflow(e->addr, e->length, &end) || end > mem->length)
		ret = -EMSGSIZE;
	else if (!put && !mem->writable)
		ret = -EFAULT;
	srcu_read_unlock(&rsm_transfers, idx);
	return ret;
}

/*
 * Copies @n bytes from local memory to @buf if @from is set, else from @buf to local memory.  The
 * caller has checked the range.  Returns -ESTALE if the local memory was freed.
 */
int rsm_localmem_copy(struct rsm_localmem *lm, u64 at, void *buf, u32 n, bool from)
{
	u32 done, part;
	void *va;
	int idx;

	for (done = 0; done < n; done += part) {
		part = mem_chunk(at + done, n - done);
		idx = srcu_read_lock(&rsm_transfers);
		if (READ_ONCE(lm->obj.stopped)) {
			srcu_read_unlock(&rsm_transfers, idx);
			return -ESTALE;
		}
		va = mem_byte(srcu_dereference(lm->mem, &rsm_transfers), at + done);
		memcpy(from ? buf + done : va, from ? va : buf + done, part);
		kunmap_local(va);
		srcu_read_unlock(&rsm_transfers, idx);
	}
	return 0;
}

static int io_local(const struct io *io, const struct dat_rsm_ioent *e)
{
	struct rsm_localmem *lm;
	struct rsm_obj *obj;
	u64 done = 0;
	int ret;
	u32 n;

	obj = rsm_obj_get(io->ctx, DAT_RSM_TYPE_LOCALMEM, e->localmem);
	if (!obj)
		return -ESTALE;
	lm = to_rsm_localmem(obj);
	ret = rsm_localmem_check(lm, e, io->put);
	while (!ret && done < e->length) {
		if (fatal_signal_pending(current)) {
			ret = -EINTR;
			break;
		}
		n = mem_chunk(e->addr + done, e->length - done);
		n = mem_chunk(e->offset + done, n);
		ret = io_copy_local(io, e->offset + done, lm, e->addr + done, n);
		done += n;
		cond_resched();
	}
	rsm_obj_put(obj);
	return ret;
}

/* Checks the fields of an entry against the segment, without access to the caller's memory. */
int rsm_io_entry_check(const struct rsm_import *imp, const struct dat_rsm_ioent *e)
{
	u64 size = imp->length, end;

	if (!is_power_of_2(e->width) || e->width > 8 || (e->localmem && e->width > 1))
		return -EBADR;
	if ((e->offset | e->length) & (e->width - 1))
		return -EDOM;
	if (e->offset > size)
		return -ERANGE;
	if (check_add_overflow(e->offset, e->length, &end) || end > size)
		return -EMSGSIZE;
	return 0;
}

static int io_entry(const struct io *io, const struct dat_rsm_ioent *e)
{
	int ret = rsm_io_entry_check(io->imp, e);

	if (ret)
		return ret;
	if (e->localmem)
		ret = io_local(io, e);
	else
		ret = e->width > 1 ? io_words(io, e) : io_user(io, e);
	/* Order this entry before the next entry, for readers of the segment on other CPUs. */
	smp_mb();
	return ret;
}

static int io_check(const struct io *io, const struct dat_rsm_io *arg)
{
	if (!arg->count || arg->count > DAT_RSM_MAX_IO)
		return -EBADR;
	if (smp_load_acquire(&io->imp->obj.cut))	/* pairs with rsm_obj_cut() */
		return -ECONNABORTED;
	if (!(io->imp->perm & (io->put ? DAT_RSM_WRITE : DAT_RSM_READ)))
		return -EACCES;
	return 0;
}

static int io_entries(const struct io *io, const struct dat_rsm_ioent *e, struct dat_rsm_io *arg)
{
	struct rsm_transfer t = {
		.ctx = io->ctx, .imp = io->imp, .put = io->put, .e = e, .count = arg->count,
		.interruptible = arg->flags & DAT_RSM_INTERRUPTIBLE,
	};
	int ret = 0;

	if (io->imp->remote) {
		ret = rsm_stage_io(&t);
		arg->done = t.done;
		return ret;
	}
	for (; !ret && arg->done < arg->count; arg->done += !ret)
		ret = io_entry(io, &e[arg->done]);
	return ret;
}

/* Returns true if @page is the page with index @i of the local memory @lm. */
static bool localmem_is(struct rsm_localmem *lm, u64 i, const struct page *page)
{
	struct rsm_mem *mem;
	bool is;
	int idx;

	idx = srcu_read_lock(&rsm_transfers);
	mem = srcu_dereference(lm->mem, &rsm_transfers);
	is = !READ_ONCE(lm->obj.stopped) && page == mem->pages[array_index_nospec(i, mem->npages)];
	srcu_read_unlock(&rsm_transfers, idx);
	return is;
}

/*
 * Returns true if all pages of an entry's memory are mapped with the access that the transfer
 * needs, and are ordinary memory.  If the entry names local memory, the pages must be mapped where
 * the local memory was locked.  The function only reads page tables, so it returns false for a page
 * that an access would fault in.  Also returns false if the process is being killed.
 */
static bool entry_mapped(const struct dat_rsm_ioent *e, struct rsm_localmem *lm, bool put)
{
	u64 addr = lm ? lm->addr + e->addr : e->addr;
	u64 at = addr & PAGE_MASK, first = e->addr >> PAGE_SHIFT, i;
	struct page *page;
	bool is;

	for (i = 0; at < addr + e->length; i++, at += PAGE_SIZE) {
		if (fatal_signal_pending(current) ||
		    !get_user_page_fast_only(at, put ? 0 : FOLL_WRITE, &page))
			return false;
		is = !lm || localmem_is(lm, first + i, page);
		put_page(page);
		if (!is)
			return false;
		cond_resched();
	}
	return true;
}

static bool io_entry_mapped(const struct io *io, const struct dat_rsm_ioent *e)
{
	struct rsm_obj *obj;
	bool mapped;

	if (!e->length)
		return true;
	if (!e->localmem)
		return entry_mapped(e, NULL, io->put);
	obj = rsm_obj_get(io->ctx, DAT_RSM_TYPE_LOCALMEM, e->localmem);
	if (!obj)
		return false;
	mapped = entry_mapped(e, to_rsm_localmem(obj), io->put);
	rsm_obj_put(obj);
	return mapped;
}

/*
 * Returns true if librsm may transfer the same entries through a ring the next time, without a
 * system call.  Returns false if the entries together are longer than the data area of a ring.
 */
static bool io_mapped(const struct io *io, const struct dat_rsm_ioent *e, u32 count)
{
	u64 left = RSM_RING_DATA;
	u32 i;

	for (i = 0; i < count; i++) {
		if (e[i].length > left || !io_entry_mapped(io, &e[i]))
			return false;
		left -= e[i].length;
	}
	return true;
}

static int io_run(const struct io *io, struct dat_rsm_io *arg)
{
	struct dat_rsm_ioent e[DAT_RSM_MAX_IO];
	int ret = io_check(io, arg);

	arg->done = 0;
	arg->mapped = 0;
	if (ret)
		return ret;
	ret = dat_check_entry_size(arg->entry_size, sizeof(e[0]));
	if (ret)
		return ret;
	ret = dat_copy_array_from(e, sizeof(e[0]), arg->entries, arg->entry_size, arg->count);
	if (ret)
		return ret;
	ret = io_entries(io, e, arg);
	if (!ret && io->imp->remote)
		arg->mapped = io_mapped(io, e, arg->count);
	if (!ret && arg->flags & DAT_RSM_SIGPOST)
		ret = rsm_import_post(io->imp, arg->flags & DAT_RSM_NO_ACCUMULATE);
	return ret;
}

int rsm_io(struct dat_ucmd *ucmd)
{
	struct dat_rsm_io *arg = ucmd->arg;
	struct io io = { .ctx = ucmd->bound, .put = arg->op == DAT_RSM_PUT };
	struct rsm_obj *obj;
	int ret;

	if (arg->op > DAT_RSM_GET || arg->flags & ~IO_FLAGS || arg->rsvd)
		return -EOPNOTSUPP;
	obj = rsm_obj_get(ucmd->bound, DAT_RSM_TYPE_IMPORT, arg->id);
	if (!obj)
		return -EBADF;
	io.imp = to_rsm_import(obj);
	/*
	 * Pairs with the smp_mb() of obj_stop().  Either obj_stop() sees the reference of this
	 * call, or this call sees that the import is cut.
	 */
	smp_mb__after_atomic();
	ret = io_run(&io, arg);
	rsm_obj_put(obj);
	return ret;
}
