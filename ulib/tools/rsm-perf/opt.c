// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Options of rsm-perf, and the check of their combination. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/opt.h"
#include "../common/text.h"
#include "perf.h"

#define PROG		"rsm-perf"
#define MAX_INTERVAL	86400	/* seconds */
#define wrong(...)	opt_wrong(PROG, __VA_ARGS__)

const char *const perf_op_names[] = { "put", "get", "putv", "getv", "memcpy" };
const char *const perf_test_names[] = { "lat", "bw" };

static const char usage_text[] =
"usage: rsm-perf [OPTION]...                   export, and measure from another process\n"
"       rsm-perf --serve [OPTION]...           export for others until the input ends\n"
"       rsm-perf --import=NODE:ID [OPTION]...  measure against what another exports\n"
"\n"
"  -o, --op OP             put, get, putv, getv, or memcpy to compare with (put)\n"
"  -t, --test TEST         lat: each call by itself; bw: all of them (lat)\n"
"  -s, --size BYTES        of a transfer or an entry, 1 to %lu (64; bw: 65536)\n"
"  -a, --all               all sizes from 1 to %lu in powers of two\n"
"  -e, --entries N         of putv and getv, 1 to %d (16)\n"
"  -g, --gap BYTES         between entries in the segment, 0 to %lu (0)\n"
"  -n, --iters N           calls, 1 to %lu (1000)\n"
"  -x, --explicit          one barrier around all calls, not one for each\n"
"  -l, --local             putv and getv use a local memory handle\n"
"  -W, --write-only        import without the right to read\n"
"  -c, --controller NAME   loopback, rdma0, rdma1, ... (loopback)\n"
"  -i, --import NODE:ID    segment, as --serve prints it; the same sizes and entries\n"
"  -k, --serve             print NODE:ID\n"
"  -j, --json              results as a JSON array\n"
"      --interval SECONDS  show progress on a terminal after this time and at intervals\n"
"                          of it, 1 to %d\n"
"  -h, --help              this text\n"
"      --version           the version\n"
"\n"
"MB are 2^20 bytes.\n";

static unsigned long number(const char *option, unsigned long min, unsigned long max)
{
	return opt_number(PROG, option, optarg, min, max);
}

static int find_name(const char *const *names, int n, const char *option)
{
	int i;

	for (i = 0; i < n; i++)
		if (!strcmp(optarg, names[i]))
			return i;
	wrong("%s does not know '%s'", option, optarg);
}

static void parse_import(struct perf_opt *o)
{
	unsigned long node, segment;
	char *end;

	if (opt_parse_number(optarg, &end, RSM_MAX_NODE, &node) || *end != ':' ||
	    opt_parse_number(end + 1, &end, UINT32_MAX, &segment) || *end || !segment)
		wrong("--import wants NODE:ID, with a NODE up to %d, not '%s'", RSM_MAX_NODE, optarg);
	o->remote = 1;
	o->node = (rsm_node_id_t)node;
	o->segment = (rsm_memseg_id_t)segment;
}

enum { OPT_INTERVAL = OPT_LONG, OPT_VERSION };

static const struct option long_options[] = {
	{ "op",		required_argument,	NULL, 'o' },
	{ "test",	required_argument,	NULL, 't' },
	{ "size",	required_argument,	NULL, 's' },
	{ "all",	no_argument,		NULL, 'a' },
	{ "entries",	required_argument,	NULL, 'e' },
	{ "gap",	required_argument,	NULL, 'g' },
	{ "iters",	required_argument,	NULL, 'n' },
	{ "explicit",	no_argument,		NULL, 'x' },
	{ "local",	no_argument,		NULL, 'l' },
	{ "write-only",	no_argument,		NULL, 'W' },
	{ "controller",	required_argument,	NULL, 'c' },
	{ "import",	required_argument,	NULL, 'i' },
	{ "serve",	no_argument,		NULL, 'k' },
	{ "json",	no_argument,		NULL, 'j' },
	{ "interval",	required_argument,	NULL, OPT_INTERVAL },
	{ "help",	no_argument,		NULL, 'h' },
	{ "version",	no_argument,		NULL, OPT_VERSION },
	{ NULL,		0,			NULL, 0 },
};

/* Parse an option whose argument is a number.  Returns 0 if @c is another option. */
static int parse_number(int c, struct perf_opt *o)
{
	if (c == 's')
		o->size = number("--size", 1, MAX_SIZE);
	else if (c == 'e')
		o->entries = number("--entries", 1, RSM_MAX_SGIOREQS);
	else if (c == 'g')
		o->gap = number("--gap", 0, MAX_SIZE);
	else if (c == 'n')
		o->iters = number("--iters", 1, MAX_ITERS);
	else if (c == OPT_INTERVAL)
		o->interval_ms = 1000 * (int)number("--interval", 1, MAX_INTERVAL);
	else
		return 0;
	return 1;
}

static int parse_name(int c, struct perf_opt *o)
{
	if (c == 'o')
		o->op = find_name(perf_op_names, PERF_OPS, "--op");
	else if (c == 't')
		o->test = find_name(perf_test_names, PERF_TESTS, "--test");
	else if (c == 'c')
		o->controller = optarg;
	else if (c == 'i')
		parse_import(o);
	else
		return 0;
	return 1;
}

static int parse_flag(int c, struct perf_opt *o)
{
	struct { int c, *flag; } flags[] = {
		{ 'a', &o->all }, { 'x', &o->explicit }, { 'l', &o->handle },
		{ 'W', &o->write_only }, { 'k', &o->serve }, { 'j', &o->json },
	};
	unsigned int i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (flags[i].c == c)
			return *flags[i].flag = 1;
	return 0;
}

static void check(struct perf_opt *o)
{
	int vector = perf_vector(o);

	if (o->serve && o->remote)
		wrong("--serve exports, and --import uses what another exports");
	if (o->all && o->size)
		wrong("--all has all sizes, and --size one");
	if (!o->serve && !vector && (o->entries || o->gap || o->handle))
		wrong("--entries, --gap and --local are for --op putv and getv");
	if (o->write_only && (o->op == OP_GET || o->op == OP_GETV))
		wrong("--write-only is not for --op %s, which reads", perf_op_names[o->op]);
	if (o->op == OP_MEMCPY && (o->explicit || o->write_only || o->remote || o->serve))
		wrong("--op memcpy has nothing to do with segments");
	if (!o->entries)
		o->entries = vector ? RSM_MAX_SGIOREQS : 1;
	if (!o->size)
		o->size = o->test == TEST_LAT ? 64 : 65536;
	if (o->all)
		o->size = MAX_ALL;
}

void perf_options(int argc, char **argv, struct perf_opt *o)
{
	int c;

	*o = (struct perf_opt) { .iters = 1000, .controller = "loopback" };
	while ((c = opt_next(PROG, argc, argv, long_options)) != -1) {
		if (parse_number(c, o) || parse_name(c, o) || parse_flag(c, o))
			continue;
		if (c == OPT_VERSION)
			text_version(PROG);
		else
			printf(usage_text, MAX_SIZE, MAX_ALL, RSM_MAX_SGIOREQS, MAX_SIZE, MAX_ITERS,
			       MAX_INTERVAL);
		exit(0);
	}
	if (optind < argc)
		wrong("there is no use for '%s'", argv[optind]);
	check(o);
}
