// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Quality of service in the packets of connection requests.  The requests go to unused addresses
 * behind the interface v0 of the virtual machine, so that the test can receive them at v1.  Each
 * quality has its own destination address, because packets of an earlier request may arrive late.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "dat_api.h"

#define NOBODY		0x0a090040	/* plus the DAT_QOS: 10.9.0.64 to 10.9.0.72 */
#define ROCE_PORT	4791

FIXTURE(qos) {
	struct a_pair p;
	int wire;
};

static int open_wire(void)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP),
		.sll_ifindex = (int)if_nametoindex("v1"),
	};
	int fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP));

	if (fd >= 0 && (!at.sll_ifindex || bind(fd, (struct sockaddr *)&at, sizeof(at)))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Add or delete the entry of @addr in the neighbor table. */
static int neighbour(uint32_t addr, int add)
{
	struct in_addr in = { htonl(addr) };
	char line[128];

	snprintf(line, sizeof(line), "ip neigh %s %s dev v0 %s", add ? "replace" : "del",
		 inet_ntoa(in), add ? "lladdr 02:00:00:00:00:77" : "2>/dev/null");
	return system(line);
}

FIXTURE_SETUP(qos)
{
	self->wire = -1;
	if (getuid() || !if_nametoindex("v1") || !if_nametoindex("v0"))
		SKIP(return, "needs root and the virtual machine's v0 and v1");
	ASSERT_EQ(DAT_SUCCESS, a_open(&self->p));
	self->wire = open_wire();
	ASSERT_LE(0, self->wire);
}

FIXTURE_TEARDOWN(qos)
{
	if (self->wire < 0)
		return;
	close(self->wire);
	a_close(&self->p);
}

/* Return the type of service of the next RoCE packet to @addr, or -1 on timeout. */
static int next_tos(int wire, uint32_t addr)
{
	struct pollfd in = { .fd = wire, .events = POLLIN };
	unsigned char buf[2048];
	struct udphdr udp;
	struct iphdr ip;

	while (poll(&in, 1, A_WAIT_US / 1000) == 1) {
		if (recv(wire, buf, sizeof(buf), 0) < (ssize_t)(sizeof(ip) + sizeof(udp)))
			continue;
		memcpy(&ip, buf, sizeof(ip));
		memcpy(&udp, buf + ip.ihl * 4, sizeof(udp));
		if (ip.protocol == IPPROTO_UDP && udp.dest == htons(ROCE_PORT) &&
		    ip.daddr == htonl(addr))
			return ip.tos;
	}
	return -1;
}

/* Send a connection request with @qos.  Return the type of service of its packet. */
static int tos_of(FIXTURE_DATA(qos) *self, DAT_QOS qos)
{
	struct sockaddr_in nobody = { .sin_family = AF_INET };
	DAT_EP_HANDLE ep = self->p.ep[1];
	DAT_EVENT event;
	uint32_t addr = NOBODY + qos;
	int tos;

	nobody.sin_addr.s_addr = htonl(addr);
	if (neighbour(addr, 1) ||
	    dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&nobody, A_QUAL, A_WAIT_US, 0, NULL, qos,
			   DAT_CONNECT_DEFAULT_FLAG) != DAT_SUCCESS)
		return -2;
	tos = next_tos(self->wire, addr);
	neighbour(addr, 0);
	if (dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS ||
	    !a_event(self->p.evd[1], A_WAIT_US, &event) || dat_ep_reset(ep) != DAT_SUCCESS)
		return -3;
	return tos;
}

/* Covers: dat_ep_connect; SH 70 */
TEST_F_TIMEOUT(qos, each_quality_has_a_type_of_service, 300)
{
	EXPECT_EQ(0x28, tos_of(self, DAT_QOS_HIGH_THROUGHPUT));
	EXPECT_EQ(0x48, tos_of(self, DAT_QOS_LOW_LATENCY));
	EXPECT_EQ(0x20, tos_of(self, DAT_QOS_ECONOMY));
	EXPECT_EQ(0xb8, tos_of(self, DAT_QOS_PREMIUM));
	EXPECT_EQ(0, tos_of(self, DAT_QOS_BEST_EFFORT));
}

/* Covers: dat_ia_query; SH 70, 72 */
TEST_F(qos, the_provider_tells_what_it_supports)
{
	DAT_PROVIDER_ATTR attr;

	ASSERT_EQ(DAT_SUCCESS, dat_ia_query(self->p.ia, NULL, DAT_IA_FIELD_NONE, NULL,
					    DAT_PROVIDER_FIELD_ALL, &attr));
	EXPECT_EQ(DAT_QOS_HIGH_THROUGHPUT | DAT_QOS_LOW_LATENCY | DAT_QOS_ECONOMY |
		  DAT_QOS_PREMIUM, attr.dat_qos_supported);
}

TEST_HARNESS_MAIN
