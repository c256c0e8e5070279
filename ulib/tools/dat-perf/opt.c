// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Options of dat-perf, and the check of their combination. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/file.h"
#include "../common/opt.h"
#include "../common/text.h"
#include "perf.h"

#define DEFAULT_ITERS	1000
#define SERVER_OPTIONS	"kdp"

const char *const perf_op_names[] = { "send", "write", "read" };
const char *const perf_test_names[] = { "lat", "bw", "recv" };

static const char usage_text[] =
"usage: dat-perf [--keep] [--device IA] [--port N]\n"
"                                     serve one client, or all with --keep\n"
"       dat-perf [OPTION]... HOST     measure against the server at HOST\n"
"\n"
"  -o, --op OP         send, write or read (send)\n"
"  -t, --test TEST     lat: ping-pong; bw: as fast as the window allows;\n"
"                      syscalls: count the system calls of receiving (lat)\n"
"  -s, --size LIST     bytes of a message, 1 to %u, such as 64 or 64,4K,1M; up to\n"
"                      %u sizes (64 for lat, 65536 for bw)\n"
"  -a, --all-sizes     all powers of two from 1 to 1048576\n"
"  -b, --bidirectional  in bw both sides send at the same time\n"
"  -n, --iters N       messages, 1 to %u (1000)\n"
"  -D, --duration SECONDS  messages for this time for each size, 1 to %u\n"
"  -q, --eps N         connections that the messages take in turn, 1 to %u (1)\n"
"  -i, --idle N        connections besides that stay idle, 0 to %u (0)\n"
"  -r, --srq           the server receives through one shared receive queue (send)\n"
"  -w, --window N      messages under way on a connection in bw, 1 to %u (64)\n"
"  -Q, --cq-mod N      in bw one message in N reports its completion (1)\n"
"  -M, --more          in bw post messages in a row together, on one connection\n"
"  -e, --event         wait for events instead of polling\n"
"  -P, --poller USEC   a thread of the driver polls for posts, and sleeps after\n"
"                      USEC without a post, 1 to %u\n"
"  -B, --busy-poll USEC  poll the device instead of waiting for its interrupts,\n"
"                      for USEC at a time, 1 to %u\n"
"  -I, --inline        posts copy messages of up to 96 bytes into the queue\n"
"  -d, --device IA     adapter, see dat-info (lo0 for this host, else the first)\n"
"  -p, --port N        connection qualifier of the server (%u)\n"
"  -H, --histogram     how many messages took how long, after each row (lat)\n"
"  -j, --json          results as a JSON array\n"
"      --json-file FILE  the same to FILE, which appears when it is whole\n"
"      --progress      show it after 3 s, even if standard error is no terminal\n"
"      --interval SECONDS  show progress after this time and at intervals of it, 1 to %u\n"
"  -k, --keep          go on after the first client\n"
"  -h, --help          this text\n"
"      --version       the version\n"
"\n"
"Latencies are one way (half the ping-pong), except of reads.  MB are 2^20 bytes.\n";

static void usage(void)
{
	printf(usage_text, MAX_SIZE, MAX_SIZES, MAX_ITERS, MAX_DURATION, MAX_EPS, MAX_IDLE,
	       MAX_WINDOW, MAX_POLLER, MAX_POLLER, PERF_PORT, MAX_DURATION);
}

static uint32_t number(const char *option, uint32_t min, uint32_t max)
{
	return (uint32_t)opt_number(tool_prog, option, optarg, min, max);
}

static unsigned int find_name(const char *const *names, unsigned int n, const char *option)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!strcmp(optarg, names[i]))
			return i;
	opt_wrong(tool_prog, "%s does not know '%s'", option, optarg);
}

enum { OPT_JSON_FILE = OPT_LONG, OPT_PROGRESS, OPT_INTERVAL, OPT_VERSION };

static const struct option long_options[] = {
	{ "op",		required_argument,	NULL, 'o' },
	{ "test",	required_argument,	NULL, 't' },
	{ "size",	required_argument,	NULL, 's' },
	{ "all-sizes",	no_argument,		NULL, 'a' },
	{ "iters",	required_argument,	NULL, 'n' },
	{ "bidirectional",	no_argument,	NULL, 'b' },
	{ "duration",	required_argument,	NULL, 'D' },
	{ "eps",	required_argument,	NULL, 'q' },
	{ "idle",	required_argument,	NULL, 'i' },
	{ "srq",	no_argument,		NULL, 'r' },
	{ "window",	required_argument,	NULL, 'w' },
	{ "cq-mod",	required_argument,	NULL, 'Q' },
	{ "more",	no_argument,		NULL, 'M' },
	{ "event",	no_argument,		NULL, 'e' },
	{ "poller",	required_argument,	NULL, 'P' },
	{ "busy-poll",	required_argument,	NULL, 'B' },
	{ "inline",	no_argument,		NULL, 'I' },
	{ "device",	required_argument,	NULL, 'd' },
	{ "port",	required_argument,	NULL, 'p' },
	{ "histogram",	no_argument,		NULL, 'H' },
	{ "json",	no_argument,		NULL, 'j' },
	{ "json-file",	required_argument,	NULL, OPT_JSON_FILE },
	{ "progress",	no_argument,		NULL, OPT_PROGRESS },
	{ "interval",	required_argument,	NULL, OPT_INTERVAL },
	{ "keep",	no_argument,		NULL, 'k' },
	{ "help",	no_argument,		NULL, 'h' },
	{ "version",	no_argument,		NULL, OPT_VERSION },
	{ NULL,		0,			NULL, 0 },
};

static void parse_test(struct perf *p)
{
	p->args.syscalls = !strcmp(optarg, "syscalls");
	p->opt.test = p->args.syscalls ? TEST_RECV :
		      find_name(perf_test_names, TEST_RECV, "--test");
}

/* Parse an option that says what is measured.  Returns 0 if @c is another option. */
static int parse_opt(int c, struct perf *p)
{
	struct perf_opt *o = &p->opt;

	switch (c) {
	case 'o':
		o->op = find_name(perf_op_names, 3, "--op");
		return 1;
	case 't':
		parse_test(p);
		return 1;
	case 'n':
		o->iters = number("--iters", 1, MAX_ITERS);
		return 1;
	case 'q':
		o->eps = number("--eps", 1, MAX_EPS);
		return 1;
	case 'i':
		o->idle = number("--idle", 0, MAX_IDLE);
		return 1;
	case 'r':
		o->srq = 1;
		return 1;
	case 'w':
		o->window = number("--window", 1, MAX_WINDOW);
		return 1;
	case 'Q':
		o->cq_mod = number("--cq-mod", 1, MAX_WINDOW);
		return 1;
	case 'e':
		o->event = 1;
		return 1;
	case 'P':
		o->poller = number("--poller", 1, MAX_POLLER);
		return 1;
	case 'b':
		o->bidir = 1;
		return 1;
	case 'B':
		o->busy = number("--busy-poll", 1, MAX_POLLER);
		return 1;
	case 'I':
		o->inline_data = 1;
		return 1;
	}
	return 0;
}

/* Parse an option that says how the measurement is run. */
static void parse_arg(int c, struct perf_args *a)
{
	switch (c) {
	case 's':
		if (!perf_sizes_parse(optarg, &a->sizes))
			opt_wrong(tool_prog,
				  "--size wants up to %u sizes from 1 to %u with commas between them, not '%s'",
				  MAX_SIZES, MAX_SIZE, optarg);
		break;
	case 'D':
		a->duration = number("--duration", 1, MAX_DURATION);
		break;
	case 'a':
		a->all = 1;
		break;
	case 'd':
		a->device = optarg;
		break;
	case 'p':
		a->port = number("--port", 1, 65535);
		break;
	case 'M':
		a->more = 1;
		break;
	case 'H':
		a->histogram = 1;
		break;
	case 'j':
		a->json = 1;
		break;
	case OPT_JSON_FILE:
		a->json_file = optarg;
		break;
	case OPT_PROGRESS:
		a->progress = 1;
		break;
	case OPT_INTERVAL:
		a->interval = number("--interval", 1, MAX_DURATION);
		break;
	case 'k':
		a->keep = 1;
		break;
	}
}

/* Returns the reason why the combination of options is invalid, or NULL if it is valid. */
const char *perf_opt_wrong(const struct perf_opt *o)
{
	if (o->srq && o->op != OP_SEND)
		return "--srq is for --op send: RDMA consumes no receives of the server";
	if (o->srq && o->test == TEST_RECV)
		return "--srq is not for --test syscalls, where the server sends";
	if (o->test == TEST_RECV && o->op != OP_SEND)
		return "--test syscalls is for --op send: RDMA consumes no receives";
	if (o->bidir && o->test != TEST_BW)
		return "--bidirectional is for --test bw";
	if (o->test == TEST_RECV && !o->iters)
		return "--test syscalls counts --iters messages, for no --duration";
	if (o->cq_mod > 1 && o->test != TEST_BW)
		return "--cq-mod is for --test bw";
	if (o->cq_mod > o->window)
		return "--cq-mod must not exceed --window, or no completion would free the window";
	return NULL;
}

static void set_sizes(struct perf *p)
{
	struct perf_sizes *s = &p->args.sizes;

	if (p->args.all && s->n)
		opt_wrong(tool_prog, "--all-sizes has all sizes, and --size some");
	if (p->args.syscalls && (p->args.all || s->n > 1))
		opt_wrong(tool_prog, "--test syscalls takes one size: the size makes no difference there");
	if (p->args.all) {
		perf_sizes_all(s);
	} else if (!s->n) {
		s->n = 1;
		s->at[0] = p->opt.test == TEST_BW ? 65536 : 64;
	}
	p->opt.size = perf_sizes_largest(s);
}

/* Refuse @option, which is one of a client, or 0.  The client sends the server what it needs. */
static void check_server(int option)
{
	const struct option *o;

	for (o = long_options; option && o->name; o++)
		if (o->val == option)
			opt_wrong(tool_prog, "--%s is for a client: HOST is missing", o->name);
}

static void check(struct perf *p)
{
	const char *why;

	if (p->args.duration && p->opt.iters)
		opt_wrong(tool_prog, "--iters and --duration exclude each other");
	if (!p->args.duration && !p->opt.iters)
		p->opt.iters = DEFAULT_ITERS;
	if (p->args.keep && p->args.host)
		opt_wrong(tool_prog, "--keep is for the server, which has no HOST");
	if (p->args.histogram && p->opt.test != TEST_LAT)
		opt_wrong(tool_prog, "--histogram is for --test lat");
	if (p->args.more && (p->opt.test != TEST_BW || p->opt.eps > 1 || !p->opt.iters))
		opt_wrong(tool_prog, "--more is for --test bw with --iters on one connection");
	why = perf_opt_wrong(&p->opt);
	if (why)
		opt_wrong(tool_prog, "%s", why);
	why = p->args.json_file ? file_wrong(p->args.json_file) : NULL;
	if (why)
		opt_wrong(tool_prog, "--json-file cannot write '%s': %s", p->args.json_file, why);
}

void perf_options(int argc, char **argv, struct perf *p)
{
	int c, of_client = 0;

	p->opt = (struct perf_opt) { .window = 64, .cq_mod = 1, .eps = 1 };
	p->args = (struct perf_args) { .port = PERF_PORT };
	while ((c = opt_next(tool_prog, argc, argv, long_options)) != -1) {
		if (c == 'h' || c == OPT_VERSION) {
			c == 'h' ? usage() : text_version("dat-perf");
			exit(0);
		}
		if (!parse_opt(c, p))
			parse_arg(c, &p->args);
		if (!of_client && (c >= OPT_LONG || !strchr(SERVER_OPTIONS, c)))
			of_client = c;
	}
	if (argc - optind > 1)
		opt_wrong(tool_prog, "'%s' follows the host '%s'", argv[optind + 1], argv[optind]);
	p->args.host = argv[optind];
	if (!p->args.host)
		check_server(of_client);
	set_sizes(p);
	check(p);
}
