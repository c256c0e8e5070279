/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Upcalls of EVDs; see upcall.c. */
#ifndef _DAT_UPCALL_H
#define _DAT_UPCALL_H

#include <linux/kdat_types.h>
#include <linux/list.h>
#include <linux/workqueue.h>

struct dat_evd;

/**
 * struct dat_upcall - upcall of an EVD, and state of its runners; upcall.c explains runners
 * @policy: DAT_UPCALL_DISABLE, SINGLE_INSTANCE, NORIFY or MANY
 * @object: callback function of the consumer, and the argument of the function
 * @process: flag: upcalls may sleep; constant
 * @armed: flag, used by DAT_UPCALL_NORIFY: the next notification event starts an upcall
 * @again: flag: a notification event was queued after the last DAT_UPCALL_NORIFY upcall began; set
 *	under every policy
 * @running: number of runners that are running
 * @ending: number of threads in kdat_upcall_end(); while not 0, no further runner is queued, and no
 *	upcall begins
 * @queued: flag: a runner is queued and has not started
 * @node: entry in upcall_cpu.list, if the runner is in that list; protected by upcall_cpu.lock
 * @work: work item that runs the runner, if @process
 * @task: task that runs @work; NULL if @work does not run; kdat_upcall_is_mine() reads @task
 *	without a lock
 * @evd: EVD of the upcall; constant
 *
 * evd->lock protects all other members.
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

int kdat_upcall_init(void);
void kdat_upcall_exit(void);
void kdat_upcall_hold(void);
void kdat_upcall_release(void);
void kdat_upcall_wake(struct dat_evd *evd);
void kdat_upcall_setup(struct dat_upcall *u, bool process);
void kdat_upcall_drained(struct dat_evd *evd);
bool kdat_upcall_modify(struct dat_evd *evd, DAT_UPCALL_POLICY policy,
			const DAT_UPCALL_OBJECT *object, bool now);
void kdat_upcall_end(struct dat_evd *evd);
bool kdat_upcall_is_mine(struct dat_evd *evd);

#endif /* _DAT_UPCALL_H */
