/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* The poller: a thread that stays in one ioctl, in which the driver polls the queues. */
#ifndef _DU_POLLER_H
#define _DU_POLLER_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include "dev.h"

/**
 * struct du_poller - the poller thread of an open device
 * @thread: poller thread; valid only if @pid is the calling process
 * @pid: process that started @thread, or 0; a forked child inherits this struct but not the thread
 * @file: open device
 */
struct du_poller {
	pthread_t		thread;
	pid_t			pid;
	const struct du_file	*file;
};

/*
 * Set the idle time: after @idle_us microseconds without a new queue entry, the poller sleeps.  0
 * ends the poller.  Returns 0 or a negative errno.
 */
int du_poller_set(const struct du_file *f, uint32_t idle_us);

/*
 * Start the poller thread.  The caller has called du_poller_set() before.  Returns 0 or a negative
 * errno.
 */
int du_poller_start(struct du_poller *p, const struct du_file *f);

/*
 * Wait until the poller thread has ended.  Before this call, the caller makes the thread end: it
 * calls du_poller_set(f, 0) or closes the device.
 */
void du_poller_end(struct du_poller *p);

#endif /* _DU_POLLER_H */
