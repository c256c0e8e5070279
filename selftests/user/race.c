// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Threads of one process race on one file.  Some of the threads free objects by guessing their ids.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "clock.h"
#include "rdma_count.h"

#define ID_GUESSES	4	/* the kernel assigns ids in sequence */

static volatile int stop;
static volatile uint32_t last_id;

static void *kicker(void *arg)
{
	struct t_file *f = arg;

	while (!stop) {
		t_ring_all(f, 256);
		t_kick(f);
	}
	return NULL;
}

static void *guesser(void *arg)
{
	struct t_file *f = arg;
	uint32_t i;

	while (!stop)
		for (i = 1; i <= ID_GUESSES; i++) {
			t_free(f, DAT_OBJ_EP, last_id + i);
			t_free(f, DAT_OBJ_SRQ, last_id + i);
		}
	return NULL;
}

FIXTURE(race) {
	struct t_pair p;
	int cm_ids;
};

FIXTURE_SETUP(race)
{
	self->cm_ids = rdma_count_settled("cm_id");
	stop = 0;
	ASSERT_EQ(0, t_pair_open(&self->p));
}

FIXTURE_TEARDOWN(race)
{
	int now;

	t_pair_close(&self->p);
	now = rdma_count_falls("cm_id", self->cm_ids);
	EXPECT_LE(0, now);
	/* Connections of an earlier test may have ended meanwhile. */
	EXPECT_GE(self->cm_ids, now);
}

/*
 * Send messages over the pair.  The messages arrive only if the doorbells and kicks of its queues
 * work.
 */
static void expect_traffic(struct __test_metadata *_metadata, struct t_pair *p)
{
	struct dat_eqe eqe;
	int i;

	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, t_recv(&p->ep[0].rq, i, (uintptr_t)p->mem.va, p->mem.lkey, 64));
		ASSERT_EQ(0, t_send(&p->ep[1], i, (uintptr_t)p->mem.va, p->mem.lkey, 64));
		ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
		EXPECT_EQ(DAT_ST_SUCCESS, eqe.status);
		ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
		EXPECT_EQ(DAT_ST_SUCCESS, eqe.status);
	}
}

#define LONG_RING	65536	/* entries; a ring of this length has a mapping of its own */

/* Resize objects by guessed ids.  A resize to a short ring frees the memory of the long ring. */
static void *resizer(void *arg)
{
	struct t_file *f = arg;
	uint32_t i;

	while (!stop)
		for (i = 1; i <= ID_GUESSES; i++) {
			struct dat_evd_resize evd = {
				.size = sizeof(evd), .id = last_id + i, .qlen = 1,
			};
			struct dat_srq_resize srq = {
				.size = sizeof(srq), .id = last_id + i, .max_recv = 1,
			};

			t_ioctl(f->fd, DAT_IOC_EVD_RESIZE, &evd);
			t_ioctl(f->fd, DAT_IOC_SRQ_RESIZE, &srq);
		}
	return NULL;
}

/*
 * resizer() resizes an EVD or SRQ by its guessed id, possibly before EVD_CREATE or SRQ_CREATE has
 * returned.  The creation must report either the memory before the resize or that after it.
 */
TEST_F_TIMEOUT(race, resizing_an_object_that_is_being_made, 120)
{
	struct t_pair *p = &self->p;
	double end = now_s() + 3;
	unsigned int made = 0;
	pthread_t thread;

	ASSERT_EQ(0, t_pair_connect(p));
	last_id = p->psp;
	ASSERT_EQ(0, pthread_create(&thread, NULL, resizer, &p->f));
	while (now_s() < end) {
		struct dat_evd_create evd = {
			.size = sizeof(evd), .streams = DAT_STREAM_SOFTWARE, .qlen = LONG_RING,
		};
		struct dat_srq_create srq = {
			.size = sizeof(srq), .pz = p->pz, .max_recv = 1024, .max_iov = 1,
		};

		if (!t_ioctl(p->f.fd, DAT_IOC_EVD_CREATE, &evd)) {
			last_id = evd.id;
			EXPECT_NE(0, evd.ring.size);
			t_free(&p->f, DAT_OBJ_EVD, evd.id);
			made++;
		}
		if (!t_ioctl(p->f.fd, DAT_IOC_SRQ_CREATE, &srq)) {
			last_id = srq.id;
			EXPECT_NE(0, srq.submit.size);
			t_free(&p->f, DAT_OBJ_SRQ, srq.id);
			made++;
		}
	}
	stop = 1;
	pthread_join(thread, NULL);
	EXPECT_LT(10, made);
	expect_traffic(_metadata, p);
}

/*
 * guesser() frees an EP or SRQ by its guessed id, possibly before EP_CREATE or SRQ_CREATE has
 * returned.
 */
TEST_F_TIMEOUT(race, freeing_an_object_that_is_being_made, 120)
{
	struct t_pair *p = &self->p;
	double end = now_s() + 3;
	pthread_t thread[2];
	unsigned int made = 0, i;

	ASSERT_EQ(0, t_pair_connect(p));
	last_id = p->psp;
	ASSERT_EQ(0, pthread_create(&thread[0], NULL, guesser, &p->f));
	ASSERT_EQ(0, pthread_create(&thread[1], NULL, kicker, &p->f));
	while (now_s() < end) {
		struct dat_ep_create ep = {
			.size = sizeof(ep), .pz = p->pz, .max_recv = 1, .max_request = 1,
		};
		struct dat_srq_create srq = {
			.size = sizeof(srq), .pz = p->pz, .max_recv = 1, .max_iov = 1,
		};

		if (!t_ioctl(p->f.fd, DAT_IOC_EP_CREATE, &ep)) {
			last_id = ep.id;
			t_free(&p->f, DAT_OBJ_EP, ep.id);
			made++;
		}
		if (!t_ioctl(p->f.fd, DAT_IOC_SRQ_CREATE, &srq)) {
			last_id = srq.id;
			t_free(&p->f, DAT_OBJ_SRQ, srq.id);
			made++;
		}
	}
	stop = 1;
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	EXPECT_LT(10, made);
	/* The doorbell bits of the pair's EPs still work. */
	expect_traffic(_metadata, p);
}

struct cr_job {
	struct t_file		*f;
	struct t_ep		*ep;
	volatile uint32_t	cr;
	int			taken;
	pthread_barrier_t	start;
	pthread_barrier_t	done;
};

/*
 * Thread that accepts with a connected EP until the accept fails with an error other than -EISCONN.
 */
static void *failing_acceptor(void *arg)
{
	struct cr_job *job = arg;

	for (;;) {
		pthread_barrier_wait(&job->start);
		if (!job->cr)
			return NULL;
		while (t_accept(job->f, job->cr, job->ep, NULL, 0) == -EISCONN)
			;
		pthread_barrier_wait(&job->done);
	}
}

/*
 * A failing accept claims the request and puts it back.  The accept must not put back a request
 * that the test has freed meanwhile.
 */
TEST_F_TIMEOUT(race, freeing_a_request_that_is_being_accepted, 300)
{
	struct t_pair *p = &self->p;
	struct cr_job job = { .f = &p->f, .ep = &p->ep[0] };
	struct dat_eqe eqe;
	pthread_t thread;
	int i;

	ASSERT_EQ(0, t_pair_connect(p));
	pthread_barrier_init(&job.start, NULL, 2);
	pthread_barrier_init(&job.done, NULL, 2);
	ASSERT_EQ(0, pthread_create(&thread, NULL, failing_acceptor, &job));
	for (i = 0; i < 100; i++) {
		struct t_ep out;

		ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[1], 0, 7, &out));
		ASSERT_EQ(0, t_connect(&p->f, &out, T_QUAL, NULL, 0));
		ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
		job.cr = eqe.len;
		pthread_barrier_wait(&job.start);
		usleep(rand() % 300);
		EXPECT_EQ(0, t_free(&p->f, DAT_OBJ_CR, job.cr)) TH_LOG("round %d", i);
		pthread_barrier_wait(&job.done);
		/* The freed request has no owner, so the kernel must notify the peer. */
		ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe)) TH_LOG("round %d", i);
		EXPECT_EQ(DAT_EV_NON_PEER_REJECTED, eqe.type);
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, out.id));
		t_unmap(&out.submit);
		t_unmap(&out.status);
	}
	job.cr = 0;
	pthread_barrier_wait(&job.start);
	pthread_join(thread, NULL);
}

struct withdrawal {
	struct t_file	*f;
	uint32_t	ep;
};

static void *withdraw(void *arg)
{
	struct withdrawal *w = arg;

	t_free(w->f, DAT_OBJ_EP, w->ep);
	return NULL;
}

/*
 * The accept races with the withdrawal of the request.  The CM of the peer, the local CM and the
 * listener see the withdrawal one after the other.
 */
TEST_F_TIMEOUT(race, accepting_a_request_that_is_being_withdrawn, 300)
{
	struct t_pair *p = &self->p;
	double end = now_s() + 6;
	unsigned int established = 0, failed = 0;
	struct dat_eqe eqe;

	while (now_s() < end) {
		unsigned int count[16];
		struct withdrawal w = { .f = &p->f };
		pthread_t thread;
		struct t_ep out;

		ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[1], 0, 7, &out));
		ASSERT_EQ(0, t_connect(&p->f, &out, T_QUAL, NULL, 0));
		ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
		w.ep = out.id;
		ASSERT_EQ(0, pthread_create(&thread, NULL, withdraw, &w));
		usleep(rand() % 5000);
		ASSERT_EQ(0, t_accept(&p->f, eqe.len, &p->ep[0], NULL, 0));
		pthread_join(thread, NULL);
		ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
		if (eqe.type == DAT_EV_ESTABLISHED) {
			established++;
			ASSERT_NE(0, t_end(&p->evd[0], count));
		} else {
			failed++;
			ASSERT_EQ(DAT_EV_ACCEPT_ERROR, eqe.type);
		}
		ASSERT_EQ(0, t_reset(&p->f, &p->ep[0]));
		t_unmap(&out.submit);
		t_unmap(&out.status);
	}
	TH_LOG("%u established, %u failed", established, failed);
}

/*
 * Thread that posts to an EP in state DISCONNECTED until the close.  Each post causes a flush event
 * at once.
 */
static void *poster(void *arg)
{
	struct t_pair *p = arg;
	uint32_t *tail = p->ep[0].rq.shared_tail;

	while (!stop) {
		__atomic_store_n(tail, p->ep[0].rq.status->head + 8, __ATOMIC_RELEASE);
		((struct dat_evd_head *)p->evd[0].submit.va)->head =
			((struct dat_evd_status *)p->evd[0].status.va)->tail;
		t_ring_all(&p->f, 256);
		if (t_kick(&p->f) == -ENODEV)
			break;
	}
	return NULL;
}

TEST_F_TIMEOUT(race, closing_while_posting, 300)
{
	struct dat_ia_close close_arg = { .size = sizeof(close_arg) };
	unsigned int count[16], i;
	double end = now_s() + 6;
	pthread_t thread[2];
	struct t_pair p;

	/* The new pair needs the qualifier T_QUAL, so free the listener of the fixture. */
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_PSP, self->p.psp));
	while (now_s() < end) {
		ASSERT_EQ(0, t_pair_open(&p));
		ASSERT_EQ(0, t_pair_connect(&p));
		ASSERT_EQ(0, t_disconnect(&p.f, &p.ep[0], 0));
		ASSERT_EQ(DAT_EV_DISCONNECTED, t_end(&p.evd[0], count));
		stop = 0;
		for (i = 0; i < 2; i++)
			ASSERT_EQ(0, pthread_create(&thread[i], NULL, poster, &p));
		usleep(rand() % 2000);
		ASSERT_EQ(0, t_ioctl(p.f.fd, DAT_IOC_IA_CLOSE, &close_arg));
		stop = 1;
		for (i = 0; i < 2; i++)
			pthread_join(thread[i], NULL);
		t_pair_close(&p);
		munmap(p.mem.va, p.mem.size);
	}
}

struct opener {
	int		fd;
	int		ret;
	uint8_t		name[DAT_NAME_SIZE];
};

static void *open_ia(void *arg)
{
	struct opener *o = arg;
	struct dat_ia_open open_arg = { .size = sizeof(open_arg) };

	memcpy(open_arg.name, o->name, sizeof(o->name));
	o->ret = t_ioctl(o->fd, DAT_IOC_IA_OPEN, &open_arg);
	return NULL;
}

TEST_F_TIMEOUT(race, opening_one_file_twice_at_once, 120)
{
	struct opener o[2] = { 0 };
	pthread_t thread;
	int i;

	memcpy(o[0].name, self->p.f.info.device, sizeof(self->p.f.info.device));
	o[1] = o[0];
	for (i = 0; i < 200; i++) {
		o[0].fd = open("/dev/dat", O_RDWR);
		o[1].fd = o[0].fd;
		ASSERT_LE(0, o[0].fd);
		ASSERT_EQ(0, pthread_create(&thread, NULL, open_ia, &o[1]));
		open_ia(&o[0]);
		pthread_join(thread, NULL);
		/*
		 * Exactly one IA_OPEN succeeds; the other fails with -EBUSY without side effects.
		 */
		EXPECT_EQ(-EBUSY, o[0].ret + o[1].ret);
		close(o[0].fd);
	}
}

TEST_HARNESS_MAIN
