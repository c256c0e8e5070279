// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Connections within the host: connect, accept, reject and teardown.
 *
 * A struct lo_link is the connection request, and then the connection.  It is made by a connect,
 * which hands it to the listener.  An accept joins the second end.  There is no half-open state:
 * the accept reports ESTABLISHED at both ends, and then opens the lanes.
 *
 * link->lock orders the handshake against the teardowns.  An end is in link->end from its connect
 * or accept until its teardown, so whoever holds the lock and finds an end there may use its EP.
 */
#include <linux/slab.h>

#include "core/addr.h"
#include "core/dat.h"
#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/psp.h"
#include "core/ep/queue.h"
#include "core/peer.h"
#include "core/xport.h"
#include "lo/lo.h"

/* Frees a link that no thread finds any more, except the works of its lanes. */
static void link_free_work(struct work_struct *work)
{
	struct lo_link *link = container_of(to_rcu_work(work), struct lo_link, free_work);
	struct dat_dev *dev = link->dev;

	lo_lane_stop(&link->lane[0]);
	lo_lane_stop(&link->lane[1]);
	kfree(link);
	dat_dev_ended(dev);
	dat_dev_put(dev);
}

static void link_release(struct kref *ref)
{
	struct lo_link *link = container_of(ref, struct lo_link, ref);

	queue_rcu_work(dat_close_wq, &link->free_work);
}

/* Drops a reference.  Context: any but hard interrupt. */
void lo_link_put(struct lo_link *link)
{
	kref_put(&link->ref, link_release);
}

/* Allocates the link of an end that connects.  Its first reference belongs to that end. */
static struct lo_link *link_alloc(const struct lo_conn *lc)
{
	struct lo_link *link = kzalloc(sizeof(*link), GFP_KERNEL_ACCOUNT);

	if (!link)
		return NULL;
	kref_init(&link->ref);
	mutex_init(&link->lock);
	INIT_RCU_WORK(&link->free_work, link_free_work);
	lo_lane_init(&link->lane[0], link);
	lo_lane_init(&link->lane[1], link);
	/* The free runs after the ends have left the device. */
	link->dev = dat_dev_get(lc->conn.dev);
	dat_dev_ending(link->dev);
	return link;
}

/* Makes a connection an end of the link, whose reference the connection takes over. */
static void link_join(struct lo_link *link, struct lo_conn *lc, u32 side)
{
	lc->side = side;
	link->lane[side].kernel = lc->kernel;
	/* Release: lo_run(), which finds @lc under RCU, also sees @side and the lanes. */
	smp_store_release(&lc->link, link);
	lc->conn.puller = &lo_lane_out(lc)->recv_cq.cq;
	link->end[side] = lc;
	link->id[side] = lc->id;
}

/*
 * Lets the pump fill the queues of an end, and posts the receives that are in the ring.  Without
 * link->lock, because this may take long; needs no link.
 */
static void end_prepare(struct lo_conn *lc)
{
	struct dat_conn *conn = &lc->conn;
	struct dat_ep *ep = conn->ep;

	dat_conn_set_windows(conn, LO_WINDOW, NULL);
	spin_lock_bh(&ep->lock);
	while (dat_queue_pump_rq(conn))
		dat_ep_cond_resched(ep);
	spin_unlock_bh(&ep->lock);
}

static void end_fail(struct lo_conn *lc, u32 event)
{
	struct dat_ep *ep = lc->conn.ep;

	spin_lock_bh(&ep->lock);
	dat_conn_fail(&lc->conn, event);
	spin_unlock_bh(&ep->lock);
}

/*
 * Ends a request that no consumer has answered: it has no CR any more, and the end that has
 * connected, if it is still there, fails.  link->lock is held.
 */
static void link_refuse(struct lo_link *link, enum dat_refusal why)
{
	struct lo_conn *lc = link->end[0];

	lockdep_assert_held(&link->lock);
	link->cr = NULL;
	if (!lc)
		return;
	WRITE_ONCE(lc->conn.ep->refusal, why);
	end_fail(lc, DAT_EV_NON_PEER_REJECTED);
}

/* Makes the CR of a request.  psp->lock is held. */
static int link_ask(struct lo_link *link, struct dat_psp *psp)
{
	const struct dat_conn *conn = &link->end[0]->conn;
	struct dat_request req = {
		.handle		= link,
		.local		= link->addr[1],
		.remote		= link->addr[0],
		.read_in	= conn->read_out,
		.read_out	= conn->read_in,
		.qpn		= link->end[0]->id,
		.pd		= conn->pd,
		.pd_len		= conn->pd_len,
	};
	int ret;

	lockdep_assert_held(&psp->lock);
	/* A connection that is closing would only take a place in the backlog. */
	if (!psp->evd || dat_conn_is_closing(conn))
		return -EADDRNOTAVAIL;
	/* The CR has a reference. */
	kref_get(&link->ref);
	ret = dat_psp_request(psp, &req);
	if (ret)
		lo_link_put(link);
	return ret;
}

/*
 * Hands a request to the listener at the address and port of the peer, or refuses it.
 *
 * The listener may be of any IA.  A shutdown of the listener takes psp->lock before it lets the EVD
 * go, so this thread does not hold ia->sem of that IA: two threads that connect to each other's IA
 * would hold both.
 */
static void link_request(struct lo_link *link, const struct dat_ia *ia)
{
	struct dat_psp *psp = dat_psp_find(ia, &link->addr[1], dat_addr_port(&link->addr[1]));
	int ret = -EADDRNOTAVAIL;

	if (psp)
		mutex_lock(&psp->lock);
	mutex_lock(&link->lock);
	if (psp)
		ret = link_ask(link, psp);
	if (ret == -EADDRNOTAVAIL || ret == -ENODEV)
		link_refuse(link, DAT_REFUSAL_OTHER);
	else if (ret)
		link_refuse(link, DAT_REFUSAL_BUSY);
	mutex_unlock(&link->lock);
	if (!psp)
		return;
	mutex_unlock(&psp->lock);
	dat_obj_put(&psp->obj);
}

int lo_connect(struct dat_conn *conn, const struct sockaddr_storage *dst, u32 qos)
{
	struct lo_conn *lc = to_lo_conn(conn);
	struct sockaddr_storage src;
	struct lo_link *link;
	int ret;

	ret = lo_source(conn->ep, dst, &src);
	if (ret)
		return ret;
	link = link_alloc(lc);
	if (!link)
		return -ENOMEM;
	/* The connection owns the queues, also after an error: see lo_conn_unbind(). */
	ret = lo_queues_alloc(lc);
	if (ret) {
		lo_link_put(link);
		return ret;
	}
	link->addr[0] = src;
	link->addr[1] = *dst;
	link_join(link, lc, 0);
	end_prepare(lc);
	link_request(link, conn->ep->obj.ia);
	return 0;
}

/* Reports ESTABLISHED at an end.  Returns false if the end has been closed before. */
static bool end_established(struct lo_conn *lc, const struct dat_conn *peer)
{
	const struct lo_link *link = lc->link;
	struct dat_handshake h = {
		.local		= &link->addr[lc->side],
		.remote		= &link->addr[!lc->side],
		.read_in	= min(lc->conn.read_in, peer->read_out),
		.read_out	= min(lc->conn.read_out, peer->read_in),
	};

	if (!lc->side) {
		h.pd = peer->pd;
		h.pd_len = peer->pd_len;
	}
	dat_conn_established(&lc->conn, &h);
	return dat_conn_was_established(&lc->conn);
}

/*
 * Establishes the connection between the ends, and opens the lanes, in which requests may be
 * waiting already.  The end that has connected comes first: if it has given up, the accept fails.
 * @err: the accept has failed.  link->lock is held.
 */
static void link_establish(struct lo_link *link, struct dat_cr *cr, int err)
{
	struct lo_conn *active = link->end[0], *passive = link->end[1];

	lockdep_assert_held(&link->lock);
	if (err || dat_conn_is_closing(&passive->conn)) {
		end_fail(passive, DAT_EV_ACCEPT_ERROR);
		link_refuse(link, DAT_REFUSAL_BUSY);
		return;
	}
	if (!active || !end_established(active, &passive->conn)) {
		end_fail(passive, DAT_EV_ACCEPT_ERROR);
		return;
	}
	dat_conn_accepted(&passive->conn, cr);
	/* If this end has been closed meanwhile, its teardown tells the other. */
	if (!end_established(passive, &active->conn))
		return;
	lo_lane_open(&link->lane[0], active, passive);
	lo_lane_open(&link->lane[1], passive, active);
}

int lo_accept(struct dat_conn *conn, struct dat_cr *cr, void *request)
{
	struct lo_conn *lc = to_lo_conn(conn);
	struct lo_link *link = request;
	int ret;

	ret = lo_queues_alloc(lc);
	/* An end that was closed meanwhile is torn down, and answers the request in that way. */
	if (ret && dat_ep_unclaim(conn->ep))
		return ret;
	if (!ret)
		end_prepare(lc);
	mutex_lock(&link->lock);
	link->cr = NULL;
	link_join(link, lc, 1);
	link_establish(link, cr, ret);
	mutex_unlock(&link->lock);
	lo_lane_carry(&link->lane[0]);
	lo_lane_carry(&link->lane[1]);
	return 0;
}

void lo_request_lock(void *request)
{
	mutex_lock(&((struct lo_link *)request)->lock);
}

void lo_request_unlock(void *request)
{
	mutex_unlock(&((struct lo_link *)request)->lock);
}

void lo_request_own(void *request, struct dat_cr *cr)
{
	struct lo_link *link = request;

	lockdep_assert_held(&link->lock);
	link->cr = cr;
}

void lo_reject(void *request, const void *pd, u32 pd_len)
{
	struct lo_link *link = request;
	struct lo_conn *lc;

	mutex_lock(&link->lock);
	link->cr = NULL;
	lc = link->end[0];
	if (lc) {
		WRITE_ONCE(lc->conn.ep->refusal, DAT_REFUSAL_OTHER);
		dat_conn_rejected(&lc->conn, pd, pd_len);
	}
	mutex_unlock(&link->lock);
	lo_link_put(link);
}

void lo_abandon(void *request)
{
	struct lo_link *link = request;

	mutex_lock(&link->lock);
	link_refuse(link, DAT_REFUSAL_OTHER);
	mutex_unlock(&link->lock);
	lo_link_put(link);
}

void lo_conn_init(struct dat_conn *conn)
{
	static atomic_t ids;

	conn->runs = true;
	conn->pulls_recvs = true;
	to_lo_conn(conn)->id = atomic_inc_return(&ids);
}

/* The lanes are closed until both ends are established, so no data arrives before that. */
void lo_implied_established(struct dat_conn *conn)
{
}

/* Closes the lanes, and tells the other end or the CR. */
unsigned long lo_conn_quiesce(struct dat_conn *conn)
{
	struct lo_conn *lc = to_lo_conn(conn), *peer;
	struct lo_link *link = lc->link;

	if (!link)
		return 0;
	mutex_lock(&link->lock);
	lo_lane_close(&link->lane[0]);
	lo_lane_close(&link->lane[1]);
	link->end[lc->side] = NULL;
	peer = link->end[!lc->side];
	if (peer) {
		spin_lock_bh(&peer->conn.ep->lock);
		dat_conn_hung_up(&peer->conn);
		spin_unlock_bh(&peer->conn.ep->lock);
	}
	if (link->cr)
		dat_cr_gone(link->cr);
	mutex_unlock(&link->lock);
	return 0;
}

/* Frees the queues of a connection without link as well, which the core frees at once. */
void lo_conn_unbind(struct dat_conn *conn)
{
	lo_queues_free(to_lo_conn(conn));
}

/* Threads that have found the connection may use the link until an RCU grace period has passed. */
void lo_conn_exit(struct dat_conn *conn)
{
	struct lo_link *link = to_lo_conn(conn)->link;

	if (link)
		lo_link_put(link);
	dat_conn_gone(conn);
}

static void addr_to_gid(const struct sockaddr_storage *ss, union ib_gid *gid)
{
	if (ss->ss_family == AF_INET)
		ipv6_addr_set_v4mapped(((const struct sockaddr_in *)ss)->sin_addr.s_addr,
				       (struct in6_addr *)gid);
	else
		memcpy(gid, &((const struct sockaddr_in6 *)ss)->sin6_addr, sizeof(*gid));
}

/* The peer may have left, but the numbers of a connection are constant. */
void lo_path(struct dat_conn *conn, struct dat_path *path)
{
	const struct lo_conn *lc = to_lo_conn(conn);
	const struct lo_link *link = lc->link;

	lockdep_assert_held(&conn->ep->lock);
	addr_to_gid(&link->addr[lc->side], &path->local);
	addr_to_gid(&link->addr[!lc->side], &path->remote);
	path->local_qpn = link->id[lc->side];
	path->remote_qpn = link->id[!lc->side];
}
