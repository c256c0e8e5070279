// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Results of checks.  Each takes one line, which ends with advice if the result is not ok. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "info.h"

#define ARROW	" -> "

static const char *const status_names[] = { "ok", "warn", "fail" };
static int findings, as_json;

void report_begin(int json)
{
	as_json = json;
	if (!json)
		return;
	json_open(NULL, '{');
	json_str("version", DAT_LINUX_VERSION_STRING);
	json_open("checks", '[');
}

int report_end(void)
{
	if (as_json) {
		json_close(']');
		json_bool("ok", !findings);
		json_close('}');
	}
	return findings ? 1 : 0;
}

/*
 * Split the text at the last arrow, which begins the advice.  The text before it may contain arrows
 * too, because it may contain file names.
 */
static char *split(char *text)
{
	char *p, *arrow = NULL;

	for (p = text; (p = strstr(p, ARROW)); p++)
		arrow = p;
	if (!arrow)
		return NULL;
	*arrow = '\0';
	return arrow + strlen(ARROW);
}

static void report_json(enum check_status status, const char *what, char *text)
{
	char *advice = status == CHECK_OK ? NULL : split(text);

	json_open(NULL, '{');
	json_str("status", status_names[status]);
	json_str("check", what);
	json_str("text", text);
	if (advice)
		json_str("advice", advice);
	else
		json_null("advice");
	json_close('}');
}

void check_report(enum check_status status, const char *what, const char *fmt, ...)
{
	char text[4096], *p;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/*
	 * Replace newlines by blanks, because a result takes one line and names may contain
	 * newlines.
	 */
	for (p = text; *p; p++)
		if (*p == '\n')
			*p = ' ';
	findings += status != CHECK_OK;
	if (as_json)
		report_json(status, what, text);
	else
		text_print(stdout, "%-4s  %-8s  %s\n", status_names[status], what, text);
	fflush(stdout);
}
