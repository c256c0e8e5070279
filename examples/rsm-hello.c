// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * rsm-hello: one process exports a page, and another process puts a text into the page.  The
 * program is also printed in rsm(7).
 */
#include <rsmapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "%s: RSMERR number %d, see rsm(7)\n", what, ret);
	exit(1);
}

static rsm_node_id_t own_node(void)
{
	rsm_topology_t *t;
	rsm_node_id_t node;

	check(rsm_get_interconnect_topology(&t), "topology");
	node = t->topology_hdr.local_nodeid;
	rsm_free_interconnect_topology(t);
	return node;
}

/* Export a page, and wait at most a minute for the text. */
static void export_page(rsmapi_controller_handle_t ctlr)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *page = aligned_alloc(size, size);
	rsm_memseg_export_handle_t seg;
	rsm_memseg_id_t id = 0;	/* 0: the system chooses an id */

	check(rsm_memseg_export_create(ctlr, &seg, page, size, 0),
	      "create");
	check(rsm_memseg_export_publish(seg, &id, NULL, 0), "publish");
	printf("%u %#x\n", own_node(), id);
	fflush(stdout);
	check(rsm_intr_signal_wait(seg, 60000), "wait");
	printf("%.*s\n", (int)size, page);
	check(rsm_memseg_export_destroy(seg), "destroy");
}

static void import_page(rsmapi_controller_handle_t ctlr, rsm_node_id_t node,
			rsm_memseg_id_t id, char *text)
{
	rsm_memseg_import_handle_t seg;
	rsmapi_barrier_t barrier;

	check(rsm_memseg_import_connect(ctlr, node, id, RSM_PERM_WRITE, &seg),
	      "connect");
	check(rsm_memseg_import_init_barrier(seg, RSM_BAR_DEFAULT, &barrier),
	      "barrier");
	check(rsm_memseg_import_put(seg, 0, text, strlen(text) + 1), "put");
	check(rsm_intr_signal_post(seg, 0), "signal");
	check(rsm_memseg_import_disconnect(seg), "disconnect");
}

int main(int argc, char **argv)
{
	rsmapi_controller_handle_t ctlr;

	if (argc != 2 && argc != 5) {
		fputs("usage: rsm-hello CONTROLLER [NODE ID TEXT]\n",
		      stderr);
		return 2;
	}
	check(rsm_get_controller(argv[1], &ctlr), argv[1]);
	if (argc == 2)
		export_page(ctlr);
	else
		import_page(ctlr, strtoul(argv[2], NULL, 0),
			    strtoul(argv[3], NULL, 0), argv[4]);
	return 0;
}
