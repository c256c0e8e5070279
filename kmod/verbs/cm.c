// SPDX-License-Identifier: GPL-2.0
/*
 * Connecting and accepting through rdma_cm.
 *
 * Handlers run under the id's own lock, take ep->lock and nothing above it, never
 * destroy an id, and return 0: what they decide is carried out by the undertaker
 * of the connection.
 */
#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/sched/task.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <rdma/ib_cm.h>

#include "core/dat.h"

#define DAT_RESOLVE_MS	2000
#define DAT_RETRIES	7	/* RNR: for ever */

static unsigned int cm_accept_timeout = 10000;
module_param_named(accept_timeout, cm_accept_timeout, uint, 0644);
MODULE_PARM_DESC(accept_timeout, "Milliseconds until an accepted connection is given up (10000)");

static void cm_fail(struct dat_conn *conn, u32 event)
{
	struct dat_ep *ep = conn->ep;

	spin_lock_bh(&ep->lock);
	dat_conn_fail(conn, event);
	spin_unlock_bh(&ep->lock);
}

/*
 * The teardown waits for a handler that saw a connection that is not closing here, so what such a
 * handler makes is found and undone.
 */
static bool cm_closing(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;
	bool closing;

	spin_lock_bh(&ep->lock);
	closing = dat_conn_is_closing(conn);
	spin_unlock_bh(&ep->lock);
	return closing;
}

static void cm_addr_resolved(struct dat_conn *conn, struct rdma_cm_event *event)
{
	if (rdma_resolve_route(conn->id, DAT_RESOLVE_MS))
		cm_fail(conn, DAT_EV_UNREACHABLE);
}

/* Receives posted before the connection are at the device before the peer can send. */
static int cm_make_qp(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;
	int ret = dat_conn_make_qp(conn);

	if (ret)
		return ret;
	spin_lock_bh(&ep->lock);
	while (dat_queue_pump_rq(conn))
		dat_ep_breathe(ep);
	spin_unlock_bh(&ep->lock);
	return 0;
}

static void cm_route_resolved(struct dat_conn *conn, struct rdma_cm_event *event)
{
	if (cm_make_qp(conn) || rdma_connect_locked(conn->id, &conn->param))
		cm_fail(conn, DAT_EV_NON_PEER_REJECTED);
}

static void cm_unreachable(struct dat_conn *conn, struct rdma_cm_event *event)
{
	cm_fail(conn, dat_conn_was_established(conn) ? DAT_EV_BROKEN : DAT_EV_UNREACHABLE);
}

static void cm_connect_error(struct dat_conn *conn, struct rdma_cm_event *event)
{
	cm_fail(conn, dat_conn_was_established(conn) ? DAT_EV_BROKEN : DAT_EV_NON_PEER_REJECTED);
}

static void cm_disconnected(struct dat_conn *conn, struct rdma_cm_event *event)
{
	struct dat_ep *ep = conn->ep;

	spin_lock_bh(&ep->lock);
	dat_conn_hung_up(conn);
	spin_unlock_bh(&ep->lock);
}

/* Kernel consumers may have told each other why.  It is there when the event is. */
static void cm_keep_reason(struct dat_conn *conn, const void *data, u8 len)
{
	struct dat_ep *ep = conn->ep;

	if (!ep->obj.ia->face->sink->reject_data || dat_cr_reject_is_plain(data, len))
		return;
	spin_lock_bh(&ep->lock);
	if (!dat_conn_is_closing(conn)) {
		conn->end_pd = len;
		dat_epring_set_pd(&ep->ring, data, len);
	}
	spin_unlock_bh(&ep->lock);
}

/* True if a consumer may have sent the reject.  Documentation/design.rst has the table. */
static bool cm_consumer_may_reject(const struct dat_conn *conn,
				   const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	int status = IB_CM_REJ_CONSUMER_DEFINED;

	if (conn->dev->quirks & DAT_QUIRK_REJECT_IS_RESET)
		status = -ECONNRESET;
	else if (conn->ep->obj.ia->iwarp)
		status = -ECONNREFUSED;
	return event->status == status &&
	       !dat_cr_reject_is_refusal(param->private_data, param->private_data_len);
}

/* A REJ for an established connection is a disconnect that overtook the last handshake message. */
static void cm_rejected(struct dat_conn *conn, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;

	if (dat_conn_was_established(conn)) {
		cm_disconnected(conn, event);
		return;
	}
	if (!cm_consumer_may_reject(conn, event)) {
		cm_fail(conn, DAT_EV_NON_PEER_REJECTED);
		return;
	}
	/* On IB the data always has its full length, padded with zeros. */
	if (param->private_data_len &&
	    memchr_inv(param->private_data, 0, param->private_data_len))
		cm_keep_reason(conn, param->private_data, param->private_data_len);
	cm_fail(conn, DAT_EV_PEER_REJECTED);
}

static void cm_established(struct dat_conn *conn, struct rdma_cm_event *event)
{
	dat_conn_established(conn, conn->passive ? NULL : &event->param.conn);
}

static void cm_device_removal(struct dat_conn *conn, struct rdma_cm_event *event)
{
	cm_fail(conn, DAT_EV_BROKEN);
}

static void (*const cm_events[])(struct dat_conn *conn, struct rdma_cm_event *event) = {
	[RDMA_CM_EVENT_ADDR_RESOLVED]	= cm_addr_resolved,
	[RDMA_CM_EVENT_ADDR_ERROR]	= cm_unreachable,
	[RDMA_CM_EVENT_ROUTE_RESOLVED]	= cm_route_resolved,
	[RDMA_CM_EVENT_ROUTE_ERROR]	= cm_unreachable,
	[RDMA_CM_EVENT_CONNECT_ERROR]	= cm_connect_error,
	[RDMA_CM_EVENT_UNREACHABLE]	= cm_unreachable,
	[RDMA_CM_EVENT_REJECTED]	= cm_rejected,
	[RDMA_CM_EVENT_ESTABLISHED]	= cm_established,
	[RDMA_CM_EVENT_DISCONNECTED]	= cm_disconnected,
	[RDMA_CM_EVENT_DEVICE_REMOVAL]	= cm_device_removal,
};

static int cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct dat_conn *conn = id->context;
	unsigned int type = event->event;

	/* Whoever closes waits for it, so before the question whether that is so. */
	complete_all(&conn->cm_heard);
	if (type < ARRAY_SIZE(cm_events) && cm_events[type] && !cm_closing(conn))
		cm_events[type](conn, event);
	return 0;
}

static void cm_set_param(struct dat_conn *conn, u8 read_in, u8 read_out, const void *pd,
			 u32 pd_len)
{
	memcpy(conn->pd, pd, pd_len);
	conn->param = (struct rdma_conn_param) {
		.private_data		= conn->pd,
		.private_data_len	= pd_len,
		.responder_resources	= read_in,
		.initiator_depth	= read_out,
		.flow_control		= 1,
		.retry_count		= DAT_RETRIES,
		.rnr_retry_count	= DAT_RETRIES,
	};
}

static void cm_start_timer(struct dat_conn *conn, u64 timeout_us)
{
	u64 ticks;

	if (timeout_us == DAT_WAIT_FOREVER)
		return;
	ticks = nsecs_to_jiffies64(min_t(u64, timeout_us, U64_MAX / NSEC_PER_USEC) *
				   NSEC_PER_USEC) + 1;
	queue_delayed_work(dat_wq, &conn->timer, min_t(u64, ticks, MAX_JIFFY_OFFSET));
}

/*
 * Undo a claim whose connection could not be started.  If the consumer has closed it
 * meanwhile, its end is on the way and the call counts as successful.
 */
static int cm_start_failed(struct dat_conn *conn, int err)
{
	if (!dat_ep_unclaim(conn->ep)) {
		dat_conn_unhold(conn);
		return 0;
	}
	cancel_delayed_work_sync(&conn->timer);
	dat_conn_free(conn);
	return err;
}

/* What rdma_cm and the routing tables say in the words of the errno contract. */
static int cm_resolve_error(int err)
{
	switch (err) {
	case -ENOBUFS:
	case -EAGAIN:
	case -EADDRNOTAVAIL:	/* no port is left */
	case -EADDRINUSE:
		return -ENOMEM;
	case -ENOMEM:
	case -EINVAL:
		return err;
	default:	/* with -ENODEV: nobody has our address any more; the device is there */
		return -ENETUNREACH;
	}
}

static int cm_resolve(struct dat_conn *conn, struct sockaddr_storage *src,
		      const struct sockaddr_storage *dst, u64 timeout_us)
{
	int ret;

	ret = dat_ep_claim(conn->ep, DAT_EP_ACTIVE_PENDING, conn);
	if (ret) {
		dat_conn_free(conn);
		return ret;
	}
	cm_start_timer(conn, timeout_us);
	ret = rdma_resolve_addr(conn->id, (struct sockaddr *)src,
				(const struct sockaddr *)dst, DAT_RESOLVE_MS);
	if (ret)
		return cm_start_failed(conn, cm_resolve_error(ret));
	dat_conn_unhold(conn);
	return 0;
}

static int cm_bind_port(struct rdma_cm_id *id, struct sockaddr_storage *src)
{
	u32 n = PROT_SOCK - DAT_FIRST_PORT, first = get_random_u32() % n, i;
	int ret = -EADDRINUSE;

	for (i = 0; i < n && (ret == -EADDRINUSE || ret == -EADDRNOTAVAIL); i++) {
		/* sin_port and sin6_port are at the same place. */
		((struct sockaddr_in *)src)->sin_port =
			cpu_to_be16(DAT_FIRST_PORT + (first + i) % n);
		ret = rdma_bind_addr(id, (struct sockaddr *)src);
	}
	return ret;
}

/*
 * rdma_cm asks whether the caller may have such a port.  It is not the process that gets it,
 * which has nothing to do with the id, but we.  Many of ours can be from one port, except where
 * TCP carries the connection: there the port says nothing.
 */
static int cm_bind_kernel_port(struct dat_ep *ep, struct rdma_cm_id *id,
			       struct sockaddr_storage *src)
{
	struct dat_ia *ia = ep->obj.ia;
	const struct cred *old;
	struct cred *kernel;
	int ret;

	/* TCP uses a port for one connection, and keeps it unused for a minute after that. */
	if (ia->iwarp)
		return 0;
	kernel = prepare_kernel_cred(&init_task);
	if (!kernel)
		return -ENOMEM;
	rdma_set_reuseaddr(id, 1);
	old = override_creds(kernel);
	ret = cm_bind_port(id, src);
	revert_creds(old);
	put_cred(kernel);
	return ret ? cm_resolve_error(ret) : 0;
}

/*
 * The classes of RFC 4594 that are named like DAT's, and expedited forwarding for premium.  RoCE
 * packets of both directions carry the type of service, which also selects the priority that
 * Ethernet gives them; on InfiniBand it selects the service level of the path.
 */
static int cm_set_qos(struct rdma_cm_id *id, u32 qos)
{
	switch (qos) {
	case 0:	/* best effort: the system's default */
		return 0;
	case DAT_QOS_CLASS_HIGH_THROUGHPUT:
		rdma_set_service_type(id, 0x28);
		return 0;
	case DAT_QOS_CLASS_LOW_LATENCY:
		rdma_set_service_type(id, 0x48);
		return 0;
	case DAT_QOS_CLASS_ECONOMY:
		rdma_set_service_type(id, 0x20);
		return 0;
	case DAT_QOS_CLASS_PREMIUM:
		rdma_set_service_type(id, 0xb8);
		return 0;
	default:
		return -EINVAL;
	}
}

/**
 * dat_cm_connect() - begin to connect
 * @ep: UNCONNECTED
 * @dst: address of the peer with the qualifier as its port
 * @timeout_us: until DAT_EV_TIMED_OUT, or DAT_WAIT_FOREVER
 * @qos: 0 or enum dat_qos_class
 * @pd: private data
 * @pd_len: of it, at most DAT_MAX_PD_REQUEST
 *
 * Context: may sleep.  Return: 0, and one connection event will follow; or
 * -ENETUNREACH the adapter has no address of the family, there is no route to @dst, or it
 * is IPv6 loopback; -EINVAL @qos is neither; -EISCONN, -ENOMEM.
 */
int dat_cm_connect(struct dat_ep *ep, const struct sockaddr_storage *dst, u64 timeout_us,
		   u32 qos, const void *pd, u32 pd_len)
{
	struct dat_ia *ia = ep->obj.ia;
	struct sockaddr_storage src;
	struct dat_conn *conn;
	struct rdma_cm_id *id;
	int ret;

	/*
	 * With the source address of a device, rdma_cm of 6.1 takes it, sends what nobody
	 * gets, and no connection of the machine comes about any more.
	 */
	if (dst->ss_family == AF_INET6 &&
	    ipv6_addr_loopback(&((const struct sockaddr_in6 *)dst)->sin6_addr))
		return -ENETUNREACH;
	ret = dat_dev_addr(ia, dst->ss_family, &src);
	if (ret)
		return ret;
	conn = dat_conn_alloc(ep);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	id = rdma_create_id(ia->net, cm_handler, conn, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		dat_conn_free(conn);
		return PTR_ERR(id);
	}
	conn->id = id;
	cm_set_param(conn, ep->attr.read_in, ep->attr.read_out, pd, pd_len);
	ret = cm_set_qos(id, qos);
	if (!ret && ep->traits & DAT_EP_KERNEL_PORT)
		ret = cm_bind_kernel_port(ep, id, &src);
	if (ret) {
		dat_conn_free(conn);
		return ret;
	}
	return cm_resolve(conn, &src, dst, timeout_us);
}

static int cm_qp_become(struct dat_conn *conn, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask, ret;

	ret = rdma_init_qp_attr(conn->id, &attr, &mask);
	if (ret)
		return ret;
	if (mask & IB_QP_ACCESS_FLAGS)
		attr.qp_access_flags = 0;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		attr.max_dest_rd_atomic = conn->param.responder_resources;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		attr.max_rd_atomic = conn->param.initiator_depth;
	return ib_modify_qp(conn->qp, &attr, mask);
}

/*
 * rdma_cm lets every peer read and write from before the peer hears that it is accepted.  So this
 * makes the queue pair ready by itself, and has rdma_cm accept by the number of the queue pair
 * alone.  The handler lock is held and the undertaker waits for the end of the accept, so nobody
 * misses id->qp meanwhile.
 */
static int cm_accept_without_access(struct dat_conn *conn)
{
	static const enum ib_qp_state states[] = { IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS };
	struct rdma_cm_id *id = conn->id;
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < ARRAY_SIZE(states); i++)
		ret = cm_qp_become(conn, states[i]);
	if (ret)
		return ret;
	conn->param.qp_num = conn->qp->qp_num;
	conn->param.srq = !!conn->qp->srq;
	id->qp = NULL;
	ret = rdma_accept(id, &conn->param);
	id->qp = conn->qp;
	return ret;
}

static int cm_accept_peer(struct dat_conn *conn)
{
	if (conn->ep->traits & DAT_EP_PEER_WAITS)
		return cm_accept_without_access(conn);
	return rdma_accept(conn->id, &conn->param);
}

/*
 * Called with the handler lock of conn->id.  An rdma_accept() that fails has already
 * refused the peer, so the consumer gets to know by an event.
 */
static int cm_accept_locked(struct dat_conn *conn, struct dat_cr *cr)
{
	struct rdma_cm_id *id = conn->id;
	int ret;

	id->context = conn;
	id->event_handler = cm_handler;
	if (cr->gone) {
		cm_fail(conn, DAT_EV_ACCEPT_ERROR);
		return 0;
	}
	ret = cm_make_qp(conn);
	/* The CM's word for a request that the peer has withdrawn; ours is on the way. */
	if (ret == -EINVAL) {
		cm_fail(conn, DAT_EV_ACCEPT_ERROR);
		return 0;
	}
	if (ret) {
		/* Closed meanwhile: the undertaker has the id, and the CR may go. */
		if (!dat_ep_unclaim(conn->ep))
			return 0;
		id->context = cr;
		id->event_handler = dat_cr_handler;
		return ret;
	}
	if (cm_accept_peer(conn)) {
		cm_fail(conn, DAT_EV_ACCEPT_ERROR);
		return 0;
	}
	/* The handler lock keeps ESTABLISHED out until both are set. */
	conn->psp = xchg(&cr->psp, NULL);
	cm_start_timer(conn, (u64)READ_ONCE(cm_accept_timeout) * USEC_PER_MSEC);
	return 0;
}

/**
 * dat_cm_accept() - accept a connection request
 * @cr: the request; on success its id is gone and it should be freed
 * @ep: UNCONNECTED
 * @pd: private data
 * @pd_len: of it, at most DAT_MAX_PD_REPLY
 *
 * Context: may sleep.  Return: 0, and one connection event will follow; -ENOENT the
 * request is taken, -EISCONN, -ENOMEM.  After an error both are as before.
 */
int dat_cm_accept(struct dat_cr *cr, struct dat_ep *ep, const void *pd, u32 pd_len)
{
	struct dat_conn *conn;
	struct rdma_cm_id *id;
	int ret;

	conn = dat_conn_alloc(ep);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	conn->passive = true;
	conn->peer_qpn = cr->param.qp_num;
	cm_set_param(conn, min_t(u32, ep->attr.read_in, cr->param.responder_resources),
		     min_t(u32, ep->attr.read_out, cr->param.initiator_depth), pd, pd_len);
	id = xchg(&cr->id, NULL);
	if (!id) {
		ret = -ENOENT;
		goto err_free;
	}
	ret = dat_ep_claim(ep, DAT_EP_COMPL_PENDING, conn);
	if (ret)
		goto err_give_back;

	conn->id = id;
	rdma_lock_handler(id);
	ret = cm_accept_locked(conn, cr);
	rdma_unlock_handler(id);
	if (!ret) {
		dat_conn_unhold(conn);
		return 0;
	}
	conn->id = NULL;
err_give_back:
	dat_cr_give_back(cr, id);
err_free:
	dat_conn_free(conn);
	return ret;
}
