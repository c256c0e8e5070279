/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Trace events of the kernel, in a buffer of the test's own. */
#ifndef TRACEFS_H
#define TRACEFS_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRACE_DIR	"/sys/kernel/tracing/instances/dat_test"
#define TRACE_PROBES	"/sys/kernel/tracing/kprobe_events"

static inline int trace_put(const char *file, const char *text)
{
	char path[192];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), TRACE_DIR "/%s", file);
	fd = open(path, O_WRONLY | O_TRUNC);
	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (ssize_t)strlen(text) ? 0 : -EIO;
}

/* Record the events @event, such as "dat/dat_post", that match @filter. */
static inline int trace_on(const char *event, const char *filter)
{
	char file[128];
	int ret;

	snprintf(file, sizeof(file), "events/%s/filter", event);
	ret = trace_put(file, filter);
	snprintf(file, sizeof(file), "events/%s/enable", event);
	return ret ? ret : trace_put(file, "1");
}

/* Add or remove a probe: @text is a line of TRACE_PROBES.  Returns 0 or a negative errno. */
static inline int trace_probe(const char *text)
{
	int fd = open(TRACE_PROBES, O_WRONLY | O_APPEND);
	int ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;

	close(fd);
	return ret;
}

static inline int trace_start(void)
{
	/* mount() fails if tracefs is already mounted, which is fine. */
	mount("none", "/sys/kernel/tracing", "tracefs", 0, NULL);
	if (mkdir(TRACE_DIR, 0700) && errno != EEXIST)
		return -errno;
	/* The clocks of two CPUs may differ, but a counter has one order. */
	return trace_put("trace_clock", "counter");
}

static inline void trace_end(void)
{
	trace_put("events/enable", "0");
	rmdir(TRACE_DIR);
}

/*
 * Copy the lines of the recorded events that contain @text to @log.  Return the number of these
 * events.
 */
static inline int trace_read(char *log, size_t size, const char *text)
{
	FILE *f = fopen(TRACE_DIR "/trace", "r");
	char line[512];
	int events = 0;

	log[0] = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (line[0] == '#' || !strstr(line, text))
			continue;
		events++;
		strncat(log, line, size - strlen(log) - 1);
	}
	if (f)
		fclose(f);
	return events;
}

#endif /* TRACEFS_H */
