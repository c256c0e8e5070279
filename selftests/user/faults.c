// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * A registration or a bind hangs in a page fault.  Other calls, the close of the same adapter, and
 * the removal of the device must not wait for the hanging call.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "adapter.h"
#include "dat_test.h"
#include "hang.h"

#define PAGE		4096UL
#define HANG_PAGES	16
#define MANY_PAGES	1024	/* of which a registration takes milliseconds */
#define CLOSES		20
#define HUGE_PIECE	(64UL << 20)
#define HUGE_SIZE	(1UL << 36)	/* of which a registration takes many seconds */
#define LONG_SIZE	(256L << 20)	/* more than a registration faults in while a close waits */
#define RUNS		1		/* value of ret while the ioctl runs */

FIXTURE(faults) {
	struct t_file f;
	struct hang h;
	uint32_t pz;
	uint32_t rmr;
	uint32_t lmr;	/* registration of all pages, for the bind */
	pthread_t thread;
	int ret;	/* result of the ioctl that @thread calls */
};

FIXTURE_SETUP(faults)
{
	ASSERT_EQ(0, t_open(&self->f));
	ASSERT_EQ(0, t_pz(&self->f, &self->pz));
	ASSERT_EQ(0, hang_open(&self->h, HANG_PAGES * PAGE)) {
		TH_LOG("this test needs userfaultfd");
	}
}

FIXTURE_TEARDOWN(faults)
{
	t_close(&self->f);
	hang_close(&self->h);
}

static void *register_all(void *arg)
{
	FIXTURE_DATA(faults) *self = arg;
	struct dat_lmr_create c = {
		.size = sizeof(c), .pz = self->pz, .addr = (uintptr_t)self->h.va,
		.length = self->h.size, .priv = T_PRIV_ALL,
	};

	self->ret = t_ioctl(self->f.fd, DAT_IOC_LMR_CREATE, &c);
	self->lmr = c.id;
	return NULL;
}

static void *bind_all(void *arg)
{
	FIXTURE_DATA(faults) *self = arg;
	struct dat_rmr_bind b = {
		.size = sizeof(b), .id = self->rmr, .lmr = self->lmr,
		.addr = (uintptr_t)self->h.va, .length = self->h.size,
		.priv = DAT_PRIV_REMOTE_READ,
	};

	self->ret = t_ioctl(self->f.fd, DAT_IOC_RMR_BIND, &b);
	return NULL;
}

static int close_ia(struct t_file *f)
{
	struct dat_ia_close c = { .size = sizeof(c) };

	return t_ioctl(f->fd, DAT_IOC_IA_CLOSE, &c);
}

TEST_F_TIMEOUT(faults, a_close_does_not_wait_for_a_registration_that_hangs, 60)
{
	ASSERT_EQ(0, pthread_create(&self->thread, NULL, register_all, self));
	ASSERT_EQ(0, hang_fault(&self->h, T_WAIT_MS));
	EXPECT_EQ(0, close_ia(&self->f));
	ASSERT_EQ(0, hang_give(&self->h, 0, HANG_PAGES));
	pthread_join(self->thread, NULL);
	EXPECT_EQ(-ENODEV, self->ret);
}

TEST_F_TIMEOUT(faults, a_close_does_not_wait_for_a_bind_that_hangs, 60)
{
	struct dat_rmr_create c = { .size = sizeof(c), .pz = self->pz };

	ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_RMR_CREATE, &c));
	self->rmr = c.id;
	ASSERT_EQ(0, hang_give(&self->h, 0, HANG_PAGES));
	register_all(self);
	ASSERT_EQ(0, self->ret);
	/* Unmap a page from the page table.  The registration keeps its pages pinned. */
	ASSERT_EQ(0, hang_take(&self->h, 0));
	ASSERT_EQ(0, pthread_create(&self->thread, NULL, bind_all, self));
	ASSERT_EQ(0, hang_fault(&self->h, T_WAIT_MS));
	EXPECT_EQ(0, close_ia(&self->f));
	ASSERT_EQ(0, hang_give(&self->h, 0, 1));
	pthread_join(self->thread, NULL);
	EXPECT_EQ(-ENODEV, self->ret);
}

/*
 * Map @size bytes of addresses.  They are a few pages in many mappings, because what counts is the
 * time that a registration takes.
 */
static void *map_huge(size_t size)
{
	int fd = memfd_create("huge", 0);
	char *va;
	size_t at;

	va = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fd < 0 || va == MAP_FAILED || ftruncate(fd, HUGE_PIECE))
		return NULL;
	for (at = 0; at < size; at += HUGE_PIECE)
		if (mmap(va + at, HUGE_PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 0) == MAP_FAILED)
			return NULL;
	close(fd);
	return va;
}

/* Returns how many pages of the process are present. */
static long resident_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long n = 0;

	if (!f || fscanf(f, "%*d %ld", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

/* Returns 0 if other calls of the file end while @self->thread registers memory. */
static int calls_end(FIXTURE_DATA(faults) *self)
{
	struct t_evd evd;
	struct t_lmr lmr;
	struct t_ep ep;

	if (t_evd(&self->f, DAT_STREAM_DTO | DAT_STREAM_CONNECTION, 16, &evd))
		return 1;
	if (t_ep(&self->f, self->pz, &evd, 0, 0, &ep) || t_kick(&self->f))
		return 2;
	if (t_lmr(&self->f, self->pz, PAGE, T_PRIV_ALL, &lmr) ||
	    t_free(&self->f, DAT_OBJ_LMR, lmr.id))
		return 3;
	if (t_free(&self->f, DAT_OBJ_EP, ep.id) || t_free(&self->f, DAT_OBJ_EVD, evd.id))
		return 4;
	return self->ret != RUNS ? 5 : 0;
}

/* A process: register huge memory, make other calls meanwhile, tell their result, then sleep. */
static void register_huge(int result)
{
	FIXTURE_DATA(faults) self = { .ret = RUNS };
	char ret = 10;

	self.h.size = HUGE_SIZE;
	self.h.va = map_huge(HUGE_SIZE);
	if (self.h.va && !t_open(&self.f) && !t_pz(&self.f, &self.pz) &&
	    !pthread_create(&self.thread, NULL, register_all, &self)) {
		while (resident_pages() < (long)(HUGE_PIECE / PAGE))
			usleep(1000);
		ret = (char)calls_end(&self);
	}
	if (write(result, &ret, 1) == 1)
		pause();
	_exit(1);
}

TEST_F_TIMEOUT(faults, a_huge_registration_holds_up_no_call_and_can_be_killed, 120)
{
	int result[2], status;
	char ret = -1;
	pid_t pid;

	ASSERT_EQ(0, pipe(result));
	pid = fork();
	if (!pid)
		register_huge(result[1]);
	ASSERT_EQ(1, read(result[0], &ret, 1));
	EXPECT_EQ(0, ret);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(SIGKILL, WTERMSIG(status));
}

/* The faults of much memory take long, although the kernel alone serves them. */
TEST_F_TIMEOUT(faults, a_close_does_not_wait_for_the_faults_of_a_long_registration, 60)
{
	FIXTURE_DATA(faults) other = { .f = self->f, .pz = self->pz, .ret = RUNS };
	long before = resident_pages();

	other.h.size = LONG_SIZE;
	other.h.va = mmap(NULL, LONG_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	ASSERT_NE(MAP_FAILED, other.h.va);
	/* Huge pages come too fast.  A kernel without them refuses this. */
	madvise(other.h.va, LONG_SIZE, MADV_NOHUGEPAGE);
	ASSERT_EQ(0, pthread_create(&other.thread, NULL, register_all, &other));
	while (resident_pages() - before < LONG_SIZE / PAGE / 100)
		usleep(100);
	EXPECT_EQ(0, close_ia(&self->f));
	EXPECT_EQ(RUNS, __atomic_load_n(&other.ret, __ATOMIC_RELAXED));
	pthread_join(other.thread, NULL);
	EXPECT_EQ(-ENODEV, other.ret);
}

TEST_F_TIMEOUT(faults, a_registration_goes_on_when_its_pages_have_come, 60)
{
	uint32_t pz;

	ASSERT_EQ(0, pthread_create(&self->thread, NULL, register_all, self));
	ASSERT_EQ(0, hang_fault(&self->h, T_WAIT_MS));
	EXPECT_EQ(0, t_pz(&self->f, &pz));
	ASSERT_EQ(0, hang_give(&self->h, 0, HANG_PAGES));
	pthread_join(self->thread, NULL);
	EXPECT_EQ(0, self->ret);
}

static void *register_often(void *arg)
{
	FIXTURE_DATA(faults) *self = arg;

	for (register_all(self); !self->ret; register_all(self))
		t_free(&self->f, DAT_OBJ_LMR, self->lmr);
	return NULL;
}

/* Some of the closes begin during a registration, and wait for its end. */
TEST_F_TIMEOUT(faults, a_close_among_registrations_ends, 60)
{
	int i;

	hang_close(&self->h);
	ASSERT_EQ(0, hang_open(&self->h, MANY_PAGES * PAGE));
	ASSERT_EQ(0, hang_give(&self->h, 0, MANY_PAGES));
	for (i = 0; i < CLOSES; i++) {
		ASSERT_EQ(0, pthread_create(&self->thread, NULL, register_often, self));
		usleep(500 * i);
		EXPECT_EQ(0, close_ia(&self->f));
		pthread_join(self->thread, NULL);
		EXPECT_NE(0, self->ret);
		t_close(&self->f);
		ASSERT_EQ(0, t_open(&self->f));
		ASSERT_EQ(0, t_pz(&self->f, &self->pz));
	}
}

TEST_F_TIMEOUT(faults, a_removal_of_the_device_does_not_wait_for_a_registration_that_hangs, 120)
{
	const char *type = adapter_type();

	if (!type)
		SKIP(return, "no adapter here that could be taken away");
	ASSERT_EQ(0, pthread_create(&self->thread, NULL, register_all, self));
	ASSERT_EQ(0, hang_fault(&self->h, T_WAIT_MS));
	EXPECT_EQ(0, adapter_plug(type, 0));
	ASSERT_EQ(0, hang_give(&self->h, 0, HANG_PAGES));
	pthread_join(self->thread, NULL);
	EXPECT_EQ(-ENODEV, self->ret);
	EXPECT_EQ(0, adapter_plug(type, 1));
}

TEST_HARNESS_MAIN
