// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reading dat.conf. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "conf.h"

enum {
	IA_NAME, API_VERSION, SAFETY, DEFAULT, LIBRARY, PROVIDER_VERSION, IA_PARAMS,
	PLATFORM_PARAMS, FIELDS
};

/* An answer of parse_line() besides what is wrong: the line is none of our business. */
static const char not_ours[] = "";

/*
 * struct line - a line being taken apart
 * @in, @end: what is left of it
 * @out: where the next field goes
 * @text: fields without quotes, each with a NUL in the place of the blank or quote behind it
 */
struct line {
	const char	*in;
	const char	*end;
	char		*out;
	char		text[CONF_LINE_MAX + 1];
};

/* isspace() of the C locale; the file means the same in all. */
static int is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static const char *quoted_field(struct line *l)
{
	for (l->in++; l->in < l->end && *l->in != '"'; l->in++) {
		if (*l->in == '\\' && ++l->in == l->end)
			break;
		*l->out++ = *l->in;
	}
	if (l->in == l->end)
		return "a quoted string does not end on this line";
	l->in++;
	if (l->in < l->end && !is_blank(*l->in))
		return "a blank is missing behind a quoted string";
	return NULL;
}

static const char *plain_field(struct line *l)
{
	for (; l->in < l->end && !is_blank(*l->in); l->in++) {
		if (*l->in == '"')
			return "a quote in the middle of a field";
		*l->out++ = *l->in;
	}
	return NULL;
}

/* Returns what is wrong or NULL; *@field is NULL at the end of the line. */
static const char *next_field(struct line *l, char **field)
{
	const char *wrong;

	while (l->in < l->end && is_blank(*l->in))
		l->in++;
	*field = NULL;
	if (l->in == l->end || *l->in == '#')
		return NULL;
	*field = l->out;
	wrong = *l->in == '"' ? quoted_field(l) : plain_field(l);
	*l->out++ = '\0';
	return wrong;
}

/* Up to nine digits, so that nothing overflows. */
static int number(const char **s, unsigned int *n)
{
	int digits;

	*n = 0;
	for (digits = 0; digits < 9 && **s >= '0' && **s <= '9'; digits++)
		*n = *n * 10 + (unsigned int)(*(*s)++ - '0');
	return digits > 0;
}

/* "1.2" and nothing behind it */
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

	/* The id may contain dots itself: look for the last but one. */
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

/* Returns NULL if @e is filled in, not_ours, or what is wrong. */
static const char *parse_line(struct line *l, struct conf_entry *e)
{
	const char *wrong = NULL;
	char *f[FIELDS + 1];
	int n;

	for (n = 0; n <= FIELDS && !wrong; n++) {
		wrong = next_field(l, &f[n]);
		if (wrong || !f[n])
			break;
		/* Others may write the rest of their lines as they like. */
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
	size_t len = (size_t)(l->end - l->in);

	if (len > CONF_LINE_MAX)
		return "longer than 4096 bytes";
	if (memchr(l->in, '\0', len))
		return "a NUL byte: this is no text";
	l->out = l->text;
	return parse_line(l, e);
}

int conf_parse(const char *text, size_t len, const char *file, conf_entry_fn *fn, void *arg)
{
	struct conf_entry e = { .file = file };
	const char *eol, *wrong;
	struct line l;
	int bad = 0;

	while (len) {
		eol = memchr(text, '\n', len);
		l.in = text;
		l.end = eol ? eol : text + len;
		len -= (size_t)(l.end - text) + (eol ? 1 : 0);
		text = eol ? eol + 1 : NULL;
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

/* Returns the length or a negative errno. */
static ssize_t read_all(int fd, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size) {
		n = read(fd, buf + len, size - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return (ssize_t)len;
		len += (size_t)n;
	}
	return -EFBIG;
}

static ssize_t read_file(const char *file, char *buf, size_t size)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = read_all(fd, buf, size);
	close(fd);
	return len;
}

/* @need: complain if there is none */
static void load_file(const char *file, int need, conf_entry_fn *fn, void *arg)
{
	char *buf = malloc(CONF_FILE_MAX + 1);
	ssize_t len = buf ? read_file(file, buf, CONF_FILE_MAX + 1) : -ENOMEM;

	if (len >= 0)
		conf_parse(buf, (size_t)len, file, fn, arg);
	else if (need || (len != -ENOENT && len != -ENOTDIR))
		du_log(DU_LOG_ERROR, "cannot read %s: %s", file, strerror((int)-len));
	free(buf);
}

static int is_conf(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return d->d_name[0] != '.' && dot && !strcmp(dot, ".conf");
}

/* alphasort() would go by the locale. */
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

/* The file is older than we are, and lists the providers of other registries. */
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
