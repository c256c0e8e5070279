// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Connecting and accepting through rdma_cm.
 *
 * rdma_cm calls a handler with the handler lock of the id held.  A handler may take ep->lock, but
 * no lock that must be taken before ep->lock.  A handler always returns 0 and never destroys an id,
 * because the teardown of the connection destroys the id.
 */
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "core/addr.h"
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/psp.h"
#include "core/ep/queue.h"
#include "core/peer.h"
#include "core/xport.h"
#include "verbs/verbs.h"

#define DAT_RESOLVE_MS	2000
#define DAT_RETRIES	7	/* an RNR retry count of 7 means no limit */

static unsigned int ack_timeout = 17;
module_param(ack_timeout, uint, 0644);
MODULE_PARM_DESC(ack_timeout, "Resend after 4.096 us * 2^N; 0: as rdma_cm sets it (17)");

/*
 * Sets the time after which the device retransmits a packet that got no answer.  For RoCE, the
 * default of rdma_cm before Linux 6.6 is 2.1 s, so a dead peer would be noticed only after 17 s.
 * iWARP ignores the time, because TCP has retransmission timers.  Does nothing if the module
 * parameter ack_timeout is 0.
 */
static void cm_set_ack_timeout(struct rdma_cm_id *id)
{
	unsigned int timeout = READ_ONCE(ack_timeout);

	if (timeout)
		rdma_set_ack_timeout(id, min(timeout, 31U));
}

static struct rdma_conn_param cm_param(const struct dat_conn *conn)
{
	return (struct rdma_conn_param) {
		.private_data		= conn->pd,
		.private_data_len	= conn->pd_len,
		.responder_resources	= conn->read_in,
		.initiator_depth	= conn->read_out,
		.flow_control		= 1,
		.retry_count		= DAT_RETRIES,
		.rnr_retry_count	= DAT_RETRIES,
	};
}

static void cm_fail(struct dat_conn *conn, u32 event)
{
	struct dat_ep *ep = conn->ep;

	spin_lock_bh(&ep->lock);
	dat_conn_fail(conn, event);
	spin_unlock_bh(&ep->lock);
}

/*
 * Returns true if the connection is closing.  A handler must then do nothing.  If the function
 * returns false, the teardown waits for the handler and then undoes what the handler did.
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
	if (rdma_resolve_route(to_verbs_conn(conn)->id, DAT_RESOLVE_MS))
		cm_fail(conn, DAT_EV_UNREACHABLE);
}

/*
 * Creates the QP and posts the receives that are in the receive ring.  The caller sends the request
 * or the reply afterwards, so the peer finds these receives.
 *
 * Creating the QP and posting the receives may take long.  So the thread that connects or accepts
 * calls this function without the handler lock.  The workers of the CM serve all connections of the
 * host and would wait for that lock.
 */
static int cm_make_qp(struct dat_conn *conn)
{
	struct dat_ep *ep = conn->ep;
	int ret = verbs_make_qp(conn);

	if (ret)
		return ret;
	spin_lock_bh(&ep->lock);
	while (dat_queue_pump_rq(conn))
		dat_ep_cond_resched(ep);
	spin_unlock_bh(&ep->lock);
	return 0;
}

/* Sends the connection request if the route and the QP are ready.  The handler lock is held. */
static void cm_request(struct dat_conn *conn)
{
	struct rdma_conn_param param = cm_param(conn);
	struct verbs_conn *vc = to_verbs_conn(conn);

	if (vc->routed && vc->prepared && rdma_connect_locked(vc->id, &param))
		cm_fail(conn, DAT_EV_NON_PEER_REJECTED);
}

static void cm_route_resolved(struct dat_conn *conn, struct rdma_cm_event *event)
{
	to_verbs_conn(conn)->routed = true;
	cm_request(conn);
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

/*
 * Returns true if the peer's consumer may have sent the reject.  The status of a consumer's reject
 * depends on the fabric and the driver; Documentation/design.rst has a table.
 */
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
	       !verbs_is_refusal(param->private_data, param->private_data_len);
}

/*
 * Returns true if the peer's dat module has refused the request for lack of resources.  iWARP has
 * no reject reasons, so with iWARP the function returns true for every refusal by a dat module.
 */
static bool cm_peer_is_busy(const struct dat_conn *conn, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;

	if (conn->ep->obj.ia->iwarp)
		return verbs_is_refusal(param->private_data, param->private_data_len);
	return event->status == IB_CM_REJ_NO_RESOURCES;
}

/*
 * Reports a reject.  On an established connection, RDMA_CM_EVENT_REJECTED means a disconnect that
 * has overtaken the last message of the handshake.
 */
static void cm_rejected(struct dat_conn *conn, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;

	if (dat_conn_was_established(conn)) {
		cm_disconnected(conn, event);
		return;
	}
	WRITE_ONCE(conn->ep->refusal,
		   cm_peer_is_busy(conn, event) ? DAT_REFUSAL_BUSY : DAT_REFUSAL_OTHER);
	if (!cm_consumer_may_reject(conn, event)) {
		cm_fail(conn, DAT_EV_NON_PEER_REJECTED);
		return;
	}
	dat_conn_rejected(conn, param->private_data, param->private_data_len);
}

/*
 * Reports that the handshake has succeeded.  @param: the peer's reply; NULL on the passive side.
 * The handler lock is held.
 */
static void cm_handshake_done(struct dat_conn *conn, const struct rdma_conn_param *param)
{
	struct verbs_conn *vc = to_verbs_conn(conn);
	struct dat_handshake h = {
		.local		= &vc->id->route.addr.src_addr,
		.remote		= &vc->id->route.addr.dst_addr,
		.read_in	= conn->read_in,
		.read_out	= conn->read_out,
	};

	if (param) {
		h.read_in = min_t(u32, h.read_in, param->responder_resources);
		h.read_out = min_t(u32, h.read_out, param->initiator_depth);
		h.pd = param->private_data;
		h.pd_len = param->private_data_len;
		vc->peer_qpn = param->qp_num;
	}
	dat_conn_established(conn, &h);
}

static void cm_established(struct dat_conn *conn, struct rdma_cm_event *event)
{
	cm_handshake_done(conn, conn->passive ? NULL : &event->param.conn);
}

/*
 * Completes the handshake of an accepted connection when data arrives before the peer's last
 * handshake message.  That message may have been lost.
 *
 * This function does not call rdma_notify().  If the peer's disconnect arrived before the CM
 * handled rdma_notify(), the CM would retransmit the reply for a minute, and rdma_destroy_id()
 * would block during that minute.
 */
void verbs_implied_established(struct dat_conn *conn)
{
	struct verbs_conn *vc = to_verbs_conn(conn);

	/* rdma_lock_handler() waits until a running accept has finished. */
	rdma_lock_handler(vc->id);
	if (conn->passive)
		cm_handshake_done(conn, NULL);
	rdma_unlock_handler(vc->id);
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
	struct verbs_conn *vc = to_verbs_conn(conn);
	unsigned int type = event->event;

	/* The teardown reads both flags, so set the flags even if the connection is closing. */
	if (type == RDMA_CM_EVENT_ESTABLISHED)
		WRITE_ONCE(vc->established, true);
	WRITE_ONCE(vc->cm_event_seen, true);
	if (type < ARRAY_SIZE(cm_events) && cm_events[type] && !cm_closing(conn))
		cm_events[type](conn, event);
	return 0;
}

/* Converts an error of rdma_cm or of routing to an errno that dat_ep_connect() may return. */
static int cm_resolve_error(int err)
{
	switch (err) {
	case -ENOBUFS:
	case -EAGAIN:
	case -EADDRNOTAVAIL:	/* rdma_cm has no free port */
	case -EADDRINUSE:
		return -ENOMEM;
	case -ENOMEM:
	case -EINVAL:
		return err;
	default:	/* no route; or -ENODEV: no interface has the source address any more */
		return -ENETUNREACH;
	}
}

/*
 * Binds the id to a privileged port number.  rdma_cm checks whether the caller may use such a
 * number.  rdma_set_reuseaddr() lets many connections share a number.
 *
 * With iWARP this function does nothing, because the peer does not check the port number.  The
 * numbers would also run out, because TCP uses a number for one connection only, and keeps the
 * number unused for a minute after that connection.
 */
static int cm_bind_kernel_port(struct rdma_cm_id *id, const struct dat_ia *ia,
			       struct sockaddr_storage *src)
{
	u32 n = PROT_SOCK - DAT_FIRST_PORT, first = get_random_u32() % n, i;
	int ret = -EADDRINUSE;

	if (ia->iwarp)
		return 0;
	rdma_set_reuseaddr(id, 1);
	for (i = 0; i < n && (ret == -EADDRINUSE || ret == -EADDRNOTAVAIL); i++) {
		dat_addr_set_port(src, DAT_FIRST_PORT + (first + i) % n);
		ret = rdma_bind_addr(id, (struct sockaddr *)src);
	}
	if (ret == -EACCES)
		return -EPERM;
	return ret ? cm_resolve_error(ret) : 0;
}

/*
 * Sets the type of service.  High throughput and low latency get the RFC 4594 class of the same
 * name, economy gets the class for low-priority data, and premium gets expedited forwarding.
 *
 * With RoCE, the packets of both directions carry the type of service, which selects the Ethernet
 * priority.  On InfiniBand, the type of service selects the service level of the path.
 */
static void cm_set_qos(struct rdma_cm_id *id, u32 qos)
{
	switch (qos) {
	case DAT_QOS_CLASS_HIGH_THROUGHPUT:
		rdma_set_service_type(id, 0x28);
		break;
	case DAT_QOS_CLASS_LOW_LATENCY:
		rdma_set_service_type(id, 0x48);
		break;
	case DAT_QOS_CLASS_ECONOMY:
		rdma_set_service_type(id, 0x20);
		break;
	case DAT_QOS_CLASS_PREMIUM:
		rdma_set_service_type(id, 0xb8);
		break;
	default:	/* best effort: keep the system's default */
		break;
	}
}

/*
 * Returns false for an address that no adapter can have: the wildcard address, the IPv4 broadcast
 * address, a multicast address, an IPv4 address that is mapped to IPv6, or a loopback address.  But
 * returns true for an IPv4 loopback address if @src is an IPv4 loopback address, which an iWARP
 * adapter on the interface lo has.
 */
static bool cm_addr_of_adapter(const struct sockaddr_storage *ss,
			       const struct sockaddr_storage *src)
{
	const struct sockaddr_in6 *in6 = (const void *)ss;

	if (!dat_addr_is_unicast(ss))
		return false;
	if (ss->ss_family == AF_INET6)
		return !ipv6_addr_loopback(&in6->sin6_addr);
	return !ipv4_is_loopback(((const struct sockaddr_in *)ss)->sin_addr.s_addr) ||
	       ipv4_is_loopback(((const struct sockaddr_in *)src)->sin_addr.s_addr);
}

int verbs_connect(struct dat_conn *conn, const struct sockaddr_storage *dst, u32 qos)
{
	struct dat_ep *ep = conn->ep;
	struct dat_ia *ia = ep->obj.ia;
	struct sockaddr_storage src;
	struct rdma_cm_id *id;
	int ret;

	ret = verbs_source(ia, dst, &src);
	if (ret)
		return ret;
	/*
	 * Refuse a destination that no adapter can have, because a request to it gets no answer.
	 * The destinations ::1 and :: do more harm.  rdma_cm of Linux 6.1 combines them with the
	 * source address of a device, and sends a request that reaches no listener.  After that
	 * request, every connect on the machine fails.
	 */
	if (!cm_addr_of_adapter(dst, &src))
		return -ENETUNREACH;
	id = rdma_create_id(ia->net, cm_handler, conn, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	/* The connection owns the id, also after an error: verbs_conn_unbind() destroys the id. */
	to_verbs_conn(conn)->id = id;
	cm_set_qos(id, qos);
	cm_set_ack_timeout(id);
	if (ep->traits & DAT_EP_KERNEL_PORT)
		ret = cm_bind_kernel_port(id, ia, &src);
	if (ret)
		return ret;
	ret = rdma_resolve_addr(id, (struct sockaddr *)&src, (const struct sockaddr *)dst,
				DAT_RESOLVE_MS);
	if (ret)
		return cm_resolve_error(ret);
	ret = cm_make_qp(conn);
	if (ret)
		return ret == -ENODEV ? -ENETUNREACH : -ENOMEM;
	rdma_lock_handler(id);
	to_verbs_conn(conn)->prepared = true;
	if (!cm_closing(conn))
		cm_request(conn);
	rdma_unlock_handler(id);
	return 0;
}

static int cm_qp_become(struct verbs_conn *vc, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask, ret;

	ret = rdma_init_qp_attr(vc->id, &attr, &mask);
	if (ret)
		return ret;
	if (mask & IB_QP_ACCESS_FLAGS)
		attr.qp_access_flags = 0;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		attr.max_dest_rd_atomic = vc->conn.read_in;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		attr.max_rd_atomic = vc->conn.read_out;
	return ib_modify_qp(vc->qp, &attr, mask);
}

/*
 * Accepts without giving the peer access to memory.  rdma_accept() would enable remote reads and
 * writes before it accepts.  So this function moves the QP to RTS itself, and hides the QP from
 * rdma_accept(), which then accepts with param->qp_num alone.
 *
 * id->qp is NULL during rdma_accept(), and no other thread reads id->qp meanwhile.  Handlers wait
 * for the handler lock, which the caller holds, and the teardown waits for the end of the accept.
 */
static int cm_accept_without_access(struct verbs_conn *vc, struct rdma_conn_param *param)
{
	static const enum ib_qp_state states[] = { IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS };
	struct rdma_cm_id *id = vc->id;
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < ARRAY_SIZE(states); i++)
		ret = cm_qp_become(vc, states[i]);
	if (ret)
		return ret;
	param->qp_num = vc->qp->qp_num;
	param->srq = !!vc->qp->srq;
	id->qp = NULL;
	ret = rdma_accept(id, param);
	id->qp = vc->qp;
	return ret;
}

/*
 * Makes @conn the owner of the request's id and accepts.  @err: error of cm_make_qp(), or 0.  The
 * handler lock is held.  A failure, also @err, is reported as the event DAT_EV_ACCEPT_ERROR, not as
 * an errno, because the caller could not answer the request again after a failed rdma_accept().
 */
static void cm_accept_locked(struct dat_conn *conn, struct dat_cr *cr, int err)
{
	struct verbs_conn *vc = to_verbs_conn(conn);
	struct rdma_conn_param param = cm_param(conn);
	struct rdma_cm_id *id = vc->id;

	id->context = conn;
	id->event_handler = cm_handler;
	if (cr->gone)
		err = -EINVAL;
	if (!err && conn->ep->traits & DAT_EP_PEER_WAITS &&
	    !(conn->dev->quirks & DAT_QUIRK_OPEN_ACCESS))
		err = cm_accept_without_access(vc, &param);
	else if (!err)
		err = rdma_accept(id, &param);
	if (err)
		cm_fail(conn, DAT_EV_ACCEPT_ERROR);
	else
		dat_conn_accepted(conn, cr);
}

int verbs_accept(struct dat_conn *conn, struct dat_cr *cr, void *request)
{
	struct verbs_conn *vc = to_verbs_conn(conn);
	int ret;

	vc->id = request;
	vc->peer_qpn = cr->qpn;
	cm_set_ack_timeout(request);
	ret = cm_make_qp(conn);
	/*
	 * -EINVAL may mean that the peer has withdrawn the request: do not give the request back.
	 * If dat_ep_unclaim() returns false, the teardown of the connection destroys the id.
	 */
	if (ret && ret != -EINVAL && dat_ep_unclaim(conn->ep)) {
		vc->id = NULL;
		return ret;
	}
	rdma_lock_handler(request);
	cm_accept_locked(conn, cr, ret);
	rdma_unlock_handler(request);
	return 0;
}
