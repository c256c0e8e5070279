// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * dat-info - show DAT adapters, and find out why there are none
 *
 * The list contains the adapters of the driver, then the other names in dat.conf.  The tool opens
 * an adapter through libdat only to show its attributes, because libdat may load the library of a
 * provider.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/text.h"
#include "../common/tool.h"
#include "info.h"

#define COLUMNS	6

/*
 * struct entry - a name that can be opened, or the name on the command line
 * @name: name of the IA
 * @adapter: adapter with this name; NULL if a provider has the name, or the adapter is missing
 * @line: line of dat.conf that defines the name, or NULL
 */
struct entry {
	const char		*name;
	const struct adapter	*adapter;
	const struct conf_line	*line;
};

/*
 * struct names - all names
 * @entry: array of names
 * @n: number of elements in @entry
 * @list: adapters of the driver
 * @driver: number of elements in @list, or a negative errno
 */
struct names {
	struct entry	*entry;
	size_t		n;
	struct adapter	*list;
	int		driver;
};

static const struct entry *find(const struct names *names, const char *name)
{
	size_t i;

	for (i = 0; i < names->n; i++)
		if (!strcmp(names->entry[i].name, name))
			return &names->entry[i];
	return NULL;
}

/*
 * Collect all names.  @list is adapter_list(), or adapter_names() to open no adapter.  The names of
 * adapters come first.  If two lines of dat.conf define the same name, only the first line is used.
 */
static void names_get(struct names *names, int (*list)(struct adapter **list))
{
	const struct conf *conf = conf_get();
	struct entry *e;
	size_t i;

	names->driver = list(&names->list);
	names->n = names->driver > 0 ? (size_t)names->driver : 0;
	names->entry = calloc(names->n + conf->n + 1, sizeof(*names->entry));
	if (!names->entry)
		tool_die("no memory");
	for (i = 0; i < names->n; i++)
		names->entry[i] = (struct entry){ names->list[i].name, &names->list[i], NULL };
	for (i = 0; i < conf->n; i++) {
		if (find(names, conf->lines[i].name))
			continue;
		e = &names->entry[names->n++];
		e->name = conf->lines[i].name;
		e->line = &conf->lines[i];
		if (e->line->alias)
			e->adapter = adapter_find(names->list, names->driver, e->line->params);
	}
}

static const char *state_of(const struct entry *e)
{
	if (e->adapter)
		return adapter_state(e->adapter);
	return e->line && !e->line->alias ? "provider" : "missing";
}

/* ---- The list ---- */

struct row {
	char	cell[COLUMNS][300];
};

static void row_limits(const struct adapter *a, char *cell, size_t size)
{
	char message[32];

	if (!text_bytes(a->query.max_message_size, message))
		strcpy(message, "small");
	snprintf(cell, size, "%u EPs, %u DTOs, %u LMRs, %s messages", a->query.max_eps,
		 a->query.max_dto_per_ep, a->query.max_lmrs, message);
}

static void row_fill(struct row *row, const struct entry *e)
{
	const struct adapter *a = e->adapter;
	const size_t size = sizeof(row->cell[0]);

	snprintf(row->cell[0], size, "%s", e->name);
	snprintf(row->cell[1], size, "%s", state_of(e));
	snprintf(row->cell[5], size, "%s", e->line ? e->line->where : "driver");
	if (!a || a->err) {
		snprintf(row->cell[3], size, "%s", e->line ? e->line->library : "-");
		strcpy(row->cell[2], "-");
		strcpy(row->cell[4], "-");
		return;
	}
	snprintf(row->cell[2], size, "%s", a->addr[0] ? a->addr : "-");
	if (adapter_is_local(a))
		strcpy(row->cell[3], "within this host");
	else
		snprintf(row->cell[3], size, "%s/%u vendor %#x", a->query.device, a->query.port,
			 a->query.vendor_id);
	row_limits(a, row->cell[4], size);
}

static void row_print(const struct row *row, const size_t width[COLUMNS])
{
	int c;

	for (c = 0; c < COLUMNS - 1; c++)
		text_print(stdout, "%-*s  ", (int)width[c], row->cell[c]);
	text_print(stdout, "%s\n", row->cell[c]);
}

static void list_text(const struct names *names, const struct conf *conf)
{
	static const struct row head = {
		{ "NAME", "STATE", "ADDRESS", "DEVICE", "LIMITS", "FROM" }
	};
	struct row *rows = calloc(names->n + 1, sizeof(*rows));
	size_t width[COLUMNS] = { 0 }, i;
	int c;

	if (!rows)
		tool_die("no memory");
	rows[0] = head;
	for (i = 0; i < names->n; i++)
		row_fill(&rows[i + 1], &names->entry[i]);
	for (i = 0; i <= names->n; i++)
		for (c = 0; c < COLUMNS; c++)
			if (strlen(rows[i].cell[c]) > width[c])
				width[c] = strlen(rows[i].cell[c]);
	for (i = 0; names->n && i <= names->n; i++)
		row_print(&rows[i], width);
	free(rows);
	/*
	 * Print malformed lines.  libdat would report them too, but libdat reads the files only
	 * when it opens an adapter.
	 */
	for (i = 0; i < conf->nwrong; i++)
		tool_warn("%s", conf->wrong[i]);
}

/* ---- One adapter, all adapters, or a JSON document ---- */

static void lines_text(const char *name)
{
	const struct conf *conf = conf_get();
	unsigned int i;

	for (i = 0; i < conf->n; i++)
		if (!strcmp(conf->lines[i].name, name))
			text_print(stdout, "  from      %s: %s \"%s\", u%u.%u, %s\n",
				   conf->lines[i].where, conf->lines[i].library,
				   conf->lines[i].params, conf->lines[i].major,
				   conf->lines[i].minor,
				   conf->lines[i].threadsafe ? "threadsafe" : "nonthreadsafe");
}

static int show_text(const struct entry *e)
{
	int ret;

	if (e->adapter || e->line)
		text_print(stdout, "%s\n", e->name);
	if (e->adapter)
		adapter_text(e->adapter);
	if (e->adapter && !e->line)
		printf("  from      driver\n");
	lines_text(e->name);
	ret = attr_show(e->name, e->line, 0);
	if (e->adapter)
		user_text(e->adapter->name);
	return ret;
}

static int show_json(const struct entry *e, int detail)
{
	int ret = 0;

	json_open(NULL, '{');
	json_str("name", e->name);
	if (e->line)
		conf_line_json(e->line);
	else if (e->adapter)
		json_str("from", "driver");
	else
		json_null("from");
	if (e->adapter)
		adapter_json(e->adapter);
	else
		json_str("state", state_of(e));
	if (detail)
		ret = attr_show(e->name, e->line, 1);
	json_close('}');
	return ret;
}

static int document(const struct names *names, const struct entry *one, int detail)
{
	const struct conf *conf = conf_get();
	int ret = 0;
	size_t i;

	json_open(NULL, '{');
	json_str("version", DAT_LINUX_VERSION_STRING);
	json_bool("driver", names->driver >= 0);
	json_open("adapters", '[');
	for (i = 0; !one && i < names->n; i++)
		ret |= show_json(&names->entry[i], detail);
	if (one)
		ret |= show_json(one, detail);
	json_close(']');
	json_open("skipped", '[');
	for (i = 0; i < conf->nwrong; i++)
		json_str(NULL, conf->wrong[i]);
	json_close(']');
	user_json(one && one->adapter ? one->adapter->name : NULL);
	json_close('}');
	return ret;
}

static void names_put(struct names *names)
{
	free(names->entry);
	free(names->list);
}

/* Show the adapter @name or all adapters.  Returns the exit status of the program. */
static int show(const char *name, int all, int json)
{
	struct entry unknown = { name, NULL, NULL };
	const struct entry *one = NULL;
	struct names names;
	int ret = 0;
	size_t i;

	names_get(&names, adapter_list);
	if (name) {
		unknown.adapter = adapter_find(names.list, names.driver, name);
		one = find(&names, name);
		one = one ? one : &unknown;
		all = 1;
	}
	if (json)
		ret = document(&names, one, all);
	else if (one)
		ret = show_text(one);
	else if (!all)
		list_text(&names, conf_get());
	for (i = 0; all && !one && !json && i < names.n; i++)
		ret |= show_text(&names.entry[i]);
	if (!one && !names.n) {
		tool_warn(NO_ADAPTERS);
		ret = -1;
	}
	names_put(&names);
	return ret ? 1 : 0;
}

/* Print the names that can be opened, one per line.  Returns the exit status of the program. */
static int show_names(void)
{
	struct names names;
	size_t i, n;

	names_get(&names, adapter_names);
	n = names.n;
	for (i = 0; i < n; i++)
		text_print(stdout, "%s\n", names.entry[i].name);
	if (!n)
		tool_warn(NO_ADAPTERS);
	names_put(&names);
	return n ? 0 : 1;
}

/* Show the counters of an adapter, which may have another name in dat.conf, or of all adapters. */
static int show_stats(struct stats_how *how)
{
	const struct entry *e;
	struct names names;
	int ret;

	names_get(&names, adapter_names);
	e = how->name ? find(&names, how->name) : NULL;
	if (e && e->line && e->line->alias)
		how->name = e->line->params;
	ret = stats_run(how);
	names_put(&names);
	return ret;
}

int main(int argc, char **argv)
{
	struct options o = { .all = 0 };

	tool_prog = "dat-info";
	text_check_stdout(tool_prog);
	options_get(&o, argc, argv);
	if (o.check)
		return check_run(o.how.json);
	if (o.list)
		return show_names();
	if (o.stats)
		return show_stats(&o.how);
	return show(o.how.name, o.all, o.how.json);
}
