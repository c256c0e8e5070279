// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* libdat must not reuse the handle of a freed object while a queued event contains this handle. */
#define _GNU_SOURCE
#include <string.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "api_conform.h"

#define SLOT	1024	/* distance between two handles in bytes */
#define MANY	4096	/* frees after which libdat checks all queued events */

FIXTURE(deferred) {
	struct a_pair p;
};

FIXTURE_SETUP(deferred)
{
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
}

FIXTURE_TEARDOWN(deferred)
{
	a_close(&self->p);
}

/* Fail to connect @ep, so that its connect EVD has a queued event that contains @ep. */
static int fail_to_connect(struct a_pair *p, DAT_EP_HANDLE ep)
{
	return dat_ep_connect(ep, p->attr.ia_address_ptr, A_QUAL + 99, A_WAIT_US, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG) == DAT_SUCCESS &&
	       c_reaches(ep, DAT_EP_STATE_DISCONNECTED);
}

/*
 * struct churn - result of make_and_free(), which makes and frees many objects
 * @low, @high: lowest and highest handle of these objects
 * @met: 1 if an object had the wanted handle
 */
struct churn {
	char	*low;
	char	*high;
	int	reused;
};

static DAT_RETURN make_and_free(struct a_pair *p, int n, DAT_HANDLE wanted, struct churn *c)
{
	DAT_RMR_HANDLE rmr;
	DAT_RETURN rc;
	int i;

	*c = (struct churn) { .low = (char *)-1 };
	for (i = 0; i < n && !c->reused; i++) {
		rc = dat_rmr_create(p->pz, &rmr);
		if (rc == DAT_SUCCESS)
			rc = dat_rmr_free(rmr);
		if (rc != DAT_SUCCESS)
			return rc;
		c->reused = rmr == wanted;
		if ((char *)rmr < c->low)
			c->low = rmr;
		if ((char *)rmr > c->high)
			c->high = rmr;
	}
	return DAT_SUCCESS;
}

/* Covers: dat_ep_free; SH 9, 66 */
TEST_F_TIMEOUT(deferred, an_unread_event_keeps_its_handle_however_many_objects_come, 240)
{
	struct a_pair *p = &self->p;
	DAT_EP_HANDLE old = p->ep[1];
	DAT_HANDLE_TYPE type;
	DAT_EVENT event;
	struct churn c;

	ASSERT_TRUE(fail_to_connect(p, old));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_free(old));
	ASSERT_EQ(DAT_SUCCESS, make_and_free(p, 3 * MANY, old, &c));
	EXPECT_EQ(0, c.reused);
	/* Handles that no queued event contains must be reused. */
	EXPECT_LT((c.high - c.low) / SLOT, 2 * MANY + 64);
	ASSERT_EQ(DAT_SUCCESS, dat_evd_dequeue(p->evd[1], &event));
	EXPECT_EQ(old, event.event_data.connect_event_data.ep_handle);
	EXPECT_EQ(DAT_INVALID_HANDLE, TYPE(dat_get_handle_type(old, &type)));
	ASSERT_EQ(DAT_SUCCESS, make_and_free(p, 3 * MANY, old, &c));
	EXPECT_EQ(1, c.reused);
}

/* Covers: dat_ep_modify; SH 9, 66 */
TEST_F_TIMEOUT(deferred, an_ep_has_been_fed_from_more_evds_than_can_be_remembered, 240)
{
	DAT_EVD_FLAGS flags = DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG;
	struct a_pair *p = &self->p;
	DAT_EP_HANDLE old = p->ep[1];
	DAT_EP_PARAM param = {};
	DAT_EVENT event;
	struct churn c;
	int i;

	ASSERT_TRUE(fail_to_connect(p, old));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(old));
	for (i = 0; i < 12; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 8, DAT_HANDLE_NULL, flags,
						      &param.connect_evd_handle));
		ASSERT_EQ(DAT_SUCCESS,
			  dat_ep_modify(old, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	}
	ASSERT_EQ(DAT_SUCCESS, dat_ep_free(old));
	ASSERT_EQ(DAT_SUCCESS, make_and_free(p, 2 * MANY, old, &c));
	EXPECT_EQ(0, c.reused);
	ASSERT_EQ(DAT_SUCCESS, dat_evd_dequeue(p->evd[1], &event));
	EXPECT_EQ(old, event.event_data.connect_event_data.ep_handle);
	ASSERT_EQ(DAT_SUCCESS, make_and_free(p, 3 * MANY, old, &c));
	EXPECT_EQ(1, c.reused);
}

/* Covers: dat_evd_free; SH 30, 66 */
TEST_F_TIMEOUT(deferred, an_evd_that_overflowed_is_freed_before_that_is_read, 120)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	struct a_pair *p = &self->p;
	DAT_EP_PARAM param = {};
	DAT_EVD_HANDLE old;
	struct churn c;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 1, DAT_HANDLE_NULL,
					      DAT_EVD_CONNECTION_FLAG | DAT_EVD_SOFTWARE_FLAG,
					      &old));
	param.connect_evd_handle = old;
	ASSERT_EQ(DAT_SUCCESS,
		  dat_ep_modify(p->ep[1], DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	while (dat_evd_post_se(old, &event) == DAT_SUCCESS)
		;
	ASSERT_TRUE(fail_to_connect(p, p->ep[1]));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_free(p->ep[1]));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_free(old));
	ASSERT_EQ(DAT_SUCCESS, make_and_free(p, 500, old, &c));
	EXPECT_EQ(0, c.reused);
	ASSERT_TRUE(a_event(p->async, A_WAIT_US, &event));
	EXPECT_EQ(DAT_ASYNC_ERROR_EVD_OVERFLOW, event.event_number);
	EXPECT_EQ(old, event.event_data.asynch_error_event_data.dat_handle);
}

TEST_HARNESS_MAIN
