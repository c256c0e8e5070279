// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* RSMAPI: vectors, that is putv and getv. */
#include "rsm_test.h"

#include <pthread.h>

#define N		RSM_MAX_SGIOREQS
#define AT_ONCE_MS	50

FIXTURE(vector) {
	struct r_pair			p;
	char				*buf;	/* R_SIZE bytes */
	rsm_localmemory_handle_t	local;	/* handle of @buf */
	rsm_iovec_t			v[N];
	rsm_scat_gath_t			sg;
};

/*
 * Fill in N entries of one byte.  Entry i transfers byte i of the buffer and byte i of the segment.
 */
static void list_init(struct _test_data_vector *self)
{
	int i;

	for (i = 0; i < N; i++)
		self->v[i] = (rsm_iovec_t) {
			.io_type = RSM_VA_TYPE, .local.vaddr = self->buf,
			.local_offset = (size_t)i, .remote_offset = (size_t)i,
			.transfer_length = 1,
		};
	self->sg = (rsm_scat_gath_t) {
		.local_nodeid = 77, .io_request_count = N, .io_residual_count = 99,
		.remote_handle = self->p.imp, .iovec = self->v,
	};
	memset(self->buf, 'b', R_SIZE);
	memset(self->p.mem, 0, R_SIZE);
}

FIXTURE_SETUP(vector)
{
	ASSERT_EQ(RSM_SUCCESS, r_pair(&self->p));
	self->buf = r_mem(R_SIZE);
	ASSERT_EQ(RSM_SUCCESS, rsm_create_localmemory_handle(self->p.ctlr, &self->local, self->buf,
							     R_SIZE));
	list_init(self);
}

FIXTURE_TEARDOWN(vector)
{
	rsm_free_localmemory_handle(self->p.ctlr, self->local);
	munmap(self->buf, R_SIZE);
	r_close(&self->p);
}

/* RSM check: 45 */
TEST_F(vector, the_list_itself_is_checked)
{
	EXPECT_EQ(RSMERR_BAD_SGIO, rsm_memseg_import_putv(NULL));
	EXPECT_EQ(RSMERR_BAD_SGIO, rsm_memseg_import_getv(NULL));
	self->sg.remote_handle = NULL;
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_memseg_import_putv(&self->sg));
	self->sg.remote_handle = self->p.exp;
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_memseg_import_putv(&self->sg));
	self->sg.remote_handle = self->p.imp;
	self->sg.io_request_count = 0;
	EXPECT_EQ(RSMERR_BAD_SGIO, rsm_memseg_import_putv(&self->sg));
	self->sg.io_request_count = 17;
	EXPECT_EQ(RSMERR_BAD_SGIO, rsm_memseg_import_getv(&self->sg));
	EXPECT_EQ(99, self->sg.io_residual_count);
	self->sg.io_request_count = 16;
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ(0, self->sg.io_residual_count);
	EXPECT_TRUE(r_all(self->p.mem, 'b', 16));
	self->sg.iovec = NULL;
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ(16, self->sg.io_residual_count);
}

/* RSM check: 45 */
TEST_F(vector, a_released_controller_is_noticed)
{
	ASSERT_EQ(RSM_SUCCESS, rsm_release_controller(self->p.ctlr));
	EXPECT_EQ(RSMERR_BAD_CTLR_HNDL, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ(99, self->sg.io_residual_count);
	ASSERT_EQ(RSM_SUCCESS, rsm_get_controller(r_ctlr(), &self->p.ctlr));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
}

/* RSM check: 46 */
TEST_F(vector, addresses_and_handles_mix)
{
	rsm_iovec_t *v = self->v;

	self->sg.io_request_count = 2;
	self->buf[R_PAGE + 5] = 'h';
	v[0].io_type = RSM_HANDLE_TYPE;
	v[0].local.handle = self->local;
	v[0].local_offset = R_PAGE + 5;
	v[1].local_offset = 7;
	self->buf[7] = 'v';
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ('h', self->p.mem[0]);
	EXPECT_EQ('v', self->p.mem[1]);
	v[0].local_offset = R_SIZE;
	EXPECT_EQ(RSMERR_BAD_LENGTH, rsm_memseg_import_putv(&self->sg));
	v[0].local_offset = ~0UL;
	EXPECT_EQ(RSMERR_BAD_LENGTH, rsm_memseg_import_putv(&self->sg));
	v[0].local.handle = self->p.imp;
	EXPECT_EQ(RSMERR_BAD_SGIO, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ(2, self->sg.io_residual_count);
	v[0].io_type = 0;
	EXPECT_EQ(RSMERR_BAD_SGIO, rsm_memseg_import_putv(&self->sg));
	v[0].io_type = 3;
	EXPECT_EQ(RSMERR_BAD_SGIO, rsm_memseg_import_putv(&self->sg));
}

/* RSM check: 46 */
TEST_F(vector, whole_segments_go_through_handles_both_ways)
{
	size_t i;

	for (i = 0; i < R_SIZE; i++)
		self->buf[i] = (char)(i * 7);
	self->sg.io_request_count = 1;
	self->v[0] = (rsm_iovec_t) {
		.io_type = RSM_HANDLE_TYPE, .local.handle = self->local, .local_offset = 100,
		.remote_offset = 3, .transfer_length = R_SIZE - 100,
	};
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ(0, memcmp(self->p.mem + 3, self->buf + 100, R_SIZE - 100));
	memset(self->buf, 0, R_SIZE);
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_getv(&self->sg));
	EXPECT_EQ(0, memcmp(self->p.mem + 3, self->buf + 100, R_SIZE - 100));
	EXPECT_TRUE(r_all(self->buf, 0, 100));
}

/*
 * Change the entries so that they adjoin in the segment, except for one gap, and are in reverse
 * order in the buffer.
 */
static void list_adjoin(struct _test_data_vector *self)
{
	size_t at = 5;
	int i;

	for (i = 0; i < N; i++) {
		self->v[i].local_offset = (size_t)(N - 1 - i) * (R_SIZE / N);
		self->v[i].transfer_length = i % 5 == 3 ? 0 : R_SIZE / N - 1 - (size_t)i;
		at += i == N / 2 ? 7 : 0;
		self->v[i].remote_offset = at;
		at += self->v[i].transfer_length;
	}
}

static int list_is_there(const struct _test_data_vector *self)
{
	int i;

	for (i = 0; i < N; i++)
		if (memcmp(self->p.mem + self->v[i].remote_offset,
			   self->buf + self->v[i].local_offset, self->v[i].transfer_length))
			return 0;
	return r_all(self->p.mem, 0, 5) &&
	       r_all(self->p.mem + self->v[N / 2].remote_offset - 7, 0, 7);
}

/* RSM check: 46 */
TEST_F(vector, entries_that_adjoin_in_the_segment_are_entries_still)
{
	size_t i;

	list_adjoin(self);
	for (i = 0; i < R_SIZE; i++)
		self->buf[i] = (char)(i * 7 + i / 256);
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ(0, self->sg.io_residual_count);
	EXPECT_TRUE(list_is_there(self));
	memset(self->buf, 0, R_SIZE);
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_getv(&self->sg));
	EXPECT_TRUE(list_is_there(self));
	/* The get carries out all entries before the entry whose memory is invalid. */
	self->v[N - 2].local.vaddr = (char *)R_PAGE;
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_getv(&self->sg));
	EXPECT_EQ(2, self->sg.io_residual_count);
	/* An empty entry counts as carried out together with the entries before it. */
	self->sg.io_request_count = 4;
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ(0, self->sg.io_residual_count);
}

/*
 * Less than 256 pages, because rxe of Linux 6.1 reads beyond its table for a registration of 256
 * pages.
 */
#define BIG	((size_t)250 * R_PAGE)

static size_t big_length(unsigned int *seed)
{
	switch (rand_r(seed) % 6) {
	case 0: return 0;
	case 1: return 1 + (size_t)rand_r(seed) % 64;
	/* A length near the chunk size of an adapter's transfers. */
	case 2: return 16380 + (size_t)rand_r(seed) % 9;
	default: return (size_t)rand_r(seed) % 40000;
	}
}

/*
 * Fill in random entries, some in user memory and some in local memory.  Three of four entries
 * adjoin the previous entry in the segment.
 */
static void big_list(struct _test_data_vector *self, unsigned int *seed, char *buf,
		     rsm_localmemory_handle_t local)
{
	size_t end = 0, n;
	int i;

	for (i = 0; i < N; i++) {
		n = big_length(seed);
		if (end + n > BIG || rand_r(seed) % 4 == 0)
			end = (size_t)rand_r(seed) % (BIG - n);
		self->v[i] = (rsm_iovec_t) {
			.io_type = rand_r(seed) % 2 ? RSM_VA_TYPE : RSM_HANDLE_TYPE,
			.local_offset = (size_t)rand_r(seed) % (BIG - n),
			.remote_offset = end, .transfer_length = n,
		};
		if (self->v[i].io_type == RSM_VA_TYPE)
			self->v[i].local.vaddr = buf;
		else
			self->v[i].local.handle = local;
		end += n;
	}
}

/* RSM check: 46 */
TEST_F(vector, large_entries_arrive_as_they_are_listed)
{
	char *mem = r_mem(BIG), *buf = r_mem(BIG), *model = r_mem(BIG);
	rsm_localmemory_handle_t local;
	struct r_pair p = self->p;
	unsigned int seed = 815, i, k;

	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_create(p.ctlr, &p.exp, mem, BIG, 0));
	p.id = 0;
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_publish(p.exp, &p.id, NULL, 0));
	ASSERT_EQ(RSM_SUCCESS, r_import(&p, RSM_PERM_RDWR));
	ASSERT_EQ(RSM_SUCCESS, rsm_create_localmemory_handle(p.ctlr, &local, buf, BIG));
	for (i = 0; i < BIG; i++)
		buf[i] = (char)(i * 13 + i / 251);
	self->sg.remote_handle = p.imp;
	for (i = 0; i < R_TIMES(200); i++) {
		big_list(self, &seed, buf, local);
		for (k = 0; k < N; k++)
			memcpy(model + self->v[k].remote_offset, buf + self->v[k].local_offset,
			       self->v[k].transfer_length);
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
		ASSERT_EQ(0, memcmp(model, mem, BIG));
		memcpy(model, buf, BIG);
		for (k = 0; k < N; k++)
			memcpy(model + self->v[k].local_offset, mem + self->v[k].remote_offset,
			       self->v[k].transfer_length);
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_getv(&self->sg));
		ASSERT_EQ(0, memcmp(model, buf, BIG));
		memcpy(model, mem, BIG);
	}
	EXPECT_EQ(RSM_SUCCESS, rsm_free_localmemory_handle(p.ctlr, local));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(p.imp));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(p.exp));
}

struct bad {
	size_t	remote_offset;
	size_t	length;
	char	*vaddr;
	int	code;
};

/* RSM check: 47 */
TEST_F(vector, a_bad_entry_ends_the_walk)
{
	const struct bad bad[] = {
		{ R_SIZE + 1, 1, self->buf, RSMERR_BAD_OFFSET },
		{ R_SIZE, 1, self->buf, RSMERR_BAD_LENGTH },
		{ 8, ~0UL - 4, self->buf, RSMERR_BAD_LENGTH },
		{ 0, 1, NULL, RSMERR_BAD_ADDR },
		{ 0, 1, (char *)4096, RSMERR_BAD_ADDR },
		{ 0, 1, (char *)-4096, RSMERR_BAD_ADDR },
		{ 0, 4096, (char *)-4096, RSMERR_BAD_ADDR },
		{ 0, 64, (char *)-1, RSMERR_BAD_ADDR },
	};
	static const unsigned int at[] = { 0, 7, 15 };
	unsigned int i, k;

	/*
	 * Use the memory in a vector twice before the test.  Errors must not depend on whether the
	 * driver already knows the memory.
	 */
	for (i = 0; i < 2; i++)
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		for (k = 0; k < 3; k++) {
			list_init(self);
			self->v[at[k]].remote_offset = bad[i].remote_offset;
			self->v[at[k]].transfer_length = bad[i].length;
			self->v[at[k]].local.vaddr = bad[i].vaddr;
			self->v[at[k]].local_offset = 0;
			EXPECT_EQ(bad[i].code, rsm_memseg_import_putv(&self->sg));
			EXPECT_EQ(N - at[k], self->sg.io_residual_count);
			EXPECT_TRUE(r_all(self->p.mem, 'b', at[k]));
			EXPECT_TRUE(r_all(self->p.mem + at[k], 0, R_SIZE - at[k]));
		}
	}
}

/* RSM check: 48 */
TEST_F(vector, only_the_residual_count_is_written)
{
	rsm_iovec_t before[N];

	memcpy(before, self->v, sizeof(before));
	self->sg.flags = RSM_IMPLICIT_SIGPOST | RSM_SIGPOST_NO_ACCUMULATE | 0x100;
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	self->sg.io_request_count = 17;
	EXPECT_NE(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ(17, self->sg.io_request_count);
	EXPECT_EQ(RSM_IMPLICIT_SIGPOST | RSM_SIGPOST_NO_ACCUMULATE | 0x100, self->sg.flags);
	EXPECT_EQ(77, self->sg.local_nodeid);
	EXPECT_EQ(&self->v[0], self->sg.iovec);
	EXPECT_EQ(0, memcmp(before, self->v, sizeof(before)));
}

/* RSM check: 49 */
TEST_F(vector, later_entries_win)
{
	int i;

	for (i = 0; i < N; i++) {
		self->v[i].remote_offset = (size_t)i;
		self->v[i].transfer_length = (size_t)(2 * N - i);
		self->v[i].local_offset = (size_t)i * 64;
		memset(self->buf + i * 64, 'a' + i, 64);
	}
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	for (i = 0; i < N - 1; i++)
		EXPECT_EQ('a' + i, self->p.mem[i]);
	EXPECT_TRUE(r_all(self->p.mem + N - 1, 'a' + N - 1, N + 1));
	/* The getv must read the data that the putv has written. */
	self->sg.io_request_count = 2;
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_getv(&self->sg));
	EXPECT_EQ('a', self->buf[0]);
	EXPECT_EQ('b', self->buf[64]);
}

/* RSM check: 50 */
TEST_F(vector, an_implicit_signal_comes_after_success_only)
{
	void *exp = self->p.exp;

	self->sg.flags = RSM_IMPLICIT_SIGPOST;
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(exp, R_SOON_MS));
	EXPECT_EQ(RSMERR_TIMEOUT, rsm_intr_signal_wait(exp, R_LATE_MS));
	self->v[9].remote_offset = R_SIZE;
	EXPECT_EQ(RSMERR_BAD_LENGTH, rsm_memseg_import_putv(&self->sg));
	self->v[9].io_type = 0;
	EXPECT_EQ(RSMERR_BAD_SGIO, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ(RSMERR_TIMEOUT, rsm_intr_signal_wait(exp, R_LATE_MS));
	list_init(self);
	self->sg.flags = RSM_IMPLICIT_SIGPOST | RSM_SIG_POST_NO_ACCUMULATE;
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_getv(&self->sg));
	ASSERT_EQ(RSM_SUCCESS, r_drain(&self->p));
	self->sg.remote_handle = self->p.imp;
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(exp, R_SOON_MS));
	EXPECT_EQ(RSMERR_TIMEOUT, rsm_intr_signal_wait(exp, R_LATE_MS));
	/* RSM_SIG_POST_NO_ACCUMULATE alone, without RSM_IMPLICIT_SIGPOST, has no effect. */
	self->sg.flags = RSM_SIG_POST_NO_ACCUMULATE;
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ(RSMERR_TIMEOUT, rsm_intr_signal_wait(exp, R_LATE_MS));
}

#define ROUNDS R_TIMES(2000)

/*
 * Runs in a child.  In each round, put the number of the round into every word of the first page,
 * signal, and wait for a signal.
 */
static int put_rounds(void *arg)
{
	rsm_memseg_id_t id = *(rsm_memseg_id_t *)arg;
	uint32_t *page = (uint32_t *)r_mem(R_PAGE), i, k;
	rsm_iovec_t v = { .io_type = RSM_VA_TYPE, .local.vaddr = (caddr_t)page,
			  .transfer_length = R_PAGE };
	rsm_scat_gath_t sg = { .io_request_count = 1, .flags = RSM_IMPLICIT_SIGPOST, .iovec = &v };
	struct r_pair p;

	if (r_open(&p))
		return 1;
	p.id = id;
	if (r_import(&p, RSM_PERM_RDWR))
		return 2;
	sg.remote_handle = p.imp;
	for (i = 1; i <= ROUNDS; i++) {
		for (k = 0; k < R_PAGE / 4; k++)
			page[k] = i;
		if (rsm_memseg_import_putv(&sg) || rsm_intr_signal_wait(p.imp, R_WAIT_MS))
			return 3;
	}
	return 0;
}

/* RSM check: 51 */
TEST_F(vector, who_is_woken_by_a_signal_sees_the_data)
{
	volatile uint32_t *page = (volatile uint32_t *)self->p.mem;
	uint32_t i, k, torn = 0;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(put_rounds(&self->p.id));
	/* A signal of the export goes to all imports.  Keep only the import of the child. */
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(self->p.imp));
	for (i = 1; i <= ROUNDS; i++) {
		ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(self->p.exp, R_WAIT_MS));
		for (k = 0; k < R_PAGE / 4; k++)
			torn += page[k] != i;
		ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_post(self->p.exp, 0));
	}
	EXPECT_EQ(0, torn);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* RSM check: 52 */
TEST_F(vector, a_cut_import_is_told_at_once)
{
	uint64_t start, took, best = UINT64_MAX;
	int i;

	/* A busy machine delays some calls; a driver that waits for something delays all. */
	for (i = 0; i < 10 && best > AT_ONCE_MS; i++) {
		if (i) {
			r_close(&self->p);
			ASSERT_EQ(RSM_SUCCESS, r_pair(&self->p));
			list_init(self);
		}
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_unpublish(self->p.exp));
		start = now_ms();
		EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_putv(&self->sg));
		took = now_ms() - start;
		best = took < best ? took : best;
		EXPECT_EQ(N, self->sg.io_residual_count);
		EXPECT_TRUE(r_all(self->p.mem, 0, R_SIZE));
	}
	EXPECT_GE(AT_ONCE_MS, best);
}

/* RSM check: 52 */
TEST(an_exporter_killed_during_putv_is_an_abort)
{
	rsm_iovec_t v[N];
	rsm_scat_gath_t sg = { .iovec = v };
	char *buf = r_mem(R_SIZE);
	struct r_peer peer;
	struct r_pair p;
	int i, round, ret;

	for (round = 0; round < 5; round++) {
		ASSERT_EQ(RSM_SUCCESS, r_open(&p));
		ASSERT_EQ(0, r_peer_start(&peer, NULL));
		p.id = peer.id;
		ASSERT_EQ(RSM_SUCCESS, r_import(&p, RSM_PERM_RDWR));
		for (i = 0; i < N; i++)
			v[i] = (rsm_iovec_t) { .io_type = RSM_VA_TYPE, .local.vaddr = buf,
					       .transfer_length = R_SIZE };
		sg.remote_handle = p.imp;
		ret = 0;
		kill(peer.pid, SIGKILL);
		for (i = 0; !ret && i < 1000000; i++) {
			sg.io_request_count = N;
			ret = rsm_memseg_import_putv(&sg);
		}
		EXPECT_EQ(RSMERR_CONN_ABORTED, ret);
		EXPECT_LT(0, sg.io_residual_count);
		EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_putv(&sg));
		EXPECT_EQ(N, sg.io_residual_count);
		r_peer_stop(&peer, 0);
		r_close(&p);
	}
	munmap(buf, R_SIZE);
}

/* RSM check: 54 */
TEST_F(vector, getv_needs_memory_that_can_be_written)
{
	char *ro = r_mem(R_PAGE);
	rsm_localmemory_handle_t h;

	ro[0] = 'r';
	mprotect(ro, R_PAGE, PROT_READ);
	self->sg.io_request_count = 1;
	self->v[0].local.vaddr = ro;
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_getv(&self->sg));
	EXPECT_EQ(1, self->sg.io_residual_count);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ('r', self->p.mem[0]);
	ASSERT_EQ(RSM_SUCCESS, rsm_create_localmemory_handle(self->p.ctlr, &h, ro, R_PAGE));
	self->v[0].io_type = RSM_HANDLE_TYPE;
	self->v[0].local.handle = h;
	self->v[0].remote_offset = 1;
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_getv(&self->sg));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ('r', self->p.mem[1]);
	EXPECT_EQ(RSM_SUCCESS, rsm_free_localmemory_handle(self->p.ctlr, h));
	munmap(ro, R_PAGE);
}

/* A file that is mapped to be read, for example. */
TEST_F(vector, putv_reads_a_shared_mapping_that_cannot_be_written)
{
	char *ro = mmap(NULL, R_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	rsm_localmemory_handle_t h;

	ASSERT_NE(MAP_FAILED, ro);
	ro[0] = 's';
	mprotect(ro, R_PAGE, PROT_READ);
	ASSERT_EQ(RSM_SUCCESS, rsm_create_localmemory_handle(self->p.ctlr, &h, ro, R_PAGE));
	self->sg.io_request_count = 1;
	self->v[0].io_type = RSM_HANDLE_TYPE;
	self->v[0].local.handle = h;
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_getv(&self->sg));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ('s', self->p.mem[0]);
	EXPECT_EQ(RSM_SUCCESS, rsm_free_localmemory_handle(self->p.ctlr, h));
	munmap(ro, R_PAGE);
}

/* RSM check: 55 */
TEST_F(vector, local_memory_checks_its_arguments)
{
	rsm_localmemory_handle_t h;
	void *c = self->p.ctlr;

	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_create_localmemory_handle(c, &h, self->buf + 1, 1));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_create_localmemory_handle(c, &h, NULL, 1));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_create_localmemory_handle(c, &h, (char *)R_PAGE, 1));
	EXPECT_EQ(RSMERR_BAD_CTLR_HNDL, rsm_create_localmemory_handle(NULL, &h, self->buf, 1));
	EXPECT_EQ(RSMERR_BAD_LOCALMEM_HNDL, rsm_create_localmemory_handle(c, NULL, self->buf, 1));
	EXPECT_EQ(RSMERR_BAD_LENGTH, rsm_create_localmemory_handle(c, &h, self->buf, 0));
	ASSERT_EQ(RSM_SUCCESS, rsm_create_localmemory_handle(c, &h, self->buf, 1));
	EXPECT_EQ(RSMERR_BAD_CTLR_HNDL, rsm_free_localmemory_handle(NULL, h));
	EXPECT_EQ(RSM_SUCCESS, rsm_free_localmemory_handle(c, h));
	EXPECT_EQ(RSMERR_BAD_LOCALMEM_HNDL, rsm_free_localmemory_handle(c, h));
	EXPECT_EQ(RSMERR_BAD_LOCALMEM_HNDL, rsm_free_localmemory_handle(c, NULL));
	self->v[0].io_type = RSM_HANDLE_TYPE;
	self->v[0].local.handle = h;
	EXPECT_EQ(RSMERR_BAD_SGIO, rsm_memseg_import_putv(&self->sg));
}

/* RSM check: 47 */
TEST_F(vector, random_lists_do_as_their_entries_say)
{
	unsigned int seed = 1, i, k, n;
	char *model = r_mem(R_SIZE);
	size_t from, to, len;
	int ret, want;

	for (i = 0; i < R_SIZE; i++)
		self->buf[i] = (char)rand_r(&seed);
	for (i = 0; i < R_TIMES(2000); i++) {
		n = 1 + (unsigned int)rand_r(&seed) % N;
		self->sg.io_request_count = n;
		for (k = 0; k < n; k++) {
			len = (size_t)rand_r(&seed) % (R_SIZE + R_SIZE / 16);
			to = (size_t)rand_r(&seed) % (R_SIZE + R_SIZE / 16);
			if (rand_r(&seed) % 16)
				len %= R_SIZE - (to < R_SIZE ? to : 0) + 1;
			from = (size_t)rand_r(&seed) % (R_SIZE + 1);
			if (len <= R_SIZE)
				from %= R_SIZE - len + 1;
			self->v[k] = (rsm_iovec_t) {
				.io_type = rand_r(&seed) % 2 ? RSM_VA_TYPE : RSM_HANDLE_TYPE,
				.local_offset = len <= R_SIZE ? from : 0, .remote_offset = to,
				.transfer_length = len,
			};
			self->v[k].local.vaddr = self->buf;
			if (self->v[k].io_type == RSM_HANDLE_TYPE)
				self->v[k].local.handle = self->local;
		}
		for (k = 0; k < n; k++) {
			to = self->v[k].remote_offset;
			len = self->v[k].transfer_length;
			if (to > R_SIZE || len > R_SIZE - to)
				break;
			memcpy(model + to, self->buf + self->v[k].local_offset, len);
		}
		ret = rsm_memseg_import_putv(&self->sg);
		ASSERT_EQ(n - k, self->sg.io_residual_count);
		if (k == n)
			want = RSM_SUCCESS;
		else
			want = to > R_SIZE ? RSMERR_BAD_OFFSET : RSMERR_BAD_LENGTH;
		ASSERT_EQ(want, ret);
		ASSERT_EQ(0, memcmp(model, self->p.mem, R_SIZE));
	}
	munmap(model, R_SIZE);
}

/*
 * struct guess - expected result of a vector
 * @k: number of entries that are carried out
 * @ret: return value of the call
 */
struct guess {
	unsigned int	k;
	int		ret;
};

/* Returns 1 if the address of @v is invalid: NULL, the hole, or for a get also read-only memory. */
static int bad_addr(const rsm_iovec_t *v, const char *ro, const char *hole, int put)
{
	const char *at = v->local.vaddr;

	return !at || at == hole || (at == ro && !put);
}

/*
 * Returns the error that RSMAPI demands for the entry @v, or RSM_SUCCESS.  The checks are in the
 * order of RSMAPI.
 */
static int entry_error(struct _test_data_vector *self, const rsm_iovec_t *v, const char *ro,
		       const char *hole, int put)
{
	int handle = v->io_type == RSM_HANDLE_TYPE;

	if ((v->io_type != RSM_VA_TYPE && !handle) ||
	    (handle && v->local.handle != self->local))
		return RSMERR_BAD_SGIO;
	if (!handle && !v->local.vaddr)
		return RSMERR_BAD_ADDR;
	if (v->remote_offset > R_SIZE)
		return RSMERR_BAD_OFFSET;
	if (v->transfer_length > R_SIZE - v->remote_offset)
		return RSMERR_BAD_LENGTH;
	if (handle && (v->local_offset > R_SIZE || v->transfer_length > R_SIZE - v->local_offset))
		return RSMERR_BAD_LENGTH;
	if (!handle && v->transfer_length && bad_addr(v, ro, hole, put))
		return RSMERR_BAD_ADDR;
	return RSM_SUCCESS;
}

/*
 * Map a page, and use the page in three puts and three gets.  Returns the page, or NULL on failure.
 */
static char *used_page(struct _test_data_vector *self, int type, void *handle)
{
	char *page = r_mem(R_PAGE);
	int i;

	self->sg.io_request_count = 1;
	self->v[0] = (rsm_iovec_t) {
		.io_type = type, .local.vaddr = page, .remote_offset = 0, .transfer_length = 64,
	};
	if (handle) {
		if (rsm_create_localmemory_handle(self->p.ctlr, handle, page, R_PAGE))
			return NULL;
		self->v[0].local.handle = *(rsm_localmemory_handle_t *)handle;
	}
	for (i = 0; i < 3; i++) {
		memset(page, 'u' + i, 64);
		if (rsm_memseg_import_putv(&self->sg) || !r_all(self->p.mem, (char)('u' + i), 64))
			return NULL;
		memset(self->p.mem, 'g' + i, 64);
		if (rsm_memseg_import_getv(&self->sg) || !r_all(page, (char)('g' + i), 64))
			return NULL;
	}
	return page;
}

/* RSM check: 47 */
TEST_F(vector, memory_that_was_used_before_and_is_gone_is_bad)
{
	char *page = used_page(self, RSM_VA_TYPE, NULL);

	ASSERT_NE(NULL, page);
	munmap(page, R_PAGE);
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_getv(&self->sg));
	EXPECT_EQ(1, self->sg.io_residual_count);
	/* Map other memory at the same address. */
	ASSERT_EQ(page, mmap(page, R_PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	memset(page, 'o', 64);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	EXPECT_TRUE(r_all(self->p.mem, 'o', 64));
	munmap(page, R_PAGE);
}

/* RSM check: 54 */
TEST_F(vector, memory_that_was_used_before_and_is_locked_away_is_bad)
{
	char *page = used_page(self, RSM_VA_TYPE, NULL);

	ASSERT_NE(NULL, page);
	mprotect(page, R_PAGE, PROT_READ);
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_getv(&self->sg));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	mprotect(page, R_PAGE, PROT_NONE);
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_getv(&self->sg));
	mprotect(page, R_PAGE, PROT_READ | PROT_WRITE);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_getv(&self->sg));
	EXPECT_EQ(0, memcmp(page, self->p.mem, 64));
	munmap(page, R_PAGE);
}

/* RSM check: 47 */
TEST_F(vector, a_file_that_was_used_before_and_is_shorter_now_is_bad)
{
	int fd = memfd_create("used", 0);
	char *page;

	ASSERT_EQ(0, ftruncate(fd, R_PAGE));
	page = mmap(NULL, R_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	self->sg.io_request_count = 1;
	self->v[0].local.vaddr = page;
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_getv(&self->sg));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	ASSERT_EQ(0, ftruncate(fd, 0));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_getv(&self->sg));
	munmap(page, R_PAGE);
	close(fd);
}

/* RSM check: 46 */
TEST_F(vector, memory_that_was_used_before_and_dropped_is_zeros)
{
	char *page = used_page(self, RSM_VA_TYPE, NULL);

	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, madvise(page, R_PAGE, MADV_DONTNEED));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	EXPECT_TRUE(r_all(self->p.mem, 0, 64));
	memset(self->p.mem, 'd', 64);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_getv(&self->sg));
	EXPECT_TRUE(r_all(page, 'd', 64) && r_all(page + 64, 0, R_PAGE - 64));
	munmap(page, R_PAGE);
}

/*
 * After a fork, vectors of the parent must use the memory of the parent, and must not change the
 * copy in the child.
 */
static void transfers_beside_a_child(struct __test_metadata *_metadata,
				     struct _test_data_vector *self, char *page)
{
	int status, go[2];
	char c = 0;
	pid_t pid;

	memset(page, 'f', 64);
	ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid)
		_exit(read(go[0], &c, 1) != 1 || !r_all(page, 'f', 64));
	memset(page, 'p', 64);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	EXPECT_TRUE(r_all(self->p.mem, 'p', 64));
	memset(self->p.mem, 's', 64);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_getv(&self->sg));
	EXPECT_TRUE(r_all(page, 's', 64));
	ASSERT_EQ(1, write(go[1], &c, 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	close(go[0]);
	close(go[1]);
}

/* RSM check: 46 */
TEST_F(vector, memory_that_was_used_before_a_fork_is_the_parents)
{
	rsm_localmemory_handle_t h;
	char *page = used_page(self, RSM_VA_TYPE, NULL);

	ASSERT_NE(NULL, page);
	transfers_beside_a_child(_metadata, self, page);
	munmap(page, R_PAGE);
	page = used_page(self, RSM_HANDLE_TYPE, &h);
	ASSERT_NE(NULL, page);
	transfers_beside_a_child(_metadata, self, page);
	EXPECT_EQ(RSM_SUCCESS, rsm_free_localmemory_handle(self->p.ctlr, h));
	munmap(page, R_PAGE);
}

/* RSM check: 55 */
TEST_F(vector, local_memory_is_what_was_locked_whatever_is_mapped_there_later)
{
	rsm_localmemory_handle_t h;
	char *page = used_page(self, RSM_HANDLE_TYPE, &h), *moved = r_mem(R_PAGE);

	ASSERT_NE(NULL, page);
	ASSERT_EQ(moved, mremap(page, R_PAGE, R_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, moved));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	ASSERT_EQ(page, mmap(page, R_PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	memset(page, 'n', 64);
	memset(moved, 'l', 64);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
	EXPECT_TRUE(r_all(self->p.mem, 'l', 64));
	memset(self->p.mem, 's', 64);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_getv(&self->sg));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_getv(&self->sg));
	EXPECT_TRUE(r_all(page, 'n', 64) && r_all(moved, 's', 64));
	EXPECT_EQ(RSM_SUCCESS, rsm_free_localmemory_handle(self->p.ctlr, h));
	EXPECT_EQ(RSMERR_BAD_SGIO, rsm_memseg_import_putv(&self->sg));
	munmap(page, R_PAGE);
	munmap(moved, R_PAGE);
}

/* RSM check: 46 */
TEST_F(vector, there_may_be_any_number_of_buffers)
{
	enum { BUFFERS = 80 };
	char *buf[BUFFERS], *other = r_mem(R_PAGE);
	int i, k, round;

	self->sg.io_request_count = 2;
	self->v[1].transfer_length = 0;
	for (i = 0; i < BUFFERS; i++) {
		/* Keep the buffers apart from each other, so that they do not adjoin. */
		buf[i] = (char *)r_mem(2 * R_PAGE) + R_PAGE;
		memset(buf[i], i, R_PAGE);
	}
	for (round = 0; round < 3; round++) {
		for (i = 0; i < BUFFERS; i++) {
			for (k = 0; k < 2; k++) {
				self->v[0].local.vaddr = buf[i];
				self->v[0].transfer_length = R_PAGE;
				ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
				ASSERT_EQ(0, self->sg.io_residual_count);
				ASSERT_TRUE(r_all(self->p.mem, (char)i, R_PAGE));
			}
			self->v[0].local.vaddr = other;
			ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_getv(&self->sg));
			ASSERT_TRUE(r_all(other, (char)i, R_PAGE));
		}
	}
	for (i = 0; i < BUFFERS; i++)
		munmap(buf[i] - R_PAGE, 2 * R_PAGE);
	munmap(other, R_PAGE);
}

#define SHARES	4

struct share {
	struct _test_data_vector	*self;
	int				nr;
	int				bad;
};

/*
 * Thread that transfers its own part of segment and buffer.  The vectors name the buffer by address
 * and by handle alternately.
 */
static void *vectors_of_one(void *arg)
{
	struct share *s = arg;
	size_t n = R_SIZE / SHARES, at = (size_t)s->nr * n, i;
	struct _test_data_vector *self = s->self;
	rsm_iovec_t v = { .remote_offset = at, .local_offset = at, .transfer_length = n };
	rsm_scat_gath_t sg = { .io_request_count = 1, .remote_handle = self->p.imp, .iovec = &v };

	for (i = 0; i < R_TIMES(300) && !s->bad; i++) {
		v.io_type = i % 2 ? RSM_VA_TYPE : RSM_HANDLE_TYPE;
		v.local.vaddr = i % 2 ? self->buf : self->local;
		memset(self->buf + at, (char)(i + at), n);
		s->bad |= rsm_memseg_import_putv(&sg) != RSM_SUCCESS ||
			  !r_all(self->p.mem + at, (char)(i + at), n);
		memset(self->p.mem + at, (char)~i, n);
		s->bad |= rsm_memseg_import_getv(&sg) != RSM_SUCCESS ||
			  !r_all(self->buf + at, (char)~i, n);
	}
	return NULL;
}

/* RSM check: 44 */
TEST_F(vector, threads_share_an_import)
{
	struct share s[SHARES];
	pthread_t t[SHARES];
	int i, mode;

	for (mode = 0; mode < 2; mode++) {
		rsm_memseg_import_set_mode(self->p.imp, mode ? RSM_BARRIER_MODE_IMPLICIT :
						     RSM_BARRIER_MODE_EXPLICIT);
		for (i = 0; i < SHARES; i++) {
			s[i] = (struct share) { .self = self, .nr = i };
			ASSERT_EQ(0, pthread_create(&t[i], NULL, vectors_of_one, &s[i]));
		}
		for (i = 0; i < SHARES; i++) {
			pthread_join(t[i], NULL);
			EXPECT_EQ(0, s[i].bad) TH_LOG("%d", i);
		}
	}
}

static void *vector_changer(void *arg)
{
	char *page = arg;
	int i;

	for (i = 0; i < R_TIMES(400); i++) {
		/*
		 * No vector uses this page.  But each mprotect() changes the generation of the
		 * address space, so the library must not rely on what earlier vectors have told it
		 * about memory.
		 */
		mprotect(page, R_PAGE, i % 2 ? PROT_READ : PROT_NONE);
		usleep(200);
	}
	return NULL;
}

/* RSM check: 46 */
TEST_F(vector, vectors_go_on_while_other_memory_comes_and_goes)
{
	char *other = r_mem(R_PAGE);
	pthread_t t;
	int i;

	self->sg.io_request_count = 2;
	ASSERT_EQ(0, pthread_create(&t, NULL, vector_changer, other));
	for (i = 0; i < R_TIMES(2000); i++) {
		self->buf[0] = (char)i;
		self->buf[1] = (char)(i >> 8);
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_putv(&self->sg));
		ASSERT_EQ((char)i, self->p.mem[0]);
		ASSERT_EQ((char)(i >> 8), self->p.mem[1]);
	}
	pthread_join(t, NULL);
	munmap(other, R_PAGE);
}

static size_t pick(unsigned int *seed, const size_t *of, unsigned int n)
{
	return of[(unsigned int)rand_r(seed) % n];
}

static void random_entry(struct _test_data_vector *self, rsm_iovec_t *v, unsigned int *seed,
			 char *ro, char *hole)
{
	const size_t odd[] = { 0, 1, R_PAGE - 1, R_SIZE - 1, R_SIZE, R_SIZE + 1, ~0UL, ~0UL / 2 + 1 };
	char *const where[] = { self->buf, self->buf, self->buf, ro, hole, NULL };
	void *const handles[] = { self->local, self->local, self->p.imp, NULL, self->buf };
	int strange = rand_r(seed) % 24 == 0;

	v->io_type = rand_r(seed) % 2 ? RSM_VA_TYPE : RSM_HANDLE_TYPE;
	v->remote_offset = (size_t)rand_r(seed) % R_SIZE;
	v->transfer_length = (size_t)rand_r(seed) % (R_SIZE - v->remote_offset + 1) % R_PAGE;
	v->local_offset = (size_t)rand_r(seed) % (R_SIZE - R_PAGE);
	if (strange && rand_r(seed) % 2)
		v->remote_offset = pick(seed, odd, 8);
	if (strange && rand_r(seed) % 2)
		v->transfer_length = pick(seed, odd, 8);
	if (strange && rand_r(seed) % 4 == 0)
		v->io_type = rand_r(seed) % 5;
	if (v->io_type == RSM_HANDLE_TYPE) {
		v->local.handle = handles[strange ? rand_r(seed) % 5 : 0];
		if (strange && rand_r(seed) % 2)
			v->local_offset = pick(seed, odd, 8);
	} else {
		v->local.vaddr = where[strange ? rand_r(seed) % 6 : 0];
		/*
		 * The other buffers hold the same byte everywhere, so offset 0 is enough for them.
		 */
		if (v->local.vaddr != self->buf || v->transfer_length > R_PAGE)
			v->local_offset = 0;
	}
}

/*
 * Set the remote offset of @next so that @next begins in the segment where @v ends.  Change nothing
 * if the two entries would not fit into the segment.
 */
static void adjoin(const rsm_iovec_t *v, rsm_iovec_t *next)
{
	if (v->remote_offset < R_SIZE && v->transfer_length < R_SIZE &&
	    next->transfer_length < R_SIZE &&
	    v->remote_offset + v->transfer_length + next->transfer_length <= R_SIZE)
		next->remote_offset = v->remote_offset + v->transfer_length;
}

/*
 * Compute the expected result of the vector, and apply the vector to @model: a copy of the segment
 * for a put, a copy of the local memory for a get.
 */
static struct guess play(struct _test_data_vector *self, char *model, const char *ro,
			 const char *hole, int put)
{
	struct guess g = { };
	rsm_iovec_t *v;
	char *at;

	for (; g.k < self->sg.io_request_count; g.k++) {
		v = &self->v[g.k];
		g.ret = entry_error(self, v, ro, hole, put);
		if (g.ret)
			break;
		at = (v->io_type == RSM_HANDLE_TYPE ? self->buf : v->local.vaddr) + v->local_offset;
		if (put)
			memcpy(model + v->remote_offset, at, v->transfer_length);
		else
			memcpy(model + v->local_offset, self->p.mem + v->remote_offset,
			       v->transfer_length);
	}
	return g;
}

/* RSM check: 47, 68 */
TEST_F(vector, strange_lists_fail_where_they_are_strange)
{
	char *model = r_mem(R_SIZE), *ro = r_mem(R_SIZE), *hole = r_mem(R_SIZE);
	unsigned int seed = 4711, i, k, put, codes = 0;
	struct guess g;
	int ret;

	memset(ro, 'r', R_SIZE);
	mprotect(ro, R_SIZE, PROT_READ);
	mprotect(hole, R_SIZE, PROT_NONE);
	for (i = 0; i < R_TIMES(5000); i++) {
		put = rand_r(&seed) % 2;
		self->sg.io_request_count = 1 + (unsigned int)rand_r(&seed) % N;
		for (k = 0; k < self->sg.io_request_count; k++)
			random_entry(self, &self->v[k], &seed, ro, hole);
		for (k = 1; k < self->sg.io_request_count; k++)
			if (rand_r(&seed) % 2)
				adjoin(&self->v[k - 1], &self->v[k]);
		self->buf[rand_r(&seed) % (int)R_SIZE] = (char)i;
		memcpy(model, put ? self->p.mem : self->buf, R_SIZE);
		g = play(self, model, ro, hole, (int)put);
		ret = put ? rsm_memseg_import_putv(&self->sg) : rsm_memseg_import_getv(&self->sg);
		ASSERT_EQ(g.ret, ret);
		ASSERT_EQ(self->sg.io_request_count - g.k, self->sg.io_residual_count);
		ASSERT_EQ(0, memcmp(model, put ? self->p.mem : self->buf, R_SIZE));
		codes |= 1U << ret;
	}
	/* Every result that the test expects has occurred at least once. */
	EXPECT_EQ(1U << RSM_SUCCESS | 1U << RSMERR_BAD_SGIO | 1U << RSMERR_BAD_ADDR |
		  1U << RSMERR_BAD_OFFSET | 1U << RSMERR_BAD_LENGTH, codes);
	munmap(model, R_SIZE);
	munmap(ro, R_SIZE);
	munmap(hole, R_SIZE);
}

TEST_HARNESS_MAIN
