/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * The character devices /dev/dat and /dev/rsm.  Both have the file operations of lib/chardev.c and
 * the ioctl dispatcher of lib/ioctl.c.  Each device has its own table of ioctls and its own struct
 * dat_chardev_ops.
 */
#ifndef _DAT_CHARDEV_H
#define _DAT_CHARDEV_H

#include <linux/build_bug.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/sched.h>

#include "lib/poller.h"

/* Maximum size in bytes of an ioctl argument that the driver knows. */
#define DAT_UCMD_ARG_ROOM	576

struct dat_chardev;
struct dat_devfile;

/**
 * struct dat_ucmd - an ioctl call
 * @file: open file that the caller used
 * @bound: IA or RSM context of @file, set by ops->run or by the operation that opens the IA; may be
 *	NULL if dat_ioctl_op.need asks for none; NULL in DAT_IOC_POLLER_SET and DAT_IOC_POLLER_RUN
 * @arg: kernel copy of the argument
 * @ubuf: argument in user memory
 * @size: number of bytes of the argument that the caller passed, at most dat_ioctl_op.size
 * @made: object that the operation has created, with a reference, or other structure that
 *	dat_ioctl_op.finish needs
 * @made_file: file that the operation has created for a reserved descriptor, with a reference
 */
struct dat_ucmd {
	struct dat_devfile	*file;
	void			*bound;
	void			*arg;
	void __user		*ubuf;
	u32			size;
	void			*made;
	struct file		*made_file;
};

/**
 * struct dat_ioctl_op - entry of a table of ioctls
 * @fn: performs the operation and stores the results in the argument
 * @finish: called after a successful @fn and the copy of the results to user memory; @ret is the
 *	result of the copy.  Commits the operation if @ret is 0; undoes the operation if @ret is
 *	-EFAULT.  Returns the result of the ioctl.  Optional.
 * @word: performs an operation whose argument is a number, not an address; excludes all other
 *	members
 * @size: size of the argument in bytes
 * @min_size: size of the argument in ABI version 1, in bytes, if the argument has grown since; else
 *	0.  Every caller passes at least the size of version 1.
 * @need: requirement that ops->run of the device checks
 * @answers: flag: the operation has results, which are copied to user memory
 * @changes: flag: the dispatcher checks before the operation that the results can be copied; for an
 *	operation that cannot be undone if that copy fails
 *
 * Between @fn and @finish, the results are copied to user memory without a lock, because a process
 * can make its page faults take arbitrarily long.
 */
struct dat_ioctl_op {
	int	(*fn)(struct dat_ucmd *ucmd);
	int	(*finish)(struct dat_ucmd *ucmd, int ret);
	int	(*word)(struct dat_devfile *file, unsigned long arg);
	u32	size;
	u32	min_size;
	u8	need;
	bool	answers;
	bool	changes;
};

/* Initializers for an argument of type struct dat_@name; @last: last field in ABI version 1. */
#define DAT_IOCTL_ARG(name)						\
	.size = sizeof(struct dat_##name) +				\
		BUILD_BUG_ON_ZERO(sizeof(struct dat_##name) > DAT_UCMD_ARG_ROOM)
#define DAT_IOCTL_VERSION_1(name, last)	.min_size = offsetofend(struct dat_##name, last)

/**
 * struct dat_chardev_ops - parameters and operations of one device
 * @magic: magic number of the device's ioctls
 * @ioctls: table of ioctls, by number
 * @nr_ioctls: number of entries of @ioctls
 * @features: bits of DAT_FEATURE_* that DAT_IOC_ABI announces
 * @file_size: size of the device's structure for an open file, which begins with struct dat_devfile
 * @tells_strangers: flag: @run refuses a process with another address space than the opener's, and
 *	reports the refusal in the argument of the ioctl.  If the flag is not set, the dispatcher
 *	fails each ioctl of such a process with -EPERM, except DAT_IOC_ABI.
 * @poller: operations on the queues of an open file
 * @open: initialize the device's part of an open file, which the caller has zeroed
 * @release: free the device's part of an open file
 * @bound: return the IA or RSM context of an open file, or NULL before the file has one
 * @run: check op->need, then call op->fn.  Return 0, a negative errno, or a positive errno if the
 *	argument has results that tell the caller why the call failed.
 * @mmap: map pages; the current address space is the one that opened the file
 * @show: write the lines of fdinfo
 */
struct dat_chardev_ops {
	unsigned int			magic;
	const struct dat_ioctl_op	*ioctls;
	unsigned int			nr_ioctls;
	u64				features;
	size_t				file_size;
	bool				tells_strangers;
	const struct dat_poller_ops	*poller;
	void	(*open)(struct dat_devfile *file);
	void	(*release)(struct dat_devfile *file);
	void	*(*bound)(struct dat_devfile *file);
	int	(*run)(struct dat_ucmd *ucmd, const struct dat_ioctl_op *op);
	int	(*mmap)(struct dat_devfile *file, struct vm_area_struct *vma);
	void	(*show)(struct seq_file *m, struct dat_devfile *file);
};

/* A character device. */
struct dat_chardev {
	const struct dat_chardev_ops	*ops;
	struct miscdevice		misc;
};

/* Defines the file operations of a device on behalf of the module that owns the device. */
#define DAT_DEFINE_CHARDEV_FOPS(fops_name)				\
	static const struct file_operations fops_name = {		\
		.owner		= THIS_MODULE,				\
		.open		= dat_devfile_open,			\
		.release	= dat_devfile_release,			\
		.unlocked_ioctl	= dat_devfile_ioctl,			\
		.compat_ioctl	= dat_devfile_compat_ioctl,		\
		.mmap		= dat_devfile_mmap,			\
		.show_fdinfo	= dat_devfile_show,			\
		.llseek		= noop_llseek,				\
	}

/*
 * Initializes a device for misc_register().  Until udev changes the group or the mode, only the
 * user root and the group root can open the device.
 */
#define DAT_CHARDEV_INIT(chardev_name, chardev_ops, chardev_fops) {	\
		.ops	= chardev_ops,					\
		.misc	= {						\
			.name	= chardev_name,				\
			.minor	= MISC_DYNAMIC_MINOR,			\
			.fops	= chardev_fops,				\
			.mode	= 0660,					\
		},							\
	}

/* Open file of a character device.  All members but @poller are constant. */
struct dat_devfile {
	const struct dat_chardev_ops	*ops;
	/*
	 * Address space of the process that opened the file.  A process with another address space
	 * can only call DAT_IOC_ABI and read fdinfo, because ioctl arguments contain addresses in
	 * @mm.
	 */
	struct mm_struct		*mm;
	struct net			*net;	/* network namespace of the opener */
	struct inode			*inode;	/* inode from dat_mapping_alloc() */
	u64				number;	/* number that DAT_IOC_ABI returns */
	struct dat_poller		poller;	/* disabled until the process enables it */
};

static inline bool dat_devfile_is_mine(const struct dat_devfile *file)
{
	return current->mm == file->mm;
}

int dat_devfile_open(struct inode *inode, struct file *filp);
int dat_devfile_release(struct inode *inode, struct file *filp);
int dat_devfile_mmap(struct file *filp, struct vm_area_struct *vma);
void dat_devfile_show(struct seq_file *m, struct file *filp);

/* ioctl.c */
long dat_devfile_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);
long dat_devfile_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);

#endif /* _DAT_CHARDEV_H */
