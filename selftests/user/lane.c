// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Threads that carry out the requests of lo0.  A process carries out what it posts, and a peer that
 * is stopped delays its own connection only.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "proc.h"
#include "tracefs.h"

#define LONG		(4 << 20)	/* many more bytes than a kick carries out for others */
#define WRITES		8
#define ROUNDS		200
#define BUFFERS		16
#define MSG		64
#define STREAMS		(DAT_STREAM_DTO | DAT_STREAM_CONNECTION)
#define CG		"/tmp/dat-rdmacg"
#define CG_ONE		CG "/dat-test"

FIXTURE(lane) {
	struct t_pair p;
	pid_t peer;
};

/* A test begins with this, since a fixture cannot skip its tests. */
#define NEED_LO()							\
	do {								\
		if (t_is_device(&self->p.f))				\
			SKIP(return, "an RDMA device has no lanes");	\
	} while (0)

FIXTURE_SETUP(lane)
{
	self->peer = 0;
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, t_pair_connect(&self->p));
}

FIXTURE_TEARDOWN(lane)
{
	if (self->peer > 0) {
		kill(self->peer, SIGKILL);
		waitpid(self->peer, NULL, 0);
	}
	t_pair_close(&self->p);
}

/* Send a message from ep[1] to ep[0] of a pair.  Returns 0 if both ends report it. */
static int message(struct t_pair *p)
{
	uint64_t at = (uintptr_t)p->mem.va;
	int ret = t_recv(&p->ep[0].rq, 1, at, p->mem.lkey, MSG);

	ret = ret ? ret : t_send(&p->ep[1], 1, at + MSG, p->mem.lkey, MSG);
	ret = ret ? ret : t_status(&p->evd[1]);
	return ret ? ret : t_status(&p->evd[0]);
}

/* A process must not start work that a thread of the kernel does for it. */
TEST_F_TIMEOUT(lane, a_kick_copies_itself_what_it_has_posted, 120)
{
	struct t_pair *p = &self->p;
	struct t_lmr lmr;
	char log[4096];
	int i;

	NEED_LO();
	ASSERT_EQ(0, t_lmr(&p->f, p->pz, 2 * LONG, T_PRIV_ALL, &lmr));
	if (trace_start())
		SKIP(return, "no tracefs");
	ASSERT_EQ(0, trace_on("workqueue/workqueue_queue_work", "workqueue == \"dat-lo\""));
	for (i = 0; i < WRITES; i++)
		ASSERT_EQ(0, t_rdma(&p->ep[1], DAT_OP_RDMA_WRITE, i, (uintptr_t)lmr.va, lmr.lkey,
				    LONG, (uintptr_t)lmr.va + LONG, lmr.rkey));
	for (i = 0; i < WRITES; i++)
		ASSERT_EQ(DAT_ST_SUCCESS, t_status(&p->evd[1]));
	EXPECT_EQ(0, trace_read(log, sizeof(log), "workqueue_queue_work")) TH_LOG("%s", log);
	trace_end();
}

/* Returns how often the CPUs have run tasklets, or -1. */
static long tasklets(void)
{
	char line[4096], *at, *end;
	FILE *f = fopen("/proc/softirqs", "r");
	long sum = -1, n;

	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, "TASKLET:");
		if (!at)
			continue;
		at += strlen("TASKLET:");
		for (sum = 0; n = strtol(at, &end, 10), end != at; at = end)
			sum += n;
	}
	if (f)
		fclose(f);
	return sum;
}

/* Connect ep[1] to a new endpoint of the pair's process, whose receives are in @srq. */
static int connect_to_srq(struct t_pair *p, struct t_srq *srq, struct t_ep *in, struct t_ep *out)
{
	struct t_ep eps[2];
	int ret;

	ret = t_srq(&p->f, p->pz, BUFFERS, srq);
	ret = ret ? ret : t_ep(&p->f, p->pz, &p->evd[0], srq->id, 3, &eps[0]);
	ret = ret ? ret : t_ep(&p->f, p->pz, &p->evd[1], 0, 4, &eps[1]);
	ret = ret ? ret : t_connect_eps(p, eps, p->evd);
	*in = eps[0];
	*out = eps[1];
	return ret;
}

/*
 * A softirq copies for kernel modules only.  The post of a buffer lets a message go on whose sender
 * does nothing at that time.
 */
TEST_F_TIMEOUT(lane, a_softirq_copies_for_no_process, 120)
{
	struct t_pair *p = &self->p;
	uint64_t at = (uintptr_t)p->mem.va;
	struct t_ep in, out;
	struct t_srq srq;
	long before;
	int i;

	NEED_LO();
	ASSERT_EQ(0, connect_to_srq(p, &srq, &in, &out));
	before = tasklets();
	ASSERT_LE(0, before);
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, t_send(&out, i, at, p->mem.lkey, MSG));
		ASSERT_EQ(0, t_recv(&srq.rq, i, at + MSG, p->mem.lkey, MSG));
		ASSERT_EQ(DAT_ST_SUCCESS, t_status(&p->evd[1]));
		ASSERT_EQ(DAT_ST_SUCCESS, t_status(&p->evd[0]));
	}
	/* Drivers of the machine have a few. */
	EXPECT_GT(ROUNDS / 2, tasklets() - before);
}

TEST_F(lane, kernel_threads_take_at_most_a_quarter_of_the_cpus)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF), most = cpus / 4 ?: 1, limit = 0;
	FILE *f;

	NEED_LO();
	f = fopen("/sys/bus/workqueue/devices/dat-lo/max_active", "r");
	ASSERT_NE(NULL, f);
	EXPECT_EQ(1, fscanf(f, "%ld", &limit));
	fclose(f);
	EXPECT_GE(most, limit);
	EXPECT_LE(1, limit);
}

static bool asks_for_kicks(const struct t_queue *q)
{
	return q->status->flags & DAT_QUEUE_NEED_KICK;
}

/* A message takes a receive from the ring, so only a message that has found none needs a kick. */
TEST_F_TIMEOUT(lane, a_receive_needs_a_kick_only_if_a_message_waits, 60)
{
	struct t_pair *p = &self->p;
	uint64_t at = (uintptr_t)p->mem.va;
	struct t_queue *rq = &p->ep[0].rq;
	int i;

	NEED_LO();
	/* The first receive needs a kick, because the ring was empty when the connection stood. */
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, message(p)) TH_LOG("message %d", i);
		EXPECT_FALSE(asks_for_kicks(rq));
	}
	ASSERT_EQ(0, t_send(&p->ep[1], 1, at, p->mem.lkey, MSG));
	EXPECT_TRUE(asks_for_kicks(rq));
	ASSERT_EQ(0, t_recv(rq, 1, at, p->mem.lkey, MSG));
	EXPECT_FALSE(asks_for_kicks(rq));
	EXPECT_EQ(DAT_ST_SUCCESS, t_status(&p->evd[0]));
	EXPECT_EQ(DAT_ST_SUCCESS, t_status(&p->evd[1]));
}

/* An SRQ asks for kicks as on a device, so it needs none while enough buffers are left. */
TEST_F_TIMEOUT(lane, buffers_of_an_srq_need_no_kicks_unless_it_runs_low, 60)
{
	static const int counts[] = { 2, BUFFERS };
	struct t_pair *p = &self->p;
	uint64_t at = (uintptr_t)p->mem.va;
	struct t_ep in, out;
	struct t_srq srq;
	int i, n;

	NEED_LO();
	for (n = 0; n < 2; n++) {
		ASSERT_EQ(0, connect_to_srq(p, &srq, &in, &out));
		for (i = 0; i < counts[n]; i++)
			ASSERT_EQ(0, t_recv(&srq.rq, i, at, p->mem.lkey, MSG));
		for (i = 0; i < BUFFERS; i++) {
			ASSERT_EQ(0, t_send(&out, i, at + MSG, p->mem.lkey, MSG));
			ASSERT_EQ(DAT_ST_SUCCESS, t_status(&p->evd[1]));
			ASSERT_EQ(DAT_ST_SUCCESS, t_status(&p->evd[0]));
			EXPECT_FALSE(asks_for_kicks(&srq.rq)) TH_LOG("%d buffers", counts[n]);
			ASSERT_EQ(0, t_recv(&srq.rq, i, at, p->mem.lkey, MSG));
		}
	}
}

TEST_F_TIMEOUT(lane, an_invalid_receive_ends_the_connection_when_a_message_needs_it, 60)
{
	struct t_pair *p = &self->p;
	uint64_t at = (uintptr_t)p->mem.va;
	unsigned int count[16];
	struct dat_eqe eqe;

	NEED_LO();
	ASSERT_EQ(0, message(p));
	ASSERT_EQ(0, t_recv(&p->ep[0].rq, 1, at, ~p->mem.lkey, MSG));
	EXPECT_FALSE(t_event(&p->evd[0], T_QUIET_MS, &eqe));
	ASSERT_EQ(0, t_send(&p->ep[1], 1, at, p->mem.lkey, MSG));
	EXPECT_EQ(DAT_EV_BROKEN, t_end(&p->evd[0], count));
	EXPECT_EQ(1, count[DAT_ST_LOCAL_PROTECTION]);
	EXPECT_EQ(DAT_EV_DISCONNECTED, t_end(&p->evd[1], count));
}

/* Prepare a send, which the next t_push() publishes, too. */
static void prepare_send(struct t_ep *ep, uint64_t at, uint32_t lkey)
{
	struct dat_sqe *sqe = t_sqe(&ep->sq);

	sqe->opcode = DAT_OP_SEND;
	sqe->num_sge = 1;
	*(struct dat_sge *)(sqe + 1) = (struct dat_sge) { at, lkey, MSG };
	ep->sq.tail++;
}

/*
 * A process posts more receives than its queue holds.  A thread that carries out messages of the
 * peer finds all receives in use, and more in the ring: it must not wait for room.
 */
TEST_F_TIMEOUT(lane, a_ring_that_is_too_full_holds_no_thread_of_the_peer, 60)
{
	enum { FEW = 4, TOO_MANY = 2 };
	struct t_pair *p = &self->p;
	uint64_t at = (uintptr_t)p->mem.va;
	struct t_ep eps[2];
	struct t_queue *rq = &eps[0].rq;
	int i;

	NEED_LO();
	ASSERT_EQ(0, t_long_ep(&p->f, p->pz, &p->evd[0], 0, 3, FEW, &eps[0]));
	ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[1], 0, 4, &eps[1]));
	ASSERT_EQ(0, t_connect_eps(p, eps, p->evd));
	for (i = 0; i < FEW; i++)
		ASSERT_EQ(0, t_recv(rq, i, at, p->mem.lkey, MSG));
	/* A kick takes all of them from the ring. */
	ASSERT_EQ(0, t_kick(&p->f));
	__atomic_store_n(rq->shared_tail, rq->tail + TOO_MANY, __ATOMIC_RELEASE);
	for (i = 0; i < FEW; i++)
		prepare_send(&eps[1], at, p->mem.lkey);
	ASSERT_EQ(0, t_send(&eps[1], i, at, p->mem.lkey, MSG));
	for (i = 0; i <= FEW; i++)
		EXPECT_EQ(DAT_ST_SUCCESS, t_status(&p->evd[1]));
}

/* A message without a receive holds up no other connection, not even of the same EVDs. */
TEST_F_TIMEOUT(lane, a_message_that_waits_holds_up_its_own_connection, 60)
{
	struct t_pair *p = &self->p;
	uint64_t at = (uintptr_t)p->mem.va;
	struct t_ep in, out;
	struct t_srq srq;
	int i;

	NEED_LO();
	ASSERT_EQ(0, connect_to_srq(p, &srq, &in, &out));
	ASSERT_EQ(0, t_send(&out, 1, at, p->mem.lkey, MSG));
	for (i = 0; i < ROUNDS; i++)
		ASSERT_EQ(0, message(p)) TH_LOG("message %d", i);
}

/* The kick of a receive copies some slices of a message of the peer, and leaves the others. */
TEST_F_TIMEOUT(lane, a_long_message_that_has_waited_arrives, 60)
{
	struct t_pair *p = &self->p;
	struct t_lmr lmr;
	uint64_t at;

	NEED_LO();
	ASSERT_EQ(0, t_lmr(&p->f, p->pz, 2 * LONG, T_PRIV_ALL, &lmr));
	at = (uintptr_t)lmr.va;
	memset(lmr.va, 7, LONG);
	ASSERT_EQ(0, t_send(&p->ep[1], 1, at, lmr.lkey, LONG));
	ASSERT_TRUE(asks_for_kicks(&p->ep[0].rq));
	ASSERT_EQ(0, t_recv(&p->ep[0].rq, 1, at + LONG, lmr.lkey, LONG));
	EXPECT_EQ(DAT_ST_SUCCESS, t_status(&p->evd[0]));
	EXPECT_EQ(DAT_ST_SUCCESS, t_status(&p->evd[1]));
	EXPECT_EQ(0, memcmp(lmr.va, lmr.va + LONG, LONG));
}

/* The sender frees the memory of a message that waits for a buffer of an SRQ, and then gets one. */
TEST_F_TIMEOUT(lane, a_message_that_fails_gives_its_buffer_back, 60)
{
	struct t_pair *p = &self->p;
	uint64_t at = (uintptr_t)p->mem.va;
	unsigned int count[16];
	struct t_ep in, out, other[2];
	struct dat_eqe eqe = { 0 };
	struct t_lmr gone;
	struct t_srq srq;

	NEED_LO();
	ASSERT_EQ(0, connect_to_srq(p, &srq, &in, &out));
	ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[0], srq.id, 5, &other[0]));
	ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[1], 0, 6, &other[1]));
	ASSERT_EQ(0, t_connect_eps(p, other, p->evd));
	ASSERT_EQ(0, t_lmr(&p->f, p->pz, 4096, T_PRIV_ALL, &gone));
	ASSERT_EQ(0, t_send(&out, 1, (uintptr_t)gone.va, gone.lkey, MSG));
	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_LMR, gone.id));
	ASSERT_EQ(0, t_recv(&srq.rq, 7, at, p->mem.lkey, MSG));
	EXPECT_EQ(DAT_EV_BROKEN, t_end(&p->evd[1], count));
	EXPECT_EQ(1, count[DAT_ST_LOCAL_PROTECTION]);
	EXPECT_EQ(DAT_EV_DISCONNECTED, t_end(&p->evd[0], count));
	ASSERT_EQ(0, t_send(&other[1], 2, at + MSG, p->mem.lkey, MSG));
	ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_DTO, eqe.type);
	EXPECT_EQ(DAT_ST_SUCCESS, eqe.status);
	EXPECT_EQ(7, eqe.cookie);
}

/* --- a peer that is stopped ------------------------------------------------------ */

/* The peer: connect, send a message that waits for a buffer, and stop. */
static int stop_with_a_message(void)
{
	struct dat_eqe eqe;
	struct t_lmr lmr;
	struct t_evd evd;
	struct t_file f;
	struct t_ep ep;
	uint32_t pz;
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ret = t_open(&f);
	ret = ret ? ret : t_pz(&f, &pz);
	ret = ret ? ret : t_lmr(&f, pz, LONG, T_PRIV_ALL, &lmr);
	ret = ret ? ret : t_evd(&f, STREAMS, 64, &evd);
	ret = ret ? ret : t_ep(&f, pz, &evd, 0, 1, &ep);
	ret = ret ? ret : t_connect(&f, &ep, T_QUAL, NULL, 0);
	if (ret)
		return -ret;
	if (!t_event(&evd, T_WAIT_MS, &eqe) || eqe.type != DAT_EV_ESTABLISHED)
		return ETIMEDOUT;
	ret = t_send(&ep, 1, (uintptr_t)lmr.va, lmr.lkey, LONG / 2);
	ret = ret ? ret : t_send(&ep, 2, (uintptr_t)lmr.va, lmr.lkey, MSG);
	raise(SIGSTOP);
	return ret ? -ret : t_status(&evd);
}

/* Fork the peer, accept it with @in, and wait until it has stopped. */
static int start_peer(FIXTURE_DATA(lane) *self, struct t_ep *in)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	int ret, status;

	self->peer = fork();
	if (!self->peer)
		_exit(stop_with_a_message());
	if (!t_event(&p->cr, T_WAIT_MS, &eqe))
		return -ETIMEDOUT;
	ret = t_accept(&p->f, eqe.len, in, NULL, 0);
	if (ret || !t_event(&p->evd[0], T_WAIT_MS, &eqe))
		return ret ? ret : -ETIMEDOUT;
	if (waitpid(self->peer, &status, WUNTRACED) != self->peer || !WIFSTOPPED(status))
		return -ECHILD;
	return eqe.type == DAT_EV_ESTABLISHED ? 0 : -ECONNREFUSED;
}

/*
 * A peer stops after it has posted two messages, which wait for buffers of an SRQ.  Buffers that
 * these messages get are not lost to the other connections of the SRQ, and the connection ends as
 * if the peer went on.
 */
TEST_F_TIMEOUT(lane, a_stopped_peer_holds_up_its_own_connection, 120)
{
	struct t_pair *p = &self->p;
	struct t_ep in, out, stopped;
	struct t_srq srq;
	struct t_lmr lmr;
	uint64_t at;
	int i;

	NEED_LO();
	ASSERT_EQ(0, t_lmr(&p->f, p->pz, LONG, T_PRIV_ALL, &lmr));
	at = (uintptr_t)lmr.va;
	ASSERT_EQ(0, connect_to_srq(p, &srq, &in, &out));
	ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[0], srq.id, 5, &stopped));
	ASSERT_EQ(0, start_peer(self, &stopped));
	/* Connections that share nothing but the EVDs. */
	for (i = 0; i < ROUNDS; i++)
		ASSERT_EQ(0, message(p)) TH_LOG("message %d", i);
	/* The first two buffers are for the peer, and the third is for the other connection. */
	ASSERT_EQ(0, t_send(&out, 1, (uintptr_t)p->mem.va, p->mem.lkey, MSG));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, t_recv(&srq.rq, i, at, lmr.lkey, LONG));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(DAT_ST_SUCCESS, t_status(&p->evd[0])) TH_LOG("receive %d", i);
	ASSERT_EQ(DAT_ST_SUCCESS, t_status(&p->evd[1]));
	EXPECT_EQ(0, t_free(&p->f, DAT_OBJ_EP, stopped.id));
	EXPECT_EQ(0, t_free(&p->f, DAT_OBJ_LMR, lmr.id));
	ASSERT_EQ(0, message(p));
}

/* --- cgroups --------------------------------------------------------------------- */

/* In the cgroup, open lo0 twice.  Returns the errno of the second time, or a number above 99. */
static int open_twice(void)
{
	struct t_file a, b;
	int ret;

	if (write_text(CG_ONE "/cgroup.procs", "0"))
		return 100;
	if (t_open(&a))
		return 101;
	ret = t_open(&b);
	t_close(&a);
	if (ret && t_open(&a))
		return 102;
	return -ret;
}

static int rdmacg_make(void)
{
	mkdir(CG, 0755);
	if (mount("none", CG, "cgroup2", 0, NULL) ||
	    write_text(CG "/cgroup.subtree_control", "+rdma"))
		return -ENODEV;
	return mkdir(CG_ONE, 0755) && errno != EEXIST ? -errno : 0;
}

TEST_F(lane, the_rdma_cgroup_limits_lo0)
{
	int status = 0, ret;
	pid_t pid;

	NEED_LO();
	ret = rdmacg_make();
	if (!ret) {
		EXPECT_EQ(0, write_text(CG_ONE "/rdma.max", "lo0 hca_handle=1"));
		pid = fork();
		if (!pid)
			_exit(open_twice());
		waitpid(pid, &status, 0);
		EXPECT_EQ(ENOMEM, WEXITSTATUS(status));
		/* Linux 6.1 keeps a limit of a cgroup that is removed, with a dangling pointer. */
		EXPECT_EQ(0, write_text(CG_ONE "/rdma.max", "lo0 hca_handle=max"));
	}
	rmdir(CG_ONE);
	umount(CG);
	if (ret)
		SKIP(return, "no rdma controller");
}

TEST_HARNESS_MAIN
