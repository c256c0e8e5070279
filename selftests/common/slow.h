/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * A process that makes almost no progress, even inside a system call, because its control group
 * gets a thousandth of a CPU.  A system call of this process that needs a few milliseconds of CPU
 * time takes seconds.  So a test can detect which other threads wait for that system call.
 */
#ifndef SLOW_H
#define SLOW_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOW_ROOT	"/tmp/dat_slow"
#define SLOW_GROUP	SLOW_ROOT "/dat_slow"

static inline int slow_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;

	close(fd);
	return ret;
}

/*
 * Create the control group.  Return -1 if this machine has no cgroup2 or does not allow new groups.
 */
static inline int slow_open(void)
{
	mkdir(SLOW_ROOT, 0700);
	if (access(SLOW_ROOT "/cgroup.procs", F_OK) &&
	    mount("none", SLOW_ROOT, "cgroup2", 0, NULL))
		return -1;
	if (slow_write(SLOW_ROOT "/cgroup.subtree_control", "+cpu"))
		return -1;
	mkdir(SLOW_GROUP, 0700);
	return slow_write(SLOW_GROUP "/cpu.max", "1000 1000000");
}

/* Put this process into the control group, so that the process is slow from here on. */
static inline int slow_enter(void)
{
	return slow_write(SLOW_GROUP "/cgroup.procs", "0");
}

/* Remove the CPU limit, so that the processes in the group run at full speed. */
static inline int slow_over(void)
{
	return slow_write(SLOW_GROUP "/cpu.max", "max");
}

/* Remove the control group.  All processes of the group must have ended. */
static inline void slow_close(void)
{
	rmdir(SLOW_GROUP);
	umount(SLOW_ROOT);
	rmdir(SLOW_ROOT);
}

#endif /* SLOW_H */
