// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * DAT_LINUX_COMPLETION_MORE_FLAG: a request that another request follows makes no system call of
 * its own.
 */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "api_conform.h"
#include "ioctl_over.h"
#include <rdma/dat_ioctl.h>

#define MORE	DAT_LINUX_COMPLETION_MORE_FLAG
#define DTOS	32	/* max_request_dtos of a_attr() */

static int kicks;	/* calls of DAT_IOC_KICK; the tests have one thread */

static int changed_ioctl(int fd, unsigned long request, void *arg)
{
	kicks += request == DAT_IOC_KICK;
	return real_ioctl(fd, request, arg);
}

static DAT_RETURN write64(struct a_pair *p, int n, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET from = a_seg(&p->mem, 64 * (n % 64), 64);
	DAT_RMR_TRIPLET to = a_rseg(&p->mem, 4096 + 64 * (n % 64), 64);

	return dat_ep_post_rdma_write(p->ep[1], 1, &from, a_cookie(n), &to, flags);
}

FIXTURE(more) {
	struct a_pair p;
	DAT_EP_HANDLE ep;
};

FIXTURE_SETUP(more)
{
	struct a_pair *p = &self->p;

	ASSERT_EQ(DAT_SUCCESS, a_open(p));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, p->ep[1], p->ep[0], p->evd[1], p->evd[0]));
	self->ep = p->ep[1];
	/* After the end of this write, the driver asks for a kick at the next one. */
	ASSERT_EQ(DAT_SUCCESS, write64(p, 0, 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[1], NULL, NULL));
	kicks = 0;
}

FIXTURE_TEARDOWN(more)
{
	a_close(&self->p);
}

/* Post the writes @first to @first + @n - 1 with @flags.  Returns whether all were posted. */
static int writes(struct a_pair *p, int first, int n, DAT_COMPLETION_FLAGS flags)
{
	int i;

	for (i = first; i < first + n; i++)
		if (write64(p, i, flags) != DAT_SUCCESS)
			return 0;
	return 1;
}

/* Returns whether the writes @first to @first + @n - 1 complete next, in this order. */
static int complete(struct a_pair *p, int first, int n)
{
	uint64_t cookie;
	int i;

	for (i = first; i < first + n; i++)
		if (a_dto(p->evd[1], &cookie, NULL) != DAT_DTO_SUCCESS || cookie != (uint64_t)i)
			return 0;
	return 1;
}

TEST_F_TIMEOUT(more, a_batch_takes_one_call, 60)
{
	ASSERT_TRUE(writes(&self->p, 0, 20, MORE));
	EXPECT_EQ(0, kicks);
	ASSERT_TRUE(writes(&self->p, 20, 1, 0));
	EXPECT_EQ(1, kicks);
	EXPECT_TRUE(complete(&self->p, 0, 21));
}

TEST_F_TIMEOUT(more, the_request_without_the_flag_brings_the_others_along, 60)
{
	DAT_EVENT event;

	ASSERT_TRUE(writes(&self->p, 0, 3, MORE));
	EXPECT_EQ(0, a_event(self->p.evd[1], A_QUIET_US, &event));
	ASSERT_TRUE(writes(&self->p, 3, 1, 0));
	EXPECT_TRUE(complete(&self->p, 0, 4));
}

TEST_F_TIMEOUT(more, a_full_queue_waits_for_nothing, 60)
{
	ASSERT_TRUE(writes(&self->p, 0, DTOS, MORE));
	EXPECT_EQ(1, kicks);
	EXPECT_TRUE(complete(&self->p, 0, DTOS));
}

TEST_F_TIMEOUT(more, a_graceful_disconnect_carries_them_out, 60)
{
	ASSERT_TRUE(writes(&self->p, 0, 3, MORE));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(self->ep, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_TRUE(complete(&self->p, 0, 3));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, c_next(self->p.evd[1]));
}

TEST_F_TIMEOUT(more, the_end_of_the_connection_flushes_them, 60)
{
	uint64_t cookie;
	int i;

	ASSERT_TRUE(writes(&self->p, 0, 3, MORE));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(self->p.ep[0], DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(DAT_DTO_ERR_FLUSHED, a_dto(self->p.evd[1], &cookie, NULL));
		EXPECT_EQ((uint64_t)i, cookie);
	}
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, c_next(self->p.evd[1]));
}

TEST_F_TIMEOUT(more, a_disconnected_endpoint_flushes_each_at_once, 60)
{
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(self->ep, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, c_next(self->p.evd[1]));
	ASSERT_TRUE(writes(&self->p, 0, 1, MORE));
	EXPECT_EQ(DAT_DTO_ERR_FLUSHED, a_dto(self->p.evd[1], NULL, NULL));
}

TEST_F_TIMEOUT(more, a_bind_brings_the_others_along, 60)
{
	DAT_LMR_TRIPLET seg = a_seg(&self->p.mem, 0, 64);
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, dat_rmr_create(self->p.pz, &rmr));
	ASSERT_TRUE(writes(&self->p, 0, 3, MORE));
	ASSERT_EQ(DAT_SUCCESS, dat_rmr_bind(rmr, &seg, DAT_MEM_PRIV_REMOTE_READ_FLAG, self->ep,
					    a_cookie(3), 0, &context));
	EXPECT_TRUE(complete(&self->p, 0, 3));
	ASSERT_TRUE(a_event(self->p.evd[1], A_WAIT_US, &event));
	EXPECT_EQ(DAT_RMR_BIND_COMPLETION_EVENT, event.event_number);
}

TEST_F_TIMEOUT(more, sends_and_reads_take_it_too, 60)
{
	DAT_LMR_TRIPLET seg = a_seg(&self->p.mem, 0, 64);
	DAT_RMR_TRIPLET from = a_rseg(&self->p.mem, 4096, 64);
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET in = a_seg(&p->mem, 8192, 64);

	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &in, a_cookie(9), 0));
	kicks = 0;
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(self->ep, 1, &seg, a_cookie(0), MORE));
	ASSERT_EQ(DAT_SUCCESS,
		  dat_ep_post_rdma_read(self->ep, 1, &seg, a_cookie(1), &from, MORE));
	EXPECT_EQ(0, kicks);
	ASSERT_TRUE(writes(p, 2, 1, 0));
	EXPECT_TRUE(complete(p, 0, 3));
	EXPECT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
}

TEST_F_TIMEOUT(more, receives_binds_and_attributes_do_not_take_it, 60)
{
	DAT_LMR_TRIPLET seg = a_seg(&self->p.mem, 0, 64);
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr = a_attr(p);
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	DAT_EP_HANDLE ep;

	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
		  dat_ep_post_recv(self->ep, 1, &seg, a_cookie(0), MORE));
	ASSERT_EQ(DAT_SUCCESS, dat_rmr_create(p->pz, &rmr));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6),
		  dat_rmr_bind(rmr, &seg, DAT_MEM_PRIV_REMOTE_READ_FLAG, self->ep, a_cookie(0),
			       MORE, &context));
	attr.request_completion_flags = MORE;
	EXPECT_EQ(DAT_INVALID_PARAMETER,
		  TYPE(dat_ep_create(p->ia, p->pz, p->evd[0], p->evd[0], p->evd[0], &attr, &ep)));
}

TEST_HARNESS_MAIN
