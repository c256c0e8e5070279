/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Lines of the kernel's log. */
#ifndef KLOG_H
#define KLOG_H

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Returns a descriptor for the lines that the kernel logs from now on, or -1. */
static inline int klog_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* Reads the new lines.  Returns the number of those that contain @text. */
static inline int klog_count(int fd, const char *text)
{
	char line[8192];
	int found = 0;
	ssize_t n;

	/* EPIPE: lines were overwritten before this call; the next read() continues after them. */
	while ((n = read(fd, line, sizeof(line) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		line[n > 0 ? n : 0] = 0;
		found += !!strstr(line, text);
	}
	return found;
}

/* Waits up to @ms milliseconds for a new line that contains @text.  Returns 1 if there is one. */
static inline int klog_await(int fd, const char *text, unsigned int ms)
{
	unsigned int i;

	for (i = 0; i < ms; i += 10) {
		if (klog_count(fd, text))
			return 1;
		usleep(10000);
	}
	return 0;
}

#endif /* KLOG_H */
