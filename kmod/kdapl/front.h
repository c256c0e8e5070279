/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where completions of a kernel consumer go while nothing is in the way: into the front of
 * the CPU that takes them, from where upcalls get one after the other without a lock.  It is
 * inlined into what takes completions, as direct.h is into what posts.
 *
 * Nearly all batches find an EVD that is idle and empty, which then has a front, as long as
 * u->next is not 0.  Its ring is empty meanwhile, and its one runner is not counted in
 * u->running.  A front is opened under the EVD's lock; the first event belongs to the runner
 * from then on.  The others, and the end, are had by whoever changes u->next from what it was:
 *
 * - the runner, without the lock, from the next event to the one after it, or from the end to
 *   0, whereupon it has done with all of the EVD;
 * - under the lock, to 0, who wants to look at the ring, or changes what becomes of events.  He
 *   moves what is left to the ring, and counts the runner, which finds out and goes on by the
 *   lock like any other.  No front is opened while it runs.
 *
 * Both are fully ordered if they change it; a runner that does not takes the lock.  Who finds 0
 * acquires: he sees all that the runner and its upcalls
 * have done, be it the next upcall or who frees the EVD.  Who took the rest from a runner does
 * so with the lock that the runner then waits for, before its CPU has another front: events are
 * not written over while they may be read.
 */
#ifndef _DAT_FRONT_H
#define _DAT_FRONT_H

#include <linux/interrupt.h>
#include <linux/percpu.h>

#include "kdapl/kdapl.h"

#define DAT_FRONT_MAX	64	/* events; a power of two */

/**
 * struct dat_upcall_cpu - runners of a CPU
 * @lock: @list; leaf
 * @list: of struct dat_upcall
 * @held: somebody is going to look at @owner, @next and @list; one more while there is an @owner
 *	or while upcalls run; only by this CPU, with softirqs disabled, as are
 * @next: before those in @list, or NULL; only while @held
 * @owner: whose events are in @front, until its runner begins; or NULL
 * @front: oldest events of an EVD, from 0; written under the lock of that
 * @object: what to call for them
 * @event: that is passed to upcalls here, which do not nest
 * @tasklet: looks at @list if nobody else is going to
 */
struct dat_upcall_cpu {
	spinlock_t		lock;		/* list */
	struct list_head	list;
	u32			held;
	struct dat_upcall	*next;
	struct dat_upcall	*owner;
	struct dat_evring	front;
	DAT_UPCALL_OBJECT	object;
	DAT_EVENT		event;
	struct tasklet_struct	tasklet;
};

DECLARE_PER_CPU(struct dat_upcall_cpu, dat_upcall_cpus);

struct dat_evring *dat_upcall_ring_any(struct dat_evd *evd);
bool dat_upcall_has_more(struct dat_evd *evd);
void dat_upcall_run_rest(struct dat_upcall *u, DAT_EVENT *event);
void dat_upcall_run_cpu(struct dat_upcall_cpu *c);

/* What all completions of @evd say; the rest are zeros. */
static __always_inline void dat_upcall_begin_dto(const struct dat_evd *evd, DAT_EVENT *event)
{
	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = kdat_handle(&evd->obj);
}

/**
 * dat_upcall_hold() - what is queued from now on will be run by dat_upcall_release()
 *
 * Context: softirq, with the same CPU until then.
 */
static __always_inline void dat_upcall_hold(void)
{
	this_cpu_inc(dat_upcall_cpus.held);
}

/* With room for what the ring would have room for. */
static __always_inline struct dat_evring *dat_front_open(struct dat_upcall_cpu *c,
							 struct dat_upcall *u,
							 const struct dat_evd *evd)
{
	struct dat_evring *front = &c->front;

	c->held = 2;
	c->owner = u;
	c->object = u->object;
	front->entries = min_t(u32, evd->ring.entries, DAT_FRONT_MAX);
	front->tail = 0;
	u->front = front;
	atomic_set(&u->next, 1);
	return front;
}

/**
 * dat_upcall_ring() - where to write completions that notify
 * @evd: of a kernel consumer
 *
 * Context: evd->lock held.  Return: its ring, for which dat_upcall_wake() is to be called when
 * they are there; or a front, of which dat_upcall_release() knows, and which has room when it
 * is new.
 */
static __always_inline struct dat_evring *dat_upcall_ring(struct dat_evd *evd)
{
	struct dat_upcall_cpu *c = this_cpu_ptr(&dat_upcall_cpus);
	struct dat_upcall *u = &kdat_evd_of(evd)->upcall;

	lockdep_assert_held(&evd->lock);
	if (likely(c->held == 1 && u->here && !u->running && !u->queued &&
		   !atomic_read_acquire(&u->next) && !dat_kevring_count(&evd->ring)))
		return dat_front_open(c, u, evd);
	return dat_upcall_ring_any(evd);
}

/* Upcalls for all of the front of @c, with no lock. */
static __always_inline void dat_front_run(struct dat_upcall_cpu *c, struct dat_upcall *u)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &c->event.event_data.dto_completion_event_data;
	const struct dat_eqe *eqe = c->front.events;
	DAT_UPCALL_FUNC func = c->object.upcall_func;
	DAT_PVOID data = c->object.instance_data;
	int at = 1, end = c->front.tail, next;
	bool more = at != end;

	/* Others may have come behind them into the ring, and those behind the first as well. */
	if (unlikely(!atomic_read(&u->next)))
		more = dat_upcall_has_more(u->evd);
	dat_upcall_begin_dto(u->evd, &c->event);
	dto->status = DAT_DTO_SUCCESS;
	do {
		kdat_event_success(eqe++, dto);
		func(data, &c->event, more ? DAT_TRUE : DAT_FALSE);
		next = at == end ? 0 : at + 1;
		if (unlikely(!atomic_try_cmpxchg(&u->next, &at, next))) {
			dat_upcall_run_rest(u, &c->event);
			break;
		}
		at = next;
		more = at != end;
	} while (next);
}

/**
 * dat_upcall_release() - run what was queued since dat_upcall_hold()
 *
 * Context: softirq; no lock held that a consumer's call takes.
 */
static __always_inline void dat_upcall_release(void)
{
	struct dat_upcall_cpu *c = this_cpu_ptr(&dat_upcall_cpus);
	struct dat_upcall *u = c->owner;

	if (likely(u && c->held == 2)) {
		c->owner = NULL;
		dat_front_run(c, u);
		c->held--;
	}
	if (unlikely(!--c->held && (c->next || !list_empty(&c->list))))
		dat_upcall_run_cpu(c);
}

#endif /* _DAT_FRONT_H */
