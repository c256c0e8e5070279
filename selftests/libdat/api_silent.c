// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Suppressed requests.  The driver may leave them unsignalled, so that the device reports the end
 * of many at once or of none.  A consumer that needs to know their end must still learn of it.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "clock.h"

#define MAX_FD	64
#define DTOS	32	/* max_request_dtos of a_attr() */
#define ACK_US	1000000	/* time in which the answer of the peer's device follows the data */

FIXTURE(silent) {
	struct a_pair p;
};

FIXTURE_SETUP(silent)
{
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, a_open(p));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, p->ep[1], p->ep[0], p->evd[1], p->evd[0]));
}

FIXTURE_TEARDOWN(silent)
{
	a_close(&self->p);
}

/* Returns the sum of the numbers after @key in the lines of this process's EPs in fdinfo. */
static unsigned long fdinfo_sum(const char *key)
{
	unsigned long sum = 0, n;
	char path[64], line[512];
	const char *at;
	FILE *f;
	int fd;

	for (fd = 0; fd < MAX_FD; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f)) {
			at = strncmp(line, "ep:", 3) ? NULL : strstr(line, key);
			if (at && sscanf(at + strlen(key), "%lu", &n) == 1)
				sum += n;
		}
		if (f)
			fclose(f);
	}
	return sum;
}

static DAT_RETURN write64(struct a_pair *p, uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET from = a_seg(&p->mem, 0, 64);
	DAT_RMR_TRIPLET to = a_rseg(&p->mem, 4096 + 64 * (cookie % 64), 64);

	memset(p->mem.va, (int)cookie, 64);
	return dat_ep_post_rdma_write(p->ep[1], 1, &from, a_cookie(cookie), &to, flags);
}

static DAT_RETURN suppressed(struct a_pair *p, uint64_t cookie)
{
	return write64(p, cookie, DAT_COMPLETION_SUPPRESS_FLAG);
}

static DAT_BOOLEAN is_idle(DAT_EP_HANDLE ep)
{
	uint64_t end = now_ms() + A_WAIT_US / 1000;
	DAT_BOOLEAN idle = DAT_FALSE;

	while (!idle && now_ms() < end &&
	       dat_ep_get_status(ep, NULL, NULL, &idle) == DAT_SUCCESS)
		;
	return idle;
}

static int quiet(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	return !a_event(evd, A_QUIET_US, &event);
}

static int next(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	return a_event(evd, A_WAIT_US, &event) ? (int)event.event_number : -1;
}

/* The memory has the bytes of the write with this cookie. */
static int has_arrived(const struct a_pair *p, uint64_t cookie)
{
	const volatile char *last = p->mem.va + 4096 + 64 * (cookie % 64) + 63;
	uint64_t end = now_ms() + A_WAIT_US / 1000;

	while (*last != (char)cookie && now_ms() < end)
		usleep(1000);
	return *last == (char)cookie;
}

TEST_F_TIMEOUT(silent, one_alone_is_not_reported_by_the_device, 60)
{
	ASSERT_EQ(DAT_SUCCESS, suppressed(&self->p, 1));
	ASSERT_TRUE(has_arrived(&self->p, 1));
	usleep(A_QUIET_US);
	EXPECT_EQ(1, fdinfo_sum(" silent="));
}

TEST_F_TIMEOUT(silent, the_status_says_at_last_that_they_have_ended, 60)
{
	ASSERT_EQ(DAT_SUCCESS, suppressed(&self->p, 1));
	ASSERT_EQ(DAT_SUCCESS, suppressed(&self->p, 2));
	EXPECT_TRUE(is_idle(self->p.ep[1]));
	EXPECT_EQ(0, fdinfo_sum(" silent="));
	EXPECT_TRUE(quiet(self->p.evd[1]));
	/* The marker has left the queue as it was. */
	ASSERT_EQ(DAT_SUCCESS, write64(&self->p, 3, 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(self->p.evd[1], NULL, NULL));
}

/* Every request needs room in the queue, and nothing but a completion makes room. */
TEST_F_TIMEOUT(silent, a_consumer_that_suppresses_everything_goes_on, 60)
{
	uint64_t end = now_ms() + A_WAIT_US / 1000;
	DAT_RETURN rc = DAT_SUCCESS;
	uint64_t i;

	for (i = 1; i <= 20 * DTOS; i++) {
		do {
			rc = suppressed(&self->p, i);
		} while (TYPE(rc) == DAT_INSUFFICIENT_RESOURCES && now_ms() < end);
		ASSERT_EQ(DAT_SUCCESS, rc);
	}
	EXPECT_TRUE(has_arrived(&self->p, 20 * DTOS));
	EXPECT_TRUE(is_idle(self->p.ep[1]));
	EXPECT_TRUE(quiet(self->p.evd[1]));
}

TEST_F_TIMEOUT(silent, an_event_that_is_owed_comes_without_a_later_post, 60)
{
	uint64_t cookie = 0;
	int i, n;

	for (n = 0; n < DTOS - 1; n++) {
		for (i = 0; i < n; i++)
			ASSERT_EQ(DAT_SUCCESS, suppressed(&self->p, i));
		ASSERT_EQ(DAT_SUCCESS, write64(&self->p, 100 + n, 0));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(self->p.evd[1], &cookie, NULL)) TH_LOG("%d", n);
		EXPECT_EQ(100 + n, cookie);
		/* A request completes after all before it. */
		EXPECT_EQ(0, fdinfo_sum(" inflight="));
	}
}

TEST_F_TIMEOUT(silent, a_graceful_disconnect_waits_for_them_and_reports_none, 60)
{
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, suppressed(p, 1));
	ASSERT_EQ(DAT_SUCCESS, suppressed(p, 2));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, next(p->evd[1]));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, next(p->evd[0]));
	EXPECT_TRUE(has_arrived(p, 2));
	EXPECT_TRUE(quiet(p->evd[1]));
}

/* They have succeeded, so they have no events. */
TEST_F_TIMEOUT(silent, those_that_have_ended_are_not_flushed_by_an_abrupt_disconnect, 60)
{
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, suppressed(p, 1));
	ASSERT_EQ(DAT_SUCCESS, suppressed(p, 2));
	ASSERT_TRUE(has_arrived(p, 2));
	usleep(ACK_US);
	ASSERT_EQ(2, fdinfo_sum(" silent="));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, next(p->evd[1]));
	EXPECT_TRUE(quiet(p->evd[1]));
}

TEST_F_TIMEOUT(silent, those_that_have_ended_are_not_flushed_by_the_peer, 60)
{
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, suppressed(p, 1));
	ASSERT_TRUE(has_arrived(p, 1));
	usleep(ACK_US);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[0], DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, next(p->evd[1]));
	EXPECT_TRUE(quiet(p->evd[1]));
}

/* The send waits for a receive that the peer never posts. */
TEST_F_TIMEOUT(silent, one_that_has_not_ended_is_flushed, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	uint64_t cookie = 0;

	ASSERT_EQ(DAT_SUCCESS, suppressed(p, 1));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &seg, a_cookie(7),
						DAT_COMPLETION_SUPPRESS_FLAG));
	ASSERT_TRUE(has_arrived(p, 1));
	usleep(ACK_US);
	ASSERT_EQ(2, fdinfo_sum(" silent="));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(DAT_DTO_ERR_FLUSHED, a_dto(p->evd[1], &cookie, NULL));
	EXPECT_EQ(7, cookie);
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, next(p->evd[1]));
}

/* A bind begins when the requests before it have completed. */
TEST_F_TIMEOUT(silent, a_bind_behind_them_ends, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 4096);
	DAT_RMR_CONTEXT key = 0;
	DAT_RMR_HANDLE rmr;

	ASSERT_EQ(DAT_SUCCESS, dat_rmr_create(p->pz, &rmr));
	ASSERT_EQ(DAT_SUCCESS, suppressed(p, 1));
	ASSERT_TRUE(has_arrived(p, 1));
	usleep(A_QUIET_US);
	ASSERT_EQ(1, fdinfo_sum(" silent="));
	ASSERT_EQ(DAT_SUCCESS, dat_rmr_bind(rmr, &seg, DAT_MEM_PRIV_ALL_FLAG, p->ep[1],
					    a_cookie(2), 0, &key));
	EXPECT_EQ(DAT_RMR_BIND_COMPLETION_EVENT, next(p->evd[1]));
	EXPECT_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
}

TEST_HARNESS_MAIN
