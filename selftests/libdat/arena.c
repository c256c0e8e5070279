// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The allocator of handles (ulib/common/arena.c).  This program includes the source file. */
#include <stdlib.h>
#include <sys/resource.h>

#include "kselftest_harness.h"

#undef _GNU_SOURCE
#include "../../ulib/common/arena.c"

#define TYPE		7
#define FREED_LATER	1000	/* number that Documentation/security.rst promises */

_Static_assert(FREED_LATER <= QUARANTINE, "the quarantine is shorter than promised");

static void *create(void)
{
	void *slot = du_arena_alloc();

	if (slot)
		du_slot_publish(slot, TYPE);
	return slot;
}

TEST(a_freed_handle_stays_invalid_while_a_thousand_more_are_freed)
{
	void *stale = create(), *next;
	int i;

	ASSERT_NE(NULL, stale);
	du_arena_free(stale);
	for (i = 0; i < FREED_LATER; i++) {
		next = create();
		ASSERT_EQ(NULL, du_slot_of(stale, TYPE));
		du_arena_free(next);
	}
}

TEST(slots_are_used_again_after_the_quarantine)
{
	size_t used;
	int i;

	for (i = 0; i < 2 * QUARANTINE; i++)
		du_arena_free(create());
	used = du_arena_used;
	for (i = 0; i < 10 * QUARANTINE; i++)
		du_arena_free(create());
	EXPECT_EQ(used, du_arena_used);
}

TEST(a_full_arena_gives_out_what_is_in_quarantine)
{
	const struct rlimit little = { 64 << 20, 64 << 20 };
	void *slot, *last = NULL;

	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &little));
	while ((slot = create()))
		last = slot;
	ASSERT_NE(NULL, last);
	du_arena_free(last);
	EXPECT_EQ(last, create());
	EXPECT_EQ(NULL, create());
}

TEST_HARNESS_MAIN
