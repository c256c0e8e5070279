// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Fuzz test of conf_parse(), which must accept any text.  conf_parse() must not read beyond the
 * text, and must report each line that it rejects.  Accepted fields must be within their limits.  A
 * line that is made of these fields, quoted, must parse back to the same fields.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ulib/common/log.h"
#include "../../ulib/libdat/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(what)	((what) ? (void)0 : must(#what, __LINE__))

static unsigned int messages;

static void must(const char *what, int line)
{
	fprintf(stderr, "line %d: not so: %s\n", line, what);
	abort();
}

/* Replaces du_log() of the library: format each message to a buffer and count it. */
void du_log(enum du_log_level level, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	MUST(level == DU_LOG_ERROR);
	va_start(ap, fmt);
	MUST(vsnprintf(text, sizeof(text), fmt, ap) < (int)sizeof(text));
	va_end(ap);
	messages++;
}

/* A line in which every character of the quoted fields is escaped, plus the other fields. */
static char text[2 * CONF_LINE_MAX + 128];

static char *put_quoted(char *to, const char *s)
{
	*to++ = '"';
	for (; *s; s++) {
		*to++ = '\\';
		*to++ = *s;
	}
	*to++ = '"';
	*to++ = ' ';
	return to;
}

static size_t write_line(const struct conf_entry *e)
{
	char *to = put_quoted(text, e->ia_name);

	to += sprintf(to, "u%u.%u %s default ", e->major, e->minor,
		      e->threadsafe ? "threadsafe" : "nonthreadsafe");
	to = put_quoted(to, e->library);
	to += sprintf(to, "id.1.0 ");
	to = put_quoted(to, e->ia_params);
	to += sprintf(to, "\"\" # again\n");
	return (size_t)(to - text);
}

static void check_again(const struct conf_entry *e, void *arg)
{
	const struct conf_entry *first = arg;

	MUST(!strcmp(e->ia_name, first->ia_name));
	MUST(!strcmp(e->library, first->library));
	MUST(!strcmp(e->ia_params, first->ia_params));
	MUST(e->major == first->major && e->minor == first->minor);
	MUST(e->threadsafe == first->threadsafe);
	MUST(e->line == 1);
}

static void check_entry(const struct conf_entry *e, void *arg)
{
	unsigned int *entries = arg;
	size_t len;

	(*entries)++;
	MUST(*e->ia_name && strlen(e->ia_name) <= CONF_NAME_MAX);
	MUST(*e->library && strlen(e->library) < CONF_LINE_MAX);
	MUST(strlen(e->ia_params) < CONF_LINE_MAX);
	MUST(e->major == 1 && e->threadsafe == !!e->threadsafe);
	len = write_line(e);
	if (len <= CONF_LINE_MAX)
		MUST(!conf_parse(text, len, "again", check_again, (void *)e));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int entries = 0, lines = 1;
	size_t i;
	int bad;

	for (i = 0; i < size; i++)
		lines += data[i] == '\n';
	messages = 0;
	bad = conf_parse((const char *)data, size, "fuzz", check_entry, &entries);
	MUST(bad >= 0 && entries + (unsigned int)bad <= lines);
	MUST(messages == (unsigned int)(bad > CONF_BAD_MAX ? CONF_BAD_MAX + 1 : bad));
	return 0;
}

#ifdef STANDALONE
#include <time.h>

/* Valid and invalid parts of lines, from which make_text() composes inputs. */
static const char *const pieces[] = {
	"\n", "\n", " ", " ", "\t", "\"", "\"", "\\", "#", "a", "u1.2", "u1.", "k1.2", "u2.0",
	"threadsafe", "nonthreadsafe", "default", "nondefault", "libx.so.1", "x.1.0", "..",
	"\"\"", "\"a b\"", "\"a\\\"b\\\\\"", "99999999999", "\r",
	"a u1.2 threadsafe default libx.so.1 x.1.0 \"p q\" \"\"\n",
	"b u1.1 nonthreadsafe default /lib/y.so id.10.20 p \"\" # c\n",
};

static uint64_t seed = 88172645463325252ULL;

static uint64_t rnd(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static size_t make_text(char *buf, size_t room)
{
	size_t len = 0, n;
	uint64_t i, count = rnd(8) ? rnd(40) : rnd(4000);

	for (i = 0; i < count; i++) {
		const char *s = pieces[rnd(sizeof(pieces) / sizeof(pieces[0]))];

		n = strlen(s);
		if (len + n > room)
			break;
		memcpy(buf + len, s, n);
		len += n;
	}
	for (i = len ? rnd(4) : 0; i; i--)
		buf[rnd(len)] = (char)rnd(256);
	return len;
}

/* Usage: conf_fuzz_standalone [SECONDS [SEED]] */
int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	static char buf[64 << 10];
	unsigned long runs = 0;

	if (argc > 2)
		seed = strtoull(argv[2], NULL, 0) | 1;
	while (time(NULL) < end) {
		size_t len = make_text(buf, sizeof(buf));
		uint8_t *exact = malloc(len + !len);	/* so that tools detect an overrun */

		memcpy(exact, buf, len);
		LLVMFuzzerTestOneInput(exact, len);
		free(exact);
		runs++;
	}
	printf("%lu inputs\n", runs);
	return 0;
}
#endif
