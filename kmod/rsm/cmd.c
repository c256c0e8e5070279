// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The table of the ioctls of /dev/rsm.  The dispatcher in lib/ioctl.c copies the argument of an
 * ioctl, which also contains the result; see the top of <rdma/dat_rsm.h>.
 */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/stddef.h>

#include "lib/device.h"
#include "rsm/rsm.h"

/* First members of the argument structure of every RSM ioctl. */
struct rsm_head {
	u32 size;
	u32 err;
};

static int rsm_cmd_open(struct dat_ucmd *ucmd)
{
	struct rsm_file *file = to_rsm_file(ucmd->file);
	struct dat_rsm_open *arg = ucmd->arg;
	struct rsm_ctx *ctx;
	int ret = -ENXIO;

	if (arg->flags)
		return -EOPNOTSUPP;
	mutex_lock(&file->lock);
	if (!file->ctx) {
		ret = rsm_ctx_open(file, &ctx);
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

/* Returns the node of the caller's file, even before DAT_IOC_RSM_OPEN. */
struct rsm_node *rsm_ucmd_node(const struct dat_ucmd *ucmd)
{
	return rsm_node_of(ucmd->file->net);
}

static int rsm_cmd_ctlr(struct dat_ucmd *ucmd)
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

static int rsm_cmd_free(struct dat_ucmd *ucmd)
{
	struct dat_rsm_free *arg = ucmd->arg;
	int ret;

	if (arg->type < DAT_RSM_TYPE_EXPORT || arg->type > DAT_RSM_TYPE_LOCALMEM)
		return -EOPNOTSUPP;
	ret = rsm_obj_end(ucmd->bound, arg->type, arg->id);
	return ret && arg->type == DAT_RSM_TYPE_LOCALMEM ? -ESTALE : ret;
}

#define RSM_OP(nr, name, func, how, ...)				\
	[DAT_NR_RSM_##nr] = {						\
		.fn		= func,					\
		.need		= how,					\
		.answers	= true,					\
		.changes	= true,					\
		DAT_IOCTL_ARG(rsm_##name),				\
		__VA_ARGS__						\
	}

#define MAKES_OBJ	.finish = rsm_cmd_finish_obj
#define MAKES_FD	.finish = rsm_cmd_finish_fd

/* Requirement of an operation, which rsm_run() checks. */
enum need {
	NEED_NONE,	/* nothing */
	NEED_CTX,	/* DAT_IOC_RSM_OPEN has succeeded */
};

/* Ends the new object after an error, because the process did not get the id of the object. */
static int rsm_cmd_finish_obj(struct dat_ucmd *ucmd, int ret)
{
	if (ret)
		rsm_obj_undo(ucmd->made);
	rsm_obj_put(ucmd->made);
	return ret;
}

static int rsm_cmd_finish_fd(struct dat_ucmd *ucmd, int ret)
{
	struct dat_rsm_fd *arg = ucmd->arg;

	if (ret) {
		put_unused_fd(arg->fd);
		fput(ucmd->made_file);
	} else {
		fd_install(arg->fd, ucmd->made_file);
	}
	return ret;
}

/* DAT_IOCTL_VERSION_1() names the last field that a structure had in ABI version 1. */
const struct dat_ioctl_op rsm_ioctls[DAT_NR_RSM_LAST] = {
	RSM_OP(OPEN, open, rsm_cmd_open, NEED_NONE),
	RSM_OP(CTLR, ctlr, rsm_cmd_ctlr, NEED_NONE),
	RSM_OP(EXPORT, export, rsm_export_create, NEED_CTX, MAKES_OBJ),
	RSM_OP(REBIND, rebind, rsm_export_rebind, NEED_CTX),
	RSM_OP(PUBLISH, publish, rsm_export_publish, NEED_CTX),
	RSM_OP(REPUBLISH, publish, rsm_export_republish, NEED_CTX),
	RSM_OP(UNPUBLISH, unpublish, rsm_export_unpublish, NEED_CTX),
	RSM_OP(CONNECT, connect, rsm_import_connect, NEED_CTX, MAKES_OBJ,
	       DAT_IOCTL_VERSION_1(rsm_connect, auth)),
	RSM_OP(LOCALMEM, localmem, rsm_localmem_create, NEED_CTX, MAKES_OBJ),
	RSM_OP(FREE, free, rsm_cmd_free, NEED_CTX),
	RSM_OP(IO, io, rsm_io, NEED_CTX),
	RSM_OP(POST, post, rsm_event_post, NEED_CTX),
	RSM_OP(WAIT, wait, rsm_event_wait, NEED_CTX),
	RSM_OP(FD, fd, rsm_event_fd, NEED_CTX, MAKES_FD),
	RSM_OP(NODES, nodes, rsm_nodes, NEED_NONE),
	RSM_OP(TOPOLOGY, topology, rsm_topology, NEED_NONE),
	RSM_OP(RING, ring, rsm_ring_make, NEED_CTX),
	RSM_OP(KICK, kick, rsm_ring_kick, NEED_CTX),
};

static int cmd_call(struct dat_ucmd *ucmd, const struct dat_ioctl_op *op)
{
	if (!dat_devfile_is_mine(ucmd->file))
		return -EPERM;
	ucmd->bound = rsm_file_ctx(to_rsm_file(ucmd->file));
	if (op->need == NEED_CTX && !ucmd->bound)
		return -EINVAL;
	return op->fn(ucmd);
}

/* Runs a call and stores the result in the argument of the call. */
int rsm_run(struct dat_ucmd *ucmd, const struct dat_ioctl_op *op)
{
	struct rsm_head *head = ucmd->arg;
	int ret = cmd_call(ucmd, op);

	head->err = rsm_error(ret);
	if (ret && !head->err)
		return ret;
	/* Also return an errno, because tools like strace do not read the error in the argument. */
	return ret ? EREMOTEIO : 0;
}
