// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Devices that fail: nothing completes any more, a CQ or a port has an error.  What depends on the
 * device must end in spite of that, each posted entry exactly once.  Uses the mean device.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "clock.h"
#include "klog.h"
#include "mean.h"
#include "proc.h"
#include "rdma_count.h"
#include "verbs_request.h"

/* Time that the driver gives a device to complete the requests of a closed connection. */
#define DRAIN_MS	5000

/* Value of the mean device's parameter "modify_fails": IB_QPS_ERR. */
#define TO_ERROR	"6"

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

FIXTURE(dead) {
	struct t_pair p;
};

FIXTURE_SETUP(dead)
{
}

FIXTURE_TEARDOWN(dead)
{
	mean_set("dead", "0");
	mean_set("lose", "0");
	mean_set("modify_fails", "-1");
	mean_set("destroy_fails", "0");
	mean_set("dereg_fails", "0");
	mean_set("endless", "0");
	mean_set("dereg_hangs", "0");
	mean_set("query_hangs", "0");
	if (self->p.f.fd)
		t_pair_close(&self->p);
}

/* A SKIP() in the fixture does not skip the tests of the fixture, so each test calls this macro. */
#define NEEDS_MEAN() do {							\
	if (mean_missing())							\
		SKIP(return, mean_missing());					\
	ASSERT_EQ(0, is_mean() ? 0 : mean_load(""));				\
} while (0)

static int post_recvs(struct t_pair *p)
{
	int i, ret = 0;

	for (i = 0; i < T_QUEUE && !ret; i++)
		ret = t_recv(&p->ep[0].rq, i, (uintptr_t)p->mem.va, p->mem.lkey, 64);
	return ret;
}

/* Connect, let the device die, and post requests that never complete.  The RQ of ep[0] is full. */
static int die_with_entries(struct t_pair *p)
{
	int i, ret;

	ret = t_pair_open(p) || t_pair_connect(p) || post_recvs(p) || mean_set("dead", "1");
	for (i = 0; i < T_QUEUE && !ret; i++)
		ret = t_send(&p->ep[1], i, (uintptr_t)p->mem.va, p->mem.lkey, 64);
	return ret;
}

/* Return the number of DTO events that are flushed and in order, if @a or @b ends them; else -1. */
static int flushed_until_either(struct t_evd *evd, uint32_t a, uint32_t b)
{
	struct dat_eqe eqe;
	int n = 0;

	while (t_event(evd, T_WAIT_MS, &eqe)) {
		if (eqe.type == a || eqe.type == b)
			return n;
		if (eqe.type != DAT_EV_DTO || eqe.status != DAT_ST_FLUSHED ||
		    eqe.cookie != (uint64_t)n++)
			break;
	}
	return -1;
}

static int flushed_until(struct t_evd *evd, uint32_t type)
{
	return flushed_until_either(evd, type, type);
}

TEST_F_TIMEOUT(dead, entries_are_flushed_in_order, 120)
{
	struct t_pair *p = &self->p;
	uint64_t began;

	NEEDS_MEAN();
	ASSERT_EQ(0, die_with_entries(p));
	began = now_ms();
	ASSERT_EQ(0, t_disconnect(&p->f, &p->ep[0], 0));
	ASSERT_EQ(0, t_disconnect(&p->f, &p->ep[1], 0));
	EXPECT_EQ(T_QUEUE, flushed_until(&p->evd[0], DAT_EV_DISCONNECTED));
	EXPECT_EQ(T_QUEUE, flushed_until(&p->evd[1], DAT_EV_DISCONNECTED));
	EXPECT_LE(DRAIN_MS, now_ms() - began);
}

TEST_F_TIMEOUT(dead, an_endpoint_works_again_with_the_device, 120)
{
	struct t_pair *p = &self->p;

	NEEDS_MEAN();
	ASSERT_EQ(0, die_with_entries(p));
	ASSERT_EQ(0, t_disconnect(&p->f, &p->ep[0], 0));
	ASSERT_EQ(0, t_disconnect(&p->f, &p->ep[1], 0));
	ASSERT_EQ(T_QUEUE, flushed_until(&p->evd[0], DAT_EV_DISCONNECTED));
	ASSERT_EQ(T_QUEUE, flushed_until(&p->evd[1], DAT_EV_DISCONNECTED));
	ASSERT_EQ(0, mean_set("dead", "0"));
	ASSERT_EQ(0, t_reset(&p->f, &p->ep[0]));
	ASSERT_EQ(0, t_reset(&p->f, &p->ep[1]));
	ASSERT_EQ(0, t_pair_connect(p));
	ASSERT_EQ(0, post_recvs(p));
	ASSERT_EQ(0, t_disconnect(&p->f, &p->ep[0], 0));
	EXPECT_EQ(T_QUEUE, flushed_until(&p->evd[0], DAT_EV_DISCONNECTED));
}

TEST_F_TIMEOUT(dead, a_connection_with_an_srq_ends, 120)
{
	struct t_pair *p = &self->p;
	struct t_ep ep[2];
	struct t_srq srq;

	NEEDS_MEAN();
	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, t_srq(&p->f, p->pz, T_QUEUE, &srq));
	ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[0], srq.id, 10, &ep[0]));
	ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[1], 0, 11, &ep[1]));
	ASSERT_EQ(0, t_recv(&srq.rq, 0, (uintptr_t)p->mem.va, p->mem.lkey, 64));
	ASSERT_EQ(0, t_connect_eps(p, ep, p->evd));
	ASSERT_EQ(0, mean_set("dead", "1"));
	ASSERT_EQ(0, t_disconnect(&p->f, &ep[0], 0));
	EXPECT_EQ(0, flushed_until(&p->evd[0], DAT_EV_DISCONNECTED));
}

/* Return whether a process ends within T_WAIT_MS. */
static int ends(pid_t pid)
{
	uint64_t end = now_ms() + T_WAIT_MS;

	while (now_ms() < end) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return 1;
		usleep(50000);
	}
	return 0;
}

/* Call @fn in a child process.  Returns the child after @fn has returned 0, else -1. */
static pid_t child_after(int (*fn)(struct t_pair *p), struct t_pair *p)
{
	char failed = 1;
	int ready[2];
	pid_t pid;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid) {
		failed = (char)!!fn(p);
		write(ready[1], &failed, 1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &failed, 1) != 1)
		failed = 1;
	close(ready[0]);
	if (!failed || pid < 0)
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return -1;
}

TEST_F_TIMEOUT(dead, a_process_ends, 120)
{
	pid_t pid;

	NEEDS_MEAN();
	pid = child_after(die_with_entries, &self->p);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(1, ends(pid));
}

/* Connect an EP that has an SRQ, with a buffer in it, to one without. */
static int connect_with_srq(struct t_pair *p)
{
	struct t_ep ep[2];
	struct t_srq srq;

	return t_pair_open(p) || t_srq(&p->f, p->pz, T_QUEUE, &srq) ||
	       t_ep(&p->f, p->pz, &p->evd[0], srq.id, 10, &ep[0]) ||
	       t_ep(&p->f, p->pz, &p->evd[1], 0, 11, &ep[1]) ||
	       t_recv(&srq.rq, 0, (uintptr_t)p->mem.va, p->mem.lkey, 64) ||
	       t_connect_eps(p, ep, p->evd);
}

/* Raise an event for all objects of its kind.  Returns the number of these. */
static int raised(const char *event)
{
	return mean_set("hits", "0") || mean_set("raise", event) ? -1 : mean_hits();
}

/* ib_core and the driver find nothing freed that a queue pair uses, and nothing left over. */
TEST_F_TIMEOUT(dead, a_queue_pair_that_is_not_destroyed_stays_until_the_removal, 240)
{
	int klog = klog_open(), leaks = klog_open(), qps;
	pid_t pid;

	NEEDS_MEAN();
	qps = rdma_count_settled("qp");
	pid = child_after(connect_with_srq, &self->p);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, mean_set("destroy_fails", "1"));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(1, ends(pid));
	EXPECT_EQ(1, klog_await(klog, "cannot destroy a queue pair", T_WAIT_MS));
	EXPECT_EQ(qps + 2, rdma_count_settled("qp"));
	EXPECT_EQ(2, raised("qp_fatal"));
	EXPECT_EQ(2, raised("comm_est"));
	EXPECT_EQ(2, raised("last_wqe"));
	EXPECT_LE(2, raised("cq_err"));
	EXPECT_EQ(qps + 2, rdma_count_settled("qp"));
	klog_count(klog, "");
	ASSERT_EQ(0, mean_set("destroy_fails", "0"));
	ASSERT_EQ(0, adapter_plug("rxe", 0));
	/* The device that is added again has no objects of the one that was removed. */
	EXPECT_EQ(0, mean_get("objects"));
	EXPECT_EQ(0, klog_count(leaks, "RESTRACK"));
	EXPECT_EQ(0, klog_count(klog, "cannot destroy"));
	ASSERT_EQ(0, adapter_plug("rxe", 1));
	/* Nothing keeps the module any more. */
	EXPECT_EQ(0, mean_unload());
	close(leaks);
	close(klog);
}

TEST_F_TIMEOUT(dead, memory_whose_registration_does_not_end_is_pinned_until_the_removal, 120)
{
	struct t_file *f = &self->p.f;
	int klog = klog_open();
	struct t_lmr mem;
	long before;
	uint32_t pz;

	if (mean_missing())
		SKIP(return, mean_missing());
	/* Otherwise the driver pins the memory, and unpins it. */
	ASSERT_EQ(0, mean_load("driver=irdma user_mr=2"));
	ASSERT_EQ(0, t_open(f));
	ASSERT_EQ(0, t_pz(f, &pz));
	before = vm_pin_kb();
	ASSERT_EQ(0, t_lmr(f, pz, 8192, DAT_PRIV_LOCAL_WRITE, &mem));
	ASSERT_EQ(before + 8, vm_pin_kb());
	ASSERT_EQ(0, mean_set("dereg_fails", "1"));
	ASSERT_EQ(0, t_free(f, DAT_OBJ_LMR, mem.id));
	EXPECT_EQ(before + 8, vm_pin_kb());
	EXPECT_EQ(1, klog_count(klog, "cannot end a registration"));
	EXPECT_EQ(1, mean_hits());
	ASSERT_EQ(0, mean_set("dereg_fails", "0"));
	t_close(f);
	/* For the module, its unload is a removal of all devices. */
	EXPECT_EQ(0, mean_unload());
	EXPECT_EQ(before, vm_pin_kb());
	close(klog);
}

/* An IA with a connection to itself. */
struct node {
	struct t_file	f;
	uint32_t	pz;
	uint32_t	psp;
	struct t_evd	cr;
	struct t_evd	evd;
	struct t_ep	ep[2];
};

#define NODES	4

static int node_await(struct t_evd *evd, uint32_t type, struct dat_eqe *eqe)
{
	return t_event(evd, T_WAIT_MS, eqe) && eqe->type == type ? 0 : -EPROTO;
}

static int node_open(struct node *n, uint64_t qual)
{
	uint32_t streams = DAT_STREAM_DTO | DAT_STREAM_CONNECTION;
	struct dat_eqe eqe;

	return t_open(&n->f) || t_pz(&n->f, &n->pz) || t_evd(&n->f, DAT_STREAM_CR, 8, &n->cr) ||
	       t_evd(&n->f, streams, 64, &n->evd) ||
	       t_ep(&n->f, n->pz, &n->evd, 0, 1, &n->ep[0]) ||
	       t_ep(&n->f, n->pz, &n->evd, 0, 2, &n->ep[1]) ||
	       t_psp(&n->f, &n->cr, qual, &n->psp) ||
	       t_connect(&n->f, &n->ep[1], qual, NULL, 0) ||
	       node_await(&n->cr, DAT_EV_CR, &eqe) ||
	       t_accept(&n->f, (uint32_t)eqe.len, &n->ep[0], NULL, 0) ||
	       node_await(&n->evd, DAT_EV_ESTABLISHED, &eqe) ||
	       node_await(&n->evd, DAT_EV_ESTABLISHED, &eqe);
}

TEST_F_TIMEOUT(dead, a_removal_waits_once_for_all_adapters_that_are_open, 240)
{
	static struct node node[NODES];
	struct dat_eqe eqe;
	uint64_t began;
	int i;

	NEEDS_MEAN();
	for (i = 0; i < NODES; i++)
		ASSERT_EQ(0, node_open(&node[i], T_QUAL + i));
	ASSERT_EQ(0, mean_set("dead", "1"));
	began = now_ms();
	ASSERT_EQ(0, adapter_plug("rxe", 0));
	EXPECT_GT(NODES * DRAIN_MS, now_ms() - began);
	for (i = 0; i < NODES; i++) {
		EXPECT_EQ(0, node_await(&node[i].evd, DAT_EV_DISCONNECTED, &eqe));
		EXPECT_EQ(0, node_await(&node[i].evd, DAT_EV_DISCONNECTED, &eqe));
		t_close(&node[i].f);
	}
	ASSERT_EQ(0, adapter_plug("rxe", 1));
}

/* A thread that makes one call, which may wait for the device. */
struct call {
	pthread_t	thread;
	int		ret;
	volatile int	done;
};

static void *query(void *arg)
{
	struct dat_adapter adapter = { .size = sizeof(adapter) };
	struct call *c = arg;
	int fd = open("/dev/dat", O_RDWR | O_CLOEXEC);

	c->ret = t_ioctl(fd, DAT_IOC_ADAPTER, &adapter);
	close(fd);
	c->done = 1;
	return NULL;
}

static void *open_and_close(void *arg)
{
	struct call *c = arg;
	struct t_file f;

	c->ret = t_open(&f);
	t_close(&f);
	c->done = 1;
	return NULL;
}

static void *unplug(void *arg)
{
	struct call *c = arg;

	c->ret = adapter_plug("rxe", 0);
	c->done = 1;
	return NULL;
}

static int is_done(struct call *c)
{
	uint64_t end = now_ms() + T_WAIT_MS;

	while (!c->done && now_ms() < end)
		usleep(20000);
	return c->done;
}

/* Begin a query of the port, which hangs. */
static int hang_query(struct call *c)
{
	uint64_t end = now_ms() + T_WAIT_MS;

	if (mean_set("query_hangs", "1") || pthread_create(&c->thread, NULL, query, c))
		return -1;
	while (mean_get("query_hangs") != 2 && now_ms() < end)
		usleep(20000);
	return mean_get("query_hangs") == 2 ? 0 : -1;
}

/* The removal itself ends with the query, because the driver's code must stay until then. */
TEST_F_TIMEOUT(dead, a_query_that_hangs_holds_up_no_open_and_no_removal, 120)
{
	struct call hung = { 0 }, opener = { 0 }, remover = { 0 };
	struct t_file f;
	struct t_evd async;
	struct dat_eqe eqe;

	NEEDS_MEAN();
	ASSERT_EQ(0, t_open(&f));
	ASSERT_EQ(0, t_evd(&f, DAT_STREAM_ASYNC, 8, &async));
	EXPECT_EQ(0, hang_query(&hung));
	EXPECT_EQ(0, pthread_create(&opener.thread, NULL, open_and_close, &opener));
	EXPECT_EQ(1, is_done(&opener));
	EXPECT_EQ(0, pthread_create(&remover.thread, NULL, unplug, &remover));
	EXPECT_EQ(1, t_event(&async, T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_ASYNC_CATASTROPHIC, eqe.type);
	EXPECT_EQ(0, hung.done);
	EXPECT_EQ(0, mean_set("query_hangs", "0"));
	pthread_join(hung.thread, NULL);
	pthread_join(opener.thread, NULL);
	pthread_join(remover.thread, NULL);
	EXPECT_EQ(0, hung.ret);
	EXPECT_EQ(0, opener.ret);
	EXPECT_EQ(0, remover.ret);
	t_close(&f);
	ASSERT_EQ(0, adapter_plug("rxe", 1));
}

/*
 * Calls @fn in a child, which then ends, while a process of its own keeps its files open until
 * @stay is closed.  Returns 0 after @fn has returned 0 and the child has ended.
 */
static int leave_file(int (*fn)(void), const int stay[2])
{
	int status;
	pid_t pid = fork();
	char c;

	if (!pid) {
		if (fn())
			_exit(1);
		if (!fork()) {
			close(stay[1]);
			read(stay[0], &c, 1);
			_exit(0);
		}
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && !status ? 0 : -1;
}

static int open_with_memory(void)
{
	struct t_file f;
	struct t_lmr mem;
	uint32_t pz;

	return t_open(&f) || t_pz(&f, &pz) || t_lmr(&f, pz, 4096, DAT_PRIV_LOCAL_WRITE, &mem);
}

static int open_connected(void)
{
	struct dat_eqe eqe;
	struct t_evd evd;
	struct t_file f;
	struct t_ep ep;
	uint32_t pz;

	return t_open(&f) || t_pz(&f, &pz) ||
	       t_evd(&f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, 8, &evd) ||
	       t_ep(&f, pz, &evd, 0, 1, &ep) || t_connect(&f, &ep, T_QUAL, NULL, 0) ||
	       !t_event(&evd, T_WAIT_MS, &eqe) || eqe.type != DAT_EV_ESTABLISHED;
}

static void *accept_one(void *arg)
{
	struct t_pair *p = arg;
	struct dat_eqe eqe;

	if (t_event(&p->cr, T_WAIT_MS, &eqe))
		t_accept(&p->f, eqe.len, &p->ep[0], NULL, 0);
	return NULL;
}

#define HANGING	12	/* more files than end at the same time */

/* The first step of an end is what keeps peers from writing to the memory of a process. */
TEST_F_TIMEOUT(dead, connections_of_a_process_end_while_ends_of_others_hang, 120)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe = { 0 };
	pthread_t acceptor;
	int stay[2], i;

	NEEDS_MEAN();
	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, pipe(stay));
	ASSERT_EQ(0, mean_set("dereg_hangs", "1"));
	for (i = 0; i < HANGING; i++)
		EXPECT_EQ(0, leave_file(open_with_memory, stay));
	EXPECT_EQ(0, pthread_create(&acceptor, NULL, accept_one, p));
	EXPECT_EQ(0, leave_file(open_connected, stay));
	pthread_join(acceptor, NULL);
	EXPECT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_ESTABLISHED, eqe.type);
	EXPECT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
	EXPECT_NE(DAT_EV_ESTABLISHED, eqe.type);
	EXPECT_EQ(0, mean_set("dereg_hangs", "0"));
	close(stay[1]);
}

/* Nothing would be flushed in another state, so the teardown does not wait. */
TEST_F_TIMEOUT(dead, a_queue_pair_that_cannot_be_moved_to_error_ends_at_once, 120)
{
	struct t_pair *p = &self->p;
	uint64_t began;

	NEEDS_MEAN();
	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, t_pair_connect(p));
	ASSERT_EQ(0, post_recvs(p));
	ASSERT_EQ(0, mean_set("modify_fails", TO_ERROR));
	began = now_ms();
	ASSERT_EQ(0, t_disconnect(&p->f, &p->ep[0], 0));
	EXPECT_EQ(T_QUEUE, flushed_until(&p->evd[0], DAT_EV_DISCONNECTED));
	EXPECT_GT(DRAIN_MS, now_ms() - began);
}

/*
 * A queue pair that is neither in error nor destroyed goes on receiving, and its peer may send
 * faster than the driver takes the completions.
 */
TEST_F_TIMEOUT(dead, a_cq_that_never_runs_empty_does_not_keep_the_teardown, 120)
{
	struct t_pair *p = &self->p;

	NEEDS_MEAN();
	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, t_pair_connect(p));
	ASSERT_EQ(0, post_recvs(p));
	ASSERT_EQ(0, mean_set("hits", "0") || mean_set("endless", "1"));
	ASSERT_EQ(0, t_disconnect(&p->f, &p->ep[0], 0));
	EXPECT_EQ(T_QUEUE, flushed_until(&p->evd[0], DAT_EV_DISCONNECTED));
	EXPECT_LT(0, mean_hits());
}

/* Receives that are posted, each of which the peer uses. */
#define MANY	4096

/*
 * The peer, which does not use DAT, goes on sending after the connection has ended.  The queue pair
 * takes all messages, but each receive was reported at the end at the latest.
 */
TEST_F_TIMEOUT(dead, a_queue_pair_that_is_not_destroyed_reports_no_receive_twice, 240)
{
	const struct v_request req = { .opcode = IBV_WR_SEND, .len = 8, .times = MANY };
	struct t_pair *p = &self->p;
	struct target unused = { 0 };
	int go[2], status;
	struct dat_eqe eqe;
	struct t_evd evd;
	unsigned int n;
	struct t_ep ep;
	pid_t pid;

	NEEDS_MEAN();
	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, t_evd(&p->f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, 3 * MANY, &evd));
	ASSERT_EQ(0, t_long_ep(&p->f, p->pz, &evd, 0, 7, MANY, &ep));
	for (n = 0; n < MANY; n++)
		ASSERT_EQ(0, t_recv(&ep.rq, n, (uintptr_t)p->mem.va, p->mem.lkey, 64));
	pid = fork();
	if (!pid)
		_exit(v_peer_at("10.9.0.1", T_QUAL, &req, go[0]));
	ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
	ASSERT_EQ(0, t_accept(&p->f, eqe.len, &ep, &unused, sizeof(unused)));
	ASSERT_EQ(0, node_await(&evd, DAT_EV_ESTABLISHED, &eqe));
	ASSERT_EQ(0, mean_set("modify_fails", TO_ERROR) || mean_set("destroy_fails", "1"));
	ASSERT_EQ(1, write(go[1], "g", 1));
	ASSERT_EQ(0, t_disconnect(&p->f, &ep, 0));
	n = 0;
	while (t_event(&evd, T_WAIT_MS, &eqe) && eqe.type == DAT_EV_DTO && eqe.cookie == n)
		n++;
	EXPECT_EQ(MANY, n);
	EXPECT_EQ(DAT_EV_DISCONNECTED, eqe.type);
	/* All messages have arrived. */
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, t_event(&evd, T_QUIET_MS, &eqe));
	t_close(&p->f);
	ASSERT_EQ(0, mean_set("modify_fails", "-1") || mean_set("destroy_fails", "0"));
	ASSERT_EQ(0, adapter_plug("rxe", 0));
	ASSERT_EQ(0, adapter_plug("rxe", 1));
}

/* Send a message from ep[1] to ep[0], and take both events.  Returns 0 if both succeed. */
static int message(struct t_pair *p, struct t_ep ep[2], struct t_evd evd[2])
{
	uint64_t addr = (uintptr_t)p->mem.va;
	struct dat_eqe eqe;
	int k, ret;

	ret = t_recv(&ep[0].rq, 1, addr, p->mem.lkey, 64) ||
	      t_send(&ep[1], 2, addr, p->mem.lkey, 64);
	for (k = 0; k < 2 && !ret; k++)
		ret = !t_event(&evd[k], T_WAIT_MS, &eqe) || eqe.type != DAT_EV_DTO || eqe.status;
	return ret;
}

/* Connect two pairs of EPs.  The EPs of each end share an EVD.  Returns 0 or an errno. */
static int two_connections(struct t_pair *p, struct t_ep ep[2][2], struct t_evd evd[2])
{
	int i, k, ret = 0;

	for (k = 0; k < 2 && !ret; k++)
		ret = t_evd(&p->f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, 1024, &evd[k]);
	for (i = 0; i < 2 && !ret; i++) {
		for (k = 0; k < 2 && !ret; k++)
			ret = t_ep(&p->f, p->pz, &evd[k], 0, 10 * i + k, &ep[i][k]);
		if (!ret)
			ret = t_connect_eps(p, ep[i], evd);
	}
	return ret;
}

/* The device may go on completing in the CQ, which the queue pair shares with others. */
TEST_F_TIMEOUT(dead, a_queue_pair_that_is_not_destroyed_leaves_those_of_its_cq_alone, 240)
{
	struct t_pair *p = &self->p;
	int klog = klog_open(), i, k;
	struct t_ep ep[2][2];
	struct t_evd evd[2];

	NEEDS_MEAN();
	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, two_connections(p, ep, evd));
	ASSERT_EQ(0, mean_set("destroy_fails", "1"));
	ASSERT_EQ(0, t_disconnect(&p->f, &ep[0][0], 0));
	for (k = 0; k < 2; k++)
		EXPECT_EQ(0, flushed_until(&evd[k], DAT_EV_DISCONNECTED));
	EXPECT_EQ(1, klog_await(klog, "cannot destroy a queue pair", T_WAIT_MS));
	ASSERT_EQ(0, mean_set("destroy_fails", "0"));
	for (i = 0; i < 4 * T_QUEUE; i++)
		ASSERT_EQ(0, message(p, ep[1], evd));
	for (k = 0; k < 2; k++)
		ASSERT_EQ(0, t_reset(&p->f, &ep[0][k]));
	ASSERT_EQ(0, t_connect_eps(p, ep[0], evd));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, message(p, ep[i], evd));
	t_close(&p->f);
	ASSERT_EQ(0, adapter_plug("rxe", 0));
	ASSERT_EQ(0, adapter_plug("rxe", 1));
	close(klog);
}

TEST_F_TIMEOUT(dead, an_error_of_a_cq_flushes_what_its_connection_has, 120)
{
	struct t_pair *p = &self->p;

	NEEDS_MEAN();
	ASSERT_EQ(0, die_with_entries(p));
	ASSERT_EQ(0, mean_set("raise", "cq_err"));
	EXPECT_EQ(T_QUEUE, flushed_until(&p->evd[0], DAT_EV_BROKEN));
	EXPECT_EQ(T_QUEUE, flushed_until(&p->evd[1], DAT_EV_BROKEN));
}

/* All works on, so that only the event tells of the error. */
TEST_F_TIMEOUT(dead, an_error_of_a_queue_pair_breaks_its_connection, 120)
{
	struct t_pair *p = &self->p;

	NEEDS_MEAN();
	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, t_pair_connect(p));
	ASSERT_EQ(0, post_recvs(p));
	ASSERT_LE(2, raised("qp_fatal"));
	EXPECT_EQ(T_QUEUE, flushed_until(&p->evd[0], DAT_EV_BROKEN));
	EXPECT_EQ(0, flushed_until(&p->evd[1], DAT_EV_BROKEN));
}

/* Post a send that shows only if it fails. */
static int send_suppressed(struct t_ep *ep, uint64_t cookie)
{
	struct dat_sqe *sqe = t_sqe(&ep->sq);

	sqe->opcode = DAT_OP_SEND;
	sqe->flags = DAT_SQE_SUPPRESS;
	sqe->cookie = cookie;
	return t_push(&ep->sq);
}

/* Wait until the only QPs and CQs are the two of each EP: a CQ ends a second after its EVD. */
static int only_a_pair(void)
{
	uint64_t end = now_ms() + T_WAIT_MS;

	while (mean_get("objects") != 4 && now_ms() < end)
		usleep(50000);
	return mean_get("objects") == 4;
}

/*
 * The peer has no receives, so the device flushes all sends, and then the marker of the drain.  The
 * CQ has lost the completions of the sends, which must not count as successful.
 */
TEST_F_TIMEOUT(dead, a_request_whose_completion_a_cq_has_lost_is_no_success, 120)
{
	struct t_pair *p = &self->p;
	int i;

	NEEDS_MEAN();
	ASSERT_EQ(0, t_pair_open(p) || t_pair_connect(p));
	ASSERT_EQ(0, mean_set("lose", "1"));
	for (i = 0; i < T_QUEUE; i++)
		ASSERT_EQ(0, send_suppressed(&p->ep[1], i));
	ASSERT_EQ(0, t_kick(&p->f));
	ASSERT_EQ(0, mean_set("lose", "0"));
	ASSERT_EQ(1, only_a_pair());
	ASSERT_LE(2, raised("cq_err"));
	/* The CQ of the peer fails, too: the peer may disconnect first. */
	EXPECT_EQ(T_QUEUE, flushed_until_either(&p->evd[1], DAT_EV_BROKEN, DAT_EV_DISCONNECTED));
	/* The errors of two CQs, and the completions. */
	EXPECT_EQ(2 + T_QUEUE, mean_hits());
}

/* A request that is refused waits for those before it, while the peer ends the connection. */
TEST_F_TIMEOUT(dead, a_refused_request_breaks_a_connection_that_its_peer_has_ended, 120)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe = { 0 };
	int i;

	NEEDS_MEAN();
	ASSERT_EQ(0, t_pair_open(p) || t_pair_connect(p));
	ASSERT_EQ(0, mean_set("dead", "1"));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, t_send(&p->ep[1], i, (uintptr_t)p->mem.va, i < 4 ? p->mem.lkey : 0,
				    64));
	ASSERT_EQ(0, t_kick(&p->f));
	ASSERT_EQ(0, t_disconnect(&p->f, &p->ep[0], 0));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe)) TH_LOG("event %d", i);
		EXPECT_EQ(DAT_EV_DTO, eqe.type);
		EXPECT_EQ((uint64_t)i, eqe.cookie);
		EXPECT_EQ(i < 4, eqe.status == DAT_ST_FLUSHED);
		EXPECT_NE(DAT_ST_SUCCESS, eqe.status);
	}
	ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_BROKEN, eqe.type);
}

/*
 * Returns how many of two connections the next events of an EVD report as broken, or -1 if they do
 * not report two ends.  An end whose peer disconnects first is not broken.
 */
static int broken_of_two(struct t_evd *evd)
{
	struct dat_eqe eqe;
	int i, broken = 0;

	for (i = 0; i < 2; i++) {
		if (!t_event(evd, T_WAIT_MS, &eqe) ||
		    (eqe.type != DAT_EV_BROKEN && eqe.type != DAT_EV_DISCONNECTED))
			return -1;
		broken += eqe.type == DAT_EV_BROKEN;
	}
	return broken;
}

/* Connections of an EVD share a CQ.  The ones that are made later get another. */
TEST_F_TIMEOUT(dead, an_error_of_a_cq_breaks_all_its_connections_and_no_later_one, 120)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	struct t_evd evd[2];
	struct t_ep ep[2][2];
	int k, broken[2];

	NEEDS_MEAN();
	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, two_connections(p, ep, evd));
	ASSERT_EQ(0, mean_set("raise", "cq_err"));
	for (k = 0; k < 2; k++) {
		broken[k] = broken_of_two(&evd[k]);
		ASSERT_LE(0, broken[k]);
	}
	EXPECT_LE(2, broken[0] + broken[1]);
	/* The old CQs may still be there, with ep[1]. */
	for (k = 0; k < 2; k++)
		ASSERT_EQ(0, t_reset(&p->f, &ep[0][k]));
	ASSERT_EQ(0, t_connect_eps(p, ep[0], evd));
	ASSERT_EQ(0, t_recv(&ep[0][0].rq, 1, (uintptr_t)p->mem.va, p->mem.lkey, 64));
	ASSERT_EQ(0, t_send(&ep[0][1], 2, (uintptr_t)p->mem.va, p->mem.lkey, 64));
	for (k = 0; k < 2; k++) {
		ASSERT_EQ(1, t_event(&evd[k], T_WAIT_MS, &eqe));
		EXPECT_EQ(DAT_EV_DTO, eqe.type);
		EXPECT_EQ(0, eqe.status);
	}
}

TEST_F_TIMEOUT(dead, errors_of_port_and_device_are_async_events, 120)
{
	struct t_pair *p = &self->p;
	struct t_evd async;
	struct dat_eqe eqe;

	NEEDS_MEAN();
	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, t_evd(&p->f, DAT_STREAM_ASYNC, 8, &async));
	/* The end of a port's error is no event of DAT. */
	ASSERT_EQ(0, mean_set("raise", "port_active"));
	ASSERT_EQ(0, mean_set("raise", "port_err"));
	ASSERT_EQ(1, t_event(&async, T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_ASYNC_INTERNAL, eqe.type);
	EXPECT_EQ(DAT_IA_REASON_OTHER, eqe.status);
	EXPECT_EQ(DAT_OBJ_IA, eqe.cookie);
	ASSERT_EQ(0, mean_set("raise", "device_fatal"));
	ASSERT_EQ(1, t_event(&async, T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_ASYNC_CATASTROPHIC, eqe.type);
	EXPECT_EQ(DAT_IA_REASON_CATASTROPHIC, eqe.status);
	EXPECT_EQ(DAT_OBJ_IA, eqe.cookie);
}

TEST_HARNESS_MAIN
