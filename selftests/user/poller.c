// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Doorbell poller: a thread in DAT_IOC_POLLER_RUN polls the doorbells, so a process need not kick.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "adapter.h"
#include "dat_test.h"
#include "proc.h"

#define LONG_US		DAT_MAX_POLLER_IDLE_US	/* parks only if the host is slow */
#define SHORT_US	1000

FIXTURE(poller) {
	struct t_pair p;
};

static int iwarp;

FIXTURE_SETUP(poller)
{
	iwarp = adapter_is_iwarp();
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, t_pair_connect(&self->p));
}

static int set_poller(struct t_file *f, uint32_t idle_us)
{
	struct dat_poller_set arg = { .size = sizeof(arg), .idle_us = idle_us };

	return t_ioctl(f->fd, DAT_IOC_POLLER_SET, &arg);
}

static int run_poller(struct t_file *f)
{
	struct dat_poller_run arg = { .size = sizeof(arg) };

	return t_ioctl(f->fd, DAT_IOC_POLLER_RUN, &arg);
}

static void *poller_thread(void *f)
{
	return (void *)(intptr_t)run_poller(f);
}

/* Thread that runs the poller; valid if has_thread is set. */
static pthread_t thread;
static int has_thread;

/* Set the idle time, and start a poller thread unless one is running. */
static int have_poller(struct t_file *f, uint32_t idle_us)
{
	int ret = set_poller(f, idle_us);

	if (ret || has_thread)
		return ret;
	ret = -pthread_create(&thread, NULL, poller_thread, f);
	has_thread = !ret;
	return ret;
}

/*
 * Join the poller thread, which must have been told to stop.  Returns the result of its ioctl, or 1
 * if no poller thread was running.
 */
static int poller_returns(void)
{
	void *ret;

	if (!has_thread)
		return 1;
	has_thread = 0;
	pthread_join(thread, &ret);
	return (intptr_t)ret;
}

FIXTURE_TEARDOWN(poller)
{
	set_poller(&self->p.f, 0);
	poller_returns();
	t_pair_close(&self->p);
}

/* Returns the thread id of the poller from fdinfo, or -1 without a poller. */
static long poller_tid(const struct t_file *f)
{
	return fdinfo_number(f->fd, "poller:", "thread=");
}

/*
 * Wait until @q asks for kicks.  When a poller parks, fdinfo shows awake=0 a moment before the
 * poller sets DAT_QUEUE_NEED_KICK in each queue.
 */
static int await_asking(const struct t_queue *q)
{
	int ms;

	for (ms = 0; ms < T_WAIT_MS; ms++) {
		if (q->status->flags & DAT_QUEUE_NEED_KICK)
			return 1;
		usleep(1000);
	}
	return 0;
}

/* Start a poller and wait until fdinfo shows that the poller is awake. */
static int start_poller(struct t_file *f)
{
	int ret = have_poller(f, LONG_US);

	if (ret)
		return ret;
	return poller_is(f->fd, 1, T_WAIT_MS) ? 0 : -ETIMEDOUT;
}

/*
 * Runs as the first process of a new PID namespace.  Returns 0 if fdinfo shows the thread id that
 * the poller has in this namespace.
 */
static int poller_names_itself(void)
{
	struct t_file f;
	int ret = 0;

	if (t_open(&f) || start_poller(&f))
		return 1;
	/*
	 * In the new namespace the process has id 1 and the poller thread id 2.  Outside of the
	 * namespace the ids are larger.
	 */
	if (getpid() != 1 || poller_tid(&f) != 2)
		ret = 2;
	set_poller(&f, 0);
	poller_returns();
	t_close(&f);
	return ret;
}

static int needs_kick(const struct t_queue *q)
{
	return q->status->flags & DAT_QUEUE_NEED_KICK &&
	       (int32_t)(q->tail - q->status->kick_at) >= 0;
}

static unsigned int kicks;

/* Publish an entry as the ABI demands, and count the kicks that the kernel requires. */
static void push(struct t_queue *q)
{
	__atomic_store_n(q->shared_tail, ++q->tail, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	t_ring(q->f, q->bell);
	if (!needs_kick(q))
		return;
	kicks++;
	t_kick(q->f);
	/*
	 * On a slow host the poller may have parked.  Wait until the kick has woken the poller, so
	 * that the next entries need no kicks.
	 */
	if (!poller_awake(q->f->fd))
		poller_is(q->f->fd, 1, T_WAIT_MS);
}

static void push_send(struct t_pair *p, int from, uint64_t cookie)
{
	struct dat_sqe *sqe = t_sqe(&p->ep[from].sq);

	sqe->opcode = DAT_OP_SEND;
	sqe->cookie = cookie;
	sqe->num_sge = 1;
	*(struct dat_sge *)(sqe + 1) = (struct dat_sge) { (uintptr_t)p->mem.va, p->mem.lkey, 8 };
	push(&p->ep[from].sq);
}

static void push_recv(struct t_pair *p, int at, uint64_t cookie)
{
	struct dat_rqe *rqe = t_rqe(&p->ep[at].rq);

	rqe->cookie = cookie;
	rqe->num_sge = 1;
	*(struct dat_sge *)(rqe + 1) = (struct dat_sge) { (uintptr_t)p->mem.va, p->mem.lkey, 8 };
	/* Over iWARP the kernel requires a kick for each receive; do not count these. */
	if (iwarp)
		t_push(&p->ep[at].rq);
	else
		push(&p->ep[at].rq);
}

/*
 * Send one message from ep[1] to ep[0].  Returns 0, or 1 plus the index of the EP whose event is
 * missing or wrong.
 */
static int message(struct t_pair *p, uint64_t n)
{
	struct dat_eqe eqe;
	int side;

	push_recv(p, 0, n);
	push_send(p, 1, n);
	for (side = 0; side < 2; side++)
		if (!t_event(&p->evd[side], T_WAIT_MS, &eqe) || eqe.cookie != n ||
		    eqe.type != DAT_EV_DTO || eqe.status != DAT_ST_SUCCESS)
			return side + 1;
	return 0;
}

TEST_F_TIMEOUT(poller, without_it_every_send_of_a_ping_pong_needs_a_kick, 60)
{
	uint64_t n;

	kicks = 0;
	for (n = 0; n < 50; n++)
		ASSERT_EQ(0, message(&self->p, n));
	EXPECT_LE(50, kicks);
}

TEST_F_TIMEOUT(poller, with_it_they_do_not, 60)
{
	uint64_t n;

	ASSERT_EQ(0, start_poller(&self->p.f));
	kicks = 0;
	for (n = 0; n < 200; n++) {
		ASSERT_EQ(0, message(&self->p, n)) TH_LOG("message %llu", (unsigned long long)n);
	}
	/*
	 * Each queue needs one kick before the poller knows the queue, and some more kicks if the
	 * host is slow.
	 */
	EXPECT_GT(20, kicks);
}

/*
 * While the poller is awake no kick is required, even if no entry is in flight.  Over iWARP each
 * receive requires a kick nevertheless.
 */
TEST_F_TIMEOUT(poller, a_watched_queue_does_not_need_kicks, 60)
{
	struct t_pair *p = &self->p;
	int asked = 0, tries;

	ASSERT_EQ(0, start_poller(&p->f));
	for (tries = 0; tries < 10; tries++) {
		ASSERT_EQ(0, message(p, tries));
		asked = p->ep[1].sq.status->flags & DAT_QUEUE_NEED_KICK;
		if (iwarp) {
			ASSERT_TRUE(p->ep[0].rq.status->flags & DAT_QUEUE_NEED_KICK);
		} else {
			asked |= p->ep[0].rq.status->flags & DAT_QUEUE_NEED_KICK;
		}
		/* Retry if the poller parked before the flags were read. */
		if (!asked || poller_awake(p->f.fd) == 1)
			break;
	}
	EXPECT_EQ(0, asked);
}

TEST_F_TIMEOUT(poller, idle_it_parks_and_every_queue_asks_for_kicks_again, 60)
{
	struct t_pair *p = &self->p;

	ASSERT_EQ(0, start_poller(&p->f));
	ASSERT_EQ(0, message(p, 1));
	ASSERT_EQ(1, poller_is(p->f.fd, 0, T_WAIT_MS));
	EXPECT_EQ(1, await_asking(&p->ep[1].sq));
	/* Over lo0 a message takes its receive from the ring. */
	if (t_is_device(&p->f))
		EXPECT_EQ(1, await_asking(&p->ep[0].rq));
}

TEST_F_TIMEOUT(poller, a_kick_wakes_it, 60)
{
	struct t_pair *p = &self->p;
	uint64_t n;

	ASSERT_EQ(0, have_poller(&p->f, SHORT_US));
	ASSERT_EQ(1, poller_is(p->f.fd, 0, T_WAIT_MS));
	ASSERT_EQ(0, start_poller(&p->f));
	ASSERT_EQ(1, poller_is(p->f.fd, 0, T_WAIT_MS));
	ASSERT_EQ(0, t_kick(&p->f));
	EXPECT_EQ(1, poller_is(p->f.fd, 1, T_WAIT_MS));
	kicks = 0;
	for (n = 0; n < 100; n++)
		ASSERT_EQ(0, message(p, n));
	EXPECT_GT(20, kicks);
}

/*
 * The poller parks as often as possible while the test posts entries.  No entry is lost if the test
 * kicks whenever the kernel asks for kicks.
 */
TEST_F_TIMEOUT(poller, nothing_is_lost_while_it_parks, 120)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	int n, side;

	ASSERT_EQ(0, have_poller(&p->f, 1));
	for (n = 0; n < 1000; n++) {
		ASSERT_EQ(0, t_recv(&p->ep[0].rq, n, (uintptr_t)p->mem.va, p->mem.lkey, 8));
		if (n % 3)
			usleep(rand() % 100);
		ASSERT_EQ(0, t_send(&p->ep[1], n, (uintptr_t)p->mem.va, p->mem.lkey, 8));
		for (side = 0; side < 2; side++) {
			ASSERT_EQ(1, t_event(&p->evd[side], T_WAIT_MS, &eqe)) TH_LOG("%d", n);
			ASSERT_EQ(n, (int)eqe.cookie);
		}
	}
}

TEST_F_TIMEOUT(poller, ended_it_leaves_queues_that_ask_for_kicks, 60)
{
	struct t_pair *p = &self->p;

	ASSERT_EQ(0, start_poller(&p->f));
	ASSERT_EQ(0, message(p, 1));
	ASSERT_EQ(0, set_poller(&p->f, 0));
	EXPECT_EQ(0, poller_returns());
	EXPECT_EQ(-1, poller_tid(&p->f));
	EXPECT_TRUE(p->ep[1].sq.status->flags & DAT_QUEUE_NEED_KICK);
	/* Disabling the poller succeeds even if no poller is running. */
	EXPECT_EQ(0, set_poller(&p->f, 0));
}

TEST_F_TIMEOUT(poller, an_srq_is_refilled_without_a_kick, 60)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	struct t_srq srq;
	struct t_ep ep;
	int n;

	if (iwarp)
		SKIP(return, "over iWARP each receive needs a kick");
	ASSERT_EQ(0, start_poller(&p->f));
	ASSERT_EQ(0, t_srq(&p->f, p->pz, 8, &srq));
	ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[0], srq.id, 5, &ep));
	ASSERT_EQ(0, t_disconnect(&p->f, &p->ep[1], 0));
	for (n = 0; n < 2; n++)
		ASSERT_EQ(1, t_event(&p->evd[n], T_WAIT_MS, &eqe));
	ASSERT_EQ(0, t_reset(&p->f, &p->ep[1]));
	ASSERT_EQ(0, t_connect(&p->f, &p->ep[1], T_QUAL, NULL, 0));
	ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
	ASSERT_EQ(0, t_accept(&p->f, eqe.len, &ep, NULL, 0));
	for (n = 0; n < 2; n++) {
		ASSERT_EQ(1, t_event(&p->evd[n], T_WAIT_MS, &eqe));
		ASSERT_EQ(DAT_EV_ESTABLISHED, eqe.type);
	}
	kicks = 0;
	for (n = 0; n < 100; n++) {
		struct dat_rqe *rqe = t_rqe(&srq.rq);

		rqe->cookie = n;
		rqe->num_sge = 1;
		*(struct dat_sge *)(rqe + 1) = (struct dat_sge) {
			(uintptr_t)p->mem.va, p->mem.lkey, 8,
		};
		push(&srq.rq);
		push_send(p, 1, n);
		ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
		ASSERT_EQ(n, (int)eqe.cookie);
		ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
	}
	EXPECT_GT(20, kicks);
}

TEST(fdinfo_shows_ids_of_the_readers_pid_namespace)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		SKIP(return, "needs root to make a pid namespace");
	pid = fork();
	if (!pid)
		_exit(poller_names_itself());
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(poller, a_stop_and_a_continue_do_not_end_it)
{
	pid_t pid;

	ASSERT_EQ(0, start_poller(&self->p.f));
	pid = t_stop_and_continue();
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	usleep(100000);
	ASSERT_EQ(0, set_poller(&self->p.f, 0));
	EXPECT_EQ(0, poller_returns());
}

TEST_F(poller, what_it_cannot_be_is_refused)
{
	struct dat_poller_run arg = { .size = sizeof(arg), .rsvd = 1 };
	struct t_file *f = &self->p.f;

	EXPECT_EQ(-EOPNOTSUPP, t_ioctl(f->fd, DAT_IOC_POLLER_RUN, &arg));
	EXPECT_EQ(-EINVAL, set_poller(f, DAT_MAX_POLLER_IDLE_US + 1));
	EXPECT_EQ(-EINVAL, set_poller(f, UINT32_MAX));
}

TEST_F(poller, none_runs_before_it_may)
{
	EXPECT_EQ(0, run_poller(&self->p.f));
	EXPECT_EQ(-1, poller_tid(&self->p.f));
}

TEST_F(poller, there_is_one_at_a_time)
{
	ASSERT_EQ(0, start_poller(&self->p.f));
	EXPECT_EQ(-EBUSY, run_poller(&self->p.f));
	EXPECT_EQ(0, message(&self->p, 1));
}

/* The poller is the thread that calls POLLER_RUN: fdinfo shows a thread id of this process. */
TEST_F(poller, it_is_the_calling_thread)
{
	char path[64];

	ASSERT_EQ(0, start_poller(&self->p.f));
	snprintf(path, sizeof(path), "/proc/self/task/%ld", poller_tid(&self->p.f));
	EXPECT_EQ(0, access(path, F_OK));
}

static void ignore(int sig)
{
}

TEST_F_TIMEOUT(poller, a_signal_ends_it_awake_and_parked, 60)
{
	static const uint32_t idle[] = { LONG_US, SHORT_US };
	const struct sigaction action = { .sa_handler = ignore };
	struct t_pair *p = &self->p;
	int i;

	sigaction(SIGUSR1, &action, NULL);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, have_poller(&p->f, idle[i]));
		ASSERT_EQ(1, poller_is(p->f.fd, 1 - i, T_WAIT_MS));
		ASSERT_EQ(0, pthread_kill(thread, SIGUSR1));
		EXPECT_EQ(-EINTR, poller_returns());
		EXPECT_TRUE(p->ep[1].sq.status->flags & DAT_QUEUE_NEED_KICK);
		EXPECT_EQ(0, message(p, i));
	}
}

TEST_F(poller, after_IA_CLOSE_there_is_none)
{
	struct dat_ia_close arg = { .size = sizeof(arg) };
	struct t_file *f = &self->p.f;

	ASSERT_EQ(0, start_poller(f));
	ASSERT_EQ(0, t_ioctl(f->fd, DAT_IOC_IA_CLOSE, &arg));
	EXPECT_EQ(-ENODEV, poller_returns());
	EXPECT_EQ(-1, poller_tid(f));
	EXPECT_EQ(-ENODEV, set_poller(f, LONG_US));
	EXPECT_EQ(-ENODEV, run_poller(f));
}

TEST_F(poller, IA_CLOSE_sends_one_that_is_parked_home)
{
	struct dat_ia_close arg = { .size = sizeof(arg) };
	struct t_file *f = &self->p.f;

	ASSERT_EQ(0, have_poller(f, SHORT_US));
	ASSERT_EQ(1, poller_is(f->fd, 0, T_WAIT_MS));
	ASSERT_EQ(0, t_ioctl(f->fd, DAT_IOC_IA_CLOSE, &arg));
	EXPECT_EQ(-ENODEV, poller_returns());
}

static volatile int stop;

static void *setter(void *arg)
{
	struct t_file *f = arg;

	while (!stop) {
		set_poller(f, rand() % 4 ? rand() % 3000 : 0);
		sched_yield();
	}
	return NULL;
}

/* Thread that runs the poller again whenever POLLER_RUN returns. */
static void *runner(void *arg)
{
	while (!stop) {
		run_poller(arg);
		sched_yield();
	}
	return NULL;
}

/*
 * Free objects whose doorbells are polled, while two threads change the idle time and two threads
 * try to run the poller.
 */
TEST_F_TIMEOUT(poller, objects_come_and_go_under_it, 240)
{
	struct t_pair *p = &self->p;
	pthread_t threads[4];
	struct timespec t0, t;
	struct dat_eqe eqe;
	struct t_srq srq;
	struct t_ep ep;
	int i;

	stop = 0;
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, i < 2 ? setter : runner, &p->f));
	clock_gettime(CLOCK_MONOTONIC, &t0);
	do {
		ASSERT_EQ(0, t_srq(&p->f, p->pz, 8, &srq));
		ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[1], srq.id, 20, &ep));
		t_recv(&srq.rq, 1, (uintptr_t)p->mem.va, p->mem.lkey, 64);
		t_send(&ep, 1, (uintptr_t)p->mem.va, p->mem.lkey, 64);
		usleep(rand() % 300);
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, ep.id));
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_SRQ, srq.id));
		t_unmap(&ep.submit);
		t_unmap(&ep.status);
		t_unmap(&srq.submit);
		t_unmap(&srq.status);
		while (t_event(&p->evd[1], 0, &eqe))
			;
		clock_gettime(CLOCK_MONOTONIC, &t);
	} while (t.tv_sec - t0.tv_sec < 3);
	stop = 1;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	ASSERT_EQ(0, set_poller(&p->f, 0));
	for (; i < 4; i++)
		pthread_join(threads[i], NULL);
	/* The connection of the fixture, which stayed open, still works. */
	ASSERT_EQ(0, t_recv(&p->ep[0].rq, 77, (uintptr_t)p->mem.va, p->mem.lkey, 8));
	ASSERT_EQ(0, t_send(&p->ep[1], 77, (uintptr_t)p->mem.va, p->mem.lkey, 8));
	ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
	EXPECT_EQ(77, (int)eqe.cookie);
}

static int thread_is_there(long pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%ld", pid);
	return !access(path, F_OK);
}

TEST_F_TIMEOUT(poller, it_ends_with_a_process_that_is_killed, 60)
{
	int told[2], ms;
	pid_t child;
	long pid = 0;

	ASSERT_EQ(0, pipe(told));
	child = fork();
	ASSERT_LE(0, child);
	if (!child) {
		struct t_pair p;

		has_thread = 0;
		if (t_open(&p.f) || start_poller(&p.f))
			_exit(1);
		pid = poller_tid(&p.f);
		write(told[1], &pid, sizeof(pid));
		pause();
	}
	ASSERT_EQ((ssize_t)sizeof(pid), read(told[0], &pid, sizeof(pid)));
	ASSERT_LT(0, pid);
	EXPECT_TRUE(thread_is_there(pid));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	for (ms = 0; ms < T_WAIT_MS && thread_is_there(pid); ms++)
		usleep(1000);
	EXPECT_FALSE(thread_is_there(pid));
}

TEST_HARNESS_MAIN
