/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Memory that an IA shares with its process.  The process maps whole chunks.  The driver cuts each
 * chunk into slices, one or more per object.
 */
#ifndef _DAT_POOL_H
#define _DAT_POOL_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>
#include <rdma/dat_ioctl.h>

struct dat_chunk;
struct seq_file;
struct vm_area_struct;

/* Kinds of mapping.  The page offset of an mmap() call contains the kind in its low bits. */
enum dat_map_kind {
	DAT_MAP_DOORBELL	= 0,
	DAT_MAP_SUBMIT		= 1,	/* chunks that the process writes */
	DAT_MAP_STATUS		= 2,	/* chunks that the driver writes */
	/* values 5 to 8 belong to /dev/rsm */
};

/**
 * struct dat_pool - all chunks of one kind that an IA has
 * @lock: lock of all members below, and of the chunks
 * @kind: kind of mapping; constant
 * @chunks: list of struct dat_chunk, the newest first
 * @ids: the same chunks, indexed by id
 * @next_id: id at which the search for a free id begins
 * @bytes: total size of all chunks
 * @used: total size of all slices
 */
struct dat_pool {
	struct mutex		lock;		/* all members below */
	enum dat_map_kind	kind;
	struct list_head	chunks;
	struct xarray		ids;
	u32			next_id;
	size_t			bytes;
	size_t			used;
};

/**
 * struct dat_slice - part of a chunk that belongs to one object
 * @chunk: chunk that contains the slice; NULL if the slice is empty
 * @va: kernel address of the first byte
 * @start: offset of the first byte in the chunk
 * @size: number of bytes
 */
struct dat_slice {
	struct dat_chunk	*chunk;
	void			*va;
	u32			start;
	u32			size;
};

void dat_pool_init(struct dat_pool *pool, enum dat_map_kind kind);
void dat_pool_exit(struct dat_pool *pool);
int dat_pool_map(struct dat_pool *pool, u32 id, struct vm_area_struct *vma);
void dat_pool_show(struct seq_file *m, struct dat_pool *pool);

int dat_slice_alloc(struct dat_pool *pool, size_t size, struct dat_slice *slice);
void dat_slice_free(struct dat_slice *slice);
u64 dat_slice_offset(const struct dat_slice *slice);
u64 dat_slice_map_size(const struct dat_slice *slice);

/**
 * struct dat_step - one step in the replacement of a ring
 * @what: kind of step
 * @generation: generation number of the prepared ring; an output of PREPARE, an input of COMMIT and
 *	CANCEL
 */
struct dat_step {
	enum dat_ring_step	what;
	u32			generation;
};

/* Returns true if the step allocates a new ring. */
static inline bool dat_step_makes(const struct dat_step *step)
{
	return step->what == DAT_RING_AT_ONCE || step->what == DAT_RING_PREPARE;
}

/* Returns true if the step puts the new ring into use. */
static inline bool dat_step_uses(const struct dat_step *step)
{
	return step->what == DAT_RING_AT_ONCE || step->what == DAT_RING_COMMIT;
}

int dat_step_begin(const struct dat_slice *next, u32 *generation, struct dat_step *step);

#endif /* _DAT_POOL_H */
