// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat/dat_version.h>

#include "text.h"

/*
 * Decode the UTF-8 character at @s.  *@len gets its length in bytes, or 0 if the character is
 * truncated, overlong or out of range.
 */
static uint32_t utf8(const unsigned char *s, size_t *len)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = *s < 0x80 ? 1 : *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2, i;
	uint32_t c;

	*len = 0;
	if (n > 1 && (*s < 0xc2 || *s > 0xf4))
		return 0;
	c = n == 1 ? *s : *s & (0x7fU >> n);
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*len = n;
	return c;
}

size_t text_utf8_len(const unsigned char *s)
{
	size_t len;

	utf8(s, &len);
	return len;
}

/* Returns whether @c is a control character, or a line separator or directional mark of Unicode. */
static int steers(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

void text_clean(char *s, int newlines)
{
	uint32_t c;
	size_t len;

	for (; *s; s += len) {
		c = utf8((const unsigned char *)s, &len);
		if (newlines && c == '\n')
			continue;
		if (!len || steers(c)) {
			len = len ? len : 1;
			memset(s, '_', len);
		}
	}
}

void text_json_to(FILE *to, const char *string)
{
	const unsigned char *s = (const unsigned char *)string;
	size_t len;

	putc('"', to);
	for (; *s; s += len) {
		len = text_utf8_len(s);
		if (!len) {
			fputs("\\ufffd", to);
			len = 1;
		} else if (*s == '"' || *s == '\\') {
			fprintf(to, "\\%c", *s);
		} else if (*s < 0x20 || *s == 0x7f) {
			fprintf(to, "\\u%04x", *s);
		} else {
			fwrite(s, 1, len, to);
		}
	}
	putc('"', to);
}

void text_json(const char *string)
{
	text_json_to(stdout, string);
}

static const char *prog_name;

static void check_stdout(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return;
	fprintf(stderr, "%s: cannot write the output: %s\n", prog_name, strerror(errno));
	_exit(1);
}

void text_check_stdout(const char *prog)
{
	prog_name = prog;
	/* At the limit of ulimit -f, write() then returns an error, as with a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	atexit(check_stdout);
}

void text_version(const char *prog)
{
	printf("%s " DAT_LINUX_VERSION_STRING "\n", prog);
}
