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

#include "dat-info.h"

/* Names of the types of objects, as in the fdinfo file. */
static const char *const types[] = {
	"pz", "lmr", "rmr", "evd", "cno", "srq", "ep", "psp", "cr"
};

#define TYPES	((int)(sizeof(types) / sizeof(types[0])))

/*
 * struct user - a process, or one of its open files
 * @files: number of open adapters
 * @objects: number of objects of each type
 * @connected: number of connected endpoints
 * @bytes: bytes of registered memory
 * @dropped: number of events that were dropped because an EVD was full
 * @malformed: number of malformed requests and receives
 */
struct user {
	uint64_t	files;
	uint64_t	objects[TYPES];
	uint64_t	connected;
	uint64_t	bytes;
	uint64_t	dropped;
	uint64_t	malformed;
};

/* Returns the number after " key=", or 0 if the line has no such key. */
static uint64_t number(const char *line, const char *key)
{
	char want[32];
	const char *p;

	snprintf(want, sizeof(want), " %s=", key);
	p = strstr(line, want);
	return p ? strtoull(p + strlen(want), NULL, 0) : 0;
}

static void object(struct user *u, const char *line, size_t type_len)
{
	int t;

	for (t = 0; t < TYPES; t++)
		if (strlen(types[t]) == type_len && !strncmp(line, types[t], type_len))
			break;
	if (t == TYPES)
		return;
	u->objects[t]++;
	u->connected += !!strstr(line, " state=CONNECTED ");
	u->bytes += number(line, "length");
	u->dropped += number(line, "dropped");
	u->malformed += number(line, "sq_bad") + number(line, "rq_bad") + number(line, "bad");
}

/*
 * Returns whether the "ia:" line names the adapter @device.  If a process has opened the adapter
 * "rxe0" by its other name, "rxe0:1", the line contains "rxe0:1".
 */
static int is_of(const char *line, const char *device)
{
	char name[DAT_NAME_SIZE];

	if (!device)
		return 1;
	if (sscanf(line, "ia:\tname=%71s", name) != 1)
		return 0;
	if (strlen(name) > 2 && !strcmp(name + strlen(name) - 2, ":1"))
		name[strlen(name) - 2] = '\0';
	return !strcmp(name, device);
}

static void add_file(struct user *u, const char *path, const char *device)
{
	FILE *f = fopen(path, "re");
	char line[512];
	char *colon;
	int ours = 0;

	while (f && fgets(line, sizeof(line), f)) {
		colon = strchr(line, ':');
		if (!colon || strncmp(colon, ":\t", 2))
			continue;
		if (!strncmp(line, "ia:", 3)) {
			ours = is_of(line, device);
			u->files += (uint64_t)ours;
		} else if (ours) {
			object(u, line, (size_t)(colon - line));
		}
	}
	if (f)
		fclose(f);
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

/*
 * Add the objects of a process.  Returns 0, or -1 if this program has no permission to read the
 * files of the process.
 */
static int add_process(struct user *u, const char *pid, const char *device)
{
	char path[600];
	struct dirent *e;
	DIR *dir;

	memset(u, 0, sizeof(*u));
	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	if (!dir)
		return errno == EACCES || errno == EPERM ? -1 : 0;
	while ((e = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, e->d_name);
		if (!isdigit((unsigned char)e->d_name[0]) || !is_device(path))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", pid, e->d_name);
		add_file(u, path, device);
	}
	closedir(dir);
	return 0;
}

/*
 * Call @fn for each process that has an adapter open.  Returns the number of processes that this
 * program has no permission to read.
 */
static unsigned int each(const char *device, void (*fn)(const struct user *, const char *pid))
{
	unsigned int hidden = 0;
	struct dirent *e;
	struct user u;
	DIR *dir = opendir("/proc");

	while (dir && (e = readdir(dir))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		if (add_process(&u, e->d_name, device))
			hidden++;
		else if (u.files)
			fn(&u, e->d_name);
	}
	if (dir)
		closedir(dir);
	return hidden;
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
		printf("  (%u processes of other users can't be looked at: run as root)\n", hidden);
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
