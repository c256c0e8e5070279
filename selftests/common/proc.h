/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Numbers and settings in files of /proc and /sys, and files of a process. */
#ifndef PROC_H
#define PROC_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"

/* Returns the number after @key in a /proc file, or -1. */
static inline long proc_number(const char *path, const char *key)
{
	char line[256];
	long n = -1;
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)) &&
		    sscanf(line + strlen(key), "%*[: \t]%ld", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

/* Returns the KiB that this process has pinned. */
static inline long vm_pin_kb(void)
{
	return proc_number("/proc/self/status", "VmPin");
}

/*
 * Returns the number of pinned pages in the whole system.  First writes to stat_refresh, which
 * makes each CPU add its own counts to the totals in /proc/vmstat.
 */
static inline long pinned_pages(void)
{
	FILE *f = fopen("/proc/sys/vm/stat_refresh", "w");

	if (f) {
		fputs("1\n", f);
		fclose(f);
	}
	return proc_number("/proc/vmstat", "nr_foll_pin_acquired") -
	       proc_number("/proc/vmstat", "nr_foll_pin_released");
}

/* Returns the number after @key in the line of fdinfo that begins with @line, or -1. */
static inline long fdinfo_number(int fd, const char *line, const char *key)
{
	char path[64], text[512], *at;
	long n = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "r");
	while (f && fgets(text, sizeof(text), f)) {
		at = strstr(text, key);
		if (!strncmp(text, line, strlen(line)) && at)
			n = atol(at + strlen(key));
	}
	if (f)
		fclose(f);
	return n;
}

/* Returns 1 if the poller of the file is awake, 0 if it sleeps, or -1 without a poller. */
static inline long poller_awake(int fd)
{
	return fdinfo_number(fd, "poller:", "awake=");
}

/* Returns 1 when poller_awake() is @awake, or 0 if it is not within @ms milliseconds. */
static inline int poller_is(int fd, long awake, unsigned int ms)
{
	uint64_t end = now_ms() + ms;

	while (poller_awake(fd) != awake) {
		if (now_ms() >= end)
			return 0;
		usleep(1000);
	}
	return 1;
}

/* Write @text to an existing file.  Returns 0 or a negative errno. */
static inline int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/* Returns the lowest descriptor of @device that this process has, or -1. */
static inline int device_fd(const char *device)
{
	struct stat at, dev;
	int fd;

	if (stat(device, &dev))
		return -1;
	for (fd = 0; fd < 256; fd++)
		if (!fstat(fd, &at) && S_ISCHR(at.st_mode) && at.st_rdev == dev.st_rdev)
			return fd;
	return -1;
}

#endif /* PROC_H */
