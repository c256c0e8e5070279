/* SPDX-License-Identifier: GPL-2.0 */
/* A process in a time namespace whose CLOCK_MONOTONIC has an offset. */
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

#define TIMENS_NONE	255	/* there is no time namespace for this process */

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

/* Run @fn in a process whose clock is @offset_s seconds ahead.  Return its result, 0 to 127. */
static inline int timens_run(long offset_s, int (*fn)(void))
{
	pid_t pid = fork();

	if (pid)
		return timens_wait(pid);
	if (timens_enter(offset_s))
		_exit(TIMENS_NONE);
	/* Children are in the namespace, the process itself is not. */
	pid = fork();
	if (!pid)
		_exit(fn());
	_exit(timens_wait(pid));
}

#endif /* TIMENS_H */
