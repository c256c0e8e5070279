// SPDX-License-Identifier: GPL-2.0
/* Event dispatchers: one ring each, for all streams, in one order. */
#include <linux/hrtimer.h>
#include <linux/log2.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>

#include "core/dat.h"
#include "core/trace.h"

/**
 * dat_evd_create() - make an event dispatcher
 * @ia: parent
 * @streams: enum dat_stream bits
 * @qlen: events, 1 to DAT_MAX_EVD_QLEN
 * @user_data: owner value of async events about it
 *
 * One with DAT_STREAM_ASYNC becomes the IA's by dat_ia_set_async_evd().
 *
 * Context: may sleep.  Return: the EVD with a reference, or an ERR_PTR.
 */
struct dat_evd *dat_evd_create(struct dat_ia *ia, u32 streams, u32 qlen, u64 user_data)
{
	struct dat_evd *evd = dat_obj_alloc(ia, DAT_OBJ_EVD, user_data);
	int ret;

	if (IS_ERR(evd))
		return evd;
	spin_lock_init(&evd->lock);
	init_waitqueue_head(&evd->wq);
	init_waitqueue_head(&evd->poll);
	dat_busy_init(&evd->busy);
	dat_solicited_init(&evd->solicited);
	evd->streams = streams;
	evd->sink = ia->face->sink;
	ret = dat_evring_alloc(&evd->ring, roundup_pow_of_two(qlen));
	if (ret)
		goto err_abort;
	ret = dat_obj_publish(&evd->obj);
	if (ret)
		goto err_abort;
	return evd;

err_abort:
	dat_obj_abort(&evd->obj);
	return ERR_PTR(ret);
}

static u32 evd_count(struct dat_evd *evd)
{
	lockdep_assert_held(&evd->lock);
	return evd->sink->count(evd);
}

/**
 * dat_evd_wake_waiters() - events that notify were stored in the EVD of a process
 * @evd: event dispatcher
 *
 * It wakes the waiter if that has what it asked for; without a waiter, it triggers the CNO.
 *
 * Context: evd->lock held.
 */
void dat_evd_wake_waiters(struct dat_evd *evd)
{
	lockdep_assert_held(&evd->lock);

	if (evd->waiting) {
		if (evd_count(evd) >= evd->threshold)
			wake_up(&evd->wq);
	} else if (evd->cno && !evd->disabled) {
		dat_cno_trigger(evd->cno, evd->obj.user_data);
	}
	/* A poll looks under the lock after it has joined the queue: no barrier is needed. */
	if (waitqueue_active(&evd->poll))
		wake_up_poll(&evd->poll, EPOLLIN | EPOLLRDNORM);
}

static bool evd_store(struct dat_evd *evd, const struct dat_eqe *eqe)
{
	bool ok = dat_evd_room(evd, 1);

	if (ok) {
		*dat_evring_at(&evd->ring, evd->ring.tail) = *eqe;
		dat_evring_publish(&evd->ring, 1);
	} else {
		dat_evring_drop(&evd->ring);
	}
	trace_dat_event(evd, eqe, ok);
	return ok;
}

/* An async EVD that overflows has nobody left to tell. */
static void evd_report_overflow(struct dat_evd *evd)
{
	if (READ_ONCE(evd->obj.ia->async_evd) != evd)
		dat_ia_async(evd->obj.ia, DAT_EV_ASYNC_OVERFLOW, DAT_OBJ_EVD,
			     evd->obj.user_data, 0);
}

/**
 * dat_evd_deliver_bh() - the same as dat_evd_deliver(), with softirqs disabled
 * @evd: where, or NULL: nobody is interested
 * @eqe: the event
 * @notify: it may wake a waiter
 */
bool dat_evd_deliver_bh(struct dat_evd *evd, const struct dat_eqe *eqe, bool notify)
{
	bool ok, report;

	if (!evd)
		return true;
	spin_lock(&evd->lock);
	ok = evd_store(evd, eqe);
	report = !ok && !evd->overflowed;
	evd->overflowed = !ok;
	if (ok && notify)
		evd->sink->wake(evd);
	spin_unlock(&evd->lock);
	if (unlikely(report))
		evd_report_overflow(evd);
	return ok;
}

/**
 * dat_evd_deliver() - queue an event
 * @evd: where, or NULL: nobody is interested
 * @eqe: the event
 * @notify: it may wake a waiter
 *
 * If the ring is full the event is lost and the IA's async EVD learns of it, once
 * until there is room again.
 *
 * Context: any but hard interrupt; not under an evd->lock.  Return: true if it
 * was queued or nobody is interested.
 */
bool dat_evd_deliver(struct dat_evd *evd, const struct dat_eqe *eqe, bool notify)
{
	bool ok;

	local_bh_disable();
	ok = dat_evd_deliver_bh(evd, eqe, notify);
	local_bh_enable();
	return ok;
}

/**
 * dat_evd_notify() - one of the events that are queued notifies
 * @evd: event dispatcher
 *
 * It may have been dequeued by now; if all have been, this does nothing.
 *
 * Context: softirqs disabled; not under an evd->lock.
 */
void dat_evd_notify(struct dat_evd *evd)
{
	spin_lock(&evd->lock);
	if (evd_count(evd))
		evd->sink->wake(evd);
	spin_unlock(&evd->lock);
}

/* The same as dat_evd_offer(), with evd->lock held. */
bool dat_evd_offer_locked(struct dat_evd *evd, const struct dat_eqe *eqe)
{
	lockdep_assert_held(&evd->lock);
	if (!dat_evd_room(evd, 1)) {
		trace_dat_event(evd, eqe, false);
		return false;
	}
	evd_store(evd, eqe);
	/* There was room again: the next event that finds none is reported. */
	evd->overflowed = false;
	evd->sink->wake(evd);
	return true;
}

/**
 * dat_evd_offer() - queue an event if there is room
 * @evd: where
 * @eqe: the event
 *
 * For events whose source can do without: nothing is lost, so nothing is reported.
 *
 * Context: any but hard interrupt.  Return: true if it was queued.
 */
bool dat_evd_offer(struct dat_evd *evd, const struct dat_eqe *eqe)
{
	bool ok;

	spin_lock_bh(&evd->lock);
	ok = dat_evd_offer_locked(evd, eqe);
	spin_unlock_bh(&evd->lock);
	return ok;
}

/**
 * dat_evd_post() - queue a software event
 * @evd: where
 * @cookie: what
 *
 * Return: 0, -EINVAL if the EVD takes no such events, -ENOSPC if it is full,
 * which is the poster's own business and reported nowhere else.
 */
int dat_evd_post(struct dat_evd *evd, u64 cookie)
{
	struct dat_eqe eqe = { .type = DAT_EV_SOFTWARE, .cookie = cookie };

	if (!(evd->streams & DAT_STREAM_SOFTWARE))
		return -EINVAL;
	return dat_evd_offer(evd, &eqe) ? 0 : -ENOSPC;
}

/**
 * dat_evd_count() - how many events are queued
 * @evd: event dispatcher
 */
u32 dat_evd_count(struct dat_evd *evd)
{
	u32 count;

	spin_lock_bh(&evd->lock);
	count = evd_count(evd);
	spin_unlock_bh(&evd->lock);
	return count;
}

/* 1: go; 0: sleep on; negative: go with this error. */
static int evd_ready(struct dat_evd *evd)
{
	int ret = 0;

	spin_lock_bh(&evd->lock);
	if (evd->dead)
		ret = -ESHUTDOWN;
	else if (evd->unwaitable)
		ret = -ECANCELED;
	else if (evd_count(evd) >= evd->threshold)
		ret = 1;
	spin_unlock_bh(&evd->lock);
	return ret;
}

static int evd_become_waiter(struct dat_evd *evd, u32 threshold)
{
	int ret = 0;

	spin_lock_bh(&evd->lock);
	if (evd->waiting) {
		ret = -EBUSY;
	} else if (threshold > evd->ring.entries) {
		ret = -EINVAL;
	} else {
		evd->waiting = true;
		evd->threshold = threshold;
	}
	spin_unlock_bh(&evd->lock);
	return ret;
}

/* @failed: what came meanwhile was for the waiter, and stays. */
static void evd_leave(struct dat_evd *evd, bool failed)
{
	spin_lock_bh(&evd->lock);
	evd->waiting = false;
	if (failed && evd->cno && !evd->disabled && evd_count(evd))
		dat_cno_trigger(evd->cno, evd->obj.user_data);
	spin_unlock_bh(&evd->lock);
}

/**
 * dat_sleep() - sleep once, on a queue that the task is on
 * @deadline_ns: CLOCK_MONOTONIC, or DAT_WAIT_FOREVER
 *
 * Deadlines are absolute, so a wait may be restarted: only a signal that has a handler ends
 * it with EINTR, not a stop and a continue, a debugger or the freezer.
 *
 * Return: 0: woken or time is up, look again; -ETIMEDOUT, -ERESTARTNOHAND.
 */
int dat_sleep(u64 deadline_ns)
{
	ktime_t deadline = ns_to_ktime(min_t(u64, deadline_ns, KTIME_MAX));

	/* A poll never says that it was interrupted. */
	if (deadline_ns != DAT_WAIT_FOREVER && ktime_get_ns() >= deadline_ns)
		return -ETIMEDOUT;
	if (signal_pending(current))
		return -ERESTARTNOHAND;
	if (deadline_ns == DAT_WAIT_FOREVER) {
		schedule();
		return 0;
	}
	schedule_hrtimeout(&deadline, HRTIMER_MODE_ABS);
	return 0;
}

/**
 * dat_evd_wait() - sleep until enough events are queued
 * @evd: where
 * @threshold: how many are enough
 * @deadline_ns: CLOCK_MONOTONIC, or DAT_WAIT_FOREVER
 *
 * Context: may sleep.  Return: 0, -ETIMEDOUT, -ERESTARTNOHAND, -EBUSY (another waiter),
 * -ECANCELED (unwaitable), -ESHUTDOWN.
 */
int dat_evd_wait(struct dat_evd *evd, u32 threshold, u64 deadline_ns)
{
	DEFINE_WAIT(wait);
	int ret;

	ret = evd_become_waiter(evd, threshold);
	if (ret)
		return ret;
	dat_busy_stop(evd);
	do {
		/* (J): after this, whoever queues an event sees us. */
		prepare_to_wait(&evd->wq, &wait, TASK_INTERRUPTIBLE);
		ret = evd_ready(evd);
		while (!ret && dat_solicited_look(evd))
			ret = evd_ready(evd);
		if (!ret)
			ret = dat_sleep(deadline_ns);
	} while (!ret);
	finish_wait(&evd->wq, &wait);
	evd_leave(evd, ret < 0);
	return ret > 0 ? 0 : ret;
}

void dat_evd_set_unwaitable(struct dat_evd *evd, bool unwaitable)
{
	spin_lock_bh(&evd->lock);
	evd->unwaitable = unwaitable;
	if (unwaitable)
		wake_up(&evd->wq);
	spin_unlock_bh(&evd->lock);
	/* Who looks at the device before he sleeps, shall find out too. */
	if (unwaitable)
		dat_busy_stop(evd);
}

void dat_evd_set_disabled(struct dat_evd *evd, bool disabled)
{
	spin_lock_bh(&evd->lock);
	evd->disabled = disabled;
	/* What came meanwhile has triggered nothing. */
	if (!disabled && evd->cno && !evd->waiting && evd_count(evd))
		dat_cno_trigger(evd->cno, evd->obj.user_data);
	spin_unlock_bh(&evd->lock);
}

/* One that is shut down takes no CNO any more: nobody would take it away again. */
static struct dat_cno *evd_swap_cno(struct dat_evd *evd, struct dat_cno *cno)
{
	spin_lock_bh(&evd->lock);
	if (!cno || !evd->dead)
		swap(evd->cno, cno);
	spin_unlock_bh(&evd->lock);
	return cno;
}

/**
 * dat_evd_set_cno() - attach to another CNO
 * @evd: event dispatcher
 * @cno: CNO, or NULL for none
 *
 * An event triggers the old one or the new one.
 *
 * Context: may sleep.  Return: 0, or -ENOENT if @cno is being freed.
 */
int dat_evd_set_cno(struct dat_evd *evd, struct dat_cno *cno)
{
	struct dat_cno *old;

	if (cno && dat_obj_use(&cno->obj))
		return -ENOENT;
	old = evd_swap_cno(evd, cno);
	if (cno)
		dat_busy_stop(evd);
	if (!old)
		return 0;
	dat_cno_forget(old, evd->obj.user_data);
	dat_obj_unuse(&old->obj);
	return old == cno && READ_ONCE(evd->dead) ? -ENOENT : 0;
}

/* Swap the status region for one of @entries events, unless they don't fit. */
static int evd_swap_status(struct dat_evd *evd, struct dat_region *status, u32 entries)
{
	int ret = -EISCONN;
	u32 from, to;

	if (!dat_evring_status_fits(status, entries))
		return -EINVAL;
	spin_lock_bh(&evd->lock);
	/* Counted first: it may move events into the ring. */
	from = evd_count(evd);
	to = evd->ring.tail;
	from = to - from;
	spin_unlock_bh(&evd->lock);
	/* All but the few that come meanwhile. */
	dat_evring_copy(&evd->ring, status, entries, from, to);

	spin_lock_bh(&evd->lock);
	if (evd->waiting && evd->threshold > entries) {
		ret = -EBUSY;
	} else if (evd_count(evd) <= entries) {
		dat_evring_resize(&evd->ring, status, entries, to);
		ret = 0;
	}
	spin_unlock_bh(&evd->lock);
	return ret;
}

/* @status: a new region or an empty one; on return, what is needed no more. */
static int evd_step(struct dat_evd *evd, struct dat_region *status, u32 entries,
		    struct dat_step *step)
{
	bool at_once = step->what == DAT_RING_AT_ONCE;
	int ret;

	lockdep_assert_held(&evd->obj.ia->map_lock);
	ret = dat_region_step(&evd->next, &evd->generation, step);
	if (!ret && dat_step_uses(step))
		ret = evd_swap_status(evd, at_once ? status : &evd->next, entries);
	if (!ret && !at_once)
		swap(evd->next, *status);
	return ret;
}

/**
 * dat_evd_resize() - change the length of the ring
 * @evd: event dispatcher; events may arrive meanwhile
 * @qlen: events, 1 to DAT_MAX_EVD_QLEN
 * @step: all of it, or which part
 *
 * Context: may sleep.  Return: 0, -ENOMEM, -EISCONN more events are queued than would
 * fit, -EBUSY a thread waits for more than would fit, -ESTALE nothing of that generation
 * is prepared, -EINVAL what is has another length; after an error all is what it was.
 */
int dat_evd_resize(struct dat_evd *evd, u32 qlen, struct dat_step *step)
{
	u32 entries = roundup_pow_of_two(qlen);
	struct dat_region status = {};
	int ret = 0;

	if (dat_step_makes(step))
		ret = dat_evring_alloc_status(&status, entries);
	if (ret)
		return ret;
	mutex_lock(&evd->obj.ia->map_lock);
	ret = evd_step(evd, &status, entries, step);
	mutex_unlock(&evd->obj.ia->map_lock);
	/* The old pages, or those that were not needed. */
	dat_region_free(&status);
	return ret;
}

static int evd_may_free(struct dat_obj *obj)
{
	struct dat_evd *evd = to_dat_evd(obj);
	int ret;

	spin_lock_bh(&evd->lock);
	ret = evd->waiting || READ_ONCE(obj->ia->async_evd) == evd ? -EBUSY : 0;
	spin_unlock_bh(&evd->lock);
	return ret;
}

static void evd_shutdown(struct dat_obj *obj)
{
	struct dat_evd *evd = to_dat_evd(obj);
	struct dat_cno *cno;

	spin_lock_bh(&evd->lock);
	evd->dead = true;
	wake_up_all(&evd->wq);
	wake_up_poll(&evd->poll, EPOLLHUP);
	spin_unlock_bh(&evd->lock);

	dat_busy_end(evd);
	cno = evd_swap_cno(evd, NULL);
	if (!cno)
		return;
	dat_cno_forget(cno, obj->user_data);
	dat_obj_unuse(&cno->obj);
}

static void evd_release(struct dat_obj *obj)
{
	dat_evring_free(&to_dat_evd(obj)->ring);
	dat_region_free(&to_dat_evd(obj)->next);
}

static struct dat_region *evd_region(struct dat_obj *obj, unsigned int kind)
{
	struct dat_evd *evd = to_dat_evd(obj);

	switch (kind) {
	case DAT_REGION_SUBMIT:
		return &evd->ring.submit;
	case DAT_REGION_STATUS:
		return &evd->ring.status;
	case DAT_REGION_NEXT_STATUS:
		return dat_region_if(&evd->next);
	default:
		return NULL;
	}
}

static __poll_t evd_poll(struct dat_obj *obj, struct file *file,
			 struct poll_table_struct *wait)
{
	struct dat_evd *evd = to_dat_evd(obj);
	__poll_t mask = 0;

	poll_wait(file, &evd->poll, wait);
	spin_lock_bh(&evd->lock);
	if (evd_count(evd))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (evd->dead)
		mask |= EPOLLHUP;
	spin_unlock_bh(&evd->lock);
	/* Whoever begins to look at the device after that, sees us on the queue. */
	dat_busy_stop(evd);
	return mask;
}

static void evd_show(struct seq_file *m, struct dat_obj *obj)
{
	struct dat_evd *evd = to_dat_evd(obj);
	u32 count;

	spin_lock_bh(&evd->lock);
	count = evd_count(evd);
	seq_printf(m, " streams=%#x qlen=%u tail=%u head=%u count=%u dropped=%u waiting=%d disabled=%d cno=%u users=%d",
		   evd->streams, evd->ring.entries, evd->ring.tail, evd->ring.head, count,
		   evd->ring.dropped, evd->waiting, evd->disabled,
		   evd->cno ? evd->cno->obj.id : 0, atomic_read(&obj->users));
	spin_unlock_bh(&evd->lock);
	dat_busy_show(m, &evd->busy);
}

const struct dat_obj_ops dat_evd_ops = {
	.name		= "evd",
	.size		= sizeof(struct dat_evd),
	.may_free	= evd_may_free,
	.shutdown	= evd_shutdown,
	.release	= evd_release,
	.region		= evd_region,
	.poll		= evd_poll,
	.show		= evd_show,
};
