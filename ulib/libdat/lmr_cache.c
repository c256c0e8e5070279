// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
/*
 * Registrations that are kept after their use.
 *
 * The index is an array that is sorted by zone, privileges, start and length.  A get without remote
 * privileges finds an LMR that contains the memory.  No indexed LMR of a zone and of such
 * privileges contains another, so the ends rise with the starts, and the last LMR that does not
 * start behind the memory is the only one that can contain it.  With remote privileges, the memory
 * must be the same, because the key gives the peer access to all of the LMR.
 *
 * The driver increments a word when LMRs become stale, because their addresses have got other
 * pages.  A call that finds a new number asks the driver for these LMRs, and removes them from the
 * index.
 *
 * A removal from the index frees an LMR at once if it is not used, or else with its last put.  The
 * lock is not held while the driver registers or frees memory, which may take long.  A stale LMR
 * may be reported before the call that registers it has entered it in the index.  That call sees by
 * @unknown that there was a report of an LMR that was not in the index, and does not enter its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdat.h"

/* Default of the number of unused LMRs. */
#define CACHE_COUNT	1024

/*
 * struct udat_lmr_cache - LMRs of dat_linux_lmr_get()
 * @lock: lock that protects all fields below but @span and @word
 * @span: mapping of @word
 * @word: number of the driver; NULL if the driver does not report stale LMRs
 * @seen: value of @word for which all stale LMRs were removed from the index
 * @unknown: number of reports of LMRs that were not in the index
 * @sorted: index
 * @n, @room: length of the index, and number of entries for which it has memory
 * @oldest, @newest: ends of the list of the LMRs that are not used, in the order of their last use
 * @idle: number of LMRs in this list
 * @idle_bytes: bytes of their pages
 * @max_idle, @max_bytes: limits of both
 */
struct udat_lmr_cache {
	pthread_mutex_t		lock;
	struct udat_span	span;
	const uint32_t		*word;
	uint32_t		seen;
	unsigned int		unknown;
	struct udat_lmr		**sorted;
	unsigned int		n;
	unsigned int		room;
	struct udat_lmr		*oldest;
	struct udat_lmr		*newest;
	unsigned int		idle;
	uint64_t		idle_bytes;
	unsigned int		max_idle;
	uint64_t		max_bytes;
};

/* Returns the bytes of the pages that the LMR pins. */
static uint64_t lmr_bytes(const struct udat_lmr *lmr)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return (lmr->start + lmr->length - 1) / page * page - lmr->start / page * page + page;
}

/* Returns whether @lmr is at or before the place of the other parameters in the index. */
static int is_before(const struct udat_lmr *lmr, const struct udat_pz *pz,
		     DAT_MEM_PRIV_FLAGS priv, uint64_t start, uint64_t length)
{
	if (lmr->pz != pz)
		return (uintptr_t)lmr->pz < (uintptr_t)pz;
	if (lmr->priv != priv)
		return lmr->priv < priv;
	if (lmr->start != start)
		return lmr->start < start;
	return lmr->length <= length;
}

/* Returns the number of entries that are at or before this place. */
static unsigned int index_place(const struct udat_lmr_cache *c, const struct udat_pz *pz,
				DAT_MEM_PRIV_FLAGS priv, uint64_t start, uint64_t length)
{
	unsigned int low = 0, high = c->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (is_before(c->sorted[mid], pz, priv, start, length))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Returns whether @lmr has the zone and the privileges, and contains the memory. */
static int is_for(const struct udat_lmr *lmr, const struct udat_pz *pz, DAT_MEM_PRIV_FLAGS priv,
		  uint64_t start, uint64_t length)
{
	if (lmr->pz != pz || lmr->priv != priv)
		return 0;
	if (priv & UDAT_LMR_REMOTE)
		return lmr->start == start && lmr->length == length;
	return length <= lmr->length && start - lmr->start <= lmr->length - length;
}

static struct udat_lmr *index_find(const struct udat_lmr_cache *c, const struct udat_pz *pz,
				   DAT_MEM_PRIV_FLAGS priv, uint64_t start, uint64_t length)
{
	uint64_t up_to = priv & UDAT_LMR_REMOTE ? length : UINT64_MAX;
	unsigned int i = index_place(c, pz, priv, start, up_to);

	return i && is_for(c->sorted[i - 1], pz, priv, start, length) ? c->sorted[i - 1] : NULL;
}

static void idle_add(struct udat_lmr_cache *c, struct udat_lmr *lmr)
{
	lmr->older = c->newest;
	lmr->newer = NULL;
	if (c->newest)
		c->newest->newer = lmr;
	else
		c->oldest = lmr;
	c->newest = lmr;
	c->idle++;
	c->idle_bytes += lmr_bytes(lmr);
}

static void idle_del(struct udat_lmr_cache *c, struct udat_lmr *lmr)
{
	*(lmr->older ? &lmr->older->newer : &c->oldest) = lmr->newer;
	*(lmr->newer ? &lmr->newer->older : &c->newest) = lmr->older;
	c->idle--;
	c->idle_bytes -= lmr_bytes(lmr);
}

/* Remove entry @i from the index, and add the LMR to @unused if it is not used. */
static void index_remove(struct udat_lmr_cache *c, unsigned int i, struct udat_lmr **unused)
{
	struct udat_lmr *lmr = c->sorted[i];

	c->n--;
	memmove(&c->sorted[i], &c->sorted[i + 1], (c->n - i) * sizeof(*c->sorted));
	lmr->indexed = 0;
	if (lmr->uses)
		return;
	idle_del(c, lmr);
	lmr->newer = *unused;
	*unused = lmr;
}

/* Remove an LMR that is not used, from the index as well, and add it to @unused. */
static void idle_remove(struct udat_lmr_cache *c, struct udat_lmr *lmr, struct udat_lmr **unused)
{
	if (lmr->indexed) {
		index_remove(c, index_place(c, lmr->pz, lmr->priv, lmr->start, lmr->length) - 1,
			     unused);
		return;
	}
	idle_del(c, lmr);
	lmr->newer = *unused;
	*unused = lmr;
}

/* Make room in the index.  Returns 0 if memory is short. */
static int index_grow(struct udat_lmr_cache *c)
{
	unsigned int room = c->room ? 2 * c->room : 16;
	struct udat_lmr **sorted;

	if (c->n < c->room)
		return 1;
	sorted = realloc(c->sorted, room * sizeof(*sorted));
	if (!sorted)
		return 0;
	c->sorted = sorted;
	c->room = room;
	return 1;
}

/*
 * Enter an LMR in the index, and remove those that it contains.  Does nothing if memory is short,
 * or if another thread has entered an LMR that can be used in its place.
 */
static void index_enter(struct udat_lmr_cache *c, struct udat_lmr *lmr, struct udat_lmr **unused)
{
	unsigned int i = index_place(c, lmr->pz, lmr->priv, lmr->start, 0);

	if (index_find(c, lmr->pz, lmr->priv, lmr->start, lmr->length) || !index_grow(c))
		return;
	if (lmr->priv & UDAT_LMR_REMOTE)
		i = index_place(c, lmr->pz, lmr->priv, lmr->start, lmr->length);
	else
		while (i < c->n && is_for(lmr, c->sorted[i]->pz, c->sorted[i]->priv,
					  c->sorted[i]->start, c->sorted[i]->length))
			index_remove(c, i, unused);
	memmove(&c->sorted[i + 1], &c->sorted[i], (c->n - i) * sizeof(*c->sorted));
	c->sorted[i] = lmr;
	c->n++;
	lmr->indexed = 1;
}

/* Remove a stale LMR from the index. */
static void index_remove_id(struct udat_lmr_cache *c, uint32_t id, struct udat_lmr **unused)
{
	unsigned int i;

	for (i = 0; i < c->n && c->sorted[i]->obj.id != id; i++)
		;
	if (i < c->n)
		index_remove(c, i, unused);
	else
		c->unknown++;
}

/*
 * Remove the LMRs from the index that have become stale.  The search for each is linear, but comes
 * after a change of registered memory only.  Returns 0 or a negative errno.
 */
static int cache_refresh(struct udat_ia *ia, struct udat_lmr **unused)
{
	struct udat_lmr_cache *c = ia->lmr_cache;
	struct dat_lmr_stale arg;
	uint32_t now, i;
	int ret;

	if (!c->word)
		return 0;
	/* Acquire: the memory that is transferred later was not read before. */
	now = __atomic_load_n(c->word, __ATOMIC_ACQUIRE);
	if (now == c->seen)
		return 0;
	do {
		memset(&arg, 0, sizeof(arg));
		arg.size = sizeof(arg);
		ret = du_file_ioctl(&ia->file, DAT_IOC_LMR_STALE, &arg);
		if (ret)
			return ret;
		for (i = 0; i < arg.count; i++)
			index_remove_id(c, arg.ids[i], unused);
	} while (arg.count == DAT_LMR_STALE_IDS);
	c->seen = now;
	return 0;
}

static void cache_trim(struct udat_lmr_cache *c, struct udat_lmr **unused)
{
	while (c->idle > c->max_idle || c->idle_bytes > c->max_bytes)
		idle_remove(c, c->oldest, unused);
}

/*
 * Free the LMRs in the list @unused.  An LMR that the driver does not free, because an RMR is bound
 * to it, is tried again when the others are freed.  Returns the number of LMRs that were freed.
 */
static unsigned int free_unused(struct udat_lmr_cache *c, struct udat_lmr *unused)
{
	struct udat_lmr *lmr;
	unsigned int n = 0;

	while ((lmr = unused)) {
		unused = lmr->newer;
		if (udat_lmr_free(lmr) == DAT_SUCCESS) {
			n++;
			continue;
		}
		pthread_mutex_lock(&c->lock);
		idle_add(c, lmr);
		pthread_mutex_unlock(&c->lock);
	}
	return n;
}

/* Free the LMRs that are not used: those of @pz, or all if @pz is NULL. */
static unsigned int cache_clear(struct udat_ia *ia, const struct udat_pz *pz)
{
	struct udat_lmr_cache *c = __atomic_load_n(&ia->lmr_cache, __ATOMIC_ACQUIRE);
	struct udat_lmr *lmr, *next, *unused = NULL;

	if (!c)
		return 0;
	pthread_mutex_lock(&c->lock);
	for (lmr = c->oldest; lmr; lmr = next) {
		next = lmr->newer;
		if (!pz || lmr->pz == pz)
			idle_remove(c, lmr, &unused);
	}
	pthread_mutex_unlock(&c->lock);
	return free_unused(c, unused);
}

unsigned int udat_lmr_cache_clear(struct udat_ia *ia)
{
	return cache_clear(ia, NULL);
}

void udat_lmr_cache_leave(struct udat_pz *pz)
{
	cache_clear(pz->obj.ia, pz);
}

void udat_lmr_cache_free(struct udat_ia *ia)
{
	struct udat_lmr_cache *c = ia->lmr_cache;

	if (!c)
		return;
	udat_span_unmap(&ia->mappings, &c->span);
	pthread_mutex_destroy(&c->lock);
	free(c->sorted);
	free(c);
	ia->lmr_cache = NULL;
}

/* Map the word of the driver.  Returns 0 or a negative errno. */
static int cache_watch(struct udat_ia *ia, struct udat_lmr_cache *c)
{
	struct dat_lmr_stale arg = { .size = sizeof(arg) };
	int ret;

	if (!(ia->file.features & DAT_FEATURE_WATCH))
		return 0;
	ret = du_file_ioctl(&ia->file, DAT_IOC_LMR_STALE, &arg);
	if (!ret)
		ret = udat_span_map(&ia->mappings, ia->file.fd, &arg.word, 0, &c->span);
	if (ret)
		return ret;
	c->word = c->span.va;
	c->seen = __atomic_load_n(c->word, __ATOMIC_ACQUIRE);
	return 0;
}

/* Returns 0 or a negative errno. */
static int cache_new(struct udat_ia *ia)
{
	struct udat_lmr_cache *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		return -ENOMEM;
	ret = cache_watch(ia, c);
	if (ret) {
		free(c);
		return ret;
	}
	pthread_mutex_init(&c->lock, NULL);
	c->max_idle = CACHE_COUNT;
	c->max_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 8;
	__atomic_store_n(&ia->lmr_cache, c, __ATOMIC_RELEASE);
	return 0;
}

/* Make the cache, unless the IA has one.  Returns 0 or a negative errno. */
static int cache_make(struct udat_ia *ia)
{
	int ret = 0;

	if (__atomic_load_n(&ia->lmr_cache, __ATOMIC_ACQUIRE))
		return 0;
	pthread_mutex_lock(&ia->lock);
	if (!ia->lmr_cache)
		ret = cache_new(ia);
	pthread_mutex_unlock(&ia->lock);
	return ret;
}

/* Register memory for a get, with the flags DAT_LMR_*. */
static DAT_RETURN lmr_new(struct udat_pz *pz, DAT_PVOID address, DAT_VLEN length,
			  DAT_MEM_PRIV_FLAGS priv, uint32_t flags, struct udat_lmr **out)
{
	struct udat_lmr *lmr = udat_obj_new(pz->obj.ia);
	DAT_RETURN rc;

	if (!lmr)
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	lmr->pz = pz;
	lmr->type = DAT_MEM_TYPE_VIRTUAL;
	lmr->region.for_va = address;
	lmr->start = (uintptr_t)address;
	lmr->length = length;
	lmr->priv = priv;
	lmr->counted = 1;
	lmr->uses = 1;
	rc = udat_lmr_register(lmr, flags);
	if (rc != DAT_SUCCESS) {
		udat_obj_drop(&lmr->obj);
		return rc;
	}
	udat_obj_publish(&lmr->obj, UDAT_TYPE(LMR));
	*out = lmr;
	return DAT_SUCCESS;
}

/* Find or register memory. */
static DAT_RETURN cache_get(struct udat_pz *pz, DAT_PVOID address, DAT_VLEN length,
			    DAT_MEM_PRIV_FLAGS priv, struct udat_lmr **out)
{
	struct udat_ia *ia = pz->obj.ia;
	struct udat_lmr_cache *c = ia->lmr_cache;
	struct udat_lmr *lmr = NULL, *unused = NULL;
	unsigned int unknown;
	DAT_RETURN rc;
	int ret, keep;

	pthread_mutex_lock(&c->lock);
	ret = cache_refresh(ia, &unused);
	if (!ret)
		lmr = index_find(c, pz, priv, (uintptr_t)address, length);
	if (lmr && !lmr->uses++)
		idle_del(c, lmr);
	keep = c->word && c->max_idle && length <= c->max_bytes;
	unknown = c->unknown;
	pthread_mutex_unlock(&c->lock);
	free_unused(c, unused);
	*out = lmr;
	if (ret)
		return dat_err_from_errno(-ret);
	if (lmr)
		return DAT_SUCCESS;
	rc = lmr_new(pz, address, length, priv, keep ? DAT_LMR_WATCHED : 0, out);
	if (rc != DAT_SUCCESS || !keep)
		return rc;
	unused = NULL;
	pthread_mutex_lock(&c->lock);
	if (c->unknown == unknown)
		index_enter(c, *out, &unused);
	pthread_mutex_unlock(&c->lock);
	free_unused(c, unused);
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_linux_lmr_get(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
					 DAT_PVOID address, DAT_VLEN length,
					 DAT_MEM_PRIV_FLAGS privileges, DAT_LMR_HANDLE *lmr_handle,
					 DAT_LMR_CONTEXT *lmr_context,
					 DAT_RMR_CONTEXT *rmr_context)
{
	struct udat_ia *ia = udat_ia(ia_handle);
	struct udat_pz *pz = udat_pz(pz_handle);
	struct udat_lmr *lmr;
	DAT_RETURN rc;
	int ret;

	if (!ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!pz || pz->obj.ia != ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (!length)
		return DAT_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (privileges & ~UDAT_LMR_PRIVILEGES)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (!lmr_handle)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	ret = cache_make(ia);
	if (ret)
		return dat_err_from_errno(-ret);
	rc = cache_get(pz, address, length, privileges, &lmr);
	if (rc != DAT_SUCCESS)
		return rc;
	*lmr_handle = lmr;
	if (lmr_context)
		*lmr_context = lmr->context;
	if (rmr_context)
		*rmr_context = lmr->rmr_context;
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_linux_lmr_put(DAT_LMR_HANDLE lmr_handle)
{
	struct udat_lmr *lmr = udat_lmr(lmr_handle), *unused = NULL;
	struct udat_lmr_cache *c;

	if (!lmr || !lmr->counted)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	c = lmr->obj.ia->lmr_cache;
	pthread_mutex_lock(&c->lock);
	if (!lmr->uses) {
		pthread_mutex_unlock(&c->lock);
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	}
	/* If this fails, the next get fails. */
	cache_refresh(lmr->obj.ia, &unused);
	if (!--lmr->uses) {
		idle_add(c, lmr);
		if (!lmr->indexed)
			idle_remove(c, lmr, &unused);
		cache_trim(c, &unused);
	}
	pthread_mutex_unlock(&c->lock);
	free_unused(c, unused);
	return DAT_SUCCESS;
}

UDAT_EXPORT DAT_RETURN dat_linux_ia_lmr_cache(DAT_IA_HANDLE ia_handle, DAT_VLEN max_bytes,
					      DAT_COUNT max_count)
{
	struct udat_ia *ia = udat_ia(ia_handle);
	struct udat_lmr *unused = NULL;
	struct udat_lmr_cache *c;
	int ret;

	if (!ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (max_count < 0)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ret = cache_make(ia);
	if (ret)
		return dat_err_from_errno(-ret);
	c = ia->lmr_cache;
	pthread_mutex_lock(&c->lock);
	c->max_bytes = max_bytes;
	c->max_idle = (unsigned int)max_count;
	cache_trim(c, &unused);
	pthread_mutex_unlock(&c->lock);
	free_unused(c, unused);
	return DAT_SUCCESS;
}
