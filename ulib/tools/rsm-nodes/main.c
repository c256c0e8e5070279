// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * rsm-nodes: loads the table of RSM nodes and the cluster key into the driver, and shows the table.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/opt.h"
#include "../common/text.h"
#include "nodes.h"

#define PROG	"rsm-nodes"

static void clear(void)
{
	struct dat_rsm_nodes arg = { .size = sizeof(arg), .flags = DAT_RSM_NODES_TABLE };
	int fd = device();

	call(fd, &arg);
	close(fd);
}

static void trust_network(int on)
{
	struct dat_rsm_nodes arg = {
		.size = sizeof(arg), .flags = DAT_RSM_NODES_TRUST,
		.state = on ? DAT_RSM_NODE_TRUSTS : 0,
	};
	int fd = device();

	call(fd, &arg);
	close(fd);
}

static const char usage_text[] =
"usage: rsm-nodes show [--json]              print the id, the key's state and the table\n"
"       rsm-nodes status [--json]            print which nodes answer\n"
"       rsm-nodes load [FILE]                load " FILE_NAME " or FILE\n"
"       rsm-nodes clear                      empty the table\n"
"       rsm-nodes keygen [--force] [FILE]    make " KEY_FILE " or FILE\n"
"       rsm-nodes key [FILE | --forget]      load " KEY_FILE " or FILE\n"
"       rsm-nodes trust-network on | off     believe all nodes that have this setting\n"
"\n"
"  -j, --json       a JSON object\n"
"      --force      replace the file\n"
"      --forget     have the kernel forget its key\n"
"  -h, --help       this text\n"
"      --version    the version\n"
"\n"
"load and key read standard input if FILE is '-'.\n"
"Exit status: 0, or 1 after an error; 2 for wrong usage.\n";

#define OPT_FORCE	OPT_LONG
#define OPT_FORGET	(OPT_LONG + 1)
#define OPT_VERSION	(OPT_LONG + 2)

static const struct option long_options[] = {
	{ "json",	no_argument,	NULL, 'j' },
	{ "force",	no_argument,	NULL, OPT_FORCE },
	{ "forget",	no_argument,	NULL, OPT_FORGET },
	{ "help",	no_argument,	NULL, 'h' },
	{ "version",	no_argument,	NULL, OPT_VERSION },
	{ NULL,		0,		NULL, 0 },
};

/*
 * struct args - the command line
 * @json, @force, @forget: flags: these options are there
 * @arg: argument of the command, or NULL
 */
struct args {
	int		json;
	int		force;
	int		forget;
	const char	*arg;
};

static void run_show(const struct args *a)
{
	show(a->json);
}

static void run_status(const struct args *a)
{
	status(a->json);
}

static void run_load(const struct args *a)
{
	load(a->arg ? a->arg : FILE_NAME);
}

static void run_clear(const struct args *a)
{
	(void)a;
	clear();
}

static void run_keygen(const struct args *a)
{
	const char *name = a->arg ? a->arg : KEY_FILE;
	const char *why = keygen_wrong(name);

	if (why)
		opt_wrong(PROG, "keygen cannot write '%s': %s", name, why);
	keygen(name, a->force);
}

static void run_key(const struct args *a)
{
	if (a->forget && a->arg)
		opt_wrong(PROG, "--forget takes no FILE, but there is '%s'", a->arg);
	if (a->forget)
		key_set(0);
	else
		key_load(a->arg ? a->arg : KEY_FILE);
}

static void run_trust(const struct args *a)
{
	int on = a->arg && !strcmp(a->arg, "on");

	if (!on && (!a->arg || strcmp(a->arg, "off")))
		opt_wrong(PROG, "trust-network wants on or off, not '%s'", a->arg ? a->arg : "");
	trust_network(on);
}

/*
 * struct command - a command
 * @name: its name
 * @run: function that runs it
 * @arg: flag: the command takes an argument
 * @json, @force, @forget: flags: the command takes these options
 */
static const struct command {
	const char	*name;
	void		(*run)(const struct args *a);
	int		arg;
	int		json;
	int		force;
	int		forget;
} commands[] = {
	{ .name = "show",		.run = run_show,	.json = 1 },
	{ .name = "status",	.run = run_status,	.json = 1 },
	{ .name = "load",	.run = run_load,	.arg = 1 },
	{ .name = "clear",	.run = run_clear },
	{ .name = "keygen",	.run = run_keygen,	.arg = 1, .force = 1 },
	{ .name = "key",	.run = run_key,		.arg = 1, .forget = 1 },
	{ .name = "trust-network", .run = run_trust,	.arg = 1 },
};

static const struct command *find_command(const char *name)
{
	size_t i;

	if (!name)
		opt_wrong(PROG, "a command is missing");
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	opt_wrong(PROG, "there is no command '%s'", name);
}

static void parse(int argc, char **argv, struct args *a)
{
	int c;

	while ((c = opt_next(PROG, argc, argv, long_options)) != -1) {
		switch (c) {
		case 'j':
			a->json = 1;
			break;
		case OPT_FORCE:
			a->force = 1;
			break;
		case OPT_FORGET:
			a->forget = 1;
			break;
		case 'h':
			fputs(usage_text, stdout);
			exit(0);
		case OPT_VERSION:
			text_version(PROG);
			exit(0);
		}
	}
}

static void check(const struct command *c, const struct args *a, int extra, char **words)
{
	if (a->json && !c->json)
		opt_wrong(PROG, "--json is for show and status");
	if (a->force && !c->force)
		opt_wrong(PROG, "--force is for keygen");
	if (a->forget && !c->forget)
		opt_wrong(PROG, "--forget is for key");
	if (extra > c->arg)
		opt_wrong(PROG, "%s has no use for '%s'", c->name, words[c->arg]);
}

int main(int argc, char **argv)
{
	const struct command *c;
	struct args a = { 0 };
	int extra;

	text_check_stdout(PROG);
	parse(argc, argv, &a);
	c = find_command(argv[optind]);
	extra = argc - optind - 1;
	check(c, &a, extra, argv + optind + 1);
	a.arg = extra ? argv[optind + 1] : NULL;
	c->run(&a);
	return 0;
}
