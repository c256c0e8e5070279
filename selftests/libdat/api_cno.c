// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* CNOs, with which one thread waits on many EVDs: triggers, agents, file descriptors. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "api_conform.h"
#include "clock.h"
#include "ioctl_over.h"
#include "tracefs.h"
#include <rdma/dat_ioctl.h>

static const DAT_OS_WAIT_PROXY_AGENT no_agent;

FIXTURE(cno) {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd[2];
};

FIXTURE_SETUP(cno)
{
	int i;

	ASSERT_EQ(DAT_SUCCESS, a_ia(&self->ia, &self->async));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_create(self->ia, no_agent, &self->cno));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_evd_create(self->ia, 8, self->cno,
						      DAT_EVD_SOFTWARE_FLAG, &self->evd[i]));
}

FIXTURE_TEARDOWN(cno)
{
	dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* Covers: dat_cno_wait; dat_cno_wait QUEUE_EMPTY; SH 23, 26 */
TEST_F(cno, a_wait_consumes_the_trigger_and_names_the_evd)
{
	DAT_EVD_HANDLE evd;

	ASSERT_EQ(DAT_SUCCESS, c_soft(self->evd[1], 0));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_wait(self->cno, A_WAIT_US, &evd));
	EXPECT_EQ(self->evd[1], evd);
	EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_cno_wait(self->cno, 0, &evd));
	EXPECT_EQ(DAT_HANDLE_NULL, evd);
}

/* Covers: SH 26 */
TEST_F(cno, a_move_to_the_same_one_forgets_nothing)
{
	DAT_EVD_HANDLE evd;

	ASSERT_EQ(DAT_SUCCESS, c_soft(self->evd[1], 0));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_modify_cno(self->evd[1], self->cno));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_wait(self->cno, A_WAIT_US, &evd));
	EXPECT_EQ(self->evd[1], evd);
}

TEST_F(cno, triggers_add_up_to_one)
{
	DAT_EVD_HANDLE evd;

	ASSERT_EQ(DAT_SUCCESS, c_soft(self->evd[0], 0));
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->evd[1], 0));
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->evd[0], 0));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_wait(self->cno, 0, &evd));
	EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_cno_wait(self->cno, 0, &evd));
}

/* Covers: dat_cno_wait QUEUE_EMPTY; SH 23 */
TEST_F(cno, the_time_is_over_after_the_time)
{
	DAT_EVD_HANDLE evd;

	EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_cno_wait(self->cno, A_QUIET_US, &evd));
	EXPECT_EQ(DAT_HANDLE_NULL, evd);
}

/* Covers: dat_evd_disable; dat_evd_enable; dat_evd_query; SH 25, 26 */
TEST_F(cno, a_disabled_evd_triggers_when_it_is_enabled)
{
	DAT_EVD_HANDLE evd;
	DAT_EVD_PARAM param;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_disable(self->evd[0]));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_query(self->evd[0], DAT_EVD_FIELD_ALL, &param));
	EXPECT_TRUE(param.evd_state & DAT_EVD_STATE_DISABLED);
	EXPECT_TRUE(param.evd_state & DAT_EVD_STATE_WAITABLE);
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->evd[0], 0));
	EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_cno_wait(self->cno, 0, &evd));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_enable(self->evd[0]));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_wait(self->cno, 0, &evd));
	EXPECT_EQ(self->evd[0], evd);
}

/* Covers: dat_evd_set_unwaitable; SH 25 */
TEST_F(cno, an_unwaitable_evd_triggers)
{
	DAT_EVD_HANDLE evd;

	ASSERT_EQ(DAT_SUCCESS, dat_evd_set_unwaitable(self->evd[0]));
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->evd[0], 0));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_wait(self->cno, 0, &evd));
}

/* Covers: dat_evd_modify_cno; dat_cno_free; dat_cno_free INVALID_STATE|CNO_IN_USE; SH 28, 29 */
TEST_F(cno, an_evd_can_be_moved_to_another_and_to_none)
{
	DAT_CNO_HANDLE other;
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;

	ASSERT_EQ(DAT_SUCCESS, dat_cno_create(self->ia, no_agent, &other));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_modify_cno(self->evd[0], other));
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->evd[0], 0));
	EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_cno_wait(self->cno, 0, &evd));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_wait(other, 0, &evd));
	EXPECT_EQ(self->evd[0], evd);
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE), dat_cno_free(other));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_modify_cno(self->evd[0], DAT_HANDLE_NULL));
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->evd[0], 0));
	EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_cno_wait(other, 0, &evd));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_query(self->evd[0], DAT_EVD_FIELD_ALL, &param));
	EXPECT_EQ(DAT_HANDLE_NULL, param.cno_handle);
	EXPECT_EQ(DAT_SUCCESS, dat_cno_free(other));
}

/* Flag of the current thread: its changes of a CNO return late from the driver. */
static __thread int late;
/* Number of late changes that the driver has carried out. */
static int late_changes;

static int changed_ioctl(int fd, unsigned long request, void *arg)
{
	int ret = real_ioctl(fd, request, arg);

	if (late && request == DAT_IOC_EVD_MODIFY_CNO) {
		__atomic_fetch_add(&late_changes, 1, __ATOMIC_RELEASE);
		usleep(A_QUIET_US);
	}
	return ret;
}

struct move {
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
	DAT_RETURN rc;
};

static void *move_late(void *arg)
{
	struct move *m = arg;

	late = 1;
	m->rc = dat_evd_modify_cno(m->evd, m->cno);
	return NULL;
}

/* Covers: dat_evd_modify_cno; dat_evd_query; SH 68 */
TEST_F_TIMEOUT(cno, a_query_names_the_cno_of_the_last_of_two_concurrent_moves, 60)
{
	struct move first = { .evd = self->evd[0] };
	DAT_CNO_HANDLE last;
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;
	pthread_t thread;

	ASSERT_EQ(DAT_SUCCESS, dat_cno_create(self->ia, no_agent, &first.cno));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_create(self->ia, no_agent, &last));
	ASSERT_EQ(0, pthread_create(&thread, NULL, move_late, &first));
	while (!__atomic_load_n(&late_changes, __ATOMIC_ACQUIRE))
		usleep(1000);
	EXPECT_EQ(DAT_SUCCESS, dat_evd_modify_cno(self->evd[0], last));
	pthread_join(thread, NULL);
	EXPECT_EQ(DAT_SUCCESS, first.rc);
	ASSERT_EQ(DAT_SUCCESS, dat_evd_query(self->evd[0], DAT_EVD_FIELD_ALL, &param));
	EXPECT_EQ(last, param.cno_handle);
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->evd[0], 0));
	EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_cno_wait(first.cno, 0, &evd));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_wait(last, 0, &evd));
}

/* Covers: dat_evd_free; SH 28 */
TEST_F(cno, a_freed_evd_leaves_a_trigger_without_a_name)
{
	DAT_EVD_HANDLE evd = self->evd[1];

	ASSERT_EQ(DAT_SUCCESS, c_soft(self->evd[0], 0));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_free(self->evd[0]));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_wait(self->cno, 0, &evd));
	EXPECT_EQ(DAT_HANDLE_NULL, evd);
}

struct waiter {
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	DAT_RETURN rc;
	pid_t tid;
	int done;
};

static void *wait_forever(void *arg)
{
	struct waiter *w = arg;

	__atomic_store_n(&w->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	w->rc = dat_cno_wait(w->cno, DAT_TIMEOUT_INFINITE, &w->evd);
	__atomic_store_n(&w->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static int done(struct waiter *w, int n)
{
	int i, count = 0;

	for (i = 0; i < n; i++)
		count += __atomic_load_n(&w[i].done, __ATOMIC_ACQUIRE);
	return count;
}

/* Covers: dat_cno_free INVALID_STATE|CNO_IN_USE; dat_cno_wait; SH 24, 28 */
TEST_F_TIMEOUT(cno, each_trigger_wakes_one_of_several_waiters, 60)
{
	struct waiter w[4] = {};
	pthread_t thread[4];
	DAT_EVENT event;
	int i, n;

	for (i = 0; i < 4; i++) {
		w[i].cno = self->cno;
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, wait_forever, &w[i]));
	}
	usleep(A_QUIET_US);
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE), dat_cno_free(self->cno));
	for (n = 1; n <= 4; n++) {
		ASSERT_EQ(DAT_SUCCESS, c_soft(self->evd[0], 0));
		for (i = 0; i < 200 && done(w, 4) < n; i++)
			usleep(10000);
		usleep(50000);
		EXPECT_EQ(n, done(w, 4));
		ASSERT_EQ(DAT_SUCCESS, dat_evd_dequeue(self->evd[0], &event));
	}
	for (i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		EXPECT_EQ(DAT_SUCCESS, w[i].rc);
		EXPECT_EQ(self->evd[0], w[i].evd);
	}
}

#define COUNTED_WAITS	20000

static void *wait_often(void *arg)
{
	struct waiter *w = arg;
	int i;

	w->rc = RC(DAT_QUEUE_EMPTY, 0);
	for (i = 0; i < COUNTED_WAITS && w->rc == RC(DAT_QUEUE_EMPTY, 0); i++)
		w->rc = dat_cno_wait(w->cno, 0, &w->evd);
	return NULL;
}

/*
 * The driver refuses to free a CNO that has waiters.  If a change of their number got lost, the CNO
 * could never be freed.
 */
TEST_F_TIMEOUT(cno, no_waiter_is_counted_after_waits_of_several_threads, 60)
{
	struct waiter w[4] = {};
	pthread_t thread[4];
	int i;

	for (i = 0; i < 4; i++) {
		w[i].cno = self->cno;
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, wait_often, &w[i]));
	}
	for (i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), w[i].rc);
	}
	for (i = 0; i < 2; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_evd_free(self->evd[i]));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_free(self->cno));
}

/* Covers: dat_ia_close; SH 28, 65 */
TEST_F_TIMEOUT(cno, closing_the_ia_wakes_waiters_with_no_evd, 60)
{
	struct waiter w = { .cno = self->cno, .evd = self->evd[0] };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_forever, &w));
	usleep(A_QUIET_US);
	ASSERT_EQ(DAT_SUCCESS, dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
	pthread_join(thread, NULL);
	EXPECT_EQ(DAT_SUCCESS, w.rc);
	EXPECT_EQ(DAT_HANDLE_NULL, w.evd);
}

static void on_signal(int sig)
{
}

/*
 * Probes make dat_sleep() slow: a waiter calls it between its last look for a trigger and the end
 * of its wait.  Returns 0 or a negative errno.
 */
static int sleep_slowly(void)
{
	int ret = trace_probe("p:dat_cno/in dat:dat_sleep\n");

	if (!ret)
		ret = trace_probe("r:dat_cno/out dat:dat_sleep\n");
	if (!ret)
		ret = trace_put("events/dat_cno/in/trigger", "stacktrace");
	if (!ret)
		ret = trace_put("events/dat_cno/out/trigger", "stacktrace");
	return ret ? ret : trace_put("events/dat_cno/enable", "1");
}

static void sleep_fast(void)
{
	trace_put("events/dat_cno/enable", "0");
	trace_put("events/dat_cno/in/trigger", "!stacktrace");
	trace_put("events/dat_cno/out/trigger", "!stacktrace");
	trace_end();
	trace_probe("-:dat_cno/in\n");
	trace_probe("-:dat_cno/out\n");
}

/* Let a timer send SIGUSR1 to the thread @tid at the time @at_ns. */
static int signal_at(pid_t tid, uint64_t at_ns, timer_t *timer)
{
	struct itimerspec at = {
		.it_value = { .tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000 },
	};
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };

	ev._sigev_un._tid = tid;
	return timer_create(CLOCK_MONOTONIC, &ev, timer) ||
	       timer_settime(*timer, TIMER_ABSTIME, &at, NULL) ? -1 : 0;
}

/*
 * Two threads wait.  A signal ends the first wait, and a trigger comes @after_ns later.  Returns 1
 * if the first thread took the trigger, 0 if the second did, -1 if neither did.
 */
static int trigger_beside_a_signal(FIXTURE_DATA(cno) *self, int64_t after_ns)
{
	static struct waiter first, second;	/* a thread that nobody wakes still uses its own */
	pthread_t thread[2];
	DAT_EVENT event;
	timer_t timer;
	uint64_t at;
	int n;

	first = second = (struct waiter) { .cno = self->cno };
	pthread_create(&thread[0], NULL, wait_forever, &first);
	while (!__atomic_load_n(&first.tid, __ATOMIC_ACQUIRE))
		sched_yield();
	usleep(500);
	pthread_create(&thread[1], NULL, wait_forever, &second);
	usleep(500);
	at = now_ns() + 400000;
	if (signal_at(first.tid, at, &timer))
		return -1;
	while ((int64_t)(now_ns() - at) < after_ns)
		;
	c_soft(self->evd[0], 0);
	/* The signal may have come before the wait. */
	for (n = 0; n < 3000 && !done(&first, 1); n++) {
		usleep(1000);
		pthread_kill(thread[0], SIGUSR1);
	}
	timer_delete(timer);
	pthread_join(thread[0], NULL);
	if (first.rc == DAT_SUCCESS)
		c_soft(self->evd[0], 0);
	for (n = 0; n < 3000 && !done(&second, 1); n++)
		usleep(1000);
	if (!done(&second, 1))
		return -1;
	pthread_join(thread[1], NULL);
	while (dat_evd_dequeue(self->evd[0], &event) == DAT_SUCCESS)
		;
	return first.rc == DAT_SUCCESS;
}

/* The queue is in the driver, so programs of other kinds search briefly. */
#ifdef RACE_S
#define SEARCH_S	(4 * RACE_S)
#else
#define SEARCH_S	30
#endif

/*
 * The first waiter in the queue gets the wake-up of a trigger.  If a signal ends its wait at the
 * same moment, it leaves without the trigger, and must wake the waiter behind it.  The test
 * searches for that moment: the trigger comes later after the first waiter took it, and earlier
 * after the second one did.  A slow machine gets fewer rounds.
 */
TEST_F_TIMEOUT(cno, a_waiter_that_leaves_hands_the_trigger_on, 120)
{
	struct sigaction sa = { .sa_handler = on_signal };
	time_t end = time(NULL) + SEARCH_S;
	int64_t after_ns = 0;
	int i, ret, taken = 0;

	sigaction(SIGUSR1, &sa, NULL);
	if (trace_start() || access(TRACE_PROBES, W_OK))
		SKIP(return, "needs root, tracefs and kprobes");
	ret = sleep_slowly();
	if (ret)
		sleep_fast();
	ASSERT_EQ(0, ret) TH_LOG("dat_sleep() has no probe, or the probe no trigger");
	for (i = 0; i < 1500 && taken >= 0 && time(NULL) < end; i++) {
		taken = trigger_beside_a_signal(self, after_ns);
		/* Long steps come close, short steps find the moment. */
		after_ns += (taken ? 3000 : -2000) * (i < 50 ? 10 : 1);
	}
	sleep_fast();
	EXPECT_LE(0, taken) TH_LOG("round %d, trigger %d ns after the signal", i, (int)after_ns);
}

static void *wait_for_event(void *arg)
{
	DAT_EVENT event;
	DAT_COUNT more;

	dat_evd_wait(arg, DAT_TIMEOUT_INFINITE, 1, &event, &more);
	return NULL;
}

/* Covers: SH 24, 26 */
TEST_F_TIMEOUT(cno, an_evd_with_a_waiter_does_not_trigger, 60)
{
	DAT_EVD_HANDLE evd;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_for_event, self->evd[0]));
	usleep(A_QUIET_US);
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->evd[0], 0));
	pthread_join(thread, NULL);
	EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_cno_wait(self->cno, 0, &evd));
}

/* Covers: dat_cno_wait INTERRUPTED_CALL; SH 23 */
TEST_F_TIMEOUT(cno, a_signal_interrupts_and_consumes_nothing, 60)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct waiter w = { .cno = self->cno };
	pthread_t thread;

	sigaction(SIGUSR1, &sa, NULL);
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_forever, &w));
	usleep(A_QUIET_US);
	pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
	EXPECT_EQ(RC(DAT_INTERRUPTED_CALL, 0), w.rc);
}

static void *wait_for_trigger(void *arg)
{
	DAT_EVD_HANDLE evd;

	dat_cno_wait(arg, DAT_TIMEOUT_INFINITE, &evd);
	return NULL;
}

/* Cancel a thread while it waits for @handle.  Returns what the thread has returned. */
static void *cancel_in(void *(*wait)(void *handle), DAT_HANDLE handle)
{
	void *result = NULL;
	pthread_t thread;

	if (pthread_create(&thread, NULL, wait, handle))
		return NULL;
	usleep(A_QUIET_US);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	return result;
}

/* The cancelled thread is no waiter any more, so the CNO can be freed and the IA closed. */
TEST_F_TIMEOUT(cno, a_cancelled_waiter_ends, 60)
{
	int i;

	EXPECT_EQ(PTHREAD_CANCELED, cancel_in(wait_for_trigger, self->cno));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(DAT_SUCCESS, dat_evd_free(self->evd[i]));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_free(self->cno));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(self->ia, DAT_CLOSE_GRACEFUL_FLAG));
	ASSERT_EQ(DAT_SUCCESS, a_ia(&self->ia, &self->async));
}

/* The cancelled thread is no waiter any more, so another thread can dequeue. */
TEST_F_TIMEOUT(cno, a_cancelled_waiter_of_an_evd_ends, 60)
{
	DAT_EVENT event;

	EXPECT_EQ(PTHREAD_CANCELED, cancel_in(wait_for_event, self->evd[0]));
	EXPECT_EQ(DAT_QUEUE_EMPTY, TYPE(dat_evd_dequeue(self->evd[0], &event)));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_EQ(DAT_SUCCESS, a_ia(&self->ia, &self->async));
}

struct calls {
	DAT_EVD_HANDLE evd;
	int count;
};

static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	struct calls *seen = data;

	seen->evd = evd;
	__atomic_fetch_add(&seen->count, 1, __ATOMIC_RELEASE);
}

static int wait_for_calls(struct calls *seen, int want)
{
	int i;

	for (i = 0; i < 500 && __atomic_load_n(&seen->count, __ATOMIC_ACQUIRE) < want; i++)
		usleep(10000);
	usleep(50000);
	return seen->count;
}

/* Covers: dat_cno_modify_agent; dat_cno_query; SH 27 */
TEST_F_TIMEOUT(cno, an_agent_runs_once_per_arming_beside_the_trigger, 60)
{
	struct calls seen = {};
	DAT_OS_WAIT_PROXY_AGENT armed = { .instance_data = &seen, .proxy_agent_func = agent };
	DAT_CNO_PARAM param;
	DAT_EVD_HANDLE evd;

	ASSERT_EQ(DAT_SUCCESS, dat_cno_modify_agent(self->cno, armed));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_query(self->cno, DAT_CNO_FIELD_ALL, &param));
	EXPECT_EQ(self->ia, param.ia_handle);
	EXPECT_TRUE(param.agent.proxy_agent_func == agent);
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->evd[1], 0));
	EXPECT_EQ(1, wait_for_calls(&seen, 1));
	EXPECT_EQ(self->evd[1], seen.evd);
	EXPECT_EQ(DAT_SUCCESS, dat_cno_wait(self->cno, 0, &evd));
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->evd[1], 0));
	EXPECT_EQ(1, wait_for_calls(&seen, 2));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_query(self->cno, DAT_CNO_FIELD_ALL, &param));
	EXPECT_EQ(NULL, param.agent.proxy_agent_func);
	ASSERT_EQ(DAT_SUCCESS, dat_cno_modify_agent(self->cno, armed));
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->evd[0], 0));
	EXPECT_EQ(2, wait_for_calls(&seen, 2));
}

static void *end_threads_with_a_pending_cancel(void *arg)
{
	FIXTURE_DATA(cno) *self = arg;
	int i;

	pthread_cancel(pthread_self());
	for (i = 0; i < 2; i++)
		dat_evd_free(self->evd[i]);
	dat_cno_free(self->cno);
	self->cno = DAT_HANDLE_NULL;
	dat_ia_close(self->ia, DAT_CLOSE_GRACEFUL_FLAG);
	self->ia = DAT_HANDLE_NULL;
	pthread_testcancel();
	return NULL;
}

/* dat_cno_free() waits for the thread of the agent, and dat_ia_close() for that of the poller. */
TEST_F_TIMEOUT(cno, the_end_of_a_thread_of_the_library_is_no_cancellation_point, 60)
{
	struct calls seen = {};
	DAT_OS_WAIT_PROXY_AGENT mine = { .instance_data = &seen, .proxy_agent_func = agent };
	pthread_t thread;

	ASSERT_EQ(DAT_SUCCESS, dat_cno_modify_agent(self->cno, mine));
	ASSERT_EQ(DAT_SUCCESS, dat_linux_ia_poller(self->ia, 1000, -1));
	ASSERT_EQ(0, pthread_create(&thread, NULL, end_threads_with_a_pending_cancel, self));
	pthread_join(thread, NULL);
	EXPECT_EQ(DAT_HANDLE_NULL, self->cno);
	EXPECT_EQ(DAT_HANDLE_NULL, self->ia);
}

/* Covers: dat_cno_modify_agent; SH 27 */
TEST_F_TIMEOUT(cno, a_detached_agent_is_not_called, 60)
{
	struct calls seen = {};
	DAT_OS_WAIT_PROXY_AGENT armed = { .instance_data = &seen, .proxy_agent_func = agent };

	ASSERT_EQ(DAT_SUCCESS, dat_cno_modify_agent(self->cno, armed));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_modify_agent(self->cno, no_agent));
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->evd[0], 0));
	usleep(A_QUIET_US);
	EXPECT_EQ(0, seen.count);
}

/* Covers: SH 27 */
TEST_F_TIMEOUT(cno, an_agent_is_called_at_the_end, 60)
{
	struct calls seen = { .evd = self->evd[0] };
	DAT_OS_WAIT_PROXY_AGENT armed = { .instance_data = &seen, .proxy_agent_func = agent };

	ASSERT_EQ(DAT_SUCCESS, dat_cno_modify_agent(self->cno, armed));
	ASSERT_EQ(DAT_SUCCESS, dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(1, seen.count);
	EXPECT_EQ(DAT_HANDLE_NULL, seen.evd);
}

TEST_F_TIMEOUT(cno, epoll_sees_triggers_and_events, 60)
{
	struct epoll_event ev = { .events = EPOLLIN }, got[2];
	int ep = epoll_create1(EPOLL_CLOEXEC), fd[2];
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, dat_linux_cno_fd(self->cno, &fd[0]));
	ASSERT_EQ(DAT_SUCCESS, dat_linux_evd_fd(self->evd[0], &fd[1]));
	ev.data.u32 = 0;
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, fd[0], &ev));
	ev.data.u32 = 1;
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, fd[1], &ev));
	EXPECT_EQ(0, epoll_wait(ep, got, 2, 0));
	ASSERT_EQ(DAT_SUCCESS, c_soft(self->evd[0], 0));
	EXPECT_EQ(2, epoll_wait(ep, got, 2, 10000));
	EXPECT_EQ(DAT_SUCCESS, dat_cno_wait(self->cno, 0, &evd));
	ASSERT_EQ(1, epoll_wait(ep, got, 2, 0));
	EXPECT_EQ(1, got[0].data.u32);
	EXPECT_EQ(DAT_SUCCESS, dat_evd_dequeue(self->evd[0], &event));
	EXPECT_EQ(0, epoll_wait(ep, got, 2, 0));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_free(self->evd[0]));
	ASSERT_EQ(1, epoll_wait(ep, got, 2, 10000));
	EXPECT_TRUE(got[0].events & EPOLLHUP);
	close(ep);
	close(fd[0]);
	close(fd[1]);
}

TEST_F(cno, a_descriptor_is_open_for_reading)
{
	int fd[2];

	ASSERT_EQ(DAT_SUCCESS, dat_linux_cno_fd(self->cno, &fd[0]));
	ASSERT_EQ(DAT_SUCCESS, dat_linux_evd_fd(self->evd[0], &fd[1]));
	EXPECT_EQ(O_RDONLY, fcntl(fd[0], F_GETFL) & O_ACCMODE);
	EXPECT_EQ(O_RDONLY, fcntl(fd[1], F_GETFL) & O_ACCMODE);
	close(fd[0]);
	close(fd[1]);
}

static void *post_later(void *arg)
{
	usleep(A_QUIET_US);
	c_soft(arg, 0);
	return NULL;
}

TEST_F_TIMEOUT(cno, poll_sleeps_until_an_event, 60)
{
	struct pollfd pfd = { .events = POLLIN };
	pthread_t thread;

	ASSERT_EQ(DAT_SUCCESS, dat_linux_evd_fd(self->evd[0], &pfd.fd));
	ASSERT_EQ(0, pthread_create(&thread, NULL, post_later, self->evd[0]));
	EXPECT_EQ(1, poll(&pfd, 1, 10000));
	EXPECT_EQ(POLLIN, pfd.revents);
	pthread_join(thread, NULL);
	close(pfd.fd);
}

/*
 * Covers: dat_cno_create INVALID_HANDLE|IA INVALID_PARAMETER|ARG2|ARG3; dat_cno_modify_agent
 * INVALID_PARAMETER|ARG2 INVALID_HANDLE|CNO; dat_cno_free INVALID_HANDLE|CNO; dat_cno_wait
 * INVALID_HANDLE|CNO INVALID_PARAMETER|ARG3; dat_cno_query INVALID_PARAMETER|ARG2|ARG3;
 * dat_evd_create INVALID_HANDLE|CNO; dat_evd_modify_cno INVALID_HANDLE|CNO; SH 66
 */
TEST_F(cno, bad_arguments)
{
	DAT_OS_WAIT_PROXY_AGENT bad = { .instance_data = self };
	DAT_CNO_PARAM param;
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
	int fd;

	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
		  dat_cno_create(self->cno, no_agent, &cno));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_cno_create(self->ia, bad, &cno));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		  dat_cno_create(self->ia, no_agent, NULL));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_cno_modify_agent(self->cno, bad));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO),
		  dat_cno_modify_agent(self->ia, no_agent));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO), dat_cno_free(NULL));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO), dat_cno_wait(NULL, 0, &evd));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3), dat_cno_wait(self->cno, 0, NULL));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_cno_query(self->cno, (DAT_CNO_PARAM_MASK)4, &param));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		  dat_cno_query(self->cno, DAT_CNO_FIELD_ALL, NULL));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO),
		  dat_evd_create(self->ia, 8, self->ia, DAT_EVD_SOFTWARE_FLAG, &evd));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO),
		  dat_evd_modify_cno(self->evd[0], self->evd[1]));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO), dat_linux_cno_fd(NULL, &fd));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2), dat_linux_cno_fd(self->cno, NULL));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1), dat_linux_evd_fd(self->cno, &fd));
}

/*
 * Covers: dat_evd_resize; dat_evd_resize INVALID_STATE INVALID_PARAMETER|ARG2
 * INSUFFICIENT_RESOURCES|TEVD; dat_evd_post_se; dat_evd_post_se QUEUE_FULL; dat_evd_dequeue;
 * dat_evd_dequeue QUEUE_EMPTY; SH 30, 33
 */
TEST_F(cno, resizing_keeps_events_and_their_order)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EVD_PARAM param;
	uintptr_t i;

	for (i = 0; i < 8; i++) {
		event.event_data.software_event_data.pointer = (void *)i;
		ASSERT_EQ(DAT_SUCCESS, dat_evd_post_se(self->evd[0], &event));
	}
	EXPECT_EQ(RC(DAT_QUEUE_FULL, 0), dat_evd_post_se(self->evd[0], &event));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_resize(self->evd[0], 100));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_query(self->evd[0], DAT_EVD_FIELD_ALL, &param));
	EXPECT_EQ(128, param.evd_qlen);
	for (; i < 100; i++) {
		event.event_data.software_event_data.pointer = (void *)i;
		ASSERT_EQ(DAT_SUCCESS, dat_evd_post_se(self->evd[0], &event));
	}
	/* 100 events are queued, which do not fit into 64 entries. */
	EXPECT_EQ(DAT_INVALID_STATE, TYPE(dat_evd_resize(self->evd[0], 64)));
	for (i = 0; i < 95; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_evd_dequeue(self->evd[0], &event));
		EXPECT_EQ((void *)i, event.event_data.software_event_data.pointer);
	}
	ASSERT_EQ(DAT_SUCCESS, dat_evd_resize(self->evd[0], 8));
	for (; i < 100; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_evd_dequeue(self->evd[0], &event));
		EXPECT_EQ((void *)i, event.event_data.software_event_data.pointer);
	}
	EXPECT_EQ(RC(DAT_QUEUE_EMPTY, 0), dat_evd_dequeue(self->evd[0], &event));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2), dat_evd_resize(self->evd[0], 0));
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, TYPE(dat_evd_resize(self->evd[0], 1 << 30)));
}

static volatile int posting;

static void *post_all_the_time(void *arg)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	uintptr_t i = 0;

	while (posting) {
		event.event_data.software_event_data.pointer = (void *)i;
		if (dat_evd_post_se(arg, &event) == DAT_SUCCESS)
			i++;
	}
	return (void *)i;
}

/* Covers: dat_evd_resize; SH 33 */
TEST_F_TIMEOUT(cno, resizing_while_events_come_loses_none, 120)
{
	DAT_EVENT event;
	pthread_t thread;
	void *posted;
	uintptr_t next = 0;
	int i, n;

	posting = 1;
	ASSERT_EQ(0, pthread_create(&thread, NULL, post_all_the_time, self->evd[0]));
	/* Continue until an event has arrived.  On a busy machine, the first event may be late. */
	for (i = 0; i < 300 || !next; i++) {
		dat_evd_resize(self->evd[0], 8 << (i % 6));
		for (n = 0; n < 20 && dat_evd_dequeue(self->evd[0], &event) == DAT_SUCCESS; n++)
			ASSERT_EQ((void *)next++, event.event_data.software_event_data.pointer);
	}
	posting = 0;
	pthread_join(thread, &posted);
	while (dat_evd_dequeue(self->evd[0], &event) == DAT_SUCCESS)
		ASSERT_EQ((void *)next++, event.event_data.software_event_data.pointer);
	EXPECT_EQ((void *)next, posted);
	EXPECT_LT(0, next);
}

TEST_HARNESS_MAIN
