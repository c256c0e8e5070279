// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * struct kperf_side on plain verbs, written like other kernel consumers of verbs.  Each end has a
 * CQ that is polled in softirq.  rdma_cm makes the connection.
 */
#include <linux/cpu.h>
#include <linux/inet.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/nsproxy.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "kperf.h"

#define RESOLVE_MS	5000
#define BACKLOG		1

/**
 * struct verbs_end - the verbs part of a struct kperf_end
 * @end: generic part of this end
 * @id: rdma_cm id of this end, which owns the QP
 * @cq: CQ of the QP
 * @dma: DMA address of end->buf
 * @mapped: true if @dma is valid
 * @send_cqe: completion handler of sends and writes
 * @recv_cqe: completion handler of receives
 */
struct verbs_end {
	struct kperf_end	*end;
	struct rdma_cm_id	*id;
	struct ib_cq		*cq;
	u64			dma;
	bool			mapped;
	struct ib_cqe		send_cqe;
	struct ib_cqe		recv_cqe;
};

/**
 * struct verbs_pair - the verbs part of a struct kperf_run
 * @run: generic part of this run
 * @listener: rdma_cm id through which the server listens
 * @pd: PD of all objects
 * @client: end that connects
 * @server: end that accepts
 * @mr: registration of the server's buffer, for the test "write"
 * @window: registrations of the client's receive buffer for the test "bind": an MR in use, and one
 *	that is not
 * @reg_cqe: completion handler of the registration of @mr, or of a registration in @window
 * @step: completed when the client's rdma_cm event or the completion of @reg_cqe has arrived
 * @accepted: completed when the server is connected
 * @answer: event number or completion status that completed @step
 * @connected: true while the client is connected
 * @bound: true if the first MR in @window is registered
 */
struct verbs_pair {
	struct kperf_run	*run;
	struct rdma_cm_id	*listener;
	struct ib_pd		*pd;
	struct verbs_end	client;
	struct verbs_end	server;
	struct ib_mr		*mr;
	struct ib_mr		*window[2];
	struct ib_cqe		reg_cqe;
	struct completion	step;
	struct completion	accepted;
	int			answer;
	bool			connected;
	bool			bound;
};

/* ---- Posts and completions ---- */

/*
 * Return the number of segments for a message.  Some devices treat a segment of 0 bytes as 2 GiB.
 */
static int segments(const struct kperf_run *run)
{
	return run->size ? 1 : 0;
}

static int post_recv(struct kperf_end *end)
{
	struct verbs_end *e = end->priv;
	struct ib_sge sge = {
		.addr	= e->dma + KPERF_MAX_SIZE,
		.length	= end->run->size,
		.lkey	= e->id->qp->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &e->recv_cqe, .sg_list = &sge, .num_sge = segments(end->run),
	};

	return ib_post_recv(e->id->qp, &wr, NULL);
}

static int post_send(struct kperf_end *end)
{
	struct verbs_end *e = end->priv;
	struct ib_sge sge = {
		.addr	= e->dma,
		.length	= end->run->size,
		.lkey	= e->id->qp->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe		= &e->send_cqe,
		.sg_list	= &sge,
		.num_sge	= segments(end->run),
		.opcode		= IB_WR_SEND,
		.send_flags	= IB_SEND_SIGNALED,
	};

	return ib_post_send(e->id->qp, &wr, NULL);
}

static int post_write(struct kperf_end *end)
{
	struct verbs_end *e = end->priv;
	struct verbs_pair *p = end->run->priv;
	struct ib_sge sge = {
		.addr	= e->dma,
		.length	= end->run->size,
		.lkey	= e->id->qp->pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe		= &e->send_cqe,
			.sg_list	= &sge,
			.num_sge	= segments(end->run),
			.opcode		= IB_WR_RDMA_WRITE,
			.send_flags	= IB_SEND_SIGNALED,
		},
		.remote_addr	= p->mr->iova + KPERF_MAX_SIZE,
		.rkey		= p->mr->rkey,
	};

	return ib_post_send(e->id->qp, &wr.wr, NULL);
}

static void send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct verbs_end *e = container_of(wc->wr_cqe, struct verbs_end, send_cqe);

	if (wc->status == IB_WC_SUCCESS)
		kperf_sent(e->end);
	else
		kperf_failed(e->end->run, "completion", wc->status);
}

static void recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct verbs_end *e = container_of(wc->wr_cqe, struct verbs_end, recv_cqe);

	if (wc->status == IB_WC_SUCCESS)
		kperf_received(e->end);
	else
		kperf_failed(e->end->run, "completion", wc->status);
}

/* ---- An end ---- */

static int end_create_qp(struct verbs_pair *p, struct verbs_end *e)
{
	struct kperf_run *run = p->run;
	struct ib_qp_init_attr attr = {
		.send_cq	= e->cq,
		.recv_cq	= e->cq,
		.cap = {
			/*
			 * The send queue needs room for the registration of @mr as well.  Both
			 * queues need room for a work request that ib_drain_qp() posts.
			 */
			.max_send_wr	= run->window + KPERF_SLACK + 2,
			.max_recv_wr	= run->depth + 2,
			.max_send_sge	= 1,
			.max_recv_sge	= 1,
		},
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
	int ret;

	ret = rdma_create_qp(e->id, p->pd, &attr);
	if (!ret)
		rdma_set_min_rnr_timer(e->id, IB_RNR_TIMER_000_64);
	return ret;
}

/*
 * Create the CQ and QP of an end.  @vector selects a CPU, so that the two ends may use different
 * CPUs, like two EPs of kDAPL.
 */
static int end_make(struct verbs_pair *p, struct verbs_end *e, struct kperf_end *end, int vector)
{
	struct kperf_run *run = p->run;
	struct ib_device *dev = e->id->device;
	u32 i;
	int ret;

	e->end = end;
	end->priv = e;
	e->send_cqe.done = send_done;
	e->recv_cqe.done = recv_done;
	e->dma = ib_dma_map_single(dev, end->buf, 2 * KPERF_MAX_SIZE, DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(dev, e->dma))
		return -EIO;
	e->mapped = true;
	e->cq = ib_alloc_cq(dev, e, run->depth + run->window + KPERF_SLACK + 4,
			    vector % dev->num_comp_vectors, IB_POLL_SOFTIRQ);
	if (IS_ERR(e->cq))
		return PTR_ERR(e->cq);
	ret = end_create_qp(p, e);
	for (i = 0; i < run->depth && !ret; i++)
		ret = post_recv(end);
	return ret;
}

static void end_drain(struct verbs_end *e)
{
	if (e->id && e->id->qp)
		ib_drain_qp(e->id->qp);
}

static void end_destroy_qp(struct verbs_end *e)
{
	if (e->id && e->id->qp)
		rdma_destroy_qp(e->id);
}

static void nothing(struct tasklet_struct *t)
{
}

static long flush_tasklets_here(void *unused)
{
	struct tasklet_struct t;

	tasklet_setup(&t, nothing);
	tasklet_schedule(&t);
	/* tasklet_kill() waits until @t has run.  @t runs after all tasklets queued earlier. */
	tasklet_kill(&t);
	return 0;
}

/*
 * Run all queued tasklets.  Until Linux 6.12, rxe does not kill the tasklet of a CQ when the CQ is
 * freed.  Once the QPs are destroyed, nothing queues this tasklet again.  The second round catches
 * a tasklet that was deferred because it was running on another CPU.
 */
static void flush_tasklets(void)
{
	int i, cpu;

	cpus_read_lock();
	for (i = 0; i < 2; i++)
		for_each_online_cpu(cpu)
			work_on_cpu(cpu, flush_tasklets_here, NULL);
	cpus_read_unlock();
}

static void end_unmake(struct verbs_end *e)
{
	if (!e->id)
		return;
	if (!IS_ERR_OR_NULL(e->cq))
		ib_free_cq(e->cq);
	if (e->mapped)
		ib_dma_unmap_single(e->id->device, e->dma, 2 * KPERF_MAX_SIZE,
				    DMA_BIDIRECTIONAL);
}

static void end_destroy(struct verbs_end *e)
{
	if (e->id)
		rdma_destroy_id(e->id);
}

/* ---- The server ---- */

static int server_accept(struct verbs_pair *p, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	int ret;

	p->server.id = id;
	ret = end_make(p, &p->server, &p->run->server, 1);
	if (!ret)
		ret = rdma_accept(id, &param);
	if (ret) {
		kperf_failed(p->run, "accept", ret);
		rdma_reject(id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
	}
	/* verbs_close() destroys the id in any case. */
	return 0;
}

static int server_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct verbs_pair *p = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return p->server.id ? -EBUSY : server_accept(p, id);
	case RDMA_CM_EVENT_ESTABLISHED:
		complete(&p->accepted);
		break;
	default:
		kperf_failed(p->run, rdma_event_msg(event->event), event->status);
	}
	return 0;
}

static int server_bind(struct verbs_pair *p, struct sockaddr_storage *addr)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(current->nsproxy->net_ns, server_handler, p, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	p->listener = id;
	ret = rdma_bind_addr(id, (struct sockaddr *)addr);
	/* Return the bound address, which includes the port that rdma_bind_addr() has chosen. */
	*addr = id->route.addr.src_addr;
	return ret;
}

/* ---- The client ---- */

static int client_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct verbs_pair *p = id->context;

	/* Any event after ESTABLISHED means that the connection has ended. */
	if (p->connected)
		kperf_failed(p->run, rdma_event_msg(event->event), event->status);
	p->connected = event->event == RDMA_CM_EVENT_ESTABLISHED;
	p->answer = event->event;
	complete(&p->step);
	return 0;
}

static int await(struct verbs_pair *p, int ret, int answer)
{
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&p->step, KPERF_WAIT))
		return -ETIMEDOUT;
	return p->answer == answer ? 0 : -ENOTCONN;
}

static int client_resolve(struct verbs_pair *p, struct sockaddr_storage *addr)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(current->nsproxy->net_ns, client_handler, p, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	p->client.id = id;
	ret = await(p, rdma_resolve_addr(id, NULL, (struct sockaddr *)addr, RESOLVE_MS),
		    RDMA_CM_EVENT_ADDR_RESOLVED);
	if (!ret)
		ret = await(p, rdma_resolve_route(id, RESOLVE_MS),
			    RDMA_CM_EVENT_ROUTE_RESOLVED);
	return ret;
}

static int make_pd(struct verbs_pair *p)
{
	struct ib_pd *pd = ib_alloc_pd(p->client.id->device, 0);

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	p->pd = pd;
	return 0;
}

static int client_connect(struct verbs_pair *p)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	int ret;

	ret = end_make(p, &p->client, &p->run->client, 0);
	if (!ret)
		ret = await(p, rdma_connect(p->client.id, &param),
			    RDMA_CM_EVENT_ESTABLISHED);
	if (!ret && !wait_for_completion_timeout(&p->accepted, KPERF_WAIT))
		ret = -ETIMEDOUT;
	return ret;
}

/* ---- The server's memory, for writes ---- */

static void reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct verbs_pair *p = container_of(wc->wr_cqe, struct verbs_pair, reg_cqe);

	p->answer = wc->status;
	complete(&p->step);
}

static int map_mr(struct verbs_pair *p)
{
	int pages = 2 * KPERF_MAX_SIZE / PAGE_SIZE + 1;
	struct scatterlist sg;
	struct ib_mr *mr;
	int ret;

	mr = ib_alloc_mr(p->pd, IB_MR_TYPE_MEM_REG, pages);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	p->mr = mr;
	sg_init_one(&sg, p->run->server.buf, 2 * KPERF_MAX_SIZE);
	sg_dma_address(&sg) = p->server.dma;
	sg_dma_len(&sg) = 2 * KPERF_MAX_SIZE;
	ret = ib_map_mr_sg(mr, &sg, 1, NULL, PAGE_SIZE);
	return ret == 1 ? 0 : -EINVAL;
}

static int server_register(struct verbs_pair *p)
{
	struct ib_reg_wr wr = {
		.wr = {
			.wr_cqe		= &p->reg_cqe,
			.opcode		= IB_WR_REG_MR,
			.send_flags	= IB_SEND_SIGNALED,
		},
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};
	int ret;

	ret = map_mr(p);
	if (ret)
		return ret;
	wr.mr = p->mr;
	wr.key = p->mr->rkey;
	p->reg_cqe.done = reg_done;
	return await(p, ib_post_send(p->server.id->qp, &wr.wr, NULL), IB_WC_SUCCESS);
}

/* ---- The client's memory, for binds ---- */

static int windows_alloc(struct verbs_pair *p)
{
	struct ib_mr *mr;
	int i;

	p->reg_cqe.done = reg_done;
	for (i = 0; i < 2; i++) {
		mr = ib_alloc_mr(p->pd, IB_MR_TYPE_MEM_REG, KPERF_MAX_SIZE / PAGE_SIZE + 1);
		if (IS_ERR(mr))
			return PTR_ERR(mr);
		p->window[i] = mr;
	}
	return 0;
}

static void windows_free(struct verbs_pair *p)
{
	int i;

	for (i = 0; i < 2; i++)
		if (p->window[i])
			ib_dereg_mr(p->window[i]);
}

/*
 * Register the receive buffer with the MR that is not in use, and invalidate the other MR.  The
 * invalidation of an MR that was never registered fails, so the first bind has none.
 */
static int bind(struct kperf_end *end)
{
	struct verbs_pair *p = end->run->priv;
	struct verbs_end *e = end->priv;
	struct ib_mr *mr = p->window[1], *old = p->window[0];
	struct scatterlist sg;
	struct ib_send_wr inv = {
		.wr_cqe = &p->reg_cqe, .opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = old->rkey,
	};
	struct ib_reg_wr reg = {
		.wr = {
			.wr_cqe		= &p->reg_cqe,
			.opcode		= IB_WR_REG_MR,
			.send_flags	= IB_SEND_SIGNALED,
		},
		.mr	= mr,
		.access	= IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ,
	};
	int ret;

	sg_init_one(&sg, end->buf + KPERF_MAX_SIZE, end->run->size);
	sg_dma_address(&sg) = e->dma + KPERF_MAX_SIZE;
	sg_dma_len(&sg) = end->run->size;
	ret = ib_map_mr_sg(mr, &sg, 1, NULL, PAGE_SIZE);
	if (ret != 1)
		return -EINVAL;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	reg.key = mr->rkey;
	inv.next = &reg.wr;
	ret = ib_post_send(e->id->qp, p->bound ? &inv : &reg.wr, NULL);
	p->bound = true;
	p->window[0] = mr;
	p->window[1] = old;
	return await(p, ret, IB_WC_SUCCESS);
}

/* ---- The side ---- */

static void verbs_close(struct kperf_run *run)
{
	struct verbs_pair *p = run->priv;

	/* No connection request arrives after the listener has been destroyed. */
	if (p->listener)
		rdma_destroy_id(p->listener);
	if (p->client.id && p->client.id->qp)
		rdma_disconnect(p->client.id);
	end_drain(&p->client);
	end_drain(&p->server);
	/* Deregister the memory before it is unmapped. */
	if (p->mr)
		ib_dereg_mr(p->mr);
	windows_free(p);
	end_destroy_qp(&p->client);
	end_destroy_qp(&p->server);
	flush_tasklets();
	end_unmake(&p->client);
	end_unmake(&p->server);
	if (p->pd)
		ib_dealloc_pd(p->pd);
	/* Destroy the ids last, because they hold a reference to the device. */
	end_destroy(&p->client);
	end_destroy(&p->server);
	kfree(p);
}

static int verbs_set_up(struct verbs_pair *p)
{
	struct sockaddr_storage addr = {};
	int ret;

	ret = inet_pton_with_scope(current->nsproxy->net_ns, AF_UNSPEC, kperf_address, NULL,
				   &addr);
	if (!ret)
		ret = server_bind(p, &addr);
	if (!ret)
		ret = client_resolve(p, &addr);
	if (!ret)
		ret = make_pd(p);
	/*
	 * Allocate the PD before listening: the handler of a request needs the PD, and a host
	 * outside the test may send the first request.
	 */
	if (!ret)
		ret = rdma_listen(p->listener, BACKLOG);
	if (!ret)
		ret = client_connect(p);
	if (!ret && p->run->test->write)
		ret = server_register(p);
	if (!ret && p->run->test->bind)
		ret = windows_alloc(p);
	return ret;
}

static int verbs_open(struct kperf_run *run)
{
	struct verbs_pair *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int ret;

	if (!p)
		return -ENOMEM;
	p->run = run;
	run->priv = p;
	init_completion(&p->step);
	init_completion(&p->accepted);
	ret = verbs_set_up(p);
	if (!ret && atomic_read(&run->failed))
		ret = -EIO;
	if (!ret)
		return 0;
	kperf_failed(run, "set up", ret);
	verbs_close(run);
	return ret;
}

const struct kperf_side kperf_verbs = {
	.name		= "verbs",
	.open		= verbs_open,
	.close		= verbs_close,
	.post_recv	= post_recv,
	.post_send	= post_send,
	.post_write	= post_write,
	.bind		= bind,
};
