// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Event dispatchers (EVDs).  An EVD has one ring for the events of all its streams, so the ring
 * keeps the order in which the events were queued.
 */
#include <linux/log2.h>
#include <linux/poll.h>

#include "core/dat.h"
#include "core/event/evd.h"
#include "core/event/ring.h"
#include "core/stats.h"
#include "core/trace.h"
#include "lib/device.h"

/*
 * Makes an EVD for @qlen events.  An EVD with DAT_STREAM_ASYNC gets async events only after
 * dat_ia_set_async_evd().  May sleep.  Returns the EVD with a reference, or an ERR_PTR.
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
	dat_round_init(&evd->solicited);
	ia->dev->ops->evd_init(evd);
	evd->streams = streams;
	evd->sink = ia->face->sink;
	ret = dat_evring_alloc(ia, &evd->ring, roundup_pow_of_two(qlen));
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

/*
 * Wakes a waiting thread once the EVD holds as many events as the thread's threshold.  If no thread
 * waits, triggers the CNO, if any, unless the EVD is disabled.  In all cases wakes poll() and
 * epoll.  evd->lock is held.
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
	/*
	 * evd_poll() joins the wait queue, then takes evd->lock and counts the events, so this
	 * check needs no barrier.
	 */
	if (waitqueue_active(&evd->poll))
		wake_up_poll(&evd->poll, EPOLLIN | EPOLLRDNORM);
}

static bool evd_store(struct dat_evd *evd, const struct dat_eqe *eqe)
{
	bool ok = dat_evd_room(evd, 1);

	if (ok) {
		*dat_evring_at(&evd->ring, evd->ring.tail) = *eqe;
		dat_evring_publish(&evd->ring, 1);
		dat_stat_add(evd->obj.ia, DAT_STAT_EVENTS, 1);
	} else {
		dat_evring_drop(&evd->ring);
		dat_stat_add(evd->obj.ia, DAT_STAT_DROPPED, 1);
	}
	trace_dat_event(evd, eqe, evd->ring.tail, ok);
	return ok;
}

/* Reports an overflow as an async event.  The async EVD cannot report its own overflow. */
static void evd_report_overflow(struct dat_evd *evd)
{
	if (READ_ONCE(evd->obj.ia->async_evd) != evd)
		dat_ia_async(evd->obj.ia, DAT_EV_ASYNC_OVERFLOW, DAT_OBJ_EVD,
			     evd->obj.user_data, 0);
}

/* Queues an event as dat_evd_deliver() does; softirqs must be disabled. */
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
 * @evd: EVD, or NULL to discard the event
 * @eqe: event
 * @notify: true if the event notifies the consumer, which may wake a waiter or trigger the CNO
 *
 * If the ring is full, the event is lost, and an async event reports the overflow.  Further losses
 * are not reported until another event has found room.
 *
 * Context: any but hard interrupt; no evd->lock held.  Return: false if the event was lost.
 */
bool dat_evd_deliver(struct dat_evd *evd, const struct dat_eqe *eqe, bool notify)
{
	bool ok;

	local_bh_disable();
	ok = dat_evd_deliver_bh(evd, eqe, notify);
	local_bh_enable();
	return ok;
}

/*
 * Notifies the consumer of events that were queued without a notification, unless the consumer has
 * taken all events.  Context: softirqs disabled; no evd->lock held.
 */
void dat_evd_notify(struct dat_evd *evd)
{
	spin_lock(&evd->lock);
	if (evd_count(evd))
		evd->sink->wake(evd);
	spin_unlock(&evd->lock);
}

/* Queues an event as dat_evd_offer() does.  evd->lock is held. */
bool dat_evd_offer_locked(struct dat_evd *evd, const struct dat_eqe *eqe)
{
	lockdep_assert_held(&evd->lock);
	if (!dat_evd_room(evd, 1)) {
		trace_dat_event(evd, eqe, evd->ring.tail, false);
		return false;
	}
	evd_store(evd, eqe);
	/* The event has found room, so the next lost event must be reported as an overflow. */
	evd->overflowed = false;
	evd->sink->wake(evd);
	return true;
}

/*
 * Queues an event and notifies the consumer, if the ring has room.  Otherwise returns false, and
 * reports no overflow.  Context: any but hard interrupt.
 */
bool dat_evd_offer(struct dat_evd *evd, const struct dat_eqe *eqe)
{
	bool ok;

	spin_lock_bh(&evd->lock);
	ok = dat_evd_offer_locked(evd, eqe);
	spin_unlock_bh(&evd->lock);
	return ok;
}

/*
 * Queues a software event.  Fails with -EINVAL if the EVD does not accept software events, or with
 * -ENOSPC if the EVD is full, which is not reported as an overflow.
 */
int dat_evd_post(struct dat_evd *evd, u64 cookie)
{
	struct dat_eqe eqe = { .type = DAT_EV_SOFTWARE, .cookie = cookie };

	if (!(evd->streams & DAT_STREAM_SOFTWARE))
		return -EINVAL;
	return dat_evd_offer(evd, &eqe) ? 0 : -ENOSPC;
}

/* Returns the number of events that the consumer has not taken. */
u32 dat_evd_count(struct dat_evd *evd)
{
	u32 count;

	spin_lock_bh(&evd->lock);
	count = evd_count(evd);
	spin_unlock_bh(&evd->lock);
	return count;
}

/* Returns 1 if enough events are queued, 0 if the wait goes on, or the errno that ends the wait. */
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
	if (threshold > evd->ring.entries) {
		ret = -EINVAL;
	} else if (evd->waiting) {
		ret = -EBUSY;
	} else {
		evd->waiting = true;
		evd->threshold = threshold;
	}
	spin_unlock_bh(&evd->lock);
	return ret;
}

/*
 * Ends a wait.  While a thread waits, events do not trigger the CNO, so a wait that has failed
 * triggers the CNO for the queued events.
 */
static void evd_leave(struct dat_evd *evd, bool failed)
{
	spin_lock_bh(&evd->lock);
	evd->waiting = false;
	if (failed && evd->cno && !evd->disabled && evd_count(evd))
		dat_cno_trigger(evd->cno, evd->obj.user_data);
	spin_unlock_bh(&evd->lock);
}

/**
 * dat_evd_wait() - sleep until an EVD holds a number of events
 * @evd: event dispatcher
 * @threshold: number of events to wait for
 * @deadline_ns: absolute time on CLOCK_MONOTONIC, or DAT_WAIT_FOREVER
 *
 * Context: may sleep.  Return: 0; -ETIMEDOUT; -ERESTARTNOHAND after a signal; -EBUSY if another
 * thread waits; -EINVAL if the ring has fewer entries than @threshold; -ECANCELED if the EVD is
 * unwaitable; -ESHUTDOWN if the EVD is shut down.
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
		/*
		 * (J) in <rdma/dat_ring.h>: the event that meets the threshold after this line
		 * wakes this thread.
		 */
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

/*
 * Makes dat_evd_wait() fail with -ECANCELED, or work again.  evd->lock orders this against arriving
 * events: a thread that has not found enough events before @unwaitable is set gets -ECANCELED, even
 * if the events arrive at the same time.  Context: any but hard interrupt; no spinlock held.
 */
void dat_evd_set_unwaitable(struct dat_evd *evd, bool unwaitable)
{
	spin_lock_bh(&evd->lock);
	evd->unwaitable = unwaitable;
	if (unwaitable)
		wake_up(&evd->wq);
	spin_unlock_bh(&evd->lock);
	/* A thread that has not begun to wait may be in dat_busy_poll(): end the poll. */
	if (unwaitable)
		dat_busy_stop(evd);
}

/*
 * Keeps events from triggering the CNO, or lets events trigger the CNO again.  evd->lock orders
 * this against arriving events: on a change to enabled, this function triggers the CNO for earlier
 * events, and later events trigger the CNO themselves.  Context: any but hard interrupt; no
 * evd->lock held.
 */
void dat_evd_set_disabled(struct dat_evd *evd, bool disabled)
{
	spin_lock_bh(&evd->lock);
	evd->disabled = disabled;
	/* Events that were queued while the EVD was disabled did not trigger the CNO. */
	if (!disabled && evd->cno && !evd->waiting && evd_count(evd))
		dat_cno_trigger(evd->cno, evd->obj.user_data);
	spin_unlock_bh(&evd->lock);
}

/*
 * Attaches @cno and returns the old CNO, for which the caller calls dat_obj_unuse().  If the EVD is
 * dead, its shutdown may already have detached the CNO, and nothing would release a new CNO.  In
 * that case the function does not attach @cno, and returns @cno.
 */
static struct dat_cno *evd_swap_cno(struct dat_evd *evd, struct dat_cno *cno)
{
	spin_lock_bh(&evd->lock);
	if (!cno || !evd->dead)
		swap(evd->cno, cno);
	spin_unlock_bh(&evd->lock);
	return cno;
}

/*
 * Replaces the CNO of an EVD by @cno, or by none if @cno is NULL.  An event that arrives during the
 * change triggers the old CNO or the new one.  Context: may sleep; no spinlock held.  Fails with
 * -ENOENT if @cno or the EVD is being freed.
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
	if (old != cno)
		dat_cno_forget(old, evd->obj.user_data);
	dat_obj_unuse(&old->obj);
	return old == cno && READ_ONCE(evd->dead) ? -ENOENT : 0;
}

/*
 * Replaces the memory of the events by @slots, which has room for @entries events.  After a success
 * @slots is the old memory.  After an error @slots is unchanged.  Fails like dat_evd_resize().
 */
static int evd_swap_slots(struct dat_evd *evd, struct dat_slice *slots, u32 entries)
{
	int ret = -ENOSPC;
	u32 from, to;

	if (!dat_evring_slots_fit(slots, entries))
		return -EINVAL;
	spin_lock_bh(&evd->lock);
	/* The consumer has not taken the last evd_count() events before the tail. */
	from = evd_count(evd);
	to = evd->ring.tail;
	from = to - from;
	spin_unlock_bh(&evd->lock);
	/*
	 * Copy the present events without evd->lock.  dat_evring_resize() copies the events that
	 * arrive meanwhile.
	 */
	dat_evring_copy(&evd->ring, slots, entries, from, to);

	spin_lock_bh(&evd->lock);
	if (evd->waiting && evd->threshold > entries) {
		ret = -EBUSY;
	} else if (evd_count(evd) <= entries) {
		dat_evring_resize(&evd->ring, slots, entries, to);
		ret = 0;
	}
	spin_unlock_bh(&evd->lock);
	return ret;
}

/*
 * Carries out @step.  On entry @slots is the new memory, or empty if the step allocates no memory.
 * On return @slots is the memory that the caller must free.
 */
static int evd_step(struct dat_evd *evd, struct dat_slice *slots, u32 entries,
		    struct dat_step *step)
{
	bool at_once = step->what == DAT_RING_AT_ONCE;
	int ret;

	ret = dat_step_begin(evd->obj.ia, &evd->next, &evd->generation, step);
	if (!ret && dat_step_uses(step))
		ret = evd_swap_slots(evd, at_once ? slots : &evd->next, entries);
	if (!ret && !at_once)
		swap(evd->next, *slots);
	return ret;
}

/**
 * dat_evd_resize() - change the length of an EVD's ring
 * @evd: event dispatcher; events may arrive during the call
 * @qlen: number of events that the ring must hold, 1 to DAT_MAX_EVD_QLEN
 * @step: step of the ring's replacement, or DAT_RING_AT_ONCE for all steps
 *
 * Context: may sleep.  Return: 0; -ENOMEM; -ENOSPC if more events are queued than the new ring
 * holds; -EBUSY if a thread waits for more events than the new ring holds; -ESTALE if no ring with
 * the generation in @step is prepared; -EINVAL if the prepared ring has another length.  After an
 * error nothing has changed.
 */
int dat_evd_resize(struct dat_evd *evd, u32 qlen, struct dat_step *step)
{
	u32 entries = roundup_pow_of_two(qlen);
	struct dat_slice slots = {};
	int ret = 0;

	if (dat_step_makes(step))
		ret = dat_evring_alloc_slots(evd->obj.ia, &slots, entries);
	if (ret)
		return ret;
	mutex_lock(&evd->obj.ia->resize_lock);
	ret = evd_step(evd, &slots, entries, step);
	mutex_unlock(&evd->obj.ia->resize_lock);
	/*
	 * Free the memory that was replaced or cancelled, or that was not used because of an error.
	 */
	dat_slice_free(&slots);
	return ret;
}

/*
 * Sets evd->dead before the shutdown of the EVD.  A sink that tests evd->dead under evd->lock
 * before each upcall starts no upcall after this call.  Context: any but hard interrupt.
 */
void dat_evd_kill(struct dat_evd *evd)
{
	spin_lock_bh(&evd->lock);
	evd->dead = true;
	spin_unlock_bh(&evd->lock);
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
	dat_slice_free(&to_dat_evd(obj)->next);
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
	/*
	 * The waiter needs notifications, so end polling.  dat_busy_poll() does not start polling
	 * again while evd->poll has a waiter.
	 */
	dat_busy_stop(evd);
	return mask;
}

static void evd_show(struct seq_file *m, struct dat_obj *obj)
{
	struct dat_evd *evd = to_dat_evd(obj);
	u32 count;

	spin_lock_bh(&evd->lock);
	count = evd_count(evd);
	seq_printf(m, " streams=%#x qlen=%u tail=%u head=%u count=%u", evd->streams,
		   evd->ring.entries, evd->ring.tail, evd->ring.head, count);
	seq_printf(m, " waiting=%d disabled=%d cno=%u users=%d events=%llu dropped=%llu",
		   evd->waiting, evd->disabled, evd->cno ? evd->cno->obj.id : 0,
		   atomic_read(&obj->users), evd->ring.published, evd->ring.dropped);
	spin_unlock_bh(&evd->lock);
	dat_busy_show(m, &evd->busy);
}

const struct dat_obj_ops dat_evd_ops = {
	.name		= "evd",
	.size		= sizeof(struct dat_evd),
	.may_free	= evd_may_free,
	.shutdown	= evd_shutdown,
	.release	= evd_release,
	.poll		= evd_poll,
	.show		= evd_show,
};
