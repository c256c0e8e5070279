// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Tests of RMRs: windows on the memory of an LMR, opened by one end and closed by either. */
#include <linux/vmalloc.h>

#include "ktest_rig.h"

/* Run @fn with memory that is registered with the privileges @priv. */
static void with_mem(struct ktest *t, struct rig *r, u32 priv,
		     void (*fn)(struct ktest *t, struct rig *r, struct rig_mem *m))
{
	u8 *va = vmalloc(RIG_SIZE);
	struct rig_mem m = {};

	KT_TRUE(t, va);
	if (rig_reg_va(t, r, va, RIG_SIZE, priv, &m))
		ktest_fail(t, __FILE__, __LINE__, "kcreate", 0, 1);
	else
		fn(t, r, &m);
	/* Before freeing the memory, free the objects that can access it. */
	dat_ep_free(r->a);
	dat_ep_free(r->b);
	vfree(va);
}

static void windows(struct ktest *t, struct rig *r, struct rig_mem *m)
{
	DAT_LMR_TRIPLET seg = { m->addr + 100, 5000, m->context }, none = {};
	DAT_RMR_CONTEXT key = 0, old;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;

#define BIND(lmr, seg, ep, n) \
	dat_rmr_bind(rmr, lmr, seg, ALL, DAT_VA_TYPE_VA, ep, kt_cookie(n), 0, &key)
	KT_OK(t, dat_rmr_create(r->pz, &rmr));
	KT_CODE(t, dat_rmr_create_for_ep(r->pz, &rmr), DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	KT_OK(t, BIND(m->lmr, &seg, r->b, 1));
	KT_EQ(t, rig_status(r, 1), DAT_RMR_BIND_SUCCESS);
	rig_fill(m->va, RIG_SIZE, 5);
	KT_EQ(t, rig_reads(r, m->addr + 100, 5000, key), DAT_DTO_SUCCESS);
	KT_TRUE(t, !memcmp(r->box.va, m->va + 100, 5000));
	KT_OK(t, dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	KT_EQ(t, param.rmr_context, key);
	KT_EQ(t, param.lmr_triplet.virtual_address, seg.virtual_address);
	KT_EQ(t, param.lmr_triplet.segment_length, 5000);
	KT_CODE(t, dat_lmr_free(m->lmr), DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
	/* Bind the RMR to another part.  This invalidates the old key. */
	old = key;
	seg.virtual_address = m->addr;
	seg.segment_length = 50;
	KT_OK(t, BIND(m->lmr, &seg, r->b, 2));
	KT_EQ(t, rig_status(r, 2), DAT_RMR_BIND_SUCCESS);
	KT_EQ(t, rig_reads(r, m->addr, 50, key), DAT_DTO_SUCCESS);
	KT_EQ(t, rig_reads(r, m->addr + 100, 50, old), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_TRUE(t, rig_reconnect(t, r));
	KT_EQ(t, rig_reads(r, m->addr, 51, key), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_TRUE(t, rig_reconnect(t, r));
	/* Unbind the RMR. */
	old = key;
	KT_OK(t, BIND(DAT_HANDLE_NULL, &none, r->b, 3));
	KT_EQ(t, rig_status(r, 3), DAT_RMR_BIND_SUCCESS);
	KT_EQ(t, rig_reads(r, m->addr, 50, old), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_TRUE(t, rig_reconnect(t, r));
	seg.segment_length = RIG_SIZE + 1;
	KT_CODE(t, BIND(m->lmr, &seg, r->b, 4), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	seg.segment_length = 50;
	KT_CODE(t, BIND(m->lmr, NULL, r->b, 4), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	KT_CODE(t, BIND(r->pz, &seg, r->b, 4), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	KT_CODE(t, BIND(m->lmr, &seg, r->pz, 4), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	KT_OK(t, BIND(m->lmr, &seg, r->b, 5));
	KT_EQ(t, rig_status(r, 5), DAT_RMR_BIND_SUCCESS);
	KT_OK(t, dat_rmr_free(rmr));
	KT_CODE(t, BIND(m->lmr, &seg, r->b, 6), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	KT_EQ(t, rig_reads(r, m->addr, 50, key), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_OK(t, dat_lmr_free(m->lmr));
#undef BIND
}

static void rmrs(struct ktest *t, struct rig *r)
{
	with_mem(t, r, LOCAL, windows);
}

static void windows_open_what_they_are_bound_to(struct ktest *t)
{
	with_rig(t, rmrs);
}

static DAT_RETURN bind_all(struct rig *r, DAT_RMR_HANDLE rmr, const struct rig_mem *m, u64 n,
			   DAT_RMR_CONTEXT *key)
{
	DAT_LMR_TRIPLET seg = { m->addr, m->length, m->context };

	return dat_rmr_bind(rmr, m->lmr, &seg, ALL, DAT_VA_TYPE_VA, r->b, kt_cookie(n), 0, key);
}

/* Send a message from a to b that invalidates @key at b. */
static DAT_RETURN send_end(struct rig *r, DAT_RMR_CONTEXT key, u64 n)
{
	return dat_ep_post_recv(r->b, 0, NULL, kt_cookie(n), 0) ?:
	       dat_ep_post_send_with_invalidate(r->a, 0, NULL, kt_cookie(n + 1),
						DAT_COMPLETION_SUPPRESS_FLAG, DAT_TRUE, key);
}

static void peer_closes(struct ktest *t, struct rig *r, struct rig_mem *m)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_RMR_CONTEXT key = 0, old;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;
	DAT_EVENT event;

	KT_OK(t, dat_rmr_create(r->pz, &rmr));
	KT_OK(t, bind_all(r, rmr, m, 1, &key));
	KT_EQ(t, rig_status(r, 1), DAT_RMR_BIND_SUCCESS);
	KT_EQ(t, rig_reads(r, m->addr, 50, key), DAT_DTO_SUCCESS);
	KT_OK(t, send_end(r, key, 11));
	KT_EQ(t, kt_next(r->evd, &event), DAT_DTO_COMPLETION_EVENT);
	dto = &event.event_data.dto_completion_event_data;
	KT_EQ(t, dto->status, DAT_DTO_SUCCESS);
	KT_EQ(t, dto->user_cookie.as_64, 11);
	KT_EQ(t, dto->operation, DAT_DTO_RECEIVE_WITH_INVALIDATE);
	KT_EQ(t, dto->rmr_context, key);
	KT_EQ(t, dto->transfered_length, 0);
	KT_OK(t, dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	KT_EQ(t, param.lmr_triplet.segment_length, 0);
	/* The next bind uses the registration that the peer has ended, with another key. */
	old = key;
	KT_OK(t, bind_all(r, rmr, m, 2, &key));
	KT_EQ(t, rig_status(r, 2), DAT_RMR_BIND_SUCCESS);
	if (ktest_on_device())
		KT_EQ(t, key >> 8, old >> 8);
	KT_EQ(t, rig_reads(r, m->addr, 50, key), DAT_DTO_SUCCESS);
	KT_EQ(t, rig_reads(r, m->addr, 50, old), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_TRUE(t, rig_reconnect(t, r));
	KT_OK(t, send_end(r, key, 21));
	KT_EQ(t, rig_status(r, 21), DAT_DTO_SUCCESS);
	/* The invalidated RMR does not prevent dat_lmr_free(). */
	KT_OK(t, dat_lmr_free(m->lmr));
	KT_OK(t, dat_rmr_free(rmr));
}

static void window_closes(struct ktest *t, struct rig *r)
{
	with_mem(t, r, LOCAL, peer_closes);
}

static void peers_close_windows_and_the_receive_says_so(struct ktest *t)
{
	with_rig(t, window_closes);
}

static void peer_ends(struct ktest *t, struct rig *r, struct rig_mem *m)
{
	KT_OK(t, send_end(r, m->rkey, 1));
	KT_EQ(t, rig_status(r, 1), DAT_DTO_ERR_BAD_RESPONSE);
	KT_TRUE(t, rig_reconnect(t, r));
	/* The key in the message does not exist, so the device rejects the message. */
	KT_OK(t, send_end(r, m->rkey ^ 0x7700, 3));
	KT_TRUE(t, rig_status(r, 3) != DAT_DTO_SUCCESS);
	if (ktest_on_device())
		return;
	/* A device may end the region before it hands the message over, but lo0 does not. */
	KT_TRUE(t, rig_reconnect(t, r));
	KT_EQ(t, rig_reads(r, m->addr, 50, m->rkey), DAT_DTO_SUCCESS);
}

static void region_ends(struct ktest *t, struct rig *r)
{
	with_mem(t, r, ALL, peer_ends);
}

static void a_peer_that_ends_a_region_breaks_its_connection(struct ktest *t)
{
	with_rig(t, region_ends);
}

/*
 * A message ends a window right behind a write to it.  Softirqs are disabled, so lo0 carries both
 * out at once, and must end the write before it waits for the writes to the window.
 */
static void write_and_end(struct ktest *t, struct rig *r, struct rig_mem *m)
{
	DAT_LMR_TRIPLET from = { r->box.addr, 50, r->box.context };
	DAT_RMR_TRIPLET to = { .virtual_address = m->addr, .segment_length = 50 };
	DAT_RMR_CONTEXT key = 0;
	DAT_RMR_HANDLE rmr;
	DAT_RETURN rc;

	KT_OK(t, dat_rmr_create(r->pz, &rmr));
	KT_OK(t, bind_all(r, rmr, m, 1, &key));
	KT_EQ(t, rig_status(r, 1), DAT_RMR_BIND_SUCCESS);
	to.rmr_context = key;
	rig_fill(r->box.va, 50, 9);
	memset(m->va, 0, 50);
	local_bh_disable();
	rc = dat_ep_post_rdma_write(r->a, 1, &from, kt_cookie(2), &to,
				    DAT_COMPLETION_SUPPRESS_FLAG) ?: send_end(r, key, 3);
	local_bh_enable();
	KT_OK(t, rc);
	KT_EQ(t, rig_status(r, 3), DAT_DTO_SUCCESS);
	KT_TRUE(t, !memcmp(m->va, r->box.va, 50));
	KT_EQ(t, rig_reads(r, m->addr, 50, key), DAT_DTO_ERR_REMOTE_ACCESS);
	KT_OK(t, dat_rmr_free(rmr));
}

static void window_written(struct ktest *t, struct rig *r)
{
	with_mem(t, r, LOCAL, write_and_end);
}

static void a_message_ends_a_window_right_behind_a_write(struct ktest *t)
{
	with_rig(t, window_written);
}

static void read_window(struct ktest *t, struct rig *r, struct rig_mem *m, struct rig_mem *from)
{
	DAT_RMR_TRIPLET to = {}, remote = { from->addr, 5000, from->rkey };
	DAT_RMR_CONTEXT key = 0;
	DAT_RMR_HANDLE rmr;
	DAT_EVENT event;

	KT_OK(t, dat_rmr_create(r->pz, &rmr));
	KT_OK(t, bind_all(r, rmr, m, 1, &key));
	KT_EQ(t, rig_status(r, 1), DAT_RMR_BIND_SUCCESS);
	rig_fill(from->va, RIG_SIZE, 3);
	memset(m->va, 0, RIG_SIZE);
	to.virtual_address = m->addr + 100;
	to.segment_length = 5000;
	to.rmr_context = key;
	KT_OK(t, dat_ep_post_rdma_read_to_rmr(r->a, &to, kt_cookie(2), &remote, 0));
	KT_EQ(t, kt_next(r->evd, &event), DAT_DTO_COMPLETION_EVENT);
	KT_EQ(t, event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	KT_EQ(t, event.event_data.dto_completion_event_data.operation, DAT_DTO_RDMA_READ);
	KT_TRUE(t, !memcmp(m->va + 100, from->va, 5000) && !m->va[99] && !m->va[5100]);
	to.segment_length = 4999;
	KT_CODE(t, dat_ep_post_rdma_read_to_rmr(r->a, &to, kt_cookie(3), &remote, 0),
		DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	KT_CODE(t, dat_ep_post_rdma_read_to_rmr(r->a, NULL, kt_cookie(3), &remote, 0),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KT_CODE(t, dat_ep_post_rdma_read_to_rmr(r->a, &to, kt_cookie(3), NULL, 0),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	to.segment_length = RIG_SIZE;
	remote.segment_length = RIG_SIZE;
	KT_OK(t, dat_ep_post_rdma_read_to_rmr(r->a, &to, kt_cookie(4), &remote, 0));
	KT_EQ(t, rig_status(r, 4), DAT_DTO_ERR_LOCAL_PROTECTION);
	KT_TRUE(t, rig_reconnect(t, r));
	to.virtual_address = m->addr;
	to.rmr_context = m->context;
	KT_OK(t, dat_ep_post_rdma_read_to_rmr(r->a, &to, kt_cookie(5), &remote, 0));
	KT_EQ(t, rig_status(r, 5), DAT_DTO_ERR_LOCAL_PROTECTION);
	KT_OK(t, dat_rmr_free(rmr));
}

static void window_reads(struct ktest *t, struct rig *r)
{
	u8 *va = vmalloc(RIG_SIZE), *other = vmalloc(RIG_SIZE);
	struct rig_mem m = {}, from = {};

	if (!va || !other || rig_reg_va(t, r, va, RIG_SIZE, LOCAL, &m) ||
	    rig_reg_va(t, r, other, RIG_SIZE, ALL, &from))
		ktest_fail(t, __FILE__, __LINE__, "kcreate", 0, 1);
	else
		read_window(t, r, &m, &from);
	dat_ep_free(r->a);
	dat_ep_free(r->b);
	vfree(other);
	vfree(va);
}

static void reads_fill_windows(struct ktest *t)
{
	with_rig(t, window_reads);
}

#define REBINDS	40

/* Bind a different part.  Its length is a page at most, so that all parts need as many pages. */
static void bind_round(struct ktest *t, struct rig *r, DAT_RMR_HANDLE rmr, struct rig_mem *m,
		       u32 round, DAT_RMR_CONTEXT *key)
{
	DAT_LMR_TRIPLET seg = { m->addr + round * 100, 50 + round, m->context };

	KT_OK(t, dat_rmr_bind(rmr, m->lmr, &seg, ALL, DAT_VA_TYPE_VA, r->b, kt_cookie(round), 0,
			      key));
	KT_EQ(t, rig_status(r, round), DAT_RMR_BIND_SUCCESS);
	KT_EQ(t, rig_reads(r, seg.virtual_address, 50, *key), DAT_DTO_SUCCESS);
}

static void rebind(struct ktest *t, struct rig *r, struct rig_mem *m)
{
	DAT_LMR_TRIPLET none = {};
	DAT_RMR_CONTEXT key[REBINDS], out;
	DAT_RMR_HANDLE rmr;
	u32 i, j;

	KT_OK(t, dat_rmr_create(r->pz, &rmr));
	for (i = 0; i < REBINDS; i++) {
		bind_round(t, r, rmr, m, i, &key[i]);
		for (j = 0; j < i; j++)
			KT_TRUE(t, key[i] != key[j]);
		/* The upper bits of a key name the registration of the device. */
		KT_TRUE(t, !ktest_on_device() || i < 2 || key[i] >> 8 == key[i - 2] >> 8);
		if (i % 10 != 9)
			continue;
		KT_EQ(t, rig_reads(r, m->addr + (i - 1) * 100, 50, key[i - 1]),
		      DAT_DTO_ERR_REMOTE_ACCESS);
		KT_TRUE(t, rig_reconnect(t, r));
	}
	KT_OK(t, dat_rmr_bind(rmr, DAT_HANDLE_NULL, &none, ALL, DAT_VA_TYPE_VA, r->b,
			      kt_cookie(1), 0, &out));
	KT_EQ(t, rig_status(r, 1), DAT_RMR_BIND_SUCCESS);
	KT_EQ(t, rig_reads(r, m->addr + (REBINDS - 1) * 100, 50, key[REBINDS - 1]),
	      DAT_DTO_ERR_REMOTE_ACCESS);
	KT_TRUE(t, rig_reconnect(t, r));
	KT_OK(t, dat_lmr_free(m->lmr));
	KT_OK(t, dat_rmr_free(rmr));
}

static void windows_rebound(struct ktest *t, struct rig *r)
{
	with_mem(t, r, LOCAL, rebind);
}

static void rebinds_need_two_registrations(struct ktest *t)
{
	with_rig(t, windows_rebound);
}

#define MANY	600	/* more than two registrations have keys */

/* A key does not come back while the RMR has the registration. */
static void rebind_often(struct ktest *t, struct rig *r, struct rig_mem *m)
{
	static DAT_RMR_CONTEXT key[MANY];
	DAT_RMR_HANDLE rmr;
	u32 i, j;

	KT_OK(t, dat_rmr_create(r->pz, &rmr));
	for (i = 0; i < MANY; i++) {
		KT_OK(t, bind_all(r, rmr, m, i, &key[i]));
		KT_EQ(t, rig_status(r, i), DAT_RMR_BIND_SUCCESS);
		for (j = 0; j < i && key[j] != key[i]; j++)
			;
		KT_EQ(t, j, i);
	}
	KT_OK(t, dat_rmr_free(rmr));
}

static void windows_rebound_often(struct ktest *t, struct rig *r)
{
	with_mem(t, r, LOCAL, rebind_often);
}

static void keys_do_not_come_back(struct ktest *t)
{
	with_rig(t, windows_rebound_often);
}

/* Return the cookie of the next event, skipping the receives of EP a; or 0 after a failure. */
static u64 next_request(struct rig *r)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind;
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	for (;;) {
		switch (kt_next(r->evd, &event)) {
		case DAT_DTO_COMPLETION_EVENT:
			dto = &event.event_data.dto_completion_event_data;
			if (dto->status != DAT_DTO_SUCCESS)
				return 0;
			if (dto->operation == DAT_DTO_RECEIVE)
				continue;
			return dto->user_cookie.as_64;
		case DAT_RMR_BIND_COMPLETION_EVENT:
			bind = &event.event_data.rmr_completion_event_data;
			return bind->status == DAT_RMR_BIND_SUCCESS ? bind->user_cookie.as_64 : 0;
		default:
			return 0;
		}
	}
}

/* A bind keeps its place behind a send that waits for the peer. */
static void bind_in_order(struct ktest *t, struct rig *r, struct rig_mem *m)
{
	DAT_RMR_CONTEXT key = 0, old;
	DAT_RMR_HANDLE rmr;

	KT_OK(t, dat_rmr_create(r->pz, &rmr));
	KT_OK(t, bind_all(r, rmr, m, 1, &old));
	KT_EQ(t, rig_status(r, 1), DAT_RMR_BIND_SUCCESS);
	KT_OK(t, dat_ep_post_send(r->b, 0, NULL, kt_cookie(2), 0));
	KT_OK(t, bind_all(r, rmr, m, 3, &key));
	KT_OK(t, dat_ep_post_send(r->b, 0, NULL, kt_cookie(4), 0));
	KT_OK(t, dat_ep_post_recv(r->a, 0, NULL, kt_cookie(5), DAT_COMPLETION_DEFAULT_FLAG));
	KT_EQ(t, next_request(r), 2);
	KT_EQ(t, next_request(r), 3);
	KT_OK(t, dat_ep_post_recv(r->a, 0, NULL, kt_cookie(6), DAT_COMPLETION_DEFAULT_FLAG));
	KT_EQ(t, next_request(r), 4);
	KT_OK(t, dat_rmr_free(rmr));
}

static void windows_in_order(struct ktest *t, struct rig *r)
{
	with_mem(t, r, LOCAL, bind_in_order);
}

static void binds_keep_their_place(struct ktest *t)
{
	with_rig(t, windows_in_order);
}

const struct ktest_case ktest_rmr[] = {
	KTEST(rebinds_need_two_registrations),
	KTEST(keys_do_not_come_back),
	KTEST(binds_keep_their_place),
	KTEST(windows_open_what_they_are_bound_to),
	KTEST(peers_close_windows_and_the_receive_says_so),
	KTEST(a_message_ends_a_window_right_behind_a_write),
	KTEST(a_peer_that_ends_a_region_breaks_its_connection),
	KTEST(reads_fill_windows),
	{}
};
