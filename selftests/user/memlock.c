// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Pinned pages are counted and limited, and every path that unpins them also uncharges them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "proc.h"

#define NOBODY		65534
#define DEEP		4096	/* receives of a long queue */
#define LONG_EVD	65536	/* events of a long EVD */
#define BUFFERS		512	/* buffers of an SRQ, which take 128 KiB */
#define QUEUE_MEMORY	64	/* default of the parameter "queue_memory", in MiB */

FIXTURE(memlock) {
	struct t_file f;
	uint32_t pz;
	long pin;
	long pages;
};

FIXTURE_SETUP(memlock)
{
	self->pages = pinned_pages();
	ASSERT_EQ(0, t_open(&self->f));
	ASSERT_EQ(0, t_pz(&self->f, &self->pz));
	self->pin = vm_pin_kb();
	ASSERT_LE(0, self->pin);
}

/* Whatever a test does, no page is pinned after the close. */
FIXTURE_TEARDOWN(memlock)
{
	ASSERT_EQ(0, seteuid(0));
	t_close(&self->f);
	EXPECT_EQ(self->pin, vm_pin_kb());
	EXPECT_EQ(self->pages, pinned_pages());
}

TEST_F(memlock, free_gives_back)
{
	struct t_lmr a, b;

	ASSERT_EQ(0, t_lmr(&self->f, self->pz, 1 << 20, T_PRIV_ALL, &a));
	EXPECT_EQ(self->pin + 1024, vm_pin_kb());
	ASSERT_EQ(0, t_lmr(&self->f, self->pz, 4096, 0, &b));
	EXPECT_EQ(self->pin + 1028, vm_pin_kb());
	ASSERT_EQ(0, t_free(&self->f, DAT_OBJ_LMR, a.id));
	EXPECT_EQ(self->pin + 4, vm_pin_kb());
	ASSERT_EQ(0, t_free(&self->f, DAT_OBJ_LMR, b.id));
	EXPECT_EQ(self->pin, vm_pin_kb());
}

TEST_F(memlock, unmapped_memory_stays_pinned_until_it_is_freed)
{
	struct t_lmr m;

	ASSERT_EQ(0, t_lmr(&self->f, self->pz, 1 << 20, T_PRIV_ALL, &m));
	munmap(m.va, m.size);
	EXPECT_EQ(self->pin + 1024, vm_pin_kb());
	EXPECT_EQ(self->pages + 256, pinned_pages());
	ASSERT_EQ(0, t_free(&self->f, DAT_OBJ_LMR, m.id));
	EXPECT_EQ(self->pages, pinned_pages());
}

TEST_F(memlock, a_registration_that_fails_half_way_gives_back)
{
	struct dat_lmr_create arg = {
		.size = sizeof(arg), .pz = self->pz, .length = 1 << 20, .priv = T_PRIV_ALL,
	};
	char *va = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	ASSERT_EQ(0, munmap(va + (1 << 19), 4096));
	arg.addr = (uintptr_t)va;
	EXPECT_EQ(-EFAULT, t_ioctl(self->f.fd, DAT_IOC_LMR_CREATE, &arg));
	EXPECT_EQ(self->pin, vm_pin_kb());
	EXPECT_EQ(self->pages, pinned_pages());
}

TEST_F(memlock, closing_gives_back)
{
	struct dat_ia_close arg = { .size = sizeof(arg) };
	struct t_lmr m;
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, t_lmr(&self->f, self->pz, 1 << 20, T_PRIV_ALL, &m));
	ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_IA_CLOSE, &arg));
	EXPECT_EQ(self->pin, vm_pin_kb());
	EXPECT_EQ(self->pages, pinned_pages());
}

TEST_F(memlock, the_limit_is_exact_for_those_without_privilege)
{
	struct rlimit lim = { 256 << 10, 256 << 10 };
	struct t_lmr a, b, c;

	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &lim));
	ASSERT_EQ(0, seteuid(NOBODY));
	ASSERT_EQ(0, t_lmr(&self->f, self->pz, 252 << 10, T_PRIV_ALL, &a));
	EXPECT_EQ(-ENOMEM, t_lmr(&self->f, self->pz, 8 << 10, T_PRIV_ALL, &b));
	EXPECT_EQ(0, t_lmr(&self->f, self->pz, 4 << 10, T_PRIV_ALL, &b));
	EXPECT_EQ(-ENOMEM, t_lmr(&self->f, self->pz, 1, T_PRIV_ALL, &c));
	/*
	 * The refused registrations were not charged, so the 252 KiB of the freed LMR can be pinned
	 * again.
	 */
	EXPECT_EQ(0, t_free(&self->f, DAT_OBJ_LMR, a.id));
	EXPECT_EQ(0, t_lmr(&self->f, self->pz, 252 << 10, T_PRIV_ALL, &a));
}

TEST_F(memlock, a_limit_of_0_is_ENOMEM)
{
	struct rlimit lim = { 0, 0 };
	struct t_lmr m;

	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &lim));
	ASSERT_EQ(0, seteuid(NOBODY));
	EXPECT_EQ(-ENOMEM, t_lmr(&self->f, self->pz, 4096, T_PRIV_ALL, &m));
}

/* Connect an EP to a port where nobody listens. */
static int try_connect(struct t_file *f, const struct t_ep *ep)
{
	return t_connect(f, ep, T_QUAL + 1, NULL, 0);
}

FIXTURE(queues) {
	struct t_pair p;
	struct t_ep deep[2];
};

FIXTURE_SETUP(queues)
{
	struct dat_ep_create arg;
	struct t_pair *p = &self->p;
	struct rlimit none = { 0, 0 };
	int i;

	ASSERT_EQ(0, t_pair_open(p));
	for (i = 0; i < 2; i++) {
		arg = (struct dat_ep_create) {
			.size = sizeof(arg), .pz = p->pz, .connect_evd = p->evd[0].id,
			.max_recv = DEEP, .max_recv_iov = 1,
		};
		ASSERT_EQ(0, t_any_ep(&p->f, &arg, &self->deep[i]));
	}
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &none));
	ASSERT_EQ(0, seteuid(NOBODY));
}

static int set_queue_memory(uint32_t mib)
{
	int ret = seteuid(0);

	if (!ret)
		ret = t_set_param("queue_memory", mib);
	return ret ? ret : seteuid(NOBODY);
}

FIXTURE_TEARDOWN(queues)
{
	EXPECT_EQ(0, set_queue_memory(QUEUE_MEMORY));
	EXPECT_EQ(0, seteuid(0));
	t_pair_close(&self->p);
}

/*
 * Make SRQs until ENOMEM.  Returns their number, or 126 if a call fails with another error or does
 * not fail.  @srq is the last SRQ.
 */
static int srqs_until_refused(struct t_file *f, uint32_t pz, struct t_srq *srq)
{
	int n = 0, ret;

	while (!(ret = t_srq(f, pz, BUFFERS, srq)) && n < 16)
		n++;
	return ret == -ENOMEM ? n : 126;
}

TEST_F(queues, of_srqs_are_charged_and_given_back)
{
	struct t_pair *p = &self->p;
	struct t_srq srq = { 0 };
	int n;

	ASSERT_EQ(0, set_queue_memory(0));
	EXPECT_EQ(-ENOMEM, t_srq(&p->f, p->pz, BUFFERS, &srq));
	ASSERT_EQ(0, set_queue_memory(1));
	n = srqs_until_refused(&p->f, p->pz, &srq);
	EXPECT_LE(7, n);
	EXPECT_GE(8, n);
	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_SRQ, srq.id));
	EXPECT_EQ(0, t_srq(&p->f, p->pz, BUFFERS, &srq));
}

/* A device may keep a registration for an RMR that is not bound. */
TEST_F(queues, of_rmrs_are_charged_and_given_back)
{
	struct t_pair *p = &self->p;
	struct dat_rmr_create arg = { .size = sizeof(arg), .pz = p->pz };
	int n = 0;

	ASSERT_EQ(0, set_queue_memory(0));
	EXPECT_EQ(-ENOMEM, t_ioctl(p->f.fd, DAT_IOC_RMR_CREATE, &arg));
	ASSERT_EQ(0, set_queue_memory(1));
	while (!t_ioctl(p->f.fd, DAT_IOC_RMR_CREATE, &arg) && n < 1000)
		n++;
	EXPECT_EQ((1 << 20) / sysconf(_SC_PAGESIZE), n);
	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_RMR, arg.id));
	EXPECT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_RMR_CREATE, &arg));
}

/* The real user of the process is 0.  It has the capability while its effective user is 0. */
TEST_F(queues, of_the_privileged_do_not_count_against_others_of_their_uid)
{
	struct t_pair *p = &self->p;
	struct t_srq privileged, srq;
	int n;

	ASSERT_EQ(0, set_queue_memory(1));
	ASSERT_EQ(0, seteuid(0));
	for (n = 0; n < 16; n++)
		ASSERT_EQ(0, t_srq(&p->f, p->pz, BUFFERS, &privileged));
	ASSERT_EQ(0, seteuid(NOBODY));
	n = srqs_until_refused(&p->f, p->pz, &srq);
	EXPECT_LE(7, n);
	EXPECT_GE(8, n);
	/* The free of an SRQ that was not charged does not reduce the charge of others. */
	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_SRQ, privileged.id));
	EXPECT_EQ(-ENOMEM, t_srq(&p->f, p->pz, BUFFERS, &srq));
}

/* The queues of a connection with DEEP receives take more than 1 MiB and less than 2 MiB. */
TEST_F_TIMEOUT(queues, of_connections_are_charged_and_given_back, 120)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	int i;

	ASSERT_EQ(0, set_queue_memory(1));
	EXPECT_EQ(-ENOMEM, try_connect(&p->f, &self->deep[0]));
	EXPECT_EQ(0, self->deep[0].st->state);
	ASSERT_EQ(0, set_queue_memory(2));
	ASSERT_EQ(0, try_connect(&p->f, &self->deep[0]));
	EXPECT_EQ(-ENOMEM, try_connect(&p->f, &self->deep[1]));
	ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_NON_PEER_REJECTED, eqe.type);
	/* The driver frees the queues a moment after the event. */
	for (i = 0; i < T_WAIT_MS / 100 && try_connect(&p->f, &self->deep[1]); i++)
		usleep(100000);
	EXPECT_GT(T_WAIT_MS / 100, i);
}

/*
 * Connect EPs whose EVD is far longer than they need, and send a message over the connection.
 * Returns 0 or an errno.
 */
static int connect_with_long_evds(struct t_pair *p, int nr)
{
	struct t_lmr *mem = &p->mem;
	struct t_evd evd[2];
	struct t_ep ep[2];
	struct dat_eqe eqe;
	int ret = 0, i;

	for (i = 0; i < 2 && !ret; i++) {
		ret = t_evd(&p->f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, LONG_EVD, &evd[i]);
		if (!ret)
			ret = t_ep(&p->f, p->pz, &evd[i], 0, 2 * nr + i, &ep[i]);
	}
	if (!ret)
		ret = t_connect_eps(p, ep, evd);
	if (!ret)
		ret = t_recv(&ep[0].rq, nr, (uintptr_t)mem->va, mem->lkey, 64);
	if (!ret)
		ret = t_send(&ep[1], nr, (uintptr_t)mem->va, mem->lkey, 64);
	for (i = 0; i < 2 && !ret; i++)
		if (!t_event(&evd[i], T_WAIT_MS, &eqe) || eqe.status)
			ret = -EIO;
	return ret;
}

/* The completion queue of a long EVD may be as long, but takes at most half of what a user has. */
TEST_F_TIMEOUT(queues, that_are_longer_than_they_must_be_leave_room_for_others, 120)
{
	int i;

	ASSERT_EQ(0, set_queue_memory(1));
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, connect_with_long_evds(&self->p, i));
}

/* Become @uid, and make SRQs until ENOMEM.  Returns their number; a number above 16 is an error. */
static int srqs_of(uid_t uid)
{
	struct t_srq srq;
	struct t_file f;
	uint32_t pz;

	if (setgid(uid) || setuid(uid) || prctl(PR_SET_PDEATHSIG, SIGKILL) || t_open(&f) ||
	    t_pz(&f, &pz))
		return 127;
	return srqs_until_refused(&f, pz, &srq);
}

/* Returns the result of srqs_of() in a child, which keeps its SRQs until it is killed. */
static int srqs_of_child(uid_t uid, pid_t *pid)
{
	int ready[2];
	char n = 125;

	if (pipe(ready))
		return n;
	*pid = fork();
	if (!*pid) {
		n = (char)srqs_of(uid);
		write(ready[1], &n, 1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	read(ready[0], &n, 1);
	close(ready[0]);
	return n;
}

/*
 * Become NOBODY, and make a user namespace.  The parent maps its uids before @go.  Returns 0 if a
 * second uid of the namespace gets no SRQ while a first one has as many as the user may have, and
 * some later.
 */
static int second_uid(int ready, int go)
{
	pid_t first, second;
	int a, b, i;
	char c = 0;

	if (seteuid(0) || setgid(NOBODY) || setuid(NOBODY) || unshare(CLONE_NEWUSER))
		return 1;
	write(ready, &c, 1);
	read(go, &c, 1);
	a = srqs_of_child(1, &first);
	b = srqs_of_child(2, &second);
	kill(first, SIGKILL);
	kill(second, SIGKILL);
	if (waitpid(first, NULL, 0) != first || waitpid(second, NULL, 0) != second)
		return 2;
	if (a < 7 || a > 8 || b)
		return 100 + b;
	/* The SRQs may be freed a moment after the end of the process. */
	for (i = 0; i < T_WAIT_MS / 100; i++) {
		b = srqs_of_child(2, &second);
		kill(second, SIGKILL);
		waitpid(second, NULL, 0);
		if (b == a)
			return 0;
		usleep(100000);
	}
	return 3;
}

/* A user may have many subordinate uids, as the user of a container has. */
TEST_F_TIMEOUT(queues, of_all_uids_of_a_user_namespace_are_charged_to_its_creator, 60)
{
	int ready[2], go[2], status = -1;
	char path[64], c = 0;
	struct stat dev;
	pid_t pid;

	ASSERT_EQ(0, set_queue_memory(1));
	ASSERT_EQ(0, seteuid(0));
	ASSERT_EQ(0, stat("/dev/dat", &dev) || chmod("/dev/dat", 0666));
	ASSERT_EQ(0, pipe(ready) || pipe(go));
	pid = fork();
	if (!pid)
		_exit(second_uid(ready[1], go[0]));
	close(ready[1]);
	if (read(ready[0], &c, 1) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
		EXPECT_EQ(0, write_text(path, "0 100000 10"));
		snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
		EXPECT_EQ(0, write_text(path, "0 100000 10"));
		EXPECT_EQ(1, write(go[1], &c, 1));
	}
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, chmod("/dev/dat", dev.st_mode & 07777));
	ASSERT_TRUE(WIFEXITED(status));
	if (WEXITSTATUS(status) == 1)
		SKIP(return, "users may not make user namespaces");
	EXPECT_EQ(0, WEXITSTATUS(status));
}

/* Returns the file of an io_uring that has a buffer of @bytes, or a negative errno. */
static int uring_with_buffer(size_t bytes)
{
	struct iovec iov = { .iov_len = bytes };
	struct io_uring_params params = { 0 };
	int fd = (int)syscall(__NR_io_uring_setup, 1, &params);

	if (fd < 0)
		return -errno;
	iov.iov_base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
	if (syscall(__NR_io_uring_register, fd, IORING_REGISTER_BUFFERS, &iov, 1)) {
		close(fd);
		return -errno;
	}
	return fd;
}

/* The kernel counts these buffers for each user, too. */
TEST_F(queues, and_buffers_of_io_uring_do_not_count_against_each_other)
{
	struct rlimit lim = { 1 << 20, 1 << 20 };
	struct t_pair *p = &self->p;
	struct t_srq srq = { 0 };
	int n, fd;

	ASSERT_EQ(0, set_queue_memory(0));
	ASSERT_EQ(0, seteuid(0));
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &lim));
	/* Other programs of this real user have no queues and no io_uring. */
	ASSERT_EQ(0, setresuid(NOBODY - 1, NOBODY, 0));
	n = srqs_until_refused(&p->f, p->pz, &srq);
	EXPECT_LE(7, n);
	EXPECT_GE(8, n);
	/* A kernel may lack io_uring, or an administrator disable it. */
	fd = uring_with_buffer(3 << 18);
	if (fd < 0 && fd != -ENOMEM)
		SKIP(return, "no io_uring");
	EXPECT_LE(0, fd);
	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_SRQ, srq.id));
	EXPECT_EQ(0, t_srq(&p->f, p->pz, BUFFERS, &srq));
	close(fd);
}

/* Plain use needs no locked memory beyond that of its registrations. */
TEST_F_TIMEOUT(queues, of_plain_connections_need_no_limit, 60)
{
	EXPECT_EQ(0, t_pair_connect(&self->p));
}

TEST_F_TIMEOUT(memlock, a_killed_process_gives_back, 60)
{
	int ready[2], i;
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct t_file f;
		struct t_lmr m;
		uint32_t pz;

		if (t_open(&f) || t_pz(&f, &pz))
			_exit(1);
		for (i = 0; i < 4; i++)
			if (t_lmr(&f, pz, 1 << 20, T_PRIV_ALL, &m))
				_exit(1);
		write(ready[1], "", 1);
		pause();
		_exit(1);
	}
	ASSERT_EQ(1, read(ready[0], &c, 1));
	EXPECT_EQ(self->pages + 1024, pinned_pages());
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_EQ(self->pages, pinned_pages());
}

TEST_HARNESS_MAIN
