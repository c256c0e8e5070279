// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* RSM events.  Each export or import has a number of pending events.  A wait consumes one event. */
#include <linux/anon_inodes.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/poll.h>

#include "lib/device.h"
#include "rsm/rsm.h"

static void obj_set_pending(struct rsm_obj *obj, u32 pending)
{
	lockdep_assert_held(&obj->lock);

	obj->pending = pending;
	if (obj->slot)
		WRITE_ONCE(obj->slot->pending, pending);
}

/*
 * Adds an event to an export or import.  Without @accumulate, drops the event if an event is
 * pending.  Also drops the event if the object has ended, or if U32_MAX events are pending.
 * Context: any process context.
 */
void rsm_event_add(struct rsm_obj *obj, bool accumulate)
{
	bool added = false;

	spin_lock(&obj->lock);
	if (!obj->stopped && obj->pending != U32_MAX && (accumulate || !obj->pending)) {
		obj_set_pending(obj, obj->pending + 1);
		added = true;
	}
	spin_unlock(&obj->lock);
	if (added)
		wake_up_all(&obj->wq);
}

/*
 * Adds @n events to an export or import, up to U32_MAX pending events.  Does nothing if the object
 * has ended.  Context: any process context.
 */
void rsm_event_add_many(struct rsm_obj *obj, u32 n)
{
	bool added = false;

	spin_lock(&obj->lock);
	if (!obj->stopped && n) {
		obj_set_pending(obj, obj->pending + min(n, U32_MAX - obj->pending));
		added = true;
	}
	spin_unlock(&obj->lock);
	if (added)
		wake_up_all(&obj->wq);
}

/*
 * Adds an event to the segment of an import.  @flags: 0 or DAT_RSM_NO_ACCUMULATE.  Returns
 * -ECONNABORTED if the import is cut.
 */
int rsm_import_post(struct rsm_import *imp, u32 flags)
{
	if (smp_load_acquire(&imp->obj.cut))	/* pairs with rsm_obj_cut() */
		return -ECONNABORTED;
	if (imp->remote)
		return rsm_remote_post(imp, flags & DAT_RSM_NO_ACCUMULATE);
	/* Order earlier puts before the event, so that the woken exporter sees the data. */
	smp_mb();
	rsm_event_add(&imp->export->obj, !(flags & DAT_RSM_NO_ACCUMULATE));
	return 0;
}

int rsm_event_post(struct dat_ucmd *ucmd)
{
	struct dat_rsm_post *arg = ucmd->arg;
	struct rsm_obj *obj;
	int ret = 0;

	if (arg->flags & ~DAT_RSM_NO_ACCUMULATE)
		return -EOPNOTSUPP;
	obj = rsm_obj_get_events(ucmd->bound, arg->id);
	if (!obj)
		return -EBADF;
	if (obj->ops->type == DAT_RSM_TYPE_EXPORT)
		rsm_export_post(to_rsm_export(obj), !(arg->flags & DAT_RSM_NO_ACCUMULATE));
	else
		ret = rsm_import_post(to_rsm_import(obj), arg->flags);
	rsm_obj_put(obj);
	return ret;
}

/*
 * Consumes a pending event.  Return: 0; -EBADF if the object has ended; -ECONNABORTED if the import
 * is cut and no event is pending; -EAGAIN if no event is pending.
 */
static int event_take(struct rsm_obj *obj)
{
	int ret = -EAGAIN;

	spin_lock(&obj->lock);
	if (obj->stopped) {
		ret = -EBADF;
	} else if (obj->pending) {
		obj_set_pending(obj, obj->pending - 1);
		ret = 0;
	} else if (obj->cut) {
		ret = -ECONNABORTED;
	}
	spin_unlock(&obj->lock);
	return ret;
}

/*
 * Sleeps until a wake-up, a deadline on the host's CLOCK_MONOTONIC, or a signal.  The caller has
 * set the task state.  Returns -EAGAIN after a sleep, and the caller must then check its condition
 * again.  If the function does not sleep, it returns -ETIMEDOUT because the deadline has passed, or
 * -ERESTARTNOHAND because a signal is pending.  After -ERESTARTNOHAND, the system call fails with
 * EINTR if a signal handler runs, and starts again otherwise.
 */
int rsm_event_sleep(u64 deadline_ns)
{
	return dat_sleep(deadline_ns) ?: -EAGAIN;
}

int rsm_event_wait(struct dat_ucmd *ucmd)
{
	struct dat_rsm_wait *arg = ucmd->arg;
	u64 deadline = dat_deadline_to_host(arg->deadline_ns);
	struct rsm_obj *obj;
	DEFINE_WAIT(wait);
	int ret;

	if (arg->rsvd)
		return -EOPNOTSUPP;
	obj = rsm_obj_get_events(ucmd->bound, arg->id);
	if (!obj)
		return -EBADF;
	do {
		prepare_to_wait(&obj->wq, &wait, TASK_INTERRUPTIBLE);
		ret = event_take(obj);
		if (ret == -EAGAIN)
			ret = rsm_event_sleep(deadline);
	} while (ret == -EAGAIN);
	finish_wait(&obj->wq, &wait);
	rsm_obj_put(obj);
	return ret;
}

static __poll_t event_poll(struct file *file, struct poll_table_struct *wait)
{
	struct rsm_obj *obj = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &obj->wq, wait);
	spin_lock(&obj->lock);
	if (obj->pending && !obj->stopped)
		mask |= EPOLLIN | EPOLLRDNORM;
	if (obj->cut || obj->stopped)
		mask |= EPOLLHUP;
	spin_unlock(&obj->lock);
	return mask;
}

static int event_release(struct inode *inode, struct file *file)
{
	rsm_obj_put(file->private_data);
	return 0;
}

/* DAT_IOC_ABI returns the number of the object, by which a process recognizes the descriptor. */
static long event_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct rsm_obj *obj = file->private_data;

	return cmd == DAT_IOC_ABI ? dat_ioctl_abi(obj->number, 0, (void __user *)arg) : -ENOTTY;
}

static const struct file_operations event_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= event_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.poll		= event_poll,
	.release	= event_release,
	.llseek		= noop_llseek,
};

int rsm_event_fd(struct dat_ucmd *ucmd)
{
	struct dat_rsm_fd *arg = ucmd->arg;
	struct rsm_obj *obj;
	struct file *file;
	int fd;

	obj = rsm_obj_get_events(ucmd->bound, arg->id);
	if (!obj)
		return -EBADF;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		goto err_put;
	file = anon_inode_getfile("[rsm]", &event_fops, obj, O_RDWR | O_CLOEXEC);
	if (IS_ERR(file))
		goto err_unused;
	arg->fd = fd;
	ucmd->made_file = file;
	return 0;

err_unused:
	put_unused_fd(fd);
	fd = PTR_ERR(file);
err_put:
	rsm_obj_put(obj);
	return fd == -ENOMEM ? -ENOMEM : -ENOSPC;
}
