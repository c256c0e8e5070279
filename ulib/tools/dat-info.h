/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Declarations of the parts of dat-info, from those that read to those that print. */
#ifndef TOOLS_DAT_INFO_H
#define TOOLS_DAT_INFO_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <dat/udat.h>
#include <rdma/dat_ioctl.h>

#define INFO_VERSION	"1.2.0"

/* ---- dat-info-text.c: words for values ---- */

#define INFO_ADDR_SIZE	64

/* Like printf(), but replaces control characters in the result by '?'. */
void text_print(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Returns "8 MiB", for example, or NULL if the number has no shorter form. */
const char *text_bytes(uint64_t n, char buf[32]);
/* Convert an address without its port. */
void text_address(const void *sockaddr, char buf[INFO_ADDR_SIZE]);
/* Read the first line of a file, without its end; returns 0, or -1 and an empty string. */
int text_read(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- dat-info-json.c: a document, written as it goes; @key is NULL in arrays ---- */

void json_open(const char *key, char bracket);
void json_close(char bracket);
void json_str(const char *key, const char *value);
void json_num(const char *key, uint64_t value);
void json_bool(const char *key, int value);
void json_null(const char *key);

/* ---- dat-info-adapter.c: adapters of the driver ---- */

/*
 * struct adapter - an adapter that the driver lists
 * @name: name in the driver, not one of dat.conf
 * @active: the port is up
 * @err: errno of the open; 0: @query is valid
 * @addr: address; empty if the host has no address on the port
 */
struct adapter {
	char			name[DAT_NAME_SIZE];
	int			active;
	int			err;
	struct dat_ia_query	query;
	char			addr[INFO_ADDR_SIZE];
};

/* Returns the number of adapters, or a negative errno if there is no driver; never freed. */
int adapter_list(struct adapter **list);
struct adapter *adapter_find(struct adapter *list, int n, const char *name);
/* Open and query @a->name; fills in all other members but @active. */
void adapter_query(struct adapter *a);
/* Returns "active", "down", ... */
const char *adapter_state(const struct adapter *a);
void adapter_text(const struct adapter *a);
void adapter_json(const struct adapter *a);

/* ---- dat-info-conf.c: lines of dat.conf ---- */

/*
 * struct conf_line - a line that defines a name
 * @where: file and line
 * @alias: @params is the name of an adapter of the driver
 */
struct conf_line {
	char			*name;
	char			*library;
	char			*params;
	char			*where;
	unsigned int		major;
	unsigned int		minor;
	int			threadsafe;
	int			alias;
};

/*
 * struct conf - contents of all files
 * @wrong: messages about malformed lines and unreadable files
 */
struct conf {
	struct conf_line	*lines;
	unsigned int		n;
	char			**wrong;
	unsigned int		nwrong;
};

const struct conf *conf_get(void);
void conf_line_json(const struct conf_line *line);

/* ---- dat-info-attr.c: what dat_ia_query() returns ---- */

/*
 * Open @name and print its attributes.  @line: line that defines the name, or NULL.  Returns 0, or
 * -1 after a message.
 */
int attr_show(const char *name, const struct conf_line *line, int json);

/* ---- dat-info-user.c: processes that have the device open ---- */

/* @device: an adapter's name, or NULL for all. */
void user_text(const char *device);
void user_json(const char *device);

/* ---- dat-info-check.c and the parts of it; all return nothing: they report ---- */

enum check_status { CHECK_OK, CHECK_WARN, CHECK_FAIL };

/*
 * Report the result of a check.  @what: a word for scripts to match.  The text of a result other
 * than ok ends with " -> " and what to do.
 */
void check_report(enum check_status status, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Returns the exit status. */
int check_run(int json);

/*
 * dat-info-host.c: the kernel, the driver, permissions, limits.  check_driver() returns whether the
 * driver can be used.
 */
void check_kernel(void);
int check_driver(void);
void check_memlock(void);

/* dat-info-port.c: RDMA devices.  @usable: whether the driver can be used. */
void check_ports(int usable);

/* dat-info-line.c: dat.conf */
void check_conf(int usable);

/* dat-info-loop.c: a message from the adapter to itself */
void check_loop(const struct adapter *a);

/* ---- dat-info-child.c: what may hang or crash ---- */

/*
 * Run @fn in a child.  Returns its value, or -1 if the child crashes or takes longer than @seconds.
 * @output: text that the child wrote to stderr, in one line, or the reason of the failure.
 */
int child_run(int (*fn)(const void *arg), const void *arg, int seconds, char *output, size_t size);

#endif /* TOOLS_DAT_INFO_H */
