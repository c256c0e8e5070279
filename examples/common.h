/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every DAT program needs once, so that the examples can be about one thing each. */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <stddef.h>
#include <stdint.h>

#include <dat/udat.h>

/*
 * struct node - an open adapter
 * @ia: the adapter, parent of everything else
 * @async: EVD for what concerns no single operation; dat_ia_open() makes it
 * @pz: the zone of all memory and all endpoints
 */
struct node {
	DAT_IA_HANDLE	ia;
	DAT_EVD_HANDLE	async;
	DAT_PZ_HANDLE	pz;
};

/*
 * struct memory - bytes that are allocated and registered
 * @context: names them in the segments of our own posts
 * @key: names them to a peer; 0 without a remote privilege
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
 * @device: name of the adapter; NULL: the first there is
 * @port: connection qualifier
 * @number: of --clients or --idle
 * @host: server to ask; NULL: be the server
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

/* The names of a return code, as dat_strerror() has them. */
const char *rc_name(DAT_RETURN rc);
/* Die unless @rc is DAT_SUCCESS. */
void check(DAT_RETURN rc, const char *what);

const char *event_name(DAT_EVENT_NUMBER number);
const char *status_name(DAT_DTO_COMPLETION_STATUS status);

/* @number_option: the program's own option with a number, such as "clients", or NULL. */
void parse_options(int argc, char **argv, const char *usage, const char *number_option,
		   struct options *opt);

void node_open(struct node *n, char *device);
void node_close(struct node *n);

void memory_make(struct node *n, struct memory *m, size_t size, DAT_MEM_PRIV_FLAGS priv);
void memory_free(struct memory *m);
/* The segment of @len bytes at @offset. */
DAT_LMR_TRIPLET segment(const struct memory *m, size_t offset, size_t len);

/* Attributes of an endpoint: so many receives and requests outstanding, one segment each. */
DAT_EP_ATTR ep_attr(const struct node *n, DAT_COUNT recvs, DAT_COUNT requests);

/* Connects to @host.  An event reports the result. */
void start_connect(DAT_EP_HANDLE ep, const char *host, unsigned int port);

/* The next event of @evd; dies if none comes in @seconds (0: no limit). */
void next_event(DAT_EVD_HANDLE evd, unsigned int seconds, DAT_EVENT *event);

#endif /* EXAMPLES_COMMON_H */
