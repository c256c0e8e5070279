// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Replacement of a ring in two steps, prepare and commit, whose sizes must agree. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"

FIXTURE(steps) {
	struct t_file f;
	uint32_t pz;
	struct t_evd evd;
	struct t_srq srq;
	struct t_ep ep;
	uint32_t gen;		/* generation from the last PREPARE, for COMMIT and CANCEL */
};

FIXTURE_SETUP(steps)
{
	ASSERT_EQ(0, t_open(&self->f));
	ASSERT_EQ(0, t_pz(&self->f, &self->pz));
	ASSERT_EQ(0, t_evd(&self->f, DAT_STREAM_SOFTWARE | DAT_STREAM_DTO |
			   DAT_STREAM_CONNECTION, 8, &self->evd));
	ASSERT_EQ(0, t_srq(&self->f, self->pz, 8, &self->srq));
	ASSERT_EQ(0, t_ep(&self->f, self->pz, &self->evd, 0, 1, &self->ep));
}

FIXTURE_TEARDOWN(steps)
{
	t_close(&self->f);
}

/*
 * Call the ioctl CMD.  Takes the generation from a PREPARE, and passes that generation to a COMMIT
 * or CANCEL.
 */
#define CALL_STEP(self, CMD, arg) ({						\
	if ((arg)->step == DAT_RING_COMMIT || (arg)->step == DAT_RING_CANCEL)	\
		(arg)->generation = (self)->gen;				\
	int _ret = t_ioctl((self)->f.fd, DAT_IOC_##CMD, arg);			\
	if (!_ret && (arg)->step == DAT_RING_PREPARE)				\
		(self)->gen = (arg)->generation;				\
	_ret;									\
})

static struct dat_evd_resize evd_step(FIXTURE_DATA(steps) *self, uint32_t step, uint32_t qlen,
				      int *ret)
{
	struct dat_evd_resize arg = {
		.size = sizeof(arg), .id = self->evd.id, .qlen = qlen, .step = step,
	};

	*ret = CALL_STEP(self, EVD_RESIZE, &arg);
	return arg;
}

static struct dat_srq_resize srq_step(FIXTURE_DATA(steps) *self, uint32_t step, uint32_t n,
				      int *ret)
{
	struct dat_srq_resize arg = {
		.size = sizeof(arg), .id = self->srq.id, .max_recv = n, .step = step,
	};

	*ret = CALL_STEP(self, SRQ_RESIZE, &arg);
	return arg;
}

static struct dat_ep_modify ep_step(FIXTURE_DATA(steps) *self, uint32_t step, uint32_t recv,
				    uint32_t request, uint32_t iov, int *ret)
{
	struct dat_ep_modify arg = {
		.size = sizeof(arg), .id = self->ep.id, .pz = self->pz,
		.recv_evd = self->evd.id, .request_evd = self->evd.id,
		.connect_evd = self->evd.id, .max_recv = recv, .max_request = request,
		.max_recv_iov = iov, .max_request_iov = iov, .step = step,
	};

	*ret = CALL_STEP(self, EP_MODIFY, &arg);
	return arg;
}

TEST_F(steps, nothing_prepared_is_nothing_to_commit)
{
	int ret;

	for (self->gen = 0; self->gen < 2; self->gen++) {
		evd_step(self, DAT_RING_COMMIT, 8, &ret);
		EXPECT_EQ(-ESTALE, ret);
		srq_step(self, DAT_RING_COMMIT, 8, &ret);
		EXPECT_EQ(-ESTALE, ret);
		ep_step(self, DAT_RING_COMMIT, 16, 16, 4, &ret);
		EXPECT_EQ(-ESTALE, ret);
	}
}

TEST_F(steps, an_evd_goes_on_in_what_was_mapped_before)
{
	struct dat_evd_resize arg;
	struct dat_eqe eqe;
	struct t_map next;
	int ret, i;

	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, t_post_soft(&self->evd, i));
	arg = evd_step(self, DAT_RING_PREPARE, 100, &ret);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, t_map_span(&self->f, &arg.ring, PROT_READ, &next));
	EXPECT_EQ(-EPERM, t_map_span(&self->f, &arg.ring, PROT_READ | PROT_WRITE,
				     &(struct t_map){}));
	/* Until the commit the old ring is in use; three more events fill it. */
	for (; i < 8; i++)
		ASSERT_EQ(0, t_post_soft(&self->evd, i));
	EXPECT_EQ(-ENOSPC, t_post_soft(&self->evd, i));
	arg = evd_step(self, DAT_RING_COMMIT, 100, &ret);
	ASSERT_EQ(0, ret);
	EXPECT_EQ(128, arg.qlen);
	for (; i < 128; i++)
		ASSERT_EQ(0, t_post_soft(&self->evd, i));
	EXPECT_EQ(-ENOSPC, t_post_soft(&self->evd, i));
	t_unmap(&self->evd.ring);
	self->evd.ring = next;
	self->evd.entries = 128;
	for (i = 0; i < 128; i++) {
		ASSERT_EQ(1, t_event(&self->evd, 0, &eqe));
		EXPECT_EQ(i, eqe.cookie);
	}
	/* A second commit of the same preparation is -ESTALE. */
	evd_step(self, DAT_RING_COMMIT, 100, &ret);
	EXPECT_EQ(-ESTALE, ret);
}

TEST_F(steps, what_does_not_fit_is_refused_and_the_old_ring_goes_on)
{
	struct dat_eqe eqe;
	int ret, i;

	/* Commit a size other than the prepared size: first larger, then smaller. */
	evd_step(self, DAT_RING_PREPARE, 8, &ret);
	ASSERT_EQ(0, ret);
	evd_step(self, DAT_RING_COMMIT, 1024, &ret);
	EXPECT_EQ(-EINVAL, ret);
	evd_step(self, DAT_RING_PREPARE, 1024, &ret);
	ASSERT_EQ(0, ret);
	evd_step(self, DAT_RING_COMMIT, 8, &ret);
	EXPECT_EQ(-EINVAL, ret);
	/* The commit fails because the queued events do not fit into the smaller ring. */
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, t_post_soft(&self->evd, i));
	evd_step(self, DAT_RING_PREPARE, 4, &ret);
	ASSERT_EQ(0, ret);
	evd_step(self, DAT_RING_COMMIT, 4, &ret);
	EXPECT_EQ(-ENOSPC, ret);
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(1, t_event(&self->evd, 0, &eqe));
		EXPECT_EQ(i, eqe.cookie);
	}
}

TEST_F(steps, a_cancelled_ring_is_gone)
{
	struct dat_evd_resize arg;
	struct t_map m;
	int ret;

	/*
	 * The mappings that objects share are too short for this ring, so the ring gets a mapping
	 * of its own.
	 */
	arg = evd_step(self, DAT_RING_PREPARE, 65536, &ret);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, t_map_span(&self->f, &arg.ring, PROT_READ, &m));
	t_unmap(&m);
	evd_step(self, DAT_RING_CANCEL, 65536, &ret);
	EXPECT_EQ(0, ret);
	EXPECT_EQ(-ENOENT, t_map_span(&self->f, &arg.ring, PROT_READ, &m));
	evd_step(self, DAT_RING_COMMIT, 65536, &ret);
	EXPECT_EQ(-ESTALE, ret);
	/* No object has a prepared ring, so there is nothing to cancel. */
	evd_step(self, DAT_RING_CANCEL, 64, &ret);
	EXPECT_EQ(-ESTALE, ret);
	srq_step(self, DAT_RING_CANCEL, 8, &ret);
	EXPECT_EQ(-ESTALE, ret);
	ep_step(self, DAT_RING_CANCEL, 16, 16, 4, &ret);
	EXPECT_EQ(-ESTALE, ret);
}

/* A failed commit can be repeated after its cause has been removed. */
TEST_F(steps, a_failed_commit_keeps_what_was_prepared)
{
	struct dat_evd_resize arg;
	struct dat_eqe eqe;
	struct t_map next;
	int ret, i;

	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, t_post_soft(&self->evd, i));
	arg = evd_step(self, DAT_RING_PREPARE, 4, &ret);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, t_map_span(&self->f, &arg.ring, PROT_READ, &next));
	evd_step(self, DAT_RING_COMMIT, 4, &ret);
	EXPECT_EQ(-ENOSPC, ret);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(1, t_event(&self->evd, 0, &eqe));
		EXPECT_EQ(i, eqe.cookie);
	}
	evd_step(self, DAT_RING_COMMIT, 1024, &ret);
	EXPECT_EQ(-EINVAL, ret);
	evd_step(self, DAT_RING_COMMIT, 4, &ret);
	ASSERT_EQ(0, ret);
	t_unmap(&self->evd.ring);
	self->evd.ring = next;
	self->evd.entries = 4;
	for (; i < 8; i++) {
		ASSERT_EQ(1, t_event(&self->evd, 0, &eqe));
		EXPECT_EQ(i, eqe.cookie);
	}
}

/*
 * Two users prepare a ring for the same object.  The second preparation replaces the first, so the
 * first user gets -ESTALE.
 */
TEST_F(steps, neither_commit_nor_cancel_touches_what_another_has_prepared)
{
	static const uint32_t steps[] = { DAT_RING_COMMIT, DAT_RING_CANCEL };
	uint32_t mine, other;
	unsigned int i;
	int ret;

#define STALE(step, ...) do {							\
	step(self, DAT_RING_PREPARE, __VA_ARGS__, &ret);			\
	ASSERT_EQ(0, ret);							\
	mine = self->gen;							\
	step(self, DAT_RING_PREPARE, __VA_ARGS__, &ret);			\
	ASSERT_EQ(0, ret);							\
	other = self->gen;							\
	ASSERT_NE(mine, other);							\
	for (i = 0; i < 2; i++) {						\
		self->gen = mine;						\
		step(self, steps[i], __VA_ARGS__, &ret);			\
		EXPECT_EQ(-ESTALE, ret);					\
		self->gen = 0;							\
		step(self, steps[i], __VA_ARGS__, &ret);			\
		EXPECT_EQ(-ESTALE, ret);					\
	}									\
	self->gen = other;							\
	step(self, DAT_RING_COMMIT, __VA_ARGS__, &ret);				\
	EXPECT_EQ(0, ret);							\
} while (0)

	STALE(evd_step, 64);
	STALE(srq_step, 64);
	STALE(ep_step, 16, 16, 4);
}

TEST_F(steps, the_last_preparation_counts)
{
	struct dat_srq_resize arg;
	int ret;

	srq_step(self, DAT_RING_PREPARE, 1024, &ret);
	ASSERT_EQ(0, ret);
	srq_step(self, DAT_RING_PREPARE, 32, &ret);
	ASSERT_EQ(0, ret);
	arg = srq_step(self, DAT_RING_COMMIT, 32, &ret);
	EXPECT_EQ(0, ret);
	EXPECT_EQ(32, arg.max_recv);
	srq_step(self, DAT_RING_PREPARE, 32, &ret);
	ASSERT_EQ(0, ret);
	srq_step(self, DAT_RING_COMMIT, 1024, &ret);
	EXPECT_EQ(-EINVAL, ret);
}

/*
 * Change each size alone.  The kernel relies on every size, so a commit must compare all of them.
 */
TEST_F(steps, an_ep_takes_only_a_ring_of_its_sizes)
{
	static const uint32_t want[][3] = {
		{ 16, 32, 4 }, { 16, 8, 4 }, { 1024, 16, 4 }, { 1, 1, 1 }, { 16, 16, 1 },
		{ 16, 16, 8 }, { 32, 8, 4 },
	};
	struct dat_ep_modify arg;
	unsigned int i;
	int ret;

	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		ep_step(self, DAT_RING_PREPARE, 16, 16, 4, &ret);
		ASSERT_EQ(0, ret);
		ep_step(self, DAT_RING_COMMIT, want[i][0], want[i][1], want[i][2], &ret);
		EXPECT_EQ(-EINVAL, ret) TH_LOG("%u", i);
	}
	ep_step(self, DAT_RING_PREPARE, 16, 16, 4, &ret);
	ASSERT_EQ(0, ret);
	arg = ep_step(self, DAT_RING_COMMIT, 16, 16, 4, &ret);
	EXPECT_EQ(0, ret);
	EXPECT_EQ(16, arg.max_recv);
	EXPECT_EQ(16, arg.max_request);
}

/* Free objects while they have prepared rings, two of which the process has mapped. */
TEST_F(steps, what_is_prepared_goes_with_its_object)
{
	struct dat_ep_modify ep;
	struct dat_srq_resize srq;
	struct t_map m[2];
	int ret;

	ep = ep_step(self, DAT_RING_PREPARE, 64, 64, 4, &ret);
	ASSERT_EQ(0, ret);
	srq = srq_step(self, DAT_RING_PREPARE, 64, &ret);
	ASSERT_EQ(0, ret);
	evd_step(self, DAT_RING_PREPARE, 64, &ret);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, t_map_span(&self->f, &ep.submit, PROT_READ | PROT_WRITE, &m[0]));
	ASSERT_EQ(0, t_map_span(&self->f, &srq.submit, PROT_READ | PROT_WRITE, &m[1]));
	EXPECT_EQ(0, t_free(&self->f, DAT_OBJ_EP, self->ep.id));
	EXPECT_EQ(0, t_free(&self->f, DAT_OBJ_SRQ, self->srq.id));
	EXPECT_EQ(0, t_free(&self->f, DAT_OBJ_EVD, self->evd.id));
	memset(m[0].base, 0xff, m[0].size);
	memset(m[1].base, 0xff, m[1].size);
}

TEST_HARNESS_MAIN
