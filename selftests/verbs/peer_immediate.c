// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * A peer that uses libibverbs completes the receives of the DAT side by requests that are not DAT
 * messages: RDMA writes and sends with immediate data.  If an RDMA write completes a receive, the
 * completion reports the length of the write, which may be longer than the receive.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
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

FIXTURE(immediate) {
	struct a_pair p;
	DAT_EP_HANDLE ep;
	pid_t peer;
};

FIXTURE_VARIANT(immediate) {
	int shared;
	int silent;
};

FIXTURE_VARIANT_ADD(immediate, rq) { };
FIXTURE_VARIANT_ADD(immediate, srq) { .shared = 1 };
FIXTURE_VARIANT_ADD(immediate, before_established) { .silent = 1 };
FIXTURE_VARIANT_ADD(immediate, srq_before_established) { .shared = 1, .silent = 1 };

/* Create an endpoint with RECVS receives of POSTED bytes. */
static DAT_RETURN make_ep(FIXTURE_DATA(immediate) *self, int shared)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = RECVS, .max_recv_iov = 1 };
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, POSTED);
	DAT_EP_ATTR attr = a_attr(p);
	DAT_SRQ_HANDLE srq;
	DAT_RETURN rc = DAT_SUCCESS;
	int i;

	self->ep = p->ep[0];
	if (shared) {
		rc = dat_srq_create(p->ia, p->pz, &srq_attr, &srq);
		if (rc == DAT_SUCCESS)
			rc = dat_ep_create_with_srq(p->ia, p->pz, p->evd[0], p->evd[0],
						    p->evd[0], srq, &attr, &self->ep);
	}
	for (i = 0; i < RECVS && rc == DAT_SUCCESS; i++)
		rc = shared ? dat_srq_post_recv(srq, 1, &seg, a_cookie(i)) :
		     dat_ep_post_recv(self->ep, 1, &seg, a_cookie(i), 0);
	return rc;
}

FIXTURE_SETUP(immediate)
{
	struct sockaddr_in *sin;

	self->peer = 0;
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
	sin = (struct sockaddr_in *)self->p.attr.ia_address_ptr;
	inet_ntop(AF_INET, &sin->sin_addr, host, sizeof(host));
	ASSERT_EQ(DAT_SUCCESS, make_ep(self, variant->shared));
}

FIXTURE_TEARDOWN(immediate)
{
	if (self->peer > 0) {
		kill(self->peer, SIGKILL);
		waitpid(self->peer, NULL, 0);
	}
	a_close(&self->p);
}

/*
 * Accept a peer that posts the request @req.  If req->silent is set, the peer does not complete
 * the handshake, so the request arrives before ESTABLISHED.  Otherwise the peer completes the
 * handshake first.
 */
static void converse(struct __test_metadata *_metadata, FIXTURE_DATA(immediate) *self,
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
static void expect_broken(struct __test_metadata *_metadata, FIXTURE_DATA(immediate) *self,
			  int shared, int status)
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

	converse(_metadata, self, &req);
	expect_broken(_metadata, self, variant->shared, DAT_DTO_ERR_LOCAL_LENGTH);
}

TEST_F_TIMEOUT(immediate, a_short_write_with_immediate_is_no_message, 60)
{
	const struct v_request req = { IBV_WR_RDMA_WRITE_WITH_IMM, 0, variant->silent };

	converse(_metadata, self, &req);
	expect_broken(_metadata, self, variant->shared, DAT_DTO_ERR_BAD_RESPONSE);
}

TEST_F_TIMEOUT(immediate, a_send_with_immediate_is_refused, 60)
{
	const struct v_request req = { IBV_WR_SEND_WITH_IMM, POSTED, variant->silent };

	converse(_metadata, self, &req);
	expect_broken(_metadata, self, variant->shared, DAT_DTO_ERR_BAD_RESPONSE);
}

/* Control: a send without immediate data arrives as a message. */
TEST_F_TIMEOUT(immediate, a_plain_send_arrives, 60)
{
	const struct v_request req = { IBV_WR_SEND, POSTED, variant->silent };
	uint64_t len = 0;

	converse(_metadata, self, &req);
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(self->p.evd[0], NULL, &len));
	EXPECT_EQ(POSTED, len);
}

TEST_HARNESS_MAIN
