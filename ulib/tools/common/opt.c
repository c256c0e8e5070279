// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opt.h"
#include "text.h"

void opt_wrong(const char *prog, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_clean(text, 0);
	fprintf(stderr, "%s: %s; see %s --help\n", prog, text, prog);
	exit(2);
}

/* Make the argument of getopt_long() for short options: its ':' makes it print no message. */
static void short_options(const struct option *table, char text[128])
{
	size_t n = 0;

	text[n++] = ':';
	for (; table->name; table++) {
		if (table->val >= OPT_LONG || n > 124)
			continue;
		text[n++] = (char)table->val;
		if (table->has_arg == required_argument)
			text[n++] = ':';
	}
	text[n] = 0;
}

static const struct option *option_of(const struct option *table, int val)
{
	while (table->name && table->val != val)
		table++;
	return table->name ? table : NULL;
}

/*
 * Report why getopt_long() has returned @c.  It sets optopt to the value of an option that is in
 * the table, to an unknown short option, or to 0 after an unknown or ambiguous long option.
 */
static void __attribute__((noreturn)) report(const char *prog, int c, char *word,
					     const struct option *table)
{
	const struct option *o = optopt ? option_of(table, optopt) : NULL;
	size_t len = strcspn(word, "=");
	int likely = 0;

	if (o && c == ':')
		opt_wrong(prog, "--%s wants an argument", o->name);
	if (o)
		opt_wrong(prog, "--%s takes no argument", o->name);
	if (optopt)
		opt_wrong(prog, "there is no option -%c", optopt);
	for (; table->name; table++)
		likely += len > 2 && !strncmp(word + 2, table->name, len - 2);
	opt_wrong(prog, likely > 1 ? "%s is ambiguous" : "there is no option %s", word);
}

int opt_next(const char *prog, int argc, char **argv, const struct option *table)
{
	char text[128];
	int c;

	short_options(table, text);
	opterr = 0;
	c = getopt_long(argc, argv, text, table, NULL);
	if (c == '?' || c == ':')
		report(prog, c, argv[optind - 1], table);
	return c;
}

int opt_parse_number(const char *text, char **end, unsigned long max, unsigned long *n)
{
	int hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');

	/* strtoul() also takes blanks and a sign. */
	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	*n = strtoul(text, end, hex ? 16 : 10);
	return errno || *n > max ? -1 : 0;
}

unsigned long opt_number(const char *prog, const char *option, const char *text,
			 unsigned long min, unsigned long max)
{
	unsigned long n;
	char *end;

	if (opt_parse_number(text, &end, max, &n) || *end || n < min)
		opt_wrong(prog, "%s wants a number from %lu to %lu, not '%s'", option, min, max,
			  text);
	return n;
}
