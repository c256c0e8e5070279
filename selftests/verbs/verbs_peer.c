// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* DAT interoperates with a peer that uses libibverbs and librdmacm instead of DAT. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_api.h"

#define ROUNDS		8
#define MSG		3000	/* not a multiple of the MTU, 1024 */
#define VERBS_QUAL	(A_QUAL + 2)

static char host[INET_ADDRSTRLEN];

/* --- the verbs side, a process of its own -------------------------------------- */

static char v_out[MSG], v_in[MSG];

static struct rdma_cm_id *v_id(int listen, int port)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};
	struct rdma_cm_id *id;
	char service[8];

	snprintf(service, sizeof(service), "%d", port);
	if (listen)
		hints.ai_flags = RAI_PASSIVE;
	if (rdma_getaddrinfo(host, service, &hints, &res) ||
	    rdma_create_ep(&id, res, NULL, &attr))
		return NULL;
	return id;
}

/* Fill @buf with the contents of message @n of side @who, 'd' for DAT or 'v' for verbs. */
static void fill(char *buf, char who, int n)
{
	int i;

	for (i = 0; i < MSG; i++)
		buf[i] = (char)(who + n + i * 7);
}

/* Exchange messages as the verbs side: in each round, receive the message of DAT, then send one. */
static int v_exchange(struct rdma_cm_id *id, struct ibv_mr *in, struct ibv_mr *out)
{
	char want[MSG];
	struct ibv_wc wc;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (rdma_get_recv_comp(id, &wc) <= 0 || wc.status || wc.byte_len != MSG)
			return 10;
		fill(want, 'd', i);
		if (memcmp(want, v_in, MSG))
			return 11;
		if (rdma_post_recv(id, NULL, v_in, MSG, in))
			return 12;
		fill(v_out, 'v', i);
		if (rdma_post_send(id, NULL, v_out, MSG, out, 0) ||
		    rdma_get_send_comp(id, &wc) <= 0 || wc.status)
			return 13;
	}
	return 0;
}

static int v_ready(struct rdma_cm_id *id, struct ibv_mr **in, struct ibv_mr **out)
{
	*in = rdma_reg_msgs(id, v_in, MSG);
	*out = rdma_reg_msgs(id, v_out, MSG);
	return !*in || !*out || rdma_post_recv(id, NULL, v_in, MSG, *in);
}

static int v_client(void)
{
	struct rdma_conn_param param = {
		.private_data = "from verbs", .private_data_len = 11,
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct rdma_cm_id *id = v_id(0, A_QUAL);
	struct ibv_mr *in, *out;
	int ret;

	if (!id || v_ready(id, &in, &out))
		return 2;
	if (rdma_connect(id, &param))
		return 3;
	if (id->event->param.conn.private_data_len < 9 ||
	    memcmp(id->event->param.conn.private_data, "from DAT", 9))
		return 4;
	ret = v_exchange(id, in, out);
	rdma_disconnect(id);
	return ret;
}

/* Serve one client.  Write to @ready when the server listens. */
static int v_server(int ready)
{
	struct rdma_conn_param param = {
		.private_data = "from verbs", .private_data_len = 11,
		.responder_resources = 1, .initiator_depth = 1, .rnr_retry_count = 7,
	};
	struct rdma_cm_id *listener = v_id(1, VERBS_QUAL), *id;
	struct ibv_mr *in, *out;
	int ret;

	if (!listener || rdma_listen(listener, 1))
		return 2;
	write(ready, "y", 1);
	if (rdma_get_request(listener, &id))
		return 3;
	if (memcmp(id->event->param.conn.private_data, "from DAT", 9))
		return 4;
	if (v_ready(id, &in, &out) || rdma_accept(id, &param))
		return 5;
	ret = v_exchange(id, in, out);
	rdma_disconnect(id);
	return ret;
}

/*
 * Write to @ready when the server listens.  Then reject the request with @len bytes of private
 * data.  If @len is -1, exit without an answer to the request.
 */
static int v_rejecter(int ready, int len)
{
	struct rdma_cm_id *listener = v_id(1, VERBS_QUAL), *id;

	if (!listener || rdma_listen(listener, 1))
		return 2;
	write(ready, "y", 1);
	if (rdma_get_request(listener, &id))
		return 3;
	if (len < 0)
		_exit(0);
	if (rdma_reject(id, "no room", len))
		return 4;
	rdma_destroy_ep(id);
	return 0;
}

/* --- the DAT side --------------------------------------------------------------- */

FIXTURE(verbs) {
	struct a_pair p;
	pid_t peer;
	int ready[2];
};

FIXTURE_SETUP(verbs)
{
	struct sockaddr_in *sin;

	self->peer = 0;
	ASSERT_EQ(0, pipe(self->ready));
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
	sin = (struct sockaddr_in *)self->p.attr.ia_address_ptr;
	ASSERT_EQ(AF_INET, sin->sin_family);
	inet_ntop(AF_INET, &sin->sin_addr, host, sizeof(host));
}

FIXTURE_TEARDOWN(verbs)
{
	if (self->peer > 0) {
		kill(self->peer, SIGKILL);
		waitpid(self->peer, NULL, 0);
	}
	a_close(&self->p);
}

static void start_peer(FIXTURE_DATA(verbs) *self, int server)
{
	char c;

	self->peer = fork();
	if (!self->peer)
		_exit(server ? v_server(self->ready[1]) : v_client());
	close(self->ready[1]);
	if (server)
		read(self->ready[0], &c, 1);
}

static void exchange(struct __test_metadata *_metadata, FIXTURE_DATA(verbs) *self)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET in = a_seg(&p->mem, 0, MSG), out = a_seg(&p->mem, 8192, MSG);
	char want[MSG];
	uint64_t len;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_recv(p->ep[0], 1, &in, a_cookie(i), 0));
		fill(p->mem.va + 8192, 'd', i);
		ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[0], 1, &out, a_cookie(i), 0));
		/*
		 * The completion of the send and the answer of the peer may arrive in either order.
		 */
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, NULL));
		ASSERT_EQ(DAT_DTO_SUCCESS, a_dto(p->evd[0], NULL, &len));
		EXPECT_EQ(MSG, len);
		fill(want, 'v', i);
		ASSERT_EQ(0, memcmp(want, p->mem.va, MSG)) TH_LOG("message %d", i);
	}
}

static void expect_end(struct __test_metadata *_metadata, FIXTURE_DATA(verbs) *self)
{
	DAT_EVENT event;
	int status;

	ASSERT_EQ(1, a_event(self->p.evd[0], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, event.event_number);
	ASSERT_EQ(self->peer, waitpid(self->peer, &status, 0));
	self->peer = 0;
	EXPECT_EQ(0, status) TH_LOG("the verbs side says %d", WEXITSTATUS(status));
}

/* Control: rping, which uses verbs without DAT, works on this machine. */
TEST_F_TIMEOUT(verbs, control_rping, 120)
{
	char cmd[256];

	if (system("command -v rping >/dev/null")) {
		/* scripts/deps installs it for the tests in the virtual machine. */
		ASSERT_EQ(NULL, getenv("DAT_VM"));
		SKIP(return, "rping is not installed (Debian package rdmacm-utils)");
	}
	snprintf(cmd, sizeof(cmd), "timeout 60 rping -s -a %s -p 7174 -C 4 >/dev/null 2>&1 & "
		 "sleep 2; timeout 60 rping -c -a %s -p 7174 -C 4 -v >/dev/null 2>&1", host, host);
	EXPECT_EQ(0, system(cmd));
}

/* Return the smallest of the limit @n, the limit of a CQ, and 65536. */
static int queue_limit(const struct ibv_device_attr *dev, int n)
{
	if (n > dev->max_cqe)
		n = dev->max_cqe;
	return n < 65536 ? n : 65536;
}

/* Query the RDMA device of an IA, whose name may end in a port.  Return 0 on success. */
static int device_attr(const char *ia, struct ibv_device_attr *attr)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **d;
	struct ibv_context *context = NULL;
	size_t len = strcspn(ia, ":");
	int ret = -1;

	for (d = list; d && *d && !context; d++)
		if (strlen(ibv_get_device_name(*d)) == len &&
		    !strncmp(ibv_get_device_name(*d), ia, len))
			context = ibv_open_device(*d);
	if (context) {
		ret = ibv_query_device(context, attr);
		ibv_close_device(context);
	}
	ibv_free_device_list(list);
	return ret;
}

TEST_F(verbs, queues_may_be_as_long_as_the_device_allows)
{
	const DAT_IA_ATTR *ia = &self->p.attr;
	struct ibv_device_attr dev;

	ASSERT_EQ(0, device_attr(ia->adapter_name, &dev));
	EXPECT_EQ(queue_limit(&dev, dev.max_qp_wr), ia->max_dto_per_ep);
	EXPECT_EQ(queue_limit(&dev, dev.max_srq_wr), ia->max_recv_per_srq);
}

TEST_F_TIMEOUT(verbs, a_client_connects_to_our_psp, 120)
{
	struct a_pair *p = &self->p;
	DAT_CR_HANDLE cr_handle;
	DAT_CR_PARAM cr;
	DAT_EVENT event;

	start_peer(self, 0);
	ASSERT_EQ(1, a_event(p->cr, A_WAIT_US, &event));
	cr_handle = event.event_data.cr_arrival_event_data.cr_handle;
	ASSERT_EQ(DAT_SUCCESS, dat_cr_query(cr_handle, DAT_CR_FIELD_ALL, &cr));
	ASSERT_LE(11, cr.private_data_size);
	EXPECT_EQ(0, memcmp("from verbs", cr.private_data, 11));
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(cr_handle, p->ep[0], 9, "from DAT"));
	ASSERT_EQ(1, a_event(p->evd[0], A_WAIT_US, &event));
	ASSERT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
	exchange(_metadata, self);
	expect_end(_metadata, self);
}

TEST_F_TIMEOUT(verbs, our_ep_connects_to_a_server, 120)
{
	struct a_pair *p = &self->p;
	DAT_EVENT event;

	start_peer(self, 1);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_connect(p->ep[0], p->attr.ia_address_ptr, VERBS_QUAL,
					      A_WAIT_US, 9, "from DAT", DAT_QOS_BEST_EFFORT, 0));
	ASSERT_EQ(1, a_event(p->evd[0], A_WAIT_US, &event));
	ASSERT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
	ASSERT_LE(11, event.event_data.connect_event_data.private_data_size);
	EXPECT_EQ(0, memcmp("from verbs", event.event_data.connect_event_data.private_data, 11));
	exchange(_metadata, self);
	expect_end(_metadata, self);
}

/*
 * A client that is killed does not call rdma_disconnect(), but the DAT side must get DISCONNECTED.
 */
/* Covers: SH 64 */
TEST_F_TIMEOUT(verbs, a_client_that_is_killed_disconnects, 120)
{
	struct a_pair *p = &self->p;
	DAT_EVENT event;

	start_peer(self, 0);
	ASSERT_EQ(1, a_event(p->cr, A_WAIT_US, &event));
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
					     p->ep[0], 9, "from DAT"));
	ASSERT_EQ(1, a_event(p->evd[0], A_WAIT_US, &event));
	ASSERT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
	kill(self->peer, SIGKILL);
	ASSERT_EQ(1, a_event(p->evd[0], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, event.event_number);
}

/* Start v_rejecter() in a child, connect to it, and return the number of the resulting event. */
static DAT_EVENT_NUMBER rejected(FIXTURE_DATA(verbs) *self, int len)
{
	struct a_pair *p = &self->p;
	DAT_EVENT event;
	char y;

	self->peer = fork();
	if (!self->peer)
		_exit(v_rejecter(self->ready[1], len));
	read(self->ready[0], &y, 1);
	if (dat_ep_connect(p->ep[0], p->attr.ia_address_ptr, VERBS_QUAL, A_WAIT_US, 9,
			   "from DAT", DAT_QOS_BEST_EFFORT, 0) ||
	    a_event(p->evd[0], A_WAIT_US, &event) != 1)
		return 0;
	/* A program that knows only DAT 1.2 has never seen what another library sends. */
	if (event.event_data.connect_event_data.private_data_size ||
	    event.event_data.connect_event_data.private_data)
		return 0;
	return event.event_number;
}

/* Covers: dat_ep_connect; SH 54 */
TEST_F_TIMEOUT(verbs, a_server_that_rejects_with_data_is_PEER_REJECTED, 120)
{
	EXPECT_EQ(DAT_CONNECTION_EVENT_PEER_REJECTED, rejected(self, 7));
}

TEST_F_TIMEOUT(verbs, a_server_that_rejects_without_data_is_PEER_REJECTED, 120)
{
	EXPECT_EQ(DAT_CONNECTION_EVENT_PEER_REJECTED, rejected(self, 0));
}

/*
 * If the server exits without an answer, the kernel sends the same reject as for a server that
 * rejects without private data.
 */
TEST_F_TIMEOUT(verbs, a_server_that_dies_with_the_request_is_PEER_REJECTED, 120)
{
	EXPECT_EQ(DAT_CONNECTION_EVENT_PEER_REJECTED, rejected(self, -1));
}

TEST_HARNESS_MAIN
