/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that both /dev/dat and /dev/rsm use for their open files. */
#ifndef _DAT_DEVICE_H
#define _DAT_DEVICE_H

#include <linux/fs.h>

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

#endif /* _DAT_DEVICE_H */
