/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* Declarations of the parts of dat-info. */
#ifndef TOOLS_DAT_INFO_H
#define TOOLS_DAT_INFO_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <dat/udat.h>
#include <rdma/dat_ioctl.h>


/* ---- dat-info-text.c: conversion of values to text ---- */

#define INFO_ADDR_SIZE	64

/* Like printf(), but replaces all control characters except newlines by '_'. */
void text_print(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * Convert a number of bytes to text such as "8 MiB".  Returns NULL if the number has no shorter
 * form.
 */
const char *text_bytes(uint64_t n, char buf[32]);
/* Convert a socket address to text, without the port. */
void text_address(const void *sockaddr, char buf[INFO_ADDR_SIZE]);
/*
 * Read the first line of a file, without the newline.  Returns 0, or -1 with an empty string in
 * @buf.
 */
int text_read(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- dat-info-json.c: print a JSON document step by step; @key is NULL in an array ---- */

void json_open(const char *key, char bracket);
void json_close(char bracket);
void json_str(const char *key, const char *value);
void json_num(const char *key, uint64_t value);
void json_bool(const char *key, int value);
void json_null(const char *key);

/* ---- dat-info-adapter.c: adapters of the driver ---- */

/*
 * struct adapter - an adapter that the driver lists
 * @name: name of the adapter in the driver; never a name from dat.conf
 * @active: flag: the port is up
 * @err: errno of the open; @query is valid only if @err is 0
 * @query: limits and identity of the adapter
 * @addr: IP address; empty if the host has no address on the port
 */
struct adapter {
	char			name[DAT_NAME_SIZE];
	int			active;
	int			err;
	struct dat_ia_query	query;
	char			addr[INFO_ADDR_SIZE];
};

/*
 * Returns the number of adapters, or a negative errno if the driver cannot be opened.  The list is
 * never freed.
 */
int adapter_list(struct adapter **list);
struct adapter *adapter_find(struct adapter *list, int n, const char *name);
/* Open and query the adapter @a->name.  Sets all other fields except @active. */
void adapter_query(struct adapter *a);
/* Returns "active", "down", "no-address" or an error message. */
const char *adapter_state(const struct adapter *a);
void adapter_text(const struct adapter *a);
void adapter_json(const struct adapter *a);

/* ---- dat-info-conf.c: lines of dat.conf ---- */

/*
 * struct conf_line - a line that defines the name of an IA
 * @name: name of the IA
 * @library: provider library
 * @params: IA parameters
 * @where: file name and line number
 * @major, @minor: API version
 * @threadsafe: flag: the library is safe for threads
 * @alias: flag: the library is libdat, and @params names an adapter of the driver
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
 * struct conf - contents of all configuration files
 * @lines: array of @n valid lines
 * @n: number of elements in @lines
 * @wrong: array of messages about malformed lines and unreadable files
 * @nwrong: number of elements in @wrong
 */
struct conf {
	struct conf_line	*lines;
	unsigned int		n;
	char			**wrong;
	unsigned int		nwrong;
};

const struct conf *conf_get(void);
void conf_line_json(const struct conf_line *line);

/* ---- dat-info-attr.c: the attributes that dat_ia_query() returns ---- */

/*
 * Open the IA @name and print its attributes.  @line is the line of dat.conf that defines the name,
 * or NULL.  Returns 0, or -1 after printing an error.
 */
int attr_show(const char *name, const struct conf_line *line, int json);

/* ---- dat-info-user.c: the processes that have /dev/dat open ---- */

/* @device: name of an adapter, or NULL for all adapters */
void user_text(const char *device);
void user_json(const char *device);

/* ---- dat-info-check.c and its parts; the checks report their results by check_report() ---- */

enum check_status { CHECK_OK, CHECK_WARN, CHECK_FAIL };

/*
 * Print the result of a check.  @what is a word by which scripts recognize the check.  If @status
 * is not CHECK_OK, the text ends with " -> " and advice for the user.
 */
void check_report(enum check_status status, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Run all checks.  Returns the exit status of the program. */
int check_run(int json);

/*
 * dat-info-host.c: checks of the kernel, the driver, permissions and limits.  check_driver()
 * returns whether the driver can be used.
 */
void check_kernel(void);
int check_driver(void);
void check_memlock(void);

/* dat-info-port.c: checks of the RDMA devices.  @usable: result of check_driver() */
void check_ports(int usable);

/* dat-info-line.c: checks of dat.conf */
void check_conf(int usable);

/* dat-info-loop.c: the adapter @a sends a message to itself */
void check_loop(const struct adapter *a);

/* ---- dat-info-child.c: runs functions that may hang or crash ---- */

/*
 * Run @fn in a child process.  Returns the result of @fn, or -1 if the child crashes or runs longer
 * than @seconds.  @output gets the text that the child wrote to stderr, as one line, or the reason
 * of the failure.
 */
int child_run(int (*fn)(const void *arg), const void *arg, int seconds, char *output, size_t size);

#endif /* TOOLS_DAT_INFO_H */
