// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The module, and /dev/dat_blk, which adds, removes and lists devices. */
#include <linux/blkdev.h>
#include <linux/idr.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "blk.h"

#define LINE_MAX	256
#define DEPTH_MAX	1024

unsigned int datblk_depth = 64;
module_param_named(depth, datblk_depth, uint, 0644);
MODULE_PARM_DESC(depth, "requests under way per device, 1 to 1024 (64)");

unsigned int datblk_max_kb = 128;
module_param_named(max_kb, datblk_max_kb, uint, 0644);
MODULE_PARM_DESC(max_kb, "KiB of a request, 4 to 1024 (128)");

unsigned int datblk_timeout = 30;
module_param_named(timeout, datblk_timeout, uint, 0644);
MODULE_PARM_DESC(timeout,
		 "seconds after which a server that does not answer is lost, 1 to 3600 (30)");

bool datblk_bounce;
module_param_named(bounce, datblk_bounce, bool, 0644);
MODULE_PARM_DESC(bounce, "copy the data, so that the server reaches no other memory (N)");

struct workqueue_struct *datblk_wq;

static LIST_HEAD(devices);
static DEFINE_MUTEX(devices_lock);	/* protects devices; held to add or remove a device */
static DEFINE_IDA(indices);
static atomic_t users = ATOMIC_INIT(1);	/* devices not freed yet, plus 1 for the module */

void datblk_free(struct datblk *dev)
{
	ida_free(&indices, dev->index);
	kvfree(dev->ios);
	kfree(dev);
	if (atomic_dec_and_test(&users))
		wake_up_var(&users);
}

static int make_ios(struct datblk *dev)
{
	u32 i;

	dev->ios = kvcalloc(dev->depth, sizeof(*dev->ios), GFP_KERNEL);
	if (!dev->ios)
		return -ENOMEM;
	for (i = 0; i < dev->depth; i++) {
		dev->ios[i].dev = dev;
		dev->ios[i].tag = i;
	}
	return 0;
}

static struct datblk *datblk_alloc(const char *ia_name, const char *address, u16 port)
{
	struct datblk *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	strscpy(dev->ia_name, ia_name, sizeof(dev->ia_name));
	strscpy(dev->address, address, sizeof(dev->address));
	dev->port = port;
	dev->depth = clamp(datblk_depth, 1u, DEPTH_MAX + 0u);
	dev->max_bytes = max_t(u32, clamp(datblk_max_kb & ~3u, 4u, 1024u) * 1024, PAGE_SIZE);
	init_completion(&dev->connected);
	INIT_WORK(&dev->lost_work, datblk_lost_work);
	dev->index = ida_alloc(&indices, GFP_KERNEL);
	if (dev->index < 0) {
		kfree(dev);
		return NULL;
	}
	atomic_inc(&users);
	if (make_ios(dev)) {
		datblk_free(dev);
		return NULL;
	}
	return dev;
}

static int add_device(const char *ia_name, const char *address, u16 port)
{
	struct datblk *dev = datblk_alloc(ia_name, address, port);
	int err;

	if (!dev)
		return -ENOMEM;
	err = datblk_connect(dev);
	if (err) {
		datblk_free(dev);
		return err;
	}
	err = datblk_disk_add(dev);
	/*
	 * device_add_disk() reads the partition table.  The connection may have been lost
	 * meanwhile.
	 */
	if (!err && datblk_dead(dev))
		err = -ECONNRESET;
	if (err) {
		datblk_disk_remove(dev);
		return err;
	}
	list_add_tail(&dev->node, &devices);
	return 0;
}

static void remove_device(struct datblk *dev)
{
	list_del(&dev->node);
	datblk_disk_remove(dev);
}

static struct datblk *find_device(const char *name)
{
	struct datblk *dev;

	list_for_each_entry(dev, &devices, node)
		if (!strcmp(dev->disk->disk_name, name))
			return dev;
	return NULL;
}

/*
 * Remove a device.  An open() after the check of disk_openers() gets I/O errors, as after the
 * removal of any disk.
 */
static int remove_named(const char *name, bool force)
{
	struct datblk *dev = find_device(name);

	if (!dev)
		return -ENODEV;
	if (!force && disk_openers(dev->disk))
		return -EBUSY;
	remove_device(dev);
	return 0;
}

/* ---- /dev/dat_blk ---- */

static_assert(DISK_NAME_LEN == 32);	/* command() accepts names of up to 31 characters */

static int command(const char *line)
{
	char ia[DATBLK_NAME_SIZE], address[DATBLK_NAME_SIZE], name[DISK_NAME_LEN], rest[8] = "";
	unsigned int port;
	int n;

	n = sscanf(line, "add %63s %63s %u %7s", ia, address, &port, rest);
	if (n == 3 && port && port <= U16_MAX)
		return add_device(ia, address, port);
	n = sscanf(line, "remove %31s %7s", name, rest);
	if (n == 1)
		return remove_named(name, false);
	if (n == 2 && !strcmp(rest, "force"))
		return remove_named(name, true);
	return -EINVAL;
}

static ssize_t control_write(struct file *file, const char __user *buf, size_t count,
			     loff_t *pos)
{
	char line[LINE_MAX];
	int err;

	if (count >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, buf, count))
		return -EFAULT;
	line[count] = '\0';
	err = mutex_lock_killable(&devices_lock);
	if (err)
		return err;
	err = command(line);
	mutex_unlock(&devices_lock);
	return err ?: count;
}

static int control_show(struct seq_file *m, void *unused)
{
	struct datblk *dev;
	int err;

	err = mutex_lock_killable(&devices_lock);
	if (err)
		return err;
	list_for_each_entry(dev, &devices, node)
		seq_printf(m, "%s %s %s %u %s %s\n", dev->disk->disk_name, dev->ia_name,
			   dev->address, dev->port, dev->mem->name,
			   datblk_dead(dev) ? "lost" : "connected");
	mutex_unlock(&devices_lock);
	return 0;
}

static int control_open(struct inode *inode, struct file *file)
{
	/* misc_open() has stored the miscdevice here, but seq_file requires NULL. */
	file->private_data = NULL;
	return single_open(file, control_show, NULL);
}

static const struct file_operations control_fops = {
	.owner		= THIS_MODULE,
	.open		= control_open,
	.read		= seq_read,
	.write		= control_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static struct miscdevice control = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "dat_blk",
	.fops	= &control_fops,
	.mode	= 0600,
};

static int __init datblk_init(void)
{
	int err;

	datblk_wq = alloc_workqueue("dat_blk", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!datblk_wq)
		return -ENOMEM;
	err = misc_register(&control);
	if (err)
		destroy_workqueue(datblk_wq);
	return err;
}

/*
 * Open files and open devices hold the module, so none are left at this point.  A context that has
 * just closed a device or reads its sysfs files may still hold a reference to the disk.  So wait
 * until datblk_free() has run for every device.
 */
static void __exit datblk_exit(void)
{
	struct datblk *dev, *next;

	misc_deregister(&control);
	list_for_each_entry_safe(dev, next, &devices, node)
		remove_device(dev);
	if (!atomic_dec_and_test(&users))
		wait_var_event(&users, !atomic_read(&users));
	destroy_workqueue(datblk_wq);
	ida_destroy(&indices);
}

module_init(datblk_init);
module_exit(datblk_exit);

MODULE_DESCRIPTION("Block device over Direct Access Transport");
MODULE_LICENSE("GPL");
MODULE_INFO(import_ns, "DAT");
