/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Providers besides ours.
 *
 *   struct udat_conf         a line of dat.conf; the list of them is the static registry
 *   struct udat_registered   a table of functions, which the library that a line names,
 *                            or the program, has registered: the dynamic registry
 *
 * Locks, outer to inner: the loader's, which its holder may take again and which is held
 * over all of a provider's code that loading runs; the registry's, never held over calls.
 */
#ifndef LIBDAT_PROVIDER_H
#define LIBDAT_PROVIDER_H

#include <dat/dat_registry.h>

#define UDAT_ALIAS_SIZE	72	/* DAT_NAME_SIZE of the driver */

/*
 * struct udat_conf - a line of dat.conf; never freed
 * @next: in the order in which they are tried
 * @info: what a provider is asked for
 * @alias: the library is this one, and @params the name of an adapter
 * @where: file and line, for messages
 * @library, @params: constant like the above
 * @loading: the library is loaded, or about to be; loader lock, like the rest
 * @lib: from dlopen()
 * @fini: of the library
 * @opens: IAs that are open through it
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
 * @owner: what was being loaded when it was made, or NULL
 * @opens: IAs that are open through it
 */
struct udat_registered {
	DAT_PROVIDER_INFO	info;
	struct udat_conf	*owner;
	unsigned int		opens;
};

/* registry.c */
struct udat_conf *udat_conf_first(void);

/* The first thing in which @have is not what is wanted, or DAT_NO_SUBTYPE. */
DAT_RETURN_SUBTYPE udat_mismatch(const DAT_PROVIDER_INFO *have, const DAT_PROVIDER_INFO *want);

/*
 * Find an entry and keep it from being removed.  NULL: there is none, and *@why is the
 * mismatch of that which came nearest, if it is nearer than *@why.
 */
struct udat_registered *udat_registered_get(const DAT_PROVIDER_INFO *want,
					    const DAT_PROVIDER **provider,
					    DAT_RETURN_SUBTYPE *why);
void udat_registered_put(struct udat_registered *r);

/* Whether there is one of this name. */
int udat_registered_name(const char *name);

/* Remove what @owner has left behind; returns how much. */
int udat_registered_purge(const struct udat_conf *owner);

/* What this thread is loading. */
extern __thread struct udat_conf *udat_loading;

/* provider.c */

/* The adapter that @name is another name of, by dat.conf; 0 if there is no such line. */
int udat_conf_alias(const char *name, char device[UDAT_ALIAS_SIZE]);

/* Whether there is anything of the name for udat_provider_open(), of whatever version. */
int udat_provider_known(const char *name);

/* dat_ia_openv() through a provider that is not ours; pointers have been checked. */
DAT_RETURN udat_provider_open(const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			      DAT_IA_HANDLE *ia, DAT_UINT32 major, DAT_UINT32 minor,
			      DAT_BOOLEAN thread_safety);

/* dat_ia_close() of an IA of @provider; the last one unloads it. */
DAT_RETURN udat_provider_close(const DAT_PROVIDER *provider, DAT_IA_HANDLE ia,
			       DAT_CLOSE_FLAGS flags);

#endif /* LIBDAT_PROVIDER_H */
