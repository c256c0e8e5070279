/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Included in front of tests that are built with AddressSanitizer, by the option -include.
 *
 * The harness ends each test by _exit(), so the check for leaks that LeakSanitizer makes at exit()
 * does not run.  These tests make the check themselves.  The pages of handles are no roots of the
 * check.  So what only an open object refers to counts as a leak, and a test closes what it opens.
 */
#ifndef ASAN_H
#define ASAN_H

#define _GNU_SOURCE

#include <link.h>
#include <sanitizer/lsan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pid_t asan_main;

static int asan_is_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	return !!strstr(info->dlpi_name, "/ulib-asan/");
}

__attribute__((constructor)) static void asan_begin(void)
{
	asan_main = getpid();
	if (!dl_iterate_phdr(asan_is_library, NULL)) {
		fprintf(stderr, "# the library was not built with AddressSanitizer\n");
		abort();
	}
}

/* Some tests expect that a child dies of a signal.  Weak: each source of a program has a copy. */
const char *__asan_default_options(void);
__attribute__((weak)) const char *__asan_default_options(void)
{
	return "handle_segv=0:handle_sigbus=0";
}

/* A child of a test has copies of its parent's memory, and is not checked. */
__attribute__((noreturn, unused)) static void asan_exit(int status)
{
	if (getppid() == asan_main && __lsan_do_recoverable_leak_check())
		status = 1;
	_exit(status);
}

#define _exit(status)	asan_exit(status)

#endif /* ASAN_H */
