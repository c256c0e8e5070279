// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * EPs with the SOLICITED_WAIT attribute: a receive notifies only for a solicited message or an
 * error.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "api_conform.h"
#include "clock.h"

#define ASK		DAT_COMPLETION_SOLICITED_WAIT_FLAG
#define SILENT		9		/* number of unsolicited messages before a solicited one */
#define SHORT_US	500000		/* timeout that is to expire */

/* A connection on which @out sends to @in.  The receives of @in complete to the fixture's @evd. */
struct link {
	DAT_EP_HANDLE	in;
	DAT_EP_HANDLE	out;
};

FIXTURE(solicited) {
	struct a_pair p;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	struct link l;
};

static DAT_RETURN post(struct link *l, int first, int n)
{
	DAT_RETURN rc = DAT_SUCCESS;
	int i;

	for (i = 0; i < n && rc == DAT_SUCCESS; i++)
		rc = dat_ep_post_recv(l->in, 0, NULL, a_cookie(first + i), 0);
	return rc;
}

/* Make and connect the EPs of @l.  Post @n receives with the cookies 0 to @n - 1. */
static DAT_RETURN link_with(struct a_pair *p, DAT_EVD_HANDLE evd, struct link *l, int n)
{
	DAT_EP_ATTR attr = a_attr(p);
	DAT_RETURN rc;

	attr.recv_completion_flags = ASK;
	if (n > attr.max_recv_dtos)
		attr.max_recv_dtos = n;
	rc = dat_ep_create(p->ia, p->pz, evd, p->evd[0], p->evd[0], &attr, &l->in);
	if (rc == DAT_SUCCESS)
		rc = dat_ep_create(p->ia, p->pz, p->evd[1], p->evd[1], p->evd[1], NULL, &l->out);
	if (rc == DAT_SUCCESS)
		rc = post(l, 0, n);
	return rc == DAT_SUCCESS ? a_connect(p, l->out, l->in, p->evd[1], p->evd[0]) : rc;
}

static DAT_RETURN link_make(struct a_pair *p, DAT_EVD_HANDLE evd, struct link *l)
{
	return link_with(p, evd, l, SILENT + 1);
}

FIXTURE_SETUP(solicited)
{
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, a_open(p));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_create(p->ia, agent, &self->cno));
	ASSERT_EQ(DAT_SUCCESS,
		  dat_evd_create(p->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &self->evd));
	ASSERT_EQ(DAT_SUCCESS, link_make(p, self->evd, &self->l));
}

FIXTURE_TEARDOWN(solicited)
{
	a_close(&self->p);
}

/* Send @n messages with @flags and wait until the sends have completed. */
static int say(struct a_pair *p, struct link *l, int n, DAT_COMPLETION_FLAGS flags)
{
	int i;

	for (i = 0; i < n; i++)
		if (dat_ep_post_send(l->out, 0, NULL, a_cookie(100), flags) != DAT_SUCCESS ||
		    a_dto(p->evd[1], NULL, NULL) != DAT_DTO_SUCCESS)
			return 0;
	return 1;
}

/* Dequeue all events.  Return their number, or -1 unless the cookies are @first, @first + 1, ... */
static int dequeue_all(DAT_EVD_HANDLE evd, int first)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	int n = 0;

	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS) {
		dto = &event.event_data.dto_completion_event_data;
		if (dto->status != DAT_DTO_SUCCESS ||
		    dto->user_cookie.as_64 != (DAT_UINT64)(first + n))
			return -1;
		n++;
	}
	return n;
}

struct waiter {
	DAT_EVD_HANDLE	evd;
	DAT_TIMEOUT	timeout;
	DAT_EVENT	event;
	DAT_COUNT	nmore;
	DAT_RETURN	rc;
};

static void *wait_for_one(void *arg)
{
	struct waiter *w = arg;

	w->rc = dat_evd_wait(w->evd, w->timeout, 1, &w->event, &w->nmore);
	return NULL;
}

static int waiter_start(struct waiter *w, pthread_t *thread)
{
	if (pthread_create(thread, NULL, wait_for_one, w))
		return 0;
	/* Let the waiter sleep before the test sends the first message. */
	usleep(A_QUIET_US);
	return 1;
}

/*
 * The solicited message must wake the waiter.  If an earlier message woke the waiter, fewer events
 * would be left.
 */
/* Covers: dat_evd_wait; SH 18 */
TEST_F_TIMEOUT(solicited, a_waiter_is_woken_by_the_one_message_that_asks, 60)
{
	struct waiter w = { .evd = self->evd, .timeout = A_WAIT_US };
	pthread_t thread;

	ASSERT_TRUE(waiter_start(&w, &thread));
	ASSERT_TRUE(say(&self->p, &self->l, SILENT, 0));
	usleep(A_QUIET_US);
	ASSERT_TRUE(say(&self->p, &self->l, 1, ASK));
	pthread_join(thread, NULL);
	ASSERT_EQ(DAT_SUCCESS, w.rc);
	EXPECT_EQ(0, w.event.event_data.dto_completion_event_data.user_cookie.as_64);
	EXPECT_EQ(SILENT, w.nmore);
	EXPECT_EQ(SILENT, dequeue_all(self->evd, 1));
}

/*
 * Receives that are posted on an open connection must reach the device before the messages come:
 * the completion of an unsolicited message passes none of them on.
 */
/* Covers: dat_ep_post_recv; SH 18 */
TEST_F_TIMEOUT(solicited, receives_posted_one_by_one_take_messages_that_do_not_ask, 60)
{
	DAT_EVD_HANDLE evd;
	struct waiter w = { .timeout = A_WAIT_US };
	pthread_t thread;
	struct link l;

	ASSERT_EQ(DAT_SUCCESS,
		  dat_evd_create(self->p.ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	ASSERT_EQ(DAT_SUCCESS, link_with(&self->p, evd, &l, 0));
	ASSERT_EQ(DAT_SUCCESS, post(&l, 0, SILENT + 1));
	w.evd = evd;
	ASSERT_TRUE(waiter_start(&w, &thread));
	ASSERT_TRUE(say(&self->p, &l, SILENT, 0));
	ASSERT_TRUE(say(&self->p, &l, 1, ASK));
	pthread_join(thread, NULL);
	ASSERT_EQ(DAT_SUCCESS, w.rc);
	EXPECT_EQ(SILENT, w.nmore);
	EXPECT_EQ(SILENT, dequeue_all(evd, 1));
}

/*
 * On a device whose CQs are short (mean.sh), some of the receives wait in the ring until others
 * have completed.
 */
/* Covers: dat_ep_post_recv; SH 18 */
TEST_F_TIMEOUT(solicited, more_receives_than_the_device_holds_take_messages_that_do_not_ask, 60)
{
	enum { MANY = 64 };
	DAT_EVD_HANDLE evd;
	struct waiter w = { .timeout = A_WAIT_US };
	pthread_t thread;
	struct link l;

	ASSERT_EQ(DAT_SUCCESS,
		  dat_evd_create(self->p.ia, MANY, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	ASSERT_EQ(DAT_SUCCESS, link_with(&self->p, evd, &l, MANY));
	w.evd = evd;
	ASSERT_TRUE(waiter_start(&w, &thread));
	ASSERT_TRUE(say(&self->p, &l, MANY - 1, 0));
	ASSERT_TRUE(say(&self->p, &l, 1, ASK));
	pthread_join(thread, NULL);
	ASSERT_EQ(DAT_SUCCESS, w.rc);
	EXPECT_EQ(MANY - 1, w.nmore);
	EXPECT_EQ(MANY - 1, dequeue_all(evd, 1));
}

/* Covers: dat_cno_wait; SH 18, 26 */
TEST_F_TIMEOUT(solicited, a_cno_is_triggered_by_the_one_message_that_asks, 60)
{
	DAT_EVD_HANDLE hint;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_modify_cno(self->evd, self->cno));
	ASSERT_TRUE(say(&self->p, &self->l, SILENT, 0));
	EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_cno_wait(self->cno, A_QUIET_US, &hint));
	ASSERT_TRUE(say(&self->p, &self->l, 1, ASK));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_wait(self->cno, A_WAIT_US, &hint));
	EXPECT_EQ(self->evd, hint);
	EXPECT_EQ(SILENT + 1, dequeue_all(self->evd, 0));
	EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_cno_wait(self->cno, A_QUIET_US, &hint));
}

/* Covers: dat_cno_wait; SH 18 */
TEST_F_TIMEOUT(solicited, each_message_that_asks_triggers_again, 60)
{
	DAT_EVD_HANDLE hint;
	int i;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_modify_cno(self->evd, self->cno));
	for (i = 0; i < 2 * SILENT; i += 2) {
		ASSERT_TRUE(say(&self->p, &self->l, 1, 0));
		ASSERT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_cno_wait(self->cno, A_QUIET_US, &hint));
		ASSERT_TRUE(say(&self->p, &self->l, 1, ASK));
		ASSERT_EQ(DAT_SUCCESS, dat_cno_wait(self->cno, A_WAIT_US, &hint));
		ASSERT_EQ(2, dequeue_all(self->evd, i % (SILENT + 1)));
		ASSERT_EQ(DAT_SUCCESS, post(&self->l, i % (SILENT + 1), 2));
	}
}

/* Covers: SH 18 */
TEST_F_TIMEOUT(solicited, a_descriptor_is_readable_after_the_one_message_that_asks, 60)
{
	struct pollfd pfd = { .events = POLLIN };

	ASSERT_EQ(DAT_SUCCESS, dat_linux_evd_fd(self->evd, &pfd.fd));
	ASSERT_TRUE(say(&self->p, &self->l, SILENT, 0));
	EXPECT_EQ(0, poll(&pfd, 1, A_QUIET_US / 1000));
	ASSERT_TRUE(say(&self->p, &self->l, 1, ASK));
	EXPECT_EQ(1, poll(&pfd, 1, A_WAIT_US / 1000));
	EXPECT_EQ(SILENT + 1, dequeue_all(self->evd, 0));
	EXPECT_EQ(0, poll(&pfd, 1, 0));
	close(pfd.fd);
}

/* Covers: dat_evd_dequeue; SH 18 */
TEST_F_TIMEOUT(solicited, the_next_dequeue_finds_messages_that_do_not_ask, 60)
{
	ASSERT_TRUE(say(&self->p, &self->l, SILENT, 0));
	EXPECT_EQ(SILENT, dequeue_all(self->evd, 0));
}

/* Covers: dat_evd_wait; SH 18, 23 */
TEST_F_TIMEOUT(solicited, the_next_wait_finds_messages_that_do_not_ask, 60)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	ASSERT_TRUE(say(&self->p, &self->l, 1, 0));
	EXPECT_EQ(DAT_SUCCESS, dat_evd_wait(self->evd, 0, 1, &event, &nmore));
	ASSERT_TRUE(say(&self->p, &self->l, 1, 0));
	EXPECT_EQ(DAT_SUCCESS, dat_evd_wait(self->evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	EXPECT_EQ(1, event.event_data.dto_completion_event_data.user_cookie.as_64);
	EXPECT_EQ(RC(DAT_TIMEOUT_EXPIRED, 0), dat_evd_wait(self->evd, 0, 1, &event, &nmore));
}

/* Covers: dat_evd_wait TIMEOUT_EXPIRED; SH 18, 23 */
TEST_F_TIMEOUT(solicited, the_end_of_its_time_wakes_a_waiter, 60)
{
	struct waiter w = { .evd = self->evd, .timeout = SHORT_US };
	pthread_t thread;

	ASSERT_TRUE(waiter_start(&w, &thread));
	pthread_join(thread, NULL);
	EXPECT_EQ(RC(DAT_TIMEOUT_EXPIRED, 0), w.rc);
}

/* Covers: dat_evd_wait; SH 18, 22 */
TEST_F_TIMEOUT(solicited, the_end_of_its_time_finds_messages_that_do_not_ask, 60)
{
	struct waiter w = { .evd = self->evd, .timeout = 4 * A_QUIET_US };
	pthread_t thread;

	ASSERT_TRUE(waiter_start(&w, &thread));
	ASSERT_TRUE(say(&self->p, &self->l, SILENT, 0));
	pthread_join(thread, NULL);
	EXPECT_EQ(DAT_SUCCESS, w.rc);
	EXPECT_EQ(SILENT - 1, w.nmore);
}

/* Covers: dat_evd_wait; SH 18 */
TEST_F_TIMEOUT(solicited, an_error_wakes_a_waiter, 60)
{
	struct waiter w = { .evd = self->evd, .timeout = A_WAIT_US };
	pthread_t thread;

	ASSERT_TRUE(waiter_start(&w, &thread));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(self->l.out, DAT_CLOSE_ABRUPT_FLAG));
	pthread_join(thread, NULL);
	ASSERT_EQ(DAT_SUCCESS, w.rc);
	EXPECT_EQ(DAT_DTO_ERR_FLUSHED, w.event.event_data.dto_completion_event_data.status);
}

/* The message makes the only remaining receive fail, so no flushed receive can wake the waiter. */
/* Covers: dat_evd_wait; SH 18 */
TEST_F_TIMEOUT(solicited, a_message_that_fails_wakes_a_waiter, 60)
{
	struct waiter w = { .evd = self->evd, .timeout = A_WAIT_US };
	DAT_LMR_TRIPLET seg = a_seg(&self->p.mem, 0, 64);
	pthread_t thread;

	ASSERT_TRUE(say(&self->p, &self->l, SILENT, 0));
	ASSERT_EQ(SILENT, dequeue_all(self->evd, 0));
	ASSERT_TRUE(waiter_start(&w, &thread));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(self->l.out, 1, &seg, a_cookie(100), 0));
	pthread_join(thread, NULL);
	ASSERT_EQ(DAT_SUCCESS, w.rc);
	EXPECT_EQ(DAT_DTO_ERR_LOCAL_LENGTH, w.event.event_data.dto_completion_event_data.status);
}

/* Covers: dat_ep_disconnect; SH 3, 18 */
TEST_F_TIMEOUT(solicited, messages_nobody_looked_at_come_before_the_flushed_receives, 60)
{
	DAT_DTO_COMPLETION_STATUS status;
	uint64_t cookie;
	int i;

	ASSERT_TRUE(say(&self->p, &self->l, SILENT, 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(self->l.in, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, c_next(self->p.evd[0]));
	for (i = 0; i <= SILENT; i++) {
		status = a_dto(self->evd, &cookie, NULL);
		EXPECT_EQ(i < SILENT ? DAT_DTO_SUCCESS : DAT_DTO_ERR_FLUSHED, status);
		EXPECT_EQ((uint64_t)i, cookie);
	}
}

/* Covers: dat_evd_dequeue; SH 18 */
TEST_F_TIMEOUT(solicited, endpoints_that_share_an_evd_ask_for_themselves, 60)
{
	struct waiter w = { .evd = self->evd, .timeout = A_WAIT_US };
	pthread_t thread;
	struct link other;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, link_make(&self->p, self->evd, &other));
	ASSERT_TRUE(say(&self->p, &other, 1, 0));
	ASSERT_TRUE(say(&self->p, &self->l, 1, 0));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_dequeue(self->evd, &event));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_dequeue(self->evd, &event));
	ASSERT_EQ(DAT_QUEUE_EMPTY, TYPE(dat_evd_dequeue(self->evd, &event)));
	ASSERT_TRUE(waiter_start(&w, &thread));
	ASSERT_TRUE(say(&self->p, &other, 1, 0));
	ASSERT_TRUE(say(&self->p, &self->l, 1, ASK));
	pthread_join(thread, NULL);
	ASSERT_EQ(DAT_SUCCESS, w.rc);
	EXPECT_EQ(self->l.in, w.event.event_data.dto_completion_event_data.ep_handle);
	EXPECT_EQ(0, w.nmore);
	/* The next dequeue finds the event of the other EP. */
	ASSERT_EQ(DAT_SUCCESS, dat_evd_dequeue(self->evd, &event));
	EXPECT_EQ(other.in, event.event_data.dto_completion_event_data.ep_handle);
}

/*
 * The attribute SOLICITED_WAIT applies to receives only.  Requests of the EP must still notify,
 * because this lets later requests reach the device.
 */
/* Covers: dat_ep_post_send; SH 18 */
TEST_F_TIMEOUT(solicited, requests_of_such_an_endpoint_complete_as_ever, 60)
{
	struct a_pair *p = &self->p;
	DAT_EP_PARAM param;
	int i, n;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(self->l.in, DAT_EP_FIELD_ALL, &param));
	n = param.ep_attr.max_request_dtos;
	for (i = 0; i < n; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(self->l.out, 0, NULL, a_cookie(i), 0));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(self->l.in, 0, NULL, a_cookie(i), 0));
	}
	for (i = 0; i < n; i++) {
		EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
		EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	}
}

static DAT_RETURN shared(struct a_pair *p, DAT_EVD_HANDLE evd, struct link *l, int n)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_EP_ATTR attr = a_attr(p);
	DAT_SRQ_HANDLE srq;
	DAT_RETURN rc;
	int i;

	attr.recv_completion_flags = ASK;
	rc = dat_srq_create(p->ia, p->pz, &srq_attr, &srq);
	if (rc == DAT_SUCCESS)
		rc = dat_srq_resize(srq, n);
	for (i = 0; i < n && rc == DAT_SUCCESS; i++)
		rc = dat_srq_post_recv(srq, 0, NULL, a_cookie(i));
	if (rc == DAT_SUCCESS)
		rc = dat_ep_create_with_srq(p->ia, p->pz, evd, p->evd[0], p->evd[0], srq, &attr,
					    &l->in);
	if (rc == DAT_SUCCESS)
		rc = dat_ep_create(p->ia, p->pz, p->evd[1], p->evd[1], p->evd[1], NULL, &l->out);
	return rc == DAT_SUCCESS ? a_connect(p, l->out, l->in, p->evd[1], p->evd[0]) : rc;
}

/*
 * The SRQ of the device has room for only some of the buffers.  Send more unsolicited messages than
 * this number of buffers, then a solicited message.
 */
/* Covers: dat_srq_post_recv; SH 18, 51 */
TEST_F_TIMEOUT(solicited, buffers_of_an_srq_go_round_though_nobody_looks, 60)
{
	struct waiter w = { .evd = self->evd, .timeout = A_WAIT_US };
	enum { BUFFERS = 32 };
	pthread_t thread;
	struct link l;

	ASSERT_EQ(DAT_SUCCESS, shared(&self->p, self->evd, &l, BUFFERS));
	ASSERT_TRUE(waiter_start(&w, &thread));
	ASSERT_TRUE(say(&self->p, &l, BUFFERS - 1, 0));
	ASSERT_TRUE(say(&self->p, &l, 1, ASK));
	pthread_join(thread, NULL);
	ASSERT_EQ(DAT_SUCCESS, w.rc);
	EXPECT_EQ(BUFFERS - 1, w.nmore);
	EXPECT_EQ(BUFFERS - 1, dequeue_all(self->evd, 1));
}

/* The SRQ of the device has room for 4 buffers, so ten polls a second would take 20 s. */
/* Covers: dat_srq_post_recv; SH 18, 51 */
TEST_F_TIMEOUT(solicited, a_burst_polls_for_the_buffers_of_an_srq_more_often, 60)
{
	enum { BUFFERS = 800 };
	DAT_EVD_HANDLE evd;
	long begun;
	struct link l;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(self->p.ia, BUFFERS, DAT_HANDLE_NULL,
					      DAT_EVD_DTO_FLAG, &evd));
	ASSERT_EQ(DAT_SUCCESS, shared(&self->p, evd, &l, BUFFERS));
	begun = now_ms();
	ASSERT_TRUE(say(&self->p, &l, BUFFERS, 0));
	EXPECT_GT(14000, now_ms() - begun);
	TH_LOG("%ld ms", now_ms() - begun);
	EXPECT_EQ(BUFFERS, dequeue_all(evd, 0));
}

TEST_HARNESS_MAIN
