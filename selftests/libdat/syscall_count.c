// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Number of system calls that a process makes while it receives messages, counted by a tracer. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "marks.h"

#define OPS		10000
#define BUFFERS		16
#define WINDOW		4	/* messages in flight, so few that the receiver keeps up */
/*
 * Number of messages received.  The sender reads it, so as to be at most WINDOW messages ahead.
 */
static volatile unsigned int *received;

/* The sender is a separate process, whose system calls are not counted. */
static int sender(void)
{
	struct a_pair p = { 0 };
	DAT_LMR_TRIPLET seg;
	DAT_EP_ATTR attr;
	unsigned int sent;
	DAT_EVENT event;
	int tries;

	if (a_ia(&p.ia, &p.async) || dat_ia_query(p.ia, NULL, DAT_IA_FIELD_ALL, &p.attr, 0, NULL) ||
	    dat_pz_create(p.ia, &p.pz) || a_mem(&p, 4096, DAT_MEM_PRIV_ALL_FLAG, &p.mem) ||
	    dat_evd_create(p.ia, 64, NULL, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &p.evd[0]))
		return 2;
	attr = a_attr(&p);
	if (dat_ep_create(p.ia, p.pz, p.evd[0], p.evd[0], p.evd[0], &attr, &p.ep[0]))
		return 3;
	for (tries = 0; tries < 100; tries++) {
		if (dat_ep_connect(p.ep[0], p.attr.ia_address_ptr, A_QUAL, A_WAIT_US, 0, NULL,
				   DAT_QOS_BEST_EFFORT, 0))
			return 4;
		if (!a_event(p.evd[0], A_WAIT_US, &event))
			return 5;
		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			break;
		dat_ep_reset(p.ep[0]);
		usleep(50000);
	}
	seg = a_seg(&p.mem, 0, 64);
	/* Send until the receiver disconnects, which makes a send fail. */
	for (sent = 0;; sent++) {
		while (sent - *received >= WINDOW)
			sched_yield();
		if (dat_ep_post_send(p.ep[0], 1, &seg, a_cookie(0), 0))
			return 6;
		if (a_dto(p.evd[0], NULL, NULL) != DAT_DTO_SUCCESS)
			return 0;
	}
}

/* Use of busy polling by the receiver: never, during the warm-up only, or always. */
static enum { NEVER, NO_MORE, ALWAYS } busy;

static int set_busy(const struct a_pair *p, int on)
{
	return busy != NEVER && dat_linux_evd_busy_poll(p->evd[0], on ? 100 : 0) != DAT_SUCCESS;
}

static int receive_one(struct a_pair *p, int wait)
{
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_RETURN rc;
	DAT_EVENT event;
	DAT_COUNT nmore;

	do {
		rc = wait ? dat_evd_wait(p->evd[0], A_WAIT_US, 1, &event, &nmore) :
			    dat_evd_dequeue(p->evd[0], &event);
	} while (TYPE(rc) == DAT_QUEUE_EMPTY);
	if (rc != DAT_SUCCESS || event.event_number != DAT_DTO_COMPLETION_EVENT ||
	    event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		return -1;
	if (dat_ep_post_recv(p->ep[0], 1, &seg, a_cookie(0), 0) != DAT_SUCCESS)
		return -1;
	++*received;
	return 0;
}

/* The traced process.  Receive some messages to warm up, then @ops messages between two marks. */
static int receiver(int wait, int ops)
{
	struct a_pair p;
	DAT_LMR_TRIPLET seg;
	DAT_EVENT event;
	int i;

	if (a_open(&p) || set_busy(&p, 1))
		return 2;
	seg = a_seg(&p.mem, 0, 64);
	for (i = 0; i < BUFFERS; i++)
		if (dat_ep_post_recv(p.ep[0], 1, &seg, a_cookie(0), 0))
			return 3;
	if (!a_event(p.cr, A_WAIT_US, &event) ||
	    dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, p.ep[0], 0, NULL) ||
	    !a_event(p.evd[0], A_WAIT_US, &event))
		return 4;
	for (i = 0; i < 200; i++)
		if (receive_one(&p, wait))
			return 5;
	if (busy == NO_MORE && set_busy(&p, 0))
		return 7;
	mark(MARK_START);
	for (i = 0; i < ops; i++)
		if (receive_one(&p, wait))
			return 6;
	mark(MARK_END);
	return 0;
}

static long count_receiving(int wait, int ops, int *exit_status)
{
	pid_t pid, peer;
	long count;

	*received = 0;
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(receiver(wait, ops));
	}
	peer = fork();
	if (!peer)
		_exit(sender());
	count = count_between_marks(pid, exit_status);
	kill(peer, SIGKILL);
	waitpid(peer, NULL, 0);
	return count;
}

FIXTURE(syscalls) {
	int status;
};

FIXTURE_SETUP(syscalls)
{
	received = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)received);
}

FIXTURE_TEARDOWN(syscalls)
{
}

TEST_F_TIMEOUT(syscalls, polling_makes_none_in_10000, 600)
{
	EXPECT_EQ(0, count_receiving(0, OPS, &self->status));
	EXPECT_EQ(0, self->status);
}

TEST_F_TIMEOUT(syscalls, polling_makes_none_once_the_driver_need_not_look_any_more, 600)
{
	busy = NO_MORE;
	EXPECT_EQ(0, count_receiving(0, OPS / 5, &self->status));
	EXPECT_EQ(0, self->status);
}

/* With busy polling, each poll of an empty EVD makes a system call. */
TEST_F_TIMEOUT(syscalls, polling_makes_some_while_the_driver_looks, 300)
{
	busy = ALWAYS;
	EXPECT_LT(0, count_receiving(0, 500, &self->status));
	EXPECT_EQ(0, self->status);
}

/* Check the method of this test: a receiver that waits must sleep, so system calls are counted. */
TEST_F_TIMEOUT(syscalls, waiting_makes_some, 300)
{
	long count = count_receiving(1, 500, &self->status);

	EXPECT_LT(0, count);
	EXPECT_EQ(0, self->status);
	TH_LOG("%ld in 500", count);
}

TEST_HARNESS_MAIN
