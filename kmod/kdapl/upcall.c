// SPDX-License-Identifier: GPL-2.0
/*
 * Upcalls: who runs them, where, and who waits for their end.  The contract is in
 * <linux/kdat.h>.
 *
 * An event that notifies queues a runner of its EVD, unless as many as may run do.  A
 * runner takes events and calls the consumer, with no lock held, until the queue is empty
 * or its time is up; then it queues the next.
 *
 * Runners in softirq are queued on their CPU.  Whoever takes completions brackets that by
 * dat_upcall_hold() and dat_upcall_release(), which runs what has gathered: no detour on
 * the way of completions, and no lock of ours held.  What is queued otherwise, such as by
 * a post of the consumer itself, is left to a tasklet: nobody's own call calls him.
 * While one runs the CPU is held, so that upcalls do not nest.
 *
 * Nearly all completions find an EVD that is idle and empty.  Such a batch does not go into
 * the ring of the EVD but into the front of the CPU that takes it, from where upcalls take
 * one event after the other without a lock; see front.h.
 *
 * Runners that may sleep are a work of their EVD.
 */
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/wait_bit.h>

#include "kdapl/front.h"

#define UPCALL_BUDGET	64	/* upcalls of a runner, beside those for a front */
#define UPCALL_CPU	128	/* of a CPU's runners, before others have their turn */

DEFINE_PER_CPU(struct dat_upcall_cpu, dat_upcall_cpus);
static struct workqueue_struct *upcall_wq;

static struct dat_upcall *upcall_of(const struct dat_evd *evd)
{
	return &kdat_evd_of(evd)->upcall;
}

static u32 upcall_limit(const struct dat_upcall *u)
{
	return u->policy == DAT_UPCALL_NORIFY ? 1 : u->policy;
}

/* What is left of its front comes into the ring, which is empty. */
static noinline void upcall_empty_front(struct dat_upcall *u)
{
	struct dat_evring *front = u->front;
	u32 next = atomic_xchg(&u->next, 0);

	/* The runner was faster. */
	if (!next)
		return;
	u->running++;
	while (next != front->tail)
		dat_kevring_push(&u->evd->ring, dat_kevring_entry(front, next++));
}

static __always_inline void upcall_gather(struct dat_upcall *u)
{
	/* Whoever finds none may free the EVD next. */
	if (unlikely(atomic_read_acquire(&u->next)))
		upcall_empty_front(u);
}

/**
 * dat_upcall_gather() - have all that is queued in the ring
 * @evd: of a kernel consumer
 *
 * Context: evd->lock held; the ring is true as long as it is.
 */
void dat_upcall_gather(struct dat_evd *evd)
{
	lockdep_assert_held(&evd->lock);

	upcall_gather(upcall_of(evd));
}

/* A batch that is not the first since the CPU was held, or an EVD that is busy. */
struct dat_evring *dat_upcall_ring_any(struct dat_evd *evd)
{
	struct dat_upcall_cpu *c = this_cpu_ptr(&dat_upcall_cpus);
	struct dat_upcall *u = upcall_of(evd);

	lockdep_assert_held(&evd->lock);
	if (c->owner == u && atomic_read(&u->next))
		return &c->front;
	dat_upcall_gather(evd);
	return &evd->ring;
}

/* For who looks at the list, or for a work. */
static noinline void upcall_queue_later(struct dat_upcall *u)
{
	struct dat_upcall_cpu *c;

	if (u->process) {
		queue_work(upcall_wq, &u->work);
		return;
	}
	c = this_cpu_ptr(&dat_upcall_cpus);
	spin_lock(&c->lock);
	list_add_tail(&u->node, &c->list);
	spin_unlock(&c->lock);
	if (!c->held)
		tasklet_schedule(&c->tasklet);
}

static void upcall_queue(struct dat_upcall *u)
{
	struct dat_upcall_cpu *c = this_cpu_ptr(&dat_upcall_cpus);

	lockdep_assert_held(&u->evd->lock);
	u->queued = true;
	if (!u->process && c->held && !c->next && list_empty(&c->list))
		c->next = u;
	else
		upcall_queue_later(u);
}

/**
 * dat_upcall_wake() - an event that notifies was queued in the ring
 * @evd: of a kernel consumer
 *
 * Context: evd->lock held.
 */
void dat_upcall_wake(struct dat_evd *evd)
{
	struct dat_upcall *u = upcall_of(evd);

	lockdep_assert_held(&evd->lock);
	if (evd->dead)
		return;
	/*
	 * For the runner that is just notifying, whatever the policy has become meanwhile, and
	 * for dat_upcall_end().
	 */
	u->again = true;
	if (u->queued || u->ending)
		return;
	if (u->policy == DAT_UPCALL_NORIFY && (u->running || !u->armed))
		return;
	if (u->running < upcall_limit(u))
		upcall_queue(u);
}

/**
 * dat_upcall_drained() - the consumer has found the queue empty
 * @evd: of a kernel consumer
 *
 * Context: evd->lock held.
 */
void dat_upcall_drained(struct dat_evd *evd)
{
	lockdep_assert_held(&evd->lock);

	upcall_of(evd)->armed = true;
}

/* Where upcalls may sleep softirqs are enabled. */
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

/* To one that runs, or is about to. */
static bool upcall_allowed(const struct dat_upcall *u, const struct dat_evd *evd)
{
	return !evd->dead && !u->ending && max(u->running, 1U) <= upcall_limit(u);
}

/* Of an EVD that is given up as it is made @u does not know it yet. */
static noinline void upcall_settle(struct dat_upcall *u, const struct dat_evd *evd)
{
	lockdep_assert_held(&evd->lock);
	upcall_gather(u);
	u->plain = upcall_allowed(u, evd) && u->policy != DAT_UPCALL_NORIFY;
	u->here = u->plain && !u->process;
}

/**
 * dat_upcall_settle() - find out whether anything is in the way of upcalls
 * @evd: of a kernel consumer; what that depends on has changed
 *
 * Context: evd->lock held.
 */
void dat_upcall_settle(struct dat_evd *evd)
{
	upcall_settle(upcall_of(evd), evd);
}

/* One more or less runs; the first and only one changes nothing. */
static __always_inline void upcall_count(struct dat_upcall *u, const struct dat_evd *evd,
					 int diff)
{
	u32 running = u->running;

	u->running += diff;
	if (unlikely(diff > 0 ? running : running > 1))
		upcall_settle(u, evd);
}

/* False: there is nothing to call for. */
static __always_inline bool upcall_wanted(const struct dat_upcall *u, const struct dat_evd *evd)
{
	lockdep_assert_held(&evd->lock);
	return (likely(u->plain) || upcall_allowed(u, evd)) && dat_kevring_count(&evd->ring);
}

/* A notification that was heeded makes room for the next. */
static bool upcall_over(struct dat_upcall *u)
{
	lockdep_assert_held(&u->evd->lock);

	/* It was counted as one that takes events: who woke it relied on that. */
	if (u->policy != DAT_UPCALL_NORIFY)
		return !u->again;
	if (!dat_kevring_count(&u->evd->ring))
		u->armed = true;
	return !(u->armed && u->again);
}

/* Tell that there are events, which stay.  Return: go on. */
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

/* An upcall with the oldest event, of any kind. */
static noinline void upcall_one_any(struct dat_upcall *u, DAT_EVENT *event, bool process)
	__must_hold(&u->evd->lock)
{
	DAT_UPCALL_OBJECT object = u->object;
	struct dat_evd *evd = u->evd;
	struct dat_eqe eqe;
	bool more;

	dat_kevring_pop(&evd->ring, &eqe);
	more = dat_kevring_count(&evd->ring);
	upcall_unlock(evd, process);
	kdat_event(evd, &eqe, event);
	object.upcall_func(object.instance_data, event, more ? DAT_TRUE : DAT_FALSE);
	memset(event, 0, sizeof(*event));
	dat_upcall_begin_dto(evd, event);
	upcall_lock(evd, process);
}

/* One upcall; @event has been begun for completions.  Return: go on. */
static __always_inline bool upcall_one(struct dat_upcall *u, struct dat_evd *evd,
				       DAT_EVENT *event, bool process)
{
	struct dat_evring *r = &evd->ring;
	const struct dat_eqe *eqe;
	DAT_UPCALL_FUNC func;
	DAT_PVOID data;
	bool more;

	if (unlikely(!u->plain && u->policy == DAT_UPCALL_NORIFY))
		return upcall_notify(u, process);
	eqe = dat_kevring_entry(r, r->head);
	if (unlikely(eqe->type != DAT_EV_DTO)) {
		upcall_one_any(u, event, process);
		return true;
	}
	/* Most are completions, which are translated where they lie. */
	kdat_event_dto(eqe, &event->event_data.dto_completion_event_data);
	more = r->tail != ++r->head;
	func = u->object.upcall_func;
	data = u->object.instance_data;
	upcall_unlock(evd, process);
	func(data, event, more ? DAT_TRUE : DAT_FALSE);
	upcall_lock(evd, process);
	return true;
}

/* There is work left that this runner did not get to. */
static bool upcall_left(const struct dat_upcall *u)
{
	struct dat_evd *evd = u->evd;

	if (evd->dead || u->ending || u->queued || u->running > upcall_limit(u))
		return false;
	return dat_kevring_count(&evd->ring) &&
	       (u->policy != DAT_UPCALL_NORIFY || (u->armed && u->again));
}

/* A runner that has been counted, with the lock, which it drops.  Return: as upcall_run(). */
static __always_inline int upcall_go_on(struct dat_upcall *u, DAT_EVENT *event, bool process)
	__releases(&u->evd->lock)
{
	struct dat_evd *evd = u->evd;
	int budget = UPCALL_BUDGET;
	bool ending;

	while (budget && upcall_wanted(u, evd)) {
		if (!upcall_one(u, evd, event, process))
			break;
		budget--;
	}
	if (!budget && upcall_left(u))
		upcall_queue(u);
	upcall_count(u, evd, -1);
	if (process)
		u->task = NULL;
	ending = u->ending;
	upcall_unlock(evd, process);
	/* Who waits may have freed it by now: this looks at the address alone. */
	if (unlikely(ending))
		wake_up_var(u);
	return max(UPCALL_BUDGET - budget, 1);
}

/* Returns how many upcalls it made, or 1. */
static int upcall_run(struct dat_upcall *u, DAT_EVENT *event, bool process)
{
	struct dat_evd *evd = u->evd;

	upcall_lock(evd, process);
	u->queued = false;
	upcall_count(u, evd, 1);
	if (process)
		u->task = current;
	dat_upcall_begin_dto(evd, event);
	return upcall_go_on(u, event, process);
}

/**
 * dat_upcall_run_rest() - go on with what was in a front
 * @u: gathered, by whoever has counted this runner
 * @event: begun for completions
 *
 * Context: softirq.
 */
void dat_upcall_run_rest(struct dat_upcall *u, DAT_EVENT *event)
{
	spin_lock(&u->evd->lock);
	upcall_go_on(u, event, false);
}

/**
 * dat_upcall_has_more() - is something queued behind the event that a runner has?
 * @evd: gathered
 *
 * Context: softirq.
 */
bool dat_upcall_has_more(struct dat_evd *evd)
{
	bool more;

	spin_lock(&evd->lock);
	more = dat_kevring_count(&evd->ring);
	spin_unlock(&evd->lock);
	return more;
}

static struct dat_upcall *upcall_pop(struct dat_upcall_cpu *c)
{
	struct dat_upcall *u;

	if (list_empty(&c->list))
		return NULL;
	spin_lock(&c->lock);
	u = list_first_entry_or_null(&c->list, struct dat_upcall, node);
	if (u)
		list_del(&u->node);
	spin_unlock(&c->lock);
	return u;
}

/* Of this CPU, @here, or in the list of @c. */
static struct dat_upcall *upcall_next(struct dat_upcall_cpu *here, struct dat_upcall_cpu *c)
{
	struct dat_upcall *u = here->next;

	if (!u)
		return upcall_pop(c);
	here->next = NULL;
	return u;
}

/* The time of @here is up before its next runner has come. */
static void upcall_put_off(struct dat_upcall_cpu *here)
{
	if (!here->next)
		return;
	spin_lock(&here->lock);
	list_add(&here->next->node, &here->list);
	spin_unlock(&here->lock);
	here->next = NULL;
}

/* Runners that came while this CPU was held. */
static void upcall_look(void)
{
	struct dat_upcall_cpu *c = this_cpu_ptr(&dat_upcall_cpus);

	if (!c->held && !list_empty(&c->list))
		tasklet_schedule(&c->tasklet);
}

/**
 * dat_upcall_run_cpu() - run what waits
 * @c: of this CPU, but for what a CPU that went has left
 *
 * Context: softirq; no lock held that a consumer's call takes.
 */
void dat_upcall_run_cpu(struct dat_upcall_cpu *c)
{
	struct dat_upcall_cpu *here = this_cpu_ptr(&dat_upcall_cpus);
	struct dat_upcall *u;
	int n = 0;

	here->held += 2;
	while (n < UPCALL_CPU && (u = upcall_next(here, c)))
		n += upcall_run(u, &here->event, false);
	here->held -= 2;
	upcall_put_off(here);
	if (!list_empty(&c->list))
		tasklet_schedule(&c->tasklet);
	/* When a CPU goes its tasklet moves to another, whose own list was held back. */
	if (here != c)
		upcall_look();
}

static void upcall_tasklet(struct tasklet_struct *t)
{
	dat_upcall_run_cpu(container_of(t, struct dat_upcall_cpu, tasklet));
}

static void upcall_work(struct work_struct *work)
{
	DAT_EVENT event = {};

	upcall_run(container_of(work, struct dat_upcall, work), &event, true);
}

/**
 * dat_upcall_setup() - prepare the upcalls of an EVD to be made
 * @u: zeros but for the policy and the object
 * @process: they may sleep
 */
void dat_upcall_setup(struct dat_upcall *u, bool process)
{
	u->process = process;
	u->armed = true;
	u->plain = upcall_limit(u) && u->policy != DAT_UPCALL_NORIFY;
	u->here = u->plain && !process;
	INIT_WORK(&u->work, upcall_work);
}

/**
 * dat_upcall_modify() - change what is called
 * @evd: of a kernel consumer
 * @policy: any but TEARDOWN
 * @object: or NULL: the same
 * @now: also for events that are queued
 *
 * Context: any but hard interrupt.  Return: false: there would be nothing to call.
 */
bool dat_upcall_modify(struct dat_evd *evd, DAT_UPCALL_POLICY policy,
		       const DAT_UPCALL_OBJECT *object, bool now)
{
	struct dat_upcall *u = upcall_of(evd);

	lockdep_assert_held(&evd->lock);
	if (!object)
		object = &u->object;
	if (policy != DAT_UPCALL_DISABLE && !object->upcall_func)
		return false;
	u->policy = policy;
	u->object = *object;
	u->armed = true;
	upcall_settle(u, evd);
	if (now && dat_kevring_count(&evd->ring))
		dat_upcall_wake(evd);
	return true;
}

/* After upcall_settle() with no upcalls allowed: there is no front, nor will be. */
static bool upcall_ended(struct dat_evd *evd)
{
	struct dat_upcall *u = upcall_of(evd);
	bool ended;

	spin_lock_bh(&evd->lock);
	ended = !u->running && !u->queued;
	spin_unlock_bh(&evd->lock);
	return ended;
}

/**
 * dat_upcall_end() - let no upcall begin, and wait for those that run
 * @evd: of a kernel consumer, reference held
 *
 * Context: may sleep; not in one of them; no lock that they may want, ia->sem among them.
 */
void dat_upcall_end(struct dat_evd *evd)
{
	struct dat_upcall *u = upcall_of(evd);

	spin_lock_bh(&evd->lock);
	u->policy = DAT_UPCALL_DISABLE;
	u->again = false;
	u->ending++;
	upcall_settle(u, evd);
	spin_unlock_bh(&evd->lock);
	wait_var_event(u, upcall_ended(evd));
	spin_lock_bh(&evd->lock);
	/* A modification meanwhile comes after this. */
	u->ending--;
	upcall_settle(u, evd);
	if (!u->ending && u->policy != DAT_UPCALL_DISABLE && u->again)
		dat_upcall_wake(evd);
	spin_unlock_bh(&evd->lock);
}

/**
 * dat_upcall_is_mine() - true if the caller is an upcall of @evd that may sleep
 * @evd: of a kernel consumer
 */
bool dat_upcall_is_mine(struct dat_evd *evd)
{
	return READ_ONCE(upcall_of(evd)->task) == current;
}

static void upcall_free_fronts(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		kfree(per_cpu_ptr(&dat_upcall_cpus, cpu)->front.events);
}

static int upcall_setup_cpu(int cpu)
{
	struct dat_upcall_cpu *c = per_cpu_ptr(&dat_upcall_cpus, cpu);
	struct dat_evring *front = &c->front;

	spin_lock_init(&c->lock);
	INIT_LIST_HEAD(&c->list);
	tasklet_setup(&c->tasklet, upcall_tasklet);
	front->mask = DAT_FRONT_MAX - 1;
	front->events = kcalloc_node(DAT_FRONT_MAX, sizeof(*front->events), GFP_KERNEL,
				     cpu_to_node(cpu));
	return front->events ? 0 : -ENOMEM;
}

int dat_upcall_init(void)
{
	int cpu, ret;

	/* One at a time per EVD, EVDs side by side; who reclaims memory may wait for them. */
	upcall_wq = alloc_workqueue("dat-upcall", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!upcall_wq)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		ret = upcall_setup_cpu(cpu);
		if (ret)
			goto err_free;
	}
	return 0;

err_free:
	upcall_free_fronts();
	destroy_workqueue(upcall_wq);
	return ret;
}

void dat_upcall_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		tasklet_kill(&per_cpu_ptr(&dat_upcall_cpus, cpu)->tasklet);
	upcall_free_fronts();
	destroy_workqueue(upcall_wq);
}
