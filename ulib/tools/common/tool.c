// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
#define _GNU_SOURCE
#include <netdb.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tool.h"

#define MAX_ADAPTERS		64
#define CONNECT_TIMEOUT_US	(10 * 1000 * 1000)

const char *tool_prog = "dat";

static void say(const char *fmt, va_list ap)
{
	fflush(stdout);
	flockfile(stderr);
	fprintf(stderr, "%s: ", tool_prog);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	funlockfile(stderr);
}

void tool_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

void tool_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	exit(1);
}

void tool_usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	exit(2);
}

const char *tool_strerror(DAT_RETURN rc)
{
	static _Thread_local char text[160];
	const char *major = "?", *minor = "";

	if (dat_strerror(rc, &major, &minor) != DAT_SUCCESS)
		snprintf(text, sizeof(text), "code %#x", rc);
	else
		snprintf(text, sizeof(text), "%s %s", major, minor);
	return text;
}

void tool_check(DAT_RETURN rc, const char *what)
{
	if (rc != DAT_SUCCESS)
		tool_die("%s: %s", what, tool_strerror(rc));
}

uint64_t tool_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void first_adapter(char name[TOOL_NAME_SIZE])
{
	static DAT_PROVIDER_INFO info[MAX_ADAPTERS];
	DAT_PROVIDER_INFO *list[MAX_ADAPTERS];
	DAT_COUNT n = 0;
	int i;

	for (i = 0; i < MAX_ADAPTERS; i++)
		list[i] = &info[i];
	dat_registry_list_providers(MAX_ADAPTERS, &n, list);
	/* If there are no adapters, use this name: dat_ia_open() then reports what is wrong. */
	snprintf(name, TOOL_NAME_SIZE, "%.*s", TOOL_NAME_SIZE - 1, n ? info[0].ia_name : "lo0");
}

const char *tool_environment(void)
{
	const char *name = secure_getenv("DAT_ADAPTER");

	return name && *name ? name : NULL;
}

void tool_open(struct tool *t, const char *name, DAT_COUNT qlen)
{
	memset(t, 0, sizeof(*t));
	if (!name)
		name = tool_environment();
	if (name)
		snprintf(t->name, sizeof(t->name), "%s", name);
	else
		first_adapter(t->name);
	tool_check(dat_ia_open(t->name, 8, &t->async, &t->ia), "cannot open the adapter");
	tool_check(dat_ia_query(t->ia, NULL, DAT_IA_FIELD_ALL, &t->attr, 0, NULL),
		   "cannot query the adapter");
	tool_check(dat_pz_create(t->ia, &t->pz), "cannot make a protection zone");
	tool_check(dat_evd_create(t->ia, qlen, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG,
				  &t->evd), "cannot make an event queue");
}

int tool_open_for(struct tool *t, const char *name, const struct tool_host *h, DAT_COUNT qlen)
{
	char local[TOOL_NAME_SIZE];
	int here = !name && !tool_environment() && tool_is_here(h) && tool_local_adapter(local);

	tool_open(t, here ? local : name, qlen);
	return here;
}

void tool_close(struct tool *t)
{
	dat_ia_close(t->ia, DAT_CLOSE_ABRUPT_FLAG);
}

DAT_RETURN tool_try_share(const struct tool *from, struct tool *t, DAT_COUNT qlen)
{
	DAT_RETURN rc;

	*t = *from;
	rc = dat_pz_create(t->ia, &t->pz);
	if (rc != DAT_SUCCESS)
		return rc;
	rc = dat_evd_create(t->ia, qlen, DAT_HANDLE_NULL,
			    DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &t->evd);
	if (rc != DAT_SUCCESS)
		dat_pz_free(t->pz);
	return rc;
}

void tool_unshare(struct tool *t)
{
	dat_evd_free(t->evd);
	dat_pz_free(t->pz);
}

DAT_RETURN tool_try_alloc(struct tool *t, struct tool_mem *mem, size_t size,
			  DAT_MEM_PRIV_FLAGS priv)
{
	DAT_REGION_DESCRIPTION region;
	DAT_RETURN rc;

	memset(mem, 0, sizeof(*mem));
	region.for_va = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
	if (region.for_va == MAP_FAILED)
		return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY;
	rc = dat_lmr_create(t->ia, DAT_MEM_TYPE_VIRTUAL, region, size, t->pz,
			    priv, &mem->lmr, &mem->lmr_context, &mem->rmr_context, NULL,
			    NULL);
	if (rc != DAT_SUCCESS) {
		munmap(region.for_va, size);
		return rc;
	}
	mem->va = region.for_va;
	mem->size = size;
	return DAT_SUCCESS;
}

void tool_alloc(struct tool *t, struct tool_mem *mem, size_t size, DAT_MEM_PRIV_FLAGS priv)
{
	tool_check(tool_try_alloc(t, mem, size, priv), "cannot register memory");
}

void tool_free(struct tool_mem *mem)
{
	if (!mem->va)
		return;
	dat_lmr_free(mem->lmr);
	munmap(mem->va, mem->size);
	mem->va = NULL;
}

DAT_LMR_TRIPLET tool_seg(const struct tool_mem *mem, size_t offset, size_t len)
{
	DAT_LMR_TRIPLET seg = {
		.lmr_context = mem->lmr_context,
		.virtual_address = (uintptr_t)mem->va + offset, .segment_length = len,
	};

	return seg;
}

DAT_RETURN tool_try_ep(struct tool *t, DAT_SRQ_HANDLE srq, DAT_COUNT recvs,
		       DAT_COUNT requests, DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = t->attr.max_message_size,
		.max_rdma_size = t->attr.max_rdma_size,
		.max_recv_dtos = srq ? 0 : recvs, .max_request_dtos = requests,
		.max_recv_iov = 1, .max_request_iov = 1, .max_rdma_read_in = 16,
		.max_rdma_read_out = 16, .srq_soft_hw = DAT_HW_DEFAULT,
	};
	DAT_NAMED_ATTR named = { .name = "max_inline", .value = t->max_inline };

	if (t->max_inline) {
		attr.ep_provider_specific_count = 1;
		attr.ep_provider_specific = &named;
	}
	if (attr.max_rdma_read_in > t->attr.max_rdma_read_per_ep_in)
		attr.max_rdma_read_in = t->attr.max_rdma_read_per_ep_in;
	if (attr.max_rdma_read_out > t->attr.max_rdma_read_per_ep_out)
		attr.max_rdma_read_out = t->attr.max_rdma_read_per_ep_out;
	if (srq)
		return dat_ep_create_with_srq(t->ia, t->pz, t->evd, t->evd, t->evd, srq, &attr,
					      ep);
	return dat_ep_create(t->ia, t->pz, t->evd, t->evd, t->evd, &attr, ep);
}

DAT_EP_HANDLE tool_ep(struct tool *t, DAT_SRQ_HANDLE srq, DAT_COUNT recvs,
		      DAT_COUNT requests)
{
	DAT_EP_HANDLE ep;

	tool_check(tool_try_ep(t, srq, recvs, requests, &ep), "cannot make an endpoint");
	return ep;
}

void tool_serve_signals(void)
{
	signal(SIGPIPE, SIG_IGN);
}

void tool_listen(const struct tool *t, unsigned int port, DAT_EVD_HANDLE evd)
{
	DAT_PSP_HANDLE psp;

	tool_check(dat_psp_create(t->ia, port, evd, DAT_PSP_CONSUMER_FLAG, &psp),
		   "cannot listen");
}

void tool_host_find(struct tool_host *h, const char *name)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	int err = getaddrinfo(name, NULL, &hints, &h->list);

	if (err)
		tool_die("no address for '%s': %s", name, gai_strerror(err));
	h->name = name;
	h->next = h->list;
}

void tool_host_free(struct tool_host *h)
{
	freeaddrinfo(h->list);
	h->list = NULL;
}

static const char *connect_advice(DAT_EVENT_NUMBER number)
{
	switch (number) {
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "nobody listens there, or its queue is full: start the server first, with the same --port";
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return "a server is there and refused, which carries no reason: see what it printed";
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return "no route to it over this adapter: see 'rdma link show' and 'ip route get'";
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return "no answer in 10 s";
	default:
		return "";
	}
}

void tool_start_connect(DAT_EP_HANDLE ep, struct tool_host *h, unsigned int port,
			const void *pd, size_t pd_len)
{
	DAT_RETURN rc;

	/* For example, the adapter may have no address of the family. */
	for (;;) {
		rc = dat_ep_connect(ep, h->next->ai_addr, port, CONNECT_TIMEOUT_US,
				    (DAT_COUNT)pd_len, (DAT_PVOID)pd, DAT_QOS_BEST_EFFORT,
				    DAT_CONNECT_DEFAULT_FLAG);
		if (DAT_GET_TYPE(rc) != DAT_INVALID_ADDRESS || !h->next->ai_next)
			break;
		h->next = h->next->ai_next;
	}
	tool_check(rc, "cannot connect");
}

int tool_connect(struct tool *t, DAT_EP_HANDLE ep, struct tool_host *h, unsigned int port,
		 const void *pd, size_t pd_len)
{
	DAT_EVENT event;

	tool_start_connect(ep, h, port, pd, pd_len);
	/*
	 * If the connect fails, completions of flushed receives arrive before the connection event.
	 */
	do {
		tool_event(t, 0, 0, &event);
	} while (event.event_number == DAT_DTO_COMPLETION_EVENT);
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		return 1;
	/* A program that refuses is the right one, so no other address helps. */
	if (event.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED || !h->next->ai_next)
		tool_die("cannot connect to %s port %u: %s: %s", h->name, port,
			 tool_event_name(event.event_number),
			 connect_advice(event.event_number));
	h->next = h->next->ai_next;
	tool_check(dat_ep_reset(ep), "cannot try another address");
	return 0;
}

DAT_RETURN tool_try_event(DAT_EVD_HANDLE evd, unsigned int timeout_ms, DAT_EVENT *event)
{
	DAT_TIMEOUT timeout = timeout_ms ? timeout_ms * 1000 : DAT_TIMEOUT_INFINITE;
	DAT_COUNT nmore;
	DAT_RETURN rc;

	do {
		rc = dat_evd_wait(evd, timeout, 1, event, &nmore);
		/*
		 * DAT_INTERRUPTED_CALL means that no event was taken, because a signal interrupted
		 * the wait, or because the process was stopped and continued.
		 */
	} while (DAT_GET_TYPE(rc) == DAT_QUEUE_EMPTY || DAT_GET_TYPE(rc) == DAT_INTERRUPTED_CALL);
	return rc;
}

int tool_event_on(DAT_EVD_HANDLE evd, int poll, unsigned int timeout_ms, DAT_EVENT *event)
{
	DAT_RETURN rc;

	if (poll)
		do {
			rc = dat_evd_dequeue(evd, event);
		} while (DAT_GET_TYPE(rc) == DAT_QUEUE_EMPTY ||
			 DAT_GET_TYPE(rc) == DAT_INTERRUPTED_CALL);
	else
		rc = tool_try_event(evd, timeout_ms, event);
	if (DAT_GET_TYPE(rc) == DAT_TIMEOUT_EXPIRED)
		return 0;
	tool_check(rc, "cannot wait for events");
	return 1;
}

int tool_event(struct tool *t, int poll, unsigned int timeout_ms, DAT_EVENT *event)
{
	return tool_event_on(t->evd, poll, timeout_ms, event);
}

const char *tool_event_name(DAT_EVENT_NUMBER number)
{
	static const char *const connection[] = {
		"?", "established", "rejected by the peer", "rejected", "accept failed",
		"disconnected", "broken", "timed out", "unreachable",
	};
	unsigned int n = (unsigned int)number;

	if (n > 0x4000 && n - 0x4000 < sizeof(connection) / sizeof(connection[0]))
		return connection[n - 0x4000];
	return number == DAT_DTO_COMPLETION_EVENT ? "completion" : "event";
}

const char *tool_dto_name(DAT_DTO_COMPLETION_STATUS status)
{
	static const char *const names[] = {
		"success", "flushed", "message longer than the buffer", "local endpoint error",
		"local protection error", "bad response", "remote access error",
		"remote responder error", "transport error", "receiver not ready",
		"partial packet", "RMR operation failed",
	};
	unsigned int n = (unsigned int)status;

	return n < sizeof(names) / sizeof(names[0]) ? names[n] : "unknown error";
}
