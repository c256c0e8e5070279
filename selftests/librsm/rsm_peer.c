// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <openssl/hmac.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rsm_call.h"
#include "rsm_peer.h"

#define TIMEOUT_MS	10000
#define RECV_AT		PEER_MEM
#define SEND_AT		(PEER_MEM + PEER_RECVS * PEER_MSG)
#define ALL		(SEND_AT + PEER_MSG)
#define PORTS		512		/* privileged ports that bind_port() tries */

const uint8_t peer_key[PEER_KEY] = "the cluster key of these tests.";

int peer_key_set(void)
{
	struct dat_rsm_nodes arg = { .size = sizeof(arg), .flags = DAT_RSM_NODES_KEY };
	int fd = open("/dev/rsm", O_RDWR | O_CLOEXEC), ret;

	arg.key = (int)syscall(SYS_add_key, "logon", "rsm:cluster", peer_key, sizeof(peer_key),
			       KEY_SPEC_PROCESS_KEYRING);
	ret = CALL(fd, NODES, &arg);
	close(fd);
	return ret || arg.key < 0 ? -1 : 0;
}

int peer_open(struct peer *p)
{
	memset(p, 0, sizeof(*p));
	memcpy(p->key, peer_key, sizeof(p->key));
	p->mem = aligned_alloc(4096, ALL);
	memset(p->mem, 0, ALL);
	p->patience_ms = TIMEOUT_MS;
	p->channel = rdma_create_event_channel();
	return p->channel ? 0 : -1;
}

void peer_close(struct peer *p)
{
	if (p->id && p->id->qp)
		rdma_destroy_qp(p->id);
	if (p->mr)
		ibv_dereg_mr(p->mr);
	if (p->id)
		rdma_destroy_id(p->id);
	if (p->listener)
		rdma_destroy_id(p->listener);
	if (p->channel)
		rdma_destroy_event_channel(p->channel);
	free(p->mem);
	memset(p, 0, sizeof(*p));
}

int peer_event(struct peer *p, int ms)
{
	struct pollfd fd = { .fd = p->channel->fd, .events = POLLIN };
	struct rdma_cm_event *e;
	int type;

	if (poll(&fd, 1, ms) != 1 || rdma_get_cm_event(p->channel, &e))
		return -1;
	type = (int)e->event;
	p->pd_len = 0;
	if (e->param.conn.private_data && type != RDMA_CM_EVENT_ADDR_RESOLVED &&
	    type != RDMA_CM_EVENT_ROUTE_RESOLVED) {
		p->pd_len = e->param.conn.private_data_len;
		memcpy(p->pd, e->param.conn.private_data, p->pd_len);
	}
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		p->id = e->id;
		p->exporter = 1;
		p->said.importer_qpn = htobe32(e->param.conn.qp_num);
		memcpy(&p->said.greeting, p->pd, sizeof(p->said.greeting));
	} else if (type == RDMA_CM_EVENT_ESTABLISHED && !p->exporter) {
		p->said.exporter_qpn = htobe32(e->param.conn.qp_num);
		memcpy(&p->said.answer, p->pd, sizeof(p->said.answer));
	}
	rdma_ack_cm_event(e);
	return type;
}

int peer_thrown_out(struct peer *p, int ms)
{
	int type = peer_event(p, ms);

	if (type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_TIMEWAIT_EXIT)
		return 1;
	fprintf(stderr, "# peer: %s instead of a disconnect\n",
		type < 0 ? "no event" : rdma_event_str(type));
	return 0;
}

static int post_recv(struct peer *p, int n)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)p->mem + RECV_AT + (size_t)n * PEER_MSG, .length = PEER_MSG,
		.lkey = p->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = (uint64_t)n, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(p->id->qp, &wr, &bad) ? -1 : 0;
}

/* Create a queue pair, register memory, and post receives. */
static int ready(struct peer *p)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 8, .max_recv_wr = PEER_RECVS, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
	};
	int i;

	if (rdma_create_qp(p->id, NULL, &attr))
		return -1;
	p->mr = ibv_reg_mr(p->id->pd, p->mem, ALL, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	if (!p->mr)
		return -1;
	for (i = 0; i < PEER_RECVS; i++)
		if (post_recv(p, i))
			return -1;
	return 0;
}

static struct rdma_conn_param conn_param(const void *pd, size_t len)
{
	return (struct rdma_conn_param) {
		.private_data = pd, .private_data_len = (uint8_t)len, .responder_resources = 4,
		.initiator_depth = 4, .retry_count = 7, .rnr_retry_count = 7,
	};
}

static struct sockaddr_in inet_addr_of(const char *addr)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(PEER_PORT) };

	inet_pton(AF_INET, addr, &sin.sin_addr);
	return sin;
}

/*
 * Bind a privileged port, which only root can do.  Such a port identifies a kernel.  Each call
 * begins below the port of the call before, whose peer may still have it.
 */
static int bind_port(struct peer *p, struct sockaddr_in sin)
{
	static unsigned int taken;
	unsigned int i;

	for (i = 0; i < PORTS; i++) {
		sin.sin_port = htons((uint16_t)(1023 - taken++ % PORTS));
		if (!rdma_bind_addr(p->id, (struct sockaddr *)&sin))
			return 0;
	}
	return -1;
}

int peer_connect(struct peer *p, const char *addr, const void *pd, size_t len)
{
	struct rdma_conn_param param = conn_param(pd, len);
	struct sockaddr_in sin = inet_addr_of(addr);

	if (rdma_create_id(p->channel, &p->id, NULL, RDMA_PS_TCP) ||
	    (!p->process && bind_port(p, sin)) ||
	    rdma_resolve_addr(p->id, NULL, (struct sockaddr *)&sin, TIMEOUT_MS) ||
	    peer_event(p, TIMEOUT_MS) != RDMA_CM_EVENT_ADDR_RESOLVED ||
	    rdma_resolve_route(p->id, TIMEOUT_MS) ||
	    peer_event(p, TIMEOUT_MS) != RDMA_CM_EVENT_ROUTE_RESOLVED || ready(p))
		return -1;
	if (len == sizeof(p->said.greeting))
		memcpy(&p->said.greeting, pd, len);
	return rdma_connect(p->id, &param) ? -1 : 0;
}

void peer_greeting(struct peer_greeting *g, uint32_t segid)
{
	*g = (struct peer_greeting) {
		.magic = htobe32(PEER_MAGIC), .version = PEER_VERSION, .endian = PEER_LITTLE,
		.segid = htobe32(segid), .perm = htobe32(0600),
	};
}

int peer_listen(struct peer *p, const char *addr)
{
	struct sockaddr_in sin = inet_addr_of(addr);

	return rdma_create_id(p->channel, &p->listener, NULL, RDMA_PS_TCP) ||
	       rdma_bind_addr(p->listener, (struct sockaddr *)&sin) ||
	       rdma_listen(p->listener, 8) ? -1 : 0;
}

int peer_accept(struct peer *p, const void *pd, size_t len)
{
	struct rdma_conn_param param = conn_param(pd, len);

	if (len == sizeof(p->said.answer))
		memcpy(&p->said.answer, pd, len);
	return rdma_accept(p->id, &param) ? -1 : 0;
}

int peer_reject(struct peer *p, const void *pd, size_t len)
{
	return rdma_reject(p->id, pd, (uint8_t)len) ? -1 : 0;
}

/*
 * Fill in the answer of an exporter whose segment is the memory of @p, and prepare the grant.  Call
 * this after a connection request.
 */
void peer_answer(struct peer_answer *a, struct peer *p)
{
	*a = (struct peer_answer) {
		.magic = htobe32(PEER_MAGIC), .version = PEER_VERSION, .endian = PEER_LITTLE,
	};
	memset(a->nonce, 'n', sizeof(a->nonce));
	if (!p->mr && ready(p))
		return;
	p->said.grant = (struct peer_grant) {
		.magic = htobe32(PEER_MAGIC), .type = PEER_GRANT, .rkey = htobe32(p->mr->rkey),
		.addr = htobe64((uintptr_t)p->mem), .length = htobe64(PEER_MEM),
	};
}

static int completion(struct ibv_cq *cq, struct ibv_wc *wc, int ms)
{
	int n;

	while (!(n = ibv_poll_cq(cq, 1, wc))) {
		if (ms-- <= 0)
			return -1;
		usleep(1000);
	}
	return n == 1 ? 0 : -1;
}

static int post(struct peer *p, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	if (ibv_post_send(p->id->qp, wr, &bad) || completion(p->id->send_cq, &wc, p->patience_ms))
		return -1;
	return (int)wc.status;
}

static int send_by(struct peer *p, const void *msg, size_t len,
		   int (*post_it)(struct peer *p, struct ibv_send_wr *wr))
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)p->mem + SEND_AT, .length = (uint32_t)len, .lkey = p->mr->lkey,
	};
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	memcpy(p->mem + SEND_AT, msg, len);
	return post_it(p, &wr);
}

int peer_send(struct peer *p, const void *msg, size_t len)
{
	return send_by(p, msg, len, post);
}

/*
 * Post a message that makes the receiver disconnect.  In rxe of Linux 6.1, this call also runs the
 * receive path of the receiver.  That path drops its reference to the receiver's QP, and then
 * writes to the QP once more.  On a machine with one CPU, SCHED_FIFO delays the thread that
 * destroys the QP until this call has returned.
 */
static int post_last(struct peer *p, struct ibv_send_wr *wr)
{
	struct sched_param first = { .sched_priority = 1 }, other = { };
	struct ibv_send_wr *bad;
	int ret;

	if (sched_setscheduler(0, SCHED_FIFO, &first))
		return -1;
	ret = ibv_post_send(p->id->qp, wr, &bad);
	return sched_setscheduler(0, SCHED_OTHER, &other) || ret ? -1 : 0;
}

int peer_say(struct peer *p, const void *msg, size_t len)
{
	return send_by(p, msg, len, post_last);
}

int peer_write_imm(struct peer *p, uint64_t addr, uint32_t rkey, size_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)p->mem, .length = (uint32_t)len, .lkey = p->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.wr.rdma = { .remote_addr = addr, .rkey = rkey },
	};

	return post_last(p, &wr);
}

int peer_receive(struct peer *p, void *msg, int ms)
{
	struct ibv_wc wc;

	if (completion(p->id->recv_cq, &wc, ms) || wc.status)
		return -1;
	memcpy(msg, p->mem + RECV_AT + wc.wr_id * PEER_MSG, wc.byte_len);
	return post_recv(p, (int)wc.wr_id) ? -1 : (int)wc.byte_len;
}

int peer_rdma(struct peer *p, int write, uint64_t addr, uint32_t rkey, size_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)p->mem, .length = (uint32_t)len, .lkey = p->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1,
		.opcode = write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
		.wr.rdma = { .remote_addr = addr, .rkey = rkey },
	};

	return post(p, &wr);
}

/* --- the handshake ---------------------------------------------------------------- */

/* Compute the RoCE GID of an IPv4 address. */
static void gid_of(const struct sockaddr *addr, uint8_t *gid)
{
	memset(gid, 0, 10);
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, &((const struct sockaddr_in *)addr)->sin_addr, 4);
}

void peer_mac(struct peer *p, int importer, uint8_t *mac)
{
	struct peer_transcript t = p->said;
	unsigned int len = PEER_MAC;
	uint8_t own[16], other[16];

	gid_of(rdma_get_local_addr(p->id), own);
	gid_of(rdma_get_peer_addr(p->id), other);
	memset(t.label, 0, sizeof(t.label));
	strcpy(t.label, importer ? "RSM 2 importer" : "RSM 2 exporter");
	memcpy(t.importer_gid, p->exporter ? other : own, 16);
	memcpy(t.exporter_gid, p->exporter ? own : other, 16);
	if (p->exporter)
		t.exporter_qpn = htobe32(p->id->qp->qp_num);
	else
		t.importer_qpn = htobe32(p->id->qp->qp_num);
	if (importer) {
		memset(t.proof.mac, 0, PEER_MAC);
		memset(&t.grant, 0, sizeof(t.grant));
		t.owner = 0;
	}
	memset(t.grant.mac, 0, PEER_MAC);
	HMAC(EVP_sha256(), p->key, PEER_KEY, (unsigned char *)&t, sizeof(t), mac, &len);
}

void peer_proof(struct peer *p)
{
	p->said.proof = (struct peer_proof) {
		.magic = htobe32(PEER_MAGIC), .type = PEER_PROOF, .uid = htobe32(getuid()),
		.gid = htobe32(getgid()),
	};
}

int peer_prove(struct peer *p)
{
	peer_mac(p, 1, p->said.proof.mac);
	return peer_send(p, &p->said.proof, sizeof(p->said.proof)) ? -1 : 0;
}

int peer_granted(struct peer *p)
{
	struct peer_owner_grant *g;
	uint8_t mac[PEER_MAC];
	char buf[PEER_MSG];
	int len;

	g = (void *)buf;
	len = peer_receive(p, buf, TIMEOUT_MS);
	if (len != sizeof(p->said.grant) && len != sizeof(*g))
		return -1;
	p->said.grant = g->grant;
	if (!(g->grant.flags & PEER_OWNER) != (len != sizeof(*g)))
		return -1;
	if (len == sizeof(*g))
		p->said.owner = g->owner;
	peer_mac(p, 0, mac);
	if (p->said.grant.type != PEER_GRANT || memcmp(mac, p->said.grant.mac, PEER_MAC))
		return -1;
	return (int)be32toh(p->said.grant.err);
}

int peer_proven(struct peer *p)
{
	uint8_t mac[PEER_MAC];
	char buf[PEER_MSG];

	if (peer_receive(p, buf, TIMEOUT_MS) != sizeof(p->said.proof))
		return -1;
	memcpy(&p->said.proof, buf, sizeof(p->said.proof));
	peer_mac(p, 1, mac);
	return p->said.proof.type != PEER_PROOF || memcmp(mac, p->said.proof.mac, PEER_MAC);
}

int peer_grant(struct peer *p)
{
	peer_mac(p, 0, p->said.grant.mac);
	return peer_send(p, &p->said.grant, sizeof(p->said.grant)) ? -1 : 0;
}
