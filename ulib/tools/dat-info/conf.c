// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Reads dat.conf with the parser of libdat. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../../common/log.h"
#include "../../libdat/conf.h"
#include "../common/tool.h"
#include "info.h"

static struct conf conf;

static char *copy(const char *s)
{
	char *p = strdup(s);

	if (!p)
		tool_die("no memory");
	return p;
}

/*
 * The parser calls this function for malformed lines.  The parser is linked into this program too,
 * because libdat exports neither the parser nor du_log().
 */
void du_log(enum du_log_level level, const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	if (level != DU_LOG_ERROR)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	conf.wrong = reallocarray(conf.wrong, conf.nwrong + 1, sizeof(*conf.wrong));
	if (!conf.wrong)
		tool_die("no memory");
	conf.wrong[conf.nwrong++] = copy(text);
}

static void add(const struct conf_entry *e, void *arg)
{
	struct conf_line *l;

	(void)arg;
	conf.lines = reallocarray(conf.lines, conf.n + 1, sizeof(*conf.lines));
	if (!conf.lines)
		tool_die("no memory");
	l = &conf.lines[conf.n++];
	l->name = copy(e->ia_name);
	l->library = copy(e->library);
	l->params = copy(e->ia_params);
	if (asprintf(&l->where, "%s:%u", e->file, e->line) < 0)
		tool_die("no memory");
	l->major = e->major;
	l->minor = e->minor;
	l->threadsafe = e->threadsafe;
	l->alias = conf_is_libdat(e->library);
}

const struct conf *conf_get(void)
{
	static int done;

	if (!done)
		conf_load(add, NULL);
	done = 1;
	return &conf;
}

void conf_line_json(const struct conf_line *line)
{
	char version[32];

	snprintf(version, sizeof(version), "%u.%u", line->major, line->minor);
	json_str("from", line->where);
	json_str("library", line->library);
	json_str("parameters", line->params);
	json_str("api_version", version);
	json_bool("thread_safe", line->threadsafe);
}
