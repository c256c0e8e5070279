/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* Output of untrusted text, and checks for errors of standard output. */
#ifndef TOOLS_TEXT_H
#define TOOLS_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Returns the length in bytes of the UTF-8 character at @s, or 0 if the character is invalid. */
size_t text_utf8_len(const unsigned char *s);

/*
 * Replace each byte of @s that could control a terminal by '_'.  Such bytes are C0 and C1 control
 * characters, marks that change the text direction, and invalid UTF-8.  If @newlines is true,
 * newlines are kept.
 */
void text_clean(char *s, int newlines);

/* Print @s to standard output, or to @to, as a JSON string, with the quotes. */
void text_json(const char *s);
void text_json_to(FILE *to, const char *s);

/* Print the name of a tool and the version of this package. */
void text_version(const char *prog);

/* Check standard output at exit: if the output could not be written, the exit status becomes 1. */
void text_check_stdout(const char *prog);

#endif /* TOOLS_TEXT_H */
