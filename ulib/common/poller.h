/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The poller: a thread inside one ioctl, where the driver looks at what is posted. */
#ifndef _DU_POLLER_H
#define _DU_POLLER_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct du_poller - the thread of an open device
 * @thread: valid if @pid is that of the process
 * @pid: process that started it, or 0; a child has our memory, but no such thread
 * @fd: of the device
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

/* Wait for the end of the thread, which the driver was told, or whose device is closed. */
void du_poller_end(struct du_poller *p);

#endif /* _DU_POLLER_H */
