// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* dat_linux_evd_busy_poll(): with busy polling, all events arrive and waits keep their timeouts. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "api_conform.h"
#include "clock.h"

#define MESSAGES	300
#define LONG_US		1000000
#define SHORT_US	10000

FIXTURE(busy) {
	struct a_pair p;
	DAT_EVD_HANDLE soft;
};

FIXTURE_SETUP(busy)
{
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, a_open(p));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, p->ep[1], p->ep[0], p->evd[1], p->evd[0]));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG,
					      &self->soft));
	ASSERT_EQ(DAT_SUCCESS, dat_linux_evd_busy_poll(p->evd[0], LONG_US));
	ASSERT_EQ(DAT_SUCCESS, dat_linux_evd_busy_poll(self->soft, LONG_US));
}

FIXTURE_TEARDOWN(busy)
{
	a_close(&self->p);
}

static int by_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	uint64_t end = now_us() + A_WAIT_US;
	DAT_RETURN rc;

	do {
		rc = dat_evd_dequeue(evd, event);
	} while (TYPE(rc) == DAT_QUEUE_EMPTY && now_us() < end);
	return rc == DAT_SUCCESS;
}

static int by_wait(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	return a_event(evd, A_WAIT_US, event);
}

static int good(const DAT_EVENT *event, uint64_t cookie)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	return event->event_number == DAT_DTO_COMPLETION_EVENT &&
	       dto->status == DAT_DTO_SUCCESS && dto->user_cookie.as_64 == cookie;
}

/*
 * Send messages from ep[1] to ep[0] and get each receive event by @how.  Return 0, or the number of
 * the message that failed.
 */
static int traffic(struct a_pair *p, int (*how)(DAT_EVD_HANDLE evd, DAT_EVENT *event))
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_EVENT event;
	int n;

	for (n = 1; n <= MESSAGES; n++)
		if (dat_ep_post_recv(p->ep[0], 1, &seg, a_cookie(n), 0) ||
		    dat_ep_post_send(p->ep[1], 1, &seg, a_cookie(n), 0) ||
		    !how(p->evd[0], &event) || !good(&event, n) ||
		    a_dto(p->evd[1], NULL, NULL) != DAT_DTO_SUCCESS)
			return n;
	return 0;
}

TEST_F_TIMEOUT(busy, dequeue_finds_every_event, 60)
{
	EXPECT_EQ(0, traffic(&self->p, by_dequeue));
}

TEST_F_TIMEOUT(busy, a_wait_finds_every_event, 60)
{
	EXPECT_EQ(0, traffic(&self->p, by_wait));
}

TEST_F_TIMEOUT(busy, it_can_be_changed_and_ended_at_any_time, 60)
{
	static const DAT_UINT32 usecs[] = { 0, 1, LONG_US, 0, 50 };
	unsigned int i;

	for (i = 0; i < sizeof(usecs) / sizeof(usecs[0]); i++) {
		EXPECT_EQ(DAT_SUCCESS, dat_linux_evd_busy_poll(self->p.evd[0], usecs[i]));
		EXPECT_EQ(0, traffic(&self->p, i % 2 ? by_wait : by_dequeue));
	}
}

/* Covers: SH 23 */
TEST_F_TIMEOUT(busy, a_wait_takes_no_longer_than_its_timeout, 60)
{
	uint64_t start = now_us();
	DAT_EVENT event;
	DAT_COUNT nmore;
	int i;

	for (i = 0; i < 20; i++)
		EXPECT_EQ(RC(DAT_TIMEOUT_EXPIRED, 0),
			  dat_evd_wait(self->soft, SHORT_US, 1, &event, &nmore));
	EXPECT_LE(20 * SHORT_US, now_us() - start);
	EXPECT_GT(20 * LONG_US / 4, now_us() - start);
	EXPECT_EQ(RC(DAT_TIMEOUT_EXPIRED, 0), dat_evd_wait(self->soft, 0, 1, &event, &nmore));
}

/* Covers: SH 21, 22, 23 */
TEST_F_TIMEOUT(busy, fewer_events_than_the_threshold_do_not_end_a_wait, 60)
{
	uint64_t start = now_us();
	DAT_EVENT event;
	DAT_COUNT nmore;

	ASSERT_EQ(DAT_SUCCESS, c_soft(self->soft, 0));
	EXPECT_EQ(RC(DAT_TIMEOUT_EXPIRED, 0),
		  dat_evd_wait(self->soft, SHORT_US, 2, &event, &nmore));
	EXPECT_EQ(1, nmore);
	EXPECT_LE(SHORT_US, now_us() - start);
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->soft, 0));
	EXPECT_EQ(DAT_SUCCESS, dat_evd_wait(self->soft, SHORT_US, 2, &event, &nmore));
	EXPECT_EQ(1, nmore);
}

static void *post_twice(void *evd)
{
	int i;

	for (i = 0; i < 2; i++) {
		usleep(A_QUIET_US);
		c_soft(evd, 0);
	}
	return NULL;
}

/* Covers: SH 21 */
TEST_F_TIMEOUT(busy, a_wait_for_two_ends_with_the_second, 60)
{
	DAT_EVENT event;
	DAT_COUNT nmore;
	pthread_t thread;

	pthread_create(&thread, NULL, post_twice, self->soft);
	EXPECT_EQ(DAT_SUCCESS, dat_evd_wait(self->soft, A_WAIT_US, 2, &event, &nmore));
	EXPECT_EQ(1, nmore);
	pthread_join(thread, NULL);
}

static void *make_unwaitable(void *evd)
{
	usleep(A_QUIET_US);
	dat_evd_set_unwaitable(evd);
	return NULL;
}

/* Covers: SH 25 */
TEST_F_TIMEOUT(busy, unwaitable_ends_a_wait, 60)
{
	DAT_EVENT event;
	DAT_COUNT nmore;
	pthread_t thread;

	pthread_create(&thread, NULL, make_unwaitable, self->soft);
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE),
		  dat_evd_wait(self->soft, A_WAIT_US, 1, &event, &nmore));
	pthread_join(thread, NULL);
}

static void on_signal(int sig)
{
}

static void *ring(void *thread)
{
	usleep(A_QUIET_US);
	pthread_kill(*(pthread_t *)thread, SIGUSR1);
	return NULL;
}

/* Covers: SH 23 */
TEST_F_TIMEOUT(busy, a_signal_ends_a_wait_that_sleeps, 60)
{
	struct sigaction sa = { .sa_handler = on_signal };
	pthread_t me = pthread_self(), thread;
	DAT_EVENT event;
	DAT_COUNT nmore;

	sigaction(SIGUSR1, &sa, NULL);
	ASSERT_EQ(DAT_SUCCESS, dat_linux_evd_busy_poll(self->soft, 10));
	pthread_create(&thread, NULL, ring, &me);
	EXPECT_EQ(RC(DAT_INTERRUPTED_CALL, 0),
		  dat_evd_wait(self->soft, A_WAIT_US, 1, &event, &nmore));
	pthread_join(thread, NULL);
}

struct waiter {
	DAT_EVD_HANDLE	evd;
	DAT_RETURN	rc;
};

static void *wait_for_it(void *arg)
{
	struct waiter *w = arg;
	DAT_EVENT event;
	DAT_COUNT nmore;

	w->rc = dat_evd_wait(w->evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore);
	return NULL;
}

/* Covers: SH 28 */
TEST_F_TIMEOUT(busy, closing_the_IA_ends_a_wait, 60)
{
	struct waiter w = { .evd = self->p.evd[0] };
	pthread_t thread;

	pthread_create(&thread, NULL, wait_for_it, &w);
	usleep(A_QUIET_US / 10);
	ASSERT_EQ(DAT_SUCCESS, dat_ia_close(self->p.ia, DAT_CLOSE_ABRUPT_FLAG));
	pthread_join(thread, NULL);
	EXPECT_EQ(DAT_ABORT, TYPE(w.rc));
}

TEST_F(busy, its_arguments_are_checked)
{
	struct a_pair *p = &self->p;

	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
		  dat_linux_evd_busy_poll(DAT_HANDLE_NULL, 1));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
		  dat_linux_evd_busy_poll(p->ep[0], 1));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_linux_evd_busy_poll(p->evd[0], LONG_US + 1));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_linux_evd_busy_poll(p->evd[0], ~0U));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_free(self->soft));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
		  dat_linux_evd_busy_poll(self->soft, 1));
}

TEST_HARNESS_MAIN
