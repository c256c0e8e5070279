// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Eight threads call functions of the same objects.  No event may be lost or delivered twice. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>

#include "kselftest_harness.h"
#include "dat_api.h"

#define THREADS		8
#define PER_THREAD	200

FIXTURE(threads) {
	struct a_pair p;
};

FIXTURE_SETUP(threads)
{
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, a_open(p));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, p->ep[1], p->ep[0], p->evd[1], p->evd[0]));
}

FIXTURE_TEARDOWN(threads)
{
	a_close(&self->p);
}

struct job {
	struct a_pair	*p;
	int		number;
	int		failed;
	unsigned char	*seen;
	DAT_SRQ_HANDLE	srq;
	pthread_t	thread;
};

/* Record the completion in @event.  Return 0 if it succeeded, else -1. */
static int note(struct job *j, DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	if (event->event_number != DAT_DTO_COMPLETION_EVENT || dto->status != DAT_DTO_SUCCESS)
		return -1;
	__atomic_fetch_add(&j->seen[dto->user_cookie.as_64], 1, __ATOMIC_RELAXED);
	return 0;
}

/* Number of completions that all threads together have dequeued. */
static int reaped;

/* Post this thread's share of the writes, and dequeue completions of all threads. */
static void *post_and_reap(void *arg)
{
	struct job *j = arg;
	DAT_LMR_TRIPLET seg = a_seg(&j->p->mem, j->number * 64, 64);
	DAT_RMR_TRIPLET remote = a_rseg(&j->p->mem, 65536 + j->number * 64, 64);
	int posted = 0;
	DAT_EVENT event;
	DAT_RETURN rc;

	while (!j->failed && __atomic_load_n(&reaped, __ATOMIC_RELAXED) < THREADS * PER_THREAD) {
		if (posted < PER_THREAD) {
			rc = dat_ep_post_rdma_write(j->p->ep[1], 1, &seg,
						    a_cookie(j->number * PER_THREAD + posted),
						    &remote, 0);
			if (rc == DAT_SUCCESS)
				posted++;
			else if (TYPE(rc) != DAT_INSUFFICIENT_RESOURCES)
				j->failed = 1;
		}
		rc = dat_evd_dequeue(j->p->evd[1], &event);
		if (TYPE(rc) == DAT_QUEUE_EMPTY)
			continue;
		if (rc != DAT_SUCCESS || note(j, &event))
			j->failed = 1;
		__atomic_fetch_add(&reaped, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Covers: SH 68 */
TEST_F_TIMEOUT(threads, post_and_reap_on_one_ep_and_one_evd, 240)
{
	static unsigned char seen[THREADS * PER_THREAD];
	struct job job[THREADS];
	int i;

	for (i = 0; i < THREADS; i++) {
		job[i] = (struct job) { .p = &self->p, .number = i, .seen = seen };
		ASSERT_EQ(0, pthread_create(&job[i].thread, NULL, post_and_reap, &job[i]));
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(job[i].thread, NULL);
		EXPECT_EQ(0, job[i].failed);
	}
	for (i = 0; i < THREADS * PER_THREAD; i++) {
		ASSERT_EQ(1, seen[i]) TH_LOG("completion %d", i);
	}
}

static void *post_receives(void *arg)
{
	struct job *j = arg;
	DAT_LMR_TRIPLET seg = a_seg(&j->p->mem, 0, 64);
	DAT_RETURN rc;
	int i = 0;

	while (i < PER_THREAD && !j->failed) {
		rc = dat_srq_post_recv(j->srq, 1, &seg, a_cookie(j->number * PER_THREAD + i));
		if (rc == DAT_SUCCESS)
			i++;
		else if (TYPE(rc) != DAT_INSUFFICIENT_RESOURCES)
			j->failed = 1;
	}
	return NULL;
}

static void *reap_receives(void *arg)
{
	struct job *j = arg;
	DAT_EVENT event;
	DAT_RETURN rc;
	int i = 0;

	while (i < PER_THREAD * THREADS / 2 && !j->failed) {
		rc = dat_evd_dequeue(j->p->evd[0], &event);
		if (TYPE(rc) == DAT_QUEUE_EMPTY)
			continue;
		if (rc != DAT_SUCCESS || note(j, &event))
			j->failed = 1;
		i++;
	}
	return NULL;
}

/* Send @n messages.  Retry while the request queue is full. */
static int send_all(struct a_pair *p, DAT_EP_HANDLE ep, int n)
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 4096, 64);
	DAT_RETURN rc;

	while (n) {
		rc = dat_ep_post_send(ep, 1, &seg, a_cookie(0), DAT_COMPLETION_SUPPRESS_FLAG);
		if (rc == DAT_SUCCESS)
			n--;
		else if (TYPE(rc) != DAT_INSUFFICIENT_RESOURCES)
			return -1;
	}
	return 0;
}

/* Four threads post to one SRQ while a fifth thread dequeues the completions. */
/* Covers: SH 68 */
TEST_F_TIMEOUT(threads, post_to_one_srq, 240)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 32, .max_recv_iov = 1 };
	static unsigned char seen[THREADS / 2 * PER_THREAD];
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EP_HANDLE in, out;
	struct job job[THREADS];
	DAT_SRQ_HANDLE srq;
	int i;

	ASSERT_EQ(DAT_SUCCESS, dat_srq_create(p->ia, p->pz, &srq_attr, &srq));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[1], p->evd[1], p->evd[1], &attr,
					     &out));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create_with_srq(p->ia, p->pz, p->evd[0], p->evd[0],
						      p->evd[0], srq, &attr, &in));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, out, in, p->evd[1], p->evd[0]));
	for (i = 0; i <= THREADS / 2; i++) {
		job[i] = (struct job) { .p = p, .number = i, .seen = seen, .srq = srq };
		ASSERT_EQ(0, pthread_create(&job[i].thread, NULL,
					    i < THREADS / 2 ? post_receives : reap_receives,
					    &job[i]));
	}
	EXPECT_EQ(0, send_all(p, out, THREADS / 2 * PER_THREAD));
	for (i = 0; i <= THREADS / 2; i++) {
		pthread_join(job[i].thread, NULL);
		EXPECT_EQ(0, job[i].failed);
	}
	for (i = 0; i < THREADS / 2 * PER_THREAD; i++) {
		ASSERT_EQ(1, seen[i]) TH_LOG("receive %d", i);
	}
}

static void *wait_forever(void *arg)
{
	struct job *j = arg;
	DAT_EVENT event;
	DAT_COUNT nmore;

	j->failed = (int)TYPE(dat_evd_wait(j->p->evd[0], DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	return NULL;
}

/*
 * Covers: dat_evd_wait ABORT; dat_evd_dequeue INVALID_STATE|EVD_WAITER; dat_evd_free
 * INVALID_STATE|EVD_IN_USE; dat_ia_close; SH 24, 28, 65
 */
TEST_F_TIMEOUT(threads, closing_sends_a_waiter_home, 60)
{
	struct job job = { .p = &self->p };
	DAT_EVENT event;

	ASSERT_EQ(0, pthread_create(&job.thread, NULL, wait_forever, &job));
	usleep(300000);
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER),
		  dat_evd_dequeue(self->p.evd[0], &event));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE),
		  dat_evd_free(self->p.evd[0]));
	ASSERT_EQ(DAT_SUCCESS, dat_ia_close(self->p.ia, DAT_CLOSE_ABRUPT_FLAG));
	pthread_join(job.thread, NULL);
	EXPECT_EQ(DAT_ABORT, job.failed);
}

static void *open_and_close(void *arg)
{
	struct job *j = arg;
	struct a_pair p;
	int i;

	for (i = 0; i < 10; i++) {
		memset(&p, 0, sizeof(p));
		if (a_ia(&p.ia, &p.async) != DAT_SUCCESS ||
		    dat_pz_create(p.ia, &p.pz) != DAT_SUCCESS ||
		    a_mem(&p, 65536, DAT_MEM_PRIV_ALL_FLAG, &p.mem) != DAT_SUCCESS)
			j->failed = 1;
		a_close(&p);
	}
	return NULL;
}

/* Covers: dat_ia_openv; dat_ia_open; SH 65, 68 */
TEST_F_TIMEOUT(threads, adapters_come_and_go_side_by_side, 240)
{
	struct job job[THREADS];
	int i;

	for (i = 0; i < THREADS; i++) {
		job[i] = (struct job) { .number = i };
		ASSERT_EQ(0, pthread_create(&job[i].thread, NULL, open_and_close, &job[i]));
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(job[i].thread, NULL);
		EXPECT_EQ(0, job[i].failed);
	}
}

TEST_HARNESS_MAIN
