/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The registry of providers, as providers see it.
 *
 * A provider is a shared library that dat.conf names for an IA.  The first
 * dat_ia_open() of that IA loads it and calls its dat_provider_init(), which registers
 * a table of functions; after the last dat_ia_close() its dat_provider_fini() is called
 * and the library unloaded.
 */
#ifndef DAT_REGISTRY_H
#define DAT_REGISTRY_H

#include "udat.h"
#include "udat_redirection.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dat_registry_add_provider - register a table of functions for an IA
 * @provider: the table; the registry keeps the address, so the table must stay in place
 *	until it is removed
 * @provider_info: IA name, version and thread safety, copied; two tables must differ in at least
 *	one of these
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: an argument is NULL or the name is not terminated;
 * DAT_PROVIDER_ALREADY_REGISTERED: there is one with equal information;
 * DAT_INSUFFICIENT_RESOURCES: no memory.
 *
 * Threads: safe.  Page: dat_registry_add_provider(3).
 */
DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
				     const DAT_PROVIDER_INFO *provider_info);

/**
 * dat_registry_remove_provider - remove the registration of a provider
 * @provider: as registered
 * @provider_info: as registered
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: an argument is NULL or nothing is registered like this;
 * DAT_PROVIDER_IN_USE: an IA is open through the table.
 *
 * Threads: safe.  Page: dat_registry_remove_provider(3).
 */
DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
					const DAT_PROVIDER_INFO *provider_info);

/**
 * dat_provider_init - function of a provider that is called after it was loaded
 * @provider_info: information that the provider must register
 * @instance_data: "ia params" of the line in dat.conf; valid during the call
 *
 * The provider exports this function, and the registry calls it.  It can't return an error:
 * if it does not register @provider_info, the open fails with DAT_PROVIDER_NOT_FOUND.  It
 * must not open an IA: the registry is locked.
 *
 * Threads: called by one thread at a time.  Page: dat_provider_init(3).
 */
void dat_provider_init(const DAT_PROVIDER_INFO *provider_info, const char *instance_data);

/**
 * dat_provider_fini - function of a provider that is called before it is unloaded
 * @provider_info: argument of dat_provider_init()
 *
 * The provider exports this function, and the registry calls it.  It must remove all tables
 * that it registered.
 *
 * Threads: called by one thread at a time.  Page: dat_provider_fini(3).
 */
void dat_provider_fini(const DAT_PROVIDER_INFO *provider_info);

/* Types of the two functions, and their names for dlsym(). */
typedef void (*DAT_PROVIDER_INIT_FUNC)(const DAT_PROVIDER_INFO *provider_info,
				       const char *instance_data);
typedef void (*DAT_PROVIDER_FINI_FUNC)(const DAT_PROVIDER_INFO *provider_info);

#define DAT_PROVIDER_INIT_FUNC_NAME	dat_provider_init
#define DAT_PROVIDER_FINI_FUNC_NAME	dat_provider_fini
#define DAT_PROVIDER_INIT_FUNC_STR	"dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_STR	"dat_provider_fini"

#ifdef __cplusplus
}
#endif

#endif /* DAT_REGISTRY_H */
