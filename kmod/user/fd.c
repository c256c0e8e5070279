// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * File descriptors of EVDs and CNOs, for poll() and epoll.  A descriptor holds a reference to the
 * object, but the object can still be freed.  After the free, or after a close of the IA, the
 * descriptor reports EPOLLHUP.
 */
#include <linux/anon_inodes.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>

#include "core/dat.h"
#include "user/file.h"

static __poll_t fd_poll(struct file *file, struct poll_table_struct *wait)
{
	struct dat_obj *obj = file->private_data;

	return dat_obj_ops(obj)->poll(obj, file, wait);
}

static int fd_release(struct inode *inode, struct file *file)
{
	dat_obj_put(file->private_data);
	return 0;
}

static const struct file_operations fd_fops = {
	.owner		= THIS_MODULE,
	.poll		= fd_poll,
	.release	= fd_release,
	.llseek		= noop_llseek,
};

/*
 * Returns a file for poll().  The file holds a reference to @obj.  May sleep.  Fails with
 * -EOPNOTSUPP if objects of this type cannot be polled, or with an error of anon_inode_getfile().
 */
struct file *dat_fd_file(struct dat_obj *obj)
{
	const struct dat_obj_ops *ops = dat_obj_ops(obj);
	struct file *file;

	if (!ops->poll)
		return ERR_PTR(-EOPNOTSUPP);
	file = anon_inode_getfile(ops->name, &fd_fops, obj, O_RDONLY | O_CLOEXEC);
	if (!IS_ERR(file))
		kref_get(&obj->ref);
	return file;
}
