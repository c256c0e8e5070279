// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/* Loading of provider libraries, and opening and closing of IAs through them. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../common/cancel.h"
#include "../common/log.h"
#include "foreign.h"
#include "libdat.h"
#include "provider.h"

#define NOT_FOUND(sub)	DAT_ERR(DAT_PROVIDER_NOT_FOUND, sub)

/*
 * struct opened - an IA that a provider has opened
 * @ia: handle that the provider returned
 * @provider: function table of the provider
 * @reg: entry of @provider in the dynamic registry
 * @next: next element of the list opened_first; protected by list_lock
 */
struct opened {
	DAT_IA_HANDLE		ia;
	const DAT_PROVIDER	*provider;
	struct udat_registered	*reg;
	struct opened		*next;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct opened *opened_first;

/*
 * The loader lock is recursive, because init, fini and constructors of a provider may call this
 * library.
 */
static pthread_mutex_t load_lock;
static pthread_once_t load_once = PTHREAD_ONCE_INIT;

static void load_lock_init(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&load_lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

void udat_loader_lock(void)
{
	pthread_once(&load_once, load_lock_init);
	pthread_mutex_lock(&load_lock);
}

void udat_loader_unlock(void)
{
	pthread_mutex_unlock(&load_lock);
}

/*
 * After a fork, the child replaces the lock, because a recursive lock knows its holder by the
 * thread's number, which the child does not have.
 */
void udat_loader_renew(void)
{
	load_lock_init();
}

/* ---- Libraries; the caller holds the loader lock ---- */

/* Load and initialize the library.  Returns 0, or -1 after logging an error. */
static int library_init(struct udat_conf *c)
{
	DAT_PROVIDER_INIT_FUNC init;

	/*
	 * The code stays in memory after the last close, because a thread of the provider may still
	 * run in it.
	 */
	c->lib = dlopen(c->library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!c->lib) {
		du_log(DU_LOG_ERROR, "%s: %s; the line is for another provider of DAT: for an adapter of the driver dat, open the adapter by its own name, which needs no line",
		       c->where, dlerror());
		return -1;
	}
	init = (DAT_PROVIDER_INIT_FUNC)dlsym(c->lib, DAT_PROVIDER_INIT_FUNC_STR);
	c->fini = (DAT_PROVIDER_FINI_FUNC)dlsym(c->lib, DAT_PROVIDER_FINI_FUNC_STR);
	if (!init || !c->fini) {
		du_log(DU_LOG_ERROR, "%s: %s is no provider: it lacks %s()", c->where, c->library,
		       init ? DAT_PROVIDER_FINI_FUNC_STR : DAT_PROVIDER_INIT_FUNC_STR);
		/* A constructor of the library may have registered a function table. */
		udat_registered_purge(c);
		dlclose(c->lib);
		c->lib = NULL;
		return -1;
	}
	init(&c->info, c->params);
	return 0;
}

static int library_load(struct udat_conf *c)
{
	struct udat_conf *outer = udat_loading;
	int ret, state = du_cancel_off();

	c->loading = 1;
	udat_loading = c;
	ret = library_init(c);
	udat_loading = outer;
	du_cancel_restore(state);
	if (ret)
		c->loading = 0;
	return ret;
}

/* End the use of the library.  A later open calls init() again. */
static void library_unload(struct udat_conf *c)
{
	int state = du_cancel_off();

	c->fini(&c->info);
	/* Remove the tables that fini() left registered, because fini() has ended their use. */
	if (udat_registered_purge(c))
		du_log(DU_LOG_ERROR, "%s: %s did not remove what it had registered", c->where,
		       c->library);
	dlclose(c->lib);
	du_cancel_restore(state);
	c->lib = NULL;
	c->loading = 0;
}

/* ---- Entries of the registry that open IAs use ---- */

static int opened_find(struct opened *o, const DAT_PROVIDER_INFO *want, DAT_RETURN_SUBTYPE *why)
{
	o->reg = udat_registered_get(want, &o->provider, why);
	if (!o->reg)
		return 0;
	if (o->reg->owner)
		o->reg->owner->opens++;
	return 1;
}

static int opened_load(struct opened *o, struct udat_conf *c, const DAT_PROVIDER_INFO *want)
{
	DAT_RETURN_SUBTYPE why = DAT_NO_SUBTYPE;

	/*
	 * If the library is loaded already, opened_find() has searched its tables without success.
	 * If the library is being loaded now, the library itself has requested this IA.  In both
	 * cases, do not load the library again.
	 */
	if (c->loading || library_load(c))
		return 0;
	if (opened_find(o, want, &why))
		return 1;
	du_log(DU_LOG_ERROR, "%s: %s did not register '%s'", c->where, c->library, want->ia_name);
	if (!c->opens)
		library_unload(c);
	return 0;
}

static DAT_RETURN opened_get(struct opened *o, const DAT_PROVIDER_INFO *want)
{
	DAT_RETURN_SUBTYPE miss, why = DAT_NAME_NOT_REGISTERED;
	struct udat_conf *c;
	int failed = 0;

	if (opened_find(o, want, &why))
		return DAT_SUCCESS;
	for (c = udat_conf_first(); c; c = c->next) {
		if (c->alias)
			continue;
		miss = udat_mismatch(&c->info, want);
		if (miss == DAT_NO_SUBTYPE) {
			if (opened_load(o, c, want))
				return DAT_SUCCESS;
			failed = 1;
		} else if (miss > why) {
			why = miss;
		}
	}
	return NOT_FOUND(failed ? DAT_NAME_NOT_REGISTERED : why);
}

static void opened_put(struct opened *o)
{
	struct udat_conf *c;

	udat_loader_lock();
	c = o->reg->owner;
	udat_registered_put(o->reg);
	if (c && !--c->opens)
		library_unload(c);
	udat_loader_unlock();
	free(o);
}

/* ---- The list of open IAs ---- */

void udat_opened_lock(void)
{
	pthread_mutex_lock(&list_lock);
}

void udat_opened_unlock(void)
{
	pthread_mutex_unlock(&list_lock);
}

static void opened_insert(struct opened *o)
{
	pthread_mutex_lock(&list_lock);
	o->next = opened_first;
	opened_first = o;
	pthread_mutex_unlock(&list_lock);
}

static struct opened *opened_take(DAT_IA_HANDLE ia)
{
	struct opened **p, *o;

	pthread_mutex_lock(&list_lock);
	for (p = &opened_first; *p && (*p)->ia != ia; p = &(*p)->next)
		;
	o = *p;
	if (o)
		*p = o->next;
	pthread_mutex_unlock(&list_lock);
	return o;
}

/* ---- Functions that ia.c calls ---- */

int udat_conf_alias(const char *name, char device[UDAT_ALIAS_SIZE])
{
	const struct udat_conf *c;

	for (c = udat_conf_first(); c; c = c->next) {
		if (c->alias && !strcmp(c->info.ia_name, name)) {
			strcpy(device, c->params);
			return 1;
		}
	}
	return 0;
}

int udat_provider_known(const char *name)
{
	const struct udat_conf *c;

	for (c = udat_conf_first(); c; c = c->next)
		if (!c->alias && !strcmp(c->info.ia_name, name))
			return 1;
	return udat_registered_name(name);
}

/* Open an IA through the provider.  No lock is held, because the provider may open other IAs. */
static DAT_RETURN call_open(const DAT_PROVIDER *provider, const char *name, DAT_COUNT qlen,
			    DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia)
{
	DAT_RETURN rc = provider->ia_open_func((DAT_NAME_PTR)name, qlen, async_evd, ia);

	if (rc != DAT_SUCCESS || udat_foreign(*ia))
		return rc;
	/*
	 * The handle does not point to a registered table, so calls with the handle could not be
	 * forwarded.
	 */
	du_log(DU_LOG_ERROR, "the provider of '%s' made a handle without its table", name);
	provider->ia_close_func(*ia, DAT_CLOSE_ABRUPT_FLAG);
	return DAT_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
}

DAT_RETURN udat_provider_open(const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			      DAT_IA_HANDLE *ia, DAT_UINT32 major, DAT_UINT32 minor,
			      DAT_BOOLEAN thread_safety)
{
	DAT_PROVIDER_INFO want = { .dapl_version_major = major, .dapl_version_minor = minor,
				   .is_thread_safe = thread_safety };
	struct opened *o = calloc(1, sizeof(*o));
	DAT_RETURN rc;

	if (!o)
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	strncpy(want.ia_name, name, sizeof(want.ia_name) - 1);
	udat_loader_lock();
	rc = opened_get(o, &want);
	udat_loader_unlock();
	if (rc != DAT_SUCCESS) {
		free(o);
		return rc;
	}
	rc = call_open(o->provider, name, qlen, async_evd, ia);
	if (rc != DAT_SUCCESS) {
		opened_put(o);
		return rc;
	}
	o->ia = *ia;
	opened_insert(o);
	return DAT_SUCCESS;
}

DAT_RETURN udat_provider_close(const DAT_PROVIDER *provider, DAT_IA_HANDLE ia,
			       DAT_CLOSE_FLAGS flags)
{
	/*
	 * Remove the handle from the list before the close, because the next open may return the
	 * same address.
	 */
	struct opened *o = opened_take(ia);
	DAT_RETURN rc = provider->ia_close_func(ia, flags);

	if (!o)
		return rc;
	if (rc == DAT_SUCCESS)
		opened_put(o);
	else
		opened_insert(o);
	return rc;
}
