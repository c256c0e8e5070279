/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Lines in the kernel's log.  The driver logs facts that an administrator needs, and that otherwise
 * only an event reports, to a process or to a peer.
 */
#ifndef _DAT_LOG_H
#define _DAT_LOG_H

#include <linux/jiffies.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>

extern bool dat_log_all;

/*
 * Logs a line.  Each place that logs has one limit for all peers and processes, so that many of
 * them cannot fill the log, either.  The kernel adds a line with the number of lines that it has
 * left out.
 */
#define dat_log(fmt, ...) do {						\
	static DEFINE_RATELIMIT_STATE(_limit, 60 * HZ, 10);		\
									\
	if (READ_ONCE(dat_log_all) || __ratelimit(&_limit))		\
		pr_warn(KBUILD_MODNAME ": " fmt "\n", ##__VA_ARGS__);	\
} while (0)

#endif /* _DAT_LOG_H */
