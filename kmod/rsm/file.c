// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* /dev/rsm: open, release, mmap and fdinfo. */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "lib/device.h"
#include "rsm/rsm.h"

static int file_open(struct inode *inode, struct file *filp)
{
	struct rsm_file *file;
	int ret;

	if (!current->mm)
		return -EINVAL;
	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return -ENOMEM;
	file->inode = dat_mapping_alloc();
	if (IS_ERR(file->inode)) {
		ret = PTR_ERR(file->inode);
		goto err_free;
	}
	filp->f_mapping = file->inode->i_mapping;
	file->number = dat_file_number();
	mutex_init(&file->lock);
	file->net = get_net(current->nsproxy->net_ns);
	file->mm = current->mm;
	mmgrab(file->mm);
	filp->private_data = file;
	return 0;

err_free:
	kfree(file);
	return ret;
}

static int file_release(struct inode *inode, struct file *filp)
{
	struct rsm_file *file = filp->private_data;

	if (file->ctx)
		rsm_ctx_close(file->ctx);
	iput(file->inode);
	put_net(file->net);
	mmdrop(file->mm);
	kfree(file);
	return 0;
}

static int map_ring(struct rsm_ctx *ctx, struct vm_area_struct *vma, u32 id, unsigned int kind)
{
	struct dat_region *r;
	struct rsm_obj *obj;
	int ret = -EINVAL;

	obj = rsm_obj_get(ctx, DAT_RSM_TYPE_IMPORT, id);
	if (!obj)
		return -ENOENT;
	r = rsm_ring_region(to_rsm_import(obj), kind);
	if (r)
		ret = dat_region_map(vma, r);
	rsm_obj_put(obj);
	return ret;
}

static int file_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct rsm_file *file = filp->private_data;
	unsigned int kind = vma->vm_pgoff & (BIT(DAT_REGION_KIND_BITS) - 1);
	unsigned long id = vma->vm_pgoff >> DAT_REGION_KIND_BITS;
	struct rsm_ctx *ctx = rsm_file_ctx(file);

	if (current->mm != file->mm)
		return -EPERM;
	if (!ctx)
		return rsm_window_is(vma) ? -ENOENT : -EINVAL;
	if (rsm_window_is(vma))
		return rsm_window_map(ctx, vma);
	if (kind == RSM_REGION_SLOTS)
		return id ? -EINVAL : dat_region_map(vma, &ctx->slots);
	return id > U32_MAX ? -EINVAL : map_ring(ctx, vma, id, kind);
}

static void file_show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct rsm_ctx *ctx = rsm_file_ctx(filp->private_data);

	if (ctx)
		rsm_ctx_show(m, ctx);
}

static const struct file_operations rsm_fops = {
	.owner		= THIS_MODULE,
	.open		= file_open,
	.release	= file_release,
	.unlocked_ioctl	= rsm_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.mmap		= file_mmap,
	.show_fdinfo	= file_show_fdinfo,
	.llseek		= noop_llseek,
};

static struct miscdevice rsm_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "rsm",
	.fops	= &rsm_fops,
	.mode	= 0660,
};

int rsm_file_init(void)
{
	return misc_register(&rsm_misc);
}

void rsm_file_exit(void)
{
	misc_deregister(&rsm_misc);
}
