// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Reading and writing of segments.
 *
 * A single transfer uses the window if the import has a window.  The library then copies the data
 * and checks the generation, without a system call.  Without a window, the transfer uses the ring
 * if the import has a ring (ring_xfer.c).  A vector uses the ring if its entries are correct and
 * its memory is known to be valid.  In all other cases the driver performs the transfer in one
 * call, which also detects invalid memory.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "librsm.h"

static int driver_io(const struct rsm_import *imp, int put, struct dat_rsm_io *arg)
{
	arg->size = sizeof(*arg);
	arg->id = imp->seg.id;
	arg->op = put ? DAT_RSM_PUT : DAT_RSM_GET;
	arg->entry_size = sizeof(struct dat_rsm_ioent);
	return rsm_call(imp->seg.ctx, DAT_IOC_RSM_IO, arg);
}

/* Map the whole segment.  Returns NULL if the segment has no window. */
static char *window_make(struct rsm_import *imp)
{
	int prot = imp->perm & RSM_PERM_WRITE ? PROT_READ | PROT_WRITE : PROT_READ;
	void *va = MAP_FAILED;

	pthread_mutex_lock(&imp->seg.lock);
	if (!imp->window && !imp->no_window) {
		if (imp->map_offset && imp->perm & RSM_PERM_READ && !rsm_ctx_closed(imp->seg.ctx))
			va = mmap(NULL, imp->length, prot, MAP_SHARED, imp->seg.ctx->file.fd,
				  (off_t)imp->map_offset);
		if (va == MAP_FAILED)
			__atomic_store_n(&imp->no_window, 1, __ATOMIC_RELEASE);
		else
			__atomic_store_n(&imp->window, (char *)va, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&imp->seg.lock);
	return imp->window;
}

static char *window_of(struct rsm_import *imp)
{
	char *window = __atomic_load_n(&imp->window, __ATOMIC_ACQUIRE);

	if (window || __atomic_load_n(&imp->no_window, __ATOMIC_ACQUIRE))
		return window;
	return window_make(imp);
}

#define AS_IT_IS(v)	(v)

#define COPY_WHOLE(bits, how, fn)							\
static void copy_##how##bits(volatile uint##bits##_t *to,				\
			     const volatile uint##bits##_t *from, uint64_t n)		\
{											\
	while (n--)									\
		*to++ = fn(*from++);							\
}

COPY_WHOLE(16, whole, AS_IT_IS)
COPY_WHOLE(32, whole, AS_IT_IS)
COPY_WHOLE(64, whole, AS_IT_IS)
COPY_WHOLE(16, swapped, __builtin_bswap16)
COPY_WHOLE(32, swapped, __builtin_bswap32)
COPY_WHOLE(64, swapped, __builtin_bswap64)

static void copy_swapped(void *to, const void *from, uint64_t n, uint32_t width)
{
	if (width == 8)
		copy_swapped64(to, from, n / 8);
	else if (width == 4)
		copy_swapped32(to, from, n / 4);
	else
		copy_swapped16(to, from, n / 2);
}

void rsm_copy(void *to, const void *from, uint64_t n, const struct rsm_xfer *x)
{
	if (!x->whole)
		memcpy(to, from, n);
	else if (x->imp->swapped)
		copy_swapped(to, from, n, x->width);
	else if (x->width == 8)
		copy_whole64(to, from, n / 8);
	else if (x->width == 4)
		copy_whole32(to, from, n / 4);
	else
		copy_whole16(to, from, n / 2);
}

static int through_driver(const struct rsm_xfer *x)
{
	struct dat_rsm_ioent e = {
		.addr = (uintptr_t)x->data, .offset = (uint64_t)x->offset,
		.length = x->count * x->width, .width = x->whole ? x->width : 1,
	};
	struct dat_rsm_io arg = { .count = 1, .entries = (uintptr_t)&e };

	/* The driver does not convert the byte order. */
	if (x->whole && x->imp->swapped)
		return RSMERR_INSUFFICIENT_RESOURCES;
	return driver_io(x->imp, x->put, &arg);
}

static int through_window(const struct rsm_xfer *x, char *window)
{
	char *at = window + x->offset;

	if (x->put)
		rsm_copy(at, x->data, x->count * x->width, x);
	else
		rsm_copy(x->data, at, x->count * x->width, x);
	/*
	 * When the connection is cut, the driver first changes the generation, and then replaces
	 * the pages of the window.  So if the generation has not changed yet, all data was copied
	 * to or from the segment.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return rsm_import_cut(x->imp) ? RSMERR_CONN_ABORTED : RSM_SUCCESS;
}

/*
 * Check that the range is inside the segment.  If the program has made a mapping, the range must
 * also be inside that mapping.
 */
static int xfer_check_range(const struct rsm_xfer *x)
{
	const struct rsm_import *imp = x->imp;
	uint64_t map_len = __atomic_load_n(&imp->map_len, __ATOMIC_ACQUIRE);
	uint64_t from = (uint64_t)x->offset, n;

	if (x->offset < 0)
		return RSMERR_BAD_OFFSET;
	if (__builtin_mul_overflow(x->count, (uint64_t)x->width, &n))
		return RSMERR_BAD_LENGTH;
	if (map_len && (from < imp->map_off || from - imp->map_off > map_len ||
			n > map_len - (from - imp->map_off)))
		return RSMERR_BAD_OFFSET;
	if (from > imp->length || n > imp->length - from)
		return RSMERR_BAD_LENGTH;
	return RSM_SUCCESS;
}

static int xfer_check(const struct rsm_xfer *x)
{
	int ret;

	if (x->whole && ((uintptr_t)x->data | (uint64_t)x->offset) & (x->width - 1))
		return RSMERR_BAD_MEM_ALIGNMENT;
	if (!(x->imp->perm & (x->put ? RSM_PERM_WRITE : RSM_PERM_READ)))
		return RSMERR_PERM_DENIED;
	ret = xfer_check_range(x);
	if (ret)
		return ret;
	if (rsm_import_implicit(x->imp) && !__atomic_load_n(&x->imp->implicit, __ATOMIC_RELAXED))
		return RSMERR_BARRIER_UNINITIALIZED;
	return RSM_SUCCESS;
}

static int has_ring(struct rsm_import *imp)
{
	if (__atomic_load_n(&imp->ring, __ATOMIC_ACQUIRE))
		return 1;
	return !__atomic_load_n(&imp->no_ring, __ATOMIC_ACQUIRE) && rsm_ring_make(imp);
}

static int xfer_run(const struct rsm_xfer *x)
{
	char *window = window_of(x->imp);

	if (window)
		return through_window(x, window);
	return has_ring(x->imp) ? rsm_ring_xfer(x) : through_driver(x);
}

static int xfer(const struct rsm_xfer *x)
{
	int ret;

	if (!x->imp)
		return RSMERR_BAD_SEG_HNDL;
	if (!x->data)
		return RSMERR_BAD_ADDR;
	ret = xfer_check(x);
	if (ret || !x->count)
		return ret;
	ret = xfer_run(x);
	/* In explicit mode, the next barrier reports the error. */
	if (ret == RSMERR_CONN_ABORTED && !rsm_import_implicit(x->imp))
		return RSM_SUCCESS;
	return ret;
}

#define XFER(handle, is_put, at, where, n, size, is_whole)				\
	xfer(&(struct rsm_xfer) { .imp = rsm_import_of(handle), .put = (is_put), .data = (at),	\
			      .offset = (where), .count = (n), .width = (size),		\
			      .whole = (is_whole) })

#define PUT_AND_GET(bits)								\
RSM_API int rsm_memseg_import_get##bits(rsm_memseg_import_handle_t im_memseg,		\
					off_t offset, uint##bits##_t *datap,		\
					ulong_t rep_cnt)				\
{											\
	return XFER(im_memseg, 0, datap, offset, rep_cnt, bits / 8, bits > 8);		\
}											\
RSM_API int rsm_memseg_import_put##bits(rsm_memseg_import_handle_t im_memseg,		\
					off_t offset, uint##bits##_t *datap,		\
					ulong_t rep_cnt)				\
{											\
	return XFER(im_memseg, 1, datap, offset, rep_cnt, bits / 8, bits > 8);		\
}

PUT_AND_GET(8)
PUT_AND_GET(16)
PUT_AND_GET(32)
PUT_AND_GET(64)

RSM_API int rsm_memseg_import_get(rsm_memseg_import_handle_t im_memseg, off_t offset,
				  void *dst_addr, size_t length)
{
	return XFER(im_memseg, 0, dst_addr, offset, length, 1, 0);
}

RSM_API int rsm_memseg_import_put(rsm_memseg_import_handle_t im_memseg, off_t offset,
				  void *src_addr, size_t length)
{
	return XFER(im_memseg, 1, src_addr, offset, length, 1, 0);
}

/* Vectors. */

/*
 * struct vector - a list of transfers in progress
 * @imp: import
 * @put: 1 for puts, 0 for gets
 * @e: entries in the format of the driver
 * @n: number of entries in @e
 * @part: non-empty entries
 * @entry: index in @e of each element of @part
 * @parts: number of elements in @part
 * @odd: flag: the driver must check the vector, because an entry exceeds the segment or its local
 *	memory, or because an empty entry has a local memory handle
 */
struct vector {
	struct rsm_import	*imp;
	int			put;
	struct dat_rsm_ioent	e[RSM_MAX_SGIOREQS];
	uint32_t		n;
	struct rsm_part		part[RSM_MAX_SGIOREQS];
	uint32_t		entry[RSM_MAX_SGIOREQS];
	uint32_t		parts;
	int			odd;
};

static int beyond(uint64_t from, uint64_t n, uint64_t length)
{
	return from > length || n > length - from;
}

/* Add an entry.  A non-empty entry also adds a part. */
static void vector_add(struct vector *v, const struct dat_rsm_ioent *e,
		       const struct rsm_localmem *lm)
{
	uint64_t addr = lm ? lm->addr + e->addr : e->addr;

	v->odd |= beyond(e->offset, e->length, v->imp->length) ||
		  (lm && (!e->length || beyond(e->addr, e->length, lm->length)));
	if (e->length) {
		v->part[v->parts] = (struct rsm_part) {
			.data = (char *)(uintptr_t)addr, .offset = e->offset, .n = e->length,
			.localmem = e->localmem,
		};
		v->entry[v->parts++] = v->n;
	}
	v->e[v->n++] = *e;
}

/* Translate an entry and check its handle.  The driver checks the ranges. */
static int vector_translate(struct vector *v, const rsm_iovec_t *io)
{
	struct dat_rsm_ioent e = {
		.addr = io->local_offset, .offset = io->remote_offset,
		.length = io->transfer_length, .width = 1,
	};
	const struct rsm_localmem *lm = NULL;

	if (io->io_type == RSM_HANDLE_TYPE) {
		lm = du_slot_of(io->local.handle, RSM_LOCALMEM);
		if (!lm || lm->ctx->foreign)
			return RSMERR_BAD_SGIO;
		e.localmem = lm->id;
	} else if (io->io_type != RSM_VA_TYPE) {
		return RSMERR_BAD_SGIO;
	} else if (!io->local.vaddr || __builtin_add_overflow((uintptr_t)io->local.vaddr, e.addr,
							      &e.addr)) {
		return RSMERR_BAD_ADDR;
	}
	vector_add(v, &e, lm);
	return RSM_SUCCESS;
}

/* Make the driver transfer the entry at index *@done and all later entries. */
static int vector_by_driver(const struct vector *v, uint32_t flags, uint32_t *done)
{
	struct dat_rsm_io arg = {
		.flags = flags | DAT_RSM_INTERRUPTIBLE, .count = v->n - *done,
		.entries = (uintptr_t)&v->e[*done],
	};
	uint32_t generation = rsm_mem_generation(v->imp->seg.ctx);
	/* Before this transfer, complete all earlier puts. */
	int ret = rsm_ring_drain(v->imp, 1);

	if (ret)
		return ret;
	ret = driver_io(v->imp, v->put, &arg);
	/* The memory of all parts is valid only if the driver has transferred the whole vector. */
	if (!ret && !*done && arg.mapped && has_ring(v->imp))
		rsm_ring_add_known(v->imp, generation, v->part, v->parts, v->put);
	*done += arg.done;
	return ret == RSMERR_BAD_LOCALMEM_HNDL ? RSMERR_BAD_SGIO : ret;
}

/*
 * Transfer the vector through the ring.  Returns RSM_BY_DRIVER if the driver must transfer the
 * entry at index *@done and all later entries.
 */
static int vector_by_ring(const struct vector *v, uint32_t flags, uint32_t *done)
{
	struct dat_rsm_post arg = {
		.size = sizeof(arg), .id = v->imp->seg.id, .flags = flags & DAT_RSM_NO_ACCUMULATE,
	};
	uint32_t parts;
	int ret = rsm_ring_parts(v->imp, v->part, v->parts, v->put, &parts);

	/* An empty entry counts as done when all entries before it are done. */
	*done = parts < v->parts ? v->entry[parts] : v->n;
	/*
	 * After the signal, rsm_ring_parts() has waited for the parts in flight.  If this wait has
	 * completed the whole vector, ignore the signal.
	 */
	if (ret == RSMERR_INTERRUPTED && *done == v->n)
		ret = RSM_SUCCESS;
	if (!ret && flags & DAT_RSM_SIGPOST)
		ret = rsm_call(v->imp->seg.ctx, DAT_IOC_RSM_POST, &arg);
	return ret;
}

static uint32_t sigpost_flags(uint_t flags)
{
	uint32_t f = 0;

	if (flags & RSM_IMPLICIT_SIGPOST) {
		f = DAT_RSM_SIGPOST;
		if (flags & RSM_SIGPOST_NO_ACCUMULATE)
			f |= DAT_RSM_NO_ACCUMULATE;
	}
	return f;
}

static int vector_go(const struct vector *v, uint32_t flags, uint32_t *done)
{
	int ret = RSM_BY_DRIVER;

	/*
	 * If @odd is not set, the vector has passed every check but the check of the memory, so the
	 * ring may be used.  If there is no ring yet, vector_by_driver() makes one.
	 */
	if (v->parts && !v->odd && __atomic_load_n(&v->imp->ring, __ATOMIC_ACQUIRE))
		ret = vector_by_ring(v, flags, done);
	if (ret == RSM_BY_DRIVER)
		ret = vector_by_driver(v, flags, done);
	return ret;
}

/*
 * Transfer the valid entries that precede a bad entry.  An error of those transfers takes
 * precedence over the error of the bad entry.
 */
static int vector_run(struct rsm_import *imp, rsm_scat_gath_t *sg, ulong_t count, int put)
{
	uint32_t done = 0, flags = sigpost_flags(sg->flags);
	int ret = RSM_SUCCESS, bad = RSM_SUCCESS;
	struct vector v;
	ulong_t i;

	v.imp = imp;
	v.put = put;
	v.n = 0;
	v.parts = 0;
	v.odd = 0;
	for (i = 0; i < count && !bad; i++)
		bad = vector_translate(&v, &sg->iovec[i]);
	if (bad)
		flags = 0;
	if (v.n)
		ret = vector_go(&v, flags, &done);
	sg->io_residual_count = count - done;
	return ret ? ret : bad;
}

static int vector(rsm_scat_gath_t *sg, int put)
{
	struct rsm_import *imp;
	ulong_t count;

	if (!sg)
		return RSMERR_BAD_SGIO;
	imp = rsm_import_of(sg->remote_handle);
	if (!imp)
		return RSMERR_BAD_SEG_HNDL;
	if (!rsm_ctlr_of(imp->seg.ctlr))
		return RSMERR_BAD_CTLR_HNDL;
	/* Read the count once, because the program may change it during the call. */
	count = __atomic_load_n(&sg->io_request_count, __ATOMIC_RELAXED);
	if (!count || count > RSM_MAX_SGIOREQS)
		return RSMERR_BAD_SGIO;
	sg->io_residual_count = count;
	if (!sg->iovec)
		return RSMERR_BAD_ADDR;
	if (rsm_import_cut(imp))
		return RSMERR_CONN_ABORTED;
	if (!(imp->perm & (put ? RSM_PERM_WRITE : RSM_PERM_READ)))
		return RSMERR_PERM_DENIED;
	return vector_run(imp, sg, count, put);
}

RSM_API int rsm_memseg_import_getv(rsm_scat_gath_t *sg_io)
{
	return vector(sg_io, 0);
}

RSM_API int rsm_memseg_import_putv(rsm_scat_gath_t *sg_io)
{
	return vector(sg_io, 1);
}
