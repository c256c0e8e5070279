// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Measures a dat_evd_dequeue() that polls the device and finds nothing, for an EVD of some active
 * connections.  The result for each number of connections is a line
 *
 *   # bench: look/CONNECTIONS ns NS
 *
 * with the best of some calls.  The figures mean something in a machine that counts instructions.
 */
#define _GNU_SOURCE
#include <stdio.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "clock.h"

#define MOST	256
#define QUEUE	16	/* receives, and requests, of an endpoint */
#define EVENTS	16384
#define LOOKS	8

static const int numbers[] = { 1, 16, MOST };

struct bench {
	struct a_pair	p;
	DAT_EVD_HANDLE	evd[2];
	DAT_EP_HANDLE	ep[MOST][2];	/* ep[i][1] sends to ep[i][0] */
	int		n;		/* connections */
};

/* Connect another pair of endpoints. */
static int add(struct bench *b)
{
	DAT_EP_ATTR attr = a_attr(&b->p);
	DAT_EP_HANDLE *ep = b->ep[b->n];
	int i;

	attr.max_recv_dtos = QUEUE;
	attr.max_request_dtos = QUEUE;
	for (i = 0; i < 2; i++)
		if (dat_ep_create(b->p.ia, b->p.pz, b->evd[i], b->evd[i], b->evd[i], &attr, &ep[i]))
			return 1;
	b->n++;
	return a_connect(&b->p, ep[1], ep[0], b->evd[1], b->evd[0]) != DAT_SUCCESS;
}

/* Send a message over each connection, and poll before and after it. */
static int talk(struct bench *b)
{
	DAT_LMR_TRIPLET seg = a_seg(&b->p.mem, 0, 64);
	DAT_EVENT event;
	int i, got = 0;

	for (i = 0; i < b->n; i++) {
		got += dat_evd_dequeue(b->evd[0], &event) == DAT_SUCCESS;
		if (dat_ep_post_recv(b->ep[i][0], 1, &seg, a_cookie(i), 0) ||
		    dat_ep_post_send(b->ep[i][1], 1, &seg, a_cookie(i),
				     DAT_COMPLETION_SUPPRESS_FLAG))
			return 1;
		got += dat_evd_dequeue(b->evd[0], &event) == DAT_SUCCESS;
	}
	while (got < b->n)
		got += dat_evd_dequeue(b->evd[0], &event) == DAT_SUCCESS;
	return 0;
}

static int measure(struct bench *b, int n)
{
	double best = 0, ns;
	DAT_EVENT event;
	int i;

	while (b->n < n)
		if (add(b))
			return 1;
	if (dat_linux_evd_busy_poll(b->evd[0], 1000) || talk(b) || talk(b))
		return 1;
	for (i = 0; i < LOOKS; i++) {
		ns = now_ns();
		if (dat_evd_dequeue(b->evd[0], &event) == DAT_SUCCESS)
			return 1;
		ns = now_ns() - ns;
		best = !i || ns < best ? ns : best;
	}
	printf("# bench: look/%d ns %.0f\n", n, best);
	fflush(stdout);
	return dat_linux_evd_busy_poll(b->evd[0], 0) != DAT_SUCCESS;
}

FIXTURE(look) {
};

FIXTURE_SETUP(look)
{
}

FIXTURE_TEARDOWN(look)
{
}

TEST_F_TIMEOUT(look, that_finds_nothing, 600)
{
	DAT_EVD_FLAGS flags = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG;
	static struct bench b;
	unsigned int i;

	ASSERT_EQ(DAT_SUCCESS, a_open(&b.p));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(DAT_SUCCESS, dat_evd_create(b.p.ia, EVENTS, DAT_HANDLE_NULL, flags,
						      &b.evd[i]));
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		ASSERT_EQ(0, measure(&b, numbers[i])) TH_LOG("%d connections", numbers[i]);
	a_close(&b.p);
}

TEST_HARNESS_MAIN
