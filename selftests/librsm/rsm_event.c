// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* RSMAPI: signals, and waits for signals. */
#define _GNU_SOURCE
#include "rsm_test.h"
#include "sleeps.h"
#include "stops.h"
#include "timens.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

FIXTURE(event) {
	struct r_pair p;
};

FIXTURE_SETUP(event)
{
	ASSERT_EQ(RSM_SUCCESS, r_pair(&self->p));
}

FIXTURE_TEARDOWN(event)
{
	r_close(&self->p);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/*
 * Send SIGALRM to this process after each @ms milliseconds, because the first signal may come
 * before the call that it should interrupt.  The call does not restart (no SA_RESTART).  0 ends the
 * signals.
 */
static void alarm_every_ms(unsigned int ms)
{
	struct sigaction sa = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &sa, NULL);
	ualarm(ms * 1000, ms * 1000);
}

/* RSM check: 62 */
TEST_F(event, every_post_satisfies_a_wait)
{
	uint64_t start;
	int i;

	for (i = 0; i < 5; i++)
		ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_post(self->p.imp, 0));
	for (i = 0; i < 5; i++)
		EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(self->p.exp, R_WAIT_MS));
	EXPECT_EQ(RSMERR_TIMEOUT, rsm_intr_signal_wait(self->p.exp, R_LATE_MS));
	start = now_ms();
	EXPECT_EQ(RSMERR_TIMEOUT, rsm_intr_signal_wait(self->p.exp, R_QUIET_MS));
	EXPECT_LE(R_QUIET_MS, now_ms() - start + 1);
	alarm_every_ms(50);
	EXPECT_EQ(RSMERR_INTERRUPTED, rsm_intr_signal_wait(self->p.exp, -1));
	alarm_every_ms(0);
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_intr_signal_wait(NULL, 0));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_intr_signal_post(NULL, 0));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_intr_signal_post(self->p.ctlr, 0));
}

/* RSM check: 62 */
TEST_F(event, a_stop_and_a_continue_do_not_end_a_wait)
{
	uint64_t start = now_ms();
	struct stops s;
	int n;

	ASSERT_EQ(0, stops_begin(&s));
	EXPECT_EQ(RSMERR_TIMEOUT, rsm_intr_signal_wait(self->p.exp, STOPS_WAIT_MS));
	EXPECT_LE(STOPS_WAIT_MS, now_ms() - start + 1);
	/* The stops must not change the deadline of the wait. */
	n = stops_end(&s);
	EXPECT_LT(0, n);
	EXPECT_GT(STOPS_MAX, n);
}

/* Runs in a time namespace.  Returns 0 if a wait of 1500 ms times out after at least 1500 ms. */
static int wait_times_out(void)
{
	uint64_t start = now_ms();
	struct r_pair p;

	if (r_pair(&p))
		return 1;
	if (rsm_intr_signal_wait(p.exp, 1500) != RSMERR_TIMEOUT)
		return 2;
	return now_ms() - start + 1 < 1500 ? 3 : 0;
}

TEST(a_wait_lasts_as_long_as_it_should_where_the_clock_is_ahead_or_behind)
{
	int ahead = timens_run(100000, wait_times_out);

	if (ahead == TIMENS_NONE)
		SKIP(return, "needs root and CONFIG_TIME_NS");
	EXPECT_EQ(0, ahead);
	EXPECT_EQ(0, timens_run(-1, wait_times_out));
}

struct sleeper {
	void		*seg;
	int		ret;
	uint64_t	took;
	pid_t		tid;
	pthread_t	thread;
};

static void *sleeper_main(void *arg)
{
	struct sleeper *s = arg;
	uint64_t start = now_ms();

	__atomic_store_n(&s->tid, gettid(), __ATOMIC_RELEASE);
	s->ret = rsm_intr_signal_wait(s->seg, R_WAIT_MS);
	s->took = now_ms() - start;
	return NULL;
}

/*
 * Post through @from to a thread that sleeps on @to.  Returns 0 if the event has woken the thread.
 * A wait whose wake-up is lost finds the event when its time is up.
 */
static int wakes(void *from, void *to)
{
	struct sleeper s = { .seg = to };

	if (pthread_create(&s.thread, NULL, sleeper_main, &s))
		return 1;
	if (sleeps_of(&s.tid, R_WAIT_MS) < 0 || rsm_intr_signal_post(from, 0))
		return 2;
	pthread_join(s.thread, NULL);
	if (s.ret)
		return s.ret;
	return s.took < R_WAIT_MS ? 0 : 3;
}

TEST_F_TIMEOUT(event, a_signal_wakes_who_sleeps, 120)
{
	EXPECT_EQ(0, wakes(self->p.imp, self->p.exp));
	EXPECT_EQ(0, wakes(self->p.exp, self->p.imp));
}

/* RSM check: 63 */
TEST_F(event, no_accumulate_adds_none_to_one)
{
	int i;

	for (i = 0; i < 5; i++)
		ASSERT_EQ(RSM_SUCCESS,
			  rsm_intr_signal_post(self->p.imp, RSM_SIGPOST_NO_ACCUMULATE));
	ASSERT_EQ(RSM_SUCCESS, r_drain(&self->p));
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(self->p.exp, R_WAIT_MS));
	EXPECT_EQ(RSMERR_TIMEOUT, rsm_intr_signal_wait(self->p.exp, R_LATE_MS));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_post(self->p.imp, 0));
	ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_post(self->p.imp, RSM_SIGPOST_NO_ACCUMULATE));
	ASSERT_EQ(RSM_SUCCESS, r_drain(&self->p));
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(self->p.exp, R_WAIT_MS));
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(self->p.exp, R_WAIT_MS));
	EXPECT_EQ(RSMERR_TIMEOUT, rsm_intr_signal_wait(self->p.exp, R_LATE_MS));
}

/* Import the segment with two handles, and expect exactly one event at each handle. */
static int receive_once(void *arg)
{
	struct r_pair *parent = arg, p;
	void *second;
	int i;

	if (r_open(&p))
		return 1;
	p.id = parent->id;
	if (r_import(&p, 0) || rsm_memseg_import_connect(p.ctlr, p.node, p.id, 0, &second))
		return 2;
	/* Both imports exist: tell the exporter by an event. */
	if (rsm_intr_signal_post(p.imp, 0))
		return 3;
	for (i = 0; i < 2; i++)
		if (rsm_intr_signal_wait(i ? second : p.imp, R_WAIT_MS))
			return 4;
	for (i = 0; i < 2; i++)
		if (rsm_intr_signal_wait(i ? second : p.imp, R_QUIET_MS) != RSMERR_TIMEOUT)
			return 5;
	return 0;
}

/* RSM check: 64 */
TEST_F(event, an_export_signals_every_import)
{
	pid_t pid[3];
	int i, status;

	for (i = 0; i < 3; i++) {
		pid[i] = fork();
		if (!pid[i])
			_exit(receive_once(&self->p));
	}
	for (i = 0; i < 3; i++)
		ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(self->p.exp, R_WAIT_MS));
	ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_post(self->p.exp, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(self->p.imp, R_WAIT_MS));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(pid[i], waitpid(pid[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_import_disconnect(self->p.imp));
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_post(self->p.exp, 0));
}

/* RSM check: 65 */
TEST_F(event, segments_are_polled_among_others)
{
	struct pollfd fds[3];
	int n = 77, pipefd[2];
	char c = 'x';

	ASSERT_EQ(0, pipe(pipefd));
	fds[0] = (struct pollfd) { .fd = pipefd[0], .events = POLLIN };
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_get_pollfd(self->p.exp, &fds[1]));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_get_pollfd(self->p.imp, &fds[2]));
	EXPECT_EQ(POLLRDNORM, fds[1].events);
	EXPECT_EQ(RSMERR_TIMEOUT, rsm_intr_signal_wait_pollfd(fds, 3, 0, &n));
	EXPECT_EQ(0, n);
	ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_post(self->p.imp, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait_pollfd(fds, 3, R_WAIT_MS, &n));
	EXPECT_EQ(1, n);
	EXPECT_EQ(0, fds[0].revents);
	EXPECT_EQ(POLLRDNORM, fds[1].revents);
	EXPECT_EQ(0, fds[2].revents);
	EXPECT_EQ(RSMERR_TIMEOUT, rsm_intr_signal_wait_pollfd(fds, 3, R_LATE_MS, &n));
	ASSERT_EQ(1, write(pipefd[1], &c, 1));
	ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_post(self->p.exp, 0));
	ASSERT_EQ(1, poll(&fds[2], 1, R_WAIT_MS));
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait_pollfd(fds, 3, -1, &n));
	EXPECT_EQ(2, n);
	EXPECT_EQ(POLLIN, fds[0].revents);
	EXPECT_EQ(POLLRDNORM, fds[2].revents);
	close(pipefd[0]);
	close(pipefd[1]);
}

/* RSM check: 65 */
TEST_F(event, errors_of_poll_are_told)
{
	struct pollfd *volatile nowhere = (void *)8, fd;
	int n;

	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_get_pollfd(self->p.exp, &fd));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_intr_signal_wait_pollfd(nowhere, 1, 0, &n));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_intr_signal_wait_pollfd(NULL, 1, 0, &n));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_intr_signal_wait_pollfd(&fd, 1, 0, NULL));
	EXPECT_EQ(RSMERR_BAD_ARGS_ERRORS, rsm_intr_signal_wait_pollfd(&fd, 1 << 24, 0, &n));
	alarm_every_ms(50);
	EXPECT_EQ(RSMERR_INTERRUPTED, rsm_intr_signal_wait_pollfd(&fd, 1, -1, &n));
	alarm_every_ms(0);
}

static void *steal(void *arg)
{
	struct r_pair *p = arg;
	int got = 0;

	while (got < 100)
		got += rsm_intr_signal_wait(p->exp, R_WAIT_MS) == RSM_SUCCESS;
	return NULL;
}

/* RSM check: 65 */
TEST_F(event, who_was_too_late_goes_on_waiting)
{
	struct pollfd fd;
	int i, n, got = 0;
	pthread_t t;

	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_get_pollfd(self->p.exp, &fd));
	ASSERT_EQ(0, pthread_create(&t, NULL, steal, &self->p));
	for (i = 0; i < 200; i++)
		ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_post(self->p.imp, 0));
	while (got < 100 && !rsm_intr_signal_wait_pollfd(&fd, 1, R_WAIT_MS, &n))
		got += n;
	pthread_join(t, NULL);
	EXPECT_EQ(100, got);
	EXPECT_EQ(RSMERR_TIMEOUT, rsm_intr_signal_wait(self->p.exp, R_LATE_MS));
}

static void *wait_for_ever(void *arg)
{
	rsm_intr_signal_wait(arg, -1);
	return NULL;
}

TEST_F(event, a_cancelled_waiter_ends)
{
	pthread_t thread;
	void *result;

	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_for_ever, self->p.exp));
	usleep(R_QUIET_MS * 1000);
	ASSERT_EQ(0, pthread_cancel(thread));
	ASSERT_EQ(0, pthread_join(thread, &result));
	EXPECT_EQ(PTHREAD_CANCELED, result);
}

/* RSM check: 66 */
TEST_F(event, descriptors_are_counted)
{
	struct pollfd a, b;

	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_memseg_get_pollfd(NULL, &a));
	EXPECT_EQ(RSMERR_BAD_ADDR, rsm_memseg_get_pollfd(self->p.exp, NULL));
	EXPECT_EQ(RSMERR_BAD_SEG_HNDL, rsm_memseg_release_pollfd(NULL));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_get_pollfd(self->p.exp, &a));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_get_pollfd(self->p.exp, &b));
	EXPECT_EQ(a.fd, b.fd);
	EXPECT_EQ(RSMERR_POLLFD_IN_USE, rsm_memseg_export_destroy(self->p.exp));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_release_pollfd(self->p.exp));
	EXPECT_EQ(RSMERR_POLLFD_IN_USE, rsm_memseg_export_destroy(self->p.exp));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_unpublish(self->p.exp));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_release_pollfd(self->p.exp));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_release_pollfd(self->p.exp));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_export_destroy(self->p.exp));
}

TEST_F(event, a_descriptor_that_is_not_to_be_had_leaves_nothing)
{
	struct rlimit old, none = { 0 };
	struct pollfd fd;
	int i;

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
	none.rlim_max = old.rlim_max;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	/* A reference to the export that each call left would be reported as leaked memory. */
	for (i = 0; i < 10; i++)
		EXPECT_EQ(RSMERR_INSUFFICIENT_RESOURCES,
			  rsm_memseg_get_pollfd(self->p.exp, &fd));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_get_pollfd(self->p.exp, &fd));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_release_pollfd(self->p.exp));
}

/*
 * The test itself closes the descriptor of the export.  The descriptor of the import then gets the
 * same number.  The release of the first must leave the second open.
 */
TEST_F(event, a_descriptor_that_was_closed_by_hand_does_not_hide_another)
{
	struct pollfd a, b;
	int n;

	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_get_pollfd(self->p.exp, &a));
	close(a.fd);
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_get_pollfd(self->p.imp, &b));
	ASSERT_EQ(a.fd, b.fd);
	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_release_pollfd(self->p.exp));
	ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_post(self->p.exp, 0));
	/*
	 * The library must recognize b.fd as a descriptor of the import, so the wait consumes the
	 * event.  An unknown descriptor would only be polled, so the second wait would find the
	 * event again.
	 */
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait_pollfd(&b, 1, R_WAIT_MS, &n));
	EXPECT_EQ(RSMERR_TIMEOUT, rsm_intr_signal_wait_pollfd(&b, 1, 0, &n));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_release_pollfd(self->p.imp));
	EXPECT_EQ(-1, fcntl(b.fd, F_GETFD));
}

/* A pipe of the test gets the number of a descriptor that the test has closed. */
TEST_F(event, a_file_in_the_place_of_a_closed_descriptor_belongs_to_the_program)
{
	struct pollfd fd;
	int pipes[2], n;

	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_get_pollfd(self->p.exp, &fd));
	close(fd.fd);
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(fd.fd, pipes[0]);
	ASSERT_EQ(1, write(pipes[1], "x", 1));
	/* The event is of the pipe, so the wait must not look for an event of the export. */
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait_pollfd(&fd, 1, R_LATE_MS, &n));
	EXPECT_EQ(RSM_SUCCESS, rsm_memseg_release_pollfd(self->p.exp));
	EXPECT_EQ(0, fcntl(pipes[0], F_GETFD));
	close(pipes[0]);
	close(pipes[1]);
}

/* RSM check: 66 */
TEST_F(event, plain_poll_sees_events_and_leaves_them)
{
	struct pollfd fd;

	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_get_pollfd(self->p.exp, &fd));
	EXPECT_EQ(0, poll(&fd, 1, 0));
	ASSERT_EQ(RSM_SUCCESS, rsm_intr_signal_post(self->p.imp, 0));
	EXPECT_EQ(1, poll(&fd, 1, R_SOON_MS));
	EXPECT_EQ(POLLRDNORM, fd.revents);
	EXPECT_EQ(1, poll(&fd, 1, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait(self->p.exp, 0));
	EXPECT_EQ(0, poll(&fd, 1, 0));
}

static void *unpublish_soon(void *arg)
{
	struct r_pair *p = arg;

	usleep(50000);
	rsm_memseg_export_unpublish(p->exp);
	return NULL;
}

/* RSM check: 67 */
TEST_F(event, a_cut_import_can_not_signal_nor_wait)
{
	struct pollfd fd;
	pthread_t t;
	int n;

	ASSERT_EQ(RSM_SUCCESS, rsm_memseg_get_pollfd(self->p.imp, &fd));
	ASSERT_EQ(0, pthread_create(&t, NULL, unpublish_soon, &self->p));
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_intr_signal_wait(self->p.imp, -1));
	pthread_join(t, NULL);
	EXPECT_EQ(RSMERR_CONN_ABORTED, rsm_intr_signal_post(self->p.imp, 0));
	EXPECT_EQ(RSM_SUCCESS, rsm_intr_signal_wait_pollfd(&fd, 1, -1, &n));
	EXPECT_EQ(1, n);
	EXPECT_EQ(POLLHUP, fd.revents);
}

TEST_HARNESS_MAIN
