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
#include <linux/find.h>
#include <linux/kref.h>
#include <linux/limits.h>
#include <linux/log2.h>
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
/* Most chunks that are searched for a run which they may or may not have. */
#define DAT_CHUNK_TRIES	4

static_assert(DAT_CHUNK_MAX / DAT_SLICE_UNIT < 1 << DAT_POOL_ROOMS);

/* Pages that a process maps with one mmap() call. */
struct dat_chunk {
	struct kref		ref;		/* held by the pool, and during a call of mmap() */
	struct dat_pool		*pool;
	struct list_head	node;		/* entry in a list of pool->rooms; empty: no room */
	u32			id;		/* index in pool->ids */
	struct dat_region	region;
	u32			units;		/* size of the chunk in units of DAT_SLICE_UNIT */
	u32			free;		/* units that belong to no slice */
	u32			longest;	/* length of the longest run of free units */
	unsigned long		*taken;		/* bitmap of the units that belong to a slice */
};

void dat_pool_init(struct dat_pool *pool, enum dat_map_kind kind)
{
	unsigned int i;

	mutex_init(&pool->lock);
	pool->kind = kind;
	for (i = 0; i < DAT_POOL_ROOMS; i++)
		INIT_LIST_HEAD(&pool->rooms[i]);
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

static void chunk_release(struct kref *ref)
{
	struct dat_chunk *c = container_of(ref, struct dat_chunk, ref);

	kvfree(c->taken);
	dat_region_free(&c->region);
	kfree(c);
}

static void chunk_put(struct dat_chunk *c)
{
	kref_put(&c->ref, chunk_release);
}

/* Returns the length of the longest run of free units. */
static u32 chunk_longest_run(const struct dat_chunk *c)
{
	unsigned long from, to;
	u32 longest = 0;

	for_each_clear_bitrange(from, to, c->taken, c->units)
		longest = max_t(u32, longest, to - from);
	return longest;
}

/* Returns the length of the run of free units that contains the @n units from @at on. */
static u32 chunk_run_around(const struct dat_chunk *c, unsigned long at, u32 n)
{
	unsigned long last = find_last_bit(c->taken, at);
	unsigned long from = last < at ? last + 1 : 0;

	return find_next_bit(c->taken, c->units, at + n) - from;
}

/*
 * Puts a chunk into the list for its longest run, which has @longest units now.  A chunk that a
 * single slice has made larger than DAT_CHUNK_MAX takes no other slice: its bitmap may be long.
 */
static void chunk_sort(struct dat_chunk *c, u32 longest)
{
	lockdep_assert_held(&c->pool->lock);
	c->longest = longest;
	list_del_init(&c->node);
	if (longest && c->units <= DAT_CHUNK_MAX / DAT_SLICE_UNIT)
		list_add(&c->node, &c->pool->rooms[ilog2(longest)]);
}

static void chunk_take(struct dat_chunk *c, unsigned long at, u32 n)
{
	bitmap_set(c->taken, at, n);
	c->free -= n;
	c->pool->used += (size_t)n * DAT_SLICE_UNIT;
	chunk_sort(c, chunk_longest_run(c));
}

/*
 * Makes a chunk whose first @n units are taken.  Called without pool->lock, because the allocation
 * of thousands of pages takes long.  Returns the chunk, or an ERR_PTR.
 */
static struct dat_chunk *chunk_create(struct dat_pool *pool, u32 n)
{
	struct dat_chunk *c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);
	size_t grow;
	int ret;

	lockdep_assert_not_held(&pool->lock);
	if (!c)
		return ERR_PTR(-ENOMEM);
	kref_init(&c->ref);
	INIT_LIST_HEAD(&c->node);
	c->pool = pool;
	grow = clamp_t(size_t, READ_ONCE(pool->bytes), DAT_CHUNK_MIN, DAT_CHUNK_MAX);
	ret = chunk_alloc_pages(c, max((size_t)n * DAT_SLICE_UNIT, grow));
	if (ret)
		goto err_free;
	mutex_lock(&pool->lock);
	/*
	 * A process may identify its mappings by their offsets, so no mmap() offset is reused soon.
	 */
	ret = xa_alloc_cyclic(&pool->ids, &c->id, c, DAT_ID_LIMIT, &pool->next_id,
			      GFP_KERNEL_ACCOUNT);
	if (ret < 0) {
		mutex_unlock(&pool->lock);
		goto err_put;
	}
	pool->chunks++;
	WRITE_ONCE(pool->bytes, pool->bytes + dat_mmap_size(&c->region));
	chunk_take(c, 0, n);
	mutex_unlock(&pool->lock);
	return c;

err_put:
	chunk_put(c);
	return ERR_PTR(-ENOMEM);
err_free:
	kfree(c);
	return ERR_PTR(-ENOMEM);
}

/* Searches a list for a chunk that has @n free units in a row.  See pool_take(). */
static struct dat_chunk *room_take(const struct list_head *room, u32 n, unsigned long *at)
{
	unsigned int tries = DAT_CHUNK_TRIES;
	struct dat_chunk *c;

	list_for_each_entry(c, room, node) {
		*at = bitmap_find_next_zero_area(c->taken, c->units, 0, n, 0);
		if (*at < c->units) {
			chunk_take(c, *at, n);
			return c;
		}
		if (!--tries)
			break;
	}
	return NULL;
}

/*
 * Takes @n free units in a row from a chunk, and sets *@at to the first of these units.  Returns
 * the chunk, or NULL if a new one is needed.  Each chunk in a list after the first has such a row.
 * The chunks of the first list may have one, and only a few are searched.
 */
static struct dat_chunk *pool_take(struct dat_pool *pool, u32 n, unsigned long *at)
{
	struct dat_chunk *c = NULL;
	unsigned int i;

	mutex_lock(&pool->lock);
	for (i = ilog2(n); !c && i < DAT_POOL_ROOMS; i++)
		c = room_take(&pool->rooms[i], n, at);
	mutex_unlock(&pool->lock);
	return c;
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
	c = pool_take(pool, n, &at);
	if (!c) {
		at = 0;
		c = chunk_create(pool, n);
		if (IS_ERR(c))
			return PTR_ERR(c);
	}
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
	u32 at = slice->start / DAT_SLICE_UNIT;
	struct dat_chunk *c = slice->chunk;
	struct dat_pool *pool;
	bool empty;

	if (!c)
		return;
	pool = c->pool;
	mutex_lock(&pool->lock);
	bitmap_clear(c->taken, at, n);
	c->free += n;
	pool->used -= (size_t)n * DAT_SLICE_UNIT;
	empty = c->free == c->units;
	if (empty) {
		list_del(&c->node);
		xa_erase(&pool->ids, c->id);
		pool->chunks--;
		WRITE_ONCE(pool->bytes, pool->bytes - dat_mmap_size(&c->region));
	} else {
		/* The other runs are as they were, so no search of the bitmap is needed. */
		chunk_sort(c, max(c->longest, chunk_run_around(c, at, n)));
	}
	mutex_unlock(&pool->lock);
	/* If a process maps the chunk, the mapping keeps the pages. */
	if (empty)
		chunk_put(c);
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
	int ret;

	mutex_lock(&pool->lock);
	c = xa_load(&pool->ids, id);
	if (c)
		kref_get(&c->ref);
	mutex_unlock(&pool->lock);
	if (!c)
		return -ENOENT;
	ret = dat_region_map(vma, &c->region);
	chunk_put(c);
	return ret;
}

/* Writes the fields of the pool's line in fdinfo. */
void dat_pool_show(struct seq_file *m, struct dat_pool *pool)
{
	mutex_lock(&pool->lock);
	seq_printf(m, "chunks=%u bytes=%zu used=%zu", pool->chunks, pool->bytes, pool->used);
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
