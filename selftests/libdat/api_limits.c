// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* A connection must work with the limits that the attributes of the IA report. */
#define _GNU_SOURCE
#include <stddef.h>

#include "kselftest_harness.h"
#include "dat_api.h"

#define LENGTH	8	/* bytes of a message */

FIXTURE(limits) {
	struct a_pair p;
	DAT_EVD_HANDLE evd[2];	/* EVDs with the maximum queue length */
	DAT_EP_HANDLE ep[2];
};

FIXTURE_SETUP(limits)
{
	struct a_pair *p = &self->p;
	int i;

	ASSERT_EQ(DAT_SUCCESS, a_open(p));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, p->attr.max_evd_qlen, DAT_HANDLE_NULL,
						      DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
						      &self->evd[i]));
}

FIXTURE_TEARDOWN(limits)
{
	a_close(&self->p);
}

static DAT_RETURN make_eps(FIXTURE_DATA(limits) *self, DAT_EP_ATTR *attr)
{
	struct a_pair *p = &self->p;
	DAT_RETURN rc = DAT_SUCCESS;
	int i;

	for (i = 0; i < 2 && rc == DAT_SUCCESS; i++)
		rc = dat_ep_create(p->ia, p->pz, self->evd[i], self->evd[i], self->evd[i], attr,
				   &self->ep[i]);
	return rc;
}

static DAT_RETURN post(FIXTURE_DATA(limits) *self, int side, int i)
{
	DAT_LMR_TRIPLET seg = a_seg(&self->p.mem, side * LENGTH, LENGTH);

	if (side)
		return dat_ep_post_send(self->ep[1], 1, &seg, a_cookie(i),
					DAT_COMPLETION_DEFAULT_FLAG);
	return dat_ep_post_recv(self->ep[0], 1, &seg, a_cookie(i), DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN connect_eps(FIXTURE_DATA(limits) *self)
{
	return a_connect(&self->p, self->ep[1], self->ep[0], self->evd[1], self->evd[0]);
}

/* Expect that @n messages from ep[1] to ep[0] complete in order at both ends. */
static void expect_messages(struct __test_metadata *_metadata, FIXTURE_DATA(limits) *self, int n)
{
	uint64_t cookie;
	int side, i;

	for (side = 0; side < 2; side++)
		for (i = 0; i < n; i++) {
			ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(self->evd[side], &cookie, NULL)) TH_LOG(
				"side %d, message %d", side, i);
			ASSERT_EQ(i, cookie);
		}
}

static void disconnect_eps(struct __test_metadata *_metadata, FIXTURE_DATA(limits) *self)
{
	DAT_EVENT event;
	int i;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(self->ep[1], DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < 2; i++) {
		do {
			ASSERT_EQ(1, a_event(self->evd[i], A_WAIT_US, &event));
		} while (event.event_number == DAT_DTO_COMPLETION_EVENT);
		EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, event.event_number);
		ASSERT_EQ(DAT_SUCCESS, dat_ep_free(self->ep[i]));
	}
}

/* Covers: dat_ep_post_recv INSUFFICIENT_RESOURCES */
TEST_F_TIMEOUT(limits, as_many_receives_and_requests_as_promised_complete, 600)
{
	struct a_pair *p = &self->p;
	int n = p->attr.max_dto_per_ep, i;
	DAT_EP_ATTR attr = a_attr(p);

	/* The CQs of software devices have room for 16384 receives and 16384 requests. */
	EXPECT_LE(16384, n);
	attr.max_recv_dtos = n;
	attr.max_request_dtos = n;
	ASSERT_EQ(DAT_SUCCESS, make_eps(self, &attr));
	for (i = 0; i < n; i++) {
		ASSERT_EQ(DAT_SUCCESS, post(self, 0, i)) TH_LOG("receive %d", i);
	}
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, TYPE(post(self, 0, i)));
	ASSERT_EQ(DAT_SUCCESS, connect_eps(self));
	for (i = 0; i < n; i++) {
		ASSERT_EQ(DAT_SUCCESS, post(self, 1, i)) TH_LOG("send %d", i);
	}
	expect_messages(_metadata, self, n);
	disconnect_eps(_metadata, self);
}

/* A full receive queue must be flushed, although it has no room for the work request of a drain. */
TEST_F_TIMEOUT(limits, full_receive_queues_of_every_length_are_flushed, 300)
{
	DAT_EP_ATTR attr = a_attr(&self->p);
	uint64_t cookie;
	DAT_EVENT event;
	int n, i;

	for (n = 1; n <= 256; n *= 2) {
		attr.max_recv_dtos = n;
		ASSERT_EQ(DAT_SUCCESS, make_eps(self, &attr));
		for (i = 0; i < n; i++)
			ASSERT_EQ(DAT_SUCCESS, post(self, 0, i));
		ASSERT_EQ(DAT_INSUFFICIENT_RESOURCES, TYPE(post(self, 0, i)));
		ASSERT_EQ(DAT_SUCCESS, connect_eps(self));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(self->ep[0], DAT_CLOSE_ABRUPT_FLAG));
		for (i = 0; i < n; i++) {
			ASSERT_EQ(DAT_DTO_ERR_FLUSHED, a_dto(self->evd[0], &cookie, NULL));
			ASSERT_EQ(i, cookie);
		}
		for (i = 0; i < 2; i++) {
			ASSERT_EQ(1, a_event(self->evd[i], A_WAIT_US, &event));
			EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, event.event_number);
			ASSERT_EQ(DAT_SUCCESS, dat_ep_free(self->ep[i]));
		}
	}
}

/* Covers: dat_ep_create; dat_ia_query */
TEST_F_TIMEOUT(limits, every_attribute_at_its_maximum_connects, 300)
{
	const DAT_IA_ATTR *ia = &self->p.attr;
	const struct {
		size_t		at;
		DAT_COUNT	max;
	} most[] = {
#define MOST(field, max)	{ offsetof(DAT_EP_ATTR, field), ia->max }
		MOST(max_recv_dtos, max_dto_per_ep),
		MOST(max_request_dtos, max_dto_per_ep),
		MOST(max_recv_iov, max_iov_segments_per_dto),
		MOST(max_request_iov, max_iov_segments_per_dto),
		MOST(max_rdma_read_in, max_rdma_read_per_ep_in),
		MOST(max_rdma_read_out, max_rdma_read_per_ep_out),
		MOST(max_rdma_read_iov, max_iov_segments_per_rdma_read),
		MOST(max_rdma_write_iov, max_iov_segments_per_rdma_write),
	};
	const int n = sizeof(most) / sizeof(most[0]);
	DAT_EP_ATTR attr, all = a_attr(&self->p);
	int i;

	/* Set each attribute alone to its maximum, then all attributes together. */
	for (i = 0; i <= n; i++) {
		attr = i < n ? a_attr(&self->p) : all;
		if (i < n) {
			*(DAT_COUNT *)((char *)&attr + most[i].at) = most[i].max;
			*(DAT_COUNT *)((char *)&all + most[i].at) = most[i].max;
		}
		ASSERT_EQ(DAT_SUCCESS, make_eps(self, &attr)) TH_LOG("attribute %d", i);
		ASSERT_EQ(DAT_SUCCESS, post(self, 0, 0));
		ASSERT_EQ(DAT_SUCCESS, connect_eps(self)) TH_LOG("attribute %d", i);
		ASSERT_EQ(DAT_SUCCESS, post(self, 1, 0));
		expect_messages(_metadata, self, 1);
		disconnect_eps(_metadata, self);
	}
}

static DAT_COUNT at_most(DAT_COUNT n, DAT_COUNT limit)
{
	return n < limit ? n : limit;
}

/* The numbers are those of Documentation/guide.rst.  Covers: dat_ep_create; dat_ep_query */
TEST_F(limits, an_endpoint_without_attributes_has_the_defaults_of_the_guide)
{
	const DAT_IA_ATTR *ia = &self->p.attr;
	DAT_COUNT iov = at_most(4, ia->max_iov_segments_per_dto);
	const DAT_EP_ATTR *attr;
	DAT_EP_PARAM param;

	ASSERT_EQ(DAT_SUCCESS, make_eps(self, NULL));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(self->ep[0], DAT_EP_FIELD_ALL, &param));
	attr = &param.ep_attr;
	EXPECT_EQ(DAT_SERVICE_TYPE_RC, attr->service_type);
	EXPECT_EQ(DAT_QOS_BEST_EFFORT, attr->qos);
	EXPECT_EQ(ia->max_message_size, attr->max_message_size);
	EXPECT_EQ(ia->max_rdma_size, attr->max_rdma_size);
	EXPECT_EQ(0, attr->recv_completion_flags);
	EXPECT_EQ(0, attr->request_completion_flags);
	EXPECT_EQ(64, attr->max_recv_dtos);
	EXPECT_EQ(64, attr->max_request_dtos);
	EXPECT_EQ(iov, attr->max_recv_iov);
	EXPECT_EQ(iov, attr->max_request_iov);
	EXPECT_EQ(at_most(iov, ia->max_iov_segments_per_rdma_read), attr->max_rdma_read_iov);
	EXPECT_EQ(iov, attr->max_rdma_write_iov);
	EXPECT_EQ(at_most(4, ia->max_rdma_read_per_ep_in), attr->max_rdma_read_in);
	EXPECT_EQ(at_most(4, ia->max_rdma_read_per_ep_out), attr->max_rdma_read_out);
	EXPECT_EQ(DAT_HW_DEFAULT, attr->srq_soft_hw);
}

/* The numbers are those of Documentation/guide.rst.  Covers: dat_ep_create; dat_ep_query */
TEST_F(limits, an_attribute_that_is_0_has_the_default_of_the_guide)
{
	DAT_EP_ATTR none = { .service_type = DAT_SERVICE_TYPE_RC };
	const DAT_IA_ATTR *ia = &self->p.attr;
	const DAT_EP_ATTR *attr;
	DAT_EP_PARAM param;

	ASSERT_EQ(DAT_SUCCESS, make_eps(self, &none));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(self->ep[0], DAT_EP_FIELD_ALL, &param));
	attr = &param.ep_attr;
	EXPECT_EQ(ia->max_message_size, attr->max_message_size);
	EXPECT_EQ(ia->max_rdma_size, attr->max_rdma_size);
	EXPECT_EQ(1, attr->max_recv_dtos);
	EXPECT_EQ(1, attr->max_request_dtos);
	EXPECT_EQ(1, attr->max_recv_iov);
	EXPECT_EQ(1, attr->max_request_iov);
	EXPECT_EQ(1, attr->max_rdma_read_iov);
	EXPECT_EQ(1, attr->max_rdma_write_iov);
	EXPECT_EQ(0, attr->max_rdma_read_in);
	EXPECT_EQ(0, attr->max_rdma_read_out);
}

TEST_HARNESS_MAIN
