// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Connections through libdat: events, private data, and EP states. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

#include "kselftest_harness.h"
#include "dat_api.h"
#include "api_conform.h"

FIXTURE(connect) {
	struct a_pair p;
};

FIXTURE_SETUP(connect)
{
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
}

FIXTURE_TEARDOWN(connect)
{
	a_close(&self->p);
}

static DAT_RETURN do_connect(struct a_pair *p, DAT_CONN_QUAL qual, const void *pd, int len)
{
	return dat_ep_connect(p->ep[1], p->attr.ia_address_ptr, qual, A_WAIT_US, len,
			      (DAT_PVOID)pd, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/*
 * Covers: dat_ep_connect; dat_cr_query; dat_cr_accept; dat_cr_reject INVALID_HANDLE|CR;
 * dat_ep_query; SH 13, 56, 57, 61
 */
TEST_F_TIMEOUT(connect, requester_and_private_data_are_known, 60)
{
	struct a_pair *p = &self->p;
	DAT_CR_ARRIVAL_EVENT_DATA *arrival;
	DAT_CONNECTION_EVENT_DATA *data;
	char request[56], reply[56];
	DAT_CR_PARAM cr;
	DAT_EP_PARAM ep;
	DAT_EVENT event;

	memset(request, 'q', sizeof(request));
	memset(reply, 'r', sizeof(reply));
	ASSERT_EQ(DAT_SUCCESS, do_connect(p, A_QUAL, request, sizeof(request)));
	EXPECT_EQ(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, c_state(p->ep[1]));
	ASSERT_EQ(1, a_event(p->cr, A_WAIT_US, &event));
	ASSERT_EQ(DAT_CONNECTION_REQUEST_EVENT, event.event_number);
	arrival = &event.event_data.cr_arrival_event_data;
	EXPECT_EQ(p->cr, event.evd_handle);
	EXPECT_EQ(p->psp, arrival->sp_handle.psp_handle);
	EXPECT_EQ(A_QUAL, arrival->conn_qual);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_query(arrival->cr_handle, DAT_CR_FIELD_ALL, &cr));
	EXPECT_EQ(56, cr.private_data_size);
	EXPECT_EQ(0, memcmp(request, cr.private_data, 56));
	EXPECT_NE(0, cr.remote_port_qual);
	EXPECT_EQ(DAT_HANDLE_NULL, cr.local_ep_handle);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(arrival->cr_handle, p->ep[0], 56, reply));
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR), dat_cr_reject(arrival->cr_handle));
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	ASSERT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
	data = &event.event_data.connect_event_data;
	EXPECT_EQ(p->ep[1], data->ep_handle);
	ASSERT_LE(56, data->private_data_size);
	EXPECT_EQ(0, memcmp(reply, data->private_data, 56));
	ASSERT_EQ(1, a_event(p->evd[0], A_WAIT_US, &event));
	EXPECT_EQ(0, event.event_data.connect_event_data.private_data_size);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[1], DAT_EP_FIELD_ALL, &ep));
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep.ep_state);
	EXPECT_EQ(A_QUAL, ep.remote_port_qual);
	EXPECT_EQ(0, memcmp(ep.remote_ia_address_ptr->sa_data + 2,
			    p->attr.ia_address_ptr->sa_data + 2, 4));
}

/*
 * Set @addr to another address of the interface with the address of the IA: its link-local one.
 * Return 1 if there is one.
 */
static int other_address(const struct sockaddr *of_ia, struct sockaddr_in6 *addr)
{
	const char *name = NULL;
	struct ifaddrs *all, *i;
	int found = 0;

	if (of_ia->sa_family != AF_INET || getifaddrs(&all))
		return 0;
	for (i = all; i; i = i->ifa_next)
		if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
		    !memcmp(i->ifa_addr->sa_data + 2, of_ia->sa_data + 2, 4))
			name = i->ifa_name;
	for (i = all; i && name && !found; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET6 || strcmp(i->ifa_name, name))
			continue;
		memcpy(addr, i->ifa_addr, sizeof(*addr));
		found = IN6_IS_ADDR_LINKLOCAL(&addr->sin6_addr);
	}
	freeifaddrs(all);
	return found;
}

/* Covers: dat_ep_connect */
TEST_F_TIMEOUT(connect, a_request_names_the_address_that_was_used, 60)
{
	struct a_pair *p = &self->p;
	DAT_CR_ARRIVAL_EVENT_DATA *arrival;
	const struct sockaddr_in6 *local;
	struct sockaddr_in6 addr;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, do_connect(p, A_QUAL, NULL, 0));
	ASSERT_EQ(1, a_event(p->cr, A_WAIT_US, &event));
	arrival = &event.event_data.cr_arrival_event_data;
	EXPECT_EQ(0, memcmp(arrival->local_ia_address_ptr->sa_data + 2,
			    p->attr.ia_address_ptr->sa_data + 2, 4));
	ASSERT_EQ(DAT_SUCCESS, dat_cr_reject(arrival->cr_handle));
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(p->ep[1]));
	if (!other_address(p->attr.ia_address_ptr, &addr))
		SKIP(return, "the interface has no link-local address");
	ASSERT_EQ(DAT_SUCCESS,
		  dat_ep_connect(p->ep[1], (DAT_IA_ADDRESS_PTR)&addr, A_QUAL, DAT_TIMEOUT_INFINITE,
				 0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	ASSERT_EQ(1, a_event(p->cr, A_WAIT_US, &event));
	arrival = &event.event_data.cr_arrival_event_data;
	local = (const struct sockaddr_in6 *)arrival->local_ia_address_ptr;
	EXPECT_EQ(AF_INET6, local->sin6_family);
	EXPECT_EQ(0, memcmp(&addr.sin6_addr, &local->sin6_addr, sizeof(addr.sin6_addr)));
	ASSERT_EQ(DAT_SUCCESS, dat_cr_reject(arrival->cr_handle));
}

/* Covers: dat_cr_reject; dat_ep_reset; SH 54 */
TEST_F_TIMEOUT(connect, rejects_are_told_from_absence, 60)
{
	struct a_pair *p = &self->p;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, do_connect(p, A_QUAL, NULL, 0));
	ASSERT_EQ(1, a_event(p->cr, A_WAIT_US, &event));
	ASSERT_EQ(DAT_SUCCESS, dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_PEER_REJECTED, event.event_number);
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, c_state(p->ep[1]));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(p->ep[1]));
	ASSERT_EQ(DAT_SUCCESS, do_connect(p, A_QUAL + 1, NULL, 0));
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, event.event_number);
}

/*
 * Covers: dat_ep_connect INVALID_PARAMETER|ARG2|ARG3|ARG4|ARG5|ARG6 INVALID_ADDRESS|UNSUPPORTED
 * MODEL_NOT_SUPPORTED; SH 55, 56, 62, 70
 */
TEST_F(connect, arguments_are_checked)
{
	struct a_pair *p = &self->p;
	DAT_SOCK_ADDR unknown = { .sa_family = 99 };
	DAT_PROVIDER_ATTR provider;
	char pd[512] = "";

#define CONNECT(addr, qual, timeout, len, data, qos, flags) \
	dat_ep_connect(p->ep[1], addr, qual, timeout, len, data, (DAT_QOS)(qos), \
		       (DAT_CONNECT_FLAGS)(flags))
	DAT_IA_ADDRESS_PTR good = p->attr.ia_address_ptr;

	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2), CONNECT(NULL, 1, 1, 0, NULL, 0, 0));
	EXPECT_EQ(RC(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED),
		  CONNECT(&unknown, 1, 1, 0, NULL, 0, 0));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3), CONNECT(good, 0, 1, 0, NULL, 0, 0));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4), CONNECT(good, 1, 0, 0, NULL, 0, 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ia_query(p->ia, NULL, 0, NULL,
					    DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE, &provider));
	ASSERT_GT((DAT_COUNT)sizeof(pd), provider.max_private_data_size);
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
		  CONNECT(good, 1, 1, provider.max_private_data_size + 1, pd, 0, 0));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5), CONNECT(good, 1, 1, -1, pd, 0, 0));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6), CONNECT(good, 1, 1, 4, NULL, 0, 0));
	EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0), CONNECT(good, 1, 1, 0, NULL, 0x10, 0));
	EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0),
		  CONNECT(good, 1, 1, 0, NULL, DAT_QOS_PREMIUM | DAT_QOS_ECONOMY, 0));
	EXPECT_EQ(RC(DAT_MODEL_NOT_SUPPORTED, 0), CONNECT(good, 1, 1, 0, NULL, 0, 1));
	EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, c_state(p->ep[1]));
}

/* Covers: dat_ep_connect INVALID_ADDRESS|UNREACHABLE */
TEST_F(connect, a_loopback_address_is_refused_with_the_address_to_use)
{
	struct sockaddr_in loopback = { .sin_family = AF_INET };
	struct a_pair *p = &self->p;
	char own[INET6_ADDRSTRLEN];
	const char *text;

	if (!strcmp(a_adapter(), "lo0"))
		SKIP(return, "lo0 serves loopback addresses");
	inet_pton(AF_INET, "127.0.1.1", &loopback.sin_addr);
	inet_ntop(AF_INET, &((struct sockaddr_in *)p->attr.ia_address_ptr)->sin_addr, own,
		  sizeof(own));
	a_log_begin();
	EXPECT_EQ(RC(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE),
		  CONNECT((DAT_IA_ADDRESS_PTR)&loopback, 1, A_WAIT_US, 0, NULL, 0, 0));
	text = a_log_end();
	EXPECT_NE(NULL, strstr(text, "127.0.1.1 is a loopback address"));
	EXPECT_NE(NULL, strstr(text, own)) TH_LOG("the message: '%s'", text);
	EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, c_state(p->ep[1]));
}

/*
 * Covers: dat_ep_post_send INVALID_STATE; dat_ep_disconnect INVALID_STATE INVALID_PARAMETER|ARG2;
 * dat_ep_connect INVALID_STATE; dat_ep_reset INVALID_STATE; SH 4, 8, 10
 */
TEST_F_TIMEOUT(connect, states_forbid_what_they_should, 60)
{
	struct a_pair *p = &self->p;
	DAT_LMR_TRIPLET seg = a_seg(&p->mem, 0, 64);
	DAT_EVENT event;

	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED),
		  dat_ep_post_send(p->ep[1], 1, &seg, a_cookie(0), 0));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED),
		  dat_ep_disconnect(p->ep[1], DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(DAT_SUCCESS, dat_ep_reset(p->ep[1]));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, p->ep[1], p->ep[0], p->evd[1], p->evd[0]));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED),
		  do_connect(p, A_QUAL, NULL, 0));
	EXPECT_EQ(RC(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED), dat_ep_reset(p->ep[1]));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		  dat_ep_disconnect(p->ep[1], (DAT_CLOSE_FLAGS)7));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_GRACEFUL_FLAG));
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, event.event_number);
	/* On an EP in the state DISCONNECTED, posts succeed and are flushed. */
	ASSERT_EQ(DAT_SUCCESS, dat_ep_post_send(p->ep[1], 1, &seg, a_cookie(9), 0));
	EXPECT_EQ(DAT_DTO_ERR_FLUSHED, a_dto(p->evd[1], NULL, NULL));
	EXPECT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_ABRUPT_FLAG));
}

/*
 * Covers: dat_psp_create CONN_QUAL_IN_USE; dat_psp_create_any; dat_psp_query; dat_psp_free; SH 62
 */
TEST_F(connect, a_qualifier_in_use_is_told)
{
	DAT_CONN_QUAL any = 0;
	DAT_PSP_HANDLE psp;
	DAT_PSP_PARAM param;

	EXPECT_EQ(RC(DAT_CONN_QUAL_IN_USE, 0),
		  dat_psp_create(self->p.ia, A_QUAL, self->p.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	ASSERT_EQ(DAT_SUCCESS, dat_psp_create_any(self->p.ia, &any, self->p.cr,
						  DAT_PSP_CONSUMER_FLAG, &psp));
	EXPECT_NE(0, any);
	ASSERT_EQ(DAT_SUCCESS, dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param));
	EXPECT_EQ(any, param.conn_qual);
	EXPECT_EQ(self->p.cr, param.evd_handle);
	EXPECT_EQ(DAT_SUCCESS, dat_psp_free(psp));
}

#define LARGE_QUAL	(1ULL << 40 | 4194304)
#define LARGE_PORT	(LARGE_QUAL % 32001 + 33534)

/* Covers: dat_psp_create; dat_psp_query; dat_ep_connect; dat_cr_accept; SH 62 */
TEST_F_TIMEOUT(connect, a_qualifier_beyond_a_port_is_listened_at_and_reached, 60)
{
	struct a_pair *p = &self->p;
	DAT_CR_ARRIVAL_EVENT_DATA *arrival;
	DAT_PSP_PARAM param;
	DAT_PSP_HANDLE psp;
	DAT_EP_PARAM ep;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, dat_psp_create(p->ia, LARGE_QUAL, p->cr, DAT_PSP_CONSUMER_FLAG,
					      &psp));
	ASSERT_EQ(DAT_SUCCESS, dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param));
	EXPECT_EQ(LARGE_QUAL, param.conn_qual);
	ASSERT_EQ(DAT_SUCCESS, do_connect(p, LARGE_QUAL, NULL, 0));
	ASSERT_EQ(1, a_event(p->cr, A_WAIT_US, &event));
	arrival = &event.event_data.cr_arrival_event_data;
	EXPECT_EQ(psp, arrival->sp_handle.psp_handle);
	EXPECT_EQ(LARGE_QUAL, arrival->conn_qual);
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(arrival->cr_handle, p->ep[0], 0, NULL));
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(p->ep[1], DAT_EP_FIELD_ALL, &ep));
	EXPECT_EQ(LARGE_PORT, ep.remote_port_qual);
}

/* Covers: dat_psp_create CONN_QUAL_IN_USE; dat_rsp_create CONN_QUAL_IN_USE; SH 62 */
TEST_F(connect, qualifiers_of_the_same_port_exclude_each_other)
{
	struct a_pair *p = &self->p;
	DAT_PSP_HANDLE psp, other;
	DAT_RSP_HANDLE rsp;

	ASSERT_EQ(DAT_SUCCESS, dat_psp_create(p->ia, LARGE_QUAL, p->cr, DAT_PSP_CONSUMER_FLAG,
					      &psp));
	EXPECT_EQ(RC(DAT_CONN_QUAL_IN_USE, 0),
		  dat_psp_create(p->ia, LARGE_PORT, p->cr, DAT_PSP_CONSUMER_FLAG, &other));
	EXPECT_EQ(RC(DAT_CONN_QUAL_IN_USE, 0),
		  dat_psp_create(p->ia, LARGE_QUAL + 32001, p->cr, DAT_PSP_CONSUMER_FLAG, &other));
	EXPECT_EQ(RC(DAT_CONN_QUAL_IN_USE, 0),
		  dat_rsp_create(p->ia, LARGE_QUAL - 32001, p->ep[0], p->cr, &rsp));
	ASSERT_EQ(DAT_SUCCESS, dat_psp_free(psp));
	EXPECT_EQ(DAT_SUCCESS, dat_rsp_create(p->ia, LARGE_QUAL, p->ep[0], p->cr, &rsp));
}

/* Covers: dat_ep_connect; SH 62 */
TEST_F_TIMEOUT(connect, qualifiers_map_to_the_ports_of_other_libraries, 60)
{
	static const struct {
		DAT_CONN_QUAL qual, port;
	} map[] = {
		{ 65536, 35068 }, { 4194304, 35707 }, { ~0ULL, 45303 },
	};
	struct a_pair *p = &self->p;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;
	unsigned int i;

	for (i = 0; i < sizeof(map) / sizeof(map[0]); i++) {
		ASSERT_EQ(DAT_SUCCESS, dat_psp_create(p->ia, map[i].port, p->cr,
						      DAT_PSP_CONSUMER_FLAG, &psp));
		ASSERT_EQ(DAT_SUCCESS, do_connect(p, map[i].qual, NULL, 0));
		ASSERT_EQ(1, a_event(p->cr, A_WAIT_US, &event)) TH_LOG("%u", i);
		EXPECT_EQ(map[i].port, event.event_data.cr_arrival_event_data.conn_qual);
		dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle);
		ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
		ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(p->ep[1]));
		ASSERT_EQ(DAT_SUCCESS, dat_psp_free(psp));
	}
}

/* Covers: dat_ep_query; SH 52 */
TEST_F_TIMEOUT(connect, a_connected_endpoint_tells_the_depths_of_reads_that_hold, 60)
{
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EP_HANDLE ep[2];
	DAT_EP_PARAM param;
	DAT_EVENT event;

	attr.max_rdma_read_in = 1;
	attr.max_rdma_read_out = 4;
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[0], p->evd[0], p->evd[0], &attr,
					     &ep[0]));
	attr.max_rdma_read_in = 2;
	attr.max_rdma_read_out = 3;
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[1], p->evd[1], p->evd[1], &attr,
					     &ep[1]));
	ASSERT_EQ(DAT_SUCCESS, a_connect(p, ep[1], ep[0], p->evd[1], p->evd[0]));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(ep[0], DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(1, param.ep_attr.max_rdma_read_in);
	EXPECT_EQ(2, param.ep_attr.max_rdma_read_out);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(ep[1], DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(2, param.ep_attr.max_rdma_read_in);
	EXPECT_EQ(1, param.ep_attr.max_rdma_read_out);
	/*
	 * After the reset, the depths of RDMA reads are again those that were requested when the EP
	 * was created.
	 */
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(ep[1], DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(ep[1]));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_query(ep[1], DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(2, param.ep_attr.max_rdma_read_in);
	EXPECT_EQ(3, param.ep_attr.max_rdma_read_out);
}

static DAT_RETURN connect_to(struct a_pair *p, DAT_IA_ADDRESS_PTR to, DAT_TIMEOUT us)
{
	return dat_ep_connect(p->ep[1], to, A_QUAL, us, 0, NULL, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

/* Covers: dat_ep_connect; SH 54, 55 */
TEST_F_TIMEOUT(connect, the_consumers_time_is_over, 60)
{
	struct a_pair *p = &self->p;
	DAT_EVENT event;

	/* The test does not answer the connection request. */
	ASSERT_EQ(DAT_SUCCESS, connect_to(p, p->attr.ia_address_ptr, 300000));
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_TIMED_OUT, event.event_number);
	EXPECT_EQ(p->ep[1], event.event_data.connect_event_data.ep_handle);
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, c_state(p->ep[1]));
	/* No second event must follow, whatever arrives from the network later. */
	EXPECT_EQ(0, a_event(p->evd[1], A_QUIET_US, &event));
}

/* Covers: SH 54, 55 */
TEST_F_TIMEOUT(connect, an_address_that_is_not_there, 60)
{
	struct sockaddr_in nobody;
	struct a_pair *p = &self->p;
	DAT_EVENT event;

	memcpy(&nobody, p->attr.ia_address_ptr, sizeof(nobody));
	nobody.sin_addr.s_addr ^= htonl(0x55);
	if (!strcmp(a_adapter(), "lo0")) {
		/* 192.0.2.1 is nobody's, and that is known at once. */
		nobody.sin_addr.s_addr = htonl(0xc0000201);
		EXPECT_EQ(RC(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE),
			  connect_to(p, (DAT_IA_ADDRESS_PTR)&nobody, DAT_TIMEOUT_INFINITE));
		return;
	}
	ASSERT_EQ(DAT_SUCCESS, connect_to(p, (DAT_IA_ADDRESS_PTR)&nobody, DAT_TIMEOUT_INFINITE));
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_UNREACHABLE, event.event_number);
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, c_state(p->ep[1]));
}

/* Private data of each length must arrive complete.  The transport may append padding. */
/* Covers: dat_ep_connect; dat_cr_accept; dat_ep_reset; SH 10, 56 */
TEST_F_TIMEOUT(connect, private_data_of_each_length, 240)
{
	struct a_pair *p = &self->p;
	char request[56], reply[56];
	DAT_CR_HANDLE handle;
	DAT_CR_PARAM cr;
	DAT_EVENT event;
	int len, i;

	for (len = 0; len <= 56; len += len < 4 || len > 52 ? 1 : 8) {
		for (i = 0; i < 56; i++) {
			request[i] = (char)(len + i + 1);
			reply[i] = (char)(len - i - 1);
		}
		ASSERT_EQ(DAT_SUCCESS, do_connect(p, A_QUAL, len ? request : NULL, len));
		ASSERT_EQ(1, a_event(p->cr, A_WAIT_US, &event));
		handle = event.event_data.cr_arrival_event_data.cr_handle;
		ASSERT_EQ(DAT_SUCCESS, dat_cr_query(handle, DAT_CR_FIELD_ALL, &cr));
		ASSERT_LE(len, cr.private_data_size);
		EXPECT_EQ(0, memcmp(request, cr.private_data, len)) TH_LOG("request of %d", len);
		ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(handle, p->ep[0], len, len ? reply : NULL));
		ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
		ASSERT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
		ASSERT_LE(len, event.event_data.connect_event_data.private_data_size);
		EXPECT_EQ(0, memcmp(reply, event.event_data.connect_event_data.private_data, len))
			TH_LOG("reply of %d", len);
		ASSERT_EQ(1, a_event(p->evd[0], A_WAIT_US, &event));
		/*
		 * One of the two sides disconnects.  After a reset, both EPs can be connected
		 * again.
		 */
		ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[len % 2], DAT_CLOSE_ABRUPT_FLAG));
		for (i = 0; i < 2; i++) {
			ASSERT_EQ(1, a_event(p->evd[i], A_WAIT_US, &event));
			EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, event.event_number);
			ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(p->ep[i]));
			EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, c_state(p->ep[i]));
		}
	}
}

TEST_F_TIMEOUT(connect, private_data_that_is_too_long, 60)
{
	struct a_pair *p = &self->p;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	char pd[512] = "";

	ASSERT_EQ(DAT_SUCCESS, do_connect(p, A_QUAL, NULL, 0));
	ASSERT_EQ(1, a_event(p->cr, A_WAIT_US, &event));
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		  dat_cr_accept(cr, p->ep[0], sizeof(pd), pd));
	EXPECT_EQ(RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3), dat_cr_accept(cr, p->ep[0], -1, pd));
	/* The failed accept has not changed the connection request. */
	EXPECT_EQ(DAT_SUCCESS, dat_cr_accept(cr, p->ep[0], 0, NULL));
	ASSERT_EQ(1, a_event(p->evd[0], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
}

TEST_F_TIMEOUT(connect, accept_wants_an_ep_that_is_free, 60)
{
	struct a_pair *p = &self->p;
	DAT_EP_ATTR attr = a_attr(p);
	DAT_EP_HANDLE third;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, a_connect(p, p->ep[1], p->ep[0], p->evd[1], p->evd[0]));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_create(p->ia, p->pz, p->evd[1], p->evd[1], p->evd[1], &attr,
					     &third));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_connect(third, p->attr.ia_address_ptr, A_QUAL, A_WAIT_US, 0,
					      NULL, DAT_QOS_BEST_EFFORT, 0));
	ASSERT_EQ(1, a_event(p->cr, A_WAIT_US, &event));
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	EXPECT_EQ(RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		  dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	EXPECT_EQ(DAT_INVALID_STATE, TYPE(dat_cr_accept(cr, p->ep[0], 0, NULL)));
	EXPECT_EQ(DAT_SUCCESS, dat_cr_reject(cr));
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_PEER_REJECTED, event.event_number);
}

/* A request that arrived before dat_psp_free() stays valid.  A later request is rejected. */
/* Covers: dat_psp_free; dat_psp_create; SH 58, 62 */
TEST_F_TIMEOUT(connect, freeing_the_listener, 60)
{
	struct a_pair *p = &self->p;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, do_connect(p, A_QUAL, NULL, 0));
	ASSERT_EQ(1, a_event(p->cr, A_WAIT_US, &event));
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	ASSERT_EQ(DAT_SUCCESS, dat_psp_free(p->psp));
	ASSERT_EQ(DAT_SUCCESS, dat_cr_accept(cr, p->ep[0], 0, NULL));
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_reset(p->ep[1]));
	ASSERT_EQ(DAT_SUCCESS, do_connect(p, A_QUAL, NULL, 0));
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, event.event_number);
	/* The qualifier can be used again. */
	EXPECT_EQ(DAT_SUCCESS,
		  dat_psp_create(p->ia, A_QUAL, p->cr, DAT_PSP_CONSUMER_FLAG, &p->psp));
}

/* Covers: dat_ep_disconnect; SH 8 */
TEST_F_TIMEOUT(connect, disconnect_ends_an_attempt, 60)
{
	struct a_pair *p = &self->p;
	DAT_EVENT event;

	ASSERT_EQ(DAT_SUCCESS, do_connect(p, A_QUAL, NULL, 0));
	ASSERT_EQ(DAT_SUCCESS, dat_ep_disconnect(p->ep[1], DAT_CLOSE_GRACEFUL_FLAG));
	ASSERT_EQ(1, a_event(p->evd[1], A_WAIT_US, &event));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, event.event_number);
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, c_state(p->ep[1]));
	EXPECT_EQ(0, a_event(p->evd[1], A_QUIET_US, &event));
}

TEST_HARNESS_MAIN
