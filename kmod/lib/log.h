/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Lines in the kernel's log, about facts that an administrator needs.  An event or a reject reports
 * such a fact only to one process or one peer, if at all.
 */
#ifndef _DAT_LOG_H
#define _DAT_LOG_H

#include <linux/jiffies.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>

extern bool dat_log_all;

/*
 * Logs a line.  Each use of the macro has one rate limit for all peers and processes together, so
 * that a large number of peers cannot fill the log.  The kernel logs how many lines were left out.
 * The module parameter log_all turns the limits off.
 */
#define dat_log(fmt, ...) do {						\
	static DEFINE_RATELIMIT_STATE(_limit, 60 * HZ, 10);		\
									\
	if (READ_ONCE(dat_log_all) || __ratelimit(&_limit))		\
		pr_warn(KBUILD_MODNAME ": " fmt "\n", ##__VA_ARGS__);	\
} while (0)

#endif /* _DAT_LOG_H */
