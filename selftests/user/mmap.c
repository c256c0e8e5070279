// SPDX-License-Identifier: GPL-2.0
/* Mappings: the regions that a process may map, with which access, and their lifetime. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"

FIXTURE(mmap) {
	struct t_file f;
	uint32_t pz;
	struct dat_evd_create evd;
};

FIXTURE_SETUP(mmap)
{
	ASSERT_EQ(0, t_open(&self->f));
	ASSERT_EQ(0, t_pz(&self->f, &self->pz));
	self->evd = (struct dat_evd_create) {
		.size = sizeof(self->evd), .streams = DAT_STREAM_DTO, .qlen = 1024,
	};
	ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_EVD_CREATE, &self->evd));
}

FIXTURE_TEARDOWN(mmap)
{
	t_close(&self->f);
}

static int try_map(int fd, size_t size, int prot, int flags, uint64_t offset)
{
	void *va = mmap(NULL, size, prot, flags, fd, (off_t)offset);

	if (va == MAP_FAILED)
		return -errno;
	munmap(va, size);
	return 0;
}

TEST_F(mmap, status_pages_are_never_writable)
{
	struct dat_evd_create *e = &self->evd;
	void *va;

	EXPECT_EQ(-EPERM, try_map(self->f.fd, e->status_size, PROT_READ | PROT_WRITE, MAP_SHARED,
				  e->status_offset));
	va = mmap(NULL, e->status_size, PROT_READ, MAP_SHARED, self->f.fd, e->status_offset);
	ASSERT_NE(MAP_FAILED, va);
	EXPECT_EQ(-1, mprotect(va, e->status_size, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(mmap, nothing_is_executable)
{
	EXPECT_EQ(-EPERM, try_map(self->f.fd, self->evd.submit_size, PROT_READ | PROT_EXEC,
				  MAP_SHARED, self->evd.submit_offset));
}

TEST_F(mmap, private_mappings_are_refused)
{
	EXPECT_EQ(-EINVAL, try_map(self->f.fd, self->evd.status_size, PROT_READ, MAP_PRIVATE,
				   self->evd.status_offset));
	EXPECT_EQ(-EINVAL, try_map(self->f.fd, self->evd.submit_size, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE, self->evd.submit_offset));
}

TEST_F(mmap, only_whole_regions_are_mapped)
{
	struct dat_evd_create *e = &self->evd;

	ASSERT_LT(4096, e->status_size);
	EXPECT_EQ(-EINVAL, try_map(self->f.fd, 4096, PROT_READ, MAP_SHARED, e->status_offset));
	EXPECT_EQ(-EINVAL, try_map(self->f.fd, e->status_size + 4096, PROT_READ, MAP_SHARED,
				   e->status_offset));
	EXPECT_EQ(0, try_map(self->f.fd, e->status_size, PROT_READ, MAP_SHARED,
			     e->status_offset));
}

TEST_F(mmap, offsets_that_name_nothing_are_refused)
{
	uint64_t page = 4096;

	EXPECT_EQ(-ENOENT, try_map(self->f.fd, page, PROT_READ, MAP_SHARED,
				   (999ULL << 8 | 1) * page));
	EXPECT_EQ(-ENOENT, try_map(self->f.fd, page, PROT_READ, MAP_SHARED, 7 * page));
	EXPECT_EQ(-EINVAL, try_map(self->f.fd, page, PROT_READ, MAP_SHARED,
				   self->evd.submit_offset + 8 * page));
	/* A zone has no pages to map. */
	EXPECT_EQ(-EINVAL, try_map(self->f.fd, page, PROT_READ, MAP_SHARED,
				   ((uint64_t)self->pz << 8 | 1) * page));
	EXPECT_EQ(-EINVAL, try_map(self->f.fd, page, PROT_READ, MAP_SHARED, 1ULL << 50));
}

static jmp_buf fault_jmp;

static void on_fault(int sig)
{
	siglongjmp(fault_jmp, sig);
}

/* Covers: SH 73 */
TEST_F(mmap, a_child_has_no_mappings)
{
	struct dat_evd_create *e = &self->evd;
	volatile uint32_t *va = mmap(NULL, e->status_size, PROT_READ, MAP_SHARED, self->f.fd,
				     e->status_offset);
	int status;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, (void *)va);
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, on_fault);
		if (sigsetjmp(fault_jmp, 1))
			_exit(try_map(self->f.fd, e->status_size, PROT_READ, MAP_SHARED,
				      e->status_offset) == -EPERM ? 0 : 2);
		(void)*va;
		_exit(1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(mmap, mappings_outlive_object_and_file)
{
	struct dat_evd_create *e = &self->evd;
	volatile uint32_t *status = mmap(NULL, e->status_size, PROT_READ, MAP_SHARED,
					 self->f.fd, e->status_offset);
	volatile uint32_t *submit = mmap(NULL, e->submit_size, PROT_READ | PROT_WRITE,
					 MAP_SHARED, self->f.fd, e->submit_offset);

	ASSERT_EQ(0, t_free(&self->f, DAT_OBJ_EVD, e->id));
	EXPECT_EQ(status[0], submit[0]);
	t_close(&self->f);
	*submit = 42;
	EXPECT_EQ(42, *submit);
	EXPECT_LE(0, (int)status[1]);
}

TEST_F(mmap, mappings_cannot_grow)
{
	struct dat_evd_create *e = &self->evd;
	void *va = mmap(NULL, e->status_size, PROT_READ, MAP_SHARED, self->f.fd,
			e->status_offset);

	ASSERT_NE(MAP_FAILED, va);
	EXPECT_EQ(MAP_FAILED, mremap(va, e->status_size, 2 * e->status_size, MREMAP_MAYMOVE));
}

TEST_F(mmap, mappings_can_be_moved)
{
	struct dat_evd_create *e = &self->evd;
	char *to = mmap(NULL, e->status_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile uint32_t *va = mmap(NULL, e->status_size, PROT_READ, MAP_SHARED, self->f.fd,
				     e->status_offset);
	uint32_t tail = va[0];

	ASSERT_EQ(to, mremap((void *)va, e->status_size, e->status_size,
			     MREMAP_MAYMOVE | MREMAP_FIXED, to));
	EXPECT_EQ(tail, *(volatile uint32_t *)to);
	/* The mapping still shows the same pages, read-only. */
	EXPECT_EQ(-1, mprotect(to, e->status_size, PROT_READ | PROT_WRITE));
}

TEST_F(mmap, a_part_can_be_unmapped)
{
	struct dat_evd_create *e = &self->evd;
	char *va = mmap(NULL, e->status_size, PROT_READ, MAP_SHARED, self->f.fd,
			e->status_offset);

	ASSERT_EQ(0, munmap(va + 4096, 4096));
	EXPECT_LE(0, ((volatile int32_t *)va)[0]);
	EXPECT_EQ(0, munmap(va, e->status_size));
}

/* Two mappings of a region show the same pages, also to the kernel. */
TEST_F(mmap, the_same_region_can_be_mapped_twice)
{
	struct dat_evd_post post = { .size = sizeof(post), .cookie = 5 };
	struct dat_evd_create arg = {
		.size = sizeof(arg), .streams = DAT_STREAM_SOFTWARE, .qlen = 4,
	};
	struct t_map m[2];
	int i;

	ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_EVD_CREATE, &arg));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, t_map(&self->f, arg.status_offset, arg.status_size, PROT_READ,
				   &m[i]));
	post.id = arg.id;
	ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_EVD_POST, &post));
	EXPECT_EQ(1, ((struct dat_evd_status *)m[0].va)->tail);
	EXPECT_EQ(0, memcmp(m[0].va, m[1].va, arg.status_size));
}

/* A peer must not be able to write the pages of a ring. */
TEST_F(mmap, status_pages_cannot_be_registered_for_writing)
{
	struct dat_evd_create *e = &self->evd;
	struct dat_lmr_create arg = {
		.size = sizeof(arg), .pz = self->pz, .length = 64, .priv = T_PRIV_ALL,
	};
	char *va = mmap(NULL, e->status_size, PROT_READ, MAP_SHARED, self->f.fd,
			e->status_offset);

	ASSERT_NE(MAP_FAILED, va);
	arg.addr = (uintptr_t)va;
	EXPECT_EQ(-EFAULT, t_ioctl(self->f.fd, DAT_IOC_LMR_CREATE, &arg));
}

TEST_F_TIMEOUT(mmap, unmapping_under_traffic_is_harmless, 120)
{
	struct t_pair p;
	int i;

	ASSERT_EQ(0, t_pair_open(&p));
	ASSERT_EQ(0, t_pair_connect(&p));
	for (i = 0; i < T_QUEUE; i++)
		ASSERT_EQ(0, t_recv(&p.ep[0].rq, i, (uintptr_t)p.mem.va, p.mem.lkey, 64));
	for (i = 0; i < T_QUEUE; i++)
		ASSERT_EQ(0, t_send(&p.ep[1], i, (uintptr_t)p.mem.va, p.mem.lkey, 64));
	/* The kernel continues to write completions to pages that are no longer mapped. */
	t_unmap(&p.evd[0].status);
	t_unmap(&p.evd[1].submit);
	t_unmap(&p.ep[0].submit);
	t_unmap(&p.ep[1].status);
	munmap(p.mem.va, p.mem.size);
	usleep(200000);
	t_pair_close(&p);
}

static void *kicker(void *arg)
{
	struct t_file *f = arg;
	int i;

	for (i = 0; i < 20000; i++) {
		t_ring_all(f, 64);
		t_kick(f);
	}
	return NULL;
}

TEST_F_TIMEOUT(mmap, kicking_while_objects_come_and_go, 240)
{
	struct dat_ep_create ep = { .size = sizeof(ep), .pz = self->pz, .max_recv = 1,
				    .max_request = 1 };
	struct dat_ep_create arg;
	pthread_t thread;
	int i;

	ASSERT_EQ(0, pthread_create(&thread, NULL, kicker, &self->f));
	for (i = 0; i < 300; i++) {
		arg = ep;
		ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_EP_CREATE, &arg));
		ASSERT_EQ(0, t_free(&self->f, DAT_OBJ_EP, arg.id));
	}
	pthread_join(thread, NULL);
}

TEST_HARNESS_MAIN
