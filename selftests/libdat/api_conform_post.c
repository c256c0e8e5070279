// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Valid attributes of EPs, and posts that fail before they are queued. */
#define _GNU_SOURCE
#include <string.h>

#include "kselftest_harness.h"
#include "api_conform.h"

FIXTURE(post) {
	struct a_pair p;
	struct a_mem other;	/* memory in another protection zone */
	struct a_mem ro;	/* memory with local read only */
	DAT_SRQ_HANDLE srq;
};

FIXTURE_SETUP(post)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 4 };
	struct a_pair *p = &self->p;
	DAT_PZ_HANDLE pz;

	ASSERT_EQ(DAT_SUCCESS, a_open(p));
	ASSERT_EQ(DAT_SUCCESS, a_mem(p, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG, &self->ro));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_create(p->ia, p->pz, &attr, &self->srq));
	pz = p->pz;
	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(p->ia, &p->pz));
	ASSERT_EQ(DAT_SUCCESS, a_mem(p, 4096, DAT_MEM_PRIV_ALL_FLAG, &self->other));
	p->pz = pz;
	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
}

FIXTURE_TEARDOWN(post)
{
	a_close(&self->p);
}

static DAT_RETURN make(struct a_pair *p, const DAT_EP_ATTR *attr)
{
	DAT_EP_HANDLE ep;
	DAT_RETURN rc;

	rc = dat_ep_create(p->ia, p->pz, p->evd[0], p->evd[0], p->evd[0], attr, &ep);
	if (rc == DAT_SUCCESS)
		dat_ep_free(ep);
	return rc;
}

/* Make an EP with one attribute changed, and free it.  The result is that of dat_ep_create(). */
#define WITH(member, value) ({				\
	DAT_EP_ATTR attr_ = a_attr(&self->p);		\
	attr_.member = (value);				\
	make(&self->p, &attr_);				\
})

/* Covers: dat_ep_create INVALID_PARAMETER|ARG6 */
TEST_F(post, attributes_have_limits)
{
	const DAT_IA_ATTR *ia = &self->p.attr;

	EXPECT_EQ(IP(6), WITH(service_type, (DAT_SERVICE_TYPE)1));
	EXPECT_EQ(IP(6), WITH(max_message_size, ia->max_message_size + 1));
	EXPECT_EQ(IP(6), WITH(max_rdma_size, ia->max_rdma_size + 1));
	EXPECT_EQ(IP(6), WITH(max_recv_dtos, ia->max_dto_per_ep + 1));
	EXPECT_EQ(IP(6), WITH(max_recv_dtos, -1));
	EXPECT_EQ(IP(6), WITH(max_request_dtos, ia->max_dto_per_ep + 1));
	EXPECT_EQ(IP(6), WITH(max_request_dtos, -1));
	EXPECT_EQ(IP(6), WITH(max_recv_iov, ia->max_iov_segments_per_dto + 1));
	EXPECT_EQ(IP(6), WITH(max_request_iov, -1));
	EXPECT_EQ(IP(6), WITH(max_rdma_read_in, ia->max_rdma_read_per_ep_in + 1));
	EXPECT_EQ(IP(6), WITH(max_rdma_read_out, ia->max_rdma_read_per_ep_out + 1));
	EXPECT_EQ(IP(6), WITH(max_rdma_read_iov, ia->max_iov_segments_per_rdma_read + 1));
	EXPECT_EQ(IP(6), WITH(max_rdma_read_iov, -1));
	EXPECT_EQ(IP(6), WITH(max_rdma_write_iov, ia->max_iov_segments_per_rdma_write + 1));
	EXPECT_EQ(IP(6), WITH(max_rdma_write_iov, -1));
}

/* Covers: dat_ep_create INVALID_PARAMETER|ARG6; SH 20 */
TEST_F(post, attributes_have_no_flags_that_are_for_posts)
{
	EXPECT_EQ(IP(6), WITH(recv_completion_flags, DAT_COMPLETION_SUPPRESS_FLAG));
	EXPECT_EQ(IP(6), WITH(recv_completion_flags, DAT_COMPLETION_BARRIER_FENCE_FLAG));
	EXPECT_EQ(IP(6), WITH(request_completion_flags, DAT_COMPLETION_BARRIER_FENCE_FLAG));
	EXPECT_EQ(IP(6), WITH(request_completion_flags, (DAT_COMPLETION_FLAGS)0x40));
}

/* Covers: dat_ep_create MODEL_NOT_SUPPORTED; SH 49, 70 */
TEST_F(post, attributes_that_are_not_offered_are_refused)
{
	EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0), WITH(qos, DAT_QOS_PREMIUM));
	EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0), WITH(srq_soft_hw, 4));
}

/* Covers: dat_ep_create INVALID_PARAMETER|ARG7; dat_ep_create; SH 1, 20 */
TEST_F(post, an_ep_with_attributes_or_without)
{
	struct a_pair *p = &self->p;

	EXPECT_EQ(IP(7), dat_ep_create(p->ia, p->pz, NULL, NULL, NULL, NULL, NULL));
	EXPECT_EQ(DAT_SUCCESS, make(p, NULL));
	EXPECT_EQ(DAT_SUCCESS, WITH(qos, DAT_QOS_BEST_EFFORT));
}

/* Covers: dat_ep_create; dat_ep_query; SH 15, 45 */
TEST_F(post, what_was_asked_for_is_there)
{
	DAT_EP_ATTR attr = a_attr(&self->p);
	struct a_pair *p = &self->p;
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	attr.max_recv_dtos = 5;
	attr.max_request_dtos = 7;
	attr.max_rdma_read_in = 2;
	attr.max_rdma_read_out = 1;
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[0], p->evd[0], p->evd[0], &attr,
					     &ep));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	EXPECT_LE(5, param.ep_attr.max_recv_dtos);
	EXPECT_LE(7, param.ep_attr.max_request_dtos);
	EXPECT_EQ(2, param.ep_attr.max_rdma_read_in);
	EXPECT_EQ(1, param.ep_attr.max_rdma_read_out);
	EXPECT_EQ(attr.max_message_size, param.ep_attr.max_message_size);
	EXPECT_EQ(attr.request_completion_flags, param.ep_attr.request_completion_flags);
}

/* Covers: dat_ep_create_with_srq INVALID_PARAMETER|ARG2|ARG7|ARG8; SH 51 */
TEST_F(post, an_ep_with_an_srq)
{
	DAT_EP_ATTR good = a_attr(&self->p), bad = good, mixed = good;
	struct a_pair *p = &self->p;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;

	bad.max_request_dtos = -1;
	/* Invalid: one EVD for UNSIGNALLED requests and for receives that are not UNSIGNALLED. */
	mixed.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
#define SRQ_EP(zone, attr, out) \
	dat_ep_create_with_srq(p->ia, zone, p->evd[0], p->evd[0], p->evd[0], self->srq, attr, out)
	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(p->ia, &pz));
	EXPECT_EQ(IP(2), SRQ_EP(pz, &good, &ep));
	EXPECT_EQ(IP(7), SRQ_EP(p->pz, NULL, &ep));
	EXPECT_EQ(IP(7), SRQ_EP(p->pz, &bad, &ep));
	EXPECT_EQ(IP(7), SRQ_EP(p->pz, &mixed, &ep));
	EXPECT_EQ(IP(8), SRQ_EP(p->pz, &good, NULL));
	EXPECT_EQ(DAT_SUCCESS, SRQ_EP(p->pz, &good, &ep));
}

/* Covers: dat_ep_create_with_srq MODEL_NOT_SUPPORTED; SH 49, 70 */
TEST_F(post, nor_are_they_with_an_srq)
{
	DAT_EP_ATTR attr = a_attr(&self->p);
	struct a_pair *p = &self->p;
	DAT_EP_HANDLE ep;

	attr.qos = DAT_QOS_LOW_LATENCY;
	EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0), SRQ_EP(p->pz, &attr, &ep));
}

/* --- posts ------------------------------------------------------------------------ */

static DAT_RETURN post_send(struct a_pair *p, DAT_COUNT n, DAT_LMR_TRIPLET *iov)
{
	return dat_ep_post_send(p->ep[1], n, iov, a_cookie(0), DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN rdma(struct a_pair *p, int write, DAT_COUNT n, DAT_LMR_TRIPLET *iov)
{
	DAT_RMR_TRIPLET remote = a_rseg(&p->mem, 4096, n > 0 && iov ? iov->segment_length : 0);

	return write ? dat_ep_post_rdma_write(p->ep[1], n, iov, a_cookie(0), &remote, 0) :
		       dat_ep_post_rdma_read(p->ep[1], n, iov, a_cookie(0), &remote, 0);
}

/*
 * Covers: dat_ep_post_send dat_ep_post_rdma_read dat_ep_post_rdma_write dat_srq_post_recv
 * INVALID_PARAMETER|ARG2
 */
TEST_F_TIMEOUT(post, more_segments_than_the_ep_has, 60)
{
	DAT_LMR_TRIPLET iov[5];
	struct a_pair *p = &self->p;
	int i;

	for (i = 0; i < 5; i++)
		iov[i] = a_seg(&p->mem, 0, 8);
	EXPECT_EQ(IP(2), post_send(p, 5, iov));
	EXPECT_EQ(IP(2), post_send(p, -1, iov));
	EXPECT_EQ(IP(2), rdma(p, 0, 5, iov));
	EXPECT_EQ(IP(2), rdma(p, 0, -1, iov));
	EXPECT_EQ(IP(2), rdma(p, 1, 5, iov));
	EXPECT_EQ(IP(2), rdma(p, 1, -1, iov));
	EXPECT_EQ(IP(2), dat_srq_post_recv(self->srq, 5, iov, a_cookie(0)));
	EXPECT_EQ(IP(2), dat_srq_post_recv(self->srq, -1, iov, a_cookie(0)));
}

/*
 * Covers: dat_ep_post_send dat_ep_post_rdma_read dat_ep_post_rdma_write dat_srq_post_recv
 * INVALID_PARAMETER|ARG3; SH 37
 */
TEST_F_TIMEOUT(post, segments_outside_of_their_lmr, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET far = a_seg(&p->mem, p->mem.size - 63, 64), early = far, wraps = far;
	DAT_LMR_TRIPLET *bad[] = { &far, &early, &wraps, NULL };
	size_t i;

	early.virtual_address = (uintptr_t)p->mem.va - 1;
	wraps.virtual_address = ~0ULL - 10;
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(IP(3), post_send(p, 1, bad[i]));
		EXPECT_EQ(IP(3), rdma(p, 0, 1, bad[i]));
		EXPECT_EQ(IP(3), rdma(p, 1, 1, bad[i]));
		EXPECT_EQ(IP(3), dat_srq_post_recv(self->srq, 1, bad[i], a_cookie(0)));
	}
}

/*
 * Covers: dat_ep_post_send dat_ep_post_rdma_read dat_ep_post_rdma_write dat_srq_post_recv
 * PROTECTION_VIOLATION; SH 37
 */
TEST_F_TIMEOUT(post, memory_of_another_zone, 60)
{
	DAT_LMR_TRIPLET seg = a_seg(&self->other, 0, 64);
	struct a_pair *p = &self->p;

	EXPECT_EQ(RC(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ), post_send(p, 1, &seg));
	EXPECT_EQ(RC(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE), rdma(p, 0, 1, &seg));
	EXPECT_EQ(RC(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ), rdma(p, 1, 1, &seg));
	EXPECT_EQ(RC(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE),
		  dat_srq_post_recv(self->srq, 1, &seg, a_cookie(0)));
}

/*
 * Covers: dat_ep_post_send dat_ep_post_rdma_read dat_ep_post_rdma_write dat_srq_post_recv
 * PRIVILEGES_VIOLATION; SH 37
 */
TEST_F_TIMEOUT(post, memory_without_a_privilege, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&self->ro, 0, 64), nobodys = a_seg(&p->mem, 0, 64);

	nobodys.lmr_context ^= 0x80000000;
	EXPECT_EQ(DAT_PRIVILEGES_VIOLATION, TYPE(post_send(p, 1, &nobodys)));
	EXPECT_EQ(DAT_PRIVILEGES_VIOLATION, TYPE(rdma(p, 0, 1, &nobodys)));
	EXPECT_EQ(DAT_PRIVILEGES_VIOLATION, TYPE(rdma(p, 1, 1, &nobodys)));
	EXPECT_EQ(DAT_PRIVILEGES_VIOLATION,
		  TYPE(dat_srq_post_recv(self->srq, 1, &nobodys, a_cookie(0))));
	EXPECT_EQ(DAT_PRIVILEGES_VIOLATION, TYPE(rdma(p, 0, 1, &seg)));
	EXPECT_EQ(DAT_PRIVILEGES_VIOLATION,
		  TYPE(dat_srq_post_recv(self->srq, 1, &seg, a_cookie(0))));
}

/*
 * Covers: dat_ep_post_send dat_ep_post_recv dat_ep_post_rdma_write dat_srq_post_recv
 * LENGTH_ERROR; SH 36, 37
 */
TEST_F_TIMEOUT(post, longer_than_any_message, 60)
{
	DAT_RMR_TRIPLET remote = a_rseg(&self->p.mem, 0, ~0UL);
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET iov[4];
	int i;

	if (p->attr.max_message_size >= 4 * p->mem.size)
		SKIP(return, "messages of 16 MB are not too long");
	for (i = 0; i < 4; i++)
		iov[i] = a_seg(&p->mem, 0, p->mem.size);
	EXPECT_EQ(RC(DAT_LENGTH_ERROR, 0), post_send(p, 4, iov));
	EXPECT_EQ(RC(DAT_LENGTH_ERROR, 0), dat_ep_post_recv(p->ep[1], 4, iov, a_cookie(0), 0));
	EXPECT_EQ(RC(DAT_LENGTH_ERROR, 0),
		  dat_ep_post_rdma_write(p->ep[1], 4, iov, a_cookie(0), &remote, 0));
	EXPECT_EQ(RC(DAT_LENGTH_ERROR, 0), dat_srq_post_recv(self->srq, 4, iov, a_cookie(0)));
}

/* Covers: dat_ep_post_send dat_ep_post_rdma_write LENGTH_ERROR; SH 36, 37 */
TEST_F_TIMEOUT(post, longer_than_this_ep_may_send, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 4097);
	DAT_RMR_TRIPLET remote = a_rseg(&p->mem, 8192, 4097);
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EP_HANDLE in, out;

	attr.max_message_size = 4096;
	attr.max_rdma_size = 4096;
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[0], p->evd[0], p->evd[0], &attr,
					     &in));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[1], p->evd[1], p->evd[1], &attr,
					     &out));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, out, in, p->evd[1], p->evd[0]));
	EXPECT_EQ(RC(DAT_LENGTH_ERROR, 0), dat_ep_post_send(out, 1, &seg, a_cookie(0), 0));
	EXPECT_EQ(RC(DAT_LENGTH_ERROR, 0),
		  dat_ep_post_rdma_write(out, 1, &seg, a_cookie(0), &remote, 0));
}

/* Covers: dat_ep_post_rdma_read INVALID_PARAMETER|ARG5|ARG6; SH 18 */
TEST_F_TIMEOUT(post, a_read_needs_to_know_from_where, 60)
{
	DAT_LMR_TRIPLET seg = a_seg(&self->p.mem, 0, 64);
	DAT_RMR_TRIPLET remote = a_rseg(&self->p.mem, 0, 64);
	DAT_EP_HANDLE ep = self->p.ep[1];

	EXPECT_EQ(IP(5), dat_ep_post_rdma_read(ep, 1, &seg, a_cookie(0), NULL, 0));
	EXPECT_EQ(IP(6), dat_ep_post_rdma_read(ep, 1, &seg, a_cookie(0), &remote,
					       DAT_COMPLETION_SOLICITED_WAIT_FLAG));
}

/*
 * Covers: dat_ep_post_send dat_ep_post_rdma_read dat_ep_post_rdma_write INVALID_STATE
 */
TEST_F_TIMEOUT(post, requests_need_a_connection, 60)
{
	DAT_EP_ATTR attr = a_attr(&self->p);
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);

	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[1], p->evd[1], p->evd[1], &attr,
					     &p->ep[1]));
	EXPECT_EQ(IS(EP_UNCONNECTED), post_send(p, 1, &seg));
	EXPECT_EQ(IS(EP_UNCONNECTED), rdma(p, 0, 1, &seg));
	EXPECT_EQ(IS(EP_UNCONNECTED), rdma(p, 1, 1, &seg));
	ASSERT_EQ(DAT_SUCCESS, c_ask(p, p->ep[1]));
	EXPECT_EQ(IS(EP_ACTCONNPENDING), post_send(p, 1, &seg));
	EXPECT_EQ(IS(EP_ACTCONNPENDING), rdma(p, 0, 1, &seg));
	EXPECT_EQ(IS(EP_ACTCONNPENDING), rdma(p, 1, 1, &seg));
}

/*
 * Covers: dat_ep_post_send dat_ep_post_rdma_read dat_ep_post_rdma_write
 * INSUFFICIENT_RESOURCES|TEP; SH 45
 */
TEST_F_TIMEOUT(post, a_full_queue_of_requests, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_EP_PARAM param;
	int i;

	/*
	 * The peer never posts a receive for the first send.  All other requests wait behind this
	 * send.
	 */
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[1], DAT_EP_FIELD_ALL, &param));
	for (i = 0; i < param.ep_attr.max_request_dtos; i++)
		ASSERT_EQ(DAT_SUCCESS, post_send(p, 1, &seg));
	EXPECT_EQ(RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP), post_send(p, 1, &seg));
	EXPECT_EQ(RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP), rdma(p, 0, 1, &seg));
	EXPECT_EQ(RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP), rdma(p, 1, 1, &seg));
}

/* A refused post queues nothing and does not end the connection. */
/* Covers: SH 37 */
TEST_F_TIMEOUT(post, a_refused_post_leaves_no_trace, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET bad = a_seg(&self->other, 0, 64), good = a_seg(&p->mem, 0, 64);
	DAT_BOOLEAN idle = DAT_FALSE;

	EXPECT_NE(DAT_SUCCESS, post_send(p, 1, &bad));
	EXPECT_NE(DAT_SUCCESS, rdma(p, 1, 1, &bad));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_get_status(p->ep[1], NULL, NULL, &idle));
	EXPECT_EQ(DAT_TRUE, idle);
	ASSERT_EQ(DAT_SUCCESS, rdma(p, 1, 1, &good));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
}

TEST_HARNESS_MAIN
