// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Lists the processes that have /dev/dat open.  The driver shows their objects in /proc/PID/fdinfo.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "info.h"

/* Names of the types of objects, as in the fdinfo file. */
static const char *const types[] = {
	"pz", "lmr", "rmr", "evd", "cno", "srq", "ep", "psp", "cr"
};

#define TYPES	((int)(sizeof(types) / sizeof(types[0])))

/*
 * struct user - a process
 * @device: name of the adapter whose objects are counted, or NULL for all
 * @files: number of open adapters
 * @objects: number of objects of each type
 * @connected: number of connected endpoints
 * @bytes: bytes of registered memory
 * @dropped: number of events that were dropped because an EVD was full
 * @malformed: number of malformed requests and receives
 */
struct user {
	const char	*device;
	uint64_t	files;
	uint64_t	objects[TYPES];
	uint64_t	connected;
	uint64_t	bytes;
	uint64_t	dropped;
	uint64_t	malformed;
};

static void object(struct user *u, const char *line)
{
	char state[32];
	int t;

	for (t = 0; t < TYPES && !fdinfo_is(line, types[t]); t++)
		;
	if (t == TYPES)
		return;
	fdinfo_word(line, "state", state, sizeof(state));
	u->objects[t]++;
	u->connected += !strcmp(state, "CONNECTED");
	u->bytes += fdinfo_number(line, "length", 0);
	u->dropped += fdinfo_number(line, "dropped", 0);
	u->malformed += fdinfo_number(line, "malformed", 0);
}

int user_ia_line(struct user_ia *ia, const char *line)
{
	size_t len;

	if (fdinfo_is(line, "adapter"))
		fdinfo_word(line, "name", ia->current, sizeof(ia->current));
	if (!fdinfo_is(line, "ia"))
		return 0;
	if (ia->current[0]) {
		strcpy(ia->adapter, ia->current);
		return 1;
	}
	fdinfo_word(line, "name", ia->adapter, sizeof(ia->adapter));
	len = strlen(ia->adapter);
	if (len > 2 && !strcmp(ia->adapter + len - 2, ":1"))
		ia->adapter[len - 2] = '\0';
	return 1;
}

static void add_file(const char *fd, FILE *f, void *arg)
{
	struct user_ia ia = { .adapter = "" };
	struct user *u = arg;
	char *line = NULL;
	size_t size = 0;
	int ours = 0;

	(void)fd;
	while (getline(&line, &size, f) > 0) {
		if (user_ia_line(&ia, line)) {
			ours = !u->device || !strcmp(ia.adapter, u->device);
			u->files += (uint64_t)ours;
		} else if (ours) {
			object(u, line);
		}
	}
	free(line);
}

static int is_device(const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n < 0)
		return 0;
	target[n] = '\0';
	return !strcmp(target, "/dev/dat");
}

int user_each_file(const char *pid, void (*fn)(const char *fd, FILE *fdinfo, void *arg), void *arg)
{
	char path[600];
	struct dirent *e;
	DIR *dir;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	if (!dir)
		return errno == EACCES || errno == EPERM ? -1 : 0;
	while ((e = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, e->d_name);
		if (!isdigit((unsigned char)e->d_name[0]) || !is_device(path))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", pid, e->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		fn(e->d_name, f, arg);
		fclose(f);
	}
	closedir(dir);
	return 0;
}

unsigned int user_each_process(int (*fn)(const char *pid, void *arg), void *arg)
{
	unsigned int hidden = 0;
	struct dirent *e;
	DIR *dir = opendir("/proc");

	while (dir && (e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]) && fn(e->d_name, arg))
			hidden++;
	if (dir)
		closedir(dir);
	return hidden;
}

/*
 * struct shower - how the processes are shown
 * @device: name of an adapter, or NULL for all
 * @show: print a process
 */
struct shower {
	const char	*device;
	void		(*show)(const struct user *u, const char *pid);
};

static int show_process(const char *pid, void *arg)
{
	const struct shower *s = arg;
	struct user u = { .device = s->device };

	if (user_each_file(pid, add_file, &u))
		return -1;
	if (u.files)
		s->show(&u, pid);
	return 0;
}

static unsigned int each(const char *device, void (*show)(const struct user *, const char *pid))
{
	struct shower s = { device, show };

	return user_each_process(show_process, &s);
}

static void show_text(const struct user *u, const char *pid)
{
	char comm[64], bytes[32];
	const char *more = text_bytes(u->bytes, bytes);
	int t;

	text_read(comm, sizeof(comm), "/proc/%s/comm", pid);
	text_print(stdout, "  %s %s:", pid, comm);
	for (t = 0; t < TYPES; t++)
		if (u->objects[t])
			printf(" %" PRIu64 " %s", u->objects[t], types[t]);
	printf("; %" PRIu64 " connected, ", u->connected);
	if (more)
		printf("%s", more);
	else
		printf("%" PRIu64 " bytes", u->bytes);
	printf(" registered, %" PRIu64 " events dropped, %" PRIu64 " entries malformed\n",
	       u->dropped, u->malformed);
}

void user_text(const char *device)
{
	unsigned int hidden;

	printf("\n  Processes\n");
	hidden = each(device, show_text);
	if (hidden)
		printf("  (%u processes of other users can't be inspected: run as root)\n", hidden);
}

static void show_json(const struct user *u, const char *pid)
{
	char comm[64];
	int t;

	text_read(comm, sizeof(comm), "/proc/%s/comm", pid);
	json_open(NULL, '{');
	json_num("pid", strtoull(pid, NULL, 10));
	json_str("command", comm);
	json_num("files", u->files);
	json_open("objects", '{');
	for (t = 0; t < TYPES; t++)
		json_num(types[t], u->objects[t]);
	json_close('}');
	json_num("connected", u->connected);
	json_num("bytes_registered", u->bytes);
	json_num("events_dropped", u->dropped);
	json_num("entries_malformed", u->malformed);
	json_close('}');
}

void user_json(const char *device)
{
	unsigned int hidden;

	json_open("processes", '[');
	hidden = each(device, show_json);
	json_close(']');
	json_num("processes_hidden", hidden);
}
