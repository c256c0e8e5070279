/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A peer on libibverbs and librdmacm that connects and posts one request of any kind.  The
 * private data of the accept starts with a struct target.
 */
#ifndef VERBS_SAYS_H
#define VERBS_SAYS_H

#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SAYS_MAX	8192	/* largest request */

/*
 * struct target - memory that the peer may write
 * @addr: first byte
 * @rkey: key
 * @rsvd: unused
 */
struct target {
	uint64_t addr;
	uint32_t rkey;
	uint32_t rsvd;
};

/*
 * struct says - request that the peer posts
 * @opcode: IBV_WR_*
 * @len: bytes
 * @silent: the peer does not complete the handshake
 */
struct says {
	enum ibv_wr_opcode	opcode;
	uint32_t		len;
	int			silent;
};

/* Move the QP to @state with the attributes that the connection manager requires. */
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

/* The peer makes the QP itself: with a QP of its own, librdmacm completes the handshake. */
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
 * The other side disconnects when it receives the request.  rxe of Linux 6.1 runs that side's
 * receive path in this call and uses its QP once more afterwards, so the thread that destroys
 * the QP must not run before: hence SCHED_FIFO.
 */
static int v_post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct sched_param first = { .sched_priority = 1 };
	struct ibv_send_wr *bad;

	return sched_setscheduler(0, SCHED_FIFO, &first) || ibv_post_send(qp, wr, &bad);
}

/* Connect, post, and stay until killed. */
static int v_peer(const char *host, int port, const struct says *says)
{
	static char mem[SAYS_MAX];
	struct ibv_sge sge = { .addr = (uintptr_t)mem, .length = says->len };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = !!says->len, .opcode = says->opcode,
		.imm_data = htonl(1),
	};
	struct target target;
	struct rdma_cm_id *id = v_id(host, port);
	struct ibv_pd *pd = id ? ibv_alloc_pd(id->verbs) : NULL;
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, mem, SAYS_MAX, 0) : NULL;
	struct ibv_qp *qp = mr ? v_connect(id, pd, &target, says->silent) : NULL;

	if (!qp)
		return 2;
	sge.lkey = mr->lkey;
	wr.wr.rdma.remote_addr = target.addr;
	wr.wr.rdma.rkey = target.rkey;
	if (v_post(qp, &wr))
		return 3;
	pause();
	return 0;
}

#endif /* VERBS_SAYS_H */
