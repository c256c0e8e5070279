// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Which event streams may share an EVD, and how sharing affects waiters. */
#define _GNU_SOURCE
#include "kselftest_harness.h"
#include "dat_api.h"

#define UNSIGNALLED	DAT_COMPLETION_UNSIGNALLED_FLAG
#define SOLICITED	DAT_COMPLETION_SOLICITED_WAIT_FLAG
#define THRESHOLD	DAT_COMPLETION_EVD_THRESHOLD_FLAG
#define PLAIN		DAT_COMPLETION_DEFAULT_FLAG

FIXTURE(share) {
	struct a_pair p;
	DAT_EVD_HANDLE evd;	/* for DTO, CR and connection events; no stream uses it yet */
	DAT_EVD_HANDLE connect;
};

FIXTURE_SETUP(share)
{
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(self->p.ia, 64, DAT_HANDLE_NULL,
					      DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG |
					      DAT_EVD_CR_FLAG, &self->evd));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(self->p.ia, 64, DAT_HANDLE_NULL,
					      DAT_EVD_CONNECTION_FLAG, &self->connect));
}

FIXTURE_TEARDOWN(share)
{
	a_close(&self->p);
}

/* Make an EP with these flags whose DTOs complete to self->evd. */
static DAT_RETURN ep(FIXTURE_DATA(share) *self, DAT_COMPLETION_FLAGS recv,
		     DAT_COMPLETION_FLAGS request, DAT_EVD_HANDLE connect, DAT_EP_HANDLE *out)
{
	DAT_EP_ATTR attr = a_attr(&self->p);

	attr.recv_completion_flags = recv;
	attr.request_completion_flags = request;
	return dat_ep_create(self->p.ia, self->p.pz, self->evd, self->evd, connect, &attr, out);
}

static DAT_EVD_STATE config(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	if (dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param) != DAT_SUCCESS)
		return (DAT_EVD_STATE)-1;
	return (DAT_EVD_STATE)(param.evd_state & DAT_EVD_STATE_CONFIG_THRESHOLD);
}

#define REFUSED	RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6)

/* Covers: SH 20 */
TEST_F(share, streams_of_one_kind)
{
	DAT_EP_HANDLE one, two;

	EXPECT_EQ(0, config(self->evd));
	EXPECT_EQ(DAT_SUCCESS, ep(self, UNSIGNALLED, UNSIGNALLED, self->connect, &one));
	EXPECT_EQ(DAT_EVD_STATE_CONFIG_NOTIFY, config(self->evd));
	EXPECT_EQ(DAT_SUCCESS, ep(self, UNSIGNALLED, UNSIGNALLED, self->connect, &two));
	EXPECT_EQ(DAT_SUCCESS, dat_ep_free(one));
	EXPECT_EQ(DAT_EVD_STATE_CONFIG_NOTIFY, config(self->evd));
	EXPECT_EQ(DAT_SUCCESS, dat_ep_free(two));
	EXPECT_EQ(0, config(self->evd));
	EXPECT_EQ(DAT_SUCCESS, ep(self, SOLICITED, PLAIN, self->connect, &one));
	EXPECT_EQ(DAT_EVD_STATE_CONFIG_SOLICITED, config(self->evd));
	EXPECT_EQ(DAT_SUCCESS, dat_ep_free(one));
	EXPECT_EQ(DAT_SUCCESS, ep(self, THRESHOLD, THRESHOLD, self->connect, &one));
	EXPECT_EQ(DAT_EVD_STATE_CONFIG_THRESHOLD, config(self->evd));
}

/* Covers: dat_ep_create INVALID_PARAMETER|ARG6; SH 20 */
TEST_F(share, kinds_do_not_mix)
{
	DAT_EP_HANDLE first, none = NULL;

	EXPECT_EQ(REFUSED, ep(self, UNSIGNALLED, THRESHOLD, self->connect, &none));
	EXPECT_EQ(REFUSED, ep(self, SOLICITED, UNSIGNALLED, self->connect, &none));
	EXPECT_EQ(0, config(self->evd));
	ASSERT_EQ(DAT_SUCCESS, ep(self, THRESHOLD, THRESHOLD, self->connect, &first));
	EXPECT_EQ(REFUSED, ep(self, UNSIGNALLED, UNSIGNALLED, self->connect, &none));
	EXPECT_EQ(REFUSED, ep(self, SOLICITED, PLAIN, self->connect, &none));
	EXPECT_EQ(NULL, none);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_free(first));
	EXPECT_EQ(DAT_SUCCESS, ep(self, UNSIGNALLED, UNSIGNALLED, self->connect, &first));
}

/* Covers: dat_ep_create INVALID_PARAMETER|ARG6; SH 20 */
TEST_F(share, connections_keep_away_from_consumer_controlled_notification)
{
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE h;

	EXPECT_EQ(REFUSED, ep(self, UNSIGNALLED, UNSIGNALLED, self->evd, &h));
	EXPECT_EQ(REFUSED, ep(self, SOLICITED, PLAIN, self->evd, &h));
	EXPECT_EQ(DAT_SUCCESS, ep(self, THRESHOLD, THRESHOLD, self->evd, &h));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_free(h));
	EXPECT_EQ(DAT_SUCCESS, ep(self, PLAIN, PLAIN, self->evd, &h));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_free(h));
	ASSERT_EQ(DAT_SUCCESS, ep(self, UNSIGNALLED, UNSIGNALLED, self->connect, &h));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		  dat_psp_create(self->p.ia, A_QUAL + 1, self->evd, DAT_PSP_CONSUMER_FLAG, &psp));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_free(h));
	EXPECT_EQ(DAT_SUCCESS,
		  dat_psp_create(self->p.ia, A_QUAL + 1, self->evd, DAT_PSP_CONSUMER_FLAG, &psp));
	EXPECT_EQ(REFUSED, ep(self, UNSIGNALLED, UNSIGNALLED, self->connect, &h));
	ASSERT_EQ(DAT_SUCCESS, dat_psp_free(psp));
	EXPECT_EQ(DAT_SUCCESS, ep(self, UNSIGNALLED, UNSIGNALLED, self->connect, &h));
}

/* Covers: SH 20 */
TEST_F(share, flags_without_a_word_get_along_with_all)
{
	DAT_EP_HANDLE h;

	EXPECT_EQ(DAT_SUCCESS, ep(self, PLAIN, PLAIN, self->connect, &h));
	EXPECT_EQ(DAT_SUCCESS, ep(self, PLAIN, UNSIGNALLED, self->connect, &h));
	EXPECT_EQ(DAT_SUCCESS, ep(self, PLAIN, PLAIN, self->connect, &h));
}

/* Covers: dat_ep_modify; SH 20 */
TEST_F(share, modifying_an_ep_moves_its_streams)
{
	DAT_EP_PARAM param;
	DAT_EP_HANDLE h, other;

	ASSERT_EQ(DAT_SUCCESS, ep(self, PLAIN, UNSIGNALLED, self->connect, &h));
	param.ep_attr.request_completion_flags = THRESHOLD;
	ASSERT_EQ(DAT_SUCCESS, ep(self, PLAIN, UNSIGNALLED, self->connect, &other));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		  dat_ep_modify(h, DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS, &param));
	EXPECT_EQ(DAT_EVD_STATE_CONFIG_NOTIFY, config(self->evd));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_free(other));
	EXPECT_EQ(DAT_SUCCESS,
		  dat_ep_modify(h, DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS, &param));
	EXPECT_EQ(DAT_EVD_STATE_CONFIG_THRESHOLD, config(self->evd));
}

/* Covers: SH 20, 21 */
TEST_F(share, a_threshold_is_for_the_waiter_to_choose_or_not)
{
	DAT_EP_HANDLE h;
	DAT_EVENT event;
	DAT_COUNT more;

	ASSERT_EQ(DAT_SUCCESS, ep(self, UNSIGNALLED, UNSIGNALLED, self->connect, &h));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_CONFIG_NOTIFY),
		  dat_evd_wait(self->evd, 0, 2, &event, &more));
	EXPECT_EQ(RC(DAT_TIMEOUT_EXPIRED, 0), dat_evd_wait(self->evd, 0, 1, &event, &more));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_free(h));
	ASSERT_EQ(DAT_SUCCESS, ep(self, THRESHOLD, THRESHOLD, self->connect, &h));
	EXPECT_EQ(RC(DAT_TIMEOUT_EXPIRED, 0), dat_evd_wait(self->evd, 0, 2, &event, &more));
}

/* Covers: dat_evd_dequeue QUEUE_EMPTY; SH 69 */
TEST_F(share, an_empty_EVD_of_transfers_is_the_bare_type_and_others_have_the_class)
{
	DAT_EVENT event;

	EXPECT_EQ(DAT_QUEUE_EMPTY, dat_evd_dequeue(self->evd, &event));
	EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_evd_dequeue(self->connect, &event));
	EXPECT_EQ(DAT_QUEUE_EMPTY, TYPE(dat_evd_dequeue(self->evd, &event)));
	EXPECT_EQ(DAT_QUEUE_EMPTY, TYPE(dat_evd_dequeue(self->connect, &event)));
}

TEST_HARNESS_MAIN
