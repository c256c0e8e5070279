// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Open files of /dev/rsm, and the regions that processes map through these files. */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "rsm/rsm.h"

static void file_open(struct dat_devfile *devfile)
{
	mutex_init(&to_rsm_file(devfile)->lock);
}

static void file_release(struct dat_devfile *devfile)
{
	struct rsm_file *file = to_rsm_file(devfile);

	if (file->ctx)
		rsm_ctx_close(file->ctx);
}

static void *file_bound(struct dat_devfile *devfile)
{
	return rsm_file_ctx(to_rsm_file(devfile));
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

static int file_mmap(struct dat_devfile *devfile, struct vm_area_struct *vma)
{
	unsigned int kind = vma->vm_pgoff & (BIT(DAT_REGION_KIND_BITS) - 1);
	unsigned long id = vma->vm_pgoff >> DAT_REGION_KIND_BITS;
	struct rsm_ctx *ctx = rsm_file_ctx(to_rsm_file(devfile));

	if (!ctx)
		return rsm_window_is(vma) ? -ENOENT : -EINVAL;
	if (rsm_window_is(vma))
		return rsm_window_map(ctx, vma);
	if (kind == RSM_REGION_SLOTS)
		return id ? -EINVAL : dat_region_map(vma, &ctx->slots);
	return id > U32_MAX ? -EINVAL : map_ring(ctx, vma, id, kind);
}

static void file_show(struct seq_file *m, struct dat_devfile *devfile)
{
	struct rsm_ctx *ctx = rsm_file_ctx(to_rsm_file(devfile));

	if (!ctx)
		return;
	dat_poller_show(m, &devfile->poller, READ_ONCE(ctx->watched));
	rsm_ctx_show(m, ctx);
}

static const struct dat_chardev_ops file_dev_ops = {
	.magic		= DAT_RSM_IOC_MAGIC,
	.ioctls		= rsm_ioctls,
	.nr_ioctls	= DAT_NR_RSM_LAST,
	.file_size	= sizeof(struct rsm_file),
	.tells_strangers = true,
	.poller		= &rsm_poller_ops,
	.open		= file_open,
	.release	= file_release,
	.bound		= file_bound,
	.run		= rsm_run,
	.mmap		= file_mmap,
	.show		= file_show,
};

DAT_DEFINE_CHARDEV_FOPS(file_fops);

static struct dat_chardev file_dev = DAT_CHARDEV_INIT("rsm", &file_dev_ops, &file_fops);

/* dat_devfile_open() allocates a struct rsm_file and uses its address as a struct dat_devfile. */
static_assert(offsetof(struct rsm_file, base) == 0);

int rsm_file_init(void)
{
	return misc_register(&file_dev.misc);
}

void rsm_file_exit(void)
{
	misc_deregister(&file_dev.misc);
}
