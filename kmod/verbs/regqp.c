// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Registration of memory by work request.
 *
 * In verbs, the work request REG_MR registers kernel memory, and with VERBS_REG_REQUEST also memory
 * of a process.  REG_MR needs a connected QP of the zone.  The consumer may have no QP yet, for
 * example if the private data of the first connect contains a key.  So the zone creates a
 * connection on demand.  rdma_cm connects the adapter's address to itself, which works on all
 * fabrics.  The connection carries no data.
 *
 * No peer can use this mechanism to connect to a QP of the zone.  The listener exists only during
 * the handshake, and accepts only a request that contains 32 random bytes (verbs_regqp.secret).
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <crypto/algapi.h>
#include <rdma/rdma_cm.h>

#include "core/addr.h"
#include "core/dat.h"
#include "core/mem/lmr.h"
#include "lib/log.h"
#include "verbs/verbs.h"

#define REG_RESOLVE_MS	2000
#define REG_TIMEOUT	(10 * HZ)	/* time limit of the handshake, and of a registration */
#define REG_SLICE	(HZ / 10)	/* interval of the checks for a closing IA */
#define REG_SECRET	32

/* Connection of the adapter to itself, on which memory is registered. */
struct verbs_regqp {
	struct ib_pd		*pd;		/* protection domain of the zone */
	struct ib_cq		*cq;		/* CQ of both ends; the waiting thread polls @cq */
	struct rdma_cm_id	*listener;	/* NULL except during the handshake */
	struct rdma_cm_id	*id[2];		/* ids of the active and the passive end, or NULL */
	u8			secret[REG_SECRET]; /* private data of the active end's request */
	struct completion	connected;	/* completed at the end of the handshake */
	int			error;		/* result of the handshake, 0 after a success */
	struct ib_cqe		cqe;		/* CQE of REG_MR */
	bool			done;		/* flag: REG_MR has completed */
	enum ib_wc_status	status;		/* status of REG_MR if @done */
};

static int reg_make_qp(struct verbs_regqp *r, struct rdma_cm_id *id)
{
	struct ib_qp_init_attr init = {
		.send_cq	= r->cq,
		.recv_cq	= r->cq,
		.cap		= { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
				    .max_recv_sge = 1 },
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};

	/* If two devices have the address, rdma_cm may have chosen the other device. */
	return id->device == r->pd->device ? rdma_create_qp(id, r->pd, &init) : -ENETUNREACH;
}

/* Allows an RDMA read only for iWARP, where a connection may begin with an empty RDMA read. */
static struct rdma_conn_param reg_param(const struct rdma_cm_id *id)
{
	u8 reads = rdma_protocol_iwarp(id->device, id->port_num);

	return (struct rdma_conn_param) {
		.responder_resources = reads, .initiator_depth = reads,
		.retry_count = 7, .rnr_retry_count = 7,
	};
}

static void reg_finish(struct verbs_regqp *r, int error)
{
	r->error = error;
	complete_all(&r->connected);
}

static int reg_resolve_route(struct verbs_regqp *r, struct rdma_cm_id *id)
{
	return rdma_resolve_route(id, REG_RESOLVE_MS);
}

static int reg_connect(struct verbs_regqp *r, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = reg_param(id);
	int ret = reg_make_qp(r, id);

	if (ret)
		return ret;
	param.private_data = r->secret;
	param.private_data_len = REG_SECRET;
	return rdma_connect_locked(id, &param);
}

static int reg_established(struct verbs_regqp *r, struct rdma_cm_id *id)
{
	reg_finish(r, 0);
	return 0;
}

static int (*const reg_steps[])(struct verbs_regqp *r, struct rdma_cm_id *id) = {
	[RDMA_CM_EVENT_ADDR_RESOLVED]	= reg_resolve_route,
	[RDMA_CM_EVENT_ROUTE_RESOLVED]	= reg_connect,
	[RDMA_CM_EVENT_ESTABLISHED]	= reg_established,
};

static int reg_active_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct verbs_regqp *r = id->context;
	unsigned int type = event->event;
	int ret = -ENETUNREACH;

	/*
	 * After the handshake, ignore all events: on a broken connection the next REG_MR fails.
	 * During the handshake, ignore a change of the interface's hardware address.
	 */
	if (completion_done(&r->connected) || type == RDMA_CM_EVENT_ADDR_CHANGE)
		return 0;
	if (type < ARRAY_SIZE(reg_steps) && reg_steps[type])
		ret = reg_steps[type](r, id);
	if (ret)
		reg_finish(r, ret);
	return 0;
}

/* Ignores an event of the passive end, because the active end gets a matching event. */
static int reg_passive_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

/*
 * Handles an event of the listener.  If this function returns an error, rdma_cm destroys the id of
 * the request.
 */
static int reg_listen_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *asked = &event->param.conn;
	struct verbs_regqp *r = id->context;
	struct rdma_conn_param param;
	int ret;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	if (r->id[1] || asked->private_data_len < REG_SECRET ||
	    crypto_memneq(asked->private_data, r->secret, REG_SECRET))
		return -ECONNREFUSED;
	ret = reg_make_qp(r, id);
	if (ret)
		return ret;
	id->event_handler = reg_passive_event;
	param = reg_param(id);
	ret = rdma_accept(id, &param);
	if (ret) {
		rdma_destroy_qp(id);
		return ret;
	}
	r->id[1] = id;
	return 0;
}

static int reg_listen(struct verbs_regqp *r, const struct dat_ia *ia,
		      struct sockaddr_storage *addr)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(ia->net, reg_listen_event, r, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	r->listener = id;
	ret = rdma_bind_addr(id, (struct sockaddr *)addr);
	if (ret)
		return ret;
	ret = rdma_listen(id, 1);
	*addr = id->route.addr.src_addr;
	return ret;
}

static int reg_await(struct verbs_regqp *r, const struct dat_ia *ia)
{
	unsigned long end = jiffies + REG_TIMEOUT;

	while (!wait_for_completion_timeout(&r->connected, REG_SLICE)) {
		if (READ_ONCE(ia->closing))
			return -ENODEV;
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
	}
	return r->error;
}

static int reg_establish(struct verbs_regqp *r, const struct dat_ia *ia,
			 const struct sockaddr_storage *addr)
{
	struct sockaddr_storage src = *addr;
	struct rdma_cm_id *id;
	int ret;

	dat_addr_set_port(&src, 0);
	id = rdma_create_id(ia->net, reg_active_event, r, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	r->id[0] = id;
	ret = rdma_resolve_addr(id, (struct sockaddr *)&src, (const struct sockaddr *)addr,
				REG_RESOLVE_MS);
	return ret ? ret : reg_await(r, ia);
}

static void reg_destroy_id(struct rdma_cm_id *id)
{
	if (!id)
		return;
	if (id->qp)
		rdma_disconnect(id);
	rdma_lock_handler(id);
	rdma_unlock_handler(id);
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

/* Ends the connection and frees @r, which may be NULL.  No other thread uses @r.  May sleep. */
void verbs_regqp_free(struct verbs_regqp *r)
{
	if (!r)
		return;
	/* After complete_all(), only a handler that is already running may create the active QP. */
	complete_all(&r->connected);
	if (r->listener)
		rdma_destroy_id(r->listener);
	reg_destroy_id(r->id[0]);
	reg_destroy_id(r->id[1]);
	/* If the driver could not destroy a QP, keep for ever what the QP uses. */
	if (r->cq && atomic_read(&r->cq->usecnt)) {
		dat_log("%s: the driver cannot destroy a queue pair, which is kept",
			dev_name(&r->cq->device->dev));
		return;
	}
	if (r->cq)
		ib_free_cq(r->cq);
	kfree(r);
}

static int reg_make(struct verbs_regqp *r, const struct dat_ia *ia, struct sockaddr_storage *addr)
{
	struct ib_cq *cq;
	int ret;

	/* The CQ is never armed, so rxe runs no CQ handler, and the free needs no grace time. */
	cq = ib_alloc_cq(verbs_device(ia->dev), r, 4, 0, IB_POLL_DIRECT);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	r->cq = cq;
	ret = reg_listen(r, ia, addr);
	if (!ret)
		ret = reg_establish(r, ia, addr);
	if (r->listener)
		rdma_destroy_id(r->listener);
	r->listener = NULL;
	memzero_explicit(r->secret, sizeof(r->secret));
	return ret;
}

static void reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct verbs_regqp *r = container_of(wc->wr_cqe, struct verbs_regqp, cqe);

	r->status = wc->status;
	r->done = true;
}

static struct verbs_regqp *regqp_create_at(struct dat_pz *pz, struct sockaddr_storage *addr)
{
	struct verbs_regqp *r = kzalloc(sizeof(*r), GFP_KERNEL);
	int ret;

	if (!r)
		return ERR_PTR(-ENOMEM);
	r->pd = to_verbs_pz(pz)->pd;
	r->cqe.done = reg_done;
	init_completion(&r->connected);
	get_random_bytes(r->secret, sizeof(r->secret));
	ret = reg_make(r, pz->obj.ia, addr);
	if (!ret)
		return r;
	verbs_regqp_free(r);
	if (READ_ONCE(pz->obj.ia->closing))
		return ERR_PTR(-ENODEV);
	return ERR_PTR(ret == -ENOMEM ? ret : -ENETUNREACH);
}

/*
 * Connects the adapter to itself.  Begins with the address that dat_dev_addr() chooses.  Then tries
 * the other addresses, because the interface of an address may be down, but begins no new attempt
 * after REG_TIMEOUT.
 */
static struct verbs_regqp *regqp_create(struct dat_pz *pz)
{
	const struct dat_ia *ia = pz->obj.ia;
	unsigned long end = jiffies + REG_TIMEOUT;
	struct sockaddr_storage addr;
	struct verbs_regqp *r;
	u32 nr = 0;

	if (dat_dev_addr(ia, &addr))
		return ERR_PTR(-ENETUNREACH);
	do {
		r = regqp_create_at(pz, &addr);
	} while (r == ERR_PTR(-ENETUNREACH) && time_before(jiffies, end) &&
		 dat_dev_next_addr(ia, &ia->addr, &nr, &addr));
	return r;
}

static int reg_result(enum ib_wc_status status)
{
	if (status == IB_WC_WR_FLUSH_ERR)
		return -ENOTCONN;
	return status == IB_WC_SUCCESS ? 0 : -EIO;
}

/*
 * Posts REG_MR and waits for the completion.  Fails with -ENOTCONN if the connection is broken,
 * with -EIO if the registration fails or takes longer than REG_TIMEOUT, or with -ENODEV if the IA
 * is closing.  After an error, REG_MR may still be in flight.
 */
static int regqp_register(struct verbs_regqp *r, const struct dat_ia *ia, struct ib_mr *mr,
			  int access)
{
	struct ib_reg_wr reg = {
		.wr.opcode	= IB_WR_REG_MR,
		.wr.send_flags	= IB_SEND_SIGNALED,
		.wr.wr_cqe	= &r->cqe,
		.mr		= mr,
		.key		= mr->rkey,
		.access		= access,
	};
	unsigned long end = jiffies + REG_TIMEOUT;

	r->done = false;
	/* Some devices refuse a post to a QP in error, so a failure means a broken connection. */
	if (ib_post_send(r->id[0]->qp, &reg.wr, NULL))
		return -ENOTCONN;
	for (;;) {
		ib_process_cq_direct(r->cq, -1);
		if (r->done)
			return reg_result(r->status);
		if (READ_ONCE(ia->closing))
			return -ENODEV;
		if (time_after(jiffies, end))
			return -EIO;
		usleep_range(10, 50);
	}
}

static int pz_register(struct verbs_pz *vpz, struct ib_mr *mr, int access)
{
	struct dat_pz *pz = &vpz->pz;
	int ret;

	lockdep_assert_held(&vpz->reg_lock);
	if (!vpz->reg) {
		struct verbs_regqp *r = regqp_create(pz);

		if (IS_ERR(r))
			return PTR_ERR(r);
		vpz->reg = r;
	}
	ret = regqp_register(vpz->reg, pz->obj.ia, mr, access);
	if (ret) {
		/* If the request is still in flight, the destruction of the QP ends the request. */
		verbs_regqp_free(vpz->reg);
		vpz->reg = NULL;
	}
	return ret;
}

/*
 * Brings the registration @mr into effect.  The first call for a zone, and the first call after an
 * error, establish a connection.  May sleep.  Fails with -ENETUNREACH if the adapter has no address
 * or cannot reach itself, with -EIO if the registration fails or takes too long, with -ENOMEM, or
 * with -ENODEV if the IA is closing.  After an error, the caller can only deregister @mr.
 */
int verbs_pz_register(struct dat_pz *pz, struct ib_mr *mr, int access)
{
	struct verbs_pz *vpz = to_verbs_pz(pz);
	bool had;
	int ret;

	mutex_lock(&vpz->reg_lock);
	had = vpz->reg;
	ret = pz_register(vpz, mr, access);
	/* If the connection has broken since the last registration, try a new connection once. */
	if (ret == -ENOTCONN && had)
		ret = pz_register(vpz, mr, access);
	mutex_unlock(&vpz->reg_lock);
	return ret == -ENOTCONN ? -EIO : ret;
}
