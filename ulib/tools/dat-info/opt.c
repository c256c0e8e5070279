// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The command line of dat-info. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../common/file.h"
#include "../common/opt.h"
#include "../common/text.h"
#include "info.h"

static const char usage_text[] =
"usage: dat-info [--json] [IA | --all]    list adapters, or show one or all\n"
"       dat-info --list                   print only the names\n"
"       dat-info [--json] --check         find out what keeps DAT from working\n"
"       dat-info [--json] --stats [--watch SECONDS] [IA]\n"
"                                         show counters of adapters, EPs and EVDs\n"
"       dat-info --prometheus FILE [--watch SECONDS] [IA]\n"
"                                         write the counters of adapters to FILE\n"
"\n"
"  -a, --all           all adapters with their attributes, limits and users\n"
"  -c, --check         test the set-up; print advice for each problem\n"
"  -j, --json          one JSON document; with --watch one on each line\n"
"  -l, --list          the names that can be opened, one on each line\n"
"  -p, --prometheus FILE  text format of Prometheus; - is standard output\n"
"  -s, --stats         counters; those of other users' processes need root\n"
"  -w, --watch SECONDS  repeat, with rates, until interrupted\n"
"  -h, --help          this text\n"
"      --version       the version\n"
"\n"
"Exit status: 0 if all is well; 1 if an adapter can't be opened, there is none, or\n"
"--check warns or fails; 2 for wrong usage.\n";

enum { OPT_VERSION = OPT_LONG };

static const struct option long_options[] = {
	{ "all",	no_argument,		NULL, 'a' },
	{ "check",	no_argument,		NULL, 'c' },
	{ "json",	no_argument,		NULL, 'j' },
	{ "list",	no_argument,		NULL, 'l' },
	{ "prometheus",	required_argument,	NULL, 'p' },
	{ "stats",	no_argument,		NULL, 's' },
	{ "watch",	required_argument,	NULL, 'w' },
	{ "help",	no_argument,		NULL, 'h' },
	{ "version",	no_argument,		NULL, OPT_VERSION },
	{ NULL,		0,			NULL, 0 },
};

/* Check the options against each other. */
static void options_check(const struct options *o)
{
	int modes = o->all + o->check + o->list + o->stats;
	const char *why;

	if (modes > 1)
		opt_wrong("dat-info", "--all, --check, --list and --stats exclude each other");
	if (o->how.name && modes && !o->stats)
		opt_wrong("dat-info", "an adapter's name is one argument too many here");
	if (o->how.seconds && !o->stats)
		opt_wrong("dat-info", "--watch is for --stats and --prometheus");
	if (o->how.json && (o->list || o->how.file))
		opt_wrong("dat-info", "--json does not go with --list or --prometheus");
	if (o->how.file && o->how.seconds && !strcmp(o->how.file, "-"))
		opt_wrong("dat-info", "--prometheus writes again and again only to a file, not to -");
	why = o->how.file && strcmp(o->how.file, "-") ? file_wrong(o->how.file) : NULL;
	if (why)
		opt_wrong("dat-info", "--prometheus cannot write '%s': %s", o->how.file, why);
}

void options_get(struct options *o, int argc, char **argv)
{
	int c;

	while ((c = opt_next("dat-info", argc, argv, long_options)) != -1) {
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
			o->how.seconds = (unsigned int)opt_number("dat-info", "--watch", optarg,
								     1, 86400);
			break;
		case 'h':
			fputs(usage_text, stdout);
			exit(0);
		case OPT_VERSION:
			text_version("dat-info");
			exit(0);
		}
	}
	if (argc - optind > 1)
		opt_wrong("dat-info", "'%s' is one argument too many", argv[optind + 1]);
	o->how.name = argv[optind];
	options_check(o);
}
