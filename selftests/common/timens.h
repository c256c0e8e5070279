/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* A process in a time namespace whose CLOCK_MONOTONIC differs from that of the host. */
#ifndef TIMENS_H
#define TIMENS_H

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME	0x80
#endif

#define TIMENS_NONE	255	/* exit status: no time namespace could be created */

static inline int timens_wait(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 254;
	return WEXITSTATUS(status);
}

static inline int timens_enter(long offset_s)
{
	char text[64];
	int fd, n;

	if (unshare(CLONE_NEWTIME))
		return -1;
	n = snprintf(text, sizeof(text), "monotonic %ld 0", offset_s);
	fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, n) != n)
		return -1;
	return close(fd);
}

/*
 * Run @fn in a child process whose clock is @offset_s seconds ahead.  Return the result of @fn,
 * which must be from 0 to 127.
 */
static inline int timens_run(long offset_s, int (*fn)(void))
{
	pid_t pid = fork();

	if (pid)
		return timens_wait(pid);
	if (timens_enter(offset_s))
		_exit(TIMENS_NONE);
	/*
	 * unshare(CLONE_NEWTIME) moves only the children of the process to the new namespace, so
	 * fork again.
	 */
	pid = fork();
	if (!pid)
		_exit(fn());
	_exit(timens_wait(pid));
}

#endif /* TIMENS_H */
