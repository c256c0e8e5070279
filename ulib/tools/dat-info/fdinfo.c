// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Lines of /proc/PID/fdinfo: "type:", a tab, and fields "key=value" that blanks separate. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "info.h"

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

/* Returns the character of an escape of three octal digits, or -1 if @p is no escape. */
static int octal(const char *p)
{
	if (p[0] != '\\' || p[1] < '0' || p[1] > '3' || p[2] < '0' || p[2] > '7' || p[3] < '0' ||
	    p[3] > '7')
		return -1;
	return (p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0');
}

void fdinfo_word(const char *line, const char *key, char *buf, size_t size)
{
	const char *p = value_of(line, key);
	size_t n = 0;
	int c;

	while (p && *p && *p != '\n' && *p != ' ' && n + 1 < size) {
		c = octal(p);
		buf[n++] = c < 0 ? *p : (char)c;
		p += c < 0 ? 1 : 4;
	}
	buf[n] = '\0';
}

int fdinfo_is(const char *line, const char *type)
{
	size_t len = strlen(type);

	return !strncmp(line, type, len) && line[len] == ':' && line[len + 1] == '\t';
}
