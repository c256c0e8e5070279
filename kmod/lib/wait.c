// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Sleep of the system calls of /dev/dat and /dev/rsm that wait. */
#include <linux/hrtimer.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>

#include "compat.h"
#include "lib/device.h"

/*
 * Sleeps once.  The caller has called prepare_to_wait() or prepare_to_wait_exclusive(), and calls
 * this function in a loop that checks the condition.  @deadline_ns: absolute time on the host's
 * CLOCK_MONOTONIC, or DAT_WAIT_FOREVER.  An absolute deadline lets the kernel restart the system
 * call after a stop signal, a debugger or the freezer.  The system call fails with EINTR only if a
 * signal handler runs.  Returns 0 after a sleep; -ETIMEDOUT if the deadline had passed before the
 * sleep; or -ERESTARTNOHAND if a signal was pending before the sleep.
 */
int dat_sleep(u64 deadline_ns)
{
	ktime_t deadline = ns_to_ktime(min_t(u64, deadline_ns, KTIME_MAX));

	/* Check the deadline before signals: after its deadline a call must not fail with EINTR. */
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
