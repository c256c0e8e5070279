// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Dispatcher of the RSM ioctls.  The dispatcher copies the argument of each ioctl from and to user
 * memory, except the arguments of the poller ioctls, which poller.c copies.  The argument also
 * contains the result of the call; see the top of <rdma/dat_rsm.h>.
 */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/uaccess.h>

#include "lib/device.h"
#include "rsm/rsm.h"

/* First members of the argument structure of every RSM ioctl. */
struct rsm_head {
	u32 size;
	u32 err;
};

union rsm_arg {
	struct rsm_head			head;
	struct dat_rsm_open		open;
	struct dat_rsm_ctlr		ctlr;
	struct dat_rsm_export		export;
	struct dat_rsm_rebind		rebind;
	struct dat_rsm_publish		publish;
	struct dat_rsm_unpublish	unpublish;
	struct dat_rsm_connect		connect;
	struct dat_rsm_localmem		localmem;
	struct dat_rsm_free		free;
	struct dat_rsm_io		io;
	struct dat_rsm_post		post;
	struct dat_rsm_wait		wait;
	struct dat_rsm_fd		fd;
	struct dat_rsm_nodes		nodes;
	struct dat_rsm_topology		topology;
	struct dat_rsm_ring		ring;
	struct dat_rsm_kick		kick;
};

/**
 * struct rsm_op - an operation
 * @fn: function that performs the operation; returns 0 or an errno, which rsm_error() converts to
 *	the result of the call.  Another errno means that the call is invalid, or was interrupted
 * @size: size of the argument structure, in bytes
 * @min_size: size of the argument structure in version 1, in bytes; callers pass at least this size
 * @needs_ctx: flag: the operation fails before a successful DAT_IOC_RSM_OPEN
 */
struct rsm_op {
	int	(*fn)(struct rsm_ucmd *ucmd);
	u32	size;
	u32	min_size;
	bool	needs_ctx;
};

static int rsm_cmd_open(struct rsm_ucmd *ucmd)
{
	struct rsm_file *file = ucmd->file->private_data;
	struct dat_rsm_open *arg = ucmd->arg;
	struct rsm_ctx *ctx;
	int ret = -ENXIO;

	if (arg->flags)
		return -EOPNOTSUPP;
	mutex_lock(&file->lock);
	if (!file->ctx) {
		ret = rsm_ctx_open(ucmd->file, &ctx);
		if (!ret)
			smp_store_release(&file->ctx, ctx);	/* pairs with rsm_file_ctx() */
	}
	mutex_unlock(&file->lock);
	if (ret)
		return ret;
	arg->node = ctx->node->id;
	arg->slots_offset = (u64)RSM_REGION_SLOTS << PAGE_SHIFT;
	arg->slots_size = dat_mmap_size(&ctx->slots);
	arg->features = 0;
	arg->nr_slots = RSM_SLOTS;
	arg->mem_slot = RSM_MEM_SLOT;
	return 0;
}

/* Returns the node of the caller's file, also before DAT_IOC_RSM_OPEN. */
struct rsm_node *rsm_ucmd_node(const struct rsm_ucmd *ucmd)
{
	const struct rsm_file *file = ucmd->file->private_data;

	return rsm_node_of(file->net);
}

static int rsm_cmd_ctlr(struct rsm_ucmd *ucmd)
{
	struct dat_rsm_ctlr *arg = ucmd->arg;
	u64 budget = rsm_mem_budget();

	if (arg->ctlr != DAT_RSM_LOOPBACK)
		return rsm_ctlr_describe(rsm_ucmd_node(ucmd), arg);
	strscpy(arg->name, "loopback", sizeof(arg->name));
	arg->device[0] = '\0';
	arg->direct_sizes = 0xf;
	arg->atomic_sizes = 0xf;
	arg->page_sizes = PAGE_SIZE >> 10;
	arg->max_exports = READ_ONCE(rsm_max_segments);
	arg->max_imports = arg->max_exports;
	arg->max_export_size = budget;
	arg->tot_export_size = budget;
	arg->max_map_size = budget;
	arg->tot_map_size = budget;
	return 0;
}

static int rsm_cmd_free(struct rsm_ucmd *ucmd)
{
	struct dat_rsm_free *arg = ucmd->arg;
	int ret;

	if (arg->type < DAT_RSM_TYPE_EXPORT || arg->type > DAT_RSM_TYPE_LOCALMEM)
		return -EOPNOTSUPP;
	ret = rsm_obj_end(ucmd->ctx, arg->type, arg->id);
	return ret && arg->type == DAT_RSM_TYPE_LOCALMEM ? -ESTALE : ret;
}

#define RSM_OP(nr, name, func, ctx)					\
	[DAT_NR_RSM_##nr] = {						\
		.fn		= func,					\
		.size		= sizeof(struct dat_rsm_##name),	\
		.min_size	= sizeof(struct dat_rsm_##name),	\
		.needs_ctx	= ctx,					\
	}

/* If a later version extends a structure, .min_size must stay the size of version 1. */
static const struct rsm_op rsm_ops[] = {
	RSM_OP(OPEN, open, rsm_cmd_open, false),
	RSM_OP(CTLR, ctlr, rsm_cmd_ctlr, false),
	RSM_OP(EXPORT, export, rsm_export_create, true),
	RSM_OP(REBIND, rebind, rsm_export_rebind, true),
	RSM_OP(PUBLISH, publish, rsm_export_publish, true),
	RSM_OP(REPUBLISH, publish, rsm_export_republish, true),
	RSM_OP(UNPUBLISH, unpublish, rsm_export_unpublish, true),
	[DAT_NR_RSM_CONNECT] = {
		.fn		= rsm_import_connect,
		.size		= sizeof(struct dat_rsm_connect),
		.min_size	= offsetofend(struct dat_rsm_connect, auth),
		.needs_ctx	= true,
	},
	RSM_OP(LOCALMEM, localmem, rsm_localmem_create, true),
	RSM_OP(FREE, free, rsm_cmd_free, true),
	RSM_OP(IO, io, rsm_io, true),
	RSM_OP(POST, post, rsm_event_post, true),
	RSM_OP(WAIT, wait, rsm_event_wait, true),
	RSM_OP(FD, fd, rsm_event_fd, true),
	RSM_OP(NODES, nodes, rsm_nodes, false),
	RSM_OP(TOPOLOGY, topology, rsm_topology, false),
	RSM_OP(RING, ring, rsm_ring_make, true),
	RSM_OP(KICK, kick, rsm_ring_kick, true),
};

/* Frees the file or object that a call has created, because the caller did not get the result. */
static void ucmd_undo(struct rsm_ucmd *ucmd)
{
	struct dat_rsm_fd *fd = ucmd->arg;

	if (ucmd->made_file) {
		put_unused_fd(fd->fd);
		fput(ucmd->made_file);
	}
	if (ucmd->made) {
		rsm_obj_undo(ucmd->made);
		rsm_obj_put(ucmd->made);
	}
}

static int ucmd_run(struct rsm_ucmd *ucmd, const struct rsm_op *op)
{
	struct rsm_file *file = ucmd->file->private_data;

	if (current->mm != file->mm)
		return -EPERM;
	ucmd->ctx = rsm_file_ctx(file);
	if (op->needs_ctx && !ucmd->ctx)
		return -EINVAL;
	return op->fn(ucmd);
}

static int ucmd_call(struct rsm_ucmd *ucmd, const struct rsm_op *op, void __user *ubuf, u32 size)
{
	struct rsm_head *head = ucmd->arg;
	int ret;

	/* Check first that the result can be written, because a failed call must have no effect. */
	if (copy_to_user(ubuf, head, size))
		return -EFAULT;
	ret = ucmd_run(ucmd, op);
	head->err = rsm_error(ret);
	if (ret && !head->err)
		return ret;
	if (copy_to_user(ubuf, head, size)) {
		ucmd_undo(ucmd);
		return -EFAULT;
	}
	if (ucmd->made_file)
		fd_install(((struct dat_rsm_fd *)ucmd->arg)->fd, ucmd->made_file);
	if (ucmd->made)
		rsm_obj_put(ucmd->made);
	/* Also return an errno, because tools like strace do not read the error in the argument. */
	return ret ? -EREMOTEIO : 0;
}

long rsm_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	void __user *ubuf = (void __user *)arg;
	unsigned int nr = _IOC_NR(cmd);
	union rsm_arg karg = {};
	struct rsm_ucmd ucmd = { .file = filp, .arg = &karg };
	const struct rsm_op *op;
	int ret;

	if (cmd == DAT_IOC_ABI)
		return dat_ioctl_abi(((struct rsm_file *)filp->private_data)->number, ubuf);
	if (cmd == DAT_IOC_POLLER_SET || cmd == DAT_IOC_POLLER_RUN)
		return rsm_ioctl_poller(filp->private_data, cmd, ubuf);
	if (nr >= ARRAY_SIZE(rsm_ops) || cmd != _IO(DAT_RSM_IOC_MAGIC, nr))
		return -ENOTTY;
	op = &rsm_ops[array_index_nospec(nr, ARRAY_SIZE(rsm_ops))];
	ret = dat_copy_arg(&karg, op->size, op->min_size, ubuf);
	if (ret)
		return ret;
	return ucmd_call(&ucmd, op, ubuf, min(karg.head.size, op->size));
}
