// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Bindings of RMRs that work requests begin and end.  Uses the mean device, whose driver dat.ko
 * takes for one that registers memory of processes by work request.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "mean.h"
#include "proc.h"
#include "rmr_test.h"

#define KB	64	/* size of mem in KiB */

/* An RMR, memory for it, and the connection that binds it. */
FIXTURE(binds) {
	struct t_pair p;
	struct t_evd evd[2];
	struct t_ep ep[2];
	struct t_lmr mem;
	uint32_t rmr;
	long pin;
	long pages;
};

/* The first test loads the mean device. */
static int is_mean(void)
{
	return !access("/sys/module/dat_mean", F_OK);
}

/* Runs once, when the program ends: each test is a process that ends by _exit(). */
static void __attribute__((destructor)) unload(void)
{
	if (is_mean() && mean_unload())
		fprintf(stderr, "# cannot unload the mean device\n");
}

static int binds_open(FIXTURE_DATA(binds) *w)
{
	const uint32_t streams = DAT_STREAM_DTO | DAT_STREAM_CONNECTION | DAT_STREAM_RMR_BIND;
	struct t_pair *p = &w->p;
	int i;

	w->pages = pinned_pages();
	if (t_pair_open(p))
		return -1;
	for (i = 0; i < 2; i++)
		if (t_evd(&p->f, streams, 256, &w->evd[i]) ||
		    t_ep(&p->f, p->pz, &w->evd[i], 0, 20 + i, &w->ep[i]))
			return -1;
	if (t_connect_eps(p, w->ep, w->evd) || t_lmr(&p->f, p->pz, KB << 10, T_PRIV_ALL, &w->mem) ||
	    make_rmr(&p->f, p->pz, &w->rmr))
		return -1;
	w->pin = vm_pin_kb();
	return 0;
}

FIXTURE_SETUP(binds)
{
	if (mean_missing())
		return;
	ASSERT_EQ(0, is_mean() ? 0 : mean_load("driver=irdma user_mr=2"));
	ASSERT_EQ(0, binds_open(self));
}

FIXTURE_TEARDOWN(binds)
{
	if (mean_missing())
		return;
	mean_set("dead", "0");
	mean_set("hold", "0");
	mean_set("dereg_ms", "0");
	mean_set("reg_refused", "0");
	mean_set("reg_status", "0");
	t_pair_close(&self->p);
	EXPECT_EQ(self->pages, pinned_pages());
}

/* A SKIP() in the fixture does not skip the tests of the fixture, so each test calls this macro. */
#define NEEDS_MEAN() do {							\
	if (mean_missing())							\
		SKIP(return, mean_missing());					\
} while (0)

/*
 * Let the peer read the first bytes of @at with the key @key.  Returns the status of the RDMA read,
 * or -EIO if the data are wrong.
 */
static int peer_reads(FIXTURE_DATA(binds) *w, const void *at, uint32_t key)
{
	const size_t len = 64;
	int ret = t_rdma(&w->ep[1], DAT_OP_RDMA_READ, 9, (uintptr_t)w->p.mem.va, w->p.mem.lkey,
			 len, (uintptr_t)at, key);

	ret = ret ? ret : next_status(&w->evd[1], DAT_EV_DTO);
	if (ret)
		return ret;
	return memcmp(w->p.mem.va, at, len) ? -EIO : 0;
}

/* A read of the peer with @key is refused, and so ends the connection: connect again. */
static int refused(FIXTURE_DATA(binds) *w, uint32_t key)
{
	if (peer_reads(w, w->mem.va, key) != DAT_ST_REMOTE_ACCESS)
		return -1;
	return t_reconnect_eps(&w->p, w->ep, w->evd);
}

/* Prepare to bind all of mem. */
static int prepare_it(FIXTURE_DATA(binds) *w, struct dat_rmr_bind *b)
{
	return prepare(&w->p.f, w->rmr, &w->mem, b);
}

/* Bind the @len bytes at @at of @lmr, and wait for the event. */
static int bind_part(FIXTURE_DATA(binds) *w, const struct t_lmr *lmr, size_t at, size_t len,
		     struct dat_rmr_bind *b)
{
	const struct t_lmr part = { .id = lmr->id, .va = (char *)lmr->va + at, .size = len };
	int ret = prepare(&w->p.f, w->rmr, &part, b);

	if (!ret)
		ret = post_bind(&w->ep[0], b->id, b->ticket, 0);
	return ret ? ret : next_status(&w->evd[0], DAT_EV_RMR_BIND);
}

/* How long a bind stays in the device: the device does not execute it, or does not report it. */
enum stay { NOT_EXECUTED, NOT_REPORTED };

/* Returns 0 when a meanness has had an effect since "hits" was cleared. */
static int has_hit(void)
{
	int i;

	for (i = 0; i < T_WAIT_MS && !mean_hits(); i++)
		usleep(1000);
	return mean_hits() > 0 ? 0 : -ETIMEDOUT;
}

/*
 * Post a bind that stays in the device.  NOT_EXECUTED: the device drops the work requests.
 * NOT_REPORTED: it has executed them, and tells when "hold" is cleared.
 */
static int bind_in_device(FIXTURE_DATA(binds) *w, enum stay stay, struct dat_rmr_bind *b)
{
	const char *how = stay == NOT_EXECUTED ? "dead" : "hold";
	int ret = mean_set("hits", "0") || mean_set(how, "1") || prepare_it(w, b) ||
		  post_bind(&w->ep[0], b->id, b->ticket, 0) || t_kick(&w->p.f);

	if (ret || stay == NOT_REPORTED)
		return ret ? ret : has_hit();
	return mean_set("dead", "0");
}

TEST_F_TIMEOUT(binds, each_bind_has_a_new_key_and_ends_the_previous_one, 120)
{
	enum { ROUNDS = 48 };
	FIXTURE_DATA(binds) *w = self;
	uint32_t key[ROUNDS];
	struct dat_rmr_bind b;
	int i, j, same = 0;

	NEEDS_MEAN();
	for (i = 0; i < ROUNDS; i++) {
		size_t at = i * 1001 % 5000, len = 100 + i * 777 % 20000;

		ASSERT_EQ(0, bind_part(w, &w->mem, at, len, &b)) TH_LOG("round %d", i);
		EXPECT_EQ(0, peer_reads(w, w->mem.va + at, b.rmr_context))
			TH_LOG("round %d", i);
		key[i] = b.rmr_context;
		for (j = 0; j < i; j++)
			EXPECT_NE(key[j], key[i]) TH_LOG("rounds %d and %d", j, i);
		for (j = 0; j < i && key[j] >> 8 != key[i] >> 8; j++)
			;
		same += j < i;
		if (i % 12 == 11)
			EXPECT_EQ(0, refused(w, key[i - 1])) TH_LOG("round %d", i);
	}
	/* The upper bits of a key name the registration: most binds use one that is there. */
	EXPECT_LT(ROUNDS / 2, same);
	/* Only the last binding pins memory. */
	ASSERT_EQ(0, bind_part(w, &w->mem, 0, KB << 10, &b));
	EXPECT_EQ(w->pin + KB, wait_for_pinned(w->pin + KB));
	ASSERT_EQ(0, prepare(&w->p.f, w->rmr, NULL, &b));
	ASSERT_EQ(0, post_bind(&w->ep[0], b.id, b.ticket, 0));
	EXPECT_EQ(DAT_ST_SUCCESS, next_status(&w->evd[0], DAT_EV_RMR_BIND));
	EXPECT_EQ(w->pin, wait_for_pinned(w->pin));
	EXPECT_EQ(0, t_free(&w->p.f, DAT_OBJ_LMR, w->mem.id));
}

/*
 * A disconnect flushes a bind that is in the queue of the device, and nobody knows whether the
 * device has carried out a part of the bind.  So neither key may give access, and the next bind
 * needs another registration.
 */
static void cut_off(struct __test_metadata *_metadata, FIXTURE_DATA(binds) *w, enum stay stay)
{
	struct dat_rmr_bind first, cut, b;
	struct dat_eqe eqe;

	ASSERT_EQ(0, bind_part(w, &w->mem, 0, KB << 10, &first));
	ASSERT_EQ(0, bind_in_device(w, stay, &cut));
	if (stay == NOT_REPORTED) {
		EXPECT_EQ(0, peer_reads(w, w->mem.va, cut.rmr_context));
	}
	ASSERT_EQ(0, t_disconnect(&w->p.f, &w->ep[0], 0));
	ASSERT_EQ(0, mean_set("hold", "0"));
	EXPECT_EQ(DAT_ST_FLUSHED, next_status(&w->evd[0], DAT_EV_RMR_BIND));
	EXPECT_LE(0, next_status(&w->evd[0], DAT_EV_DISCONNECTED));
	EXPECT_EQ(0, t_event(&w->evd[0], 0, &eqe));
	EXPECT_EQ(w->pin, wait_for_pinned(w->pin));
	ASSERT_EQ(0, t_reconnect_eps(&w->p, w->ep, w->evd));
	EXPECT_EQ(0, refused(w, first.rmr_context));
	EXPECT_EQ(0, refused(w, cut.rmr_context));
	ASSERT_EQ(0, bind_part(w, &w->mem, 0, 100, &b));
	EXPECT_NE(first.rmr_context >> 8, b.rmr_context >> 8);
	EXPECT_NE(cut.rmr_context >> 8, b.rmr_context >> 8);
	EXPECT_EQ(DAT_ST_SUCCESS, peer_reads(w, w->mem.va, b.rmr_context));
}

TEST_F_TIMEOUT(binds, a_bind_that_was_cut_off_leaves_no_key_and_no_registration, 120)
{
	NEEDS_MEAN();
	cut_off(_metadata, self, NOT_EXECUTED);
}

TEST_F_TIMEOUT(binds, nor_does_one_that_the_device_had_executed, 120)
{
	NEEDS_MEAN();
	cut_off(_metadata, self, NOT_REPORTED);
}

/* The free does not wait for the bind.  The key that is in effect ends at once. */
TEST_F_TIMEOUT(binds, a_free_ends_the_keys_of_a_bind_in_flight, 120)
{
	FIXTURE_DATA(binds) *w = self;
	struct dat_rmr_bind first, b;
	struct dat_eqe eqe;

	NEEDS_MEAN();
	ASSERT_EQ(0, bind_part(w, &w->mem, 0, KB << 10, &first));
	ASSERT_EQ(0, bind_in_device(w, NOT_EXECUTED, &b));
	ASSERT_EQ(0, t_free(&w->p.f, DAT_OBJ_RMR, w->rmr));
	/* This breaks the connection, which flushes the bind. */
	EXPECT_EQ(DAT_ST_REMOTE_ACCESS, peer_reads(w, w->mem.va, first.rmr_context));
	EXPECT_EQ(DAT_ST_FLUSHED, next_status(&w->evd[0], DAT_EV_RMR_BIND));
	EXPECT_EQ(1, t_event(&w->evd[0], T_WAIT_MS, &eqe));
	EXPECT_NE(DAT_EV_RMR_BIND, eqe.type);
	EXPECT_EQ(w->pin, wait_for_pinned(w->pin));
	ASSERT_EQ(0, t_reconnect_eps(&w->p, w->ep, w->evd));
	EXPECT_EQ(0, refused(w, b.rmr_context));
	EXPECT_EQ(0, t_free(&w->p.f, DAT_OBJ_LMR, w->mem.id));
}

/* The bind finds at its end that the RMR is gone, and destroys its own registration. */
TEST_F_TIMEOUT(binds, a_free_ends_the_key_that_the_device_has_made, 120)
{
	FIXTURE_DATA(binds) *w = self;
	struct dat_rmr_bind first, b;

	NEEDS_MEAN();
	ASSERT_EQ(0, bind_part(w, &w->mem, 0, KB << 10, &first));
	ASSERT_EQ(0, bind_in_device(w, NOT_REPORTED, &b));
	EXPECT_EQ(0, peer_reads(w, w->mem.va, b.rmr_context));
	ASSERT_EQ(0, t_free(&w->p.f, DAT_OBJ_RMR, w->rmr));
	EXPECT_EQ(-EBUSY, t_free(&w->p.f, DAT_OBJ_LMR, w->mem.id));
	ASSERT_EQ(0, mean_set("hold", "0"));
	EXPECT_EQ(DAT_ST_RMR_FAILED, next_status(&w->evd[0], DAT_EV_RMR_BIND));
	EXPECT_LE(0, next_status(&w->evd[0], DAT_EV_BROKEN));
	EXPECT_EQ(w->pin, wait_for_pinned(w->pin));
	ASSERT_EQ(0, t_reconnect_eps(&w->p, w->ep, w->evd));
	EXPECT_EQ(0, refused(w, first.rmr_context));
	EXPECT_EQ(0, refused(w, b.rmr_context));
	EXPECT_EQ(0, t_free(&w->p.f, DAT_OBJ_LMR, w->mem.id));
}

/* Connect two more endpoints, of which ep[0] binds. */
static int more_eps(FIXTURE_DATA(binds) *w, struct t_evd evd[2], struct t_ep ep[2])
{
	int i, ret = 0;

	for (i = 0; i < 2 && !ret; i++)
		ret = t_ep(&w->p.f, w->p.pz, &evd[i], 0, 30 + i, &ep[i]);
	return ret ? ret : t_connect_eps(&w->p, ep, evd);
}

static int more_evds(FIXTURE_DATA(binds) *w, struct t_evd evd[2])
{
	const uint32_t streams = DAT_STREAM_DTO | DAT_STREAM_CONNECTION | DAT_STREAM_RMR_BIND;

	return t_evd(&w->p.f, streams, 64, &evd[0]) || t_evd(&w->p.f, streams, 64, &evd[1]);
}

/*
 * While one endpoint's bind is in the device, the previous key may still give access.  So a bind of
 * the same RMR at another endpoint completes only after the first bind, and the memory of neither
 * binding can be freed.
 */
static void one_after_the_other(struct __test_metadata *_metadata, FIXTURE_DATA(binds) *w,
				enum stay stay)
{
	struct dat_rmr_bind first, slow, fast;
	struct dat_eqe eqe;
	struct t_lmr other;
	struct t_evd evd[2];
	struct t_ep ep[2];

	ASSERT_EQ(0, t_lmr(&w->p.f, w->p.pz, 4096, T_PRIV_ALL, &other));
	ASSERT_EQ(0, more_evds(w, evd));
	ASSERT_EQ(0, more_eps(w, evd, ep));
	ASSERT_EQ(0, bind_part(w, &other, 0, 4096, &first));
	ASSERT_EQ(0, bind_in_device(w, stay, &slow));
	ASSERT_EQ(0, prepare_it(w, &fast));
	ASSERT_EQ(0, post_bind(&ep[0], fast.id, fast.ticket, 0));
	EXPECT_EQ(0, t_event(&evd[0], 200, &eqe));
	EXPECT_EQ(-EBUSY, t_free(&w->p.f, DAT_OBJ_LMR, other.id));
	EXPECT_EQ(-EBUSY, t_free(&w->p.f, DAT_OBJ_LMR, w->mem.id));
	if (stay == NOT_EXECUTED) {
		ASSERT_EQ(0, t_disconnect(&w->p.f, &w->ep[0], 0));
	}
	ASSERT_EQ(0, mean_set("hold", "0"));
	EXPECT_EQ(stay == NOT_EXECUTED ? DAT_ST_FLUSHED : DAT_ST_SUCCESS,
		  next_status(&w->evd[0], DAT_EV_RMR_BIND));
	EXPECT_EQ(DAT_ST_SUCCESS, next_status(&evd[0], DAT_EV_RMR_BIND));
	EXPECT_EQ(0, t_free(&w->p.f, DAT_OBJ_LMR, other.id));
	ASSERT_EQ(0, t_reconnect_eps(&w->p, w->ep, w->evd));
	EXPECT_EQ(DAT_ST_SUCCESS, peer_reads(w, w->mem.va, fast.rmr_context));
	EXPECT_EQ(0, refused(w, first.rmr_context));
	EXPECT_EQ(0, refused(w, slow.rmr_context));
	EXPECT_EQ(w->pin + KB, wait_for_pinned(w->pin + KB));
}

TEST_F_TIMEOUT(binds, a_bind_begins_when_one_of_another_endpoint_was_flushed, 120)
{
	NEEDS_MEAN();
	one_after_the_other(_metadata, self, NOT_EXECUTED);
}

TEST_F_TIMEOUT(binds, binds_of_two_endpoints_end_one_after_the_other, 120)
{
	NEEDS_MEAN();
	one_after_the_other(_metadata, self, NOT_REPORTED);
}

/* Prepare a bind of all of mem, and post it to @ep with this cookie. */
static int bind_as(FIXTURE_DATA(binds) *w, struct t_ep *ep, uint64_t cookie)
{
	struct dat_rmr_bind b;

	return prepare_it(w, &b) || post_bind_as(ep, cookie, b.id, b.ticket, 0);
}

/* An endpoint that binds all the time is not the next again while another one waits. */
TEST_F_TIMEOUT(binds, the_endpoint_that_waited_first_is_the_next, 120)
{
	enum { MANY = 6 };
	FIXTURE_DATA(binds) *w = self;
	struct dat_rmr_bind first;
	struct t_ep ep[2][2];
	struct dat_eqe eqe;
	int i;

	NEEDS_MEAN();
	/* One EVD tells the order of the events. */
	ASSERT_EQ(0, more_eps(w, w->evd, ep[0]));
	ASSERT_EQ(0, more_eps(w, w->evd, ep[1]));
	ASSERT_EQ(0, bind_in_device(w, NOT_REPORTED, &first));
	for (i = 0; i < MANY; i++)
		ASSERT_EQ(0, bind_as(w, &w->ep[0], 100 + i));
	ASSERT_EQ(0, bind_as(w, &ep[0][0], 200));
	ASSERT_EQ(0, bind_as(w, &ep[1][0], 300));
	ASSERT_EQ(0, mean_set("hold", "0"));
	for (i = 0; i < MANY + 3; i++) {
		ASSERT_EQ(1, t_event(&w->evd[0], T_WAIT_MS, &eqe));
		EXPECT_EQ(DAT_EV_RMR_BIND, eqe.type);
		EXPECT_EQ(DAT_ST_SUCCESS, eqe.status);
		if (i < 2)
			EXPECT_EQ(i ? 200 : 55, eqe.cookie);
	}
}

/*
 * Pages of a binding that was dropped must not count against the limit of locked memory when the
 * next bind pins its own, not even while a work item is about to unpin them.
 */
TEST_F_TIMEOUT(binds, a_bind_waits_for_the_end_of_those_that_were_flushed, 120)
{
	FIXTURE_DATA(binds) *w = self;
	struct dat_rmr_bind b;
	int i;

	NEEDS_MEAN();
	ASSERT_EQ(0, t_disconnect(&w->p.f, &w->ep[0], 0));
	EXPECT_LE(0, next_status(&w->evd[0], DAT_EV_DISCONNECTED));
	/* The RMR keeps the registration of one of them.  That of the other is destroyed. */
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, prepare_it(w, &b));
	ASSERT_EQ(w->pin + 2 * KB, vm_pin_kb());
	ASSERT_EQ(0, mean_set("hits", "0") || mean_set("dereg_ms", "1000"));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, post_bind(&w->ep[0], b.id, b.ticket - 1 + i, 0));
	ASSERT_EQ(0, has_hit());
	ASSERT_EQ(0, prepare_it(w, &b));
	EXPECT_EQ(w->pin + KB, vm_pin_kb());
}

/* A bind that fails in the device is reported once, and breaks its connection. */
TEST_F_TIMEOUT(binds, a_bind_that_the_device_refuses_ends_both_keys, 240)
{
	static const struct {
		const char *param, *value;
		int status;
	} how[] = {
		{ "reg_refused", "1", DAT_ST_RMR_FAILED },
		{ "reg_status", "2", DAT_ST_RMR_FAILED },	/* IB_WC_LOC_QP_OP_ERR */
		{ "reg_status", "5", DAT_ST_FLUSHED },		/* IB_WC_WR_FLUSH_ERR */
	};
	FIXTURE_DATA(binds) *w = self;
	struct dat_rmr_bind first, b;
	struct dat_eqe eqe;
	unsigned int i;

	NEEDS_MEAN();
	for (i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		ASSERT_EQ(0, bind_part(w, &w->mem, 0, KB << 10, &first)) TH_LOG("%u", i);
		ASSERT_EQ(0, prepare_it(w, &b));
		ASSERT_EQ(0, mean_set("hits", "0"));
		ASSERT_EQ(0, mean_set(how[i].param, how[i].value));
		ASSERT_EQ(0, post_bind(&w->ep[0], b.id, b.ticket, 0));
		EXPECT_EQ(how[i].status, next_status(&w->evd[0], DAT_EV_RMR_BIND))
			TH_LOG("%u", i);
		EXPECT_LE(0, next_status(&w->evd[0], DAT_EV_BROKEN)) TH_LOG("%u", i);
		EXPECT_EQ(0, t_event(&w->evd[0], 0, &eqe)) TH_LOG("%u", i);
		EXPECT_EQ(1, mean_hits()) TH_LOG("%u", i);
		ASSERT_EQ(0, mean_set(how[i].param, "0"));
		EXPECT_EQ(w->pin, wait_for_pinned(w->pin)) TH_LOG("%u", i);
		ASSERT_EQ(0, t_reconnect_eps(&w->p, w->ep, w->evd));
		EXPECT_EQ(0, refused(w, first.rmr_context)) TH_LOG("%u", i);
		EXPECT_EQ(0, refused(w, b.rmr_context)) TH_LOG("%u", i);
	}
	EXPECT_EQ(0, t_free(&w->p.f, DAT_OBJ_LMR, w->mem.id));
}

TEST_F_TIMEOUT(binds, a_larger_registration_serves_a_smaller_binding, 120)
{
	FIXTURE_DATA(binds) *w = self;
	struct dat_rmr_bind large, one, small, again;

	NEEDS_MEAN();
	ASSERT_EQ(0, bind_part(w, &w->mem, 0, KB << 10, &large));
	ASSERT_EQ(0, bind_part(w, &w->mem, 0, 4096, &one));
	ASSERT_EQ(0, bind_part(w, &w->mem, 0, 5000, &small));
	EXPECT_EQ(large.rmr_context >> 8, small.rmr_context >> 8);
	EXPECT_NE(large.rmr_context, small.rmr_context);
	/* Now the one of a page is free, which is too small. */
	ASSERT_EQ(0, bind_part(w, &w->mem, 0, KB << 10, &again));
	EXPECT_NE(one.rmr_context >> 8, again.rmr_context >> 8);
	EXPECT_EQ(0, peer_reads(w, w->mem.va + (KB << 10) - 64, again.rmr_context));
	ASSERT_EQ(0, bind_part(w, &w->mem, 0, 5000, &small));
	/* No more than the binding can be reached, although the registration has more pages. */
	EXPECT_EQ(0, peer_reads(w, w->mem.va + 5000 - 64, small.rmr_context));
	EXPECT_EQ(DAT_ST_REMOTE_ACCESS,
		  peer_reads(w, w->mem.va + 5000 - 63, small.rmr_context));
}

/* Devices by which a registration ends in another way.  The tests before do not work there. */
FIXTURE(driver) {
	FIXTURE_DATA(binds) w;
};

/*
 * @ends: the device ends registrations by work requests; else dat.ko destroys them.  @large: KiB of
 * a large binding, which is made directly where that is possible.  @ended: number of registrations
 * that work requests end if a small binding comes before it and another one after it.
 */
FIXTURE_VARIANT(driver) {
	const char *params;
	int ends;
	long large;
	int ended;
};

FIXTURE_VARIANT_ADD(driver, irdma) {
	.params = "driver=irdma user_mr=2", .ends = 1, .large = 1024, .ended = 2,
};

FIXTURE_VARIANT_ADD(driver, mlx5) {
	.params = "driver=mlx5", .ends = 1, .large = 4096, .ended = 1,
};

FIXTURE_VARIANT_ADD(driver, hns) {
	.params = "driver=hns user_mr=1", .large = 4096,
};

FIXTURE_VARIANT_ADD(driver, unknown) {
	.params = "driver=unknown user_mr=2", .large = 1024,
};

FIXTURE_SETUP(driver)
{
	if (mean_missing())
		return;
	ASSERT_EQ(0, mean_load(variant->params));
	ASSERT_EQ(0, binds_open(&self->w));
}

FIXTURE_TEARDOWN(driver)
{
	if (mean_missing())
		return;
	t_pair_close(&self->w.p);
	EXPECT_EQ(self->w.pages, pinned_pages());
}

/* Bind a part of @lmr, read it, and find that the key before does not work any more. */
static int rebind(FIXTURE_DATA(binds) *w, const struct t_lmr *lmr, size_t len, uint32_t *key)
{
	const uint32_t old = *key;
	struct dat_rmr_bind b;
	int ret = bind_part(w, lmr, 0, len, &b);

	*key = b.rmr_context;
	ret = ret ? ret : peer_reads(w, lmr->va, b.rmr_context);
	ret = ret ? ret : peer_reads(w, lmr->va + len - 64, b.rmr_context);
	return ret || !old ? ret : refused(w, old);
}

/* Where the end of a registration is its destruction, no key comes from the same registration. */
TEST_F_TIMEOUT(driver, each_bind_ends_the_key_of_the_previous_one, 120)
{
	enum { ROUNDS = 6 };
	FIXTURE_DATA(binds) *w = &self->w;
	uint32_t key[ROUNDS] = { 0 }, last = 0;
	struct dat_rmr_bind b;
	int i, j, same = 0;

	NEEDS_MEAN();
	ASSERT_EQ(0, mean_set("invalidations", "0"));
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, rebind(w, &w->mem, 1000 * (i + 1), &last)) TH_LOG("round %d", i);
		key[i] = last;
		for (j = 0; j < i && key[j] >> 8 != last >> 8; j++)
			;
		same += j < i;
	}
	EXPECT_EQ(variant->ends, same > 0);
	EXPECT_EQ(variant->ends ? ROUNDS - 1 : 0, mean_get("invalidations"));
	ASSERT_EQ(0, prepare(&w->p.f, w->rmr, NULL, &b));
	ASSERT_EQ(0, post_bind(&w->ep[0], b.id, b.ticket, 0));
	EXPECT_EQ(DAT_ST_SUCCESS, next_status(&w->evd[0], DAT_EV_RMR_BIND));
	EXPECT_EQ(0, refused(w, last));
	EXPECT_EQ(w->pin, wait_for_pinned(w->pin));
	EXPECT_EQ(0, t_free(&w->p.f, DAT_OBJ_LMR, w->mem.id));
}

/* A binding that is too large for a work request is made and ended without one. */
TEST_F_TIMEOUT(driver, a_large_binding_between_two_small_ones, 120)
{
	FIXTURE_DATA(binds) *w = &self->w;
	const long kb = variant->large;
	uint32_t key = 0;
	struct t_lmr big;

	NEEDS_MEAN();
	ASSERT_EQ(0, t_lmr(&w->p.f, w->p.pz, kb << 10, T_PRIV_ALL, &big));
	ASSERT_EQ(0, mean_set("invalidations", "0"));
	EXPECT_EQ(0, rebind(w, &big, KB << 10, &key));
	EXPECT_EQ(0, rebind(w, &big, kb << 10, &key));
	EXPECT_EQ(0, rebind(w, &big, KB << 10, &key));
	EXPECT_EQ(variant->ended, mean_get("invalidations"));
	EXPECT_EQ(w->pin + kb + KB, wait_for_pinned(w->pin + kb + KB));
}

TEST_HARNESS_MAIN
