// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * ioctl operations on an adapter, on protection zones, on memory and on SRQs, and the free of an
 * object of any type.
 *
 * An operation checks the argument, looks up the objects, calls the object layer and fills in the
 * results.  The operation, not the object layer, checks the limits of the adapter.
 */
#include <linux/bits.h>
#include <linux/cpumask.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "core/addr.h"
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/queue.h"
#include "core/ep/ring.h"
#include "core/ep/srq.h"
#include "core/event/evd.h"
#include "core/mem/lmr.h"
#include "core/mem/rmr.h"
#include "core/mem/watch.h"
#include "core/xport.h"
#include "lib/device.h"
#include "user/file.h"

/*
 * Converts the resize step in an ioctl argument to *@step.  Fails with -EOPNOTSUPP if the step is
 * unknown, with -EINVAL if a step that allocates a ring has a @generation.
 */
int dat_cmd_step(u32 what, u32 generation, struct dat_step *step)
{
	if (what > DAT_RING_CANCEL)
		return -EOPNOTSUPP;
	step->what = what;
	step->generation = generation;
	return dat_step_makes(step) && generation ? -EINVAL : 0;
}

int dat_cmd_adapter(struct dat_ucmd *ucmd)
{
	struct dat_adapter *arg = ucmd->arg;
	struct dat_dev_entry entry;
	bool active;
	int ret;

	if (arg->rsvd)
		return -EOPNOTSUPP;
	memset(arg->name, 0, sizeof(arg->name));
	ret = dat_dev_next(ucmd->file->net, &arg->cursor, &entry, &active);
	if (ret)
		return ret;
	strscpy(arg->name, entry.name, sizeof(arg->name));
	arg->port = entry.port;
	arg->active = active;
	return 0;
}

/* Allocates the doorbell region of an IA, which holds a bit for each of @max_queues queues. */
static struct dat_region *doorbell_alloc(u32 max_queues)
{
	struct dat_region *doorbell = kzalloc(sizeof(*doorbell), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!doorbell)
		return ERR_PTR(-ENOMEM);
	ret = dat_region_alloc(doorbell, DIV_ROUND_UP(max_queues, BITS_PER_BYTE), true);
	if (!ret)
		return doorbell;
	kfree(doorbell);
	return ERR_PTR(ret);
}

static void doorbell_free(struct dat_region *doorbell)
{
	dat_region_free(doorbell);
	kfree(doorbell);
}

int dat_cmd_ia_open(struct dat_ucmd *ucmd)
{
	struct dat_ia_open *arg = ucmd->arg;
	struct dat_region *doorbell;
	struct dat_ia *ia;

	if (arg->flags || arg->rsvd || arg->features & ~DAT_FEATURES_ALL)
		return -EOPNOTSUPP;
	if (!memchr(arg->name, 0, sizeof(arg->name)) || arg->max_queues > DAT_QUEUES_LIMIT)
		return -EINVAL;
	if (dat_file_ia(to_dat_file(ucmd->file)))
		return -EBUSY;
	doorbell = doorbell_alloc(arg->max_queues ?: DAT_QUEUES_DEFAULT);
	if (IS_ERR(doorbell))
		return PTR_ERR(doorbell);
	ia = dat_ia_open(arg->name, ucmd->file->net, &dat_user_face, arg->user_data);
	if (IS_ERR(ia)) {
		doorbell_free(doorbell);
		return PTR_ERR(ia);
	}
	ia->silent = arg->features & DAT_FEATURE_SILENT;
	ia->reject_data = arg->features & DAT_FEATURE_REJECT;
	arg->doorbell_offset = dat_mmap_place(0, DAT_MAP_DOORBELL);
	arg->doorbell_size = dat_mmap_size(doorbell);
	arg->max_queues = dat_doorbell_bits(doorbell);
	ucmd->bound = ia;
	ucmd->made = doorbell;
	return 0;
}

/*
 * Binds the new IA to the file.  Closes the IA if @ret is an error or the bind fails.  Called after
 * the results were copied to the caller, because a file cannot be unbound.
 */
int dat_cmd_finish_ia(struct dat_ucmd *ucmd, int ret)
{
	struct dat_region *doorbell = ucmd->made;
	struct dat_ia *ia = ucmd->bound;

	if (!ret)
		ret = dat_file_bind(to_dat_file(ucmd->file), ia, doorbell);
	if (ret) {
		dat_ia_close(ia);
		dat_ia_put(ia);
	}
	doorbell_free(doorbell);	/* empty after a success */
	return ret;
}

static void ia_query_limits(struct dat_ia *ia, struct dat_ia_query *arg)
{
	const struct dat_limits *limits = &ia->dev->limits;

	arg->max_eps = limits->max_qp;
	arg->max_dto_per_ep = limits->max_dto;
	arg->max_evd_qlen = DAT_MAX_EVD_QLEN;
	arg->max_iov = min(limits->send_sge, limits->recv_sge);
	arg->max_iov_read = min(limits->read_sge, arg->max_iov);
	arg->max_lmrs = limits->max_mr;
	arg->max_pzs = limits->max_pd;
	arg->max_srqs = limits->max_srq;
	arg->max_recv_per_srq = limits->max_srq_dto;
	arg->max_rdma_read_in = limits->read_in;
	arg->max_rdma_read_out = limits->read_out;
	arg->max_pd_request = limits->pd_request;
	arg->max_pd_reply = limits->pd_reply;
	arg->max_pd_reject = limits->pd_reject;
	arg->max_message_size = ia->msg_max;
	arg->max_lmr_size = limits->max_mr_size;
	arg->ops = GENMASK_ULL(DAT_OP_LAST - 1, DAT_OP_SEND);
	arg->sqe_flags = DAT_SQE_FLAGS_ALL;
	if (dat_ia_ep_flags(ia) & DAT_EP_FLAG_IMMEDIATE)
		arg->sqe_flags |= DAT_SQE_IMM;
	arg->caps = limits->caps;
	arg->max_inline = limits->max_inline;
	arg->num_comp_vectors = 1;
}

/*
 * Copies an address and zeros the rest of @to.  Returns the length of the address, or 0 if @ss is
 * not an IPv4 or IPv6 address.
 */
u32 dat_cmd_addr(u8 to[DAT_ADDR_SIZE], const struct sockaddr_storage *ss)
{
	u32 len = dat_addr_len(ss);

	memset(to, 0, DAT_ADDR_SIZE);
	memcpy(to, ss, len);
	return len;
}

int dat_cmd_ia_query(struct dat_ucmd *ucmd)
{
	struct dat_ia_query *arg = ucmd->arg;
	struct dat_ia *ia = dat_ucmd_ia(ucmd);
	const struct dat_limits *limits = &ia->dev->limits;
	struct sockaddr_storage addr;

	memset(arg, 0, sizeof(*arg));
	arg->size = ucmd->size;
	dat_dev_addr(ia, &addr);
	arg->addr_len = dat_cmd_addr(arg->addr, &addr);
	ia->dev->ops->name(ia->dev, arg->device, sizeof(arg->device));
	strscpy(arg->fw, limits->fw, sizeof(arg->fw));
	arg->vendor_id = limits->vendor_id;
	arg->vendor_part_id = limits->vendor_part_id;
	arg->hw_ver = limits->hw_ver;
	arg->port = ia->port;
	if (ia->iwarp)
		arg->flags |= DAT_IA_FLAG_IWARP;
	if (limits->local)
		arg->flags |= DAT_IA_FLAG_LOCAL;
	arg->mtu = ia->mtu;
	ia_query_limits(ia, arg);
	return 0;
}

int dat_cmd_ia_addr(struct dat_ucmd *ucmd)
{
	struct dat_ia_addr *arg = ucmd->arg;
	struct dat_ia *ia = dat_ucmd_ia(ucmd);
	struct sockaddr_storage ss;

	if (arg->rsvd)
		return -EOPNOTSUPP;
	if (!dat_dev_next_addr(ia, &ia->addr, &arg->cursor, &ss))
		return -ENOENT;
	arg->addr_len = dat_cmd_addr(arg->addr, &ss);
	return 0;
}

int dat_cmd_ia_close(struct dat_ucmd *ucmd)
{
	struct dat_ia_close *arg = ucmd->arg;

	if (arg->rsvd)
		return -EOPNOTSUPP;
	if (READ_ONCE(dat_ucmd_ia(ucmd)->dead) && xa_empty(&dat_ucmd_ia(ucmd)->objs)) {
		/* Wake a parked poller: a removal of the device does not wake the poller. */
		dat_poller_wake(&ucmd->file->poller);
		return -ENODEV;
	}
	dat_file_close_ia(to_dat_file(ucmd->file));
	return 0;
}

int dat_cmd_free(struct dat_ucmd *ucmd)
{
	struct dat_free *arg = ucmd->arg;
	struct dat_obj *obj;
	int ret;

	if (arg->rsvd || arg->type >= DAT_OBJ_LAST)
		return -EOPNOTSUPP;
	if (!dat_obj_type_known(arg->type))
		return -EINVAL;
	obj = dat_obj_get(ucmd->bound, arg->type, arg->id);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	ret = dat_obj_free(obj);
	if (!ret)
		dat_file_del_bells(to_dat_file(ucmd->file), obj);
	dat_obj_put(obj);
	return ret;
}

int dat_cmd_finish_obj(struct dat_ucmd *ucmd, int ret)
{
	/*
	 * Free the object if the copy of the results failed, because the caller did not get the id.
	 * If the IA was shut down meanwhile, a close of the IA frees the object, or has freed it.
	 */
	if (ret && !dat_ia_lock_live(ucmd->bound)) {
		if (!dat_obj_free(ucmd->made))
			dat_file_del_bells(to_dat_file(ucmd->file), ucmd->made);
		dat_ia_unlock(ucmd->bound);
	}
	dat_obj_put(ucmd->made);
	return ret;
}

int dat_cmd_pz_create(struct dat_ucmd *ucmd)
{
	struct dat_pz_create *arg = ucmd->arg;
	struct dat_pz *pz = dat_pz_create(ucmd->bound);

	if (IS_ERR(pz))
		return PTR_ERR(pz);
	arg->id = pz->obj.id;
	ucmd->made = &pz->obj;
	return 0;
}

static int lmr_check(const struct dat_lmr_create *arg)
{
	if (arg->priv & ~(DAT_PRIV_ALL | DAT_PRIV_RELAXED))
		return -EOPNOTSUPP;
	if (arg->flags & ~DAT_LMR_FLAGS_ALL || arg->rsvd)
		return -EOPNOTSUPP;
	if (!arg->length || arg->addr + arg->length < arg->addr)
		return -EINVAL;
	/* The end of the last page must not wrap either. */
	if (PAGE_ALIGN(arg->addr + arg->length) < arg->addr + arg->length)
		return -EINVAL;
	if (!(arg->flags & DAT_LMR_SHARED) && memchr_inv(arg->cookie, 0, sizeof(arg->cookie)))
		return -EINVAL;
	return 0;
}

/*
 * Gets a reference like dat_obj_get(), for operations that do not hold ia->sem.  May sleep.  Fails
 * with -ENODEV if the IA is shut down, or with -ENOENT.
 */
static void *get_live(struct dat_ia *ia, enum dat_obj_type type, u32 id)
{
	void *obj;
	int ret;

	ret = dat_ia_lock_live(ia);
	if (ret)
		return ERR_PTR(ret);
	obj = dat_obj_get(ia, type, id);
	dat_ia_unlock(ia);
	return obj;
}

static int lmr_make(struct dat_ucmd *ucmd, struct dat_pz *pz)
{
	const u32 remote = DAT_PRIV_REMOTE_READ | DAT_PRIV_REMOTE_WRITE;
	struct dat_lmr_create *arg = ucmd->arg;
	struct dat_lmr_user user = {
		.cookie = arg->flags & DAT_LMR_SHARED ? arg->cookie : NULL,
		.watched = arg->flags & DAT_LMR_WATCHED,
	};
	struct dat_lmr *lmr;
	int ret;

	ret = dat_ia_pin_begin(ucmd->bound, arg->addr, arg->length, arg->priv);
	if (ret)
		return ret;
	lmr = dat_lmr_create(pz, arg->addr, arg->length, arg->priv, &user);
	if (IS_ERR(lmr)) {
		ret = PTR_ERR(lmr);
	} else {
		arg->id = lmr->obj.id;
		arg->lmr_context = lmr->context;
		arg->rmr_context = arg->priv & remote ? lmr->rkey : 0;
		ucmd->made = &lmr->obj;
	}
	dat_ia_pin_end(ucmd->bound);
	return ret;
}

/*
 * Registers memory.  Runs without ia->sem, because a process can make its page faults take
 * arbitrarily long.
 */
int dat_cmd_lmr_create(struct dat_ucmd *ucmd)
{
	struct dat_lmr_create *arg = ucmd->arg;
	struct dat_pz *pz;
	int ret;

	ret = lmr_check(arg);
	if (ret)
		return ret;
	pz = get_live(ucmd->bound, DAT_OBJ_PZ, arg->pz);
	if (IS_ERR(pz))
		return PTR_ERR(pz);
	ret = lmr_make(ucmd, pz);
	dat_obj_put(&pz->obj);
	return ret;
}

int dat_cmd_lmr_stale(struct dat_ucmd *ucmd)
{
	struct dat_ia *ia = dat_ucmd_ia(ucmd);
	struct dat_lmr_stale *arg = ucmd->arg;
	int ret;

	mutex_lock(&ia->resize_lock);
	ret = dat_watches_map(ia);
	if (!ret)
		arg->word = dat_mmap_span(ia, &ia->watches.slice);
	mutex_unlock(&ia->resize_lock);
	if (ret)
		return ret;
	memset(arg->ids, 0, sizeof(arg->ids));
	arg->count = dat_watches_take(&ia->watches, arg->ids, ARRAY_SIZE(arg->ids));
	return 0;
}

int dat_cmd_rmr_create(struct dat_ucmd *ucmd)
{
	struct dat_rmr_create *arg = ucmd->arg;
	struct dat_rmr *rmr;
	struct dat_pz *pz;

	if (arg->rsvd)
		return -EOPNOTSUPP;
	pz = dat_obj_get(ucmd->bound, DAT_OBJ_PZ, arg->pz);
	if (IS_ERR(pz))
		return PTR_ERR(pz);
	rmr = dat_rmr_create(pz, arg->user_data);
	dat_obj_put(&pz->obj);
	if (IS_ERR(rmr))
		return PTR_ERR(rmr);
	arg->id = rmr->obj.id;
	ucmd->made = &rmr->obj;
	return 0;
}

static int rmr_bind(struct dat_ucmd *ucmd, struct dat_rmr *rmr, struct dat_lmr *lmr)
{
	struct dat_rmr_bind *arg = ucmd->arg;
	u64 length = 0;
	int ret;

	/* Fault in only memory of the LMR; dat_rmr_bind() refuses any other range. */
	if (lmr && dat_lmr_covers(lmr, arg->addr, arg->length))
		length = arg->length;
	ret = dat_ia_pin_begin(ucmd->bound, arg->addr, length, arg->priv);
	if (ret)
		return ret;
	ret = dat_rmr_bind(rmr, lmr, arg);
	dat_ia_pin_end(ucmd->bound);
	return ret;
}

/* Prepares a bind.  Runs without ia->sem, because of page faults; see dat_cmd_lmr_create(). */
int dat_cmd_rmr_bind(struct dat_ucmd *ucmd)
{
	struct dat_rmr_bind *arg = ucmd->arg;
	struct dat_lmr *lmr = NULL;
	struct dat_rmr *rmr;
	int ret;

	if (arg->priv & ~DAT_PRIV_ALL)
		return -EOPNOTSUPP;
	if (arg->priv & ~(DAT_PRIV_REMOTE_READ | DAT_PRIV_REMOTE_WRITE) ||
	    !arg->lmr != !arg->length)
		return -EINVAL;
	rmr = get_live(ucmd->bound, DAT_OBJ_RMR, arg->id);
	if (IS_ERR(rmr))
		return PTR_ERR(rmr);
	if (arg->lmr)
		lmr = get_live(ucmd->bound, DAT_OBJ_LMR, arg->lmr);
	ret = PTR_ERR_OR_ZERO(lmr);
	if (!ret) {
		ret = rmr_bind(ucmd, rmr, lmr);
		dat_obj_put(lmr ? &lmr->obj : NULL);
	}
	dat_obj_put(&rmr->obj);
	return ret;
}

static void srq_fill(struct dat_srq_create *arg, struct dat_srq *srq)
{
	struct dat_ia *ia = srq->obj.ia;

	mutex_lock(&ia->resize_lock);
	arg->max_recv = srq->q.entries;
	arg->id = srq->obj.id;
	arg->queue = READ_ONCE(srq->q.bell);
	arg->submit = dat_mmap_span(ia, &srq->ring.submit);
	arg->status = dat_mmap_span(ia, &srq->ring.status);
	arg->rq_offset = srq->ring.rq_offset;
	arg->rq_shift = srq->ring.rq_shift;
	mutex_unlock(&ia->resize_lock);
}

int dat_cmd_srq_create(struct dat_ucmd *ucmd)
{
	struct dat_srq_create *arg = ucmd->arg;
	struct dat_srq *srq;
	struct dat_pz *pz;
	int ret;

	ret = dat_srq_fits(ucmd->bound, arg->max_recv, arg->max_iov);
	if (ret)
		return ret;
	pz = dat_obj_get(ucmd->bound, DAT_OBJ_PZ, arg->pz);
	if (IS_ERR(pz))
		return PTR_ERR(pz);
	srq = dat_srq_create(pz, arg->max_recv, arg->max_iov, arg->user_data);
	dat_obj_put(&pz->obj);
	if (IS_ERR(srq))
		return PTR_ERR(srq);
	ret = dat_file_add_bells(to_dat_file(ucmd->file), &srq->obj);
	if (ret) {
		dat_obj_free(&srq->obj);
		dat_obj_put(&srq->obj);
		return ret;
	}
	srq_fill(arg, srq);
	ucmd->made = &srq->obj;
	return 0;
}

static void srq_resize_fill(struct dat_srq_resize *arg, struct dat_srq *srq,
			    const struct dat_step *step)
{
	bool prepare = step->what == DAT_RING_PREPARE;
	struct dat_epring *ring = prepare ? &srq->next : &srq->ring;
	struct dat_ia *ia = srq->obj.ia;

	mutex_lock(&ia->resize_lock);
	arg->submit = dat_mmap_span(ia, &ring->submit);
	if (prepare) {
		arg->generation = step->generation;
	} else {
		arg->max_recv = srq->q.entries;
		arg->rq_offset = ring->rq_offset;
	}
	mutex_unlock(&ia->resize_lock);
}

int dat_cmd_srq_resize(struct dat_ucmd *ucmd)
{
	struct dat_srq_resize *arg = ucmd->arg;
	struct dat_step step;
	struct dat_srq *srq;
	int ret;

	ret = dat_cmd_step(arg->step, arg->generation, &step);
	if (ret)
		return ret;
	if (!arg->max_recv || arg->max_recv > dat_ucmd_ia(ucmd)->dev->limits.max_srq_dto)
		return -EINVAL;
	srq = dat_obj_get(ucmd->bound, DAT_OBJ_SRQ, arg->id);
	if (IS_ERR(srq))
		return PTR_ERR(srq);
	ret = dat_srq_resize(srq, arg->max_recv, &step);
	srq_resize_fill(arg, srq, &step);
	dat_obj_put(&srq->obj);
	return ret;
}

int dat_cmd_srq_set_lw(struct dat_ucmd *ucmd)
{
	struct dat_srq_set_lw *arg = ucmd->arg;
	struct dat_srq *srq;

	if (arg->rsvd)
		return -EOPNOTSUPP;
	if (arg->low_watermark > DAT_MAX_DTO)
		return -EINVAL;
	srq = dat_obj_get(ucmd->bound, DAT_OBJ_SRQ, arg->id);
	if (IS_ERR(srq))
		return PTR_ERR(srq);
	dat_srq_set_lw(srq, arg->low_watermark);
	dat_obj_put(&srq->obj);
	return 0;
}
