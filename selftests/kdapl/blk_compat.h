/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Differences between kernel versions in the block layer.  kmod/compat.h has all others. */
#ifndef _BLK_COMPAT_H
#define _BLK_COMPAT_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/version.h>

/* Linux 6.14 removed BLK_MQ_F_SHOULD_MERGE: merging is always on. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define DATBLK_TAGS_MERGE	BLK_MQ_F_SHOULD_MERGE
#else
#define DATBLK_TAGS_MERGE	0
#endif

/* Linux 6.16 removed the queue argument of blk_rq_map_sg(). */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
static inline int datblk_map_sg(struct request *rq, struct scatterlist *sg)
{
	return blk_rq_map_sg(rq->q, rq, sg);
}
#else
static inline int datblk_map_sg(struct request *rq, struct scatterlist *sg)
{
	return blk_rq_map_sg(rq, sg);
}
#endif

/* Linux 6.11 replaced these queue flags by features in struct queue_limits. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
static inline void datblk_queue_features(struct request_queue *q)
{
	blk_queue_write_cache(q, true, true);
	blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
	blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, q);
}

static inline void datblk_limit_features(struct queue_limits *lim)
{
}
#else
static inline void datblk_queue_features(struct request_queue *q)
{
}

static inline void datblk_limit_features(struct queue_limits *lim)
{
	lim->features |= BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA;
}
#endif

/* Linux 6.9 added the limits to blk_mq_alloc_disk().  Older kernels set each limit on the queue. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
static inline struct gendisk *datblk_alloc_limited(struct blk_mq_tag_set *set,
						   const struct queue_limits *lim, void *data)
{
	struct gendisk *disk = blk_mq_alloc_disk(set, data);
	struct request_queue *q;

	if (IS_ERR(disk))
		return disk;
	q = disk->queue;
	blk_queue_logical_block_size(q, lim->logical_block_size);
	blk_queue_physical_block_size(q, lim->physical_block_size);
	blk_queue_max_hw_sectors(q, lim->max_hw_sectors);
	blk_queue_max_segments(q, lim->max_segments);
	if (lim->virt_boundary_mask)
		blk_queue_virt_boundary(q, lim->virt_boundary_mask);
	q->limits.discard_granularity = lim->discard_granularity;
	blk_queue_max_discard_sectors(q, lim->max_hw_discard_sectors);
	return disk;
}
#else
static inline struct gendisk *datblk_alloc_limited(struct blk_mq_tag_set *set,
						   struct queue_limits *lim, void *data)
{
	return blk_mq_alloc_disk(set, lim, data);
}
#endif

/* Allocate a disk with the limits @lim and a volatile write cache, which supports flush and FUA. */
static inline struct gendisk *datblk_alloc_disk(struct blk_mq_tag_set *set,
						struct queue_limits *lim, void *data)
{
	struct gendisk *disk;

	datblk_limit_features(lim);
	disk = datblk_alloc_limited(set, lim, data);
	if (!IS_ERR(disk))
		datblk_queue_features(disk->queue);
	return disk;
}

#endif /* _BLK_COMPAT_H */
