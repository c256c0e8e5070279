// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * A server that listens on one or two adapters.  Each adapter has an EVD of its own for connection
 * requests, since an EVD belongs to one adapter.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "tool.h"

static void listen_on(struct tool_service *s, const char *name, unsigned int port, DAT_COUNT qlen,
		      DAT_COUNT requests)
{
	struct tool *t = &s->tool[s->n];
	DAT_EVD_HANDLE *cr = &s->cr[s->n++];
	DAT_PSP_HANDLE psp;

	tool_open(t, name, qlen);
	tool_check(dat_evd_create(t->ia, requests, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, cr),
		   "cannot make an event queue");
	tool_check(dat_psp_create(t->ia, port, *cr, DAT_PSP_CONSUMER_FLAG, &psp), "cannot listen");
}

void tool_serve(struct tool_service *s, const char *name, unsigned int port, DAT_COUNT qlen,
		DAT_COUNT requests)
{
	char local[TOOL_NAME_SIZE];
	int i;

	memset(s, 0, sizeof(*s));
	if (!name)
		name = tool_environment();
	listen_on(s, name, port, qlen, requests);
	strcpy(s->names, s->tool[0].name);
	if (name || !tool_local_adapter(local) || !strcmp(local, s->tool[0].name))
		return;
	listen_on(s, local, port, qlen, requests);
	snprintf(s->names, sizeof(s->names), "%s and %s", s->tool[0].name, s->tool[1].name);
	for (i = 0; i < 2; i++) {
		s->wait[i].events = POLLIN;
		tool_check(dat_linux_evd_fd(s->cr[i], &s->wait[i].fd), "cannot wait for clients");
	}
}

/* Take a request, without waiting.  Returns the number of its adapter, or -1. */
static int take_request(struct tool_service *s, DAT_EVENT *event)
{
	DAT_RETURN rc;
	int i;

	for (i = 0; i < 2; i++) {
		/* An adapter with many requests does not keep the other one waiting. */
		s->last = !s->last;
		rc = dat_evd_dequeue(s->cr[s->last], event);
		if (rc == DAT_SUCCESS)
			return s->last;
		if (DAT_GET_TYPE(rc) != DAT_QUEUE_EMPTY && DAT_GET_TYPE(rc) != DAT_INTERRUPTED_CALL)
			tool_check(rc, "cannot wait for clients");
	}
	return -1;
}

/* Wait until an EVD may have a request, at most @ms milliseconds unless @ms is -1. */
static void await_request(struct tool_service *s, int ms)
{
	int i;

	if (poll(s->wait, 2, ms) < 0) {
		if (errno != EINTR)
			tool_die("cannot wait for clients: %s", strerror(errno));
		return;
	}
	for (i = 0; i < 2; i++)
		if (s->wait[i].revents & ~POLLIN)
			tool_die("cannot wait for clients: %s is gone", s->tool[i].name);
}

int tool_request(struct tool_service *s, unsigned int timeout_ms, DAT_EVENT *event)
{
	uint64_t end = tool_now_ns() + timeout_ms * 1000000ULL, now;
	int i, left = -1;

	if (s->n == 1)
		return tool_event_on(s->cr[0], 0, timeout_ms, event) ? 0 : -1;
	for (;;) {
		i = take_request(s, event);
		now = tool_now_ns();
		if (i >= 0 || (timeout_ms && now >= end))
			return i;
		if (timeout_ms)
			left = (int)((end - now) / 1000000) + 1;
		await_request(s, left);
	}
}

void tool_serve_end(struct tool_service *s)
{
	int i;

	for (i = 0; i < s->n; i++)
		tool_close(&s->tool[i]);
}
