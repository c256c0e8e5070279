// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Event dispatchers (EVDs): waits, deadlines, thresholds, and overflow. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "clock.h"
#include "sleeps.h"
#include "stops.h"

FIXTURE(evd) {
	struct t_file f;
	struct t_evd async;
	struct t_evd evd;
};

FIXTURE_SETUP(evd)
{
	ASSERT_EQ(0, t_open(&self->f));
	ASSERT_EQ(0, t_evd(&self->f, DAT_STREAM_ASYNC, 8, &self->async));
	ASSERT_EQ(0, t_evd(&self->f, DAT_STREAM_SOFTWARE | DAT_STREAM_DTO, 8, &self->evd));
}

FIXTURE_TEARDOWN(evd)
{
	t_close(&self->f);
}

struct waiter {
	struct t_evd	*evd;
	uint32_t	threshold;
	unsigned int	ms;
	int		ret;
	pid_t		tid;
	pthread_t	thread;
};

static void *waiter_main(void *arg)
{
	struct waiter *w = arg;

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	w->ret = t_evd_wait(w->evd, w->threshold, w->ms);
	return NULL;
}

static void waiter_start(struct waiter *w, struct t_evd *evd, uint32_t threshold)
{
	*w = (struct waiter) { .evd = evd, .threshold = threshold, .ms = T_WAIT_MS, .ret = 1 };
	pthread_create(&w->thread, NULL, waiter_main, w);
	usleep(200000);
}

static int waiter_end(struct waiter *w)
{
	pthread_join(w->thread, NULL);
	return w->ret;
}

TEST_F(evd, a_software_event_comes_with_its_cookie)
{
	struct dat_eqe eqe;

	ASSERT_EQ(0, t_post_soft(&self->evd, 0x123456789abcULL));
	ASSERT_EQ(1, t_event(&self->evd, T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_SOFTWARE, eqe.type);
	EXPECT_EQ(0x123456789abcULL, eqe.cookie);
}

TEST_F(evd, a_past_deadline_never_sleeps)
{
	EXPECT_EQ(-ETIMEDOUT, t_evd_wait(&self->evd, 1, 0));
	ASSERT_EQ(0, t_post_soft(&self->evd, 1));
	EXPECT_EQ(0, t_evd_wait(&self->evd, 1, 0));
}

/*
 * Each wait may end late on a busy machine, but a deadline that the driver moves makes all of them
 * end late.  So the best of some waits counts.
 */
TEST_F_TIMEOUT(evd, a_deadline_is_kept, 60)
{
	uint64_t start, took, best = UINT64_MAX;
	int i;

	for (i = 0; i < 10 && best > 250 + 50; i++) {
		start = now_ms();
		EXPECT_EQ(-ETIMEDOUT, t_evd_wait(&self->evd, 1, 250));
		took = now_ms() - start;
		EXPECT_LE(249, took);
		best = took < best ? took : best;
	}
	EXPECT_GE(250 + 50, best);
}

/* Covers: SH 21 */
TEST_F_TIMEOUT(evd, a_waiter_wakes_when_its_threshold_is_reached, 60)
{
	struct waiter w;

	waiter_start(&w, &self->evd, 3);
	ASSERT_EQ(0, t_post_soft(&self->evd, 1));
	ASSERT_EQ(0, t_post_soft(&self->evd, 2));
	usleep(200000);
	EXPECT_EQ(1, w.ret);
	ASSERT_EQ(0, t_post_soft(&self->evd, 3));
	EXPECT_EQ(0, waiter_end(&w));
}

/*
 * The test counts how often the waiter goes to sleep.  The count must stay the same: a spurious
 * wakeup would add one.
 */
/* Covers: SH 21 */
TEST_F_TIMEOUT(evd, a_waiter_sleeps_on_while_events_are_fewer_than_its_threshold, 60)
{
	struct waiter w;
	long before;

	/* One event is queued before the wait begins. */
	ASSERT_EQ(0, t_post_soft(&self->evd, 1));
	waiter_start(&w, &self->evd, 4);
	before = sleeps_of(&w.tid, T_WAIT_MS);
	ASSERT_LT(0, before);
	ASSERT_EQ(0, t_post_soft(&self->evd, 2));
	usleep(200000);
	ASSERT_EQ(0, t_post_soft(&self->evd, 3));
	usleep(200000);
	EXPECT_EQ(before, sleeps_of(&w.tid, T_WAIT_MS));
	EXPECT_EQ(1, w.ret);
	ASSERT_EQ(0, t_post_soft(&self->evd, 4));
	EXPECT_EQ(0, waiter_end(&w));
}

/* Covers: SH 24 */
TEST_F_TIMEOUT(evd, the_second_waiter_gets_EBUSY, 60)
{
	struct waiter w;

	waiter_start(&w, &self->evd, 1);
	EXPECT_EQ(-EBUSY, t_evd_wait(&self->evd, 1, 100));
	EXPECT_EQ(-EBUSY, t_free(&self->f, DAT_OBJ_EVD, self->evd.id));
	ASSERT_EQ(0, t_post_soft(&self->evd, 1));
	EXPECT_EQ(0, waiter_end(&w));
	EXPECT_EQ(0, t_free(&self->f, DAT_OBJ_EVD, self->evd.id));
}

/* Covers: SH 25 */
TEST_F_TIMEOUT(evd, unwaitable_wakes_and_refuses, 60)
{
	struct dat_evd_set arg = {
		.size = sizeof(arg), .id = self->evd.id, .flags = DAT_EVD_UNWAITABLE,
		.mask = DAT_EVD_UNWAITABLE,
	};
	struct waiter w;

	waiter_start(&w, &self->evd, 1);
	ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_EVD_SET, &arg));
	EXPECT_EQ(-ECANCELED, waiter_end(&w));
	EXPECT_EQ(-ECANCELED, t_evd_wait(&self->evd, 1, 0));
	arg.flags = 0;
	ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_EVD_SET, &arg));
	EXPECT_EQ(-ETIMEDOUT, t_evd_wait(&self->evd, 1, 0));
}

TEST_F_TIMEOUT(evd, closing_the_IA_wakes_with_ESHUTDOWN, 60)
{
	struct dat_ia_close arg = { .size = sizeof(arg) };
	struct waiter w;

	waiter_start(&w, &self->evd, 1);
	ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_IA_CLOSE, &arg));
	EXPECT_EQ(-ESHUTDOWN, waiter_end(&w));
}

static void on_alarm(int sig)
{
}

/* Covers: SH 23 */
TEST_F(evd, a_signal_is_EINTR_and_takes_nothing)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct dat_eqe eqe;

	sigaction(SIGALRM, &sa, NULL);
	ASSERT_EQ(0, t_post_soft(&self->evd, 5));
	ualarm(200000, 0);
	EXPECT_EQ(-EINTR, t_evd_wait(&self->evd, 2, T_WAIT_MS));
	ASSERT_EQ(1, t_event(&self->evd, T_WAIT_MS, &eqe));
	EXPECT_EQ(5, eqe.cookie);
}

struct watcher {
	struct pollfd	p;
	uint64_t	took;
	pid_t		tid;
	pthread_t	thread;
};

static void *watcher_main(void *arg)
{
	struct watcher *w = arg;
	uint64_t start = now_ms();

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	poll(&w->p, 1, T_WAIT_MS);
	w->took = now_ms() - start;
	return NULL;
}

/* poll() looks at the descriptor once more when its time is up, so only the time tells. */
TEST_F_TIMEOUT(evd, a_watched_descriptor_hangs_up_when_the_IA_is_closed, 60)
{
	struct dat_fd fd = { .size = sizeof(fd), .type = DAT_OBJ_EVD, .id = self->evd.id };
	struct dat_ia_close arg = { .size = sizeof(arg) };
	struct watcher w = {};

	ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_FD, &fd));
	w.p = (struct pollfd) { .fd = fd.fd, .events = POLLIN };
	ASSERT_EQ(0, pthread_create(&w.thread, NULL, watcher_main, &w));
	ASSERT_LT(0, sleeps_of(&w.tid, T_WAIT_MS));
	ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_IA_CLOSE, &arg));
	pthread_join(w.thread, NULL);
	EXPECT_EQ(POLLHUP, w.p.revents & POLLHUP);
	EXPECT_GT(T_WAIT_MS, w.took);
	close(fd.fd);
}

TEST_F(evd, a_stop_and_a_continue_do_not_end_a_wait)
{
	struct stops s;
	int n;

	ASSERT_EQ(0, stops_begin(&s));
	EXPECT_EQ(-ETIMEDOUT, t_evd_wait(&self->evd, 1, STOPS_WAIT_MS));
	n = stops_end(&s);
	EXPECT_LT(0, n);
	EXPECT_GT(STOPS_MAX, n);
}

/* Covers: SH 30 */
TEST_F(evd, software_events_find_a_full_queue_ENOSPC_and_no_overflow)
{
	struct dat_eqe eqe;
	int i;

	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, t_post_soft(&self->evd, i));
	EXPECT_EQ(-ENOSPC, t_post_soft(&self->evd, 8));
	EXPECT_EQ(0, t_event(&self->async, T_QUIET_MS, &eqe));
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(1, t_event(&self->evd, T_WAIT_MS, &eqe));
		EXPECT_EQ(i, eqe.cookie);
	}
	EXPECT_EQ(0, t_post_soft(&self->evd, 8));
}

/* A pair whose ep[0] reports receive completions to @small, an EVD of eight entries. */
struct tight {
	struct t_pair	p;
	struct t_evd	async;
	struct t_evd	small;
};

static int tight_open(struct tight *t)
{
	struct dat_ep_create ep = { .size = sizeof(ep), .max_recv = 16, .max_request = 16 };
	struct t_pair *p = &t->p;
	int ret;

	ret = t_pair_open(p);
	ret = ret ?: t_evd(&p->f, DAT_STREAM_ASYNC, 8, &t->async);
	ret = ret ?: t_evd(&p->f, DAT_STREAM_DTO | DAT_STREAM_SOFTWARE, 8, &t->small);
	ep.pz = p->pz;
	ep.recv_evd = t->small.id;
	ep.connect_evd = p->evd[0].id;
	ret = ret ?: t_ioctl(p->f.fd, DAT_IOC_EP_CREATE, &ep);
	ret = ret ?: t_free(&p->f, DAT_OBJ_EP, p->ep[0].id);
	ret = ret ?: t_map_span(&p->f, &ep.submit, PROT_READ | PROT_WRITE, &p->ep[0].submit);
	ret = ret ?: t_map_span(&p->f, &ep.status, PROT_READ, &p->ep[0].status);
	if (ret)
		return ret;
	p->ep[0].id = ep.id;
	p->ep[0].rq = (struct t_queue) {
		.f = &p->f, .bell = ep.rq_queue, .entries = ep.max_recv, .shift = ep.rq_shift,
		.shared_tail = &((struct dat_submit *)p->ep[0].submit.va)->rq_tail,
		.ring = (char *)p->ep[0].submit.va + ep.rq_offset,
		.status = &((struct dat_status *)p->ep[0].status.va)->rq,
	};
	return 0;
}

/*
 * Connect, post @n receives to ep[0], and disconnect.  Returns the type of the event that follows
 * at evd[0], 0 on timeout, or a negative errno.
 */
static int tight_flush(struct tight *t, int n)
{
	struct t_pair *p = &t->p;
	struct dat_eqe eqe;
	int i, ret;

	ret = t_pair_connect(p);
	for (i = 0; i < n; i++)
		ret = ret ?: t_recv(&p->ep[0].rq, i, (uintptr_t)p->mem.va, p->mem.lkey, 64);
	ret = ret ?: t_disconnect(&p->f, &p->ep[0], 0);
	if (ret)
		return ret;
	return t_event(&p->evd[0], T_WAIT_MS, &eqe) ? (int)eqe.type : 0;
}

/* Covers: SH 30 */
TEST_F(evd, overflow_by_completions_is_one_async_event)
{
	struct dat_evd_status *status;
	struct dat_eqe eqe;
	struct tight t;

	/* Flush twelve receives into an EVD that has room for eight events. */
	ASSERT_EQ(0, tight_open(&t));
	ASSERT_EQ(DAT_EV_DISCONNECTED, tight_flush(&t, 12));
	ASSERT_EQ(1, t_event(&t.async, T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_ASYNC_OVERFLOW, eqe.type);
	EXPECT_EQ(DAT_OBJ_EVD, eqe.cookie);
	EXPECT_EQ(0, t_event(&t.async, T_QUIET_MS, &eqe));
	status = t.small.status.va;
	EXPECT_EQ(4, status->dropped);
	EXPECT_EQ(8, status->tail);
	t_pair_close(&t.p);
}

/* Covers: SH 30 */
TEST_F_TIMEOUT(evd, an_overflow_after_room_for_software_events_is_another, 60)
{
	struct dat_eqe eqe;
	struct tight t;
	int i;

	ASSERT_EQ(0, tight_open(&t));
	ASSERT_EQ(DAT_EV_DISCONNECTED, tight_flush(&t, 9));
	ASSERT_EQ(1, t_event(&t.async, T_WAIT_MS, &eqe));
	for (i = 0; i < 8; i++)
		ASSERT_EQ(1, t_event(&t.small, T_WAIT_MS, &eqe));
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, t_post_soft(&t.small, i));
	ASSERT_EQ(1, t_event(&t.p.evd[1], T_WAIT_MS, &eqe));
	ASSERT_EQ(DAT_EV_DISCONNECTED, eqe.type);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, t_reset(&t.p.f, &t.p.ep[i]));
	ASSERT_EQ(DAT_EV_DISCONNECTED, tight_flush(&t, 1));
	ASSERT_EQ(1, t_event(&t.async, T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_ASYNC_OVERFLOW, eqe.type);
	t_pair_close(&t.p);
}

TEST_HARNESS_MAIN
