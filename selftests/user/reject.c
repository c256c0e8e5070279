// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Private data of a reject.  The peer gets them if it has opened its adapter with
 * DAT_FEATURE_REJECT; a peer that knows nothing of them sees what it has always seen.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>

#include "kselftest_harness.h"
#include "dat_test.h"

#define EDGE	144	/* bytes of private data of a reject of the IB CM, less 4 */

FIXTURE(reject) {
	struct t_pair p;
	int local;	/* the adapter is lo0, which transmits the length */
};

FIXTURE_VARIANT(reject) {
	uint64_t features;
};

FIXTURE_VARIANT_ADD(reject, asks) { .features = DAT_FEATURE_REJECT };
FIXTURE_VARIANT_ADD(reject, is_old) { };

FIXTURE_SETUP(reject)
{
	t_features = variant->features;
	ASSERT_EQ(0, t_pair_open(&self->p));
	self->local = !t_is_device(&self->p.f);
}

FIXTURE_TEARDOWN(reject)
{
	t_pair_close(&self->p);
}

/* Connects ep[1], and returns the id of the request, or 0. */
static uint32_t request(struct t_pair *p)
{
	struct dat_eqe eqe;

	if (t_connect(&p->f, &p->ep[1], T_QUAL, NULL, 0) || t_event(&p->cr, T_WAIT_MS, &eqe) != 1)
		return 0;
	return eqe.len;
}

static int reject(struct t_pair *p, uint32_t id, const void *pd, uint32_t len)
{
	struct dat_cr_reject arg = { .size = sizeof(arg), .id = id, .pd_len = len };

	if (len)
		memcpy(arg.pd, pd, len);
	return t_ioctl(p->f.fd, DAT_IOC_CR_REJECT, &arg);
}

/* Waits for PEER_REJECTED.  Returns the length of its private data, or -1. */
static int rejected(struct t_pair *p)
{
	struct dat_eqe eqe;

	if (t_event(&p->evd[1], T_WAIT_MS, &eqe) != 1 || eqe.type != DAT_EV_PEER_REJECTED)
		return -1;
	return (int)eqe.len;
}

/* Rejects a connect with @len bytes, and returns the length that the peer is told, or -1. */
static int refuse(struct t_pair *p, const void *pd, uint32_t len)
{
	uint32_t id = request(p);

	return id && !reject(p, id, pd, len) ? rejected(p) : -1;
}

TEST_F_TIMEOUT(reject, the_adapter_tells_how_many_bytes, 60)
{
	struct dat_abi abi = { .size = sizeof(abi) };

	ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_ABI, &abi));
	EXPECT_TRUE(abi.features & DAT_FEATURE_REJECT);
	EXPECT_EQ(self->local ? DAT_MAX_PRIVATE_DATA : EDGE, self->p.f.info.max_pd_reject);
}

TEST_F_TIMEOUT(reject, data_of_each_length_reach_a_peer_that_asks, 120)
{
	uint32_t max = self->p.f.info.max_pd_reject, n[] = { 1, 2, 3, 4, 5, 56, max - 1, max };
	struct t_pair *p = &self->p;
	uint8_t pd[DAT_MAX_PRIVATE_DATA], got[DAT_MAX_PRIVATE_DATA], none[sizeof(got)] = { 0 };
	unsigned int i, k;
	int len;

	for (i = 0; i < sizeof(n) / sizeof(n[0]); i++) {
		for (k = 0; k < n[i]; k++)
			pd[k] = (uint8_t)(k + i + 1);
		len = refuse(p, pd, n[i]);
		memcpy(got, (void *)p->ep[1].st->pd, sizeof(got));
		if (!variant->features) {
			EXPECT_EQ(0, len) TH_LOG("%u bytes", n[i]);
			EXPECT_EQ(0, p->ep[1].st->pd_len);
			EXPECT_EQ(0, memcmp(none, got, sizeof(got)));
		} else if (self->local) {
			EXPECT_EQ(n[i], len);
		} else {
			EXPECT_LE(n[i], len);
		}
		if (variant->features) {
			EXPECT_EQ(len, p->ep[1].st->pd_len);
			EXPECT_EQ(0, memcmp(pd, got, n[i])) TH_LOG("%u bytes", n[i]);
			EXPECT_EQ(0, memcmp(none, got + n[i], sizeof(got) - n[i]));
		}
		ASSERT_EQ(0, t_reset(&p->f, &p->ep[1]));
	}
}

/* No data is told from data of zeros, and data may begin like the marks of the driver. */
TEST_F_TIMEOUT(reject, data_may_be_anything, 60)
{
	static const char pd[][14] = { "DATr and more", "DATn and more", "DATd and more", "" };
	struct t_pair *p = &self->p;
	unsigned int i;
	int len;

	EXPECT_EQ(0, refuse(p, NULL, 0));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, t_reset(&p->f, &p->ep[1]));
		len = refuse(p, pd[i], 13);
		if (variant->features) {
			EXPECT_LE(13, len) TH_LOG("data %u", i);
			EXPECT_EQ(0, memcmp(pd[i], (void *)p->ep[1].st->pd, 13));
		} else {
			EXPECT_EQ(0, len) TH_LOG("data %u", i);
		}
	}
}

/* A program of the oldest contract passes a structure of 8 bytes. */
TEST_F_TIMEOUT(reject, the_structure_of_version_1_rejects_without_data, 60)
{
	struct dat_cr_reject arg = { .size = offsetof(struct dat_cr_reject, pd_len) };
	struct t_pair *p = &self->p;

	/* These bytes are not in the structure. */
	arg.pd_len = 4;
	memset(arg.pd, 'x', sizeof(arg.pd));
	arg.id = request(p);
	ASSERT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_CR_REJECT, &arg));
	EXPECT_EQ(0, rejected(p));
}

TEST_F_TIMEOUT(reject, a_reject_that_fails_leaves_the_request, 60)
{
	struct dat_cr_reject arg = { .size = sizeof(arg) };
	struct t_pair *p = &self->p;
	uint32_t id = request(p), bit;

	ASSERT_NE(0, id);
	arg.id = id;
	arg.pd_len = p->f.info.max_pd_reject + 1;
	EXPECT_EQ(-EINVAL, t_ioctl(p->f.fd, DAT_IOC_CR_REJECT, &arg));
	arg.pd_len = UINT32_MAX;
	EXPECT_EQ(-EINVAL, t_ioctl(p->f.fd, DAT_IOC_CR_REJECT, &arg));
	arg.pd_len = 4;
	for (bit = 0; bit < 32; bit++) {
		arg.rsvd = 1U << bit;
		EXPECT_EQ(-EOPNOTSUPP, t_ioctl(p->f.fd, DAT_IOC_CR_REJECT, &arg));
	}
	EXPECT_EQ(0, reject(p, id, "ok", 2));
	EXPECT_EQ(-ENOENT, reject(p, id, "ok", 2));
	if (variant->features) {
		EXPECT_LE(2, rejected(p));
	} else {
		EXPECT_EQ(0, rejected(p));
	}
}

/* The next connection brings its own data, or none. */
TEST_F_TIMEOUT(reject, data_of_a_reject_go_with_the_next_connection, 60)
{
	struct t_pair *p = &self->p;

	if (variant->features) {
		EXPECT_LE(8, refuse(p, "too late", 8));
	} else {
		EXPECT_EQ(0, refuse(p, "too late", 8));
	}
	ASSERT_EQ(0, t_reset(&p->f, &p->ep[1]));
	EXPECT_EQ(0, refuse(p, NULL, 0));
	EXPECT_EQ(0, p->ep[1].st->pd_len);
}

TEST_HARNESS_MAIN
