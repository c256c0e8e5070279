// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Runs functions in a child process, because these functions may hang or crash. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/tool.h"
#include "info.h"

#define GRACE_MS	1000	/* time for a killed child to exit, in milliseconds */

/*
 * Read until the child closes its end of the pipe.  Output beyond @size bytes is dropped.  Returns
 * 0, or -1 if the deadline has passed.
 */
static int read_all(int fd, uint64_t deadline_ns, char *output, size_t size)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	size_t len = strlen(output);
	uint64_t now;
	char buf[256];
	ssize_t n;

	for (;;) {
		now = tool_now_ns();
		if (now >= deadline_ns)
			return -1;
		if (poll(&pfd, 1, (int)((deadline_ns - now) / 1000000) + 1) <= 0)
			continue;
		n = read(fd, buf, sizeof(buf));
		if (n <= 0)
			return 0;
		if ((size_t)n > size - 1 - len)
			n = (ssize_t)(size - 1 - len);
		memcpy(output + len, buf, (size_t)n);
		len += (size_t)n;
		output[len] = '\0';
	}
}

static void child(int (*fn)(const void *arg), const void *arg, const int pipe[2])
	__attribute__((noreturn));

static void child(int (*fn)(const void *arg), const void *arg, const int pipe[2])
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(pipe[1], STDERR_FILENO);
	close(pipe[0]);
	close(pipe[1]);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	_exit(fn(arg));
}

static void one_line(char *output)
{
	size_t len = strlen(output);
	char *p;

	while (len && output[len - 1] == '\n')
		output[--len] = '\0';
	for (p = output; *p; p++)
		if (*p == '\n')
			*p = ';';
}

static int wait_for(pid_t pid, int fd, int seconds, char *output, size_t size)
{
	uint64_t deadline = tool_now_ns() + (uint64_t)seconds * 1000000000;
	int status;

	if (read_all(fd, deadline, output, size)) {
		kill(pid, SIGKILL);
		/* Limit the wait, because a child that sleeps in the kernel may survive SIGKILL. */
		read_all(fd, tool_now_ns() + GRACE_MS * 1000000ULL, output, size);
		waitpid(pid, &status, WNOHANG);
		snprintf(output, size, "no end within %d s", seconds);
		return -1;
	}
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	if (WIFSIGNALED(status)) {
		snprintf(output, size, "died of signal %d", WTERMSIG(status));
		return -1;
	}
	return WEXITSTATUS(status);
}

int child_run(int (*fn)(const void *arg), const void *arg, int seconds, char *output, size_t size)
{
	int ends[2], ret;
	pid_t pid;

	output[0] = '\0';
	fflush(NULL);
	if (pipe2(ends, O_CLOEXEC)) {
		snprintf(output, size, "no pipe: %s", strerror(errno));
		return -1;
	}
	pid = fork();
	if (!pid)
		child(fn, arg, ends);
	close(ends[1]);
	if (pid < 0) {
		snprintf(output, size, "no child: %s", strerror(errno));
		ret = -1;
	} else {
		ret = wait_for(pid, ends[0], seconds, output, size);
	}
	close(ends[0]);
	one_line(output);
	return ret;
}
