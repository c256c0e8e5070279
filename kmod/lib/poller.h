/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* The poller of an open file of dat.ko or dat_rsm.ko: see lib/poller.c. */
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
 * @look: process the posted entries; return true if there may have been any
 * @watch: if @on is true, let the process post to the queues without kicks; if @on is false,
 *	process each queue once more, which makes the queue ask for kicks
 * @gone: return true if the device is gone, or the IA or RSM context has ended
 *
 * Only the poller's thread calls @look and @watch.  The callers of all three hold no locks.
 */
struct dat_poller_ops {
	bool (*look)(struct dat_poller *p);
	void (*watch)(struct dat_poller *p, bool on);
	bool (*gone)(const struct dat_poller *p);
};

struct dat_poller {
	const struct dat_poller_ops	*ops;
	struct mutex			lock;		/* lock of @task; innermost */
	struct task_struct		*task;		/* thread in dat_poller_run(), or NULL */
	wait_queue_head_t		wq;		/* the parked thread sleeps here */
	bool				parked;		/* the thread parks; cleared to wake it */
	/* Microseconds without posts after which the thread parks; 0: the poller is disabled. */
	u32				idle_us;
};

void dat_poller_init(struct dat_poller *p, const struct dat_poller_ops *ops);
int dat_poller_run(struct dat_poller *p);
void dat_poller_set(struct dat_poller *p, u32 idle_us);
void dat_poller_wake(struct dat_poller *p);
void dat_poller_show(struct seq_file *m, struct dat_poller *p, bool awake);

/*
 * Wakes a parked poller, because the process has kicked a queue and more posts may follow.  The
 * caller itself processes the queue, so no entry is lost if this function does not see that the
 * poller is about to park.
 */
static inline void dat_poller_unpark(struct dat_poller *p)
{
	if (READ_ONCE(p->parked))
		dat_poller_wake(p);
}

#endif /* _DAT_POLLER_H */
