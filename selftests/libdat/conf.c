// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The files that make up dat.conf, the order of these files, and the limits of the parser.  The
 * parser is internal to libdat, so this program includes the source of the parser.  registry.c
 * tests all other properties of dat.conf.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#undef _GNU_SOURCE
#include "../../ulib/common/lines.c"
#undef _GNU_SOURCE
#include "../../ulib/libdat/conf.c"

static char messages[1 << 16];
static char entries[1 << 12];

/* Replaces du_log() of libdat: append the message to messages[]. */
void du_log(enum du_log_level level, const char *fmt, ...)
{
	size_t len = strlen(messages);
	va_list ap;

	(void)level;
	va_start(ap, fmt);
	vsnprintf(messages + len, sizeof(messages) - len - 1, fmt, ap);
	va_end(ap);
	strcat(messages, "\n");
}

/* Append the name of the IA and a blank to entries[]. */
static void note(const struct conf_entry *e, void *arg)
{
	(void)arg;
	strcat(strcat(entries, e->ia_name), " ");
}

static int parse(const char *text, size_t len)
{
	messages[0] = '\0';
	entries[0] = '\0';
	return conf_parse(text, len, "F", note, NULL);
}

FIXTURE(files) {
	char	etc[32];
};

FIXTURE_SETUP(files)
{
	char dir[64];

	strcpy(self->etc, "/tmp/dat-conf-XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->etc));
	snprintf(dir, sizeof(dir), "%s/dat", self->etc);
	mkdir(dir, 0755);
	strcat(dir, "/conf.d");
	mkdir(dir, 0755);
}

FIXTURE_TEARDOWN(files)
{
	char cmd[64];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", self->etc);
	EXPECT_EQ(0, system(cmd));
}

__attribute__((format(printf, 3, 4)))
static void put(const char *etc, const char *name, const char *fmt, ...)
{
	char path[128];
	va_list ap;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", etc, name);
	f = fopen(path, "w");
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fclose(f);
}

#define LINE(name, version)	name " " version " threadsafe default l.so x.1.0 \"\" \"\"\n"

TEST_F(files, order)
{
	put(self->etc, "dat.conf", LINE("s1", "u1.1") LINE("s2", "u1.2") LINE("s3", "u1.3")
	    LINE("s4", "u2.0"));
	put(self->etc, "dat/conf.d/b.conf", LINE("b", "u1.0"));
	put(self->etc, "dat/conf.d/B.conf", LINE("B", "u1.2"));
	put(self->etc, "dat/conf.d/10.conf", LINE("ten", "u1.2"));
	put(self->etc, "dat/conf.d/9.conf", LINE("nine", "u1.2"));
	put(self->etc, "dat/conf.d/.hidden.conf", LINE("hidden", "u1.2"));
	put(self->etc, "dat/conf.d/a.conf.bak", LINE("backup", "u1.2"));
	put(self->etc, "dat/conf.d/README", LINE("readme", "u1.2"));
	put(self->etc, "dat/dat.conf", LINE("first", "u1.1"));
	conf_load_etc(self->etc, note, NULL);
	EXPECT_STREQ("first ten nine B b s2 ", entries);
	EXPECT_STREQ("", messages);
}

TEST_F(files, none)
{
	conf_load_etc(self->etc, note, NULL);
	conf_load_etc("/nonexistent", note, NULL);
	EXPECT_STREQ("", entries);
	EXPECT_STREQ("", messages);
}

TEST_F(files, override)
{
	char path[128];

	put(self->etc, "mine", LINE("mine", "u1.1") "x\n");
	snprintf(path, sizeof(path), "%s/mine", self->etc);
	setenv("DAT_OVERRIDE", path, 1);
	conf_load(note, NULL);
	EXPECT_STREQ("mine ", entries);
	strcat(path, ":2: fewer than 8 fields\n");
	EXPECT_STREQ(path, messages);
}

/* A file that cannot be read must not affect the other files. */
TEST_F(files, unreadable)
{
	char path[128], want[256];

	snprintf(path, sizeof(path), "%s/dat/conf.d/a.conf", self->etc);
	mkdir(path, 0755);
	put(self->etc, "dat/conf.d/b.conf", LINE("b", "u1.2"));
	put(self->etc, "dat/conf.d/c.conf", "%*s\n", CONF_FILE_MAX, "");
	put(self->etc, "dat/conf.d/d.conf", "%*s\n" LINE("d", "u1.2"), CONF_LINE_MAX, "");
	conf_load_etc(self->etc, note, NULL);
	EXPECT_STREQ("b d ", entries);
	snprintf(want, sizeof(want), "cannot read %s: Is a directory\n"
		 "cannot read %s/dat/conf.d/c.conf: File too large\n", path, self->etc);
	EXPECT_STREQ(want, messages);
}

/* A FIFO must not make the program wait. */
TEST_F(files, fifo)
{
	char path[128], want[256];

	snprintf(path, sizeof(path), "%s/dat.conf", self->etc);
	ASSERT_EQ(0, mkfifo(path, 0666));
	alarm(10);
	conf_load_etc(self->etc, note, NULL);
	alarm(0);
	EXPECT_STREQ("", entries);
	snprintf(want, sizeof(want), "cannot read %s: it is a FIFO or a socket, not a file\n",
		 path);
	EXPECT_STREQ(want, messages);
}

TEST_F(files, byte_order_mark)
{
	put(self->etc, "dat.conf", "\xef\xbb\xbf" LINE("one", "u1.2") LINE("two", "u1.2"));
	conf_load_etc(self->etc, note, NULL);
	EXPECT_STREQ("one two ", entries);
	EXPECT_STREQ("", messages);
}

TEST(longest_line)
{
	static char line[CONF_LINE_MAX + 2];
	int len = sprintf(line, "a u1.2 threadsafe default l.so x.1.0 p \"");

	memset(line + len, 'x', sizeof(line) - len);
	line[CONF_LINE_MAX - 1] = '"';
	EXPECT_EQ(0, parse(line, CONF_LINE_MAX));
	EXPECT_STREQ("a ", entries);
	line[CONF_LINE_MAX] = ' ';
	EXPECT_EQ(1, parse(line, CONF_LINE_MAX + 1));
	EXPECT_STREQ("F:1: longer than 4096 bytes\n", messages);
}

TEST(longest_name)
{
	char line[512], name[300];

	memset(name, 'n', sizeof(name));
	snprintf(line, sizeof(line), "%.255s u1.2 threadsafe default l.so x.1.0 p p", name);
	EXPECT_EQ(0, parse(line, strlen(line)));
	snprintf(line, sizeof(line), "%.256s u1.2 threadsafe default l.so x.1.0 p p", name);
	EXPECT_EQ(1, parse(line, strlen(line)));
	EXPECT_NE(NULL, strstr(messages, "field 1"));
}

TEST(not_text)
{
	static const char text[] = "a\0b u1.2\n" LINE("b", "u1.2") "\0";

	EXPECT_EQ(2, parse(text, sizeof(text) - 1));
	EXPECT_STREQ("F:1: a NUL byte: this is no text, or it is UTF-16: save it as UTF-8\n"
		     "F:3: a NUL byte: this is no text, or it is UTF-16: save it as UTF-8\n",
		     messages);
	EXPECT_STREQ("b ", entries);
	EXPECT_EQ(0, parse(text, 0));
}

/* A file that is not a dat.conf at all must cause a limited number of messages. */
TEST(many_bad_lines)
{
	char text[256], *to = text;
	int i;

	for (i = 0; i < 30; i++)
		to += sprintf(to, "x y\n");
	to += sprintf(to, LINE("good", "u1.2"));
	EXPECT_EQ(30, parse(text, (size_t)(to - text)));
	EXPECT_NE(NULL, strstr(messages, "F:20: "));
	EXPECT_EQ(NULL, strstr(messages, "F:21: "));
	EXPECT_NE(NULL, strstr(messages, "F: 10 more lines are malformed\n"));
	EXPECT_STREQ("good ", entries);
}

static void check_fields(const struct conf_entry *e, void *arg)
{
	*(int *)arg = !strcmp(e->ia_name, "a # b") && e->major == 1 && e->minor == 23 &&
		      !e->threadsafe && !strcmp(e->library, "/opt/x y/lib.so") &&
		      !strcmp(e->ia_params, "say \"hi\" c:\\ n") && !strcmp(e->file, "F") &&
		      e->line == 2;
}

TEST(fields)
{
	static const char text[] =
		"\n\"a # b\" u1.23 nonthreadsafe default \"/opt/x y/lib.so\" org.x.10.0 "
		"\"say \\\"hi\\\" c:\\\\ \\n\" back\\slash\\#and#more # \"comment\r\n";
	int good = 0;

	EXPECT_EQ(0, conf_parse(text, sizeof(text) - 1, "F", check_fields, &good));
	EXPECT_EQ(1, good);
}

TEST_HARNESS_MAIN
