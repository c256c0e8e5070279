// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Lifetime of mapped pages and connections, and the references that keep them alive. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "clock.h"

FIXTURE(life) {
	struct t_pair p;
	struct t_file far;	/* second file, whose EP is connected to p.ep[0] */
	uint32_t far_pz;
	struct t_evd far_evd;
	struct t_ep far_ep;
};

FIXTURE_SETUP(life)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;

	ASSERT_EQ(0, t_pair_open(p));
	ASSERT_EQ(0, t_open(&self->far));
	ASSERT_EQ(0, t_pz(&self->far, &self->far_pz));
	ASSERT_EQ(0, t_evd(&self->far, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, 64,
			   &self->far_evd));
	ASSERT_EQ(0, t_ep(&self->far, self->far_pz, &self->far_evd, 0, 9, &self->far_ep));
	ASSERT_EQ(0, t_connect(&self->far, &self->far_ep, T_QUAL, NULL, 0));
	ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
	ASSERT_EQ(0, t_accept(&p->f, eqe.len, &p->ep[0], NULL, 0));
	ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
	ASSERT_EQ(DAT_EV_ESTABLISHED, eqe.type);
	ASSERT_EQ(1, t_event(&self->far_evd, T_WAIT_MS, &eqe));
	ASSERT_EQ(DAT_EV_ESTABLISHED, eqe.type);
}

FIXTURE_TEARDOWN(life)
{
	t_pair_close(&self->p);
}

static void unmap_far(FIXTURE_DATA(life) *self)
{
	t_unmap(&self->far.db);
	t_unmap(&self->far_evd.submit);
	t_unmap(&self->far_evd.status);
	t_unmap(&self->far_evd.ring);
	t_unmap(&self->far_ep.submit);
	t_unmap(&self->far_ep.status);
}

/*
 * Returns the type of the event that ends the connection of p.ep[0], or 0 if none arrives within
 * @ms.
 */
static int end_event(FIXTURE_DATA(life) *self, unsigned int ms)
{
	struct dat_eqe eqe;

	return t_event(&self->p.evd[0], ms, &eqe) ? (int)eqe.type : 0;
}

TEST_F_TIMEOUT(life, close_without_mappings_disconnects, 60)
{
	unmap_far(self);
	close(self->far.fd);
	EXPECT_EQ(DAT_EV_DISCONNECTED, end_event(self, T_WAIT_MS));
}

/* A mapping keeps the file open after close().  The last munmap() releases the file. */
TEST_F_TIMEOUT(life, a_mapping_holds_the_connection_after_close, 60)
{
	close(self->far.fd);
	EXPECT_EQ(0, end_event(self, T_QUIET_MS));
	EXPECT_EQ(9, self->far_ep.st->state);
	unmap_far(self);
	EXPECT_EQ(DAT_EV_DISCONNECTED, end_event(self, T_WAIT_MS));
}

TEST_F_TIMEOUT(life, IA_CLOSE_ends_it_whatever_is_mapped, 60)
{
	struct dat_ia_close arg = { .size = sizeof(arg) };

	ASSERT_EQ(0, t_ioctl(self->far.fd, DAT_IOC_IA_CLOSE, &arg));
	EXPECT_EQ(DAT_EV_DISCONNECTED, end_event(self, T_WAIT_MS));
	/* After IA_CLOSE the pages stay readable, and the submit page stays writable. */
	*(volatile uint32_t *)self->far_evd.submit.va = 5;
	EXPECT_EQ(5, *(volatile uint32_t *)self->far_evd.submit.va);
	EXPECT_LE(0, (int)self->far_ep.st->state);
	unmap_far(self);
	close(self->far.fd);
}

TEST_F_TIMEOUT(life, a_dup_keeps_the_connection, 60)
{
	int copy = dup(self->far.fd);

	unmap_far(self);
	close(self->far.fd);
	EXPECT_EQ(0, end_event(self, T_QUIET_MS));
	close(copy);
	EXPECT_EQ(DAT_EV_DISCONNECTED, end_event(self, T_WAIT_MS));
}

/*
 * A forked child cannot use the connection of its parent, but the child's descriptor keeps the file
 * open.
 */
/* Covers: SH 73 */
TEST_F_TIMEOUT(life, a_forked_child_keeps_the_connection, 60)
{
	int hold[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(hold));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(hold[1]);
		/*
		 * The child closes one of the two inherited files and keeps only the far file open.
		 */
		close(self->p.f.fd);
		_exit(read(hold[0], &c, 1) < 0);
	}
	unmap_far(self);
	close(self->far.fd);
	EXPECT_EQ(0, end_event(self, T_QUIET_MS));
	close(hold[0]);
	close(hold[1]);
	waitpid(pid, NULL, 0);
	EXPECT_EQ(DAT_EV_DISCONNECTED, end_event(self, T_WAIT_MS));
}

/* exec() ends the address space: the mappings are gone and the file becomes unusable. */
/* Covers: SH 73 */
TEST_F_TIMEOUT(life, exec_ends_the_connection, 60)
{
	pid_t pid = fork();
	int status;

	ASSERT_LE(0, pid);
	if (!pid) {
		struct t_evd evd;
		struct dat_eqe eqe;
		struct t_file f;
		struct t_ep ep;
		uint32_t pz;

		if (t_open(&f) || t_pz(&f, &pz) ||
		    t_evd(&f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, 64, &evd) ||
		    t_ep(&f, pz, &evd, 0, 9, &ep) || t_connect(&f, &ep, T_QUAL, NULL, 0) ||
		    !t_event(&evd, T_WAIT_MS, &eqe) || eqe.type != DAT_EV_ESTABLISHED)
			_exit(1);
		execl("/bin/true", "true", NULL);
		_exit(2);
	}
	{
		struct dat_eqe eqe;

		ASSERT_EQ(1, t_event(&self->p.cr, T_WAIT_MS, &eqe));
		ASSERT_EQ(0, t_accept(&self->p.f, eqe.len, &self->p.ep[1], NULL, 0));
		ASSERT_EQ(1, t_event(&self->p.evd[1], T_WAIT_MS, &eqe));
		EXPECT_EQ(DAT_EV_ESTABLISHED, eqe.type);
		ASSERT_EQ(1, t_event(&self->p.evd[1], T_WAIT_MS, &eqe));
		EXPECT_EQ(DAT_EV_DISCONNECTED, eqe.type);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* A process may unmap a part of a mapping at any time. */
TEST_F_TIMEOUT(life, a_part_of_a_mapping_can_be_unmapped, 60)
{
	struct dat_evd_create evd = {
		.size = sizeof(evd), .streams = DAT_STREAM_SOFTWARE, .qlen = 1024,
	};
	struct dat_evd_post post = { .size = sizeof(post) };
	size_t behind;
	struct t_map m;
	int i;

	ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_EVD_CREATE, &evd));
	ASSERT_EQ(0, t_map_span(&self->p.f, &evd.status, PROT_READ, &m));
	/* Unmap the pages after the status page.  Most of the event ring lies in these pages. */
	ASSERT_EQ(evd.status.offset, evd.ring.offset);
	ASSERT_LT(evd.status.start, evd.ring.start);
	behind = (evd.status.start | 4095) + 1;
	ASSERT_EQ(0, munmap((char *)m.base + behind, m.size - behind));
	post.id = evd.id;
	for (i = 0; i < 1024; i++)
		ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_EVD_POST, &post));
	EXPECT_EQ(1024, ((struct dat_evd_status *)m.va)->tail);
}

static volatile int stop;

static void *mapper(void *arg)
{
	FIXTURE_DATA(life) *self = arg;
	uint64_t id, kind;

	while (!stop)
		for (id = 1; id < 64; id++)
			for (kind = 1; kind < 3; kind++) {
				void *va = mmap(NULL, 4096, PROT_READ, MAP_SHARED,
						self->p.f.fd, (off_t)((id << 8 | kind) << 12));

				if (va == MAP_FAILED)
					continue;
				(void)*(volatile uint32_t *)va;
				munmap(va, 4096);
			}
	return NULL;
}

static void *kicker(void *arg)
{
	FIXTURE_DATA(life) *self = arg;

	while (!stop) {
		t_ring_all(&self->p.f, 64);
		t_kick(&self->p.f);
	}
	return NULL;
}

/* Free connected EPs that have posted work, while one thread kicks and another maps the objects. */
TEST_F_TIMEOUT(life, freeing_under_kicks_and_maps, 240)
{
	struct t_pair *p = &self->p;
	pthread_t thread[2];
	double end, begun;
	struct t_ep ep[2];
	struct t_srq srq;
	struct dat_eqe eqe;
	int rounds = 0, i;

	stop = 0;
	ASSERT_EQ(0, pthread_create(&thread[0], NULL, kicker, self));
	ASSERT_EQ(0, pthread_create(&thread[1], NULL, mapper, self));
	end = now_s() + 5;
	do {
		ASSERT_EQ(0, t_srq(&p->f, p->pz, 8, &srq));
		for (i = 0; i < 2; i++)
			ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[1], i ? 0 : srq.id, 20 + i,
					  &ep[i]));
		ASSERT_EQ(0, t_connect(&p->f, &ep[1], T_QUAL, NULL, 0));
		ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
		ASSERT_EQ(0, t_accept(&p->f, eqe.len, &ep[0], NULL, 0));
		for (i = 0; i < 8; i++) {
			t_recv(&srq.rq, i, (uintptr_t)p->mem.va, p->mem.lkey, 64);
			t_send(&ep[1], i, (uintptr_t)p->mem.va, p->mem.lkey, 64);
		}
		usleep(rand() % 5000);
		begun = now_s();
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, ep[rounds % 2].id));
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, ep[!(rounds % 2)].id));
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_SRQ, srq.id));
		/* t_free() must not wait for retransmissions of the connection manager. */
		ASSERT_GT(10, now_s() - begun) TH_LOG("round %d", rounds);
		for (i = 0; i < 2; i++) {
			t_unmap(&ep[i].submit);
			t_unmap(&ep[i].status);
		}
		t_unmap(&srq.submit);
		t_unmap(&srq.status);
		while (t_event(&p->evd[1], 0, &eqe))
			;
		rounds++;
	} while (now_s() < end);
	stop = 1;
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	EXPECT_LT(0, rounds);
	/* The connection of the fixture is idle all the time and must stay connected. */
	EXPECT_EQ(9, p->ep[0].st->state);
	EXPECT_EQ(9, self->far_ep.st->state);
}

/* An EP uses two queues.  Each queue needs a dirty bit in the doorbell region. */
TEST_F_TIMEOUT(life, eps_without_a_free_queue_are_ENOSPC, 300)
{
	struct dat_ep_create arg;
	uint32_t first = 0, n;
	int ret = 0;

	for (n = 0; n < self->p.f.max_queues; n++) {
		arg = (struct dat_ep_create) {
			.size = sizeof(arg), .pz = self->p.pz, .max_recv = 1, .max_request = 1,
		};
		ret = t_ioctl(self->p.f.fd, DAT_IOC_EP_CREATE, &arg);
		if (ret)
			break;
		first = first ? first : arg.id;
	}
	/* The two EPs of the pair also use two queues each. */
	EXPECT_EQ(-ENOSPC, ret);
	EXPECT_EQ(self->p.f.max_queues / 2 - 2, n);
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_EP, first));
	arg.max_recv = 1;
	arg.max_request = 1;
	EXPECT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_EP_CREATE, &arg));
}

#define VMAS	4000	/* the driver locks each mapping of the process when it opens an IA */

static void on_alarm(int sig)
{
	(void)sig;
}

/* Open an IA in a new file, and close the file.  Returns the result of the open. */
static int open_once(const void *name)
{
	struct dat_ia_open arg = { .size = sizeof(arg) };
	int fd = open("/dev/dat", O_RDWR | O_CLOEXEC), ret;

	memcpy(arg.name, name, sizeof(arg.name));
	ret = t_ioctl(fd, DAT_IOC_IA_OPEN, &arg);
	close(fd);
	return ret;
}

/*
 * A program may not know of the signals that interrupt its calls: a profiler's timer, a debugger or
 * a stop can cause them.
 */
TEST_F_TIMEOUT(life, signals_do_not_end_an_IA_OPEN, 120)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct dat_adapter adapter;
	struct itimerval timer = {};
	double begun;
	long page = 4096;
	unsigned int i;
	char *p;

	p = mmap(NULL, 2 * VMAS * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	for (i = 0; i < VMAS; i++)
		ASSERT_EQ(0, mprotect(p + 2 * i * page, page, PROT_NONE));
	ASSERT_EQ(0, t_adapter(self->p.f.fd, &adapter));
	begun = now_s();
	ASSERT_EQ(0, open_once(adapter.name));
	/*
	 * The timer's interval is three times as long as a call.  So about every third call is
	 * interrupted, and the restarted call has time to finish.
	 */
	timer.it_interval.tv_usec = 1 + (now_s() - begun) * 3e6;
	timer.it_value = timer.it_interval;
	ASSERT_GT(1000000, timer.it_interval.tv_usec);
	sigaction(SIGALRM, &sa, NULL);
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &timer, NULL));
	for (i = 0; i < 50; i++)
		EXPECT_EQ(0, open_once(adapter.name));
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);
	munmap(p, 2 * VMAS * page);
}

TEST_HARNESS_MAIN
