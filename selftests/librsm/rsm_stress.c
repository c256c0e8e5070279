// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * RSMAPI under load: many processes that transfer data, some of which are killed during a transfer.
 * The segments are shared memory, so a test can check their contents after the exporter has ended.
 */
#include "rsm_test.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* A test may wait three times for R_WAIT_MS. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 120

#define N		RSM_MAX_SGIOREQS
#define WORKERS		8
#define RUN_MS		2000	/* run time of loops that have no other limit */
#define AREA		R_PAGE	/* bytes that each worker has in a segment of R_SIZE */

/*
 * struct shared - memory that all processes of a test share
 * @stop: nonzero tells the workers to end
 * @id: id of the segment
 * @rounds: number of rounds that each worker has completed
 */
struct shared {
	int		stop;
	rsm_memseg_id_t	id;
	unsigned long	rounds[WORKERS];
};

static void *shared_mem(size_t size)
{
	void *va = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return va == MAP_FAILED ? NULL : va;
}

static int stopped(const struct shared *s)
{
	return __atomic_load_n(&s->stop, __ATOMIC_ACQUIRE);
}

static void stop(struct shared *s)
{
	__atomic_store_n(&s->stop, 1, __ATOMIC_RELEASE);
}

/* Start a process that runs @fn(@s, @i).  @fn returns 0 for success. */
static pid_t worker(int (*fn)(struct shared *s, int i), struct shared *s, int i)
{
	pid_t pid = fork();
	int ret;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ret = fn(s, i);
		/*
		 * Report the failure at once, because other workers may wait until the test times
		 * out.
		 */
		if (ret)
			fprintf(stderr, "# worker %d ends: %d\n", i, ret);
		_exit(ret);
	}
	return pid;
}

static int exit_of(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Export @mem, and tell the workers the id of the segment in @s->id. */
static int export_shared(struct r_pair *p, struct shared *s, char *mem)
{
	int ret = r_open(p);

	if (!ret)
		ret = rsm_memseg_export_create(p->ctlr, &p->exp, mem, R_SIZE, RSM_ALLOW_REBIND);
	if (!ret)
		ret = rsm_memseg_export_publish(p->exp, &p->id, NULL, 0);
	__atomic_store_n(&s->id, p->id, __ATOMIC_RELEASE);
	return ret;
}

static int import_shared(struct r_pair *p, const struct shared *s)
{
	int ret = r_open(p);

	p->id = __atomic_load_n(&s->id, __ATOMIC_ACQUIRE);
	return ret ? ret : r_import(p, RSM_PERM_RDWR);
}

/* Fill in N entries within the area of worker @i. */
static void area_list(rsm_scat_gath_t *sg, rsm_iovec_t *v, void *imp, char *buf, int i)
{
	size_t len = AREA / N, k;

	for (k = 0; k < N; k++)
		v[k] = (rsm_iovec_t) {
			.io_type = RSM_VA_TYPE, .local.vaddr = buf, .local_offset = k * len,
			.remote_offset = (size_t)i * AREA + k * len, .transfer_length = len,
		};
	*sg = (rsm_scat_gath_t) {
		.io_request_count = N, .remote_handle = imp, .iovec = v,
	};
}

/*
 * In each round, put, get and use vectors in the worker's own area, and check the data.  Each put
 * vector posts one event.
 */
static int write_and_read(struct shared *s, int i)
{
	char *buf = r_mem(AREA), *back = r_mem(AREA);
	rsm_iovec_t v[N], w[N];
	rsm_scat_gath_t put, get;
	struct r_pair p;
	unsigned long n;

	if (import_shared(&p, s))
		return 1;
	area_list(&put, v, p.imp, buf, i);
	area_list(&get, w, p.imp, back, i);
	put.flags = RSM_IMPLICIT_SIGPOST;
	rsm_memseg_import_set_mode(p.imp, i % 2 ? RSM_BARRIER_MODE_EXPLICIT :
						  RSM_BARRIER_MODE_IMPLICIT);
	for (n = 1; n <= R_TIMES(200) || !stopped(s); n++) {
		memset(buf, (int)n, AREA);
		if (rsm_memseg_import_put(p.imp, (off_t)((size_t)i * AREA), buf, AREA / 2) ||
		    rsm_memseg_import_putv(&put) || put.io_residual_count)
			return 2;
		if (n % 2 ? rsm_memseg_import_getv(&get) :
			    rsm_memseg_import_get(p.imp, (off_t)((size_t)i * AREA), back, AREA))
			return 3;
		if (memcmp(buf, back, AREA))
			return 4;
		s->rounds[i] = n;
	}
	return rsm_memseg_import_disconnect(p.imp);
}

/* RSM check: 44 */
TEST(many_importers_write_and_read_their_areas)
{
	struct shared *s = shared_mem(sizeof(*s));
	char *mem = shared_mem(R_SIZE);
	unsigned long events = 0;
	uint64_t end = now_ms() + RUN_MS;
	pid_t pid[WORKERS];
	struct r_pair p;
	int i;

	ASSERT_EQ(RSM_SUCCESS, export_shared(&p, s, mem));
	for (i = 0; i < WORKERS; i++)
		pid[i] = worker(write_and_read, s, i);
	while (now_ms() < end)
		events += rsm_intr_signal_wait(p.exp, 10) == RSM_SUCCESS;
	stop(s);
	for (i = 0; i < WORKERS; i++)
		EXPECT_EQ(0, exit_of(pid[i]));
	while (rsm_intr_signal_wait(p.exp, 0) == RSM_SUCCESS)
		events++;
	for (i = 0; i < WORKERS; i++) {
		EXPECT_TRUE(r_all(mem + (size_t)i * AREA, (char)s->rounds[i], AREA));
		events -= s->rounds[i];
	}
	/* Each put vector has posted exactly one event, and the test has consumed all events. */
	EXPECT_EQ(0, events);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(p.exp));
}

/*
 * Worker that exports a segment of its own.  Whenever a number arrives in that segment, the worker
 * puts the same number into the segment of the test.
 */
static int echo(struct shared *s, int i)
{
	struct r_pair out, in = { };
	uint64_t n, *mem = (uint64_t *)r_mem(R_SIZE);

	(void)i;
	if (import_shared(&out, s))
		return 1;
	in.ctlr = out.ctlr;
	if (rsm_memseg_export_create(in.ctlr, &in.exp, mem, R_SIZE, 0) ||
	    rsm_memseg_export_publish(in.exp, &in.id, NULL, 0))
		return 2;
	/* The first put tells the test the id of this worker's segment. */
	n = in.id;
	if (rsm_memseg_import_put64(out.imp, 0, &n, 1) || rsm_intr_signal_post(out.imp, 0))
		return 3;
	for (;;) {
		if (rsm_intr_signal_wait(in.exp, R_WAIT_MS))
			return 4;
		n = *(volatile uint64_t *)&mem[8];
		if (n == ~0ULL)
			return 0;
		if (rsm_memseg_import_put64(out.imp, 64, &n, 1) ||
		    rsm_intr_signal_post(out.imp, 0))
			return 5;
	}
}

/* RSM check: 51 */
TEST(two_processes_answer_each_other)
{
	struct shared *s = shared_mem(sizeof(*s));
	volatile uint64_t *mem = shared_mem(R_SIZE);
	uint64_t n, last = ~0ULL, end = now_ms() + RUN_MS;
	struct r_pair p;
	void *back;
	pid_t pid;

	ASSERT_EQ(RSM_SUCCESS, export_shared(&p, s, (char *)mem));
	pid = worker(echo, s, 0);
	ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(p.exp, R_WAIT_MS));
	ASSERT_EQ(RSM_SUCCESS,
		  rsm_memseg_import_connect(p.ctlr, p.node, (rsm_memseg_id_t)mem[0], 0600, &back));
	rsm_memseg_import_set_mode(back, RSM_BARRIER_MODE_EXPLICIT);
	for (n = 1; now_ms() < end; n++) {
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_put64(back, 64, &n, 1));
		ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_post(back, 0));
		ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(p.exp, R_WAIT_MS));
		ASSERT_EQ(n, mem[8]);
	}
	TH_LOG("%llu answers", (unsigned long long)n - 1);
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_put64(back, 64, &last, 1));
	ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_post(back, 0));
	EXPECT_EQ(0, exit_of(pid));
	rsm_memseg_import_disconnect(back);
	rsm_memseg_export_destroy(p.exp);
}

/*
 * Put vectors until the import is cut.  Check that the residual count of the last vector tells
 * which entries have arrived.
 */
static int putv_until_cut(struct shared *s, char *mem, int i)
{
	size_t len = AREA / N, done, k;
	char *buf = r_mem(AREA), *area = mem + (size_t)i * AREA;
	rsm_iovec_t v[N];
	rsm_scat_gath_t sg;
	unsigned long n = 0;
	struct r_pair p;
	int ret = 0;

	if (import_shared(&p, s))
		return 1;
	area_list(&sg, v, p.imp, buf, i);
	while (!ret) {
		memset(buf, (int)++n, AREA);
		ret = rsm_memseg_import_putv(&sg);
		s->rounds[i] = n;
	}
	if (ret != RSMERR_CONN_ABORTED || !sg.io_residual_count || sg.io_residual_count > N)
		return 2;
	done = N - sg.io_residual_count;
	/*
	 * With an adapter, entries after the failed entry may have arrived, too: do not check them.
	 */
	for (k = 0; k < (r_rdma() ? done : N); k++)
		if (k != done && !r_all(area + k * len, (char)(k < done ? n : n - 1), len))
			return 3;
	if (rsm_memseg_import_putv(&sg) != RSMERR_CONN_ABORTED || sg.io_residual_count != N)
		return 4;
	return rsm_memseg_import_disconnect(p.imp);
}

/* Memory of the segment in the next tests, in which the exporter or importers are killed. */
static char *victim_mem;

static int putv_worker(struct shared *s, int i)
{
	return putv_until_cut(s, victim_mem, i);
}

static int victim(struct shared *s, int i)
{
	struct r_pair p;

	(void)i;
	if (export_shared(&p, s, victim_mem))
		return 1;
	for (;;)
		pause();
}

static int all_run(const struct shared *s)
{
	int i;

	for (i = 0; i < WORKERS; i++)
		if (__atomic_load_n(&s->rounds[i], __ATOMIC_RELAXED) < 10)
			return 0;
	return 1;
}

/* RSM check: 52 */
TEST(many_importers_are_told_the_truth_when_their_exporter_is_killed)
{
	struct shared *s = shared_mem(sizeof(*s));
	pid_t exporter, pid[WORKERS];
	int i, round;

	victim_mem = shared_mem(R_SIZE);
	for (round = 0; round < 3; round++) {
		memset(s, 0, sizeof(*s));
		memset(victim_mem, 0, R_SIZE);
		exporter = worker(victim, s, 0);
		for (i = 0; i < R_WAIT_MS && !__atomic_load_n(&s->id, __ATOMIC_ACQUIRE); i++)
			usleep(1000);
		for (i = 0; i < WORKERS; i++)
			pid[i] = worker(putv_worker, s, i);
		for (i = 0; i < R_WAIT_MS && !all_run(s); i++)
			usleep(1000);
		kill(exporter, SIGKILL);
		EXPECT_EQ(128 + SIGKILL, exit_of(exporter));
		for (i = 0; i < WORKERS; i++)
			EXPECT_EQ(0, exit_of(pid[i]));
	}
}

static int putv_forever(struct shared *s, int i)
{
	int ret = putv_until_cut(s, victim_mem, i);

	/* The test kills this process before putv_until_cut() returns. */
	return ret ? ret : 99;
}

/* RSM check: 52 */
TEST(importers_that_are_killed_disturb_nobody)
{
	struct shared *s = shared_mem(sizeof(*s));
	pid_t pid[WORKERS], other;
	struct r_pair p;
	int i;

	victim_mem = shared_mem(R_SIZE);
	ASSERT_EQ(RSM_SUCCESS, export_shared(&p, s, victim_mem));
	for (i = 0; i < WORKERS - 1; i++)
		pid[i] = worker(putv_forever, s, i);
	other = worker(write_and_read, s, WORKERS - 1);
	for (i = 0; i < R_WAIT_MS && !all_run(s); i++)
		usleep(1000);
	for (i = 0; i < WORKERS - 1; i++)
		kill(pid[i], SIGKILL);
	for (i = 0; i < WORKERS - 1; i++)
		EXPECT_EQ(128 + SIGKILL, exit_of(pid[i]));
	stop(s);
	EXPECT_EQ(0, exit_of(other));
	/* No import is left to signal: the post succeeds, and the segment still works. */
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_post(p.exp, 0));
	EXPECT_EQ(RSM_SUCCESS, r_import(&p, RSM_PERM_RDWR));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_import_put(p.imp, 0, "x", 1));
	EXPECT_EQ('x', victim_mem[0]);
	rsm_memseg_import_disconnect(p.imp);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(p.exp));
}

static int cut_or(int ret, int other)
{
	return ret == RSM_SUCCESS || ret == RSMERR_CONN_ABORTED || ret == other;
}

/* Import, make a few calls of each kind, and disconnect, in a loop until @s->stop. */
static int come_and_go(struct shared *s, int i)
{
	char buf[64] = "", *va;
	struct pollfd fd;
	struct r_pair p;
	int ret;

	if (r_open(&p))
		return 1;
	while (!stopped(s)) {
		p.id = __atomic_load_n(&s->id, __ATOMIC_ACQUIRE);
		ret = r_import(&p, RSM_PERM_RDWR);
		/* Let the exporter run, so that the exporter can publish the segment again. */
		if (ret == RSMERR_SEG_NOT_PUBLISHED)
			usleep(1000);
		if (ret == RSMERR_SEG_NOT_PUBLISHED)
			continue;
		if (ret)
			return 50 + ret;
		s->rounds[i]++;
		ret = rsm_memseg_import_map(p.imp, (void **)&va, RSM_MAP_NONE, RSM_PERM_RDWR, 0,
					    R_SIZE);
		if (!cut_or(ret, r_rdma() ? RSMERR_MAP_FAILED : 0))
			return 3;
		if (!cut_or(rsm_memseg_import_put(p.imp, i * 64, buf, 64), 0) ||
		    !cut_or(rsm_memseg_import_get(p.imp, i * 64, buf, 64), 0) ||
		    !cut_or(rsm_intr_signal_post(p.imp, 0), 0) ||
		    !cut_or(rsm_intr_signal_wait(p.imp, 0), RSMERR_TIMEOUT))
			return 4;
		if (rsm_memseg_get_pollfd(p.imp, &fd) || poll(&fd, 1, 0) < 0 ||
		    rsm_memseg_release_pollfd(p.imp))
			return 5;
		ret = rsm_memseg_import_unmap(p.imp);
		if (ret && ret != RSMERR_SEG_NOT_MAPPED)
			return 6;
		if (rsm_memseg_import_disconnect(p.imp))
			return 7;
	}
	return 0;
}

/* RSM check: 21, 22 */
TEST(importers_come_and_go_while_the_segment_changes)
{
	struct shared *s = shared_mem(sizeof(*s));
	char *mem[2] = { shared_mem(R_SIZE), shared_mem(R_SIZE) };
	uint64_t end = now_ms() + RUN_MS;
	unsigned long rounds = 0;
	pid_t pid[WORKERS];
	struct r_pair p;
	int i, n;

	ASSERT_EQ(RSM_SUCCESS, export_shared(&p, s, mem[0]));
	for (i = 0; i < WORKERS; i++)
		pid[i] = worker(come_and_go, s, i);
	for (n = 1; now_ms() < end || n < 8; n++) {
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_rebind(p.exp, mem[n % 2], 0, R_SIZE));
		ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_post(p.exp, 0));
		if (n % 4)
			continue;
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_unpublish(p.exp));
		p.id = 0;
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_publish(p.exp, &p.id, NULL, 0));
		__atomic_store_n(&s->id, p.id, __ATOMIC_RELEASE);
	}
	stop(s);
	for (i = 0; i < WORKERS; i++) {
		EXPECT_EQ(0, exit_of(pid[i]));
		rounds += s->rounds[i];
	}
	TH_LOG("%d rebinds, %lu imports", n, rounds);
	EXPECT_LT(0, rounds);
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(p.exp));
}

/* Byte with which the exporter fills memory that no longer belongs to the segment. */
#define BACK	'#'

/* Put small entries, with gaps between them in the segment, all in one vector. */
static int store_with_gaps(struct r_pair *p, char *buf, int i)
{
	rsm_iovec_t v[N];
	rsm_scat_gath_t sg = {
		.io_request_count = N, .remote_handle = p->imp, .iovec = v,
	};
	int k;

	for (k = 0; k < N; k++)
		v[k] = (rsm_iovec_t) {
			.io_type = RSM_VA_TYPE, .local.vaddr = buf,
			.remote_offset = (size_t)i * AREA + (size_t)k * (AREA / N),
			.transfer_length = AREA / N / 2,
		};
	return rsm_memseg_import_putv(&sg);
}

/*
 * Store new bytes in the worker's area in one of three ways: a vector of small entries; a vector of
 * the whole area; or stores through the window, followed by a put.
 */
static int store_somehow(struct r_pair *p, rsm_scat_gath_t *sg, volatile char *area, int i)
{
	char *buf = sg->iovec[0].local.vaddr;
	int k;

	memset(buf, buf[0] + 1, AREA);
	if (buf[0] % 2)
		return store_with_gaps(p, buf, i);
	if (i % 2)
		return rsm_memseg_import_putv(sg);
	for (k = 0; area && k < 1000; k++)
		area[(size_t)k * 64 % AREA]++;
	return rsm_memseg_import_put(p->imp, (off_t)((size_t)i * AREA), buf, AREA);
}

static int store_without_end(struct shared *s, int i)
{
	char *va, *buf = r_mem(AREA);
	rsm_iovec_t v[N];
	rsm_scat_gath_t sg;
	struct r_pair p;
	int ret;

	if (r_open(&p))
		return 1;
	while (!stopped(s)) {
		p.id = __atomic_load_n(&s->id, __ATOMIC_ACQUIRE);
		ret = r_import(&p, RSM_PERM_RDWR);
		if (ret == RSMERR_SEG_NOT_PUBLISHED)
			usleep(1000);
		if (ret == RSMERR_SEG_NOT_PUBLISHED)
			continue;
		if (ret)
			return 50 + ret;
		area_list(&sg, v, p.imp, buf, i);
		va = NULL;
		if (!r_rdma())
			ret = rsm_memseg_import_map(p.imp, (void **)&va, RSM_MAP_NONE, RSM_PERM_RDWR,
						    (off_t)((size_t)i * AREA), AREA);
		while (!ret && !stopped(s))
			ret = store_somehow(&p, &sg, va, i);
		if (ret && ret != RSMERR_CONN_ABORTED)
			return 100 + ret;
		rsm_memseg_import_unmap(p.imp);
		if (rsm_memseg_import_disconnect(p.imp))
			return 4;
	}
	return 0;
}

/* Returns the number of workers that have stored in their area of @mem. */
static int storing(const char *mem)
{
	int i, n = 0;

	for (i = 0; i < WORKERS; i++)
		n += !r_all(mem + (size_t)i * AREA, BACK, AREA);
	return n;
}

/*
 * Wait until half of the workers have stored in @mem.  On a busy machine the storing workers delay
 * workers that still connect, so a wait for all workers would take long.  Returns 0 on timeout.
 */
static int stored(const char *mem)
{
	uint64_t end = now_ms() + R_WAIT_MS;

	while (storing(mem) < WORKERS / 2) {
		if (now_ms() > end)
			return 0;
		usleep(1000);
	}
	return 1;
}

/* Fill the memory with BACK.  Returns 1 if no other process writes to the memory afterwards. */
static int taken_back(char *mem)
{
	memset(mem, BACK, R_SIZE);
	usleep(10000);
	return r_all(mem, BACK, R_SIZE);
}

static void start_all(struct shared *s, pid_t *pid)
{
	int i;

	for (i = 0; i < WORKERS; i++)
		pid[i] = worker(store_without_end, s, i);
}

static int end_all(struct shared *s, const pid_t *pid)
{
	int i, bad = 0;

	stop(s);
	for (i = 0; i < WORKERS; i++)
		bad |= exit_of(pid[i]);
	return bad;
}

/* RSM check: 20, 21 */
TEST(nobody_stores_in_memory_that_a_segment_has_left)
{
	struct shared *s = shared_mem(sizeof(*s));
	char *mem[2] = { shared_mem(R_SIZE), shared_mem(R_SIZE) };
	uint64_t end = now_ms() + RUN_MS;
	pid_t pid[WORKERS];
	struct r_pair p;
	int n;

	memset(mem[0], BACK, R_SIZE);
	memset(mem[1], BACK, R_SIZE);
	ASSERT_EQ(RSM_SUCCESS, export_shared(&p, s, mem[0]));
	start_all(s, pid);
	for (n = 1; now_ms() < end || n < 3; n++) {
		ASSERT_TRUE(stored(mem[(n - 1) % 2]));
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_rebind(p.exp, mem[n % 2], 0, R_SIZE));
		ASSERT_TRUE(taken_back(mem[(n - 1) % 2]));
	}
	TH_LOG("%d rebinds", n - 1);
	EXPECT_EQ(0, end_all(s, pid));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(p.exp));
}

/* RSM check: 22 */
TEST(nobody_stores_in_a_segment_that_was_withdrawn)
{
	struct shared *s = shared_mem(sizeof(*s));
	char *mem = shared_mem(R_SIZE);
	uint64_t end = now_ms() + RUN_MS;
	pid_t pid[WORKERS];
	struct r_pair p;
	int n;

	memset(mem, BACK, R_SIZE);
	ASSERT_EQ(RSM_SUCCESS, export_shared(&p, s, mem));
	start_all(s, pid);
	for (n = 0; now_ms() < end || n < 3; n++) {
		ASSERT_TRUE(stored(mem));
		if (n % 2) {
			ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_unpublish(p.exp));
			ASSERT_TRUE(taken_back(mem));
			p.id = 0;
			ASSERT_EQ(RSM_SUCCESS,
				  rsm_memseg_export_publish(p.exp, &p.id, NULL, 0));
			__atomic_store_n(&s->id, p.id, __ATOMIC_RELEASE);
		} else {
			ASSERT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(p.exp));
			ASSERT_TRUE(taken_back(mem));
			ASSERT_EQ(RSM_SUCCESS, export_shared(&p, s, mem));
		}
	}
	TH_LOG("withdrawn %d times", n);
	EXPECT_EQ(0, end_all(s, pid));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(p.exp));
}

/* RSM check: 24, 52 */
TEST(nobody_stores_in_memory_of_an_exporter_that_was_killed)
{
	struct shared *s = shared_mem(sizeof(*s));
	uint64_t end = now_ms() + RUN_MS;
	pid_t exporter, pid[WORKERS];
	int n;

	victim_mem = shared_mem(R_SIZE);
	memset(victim_mem, BACK, R_SIZE);
	start_all(s, pid);
	for (n = 0; now_ms() < end || n < 3; n++) {
		exporter = worker(victim, s, 0);
		ASSERT_TRUE(stored(victim_mem));
		kill(exporter, SIGKILL);
		ASSERT_EQ(128 + SIGKILL, exit_of(exporter));
		ASSERT_TRUE(taken_back(victim_mem));
	}
	EXPECT_EQ(0, end_all(s, pid));
}

/*
 * struct busy - a thread that puts vectors
 * @p: segment and import
 * @buf: source of the data
 * @started: nonzero after the thread has begun to put
 * @ret: result of the last vector
 */
struct busy {
	struct r_pair	*p;
	char		*buf;
	int		started;
	int		ret;
};

static void *putv_thread(void *arg)
{
	struct busy *b = arg;
	rsm_iovec_t v[N];
	rsm_scat_gath_t sg;
	int i;

	for (i = 0; i < N; i++)
		v[i] = (rsm_iovec_t) { .io_type = RSM_VA_TYPE, .local.vaddr = b->buf,
				       .transfer_length = R_SIZE };
	sg = (rsm_scat_gath_t) { .io_request_count = N, .remote_handle = b->p->imp, .iovec = v };
	while (!b->ret) {
		__atomic_store_n(&b->started, 1, __ATOMIC_RELEASE);
		b->ret = rsm_memseg_import_putv(&sg);
	}
	return NULL;
}

/* RSM check: 30 */
TEST(a_disconnect_waits_for_vectors)
{
	struct busy b = { .buf = r_mem(R_SIZE) };
	char *now = malloc(R_SIZE);
	struct r_pair p;
	pthread_t t;
	int i;

	b.p = &p;
	ASSERT_EQ(RSM_SUCCESS, r_pair(&p));
	for (i = 0; i < 20; i++) {
		b.started = 0;
		b.ret = 0;
		memset(b.buf, i + 1, R_SIZE);
		ASSERT_EQ(0, pthread_create(&t, NULL, putv_thread, &b));
		while (!__atomic_load_n(&b.started, __ATOMIC_ACQUIRE))
			;
		usleep((unsigned int)i * 100);
		ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(p.imp));
		/* After the disconnect, the contents of the segment must not change any more. */
		memset(b.buf, 'x', R_SIZE);
		memcpy(now, p.mem, R_SIZE);
		pthread_join(t, NULL);
		EXPECT_TRUE(b.ret == RSMERR_CONN_ABORTED || b.ret == RSMERR_BAD_SEG_HNDL);
		EXPECT_EQ(0, memcmp(now, p.mem, R_SIZE));
		ASSERT_EQ(RSM_SUCCESS, r_import(&p, RSM_PERM_RDWR));
	}
	r_close(&p);
	free(now);
}

/* Make page faults in @mem hang.  Returns the userfaultfd that holds the faults, or -1. */
static int unanswered(char *mem, size_t size)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { .start = (uintptr_t)mem, .len = size },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* RSM check: 52 */
TEST(an_importer_that_is_stuck_holds_up_nobody)
{
	struct pollfd pfd = { .events = POLLIN };
	struct busy b = { .buf = r_mem(R_SIZE) };
	struct r_pair p;
	pthread_t t;

	pfd.fd = unanswered(b.buf, R_SIZE);
	if (pfd.fd < 0)
		SKIP(return, "needs userfaultfd");
	b.p = &p;
	ASSERT_EQ(RSM_SUCCESS, r_pair(&p));
	ASSERT_EQ(0, pthread_create(&t, NULL, putv_thread, &b));
	/* The transfer has begun to read the buffer, and hangs in a page fault. */
	ASSERT_EQ(1, poll(&pfd, 1, R_WAIT_MS));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_unpublish(p.exp));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(p.exp));
	EXPECT_EQ(0, b.ret);
	/*
	 * The close resolves all hanging faults with zero pages.  The thread then finds that its
	 * import is cut.
	 */
	close(pfd.fd);
	pthread_join(t, NULL);
	EXPECT_EQ(RSMERR_CONN_ABORTED, b.ret);
	EXPECT_TRUE(r_all(p.mem, 0, R_SIZE));
	r_close(&p);
}

struct vector {
	rsm_scat_gath_t	sg;
	rsm_iovec_t	v[2];
	int		ret;
};

static void *vector_thread(void *arg)
{
	struct vector *vec = arg;

	vec->ret = rsm_memseg_import_putv(&vec->sg);
	return NULL;
}

#define SPENT_MS	5000	/* upper limit for calls that must not wait */

/*
 * A rebind must not wait for any entry of a vector.  The first entry is complete, and the second
 * entry hangs in a page fault.
 */
TEST(a_vector_that_is_stuck_holds_up_no_rebind)
{
	struct pollfd pfd = { .events = POLLIN };
	char *buf = r_mem(2 * R_PAGE), *other = r_mem(R_SIZE);
	struct vector vec = { .ret = -1 };
	struct r_pair p;
	uint64_t start;
	pthread_t t;
	int i;

	memset(buf, 'a', R_PAGE);
	pfd.fd = unanswered(buf + R_PAGE, R_PAGE);
	if (pfd.fd < 0)
		SKIP(return, "needs userfaultfd");
	ASSERT_EQ(RSM_SUCCESS, r_pair(&p));
	for (i = 0; i < 2; i++)
		vec.v[i] = (rsm_iovec_t) {
			.io_type = RSM_VA_TYPE, .local.vaddr = buf + (size_t)i * R_PAGE,
			.remote_offset = (size_t)i * 2 * R_PAGE, .transfer_length = R_PAGE,
		};
	vec.sg = (rsm_scat_gath_t) { .io_request_count = 2, .remote_handle = p.imp,
				     .iovec = vec.v };
	ASSERT_EQ(0, pthread_create(&t, NULL, vector_thread, &vec));
	ASSERT_EQ(1, poll(&pfd, 1, R_WAIT_MS));
	start = now_ms();
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_rebind(p.exp, other, 0, R_SIZE));
	EXPECT_LT(now_ms() - start, SPENT_MS);
	close(pfd.fd);
	pthread_join(t, NULL);
	EXPECT_EQ(RSM_SUCCESS, vec.ret);
	EXPECT_EQ(0, vec.sg.io_residual_count);
	r_close(&p);
}

static long faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_minflt;
}

/*
 * Worker that writes to its window in a loop.  Returns the number of page faults after the first
 * access, at most 90.
 */
static int watch_window(struct shared *s, int i)
{
	volatile char *va;
	struct r_pair p;
	long before;

	(void)i;
	if (r_pair(&p) || rsm_memseg_import_map(p.imp, (void **)&va, RSM_MAP_NONE, RSM_PERM_RDWR, 0,
						R_PAGE))
		return 100;
	va[0] = 1;
	(void)faults();
	before = faults();
	__atomic_store_n(&s->rounds[0], 1, __ATOMIC_RELEASE);
	while (!stopped(s))
		va[0]++;
	return (int)(faults() - before > 90 ? 90 : faults() - before);
}

/* RSM check: 20 */
TEST(a_rebind_empties_no_windows_of_strangers)
{
	struct shared *s = shared_mem(sizeof(*s));
	char *m = r_mem(R_SIZE);
	struct r_pair p;
	void *va;
	pid_t pid;
	int i;

	R_LOOPBACK_ONLY("there are no windows");
	pid = worker(watch_window, s, 0);
	/*
	 * The objects of this process have the same ids as the objects of the worker.  A rebind
	 * that mixed them up would empty the worker's window.
	 */
	ASSERT_EQ(RSM_SUCCESS, r_pair(&p));
	ASSERT_EQ(RSM_SUCCESS,
		  rsm_memseg_import_map(p.imp, &va, RSM_MAP_NONE, RSM_PERM_RDWR, 0, R_PAGE));
	for (i = 0; i < R_WAIT_MS && !__atomic_load_n(&s->rounds[0], __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	for (i = 0; i < 40; i++)
		ASSERT_EQ(RSM_SUCCESS,
			  rsm_memseg_export_rebind(p.exp, i % 2 ? p.mem : m, 0, R_SIZE));
	stop(s);
	/* The worker may have a few page faults for other reasons. */
	EXPECT_GT(20, exit_of(pid));
	r_close(&p);
}

TEST_HARNESS_MAIN
