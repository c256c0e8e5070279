/* SPDX-License-Identifier: GPL-2.0 */
/* Upcalls of EVDs: who is called, and what runs.  See upcall.c. */
#ifndef _DAT_UPCALL_H
#define _DAT_UPCALL_H

#include <linux/atomic.h>
#include <linux/kdat_types.h>
#include <linux/list.h>
#include <linux/workqueue.h>

struct dat_evd;
struct dat_evring;
struct dat_upcall_cpu;

/**
 * struct dat_upcall - of an EVD; under evd->lock, but for @next
 * @policy: DISABLE, SINGLE_INSTANCE, NORIFY or MANY
 * @object: what to call
 * @process: upcalls may sleep; constant
 * @armed: NORIFY: the next event that notifies is told of
 * @again: NORIFY: one has come while the upcall ran
 * @running: upcalls that run, or whose runner is between two; without that of a front
 * @ending: who wait for the end of all upcalls; until then none begins
 * @plain: those that run take events, and nothing is in the way of the next upcall if there is
 *	one; see dat_upcall_settle()
 * @here: @plain, and in softirq
 * @next: the first event in @front that nobody has taken, or its end; 0: there is no front.
 *	From 0 under evd->lock, else by atomic operations; see front.h
 * @front: of the CPU that has taken events last
 * @queued: a runner is about to come
 * @node: in the list of a CPU while @queued, unless it is the next of that CPU; that list's lock
 * @work: the runner, if @process
 * @task: that runs it, or NULL
 * @evd: that has it
 */
struct dat_upcall {
	DAT_UPCALL_POLICY	policy;
	DAT_UPCALL_OBJECT	object;
	bool			process;
	bool			armed;
	bool			again;
	u32			running;
	u32			ending;
	bool			plain;
	bool			here;
	atomic_t		next;
	struct dat_evring	*front;
	bool			queued;
	struct list_head	node;
	struct work_struct	work;
	struct task_struct	*task;
	struct dat_evd		*evd;
};

int dat_upcall_init(void);
void dat_upcall_exit(void);
void dat_upcall_setup(struct dat_upcall *u, bool process);
void dat_upcall_drained(struct dat_evd *evd);
bool dat_upcall_modify(struct dat_evd *evd, DAT_UPCALL_POLICY policy,
		       const DAT_UPCALL_OBJECT *object, bool now);
void dat_upcall_end(struct dat_evd *evd);
bool dat_upcall_is_mine(struct dat_evd *evd);

#endif /* _DAT_UPCALL_H */
