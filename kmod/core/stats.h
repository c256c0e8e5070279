/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Counters of an adapter.  The counters of an EP, an SRQ and an EVD are members of the object, and
 * end with the object.  The counters of an adapter cover all objects since the device was
 * registered, including the objects of kernel consumers.
 */
#ifndef _DAT_STATS_H
#define _DAT_STATS_H

#include <linux/percpu.h>

#include "core/dat.h"

/**
 * enum dat_stat - counters; dat_stats_show() names them
 * @DAT_STAT_REQUESTS: requests that were taken from the send queues
 * @DAT_STAT_RECEIVES: receives that were taken from the receive queues and from the SRQs
 * @DAT_STAT_KICKS: visits of queues whose doorbell bit was set, by a kick or a poller; plus all
 *	visits by a poller that stops, because such a poller visits every queue
 * @DAT_STAT_COMPLETED: completions of requests and receives, failed and flushed ones included
 * @DAT_STAT_FAILED: completions with an error, without flushes
 * @DAT_STAT_FLUSHED: completions of entries that the end of a connection flushed
 * @DAT_STAT_MALFORMED: entries that were malformed or that the device refused; plus one for each
 *	queue whose producer wrote an index that is out of range
 * @DAT_STAT_EVENTS: events that were queued
 * @DAT_STAT_DROPPED: events that were lost because an EVD was full
 */
enum dat_stat {
	DAT_STAT_REQUESTS,
	DAT_STAT_RECEIVES,
	DAT_STAT_KICKS,
	DAT_STAT_COMPLETED,
	DAT_STAT_FAILED,
	DAT_STAT_FLUSHED,
	DAT_STAT_MALFORMED,
	DAT_STAT_EVENTS,
	DAT_STAT_DROPPED,
	DAT_NR_STATS
};

/* One CPU's part of the counters of an adapter; written with this_cpu_add() only. */
struct dat_stats {
	u64	n[DAT_NR_STATS];
};

/*
 * Adds @n to a counter.  this_cpu_add() is one step for all other threads of this CPU.  Disabling
 * softirqs would not suffice: with PREEMPT_RT another thread may run between the load and the store
 * of an addition, and the store would undo the addition of that thread.  Context: any.
 */
static inline void dat_stat_add(const struct dat_ia *ia, enum dat_stat which, u32 n)
{
	this_cpu_add(ia->stats->n[which], n);
}

void dat_stats_show(struct seq_file *m, struct dat_stats __percpu *stats);

#endif /* _DAT_STATS_H */
