// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * dat-perf - latency and bandwidth of DAT between two hosts
 *
 * The client chooses the test, and describes it to the server in the private data of the connection
 * request.  Each side has a buffer for messages and RDMA.  Before the test of each size both sides
 * exchange the addresses of their buffers.
 */
#include <stdio.h>

#include "../common/text.h"
#include "perf.h"

#define EVD_ENTRIES	64	/* initial length of the EVD; each run resizes it */
#define REQUESTS	64	/* max. pending requests on an adapter; the driver refuses more */

static void server(struct perf *p)
{
	tool_serve_signals();
	tool_serve(&p->service, p->args.device, p->args.port, EVD_ENTRIES, REQUESTS);
	fprintf(stderr, "dat-perf: %s, waiting at port %u\n", p->service.names, p->args.port);
	if (setjmp(p->next_client))
		perf_drop(p);
	while (p->args.keep || !p->served) {
		if (!perf_accept(p)) {
			perf_drop(p);
			continue;
		}
		while (perf_round_accept(p)) {
			perf_run(p);
			perf_round_end(p);
		}
		perf_end(p);
		p->served++;
	}
	tool_serve_end(&p->service);
}

static void client(struct perf *p)
{
	const char *why;
	uint32_t i;

	p->client = 1;
	tool_host_find(&p->host, p->args.host);
	tool_open_for(&p->tool, p->args.device, &p->host, EVD_ENTRIES);
	why = perf_too_much(p);
	if (why)
		tool_usage("%s", why);
	perf_json_begin(p);
	perf_prepare(p);
	perf_header(p);
	perf_connect(p);
	for (i = 0; i < p->args.sizes.n; i++) {
		perf_round_begin(p, p->args.sizes.at[i]);
		perf_run(p);
		perf_round_end(p);
		perf_report(p);
	}
	perf_json_end(p);
	perf_no_more_rounds(p);
	perf_end(p);
	tool_close(&p->tool);
}

int main(int argc, char **argv)
{
	static struct perf p;

	tool_prog = "dat-perf";
	text_check_stdout(tool_prog);
	perf_options(argc, argv, &p);
	if (p.args.syscalls && p.args.host)
		return perf_count_syscalls(&p);
	if (p.args.host)
		client(&p);
	else
		server(&p);
	return 0;
}
