/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handles are addresses of slots in memory that is never unmapped: the type in the slot tells a
 * live handle from a stale one, and the address tells a handle from garbage.
 */
#ifndef DU_ARENA_H
#define DU_ARENA_H

#include <stddef.h>
#include <stdint.h>

#define DU_SLOT_SIZE	1024

/*
 * struct du_slot - head of every object behind a handle
 * @type: of the object; 0: free
 * @next: in the list of free slots
 */
struct du_slot {
	uint32_t	type;
	uint32_t	rsvd;
	struct du_slot	*next;
};

/* Hidden symbols: otherwise each check of a handle would go through the global offset table. */
extern uintptr_t du_arena_base __attribute__((visibility("hidden")));
/* Number of bytes that hold slots; only grows. */
extern size_t du_arena_used __attribute__((visibility("hidden")));

/* Returns a zeroed slot without type, or NULL. */
void *du_arena_alloc(void);

/*
 * Free a slot.  It is reused after 1,024 later slots have been freed, oldest first: until then a
 * stale handle is recognised.
 */
void du_arena_free(void *slot);

/* Held around fork(): no other thread is inside the arena when the child is made. */
void du_arena_lock(void);
void du_arena_unlock(void);

static inline void *du_slot_if(const void *handle)
{
	uintptr_t offset = (uintptr_t)handle - du_arena_base;

	if (offset >= __atomic_load_n(&du_arena_used, __ATOMIC_ACQUIRE) ||
	    offset % DU_SLOT_SIZE)
		return NULL;
	return (void *)handle;
}

/* Returns the object of @type behind @handle, or NULL. */
static inline void *du_slot_of(const void *handle, uint32_t type)
{
	struct du_slot *slot = du_slot_if(handle);

	if (!slot || __atomic_load_n(&slot->type, __ATOMIC_ACQUIRE) != type)
		return NULL;
	return slot;
}

/* Make the handle of a completely built object valid. */
static inline void du_slot_publish(struct du_slot *slot, uint32_t type)
{
	__atomic_store_n(&slot->type, type, __ATOMIC_RELEASE);
}

/* Make the handle invalid.  Returns 0 if another thread has done so. */
static inline int du_slot_revoke(struct du_slot *slot, uint32_t type)
{
	return __atomic_compare_exchange_n(&slot->type, &type, 0, 0, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

#endif /* DU_ARENA_H */
