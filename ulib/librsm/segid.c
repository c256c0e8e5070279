// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * The parser for rsm.segmentid.  The file has lines of the form
 *
 *	reserved APPID BASE LENGTH
 *
 * BASE is hexadecimal and LENGTH is decimal.  The keyword "reserve" has the same meaning, because
 * manuals and examples use both spellings.  A line that begins with '#' is a comment.  No other
 * lines are valid, not even empty lines.  The parser stops at the line of the requested
 * application.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <rsmapi.h>

#include "../common/lines.h"
#include "segid.h"

#define SEGID_FILE_MAX	(1 << 20)

static int word_is(struct du_span w, const char *s)
{
	return strlen(s) == w.len && !strncasecmp(w.at, s, w.len);
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/* Parse @w as a number.  Returns 0 if the word is not a number of at most 32 bits. */
static int word_to_number(struct du_span w, int base, uint32_t *n)
{
	uint64_t value = 0;
	size_t i;

	if (base == 16 && w.len > 2 && w.at[0] == '0' && (w.at[1] | 0x20) == 'x') {
		w.at += 2;
		w.len -= 2;
	}
	for (i = 0; i < w.len; i++) {
		if (digit_of(w.at[i]) >= base)
			return 0;
		value = value * (uint64_t)base + (uint64_t)digit_of(w.at[i]);
		if (value > UINT32_MAX)
			return 0;
	}
	*n = (uint32_t)value;
	return w.len > 0;
}

/*
 * Parse a line.  Returns RSMERR_BAD_APPID if the line is valid but belongs to another application.
 */
static int parse_line(struct du_span line, const char *appid, uint32_t *base, uint32_t *length)
{
	struct du_span keyword = du_next_word(&line), id, from, count;
	uint32_t b, l;

	if (keyword.len && *keyword.at == '#')
		return RSMERR_BAD_APPID;
	id = du_next_word(&line);
	from = du_next_word(&line);
	count = du_next_word(&line);
	if (!count.len)
		return RSMERR_BAD_CONF;
	if (!word_is(keyword, "reserved") && !word_is(keyword, "reserve"))
		return RSMERR_BAD_CONF;
	if (!word_is(id, appid))
		return RSMERR_BAD_APPID;
	if (!word_to_number(from, 16, &b) || !word_to_number(count, 10, &l))
		return RSMERR_BAD_CONF;
	*base = b;
	*length = l;
	return RSM_SUCCESS;
}

int segid_parse(const char *text, size_t len, const char *appid, uint32_t *base,
		uint32_t *length)
{
	struct du_span rest = { .at = text, .len = len }, line;
	int ret = RSMERR_BAD_APPID;

	while (ret == RSMERR_BAD_APPID && du_next_line(&rest, &line))
		ret = parse_line(line, appid, base, length);
	return ret;
}

int segid_lookup(const char *path, const char *appid, uint32_t *base, uint32_t *length)
{
	char *text = NULL;
	ssize_t len = du_read_file(path, SEGID_FILE_MAX, &text);
	int ret = RSMERR_BAD_CONF;

	if (len >= 0)
		ret = segid_parse(text, (size_t)len, appid, base, length);
	free(text);
	return ret;
}
