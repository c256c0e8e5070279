/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * For each ioctl, make each of its allocations and user-memory copies fail once.  A test that
 * includes this header defines:
 *
 *   struct world          objects that the calls work on
 *   OPS(OP)               OP(NAME, before, after, X, least) for each ioctl.  call_NAME() makes
 *                         the ioctl.  before() is called before call_NAME(), after() is called
 *                         after it.  X is the argument of OP_X().  least is the least number of
 *                         allocations and copies of the ioctl that can fail.
 *   OP_X(x)               initializers of .last and .again in a variant, see below
 *   OPS_ALL               number of ioctls
 *   world_open()          creates the objects of struct world
 *   world_close()         destroys these objects
 *   world_works()         returns 0 if these objects still work
 *   says_so()             returns true for an errno that may report missing memory
 */
#ifndef FAULT_OPS_H
#define FAULT_OPS_H

#include "fault.h"

FIXTURE(op) {
	struct world w;
};

/*
 * @last: number of the last allocation or copy that is made to fail; MAX_NTH: no limit
 * @again: errno that the repeated call may return if the first call has failed with -EFAULT,
 *	because then only the copy of the result has failed; 0: none
 */
FIXTURE_VARIANT(op) {
	int		(*before)(struct world *w);
	int		(*call)(struct world *w);
	int		(*after)(struct world *w);
	unsigned int	last;
	int		again;
	unsigned int	least;
};

#define OP_VARIANT(name, make, drop, x, min)					\
FIXTURE_VARIANT_ADD(op, name) {							\
	.before = make, .call = call_##name, .after = drop, OP_X(x),		\
	.least = min,								\
};
OPS(OP_VARIANT)

/* The names in OPS are unique, so OPS is complete if it has OPS_ALL entries. */
#define PLUS_ONE(...) + 1
_Static_assert(0 OPS(PLUS_ONE) == OPS_ALL, "an ioctl is missing in OPS");

FIXTURE_SETUP(op)
{
	fault_setup();
	if (nth_fd >= 0)
		ASSERT_EQ(0, world_open(&self->w));
}

FIXTURE_TEARDOWN(op)
{
	if (nth_fd >= 0)
		world_close(&self->w);
}

/*
 * Make the 1st, 2nd, ... allocation or copy of a call fail, until the call makes fewer than n of
 * them.  After each failure, the test repeats the call, which must then succeed.
 */
TEST_F_TIMEOUT(op, is_whole_or_undone, 900)
{
	struct world *w = &self->w;
	int ret, first, hit;
	unsigned int n;

	NEED_FAULTS();
	for (n = 1; n <= variant->last; n++) {
		ASSERT_EQ(0, variant->before(w)) TH_LOG("call %u", n);
		ASSERT_EQ(0, arm(n));
		first = variant->call(w);
		hit = fired();
		ret = first;
		if (hit && first) {
			ASSERT_TRUE(says_so(first)) TH_LOG("%d at %u", first, n);
			ret = variant->call(w);
		}
		if (first == -EFAULT && ret == variant->again)
			ret = 0;
		ASSERT_EQ(0, ret) TH_LOG("call %u", n);
		ASSERT_EQ(0, variant->after(w)) TH_LOG("call %u", n);
		if (!hit)
			break;
	}
	ASSERT_GT(MAX_NTH, n);
	EXPECT_LE(variant->least, n - 1);
	EXPECT_EQ(0, world_works(w));
	TH_LOG("%u calls", n - 1);
}

#endif /* FAULT_OPS_H */
