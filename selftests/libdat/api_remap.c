// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Rings that libdat replaces or unmaps while other threads read them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "api_conform.h"

#define ROUNDS	400

FIXTURE(remap) {
	struct a_pair p;
};

FIXTURE_SETUP(remap)
{
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
}

FIXTURE_TEARDOWN(remap)
{
	a_close(&self->p);
}

/*
 * struct job - a thread that repeats a call until finish() stops it
 * @p: IA and EPs of the test
 * @handle: EVD or EP that the thread passes to the call
 * @thread: thread
 * @stop: set to 1 to end the thread
 * @rounds: number of calls made
 * @events: number of events dequeued
 * @rc: unexpected return code of a call, or DAT_SUCCESS
 */
struct job {
	struct a_pair	*p;
	DAT_HANDLE	handle;
	pthread_t	thread;
	int		stop;
	unsigned long	rounds;
	unsigned long	events;
	DAT_RETURN	rc;
};

static int stopped(struct job *j)
{
	__atomic_fetch_add(&j->rounds, 1, __ATOMIC_RELAXED);
	return __atomic_load_n(&j->stop, __ATOMIC_RELAXED);
}

static int start(struct job *j, void *(*fn)(void *))
{
	int ret = pthread_create(&j->thread, NULL, fn, j);

	while (!ret && !__atomic_load_n(&j->rounds, __ATOMIC_RELAXED))
		sched_yield();
	return ret;
}

static void finish(struct job *j)
{
	__atomic_store_n(&j->stop, 1, __ATOMIC_RELAXED);
	pthread_join(j->thread, NULL);
}

static void *dequeue(void *arg)
{
	struct job *j = arg;
	DAT_EVENT event;
	DAT_RETURN rc;

	while (!stopped(j)) {
		rc = dat_evd_dequeue(j->handle, &event);
		if (rc == DAT_SUCCESS)
			__atomic_fetch_add(&j->events, 1, __ATOMIC_RELAXED);
		else if (TYPE(rc) != DAT_QUEUE_EMPTY && j->rc == DAT_SUCCESS)
			j->rc = rc;
	}
	return NULL;
}

static void *resize(void *arg)
{
	struct job *j = arg;
	DAT_RETURN rc;

	while (!stopped(j)) {
		rc = dat_evd_resize(j->handle, j->rounds % 2 ? 128 : 64);
		if (rc != DAT_SUCCESS)
			j->rc = rc;
	}
	return NULL;
}

static DAT_RETURN software_evd(struct a_pair *p, DAT_EVD_HANDLE *evd)
{
	return dat_evd_create(p->ia, 64, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, evd);
}

/* Covers: dat_evd_resize; SH 33 */
TEST_F_TIMEOUT(remap, a_queue_is_resized_under_a_thread_that_polls_it, 120)
{
	static const DAT_COUNT qlen[] = { 4000, 8, 8, 512, 8, 4000, 4000 };
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	struct job j = { .p = &self->p };
	unsigned long sent = 0;
	int i;

	ASSERT_EQ(DAT_SUCCESS, software_evd(&self->p, &j.handle));
	ASSERT_EQ(0, start(&j, dequeue));
	for (i = 0; i < ROUNDS; i++) {
		/* Keep few events queued, so that all of them fit into the smallest queue. */
		while (sent - __atomic_load_n(&j.events, __ATOMIC_RELAXED) > 4 &&
		       __atomic_load_n(&j.rc, __ATOMIC_RELAXED) == DAT_SUCCESS)
			sched_yield();
		if (dat_evd_post_se(j.handle, &event) == DAT_SUCCESS)
			sent++;
		ASSERT_EQ(DAT_SUCCESS, dat_evd_resize(j.handle, qlen[i % 7]));
		if (dat_evd_post_se(j.handle, &event) == DAT_SUCCESS)
			sent++;
		ASSERT_EQ(DAT_SUCCESS, dat_evd_resize(j.handle, qlen[(i + 1) % 7]));
	}
	finish(&j);
	while (dat_evd_dequeue(j.handle, &event) == DAT_SUCCESS)
		j.events++;
	EXPECT_EQ(sent, j.events);
	EXPECT_EQ(DAT_SUCCESS, j.rc) TH_LOG("dat_evd_dequeue(): %#x", j.rc);
}

static void *query(void *arg)
{
	struct job *j = arg;
	DAT_EVD_PARAM param;
	DAT_RETURN rc;

	while (!stopped(j)) {
		rc = dat_evd_query(j->handle, DAT_EVD_FIELD_ALL, &param);
		if (rc != DAT_SUCCESS)
			j->rc = rc;
	}
	return NULL;
}

/* ThreadSanitizer reports a query that reads the CNO or the queue length without the lock. */
TEST_F_TIMEOUT(remap, an_evd_changes_under_a_thread_that_queries_it, 120)
{
	static const DAT_OS_WAIT_PROXY_AGENT no_agent;
	struct job j = { .p = &self->p };
	DAT_CNO_HANDLE cno;
	int i;

	ASSERT_EQ(DAT_SUCCESS, software_evd(&self->p, &j.handle));
	ASSERT_EQ(DAT_SUCCESS, dat_cno_create(self->p.ia, no_agent, &cno));
	ASSERT_EQ(0, start(&j, query));
	for (i = 0; i < ROUNDS / 4; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_evd_modify_cno(j.handle, i % 2 ? DAT_HANDLE_NULL : cno));
		ASSERT_EQ(DAT_SUCCESS, dat_evd_resize(j.handle, i % 2 ? 64 : 128));
	}
	finish(&j);
	EXPECT_EQ(DAT_SUCCESS, j.rc) TH_LOG("dat_evd_query(): %#x", j.rc);
}

/*
 * An event that arrives while dat_evd_resize() swaps the rings is in the new ring.
 * dat_evd_dequeue() must find the event there.
 */
/* Covers: dat_evd_resize; SH 33 */
TEST_F_TIMEOUT(remap, an_event_is_found_while_the_queue_is_resized, 120)
{
	DAT_EVENT out = { .event_number = DAT_SOFTWARE_EVENT }, in;
	struct job resizer = { .p = &self->p };
	unsigned long n = 0;

	ASSERT_EQ(DAT_SUCCESS, software_evd(&self->p, &resizer.handle));
	ASSERT_EQ(0, start(&resizer, resize));
	while (__atomic_load_n(&resizer.rounds, __ATOMIC_RELAXED) < 10 * ROUNDS) {
		out.event_data.software_event_data.pointer = (DAT_PVOID)++n;
		ASSERT_EQ(DAT_SUCCESS, dat_evd_post_se(resizer.handle, &out));
		ASSERT_EQ(DAT_SUCCESS, dat_evd_dequeue(resizer.handle, &in));
		ASSERT_EQ((DAT_PVOID)n, in.event_data.software_event_data.pointer);
	}
	finish(&resizer);
	EXPECT_EQ(DAT_SUCCESS, resizer.rc);
}

static void *get_status(void *arg)
{
	struct job *j = arg;
	DAT_BOOLEAN recv, request;
	DAT_EP_STATE state;
	DAT_RETURN rc;

	while (!stopped(j)) {
		rc = dat_ep_get_status(j->handle, &state, &recv, &request);
		if (rc != DAT_SUCCESS || state != DAT_EP_STATE_UNCONNECTED || recv || !request)
			j->rc = DAT_INTERNAL_ERROR;
	}
	return NULL;
}

/* Covers: dat_ep_get_status; dat_ep_modify; SH 68, 71 */
TEST_F_TIMEOUT(remap, an_ep_is_modified_under_a_thread_that_asks_for_its_status, 120)
{
	struct a_pair *p = &self->p;
	struct job j = { .p = p, .handle = p->ep[0] };
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_EP_PARAM param = {};
	int i;

	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &seg, a_cookie(1), 0));
	ASSERT_EQ(0, start(&j, get_status));
	for (i = 0; i < ROUNDS; i++) {
		param.ep_attr.max_recv_dtos = i % 2 ? 16 : 2000;
		ASSERT_EQ(DAT_SUCCESS,
			  dat_ep_modify(p->ep[0], DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
	}
	finish(&j);
	EXPECT_EQ(DAT_SUCCESS, j.rc);
}

/*
 * Connect ep[1] to ep[0], which accepts with the private data @pd.  Leave the event of ep[1]
 * queued.
 */
static DAT_RETURN connect_quietly(struct a_pair *p, char *pd)
{
	DAT_EVENT event;
	DAT_RETURN rc;

	rc = dat_ep_connect(p->ep[1], p->attr.ia_address_ptr, A_QUAL, A_WAIT_US, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (rc == DAT_SUCCESS && !a_event(p->cr, A_WAIT_US, &event))
		rc = DAT_TIMEOUT_EXPIRED;
	if (rc == DAT_SUCCESS)
		rc = dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, p->ep[0],
				   strlen(pd), pd);
	return rc == DAT_SUCCESS && !c_reaches(p->ep[1], DAT_EP_STATE_CONNECTED) ?
	       DAT_TIMEOUT_EXPIRED : rc;
}

/*
 * The event of an earlier connection must be dequeued without private data, because the EP may be
 * freed while a thread dequeues the event.
 */
/* Covers: dat_ep_modify; dat_ep_reset; SH 57 */
TEST_F_TIMEOUT(remap, an_event_of_an_earlier_connection_has_no_private_data, 60)
{
	DAT_CONNECTION_EVENT_DATA *data;
	struct a_pair *p = &self->p;
	DAT_EP_PARAM param = {};
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, connect_quietly(p, "welcome"));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_TRUE(c_reaches(p->ep[1], DAT_EP_STATE_DISCONNECTED));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(p->ep[1]));
	param.connect_evd_handle = p->evd[0];
	ASSERT_EQ(DAT_SUCCESS,
		  dat_ep_modify(p->ep[1], DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	ASSERT_EQ(DAT_SUCCESS, dat_evd_dequeue(p->evd[1], &event));
	ASSERT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
	data = &event.event_data.connect_event_data;
	EXPECT_EQ(p->ep[1], data->ep_handle);
	EXPECT_EQ(0, data->private_data_size);
	EXPECT_EQ(NULL, data->private_data);
}

TEST_HARNESS_MAIN
