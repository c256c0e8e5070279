/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Handles of other providers.  A handle of this library is an address in the arena.  A handle of
 * another provider points to a pointer to the provider's registered function table.
 */
#ifndef LIBDAT_FOREIGN_H
#define LIBDAT_FOREIGN_H

#include <dat/udat_redirection.h>

/* Number of used entries in the array of registered function tables; 0 in most programs. */
extern unsigned int udat_ntables __attribute__((visibility("hidden")));

const DAT_PROVIDER *udat_foreign_find(DAT_HANDLE handle);

/*
 * Returns the provider of a handle.  NULL if the handle belongs to this library or to no provider.
 */
static inline const DAT_PROVIDER *udat_foreign(DAT_HANDLE handle)
{
	/*
	 * A relaxed load is enough: a caller with a foreign handle has already seen the
	 * registration.
	 */
	if (__builtin_expect(!__atomic_load_n(&udat_ntables, __ATOMIC_RELAXED), 1))
		return NULL;
	return udat_foreign_find(handle);
}

/*
 * If the handle belongs to another provider, call that provider's function @slot and return its
 * result from the calling function.  The arguments after @slot are passed on after the handle.
 */
#define UDAT_FORWARD(handle, slot, ...)						\
	do {									\
		const DAT_PROVIDER *foreign_ = udat_foreign(handle);		\
										\
		if (__builtin_expect(!!foreign_, 0))				\
			return foreign_->slot##_func((handle)			\
						     __VA_OPT__(,) __VA_ARGS__);	\
	} while (0)

#endif /* LIBDAT_FOREIGN_H */
