// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The registry, as programs and providers use it: the lines of dat.conf, the dynamic registry, and
 * the life of an independent provider.  The test needs no driver and no device.  If there are
 * adapters, the registry lists them as well.
 *
 * libdat reads dat.conf once per process.  Each test runs in a process of its own.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat/udat.h>
#include <dat/dat_registry.h>

#include "kselftest_harness.h"
#include "provider/provider.h"

#define ERR(type, sub)	((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (sub)))
#define IP(n)		ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define LIST_MAX	64

/* ---- Files and messages ---- */

/* Store the path of the file @name in the directory of this program, where the providers are. */
static void beside(char *path, size_t size, const char *name)
{
	char exe[PATH_MAX] = "";

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0)
		snprintf(path, size, "%s/%s", dirname(exe), name);
}

static const char *so_path(void)
{
	static char path[PATH_MAX + 32];

	if (!path[0])
		beside(path, sizeof(path), "test_provider.so");
	return path;
}

static int so_loaded(void)
{
	void *lib = dlopen(so_path(), RTLD_NOW | RTLD_NOLOAD);

	if (lib)
		dlclose(lib);
	return lib != NULL;
}

/* Use this text as dat.conf.  Return the file name that messages will contain. */
__attribute__((format(printf, 1, 2))) static const char *conf(const char *fmt, ...)
{
	static char name[64];
	int fd = memfd_create("dat.conf", 0);
	va_list ap;

	va_start(ap, fmt);
	vdprintf(fd, fmt, ap);
	va_end(ap);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	setenv("DAT_OVERRIDE", name, 1);
	return name;
}

static int stderr_saved, stderr_file;

static void stderr_begin(void)
{
	fflush(stderr);
	stderr_saved = dup(2);
	stderr_file = memfd_create("stderr", 0);
	dup2(stderr_file, 2);
}

/* Return the text of @fd, and leave it there. */
static const char *text_of(int fd)
{
	static char text[1 << 16];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Return the text that was written to @fd since the last call.  No other thread may be writing. */
static const char *said(int fd)
{
	const char *text = text_of(fd);

	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
		return "cannot rewind";
	return text;
}

static const char *stderr_end(void)
{
	fflush(stderr);
	dup2(stderr_saved, 2);
	close(stderr_saved);
	return said(stderr_file);
}

static unsigned int count_of(const char *text, const char *part)
{
	unsigned int n = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		n++;
	return n;
}

/* ---- Lists ---- */

struct list {
	DAT_PROVIDER_INFO	info[LIST_MAX];
	DAT_PROVIDER_INFO	*ptr[LIST_MAX];
	DAT_COUNT		n;
};

static DAT_RETURN list_get(struct list *l, DAT_COUNT max)
{
	int i;

	memset(l->info, 0x5a, sizeof(l->info));
	for (i = 0; i < LIST_MAX; i++)
		l->ptr[i] = &l->info[i];
	l->n = -1;
	return dat_registry_list_providers(max, &l->n, l->ptr);
}

/* Count the listed entries with this name, minor version and thread safety. */
static int listed(const struct list *l, const char *name, unsigned int minor, int safe)
{
	int i, n = 0;

	for (i = 0; i < l->n && i < LIST_MAX; i++)
		n += !strcmp(l->info[i].ia_name, name) && l->info[i].dapl_version_major == 1 &&
		     l->info[i].dapl_version_minor == minor &&
		     l->info[i].is_thread_safe == (safe ? DAT_TRUE : DAT_FALSE);
	return n;
}

/* Covers: dat_registry_list_providers */
TEST(list_of_lines)
{
	struct list l;

	conf("# comment\n\n   \t \n"
	     "plain u1.2 threadsafe default libx.so.1 x.1.0 \"p\" \"\"\n"
	     "  \"two words\"\tu1.2\tnonthreadsafe default \"/a b/x.so\" x.y.1.0 p q # comment\n"
	     "\"q\\\"\\\\\\n\" u1.2 threadsafe default libx.so x.1.0 \"\" \"\"\r\n"
	     "old u1.1 threadsafe default libx.so.1 x.1.0 \"\" plat#form\n"
	     "last u1.2 threadsafe default libx.so.1 x.1.0 \"\" \"\"");
	ASSERT_EQ(DAT_SUCCESS, list_get(&l, LIST_MAX));
	EXPECT_EQ(1, listed(&l, "plain", 2, 1));
	EXPECT_EQ(0, listed(&l, "plain", 2, 0));
	EXPECT_EQ(1, listed(&l, "two words", 2, 0));
	EXPECT_EQ(1, listed(&l, "q\"\\n", 2, 1));
	EXPECT_EQ(1, listed(&l, "old", 1, 1));
	EXPECT_EQ(1, listed(&l, "last", 2, 1));
}

TEST(lines_of_others)
{
	const char *text;
	struct list l;

	conf("kernel k1.2 threadsafe default libx.so.1 x.1.0 \"\" \"\"\n"
	     "two u2.0 threadsafe default libx.so.1 x.1.0 \"\" \"\"\n"
	     "three u3.0 and whatever it \"likes\n"
	     "spare u1.2 threadsafe nondefault libx.so.1 x.1.0 \"\" \"\"\n");
	stderr_begin();
	ASSERT_EQ(DAT_SUCCESS, list_get(&l, LIST_MAX));
	text = stderr_end();
	EXPECT_STREQ("", text);
	EXPECT_EQ(0, listed(&l, "kernel", 2, 1));
	EXPECT_EQ(0, listed(&l, "two", 0, 1));
	EXPECT_EQ(0, listed(&l, "spare", 2, 1));
}

/* The first of equal lines counts.  Lines with another version or thread safety are not equal. */
TEST(duplicate_lines)
{
	struct list l;

	conf("a u1.2 threadsafe default liba.so x.1.0 \"\" \"\"\n"
	     "a u1.2 threadsafe default libb.so x.1.0 \"\" \"\"\n"
	     "a u1.2 nonthreadsafe default libc.so x.1.0 \"\" \"\"\n"
	     "a u1.1 threadsafe default libd.so x.1.0 \"\" \"\"\n");
	ASSERT_EQ(DAT_SUCCESS, list_get(&l, LIST_MAX));
	EXPECT_EQ(1, listed(&l, "a", 2, 1));
	EXPECT_EQ(1, listed(&l, "a", 2, 0));
	EXPECT_EQ(1, listed(&l, "a", 1, 1));
}

/* Covers: dat_registry_list_providers INVALID_PARAMETER|ARG1|ARG2|ARG3 */
TEST(list_arguments)
{
	DAT_PROVIDER_INFO info, *ptr[2] = { &info, NULL };
	DAT_COUNT n = -1, all;

	conf("a u1.2 threadsafe default liba.so x.1.0 \"\" \"\"\n");
	EXPECT_EQ(IP(2), dat_registry_list_providers(2, NULL, ptr));
	EXPECT_EQ(IP(1), dat_registry_list_providers(-1, &n, ptr));
	EXPECT_EQ(IP(3), dat_registry_list_providers(2, &n, NULL));
	EXPECT_EQ(IP(2), dat_registry_list_providers(2, &n, ptr));
	EXPECT_EQ(-1, n);
	/* To get only the number of entries, a program passes 0 for the maximum. */
	EXPECT_EQ(IP(1), dat_registry_list_providers(0, &all, NULL));
	EXPECT_GE(all, 1);
	EXPECT_EQ(IP(1), dat_registry_list_providers(0, &n, ptr));
	EXPECT_EQ(all, n);
}

/* Covers: dat_registry_list_providers INVALID_PARAMETER|ARG1 */
TEST(list_too_small)
{
	struct list all, some;

	conf("a u1.2 threadsafe default liba.so x.1.0 \"\" \"\"\n"
	     "b u1.2 threadsafe default liba.so x.1.0 \"\" \"\"\n"
	     "c u1.2 threadsafe default liba.so x.1.0 \"\" \"\"\n");
	ASSERT_EQ(DAT_SUCCESS, list_get(&all, LIST_MAX));
	ASSERT_GE(all.n, 3);
	EXPECT_EQ(IP(1), list_get(&some, all.n - 1));
	EXPECT_EQ(all.n, some.n);
	EXPECT_EQ(0, memcmp(all.info, some.info, sizeof(all.info[0]) * (all.n - 1)));
	EXPECT_EQ(0x5a, some.info[all.n - 1].ia_name[0]);
	EXPECT_EQ(DAT_SUCCESS, list_get(&some, all.n));
}

#define BAD(line, what)	{ line, what }
static const struct {
	const char *line;
	const char *what;
} bad_lines[] = {
	BAD("a u1.2 threadsafe default lib.so x.1.0 \"\"", "fewer than 8 fields"),
	BAD("a", "fewer than 8 fields"),
	BAD("a u1.2 threadsafe default lib.so x.1.0 \"\" # \"\"", "fewer than 8 fields"),
	BAD("a u1.2 threadsafe default lib.so x.1.0 \"\" \"\" c", "more than 8 fields"),
	BAD("a 1.2 threadsafe default lib.so x.1.0 \"\" \"\"", "field 2"),
	BAD("a u1 threadsafe default lib.so x.1.0 \"\" \"\"", "field 2"),
	BAD("a u1.2.3 threadsafe default lib.so x.1.0 \"\" \"\"", "field 2"),
	BAD("a u4294967297.2 threadsafe default lib.so x.1.0 \"\" \"\"", "field 2"),
	BAD("a u1.2 safe default lib.so x.1.0 \"\" \"\"", "field 3"),
	BAD("a u1.2 threadsafe standard lib.so x.1.0 \"\" \"\"", "field 4"),
	BAD("a u1.2 threadsafe default \"\" x.1.0 \"\" \"\"", "field 5"),
	BAD("a u1.2 threadsafe default lib.so x1.0 \"\" \"\"", "field 6"),
	BAD("a u1.2 threadsafe default lib.so .1.0 \"\" \"\"", "field 6"),
	BAD("a u1.2 threadsafe default lib.so x.1.b \"\" \"\"", "field 6"),
	BAD("\"\" u1.2 threadsafe default lib.so x.1.0 \"\" \"\"", "field 1"),
	BAD("a u1.2 threadsafe default lib.so x.1.0 \"\" \"abc", "does not end"),
	BAD("a u1.2 threadsafe default lib.so x.1.0 \"\" \"abc\\\"", "does not end"),
	BAD("a u1.2 threadsafe default lib.so x.1.0 \"\"\"\" \"\"", "blank is missing"),
	BAD("a u1.2 threadsafe default l\"ib.so\" x.1.0 \"\" \"\"", "in the middle"),
	BAD("a u1.2 threadsafe default libdat.so.1 x.1.0 \"\" \"\"", "field 7"),
};

TEST(malformed_lines)
{
	const int n = sizeof(bad_lines) / sizeof(bad_lines[0]);
	char file[1 << 13] = "# the first line\n", want[256];
	const char *name, *text, *at;
	struct list l;
	int i;

	for (i = 0; i < n; i++)
		sprintf(file + strlen(file), "%s\n", bad_lines[i].line);
	name = conf("%sgood u1.2 threadsafe default lib.so x.1.0 \"\" \"\"\n", file);
	stderr_begin();
	ASSERT_EQ(DAT_SUCCESS, list_get(&l, LIST_MAX));
	text = stderr_end();
	for (i = 0; i < n; i++) {
		snprintf(want, sizeof(want), "dat: %s:%d: ", name, i + 2);
		at = strstr(text, want);
		ASSERT_NE(NULL, at)
			TH_LOG("no \"%s\" in\n%s", want, text);
		snprintf(want, sizeof(want), "%.*s", (int)strcspn(at, "\n"), at);
		EXPECT_NE(NULL, strstr(want, bad_lines[i].what))
			TH_LOG("\"%s\" is not about \"%s\"", want, bad_lines[i].what);
	}
	EXPECT_EQ(n, count_of(text, "\n"));
	EXPECT_EQ(1, listed(&l, "good", 2, 1));
	EXPECT_EQ(0, listed(&l, "a", 2, 1));
}

/* A malformed line causes one message per process, not one message per call. */
TEST(malformed_lines_once)
{
	struct list l;

	conf("a\n");
	stderr_begin();
	list_get(&l, LIST_MAX);
	list_get(&l, LIST_MAX);
	EXPECT_EQ(1, count_of(stderr_end(), "fewer"));
}

TEST(file_missing)
{
	const char *text;
	struct list l;

	setenv("DAT_OVERRIDE", "/nonexistent/dat.conf", 1);
	stderr_begin();
	EXPECT_EQ(DAT_SUCCESS, list_get(&l, LIST_MAX));
	text = stderr_end();
	EXPECT_STREQ("dat: cannot read /nonexistent/dat.conf: No such file or directory\n", text);
	EXPECT_EQ(IP(1), list_get(&l, 0));
}

TEST(too_many_lines)
{
	char *file = calloc(1100, 64), *to = file;
	DAT_COUNT n = -1;
	int i;

	for (i = 0; i < 1100; i++)
		to += sprintf(to, "a%d u1.2 threadsafe default l.so x.1.0 \"\" \"\"\n", i);
	conf("%s", file);
	stderr_begin();
	EXPECT_EQ(IP(1), dat_registry_list_providers(0, &n, NULL));
	EXPECT_EQ(1, count_of(stderr_end(), ":1025: from here on ignored"));
	EXPECT_GE(n, 1024);
	EXPECT_LT(n, 1100);
	free(file);
}

/* ---- The dynamic registry ---- */

static DAT_PROVIDER_INFO info_of(const char *name, unsigned int major, unsigned int minor, int safe)
{
	DAT_PROVIDER_INFO info = { .dapl_version_major = major, .dapl_version_minor = minor,
				   .is_thread_safe = safe ? DAT_TRUE : DAT_FALSE };

	strcpy(info.ia_name, name);
	return info;
}

/*
 * Covers: dat_registry_add_provider; dat_registry_add_provider INVALID_PARAMETER
 * PROVIDER_ALREADY_REGISTERED; dat_registry_remove_provider; dat_registry_remove_provider
 * INVALID_PARAMETER
 */
TEST(add_and_remove)
{
	DAT_PROVIDER_INFO a = info_of("a", 1, 2, 1), other;
	static DAT_PROVIDER one, two;

	EXPECT_EQ(IP(1), dat_registry_add_provider(NULL, &a));
	EXPECT_EQ(IP(2), dat_registry_add_provider(&one, NULL));
	EXPECT_EQ(IP(1), dat_registry_remove_provider(NULL, &a));
	EXPECT_EQ(IP(2), dat_registry_remove_provider(&one, NULL));
	memset(other.ia_name, 'x', sizeof(other.ia_name));
	EXPECT_EQ(IP(2), dat_registry_add_provider(&one, &other));
	EXPECT_EQ(IP(2), dat_registry_remove_provider(&one, &other));

	EXPECT_EQ(DAT_INVALID_PARAMETER, DAT_GET_TYPE(dat_registry_remove_provider(&one, &a)));
	EXPECT_EQ(DAT_SUCCESS, dat_registry_add_provider(&one, &a));
	EXPECT_EQ(ERR(DAT_PROVIDER_ALREADY_REGISTERED, 0), dat_registry_add_provider(&one, &a));
	EXPECT_EQ(ERR(DAT_PROVIDER_ALREADY_REGISTERED, 0), dat_registry_add_provider(&two, &a));
	other = info_of("a", 1, 2, 0);
	EXPECT_EQ(DAT_SUCCESS, dat_registry_add_provider(&one, &other));
	other = info_of("a", 1, 1, 1);
	EXPECT_EQ(DAT_SUCCESS, dat_registry_add_provider(&two, &other));

	EXPECT_EQ(DAT_INVALID_PARAMETER, DAT_GET_TYPE(dat_registry_remove_provider(&two, &a)));
	EXPECT_EQ(DAT_SUCCESS, dat_registry_remove_provider(&one, &a));
	EXPECT_EQ(DAT_INVALID_PARAMETER, DAT_GET_TYPE(dat_registry_remove_provider(&one, &a)));
	EXPECT_EQ(DAT_SUCCESS, dat_registry_add_provider(&two, &a));
}

/* Covers: dat_registry_add_provider INSUFFICIENT_RESOURCES */
TEST(add_until_full)
{
	DAT_PROVIDER_INFO info;
	static DAT_PROVIDER p;
	DAT_RETURN rc = DAT_SUCCESS;
	char name[16];
	int i;

	for (i = 0; rc == DAT_SUCCESS && i < 10000; i++) {
		snprintf(name, sizeof(name), "x%d", i);
		info = info_of(name, 1, 2, 1);
		rc = dat_registry_add_provider(&p, &info);
	}
	EXPECT_EQ(ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY), rc);
	EXPECT_GT(i, 64);
	info = info_of("x7", 1, 2, 1);
	EXPECT_EQ(DAT_SUCCESS, dat_registry_remove_provider(&p, &info));
	EXPECT_EQ(DAT_SUCCESS, dat_registry_add_provider(&p, &info));
}

struct own_ia {
	const DAT_PROVIDER	*table;
	DAT_RETURN		close;
};

static struct own_ia own;

static DAT_RETURN own_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			   DAT_IA_HANDLE *ia)
{
	if (strcmp(name, "own") || qlen != 8 || *evd)
		return TEST_REFUSED;
	*ia = &own;
	return DAT_SUCCESS;
}

static DAT_RETURN own_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	(void)flags;
	return ((struct own_ia *)ia)->close;
}

static DAT_RETURN open_as(const char *name, unsigned int major, unsigned int minor, int safe,
			  DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	return dat_ia_openv((DAT_NAME_PTR)name, 8, &evd, ia, major, minor,
			    safe ? DAT_TRUE : DAT_FALSE);
}

#define NOT_FOUND(sub)	ERR(DAT_PROVIDER_NOT_FOUND, sub)

/* A program may be its own provider.  A provider with a later minor version is compatible. */
/*
 * Covers: dat_ia_openv; dat_ia_openv
 * PROVIDER_NOT_FOUND|MAJOR_NOT_FOUND|MINOR_NOT_FOUND|THREAD_SAFETY_NOT_FOUND|NAME_NOT_REGISTERED;
 * dat_registry_remove_provider PROVIDER_IN_USE; SH 72
 */
TEST(open_registered)
{
	DAT_PROVIDER table = { .ia_open_func = own_open, .ia_close_func = own_close };
	DAT_PROVIDER_INFO info = info_of("own", 1, 3, 1);
	DAT_IA_HANDLE ia = NULL;

	conf("\n");
	own.table = &table;
	ASSERT_EQ(DAT_SUCCESS, dat_registry_add_provider(&table, &info));
	EXPECT_EQ(NOT_FOUND(DAT_MAJOR_NOT_FOUND), open_as("own", 2, 0, 1, &ia));
	EXPECT_EQ(NOT_FOUND(DAT_MINOR_NOT_FOUND), open_as("own", 1, 4, 1, &ia));
	EXPECT_EQ(NOT_FOUND(DAT_THREAD_SAFETY_NOT_FOUND), open_as("own", 1, 2, 0, &ia));
	EXPECT_EQ(NULL, ia);
	ASSERT_EQ(DAT_SUCCESS, open_as("own", 1, 2, 1, &ia));
	EXPECT_EQ(&own, ia);
	EXPECT_EQ(ERR(DAT_PROVIDER_IN_USE, 0), dat_registry_remove_provider(&table, &info));
	/* If the provider fails to close an IA, the IA stays open. */
	own.close = TEST_REFUSED;
	EXPECT_EQ(TEST_REFUSED, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_EQ(ERR(DAT_PROVIDER_IN_USE, 0), dat_registry_remove_provider(&table, &info));
	own.close = DAT_SUCCESS;
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_EQ(DAT_SUCCESS, dat_registry_remove_provider(&table, &info));
	stderr_begin();
	EXPECT_EQ(NOT_FOUND(DAT_NAME_NOT_REGISTERED), open_as("own", 1, 2, 1, &ia));
	EXPECT_NE(0, strlen(stderr_end()));
}

/*
 * The library must detect a value that is not a handle of any provider.  It must not read an
 * unreadable address.
 */
/* Covers: SH 66 */
TEST(handles_of_nobody)
{
	static const uint64_t words[4] = { 0x1234, 0, ~0ULL };
	static DAT_PROVIDER table, *const table_ptr = &table;
	static char odd[16] __attribute__((aligned(8)));
	DAT_PROVIDER_INFO info = info_of("own", 1, 2, 1);
	const void *const bad[] = {
		NULL, DAT_EVD_ASYNC_EXISTS, DAT_EVD_OUT_OF_SCOPE, (void *)0xff8,
		odd + sizeof(table_ptr) / 2, &words[0], &words[1], &words[2], &table,
	};
	DAT_CONTEXT context;
	size_t i;

	memcpy(odd + sizeof(table_ptr) / 2, &table_ptr, sizeof(table_ptr));
	ASSERT_EQ(DAT_SUCCESS, dat_registry_add_provider(&table, &info));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EXPECT_EQ(ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
			  dat_get_consumer_context((DAT_HANDLE)bad[i], &context));
		EXPECT_EQ(ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
			  dat_ia_close((DAT_HANDLE)bad[i], DAT_CLOSE_ABRUPT_FLAG));
	}
}

/* ---- Library of a provider ---- */

FIXTURE(provider) {
	int		trace;
	DAT_IA_HANDLE	ia;
};

FIXTURE_SETUP(provider)
{
	self->trace = memfd_create("trace", MFD_CLOEXEC);
	/* Several threads write to the file concurrently, so each write must append. */
	fcntl(self->trace, F_SETFL, O_APPEND);
	if (access(so_path(), R_OK))
		SKIP(return, "test_provider.so is not beside the program");
}

FIXTURE_TEARDOWN(provider)
{
	close(self->trace);
}

/* A line of dat.conf for the test provider, up to the IA parameters. */
#define LINE(name)	name " u1.2 threadsafe default %s test.1.0 "

/* Covers: dat_provider_init; dat_provider_fini; dat_ia_close; SH 72 */
TEST_F(provider, life)
{
	DAT_IA_HANDLE second;
	DAT_EP_HANDLE ep;
	char want[128];

	conf(LINE("t") "\"fd=%d a\\\"b\\\\c\" \"\"\n", so_path(), self->trace);
	ASSERT_EQ(DAT_SUCCESS, open_as("t", 1, 2, 1, &self->ia));
	snprintf(want, sizeof(want), "init t [fd=%d a\"b\\c]\nopen t\n", self->trace);
	EXPECT_STREQ(want, said(self->trace));
	ASSERT_EQ(DAT_SUCCESS, open_as("t", 1, 2, 1, &second));
	EXPECT_STREQ("open t\n", said(self->trace));

	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(second, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_STREQ("", said(self->trace));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(self->ia, NULL, NULL, NULL, NULL, NULL, &ep));
	EXPECT_EQ(ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE),
		  dat_ia_close(self->ia, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_TRUE(so_loaded());
	EXPECT_EQ(DAT_SUCCESS, dat_ep_free(ep));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(self->ia, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_STREQ("fini t\n", said(self->trace));
	EXPECT_TRUE(so_loaded());
	EXPECT_EQ(DAT_INVALID_HANDLE, DAT_GET_TYPE(dat_ia_close(NULL, DAT_CLOSE_ABRUPT_FLAG)));

	/* The code stays in memory, because a thread of the provider may still run in it. */
	ASSERT_EQ(DAT_SUCCESS, open_as("t", 1, 2, 1, &self->ia));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(1, count_of(said(self->trace), "fini t"));
	EXPECT_TRUE(so_loaded());
}

TEST_F(provider, transfer)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 0x1122334455667788 };
	DAT_LMR_TRIPLET iov[2] = { { .segment_length = 100 }, { .segment_length = 20 } };
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_CONTEXT context = { .as_64 = 77 };
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;

	conf(LINE("t") "\"\" \"\"\n", so_path());
	ASSERT_EQ(DAT_SUCCESS, open_as("t", 1, 2, 1, &self->ia));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(self->ia, 8, NULL, DAT_EVD_DTO_FLAG, &evd));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(self->ia, NULL, NULL, evd, NULL, NULL, &ep));
	EXPECT_EQ(ERR(DAT_QUEUE_EMPTY, 0), dat_evd_dequeue(evd, &event));
	EXPECT_EQ(DAT_SUCCESS, dat_ep_post_send(ep, 2, iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_dequeue(evd, &event));
	dto = &event.event_data.dto_completion_event_data;
	EXPECT_EQ(evd, event.evd_handle);
	EXPECT_EQ(ep, dto->ep_handle);
	EXPECT_EQ(cookie.as_64, dto->user_cookie.as_64);
	EXPECT_EQ(120, dto->transfered_length);
	EXPECT_EQ(DAT_SUCCESS, dat_set_consumer_context(ep, context));
	context.as_64 = 0;
	EXPECT_EQ(DAT_SUCCESS, dat_get_consumer_context(ep, &context));
	EXPECT_EQ(77, context.as_64);
	EXPECT_EQ(DAT_SUCCESS, dat_ep_free(ep));
	EXPECT_EQ(DAT_SUCCESS, dat_evd_free(evd));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(self->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

#define FORWARDED(slot, call)	EXPECT_EQ(TEST_STUB(slot), call)

TEST_F(provider, forwards_connections)
{
	DAT_HANDLE h;

	conf(LINE("t") "\"\" \"\"\n", so_path());
	ASSERT_EQ(DAT_SUCCESS, open_as("t", 1, 2, 1, &self->ia));
	h = self->ia;
	FORWARDED(ia_query, dat_ia_query(h, NULL, 0, NULL, 0, NULL));
	FORWARDED(get_handle_type, dat_get_handle_type(h, NULL));
	FORWARDED(cr_query, dat_cr_query(h, 0, NULL));
	FORWARDED(cr_accept, dat_cr_accept(h, NULL, 0, NULL));
	FORWARDED(cr_reject, dat_cr_reject(h));
	FORWARDED(evd_query, dat_evd_query(h, 0, NULL));
	FORWARDED(evd_wait, dat_evd_wait(h, 0, 1, NULL, NULL));
	FORWARDED(evd_post_se, dat_evd_post_se(h, NULL));
	FORWARDED(evd_set_unwaitable, dat_evd_set_unwaitable(h));
	FORWARDED(evd_clear_unwaitable, dat_evd_clear_unwaitable(h));
	FORWARDED(psp_create, dat_psp_create(h, 0, NULL, 0, NULL));
	FORWARDED(psp_create_any, dat_psp_create_any(h, NULL, NULL, 0, NULL));
	FORWARDED(psp_query, dat_psp_query(h, 0, NULL));
	FORWARDED(psp_free, dat_psp_free(h));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
}

TEST_F(provider, forwards_transfers)
{
	DAT_REGION_DESCRIPTION region = { .for_va = NULL };
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_HANDLE h;

	conf(LINE("t") "\"\" \"\"\n", so_path());
	ASSERT_EQ(DAT_SUCCESS, open_as("t", 1, 2, 1, &self->ia));
	h = self->ia;
	FORWARDED(ep_query, dat_ep_query(h, 0, NULL));
	FORWARDED(ep_connect, dat_ep_connect(h, NULL, 0, 0, 0, NULL, 0, 0));
	FORWARDED(ep_disconnect, dat_ep_disconnect(h, 0));
	FORWARDED(ep_reset, dat_ep_reset(h));
	FORWARDED(ep_get_status, dat_ep_get_status(h, NULL, NULL, NULL));
	FORWARDED(ep_post_recv, dat_ep_post_recv(h, 0, NULL, cookie, 0));
	FORWARDED(ep_post_rdma_read, dat_ep_post_rdma_read(h, 0, NULL, cookie, NULL, 0));
	FORWARDED(ep_post_rdma_write, dat_ep_post_rdma_write(h, 0, NULL, cookie, NULL, 0));
	FORWARDED(ep_create_with_srq,
		  dat_ep_create_with_srq(h, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
	FORWARDED(lmr_create,
		  dat_lmr_create(h, 0, region, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL));
	FORWARDED(lmr_query, dat_lmr_query(h, 0, NULL));
	FORWARDED(lmr_free, dat_lmr_free(h));
	FORWARDED(pz_create, dat_pz_create(h, NULL));
	FORWARDED(pz_query, dat_pz_query(h, 0, NULL));
	FORWARDED(pz_free, dat_pz_free(h));
	FORWARDED(srq_create, dat_srq_create(h, NULL, NULL, NULL));
	FORWARDED(srq_free, dat_srq_free(h));
	FORWARDED(srq_post_recv, dat_srq_post_recv(h, 0, NULL, cookie));
	FORWARDED(srq_query, dat_srq_query(h, 0, NULL));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* A function type with as many arguments as any DAT function.  The provider ignores all of them. */
typedef DAT_RETURN (*any_fn)(DAT_HANDLE, long, long, long, long, long, long, long, long, long,
			     long);

#define ANY(slot)	{ "dat_" #slot, TEST_STUB(slot) },
static const struct {
	const char	*name;
	DAT_RETURN	answer;
} any_fns[] = { TEST_STUBS(ANY) };

/*
 * Each exported function must forward the call to the provider, even a function that no other test
 * calls.
 */
TEST_F(provider, forwards_all)
{
	any_fn fn;
	size_t i;

	conf(LINE("t") "\"\" \"\"\n", so_path());
	ASSERT_EQ(DAT_SUCCESS, open_as("t", 1, 2, 1, &self->ia));
	for (i = 0; i < sizeof(any_fns) / sizeof(any_fns[0]); i++) {
		fn = (any_fn)dlsym(RTLD_DEFAULT, any_fns[i].name);
		if (!fn)
			continue;
		EXPECT_EQ(any_fns[i].answer, fn(self->ia, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
			TH_LOG("%s", any_fns[i].name);
	}
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* Three lines name the same library.  Each line is initialized separately. */
TEST_F(provider, lines_of_one_library)
{
	DAT_IA_HANDLE u, v, w;

	conf(LINE("t") "\"fd=%d\" \"\"\n" LINE("other") "\"fd=%d\" \"\"\n"
	     "t u1.2 nonthreadsafe default %s test.1.0 \"fd=%d\" \"\"\n",
	     so_path(), self->trace, so_path(), self->trace, so_path(), self->trace);
	ASSERT_EQ(DAT_SUCCESS, open_as("t", 1, 1, 1, &u));
	ASSERT_EQ(DAT_SUCCESS, open_as("other", 1, 0, 1, &v));
	ASSERT_EQ(DAT_SUCCESS, open_as("t", 1, 2, 0, &w));
	EXPECT_EQ(3, count_of(said(self->trace), "init"));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(u, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_STREQ("fini t\n", said(self->trace));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(v, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_STREQ("fini other\n", said(self->trace));
	EXPECT_TRUE(so_loaded());
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(w, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_TRUE(so_loaded());
}

/*
 * Covers: dat_ia_openv PROVIDER_NOT_FOUND|MAJOR_NOT_FOUND|MINOR_NOT_FOUND|THREAD_SAFETY_NOT_FOUND
 */
TEST_F(provider, mismatches)
{
	conf(LINE("t") "\"fd=%d\" \"\"\n", so_path(), self->trace);
	EXPECT_EQ(NOT_FOUND(DAT_MAJOR_NOT_FOUND), open_as("t", 2, 2, 1, &self->ia));
	EXPECT_EQ(NOT_FOUND(DAT_MINOR_NOT_FOUND), open_as("t", 1, 3, 1, &self->ia));
	EXPECT_EQ(NOT_FOUND(DAT_THREAD_SAFETY_NOT_FOUND), open_as("t", 1, 2, 0, &self->ia));
	/* If no version or thread safety matches, no library is loaded. */
	EXPECT_STREQ("", said(self->trace));
}

TEST_F(provider, next_line_after_failure)
{
	const char *name, *text;
	char want[128];

	name = conf(LINE("t") "\"\" \"\"\n" LINE("t") "\"\" \"\"\n" LINE("t") "\"fd=%d\" \"\"\n",
		    "/nonexistent/lib.so", "libm.so.6", so_path(), self->trace);
	stderr_begin();
	EXPECT_EQ(DAT_SUCCESS, open_as("t", 1, 2, 1, &self->ia));
	text = stderr_end();
	snprintf(want, sizeof(want), "dat: %s:1: /nonexistent/lib.so: cannot open", name);
	EXPECT_NE(NULL, strstr(text, want))
		TH_LOG("%s", text);
	snprintf(want, sizeof(want), "dat: %s:2: libm.so.6 is no provider: it lacks", name);
	EXPECT_NE(NULL, strstr(text, want))
		TH_LOG("%s", text);
	EXPECT_EQ(2, count_of(text, "\n"));
	EXPECT_EQ(1, count_of(said(self->trace), "open t"));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(self->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/*
 * half.c registers a table in a constructor, but has no dat_provider_fini(), so it is no provider.
 * libdat must remove the table when libdat unloads the library.
 */
TEST_F(provider, half_a_provider)
{
	char path[PATH_MAX + 32] = "";
	const char *text;

	beside(path, sizeof(path), "test_half.so");
	conf("half u1.2 threadsafe default %s test.1.0 \"\" \"\"\n", path);
	stderr_begin();
	EXPECT_EQ(NOT_FOUND(DAT_NAME_NOT_REGISTERED), open_as("half", 1, 2, 1, &self->ia));
	EXPECT_EQ(NOT_FOUND(DAT_NAME_NOT_REGISTERED), open_as("half", 1, 2, 1, &self->ia));
	text = stderr_end();
	EXPECT_EQ(2, count_of(text, "test_half.so is no provider: it lacks"))
		TH_LOG("%s", text);
}

TEST_F(provider, no_library)
{
	const char *text;

	conf(LINE("t") "\"\" \"\"\n", "/nonexistent/lib.so");
	stderr_begin();
	EXPECT_EQ(NOT_FOUND(DAT_NAME_NOT_REGISTERED), open_as("t", 1, 2, 1, &self->ia));
	/*
	 * The library causes the only message.  A driver that is present causes none, because the
	 * line does not refer to an adapter of the driver.
	 */
	text = stderr_end();
	EXPECT_EQ(access("/dev/dat", F_OK) ? 2 : 1, count_of(text, "\n")) TH_LOG("%s", text);
	EXPECT_EQ(1, count_of(text, "another provider"));
}

/* An absent driver is named beside the missing library of another provider. */
TEST_F(provider, no_library_and_no_driver)
{
	const char *text;

	conf(LINE("t") "\"\" \"\"\n", "/nonexistent/lib.so");
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/dev", "tmpfs", 0, NULL))
		SKIP(return, "needs root");
	stderr_begin();
	EXPECT_EQ(NOT_FOUND(DAT_NAME_NOT_REGISTERED), open_as("t", 1, 2, 1, &self->ia));
	text = stderr_end();
	EXPECT_EQ(1, count_of(text, "/nonexistent/lib.so")) TH_LOG("%s", text);
	EXPECT_EQ(1, count_of(text, "/dev/dat is missing")) TH_LOG("%s", text);
}

/*
 * The first line does not match, and the library of the matching second line is missing.  The error
 * must be about the missing library.
 */
TEST_F(provider, no_library_and_mismatch)
{
	conf("t u1.2 nonthreadsafe default %s test.1.0 \"\" \"\"\n" LINE("t") "\"\" \"\"\n",
	     so_path(), "/nonexistent/lib.so");
	stderr_begin();
	EXPECT_EQ(NOT_FOUND(DAT_NAME_NOT_REGISTERED), open_as("t", 1, 2, 1, &self->ia));
	EXPECT_EQ(access("/dev/dat", F_OK) ? 2 : 1, count_of(stderr_end(), "\n"));
}

/*
 * A line that is an alias of a missing adapter does not prevent the use of a later line of the same
 * name.
 */
TEST_F(provider, alias_without_adapter)
{
	conf(LINE("t") "none0 \"\"\n" LINE("t") "\"fd=%d\" \"\"\n", "libdat.so.1", so_path(),
	     self->trace);
	stderr_begin();
	EXPECT_EQ(DAT_SUCCESS, open_as("t", 1, 2, 1, &self->ia));
	EXPECT_STREQ("", stderr_end());
	EXPECT_EQ(1, count_of(said(self->trace), "open t"));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(self->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

TEST_F(provider, init_registers_nothing)
{
	conf(LINE("t") "\"fd=%d silent\" \"\"\n", so_path(), self->trace);
	stderr_begin();
	EXPECT_EQ(NOT_FOUND(DAT_NAME_NOT_REGISTERED), open_as("t", 1, 2, 1, &self->ia));
	EXPECT_EQ(1, count_of(stderr_end(), "did not register 't'"));
	EXPECT_EQ(1, count_of(said(self->trace), "fini t"));
	EXPECT_TRUE(so_loaded());
}

TEST_F(provider, fini_removes_nothing)
{
	int i;

	conf(LINE("t") "\"fd=%d forget\" \"\"\n", so_path(), self->trace);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(DAT_SUCCESS, open_as("t", 1, 2, 1, &self->ia));
		stderr_begin();
		EXPECT_EQ(DAT_SUCCESS, dat_ia_close(self->ia, DAT_CLOSE_GRACEFUL_FLAG));
		EXPECT_EQ(1, count_of(stderr_end(), "did not remove"));
		EXPECT_TRUE(so_loaded());
	}
}

TEST_F(provider, open_refused)
{
	conf(LINE("t") "\"fd=%d refuse\" \"\"\n", so_path(), self->trace);
	stderr_begin();
	EXPECT_EQ(TEST_REFUSED, open_as("t", 1, 2, 1, &self->ia));
	EXPECT_EQ(TEST_REFUSED, open_as("t", 1, 2, 1, &self->ia));
	EXPECT_STREQ("", stderr_end());
	EXPECT_EQ(2, count_of(said(self->trace), "fini t"));
	EXPECT_TRUE(so_loaded());
}

TEST_F(provider, handle_without_table)
{
	conf(LINE("t") "\"fd=%d bare\" \"\"\n", so_path(), self->trace);
	stderr_begin();
	EXPECT_EQ(DAT_INTERNAL_ERROR, DAT_GET_TYPE(open_as("t", 1, 2, 1, &self->ia)));
	EXPECT_EQ(1, count_of(stderr_end(), "without its table"));
	EXPECT_TRUE(so_loaded());
}

/*
 * A provider must not call the registry from dat_provider_init().  If it does, the call must fail,
 * not hang.
 */
TEST_F(provider, init_calls_back)
{
	char want[256];

	conf(LINE("t") "\"fd=%d reenter\" \"\"\n", so_path(), self->trace);
	EXPECT_EQ(DAT_SUCCESS, open_as("t", 1, 2, 1, &self->ia));
	snprintf(want, sizeof(want), "reenter %x %x some\n", NOT_FOUND(DAT_NAME_NOT_REGISTERED),
		 IP(1));
	EXPECT_EQ(1, count_of(said(self->trace), want));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(self->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void *open_and_close(void *failures)
{
	DAT_IA_HANDLE ia;
	DAT_EP_HANDLE ep;
	int i;

	for (i = 0; i < 200; i++) {
		if (open_as("t", 1, 2, 1, &ia) != DAT_SUCCESS ||
		    dat_ep_create(ia, NULL, NULL, NULL, NULL, NULL, &ep) != DAT_SUCCESS ||
		    dat_ep_free(ep) != DAT_SUCCESS ||
		    dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) != DAT_SUCCESS)
			__atomic_add_fetch((int *)failures, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST_F(provider, threads)
{
	pthread_t t[4];
	const char *text;
	int i, failures = 0;

	conf(LINE("t") "\"fd=%d\" \"\"\n", so_path(), self->trace);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, open_and_close, &failures));
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	EXPECT_EQ(0, failures);
	EXPECT_TRUE(so_loaded());
	text = said(self->trace);
	EXPECT_EQ(800, count_of(text, "open t"));
	EXPECT_EQ(count_of(text, "init t"), count_of(text, "fini t"));
}

static void *open_slowly(void *ia)
{
	open_as("t", 1, 2, 1, ia);
	return NULL;
}

/* The fork comes while another thread loads the provider. */
TEST_F_TIMEOUT(provider, a_forked_child_opens_what_its_parent_is_loading, 60)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	pthread_t thread;
	int status = -1;
	pid_t pid;

	conf(LINE("t") "\"fd=%d slow\" \"\"\n", so_path(), self->trace);
	ASSERT_EQ(0, pthread_create(&thread, NULL, open_slowly, &ia));
	while (!count_of(text_of(self->trace), "init t"))
		usleep(1000);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		alarm(10);
		_exit(open_as("t", 1, 2, 1, &ia) != DAT_SUCCESS);
	}
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	pthread_join(thread, NULL);
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* ---- No more descriptors ---- */

TEST(no_more_descriptors)
{
	struct rlimit none = { .rlim_cur = 3, .rlim_max = 3 };
	const char *text;
	DAT_IA_HANDLE ia;
	struct list l;

	conf("\n");
	if (access("/dev/dat", R_OK | W_OK))
		SKIP(return, "no driver");
	stderr_begin();
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	EXPECT_EQ(ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE),
		  open_as("any0", 1, 2, 1, &ia));
	EXPECT_EQ(ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE), list_get(&l, LIST_MAX));
	text = stderr_end();
	EXPECT_EQ(2, count_of(text, "ulimit -n")) TH_LOG("%s", text);
}

/* ---- Names of adapters ---- */

TEST(alias_without_adapter)
{
	DAT_IA_HANDLE ia;
	struct list l;

	conf("net0 u1.2 threadsafe default /usr/lib/libdat.so.1 dat.1.0 none0:1 \"\"\n");
	ASSERT_EQ(DAT_SUCCESS, list_get(&l, LIST_MAX));
	EXPECT_EQ(1, listed(&l, "net0", 2, 1));
	stderr_begin();
	EXPECT_EQ(NOT_FOUND(DAT_NAME_NOT_REGISTERED), open_as("net0", 1, 2, 1, &ia));
	EXPECT_NE(0, strlen(stderr_end()));
	EXPECT_EQ(NOT_FOUND(DAT_MINOR_NOT_FOUND), open_as("net0", 1, 3, 1, &ia));
}

/*
 * Store the name of the driver's first adapter in @name, or "" if there is none.  A child process
 * with an empty dat.conf looks up the name.
 */
static void first_adapter(char *name, size_t size)
{
	DAT_PROVIDER_INFO info, *ptr[1] = { &info };
	DAT_COUNT n = 0;
	int p[2];

	memset(name, 0, size);
	if (pipe(p))
		return;
	if (!fork()) {
		conf("\n");
		dat_registry_list_providers(1, &n, ptr);
		_exit(n && write(p[1], info.ia_name, strlen(info.ia_name)) < 0);
	}
	close(p[1]);
	wait(NULL);
	if (read(p[0], name, size - 1) < 0)
		memset(name, 0, size);
	close(p[0]);
}

TEST(alias)
{
	char adapter[DAT_NAME_MAX_LENGTH], name[DAT_NAME_MAX_LENGTH];
	DAT_IA_ATTR attr;
	DAT_IA_HANDLE ia;

	first_adapter(adapter, sizeof(adapter));
	if (!adapter[0])
		SKIP(return, "no adapter, or no driver");
	/* Use the longest possible name as an alias. */
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	conf("%s u1.2 threadsafe default libdat.so.1 dat.1.0 \"%s\" \"\"\n", name, adapter);
	ASSERT_EQ(DAT_SUCCESS, open_as(name, 1, 2, 0, &ia));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	EXPECT_STREQ(name, attr.adapter_name);
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	/* The alias does not hide the adapter's own name. */
	EXPECT_EQ(DAT_SUCCESS, open_as(adapter, 1, 2, 0, &ia));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

TEST_HARNESS_MAIN
