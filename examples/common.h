/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Common parts of the examples, so that each of them can be about one thing. */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <stddef.h>
#include <stdint.h>

#include <dat/udat.h>

/*
 * struct node - an open adapter
 * @ia: adapter, parent of all other objects
 * @async: EVD of events that concern no single operation; made by dat_ia_open()
 * @pz: protection zone of all memory and all endpoints
 */
struct node {
	DAT_IA_HANDLE	ia;
	DAT_EVD_HANDLE	async;
	DAT_PZ_HANDLE	pz;
};

/*
 * struct memory - bytes that are allocated and registered
 * @context: key for the segments of local posts
 * @key: key for the peer; 0 without a remote privilege
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
 * @device: name of the adapter; NULL: the first one
 * @port: connection qualifier
 * @number: value of --clients or --idle
 * @host: server to connect to; NULL: be the server
 * @count: argument after HOST, or 0
 */
struct options {
	char		*device;
	unsigned int	port;
	unsigned int	number;
	const char	*host;
	unsigned int	count;
};

/* Print "program: message"; die() then exits with status 1. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Returns the names of a return code, as dat_strerror() gives them. */
const char *rc_name(DAT_RETURN rc);
/* Exits with a message unless @rc is DAT_SUCCESS. */
void check(DAT_RETURN rc, const char *what);

const char *event_name(DAT_EVENT_NUMBER number);
const char *status_name(DAT_DTO_COMPLETION_STATUS status);

/*
 * @number_option: name of the program's own option with a number, such as "clients", or
 *	NULL.
 */
void parse_options(int argc, char **argv, const char *usage, const char *number_option,
		   struct options *opt);

void node_open(struct node *n, char *device);
void node_close(struct node *n);

void memory_make(struct node *n, struct memory *m, size_t size, DAT_MEM_PRIV_FLAGS priv);
void memory_free(struct memory *m);
/* Returns the segment of @len bytes at @offset. */
DAT_LMR_TRIPLET segment(const struct memory *m, size_t offset, size_t len);

/*
 * Returns attributes of an endpoint for these numbers of outstanding receives and requests,
 * with one segment each.
 */
DAT_EP_ATTR ep_attr(const struct node *n, DAT_COUNT recvs, DAT_COUNT requests);

/* Connects to @host.  An event reports the result. */
void start_connect(DAT_EP_HANDLE ep, const char *host, unsigned int port);

/* Takes the next event of @evd; exits if none comes in @seconds (0: no limit). */
void next_event(DAT_EVD_HANDLE evd, unsigned int seconds, DAT_EVENT *event);

#endif /* EXAMPLES_COMMON_H */
