// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Shared receive queues (SRQs).  The consumer posts buffers to a ring.  The pump moves the buffers
 * from the ring to the transport's SRQ.  A kick, a kernel consumer's post or the completion of a
 * buffer makes the pump run.
 *
 * An invalid buffer ends no connection, so a process could fill the ring with invalid buffers again
 * and again.  Only a thread of the process, for example one that kicks, processes many invalid
 * buffers.  A completion processes at most one, and leaves the buffers behind it to the next kick.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "core/dat.h"
#include "core/ep/queue.h"
#include "core/ep/ring.h"
#include "core/ep/srq.h"
#include "core/face.h"
#include "core/mem/lmr.h"
#include "core/trace.h"
#include "core/xport.h"

static void srq_error_work(struct work_struct *work)
{
	struct dat_srq *srq = container_of(work, struct dat_srq, error_work);

	dat_ia_async(srq->obj.ia, DAT_EV_ASYNC_INTERNAL, DAT_OBJ_SRQ, srq->obj.user_data,
		     DAT_SRQ_REASON_ERROR);
}

/*
 * Reports as an async event that the transport's SRQ has failed.  Context: any, also hard
 * interrupt.
 */
void dat_srq_broken(struct dat_srq *srq)
{
	queue_work(dat_wq, &srq->error_work);
}

/*
 * Checks parameters against the adapter's limits.  Fails with -EOPNOTSUPP if the adapter has no
 * SRQs, with -EINVAL if @max_recv or @max_iov is 0 or too large.
 */
int dat_srq_fits(const struct dat_ia *ia, u32 max_recv, u32 max_iov)
{
	const struct dat_limits *limits = &ia->dev->limits;

	if (!limits->max_srq)
		return -EOPNOTSUPP;
	if (!max_recv || max_recv > limits->max_srq_dto || !max_iov || max_iov > limits->srq_sge)
		return -EINVAL;
	return 0;
}

/*
 * Returns how many buffers may be at the device.  A buffer counts until its completion is taken, so
 * a CQ of its EPs needs room for this number of completions, not for the whole ring.  The other
 * buffers wait in the ring, and each completion moves a buffer to the device.
 *
 * If the device has no buffer at the moment, the sender waits and tries again.  With iWARP, the
 * message would end the connection, so as many buffers as possible are at the device.
 */
static u32 srq_window(const struct dat_ia *ia, u32 entries)
{
	const struct dat_limits *limits = &ia->dev->limits;
	u32 window = min3(entries, limits->max_srq_dto, limits->max_recvs);

	return ia->iwarp ? window : min_t(u32, window, DAT_SRQ_WINDOW);
}

static int srq_alloc_slots(struct dat_srq *srq, u32 window)
{
	u32 i;

	srq->slots = kvcalloc(window, sizeof(*srq->slots), GFP_KERNEL_ACCOUNT);
	srq->free = kvcalloc(window, sizeof(*srq->free), GFP_KERNEL_ACCOUNT);
	if (!srq->slots || !srq->free)
		return -ENOMEM;
	for (i = 0; i < window; i++) {
		srq->slots[i].recv = true;
		srq->free[i] = i;
	}
	srq->nfree = window;
	srq->window = window;
	srq->q.window = window;
	return 0;
}

static struct dat_epsize srq_ring_size(u32 entries, u32 max_iov)
{
	return (struct dat_epsize) { .sq_sge = 1, .rq_entries = entries, .rq_sge = max_iov };
}

/*
 * Makes a shared receive queue; dat_srq_fits() has accepted the sizes.  @user_data: value of
 * dat_eqe.owner in async events about the SRQ.  May sleep.  Returns the SRQ with a reference.
 * Fails with -ENOENT if the zone is being freed; with -ENODEV if the IA is shut down; with -ENOMEM,
 * also if dat_locked_charge() refuses the memory of the SRQ; or with an error of the transport.
 */
struct dat_srq *dat_srq_create(struct dat_pz *pz, u32 max_recv, u32 max_iov,
			       u64 user_data)
{
	u32 entries = roundup_pow_of_two(max_recv);
	const struct dat_epsize size = srq_ring_size(entries, max_iov);
	struct dat_srq *srq;
	int ret;

	srq = dat_obj_alloc(pz->obj.ia, DAT_OBJ_SRQ, user_data);
	if (IS_ERR(srq))
		return srq;
	spin_lock_init(&srq->lock);
	INIT_WORK(&srq->error_work, srq_error_work);
	srq->max_iov = max_iov;
	ret = dat_obj_use(&pz->obj);
	if (ret)
		goto err_abort;
	srq->pz = pz;
	ret = dat_epring_alloc(pz->obj.ia, &srq->ring, &size);
	if (!ret)
		ret = dat_epring_alloc_status(pz->obj.ia, &srq->ring);
	if (ret)
		goto err_abort;
	dat_queue_init(&srq->q, &srq->obj, entries);
	dat_epring_bind(&srq->ring, NULL, &srq->q);
	ret = srq_alloc_slots(srq, srq_window(pz->obj.ia, entries));
	if (ret)
		goto err_abort;
	if (!pz->obj.ia->face->kernel)
		ret = dat_locked_charge(&srq->locked,
					dat_locked_bytes(srq->window, DAT_LOCKED_RECV, max_iov));
	if (ret)
		goto err_abort;
	ret = pz->obj.ia->dev->ops->srq_init(srq, srq->window, max_iov);
	if (ret)
		goto err_abort;
	srq->live = true;
	ret = dat_obj_publish(&srq->obj);
	if (ret)
		goto err_abort;
	dat_srq_process(srq);
	return srq;

err_abort:
	dat_obj_abort(&srq->obj);
	return ERR_PTR(ret);
}

/*
 * Stops taking buffers from the ring, because the producer's index is out of range.  Buffers that
 * are in flight still complete.
 */
static void srq_break(struct dat_srq *srq)
{
	lockdep_assert_held(&srq->lock);

	srq->q.broken = true;
	dat_epring_set_state(&srq->ring, DAT_SRQ_ERROR);
}

/*
 * Counts a malformed buffer as completed and lost.  No event can report the buffer: an SRQ has no
 * EVD of its own, and no endpoint has used the buffer.
 */
static void srq_bad_entry(struct dat_srq *srq)
{
	lockdep_assert_held(&srq->lock);

	dat_queue_count_bad(&srq->q);
	srq->q.done++;
	dat_epring_set_lost(&srq->ring, ++srq->lost);
}

/* Posts the buffer in srq->wr.  Fails with -EBADMSG if the buffer is invalid or refused. */
static int srq_post(struct dat_srq *srq)
{
	struct dat_slot *slot = &srq->slots[srq->free[srq->nfree - 1]];
	struct ib_recv_wr rwr = { .wr_cqe = &slot->cqe, .sg_list = srq->sge };
	int n;

	lockdep_assert_held(&srq->lock);
	if (srq->wr.flags)
		return -EBADMSG;
	n = dat_wr_to_sge(srq->pz, &srq->wr, srq->max_iov, true, srq->sge);
	if (n < 0 || srq->wr.len > U32_MAX)
		return -EBADMSG;
	slot->len = srq->wr.len;
	rwr.num_sge = n;
	slot->cookie = srq->wr.cookie;
	slot->flags = 0;
	if (srq->obj.ia->dev->ops->srq_post(srq, &rwr))
		return -EBADMSG;
	srq->nfree--;
	trace_dat_post(&srq->obj, DAT_OP_INVALID, slot->cookie, slot->len, n, false);
	return 0;
}

/*
 * Moves at most DAT_SLICE buffers from the ring to the device.  @poster: see srq_pump().
 *
 * If @poster is false, an invalid buffer of a process stops this function, which then returns
 * false.  An invalid buffer of a kernel consumer does not stop this function, because a kernel
 * consumer is trusted and never kicks.
 */
static bool srq_take(struct dat_srq *srq, bool poster)
{
	struct dat_queue *q = &srq->q;
	u32 start = q->head, i;
	int held = 0, ret;
	bool good = true;

	lockdep_assert_held(&srq->lock);
	for (i = 0; i < DAT_SLICE && good && srq->nfree && srq->live && !q->broken; i++) {
		held = held == 1 ? 0 : q->ops->fetch(q, &srq->wr);
		ret = held;
		if (!ret)
			break;
		if (ret == -EOVERFLOW) {
			srq_break(srq);
			dat_queue_count_bad(q);
			break;
		}
		if (ret > 0)
			ret = srq_post(srq);
		if (ret < 0) {
			srq_bad_entry(srq);
			good = poster || q->kernel;
		}
	}
	q->peak = max(q->peak, q->head - q->done);
	dat_queue_publish(q);
	dat_queue_count_posts(q, DAT_STAT_RECEIVES, q->head - start);
	return good;
}

/*
 * Moves buffers from the ring to the device.  @poster is true in a thread of the consumer, which
 * has posted the buffers.  Returns true if a whole slice has been taken, so that more may be left.
 *
 * If @poster is false, a whole slice of a process has at most one invalid buffer, so the completion
 * of another buffer will run the pump again.  Buffers behind an invalid buffer stay in the ring,
 * even if dat_queue_arm() returns true: the caller calls dat_srq_report_bad(), whose event makes
 * the process kick.  If a full EVD loses that event, the next post makes the process kick.
 */
static bool srq_pump(struct dat_srq *srq, bool poster)
{
	struct dat_queue *q = &srq->q;
	u32 after, end = q->head + DAT_SLICE;
	bool good;

	lockdep_assert_held(&srq->lock);
	if (q->frozen)
		return false;
	for (;;) {
		good = srq_take(srq, poster);
		if (q->broken || !srq->live)
			return false;
		if ((int)(end - q->head) <= 0)
			return true;
		after = good ? dat_queue_kick_after(q) : 1;
		if (!after)
			dat_queue_disarm(q);
		if (!after || !dat_queue_arm(q, after) || !good)
			return false;
	}
}

/*
 * Moves a slice of buffers from the ring to the device.  One slice suffices, because this runs
 * after each post of a kernel consumer.  srq->lock is held.  Returns the number of invalid buffers.
 * If the number is not 0, the caller must drop the lock and call dat_srq_report_bad().
 */
u32 dat_srq_pump_locked(struct dat_srq *srq)
{
	u32 bad = srq->q.bad;

	lockdep_assert_held(&srq->lock);
	srq_pump(srq, true);
	return srq->q.bad - bad;
}

/*
 * Adds a kernel consumer's buffer, which is in srq->wr, to the ring.  After a success the caller
 * must call dat_srq_pump_locked().  srq->lock is held.  Fails with an error of dat_wr_to_sge(),
 * with -EMSGSIZE if the segments are longer than @limit, with -ENOSPC if the ring is full or being
 * replaced.
 */
int dat_srq_post(struct dat_srq *srq, u64 limit)
{
	int n;

	lockdep_assert_held(&srq->lock);
	n = dat_wr_to_sge(srq->pz, &srq->wr, srq->max_iov, true, srq->sge);
	if (n < 0)
		return n;
	if (srq->wr.len > limit)
		return -EMSGSIZE;
	return srq->q.ops->put(&srq->q, &srq->wr) ? 0 : -ENOSPC;
}

/*
 * Reports invalid buffers as an async event.  Context: any but hard interrupt; no srq->lock or
 * evd->lock held.
 */
void dat_srq_report_bad(struct dat_srq *srq)
{
	dat_ia_async(srq->obj.ia, DAT_EV_ASYNC_INTERNAL, DAT_OBJ_SRQ, srq->obj.user_data,
		     DAT_SRQ_REASON_OTHER);
}

/*
 * Moves buffers in the thread of the consumer, until the ring is empty, the device has no room, or
 * dat_queue_slice() ends the pass.
 */
static void srq_process(struct dat_srq *srq, bool kicked)
{
	u32 slices = 0;
	u64 bad;

	spin_lock_bh(&srq->lock);
	if (kicked)
		dat_queue_count_kick(&srq->q);
	bad = srq->q.bad;
	while (srq_pump(srq, true) && dat_queue_slice(&srq->q, &slices)) {
		spin_unlock_bh(&srq->lock);
		cond_resched();
		spin_lock_bh(&srq->lock);
	}
	bad = srq->q.bad - bad;
	spin_unlock_bh(&srq->lock);
	if (bad)
		dat_srq_report_bad(srq);
}

/* Moves buffers from the ring to the device.  Context: thread of the consumer; may sleep. */
void dat_srq_process(struct dat_srq *srq)
{
	srq_process(srq, false);
}

/* Counts a kick, and moves buffers from the ring to the device.  May sleep. */
void dat_srq_kick(struct dat_srq *srq)
{
	srq_process(srq, true);
}

/*
 * Returns true if fewer buffers are available than the low watermark, and disarms the watermark, so
 * that a low number is reported only once.
 */
static bool srq_is_low(struct dat_srq *srq)
{
	lockdep_assert_held(&srq->lock);

	if (dat_ring_posted(&srq->q) >= srq->low_watermark)
		return false;
	srq->low_watermark = 0;
	return true;
}

/*
 * Reports as an async event that the low watermark was reached.  Context: any but hard interrupt;
 * no srq->lock or evd->lock held.
 */
void dat_srq_report_low(struct dat_srq *srq)
{
	dat_ia_async(srq->obj.ia, DAT_EV_ASYNC_INTERNAL, DAT_OBJ_SRQ, srq->obj.user_data,
		     DAT_SRQ_REASON_LOW_WATERMARK);
}

/*
 * Frees the slots of the @n completed buffers from @c on.  The caller queues the events for the
 * buffers afterwards, and then calls dat_srq_refill().  Context: ep->lock of the receiving EP held,
 * softirqs disabled; srq->lock nests in evd->lock.
 */
void dat_srq_release(struct dat_srq *srq, const struct dat_completion *c, u32 n)
{
	u32 i;

	spin_lock(&srq->lock);
	for (i = 0; i < n; i++)
		srq->free[srq->nfree++] = c[i].slot - srq->slots;
	srq->q.done += n;
	dat_queue_publish(&srq->q);
	spin_unlock(&srq->lock);
}

/*
 * Moves more buffers to the device after dat_srq_release(), and reports a low watermark that was
 * reached.  Context: ep->lock of the receiving EP held, no evd->lock held, softirqs disabled.
 */
void dat_srq_refill(struct dat_srq *srq)
{
	bool low;
	u64 bad;

	spin_lock(&srq->lock);
	low = srq_is_low(srq);
	bad = srq->q.bad;
	srq_pump(srq, false);
	bad = srq->q.bad - bad;
	spin_unlock(&srq->lock);
	if (bad)
		dat_srq_report_bad(srq);
	if (low)
		dat_srq_report_low(srq);
}

/*
 * Counts a buffer that has completed without an event.  A consumer needs the count to know how many
 * buffers have completed, because all other completions have events.  Takes srq->lock.
 */
void dat_srq_lost(struct dat_srq *srq)
{
	spin_lock_bh(&srq->lock);
	dat_epring_set_lost(&srq->ring, ++srq->lost);
	spin_unlock_bh(&srq->lock);
}

/*
 * Sets the low watermark.  srq->lock is held.  Returns true if the caller must drop the lock and
 * call dat_srq_report_low().
 */
bool dat_srq_set_lw_locked(struct dat_srq *srq, u32 low_watermark)
{
	lockdep_assert_held(&srq->lock);

	srq->low_watermark = low_watermark;
	return srq_is_low(srq);
}

/*
 * Arms the low watermark, which causes one async event when fewer buffers are available; 0 disarms
 * the watermark.  Context: any but hard interrupt.
 */
void dat_srq_set_lw(struct dat_srq *srq, u32 low_watermark)
{
	bool low;

	spin_lock_bh(&srq->lock);
	low = dat_srq_set_lw_locked(srq, low_watermark);
	spin_unlock_bh(&srq->lock);
	if (low)
		dat_srq_report_low(srq);
}

static int srq_use_ring(struct dat_srq *srq, struct dat_epring *ring, u32 entries)
{
	const struct dat_epsize size = srq_ring_size(entries, srq->max_iov);
	struct dat_epmove m = {
		.ring = &srq->ring, .next = ring, .rq = &srq->q, .rq_entries = entries,
	};
	int ret;

	if (!dat_epring_fits(ring, &size))
		return -EINVAL;
	spin_lock_bh(&srq->lock);
	ret = dat_epring_begin_move(&m);
	srq->q.frozen = !ret;
	spin_unlock_bh(&srq->lock);
	if (ret)
		return ret;
	dat_epring_copy(&m);
	spin_lock_bh(&srq->lock);
	dat_epring_end_move(&m);
	srq->q.frozen = false;
	spin_unlock_bh(&srq->lock);
	return 0;
}

/*
 * Carries out @step.  On entry @ring is the new ring, or empty if the step makes no ring.  On
 * return @ring is the ring that the caller must free.
 */
static int srq_step(struct dat_srq *srq, struct dat_epring *ring, u32 entries,
		    struct dat_step *step)
{
	bool at_once = step->what == DAT_RING_AT_ONCE;
	int ret;

	ret = dat_step_begin(srq->obj.ia, &srq->next.submit, &srq->generation, step);
	if (!ret && dat_step_uses(step))
		ret = srq_use_ring(srq, at_once ? ring : &srq->next, entries);
	if (!ret && !at_once)
		swap(srq->next, *ring);
	return ret;
}

/*
 * Changes the length of the ring.  Messages may arrive meanwhile.  The transport's SRQ keeps its
 * size.  After an error nothing has changed.  May sleep.  Fails with -ENOMEM, with -ENOSPC if more
 * buffers are posted than the new ring holds, with -EISCONN if the ring is broken, with -ESTALE if
 * no ring with the generation in @step is prepared, with -EINVAL if the prepared ring has another
 * length.
 */
int dat_srq_resize(struct dat_srq *srq, u32 max_recv, struct dat_step *step)
{
	u32 entries = roundup_pow_of_two(max_recv);
	const struct dat_epsize size = srq_ring_size(entries, srq->max_iov);
	struct dat_epring ring = {};
	int ret = 0;

	if (dat_step_makes(step))
		ret = dat_epring_alloc(srq->obj.ia, &ring, &size);
	if (ret)
		return ret;
	mutex_lock(&srq->obj.ia->resize_lock);
	ret = srq_step(srq, &ring, entries, step);
	mutex_unlock(&srq->obj.ia->resize_lock);
	/* Free the ring that was replaced or cancelled, or not used because of an error. */
	dat_epring_free(&ring);
	if (!ret && dat_step_uses(step))
		dat_srq_process(srq);
	return ret;
}

static void srq_shutdown(struct dat_obj *obj)
{
	struct dat_srq *srq = to_dat_srq(obj);

	spin_lock_bh(&srq->lock);
	srq->live = false;
	spin_unlock_bh(&srq->lock);
	obj->ia->dev->ops->srq_exit(srq);
	dat_locked_uncharge(&srq->locked);
	/*
	 * The work item queues events to the async EVD, which a close of the IA frees after this
	 * shutdown.
	 */
	cancel_work_sync(&srq->error_work);
	if (srq->pz)
		dat_obj_unuse(&srq->pz->obj);
	srq->pz = NULL;
}

static void srq_release(struct dat_obj *obj)
{
	struct dat_srq *srq = to_dat_srq(obj);

	dat_epring_free(&srq->ring);
	dat_epring_free(&srq->next);
	kvfree(srq->slots);
	kvfree(srq->free);
}

static void srq_show(struct seq_file *m, struct dat_obj *obj)
{
	struct dat_srq *srq = to_dat_srq(obj);

	spin_lock_bh(&srq->lock);
	seq_printf(m, " state=%s rq_entries=%u rq_head=%u rq_done=%u bad=%llu armed=%u users=%d",
		   srq->q.broken ? "ERROR" : "OPERATIONAL", srq->q.entries, srq->q.head,
		   srq->q.done, srq->q.bad, srq->q.armed, atomic_read(&obj->users));
	seq_printf(m, " window=%u receives=%llu kicks=%llu malformed=%llu", srq->window,
		   srq->q.posts, srq->q.kicks, srq->q.bad);
	spin_unlock_bh(&srq->lock);
}

const struct dat_obj_ops dat_srq_ops = {
	.name		= "srq",
	.size		= sizeof(struct dat_srq),
	.charge		= true,
	.shutdown	= srq_shutdown,
	.release	= srq_release,
	.show		= srq_show,
};
