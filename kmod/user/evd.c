// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* ioctl operations on EVDs and CNOs, and on file descriptors for EVDs and CNOs. */
#include <linux/file.h>
#include <linux/log2.h>

#include "core/dat.h"
#include "core/event/evd.h"
#include "core/mem/pool.h"
#include "lib/device.h"
#include "user/file.h"

static void evd_fill(struct dat_evd_create *arg, struct dat_evd *evd)
{
	struct dat_ia *ia = evd->obj.ia;

	mutex_lock(&ia->resize_lock);
	arg->id = evd->obj.id;
	arg->qlen = evd->ring.entries;
	arg->submit = dat_mmap_span(ia, &evd->ring.submit);
	arg->status = dat_mmap_span(ia, &evd->ring.status);
	arg->ring = dat_mmap_span(ia, &evd->ring.slots);
	arg->eqe_shift = ilog2(sizeof(struct dat_eqe));
	mutex_unlock(&ia->resize_lock);
}

int dat_cmd_evd_create(struct dat_ucmd *ucmd)
{
	struct dat_evd_create *arg = ucmd->arg;
	struct dat_evd *evd;

	if (arg->streams & ~DAT_STREAM_ALL || arg->flags || arg->comp_vector || arg->rsvd)
		return -EOPNOTSUPP;
	if (!arg->streams || !arg->qlen || arg->qlen > DAT_MAX_EVD_QLEN)
		return -EINVAL;
	evd = dat_evd_create(ucmd->bound, arg->streams, arg->qlen, arg->user_data);
	if (IS_ERR(evd))
		return PTR_ERR(evd);
	evd_fill(arg, evd);
	ucmd->made = &evd->obj;
	return 0;
}

/*
 * Makes an EVD with the async stream the async EVD of the IA, unless the IA has one.  Called after
 * the results were copied, because the caller must have the id of the EVD before events arrive.
 */
int dat_cmd_finish_evd(struct dat_ucmd *ucmd, int ret)
{
	struct dat_evd *evd = to_dat_evd(ucmd->made);

	if (!ret && evd->streams & DAT_STREAM_ASYNC) {
		ret = dat_ia_lock_live(ucmd->bound);
		if (ret)
			goto out;
		dat_ia_set_async_evd(ucmd->bound, evd);
		dat_ia_unlock(ucmd->bound);
	}
out:
	return dat_cmd_finish_obj(ucmd, ret);
}

/* Waits for events.  Sleeps without ia->sem, so that a concurrent close can proceed. */
static int cmd_evd_wait(struct dat_ia *ia, u32 id, u32 threshold, u64 deadline_ns)
{
	struct dat_evd *evd = dat_obj_get(ia, DAT_OBJ_EVD, id);
	int ret = -EINVAL;

	if (IS_ERR(evd))
		return READ_ONCE(ia->dead) ? -ENODEV : PTR_ERR(evd);
	if (threshold)
		ret = dat_evd_wait(evd, threshold, dat_deadline_to_host(deadline_ns));
	dat_obj_put(&evd->obj);
	return ret;
}

int dat_cmd_evd_wait(struct dat_ucmd *ucmd)
{
	struct dat_evd_wait *arg = ucmd->arg;

	if (arg->rsvd)
		return -EOPNOTSUPP;
	return cmd_evd_wait(dat_ucmd_ia(ucmd), arg->id, arg->threshold, arg->deadline_ns);
}

/* Polls an EVD.  Runs without ia->sem, so that a concurrent close can proceed. */
static int cmd_evd_poll(struct dat_ia *ia, u32 id, u32 spin_us)
{
	struct dat_evd *evd = dat_obj_get(ia, DAT_OBJ_EVD, id);
	int ret;

	if (IS_ERR(evd))
		return READ_ONCE(ia->dead) ? -ENODEV : PTR_ERR(evd);
	ret = dat_busy_poll(evd, (u64)spin_us * NSEC_PER_USEC);
	dat_obj_put(&evd->obj);
	return ret;
}

int dat_cmd_evd_poll(struct dat_ucmd *ucmd)
{
	struct dat_evd_poll *arg = ucmd->arg;

	if (arg->rsvd)
		return -EOPNOTSUPP;
	if (arg->spin_us > DAT_MAX_SPIN_US)
		return -EINVAL;
	return cmd_evd_poll(dat_ucmd_ia(ucmd), arg->id, arg->spin_us);
}

/*
 * Returns the IA of a file for an ioctl whose argument is the id of an object; or -EOPNOTSUPP if
 * the argument has reserved bits, -EINVAL if the file has no IA.
 */
static struct dat_ia *word_ia(struct dat_devfile *devfile, unsigned long arg)
{
	if (arg > U32_MAX)
		return ERR_PTR(-EOPNOTSUPP);
	return dat_file_ia(to_dat_file(devfile)) ?: ERR_PTR(-EINVAL);
}

int dat_ioctl_evd_look(struct dat_devfile *devfile, unsigned long arg)
{
	struct dat_ia *ia = word_ia(devfile, arg);

	return IS_ERR(ia) ? PTR_ERR(ia) : cmd_evd_poll(ia, arg, 0);
}

int dat_ioctl_evd_sleep(struct dat_devfile *devfile, unsigned long arg)
{
	struct dat_ia *ia = word_ia(devfile, arg);

	return IS_ERR(ia) ? PTR_ERR(ia) : cmd_evd_wait(ia, arg, 1, DAT_WAIT_FOREVER);
}

int dat_cmd_evd_post(struct dat_ucmd *ucmd)
{
	struct dat_evd_post *arg = ucmd->arg;
	struct dat_evd *evd = dat_obj_get(ucmd->bound, DAT_OBJ_EVD, arg->id);
	int ret;

	if (IS_ERR(evd))
		return PTR_ERR(evd);
	ret = dat_evd_post(evd, arg->cookie);
	dat_obj_put(&evd->obj);
	return ret;
}

int dat_cmd_evd_set(struct dat_ucmd *ucmd)
{
	struct dat_evd_set *arg = ucmd->arg;
	struct dat_evd *evd;

	if ((arg->flags | arg->mask) & ~(DAT_EVD_UNWAITABLE | DAT_EVD_DISABLED))
		return -EOPNOTSUPP;
	evd = dat_obj_get(ucmd->bound, DAT_OBJ_EVD, arg->id);
	if (IS_ERR(evd))
		return PTR_ERR(evd);
	if (arg->mask & DAT_EVD_UNWAITABLE)
		dat_evd_set_unwaitable(evd, arg->flags & DAT_EVD_UNWAITABLE);
	if (arg->mask & DAT_EVD_DISABLED)
		dat_evd_set_disabled(evd, arg->flags & DAT_EVD_DISABLED);
	dat_obj_put(&evd->obj);
	return 0;
}

int dat_cmd_evd_modify_cno(struct dat_ucmd *ucmd)
{
	struct dat_evd_modify_cno *arg = ucmd->arg;
	struct dat_cno *cno = NULL;
	struct dat_evd *evd;
	int ret = 0;

	if (arg->rsvd)
		return -EOPNOTSUPP;
	evd = dat_obj_get(ucmd->bound, DAT_OBJ_EVD, arg->id);
	if (IS_ERR(evd))
		return PTR_ERR(evd);
	if (arg->cno)
		cno = dat_obj_get(ucmd->bound, DAT_OBJ_CNO, arg->cno);
	ret = PTR_ERR_OR_ZERO(cno);
	if (!ret) {
		ret = dat_evd_set_cno(evd, cno);
		dat_obj_put(cno ? &cno->obj : NULL);
	}
	dat_obj_put(&evd->obj);
	return ret;
}

static void evd_resize_fill(struct dat_evd_resize *arg, struct dat_evd *evd,
			    const struct dat_step *step)
{
	struct dat_ia *ia = evd->obj.ia;

	mutex_lock(&ia->resize_lock);
	if (step->what == DAT_RING_PREPARE) {
		arg->generation = step->generation;
		arg->ring = dat_mmap_span(ia, &evd->next);
	} else {
		arg->qlen = evd->ring.entries;
		arg->ring = dat_mmap_span(ia, &evd->ring.slots);
	}
	mutex_unlock(&ia->resize_lock);
}

int dat_cmd_evd_resize(struct dat_ucmd *ucmd)
{
	struct dat_evd_resize *arg = ucmd->arg;
	struct dat_step step;
	struct dat_evd *evd;
	int ret;

	if (arg->rsvd)
		return -EOPNOTSUPP;
	ret = dat_cmd_step(arg->step, arg->generation, &step);
	if (ret)
		return ret;
	if (!arg->qlen || arg->qlen > DAT_MAX_EVD_QLEN)
		return -EINVAL;
	evd = dat_obj_get(ucmd->bound, DAT_OBJ_EVD, arg->id);
	if (IS_ERR(evd))
		return PTR_ERR(evd);
	ret = dat_evd_resize(evd, arg->qlen, &step);
	evd_resize_fill(arg, evd, &step);
	dat_obj_put(&evd->obj);
	return ret;
}

int dat_cmd_cno_create(struct dat_ucmd *ucmd)
{
	struct dat_cno_create *arg = ucmd->arg;
	struct dat_cno *cno = dat_cno_create(ucmd->bound);

	if (IS_ERR(cno))
		return PTR_ERR(cno);
	arg->id = cno->obj.id;
	ucmd->made = &cno->obj;
	return 0;
}

int dat_cmd_cno_query(struct dat_ucmd *ucmd)
{
	struct dat_cno_query *arg = ucmd->arg;
	struct dat_cno *cno = dat_obj_get(ucmd->bound, DAT_OBJ_CNO, arg->id);

	if (IS_ERR(cno))
		return PTR_ERR(cno);
	arg->triggered = dat_cno_query(cno, &arg->generation);
	dat_obj_put(&cno->obj);
	return 0;
}

/* Waits for a CNO.  Sleeps without ia->sem, so that a concurrent close can proceed. */
int dat_cmd_cno_wait(struct dat_ucmd *ucmd)
{
	struct dat_cno_wait *arg = ucmd->arg;
	u64 deadline = dat_deadline_to_host(arg->deadline_ns);
	struct dat_cno *cno;
	int ret;

	if (arg->flags & ~DAT_CNO_WATCH)
		return -EOPNOTSUPP;
	cno = dat_obj_get(ucmd->bound, DAT_OBJ_CNO, arg->id);
	if (IS_ERR(cno))
		return READ_ONCE(dat_ucmd_ia(ucmd)->dead) ? -ENODEV : PTR_ERR(cno);
	if (arg->flags & DAT_CNO_WATCH)
		ret = dat_cno_watch(cno, &arg->generation, deadline, &arg->evd);
	else
		ret = dat_cno_wait(cno, deadline, &arg->evd);
	dat_obj_put(&cno->obj);
	return ret;
}

int dat_cmd_fd(struct dat_ucmd *ucmd)
{
	struct dat_fd *arg = ucmd->arg;
	struct dat_obj *obj;
	int ret;

	if (arg->type >= DAT_OBJ_LAST)
		return -EOPNOTSUPP;
	if (!dat_obj_type_known(arg->type))
		return -EINVAL;
	obj = dat_obj_get(ucmd->bound, arg->type, arg->id);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	ucmd->made_file = dat_fd_file(obj);
	dat_obj_put(obj);
	if (IS_ERR(ucmd->made_file))
		return PTR_ERR(ucmd->made_file);
	ret = get_unused_fd_flags(O_CLOEXEC);
	if (ret < 0)
		fput(ucmd->made_file);
	else
		arg->fd = ret;
	return min(ret, 0);
}

/*
 * Installs the descriptor, or releases the descriptor and the file if @ret is an error.  Called
 * after the copy of the results, because an installed descriptor cannot be taken back.
 */
int dat_cmd_finish_fd(struct dat_ucmd *ucmd, int ret)
{
	struct dat_fd *arg = ucmd->arg;

	if (ret) {
		put_unused_fd(arg->fd);
		fput(ucmd->made_file);
	} else {
		fd_install(arg->fd, ucmd->made_file);
	}
	return ret;
}
