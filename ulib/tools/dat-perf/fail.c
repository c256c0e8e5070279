// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Failures of a run.  The ticker is stopped first, so that its progress does not mix with the
 * message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include "perf.h"

void perf_fail(struct perf *p, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	perf_ticker_stop(p);
	if (p->client || !p->args.keep)
		tool_die("%s", text);
	tool_warn("giving up a client: %s", text);
	longjmp(p->next_client, 1);
}

void perf_check(struct perf *p, DAT_RETURN rc, const char *what)
{
	if (__builtin_expect(rc != DAT_SUCCESS, 0))
		perf_fail(p, "%s: %s", what, tool_strerror(rc));
}
