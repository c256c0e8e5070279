/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Providers other than this library.
 *
 *   struct udat_conf         a line of dat.conf; the list of lines is the static registry
 *   struct udat_registered   a function table that a provider library or the program has
 *                            registered; the list of tables is the dynamic registry
 *
 * Locks, outer to inner: loader lock, registry lock.  The loader lock is recursive, because it is
 * held while a provider's code runs.  The registry lock is never held while a provider's code runs.
 */
#ifndef LIBDAT_PROVIDER_H
#define LIBDAT_PROVIDER_H

#include <dat/dat_registry.h>

#define UDAT_ALIAS_SIZE	72	/* size of a device name; same as the driver's DAT_NAME_SIZE */

/*
 * struct udat_conf - a line of dat.conf; never freed
 * @next: next line, in search order; constant
 * @info: name, version and thread safety, by which the line is found; constant
 * @alias: flag: the library is libdat itself, and @params names an adapter; constant
 * @where: file name and line number, for messages; constant
 * @library, @params: library and IA parameters of the line; constant
 * @loading: flag: the library is loaded or being loaded; protected by the loader lock
 * @lib: result of dlopen(); protected by the loader lock
 * @fini: fini function of the library; protected by the loader lock
 * @opens: number of IAs that are open through the library; protected by the loader lock
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
 * struct udat_registered - an entry of the dynamic registry; protected by the registry lock
 * @info: name, version and thread safety, by which the entry is found
 * @owner: line whose library was being loaded when the table was registered, or NULL
 * @opens: number of IAs that are open through the table
 */
struct udat_registered {
	DAT_PROVIDER_INFO	info;
	struct udat_conf	*owner;
	unsigned int		opens;
};

/* registry.c */
/* fork() runs while this lock is held, so that the child inherits consistent data. */
void udat_registry_lock(void);
void udat_registry_unlock(void);

struct udat_conf *udat_conf_first(void);

/* Returns the first mismatch between @have and @want, or DAT_NO_SUBTYPE if they match. */
DAT_RETURN_SUBTYPE udat_mismatch(const DAT_PROVIDER_INFO *have, const DAT_PROVIDER_INFO *want);

/*
 * Find an entry that matches @want, and take a reference, which keeps the entry registered.  If no
 * entry matches, returns NULL, and sets *@why to the mismatch of the entry that matches best,
 * unless *@why is already greater.
 */
struct udat_registered *udat_registered_get(const DAT_PROVIDER_INFO *want,
					    const DAT_PROVIDER **provider,
					    DAT_RETURN_SUBTYPE *why);
void udat_registered_put(struct udat_registered *r);

/* Returns whether an entry with this name is registered. */
int udat_registered_name(const char *name);

/*
 * Remove the entries that the library of @owner has left registered.  Returns the number of
 * entries.
 */
int udat_registered_purge(const struct udat_conf *owner);

/* Line whose library the current thread is loading, or NULL. */
extern __thread struct udat_conf *udat_loading;

/* provider.c */

/* fork() runs while these locks are held, so that the child inherits consistent data. */
void udat_loader_lock(void);
void udat_loader_unlock(void);
void udat_loader_renew(void);
void udat_opened_lock(void);
void udat_opened_unlock(void);

/*
 * Look up the IA name @name in dat.conf, and copy the name of its adapter to @device.  Returns 0 if
 * no line of dat.conf maps @name to an adapter.
 */
int udat_conf_alias(const char *name, char device[UDAT_ALIAS_SIZE]);

/* Returns whether a provider of any version has the name @name. */
int udat_provider_known(const char *name);

/*
 * Open an IA through another provider, like dat_ia_openv().  The caller has checked the pointers.
 */
DAT_RETURN udat_provider_open(const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			      DAT_IA_HANDLE *ia, DAT_UINT32 major, DAT_UINT32 minor,
			      DAT_BOOLEAN thread_safety);

/* Close an IA of @provider.  The close of the last IA calls fini() of the provider's library. */
DAT_RETURN udat_provider_close(const DAT_PROVIDER *provider, DAT_IA_HANDLE ia,
			       DAT_CLOSE_FLAGS flags);

#endif /* LIBDAT_PROVIDER_H */
