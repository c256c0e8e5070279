/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Configuration files: their text, its lines, and the words of a line. */
#ifndef DU_LINES_H
#define DU_LINES_H

#include <stddef.h>
#include <sys/types.h>

/* A part of a text; no NUL ends it. */
struct du_span {
	const char	*at;
	size_t		len;
};

/*
 * Read a file of at most @max bytes into @text, which the caller frees.  Returns the length or a
 * negative errno: EFBIG if the file is longer.
 */
ssize_t du_read_file(const char *path, size_t max, char **text);

/* Take the first line off @text; @line is without its newline.  Returns 0 if @text is empty. */
int du_next_line(struct du_span *text, struct du_span *line);

/* Like isspace() in the C locale, except for the newline: a file means the same in every locale. */
int du_is_blank(char c);

void du_skip_blanks(struct du_span *line);

/* Take the first word off @line; returns an empty word if there is none. */
struct du_span du_next_word(struct du_span *line);

#endif /* DU_LINES_H */
