/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* Functions for all tools: an adapter with one EVD, memory, connections, and errors. */
#ifndef TOOLS_COMMON_H
#define TOOLS_COMMON_H

#include <netdb.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include <dat/udat.h>

#define TOOL_NAME_SIZE	80

/*
 * struct tool - an open adapter
 * @name: name of the adapter
 * @ia: adapter
 * @async: async EVD
 * @evd: EVD of all other events
 * @pz: protection zone
 * @attr: attributes of the adapter
 * @max_inline: attribute max_inline of new endpoints, see dat_ep_create(3), or NULL
 */
struct tool {
	char		name[TOOL_NAME_SIZE];
	DAT_IA_HANDLE	ia;
	DAT_EVD_HANDLE	async;
	DAT_EVD_HANDLE	evd;
	DAT_PZ_HANDLE	pz;
	DAT_IA_ATTR	attr;
	const char	*max_inline;
};

/* Privileges of memory that peers do not access by RDMA. */
#define TOOL_LOCAL	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

/* Registered memory. */
struct tool_mem {
	char		*va;
	size_t		size;
	DAT_LMR_HANDLE	lmr;
	DAT_LMR_CONTEXT	lmr_context;
	DAT_RMR_CONTEXT	rmr_context;
};

extern const char *tool_prog;

/* Print "prog: message" and exit with status 1. */
void tool_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Print "prog: message" and exit with status 2, which means wrong usage. */
void tool_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void tool_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* If @rc is not DAT_SUCCESS, print the names of the return code and exit. */
void tool_check(DAT_RETURN rc, const char *what);
const char *tool_strerror(DAT_RETURN rc);

uint64_t tool_now_ns(void);

/* Returns the adapter that DAT_ADAPTER in the environment names, or NULL. */
const char *tool_environment(void);
/*
 * Open the adapter @name.  If @name is NULL, open that of the environment, or else the first.
 */
void tool_open(struct tool *t, const char *name, DAT_COUNT qlen);
void tool_close(struct tool *t);
/*
 * Make a tool for one client.  The tool shares the open adapter of @from, and has its own
 * protection zone and its own EVD.
 */
DAT_RETURN tool_try_share(const struct tool *from, struct tool *t, DAT_COUNT qlen);
void tool_unshare(struct tool *t);
/* The functions tool_try_*() return errors.  The others exit on an error. */
DAT_RETURN tool_try_alloc(struct tool *t, struct tool_mem *mem, size_t size,
			  DAT_MEM_PRIV_FLAGS priv);
void tool_alloc(struct tool *t, struct tool_mem *mem, size_t size, DAT_MEM_PRIV_FLAGS priv);
void tool_free(struct tool_mem *mem);
DAT_LMR_TRIPLET tool_seg(const struct tool_mem *mem, size_t offset, size_t len);

static inline DAT_DTO_COOKIE tool_cookie(uint64_t n)
{
	DAT_DTO_COOKIE cookie = { .as_64 = n };

	return cookie;
}

DAT_RETURN tool_try_ep(struct tool *t, DAT_SRQ_HANDLE srq, DAT_COUNT recvs,
		       DAT_COUNT requests, DAT_EP_HANDLE *ep);
DAT_EP_HANDLE tool_ep(struct tool *t, DAT_SRQ_HANDLE srq, DAT_COUNT recvs,
		      DAT_COUNT requests);

/* Ignore SIGPIPE, which would end a server that tells about a client what nobody reads. */
void tool_serve_signals(void);

/*
 * Listen at @port.  Events of connection requests go to @evd.  On an error, print the reason and
 * exit.
 */
void tool_listen(const struct tool *t, unsigned int port, DAT_EVD_HANDLE evd);

/*
 * struct tool_service - the adapters of a server
 * @tool: adapters
 * @n: number of adapters, 1 or 2
 * @cr: EVDs of their connection requests
 * @wait: descriptors of @cr, if there are two
 * @last: index of the adapter that was looked at last
 * @names: names of the adapters, for a message
 */
struct tool_service {
	struct tool	tool[2];
	int		n;
	DAT_EVD_HANDLE	cr[2];
	struct pollfd	wait[2];
	int		last;
	char		names[2 * TOOL_NAME_SIZE + 8];
};

/*
 * Listen at @port on the adapter @name, or on that of the environment.  If neither names one,
 * listen on the first adapter, for other hosts, and on the one within the host.  @qlen: length of
 * the EVD of each adapter; @requests: length of the EVD of its connection requests.  On an error,
 * print the reason and exit.
 */
void tool_serve(struct tool_service *s, const char *name, unsigned int port, DAT_COUNT qlen,
		DAT_COUNT requests);
/*
 * Take the next connection request.  Wait at most @timeout_ms milliseconds, or without limit if
 * @timeout_ms is 0.  Returns the index of its adapter in @s->tool, or -1 after the timeout.
 */
int tool_request(struct tool_service *s, unsigned int timeout_ms, DAT_EVENT *event);
void tool_serve_end(struct tool_service *s);

/*
 * struct tool_host - addresses of a server
 * @name: name or address of the host, as the user gave it
 * @list: all addresses of @name
 * @next: address to try next
 */
struct tool_host {
	const char	*name;
	struct addrinfo	*list;
	struct addrinfo	*next;
};

/* Find the addresses of the host @name.  If there is none, print the reason and exit. */
void tool_host_find(struct tool_host *h, const char *name);
void tool_host_free(struct tool_host *h);

/* ---- local.c: the adapter within the host ---- */

/* Returns whether all addresses of the host are addresses of this host. */
int tool_is_here(const struct tool_host *h);
/* Find the name of the adapter.  Returns 0 if the driver has none. */
int tool_local_adapter(char name[TOOL_NAME_SIZE]);

/*
 * Open the adapter for connections to @h: @name, or that of the environment.  If neither names one,
 * open the adapter within the host if @h is this host, or else the first adapter.  Returns whether
 * @h has decided.
 */
int tool_open_for(struct tool *t, const char *name, const struct tool_host *h, DAT_COUNT qlen);

/*
 * Start to connect to @h->next, or to the first later address that dat_ep_connect() does not refuse
 * at once.  If there is none, print the reason and exit.
 */
void tool_start_connect(DAT_EP_HANDLE ep, struct tool_host *h, unsigned int port,
			const void *pd, size_t pd_len);

/*
 * Connect to @h->next and wait for the result.  Returns 1 after a success.  If the address does not
 * answer and the host has another one, reset @ep, move on to that address and return 0: the caller
 * posts its receives again and calls again.  On any other error, print the reason and exit.
 */
int tool_connect(struct tool *t, DAT_EP_HANDLE ep, struct tool_host *h, unsigned int port,
		 const void *pd, size_t pd_len);

/*
 * Take the next event.  Wait at most @timeout_ms milliseconds, or without limit if @timeout_ms is
 * 0.  A signal does not end the wait.  If @poll is set, spin instead of sleeping, and ignore
 * @timeout_ms.  Returns 0 after the timeout, otherwise 1.
 */
int tool_event_on(DAT_EVD_HANDLE evd, int poll, unsigned int timeout_ms, DAT_EVENT *event);
/* The same without spinning.  Returns DAT_TIMEOUT_EXPIRED or another error instead of exiting. */
DAT_RETURN tool_try_event(DAT_EVD_HANDLE evd, unsigned int timeout_ms, DAT_EVENT *event);
int tool_event(struct tool *t, int poll, unsigned int timeout_ms, DAT_EVENT *event);
const char *tool_event_name(DAT_EVENT_NUMBER number);
const char *tool_dto_name(DAT_DTO_COMPLETION_STATUS status);

#endif /* TOOLS_COMMON_H */
