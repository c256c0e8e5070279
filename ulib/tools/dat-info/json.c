// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Prints JSON that is valid for any content of the strings. */
#include <inttypes.h>
#include <stdio.h>

#include "../common/text.h"
#include "info.h"

static int depth;
static int filled;	/* flag: the innermost open bracket has an element */
static int one_line;

void json_one_line(void)
{
	one_line = 1;
}

/* Begin a line at the present depth, unless the document is one line. */
static void new_line(void)
{
	if (!one_line)
		printf("\n%*s", 2 * depth, "");
}

static void put_key(const char *key)
{
	if (filled)
		putchar(',');
	filled = 1;
	if (depth)
		new_line();
	if (key) {
		text_json(key);
		fputs(": ", stdout);
	}
}

void json_open(const char *key, char bracket)
{
	put_key(key);
	putchar(bracket);
	depth++;
	filled = 0;
}

void json_close(char bracket)
{
	depth--;
	if (filled)
		new_line();
	putchar(bracket);
	filled = depth > 0;
	if (!depth)
		putchar('\n');
}

void json_str(const char *key, const char *value)
{
	put_key(key);
	text_json(value);
}

void json_num(const char *key, uint64_t value)
{
	put_key(key);
	printf("%" PRIu64, value);
}

void json_real(const char *key, double value)
{
	put_key(key);
	printf("%.1f", value);
}

void json_bool(const char *key, int value)
{
	put_key(key);
	fputs(value ? "true" : "false", stdout);
}

void json_null(const char *key)
{
	put_key(key);
	fputs("null", stdout);
}
