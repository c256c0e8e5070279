/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Common to the tools: an adapter with one EVD, connections, and errors. */
#ifndef TOOLS_COMMON_H
#define TOOLS_COMMON_H

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
 */
struct tool {
	char		name[TOOL_NAME_SIZE];
	DAT_IA_HANDLE	ia;
	DAT_EVD_HANDLE	async;
	DAT_EVD_HANDLE	evd;
	DAT_PZ_HANDLE	pz;
	DAT_IA_ATTR	attr;
};

/* Privileges of memory that only this side's own messages and requests use. */
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
/* Print "prog: message" and exit with status 2, which is for wrong usage. */
void tool_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void tool_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Exit with the names of the code unless it is DAT_SUCCESS. */
void tool_check(DAT_RETURN rc, const char *what);
const char *tool_strerror(DAT_RETURN rc);

uint64_t tool_now_ns(void);
unsigned long tool_number(const char *text, const char *option, unsigned long min,
			  unsigned long max);

/* Open the adapter @name, or for NULL the first one. */
void tool_open(struct tool *t, const char *name, DAT_COUNT qlen);
void tool_close(struct tool *t);
/*
 * Make a tool for one client: the open adapter of @from, with a zone and an event queue of its
 * own.
 */
DAT_RETURN tool_try_share(const struct tool *from, struct tool *t, DAT_COUNT qlen);
void tool_unshare(struct tool *t);
/* The try functions return errors; the others exit. */
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

/* Listen at @port; requests come to @evd.  Exits with the reason if it fails. */
void tool_listen(const struct tool *t, unsigned int port, DAT_EVD_HANDLE evd);

/*
 * Begin to connect to the first address of @host that the adapter can reach.  Exits if there is
 * none, or if the call fails.
 */
void tool_start_connect(DAT_EP_HANDLE ep, const char *host, unsigned int port,
			const void *pd, size_t pd_len);
/* Connect, and wait for the result.  Exits with the reason if it fails. */
void tool_connect(struct tool *t, DAT_EP_HANDLE ep, const char *host, unsigned int port,
		  const void *pd, size_t pd_len);

/*
 * Take the next event within @timeout_ms (0: no limit); a signal does not end the wait.  @poll:
 * spin instead of sleeping.  Returns 0 after the timeout.
 */
int tool_event_on(DAT_EVD_HANDLE evd, int poll, unsigned int timeout_ms, DAT_EVENT *event);
int tool_event(struct tool *t, int poll, unsigned int timeout_ms, DAT_EVENT *event);
const char *tool_event_name(DAT_EVENT_NUMBER number);
const char *tool_dto_name(DAT_DTO_COMPLETION_STATUS status);

#endif /* TOOLS_COMMON_H */
