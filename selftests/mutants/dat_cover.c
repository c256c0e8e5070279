// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * dat_cover.ko: which code of dat.ko and dat_rsm.ko runs, for scripts/mutants.  Both modules are
 * then compiled with -fsanitize-coverage=trace-pc and contain cover_hit.c, which calls
 * dat_cover_hit().  /sys/kernel/debug/dat_cover has a line "MODULE OFFSET" for each place that has
 * run; a write clears it.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

#include "dat_cover.h"

/* A byte for each offset, because a plain store needs no lock in any context. */
static u8 *hits[DAT_COVER_MODULES];
static struct dentry *file;

void dat_cover_hit(unsigned int module, long offset)
{
	offset += DAT_COVER_SIZE / 2;
	if (offset >= 0 && offset < DAT_COVER_SIZE)
		hits[module][offset] = 1;
}
EXPORT_SYMBOL_GPL(dat_cover_hit);

static int cover_show(struct seq_file *m, void *unused)
{
	unsigned int i;
	long at;

	for (i = 0; i < DAT_COVER_MODULES; i++)
		for (at = 0; at < DAT_COVER_SIZE; at++)
			if (hits[i][at])
				seq_printf(m, "%u %ld\n", i, at - DAT_COVER_SIZE / 2);
	return 0;
}

static int cover_open(struct inode *inode, struct file *f)
{
	/* The size lets seq_file call cover_show() once. */
	return single_open_size(f, cover_show, NULL, DAT_COVER_SIZE);
}

static ssize_t cover_write(struct file *f, const char __user *buf, size_t len, loff_t *pos)
{
	unsigned int i;

	for (i = 0; i < DAT_COVER_MODULES; i++)
		memset(hits[i], 0, DAT_COVER_SIZE);
	return len;
}

static const struct file_operations cover_fops = {
	.owner = THIS_MODULE,
	.open = cover_open,
	.read = seq_read,
	.write = cover_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static void cover_free(void)
{
	unsigned int i;

	for (i = 0; i < DAT_COVER_MODULES; i++)
		vfree(hits[i]);
}

static int __init cover_init(void)
{
	unsigned int i;

	for (i = 0; i < DAT_COVER_MODULES; i++) {
		hits[i] = vzalloc(DAT_COVER_SIZE);
		if (!hits[i]) {
			cover_free();
			return -ENOMEM;
		}
	}
	file = debugfs_create_file("dat_cover", 0600, NULL, NULL, &cover_fops);
	return 0;
}

static void __exit cover_exit(void)
{
	debugfs_remove(file);
	cover_free();
}

module_init(cover_init);
module_exit(cover_exit);
MODULE_DESCRIPTION("Which code of the DAT modules runs");
MODULE_LICENSE("GPL");
