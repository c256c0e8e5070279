// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Service points of all types, and operations on connection requests except accepting. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "api_conform.h"

FIXTURE(points) {
	struct a_pair p;
};

FIXTURE_SETUP(points)
{
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
}

FIXTURE_TEARDOWN(points)
{
	a_close(&self->p);
}

static DAT_RETURN ask(struct a_pair *p, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual)
{
	return dat_ep_connect(ep, p->attr.ia_address_ptr, qual, A_WAIT_US, 5, "hello",
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* Return the next connection request, or NULL on timeout. */
static DAT_CR_HANDLE request(struct a_pair *p, DAT_EVENT *event)
{
	if (!a_event(p->cr, A_WAIT_US, event) ||
	    event->event_number != DAT_CONNECTION_REQUEST_EVENT)
		return NULL;
	return event->event_data.cr_arrival_event_data.cr_handle;
}

static void expect_established(struct __test_metadata *_metadata, struct a_pair *p)
{
	EXPECT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, c_next(p->evd[0]));
	EXPECT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, c_next(p->evd[1]));
}

#define RSP_QUAL	(A_QUAL + 1)

/*
 * Covers: dat_rsp_create; dat_rsp_query; dat_rsp_free INVALID_HANDLE|RSP; dat_ep_free
 * INVALID_STATE; dat_ep_connect INVALID_STATE; dat_ep_disconnect INVALID_STATE; dat_cr_query;
 * dat_cr_accept INVALID_HANDLE|EP; SH 8, 9, 11, 13, 59
 */
TEST_F_TIMEOUT(points, an_rsp_has_its_ep_ready, 60)
{
	struct a_pair *p = &self->p;
	DAT_RSP_HANDLE rsp;
	DAT_RSP_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM info;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, dat_rsp_create(p->ia, RSP_QUAL, p->ep[0], p->cr, &rsp));
	EXPECT_EQ(DAT_EP_STATE_RESERVED, c_state(p->ep[0]));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RESERVED), dat_ep_free(p->ep[0]));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RESERVED),
		  ask(p, p->ep[0], A_QUAL));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RESERVED),
		  dat_ep_disconnect(p->ep[0], DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_EQ(DAT_SUCCESS, dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	EXPECT_EQ(p->ia, param.ia_handle);
	EXPECT_EQ(RSP_QUAL, param.conn_qual);
	EXPECT_EQ(p->cr, param.evd_handle);
	EXPECT_EQ(p->ep[0], param.ep_handle);

	ASSERT_EQ(DAT_SUCCESS, ask(p, p->ep[1], RSP_QUAL));
	cr = request(p, &event);
	ASSERT_NE(NULL, cr);
	EXPECT_EQ(rsp, event.event_data.cr_arrival_event_data.sp_handle.rsp_handle);
	EXPECT_EQ(DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, c_state(p->ep[0]));
	ASSERT_EQ(DAT_SUCCESS, dat_cr_query(cr, DAT_CR_FIELD_ALL, &info));
	EXPECT_EQ(p->ep[0], info.local_ep_handle);
	/* The RSP has already provided the EP, so dat_cr_accept() refuses an EP handle. */
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		  dat_cr_accept(cr, p->ep[0], 0, NULL));
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	expect_established(_metadata, p);
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, c_state(p->ep[0]));
	EXPECT_EQ(DAT_SUCCESS, dat_rsp_free(rsp));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP), dat_rsp_free(rsp));
}

/* Covers: dat_rsp_create; SH 59 */
TEST_F_TIMEOUT(points, an_rsp_takes_one_request, 60)
{
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EP_HANDLE second;
	DAT_RSP_HANDLE rsp;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[1], p->evd[1], p->evd[1],
					     &attr, &second));
	ASSERT_EQ(DAT_SUCCESS, dat_rsp_create(p->ia, RSP_QUAL, p->ep[0], p->cr, &rsp));
	ASSERT_EQ(DAT_SUCCESS, ask(p, p->ep[1], RSP_QUAL));
	/*
	 * The second request must be rejected, even before the event of the first request is
	 * dequeued.
	 */
	usleep(A_QUIET_US);
	ASSERT_EQ(DAT_SUCCESS, ask(p, second, RSP_QUAL));
	EXPECT_EQ(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, c_next(p->evd[1]));
	EXPECT_NE(NULL, request(p, &event));
	EXPECT_EQ(0, a_event(p->cr, A_QUIET_US, &event));
	/* The RSP has been used, so its qualifier can be used for another RSP. */
	EXPECT_EQ(DAT_SUCCESS, dat_rsp_create(p->ia, RSP_QUAL, DAT_HANDLE_NULL, p->cr, &rsp));
}

/* Covers: dat_rsp_create CONN_QUAL_IN_USE; dat_rsp_free; dat_cr_reject; SH 11, 62 */
TEST_F_TIMEOUT(points, freeing_an_rsp_or_rejecting_gives_the_ep_back, 60)
{
	struct a_pair *p = &self->p;
	DAT_RSP_HANDLE rsp;
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	ASSERT_EQ(DAT_SUCCESS, dat_rsp_create(p->ia, RSP_QUAL, p->ep[0], p->cr, &rsp));
	EXPECT_EQ(RC(DAT_CONN_QUAL_IN_USE, 0),
		  dat_rsp_create(p->ia, RSP_QUAL, DAT_HANDLE_NULL, p->cr, &rsp));
	ASSERT_EQ(DAT_SUCCESS, dat_rsp_free(rsp));
	EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, c_state(p->ep[0]));

	ASSERT_EQ(DAT_SUCCESS, dat_rsp_create(p->ia, RSP_QUAL, p->ep[0], p->cr, &rsp));
	ASSERT_EQ(DAT_SUCCESS, ask(p, p->ep[1], RSP_QUAL));
	cr = request(p, &event);
	ASSERT_NE(NULL, cr);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_reject(cr));
	EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, c_state(p->ep[0]));
	EXPECT_EQ(DAT_CONNECTION_EVENT_PEER_REJECTED, c_next(p->evd[1]));
}

/* Set the protection zone and EVDs of an EP that libdat has made. */
static DAT_RETURN configure(struct a_pair *p, DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param = {
		.pz_handle = p->pz, .recv_evd_handle = p->evd[0],
		.request_evd_handle = p->evd[0], .connect_evd_handle = p->evd[0],
	};

	return dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
			     DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE,
			     &param);
}

/*
 * Covers: dat_psp_create; dat_cr_query; dat_cr_accept INVALID_HANDLE|EP; dat_ep_free
 * INVALID_STATE; dat_ep_post_recv PROTECTION_VIOLATION; dat_ep_post_send INVALID_STATE;
 * dat_ep_modify; SH 9, 11, 12
 */
TEST_F_TIMEOUT(points, a_psp_can_make_the_ep, 60)
{
	struct a_pair *p = &self->p;
	DAT_EP_HANDLE made;
	DAT_EP_PARAM param;
	DAT_PSP_HANDLE psp;
	DAT_CR_PARAM info;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	DAT_LMR_TRIPLET seg;

	ASSERT_EQ(DAT_SUCCESS, dat_psp_create(p->ia, RSP_QUAL, p->cr, DAT_PSP_PROVIDER_FLAG,
					      &psp));
	ASSERT_EQ(DAT_SUCCESS, ask(p, p->ep[1], RSP_QUAL));
	cr = request(p, &event);
	ASSERT_NE(NULL, cr);
	EXPECT_EQ(psp, event.event_data.cr_arrival_event_data.sp_handle.psp_handle);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_query(cr, DAT_CR_FIELD_ALL, &info));
	made = info.local_ep_handle;
	ASSERT_NE(DAT_HANDLE_NULL, made);
	EXPECT_EQ(DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, c_state(made));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(made, DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(DAT_HANDLE_NULL, param.pz_handle);
	EXPECT_EQ(DAT_HANDLE_NULL, param.connect_evd_handle);
	/* The EP cannot be used before it is configured.  The failed calls must change nothing. */
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		  dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	EXPECT_EQ(DAT_INVALID_STATE, TYPE(dat_ep_free(made)));
	seg = a_seg(&p->mem, 0, 64);
	EXPECT_EQ(DAT_PROTECTION_VIOLATION,
		  TYPE(dat_ep_post_recv(made, 1, &seg, a_cookie(1), 0)));
	EXPECT_EQ(DAT_INVALID_STATE, TYPE(dat_ep_post_send(made, 0, NULL, a_cookie(1), 0)));

	ASSERT_EQ(DAT_SUCCESS, configure(p, made));
	EXPECT_EQ(DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, c_state(made));
	EXPECT_EQ(DAT_SUCCESS, dat_ep_post_recv(made, 1, &seg, a_cookie(7), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	expect_established(_metadata, p);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 0, NULL, a_cookie(8), 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
	EXPECT_EQ(DAT_SUCCESS, dat_ep_free(made));
}

/* Covers: dat_cr_reject; SH 11, 12 */
TEST_F_TIMEOUT(points, rejecting_takes_the_made_ep_away, 60)
{
	struct a_pair *p = &self->p;
	DAT_PSP_HANDLE psp;
	DAT_CR_PARAM info;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	int i;

	ASSERT_EQ(DAT_SUCCESS, dat_psp_create(p->ia, RSP_QUAL, p->cr, DAT_PSP_PROVIDER_FLAG,
					      &psp));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(DAT_SUCCESS, ask(p, p->ep[1], RSP_QUAL));
		cr = request(p, &event);
		ASSERT_NE(NULL, cr);
		ASSERT_EQ(DAT_SUCCESS, dat_cr_query(cr, DAT_CR_FIELD_ALL, &info));
		if (i)
			ASSERT_EQ(DAT_SUCCESS, configure(p, info.local_ep_handle));
		ASSERT_EQ(DAT_SUCCESS, dat_cr_reject(cr));
		EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
			  dat_ep_free(info.local_ep_handle));
		EXPECT_EQ(DAT_CONNECTION_EVENT_PEER_REJECTED, c_next(p->evd[1]));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(p->ep[1]));
	}
}

/* Covers: dat_cr_handoff; dat_cr_handoff INVALID_PARAMETER|ARG2; SH 60 */
TEST_F_TIMEOUT(points, a_request_can_be_handed_on, 60)
{
	struct a_pair *p = &self->p;
	DAT_CR_PARAM before, after;
	DAT_PSP_HANDLE other;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, dat_psp_create(p->ia, RSP_QUAL, p->cr, DAT_PSP_CONSUMER_FLAG,
					      &other));
	ASSERT_EQ(DAT_SUCCESS, ask(p, p->ep[1], A_QUAL));
	cr = request(p, &event);
	ASSERT_NE(NULL, cr);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_query(cr, DAT_CR_FIELD_ALL, &before));
	/* If no service point listens at the qualifier, the request stays valid. */
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2), dat_cr_handoff(cr, 1));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2), dat_cr_handoff(cr, 1ULL << 32));
	ASSERT_EQ(DAT_SUCCESS, dat_cr_handoff(cr, RSP_QUAL));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR), dat_cr_reject(cr));
	cr = request(p, &event);
	ASSERT_NE(NULL, cr);
	EXPECT_EQ(other, event.event_data.cr_arrival_event_data.sp_handle.psp_handle);
	EXPECT_EQ(RSP_QUAL, event.event_data.cr_arrival_event_data.conn_qual);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_query(cr, DAT_CR_FIELD_ALL, &after));
	EXPECT_EQ(before.remote_port_qual, after.remote_port_qual);
	EXPECT_EQ(before.private_data_size, after.private_data_size);
	EXPECT_EQ(0, memcmp("hello", after.private_data, 5));
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(cr, p->ep[0], 0, NULL));
	expect_established(_metadata, p);
}

/* A server that accepts one request at RSP_QUAL.  Return 0, or the number of the failed step. */
static int other_process(int ready)
{
	struct a_pair p;
	DAT_PSP_HANDLE psp;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	if (a_ia(&p.ia, &p.async) || dat_ia_query(p.ia, NULL, DAT_IA_FIELD_ALL, &p.attr, 0, NULL))
		return 1;
	if (dat_pz_create(p.ia, &p.pz) ||
	    dat_evd_create(p.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &p.cr) ||
	    dat_evd_create(p.ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
			   &p.evd[0]))
		return 2;
	if (dat_ep_create(p.ia, p.pz, p.evd[0], p.evd[0], p.evd[0], NULL, &p.ep[0]) ||
	    dat_psp_create(p.ia, RSP_QUAL, p.cr, DAT_PSP_CONSUMER_FLAG, &psp))
		return 3;
	if (write(ready, "r", 1) != 1)
		return 4;
	cr = request(&p, &event);
	if (!cr || dat_cr_accept(cr, p.ep[0], 0, NULL))
		return 5;
	if (c_next(p.evd[0]) != DAT_CONNECTION_EVENT_ESTABLISHED)
		return 6;
	return c_next(p.evd[0]) == DAT_CONNECTION_EVENT_DISCONNECTED ? 0 : 7;
}

/* Covers: dat_cr_handoff; SH 60 */
TEST_F_TIMEOUT(points, a_request_can_be_handed_to_another_process, 60)
{
	struct a_pair *p = &self->p;
	int ready[2], status;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	if (!pid)
		_exit(other_process(ready[1]));
	ASSERT_EQ(1, read(ready[0], &c, 1));
	ASSERT_EQ(DAT_SUCCESS, ask(p, p->ep[1], A_QUAL));
	cr = request(p, &event);
	ASSERT_NE(NULL, cr);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_handoff(cr, RSP_QUAL));
	EXPECT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, c_next(p->evd[1]));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/*
 * Covers: dat_ep_dup_connect; dat_ep_dup_connect INVALID_STATE INVALID_PARAMETER|ARG3|ARG4|ARG5
 * MODEL_NOT_SUPPORTED; SH 14
 */
TEST_F_TIMEOUT(points, dup_connect_goes_where_the_other_went, 60)
{
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EP_HANDLE ep[2];
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	int i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[i], p->evd[i],
						     p->evd[i], &attr, &ep[i]));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED),
		  dat_ep_dup_connect(ep[1], p->ep[1], A_WAIT_US, 0, NULL, DAT_QOS_BEST_EFFORT));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, p->ep[1], p->ep[0], p->evd[1], p->evd[0]));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		  dat_ep_dup_connect(ep[1], p->ep[1], 0, 0, NULL, DAT_QOS_BEST_EFFORT));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
		  dat_ep_dup_connect(ep[1], p->ep[1], 1, 1000, "x", DAT_QOS_BEST_EFFORT));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
		  dat_ep_dup_connect(ep[1], p->ep[1], 1, 1, NULL, DAT_QOS_BEST_EFFORT));
	EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0),
		  dat_ep_dup_connect(ep[1], p->ep[1], 1, 0, NULL, (DAT_QOS)0x10));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED),
		  dat_ep_dup_connect(p->ep[1], p->ep[1], 1, 0, NULL, DAT_QOS_BEST_EFFORT));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_dup_connect(ep[1], p->ep[1], A_WAIT_US, 3, "dup",
						  DAT_QOS_BEST_EFFORT));
	cr = request(p, &event);
	ASSERT_NE(NULL, cr);
	EXPECT_EQ(A_QUAL, event.event_data.cr_arrival_event_data.conn_qual);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(cr, ep[0], 0, NULL));
	expect_established(_metadata, p);
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, c_state(ep[1]));
}

/*
 * Covers: dat_rsp_create INVALID_HANDLE|IA|EP|EVD_CR INVALID_PARAMETER|ARG2|ARG5; dat_rsp_query
 * INVALID_HANDLE|RSP; dat_rsp_free INVALID_HANDLE|RSP; SH 66
 */
TEST_F(points, bad_arguments_of_rsp)
{
	struct a_pair *p = &self->p;
	DAT_RSP_PARAM param;
	DAT_RSP_HANDLE rsp;

	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
		  dat_rsp_create(p->pz, 5, p->ep[0], p->cr, &rsp));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_rsp_create(p->ia, 0, p->ep[0], p->cr, &rsp));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		  dat_rsp_create(p->ia, RSP_QUAL, p->pz, p->cr, &rsp));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR),
		  dat_rsp_create(p->ia, RSP_QUAL, p->ep[0], p->evd[0], &rsp));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
		  dat_rsp_create(p->ia, RSP_QUAL, p->ep[0], p->cr, NULL));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP),
		  dat_rsp_query(p->psp, DAT_RSP_FIELD_ALL, &param));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP), dat_rsp_free(NULL));
	EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, c_state(p->ep[0]));
}

TEST_HARNESS_MAIN
