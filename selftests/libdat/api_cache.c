// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * dat_linux_lmr_get(): registrations that are kept.  A program that unmaps memory and maps other
 * memory at the address must never transfer the old one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "debug_kernel.h"
#include "ioctl_over.h"
#include "proc.h"

/* After the API, in which DAT_LMR_COOKIE has another meaning. */
#include <rdma/dat_ioctl.h>

#define NOBODY	65534
#define PAGE	4096UL
#define PAGES	16UL
#define SIZE	(PAGES * PAGE)
#define RW	(PROT_READ | PROT_WRITE)
#define LOCAL	((DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_LOCAL_READ_FLAG | \
				      DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
#define BAD_LMR	RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR)

static int is_old;			/* flag: the driver is to report no stale LMRs */
static int stale_fails;			/* flag: its calls that would report them fail */
static unsigned int made, freed;	/* registrations since counts_begin() */
static void (*after_create)(void);	/* called once when the driver has registered memory */
static void (*after_stale)(void);	/* called once when the driver has reported stale LMRs */

static int changed_ioctl(int fd, unsigned long request, void *arg)
{
	void (*fn)(void) = after_create;
	int ret;

	if (request == DAT_IOC_LMR_STALE && stale_fails) {
		errno = ENOMEM;
		return -1;
	}
	ret = real_ioctl(fd, request, arg);
	if (ret)
		return ret;
	if (request == DAT_IOC_ABI && is_old)
		((struct dat_abi *)arg)->features &= ~DAT_FEATURE_WATCH;
	if (request == DAT_IOC_LMR_CREATE)
		__atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
	if (request == DAT_IOC_FREE && ((struct dat_free *)arg)->type == DAT_OBJ_LMR)
		__atomic_add_fetch(&freed, 1, __ATOMIC_RELAXED);
	if (request == DAT_IOC_LMR_CREATE && fn) {
		after_create = NULL;
		fn();
	}
	fn = after_stale;
	if (request == DAT_IOC_LMR_STALE && fn) {
		after_stale = NULL;
		fn();
	}
	return ret;
}

static void counts_begin(void)
{
	made = 0;
	freed = 0;
}

FIXTURE(cache) {
	struct a_pair p;
	char *va;
};

FIXTURE_SETUP(cache)
{
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
	ASSERT_EQ(DAT_SUCCESS, a_connect(&self->p, self->p.ep[1], self->p.ep[0], self->p.evd[1],
					 self->p.evd[0]));
	self->va = mmap(NULL, SIZE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->va);
	memset(self->va, 'a', SIZE);
	counts_begin();
}

FIXTURE_TEARDOWN(cache)
{
	a_close(&self->p);
}

struct got {
	DAT_LMR_HANDLE	lmr;
	DAT_LMR_CONTEXT	ctx;
	DAT_RMR_CONTEXT	rmr;
};

static DAT_RETURN get_as(struct a_pair *p, DAT_PZ_HANDLE pz, void *va, size_t len,
			 DAT_MEM_PRIV_FLAGS priv, struct got *g)
{
	return dat_linux_lmr_get(p->ia, pz, va, len, priv, &g->lmr, &g->ctx, &g->rmr);
}

static DAT_RETURN get(struct a_pair *p, void *va, size_t len, struct got *g)
{
	return get_as(p, p->pz, va, len, LOCAL, g);
}

/* Get and put at once. */
static DAT_RETURN touch(struct a_pair *p, void *va, size_t len)
{
	struct got g;
	DAT_RETURN rc = get(p, va, len, &g);

	return rc == DAT_SUCCESS ? dat_linux_lmr_put(g.lmr) : rc;
}

static int remap(char *va, size_t len, int content)
{
	if (munmap(va, len) ||
	    mmap(va, len, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != va)
		return -1;
	memset(va, content, len);
	return 0;
}

/* Send @len bytes of @from, and receive them into @to.  Returns 0 if both complete. */
static int transfer(struct a_pair *p, DAT_LMR_TRIPLET from, DAT_LMR_TRIPLET to)
{
	uint64_t cookie, len;

	if (dat_ep_post_recv(p->ep[0], 1, &to, a_cookie(1), DAT_COMPLETION_DEFAULT_FLAG) ||
	    dat_ep_post_send(p->ep[1], 1, &from, a_cookie(2), DAT_COMPLETION_DEFAULT_FLAG))
		return -1;
	return a_dto(p->evd[0], &cookie, &len) || a_dto(p->evd[1], &cookie, &len);
}

static DAT_LMR_TRIPLET seg(const struct got *g, const char *va, size_t len)
{
	DAT_LMR_TRIPLET t = {
		.lmr_context = g->ctx, .virtual_address = (uintptr_t)va, .segment_length = len,
	};

	return t;
}

/* Returns the first byte that an adapter reads at @va by the LMR, or -1. */
static int sent(struct a_pair *p, const struct got *g, const char *va)
{
	memset(p->mem.va, 'x', 8);
	return transfer(p, seg(g, va, 8), a_seg(&p->mem, 0, 8)) ? -1 : p->mem.va[0];
}

TEST_F(cache, the_same_memory_is_registered_once)
{
	struct a_pair *p = &self->p;
	struct got a, b;
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(DAT_SUCCESS, get(p, self->va, SIZE, &a));
		ASSERT_EQ(DAT_SUCCESS, get(p, self->va, SIZE, &b));
		EXPECT_EQ(a.lmr, b.lmr);
		EXPECT_EQ(a.ctx, b.ctx);
		EXPECT_EQ('a', sent(p, &a, self->va));
		EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(a.lmr));
		EXPECT_EQ('a', sent(p, &b, self->va));
		EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(b.lmr));
	}
	EXPECT_EQ(1, made);
	EXPECT_EQ(0, freed);
}

TEST_F(cache, a_part_needs_no_registration)
{
	struct a_pair *p = &self->p;
	struct got all, part;

	ASSERT_EQ(DAT_SUCCESS, get(p, self->va + PAGE, 4 * PAGE, &all));
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va + 2 * PAGE + 7, 100, &part));
	EXPECT_EQ(all.lmr, part.lmr);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(part.lmr));
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va + PAGE, 1, &part));
	EXPECT_EQ(all.lmr, part.lmr);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(part.lmr));
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va + 5 * PAGE - 1, 1, &part));
	EXPECT_EQ(all.lmr, part.lmr);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(part.lmr));
	EXPECT_EQ(1, made);
	/* A byte more at either end is no part. */
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va + 5 * PAGE - 1, 2, &part));
	EXPECT_NE(all.lmr, part.lmr);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(part.lmr));
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va + PAGE - 1, 2, &part));
	EXPECT_NE(all.lmr, part.lmr);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(part.lmr));
	EXPECT_EQ(3, made);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(all.lmr));
}

/* One that contains others takes their place: those that are not used are freed at once. */
TEST_F(cache, a_longer_one_replaces_its_parts)
{
	struct a_pair *p = &self->p;
	struct got used, all;
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(DAT_SUCCESS, touch(p, self->va + 2 * i * PAGE, PAGE));
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va + 8 * PAGE, PAGE, &used));
	ASSERT_EQ(5, made);
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va + PAGE, 9 * PAGE, &all));
	EXPECT_EQ(6, made);
	EXPECT_EQ(3, freed);
	EXPECT_EQ('a', sent(p, &used, self->va + 8 * PAGE));
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(used.lmr));
	EXPECT_EQ(4, freed);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(all.lmr));
	/* The first page is not in the longer one. */
	for (i = 0; i < 5; i++)
		ASSERT_EQ(DAT_SUCCESS, touch(p, self->va + 2 * i * PAGE, PAGE));
	EXPECT_EQ(6, made);
	EXPECT_EQ(4, freed);
}

/* A key gives a peer no more memory and no more rights than a get has asked for. */
TEST_F(cache, with_remote_privileges_it_must_be_the_same_memory)
{
	struct a_pair *p = &self->p;
	struct got all, part, again;

	ASSERT_EQ(DAT_SUCCESS, get_as(p, p->pz, self->va, SIZE, DAT_MEM_PRIV_ALL_FLAG, &all));
	EXPECT_NE(0, all.rmr);
	ASSERT_EQ(DAT_SUCCESS, get_as(p, p->pz, self->va, PAGE, DAT_MEM_PRIV_ALL_FLAG, &part));
	EXPECT_NE(all.rmr, part.rmr);
	ASSERT_EQ(DAT_SUCCESS, get_as(p, p->pz, self->va, PAGE, DAT_MEM_PRIV_REMOTE_READ_FLAG,
				      &again));
	EXPECT_NE(part.rmr, again.rmr);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(again.lmr));
	ASSERT_EQ(DAT_SUCCESS, get_as(p, p->pz, self->va, PAGE, DAT_MEM_PRIV_ALL_FLAG, &again));
	EXPECT_EQ(part.lmr, again.lmr);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(again.lmr));
	ASSERT_EQ(DAT_SUCCESS, get_as(p, p->pz, self->va, SIZE, DAT_MEM_PRIV_ALL_FLAG, &again));
	EXPECT_EQ(all.lmr, again.lmr);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(again.lmr));
	EXPECT_EQ(3, made);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(part.lmr));
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(all.lmr));
}

TEST_F(cache, zones_and_privileges_are_kept_apart)
{
	struct a_pair *p = &self->p;
	DAT_PZ_HANDLE pz;
	struct got a, b;

	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(p->ia, &pz));
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va, PAGE, &a));
	ASSERT_EQ(DAT_SUCCESS, get_as(p, pz, self->va, PAGE, LOCAL, &b));
	EXPECT_NE(a.lmr, b.lmr);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(b.lmr));
	ASSERT_EQ(DAT_SUCCESS, get_as(p, p->pz, self->va, PAGE, DAT_MEM_PRIV_LOCAL_READ_FLAG, &b));
	EXPECT_NE(a.lmr, b.lmr);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(b.lmr));
	EXPECT_EQ(3, made);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(a.lmr));
}

/* A zone takes along only what is kept for itself. */
TEST_F(cache, what_is_kept_for_a_zone_outlives_other_zones)
{
	struct a_pair *p = &self->p;
	DAT_PZ_HANDLE pz;
	struct got g;

	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(p->ia, &pz));
	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va, PAGE));
	ASSERT_EQ(DAT_SUCCESS, get_as(p, pz, self->va, PAGE, LOCAL, &g));
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(g.lmr));
	EXPECT_EQ(DAT_SUCCESS, dat_pz_free(pz));
	EXPECT_EQ(1, freed);
	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va, PAGE));
	EXPECT_EQ(2, made);
}

TEST_F(cache, memory_that_was_mapped_again_is_registered_again)
{
	struct a_pair *p = &self->p;
	struct got g;
	int i;

	for (i = 0; i < 5; i++) {
		ASSERT_EQ(DAT_SUCCESS, get(p, self->va, SIZE, &g));
		EXPECT_EQ('a' + i, sent(p, &g, self->va));
		EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(g.lmr));
		EXPECT_EQ(i + 1, made);
		EXPECT_EQ(i, freed);
		ASSERT_EQ(0, remap(self->va, PAGE, 'a' + i + 1));
	}
}

/* The one in use goes on with the old pages, and is freed by its last put. */
TEST_F(cache, a_stale_one_in_use_is_freed_by_its_last_put)
{
	struct a_pair *p = &self->p;
	struct got old, old2, now;

	ASSERT_EQ(DAT_SUCCESS, get(p, self->va, SIZE, &old));
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va, SIZE, &old2));
	ASSERT_EQ(0, remap(self->va, PAGE, 'b'));
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va, SIZE, &now));
	EXPECT_NE(old.lmr, now.lmr);
	EXPECT_EQ('a', sent(p, &old, self->va));
	EXPECT_EQ('b', sent(p, &now, self->va));
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(old.lmr));
	EXPECT_EQ(0, freed);
	EXPECT_EQ('a', sent(p, &old2, self->va));
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(old2.lmr));
	EXPECT_EQ(1, freed);
	EXPECT_EQ(BAD_LMR, dat_linux_lmr_put(old2.lmr));
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(now.lmr));
	EXPECT_EQ(1, freed);
}

/* Memory that is gone does not stay pinned until the next get. */
TEST_F(cache, a_put_notices_what_is_stale)
{
	struct a_pair *p = &self->p;
	struct got g;

	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va, PAGE));
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va + 2 * PAGE, PAGE, &g));
	ASSERT_EQ(0, munmap(self->va, PAGE));
	EXPECT_EQ(0, freed);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(g.lmr));
	EXPECT_EQ(1, freed);
}

/* It may be stale, so it is not used, and is freed when this becomes known. */
TEST_F(cache, a_get_fails_if_the_driver_does_not_tell_what_is_stale)
{
	struct a_pair *p = &self->p;
	struct got g, used;

	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va, PAGE));
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va + 2 * PAGE, PAGE, &used));
	ASSERT_EQ(0, remap(self->va, PAGE, 'b'));
	stale_fails = 1;
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, TYPE(get(p, self->va, PAGE, &g)));
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(used.lmr));
	EXPECT_EQ(0, freed);
	stale_fails = 0;
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va, PAGE, &g));
	EXPECT_EQ('b', sent(p, &g, self->va));
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(g.lmr));
	EXPECT_EQ(3, made);
	EXPECT_EQ(1, freed);
}

#define MANY	150	/* more than the driver reports at once */

TEST_F(cache, many_become_stale_at_once)
{
	struct a_pair *p = &self->p;
	struct got g;
	char *va;
	int i;

	va = mmap(NULL, MANY * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, va);
	for (i = 0; i < MANY; i++)
		ASSERT_EQ(DAT_SUCCESS, touch(p, va + i * PAGE, PAGE));
	ASSERT_EQ(0, remap(va, MANY * PAGE, 'b'));
	for (i = 0; i < MANY; i++) {
		ASSERT_EQ(DAT_SUCCESS, get(p, va + i * PAGE, PAGE, &g));
		EXPECT_EQ('b', sent(p, &g, va + i * PAGE)) TH_LOG("page %d", i);
		ASSERT_EQ(DAT_SUCCESS, dat_linux_lmr_put(g.lmr));
	}
	EXPECT_EQ(2 * MANY, made);
	EXPECT_EQ(MANY, freed);
}

/* Changes random pages of the memory in a random way.  Returns 0 if that has succeeded. */
static int change(char *va)
{
	unsigned int first = rand() % PAGES, n = 1 + rand() % (PAGES - first);
	char *at = va + first * PAGE, *other;
	size_t len = n * PAGE;

	switch (rand() % 6) {
	case 0:
		return remap(at, len, rand());
	case 1:
		return mmap(at, len, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at;
	case 2:
		return madvise(at, len, MADV_DONTNEED);
	case 3:
		other = mmap(NULL, len, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(other, rand(), len);
		return mremap(other, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, at) != at;
	case 4:
		memset(at, rand(), len);
		return 0;
	default:
		return 0;
	}
}

/*
 * Change memory at random, and transfer random parts of it, in both directions, by LMRs that are
 * kept.  What arrives must be what is there now.
 */
TEST_F_TIMEOUT(cache, random_rounds_never_transfer_old_memory, 1200)
{
	struct a_pair *p = &self->p;
	unsigned int rounds = debug_kernel() ? 10000 : 1000;
	unsigned int i, seed = (unsigned int)getpid();
	size_t at, len, off, n;
	struct got g;
	char *piece;
	int ret;

	srand(seed);
	TH_LOG("seed %u", seed);
	for (i = 0; i < rounds; i++) {
		ASSERT_EQ(0, change(self->va));
		at = rand() % SIZE;
		len = 1 + rand() % (rand() % 2 ? SIZE - at : 1);
		/* Many are alike, so that some find what was kept. */
		if (rand() % 2)
			at = 0, len = SIZE;
		ASSERT_EQ(DAT_SUCCESS, get(p, self->va + at, len, &g));
		/* A short piece, because a debug kernel is slow. */
		off = rand() % len;
		n = 1 + rand() % (len - off < 1000 ? len - off : 1000);
		piece = self->va + at + off;
		if (rand() % 2) {
			memset(p->mem.va, 0x55, n);
			ret = transfer(p, seg(&g, piece, n), a_seg(&p->mem, 0, n));
		} else {
			memset(p->mem.va, rand(), n);
			ret = transfer(p, a_seg(&p->mem, 0, n), seg(&g, piece, n));
		}
		ASSERT_EQ(0, ret) TH_LOG("round %u", i);
		ASSERT_EQ(0, memcmp(p->mem.va, piece, n)) TH_LOG("round %u", i);
		ASSERT_EQ(DAT_SUCCESS, dat_linux_lmr_put(g.lmr));
	}
	TH_LOG("%u registrations", made);
	EXPECT_GT(rounds * 9 / 10, made);
}

static struct a_pair *nested_pair;
static char *nested_va;

/*
 * Changes the memory of an LMR, and lets a get learn of the change, while the call that registers
 * the LMR has not returned.  In a program, another thread would do both.
 */
static void remap_and_get(void)
{
	struct got g;

	remap(nested_va, PAGE, 'b');
	get(nested_pair, nested_va + 4 * PAGE, PAGE, &g);
}

TEST_F(cache, a_change_that_is_reported_during_a_registration_counts)
{
	struct a_pair *p = &self->p;
	struct got old, now;

	nested_pair = p;
	nested_va = self->va;
	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va + 8 * PAGE, PAGE));
	after_create = remap_and_get;
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va, PAGE, &old));
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va, PAGE, &now));
	EXPECT_NE(old.lmr, now.lmr);
	EXPECT_EQ('b', sent(p, &now, self->va));
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(old.lmr));
	EXPECT_EQ(1, freed);
}

static void get_the_same(void)
{
	struct got g;

	get(nested_pair, nested_va, PAGE, &g);
	dat_linux_lmr_put(g.lmr);
}

/* Two threads that register the same memory at the same time: one of both registrations is kept. */
TEST_F(cache, two_registrations_at_the_same_time_are_one_too_many)
{
	struct a_pair *p = &self->p;
	struct got g;

	nested_pair = p;
	nested_va = self->va;
	after_create = get_the_same;
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va, PAGE, &g));
	EXPECT_EQ('a', sent(p, &g, self->va));
	EXPECT_EQ(2, made);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(g.lmr));
	EXPECT_EQ(1, freed);
	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va, PAGE));
	EXPECT_EQ(2, made);
	EXPECT_EQ(1, freed);
}

static void get_all(void)
{
	touch(nested_pair, nested_va, SIZE);
}

/* No LMR of the index is a part of another one, or else a search would not find the longer one. */
TEST_F(cache, a_part_of_one_that_another_thread_has_registered_is_not_kept)
{
	struct a_pair *p = &self->p;
	struct got g;

	nested_pair = p;
	nested_va = self->va;
	after_create = get_all;
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va + PAGE, PAGE, &g));
	EXPECT_EQ(2, made);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(g.lmr));
	EXPECT_EQ(1, freed);
	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va + 2 * PAGE, PAGE));
	EXPECT_EQ(2, made);
}

static pthread_t nested_thread;
static struct got nested_got;

static void *get_in_thread(void *arg)
{
	return (void *)(uintptr_t)get(nested_pair, nested_va, PAGE, &nested_got);
}

static void start_a_get(void)
{
	pthread_create(&nested_thread, NULL, get_in_thread, NULL);
	usleep(100000);
}

/* The thread gets memory while another one makes the cache.  What is not in the cache is freed. */
TEST_F(cache, threads_that_get_at_first_have_one_cache)
{
	struct a_pair *p = &self->p;
	struct got g;
	void *ret;

	nested_pair = p;
	nested_va = self->va;
	after_stale = start_a_get;
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va, PAGE, &g));
	ASSERT_EQ(NULL, after_stale);
	ASSERT_EQ(0, pthread_join(nested_thread, &ret));
	ASSERT_EQ(DAT_SUCCESS, (uintptr_t)ret);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(nested_got.lmr));
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(g.lmr));
	EXPECT_EQ(1, made - freed);
}

TEST_F(cache, the_one_that_was_used_first_goes_beyond_the_count)
{
	struct a_pair *p = &self->p;
	struct got g;
	int i;

	ASSERT_EQ(DAT_SUCCESS, dat_linux_ia_lmr_cache(p->ia, SIZE, 3));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(DAT_SUCCESS, touch(p, self->va + 2 * i * PAGE, PAGE));
	EXPECT_EQ(0, freed);
	/* One that is used does not count, and is used last when it is put. */
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va, PAGE, &g));
	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va + 6 * PAGE, PAGE));
	EXPECT_EQ(0, freed);
	ASSERT_EQ(DAT_SUCCESS, dat_linux_lmr_put(g.lmr));
	EXPECT_EQ(1, freed);
	EXPECT_EQ(4, made);
	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va, PAGE));
	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va + 4 * PAGE, PAGE));
	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va + 6 * PAGE, PAGE));
	EXPECT_EQ(4, made);
	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va + 2 * PAGE, PAGE));
	EXPECT_EQ(5, made);
	EXPECT_EQ(2, freed);
}

/* Whole pages count, because they are what is pinned. */
TEST_F(cache, the_bytes_are_limited_too)
{
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, dat_linux_ia_lmr_cache(p->ia, 4 * PAGE, 1000));
	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va, 2 * PAGE));
	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va + 3 * PAGE - 1, 2));
	EXPECT_EQ(0, freed);
	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va + 8 * PAGE, 1));
	EXPECT_EQ(1, freed);
	/* The cache does not keep an LMR that exceeds the limit alone, and keeps the others. */
	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va + 9 * PAGE, 5 * PAGE));
	EXPECT_EQ(2, freed);
	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va + 8 * PAGE, 1));
	EXPECT_EQ(4, made);
	/* A lower limit takes effect at once. */
	ASSERT_EQ(DAT_SUCCESS, dat_linux_ia_lmr_cache(p->ia, 0, 1000));
	EXPECT_EQ(4, freed);
}

TEST_F(cache, a_limit_of_0_keeps_nothing)
{
	struct a_pair *p = &self->p;
	struct got a, b;

	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va, PAGE));
	ASSERT_EQ(DAT_SUCCESS, dat_linux_ia_lmr_cache(p->ia, SIZE, 0));
	EXPECT_EQ(1, freed);
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va, PAGE, &a));
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va, PAGE, &b));
	EXPECT_NE(a.lmr, b.lmr);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(a.lmr));
	EXPECT_EQ(2, freed);
	EXPECT_EQ('a', sent(p, &b, self->va));
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(b.lmr));
	EXPECT_EQ(3, freed);
	EXPECT_EQ(3, made);
}

/* Each get registers, and each put frees. */
TEST_F(cache, an_old_driver_keeps_nothing)
{
	struct a_pair old = self->p;
	struct got a, b;

	is_old = 1;
	ASSERT_EQ(DAT_SUCCESS, a_ia(&old.ia, &old.async));
	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(old.ia, &old.pz));
	ASSERT_EQ(DAT_SUCCESS, get(&old, self->va, PAGE, &a));
	ASSERT_EQ(DAT_SUCCESS, get(&old, self->va, PAGE, &b));
	EXPECT_NE(a.lmr, b.lmr);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(a.lmr));
	EXPECT_EQ(1, freed);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(b.lmr));
	EXPECT_EQ(2, freed);
	EXPECT_EQ(DAT_SUCCESS, dat_linux_ia_lmr_cache(old.ia, SIZE, 10));
	EXPECT_EQ(DAT_SUCCESS, dat_pz_free(old.pz));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(old.ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* LMRs that are not used give way to all that pins memory. */
TEST_F(cache, locked_memory_that_is_short_frees_what_is_not_used)
{
	struct a_pair *p = &self->p;
	rlim_t most = p->mem.size + SIZE / 2;
	struct rlimit lim = { .rlim_cur = most, .rlim_max = most };
	struct a_mem other;
	unsigned int i;
	struct got g;

	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &lim));
	ASSERT_EQ(0, setuid(NOBODY));
	for (i = 0; i < PAGES; i++) {
		ASSERT_EQ(DAT_SUCCESS, get(p, self->va + i * PAGE, PAGE, &g)) TH_LOG("page %u", i);
		EXPECT_EQ('a', sent(p, &g, self->va + i * PAGE));
		ASSERT_EQ(DAT_SUCCESS, dat_linux_lmr_put(g.lmr));
	}
	EXPECT_LT(0, freed);
	ASSERT_EQ(DAT_SUCCESS, a_mem(p, SIZE / 2, DAT_MEM_PRIV_ALL_FLAG, &other));
	EXPECT_EQ(PAGES, freed);
	/* Those that are used do not give way. */
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, TYPE(get(p, self->va, PAGE, &g)));
	ASSERT_EQ(DAT_SUCCESS, dat_lmr_free(other.lmr));
	EXPECT_EQ(DAT_SUCCESS, get(p, self->va, PAGE, &g));
}

TEST_F(cache, each_get_has_one_put)
{
	struct a_pair *p = &self->p;
	struct got g;

	ASSERT_EQ(DAT_SUCCESS, get(p, self->va, PAGE, &g));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE), dat_lmr_free(g.lmr));
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(g.lmr));
	EXPECT_EQ(BAD_LMR, dat_linux_lmr_put(g.lmr));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE), dat_lmr_free(g.lmr));
	EXPECT_EQ(BAD_LMR, dat_linux_lmr_put(p->mem.lmr));
	EXPECT_EQ(BAD_LMR, dat_linux_lmr_put(p->ep[0]));
	EXPECT_EQ(BAD_LMR, dat_linux_lmr_put(DAT_HANDLE_NULL));
	EXPECT_EQ('a', sent(p, &g, self->va));
}

TEST_F(cache, arguments_are_checked)
{
	DAT_RETURN bad_ia = RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	DAT_RETURN bad_pz = RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	struct a_pair *p = &self->p;
	DAT_LMR_HANDLE lmr;
	struct got g;

	EXPECT_EQ(bad_ia, dat_linux_lmr_get(DAT_HANDLE_NULL, p->pz, self->va, PAGE, LOCAL, &lmr,
					    NULL, NULL));
	EXPECT_EQ(bad_ia, dat_linux_lmr_get(p->pz, p->pz, self->va, PAGE, LOCAL, &lmr, NULL, NULL));
	EXPECT_EQ(bad_pz, get_as(p, DAT_HANDLE_NULL, self->va, PAGE, LOCAL, &g));
	EXPECT_EQ(bad_pz, get_as(p, p->ia, self->va, PAGE, LOCAL, &g));
	EXPECT_EQ(RC(DAT_LENGTH_ERROR, 0), get(p, self->va, 0, &g));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3), get(p, NULL, PAGE, &g));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3), get(p, self->va, ~0UL, &g));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
		  get_as(p, p->pz, self->va, PAGE, (DAT_MEM_PRIV_FLAGS)0x1000, &g));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6),
		  dat_linux_lmr_get(p->ia, p->pz, self->va, PAGE, LOCAL, NULL, NULL, NULL));
	EXPECT_EQ(0, made);
	ASSERT_EQ(DAT_SUCCESS, dat_linux_lmr_get(p->ia, p->pz, self->va, PAGE, LOCAL, &lmr, NULL,
						 NULL));
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(lmr));
	EXPECT_EQ(bad_ia, dat_linux_ia_lmr_cache(DAT_HANDLE_NULL, SIZE, 1));
	EXPECT_EQ(bad_ia, dat_linux_ia_lmr_cache(p->pz, SIZE, 1));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		  dat_linux_ia_lmr_cache(p->ia, SIZE, -1));
}

/* An LMR that is kept is no object that a program would know of. */
TEST_F(cache, what_is_kept_keeps_no_zone_and_no_adapter)
{
	DAT_IA_HANDLE ia, async;
	struct a_pair p = self->p;
	struct got g;

	ASSERT_EQ(DAT_SUCCESS, a_ia(&ia, &async));
	p.ia = ia;
	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(ia, &p.pz));
	ASSERT_EQ(DAT_SUCCESS, get(&p, self->va, PAGE, &g));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE), dat_pz_free(p.pz));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE),
		  dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(g.lmr));
	EXPECT_EQ(DAT_SUCCESS, dat_pz_free(p.pz));
	EXPECT_EQ(1, freed);
	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(ia, &p.pz));
	ASSERT_EQ(DAT_SUCCESS, touch(&p, self->va, PAGE));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE),
		  dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_EQ(DAT_SUCCESS, dat_pz_free(p.pz));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* Returns how many mappings of the driver this process has. */
static int driver_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += !!strstr(line, "/dev/dat");
	if (f)
		fclose(f);
	return n;
}

TEST_F(cache, a_closed_adapter_leaves_no_mapping)
{
	int before = driver_mappings();
	struct a_pair p = self->p;
	DAT_IA_HANDLE async;

	ASSERT_EQ(DAT_SUCCESS, a_ia(&p.ia, &async));
	ASSERT_EQ(DAT_SUCCESS, dat_pz_create(p.ia, &p.pz));
	ASSERT_EQ(DAT_SUCCESS, touch(&p, self->va, PAGE));
	EXPECT_LT(before, driver_mappings());
	EXPECT_EQ(DAT_SUCCESS, dat_pz_free(p.pz));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(p.ia, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_EQ(before, driver_mappings());
}

/* An RMR that is bound to it keeps it: it is freed later. */
TEST_F(cache, one_with_a_binding_is_freed_when_it_can_be)
{
	struct a_pair *p = &self->p;
	DAT_RMR_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	DAT_EVENT event;
	struct got g;
	DAT_LMR_TRIPLET s;

	ASSERT_EQ(DAT_SUCCESS, dat_rmr_create(p->pz, &rmr));
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va, PAGE, &g));
	s = seg(&g, self->va, PAGE);
	ASSERT_EQ(DAT_SUCCESS, dat_rmr_bind(rmr, &s, DAT_MEM_PRIV_REMOTE_READ_FLAG, p->ep[1],
					    cookie, DAT_COMPLETION_DEFAULT_FLAG, &context));
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	EXPECT_EQ(DAT_SUCCESS, dat_linux_lmr_put(g.lmr));
	ASSERT_EQ(DAT_SUCCESS, dat_linux_ia_lmr_cache(p->ia, SIZE, 0));
	EXPECT_EQ(0, freed);
	ASSERT_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	ASSERT_EQ(DAT_SUCCESS, dat_linux_ia_lmr_cache(p->ia, SIZE, 0));
	EXPECT_EQ(1, freed);
}

/* The child has none of it, and leaves it alone. */
TEST_F(cache, a_fork_changes_nothing)
{
	struct a_pair *p = &self->p;
	struct got g;
	int status;
	pid_t pid;

	ASSERT_EQ(DAT_SUCCESS, touch(p, self->va, SIZE));
	pid = fork();
	if (!pid) {
		if (get(p, self->va, SIZE, &g) != RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA))
			_exit(1);
		memset(self->va, 'c', SIZE);
		munmap(self->va, SIZE);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	memset(self->va, 'p', SIZE);
	ASSERT_EQ(DAT_SUCCESS, get(p, self->va, SIZE, &g));
	EXPECT_EQ('p', sent(p, &g, self->va));
	EXPECT_EQ(1, made);
}

#define THREADS	4

static int end_threads;

/* Gets of random parts, some of which are used at the same time, while memory changes. */
static void *get_and_put(void *arg)
{
	struct a_pair *p = nested_pair;
	unsigned int seed = (unsigned int)(uintptr_t)arg, first, i;
	struct got g[3];

	while (!__atomic_load_n(&end_threads, __ATOMIC_RELAXED)) {
		for (i = 0; i < 3; i++) {
			first = rand_r(&seed) % PAGES;
			if (get(p, nested_va + first * PAGE, PAGE * (1 + rand_r(&seed) % 2),
				&g[i]) != DAT_SUCCESS)
				g[i].lmr = DAT_HANDLE_NULL;
		}
		for (i = 0; i < 3; i++)
			if (g[i].lmr != DAT_HANDLE_NULL && dat_linux_lmr_put(g[i].lmr))
				return (void *)1;
	}
	return NULL;
}

TEST_F_TIMEOUT(cache, threads_share_it, 300)
{
	struct a_pair *p = &self->p;
	pthread_t thread[THREADS];
	void *ret;
	int i;

	nested_pair = p;
	/* One page more than there are starts. */
	nested_va = mmap(NULL, SIZE + PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(DAT_SUCCESS, dat_linux_ia_lmr_cache(p->ia, SIZE, 8));
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, get_and_put,
					    (void *)(uintptr_t)(i + 1)));
	for (i = 0; i < 500; i++) {
		/* Other memory at once, so that no get finds a hole. */
		ASSERT_NE(MAP_FAILED, mmap(nested_va + rand() % PAGES * PAGE, PAGE, RW,
					   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
		if (i % 100 == 0)
			ASSERT_EQ(DAT_SUCCESS, dat_linux_ia_lmr_cache(p->ia, SIZE, i % 8));
	}
	__atomic_store_n(&end_threads, 1, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++) {
		ASSERT_EQ(0, pthread_join(thread[i], &ret));
		EXPECT_EQ(NULL, ret);
	}
	ASSERT_EQ(DAT_SUCCESS, dat_linux_ia_lmr_cache(p->ia, 0, 0));
	EXPECT_EQ(made, freed);
	TH_LOG("%u registrations", made);
	EXPECT_LT(0, made);
}

TEST_HARNESS_MAIN
