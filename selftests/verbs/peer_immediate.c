// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * A peer that uses libibverbs completes the receives of the DAT side by RDMA writes and sends with
 * immediate data.  If an RDMA write completes a receive, the completion reports the length of the
 * write, which may be longer than the receive.  An endpoint that has not asked for immediate data
 * refuses them; one that has gets the number that the peer has put on the wire in network byte
 * order.
 *
 * Or the peer sends plain messages and never completes the handshake.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "verbs_request.h"

#define POSTED	64	/* size of each receive that the DAT side posts */
#define LONG	3000
#define RECVS	3

static char host[INET_ADDRSTRLEN];

/* The DAT side, and the process of the peer. */
struct side {
	struct a_pair p;
	DAT_EP_HANDLE ep;
	pid_t peer;
};

FIXTURE(immediate) {
	struct side side;
};

FIXTURE_VARIANT(immediate) {
	int shared;
	int silent;
};

FIXTURE_VARIANT_ADD(immediate, rq) { };
FIXTURE_VARIANT_ADD(immediate, srq) { .shared = 1 };
FIXTURE_VARIANT_ADD(immediate, before_established) { .silent = 1 };
FIXTURE_VARIANT_ADD(immediate, srq_before_established) { .shared = 1, .silent = 1 };

FIXTURE(asking) {
	struct side side;
};

FIXTURE_VARIANT(asking) {
	int shared;
	int silent;
};

FIXTURE_VARIANT_ADD(asking, rq) { };
FIXTURE_VARIANT_ADD(asking, srq) { .shared = 1 };
FIXTURE_VARIANT_ADD(asking, before_established) { .silent = 1 };
FIXTURE_VARIANT_ADD(asking, srq_before_established) { .shared = 1, .silent = 1 };

/* Create an endpoint with RECVS receives of POSTED bytes.  @asks: with immediate data. */
static DAT_RETURN make_ep(struct side *self, int shared, int asks)
{
	DAT_NAMED_ATTR named = { "immediate_data", "1" };
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = RECVS, .max_recv_iov = 1 };
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, POSTED);
	DAT_EP_ATTR attr = a_attr(p);
	DAT_SRQ_HANDLE srq;
	DAT_RETURN rc = DAT_SUCCESS;
	int i;

	attr.ep_provider_specific_count = asks;
	attr.ep_provider_specific = &named;
	if (shared) {
		rc = dat_srq_create(p->ia, p->pz, &srq_attr, &srq);
		if (rc == DAT_SUCCESS)
			rc = dat_ep_create_with_srq(p->ia, p->pz, p->evd[0], p->evd[0],
						    p->evd[0], srq, &attr, &self->ep);
	} else {
		rc = dat_ep_create(p->ia, p->pz, p->evd[0], p->evd[0], p->evd[0], &attr,
				   &self->ep);
	}
	for (i = 0; i < RECVS && rc == DAT_SUCCESS; i++)
		rc = shared ? dat_srq_post_recv(srq, 1, &seg, a_cookie(i)) :
		     dat_ep_post_recv(self->ep, 1, &seg, a_cookie(i), 0);
	return rc;
}

static DAT_RETURN open_side(struct side *self, int shared, int asks)
{
	struct sockaddr_in *sin;
	DAT_RETURN rc;

	self->peer = 0;
	rc = a_open(&self->p);
	if (rc != DAT_SUCCESS)
		return rc;
	sin = (struct sockaddr_in *)self->p.attr.ia_address_ptr;
	inet_ntop(AF_INET, &sin->sin_addr, host, sizeof(host));
	return make_ep(self, shared, asks);
}

static void close_side(struct side *self)
{
	if (self->peer > 0) {
		kill(self->peer, SIGKILL);
		waitpid(self->peer, NULL, 0);
	}
	a_close(&self->p);
}

FIXTURE_SETUP(immediate)
{
	ASSERT_EQ(DAT_SUCCESS, open_side(&self->side, variant->shared, 0));
}

FIXTURE_TEARDOWN(immediate)
{
	close_side(&self->side);
}

FIXTURE_SETUP(asking)
{
	ASSERT_EQ(DAT_SUCCESS, open_side(&self->side, variant->shared, 1));
}

FIXTURE_TEARDOWN(asking)
{
	close_side(&self->side);
}

/*
 * Accept a peer that posts the request @req.  If req->silent is set, the peer does not complete
 * the handshake, so the request arrives before ESTABLISHED.  Otherwise the peer completes the
 * handshake first.
 */
static void converse(struct __test_metadata *_metadata, struct side *self,
		     const struct v_request *req)
{
	struct a_pair *p = &self->p;
	struct target target = { (uintptr_t)p->mem.va + 4096, p->mem.rmr, 0 };
	DAT_EVENT event;

	self->peer = fork();
	if (!self->peer)
		_exit(v_peer(host, A_QUAL, req));
	ASSERT_EQ(1, a_event(p->cr, A_WAIT_US, &event));
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
					     self->ep, sizeof(target), &target));
	ASSERT_EQ(1, a_event(p->evd[0], A_WAIT_US, &event));
	ASSERT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
}

/* Expect that the oldest receive fails with @status, and that the connection breaks. */
static void expect_broken(struct __test_metadata *_metadata, struct side *self, int shared,
			  int status)
{
	DAT_EVENT event;
	uint64_t cookie;
	int i;

	EXPECT_EQ(status, a_dto(self->p.evd[0], &cookie, NULL));
	EXPECT_EQ(0, cookie);
	for (i = 1; i < RECVS && !shared; i++)
		EXPECT_EQ(DAT_DTO_ERR_FLUSHED, a_dto(self->p.evd[0], NULL, NULL));
	ASSERT_EQ(1, a_event(self->p.evd[0], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_BROKEN, event.event_number);
}

TEST_F_TIMEOUT(immediate, a_long_write_with_immediate_is_no_message, 60)
{
	const struct v_request req = { IBV_WR_RDMA_WRITE_WITH_IMM, LONG, variant->silent };

	converse(_metadata, &self->side, &req);
	expect_broken(_metadata, &self->side, variant->shared, DAT_DTO_ERR_LOCAL_LENGTH);
}

TEST_F_TIMEOUT(immediate, a_short_write_with_immediate_is_no_message, 60)
{
	const struct v_request req = { IBV_WR_RDMA_WRITE_WITH_IMM, 0, variant->silent };

	converse(_metadata, &self->side, &req);
	expect_broken(_metadata, &self->side, variant->shared, DAT_DTO_ERR_BAD_RESPONSE);
}

TEST_F_TIMEOUT(immediate, a_send_with_immediate_is_refused, 60)
{
	const struct v_request req = { IBV_WR_SEND_WITH_IMM, POSTED, variant->silent };

	converse(_metadata, &self->side, &req);
	expect_broken(_metadata, &self->side, variant->shared, DAT_DTO_ERR_BAD_RESPONSE);
}

/* Control: a send without immediate data arrives as a message. */
TEST_F_TIMEOUT(immediate, a_plain_send_arrives, 60)
{
	const struct v_request req = { IBV_WR_SEND, POSTED, variant->silent };
	uint64_t len = 0;

	converse(_metadata, &self->side, &req);
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(self->side.p.evd[0], NULL, &len));
	EXPECT_EQ(POSTED, len);
}

/* Expect that the oldest receive has the peer's number. */
static void expect_number(struct __test_metadata *_metadata, struct side *self,
			  DAT_EVENT_NUMBER number, uint32_t len)
{
	DAT_LINUX_IMMED_EVENT_DATA data;
	DAT_EVENT event;

	ASSERT_EQ(1, a_event(self->p.evd[0], A_WAIT_US, &event));
	EXPECT_EQ(number, event.event_number);
	data = dat_linux_immed_event_data(&event);
	EXPECT_EQ(self->ep, data.ep_handle);
	EXPECT_EQ(0, data.user_cookie.as_64);
	EXPECT_EQ(DAT_DTO_SUCCESS, data.status);
	EXPECT_EQ(len, data.transfered_length);
	EXPECT_EQ(V_IMMEDIATE, data.immed_data);
}

TEST_F_TIMEOUT(asking, a_write_tells_its_number_and_its_length, 60)
{
	const struct v_request req = { IBV_WR_RDMA_WRITE_WITH_IMM, LONG, variant->silent };

	converse(_metadata, &self->side, &req);
	expect_number(_metadata, &self->side, DAT_LINUX_RDMA_WRITE_IMMED_EVENT, LONG);
}

TEST_F_TIMEOUT(asking, a_write_of_nothing_tells_its_number, 60)
{
	const struct v_request req = { IBV_WR_RDMA_WRITE_WITH_IMM, 0, variant->silent };

	converse(_metadata, &self->side, &req);
	expect_number(_metadata, &self->side, DAT_LINUX_RDMA_WRITE_IMMED_EVENT, 0);
}

TEST_F_TIMEOUT(asking, a_send_tells_its_number, 60)
{
	const struct v_request req = { IBV_WR_SEND_WITH_IMM, POSTED, variant->silent };

	converse(_metadata, &self->side, &req);
	expect_number(_metadata, &self->side, DAT_LINUX_RECV_IMMED_EVENT, POSTED);
}

TEST_F_TIMEOUT(asking, a_plain_send_is_a_plain_message, 60)
{
	const struct v_request req = { IBV_WR_SEND, POSTED, variant->silent };
	uint64_t len = 0;

	converse(_metadata, &self->side, &req);
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(self->side.p.evd[0], NULL, &len));
	EXPECT_EQ(POSTED, len);
}

/* --- messages of a peer that never completes the handshake ------------------ */

FIXTURE(early) {
	struct side side;
	DAT_EVD_HANDLE evd;	/* for receives */
	int go[2];
};

FIXTURE_SETUP(early)
{
	struct a_pair *p = &self->side.p;

	ASSERT_EQ(DAT_SUCCESS, open_side(&self->side, 0, 0));
	ASSERT_EQ(DAT_SUCCESS,
		  dat_evd_create(p->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &self->evd));
	ASSERT_EQ(0, pipe(self->go));
}

FIXTURE_TEARDOWN(early)
{
	close_side(&self->side);
}

/* Replace the endpoint by one that has room for a single receive, and post it. */
static DAT_RETURN make_short_ep(FIXTURE_DATA(early) *self, DAT_COMPLETION_FLAGS flags)
{
	struct side *side = &self->side;
	struct a_pair *p = &side->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, POSTED);
	DAT_EP_ATTR attr = a_attr(p);
	DAT_RETURN rc;

	attr.max_recv_dtos = 1;
	attr.recv_completion_flags = flags;
	dat_ep_free(side->ep);
	rc = dat_ep_create(p->ia, p->pz, self->evd, p->evd[0], p->evd[0], &attr, &side->ep);
	return rc ? rc : dat_ep_post_recv(side->ep, 1, &seg, a_cookie(0), 0);
}

/* Start the peer, and accept it.  The peer sends when a byte is written to self->go. */
static DAT_RETURN accept_peer(FIXTURE_DATA(early) *self, const struct v_request *req)
{
	struct side *side = &self->side;
	struct target unused = { 0 };
	DAT_EVENT event;

	side->peer = fork();
	if (!side->peer)
		_exit(v_peer_at(host, A_QUAL, req, self->go[0]));
	if (a_event(side->p.cr, A_WAIT_US, &event) != 1)
		return DAT_TIMEOUT_EXPIRED;
	return dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, side->ep,
			     sizeof(unused), &unused);
}

/* Let the peer send.  Returns 1 when the connection is established, else 0. */
static int peer_sends(FIXTURE_DATA(early) *self)
{
	DAT_EVENT event;

	return write(self->go[1], "g", 1) == 1 &&
	       a_event(self->side.p.evd[0], A_WAIT_US, &event) == 1 &&
	       event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
}

/*
 * The first message uses up all receives before ESTABLISHED, so no completion will make the driver
 * take the next receive.  It must ask for a kick when it reports that message.
 */
TEST_F_TIMEOUT(early, a_receive_posted_after_the_first_message_takes_the_second, 60)
{
	const struct v_request req = { IBV_WR_SEND, POSTED, .silent = 1, .times = 2 };
	struct side *side = &self->side;
	DAT_LMR_TRIPLET seg = a_seg(&side->p.mem, 0, POSTED);
	uint64_t cookie;
	int status;

	ASSERT_EQ(DAT_SUCCESS, make_short_ep(self, DAT_COMPLETION_DEFAULT_FLAG));
	ASSERT_EQ(DAT_SUCCESS, accept_peer(self, &req));
	ASSERT_EQ(1, peer_sends(self));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(self->evd, &cookie, NULL));
	EXPECT_EQ(0, cookie);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(side->ep, 1, &seg, a_cookie(1), 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(self->evd, &cookie, NULL));
	EXPECT_EQ(1, cookie);
	EXPECT_EQ(side->peer, waitpid(side->peer, &status, 0));
	EXPECT_EQ(0, status);
	side->peer = 0;
}

static void *wait_for_message(void *arg)
{
	FIXTURE_DATA(early) *self = arg;
	DAT_EVENT event;

	return (void *)(uintptr_t)a_event(self->evd, A_WAIT_US, &event);
}

/* The device tells of the message before ESTABLISHED, but the event comes after that. */
TEST_F_TIMEOUT(early, a_solicited_message_wakes_who_waits, 60)
{
	const struct v_request req = {
		IBV_WR_SEND, POSTED, .silent = 1, .times = 1, .solicited = 1,
	};
	pthread_t waiter;
	void *woken;

	ASSERT_EQ(DAT_SUCCESS, make_short_ep(self, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	ASSERT_EQ(DAT_SUCCESS, accept_peer(self, &req));
	ASSERT_EQ(0, pthread_create(&waiter, NULL, wait_for_message, self));
	usleep(A_QUIET_US);
	EXPECT_EQ(1, peer_sends(self));
	pthread_join(waiter, &woken);
	EXPECT_EQ(1, (uintptr_t)woken);
}

TEST_HARNESS_MAIN
