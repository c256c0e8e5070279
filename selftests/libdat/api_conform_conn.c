// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Connections from connect to disconnect: states, events, private data, and addresses. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <string.h>

#include "kselftest_harness.h"
#include "api_conform.h"

FIXTURE(conn) {
	struct a_pair p;
};

FIXTURE_SETUP(conn)
{
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
}

FIXTURE_TEARDOWN(conn)
{
	a_close(&self->p);
}

static DAT_RETURN post_send(DAT_EP_HANDLE ep, uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	return dat_ep_post_send(ep, 0, NULL, a_cookie(cookie), flags);
}

static DAT_RETURN rdma(struct a_pair *p, int write, uint64_t cookie, DAT_RMR_TRIPLET remote,
		       DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);

	return write ? dat_ep_post_rdma_write(p->ep[1], 1, &seg, a_cookie(cookie), &remote, flags) :
		       dat_ep_post_rdma_read(p->ep[1], 1, &seg, a_cookie(cookie), &remote, flags);
}

/* Connect ep[1] to ep[0], and disconnect ep[1] again. */
static DAT_RETURN begin_and_end(struct a_pair *p)
{
	DAT_RETURN rc = c_connect(p);

	if (rc == DAT_SUCCESS)
		rc = dat_ep_disconnect(p->ep[1], DAT_CLOSE_ABRUPT_FLAG);
	if (rc == DAT_SUCCESS && (c_next(p->evd[1]) != DAT_CONNECTION_EVENT_DISCONNECTED ||
				  c_next(p->evd[0]) != DAT_CONNECTION_EVENT_DISCONNECTED))
		rc = DAT_INTERNAL_ERROR;
	return rc;
}

static void expect_flushed(struct __test_metadata *_metadata, DAT_EVD_HANDLE evd, uint64_t want)
{
	uint64_t cookie = 0;

	EXPECT_EQ(DAT_DTO_ERR_FLUSHED, a_dto(evd, &cookie, NULL));
	EXPECT_EQ(want, cookie);
}

/* --- after the disconnect --------- */

/* Covers: SH 4, 16 */
TEST_F_TIMEOUT(conn, everything_posted_after_the_end_comes_back, 60)
{
	struct a_pair *p = &self->p;
	DAT_RMR_TRIPLET remote = a_rseg(&p->mem, 4096, 64);

	ASSERT_EQ(DAT_SUCCESS, begin_and_end(p));
	ASSERT_EQ(DAT_SUCCESS, post_send(p->ep[1], 1, 0));
	expect_flushed(_metadata, p->evd[1], 1);
	ASSERT_EQ(DAT_SUCCESS, rdma(p, 0, 2, remote, 0));
	expect_flushed(_metadata, p->evd[1], 2);
	ASSERT_EQ(DAT_SUCCESS, rdma(p, 1, 3, remote, 0));
	expect_flushed(_metadata, p->evd[1], 3);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[1], 0, NULL, a_cookie(4), 0));
	expect_flushed(_metadata, p->evd[1], 4);
	ASSERT_EQ(DAT_SUCCESS, post_send(p->ep[1], 5, DAT_COMPLETION_SUPPRESS_FLAG));
	expect_flushed(_metadata, p->evd[1], 5);
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, c_state(p->ep[1]));
	EXPECT_TRUE(c_quiet(p->evd[1]));
}

/* Post more requests in total than the queue can hold at a time. */
/* Covers: SH 4, 45 */
TEST_F_TIMEOUT(conn, and_makes_room_for_more, 60)
{
	struct a_pair *p = &self->p;
	int i;

	ASSERT_EQ(DAT_SUCCESS, begin_and_end(p));
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(DAT_SUCCESS, post_send(p->ep[1], i, 0));
		expect_flushed(_metadata, p->evd[1], i);
	}
}

/* Covers: dat_ep_reset; SH 4, 10 */
TEST_F_TIMEOUT(conn, a_marker_tells_when_all_is_dequeued, 60)
{
	struct a_pair *p = &self->p;
	uint64_t cookie = 0;
	int i, n = 0;

	for (i = 0; i < 8; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 0, NULL, a_cookie(i), 0));
	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[0], DAT_CLOSE_ABRUPT_FLAG));
	while (c_state(p->ep[0]) != DAT_EP_STATE_DISCONNECTED)
		;
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 0, NULL, a_cookie(99), 0));
	while (cookie != 99 && n++ < 10)
		a_dto(p->evd[0], &cookie, NULL); /* one of these events is DISCONNECTED */
	EXPECT_EQ(10, n);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(p->ep[0]));
	EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, c_state(p->ep[0]));
	EXPECT_TRUE(c_quiet(p->evd[0]));
}

/* Covers: dat_ep_disconnect; SH 7, 8 */
TEST_F_TIMEOUT(conn, disconnecting_what_is_disconnected_does_nothing, 60)
{
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, begin_and_end(p));
	EXPECT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_TRUE(c_quiet(p->evd[1]));
}

/* Covers: dat_ep_reset; SH 10, 57 */
TEST_F_TIMEOUT(conn, a_reset_ep_has_forgotten_its_peer_and_kept_the_rest, 60)
{
	DAT_CONTEXT mine = { .as_64 = 0x1234 }, kept = { 0 };
	struct a_pair *p = &self->p;
	DAT_EP_PARAM before, after;

	ASSERT_EQ(DAT_SUCCESS, dat_set_consumer_context(p->ep[1], mine));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[1], DAT_EP_FIELD_ALL, &before));
	ASSERT_EQ(DAT_SUCCESS, begin_and_end(p));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(p->ep[1]));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[1], DAT_EP_FIELD_ALL, &after));
	EXPECT_EQ(0, after.remote_port_qual);
	EXPECT_EQ(NULL, after.remote_ia_address_ptr);
	EXPECT_EQ(p->pz, after.pz_handle);
	EXPECT_EQ(p->evd[1], after.recv_evd_handle);
	EXPECT_EQ(0, memcmp(&before.ep_attr, &after.ep_attr, sizeof(before.ep_attr)));
	ASSERT_EQ(DAT_SUCCESS, dat_get_consumer_context(p->ep[1], &kept));
	EXPECT_EQ(mine.as_64, kept.as_64);
}

/* --- graceful disconnect --------- */

/* Start a graceful disconnect that stays pending, because the peer has no receive for a send. */
static DAT_RETURN pending(struct a_pair *p)
{
	DAT_RETURN rc = c_connect(p);

	if (rc == DAT_SUCCESS)
		rc = post_send(p->ep[1], 1, 0);
	return rc == DAT_SUCCESS ? dat_ep_disconnect(p->ep[1], DAT_CLOSE_GRACEFUL_FLAG) : rc;
}

/* Covers: dat_ep_post_send dat_ep_post_rdma_read dat_ep_post_rdma_write INVALID_STATE; SH 6 */
TEST_F_TIMEOUT(conn, a_graceful_disconnect_ends_requests_first, 60)
{
	struct a_pair *p = &self->p;
	DAT_RMR_TRIPLET remote = a_rseg(&p->mem, 4096, 64);

	ASSERT_EQ(DAT_SUCCESS, pending(p));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECT_PENDING, c_state(p->ep[1]));
	EXPECT_EQ(IS(EP_DISCPENDING), post_send(p->ep[1], 2, 0));
	EXPECT_EQ(IS(EP_DISCPENDING), rdma(p, 0, 2, remote, 0));
	EXPECT_EQ(IS(EP_DISCPENDING), rdma(p, 1, 2, remote, 0));
	EXPECT_TRUE(c_quiet(p->evd[1]));
	/* The peer stays connected while the graceful disconnect is pending. */
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, c_state(p->ep[0]));
}

/* Covers: dat_ep_disconnect; SH 6 */
TEST_F_TIMEOUT(conn, and_still_receives_what_the_peer_sends, 60)
{
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, pending(p));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[1], 0, NULL, a_cookie(50), 0));
	ASSERT_EQ(DAT_SUCCESS, post_send(p->ep[0], 60, 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 0, NULL, a_cookie(70), 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, c_next(p->evd[1]));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, c_next(p->evd[0]));
}

/* Covers: dat_ep_disconnect; SH 7 */
TEST_F_TIMEOUT(conn, graceful_twice_is_graceful_once, 60)
{
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, pending(p));
	EXPECT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECT_PENDING, c_state(p->ep[1]));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 0, NULL, a_cookie(9), 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, c_next(p->evd[1]));
	EXPECT_TRUE(c_quiet(p->evd[1]));
}

/* Covers: dat_ep_disconnect; SH 5, 7 */
TEST_F_TIMEOUT(conn, abrupt_does_not_wait_for_graceful, 60)
{
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, pending(p));
	EXPECT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_ABRUPT_FLAG));
	expect_flushed(_metadata, p->evd[1], 1);
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, c_next(p->evd[1]));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, c_state(p->ep[1]));
	EXPECT_TRUE(c_quiet(p->evd[1]));
}

/* --- errors --------- */

/* A failed request flushes the requests posted after it.  The requests before it succeed. */
/* Covers: SH 5, 63 */
TEST_F_TIMEOUT(conn, requests_behind_one_that_fails_are_flushed_in_order, 60)
{
	struct a_pair *p = &self->p;
	DAT_RMR_TRIPLET good = a_rseg(&p->mem, 4096, 64), bad = good;
	static const int want[] = {
		DAT_DTO_SUCCESS, DAT_DTO_SUCCESS, DAT_DTO_ERR_REMOTE_ACCESS,
		DAT_DTO_ERR_FLUSHED, DAT_DTO_ERR_FLUSHED, DAT_DTO_ERR_FLUSHED,
	};
	uint64_t cookie;
	int i;

	bad.rmr_context ^= 0xff00;
	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	/* The first send waits for a receive, so that all requests are posted before one fails. */
	ASSERT_EQ(DAT_SUCCESS, post_send(p->ep[1], 0, 0));
	for (i = 1; i < 6; i++)
		ASSERT_EQ(DAT_SUCCESS, rdma(p, 1, i, i == 2 ? bad : good, 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 0, NULL, a_cookie(9), 0));
	for (i = 0; i < 6; i++) {
		EXPECT_EQ(want[i], a_dto(p->evd[1], &cookie, NULL));
		EXPECT_EQ(i, cookie);
	}
	EXPECT_EQ(DAT_CONNECTION_EVENT_BROKEN, c_next(p->evd[1]));
	EXPECT_TRUE(c_quiet(p->evd[1]));
}

/* Covers: SH 16, 63 */
TEST_F_TIMEOUT(conn, a_suppressed_request_that_fails_says_so, 60)
{
	struct a_pair *p = &self->p;
	DAT_RMR_TRIPLET good = a_rseg(&p->mem, 4096, 64), bad = good;
	uint64_t cookie = 0;

	bad.rmr_context ^= 0xff00;
	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	ASSERT_EQ(DAT_SUCCESS, rdma(p, 1, 1, good, DAT_COMPLETION_SUPPRESS_FLAG));
	ASSERT_EQ(DAT_SUCCESS, rdma(p, 1, 2, bad, DAT_COMPLETION_SUPPRESS_FLAG));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS, a_dto(p->evd[1], &cookie, NULL));
	EXPECT_EQ(2, cookie);
	EXPECT_EQ(DAT_CONNECTION_EVENT_BROKEN, c_next(p->evd[1]));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, c_state(p->ep[1]));
}

/* If the peer disconnects, the event is DISCONNECTED even though receives are flushed. */
/* Covers: SH 63 */
TEST_F_TIMEOUT(conn, the_peers_abrupt_close_is_one_DISCONNECTED, 60)
{
	struct a_pair *p = &self->p;
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 0, NULL, a_cookie(i), 0));
	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < 4; i++)
		expect_flushed(_metadata, p->evd[0], i);
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, c_next(p->evd[0]));
	EXPECT_TRUE(c_quiet(p->evd[0]));
	EXPECT_TRUE(c_quiet(p->async));
}

/* It depends on the device whether the peer reports BROKEN or DISCONNECTED. */
/* Covers: SH 63 */
TEST_F_TIMEOUT(conn, a_broken_connection_is_told_once_and_not_by_an_async_event, 60)
{
	struct a_pair *p = &self->p;
	DAT_RMR_TRIPLET bad = a_rseg(&p->mem, p->mem.size, 64);
	DAT_EVENT_NUMBER n;
	int i;

	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	ASSERT_EQ(DAT_SUCCESS, rdma(p, 0, 1, bad, 0));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS, a_dto(p->evd[1], NULL, NULL));
	for (i = 0; i < 2; i++) {
		n = c_next(p->evd[i]);
		EXPECT_TRUE(n == DAT_CONNECTION_EVENT_BROKEN ||
			    (!i && n == DAT_CONNECTION_EVENT_DISCONNECTED));
		EXPECT_TRUE(c_quiet(p->evd[i]));
		EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, c_state(p->ep[i]));
	}
	EXPECT_TRUE(c_quiet(p->async));
}

/* --- attempts to connect --------- */

/* Covers: dat_ep_disconnect; SH 5, 8 */
TEST_F_TIMEOUT(conn, giving_up_flushes_receives_and_is_told_once, 60)
{
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[1], 0, NULL, a_cookie(5), 0));
	ASSERT_EQ(DAT_SUCCESS, c_ask(p, p->ep[1]));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_ABRUPT_FLAG));
	expect_flushed(_metadata, p->evd[1], 5);
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, c_next(p->evd[1]));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, c_state(p->ep[1]));
	EXPECT_TRUE(c_quiet(p->evd[1]));
}

/* At the disconnect, the EP may be waiting for the end of the handshake, or may be connected. */
/* Covers: dat_ep_disconnect; SH 8 */
TEST_F_TIMEOUT(conn, giving_up_right_after_accepting_ends_with_one_event, 60)
{
	struct a_pair *p = &self->p;
	DAT_EVENT_NUMBER n;
	DAT_CR_HANDLE cr;

	ASSERT_EQ(DAT_SUCCESS, c_ask(p, p->ep[1]));
	cr = c_request(p);
	ASSERT_NE(NULL, cr);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(cr, p->ep[0], 0, NULL));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[0], DAT_CLOSE_ABRUPT_FLAG));
	n = c_next(p->evd[0]);
	if (n == DAT_CONNECTION_EVENT_ESTABLISHED)
		n = c_next(p->evd[0]);
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, n);
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, c_state(p->ep[0]));
	EXPECT_TRUE(c_quiet(p->evd[0]));
}

/* Covers: dat_ep_disconnect INVALID_STATE; SH 8, 11 */
TEST_F_TIMEOUT(conn, there_is_nothing_to_disconnect, 60)
{
	struct a_pair *p = &self->p;
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;

	EXPECT_EQ(IS(EP_UNCONNECTED), dat_ep_disconnect(p->ep[0], DAT_CLOSE_GRACEFUL_FLAG));
	ASSERT_EQ(DAT_SUCCESS, dat_psp_free(p->psp));
	ASSERT_EQ(DAT_SUCCESS, dat_rsp_create(p->ia, A_QUAL, p->ep[0], p->cr, &rsp));
	EXPECT_EQ(IS(EP_RESERVED), dat_ep_disconnect(p->ep[0], DAT_CLOSE_GRACEFUL_FLAG));
	ASSERT_EQ(DAT_SUCCESS, c_ask(p, p->ep[1]));
	cr = c_request(p);
	ASSERT_NE(NULL, cr);
	EXPECT_EQ(IS(EP_PASSCONNPENDING), dat_ep_disconnect(p->ep[0], DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(IS(EP_PASSCONNPENDING), dat_ep_free(p->ep[0]));
}

/* --- private data and addresses --------- */

/* Covers: dat_cr_query; SH 57 */
TEST_F_TIMEOUT(conn, private_data_stays_until_the_ep_is_reset, 60)
{
	struct a_pair *p = &self->p;
	DAT_CONNECTION_EVENT_DATA data;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_connect(p->ep[1], p->attr.ia_address_ptr, A_QUAL, A_WAIT_US,
					      5, "asked", DAT_QOS_BEST_EFFORT, 0));
	cr = c_request(p);
	ASSERT_NE(NULL, cr);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	/* Freeing another object in the meantime must not invalidate the private data. */
	ASSERT_EQ(DAT_SUCCESS, dat_psp_free(p->psp));
	EXPECT_EQ(0, memcmp("asked", param.private_data, 5));
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(cr, p->ep[0], 8, "answered"));
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	data = event.event_data.connect_event_data;
	ASSERT_LE(8, data.private_data_size);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, c_next(p->evd[1]));
	EXPECT_EQ(0, memcmp("answered", data.private_data, 8));
}

/* Covers: SH 57 */
TEST_F_TIMEOUT(conn, the_passive_side_is_established_without_private_data, 60)
{
	struct a_pair *p = &self->p;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_connect(p->ep[1], p->attr.ia_address_ptr, A_QUAL, A_WAIT_US,
					      5, "asked", DAT_QOS_BEST_EFFORT, 0));
	cr = c_request(p);
	ASSERT_NE(NULL, cr);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(cr, p->ep[0], 0, NULL));
	ASSERT_EQ(1, a_event(p->evd[0], A_WAIT_US, &event));
	ASSERT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
	EXPECT_EQ(0, event.event_data.connect_event_data.private_data_size);
}

/* Covers: dat_ep_query; dat_cr_query; SH 61 */
TEST_F_TIMEOUT(conn, each_end_knows_address_and_port_of_both, 60)
{
	struct a_pair *p = &self->p;
	DAT_EP_PARAM ep[2];
	DAT_CR_PARAM cr_param;
	DAT_CR_HANDLE cr;
	const DAT_SOCK_ADDR *ia = p->attr.ia_address_ptr;
	int i;

	ASSERT_EQ(DAT_SUCCESS, c_ask(p, p->ep[1]));
	cr = c_request(p);
	ASSERT_NE(NULL, cr);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param));
	EXPECT_EQ(0, memcmp(ia->sa_data + 2, cr_param.remote_ia_address_ptr->sa_data + 2, 4));
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(cr, p->ep[0], 0, NULL));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, c_next(p->evd[i]));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[i], DAT_EP_FIELD_ALL, &ep[i]));
		EXPECT_EQ(ia->sa_family, ep[i].local_ia_address_ptr->sa_family);
		EXPECT_EQ(0, memcmp(ia->sa_data + 2, ep[i].local_ia_address_ptr->sa_data + 2, 4));
		EXPECT_EQ(0, memcmp(ia->sa_data + 2, ep[i].remote_ia_address_ptr->sa_data + 2, 4));
	}
	EXPECT_EQ(A_QUAL, ep[1].remote_port_qual);
	EXPECT_EQ(ep[1].local_port_qual, ep[0].remote_port_qual);
	EXPECT_EQ(ep[1].local_port_qual, cr_param.remote_port_qual);
	EXPECT_EQ(A_QUAL, ep[0].local_port_qual);
}

/* --- service points --------- */

/* Covers: dat_psp_create; SH 30, 54, 58 */
TEST_F_TIMEOUT(conn, requests_that_find_the_evd_full_are_refused_and_nothing_overflows, 120)
{
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE small;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;
	int i;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 2, NULL, DAT_EVD_CR_FLAG, &small));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_query(small, DAT_EVD_FIELD_ALL, &param));
	ASSERT_EQ(DAT_SUCCESS, dat_psp_create(p->ia, A_QUAL + 1, small, DAT_PSP_CONSUMER_FLAG,
					      &psp));
	for (i = 0; i <= param.evd_qlen; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[1], p->evd[1], p->evd[1],
						     &attr, &ep));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_connect(ep, p->attr.ia_address_ptr, A_QUAL + 1,
						      A_WAIT_US, 0, NULL, DAT_QOS_BEST_EFFORT, 0));
	}
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, event.event_number);
	EXPECT_TRUE(c_quiet(p->evd[1]));
	EXPECT_TRUE(c_quiet(p->async));
	/* Dequeuing an event makes room for the event of another request. */
	ASSERT_EQ(1, a_event(small, 0, &event));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[1], p->evd[1], p->evd[1], &attr,
					     &ep));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_connect(ep, p->attr.ia_address_ptr, A_QUAL + 1, A_WAIT_US, 0,
					      NULL, DAT_QOS_BEST_EFFORT, 0));
	EXPECT_TRUE(c_quiet(p->evd[1]));
}

/* Covers: dat_psp_free; SH 58 */
TEST_F_TIMEOUT(conn, a_psp_stays_after_its_requests, 60)
{
	struct a_pair *p = &self->p;
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(DAT_SUCCESS, begin_and_end(p));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(p->ep[0]));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(p->ep[1]));
	}
	EXPECT_EQ(DAT_SUCCESS, dat_psp_free(p->psp));
}

TEST_HARNESS_MAIN
