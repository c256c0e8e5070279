// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Failures, with advice. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../common/rsm-error.h"
#include "perf.h"

/* Returns advice for the error @ret. */
static const char *advice(int ret)
{
	switch (ret) {
	case RSMERR_SEG_NOT_PUBLISHED:
		return "nobody exports that there: start rsm-perf --serve first, with the same --controller";
	case RSMERR_BAD_LENGTH:
		return "the segment is smaller: give --serve the same sizes and entries";
	default:
		return rsm_error_advice(ret);
	}
}

void perf_die(const char *fmt, ...)
{
	va_list ap;

	perf_progress_end();
	fputs("rsm-perf: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void perf_check(int ret, const char *what)
{
	if (ret)
		perf_die("%s fails, %s (%d): %s", what, rsm_error_name(ret), ret, advice(ret));
}
