/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages to people, on stderr. */
#ifndef DU_LOG_H
#define DU_LOG_H

enum du_log_level {
	DU_LOG_ERROR	= 1,	/* the default: a problem that a person has to solve */
	DU_LOG_INFO	= 2,
	DU_LOG_DEBUG	= 3,
};

/* DAT_LOG in the environment chooses the level; 0 prints nothing. */
void du_log(enum du_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* DU_LOG_H */
