// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * The bytes of an RDMA write become visible in the order of their addresses, so that the target may
 * poll the last byte (see dat_lmr_create(3)).  A second thread polls while the write is carried
 * out.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "clock.h"

#define MOST	65536	/* bytes of the longest write */
#define ROOM	(MOST + 4096)
#define ROUNDS	4	/* writes of each length, at different alignments */
#define WORDS	800	/* words behind a long write */
#define STEP	1021	/* between the lengths above 256; so they have all remainders of 8 */

/*
 * struct watcher - the thread that polls
 * @at: memory that the next write changes; NULL ends the thread
 * @len: length of the write
 * @was: value of all bytes before the write; the new one is @was + 1
 * @go: number of the write to wait for
 * @done: number of the last write that has been seen
 * @stale: offset of the first byte that had not changed when the last byte had, or -1
 */
struct watcher {
	const volatile unsigned char	*at;
	uint32_t			len;
	unsigned char			was;
	atomic_uint			go;
	atomic_uint			done;
	long				stale;
};

FIXTURE(rising) {
	struct t_pair p;
	struct t_lmr to;
	struct watcher w;
	pthread_t thread;
};

/* Returns the offset of the first byte that is not @byte, or -1.  The lowest may be the latest. */
static long first_other(const volatile unsigned char *at, uint32_t len, unsigned char byte)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		if (at[i] != byte)
			return i;
	return -1;
}

static void *watch(void *arg)
{
	struct watcher *w = arg;
	unsigned int n = 0;

	for (;;) {
		while (atomic_load(&w->go) == n)
			;
		n++;
		if (!w->at)
			return NULL;
		while (w->at[w->len - 1] == w->was)
			;
		w->stale = first_other(w->at, w->len, w->was + 1);
		atomic_store(&w->done, n);
	}
}

FIXTURE_SETUP(rising)
{
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, t_lmr(&self->p.f, self->p.pz, ROOM, T_PRIV_ALL, &self->to));
	ASSERT_EQ(0, t_pair_connect(&self->p));
	ASSERT_EQ(0, pthread_create(&self->thread, NULL, watch, &self->w));
}

FIXTURE_TEARDOWN(rising)
{
	self->w.at = NULL;
	atomic_fetch_add(&self->w.go, 1);
	pthread_join(self->thread, NULL);
	t_pair_close(&self->p);
}

/* Returns 0 if the thread has seen the write within the time for an event. */
static int seen(struct watcher *w)
{
	double end = now_s() + T_WAIT_MS / 1000;

	while (atomic_load(&w->done) != atomic_load(&w->go))
		if (now_s() > end)
			return -ETIMEDOUT;
	return 0;
}

/* Write @len bytes to the offset @to, from the same offset of p->mem. */
static int write_once(FIXTURE_DATA(rising) *self, uint32_t to, uint32_t len, unsigned char value)
{
	struct t_pair *p = &self->p;
	struct watcher *w = &self->w;
	struct dat_eqe eqe;
	int ret;

	memset(self->to.va + to, value - 1, len);
	memset(p->mem.va, value, len);
	w->at = (unsigned char *)self->to.va + to;
	w->len = len;
	w->was = value - 1;
	atomic_fetch_add(&w->go, 1);
	ret = t_rdma(&p->ep[1], DAT_OP_RDMA_WRITE, len, (uintptr_t)p->mem.va, p->mem.lkey, len,
		     (uintptr_t)self->to.va + to, self->to.rkey);
	if (ret)
		return ret;
	if (!t_event(&p->evd[1], T_WAIT_MS, &eqe))
		return -ETIMEDOUT;
	return eqe.status ? -EIO : seen(w);
}

/* Write one length at each alignment.  Returns whether the bytes came in order. */
static int rises(FIXTURE_DATA(rising) *self, struct __test_metadata *_metadata, uint32_t len)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		EXPECT_EQ(0, write_once(self, i * 257 % 4096, len, i + 1)) {
			TH_LOG("%u bytes, round %u", len, i);
			/* The watcher may wait forever: give it what it waits for. */
			memset(self->to.va, i + 1, ROOM);
			return 0;
		}
		EXPECT_EQ(-1, self->w.stale) {
			TH_LOG("%u bytes, round %u: byte %ld came after the last", len, i,
			       self->w.stale);
			return 0;
		}
	}
	return 1;
}

/* Returns 1 for soft-RoCE and soft-iWARP, which copy by memcpy(): that may begin at the end. */
static int is_soft(const struct t_file *f)
{
	const char *name = (const char *)f->info.device;

	return !strncmp(name, "rxe", 3) || !strncmp(name, "siw", 3);
}

TEST_F_TIMEOUT(rising, when_the_last_byte_of_a_write_is_there_all_are, 300)
{
	uint32_t len;

	if (is_soft(&self->p.f))
		SKIP(return, "a soft device promises no order");
	for (len = 1; len <= 256; len++)
		ASSERT_TRUE(rises(self, _metadata, len));
	for (; len < MOST; len += STEP)
		ASSERT_TRUE(rises(self, _metadata, len));
	ASSERT_TRUE(rises(self, _metadata, MOST));
}

/*
 * struct flag - a word that a thread polls
 * @at: the word; 0 before it is written, and all ones after
 * @ready: flag: the thread polls
 */
struct flag {
	const volatile uint64_t	*at;
	atomic_uint		ready;
};

/* Returns the first value of the word that is not 0. */
static void *watch_word(void *arg)
{
	struct flag *flag = arg;
	uint64_t value;

	atomic_store(&flag->ready, 1);
	while (!(value = *flag->at))
		;
	return (void *)(uintptr_t)value;
}

static void fill_write(FIXTURE_DATA(rising) *self, size_t from, size_t to, uint32_t len)
{
	struct t_pair *p = &self->p;
	struct dat_sqe *sqe = t_sqe(&p->ep[1].sq);
	struct dat_sge *sge = (struct dat_sge *)(sqe + 1);

	sqe->opcode = DAT_OP_RDMA_WRITE;
	sqe->num_sge = 1;
	sqe->raddr = (uintptr_t)self->to.va + to;
	sqe->rkey = self->to.rkey;
	*sge = (struct dat_sge) { (uintptr_t)p->mem.va + from, p->mem.lkey, len };
}

/* Post a write of @len bytes and one of a flag behind it, with one kick. */
static int write_and_flag(FIXTURE_DATA(rising) *self, uint32_t len)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	int i, ret;

	fill_write(self, 0, 0, len);
	p->ep[1].sq.tail++;
	fill_write(self, MOST, MOST, 8);
	ret = t_push(&p->ep[1].sq);
	for (i = 0; i < 2 && !ret; i++)
		if (!t_event(&p->evd[1], T_WAIT_MS, &eqe) || eqe.status)
			ret = -EIO;
	return ret;
}

/*
 * A program may wait until a word of 8 bytes changes, whatever the writes before.  The lane of lo0
 * stops after 64 KiB, but not within the word.
 */
TEST_F_TIMEOUT(rising, a_word_becomes_visible_at_once, 60)
{
	struct flag flag = { .at = (uint64_t *)(self->to.va + MOST) };
	pthread_t thread;
	unsigned int i;
	uint32_t len;
	void *value;

	if (is_soft(&self->p.f))
		SKIP(return, "a soft device promises no order");
	memset(self->p.mem.va + MOST, 0xff, 8);
	for (i = 0; i < WORDS; i++) {
		len = MOST - 8 + i % 8;
		memset(self->to.va + MOST, 0, 8);
		atomic_store(&flag.ready, 0);
		ASSERT_EQ(0, pthread_create(&thread, NULL, watch_word, &flag));
		while (!atomic_load(&flag.ready))
			;
		ASSERT_EQ(0, write_and_flag(self, len));
		pthread_join(thread, &value);
		EXPECT_EQ(-1L, (long)value) TH_LOG("%u bytes before the word", len);
	}
}

TEST_HARNESS_MAIN
