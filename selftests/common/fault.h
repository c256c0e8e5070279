/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Make the n-th allocation or user-memory copy of this task fail.  Needs a kernel with fault
 * injection.
 */
#ifndef FAULT_H
#define FAULT_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "proc.h"

#define MAX_NTH	1000	/* a listener of siw allocates for its whole backlog */

static int nth_fd = -1;

static inline int arm(unsigned int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", n);
	return pwrite(nth_fd, text, strlen(text), 0) < 0 ? -errno : 0;
}

/*
 * Return 1 if the n-th allocation or copy was reached, which made it fail, else 0.
 * /proc/self/fail-nth counts down to 0, which it reaches with the n-th allocation or copy.
 */
static inline int fired(void)
{
	char text[16] = "";

	pread(nth_fd, text, sizeof(text) - 1, 0);
	arm(0);
	return atoi(text) == 0;
}

static inline void fault_setup(void)
{
	nth_fd = open("/proc/self/fail-nth", O_RDWR);
	if (nth_fd < 0 || arm(0)) {
		nth_fd = -1;
		return;
	}
	write_text("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
	write_text("/sys/kernel/debug/failslab/verbose", "0");
	write_text("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
	write_text("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N");
	write_text("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	write_text("/sys/kernel/debug/fail_page_alloc/verbose", "0");
}

/* SKIP() in FIXTURE_SETUP() does not skip the tests of the fixture, so each test skips itself. */
#define NEED_FAULTS() do {							\
	if (nth_fd < 0)								\
		SKIP(return, "the kernel has no fault injection");		\
} while (0)

#endif /* FAULT_H */
