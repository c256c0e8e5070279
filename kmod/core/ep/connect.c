// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Connect and accept.  The EP claims the connection with dat_ep_claim(), then the transport
 * connects or accepts.
 *
 * The thread that connects or accepts sets conn->held, which delays a teardown until the thread has
 * finished.  If the transport succeeds, one connection event follows.  If the transport fails, the
 * claim is undone and the EP is UNCONNECTED again, unless the connection was closed meanwhile.
 */
#include <linux/jiffies.h>
#include <linux/moduleparam.h>

#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/psp.h"
#include "core/ep/ring.h"
#include "core/face.h"

static unsigned int accept_timeout = 10000;
module_param(accept_timeout, uint, 0644);
MODULE_PARM_DESC(accept_timeout, "Milliseconds until an accepted connection is given up (10000)");

static void conn_offer(struct dat_conn *conn, u32 read_in, u32 read_out, const void *pd,
		       u32 pd_len)
{
	conn->read_in = read_in;
	conn->read_out = read_out;
	conn->pd_len = pd_len;
	memcpy(conn->pd, pd, pd_len);
}

static void conn_start_timer(struct dat_conn *conn, u64 timeout_us)
{
	u64 ticks;

	if (timeout_us == DAT_WAIT_FOREVER)
		return;
	ticks = nsecs_to_jiffies64(min_t(u64, timeout_us, U64_MAX / NSEC_PER_USEC) *
				   NSEC_PER_USEC) + 1;
	queue_delayed_work(dat_wq, &conn->timer, min_t(u64, ticks, MAX_JIFFY_OFFSET));
}

/*
 * Undoes the claim and frees the connection, after the transport could not start the connection.
 * Returns @err.  If the connection was closed meanwhile, its teardown frees the connection and
 * reports an event, so this function returns 0, and dat_ep_connect() counts as a success.
 */
static int conn_start_failed(struct dat_conn *conn, int err)
{
	if (!dat_ep_unclaim(conn->ep)) {
		dat_conn_unhold(conn);
		return 0;
	}
	cancel_delayed_work_sync(&conn->timer);
	dat_conn_free(conn);
	return err;
}

/**
 * dat_ep_connect() - begin to connect an endpoint to a peer
 * @ep: endpoint in the state UNCONNECTED
 * @dst: address and port of the peer
 * @timeout_us: microseconds after which the connection ends with DAT_EV_TIMED_OUT; or
 *	DAT_WAIT_FOREVER
 * @qos: 0 or one bit of enum dat_qos_class
 * @pd: private data for the peer
 * @pd_len: bytes of @pd, at most dat_limits.pd_request
 *
 * Context: may sleep.  Return: 0: one connection event will follow; -ENETUNREACH if the adapter has
 * no address of the family of @dst, if there is no route to @dst through the adapter, or if @dst is
 * a wildcard, multicast, broadcast or mapped IPv4 address, or a loopback address that the adapter
 * does not have; -EINVAL if @qos is invalid or the transport refuses
 * @dst; -EPERM if the EP has DAT_EP_KERNEL_PORT and the caller is not allowed to use a privileged
 * port; -EISCONN if the EP is not UNCONNECTED or is modified meanwhile; -ENODEV if the EP is shut
 * down or its IA is closing; -ENOMEM.
 */
int dat_ep_connect(struct dat_ep *ep, const struct sockaddr_storage *dst, u64 timeout_us,
		   u32 qos, const void *pd, u32 pd_len)
{
	struct dat_conn *conn;
	int ret;

	/* Each class is one bit: accept 0 or a single known bit. */
	if (qos & (qos - 1) || qos > DAT_QOS_CLASS_PREMIUM)
		return -EINVAL;
	conn = dat_conn_alloc(ep);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	conn->peer = *dst;
	conn_offer(conn, ep->attr.read_in, ep->attr.read_out, pd, pd_len);
	ret = dat_ep_claim(ep, DAT_EP_ACTIVE_PENDING, conn);
	if (ret) {
		dat_conn_free(conn);
		return ret;
	}
	conn_start_timer(conn, timeout_us);
	ret = conn->dev->ops->connect(conn, dst, qos);
	if (ret)
		return conn_start_failed(conn, ret);
	dat_conn_unhold(conn);
	return 0;
}

/*
 * Starts the timer of an accepted connection.  The connection replaces the request in the backlog.
 * Context: transport's lock of the request held, so ESTABLISHED cannot be reported meanwhile.
 */
void dat_conn_accepted(struct dat_conn *conn, struct dat_cr *cr)
{
	conn->psp = xchg(&cr->psp, NULL);
	conn_start_timer(conn, (u64)READ_ONCE(accept_timeout) * USEC_PER_MSEC);
}

/**
 * dat_ep_accept() - accept a connection request
 * @ep: endpoint in the state UNCONNECTED
 * @cr: connection request; after a success @cr->request is NULL, and the caller should free @cr
 * @pd: private data for the peer
 * @pd_len: bytes of @pd, at most dat_limits.pd_reply
 *
 * After an error @ep and @cr are as before the call.
 *
 * Context: may sleep.  Return: 0: one connection event will follow; -ENOENT if another thread has
 * taken the request; -EISCONN if the EP is not UNCONNECTED or is modified meanwhile; -ENODEV if the
 * EP is shut down or its IA is closing; -ENOMEM; or an error of the device.
 */
int dat_ep_accept(struct dat_ep *ep, struct dat_cr *cr, const void *pd, u32 pd_len)
{
	struct dat_conn *conn;
	void *request;
	int ret;

	conn = dat_conn_alloc(ep);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	conn->passive = true;
	conn->peer = cr->remote;
	conn_offer(conn, min(ep->attr.read_in, cr->read_in), min(ep->attr.read_out, cr->read_out),
		   pd, pd_len);
	request = xchg(&cr->request, NULL);
	if (!request) {
		ret = -ENOENT;
		goto err_free;
	}
	ret = dat_ep_claim(ep, DAT_EP_COMPL_PENDING, conn);
	if (ret)
		goto err_give_back;
	ret = conn->dev->ops->accept(conn, cr, request);
	if (ret)
		goto err_give_back;
	dat_conn_unhold(conn);
	return 0;

err_give_back:
	dat_cr_give_back(cr, request);
err_free:
	dat_conn_free(conn);
	return ret;
}

/*
 * Begins the teardown, because the peer's consumer has rejected the connection.  Stores the private
 * data in the EP before the event is queued, if the consumer gets such data.  Takes ep->lock.
 *
 * A process gets only data that dat_cr_reject() has sent: other implementations put data of their
 * own before the consumer's.  A kernel consumer gets all data.
 */
void dat_conn_rejected(struct dat_conn *conn, const void *pd, u32 pd_len)
{
	struct dat_ep *ep = conn->ep;
	bool keep = ep->obj.ia->reject_data;

	if (!dat_cr_reject_data(&pd, &pd_len))
		keep = ep->obj.ia->face->kernel && !dat_cr_reject_is_empty(pd, pd_len);
	pd_len = min_t(u32, pd_len, DAT_MAX_PRIVATE_DATA);
	spin_lock_bh(&ep->lock);
	if (keep && !dat_conn_is_closing(conn)) {
		conn->end_pd = pd_len;
		dat_epring_set_pd(&ep->ring, pd, pd_len);
	}
	dat_conn_fail(conn, DAT_EV_PEER_REJECTED);
	spin_unlock_bh(&ep->lock);
}
