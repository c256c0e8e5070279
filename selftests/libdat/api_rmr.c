// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* RMRs: the memory that an RMR context gives access to, and when it becomes valid and invalid. */
#define _GNU_SOURCE
#include <string.h>

#include "kselftest_harness.h"
#include "dat_api.h"

#define WINDOW	8192	/* offset of the window in p->mem */
#define LENGTH	777	/* length of the window in bytes */
#define SOURCE	(512 << 10)	/* offset of what the peer writes */

FIXTURE(rmr) {
	struct a_pair p;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT key;
};

FIXTURE_SETUP(rmr)
{
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, a_open(p));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, p->ep[1], p->ep[0], p->evd[1], p->evd[0]));
	ASSERT_EQ(DAT_SUCCESS, dat_rmr_create(p->pz, &self->rmr));
}

FIXTURE_TEARDOWN(rmr)
{
	a_close(&self->p);
}

static DAT_RETURN bind_to(struct a_pair *p, DAT_RMR_HANDLE rmr, DAT_LMR_TRIPLET seg,
			  DAT_MEM_PRIV_FLAGS priv, DAT_COMPLETION_FLAGS flags,
			  DAT_RMR_CONTEXT *key)
{
	return dat_rmr_bind(rmr, &seg, priv, p->ep[0], a_cookie(42), flags, key);
}

static DAT_RETURN bind_window(struct a_pair *p, DAT_RMR_HANDLE rmr, DAT_RMR_CONTEXT *key)
{
	return bind_to(p, rmr, a_seg(&p->mem, WINDOW, LENGTH), DAT_MEM_PRIV_ALL_FLAG,
		       DAT_COMPLETION_DEFAULT_FLAG, key);
}

/*
 * Return the status of the next event of @evd, -1 if it is not a bind event, or -2 if the bind
 * event has another RMR or cookie.
 */
static int bound(DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *data;
	DAT_EVENT event;

	if (!a_event(evd, A_WAIT_US, &event) ||
	    event.event_number != DAT_RMR_BIND_COMPLETION_EVENT)
		return -1;
	data = &event.event_data.rmr_completion_event_data;
	return data->rmr_handle == rmr && data->user_cookie.as_64 == 42 ? (int)data->status : -2;
}

/* Let ep[1] RDMA-write @len bytes at @offset with the RMR context @key.  Return the status. */
static int peer_writes(struct a_pair *p, DAT_RMR_CONTEXT key, size_t offset, size_t len)
{
	DAT_LMR_TRIPLET from = a_seg(&p->mem, SOURCE, len);
	DAT_RMR_TRIPLET to = {
		.rmr_context = key, .target_address = (uintptr_t)p->mem.va + offset,
		.segment_length = len,
	};

	if (dat_ep_post_rdma_write(p->ep[1], 1, &from, a_cookie(1), &to, 0) != DAT_SUCCESS)
		return -2;
	return a_dto(p->evd[1], NULL, NULL);
}

/* Covers: dat_rmr_create; dat_rmr_bind; dat_rmr_query; SH 42 */
TEST_F_TIMEOUT(rmr, the_key_opens_the_window, 60)
{
	struct a_pair *p = &self->p;
	DAT_RMR_PARAM param;

	ASSERT_EQ(DAT_SUCCESS, bind_window(p, self->rmr, &self->key));
	EXPECT_NE(p->mem.rmr, self->key);
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, bound(p->evd[0], self->rmr));
	memset(p->mem.va, 'o', p->mem.size);
	memset(p->mem.va + SOURCE, 'n', LENGTH);
	EXPECT_EQ(DAT_DTO_SUCCESS, peer_writes(p, self->key, WINDOW, LENGTH));
	EXPECT_EQ('o', p->mem.va[WINDOW - 1]);
	EXPECT_EQ('n', p->mem.va[WINDOW]);
	EXPECT_EQ('n', p->mem.va[WINDOW + LENGTH - 1]);
	EXPECT_EQ('o', p->mem.va[WINDOW + LENGTH]);
	ASSERT_EQ(DAT_SUCCESS, dat_rmr_query(self->rmr, DAT_RMR_FIELD_ALL, &param));
	EXPECT_EQ(p->ia, param.ia_handle);
	EXPECT_EQ(p->pz, param.pz_handle);
	EXPECT_EQ(self->key, param.rmr_context);
	EXPECT_EQ(LENGTH, param.lmr_triplet.segment_length);
}

TEST_F_TIMEOUT(rmr, and_nothing_before_it, 60)
{
	ASSERT_EQ(DAT_SUCCESS, bind_window(&self->p, self->rmr, &self->key));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, bound(self->p.evd[0], self->rmr));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS, peer_writes(&self->p, self->key, WINDOW - 1, 8));
}

TEST_F_TIMEOUT(rmr, nor_behind_it, 60)
{
	ASSERT_EQ(DAT_SUCCESS, bind_window(&self->p, self->rmr, &self->key));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, bound(self->p.evd[0], self->rmr));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  peer_writes(&self->p, self->key, WINDOW + LENGTH - 7, 8));
}

/* Covers: dat_rmr_bind; SH 39, 42 */
TEST_F_TIMEOUT(rmr, reading_takes_the_privilege_to_read, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET to = a_seg(&p->mem, SOURCE, 8);
	DAT_RMR_TRIPLET from = { .target_address = (uintptr_t)p->mem.va + WINDOW,
				 .segment_length = 8 };

	ASSERT_EQ(DAT_SUCCESS, bind_to(p, self->rmr, a_seg(&p->mem, WINDOW, LENGTH),
				       DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 0, &self->key));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, bound(p->evd[0], self->rmr));
	EXPECT_EQ(DAT_DTO_SUCCESS, peer_writes(p, self->key, WINDOW, 8));
	from.rmr_context = self->key;
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_read(p->ep[1], 1, &to, a_cookie(1), &from, 0));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS, a_dto(p->evd[1], NULL, NULL));
}

/* Covers: dat_rmr_bind; SH 42 */
TEST_F_TIMEOUT(rmr, a_new_bind_ends_the_old_key, 60)
{
	DAT_RMR_CONTEXT second;

	ASSERT_EQ(DAT_SUCCESS, bind_window(&self->p, self->rmr, &self->key));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, bound(self->p.evd[0], self->rmr));
	ASSERT_EQ(DAT_SUCCESS, bind_window(&self->p, self->rmr, &second));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, bound(self->p.evd[0], self->rmr));
	EXPECT_NE(self->key, second);
	EXPECT_EQ(DAT_DTO_SUCCESS, peer_writes(&self->p, second, WINDOW, 8));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS, peer_writes(&self->p, self->key, WINDOW, 8));
}

/* Covers: dat_rmr_bind; dat_lmr_free INVALID_STATE|LMR_IN_USE; SH 38, 42 */
TEST_F_TIMEOUT(rmr, no_length_unbinds_and_frees_the_lmr, 60)
{
	struct a_pair *p = &self->p;
	DAT_RMR_CONTEXT nothing;
	struct a_mem m;

	ASSERT_EQ(DAT_SUCCESS, a_mem(p, 65536, DAT_MEM_PRIV_ALL_FLAG, &m));
	ASSERT_EQ(DAT_SUCCESS, bind_to(p, self->rmr, a_seg(&m, 100, 200), DAT_MEM_PRIV_ALL_FLAG, 0,
				       &self->key));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, bound(p->evd[0], self->rmr));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE), dat_lmr_free(m.lmr));
	ASSERT_EQ(DAT_SUCCESS, bind_to(p, self->rmr, (DAT_LMR_TRIPLET) {}, 0, 0, &nothing));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, bound(p->evd[0], self->rmr));
	EXPECT_EQ(DAT_SUCCESS, dat_lmr_free(m.lmr));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS, peer_writes(p, self->key, (size_t)(m.va - p->mem.va) + 100, 8));
}

/* Covers: dat_rmr_free; SH 42 */
TEST_F_TIMEOUT(rmr, freeing_it_ends_the_key, 60)
{
	ASSERT_EQ(DAT_SUCCESS, bind_window(&self->p, self->rmr, &self->key));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, bound(self->p.evd[0], self->rmr));
	ASSERT_EQ(DAT_SUCCESS, dat_rmr_free(self->rmr));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR), dat_rmr_free(self->rmr));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS, peer_writes(&self->p, self->key, WINDOW, 8));
}

/*
 * Post a bind and a send that carries the new key.  The peer uses the key when it gets the message.
 * Repeat this many times, because the kick of the send may race with any step of the bind.
 */
TEST_F_TIMEOUT(rmr, what_is_posted_behind_a_bind_may_carry_its_key, 120)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET out = a_seg(&p->mem, 0, sizeof(self->key));
	DAT_LMR_TRIPLET in = a_seg(&p->mem, 4096, sizeof(self->key));
	DAT_RMR_CONTEXT key;
	int i;

	for (i = 0; i < 400; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[1], 1, &in, a_cookie(i), 0));
		ASSERT_EQ(DAT_SUCCESS, bind_window(p, self->rmr, &self->key));
		memcpy(p->mem.va, &self->key, sizeof(self->key));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[0], 1, &out, a_cookie(2), 0));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
		memcpy(&key, p->mem.va + 4096, sizeof(key));
		ASSERT_EQ(DAT_DTO_SUCCESS, peer_writes(p, key, WINDOW, LENGTH));
		ASSERT_EQ(DAT_RMR_BIND_SUCCESS, bound(p->evd[0], self->rmr));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
	}
}

/* Covers: SH 42 */
TEST_F_TIMEOUT(rmr, binds_and_sends_complete_in_their_order, 120)
{
	struct a_pair *p = &self->p;
	DAT_RMR_CONTEXT key[4];
	uint64_t cookie;
	int i;

	for (i = 0; i < 8; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[1], 0, NULL, a_cookie(i), 0));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[0], 0, NULL, a_cookie(2 * i), 0));
		ASSERT_EQ(DAT_SUCCESS, bind_window(p, self->rmr, &key[i]));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[0], 0, NULL, a_cookie(2 * i + 1), 0));
	}
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], &cookie, NULL));
		EXPECT_EQ(2 * i, cookie);
		ASSERT_EQ(DAT_RMR_BIND_SUCCESS, bound(p->evd[0], self->rmr));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], &cookie, NULL));
		EXPECT_EQ(2 * i + 1, cookie);
	}
}

/* Covers: SH 16, 42 */
TEST_F_TIMEOUT(rmr, a_suppressed_bind_is_silent, 60)
{
	struct a_pair *p = &self->p;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, bind_to(p, self->rmr, a_seg(&p->mem, WINDOW, LENGTH),
				       DAT_MEM_PRIV_ALL_FLAG, DAT_COMPLETION_SUPPRESS_FLAG,
				       &self->key));
	EXPECT_EQ(0, a_event(p->evd[0], A_QUIET_US, &event));
	EXPECT_EQ(DAT_DTO_SUCCESS, peer_writes(p, self->key, WINDOW, 8));
}

/* Covers: SH 4, 42 */
TEST_F_TIMEOUT(rmr, on_a_disconnected_ep_it_is_flushed, 60)
{
	struct a_pair *p = &self->p;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[0], DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_EQ(1, a_event(p->evd[0], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, event.event_number);
	ASSERT_EQ(DAT_SUCCESS, bind_window(p, self->rmr, &self->key));
	EXPECT_EQ(DAT_DTO_ERR_FLUSHED, bound(p->evd[0], self->rmr));
	/* The flushed bind has left the LMR unbound. */
	EXPECT_EQ(DAT_SUCCESS, dat_lmr_free(p->mem.lmr));
}

/* Covers: SH 42, 63 */
TEST_F_TIMEOUT(rmr, memory_freed_before_its_turn_breaks_the_connection, 60)
{
	struct a_pair *p = &self->p;
	DAT_EVENT event;
	struct a_mem m;
	int status;

	ASSERT_EQ(DAT_SUCCESS, a_mem(p, 65536, DAT_MEM_PRIV_ALL_FLAG, &m));
	/* The bind waits for this send, for which the peer has no receive yet. */
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[0], 0, NULL, a_cookie(1), 0));
	ASSERT_EQ(DAT_SUCCESS, bind_to(p, self->rmr, a_seg(&m, 0, 64), DAT_MEM_PRIV_ALL_FLAG, 0,
				       &self->key));
	ASSERT_EQ(DAT_SUCCESS, dat_lmr_free(m.lmr));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[1], 0, NULL, a_cookie(1), 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
	status = bound(p->evd[0], self->rmr);
	EXPECT_EQ(DAT_RMR_OPERATION_FAILED, status);
	ASSERT_EQ(1, a_event(p->evd[0], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_BROKEN, event.event_number);
}

/* Covers: SH 5, 42 */
TEST_F_TIMEOUT(rmr, outstanding_binds_are_flushed_by_a_disconnect, 60)
{
	struct a_pair *p = &self->p;
	DAT_EVENT event;
	int i;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[0], 0, NULL, a_cookie(1), 0));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(DAT_SUCCESS, bind_window(p, self->rmr, &self->key));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[0], DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(DAT_DTO_ERR_FLUSHED, a_dto(p->evd[0], NULL, NULL));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(DAT_DTO_ERR_FLUSHED, bound(p->evd[0], self->rmr));
	ASSERT_EQ(1, a_event(p->evd[0], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, event.event_number);
}

/*
 * Covers: dat_rmr_create INVALID_HANDLE|PZ; dat_rmr_create INVALID_PARAMETER|ARG2;
 * dat_rmr_bind INVALID_PARAMETER|ARG2|ARG3|ARG6|ARG7; dat_rmr_bind INVALID_STATE;
 * dat_rmr_bind PROTECTION_VIOLATION; dat_rmr_bind PRIVILEGES_VIOLATION;
 * dat_rmr_bind INVALID_HANDLE|RMR|EP; dat_rmr_free INVALID_HANDLE|RMR;
 * dat_rmr_query INVALID_PARAMETER|ARG2|ARG3; dat_rmr_query INVALID_HANDLE|RMR
 */
TEST_F_TIMEOUT(rmr, bad_arguments_change_nothing, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, WINDOW, LENGTH), bad;
	DAT_MEM_PRIV_FLAGS all = DAT_MEM_PRIV_ALL_FLAG;
	struct a_pair q = *p;
	struct a_mem read_only, foreign;
	DAT_RMR_PARAM param;
	DAT_EP_ATTR attr = a_attr(p);
	DAT_RMR_HANDLE rmr;
	DAT_EP_HANDLE idle;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[0], p->evd[0], p->evd[0], &attr,
					     &idle));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR), dat_rmr_free(p->ia));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ), dat_rmr_create(p->ia, &rmr));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2), dat_rmr_create(p->pz, NULL));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR),
		  bind_to(p, p->pz, seg, all, 0, &self->key));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_rmr_bind(self->rmr, NULL, all, p->ep[0], a_cookie(1), 0, &self->key));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		  bind_to(p, self->rmr, seg, (DAT_MEM_PRIV_FLAGS)0x40, 0, &self->key));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		  dat_rmr_bind(self->rmr, &seg, all, p->pz, a_cookie(1), 0, &self->key));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6),
		  bind_to(p, self->rmr, seg, all, DAT_COMPLETION_SOLICITED_WAIT_FLAG, &self->key));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7),
		  bind_to(p, self->rmr, seg, all, 0, NULL));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED),
		  dat_rmr_bind(self->rmr, &seg, all, idle, a_cookie(1), 0, &self->key));
	bad = seg;
	bad.lmr_context ^= 0x100000;
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  bind_to(p, self->rmr, bad, all, 0, &self->key));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  bind_to(p, self->rmr, a_seg(&p->mem, p->mem.size - 4, 8), all, 0, &self->key));
	ASSERT_EQ(DAT_SUCCESS, a_mem(p, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG, &read_only));
	EXPECT_EQ(DAT_PRIVILEGES_VIOLATION,
		  TYPE(bind_to(p, self->rmr, a_seg(&read_only, 0, 8), all, 0, &self->key)));
	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(p->ia, &q.pz));
	ASSERT_EQ(DAT_SUCCESS, a_mem(&q, 4096, all, &foreign));
	EXPECT_EQ(DAT_PROTECTION_VIOLATION,
		  TYPE(bind_to(p, self->rmr, a_seg(&foreign, 0, 8), all, 0, &self->key)));
	ASSERT_EQ(DAT_SUCCESS, dat_rmr_create(q.pz, &rmr));
	EXPECT_EQ(DAT_PROTECTION_VIOLATION, TYPE(bind_to(p, rmr, seg, all, 0, &self->key)));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE), dat_pz_free(q.pz));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		  dat_rmr_query(self->rmr, DAT_RMR_FIELD_ALL, NULL));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_rmr_query(self->rmr, (DAT_RMR_PARAM_MASK)0x20, &param));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR),
		  dat_rmr_query(NULL, DAT_RMR_FIELD_ALL, &param));
	EXPECT_EQ(0, a_event(p->evd[0], 0, &event));
	EXPECT_EQ(DAT_SUCCESS, bind_window(p, self->rmr, &self->key));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, bound(p->evd[0], self->rmr));
}

TEST_HARNESS_MAIN
