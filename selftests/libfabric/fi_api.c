// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The provider for libfabric: objects, tables, attributes, connections and errors. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "adapter.h"
#include "fi_test.h"

#define VERSION		FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION)
#define SECOND		"192.0.2.78"	/* address that an interface gets for a test */

static void __attribute__((constructor)) start(void)
{
	f_start();
}

FIXTURE(api) {
	struct f_pair p;
};

FIXTURE_SETUP(api)
{
	ASSERT_EQ(0, f_open(&self->p));
}

FIXTURE_TEARDOWN(api)
{
	f_close(&self->p);
}

/* ---- Tables ---- */

/* Returns whether all functions of a table, which begins with its size, are there. */
static int table_full(const void *table)
{
	const size_t *words = table;
	size_t i;

	if (!table || words[0] < 2 * sizeof(size_t) || words[0] % sizeof(size_t))
		return 0;
	for (i = 1; i < words[0] / sizeof(size_t); i++)
		if (!words[i])
			return 0;
	return 1;
}

static int fid_full(struct fid *fid)
{
	void *ops;

	return table_full(fid->ops) && fid->ops->size == sizeof(struct fi_ops) &&
	       fid->ops->ops_open(fid, "x", 0, &ops, NULL) == -FI_ENOSYS;
}

static int ep_full(struct fid_ep *ep)
{
	return fid_full(&ep->fid) && table_full(ep->ops) && table_full(ep->cm) &&
	       table_full(ep->msg) && table_full(ep->rma) && table_full(ep->tagged) &&
	       table_full(ep->atomic) && table_full(ep->collective);
}

TEST_F_TIMEOUT(api, every_entry_of_every_table_is_a_function, F_TEST_S)
{
	struct f_pair *p = &self->p;
	struct fid_ep *srx;

	ASSERT_EQ(0, f_connect(p));
	EXPECT_TRUE(fid_full(&p->fabric->fid));
	EXPECT_TRUE(table_full(p->fabric->ops));
	EXPECT_TRUE(fid_full(&p->domain->fid));
	EXPECT_TRUE(table_full(p->domain->ops));
	EXPECT_TRUE(table_full(p->domain->mr));
	EXPECT_TRUE(fid_full(&p->mr->fid));
	EXPECT_TRUE(fid_full(&p->client.eq->fid));
	EXPECT_TRUE(table_full(p->client.eq->ops));
	EXPECT_TRUE(fid_full(&p->client.cq->fid));
	EXPECT_TRUE(table_full(p->client.cq->ops));
	EXPECT_TRUE(fid_full(&p->pep->fid));
	EXPECT_TRUE(table_full(p->pep->ops));
	EXPECT_TRUE(table_full(p->pep->cm));
	EXPECT_TRUE(ep_full(p->client.ep));
	ASSERT_EQ(0, fi_srx_context(p->domain, NULL, &srx, NULL));
	EXPECT_TRUE(ep_full(srx));
	EXPECT_EQ(0, fi_close(&srx->fid));
}

TEST_F_TIMEOUT(api, unsupported_calls_fail, F_TEST_S)
{
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct f_pair *p = &self->p;
	uint64_t value = 0;
	struct fid_cntr *cntr;
	struct fid_stx *stx;
	struct fid_av *av;
	size_t count;
	void *desc = fi_mr_desc(p->mr);

	ASSERT_EQ(0, f_connect(p));
	EXPECT_EQ(-FI_ENOSYS, fi_cntr_open(p->domain, NULL, &cntr, NULL));
	EXPECT_EQ(-FI_ENOSYS, fi_av_open(p->domain, &av_attr, &av, NULL));
	EXPECT_EQ(-FI_ENOSYS, fi_stx_context(p->domain, NULL, &stx, NULL));
	EXPECT_EQ(-FI_ENOSYS, fi_tsend(p->client.ep, p->mem, 1, desc, 0, 0, NULL));
	EXPECT_EQ(-FI_EOPNOTSUPP, fi_atomicvalid(p->client.ep, FI_UINT64, FI_SUM, &count));
	EXPECT_EQ(-FI_EOPNOTSUPP, fi_atomic(p->client.ep, &value, 1, NULL, 0, (uintptr_t)p->mem,
					    fi_mr_key(p->mr), FI_UINT64, FI_SUM, NULL));
	EXPECT_EQ(-FI_ENOSYS, fi_listen((struct fid_pep *)p->client.ep));
	EXPECT_EQ(-FI_ENOSYS, fi_barrier(p->client.ep, 0, NULL));
}

TEST_F_TIMEOUT(api, unsupported_flags_are_refused, F_TEST_S)
{
	struct iovec iov = { .iov_base = self->p.mem, .iov_len = 1 };
	void *desc = fi_mr_desc(self->p.mr);
	struct fi_msg msg = { .msg_iov = &iov, .desc = &desc, .iov_count = 1 };
	struct f_pair *p = &self->p;
	uint64_t flags = FI_DELIVERY_COMPLETE;

	ASSERT_EQ(0, f_connect(p));
	EXPECT_EQ(-FI_EBADFLAGS, fi_sendmsg(p->client.ep, &msg, FI_DELIVERY_COMPLETE));
	EXPECT_EQ(-FI_EBADFLAGS, fi_recvmsg(p->client.ep, &msg, FI_MULTI_RECV));
	EXPECT_EQ(-FI_EBADFLAGS, fi_shutdown(p->client.ep, 1));
	flags |= FI_TRANSMIT;
	EXPECT_EQ(-FI_EBADFLAGS, fi_control(&p->client.ep->fid, FI_SETOPSFLAG, &flags));
}

/* ---- fi_getinfo() ---- */

/* Returns the result for @hints, which it frees. */
static int ask(struct fi_info *hints, const char *node, const char *service, uint64_t flags,
	       struct fi_info **info)
{
	int ret;

	*info = NULL;
	ret = fi_getinfo(VERSION, node, service, flags, hints, info);
	fi_freeinfo(hints);
	return ret;
}

/* Returns the result after a change of the hints. */
#define ASK(change) ({					\
	struct fi_info *h = f_hints(), *found;		\
	int result;					\
							\
	change;						\
	result = ask(h, NULL, NULL, 0, &found);		\
	fi_freeinfo(found);				\
	result;						\
})

TEST_F_TIMEOUT(api, hints_that_cannot_be_met_find_nothing, F_TEST_S)
{
	EXPECT_EQ(0, ASK(h->caps |= FI_SEND));
	EXPECT_EQ(-FI_ENODATA, ASK(h->caps |= FI_TAGGED));
	EXPECT_EQ(-FI_ENODATA, ASK(h->caps |= FI_ATOMIC));
	EXPECT_EQ(-FI_ENODATA, ASK(h->ep_attr->type = FI_EP_DGRAM));
	EXPECT_EQ(-FI_ENODATA, ASK(h->ep_attr->max_msg_size = SIZE_MAX));
	EXPECT_EQ(-FI_ENODATA, ASK(h->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT));
	EXPECT_EQ(-FI_ENODATA, ASK(h->ep_attr->tx_ctx_cnt = 2));
	EXPECT_EQ(-FI_ENODATA, ASK(h->ep_attr->max_order_war_size = 1));
	EXPECT_EQ(-FI_ENODATA, ASK(h->domain_attr->cq_data_size = 5));
	EXPECT_EQ(-FI_ENODATA, ASK(h->mode &= ~FI_RX_CQ_DATA; h->domain_attr->cq_data_size = 4));
	EXPECT_EQ(-FI_ENODATA, ASK(h->domain_attr->mr_mode = FI_MR_LOCAL));
	EXPECT_EQ(-FI_ENODATA, ASK(h->domain_attr->mr_key_size = 2));
	EXPECT_EQ(-FI_ENODATA, ASK(h->domain_attr->cntr_cnt = 1));
	EXPECT_EQ(-FI_ENODATA, ASK(free(h->domain_attr->name);
				   h->domain_attr->name = strdup("nothing0")));
	EXPECT_EQ(-FI_ENODATA, ASK(h->tx_attr->inject_size = 1 << 20));
	EXPECT_EQ(-FI_ENODATA, ASK(h->tx_attr->size = 1 << 30));
	EXPECT_EQ(-FI_ENODATA, ASK(h->tx_attr->iov_limit = 1000));
	EXPECT_EQ(-FI_ENODATA, ASK(h->tx_attr->rma_iov_limit = 2));
	EXPECT_EQ(-FI_ENODATA, ASK(h->tx_attr->op_flags = FI_DELIVERY_COMPLETE));
	EXPECT_EQ(-FI_ENODATA, ASK(h->tx_attr->msg_order = FI_ORDER_WAR));
	EXPECT_EQ(-FI_ENODATA, ASK(h->rx_attr->total_buffered_recv = 1));
	EXPECT_EQ(-FI_ENODATA, ASK(h->rx_attr->size = 1 << 30));
	EXPECT_EQ(-FI_ENODATA, ASK(h->addr_format = FI_SOCKADDR_IB));
	EXPECT_EQ(-FI_ENODATA, ASK(h->fabric_attr->name = strdup("ethernet")));
}

/* An order is offered together with the size up to which it holds. */
TEST_F_TIMEOUT(api, the_orders_of_writes_hold_for_data_of_any_size, F_TEST_S)
{
	const struct fi_ep_attr *ep = self->p.info->ep_attr;
	size_t size = ep->protocol == FI_PROTO_IWARP ? 0 : ep->max_msg_size;

	EXPECT_EQ(size, ep->max_order_raw_size);
	EXPECT_EQ(size, ep->max_order_waw_size);
	EXPECT_EQ(0, ep->max_order_war_size);
	EXPECT_EQ(0, ASK(h->ep_attr->max_order_raw_size = size));
	EXPECT_EQ(0, ASK(h->ep_attr->max_order_waw_size = size));
	EXPECT_EQ(-FI_ENODATA, ASK(h->ep_attr->max_order_raw_size = size + 1));
	EXPECT_EQ(-FI_ENODATA, ASK(h->ep_attr->max_order_waw_size = size + 1));
	EXPECT_EQ(0, ASK(h->tx_attr->msg_order = FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW |
						 FI_ORDER_ATOMIC_WAW));
	EXPECT_EQ(-FI_ENODATA, ASK(h->tx_attr->msg_order = FI_ORDER_ATOMIC_WAR));
}

TEST_F_TIMEOUT(api, hints_that_can_be_met_are_met, F_TEST_S)
{
	/* Over iWARP a read has one segment, so a request has one. */
	size_t iov = self->p.info->ep_attr->protocol == FI_PROTO_IWARP ? 1 : 2;
	struct fi_info *h = f_hints(), *info;

	h->tx_attr->size = 33;
	h->rx_attr->size = 44;
	h->tx_attr->iov_limit = iov;
	h->tx_attr->op_flags = FI_COMPLETION;
	h->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	h->caps = FI_MSG | FI_SEND;
	ASSERT_EQ(0, ask(h, NULL, NULL, 0, &info));
	EXPECT_EQ(33, info->tx_attr->size);
	EXPECT_EQ(44, info->rx_attr->size);
	EXPECT_EQ(iov, info->tx_attr->iov_limit);
	EXPECT_EQ(FI_COMPLETION, info->tx_attr->op_flags);
	EXPECT_EQ(FI_MSG | FI_SEND | FI_LOCAL_COMM | FI_REMOTE_COMM, info->caps);
	EXPECT_EQ(FI_MSG | FI_SEND, info->tx_attr->caps);
	EXPECT_EQ(FI_EP_MSG, info->ep_attr->type);
	EXPECT_EQ(FI_PROGRESS_AUTO, info->domain_attr->control_progress);
	EXPECT_EQ(FI_PROGRESS_MANUAL, info->domain_attr->data_progress);
	EXPECT_STREQ("dat", info->fabric_attr->prov_name);
	EXPECT_EQ(4, info->domain_attr->mr_key_size);
	fi_freeinfo(info);
}

/* Without the mode a program does not expect that a write takes a receive. */
TEST_F_TIMEOUT(api, remote_cq_data_need_the_mode_rx_cq_data, F_TEST_S)
{
	const struct fi_info *all = self->p.info;
	int has_data = all->ep_attr->protocol != FI_PROTO_IWARP;
	struct fi_info *h = f_hints(), *info;

	EXPECT_EQ(has_data ? 4 : 0, all->domain_attr->cq_data_size);
	EXPECT_EQ(has_data ? FI_RX_CQ_DATA : 0, all->mode);
	EXPECT_EQ(has_data ? FI_RX_CQ_DATA : 0, all->rx_attr->mode);
	EXPECT_EQ(has_data ? 0 : -FI_ENODATA, ASK(h->domain_attr->cq_data_size = 4));
	h->mode &= ~FI_RX_CQ_DATA;
	ASSERT_EQ(0, ask(h, NULL, NULL, 0, &info));
	EXPECT_EQ(0, info->domain_attr->cq_data_size);
	EXPECT_EQ(0, info->mode);
	EXPECT_EQ(0, info->rx_attr->mode);
	fi_freeinfo(info);
}

static uint16_t port_of(const void *addr)
{
	const struct sockaddr_in *in = addr;

	return ntohs(in->sin_port);	/* sin6_port has the same place */
}

TEST_F_TIMEOUT(api, a_listener_without_a_name_gets_an_address_of_each_family, F_TEST_S)
{
	struct fi_info *info, *i;
	int v4 = 0, v6 = 0;

	ASSERT_EQ(0, ask(f_hints(), NULL, "4901", FI_SOURCE, &info));
	for (i = info; i; i = i->next) {
		EXPECT_EQ(4901, port_of(i->src_addr));
		EXPECT_EQ(NULL, i->dest_addr);
		v4 += i->addr_format == FI_SOCKADDR_IN;
		v6 += i->addr_format == FI_SOCKADDR_IN6;
	}
	EXPECT_EQ(1, v4);
	EXPECT_EQ(1, v6);
	fi_freeinfo(info);
}

/* lo0 is there beside each device, and alone reaches the addresses of loopback. */
static struct fi_info *hints_local(void)
{
	struct fi_info *h = f_hints();

	free(h->domain_attr->name);
	h->domain_attr->name = strdup("lo0");
	return h;
}

/* Without a node the destination is this host, in the family of the source. */
TEST_F_TIMEOUT(api, a_destination_has_the_family_of_the_source, F_TEST_S)
{
	struct sockaddr_in6 *in6 = calloc(1, sizeof(*in6));
	struct fi_info *h = hints_local(), *info;

	in6->sin6_family = AF_INET6;
	in6->sin6_addr = in6addr_loopback;
	h->src_addr = in6;
	h->src_addrlen = sizeof(*in6);
	ASSERT_EQ(0, ask(h, NULL, "4901", 0, &info));
	EXPECT_EQ(FI_SOCKADDR_IN6, info->addr_format);
	EXPECT_EQ(4901, port_of(info->dest_addr));
	fi_freeinfo(info);
}

/* Without a source either there are two addresses, and the system names that of IPv6 first. */
TEST_F_TIMEOUT(api, a_host_with_both_families_is_reached_over_ipv4, F_TEST_S)
{
	struct fi_info *info;

	ASSERT_EQ(0, ask(hints_local(), NULL, "4901", 0, &info));
	EXPECT_EQ(FI_SOCKADDR_IN, info->addr_format);
	EXPECT_EQ(NULL, info->next);
	fi_freeinfo(info);
}

TEST_F_TIMEOUT(api, the_address_of_the_adapter_is_a_source_and_others_are_not, F_TEST_S)
{
	const struct sockaddr_in *in = self->p.info->src_addr;
	struct fi_info *info;
	char text[64];

	ASSERT_EQ(AF_INET, in->sin_family);
	inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
	ASSERT_EQ(0, ask(f_hints(), text, "4901", FI_SOURCE, &info));
	EXPECT_EQ(4901, port_of(info->src_addr));
	fi_freeinfo(info);
	ASSERT_EQ(0, ask(f_hints(), text, "4901", 0, &info));
	EXPECT_EQ(4901, port_of(info->dest_addr));
	EXPECT_EQ(0, port_of(info->src_addr));
	fi_freeinfo(info);
	EXPECT_EQ(-FI_ENODATA, ask(f_hints(), "192.0.2.77", "4901", FI_SOURCE, &info));
	EXPECT_EQ(-FI_ENODATA, ask(f_hints(), "no address", "4901", FI_NUMERICHOST, &info));
}

/* Returns hints with an address that is none, as source or as destination. */
static struct fi_info *hints_nowhere(int source)
{
	struct fi_info *h = f_hints();
	void **addr = source ? &h->src_addr : &h->dest_addr;
	size_t *len = source ? &h->src_addrlen : &h->dest_addrlen;

	*len = sizeof(struct sockaddr_in);
	*addr = calloc(1, *len);
	return h;
}

TEST_F_TIMEOUT(api, a_node_replaces_the_address_in_the_hints, F_TEST_S)
{
	const struct sockaddr_in *in = self->p.info->src_addr;
	struct fi_info *info;
	char text[64];

	inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
	EXPECT_EQ(0, ask(hints_nowhere(1), text, "4901", FI_SOURCE, &info));
	fi_freeinfo(info);
	EXPECT_EQ(-FI_ENODATA, ask(hints_nowhere(0), text, "4901", FI_SOURCE, &info));
	EXPECT_EQ(0, ask(hints_nowhere(0), text, "4901", 0, &info));
	fi_freeinfo(info);
	EXPECT_EQ(-FI_ENODATA, ask(hints_nowhere(1), text, "4901", 0, &info));
	EXPECT_EQ(-FI_ENODATA, ask(hints_nowhere(0), NULL, NULL, 0, &info));
	EXPECT_EQ(-FI_ENODATA, ask(hints_nowhere(1), NULL, NULL, 0, &info));
}

/* Run "ip addr ACTION" with a second address of the interface that has @in.  0: success. */
static int second_address(const char *action, const struct sockaddr_in *in)
{
	struct ifaddrs *list, *i;
	char command[128] = "false";

	if (getifaddrs(&list))
		return -1;
	for (i = list; i; i = i->ifa_next)
		if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
		    !memcmp(&((struct sockaddr_in *)i->ifa_addr)->sin_addr, &in->sin_addr,
			    sizeof(in->sin_addr)))
			snprintf(command, sizeof(command), "ip addr %s " SECOND "/32 dev %s",
				 action, i->ifa_name);
	freeifaddrs(list);
	return system(command);
}

TEST_F_TIMEOUT(api, each_address_of_the_interface_is_a_source, F_TEST_S)
{
	struct f_pair *p = &self->p;
	struct sockaddr_in in = *(struct sockaddr_in *)p->info->src_addr;
	struct fi_info *info;

	ASSERT_EQ(0, second_address("add", &in));
	EXPECT_EQ(0, ask(f_hints(), SECOND, NULL, FI_SOURCE, &info));
	if (info) {
		fi_freeinfo(p->info);
		p->info = info;
		in.sin_addr.s_addr = inet_addr(SECOND);
		EXPECT_EQ(0, memcmp(&in.sin_addr,
				    &((struct sockaddr_in *)info->src_addr)->sin_addr,
				    sizeof(in.sin_addr)));
		EXPECT_EQ(0, f_connect(p));
	}
	EXPECT_EQ(0, second_address("del", &in));
}

/* ---- Connections ---- */

TEST_F_TIMEOUT(api, private_data_arrive_both_ways_with_their_length, F_TEST_S)
{
	char buf[sizeof(struct fi_eq_cm_entry) + 256];
	struct fi_eq_cm_entry *entry = (void *)buf;
	struct sockaddr_storage addr, peer;
	struct f_pair *p = &self->p;
	size_t len = sizeof(addr), room;
	ssize_t got;

	ASSERT_EQ(0, f_listen(p));
	ASSERT_EQ(0, fi_getname(&p->pep->fid, &addr, &len));
	EXPECT_NE(0, port_of(&addr));
	ASSERT_EQ(0, f_end_open(p, &p->client, p->info));
	ASSERT_EQ(0, fi_connect(p->client.ep, &addr, "hello", 5));
	ASSERT_EQ(FI_CONNREQ, f_event(p->server.eq, entry, sizeof(buf), &got));
	EXPECT_EQ(sizeof(*entry) + 5, got);
	EXPECT_EQ(0, memcmp(entry->data, "hello", 5));
	EXPECT_EQ(&p->pep->fid, entry->fid);
	EXPECT_EQ(p->info->addr_format, entry->info->addr_format);
	EXPECT_NE(NULL, entry->info->dest_addr);
	ASSERT_EQ(0, f_end_open(p, &p->server, entry->info));
	fi_freeinfo(entry->info);
	ASSERT_EQ(0, fi_accept(p->server.ep, "welcome!", 8));
	ASSERT_EQ(FI_CONNECTED, f_event(p->client.eq, entry, sizeof(buf), &got));
	EXPECT_EQ(sizeof(*entry) + 8, got);
	EXPECT_EQ(0, memcmp(entry->data, "welcome!", 8));
	EXPECT_EQ(&p->client.ep->fid, entry->fid);
	EXPECT_EQ(&p->client, entry->fid->context);
	room = sizeof(peer);
	ASSERT_EQ(0, fi_getpeer(p->client.ep, &peer, &room));
	EXPECT_EQ(len, room);
	EXPECT_EQ(port_of(&addr), port_of(&peer));
	room = 1;
	EXPECT_EQ(-FI_ETOOSMALL, fi_getname(&p->client.ep->fid, &peer, &room));
	EXPECT_EQ(len, room);
}

TEST_F_TIMEOUT(api, the_longest_private_data_arrive_and_longer_ones_are_refused, F_TEST_S)
{
	char buf[sizeof(struct fi_eq_cm_entry) + 256], data[300];
	struct fi_eq_cm_entry *entry = (void *)buf;
	struct f_pair *p = &self->p;
	struct sockaddr_storage addr;
	size_t len = sizeof(addr), max, size = sizeof(max);
	ssize_t got;

	memset(data, 'x', sizeof(data));
	ASSERT_EQ(0, f_listen(p));
	ASSERT_EQ(0, fi_getname(&p->pep->fid, &addr, &len));
	ASSERT_EQ(0, fi_getopt(&p->pep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &max, &size));
	EXPECT_LE(24, max);
	ASSERT_EQ(0, f_end_open(p, &p->client, p->info));
	EXPECT_EQ(-FI_EINVAL, fi_connect(p->client.ep, &addr, data, max + 1));
	ASSERT_EQ(0, fi_connect(p->client.ep, &addr, data, max));
	ASSERT_EQ(FI_CONNREQ, f_event(p->server.eq, entry, sizeof(buf), &got));
	EXPECT_EQ(sizeof(*entry) + max, got);
	EXPECT_EQ(0, memcmp(entry->data, data, max));
	EXPECT_EQ(0, fi_reject(p->pep, entry->info->handle, NULL, 0));
	fi_freeinfo(entry->info);
}

static int refused(struct fid_eq *eq, struct fid_ep *ep)
{
	struct fi_eq_err_entry err = { .err = 0 };
	struct fi_eq_cm_entry entry;

	if (f_event(eq, &entry, sizeof(entry), NULL) != -FI_EAVAIL ||
	    fi_eq_readerr(eq, &err, 0) != sizeof(err) || err.fid != &ep->fid ||
	    !*fi_eq_strerror(eq, err.prov_errno, NULL, NULL, 0))
		return 0;
	return err.err;
}

TEST_F_TIMEOUT(api, a_rejected_and_an_unanswered_request_are_refused, F_TEST_S)
{
	struct fi_eq_cm_entry entry;
	struct f_pair *p = &self->p;
	struct sockaddr_storage addr;
	size_t len = sizeof(addr);

	ASSERT_EQ(0, f_listen(p));
	ASSERT_EQ(0, fi_getname(&p->pep->fid, &addr, &len));
	ASSERT_EQ(0, f_end_open(p, &p->client, p->info));
	ASSERT_EQ(0, fi_connect(p->client.ep, &addr, NULL, 0));
	ASSERT_EQ(FI_CONNREQ, f_event(p->server.eq, &entry, sizeof(entry), NULL));
	EXPECT_EQ(0, fi_reject(p->pep, entry.info->handle, "no", 2));
	fi_freeinfo(entry.info);
	EXPECT_EQ(FI_ECONNREFUSED, refused(p->client.eq, p->client.ep));
	f_end_close(&p->client);
	/* Nobody listens there any more. */
	EXPECT_EQ(0, fi_close(&p->pep->fid));
	p->pep = NULL;
	ASSERT_EQ(0, f_end_open(p, &p->client, p->info));
	ASSERT_EQ(0, fi_connect(p->client.ep, &addr, NULL, 0));
	EXPECT_EQ(FI_ECONNREFUSED, refused(p->client.eq, p->client.ep));
}

/* Reject the next request with @len bytes, and let the client read the error with @err. */
static int rejected(struct f_pair *p, const void *data, size_t len, struct fi_eq_err_entry *err)
{
	struct fi_eq_cm_entry entry;
	struct sockaddr_storage addr;
	size_t size = sizeof(addr);
	int ret = fi_getname(&p->pep->fid, &addr, &size);

	f_end_close(&p->client);
	if (!ret)
		ret = f_end_open(p, &p->client, p->info);
	if (!ret)
		ret = fi_connect(p->client.ep, &addr, NULL, 0);
	if (!ret && f_event(p->server.eq, &entry, sizeof(entry), NULL) != FI_CONNREQ)
		ret = -FI_ENOMSG;
	if (ret)
		return ret;
	ret = fi_reject(p->pep, entry.info->handle, data, len);
	fi_freeinfo(entry.info);
	if (!ret && (f_event(p->client.eq, &entry, sizeof(entry), NULL) != -FI_EAVAIL ||
		     fi_eq_readerr(p->client.eq, err, 0) != sizeof(*err)))
		ret = -FI_ENOMSG;
	return ret ? ret : err->err;
}

TEST_F_TIMEOUT(api, the_data_of_a_reject_arrive_with_their_length, F_TEST_S)
{
	char own[300], data[300];
	struct fi_eq_err_entry err = { .err_data = own, .err_data_size = sizeof(own) };
	struct f_pair *p = &self->p;
	size_t max, size = sizeof(max);

	memset(data, 'x', sizeof(data));
	ASSERT_EQ(0, f_listen(p));
	ASSERT_EQ(FI_ECONNREFUSED, rejected(p, "because", 7, &err));
	EXPECT_EQ((void *)own, err.err_data);
	ASSERT_EQ(7, err.err_data_size);
	EXPECT_EQ(0, memcmp(own, "because", 7));
	/* A buffer that is too short gets the beginning. */
	err.err_data_size = 2;
	ASSERT_EQ(FI_ECONNREFUSED, rejected(p, "no", 3, &err));
	EXPECT_EQ(2, err.err_data_size);
	EXPECT_EQ(0, memcmp(own, "nocause", 7));
	/* Without a buffer the program gets the address of the data. */
	err = (struct fi_eq_err_entry){ .err = 0 };
	ASSERT_EQ(FI_ECONNREFUSED, rejected(p, "\0", 1, &err));
	ASSERT_EQ(1, err.err_data_size);
	EXPECT_EQ(0, *(char *)err.err_data);
	/* As much as fits is sent. */
	ASSERT_EQ(0, fi_getopt(&p->pep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &max, &size));
	err.err_data_size = 0;
	ASSERT_EQ(FI_ECONNREFUSED, rejected(p, data, sizeof(data), &err));
	ASSERT_EQ(max, err.err_data_size);
	EXPECT_EQ(0, memcmp(err.err_data, data, max));
	err.err_data_size = 0;
	ASSERT_EQ(FI_ECONNREFUSED, rejected(p, NULL, 0, &err));
	EXPECT_EQ(0, err.err_data_size);
}

/* As ofi_rxm does when it cannot accept. */
TEST_F_TIMEOUT(api, a_request_can_be_rejected_after_its_endpoint_was_closed, F_TEST_S)
{
	struct fi_eq_cm_entry entry;
	struct f_pair *p = &self->p;
	struct sockaddr_storage addr;
	size_t len = sizeof(addr);
	struct fid_ep *other;

	ASSERT_EQ(0, f_listen(p));
	ASSERT_EQ(0, fi_getname(&p->pep->fid, &addr, &len));
	ASSERT_EQ(0, f_end_open(p, &p->client, p->info));
	ASSERT_EQ(0, fi_connect(p->client.ep, &addr, NULL, 0));
	ASSERT_EQ(FI_CONNREQ, f_event(p->server.eq, &entry, sizeof(entry), NULL));
	ASSERT_EQ(0, f_end_open(p, &p->server, entry.info));
	EXPECT_EQ(-FI_EBUSY, fi_endpoint(p->domain, entry.info, &other, NULL));
	f_end_close(&p->server);
	EXPECT_EQ(FI_ECONNREFUSED, refused(p->client.eq, p->client.ep));
	EXPECT_EQ(0, fi_reject(p->pep, entry.info->handle, NULL, 0));
	fi_freeinfo(entry.info);
}

TEST_F_TIMEOUT(api, a_closed_listener_refuses_unread_requests, F_TEST_S)
{
	struct f_pair *p = &self->p;
	struct pollfd poller = { .events = POLLIN };
	struct sockaddr_storage addr;
	size_t len = sizeof(addr);

	ASSERT_EQ(0, f_listen(p));
	ASSERT_EQ(0, fi_getname(&p->pep->fid, &addr, &len));
	ASSERT_EQ(0, f_end_open(p, &p->client, p->info));
	ASSERT_EQ(0, fi_connect(p->client.ep, &addr, NULL, 0));
	ASSERT_EQ(0, fi_control(&p->server.eq->fid, FI_GETWAIT, &poller.fd));
	ASSERT_EQ(1, poll(&poller, 1, F_WAIT_MS));
	EXPECT_EQ(0, fi_close(&p->pep->fid));
	p->pep = NULL;
	EXPECT_EQ(FI_ECONNREFUSED, refused(p->client.eq, p->client.ep));
}

/* Let the client connect to @server, which reads the request and does not answer it. */
static int ask_in_vain(struct f_pair *server, struct f_pair *client)
{
	struct fi_eq_cm_entry entry;
	struct sockaddr_storage addr;
	size_t len = sizeof(addr);
	int ret = f_listen(server);

	if (!ret)
		ret = fi_getname(&server->pep->fid, &addr, &len);
	if (!ret)
		ret = f_end_open(client, &client->client, client->info);
	if (!ret)
		ret = fi_connect(client->client.ep, &addr, NULL, 0);
	if (ret)
		return ret;
	if (f_event(server->server.eq, &entry, sizeof(entry), NULL) != FI_CONNREQ)
		return -FI_ENOMSG;
	fi_freeinfo(entry.info);
	return 0;
}

TEST_F_TIMEOUT(api, a_closed_fabric_refuses_unanswered_requests, F_TEST_S)
{
	struct f_pair server = { .info = NULL }, *p = &self->p;

	ASSERT_EQ(0, f_open(&server));
	ASSERT_EQ(0, ask_in_vain(&server, p));
	f_close(&server);
	EXPECT_EQ(FI_ECONNREFUSED, refused(p->client.eq, p->client.ep));
}

/* The listener of one connection may be closed early. */
TEST_F_TIMEOUT(api, a_request_can_be_accepted_after_its_listener_was_closed, F_TEST_S)
{
	struct fi_eq_cm_entry entry;
	struct f_pair *p = &self->p;
	struct sockaddr_storage addr;
	size_t len = sizeof(addr);

	ASSERT_EQ(0, f_listen(p));
	ASSERT_EQ(0, fi_getname(&p->pep->fid, &addr, &len));
	ASSERT_EQ(0, f_end_open(p, &p->client, p->info));
	ASSERT_EQ(0, fi_connect(p->client.ep, &addr, NULL, 0));
	ASSERT_EQ(FI_CONNREQ, f_event(p->server.eq, &entry, sizeof(entry), NULL));
	EXPECT_EQ(0, fi_close(&p->pep->fid));
	p->pep = NULL;
	ASSERT_EQ(0, f_end_open(p, &p->server, entry.info));
	fi_freeinfo(entry.info);
	ASSERT_EQ(0, fi_accept(p->server.ep, NULL, 0));
	EXPECT_EQ(FI_CONNECTED, f_event(p->client.eq, &entry, sizeof(entry), NULL));
}

#define BACKLOG	4

TEST_F_TIMEOUT(api, a_full_backlog_refuses_requests, F_TEST_S)
{
	struct f_end askers[2 * BACKLOG];
	struct fi_eq_cm_entry entry;
	struct fi_eq_err_entry err;
	struct f_pair *p = &self->p;
	struct sockaddr_storage addr;
	size_t len = sizeof(addr);
	int backlog = BACKLOG, i;
	uint32_t event;

	ASSERT_EQ(0, fi_passive_ep(p->fabric, p->info, &p->pep, NULL));
	ASSERT_EQ(0, fi_control(&p->pep->fid, FI_BACKLOG, &backlog));
	ASSERT_EQ(0, fi_pep_bind(p->pep, &p->server.eq->fid, 0));
	ASSERT_EQ(0, fi_listen(p->pep));
	EXPECT_EQ(-FI_EOPBADSTATE, fi_control(&p->pep->fid, FI_BACKLOG, &backlog));
	ASSERT_EQ(0, fi_getname(&p->pep->fid, &addr, &len));
	for (i = 0; i < 2 * BACKLOG; i++) {
		askers[i] = p->client;
		ASSERT_EQ(0, f_end_open(p, &askers[i], p->info));
		ASSERT_EQ(0, fi_connect(askers[i].ep, &addr, NULL, 0));
	}
	for (i = 0; i < BACKLOG; i++) {
		ASSERT_EQ(-FI_EAVAIL, f_event(p->client.eq, &entry, sizeof(entry), NULL));
		err.err_data_size = 0;
		ASSERT_EQ(sizeof(err), fi_eq_readerr(p->client.eq, &err, 0));
		EXPECT_EQ(FI_ECONNREFUSED, err.err);
	}
	for (i = 0; i < BACKLOG; i++) {
		ASSERT_EQ(FI_CONNREQ, f_event(p->server.eq, &entry, sizeof(entry), NULL));
		EXPECT_EQ(0, fi_reject(p->pep, entry.info->handle, NULL, 0));
		fi_freeinfo(entry.info);
	}
	EXPECT_EQ(-FI_EAGAIN, fi_eq_read(p->server.eq, &event, &entry, sizeof(entry), 0));
	for (i = 0; i < 2 * BACKLOG; i++)
		f_end_close(&askers[i]);
}

TEST_F_TIMEOUT(api, both_ends_learn_of_a_shutdown, F_TEST_S)
{
	struct fi_eq_cm_entry entry;
	struct f_pair *p = &self->p;

	ASSERT_EQ(0, f_connect(p));
	EXPECT_EQ(0, fi_shutdown(p->client.ep, 0));
	EXPECT_EQ(FI_SHUTDOWN, f_event(p->client.eq, &entry, sizeof(entry), NULL));
	EXPECT_EQ(&p->client.ep->fid, entry.fid);
	EXPECT_EQ(FI_SHUTDOWN, f_event(p->server.eq, &entry, sizeof(entry), NULL));
	EXPECT_EQ(&p->server.ep->fid, entry.fid);
}

/* The peer has no receive for the message, so a graceful end would wait for ever. */
TEST_F_TIMEOUT(api, a_shutdown_does_not_wait_for_the_peer, F_TEST_S)
{
	struct fi_eq_cm_entry entry;
	struct fi_cq_err_entry err;
	struct f_pair *p = &self->p;
	int i;

	ASSERT_EQ(0, f_connect(p));
	if (p->info->ep_attr->protocol == FI_PROTO_IWARP)
		SKIP(return, "over iWARP such a message ends the connection");
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, f_send(p, p->client.ep, 0, 64, p->mem + i));
	EXPECT_EQ(0, fi_shutdown(p->client.ep, 0));
	EXPECT_EQ(FI_SHUTDOWN, f_event(p->client.eq, &entry, sizeof(entry), NULL));
	EXPECT_EQ(FI_SHUTDOWN, f_event(p->server.eq, &entry, sizeof(entry), NULL));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(FI_ECANCELED, f_comp_error(p->client.cq, &err));
		EXPECT_EQ(p->mem + i, err.op_context);
	}
}

TEST_F_TIMEOUT(api, a_shutdown_without_a_connection_fails, F_TEST_S)
{
	struct fi_eq_cm_entry entry;
	struct f_pair *p = &self->p;
	struct fid_ep *ep;

	ASSERT_EQ(0, fi_endpoint(p->domain, p->info, &ep, NULL));
	EXPECT_EQ(-FI_ENOTCONN, fi_shutdown(ep, 0));
	EXPECT_EQ(0, fi_close(&ep->fid));
	ASSERT_EQ(0, f_end_open(p, &p->client, p->info));
	EXPECT_EQ(-FI_ENOTCONN, fi_shutdown(p->client.ep, 0));
	f_end_close(&p->client);
	ASSERT_EQ(0, f_connect(p));
	EXPECT_EQ(0, fi_shutdown(p->server.ep, 0));
	EXPECT_EQ(0, fi_shutdown(p->server.ep, 0));
	EXPECT_EQ(FI_SHUTDOWN, f_event(p->client.eq, &entry, sizeof(entry), NULL));
}

TEST_F_TIMEOUT(api, a_closed_endpoint_has_no_event, F_TEST_S)
{
	struct fi_eq_cm_entry entry;
	struct f_pair *p = &self->p;
	uint32_t event;

	ASSERT_EQ(0, f_connect(p));
	EXPECT_EQ(0, fi_shutdown(p->client.ep, 0));
	EXPECT_EQ(FI_SHUTDOWN, f_event(p->server.eq, &entry, sizeof(entry), NULL));
	/* The event is in the queue: a peek leaves it there. */
	EXPECT_EQ(sizeof(entry), fi_eq_sread(p->client.eq, &event, &entry, sizeof(entry), F_WAIT_MS,
					     FI_PEEK));
	EXPECT_EQ(FI_SHUTDOWN, event);
	f_end_close(&p->client);
	EXPECT_EQ(-FI_EAGAIN, fi_eq_read(p->client.eq, &event, &entry, sizeof(entry), 0));
}

TEST_F_TIMEOUT(api, both_families_connect, F_TEST_S)
{
	struct f_pair p = { .opts.format = FI_SOCKADDR_IN6 };

	ASSERT_EQ(0, f_open(&p));
	ASSERT_EQ(FI_SOCKADDR_IN6, p.info->addr_format);
	ASSERT_EQ(0, f_connect(&p));
	ASSERT_EQ(0, f_recv(&p, p.server.ep, 0, 64, NULL));
	EXPECT_EQ(0, f_send(&p, p.client.ep, 64, 64, NULL));
	EXPECT_EQ(1, f_comp(p.server.cq, NULL));
	f_close(&p);
	ASSERT_EQ(FI_SOCKADDR_IN, self->p.info->addr_format);
	EXPECT_EQ(0, f_connect(&self->p));
}

/* ---- Event queues ---- */

TEST_F_TIMEOUT(api, an_event_of_the_program_is_read_as_it_was_written, F_TEST_S)
{
	struct fi_eq_entry in = { .fid = NULL, .data = 4711 }, out;
	struct fid_eq *eq = self->p.client.eq;
	struct fid *fids[] = { &eq->fid };
	struct pollfd poller = { .events = POLLIN };
	uint32_t event = 0;

	ASSERT_EQ(0, fi_control(&eq->fid, FI_GETWAIT, &poller.fd));
	EXPECT_EQ(0, fi_trywait(self->p.fabric, fids, 1));
	EXPECT_EQ(0, poll(&poller, 1, 0));
	ASSERT_EQ(sizeof(in), fi_eq_write(eq, FI_NOTIFY, &in, sizeof(in), 0));
	EXPECT_EQ(1, poll(&poller, 1, 0));
	EXPECT_EQ(-FI_EAGAIN, fi_trywait(self->p.fabric, fids, 1));
	EXPECT_EQ(-FI_ETOOSMALL, fi_eq_read(eq, &event, &out, sizeof(out) - 1, 0));
	EXPECT_EQ(sizeof(out), fi_eq_read(eq, &event, &out, sizeof(out), FI_PEEK));
	EXPECT_EQ(sizeof(out), fi_eq_read(eq, &event, &out, sizeof(out), 0));
	EXPECT_EQ(FI_NOTIFY, event);
	EXPECT_EQ(4711, out.data);
	EXPECT_EQ(-FI_EAGAIN, fi_eq_read(eq, &event, &out, sizeof(out), 0));
	EXPECT_EQ(0, fi_trywait(self->p.fabric, fids, 1));
	EXPECT_EQ(0, poll(&poller, 1, 0));
	EXPECT_EQ(-FI_EAGAIN, fi_eq_sread(eq, &event, &out, sizeof(out), 10, 0));
}

#define ASKERS	4

/* The listener is newer than the connection, and has more requests than are read. */
TEST_F_TIMEOUT(api, requests_do_not_hold_up_other_events, F_TEST_S)
{
	struct pollfd poller = { .events = POLLIN };
	struct f_end askers[ASKERS];
	struct fi_eq_cm_entry entry;
	struct f_pair *p = &self->p;
	struct sockaddr_storage addr;
	size_t len = sizeof(addr);
	int i, event = 0;

	ASSERT_EQ(0, f_connect(p));
	EXPECT_EQ(0, fi_close(&p->pep->fid));
	ASSERT_EQ(0, f_listen(p));
	ASSERT_EQ(0, fi_getname(&p->pep->fid, &addr, &len));
	f_end_close(&p->client);
	ASSERT_EQ(0, fi_control(&p->server.eq->fid, FI_GETWAIT, &poller.fd));
	ASSERT_EQ(1, poll(&poller, 1, F_WAIT_MS));
	for (i = 0; i < ASKERS; i++) {
		askers[i] = p->client;
		ASSERT_EQ(0, f_end_open(p, &askers[i], p->info));
		ASSERT_EQ(0, fi_connect(askers[i].ep, &addr, NULL, 0));
	}
	poll(NULL, 0, F_QUIET_MS);
	for (i = 0; i < 2; i++) {
		event = f_event(p->server.eq, &entry, sizeof(entry), NULL);
		if (event == FI_SHUTDOWN)
			break;
		ASSERT_EQ(FI_CONNREQ, event);
		fi_freeinfo(entry.info);
	}
	EXPECT_EQ(FI_SHUTDOWN, event);
	for (i = 0; i < ASKERS; i++)
		f_end_close(&askers[i]);
}

/* ---- Life of objects ---- */

TEST_F_TIMEOUT(api, objects_in_use_are_not_closed, F_TEST_S)
{
	struct f_pair *p = &self->p;
	struct fid_ep *ep;

	ASSERT_EQ(0, fi_endpoint(p->domain, p->info, &ep, NULL));
	ASSERT_EQ(0, fi_ep_bind(ep, &p->client.cq->fid, FI_TRANSMIT));
	ASSERT_EQ(0, fi_ep_bind(ep, &p->client.eq->fid, 0));
	EXPECT_EQ(-FI_EBUSY, fi_close(&p->client.cq->fid));
	EXPECT_EQ(-FI_EBUSY, fi_close(&p->client.eq->fid));
	EXPECT_EQ(0, fi_close(&ep->fid));
	ASSERT_EQ(0, f_connect(p));
	EXPECT_EQ(-FI_EBUSY, fi_close(&p->client.cq->fid));
	EXPECT_EQ(-FI_EBUSY, fi_close(&p->client.eq->fid));
	EXPECT_EQ(-FI_EBUSY, fi_close(&p->domain->fid));
	EXPECT_EQ(-FI_EBUSY, fi_close(&p->fabric->fid));
}

TEST_F_TIMEOUT(api, an_endpoint_is_enabled_when_it_has_its_queues, F_TEST_S)
{
	struct f_pair *p = &self->p;
	struct fid_ep *ep;

	ASSERT_EQ(0, fi_endpoint(p->domain, p->info, &ep, NULL));
	EXPECT_EQ(-FI_ENOEQ, fi_enable(ep));
	EXPECT_EQ(-FI_EOPBADSTATE, f_send(p, ep, 0, 1, NULL));
	EXPECT_EQ(-FI_EOPBADSTATE, f_recv(p, ep, 0, 1, NULL));
	EXPECT_EQ(-FI_EOPBADSTATE, fi_connect(ep, p->info->src_addr, NULL, 0));
	ASSERT_EQ(0, fi_ep_bind(ep, &p->client.eq->fid, 0));
	EXPECT_EQ(-FI_EINVAL, fi_ep_bind(ep, &p->server.eq->fid, 0));
	EXPECT_EQ(-FI_ENOCQ, fi_enable(ep));
	EXPECT_EQ(-FI_EINVAL, fi_ep_bind(ep, &p->client.cq->fid, 0));
	ASSERT_EQ(0, fi_ep_bind(ep, &p->client.cq->fid, FI_TRANSMIT));
	EXPECT_EQ(-FI_ENOCQ, fi_enable(ep));
	ASSERT_EQ(0, fi_ep_bind(ep, &p->client.cq->fid, FI_RECV));
	EXPECT_EQ(0, fi_enable(ep));
	EXPECT_EQ(-FI_EOPBADSTATE, fi_enable(ep));
	EXPECT_EQ(-FI_EOPBADSTATE, fi_ep_bind(ep, &p->server.cq->fid, FI_RECV));
	EXPECT_EQ(0, fi_close(&ep->fid));
}

/* Returns 0 if this process can open a fabric and connect to itself. */
static int connects_anew(void)
{
	struct f_pair p = { .info = NULL };
	int ret = f_open(&p);

	if (!ret)
		ret = f_connect(&p);
	if (!ret)
		f_close(&p);
	return ret;
}

FIXTURE(own) {
};

FIXTURE_SETUP(own)
{
}

FIXTURE_TEARDOWN(own)
{
}

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* A request without an answer is what a program may forget. */
static int forgets_a_request(void)
{
	struct f_pair p = { .info = NULL };
	int ret = f_open(&p);

	if (!ret)
		ret = ask_in_vain(&p, &p);
	if (!ret)
		f_close(&p);
	return ret;
}

TEST_F_TIMEOUT(own, closed_objects_leave_no_descriptors, F_TEST_S)
{
	int before = 0, i;

	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, connects_anew());
		ASSERT_EQ(0, forgets_a_request());
		/* libfabric and the C library keep some from the first time on. */
		if (!i)
			before = descriptors();
	}
	EXPECT_EQ(before, descriptors());
}

#define MANY	4096	/* places of each queue */

/* Open and close an endpoint with long queues, and with the SRX of @p if there is one. */
static int open_and_close(struct f_pair *p)
{
	uint64_t directions = FI_TRANSMIT | FI_RECV;
	struct fid_ep *ep;
	int ret = fi_endpoint(p->domain, p->info, &ep, NULL);

	if (!ret)
		ret = fi_ep_bind(ep, &p->client.eq->fid, 0);
	if (!ret)
		ret = fi_ep_bind(ep, &p->client.cq->fid, directions);
	if (!ret && p->srx)
		ret = fi_ep_bind(ep, &p->srx->fid, 0);
	if (!ret)
		ret = fi_enable(ep);
	return ret ? ret : fi_close(&ep->fid);
}

/* An EVD of a CQ, which has a descriptor, has room for the queues of a few such endpoints only. */
TEST_F_TIMEOUT(own, closed_endpoints_need_no_room_in_their_cq, F_TEST_S)
{
	struct f_pair p = { .info = NULL };
	int before = 0, i, n;

	for (i = 0; i < 2; i++) {
		p.opts = (struct f_opts){ .tx_size = MANY, .rx_size = MANY, .shared = i };
		ASSERT_EQ(0, f_open(&p));
		for (n = 0; n < 20; n++) {
			ASSERT_EQ(0, open_and_close(&p));
			if (!n)
				before = descriptors();
		}
		EXPECT_EQ(before, descriptors());
		f_close(&p);
		memset(&p, 0, sizeof(p));
	}
}

TEST_F_TIMEOUT(api, a_child_opens_a_fabric_of_its_own, F_TEST_S)
{
	int status = -1;
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid)
		_exit(!!connects_anew());
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, f_connect(&self->p));
}

TEST_F_TIMEOUT(api, a_registration_without_memory_is_refused, F_TEST_S)
{
	struct f_pair *p = &self->p;
	struct fid_mr *mr;

	EXPECT_EQ(-FI_EINVAL, fi_mr_reg(p->domain, p->mem, 0, FI_SEND, 0, 0, 0, &mr, NULL));
	EXPECT_EQ(-FI_EINVAL, fi_mr_reg(p->domain, NULL, 4096, FI_SEND, 0, 0, 0, &mr, NULL));
	EXPECT_EQ(-FI_EINVAL, fi_mr_reg(p->domain, p->mem, 4096, FI_TAGGED, 0, 0, 0, &mr, NULL));
	EXPECT_EQ(-FI_EBADFLAGS, fi_mr_reg(p->domain, p->mem, 4096, FI_SEND, 0, 0, 1, &mr, NULL));
	/* ofi_rxm passes such a flag. */
	ASSERT_EQ(0, fi_mr_reg(p->domain, p->mem, 4096, FI_SEND, 0, 0, 1ULL << 60, &mr, NULL));
	EXPECT_EQ(0, fi_close(&mr->fid));
}

TEST_F_TIMEOUT(api, a_CQ_without_a_wait_object_is_not_waited_for, F_TEST_S)
{
	struct fi_cq_attr attr = { .wait_obj = FI_WAIT_NONE };
	struct f_pair *p = &self->p;
	struct fi_cq_entry entry;
	struct fid *fids[1];
	struct fid_cq *cq;
	int fd;

	ASSERT_EQ(0, fi_cq_open(p->domain, &attr, &cq, NULL));
	fids[0] = &cq->fid;
	EXPECT_EQ(-FI_ENOSYS, fi_cq_sread(cq, &entry, 1, NULL, 0));
	EXPECT_EQ(-FI_ENOSYS, fi_cq_signal(cq));
	EXPECT_EQ(-FI_ENODATA, fi_control(&cq->fid, FI_GETWAIT, &fd));
	EXPECT_EQ(-FI_EINVAL, fi_trywait(p->fabric, fids, 1));
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(cq, &entry, 1));
	EXPECT_EQ(0, fi_close(&cq->fid));
	attr.wait_obj = FI_WAIT_SET;
	EXPECT_EQ(-FI_ENOSYS, fi_cq_open(p->domain, &attr, &cq, NULL));
	attr.wait_obj = FI_WAIT_NONE;
	attr.format = 99;
	EXPECT_EQ(-FI_EINVAL, fi_cq_open(p->domain, &attr, &cq, NULL));
}

/* ---- Removal of the adapter ---- */

FIXTURE(removal) {
	struct f_pair p;
	const char *type;	/* of the adapter, or NULL if it cannot be removed */
};

FIXTURE_SETUP(removal)
{
	const char *type = adapter_type();

	ASSERT_EQ(0, f_open(&self->p));
	if (type && !strncmp(self->p.info->domain_attr->name, type, strlen(type)))
		self->type = type;
}

FIXTURE_TEARDOWN(removal)
{
	f_close(&self->p);
}

/* Wait for the event that the test writes; the end of the connection comes before it. */
static void *wait_for_event(void *eq)
{
	struct fi_eq_entry entry;	/* not shorter than that of a connection */
	uint32_t event = 0;
	ssize_t ret;

	do {
		ret = fi_eq_sread(eq, &event, &entry, sizeof(entry), -1, 0);
	} while (ret > 0 && event == FI_SHUTDOWN);
	return (void *)(uintptr_t)event;
}

static void *wait_for_signal(void *cq)
{
	struct fi_cq_tagged_entry entry;

	return (void *)(intptr_t)fi_cq_sread(cq, &entry, 1, NULL, -1);
}

/* Returns the milliseconds that the threads of this process have run. */
static int64_t cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

TEST_F_TIMEOUT(removal, ends_connections_and_a_new_adapter_can_be_opened, 2 * F_TEST_S)
{
	struct fi_cq_attr attr = { .wait_obj = FI_WAIT_NONE };
	struct fi_eq_entry notify = { .fid = NULL };
	struct fi_eq_cm_entry entry;
	struct fi_cq_err_entry err;
	struct f_pair *p = &self->p;
	struct fid_domain *other;
	pthread_t in_eq, in_cq;
	struct fid_cq *cq;
	int64_t begin;
	void *ret;

	if (!self->type)
		SKIP(return, "the adapter cannot be removed");
	ASSERT_EQ(0, f_connect(p));
	ASSERT_EQ(0, f_recv(p, p->server.ep, 0, 64, NULL));
	ASSERT_EQ(0, pthread_create(&in_eq, NULL, wait_for_event, p->server.eq));
	ASSERT_EQ(0, pthread_create(&in_cq, NULL, wait_for_signal, p->client.cq));
	ASSERT_EQ(0, adapter_plug(self->type, 0));
	EXPECT_EQ(FI_ECANCELED, f_comp_error(p->server.cq, &err));
	EXPECT_EQ(FI_SHUTDOWN, f_event(p->client.eq, &entry, sizeof(entry), NULL));
	EXPECT_EQ(-FI_EIO, fi_cq_open(p->domain, &attr, &cq, NULL));
	EXPECT_EQ(-FI_ENODEV, fi_domain(p->fabric, p->info, &other, NULL));
	/* The threads that wait do not run meanwhile. */
	begin = cpu_ms();
	poll(NULL, 0, F_QUIET_MS);
	EXPECT_GT(F_QUIET_MS / 2, cpu_ms() - begin);
	EXPECT_EQ(sizeof(notify), fi_eq_write(p->server.eq, FI_NOTIFY, &notify, sizeof(notify), 0));
	EXPECT_EQ(0, fi_cq_signal(p->client.cq));
	pthread_join(in_eq, &ret);
	EXPECT_EQ(FI_NOTIFY, (uintptr_t)ret);
	pthread_join(in_cq, &ret);
	EXPECT_EQ(-FI_EAGAIN, (intptr_t)ret);

	ASSERT_EQ(0, adapter_plug(self->type, 1));
	/* The objects of the adapter that is gone are still open. */
	EXPECT_EQ(0, connects_anew());
}

TEST_HARNESS_MAIN
