// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * RSMAPI: single puts and gets.  The variant "driver" uses a write-only import.  A write-only
 * import cannot be mapped, so the driver copies instead of the library.
 */
#include "rsm_test.h"

#include <pthread.h>

FIXTURE(data) {
	struct r_pair p;
};

FIXTURE_VARIANT(data) {
	int no_window;
};

FIXTURE_VARIANT_ADD(data, window) {
	.no_window = 0,
};

FIXTURE_VARIANT_ADD(data, driver) {
	.no_window = 1,
};

FIXTURE_SETUP(data)
{
	struct r_pair *p = &self->p;

	ASSERT_EQ(RSM_SUCCESS, r_pair(p));
	if (!variant->no_window)
		return;
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(p->imp));
	ASSERT_EQ(RSM_SUCCESS, r_import(p, RSM_PERM_WRITE));
}

FIXTURE_TEARDOWN(data)
{
	r_close(&self->p);
}

/*
 * Put @n words at @offset, and get the words back if @get is set.  Returns 0 if all data are right
 * and no other byte of the segment has changed.
 */
#define ROUND_TRIP(bits)							\
static int round_trip##bits(struct r_pair *p, size_t offset, unsigned long n, int get)	\
{										\
	static uint##bits##_t in[4096], out[4096];				\
	size_t size = n * sizeof(in[0]);					\
	unsigned long i;							\
										\
	memset(p->mem, 'g', R_SIZE);						\
	for (i = 0; i < n; i++)							\
		in[i] = (uint##bits##_t)(0x123456789abcdef1ULL * (i + 1));	\
	if (rsm_memseg_import_put##bits(p->imp, (off_t)offset, in, n))		\
		return 1;							\
	if (memcmp(p->mem + offset, in, size))					\
		return 2;							\
	if (!r_all(p->mem, 'g', offset) ||					\
	    !r_all(p->mem + offset + size, 'g', R_SIZE - offset - size))	\
		return 3;							\
	if (!get)								\
		return 0;							\
	memset(out, 0, sizeof(out));						\
	if (rsm_memseg_import_get##bits(p->imp, (off_t)offset, out, n))		\
		return 4;							\
	if (memcmp(in, out, size) || (n < 4096 && out[n]))			\
		return 5;							\
	return 0;								\
}

ROUND_TRIP(8)
ROUND_TRIP(16)
ROUND_TRIP(32)
ROUND_TRIP(64)

/* RSM check: 36 */
TEST_F(data, all_widths_make_the_round_trip)
{
	static const unsigned long reps[] = { 1, 3, 1000 };
	int i, get = !variant->no_window;
	struct r_pair *p = &self->p;

	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, round_trip8(p, 0, reps[i], get));
		EXPECT_EQ(0, round_trip16(p, R_PAGE - 2, reps[i], get));
		EXPECT_EQ(0, round_trip32(p, R_PAGE + 12, reps[i], get));
		EXPECT_EQ(0, round_trip64(p, R_SIZE - reps[i] * 8, reps[i], get));
	}
	EXPECT_EQ(0, round_trip64(p, 0, 4096, get));
	EXPECT_EQ(0, round_trip16(p, R_SIZE - 8192, 4096, get));
}

/* RSM check: 37 */
TEST_F(data, arguments_are_checked)
{
	void *imp = self->p.imp;
	uint64_t buf[4] = {};
	char *odd = (char *)buf + 1;

	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_memseg_import_put(NULL, 0, buf, 1));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_memseg_import_put(buf, 0, buf, 1));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_put(imp, 0, NULL, 1));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_get8(imp, 0, NULL, 1));
	EXPECT_EQ(RSMERR_BAD_MEM_ALIGNMENT, rsm_memseg_import_put16(imp, 0, (void *)odd, 1));
	EXPECT_EQ(RSMERR_BAD_MEM_ALIGNMENT, rsm_memseg_import_put32(imp, 0, (void *)odd, 1));
	EXPECT_EQ(RSMERR_BAD_MEM_ALIGNMENT, rsm_memseg_import_put64(imp, 0, (void *)odd, 1));
	EXPECT_EQ(RSMERR_BAD_MEM_ALIGNMENT, rsm_memseg_import_put16(imp, 1, (void *)buf, 1));
	EXPECT_EQ(RSMERR_BAD_MEM_ALIGNMENT, rsm_memseg_import_put32(imp, 2, (void *)buf, 1));
	EXPECT_EQ(RSMERR_BAD_MEM_ALIGNMENT, rsm_memseg_import_put64(imp, 4, buf, 1));
	EXPECT_EQ(RSMERR_BAD_LENGTH, rsm_memseg_import_put(imp, R_SIZE, buf, 1));
	EXPECT_EQ(RSMERR_BAD_LENGTH, rsm_memseg_import_put(imp, R_SIZE - 1, buf, 2));
	EXPECT_EQ(RSMERR_BAD_OFFSET, rsm_memseg_import_put(imp, -1, buf, 2));
	EXPECT_EQ(RSMERR_BAD_OFFSET, rsm_memseg_import_put64(imp, -8, buf, 2));
	EXPECT_EQ(RSMERR_BAD_LENGTH, rsm_memseg_import_put64(imp, 0, buf, ~0UL / 8 + 1));
	EXPECT_EQ(RSMERR_BAD_LENGTH, rsm_memseg_import_put(imp, 8, buf, ~0UL));
	EXPECT_TRUE(r_all(self->p.mem, 0, R_SIZE));
}

/* RSM check: 38 */
TEST_F(data, nothing_is_put_at_once)
{
	uint64_t x = 1;

	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(self->p.imp, 0, &x, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put64(self->p.imp, 0, &x, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(self->p.imp, R_SIZE, &x, 0));
	EXPECT_TRUE(r_all(self->p.mem, 0, R_SIZE));
}

/* Wait until all explicit puts have arrived in the segment. */
static int land(struct r_pair *p)
{
	rsmapi_barrier_t b;
	int ret = rsm_memseg_import_init_barrier(p->imp, RSM_BAR_DEFAULT, &b);

	if (!ret)
		ret = rsm_memseg_import_open_barrier(&b);
	if (!ret)
		ret = rsm_memseg_import_order_barrier(&b);
	return ret ? ret : rsm_memseg_import_destroy_barrier(&b);
}

/* RSM check: 39 */
TEST_F(data, implicit_transfers_need_a_barrier_and_vectors_do_not)
{
	char c = 'v';
	rsm_iovec_t v = {
		.io_type = RSM_VA_TYPE, .local.vaddr = &c, .transfer_length = 1,
	};
	rsm_scat_gath_t sg = {
		.io_request_count = 1, .remote_handle = self->p.imp, .iovec = &v,
	};
	uint64_t x = 0;

	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_destroy_barrier(&self->p.barrier));
	EXPECT_EQ(RSMERR_BARRIER_UNINITIALIZED, rsm_memseg_import_put(self->p.imp, 0, &x, 1));
	EXPECT_EQ(RSMERR_BARRIER_UNINITIALIZED, rsm_memseg_import_put64(self->p.imp, 0, &x, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&sg));
	EXPECT_EQ('v', self->p.mem[0]);
	rsm_memseg_import_set_mode(self->p.imp, RSM_BARRIER_MODE_EXPLICIT);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put64(self->p.imp, 0, &x, 1));
	ASSERT_EQ(0, land(&self->p));
	EXPECT_EQ(0, self->p.mem[0]);
}

/* RSM check: 40 */
TEST_F(data, all_sizes_arrive)
{
	char *buf = r_mem(R_SIZE), *back = r_mem(R_SIZE);
	size_t sizes[] = { 0, 1, 63, 64, 65, 4095, 4096, 4097, R_SIZE - 1, R_SIZE };
	unsigned int i;
	size_t k;

	for (k = 0; k < R_SIZE; k++)
		buf[k] = (char)(k * 13 + k / 256);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(self->p.mem, 0, R_SIZE);
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_put(self->p.imp, 0, buf, sizes[i]));
		EXPECT_EQ(0, memcmp(self->p.mem, buf, sizes[i]));
		EXPECT_TRUE(r_all(self->p.mem + sizes[i], 0, R_SIZE - sizes[i]));
		if (variant->no_window)
			continue;
		memset(back, 0, R_SIZE);
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_get(self->p.imp, 0, back, sizes[i]));
		EXPECT_EQ(0, memcmp(back, buf, sizes[i]));
	}
	munmap(buf, R_SIZE);
	munmap(back, R_SIZE);
}

/* RSM check: 43 */
TEST_F(data, an_explicit_get_has_filled_in_the_destination)
{
	static char buf[4096];
	int i;

	if (variant->no_window)
		SKIP(return, "this import may not read");
	rsm_memseg_import_set_mode(self->p.imp, RSM_BARRIER_MODE_EXPLICIT);
	for (i = 1; i < 100; i++) {
		memset(self->p.mem, i, sizeof(buf));
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_get(self->p.imp, 0, buf, sizeof(buf)));
		ASSERT_TRUE(r_all(buf, (char)i, sizeof(buf)));
	}
}

/* RSM check: 42 */
TEST_F(data, the_source_may_be_used_again_at_once)
{
	static char buf[65536];
	size_t i, n = R_SIZE < sizeof(buf) ? R_SIZE : sizeof(buf);

	rsm_memseg_import_set_mode(self->p.imp, RSM_BARRIER_MODE_EXPLICIT);
	for (i = 0; i < 100; i++) {
		memset(buf, (int)i, n);
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_put(self->p.imp, 0, buf, n));
		memset(buf, 'x', n);
		ASSERT_EQ(0, land(&self->p));
		ASSERT_TRUE(r_all(self->p.mem, (char)i, n));
	}
}

struct worker {
	struct r_pair	*p;
	void		*imp;
	size_t		at;
	int		failed;
};

/* Each worker puts to its own part of the segment and checks the memory of the segment. */
static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t i;

	for (i = 0; i < (r_rdma() ? 500 : 20000) && !w->failed; i++) {
		if (rsm_memseg_import_put64(w->imp, (off_t)(w->at + i % 64 * 8), &i, 1) ||
		    *(volatile uint64_t *)(w->p->mem + w->at + i % 64 * 8) != i)
			w->failed = 1;
	}
	return NULL;
}

/* RSM check: 44 */
TEST_F(data, threads_share_handles)
{
	rsmapi_barrier_t b[4];
	struct worker w[8];
	pthread_t t[8];
	void *own[4];
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(RSM_SUCCESS,
			  r_also(&self->p, variant->no_window ? 0200 : 0600, &own[i], &b[i]));
	for (i = 0; i < 8; i++) {
		w[i] = (struct worker) { .p = &self->p, .at = (size_t)i * 512,
					 .imp = i < 4 ? self->p.imp : own[i - 4] };
		ASSERT_EQ(0, pthread_create(&t[i], NULL, work, &w[i]));
	}
	for (i = 0; i < 8; i++) {
		pthread_join(t[i], NULL);
		EXPECT_EQ(0, w[i].failed);
	}
	for (i = 0; i < 4; i++)
		EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(own[i]));
}

/* RSM check: 68 */
TEST_F(data, memory_that_is_none_is_refused_by_the_driver)
{
	void *imp = self->p.imp;

	R_LOOPBACK_ONLY("the library copies");
	if (!variant->no_window)
		SKIP(return, "copies of the program itself fault as any other");
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_put(imp, 0, (void *)8, 1));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_put64(imp, 0, (void *)8, 1));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_put(imp, 0, (void *)-4096, 1));
}

TEST_HARNESS_MAIN
