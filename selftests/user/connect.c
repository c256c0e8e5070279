// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Connections: setup, teardown, and the events that report each step. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_test.h"
#include "klog.h"
#include "tracefs.h"

FIXTURE(connect) {
	struct t_pair p;
	unsigned int count[16];
};

FIXTURE_SETUP(connect)
{
	ASSERT_EQ(0, t_pair_open(&self->p));
}

FIXTURE_TEARDOWN(connect)
{
	t_set_param("log_all", 0);
	t_pair_close(&self->p);
}

#define EXPECT_EVENT(ev, want) do {					\
	struct dat_eqe _eqe = { 0 };					\
	EXPECT_EQ(1, t_event(ev, T_WAIT_MS, &_eqe));			\
	EXPECT_EQ(want, _eqe.type);					\
} while (0)

TEST_F_TIMEOUT(connect, both_sides_get_ESTABLISHED, 60)
{
	ASSERT_EQ(0, t_pair_connect(&self->p));
	EXPECT_EQ(9, self->p.ep[0].st->state);
	EXPECT_EQ(9, self->p.ep[1].st->state);
}

/*
 * The workers of the CM serve all connections of the host.  They neither make queue pairs nor post
 * receives.
 */
TEST_F_TIMEOUT(connect, each_side_makes_its_own_queues, 60)
{
	struct t_pair *p = &self->p;
	char others[64], log[4096];
	int i;

	if (trace_start())
		SKIP(return, "no tracefs");
	for (i = 0; i < 2 * T_QUEUE; i++)
		ASSERT_EQ(0, t_recv(&p->ep[i % 2].rq, i, (uintptr_t)p->mem.va, p->mem.lkey, 64));
	snprintf(others, sizeof(others), "common_pid != %d", getpid());
	ASSERT_EQ(0, trace_on("rdma_cma/cm_qp_create", others));
	ASSERT_EQ(0, trace_on("dat/dat_post", others));
	EXPECT_EQ(0, t_pair_connect(p));
	EXPECT_EQ(0, trace_read(log, sizeof(log), "")) TH_LOG("%s", log);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(T_QUEUE, p->ep[i].rq.status->head);
	trace_end();
}

TEST_F_TIMEOUT(connect, private_data_goes_both_ways, 60)
{
	struct t_pair *p = &self->p;
	struct dat_cr_query q = { .size = sizeof(q) };
	char request[56], reply[196];
	struct dat_eqe eqe;

	memset(request, 'q', sizeof(request));
	memset(reply, 'r', sizeof(reply));
	ASSERT_EQ(0, t_connect(&p->f, &p->ep[1], T_QUAL, request, sizeof(request)));
	ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_CR, eqe.type);
	EXPECT_EQ(T_QUAL, eqe.cookie);
	q.id = eqe.len;
	ASSERT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_CR_QUERY, &q));
	EXPECT_EQ(sizeof(request), q.pd_len);
	EXPECT_EQ(0, memcmp(request, q.pd, sizeof(request)));
	EXPECT_EQ(sizeof(struct sockaddr_in), q.remote_len);
	EXPECT_EQ(0, memcmp(q.remote + 4, p->f.info.addr + 4, 4));
	EXPECT_NE(0, q.remote_port);
	ASSERT_EQ(0, t_accept(&p->f, eqe.len, &p->ep[0], reply, sizeof(reply)));
	ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
	EXPECT_EQ(DAT_EV_ESTABLISHED, eqe.type);
	EXPECT_EQ(sizeof(reply), eqe.len);
	EXPECT_EQ(0, memcmp(reply, (void *)p->ep[1].st->pd, sizeof(reply)));
	/* The accepting side gets ESTABLISHED without private data. */
	ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
	EXPECT_EQ(0, eqe.len);
}

TEST_F_TIMEOUT(connect, an_ep_has_addresses_while_it_is_connected, 60)
{
	struct dat_ep_query q = { .size = sizeof(q), .id = self->p.ep[1].id };
	struct t_pair *p = &self->p;

	ASSERT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_EP_QUERY, &q));
	EXPECT_EQ(0, q.local_len);
	EXPECT_EQ(0, q.remote_len);
	ASSERT_EQ(0, t_pair_connect(p));
	ASSERT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_EP_QUERY, &q));
	EXPECT_EQ(sizeof(struct sockaddr_in), q.local_len);
	EXPECT_EQ(sizeof(struct sockaddr_in), q.remote_len);
	EXPECT_EQ(0, memcmp(q.local + 4, p->f.info.addr + 4, 4));
	EXPECT_EQ(0, memcmp(q.remote + 4, p->f.info.addr + 4, 4));
}

TEST_F_TIMEOUT(connect, reject_is_PEER_REJECTED, 60)
{
	struct dat_cr_reject arg = { .size = sizeof(arg) };
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;

	ASSERT_EQ(0, t_connect(&p->f, &p->ep[1], T_QUAL, NULL, 0));
	ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
	arg.id = eqe.len;
	ASSERT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_CR_REJECT, &arg));
	EXPECT_EQ(-ENOENT, t_ioctl(p->f.fd, DAT_IOC_CR_REJECT, &arg));
	EXPECT_EVENT(&p->evd[1], DAT_EV_PEER_REJECTED);
	EXPECT_EQ(11, p->ep[1].st->state);
}

/* Covers: SH 54 */
TEST_F_TIMEOUT(connect, a_request_that_nobody_answers_for_is_NON_PEER_REJECTED, 60)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;

	/* Free the request without an answer, as the exit of a process would do. */
	ASSERT_EQ(0, t_connect(&p->f, &p->ep[1], T_QUAL, NULL, 0));
	ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_CR, eqe.len));
	EXPECT_EVENT(&p->evd[1], DAT_EV_NON_PEER_REJECTED);
}

TEST_F_TIMEOUT(connect, no_listener_is_NON_PEER_REJECTED, 60)
{
	ASSERT_EQ(0, t_connect(&self->p.f, &self->p.ep[1], T_QUAL + 1, NULL, 0));
	EXPECT_EVENT(&self->p.evd[1], DAT_EV_NON_PEER_REJECTED);
}

/* Covers: SH 58 */
TEST_F_TIMEOUT(connect, a_full_queue_of_requests_refuses, 120)
{
	struct t_pair *p = &self->p;
	struct t_ep ep;
	uint32_t i;

	for (i = 0; i < p->cr.entries; i++) {
		ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[0], 0, 9, &ep));
		ASSERT_EQ(0, t_connect(&p->f, &ep, T_QUAL, NULL, 0));
	}
	/* Wait until the EVD is full: all requests have arrived, and none is dequeued. */
	ASSERT_EQ(0, t_evd_wait(&p->cr, p->cr.entries, T_WAIT_MS));
	ASSERT_EQ(0, t_connect(&p->f, &p->ep[1], T_QUAL, NULL, 0));
	EXPECT_EVENT(&p->evd[1], DAT_EV_NON_PEER_REJECTED);
	/* The listener refused the request before any event was queued, so no event was dropped. */
	EXPECT_EQ(0, ((struct dat_evd_status *)p->cr.status.va)->dropped);
}

TEST_F_TIMEOUT(connect, an_address_that_is_not_there_is_UNREACHABLE, 60)
{
	struct dat_ep_connect arg = {
		.size = sizeof(arg), .id = self->p.ep[1].id, .conn_qual = T_QUAL,
		.timeout_us = DAT_WAIT_FOREVER,
	};

	memcpy(arg.addr, self->p.f.info.addr, sizeof(arg.addr));
	arg.addr_len = self->p.f.info.addr_len;
	arg.addr[7] ^= 0x55;
	if (!t_is_device(&self->p.f)) {
		/* 192.0.2.1 is nobody's, and that is known at once. */
		memcpy(arg.addr + 4, "\xc0\0\2\1", 4);
		EXPECT_EQ(-ENETUNREACH, t_ioctl(self->p.f.fd, DAT_IOC_EP_CONNECT, &arg));
		return;
	}
	ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_EP_CONNECT, &arg));
	EXPECT_EVENT(&self->p.evd[1], DAT_EV_UNREACHABLE);
}

static int connect_to(struct t_pair *p, const char *text)
{
	struct dat_ep_connect arg = {
		.size = sizeof(arg), .id = p->ep[1].id, .conn_qual = T_QUAL,
		.timeout_us = DAT_WAIT_FOREVER,
	};
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, text, &in.sin_addr) == 1) {
		arg.addr_len = sizeof(in);
		memcpy(arg.addr, &in, sizeof(in));
	} else {
		inet_pton(AF_INET6, text, &in6.sin6_addr);
		arg.addr_len = sizeof(in6);
		memcpy(arg.addr, &in6, sizeof(in6));
	}
	return t_ioctl(p->f.fd, DAT_IOC_EP_CONNECT, &arg);
}

/*
 * After a request to ::1 or ::, rdma_cm of Linux 6.1 makes no connection any more.  Within the
 * host, a loopback address is one of a single host.
 */
TEST_F_TIMEOUT(connect, an_address_of_no_single_host_is_refused_at_once, 60)
{
	static const char *const nowhere[] = {
		"127.0.0.1", "127.0.1.1", "127.255.255.254", "::1",
		"0.0.0.0", "224.0.0.1", "255.255.255.255", "::", "ff02::1", "::ffff:127.0.0.1",
		"::ffff:0.0.0.0",
	};
	struct t_pair *p = &self->p;
	unsigned int i;

	for (i = t_is_device(&p->f) ? 0 : 4; i < ARRAY_SIZE(nowhere); i++) {
		EXPECT_EQ(-ENETUNREACH, connect_to(p, nowhere[i])) TH_LOG("%s", nowhere[i]);
	}
	ASSERT_EQ(0, t_pair_connect(p));
}

TEST_F_TIMEOUT(connect, the_consumers_time_is_TIMED_OUT, 60)
{
	struct dat_ep_connect arg = {
		.size = sizeof(arg), .id = self->p.ep[1].id, .conn_qual = T_QUAL,
		.timeout_us = 200000,
	};
	int klog = klog_open();

	ASSERT_LE(0, klog);
	ASSERT_EQ(0, t_set_param("log_all", 1));
	/* The listener never answers the request. */
	memcpy(arg.addr, self->p.f.info.addr, sizeof(arg.addr));
	arg.addr_len = self->p.f.info.addr_len;
	ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_EP_CONNECT, &arg));
	EXPECT_EVENT(&self->p.evd[1], DAT_EV_TIMED_OUT);
	EXPECT_EQ(11, self->p.ep[1].st->state);
	EXPECT_EQ(1, klog_count(klog, "has not answered a connect in time"));
	close(klog);
}

/* Covers: SH 13, 54 */
TEST_F_TIMEOUT(connect, accepting_a_request_that_was_given_up_is_ACCEPT_ERROR, 120)
{
	struct dat_ep_connect arg = {
		.size = sizeof(arg), .id = self->p.ep[1].id, .conn_qual = T_QUAL,
		.timeout_us = 200000,
	};
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;

	memcpy(arg.addr, p->f.info.addr, sizeof(arg.addr));
	arg.addr_len = p->f.info.addr_len;
	ASSERT_EQ(0, t_ioctl(p->f.fd, DAT_IOC_EP_CONNECT, &arg));
	ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
	EXPECT_EVENT(&p->evd[1], DAT_EV_TIMED_OUT);
	usleep(300000);
	ASSERT_EQ(0, t_accept(&p->f, eqe.len, &p->ep[0], NULL, 0));
	EXPECT_EVENT(&p->evd[0], DAT_EV_ACCEPT_ERROR);
	EXPECT_EQ(11, p->ep[0].st->state);
}

TEST_F_TIMEOUT(connect, only_an_UNCONNECTED_ep_can_connect_or_accept, 60)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	struct t_ep third;

	ASSERT_EQ(0, t_pair_connect(p));
	EXPECT_EQ(-EISCONN, t_connect(&p->f, &p->ep[1], T_QUAL, NULL, 0));
	EXPECT_EQ(-EISCONN, t_reset(&p->f, &p->ep[1]));
	ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[1], 0, 3, &third));
	ASSERT_EQ(0, t_connect(&p->f, &third, T_QUAL, NULL, 0));
	ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
	EXPECT_EQ(-EISCONN, t_accept(&p->f, eqe.len, &p->ep[0], NULL, 0));
	/*
	 * The failed accept has not changed the request: another EP can still accept the request.
	 */
	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, p->ep[0].id));
	ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[0], 0, 4, &p->ep[0]));
	EXPECT_EQ(0, t_accept(&p->f, eqe.len, &p->ep[0], NULL, 0));
	do {
		ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
	} while (eqe.owner != 4);
	EXPECT_EQ(DAT_EV_ESTABLISHED, eqe.type);
}

TEST_F_TIMEOUT(connect, abrupt_disconnect_is_DISCONNECTED_at_both_ends, 60)
{
	ASSERT_EQ(0, t_pair_connect(&self->p));
	ASSERT_EQ(0, t_disconnect(&self->p.f, &self->p.ep[1], 0));
	EXPECT_EVENT(&self->p.evd[1], DAT_EV_DISCONNECTED);
	EXPECT_EVENT(&self->p.evd[0], DAT_EV_DISCONNECTED);
	EXPECT_EQ(11, self->p.ep[0].st->state);
	EXPECT_EQ(11, self->p.ep[1].st->state);
	/* A second disconnect succeeds and does nothing. */
	EXPECT_EQ(0, t_disconnect(&self->p.f, &self->p.ep[1], 0));
}

TEST_F_TIMEOUT(connect, graceful_disconnect_lets_requests_finish, 60)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	int i;

	ASSERT_EQ(0, t_pair_connect(p));
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, t_recv(&p->ep[0].rq, i, (uintptr_t)p->mem.va, p->mem.lkey, 65536));
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, t_send(&p->ep[1], i, (uintptr_t)p->mem.va, p->mem.lkey, 65536));
	ASSERT_EQ(0, t_disconnect(&p->f, &p->ep[1], DAT_DISCONNECT_GRACEFUL));
	EXPECT_EQ(0, t_disconnect(&p->f, &p->ep[1], DAT_DISCONNECT_GRACEFUL));
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
		EXPECT_EQ(DAT_ST_SUCCESS, eqe.status);
	}
	EXPECT_EVENT(&p->evd[1], DAT_EV_DISCONNECTED);
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
		EXPECT_EQ(DAT_ST_SUCCESS, eqe.status);
	}
	EXPECT_EVENT(&p->evd[0], DAT_EV_DISCONNECTED);
}

/* Covers: SH 7 */
TEST_F_TIMEOUT(connect, abrupt_hastens_a_graceful_disconnect, 60)
{
	struct t_pair *p = &self->p;

	ASSERT_EQ(0, t_pair_connect(p));
	/* The peer posts no receive, so the graceful disconnect alone would never end. */
	ASSERT_EQ(0, t_send(&p->ep[1], 1, (uintptr_t)p->mem.va, p->mem.lkey, 64));
	ASSERT_EQ(0, t_disconnect(&p->f, &p->ep[1], DAT_DISCONNECT_GRACEFUL));
	EXPECT_EQ(10, p->ep[1].st->state);
	ASSERT_EQ(0, t_disconnect(&p->f, &p->ep[1], 0));
	EXPECT_EQ(DAT_EV_DISCONNECTED, t_end(&p->evd[1], self->count));
	EXPECT_EQ(1, self->count[DAT_ST_FLUSHED]);
}

TEST_F_TIMEOUT(connect, disconnect_ends_an_attempt, 60)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;

	ASSERT_EQ(-EISCONN, t_disconnect(&p->f, &p->ep[1], 0));
	ASSERT_EQ(0, t_connect(&p->f, &p->ep[1], T_QUAL, NULL, 0));
	ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
	ASSERT_EQ(0, t_disconnect(&p->f, &p->ep[1], 0));
	EXPECT_EVENT(&p->evd[1], DAT_EV_DISCONNECTED);
	/* Exactly one event reports the end of the attempt. */
	EXPECT_EQ(0, t_event(&p->evd[1], T_QUIET_MS, &eqe));
}

/* Covers: SH 10 */
TEST_F_TIMEOUT(connect, an_ep_can_be_reset_and_connected_again, 240)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	int i, side;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, t_pair_connect(p)) TH_LOG("round %d", i);
		ASSERT_EQ(0, t_recv(&p->ep[0].rq, i, (uintptr_t)p->mem.va, p->mem.lkey, 64));
		ASSERT_EQ(0, t_send(&p->ep[1], i, (uintptr_t)p->mem.va, p->mem.lkey, 64));
		for (side = 0; side < 2; side++) {
			ASSERT_EQ(1, t_event(&p->evd[side], T_WAIT_MS, &eqe));
			ASSERT_EQ(DAT_EV_DTO, eqe.type);
			ASSERT_EQ(DAT_ST_SUCCESS, eqe.status);
		}
		ASSERT_EQ(0, t_disconnect(&p->f, &p->ep[i % 2], 0));
		for (side = 0; side < 2; side++) {
			EXPECT_EVENT(&p->evd[side], DAT_EV_DISCONNECTED);
			ASSERT_EQ(0, t_reset(&p->f, &p->ep[side]));
		}
	}
}

TEST_F_TIMEOUT(connect, freeing_a_connected_ep_disconnects_the_peer, 60)
{
	ASSERT_EQ(0, t_pair_connect(&self->p));
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_EP, self->p.ep[1].id));
	EXPECT_EVENT(&self->p.evd[0], DAT_EV_DISCONNECTED);
}

/*
 * The disconnect may overtake the end of the handshake.  The events must still arrive in order:
 * either ESTABLISHED and then DISCONNECTED, or only NON_PEER_REJECTED.
 */
TEST_F_TIMEOUT(connect, freeing_what_was_just_accepted_is_no_rejection_of_what_stood, 120)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, t_connect(&p->f, &p->ep[1], T_QUAL, NULL, 0));
		ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
		ASSERT_EQ(0, t_accept(&p->f, eqe.len, &p->ep[0], NULL, 0));
		usleep(i * 100);
		ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_EP, p->ep[0].id));
		ASSERT_EQ(1, t_event(&p->evd[1], T_WAIT_MS, &eqe));
		if (eqe.type == DAT_EV_ESTABLISHED)
			EXPECT_EVENT(&p->evd[1], DAT_EV_DISCONNECTED);
		else
			EXPECT_EQ(DAT_EV_NON_PEER_REJECTED, eqe.type);
		while (t_event(&p->evd[0], 0, &eqe))
			;
		ASSERT_EQ(0, t_reset(&p->f, &p->ep[1]));
		ASSERT_EQ(0, t_ep(&p->f, p->pz, &p->evd[0], 0, 0, &p->ep[0]));
	}
}

TEST_F_TIMEOUT(connect, freeing_the_listener_keeps_requests, 60)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;

	ASSERT_EQ(0, t_connect(&p->f, &p->ep[1], T_QUAL, NULL, 0));
	ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
	ASSERT_EQ(0, t_free(&p->f, DAT_OBJ_PSP, p->psp));
	ASSERT_EQ(0, t_accept(&p->f, eqe.len, &p->ep[0], NULL, 0));
	EXPECT_EVENT(&p->evd[0], DAT_EV_ESTABLISHED);
	EXPECT_EVENT(&p->evd[1], DAT_EV_ESTABLISHED);
}

TEST_F(connect, a_qualifier_is_taken_once)
{
	uint32_t psp;

	EXPECT_EQ(-EADDRINUSE, t_psp(&self->p.f, &self->p.cr, T_QUAL, &psp));
	ASSERT_EQ(0, t_free(&self->p.f, DAT_OBJ_PSP, self->p.psp));
	EXPECT_EQ(0, t_psp(&self->p.f, &self->p.cr, T_QUAL, &psp));
}

TEST_F(connect, the_kernel_can_choose_a_qualifier)
{
	struct dat_psp_create arg = { .size = sizeof(arg), .evd = self->p.cr.id };

	ASSERT_EQ(0, t_ioctl(self->p.f.fd, DAT_IOC_PSP_CREATE, &arg));
	EXPECT_NE(0, arg.conn_qual);
	EXPECT_GE(65535, arg.conn_qual);
}

/* Covers: SH 1, 2 */
TEST_F_TIMEOUT(connect, receives_posted_before_and_messages_sent_early_arrive, 60)
{
	struct t_pair *p = &self->p;
	struct dat_eqe eqe;
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, t_recv(&p->ep[0].rq, i, (uintptr_t)p->mem.va, p->mem.lkey, 64));
	ASSERT_EQ(0, t_connect(&p->f, &p->ep[1], T_QUAL, NULL, 0));
	ASSERT_EQ(1, t_event(&p->cr, T_WAIT_MS, &eqe));
	ASSERT_EQ(0, t_accept(&p->f, eqe.len, &p->ep[0], NULL, 0));
	EXPECT_EVENT(&p->evd[1], DAT_EV_ESTABLISHED);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, t_send(&p->ep[1], i, (uintptr_t)p->mem.va, p->mem.lkey, 64));
	/* ESTABLISHED comes first, even if a message arrives before the end of the handshake. */
	EXPECT_EVENT(&p->evd[0], DAT_EV_ESTABLISHED);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(1, t_event(&p->evd[0], T_WAIT_MS, &eqe));
		EXPECT_EQ(DAT_EV_DTO, eqe.type);
		EXPECT_EQ(i, eqe.cookie);
	}
}

TEST_HARNESS_MAIN
