/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * Interface between providers and the registry of providers.
 *
 * A provider is a shared library that dat.conf names for an IA.  The first dat_ia_open() of
 * the IA loads the library and calls the library's dat_provider_init().  This function
 * registers a table of functions.  After the last dat_ia_close(), the registry calls the
 * library's dat_provider_fini() and unloads the library.
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
 * @provider: the table; the registry stores only the address, so the table must stay valid until
 *	dat_registry_remove_provider()
 * @provider_info: IA name, version and thread safety, which the registry copies; two tables must
 *	differ in at least one of these properties
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: an argument is NULL or the name is not terminated;
 * DAT_PROVIDER_ALREADY_REGISTERED: a table with an equal @provider_info is registered;
 * DAT_INSUFFICIENT_RESOURCES: no memory.
 *
 * Threads: safe.  Page: dat_registry_add_provider(3).
 */
DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
				     const DAT_PROVIDER_INFO *provider_info);

/**
 * dat_registry_remove_provider - remove the registration of a provider
 * @provider: the registered table
 * @provider_info: equal to the registered information
 *
 * Return: DAT_SUCCESS;
 * DAT_INVALID_PARAMETER: an argument is NULL, or no such table is registered;
 * DAT_PROVIDER_IN_USE: an IA is open through the table.
 *
 * Threads: safe.  Page: dat_registry_remove_provider(3).
 */
DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
					const DAT_PROVIDER_INFO *provider_info);

/**
 * dat_provider_init - function of a provider, called after the provider was loaded
 * @provider_info: information that the provider must register
 * @instance_data: "ia params" of the line in dat.conf; valid during the call
 *
 * The provider exports this function, and the registry calls the function.  The function cannot
 * return an error.  If the function does not register @provider_info, dat_ia_open() fails with
 * DAT_PROVIDER_NOT_FOUND.  The function must not open an IA, because the registry is locked.
 *
 * Threads: called by one thread at a time.  Page: dat_provider_init(3).
 */
void dat_provider_init(const DAT_PROVIDER_INFO *provider_info, const char *instance_data);

/**
 * dat_provider_fini - function of a provider, called before the provider is unloaded
 * @provider_info: argument of dat_provider_init()
 *
 * The provider exports this function, and the registry calls the function.  The function must
 * remove all tables that the provider has registered.
 *
 * Threads: called by one thread at a time.  Page: dat_provider_fini(3).
 */
void dat_provider_fini(const DAT_PROVIDER_INFO *provider_info);

/* Types of dat_provider_init() and dat_provider_fini(), and the names of both for dlsym(). */
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
