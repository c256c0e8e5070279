// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Writing JSON: valid whatever the strings hold. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dat-info.h"

static int depth;
static int filled;	/* the innermost bracket has something in it */

/*
 * Bytes of the UTF-8 character at @s, 0 if it is none: cut off, longer than need be, a
 * surrogate, or beyond the last one.
 */
static size_t utf8_len(const unsigned char *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len, i;
	uint32_t c;

	if (*s < 0x80)
		return 1;
	len = *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;
	if (*s < 0xc2 || *s > 0xf4)
		return 0;
	c = *s & (0x7fU >> len);
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	return len;
}

static void put_string(const char *string)
{
	const unsigned char *s = (const unsigned char *)string;
	size_t len;

	putchar('"');
	for (; *s; s += len) {
		len = utf8_len(s);
		if (!len) {
			fputs("\\ufffd", stdout);
			len = 1;
		} else if (*s == '"' || *s == '\\') {
			printf("\\%c", *s);
		} else if (*s < 0x20 || *s == 0x7f) {
			printf("\\u%04x", *s);
		} else {
			fwrite(s, 1, len, stdout);
		}
	}
	putchar('"');
}

static void put_key(const char *key)
{
	if (filled)
		putchar(',');
	filled = 1;
	if (depth)
		printf("\n%*s", 2 * depth, "");
	if (key) {
		put_string(key);
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
	put_string(value);
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
