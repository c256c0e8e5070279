// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * rsm-nodes: loads the table of RSM nodes and the cluster key into the driver, and shows the table.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <net/if.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rdma/dat_rsm.h>
#include <rsmapi.h>

#include "../common/dev.h"
#include "rsm-error.h"

#define FILE_NAME	"/etc/rsm/rsm.nodes"
#define KEY_DIR		"/etc/rsm"
#define KEY_FILE	KEY_DIR "/cluster.key"
#define KEY_NAME	"rsm:cluster"
#define KEY_BYTES	32	/* bytes of a new key, and minimum of the driver */
#define KEY_BYTES_MAX	128
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

static void __attribute__((format(printf, 1, 2), noreturn)) die(const char *fmt, ...)
{
	va_list ap;

	fputs("rsm-nodes: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static void __attribute__((noreturn)) bad_line(const struct nodes *n, const char *why)
{
	die("%s:%u: %s", n->name, n->line, why);
}

/* Functions that read the table. */

static int number(const char *word, unsigned long max, uint32_t *out)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(word, &end, 10);
	if (*word < '0' || *word > '9' || *end || errno || value > max)
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

/* Functions that call the driver. */

static int device(void)
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

static void call(int fd, struct dat_rsm_nodes *arg)
{
	int ret = du_ioctl(fd, DAT_IOC_RSM_NODES, arg);

	if (ret == -EREMOTEIO)
		die("%s", reason(arg));
	if (ret)
		die("/dev/rsm: %s", ret == -ENOTTY ? "this dat_rsm.ko knows no nodes" :
						       strerror(-ret));
}

static void load(const char *name)
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

static void clear(void)
{
	struct dat_rsm_nodes arg = { .size = sizeof(arg), .flags = DAT_RSM_NODES_TABLE };
	int fd = device();

	call(fd, &arg);
	close(fd);
}

/* Functions for the cluster key. */

/* Make a random key as text: 64 hexadecimal digits and a newline. */
static void key_make(char *text)
{
	unsigned char key[KEY_BYTES];
	size_t i;

	if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
		die("getrandom: %s", strerror(errno));
	for (i = 0; i < sizeof(key); i++)
		sprintf(text + 2 * i, "%02x", key[i]);
	strcat(text, "\n");
	explicit_bzero(key, sizeof(key));
}

static int write_all(int fd, const char *text, size_t len)
{
	ssize_t n;

	for (; len; text += n, len -= (size_t)n) {
		n = write(fd, text, len);
		if (n < 0)
			return -1;
	}
	return 0;
}

/* Write and sync the file.  Closes the file also after an error. */
static int key_write(int fd, const char *text)
{
	int ret = write_all(fd, text, strlen(text)) || fchmod(fd, 0600) || fsync(fd);

	return close(fd) || ret ? -1 : 0;
}

/*
 * Create the key file, or replace it with --force.  The key is first written to a temporary file,
 * so that no reader sees an incomplete key.  After a failure, the temporary file is removed.
 */
static void keygen(const char *name, int force)
{
	char text[2 * KEY_BYTES + 2] = "", *tmp;
	int fd, err;

	if (!strcmp(name, KEY_FILE) && mkdir(KEY_DIR, 0755) && errno != EEXIST)
		die("%s: %s", KEY_DIR, strerror(errno));
	if (asprintf(&tmp, "%s.XXXXXX", name) < 0)
		die("no memory");
	key_make(text);
	fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0)
		die("%s: %s", name, strerror(errno));
	/*
	 * Without --force, use link(), which fails if the file exists.  rename() would replace the
	 * file.
	 */
	err = key_write(fd, text) || (force ? rename(tmp, name) : link(tmp, name)) ? errno : 0;
	explicit_bzero(text, sizeof(text));
	if (err || !force)
		unlink(tmp);
	if (err == EEXIST)
		die("%s exists: nodes that have it won't know those that have another one; see --force",
		    name);
	if (err)
		die("%s: %s", name, strerror(err));
	free(tmp);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/*
 * Refuse a key file that other users can read or write, because a host with the key can pose as a
 * node of the cluster.  Refuse an owner other than root and the current user, because the owner can
 * change the key.
 */
static void key_file_check(const char *name, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		die("%s: %s", name, strerror(errno));
	if (st.st_uid && st.st_uid != geteuid())
		die("%s: it belongs to user %u, who may change it; see whose key it is, then 'chown 0 %s'",
		    name, st.st_uid, name);
	if (S_ISREG(st.st_mode) && st.st_mode & 077)
		die("%s: others than its owner can read or write it", name);
}

static size_t key_read(const char *name, unsigned char *key)
{
	char text[2 * KEY_BYTES_MAX + 2];
	size_t len, i;
	FILE *f = strcmp(name, "-") ? fopen(name, "re") : stdin;

	if (!f)
		die("%s: %s%s", name, strerror(errno),
		    errno == ENOENT ? "; 'rsm-nodes keygen' makes it, once for all nodes" : "");
	if (f != stdin)
		key_file_check(name, fileno(f));
	setbuf(f, NULL);
	len = fread(text, 1, sizeof(text), f);
	if (len && text[len - 1] == '\n')
		len--;
	if (len < 2 * KEY_BYTES || len > 2 * KEY_BYTES_MAX || len % 2)
		die("%s: no key of %d to %d bytes in hexadecimal digits", name, KEY_BYTES,
		    KEY_BYTES_MAX);
	for (i = 0; i < len; i++)
		if (digit(text[i]) < 0)
			die("%s: there is something else than hexadecimal digits in it", name);
	for (i = 0; i < len / 2; i++)
		key[i] = (unsigned char)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
	explicit_bzero(text, sizeof(text));
	if (f != stdin)
		fclose(f);
	return len / 2;
}

/*
 * Make a key the cluster key, or remove the cluster key if @serial is 0.  The driver takes a
 * reference to the key, because this process's keyring is destroyed when the process exits.
 */
static void key_set(int32_t serial)
{
	struct dat_rsm_nodes arg = {
		.size = sizeof(arg), .flags = DAT_RSM_NODES_KEY, .key = serial,
	};
	int fd = device();

	call(fd, &arg);
	close(fd);
}

static void key_load(const char *name)
{
	unsigned char key[KEY_BYTES_MAX];
	size_t len = key_read(name, key);
	long serial;

	serial = syscall(SYS_add_key, "logon", KEY_NAME, key, len, KEY_SPEC_PROCESS_KEYRING);
	explicit_bzero(key, sizeof(key));
	if (serial < 0)
		die("the kernel takes no key: %s", strerror(errno));
	key_set((int32_t)serial);
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
