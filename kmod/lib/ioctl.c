// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The ioctl dispatcher of /dev/dat and /dev/rsm.  Only the dispatcher copies arguments.  The rules
 * for sizes and errors are at the top of <rdma/dat_ioctl.h>.
 */
#include <linux/compat.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/stddef.h>
#include <linux/uaccess.h>
#include <rdma/dat_ioctl.h>

#include "compat.h"
#include "lib/chardev.h"
#include "lib/device.h"

static int ioctl_poller_set(struct dat_ucmd *ucmd)
{
	struct dat_poller *p = &ucmd->file->poller;
	struct dat_poller_set *arg = ucmd->arg;

	if (arg->idle_us > DAT_MAX_POLLER_IDLE_US)
		return -EINVAL;
	/* Even if the device is gone, dat_poller_set() wakes a parked poller, which then ends. */
	dat_poller_set(p, arg->idle_us);
	return p->ops->gone(p) ? -ENODEV : 0;
}

static int ioctl_poller_run(struct dat_ucmd *ucmd)
{
	struct dat_poller_run *arg = ucmd->arg;

	return arg->rsvd ? -EOPNOTSUPP : dat_poller_run(&ucmd->file->poller);
}

/* Ioctls that every device has beside DAT_IOC_ABI, all with the magic number of /dev/dat. */
static const struct dat_ioctl_op common_ops[] = {
	[DAT_NR_POLLER_SET] = { .fn = ioctl_poller_set, DAT_IOCTL_ARG(poller_set) },
	[DAT_NR_POLLER_RUN] = { .fn = ioctl_poller_run, DAT_IOCTL_ARG(poller_run) },
};

static int common_run(struct dat_ucmd *ucmd, const struct dat_ioctl_op *op)
{
	if (!dat_devfile_is_mine(ucmd->file))
		return -EPERM;
	return ucmd->file->ops->bound(ucmd->file) ? op->fn(ucmd) : -EINVAL;
}

static const struct dat_ioctl_op *ioctl_find(const struct dat_ioctl_op *ops, unsigned int n,
					     unsigned int magic, unsigned int cmd)
{
	unsigned int nr = _IOC_NR(cmd);

	if (nr >= n || cmd != _IO(magic, nr))
		return NULL;
	return &ops[array_index_nospec(nr, n)];
}

/*
 * Copies the argument of an ioctl.  The first member of the argument is a u32 with the size that
 * the caller has passed.  The function zeroes the bytes of @arg beyond that size.
 *
 * Returns 0; -EFAULT; -EINVAL if the caller passed less than the size of ABI version 1; -E2BIG if
 * the caller set fields that the driver does not know, or passed more than DAT_ARG_LIMIT bytes.
 */
static int ioctl_copy_arg(void *arg, const struct dat_ioctl_op *op, void __user *ubuf)
{
	u32 known;
	int ret;

	if (get_user(known, (u32 __user *)ubuf))
		return -EFAULT;
	if (known < (op->min_size ?: op->size))
		return -EINVAL;
	/* copy_struct_from_user() checks that all excess bytes are zero: limit the time. */
	if (known > DAT_ARG_LIMIT)
		return -E2BIG;
	ret = copy_struct_from_user(arg, op->size, ubuf, known);
	if (ret)
		return ret;
	/* The process may have changed the size since get_user(): use the checked value. */
	*(u32 *)arg = known;
	return 0;
}

static int ioctl_call(struct dat_ucmd *ucmd, const struct dat_ioctl_op *op,
		      int (*run)(struct dat_ucmd *ucmd, const struct dat_ioctl_op *op))
{
	int ret, copied = 0;

	/* Check early that results can be copied: a call that fails must have no effect. */
	if (op->changes && copy_to_user(ucmd->ubuf, ucmd->arg, ucmd->size))
		return -EFAULT;
	ret = run(ucmd, op);
	if (ret < 0)
		return ret;
	if (op->answers && copy_to_user(ucmd->ubuf, ucmd->arg, ucmd->size))
		copied = -EFAULT;
	if (!ret && op->finish)
		return op->finish(ucmd, copied);
	return copied ?: -ret;
}

static int ioctl_struct(struct dat_devfile *file, const struct dat_ioctl_op *op,
			void __user *ubuf,
			int (*run)(struct dat_ucmd *ucmd, const struct dat_ioctl_op *op))
{
	u64 arg[DIV_ROUND_UP(DAT_UCMD_ARG_ROOM, sizeof(u64))];
	struct dat_ucmd ucmd = { .file = file, .arg = arg, .ubuf = ubuf };
	int ret;

	ret = ioctl_copy_arg(arg, op, ubuf);
	if (ret)
		return ret;
	ucmd.size = min(*(u32 *)arg, op->size);
	return ioctl_call(&ucmd, op, run);
}

/* Performs DAT_IOC_ABI.  @number: number of the open file; @features: bits of DAT_FEATURE_*. */
long dat_ioctl_abi(u64 number, u64 features, void __user *ubuf)
{
	static const struct dat_ioctl_op op = {
		DAT_IOCTL_ARG(abi), DAT_IOCTL_VERSION_1(abi, features),
	};
	struct dat_abi arg;
	u32 size;
	int ret;

	ret = ioctl_copy_arg(&arg, &op, ubuf);
	if (ret)
		return ret;
	size = min_t(u32, arg.size, sizeof(arg));
	arg.version = DAT_ABI_VERSION;
	arg.features = features;
	arg.file = number;
	return copy_to_user(ubuf, &arg, size) ? -EFAULT : 0;
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_ioctl_abi);

static long ioctl_dispatch(struct file *filp, unsigned int cmd, unsigned long arg, bool compat)
{
	struct dat_devfile *file = filp->private_data;
	const struct dat_chardev_ops *dev = file->ops;
	void __user *ubuf = compat ? compat_ptr(arg) : (void __user *)arg;
	const struct dat_ioctl_op *op;

	if (cmd == DAT_IOC_ABI)
		return dat_ioctl_abi(file->number, dev->features, ubuf);
	if (!dat_devfile_is_mine(file) && !dev->tells_strangers)
		return -EPERM;
	op = ioctl_find(dev->ioctls, dev->nr_ioctls, dev->magic, cmd);
	if (op && op->word)
		return op->word(file, arg);
	if (op && op->fn)
		return ioctl_struct(file, op, ubuf, dev->run);
	op = ioctl_find(common_ops, ARRAY_SIZE(common_ops), DAT_IOC_MAGIC, cmd);
	if (op && op->fn)
		return ioctl_struct(file, op, ubuf, common_run);
	return -ENOTTY;
}

long dat_devfile_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return ioctl_dispatch(filp, cmd, arg, false);
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_devfile_ioctl);

/* Ioctl of a 32-bit process.  @arg: 32-bit address, or a number that needs no conversion. */
long dat_devfile_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return ioctl_dispatch(filp, cmd, arg, true);
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_devfile_compat_ioctl);
