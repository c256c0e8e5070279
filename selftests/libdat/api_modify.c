// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Modifying EPs and SRQs, and LMRs that share the memory of other LMRs. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_api.h"

FIXTURE(modify) {
	struct a_pair p;
};

FIXTURE_SETUP(modify)
{
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
}

FIXTURE_TEARDOWN(modify)
{
	a_close(&self->p);
}

static DAT_RETURN connect_pair(struct a_pair *p)
{
	return a_connect(p, p->ep[1], p->ep[0], p->evd[1], p->evd[0]);
}

/* Covers: dat_ep_modify; SH 1, 45 */
TEST_F_TIMEOUT(modify, receives_that_are_posted_stay, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg[4];
	DAT_EP_PARAM param;
	uint64_t cookie, len;
	int i;

	for (i = 0; i < 4; i++) {
		seg[i] = a_seg(&p->mem, i * 4096, 64);
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &seg[i], a_cookie(i), 0));
	}
	param.ep_attr.max_recv_dtos = 200;
	param.ep_attr.max_request_dtos = 100;
	param.ep_attr.max_recv_iov = 4;
	ASSERT_EQ(DAT_SUCCESS, dat_ep_modify(p->ep[0], DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
					     DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS |
					     DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &param));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[0], DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(256, param.ep_attr.max_recv_dtos);
	EXPECT_EQ(128, param.ep_attr.max_request_dtos);
	EXPECT_EQ(4, param.ep_attr.max_recv_iov);
	/* Post one more receive, with 4 segments, which only the modified EP can hold. */
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 4, seg, a_cookie(4), 0));
	ASSERT_EQ(DAT_SUCCESS, connect_pair(p));
	for (i = 0; i < 5; i++) {
		DAT_LMR_TRIPLET out = a_seg(&p->mem, 65536, i < 4 ? 10 + i : 200);

		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &out, a_cookie(9), 0));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], &cookie, &len));
		EXPECT_EQ(i, cookie);
		EXPECT_EQ(i < 4 ? 10 + i : 200, len);
	}
}

/* Covers: dat_ep_modify; dat_evd_free; dat_evd_free INVALID_STATE|EVD_IN_USE */
TEST_F_TIMEOUT(modify, events_go_to_the_new_evd_and_the_old_one_is_free, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_EP_PARAM param;
	DAT_EVD_HANDLE evd;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 64, DAT_HANDLE_NULL,
					      DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &evd));
	param.recv_evd_handle = evd;
	param.request_evd_handle = evd;
	param.connect_evd_handle = evd;
	ASSERT_EQ(DAT_SUCCESS, dat_ep_modify(p->ep[0], DAT_EP_FIELD_RECV_EVD_HANDLE |
					     DAT_EP_FIELD_REQUEST_EVD_HANDLE |
					     DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	EXPECT_EQ(DAT_SUCCESS, dat_evd_free(p->evd[0]));
	EXPECT_EQ(DAT_INVALID_STATE, TYPE(dat_evd_free(evd)));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, p->ep[1], p->ep[0], p->evd[1], evd));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &seg, a_cookie(1), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 0, NULL, a_cookie(2), 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(evd, NULL, NULL));
}

/* Covers: dat_ep_modify; dat_ep_post_recv PROTECTION_VIOLATION; SH 37 */
TEST_F_TIMEOUT(modify, receives_of_the_old_zone_are_protection_errors, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_EP_PARAM param;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &seg, a_cookie(1), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(p->ia, &param.pz_handle));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_modify(p->ep[0], DAT_EP_FIELD_PZ_HANDLE, &param));
	EXPECT_EQ(DAT_PROTECTION_VIOLATION,
		  TYPE(dat_ep_post_recv(p->ep[0], 1, &seg, a_cookie(2), 0)));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_connect(p->ep[1], p->attr.ia_address_ptr, A_QUAL, A_WAIT_US,
					      0, NULL, DAT_QOS_BEST_EFFORT,
					      DAT_CONNECT_DEFAULT_FLAG));
	ASSERT_EQ(1, a_event(p->cr, A_WAIT_US, &event));
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
					     p->ep[0], 0, NULL));
	EXPECT_EQ(DAT_DTO_ERR_LOCAL_PROTECTION, a_dto(p->evd[0], NULL, NULL));
}

/* Covers: dat_ep_modify INVALID_STATE */
TEST_F_TIMEOUT(modify, only_where_the_state_allows_it, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_RSP_HANDLE rsp;
	DAT_EP_PARAM param;

	param.pz_handle = p->pz;
	param.ep_attr.max_recv_dtos = 32;
	param.ep_attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	ASSERT_EQ(DAT_SUCCESS, dat_rsp_create(p->ia, A_QUAL + 1, p->ep[0], p->cr, &rsp));
	EXPECT_EQ(DAT_SUCCESS, dat_ep_modify(p->ep[0], DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RESERVED),
		  dat_ep_modify(p->ep[0], DAT_EP_FIELD_PZ_HANDLE, &param));
	ASSERT_EQ(DAT_SUCCESS, dat_rsp_free(rsp));

	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &seg, a_cookie(1), 0));
	EXPECT_EQ(DAT_INVALID_STATE,
		  TYPE(dat_ep_modify(p->ep[0], DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS,
				     &param)));
	ASSERT_EQ(DAT_SUCCESS, connect_pair(p));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED),
		  dat_ep_modify(p->ep[0], DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
}

/*
 * Covers: dat_ep_modify INVALID_PARAMETER|ARG2|ARG3 INVALID_STATE
 * INVALID_HANDLE|PZ|EVD_RECV|EVD_REQUEST|EVD_CONN MODEL_NOT_SUPPORTED
 */
TEST_F(modify, a_refused_change_changes_nothing)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_EP_PARAM before, after, param;
	int i;

	for (i = 0; i < 6; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &seg, a_cookie(i), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[0], DAT_EP_FIELD_ALL, &before));
	param = before;
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_ep_modify(p->ep[0], DAT_EP_FIELD_IA_HANDLE, &param));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_ep_modify(p->ep[0], DAT_EP_FIELD_EP_STATE, &param));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_ep_modify(p->ep[0], DAT_EP_FIELD_SRQ_HANDLE, &param));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_ep_modify(p->ep[0], 0x80000000ULL, &param));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		  dat_ep_modify(p->ep[0], DAT_EP_FIELD_PZ_HANDLE, NULL));
	param.pz_handle = p->ia;
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ),
		  dat_ep_modify(p->ep[0], DAT_EP_FIELD_PZ_HANDLE, &param));
	param.recv_evd_handle = p->cr;
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV),
		  dat_ep_modify(p->ep[0], DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	param.request_evd_handle = p->cr;
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST),
		  dat_ep_modify(p->ep[0], DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param));
	param.connect_evd_handle = p->cr;
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN),
		  dat_ep_modify(p->ep[0], DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	param.ep_attr.qos = DAT_QOS_LOW_LATENCY;
	EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0),
		  dat_ep_modify(p->ep[0], DAT_EP_FIELD_EP_ATTR_QOS, &param));
	param.ep_attr.max_recv_dtos = -1;
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		  dat_ep_modify(p->ep[0], DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
	/* The EP has six posted receives, so the new limit of 4 is too small. */
	param.ep_attr.max_recv_dtos = 4;
	EXPECT_EQ(DAT_INVALID_STATE,
		  TYPE(dat_ep_modify(p->ep[0], DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param)));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[0], DAT_EP_FIELD_ALL, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
}

/* A request with more segments than max_request_iov would be written beyond its ring entry. */
TEST_F(modify, fewer_segments_are_fewer_for_every_operation)
{
	DAT_EP_PARAM param = { .ep_attr.max_request_iov = 1 };
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS,
		  dat_ep_modify(p->ep[0], DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV, &param));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[0], DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(1, param.ep_attr.max_request_iov);
	EXPECT_EQ(1, param.ep_attr.max_rdma_write_iov);
	EXPECT_EQ(1, param.ep_attr.max_rdma_read_iov);
	/* The limits for RDMA cannot be raised above max_request_iov. */
	param.ep_attr.max_rdma_write_iov = 3;
	param.ep_attr.max_rdma_read_iov = 3;
	dat_ep_modify(p->ep[0], DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV |
				DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV, &param);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[0], DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(1, param.ep_attr.max_rdma_write_iov);
	EXPECT_EQ(1, param.ep_attr.max_rdma_read_iov);
}

/* Covers: dat_ep_recv_query; dat_ep_recv_query INVALID_HANDLE|EP; SH 50 */
TEST_F(modify, receive_counts)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_COUNT n = -5, span = -5;
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &seg, a_cookie(i), 0));
	EXPECT_EQ(DAT_SUCCESS, dat_ep_recv_query(p->ep[0], &n, &span));
	EXPECT_EQ(3, n);
	EXPECT_EQ(3, span);
	EXPECT_EQ(DAT_SUCCESS, dat_ep_recv_query(p->ep[0], NULL, NULL));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		  dat_ep_recv_query(p->ia, &n, &span));
}

/*
 * Covers: dat_ep_set_watermark; dat_ep_set_watermark INVALID_PARAMETER|ARG2|ARG3
 * MODEL_NOT_SUPPORTED INVALID_HANDLE|EP; SH 49
 */
TEST_F(modify, high_watermarks_can_only_be_off)
{
	struct a_pair *p = &self->p;
	DAT_PROVIDER_ATTR attr;

	ASSERT_EQ(DAT_SUCCESS, dat_ia_query(p->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	EXPECT_EQ(0x001, attr.srq_watermarks_supported);
	EXPECT_EQ(DAT_SUCCESS, dat_ep_set_watermark(p->ep[0], DAT_WATERMARK_INFINITE,
						    DAT_WATERMARK_INFINITE));
	EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0),
		  dat_ep_set_watermark(p->ep[0], 4, DAT_WATERMARK_INFINITE));
	EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0),
		  dat_ep_set_watermark(p->ep[0], DAT_WATERMARK_INFINITE, 4));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_ep_set_watermark(p->ep[0], -2, 4));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		  dat_ep_set_watermark(p->ep[0], 4, -2));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP), dat_ep_set_watermark(NULL, 4, 4));
}

/* Make an SRQ of 8 buffers.  Connect ep[1] to a new ep[0] that uses the SRQ. */
static DAT_RETURN with_srq(struct a_pair *p, DAT_SRQ_HANDLE *srq)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	DAT_EP_ATTR ep = a_attr(p);
	DAT_RETURN rc;

	rc = dat_srq_create(p->ia, p->pz, &attr, srq);
	if (rc == DAT_SUCCESS)
		rc = dat_ep_free(p->ep[0]);
	ep.max_recv_dtos = 0;
	if (rc == DAT_SUCCESS)
		rc = dat_ep_create_with_srq(p->ia, p->pz, p->evd[0], p->evd[0], p->evd[0], *srq,
					    &ep, &p->ep[0]);
	return rc == DAT_SUCCESS ? connect_pair(p) : rc;
}

static DAT_RETURN give(struct a_pair *p, DAT_SRQ_HANDLE srq, int i)
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, i * 4096, 64);

	return dat_srq_post_recv(srq, 1, &seg, a_cookie(i));
}

/*
 * Covers: dat_srq_resize; dat_srq_resize INVALID_STATE INVALID_PARAMETER|ARG2 INVALID_HANDLE|SRQ;
 * dat_srq_post_recv INSUFFICIENT_RESOURCES|SRQ; SH 47, 52
 */
TEST_F_TIMEOUT(modify, an_srq_grows_and_shrinks_with_its_buffers, 60)
{
	struct a_pair *p = &self->p;
	DAT_SRQ_PARAM param;
	DAT_SRQ_HANDLE srq;
	uint64_t cookie;
	int i;

	ASSERT_EQ(DAT_SUCCESS, with_srq(p, &srq));
	for (i = 0; i < 8; i++)
		ASSERT_EQ(DAT_SUCCESS, give(p, srq, i));
	EXPECT_EQ(RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ), give(p, srq, i));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_resize(srq, 32));
	for (; i < 32; i++)
		ASSERT_EQ(DAT_SUCCESS, give(p, srq, i));
	EXPECT_EQ(RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ), give(p, srq, i));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	EXPECT_EQ(32, param.max_recv_dtos);
	EXPECT_EQ(32, param.available_dto_count);
	EXPECT_EQ(32, param.outstanding_dto_count);
	EXPECT_EQ(DAT_INVALID_STATE, TYPE(dat_srq_resize(srq, 16)));
	for (i = 0; i < 28; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 0, NULL, a_cookie(99), 0));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], &cookie, NULL));
		EXPECT_EQ(i, cookie);
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], &cookie, NULL));
	}
	ASSERT_EQ(DAT_SUCCESS, dat_srq_resize(srq, 4));
	EXPECT_EQ(RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ), give(p, srq, 1));
	for (; i < 32; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 0, NULL, a_cookie(99), 0));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], &cookie, NULL));
		EXPECT_EQ(i, cookie);
		ASSERT_EQ(DAT_SUCCESS, give(p, srq, i));
	}
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2), dat_srq_resize(srq, 0));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2), dat_srq_resize(srq, 1 << 30));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ), dat_srq_resize(p->ia, 4));
}

/*
 * Wait up to @us for the low watermark event of @srq.  Return 1 if it arrives, 0 on timeout, -1 if
 * another event arrives.
 */
static int low_event(struct a_pair *p, DAT_SRQ_HANDLE srq, unsigned int us)
{
	DAT_ASYNCH_ERROR_EVENT_DATA *data;
	DAT_EVENT event;

	if (!a_event(p->async, us, &event))
		return 0;
	data = &event.event_data.asynch_error_event_data;
	return data->dat_handle == srq && data->reason == DAT_SRQ_LOW_WATERMARK_EVENT ? 1 : -1;
}

/*
 * Covers: dat_srq_set_lw; dat_srq_set_lw INVALID_PARAMETER|ARG2 INVALID_HANDLE|SRQ;
 * dat_srq_query; SH 48
 */
TEST_F_TIMEOUT(modify, the_low_watermark_speaks_once_per_arming, 60)
{
	struct a_pair *p = &self->p;
	DAT_SRQ_PARAM param;
	DAT_SRQ_HANDLE srq;
	int i;

	ASSERT_EQ(DAT_SUCCESS, with_srq(p, &srq));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(DAT_SUCCESS, give(p, srq, i));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2), dat_srq_set_lw(srq, 9));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2), dat_srq_set_lw(srq, -1));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ), dat_srq_set_lw(p->ia, 1));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_set_lw(srq, 3));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	EXPECT_EQ(3, param.low_watermark);
	EXPECT_EQ(0, low_event(p, srq, A_QUIET_US));
	/*
	 * The watermark is 3.  The first message leaves 3 buffers: no event.  The second message
	 * leaves 2 buffers: an event.
	 */
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 0, NULL, a_cookie(9), 0));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
		EXPECT_EQ(i, low_event(p, srq, i ? A_WAIT_US : A_QUIET_US));
	}
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 0, NULL, a_cookie(9), 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
	EXPECT_EQ(0, low_event(p, srq, A_QUIET_US));
	/*
	 * The number of buffers is below the watermark, so dat_srq_set_lw() itself queues the
	 * event.
	 */
	ASSERT_EQ(DAT_SUCCESS, dat_srq_set_lw(srq, 3));
	EXPECT_EQ(1, low_event(p, srq, 0));
}

/* Covers: dat_lmr_create; dat_lmr_query; dat_lmr_free; SH 38 */
TEST_F_TIMEOUT(modify, memory_registered_by_its_lmr_outlives_that, 60)
{
	struct a_pair *p = &self->p;
	DAT_REGION_DESCRIPTION region = { .for_lmr_handle = p->mem.lmr };
	DAT_LMR_TRIPLET seg;
	DAT_LMR_PARAM param;
	struct a_mem twin = p->mem;
	DAT_VLEN size;
	DAT_VADDR addr;

	region.for_lmr_handle = p->ia;
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR),
		  dat_lmr_create(p->ia, DAT_MEM_TYPE_LMR, region, 0, p->pz, DAT_MEM_PRIV_ALL_FLAG,
				 &twin.lmr, &twin.ctx, &twin.rmr, &size, &addr));
	region.for_lmr_handle = p->mem.lmr;
	ASSERT_EQ(DAT_SUCCESS, dat_lmr_create(p->ia, DAT_MEM_TYPE_LMR, region, 0, p->pz,
					      DAT_MEM_PRIV_ALL_FLAG, &twin.lmr, &twin.ctx,
					      &twin.rmr, &size, &addr));
	EXPECT_EQ(p->mem.size, size);
	EXPECT_EQ((uintptr_t)p->mem.va, addr);
	EXPECT_NE(p->mem.ctx, twin.ctx);
	ASSERT_EQ(DAT_SUCCESS, dat_lmr_query(twin.lmr, DAT_LMR_FIELD_ALL, &param));
	EXPECT_EQ(DAT_MEM_TYPE_LMR, param.mem_type);
	EXPECT_EQ(p->mem.lmr, param.region_desc.for_lmr_handle);
	ASSERT_EQ(DAT_SUCCESS, dat_lmr_free(p->mem.lmr));
	ASSERT_EQ(DAT_SUCCESS, connect_pair(p));
	seg = a_seg(&twin, 0, 64);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &seg, a_cookie(1), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &seg, a_cookie(2), 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
}

static DAT_RETURN share(struct a_pair *p, void *va, size_t len, DAT_LMR_COOKIE cookie,
			DAT_LMR_HANDLE *lmr)
{
	DAT_REGION_DESCRIPTION region;

	region.for_shared_memory.virtual_address = va;
	region.for_shared_memory.shared_memory_id = cookie;
	return dat_lmr_create(p->ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, len, p->pz,
			      DAT_MEM_PRIV_ALL_FLAG, lmr, NULL, NULL, NULL, NULL);
}

/* Covers: dat_lmr_create INVALID_STATE INVALID_PARAMETER|ARG3; SH 41 */
TEST_F_TIMEOUT(modify, a_cookie_names_one_memory_for_all, 60)
{
	struct a_pair *p = &self->p;
	char name[DAT_LMR_COOKIE_SIZE] = "the name", other[DAT_LMR_COOKIE_SIZE] = "another";
	char *shared = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *more = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	DAT_LMR_HANDLE lmr[3];
	int status;
	pid_t pid;

	/* Private memory cannot be registered as shared memory. */
	EXPECT_EQ(DAT_INVALID_STATE, TYPE(share(p, p->mem.va, 4096, &name, &lmr[0])));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		  share(p, shared, 65536, NULL, &lmr[0]));
	ASSERT_EQ(DAT_SUCCESS, share(p, shared, 65536, &name, &lmr[0]));
	ASSERT_EQ(DAT_SUCCESS, share(p, shared, 65536, &name, &lmr[1]));
	EXPECT_EQ(DAT_INVALID_STATE, TYPE(share(p, more, 65536, &name, &lmr[2])));
	EXPECT_EQ(DAT_INVALID_STATE, TYPE(share(p, shared, 4096, &name, &lmr[2])));
	ASSERT_EQ(DAT_SUCCESS, share(p, more, 65536, &other, &lmr[2]));
	pid = fork();
	if (!pid) {
		struct a_pair q;

		if (a_ia(&q.ia, &q.async) || dat_pz_create(q.ia, &q.pz))
			_exit(1);
		if (TYPE(share(&q, more, 65536, &name, &lmr[0])) != DAT_INVALID_STATE)
			_exit(2);
		_exit(share(&q, shared, 65536, &name, &lmr[0]) == DAT_SUCCESS ? 0 : 3);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	/*
	 * The cookie can be used for other memory when the last LMR with this cookie has been
	 * freed.
	 */
	ASSERT_EQ(DAT_SUCCESS, dat_lmr_free(lmr[0]));
	EXPECT_EQ(DAT_INVALID_STATE, TYPE(share(p, more, 65536, &name, &lmr[0])));
	ASSERT_EQ(DAT_SUCCESS, dat_lmr_free(lmr[1]));
	EXPECT_EQ(DAT_SUCCESS, share(p, more, 65536, &name, &lmr[0]));
}

/*
 * Covers: dat_lmr_sync_rdma_read; dat_lmr_sync_rdma_read INVALID_HANDLE|IA
 * INVALID_PARAMETER|ARG2; dat_lmr_sync_rdma_write; dat_lmr_sync_rdma_write
 * INVALID_PARAMETER|ARG2; SH 43
 */
TEST_F(modify, syncing_checks_its_arguments)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg[2] = { a_seg(&p->mem, 0, 64), a_seg(&p->mem, p->mem.size - 64, 64) };

	EXPECT_EQ(DAT_SUCCESS, dat_lmr_sync_rdma_read(p->ia, seg, 2));
	EXPECT_EQ(DAT_SUCCESS, dat_lmr_sync_rdma_write(p->ia, seg, 2));
	EXPECT_EQ(DAT_SUCCESS, dat_lmr_sync_rdma_write(p->ia, NULL, 0));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
		  dat_lmr_sync_rdma_read(p->pz, seg, 2));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_lmr_sync_rdma_read(p->ia, NULL, 1));
	seg[1].segment_length++;
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_lmr_sync_rdma_read(p->ia, seg, 2));
	seg[0].lmr_context ^= 0x100000;
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_lmr_sync_rdma_write(p->ia, seg, 1));
}

TEST_HARNESS_MAIN
