// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Parser of rsm.segmentid, tested line by line.  The parser is internal to librsm, so this program
 * compiles its source.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#undef _GNU_SOURCE
#include "../../ulib/common/lines.c"
#undef _GNU_SOURCE
#include "../../ulib/librsm/segid.c"

#define UNTOUCHED	0xdeadbeef

static uint32_t base, length;

static int parse(const char *text, const char *appid)
{
	base = UNTOUCHED;
	length = UNTOUCHED;
	return segid_parse(text, strlen(text), appid, &base, &length);
}

TEST(finds_the_line_of_an_application)
{
	ASSERT_EQ(RSM_SUCCESS, parse("reserved APP 600000 100\n", "APP"));
	EXPECT_EQ(0x600000, base);
	EXPECT_EQ(100, length);
}

TEST(applications_are_not_told_by_their_case)
{
	ASSERT_EQ(RSM_SUCCESS, parse("ReSeRvEd MyApp 600000 1\n", "mYaPP"));
	EXPECT_EQ(0x600000, base);
}

TEST(reserve_and_reserved_are_the_same)
{
	EXPECT_EQ(RSM_SUCCESS, parse("reserve A 600000 1\n", "A"));
	EXPECT_EQ(RSM_SUCCESS, parse("reserved A 600000 1\n", "A"));
}

TEST(the_first_hit_wins)
{
	ASSERT_EQ(RSM_SUCCESS, parse("reserved B 1 1\nreserved A 2 2\nreserved a 3 3\n", "A"));
	EXPECT_EQ(2, base);
	EXPECT_EQ(2, length);
}

TEST(lines_behind_the_hit_are_not_looked_at)
{
	EXPECT_EQ(RSM_SUCCESS, parse("reserved A 2 2\n\nrubbish\n", "A"));
}

TEST(comments_are_skipped)
{
	EXPECT_EQ(RSM_SUCCESS, parse("# reserved A 1 1\n  # x\n#\nreserved A 2 2\n", "A"));
	EXPECT_EQ(2, base);
}

TEST(an_unknown_application_is_bad_appid)
{
	EXPECT_EQ(RSMERR_BAD_APPID, parse("reserved APPLE 600000 1\n", "APP"));
	EXPECT_EQ(RSMERR_BAD_APPID, parse("reserved AP 600000 1\n", "APP"));
	EXPECT_EQ(RSMERR_BAD_APPID, parse("", "APP"));
	EXPECT_EQ(UNTOUCHED, base);
	EXPECT_EQ(UNTOUCHED, length);
}

TEST(a_short_line_before_the_hit_is_bad_conf)
{
	EXPECT_EQ(RSMERR_BAD_CONF, parse("reserved B 600000\nreserved A 2 2\n", "A"));
	EXPECT_EQ(RSMERR_BAD_CONF, parse("reserved\n", "A"));
	EXPECT_EQ(UNTOUCHED, base);
}

TEST(a_blank_line_is_bad_conf)
{
	EXPECT_EQ(RSMERR_BAD_CONF, parse("\nreserved A 2 2\n", "A"));
	EXPECT_EQ(RSMERR_BAD_CONF, parse("reserved B 1 1\n \t\nreserved A 2 2\n", "A"));
}

TEST(another_keyword_is_bad_conf)
{
	EXPECT_EQ(RSMERR_BAD_CONF, parse("reservation A 600000 1\n", "A"));
}

TEST(numbers_of_the_hit_must_be_numbers_of_32_bits)
{
	EXPECT_EQ(RSM_SUCCESS, parse("reserved A 0x600000 4294967295\n", "A"));
	EXPECT_EQ(0x600000, base);
	EXPECT_EQ(UINT32_MAX, length);
	EXPECT_EQ(RSMERR_BAD_CONF, parse("reserved A 60000g 1\n", "A"));
	EXPECT_EQ(RSMERR_BAD_CONF, parse("reserved A 600000 1f\n", "A"));
	EXPECT_EQ(RSMERR_BAD_CONF, parse("reserved A 600000 -1\n", "A"));
	EXPECT_EQ(RSMERR_BAD_CONF, parse("reserved A 100000000 1\n", "A"));
	EXPECT_EQ(RSMERR_BAD_CONF, parse("reserved A 600000 4294967296\n", "A"));
	EXPECT_EQ(RSMERR_BAD_CONF, parse("reserved A 0x 1\n", "A"));
	EXPECT_EQ(UNTOUCHED, base);
}

TEST(the_last_line_needs_no_end)
{
	ASSERT_EQ(RSM_SUCCESS, parse("reserved A 2 35", "A"));
	EXPECT_EQ(35, length);
}

TEST(blanks_and_carriage_returns_do_not_matter)
{
	ASSERT_EQ(RSM_SUCCESS, parse(" reserved\tA   2\t35 \r\n", "A"));
	EXPECT_EQ(35, length);
}

TEST(a_line_may_say_more)
{
	EXPECT_EQ(RSM_SUCCESS, parse("reserved A 2 35 # for the nightly run\n", "A"));
}

TEST(a_file_that_is_not_there_is_bad_conf)
{
	EXPECT_EQ(RSMERR_BAD_CONF, segid_lookup("/nonexistent/rsm.segmentid", "A", &base, &length));
	EXPECT_EQ(RSMERR_BAD_CONF, segid_lookup("/etc", "A", &base, &length));
}

TEST(a_file_is_read)
{
	static const char text[] = "# ids\nreserved A 610000 16\n";
	char path[] = "/tmp/rsm_segid.XXXXXX";
	int fd = mkstemp(path);

	ASSERT_GE(fd, 0);
	ASSERT_EQ((ssize_t)strlen(text), write(fd, text, strlen(text)));
	close(fd);
	EXPECT_EQ(RSM_SUCCESS, segid_lookup(path, "a", &base, &length));
	EXPECT_EQ(0x610000, base);
	EXPECT_EQ(16, length);
	EXPECT_EQ(RSMERR_BAD_APPID, segid_lookup(path, "b", &base, &length));
	unlink(path);
}

static void *look_up_with_a_pending_cancel(void *done)
{
	pthread_cancel(pthread_self());
	segid_lookup("/dev/null", "a", &base, &length);
	*(int *)done = 1;
	pthread_testcancel();
	return NULL;
}

TEST(a_lookup_is_no_cancellation_point)
{
	pthread_t thread;
	int done = 0;

	ASSERT_EQ(0, pthread_create(&thread, NULL, look_up_with_a_pending_cancel, &done));
	pthread_join(thread, NULL);
	EXPECT_EQ(1, done);
}

TEST_HARNESS_MAIN
