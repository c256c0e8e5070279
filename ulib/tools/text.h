/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Untrusted text, and standard output whose errors must not be ignored. */
#ifndef TOOLS_TEXT_H
#define TOOLS_TEXT_H

#include <stddef.h>

/* Returns the number of bytes of the UTF-8 character at @s, or 0 if there is no valid one. */
size_t text_utf8_len(const unsigned char *s);

/*
 * Replace, in place, each byte that could control a terminal by '_': control characters of
 * C0 and C1, marks that reorder a line, and bytes that are not UTF-8.  Newlines stay if
 * @newlines is true.
 */
void text_clean(char *s, int newlines);

/* Print @s to standard output as a JSON string, quotes included. */
void text_json(const char *s);

/* From now on a program that cannot write its standard output exits with status 1. */
void text_check_stdout(const char *prog);

#endif /* TOOLS_TEXT_H */
