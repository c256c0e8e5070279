/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Providers other than this library.
 *
 *   struct udat_conf         a line of dat.conf; the list of them is the static registry
 *   struct udat_registered   a function table that a provider library or the program has
 *                            registered; the list of them is the dynamic registry
 *
 * Locks, outer to inner: the loader lock, which is recursive and held while loading runs code of
 * a provider; the registry lock, which is never held over such code.
 */
#ifndef LIBDAT_PROVIDER_H
#define LIBDAT_PROVIDER_H

#include <dat/dat_registry.h>

#define UDAT_ALIAS_SIZE	72	/* DAT_NAME_SIZE of the driver */

/*
 * struct udat_conf - a line of dat.conf; never freed
 * @next: next line, in the order of the search; constant
 * @info: key of the provider; constant
 * @alias: the library is this one, and @params the name of an adapter; constant
 * @where: file and line, for messages; constant
 * @library, @params: fields of the line; constant
 * @loading: the library is loaded or being loaded; loader lock
 * @lib: result of dlopen(); loader lock
 * @fini: fini function of the library; loader lock
 * @opens: number of IAs that are open through the library; loader lock
 */
struct udat_conf {
	struct udat_conf	*next;
	DAT_PROVIDER_INFO	info;
	int			alias;
	const char		*where;
	const char		*library;
	const char		*params;
	int			loading;
	void			*lib;
	DAT_PROVIDER_FINI_FUNC	fini;
	unsigned int		opens;
};

/*
 * struct udat_registered - an entry of the dynamic registry; registry lock
 * @info: key
 * @owner: line whose library was being loaded at the registration, or NULL
 * @opens: number of IAs that are open through the table
 */
struct udat_registered {
	DAT_PROVIDER_INFO	info;
	struct udat_conf	*owner;
	unsigned int		opens;
};

/* registry.c */
struct udat_conf *udat_conf_first(void);

/* Returns the first mismatch between @have and @want, or DAT_NO_SUBTYPE. */
DAT_RETURN_SUBTYPE udat_mismatch(const DAT_PROVIDER_INFO *have, const DAT_PROVIDER_INFO *want);

/*
 * Find an entry and take a reference, which keeps it registered.  NULL: there is none; *@why is
 * raised to the mismatch of the best candidate.
 */
struct udat_registered *udat_registered_get(const DAT_PROVIDER_INFO *want,
					    const DAT_PROVIDER **provider,
					    DAT_RETURN_SUBTYPE *why);
void udat_registered_put(struct udat_registered *r);

/* Returns true if an entry of this name is registered. */
int udat_registered_name(const char *name);

/* Remove the entries that @owner has left registered; returns their number. */
int udat_registered_purge(const struct udat_conf *owner);

/* The line whose library this thread is loading, or NULL. */
extern __thread struct udat_conf *udat_loading;

/* provider.c */

/* Find the adapter that dat.conf gives the name @name to.  Returns 0 if there is no such line. */
int udat_conf_alias(const char *name, char device[UDAT_ALIAS_SIZE]);

/* Returns true if there is a provider of the name, of any version. */
int udat_provider_known(const char *name);

/* dat_ia_openv() through another provider; the pointers are checked. */
DAT_RETURN udat_provider_open(const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			      DAT_IA_HANDLE *ia, DAT_UINT32 major, DAT_UINT32 minor,
			      DAT_BOOLEAN thread_safety);

/* dat_ia_close() of an IA of @provider; the last one unloads it. */
DAT_RETURN udat_provider_close(const DAT_PROVIDER *provider, DAT_IA_HANDLE ia,
			       DAT_CLOSE_FLAGS flags);

#endif /* LIBDAT_PROVIDER_H */
