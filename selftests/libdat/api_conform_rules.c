// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Rules for completion flags, fences, SRQs, CNOs and flushes. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "api_conform.h"

#define UNSIGNALLED	DAT_COMPLETION_UNSIGNALLED_FLAG
#define BIG		(p->mem.size / 4)	/* of which a read takes a while */

FIXTURE(rules) {
	struct a_pair p;
	DAT_CNO_HANDLE cno;
	DAT_RMR_HANDLE rmr;
};

FIXTURE_SETUP(rules)
{
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, a_open(p));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_create(p->ia, agent, &self->cno));
	ASSERT_EQ(DAT_SUCCESS, dat_rmr_create(p->pz, &self->rmr));
}

FIXTURE_TEARDOWN(rules)
{
	a_close(&self->p);
}

/*
 * Make an EP with @attr whose completions go to a new EVD with the CNO @cno.  Connect ep[1] to this
 * EP.
 */
static DAT_RETURN accept_with(struct a_pair *p, DAT_CNO_HANDLE cno, const DAT_EP_ATTR *attr,
			      DAT_EVD_HANDLE *evd, DAT_EP_HANDLE *ep)
{
	DAT_RETURN rc;

	rc = dat_evd_create(p->ia, 64, cno, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, evd);
	if (rc == DAT_SUCCESS)
		rc = dat_ep_create(p->ia, p->pz, *evd, *evd, p->evd[0], attr, ep);
	return rc == DAT_SUCCESS ? a_connect(p, p->ep[1], *ep, p->evd[1], p->evd[0]) : rc;
}

static DAT_RETURN send_empty(struct a_pair *p, uint64_t cookie)
{
	return dat_ep_post_send(p->ep[1], 0, NULL, a_cookie(cookie), 0);
}

/* Wait until @ep has @left outstanding receives. */
static void until_receives_are_left(DAT_EP_HANDLE ep, DAT_COUNT left)
{
	DAT_COUNT n = -1;

	while (n != left && dat_ep_recv_query(ep, &n, NULL) == DAT_SUCCESS)
		;
}

static DAT_RETURN bind_first_page(struct a_pair *p, DAT_RMR_HANDLE rmr, DAT_EP_HANDLE ep,
				  DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *key)
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 4096);

	return dat_rmr_bind(rmr, &seg, DAT_MEM_PRIV_ALL_FLAG, ep, a_cookie(42), flags, key);
}

/* --- UNSIGNALLED ------------------------------------------------------------------- */

/* Covers: dat_ep_post_recv INVALID_PARAMETER|ARG5; SH 17 */
TEST_F(rules, a_receive_is_not_unsignalled_without_the_attribute)
{
	EXPECT_EQ(IP(5), dat_ep_post_recv(self->p.ep[0], 0, NULL, a_cookie(1), UNSIGNALLED));
}

/* Covers: dat_ep_post_recv; SH 17, 26 */
TEST_F_TIMEOUT(rules, an_unsignalled_receive_triggers_no_cno, 60)
{
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EVD_HANDLE evd, hint;
	DAT_EP_HANDLE in;
	uint64_t cookie;

	attr.recv_completion_flags = UNSIGNALLED;
	attr.request_completion_flags = UNSIGNALLED;
	ASSERT_EQ(DAT_SUCCESS, accept_with(p, self->cno, &attr, &evd, &in));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(in, 0, NULL, a_cookie(1), UNSIGNALLED));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(in, 0, NULL, a_cookie(2), 0));
	ASSERT_EQ(DAT_SUCCESS, send_empty(p, 9));
	until_receives_are_left(in, 1);
	EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_cno_wait(self->cno, A_QUIET_US, &hint));
	ASSERT_EQ(DAT_SUCCESS, send_empty(p, 9));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_wait(self->cno, A_WAIT_US, &hint));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(evd, &cookie, NULL));
	EXPECT_EQ(1, cookie);
}

/* Covers: dat_rmr_bind INVALID_PARAMETER|ARG6; SH 17, 42 */
TEST_F_TIMEOUT(rules, a_bind_is_not_unsignalled_without_the_attribute, 60)
{
	struct a_pair *p = &self->p;
	DAT_RMR_CONTEXT key;

	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	EXPECT_EQ(IP(6), bind_first_page(p, self->rmr, p->ep[0], UNSIGNALLED, &key));
}

/* Covers: dat_rmr_bind; SH 17, 26, 42 */
TEST_F_TIMEOUT(rules, an_unsignalled_bind_triggers_no_cno, 60)
{
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EVD_HANDLE evd, hint;
	DAT_RMR_CONTEXT key;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;

	attr.recv_completion_flags = UNSIGNALLED;
	attr.request_completion_flags = UNSIGNALLED;
	ASSERT_EQ(DAT_SUCCESS, accept_with(p, self->cno, &attr, &evd, &ep));
	ASSERT_EQ(DAT_SUCCESS, bind_first_page(p, self->rmr, ep, UNSIGNALLED, &key));
	c_until_idle(ep);
	EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_cno_wait(self->cno, A_QUIET_US, &hint));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_dequeue(evd, &event));
	EXPECT_EQ(DAT_RMR_BIND_COMPLETION_EVENT, event.event_number);
	ASSERT_EQ(DAT_SUCCESS, bind_first_page(p, self->rmr, ep, 0, &key));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_wait(self->cno, A_WAIT_US, &hint));
}

/* --- binds ------------------------------------------------------------------------- */

/* Covers: dat_rmr_bind INVALID_HANDLE|EVD_REQUEST; SH 31, 42 */
TEST_F_TIMEOUT(rules, a_bind_needs_an_evd_that_takes_binds, 60)
{
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr = a_attr(p);
	DAT_RMR_CONTEXT key;
	DAT_EVD_HANDLE dtos;
	DAT_EP_HANDLE ep;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 64, NULL, DAT_EVD_DTO_FLAG, &dtos));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, dtos, dtos, p->evd[0], &attr, &ep));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, p->ep[1], ep, p->evd[1], p->evd[0]));
	EXPECT_EQ(IH(EVD_REQUEST), bind_first_page(p, self->rmr, ep, 0, &key));
}

/* Covers: dat_rmr_bind; SH 32, 42 */
TEST_F_TIMEOUT(rules, without_a_request_evd_a_bind_is_carried_out_silently, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET from = a_seg(&p->mem, 8192, 1);
	DAT_RMR_TRIPLET to = { .target_address = (uintptr_t)p->mem.va, .segment_length = 1 };
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EP_HANDLE ep;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, NULL, NULL, p->evd[0], &attr, &ep));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, p->ep[1], ep, p->evd[1], p->evd[0]));
	ASSERT_EQ(DAT_SUCCESS, bind_first_page(p, self->rmr, ep, 0, &to.rmr_context));
	c_until_idle(ep);
	p->mem.va[8192] = 'x';
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_write(p->ep[1], 1, &from, a_cookie(1), &to, 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	EXPECT_EQ('x', p->mem.va[0]);
	EXPECT_TRUE(c_quiet(p->evd[0]));
}

/*
 * ep[0] posts an RDMA read, and then a fenced bind of memory that the RDMA read fills.  The bind
 * must complete only after the data of the RDMA read have arrived.
 */
/* Covers: dat_rmr_bind; SH 19, 42 */
TEST_F_TIMEOUT(rules, a_fenced_bind_completes_after_the_reads_before_it, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET sink = a_seg(&p->mem, 0, BIG);
	DAT_RMR_TRIPLET source = a_rseg(&p->mem, 2 * BIG, BIG);
	DAT_RMR_CONTEXT key;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	memset(p->mem.va, 0, BIG);
	memset(p->mem.va + 2 * BIG, 'r', BIG);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_read(p->ep[0], 1, &sink, a_cookie(1), &source,
						     DAT_COMPLETION_SUPPRESS_FLAG));
	ASSERT_EQ(DAT_SUCCESS, bind_first_page(p, self->rmr, p->ep[0],
					       DAT_COMPLETION_BARRIER_FENCE_FLAG, &key));
	ASSERT_EQ(1, a_event(p->evd[0], A_WAIT_US, &event));
	EXPECT_EQ(DAT_RMR_BIND_COMPLETION_EVENT, event.event_number);
	EXPECT_EQ('r', p->mem.va[BIG - 1]);
}

/* --- fences ------------------------------------------------------------------------ */

/*
 * The peer posts its receives last.  Until then, the first send blocks the RDMA read and the fenced
 * send, so both are posted before the device executes them.  Without the fence, the second send
 * would carry the byte that was in memory before the RDMA read filled it.
 */
/* Covers: dat_ep_post_send; SH 19 */
TEST_F_TIMEOUT(rules, a_fenced_send_carries_what_the_read_before_it_brings, 120)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET sink = a_seg(&p->mem, BIG, 65536), last = a_seg(&p->mem, BIG + 65535, 1);
	DAT_LMR_TRIPLET in = a_seg(&p->mem, 2 * BIG, 1);
	DAT_RMR_TRIPLET source = a_rseg(&p->mem, 0, 65536);
	int i;

	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	for (i = 1; i <= 10; i++) {
		p->mem.va[65535] = (char)i;
		p->mem.va[BIG + 65535] = 0;
		ASSERT_EQ(DAT_SUCCESS, send_empty(p, 1));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_read(p->ep[1], 1, &sink, a_cookie(2),
							     &source, 0));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &last, a_cookie(3),
							DAT_COMPLETION_BARRIER_FENCE_FLAG));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 0, NULL, a_cookie(i), 0));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &in, a_cookie(i), 0));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
		EXPECT_EQ((char)i, p->mem.va[2 * BIG]);
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	}
}

/* --- shared receive queues --------------------------------------------------------- */

/* Connect ep[1] to a new EP that has an SRQ of @n entries.  Receives complete to @evd. */
static DAT_RETURN with_srq(struct a_pair *p, DAT_COUNT n, DAT_COMPLETION_FLAGS flags,
			   DAT_EVD_HANDLE evd, DAT_SRQ_HANDLE *srq, DAT_EP_HANDLE *ep)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = n, .max_recv_iov = 1 };
	DAT_EP_ATTR ep_attr = a_attr(p);
	DAT_RETURN rc;

	ep_attr.recv_completion_flags = flags;
	rc = dat_srq_create(p->ia, p->pz, &attr, srq);
	if (rc == DAT_SUCCESS)
		rc = dat_ep_create_with_srq(p->ia, p->pz, evd, p->evd[0], p->evd[0], *srq,
					    &ep_attr, ep);
	return rc == DAT_SUCCESS ? a_connect(p, p->ep[1], *ep, p->evd[1], p->evd[0]) : rc;
}

/* Covers: dat_ep_recv_query; SH 50 */
TEST_F_TIMEOUT(rules, what_an_ep_holds_of_an_srq_is_unknown, 60)
{
	struct a_pair *p = &self->p;
	DAT_COUNT n = -5, span = -5;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;

	ASSERT_EQ(DAT_SUCCESS, with_srq(p, 4, 0, p->evd[0], &srq, &ep));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(srq, 0, NULL, a_cookie(1)));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_recv_query(ep, &n, &span));
	EXPECT_EQ(DAT_VALUE_UNKNOWN, n);
	EXPECT_EQ(DAT_VALUE_UNKNOWN, span);
}

static void expect_outstanding(struct __test_metadata *_metadata, DAT_SRQ_HANDLE srq,
			       DAT_COUNT want)
{
	DAT_SRQ_PARAM param;

	ASSERT_EQ(DAT_SUCCESS, dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	EXPECT_EQ(want, param.outstanding_dto_count);
}

static void wait_for_available(DAT_SRQ_HANDLE srq, DAT_COUNT want)
{
	DAT_SRQ_PARAM param = { .available_dto_count = -1 };

	while (param.available_dto_count != want &&
	       dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param) == DAT_SUCCESS)
		;
}

/*
 * If the EVD is full, the event of a receive is lost.  The buffer of this receive must not count as
 * outstanding.  Otherwise, no other buffer could be posted.
 */
/* Covers: dat_srq_post_recv; dat_srq_query; SH 30, 47 */
TEST_F_TIMEOUT(rules, a_lost_event_gives_its_buffer_back, 60)
{
	struct a_pair *p = &self->p;
	DAT_EVD_PARAM evd_param;
	DAT_EVD_HANDLE small;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	DAT_COUNT i, n;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 1, NULL, DAT_EVD_DTO_FLAG, &small));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_query(small, DAT_EVD_FIELD_ALL, &evd_param));
	n = evd_param.evd_qlen + 2;
	ASSERT_EQ(DAT_SUCCESS, with_srq(p, n, 0, small, &srq, &ep));
	for (i = 0; i < n; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(srq, 0, NULL, a_cookie(i)));
	expect_outstanding(_metadata, srq, n);
	for (i = 0; i < n; i++)
		ASSERT_EQ(DAT_SUCCESS, send_empty(p, i));
	for (i = 0; i < n; i++)
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	wait_for_available(srq, 0);
	expect_outstanding(_metadata, srq, n - 2);
	ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(srq, 0, NULL, a_cookie(7)));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(srq, 0, NULL, a_cookie(8)));
}

/*
 * Receives of an SRQ have no flags, so the UNSIGNALLED attribute of the EP does not apply to them.
 * Each receive frees its SRQ entry and notifies, and a wait may have a threshold of 2.
 */
/* Covers: dat_ep_create_with_srq; SH 47, 51 */
TEST_F_TIMEOUT(rules, receives_of_an_srq_are_signalled_and_count, 60)
{
	struct a_pair *p = &self->p;
	DAT_EVD_HANDLE evd;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;
	DAT_COUNT nmore;
	int i;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 16, NULL, DAT_EVD_DTO_FLAG, &evd));
	ASSERT_EQ(DAT_SUCCESS, with_srq(p, 2, UNSIGNALLED, evd, &srq, &ep));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(srq, 0, NULL, a_cookie(i)));
		ASSERT_EQ(DAT_SUCCESS, send_empty(p, i));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(evd, NULL, NULL));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	}
	expect_outstanding(_metadata, srq, 0);
	EXPECT_EQ(DAT_TIMEOUT_EXPIRED, TYPE(dat_evd_wait(evd, 0, 2, &event, &nmore)));
}

/* --- CNO --------------------------------------------------------------------------- */

struct waiter {
	DAT_EVD_HANDLE	evd;
	DAT_RETURN	rc;
};

/* Wait for two events, but only one arrives. */
static void *wait_for_two(void *arg)
{
	struct waiter *w = arg;
	DAT_EVENT event;
	DAT_COUNT nmore;

	w->rc = dat_evd_wait(w->evd, 2 * A_QUIET_US, 2, &event, &nmore);
	return NULL;
}

/*
 * An event that arrives while a thread waits on the EVD does not trigger the CNO, because the
 * waiter gets the event.  If the wait fails, the event is still queued and must trigger the CNO.
 */
/* Covers: dat_cno_wait; dat_evd_wait TIMEOUT_EXPIRED; SH 26 */
TEST_F_TIMEOUT(rules, a_wait_that_fails_leaves_its_event_to_the_cno, 60)
{
	struct a_pair *p = &self->p;
	DAT_EVD_HANDLE hint = NULL;
	struct waiter w;
	pthread_t thread;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 8, self->cno, DAT_EVD_SOFTWARE_FLAG,
					      &w.evd));
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_for_two, &w));
	usleep(A_QUIET_US);
	ASSERT_EQ(DAT_SUCCESS, c_soft(w.evd, 1));
	pthread_join(thread, NULL);
	ASSERT_EQ(DAT_TIMEOUT_EXPIRED, TYPE(w.rc));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_wait(self->cno, A_WAIT_US, &hint));
	EXPECT_EQ(w.evd, hint);
}

/* --- flushes ----------------------------------------------------------------------- */

/*
 * When the first send completes, libdat passes the second send and the bind to the kernel together.
 * In the kernel, the bind waits for the second send, for which the peer has no receive.
 */
/* Covers: dat_ep_disconnect; dat_rmr_bind; SH 5, 42 */
TEST_F_TIMEOUT(rules, a_bind_that_waits_is_flushed_behind_what_it_waits_for, 60)
{
	struct a_pair *p = &self->p;
	DAT_RMR_CONTEXT key;
	DAT_EVENT event;
	uint64_t cookie;

	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	ASSERT_EQ(DAT_SUCCESS, send_empty(p, 1));
	ASSERT_EQ(DAT_SUCCESS, send_empty(p, 2));
	ASSERT_EQ(DAT_SUCCESS, bind_first_page(p, self->rmr, p->ep[1], 0, &key));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 0, NULL, a_cookie(3), 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], &cookie, NULL));
	ASSERT_EQ(1, cookie);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(DAT_DTO_ERR_FLUSHED, a_dto(p->evd[1], &cookie, NULL));
	EXPECT_EQ(2, cookie);
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	ASSERT_EQ(DAT_RMR_BIND_COMPLETION_EVENT, event.event_number);
	EXPECT_NE(DAT_RMR_BIND_SUCCESS, event.event_data.rmr_completion_event_data.status);
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, c_next(p->evd[1]));
}

TEST_HARNESS_MAIN
