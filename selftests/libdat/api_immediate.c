// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Immediate data of libdat: the named attribute immediate_data of an EP, the two posts, and the two
 * events.
 */
#define _GNU_SOURCE
#include <string.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "api_conform.h"
#include "ioctl_over.h"

/* After the API, in which DAT_LMR_COOKIE has another meaning. */
#include <rdma/dat_ioctl.h>

#define FROM	4096	/* offsets of the memory that is sent, and of that to which writes go */
#define TO	65536
#define POSTED	64
#define LONG	5000
#define NUMBER	0x12345678U

static int has_none;	/* flag: the adapter is to be one without immediate data */

static int changed_ioctl(int fd, unsigned long request, void *arg)
{
	int ret = real_ioctl(fd, request, arg);

	if (!ret && has_none && request == DAT_IOC_IA_QUERY)
		((struct dat_ia_query *)arg)->sqe_flags &= ~(uint64_t)DAT_SQE_IMM;
	return ret;
}

FIXTURE(immediate) {
	struct a_pair p;
};

FIXTURE_SETUP(immediate)
{
	has_none = 0;
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
	memset(self->p.mem.va + FROM, 'f', LONG);
}

FIXTURE_TEARDOWN(immediate)
{
	a_close(&self->p);
}

static DAT_RETURN make_named(struct a_pair *p, int i, DAT_COUNT n, DAT_NAMED_ATTR *named)
{
	DAT_EP_ATTR attr = a_attr(p);

	dat_ep_free(p->ep[i]);
	attr.ep_provider_specific_count = n;
	attr.ep_provider_specific = named;
	return dat_ep_create(p->ia, p->pz, p->evd[i], p->evd[i], p->evd[i], &attr, &p->ep[i]);
}

/* Makes ep[i] with this value of the attribute. */
static DAT_RETURN make(struct a_pair *p, int i, const char *value)
{
	DAT_NAMED_ATTR named = { "immediate_data", value };

	return make_named(p, i, 1, &named);
}

/* Returns whether the adapter has immediate data: all have but those over iWARP. */
static int has_immediate(struct a_pair *p)
{
	DAT_PROVIDER_ATTR attr;

	return dat_ia_query(p->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr) != DAT_SUCCESS ||
	       !attr.rdma_write_for_rdma_read_req;
}

/* Makes both EPs with immediate data, and connects them. */
static DAT_RETURN connected(struct a_pair *p)
{
	DAT_RETURN rc = make(p, 0, "1");

	if (rc == DAT_SUCCESS)
		rc = make(p, 1, "1");
	return rc == DAT_SUCCESS ? a_connect(p, p->ep[1], p->ep[0], p->evd[1], p->evd[0]) : rc;
}

/* Ends the test over an adapter without immediate data, which must refuse the attribute. */
#define NEEDS_IMMEDIATE() do {							\
	if (!has_immediate(&self->p)) {						\
		EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0), make(&self->p, 0, "1"));	\
		SKIP(return, "the adapter has no immediate data");		\
	}									\
} while (0)

#define CONNECTED() do {							\
	NEEDS_IMMEDIATE();							\
	ASSERT_EQ(DAT_SUCCESS, connected(&self->p));				\
} while (0)

static DAT_RETURN post_recv(struct a_pair *p, uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, POSTED);

	return dat_ep_post_recv(p->ep[0], 1, &seg, a_cookie(cookie), 0);
}

static DAT_RETURN send_immed(struct a_pair *p, size_t len, uint32_t number, int flags)
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, FROM, len);

	return dat_linux_ep_post_send_immed(p->ep[1], 1, &seg, a_cookie(100), number,
					    (DAT_COMPLETION_FLAGS)flags);
}

static DAT_RETURN write_immed(struct a_pair *p, size_t len, uint32_t number, int flags)
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, FROM, len);
	DAT_RMR_TRIPLET to = a_rseg(&p->mem, TO, len);

	return dat_linux_ep_post_rdma_write_immed(p->ep[1], 1, &seg, a_cookie(100), &to, number,
						  (DAT_COMPLETION_FLAGS)flags);
}

/* Takes the event of a receive.  Returns 0 or the place of a difference. */
static int arrives(struct a_pair *p, uint64_t cookie, DAT_EVENT_NUMBER number, uint32_t len,
		   uint32_t immed)
{
	DAT_LINUX_IMMED_EVENT_DATA data;
	DAT_EVENT event;

	if (a_event(p->evd[0], A_WAIT_US, &event) != 1 || event.evd_handle != p->evd[0])
		return 1;
	if (event.event_number != number)
		return 2;
	data = dat_linux_immed_event_data(&event);
	if (data.ep_handle != p->ep[0] || data.user_cookie.as_64 != cookie || data.status)
		return 3;
	/* A program that knows only DAT finds the same there. */
	if (event.event_data.dto_completion_event_data.ep_handle != p->ep[0] ||
	    event.event_data.dto_completion_event_data.user_cookie.as_64 != cookie ||
	    event.event_data.dto_completion_event_data.status)
		return 4;
	return data.transfered_length != len ? 5 : data.immed_data != immed ? 6 : 0;
}

TEST_F_TIMEOUT(immediate, a_send_and_a_write_bring_their_number, 60)
{
	struct a_pair *p = &self->p;
	uint64_t cookie, len;

	CONNECTED();
	ASSERT_EQ(DAT_SUCCESS, post_recv(p, 1));
	ASSERT_EQ(DAT_SUCCESS, send_immed(p, 10, NUMBER, 0));
	EXPECT_EQ(0, arrives(p, 1, DAT_LINUX_RECV_IMMED_EVENT, 10, NUMBER));
	EXPECT_EQ(0, memcmp(p->mem.va, p->mem.va + FROM, 10));
	/* The event at the sender is that of any request. */
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], &cookie, &len));
	EXPECT_EQ(100, cookie);
	EXPECT_EQ(10, len);
	ASSERT_EQ(DAT_SUCCESS, post_recv(p, 2));
	ASSERT_EQ(DAT_SUCCESS, write_immed(p, LONG, 0, 0));
	EXPECT_EQ(0, arrives(p, 2, DAT_LINUX_RDMA_WRITE_IMMED_EVENT, LONG, 0));
	EXPECT_EQ(0, memcmp(p->mem.va + TO, p->mem.va + FROM, LONG));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], &cookie, &len));
	EXPECT_EQ(LONG, len);
}

TEST_F_TIMEOUT(immediate, a_plain_message_has_a_plain_event, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, FROM, 8);
	uint64_t len;

	CONNECTED();
	ASSERT_EQ(DAT_SUCCESS, post_recv(p, 1));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &seg, a_cookie(2), 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, &len));
	EXPECT_EQ(8, len);
}

/* A receive that fails has the event of DAT, also when a message with a number is the cause. */
TEST_F_TIMEOUT(immediate, a_receive_that_fails_has_a_plain_event, 60)
{
	struct a_pair *p = &self->p;

	CONNECTED();
	ASSERT_EQ(DAT_SUCCESS, post_recv(p, 1));
	ASSERT_EQ(DAT_SUCCESS, post_recv(p, 2));
	ASSERT_EQ(DAT_SUCCESS, send_immed(p, POSTED + 1, NUMBER, 0));
	EXPECT_EQ(DAT_DTO_ERR_LOCAL_LENGTH, a_dto(p->evd[0], NULL, NULL));
	EXPECT_EQ(DAT_DTO_ERR_FLUSHED, a_dto(p->evd[0], NULL, NULL));
}

/* With max_inline, the data go into the entry. */
TEST_F_TIMEOUT(immediate, inline_data_go_with_them, 60)
{
	DAT_NAMED_ATTR both[] = { { "max_inline", "64" }, { "immediate_data", "1" } };
	struct a_pair *p = &self->p;
	DAT_EP_PARAM param;
	DAT_COUNT n;

	CONNECTED();
	ASSERT_EQ(DAT_SUCCESS, make(p, 0, "1"));
	ASSERT_EQ(DAT_SUCCESS, make_named(p, 1, 2, both));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[1], DAT_EP_FIELD_ALL, &param));
	n = param.ep_attr.ep_provider_specific_count;
	ASSERT_LE(1, n);
	EXPECT_EQ(0, strcmp("immediate_data", param.ep_attr.ep_provider_specific[n - 1].name));
	while (a_event(p->evd[0], 0, &(DAT_EVENT){}) || a_event(p->evd[1], 0, &(DAT_EVENT){}))
		;
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, p->ep[1], p->ep[0], p->evd[1], p->evd[0]));
	ASSERT_EQ(DAT_SUCCESS, post_recv(p, 1));
	ASSERT_EQ(DAT_SUCCESS, write_immed(p, 32, NUMBER, 0));
	EXPECT_EQ(0, arrives(p, 1, DAT_LINUX_RDMA_WRITE_IMMED_EVENT, 32, NUMBER));
	EXPECT_EQ(0, memcmp(p->mem.va + TO, p->mem.va + FROM, 32));
}

/* A write with a number completes a receive, so its sender may ask that the receiver is woken. */
TEST_F_TIMEOUT(immediate, a_write_may_ask_to_wake_the_receiver, 60)
{
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	DAT_NAMED_ATTR named = { "immediate_data", "1" };
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EVD_HANDLE evd, hint;
	DAT_CNO_HANDLE cno;
	DAT_EVENT event;

	CONNECTED();
	ASSERT_EQ(DAT_SUCCESS, dat_cno_create(p->ia, agent, &cno));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 64, cno, DAT_EVD_DTO_FLAG, &evd));
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	attr.ep_provider_specific_count = 1;
	attr.ep_provider_specific = &named;
	dat_ep_free(p->ep[0]);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, evd, p->evd[0], p->evd[0], &attr,
					     &p->ep[0]));
	ASSERT_EQ(DAT_SUCCESS, make(p, 1, "1"));
	while (a_event(p->evd[0], 0, &event) || a_event(p->evd[1], 0, &event))
		;
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, p->ep[1], p->ep[0], p->evd[1], p->evd[0]));
	ASSERT_EQ(DAT_SUCCESS, post_recv(p, 1));
	ASSERT_EQ(DAT_SUCCESS, post_recv(p, 2));
	ASSERT_EQ(DAT_SUCCESS, write_immed(p, 8, NUMBER, 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_cno_wait(cno, A_QUIET_US, &hint));
	ASSERT_EQ(DAT_SUCCESS, write_immed(p, 8, NUMBER, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_wait(cno, A_WAIT_US, &hint));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_dequeue(evd, &event));
	EXPECT_EQ(DAT_LINUX_RDMA_WRITE_IMMED_EVENT, event.event_number);
}

TEST_F_TIMEOUT(immediate, an_ep_without_the_attribute_neither_sends_nor_takes_them, 60)
{
	struct a_pair *p = &self->p;

	EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0), send_immed(p, 8, NUMBER, 0));
	EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0), write_immed(p, 8, NUMBER, 0));
	NEEDS_IMMEDIATE();
	ASSERT_EQ(DAT_SUCCESS, make(p, 1, "1"));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, p->ep[1], p->ep[0], p->evd[1], p->evd[0]));
	ASSERT_EQ(DAT_SUCCESS, post_recv(p, 1));
	ASSERT_EQ(DAT_SUCCESS, write_immed(p, 8, NUMBER, 0));
	EXPECT_EQ(DAT_DTO_ERR_BAD_RESPONSE, a_dto(p->evd[0], NULL, NULL));
	EXPECT_EQ(DAT_CONNECTION_EVENT_BROKEN, c_next(p->evd[0]));
}

TEST_F(immediate, values_of_the_attribute)
{
	DAT_NAMED_ATTR both[] = { { "max_inline", "64" }, { "immediate_data", "1" } };
	DAT_NAMED_ATTR other = { "immediate", "1" };
	struct a_pair *p = &self->p;
	DAT_EP_PARAM param;

	EXPECT_EQ(IP(6), make(p, 1, "2"));
	EXPECT_EQ(IP(6), make(p, 1, ""));
	EXPECT_EQ(IP(6), make(p, 1, "yes"));
	EXPECT_EQ(IP(6), make(p, 1, NULL));
	EXPECT_EQ(IP(6), make_named(p, 1, 1, &other));
	ASSERT_EQ(DAT_SUCCESS, make(p, 1, "0"));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[1], DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(0, param.ep_attr.ep_provider_specific_count);
	NEEDS_IMMEDIATE();
	ASSERT_EQ(DAT_SUCCESS, make(p, 1, "1"));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[1], DAT_EP_FIELD_ALL, &param));
	ASSERT_EQ(1, param.ep_attr.ep_provider_specific_count);
	EXPECT_EQ(0, strcmp("immediate_data", param.ep_attr.ep_provider_specific[0].name));
	EXPECT_EQ(0, strcmp("1", param.ep_attr.ep_provider_specific[0].value));
	/* A modification of something else leaves it. */
	param.ep_attr.max_message_size = 100;
	ASSERT_EQ(DAT_SUCCESS,
		  dat_ep_modify(p->ep[1], DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE, &param));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[1], DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(1, param.ep_attr.ep_provider_specific_count);
	/* A count without the pointer is not for an array of the program. */
	param.ep_attr.ep_provider_specific_count = 2;
	EXPECT_EQ(IP(3), dat_ep_modify(p->ep[1], DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR, &param));
	param.ep_attr.ep_provider_specific_count = 3;
	EXPECT_EQ(IP(3), dat_ep_modify(p->ep[1], DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR, &param));
	param.ep_attr.ep_provider_specific_count = 0;
	ASSERT_EQ(DAT_SUCCESS,
		  dat_ep_modify(p->ep[1], DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR, &param));
	EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0), send_immed(p, 8, NUMBER, 0));
	/* The library keeps what dat_ep_query() returns in an array of two entries. */
	ASSERT_EQ(DAT_SUCCESS, make_named(p, 1, 2, both));
	param.ep_attr.ep_provider_specific_count = 3;
	EXPECT_EQ(IP(3), dat_ep_modify(p->ep[1], DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR, &param));
}

/* An old driver, or an adapter over iWARP. */
TEST_F(immediate, an_adapter_without_them_refuses_the_attribute)
{
	struct a_pair *p = &self->p;
	DAT_PROVIDER_ATTR attr;

	a_close(p);
	has_none = 1;
	ASSERT_EQ(DAT_SUCCESS, a_open(p));
	EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0), make(p, 1, "1"));
	EXPECT_EQ(DAT_SUCCESS, make(p, 1, "0"));
	ASSERT_EQ(DAT_SUCCESS, dat_ia_query(p->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	EXPECT_EQ(1, attr.num_provider_specific_attr);
}

TEST_F_TIMEOUT(immediate, arguments_are_checked, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, FROM, 8), bad = seg;
	DAT_RMR_TRIPLET to = a_rseg(&p->mem, TO, 8), small = a_rseg(&p->mem, TO, 7);

#define SEND(ep, n, iov, flags) \
	dat_linux_ep_post_send_immed(ep, n, iov, a_cookie(1), NUMBER, (DAT_COMPLETION_FLAGS)(flags))
#define WRITE(ep, n, iov, remote, flags) \
	dat_linux_ep_post_rdma_write_immed(ep, n, iov, a_cookie(1), remote, NUMBER, \
					   (DAT_COMPLETION_FLAGS)(flags))
	EXPECT_EQ(IH(EP), SEND(DAT_HANDLE_NULL, 1, &seg, 0));
	EXPECT_EQ(IH(EP), SEND(p->pz, 1, &seg, 0));
	EXPECT_EQ(IH(EP), WRITE(DAT_HANDLE_NULL, 1, &seg, &to, 0));
	EXPECT_EQ(IH(EP), WRITE(p->pz, 1, &seg, &to, 0));
	CONNECTED();
	bad.segment_length = p->mem.size;
	EXPECT_EQ(IP(2), SEND(p->ep[1], -1, &seg, 0));
	EXPECT_EQ(IP(2), SEND(p->ep[1], 100, &seg, 0));
	EXPECT_EQ(IP(3), SEND(p->ep[1], 1, NULL, 0));
	EXPECT_EQ(IP(3), SEND(p->ep[1], 1, &bad, 0));
	EXPECT_EQ(IP(6), SEND(p->ep[1], 1, &seg, 0x80));
	EXPECT_EQ(IP(6), SEND(p->ep[1], 1, &seg, DAT_COMPLETION_UNSIGNALLED_FLAG));
	EXPECT_EQ(IP(2), WRITE(p->ep[1], -1, &seg, &to, 0));
	EXPECT_EQ(IP(3), WRITE(p->ep[1], 1, NULL, &to, 0));
	EXPECT_EQ(IP(5), WRITE(p->ep[1], 1, &seg, NULL, 0));
	EXPECT_EQ(IP(7), WRITE(p->ep[1], 1, &seg, &to, 0x80));
	EXPECT_EQ(RC(DAT_LENGTH_ERROR, 0), WRITE(p->ep[1], 1, &seg, &small, 0));
	/* The driver has accepted none of these requests, so the next two are the first. */
	ASSERT_EQ(DAT_SUCCESS, post_recv(p, 1));
	ASSERT_EQ(DAT_SUCCESS, SEND(p->ep[1], 1, &seg, DAT_LINUX_COMPLETION_MORE_FLAG));
	ASSERT_EQ(DAT_SUCCESS, post_recv(p, 2));
	ASSERT_EQ(DAT_SUCCESS, WRITE(p->ep[1], 1, &seg, &to, 0));
	EXPECT_EQ(0, arrives(p, 1, DAT_LINUX_RECV_IMMED_EVENT, 8, NUMBER));
	EXPECT_EQ(0, arrives(p, 2, DAT_LINUX_RDMA_WRITE_IMMED_EVENT, 8, NUMBER));
}

TEST_HARNESS_MAIN
