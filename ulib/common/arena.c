// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copyright (c) The dat authors
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "arena.h"

#define ARENA_SIZE	(sizeof(void *) == 8 ? (size_t)4 << 30 : (size_t)64 << 20)
#define ARENA_LEAST	((size_t)1 << 20)
#define ARENA_STEP	((size_t)64 << 10)	/* number of bytes that one step makes accessible */
#define QUARANTINE	1024	/* number of later frees before a freed slot is reused */

uintptr_t du_arena_base;
size_t du_arena_used;

static pthread_mutex_t arena_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t arena_size, arena_usable;
static struct du_slot *free_first, **free_last = &free_first;
static size_t free_count;

/*
 * Reserve address space.  If the reservation fails, for example because of RLIMIT_AS or mlockall(),
 * retry with 1/16 of the size.
 */
static int arena_reserve(void)
{
	size_t size;
	void *va;

	for (size = ARENA_SIZE; size >= ARENA_LEAST; size /= 16) {
		va = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			  -1, 0);
		if (va == MAP_FAILED)
			continue;
		du_arena_base = (uintptr_t)va;
		arena_size = size;
		return 0;
	}
	return -1;
}

static int arena_grow(void)
{
	if (!du_arena_base && arena_reserve())
		return -1;
	if (arena_usable == arena_size ||
	    mprotect((void *)(du_arena_base + arena_usable), ARENA_STEP,
		     PROT_READ | PROT_WRITE))
		return -1;
	arena_usable += ARENA_STEP;
	return 0;
}

static struct du_slot *slot_new(void)
{
	struct du_slot *slot;

	if (du_arena_used == arena_usable && arena_grow())
		return NULL;
	slot = (struct du_slot *)(du_arena_base + du_arena_used);
	__atomic_store_n(&du_arena_used, du_arena_used + DU_SLOT_SIZE, __ATOMIC_RELEASE);
	return slot;
}

static struct du_slot *slot_reuse(void)
{
	struct du_slot *slot = free_first;

	if (!slot)
		return NULL;
	free_first = slot->next;
	if (!free_first)
		free_last = &free_first;
	free_count--;
	/*
	 * Clear the slot, but do not write to its type, because other threads may read the type
	 * without a lock.
	 */
	memset((char *)slot + sizeof(slot->type), 0, DU_SLOT_SIZE - sizeof(slot->type));
	return slot;
}

void du_arena_lock(void)
{
	pthread_mutex_lock(&arena_lock);
}

void du_arena_unlock(void)
{
	pthread_mutex_unlock(&arena_lock);
}

void du_arena_abandon(void)
{
	du_arena_base = 0;
	du_arena_used = 0;
	arena_size = 0;
	arena_usable = 0;
	free_first = NULL;
	free_last = &free_first;
	free_count = 0;
}

void *du_arena_alloc(void)
{
	struct du_slot *slot;

	pthread_mutex_lock(&arena_lock);
	slot = free_count > QUARANTINE ? slot_reuse() : slot_new();
	/* In a full arena, reuse a slot before its quarantine ends. */
	if (!slot)
		slot = slot_reuse();
	pthread_mutex_unlock(&arena_lock);
	return slot;
}

void du_arena_free(void *p)
{
	struct du_slot *slot = p;

	pthread_mutex_lock(&arena_lock);
	__atomic_store_n(&slot->type, 0, __ATOMIC_RELEASE);
	slot->next = NULL;
	*free_last = slot;
	free_last = &slot->next;
	free_count++;
	pthread_mutex_unlock(&arena_lock);
}
