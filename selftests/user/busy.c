// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * DAT_IOC_EVD_POLL: threads poll the device for completions.  When the polling stops, notifications
 * of the device must wake threads again.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "proc.h"
#include "clock.h"

#define LONG_US		DAT_MAX_SPIN_US
#define SPIN_US		1000
#define FREES		500
#define BUSY_STREAMS	(DAT_STREAM_DTO | DAT_STREAM_CONNECTION)

static int busy_poll(const struct t_evd *evd, uint32_t spin_us)
{
	struct dat_evd_poll arg = { .size = sizeof(arg), .id = evd->id, .spin_us = spin_us };

	/* The call that libdat makes for a poll that does not spin. */
	if (!spin_us)
		return t_word(evd->f, DAT_IOC_EVD_LOOK, evd->id);
	return t_ioctl(evd->f->fd, DAT_IOC_EVD_POLL, &arg);
}

/* Returns the number after @what in the EVD's line of fdinfo, or -1. */
static long evd_says(const struct t_evd *evd, const char *what)
{
	char line[32];

	snprintf(line, sizeof(line), "evd:\tid=%u ", evd->id);
	return fdinfo_number(evd->f->fd, line, what);
}

/*
 * Returns 1 if the EVD has an event.  Reads only the mapped page, because a call of the driver
 * would end the polling.
 */
static int there_is_one(const struct t_evd *evd)
{
	struct dat_evd_status *status = evd->status.va;

	return __atomic_load_n(&status->tail, __ATOMIC_ACQUIRE) != evd->head;
}

static int take(struct t_evd *evd, struct dat_eqe *eqe)
{
	return there_is_one(evd) ? t_event(evd, 0, eqe) : 0;
}

/* Ways to wait for an event.  Only by_looking() and by_spinning() poll the device. */
static int by_looking(struct t_evd *evd)
{
	uint64_t end = now_ms() + T_WAIT_MS;

	while (!there_is_one(evd) && now_ms() < end)
		busy_poll(evd, 0);
	return there_is_one(evd);
}

static int by_spinning(struct t_evd *evd)
{
	uint64_t end = now_ms() + T_WAIT_MS;

	while (!there_is_one(evd) && now_ms() < end)
		busy_poll(evd, SPIN_US);
	return there_is_one(evd);
}

static int by_itself(struct t_evd *evd)
{
	uint64_t end = now_ms() + T_WAIT_MS;

	while (!there_is_one(evd) && now_ms() < end)
		usleep(100);
	return there_is_one(evd);
}

static int by_waiting(struct t_evd *evd)
{
	uint64_t end = now_ms() + T_WAIT_MS;

	/* -EBUSY: another thread is waiting on this EVD. */
	while (!there_is_one(evd) && t_evd_wait(evd, 1, T_WAIT_MS) == -EBUSY && now_ms() < end)
		usleep(100);
	return there_is_one(evd);
}

static int by_sleeping(struct t_evd *evd)
{
	return !t_word(evd->f, DAT_IOC_EVD_SLEEP, evd->id) && there_is_one(evd);
}

static int evd_fd(const struct t_evd *evd)
{
	struct dat_fd arg = { .size = sizeof(arg), .type = DAT_OBJ_EVD, .id = evd->id };
	int ret = t_ioctl(evd->f->fd, DAT_IOC_FD, &arg);

	return ret ? ret : arg.fd;
}

static int by_its_descriptor(struct t_evd *evd)
{
	struct pollfd p = { .fd = evd_fd(evd), .events = POLLIN };
	int ret = poll(&p, 1, T_WAIT_MS);

	close(p.fd);
	return ret == 1 && there_is_one(evd);
}

static int (*const ways[])(struct t_evd *evd) = {
	by_looking, by_spinning, by_itself, by_waiting, by_its_descriptor,
};

#define NWAYS	(sizeof(ways) / sizeof(ways[0]))

static int expect(struct t_evd *evd, uint64_t cookie, int (*way)(struct t_evd *evd))
{
	struct dat_eqe eqe;

	if (!way(evd) || !take(evd, &eqe))
		return -ETIMEDOUT;
	return eqe.type == DAT_EV_DTO && !eqe.status && eqe.cookie == cookie ? 0 : -EIO;
}

/* Post a receive to ep[0] and a send of one message to ep[1]. */
static int post_message(struct t_pair *p, struct t_ep *ep, uint64_t n)
{
	uint64_t addr = (uintptr_t)p->mem.va;
	int ret = t_recv(&ep[0].rq, n, addr, p->mem.lkey, 64);

	return ret ? ret : t_send(&ep[1], n, addr, p->mem.lkey, 64);
}

static int message(struct t_pair *p, struct t_ep *ep, struct t_evd *evd, uint64_t n,
		   int (*way)(struct t_evd *evd))
{
	int ret;

	/*
	 * Start polling before the post.  Otherwise the notification of an earlier message could
	 * deliver the event.
	 */
	if (way == by_looking || way == by_spinning) {
		busy_poll(&evd[0], 0);
		busy_poll(&evd[1], 0);
	}
	ret = post_message(p, ep, n);
	if (!ret)
		ret = expect(&evd[0], n, way);
	return ret ? ret : expect(&evd[1], n, way);
}

/*
 * Send messages until the EVD polls the connection of ep[0].  The connection joins the polled
 * connections when the device notifies the driver of a completion.  If the host does not schedule
 * this process in time, the connection leaves again, so one message may not be enough.
 */
static int join(struct t_pair *p)
{
	uint64_t end = now_ms() + T_WAIT_MS;
	int ret;

	while (now_ms() < end) {
		ret = message(p, p->ep, p->evd, 1, by_looking);
		if (ret)
			return ret;
		busy_poll(&p->evd[0], 0);
		if (evd_says(&p->evd[0], "joined=") == 1)
			return 0;
	}
	return -ETIMEDOUT;
}

FIXTURE(busy) {
	struct t_pair p;
};

FIXTURE_SETUP(busy)
{
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, t_pair_connect(&self->p));
}

FIXTURE_TEARDOWN(busy)
{
	t_pair_close(&self->p);
}

TEST_F(busy, without_an_event_it_is_EAGAIN)
{
	EXPECT_EQ(-EAGAIN, busy_poll(&self->p.evd[0], 0));
	EXPECT_EQ(-EAGAIN, busy_poll(&self->p.evd[0], SPIN_US));
}

TEST_F(busy, with_an_event_in_the_ring_it_does_not_look)
{
	struct t_pair *p = &self->p;

	ASSERT_EQ(0, post_message(p, p->ep, 1));
	ASSERT_EQ(1, by_itself(&p->evd[0]));
	EXPECT_EQ(0, busy_poll(&p->evd[0], LONG_US));
	EXPECT_EQ(0, evd_says(&p->evd[0], "polled="));
}

TEST_F_TIMEOUT(busy, a_look_finds_the_completion, 60)
{
	struct t_pair *p = &self->p;
	uint64_t n;

	for (n = 0; n < 100; n++) {
		ASSERT_EQ(0, message(p, p->ep, p->evd, n, by_looking)) TH_LOG("%d", (int)n);
	}
}

TEST_F_TIMEOUT(busy, a_spin_ends_with_the_completion, 60)
{
	struct t_pair *p = &self->p;
	uint64_t n;

	for (n = 0; n < 100; n++) {
		ASSERT_EQ(0, message(p, p->ep, p->evd, n, by_spinning)) TH_LOG("%d", (int)n);
	}
}

TEST_F_TIMEOUT(busy, a_sleep_ends_with_the_completion, 60)
{
	ASSERT_EQ(0, message(&self->p, self->p.ep, self->p.evd, 1, by_sleeping));
	/* An event that is in the ring ends the call at once. */
	ASSERT_EQ(0, post_message(&self->p, self->p.ep, 2));
	ASSERT_EQ(1, by_itself(&self->p.evd[0]));
	EXPECT_EQ(1, by_sleeping(&self->p.evd[0]));
}

TEST_F_TIMEOUT(busy, who_is_polled_joins, 60)
{
	EXPECT_EQ(0, evd_says(&self->p.evd[0], "polled="));
	EXPECT_EQ(0, join(&self->p));
}

TEST_F_TIMEOUT(busy, after_the_last_poll_events_come_by_themselves, 120)
{
	struct t_pair *p = &self->p;
	uint64_t n;

	for (n = 10; n < 30; n++) {
		ASSERT_EQ(0, join(p));
		ASSERT_EQ(0, message(p, p->ep, p->evd, n, by_itself)) TH_LOG("%d", (int)n);
	}
}

TEST_F_TIMEOUT(busy, an_idle_connection_leaves, 60)
{
	uint64_t end = now_ms() + T_WAIT_MS;
	struct t_evd *evd = &self->p.evd[0];

	ASSERT_EQ(0, join(&self->p));
	while (now_ms() < end && evd_says(evd, "joined="))
		busy_poll(evd, 0);
	EXPECT_EQ(0, evd_says(evd, "joined="));
	EXPECT_EQ(0, message(&self->p, self->p.ep, self->p.evd, 7, by_looking));
}

TEST_F_TIMEOUT(busy, nobody_is_polled_some_ticks_after_the_last_poll, 60)
{
	uint64_t end = now_ms() + T_WAIT_MS;
	struct t_evd *evd = &self->p.evd[0];

	ASSERT_EQ(0, join(&self->p));
	while (now_ms() < end && (evd_says(evd, "polled=") || evd_says(evd, "joined=")))
		usleep(1000);
	EXPECT_EQ(0, evd_says(evd, "polled="));
	EXPECT_EQ(0, evd_says(evd, "joined="));
}

/* Thread that sends messages while the receiver switches between polling and sleeping. */
struct sender {
	struct t_pair	*p;
	unsigned int	messages;
	int		ret;
	pthread_t	thread;
};

static void *sender_main(void *arg)
{
	struct sender *s = arg;
	struct t_pair *p = s->p;
	uint64_t addr = (uintptr_t)p->mem.va;
	unsigned int n, seed = 1;

	for (n = 0; n < s->messages && !s->ret; n++) {
		usleep(rand_r(&seed) % 300);
		s->ret = t_send(&p->ep[1], n, addr, p->mem.lkey, 64);
		if (!s->ret)
			s->ret = expect(&p->evd[1], n, ways[n % NWAYS]);
		/* Wait until the receiver has posted a receive for the next message. */
		while (!s->ret && (int32_t)(p->ep[0].rq.tail - n) < 2)
			usleep(10);
	}
	return NULL;
}

static int poll_then(struct t_pair *p, unsigned int messages, int (*way)(struct t_evd *evd))
{
	struct sender s = { .p = p, .messages = messages };
	uint64_t addr = (uintptr_t)p->mem.va;
	unsigned int n, i, seed = 2;
	int ret = 0;

	t_recv(&p->ep[0].rq, 0, addr, p->mem.lkey, 64);
	pthread_create(&s.thread, NULL, sender_main, &s);
	for (n = 0; n < messages && !ret; n++) {
		for (i = rand_r(&seed) % 20; i; i--)
			busy_poll(&p->evd[0], 0);
		ret = expect(&p->evd[0], n, way);
		t_recv(&p->ep[0].rq, n + 1, addr, p->mem.lkey, 64);
	}
	pthread_join(s.thread, NULL);
	return ret ? ret : s.ret;
}

TEST_F_TIMEOUT(busy, a_wait_right_after_a_poll_is_woken, 120)
{
	EXPECT_EQ(0, poll_then(&self->p, 300, by_waiting));
}

TEST_F_TIMEOUT(busy, a_watcher_right_after_a_poll_is_woken, 120)
{
	EXPECT_EQ(0, poll_then(&self->p, 300, by_its_descriptor));
}

/* A wait on the EVD ends the polling at once; no timer is needed. */
TEST_F_TIMEOUT(busy, who_waits_is_polled_no_more, 60)
{
	struct t_evd *evd = &self->p.evd[0];

	ASSERT_EQ(0, join(&self->p));
	EXPECT_EQ(-ETIMEDOUT, t_evd_wait(evd, 1, 0));
	EXPECT_EQ(0, evd_says(evd, "polled="));
	EXPECT_EQ(0, evd_says(evd, "joined="));
}

TEST_F_TIMEOUT(busy, who_is_watched_is_polled_no_more, 60)
{
	struct t_evd *evd = &self->p.evd[0];
	struct pollfd p = { .fd = evd_fd(evd), .events = POLLIN };

	ASSERT_LE(0, p.fd);
	ASSERT_EQ(0, join(&self->p));
	EXPECT_EQ(0, poll(&p, 1, 0));
	EXPECT_EQ(0, evd_says(evd, "polled="));
	EXPECT_EQ(0, evd_says(evd, "joined="));
	close(p.fd);
}

/* Returns 1 if EVD_POLL fails with -EBUSY and no thread polls the EVD. */
static int is_refused(const struct t_evd *evd)
{
	return busy_poll(evd, LONG_US) == -EBUSY && !evd_says(evd, "polled=");
}

TEST_F_TIMEOUT(busy, with_a_watched_descriptor_it_is_EBUSY, 60)
{
	struct t_pair *p = &self->p;
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(0), fd = evd_fd(&p->evd[0]);
	uint64_t n;

	ASSERT_EQ(0, join(p));
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	for (n = 0; n < 50; n++) {
		EXPECT_EQ(1, is_refused(&p->evd[0]));
		ASSERT_EQ(0, post_message(p, p->ep, n));
		ASSERT_EQ(1, epoll_wait(ep, &ev, 1, T_WAIT_MS));
		ASSERT_EQ(0, expect(&p->evd[0], n, by_itself));
		ASSERT_EQ(0, expect(&p->evd[1], n, by_itself));
	}
	close(ep);
	close(fd);
	/* Polling works again after the last watcher of the EVD is gone. */
	EXPECT_EQ(0, join(p));
}

struct waiter {
	struct t_evd	*evd;
	int		ret;
	pthread_t	thread;
};

static void *waiter_main(void *arg)
{
	struct waiter *w = arg;

	w->ret = t_evd_wait(w->evd, 1, T_WAIT_MS);
	return NULL;
}

TEST_F_TIMEOUT(busy, with_a_waiter_it_is_EBUSY, 60)
{
	struct t_pair *p = &self->p;
	struct waiter w = { .evd = &p->evd[0], .ret = 1 };
	uint64_t end = now_ms() + T_WAIT_MS;

	ASSERT_EQ(0, join(p));
	pthread_create(&w.thread, NULL, waiter_main, &w);
	while (evd_says(w.evd, " waiting=") != 1 && now_ms() < end)
		usleep(1000);
	EXPECT_EQ(1, is_refused(w.evd));
	EXPECT_EQ(0, post_message(p, p->ep, 3));
	pthread_join(w.thread, NULL);
	EXPECT_EQ(0, w.ret);
}

TEST_F_TIMEOUT(busy, with_a_CNO_it_is_EBUSY, 60)
{
	struct t_pair *p = &self->p;
	struct dat_cno_create cno = { .size = sizeof(cno) };
	struct dat_evd_modify_cno set = { .size = sizeof(set), .id = p->evd[0].id };
	struct dat_cno_wait wait = { .size = sizeof(wait), .deadline_ns = DAT_WAIT_FOREVER };

	ASSERT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_CNO_CREATE, &cno));
	set.cno = cno.id;
	wait.id = cno.id;
	ASSERT_EQ(0, join(p));
	ASSERT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_EVD_MODIFY_CNO, &set));
	EXPECT_EQ(0, evd_says(&p->evd[0], "joined="));
	EXPECT_EQ(1, is_refused(&p->evd[0]));
	ASSERT_EQ(0, post_message(p, p->ep, 3));
	EXPECT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_CNO_WAIT, &wait));
	EXPECT_EQ(0, expect(&p->evd[0], 3, by_itself));
}

/*
 * Connect two more EPs.  ep[0] has three EVDs: evd[0] for receives, evd[1] for requests, evd[2] for
 * connection events.
 */
static int open_split(struct t_pair *p, struct t_evd evd[3], struct t_ep ep[2])
{
	struct dat_ep_create arg = {
		.pz = p->pz, .max_recv = T_QUEUE, .max_request = T_QUEUE, .max_recv_iov = 1,
		.max_request_iov = 1, .user_data = 10,
	};
	struct t_evd ends[2];
	int ret = 0, i;

	for (i = 0; i < 3 && !ret; i++)
		ret = t_evd(&p->f, BUSY_STREAMS, 64, &evd[i]);
	if (ret)
		return ret;
	arg.recv_evd = evd[0].id;
	arg.request_evd = evd[1].id;
	arg.connect_evd = evd[2].id;
	ret = t_any_ep(&p->f, &arg, &ep[0]);
	if (!ret)
		ret = t_ep(&p->f, p->pz, &p->evd[1], 0, 11, &ep[1]);
	if (ret)
		return ret;
	ends[0] = evd[2];
	ends[1] = p->evd[1];
	ret = t_connect_eps(p, ep, ends);
	evd[2] = ends[0];
	p->evd[1] = ends[1];
	return ret;
}

/*
 * Send one message in each direction.  Receives of ep[0] complete at evd[0], its requests at
 * evd[1].
 */
static int split_message(struct t_pair *p, struct t_evd evd[3], struct t_ep ep[2], uint64_t n,
			 int (*recv)(struct t_evd *evd), int (*request)(struct t_evd *evd))
{
	uint64_t addr = (uintptr_t)p->mem.va;
	int ret;

	ret = post_message(p, ep, n);
	if (!ret)
		ret = expect(&evd[0], n, recv);
	if (!ret)
		ret = expect(&p->evd[1], n, by_itself);
	if (!ret)
		ret = t_recv(&ep[1].rq, n, addr, p->mem.lkey, 64);
	if (!ret)
		ret = t_send(&ep[0], n, addr, p->mem.lkey, 64);
	if (!ret)
		ret = expect(&evd[1], n, request);
	return ret ? ret : expect(&p->evd[1], n, by_itself);
}

TEST_F_TIMEOUT(busy, of_an_EP_with_two_EVDs_only_the_polled_one_joins, 60)
{
	uint64_t n, end = now_ms() + T_WAIT_MS;
	struct t_pair *p = &self->p;
	struct t_evd evd[3];
	struct t_ep ep[2];
	long joined = 0;

	ASSERT_EQ(0, open_split(p, evd, ep));
	for (n = 0; n < 50 || (!joined && now_ms() < end); n++) {
		busy_poll(&evd[0], 0);
		ASSERT_EQ(0, split_message(p, evd, ep, n, by_looking, by_itself));
		joined |= evd_says(&evd[0], "joined=");
		ASSERT_EQ(0, evd_says(&evd[1], "joined="));
	}
	EXPECT_EQ(1, joined);
	/* A wait on evd[0] ends the polling of evd[0]. */
	EXPECT_EQ(-ETIMEDOUT, t_evd_wait(&evd[0], 1, 0));
	for (n = 0; n < 50; n++) {
		busy_poll(&evd[1], 0);
		ASSERT_EQ(0, split_message(p, evd, ep, n, by_itself, by_spinning));
		ASSERT_EQ(0, evd_says(&evd[0], "joined="));
	}
}

/* Second EVD for by_looking_at_both(), which polls two EVDs alternately. */
static struct t_evd *beside;

static int by_looking_at_both(struct t_evd *evd)
{
	uint64_t end = now_ms() + T_WAIT_MS;

	while (!there_is_one(evd) && now_ms() < end) {
		busy_poll(beside, 0);
		busy_poll(evd, 0);
	}
	return there_is_one(evd);
}

TEST_F_TIMEOUT(busy, two_EVDs_of_an_EP_are_polled_at_the_same_time, 60)
{
	uint64_t n, end = now_ms() + T_WAIT_MS;
	struct t_pair *p = &self->p;
	struct t_evd evd[3];
	struct t_ep ep[2];
	int joined = 0;

	ASSERT_EQ(0, open_split(p, evd, ep));
	for (n = 0; now_ms() < end && !joined; n++) {
		beside = &evd[1];
		busy_poll(&evd[0], 0);
		busy_poll(&evd[1], 0);
		ASSERT_EQ(0, split_message(p, evd, ep, n, by_looking_at_both, by_looking));
		busy_poll(&evd[0], 0);
		joined = evd_says(&evd[0], "joined=") == 1 && evd_says(&evd[1], "joined=") == 1;
	}
	EXPECT_EQ(1, joined);
	EXPECT_EQ(-ETIMEDOUT, t_evd_wait(&evd[1], 1, 0));
	EXPECT_EQ(0, evd_says(&evd[1], "joined="));
	EXPECT_EQ(0, split_message(p, evd, ep, 5, by_itself, by_itself));
}

#define MANY	4	/* pairs of EPs */

/* Make EVDs of @qlen events, and connect MANY EPs of evd[0] to EPs of evd[1]. */
static int open_many(struct t_pair *p, uint32_t qlen, struct t_evd evd[2], struct t_ep ep[MANY][2])
{
	int ret, i;

	ret = t_evd(&p->f, BUSY_STREAMS, qlen, &evd[0]) ||
	      t_evd(&p->f, BUSY_STREAMS, qlen, &evd[1]);
	for (i = 0; i < MANY && !ret; i++)
		ret = t_ep(&p->f, p->pz, &evd[0], 0, 10 + i, &ep[i][0]) ||
		      t_ep(&p->f, p->pz, &evd[1], 0, 20 + i, &ep[i][1]) ||
		      t_connect_eps(p, ep[i], evd);
	return ret;
}

/*
 * Send a message over each connection, all at the same time.  Returns 0 if each arrives once, with
 * the events of the sends.
 */
static int round_of_messages(struct t_pair *p, struct t_evd evd[2], struct t_ep ep[MANY][2])
{
	int (*const way[2])(struct t_evd *evd) = { by_looking, by_itself };
	int i, k, ret = 0, seen[2][MANY] = { 0 };
	struct dat_eqe eqe;

	busy_poll(&evd[0], 0);
	for (i = 0; i < MANY && !ret; i++)
		ret = post_message(p, ep[i], i);
	for (i = 0; i < 2 * MANY && !ret; i++) {
		k = i / MANY;
		if (!way[k](&evd[k]) || !take(&evd[k], &eqe))
			ret = -ETIMEDOUT;
		else if (eqe.type != DAT_EV_DTO || eqe.status || eqe.cookie >= MANY ||
			 eqe.owner != 10 + 10 * k + eqe.cookie || seen[k][eqe.cookie]++)
			ret = -EIO;
	}
	return ret;
}

/* Returns the largest number of CQs that evd[0] has polled at the same time, or -1. */
static long most_joined(struct t_pair *p, struct t_evd evd[2], struct t_ep ep[MANY][2], long enough)
{
	uint64_t n, end = now_ms() + T_WAIT_MS;
	long joined = 0, now;

	for (n = 0; n < 50 || (joined < enough && now_ms() < end); n++) {
		if (round_of_messages(p, evd, ep))
			return -1;
		now = evd_says(&evd[0], "joined=");
		joined = now > joined ? now : joined;
	}
	return joined;
}

TEST_F_TIMEOUT(busy, several_connections_are_polled_by_one_EVD, 60)
{
	struct t_ep ep[MANY][2];
	struct t_evd evd[2];

	ASSERT_EQ(0, open_many(&self->p, 16 * MANY * T_QUEUE, evd, ep));
	/* They share a CQ. */
	EXPECT_EQ(1, most_joined(&self->p, evd, ep, 1));
	EXPECT_EQ(-ETIMEDOUT, t_evd_wait(&evd[0], 1, 0));
	EXPECT_EQ(0, evd_says(&evd[0], "joined="));
}

TEST_F_TIMEOUT(busy, an_EVD_that_is_short_has_more_CQs, 60)
{
	struct t_ep ep[MANY][2];
	struct t_evd evd[2];

	ASSERT_EQ(0, open_many(&self->p, 2 * MANY, evd, ep));
	EXPECT_EQ(2, most_joined(&self->p, evd, ep, 2));
	EXPECT_EQ(-ETIMEDOUT, t_evd_wait(&evd[0], 1, 0));
	EXPECT_EQ(0, evd_says(&evd[0], "joined="));
}

/* Disconnect ep[0], and take the events of both ends.  Returns 0, or 1 if one is wrong. */
static int end_pair(struct t_pair *p, struct t_ep ep[2], struct t_evd evd[2])
{
	struct dat_eqe eqe;
	int i;

	if (t_disconnect(&p->f, &ep[0], 0))
		return 1;
	for (i = 0; i < 2; i++)
		if (!by_spinning(&evd[i]) || !take(&evd[i], &eqe) ||
		    eqe.type != DAT_EV_DISCONNECTED)
			return 1;
	return 0;
}

TEST_F_TIMEOUT(busy, a_connection_that_ends_leaves_the_others_polled, 60)
{
	struct t_pair *p = &self->p;
	struct t_ep ep[MANY][2];
	struct t_evd evd[2];
	int i, k;

	ASSERT_EQ(0, open_many(p, 16 * MANY * T_QUEUE, evd, ep));
	ASSERT_EQ(1, most_joined(p, evd, ep, 1));
	ASSERT_EQ(0, end_pair(p, ep[0], evd));
	for (k = 0; k < 20; k++) {
		for (i = 1; i < MANY; i++)
			ASSERT_EQ(0, message(p, ep[i], evd, i, by_looking)) TH_LOG("%d %d", k, i);
	}
	for (i = 1; i < MANY; i++)
		ASSERT_EQ(0, end_pair(p, ep[i], evd));
}

/*
 * Threads that poll for receives over lo0 take requests from the sender's ring, which needs no
 * kicks then.  A sender that polls for its completions does not depend on these threads.
 */
TEST_F_TIMEOUT(busy, a_sender_that_polls_does_not_wait_for_the_receiver, 60)
{
	struct t_pair *p = &self->p;
	unsigned int at_once = 0;
	uint64_t n;

	if (t_is_device(&p->f))
		SKIP(return, "a device carries requests out by itself");
	ASSERT_EQ(0, join(p));
	for (n = 0; n < 200; n++) {
		ASSERT_EQ(0, post_message(p, p->ep, n));
		busy_poll(&p->evd[1], 0);
		at_once += there_is_one(&p->evd[1]);
		ASSERT_EQ(0, expect(&p->evd[0], n, by_looking));
		ASSERT_EQ(0, expect(&p->evd[1], n, by_looking));
		/* The receiver has polled a moment before the next message. */
		busy_poll(&p->evd[0], 0);
	}
	/* Another thread may have the lane now and then. */
	EXPECT_LE(150, at_once);
}

TEST_F_TIMEOUT(busy, the_end_of_a_connection_is_seen_by_polling, 60)
{
	uint64_t end = now_ms() + T_WAIT_MS;
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	int i;

	ASSERT_EQ(0, join(p));
	ASSERT_EQ(0, t_recv(&p->ep[0].rq, 9, (uintptr_t)p->mem.va, p->mem.lkey, 64));
	ASSERT_EQ(0, t_disconnect(&p->f, &p->ep[0], 0));
	ASSERT_EQ(1, by_spinning(&p->evd[0]));
	ASSERT_EQ(1, take(&p->evd[0], &eqe));
	EXPECT_EQ(DAT_ST_FLUSHED, eqe.status);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(1, by_spinning(&p->evd[i]));
		ASSERT_EQ(1, take(&p->evd[i], &eqe));
		EXPECT_EQ(DAT_EV_DISCONNECTED, eqe.type);
		ASSERT_EQ(0, t_reset(&p->f, &p->ep[i]));
	}
	/* A CQ without connections leaves, although the EVD is polled. */
	while (now_ms() < end && evd_says(&p->evd[0], "joined="))
		busy_poll(&p->evd[0], 0);
	EXPECT_EQ(0, evd_says(&p->evd[0], "joined="));
	ASSERT_EQ(0, t_pair_connect(p));
	EXPECT_EQ(0, join(p));
}

static void on_signal(int sig)
{
}

struct bell {
	pthread_t	whom;
	pthread_t	thread;
	atomic_bool	heard;
};

/* One signal is not enough: it may arrive between two spins, which both return -EAGAIN. */
static void *bell_main(void *arg)
{
	struct bell *b = arg;

	while (!b->heard) {
		usleep(100000);
		pthread_kill(b->whom, SIGUSR1);
	}
	return NULL;
}

TEST_F_TIMEOUT(busy, a_signal_ends_a_spin_with_EINTR, 60)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct bell b = { .whom = pthread_self() };
	int ret = -EAGAIN;

	sigaction(SIGUSR1, &sa, NULL);
	pthread_create(&b.thread, NULL, bell_main, &b);
	while (ret == -EAGAIN)
		ret = busy_poll(&self->p.evd[0], LONG_US);
	EXPECT_EQ(-EINTR, ret);
	b.heard = true;
	pthread_join(b.thread, NULL);
}

struct spinner {
	struct t_evd	*evd;
	int		ret;
	pthread_t	thread;
};

/* Poll until EVD_POLL returns a result other than -EAGAIN. */
static void *spinner_main(void *arg)
{
	struct spinner *s = arg;

	do {
		s->ret = busy_poll(s->evd, LONG_US);
	} while (s->ret == -EAGAIN);
	return NULL;
}

static void spinner_start(struct spinner *s, struct t_evd *evd)
{
	uint64_t end = now_ms() + T_WAIT_MS;

	*s = (struct spinner) { .evd = evd };
	pthread_create(&s->thread, NULL, spinner_main, s);
	while (!evd_says(evd, "polled=") && now_ms() < end)
		;
}

TEST_F_TIMEOUT(busy, IA_CLOSE_ends_a_spin, 60)
{
	struct dat_ia_close arg = { .size = sizeof(arg) };
	struct spinner s;

	ASSERT_EQ(0, join(&self->p));
	spinner_start(&s, &self->p.evd[0]);
	EXPECT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_IA_CLOSE, &arg));
	pthread_join(s.thread, NULL);
	EXPECT_TRUE(s.ret == -ESHUTDOWN || s.ret == -ENODEV) TH_LOG("%d", s.ret);
	EXPECT_EQ(-ENODEV, busy_poll(&self->p.evd[0], 0));
}

TEST_F_TIMEOUT(busy, the_end_of_the_EVD_ends_a_spin, 60)
{
	struct t_pair *p = &self->p;
	struct spinner s;
	struct t_evd evd;

	ASSERT_EQ(0, t_evd(&p->f, BUSY_STREAMS, 8, &evd));
	spinner_start(&s, &evd);
	EXPECT_EQ(0, t_free(&p->f, DAT_OBJ_EVD, evd.id));
	pthread_join(s.thread, NULL);
	EXPECT_TRUE(s.ret == -ESHUTDOWN || s.ret == -ENOENT) TH_LOG("%d", s.ret);
	EXPECT_EQ(-ENOENT, busy_poll(&evd, 0));
}

struct beginner {
	struct t_evd	*evd;
	atomic_int	ready;
	int		ret;	/* result of the last poll */
	uint64_t	took;	/* duration of the last poll in ms */
	pthread_t	thread;
};

/* Begin to poll, again and again, until the EVD has gone. */
static void *beginner_main(void *arg)
{
	struct beginner *b = arg;
	uint64_t start;

	b->ready = 1;
	do {
		start = now_ms();
		b->ret = busy_poll(b->evd, LONG_US);
		b->took = now_ms() - start;
	} while (b->ret == -EAGAIN);
	return NULL;
}

/*
 * The free ends the polls that have begun, and lets no other begin.  A poll that slips between both
 * spins on for LONG_US.  A busy machine may stop a thread as long, but not several times.
 */
TEST_F_TIMEOUT(busy, a_poll_that_begins_beside_the_free_ends_with_it, 120)
{
	struct beginner b;
	int i, j, late = 0;
	struct t_evd evd;

	for (i = 0; i < FREES && late <= 2; i++) {
		ASSERT_EQ(0, t_evd(&self->p.f, BUSY_STREAMS, 8, &evd));
		b = (struct beginner) { .evd = &evd };
		ASSERT_EQ(0, pthread_create(&b.thread, NULL, beginner_main, &b));
		while (!b.ready)
			;
		for (j = 0; j < i % 64 * 32; j++)
			__asm__ volatile("" ::: "memory");
		EXPECT_EQ(0, t_free(&self->p.f, DAT_OBJ_EVD, evd.id));
		pthread_join(b.thread, NULL);
		/* -EBUSY would say that the consumer needs notifications. */
		ASSERT_TRUE(b.ret == -ESHUTDOWN || b.ret == -ENOENT)
			TH_LOG("round %d: %d", i, b.ret);
		late += b.took >= LONG_US / 1000 * 9 / 10;
	}
	EXPECT_GE(2, late);
}

TEST_F_TIMEOUT(busy, a_software_event_ends_a_spin, 60)
{
	struct dat_evd_post post = { .size = sizeof(post) };
	struct t_pair *p = &self->p;
	struct spinner s;
	struct t_evd evd;

	ASSERT_EQ(0, t_evd(&p->f, DAT_STREAM_SOFTWARE, 8, &evd));
	spinner_start(&s, &evd);
	post.id = evd.id;
	EXPECT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_EVD_POST, &post));
	pthread_join(s.thread, NULL);
	EXPECT_EQ(0, s.ret);
}

TEST_F_TIMEOUT(busy, exit_in_the_midst_of_it_is_no_harm, 60)
{
	struct t_pair *p = &self->p;
	struct spinner s[2];

	ASSERT_EQ(0, join(p));
	spinner_start(&s[0], &p->evd[0]);
	spinner_start(&s[1], &p->evd[1]);
	ASSERT_EQ(0, post_message(p, p->ep, 1));
	/* The threads are still polling when the process exits. */
}

/*
 * meddler_main() runs in threads that disturb the main pair: the threads poll, wait on and watch
 * the EVDs of the pair, but dequeue no event.
 */
static int stop;

static void *meddler_main(void *arg)
{
	struct t_evd *evd = arg;
	struct pollfd p = { .fd = evd_fd(evd), .events = POLLIN };
	unsigned int seed = evd->id;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		switch (rand_r(&seed) % 6) {
		case 0:
			t_evd_wait(evd, 1, rand_r(&seed) % 2);
			break;
		case 1:
			poll(&p, 1, rand_r(&seed) % 3);
			break;
		case 2:
			usleep(rand_r(&seed) % 5000);
			break;
		case 3:
			busy_poll(evd, rand_r(&seed) % 2000);
			break;
		default:
			busy_poll(evd, 0);
		}
	}
	close(p.fd);
	return NULL;
}

struct churn {
	struct t_pair	*p;
	unsigned int	rounds;
	int		ret;
	pthread_t	thread;
};

/*
 * Create a connection that reports to the EVDs of the main pair, and free its EPs while messages
 * are in flight.
 */
static int churn_once(struct t_pair *p, struct t_evd own[2], unsigned int n)
{
	struct dat_ep_create arg = {
		.pz = p->pz, .max_recv = T_QUEUE, .max_request = T_QUEUE, .max_recv_iov = 1,
		.max_request_iov = 1, .user_data = 99, .request_flags = 0,
	};
	struct t_ep ep[2];
	int ret = 0, i;

	for (i = 0; i < 2 && !ret; i++) {
		arg.recv_evd = p->evd[i].id;
		arg.request_evd = p->evd[(i + n) % 2].id;
		arg.connect_evd = own[i].id;
		ret = t_any_ep(&p->f, &arg, &ep[i]);
	}
	if (!ret)
		ret = t_connect_eps(p, ep, own);
	for (i = 0; i < 8 && !ret; i++)
		ret = post_message(p, ep, n);
	if (!ret && n % 3)
		t_disconnect(&p->f, &ep[n % 2], n % 4 ? DAT_DISCONNECT_GRACEFUL : 0);
	for (i = 0; i < 2; i++) {
		if (!ret)
			ret = t_free(&p->f, DAT_OBJ_EP, ep[i].id);
		t_unmap(&ep[i].submit);
		t_unmap(&ep[i].status);
	}
	/* Skip the connection events of the freed EPs. */
	for (i = 0; i < 2; i++)
		own[i].head = ((struct dat_evd_status *)own[i].status.va)->tail;
	return ret;
}

static void *churn_main(void *arg)
{
	struct churn *c = arg;
	struct t_evd own[2];
	int i;

	for (i = 0; i < 2; i++)
		t_evd(&c->p->f, DAT_STREAM_CONNECTION, 256, &own[i]);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED) && !c->ret) {
		c->ret = churn_once(c->p, own, c->rounds++);
		for (i = 0; i < 2; i++)
			__atomic_store_n(&((struct dat_evd_head *)own[i].submit.va)->head,
					 own[i].head, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Wait for the next event of the main pair, and drop the events of churn_once() (owner 99). */
static int await_own(struct t_evd *evd, uint64_t n, unsigned int *seed)
{
	struct dat_eqe eqe;

	do {
		if (!ways[rand_r(seed) % NWAYS](evd) || !take(evd, &eqe))
			return -ETIMEDOUT;
	} while (eqe.owner == 99);
	return eqe.type == DAT_EV_DTO && !eqe.status && eqe.cookie == n ? 0 : -EIO;
}

static int own_traffic(struct t_pair *p, unsigned int seconds, uint64_t *n)
{
	uint64_t end = now_ms() + seconds * 1000;
	unsigned int seed = 7;
	int ret = 0, side;

	for (*n = 0; now_ms() < end && !ret; ++*n) {
		ret = post_message(p, p->ep, *n);
		for (side = 0; side < 2 && !ret; side++)
			ret = await_own(&p->evd[side], *n, &seed);
	}
	return ret;
}

/*
 * Each event must wake the call that waits for the event, whatever the meddler threads and
 * churn_main() do.
 */
TEST_F_TIMEOUT(busy, no_event_is_lost_among_those_who_poll_wait_watch_and_close, 120)
{
	struct t_pair *p = &self->p;
	struct churn c = { .p = p };
	pthread_t meddler[4];
	uint64_t n;
	int i;

	stop = 0;
	for (i = 0; i < 4; i++)
		pthread_create(&meddler[i], NULL, meddler_main, &p->evd[i % 2]);
	pthread_create(&c.thread, NULL, churn_main, &c);
	EXPECT_EQ(0, own_traffic(p, 8, &n)) TH_LOG("message %llu", (unsigned long long)n);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 4; i++)
		pthread_join(meddler[i], NULL);
	pthread_join(c.thread, NULL);
	EXPECT_EQ(0, c.ret);
	TH_LOG("%llu messages, %u connections", (unsigned long long)n, c.rounds);
}

TEST_HARNESS_MAIN
