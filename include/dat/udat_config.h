/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/* API version of this header.  dat_ia_open() passes the version to dat_ia_openv(). */
#ifndef UDAT_CONFIG_H
#define UDAT_CONFIG_H

#define DAT_VERSION_MAJOR	1
#define DAT_VERSION_MINOR	2

/*
 * Whether dat_ia_open() requests a thread-safe provider.  If two threads of a program use the same
 * IA, the program must define DAT_THREADSAFE as DAT_TRUE before it includes udat.h.  With
 * DAT_FALSE, posting and dequeueing take no locks.
 */
#ifndef DAT_THREADSAFE
#define DAT_THREADSAFE		DAT_FALSE
#endif

#endif /* UDAT_CONFIG_H */
