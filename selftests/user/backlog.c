// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Limits on what remote peers can make a listener hold: connection requests that the listener has
 * not answered, and accepted connections that the peer never confirms.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
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
#include "clock.h"
#include "klog.h"
#include "memcg.h"
#include "roce_peer.h"

#define SILENT		256
#define NEVER_MS	3600000
#define CLOSINGS	24
#define FEW_EPS		28	/* endpoints of each test; the other tests make more */
#define WQ_ACTIVE	8	/* concurrent work items in the test that fills a workqueue */
#define BACKLOG		1024	/* default and maximum of the parameter "backlog" */
#define TIMEOUT_MS	10000
#define ACK_TIMEOUT	17
#define REFUSALS	10000
#define REFUSALS_MS	6000	/* time limit; a slow machine refuses fewer */
#define REFUSALS_LEAST	200
#define LINES		20	/* of the log, for all of these */

/* Reject reasons, numbered as in the InfiniBand specification. */
#define REJ_NO_RESOURCES	3
#define REJ_INVALID_SERVICE_ID	8
#define REJ_INVALID_GID		12
#define REJ_CONSUMER		28

#define NWQ	2	/* workqueues of the driver whose limit a test changes */

FIXTURE(backlog) {
	unsigned int active[NWQ];
	struct t_pair p;
	struct t_evd cr, evd;
	uint32_t psp;
	struct t_ep ep[SILENT];
	int neps;
	struct roce_peer peer;
};

/* Make endpoints up to ep[@n - 1]. */
static int make_eps(FIXTURE_DATA(backlog) *self, int n)
{
	struct t_pair *p = &self->p;
	int ret = 0;

	for (; self->neps < n && !ret; self->neps++)
		ret = t_long_ep(&p->f, p->pz, &self->evd, 0, self->neps, 1, &self->ep[self->neps]);
	return ret;
}

/* Open the maximum number of concurrent work items of a workqueue of the driver. */
static FILE *open_active(int wq, const char *mode)
{
	static const char * const name[NWQ] = { "dat", "dat-close" };
	char path[80];

	snprintf(path, sizeof(path), "/sys/bus/workqueue/devices/%s/max_active", name[wq]);
	return fopen(path, mode);
}

static int get_active(unsigned int n[NWQ])
{
	int i, ret = 0;
	FILE *f;

	for (i = 0; i < NWQ && !ret; i++) {
		f = open_active(i, "r");
		if (!f)
			return -errno;
		ret = fscanf(f, "%u", &n[i]) == 1 ? 0 : -EINVAL;
		fclose(f);
	}
	return ret;
}

static int set_active(const unsigned int n[NWQ])
{
	int i, ret = 0;
	FILE *f;

	for (i = 0; i < NWQ && !ret; i++) {
		f = open_active(i, "w");
		if (!f)
			return -errno;
		fprintf(f, "%u\n", n[i]);
		ret = fclose(f) ? -errno : 0;
	}
	return ret;
}

FIXTURE_SETUP(backlog)
{
	struct t_pair *p = &self->p;

	memset(self, 0, sizeof(*self));
	ASSERT_EQ(0, get_active(self->active));
	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, t_evd(&p->f, DAT_STREAM_CR, 2 * SILENT, &self->cr));
	ASSERT_EQ(0, t_evd(&p->f, DAT_STREAM_CONNECTION | DAT_STREAM_DTO, 4 * SILENT, &self->evd));
	ASSERT_EQ(0, t_psp(&p->f, &self->cr, T_QUAL + 1, &self->psp));
	ASSERT_EQ(0, make_eps(self, FEW_EPS));
}

FIXTURE_TEARDOWN(backlog)
{
	t_set_param("backlog", BACKLOG);
	t_set_param("accept_timeout", TIMEOUT_MS);
	t_set_param("ack_timeout", ACK_TIMEOUT);
	t_set_param("log_all", 0);
	EXPECT_EQ(0, set_active(self->active));
	roce_end(&self->peer);
	t_pair_close(&self->p);
}

/* Returns the type of the next event of @evd, or 0 if none comes in time. */
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
	return t_accept(&self->p.f, (uint32_t)eqe.len, ep, NULL, 0);
}

/*
 * Connect @n peers to the endpoints ep[0] to ep[@n - 1].  The listener accepts each request, but
 * the peer never confirms the accept.
 */
static int silent_peers(FIXTURE_DATA(backlog) *self, int n)
{
	struct roce_answers a;
	int ret = 0, i;

	/*
	 * Send one request at a time: a busy machine drops packets of a burst, and the peer does
	 * not retransmit.
	 */
	for (i = 0; i < n && !ret; i++) {
		ret = roce_request(&self->peer, T_QUAL + 1, 1);
		if (!ret)
			ret = accept_next(self, &self->ep[i]);
	}
	if (!ret)
		ret = roce_answers(&self->peer, n, T_WAIT_MS, &a);
	if (!ret && a.rejects)
		ret = -ECONNREFUSED;
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
	int klog = klog_open();
	uint64_t start;

	ASSERT_LE(0, klog);
	START_PEER();
	ASSERT_EQ(0, t_set_param("log_all", 1));
	ASSERT_EQ(0, t_set_param("accept_timeout", 500));
	start = now_ms();
	ASSERT_EQ(0, silent_peers(self, 1));
	EXPECT_EQ(DAT_EV_ACCEPT_ERROR, next(&self->evd));
	/* The connection ends by the deadline that was set, not by the default. */
	EXPECT_LE(500, now_ms() - start + 1);
	EXPECT_GT(TIMEOUT_MS, now_ms() - start);
	EXPECT_EQ(11, self->ep[0].st->state);
	EXPECT_EQ(1, klog_count(klog, "has not confirmed an accept in time"));
	close(klog);
	/* The failed endpoint can be reset and connected again. */
	ASSERT_EQ(0, t_set_param("accept_timeout", TIMEOUT_MS));
	ASSERT_EQ(0, t_reset(&self->p.f, &self->ep[0]));
	ASSERT_EQ(0, t_connect(&self->p.f, &self->ep[0], T_QUAL + 1, NULL, 0));
	ASSERT_EQ(0, accept_next(self, &self->p.ep[0]));
	EXPECT_EQ(DAT_EV_ESTABLISHED, next(&self->p.evd[0]));
	EXPECT_EQ(DAT_EV_ESTABLISHED, next(&self->evd));
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
	ASSERT_EQ(0, make_eps(self, SILENT));
	ASSERT_EQ(0, silent_peers(self, SILENT));
	ASSERT_EQ(0, t_connect(&self->p.f, &self->p.ep[1], T_QUAL + 1, NULL, 0));
	ASSERT_EQ(0, accept_next(self, &self->p.ep[0]));
	EXPECT_EQ(DAT_EV_ESTABLISHED, next(&self->p.evd[0]));
	EXPECT_EQ(DAT_EV_ESTABLISHED, next(&self->p.evd[1]));
	/* The connections of the unconfirmed peers are still pending. */
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
	/*
	 * Two accepted and two unanswered requests reach the limit of four, so the listener refuses
	 * the fifth request.
	 */
	ASSERT_EQ(0, roce_answers(&self->peer, 3, T_WAIT_MS, &a));
	EXPECT_EQ(1, a.rejects);
	ASSERT_EQ(0, accept_next(self, &self->ep[2]));
	ASSERT_EQ(0, accept_next(self, &self->ep[3]));
	EXPECT_EQ(DAT_EV_ACCEPT_ERROR, next(&self->evd));
	EXPECT_EQ(DAT_EV_ACCEPT_ERROR, next(&self->evd));
	ASSERT_EQ(0, request(self, 5));
	ASSERT_EQ(0, t_evd_wait(&self->cr, 1, T_WAIT_MS));
}

/* Covers: SH 58 */
TEST_F_TIMEOUT(backlog, requests_beyond_it_are_refused, 120)
{
	struct dat_eqe eqe;
	int i;

	ASSERT_EQ(0, t_set_param("backlog", 3));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, request(self, i));
	ASSERT_EQ(0, t_evd_wait(&self->cr, 3, T_WAIT_MS));
	/* The events are dequeued, but the unanswered requests still count against the limit. */
	for (i = 0; i < 3; i++)
		ASSERT_EQ(1, t_event(&self->cr, 0, &eqe));
	ASSERT_EQ(0, request(self, 3));
	EXPECT_EQ(DAT_EV_NON_PEER_REJECTED, next(&self->evd));
	/* Freeing one unanswered request makes room for one new request. */
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_CR, (uint32_t)eqe.len));
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
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_CR, (uint32_t)eqe.len));
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

/*
 * Answer a request with the ioctl @answer (DAT_IOC_CR_REJECT), or free the request if @answer is 0.
 * Returns the reject reason that the peer receives.
 */
static uint32_t reason_of(FIXTURE_DATA(backlog) *self, int answer, uint32_t n)
{
	struct dat_cr_reject arg = { .size = sizeof(arg) };
	struct roce_answers a;
	struct dat_eqe eqe;

	if (roce_request(&self->peer, T_QUAL + 1, 1) || !t_event(&self->cr, T_WAIT_MS, &eqe))
		return 0;
	arg.id = (uint32_t)eqe.len;
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

TEST_F_TIMEOUT(backlog, a_request_that_claims_another_address_than_that_of_its_path_is_refused, 60)
{
	struct roce_ask ask = { .qual = T_QUAL + 1 };
	struct roce_answers a;
	struct dat_eqe eqe;

	START_PEER();
	inet_pton(AF_INET, "10.9.0.62", &ask.claims);
	ASSERT_EQ(0, roce_ask(&self->peer, &ask, 1));
	EXPECT_EQ(0, roce_answers(&self->peer, 1, T_WAIT_MS, &a));
	EXPECT_EQ(1, a.rejects);
	EXPECT_EQ(REJ_INVALID_GID, a.reason);
	EXPECT_EQ(0, t_event(&self->cr, 0, &eqe));
	inet_pton(AF_INET, ROCE_ADDR, &ask.claims);
	ASSERT_EQ(0, roce_ask(&self->peer, &ask, 1));
	EXPECT_EQ(1, t_event(&self->cr, T_WAIT_MS, &eqe));
}

TEST_F_TIMEOUT(backlog, a_one_shot_listener_refuses_the_second_request_as_if_there_were_none, 120)
{
	struct dat_psp_create psp = {
		.size = sizeof(psp), .evd = self->cr.id, .conn_qual = T_QUAL + 2,
		.flags = DAT_PSP_ONE_SHOT,
	};
	struct roce_answers a;

	START_PEER();
	ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_PSP_CREATE, &psp));
	ASSERT_EQ(0, roce_request(&self->peer, T_QUAL + 2, 2));
	ASSERT_EQ(0, roce_answers(&self->peer, 1, T_WAIT_MS, &a));
	EXPECT_EQ(1, a.rejects);
	EXPECT_EQ(REJ_INVALID_SERVICE_ID, a.reason);
}

/* --- memory accounting ------------------------------------------------------------ */

/* Start a process in the cgroup.  The process listens, but never answers a request. */
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
		ret = memcg_enter();
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
	if (memcg_make())
		SKIP(return, "no memory controller");
	pid = cg_listener(&ready);
	before = memcg_bytes();
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, roce_request(&self->peer, T_QUAL + 3, BACKLOG / 4 - 1 + (i == 3) * 3));
	ASSERT_EQ(sizeof(ret), read(ready, &ret, sizeof(ret)));
	/* Each request takes more than 512 bytes. */
	EXPECT_LE(before + (BACKLOG - 1) * 512, memcg_bytes());
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready);
	memcg_remove();
}

TEST_F_TIMEOUT(backlog, a_listener_that_is_gone_keeps_no_memory_cgroup, 60)
{
	int ready;
	pid_t pid;

	if (memcg_make())
		SKIP(return, "no memory controller");
	pid = cg_listener(&ready);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready);
	EXPECT_EQ(0, memcg_held(T_WAIT_MS));
	memcg_remove();
}

/* --- waiting --------------------------------------------------------------------- */

#define HUNG_FILE	"/tmp/dat-backlog-file"

/*
 * FUSE server of a single file.  The server never answers a read request, but writes one byte to
 * @reads for each of them.
 */
static void serve_file(int dev, int reads)
{
	static char buf[1 << 18];
	struct fuse_in_header *in = (void *)buf;

	while (read(dev, buf, sizeof(buf)) > 0) {
		struct {
			struct fuse_out_header	h;
			union {
				struct fuse_init_out	init;
				struct fuse_attr_out	attr;
				struct fuse_open_out	open;
			};
		} out = { .h = { .unique = in->unique } };
		size_t len = 0;

		switch (in->opcode) {
		case FUSE_INIT:
			out.init = (struct fuse_init_out) { .major = 7, .minor = 31,
							    .max_write = 4096 };
			len = sizeof(out.init);
			break;
		case FUSE_GETATTR:
			out.attr.attr = (struct fuse_attr) { .ino = 1, .size = 65536, .nlink = 1,
							     .mode = S_IFREG | 0666 };
			len = sizeof(out.attr);
			break;
		case FUSE_OPEN:
			len = sizeof(out.open);
			break;
		case FUSE_READ:
			write(reads, "", 1);
			continue;
		case FUSE_FORGET:
			continue;
		default:
			out.h.error = -ENOSYS;
		}
		out.h.len = sizeof(out.h) + len;
		write(dev, &out, out.h.len);
	}
	_exit(0);
}

/*
 * Mount the file of serve_file().  Returns the pid of the server.  @reads becomes readable when a
 * read of the file hangs; killing the server makes the read fail.
 */
static pid_t start_file(int *reads)
{
	char opt[64];
	int dev, fds[2];
	pid_t pid;

	system("modprobe -q fuse");
	close(open(HUNG_FILE, O_CREAT | O_RDWR, 0666));
	dev = open("/dev/fuse", O_RDWR);
	snprintf(opt, sizeof(opt), "fd=%d,rootmode=100000,user_id=0,group_id=0", dev);
	if (dev < 0 || mount("dat-backlog", HUNG_FILE, "fuse", MS_NOSUID | MS_NODEV, opt) ||
	    pipe(fds))
		return -1;
	pid = fork();
	if (!pid)
		serve_file(dev, fds[1]);
	close(dev);
	*reads = fds[0];
	return pid;
}

struct stuck {
	struct t_file	f;
	uint32_t	pz;
	void		*mem;
};

static void *register_it(void *arg)
{
	struct stuck *s = arg;
	struct dat_lmr_create lmr = {
		.size = sizeof(lmr), .pz = s->pz, .addr = (uintptr_t)s->mem, .length = 4096,
		.priv = T_PRIV_ALL,
	};

	t_ioctl(s->f.fd, DAT_IOC_LMR_CREATE, &lmr);
	return NULL;
}

static void *close_it(void *arg)
{
	struct dat_ia_close a = { .size = sizeof(a) };
	struct stuck *s = arg;

	t_ioctl(s->f.fd, DAT_IOC_IA_CLOSE, &a);
	return NULL;
}

TEST_F_TIMEOUT(backlog, a_full_evd_refuses_while_its_process_hangs_in_a_page_fault, 120)
{
	struct pollfd pfd = { .events = POLLIN };
	struct stuck s = { 0 };
	struct stat st;
	pthread_t t[2];
	struct t_evd cr;
	uint32_t psp;
	pid_t server;
	int i, fd;

	server = start_file(&pfd.fd);
	if (server < 0)
		SKIP(return, "needs FUSE");
	fd = open(HUNG_FILE, O_RDWR);
	/* Let fstat() fetch the file size now, because a page fault does not fetch the size. */
	ASSERT_EQ(0, fstat(fd, &st));
	s.mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, s.mem);
	ASSERT_EQ(0, t_open(&s.f));
	ASSERT_EQ(0, t_pz(&s.f, &s.pz));
	ASSERT_EQ(0, t_evd(&s.f, DAT_STREAM_CR, 1, &cr));
	ASSERT_EQ(0, t_psp(&s.f, &cr, T_QUAL + 4, &psp));
	for (i = 0; i < (int)cr.entries; i++)
		ASSERT_EQ(0, t_connect(&self->p.f, &self->ep[i], T_QUAL + 4, NULL, 0));
	ASSERT_EQ(0, t_evd_wait(&cr, cr.entries, T_WAIT_MS));
	ASSERT_EQ(0, pthread_create(&t[0], NULL, register_it, &s));
	ASSERT_EQ(1, poll(&pfd, 1, T_WAIT_MS));
	/*
	 * Close the adapter while register_it() hangs in its page fault.  Meanwhile the listener
	 * must refuse requests.
	 */
	ASSERT_EQ(0, pthread_create(&t[1], NULL, close_it, &s));
	usleep(300000);
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, t_connect(&self->p.f, &self->ep[20 + i], T_QUAL + 4, NULL, 0));
		EXPECT_EQ(DAT_EV_NON_PEER_REJECTED, next(&self->evd));
	}
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	t_close(&s.f);
	umount2(HUNG_FILE, MNT_DETACH);
}

static int post_bind(struct t_pair *p, struct t_ep *ep, uint32_t rmr)
{
	struct dat_rmr_bind b = {
		.size = sizeof(b), .id = rmr, .lmr = p->mem.id, .priv = DAT_PRIV_REMOTE_READ,
		.addr = (uintptr_t)p->mem.va, .length = 4096,
	};
	struct dat_sqe *sqe;
	int ret = t_ioctl(p->f.fd, DAT_IOC_RMR_BIND, &b);

	if (ret)
		return ret;
	sqe = t_sqe(&ep->sq);
	sqe->opcode = DAT_OP_RMR_BIND;
	sqe->raddr = b.id;
	sqe->rkey = b.ticket;
	return t_push(&ep->sq);
}

/* Returns the number of DISCONNECTED events that are queued in @evd. */
static int ends(struct t_evd *evd)
{
	struct dat_eqe eqe;
	int n = 0;

	while (t_event(evd, 0, &eqe))
		n += eqe.type == DAT_EV_DISCONNECTED;
	return n;
}

/*
 * A peer establishes each connection with an early message, but never sends the confirmation (RTU).
 * Closing such a connection waits one second for the confirmation.
 */
TEST_F_TIMEOUT(backlog, a_bind_and_a_close_do_not_wait_for_closings, 120)
{
	struct dat_rmr_create rmr = { .size = sizeof(rmr), .pz = self->p.pz };
	struct t_pair *p = &self->p;
	struct t_evd evd[2];
	struct dat_eqe eqe;
	struct t_ep ep[2];
	int i, left;

	START_PEER();
	ASSERT_EQ(0, t_set_param("accept_timeout", NEVER_MS));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, t_evd(&p->f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION |
				   DAT_STREAM_RMR_BIND, 64, &evd[i]));
		ASSERT_EQ(0, t_ep(&p->f, p->pz, &evd[i], 0, i, &ep[i]));
	}
	ASSERT_EQ(0, t_connect_eps(p, ep, evd));
	ASSERT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_RMR_CREATE, &rmr));
	ASSERT_EQ(0, set_active((unsigned int [NWQ]){ WQ_ACTIVE, WQ_ACTIVE }));
	for (i = 0; i < CLOSINGS; i++)
		ASSERT_EQ(0, t_recv(&self->ep[i].rq, i, (uintptr_t)p->mem.va, p->mem.lkey, 64));
	ASSERT_EQ(0, silent_peers(self, CLOSINGS));
	for (i = 0; i < CLOSINGS; i++) {
		ASSERT_EQ(0, roce_talk(&self->peer, i));
		ASSERT_EQ(DAT_EV_ESTABLISHED, next(&self->evd));
		ASSERT_EQ(DAT_EV_DTO, next(&self->evd));
	}
	for (i = 0; i < CLOSINGS; i++)
		ASSERT_EQ(0, t_disconnect(&p->f, &self->ep[i], 0));
	left = CLOSINGS - ends(&self->evd);
	if (left <= WQ_ACTIVE)
		SKIP(return, "slow machine: %d closings are left", left);
	ASSERT_EQ(0, post_bind(p, &ep[0], rmr.id));
	ASSERT_EQ(1, t_event(&evd[0], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_RMR_BIND, eqe.type);
	ASSERT_EQ(0, t_disconnect(&p->f, &ep[0], 0));
	ASSERT_EQ(1, t_event(&evd[0], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_DISCONNECTED, eqe.type);
	/*
	 * If teardowns that wait took places of the workqueue, which has at most WQ_ACTIVE, the
	 * bind or the close would come only after left - WQ_ACTIVE other ends.
	 */
	EXPECT_GT(left - WQ_ACTIVE, ends(&self->evd));
}

/* The peer acknowledges nothing.  With the default of rdma_cm this would take 15 s. */
TEST_F_TIMEOUT(backlog, a_dead_peer_is_noticed_after_eight_times_the_ack_timeout, 120)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe = { 0 };

	START_PEER();
	ASSERT_EQ(0, t_set_param("ack_timeout", 10));
	ASSERT_EQ(0, t_recv(&self->ep[0].rq, 1, (uintptr_t)p->mem.va, p->mem.lkey, 64));
	ASSERT_EQ(0, silent_peers(self, 1));
	ASSERT_EQ(0, roce_talk(&self->peer, 0));
	ASSERT_EQ(DAT_EV_ESTABLISHED, next(&self->evd));
	ASSERT_EQ(DAT_EV_DTO, next(&self->evd));
	ASSERT_EQ(0, t_send(&self->ep[0], 2, (uintptr_t)p->mem.va, p->mem.lkey, 64));
	ASSERT_EQ(1, t_event(&self->evd, 10000, &eqe));
	EXPECT_EQ(DAT_EV_DTO, eqe.type);
	EXPECT_EQ(DAT_ST_TRANSPORT, eqe.status);
	EXPECT_EQ(DAT_EV_BROKEN, next(&self->evd));
}

/* The last test, since the flood may delay what other peers ask of rdma_cm. */
TEST_F_TIMEOUT(backlog, refusals_without_end_leave_few_lines_in_the_log, 120)
{
	struct roce_ask ask = { .qual = T_QUAL + 1 };
	struct roce_answers a = { 0 };
	int klog = klog_open(), ret;

	ASSERT_LE(0, klog);
	START_PEER();
	ASSERT_EQ(0, t_set_param("backlog", 1));
	ASSERT_EQ(0, request(self, 0));
	ASSERT_EQ(0, t_evd_wait(&self->cr, 1, T_WAIT_MS));
	ASSERT_EQ(0, t_set_param("log_all", 1));
	ASSERT_EQ(0, roce_ask(&self->peer, &ask, 1));
	ASSERT_EQ(0, roce_answers(&self->peer, 1, T_WAIT_MS, &a));
	EXPECT_EQ(1, klog_count(klog, "refuses " ROCE_ADDR ": the backlog is full"));
	ASSERT_EQ(0, t_set_param("log_all", 0));
	ret = roce_flood(&self->peer, &ask, REFUSALS, REFUSALS_MS, &a);
	EXPECT_TRUE(!ret || ret == -ETIMEDOUT);
	TH_LOG("%u refusals", a.rejects);
	EXPECT_LE(REFUSALS_LEAST, a.rejects);
	EXPECT_GE(LINES, klog_count(klog, "refuses " ROCE_ADDR));
	close(klog);
}

TEST_HARNESS_MAIN
