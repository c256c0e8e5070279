// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* dat_linux_cr_reject(): a reject with private data. */
#define _GNU_SOURCE
#include <string.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "ioctl_over.h"

/* After the API, in which DAT_LMR_COOKIE has another meaning. */
#include <rdma/dat_ioctl.h>

static int is_old;	/* flag: the driver is to be one that does not know data of rejects */

static int changed_ioctl(int fd, unsigned long request, void *arg)
{
	int ret = real_ioctl(fd, request, arg);

	if (!ret && is_old && request == DAT_IOC_ABI)
		((struct dat_abi *)arg)->features &= ~DAT_FEATURE_REJECT;
	return ret;
}

FIXTURE(reject) {
	struct a_pair p;
	DAT_COUNT max;
};

FIXTURE_VARIANT(reject) {
	int old;
};

FIXTURE_VARIANT_ADD(reject, new) { };
FIXTURE_VARIANT_ADD(reject, old_driver) { .old = 1 };

FIXTURE_SETUP(reject)
{
	DAT_PROVIDER_ATTR attr;

	is_old = variant->old;
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
	ASSERT_EQ(DAT_SUCCESS, dat_ia_query(self->p.ia, NULL, 0, NULL,
					    DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE, &attr));
	self->max = attr.max_private_data_size;
}

FIXTURE_TEARDOWN(reject)
{
	a_close(&self->p);
}

/* Connects ep[1].  Returns the request, or DAT_HANDLE_NULL. */
static DAT_CR_HANDLE request(struct a_pair *p)
{
	DAT_EVENT event;

	if (dat_ep_connect(p->ep[1], p->attr.ia_address_ptr, A_QUAL, A_WAIT_US, 0, NULL,
			   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG) != DAT_SUCCESS ||
	    a_event(p->cr, A_WAIT_US, &event) != 1)
		return DAT_HANDLE_NULL;
	return event.event_data.cr_arrival_event_data.cr_handle;
}

/* Waits for PEER_REJECTED, and stores its data.  Returns 0 if the event is another. */
static int rejected(struct a_pair *p, DAT_CONNECTION_EVENT_DATA *data)
{
	DAT_EVENT event;

	if (a_event(p->evd[1], A_WAIT_US, &event) != 1)
		return 0;
	*data = event.event_data.connect_event_data;
	return event.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED;
}

/* Covers: dat_cr_reject; dat_ep_reset; SH 54, 57 */
TEST_F_TIMEOUT(reject, the_peer_reads_why, 60)
{
	struct a_pair *p = &self->p;
	DAT_CONNECTION_EVENT_DATA data;
	DAT_CR_HANDLE cr;
	char pd[512];
	DAT_COUNT n;

	if (variant->old)
		SKIP(return, "an old driver transmits no data");
	memset(pd, 'w', sizeof(pd));
	for (n = 1; n <= self->max; n += n < 3 ? 1 : self->max - 3) {
		cr = request(p);
		ASSERT_EQ(DAT_SUCCESS, dat_linux_cr_reject(cr, n, pd));
		ASSERT_TRUE(rejected(p, &data));
		EXPECT_EQ(p->ep[1], data.ep_handle);
		ASSERT_LE(n, data.private_data_size);
		EXPECT_EQ(0, memcmp(pd, data.private_data, (size_t)n)) TH_LOG("%d bytes", n);
		ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(p->ep[1]));
	}
}

TEST_F_TIMEOUT(reject, without_data_it_is_dat_cr_reject, 60)
{
	struct a_pair *p = &self->p;
	DAT_CONNECTION_EVENT_DATA data;
	DAT_CR_HANDLE cr = request(p);

	ASSERT_EQ(DAT_SUCCESS, dat_linux_cr_reject(cr, 0, NULL));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR), dat_linux_cr_reject(cr, 0, NULL));
	ASSERT_TRUE(rejected(p, &data));
	EXPECT_EQ(0, data.private_data_size);
	EXPECT_EQ(NULL, data.private_data);
}

/* A call that fails leaves the request, which can be answered. */
TEST_F_TIMEOUT(reject, arguments_are_checked, 60)
{
	struct a_pair *p = &self->p;
	DAT_CONNECTION_EVENT_DATA data;
	DAT_CR_HANDLE cr = request(p);
	char pd[512] = "why";

	ASSERT_NE(DAT_HANDLE_NULL, cr);
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR),
		  dat_linux_cr_reject(DAT_HANDLE_NULL, 3, pd));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR),
		  dat_linux_cr_reject(p->ep[0], 3, pd));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2), dat_linux_cr_reject(cr, -1, pd));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_linux_cr_reject(cr, self->max + 1, pd));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3), dat_linux_cr_reject(cr, 3, NULL));
	if (variant->old)
		EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0), dat_linux_cr_reject(cr, 3, pd));
	EXPECT_EQ(DAT_SUCCESS, dat_linux_cr_reject(cr, variant->old ? 0 : 3, pd));
	EXPECT_TRUE(rejected(p, &data));
}

TEST_HARNESS_MAIN
