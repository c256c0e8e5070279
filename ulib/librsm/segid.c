// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reading rsm.segmentid: lines of
 *
 *	reserved APPID BASE LENGTH
 *
 * with BASE in hexadecimal and LENGTH in decimal.  "reserve" is the same: manuals and
 * examples have both.  '#' begins a line of comment; nothing else may stand in between,
 * not even an empty line.  Lines behind the one sought are not looked at.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <rsmapi.h>

#include "segid.h"

#define SEGID_FILE_MAX	(1 << 20)

/* A part of the text, which has no NULs to end it. */
struct word {
	const char	*at;
	size_t		len;
};

/* isspace() of the C locale without the end of a line; the file means the same in all. */
static int is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The first word of @line, which is what is behind it afterwards. */
static struct word next_word(struct word *line)
{
	const char *end = line->at + line->len;
	struct word w;

	while (line->at < end && is_blank(*line->at))
		line->at++;
	w.at = line->at;
	while (line->at < end && !is_blank(*line->at))
		line->at++;
	w.len = (size_t)(line->at - w.at);
	line->len = (size_t)(end - line->at);
	return w;
}

static int word_is(struct word w, const char *s)
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

/* All of the word is a number of 32 bits. */
static int word_to_number(struct word w, int base, uint32_t *n)
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

/* Returns RSMERR_BAD_APPID if the line is good and somebody else's. */
static int parse_line(struct word line, const char *appid, uint32_t *base, uint32_t *length)
{
	struct word keyword = next_word(&line), id, from, count;
	uint32_t b, l;

	if (keyword.len && *keyword.at == '#')
		return RSMERR_BAD_APPID;
	id = next_word(&line);
	from = next_word(&line);
	count = next_word(&line);
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
	int ret = RSMERR_BAD_APPID;
	struct word line;
	const char *eol;

	while (len && ret == RSMERR_BAD_APPID) {
		eol = memchr(text, '\n', len);
		line.at = text;
		line.len = eol ? (size_t)(eol - text) : len;
		len -= line.len + (eol ? 1 : 0);
		text = eol ? eol + 1 : NULL;
		ret = parse_line(line, appid, base, length);
	}
	return ret;
}

/* Returns the length, or -1 also for a file of no sensible size. */
static ssize_t read_all(int fd, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size) {
		n = read(fd, buf + len, size - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (!n)
			return (ssize_t)len;
		len += (size_t)n;
	}
	return -1;
}

int segid_lookup(const char *path, const char *appid, uint32_t *base, uint32_t *length)
{
	int fd, ret = RSMERR_BAD_CONF;
	ssize_t len;
	char *buf;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return RSMERR_BAD_CONF;
	buf = malloc(SEGID_FILE_MAX + 1);
	len = buf ? read_all(fd, buf, SEGID_FILE_MAX + 1) : -1;
	if (len >= 0)
		ret = segid_parse(buf, (size_t)len, appid, base, length);
	free(buf);
	close(fd);
	return ret;
}
