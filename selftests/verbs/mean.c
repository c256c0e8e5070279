// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Makes soft RoCE as mean as hardware: replaces operations and limits of each rxe device.  Each
 * parameter is one meanness; without parameters the device behaves as before.
 *
 * The module is a client of ib_core.  ib_core calls its clients in the order in which they were
 * loaded, so a client that is loaded later, such as dat.ko, finds the device already mean.  A
 * module that is loaded earlier than this one does not work: its objects are not tracked.
 *
 * The operations are restored when the module is unloaded, which is possible when no kernel
 * consumer has objects of the device any more.  Only objects of kernel consumers are affected.
 */
#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "mean_compat.h"

static atomic_t hits;

/* Counts what has met a meanness, so that a test can tell that it has tested something. */
static void hit(void)
{
	atomic_inc(&hits);
}

module_param_named(hits, hits.counter, int, 0644);
MODULE_PARM_DESC(hits, "Number of times that a meanness had an effect");

/* --- parameters of one meanness each --------------------------------------- */

/* Drivers that a device may claim, as dat.ko treats them in kmod/verbs/quirks.c. */
static const struct {
	const char		*name;
	enum rdma_driver_id	id;
} drivers[] = {
	{ "rxe",	RDMA_DRIVER_RXE },
	{ "mlx5",	RDMA_DRIVER_MLX5 },
	{ "cxgb4",	RDMA_DRIVER_CXGB4 },
	{ "bnxt_re",	RDMA_DRIVER_BNXT_RE },
	{ "qedr",	RDMA_DRIVER_QEDR },
	{ "hns",	RDMA_DRIVER_HNS },
	{ "irdma",	RDMA_DRIVER_IRDMA },
	{ "unknown",	RDMA_DRIVER_UNKNOWN },
};

static unsigned int driver;	/* index in drivers[] */

static int user_mr;
module_param(user_mr, int, 0644);
MODULE_PARM_DESC(user_mr, "reg_user_mr() for the kernel: 1 needs a udata, 2 always fails");

static unsigned int fast_reg_pages;
module_param(fast_reg_pages, uint, 0444);
MODULE_PARM_DESC(fast_reg_pages, "Most pages of a registration by work request");

static unsigned long page_sizes;
module_param(page_sizes, ulong, 0444);
MODULE_PARM_DESC(page_sizes, "Mask of the page sizes of a registration by work request");

static unsigned int max_sge;
module_param(max_sge, uint, 0444);
MODULE_PARM_DESC(max_sge, "Most segments of a request");

static unsigned int max_wr;
module_param(max_wr, uint, 0444);
MODULE_PARM_DESC(max_wr, "Most requests of a queue");

static unsigned int max_cqe;
module_param(max_cqe, uint, 0444);
MODULE_PARM_DESC(max_cqe, "Most entries of a CQ");

static unsigned int qp_depth;
module_param(qp_depth, uint, 0644);
MODULE_PARM_DESC(qp_depth, "create_qp() fails for a longer send queue, whatever the limits say");

static bool no_inline;
module_param(no_inline, bool, 0644);
MODULE_PARM_DESC(no_inline, "create_qp() grants no inline data");

static int notify_ms = -1;
module_param(notify_ms, int, 0644);
MODULE_PARM_DESC(notify_ms,
		 "Announce completions in hard interrupt after this time, once for all until then");

enum { LAST_WQE_AS_IS, LAST_WQE_LOST, LAST_WQE_EARLY, LAST_WQE_LATE };

static int last_wqe;
module_param(last_wqe, int, 0644);
MODULE_PARM_DESC(last_wqe, "LAST_WQE event: 1 lost, 2 before the flush, 3 late");

static unsigned int last_wqe_ms = 200;
module_param(last_wqe_ms, uint, 0644);
MODULE_PARM_DESC(last_wqe_ms, "How late with last_wqe=3 (200)");

enum { ACCESS_AS_ASKED, ACCESS_FORCED, ACCESS_FIXED };

static int access;
module_param(access, int, 0644);
MODULE_PARM_DESC(access, "QP access flags: 1 always on, 2 a change after INIT fails");

static int modify_fails = -1;
module_param(modify_fails, int, 0644);
MODULE_PARM_DESC(modify_fails, "modify_qp() to this enum ib_qp_state fails");

static bool destroy_fails;
module_param(destroy_fails, bool, 0644);
MODULE_PARM_DESC(destroy_fails, "destroy_qp() fails, and the queue pair works on");

static bool dereg_fails;
module_param(dereg_fails, bool, 0644);
MODULE_PARM_DESC(dereg_fails, "dereg_mr() of the kernel fails");

static unsigned int dereg_ms;
module_param(dereg_ms, uint, 0644);
MODULE_PARM_DESC(dereg_ms, "dereg_mr() of the kernel takes this time");

static bool dereg_hangs;
module_param(dereg_hangs, bool, 0644);
MODULE_PARM_DESC(dereg_hangs, "dereg_mr() of the kernel waits until this is 0");

static int query_hangs;
module_param(query_hangs, int, 0644);
MODULE_PARM_DESC(query_hangs,
		 "1: the next port query of a process waits until this is 0; 2: one waits");

static bool no_ah;
module_param(no_ah, bool, 0644);
MODULE_PARM_DESC(no_ah, "create_ah() of the kernel fails, so the CM sends nothing");

static int reg_access;
module_param(reg_access, int, 0644);
MODULE_PARM_DESC(reg_access, "Access flags of the kernel's last reg_user_mr() or REG_MR");

static bool endless;
module_param(endless, bool, 0644);
MODULE_PARM_DESC(endless, "A CQ always has more completions than a poll takes");

static bool hold;	/* see hold_set() */

static int invalidations;
module_param(invalidations, int, 0644);
MODULE_PARM_DESC(invalidations, "Number of the kernel's LOCAL_INV work requests");

static bool dead;
module_param(dead, bool, 0644);
MODULE_PARM_DESC(dead, "Posts succeed, but nothing completes any more, and nothing is flushed");

static bool lose;
module_param(lose, bool, 0644);
MODULE_PARM_DESC(lose, "The requests that are posted now will have no completion");

static bool is_switch;
module_param(is_switch, bool, 0444);
MODULE_PARM_DESC(is_switch, "Devices claim to be an InfiniBand switch, which has no port above 0");

static bool reg_refused;
module_param(reg_refused, bool, 0644);
MODULE_PARM_DESC(reg_refused, "Posts that begin or end a registration by work request fail");

static int reg_status;
module_param(reg_status, int, 0644);
MODULE_PARM_DESC(reg_status, "Such work requests complete with this enum ib_wc_status");

static int late;
module_param(late, int, 0444);
MODULE_PARM_DESC(late, "Number of polls and arms of a CQ after its consumer has abandoned it");

/* --- objects ------------------------------------------------------------------ */

/* Operations of rxe before they were replaced. */
static struct ib_device_ops real;

struct mean_dev {
	struct list_head	entry;		/* in devs */
	struct ib_device	*ibdev;
	struct ib_device_attr	attrs;		/* as they were */
};

static LIST_HEAD(devs);
static DEFINE_MUTEX(devs_lock);

struct mean_cq {
	struct ib_cq		*cq;
	ib_comp_handler		comp;		/* handler of the consumer */
	struct delayed_work	delay;		/* queues @irq */
	struct irq_work		irq;		/* calls @comp in hard interrupt */
	spinlock_t		lock;		/* protects @closing */
	bool			closing;	/* @delay and @irq must not be queued any more */
	bool			held;		/* completions stay in @cq, and are not announced */
	struct rcu_head		rcu;
};

struct mean_qp {
	struct ib_qp		*qp;
	void			(*event)(struct ib_event *event, void *context);
	struct delayed_work	last_wqe;	/* raises the event that is late */
	atomic_t		lost;		/* requests whose completions will be dropped */
	struct rcu_head		rcu;
};

/* By the address of the object of ib_core. */
static DEFINE_XARRAY(cqs);
static DEFINE_XARRAY(qps);

/* Consumers have abandoned their CQs; see end_abandoned(). */
static bool abandoned;

/* Held while an event is raised for all objects. */
static DEFINE_SPINLOCK(raise_lock);

static bool of_kernel_cq(const struct ib_cq *cq)
{
	return xa_load(&cqs, (unsigned long)cq);
}

static bool of_kernel_qp(const struct ib_qp *qp)
{
	return xa_load(&qps, (unsigned long)qp);
}

static int objects_get(char *buf, const struct kernel_param *kp)
{
	unsigned long i;
	int n = 0;
	void *obj;

	xa_for_each(&cqs, i, obj)
		n++;
	xa_for_each(&qps, i, obj)
		n++;
	return sysfs_emit(buf, "%d\n", n);
}

static const struct kernel_param_ops objects_ops = {
	.get = objects_get,
};

module_param_cb(objects, &objects_ops, NULL, 0444);
MODULE_PARM_DESC(objects, "Number of QPs and CQs of kernel consumers that were not destroyed");

static void forget(struct xarray *xa, const void *obj)
{
	unsigned long flags;

	xa_erase(xa, (unsigned long)obj);
	/* Wait for an event that is being raised. */
	spin_lock_irqsave(&raise_lock, flags);
	spin_unlock_irqrestore(&raise_lock, flags);
}

/* --- completion queues ---------------------------------------------------------- */

static void announce_irq(struct irq_work *irq)
{
	struct mean_cq *mc = container_of(irq, struct mean_cq, irq);

	if (READ_ONCE(dead))
		return;
	mc->comp(mc->cq, mc->cq->cq_context);
}

static void announce_later(struct work_struct *work)
{
	struct mean_cq *mc = container_of(to_delayed_work(work), struct mean_cq, delay);

	irq_work_queue(&mc->irq);
}

/* Takes the place of the handler of a CQ. */
static void announce(struct ib_cq *cq, void *context)
{
	int ms = READ_ONCE(notify_ms);
	struct mean_cq *mc;
	unsigned long flags;

	rcu_read_lock();
	mc = xa_load(&cqs, (unsigned long)cq);
	if (!mc || READ_ONCE(dead))
		goto out;
	if (READ_ONCE(mc->held)) {
		hit();
		goto out;
	}
	if (ms < 0) {
		mc->comp(cq, context);
		goto out;
	}
	hit();
	spin_lock_irqsave(&mc->lock, flags);
	if (!mc->closing && ms)
		schedule_delayed_work(&mc->delay, msecs_to_jiffies(ms));
	else if (!mc->closing)
		irq_work_queue(&mc->irq);
	spin_unlock_irqrestore(&mc->lock, flags);
out:
	rcu_read_unlock();
}

static void cq_untrack(struct mean_cq *mc)
{
	unsigned long flags;

	spin_lock_irqsave(&mc->lock, flags);
	mc->closing = true;
	spin_unlock_irqrestore(&mc->lock, flags);
	cancel_delayed_work_sync(&mc->delay);
	irq_work_sync(&mc->irq);
	forget(&cqs, mc->cq);
	kfree_rcu(mc, rcu);
	module_put(THIS_MODULE);
}

static int cq_track(struct ib_cq *cq)
{
	struct mean_cq *mc = kzalloc(sizeof(*mc), GFP_KERNEL);
	int ret;

	if (!mc)
		return -ENOMEM;
	mc->cq = cq;
	mc->comp = cq->comp_handler;
	INIT_DELAYED_WORK(&mc->delay, announce_later);
	mc->irq = IRQ_WORK_INIT_HARD(announce_irq);
	spin_lock_init(&mc->lock);
	ret = xa_err(xa_store(&cqs, (unsigned long)cq, mc, GFP_KERNEL));
	if (ret) {
		kfree(mc);
		return ret;
	}
	__module_get(THIS_MODULE);
	cq->comp_handler = announce;
	return 0;
}

/* ib_alloc_cq() sets its handler later, so its CQs are left alone. */
static int mean_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			  struct mean_cq_caller *caller)
{
	int ret = real.create_cq(cq, attr, caller);

	if (ret || caller || !cq->comp_handler)
		return ret;
	ret = cq_track(cq);
	if (ret)
		real.destroy_cq(cq, NULL);
	return ret;
}

static int mean_destroy_cq(struct ib_cq *cq, struct ib_udata *udata)
{
	struct mean_cq *mc = xa_load(&cqs, (unsigned long)cq);
	int ret = real.destroy_cq(cq, udata);

	if (ret || !mc)
		return ret;
	cq_untrack(mc);
	/*
	 * Before Linux 6.12, the tasklet of the CQ may still run, and reads the structure, which
	 * ib_core frees.  dat.ko waits for that itself only if it knows that the device is rxe.
	 */
	msleep(200);
	return 0;
}

static void spoil_registrations(struct ib_wc *wc, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		if (wc[i].opcode != IB_WC_REG_MR && wc[i].opcode != IB_WC_LOCAL_INV)
			continue;
		hit();
		wc[i].status = READ_ONCE(reg_status);
	}
}

static bool cq_held(const struct ib_cq *cq)
{
	const struct mean_cq *mc;
	bool held;

	rcu_read_lock();
	mc = xa_load(&cqs, (unsigned long)cq);
	held = mc && READ_ONCE(mc->held);
	rcu_read_unlock();
	return held;
}

/* A held CQ has no completions for its consumer, so it has missed none. */
static int mean_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	int ret = real.req_notify_cq(cq, flags);

	late += READ_ONCE(abandoned) && of_kernel_cq(cq);
	return ret > 0 && cq_held(cq) ? 0 : ret;
}

static void nothing_done(struct ib_cq *cq, struct ib_wc *wc)
{
}

/* Adds completions without a meaning, up to @most, to the @n in @wc.  Returns @most. */
static int pad(struct ib_wc *wc, int n, int most)
{
	static struct ib_cqe nothing = { .done = nothing_done };

	hit();
	for (; n < most; n++)
		wc[n] = (struct ib_wc) { .wr_cqe = &nothing, .status = IB_WC_SUCCESS };
	return most;
}

/* Drops the completions of requests that were posted with @lose.  Returns how many are left. */
static int drop_lost(struct ib_wc *wc, int n)
{
	struct mean_qp *mq;
	int i, left = 0;

	rcu_read_lock();
	for (i = 0; i < n; i++) {
		mq = xa_load(&qps, (unsigned long)wc[i].qp);
		if (mq && atomic_add_unless(&mq->lost, -1, 0))
			hit();
		else
			wc[left++] = wc[i];
	}
	rcu_read_unlock();
	return left;
}

static int mean_poll_cq(struct ib_cq *cq, int n, struct ib_wc *wc)
{
	int most = n;

	late += READ_ONCE(abandoned) && of_kernel_cq(cq);
	if (READ_ONCE(dead) && of_kernel_cq(cq)) {
		hit();
		return 0;
	}
	if (cq_held(cq))
		return 0;
	n = real.poll_cq(cq, n, wc);
	n = drop_lost(wc, n);
	if (READ_ONCE(reg_status) && of_kernel_cq(cq))
		spoil_registrations(wc, n);
	if (READ_ONCE(endless) && of_kernel_cq(cq))
		n = pad(wc, n, most);
	return n;
}

/* --- queue pairs ------------------------------------------------------------------ */

static void raise_last_wqe(struct mean_qp *mq)
{
	struct ib_event event = {
		.device = mq->qp->device, .element.qp = mq->qp,
		.event = IB_EVENT_QP_LAST_WQE_REACHED,
	};

	hit();
	mq->event(&event, mq->qp->qp_context);
}

static void last_wqe_work(struct work_struct *work)
{
	raise_last_wqe(container_of(to_delayed_work(work), struct mean_qp, last_wqe));
}

/* Takes the place of the event handler of a QP. */
static void mean_qp_event(struct ib_event *event, void *context)
{
	struct mean_qp *mq;

	rcu_read_lock();
	mq = xa_load(&qps, (unsigned long)event->element.qp);
	if (event->event == IB_EVENT_QP_LAST_WQE_REACHED && READ_ONCE(last_wqe))
		hit();
	else if (mq)
		mq->event(event, context);
	rcu_read_unlock();
}

static void qp_untrack(struct mean_qp *mq)
{
	cancel_delayed_work_sync(&mq->last_wqe);
	forget(&qps, mq->qp);
	kfree_rcu(mq, rcu);
	module_put(THIS_MODULE);
}

static int qp_track(struct ib_qp *qp)
{
	struct mean_qp *mq = kzalloc(sizeof(*mq), GFP_KERNEL);
	int ret;

	if (!mq)
		return -ENOMEM;
	mq->qp = qp;
	mq->event = qp->event_handler;
	INIT_DELAYED_WORK(&mq->last_wqe, last_wqe_work);
	ret = xa_err(xa_store(&qps, (unsigned long)qp, mq, GFP_KERNEL));
	if (ret) {
		kfree(mq);
		return ret;
	}
	__module_get(THIS_MODULE);
	qp->event_handler = mean_qp_event;
	return 0;
}

static int mean_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	bool kernel = !udata && attr->qp_type == IB_QPT_RC && qp->event_handler;
	unsigned int depth = READ_ONCE(qp_depth);
	int ret;

	if (kernel && depth && attr->cap.max_send_wr > depth) {
		hit();
		return -ENOMEM;
	}
	ret = real.create_qp(qp, attr, udata);
	if (ret || !kernel)
		return ret;
	if (READ_ONCE(no_inline) && attr->cap.max_inline_data) {
		attr->cap.max_inline_data = 0;
		hit();
	}
	ret = qp_track(qp);
	if (ret)
		real.destroy_qp(qp, NULL);
	return ret;
}

static int mean_destroy_qp(struct ib_qp *qp, struct ib_udata *udata)
{
	struct mean_qp *mq = xa_load(&qps, (unsigned long)qp);
	int ret;

	if (mq && READ_ONCE(destroy_fails)) {
		hit();
		return -ETIMEDOUT;
	}
	ret = real.destroy_qp(qp, udata);
	if (!ret && mq)
		qp_untrack(mq);
	return ret;
}

static bool modify_refused(const struct ib_qp_attr *attr, int mask)
{
	bool begins = mask & IB_QP_STATE && attr->qp_state == IB_QPS_INIT;

	if (READ_ONCE(access) == ACCESS_FIXED && mask & IB_QP_ACCESS_FLAGS && !begins)
		return true;
	return mask & IB_QP_STATE && (int)attr->qp_state == READ_ONCE(modify_fails);
}

static void modify_to_err(struct mean_qp *mq)
{
	if (!mq->qp->srq)
		return;
	if (READ_ONCE(last_wqe) == LAST_WQE_EARLY)
		raise_last_wqe(mq);
	else if (READ_ONCE(last_wqe) == LAST_WQE_LATE)
		schedule_delayed_work(&mq->last_wqe, msecs_to_jiffies(READ_ONCE(last_wqe_ms)));
}

static int mean_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			  struct ib_udata *udata)
{
	struct mean_qp *mq = xa_load(&qps, (unsigned long)qp);
	int flags = attr->qp_access_flags, ret;

	if (!mq)
		return real.modify_qp(qp, attr, mask, udata);
	if (modify_refused(attr, mask)) {
		hit();
		return -EIO;
	}
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_ERR)
		modify_to_err(mq);
	if (mask & IB_QP_ACCESS_FLAGS && READ_ONCE(access) == ACCESS_FORCED) {
		hit();
		attr->qp_access_flags |= IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE;
	}
	ret = real.modify_qp(qp, attr, mask, udata);
	attr->qp_access_flags = flags;
	return ret;
}

/* Meets a work request that begins or ends a registration.  Returns an error that refuses it. */
static int registers(struct ib_qp *qp, const struct ib_send_wr *wr)
{
	struct mean_cq *mc;

	if (wr->opcode == IB_WR_LOCAL_INV)
		invalidations++;
	else
		WRITE_ONCE(reg_access, reg_wr(wr)->access);
	/* The others are the ones by which dat.ko registers memory of a process. */
	if (!of_kernel_qp(qp))
		return 0;
	if (READ_ONCE(reg_refused)) {
		hit();
		return -ENOMEM;
	}
	mc = xa_load(&cqs, (unsigned long)qp->send_cq);
	if (mc && READ_ONCE(hold))
		WRITE_ONCE(mc->held, true);
	return 0;
}

static void count_lost(struct ib_qp *qp, const struct ib_send_wr *wr)
{
	struct mean_qp *mq = xa_load(&qps, (unsigned long)qp);

	for (; mq && wr; wr = wr->next)
		atomic_inc(&mq->lost);
}

static int mean_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad)
{
	int ret = 0;

	if (READ_ONCE(dead) && of_kernel_qp(qp))
		return 0;
	if (READ_ONCE(lose))
		count_lost(qp, wr);
	if (!qp->uobject && (wr->opcode == IB_WR_REG_MR || wr->opcode == IB_WR_LOCAL_INV))
		ret = registers(qp, wr);
	if (ret) {
		*bad = wr;
		return ret;
	}
	return real.post_send(qp, wr, bad);
}

static int mean_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad)
{
	if (READ_ONCE(dead) && of_kernel_qp(qp))
		return 0;
	return real.post_recv(qp, wr, bad);
}

static int mean_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *wr,
			      const struct ib_recv_wr **bad)
{
	if (READ_ONCE(dead) && !srq->uobject)
		return 0;
	return real.post_srq_recv(srq, wr, bad);
}

static int mean_create_ah(struct ib_ah *ah, struct rdma_ah_init_attr *attr, struct ib_udata *udata)
{
	if (READ_ONCE(no_ah)) {
		hit();
		return -ENOMEM;
	}
	return real.create_ah(ah, attr, udata);
}

/* --- memory ------------------------------------------------------------------------ */

static struct ib_mr *mean_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int flags,
				      MEAN_DMAH_PARAM struct ib_udata *udata)
{
	int how = READ_ONCE(user_mr);

	if ((how == 1 && !udata) || (how == 2 && !pd->uobject)) {
		hit();
		return ERR_PTR(-EINVAL);
	}
	if (!pd->uobject)
		WRITE_ONCE(reg_access, flags);
	return real.reg_user_mr(pd, start, length, iova, flags, MEAN_DMAH udata);
}

static int mean_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	while (READ_ONCE(dereg_hangs) && !mr->pd->uobject)
		msleep(20);
	if (READ_ONCE(dereg_fails) && !mr->pd->uobject) {
		hit();
		return -ETIMEDOUT;
	}
	if (READ_ONCE(dereg_ms) && !mr->pd->uobject) {
		hit();
		msleep(READ_ONCE(dereg_ms));
	}
	return real.dereg_mr(mr, udata);
}

static struct ib_mr *mean_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg)
{
	/*
	 * Before Linux 6.3, rxe needs an entry more than the registration has.  dat.ko allows for
	 * that entry only if it knows that the device is rxe.
	 */
	if (fast_reg_pages && max_num_sg > fast_reg_pages + 1) {
		hit();
		return ERR_PTR(-EINVAL);
	}
	return real.alloc_mr(pd, type, max_num_sg + 1);
}

static int mean_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int n, unsigned int *offset)
{
	int pages;

	if (page_sizes && !(page_sizes & mr->page_size)) {
		hit();
		return -EINVAL;
	}
	pages = real.map_mr_sg(mr, sg, n, offset);
	if (pages > 0 && fast_reg_pages && mr->length > (u64)fast_reg_pages * mr->page_size) {
		hit();
		return -EINVAL;
	}
	return pages;
}

/* --- devices ------------------------------------------------------------------------- */

static int mean_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	if (!(current->flags & PF_KTHREAD) && cmpxchg(&query_hangs, 1, 2) == 1)
		while (READ_ONCE(query_hangs))
			msleep(20);
	return real.query_port(ibdev, port, attr);
}

static void shrink(int *limit, unsigned int to)
{
	if (to && *limit > (int)to)
		*limit = to;
}

static void shrink_attrs(struct ib_device_attr *attrs)
{
	shrink(&attrs->max_send_sge, max_sge);
	shrink(&attrs->max_recv_sge, max_sge);
	shrink(&attrs->max_sge_rd, max_sge);
	shrink(&attrs->max_srq_sge, max_sge);
	shrink(&attrs->max_qp_wr, max_wr);
	shrink(&attrs->max_srq_wr, max_wr);
	shrink(&attrs->max_cqe, max_cqe);
	if (fast_reg_pages)
		attrs->max_fast_reg_page_list_len = fast_reg_pages;
	if (page_sizes)
		attrs->page_size_cap = page_sizes;
}

static void replace_ops(struct ib_device_ops *ops)
{
	ops->create_cq = mean_create_cq;
	ops->destroy_cq = mean_destroy_cq;
	ops->poll_cq = mean_poll_cq;
	ops->req_notify_cq = mean_req_notify_cq;
	ops->create_qp = mean_create_qp;
	ops->destroy_qp = mean_destroy_qp;
	ops->modify_qp = mean_modify_qp;
	ops->post_send = mean_post_send;
	ops->post_recv = mean_post_recv;
	ops->post_srq_recv = mean_post_srq_recv;
	ops->create_ah = mean_create_ah;
	ops->reg_user_mr = mean_reg_user_mr;
	ops->dereg_mr = mean_dereg_mr;
	ops->alloc_mr = mean_alloc_mr;
	ops->map_mr_sg = mean_map_mr_sg;
	ops->query_port = mean_query_port;
}

static int mean_add(struct ib_device *ibdev);
static void mean_remove(struct ib_device *ibdev, void *data);

static struct ib_client client = {
	.name	= "dat_mean",
	.add	= mean_add,
	.remove	= mean_remove,
};

static int mean_add(struct ib_device *ibdev)
{
	struct mean_dev *md;

	if (ibdev->ops.driver_id != RDMA_DRIVER_RXE)
		return -EOPNOTSUPP;
	md = kzalloc(sizeof(*md), GFP_KERNEL);
	if (!md)
		return -ENOMEM;
	md->ibdev = ibdev;
	md->attrs = ibdev->attrs;
	mutex_lock(&devs_lock);
	real = ibdev->ops;	/* the same for all rxe devices */
	shrink_attrs(&ibdev->attrs);
	replace_ops(&ibdev->ops);
	ibdev->ops.driver_id = drivers[driver].id;
	ibdev->is_switch = is_switch;
	list_add(&md->entry, &devs);
	mutex_unlock(&devs_lock);
	ib_set_client_data(ibdev, &client, md);
	return 0;
}

static void qp_end(struct mean_qp *mq)
{
	struct ib_qp *qp = mq->qp;
	struct ib_pd *pd = qp->pd;

	qp_untrack(mq);
	ib_destroy_qp(qp);
	if (!atomic_read(&pd->usecnt))
		ib_dealloc_pd(pd);
}

static void cq_end(struct mean_cq *mc)
{
	struct ib_cq *cq = mc->cq;

	cq_untrack(mc);
	ib_destroy_cq(cq);
}

/*
 * Ends the QPs and CQs that a consumer could not destroy until now, since destroy_qp() fails.  rxe
 * cannot be removed with them.  Before that, calls the handlers of the CQs once more.
 */
static void end_abandoned(struct ib_device *ibdev)
{
	struct mean_cq *mc;
	struct mean_qp *mq;
	unsigned long i;

	WRITE_ONCE(abandoned, true);
	xa_for_each(&cqs, i, mc) {
		if (mc->cq->device != ibdev)
			continue;
		hit();
		irq_work_queue(&mc->irq);
		irq_work_sync(&mc->irq);
	}
	/* The handlers may have raised a softirq. */
	msleep(50);
	WRITE_ONCE(abandoned, false);
	ibdev->ops = real;
	xa_for_each(&qps, i, mq)
		if (mq->qp->device == ibdev)
			qp_end(mq);
	xa_for_each(&cqs, i, mc)
		if (mc->cq->device == ibdev)
			cq_end(mc);
}

static void mean_remove(struct ib_device *ibdev, void *data)
{
	struct mean_dev *md = data;

	end_abandoned(ibdev);
	mutex_lock(&devs_lock);
	list_del(&md->entry);
	ibdev->ops = real;
	ibdev->attrs = md->attrs;
	ibdev->is_switch = false;
	mutex_unlock(&devs_lock);
	kfree(md);
}

/*
 * Sets the driver that the devices claim to have.  rxe finds its devices by this number, and
 * receives nothing while the number is another one.  So set "rxe" when the consumer has read it.
 */
static int driver_set(const char *val, const struct kernel_param *kp)
{
	struct mean_dev *md;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(drivers); i++)
		if (sysfs_streq(val, drivers[i].name))
			break;
	if (i == ARRAY_SIZE(drivers))
		return -EINVAL;
	mutex_lock(&devs_lock);
	driver = i;
	list_for_each_entry(md, &devs, entry)
		md->ibdev->ops.driver_id = drivers[i].id;
	mutex_unlock(&devs_lock);
	return 0;
}

static const struct kernel_param_ops driver_ops = {
	.set = driver_set,
};

module_param_cb(driver, &driver_ops, NULL, 0200);
MODULE_PARM_DESC(driver,
		 "Driver that devices claim: mlx5, cxgb4, bnxt_re, qedr, hns, irdma, unknown, rxe");

/* --- completions that are held back ------------------------------------------------------ */

/* Gives the completions of a CQ to its consumer, if they were held back. */
static void cq_release(struct mean_cq *mc)
{
	unsigned long flags;

	spin_lock_irqsave(&mc->lock, flags);
	if (mc->held && !mc->closing)
		irq_work_queue(&mc->irq);
	WRITE_ONCE(mc->held, false);
	spin_unlock_irqrestore(&mc->lock, flags);
}

/*
 * 1: when a work request begins or ends a registration, the device executes the request, but holds
 * back the completions of that queue from then on.  0: the device gives out all of them.
 */
static int hold_set(const char *val, const struct kernel_param *kp)
{
	struct mean_cq *mc;
	unsigned long i, flags;
	int ret = param_set_bool(val, kp);

	if (ret || hold)
		return ret;
	spin_lock_irqsave(&raise_lock, flags);
	xa_for_each(&cqs, i, mc)
		cq_release(mc);
	spin_unlock_irqrestore(&raise_lock, flags);
	return 0;
}

static const struct kernel_param_ops hold_ops = {
	.set = hold_set,
	.get = param_get_bool,
};

module_param_cb(hold, &hold_ops, &hold, 0644);
MODULE_PARM_DESC(hold,
		 "Hold back completions of a queue from its next registration on; 0: none");

/* --- events ------------------------------------------------------------------------------ */

static const struct {
	const char		*name;
	enum ib_event_type	event;
} raisable[] = {
	{ "cq_err",		IB_EVENT_CQ_ERR },
	{ "qp_fatal",		IB_EVENT_QP_FATAL },
	{ "last_wqe",		IB_EVENT_QP_LAST_WQE_REACHED },
	{ "comm_est",		IB_EVENT_COMM_EST },
	{ "port_err",		IB_EVENT_PORT_ERR },
	{ "port_active",	IB_EVENT_PORT_ACTIVE },
	{ "device_fatal",	IB_EVENT_DEVICE_FATAL },
};

static enum ib_event_type raised;

static void raise_for_objects(struct irq_work *irq)
{
	struct ib_event event = { .event = raised };
	struct mean_cq *mc;
	struct mean_qp *mq;
	unsigned long i;

	spin_lock(&raise_lock);
	if (raised == IB_EVENT_CQ_ERR) {
		xa_for_each(&cqs, i, mc) {
			event.device = mc->cq->device;
			event.element.cq = mc->cq;
			hit();
			if (mc->cq->event_handler)
				mc->cq->event_handler(&event, mc->cq->cq_context);
		}
	} else {
		xa_for_each(&qps, i, mq) {
			event.device = mq->qp->device;
			event.element.qp = mq->qp;
			hit();
			mq->event(&event, mq->qp->qp_context);
		}
	}
	spin_unlock(&raise_lock);
}

static void raise_for_devices(enum ib_event_type type)
{
	struct mean_dev *md;

	mutex_lock(&devs_lock);
	list_for_each_entry(md, &devs, entry) {
		struct ib_event event = {
			.device = md->ibdev, .element.port_num = 1, .event = type,
		};

		hit();
		ib_dispatch_event(&event);
	}
	mutex_unlock(&devs_lock);
}

/* A driver reports events of its objects in hard interrupt, events of a device in any context. */
static int raise_set(const char *val, const struct kernel_param *kp)
{
	static struct irq_work irq;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(raisable); i++)
		if (sysfs_streq(val, raisable[i].name))
			break;
	if (i == ARRAY_SIZE(raisable))
		return -EINVAL;
	raised = raisable[i].event;
	if (raised == IB_EVENT_PORT_ERR || raised == IB_EVENT_PORT_ACTIVE ||
	    raised == IB_EVENT_DEVICE_FATAL) {
		raise_for_devices(raised);
		return 0;
	}
	irq = IRQ_WORK_INIT_HARD(raise_for_objects);
	irq_work_queue(&irq);
	irq_work_sync(&irq);
	return 0;
}

static const struct kernel_param_ops raise_ops = {
	.set = raise_set,
};

module_param_cb(raise, &raise_ops, NULL, 0200);
MODULE_PARM_DESC(raise,
		 "cq_err, qp_fatal, last_wqe, comm_est, port_err, port_active or device_fatal");

static int __init mean_init(void)
{
	return ib_register_client(&client);
}

/* Threads may still be at the end of an operation, behind the last reference to the module. */
static void __exit mean_exit(void)
{
	ib_unregister_client(&client);
	rcu_barrier();
	msleep(50);
}

module_init(mean_init);
module_exit(mean_exit);

MODULE_DESCRIPTION("Soft RoCE that is as mean as hardware, for tests");
MODULE_LICENSE("GPL");
