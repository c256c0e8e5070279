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

/*
 * Logs a line.  Each use of the macro has one rate limit for all peers and processes, so that even
 * many of them cannot fill the log.  The kernel logs the number of suppressed lines.
 */
#define dat_log(fmt, ...) do {						\
	static DEFINE_RATELIMIT_STATE(_limit, 60 * HZ, 10);		\
									\
	if (__ratelimit(&_limit))					\
		pr_warn(KBUILD_MODNAME ": " fmt "\n", ##__VA_ARGS__);	\
} while (0)

#endif /* _DAT_LOG_H */
