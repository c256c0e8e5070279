// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Puts and gets through the ring of an import: their results, and their system calls. */
#include "rsm_test.h"
#include "noise.h"
#include "marks.h"
#include "proc.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <setjmp.h>
#include <rdma/dat_rsm.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>

/*
 * Not a multiple of 256 pages, because rxe of Linux 6.1 would then read one entry beyond its page
 * table.
 */
#define BIG		(((size_t)2 << 20) + R_PAGE)

FIXTURE(ring) {
	struct r_pair	p;
	char		*mem;		/* memory of @exp, BIG bytes */
	void		*exp;
	void		*imp;
	rsmapi_barrier_t barrier;
};

static int big_export(struct _test_data_ring *self)
{
	rsm_memseg_id_t id = 0;
	int ret;

	self->mem = r_mem(BIG);
	ret = rsm_memseg_export_create(self->p.ctlr, &self->exp, self->mem, BIG, 0);
	if (!ret)
		ret = rsm_memseg_export_publish(self->exp, &id, NULL, 0);
	if (!ret)
		ret = rsm_memseg_import_connect(self->p.ctlr, self->p.node, id, RSM_PERM_RDWR,
						&self->imp);
	return ret ? ret : rsm_memseg_import_init_barrier(self->imp, RSM_BAR_DEFAULT,
							  &self->barrier);
}

FIXTURE_SETUP(ring)
{
	ASSERT_EQ(RSM_SUCCESS, r_pair(&self->p));
	ASSERT_EQ(RSM_SUCCESS, big_export(self));
}

FIXTURE_TEARDOWN(ring)
{
	rsm_memseg_import_disconnect(self->imp);
	rsm_memseg_export_destroy(self->exp);
	r_close(&self->p);
	munmap(self->mem, BIG);
}

static void noise_fill(char *at, size_t n)
{
	while (n--)
		at[n] = (char)noise();
}

/* RSM check: 40 */
TEST_F(ring, all_sizes_make_the_round_trip)
{
	const size_t sizes[] = {
		1, 63, 64, 65, 4095, 16383, 16384, 16385, 32767, 32768, 32769, 65535, 65536,
		65537, 100000, 262144, 262145, 1 << 20, BIG - 7,
	};
	char *from = r_mem(BIG), *to = r_mem(BIG);
	size_t i, n, at;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		n = sizes[i];
		at = noise() % (BIG - n + 1);
		noise_fill(from, n);
		memset(self->mem, 'g', BIG);
		ASSERT_EQ(0, rsm_memseg_import_put(self->imp, (off_t)at, from, n));
		ASSERT_EQ(0, memcmp(self->mem + at, from, n)) TH_LOG("%zu at %zu", n, at);
		ASSERT_TRUE(r_all(self->mem, 'g', at) &&
			    r_all(self->mem + at + n, 'g', BIG - at - n));
		memset(to, 0, BIG);
		ASSERT_EQ(0, rsm_memseg_import_get(self->imp, (off_t)at, to, n));
		ASSERT_EQ(0, memcmp(to, from, n)) TH_LOG("%zu at %zu", n, at);
	}
	munmap(from, BIG);
	munmap(to, BIG);
}

/* Random puts and gets on an import.  A copy of the segment holds the expected content. */
TEST_F(ring, the_segment_is_what_was_put)
{
	char *copy = r_mem(BIG), *buf = r_mem(BIG);
	size_t i, n, at;

	for (i = 0; i < 600; i++) {
		n = noise() % (i % 20 ? 3000 : 400000);
		at = noise() % (BIG - n);
		if (i % 50 == 0)
			rsm_memseg_import_set_mode(self->imp, i / 50 % 2 ?
						   RSM_BARRIER_MODE_IMPLICIT :
						   RSM_BARRIER_MODE_EXPLICIT);
		if (i % 3) {
			noise_fill(copy + at, n);
			ASSERT_EQ(0, rsm_memseg_import_put(self->imp, (off_t)at, copy + at, n));
		} else {
			/* A get runs after all earlier puts, so it returns their data. */
			ASSERT_EQ(0, rsm_memseg_import_get(self->imp, (off_t)at, buf, n));
			ASSERT_EQ(0, memcmp(copy + at, buf, n)) TH_LOG("%zu", i);
		}
	}
	ASSERT_EQ(0, rsm_memseg_import_open_barrier(&self->barrier));
	ASSERT_EQ(0, rsm_memseg_import_close_barrier(&self->barrier));
	EXPECT_EQ(0, memcmp(copy, self->mem, BIG));
	munmap(copy, BIG);
	munmap(buf, BIG);
}

struct worker {
	struct _test_data_ring	*self;
	size_t			at;
	size_t			n;
	unsigned long long	seed;
	int			failed;
	int			rounds;
};

/* Thread that puts and gets within its own area of the segment, and checks the data. */
static void *work(void *arg)
{
	struct worker *w = arg;
	char *buf = malloc(w->n), *back = malloc(w->n);
	size_t i, n;

	for (i = 0; (int)i < w->rounds && !w->failed; i++) {
		w->seed = w->seed * 6364136223846793005ULL + 1;
		n = 1 + (w->seed >> 33) % (i % 8 ? 200 : w->n);
		memset(buf, (int)(w->seed >> 40), n);
		if (rsm_memseg_import_put(w->self->imp, (off_t)w->at, buf, n))
			w->failed = 1;
		else if (memcmp(w->self->mem + w->at, buf, n))
			w->failed = 2;
		else if (rsm_memseg_import_get(w->self->imp, (off_t)w->at, back, n))
			w->failed = 3;
		else if (memcmp(back, buf, n))
			w->failed = 4;
	}
	free(buf);
	free(back);
	return NULL;
}

static int work_by(struct _test_data_ring *self, int threads, size_t n, int rounds)
{
	struct worker w[8];
	pthread_t t[8];
	int i, failed = 0;

	for (i = 0; i < threads; i++) {
		w[i] = (struct worker) {
			.self = self, .at = (size_t)i * n, .n = n, .seed = (unsigned long long)i,
			.rounds = rounds,
		};
		pthread_create(&t[i], NULL, work, &w[i]);
	}
	for (i = 0; i < threads; i++) {
		pthread_join(t[i], NULL);
		failed |= w[i].failed;
	}
	return failed;
}

/* RSM check: 44 */
TEST_F(ring, threads_share_an_import)
{
	EXPECT_EQ(0, work_by(self, 4, 4096, 400));
	/* Together, the workers need more room than the data area of the ring has. */
	EXPECT_EQ(0, work_by(self, 6, 300000, 24));
}

/* RSM check: 59 */
TEST_F(ring, what_is_ordered_is_seen_in_order)
{
	volatile uint32_t *flag = (uint32_t *)self->mem, *data = (uint32_t *)(self->mem + 8192);
	uint32_t i, n, seen;

	rsm_memseg_import_set_mode(self->imp, RSM_BARRIER_MODE_EXPLICIT);
	for (i = 1; i < 300; i++) {
		ASSERT_EQ(0, rsm_memseg_import_open_barrier(&self->barrier));
		for (n = 0; n < 10; n++)
			ASSERT_EQ(0, rsm_memseg_import_put32(self->imp, 8192 + n * 4, &i, 1));
		ASSERT_EQ(0, rsm_memseg_import_order_barrier(&self->barrier));
		ASSERT_EQ(i, data[9]);
		ASSERT_EQ(0, rsm_memseg_import_put32(self->imp, 0, &i, 1));
		do {
			seen = *flag;
			for (n = 0; n < 10; n++)
				ASSERT_LE(seen, data[n]);
		} while (seen != i);
		ASSERT_EQ(0, rsm_memseg_import_close_barrier(&self->barrier));
	}
}

/* RSM check: 51 */
TEST_F(ring, a_signal_comes_after_what_was_put)
{
	volatile uint32_t *data = (uint32_t *)self->mem;
	uint32_t i, n;

	rsm_memseg_import_set_mode(self->imp, RSM_BARRIER_MODE_EXPLICIT);
	for (i = 1; i < 200; i++) {
		for (n = 0; n < 20; n++)
			ASSERT_EQ(0, rsm_memseg_import_put32(self->imp, n * 4096, &i, 1));
		ASSERT_EQ(0, rsm_intr_signal_post(self->imp, 0));
		ASSERT_EQ(0, rsm_intr_signal_wait(self->exp, R_WAIT_MS));
		for (n = 0; n < 20; n++)
			ASSERT_EQ(i, data[n * 1024]);
	}
}

TEST_F(ring, a_vector_comes_after_what_was_put)
{
	uint64_t i, got = 0, two = 2;
	rsm_iovec_t v = { .io_type = RSM_VA_TYPE, .transfer_length = 8 };
	rsm_scat_gath_t sg = {
		.io_request_count = 1, .remote_handle = self->imp, .iovec = &v,
	};

	rsm_memseg_import_set_mode(self->imp, RSM_BARRIER_MODE_EXPLICIT);
	for (i = 3; i < 100; i++) {
		ASSERT_EQ(0, rsm_memseg_import_put64(self->imp, 0, &i, 1));
		v.local.vaddr = (char *)&got;
		ASSERT_EQ(0, rsm_memseg_import_getv(&sg));
		ASSERT_EQ(i, got);
		ASSERT_EQ(0, rsm_memseg_import_put64(self->imp, 0, &i, 1));
		v.local.vaddr = (char *)&two;
		ASSERT_EQ(0, rsm_memseg_import_putv(&sg));
		ASSERT_EQ(2, *(volatile uint64_t *)self->mem);
	}
}

static void *unpublisher(void *arg)
{
	struct _test_data_ring *self = arg;

	usleep(100000);
	return (void *)(long)rsm_memseg_export_unpublish(self->exp);
}

/* RSM check: 60 */
TEST_F(ring, a_cut_during_a_stream_is_told_by_the_barrier)
{
	uint64_t end, x = 1;
	pthread_t t;
	void *ret;

	rsm_memseg_import_set_mode(self->imp, RSM_BARRIER_MODE_EXPLICIT);
	ASSERT_EQ(0, rsm_memseg_import_open_barrier(&self->barrier));
	pthread_create(&t, NULL, unpublisher, self);
	for (end = now_ms() + 500; now_ms() < end; x++)
		ASSERT_EQ(0, rsm_memseg_import_put64(self->imp, (off_t)(x % 1000 * 8), &x, 1));
	pthread_join(t, &ret);
	EXPECT_EQ(NULL, ret);
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_close_barrier(&self->barrier));
	ASSERT_EQ(0, rsm_memseg_import_open_barrier(&self->barrier));
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_order_barrier(&self->barrier));
	rsm_memseg_import_set_mode(self->imp, RSM_BARRIER_MODE_IMPLICIT);
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_put64(self->imp, 0, &x, 1));
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_memseg_import_get64(self->imp, 0, &x, 1));
}

TEST_F(ring, a_cut_during_an_implicit_stream_is_told_at_once)
{
	char *buf = r_mem(BIG);
	int err, gets;
	pthread_t t;

	for (gets = 0; gets < 2; gets++) {
		pthread_create(&t, NULL, unpublisher, self);
		do {
			err = gets ? rsm_memseg_import_get(self->imp, 0, buf, BIG) :
				     rsm_memseg_import_put(self->imp, 0, buf, BIG);
		} while (!err);
		EXPECT_EQ(RSMERR_CONN_ABORTED, err);
		pthread_join(t, NULL);
		rsm_memseg_import_disconnect(self->imp);
		rsm_memseg_export_destroy(self->exp);
		munmap(self->mem, BIG);
		ASSERT_EQ(0, big_export(self));
	}
	munmap(buf, BIG);
}

static void nothing(int sig)
{
}

TEST_F(ring, signals_interrupt_no_transfer)
{
	struct itimerval every = { { 0, 3000 }, { 0, 3000 } }, never = { };
	struct sigaction sa = { .sa_handler = nothing };
	char *buf = r_mem(BIG);
	uint64_t i;

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (i = 0; i < 500; i++)
		ASSERT_EQ(0, rsm_memseg_import_put64(self->imp, 0, &i, 1));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, rsm_memseg_import_put(self->imp, 0, buf, BIG));
		ASSERT_EQ(0, rsm_memseg_import_get(self->imp, 0, buf, BIG));
	}
	setitimer(ITIMER_REAL, &never, NULL);
	munmap(buf, BIG);
}

TEST_F(ring, a_child_is_no_party_to_it)
{
	uint64_t x = 5;
	int status;

	ASSERT_EQ(0, rsm_memseg_import_put64(self->imp, 0, &x, 1));
	if (!fork())
		_exit(rsm_memseg_import_put64(self->imp, 0, &x, 1) != RSMERR_BAD_SEG_HNDL);
	wait(&status);
	EXPECT_EQ(0, status);
	x = 6;
	EXPECT_EQ(0, rsm_memseg_import_put64(self->imp, 0, &x, 1));
	EXPECT_EQ(6, *(volatile uint64_t *)self->mem);
}

TEST_F(ring, an_import_may_end_with_puts_under_way)
{
	rsm_memseg_import_handle_t imp;
	char *buf = r_mem(1 << 18);
	rsmapi_barrier_t b;
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, r_also(&self->p, RSM_PERM_RDWR, &imp, &b));
		rsm_memseg_import_set_mode(imp, RSM_BARRIER_MODE_EXPLICIT);
		ASSERT_EQ(0, rsm_memseg_import_put(imp, 0, buf, R_SIZE));
		ASSERT_EQ(0, rsm_memseg_import_disconnect(imp));
	}
	munmap(buf, 1 << 18);
}

/* The following tests trace a process and count its system calls. */

#define AHEAD		32

/* Put @i, but keep at most AHEAD puts in flight, so that the adapter can keep up. */
static int paced_put(struct r_pair *p, uint64_t i)
{
	volatile uint64_t *words = (uint64_t *)p->mem;

	while (i >= AHEAD && words[(i - AHEAD) % 512] != i - AHEAD)
		;
	return rsm_memseg_import_put64(p->imp, (off_t)(i % 512 * 8), &i, 1);
}

static int explicit_put(struct r_pair *p, uint64_t i)
{
	if (!i)
		rsm_memseg_import_set_mode(p->imp, RSM_BARRIER_MODE_EXPLICIT);
	return paced_put(p, i);
}

/*
 * Transfer the word @i twice with one vector.  The first entry names its memory by address, the
 * second entry by handle.  In the segment, there is a gap between the two entries.
 */
static int vector_of(struct r_pair *p, uint64_t i, int (*vector)(rsm_scat_gath_t *))
{
	static rsm_localmemory_handle_t local;
	static uint64_t *words;
	rsm_iovec_t v[2];
	rsm_scat_gath_t sg = { .io_request_count = 2, .remote_handle = p->imp, .iovec = v };

	if (!words) {
		words = (uint64_t *)r_mem(R_PAGE);
		if (rsm_create_localmemory_handle(p->ctlr, &local, (caddr_t)words, R_PAGE))
			return -1;
	}
	words[i % 512] = i;
	v[0] = (rsm_iovec_t) {
		.io_type = RSM_VA_TYPE, .local.vaddr = (caddr_t)&words[i % 512],
		.remote_offset = i % 512 * 8, .transfer_length = 8,
	};
	v[1] = (rsm_iovec_t) {
		.io_type = RSM_HANDLE_TYPE, .local.handle = local, .local_offset = i % 512 * 8,
		.remote_offset = R_PAGE + i % 512 * 8, .transfer_length = 8,
	};
	return vector(&sg);
}

static int put_vector(struct r_pair *p, uint64_t i)
{
	return vector_of(p, i, rsm_memseg_import_putv);
}

static int get_vector(struct r_pair *p, uint64_t i)
{
	memcpy(p->mem + i % 512 * 8, &i, 8);
	memcpy(p->mem + R_PAGE + i % 512 * 8, &i, 8);
	return vector_of(p, i, rsm_memseg_import_getv);
}

typedef int put_fn(struct r_pair *p, uint64_t i);

/* Runs in the traced process.  Call @put for a warm-up, and then @ops times between the marks. */
static int puts_between_marks(put_fn *put, int ops)
{
	uint64_t i, warm = 200, n = warm + (uint64_t)ops;
	rsmapi_barrier_t b;
	struct r_pair p;
	int ret = 0;

	if (r_pair(&p))
		return 2;
	for (i = 0; i < n && !ret; i++) {
		if (i == warm)
			mark(MARK_START);
		ret = put(&p, i);
	}
	mark(MARK_END);
	if (ret || rsm_memseg_import_init_barrier(p.imp, RSM_BAR_DEFAULT, &b) ||
	    rsm_memseg_import_open_barrier(&b) || rsm_memseg_import_close_barrier(&b))
		return 3;
	return ((volatile uint64_t *)p.mem)[(n - 1) % 512] == n - 1 ? 0 : 4;
}

static long count_some_puts(put_fn *put, int ops, count_fn *counts, int *status)
{
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(puts_between_marks(put, ops));
	}
	return count_some_between_marks(pid, counts, status);
}

static long count_puts(put_fn *put, int ops, int *status)
{
	return count_some_puts(put, ops, count_all, status);
}

/* --- with the poller ----------------------------------------------------------------- */

/*
 * Idle time of the poller in microseconds.  The poller must stay awake even if the host stops the
 * process for a while.
 */
#define LONG_LOOK	"1000000"

FIXTURE(polled) {
	int unused;
};

FIXTURE_SETUP(polled)
{
	ASSERT_EQ(0, setenv("RSM_POLLER_US", LONG_LOOK, 1));
}

FIXTURE_TEARDOWN(polled)
{
}

TEST_F(polled, a_steady_stream_of_puts_makes_no_system_call)
{
	int status;
	long n;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "nobody could look at the ring meanwhile");
	n = count_puts(explicit_put, 5000, &status);
	EXPECT_EQ(0, status);
	TH_LOG("%ld in 5000", n);
	EXPECT_EQ(0, n);
}

TEST_F(polled, an_implicit_put_makes_one_system_call_at_most)
{
	int status;
	long n;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "nobody could look at the ring meanwhile");
	n = count_puts(paced_put, 500, &status);
	EXPECT_EQ(0, status);
	TH_LOG("%ld in 500", n);
	/* A put that takes longer than the library spins makes one system call, to wait. */
	EXPECT_LE(0, n);
	EXPECT_GE(510, n);
}

/*
 * Returns 1 for every system call except a wait.  A wait is a KICK with a deadline, for an entry
 * that the driver has already taken.
 */
static int is_no_wait(pid_t pid, const struct user_regs_struct *regs)
{
	struct dat_rsm_kick *arg = (struct dat_rsm_kick *)regs->CALL_ARG3;

	return regs->CALL_NR != SYS_ioctl ||
	       (unsigned int)regs->CALL_ARG2 != DAT_IOC_RSM_KICK ||
	       ptrace(PTRACE_PEEKDATA, pid, &arg->deadline_ns, NULL) == 0;
}

/*
 * A vector returns after all its data have been transferred.  If the transfer takes longer than the
 * library spins, which depends on the load of the machine, the library makes one system call: a
 * wait.
 */
/* RSM check: 46 */
TEST_F(polled, the_driver_carries_out_no_vector_of_a_steady_stream)
{
	int status;
	long n;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "nobody could look at the ring meanwhile");
	n = count_some_puts(get_vector, 300, is_no_wait, &status);
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, n);
	n = count_some_puts(put_vector, 300, is_no_wait, &status);
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, n);
}

TEST_F(ring, of_puts_that_overlap_the_last_one_wins)
{
	uint64_t round, i, k, at, n, want[64];

	rsm_memseg_import_set_mode(self->imp, RSM_BARRIER_MODE_EXPLICIT);
	for (round = 0; round < 50; round++) {
		memset(self->mem, 0, sizeof(want));
		memset(want, 0, sizeof(want));
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_open_barrier(&self->barrier));
		for (i = 1; i <= 200; i++) {
			at = noise() % 64;
			n = 1 + noise() % (64 - at);
			for (k = at; k < at + n; k++)
				want[k] = i;
			ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_put64(self->imp, (off_t)at * 8,
								       &want[at], n));
		}
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_close_barrier(&self->barrier));
		ASSERT_EQ(0, memcmp(want, self->mem, sizeof(want)));
	}
}

/*
 * Control for the tests above: without the poller each put makes a system call, and the tracer
 * counts the calls.
 */
TEST_F(ring, without_the_poller_each_put_that_finds_the_ring_idle_makes_a_system_call)
{
	int status;
	long n;

	n = count_puts(paced_put, 500, &status);
	EXPECT_EQ(0, status);
	TH_LOG("%ld in 500", n);
	EXPECT_LE(400, n);
}

/* The library opens /dev/rsm once. */
static long awake(void)
{
	return poller_awake(device_fd("/dev/rsm"));
}

static int falls_asleep(void)
{
	return poller_is(device_fd("/dev/rsm"), 0, R_WAIT_MS);
}

/* The thread of the poller may run only some time after the put that has woken it. */
static int wakes_up(void)
{
	return poller_is(device_fd("/dev/rsm"), 1, 200);
}

TEST_F(ring, without_RSM_POLLER_US_there_is_no_poller)
{
	EXPECT_EQ(-1, awake());
}

TEST_F(polled, it_sleeps_when_nobody_puts_and_wakes_for_a_put)
{
	uint64_t one = 1;
	struct r_pair p;

	ASSERT_EQ(0, setenv("RSM_POLLER_US", "1000", 1));
	ASSERT_EQ(RSM_SUCCESS, r_pair(&p));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_put64(p.imp, 0, &one, 1));
	EXPECT_EQ(1, *(volatile uint64_t *)p.mem);
	ASSERT_TRUE(falls_asleep());
	/* The sleeping poller has set NEED_KICK, so this put makes a system call. */
	one = 2;
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_put64(p.imp, 0, &one, 1));
	EXPECT_EQ(2, *(volatile uint64_t *)p.mem);
	r_close(&p);
}

TEST_F(polled, a_put_wakes_it)
{
	uint64_t one = 1;
	struct r_pair p;
	int i;

	ASSERT_EQ(RSM_SUCCESS, r_pair(&p));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_put64(p.imp, 0, &one, 1));
	ASSERT_TRUE(falls_asleep());
	/* On a busy machine the poller may sleep again before the check, so try several times. */
	for (i = 0; i < 20 && !wakes_up(); i++)
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_put64(p.imp, 0, &one, 1));
	EXPECT_GT(20, i);
	r_close(&p);
}

TEST_F(polled, it_begins_with_the_first_transfer)
{
	uint64_t one = 1;
	struct r_pair p;

	ASSERT_EQ(RSM_SUCCESS, r_pair(&p));
	EXPECT_EQ(-1, awake());
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_put64(p.imp, 0, &one, 1));
	EXPECT_TRUE(falls_asleep());
	r_close(&p);
}

TEST_F(polled, a_value_that_is_none_is_left_alone)
{
	uint64_t one = 1;
	struct r_pair p;

	ASSERT_EQ(0, setenv("RSM_POLLER_US", "0x10", 1));
	ASSERT_EQ(RSM_SUCCESS, r_pair(&p));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_put64(p.imp, 0, &one, 1));
	EXPECT_EQ(-1, awake());
	r_close(&p);
}

TEST_F(polled, imports_come_and_go_under_it)
{
	rsm_memseg_import_handle_t imp;
	rsmapi_barrier_t b;
	uint64_t i;
	struct r_pair p;

	ASSERT_EQ(RSM_SUCCESS, r_pair(&p));
	for (i = 1; i <= 30; i++) {
		ASSERT_EQ(0, r_also(&p, RSM_PERM_RDWR, &imp, &b));
		ASSERT_EQ(0, rsm_memseg_import_put64(imp, 0, &i, 1));
		EXPECT_EQ(i, *(volatile uint64_t *)p.mem);
		ASSERT_EQ(0, rsm_memseg_import_disconnect(imp));
	}
	r_close(&p);
}

TEST_F(ring, many_rings_go_on_side_by_side)
{
	enum { RINGS = 24 };
	rsm_memseg_import_handle_t imp[RINGS];
	rsmapi_barrier_t b[RINGS];
	uint64_t i, n;

	for (n = 0; n < RINGS; n++) {
		ASSERT_EQ(0, r_also(&self->p, RSM_PERM_RDWR, &imp[n], &b[n]));
		ASSERT_EQ(0, rsm_memseg_import_set_mode(imp[n], RSM_BARRIER_MODE_EXPLICIT));
		ASSERT_EQ(0, rsm_memseg_import_open_barrier(&b[n]));
	}
	for (i = 1; i < 100; i++)
		for (n = 0; n < RINGS; n++)
			ASSERT_EQ(0, rsm_memseg_import_put64(imp[n], (off_t)n * 8, &i, 1));
	for (n = 0; n < RINGS; n++) {
		ASSERT_EQ(0, rsm_memseg_import_close_barrier(&b[n]));
		EXPECT_EQ(99, ((volatile uint64_t *)self->p.mem)[n]);
	}
	for (n = 0; n < RINGS; n++)
		ASSERT_EQ(0, rsm_memseg_import_disconnect(imp[n]));
}

/* The following tests use memory that is missing or that arrives late. */

static sigjmp_buf faulted;

static void leave(int sig)
{
	siglongjmp(faulted, 1);
}

/*
 * Put or get @n bytes whose memory ends before the last byte.  Returns 1 if the SIGSEGV handler
 * left the call by siglongjmp().
 */
static int fault_at(struct _test_data_ring *self, int put, char *at, size_t n)
{
	if (sigsetjmp(faulted, 1))
		return 1;
	if (put)
		rsm_memseg_import_put(self->imp, 0, at, n);
	else
		rsm_memseg_import_get(self->imp, 0, at, n);
	return 0;
}

static int goes_on(struct _test_data_ring *self)
{
	uint64_t x = noise(), y = 0;

	if (rsm_memseg_import_put64(self->imp, 64, &x, 1) ||
	    rsm_memseg_import_get64(self->imp, 64, &y, 1))
		return 0;
	return x == y && *(volatile uint64_t *)(self->mem + 64) == x;
}

TEST_F(ring, who_leaves_a_fault_by_siglongjmp_can_go_on)
{
	const size_t sizes[] = { 1, 256, 257, 4096, 16384, 40000, 600000 };
	struct sigaction sa = { .sa_handler = leave }, was;
	char *mem = r_mem(BIG);
	size_t i, n, round;

	sigaction(SIGSEGV, &sa, &was);
	/*
	 * Run more rounds than the ring has entries, and with more data than its data area holds.
	 */
	for (round = 0; round < 150; round++) {
		i = round % (sizeof(sizes) / sizeof(sizes[0]));
		/*
		 * Make the second half of the buffer inaccessible, or all of the buffer if it has
		 * at most two pages.
		 */
		n = (sizes[i] - 1) / 2 / R_PAGE * R_PAGE;
		ASSERT_EQ(0, mprotect(mem + n, BIG - n, PROT_NONE));
		EXPECT_EQ(1, fault_at(self, 1, mem, sizes[i])) TH_LOG("put of %zu", sizes[i]);
		EXPECT_EQ(1, fault_at(self, 0, mem, sizes[i])) TH_LOG("get of %zu", sizes[i]);
		ASSERT_EQ(0, mprotect(mem, BIG, PROT_READ | PROT_WRITE));
		if (round % 10 == 0)
			ASSERT_EQ(1, goes_on(self));
	}
	ASSERT_EQ(1, goes_on(self));
	/* Read-only memory can be the source of a put, but not the target of a get. */
	ASSERT_EQ(0, mprotect(mem, BIG, PROT_READ));
	EXPECT_EQ(0, fault_at(self, 1, mem, BIG));
	EXPECT_EQ(1, fault_at(self, 0, mem, BIG));
	EXPECT_EQ(1, fault_at(self, 0, mem, 8));
	sigaction(SIGSEGV, &was, NULL);
	ASSERT_EQ(1, goes_on(self));
	munmap(mem, BIG);
}

/* Thread that serves page faults, and uses the import before it serves each fault. */
struct server {
	struct _test_data_ring	*self;
	int			fd;
	int			faults;
	int			failed;
};

static void *serve(void *arg)
{
	char *page = aligned_alloc(R_PAGE, R_PAGE);
	struct server *s = arg;
	struct uffd_msg msg;

	memset(page, 'u', R_PAGE);
	while (read(s->fd, &msg, sizeof(msg)) == sizeof(msg)) {
		struct uffdio_copy copy = {
			.dst = msg.arg.pagefault.address & ~(R_PAGE - 1),
			.src = (uintptr_t)page, .len = R_PAGE,
		};

		/* An event other than a page fault means that the test has unmapped the memory. */
		if (msg.event != UFFD_EVENT_PAGEFAULT)
			break;
		s->faults++;
		if (!goes_on(s->self))
			s->failed = 1;
		if (ioctl(s->fd, UFFDIO_COPY, &copy))
			s->failed = 2;
	}
	free(page);
	return NULL;
}

/* Map @size bytes whose page faults @s serves.  Returns NULL on failure. */
static char *served_mem(struct server *s, size_t size)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_EVENT_UNMAP };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *mem = r_mem(size);

	s->fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	reg.range.start = (uintptr_t)mem;
	reg.range.len = size;
	if (s->fd < 0 || ioctl(s->fd, UFFDIO_API, &api) || ioctl(s->fd, UFFDIO_REGISTER, &reg))
		return NULL;
	return mem;
}

TEST_F(ring, memory_may_come_from_who_uses_the_import)
{
	const size_t size = 64 * R_PAGE, sizes[] = { 8, 200, 5000, 16384, 100000 };
	struct server s = { .self = self };
	size_t i, n, at = 0;
	pthread_t t;
	char *mem;
	int ret;

	mem = served_mem(&s, size);
	if (!mem)
		SKIP(return, "no userfaultfd");
	pthread_create(&t, NULL, serve, &s);
	for (i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		n = sizes[i / 2];
		if (i % 2)
			ret = rsm_memseg_import_get(self->imp, 4096, mem + at, n);
		else
			ret = rsm_memseg_import_put(self->imp, 4096, mem + at, n);
		ASSERT_EQ(0, ret);
		EXPECT_TRUE(r_all(self->mem + 4096, 'u', n)) TH_LOG("%zu", n);
		EXPECT_TRUE(r_all(mem + at, 'u', n));
		/* Drop the pages, so that the next access faults again. */
		madvise(mem, size, MADV_DONTNEED);
		at = i * 8 % 100;
	}
	EXPECT_LE(10, s.faults);
	EXPECT_EQ(0, s.failed);
	munmap(mem, size);
	pthread_join(t, NULL);
	close(s.fd);
}

/* Returns the number of mappings of /dev/rsm. */
static int device_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, "/dev/rsm") != NULL;
	if (f)
		fclose(f);
	return n;
}

TEST_F(ring, what_has_no_ring_for_a_moment_gets_one_later)
{
	struct rlimit little = { 0, RLIM_INFINITY }, was;
	int before = device_maps();
	uint64_t x = 1;

	getrlimit(RLIMIT_AS, &was);
	little.rlim_max = was.rlim_max;
	setrlimit(RLIMIT_AS, &little);
	ASSERT_EQ(0, rsm_memseg_import_put64(self->imp, 0, &x, 1));
	setrlimit(RLIMIT_AS, &was);
	EXPECT_EQ(before, device_maps());
	EXPECT_EQ(1, *(volatile uint64_t *)self->mem);
	x = 2;
	ASSERT_EQ(0, rsm_memseg_import_put64(self->imp, 0, &x, 1));
	EXPECT_EQ(2, *(volatile uint64_t *)self->mem);
	EXPECT_LT(before, device_maps());
}

TEST_HARNESS_MAIN
