/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * The poller: a thread of the process that polls the queues of an open file for posted entries.
 * dat.ko and dat_rsm.ko use this header.
 */
#ifndef _DAT_POLLER_H
#define _DAT_POLLER_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/wait.h>

struct dat_poller;
struct seq_file;
struct task_struct;

/**
 * struct dat_poller_ops - operations on the queues of an open file
 * @look: process posted entries; return true if there were any
 * @watch: if @on is true, let processes post to the queues without kicks; if @on is false, process
 *	each queue once more, which makes the queue ask for kicks
 * @gone: return true if the device is gone
 *
 * Only the poller's thread calls @look and @watch.  The thread holds no locks then.
 */
struct dat_poller_ops {
	bool (*look)(struct dat_poller *p);
	void (*watch)(struct dat_poller *p, bool on);
	bool (*gone)(const struct dat_poller *p);
};

/**
 * struct dat_poller - the poller of an open file
 * @ops: operations on the queues; constant
 * @lock: lock of @task; no other lock is taken inside
 * @task: thread inside dat_poller_run(), or NULL
 * @wq: wait queue on which the parked thread sleeps
 * @parked: flag: the thread sleeps; set by the thread, cleared by a kick or by dat_poller_wake()
 * @idle_us: microseconds without a posted entry after which the thread parks; 0: the poller is
 *	disabled, so dat_poller_run() returns
 */
struct dat_poller {
	const struct dat_poller_ops	*ops;
	struct mutex			lock;		/* task */
	struct task_struct		*task;
	wait_queue_head_t		wq;
	bool				parked;
	u32				idle_us;
};

void dat_poller_init(struct dat_poller *p, const struct dat_poller_ops *ops);
int dat_poller_run(struct dat_poller *p);
void dat_poller_set(struct dat_poller *p, u32 idle_us);
void dat_poller_wake(struct dat_poller *p);
void dat_poller_unpark(struct dat_poller *p);
void dat_poller_show(struct seq_file *m, struct dat_poller *p, bool awake);

#endif /* _DAT_POLLER_H */
