// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Output of the table and of the topology. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rsmapi.h>

#include "../common/rsm-error.h"
#include "../common/text.h"
#include "nodes.h"

static void print_state(uint32_t state)
{
	if (state & DAT_RSM_NODE_TRUSTS)
		puts("# trust-network on: other nodes prove nothing");
	else if (state & DAT_RSM_NODE_KEYED)
		puts("# cluster key set");
	else
		puts("# no cluster key: adapters are not used");
}

#define ADDRESS_SIZE	(INET6_ADDRSTRLEN + 1 + IF_NAMESIZE)

/* Convert the address of a node to text.  The interface of a link-local address comes after '%'. */
static void address_text(const struct dat_rsm_node *e, char text[ADDRESS_SIZE])
{
	char addr[INET6_ADDRSTRLEN] = "?", scope[IF_NAMESIZE] = "";

	inet_ntop((int)e->family, e->addr, addr, sizeof(addr));
	if (e->scope && !if_indextoname(e->scope, scope))
		scope[0] = '?';
	snprintf(text, ADDRESS_SIZE, "%s%s%s", addr, e->scope ? "%" : "", scope);
}

/* Print the table in the format of the table file. */
static void show_text(const struct dat_rsm_nodes *arg, const struct dat_rsm_node *list)
{
	char addr[ADDRESS_SIZE];
	uint32_t i;

	printf("local %u\n", arg->local);
	print_state(arg->state);
	for (i = 0; i < arg->count; i++) {
		address_text(&list[i], addr);
		printf("node %u rdma%u %s\n", list[i].node, list[i].ctlr - 1, addr);
	}
}

static void show_json(const struct dat_rsm_nodes *arg, const struct dat_rsm_node *list)
{
	char addr[ADDRESS_SIZE];
	uint32_t i;

	printf("{\"local\":%u,\"cluster_key\":%s,\"trust_network\":%s,\"nodes\":[", arg->local,
	       arg->state & DAT_RSM_NODE_KEYED ? "true" : "false",
	       arg->state & DAT_RSM_NODE_TRUSTS ? "true" : "false");
	for (i = 0; i < arg->count; i++) {
		address_text(&list[i], addr);
		printf("%s{\"node\":%u,\"controller\":\"rdma%u\",\"address\":", i ? "," : "",
		       list[i].node, list[i].ctlr - 1);
		text_json(addr);
		putchar('}');
	}
	puts("]}");
}

void show(int json)
{
	struct dat_rsm_node *list = NULL;
	struct dat_rsm_nodes arg = { .size = sizeof(arg), .entry_size = sizeof(*list) };
	int fd = device();
	uint32_t room;

	do {
		room = arg.count;
		list = realloc(list, (room + 1) * sizeof(*list));
		if (!list)
			die("no memory");
		arg.list = (uintptr_t)list;
		arg.state = 0;
		call(fd, &arg);
	} while (arg.count > room);
	if (json)
		show_json(&arg, list);
	else
		show_text(&arg, list);
	free(list);
	close(fd);
}

static const char *link_state(const rsm_connections_t *c, int i)
{
	return c->remote_cntlr[i].connection_state == RSM_CONNECTION_ACTIVE ? "active" : "down";
}

static void status_text(const rsm_topology_t *t)
{
	const rsm_connections_t *c;
	uint_t i;
	int j;

	printf("local %u\n", t->topology_hdr.local_nodeid);
	if (!t->topology_hdr.local_cntlr_count)
		fputs("rsm-nodes: there is no RDMA adapter here, so loopback is the only controller\n",
		      stderr);
	for (i = 0; i < t->topology_hdr.local_cntlr_count; i++) {
		c = t->connections[i];
		for (j = 0; j < c->hdr.remote_cntlr_count; j++)
			printf("%s node %u %s\n", c->hdr.cntlr_name,
			       c->remote_cntlr[j].remote_nodeid, link_state(c, j));
	}
}

static void status_json(const rsm_topology_t *t)
{
	const rsm_connections_t *c;
	uint_t i;
	int j;

	printf("{\"local\":%u,\"controllers\":[", t->topology_hdr.local_nodeid);
	for (i = 0; i < t->topology_hdr.local_cntlr_count; i++) {
		c = t->connections[i];
		printf("%s{\"name\":", i ? "," : "");
		text_json(c->hdr.cntlr_name);
		printf(",\"nodes\":[");
		for (j = 0; j < c->hdr.remote_cntlr_count; j++)
			printf("%s{\"node\":%u,\"state\":\"%s\"}", j ? "," : "",
			       c->remote_cntlr[j].remote_nodeid, link_state(c, j));
		printf("]}");
	}
	puts("]}");
}

void status(int json)
{
	rsm_topology_t *t;
	int ret = rsm_get_interconnect_topology(&t);

	if (ret)
		die("the topology can't be had, %s (%d): %s", rsm_error_name(ret), ret,
		    rsm_error_advice(ret));
	if (json)
		status_json(t);
	else
		status_text(t);
	rsm_free_interconnect_topology(t);
}
