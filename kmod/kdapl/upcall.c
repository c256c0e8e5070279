// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Upcalls of kernel consumers; <linux/kdat.h> specifies when and where upcalls run.
 *
 * A runner takes the events of one EVD and calls the consumer's upcall function for each event.
 * With DAT_UPCALL_NORIFY, a runner calls the function without an event and leaves the events in the
 * EVD.  A notification event queues a runner of the EVD, unless a runner is queued already, the
 * number of running runners has reached the maximum of the policy, the upcall is not armed
 * (DAT_UPCALL_NORIFY), or the upcalls are being ended.  A runner calls the consumer with no lock
 * held.  A runner ends when the EVD is empty or shut down, when the policy or kdat_upcall_end()
 * forbids further upcalls, or when UPCALL_BUDGET is used up.  In the last case, the runner queues
 * the next runner if events are left.  With DAT_UPCALL_NORIFY, a runner also ends after a call,
 * unless the consumer has emptied the EVD and another notification event has come.
 *
 * A runner whose upcalls must not sleep runs in softirq, and is queued on the current CPU.  The
 * code that takes completions calls kdat_upcall_hold() first and kdat_upcall_release() last.
 * kdat_upcall_release() runs the queued runners with no lock of this module held.  At other times,
 * for example when a consumer's post queues a runner, a tasklet runs the runner.  So a consumer is
 * never called from inside a call of its own.  While such a runner runs, upcall_cpu.held is not 0,
 * so upcalls do not nest.
 *
 * A runner whose upcalls may sleep is the work item of its EVD.
 */
#include <linux/interrupt.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "core/event/evd.h"
#include "core/event/ring.h"
#include "kdapl/kdapl.h"

#define UPCALL_BUDGET	64	/* maximum number of upcalls of one runner */
#define UPCALL_CPU	128	/* after this many upcalls, runners wait for other softirqs */

/**
 * struct upcall_cpu - queued runners of a CPU
 * @lock: lock of @list; no other lock is taken inside
 * @list: queued runners, linked by struct dat_upcall's @node
 * @first: queued runner that runs before the runners in @list, or NULL.  If @held is not 0 and no
 *	other runner is queued, a runner is stored here, because that needs no lock.  NULL while
 *	@held is 0; written with softirqs disabled.
 * @held: number of functions on this CPU that hold the runners; the outermost of these functions
 *	runs @first and @list, or leaves some of them to @tasklet, before it ends; written with
 *	softirqs disabled
 * @event: event of the running upcall in softirq; one per CPU, because such upcalls do not nest
 * @tasklet: tasklet that runs @list if no function that is counted in @held does
 */
struct upcall_cpu {
	spinlock_t		lock;		/* protects list */
	struct list_head	list;
	struct dat_upcall	*first;
	u32			held;
	DAT_EVENT		event;
	struct tasklet_struct	tasklet;
};

static DEFINE_PER_CPU(struct upcall_cpu, upcall_cpus);
static struct workqueue_struct *upcall_wq;

static struct dat_upcall *upcall_of(const struct dat_evd *evd)
{
	return &kdat_evd_of(evd)->upcall;
}

static u32 upcall_limit(const struct dat_upcall *u)
{
	return u->policy == DAT_UPCALL_NORIFY ? 1 : u->policy;
}

static void upcall_queue(struct dat_upcall *u)
{
	struct upcall_cpu *c = this_cpu_ptr(&upcall_cpus);

	lockdep_assert_held(&u->evd->lock);
	u->queued = true;
	if (u->process) {
		queue_work(upcall_wq, &u->work);
		return;
	}
	if (likely(c->held && !c->first && list_empty(&c->list))) {
		c->first = u;
		return;
	}
	spin_lock(&c->lock);
	list_add_tail(&u->node, &c->list);
	spin_unlock(&c->lock);
	if (!c->held)
		tasklet_schedule(&c->tasklet);
}

/* Queues a runner for a notification event, if one is needed and allowed.  evd->lock is held. */
void kdat_upcall_wake(struct dat_evd *evd)
{
	struct dat_upcall *u = upcall_of(evd);

	lockdep_assert_held(&evd->lock);
	if (evd->dead)
		return;
	/* Set the flag under any policy, because the policy may change before upcall_over(). */
	u->again = true;
	if (u->queued || u->ending)
		return;
	if (u->policy == DAT_UPCALL_NORIFY && (u->running || !u->armed))
		return;
	if (u->running < upcall_limit(u))
		upcall_queue(u);
}

/* Re-arms the DAT_UPCALL_NORIFY upcall after an empty dequeue.  evd->lock is held. */
void kdat_upcall_drained(struct dat_evd *evd)
{
	lockdep_assert_held(&evd->lock);

	upcall_of(evd)->armed = true;
}

/* Takes evd->lock.  A runner in process context also disables softirqs. */
static __always_inline void upcall_lock(struct dat_evd *evd, bool process)
{
	if (process)
		spin_lock_bh(&evd->lock);
	else
		spin_lock(&evd->lock);
}

static __always_inline void upcall_unlock(struct dat_evd *evd, bool process)
{
	if (process)
		spin_unlock_bh(&evd->lock);
	else
		spin_unlock(&evd->lock);
}

/* Returns true if an event is queued and the running runner may make an upcall. */
static bool upcall_wanted(const struct dat_upcall *u, const struct dat_evd *evd)
{
	lockdep_assert_held(&evd->lock);
	return kdat_evring_count(&evd->ring) && !evd->dead && !u->ending &&
	       u->running <= upcall_limit(u);
}

/* Returns true if a DAT_UPCALL_NORIFY runner must end.  Re-arms the upcall if the ring is empty. */
static bool upcall_over(struct dat_upcall *u)
{
	lockdep_assert_held(&u->evd->lock);

	/*
	 * If the policy has changed during the upcall, this runner must go on if a notification
	 * event came meanwhile: kdat_upcall_wake() may have left the event to this runner.
	 */
	if (u->policy != DAT_UPCALL_NORIFY)
		return !u->again;
	if (!kdat_evring_count(&u->evd->ring))
		u->armed = true;
	return !(u->armed && u->again);
}

/* Makes a DAT_UPCALL_NORIFY upcall; the events stay queued.  Returns true if the runner goes on. */
static noinline bool upcall_notify(struct dat_upcall *u, bool process)
	__must_hold(&u->evd->lock)
{
	DAT_UPCALL_OBJECT object = u->object;
	struct dat_evd *evd = u->evd;

	if (!u->armed)
		return false;
	u->armed = false;
	u->again = false;
	upcall_unlock(evd, process);
	object.upcall_func(object.instance_data, NULL, DAT_TRUE);
	upcall_lock(evd, process);
	return !upcall_over(u);
}

/*
 * Sets the members of @event that are the same for all completions of @evd.  The caller has zeroed
 * @event, or has last used @event for a DTO completion.
 */
static __always_inline void upcall_begin_dto(const struct dat_evd *evd, DAT_EVENT *event)
{
	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = kdat_handle(&evd->obj);
}

/* Makes an upcall with the oldest event, which is not a DTO completion, then resets @event. */
static noinline void upcall_other(struct dat_upcall *u, DAT_EVENT *event, bool process)
	__must_hold(&u->evd->lock)
{
	DAT_UPCALL_OBJECT object = u->object;
	struct dat_evd *evd = u->evd;
	struct dat_eqe eqe;
	bool more;

	kdat_evring_pop(&evd->ring, &eqe);
	more = kdat_evring_count(&evd->ring);
	upcall_unlock(evd, process);
	kdat_event(evd, &eqe, event);
	object.upcall_func(object.instance_data, event, more ? DAT_TRUE : DAT_FALSE);
	memset(event, 0, sizeof(*event));
	upcall_begin_dto(evd, event);
	upcall_lock(evd, process);
}

/* Makes one upcall.  @event: see upcall_begin_dto().  Returns true if the runner goes on. */
static __always_inline bool upcall_call(struct dat_upcall *u, struct dat_evd *evd,
					DAT_EVENT *event, bool process)
{
	struct dat_evring *r = &evd->ring;
	const struct dat_eqe *eqe;
	DAT_UPCALL_FUNC func;
	DAT_PVOID data;
	bool more;

	if (unlikely(u->policy == DAT_UPCALL_NORIFY))
		return upcall_notify(u, process);
	eqe = dat_evring_at(r, r->head);
	if (unlikely(eqe->type != DAT_EV_DTO)) {
		upcall_other(u, event, process);
		return true;
	}
	/* Convert the completion directly from the ring entry, without a copy. */
	kdat_event_dto(eqe, &event->event_data.dto_completion_event_data);
	more = r->tail != ++r->head;
	func = u->object.upcall_func;
	data = u->object.instance_data;
	upcall_unlock(evd, process);
	func(data, event, more ? DAT_TRUE : DAT_FALSE);
	upcall_lock(evd, process);
	return true;
}

/* Returns true if another runner must be queued for events that are left.  evd->lock is held. */
static bool upcall_left(const struct dat_upcall *u)
{
	struct dat_evd *evd = u->evd;

	lockdep_assert_held(&evd->lock);
	if (evd->dead || u->ending || u->queued || u->running > upcall_limit(u))
		return false;
	return kdat_evring_count(&evd->ring) &&
	       (u->policy != DAT_UPCALL_NORIFY || (u->armed && u->again));
}

/* Runs a queued runner.  Returns the number of upcalls, but at least 1. */
static __always_inline int upcall_run(struct dat_upcall *u, DAT_EVENT *event, bool process)
{
	struct dat_evd *evd = u->evd;
	int budget = UPCALL_BUDGET;
	bool ending;

	upcall_lock(evd, process);
	u->queued = false;
	u->running++;
	if (process)
		u->task = current;
	upcall_begin_dto(evd, event);
	while (budget && upcall_wanted(u, evd)) {
		if (!upcall_call(u, evd, event, process))
			break;
		budget--;
	}
	if (!budget && upcall_left(u))
		upcall_queue(u);
	u->running--;
	if (process)
		u->task = NULL;
	ending = u->ending;
	upcall_unlock(evd, process);
	/* @u may be freed, because kdat_upcall_end() may have returned: use only the address. */
	if (unlikely(ending))
		wake_up_var(u);
	return max(UPCALL_BUDGET - budget, 1);
}

/*
 * Removes the next runner from here->first or c->list.  @here: current CPU.  @c: @here, or an
 * offline CPU, whose runners are all in the list.
 */
static struct dat_upcall *upcall_pop(struct upcall_cpu *here, struct upcall_cpu *c)
{
	struct dat_upcall *u = here->first;

	here->first = NULL;
	if (u || list_empty(&c->list))
		return u;
	spin_lock(&c->lock);
	u = list_first_entry_or_null(&c->list, struct dat_upcall, node);
	if (u)
		list_del(&u->node);
	spin_unlock(&c->lock);
	return u;
}

/*
 * Runs the runners of @c, the current CPU or one that went offline.  After UPCALL_CPU upcalls, the
 * tasklet runs the rest.  Context: softirq; the caller holds no lock that a consumer's call takes.
 */
static void upcall_run_cpu(struct upcall_cpu *c)
{
	struct upcall_cpu *here = this_cpu_ptr(&upcall_cpus);
	struct dat_upcall *u;
	int n = 0;

	here->held++;
	while (n < UPCALL_CPU) {
		u = upcall_pop(here, c);
		if (!u)
			break;
		n += upcall_run(u, &here->event, false);
	}
	/* If UPCALL_CPU is used up, put the first runner at the head of the list for later. */
	if (here->first) {
		spin_lock(&here->lock);
		list_add(&here->first->node, &here->list);
		spin_unlock(&here->lock);
		here->first = NULL;
	}
	here->held--;
	if (!list_empty(&c->list))
		tasklet_schedule(&c->tasklet);
	/* If @c is offline, its tasklet does not run the runners that were queued on this CPU. */
	if (here != c && !here->held && !list_empty(&here->list))
		tasklet_schedule(&here->tasklet);
}

static void upcall_tasklet(struct tasklet_struct *t)
{
	upcall_run_cpu(container_of(t, struct upcall_cpu, tasklet));
}

static void upcall_work(struct work_struct *work)
{
	DAT_EVENT event = {};

	upcall_run(container_of(work, struct dat_upcall, work), &event, true);
}

/*
 * Makes new runners of this CPU wait for kdat_upcall_release(), which the caller must call on the
 * same CPU.  Context: softirq.
 */
void kdat_upcall_hold(void)
{
	this_cpu_inc(upcall_cpus.held);
}

/*
 * Ends kdat_upcall_hold(), and runs the waiting runners if no other function on this CPU holds the
 * runners.  Context: softirq; the caller holds no lock that a consumer's call takes.
 */
void kdat_upcall_release(void)
{
	struct upcall_cpu *c = this_cpu_ptr(&upcall_cpus);

	if (!--c->held && (c->first || !list_empty(&c->list)))
		upcall_run_cpu(c);
}

/*
 * Initializes @u.  The caller has set the members policy and object, and has zeroed all other
 * members.  @process: upcalls may sleep.
 */
void kdat_upcall_setup(struct dat_upcall *u, bool process)
{
	u->process = process;
	u->armed = true;
	INIT_WORK(&u->work, upcall_work);
}

/*
 * Changes the policy and the callback, and re-arms the upcall.  @object: new callback, or NULL to
 * keep the old callback.  @now: true to make upcalls for events that are already queued.  Returns
 * false, and changes nothing, if @policy needs a callback and the callback has no function.
 * evd->lock is held.
 */
bool kdat_upcall_modify(struct dat_evd *evd, DAT_UPCALL_POLICY policy,
			const DAT_UPCALL_OBJECT *object, bool now)
{
	struct dat_upcall *u = upcall_of(evd);

	lockdep_assert_held(&evd->lock);
	if (!object)
		object = &u->object;
	if (policy != DAT_UPCALL_DISABLE && !object->upcall_func)
		return false;
	u->policy = policy;
	WRITE_ONCE(evd->spread, policy == DAT_UPCALL_MANY);
	u->object = *object;
	u->armed = true;
	if (now && kdat_evring_count(&evd->ring))
		kdat_upcall_wake(evd);
	return true;
}

static bool upcall_ended(struct dat_evd *evd)
{
	struct dat_upcall *u = upcall_of(evd);
	bool ended;

	spin_lock_bh(&evd->lock);
	ended = !u->running && !u->queued;
	spin_unlock_bh(&evd->lock);
	return ended;
}

/*
 * Sets the policy DAT_UPCALL_DISABLE, and waits for queued and running runners.  Context: may
 * sleep; not inside an upcall of @evd; the caller holds no lock that an upcall may take, such as
 * ia->sem.
 */
void kdat_upcall_end(struct dat_evd *evd)
{
	struct dat_upcall *u = upcall_of(evd);

	spin_lock_bh(&evd->lock);
	u->policy = DAT_UPCALL_DISABLE;
	u->again = false;
	u->ending++;
	spin_unlock_bh(&evd->lock);
	wait_var_event(u, upcall_ended(evd));
	spin_lock_bh(&evd->lock);
	u->ending--;
	/* Start the runner that became due during the wait, if upcalls were enabled again. */
	if (!u->ending && u->policy != DAT_UPCALL_DISABLE && u->again)
		kdat_upcall_wake(evd);
	spin_unlock_bh(&evd->lock);
}

/* Returns true if the calling thread is inside an upcall of @evd that may sleep. */
bool kdat_upcall_is_mine(struct dat_evd *evd)
{
	return READ_ONCE(upcall_of(evd)->task) == current;
}

int kdat_upcall_init(void)
{
	struct upcall_cpu *c;
	int cpu;

	/*
	 * A work item runs on one thread at a time, so this workqueue runs at most one runner of an
	 * EVD at a time.  The runners of different EVDs run in parallel.  Memory reclaim may wait
	 * for an upcall, so the workqueue has a rescuer.
	 */
	upcall_wq = alloc_workqueue("dat-upcall", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!upcall_wq)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(&upcall_cpus, cpu);
		spin_lock_init(&c->lock);
		INIT_LIST_HEAD(&c->list);
		tasklet_setup(&c->tasklet, upcall_tasklet);
	}
	return 0;
}

void kdat_upcall_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		tasklet_kill(&per_cpu_ptr(&upcall_cpus, cpu)->tasklet);
	destroy_workqueue(upcall_wq);
}
