/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Trace events of the kernel, in a buffer of the test's own. */
#ifndef TRACEFS_H
#define TRACEFS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

static inline int trace_lines(FILE *f, char *log, size_t size, const char *text)
{
	char line[512];
	int events = 0;

	log[0] = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (line[0] == '#' || !strstr(line, text))
			continue;
		events++;
		strncat(log, line, size - strlen(log) - 1);
	}
	return events;
}

/*
 * Copy the lines of the recorded events that contain @text to @log.  Return the number of these
 * events.
 */
static inline int trace_read(char *log, size_t size, const char *text)
{
	FILE *f = fopen(TRACE_DIR "/trace", "r");
	int events = trace_lines(f, log, size, text);

	if (f)
		fclose(f);
	return events;
}

/*
 * Like trace_read(), but trace-cmd decodes the events.  It knows only what the kernel says in the
 * format files.  The events are then no longer in the buffer.
 */
static inline int trace_decode(char *log, size_t size, const char *text)
{
	FILE *f = popen("d=$(mktemp -d) || exit; "
			"trace-cmd extract -B dat_test -o $d/dat >$d/log 2>&1 && "
			"trace-cmd report $d/dat 2>>$d/log || cat $d/log; rm -r $d", "r");
	int events = trace_lines(f, log, size, text);

	if (f)
		pclose(f);
	return events;
}

static inline int trace_can_decode(void)
{
	return !system("command -v trace-cmd >/dev/null");
}

/*
 * Count the events of @system in *@events.  Return the number of those whose format has a name that
 * begins with @prefix in place of a number.
 */
static inline int trace_unnumbered(const char *system, const char *prefix, int *events)
{
	char path[320], line[8192];
	struct dirent *d;
	int names = 0;
	DIR *dir;
	FILE *f;

	snprintf(path, sizeof(path), TRACE_DIR "/events/%s", system);
	dir = opendir(path);
	*events = 0;
	while (dir && (d = readdir(dir))) {
		snprintf(path, sizeof(path), TRACE_DIR "/events/%s/%s/format", system, d->d_name);
		f = fopen(path, "r");
		*events += !!f;
		while (f && fgets(line, sizeof(line), f))
			if (!strncmp(line, "print fmt:", 10) && strstr(line, prefix))
				names += !!fprintf(stderr, "# %s: %s", d->d_name, line);
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return names;
}

#endif /* TRACEFS_H */
