/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handles of other providers.  Ours are addresses in the arena; theirs point to the
 * address of a table of functions that was registered.
 */
#ifndef LIBDAT_FOREIGN_H
#define LIBDAT_FOREIGN_H

#include <dat/udat_redirection.h>

/* Places in use of the array of registered tables; 0 in nearly all programs. */
extern unsigned int udat_ntables __attribute__((visibility("hidden")));

const DAT_PROVIDER *udat_foreign_find(DAT_HANDLE handle);

/* The provider of a handle; NULL if it is ours, or nobody's. */
static inline const DAT_PROVIDER *udat_foreign(DAT_HANDLE handle)
{
	/* Who has a handle of theirs, has seen the registration. */
	if (__builtin_expect(!__atomic_load_n(&udat_ntables, __ATOMIC_RELAXED), 1))
		return NULL;
	return udat_foreign_find(handle);
}

/*
 * Return what the handle's provider says, if it is not ours; else go on.  Further
 * arguments are those of the function behind the handle, which comes first in all.
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
