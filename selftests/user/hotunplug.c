// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Removal of RDMA devices, also while messages are in flight.  Needs the virtual machine's adapter
 * on the interface v0.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "adapter.h"
#include "dat_test.h"
#include "klog.h"

FIXTURE(unplug) {
	struct t_pair p;
	struct t_evd async;
	unsigned int count[16];
	const char *type;	/* of the adapter */
};

FIXTURE_SETUP(unplug)
{
	self->type = adapter_type();
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, t_evd(&self->p.f, DAT_STREAM_ASYNC, 8, &self->async));
	ASSERT_EQ(0, t_pair_connect(&self->p));
}

FIXTURE_TEARDOWN(unplug)
{
	t_set_param("log_all", 0);
	t_pair_close(&self->p);
}

TEST_F_TIMEOUT(unplug, its_consumers_are_told_and_a_new_device_works, 240)
{
	struct t_pair *p = &self->p;
	int klog = klog_open(), i;
	struct dat_eqe eqe;
	uint32_t pz;

	ASSERT_LE(0, klog);
	if (!self->type)
		SKIP(return, "no adapter here that could be taken away");
	for (i = 0; i < T_QUEUE; i++)
		t_recv(&p->ep[0].rq, i, (uintptr_t)p->mem.va, p->mem.lkey, 4096);
	for (i = 0; i < T_QUEUE; i++)
		t_send(&p->ep[1], i, (uintptr_t)p->mem.va, p->mem.lkey, 4096);
	ASSERT_EQ(0, t_set_param("log_all", 1));
	ASSERT_EQ(0, adapter_plug(self->type, 0));
	/* Order of events: removal of the adapter, flushed entries, end of the connection. */
	ASSERT_EQ(1, t_event(&self->async, T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_ASYNC_CATASTROPHIC, eqe.type);
	EXPECT_EQ(1, klog_count(klog, "the device is removed while IAs are open: "));
	close(klog);
	EXPECT_NE(0, t_end(&p->evd[0], self->count));
	EXPECT_EQ(T_QUEUE, self->count[DAT_ST_SUCCESS] + self->count[DAT_ST_FLUSHED]);
	EXPECT_NE(0, t_end(&p->evd[1], self->count));
	EXPECT_EQ(-ENODEV, t_pz(&p->f, &pz));
	EXPECT_EQ(-ENODEV, t_connect(&p->f, &p->ep[1], T_QUAL, NULL, 0));
	EXPECT_EQ(-ENODEV, t_kick(&p->f));
	t_pair_close(p);

	ASSERT_EQ(0, adapter_plug(self->type, 1));
	ASSERT_EQ(0, t_pair_open(p));
	EXPECT_EQ(0, t_pair_connect(p));
}

#define WATCHED	50
#define PAGE	4096

/* Registers one of the pages and unmaps it, over and over, until the device is gone. */
static void *register_and_unmap(void *arg)
{
	struct t_pair *p = arg;
	struct dat_lmr_create lmr = {
		.size = sizeof(lmr), .pz = p->pz, .length = PAGE, .priv = T_PRIV_ALL,
		.flags = DAT_LMR_WATCHED,
	};
	char *va;
	int ret;

	do {
		va = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		lmr.addr = (uintptr_t)va;
		ret = t_ioctl(p->f.fd, DAT_IOC_LMR_CREATE, &lmr);
		munmap(va, PAGE);
		if (!ret)
			t_free(&p->f, DAT_OBJ_LMR, lmr.id);
	} while (!ret);
	return (void *)(intptr_t)ret;
}

TEST_F_TIMEOUT(unplug, watched_memory_is_unmapped_meanwhile_and_afterwards, 240)
{
	struct dat_lmr_create lmr = {
		.size = sizeof(lmr), .pz = self->p.pz, .length = PAGE, .priv = T_PRIV_ALL,
		.flags = DAT_LMR_WATCHED,
	};
	struct dat_lmr_stale stale = { .size = sizeof(stale) };
	pthread_t thread;
	char *va;
	void *ret;
	int i;

	if (!self->type)
		SKIP(return, "no adapter here that could be taken away");
	va = mmap(NULL, WATCHED * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < WATCHED; i++) {
		lmr.addr = (uintptr_t)va + i * PAGE;
		ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_LMR_CREATE, &lmr));
	}
	ASSERT_EQ(0, munmap(va, 10 * PAGE));
	ASSERT_EQ(0, pthread_create(&thread, NULL, register_and_unmap, &self->p));
	ASSERT_EQ(0, adapter_plug(self->type, 0));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(-ENODEV, (int)(intptr_t)ret);
	EXPECT_EQ(0, munmap(va + 10 * PAGE, 30 * PAGE));
	EXPECT_EQ(-ENODEV, t_ioctl(self->p.f.fd, DAT_IOC_LMR_STALE, &stale));
	/* The end of the file meets the rest. */
	EXPECT_EQ(0, adapter_plug(self->type, 1));
}

/* A file with an adapter, no other objects, and a poller that sleeps. */
FIXTURE(sleeper) {
	struct t_file f;
};

FIXTURE_SETUP(sleeper)
{
	ASSERT_EQ(0, t_open(&self->f));
}

FIXTURE_TEARDOWN(sleeper)
{
	/* t_close() waits for the poller thread. */
	t_close(&self->f);
}

TEST_F_TIMEOUT(sleeper, goes_home_at_a_close_without_the_device, 120)
{
	const char *type = adapter_type();

	if (!type)
		SKIP(return, "no adapter here that could be taken away");
	ASSERT_EQ(0, t_poller(&self->f, 1));
	usleep(T_QUIET_MS * 1000);
	ASSERT_EQ(0, adapter_plug(type, 0));
	EXPECT_EQ(0, adapter_plug(type, 1));
}

TEST_F_TIMEOUT(sleeper, goes_home_when_told_to_without_the_device, 120)
{
	const char *type = adapter_type();
	uint32_t pz;

	if (!type)
		SKIP(return, "no adapter here that could be taken away");
	/*
	 * Create only a PZ.  With other objects, the close of the adapter would wake the poller in
	 * any case.
	 */
	ASSERT_EQ(0, t_pz(&self->f, &pz));
	ASSERT_EQ(0, t_poller(&self->f, 1));
	usleep(T_QUIET_MS * 1000);
	ASSERT_EQ(0, adapter_plug(type, 0));
	EXPECT_EQ(0, adapter_plug(type, 1));
	EXPECT_EQ(-ENODEV, t_poller(&self->f, 0));
	EXPECT_EQ(0, self->f.poller_of);
}

/*
 * Two additional adapters, listed after the first.  The tests add and remove them while
 * DAT_IOC_ADAPTER reads the list.
 */
FIXTURE(list) {
	struct dat_adapter a;
	int fd;
	const char *type;
	char first[16];		/* names of the additional adapters */
	char second[16];
};

FIXTURE_SETUP(list)
{
	self->type = adapter_type();
	if (!self->type)
		SKIP(return, "no adapter here that others could be listed after");
	snprintf(self->first, sizeof(self->first), "%s1", self->type);
	snprintf(self->second, sizeof(self->second), "%s2", self->type);
	ASSERT_EQ(0, adapter_add(self->type, 1, "v1"));
	ASSERT_EQ(0, adapter_add(self->type, 2, "lo"));
	self->a.size = sizeof(self->a);
	self->fd = open("/dev/dat", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(list)
{
	close(self->fd);
	if (!self->type)
		return;
	adapter_remove(self->type, 1);
	adapter_remove(self->type, 2);
}

/* Read the list of adapters up to the adapter @name.  Returns 0 if @name is found. */
static int read_to(struct dat_adapter *a, int fd, const char *name)
{
	int ret;

	do {
		ret = t_ioctl(fd, DAT_IOC_ADAPTER, a);
	} while (!ret && strcmp((char *)a->name, name));
	return ret;
}

/* Read the next adapter that is an RDMA device: lo0 has no such directory. */
static int read_device(struct dat_adapter *a, int fd)
{
	char path[128];
	int ret;

	do {
		ret = t_ioctl(fd, DAT_IOC_ADAPTER, a);
		snprintf(path, sizeof(path), "/sys/class/infiniband/%.72s", (char *)a->name);
	} while (!ret && access(path, F_OK));
	return ret;
}

TEST_F_TIMEOUT(list, goes_on_behind_an_adapter_that_is_gone, 60)
{
	ASSERT_EQ(0, read_to(&self->a, self->fd, self->first));
	ASSERT_EQ(0, adapter_remove(self->type, 1));
	ASSERT_EQ(0, t_ioctl(self->fd, DAT_IOC_ADAPTER, &self->a));
	EXPECT_STREQ(self->second, (char *)self->a.name);
	EXPECT_EQ(-ENOENT, read_device(&self->a, self->fd));
}

TEST_F_TIMEOUT(list, has_an_adapter_that_came_meanwhile_at_its_end, 60)
{
	ASSERT_EQ(0, read_to(&self->a, self->fd, self->first));
	ASSERT_EQ(0, adapter_remove(self->type, 1));
	ASSERT_EQ(0, adapter_add(self->type, 1, "v1"));
	EXPECT_EQ(0, read_to(&self->a, self->fd, self->second));
	EXPECT_EQ(0, read_to(&self->a, self->fd, self->first));
}

TEST_F(list, a_cursor_behind_the_end_stays_there)
{
	EXPECT_EQ(-ENOENT, read_to(&self->a, self->fd, "nosuch0"));
	EXPECT_EQ(-ENOENT, t_ioctl(self->fd, DAT_IOC_ADAPTER, &self->a));
}

TEST_HARNESS_MAIN
