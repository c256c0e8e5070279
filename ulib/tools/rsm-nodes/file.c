// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The file with the table of nodes. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/opt.h"
#include "nodes.h"

#define BLANKS		" \t\r\n"
#define WORDS		4

/*
 * struct nodes - contents of a table file
 * @name: name of the file
 * @line: number of the current line, from 1
 * @has_local: flag: the file contains the id of this node
 * @local: id of this node
 * @count: number of elements in @list
 * @list: array of nodes
 */
struct nodes {
	const char		*name;
	unsigned int		line;
	int			has_local;
	uint32_t		local;
	uint32_t		count;
	struct dat_rsm_node	*list;
};

static void __attribute__((noreturn)) bad_line(const struct nodes *n, const char *why)
{
	die("%s:%u: %s", n->name, n->line, why);
}

/* Numbers of the file are decimal. */
static int number(const char *word, unsigned long max, uint32_t *out)
{
	unsigned long value;
	char *end;

	if (word[strspn(word, "0123456789")] || opt_parse_number(word, &end, max, &value) || *end)
		return -1;
	*out = (uint32_t)value;
	return 0;
}

/* Parse an IPv6 address.  A link-local address ends with '%' and the name of an interface. */
static int address6(const char *word, struct dat_rsm_node *e)
{
	struct addrinfo hints = {
		.ai_family = AF_INET6, .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM,
	};
	const struct sockaddr_in6 *in6;
	struct addrinfo *ai;

	if (getaddrinfo(word, NULL, &hints, &ai))
		return -1;
	in6 = (const struct sockaddr_in6 *)ai->ai_addr;
	memcpy(e->addr, &in6->sin6_addr, sizeof(in6->sin6_addr));
	e->scope = in6->sin6_scope_id;
	e->family = AF_INET6;
	freeaddrinfo(ai);
	return 0;
}

static int address(const char *word, struct dat_rsm_node *e)
{
	if (inet_pton(AF_INET, word, e->addr) != 1)
		return address6(word, e);
	e->family = AF_INET;
	return 0;
}

static int is_loopback(const struct dat_rsm_node *e)
{
	if (e->family == AF_INET)
		return e->addr[0] == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)e->addr);
}

static void read_node(struct nodes *n, char *const *words)
{
	struct dat_rsm_node e = {};
	uint32_t unit, i;

	if (number(words[1], DAT_RSM_MAX_NODE, &e.node))
		bad_line(n, "the node's id is no number from 0 to 64");
	if (strncasecmp(words[2], "rdma", 4) || number(words[2] + 4, UINT32_MAX - 1, &unit))
		bad_line(n, "the controller is not one like rdma0");
	e.ctlr = unit + 1;
	if (address(words[3], &e))
		bad_line(n, "the address is no number of IPv4 or IPv6");
	if (is_loopback(&e))
		bad_line(n, "a loopback address is no node's: give the address of the node's adapter, which dat-info shows there");
	for (i = 0; i < n->count; i++)
		if (n->list[i].node == e.node && n->list[i].ctlr == e.ctlr)
			bad_line(n, "this controller leads to this node already");
	n->list = realloc(n->list, (n->count + 1) * sizeof(e));
	if (!n->list)
		die("no memory");
	n->list[n->count++] = e;
}

static void read_local(struct nodes *n, char *const *words)
{
	if (n->has_local)
		bad_line(n, "this node has an id already");
	if (number(words[1], DAT_RSM_MAX_NODE, &n->local))
		bad_line(n, "the id is no number from 0 to 64");
	n->has_local = 1;
}

/* Split a line into words.  Returns the number of words, which may exceed WORDS. */
static int split(char *text, char **words)
{
	char *save, *word = strtok_r(text, BLANKS, &save);
	int count = 0;

	while (word && *word != '#') {
		if (count < WORDS)
			words[count] = word;
		count++;
		word = strtok_r(NULL, BLANKS, &save);
	}
	return count;
}

static void read_line(struct nodes *n, char *text)
{
	char *words[WORDS];
	int count = split(text, words);

	if (!count)
		return;
	if (count == 4 && !strcmp(words[0], "node"))
		read_node(n, words);
	else if (count == 2 && !strcmp(words[0], "local"))
		read_local(n, words);
	else
		bad_line(n, "neither \"node ID CONTROLLER ADDRESS\" nor \"local ID\"");
}

static void __attribute__((noreturn)) no_file(const char *name)
{
	const char *why = strerror(errno);

	if (!strcmp(name, FILE_NAME) && errno == ENOENT)
		die("%s: %s; see rsm.nodes(5). A node that is alone needs none", name, why);
	die("%s: %s", name, why);
}

static void read_file(struct nodes *n)
{
	FILE *f = strcmp(n->name, "-") ? fopen(n->name, "re") : stdin;
	char *text = NULL;
	size_t size = 0;
	ssize_t len;

	if (!f)
		no_file(n->name);
	for (n->line = 1; (len = getline(&text, &size, f)) >= 0; n->line++) {
		if (strlen(text) != (size_t)len)
			bad_line(n, "there is a NUL in it");
		read_line(n, text);
	}
	/* Do not load an incomplete table, because the new table replaces the old table. */
	if (!feof(f))
		die("%s: %s", n->name, strerror(errno));
	free(text);
	if (f != stdin)
		fclose(f);
}

void load(const char *name)
{
	struct nodes n = { .name = name };
	struct dat_rsm_nodes arg = { .size = sizeof(arg), .flags = DAT_RSM_NODES_TABLE };
	int fd;

	read_file(&n);
	if (n.has_local) {
		arg.flags |= DAT_RSM_NODES_LOCAL;
		arg.local = n.local;
	}
	arg.count = n.count;
	arg.list = (uintptr_t)n.list;
	arg.entry_size = sizeof(*n.list);
	fd = device();
	call(fd, &arg);
	close(fd);
	free(n.list);
}

