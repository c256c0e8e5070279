// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Data transfers and their completions: flags, lengths, empty messages, freed memory. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "adapter.h"
#include "api_conform.h"
#include "sleeps.h"

FIXTURE(data) {
	struct a_pair p;
	DAT_CNO_HANDLE cno;
};

FIXTURE_SETUP(data)
{
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, a_open(p));
	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_create(p->ia, agent, &self->cno));
}

FIXTURE_TEARDOWN(data)
{
	a_close(&self->p);
}

static DAT_RETURN write64(struct a_pair *p, uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	DAT_RMR_TRIPLET remote = a_rseg(&p->mem, 4096, 64);
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);

	return dat_ep_post_rdma_write(p->ep[1], 1, &seg, a_cookie(cookie), &remote, flags);
}

/* --- notification --------- */

struct waiter {
	DAT_EVD_HANDLE	evd;
	DAT_EVENT	event;
	DAT_COUNT	nmore;
	DAT_RETURN	rc;
	pid_t		tid;
	int		done;
};

static void *wait_for_one(void *arg)
{
	struct waiter *w = arg;

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	w->rc = dat_evd_wait(w->evd, A_WAIT_US, 1, &w->event, &w->nmore);
	__atomic_store_n(&w->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Replace ep[1] by a connected EP whose requests complete to @evd and may be UNSIGNALLED. */
static DAT_RETURN unsignalled(struct a_pair *p, DAT_EVD_HANDLE *evd)
{
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EP_HANDLE in;
	DAT_RETURN rc;

	rc = dat_ep_create(p->ia, p->pz, p->evd[0], p->evd[0], p->evd[0], &attr, &in);
	if (rc == DAT_SUCCESS)
		rc = c_unsignalled(p, &p->ep[1], evd);
	return rc == DAT_SUCCESS ? a_connect(p, p->ep[1], in, p->evd[1], p->evd[0]) : rc;
}

/* Covers: dat_evd_wait; SH 17, 22 */
TEST_F_TIMEOUT(data, an_unsignalled_event_wakes_no_waiter, 60)
{
	struct waiter w = { .rc = DAT_ABORT };
	pthread_t thread;
	long before;

	ASSERT_EQ(DAT_SUCCESS, unsignalled(&self->p, &w.evd));
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_for_one, &w));
	before = sleeps_of(&w.tid, A_WAIT_US / 1000);
	ASSERT_LT(0, before);
	ASSERT_EQ(DAT_SUCCESS, write64(&self->p, 1, DAT_COMPLETION_UNSIGNALLED_FLAG));
	c_until_idle(self->p.ep[1]);
	usleep(A_QUIET_US);
	/* A waiter that was woken, and only found too few events, would have slept once more. */
	EXPECT_EQ(before, sleeps_of(&w.tid, A_WAIT_US / 1000));
	EXPECT_EQ(0, __atomic_load_n(&w.done, __ATOMIC_ACQUIRE));
	ASSERT_EQ(DAT_SUCCESS, write64(&self->p, 2, 0));
	pthread_join(thread, NULL);
	/* The waiter got the unsignalled event, which is older than the event that woke it. */
	EXPECT_EQ(DAT_SUCCESS, w.rc);
	EXPECT_EQ(1, w.event.event_data.dto_completion_event_data.user_cookie.as_64);
	EXPECT_EQ(1, w.nmore);
}

/* Covers: SH 17, 26 */
TEST_F_TIMEOUT(data, an_unsignalled_event_triggers_no_cno, 60)
{
	DAT_EVD_HANDLE evd, hint;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, unsignalled(&self->p, &evd));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_modify_cno(evd, self->cno));
	ASSERT_EQ(DAT_SUCCESS, write64(&self->p, 1, DAT_COMPLETION_UNSIGNALLED_FLAG));
	c_until_idle(self->p.ep[1]);
	EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_cno_wait(self->cno, A_QUIET_US, &hint));
	EXPECT_EQ(DAT_SUCCESS, dat_evd_dequeue(evd, &event));
	ASSERT_EQ(DAT_SUCCESS, write64(&self->p, 2, 0));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_wait(self->cno, A_WAIT_US, &hint));
	EXPECT_EQ(evd, hint);
}

/*
 * Connect a new EP @out to an EP with the SOLICITED_WAIT attribute.  The receives of the latter
 * complete to @evd, which has the CNO @cno.
 */
static DAT_RETURN solicited(struct a_pair *p, DAT_CNO_HANDLE cno, DAT_EVD_HANDLE *evd,
			    DAT_EP_HANDLE *out)
{
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EP_HANDLE in;
	DAT_RETURN rc;
	int i;

	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	rc = dat_evd_create(p->ia, 64, cno, DAT_EVD_DTO_FLAG, evd);
	if (rc == DAT_SUCCESS)
		rc = dat_ep_create(p->ia, p->pz, *evd, p->evd[0], p->evd[0], &attr, &in);
	if (rc == DAT_SUCCESS)
		rc = dat_ep_create(p->ia, p->pz, p->evd[1], p->evd[1], p->evd[1], NULL, out);
	for (i = 0; i < 4 && rc == DAT_SUCCESS; i++)
		rc = dat_ep_post_recv(in, 0, NULL, a_cookie(i), 0);
	return rc == DAT_SUCCESS ? a_connect(p, *out, in, p->evd[1], p->evd[0]) : rc;
}

/* Covers: SH 18, 26 */
TEST_F_TIMEOUT(data, a_solicited_message_wakes_a_receiver_that_waits_for_such, 60)
{
	DAT_EVD_HANDLE evd, hint;
	DAT_EP_HANDLE out;
	uint64_t cookie;

	ASSERT_EQ(DAT_SUCCESS, solicited(&self->p, self->cno, &evd, &out));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(out, 0, NULL, a_cookie(9),
						DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_wait(self->cno, A_WAIT_US, &hint));
	EXPECT_EQ(evd, hint);
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(evd, &cookie, NULL));
	EXPECT_EQ(0, cookie);
}

/* Covers: SH 18 */
TEST_F_TIMEOUT(data, errors_wake_it_in_any_case, 60)
{
	DAT_EVD_HANDLE evd, hint;
	DAT_EP_HANDLE out;

	ASSERT_EQ(DAT_SUCCESS, solicited(&self->p, self->cno, &evd, &out));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(out, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_wait(self->cno, A_WAIT_US, &hint));
	EXPECT_EQ(DAT_DTO_ERR_FLUSHED, a_dto(evd, NULL, NULL));
}

/*
 * The completion streams of an EVD must all use the same kind of notification.  DEFAULT is
 * compatible with every kind.
 */
/* Covers: dat_ep_create INVALID_PARAMETER|ARG6; SH 20 */
TEST_F(data, one_evd_has_one_kind_of_notification)
{
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 64, NULL, DAT_EVD_DTO_FLAG, &evd));
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	attr.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, evd, NULL, NULL, &attr, &ep));
	attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	EXPECT_EQ(IP(6), dat_ep_create(p->ia, p->pz, evd, NULL, NULL, &attr, &ep));
	attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	EXPECT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, evd, NULL, NULL, &attr, &ep));
}

/* --- suppressed and dropped completions --------- */

/*
 * Post many more requests than the queue holds.  A suppressed request frees its entry of the queue
 * without an event.
 */
/* Covers: SH 16, 45 */
TEST_F_TIMEOUT(data, suppressed_successes_leave_nothing_behind, 120)
{
	DAT_RETURN rc;
	DAT_EVENT event;
	int i;

	for (i = 0; i < 300; i++) {
		do {
			rc = write64(&self->p, i, DAT_COMPLETION_SUPPRESS_FLAG);
		} while (TYPE(rc) == DAT_INSUFFICIENT_RESOURCES);
		ASSERT_EQ(DAT_SUCCESS, rc);
	}
	c_until_idle(self->p.ep[1]);
	EXPECT_EQ(DAT_QUEUE_EMPTY, dat_evd_dequeue(self->p.evd[1], &event));
	ASSERT_EQ(DAT_SUCCESS, write64(&self->p, 7, 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(self->p.evd[1], NULL, NULL));
}

/* Connect two EPs that have no EVDs for receives and requests. */
static DAT_RETURN without_evds(struct a_pair *p, DAT_EP_HANDLE *in, DAT_EP_HANDLE *out)
{
	DAT_EP_ATTR attr = a_attr(p);
	DAT_RETURN rc;

	rc = dat_ep_create(p->ia, p->pz, NULL, NULL, p->evd[0], &attr, in);
	if (rc == DAT_SUCCESS)
		rc = dat_ep_create(p->ia, p->pz, NULL, NULL, p->evd[1], &attr, out);
	return rc == DAT_SUCCESS ? a_connect(p, *out, *in, p->evd[1], p->evd[0]) : rc;
}

/* Covers: dat_ep_create; SH 32 */
TEST_F_TIMEOUT(data, without_evds_completions_are_dropped_and_slots_come_back, 120)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET from = a_seg(&p->mem, 0, 4), to = a_seg(&p->mem, 8192, 4);
	DAT_EP_HANDLE in, out;
	DAT_RETURN rc;
	int i;

	ASSERT_EQ(DAT_SUCCESS, without_evds(p, &in, &out));
	for (i = 1; i <= 150; i++) {
		memcpy(p->mem.va, &i, sizeof(i));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(in, 1, &to, a_cookie(i), 0));
		do {
			rc = dat_ep_post_send(out, 1, &from, a_cookie(i), 0);
		} while (TYPE(rc) == DAT_INSUFFICIENT_RESOURCES);
		ASSERT_EQ(DAT_SUCCESS, rc);
		c_until_idle(out);
	}
	EXPECT_EQ(0, memcmp(p->mem.va, p->mem.va + 8192, 4));
	EXPECT_TRUE(c_quiet(p->evd[0]));
	EXPECT_TRUE(c_quiet(p->evd[1]));
}

/* Covers: SH 32, 63 */
TEST_F_TIMEOUT(data, without_evds_an_error_still_breaks_the_connection, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET from = a_seg(&p->mem, 0, 4);
	DAT_RMR_TRIPLET remote = a_rseg(&p->mem, p->mem.size, 4);
	DAT_EP_HANDLE in, out;

	ASSERT_EQ(DAT_SUCCESS, without_evds(p, &in, &out));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_write(out, 1, &from, a_cookie(1), &remote, 0));
	EXPECT_EQ(DAT_CONNECTION_EVENT_BROKEN, c_next(p->evd[1]));
}

/*
 * Covers: dat_ep_connect dat_ep_dup_connect INVALID_HANDLE|EVD_CONN; dat_cr_accept
 * INVALID_HANDLE|EP; SH 32
 */
TEST_F_TIMEOUT(data, without_a_connect_evd_there_is_no_connection, 60)
{
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EP_HANDLE ep, good;
	DAT_CR_HANDLE cr;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, NULL, NULL, NULL, &attr, &ep));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, NULL, NULL, p->evd[1], &attr, &good));
	EXPECT_EQ(IH(EVD_CONN), c_ask(p, ep));
	EXPECT_EQ(IH(EVD_CONN), dat_ep_dup_connect(ep, p->ep[1], A_WAIT_US, 0, NULL,
						   DAT_QOS_BEST_EFFORT));
	ASSERT_EQ(DAT_SUCCESS, c_ask(p, good));
	cr = c_request(p);
	ASSERT_NE(NULL, cr);
	EXPECT_EQ(IH(EP), dat_cr_accept(cr, ep, 0, NULL));
	EXPECT_EQ(DAT_SUCCESS, dat_cr_reject(cr));
}

/* --- empty messages --------- */

/* Covers: dat_ep_post_rdma_read; dat_ep_post_rdma_write; SH 35 */
TEST_F_TIMEOUT(data, rdma_of_nothing_touches_nothing, 60)
{
	struct a_pair *p = &self->p;
	DAT_RMR_TRIPLET nothing = a_rseg(&p->mem, 4096, 0);
	DAT_LMR_TRIPLET sink = a_seg(&p->mem, 0, 64);
	uint64_t len;

	memset(p->mem.va, 0x11, 64);
	memset(p->mem.va + 4096, 0x22, 64);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_write(p->ep[1], 0, NULL, a_cookie(1), &nothing, 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, &len));
	EXPECT_EQ(0, len);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_read(p->ep[1], 1, &sink, a_cookie(2), &nothing, 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, &len));
	EXPECT_EQ(0, len);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_read(p->ep[1], 0, NULL, a_cookie(3), &nothing, 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	EXPECT_EQ(0x11, p->mem.va[0]);
	EXPECT_EQ(0x22, p->mem.va[4096]);
}

/* Covers: SH 35, 36 */
TEST_F_TIMEOUT(data, an_empty_receive_takes_empty_messages_alone, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET byte = a_seg(&p->mem, 0, 1);

	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 0, NULL, a_cookie(1), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 0, NULL, a_cookie(2), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 0, NULL, a_cookie(3), 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &byte, a_cookie(4), 0));
	EXPECT_EQ(DAT_DTO_ERR_LOCAL_LENGTH, a_dto(p->evd[0], NULL, NULL));
	EXPECT_EQ(DAT_CONNECTION_EVENT_BROKEN, c_next(p->evd[0]));
}

/* Covers: dat_ep_post_recv; SH 35 */
TEST_F_TIMEOUT(data, an_empty_segment_may_hold_anything, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET iov[2] = {
		{ .lmr_context = 0xdeadbeef, .pad = 77, .virtual_address = ~0ULL },
		a_seg(&p->mem, 0, 64),
	};
	uint64_t len;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 2, iov, a_cookie(1), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 2, iov, a_cookie(2), 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, &len));
	EXPECT_EQ(64, len);
}

/* --- lengths, cookies, limits --------- */

/* Covers: dat_ep_post_rdma_read; SH 36 */
TEST_F_TIMEOUT(data, a_read_fills_its_segments_from_the_front, 60)
{
	struct a_pair *p = &self->p;
	DAT_RMR_TRIPLET remote = a_rseg(&p->mem, 4096, 100);
	DAT_LMR_TRIPLET iov[2] = { a_seg(&p->mem, 0, 64), a_seg(&p->mem, 1000, 64) };
	uint64_t len;

	memset(p->mem.va, 0, 2048);
	memset(p->mem.va + 4096, 0x33, 200);
	if (p->attr.max_iov_segments_per_rdma_read < 2)
		SKIP(return, "one segment per read");
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_read(p->ep[1], 2, iov, a_cookie(1), &remote, 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, &len));
	EXPECT_EQ(100, len);
	EXPECT_EQ(0x33, p->mem.va[63]);
	EXPECT_EQ(0, p->mem.va[64]);
	EXPECT_EQ(0x33, p->mem.va[1035]);
	EXPECT_EQ(0, p->mem.va[1036]);
}

/* Covers: SH 36 */
TEST_F_TIMEOUT(data, requests_report_what_was_posted_and_receives_what_came, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET from = a_seg(&p->mem, 0, 333), to = a_seg(&p->mem, 4096, 4096);
	DAT_RMR_TRIPLET remote = a_rseg(&p->mem, 8192, 4096);
	uint64_t len;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &to, a_cookie(1), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &from, a_cookie(2), 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, &len));
	EXPECT_EQ(333, len);
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, &len));
	EXPECT_EQ(333, len);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_write(p->ep[1], 1, &from, a_cookie(3), &remote, 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, &len));
	EXPECT_EQ(333, len);
}

/* Covers: SH 44 */
TEST_F_TIMEOUT(data, cookies_are_any_64_bits, 60)
{
	static const uint64_t cookies[] = { 0, ~0ULL, 1ULL << 63, 42, 42, 0x0123456789abcdef };
	struct a_pair *p = &self->p;
	uint64_t cookie;
	size_t i;

	for (i = 0; i < 6; i++) {
		ASSERT_EQ(DAT_SUCCESS,
			  dat_ep_post_recv(p->ep[0], 0, NULL, a_cookie(cookies[i]), 0));
		ASSERT_EQ(DAT_SUCCESS,
			  dat_ep_post_send(p->ep[1], 0, NULL, a_cookie(~cookies[i]), 0));
	}
	for (i = 0; i < 6; i++) {
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], &cookie, NULL));
		EXPECT_EQ(cookies[i], cookie);
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], &cookie, NULL));
		EXPECT_EQ(~cookies[i], cookie);
	}
}

/* Covers: dat_ia_query; SH 44 */
TEST_F_TIMEOUT(data, segments_are_the_consumers_again_after_the_post, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET from = a_seg(&p->mem, 0, 8), to = a_seg(&p->mem, 4096, 8);
	DAT_PROVIDER_ATTR attr;

	ASSERT_EQ(DAT_SUCCESS, dat_ia_query(p->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	ASSERT_EQ(DAT_IOV_CONSUMER, attr.iov_ownership_on_return);
	memcpy(p->mem.va, "contents", 8);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &from, a_cookie(1), 0));
	memset(&from, 0xff, sizeof(from));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &to, a_cookie(2), 0));
	memset(&to, 0xff, sizeof(to));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
	EXPECT_EQ(0, memcmp("contents", p->mem.va + 4096, 8));
}

/* A completed request makes room for another request, even before its event is dequeued. */
/* Covers: SH 45, 71 */
TEST_F_TIMEOUT(data, a_completion_makes_room, 60)
{
	struct a_pair *p = &self->p;
	DAT_EP_PARAM param;
	int i, k;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[1], DAT_EP_FIELD_ALL, &param));
	for (k = 0; k < 3; k++) {
		for (i = 0; i < param.ep_attr.max_request_dtos; i++)
			ASSERT_EQ(DAT_SUCCESS, write64(p, i, 0));
		c_until_idle(p->ep[1]);
	}
	for (i = 0; i < 3 * param.ep_attr.max_request_dtos; i++)
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
}

/* Covers: dat_ep_get_status; SH 71 */
TEST_F_TIMEOUT(data, each_direction_is_idle_for_itself, 60)
{
	DAT_BOOLEAN recv, request;
	struct a_pair *p = &self->p;
	DAT_EP_STATE state;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_get_status(p->ep[1], &state, &recv, &request));
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, state);
	EXPECT_EQ(DAT_TRUE, recv);
	EXPECT_EQ(DAT_TRUE, request);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 0, NULL, a_cookie(1), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_get_status(p->ep[1], NULL, &recv, &request));
	EXPECT_EQ(DAT_TRUE, recv);
	EXPECT_EQ(DAT_FALSE, request);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 0, NULL, a_cookie(2), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 0, NULL, a_cookie(3), 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_get_status(p->ep[1], NULL, NULL, &request));
	EXPECT_EQ(DAT_TRUE, request);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_get_status(p->ep[0], NULL, &recv, NULL));
	EXPECT_EQ(DAT_FALSE, recv);
}

/* --- memory --------- */

/* Covers: dat_lmr_free; SH 38, 63 */
TEST_F_TIMEOUT(data, a_receive_into_freed_memory_fails, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET from = a_seg(&p->mem, 0, 64), to;
	struct a_mem m;
	int status;

	ASSERT_EQ(DAT_SUCCESS, a_mem(p, 4096, DAT_MEM_PRIV_ALL_FLAG, &m));
	to = a_seg(&m, 0, 64);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &to, a_cookie(1), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_lmr_free(m.lmr));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &from, a_cookie(2), 0));
	status = a_dto(p->evd[0], NULL, NULL);
	/* rxe does not distinguish a protection error from a length error; siw reports neither. */
	EXPECT_TRUE(status == DAT_DTO_ERR_LOCAL_PROTECTION || status == DAT_DTO_ERR_LOCAL_LENGTH ||
		    (status == DAT_DTO_ERR_TRANSPORT && !rxe_exists()));
	EXPECT_EQ(DAT_CONNECTION_EVENT_BROKEN, c_next(p->evd[0]));
	/* The failed receive has not changed the memory. */
	EXPECT_EQ(0, m.va[0]);
	m.va[0] = 1;
}

/* Covers: dat_lmr_create; SH 38 */
TEST_F_TIMEOUT(data, registered_memory_outlives_its_mapping, 60)
{
	int fd = memfd_create("memory", MFD_CLOEXEC);
	struct a_pair *p = &self->p;
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_TRIPLET from = a_seg(&p->mem, 0, 64);
	DAT_RMR_TRIPLET to = { .segment_length = 64 };
	DAT_LMR_HANDLE lmr;
	char *first, *second;

	ASSERT_EQ(0, ftruncate(fd, 4096));
	first = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	second = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	region.for_va = first;
	ASSERT_EQ(DAT_SUCCESS, dat_lmr_create(p->ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, p->pz,
					      DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, &to.rmr_context,
					      NULL, NULL));
	to.target_address = (uintptr_t)first;
	ASSERT_EQ(0, munmap(first, 4096));
	memset(p->mem.va, 0x5a, 64);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_write(p->ep[1], 1, &from, a_cookie(1), &to, 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	EXPECT_EQ(0x5a, second[63]);
	munmap(second, 4096);
	close(fd);
}

/* Covers: dat_lmr_create; dat_lmr_query; SH 39 */
TEST_F(data, an_rmr_context_needs_a_remote_privilege)
{
	static const DAT_MEM_PRIV_FLAGS local[] = {
		DAT_MEM_PRIV_NONE_FLAG, DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
		DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
	};
	DAT_LMR_PARAM param;
	struct a_mem m;
	int i;

	for (i = 0; i < 4; i++) {
		m.rmr = 77;
		ASSERT_EQ(DAT_SUCCESS, a_mem(&self->p, 4096, local[i], &m));
		EXPECT_EQ(0, m.rmr);
		ASSERT_EQ(DAT_SUCCESS, dat_lmr_query(m.lmr, DAT_LMR_FIELD_ALL, &param));
		EXPECT_EQ(0, param.rmr_context);
		EXPECT_EQ(local[i], param.mem_priv);
	}
	ASSERT_EQ(DAT_SUCCESS, a_mem(&self->p, 4096, DAT_MEM_PRIV_REMOTE_READ_FLAG, &m));
	EXPECT_NE(0, m.rmr);
	ASSERT_EQ(DAT_SUCCESS, a_mem(&self->p, 4096, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &m));
	EXPECT_NE(0, m.rmr);
}

/* libdat adds the local access rights that the device needs for the requested remote rights. */
/* Covers: SH 39 */
TEST_F_TIMEOUT(data, remote_write_alone_is_enough_to_be_written_to, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET from = a_seg(&p->mem, 0, 64);
	DAT_RMR_TRIPLET to;
	struct a_mem m;

	ASSERT_EQ(DAT_SUCCESS, a_mem(p, 4096, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &m));
	to = a_rseg(&m, 0, 64);
	memset(p->mem.va, 0x77, 64);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_write(p->ep[1], 1, &from, a_cookie(1), &to, 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	EXPECT_EQ(0x77, m.va[63]);
}

/*
 * Sending memory without LOCAL_READ must work: devices always grant it, and programs rely on that.
 */
/* Covers: dat_lmr_create; dat_rmr_bind; dat_ep_post_send; SH 39 */
TEST_F_TIMEOUT(data, memory_without_local_read_may_be_sent_and_opened, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET to = a_seg(&p->mem, 0, 64), from;
	DAT_RMR_COOKIE cookie = { .as_64 = 9 };
	DAT_RMR_CONTEXT key;
	DAT_RMR_TRIPLET remote;
	DAT_RMR_HANDLE rmr;
	struct a_mem m;

	ASSERT_EQ(DAT_SUCCESS, a_mem(p, 4096, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &m));
	memset(m.va, 0x3c, 64);
	from = a_seg(&m, 0, 64);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &to, a_cookie(1), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &from, a_cookie(2), 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	EXPECT_EQ(0x3c, p->mem.va[63]);
	ASSERT_EQ(DAT_SUCCESS, dat_rmr_create(p->pz, &rmr));
	ASSERT_EQ(DAT_SUCCESS, dat_rmr_bind(rmr, &from, DAT_MEM_PRIV_REMOTE_READ_FLAG, p->ep[0],
					    cookie, DAT_COMPLETION_SUPPRESS_FLAG, &key));
	c_until_idle(p->ep[0]);
	remote = (DAT_RMR_TRIPLET) {
		.target_address = from.virtual_address, .segment_length = 64, .rmr_context = key,
	};
	memset(p->mem.va, 0, 64);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_read(p->ep[1], 1, &to, a_cookie(3), &remote, 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	EXPECT_EQ(0x3c, p->mem.va[63]);
}

/* Covers: dat_lmr_create; SH 40 */
TEST_F(data, a_context_that_was_freed_is_not_the_next_one)
{
	DAT_LMR_CONTEXT last = 0;
	DAT_RMR_CONTEXT last_rmr = 0;
	struct a_mem m;
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(DAT_SUCCESS, a_mem(&self->p, 4096, DAT_MEM_PRIV_ALL_FLAG, &m));
		EXPECT_NE(last, m.ctx);
		EXPECT_NE(last_rmr, m.rmr);
		last = m.ctx;
		last_rmr = m.rmr;
		ASSERT_EQ(DAT_SUCCESS, dat_lmr_free(m.lmr));
		munmap(m.va, m.size);
	}
}

TEST_HARNESS_MAIN
