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


/* ---- text.c: conversion of values to text ---- */

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

/* ---- json.c: print a JSON document step by step; @key is NULL in an array ---- */

/* Print each document on one line. */
void json_one_line(void);
void json_open(const char *key, char bracket);
void json_close(char bracket);
void json_str(const char *key, const char *value);
void json_num(const char *key, uint64_t value);
/* Print a number with one digit after the point. */
void json_real(const char *key, double value);
void json_bool(const char *key, int value);
void json_null(const char *key);

/* ---- adapter.c: adapters of the driver ---- */

#define NO_ADAPTERS "there are no adapters: 'dat-info --check' finds out why"

/*
 * struct adapter - an adapter that the driver lists
 * @name: name of the adapter in the driver; never a name from dat.conf
 * @active: flag: the port is up
 * @err: errno of the open; @query is valid only if @err is 0
 * @query: limits and identity of the adapter
 * @addr: IP address that represents the adapter; empty if the host has no address on the port
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
 * never freed.  adapter_names() opens no adapter: @err, @query and @addr are not set.
 */
int adapter_names(struct adapter **list);
int adapter_list(struct adapter **list);
/*
 * Returns whether the driver opens the adapter @adapter by @name: it accepts "rxe0:1" as a name for
 * "rxe0".
 */
int adapter_is(const char *adapter, const char *name);
struct adapter *adapter_find(struct adapter *list, int n, const char *name);
/* Open and query the adapter @a->name.  Sets all other fields except @active. */
void adapter_query(struct adapter *a);
/* Returns whether the adapter is no RDMA device, and reaches the programs of this host alone. */
int adapter_is_local(const struct adapter *a);
/* Returns "active", "down", "no-address" or an error message. */
const char *adapter_state(const struct adapter *a);
void adapter_text(const struct adapter *a);
void adapter_json(const struct adapter *a);

/* ---- link.c: link, speed and GIDs of a port ---- */

void link_text(const struct adapter *a);
void link_json(const struct adapter *a);

/* ---- conf.c: lines of dat.conf ---- */

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

/* ---- attr.c: the attributes that dat_ia_query() returns ---- */

/*
 * Open the IA @name and print its attributes.  @line is the line of dat.conf that defines the name,
 * or NULL.  Returns 0, or -1 after printing an error.
 */
int attr_show(const char *name, const struct conf_line *line, int json);

/* ---- user.c: the processes that have /dev/dat open ---- */

/* @device: name of an adapter, or NULL for all adapters */
void user_text(const char *device);
void user_json(const char *device);
/*
 * Call @fn for each process.  @fn returns 0, or -1 if this program has no permission to read the
 * files of the process.  Returns the number of these processes.
 */
unsigned int user_each_process(int (*fn)(const char *pid, void *arg), void *arg);
/*
 * Call @fn with the fdinfo of each file of /dev/dat that the process has open.  Returns 0, or -1 if
 * this program has no permission to read the files of the process.
 */
int user_each_file(const char *pid, void (*fn)(const char *fd, FILE *fdinfo, void *arg), void *arg);
/*
 * struct user_ia - the IA of a file whose fdinfo is read line by line
 * @adapter: name of its adapter; empty before the "ia:" line, and for a file without an IA
 * @current: name of the adapter that the last "adapter:" line names
 */
struct user_ia {
	char	adapter[DAT_NAME_SIZE];
	char	current[DAT_NAME_SIZE];
};

/*
 * Read a line of fdinfo.  Returns 1 if this is the "ia:" line, which the lines of the objects
 * follow.  The name of the adapter comes from the "adapter:" line before it, because the device may
 * have got another name since the IA was opened.  Only if the device is gone, and with it that
 * line, @ia gets the name by which the IA was opened, without ":1".
 */
int user_ia_line(struct user_ia *ia, const char *line);

/* ---- fdinfo.c: lines of fdinfo ---- */

/* Returns the number after " key=" or a tab and "key=", or @missing if the line has no such key. */
uint64_t fdinfo_number(const char *line, const char *key, uint64_t missing);
/* Copy the word after " key=", its escapes decoded, or "" if there is no such key. */
void fdinfo_word(const char *line, const char *key, char *buf, size_t size);
/* Returns whether the line is about a @type. */
int fdinfo_is(const char *line, const char *type);

/* ---- stats.c, rows.c, prom.c: counters ---- */

enum counter {
	STAT_REQUESTS, STAT_RECEIVES, STAT_KICKS, STAT_COMPLETED, STAT_FAILED, STAT_FLUSHED,
	STAT_MALFORMED, STAT_EVENTS, STAT_DROPPED, STATS
};

/* Names of the counters in fdinfo and in JSON. */
extern const char *const stat_names[STATS];

/*
 * struct counts - counters of an adapter or of an object
 * @adapter: name of the adapter
 * @pid: process that has the object open; 0 for an adapter
 * @fd: file descriptor of the process
 * @command: name of the process
 * @type: "adapter", "ep", "evd" or "srq"
 * @id: id of the object; port number of an adapter
 * @state: state of an adapter or EP, else empty
 * @active: flag: the port of an adapter is up
 * @has: bit 1 << n is set if the line has counter n
 * @count: counters, indexed by enum counter
 */
struct counts {
	char		adapter[DAT_NAME_SIZE];
	unsigned long	pid;
	unsigned long	fd;
	char		command[32];
	char		type[8];
	unsigned int	id;
	char		state[24];
	int		active;
	unsigned int	has;
	uint64_t	count[STATS];
};

/*
 * struct sample - counters of one moment
 * @ns: time of the monotonic clock
 * @row: rows in order: adapters first, then by process, file and object
 * @n: number of rows
 * @room: number of rows for which @row has room
 * @hidden: number of processes whose objects this program may not read
 */
struct sample {
	uint64_t	ns;
	struct counts	*row;
	size_t		n;
	size_t		room;
	unsigned int	hidden;
};

/*
 * Read all counters, or those of the adapter @name; without @objects only those of adapters.
 * Returns 0, or a negative errno and no rows if the driver cannot be opened.
 */
int sample_get(struct sample *s, const char *name, int objects);
void sample_put(struct sample *s);
/* Returns the row of the same object in @old, or NULL. */
const struct counts *sample_find(const struct sample *old, const struct counts *row);

/*
 * struct stats_how - what --stats prints
 * @name: name of an adapter, or NULL for all
 * @json: flag: JSON
 * @seconds: seconds between two outputs; 0: print once
 * @file: Prometheus file, "-" for standard output; NULL: no Prometheus format
 */
struct stats_how {
	const char	*name;
	int		json;
	unsigned int	seconds;
	const char	*file;
};

/*
 * Print counters once, or until SIGINT or SIGTERM.  With @seconds, a missing adapter or driver and
 * a failed write are reported when they begin, and do not end the program.  Without an adapter, the
 * Prometheus file has no samples, and nothing else is printed.  Returns the exit status of the
 * program, which is that of the last output.
 */
int stats_run(const struct stats_how *how);
/* Write the totals in the format of Prometheus.  Returns 0 or a negative errno. */
int prom_write(const struct sample *s, const char *file);
/* ---- opt.c: the command line ---- */

/*
 * struct options - the command line
 * @all, @check, @list, @stats: flags: the option was given
 * @how: what to print with @stats; its name and json also serve other modes
 */
struct options {
	int			all;
	int			check;
	int			list;
	int			stats;
	struct stats_how	how;
};

/* Read the command line.  If it is wrong, print the reason and exit with status 2. */
void options_get(struct options *o, int argc, char **argv);

/* ---- report.c: results of checks ---- */

enum check_status { CHECK_OK, CHECK_WARN, CHECK_FAIL };

/*
 * Print the result of a check.  @what is a word by which scripts recognize the check.  If @status
 * is not CHECK_OK, the text ends with " -> " and advice for the user.
 */
void check_report(enum check_status status, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Begin the document, and end it.  report_end() returns the exit status of the program. */
void report_begin(int json);
int report_end(void);

/* ---- check.c and the checks, which report their results by check_report() ---- */

/* Run all checks.  Returns the exit status of the program. */
int check_run(int json);

/*
 * host.c: checks of the kernel, the driver, permissions and limits.  check_driver()
 * returns whether the driver can be used.
 */
void check_kernel(void);
int check_driver(void);
void check_memlock(void);

/*
 * module.c: modules of this kernel.  module_is_listed() looks into @list, a file in the
 * directory of the kernel's modules.  module_report() reports why dat.ko is not loaded.
 */
int module_is_loaded(const char *module);
int module_is_listed(const char *module, const char *list);
void module_report(void);

/* port.c: checks of the RDMA devices.  @usable: result of check_driver() */
void check_ports(int usable);

/* line.c: checks of dat.conf */
void check_conf(int usable);

/* loop.c: the adapter @a sends a message to itself */
void check_loop(const struct adapter *a);

/* ---- child.c: runs functions that may hang or crash ---- */

/*
 * Run @fn in a child process.  Returns the result of @fn, or -1 if the child crashes or runs longer
 * than @seconds.  @output gets the text that the child wrote to stderr, as one line, or the reason
 * of the failure.
 */
int child_run(int (*fn)(const void *arg), const void *arg, int seconds, char *output, size_t size);

#endif /* TOOLS_DAT_INFO_H */
