// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The disk that represents a device in the block layer. */
#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/sizes.h>

#include "blk.h"
#include "blk_compat.h"

#define MAX_DISCARD	SZ_1G

static void disk_free(struct gendisk *disk)
{
	datblk_free(disk->private_data);
}

static const struct block_device_operations disk_ops = {
	.owner		= THIS_MODULE,
	.free_disk	= disk_free,
};

static struct queue_limits disk_limits(struct datblk *dev)
{
	struct queue_limits lim = {
		.logical_block_size = dev->block_size,
		.physical_block_size = max(dev->block_size, 4096u),
		.max_hw_sectors = dev->max_bytes >> SECTOR_SHIFT,
	};

	dev->mem->limit(dev, &lim);
	if (dev->export_flags & DATBLK_EXPORT_DISCARD) {
		lim.discard_granularity = lim.physical_block_size;
		lim.max_hw_discard_sectors = MAX_DISCARD >> SECTOR_SHIFT;
	}
	return lim;
}

static unsigned int datblk_timeout_jiffies(void)
{
	return clamp(datblk_timeout, 1u, 3600u) * HZ;
}

static int make_tags(struct datblk *dev)
{
	dev->set = (struct blk_mq_tag_set) {
		.ops = &datblk_mq_ops, .nr_hw_queues = 1, .queue_depth = dev->depth,
		.numa_node = NUMA_NO_NODE, .flags = DATBLK_TAGS_MERGE,
		.cmd_size = sizeof(struct datblk_rq), .timeout = datblk_timeout_jiffies(),
	};
	if (dev->mem->blocking)
		dev->set.flags |= BLK_MQ_F_BLOCKING;
	return blk_mq_alloc_tag_set(&dev->set);
}

/**
 * datblk_disk_add() - add the disk to the block layer
 * @dev: connected device
 *
 * Context: process; reads the partition table.
 * Return: 0 or a negative errno; the caller must call datblk_disk_remove() in both cases.
 */
int datblk_disk_add(struct datblk *dev)
{
	struct queue_limits lim = disk_limits(dev);
	struct gendisk *disk;
	int err;

	err = make_tags(dev);
	if (err)
		return err;
	disk = datblk_alloc_disk(&dev->set, &lim, dev);
	if (IS_ERR(disk))
		return PTR_ERR(disk);
	snprintf(disk->disk_name, sizeof(disk->disk_name), "datblk%d", dev->index);
	disk->fops = &disk_ops;
	disk->private_data = dev;
	set_capacity(disk, dev->size >> SECTOR_SHIFT);
	set_disk_ro(disk, dev->export_flags & DATBLK_EXPORT_READ_ONLY);
	/* From this store on, datblk_lost_work() quiesces the queue of this disk. */
	smp_store_release(&dev->disk, disk);
	/*
	 * Order the store of @disk before any test of DEAD.  If datblk_lost_work() has seen no
	 * disk, DEAD was set before, so queue_rq sees DEAD and fails every request.
	 */
	smp_mb();
	err = device_add_disk(NULL, disk, NULL);
	dev->added = !err;
	return err;
}

/*
 * Undo an incomplete datblk_disk_add().  For a disk that was never added, disk_free() is not
 * called, so this function frees @dev itself.
 */
static void disk_undo(struct datblk *dev)
{
	if (dev->disk)
		put_disk(dev->disk);
	if (dev->set.tags)
		blk_mq_free_tag_set(&dev->set);
	datblk_free(dev);
}

/**
 * datblk_disk_remove() - remove the disk; the last user of the disk frees @dev
 * @dev: connected device; datblk_disk_add() may have failed for it
 *
 * Context: process.  Waits for all requests; each may take up to the request timeout.
 */
void datblk_disk_remove(struct datblk *dev)
{
	if (dev->added)
		del_gendisk(dev->disk);
	/* datblk_lost_work() may use the disk until this call returns. */
	datblk_disconnect(dev);
	if (!dev->added) {
		disk_undo(dev);
		return;
	}
	blk_mq_free_tag_set(&dev->set);
	put_disk(dev->disk);
}
