// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* All posted DTOs must complete exactly once, before the end of the connection is reported. */
#define _GNU_SOURCE
#include <string.h>

#include "kselftest_harness.h"
#include "dat_api.h"

#define QUEUE	32
#define RECV	1000	/* first cookie of receives; the cookies of requests are lower */

FIXTURE(flush) {
	struct a_pair p;
	unsigned char seen[2 * RECV];
	int success, flushed, other;
};

FIXTURE_SETUP(flush)
{
	struct a_pair *p = &self->p;

	memset(self->seen, 0, sizeof(self->seen));
	ASSERT_EQ(DAT_SUCCESS, a_open(p));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, p->ep[1], p->ep[0], p->evd[1], p->evd[0]));
}

FIXTURE_TEARDOWN(flush)
{
	a_close(&self->p);
}

static DAT_RETURN post(struct a_pair *p, int side, int recv, int n)
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_RETURN rc = DAT_SUCCESS;
	int i;

	for (i = 0; i < n && rc == DAT_SUCCESS; i++)
		rc = recv ? dat_ep_post_recv(p->ep[side], 1, &seg, a_cookie(RECV + i), 0) :
			    dat_ep_post_send(p->ep[side], 1, &seg, a_cookie(i), 0);
	return rc;
}

/* Count completions up to the event that ends the connection.  Return the number of this event. */
static int end_of(FIXTURE_DATA(flush) *self, int side)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	memset(self->seen, 0, sizeof(self->seen));
	self->success = 0;
	self->flushed = 0;
	self->other = 0;
	while (a_event(self->p.evd[side], A_WAIT_US, &event)) {
		if (event.event_number != DAT_DTO_COMPLETION_EVENT)
			return (int)event.event_number;
		dto = &event.event_data.dto_completion_event_data;
		self->seen[dto->user_cookie.as_64 % (2 * RECV)]++;
		if (dto->status == DAT_DTO_SUCCESS)
			self->success++;
		else if (dto->status == DAT_DTO_ERR_FLUSHED)
			self->flushed++;
		else
			self->other++;
	}
	return 0;
}

static void expect_each_once(struct __test_metadata *_metadata, FIXTURE_DATA(flush) *self,
			     int requests, int receives)
{
	DAT_EVENT event;
	int i, side;

	for (i = 0; i < requests; i++) {
		EXPECT_EQ(1, self->seen[i]) TH_LOG("request %d", i);
	}
	for (i = 0; i < receives; i++) {
		EXPECT_EQ(1, self->seen[RECV + i]) TH_LOG("receive %d", i);
	}
	EXPECT_EQ(requests + receives, self->success + self->flushed + self->other);
	/* No event must follow the event that reports the end of the connection. */
	for (side = 0; side < 2; side++)
		EXPECT_EQ(DAT_QUEUE_EMPTY, TYPE(dat_evd_dequeue(self->p.evd[side], &event)));
}

/* Covers: dat_ep_disconnect; SH 3, 5 */
TEST_F_TIMEOUT(flush, at_the_side_that_disconnects, 60)
{
	ASSERT_EQ(DAT_SUCCESS, post(&self->p, 1, 1, QUEUE));
	/* ep[0] has no receives for these sends. */
	ASSERT_EQ(DAT_SUCCESS, post(&self->p, 1, 0, QUEUE));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(self->p.ep[1], DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, end_of(self, 0));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, end_of(self, 1));
	EXPECT_EQ(2 * QUEUE, self->flushed);
	expect_each_once(_metadata, self, QUEUE, QUEUE);
}

/* Covers: SH 3, 5, 63 */
TEST_F_TIMEOUT(flush, at_the_side_that_is_disconnected, 60)
{
	ASSERT_EQ(DAT_SUCCESS, post(&self->p, 0, 1, QUEUE));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(self->p.ep[1], DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, end_of(self, 1));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, end_of(self, 0));
	EXPECT_EQ(QUEUE, self->flushed);
	expect_each_once(_metadata, self, 0, QUEUE);
}

/* The number of requests that succeed before the disconnect is not defined. */
/* Covers: SH 3, 5 */
TEST_F_TIMEOUT(flush, in_the_midst_of_traffic, 120)
{
	ASSERT_EQ(DAT_SUCCESS, post(&self->p, 0, 1, QUEUE));
	ASSERT_EQ(DAT_SUCCESS, post(&self->p, 1, 0, QUEUE));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(self->p.ep[1], DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, end_of(self, 1));
	EXPECT_EQ(QUEUE, self->success + self->flushed);
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, end_of(self, 0));
	EXPECT_EQ(QUEUE, self->success + self->flushed);
	expect_each_once(_metadata, self, 0, QUEUE);
}

/*
 * After a graceful disconnect, requests complete before the connection ends.  Only receives are
 * flushed.
 */
/* Covers: dat_ep_disconnect; SH 3, 5, 6 */
TEST_F_TIMEOUT(flush, graceful_lets_requests_succeed, 60)
{
	ASSERT_EQ(DAT_SUCCESS, post(&self->p, 0, 1, QUEUE));
	ASSERT_EQ(DAT_SUCCESS, post(&self->p, 1, 1, QUEUE));
	ASSERT_EQ(DAT_SUCCESS, post(&self->p, 1, 0, QUEUE));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(self->p.ep[1], DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, end_of(self, 0));
	EXPECT_EQ(QUEUE, self->success);
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, end_of(self, 1));
	EXPECT_EQ(QUEUE, self->success);
	EXPECT_EQ(QUEUE, self->flushed);
	expect_each_once(_metadata, self, QUEUE, QUEUE);
}

/* Covers: dat_ep_post_send INVALID_STATE; SH 6 */
TEST_F_TIMEOUT(flush, no_new_requests_after_a_graceful_disconnect, 60)
{
	DAT_LMR_TRIPLET seg = a_seg(&self->p.mem, 0, 64);

	/* The disconnect stays pending, because the peer has no receive for this send. */
	ASSERT_EQ(DAT_SUCCESS, post(&self->p, 1, 0, 1));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(self->p.ep[1], DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_DISCPENDING),
		  dat_ep_post_send(self->p.ep[1], 1, &seg, a_cookie(1), 0));
	/* Receives can still be posted. */
	EXPECT_EQ(DAT_SUCCESS, post(&self->p, 1, 1, 1));
	ASSERT_EQ(DAT_SUCCESS, post(&self->p, 0, 1, 1));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, end_of(self, 1));
	EXPECT_EQ(1, self->success);
	EXPECT_EQ(1, self->flushed);
}

/* Covers: SH 4 */
TEST_F_TIMEOUT(flush, posts_after_the_end_come_back_flushed, 60)
{
	uint64_t cookie;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(self->p.ep[1], DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, end_of(self, 1));
	ASSERT_EQ(DAT_SUCCESS, post(&self->p, 1, 0, 1));
	EXPECT_EQ(DAT_DTO_ERR_FLUSHED, a_dto(self->p.evd[1], &cookie, NULL));
	EXPECT_EQ(0, cookie);
	ASSERT_EQ(DAT_SUCCESS, post(&self->p, 1, 1, 1));
	EXPECT_EQ(DAT_DTO_ERR_FLUSHED, a_dto(self->p.evd[1], &cookie, NULL));
	EXPECT_EQ(RECV, cookie);
}

/*
 * Suppression applies to successful completions only: a suppressed request that is flushed must
 * have an event.
 */
/* Covers: SH 16 */
TEST_F_TIMEOUT(flush, suppressed_requests_too, 60)
{
	DAT_LMR_TRIPLET seg = a_seg(&self->p.mem, 0, 64);
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(self->p.ep[1], 1, &seg, a_cookie(i),
							DAT_COMPLETION_SUPPRESS_FLAG));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(self->p.ep[1], DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, end_of(self, 0));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, end_of(self, 1));
	EXPECT_EQ(4, self->flushed);
	expect_each_once(_metadata, self, 4, 0);
}

/* A failed connection attempt flushes the receives that were posted before the attempt. */
/* Covers: dat_ep_post_recv; SH 1, 5, 54 */
TEST_F_TIMEOUT(flush, receives_of_a_rejected_ep, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 64, DAT_HANDLE_NULL,
					      DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &evd));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, evd, evd, evd, &attr, &ep));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(ep, 1, &seg, a_cookie(5), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_connect(ep, p->attr.ia_address_ptr, A_QUAL, A_WAIT_US, 0,
					      NULL, DAT_QOS_BEST_EFFORT, 0));
	ASSERT_EQ(1, a_event(p->cr, A_WAIT_US, &event));
	ASSERT_EQ(DAT_SUCCESS, dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
	EXPECT_EQ(DAT_DTO_ERR_FLUSHED, a_dto(evd, NULL, NULL));
	ASSERT_EQ(1, a_event(evd, A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_PEER_REJECTED, event.event_number);
}

TEST_HARNESS_MAIN
