// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Measures what many connections cost.  One process connects pairs of its own endpoints.  At 1, 100
 * and 1,000 connections the program prints the memory of a connected endpoint, the rate at which
 * connections were made, and the cost of a message on one connection while the others are idle.
 * All completions go to one event dispatcher.
 *
 * DAT_BENCH_MIB: go on until the machine has only so many MiB left, in place of ending at 1,000
 * connections.
 * DAT_BENCH_CONNECTIONS: end at so many connections.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "clock.h"
#include "proc.h"

#define MOST		25000	/* connections; each takes a port of the host */
#define MESSAGES	1000
#define SIZE		64

static const int numbers[] = { 1, 100, 1000, MOST };

/* The two ends of a connection. */
struct ends {
	DAT_EP_HANDLE a, b;
};

static long available_kib(void)
{
	return proc_number("/proc/meminfo", "MemAvailable");
}

static DAT_RETURN open_one(struct a_pair *p)
{
	DAT_RETURN rc = a_ia(&p->ia, &p->async);

	if (rc == DAT_SUCCESS)
		rc = dat_ia_query(p->ia, NULL, DAT_IA_FIELD_ALL, &p->attr, 0, NULL);
	if (rc == DAT_SUCCESS)
		rc = dat_pz_create(p->ia, &p->pz);
	if (rc == DAT_SUCCESS)
		rc = dat_evd_create(p->ia, 1024, DAT_HANDLE_NULL,
				    DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG,
				    &p->evd[0]);
	if (rc == DAT_SUCCESS)
		rc = dat_psp_create(p->ia, A_QUAL, p->evd[0], DAT_PSP_CONSUMER_FLAG, &p->psp);
	return rc == DAT_SUCCESS ? a_mem(p, 4096, DAT_MEM_PRIV_ALL_FLAG, &p->mem) : rc;
}

static DAT_RETURN new_ep(struct a_pair *p, DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = a_attr(p);

	attr.max_recv_iov = 1;
	attr.max_request_iov = 1;
	return dat_ep_create(p->ia, p->pz, p->evd[0], p->evd[0], p->evd[0], &attr, ep);
}

/* Make a connection.  Returns whether it is established at both ends. */
static int connect_one(struct a_pair *p, struct ends *e)
{
	int established = 0;
	DAT_EVENT event;

	if (new_ep(p, &e->a) || new_ep(p, &e->b) ||
	    dat_ep_connect(e->a, p->attr.ia_address_ptr, A_QUAL, A_WAIT_US, 0, NULL,
			   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG))
		return 0;
	while (established < 2 && a_event(p->evd[0], A_WAIT_US, &event)) {
		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			established++;
		else if (event.event_number != DAT_CONNECTION_REQUEST_EVENT ||
			 dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, e->b, 0,
				       NULL))
			return 0;
	}
	return established == 2;
}

static int take(struct a_pair *p, int polls)
{
	DAT_EVENT event;

	if (!polls && !a_event(p->evd[0], A_WAIT_US, &event))
		return 0;
	while (polls && dat_evd_dequeue(p->evd[0], &event) != DAT_SUCCESS)
		;
	return event.event_number == DAT_DTO_COMPLETION_EVENT &&
	       event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
}

/* Returns the microseconds of a message; a negative number after an error. */
static double message_us(struct a_pair *p, const struct ends *e, int polls)
{
	DAT_LMR_TRIPLET out = a_seg(&p->mem, 0, SIZE), in = a_seg(&p->mem, SIZE, SIZE);
	double begun;
	int i;

	dat_linux_evd_busy_poll(p->evd[0], polls ? 1000 : 0);
	begun = now_s();
	for (i = 0; i < MESSAGES; i++)
		if (dat_ep_post_recv(e->b, 1, &in, a_cookie(1), 0) ||
		    dat_ep_post_send(e->a, 1, &out, a_cookie(2), 0) || !take(p, polls) ||
		    !take(p, polls))
			return -1;
	return (now_s() - begun) / MESSAGES * 1e6;
}

FIXTURE(scale) {
	struct a_pair p;
};

FIXTURE_SETUP(scale)
{
	ASSERT_EQ(DAT_SUCCESS, open_one(&self->p));
}

FIXTURE_TEARDOWN(scale)
{
}

TEST_F_TIMEOUT(scale, many_connections_cost_what_one_costs, 3000)
{
	const char *least = getenv("DAT_BENCH_MIB"), *most = getenv("DAT_BENCH_CONNECTIONS");
	struct a_pair *p = &self->p;
	long least_kib = least ? atol(least) << 10 : 0, before;
	int end = most ? atoi(most) : least ? MOST : 1000, step, n = 0, made, enough = 0;
	struct ends first = {}, e;
	double begun, took;

	ASSERT_TRUE(connect_one(p, &first));
	/* The first messages take memory and time that later ones do not. */
	ASSERT_LT(0, message_us(p, &first, 0));
	n = 1;
	for (step = 0; step < 4 && numbers[step] <= end && !enough; step++) {
		before = available_kib();
		begun = now_s();
		for (made = 0; n < numbers[step] && !enough; made++, n++) {
			ASSERT_TRUE(connect_one(p, &e));
			enough = made % 100 == 99 && available_kib() < least_kib;
		}
		took = now_s() - begun;
		printf("# scale: %d", n);
		if (made)
			printf(" memory_kib %.1f connections %.0f",
			       (double)(before - available_kib()) / made / 2, made / took);
		printf(" wait_us %.2f", message_us(p, &first, 0));
		printf(" look_us %.2f\n", message_us(p, &first, 1));
		fflush(stdout);
	}
	begun = now_s();
	dat_ia_close(p->ia, DAT_CLOSE_ABRUPT_FLAG);
	printf("# scale: %d closed_s %.2f\n", n, now_s() - begun);
}

TEST_HARNESS_MAIN
