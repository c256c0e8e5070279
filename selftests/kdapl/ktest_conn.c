// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Connections between two EPs of this module, over the loopback of the adapter.  Messages are
 * empty, so that no memory has to be registered.
 */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/inetdevice.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <net/if_inet6.h>
#include <net/addrconf.h>
#include <rdma/ib_verbs.h>

#include "ktest.h"

#define LARGE_QUAL	(BIT_ULL(40) | 4194304)
#define LARGE_PORT	(LARGE_QUAL % 32001 + 33534)
#define QUAL	7471
#define QLEN	64
#define RECVS	8
#define BATCH	32	/* number of receives that complete at once */
#define BATCHES	50
#define LONG	256	/* length of a long queue, a power of two */
#define LONG_EVD	16384

/**
 * struct pair - two EPs that can be connected, and the objects that they need
 * @pz: protection zone of all objects
 * @dto: record of DTO events of both EPs
 * @conn: record of connection events of both EPs
 * @cr: record of connection requests
 * @dto_evd: EVD whose upcall fills @dto
 * @conn_evd: EVD whose upcall fills @conn
 * @cr_evd: EVD whose upcall fills @cr
 * @a: EP that connects
 * @b: EP that accepts
 * @addr: address of the adapter
 * @rejected: completed when the thread of reject_it() has ended
 */
struct pair {
	DAT_PZ_HANDLE		pz;
	struct kt_box		dto;
	struct kt_box		conn;
	struct kt_box		cr;
	DAT_EVD_HANDLE		dto_evd;
	DAT_EVD_HANDLE		conn_evd;
	DAT_EVD_HANDLE		cr_evd;
	DAT_EP_HANDLE		a;
	DAT_EP_HANDLE		b;
	struct sockaddr_storage	addr;
	struct completion	rejected;
};

static DAT_RETURN get_addr(struct ktest *t, struct sockaddr_storage *addr)
{
	DAT_IA_ATTR *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	DAT_RETURN rc;

	if (!attr)
		return DAT_INSUFFICIENT_RESOURCES;
	rc = dat_ia_query(t->ia, NULL, DAT_IA_FIELD_ALL, attr, 0, NULL);
	if (rc == DAT_SUCCESS && !attr->ia_address_ptr)
		rc = DAT_INVALID_ADDRESS;
	if (rc == DAT_SUCCESS)
		memcpy(addr, attr->ia_address_ptr, sizeof(struct sockaddr_in));
	kfree(attr);
	return rc;
}

static DAT_RETURN make_ep(struct ktest *t, struct pair *p, DAT_EP_HANDLE *ep)
{
	return dat_ep_create(t->ia, p->pz, p->dto_evd, p->dto_evd, p->conn_evd, NULL, ep);
}

/*
 * Allocate a pair with its DAT objects.  If this fails, the function closes the IA, which frees the
 * objects, and returns NULL.
 */
static struct pair *pair_make(struct ktest *t)
{
	struct pair *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return NULL;
	if (get_addr(t, &p->addr) || dat_pz_create(t->ia, &p->pz) ||
	    kt_box_evd(t, &p->dto, QLEN, DAT_EVD_DTO_FLAG, &p->dto_evd) ||
	    kt_box_evd(t, &p->conn, QLEN, DAT_EVD_CONNECTION_FLAG, &p->conn_evd) ||
	    kt_box_evd(t, &p->cr, QLEN, DAT_EVD_CR_FLAG, &p->cr_evd) ||
	    make_ep(t, p, &p->a) || make_ep(t, p, &p->b)) {
		dat_ia_close(t->ia, DAT_CLOSE_ABRUPT_FLAG);
		kfree(p);
		return NULL;
	}
	return p;
}

/* Before freeing @p, free the EPs and tear down the upcalls, because upcalls write to @p. */
static void pair_free(struct pair *p)
{
	dat_ep_free(p->a);
	dat_ep_free(p->b);
	dat_evd_modify_upcall(p->dto_evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
			      DAT_UPCALL_INVOC_NEW);
	dat_evd_modify_upcall(p->conn_evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
			      DAT_UPCALL_INVOC_NEW);
	dat_evd_modify_upcall(p->cr_evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
			      DAT_UPCALL_INVOC_NEW);
	kfree(p);
}

static DAT_RETURN start(struct pair *p, DAT_EP_HANDLE ep, const char *pd)
{
	return dat_ep_connect(ep, (struct sockaddr *)&p->addr, QUAL, 5000000,
			      strlen(pd) + 1, (void *)pd, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

static const DAT_CR_ARRIVAL_EVENT_DATA *arrival(const struct pair *p, int n)
{
	return &p->cr.events[n].event_data.cr_arrival_event_data;
}

/* Return the number of events in @p->conn that have this event number. */
static int conn_events(struct pair *p, DAT_EVENT_NUMBER number)
{
	unsigned int i;
	int n = 0;

	spin_lock_bh(&p->conn.lock);
	for (i = 0; i < p->conn.calls && i < ARRAY_SIZE(p->conn.events); i++)
		n += p->conn.events[i].event_number == number;
	spin_unlock_bh(&p->conn.lock);
	return n;
}

static void pair_connect(struct ktest *t, struct pair *p)
{
	DAT_PSP_HANDLE psp;
	DAT_CR_PARAM cr;
	DAT_EP_STATE state;

	KT_OK(t, dat_psp_create(t->ia, QUAL, p->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	KT_OK(t, start(p, p->a, "hello"));
	KT_TRUE(t, kt_box_wait(&p->cr));
	KT_EQ(t, p->cr.events[0].event_number, DAT_CONNECTION_REQUEST_EVENT);
	KT_TRUE(t, arrival(p, 0)->sp_handle.psp_handle == psp);
	KT_EQ(t, arrival(p, 0)->conn_qual, QUAL);
	KT_OK(t, dat_cr_query(arrival(p, 0)->cr_handle, DAT_CR_FIELD_ALL, &cr));
	KT_TRUE(t, cr.private_data && !strcmp(cr.private_data, "hello"));
	KT_OK(t, dat_cr_accept(arrival(p, 0)->cr_handle, p->b, 4, "yes"));
	KT_CODE(t, dat_cr_reject(arrival(p, 0)->cr_handle, 0, NULL), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_CR);
	KT_TRUE(t, kt_box_wait(&p->conn) && kt_box_wait(&p->conn));
	KT_EQ(t, conn_events(p, DAT_CONNECTION_EVENT_ESTABLISHED), 2);
	KT_OK(t, dat_ep_get_status(p->a, &state, NULL, NULL));
	KT_EQ(t, state, DAT_EP_STATE_CONNECTED);
	KT_OK(t, dat_psp_free(psp));
}

static const DAT_DTO_COMPLETION_EVENT_DATA *find_dto(struct pair *p, u64 cookie)
{
	unsigned int i;

	for (i = 0; i < p->dto.calls && i < ARRAY_SIZE(p->dto.events); i++) {
		DAT_DTO_COMPLETION_EVENT_DATA *dto =
			&p->dto.events[i].event_data.dto_completion_event_data;

		if (dto->user_cookie.as_64 == cookie)
			return dto;
	}
	return NULL;
}

static void transfer(struct ktest *t, struct pair *p)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_BOOLEAN idle;
	int i;

	for (i = 0; i < RECVS; i++)
		KT_OK(t, dat_ep_post_recv(p->b, 0, NULL, kt_cookie(100 + i), 0));
	KT_OK(t, dat_ep_get_status(p->b, NULL, &idle, NULL));
	KT_EQ(t, idle, DAT_FALSE);
	for (i = 0; i < RECVS; i++)
		KT_OK(t, dat_ep_post_send(p->a, 0, NULL, kt_cookie(200 + i), 0));
	for (i = 0; i < 2 * RECVS; i++)
		KT_TRUE(t, kt_box_wait(&p->dto));
	for (i = 0; i < RECVS; i++) {
		dto = find_dto(p, 100 + i);
		KT_TRUE(t, dto && dto->ep_handle == p->b);
		KT_EQ(t, dto->status, DAT_DTO_SUCCESS);
		KT_EQ(t, dto->operation, DAT_DTO_RECEIVE);
		dto = find_dto(p, 200 + i);
		KT_TRUE(t, dto && dto->ep_handle == p->a);
		KT_EQ(t, dto->status, DAT_DTO_SUCCESS);
		KT_EQ(t, dto->operation, DAT_DTO_SEND);
	}
	KT_TRUE(t, p->dto.atomic);
}

static void disconnect(struct ktest *t, struct pair *p)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EP_STATE state;

	KT_OK(t, dat_ep_post_recv(p->b, 0, NULL, kt_cookie(300), 0));
	KT_OK(t, dat_ep_disconnect(p->a, DAT_CLOSE_GRACEFUL_FLAG));
	KT_TRUE(t, kt_box_wait(&p->conn) && kt_box_wait(&p->conn));
	KT_EQ(t, conn_events(p, DAT_CONNECTION_EVENT_DISCONNECTED), 2);
	KT_TRUE(t, kt_box_wait(&p->dto));
	dto = find_dto(p, 300);
	KT_TRUE(t, dto && dto->status == DAT_DTO_ERR_FLUSHED);
	/* A post to a disconnected EP is flushed at once. */
	KT_OK(t, dat_ep_post_send(p->a, 0, NULL, kt_cookie(301), 0));
	KT_TRUE(t, kt_box_wait(&p->dto));
	dto = find_dto(p, 301);
	KT_TRUE(t, dto && dto->status == DAT_DTO_ERR_FLUSHED);
	KT_EQ(t, dto->operation, DAT_DTO_SEND);
	KT_OK(t, dat_ep_reset(p->a));
	KT_OK(t, dat_ep_get_status(p->a, &state, NULL, NULL));
	KT_EQ(t, state, DAT_EP_STATE_UNCONNECTED);
	KT_CODE(t, dat_ep_post_send(p->a, 0, NULL, kt_cookie(302), 0), DAT_INVALID_STATE,
		DAT_INVALID_STATE_EP_UNCONNECTED);
}

/* Make a pair, connect it and run @fn with it. */
static void connected(struct ktest *t, void (*fn)(struct ktest *t, struct pair *p))
{
	struct pair *p = pair_make(t);

	KT_TRUE(t, p);
	pair_connect(t, p);
	if (!t->failed && fn)
		fn(t, p);
	pair_free(p);
}

static void endpoints_connect(struct ktest *t)
{
	connected(t, NULL);
}

static void messages_arrive(struct ktest *t)
{
	connected(t, transfer);
}

static void disconnect_flushes(struct ktest *t)
{
	connected(t, disconnect);
}

static void bad_posts(struct ktest *t, struct pair *p)
{
	DAT_LMR_TRIPLET seg = { .virtual_address = 1, .segment_length = 8, .lmr_context = 1 };
	DAT_RMR_TRIPLET rmr = { .virtual_address = 1 };
	int i;

	KT_CODE(t, dat_ep_post_send(p->a, -1, NULL, kt_cookie(1), 0), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG2);
	KT_CODE(t, dat_ep_post_send(p->a, 1, NULL, kt_cookie(1), 0), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	KT_CODE(t, dat_ep_post_send(p->a, 1000, &seg, kt_cookie(1), 0), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG2);
	KT_CODE(t, dat_ep_post_send(p->a, 1, &seg, kt_cookie(1), 0), DAT_PRIVILEGES_VIOLATION,
		DAT_PRIVILEGES_READ);
	KT_CODE(t, dat_ep_post_send(p->a, 0, NULL, kt_cookie(1), 0x80), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG5);
	KT_CODE(t, dat_ep_post_send(p->a, 0, NULL, kt_cookie(1), DAT_COMPLETION_UNSIGNALLED_FLAG),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	KT_CODE(t, dat_ep_post_recv(p->a, 0, NULL, kt_cookie(1), DAT_COMPLETION_SUPPRESS_FLAG),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	KT_CODE(t, dat_ep_post_rdma_write(p->a, 0, NULL, kt_cookie(1), NULL, 0),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	rmr.segment_length = 1;
	KT_CODE(t, dat_ep_post_rdma_read(p->a, 0, NULL, kt_cookie(1), &rmr, 0), DAT_LENGTH_ERROR,
		DAT_NO_SUBTYPE);
	for (i = 0; i < 1024; i++)
		if (dat_ep_post_recv(p->a, 0, NULL, kt_cookie(1), 0))
			break;
	KT_CODE(t, dat_ep_post_recv(p->a, 0, NULL, kt_cookie(1), 0), DAT_INSUFFICIENT_RESOURCES,
		DAT_RESOURCE_TEP);
}

static void bad_posts_are_refused(struct ktest *t)
{
	connected(t, bad_posts);
}

static DAT_RETURN start_at(struct pair *p, DAT_CONN_QUAL qual, DAT_QOS qos)
{
	return dat_ep_connect(p->a, (struct sockaddr *)&p->addr, qual, 5000000, 0, NULL, qos,
			      DAT_CONNECT_DEFAULT_FLAG);
}

static void large_qualifier(struct ktest *t, struct pair *p)
{
	DAT_PSP_HANDLE psp, other;
	DAT_PSP_PARAM param;

	KT_OK(t, dat_psp_create(t->ia, LARGE_QUAL, p->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	KT_OK(t, dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param));
	KT_EQ(t, param.conn_qual, LARGE_QUAL);
	KT_CODE(t, dat_psp_create(t->ia, LARGE_PORT, p->cr_evd, DAT_PSP_CONSUMER_FLAG, &other),
		DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
	KT_OK(t, start_at(p, LARGE_QUAL, DAT_QOS_BEST_EFFORT));
	KT_TRUE(t, kt_box_wait(&p->cr));
	KT_EQ(t, arrival(p, 0)->conn_qual, LARGE_QUAL);
	KT_OK(t, dat_cr_reject(arrival(p, 0)->cr_handle, 0, NULL));
	KT_TRUE(t, kt_box_wait(&p->conn));
	KT_OK(t, dat_psp_free(psp));
}

/*
 * Set @addr to the link-local address of the interface that has the address of the IA.  Return
 * false if there is none.
 */
static bool other_address(const struct sockaddr_storage *of_ia, struct sockaddr_in6 *addr)
{
	const struct sockaddr_in *in = (const void *)of_ia;
	struct net_device *ndev;
	struct inet6_ifaddr *ifa;
	struct inet6_dev *idev;

	memset(addr, 0, sizeof(*addr));
	rcu_read_lock();
	ndev = in->sin_family == AF_INET ?
	       __ip_dev_find(&init_net, in->sin_addr.s_addr, false) : NULL;
	idev = ndev ? __in6_dev_get(ndev) : NULL;
	if (idev) {
		list_for_each_entry_rcu(ifa, &idev->addr_list, if_list) {
			if (!(ipv6_addr_type(&ifa->addr) & IPV6_ADDR_LINKLOCAL))
				continue;
			addr->sin6_family = AF_INET6;
			addr->sin6_addr = ifa->addr;
			addr->sin6_scope_id = ndev->ifindex;
		}
	}
	rcu_read_unlock();
	return addr->sin6_family;
}

/* Connect to @to, and check that the event of the request has this address. */
static void arrives_at(struct ktest *t, struct pair *p, int n, void *to, u32 from, u32 len)
{
	struct sockaddr *at;

	KT_OK(t, dat_ep_connect(p->a, to, QUAL, 5000000, 0, NULL, DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG));
	KT_TRUE(t, kt_box_wait(&p->cr));
	at = arrival(p, n)->local_ia_address_ptr;
	KT_TRUE(t, at && at->sa_family == ((struct sockaddr *)to)->sa_family &&
		!memcmp((char *)at + from, to + from, len));
	KT_OK(t, dat_cr_reject(arrival(p, n)->cr_handle, 0, NULL));
	KT_TRUE(t, kt_box_wait(&p->conn));
	KT_OK(t, dat_ep_reset(p->a));
}

static void address_of_request(struct ktest *t, struct pair *p)
{
	struct sockaddr_in6 other;
	DAT_PSP_HANDLE psp;

	KT_OK(t, dat_psp_create(t->ia, QUAL, p->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	arrives_at(t, p, 0, &p->addr, offsetof(struct sockaddr_in, sin_addr),
		   sizeof(struct in_addr));
	if (other_address(&p->addr, &other))
		arrives_at(t, p, 1, &other, offsetof(struct sockaddr_in6, sin6_addr),
			   sizeof(struct in6_addr));
	else
		pr_info("# %s: skipped: no link-local address\n", t->name);
	KT_OK(t, dat_psp_free(psp));
}

static void qualities_of_service(struct ktest *t, struct pair *p)
{
	static const DAT_QOS qos[] = {
		DAT_QOS_HIGH_THROUGHPUT, DAT_QOS_LOW_LATENCY, DAT_QOS_ECONOMY, DAT_QOS_PREMIUM,
	};
	unsigned int i;

	KT_CODE(t, start_at(p, QUAL, DAT_QOS_LOW_LATENCY | DAT_QOS_PREMIUM),
		DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	KT_CODE(t, start_at(p, QUAL, 2 * DAT_QOS_PREMIUM), DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	for (i = 0; i < ARRAY_SIZE(qos); i++) {
		/*
		 * No service point listens at QUAL.  The event NON_PEER_REJECTED shows that a
		 * request was sent.
		 */
		KT_OK(t, start_at(p, QUAL, qos[i]));
		KT_TRUE(t, kt_box_wait(&p->conn));
		KT_OK(t, dat_ep_reset(p->a));
	}
	KT_EQ(t, conn_events(p, DAT_CONNECTION_EVENT_NON_PEER_REJECTED), ARRAY_SIZE(qos));
}

static void out_of_reach(struct ktest *t, struct pair *p)
{
	DAT_SOCK_ADDR6 loopback = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	/* 192.0.2.1, which is nobody's. */
	struct sockaddr_in remote = { AF_INET, .sin_addr.s_addr = htonl(0xc0000201) };
	DAT_SOCK_ADDR unknown = { .sa_family = AF_UNIX };
	void *addr = ktest_on_device() ? (void *)&loopback : &remote;

	KT_CODE(t, dat_ep_connect(p->a, addr, QUAL, 1000000, 0, NULL,
				  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	KT_CODE(t, dat_ep_connect(p->a, &unknown, QUAL, 1000000, 0, NULL, DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG),
		DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
}

/* Rejects the last request with private data, which the peer reads until it resets its EP. */
static void reject_with_data(struct ktest *t, struct pair *p)
{
	const DAT_CONNECTION_EVENT_DATA *data;
	DAT_CR_HANDLE cr;
	char why[] = "busy";

	KT_OK(t, dat_ep_reset(p->a));
	KT_OK(t, start(p, p->a, ""));
	KT_TRUE(t, kt_box_wait(&p->cr));
	cr = arrival(p, p->cr.calls - 1)->cr_handle;
	KT_CODE(t, dat_cr_reject(cr, -1, why), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	/* Longer than any adapter allows, so the call reads none of the memory. */
	KT_CODE(t, dat_cr_reject(cr, 512, why), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KT_CODE(t, dat_cr_reject(cr, sizeof(why), NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	KT_OK(t, dat_cr_reject(cr, sizeof(why), why));
	KT_TRUE(t, kt_box_wait(&p->conn));
	KT_EQ(t, conn_events(p, DAT_CONNECTION_EVENT_PEER_REJECTED), 2);
	data = &p->conn.events[1].event_data.connect_event_data;
	KT_TRUE(t, data->private_data_size >= (DAT_COUNT)sizeof(why));
	KT_TRUE(t, data->private_data && !memcmp(data->private_data, why, sizeof(why)));
}

static void reject(struct ktest *t, struct pair *p)
{
	DAT_PSP_HANDLE psp;

	KT_OK(t, dat_psp_create(t->ia, QUAL, p->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	KT_CODE(t, dat_psp_create(t->ia, QUAL, p->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
	KT_OK(t, start(p, p->a, ""));
	KT_TRUE(t, kt_box_wait(&p->cr));
	KT_OK(t, dat_cr_reject(arrival(p, 0)->cr_handle, 0, NULL));
	KT_TRUE(t, kt_box_wait(&p->conn));
	KT_EQ(t, conn_events(p, DAT_CONNECTION_EVENT_PEER_REJECTED), 1);
	/* The CM pads a reject, but the consumer has sent no data. */
	KT_EQ(t, p->conn.events[0].event_data.connect_event_data.private_data_size, 0);
	reject_with_data(t, p);
	KT_OK(t, dat_psp_free(psp));
	KT_OK(t, dat_ep_reset(p->a));
	KT_OK(t, start(p, p->a, ""));
	KT_TRUE(t, kt_box_wait(&p->conn));
	KT_EQ(t, conn_events(p, DAT_CONNECTION_EVENT_NON_PEER_REJECTED), 1);
}

static void untold(struct ktest *t, struct pair *p)
{
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;

	KT_OK(t, dat_evd_kcreate(t->ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CR_FLAG, &evd));
	KT_OK(t, dat_psp_create(t->ia, QUAL, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	KT_OK(t, start(p, p->a, ""));
	/*
	 * Give the request time to arrive.  The test cannot check for the arrival, because the
	 * event must stay in the queue.
	 */
	msleep(500);
	KT_OK(t, dat_psp_free(psp));
	KT_OK(t, dat_evd_free(evd));
	KT_TRUE(t, kt_box_wait(&p->conn));
	KT_EQ(t, conn_events(p, DAT_CONNECTION_EVENT_NON_PEER_REJECTED), 1);
}

static void unconnected(struct ktest *t, void (*fn)(struct ktest *t, struct pair *p))
{
	struct pair *p = pair_make(t);

	KT_TRUE(t, p);
	fn(t, p);
	pair_free(p);
}

static void addresses_out_of_reach_are_refused(struct ktest *t)
{
	unconnected(t, out_of_reach);
}

static void requests_are_rejected(struct ktest *t)
{
	unconnected(t, reject);
}

static void qualifiers_beyond_ports_are_reached(struct ktest *t)
{
	unconnected(t, large_qualifier);
}

static void a_request_names_the_address_that_was_used(struct ktest *t)
{
	unconnected(t, address_of_request);
}

static void connections_have_a_quality_of_service(struct ktest *t)
{
	unconnected(t, qualities_of_service);
}

static void requests_nobody_is_told_of_are_refused(struct ktest *t)
{
	unconnected(t, untold);
}

static void reserved(struct ktest *t, struct pair *p)
{
	DAT_RSP_HANDLE rsp, again;
	DAT_EP_HANDLE other;
	DAT_EP_STATE state;
	DAT_CR_PARAM cr;

	KT_OK(t, dat_rsp_create(t->ia, QUAL, p->b, p->cr_evd, &rsp));
	KT_OK(t, dat_ep_get_status(p->b, &state, NULL, NULL));
	KT_EQ(t, state, DAT_EP_STATE_RESERVED);
	KT_EQ(t, dat_ep_free(p->b),
	      DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_EP_RESERVED);
	KT_EQ(t, dat_ep_reset(p->b),
	      DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_EP_RESERVED);
	KT_CODE(t, dat_rsp_create(t->ia, QUAL + 1, p->b, p->cr_evd, &again), DAT_INVALID_STATE,
		DAT_INVALID_STATE_EP_RESERVED);
	KT_CODE(t, start(p, p->b, ""), DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RESERVED);
	KT_CODE(t, dat_psp_free(rsp), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
	KT_OK(t, start(p, p->a, ""));
	KT_TRUE(t, kt_box_wait(&p->cr));
	KT_TRUE(t, arrival(p, 0)->sp_handle.rsp_handle == rsp);
	/* An RSP rejects a second request. */
	KT_OK(t, make_ep(t, p, &other));
	KT_OK(t, start(p, other, ""));
	KT_TRUE(t, kt_box_wait(&p->conn));
	KT_EQ(t, conn_events(p, DAT_CONNECTION_EVENT_NON_PEER_REJECTED), 1);
	KT_EQ(t, p->cr.calls, 1);
	KT_OK(t, dat_ep_free(other));
	KT_OK(t, dat_ep_get_status(p->b, &state, NULL, NULL));
	KT_EQ(t, state, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	KT_EQ(t, dat_ep_free(p->b),
	      DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_EP_PASSCONNPENDING);
	KT_EQ(t, dat_ep_reset(p->b),
	      DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_EP_PASSCONNPENDING);
	KT_OK(t, dat_cr_query(arrival(p, 0)->cr_handle, DAT_CR_FIELD_ALL, &cr));
	KT_TRUE(t, cr.local_ep_handle == p->b);
	KT_CODE(t, dat_cr_accept(arrival(p, 0)->cr_handle, p->b, 0, NULL), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_EP);
	KT_OK(t, dat_cr_accept(arrival(p, 0)->cr_handle, DAT_HANDLE_NULL, 0, NULL));
	KT_TRUE(t, kt_box_wait(&p->conn) && kt_box_wait(&p->conn));
	KT_EQ(t, conn_events(p, DAT_CONNECTION_EVENT_ESTABLISHED), 2);
	KT_OK(t, dat_rsp_free(rsp));
}

static void reserved_endpoint_takes_the_request(struct ktest *t)
{
	unconnected(t, reserved);
}

static int reject_it(void *data)
{
	struct pair *p = data;

	dat_cr_reject(arrival(p, p->cr.calls - 1)->cr_handle, 0, NULL);
	/* Exit in kernel code, so that the thread runs no module code after an unload. */
	kthread_complete_and_exit(&p->rejected, 0);
}

/*
 * Let two threads accept and reject the same request.  The second of the two calls fails.
 * Afterwards, the EP must not be in the state PASSIVE_CONNECTION_PENDING.
 */
static void contend(struct ktest *t, struct pair *p)
{
	struct task_struct *task;
	DAT_RSP_HANDLE rsp;
	DAT_EP_STATE state;

	KT_OK(t, dat_rsp_create(t->ia, QUAL, p->b, p->cr_evd, &rsp));
	KT_OK(t, start(p, p->a, ""));
	KT_TRUE(t, kt_box_wait(&p->cr));
	init_completion(&p->rejected);
	task = kthread_run(reject_it, p, "ktest-reject");
	KT_TRUE(t, !IS_ERR(task));
	dat_cr_accept(arrival(p, p->cr.calls - 1)->cr_handle, DAT_HANDLE_NULL, 0, NULL);
	wait_for_completion(&p->rejected);
	KT_OK(t, dat_ep_get_status(p->b, &state, NULL, NULL));
	KT_TRUE(t, state != DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	KT_OK(t, dat_rsp_free(rsp));
	/* Replace both EPs, because they may be connected. */
	KT_OK(t, dat_ep_free(p->a));
	KT_OK(t, dat_ep_free(p->b));
	KT_OK(t, make_ep(t, p, &p->a));
	KT_OK(t, make_ep(t, p, &p->b));
}

static void contended(struct ktest *t, struct pair *p)
{
	int i;

	for (i = 0; i < 40 && !t->failed; i++)
		contend(t, p);
}

static void endpoint_survives_accept_beside_reject(struct ktest *t)
{
	unconnected(t, contended);
}

static void crowded(struct ktest *t, struct pair *p)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_RSP_HANDLE rsp;
	DAT_EVD_HANDLE evd;
	int i;

	KT_OK(t, dat_evd_kcreate(t->ia, 1, DAT_UPCALL_DISABLE, NULL,
				 DAT_EVD_CR_FLAG | DAT_EVD_SOFTWARE_FLAG, &evd));
	KT_OK(t, dat_rsp_create(t->ia, QUAL, p->b, evd, &rsp));
	for (i = 0; i < 1000 && !dat_evd_post_se(evd, &event); i++)
		;
	KT_OK(t, start(p, p->a, ""));
	KT_TRUE(t, kt_box_wait(&p->conn));
	KT_EQ(t, conn_events(p, DAT_CONNECTION_EVENT_NON_PEER_REJECTED), 1);
	while (!dat_evd_dequeue(evd, &event))
		KT_EQ(t, event.event_number, DAT_SOFTWARE_EVENT);
	KT_OK(t, dat_ep_reset(p->a));
	KT_OK(t, start(p, p->a, ""));
	for (i = 0; i < 100 && dat_evd_dequeue(evd, &event); i++)
		msleep(50);
	KT_EQ(t, event.event_number, DAT_CONNECTION_REQUEST_EVENT);
	KT_OK(t, dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
			       DAT_HANDLE_NULL, 0, NULL));
	KT_TRUE(t, kt_box_wait(&p->conn) && kt_box_wait(&p->conn));
	KT_EQ(t, conn_events(p, DAT_CONNECTION_EVENT_ESTABLISHED), 2);
	KT_OK(t, dat_rsp_free(rsp));
}

static void request_without_room_does_not_spend_the_reservation(struct ktest *t)
{
	unconnected(t, crowded);
}

static void unreserved(struct ktest *t, struct pair *p)
{
	DAT_RSP_HANDLE rsp;
	DAT_EP_STATE state;

	KT_OK(t, dat_rsp_create(t->ia, QUAL, p->b, p->cr_evd, &rsp));
	KT_OK(t, dat_rsp_free(rsp));
	KT_OK(t, dat_ep_get_status(p->b, &state, NULL, NULL));
	KT_EQ(t, state, DAT_EP_STATE_UNCONNECTED);
	KT_OK(t, dat_rsp_create(t->ia, QUAL, p->b, p->cr_evd, &rsp));
	KT_OK(t, start(p, p->a, ""));
	KT_TRUE(t, kt_box_wait(&p->cr));
	KT_OK(t, dat_cr_reject(arrival(p, 0)->cr_handle, 0, NULL));
	KT_OK(t, dat_ep_get_status(p->b, &state, NULL, NULL));
	KT_EQ(t, state, DAT_EP_STATE_UNCONNECTED);
	KT_OK(t, dat_rsp_free(rsp));
}

static void endpoint_comes_back_from_a_reservation(struct ktest *t)
{
	unconnected(t, unreserved);
}

static void common(struct ktest *t, struct pair *p)
{
	DAT_COMM comm = { AF_INET, SOCK_STREAM, IPPROTO_TCP };
	struct sockaddr_in any = { .sin_family = AF_INET };
	DAT_CSP_PARAM param;
	DAT_CSP_HANDLE csp;

	KT_OK(t, dat_csp_create(t->ia, &comm, (struct sockaddr *)&any, p->cr_evd, &csp));
	KT_OK(t, dat_csp_query(csp, DAT_CSP_FIELD_ALL, &param));
	((struct sockaddr_in *)&p->addr)->sin_port =
		((struct sockaddr_in *)param.address_ptr)->sin_port;
	KT_OK(t, dat_ep_common_connect(p->a, (struct sockaddr *)&p->addr, 5000000, 0, NULL));
	KT_TRUE(t, kt_box_wait(&p->cr));
	KT_TRUE(t, arrival(p, 0)->sp_handle.csp_handle == csp);
	KT_OK(t, dat_cr_accept(arrival(p, 0)->cr_handle, p->b, 0, NULL));
	KT_TRUE(t, kt_box_wait(&p->conn) && kt_box_wait(&p->conn));
	KT_EQ(t, conn_events(p, DAT_CONNECTION_EVENT_ESTABLISHED), 2);
	KT_OK(t, dat_csp_free(csp));
	comm.type = SOCK_DGRAM;
	KT_CODE(t, dat_csp_create(t->ia, &comm, (struct sockaddr *)&any, p->cr_evd, &csp),
		DAT_COMM_NOT_SUPPORTED, DAT_NO_SUBTYPE);
}

static void common_service_points_take_ports(struct ktest *t)
{
	unconnected(t, common);
}

/*
 * Connect the pair again with the roles of the two EPs swapped.  The EP that accepted the last
 * connection must refuse dat_ep_dup_connect().
 */
static void turn(struct ktest *t, struct pair *p)
{
	DAT_EP_HANDLE c = NULL;

	pair_connect(t, p);
	KT_TRUE(t, !t->failed);
	KT_OK(t, dat_ep_disconnect(p->a, DAT_CLOSE_ABRUPT_FLAG));
	KT_TRUE(t, kt_box_wait(&p->conn) && kt_box_wait(&p->conn));
	KT_OK(t, dat_ep_reset(p->a));
	KT_OK(t, dat_ep_reset(p->b));
	swap(p->a, p->b);
	kt_box_init(&p->cr);
	kt_box_init(&p->conn);
	pair_connect(t, p);
	KT_TRUE(t, !t->failed);
	KT_OK(t, make_ep(t, p, &c));
	KT_CODE(t, dat_ep_dup_connect(c, p->b, 5000000, 0, NULL, DAT_QOS_BEST_EFFORT),
		DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED);
}

static DAT_RETURN take(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_RETURN rc = DAT_SUCCESS;
	int i;

	for (i = 0; i < 200; i++) {
		rc = dat_evd_dequeue(evd, event);
		if (!rc)
			break;
		msleep(50);
	}
	return rc;
}

/*
 * Dequeue the ESTABLISHED event only after the EP has been reset.  The event must then have no
 * private data.
 */
static void late(struct ktest *t, struct pair *p)
{
	DAT_EVD_HANDLE evd;
	DAT_EP_STATE state;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;
	int i;

	KT_OK(t, dat_evd_kcreate(t->ia, QLEN, DAT_UPCALL_DISABLE, NULL, DAT_EVD_CONNECTION_FLAG,
				 &evd));
	KT_OK(t, dat_ep_free(p->a));
	KT_OK(t, dat_ep_create(t->ia, p->pz, p->dto_evd, p->dto_evd, evd, NULL, &p->a));
	KT_OK(t, dat_psp_create(t->ia, QUAL, p->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	KT_OK(t, start(p, p->a, ""));
	KT_TRUE(t, kt_box_wait(&p->cr));
	KT_OK(t, dat_cr_accept(arrival(p, 0)->cr_handle, p->b, 4, "yes"));
	KT_TRUE(t, kt_box_wait(&p->conn));
	KT_OK(t, dat_ep_disconnect(p->b, DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < 200; i++) {
		KT_OK(t, dat_ep_get_status(p->a, &state, NULL, NULL));
		if (state == DAT_EP_STATE_DISCONNECTED)
			break;
		msleep(50);
	}
	KT_OK(t, dat_ep_reset(p->a));
	KT_OK(t, take(evd, &event));
	KT_EQ(t, event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	KT_EQ(t, event.event_data.connect_event_data.private_data_size, 0);
	KT_TRUE(t, !event.event_data.connect_event_data.private_data);
	KT_OK(t, dat_psp_free(psp));
}

static void private_data_ends_with_the_reset(struct ktest *t)
{
	unconnected(t, late);
}

static void accepted_connections_are_not_duplicated(struct ktest *t)
{
	unconnected(t, turn);
}

static void shared(struct ktest *t, struct pair *p)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 16, .max_recv_iov = 1 };
	DAT_EP_ATTR attr = { .max_request_dtos = 16, .srq_soft_hw = DAT_HW_DEFAULT };
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_SRQ_PARAM param;
	DAT_SRQ_HANDLE srq;
	DAT_COUNT n, span;

	KT_OK(t, dat_srq_create(t->ia, p->pz, &srq_attr, &srq));
	KT_OK(t, dat_ep_free(p->b));
	KT_OK(t, dat_ep_create_with_srq(t->ia, p->pz, p->dto_evd, p->dto_evd, p->conn_evd, srq,
					&attr, &p->b));
	KT_CODE(t, dat_ep_post_recv(p->b, 0, NULL, kt_cookie(1), 0), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_EP);
	KT_OK(t, dat_ep_recv_query(p->b, &n, &span));
	KT_TRUE(t, n == DAT_VALUE_UNKNOWN && span == DAT_VALUE_UNKNOWN);
	KT_CODE(t, dat_srq_free(srq), DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
	KT_OK(t, dat_srq_post_recv(srq, 0, NULL, kt_cookie(1)));
	KT_OK(t, dat_srq_post_recv(srq, 0, NULL, kt_cookie(2)));
	KT_OK(t, dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	KT_EQ(t, param.available_dto_count, 2);
	KT_EQ(t, param.srq_state, DAT_SRQ_STATE_OPERATIONAL);
	pair_connect(t, p);
	KT_TRUE(t, !t->failed);
	KT_OK(t, dat_ep_post_send(p->a, 0, NULL, kt_cookie(3), 0));
	KT_TRUE(t, kt_box_wait(&p->dto) && kt_box_wait(&p->dto));
	dto = find_dto(p, 1);
	KT_TRUE(t, dto && dto->ep_handle == p->b && dto->operation == DAT_DTO_RECEIVE);
	KT_OK(t, dat_srq_resize(srq, 64));
	KT_OK(t, dat_srq_set_lw(srq, 1));
	KT_CODE(t, dat_srq_set_lw(srq, 1000), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}

static void shared_receives_are_taken(struct ktest *t)
{
	unconnected(t, shared);
}

/* Lengths of the longest queues that kDAPL has requested from the device. */
static u32 longest_sq, longest_rq;

static int note_queues(struct kprobe *probe, struct pt_regs *regs)
{
	const struct ib_qp_init_attr *init =
		(const struct ib_qp_init_attr *)ktest_argument(regs, 1);

	longest_sq = max(longest_sq, init->cap.max_send_wr);
	longest_rq = max(longest_rq, init->cap.max_recv_wr);
	return 0;
}

static struct kprobe queue_probe = {
	.symbol_name = "ib_create_qp_kernel", .pre_handler = note_queues,
};

static void lengths(struct ktest *t, struct pair *p)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = LONG, .max_request_dtos = LONG };

	if (dat_ep_free(p->a) || dat_ep_free(p->b) ||
	    dat_ep_create(t->ia, p->pz, p->dto_evd, p->dto_evd, p->conn_evd, &attr, &p->a) ||
	    dat_ep_create(t->ia, p->pz, p->dto_evd, p->dto_evd, p->conn_evd, &attr, &p->b))
		ktest_fail(t, __FILE__, __LINE__, "made", 0, 1);
	else
		pair_connect(t, p);
}

/*
 * kDAPL must request LONG entries.  If it requested one more, for the work request of a drain, the
 * device would double the queue, because it rounds a length up to a power of two.
 */
static void long_queues_are_not_doubled_by_the_device(struct ktest *t)
{
	int ret = register_kprobe(&queue_probe);

	if (ret == -EOPNOTSUPP) {
		pr_info("# %s: skipped: a kernel without kprobes\n", t->name);
		return;
	}
	KT_EQ(t, ret, 0);
	longest_sq = 0;
	longest_rq = 0;
	unconnected(t, lengths);
	unregister_kprobe(&queue_probe);
	KT_EQ(t, longest_sq, LONG);
	KT_EQ(t, longest_rq, LONG);
}

/* Number of completion queues that were made. */
static int cqs_made;

static int note_cq(struct kprobe *probe, struct pt_regs *regs)
{
	cqs_made++;
	return 0;
}

static struct kprobe cq_probe = { .symbol_name = "__ib_create_cq", .pre_handler = note_cq };

/* Connect EPs whose EVD, with this policy, has room for all that a CQ of both may hold. */
static void connect_with_policy(struct ktest *t, struct pair *p, DAT_UPCALL_POLICY policy)
{
	KT_OK(t, dat_evd_resize(p->dto_evd, LONG_EVD));
	KT_OK(t, dat_evd_modify_upcall(p->dto_evd, policy, DAT_UPCALL_SAME,
				       DAT_UPCALL_INVOC_NEW));
	cqs_made = 0;
	pair_connect(t, p);
}

static void connect_with_single(struct ktest *t, struct pair *p)
{
	connect_with_policy(t, p, DAT_UPCALL_SINGLE_INSTANCE);
}

static void connect_with_many(struct ktest *t, struct pair *p)
{
	connect_with_policy(t, p, DAT_UPCALL_MANY);
}

/* A CQ is polled by one CPU at a time, and notifies again only after the upcalls of a poll. */
static void endpoints_share_a_cq_unless_upcalls_run_at_the_same_time(struct ktest *t)
{
	int ret = register_kprobe(&cq_probe), single, many;

	if (ret == -EOPNOTSUPP) {
		pr_info("# %s: skipped: a kernel without kprobes\n", t->name);
		return;
	}
	KT_EQ(t, ret, 0);
	unconnected(t, connect_with_single);
	single = cqs_made;
	if (!t->failed)
		unconnected(t, connect_with_many);
	many = cqs_made;
	unregister_kprobe(&cq_probe);
	if (t->failed)
		return;
	KT_EQ(t, single, 1);
	KT_EQ(t, many, 2);
}

/**
 * struct batches - receives that complete in batches
 * @evd: EVD for the completions of the receives
 * @lock: protects all fields below
 * @times: number of events for each cookie
 * @got: number of events in total
 * @last: cookie of the last event that an upcall delivered
 * @disorder: true if upcalls delivered events out of order
 * @alone: true if upcalls dequeue the remaining events and no other thread does
 * @untold: true if an upcall dequeued an event although more_events was false and no other context
 *	could have queued the event in between
 */
struct batches {
	DAT_EVD_HANDLE	evd;
	spinlock_t	lock;		/* protects all fields below */
	u8		times[BATCHES * BATCH];
	int		got;
	int		last;
	bool		disorder;
	bool		alone;
	bool		untold;
};

static void batches_add(struct batches *b, const DAT_EVENT *event, bool ordered)
{
	int n = event->event_data.dto_completion_event_data.user_cookie.as_64;

	spin_lock_bh(&b->lock);
	if (n >= 0 && n < ARRAY_SIZE(b->times))
		b->times[n]++;
	b->got++;
	if (ordered) {
		b->disorder |= n <= b->last;
		b->last = n;
	}
	spin_unlock_bh(&b->lock);
}

static void batches_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct batches *b = data;
	DAT_EVENT next;

	batches_add(b, event, true);
	/* Give meddle() time to run. */
	if (!b->alone)
		udelay(9);
	while (b->alone && dat_evd_dequeue(b->evd, &next) == DAT_SUCCESS) {
		b->untold |= more == DAT_FALSE && num_online_cpus() == 1;
		batches_add(b, &next, true);
	}
}

static bool batches_got(struct batches *b, int n)
{
	unsigned long end = jiffies + KT_WAIT;
	bool enough;

	do {
		spin_lock_bh(&b->lock);
		enough = b->got >= n;
		spin_unlock_bh(&b->lock);
		if (!enough)
			usleep_range(50, 100);
	} while (!enough && time_before(jiffies, end));
	return enough;
}

/* Post a batch with softirqs disabled, so that no DTO completes before all are posted. */
static DAT_RETURN batch_post(struct pair *p, int first)
{
	DAT_RETURN rc = DAT_SUCCESS;
	int i;

	local_bh_disable();
	for (i = 0; i < BATCH && rc == DAT_SUCCESS; i++)
		rc = dat_ep_post_recv(p->b, 0, NULL, kt_cookie(first + i), 0);
	for (i = 0; i < BATCH && rc == DAT_SUCCESS; i++)
		rc = dat_ep_post_send(p->a, 0, NULL, kt_cookie(i), DAT_COMPLETION_SUPPRESS_FLAG);
	local_bh_enable();
	return rc;
}

/* Wait until the queue of @ep has room for a whole batch.  A send ends after its receive. */
static bool requests_end(DAT_EP_HANDLE ep)
{
	unsigned long end = jiffies + KT_WAIT;
	DAT_BOOLEAN idle = DAT_FALSE;

	while (!dat_ep_get_status(ep, NULL, NULL, &idle) && !idle && time_before(jiffies, end))
		usleep_range(50, 100);
	return idle;
}

static void batches_run(struct ktest *t, struct pair *p, struct batches *b)
{
	int i;

	for (i = 0; i < BATCHES; i++) {
		KT_TRUE(t, requests_end(p->a));
		KT_OK(t, batch_post(p, i * BATCH));
		KT_TRUE(t, batches_got(b, (i + 1) * BATCH));
	}
	for (i = 0; i < ARRAY_SIZE(b->times); i++)
		KT_EQ(t, b->times[i], 1);
	KT_EQ(t, b->got, ARRAY_SIZE(b->times));
	KT_TRUE(t, !b->disorder);
	KT_TRUE(t, !b->untold);
}

/* Thread that makes calls which are allowed while upcalls run. */
static int meddle(void *data)
{
	struct batches *b = data;
	DAT_COUNT qlen = BATCH;
	DAT_EVENT event;

	while (!kthread_should_stop()) {
		if (dat_evd_dequeue(b->evd, &event) == DAT_SUCCESS)
			batches_add(b, &event, false);
		dat_evd_modify_upcall(b->evd, DAT_UPCALL_DISABLE, DAT_UPCALL_SAME,
				      DAT_UPCALL_INVOC_NEW);
		if (!dat_evd_resize(b->evd, qlen))
			qlen = 3 * BATCH - qlen;
		dat_evd_modify_upcall(b->evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
				      DAT_UPCALL_INVOC_NEW);
		dat_evd_modify_upcall(b->evd, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_SAME,
				      DAT_UPCALL_INVOC_ANY);
		usleep_range(20, 200);
	}
	return 0;
}

/* Run @fn with a connected pair.  The receives of p->b complete to the EVD of a struct batches. */
static void batches(struct ktest *t, struct pair *p,
		    void (*fn)(struct ktest *t, struct pair *p, struct batches *b))
{
	struct batches *b = kzalloc(sizeof(*b), GFP_KERNEL);
	DAT_UPCALL_OBJECT upcall = { b, batches_upcall };
	DAT_EP_ATTR attr = { .max_recv_dtos = BATCH, .max_request_dtos = BATCH };

	KT_TRUE(t, b);
	spin_lock_init(&b->lock);
	b->last = -1;
	if (dat_evd_kcreate(t->ia, BATCH, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			    DAT_EVD_DTO_FLAG, &b->evd) ||
	    dat_ep_free(p->a) || dat_ep_free(p->b) ||
	    dat_ep_create(t->ia, p->pz, p->dto_evd, p->dto_evd, p->conn_evd, &attr, &p->a) ||
	    dat_ep_create(t->ia, p->pz, b->evd, p->dto_evd, p->conn_evd, &attr, &p->b))
		ktest_fail(t, __FILE__, __LINE__, "made", 0, 1);
	else
		pair_connect(t, p);
	if (!t->failed)
		fn(t, p, b);
	dat_evd_modify_upcall(b->evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
			      DAT_UPCALL_INVOC_NEW);
	kfree(b);
}

static void dequeue_alone(struct ktest *t, struct pair *p, struct batches *b)
{
	b->alone = true;
	batches_run(t, p, b);
}

static void dequeued_in_upcalls(struct ktest *t, struct pair *p)
{
	batches(t, p, dequeue_alone);
}

static void upcalls_may_dequeue_the_rest_of_a_batch(struct ktest *t)
{
	unconnected(t, dequeued_in_upcalls);
}

static void run_meddled(struct ktest *t, struct pair *p, struct batches *b)
{
	struct task_struct *task = kthread_run(meddle, b, "ktest-meddle");

	KT_TRUE(t, !IS_ERR(task));
	batches_run(t, p, b);
	kthread_stop(task);
}

static void meddled(struct ktest *t, struct pair *p)
{
	batches(t, p, run_meddled);
}

static void completions_come_once_whatever_is_done_to_their_evd(struct ktest *t)
{
	unconnected(t, meddled);
}

#define SILENT	9

/*
 * The EVD notifies for solicited receives only.  Post SILENT unsolicited messages and check that no
 * upcall runs.  Then post a solicited message and check that upcalls deliver the rest.
 */
static void solicit(struct ktest *t, struct pair *p, struct kt_box *box, DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	int i;

	for (i = 0; i <= SILENT; i++)
		KT_OK(t, dat_ep_post_recv(p->b, 0, NULL, kt_cookie(i), 0));
	for (i = 0; i < SILENT; i++) {
		KT_OK(t, dat_ep_post_send(p->a, 0, NULL, kt_cookie(100), 0));
		KT_TRUE(t, kt_box_wait(&p->dto));
	}
	msleep(300);
	KT_EQ(t, READ_ONCE(box->calls), 0);
	KT_OK(t, dat_evd_dequeue(evd, &event));
	KT_EQ(t, event.event_data.dto_completion_event_data.user_cookie.as_64, 0);
	KT_EQ(t, READ_ONCE(box->calls), 0);
	KT_OK(t, dat_ep_post_send(p->a, 0, NULL, kt_cookie(100),
				  DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	for (i = 0; i < SILENT; i++)
		KT_TRUE(t, kt_box_wait(box));
	for (i = 0; i < SILENT; i++)
		KT_EQ(t, box->events[i].event_data.dto_completion_event_data.user_cookie.as_64,
		      i + 1);
	KT_CODE(t, dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
}

static void solicited(struct ktest *t, struct pair *p)
{
	DAT_EP_ATTR attr = {
		.max_recv_dtos = QLEN, .max_request_dtos = QLEN,
		.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG,
	};
	struct kt_box *box = kzalloc(sizeof(*box), GFP_KERNEL);
	DAT_EVD_HANDLE evd;

	KT_TRUE(t, box);
	if (kt_box_evd(t, box, QLEN, DAT_EVD_DTO_FLAG, &evd) || dat_ep_free(p->b) ||
	    dat_ep_create(t->ia, p->pz, evd, p->dto_evd, p->conn_evd, &attr, &p->b))
		ktest_fail(t, __FILE__, __LINE__, "made", 0, 1);
	else
		pair_connect(t, p);
	if (!t->failed)
		solicit(t, p, box, evd);
	dat_evd_modify_upcall(evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW);
	kfree(box);
}

static void only_the_message_that_asks_starts_upcalls(struct ktest *t)
{
	unconnected(t, solicited);
}

/* Wait for the next event of t->async.  Return false on timeout. */
static bool async_comes(struct ktest *t, DAT_EVENT *event)
{
	unsigned long end = jiffies + KT_WAIT;

	while (dat_evd_dequeue(t->async, event)) {
		if (time_after(jiffies, end))
			return false;
		msleep(20);
	}
	return true;
}

static void an_error_of_the_port_is_an_async_event(struct ktest *t)
{
	struct ib_device *ibdev = ib_device_get_by_name(ktest_device, RDMA_DRIVER_UNKNOWN);
	struct ib_event error = {
		.device = ibdev, .element.port_num = 1, .event = IB_EVENT_PORT_ERR,
	};
	DAT_ASYNCH_ERROR_EVENT_DATA *data;
	DAT_EVENT event;

	KT_TRUE(t, ibdev);
	ib_dispatch_event(&error);
	ib_device_put(ibdev);
	KT_TRUE(t, async_comes(t, &event));
	data = &event.event_data.asynch_error_event_data;
	KT_EQ(t, event.event_number, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	KT_TRUE(t, data->dat_handle == t->ia);
	KT_EQ(t, data->reason, DAT_IA_OTHER_ERROR);
}

/*
 * Let @n messages arrive at an EVD with room for two.  @first is the cookie of the first receive.
 */
static void overfill(struct ktest *t, struct pair *p, DAT_EVD_HANDLE evd, int first, int n)
{
	DAT_EVENT event;
	int i;

	for (i = 0; i < n; i++)
		KT_OK(t, dat_ep_post_recv(p->b, 0, NULL, kt_cookie(first + i), 0));
	for (i = 0; i < n; i++)
		KT_OK(t, dat_ep_post_send(p->a, 0, NULL, kt_cookie(100), 0));
	for (i = 0; i < n; i++)
		KT_TRUE(t, kt_box_wait(&p->dto));
	KT_TRUE(t, async_comes(t, &event));
	KT_EQ(t, event.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	KT_TRUE(t, event.event_data.asynch_error_event_data.dat_handle == evd);
	/*
	 * Until an event finds room again, only one overflow is reported, however many events are
	 * lost.
	 */
	msleep(100);
	KT_CODE(t, dat_evd_dequeue(t->async, &event), DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
	for (i = 0; i < 2; i++) {
		KT_OK(t, dat_evd_dequeue(evd, &event));
		KT_EQ(t, event.event_number, DAT_DTO_COMPLETION_EVENT);
		KT_EQ(t, event.event_data.dto_completion_event_data.user_cookie.as_64, first + i);
	}
	KT_CODE(t, dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
}

static void overflow(struct ktest *t, struct pair *p)
{
	DAT_EVD_HANDLE evd;

	KT_OK(t, dat_evd_kcreate(t->ia, 2, DAT_UPCALL_DISABLE, NULL, DAT_EVD_DTO_FLAG, &evd));
	KT_OK(t, dat_ep_free(p->b));
	KT_OK(t, dat_ep_create(t->ia, p->pz, evd, p->dto_evd, p->conn_evd, NULL, &p->b));
	pair_connect(t, p);
	KT_TRUE(t, !t->failed);
	overfill(t, p, evd, 1, 4);
	KT_TRUE(t, !t->failed);
	overfill(t, p, evd, 11, 3);
}

static void completions_that_find_no_room_are_told_of_once(struct ktest *t)
{
	unconnected(t, overflow);
}

static void modify(struct ktest *t, struct pair *p)
{
	DAT_EP_PARAM *param = kzalloc(sizeof(*param), GFP_KERNEL);
	DAT_RETURN query, modify, again, fixed;
	DAT_EP_ATTR attr;

	KT_TRUE(t, param);
	query = dat_ep_query(p->a, DAT_EP_FIELD_ALL, param);
	param->ep_attr.max_request_dtos = 200;
	modify = dat_ep_modify(p->a, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, param);
	again = dat_ep_query(p->a, DAT_EP_FIELD_ALL, param);
	attr = param->ep_attr;
	fixed = dat_ep_modify(p->a, DAT_EP_FIELD_EP_STATE, param);
	kfree(param);
	KT_OK(t, query);
	KT_OK(t, modify);
	KT_OK(t, again);
	KT_TRUE(t, attr.max_request_dtos >= 200);
	KT_CODE(t, fixed, DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	pair_connect(t, p);
	if (!t->failed)
		transfer(t, p);
}

static void query_default(struct ktest *t, struct pair *p, DAT_EP_PARAM *param)
{
	DAT_EP_HANDLE ep;
	DAT_RETURN rc;

	KT_OK(t, dat_ep_create(t->ia, p->pz, p->dto_evd, p->dto_evd, p->conn_evd, NULL, &ep));
	rc = dat_ep_query(ep, DAT_EP_FIELD_ALL, param);
	KT_OK(t, dat_ep_free(ep));
	KT_OK(t, rc);
}

/* The numbers are those of Documentation/guide.rst. */
static void defaults(struct ktest *t, struct pair *p)
{
	DAT_EP_PARAM *param = kzalloc(sizeof(*param), GFP_KERNEL);
	DAT_EP_ATTR attr;

	KT_TRUE(t, param);
	query_default(t, p, param);
	attr = param->ep_attr;
	kfree(param);
	KT_EQ(t, attr.max_recv_dtos, 64);
	KT_EQ(t, attr.max_request_dtos, 64);
	KT_EQ(t, attr.max_recv_iov, 4);
	KT_EQ(t, attr.max_request_iov, 4);
	KT_EQ(t, attr.max_rdma_read_in, 4);
	KT_EQ(t, attr.max_rdma_read_out, 4);
}

static void endpoints_without_attributes_have_the_defaults(struct ktest *t)
{
	unconnected(t, defaults);
}

static void modified_endpoints_work(struct ktest *t)
{
	unconnected(t, modify);
}

#define WIDE		4
#define WIDE_ROUNDS	200

/* Thread that posts receives with WIDE segments to the EP that is currently in p->a. */
static int post_wide(void *data)
{
	DAT_LMR_TRIPLET iov[WIDE] = {};
	struct pair *p = data;

	while (!kthread_should_stop()) {
		dat_ep_post_recv(READ_ONCE(p->a), WIDE, iov, kt_cookie(1), 0);
		cond_resched();
	}
	return 0;
}

/*
 * Create an EP, and post receives without segments, which fill nearly a page of its receive ring.
 * Then reduce the number of segments per receive from WIDE to one.  If another receive with WIDE
 * segments could be posted after that, it would exceed the ring.
 */
static DAT_RETURN narrow_round(struct ktest *t, struct pair *p, DAT_EP_PARAM *param)
{
	DAT_EP_ATTR attr = {
		.max_recv_dtos = 128, .max_request_dtos = 1, .max_recv_iov = WIDE,
		.max_request_iov = 1, .srq_soft_hw = DAT_HW_DEFAULT,
	};
	DAT_EP_HANDLE ep;
	DAT_RETURN rc;
	int i;

	rc = dat_ep_create(t->ia, p->pz, p->dto_evd, p->dto_evd, p->conn_evd, &attr, &ep);
	for (i = 0; !rc && i < 124; i++)
		rc = dat_ep_post_recv(ep, 0, NULL, kt_cookie(1), 0);
	if (rc)
		return rc;
	swap(p->a, ep);
	rc = dat_ep_free(ep);
	param->ep_attr.max_recv_iov = 1;
	return rc ?: dat_ep_modify(p->a, DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, param);
}

static void narrow(struct ktest *t, struct pair *p)
{
	DAT_EP_PARAM *param = kzalloc(sizeof(*param), GFP_KERNEL);
	struct task_struct *poster;
	DAT_LMR_TRIPLET iov[WIDE] = {};
	DAT_RETURN rc = DAT_SUCCESS;
	int i;

	KT_TRUE(t, param);
	poster = kthread_run(post_wide, p, "ktest-post");
	if (IS_ERR(poster))
		rc = DAT_INSUFFICIENT_RESOURCES;
	for (i = 0; !rc && i < WIDE_ROUNDS; i++)
		rc = narrow_round(t, p, param);
	if (!IS_ERR(poster))
		kthread_stop(poster);
	kfree(param);
	KT_OK(t, rc);
	KT_CODE(t, dat_ep_post_recv(p->a, WIDE, iov, kt_cookie(1), 0), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG2);
}

static void posts_beside_a_modification_fit(struct ktest *t)
{
	unconnected(t, narrow);
}

/* Thread that disconnects the EP that is currently in p->a.  The EP was never connected. */
static int disconnect_freed(void *data)
{
	struct pair *p = data;

	while (!kthread_should_stop()) {
		dat_ep_disconnect(READ_ONCE(p->a), DAT_CLOSE_ABRUPT_FLAG);
		cond_resched();
	}
	return 0;
}

static void disconnect_beside_free(struct ktest *t, struct pair *p)
{
	struct task_struct *task = kthread_run(disconnect_freed, p, "ktest-disconnect");
	DAT_RETURN rc = DAT_SUCCESS;
	DAT_EP_HANDLE ep;
	int i;

	KT_TRUE(t, !IS_ERR(task));
	for (i = 0; !rc && i < 500; i++) {
		/* disconnect_freed() uses the handle while the EP is freed. */
		rc = dat_ep_free(p->a);
		if (!rc)
			rc = make_ep(t, p, &ep);
		if (!rc)
			WRITE_ONCE(p->a, ep);
	}
	kthread_stop(task);
	KT_OK(t, rc);
	KT_CODE(t, dat_ep_disconnect(p->a, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_STATE,
		DAT_INVALID_STATE_EP_UNCONNECTED);
	KT_OK(t, dat_ep_free(p->a));
	KT_CODE(t, dat_ep_disconnect(p->a, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_EP);
}

static void freed_endpoints_are_not_disconnected(struct ktest *t)
{
	unconnected(t, disconnect_beside_free);
}

/*
 * Close the IA with a connected pair.  The pair is freed only after the close, because upcalls may
 * write to the pair until then.
 */
static void close_ends_everything(struct ktest *t)
{
	struct pair *p = pair_make(t);
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_RETURN close, reopen;
	unsigned int calls;

	KT_TRUE(t, p);
	pair_connect(t, p);
	close = dat_ia_close(t->ia, DAT_CLOSE_ABRUPT_FLAG);
	calls = p->conn.calls + p->dto.calls;
	reopen = dat_ia_open(ktest_device, 8, &async, &t->ia);
	KT_OK(t, close);
	KT_OK(t, reopen);
	KT_EQ(t, p->conn.calls + p->dto.calls, calls);
	KT_CODE(t, dat_ep_free(p->a), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	kfree(p);
}

const struct ktest_case ktest_conn[] = {
	KTEST(endpoints_connect),
	KTEST(messages_arrive),
	KTEST(disconnect_flushes),
	KTEST(bad_posts_are_refused),
	KTEST(requests_are_rejected),
	KTEST(addresses_out_of_reach_are_refused),
	KTEST(qualifiers_beyond_ports_are_reached),
	KTEST(a_request_names_the_address_that_was_used),
	KTEST(connections_have_a_quality_of_service),
	KTEST(requests_nobody_is_told_of_are_refused),
	KTEST(reserved_endpoint_takes_the_request),
	KTEST(request_without_room_does_not_spend_the_reservation),
	KTEST(endpoint_survives_accept_beside_reject),
	KTEST(endpoint_comes_back_from_a_reservation),
	KTEST(common_service_points_take_ports),
	KTEST(private_data_ends_with_the_reset),
	KTEST(accepted_connections_are_not_duplicated),
	KTEST(shared_receives_are_taken),
	KTEST(long_queues_are_not_doubled_by_the_device),
	KTEST(upcalls_may_dequeue_the_rest_of_a_batch),
	KTEST(completions_come_once_whatever_is_done_to_their_evd),
	KTEST(only_the_message_that_asks_starts_upcalls),
	KTEST(completions_that_find_no_room_are_told_of_once),
	KTEST(endpoints_without_attributes_have_the_defaults),
	KTEST(modified_endpoints_work),
	KTEST(endpoints_share_a_cq_unless_upcalls_run_at_the_same_time),
	KTEST(posts_beside_a_modification_fit),
	KTEST(freed_endpoints_are_not_disconnected),
	KTEST(an_error_of_the_port_is_an_async_event),
	KTEST(close_ends_everything),
	{}
};
