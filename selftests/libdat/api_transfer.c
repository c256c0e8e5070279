// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Data integrity through libdat: sends, receives, RDMA writes and RDMA reads. */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "clock.h"
#include "sleeps.h"

#define HALF	(p->mem.size / 2)	/* of the memory of @p */

FIXTURE(transfer) {
	struct a_pair p;
};

FIXTURE_SETUP(transfer)
{
	struct a_pair *p = &self->p;
	size_t i;

	ASSERT_EQ(DAT_SUCCESS, a_open(p));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, p->ep[1], p->ep[0], p->evd[1], p->evd[0]));
	for (i = 0; i < HALF; i++)
		p->mem.va[i] = (char)(i * 7 + i / 251);
}

FIXTURE_TEARDOWN(transfer)
{
	a_close(&self->p);
}

static const size_t sizes[] = { 0, 1, 3, 64, 4095, 4096, 4097, 65536, 1000003, 1 << 20 };
#define NSIZES (sizeof(sizes) / sizeof(sizes[0]))
/* Bytes around a message in half of the memory, which is short if an adapter registers little. */
#define MARGIN	200

/* Covers: dat_ep_post_send; dat_ep_post_recv; SH 35, 36, 44 */
TEST_F_TIMEOUT(transfer, send_of_every_size, 120)
{
	struct a_pair *p = &self->p;
	uint64_t cookie, len;
	size_t i;

	for (i = 0; i < NSIZES && sizes[i] + MARGIN < HALF; i++) {
		DAT_LMR_TRIPLET from = a_seg(&p->mem, 5, sizes[i]);
		DAT_LMR_TRIPLET to = a_seg(&p->mem, HALF + 3, HALF - 3);

		memset(p->mem.va + HALF, 0xee, HALF);
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &to, a_cookie(i), 0));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &from, a_cookie(50 + i), 0));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], &cookie, &len));
		EXPECT_EQ(i, cookie);
		EXPECT_EQ(sizes[i], len);
		EXPECT_EQ(0, memcmp(p->mem.va + 5, p->mem.va + HALF + 3, sizes[i]));
		/* The bytes before and after the message must be unchanged. */
		EXPECT_EQ((char)0xee, p->mem.va[HALF + 2]);
		EXPECT_EQ((char)0xee, p->mem.va[HALF + 3 + sizes[i]]);
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], &cookie, &len));
		EXPECT_EQ(50 + i, cookie);
		EXPECT_EQ(sizes[i], len);
	}
}

/* Covers: dat_ep_post_rdma_write; SH 35 */
TEST_F_TIMEOUT(transfer, rdma_write_of_every_size, 120)
{
	struct a_pair *p = &self->p;
	size_t i;

	for (i = 0; i < NSIZES && sizes[i] + MARGIN < HALF; i++) {
		DAT_LMR_TRIPLET from = a_seg(&p->mem, 9, sizes[i]);
		DAT_RMR_TRIPLET to = a_rseg(&p->mem, HALF + 1, sizes[i]);

		memset(p->mem.va + HALF, 0xee, HALF);
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_write(p->ep[1], 1, &from, a_cookie(i),
							      &to, 0));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
		EXPECT_EQ(0, memcmp(p->mem.va + 9, p->mem.va + HALF + 1, sizes[i]));
		EXPECT_EQ((char)0xee, p->mem.va[HALF]);
		EXPECT_EQ((char)0xee, p->mem.va[HALF + 1 + sizes[i]]);
	}
}

/* Covers: dat_ep_post_rdma_read; SH 35, 36 */
TEST_F_TIMEOUT(transfer, rdma_read_of_every_size, 120)
{
	struct a_pair *p = &self->p;
	uint64_t len;
	size_t i;

	for (i = 0; i < NSIZES && sizes[i] + MARGIN < HALF; i++) {
		/* The local segment may be longer than the remote segment. */
		DAT_LMR_TRIPLET to = a_seg(&p->mem, HALF + 1, sizes[i] + 100);
		DAT_RMR_TRIPLET from = a_rseg(&p->mem, 9, sizes[i]);

		memset(p->mem.va + HALF, 0xee, HALF);
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_read(p->ep[1], 1, &to, a_cookie(i),
							     &from, 0));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, &len));
		EXPECT_EQ(sizes[i], len);
		EXPECT_EQ(0, memcmp(p->mem.va + 9, p->mem.va + HALF + 1, sizes[i]));
		EXPECT_EQ((char)0xee, p->mem.va[HALF + 1 + sizes[i]]);
	}
}

/* Covers: dat_ep_post_send; dat_ep_post_recv; SH 35 */
TEST_F_TIMEOUT(transfer, scatter_and_gather, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET from[4], to[4];
	char *want = p->mem.va + HALF - 16384;
	uint64_t len;

	/* Use segments of different lengths.  One segment is empty and has an invalid address. */
	from[0] = a_seg(&p->mem, 100, 10);
	from[1] = (DAT_LMR_TRIPLET) { .lmr_context = 0xdead, .virtual_address = 42 };
	from[2] = a_seg(&p->mem, 5000, 4000);
	from[3] = a_seg(&p->mem, 300, 90);
	to[0] = a_seg(&p->mem, HALF, 2000);
	to[1] = a_seg(&p->mem, HALF + 10000, 1);
	to[2] = a_seg(&p->mem, HALF + 20000, 2000);
	to[3] = a_seg(&p->mem, HALF + 30000, 5000);
	memcpy(want, p->mem.va + 100, 10);
	memcpy(want + 10, p->mem.va + 5000, 4000);
	memcpy(want + 4010, p->mem.va + 300, 90);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 4, to, a_cookie(1), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 4, from, a_cookie(2), 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, &len));
	EXPECT_EQ(4100, len);
	EXPECT_EQ(0, memcmp(want, p->mem.va + HALF, 2000));
	EXPECT_EQ(want[2000], p->mem.va[HALF + 10000]);
	EXPECT_EQ(0, memcmp(want + 2001, p->mem.va + HALF + 20000, 2000));
	EXPECT_EQ(0, memcmp(want + 4001, p->mem.va + HALF + 30000, 99));
}

/* Covers: dat_ep_post_send; dat_ep_post_recv; SH 35 */
TEST_F_TIMEOUT(transfer, messages_without_segments, 60)
{
	struct a_pair *p = &self->p;
	uint64_t len = 1;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 0, NULL, a_cookie(1), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 0, NULL, a_cookie(2), 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, &len));
	EXPECT_EQ(0, len);
}

/* Covers: SH 5, 44 */
TEST_F_TIMEOUT(transfer, requests_complete_in_order, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 8192);
	DAT_RMR_TRIPLET remote = a_rseg(&p->mem, HALF, 8192);
	uint64_t cookie;
	DAT_RETURN rc;
	int i;

	for (i = 0; i < 30; i++) {
		rc = i % 3 ? dat_ep_post_rdma_read(p->ep[1], 1, &seg, a_cookie(i), &remote, 0) :
			     dat_ep_post_rdma_write(p->ep[1], 1, &seg, a_cookie(i), &remote, 0);
		ASSERT_EQ(DAT_SUCCESS, rc);
	}
	for (i = 0; i < 30; i++) {
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], &cookie, NULL));
		EXPECT_EQ(i, cookie);
	}
}

/* Covers: dat_ep_post_recv INSUFFICIENT_RESOURCES|TEP; SH 45 */
TEST_F_TIMEOUT(transfer, a_full_queue_says_so_and_takes_more_later, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	int i;

	for (i = 0; i < 32; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &seg, a_cookie(i), 0));
	EXPECT_EQ(RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP),
		  dat_ep_post_recv(p->ep[0], 1, &seg, a_cookie(i), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &seg, a_cookie(0), 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
	EXPECT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &seg, a_cookie(i), 0));
}

/* Covers: SH 53 */
TEST_F_TIMEOUT(transfer, a_late_receive_only_delays, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &seg, a_cookie(0), 0));
	EXPECT_EQ(0, a_event(p->evd[1], A_QUIET_US, &event));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &seg, a_cookie(1), 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
}

/*
 * struct waiter - a thread that waits for an event for LONG_US
 * @evd: EVD
 * @tid: the thread
 * @event: event
 * @rc: result of the wait
 * @us: duration of the wait in microseconds
 */
struct waiter {
	DAT_EVD_HANDLE	evd;
	pid_t		tid;
	DAT_EVENT	event;
	DAT_RETURN	rc;
	int64_t		us;
};

/* The waiter sleeps, and the event comes, long before this time is over. */
#define LONG_US	3000000

static void *wait_until_the_time_is_over(void *arg)
{
	struct waiter *w = arg;
	int64_t start = now_us();
	DAT_COUNT nmore;

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	w->rc = dat_evd_wait(w->evd, LONG_US, 1, &w->event, &nmore);
	w->us = now_us() - start;
	return NULL;
}

/* Write without a notification, and wait until the write has completed. */
static DAT_RETURN write_unsignalled(struct a_pair *p, DAT_EP_HANDLE ep, uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_RMR_TRIPLET remote = a_rseg(&p->mem, HALF, 64);
	DAT_BOOLEAN idle = DAT_FALSE;
	DAT_RETURN rc;

	rc = dat_ep_post_rdma_write(ep, 1, &seg, a_cookie(cookie), &remote,
				    DAT_COMPLETION_UNSIGNALLED_FLAG);
	while (rc == DAT_SUCCESS && !idle)
		rc = dat_ep_get_status(ep, NULL, NULL, &idle);
	return rc;
}

/* Covers: dat_ep_get_status; dat_evd_wait; SH 17, 71 */
TEST_F_TIMEOUT(transfer, unsignalled_events_wake_nobody_but_are_there, 60)
{
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr = a_attr(p);
	struct waiter w = {};
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep[2];
	DAT_EVENT event;
	DAT_COUNT nmore;
	pthread_t thread;
	long sleeps;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[0], p->evd[0], p->evd[0], &attr,
					     &ep[0]));
	/*
	 * An EVD for UNSIGNALLED requests cannot take connection events, so @evd takes DTO events
	 * only.
	 */
	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	ASSERT_EQ(DAT_SUCCESS, dat_evd_create(p->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, evd, evd, p->evd[1], &attr, &ep[1]));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, ep[1], ep[0], p->evd[1], p->evd[0]));
	ASSERT_EQ(DAT_SUCCESS, write_unsignalled(p, ep[1], 7));
	EXPECT_EQ(DAT_SUCCESS, dat_evd_wait(evd, 0, 1, &event, &nmore));
	EXPECT_EQ(7, event.event_data.dto_completion_event_data.user_cookie.as_64);
	/* A thread that waits finds the event only when its time is over. */
	w.evd = evd;
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_until_the_time_is_over, &w));
	sleeps = sleeps_of(&w.tid, A_WAIT_US / 1000);
	ASSERT_LE(0, sleeps);
	ASSERT_EQ(DAT_SUCCESS, write_unsignalled(p, ep[1], 8));
	EXPECT_EQ(sleeps, sleeps_of(&w.tid, A_WAIT_US / 1000));
	pthread_join(thread, NULL);
	EXPECT_EQ(DAT_SUCCESS, w.rc);
	EXPECT_EQ(8, w.event.event_data.dto_completion_event_data.user_cookie.as_64);
	EXPECT_LE(LONG_US, w.us);
}

/* Covers: SH 16, 45 */
TEST_F_TIMEOUT(transfer, suppressed_requests_free_their_slots, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_RMR_TRIPLET remote = a_rseg(&p->mem, HALF, 64);
	DAT_EVENT event;
	DAT_RETURN rc;
	int i;

	for (i = 0; i < 500; i++) {
		do {
			rc = dat_ep_post_rdma_write(p->ep[1], 1, &seg, a_cookie(i), &remote,
						    DAT_COMPLETION_SUPPRESS_FLAG);
		} while (TYPE(rc) == DAT_INSUFFICIENT_RESOURCES);
		ASSERT_EQ(DAT_SUCCESS, rc);
	}
	EXPECT_EQ(DAT_QUEUE_EMPTY, dat_evd_dequeue(p->evd[1], &event));
}

/* Covers: SH 36, 63 */
TEST_F_TIMEOUT(transfer, a_message_longer_than_its_receive_breaks_the_connection, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET from = a_seg(&p->mem, 0, 4097), to = a_seg(&p->mem, HALF, 4096);
	DAT_EVENT event;
	int i;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &to, a_cookie(1), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &from, a_cookie(2), 0));
	EXPECT_EQ(DAT_DTO_ERR_LOCAL_LENGTH, a_dto(p->evd[0], NULL, NULL));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_RESPONDER, a_dto(p->evd[1], NULL, NULL));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(1, a_event(p->evd[i], A_WAIT_US, &event));
		EXPECT_EQ(DAT_CONNECTION_EVENT_BROKEN, event.event_number);
	}
}

/*
 * Expect that RDMA with the bad segment @remote fails and breaks the connection.  The rmr_context
 * of @remote is unknown, was freed, lacks the privilege, or does not cover the segment.
 */
/* Covers: SH 63 */
static void expect_remote_access(struct __test_metadata *_metadata, struct a_pair *p, int write,
				 DAT_RMR_TRIPLET remote)
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_EVENT event;
	DAT_RETURN rc;

	rc = write ? dat_ep_post_rdma_write(p->ep[1], 1, &seg, a_cookie(3), &remote, 0) :
		     dat_ep_post_rdma_read(p->ep[1], 1, &seg, a_cookie(3), &remote, 0);
	ASSERT_EQ(DAT_SUCCESS, rc);
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS, a_dto(p->evd[1], NULL, NULL));
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_BROKEN, event.event_number);
}

TEST_F_TIMEOUT(transfer, reading_with_a_context_of_nobody, 60)
{
	struct a_pair *p = &self->p;
	DAT_RMR_TRIPLET remote = a_rseg(&p->mem, HALF, 64);

	remote.rmr_context ^= 0xff00;
	expect_remote_access(_metadata, p, 0, remote);
}

TEST_F_TIMEOUT(transfer, writing_with_a_context_of_nobody, 60)
{
	struct a_pair *p = &self->p;
	DAT_RMR_TRIPLET remote = a_rseg(&p->mem, HALF, 64);

	remote.rmr_context ^= 0xff00;
	expect_remote_access(_metadata, p, 1, remote);
}

TEST_F_TIMEOUT(transfer, writing_a_byte_too_far, 60)
{
	struct a_mem *m = &self->p.mem;

	expect_remote_access(_metadata, &self->p, 1, a_rseg(m, m->size - 63, 64));
}

/* Covers: SH 39 */
TEST_F_TIMEOUT(transfer, writing_to_memory_that_may_only_be_read, 60)
{
	struct a_mem m;

	ASSERT_EQ(DAT_SUCCESS, a_mem(&self->p, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG |
				     DAT_MEM_PRIV_REMOTE_READ_FLAG, &m));
	expect_remote_access(_metadata, &self->p, 1, a_rseg(&m, 0, 64));
}

/* Covers: dat_lmr_free; SH 38, 40 */
TEST_F_TIMEOUT(transfer, reading_memory_that_was_freed, 60)
{
	struct a_mem m;

	ASSERT_EQ(DAT_SUCCESS, a_mem(&self->p, 4096, DAT_MEM_PRIV_ALL_FLAG, &m));
	ASSERT_EQ(DAT_SUCCESS, dat_lmr_free(m.lmr));
	expect_remote_access(_metadata, &self->p, 0, a_rseg(&m, 0, 64));
}

/* Use as many segments as the IA supports. */
TEST_F_TIMEOUT(transfer, every_segment_of_the_largest_list, 60)
{
	struct a_pair *p = &self->p;
	DAT_COUNT n = p->attr.max_iov_segments_per_dto, i;
	DAT_LMR_TRIPLET from[64], to[64];
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EP_HANDLE ep[2];
	uint64_t len;
	int side;

	ASSERT_LE(2, n);
	ASSERT_GE(64, n);
	attr.max_recv_iov = n;
	attr.max_request_iov = n;
	for (side = 0; side < 2; side++)
		ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[side], p->evd[side],
						     p->evd[side], &attr, &ep[side]));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, ep[1], ep[0], p->evd[1], p->evd[0]));
	/*
	 * The segments have an odd length.  The sender uses them in descending order of addresses,
	 * the receiver in ascending order.
	 */
	for (i = 0; i < n; i++) {
		from[i] = a_seg(&p->mem, (n - i) * 1000, 301);
		to[i] = a_seg(&p->mem, HALF + i * 1000, 301);
	}
	memset(p->mem.va + HALF, 0xee, HALF);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(ep[0], n, to, a_cookie(1), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(ep[1], n, from, a_cookie(2), 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, &len));
	EXPECT_EQ(n * 301, len);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(0, memcmp(p->mem.va + (n - i) * 1000, p->mem.va + HALF + i * 1000, 301));
		EXPECT_EQ((char)0xee, p->mem.va[HALF + i * 1000 + 301]);
	}
}

/*
 * An RDMA read is posted before the fenced send.  The send must carry the byte that this RDMA read
 * has fetched.
 */
/* Covers: SH 19 */
TEST_F_TIMEOUT(transfer, a_fence_waits_for_reads, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET sink = a_seg(&p->mem, HALF, 65536);
	DAT_LMR_TRIPLET out = a_seg(&p->mem, HALF + 65535, 1);
	DAT_LMR_TRIPLET in = a_seg(&p->mem, HALF + 131072, 1);
	DAT_RMR_TRIPLET source = a_rseg(&p->mem, 0, 65536);
	int i;

	for (i = 0; i < 20; i++) {
		p->mem.va[65535] = (char)(i + 1);
		p->mem.va[HALF + 65535] = 0;
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &in, a_cookie(i), 0));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_rdma_read(p->ep[1], 1, &sink, a_cookie(i),
							     &source, 0));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &out, a_cookie(i),
							DAT_COMPLETION_BARRIER_FENCE_FLAG));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
		EXPECT_EQ((char)(i + 1), p->mem.va[HALF + 131072]);
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	}
}

/* Covers: SH 18 */
TEST_F_TIMEOUT(transfer, a_solicited_message_arrives_like_any_other, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64), to = a_seg(&p->mem, HALF, 64);

	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &to, a_cookie(1), 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &seg, a_cookie(2),
						DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	EXPECT_EQ(0, memcmp(p->mem.va, p->mem.va + HALF, 64));
}

/*
 * A ping-pong with an IA poller.  The test sleeps now and then, so that the poller parks and wakes.
 */
TEST_F_TIMEOUT(transfer, the_poller_changes_nothing_but_who_looks, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	uint64_t cookie, len;
	int i;

	ASSERT_EQ(DAT_SUCCESS, dat_linux_ia_poller(p->ia, 1000, -1));
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &seg, a_cookie(i), 0));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &seg, a_cookie(i), 0));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], &cookie, &len));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], &cookie, &len));
		ASSERT_EQ((uint64_t)i, cookie);
		if (i % 25 == 0)
			usleep(20000);
	}
	EXPECT_EQ(DAT_SUCCESS, dat_linux_ia_poller(p->ia, 0, -1));
}

/* Return the thread id of the poller, or 0 if there is none. */
static pid_t poller_tid(void)
{
	DIR *dir = opendir("/proc/self/task");
	char path[300], name[32];
	struct dirent *d;
	pid_t tid = 0;
	FILE *f;

	while ((d = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", d->d_name);
		f = fopen(path, "r");
		if (f && fgets(name, sizeof(name), f) && !strcmp(name, "dat-poll\n"))
			tid = atoi(d->d_name);
		if (f)
			fclose(f);
	}
	closedir(dir);
	return tid;
}

/* Wait until the poller is no longer listed, which may be a moment after it was joined. */
static int poller_goes(void)
{
	int ms;

	for (ms = 0; ms < 10000 && poller_tid(); ms++)
		usleep(1000);
	return !poller_tid();
}

TEST_F(transfer, the_poller_is_a_thread_that_runs_where_it_was_told_to)
{
	struct a_pair *p = &self->p;
	cpu_set_t all, set;
	int cpu;

	ASSERT_EQ(0, sched_getaffinity(0, sizeof(all), &all));
	for (cpu = CPU_SETSIZE - 1; !CPU_ISSET(cpu, &all); cpu--)
		;
	EXPECT_EQ(0, poller_tid());
	ASSERT_EQ(DAT_SUCCESS, dat_linux_ia_poller(p->ia, 1000, cpu));
	ASSERT_NE(0, poller_tid());
	ASSERT_EQ(0, sched_getaffinity(poller_tid(), sizeof(set), &set));
	EXPECT_EQ(1, CPU_COUNT(&set));
	EXPECT_TRUE(CPU_ISSET(cpu, &set));
	/* A second call changes the settings of the running poller. */
	ASSERT_EQ(DAT_SUCCESS, dat_linux_ia_poller(p->ia, 2000, -1));
	ASSERT_EQ(0, sched_getaffinity(poller_tid(), sizeof(set), &set));
	EXPECT_TRUE(CPU_EQUAL(&all, &set));
	ASSERT_EQ(DAT_SUCCESS, dat_linux_ia_poller(p->ia, 0, -1));
	EXPECT_TRUE(poller_goes());
	/* Closing the IA ends the poller as well. */
	ASSERT_EQ(DAT_SUCCESS, dat_linux_ia_poller(p->ia, 1000, -1));
	EXPECT_NE(0, poller_tid());
	ASSERT_EQ(DAT_SUCCESS, dat_ia_close(p->ia, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_TRUE(poller_goes());
	p->ia = DAT_HANDLE_NULL;
}

/* Limit the number of threads, and try to start a poller.  Return 0 if the start fails. */
static int limited_child(void)
{
	const struct rlimit one = { 1, 1 };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN rc;

	if (a_ia(&ia, &async))
		return 2;
	if (setrlimit(RLIMIT_NPROC, &one) || setresuid(65534, 65534, 65534))
		return 3;
	rc = dat_linux_ia_poller(ia, 1000, -1);
	if (rc != RC(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY))
		return 4;
	/* The IA must still work without the poller. */
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) ? 5 : 0;
}

TEST_F(transfer, the_poller_counts_against_the_limit_of_threads)
{
	int status;
	pid_t child = fork();

	ASSERT_LE(0, child);
	if (!child)
		_exit(limited_child());
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

/* After fork(), the child has the handle of an IA with a poller, but not the poller thread. */
TEST_F_TIMEOUT(transfer, a_child_closes_an_IA_that_has_a_poller, 60)
{
	struct a_pair *p = &self->p;
	int status;
	pid_t child;

	ASSERT_EQ(DAT_SUCCESS, dat_linux_ia_poller(p->ia, 1000, -1));
	child = fork();
	ASSERT_LE(0, child);
	if (!child) {
		dat_ia_close(p->ia, DAT_CLOSE_ABRUPT_FLAG);
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_NE(0, poller_tid());
}

TEST_F(transfer, a_poller_of_the_wrong_kind_is_refused)
{
	struct a_pair *p = &self->p;

	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
		  dat_linux_ia_poller(p->ep[0], 1, -1));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_linux_ia_poller(p->ia, 1000001, -1));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		  dat_linux_ia_poller(p->ia, 1, 1 << 20));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		  dat_linux_ia_poller(p->ia, 1, -2));
	EXPECT_EQ(0, poller_tid());
}

TEST_HARNESS_MAIN
