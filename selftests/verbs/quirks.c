// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Devices that deviate from soft RoCE: the mean device, which dat.ko takes for that of a driver. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "clock.h"
#include "mean.h"
#include "rmr_test.h"
#include "suppressed.h"

#define MIB	(1UL << 20)
#define MSG	4096
#define LOCAL	(DAT_PRIV_LOCAL_READ | DAT_PRIV_LOCAL_WRITE)

FIXTURE(quirks) {
	struct t_pair p;
	struct t_lmr mem[2];
};

FIXTURE_SETUP(quirks)
{
}

FIXTURE_TEARDOWN(quirks)
{
	if (!mean_missing())
		t_pair_close(&self->p);
}

/* A SKIP() in the fixture does not skip the tests of the fixture, so each test calls this macro. */
#define MEAN(params) do {							\
	if (mean_missing())							\
		SKIP(return, mean_missing());					\
	ASSERT_EQ(0, mean_load(params));					\
} while (0)

static void scribble(char *va, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		va[i] = (char)((seed + i * 2654435761U) >> 16);
}

/* Send mem[0] to mem[1], which are of the same size.  Returns 0 or an error. */
static int passes(struct t_pair *p, struct t_lmr mem[2])
{
	struct t_lmr *from = &mem[0], *to = &mem[1];
	struct dat_eqe eqe;
	int i;

	scribble(from->va, from->size, 7);
	memset(to->va, 0, to->size);
	if (t_recv(&p->ep[0].rq, 1, (uintptr_t)to->va, to->lkey, (uint32_t)to->size) ||
	    t_send(&p->ep[1], 2, (uintptr_t)from->va, from->lkey, (uint32_t)from->size))
		return -EIO;
	for (i = 0; i < 2; i++) {
		if (!t_event(&p->evd[i], T_WAIT_MS, &eqe))
			return -ETIMEDOUT;
		if (eqe.type != DAT_EV_DTO || eqe.status)
			return -EIO;
	}
	return memcmp(from->va, to->va, to->size) ? -EILSEQ : 0;
}

static int connected(FIXTURE_DATA(quirks) *self)
{
	return t_pair_open(&self->p) || t_pair_connect(&self->p);
}

static int two_lmrs(FIXTURE_DATA(quirks) *self, size_t size)
{
	struct t_pair *p = &self->p;

	return t_lmr(&p->f, p->pz, size, LOCAL, &self->mem[0]) ||
	       t_lmr(&p->f, p->pz, size, LOCAL, &self->mem[1]);
}

TEST_F_TIMEOUT(quirks, a_driver_that_wants_a_udata_gets_an_empty_one, 120)
{
	MEAN("driver=hns user_mr=1");
	ASSERT_EQ(0, connected(self));
	/* It is not the limit of a registration by work request. */
	EXPECT_LT(9 * MIB, self->p.f.info.max_lmr_size);
	ASSERT_EQ(0, two_lmrs(self, MIB));
	EXPECT_EQ(0, passes(&self->p, self->mem));
	EXPECT_EQ(0, mean_hits());
}

TEST_F_TIMEOUT(quirks, a_driver_that_registers_no_user_memory_gets_work_requests, 120)
{
	MEAN("driver=irdma user_mr=2");
	ASSERT_EQ(0, connected(self));
	ASSERT_EQ(0, two_lmrs(self, MIB));
	EXPECT_EQ(0, passes(&self->p, self->mem));
	EXPECT_EQ(0, mean_hits());
}

TEST_F_TIMEOUT(quirks, memory_for_peers_is_as_long_as_one_work_request_registers, 120)
{
	struct t_file *f = &self->p.f;
	uint32_t pz;

	/* Pages that happen to be contiguous count as one larger page, if there are such pages. */
	MEAN("driver=irdma user_mr=2 fast_reg_pages=16 page_sizes=4096");
	ASSERT_EQ(0, t_open(f));
	ASSERT_EQ(0, t_pz(f, &pz));
	EXPECT_EQ(15 * 4096, f->info.max_lmr_size);
	EXPECT_EQ(0, t_lmr(f, pz, 15 * 4096, T_PRIV_ALL, &self->mem[0]));
	EXPECT_EQ(-ENOMEM, t_lmr(f, pz, 17 * 4096, T_PRIV_ALL, &self->mem[1]));
	EXPECT_EQ(0, t_lmr(f, pz, MIB, LOCAL, &self->mem[1]));
	EXPECT_EQ(0, mean_hits());
}

/* The limits of the device say that it makes longer queues. */
TEST_F_TIMEOUT(quirks, a_queue_pair_is_as_long_as_the_device_makes_it, 120)
{
	struct t_pair *p = &self->p;

	MEAN("qp_depth=20");
	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, p->ep[1].id));
	ASSERT_EQ(0, t_long_ep(&p->f, p->pz, &p->evd[1], 0, 1, 64, &p->ep[1]));
	ASSERT_EQ(0, t_pair_connect(p));
	EXPECT_LT(0, mean_hits());
	ASSERT_EQ(0, two_lmrs(self, 4096));
	EXPECT_EQ(0, passes(&self->p, self->mem));
}

/* An InfiniBand switch has no port for connections. */
TEST_F_TIMEOUT(quirks, a_device_without_ports_is_no_adapter, 120)
{
	struct t_file *f = &self->p.f;

	MEAN("is_switch=1");
	EXPECT_EQ(-ENOENT, t_open(f));
	close(f->fd);
	/* Without the meanness, the device has its port. */
	ASSERT_EQ(0, mean_load(""));
	EXPECT_EQ(0, t_open(f));
}

/* --- inline data ------------------------------------------------------------------ */

FIXTURE(inline) {
	struct t_pair p;
	struct t_ep ep[2];
};

/* @max: bytes of inline data of the driver that the device claims to have */
FIXTURE_VARIANT(inline) {
	const char *params;
	uint32_t max;
};

FIXTURE_VARIANT_ADD(inline, rxe) {
	.params = "", .max = DAT_MAX_INLINE,
};

FIXTURE_VARIANT_ADD(inline, mlx5) {
	.params = "driver=mlx5", .max = DAT_MAX_INLINE,
};

FIXTURE_VARIANT_ADD(inline, bnxt_re) {
	.params = "driver=bnxt_re",
};

FIXTURE_VARIANT_ADD(inline, unknown) {
	.params = "driver=unknown user_mr=2",
};

FIXTURE_SETUP(inline)
{
	MEAN(variant->params);
	ASSERT_EQ(0, t_pair_open(&self->p));
	self->ep[0] = self->p.ep[0];
}

FIXTURE_TEARDOWN(inline)
{
	if (!mean_missing())
		t_pair_close(&self->p);
}

/* Makes the EP that sends.  Returns the granted number of bytes of inline data. */
static int inline_ep(FIXTURE_DATA(inline) *self)
{
	const uint32_t evd = self->p.evd[1].id;
	struct dat_ep_create arg = {
		.pz = self->p.pz, .recv_evd = evd, .request_evd = evd, .connect_evd = evd,
		.max_recv = T_QUEUE, .max_request = T_QUEUE, .max_recv_iov = 4,
		.max_request_iov = 4, .read_in = 4, .read_out = 4, .max_inline = ~0U,
	};
	int ret = t_any_ep(&self->p.f, &arg, &self->ep[1]);

	return ret ? ret : (int)arg.max_inline;
}

/* Sends @len bytes of inline data, and returns 0 if they arrive. */
static int inline_passes(FIXTURE_DATA(inline) *self, uint16_t len)
{
	struct t_pair *p = &self->p;
	struct dat_sqe *sqe = t_sqe(&self->ep[1].sq);
	struct dat_eqe eqe;
	int i;

	sqe->opcode = DAT_OP_SEND;
	sqe->inline_len = len;
	memset(sqe + 1, 0x5a, len);
	memset(p->mem.va, 0, len);
	if (t_recv(&self->ep[0].rq, 1, (uintptr_t)p->mem.va, p->mem.lkey, MSG) ||
	    t_push(&self->ep[1].sq))
		return -EIO;
	for (i = 0; i < 2; i++) {
		if (!t_event(&p->evd[i], T_WAIT_MS, &eqe))
			return -ETIMEDOUT;
		if (eqe.type != DAT_EV_DTO || eqe.status || eqe.len != len)
			return -EIO;
	}
	for (i = 0; i < len; i++)
		if (p->mem.va[i] != 0x5a)
			return -EILSEQ;
	return 0;
}

/* Drivers that were not read for this may ignore the flag in the post, and send other memory. */
TEST_F_TIMEOUT(inline, data_are_only_for_drivers_that_were_read, 120)
{
	if (mean_missing())
		SKIP(return, mean_missing());
	EXPECT_EQ(variant->max, self->p.f.info.max_inline);
	ASSERT_EQ(variant->max, inline_ep(self));
	ASSERT_EQ(0, t_connect_eps(&self->p, self->ep, self->p.evd));
	if (variant->max)
		EXPECT_EQ(0, inline_passes(self, DAT_MAX_INLINE));
}

/* A program may write such entries, so a queue pair that cannot send them is none for it. */
TEST_F_TIMEOUT(inline, a_queue_pair_that_has_none_is_not_used, 120)
{
	if (mean_missing() || !variant->max)
		SKIP(return, mean_missing() ?: "this driver is asked for none");
	ASSERT_EQ(0, mean_set("no_inline", "1"));
	ASSERT_EQ(variant->max, inline_ep(self));
	EXPECT_NE(0, t_connect_eps(&self->p, self->ep, self->p.evd));
	EXPECT_LT(0, mean_hits());
	ASSERT_EQ(0, mean_set("no_inline", "0"));
	ASSERT_EQ(0, t_pair_connect(&self->p));
}

/* Access flag of verbs, as in rdma/ib_user_ioctl_verbs.h: IB_UVERBS_ACCESS_RELAXED_ORDERING. */
#define RELAXED_ORDERING	(1 << 20)

FIXTURE(relaxed) {
	struct t_pair p;
	struct t_lmr mem[2];
};

/*
 * @caps: keys that may be relaxed; @lmr, @window: the device is asked for relaxed order of an LMR,
 * or of a window.
 */
FIXTURE_VARIANT(relaxed) {
	const char *params;
	uint64_t caps;
	int lmr;
	int window;
};

FIXTURE_VARIANT_ADD(relaxed, rxe) {
	.params = "", .caps = DAT_IA_CAP_RELAXED, .lmr = 1, .window = 1,
};

FIXTURE_VARIANT_ADD(relaxed, mlx5) {
	.params = "driver=mlx5", .caps = DAT_IA_CAP_RELAXED | DAT_IA_CAP_RELAXED_RMR, .lmr = 1,
};

FIXTURE_VARIANT_ADD(relaxed, unknown) {
	.params = "driver=unknown user_mr=2",
	.caps = DAT_IA_CAP_RELAXED | DAT_IA_CAP_RELAXED_LMR | DAT_IA_CAP_RELAXED_RMR,
};

FIXTURE_SETUP(relaxed)
{
	MEAN(variant->params);
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, t_pair_connect(&self->p));
}

FIXTURE_TEARDOWN(relaxed)
{
	if (!mean_missing())
		t_pair_close(&self->p);
}

/*
 * Returns 1 if the last registration asked the device for relaxed order, 0 if it did not, or -1 if
 * there was none since the last call.
 */
static int asked(void)
{
	int flags = mean_get("reg_access");

	if (mean_set("reg_access", "0") || flags <= 0)
		return -1;
	return !!(flags & RELAXED_ORDERING);
}

/* Bind a window to @lmr. */
static int window(struct t_pair *p, const struct t_lmr *lmr)
{
	struct t_queue *sq = &p->ep[1].sq;
	struct dat_rmr_bind bind;
	uint32_t rmr;

	if (make_rmr(&p->f, p->pz, &rmr) || prepare(&p->f, rmr, lmr, &bind) ||
	    post_bind(&p->ep[1], rmr, bind.ticket, 0))
		return -1;
	return done_reaches(sq, sq->tail) ? 0 : -1;
}

TEST_F_TIMEOUT(relaxed, order_is_asked_for_where_the_consumer_allows_it, 120)
{
	const uint32_t priv = LOCAL | DAT_PRIV_REMOTE_READ;
	struct t_pair *p = &self->p;

	if (mean_missing())
		SKIP(return, mean_missing());
	EXPECT_EQ(variant->caps, p->f.info.caps);
	asked();
	ASSERT_EQ(0, t_lmr(&p->f, p->pz, MSG, priv | DAT_PRIV_RELAXED, &self->mem[1]));
	EXPECT_EQ(variant->lmr, asked());
	ASSERT_EQ(0, t_lmr(&p->f, p->pz, MSG, priv, &self->mem[0]));
	EXPECT_EQ(0, asked());
	ASSERT_EQ(0, window(p, &self->mem[1]));
	EXPECT_EQ(variant->window, asked());
	EXPECT_EQ(0, passes(p, self->mem));
}

FIXTURE(silent) {
	struct t_pair p;
};

/* @lags: the device may be left to report no end of a suppressed request. */
FIXTURE_VARIANT(silent) {
	const char *params;
	int lags;
};

FIXTURE_VARIANT_ADD(silent, mlx5) { .params = "driver=mlx5", .lags = 1 };
FIXTURE_VARIANT_ADD(silent, cxgb4) { .params = "driver=cxgb4" };
FIXTURE_VARIANT_ADD(silent, unknown) { .params = "driver=unknown user_mr=2" };

FIXTURE_SETUP(silent)
{
	MEAN(variant->params);
	t_features = DAT_FEATURE_SILENT;
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, t_pair_connect(&self->p));
	ASSERT_EQ(0, await_handshake(&self->p));
}

FIXTURE_TEARDOWN(silent)
{
	if (!mean_missing())
		t_pair_close(&self->p);
}

/*
 * A driver that flushes in software completes as flushed what it was not told to report, also if it
 * has succeeded.  So there each request is reported when it ends.
 */
TEST_F_TIMEOUT(silent, where_a_flush_tells_the_truth, 60)
{
	struct t_queue *sq = &self->p.ep[1].sq;
	int i;

	if (mean_missing())
		SKIP(return, mean_missing());
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, post_suppressed(&self->p));
	if (variant->lags)
		usleep(T_QUIET_MS * 1000);
	else
		EXPECT_TRUE(done_reaches(sq, 2));
	EXPECT_EQ(variant->lags ? 0 : 2, sq->status->done);
}

/*
 * LAST_WQE says that the completions of an SRQ's buffers are there.  Without it the end of the
 * connection takes a second, unless the driver is known never to report it.
 */
#define ENDS	4	/* most connections that a test ends */
#define BUFFERS	16

FIXTURE(last_wqe) {
	struct t_pair p;
	struct t_srq srq;
	struct t_ep in[ENDS + 1];
	struct t_ep out[ENDS + 1];
};

FIXTURE_VARIANT(last_wqe) {
	const char *params;
	unsigned int least_ms;
	unsigned int most_ms;	/* a busy machine may take longer, but not each time; 0: no limit */
};

FIXTURE_VARIANT_ADD(last_wqe, is_never_reported) {
	.params = "driver=qedr last_wqe=1", .most_ms = 800,
};

FIXTURE_VARIANT_ADD(last_wqe, is_lost) {
	.params = "driver=mlx5 last_wqe=1", .least_ms = 900,
};

FIXTURE_VARIANT_ADD(last_wqe, is_early) {
	.params = "driver=mlx5 last_wqe=2", .most_ms = 800,
};

FIXTURE_VARIANT_ADD(last_wqe, is_late) {
	.params = "driver=mlx5 last_wqe=3 last_wqe_ms=300", .least_ms = 300, .most_ms = 900,
};

FIXTURE_SETUP(last_wqe)
{
	struct t_pair *p = &self->p;
	unsigned int i;

	MEAN(variant->params);
	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, t_srq(&p->f, p->pz, BUFFERS, &self->srq));
	for (i = 0; i <= ENDS; i++) {
		ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[0], self->srq.id, 100 + i, &self->in[i]));
		ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[1], 0, 200 + i, &self->out[i]));
	}
	for (i = 0; i < BUFFERS; i++)
		ASSERT_EQ(0, t_recv(&self->srq.rq, i, (uintptr_t)p->mem.va + i * MSG, p->mem.lkey,
				    MSG));
}

FIXTURE_TEARDOWN(last_wqe)
{
	if (!mean_missing())
		t_pair_close(&self->p);
}

static int event_is(struct t_evd *evd, uint32_t type, struct dat_eqe *eqe)
{
	return t_event(evd, T_WAIT_MS, eqe) && eqe->type == type ? 0 : -EPROTO;
}

static int connect_nth(FIXTURE_DATA(last_wqe) *self, int i)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;

	return t_connect(&p->f, &self->out[i], T_QUAL, NULL, 0) ||
	       !t_event(&p->cr, T_WAIT_MS, &eqe) ||
	       t_accept(&p->f, eqe.len, &self->in[i], NULL, 0) ||
	       event_is(&p->evd[0], DAT_EV_ESTABLISHED, &eqe) ||
	       event_is(&p->evd[1], DAT_EV_ESTABLISHED, &eqe);
}

/* Send @n messages over connection @i, one after the other. */
static int carries(FIXTURE_DATA(last_wqe) *self, int i, unsigned int n)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;

	while (n--) {
		if (t_send(&self->out[i], n, (uintptr_t)p->mem.va, p->mem.lkey, MSG) ||
		    event_is(&p->evd[1], DAT_EV_DTO, &eqe) || eqe.status ||
		    event_is(&p->evd[0], DAT_EV_DTO, &eqe) || eqe.status)
			return -EPROTO;
	}
	return 0;
}

/* End connection @i.  Returns the milliseconds that this takes, or a negative error. */
static int end_nth(FIXTURE_DATA(last_wqe) *self, int i)
{
	struct t_pair *p = &self->p;
	uint64_t began = now_ms(), ms;
	struct dat_eqe eqe;

	if (t_disconnect(&p->f, &self->in[i], 0) ||
	    event_is(&p->evd[0], DAT_EV_DISCONNECTED, &eqe))
		return -EPROTO;
	ms = now_ms() - began;
	return event_is(&p->evd[1], DAT_EV_DISCONNECTED, &eqe) ? -EPROTO : (int)ms;
}

TEST_F_TIMEOUT(last_wqe, buffers_outlive_the_connection, 180)
{
	int most = (int)variant->most_ms, left = BUFFERS, ms, i = 0;

	if (mean_missing())
		SKIP(return, mean_missing());
	do {
		ASSERT_EQ(0, connect_nth(self, i));
		ASSERT_EQ(0, carries(self, i, 2));
		left -= 2;
		ms = end_nth(self, i++);
		ASSERT_LE((int)variant->least_ms, ms);
	} while (most && ms > most && i < ENDS);
	if (most)
		EXPECT_GE(most, ms);
	/* The other buffers are posted still. */
	ASSERT_EQ(0, connect_nth(self, i));
	EXPECT_EQ(0, carries(self, i, left));
}

MEAN_END

TEST_HARNESS_MAIN
