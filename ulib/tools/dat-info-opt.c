// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The command line of dat-info. */
#define _GNU_SOURCE
#include <ctype.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "dat-info.h"
#include "text.h"

static const char usage_text[] =
"usage: dat-info [--json] [IA | --all]    list adapters, or show one or all\n"
"       dat-info --list                   print only the names\n"
"       dat-info [--json] --check         find out what keeps DAT from working\n"
"       dat-info [--json] --stats [--watch SECONDS] [IA]\n"
"                                         show counters of adapters, EPs and EVDs\n"
"       dat-info --prometheus FILE [--watch SECONDS] [IA]\n"
"                                         write the counters of adapters to FILE\n"
"\n"
"  -a, --all        all adapters with their attributes, limits and users\n"
"  -c, --check      test the set-up; what is wrong ends in what to do\n"
"  -j, --json       one JSON document; with --watch one on each line\n"
"  -l, --list       the names that can be opened, one on each line\n"
"  -p, --prometheus text format of Prometheus; FILE - is standard output\n"
"  -s, --stats      counters; those of other users' processes need root\n"
"  -w, --watch      repeat every SECONDS, with rates, until interrupted\n"
"  -h, --help       this text\n"
"      --version    the version\n"
"\n"
"Exit status: 0 if all is well; 1 if an adapter can't be opened, there is none, or\n"
"--check warns or fails; 2 for wrong usage.\n";

static const struct option long_options[] = {
	{ "all",	no_argument,		NULL, 'a' },
	{ "check",	no_argument,		NULL, 'c' },
	{ "json",	no_argument,		NULL, 'j' },
	{ "list",	no_argument,		NULL, 'l' },
	{ "prometheus",	required_argument,	NULL, 'p' },
	{ "stats",	no_argument,		NULL, 's' },
	{ "watch",	required_argument,	NULL, 'w' },
	{ "help",	no_argument,		NULL, 'h' },
	{ "version",	no_argument,		NULL, 'V' },
	{ NULL,		0,			NULL, 0 },
};

/* Print what is wrong with the command line, and exit with status 2. */
static void __attribute__((format(printf, 1, 2), noreturn)) bad_usage(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_print(stderr, "dat-info: %s; see dat-info --help\n", text);
	exit(2);
}

/*
 * Complain about the option that getopt_long() has refused with @c, '?' or ':'.  A short option
 * sets optopt, and optind may still be before the word that contains it.
 */
static void __attribute__((noreturn)) bad_option(int c, char **argv)
{
	char letter[3] = { '-', (char)optopt, '\0' };
	const char *word = argv[optind - 1];
	int is_long = !strncmp(word, "--", 2);

	if (c == ':')
		bad_usage("option '%s' needs an argument", is_long ? word : letter);
	if (optopt && is_long && strchr(word, '='))
		bad_usage("option '%s' takes no argument", word);
	bad_usage("unknown option '%s'", optopt ? letter : word);
}

static unsigned int seconds_of(const char *text)
{
	unsigned long n;
	char *end;

	n = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end || !n || n > 86400)
		bad_usage("--watch needs a number of seconds from 1 to 86400, not '%s'", text);
	return (unsigned int)n;
}

/* Check the options against each other. */
static void options_check(const struct options *o)
{
	int modes = o->all + o->check + o->list + o->stats;

	if (modes > 1)
		bad_usage("--all, --check, --list and --stats exclude each other");
	if (o->how.name && modes && !o->stats)
		bad_usage("an adapter's name is one argument too many here");
	if (o->how.seconds && !o->stats)
		bad_usage("--watch is for --stats and --prometheus");
	if (o->how.json && (o->list || o->how.file))
		bad_usage("--json does not go with --list or --prometheus");
	if (o->how.file && !o->how.file[0])
		bad_usage("--prometheus needs the name of a file");
	if (o->how.file && o->how.seconds && !strcmp(o->how.file, "-"))
		bad_usage("--prometheus writes again and again only to a file, not to -");
}

void options_get(struct options *o, int argc, char **argv)
{
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":acjlp:sw:h", long_options, NULL)) != -1) {
		switch (c) {
		case 'a':
			o->all = 1;
			break;
		case 'c':
			o->check = 1;
			break;
		case 'j':
			o->how.json = 1;
			break;
		case 'l':
			o->list = 1;
			break;
		case 'p':
			o->how.file = optarg;
			o->stats = 1;
			break;
		case 's':
			o->stats = 1;
			break;
		case 'w':
			o->how.seconds = seconds_of(optarg);
			break;
		case 'h':
			fputs(usage_text, stdout);
			exit(0);
		case 'V':
			text_version("dat-info");
			exit(0);
		default:
			bad_option(c, argv);
		}
	}
	if (argc - optind > 1)
		bad_usage("'%s' is one argument too many", argv[optind + 1]);
	o->how.name = argv[optind];
	options_check(o);
}
