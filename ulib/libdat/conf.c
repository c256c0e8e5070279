// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* The parser for dat.conf. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/lines.h"
#include "../common/log.h"
#include "conf.h"

enum {
	IA_NAME, API_VERSION, SAFETY, DEFAULT, LIBRARY, PROVIDER_VERSION, IA_PARAMS,
	PLATFORM_PARAMS, FIELDS
};

/* Result of parse_line() for a valid line that this library does not use. */
static const char not_ours[] = "";

/*
 * struct line - a line that is being split into fields
 * @in: rest of the line
 * @out: place in @text for the next field
 * @text: fields without their quotes; a NUL follows each field
 */
struct line {
	struct du_span	in;
	char		*out;
	char		text[CONF_LINE_MAX + 1];
};

static const char *quoted_field(struct line *l)
{
	const char *s = l->in.at + 1, *end = l->in.at + l->in.len;

	for (; s < end && *s != '"'; s++) {
		if (*s == '\\' && ++s == end)
			break;
		*l->out++ = *s;
	}
	if (s == end)
		return "a quoted string does not end on this line";
	s++;
	if (s < end && !du_is_blank(*s))
		return "a blank is missing behind a quoted string";
	l->in.at = s;
	l->in.len = (size_t)(end - s);
	return NULL;
}

static const char *unquoted_field(struct line *l)
{
	struct du_span word = du_next_word(&l->in);

	if (memchr(word.at, '"', word.len))
		return "a quote in the middle of a field";
	l->out = mempcpy(l->out, word.at, word.len);
	return NULL;
}

/*
 * Returns an error message or NULL.  *@field is set to the next field, or to NULL at the end of the
 * line.
 */
static const char *next_field(struct line *l, char **field)
{
	const char *wrong;

	du_skip_blanks(&l->in);
	*field = NULL;
	if (!l->in.len || *l->in.at == '#')
		return NULL;
	*field = l->out;
	wrong = *l->in.at == '"' ? quoted_field(l) : unquoted_field(l);
	*l->out++ = '\0';
	return wrong;
}

/* Parse at most nine digits, because nine digits cannot overflow an unsigned int. */
static int number(const char **s, unsigned int *n)
{
	int digits;

	*n = 0;
	for (digits = 0; digits < 9 && **s >= '0' && **s <= '9'; digits++)
		*n = *n * 10 + (unsigned int)(*(*s)++ - '0');
	return digits > 0;
}

/* Returns whether @s consists of a version like "1.2" and of nothing else. */
static int version(const char *s, unsigned int *major, unsigned int *minor)
{
	return number(&s, major) && *s++ == '.' && number(&s, minor) && !*s;
}

static const char *parse_api_version(const char *s, struct conf_entry *e)
{
	if ((*s != 'u' && *s != 'k') || !version(s + 1, &e->major, &e->minor))
		return "field 2, the API version, is not like u1.2";
	return *s == 'u' && e->major == 1 ? NULL : not_ours;
}

static const char *parse_provider_version(const char *s)
{
	unsigned int major, minor;
	const char *dot = strrchr(s, '.');

	/* The id may contain dots, so find the second dot from the end. */
	while (dot && dot > s && *--dot != '.')
		;
	if (!dot || dot == s || !version(dot + 1, &major, &minor))
		return "field 6, the provider version, is not like id.1.0";
	return NULL;
}

static const char *parse_fields(char *const *f, struct conf_entry *e)
{
	e->ia_name = f[IA_NAME];
	e->library = f[LIBRARY];
	e->ia_params = f[IA_PARAMS];
	if (!*e->ia_name || strlen(e->ia_name) > CONF_NAME_MAX)
		return "field 1, the IA name, is empty or longer than 255 characters";
	e->threadsafe = !strcmp(f[SAFETY], "threadsafe");
	if (!e->threadsafe && strcmp(f[SAFETY], "nonthreadsafe"))
		return "field 3 is neither threadsafe nor nonthreadsafe";
	if (strcmp(f[DEFAULT], "default") && strcmp(f[DEFAULT], "nondefault"))
		return "field 4 is neither default nor nondefault";
	if (!*e->library)
		return "field 5, the library, is empty";
	return parse_provider_version(f[PROVIDER_VERSION]);
}

/*
 * Returns NULL if the line was parsed into @e, not_ours if this library does not use the line, or
 * an error message.
 */
static const char *parse_line(struct line *l, struct conf_entry *e)
{
	const char *wrong = NULL;
	char *f[FIELDS + 1];
	int n;

	for (n = 0; n <= FIELDS && !wrong; n++) {
		wrong = next_field(l, &f[n]);
		if (wrong || !f[n])
			break;
		/*
		 * If the line is for another version of DAT, do not read its other fields, because
		 * they may have any form.
		 */
		if (n == API_VERSION)
			wrong = parse_api_version(f[n], e);
	}
	if (wrong || !n)
		return wrong ? wrong : not_ours;
	if (n != FIELDS)
		return n < FIELDS ? "fewer than 8 fields" : "more than 8 fields";
	wrong = parse_fields(f, e);
	if (!wrong && strcmp(f[DEFAULT], "default"))
		return not_ours;
	return wrong;
}

static const char *check_line(struct line *l, struct conf_entry *e)
{
	if (l->in.len > CONF_LINE_MAX)
		return "longer than 4096 bytes";
	if (memchr(l->in.at, '\0', l->in.len))
		return "a NUL byte: this is no text, or it is UTF-16: save it as UTF-8";
	l->out = l->text;
	return parse_line(l, e);
}

static const char bom[] = "\xef\xbb\xbf";

int conf_parse(const char *text, size_t len, const char *file, conf_entry_fn *fn, void *arg)
{
	struct du_span rest = { .at = text, .len = len };
	struct conf_entry e = { .file = file };
	const char *wrong;
	struct line l;
	int bad = 0;

	/* Some editors begin a file in UTF-8 with a byte order mark. */
	if (len >= sizeof(bom) - 1 && !memcmp(text, bom, sizeof(bom) - 1)) {
		rest.at += sizeof(bom) - 1;
		rest.len -= sizeof(bom) - 1;
	}
	while (du_next_line(&rest, &l.in)) {
		e.line++;
		wrong = check_line(&l, &e);
		if (!wrong)
			fn(&e, arg);
		else if (wrong != not_ours && ++bad <= CONF_BAD_MAX)
			du_log(DU_LOG_ERROR, "%s:%u: %s", file, e.line, wrong);
	}
	if (bad > CONF_BAD_MAX)
		du_log(DU_LOG_ERROR, "%s: %d more lines are malformed", file, bad - CONF_BAD_MAX);
	return bad;
}

/* Parse the file @file.  A missing file is an error only if @need is set. */
static void load_file(const char *file, int need, conf_entry_fn *fn, void *arg)
{
	char *text = NULL;
	ssize_t len = du_read_file(file, CONF_FILE_MAX, &text);

	if (len >= 0)
		conf_parse(text, (size_t)len, file, fn, arg);
	else if (len == -EINVAL)
		du_log(DU_LOG_ERROR, "cannot read %s: it is a FIFO or a socket, not a file", file);
	else if (need || (len != -ENOENT && len != -ENOTDIR))
		du_log(DU_LOG_ERROR, "cannot read %s: %s", file, strerror((int)-len));
	free(text);
}

static int is_conf(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return d->d_name[0] != '.' && dot && !strcmp(dot, ".conf");
}

/* Compare with strcmp(), because the order of alphasort() depends on the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void load_dir(const char *dir, conf_entry_fn *fn, void *arg)
{
	char file[PATH_MAX];
	struct dirent **d;
	int i, n = scandir(dir, &d, is_conf, by_name);

	if (n < 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			du_log(DU_LOG_ERROR, "cannot read %s: %s", dir, strerror(errno));
		return;
	}
	for (i = 0; i < n; i++) {
		if (snprintf(file, sizeof(file), "%s/%s", dir, d[i]->d_name) < (int)sizeof(file))
			load_file(file, 1, fn, arg);
		free(d[i]);
	}
	free(d);
}

struct shared {
	conf_entry_fn	*fn;
	void		*arg;
};

/* Other DAT registries share /etc/dat.conf, so take only entries of version 1.2 from that file. */
static void shared_entry(const struct conf_entry *e, void *arg)
{
	const struct shared *s = arg;

	if (e->minor == 2)
		s->fn(e, s->arg);
}

void conf_load_etc(const char *etc, conf_entry_fn *fn, void *arg)
{
	struct shared shared = { .fn = fn, .arg = arg };
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/dat/dat.conf", etc) >= (int)sizeof(path))
		return;
	load_file(path, 0, fn, arg);
	snprintf(path, sizeof(path), "%s/dat/conf.d", etc);
	load_dir(path, fn, arg);
	snprintf(path, sizeof(path), "%s/dat.conf", etc);
	load_file(path, 0, shared_entry, &shared);
}

void conf_load(conf_entry_fn *fn, void *arg)
{
	const char *override = secure_getenv("DAT_OVERRIDE");

	if (override && *override)
		load_file(override, 1, fn, arg);
	else
		conf_load_etc("/etc", fn, arg);
}

int conf_is_libdat(const char *library)
{
	const char *slash = strrchr(library, '/');
	const char *base = slash ? slash + 1 : library;

	return !strcmp(base, "libdat.so.1") || !strcmp(base, "libdat.so");
}
