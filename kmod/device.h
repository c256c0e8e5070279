/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that both /dev/dat and /dev/rsm use for their open files. */
#ifndef _DAT_DEVICE_H
#define _DAT_DEVICE_H

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

/**
 * dat_mapping_alloc() - make an inode whose mapping is for one open file
 *
 * The VMAs of the file are in that mapping, so a zap or an munmap does not wait for those of other
 * files.
 *
 * Context: may sleep.  Return: anonymous inode, to be released by iput(); or an ERR_PTR.
 */
struct inode *dat_mapping_alloc(void);

/**
 * dat_ioctl_abi() - answer DAT_IOC_ABI
 * @ubuf: struct dat_abi of the caller
 *
 * Context: may sleep.  Return: 0, or an errno as at the top of <rdma/dat_ioctl.h>.
 */
long dat_ioctl_abi(void __user *ubuf);

/**
 * dat_copy_arg() - copy the argument of an ioctl
 * @arg: result; begins with a u32, which is the size that the caller knows
 * @size: bytes of @arg; what the caller does not know is zero
 * @min_size: bytes that every caller knows
 * @ubuf: the caller's
 *
 * Context: may sleep.  Return: 0, -EFAULT, -EINVAL the caller knows too little, -E2BIG the caller
 * has set what the driver does not know.
 */
static inline int dat_copy_arg(void *arg, u32 size, u32 min_size, void __user *ubuf)
{
	u32 known;
	int ret;

	if (get_user(known, (u32 __user *)ubuf))
		return -EFAULT;
	if (known < min_size)
		return -EINVAL;
	/* No caller needs more, and the search for zeros must not take long. */
	if (known > PAGE_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(arg, size, ubuf, known);
	if (ret)
		return ret;
	/* The process may have changed it between the two reads: only the first one counts. */
	*(u32 *)arg = known;
	return 0;
}

#endif /* _DAT_DEVICE_H */
