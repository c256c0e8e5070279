// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The progress of rsm-perf, built with ThreadSanitizer: the thread that shows it, and the main
 * thread that removes it before other output, take turns at the terminal.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "../../ulib/tools/rsm-perf/perf.h"

#define SHOWN_MS	500	/* the thread shows its line several times */

const char *const perf_op_names[] = { "put" };

/* Standard error is the terminal of the test. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "log_path=stdout";
}

TEST(the_line_on_the_terminal_has_one_writer_at_a_time)
{
	static struct perf p = { .opt = { .size = 64, .iters = SHOWN_MS, .interval_ms = 50 } };
	int terminal = posix_openpt(O_RDWR | O_NOCTTY), slave;
	char text[256] = "";
	unsigned int ms;

	ASSERT_LE(0, terminal);
	ASSERT_EQ(0, grantpt(terminal));
	ASSERT_EQ(0, unlockpt(terminal));
	slave = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	ASSERT_LE(0, slave);
	ASSERT_EQ(STDERR_FILENO, dup2(slave, STDERR_FILENO));
	perf_progress_begin(&p);
	for (ms = 0; ms < SHOWN_MS; ms++) {
		usleep(1000);
		__atomic_store_n(&p.done, ms, __ATOMIC_RELAXED);
		perf_progress_clear();
	}
	perf_progress_end();
	ASSERT_LT(0, read(terminal, text, sizeof(text) - 1));
	EXPECT_NE(NULL, strstr(text, "rsm-perf: put of 64 bytes: "));
}

TEST_HARNESS_MAIN
