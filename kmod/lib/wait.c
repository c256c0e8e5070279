// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* How the system calls of both devices sleep while they wait. */
#include <linux/hrtimer.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>

#include "compat.h"
#include "lib/device.h"

/*
 * Sleeps once.  The caller has called prepare_to_wait(), and checks its condition in a loop.  The
 * deadline is absolute on CLOCK_MONOTONIC, so the kernel can restart the system call after a stop
 * signal, a debugger or the freezer.  The call fails with EINTR only if a signal handler runs.
 * Returns 0; -ETIMEDOUT; or -ERESTARTNOHAND after a signal.
 */
int dat_sleep(u64 deadline_ns)
{
	ktime_t deadline = ns_to_ktime(min_t(u64, deadline_ns, KTIME_MAX));

	/* Check this before signals: after its deadline a call must not fail with EINTR. */
	if (deadline_ns != DAT_WAIT_FOREVER && ktime_get_ns() >= deadline_ns)
		return -ETIMEDOUT;
	if (signal_pending(current))
		return -ERESTARTNOHAND;
	if (deadline_ns == DAT_WAIT_FOREVER) {
		schedule();
		return 0;
	}
	schedule_hrtimeout(&deadline, HRTIMER_MODE_ABS);
	return 0;
}
EXPORT_SYMBOL_DAT_INTERNAL(dat_sleep);
