/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* Functions that read a configuration file and split its text into lines and words. */
#ifndef DU_LINES_H
#define DU_LINES_H

#include <stddef.h>
#include <sys/types.h>

/* A part of a text.  No NUL follows the last byte. */
struct du_span {
	const char	*at;
	size_t		len;
};

/*
 * Read a file of at most @max bytes.  *@text gets the content, which the caller frees.  Returns the
 * length or a negative errno: -EFBIG if the file is longer than @max; -EINVAL if it is a FIFO or a
 * socket, which could make the call wait for ever.
 */
ssize_t du_read_file(const char *path, size_t max, char **text);

/* Move the first line of @text to @line, without its newline.  Returns 0 if @text is empty. */
int du_next_line(struct du_span *text, struct du_span *line);

/*
 * Like isspace() in the C locale, but without the newline.  isspace() itself depends on the locale,
 * but a file must have the same meaning in every locale.
 */
int du_is_blank(char c);

void du_skip_blanks(struct du_span *line);

/* Remove the first word from @line and return the word.  The word is empty if @line has none. */
struct du_span du_next_word(struct du_span *line);

#endif /* DU_LINES_H */
