// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* dat-info --stats prints counters, and with --watch their rates. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "../common/tool.h"
#include "info.h"

#define LEFT	5	/* columns before the counters */
#define COLUMNS	(LEFT + STATS)

static const char *const heads[LEFT] = { "ADAPTER", "PID", "COMMAND", "OBJECT", "STATE" };

static double seconds_between(const struct sample *old, const struct sample *new)
{
	return (double)(new->ns - old->ns) / 1e9;
}

/*
 * Returns by how much a counter has grown since @old.  An object that is not in @old was made
 * since, and a smaller counter belongs to a device that was registered again: both began at 0.
 */
static uint64_t growth(const struct sample *old, const struct counts *row, enum counter i)
{
	const struct counts *was = sample_find(old, row);

	if (!was || row->count[i] < was->count[i])
		return row->count[i];
	return row->count[i] - was->count[i];
}

/* ---- Text ---- */

static void head_cell(int column, char *cell, size_t size)
{
	size_t i;

	snprintf(cell, size, "%s", column < LEFT ? heads[column] : stat_names[column - LEFT]);
	for (i = 0; column >= LEFT && cell[i]; i++)
		cell[i] = (char)(cell[i] - 'a' + 'A');
}

/* Write a cell of @row, or of the head if @row is NULL.  With @old the counters are rates. */
static void cell_of(const struct sample *s, const struct sample *old, const struct counts *row,
		    int column, char *cell, size_t size)
{
	int stat = column - LEFT;

	snprintf(cell, size, "-");
	if (!row)
		head_cell(column, cell, size);
	else if (column == 0)
		snprintf(cell, size, "%s", row->adapter);
	else if (column == 1 && row->pid)
		snprintf(cell, size, "%lu", row->pid);
	else if (column == 2 && row->pid)
		snprintf(cell, size, "%s", row->command);
	else if (column == 3 && row->pid)
		snprintf(cell, size, "%s %u", row->type, row->id);
	else if (column == 3)
		snprintf(cell, size, "all");
	else if (column == 4 && row->state[0])
		snprintf(cell, size, "%s", row->state);
	else if (stat >= 0 && row->has & 1U << stat && !old)
		snprintf(cell, size, "%" PRIu64, row->count[stat]);
	else if (stat >= 0 && row->has & 1U << stat)
		snprintf(cell, size, "%.0f", (double)growth(old, row, (enum counter)stat) /
					     seconds_between(old, s));
}

static void row_text(const struct sample *s, const struct sample *old, const struct counts *row,
		     const int width[COLUMNS])
{
	char cell[80];
	int c;

	for (c = 0; c < COLUMNS; c++) {
		cell_of(s, old, row, c, cell, sizeof(cell));
		text_print(stdout, c < LEFT ? "%s%-*s" : "%s%*s", c ? "  " : "", width[c], cell);
	}
	putchar('\n');
}

static void stats_text(const struct sample *s, const struct sample *old)
{
	int width[COLUMNS] = { 0 }, c, len;
	char cell[80];
	size_t i;

	for (i = 0; i <= s->n; i++) {
		for (c = 0; c < COLUMNS; c++) {
			cell_of(s, old, i ? &s->row[i - 1] : NULL, c, cell, sizeof(cell));
			len = (int)strlen(cell);
			if (len > width[c])
				width[c] = len;
		}
	}
	if (old)
		printf("\nper second, over %.1f s:\n", seconds_between(old, s));
	for (i = 0; i <= s->n; i++)
		row_text(s, old, i ? &s->row[i - 1] : NULL, width);
	if (s->hidden)
		printf("(%u processes of other users can't be inspected: run as root)\n",
		       s->hidden);
}

/* ---- JSON ---- */

static void counters_json(const struct sample *s, const struct sample *old, const struct counts *row)
{
	int i;

	json_open("counters", '{');
	for (i = 0; i < STATS; i++)
		if (row->has & 1U << i)
			json_num(stat_names[i], row->count[i]);
	json_close('}');
	if (!old) {
		json_null("rates");
		return;
	}
	json_open("rates", '{');
	for (i = 0; i < STATS; i++)
		if (row->has & 1U << i)
			json_real(stat_names[i], (double)growth(old, row, (enum counter)i) /
						 seconds_between(old, s));
	json_close('}');
}

static void object_json(const struct counts *row)
{
	json_num("pid", row->pid);
	json_str("command", row->command);
	json_num("fd", row->fd);
	json_str("adapter", row->adapter);
	json_str("type", row->type);
	json_num("id", row->id);
	if (row->state[0])
		json_str("state", row->state);
	else
		json_null("state");
}

static void rows_json(const struct sample *s, const struct sample *old, int objects)
{
	const struct counts *row;

	json_open(objects ? "objects" : "adapters", '[');
	for (row = s->row; row < s->row + s->n; row++) {
		if ((row->pid != 0) != objects)
			continue;
		json_open(NULL, '{');
		if (objects) {
			object_json(row);
		} else {
			json_str("name", row->adapter);
			json_num("port", row->id);
			json_bool("active", row->active);
		}
		counters_json(s, old, row);
		json_close('}');
	}
	json_close(']');
}

static void stats_json(const struct sample *s, const struct sample *old)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	json_open(NULL, '{');
	json_str("version", DAT_LINUX_VERSION_STRING);
	json_real("time", (double)now.tv_sec + (double)now.tv_nsec / 1e9);
	if (old)
		json_real("seconds", seconds_between(old, s));
	else
		json_null("seconds");
	rows_json(s, old, 0);
	rows_json(s, old, 1);
	json_num("processes_hidden", s->hidden);
	json_close('}');
}

/* ---- Once, or again and again ---- */

/*
 * struct run - a run of --stats or --prometheus
 * @how: what to print
 * @old: previous sample; its @ns is 0 if there is none
 * @missing: why the last sample has no adapter: 0 if it has one, 1 if there is none, or the
 *	negative errno of the driver
 * @unwritten: 0, or the negative errno of the last write of the file
 */
struct run {
	const struct stats_how	*how;
	struct sample		old;
	int			missing;
	int			unwritten;
};

/* Read a sample, and report why it has no adapter, unless the previous one had none either. */
static void get(struct run *r, struct sample *s)
{
	int before = r->missing;

	r->missing = sample_get(s, r->how->name, !r->how->file);
	if (!r->missing && (!s->n || s->row[0].pid))
		r->missing = 1;
	if (!r->missing || r->missing == before)
		return;
	if (r->missing < 0)
		tool_warn("the driver can't be asked: %s: 'dat-info --check' finds out why",
			  strerror(-r->missing));
	else if (r->how->name)
		tool_warn("there is no RDMA adapter '%s', or the driver is too old to count: 'dat-info -l' lists the names",
			  r->how->name);
	else
		tool_warn(NO_ADAPTERS);
}

/* Write the file, without samples if there is no adapter.  Report a failure when it begins. */
static void put(struct run *r, const struct sample *s)
{
	int before = r->unwritten;

	r->unwritten = prom_write(s, r->how->file);
	if (r->unwritten && r->unwritten != before)
		tool_warn("cannot write '%s': %s", r->how->file, strerror(-r->unwritten));
}

static void show(const struct stats_how *how, const struct sample *s, const struct sample *old)
{
	if (how->json)
		stats_json(s, old);
	else
		stats_text(s, old);
	fflush(stdout);
}

/* Read a sample and print it.  Returns the exit status of the program. */
static int once(struct run *r)
{
	struct sample s;

	get(r, &s);
	if (r->how->file)
		put(r, &s);
	else if (!r->missing)
		show(r->how, &s, r->old.ns ? &r->old : NULL);
	sample_put(&r->old);
	/* Counters may begin anew after this, so the next sample has no rates. */
	if (r->missing)
		sample_put(&s);
	r->old = s;
	return r->missing || r->unwritten ? 1 : 0;
}

/* Wait until @ns, on the monotonic clock.  Returns whether a signal in @set asks to end. */
static int interrupted(const sigset_t *set, uint64_t ns)
{
	uint64_t now;
	struct timespec left;

	while ((now = tool_now_ns()) < ns) {
		left.tv_sec = (time_t)((ns - now) / 1000000000);
		left.tv_nsec = (long)((ns - now) % 1000000000);
		if (sigtimedwait(set, NULL, &left) > 0)
			return 1;
	}
	return 0;
}

int stats_run(const struct stats_how *how)
{
	const uint64_t interval = (uint64_t)how->seconds * 1000000000;
	uint64_t next = tool_now_ns(), now;
	struct run r = { .how = how };
	sigset_t set;
	int ret;

	if (how->seconds && how->json)
		json_one_line();
	ret = once(&r);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (how->seconds)
		sigprocmask(SIG_BLOCK, &set, NULL);
	while (how->seconds) {
		next += interval;
		now = tool_now_ns();
		/* After a stop, as by Ctrl-Z, do not make up for the outputs that were missed. */
		if (next < now)
			next = now + interval;
		if (interrupted(&set, next))
			break;
		ret = once(&r);
	}
	sample_put(&r.old);
	return ret;
}
