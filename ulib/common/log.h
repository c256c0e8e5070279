/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* Messages for the user, on stderr. */
#ifndef DU_LOG_H
#define DU_LOG_H

enum du_log_level {
	DU_LOG_ERROR	= 1,	/* default level: a problem that the user has to solve */
	DU_LOG_INFO	= 2,
	DU_LOG_DEBUG	= 3,
};

/*
 * Print a message unless @level is above the log level.  The environment variable DAT_LOG sets the
 * log level; 0 prints nothing.
 */
void du_log(enum du_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* DU_LOG_H */
