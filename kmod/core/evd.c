// SPDX-License-Identifier: GPL-2.0
/* Event dispatchers.  An EVD has one ring, which keeps the events of all its streams in order. */
#include <linux/hrtimer.h>
#include <linux/log2.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>

#include "core/dat.h"
#include "core/evd.h"
#include "core/ring.h"
#include "core/trace.h"

/**
 * dat_evd_create() - make an event dispatcher
 * @ia: parent
 * @streams: enum dat_stream bits
 * @qlen: events, 1 to DAT_MAX_EVD_QLEN
 * @user_data: owner value of async events about the EVD
 *
 * An EVD with DAT_STREAM_ASYNC gets async events only after dat_ia_set_async_evd().
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

/**
 * dat_evd_wake_waiters() - notify a process of events in its EVD
 * @evd: event dispatcher
 *
 * Wakes the waiter if its threshold is reached.  Without a waiter, triggers the CNO.  Also wakes
 * poll() and epoll.
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
	/* evd_poll() joins the queue and then counts under the lock: no barrier is needed here. */
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
	trace_dat_event(evd, eqe, evd->ring.tail, ok);
	return ok;
}

/* Skips the async EVD: it cannot report its own overflow. */
static void evd_report_overflow(struct dat_evd *evd)
{
	if (READ_ONCE(evd->obj.ia->async_evd) != evd)
		dat_ia_async(evd->obj.ia, DAT_EV_ASYNC_OVERFLOW, DAT_OBJ_EVD,
			     evd->obj.user_data, 0);
}

/**
 * dat_evd_deliver_bh() - the same as dat_evd_deliver(), with softirqs disabled
 * @evd: EVD, or NULL to discard the event
 * @eqe: event
 * @notify: the event may wake a waiter
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
 * @evd: EVD, or NULL to discard the event
 * @eqe: event
 * @notify: the event may wake a waiter
 *
 * If the ring is full, the event is lost.  The first loss is reported to the IA's async EVD;
 * further ones only after an event has found room again.
 *
 * Context: any but hard interrupt; not under an evd->lock.  Return: false if the event was lost.
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
 * dat_evd_notify() - notify of events that were queued without notification
 * @evd: event dispatcher
 *
 * Does nothing if all events have been dequeued by now.
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
		trace_dat_event(evd, eqe, evd->ring.tail, false);
		return false;
	}
	evd_store(evd, eqe);
	/* There was room again: report the next loss. */
	evd->overflowed = false;
	evd->sink->wake(evd);
	return true;
}

/**
 * dat_evd_offer() - queue an event if there is room
 * @evd: event dispatcher
 * @eqe: event
 *
 * A full ring is reported to the caller only, not as an overflow.
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
 * @evd: event dispatcher
 * @cookie: value of the event
 *
 * Return: 0, -EINVAL if the EVD takes no software events, -ENOSPC if it is full, which is not
 * reported as an overflow.
 */
int dat_evd_post(struct dat_evd *evd, u64 cookie)
{
	struct dat_eqe eqe = { .type = DAT_EV_SOFTWARE, .cookie = cookie };

	if (!(evd->streams & DAT_STREAM_SOFTWARE))
		return -EINVAL;
	return dat_evd_offer(evd, &eqe) ? 0 : -ENOSPC;
}

/**
 * dat_evd_count() - number of events that are queued
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

/* Returns 1 if the wait is over, 0 to sleep on, or an errno that ends the wait. */
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

/*
 * Ends a wait.  After a failed one, triggers the CNO for the events that are queued: while there
 * was a waiter, events triggered no CNO.
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
 * dat_sleep() - sleep once, after prepare_to_wait()
 * @deadline_ns: CLOCK_MONOTONIC, or DAT_WAIT_FOREVER
 *
 * The deadline is absolute, so the system call can be restarted after a stop, a debugger or the
 * freezer.  Only a signal with a handler ends it with EINTR.
 *
 * Return: 0 if the caller must check its condition again, -ETIMEDOUT, -ERESTARTNOHAND.
 */
int dat_sleep(u64 deadline_ns)
{
	ktime_t deadline = ns_to_ktime(min_t(u64, deadline_ns, KTIME_MAX));

	/* Check the deadline first: a call that does not wait never returns EINTR. */
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
 * dat_evd_wait() - sleep until a number of events is queued
 * @evd: event dispatcher
 * @threshold: number of events
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
		/* (J): events that are queued from now on wake this thread. */
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
	/* A thread may poll before it waits: end its poll as well. */
	if (unwaitable)
		dat_busy_stop(evd);
}

void dat_evd_set_disabled(struct dat_evd *evd, bool disabled)
{
	spin_lock_bh(&evd->lock);
	evd->disabled = disabled;
	/* Events that were queued while disabled have not triggered the CNO. */
	if (!disabled && evd->cno && !evd->waiting && evd_count(evd))
		dat_cno_trigger(evd->cno, evd->obj.user_data);
	spin_unlock_bh(&evd->lock);
}

/*
 * Attaches @cno and returns the old CNO.  A dead EVD attaches no CNO, but returns @cno: its
 * shutdown has run, so nothing would release the CNO later.
 */
static struct dat_cno *evd_swap_cno(struct dat_evd *evd, struct dat_cno *cno)
{
	spin_lock_bh(&evd->lock);
	if (!cno || !evd->dead)
		swap(evd->cno, cno);
	spin_unlock_bh(&evd->lock);
	return cno;
}

/**
 * dat_evd_set_cno() - attach an EVD to another CNO
 * @evd: event dispatcher
 * @cno: CNO, or NULL for none
 *
 * An event that arrives during the change triggers either the old CNO or the new one.
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

/* Swaps the memory of the events for one of @entries events, unless the queued ones do not fit. */
static int evd_swap_slots(struct dat_evd *evd, struct dat_slice *slots, u32 entries)
{
	int ret = -ENOSPC;
	u32 from, to;

	if (!dat_evring_slots_fit(slots, entries))
		return -EINVAL;
	spin_lock_bh(&evd->lock);
	/* Count before reading the tail: counting may move events into the ring. */
	from = evd_count(evd);
	to = evd->ring.tail;
	from = to - from;
	spin_unlock_bh(&evd->lock);
	/* Copy without the lock; dat_evring_resize() copies events that arrive meanwhile. */
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

/* @slots is new memory or empty on entry, and the memory to free on return. */
static int evd_step(struct dat_evd *evd, struct dat_slice *slots, u32 entries,
		    struct dat_step *step)
{
	bool at_once = step->what == DAT_RING_AT_ONCE;
	int ret;

	lockdep_assert_held(&evd->obj.ia->resize_lock);
	ret = dat_step_begin(&evd->next, &evd->generation, step);
	if (!ret && dat_step_uses(step))
		ret = evd_swap_slots(evd, at_once ? slots : &evd->next, entries);
	if (!ret && !at_once)
		swap(evd->next, *slots);
	return ret;
}

/**
 * dat_evd_resize() - change the length of the ring
 * @evd: event dispatcher; events may arrive meanwhile
 * @qlen: events, 1 to DAT_MAX_EVD_QLEN
 * @step: the whole resize, or one step of it
 *
 * Context: may sleep.  Return: 0, -ENOMEM, -ENOSPC if more events are queued than fit, -EBUSY
 * if a thread waits for more events than fit, -ESTALE if no ring of that generation is
 * prepared, -EINVAL if the prepared ring has another length.  An error changes nothing.
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
	/* Free memory that was replaced or cancelled, or that an error left unused. */
	dat_slice_free(&slots);
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
	/* A thread that begins to poll after this sees a waiter on evd->poll, and does not poll. */
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
	.poll		= evd_poll,
	.show		= evd_show,
};
