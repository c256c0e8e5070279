// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

#define MAX_ADAPTERS		32
#define ASYNC_QLEN		16
#define CONNECT_TIMEOUT_US	(10 * 1000 * 1000)
#define DEFAULT_PORT		5055

static void say(const char *fmt, va_list ap)
{
	fflush(stdout);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

void complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	exit(1);
}

const char *rc_name(DAT_RETURN rc)
{
	static char text[160];
	const char *type = "?", *subtype = "";

	if (dat_strerror(rc, &type, &subtype) != DAT_SUCCESS)
		snprintf(text, sizeof(text), "unknown code %#x", rc);
	else
		snprintf(text, sizeof(text), "%s %s", type, subtype);
	return text;
}

void check(DAT_RETURN rc, const char *what)
{
	if (rc != DAT_SUCCESS)
		die("%s: %s", what, rc_name(rc));
}

const char *event_name(DAT_EVENT_NUMBER number)
{
	switch (number) {
	case DAT_DTO_COMPLETION_EVENT:
		return "a completion";
	case DAT_RMR_BIND_COMPLETION_EVENT:
		return "the completion of a bind";
	case DAT_CONNECTION_REQUEST_EVENT:
		return "a connection request";
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return "the connection is established";
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return "the server has rejected the connection";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "nobody listens there, or its queue is full";
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return "the peer went away before the connection was established";
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return "the connection has ended";
	case DAT_CONNECTION_EVENT_BROKEN:
		return "the connection is broken";
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return "no connection in time";
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return "the server can't be reached";
	default:
		return "an event that nobody waits for";
	}
}

const char *status_name(DAT_DTO_COMPLETION_STATUS status)
{
	static const char *const names[] = {
		[DAT_DTO_SUCCESS] = "done",
		[DAT_DTO_ERR_FLUSHED] = "flushed",
		[DAT_DTO_ERR_LOCAL_LENGTH] = "the message is longer than the buffer",
		[DAT_DTO_ERR_LOCAL_EP] = "local endpoint error",
		[DAT_DTO_ERR_LOCAL_PROTECTION] = "local memory is not ours to use",
		[DAT_DTO_ERR_BAD_RESPONSE] = "bad response",
		[DAT_DTO_ERR_REMOTE_ACCESS] = "the peer's memory is not ours to use",
		[DAT_DTO_ERR_REMOTE_RESPONDER] = "the peer could not do it",
		[DAT_DTO_ERR_TRANSPORT] = "the peer does not answer",
		[DAT_DTO_ERR_RECEIVER_NOT_READY] = "the peer posts no receive",
		[DAT_DTO_ERR_PARTIAL_PACKET] = "a part of the message came",
		[DAT_RMR_OPERATION_FAILED] = "the bind failed",
	};
	unsigned int n = (unsigned int)status;

	return n < sizeof(names) / sizeof(names[0]) ? names[n] : "unknown status";
}

static unsigned int number(const char *text, const char *what, unsigned int max)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || n > max) {
		complain("%s must be a number up to %u, not '%s'", what, max, text);
		exit(2);
	}
	return (unsigned int)n;
}

void parse_options(int argc, char **argv, const char *usage, const char *number_option,
		   struct options *opt)
{
	const struct option longs[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ "port", required_argument, NULL, 'p' },
		{ number_option, required_argument, NULL, 'n' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	memset(opt, 0, sizeof(*opt));
	opt->port = DEFAULT_PORT;
	while ((c = getopt_long(argc, argv, "d:hp:", longs, NULL)) >= 0) {
		if (c == 'd') {
			opt->device = optarg;
		} else if (c == 'p') {
			opt->port = number(optarg, "the port", 65535);
		} else if (c == 'n') {
			opt->number = number(optarg, number_option, 1000000);
		} else {
			fputs(usage, c == 'h' ? stdout : stderr);
			exit(c == 'h' ? 0 : 2);
		}
	}
	if (optind < argc)
		opt->host = argv[optind++];
	if (optind < argc && strstr(usage, "COUNT"))
		opt->count = number(argv[optind++], "COUNT", 100000000);
	if (optind < argc) {
		fputs(usage, stderr);
		exit(2);
	}
}

/*
 * Returns the adapter that DAT_ADAPTER in the environment names, or the first adapter of the
 * driver's list.  No configuration file is needed.
 */
static char *first_adapter(void)
{
	static DAT_PROVIDER_INFO info[MAX_ADAPTERS];
	DAT_PROVIDER_INFO *list[MAX_ADAPTERS];
	DAT_COUNT n = 0;
	char *name = getenv("DAT_ADAPTER");
	DAT_RETURN rc;
	int i;

	if (name && *name)
		return name;
	for (i = 0; i < MAX_ADAPTERS; i++)
		list[i] = &info[i];
	rc = dat_registry_list_providers(MAX_ADAPTERS, &n, list);
	/* A list that is too short causes an error, but the entries that fit are valid. */
	if (rc != DAT_SUCCESS && n <= MAX_ADAPTERS)
		die("cannot list the adapters: %s", rc_name(rc));
	/* Without adapters, use this name: dat_ia_open() then reports what is wrong. */
	if (!n)
		snprintf(info[0].ia_name, sizeof(info[0].ia_name), "lo0");
	return info[0].ia_name;
}

void node_open(struct node *n, char *device)
{
	n->name = device ? device : first_adapter();
	/* DAT_HANDLE_NULL makes dat_ia_open() create an EVD for async events. */
	n->async = DAT_HANDLE_NULL;
	check(dat_ia_open(n->name, ASYNC_QLEN, &n->async, &n->ia), "open the adapter");
	check(dat_pz_create(n->ia, &n->pz), "make a protection zone");
}

/* Close gracefully, because a graceful close reports an error if an object was not freed. */
void node_close(struct node *n)
{
	check(dat_pz_free(n->pz), "free the protection zone");
	check(dat_ia_close(n->ia, DAT_CLOSE_GRACEFUL_FLAG), "close the adapter");
}

void memory_make(struct node *n, struct memory *m, size_t size, DAT_MEM_PRIV_FLAGS priv)
{
	DAT_REGION_DESCRIPTION region;

	m->size = size;
	m->va = calloc(1, size);
	if (!m->va)
		die("no memory");
	region.for_va = m->va;
	check(dat_lmr_create(n->ia, DAT_MEM_TYPE_VIRTUAL, region, size, n->pz, priv, &m->lmr,
			     &m->context, &m->key, NULL, NULL), "register memory");
}

void memory_free(struct memory *m)
{
	check(dat_lmr_free(m->lmr), "free a registration");
	free(m->va);
}

DAT_LMR_TRIPLET segment(const struct memory *m, size_t offset, size_t len)
{
	DAT_LMR_TRIPLET seg = {
		.lmr_context = m->context,
		.virtual_address = (uintptr_t)(m->va + offset),
		.segment_length = len,
	};

	return seg;
}

DAT_EP_ATTR ep_attr(const struct node *n, DAT_COUNT recvs, DAT_COUNT requests)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = recvs, .max_recv_iov = 1,
		.max_request_dtos = requests, .max_request_iov = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	DAT_IA_ATTR ia;

	check(dat_ia_query(n->ia, NULL, DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE |
			   DAT_IA_FIELD_IA_MAX_RDMA_SIZE, &ia, DAT_PROVIDER_FIELD_NONE, NULL),
	      "query the adapter");
	attr.max_message_size = ia.max_message_size;
	attr.max_rdma_size = ia.max_rdma_size;
	return attr;
}

void start_connect(DAT_EP_HANDLE ep, const char *host, unsigned int port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list, *ai;
	DAT_RETURN rc = DAT_SUCCESS;
	int err = getaddrinfo(host, NULL, &hints, &list);

	if (err)
		die("no address for '%s': %s", host, gai_strerror(err));
	/*
	 * If the adapter does not support the family of an address, dat_ep_connect() fails at once.
	 * Then try the next address.
	 */
	for (ai = list; ai; ai = ai->ai_next) {
		rc = dat_ep_connect(ep, ai->ai_addr, port, CONNECT_TIMEOUT_US, 0, NULL,
				    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
		if (DAT_GET_TYPE(rc) != DAT_INVALID_ADDRESS)
			break;
	}
	freeaddrinfo(list);
	check(rc, "connect");
}

void next_event(DAT_EVD_HANDLE evd, unsigned int seconds, DAT_EVENT *event)
{
	DAT_TIMEOUT timeout = seconds ? seconds * 1000000 : DAT_TIMEOUT_INFINITE;
	DAT_COUNT nmore;
	DAT_RETURN rc;

	do {
		rc = dat_evd_wait(evd, timeout, 1, event, &nmore);
	} while (DAT_GET_TYPE(rc) == DAT_INTERRUPTED_CALL); /* a signal; no event was taken */
	if (DAT_GET_TYPE(rc) == DAT_TIMEOUT_EXPIRED)
		die("nothing happened for %u s", seconds);
	check(rc, "wait for an event");
}
