/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * A peer that uses libibverbs and librdmacm instead of DAT.  The peer connects and posts one
 * request of any kind.  The private data of the accept must start with a struct target, which tells
 * the peer where to write.
 */
#ifndef VERBS_REQUEST_H
#define VERBS_REQUEST_H

#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define V_REQUEST_MAX	8192	/* maximum size of the peer's request */
#define V_IMMEDIATE	0x01020304U	/* immediate data of the request */

/*
 * struct target - memory that the peer may write to
 * @addr: address of the first byte
 * @rkey: key for the access
 * @rsvd: unused
 */
struct target {
	uint64_t addr;
	uint32_t rkey;
	uint32_t rsvd;
};

/*
 * struct v_request - request that the peer posts
 * @opcode: opcode of the request, IBV_WR_*
 * @len: number of bytes
 * @silent: flag: the peer posts the request and never completes the handshake
 * @times: number of requests of v_peer_at()
 * @solicited: flag: the requests ask the receiver for a notification
 */
struct v_request {
	enum ibv_wr_opcode	opcode;
	uint32_t		len;
	int			silent;
	int			times;
	int			solicited;
};

/* Move the QP to @state with the attributes that librdmacm gives for this state. */
static int v_modify(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	return rdma_init_qp_attr(id, &attr, &mask) || ibv_modify_qp(qp, &attr, mask);
}

static struct rdma_cm_id *v_id(const char *host, int port)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;
	struct rdma_cm_id *id;
	char service[8];

	snprintf(service, sizeof(service), "%d", port);
	if (rdma_getaddrinfo(host, service, &hints, &res) ||
	    rdma_create_ep(&id, res, NULL, NULL))
		return NULL;
	return id;
}

/*
 * Connect with a QP that librdmacm does not know.  If librdmacm created the QP, librdmacm would
 * complete the handshake by itself, even if @silent is set.
 */
static struct ibv_qp *v_connect(struct rdma_cm_id *id, struct ibv_pd *pd, struct target *target,
				int silent)
{
	struct rdma_conn_param param = {
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
	};
	struct ibv_qp *qp;

	init.send_cq = ibv_create_cq(id->verbs, 8, NULL, NULL, 0);
	init.recv_cq = init.send_cq;
	qp = init.send_cq ? ibv_create_qp(pd, &init) : NULL;
	if (!qp || v_modify(id, qp, IBV_QPS_INIT))
		return NULL;
	param.qp_num = qp->qp_num;
	if (rdma_connect(id, &param) || id->event->param.conn.private_data_len < sizeof(*target))
		return NULL;
	memcpy(target, id->event->param.conn.private_data, sizeof(*target));
	if (v_modify(id, qp, IBV_QPS_RTR) || v_modify(id, qp, IBV_QPS_RTS))
		return NULL;
	return silent || !rdma_establish(id) ? qp : NULL;
}

/*
 * Post the request at realtime priority.
 *
 * The DAT side disconnects when it receives the request.  rxe of Linux 6.1 runs the receive path of
 * the DAT side inside this post, and accesses the QP of the DAT side once more afterwards.  Another
 * thread destroys that QP.  SCHED_FIFO keeps this thread from running before the access.
 */
static int v_post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct sched_param first = { .sched_priority = 1 };
	struct ibv_send_wr *bad;

	return sched_setscheduler(0, SCHED_FIFO, &first) || ibv_post_send(qp, wr, &bad);
}

/*
 * Post the request req->times times, each when the previous one has completed.  Returns 0 if all
 * have succeeded.
 */
static inline int v_repeat(struct ibv_qp *qp, struct ibv_send_wr *wr, const struct v_request *req)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int i, n;

	for (i = 0; i < req->times; i++) {
		if (ibv_post_send(qp, wr, &bad))
			return 3;
		while (!(n = ibv_poll_cq(qp->send_cq, 1, &wc)))
			sched_yield();
		if (n < 0 || wc.status)
			return 4;
	}
	return 0;
}

/*
 * Connect.  If @go is -1, post the request, and sleep until killed.  Otherwise wait for a byte from
 * the descriptor @go, and post the request again and again.
 */
static int v_peer_at(const char *host, int port, const struct v_request *req, int go)
{
	static char mem[V_REQUEST_MAX];
	struct ibv_sge sge = { .addr = (uintptr_t)mem, .length = req->len };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = !!req->len, .opcode = req->opcode,
		.imm_data = htonl(V_IMMEDIATE),
		.send_flags = req->solicited ? IBV_SEND_SOLICITED : 0,
	};
	struct target target;
	struct rdma_cm_id *id = v_id(host, port);
	struct ibv_pd *pd = id ? ibv_alloc_pd(id->verbs) : NULL;
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, mem, V_REQUEST_MAX, 0) : NULL;
	struct ibv_qp *qp = mr ? v_connect(id, pd, &target, req->silent) : NULL;
	char byte;

	if (!qp)
		return 2;
	sge.lkey = mr->lkey;
	wr.wr.rdma.remote_addr = target.addr;
	wr.wr.rdma.rkey = target.rkey;
	if (go >= 0)
		return read(go, &byte, 1) != 1 ? 5 : v_repeat(qp, &wr, req);
	if (v_post(qp, &wr))
		return 3;
	pause();
	return 0;
}

/* Connect, post the request, and sleep until killed.  Return only if that fails. */
static inline int v_peer(const char *host, int port, const struct v_request *req)
{
	return v_peer_at(host, port, req, -1);
}

#endif /* VERBS_REQUEST_H */
