// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Waiting on EVDs: thresholds, timeouts, concurrent waiters, and full queues. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "clock.h"
#include "api_conform.h"

FIXTURE(evd) {
	struct a_pair p;
	DAT_EVD_HANDLE soft;	/* queue length 8 */
	DAT_CNO_HANDLE cno;
};

FIXTURE_SETUP(evd)
{
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, a_open(p));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_create(p->ia, agent, &self->cno));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 8, NULL, DAT_EVD_SOFTWARE_FLAG, &self->soft));
}

FIXTURE_TEARDOWN(evd)
{
	a_close(&self->p);
}

/* A thread that calls dat_evd_wait(). */
struct waiter {
	DAT_EVD_HANDLE	evd;
	DAT_TIMEOUT	timeout;
	DAT_COUNT	threshold;
	DAT_EVENT	event;
	DAT_COUNT	nmore;
	DAT_RETURN	rc;
	int		done;
	pthread_t	thread;
};

static void *wait_thread(void *arg)
{
	struct waiter *w = arg;

	w->rc = dat_evd_wait(w->evd, w->timeout, w->threshold, &w->event, &w->nmore);
	__atomic_store_n(&w->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Start the thread and give it time to sleep in dat_evd_wait(). */
static int wait_begin(struct waiter *w)
{
	int ret = pthread_create(&w->thread, NULL, wait_thread, w);

	usleep(A_QUIET_US);
	return ret;
}

static int done(struct waiter *w)
{
	usleep(A_QUIET_US);
	return __atomic_load_n(&w->done, __ATOMIC_ACQUIRE);
}

static uintptr_t number(const DAT_EVENT *event)
{
	return (uintptr_t)event->event_data.software_event_data.pointer;
}

/* --- thresholds and timeouts --------- */

/* Covers: dat_evd_wait INVALID_PARAMETER|ARG3 TIMEOUT_EXPIRED; SH 21 */
TEST_F(evd, a_threshold_is_from_1_to_the_length)
{
	DAT_EVD_PARAM param;
	DAT_EVENT event;
	DAT_COUNT n;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_query(self->soft, DAT_EVD_FIELD_ALL, &param));
	EXPECT_EQ(IP(3), dat_evd_wait(self->soft, 0, 0, &event, &n));
	EXPECT_EQ(IP(3), dat_evd_wait(self->soft, 0, param.evd_qlen + 1, &event, &n));
	EXPECT_EQ(RC(DAT_TIMEOUT_EXPIRED, 0),
		  dat_evd_wait(self->soft, 0, param.evd_qlen, &event, &n));
}

/* Covers: dat_evd_create; dat_evd_wait; SH 21, 22 */
TEST_F(evd, a_wait_takes_the_oldest_and_tells_how_many_are_left)
{
	DAT_EVENT event;
	DAT_COUNT n;
	int i;

	for (i = 0; i < 5; i++)
		ASSERT_EQ(DAT_SUCCESS, c_soft(self->soft, i));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_wait(self->soft, 0, 4, &event, &n));
	EXPECT_EQ(0, number(&event));
	EXPECT_EQ(4, n);
	EXPECT_EQ(self->soft, event.evd_handle);
	ASSERT_EQ(DAT_SUCCESS, dat_evd_wait(self->soft, 0, 4, &event, &n));
	EXPECT_EQ(1, number(&event));
	EXPECT_EQ(3, n);
}

/* Covers: dat_evd_wait TIMEOUT_EXPIRED; SH 22, 23 */
TEST_F(evd, too_few_events_stay_and_are_counted)
{
	DAT_EVENT event;
	DAT_COUNT n = -1;

	ASSERT_EQ(DAT_SUCCESS, c_soft(self->soft, 7));
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->soft, 8));
	EXPECT_EQ(RC(DAT_TIMEOUT_EXPIRED, 0), dat_evd_wait(self->soft, 0, 3, &event, &n));
	EXPECT_EQ(2, n);
	n = -1;
	EXPECT_EQ(RC(DAT_TIMEOUT_EXPIRED, 0), dat_evd_wait(self->soft, 10000, 3, &event, &n));
	EXPECT_EQ(2, n);
	ASSERT_EQ(DAT_SUCCESS, dat_evd_dequeue(self->soft, &event));
	EXPECT_EQ(7, number(&event));
}

/* Covers: SH 21 */
TEST_F_TIMEOUT(evd, a_waiter_sleeps_until_its_threshold, 60)
{
	struct waiter w = { .evd = self->soft, .timeout = DAT_TIMEOUT_INFINITE, .threshold = 3 };

	ASSERT_EQ(0, wait_begin(&w));
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->soft, 1));
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->soft, 2));
	EXPECT_EQ(0, done(&w));
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->soft, 3));
	pthread_join(w.thread, NULL);
	EXPECT_EQ(DAT_SUCCESS, w.rc);
	EXPECT_EQ(1, number(&w.event));
	EXPECT_EQ(2, w.nmore);
}

static void *post_six(void *evd)
{
	int i;

	for (i = 0; i < 6; i++) {
		usleep(100000);
		c_soft(evd, i);
	}
	return NULL;
}

/* Events that do not reach the threshold must not restart the timeout. */
/* Covers: dat_evd_wait TIMEOUT_EXPIRED; SH 21, 23 */
TEST_F_TIMEOUT(evd, events_do_not_put_the_deadline_off, 60)
{
	uint64_t start = now_us(), took;
	DAT_EVENT event;
	pthread_t thread;
	DAT_COUNT n;

	ASSERT_EQ(0, pthread_create(&thread, NULL, post_six, self->soft));
	EXPECT_EQ(RC(DAT_TIMEOUT_EXPIRED, 0), dat_evd_wait(self->soft, 350000, 8, &event, &n));
	took = now_us() - start;
	EXPECT_LE(350000, took);
	EXPECT_GT(550000, took);
	pthread_join(thread, NULL);
}

/* Covers: dat_evd_wait INVALID_STATE|EVD_CONFIG_NOTIFY; SH 17, 21 */
TEST_F(evd, no_threshold_where_the_consumer_says_what_notifies)
{
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;
	DAT_COUNT n;

	ASSERT_EQ(DAT_SUCCESS, c_unsignalled(&self->p, &ep, &evd));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	EXPECT_EQ(DAT_EVD_STATE_CONFIG_NOTIFY, param.evd_state & DAT_EVD_STATE_CONFIG_THRESHOLD);
	EXPECT_EQ(IS(EVD_CONFIG_NOTIFY), dat_evd_wait(evd, 0, 2, &event, &n));
	EXPECT_EQ(RC(DAT_TIMEOUT_EXPIRED, 0), dat_evd_wait(evd, 0, 1, &event, &n));
}

static void on_signal(int sig)
{
	(void)sig;
}

/* Covers: dat_evd_wait INTERRUPTED_CALL; SH 23 */
TEST_F_TIMEOUT(evd, a_signal_takes_nothing, 60)
{
	struct waiter w = { .evd = self->soft, .timeout = DAT_TIMEOUT_INFINITE, .threshold = 2 };
	struct sigaction sa = { .sa_handler = on_signal };
	DAT_EVENT event;

	sigaction(SIGUSR1, &sa, NULL);
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->soft, 5));
	ASSERT_EQ(0, wait_begin(&w));
	pthread_kill(w.thread, SIGUSR1);
	pthread_join(w.thread, NULL);
	EXPECT_EQ(RC(DAT_INTERRUPTED_CALL, 0), w.rc);
	ASSERT_EQ(DAT_SUCCESS, dat_evd_dequeue(self->soft, &event));
	EXPECT_EQ(5, number(&event));
}

/* --- concurrent waiters --------- */

/*
 * Covers: dat_evd_wait dat_evd_dequeue dat_evd_resize INVALID_STATE|EVD_WAITER; dat_evd_free
 * INVALID_STATE|EVD_IN_USE; SH 24, 28
 */
TEST_F_TIMEOUT(evd, one_waiter_has_it_for_himself, 60)
{
	struct waiter w = { .evd = self->soft, .timeout = DAT_TIMEOUT_INFINITE, .threshold = 2 };
	DAT_EVENT event;
	DAT_COUNT n;

	ASSERT_EQ(0, wait_begin(&w));
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->soft, 1));
	EXPECT_EQ(IS(EVD_WAITER), dat_evd_wait(self->soft, 0, 1, &event, &n));
	EXPECT_EQ(IS(EVD_WAITER), dat_evd_dequeue(self->soft, &event));
	EXPECT_EQ(IS(EVD_WAITER), dat_evd_resize(self->soft, 16));
	EXPECT_EQ(IS(EVD_IN_USE), dat_evd_free(self->soft));
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->soft, 2));
	pthread_join(w.thread, NULL);
	EXPECT_EQ(DAT_SUCCESS, w.rc);
	EXPECT_EQ(1, number(&w.event));
}

/*
 * Covers: dat_evd_set_unwaitable; dat_evd_clear_unwaitable; dat_evd_wait
 * INVALID_STATE|EVD_UNWAITABLE; SH 25
 */
TEST_F_TIMEOUT(evd, unwaitable_sends_home_and_lets_dequeue, 60)
{
	struct waiter w = { .evd = self->soft, .timeout = DAT_TIMEOUT_INFINITE, .threshold = 2 };
	DAT_EVENT event;
	DAT_COUNT n;

	ASSERT_EQ(DAT_SUCCESS, c_soft(self->soft, 1));
	ASSERT_EQ(0, wait_begin(&w));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_set_unwaitable(self->soft));
	pthread_join(w.thread, NULL);
	EXPECT_EQ(IS(EVD_UNWAITABLE), w.rc);
	EXPECT_EQ(IS(EVD_UNWAITABLE), dat_evd_wait(self->soft, 0, 1, &event, &n));
	EXPECT_EQ(DAT_SUCCESS, dat_evd_dequeue(self->soft, &event));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_set_unwaitable(self->soft));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_clear_unwaitable(self->soft));
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->soft, 2));
	EXPECT_EQ(DAT_SUCCESS, dat_evd_wait(self->soft, 0, 1, &event, &n));
	EXPECT_EQ(DAT_SUCCESS, dat_evd_clear_unwaitable(self->soft));
}

static int state_of(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param = { 0 };

	dat_evd_query(evd, DAT_EVD_FIELD_EVD_STATE, &param);
	return (int)param.evd_state & 0xf;
}

/* Covers: dat_evd_query; dat_evd_enable; dat_evd_disable; SH 25 */
TEST_F(evd, the_two_switches_do_not_know_of_each_other)
{
	DAT_EVD_HANDLE evd = self->soft;

	EXPECT_EQ(DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE, state_of(evd));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_disable(evd));
	EXPECT_EQ(DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_WAITABLE, state_of(evd));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_set_unwaitable(evd));
	EXPECT_EQ(DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_UNWAITABLE, state_of(evd));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_enable(evd));
	EXPECT_EQ(DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_UNWAITABLE, state_of(evd));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_enable(evd));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_clear_unwaitable(evd));
	EXPECT_EQ(DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE, state_of(evd));
}

/* Covers: dat_evd_disable; SH 25 */
TEST_F(evd, a_disabled_one_can_be_waited_on)
{
	DAT_EVENT event;
	DAT_COUNT n;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_disable(self->soft));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_disable(self->soft));
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->soft, 1));
	EXPECT_EQ(DAT_SUCCESS, dat_evd_wait(self->soft, 0, 1, &event, &n));
}

/* --- full queues, and queues that are resized --------- */

/* Covers: dat_evd_post_se QUEUE_FULL; SH 30 */
TEST_F(evd, a_software_event_too_many_is_an_error_and_nothing_else)
{
	DAT_EVD_PARAM param;
	DAT_EVENT event;
	int i;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_query(self->soft, DAT_EVD_FIELD_ALL, &param));
	for (i = 0; i < param.evd_qlen; i++)
		ASSERT_EQ(DAT_SUCCESS, c_soft(self->soft, i));
	EXPECT_EQ(RC(DAT_QUEUE_FULL, 0), c_soft(self->soft, i));
	EXPECT_TRUE(c_quiet(self->p.async));
	for (i = 0; i < param.evd_qlen; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_evd_dequeue(self->soft, &event));
		EXPECT_EQ(i, number(&event));
	}
	EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_evd_dequeue(self->soft, &event));
}

/* Covers: SH 30 */
TEST_F_TIMEOUT(evd, a_completion_too_many_is_an_async_event_that_names_the_evd, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_RMR_TRIPLET remote = a_rseg(&p->mem, 4096, 64);
	DAT_ASYNCH_ERROR_EVENT_DATA *data;
	DAT_EP_PARAM param;
	DAT_EVENT event;
	DAT_EVD_HANDLE small;
	int i;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 1, NULL, DAT_EVD_DTO_FLAG, &small));
	param.request_evd_handle = small;
	ASSERT_EQ(DAT_SUCCESS, dat_ep_modify(p->ep[1], DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param));
	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	for (i = 0; i < 16; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_write(p->ep[1], 1, &seg, a_cookie(i),
							      &remote, 0));
	ASSERT_EQ(1, a_event(p->async, A_WAIT_US, &event));
	EXPECT_EQ(DAT_ASYNC_ERROR_EVD_OVERFLOW, event.event_number);
	data = &event.event_data.asynch_error_event_data;
	EXPECT_EQ(small, data->dat_handle);
	EXPECT_EQ(DAT_EVD_OVERFLOW_ERROR, data->reason);
}

/* Covers: dat_evd_resize; SH 33 */
TEST_F(evd, resizing_keeps_the_switches_and_the_cno)
{
	DAT_EVD_PARAM param;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_modify_cno(self->soft, self->cno));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_disable(self->soft));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_set_unwaitable(self->soft));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_resize(self->soft, 100));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_query(self->soft, DAT_EVD_FIELD_ALL, &param));
	EXPECT_LE(100, param.evd_qlen);
	EXPECT_EQ(self->cno, param.cno_handle);
	EXPECT_EQ(DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_UNWAITABLE, param.evd_state & 0xf);
}

/* Covers: dat_evd_resize; dat_evd_modify_cno; SH 33 */
TEST_F(evd, a_resized_evd_still_triggers)
{
	DAT_EVD_HANDLE evd;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_modify_cno(self->soft, self->cno));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_resize(self->soft, 64));
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->soft, 1));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_wait(self->cno, A_WAIT_US, &evd));
	EXPECT_EQ(self->soft, evd);
}

/* Covers: dat_evd_resize; SH 30, 33 */
TEST_F_TIMEOUT(evd, completions_keep_their_order_while_it_grows, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_RMR_TRIPLET remote = a_rseg(&p->mem, 4096, 64);
	uint64_t cookie;
	int i, got = 0;

	ASSERT_EQ(DAT_SUCCESS, c_connect(p));
	for (i = 0; i < 64; i++) {
		if (i % 8 == 7)
			ASSERT_EQ(DAT_SUCCESS, dat_evd_resize(p->evd[1], 64 << (i / 8)));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_write(p->ep[1], 1, &seg, a_cookie(i),
							      &remote, 0));
		for (; got < i - 16; got++) {
			ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], &cookie, NULL));
			EXPECT_EQ(got, cookie);
		}
	}
	for (; got < 64; got++) {
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], &cookie, NULL));
		EXPECT_EQ(got, cookie);
	}
}

/* --- event streams of an EVD --------- */

/*
 * Covers: dat_ep_create INVALID_HANDLE|EVD_RECV|EVD_REQUEST|EVD_CONN; dat_psp_create
 * INVALID_HANDLE|EVD_CR; SH 31
 */
TEST_F(evd, each_stream_needs_its_flag)
{
	DAT_HANDLE out, dto, conn;
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 8, NULL, DAT_EVD_DTO_FLAG, &dto));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 8, NULL, DAT_EVD_CONNECTION_FLAG, &conn));
	EXPECT_EQ(IH(EVD_RECV), dat_ep_create(p->ia, p->pz, conn, dto, conn, NULL, &out));
	EXPECT_EQ(IH(EVD_REQUEST), dat_ep_create(p->ia, p->pz, dto, conn, conn, NULL, &out));
	EXPECT_EQ(IH(EVD_CONN), dat_ep_create(p->ia, p->pz, dto, dto, dto, NULL, &out));
	EXPECT_EQ(IH(EVD_CR), dat_psp_create(p->ia, A_QUAL + 1, dto, DAT_PSP_CONSUMER_FLAG, &out));
	EXPECT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, dto, dto, conn, NULL, &out));
}

/* Covers: dat_evd_create; dat_ia_query; SH 31 */
TEST_F(evd, what_the_attributes_merge_can_be_merged)
{
	static const int flags[] = {
		DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG, DAT_EVD_DTO_FLAG,
		DAT_EVD_CONNECTION_FLAG, DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG,
	};
	DAT_PROVIDER_ATTR attr;
	DAT_EVD_HANDLE evd;
	DAT_RETURN rc;
	int i, k;

	ASSERT_EQ(DAT_SUCCESS, dat_ia_query(self->p.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL,
					    &attr));
	for (i = 0; i < 6; i++) {
		EXPECT_EQ(DAT_TRUE, attr.evd_stream_merging_supported[i][i]);
		for (k = 0; k < 6; k++) {
			rc = dat_evd_create(self->p.ia, 8, NULL, (DAT_EVD_FLAGS)(flags[i] | flags[k]),
					    &evd);
			EXPECT_EQ(attr.evd_stream_merging_supported[i][k] ? DAT_SUCCESS : IP(4), rc);
		}
	}
}

/* --- async EVDs --------- */

/* Covers: dat_ia_openv; dat_ia_query; dat_evd_free INVALID_STATE|EVD_IN_USE; SH 34 */
TEST_F(evd, open_makes_an_async_evd_as_long_as_asked)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, told = DAT_HANDLE_NULL;
	DAT_EVD_PARAM param;
	DAT_IA_HANDLE ia;

	ASSERT_EQ(DAT_SUCCESS, dat_ia_openv(self->p.attr.adapter_name, 33, &async, &ia, 1, 2,
					    DAT_TRUE));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_query(async, DAT_EVD_FIELD_ALL, &param));
	EXPECT_LE(33, param.evd_qlen);
	EXPECT_EQ(DAT_HANDLE_NULL, param.cno_handle);
	EXPECT_EQ(DAT_EVD_ASYNC_FLAG, param.evd_flags);
	EXPECT_EQ(DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE, param.evd_state & 0xf);
	ASSERT_EQ(DAT_SUCCESS, dat_ia_query(ia, &told, 0, NULL, 0, NULL));
	EXPECT_EQ(async, told);
	EXPECT_EQ(IS(EVD_IN_USE), dat_evd_free(async));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* Covers: dat_ia_openv; dat_ia_query; SH 34 */
TEST_F(evd, an_open_can_do_without)
{
	DAT_EVD_HANDLE async = DAT_EVD_ASYNC_EXISTS;
	DAT_IA_HANDLE ia;

	ASSERT_EQ(DAT_SUCCESS, dat_ia_open(self->p.attr.adapter_name, 0, &async, &ia));
	EXPECT_EQ(DAT_EVD_ASYNC_EXISTS, async);
	ASSERT_EQ(DAT_SUCCESS, dat_ia_query(ia, &async, 0, NULL, 0, NULL));
	EXPECT_EQ(DAT_EVD_OUT_OF_SCOPE, async);
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* Covers: dat_ia_openv; SH 34 */
TEST_F(evd, each_open_has_an_async_evd_of_its_own_or_none)
{
	DAT_EVD_HANDLE async = self->p.async, told = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	DAT_EVD_PARAM param;

	/* An open file of the driver cannot deliver events to an EVD of another open file. */
	EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0),
		  dat_ia_open(self->p.attr.adapter_name, 8, &async, &ia));
	EXPECT_EQ(self->p.async, async);
	async = DAT_EVD_ASYNC_EXISTS;
	ASSERT_EQ(DAT_SUCCESS, dat_ia_open(self->p.attr.adapter_name, 8, &async, &ia));
	ASSERT_EQ(DAT_SUCCESS, dat_ia_query(ia, &told, 0, NULL, 0, NULL));
	EXPECT_EQ(DAT_EVD_OUT_OF_SCOPE, told);
	ASSERT_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(DAT_SUCCESS, dat_evd_query(self->p.async, DAT_EVD_FIELD_ALL, &param));
}

TEST_HARNESS_MAIN
