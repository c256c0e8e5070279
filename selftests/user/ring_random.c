// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Random bytes in everything that a process may write.  The attacked connection may break, but the
 * neighbour connection on the same file must work, and the kernel must not report a bug.
 *
 * The test prints its seed; DAT_SEED=n repeats a run with seed n.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"

#define ROUNDS 40

static unsigned int seed;

static uint32_t rnd(void)
{
	return (uint32_t)rand_r(&seed) << 16 ^ (uint32_t)rand_r(&seed);
}

static void fill(void *at, size_t size)
{
	unsigned char *c = at;

	while (size--)
		*c++ = (unsigned char)(rnd() >> 7);
}

static void flip_bits(void *at, size_t size, int n)
{
	while (n--)
		((unsigned char *)at)[rnd() % size] ^= (unsigned char)(1 << rnd() % 8);
}

FIXTURE(random) {
	struct t_pair p;
	struct t_link neighbour;
	unsigned int count[16];
};

FIXTURE_SETUP(random)
{
	const char *env = getenv("DAT_SEED");

	seed = env ? (unsigned int)strtoul(env, NULL, 0) : (unsigned int)time(NULL);
	TH_LOG("DAT_SEED=%u", seed);
	ASSERT_EQ(0, t_pair_open(&self->p));
	ASSERT_EQ(0, t_pair_connect(&self->p));
	ASSERT_EQ(0, t_link_open(&self->p, &self->neighbour));
}

FIXTURE_TEARDOWN(random)
{
	EXPECT_EQ(0, t_link_works(&self->p, &self->neighbour));
	t_pair_close(&self->p);
}

/* Returns the entry that the next t_push() publishes, so that the caller can change its bytes. */
static void *next_entry(struct t_queue *q, size_t *size)
{
	*size = 1UL << q->shift;
	return q->ring + ((size_t)(q->tail & (q->entries - 1)) << q->shift);
}

/* @flags: flags of the EP.  An EP with immediate data sends them with every other request. */
static void good_sqe(struct t_pair *p, struct t_queue *q, uint32_t flags)
{
	struct dat_sqe *sqe = t_sqe(q);

	sqe->opcode = DAT_OP_SEND;
	if (flags & DAT_EP_FLAG_IMMEDIATE && q->tail % 2) {
		sqe->flags = DAT_SQE_IMM;
		sqe->imm = rnd();
	}
	sqe->num_sge = 2;
	*(struct dat_sge *)(sqe + 1) = (struct dat_sge) { (uintptr_t)p->mem.va, p->mem.lkey, 32 };
	*((struct dat_sge *)(sqe + 1) + 1) =
		(struct dat_sge) { (uintptr_t)p->mem.va + 4096, p->mem.lkey, 32 };
}

static void good_rqe(struct t_pair *p, struct t_queue *q)
{
	struct dat_rqe *rqe = t_rqe(q);

	rqe->num_sge = 1;
	*(struct dat_sge *)(rqe + 1) = (struct dat_sge) { (uintptr_t)p->mem.va, p->mem.lkey, 64 };
}

/*
 * Wait until all entries of the EP are done.  Entries posted after the connection broke may be
 * flushed after the event that ends the connection.
 */
static bool all_done(const struct t_ep *ep)
{
	unsigned int ms;

	for (ms = 0; ms < T_WAIT_MS; ms++) {
		if (ep->sq.tail == __atomic_load_n(&ep->st->sq.done, __ATOMIC_ACQUIRE) &&
		    ep->rq.tail == __atomic_load_n(&ep->st->rq.done, __ATOMIC_ACQUIRE))
			return true;
		usleep(1000);
	}
	return false;
}

/* Disconnect, and expect that all entries complete and that no entry has more than one event. */
static void expect_all_done(struct __test_metadata *_metadata, struct t_pair *p)
{
	unsigned int count[16], events, i, side;
	struct dat_eqe eqe;
	uint32_t posted;

	t_disconnect(&p->f, &p->ep[1], 0);
	for (side = 0; side < 2; side++) {
		EXPECT_NE(0, t_end(&p->evd[side], count));
		EXPECT_TRUE(all_done(&p->ep[side]))
			TH_LOG("sq %u of %u, rq %u of %u", p->ep[side].st->sq.done,
			       p->ep[side].sq.tail, p->ep[side].st->rq.done,
			       p->ep[side].rq.tail);
		for (events = 0, i = 0; i < 16; i++)
			events += count[i];
		for (; t_event(&p->evd[side], 0, &eqe); events++)
			EXPECT_EQ(DAT_EV_DTO, eqe.type);
		posted = p->ep[side].sq.tail + p->ep[side].rq.tail;
		EXPECT_GE(posted, events);
	}
}

/* Returns flags of the EPs of a round: every other one has immediate data, if the adapter has. */
static uint32_t flags_of(const struct t_pair *p, int round)
{
	return p->f.info.sqe_flags & DAT_SQE_IMM && round % 2 ? DAT_EP_FLAG_IMMEDIATE : 0;
}

static void renew(struct __test_metadata *_metadata, struct t_pair *p, uint32_t flags)
{
	struct dat_eqe eqe;
	int i;

	for (i = 0; i < 2; i++) {
		const struct t_evd *evd = &p->evd[i];
		struct dat_ep_create arg = {
			.pz = p->pz, .recv_evd = evd->id, .request_evd = evd->id,
			.connect_evd = evd->id, .max_recv = T_QUEUE, .max_request = T_QUEUE,
			.max_recv_iov = 4, .max_request_iov = 4, .read_in = 4, .read_out = 4,
			.user_data = 1, .flags = flags,
		};

		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, p->ep[i].id));
		/*
		 * The kernel updates the done count of an entry before it queues the event of the
		 * entry, so the last events may arrive late.  Discard late events.
		 */
		while (t_event(&p->evd[i], 0, &eqe))
			;
		t_unmap(&p->ep[i].submit);
		t_unmap(&p->ep[i].status);
		ASSERT_EQ(0, t_any_ep(&p->f, &arg, &p->ep[i]));
	}
	ASSERT_EQ(0, t_pair_connect(p));
}

TEST_F_TIMEOUT(random, bits_of_good_requests, 400)
{
	struct t_pair *p = &self->p;
	int round, i;
	size_t size;

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < 8; i++) {
			good_rqe(p, &p->ep[0].rq);
			ASSERT_EQ(0, t_push(&p->ep[0].rq));
		}
		for (i = 0; i < 8; i++) {
			void *e;

			good_sqe(p, &p->ep[1].sq, flags_of(p, round));
			e = next_entry(&p->ep[1].sq, &size);
			/*
			 * Change only the header and the first segment, because the driver need not
			 * read the bytes after the segments in use.
			 */
			flip_bits(e, sizeof(struct dat_sqe) + 16, rnd() % 3);
			ASSERT_EQ(0, t_push(&p->ep[1].sq));
		}
		expect_all_done(_metadata, p);
		ASSERT_EQ(0, t_link_works(p, &self->neighbour)) TH_LOG("round %d", round);
		renew(_metadata, p, flags_of(p, round + 1));
	}
}

TEST_F_TIMEOUT(random, bits_of_good_receives, 400)
{
	struct t_pair *p = &self->p;
	int round, i;
	size_t size;

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < 8; i++) {
			void *e;

			good_rqe(p, &p->ep[0].rq);
			e = next_entry(&p->ep[0].rq, &size);
			flip_bits(e, sizeof(struct dat_rqe) + 16, rnd() % 3);
			ASSERT_EQ(0, t_push(&p->ep[0].rq));
		}
		for (i = 0; i < 8; i++) {
			good_sqe(p, &p->ep[1].sq, flags_of(p, round));
			ASSERT_EQ(0, t_push(&p->ep[1].sq));
		}
		expect_all_done(_metadata, p);
		ASSERT_EQ(0, t_link_works(p, &self->neighbour)) TH_LOG("round %d", round);
		renew(_metadata, p, flags_of(p, round + 1));
	}
}

TEST_F_TIMEOUT(random, whole_entries, 400)
{
	struct t_pair *p = &self->p;
	struct t_queue *q;
	int round, i;
	size_t size;

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < 8; i++) {
			q = rnd() % 2 ? &p->ep[1].sq : &p->ep[1].rq;
			fill(next_entry(q, &size), 1UL << q->shift);
			ASSERT_EQ(0, t_push(q));
		}
		expect_all_done(_metadata, p);
		ASSERT_EQ(0, t_link_works(p, &self->neighbour)) TH_LOG("round %d", round);
		renew(_metadata, p, flags_of(p, round + 1));
	}
}

/* A tail that is out of range breaks the connection soon after the kick. */
TEST_F_TIMEOUT(random, tails, 400)
{
	struct t_pair *p = &self->p;
	struct t_queue *q;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		q = rnd() % 2 ? &p->ep[1].sq : &p->ep[1].rq;
		/*
		 * Choose an invalid tail.  Either the tail claims more entries than the ring holds,
		 * or the tail takes back entries that the kernel has taken already.
		 */
		q->tail += q->entries + 1 + rnd() % (0xffffffffU - 2 * q->entries);
		q->tail--;	/* t_push() adds one */
		t_push(q);
		ASSERT_EQ(0, t_kick(&p->f));
		EXPECT_EQ(DAT_EV_BROKEN, t_end(&p->evd[1], self->count)) TH_LOG("%x", q->tail);
		EXPECT_NE(0, t_end(&p->evd[0], self->count));
		ASSERT_EQ(0, t_link_works(p, &self->neighbour)) TH_LOG("round %d", round);
		renew(_metadata, p, flags_of(p, round + 1));
	}
}

TEST_F_TIMEOUT(random, doorbells, 120)
{
	uint32_t *dirty = self->p.f.db.va, words = self->p.f.db.size / sizeof(*dirty);
	int round, i;

	for (round = 0; round < 100; round++) {
		for (i = 0; i < 64; i++)
			dirty[rnd() % words] = rnd();
		ASSERT_EQ(0, t_kick(&self->p.f));
	}
	ASSERT_EQ(0, t_link_works(&self->p, &self->neighbour));
}

/*
 * Whatever head the process writes, the kernel writes events at its own tail, or fails with
 * -ENOSPC.
 */
TEST_F_TIMEOUT(random, event_heads, 240)
{
	struct t_pair *p = &self->p;
	struct dat_evd_post post = { .size = sizeof(post) };
	struct dat_evd_status *status;
	struct dat_evd_head *head;
	struct t_evd evd;
	uint32_t before;
	int i, ret;

	ASSERT_EQ(0, t_evd(&p->f, DAT_STREAM_SOFTWARE, 8, &evd));
	status = evd.status.va;
	head = evd.submit.va;
	post.id = evd.id;
	for (i = 0; i < 2000; i++) {
		before = status->tail;
		__atomic_store_n(&head->head, rnd(), __ATOMIC_RELEASE);
		ret = t_ioctl(p->f.fd, DAT_IOC_EVD_POST, &post);
		ASSERT_TRUE(ret == 0 || ret == -ENOSPC);
		ASSERT_EQ(before + !ret, status->tail);
	}
	/* Once the process writes the correct head, events arrive again. */
	evd.head = status->tail;
	__atomic_store_n(&head->head, evd.head, __ATOMIC_RELEASE);
	EXPECT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_EVD_POST, &post));
	EXPECT_EQ(0, t_evd_wait(&evd, 1, T_WAIT_MS));
}

static volatile int stop;

static void *scribble(void *arg)
{
	struct t_srq *srq = arg;
	size_t size = (size_t)(srq->rq.ring - (char *)srq->submit.va) +
		      ((size_t)srq->rq.entries << srq->rq.shift);
	unsigned int s = seed;

	/*
	 * Overwrite only the memory of the SRQ: the rest of the mapping belongs to other objects.
	 */
	while (!stop) {
		uint32_t *w = (uint32_t *)srq->submit.va + rand_r(&s) % (size / 4);

		__atomic_store_n(w, (uint32_t)rand_r(&s) << 16 ^ rand_r(&s), __ATOMIC_RELAXED);
	}
	return NULL;
}

/*
 * Overwrite the ring of an SRQ while kicks make the kernel read it.  The neighbour connection must
 * still work.
 */
TEST_F_TIMEOUT(random, srq_scribbled_over_while_kicking, 240)
{
	struct t_pair *p = &self->p;
	pthread_t thread;
	struct t_srq srq;
	struct t_ep ep;
	int round, i;

	for (round = 0; round < 10; round++) {
		ASSERT_EQ(0, t_srq(&p->f, p->pz, 16, &srq));
		ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[0], srq.id, 3, &ep));
		stop = 0;
		ASSERT_EQ(0, pthread_create(&thread, NULL, scribble, &srq));
		for (i = 0; i < 300; i++) {
			/* Few random words hit the tail, so write a plausible tail as well. */
			__atomic_store_n(srq.rq.shared_tail, srq.rq.status->head + rnd() % 17,
					 __ATOMIC_RELEASE);
			memset(p->f.db.va, 0xff, 64);
			t_kick(&p->f);
		}
		stop = 1;
		pthread_join(thread, NULL);
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, ep.id));
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_SRQ, srq.id));
		t_unmap(&ep.submit);
		t_unmap(&ep.status);
		t_unmap(&srq.submit);
		t_unmap(&srq.status);
		ASSERT_EQ(0, t_link_works(p, &self->neighbour)) TH_LOG("round %d", round);
	}
}

TEST_HARNESS_MAIN
