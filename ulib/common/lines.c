// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cancel.h"
#include "lines.h"

static ssize_t read_all(int fd, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size) {
		n = read(fd, buf + len, size - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return (ssize_t)len;
		len += (size_t)n;
	}
	return -EFBIG;
}

static ssize_t read_file(const char *path, size_t max, char **text)
{
	/* O_NONBLOCK: the open of a FIFO must not wait for a writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t len = -ENOMEM;
	struct stat st;
	char *buf = NULL;

	if (fd < 0)
		return errno == ENXIO ? -EINVAL : -errno;
	if (!fstat(fd, &st) && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		len = -EINVAL;
	else
		buf = malloc(max + 1);
	if (buf)
		len = read_all(fd, buf, max + 1);
	close(fd);
	if (len < 0)
		free(buf);
	else
		*text = buf;
	return len;
}

ssize_t du_read_file(const char *path, size_t max, char **text)
{
	int state = du_cancel_off();
	ssize_t len = read_file(path, max, text);

	du_cancel_restore(state);
	return len;
}

int du_next_line(struct du_span *text, struct du_span *line)
{
	const char *eol;
	size_t taken;

	if (!text->len)
		return 0;
	eol = memchr(text->at, '\n', text->len);
	line->at = text->at;
	line->len = eol ? (size_t)(eol - text->at) : text->len;
	taken = line->len + (eol ? 1 : 0);
	text->at += taken;
	text->len -= taken;
	return 1;
}

int du_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

void du_skip_blanks(struct du_span *line)
{
	while (line->len && du_is_blank(*line->at)) {
		line->at++;
		line->len--;
	}
}

struct du_span du_next_word(struct du_span *line)
{
	struct du_span word;

	du_skip_blanks(line);
	word.at = line->at;
	word.len = 0;
	while (word.len < line->len && !du_is_blank(word.at[word.len]))
		word.len++;
	line->at += word.len;
	line->len -= word.len;
	return word;
}
