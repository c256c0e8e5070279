// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* SRQs through libdat: EPs that use them, numbers of buffers, and the order of messages. */
#define _GNU_SOURCE
#include <string.h>

#include "kselftest_harness.h"
#include "dat_api.h"

#define EPS	8
#define PER_EP	40
#define MSG	512
#define BUFFERS	10

FIXTURE(srq) {
	struct a_pair p;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE in[EPS];
	DAT_EP_HANDLE out[EPS];
};

FIXTURE_SETUP(srq)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 10, .max_recv_iov = 2 };
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr;
	int i;

	ASSERT_EQ(DAT_SUCCESS, a_open(p));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_create(p->ia, p->pz, &srq_attr, &self->srq));
	attr = a_attr(p);
	for (i = 0; i < EPS; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[1], p->evd[1],
						     p->evd[1], &attr, &self->out[i]));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_create_with_srq(p->ia, p->pz, p->evd[0],
							      p->evd[0], p->evd[0], self->srq,
							      &attr, &self->in[i]));
		ASSERT_EQ(DAT_SUCCESS, a_connect(p, self->out[i], self->in[i], p->evd[1],
						 p->evd[0]));
	}
}

FIXTURE_TEARDOWN(srq)
{
	a_close(&self->p);
}

static void expect_counts(struct __test_metadata *_metadata, DAT_SRQ_HANDLE srq,
			  int available, int outstanding)
{
	DAT_SRQ_PARAM param;

	ASSERT_EQ(DAT_SUCCESS, dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	EXPECT_EQ(available, param.available_dto_count);
	EXPECT_EQ(outstanding, param.outstanding_dto_count);
	EXPECT_EQ(DAT_SRQ_STATE_OPERATIONAL, param.srq_state);
}

/* Covers: dat_ep_create_with_srq; dat_ep_query; SH 45 */
TEST_F(srq, an_ep_may_hold_every_buffer_and_its_query_says_so)
{
	DAT_EP_ATTR attr = a_attr(&self->p);
	struct a_pair *p = &self->p;
	DAT_EP_HANDLE in, out;
	DAT_SRQ_PARAM srq;
	DAT_EP_PARAM ep;
	int i;

	attr.max_recv_dtos = 1;
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create_with_srq(p->ia, p->pz, p->evd[0], p->evd[0],
						      p->evd[0], self->srq, &attr, &in));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[1], p->evd[1], p->evd[1], NULL,
					     &out));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, out, in, p->evd[1], p->evd[0]));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_query(self->srq, DAT_SRQ_FIELD_ALL, &srq));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(in, DAT_EP_FIELD_ALL, &ep));
	EXPECT_EQ(srq.max_recv_dtos, ep.ep_attr.max_recv_dtos);
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(self->srq, 0, NULL, a_cookie(i)));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(out, 0, NULL, a_cookie(i), 0));
		EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	}
	for (i = 0; i < 10; i++)
		EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
}

/* Covers: dat_ep_create_with_srq */
TEST_F(srq, what_an_ep_says_of_receive_segments_is_ignored)
{
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	attr.max_recv_iov = 1 << 20;
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create_with_srq(p->ia, p->pz, p->evd[0], p->evd[0],
						      p->evd[0], self->srq, &attr, &ep));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(2, param.ep_attr.max_recv_iov);
}

/* Example of the specification: a buffer is outstanding until its event is dequeued. */
/* Covers: dat_srq_post_recv; dat_srq_query; SH 47 */
TEST_F_TIMEOUT(srq, counts_change_at_arrival_and_at_dequeue, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(self->srq, 1, &seg, a_cookie(i)));
	expect_counts(_metadata, self->srq, 3, 3);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(self->out[0], 1, &seg, a_cookie(0), 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_query(p->evd[0], 0, &(DAT_EVD_PARAM) { 0 }));
	usleep(100000);
	expect_counts(_metadata, self->srq, 2, 3);
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
	expect_counts(_metadata, self->srq, 2, 2);
}

/* Covers: dat_ep_create_with_srq; SH 52 */
TEST_F_TIMEOUT(srq, the_event_names_the_ep_that_got_the_message, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_EVENT event;
	int i;

	for (i = 0; i < EPS; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(self->srq, 1, &seg, a_cookie(70 + i)));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(self->out[i], 1, &seg, a_cookie(0), 0));
		ASSERT_EQ(1, a_event(p->evd[0], A_WAIT_US, &event));
		EXPECT_EQ(self->in[i], event.event_data.dto_completion_event_data.ep_handle);
		EXPECT_EQ(70 + i,
			  event.event_data.dto_completion_event_data.user_cookie.as_64);
	}
}

/* Covers: dat_ep_free; SH 9, 47 */
TEST_F_TIMEOUT(srq, buffers_of_a_freed_ep_do_not_stay_outstanding, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(self->srq, 1, &seg, a_cookie(i)));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(self->out[0], 1, &seg, a_cookie(0), 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_free(self->in[0]));
	/* The event of the freed EP's message is still queued. */
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
	expect_counts(_metadata, self->srq, 2, 2);
}

/* Covers: dat_evd_free; SH 47 */
TEST_F_TIMEOUT(srq, buffers_whose_event_goes_with_its_evd_do_not_stay_outstanding, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE in, out;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create_with_srq(p->ia, p->pz, evd, p->evd[0], p->evd[0],
						      self->srq, &attr, &in));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[1], p->evd[1], p->evd[1],
					     &attr, &out));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, out, in, p->evd[1], p->evd[0]));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(self->srq, 1, &seg, a_cookie(1)));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(out, 1, &seg, a_cookie(0), 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_free(in));
	expect_counts(_metadata, self->srq, 0, 1);
	ASSERT_EQ(DAT_SUCCESS, dat_evd_free(evd));
	expect_counts(_metadata, self->srq, 0, 0);
}

/*
 * Covers: dat_srq_create; dat_srq_post_recv INSUFFICIENT_RESOURCES|SRQ; dat_srq_free
 * INVALID_STATE|SRQ_IN_USE; dat_ep_post_recv INVALID_HANDLE|EP; SH 51, 53
 */
TEST_F(srq, the_queue_has_an_end)
{
	DAT_LMR_TRIPLET seg = a_seg(&self->p.mem, 0, 64);
	DAT_SRQ_PARAM param;
	int i;

	ASSERT_EQ(DAT_SUCCESS, dat_srq_query(self->srq, DAT_SRQ_FIELD_ALL, &param));
	ASSERT_LE(10, param.max_recv_dtos);
	for (i = 0; i < param.max_recv_dtos; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(self->srq, 1, &seg, a_cookie(i)));
	EXPECT_EQ(RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ),
		  dat_srq_post_recv(self->srq, 1, &seg, a_cookie(i)));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE), dat_srq_free(self->srq));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		  dat_ep_post_recv(self->in[0], 1, &seg, a_cookie(0), 0));
}

/* Send message @n of connection @i.  Each 32-bit word of the message contains @i and @n. */
static DAT_RETURN send_one(FIXTURE_DATA(srq) *self, int i, int n)
{
	size_t at = self->p.mem.size / 2 + (size_t)(i * PER_EP + n) * MSG;
	uint32_t *w = (uint32_t *)(self->p.mem.va + at);
	DAT_LMR_TRIPLET seg = a_seg(&self->p.mem, at, MSG);
	int k;

	for (k = 0; k < MSG / 4; k++)
		w[k] = (uint32_t)(i << 16 | n);
	return dat_ep_post_send(self->out[i], 1, &seg, a_cookie(n), DAT_COMPLETION_SUPPRESS_FLAG);
}

static int sender_of(FIXTURE_DATA(srq) *self, DAT_EP_HANDLE ep)
{
	int i;

	for (i = 0; i < EPS && self->in[i] != ep; i++)
		;
	return i;
}

/* Covers: dat_srq_post_recv; SH 52 */
TEST_F_TIMEOUT(srq, fan_in_keeps_the_order_of_each_connection, 240)
{
	int sent[EPS] = { 0 }, got[EPS] = { 0 }, total, i, k;
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg;
	DAT_EVENT event;
	uint32_t *w;

	for (i = 0; i < BUFFERS; i++) {
		seg = a_seg(&p->mem, i * MSG, MSG);
		ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(self->srq, 1, &seg, a_cookie(i)));
	}
	for (total = 0; total < EPS * PER_EP; total++) {
		for (i = 0; i < EPS; i++)
			if (sent[i] < PER_EP && sent[i] - got[i] < 3)
				ASSERT_EQ(DAT_SUCCESS, send_one(self, i, sent[i]++));
		ASSERT_EQ(1, a_event(p->evd[0], A_WAIT_US, &event));
		ASSERT_EQ(DAT_DTO_COMPLETION_EVENT, event.event_number);
		dto = &event.event_data.dto_completion_event_data;
		ASSERT_EQ(DAT_DTO_SUCCESS, dto->status);
		ASSERT_EQ(MSG, dto->transfered_length);
		i = sender_of(self, dto->ep_handle);
		ASSERT_GT(EPS, i);
		w = (uint32_t *)(p->mem.va + dto->user_cookie.as_64 * MSG);
		for (k = 0; k < MSG / 4; k++)
			ASSERT_EQ((uint32_t)(i << 16 | got[i]), w[k]);
		got[i]++;
		seg = a_seg(&p->mem, dto->user_cookie.as_64 * MSG, MSG);
		ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(self->srq, 1, &seg, dto->user_cookie));
	}
	expect_counts(_metadata, self->srq, BUFFERS, BUFFERS);
}

/* When an EP disconnects, buffers that no message has used stay in the SRQ. */
/* Covers: SH 46 */
TEST_F_TIMEOUT(srq, buffers_survive_a_disconnect, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_EVENT event;
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(self->srq, 1, &seg, a_cookie(i)));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(self->in[0], DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_EQ(1, a_event(p->evd[0], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, event.event_number);
	expect_counts(_metadata, self->srq, 3, 3);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(self->out[1], 1, &seg, a_cookie(0), 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
	expect_counts(_metadata, self->srq, 2, 2);
}

/* Connect @out to an endpoint with an SRQ of 32 buffers, of which the device holds 8. */
static void connect_small_srq(struct __test_metadata *_metadata, struct a_pair *p,
			      DAT_SRQ_HANDLE *srq, DAT_EP_HANDLE *out)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EP_HANDLE in;

	ASSERT_EQ(DAT_SUCCESS, dat_srq_create(p->ia, p->pz, &srq_attr, srq));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_resize(*srq, 32));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create_with_srq(p->ia, p->pz, p->evd[0], p->evd[0],
						      p->evd[0], *srq, &attr, &in));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[1], p->evd[1], p->evd[1],
					     &attr, out));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, *out, in, p->evd[1], p->evd[0]));
}

/* 8 buffers are at the device.  One more buffer waits in the ring, and its memory is freed. */
/* Covers: dat_srq_post_recv; dat_srq_query; dat_srq_resize */
TEST_F_TIMEOUT(srq, a_buffer_whose_memory_is_gone_gives_its_place_back, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64), gone;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE out;
	struct a_mem mem;
	DAT_EVENT event;
	uint64_t cookie;
	int i;

	connect_small_srq(_metadata, p, &srq, &out);
	ASSERT_EQ(DAT_SUCCESS, a_mem(p, 4096, DAT_MEM_PRIV_ALL_FLAG, &mem));
	gone = a_seg(&mem, 0, 64);
	for (i = 0; i < 8; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(srq, 1, &seg, a_cookie(i)));
	ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(srq, 1, &gone, a_cookie(8)));
	ASSERT_EQ(DAT_SUCCESS, dat_lmr_free(mem.lmr));
	expect_counts(_metadata, srq, 9, 9);
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(out, 1, &seg, a_cookie(i), 0));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], &cookie, NULL));
		EXPECT_EQ(i, cookie);
	}
	expect_counts(_metadata, srq, 0, 0);
	ASSERT_EQ(1, a_event(p->async, A_WAIT_US, &event));
	for (i = 0; i < 32; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(srq, 1, &seg, a_cookie(i)));
}

/*
 * 8 buffers are at the device.  The memory of the next 8 buffers is freed, so each message lets the
 * driver drop one of these, and no message is left that would let it take the valid buffers behind.
 */
TEST_F_TIMEOUT(srq, the_event_about_a_bad_buffer_makes_the_buffers_behind_it_available, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64), gone;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE out;
	struct a_mem mem;
	DAT_EVENT event;
	uint64_t cookie;
	int i;

	connect_small_srq(_metadata, p, &srq, &out);
	ASSERT_EQ(DAT_SUCCESS, a_mem(p, 4096, DAT_MEM_PRIV_ALL_FLAG, &mem));
	gone = a_seg(&mem, 0, 64);
	for (i = 0; i < 20; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_srq_post_recv(srq, 1, i / 8 == 1 ? &gone : &seg,
							 a_cookie(i)));
	ASSERT_EQ(DAT_SUCCESS, dat_lmr_free(mem.lmr));
	for (i = 0; i < 20; i++) {
		if (i == 8) {
			i = 16;
			ASSERT_EQ(1, a_event(p->async, A_WAIT_US, &event));
			EXPECT_EQ(srq, event.event_data.asynch_error_event_data.dat_handle);
		}
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(out, 1, &seg, a_cookie(i), 0));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], &cookie, NULL));
		EXPECT_EQ(i, cookie);
	}
	expect_counts(_metadata, srq, 0, 0);
}

TEST_HARNESS_MAIN
