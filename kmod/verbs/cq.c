// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Completion queues: which connections share one, how long it is, and its end.  poll.c polls them.
 *
 * The connections of an EVD share its CQs.  A connection that has an EVD for its requests and
 * another one for its receives uses a CQ of each.  A connection has a CQ of its own if the endpoint
 * has no EVD, if the upcalls of the EVD run on several CPUs at the same time, and for the receives
 * of a solicited connection; see solicited.c.
 *
 * A CQ that overflows loses completions, so a connection reserves an entry for each work request
 * that it may have in flight.  The connections of an SRQ reserve its window once, because a buffer
 * completes only once.  If no CQ of the EVD has enough free entries, a further one is made.
 *
 * A CQ is longer than its first connection needs.  The first CQ of an EVD is twice as long as the
 * ring of the EVD: a consumer makes the ring as long as it expects completions, and each connection
 * may have some markers more.  But that CQ is at most as long as SHARERS connections like the first
 * one need, because a long ring may have a single connection.  A further CQ is twice as long as the
 * newest one.  Where the device or the limit of the user refuses that, the CQ is shorter.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/srq.h"
#include "core/event/evd.h"
#include "core/xport.h"
#include "verbs/verbs.h"

/* Completions for each list of the hash table; most connections reserve about as many. */
#define ENTRIES_PER_LIST	32
/* Number of connections like the first one that the first CQ of an EVD has room for, at most. */
#define SHARERS			16

/*
 * Ends the connections that use a CQ in error: it has lost completions, and delivers no more.  A
 * CQ may have thousands of connections, so the work takes the lock for each list of them.
 */
static void cq_error_work(struct work_struct *work)
{
	struct verbs_cq *vcq = container_of(work, struct verbs_cq, error_work);
	struct verbs_cq_use *use;
	struct dat_ep *ep;
	u32 i;

	for (i = 0; i < 1U << vcq->bits; i++) {
		spin_lock_bh(&vcq->cq.lock);
		hlist_for_each_entry(use, &vcq->qps[i], node) {
			ep = use->vc->conn.ep;
			spin_lock(&ep->lock);
			dat_conn_fail(&use->vc->conn, DAT_EV_BROKEN);
			spin_unlock(&ep->lock);
		}
		spin_unlock_bh(&vcq->cq.lock);
	}
}

/* Handles an asynchronous event of a CQ.  The driver may call this in hard interrupt. */
static void cq_event(struct ib_event *event, void *context)
{
	struct verbs_cq *vcq = context;

	if (event->event != IB_EVENT_CQ_ERR)
		return;
	WRITE_ONCE(vcq->failed, true);
	queue_work(dat_wq, &vcq->error_work);
}

/*
 * Chooses the completion vector with the fewest CQs, and counts the CQ.  CQs that are made at the
 * same time may choose the same vector.
 */
static u32 vector_get(struct verbs_dev *vdev)
{
	u32 best = 0, i;

	for (i = 1; i < vdev->nvectors; i++)
		if (atomic_read(&vdev->vector_users[i]) < atomic_read(&vdev->vector_users[best]))
			best = i;
	atomic_inc(&vdev->vector_users[best]);
	return best;
}

static void vector_put(struct verbs_dev *vdev, u32 vector)
{
	atomic_dec(&vdev->vector_users[vector]);
}

static void cq_exit_work(struct work_struct *work)
{
	struct verbs_cq *vcq = container_of(to_rcu_work(work), struct verbs_cq, exit_work);
	struct dat_dev *dev = vcq->vdev->dev;
	struct verbs_cq_srq *s, *next;

	ib_destroy_cq(vcq->ib);
	/* The driver calls no handler any more.  The tasklet may never have been set up. */
	tasklet_kill(&vcq->recv_task);
	cancel_work_sync(&vcq->error_work);
	vector_put(vcq->vdev, vcq->vector);
	dat_locked_uncharge(&vcq->locked);
	/*
	 * Records that use_release() has kept for a stuck queue pair, and those of a CQ without an
	 * EVD, for which use_release() is not called.
	 */
	list_for_each_entry_safe(s, next, &vcq->srqs, entry)
		kfree(s);
	if (vcq->vevd)
		dat_obj_put(&vcq->vevd->evd.obj);
	kvfree(vcq);
	dat_dev_ended(dev);
	dat_dev_put(dev);
}

static void cq_grace_work(struct work_struct *work)
{
	struct verbs_cq *vcq = container_of(to_delayed_work(work), struct verbs_cq, grace_work);

	queue_rcu_work(dat_close_wq, &vcq->exit_work);
}

/*
 * Destroys a CQ without connections after a grace period.  A running verbs_irq_poll() may still arm
 * the CQ, even after irq_poll_complete(), and a polling thread may have found the CQ, but both have
 * ended then.  No work item runs during the grace period, so the wait occupies no worker.  May
 * sleep.
 */
static void cq_end(struct verbs_cq *vcq)
{
	struct dat_dev *dev = dat_dev_get(vcq->vdev->dev);

	spin_lock_bh(&vcq->cq.lock);
	dat_busy_leave(&vcq->cq);
	/* A handler may still poll the CQ, and must not make it join again. */
	vcq->cq.evd = NULL;
	spin_unlock_bh(&vcq->cq.lock);
	irq_poll_disable(&vcq->iop);
	dat_dev_ending(dev);
	if (dev->quirks & DAT_QUIRK_CQ_GRACE)
		queue_delayed_work(dat_close_wq, &vcq->grace_work, HZ);
	else
		queue_rcu_work(dat_close_wq, &vcq->exit_work);
}

static void cq_init(struct verbs_cq *vcq, const struct dat_conn *conn, struct dat_evd *evd)
{
	spin_lock_init(&vcq->cq.lock);
	vcq->cq.ops = conn->dev->ops;
	vcq->cq.sink = conn->sink;
	vcq->cq.evd = evd;
	vcq->vdev = to_verbs_dev(conn->dev);
	INIT_LIST_HEAD(&vcq->srqs);
	INIT_WORK(&vcq->error_work, cq_error_work);
	INIT_DELAYED_WORK(&vcq->grace_work, cq_grace_work);
	INIT_RCU_WORK(&vcq->exit_work, cq_exit_work);
	irq_poll_init(&vcq->iop, DAT_BATCH, verbs_irq_poll);
}

/*
 * Makes and arms a CQ for @entries completions, of which its first connection needs @needs.  @evd:
 * EVD of its events, or NULL.  @solicited: the CQ is for the receives of a solicited connection.
 * Returns an ERR_PTR after an error.
 */
static struct verbs_cq *cq_make(struct verbs_conn *vc, struct dat_evd *evd, u32 entries, u32 needs,
				bool solicited)
{
	u64 bytes = dat_locked_bytes(entries, DAT_LOCKED_CQE, 0);
	struct verbs_dev *vdev = to_verbs_dev(vc->conn.dev);
	u32 bits = max(1, order_base_2(DIV_ROUND_UP(entries, ENTRIES_PER_LIST)));
	struct ib_cq_init_attr attr = { .cqe = entries };
	struct verbs_cq *vcq;
	int ret;

	vcq = kvzalloc(struct_size(vcq, qps, 1U << bits), GFP_KERNEL_ACCOUNT);
	if (!vcq)
		return ERR_PTR(-ENOMEM);
	vcq->bits = bits;
	vcq->entries = entries;
	cq_init(vcq, &vc->conn, evd);
	if (solicited)
		verbs_recv_init(vcq, vc);
	if (entries > needs)
		ret = dat_conn_charge_optional(&vc->conn, &vcq->locked, bytes);
	else
		ret = dat_conn_charge(&vc->conn, &vcq->locked, bytes);
	if (ret)
		goto err_free;
	vcq->vector = vector_get(vdev);
	attr.comp_vector = vcq->vector;
	vcq->ib = ib_create_cq(vdev->ibdev, solicited ? verbs_recv_notified : verbs_notified,
			       cq_event, vcq, &attr);
	if (IS_ERR(vcq->ib)) {
		ret = PTR_ERR(vcq->ib);
		goto err_put_vector;
	}
	if (solicited)
		verbs_recv_arm(vcq);
	else
		ib_req_notify_cq(vcq->ib, IB_CQ_NEXT_COMP);
	return vcq;

err_put_vector:
	vector_put(vdev, vcq->vector);
	dat_locked_uncharge(&vcq->locked);
err_free:
	kvfree(vcq);
	return ERR_PTR(ret);
}

static struct verbs_cq_srq *srq_find(const struct verbs_cq *vcq, const struct dat_srq *srq)
{
	struct verbs_cq_srq *s;

	list_for_each_entry(s, &vcq->srqs, entry)
		if (s->srq == srq)
			return s;
	return NULL;
}

/* Returns the number of entries that @use would reserve in @vcq; NULL: in a new CQ. */
static u32 use_needs(const struct verbs_cq_use *use, const struct verbs_cq *vcq)
{
	if (!use->srq || (vcq && srq_find(vcq, use->srq)))
		return use->entries;
	return use->entries + use->srq->window;
}

/*
 * Reserves the entries, which are free.  *@spare: memory for the record of use->srq, if it has one;
 * NULL on return if that was used.
 */
static void use_reserve(struct verbs_cq_use *use, struct verbs_cq *vcq, struct verbs_cq_srq **spare)
{
	struct verbs_cq_srq *s;

	vcq->reserved += use_needs(use, vcq);
	vcq->users++;
	use->vcq = vcq;
	if (!use->srq)
		return;
	s = srq_find(vcq, use->srq);
	if (!s) {
		s = *spare;
		*spare = NULL;
		s->srq = use->srq;
		s->window = use->srq->window;
		list_add(&s->entry, &vcq->srqs);
	}
	s->users++;
}

/* Makes the next CQ of an EVD, as long as possible, but long enough for @use. */
static struct verbs_cq *cq_make_next(struct verbs_cq_use *use, struct verbs_evd *vevd)
{
	u32 max = verbs_device(use->vc->conn.dev)->attrs.max_cqe, needs = use_needs(use, NULL);
	u32 want = min(2 * READ_ONCE(vevd->evd.ring.entries), SHARERS * needs);
	struct verbs_cq *vcq;

	lockdep_assert_held(&vevd->making);
	spin_lock(&vevd->lock);
	if (vevd->cqs)
		want = max(want, 2 * (vevd->cqs->entries + 1));
	spin_unlock(&vevd->lock);
	/* The lengths of CQs are powers of two, and many devices keep an entry free. */
	want = roundup_pow_of_two(max(want, needs + 1)) - 1;
	want = clamp(want, needs, max(max, needs));
	for (;;) {
		vcq = cq_make(use->vc, &vevd->evd, want, needs, false);
		if (!IS_ERR(vcq))
			break;
		if ((PTR_ERR(vcq) != -ENOMEM && PTR_ERR(vcq) != -EINVAL) || want == needs)
			return vcq;
		want = max(want / 2, needs);
	}
	kref_get(&vevd->evd.obj.ref);
	vcq->vevd = vevd;
	return vcq;
}

static void cq_link(struct verbs_cq *vcq)
{
	lockdep_assert_held(&vcq->vevd->lock);
	vcq->next = vcq->vevd->cqs;
	vcq->vevd->cqs = vcq;
}

static void cq_unlink(struct verbs_cq *vcq)
{
	struct verbs_cq **p = &vcq->vevd->cqs;

	lockdep_assert_held(&vcq->vevd->lock);
	while (*p != vcq)
		p = &(*p)->next;
	*p = vcq->next;
}

/* Reserves entries of a CQ that the EVD has.  Returns false if no CQ has enough. */
static bool evd_reserve(struct verbs_cq_use *use, struct verbs_evd *vevd,
			struct verbs_cq_srq **spare)
{
	struct verbs_cq *vcq;

	spin_lock(&vevd->lock);
	for (vcq = vevd->cqs; vcq; vcq = vcq->next) {
		if (READ_ONCE(vcq->failed) ||
		    use_needs(use, vcq) > vcq->entries - vcq->reserved)
			continue;
		use_reserve(use, vcq, spare);
		break;
	}
	spin_unlock(&vevd->lock);
	return vcq;
}

/*
 * Gives @use a CQ of the EVD, if need be a new one.  Connections that are made at the same time
 * wait for the CQ that one of them makes.
 */
static int evd_get_cq(struct verbs_cq_use *use, struct verbs_evd *vevd, struct verbs_cq_srq **spare)
{
	struct verbs_cq *vcq;

	if (evd_reserve(use, vevd, spare))
		return 0;
	mutex_lock(&vevd->making);
	if (evd_reserve(use, vevd, spare)) {
		mutex_unlock(&vevd->making);
		return 0;
	}
	vcq = cq_make_next(use, vevd);
	if (!IS_ERR(vcq)) {
		spin_lock(&vevd->lock);
		cq_link(vcq);
		use_reserve(use, vcq, spare);
		spin_unlock(&vevd->lock);
	}
	mutex_unlock(&vevd->making);
	return PTR_ERR_OR_ZERO(vcq);
}

/*
 * Gives a connection a CQ with room for use->entries completions, and for those of use->srq.  @evd:
 * EVD for the events of these completions, or NULL.  @solicited: the CQ is for the receives of a
 * solicited connection, which shares it with no other.  May sleep.  Fails with -ENOMEM or an error
 * of the device.
 */
static int use_get(struct verbs_cq_use *use, struct dat_evd *evd, bool solicited)
{
	struct verbs_cq_srq *spare = NULL;
	u32 needs = use_needs(use, NULL);
	struct verbs_cq *vcq;
	int ret;

	if (use->srq) {
		spare = kzalloc(sizeof(*spare), GFP_KERNEL_ACCOUNT);
		if (!spare)
			return -ENOMEM;
	}
	if (evd && !READ_ONCE(evd->spread) && !solicited) {
		ret = evd_get_cq(use, to_verbs_evd(evd), &spare);
	} else {
		vcq = cq_make(use->vc, NULL, needs, needs, solicited);
		ret = PTR_ERR_OR_ZERO(vcq);
		if (!ret)
			use_reserve(use, vcq, &spare);
	}
	kfree(spare);
	return ret;
}

/*
 * From now on polls report the completions of @qp.  The queue pair has just been created, and has
 * none yet.
 *
 * A queue pair that is destroyed may still have completions in the CQ, until use_detach(), and
 * the new queue pair may have its address.  In that case take these completions first: the device
 * adds no more of them.  May sleep.
 */
static void use_attach(struct verbs_cq_use *use, const struct ib_qp *qp)
{
	struct verbs_cq *vcq = use->vcq;
	struct verbs_cq_use *old;

	if (!vcq)
		return;
	spin_lock_bh(&vcq->cq.lock);
	old = verbs_cq_find(vcq, qp);
	if (unlikely(old)) {
		spin_unlock_bh(&vcq->cq.lock);
		verbs_empty_cq(vcq);
		spin_lock_bh(&vcq->cq.lock);
		old = verbs_cq_find(vcq, qp);
	}
	if (unlikely(old))
		hlist_del_init(&old->node);
	use->qp = qp;
	hlist_add_head(&use->node, verbs_cq_list(vcq, qp));
	spin_unlock_bh(&vcq->cq.lock);
}

/*
 * Gives the reserved entries back.  If the queue pair is @stuck, the device may go on completing,
 * so its entries stay reserved.  Those of its SRQ stay reserved after the end of all connections of
 * the SRQ.
 */
static void use_release(struct verbs_cq_use *use, struct verbs_cq *vcq, bool stuck)
{
	struct verbs_cq_srq *s = use->srq ? srq_find(vcq, use->srq) : NULL;

	lockdep_assert_held(&vcq->vevd->lock);
	if (!stuck)
		vcq->reserved -= use->entries;
	if (!s)
		return;
	s->stuck |= stuck;
	if (--s->users)
		return;
	if (s->stuck) {
		/* The SRQ may be freed while the queue pair exists, and its address used again. */
		s->srq = NULL;
		return;
	}
	vcq->reserved -= s->window;
	list_del(&s->entry);
	kfree(s);
}

/*
 * From now on polls ignore the completions of the queue pair, if there was one; @use may have no
 * CQ.  The caller has destroyed the queue pair and then called verbs_empty_cq(), so none are left.
 * Or the queue pair is @stuck; see use_release().
 */
static void use_detach(struct verbs_cq_use *use, bool stuck)
{
	struct verbs_cq *vcq = use->vcq;

	if (!vcq)
		return;
	spin_lock_bh(&vcq->cq.lock);
	hlist_del_init(&use->node);
	vcq->solicited = NULL;
	spin_unlock_bh(&vcq->cq.lock);
	if (!vcq->vevd)
		return;
	spin_lock(&vcq->vevd->lock);
	use_release(use, vcq, stuck);
	spin_unlock(&vcq->vevd->lock);
}

/* Drops a user of a CQ.  Returns true if it was the last one. */
static bool cq_drop(struct verbs_cq *vcq)
{
	struct verbs_evd *vevd = vcq->vevd;
	bool last;

	if (!vevd)
		return !--vcq->users;
	spin_lock(&vevd->lock);
	last = !--vcq->users;
	if (last)
		cq_unlink(vcq);
	spin_unlock(&vevd->lock);
	return last;
}

/*
 * Ends the use of a CQ after use_detach(); @use may have no CQ.  The last user destroys the CQ.
 * May sleep.
 */
static void use_put(struct verbs_cq_use *use)
{
	struct verbs_cq *vcq = use->vcq;

	if (!vcq)
		return;
	WRITE_ONCE(use->vcq, NULL);
	if (cq_drop(vcq))
		cq_end(vcq);
}

/*
 * Separates a CQ of a removed device from its EVD.  A queue pair that is stuck for ever uses the
 * CQ, so the CQ stays as well, but is neither polled nor armed any more.  @use may have no CQ, and
 * several queue pairs may be stuck in one CQ.  No other connection uses the CQ.  May sleep.  A
 * handler that runs may still arm the CQ, see verbs_cqs_abandon().
 */
static void use_abandon(struct verbs_cq_use *use)
{
	struct verbs_cq *vcq = use->vcq;
	struct verbs_evd *vevd;
	bool again;

	if (!vcq)
		return;
	spin_lock_bh(&vcq->cq.lock);
	again = vcq->abandoned;
	vcq->abandoned = true;
	dat_busy_leave(&vcq->cq);
	vcq->cq.evd = NULL;
	spin_unlock_bh(&vcq->cq.lock);
	/* irq_poll_disable() waits for the previous one for ever. */
	if (again)
		return;
	irq_poll_disable(&vcq->iop);
	vevd = vcq->vevd;
	if (!vevd)
		return;
	spin_lock(&vevd->lock);
	cq_unlink(vcq);
	spin_unlock(&vevd->lock);
	vcq->vevd = NULL;
	dat_obj_put(&vevd->evd.obj);
}

/* From now on polls report the completions of vc->qp; see use_attach().  May sleep. */
void verbs_cqs_attach(struct verbs_conn *vc)
{
	use_attach(&vc->requests, vc->qp);
	use_attach(&vc->recvs, vc->qp);
}

/* From now on polls ignore the completions of the queue pair, if any; see use_detach(). */
void verbs_cqs_detach(struct verbs_conn *vc, bool stuck)
{
	use_detach(&vc->requests, stuck);
	use_detach(&vc->recvs, stuck);
}

/* Ends the use of the CQs, if any, after verbs_cqs_detach().  May sleep. */
void verbs_cqs_put(struct verbs_conn *vc)
{
	use_put(&vc->requests);
	use_put(&vc->recvs);
}

/* Separates the CQs, if any, of a stuck queue pair from the EVDs; see use_abandon().  May sleep. */
void verbs_cqs_abandon(struct verbs_conn *vc)
{
	use_abandon(&vc->requests);
	use_abandon(&vc->recvs);
	/* Wait for handlers, which run in softirq: the driver may be unloaded after the removal. */
	synchronize_rcu();
}

/*
 * Gives a connection its CQs.  @sq: number of requests that may complete, including the marker of a
 * drain.  @recvs: number of receives; unused with an SRQ.  Without an EVD for one kind, the CQ of
 * the other kind serves both.  May sleep.  Fails with -ENOMEM or an error of the device.
 */
int verbs_cqs_get(struct verbs_conn *vc, u32 sq, u32 recvs)
{
	const struct dat_ep *ep = vc->conn.ep;
	struct dat_evd *evd = ep->request_evd ?: ep->recv_evd;
	struct verbs_cq_use *use = &vc->recvs;
	int ret;

	if (!vc->conn.solicited && evd == (ep->recv_evd ?: evd))
		use = &vc->requests;
	vc->requests.entries = sq;
	use->entries = (use == &vc->requests ? sq : 0) + (ep->srq ? 0 : recvs);
	use->srq = ep->srq;
	ret = use_get(&vc->requests, evd, false);
	if (ret || use == &vc->requests)
		return ret;
	ret = use_get(use, ep->recv_evd, vc->conn.solicited);
	if (ret) {
		verbs_cqs_detach(vc, false);
		verbs_cqs_put(vc);
	}
	return ret;
}

void verbs_cqs_init(struct verbs_conn *vc)
{
	vc->requests.vc = vc;
	vc->recvs.vc = vc;
}

void verbs_evd_init(struct dat_evd *evd)
{
	mutex_init(&to_verbs_evd(evd)->making);
	spin_lock_init(&to_verbs_evd(evd)->lock);
}
