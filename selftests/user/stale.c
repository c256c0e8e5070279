// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * DAT_LMR_WATCHED: the process learns which of its LMRs have memory whose addresses got other
 * pages.  A change that is missed lets a program transfer memory that it no longer has.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "debug_kernel.h"
#include "proc.h"

#define PAGE	4096UL
#define PAGES	4UL
#define SIZE	(PAGES * PAGE)
#define RW	(PROT_READ | PROT_WRITE)

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP	4
#endif

/* A file with an adapter, and the word that the kernel increments. */
struct watcher {
	struct t_file		*f;
	uint32_t		pz;
	struct t_map		map;
	volatile uint32_t	*word;
};

static int stale(struct t_file *f, struct dat_lmr_stale *arg)
{
	*arg = (struct dat_lmr_stale) { .size = sizeof(*arg) };
	return t_ioctl(f->fd, DAT_IOC_LMR_STALE, arg);
}

static int watcher_init(struct watcher *w, struct t_file *f, uint32_t pz)
{
	struct dat_lmr_stale arg;
	int ret = stale(f, &arg);

	if (!ret)
		ret = t_map_span(f, &arg.word, PROT_READ, &w->map);
	w->f = f;
	w->pz = pz;
	w->word = w->map.va;
	return ret;
}

/* Register [va, va + size), which the test maps, with the flags @flags. */
static int reg(struct watcher *w, const void *va, size_t size, uint32_t flags, struct t_lmr *lmr)
{
	struct dat_lmr_create arg = {
		.size = sizeof(arg), .pz = w->pz, .addr = (uintptr_t)va, .length = size,
		.priv = T_PRIV_ALL, .flags = flags,
	};
	int ret = t_ioctl(w->f->fd, DAT_IOC_LMR_CREATE, &arg);

	*lmr = (struct t_lmr) {
		.id = arg.id, .lkey = arg.lmr_context, .rkey = arg.rmr_context,
		.va = (char *)va, .size = size,
	};
	return ret;
}

static int unreg(struct watcher *w, const struct t_lmr *lmr)
{
	return t_free(w->f, DAT_OBJ_LMR, lmr->id);
}

/* Returns 1 if @id is all that is stale, 0 if nothing is, -1 otherwise. */
static int only(struct watcher *w, uint32_t id)
{
	struct dat_lmr_stale arg;

	if (stale(w->f, &arg) || arg.count > 1)
		return -1;
	if (!arg.count)
		return 0;
	return arg.ids[0] == id ? 1 : -1;
}

static char *anon(size_t size)
{
	char *va = mmap(NULL, size, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (va != MAP_FAILED)
		memset(va, 'a', size);
	return va;
}

/* Map anonymous memory with other content at @va. */
static int replace(char *va, size_t size, int content)
{
	if (mmap(va, size, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != va)
		return -1;
	memset(va, content, size);
	return 0;
}

/* Run @fn in a child.  Returns 0 if it has returned 0. */
static int in_child(int (*fn)(char *va, int fd), char *va, int fd)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(fn(va, fd) ? 1 : 0);
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

/*
 * Changes of the memory [va, va + SIZE), which is private and anonymous, or shared and of the file
 * @fd.  They return 0 if they succeed.
 */
static int unmap_all(char *va, int fd)
{
	return munmap(va, SIZE);
}

static int unmap_last(char *va, int fd)
{
	return munmap(va + SIZE - PAGE, PAGE);
}

static int unmap_more(char *va, int fd)
{
	return munmap(va - PAGE, SIZE + 2 * PAGE);
}

static int discard(char *va, int fd)
{
	return madvise(va + PAGE, PAGE, MADV_DONTNEED);
}

static int make_free(char *va, int fd)
{
	return madvise(va, PAGE, MADV_FREE);
}

static int remove_hole(char *va, int fd)
{
	return madvise(va + PAGE, PAGE, MADV_REMOVE);
}

static int punch_hole(char *va, int fd)
{
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, PAGE);
}

static int truncate_file(char *va, int fd)
{
	return ftruncate(fd, SIZE - PAGE);
}

static int truncate_elsewhere(char *va, int fd)
{
	return in_child(truncate_file, va, fd);
}

static int map_over(char *va, int fd)
{
	return replace(va + PAGE, PAGE, 'b');
}

static int move_away(char *va, int fd)
{
	void *to = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mremap(va, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to ? 0 : -1;
}

static int move_and_keep(char *va, int fd)
{
	return mremap(va, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL) == MAP_FAILED;
}

static int move_here(char *va, int fd)
{
	return mremap(anon(PAGE), PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, va) == va ? 0 : -1;
}

static int shrink(char *va, int fd)
{
	return mremap(va, SIZE, PAGE, 0) == va ? 0 : -1;
}

static int write_to(char *va, int fd)
{
	memset(va, 'c', SIZE);
	return 0;
}

static int protect(char *va, int fd)
{
	return mprotect(va, SIZE, PROT_READ) || mprotect(va, SIZE, PROT_NONE) ||
	       mprotect(va, SIZE, RW);
}

static int unmap_neighbours(char *va, int fd)
{
	return munmap(va - PAGE, PAGE) || munmap(va + SIZE, PAGE);
}

static int nop(char *va, int fd)
{
	return 0;
}

/* Both write: the parent must keep its pages. */
static int fork_and_write(char *va, int fd)
{
	return in_child(write_to, va, fd) || write_to(va, fd);
}

static int fork_and_unmap(char *va, int fd)
{
	return in_child(unmap_all, va, fd) || in_child(nop, va, fd);
}

FIXTURE(change) {
	struct t_file f;
	struct watcher w;
	struct t_lmr lmr;
	struct t_lmr other;	/* LMR of the same memory that is not watched */
	char *va;
	int fd;
};

FIXTURE_VARIANT(change) {
	int (*fn)(char *va, int fd);
	int shared;
	int stale;
};

#define CHANGE(fn_, shared_, stale_)						\
FIXTURE_VARIANT_ADD(change, fn_) {						\
	.fn = fn_, .shared = shared_, .stale = stale_,				\
};

CHANGE(unmap_all, 0, 1)
CHANGE(unmap_last, 0, 1)
CHANGE(unmap_more, 1, 1)
CHANGE(discard, 0, 1)
CHANGE(make_free, 0, 1)
CHANGE(remove_hole, 1, 1)
CHANGE(punch_hole, 1, 1)
CHANGE(truncate_file, 1, 1)
CHANGE(truncate_elsewhere, 1, 1)
CHANGE(map_over, 0, 1)
CHANGE(move_away, 0, 1)
CHANGE(move_and_keep, 0, 1)
CHANGE(move_here, 1, 1)
CHANGE(shrink, 0, 1)
CHANGE(write_to, 0, 0)
CHANGE(protect, 0, 0)
CHANGE(unmap_neighbours, 0, 0)
CHANGE(fork_and_write, 0, 0)
CHANGE(fork_and_unmap, 0, 0)

FIXTURE_SETUP(change)
{
	uint32_t pz;
	char *va;

	ASSERT_EQ(0, t_open(&self->f));
	ASSERT_EQ(0, t_pz(&self->f, &pz));
	ASSERT_EQ(0, watcher_init(&self->w, &self->f, pz));
	/* A page before the memory, and one after it, belong to the test. */
	va = anon(SIZE + 2 * PAGE);
	ASSERT_NE(MAP_FAILED, va);
	self->va = va + PAGE;
	self->fd = memfd_create("stale", 0);
	ASSERT_EQ(0, ftruncate(self->fd, SIZE));
	if (variant->shared)
		ASSERT_EQ(self->va, mmap(self->va, SIZE, RW, MAP_SHARED | MAP_FIXED, self->fd, 0));
	memset(self->va, 'a', SIZE);
	ASSERT_EQ(0, reg(&self->w, self->va, SIZE, DAT_LMR_WATCHED, &self->lmr));
	ASSERT_EQ(0, reg(&self->w, self->va, SIZE, 0, &self->other));
	/* A change of other memory during the registration may have made it stale. */
	ASSERT_LE(0, only(&self->w, self->lmr.id));
}

FIXTURE_TEARDOWN(change)
{
	t_unmap(&self->w.map);
	close(self->fd);
	t_close(&self->f);
}

TEST_F(change, of_the_memory_is_told_before_the_call_returns)
{
	uint32_t before = *self->w.word;

	ASSERT_EQ(0, variant->fn(self->va, self->fd));
	EXPECT_EQ(variant->stale, *self->w.word != before);
	EXPECT_EQ(variant->stale, only(&self->w, self->lmr.id));
	/* Once, whatever happens to the memory. */
	before = *self->w.word;
	munmap(self->va, SIZE);
	EXPECT_EQ(variant->stale, *self->w.word == before);
	EXPECT_EQ(!variant->stale, only(&self->w, self->lmr.id));
	EXPECT_EQ(0, unreg(&self->w, &self->lmr));
	EXPECT_EQ(0, unreg(&self->w, &self->other));
}

TEST_F(change, of_freed_memory_is_not_told)
{
	uint32_t before = *self->w.word;

	ASSERT_EQ(0, unreg(&self->w, &self->lmr));
	ASSERT_EQ(0, variant->fn(self->va, self->fd));
	EXPECT_EQ(before, *self->w.word);
	EXPECT_EQ(0, only(&self->w, self->lmr.id));
}

/* A free forgets what the process has not asked for. */
TEST_F(change, is_forgotten_by_a_free)
{
	ASSERT_EQ(0, variant->fn(self->va, self->fd));
	ASSERT_EQ(0, unreg(&self->w, &self->lmr));
	EXPECT_EQ(0, only(&self->w, self->lmr.id));
}

FIXTURE(stale) {
	struct t_pair p;
	struct watcher w;
};

FIXTURE_SETUP(stale)
{
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, t_pair_connect(&self->p));
	ASSERT_EQ(0, watcher_init(&self->w, &self->p.f, self->p.pz));
}

FIXTURE_TEARDOWN(stale)
{
	t_unmap(&self->w.map);
	t_pair_close(&self->p);
}

/* Returns the first byte that an adapter reads at @va by the LMR, or -1. */
static int sent(struct t_pair *p, const struct t_lmr *lmr, const char *va)
{
	struct dat_eqe eqe;
	int i;

	memset(p->mem.va, 'x', 8);
	if (t_recv(&p->ep[0].rq, 1, (uintptr_t)p->mem.va, p->mem.lkey, 8) ||
	    t_send(&p->ep[1], 2, (uintptr_t)va, lmr->lkey, 8))
		return -1;
	for (i = 0; i < 2; i++)
		if (!t_event(&p->evd[i], T_WAIT_MS, &eqe) || eqe.status)
			return -1;
	return p->mem.va[0];
}

TEST_F(stale, the_kernel_announces_it)
{
	struct dat_abi abi = { .size = sizeof(abi) };

	ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_ABI, &abi));
	EXPECT_TRUE(abi.features & DAT_FEATURE_WATCH);
}

TEST_F(stale, the_word_is_read_only)
{
	struct dat_lmr_stale arg;
	struct t_map map;

	ASSERT_EQ(0, stale(&self->p.f, &arg));
	EXPECT_EQ(-EPERM, t_map_span(&self->p.f, &arg.word, RW, &map));
	EXPECT_EQ(-1, mprotect(self->w.map.base, self->w.map.size, RW));
}

/* Each caller gets the place of the same word. */
TEST_F(stale, there_is_one_word)
{
	struct dat_lmr_stale a, b;

	ASSERT_EQ(0, stale(&self->p.f, &a));
	ASSERT_EQ(0, stale(&self->p.f, &b));
	EXPECT_EQ(0, memcmp(&a.word, &b.word, sizeof(a.word)));
	EXPECT_EQ(0, b.word.rsvd);
}

/* The driver also reports LMRs that became stale before the process has asked for the word. */
TEST_F(stale, the_word_begins_with_the_number_so_far)
{
	struct watcher w = { .f = &self->p.f };
	char *va = anon(PAGE);
	struct t_lmr lmr;
	struct t_file f;

	ASSERT_EQ(0, t_open(&f));
	w.f = &f;
	ASSERT_EQ(0, t_pz(&f, &w.pz));
	ASSERT_EQ(0, reg(&w, va, PAGE, DAT_LMR_WATCHED, &lmr));
	ASSERT_EQ(0, munmap(va, PAGE));
	EXPECT_EQ(1, only(&w, lmr.id));
	ASSERT_EQ(0, watcher_init(&w, &f, w.pz));
	EXPECT_LT(0, *w.word);
	t_unmap(&w.map);
	t_close(&f);
}

/* It reaches the pages that it has pinned, not those that came in their place. */
TEST_F(stale, an_LMR_keeps_its_old_pages)
{
	char *va = anon(PAGE);
	struct t_lmr lmr, next;

	ASSERT_EQ(0, reg(&self->w, va, PAGE, DAT_LMR_WATCHED, &lmr));
	EXPECT_EQ('a', sent(&self->p, &lmr, va));
	ASSERT_EQ(0, replace(va, PAGE, 'b'));
	EXPECT_EQ('a', sent(&self->p, &lmr, va));
	ASSERT_EQ(0, reg(&self->w, va, PAGE, DAT_LMR_WATCHED, &next));
	EXPECT_EQ('b', sent(&self->p, &next, va));
	EXPECT_EQ(1, only(&self->w, lmr.id));
	EXPECT_EQ(0, unreg(&self->w, &lmr));
	EXPECT_EQ('b', sent(&self->p, &next, va));
	EXPECT_EQ(0, only(&self->w, next.id));
}

#define MANY	150	/* more than two answers have room for */

TEST_F(stale, many_at_once_are_told_each_once)
{
	char *va = anon(MANY * PAGE), told[MANY] = { 0 };
	uint32_t expect[] = {
		DAT_LMR_STALE_IDS, DAT_LMR_STALE_IDS, MANY - 2 * DAT_LMR_STALE_IDS, 0,
	};
	struct t_lmr lmr[MANY];
	struct dat_lmr_stale arg;
	unsigned int i, k, n;

	for (i = 0; i < MANY; i++)
		ASSERT_EQ(0, reg(&self->w, va + i * PAGE, PAGE, DAT_LMR_WATCHED, &lmr[i]));
	while (!stale(&self->p.f, &arg) && arg.count)
		;
	ASSERT_EQ(0, munmap(va, MANY * PAGE));
	for (n = 0; n < 4; n++) {
		ASSERT_EQ(0, stale(&self->p.f, &arg));
		EXPECT_EQ(expect[n], arg.count);
		for (k = 0; k < DAT_LMR_STALE_IDS; k++) {
			if (k >= arg.count)
				EXPECT_EQ(0, arg.ids[k]);
			for (i = 0; i < MANY && k < arg.count; i++)
				told[i] += lmr[i].id == arg.ids[k];
		}
	}
	for (i = 0; i < MANY; i++) {
		EXPECT_EQ(1, told[i]);
		EXPECT_EQ(0, unreg(&self->w, &lmr[i]));
	}
}

/* It is no more than a flag of a registration, and goes with a name. */
TEST_F(stale, a_shared_LMR_may_be_watched)
{
	struct dat_lmr_create arg = {
		.size = sizeof(arg), .pz = self->p.pz, .length = SIZE, .priv = T_PRIV_ALL,
		.flags = DAT_LMR_SHARED | DAT_LMR_WATCHED, .cookie = "stale",
	};
	int fd = memfd_create("stale", 0);

	ASSERT_EQ(0, ftruncate(fd, SIZE));
	arg.addr = (uintptr_t)mmap(NULL, SIZE, RW, MAP_SHARED, fd, 0);
	ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_LMR_CREATE, &arg));
	ASSERT_EQ(0, ftruncate(fd, 0));
	EXPECT_EQ(1, only(&self->w, arg.id));
	close(fd);
}

/* A registration that fails leaves nothing that is told. */
TEST_F(stale, an_LMR_that_was_not_made_is_not_told)
{
	char *va = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct t_lmr lmr;

	EXPECT_EQ(-EFAULT, reg(&self->w, va, SIZE, DAT_LMR_WATCHED, &lmr));
	ASSERT_EQ(0, munmap(va, SIZE));
	EXPECT_EQ(0, only(&self->w, 0));
}

TEST_F(stale, after_a_close_nothing_is_told)
{
	struct dat_ia_close arg = { .size = sizeof(arg) };
	struct dat_lmr_stale answer;
	char *va = anon(PAGE);
	struct t_lmr lmr;
	uint32_t before;

	ASSERT_EQ(0, reg(&self->w, va, PAGE, DAT_LMR_WATCHED, &lmr));
	before = *self->w.word;
	ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_IA_CLOSE, &arg));
	ASSERT_EQ(0, munmap(va, PAGE));
	EXPECT_EQ(-ENODEV, stale(&self->p.f, &answer));
	/* The mapping outlives the objects. */
	EXPECT_EQ(before, *self->w.word);
}

/*
 * A thread that changes memory over and over, in steps: the test waits until it is between two
 * steps, which it then does not leave.
 */
struct changer {
	void		(*step)(struct changer *c);
	char		*va;
	size_t		size;
	unsigned int	steps;
	unsigned int	begun;		/* number of changes that have begun or are about to */
	int		hold;		/* what the test wants */
	int		held;		/* what the thread does */
	int		end;
	pthread_t	thread;
};

static void *changer_main(void *arg)
{
	struct changer *c = arg;

	while (!__atomic_load_n(&c->end, __ATOMIC_ACQUIRE)) {
		if (__atomic_load_n(&c->hold, __ATOMIC_ACQUIRE)) {
			__atomic_store_n(&c->held, 1, __ATOMIC_RELEASE);
			sched_yield();
			continue;
		}
		__atomic_store_n(&c->held, 0, __ATOMIC_RELEASE);
		c->step(c);
		__atomic_add_fetch(&c->steps, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static int changer_start(struct changer *c)
{
	return pthread_create(&c->thread, NULL, changer_main, c);
}

static void changer_hold(struct changer *c)
{
	__atomic_store_n(&c->held, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&c->hold, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&c->held, __ATOMIC_ACQUIRE))
		sched_yield();
}

/* Returns when a change begins, or a little later. */
static void changer_release(struct changer *c)
{
	unsigned int begun = __atomic_load_n(&c->begun, __ATOMIC_ACQUIRE);
	int i = rand() % 2000;

	__atomic_store_n(&c->hold, 0, __ATOMIC_RELEASE);
	while (__atomic_load_n(&c->begun, __ATOMIC_ACQUIRE) == begun)
		;
	while (i--)
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void changer_end(struct changer *c)
{
	__atomic_store_n(&c->end, 1, __ATOMIC_RELEASE);
	pthread_join(c->thread, NULL);
}

/* Map new memory at the same address, with a number that no earlier one had. */
static void step_replace(struct changer *c)
{
	__atomic_add_fetch(&c->begun, 1, __ATOMIC_RELEASE);
	replace(c->va, c->size, 1 + c->steps % 100);
}

static void step_discard(struct changer *c)
{
	memset(c->va, 1 + c->steps % 100, c->size);
	__atomic_add_fetch(&c->begun, 1, __ATOMIC_RELEASE);
	madvise(c->va, c->size, MADV_DONTNEED);
}

FIXTURE(race) {
	struct t_pair p;
	struct watcher w;
	struct changer c;
};

/*
 * replace: a small range, whose change may begin and end during a registration.  discard: a long
 * one, whose last page goes long after the change has begun.
 */
FIXTURE_VARIANT(race) {
	void (*step)(struct changer *c);
	size_t size;
	int rounds;
};

FIXTURE_VARIANT_ADD(race, replace) { .step = step_replace, .size = PAGE, .rounds = 2000 };
FIXTURE_VARIANT_ADD(race, discard) { .step = step_discard, .size = 1024 * PAGE, .rounds = 400 };

FIXTURE_SETUP(race)
{
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, t_pair_connect(&self->p));
	ASSERT_EQ(0, watcher_init(&self->w, &self->p.f, self->p.pz));
	self->c = (struct changer) { .step = variant->step, .size = variant->size, .hold = 1 };
	self->c.va = anon(variant->size);
	ASSERT_EQ(0, changer_start(&self->c));
}

FIXTURE_TEARDOWN(race)
{
	changer_end(&self->c);
	t_unmap(&self->w.map);
	t_pair_close(&self->p);
}

/*
 * Register the last page while another thread changes it.  An LMR that is not told to be stale must
 * reach the page that the address has.
 */
TEST_F_TIMEOUT(race, a_change_during_a_registration_is_not_missed, 300)
{
	char *last = self->c.va + self->c.size - PAGE;
	int rounds = debug_kernel() ? variant->rounds : variant->rounds / 5;
	int i, ret, good = 0, told = 0;
	struct t_lmr lmr;

	for (i = 0; i < rounds; i++) {
		changer_release(&self->c);
		ret = reg(&self->w, last, PAGE, DAT_LMR_WATCHED, &lmr);
		changer_hold(&self->c);
		/* There may be no memory at the address for a moment. */
		if (ret == -EFAULT)
			continue;
		ASSERT_EQ(0, ret);
		ret = only(&self->w, lmr.id);
		ASSERT_LE(0, ret);
		told += ret;
		if (!ret) {
			good++;
			ret = sent(&self->p, &lmr, last);
			ASSERT_EQ(*(volatile char *)last, ret) TH_LOG("round %d", i);
		}
		ASSERT_EQ(0, unreg(&self->w, &lmr));
	}
	TH_LOG("%d were told, %d were not", told, good);
	EXPECT_LT(0, told);
}

/* A thread changes the memory while LMRs are made and freed.  No freed LMR is reported. */
TEST_F_TIMEOUT(race, a_change_during_a_free_is_harmless, 300)
{
	struct dat_lmr_stale arg;
	struct t_lmr lmr;
	int i, ret;

	changer_release(&self->c);
	for (i = 0; i < 2 * variant->rounds; i++) {
		ret = reg(&self->w, self->c.va, PAGE, DAT_LMR_WATCHED, &lmr);
		if (ret == -EFAULT)
			continue;
		ASSERT_EQ(0, ret);
		ASSERT_EQ(0, unreg(&self->w, &lmr));
	}
	ASSERT_EQ(0, stale(&self->p.f, &arg));
	EXPECT_EQ(0, arg.count);
	changer_hold(&self->c);
}

#define WATCHED	100

/* A process with many LMRs and a thread that changes their memory, which says when it is ready. */
static int busy_process(int ready, int exec)
{
	struct changer c = { .step = step_replace, .size = WATCHED * PAGE };
	struct watcher w = { 0 };
	struct t_lmr lmr;
	struct t_file f;
	int i;

	c.va = anon(c.size);
	w.f = &f;
	if (t_open(&f) || t_pz(&f, &w.pz))
		return 1;
	for (i = 0; i < WATCHED; i++)
		if (reg(&w, c.va + i * PAGE, PAGE, DAT_LMR_WATCHED, &lmr))
			return 1;
	if (!exec && changer_start(&c))
		return 1;
	if (write(ready, "", 1) != 1)
		return 1;
	if (exec)
		return execl("/bin/true", "true", (char *)NULL);
	for (;;) {
		for (i = 0; i < WATCHED; i++)
			if (!reg(&w, c.va + i * PAGE, PAGE, DAT_LMR_WATCHED, &lmr))
				unreg(&w, &lmr);
	}
}

/* Returns 0 if the pages of a process that ends in this way are unpinned. */
static int ends_cleanly(int exec, int wait_ms)
{
	long before = pinned_pages(), after = -1;
	int pipe_fd[2], i;
	pid_t pid;
	char c;

	if (pipe(pipe_fd))
		return -1;
	pid = fork();
	if (!pid)
		_exit(busy_process(pipe_fd[1], exec));
	close(pipe_fd[1]);
	if (read(pipe_fd[0], &c, 1) != 1)
		return -1;
	close(pipe_fd[0]);
	usleep(1000 * wait_ms);
	if (!exec)
		kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (i = 0; i < 200 && after != before; i++) {
		usleep(50000);
		after = pinned_pages();
	}
	return after == before ? 0 : -1;
}

TEST_F_TIMEOUT(stale, a_kill_ends_the_watches, 120)
{
	int i;

	for (i = 0; i < 10; i++)
		EXPECT_EQ(0, ends_cleanly(0, 5 * i)) TH_LOG("round %d", i);
}

TEST_F_TIMEOUT(stale, an_exec_ends_the_watches, 60)
{
	EXPECT_EQ(0, ends_cleanly(1, 0));
}

TEST_HARNESS_MAIN
