/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Each allocation and each copy of each ioctl fails once.  Who includes this has
 *
 *   struct world          what the calls have to work on
 *   OPS(OP)               OP(NAME, before, after, X, least) for each ioctl: what is done before
 *                         and after call_NAME(), OP_X(X), and how few calls of it can fail at
 *                         least
 *   OP_X(x)               .last and .again of a variant, see below
 *   OPS_ALL               how many ioctls there are
 *   world_open(), world_close(), world_works()
 *   says_so()             what a call may say of memory that it has not got
 */
#ifndef FAULT_OPS_H
#define FAULT_OPS_H

#include "fault.h"

FIXTURE(op) {
	struct world w;
};

/*
 * @last: which of its calls is the last to fail, or MAX_NTH: whichever that is
 * @again: what is said of a second one if all that has failed is to hand over the result of
 *	the first; or 0
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

/* No name can be there twice, so as many as there are ioctls are all of them. */
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

/* The 1st, 2nd, ... call fails, until none does any more; then it can be done after all. */
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
