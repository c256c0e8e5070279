// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cancel.h"
#include "log.h"

static int log_level(void)
{
	static int level = -1;
	int now = __atomic_load_n(&level, __ATOMIC_RELAXED);
	const char *env;

	if (now >= 0)
		return now;
	env = secure_getenv("DAT_LOG");
	now = env ? atoi(env) : DU_LOG_ERROR;
	if (now < 0)
		now = 0;
	__atomic_store_n(&level, now, __ATOMIC_RELAXED);
	return now;
}

void du_log(enum du_log_level level, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int state;

	if ((int)level > log_level())
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* Write each message by one call, so that messages of several threads do not mix. */
	state = du_cancel_off();
	fprintf(stderr, "dat: %s\n", text);
	du_cancel_restore(state);
}
