/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* Options of the command line, and messages about wrong ones. */
#ifndef TOOLS_OPT_H
#define TOOLS_OPT_H

#include <getopt.h>

/* The first value of an option that has no short form. */
#define OPT_LONG	0x100

/*
 * Return the value of the next option of @table, or -1 after the last one.  Works like
 * getopt_long(), but the short options are the values below OPT_LONG in @table.  At a wrong option,
 * exits as opt_wrong() does.
 */
int opt_next(const char *prog, int argc, char **argv, const struct option *table);

/* Print "prog: message; see prog --help", and exit with status 2, which means wrong usage. */
void opt_wrong(const char *prog, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/*
 * Parse a number at the begin of @text, which is decimal, or hexadecimal after 0x.  Sets *@end to
 * what follows it.  Returns 0, or -1 if there is no number or it exceeds @max.
 */
int opt_parse_number(const char *text, char **end, unsigned long max, unsigned long *n);

/*
 * Returns the number @text of @option.  If it is not from @min to @max, exits as opt_wrong() does.
 */
unsigned long opt_number(const char *prog, const char *option, const char *text,
			 unsigned long min, unsigned long max);

#endif /* TOOLS_OPT_H */
