// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Reads the counters that the driver shows in fdinfo. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../common/dev.h"
#include "../common/tool.h"
#include "info.h"

const char *const stat_names[STATS] = {
	"requests", "receives", "kicks", "completed", "failed", "flushed", "malformed", "events",
	"dropped"
};

/* Types of objects that have counters. */
static const char *const types[] = { "ep", "evd", "srq" };

#define TYPES	((int)(sizeof(types) / sizeof(types[0])))

/*
 * struct reading - a sample that is being read
 * @s: sample
 * @name: name of the adapter that is read, or NULL for all
 * @pid: process whose files are read
 * @command: name of the process; empty until a row of it needs the name
 */
struct reading {
	struct sample	*s;
	const char	*name;
	const char	*pid;
	char		command[sizeof(((struct counts *)0)->command)];
};

static struct counts *row_add(struct sample *s)
{
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		s->row = reallocarray(s->row, s->room, sizeof(*s->row));
		if (!s->row)
			tool_die("no memory");
	}
	memset(&s->row[s->n], 0, sizeof(*s->row));
	return &s->row[s->n++];
}

static void row_count(struct counts *row, const char *line)
{
	int i;

	for (i = 0; i < STATS; i++) {
		row->count[i] = fdinfo_number(line, stat_names[i], UINT64_MAX);
		if (row->count[i] != UINT64_MAX)
			row->has |= 1U << i;
	}
}

static void read_adapter(struct reading *r, const char *line)
{
	char name[DAT_NAME_SIZE];
	struct counts *row;

	fdinfo_word(line, "name", name, sizeof(name));
	if (r->name && !adapter_is(name, r->name))
		return;
	row = row_add(r->s);
	strcpy(row->adapter, name);
	strcpy(row->type, "adapter");
	row->id = (unsigned int)fdinfo_number(line, "port", 0);
	row_count(row, line);
}

/* Set the states of the ports of all adapters in the sample. */
static void read_states(struct sample *s, int fd)
{
	struct dat_adapter arg = { .size = sizeof(arg) };
	struct counts *row;

	while (!du_ioctl(fd, DAT_IOC_ADAPTER, &arg)) {
		for (row = s->row; row < s->row + s->n; row++) {
			if (strcmp(row->adapter, (const char *)arg.name))
				continue;
			row->active = arg.active != 0;
			strcpy(row->state, row->active ? "active" : "down");
		}
	}
}

/* Read the totals from the fdinfo of a file that has no IA.  Returns 0 or a negative errno. */
static int read_adapters(struct reading *r)
{
	int fd = du_dev_open(DU_DEV_DAT, 1);
	char path[64], *line = NULL;
	size_t size = 0;
	FILE *f;

	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f && getline(&line, &size, f) > 0)
		if (fdinfo_is(line, "adapter"))
			read_adapter(r, line);
	free(line);
	if (f)
		fclose(f);
	read_states(r->s, fd);
	close(fd);
	return f ? 0 : -EIO;
}

static void read_object(struct reading *r, const char *fd, const char *adapter, const char *line)
{
	struct counts *row;
	int t;

	for (t = 0; t < TYPES && !fdinfo_is(line, types[t]); t++)
		;
	if (t == TYPES)
		return;
	row = row_add(r->s);
	strcpy(row->adapter, adapter);
	strcpy(row->type, types[t]);
	row->pid = strtoul(r->pid, NULL, 10);
	row->fd = strtoul(fd, NULL, 10);
	if (!r->command[0])
		text_read(r->command, sizeof(r->command), "/proc/%s/comm", r->pid);
	strcpy(row->command, r->command);
	row->id = (unsigned int)fdinfo_number(line, "id", 0);
	fdinfo_word(line, "state", row->state, sizeof(row->state));
	row_count(row, line);
}

static void read_file(const char *fd, FILE *f, void *arg)
{
	struct user_ia ia = { .adapter = "" };
	struct reading *r = arg;
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, f) > 0)
		if (!user_ia_line(&ia, line) && ia.adapter[0] &&
		    (!r->name || adapter_is(ia.adapter, r->name)))
			read_object(r, fd, ia.adapter, line);
	free(line);
}

static int read_process(const char *pid, void *arg)
{
	struct reading *r = arg;

	r->pid = pid;
	r->command[0] = '\0';
	return user_each_file(pid, read_file, r);
}

static int compare(const void *va, const void *vb)
{
	const struct counts *a = va, *b = vb;
	int type = strcmp(a->type, b->type);

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->fd != b->fd)
		return a->fd < b->fd ? -1 : 1;
	if (type)
		return type;
	if (strcmp(a->adapter, b->adapter))
		return strcmp(a->adapter, b->adapter);
	return a->id < b->id ? -1 : a->id > b->id;
}

int sample_get(struct sample *s, const char *name, int objects)
{
	struct reading r = { .s = s, .name = name };
	int ret;

	memset(s, 0, sizeof(*s));
	s->ns = tool_now_ns();
	ret = read_adapters(&r);
	if (ret)
		return ret;
	if (objects)
		s->hidden = user_each_process(read_process, &r);
	if (s->n)
		qsort(s->row, s->n, sizeof(*s->row), compare);
	return 0;
}

void sample_put(struct sample *s)
{
	free(s->row);
	memset(s, 0, sizeof(*s));
}

const struct counts *sample_find(const struct sample *old, const struct counts *row)
{
	return old->n ? bsearch(row, old->row, old->n, sizeof(*row), compare) : NULL;
}
