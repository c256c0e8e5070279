// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Waits: descriptors and timeouts. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fdat.h"

int fdat_wait_add(int epoll, int fd)
{
	struct epoll_event watch = { .events = EPOLLIN };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &watch) ? -errno : 0;
}

int fdat_wait_open(int *epoll, int *ready)
{
	int ret;

	*ready = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (*ready < 0)
		return -errno;
	*epoll = epoll_create1(EPOLL_CLOEXEC);
	if (*epoll < 0) {
		ret = -errno;
		goto err_ready;
	}
	ret = fdat_wait_add(*epoll, *ready);
	if (!ret)
		return 0;
	close(*epoll);
err_ready:
	close(*ready);
	return ret;
}

void fdat_ready_set(int ready)
{
	uint64_t one = 1;

	/* This can't fail: the count is 0. */
	(void)!write(ready, &one, sizeof(one));
}

void fdat_ready_clear(int ready)
{
	uint64_t n;

	(void)!read(ready, &n, sizeof(n));
}

void fdat_deadline(int timeout, struct timespec *end)
{
	clock_gettime(CLOCK_MONOTONIC, end);
	if (timeout <= 0)
		return;
	end->tv_sec += timeout / 1000;
	end->tv_nsec += timeout % 1000 * 1000000L;
}

int fdat_time_left(int timeout, const struct timespec *end)
{
	struct timespec now;
	int64_t left;

	if (timeout < 0)
		return -1;
	clock_gettime(CLOCK_MONOTONIC, &now);
	/* Rounded up: a wait must not end early. */
	left = (end->tv_sec - now.tv_sec) * INT64_C(1000000000) + end->tv_nsec - now.tv_nsec;
	return left > 0 ? (int)((left + 999999) / 1000000) : 0;
}
