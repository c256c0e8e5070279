// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* dat-cp - copy files to another host over RDMA */
#define _GNU_SOURCE
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/opt.h"
#include "../common/text.h"
#include "cp.h"

#define PROG		"dat-cp"
#define OPT_SERVE	OPT_LONG
#define OPT_VERSION	(OPT_LONG + 1)

static const char usage_text[] =
"usage: dat-cp --serve DIR [OPTION]...          receive files into DIR\n"
"       dat-cp [OPTION]... FILE... HOST:[NAME]  send files to a dat-cp --serve at HOST\n"
"\n"
"A file gets its name without directories, or NAME.  It appears under that name, in\n"
"place of any older file that has it, only when its SHA-256 is right at both ends.\n"
"An IPv6 address may stand in brackets, as in [fd00::9]:NAME.\n"
"\n"
"      --serve DIR   receive files into DIR\n"
"  -1, --once        serve until the first client that brought a file has gone\n"
"  -d, --device IA   adapter, see dat-info (lo0 for this host, else the first)\n"
"  -p, --port N      connection qualifier of the server (%u)\n"
"  -q, --quiet       no bar on a terminal\n"
"  -h, --help        this text\n"
"      --version     the version\n"
"\n"
"Exit status: 0 if every file arrived, else 1; 2 for wrong usage.\n";

static const struct option long_options[] = {
	{ "serve",	required_argument,	NULL, OPT_SERVE },
	{ "once",	no_argument,		NULL, '1' },
	{ "device",	required_argument,	NULL, 'd' },
	{ "port",	required_argument,	NULL, 'p' },
	{ "quiet",	no_argument,		NULL, 'q' },
	{ "help",	no_argument,		NULL, 'h' },
	{ "version",	no_argument,		NULL, OPT_VERSION },
	{ NULL,		0,			NULL, 0 },
};

static void parse_one(int c, struct cp_opt *opt)
{
	switch (c) {
	case OPT_SERVE:
		opt->dir = optarg;
		break;
	case '1':
		opt->once = 1;
		break;
	case 'd':
		opt->device = optarg;
		break;
	case 'p':
		opt->port = opt_number(PROG, "--port", optarg, 1, 65535);
		break;
	case 'q':
		opt->quiet = 1;
		break;
	case 'h':
		printf(usage_text, CP_PORT);
		exit(0);
	case OPT_VERSION:
		text_version(PROG);
		exit(0);
	}
}

/* Returns whether the first @len bytes of @text are a numeric IPv6 address. */
static int is_ipv6(const char *text, size_t len)
{
	struct addrinfo hints = {
		.ai_family = AF_INET6, .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *ai;
	char copy[128];

	if (len >= sizeof(copy))
		return 0;
	memcpy(copy, text, len);
	copy[len] = 0;
	if (getaddrinfo(copy, NULL, &hints, &ai))
		return 0;
	freeaddrinfo(ai);
	return 1;
}

/*
 * Split HOST:NAME, and return NAME.  An IPv6 address can have brackets.  Otherwise the first colon
 * ends the host, unless all before the last colon is an IPv6 address.
 */
static char *split_target(char *target, char **host)
{
	char *first = strchr(target, ':'), *last = strrchr(target, ':');
	char *slash = strchr(target, '/'), *end;

	*host = target;
	if (target[0] == '[') {
		*host = target + 1;
		end = strchr(target, ']');
		if (!end || end[1] != ':')
			opt_wrong(PROG, "there is no ']:' in '%s'", target);
		*end = 0;
		return end + 2;
	}
	if (is_ipv6(target, strlen(target)))
		opt_wrong(PROG, "where does the host end? Write [%s]: or [HOST]:NAME", target);
	end = last && is_ipv6(target, (size_t)(last - target)) ? last : first;
	if (!end || end == target || (slash && slash < end))
		opt_wrong(PROG, "the last argument is HOST: or HOST:NAME, not '%s'", target);
	*end = 0;
	return end + 1;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/*
 * Refuse names that the receiver refuses, and files that would get the same name, because the later
 * would replace the earlier.  @as is the name of the only file, or NULL.
 */
static void check_names(const char *as, char *const *files, int n)
{
	char (*name)[CP_NAME_MAX + 1] = calloc((size_t)n, sizeof(*name));
	const char *from;
	int i;

	if (!name)
		tool_die("no memory for %d names", n);
	for (i = 0; i < n; i++) {
		from = as ? as : files[i];
		cp_clean_name(from, name[i]);
		from = strrchr(from, '/') ? strrchr(from, '/') + 1 : from;
		if (*name[i] && strcmp(name[i], from))
			opt_wrong(PROG, CP_ODD_NAME ": '%s'", name[i]);
	}
	qsort(name, (size_t)n, sizeof(*name), by_name);
	for (i = 1; i < n; i++)
		if (*name[i] && !strcmp(name[i - 1], name[i]))
			opt_wrong(PROG, "two files would get the name '%s'", name[i]);
	free(name);
}

static int send_to(const struct cp_opt *opt, char **files, int n, char *target)
{
	char *host, *name = split_target(target, &host);

	if (*name && n > 1)
		opt_wrong(PROG, "one file can get the name '%s', not %d files", name, n);
	if (strchr(name, '/'))
		opt_wrong(PROG, "NAME is a name in the server's directory, without '/', not '%s'",
			  name);
	check_names(*name ? name : NULL, files, n);
	return cp_send_files(opt, host, *name ? name : NULL, files, n);
}

int main(int argc, char **argv)
{
	struct cp_opt opt = { .port = CP_PORT };
	int c, n;

	tool_prog = PROG;
	text_check_stdout(tool_prog);
	while ((c = opt_next(PROG, argc, argv, long_options)) != -1)
		parse_one(c, &opt);
	n = argc - optind;
	if (opt.dir && n)
		opt_wrong(PROG, "--serve receives files, so there is no use for '%s'", argv[optind]);
	if (opt.dir)
		return cp_serve(&opt);
	if (opt.once)
		opt_wrong(PROG, "--once is for --serve");
	if (n < 2)
		opt_wrong(PROG, n ? "a FILE or HOST: is missing" : "a FILE and HOST: are missing");
	return send_to(&opt, argv + optind, n - 1, argv[argc - 1]);
}
