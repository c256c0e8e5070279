/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Memory that an IA shares with its process.  The process maps whole chunks.  The driver cuts each
 * chunk into slices for the rings of objects.
 */
#ifndef _DAT_POOL_H
#define _DAT_POOL_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>
#include <rdma/dat_ioctl.h>

struct dat_chunk;
struct dat_ia;
struct seq_file;
struct vm_area_struct;

/* Kinds of mapping; see DAT_REGION_KIND_BITS. */
enum dat_map_kind {
	DAT_MAP_DOORBELL	= 0,
	DAT_MAP_SUBMIT		= 1,	/* chunks that the process writes */
	DAT_MAP_STATUS		= 2,	/* chunks that the driver writes */
	/* values 5 to 8 belong to /dev/rsm */
};

/* Lists of chunks by the binary logarithm of the longest run of free units. */
#define DAT_POOL_ROOMS	16

/* All chunks of one kind that an IA has. */
struct dat_pool {
	struct mutex		lock;		/* lock of all members below, and of the chunks */
	enum dat_map_kind	kind;		/* constant */
	/* Chunks with room; [i]: the longest run has from 2^i to 2^(i+1) - 1 units. */
	struct list_head	rooms[DAT_POOL_ROOMS];
	u32			chunks;		/* number of all chunks */
	struct xarray		ids;		/* all chunks, by id */
	u32			next_id;	/* start of the search for a free id */
	size_t			bytes;		/* total size of all chunks */
	size_t			used;		/* total size of all slices */
};

/* Part of a chunk that belongs to one object. */
struct dat_slice {
	struct dat_chunk	*chunk;		/* NULL if the slice is empty */
	void			*va;
	u32			start;		/* offset in the chunk in bytes */
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

/* One step in the replacement of a ring. */
struct dat_step {
	enum dat_ring_step	what;
	u32			generation;	/* output of PREPARE, input of COMMIT and CANCEL */
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

int dat_step_begin(struct dat_ia *ia, const struct dat_slice *next, u32 *generation,
		   struct dat_step *step);

#endif /* _DAT_POOL_H */
