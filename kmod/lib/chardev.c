// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* File operations of /dev/dat and /dev/rsm: open, release, mmap and fdinfo. */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "compat.h"
#include "lib/chardev.h"
#include "lib/device.h"

int dat_devfile_open(struct inode *inode, struct file *filp)
{
	/* misc_open() has set private_data. */
	struct dat_chardev *dev = container_of(filp->private_data, struct dat_chardev, misc);
	struct dat_devfile *file;
	int ret;

	if (!current->mm)
		return -EINVAL;
	file = kzalloc(dev->ops->file_size, GFP_KERNEL_ACCOUNT);
	if (!file)
		return -ENOMEM;
	file->inode = dat_mapping_alloc();
	if (IS_ERR(file->inode)) {
		ret = PTR_ERR(file->inode);
		goto err_free;
	}
	filp->f_mapping = file->inode->i_mapping;
	file->ops = dev->ops;
	file->number = dat_file_number();
	file->net = get_net(current->nsproxy->net_ns);
	file->mm = current->mm;
	mmgrab(file->mm);
	dat_poller_init(&file->poller, file->ops->poller);
	file->ops->open(file);
	filp->private_data = file;
	return 0;

err_free:
	kfree(file);
	return ret;
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_devfile_open);

/* Runs when no descriptor and no mapping of the file is left, also because a process was killed. */
int dat_devfile_release(struct inode *inode, struct file *filp)
{
	struct dat_devfile *file = filp->private_data;

	file->ops->release(file);
	iput(file->inode);
	put_net(file->net);
	mmdrop(file->mm);
	kfree(file);
	return 0;
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_devfile_release);

int dat_devfile_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct dat_devfile *file = filp->private_data;

	return dat_devfile_is_mine(file) ? file->ops->mmap(file, vma) : -EPERM;
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_devfile_mmap);

void dat_devfile_show(struct seq_file *m, struct file *filp)
{
	struct dat_devfile *file = filp->private_data;

	file->ops->show(m, file);
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_devfile_show);
