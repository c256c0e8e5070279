// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * The registries of providers.  The static registry lists the adapters of the driver, then the
 * lines of dat.conf.  The dynamic registry holds the function tables that providers have
 * registered.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/cancel.h"
#include "../common/log.h"
#include "conf.h"
#include "foreign.h"
#include "libdat.h"
#include "provider.h"

#define CONF_MAX	1024	/* maximum number of lines that are used */
#define TABLES_MAX	128

#define IP(arg)		DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##arg)

_Static_assert(sizeof(((DAT_PROVIDER_INFO *)0)->ia_name) == CONF_NAME_MAX + 1, "IA names");
_Static_assert(sizeof(((struct dat_adapter *)0)->name) == UDAT_ALIAS_SIZE, "adapters' names");

/* ---- Lines of dat.conf ---- */

static struct udat_conf *conf_first, **conf_last = &conf_first;
static unsigned int conf_count;

static const char *append(char **to, const char *s)
{
	char *start = *to;

	*to = stpcpy(start, s) + 1;
	return start;
}

/* Allocate the structure and its strings in one block.  The strings follow the structure. */
static struct udat_conf *conf_new(const struct conf_entry *e, const char *where)
{
	struct udat_conf *c;
	char *strings;

	c = calloc(1, sizeof(*c) + strlen(where) + strlen(e->library) +
		   strlen(e->ia_params) + 3);
	if (!c)
		return NULL;
	strings = (char *)(c + 1);
	c->where = append(&strings, where);
	c->library = append(&strings, e->library);
	c->params = append(&strings, e->ia_params);
	c->alias = conf_is_libdat(e->library);
	strcpy(c->info.ia_name, e->ia_name);
	c->info.dapl_version_major = e->major;
	c->info.dapl_version_minor = e->minor;
	c->info.is_thread_safe = e->threadsafe ? DAT_TRUE : DAT_FALSE;
	return c;
}

static void conf_add(const struct conf_entry *e, void *arg)
{
	struct udat_conf *c;
	char where[512];

	(void)arg;
	snprintf(where, sizeof(where), "%.480s:%u", e->file, e->line);
	if (conf_count >= CONF_MAX) {
		if (conf_count++ == CONF_MAX)
			du_log(DU_LOG_ERROR, "%s: from here on ignored: more than %d entries",
			       where, CONF_MAX);
		return;
	}
	c = conf_new(e, where);
	if (!c)
		return;
	if (c->alias && (!*c->params || strlen(c->params) >= UDAT_ALIAS_SIZE)) {
		du_log(DU_LOG_ERROR, "%s: field 7, the IA parameters, is no name of an adapter",
		       where);
		free(c);
		return;
	}
	*conf_last = c;
	conf_last = &c->next;
	conf_count++;
}

static void conf_load_all(void)
{
	int state = du_cancel_off();

	conf_load(conf_add, NULL);
	du_cancel_restore(state);
}

/*
 * Returns the first line of dat.conf.  The first call reads the files.  A program that opens only
 * adapters of the driver never makes this call, and so reads no file.
 */
struct udat_conf *udat_conf_first(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, conf_load_all);
	return conf_first;
}

/* ---- The dynamic registry ---- */

__thread struct udat_conf *udat_loading;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void udat_registry_lock(void)
{
	pthread_mutex_lock(&lock);
}

void udat_registry_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/*
 * The registered function tables; NULL marks a free slot.  udat_foreign_find() searches this array
 * without a lock.  The other data of an entry is in @registered, under the same index.
 */
static const DAT_PROVIDER *tables[TABLES_MAX];
static struct udat_registered registered[TABLES_MAX];
unsigned int udat_ntables;

const DAT_PROVIDER *udat_foreign_find(DAT_HANDLE handle)
{
	uintptr_t address = (uintptr_t)handle;
	const DAT_PROVIDER *table;
	unsigned int i, n;

	/*
	 * Do not dereference NULL, a constant such as DAT_EVD_ASYNC_EXISTS, or a handle of this
	 * library.
	 */
	if (address < 4096 || address % sizeof(void *) ||
	    address - du_arena_base < __atomic_load_n(&du_arena_used, __ATOMIC_ACQUIRE))
		return NULL;
	table = *(const DAT_PROVIDER *const *)handle;
	if (!table)
		return NULL;
	n = __atomic_load_n(&udat_ntables, __ATOMIC_ACQUIRE);
	for (i = 0; i < n; i++)
		if (__atomic_load_n(&tables[i], __ATOMIC_RELAXED) == table)
			return table;
	return NULL;
}

DAT_RETURN_SUBTYPE udat_mismatch(const DAT_PROVIDER_INFO *have, const DAT_PROVIDER_INFO *want)
{
	if (strcmp(have->ia_name, want->ia_name))
		return DAT_NAME_NOT_REGISTERED;
	if (have->dapl_version_major != want->dapl_version_major)
		return DAT_MAJOR_NOT_FOUND;
	if (have->dapl_version_minor < want->dapl_version_minor)
		return DAT_MINOR_NOT_FOUND;
	if (!have->is_thread_safe != !want->is_thread_safe)
		return DAT_THREAD_SAFETY_NOT_FOUND;
	return DAT_NO_SUBTYPE;
}

static int same_key(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
	return a->dapl_version_minor == b->dapl_version_minor &&
	       udat_mismatch(a, b) == DAT_NO_SUBTYPE;
}

/* Returns the index of the entry, or TABLES_MAX if there is none.  The caller holds the lock. */
static unsigned int find_key(const DAT_PROVIDER_INFO *info)
{
	unsigned int i;

	for (i = 0; i < udat_ntables; i++)
		if (tables[i] && same_key(&registered[i].info, info))
			return i;
	return TABLES_MAX;
}

static void set_table(unsigned int i, const DAT_PROVIDER *table)
{
	unsigned int n = udat_ntables;

	__atomic_store_n(&tables[i], table, __ATOMIC_RELAXED);
	if (table && i >= n)
		n = i + 1;
	while (n && !tables[n - 1])
		n--;
	__atomic_store_n(&udat_ntables, n, __ATOMIC_RELEASE);
}

static DAT_RETURN add_locked(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	unsigned int i = 0;

	if (find_key(info) < TABLES_MAX)
		return DAT_ERR(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE);
	while (i < TABLES_MAX && tables[i])
		i++;
	if (i == TABLES_MAX)
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	registered[i] = (struct udat_registered){ .info = *info, .owner = udat_loading };
	set_table(i, provider);
	return DAT_SUCCESS;
}

static DAT_RETURN remove_locked(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	unsigned int i = find_key(info);

	if (i == TABLES_MAX || tables[i] != provider)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE);
	if (registered[i].opens)
		return DAT_ERR(DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE);
	set_table(i, NULL);
	return DAT_SUCCESS;
}

static DAT_RETURN check_provider(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	if (!provider)
		return IP(1);
	if (!info || strnlen(info->ia_name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return IP(2);
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
						 const DAT_PROVIDER_INFO *provider_info)
{
	DAT_RETURN rc = check_provider(provider, provider_info);

	if (rc != DAT_SUCCESS)
		return rc;
	pthread_mutex_lock(&lock);
	rc = add_locked(provider, provider_info);
	pthread_mutex_unlock(&lock);
	return rc;
}

UDAT_EXPORT DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
						    const DAT_PROVIDER_INFO *provider_info)
{
	DAT_RETURN rc = check_provider(provider, provider_info);

	if (rc != DAT_SUCCESS)
		return rc;
	pthread_mutex_lock(&lock);
	rc = remove_locked(provider, provider_info);
	pthread_mutex_unlock(&lock);
	return rc;
}

struct udat_registered *udat_registered_get(const DAT_PROVIDER_INFO *want,
					    const DAT_PROVIDER **provider,
					    DAT_RETURN_SUBTYPE *why)
{
	struct udat_registered *found = NULL;
	DAT_RETURN_SUBTYPE miss;
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < udat_ntables && !found; i++) {
		if (!tables[i])
			continue;
		miss = udat_mismatch(&registered[i].info, want);
		if (miss == DAT_NO_SUBTYPE) {
			found = &registered[i];
			found->opens++;
			*provider = tables[i];
		} else if (miss > *why) {
			*why = miss;
		}
	}
	pthread_mutex_unlock(&lock);
	return found;
}

int udat_registered_name(const char *name)
{
	unsigned int i;
	int found = 0;

	pthread_mutex_lock(&lock);
	for (i = 0; i < udat_ntables && !found; i++)
		found = tables[i] && !strcmp(registered[i].info.ia_name, name);
	pthread_mutex_unlock(&lock);
	return found;
}

void udat_registered_put(struct udat_registered *r)
{
	pthread_mutex_lock(&lock);
	r->opens--;
	pthread_mutex_unlock(&lock);
}

int udat_registered_purge(const struct udat_conf *owner)
{
	unsigned int i;
	int n = 0;

	pthread_mutex_lock(&lock);
	for (i = 0; i < TABLES_MAX; i++) {
		if (tables[i] && registered[i].owner == owner) {
			set_table(i, NULL);
			n++;
		}
	}
	pthread_mutex_unlock(&lock);
	return n;
}

/* ---- dat_registry_list_providers() ---- */

struct listing {
	DAT_PROVIDER_INFO	*info;
	DAT_COUNT		n;
	DAT_COUNT		room;
};

static int listing_has(const struct listing *l, const DAT_PROVIDER_INFO *info)
{
	DAT_COUNT i;

	for (i = 0; i < l->n; i++)
		if (same_key(&l->info[i], info))
			return 1;
	return 0;
}

/* Add @info unless the list contains an equal entry.  Returns 0 or -ENOMEM. */
static int listing_add(struct listing *l, const DAT_PROVIDER_INFO *info)
{
	DAT_PROVIDER_INFO *bigger;

	if (listing_has(l, info))
		return 0;
	if (l->n == l->room) {
		bigger = reallocarray(l->info, (size_t)l->room * 2 + 16, sizeof(*info));
		if (!bigger)
			return -ENOMEM;
		l->info = bigger;
		l->room = l->room * 2 + 16;
	}
	l->info[l->n++] = *info;
	return 0;
}

/* List each adapter twice: with and without thread safety. */
static int list_adapters(struct listing *l)
{
	DAT_PROVIDER_INFO info = { .dapl_version_major = DAT_VERSION_MAJOR,
				   .dapl_version_minor = DAT_VERSION_MINOR };
	struct dat_adapter arg = { .size = sizeof(arg) };
	int fd = du_dev_open(DU_DEV_DAT, 1), ret = 0;

	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		return fd;
	/* If the driver is not loaded, the list has no adapters.  This is no error. */
	if (fd < 0)
		return 0;
	while (!ret && !du_ioctl(fd, DAT_IOC_ADAPTER, &arg)) {
		memcpy(info.ia_name, arg.name, sizeof(arg.name));
		info.is_thread_safe = DAT_TRUE;
		ret = listing_add(l, &info);
		info.is_thread_safe = DAT_FALSE;
		if (!ret)
			ret = listing_add(l, &info);
	}
	du_close(fd);
	return ret;
}

static int list_conf(struct listing *l)
{
	const struct udat_conf *c;
	int ret = 0;

	for (c = udat_conf_first(); c && !ret; c = c->next)
		ret = listing_add(l, &c->info);
	return ret;
}

static DAT_RETURN list_check(DAT_COUNT max, const DAT_COUNT *n, DAT_PROVIDER_INFO *list[])
{
	DAT_COUNT i;

	if (!n)
		return IP(2);
	if (max < 0)
		return IP(1);
	if (max && !list)
		return IP(3);
	for (i = 0; i < max; i++)
		if (!list[i])
			return IP(2);
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return,
						   DAT_COUNT *entries_returned,
						   DAT_PROVIDER_INFO *(dat_provider_list[]))
{
	DAT_RETURN rc = list_check(max_to_return, entries_returned, dat_provider_list);
	struct listing l = { .n = 0 };
	DAT_COUNT i;
	int ret;

	if (rc != DAT_SUCCESS)
		return rc;
	ret = list_adapters(&l);
	if (!ret)
		ret = list_conf(&l);
	if (ret) {
		free(l.info);
		return dat_err_from_errno(-ret);
	}
	for (i = 0; i < l.n && i < max_to_return; i++)
		*dat_provider_list[i] = l.info[i];
	free(l.info);
	*entries_returned = l.n;
	/*
	 * The manual page requires an error if the list is too short.  The returned count is the
	 * required length.
	 */
	return !max_to_return || l.n > max_to_return ? IP(1) : DAT_SUCCESS;
}
