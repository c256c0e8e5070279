/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handles of other providers.  Handles of this library are addresses in the arena; those of
 * other providers point to the address of a registered table of functions.
 */
#ifndef LIBDAT_FOREIGN_H
#define LIBDAT_FOREIGN_H

#include <dat/udat_redirection.h>

/* Length in use of the array of registered tables; 0 in most programs. */
extern unsigned int udat_ntables __attribute__((visibility("hidden")));

const DAT_PROVIDER *udat_foreign_find(DAT_HANDLE handle);

/* Returns the provider of a handle; NULL if the handle is of this library, or of no provider. */
static inline const DAT_PROVIDER *udat_foreign(DAT_HANDLE handle)
{
	/* A relaxed load will do: a caller that holds such a handle has seen the registration. */
	if (__builtin_expect(!__atomic_load_n(&udat_ntables, __ATOMIC_RELAXED), 1))
		return NULL;
	return udat_foreign_find(handle);
}

/*
 * If another provider has made the handle, return from the calling function with the result of
 * that provider's @slot.  The arguments behind @slot are those that follow the handle.
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
