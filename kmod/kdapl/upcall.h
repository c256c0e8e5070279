/* SPDX-License-Identifier: GPL-2.0 */
/* Upcalls of EVDs; see upcall.c. */
#ifndef _DAT_UPCALL_H
#define _DAT_UPCALL_H

#include <linux/kdat_types.h>
#include <linux/list.h>
#include <linux/workqueue.h>

struct dat_evd;

/**
 * struct dat_upcall - upcalls of an EVD
 * @policy: DISABLE, SINGLE_INSTANCE, NORIFY or MANY
 * @object: callback of the consumer
 * @process: flag: upcalls may sleep; constant
 * @armed: flag for NORIFY: the next event that notifies makes an upcall
 * @again: flag for NORIFY: an event that notifies was queued after the last upcall began
 * @running: number of runners that have begun and not ended
 * @ending: number of threads that wait for the end of all upcalls; no runner begins until it is 0
 * @queued: flag: a runner is queued
 * @node: entry in the list of a CPU while @queued; lock of that list
 * @work: work of the runner, if @process
 * @task: task that runs @work, or NULL
 * @evd: EVD of the upcalls
 *
 * evd->lock protects all members except @node.
 */
struct dat_upcall {
	DAT_UPCALL_POLICY	policy;
	DAT_UPCALL_OBJECT	object;
	bool			process;
	bool			armed;
	bool			again;
	u32			running;
	u32			ending;
	bool			queued;
	struct list_head	node;
	struct work_struct	work;
	struct task_struct	*task;
	struct dat_evd		*evd;
};

int dat_upcall_init(void);
void dat_upcall_exit(void);
void dat_upcall_hold(void);
void dat_upcall_release(void);
void dat_upcall_wake(struct dat_evd *evd);
void dat_upcall_setup(struct dat_upcall *u, bool process);
void dat_upcall_drained(struct dat_evd *evd);
bool dat_upcall_modify(struct dat_evd *evd, DAT_UPCALL_POLICY policy,
		       const DAT_UPCALL_OBJECT *object, bool now);
void dat_upcall_end(struct dat_evd *evd);
bool dat_upcall_is_mine(struct dat_evd *evd);

#endif /* _DAT_UPCALL_H */
