// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Inodes that give each open file of the driver's devices its own address_space. */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>

#include "compat.h"
#include "lib/device.h"

#define MAPPING_FS_MAGIC	0x64617466UL

static struct vfsmount *mapping_mnt;

static int mapping_fs_init(struct fs_context *fc)
{
	return init_pseudo(fc, MAPPING_FS_MAGIC) ? 0 : -ENOMEM;
}

/* No .owner: kern_mount() would hold a reference to this module, which could then never unload. */
static struct file_system_type mapping_fs = {
	.name			= "dat",
	.init_fs_context	= mapping_fs_init,
	.kill_sb		= kill_anon_super,
};

struct inode *dat_mapping_alloc(void)
{
	return alloc_anon_inode(mapping_mnt->mnt_sb);
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_mapping_alloc);

int dat_mapping_init(void)
{
	mapping_mnt = kern_mount(&mapping_fs);
	return PTR_ERR_OR_ZERO(mapping_mnt);
}

void dat_mapping_exit(void)
{
	kern_unmount(mapping_mnt);
}
