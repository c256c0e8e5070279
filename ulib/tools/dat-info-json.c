// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Prints JSON that is valid for any content of the strings. */
#include <inttypes.h>
#include <stdio.h>

#include "dat-info.h"
#include "text.h"

static int depth;
static int filled;	/* flag: the innermost open bracket has an element */

static void put_key(const char *key)
{
	if (filled)
		putchar(',');
	filled = 1;
	if (depth)
		printf("\n%*s", 2 * depth, "");
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
		printf("\n%*s", 2 * depth, "");
	putchar(bracket);
	filled = 1;
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
