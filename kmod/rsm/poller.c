// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The poller of an open /dev/rsm polls the rings of all imports of the file. */
#include <linux/sched.h>
#include <rdma/dat_ioctl.h>

#include "lib/device.h"
#include "rsm/ring.h"

static struct rsm_ctx *ctx_of(const struct dat_poller *p)
{
	return container_of(p, struct rsm_ctx, poller);
}

static bool rings_poll(struct dat_poller *p)
{
	struct rsm_ctx *ctx = ctx_of(p);
	struct rsm_ring *ring;
	bool found = false;

	mutex_lock(&ctx->rings_lock);
	list_for_each_entry(ring, &ctx->rings, node) {
		found |= rsm_ring_poll(ring);
		cond_resched();
	}
	mutex_unlock(&ctx->rings_lock);
	return found;
}

static void rings_watch(struct dat_poller *p, bool on)
{
	struct rsm_ctx *ctx = ctx_of(p);
	struct rsm_ring *ring;

	WRITE_ONCE(ctx->watched, on);
	if (on)
		return;
	mutex_lock(&ctx->rings_lock);
	list_for_each_entry(ring, &ctx->rings, node) {
		rsm_ring_pump(ring);
		cond_resched();
	}
	mutex_unlock(&ctx->rings_lock);
}

static bool rings_gone(const struct dat_poller *p)
{
	return test_bit(0, &ctx_of(p)->ended);
}

const struct dat_poller_ops rsm_poller_ops = {
	.look	= rings_poll,
	.watch	= rings_watch,
	.gone	= rings_gone,
};

static long poller_set(struct rsm_ctx *ctx, const struct dat_poller_set *arg)
{
	if (arg->idle_us > DAT_MAX_POLLER_IDLE_US)
		return -EINVAL;
	dat_poller_set(&ctx->poller, arg->idle_us);
	return 0;
}

/**
 * rsm_ioctl_poller() - handle DAT_IOC_POLLER_SET and DAT_IOC_POLLER_RUN
 * @file: file of the caller
 * @cmd: DAT_IOC_POLLER_SET or DAT_IOC_POLLER_RUN
 * @ubuf: struct dat_poller_set or struct dat_poller_run in user memory
 *
 * Context: may sleep; DAT_IOC_POLLER_RUN returns when the poller is disabled.  Return: 0, or one of
 * the errno values at the top of <rdma/dat_ioctl.h>; also -EINVAL before DAT_IOC_RSM_OPEN, and
 * -EPERM if another process has opened the file.
 */
long rsm_ioctl_poller(struct rsm_file *file, unsigned int cmd, void __user *ubuf)
{
	struct rsm_ctx *ctx = rsm_file_ctx(file);
	union {
		struct dat_poller_set	set;
		struct dat_poller_run	run;
	} arg;
	int ret;

	static_assert(sizeof(arg.set) == sizeof(arg.run));
	if (current->mm != file->mm)
		return -EPERM;
	ret = dat_copy_arg(&arg, sizeof(arg), sizeof(arg), ubuf);
	if (ret)
		return ret;
	if (!ctx)
		return -EINVAL;
	if (cmd == DAT_IOC_POLLER_SET)
		return poller_set(ctx, &arg.set);
	return arg.run.rsvd ? -EOPNOTSUPP : dat_poller_run(&ctx->poller);
}
