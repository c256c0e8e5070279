/* SPDX-License-Identifier: GPL-2.0 */
/* A thread of the process that looks at what is posted; for both modules. */
#ifndef _DAT_POLLER_H
#define _DAT_POLLER_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/wait.h>

struct dat_poller;
struct seq_file;
struct task_struct;

/**
 * struct dat_poller_ops - the queues that a poller looks at
 * @look: take what was posted; true if there was something
 * @watch: @on: queues need no kick from now on.  Otherwise the poller goes: each queue is looked at
 *	once more, and asks for kicks
 * @gone: there is nothing left to look at
 *
 * Only the poller's thread calls @look and @watch, without locks.
 */
struct dat_poller_ops {
	bool (*look)(struct dat_poller *p);
	void (*watch)(struct dat_poller *p, bool on);
	bool (*gone)(const struct dat_poller *p);
};

/**
 * struct dat_poller - the poller of an open file
 * @ops: constant
 * @lock: @task; nothing is taken under it
 * @task: the thread inside dat_poller_run(), or NULL
 * @wq: where the thread is parked
 * @parked: the thread sleeps until somebody rings; set by the thread, cleared by anybody
 * @idle_us: microseconds without an entry after which the thread parks; 0: the thread ends
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
