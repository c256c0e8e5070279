// SPDX-License-Identifier: GPL-2.0
/*
 * What strangers can make a listener hold: requests without an answer, and accepted
 * connections that the peer never confirms.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "roce_peer.h"

#define SILENT		256
#define NEVER_MS	3600000
#define CLOSINGS	400
#define WQ_ACTIVE	256	/* works of one workqueue that run at a time */
#define BACKLOG		1024	/* the default of the module's parameter, and its largest */
#define TIMEOUT_MS	10000

/* Reasons of a reject, as the InfiniBand specification numbers them. */
#define REJ_NO_RESOURCES	3
#define REJ_INVALID_SERVICE_ID	8
#define REJ_CONSUMER		28

FIXTURE(backlog) {
	struct t_pair p;
	struct t_evd cr, evd;
	uint32_t psp;
	struct t_ep ep[CLOSINGS];
	struct roce_peer peer;
};

FIXTURE_SETUP(backlog)
{
	struct t_pair *p = &self->p;
	int i;

	memset(self, 0, sizeof(*self));
	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, t_evd(&p->f, DAT_STREAM_CR, 2 * SILENT, &self->cr));
	ASSERT_EQ(0, t_evd(&p->f, DAT_STREAM_CONNECTION | DAT_STREAM_DTO, 4 * SILENT, &self->evd));
	ASSERT_EQ(0, t_psp(&p->f, &self->cr, T_QUAL + 1, &self->psp));
	for (i = 0; i < CLOSINGS; i++)
		ASSERT_EQ(0, t_long_ep(&p->f, p->pz, &self->evd, 0, i, 1, &self->ep[i]));
}

FIXTURE_TEARDOWN(backlog)
{
	t_set_param("backlog", BACKLOG);
	t_set_param("accept_timeout", TIMEOUT_MS);
	roce_end(&self->peer);
	t_pair_close(&self->p);
}

/* The next event of @evd, or 0 if none comes. */
static uint32_t next(struct t_evd *evd)
{
	struct dat_eqe eqe;

	return t_event(evd, T_WAIT_MS, &eqe) ? eqe.type : 0;
}

static int request(FIXTURE_DATA(backlog) *self, int i)
{
	return t_connect(&self->p.f, &self->ep[i], T_QUAL + 1, NULL, 0);
}

static int accept_next(FIXTURE_DATA(backlog) *self, const struct t_ep *ep)
{
	struct dat_eqe eqe;

	if (!t_event(&self->cr, T_WAIT_MS, &eqe))
		return -ETIMEDOUT;
	return t_accept(&self->p.f, (uint32_t)eqe.data, ep, NULL, 0);
}

/* Connect @n silent peers to the endpoints from the first on: they are accepted, no more. */
static int silent_peers(FIXTURE_DATA(backlog) *self, int n)
{
	struct roce_answers a;
	int i, ret = 0;

	for (i = 0; i < n && !ret; i++) {
		/* One at a time: the peer's socket has room for few answers. */
		ret = roce_request(&self->peer, T_QUAL + 1, 1);
		if (!ret)
			ret = accept_next(self, &self->ep[i]);
		if (!ret)
			ret = roce_answers(&self->peer, i + 1, T_WAIT_MS, &a);
		if (!ret && a.rejects)
			ret = -ECONNREFUSED;
	}
	return ret;
}

#define START_PEER() do {						\
	int _ret = roce_start(&self->peer, self->p.f.info.addr);	\
	if (_ret == -ENODEV)						\
		SKIP(return, "no soft-RoCE on a veth pair");		\
	ASSERT_EQ(0, _ret);						\
} while (0)

TEST_F_TIMEOUT(backlog, an_accepted_connection_that_is_never_confirmed_ends, 120)
{
	START_PEER();
	ASSERT_EQ(0, t_set_param("accept_timeout", 500));
	ASSERT_EQ(0, silent_peers(self, 1));
	EXPECT_EQ(DAT_EV_ACCEPT_ERROR, next(&self->evd));
	EXPECT_EQ(11, self->ep[0].st->state);
	/* The endpoint is as good as new. */
	ASSERT_EQ(0, t_reset(&self->p.f, &self->ep[0]));
	ASSERT_EQ(0, t_connect(&self->p.f, &self->ep[0], T_QUAL, NULL, 0));
}

TEST_F_TIMEOUT(backlog, a_connection_that_was_confirmed_outlives_the_deadline, 120)
{
	struct dat_eqe eqe;

	ASSERT_EQ(0, t_set_param("accept_timeout", 500));
	ASSERT_EQ(0, t_pair_connect(&self->p));
	EXPECT_EQ(0, t_event(&self->p.evd[0], 1500, &eqe));
	EXPECT_EQ(9, self->p.ep[0].st->state);
}

TEST_F_TIMEOUT(backlog, honest_peers_connect_while_256_silent_ones_hang, 240)
{
	struct dat_eqe eqe;

	START_PEER();
	ASSERT_EQ(0, t_set_param("accept_timeout", NEVER_MS));
	ASSERT_EQ(0, silent_peers(self, SILENT));
	ASSERT_EQ(0, t_connect(&self->p.f, &self->p.ep[1], T_QUAL + 1, NULL, 0));
	ASSERT_EQ(0, accept_next(self, &self->p.ep[0]));
	EXPECT_EQ(DAT_EV_ESTABLISHED, next(&self->p.evd[0]));
	EXPECT_EQ(DAT_EV_ESTABLISHED, next(&self->p.evd[1]));
	/* All the others hang still. */
	EXPECT_EQ(0, t_event(&self->evd, 0, &eqe));
}

TEST_F_TIMEOUT(backlog, silent_peers_fill_it_until_their_deadline, 120)
{
	struct roce_answers a;

	START_PEER();
	ASSERT_EQ(0, t_set_param("backlog", 4));
	ASSERT_EQ(0, t_set_param("accept_timeout", NEVER_MS));
	ASSERT_EQ(0, silent_peers(self, 2));
	ASSERT_EQ(0, t_set_param("accept_timeout", 1000));
	ASSERT_EQ(0, roce_request(&self->peer, T_QUAL + 1, 3));
	ASSERT_EQ(0, t_evd_wait(&self->cr, 2, T_WAIT_MS));
	/* Two accepted, two without an answer: there is no fifth place. */
	ASSERT_EQ(0, roce_answers(&self->peer, 3, T_WAIT_MS, &a));
	EXPECT_EQ(1, a.rejects);
	ASSERT_EQ(0, accept_next(self, &self->ep[2]));
	ASSERT_EQ(0, accept_next(self, &self->ep[3]));
	EXPECT_EQ(DAT_EV_ACCEPT_ERROR, next(&self->evd));
	EXPECT_EQ(DAT_EV_ACCEPT_ERROR, next(&self->evd));
	ASSERT_EQ(0, request(self, 5));
	ASSERT_EQ(0, t_evd_wait(&self->cr, 1, T_WAIT_MS));
}

TEST_F_TIMEOUT(backlog, requests_beyond_it_are_refused, 120)
{
	struct dat_eqe eqe;
	int i;

	ASSERT_EQ(0, t_set_param("backlog", 3));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, request(self, i));
	ASSERT_EQ(0, t_evd_wait(&self->cr, 3, T_WAIT_MS));
	/* The events have been dequeued, and the requests are there still. */
	for (i = 0; i < 3; i++)
		ASSERT_EQ(1, t_event(&self->cr, 0, &eqe));
	ASSERT_EQ(0, request(self, 3));
	EXPECT_EQ(DAT_EV_NON_PEER_REJECTED, next(&self->evd));
	/* An answer makes room for one. */
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_CR, (uint32_t)eqe.data));
	EXPECT_EQ(DAT_EV_NON_PEER_REJECTED, next(&self->evd));
	ASSERT_EQ(0, request(self, 4));
	ASSERT_EQ(0, t_evd_wait(&self->cr, 1, T_WAIT_MS));
	ASSERT_EQ(0, request(self, 5));
	EXPECT_EQ(DAT_EV_NON_PEER_REJECTED, next(&self->evd));
}

TEST_F_TIMEOUT(backlog, requests_that_the_peer_has_withdrawn_count_until_they_are_freed, 120)
{
	struct dat_eqe eqe;
	int i;

	ASSERT_EQ(0, t_set_param("backlog", 2));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, request(self, i));
	ASSERT_EQ(0, t_evd_wait(&self->cr, 2, T_WAIT_MS));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, t_disconnect(&self->p.f, &self->ep[i], 0));
		EXPECT_EQ(DAT_EV_DISCONNECTED, next(&self->evd));
		ASSERT_EQ(1, t_event(&self->cr, T_WAIT_MS, &eqe));
	}
	ASSERT_EQ(0, request(self, 2));
	EXPECT_EQ(DAT_EV_NON_PEER_REJECTED, next(&self->evd));
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_CR, (uint32_t)eqe.data));
	ASSERT_EQ(0, request(self, 3));
	ASSERT_EQ(0, t_evd_wait(&self->cr, 1, T_WAIT_MS));
}

TEST_F_TIMEOUT(backlog, a_connection_that_stands_leaves_its_place_to_the_next, 120)
{
	struct t_link link;

	ASSERT_EQ(0, t_set_param("backlog", 1));
	ASSERT_EQ(0, t_pair_connect(&self->p));
	ASSERT_EQ(0, t_link_open(&self->p, &link));
	EXPECT_EQ(0, t_link_works(&self->p, &link));
	t_link_close(&self->p, &link);
}

TEST_F_TIMEOUT(backlog, no_parameter_makes_it_larger_than_1024, 240)
{
	struct roce_answers a;
	struct t_evd cr;
	uint32_t psp;
	int i;

	START_PEER();
	ASSERT_EQ(0, t_evd(&self->p.f, DAT_STREAM_CR, 4096, &cr));
	ASSERT_EQ(0, t_psp(&self->p.f, &cr, T_QUAL + 2, &psp));
	ASSERT_EQ(0, t_set_param("backlog", 4000000000U));
	for (i = 1; i <= 4; i++) {
		ASSERT_EQ(0, roce_request(&self->peer, T_QUAL + 2, BACKLOG / 4));
		ASSERT_EQ(0, t_evd_wait(&cr, i * (BACKLOG / 4), T_WAIT_MS));
	}
	ASSERT_EQ(0, roce_request(&self->peer, T_QUAL + 2, 1));
	ASSERT_EQ(0, roce_answers(&self->peer, 1, T_WAIT_MS, &a));
	EXPECT_EQ(1, a.rejects);
}

/* Answer the next request by @answer, DAT_IOC_CR_REJECT or 0 for a free, and hear the reason. */
static uint32_t reason_of(FIXTURE_DATA(backlog) *self, int answer, uint32_t n)
{
	struct dat_cr_reject arg = { .size = sizeof(arg) };
	struct roce_answers a;
	struct dat_eqe eqe;

	if (roce_request(&self->peer, T_QUAL + 1, 1) || !t_event(&self->cr, T_WAIT_MS, &eqe))
		return 0;
	arg.id = (uint32_t)eqe.data;
	if (answer)
		t_ioctl(self->p.f.fd, answer, &arg);
	else
		t_free(&self->p.f, DAT_OBJ_CR, arg.id);
	return roce_answers(&self->peer, n, T_WAIT_MS, &a) ? 0 : a.reason;
}

TEST_F_TIMEOUT(backlog, the_reason_of_a_reject_tells_a_consumer_from_the_kernel, 120)
{
	struct roce_answers a;

	START_PEER();
	EXPECT_EQ(REJ_CONSUMER, reason_of(self, DAT_IOC_CR_REJECT, 1));
	EXPECT_EQ(REJ_INVALID_SERVICE_ID, reason_of(self, 0, 2));
	ASSERT_EQ(0, t_set_param("backlog", 1));
	ASSERT_EQ(0, roce_request(&self->peer, T_QUAL + 1, 1));
	ASSERT_EQ(0, t_evd_wait(&self->cr, 1, T_WAIT_MS));
	ASSERT_EQ(0, roce_request(&self->peer, T_QUAL + 1, 1));
	ASSERT_EQ(0, roce_answers(&self->peer, 3, T_WAIT_MS, &a));
	EXPECT_EQ(REJ_NO_RESOURCES, a.reason);
	ASSERT_EQ(0, roce_request(&self->peer, T_QUAL + 9, 1));
	ASSERT_EQ(0, roce_answers(&self->peer, 4, T_WAIT_MS, &a));
	EXPECT_EQ(REJ_INVALID_SERVICE_ID, a.reason);
}

/* --- whose memory it is ---------------------------------------------------------- */

#define CG	"/tmp/dat-backlog"

static long cg_current(void)
{
	long n = -1;
	FILE *f = fopen(CG "/one/memory.current", "r");

	if (f && fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

static int cg_write(const char *path, const char *what)
{
	int fd = open(path, O_WRONLY), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, what, strlen(what)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static int cg_make(void)
{
	mkdir(CG, 0755);
	if (mount("none", CG, "cgroup2", 0, NULL) ||
	    cg_write(CG "/cgroup.subtree_control", "+memory"))
		return -ENODEV;
	return mkdir(CG "/one", 0755) && errno != EEXIST ? -errno : 0;
}

/* A process in the cgroup that listens, and never answers. */
static pid_t cg_listener(int *ready)
{
	struct t_file f;
	struct t_evd cr;
	uint32_t psp;
	int fds[2], ret;
	pid_t pid;

	pipe(fds);
	pid = fork();
	if (!pid) {
		ret = cg_write(CG "/one/cgroup.procs", "0");
		if (!ret)
			ret = t_open(&f);
		if (!ret)
			ret = t_evd(&f, DAT_STREAM_CR, 2 * BACKLOG, &cr);
		if (!ret)
			ret = t_psp(&f, &cr, T_QUAL + 3, &psp);
		write(fds[1], &ret, sizeof(ret));
		if (!ret)
			t_evd_wait(&cr, BACKLOG - 1, T_WAIT_MS);
		write(fds[1], &ret, sizeof(ret));
		pause();
		_exit(0);
	}
	if (read(fds[0], &ret, sizeof(ret)) != sizeof(ret) || ret)
		fprintf(stderr, "# listener: %d\n", ret);
	*ready = fds[0];
	return pid;
}

TEST_F_TIMEOUT(backlog, requests_are_charged_to_the_listeners_owner, 240)
{
	int ready, ret, i;
	long before;
	pid_t pid;

	START_PEER();
	if (cg_make())
		SKIP(return, "no memory controller");
	pid = cg_listener(&ready);
	before = cg_current();
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, roce_request(&self->peer, T_QUAL + 3, BACKLOG / 4 - 1 + (i == 3) * 3));
	ASSERT_EQ(sizeof(ret), read(ready, &ret, sizeof(ret)));
	/* Each takes more than half a kilobyte; a CPU's stock of 64 pages blurs the figure. */
	EXPECT_LE(before + (BACKLOG - 1) * 512, cg_current());
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready);
	rmdir(CG "/one");
	umount(CG);
}

TEST_HARNESS_MAIN
