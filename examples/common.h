/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* Common parts of the examples, so that each example can show a single topic. */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <stddef.h>
#include <stdint.h>

#include <dat/udat.h>

/*
 * struct node - an open adapter
 * @name: name of the adapter
 * @ia: adapter, the parent of all other objects
 * @async: EVD for async events, which concern no single operation; created by dat_ia_open()
 * @pz: protection zone of all memory and all endpoints
 */
struct node {
	char		*name;
	DAT_IA_HANDLE	ia;
	DAT_EVD_HANDLE	async;
	DAT_PZ_HANDLE	pz;
};

/*
 * struct memory - registered memory
 * @va: address
 * @size: size in bytes
 * @lmr: registration
 * @context: key of the memory for local segments
 * @key: key of the memory for the peer; 0 without a remote privilege
 */
struct memory {
	char		*va;
	size_t		size;
	DAT_LMR_HANDLE	lmr;
	DAT_LMR_CONTEXT	context;
	DAT_RMR_CONTEXT	key;
};

/*
 * struct options - the command line
 * @device: name of the adapter; NULL for the first adapter
 * @port: connection qualifier
 * @number: value of --clients or --idle
 * @host: server to connect to; NULL if this program is the server
 * @count: argument after HOST, or 0
 */
struct options {
	char		*device;
	unsigned int	port;
	unsigned int	number;
	const char	*host;
	unsigned int	count;
};

/* Print "program: message".  die() also exits with status 1. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Returns the names of a return code, from dat_strerror(). */
const char *rc_name(DAT_RETURN rc);
/* If @rc is not DAT_SUCCESS, print a message and exit. */
void check(DAT_RETURN rc, const char *what);

const char *event_name(DAT_EVENT_NUMBER number);
const char *status_name(DAT_DTO_COMPLETION_STATUS status);

/*
 * Parse the command line.  @number_option is the name of the program's own option with a number,
 * such as "clients", or NULL.
 */
void parse_options(int argc, char **argv, const char *usage, const char *number_option,
		   struct options *opt);

void node_open(struct node *n, char *device);
void node_close(struct node *n);

void memory_make(struct node *n, struct memory *m, size_t size, DAT_MEM_PRIV_FLAGS priv);
void memory_free(struct memory *m);
/* Returns the segment of @len bytes at @offset in the memory. */
DAT_LMR_TRIPLET segment(const struct memory *m, size_t offset, size_t len);

/*
 * Returns attributes for an endpoint with @recvs receives and @requests requests in flight.  Each
 * receive and request has one segment.
 */
DAT_EP_ATTR ep_attr(const struct node *n, DAT_COUNT recvs, DAT_COUNT requests);

/* Start to connect to @host.  An event will report the result. */
void start_connect(DAT_EP_HANDLE ep, const char *host, unsigned int port);

/* Take the next event of @evd.  Exits if no event arrives within @seconds; 0 means no limit. */
void next_event(DAT_EVD_HANDLE evd, unsigned int seconds, DAT_EVENT *event);

#endif /* EXAMPLES_COMMON_H */
