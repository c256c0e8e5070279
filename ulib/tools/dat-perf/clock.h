/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Time stamps in ticks.  A tick is a cycle of the cycle counter, if the compiler has a built-in
 * function to read it; otherwise a nanosecond.  Reading the cycle counter takes a few instructions.
 * Reading the clock may take a system call and an access to a device.  The program measures the
 * length of a tick during the run.
 */
#ifndef DAT_PERF_CLOCK_H
#define DAT_PERF_CLOCK_H

#include <stdint.h>

#include "../common/tool.h"

#ifndef __has_builtin
#define __has_builtin(name)	0
#endif

static inline uint64_t perf_ticks(void)
{
#if __has_builtin(__builtin_ia32_rdtsc)
	return __builtin_ia32_rdtsc();
#else
	return tool_now_ns();
#endif
}

#endif /* DAT_PERF_CLOCK_H */
