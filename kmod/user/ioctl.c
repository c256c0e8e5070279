// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The ioctl table and the ioctl dispatcher.  Only the dispatcher copies arguments.  The rules for
 * sizes and errors are at the top of <rdma/dat_ioctl.h>.
 */
#include <linux/compat.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/psp.h"
#include "core/ep/srq.h"
#include "core/event/evd.h"
#include "core/mem/lmr.h"
#include "core/mem/rmr.h"
#include "lib/device.h"
#include "user/file.h"

/* What an operation requires of the file's IA. */
enum need {
	NEED_NONE,	/* no IA */
	NEED_IA,	/* the file has an IA; @fn locks the IA if necessary */
	NEED_LIVE,	/* the device is present; ucmd_run() locks the IA */
};

/* Union of the arguments of all operations, with the size of the largest argument. */
union ucmd_arg {
	struct dat_adapter		adapter;
	struct dat_ia_open		ia_open;
	struct dat_ia_query		ia_query;
	struct dat_ia_close		ia_close;
	struct dat_poller_set		poller_set;
	struct dat_poller_run		poller_run;
	struct dat_free			free;
	struct dat_pz_create		pz_create;
	struct dat_lmr_create		lmr_create;
	struct dat_evd_create		evd_create;
	struct dat_evd_wait		evd_wait;
	struct dat_evd_poll		evd_poll;
	struct dat_evd_post		evd_post;
	struct dat_evd_set		evd_set;
	struct dat_rmr_create		rmr_create;
	struct dat_rmr_bind		rmr_bind;
	struct dat_evd_modify_cno	evd_modify_cno;
	struct dat_evd_resize		evd_resize;
	struct dat_cno_create		cno_create;
	struct dat_cno_query		cno_query;
	struct dat_cno_wait		cno_wait;
	struct dat_fd			fd;
	struct dat_srq_create		srq_create;
	struct dat_srq_resize		srq_resize;
	struct dat_srq_set_lw		srq_set_lw;
	struct dat_ep_create		ep_create;
	struct dat_ep_modify		ep_modify;
	struct dat_ep_connect		ep_connect;
	struct dat_ep_disconnect	ep_disconnect;
	struct dat_ep_reset		ep_reset;
	struct dat_ep_query		ep_query;
	struct dat_psp_create		psp_create;
	struct dat_cr_query		cr_query;
	struct dat_cr_accept		cr_accept;
	struct dat_cr_reject		cr_reject;
	struct dat_cr_handoff		cr_handoff;
};

/**
 * struct ioctl_op - entry of the ioctl table
 * @fn: performs the operation and stores the results in the argument
 * @finish: called after the copy of the results to user memory; its argument is the result of the
 *	copy, 0 or -EFAULT; commits the operation after 0, undoes the operation after -EFAULT;
 *	returns the result of the ioctl; optional
 * @size: size of the argument in bytes
 * @min_size: size of the argument in ABI version 1, in bytes, if it has grown since; else 0.  Every
 *	caller passes at least the size of version 1.
 * @need: requirement for the IA of the file
 * @answers: flag: the operation has results, which are copied to user memory
 * @changes: flag: the operation has results but no @finish, so it cannot be undone if the copy of
 *	the results fails
 *
 * Between @fn and @finish, the results are copied to user memory without a lock, because a process
 * can make its page faults take arbitrarily long.
 */
struct ioctl_op {
	int		(*fn)(struct dat_ucmd *ucmd);
	int		(*finish)(struct dat_ucmd *ucmd, int ret);
	u32		size;
	u32		min_size;
	enum need	need;
	bool		answers;
	bool		changes;
};

#define IOCTL_OP(nr, name, how, ...)					\
	[DAT_NR_##nr] = {						\
		.fn		= dat_cmd_##name,			\
		.size		= sizeof(struct dat_##name),		\
		.need		= how,					\
		__VA_ARGS__						\
	}

#define ANSWERS		.answers = true
#define CHANGES		.answers = true, .changes = true
#define MAKES(what)	.answers = true, .finish = dat_cmd_finish_##what

#define VERSION_1(name, last)	.min_size = offsetofend(struct dat_##name, last)

/* For a structure that has grown since ABI version 1, the entry names the last field of then. */
static const struct ioctl_op ioctl_ops[DAT_NR_LAST] = {
	IOCTL_OP(ADAPTER, adapter, NEED_NONE, ANSWERS),
	IOCTL_OP(IA_OPEN, ia_open, NEED_NONE, MAKES(ia)),
	IOCTL_OP(IA_QUERY, ia_query, NEED_LIVE, ANSWERS, VERSION_1(ia_query, num_comp_vectors)),
	IOCTL_OP(IA_CLOSE, ia_close, NEED_IA),
	IOCTL_OP(POLLER_SET, poller_set, NEED_IA),
	IOCTL_OP(POLLER_RUN, poller_run, NEED_IA),
	IOCTL_OP(FREE, free, NEED_LIVE),
	IOCTL_OP(PZ_CREATE, pz_create, NEED_LIVE, MAKES(obj)),
	IOCTL_OP(LMR_CREATE, lmr_create, NEED_IA, MAKES(obj)),
	IOCTL_OP(EVD_CREATE, evd_create, NEED_LIVE, MAKES(evd)),
	IOCTL_OP(EVD_WAIT, evd_wait, NEED_IA),
	IOCTL_OP(EVD_POLL, evd_poll, NEED_IA),
	IOCTL_OP(EVD_POST, evd_post, NEED_LIVE),
	IOCTL_OP(EVD_SET, evd_set, NEED_LIVE),
	IOCTL_OP(RMR_CREATE, rmr_create, NEED_LIVE, MAKES(obj)),
	IOCTL_OP(RMR_BIND, rmr_bind, NEED_IA, CHANGES),
	IOCTL_OP(EVD_MODIFY_CNO, evd_modify_cno, NEED_LIVE),
	IOCTL_OP(EVD_RESIZE, evd_resize, NEED_LIVE, CHANGES),
	IOCTL_OP(CNO_CREATE, cno_create, NEED_LIVE, MAKES(obj)),
	IOCTL_OP(CNO_QUERY, cno_query, NEED_LIVE, ANSWERS),
	IOCTL_OP(CNO_WAIT, cno_wait, NEED_IA, CHANGES),
	IOCTL_OP(FD, fd, NEED_LIVE, MAKES(fd)),
	IOCTL_OP(SRQ_CREATE, srq_create, NEED_LIVE, MAKES(obj)),
	IOCTL_OP(SRQ_RESIZE, srq_resize, NEED_LIVE, CHANGES),
	IOCTL_OP(SRQ_SET_LW, srq_set_lw, NEED_LIVE),
	IOCTL_OP(EP_MODIFY, ep_modify, NEED_LIVE, CHANGES),
	IOCTL_OP(EP_CREATE, ep_create, NEED_LIVE, MAKES(obj)),
	IOCTL_OP(EP_CONNECT, ep_connect, NEED_LIVE),
	IOCTL_OP(EP_DISCONNECT, ep_disconnect, NEED_LIVE),
	IOCTL_OP(EP_RESET, ep_reset, NEED_LIVE),
	IOCTL_OP(EP_QUERY, ep_query, NEED_LIVE, ANSWERS),
	IOCTL_OP(PSP_CREATE, psp_create, NEED_LIVE, MAKES(obj)),
	IOCTL_OP(CR_QUERY, cr_query, NEED_LIVE, ANSWERS),
	IOCTL_OP(CR_ACCEPT, cr_accept, NEED_LIVE),
	IOCTL_OP(CR_REJECT, cr_reject, NEED_LIVE),
	IOCTL_OP(CR_HANDOFF, cr_handoff, NEED_IA),
};

static int ucmd_run(struct dat_ucmd *ucmd, const struct ioctl_op *op)
{
	int ret;

	if (op->need == NEED_NONE)
		return op->fn(ucmd);
	ucmd->ia = dat_file_ia(ucmd->file);
	if (!ucmd->ia)
		return -EINVAL;
	if (op->need == NEED_IA)
		return op->fn(ucmd);
	ret = dat_ia_lock_live(ucmd->ia);
	if (ret)
		return ret;
	ret = op->fn(ucmd);
	dat_ia_unlock(ucmd->ia);
	return ret;
}

static int ucmd_call(struct dat_ucmd *ucmd, const struct ioctl_op *op)
{
	int ret;

	/*
	 * A call that fails must have no effect.  Find out before the operation whether results can
	 * be written.
	 */
	if (op->changes && copy_to_user(ucmd->ubuf, ucmd->arg, ucmd->size))
		return -EFAULT;
	ret = ucmd_run(ucmd, op);
	if (ret)
		return ret;
	if (op->answers && copy_to_user(ucmd->ubuf, ucmd->arg, ucmd->size))
		ret = -EFAULT;
	return op->finish ? op->finish(ucmd, ret) : ret;
}

static int ioctl_struct(struct dat_file *file, const struct ioctl_op *op, void __user *ubuf)
{
	struct dat_ucmd ucmd = { .file = file, .ubuf = ubuf };
	union ucmd_arg arg;
	int ret;

	ret = dat_copy_arg(&arg, op->size, op->min_size ?: op->size, ubuf);
	if (ret)
		return ret;
	ucmd.arg = &arg;
	ucmd.size = min(arg.adapter.size, op->size);
	return ucmd_call(&ucmd, op);
}

static int ioctl_kick(struct dat_file *file, unsigned long arg)
{
	struct dat_ia *ia = dat_file_ia(file);
	int ret;

	if (arg)
		return -EOPNOTSUPP;
	if (!ia)
		return -EINVAL;
	/* A kick may report events to EVDs.  The lock keeps a close from freeing these EVDs. */
	ret = dat_ia_lock_live(ia);
	if (ret)
		return ret;
	dat_poller_unpark(&file->poller);
	dat_file_kick(file);
	dat_ia_unlock(ia);
	return 0;
}

long dat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct dat_file *file = filp->private_data;
	unsigned int nr = _IOC_NR(cmd);

	if (cmd == DAT_IOC_ABI)
		return dat_ioctl_abi(file->number, (void __user *)arg);
	if (current->mm != file->mm)
		return -EPERM;
	if (cmd == DAT_IOC_KICK)
		return ioctl_kick(file, arg);
	if (nr >= DAT_NR_LAST || cmd != _IO(DAT_IOC_MAGIC, nr))
		return -ENOTTY;
	nr = array_index_nospec(nr, DAT_NR_LAST);
	if (!ioctl_ops[nr].fn)
		return -ENOTTY;
	return ioctl_struct(file, &ioctl_ops[nr], (void __user *)arg);
}

#ifdef CONFIG_COMPAT
long dat_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	/*
	 * The argument of DAT_IOC_KICK is a number.  The arguments of all other ioctls are
	 * pointers.
	 */
	if (cmd != DAT_IOC_KICK)
		arg = (unsigned long)compat_ptr(arg);
	return dat_ioctl(filp, cmd, arg);
}
#endif
