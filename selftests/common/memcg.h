/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* A memory cgroup of a test, which tells what the kernel has charged for the processes in it. */
#ifndef MEMCG_H
#define MEMCG_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc.h"

#define MEMCG		"/tmp/dat-memcg"
#define MEMCG_TESTS	MEMCG "/dat-tests"
#define MEMCG_ONE	MEMCG_TESTS "/one"
/*
 * The memory controller charges up to 64 pages per CPU in advance, so memcg_bytes() is inexact.  A
 * leak must be larger to be seen.
 */
#define MEMCG_SLACK	(64L * 4096 * sysconf(_SC_NPROCESSORS_CONF))

/* Returns -ENODEV if this machine has no memory controller for a cgroup, or for this user. */
static inline int memcg_make(void)
{
	mkdir(MEMCG, 0755);
	if (mount("none", MEMCG, "cgroup2", 0, NULL) ||
	    write_text(MEMCG "/cgroup.subtree_control", "+memory"))
		return -ENODEV;
	mkdir(MEMCG_TESTS, 0755);
	if (write_text(MEMCG_TESTS "/cgroup.subtree_control", "+memory"))
		return -ENODEV;
	return mkdir(MEMCG_ONE, 0755) && errno != EEXIST ? -errno : 0;
}

/*
 * First touches all pages of the program.  If the process were the first to touch a page of a file
 * inside the cgroup, the page would be charged to the cgroup, and keep it for as long as another
 * process has the page mapped.
 */
static inline int memcg_enter(void)
{
	if (!mlockall(MCL_CURRENT))
		munlockall();
	return write_text(MEMCG_ONE "/cgroup.procs", "0");
}

static inline void memcg_leave(void)
{
	write_text(MEMCG "/cgroup.procs", "0");
}

/* All processes have left. */
static inline void memcg_remove(void)
{
	rmdir(MEMCG_ONE);
	rmdir(MEMCG_TESTS);
	umount(MEMCG);
}

/*
 * Removes the cgroup, which all processes have left.  Returns the number of cgroups of tests that
 * are still in use after @ms milliseconds, which is 0 unless something holds a reference; or -1.
 */
static inline long memcg_held(unsigned int ms)
{
	uint64_t end = now_ms() + ms;
	long n;

	if (rmdir(MEMCG_ONE))
		return -1;
	do {
		usleep(10000);
		n = proc_number(MEMCG_TESTS "/cgroup.stat", "nr_dying_descendants");
	} while (n && now_ms() < end);
	return n;
}

/* Returns -1 on failure. */
static inline long memcg_bytes(void)
{
	FILE *f = fopen(MEMCG_ONE "/memory.current", "r");
	long n = -1;

	if (f && fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

#endif /* MEMCG_H */
