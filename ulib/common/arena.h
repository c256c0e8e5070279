/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * The arena: memory for the objects behind handles.  A handle is the address of a slot.
 *
 * The arena is never unmapped, so the library may read a slot through any handle.  The address
 * shows whether a value from the program can be a handle at all.  The type in the slot then shows
 * whether the handle is valid or stale.
 */
#ifndef DU_ARENA_H
#define DU_ARENA_H

#include <stddef.h>
#include <stdint.h>

#define DU_SLOT_SIZE	1024

/*
 * struct du_slot - head of every object behind a handle
 * @type: type of the object; 0 if the slot is free or the object is not published yet
 * @rsvd: padding
 * @next: next slot in the list of free slots
 */
struct du_slot {
	uint32_t	type;
	uint32_t	rsvd;
	struct du_slot	*next;
};

/*
 * The symbols are hidden, so that the check of a handle reads them without the global offset table.
 */
extern uintptr_t du_arena_base __attribute__((visibility("hidden")));
/* Number of bytes of the arena that hold slots.  The number only grows. */
extern size_t du_arena_used __attribute__((visibility("hidden")));

/* Returns a zeroed slot whose type is 0, or NULL if memory is short. */
void *du_arena_alloc(void);

/*
 * Free a slot.  The slot is reused only after 1,024 later slots have been freed, so that a stale
 * handle to the slot is recognized until then.  Freed slots are reused oldest first.
 */
void du_arena_free(void *slot);

/*
 * Begin again with an empty arena, in which no earlier handle is valid.  The earlier slots stay
 * readable.  Called by the only thread of a forked child, which holds the lock.
 */
void du_arena_abandon(void);

/* fork() runs while this lock is held.  Otherwise the child could inherit a half-changed arena. */
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

/* Returns the object if @handle is a slot of type @type, or NULL. */
static inline void *du_slot_of(const void *handle, uint32_t type)
{
	struct du_slot *slot = du_slot_if(handle);

	if (!slot || __atomic_load_n(&slot->type, __ATOMIC_ACQUIRE) != type)
		return NULL;
	return slot;
}

/* Make the handle valid.  The caller has initialized the whole object. */
static inline void du_slot_publish(struct du_slot *slot, uint32_t type)
{
	__atomic_store_n(&slot->type, type, __ATOMIC_RELEASE);
}

/* Make the handle invalid.  Returns 0 if another thread has already made the handle invalid. */
static inline int du_slot_revoke(struct du_slot *slot, uint32_t type)
{
	return __atomic_compare_exchange_n(&slot->type, &type, 0, 0, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

#endif /* DU_ARENA_H */
