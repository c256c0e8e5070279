// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* RSMAPI: barriers, and the barrier modes of an import. */
#include "rsm_test.h"

FIXTURE(barrier) {
	struct r_pair p;
};

FIXTURE_SETUP(barrier)
{
	ASSERT_EQ(RSM_SUCCESS, r_pair(&self->p));
}

FIXTURE_TEARDOWN(barrier)
{
	r_close(&self->p);
}

/* RSM check: 56 */
TEST_F(barrier, objects_are_checked)
{
	rsmapi_barrier_t zero = {}, rubbish;

	memset(&rubbish, 0xa5, sizeof(rubbish));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL,
		  rsm_memseg_import_init_barrier(NULL, RSM_BAR_DEFAULT, &zero));
	EXPECT_EQ(RSMERR_BAD_BARRIER_PTR,
		  rsm_memseg_import_init_barrier(self->p.imp, RSM_BAR_DEFAULT, NULL));
	EXPECT_EQ(RSMERR_BARRIER_UNINITIALIZED, rsm_memseg_import_open_barrier(&zero));
	EXPECT_EQ(RSMERR_BARRIER_UNINITIALIZED, rsm_memseg_import_order_barrier(&zero));
	EXPECT_EQ(RSMERR_BARRIER_UNINITIALIZED, rsm_memseg_import_close_barrier(&zero));
	EXPECT_EQ(RSMERR_BARRIER_UNINITIALIZED, rsm_memseg_import_destroy_barrier(&zero));
	EXPECT_EQ(RSMERR_BARRIER_UNINITIALIZED, rsm_memseg_import_open_barrier(&rubbish));
	EXPECT_EQ(RSMERR_BARRIER_UNINITIALIZED, rsm_memseg_import_destroy_barrier(&rubbish));
	EXPECT_EQ(RSMERR_BAD_BARRIER_PTR, rsm_memseg_import_open_barrier(NULL));
	EXPECT_EQ(RSMERR_BAD_BARRIER_PTR, rsm_memseg_import_order_barrier(NULL));
	EXPECT_EQ(RSMERR_BAD_BARRIER_PTR, rsm_memseg_import_close_barrier(NULL));
	EXPECT_EQ(RSMERR_BAD_BARRIER_PTR, rsm_memseg_import_destroy_barrier(NULL));
}

/* RSM check: 56 */
TEST_F(barrier, all_types_are_one)
{
	static const rsm_barrier_type_t types[] = {
		RSM_BARRIER_SEGMENT, RSM_BARRIER_NODE, RSM_BARRIER_SEGMENT_THREAD,
		RSM_BARRIER_NODE_THREAD,
	};
	rsmapi_barrier_t b;
	int i;

	for (i = 0; i < 4; i++) {
		ASSERT_EQ(RSM_SUCCESS,
			  rsm_memseg_import_init_barrier(self->p.imp, types[i], &b));
		EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_open_barrier(&b));
		EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_order_barrier(&b));
		EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_close_barrier(&b));
		EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_destroy_barrier(&b));
	}
}

/* RSM check: 57 */
TEST_F(barrier, a_span_begins_with_open)
{
	rsmapi_barrier_t *b = &self->p.barrier;

	EXPECT_EQ(RSMERR_BARRIER_NOT_OPENED, rsm_memseg_import_close_barrier(b));
	EXPECT_EQ(RSMERR_BARRIER_NOT_OPENED, rsm_memseg_import_order_barrier(b));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_open_barrier(b));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_order_barrier(b));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_order_barrier(b));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_close_barrier(b));
	EXPECT_EQ(RSMERR_BARRIER_NOT_OPENED, rsm_memseg_import_close_barrier(b));
	/* Opening an open barrier is allowed, and begins a new span. */
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_open_barrier(b));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_open_barrier(b));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_close_barrier(b));
}

/* RSM check: 58 */
TEST_F(barrier, modes)
{
	rsm_barrier_mode_t mode;

	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_get_mode(self->p.imp, &mode));
	EXPECT_EQ(RSM_BARRIER_MODE_IMPLICIT, mode);
	EXPECT_EQ(RSMERR_BAD_MODE, rsm_memseg_import_set_mode(self->p.imp, 7));
	EXPECT_EQ(RSM_SUCCESS,
		  rsm_memseg_import_set_mode(self->p.imp, RSM_BARRIER_MODE_EXPLICIT));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_get_mode(self->p.imp, &mode));
	EXPECT_EQ(RSM_BARRIER_MODE_EXPLICIT, mode);
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_import_get_mode(self->p.imp, NULL));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_memseg_import_get_mode(NULL, &mode));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL,
		  rsm_memseg_import_set_mode(NULL, RSM_BARRIER_MODE_EXPLICIT));
}

#define ROUNDS R_TIMES(20000)

/* In each round: put the data, order the barrier, put the flag. */
static int put_in_order(void *arg)
{
	struct r_pair *parent = arg, p;
	uint64_t i;

	if (r_open(&p))
		return 1;
	p.id = parent->id;
	if (r_import(&p, RSM_PERM_RDWR))
		return 2;
	rsm_memseg_import_set_mode(p.imp, RSM_BARRIER_MODE_EXPLICIT);
	for (i = 1; i <= ROUNDS; i++)
		if (rsm_memseg_import_open_barrier(&p.barrier) ||
		    rsm_memseg_import_put64(p.imp, (off_t)(R_PAGE + i % 64 * 8), &i, 1) ||
		    rsm_memseg_import_order_barrier(&p.barrier) ||
		    rsm_memseg_import_put64(p.imp, 0, &i, 1) ||
		    rsm_memseg_import_close_barrier(&p.barrier))
			return 3;
	return 0;
}

/* RSM check: 59 */
TEST_F(barrier, who_sees_the_flag_sees_the_data)
{
	volatile uint64_t *flag = (volatile uint64_t *)self->p.mem;
	volatile uint64_t *data = (volatile uint64_t *)(self->p.mem + R_PAGE);
	uint64_t seen, early = 0;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(put_in_order(&self->p));
	do {
		seen = __atomic_load_n(flag, __ATOMIC_ACQUIRE);
		if (seen)
			early += data[seen % 64] < seen;
		else
			usleep(100);
	} while (seen < ROUNDS && !waitpid(pid, &status, WNOHANG));
	if (seen == ROUNDS)
		waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	EXPECT_EQ(ROUNDS, *flag);
	EXPECT_EQ(0, early);
}

/* RSM check: 60 */
TEST_F(barrier, explicit_puts_fail_at_the_close)
{
	rsmapi_barrier_t *b = &self->p.barrier;
	void *imp = self->p.imp;
	uint64_t x = 1;

	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_set_mode(imp, RSM_BARRIER_MODE_EXPLICIT));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_open_barrier(b));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put64(imp, 0, &x, 1));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_unpublish(self->p.exp));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put64(imp, 8, &x, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_get64(imp, 8, &x, 1));
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_close_barrier(b));
	EXPECT_EQ(0, self->p.mem[8]);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_open_barrier(b));
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_order_barrier(b));
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_close_barrier(b));
	/* A segment that is published again is a new segment, so the old import stays cut. */
	self->p.id = 0;
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_publish(self->p.exp, &self->p.id, NULL, 0));
	rsm_memseg_import_set_mode(imp, RSM_BARRIER_MODE_IMPLICIT);
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_put64(imp, 0, &x, 1));
}

/* RSM check: 61 */
TEST_F(barrier, spans_overlap_and_barriers_come_and_go)
{
	rsmapi_barrier_t *a = &self->p.barrier, b;
	uint64_t x = 1;

	ASSERT_EQ(RSM_SUCCESS,
		  rsm_memseg_import_init_barrier(self->p.imp, RSM_BAR_DEFAULT, &b));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_open_barrier(a));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_open_barrier(&b));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_close_barrier(a));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_destroy_barrier(&b));
	EXPECT_EQ(RSMERR_BARRIER_UNINITIALIZED, rsm_memseg_import_destroy_barrier(&b));
	/*
	 * Implicit transfers of an import use the barrier that was initialized last: @b, which is
	 * now destroyed.
	 */
	EXPECT_EQ(RSMERR_BARRIER_UNINITIALIZED, rsm_memseg_import_put64(self->p.imp, 0, &x, 1));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_open_barrier(a));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_close_barrier(a));
}

/* RSM check: 56 */
TEST_F(barrier, a_barrier_ends_with_its_import)
{
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_open_barrier(&self->p.barrier));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(self->p.imp));
	EXPECT_EQ(RSMERR_BARRIER_UNINITIALIZED,
		  rsm_memseg_import_close_barrier(&self->p.barrier));
}

TEST_HARNESS_MAIN
