// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Memory that an IA shares with its process.
 *
 * A process maps a chunk of pages once and finds the rings of many objects in the chunk.  A new
 * chunk is as large as all other chunks together, but at least DAT_CHUNK_MIN, and at most
 * DAT_CHUNK_MAX unless a single slice needs more.  So thousands of endpoints need only some tens of
 * mappings.
 */
#include <linux/bitmap.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "core/abi.h"
#include "core/dat.h"
#include "core/mem/pool.h"
#include "lib/region.h"

#define DAT_CHUNK_MIN	SZ_64K
#define DAT_CHUNK_MAX	SZ_2M
/* Slices share no cache line, because different CPUs may write to neighboring slices. */
#define DAT_SLICE_UNIT	64

/* Pages that a process maps with one mmap() call. */
struct dat_chunk {
	struct dat_pool		*pool;
	struct list_head	node;		/* entry in pool->chunks */
	u32			id;		/* index in pool->ids */
	struct dat_region	region;
	u32			units;		/* size of the chunk in units of DAT_SLICE_UNIT */
	u32			free;		/* units that belong to no slice */
	unsigned long		*taken;		/* bitmap of the units that belong to a slice */
};

void dat_pool_init(struct dat_pool *pool, enum dat_map_kind kind)
{
	mutex_init(&pool->lock);
	pool->kind = kind;
	INIT_LIST_HEAD(&pool->chunks);
	xa_init_flags(&pool->ids, XA_FLAGS_ALLOC1);
}

/* Frees a pool whose slices have been freed.  dat_slice_free() has freed the chunks as well. */
void dat_pool_exit(struct dat_pool *pool)
{
	xa_destroy(&pool->ids);
	mutex_destroy(&pool->lock);
}

static int chunk_alloc_pages(struct dat_chunk *c, size_t size)
{
	int ret = dat_region_alloc(&c->region, size, c->pool->kind == DAT_MAP_SUBMIT);

	if (ret)
		return ret;
	c->units = dat_mmap_size(&c->region) / DAT_SLICE_UNIT;
	c->free = c->units;
	c->taken = kvcalloc(BITS_TO_LONGS(c->units), sizeof(long), GFP_KERNEL_ACCOUNT);
	if (c->taken)
		return 0;
	dat_region_free(&c->region);
	return -ENOMEM;
}

/* Returns a new chunk with room for @size bytes, or an ERR_PTR.  pool->lock is held. */
static struct dat_chunk *chunk_create(struct dat_pool *pool, size_t size)
{
	struct dat_chunk *c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);
	size_t grow;
	int ret;

	lockdep_assert_held(&pool->lock);
	if (!c)
		return ERR_PTR(-ENOMEM);
	c->pool = pool;
	grow = clamp_t(size_t, pool->bytes, DAT_CHUNK_MIN, DAT_CHUNK_MAX);
	ret = chunk_alloc_pages(c, max(size, grow));
	if (ret)
		goto err_free;
	/*
	 * A process may identify its mappings by their offsets, so no mmap() offset is reused soon.
	 */
	ret = xa_alloc_cyclic(&pool->ids, &c->id, c, DAT_ID_LIMIT, &pool->next_id,
			      GFP_KERNEL_ACCOUNT);
	if (ret < 0)
		goto err_free_pages;
	list_add(&c->node, &pool->chunks);
	pool->bytes += dat_mmap_size(&c->region);
	return c;

err_free_pages:
	kvfree(c->taken);
	dat_region_free(&c->region);
err_free:
	kfree(c);
	return ERR_PTR(-ENOMEM);
}

/*
 * Frees a chunk that has no slices.  If a process maps the chunk, the mapping keeps the pages.  The
 * caller holds pool->lock.
 */
static void chunk_destroy(struct dat_chunk *c)
{
	lockdep_assert_held(&c->pool->lock);

	c->pool->bytes -= dat_mmap_size(&c->region);
	list_del(&c->node);
	xa_erase(&c->pool->ids, c->id);
	kvfree(c->taken);
	dat_region_free(&c->region);
	kfree(c);
}

/*
 * Returns a chunk that has @n free units in a row, and sets *@at to the first of these units.
 * Makes a new chunk if necessary; may sleep.  The caller holds pool->lock.  Fails with -ENOMEM.
 */
static struct dat_chunk *pool_find(struct dat_pool *pool, u32 n, unsigned long *at)
{
	struct dat_chunk *c;

	lockdep_assert_held(&pool->lock);
	list_for_each_entry(c, &pool->chunks, node) {
		if (c->free < n)
			continue;
		*at = bitmap_find_next_zero_area(c->taken, c->units, 0, n, 0);
		if (*at < c->units)
			return c;
	}
	*at = 0;
	return chunk_create(pool, (size_t)n * DAT_SLICE_UNIT);
}

/*
 * Allocates zeroed memory that the process can map.  A new chunk is charged to the caller's memory
 * cgroup.  May sleep.  Fails with -ENOMEM, also if @size exceeds INT_MAX, for example because
 * size_mul() has returned SIZE_MAX for an overflow.
 */
int dat_slice_alloc(struct dat_pool *pool, size_t size, struct dat_slice *slice)
{
	struct dat_chunk *c;
	unsigned long at;
	u32 n;

	if (size > INT_MAX)
		return -ENOMEM;
	n = DIV_ROUND_UP(size, DAT_SLICE_UNIT);
	mutex_lock(&pool->lock);
	c = pool_find(pool, n, &at);
	if (IS_ERR(c)) {
		mutex_unlock(&pool->lock);
		return PTR_ERR(c);
	}
	bitmap_set(c->taken, at, n);
	c->free -= n;
	pool->used += (size_t)n * DAT_SLICE_UNIT;
	mutex_unlock(&pool->lock);

	slice->chunk = c;
	slice->start = at * DAT_SLICE_UNIT;
	slice->size = size;
	slice->va = c->region.va + slice->start;
	/* Clear the content that an earlier slice may have left in this memory. */
	memset(slice->va, 0, (size_t)n * DAT_SLICE_UNIT);
	return 0;
}

/* Frees the memory of a slice.  @slice may be empty, and is empty on return.  May sleep. */
void dat_slice_free(struct dat_slice *slice)
{
	u32 n = DIV_ROUND_UP(slice->size, DAT_SLICE_UNIT);
	struct dat_chunk *c = slice->chunk;
	struct dat_pool *pool;

	if (!c)
		return;
	pool = c->pool;
	mutex_lock(&pool->lock);
	bitmap_clear(c->taken, slice->start / DAT_SLICE_UNIT, n);
	c->free += n;
	pool->used -= (size_t)n * DAT_SLICE_UNIT;
	if (c->free == c->units)
		chunk_destroy(c);
	mutex_unlock(&pool->lock);
	*slice = (struct dat_slice) {};
}

/* Returns the mmap() offset of the slice's chunk. */
u64 dat_slice_offset(const struct dat_slice *slice)
{
	return dat_mmap_place(slice->chunk->id, slice->chunk->pool->kind);
}

u64 dat_slice_map_size(const struct dat_slice *slice)
{
	return dat_mmap_size(&slice->chunk->region);
}

/*
 * Maps a chunk into a process.  @id comes from user space.  Context: mmap_lock held.  Fails with
 * -ENOENT if the pool has no such chunk, or with an error of dat_region_map().
 */
int dat_pool_map(struct dat_pool *pool, u32 id, struct vm_area_struct *vma)
{
	struct dat_chunk *c;
	int ret = -ENOENT;

	mutex_lock(&pool->lock);
	c = xa_load(&pool->ids, id);
	if (c)
		ret = dat_region_map(vma, &c->region);
	mutex_unlock(&pool->lock);
	return ret;
}

/* Writes the fields of the pool's line in fdinfo. */
void dat_pool_show(struct seq_file *m, struct dat_pool *pool)
{
	struct dat_chunk *c;
	u32 chunks = 0;

	mutex_lock(&pool->lock);
	list_for_each_entry(c, &pool->chunks, node)
		chunks++;
	seq_printf(m, "chunks=%u bytes=%zu used=%zu", chunks, pool->bytes, pool->used);
	mutex_unlock(&pool->lock);
}

/*
 * Begins a step in the replacement of a ring.  @next: memory of the prepared ring, or empty.
 * @generation: generation of the ring that was prepared last; PREPARE increments the generation and
 * stores the new value in @step.  Context: ia->resize_lock held.  Fails with -ESTALE if @step
 * commits or cancels a generation that is not prepared.
 */
int dat_step_begin(struct dat_ia *ia, const struct dat_slice *next, u32 *generation,
		   struct dat_step *step)
{
	lockdep_assert_held(&ia->resize_lock);

	switch (step->what) {
	case DAT_RING_PREPARE:
		/* Skip 0, which means "no generation" in the argument of an ioctl. */
		if (!++*generation)
			++*generation;
		step->generation = *generation;
		return 0;
	case DAT_RING_COMMIT:
	case DAT_RING_CANCEL:
		return next->chunk && step->generation == *generation ? 0 : -ESTALE;
	default:
		return 0;
	}
}
