// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * rsm-nodes: loads the table of RSM nodes and the cluster key into the driver, and shows the table.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rsmapi.h>

#include "../common/dev.h"
#include "rsm-error.h"
#include "rsm-nodes.h"

void die(const char *fmt, ...)
{
	va_list ap;

	fputs("rsm-nodes: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/* Functions that call the driver. */

int device(void)
{
	int fd = du_dev_open(DU_DEV_RSM, 0);

	/* du_dev_open() has already reported the reason. */
	if (fd < 0)
		exit(1);
	return fd;
}

static const char *reason(const struct dat_rsm_nodes *arg)
{
	int trust = arg->flags & (DAT_RSM_NODES_KEY | DAT_RSM_NODES_TRUST);

	switch (arg->err) {
	case DAT_RSM_PERM_DENIED:
		return trust ? "not without CAP_SYS_ADMIN" : "not without CAP_NET_ADMIN";
	case DAT_RSM_BAD_CONF:
		if (trust)
			return "the driver can't use that key";
		return "an address that no node has, or a controller beyond rdma62";
	case DAT_RSM_ALREADY_PUBLISHED:
		return "the own id can't change while there are segments or imports";
	case DAT_RSM_NO_MEM:
		return "no memory";
	default:
		return "refused";
	}
}

void call(int fd, struct dat_rsm_nodes *arg)
{
	int ret = du_ioctl(fd, DAT_IOC_RSM_NODES, arg);

	if (ret == -EREMOTEIO)
		die("%s", reason(arg));
	if (ret)
		die("/dev/rsm: %s", ret == -ENOTTY ? "this dat_rsm.ko knows no nodes" :
						       strerror(-ret));
}

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

static void print_state(uint32_t state)
{
	if (state & DAT_RSM_NODE_TRUSTS)
		puts("# trust-network on: other nodes prove nothing");
	else if (state & DAT_RSM_NODE_KEYED)
		puts("# cluster key set");
	else
		puts("# no cluster key: adapters are not used");
}

static void print_node(const struct dat_rsm_node *e)
{
	char text[INET6_ADDRSTRLEN] = "?", scope[IF_NAMESIZE];

	inet_ntop((int)e->family, e->addr, text, sizeof(text));
	printf("node %u rdma%u %s", e->node, e->ctlr - 1, text);
	if (e->scope)
		printf("%%%s", if_indextoname(e->scope, scope) ? scope : "?");
	putchar('\n');
}

/* Print the table in the format of the table file. */
static void show(void)
{
	struct dat_rsm_node *list = NULL;
	struct dat_rsm_nodes arg = { .size = sizeof(arg), .entry_size = sizeof(*list) };
	uint32_t room, i;
	int fd = device();

	do {
		room = arg.count;
		list = realloc(list, (room + 1) * sizeof(*list));
		if (!list)
			die("no memory");
		arg.list = (uintptr_t)list;
		arg.state = 0;
		call(fd, &arg);
	} while (arg.count > room);
	printf("local %u\n", arg.local);
	print_state(arg.state);
	for (i = 0; i < arg.count; i++)
		print_node(&list[i]);
	free(list);
	close(fd);
}

static void print_controller(const rsm_connections_t *c)
{
	int i;

	for (i = 0; i < c->hdr.remote_cntlr_count; i++)
		printf("%s node %u %s\n", c->hdr.cntlr_name, c->remote_cntlr[i].remote_nodeid,
		       c->remote_cntlr[i].connection_state == RSM_CONNECTION_ACTIVE ?
		       "active" : "down");
}

static void status(void)
{
	rsm_topology_t *t;
	uint_t i;
	int ret;

	ret = rsm_get_interconnect_topology(&t);
	if (ret)
		die("the topology can't be had, %s (%d): %s", rsm_error_name(ret), ret,
		    rsm_error_advice(ret));
	printf("local %u\n", t->topology_hdr.local_nodeid);
	if (!t->topology_hdr.local_cntlr_count)
		fputs("rsm-nodes: there is no RDMA adapter here, so loopback is the only controller\n",
		      stderr);
	for (i = 0; i < t->topology_hdr.local_cntlr_count; i++)
		print_controller(t->connections[i]);
	rsm_free_interconnect_topology(t);
}

static void __attribute__((noreturn)) usage(FILE *f, int ret)
{
	fputs("usage: rsm-nodes show\n"
	      "       rsm-nodes status\n"
	      "       rsm-nodes load [FILE]     " FILE_NAME "; - is standard input\n"
	      "       rsm-nodes clear\n"
	      "       rsm-nodes keygen [--force] [FILE]     " KEY_FILE "\n"
	      "       rsm-nodes key [FILE | --forget]       " KEY_FILE "; - is standard input\n"
	      "       rsm-nodes trust-network on | off\n", f);
	exit(ret);
}

/* Run a command that concerns the key.  Returns 0 if it is another command. */
static int key_command(int argc, char **argv)
{
	const char *last = argv[argc - 1];
	int force = argc > 2 && !strcmp(argv[2], "--force");

	if (!strcmp(argv[1], "keygen") && argc <= 3 + force)
		keygen(argc == 3 + force ? last : KEY_FILE, force);
	else if (!strcmp(argv[1], "key") && argc == 3 && !strcmp(last, "--forget"))
		key_set(0);
	else if (!strcmp(argv[1], "key") && argc <= 3)
		key_load(argc == 3 ? last : KEY_FILE);
	else if (!strcmp(argv[1], "trust-network") && argc == 3 &&
		 (!strcmp(last, "on") || !strcmp(last, "off")))
		trust_network(!strcmp(last, "on"));
	else
		return 0;
	return 1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "--help") || !strcmp(what, "-h"))
		usage(stdout, 0);
	if (!strcmp(what, "load") && argc <= 3)
		load(argc == 3 ? argv[2] : FILE_NAME);
	else if (!strcmp(what, "show") && argc == 2)
		show();
	else if (!strcmp(what, "status") && argc == 2)
		status();
	else if (!strcmp(what, "clear") && argc == 2)
		clear();
	else if (argc < 2 || !key_command(argc, argv))
		usage(stderr, 2);
	if (fflush(stdout))
		die("standard output: %s", strerror(errno));
	return 0;
}
