// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* struct kperf_side on kDAPL: one IA, two EPs, and an EVD for the completions of each EP. */
#include <linux/in.h>
#include <linux/jiffies.h>
#include <linux/kdat.h>
#include <linux/slab.h>

#include "kperf.h"

#define CONN_QLEN	16
#define CONNECT_US	(15 * USEC_PER_SEC)

/**
 * struct dat_end - the kDAPL part of a struct kperf_end
 * @end: generic part of this end
 * @evd: EVD for DTO events
 * @ep: EP of this end
 * @lmr: registration of end->buf
 * @tx: segment of the send buffer
 * @rx: segment of the receive buffer
 * @remote: remote segment of the peer's receive buffer
 * @rmr: RMR that the test "bind" binds to @rx, or NULL
 * @bound: completed when a bind has completed
 */
struct dat_end {
	struct kperf_end	*end;
	DAT_EVD_HANDLE		evd;
	DAT_EP_HANDLE		ep;
	DAT_LMR_HANDLE		lmr;
	DAT_LMR_TRIPLET		tx;
	DAT_LMR_TRIPLET		rx;
	DAT_RMR_TRIPLET		remote;
	DAT_RMR_HANDLE		rmr;
	struct completion	bound;
};

/**
 * struct dat_pair - the kDAPL part of a struct kperf_run
 * @run: generic part of this run
 * @ia: open IA
 * @pz: protection zone of all objects
 * @conn_evd: EVD for connection events and connection requests
 * @psp: service point that the client connects to
 * @client: end that connects
 * @server: end that accepts
 * @accepted: true if a connection request was accepted
 * @connected: completed once for each connected end, or for all waiters if connecting fails
 */
struct dat_pair {
	struct kperf_run	*run;
	DAT_IA_HANDLE		ia;
	DAT_PZ_HANDLE		pz;
	DAT_EVD_HANDLE		conn_evd;
	DAT_PSP_HANDLE		psp;
	struct dat_end		client;
	struct dat_end		server;
	bool			accepted;
	struct completion	connected;
};

static const DAT_CONTEXT no_cookie;

static int post_recv(struct kperf_end *end)
{
	struct dat_end *e = end->priv;

	return dat_ep_post_recv(e->ep, 1, &e->rx, no_cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

static int post_send(struct kperf_end *end)
{
	struct dat_end *e = end->priv;

	return dat_ep_post_send(e->ep, 1, &e->tx, no_cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

static int post_write(struct kperf_end *end)
{
	struct dat_end *e = end->priv;

	return dat_ep_post_rdma_write(e->ep, 1, &e->tx, no_cookie, &e->remote,
				      DAT_COMPLETION_DEFAULT_FLAG);
}

static int bind(struct kperf_end *end)
{
	struct dat_end *e = end->priv;
	DAT_RMR_CONTEXT key;
	DAT_RETURN rc;

	rc = dat_rmr_bind(e->rmr, e->lmr, &e->rx, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, e->ep,
			  no_cookie, DAT_COMPLETION_DEFAULT_FLAG, &key);
	if (rc != DAT_SUCCESS)
		return rc;
	return wait_for_completion_timeout(&e->bound, KPERF_WAIT) ? 0 : -ETIMEDOUT;
}

static void dto_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct dat_end *e = data;

	if (event->event_number == DAT_RMR_BIND_COMPLETION_EVENT) {
		if (event->event_data.rmr_completion_event_data.status == DAT_RMR_BIND_SUCCESS)
			complete(&e->bound);
		return;
	}
	if (dto->status != DAT_DTO_SUCCESS)
		kperf_failed(e->end->run, "completion", dto->status);
	else if (dto->operation == DAT_DTO_RECEIVE)
		kperf_received(e->end);
	else
		kperf_sent(e->end);
}

static void pair_failed(struct dat_pair *p, const char *what, int code)
{
	kperf_failed(p->run, what, code);
	complete_all(&p->connected);
}

/*
 * Accept the first request, which should be the client's.  If another host has sent the first
 * request, the client's own request is rejected and the run fails.
 */
static void accept(struct dat_pair *p, DAT_CR_HANDLE cr)
{
	DAT_RETURN rc;

	if (p->accepted) {
		dat_cr_reject(cr, 0, NULL);
		return;
	}
	rc = dat_cr_accept(cr, p->server.ep, 0, NULL);
	p->accepted = rc == DAT_SUCCESS;
	if (!p->accepted)
		pair_failed(p, "accept", rc);
}

static void conn_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct dat_pair *p = data;

	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		accept(p, event->event_data.cr_arrival_event_data.cr_handle);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		complete(&p->connected);
		break;
	default:
		pair_failed(p, "connection event", event->event_number);
	}
}

static void async_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	pair_failed(data, "async event", event->event_number);
}

static DAT_RETURN open_adapter(struct dat_pair *p)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_UPCALL_OBJECT on_async = { p, async_upcall };
	DAT_UPCALL_OBJECT upcall = { p, conn_upcall };
	DAT_RETURN rc;

	rc = dat_ia_open(kperf_device, CONN_QLEN, &async, &p->ia);
	if (rc == DAT_SUCCESS)
		rc = dat_evd_modify_upcall(async, DAT_UPCALL_SINGLE_INSTANCE, &on_async,
					   DAT_UPCALL_INVOC_ANY);
	if (rc == DAT_SUCCESS)
		rc = dat_pz_create(p->ia, &p->pz);
	if (rc == DAT_SUCCESS)
		rc = dat_evd_kcreate(p->ia, CONN_QLEN, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				     DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, &p->conn_evd);
	return rc;
}

static DAT_RETURN register_buffer(struct dat_pair *p, struct dat_end *e, DAT_RMR_TRIPLET *to)
{
	DAT_REGION_DESCRIPTION region = { .for_va = e->end->buf };
	DAT_MEM_PRIV_FLAGS priv = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	DAT_LMR_CONTEXT lmr;
	DAT_RMR_CONTEXT rmr;
	DAT_RETURN rc;

	if (p->run->test->write && e == &p->server)
		priv |= DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	rc = dat_lmr_kcreate(p->ia, DAT_MEM_TYPE_VIRTUAL, region, 2 * KPERF_MAX_SIZE, p->pz,
			     priv, DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &e->lmr, &lmr,
			     &rmr, NULL, NULL);
	if (rc != DAT_SUCCESS)
		return rc;
	e->tx = (DAT_LMR_TRIPLET) { (uintptr_t)e->end->buf, p->run->size, lmr };
	e->rx = e->tx;
	e->rx.virtual_address += KPERF_MAX_SIZE;
	*to = (DAT_RMR_TRIPLET) { e->rx.virtual_address, p->run->size, rmr };
	return DAT_SUCCESS;
}

static DAT_RETURN make_end(struct dat_pair *p, struct dat_end *e, struct kperf_end *end)
{
	u32 sends = p->run->window + KPERF_SLACK;
	DAT_UPCALL_OBJECT upcall = { e, dto_upcall };
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = p->run->depth + 1,
		.max_request_dtos = sends,
	};
	DAT_RETURN rc;

	e->end = end;
	end->priv = e;
	init_completion(&e->bound);
	rc = dat_evd_kcreate(p->ia, attr.max_recv_dtos + sends, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			     DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &e->evd);
	if (rc == DAT_SUCCESS)
		rc = dat_ep_create(p->ia, p->pz, e->evd, e->evd, p->conn_evd, &attr, &e->ep);
	return rc;
}

static DAT_RETURN post_all(struct dat_pair *p, struct dat_end *e)
{
	DAT_RETURN rc = DAT_SUCCESS;
	u32 i;

	for (i = 0; i < p->run->depth && rc == DAT_SUCCESS; i++)
		rc = post_recv(e->end);
	return rc;
}

static DAT_RETURN make_ends(struct dat_pair *p)
{
	struct dat_end *c = &p->client, *s = &p->server;
	DAT_RETURN rc;

	rc = make_end(p, c, &p->run->client);
	if (rc == DAT_SUCCESS)
		rc = make_end(p, s, &p->run->server);
	if (rc == DAT_SUCCESS)
		rc = register_buffer(p, c, &s->remote);
	if (rc == DAT_SUCCESS)
		rc = register_buffer(p, s, &c->remote);
	if (rc == DAT_SUCCESS && p->run->test->bind)
		rc = dat_rmr_create(p->pz, &c->rmr);
	if (rc == DAT_SUCCESS)
		rc = post_all(p, c);
	if (rc == DAT_SUCCESS)
		rc = post_all(p, s);
	return rc;
}

static DAT_RETURN start_connect(struct dat_pair *p)
{
	DAT_IA_ATTR *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	DAT_CONN_QUAL qual;
	DAT_RETURN rc;

	if (!attr)
		return DAT_INSUFFICIENT_RESOURCES;
	rc = dat_psp_create_any(p->ia, &qual, p->conn_evd, DAT_PSP_CONSUMER_FLAG, &p->psp);
	if (rc == DAT_SUCCESS)
		rc = dat_ia_query(p->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, attr, 0, NULL);
	if (rc == DAT_SUCCESS)
		rc = dat_ep_connect(p->client.ep, attr->ia_address_ptr, qual, CONNECT_US, 0,
				    NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	kfree(attr);
	return rc;
}

static int await_connection(struct dat_pair *p)
{
	int i;

	for (i = 0; i < 2; i++)
		if (!wait_for_completion_timeout(&p->connected, KPERF_WAIT))
			return -ETIMEDOUT;
	return atomic_read(&p->run->failed) ? -EIO : 0;
}

static void dat_close(struct kperf_run *run)
{
	struct dat_pair *p = run->priv;

	/* The close frees all objects of the IA.  No upcall runs after it returns. */
	if (p->ia)
		dat_ia_close(p->ia, DAT_CLOSE_ABRUPT_FLAG);
	kfree(p);
}

static int dat_open(struct kperf_run *run)
{
	struct dat_pair *p = kzalloc(sizeof(*p), GFP_KERNEL);
	DAT_RETURN rc;
	int ret;

	if (!p)
		return -ENOMEM;
	p->run = run;
	run->priv = p;
	init_completion(&p->connected);
	rc = open_adapter(p);
	if (rc == DAT_SUCCESS)
		rc = make_ends(p);
	if (rc == DAT_SUCCESS)
		rc = start_connect(p);
	if (rc != DAT_SUCCESS)
		kperf_failed(run, "set up", rc);
	ret = rc == DAT_SUCCESS ? await_connection(p) : -EIO;
	if (ret) {
		kperf_failed(run, "connect", ret);
		dat_close(run);
	}
	return ret;
}

const struct kperf_side kperf_dat = {
	.name		= "dat",
	.open		= dat_open,
	.close		= dat_close,
	.post_recv	= post_recv,
	.post_send	= post_send,
	.post_write	= post_write,
	.bind		= bind,
};
