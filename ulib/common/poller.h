/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The poller: a thread inside one ioctl, in which the driver polls the queues. */
#ifndef _DU_POLLER_H
#define _DU_POLLER_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct du_poller - the thread of an open device
 * @thread: poller thread; valid if @pid is that of the calling process
 * @pid: process that started @thread, or 0; a forked child has the memory but not the thread
 * @fd: open device
 */
struct du_poller {
	pthread_t	thread;
	pid_t		pid;
	int		fd;
};

/*
 * Set the microseconds without an entry after which the poller sleeps; 0 ends the poller.  Returns
 * 0 or a negative errno.
 */
int du_poller_set(int fd, uint32_t idle_us);

/* Start the thread; du_poller_set() comes first.  Returns 0 or a negative errno. */
int du_poller_start(struct du_poller *p, int fd);

/* Wait for the thread to end.  du_poller_set(fd, 0) or the close of the device ends it. */
void du_poller_end(struct du_poller *p);

#endif /* _DU_POLLER_H */
