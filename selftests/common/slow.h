/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process that makes almost no progress, even within a call: a control group gives it a
 * thousandth of a CPU.  Kernel work of a few milliseconds takes seconds on its behalf, so a test
 * can see which threads wait for it in the kernel.
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

/* Return -1 if this machine has no cgroup2 or does not let us make a group. */
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

/* Make this process slow from here on. */
static inline int slow_enter(void)
{
	return slow_write(SLOW_GROUP "/cgroup.procs", "0");
}

/* Let all slow processes run at full speed again. */
static inline int slow_over(void)
{
	return slow_write(SLOW_GROUP "/cpu.max", "max");
}

/* Remove the group.  Its processes must have ended. */
static inline void slow_close(void)
{
	rmdir(SLOW_GROUP);
	umount(SLOW_ROOT);
	rmdir(SLOW_ROOT);
}

#endif /* SLOW_H */
