/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Version of the API, which dat_ia_open() passes to dat_ia_openv(). */
#ifndef UDAT_CONFIG_H
#define UDAT_CONFIG_H

#define DAT_VERSION_MAJOR	1
#define DAT_VERSION_MINOR	2

/*
 * Whether dat_ia_open() asks for a thread-safe provider.  Define this as DAT_TRUE before
 * including udat.h if two threads of the program use the same IA.  With DAT_FALSE, posting
 * and dequeueing take no locks.
 */
#ifndef DAT_THREADSAFE
#define DAT_THREADSAFE		DAT_FALSE
#endif

#endif /* UDAT_CONFIG_H */
