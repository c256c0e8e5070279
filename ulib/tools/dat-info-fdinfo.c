// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Lines of /proc/PID/fdinfo: "type:", a tab, and fields "key=value" that blanks separate. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "dat-info.h"

/* Returns the text after "key=", or NULL if the line has no such key. */
static const char *value_of(const char *line, const char *key)
{
	size_t len = strlen(key);
	const char *p = line;

	while ((p = strpbrk(p, " \t"))) {
		p++;
		if (!strncmp(p, key, len) && p[len] == '=')
			return p + len + 1;
	}
	return NULL;
}

uint64_t fdinfo_number(const char *line, const char *key, uint64_t missing)
{
	const char *value = value_of(line, key);

	return value ? strtoull(value, NULL, 0) : missing;
}

void fdinfo_word(const char *line, const char *key, char *buf, size_t size)
{
	const char *value = value_of(line, key);

	snprintf(buf, size, "%.*s", value ? (int)strcspn(value, "\n ") : 0, value ? value : "");
}

int fdinfo_is(const char *line, const char *type)
{
	size_t len = strlen(type);

	return !strncmp(line, type, len) && line[len] == ':' && line[len + 1] == '\t';
}
