/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Time stamps that cost a few instructions, in ticks: the cycle counter where there is
 * a built-in function for it, as reading the clock may take a system call and an access
 * to a device.  The length of a tick is measured during the run.
 */
#ifndef DAT_PERF_CLOCK_H
#define DAT_PERF_CLOCK_H

#include <stdint.h>

#include "common.h"

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
