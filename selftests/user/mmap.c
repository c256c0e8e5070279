// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Mappings: which memory a process may map, with which access, and for how long. */
#define _GNU_SOURCE
#include <fcntl.h>
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

	EXPECT_EQ(-EPERM, try_map(self->f.fd, e->status.size, PROT_READ | PROT_WRITE, MAP_SHARED,
				  e->status.offset));
	va = mmap(NULL, e->status.size, PROT_READ, MAP_SHARED, self->f.fd, e->status.offset);
	ASSERT_NE(MAP_FAILED, va);
	EXPECT_EQ(-1, mprotect(va, e->status.size, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(mmap, nothing_is_executable)
{
	EXPECT_EQ(-EPERM, try_map(self->f.fd, self->evd.submit.size, PROT_READ | PROT_EXEC,
				  MAP_SHARED, self->evd.submit.offset));
}

/*
 * The kernel itself refuses a writable mapping of a file that is open only for reading (-EACCES).
 */
TEST_F(mmap, a_file_that_is_open_for_reading_maps_status_alone)
{
	struct dat_evd_create evd = { .size = sizeof(evd), .streams = DAT_STREAM_DTO, .qlen = 4 };
	struct dat_adapter adapter;
	struct dat_ia_open ia = { .size = sizeof(ia) };
	int fd = open("/dev/dat", O_RDONLY | O_CLOEXEC);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, t_adapter(fd, &adapter));
	memcpy(ia.name, adapter.name, sizeof(ia.name));
	ASSERT_EQ(0, t_ioctl(fd, DAT_IOC_IA_OPEN, &ia));
	ASSERT_EQ(0, t_ioctl(fd, DAT_IOC_EVD_CREATE, &evd));
	EXPECT_EQ(0, try_map(fd, evd.status.size, PROT_READ, MAP_SHARED, evd.status.offset));
	EXPECT_EQ(-EACCES, try_map(fd, evd.submit.size, PROT_READ | PROT_WRITE, MAP_SHARED,
				   evd.submit.offset));
	close(fd);
}

TEST_F(mmap, private_mappings_are_refused)
{
	EXPECT_EQ(-EINVAL, try_map(self->f.fd, self->evd.status.size, PROT_READ, MAP_PRIVATE,
				   self->evd.status.offset));
	EXPECT_EQ(-EINVAL, try_map(self->f.fd, self->evd.submit.size, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE, self->evd.submit.offset));
}

TEST_F(mmap, only_whole_mappings_are_made)
{
	struct dat_evd_create *e = &self->evd;

	ASSERT_LT(4096, e->status.size);
	EXPECT_EQ(-EINVAL, try_map(self->f.fd, 4096, PROT_READ, MAP_SHARED, e->status.offset));
	EXPECT_EQ(-EINVAL, try_map(self->f.fd, e->status.size + 4096, PROT_READ, MAP_SHARED,
				   e->status.offset));
	EXPECT_EQ(0, try_map(self->f.fd, e->status.size, PROT_READ, MAP_SHARED,
			     e->status.offset));
}

/* Returns the number of the frame at @va, which the process has touched; 0 if it cannot be read. */
static uint64_t frame_of(const void *va)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;

	if (pread(fd, &entry, sizeof(entry), (uintptr_t)va / 4096 * sizeof(entry)) != sizeof(entry))
		entry = 0;
	close(fd);
	return entry & ((1ULL << 55) - 1);
}

/* A single range of memory takes fewer page table entries in the kernel and in the processor. */
TEST_F(mmap, small_regions_are_contiguous)
{
	struct dat_evd_create *e = &self->evd;
	const char *va = mmap(NULL, e->status.size, PROT_READ, MAP_SHARED | MAP_POPULATE,
			      self->f.fd, e->status.offset);
	uint64_t first, at;

	ASSERT_NE(MAP_FAILED, va);
	ASSERT_LT(4096, e->status.size);
	/* The driver makes do with single pages if no others are free at once. */
	first = frame_of(va);
	if (!first)
		SKIP(return, "only a privileged process sees the numbers of its frames");
	for (at = 4096; at < e->status.size && at < 65536; at += 4096)
		EXPECT_EQ(first + at / 4096, frame_of(va + at));
}

TEST_F(mmap, offsets_that_name_nothing_are_refused)
{
	uint64_t page = 4096;

	EXPECT_EQ(-ENOENT, try_map(self->f.fd, page, PROT_READ, MAP_SHARED,
				   (999ULL << 8 | 1) * page));
	EXPECT_EQ(-EINVAL, try_map(self->f.fd, page, PROT_READ, MAP_SHARED, 7 * page));
	EXPECT_EQ(-EINVAL, try_map(self->f.fd, page, PROT_READ, MAP_SHARED,
				   self->evd.submit.offset + 8 * page));
	EXPECT_EQ(-EINVAL, try_map(self->f.fd, page, PROT_READ, MAP_SHARED, 1ULL << 50));
}

static struct dat_ep_create make_ep(FIXTURE_DATA(mmap) *self, int *ret)
{
	struct dat_ep_create arg = {
		.size = sizeof(arg), .pz = self->pz, .max_recv = 16, .max_request = 16,
	};

	*ret = t_ioctl(self->f.fd, DAT_IOC_EP_CREATE, &arg);
	return arg;
}

/*
 * Returns the number of bytes that an EP has in the submit mapping.  The receive ring is the last
 * part.
 */
static uint32_t submit_bytes(const struct dat_ep_create *ep)
{
	return ep->rq_offset + (ep->max_recv << ep->rq_shift);
}

static int overlap(const struct dat_span *a, uint32_t a_len, const struct dat_span *b,
		   uint32_t b_len)
{
	return a->offset == b->offset && a->start < b->start + b_len &&
	       b->start < a->start + a_len;
}

#define SHARERS	40

TEST_F(mmap, eps_share_mappings_and_no_memory)
{
	struct dat_ep_create ep[SHARERS];
	int i, j, ret, shared = 0;

	for (i = 0; i < SHARERS; i++) {
		ep[i] = make_ep(self, &ret);
		ASSERT_EQ(0, ret);
		ASSERT_EQ(0, ep[i].submit.start % 64);
		ASSERT_LE(ep[i].submit.start + submit_bytes(&ep[i]), ep[i].submit.size);
		ASSERT_LE(ep[i].status.start + sizeof(struct dat_status), ep[i].status.size);
		for (j = 0; j < i; j++) {
			shared += ep[i].submit.offset == ep[j].submit.offset;
			ASSERT_FALSE(overlap(&ep[i].submit, submit_bytes(&ep[i]), &ep[j].submit,
					     submit_bytes(&ep[j]))) TH_LOG("%d %d", i, j);
			ASSERT_FALSE(overlap(&ep[i].status, sizeof(struct dat_status),
					     &ep[j].status, sizeof(struct dat_status)));
		}
	}
	EXPECT_LT(SHARERS, shared);
}

/* A new EP gets the memory of a freed EP.  The kernel must zero that memory first. */
TEST_F(mmap, memory_that_is_used_again_is_zeroed)
{
	struct dat_ep_create old, new;
	struct t_map m;
	uint32_t i;
	int ret;

	old = make_ep(self, &ret);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, t_map_span(&self->f, &old.submit, PROT_READ | PROT_WRITE, &m));
	memset(m.va, 0xa5, submit_bytes(&old));
	ASSERT_EQ(0, t_free(&self->f, DAT_OBJ_EP, old.id));
	new = make_ep(self, &ret);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(old.submit.offset, new.submit.offset);
	ASSERT_EQ(old.submit.start, new.submit.start);
	for (i = new.sq_offset; i < submit_bytes(&new); i++) {
		ASSERT_EQ(0, ((char *)m.va)[i]) TH_LOG("%u", i);
	}
}

/*
 * The mappings that objects share are too short for this ring, so the ring gets a mapping of its
 * own. The mapping ends when the EVD is freed.
 */
TEST_F(mmap, a_mapping_without_objects_ends)
{
	struct dat_evd_create evd = {
		.size = sizeof(evd), .streams = DAT_STREAM_DTO, .qlen = 65536,
	}, next;
	struct t_map m;

	ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_EVD_CREATE, &evd));
	ASSERT_NE(self->evd.ring.offset, evd.ring.offset);
	ASSERT_EQ(0, t_map_span(&self->f, &evd.ring, PROT_READ, &m));
	ASSERT_EQ(0, t_free(&self->f, DAT_OBJ_EVD, evd.id));
	EXPECT_EQ(-ENOENT, try_map(self->f.fd, evd.ring.size, PROT_READ, MAP_SHARED,
				   evd.ring.offset));
	/* The process can still read the pages through its existing mapping. */
	EXPECT_EQ(0, ((struct dat_eqe *)m.va)[65535].type);
	/* The kernel does not reuse the offset for the next mapping. */
	next = evd;
	ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_EVD_CREATE, &next));
	EXPECT_NE(evd.ring.offset, next.ring.offset);
}

/* Each file has its own mappings: the same offset names different memory in another file. */
TEST_F(mmap, files_do_not_share_memory)
{
	struct t_map mine, theirs;
	struct t_file other;
	struct t_evd evd;

	ASSERT_EQ(0, t_open(&other));
	ASSERT_EQ(0, t_evd(&other, DAT_STREAM_DTO, 1024, &evd));
	ASSERT_EQ(0, t_map_span(&self->f, &self->evd.submit, PROT_READ | PROT_WRITE, &mine));
	ASSERT_EQ(0, t_map_span(&other, &self->evd.submit, PROT_READ | PROT_WRITE, &theirs));
	memset(mine.base, 0x5a, mine.size);
	EXPECT_EQ(evd.head, *(volatile uint32_t *)evd.submit.va);
	EXPECT_NE(0x5a5a5a5a, *(volatile uint32_t *)theirs.va);
	t_close(&other);
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
	volatile uint32_t *va = mmap(NULL, e->status.size, PROT_READ, MAP_SHARED, self->f.fd,
				     e->status.offset);
	int status;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, (void *)va);
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, on_fault);
		if (sigsetjmp(fault_jmp, 1))
			_exit(try_map(self->f.fd, e->status.size, PROT_READ, MAP_SHARED,
				      e->status.offset) == -EPERM ? 0 : 2);
		(void)*va;
		_exit(1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* A child's stores to a ring would name addresses of the parent. */
TEST_F(mmap, no_mapping_can_be_given_to_a_child)
{
	struct dat_evd_create *e = &self->evd;
	struct dat_ep_create ep;
	struct t_map m[4];
	int ret, i;

	ep = make_ep(self, &ret);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, t_map_span(&self->f, &e->status, PROT_READ, &m[0]));
	ASSERT_EQ(0, t_map_span(&self->f, &e->submit, PROT_READ | PROT_WRITE, &m[1]));
	ASSERT_EQ(0, t_map_span(&self->f, &ep.submit, PROT_READ | PROT_WRITE, &m[2]));
	m[3] = self->f.db;
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(-1, madvise(m[i].base, m[i].size, MADV_DOFORK)) TH_LOG("%d", i);
		EXPECT_EQ(EINVAL, errno);
	}
}

TEST_F(mmap, mappings_outlive_object_and_file)
{
	struct dat_evd_create *e = &self->evd;
	volatile uint32_t *status = mmap(NULL, e->status.size, PROT_READ, MAP_SHARED,
					 self->f.fd, e->status.offset);
	volatile uint32_t *submit = mmap(NULL, e->submit.size, PROT_READ | PROT_WRITE,
					 MAP_SHARED, self->f.fd, e->submit.offset);

	ASSERT_EQ(0, t_free(&self->f, DAT_OBJ_EVD, e->id));
	EXPECT_EQ(status[e->status.start / 4], submit[e->submit.start / 4]);
	t_close(&self->f);
	*submit = 42;
	EXPECT_EQ(42, *submit);
	EXPECT_LE(0, (int)status[1]);
}

TEST_F(mmap, mappings_cannot_grow)
{
	struct dat_evd_create *e = &self->evd;
	void *va = mmap(NULL, e->status.size, PROT_READ, MAP_SHARED, self->f.fd,
			e->status.offset);

	ASSERT_NE(MAP_FAILED, va);
	EXPECT_EQ(MAP_FAILED, mremap(va, e->status.size, 2 * e->status.size, MREMAP_MAYMOVE));
}

TEST_F(mmap, mappings_can_be_moved)
{
	struct dat_evd_create *e = &self->evd;
	char *to = mmap(NULL, e->status.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile uint32_t *va = mmap(NULL, e->status.size, PROT_READ, MAP_SHARED, self->f.fd,
				     e->status.offset);
	uint32_t tail = va[0];

	ASSERT_EQ(to, mremap((void *)va, e->status.size, e->status.size,
			     MREMAP_MAYMOVE | MREMAP_FIXED, to));
	EXPECT_EQ(tail, *(volatile uint32_t *)to);
	/* After mremap() the mapping shows the same pages and is still read-only. */
	EXPECT_EQ(-1, mprotect(to, e->status.size, PROT_READ | PROT_WRITE));
}

TEST_F(mmap, a_part_can_be_unmapped)
{
	struct dat_evd_create *e = &self->evd;
	char *va = mmap(NULL, e->status.size, PROT_READ, MAP_SHARED, self->f.fd,
			e->status.offset);

	ASSERT_EQ(0, munmap(va + 4096, 4096));
	EXPECT_LE(0, ((volatile int32_t *)va)[0]);
	EXPECT_EQ(0, munmap(va, e->status.size));
}

/* Both mappings show the same pages, to which the kernel writes the event. */
TEST_F(mmap, the_same_memory_can_be_mapped_twice)
{
	struct dat_evd_post post = { .size = sizeof(post), .cookie = 5 };
	struct dat_evd_create arg = {
		.size = sizeof(arg), .streams = DAT_STREAM_SOFTWARE, .qlen = 4,
	};
	struct t_map m[2];
	int i;

	ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_EVD_CREATE, &arg));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, t_map_span(&self->f, &arg.status, PROT_READ, &m[i]));
	post.id = arg.id;
	ASSERT_EQ(0, t_ioctl(self->f.fd, DAT_IOC_EVD_POST, &post));
	EXPECT_EQ(1, ((struct dat_evd_status *)m[0].va)->tail);
	EXPECT_EQ(0, memcmp(m[0].base, m[1].base, arg.status.size));
}

/*
 * Registering a status page with write privilege must fail, because a peer could then write to the
 * ring.
 */
TEST_F(mmap, status_pages_cannot_be_registered_for_writing)
{
	struct dat_evd_create *e = &self->evd;
	struct dat_lmr_create arg = {
		.size = sizeof(arg), .pz = self->pz, .length = 64, .priv = T_PRIV_ALL,
	};
	char *va = mmap(NULL, e->status.size, PROT_READ, MAP_SHARED, self->f.fd,
			e->status.offset);

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
	/* The kernel still writes completions to its pages after the process has unmapped them. */
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
