// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* rsm-perf: measures the latency and the bandwidth of puts and gets. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/text.h"
#include "perf.h"

static char *pages(size_t length)
{
	void *va = mmap(NULL, length, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (va == MAP_FAILED)
		perf_die("no memory: %s", strerror(errno));
	return va;
}

static rsm_node_id_t own_node(void)
{
	rsm_topology_t *t;
	rsm_node_id_t node;

	perf_check(rsm_get_interconnect_topology(&t), "rsm_get_interconnect_topology");
	node = t->topology_hdr.local_nodeid;
	rsm_free_interconnect_topology(t);
	return node;
}

/* Export a segment and publish it to all nodes.  Importers need no other action of this process. */
static rsm_memseg_export_handle_t export_segment(const struct perf_opt *o, size_t length,
						 rsm_memseg_id_t *id)
{
	rsmapi_controller_handle_t ctlr;
	rsm_memseg_export_handle_t exp;

	perf_check(rsm_get_controller(o->controller, &ctlr), "rsm_get_controller");
	perf_check(rsm_memseg_export_create(ctlr, &exp, pages(length), length, 0),
		   "rsm_memseg_export_create");
	*id = 0;
	perf_check(rsm_memseg_export_publish(exp, id, NULL, 0), "rsm_memseg_export_publish");
	return exp;
}

static void until_closed(int fd)
{
	char c;

	while (read(fd, &c, 1) > 0)
		;
}

static int serve(const struct perf_opt *o, size_t length)
{
	rsm_memseg_id_t id;
	rsm_memseg_export_handle_t exp = export_segment(o, length, &id);

	printf("%u:%#x\n", own_node(), id);
	fflush(stdout);
	until_closed(STDIN_FILENO);
	perf_check(rsm_memseg_export_destroy(exp), "rsm_memseg_export_destroy");
	return 0;
}

static void __attribute__((noreturn)) exporter(const struct perf_opt *o, size_t length, int id_fd,
					       int end_fd)
{
	rsm_memseg_export_handle_t exp;
	rsm_memseg_id_t id;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	exp = export_segment(o, length, &id);
	if (write(id_fd, &id, sizeof(id)) != sizeof(id))
		exit(1);
	until_closed(end_fd);
	perf_check(rsm_memseg_export_destroy(exp), "rsm_memseg_export_destroy");
	exit(0);
}

/* Start the exporting process.  The process ends when *@end is closed. */
static void start_exporter(struct perf_opt *o, size_t length, int *end)
{
	int id_pipe[2], end_pipe[2];
	pid_t pid;

	if (pipe(id_pipe) || pipe(end_pipe))
		perf_die("no pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		perf_die("no process: %s", strerror(errno));
	if (!pid) {
		close(end_pipe[1]);
		exporter(o, length, id_pipe[1], end_pipe[0]);
	}
	close(id_pipe[1]);
	close(end_pipe[0]);
	*end = end_pipe[1];
	if (read(id_pipe[0], &o->segment, sizeof(o->segment)) != sizeof(o->segment))
		exit(1);	/* the child has already reported the reason */
	close(id_pipe[0]);
	o->node = own_node();
}

static void import(struct perf *p)
{
	struct perf_opt *o = &p->opt;

	perf_check(rsm_get_controller(o->controller, &p->ctlr), "rsm_get_controller");
	perf_check(rsm_memseg_import_connect(p->ctlr, o->node, o->segment,
					     o->write_only ? RSM_PERM_WRITE : RSM_PERM_RDWR,
					     &p->imp), "rsm_memseg_import_connect");
	perf_check(rsm_memseg_import_init_barrier(p->imp, RSM_BAR_DEFAULT, &p->barrier),
		   "rsm_memseg_import_init_barrier");
	if (o->explicit)
		perf_check(rsm_memseg_import_set_mode(p->imp, RSM_BARRIER_MODE_EXPLICIT),
			   "rsm_memseg_import_set_mode");
	if (o->handle)
		perf_check(rsm_create_localmemory_handle(p->ctlr, &p->local, p->buf, p->length),
			   "rsm_create_localmemory_handle");
}

static void prepare(struct perf *p)
{
	struct perf_opt *o = &p->opt;

	p->buf = pages(p->length);
	memset(p->buf, 'r', p->length);
	p->at = calloc(o->iters + 1, sizeof(*p->at));
	if (!p->at)
		perf_die("no memory for %lu time stamps", o->iters);
	/*
	 * Write to the time stamps before the measurement, so that no page faults occur during it.
	 */
	memset(p->at, 0xff, (o->iters + 1) * sizeof(*p->at));
	if (o->op == OP_MEMCPY)
		p->to = pages(p->length);
	else
		import(p);
}

static void measure(struct perf *p)
{
	unsigned long size = p->opt.size, n;

	perf_header(&p->opt);
	fflush(stdout);
	perf_progress_begin(p);
	for (n = p->opt.all ? 1 : size; n <= size; n *= 2) {
		p->opt.size = n;
		perf_run(p);
		perf_progress_clear();
		perf_report(p, n < size);
	}
	perf_progress_end();
}

int main(int argc, char **argv)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perf p = { };
	int end = -1;

	text_check_stdout("rsm-perf");
	perf_options(argc, argv, &p.opt);
	p.length = ((p.opt.size + p.opt.gap) * p.opt.entries + page - 1) / page * page;
	if (p.opt.serve)
		return serve(&p.opt, p.length);
	if (!p.opt.remote && p.opt.op != OP_MEMCPY)
		start_exporter(&p.opt, p.length, &end);
	prepare(&p);
	measure(&p);
	if (p.imp)
		perf_check(rsm_memseg_import_disconnect(p.imp), "rsm_memseg_import_disconnect");
	if (end >= 0) {
		close(end);
		wait(NULL);
	}
	free(p.at);
	return 0;
}
