// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Posts in each state of an EP.  Posts of receives succeed in every state.  Posts of requests
 * succeed only in the states CONNECTED and DISCONNECTED.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "adapter.h"
#include "api_conform.h"

#define POINT_QUAL	(A_QUAL + 1)

FIXTURE(states) {
	struct a_pair p;
	DAT_RMR_HANDLE rmr;
};

FIXTURE_SETUP(states)
{
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
	ASSERT_EQ(DAT_SUCCESS, dat_rmr_create(self->p.pz, &self->rmr));
}

FIXTURE_TEARDOWN(states)
{
	a_close(&self->p);
}

static DAT_RETURN post_bind(struct a_pair *p, DAT_RMR_HANDLE rmr, DAT_EP_HANDLE ep)
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_RMR_CONTEXT key;

	return dat_rmr_bind(rmr, &seg, DAT_MEM_PRIV_ALL_FLAG, ep, a_cookie(4), 0, &key);
}

/* Post each kind of request and expect the result @want.  Post a receive and expect success. */
static void expect_posts(struct __test_metadata *_metadata, struct a_pair *p, DAT_RMR_HANDLE rmr,
			 DAT_EP_HANDLE ep, DAT_EP_STATE state, DAT_RETURN want)
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_RMR_TRIPLET remote = a_rseg(&p->mem, 4096, 64);

	ASSERT_EQ(state, c_state(ep));
	EXPECT_EQ(DAT_SUCCESS, dat_ep_post_recv(ep, 1, &seg, a_cookie(1), 0));
	EXPECT_EQ(want, dat_ep_post_send(ep, 1, &seg, a_cookie(2), 0));
	EXPECT_EQ(want, dat_ep_post_rdma_write(ep, 1, &seg, a_cookie(3), &remote, 0));
	EXPECT_EQ(want, dat_ep_post_rdma_read(ep, 1, &seg, a_cookie(3), &remote, 0));
	EXPECT_EQ(want, post_bind(p, rmr, ep));
}

static DAT_RETURN ask(struct a_pair *p, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual)
{
	return dat_ep_connect(ep, p->attr.ia_address_ptr, qual, A_WAIT_US, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* Covers: dat_ep_post_recv; dat_ep_post_send INVALID_STATE; dat_rmr_bind INVALID_STATE; SH 1 */
TEST_F(states, unconnected)
{
	expect_posts(_metadata, &self->p, self->rmr, self->p.ep[0], DAT_EP_STATE_UNCONNECTED,
		     IS(EP_UNCONNECTED));
}

/* Covers: dat_ep_post_recv; dat_ep_post_send INVALID_STATE; SH 1 */
TEST_F(states, reserved)
{
	struct a_pair *p = &self->p;
	DAT_RSP_HANDLE rsp;

	ASSERT_EQ(DAT_SUCCESS, dat_rsp_create(p->ia, POINT_QUAL, p->ep[0], p->cr, &rsp));
	expect_posts(_metadata, p, self->rmr, p->ep[0], DAT_EP_STATE_RESERVED, IS(EP_RESERVED));
}

/* Covers: dat_ep_post_recv; dat_ep_post_send INVALID_STATE; SH 1 */
TEST_F_TIMEOUT(states, passive_and_active_connection_pending, 60)
{
	struct a_pair *p = &self->p;
	DAT_RSP_HANDLE rsp;

	ASSERT_EQ(DAT_SUCCESS, dat_rsp_create(p->ia, POINT_QUAL, p->ep[0], p->cr, &rsp));
	ASSERT_EQ(DAT_SUCCESS, ask(p, p->ep[1], POINT_QUAL));
	ASSERT_NE(NULL, c_request(p));
	expect_posts(_metadata, p, self->rmr, p->ep[0], DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
		     IS(EP_PASSCONNPENDING));
	expect_posts(_metadata, p, self->rmr, p->ep[1], DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
		     IS(EP_ACTCONNPENDING));
}

/* Return the EP that a PSP with DAT_PSP_PROVIDER_FLAG makes for a connection request. */
static DAT_EP_HANDLE provided(struct a_pair *p)
{
	DAT_CR_PARAM info;
	DAT_PSP_HANDLE psp;
	DAT_CR_HANDLE cr;

	if (dat_psp_create(p->ia, POINT_QUAL, p->cr, DAT_PSP_PROVIDER_FLAG, &psp) ||
	    ask(p, p->ep[1], POINT_QUAL))
		return DAT_HANDLE_NULL;
	cr = c_request(p);
	if (!cr || dat_cr_query(cr, DAT_CR_FIELD_ALL, &info))
		return DAT_HANDLE_NULL;
	return info.local_ep_handle;
}

/* Covers: dat_ep_post_recv; dat_ep_post_send INVALID_STATE; SH 1, 12 */
TEST_F_TIMEOUT(states, tentative_connection_pending, 60)
{
	struct a_pair *p = &self->p;
	DAT_EP_PARAM param = {
		.pz_handle = p->pz, .recv_evd_handle = p->evd[0],
		.request_evd_handle = p->evd[0], .connect_evd_handle = p->evd[0],
	};
	DAT_EP_HANDLE ep = provided(p);

	ASSERT_NE(DAT_HANDLE_NULL, ep);
	ASSERT_EQ(DAT_SUCCESS,
		  dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
				DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE,
				&param));
	expect_posts(_metadata, p, self->rmr, ep, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
		     IS(EP_TENTCONNPENDING));
}

/* An EP without a protection zone accepts no segment. */
/* Covers: dat_ep_post_recv PROTECTION_VIOLATION; dat_ep_post_send PROTECTION_VIOLATION; SH 12 */
TEST_F_TIMEOUT(states, tentative_without_a_zone, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_EP_HANDLE ep = provided(p);

	ASSERT_NE(DAT_HANDLE_NULL, ep);
	EXPECT_EQ(DAT_PROTECTION_VIOLATION,
		  TYPE(dat_ep_post_recv(ep, 1, &seg, a_cookie(1), 0)));
	EXPECT_EQ(DAT_INVALID_STATE, TYPE(dat_ep_post_send(ep, 0, NULL, a_cookie(1), 0)));
}

/* Covers: dat_ep_post_send; dat_ep_post_recv; SH 4 */
TEST_F_TIMEOUT(states, connected_and_disconnected, 60)
{
	struct a_pair *p = &self->p;
	int i;

	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[1], 1, &(DAT_LMR_TRIPLET) {
			.lmr_context = p->mem.ctx, .virtual_address = (uintptr_t)p->mem.va,
			.segment_length = 64 }, a_cookie(9), 0));
	expect_posts(_metadata, p, self->rmr, p->ep[0], DAT_EP_STATE_CONNECTED, DAT_SUCCESS);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < 10 && c_state(p->ep[0]) != DAT_EP_STATE_DISCONNECTED; i++)
		c_next(p->evd[0]);
	expect_posts(_metadata, p, self->rmr, p->ep[0], DAT_EP_STATE_DISCONNECTED, DAT_SUCCESS);
}

/* The peer has no receive for the send, so the graceful disconnect stays pending. */
/* Covers: dat_ep_post_recv; dat_ep_post_send INVALID_STATE; SH 6 */
TEST_F_TIMEOUT(states, disconnect_pending, 60)
{
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[0], 0, NULL, a_cookie(1), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[0], DAT_CLOSE_GRACEFUL_FLAG));
	expect_posts(_metadata, p, self->rmr, p->ep[0], DAT_EP_STATE_DISCONNECT_PENDING,
		     IS(EP_DISCPENDING));
}

/* --- a peer that never completes the handshake ------------------------------------- */

static int next_cm_event(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;
	int type;

	if (rdma_get_cm_event(channel, &event))
		return -1;
	type = event->event;
	rdma_ack_cm_event(event);
	return type;
}

/*
 * Connect, but never complete the handshake.  librdmacm sends the last message of the handshake
 * when rdma_get_cm_event() returns the event of the server's answer.  This function does not ask
 * for this event.
 */
static int connect_and_fall_silent(const struct sockaddr_in *addr)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct sockaddr_in to = *addr;
	struct rdma_cm_id *id;

	to.sin_port = htons(A_QUAL);
	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000) ||
	    next_cm_event(channel) != RDMA_CM_EVENT_ADDR_RESOLVED ||
	    rdma_resolve_route(id, 2000) ||
	    next_cm_event(channel) != RDMA_CM_EVENT_ROUTE_RESOLVED ||
	    rdma_create_qp(id, NULL, &attr) || rdma_connect(id, &param))
		return 1;
	pause();
	return 0;
}

/* Covers: dat_cr_accept; dat_ep_post_recv; dat_ep_post_send INVALID_STATE; SH 1 */
TEST_F_TIMEOUT(states, completion_pending, 60)
{
	struct a_pair *p = &self->p;
	DAT_CR_HANDLE cr;
	pid_t pid;

	if (adapter_is_iwarp())
		SKIP(return, "over iWARP an accepted connection waits for nothing");
	pid = fork();
	if (!pid)
		_exit(connect_and_fall_silent((void *)p->attr.ia_address_ptr));
	cr = c_request(p);
	ASSERT_NE(NULL, cr);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(cr, p->ep[0], 0, NULL));
	expect_posts(_metadata, p, self->rmr, p->ep[0], DAT_EP_STATE_COMPLETION_PENDING,
		     IS(EP_COMPLPENDING));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST_HARNESS_MAIN
