// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Deadlines are times of CLOCK_MONOTONIC as the process reads this clock, also in a time namespace
 * with an offset.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "clock.h"
#include "timens.h"

#define WAIT_MS		1500	/* must exceed the 1 s by which a test sets the clock back */
#define FAR_S		100000	/* offset of a clock that is ahead, in seconds */

static int wait_evd(struct t_file *f, uint64_t deadline)
{
	struct dat_evd_wait arg = {
		.size = sizeof(arg), .threshold = 1, .deadline_ns = deadline,
	};
	struct t_evd evd;

	if (t_evd(f, DAT_STREAM_SOFTWARE, 8, &evd))
		return 0;
	arg.id = evd.id;
	return t_ioctl(f->fd, DAT_IOC_EVD_WAIT, &arg);
}

static int wait_cno(struct t_file *f, uint64_t deadline)
{
	struct dat_cno_wait arg = { .size = sizeof(arg), .deadline_ns = deadline };
	struct dat_cno_create cno = { .size = sizeof(cno) };

	if (t_ioctl(f->fd, DAT_IOC_CNO_CREATE, &cno))
		return 0;
	arg.id = cno.id;
	return t_ioctl(f->fd, DAT_IOC_CNO_WAIT, &arg);
}

/* Returns 0 if @wait ends with -ETIMEDOUT at or after the deadline. */
static int wait_until_deadline(int (*wait)(struct t_file *f, uint64_t deadline))
{
	uint64_t deadline;
	struct t_file f;

	if (t_open(&f))
		return 1;
	deadline = now_ns() + WAIT_MS * 1000000ULL;
	if (wait(&f, deadline) != -ETIMEDOUT)
		return 2;
	return now_ns() < deadline ? 3 : 0;
}

static int evd_times_out(void)
{
	return wait_until_deadline(wait_evd);
}

static int cno_times_out(void)
{
	return wait_until_deadline(wait_cno);
}

static int evd_never_and_at_once(void)
{
	struct t_file f;

	if (t_open(&f))
		return 1;
	if (wait_evd(&f, 0) != -ETIMEDOUT)
		return 2;
	/* DAT_WAIT_FOREVER has no deadline: only SIGALRM ends the wait, by killing the process. */
	alarm(1);
	wait_evd(&f, DAT_WAIT_FOREVER);
	return 3;
}

#define EXPECT_IN_TIMENS(offset_s, fn) do {						\
	int result = timens_run(offset_s, fn);						\
											\
	if (result == TIMENS_NONE)							\
		SKIP(return, "needs root and CONFIG_TIME_NS");				\
	EXPECT_EQ(0, result);								\
} while (0)

TEST(an_evd_wait_ends_at_its_deadline_where_the_clock_is_ahead)
{
	EXPECT_IN_TIMENS(FAR_S, evd_times_out);
}

TEST(an_evd_wait_lasts_to_its_deadline_where_the_clock_is_behind)
{
	EXPECT_IN_TIMENS(-1, evd_times_out);
}

TEST(a_cno_wait_ends_at_its_deadline_where_the_clock_is_ahead)
{
	EXPECT_IN_TIMENS(FAR_S, cno_times_out);
}

TEST(a_cno_wait_lasts_to_its_deadline_where_the_clock_is_behind)
{
	EXPECT_IN_TIMENS(-1, cno_times_out);
}

TEST(zero_never_sleeps_and_forever_has_no_end_where_the_clock_is_ahead)
{
	/* timens_run() returns 254 if SIGALRM killed the process. */
	int result = timens_run(FAR_S, evd_never_and_at_once);

	if (result == TIMENS_NONE)
		SKIP(return, "needs root and CONFIG_TIME_NS");
	EXPECT_EQ(254, result);
}

TEST_HARNESS_MAIN
