// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* The importer's side of RSM connections, and probes of nodes. */
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "rsm/ring.h"

/* Timeout of the transport for a connect.  The handshake may take the same time again. */
#define CONNECT_US	(5 * USEC_PER_SEC)
/*
 * Time in microseconds during which an importer asks again while the exporter is busy or ends the
 * connection during the handshake.  The pause between two requests grows from BUSY_MS_FIRST to
 * BUSY_MS_LONGEST.
 */
#define BUSY_TIME	(2 * CONNECT_US)
#define BUSY_MS_FIRST	10
#define BUSY_MS_LONGEST	200
/* Timeout of the transport for a probe.  The handshake may take the same time again. */
#define PROBE_US	(2 * USEC_PER_SEC)

static void remote_events(struct rsm_conn *conn, bool single, u32 events)
{
	struct rsm_import *imp = conn->owner;

	lockdep_assert_held(&conn->end_lock);
	if (single)
		rsm_event_add(&imp->obj, false);
	rsm_event_add_many(&imp->obj, events);
}

static void remote_lost(struct rsm_conn *conn)
{
	struct rsm_import *imp = conn->owner;

	lockdep_assert_held(&conn->end_lock);
	/* Do not cut the import after a failed handshake, because remote_ask() may try again. */
	if (!READ_ONCE(conn->result))
		rsm_obj_cut(&imp->obj);
}

static const struct rsm_conn_ops remote_ops = {
	.importer = true,
	.events	= remote_events,
	.lost	= remote_lost,
};

static void probe_events(struct rsm_conn *conn, bool single, u32 events)
{
}

static void probe_lost(struct rsm_conn *conn)
{
}

static const struct rsm_conn_ops probe_ops = {
	.importer = true,
	.events	= probe_events,
	.lost	= probe_lost,
};

/*
 * Connects with the kernel's credentials.  Except with iWARP, the exporter requires a privileged
 * source port, which rdma_cm gives only to a thread with privileges.  The importing process may
 * have no privileges.
 */
static DAT_RETURN connect_as_kernel(struct rsm_conn *conn, u32 timeout_us)
{
	struct cred *kernel = prepare_kernel_cred(&init_task);
	struct rsm_greeting *g = &conn->transcript.greeting;
	const struct cred *old;
	DAT_RETURN rc;

	if (!kernel)
		return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY;
	old = override_creds(kernel);
	rc = kdat_ep_connect(conn->ep, (struct sockaddr *)&conn->peer.addr, READ_ONCE(rsm_port),
			     timeout_us, sizeof(*g), g, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG);
	revert_creds(old);
	put_cred(kernel);
	return rc;
}

static int conn_begin(struct rsm_conn *conn, u32 timeout_us)
{
	struct rsm_greeting *g = &conn->transcript.greeting;
	struct rsm_ctlr *ctlr = conn->ctlr;
	DAT_RETURN rc;
	int ret;

	conn->peer.exports = true;
	conn->peer.node = be32_to_cpu(g->to);
	conn->peer.segid = be32_to_cpu(g->segid);
	ret = rsm_node_addr(ctlr, conn->peer.node, &conn->peer.addr);
	if (ret) {
		rsm_conn_report(conn, RSM_WHY_NO_ADDRESS, ret);
		return ret;
	}
	rc = kdat_pz_create(ctlr->ia, &conn->pz);
	if (rc)
		return rsm_dat_error(rc);
	/*
	 * end_lock is not needed, because no event arrives before the request is sent.  A probe is
	 * not charged, because a probe runs in a work item, which has all capabilities.
	 */
	ret = rsm_conn_make_ep(conn, conn->pz, DAT_EP_KERNEL_PORT | DAT_EP_CHARGED);
	if (ret)
		return ret;
	rc = connect_as_kernel(conn, timeout_us);
	if (DAT_GET_TYPE(rc) == DAT_INVALID_ADDRESS)
		return -EHOSTUNREACH;
	return rc ? rsm_dat_error(rc) : 0;
}

/*
 * Returns the result of the handshake.  Takes conn->lock, so that a caller that gets 0 sees what
 * rsm_conn_up() has set.
 */
static int conn_result(struct rsm_conn *conn)
{
	int result;

	spin_lock_bh(&conn->lock);
	result = conn->result;
	spin_unlock_bh(&conn->lock);
	return result;
}

/*
 * Connects and waits for the end of the handshake.  After an error the caller calls conn_close().
 *
 * Returns -EBUSY after RSM_WHY_BUSY; -EAGAIN if the connection ended during the handshake, or the
 * exporter sent an invalid message; -ETIMEDOUT if the transport connected, but the handshake did
 * not end in time; -ERESTARTNOHAND after a signal; or another errno of rsm/error.c.  After
 * -ERESTARTNOHAND, the system call starts again unless a signal handler runs.
 */
static int conn_connect(struct rsm_conn *conn, u32 timeout_us)
{
	int ret = conn_begin(conn, timeout_us);
	long left;

	if (ret) {
		rsm_conn_report(conn, RSM_WHY_ENDED, ret);
		return ret;
	}
	/* Limit the wait, because the exporter may accept the transport and then send nothing. */
	left = wait_event_interruptible_timeout(conn->wq, conn_result(conn) != -EINPROGRESS,
						2 * usecs_to_jiffies(timeout_us));
	if (left < 0) {
		rsm_conn_report(conn, RSM_WHY_ENDED, -EINTR);
		return -ERESTARTNOHAND;
	}
	if (!left) {
		ret = READ_ONCE(conn->answered) ? -ETIMEDOUT : -EHOSTUNREACH;
		rsm_conn_report(conn, ret == -ETIMEDOUT ? RSM_WHY_SILENT : RSM_WHY_UNREACHABLE,
				ret);
		return ret;
	}
	/* If a connection that was up is lost by now, the result is still 0; the import is cut. */
	ret = conn_result(conn);
	return ret == -ECONNABORTED ? -EAGAIN : ret;
}

/* Ends the connection, the ring and the zone.  The caller keeps the reference to @conn. */
static void conn_close(struct rsm_conn *conn)
{
	rsm_conn_end(conn);
	rsm_ring_end(conn);
	kdat_pz_free(conn->pz);
}

static struct rsm_remote *remote_alloc(void)
{
	struct rsm_remote *r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);

	if (r)
		mutex_init(&r->io_lock);
	return r;
}

static int remote_try(struct rsm_import *imp, const struct dat_rsm_connect *arg)
{
	struct rsm_remote *r = imp->remote;
	int ret;

	ret = rsm_conn_make(r->ctlr, &remote_ops, imp, RSM_STAGE_SLOTS * RSM_SLOT_SIZE, &r->conn);
	if (ret)
		return ret;
	r->conn->done[RSM_CHANNEL_STAGE] = rsm_stage_done;
	rsm_auth_greet(r->conn, arg->node, arg->segid, arg->perm);
	ret = conn_connect(r->conn, CONNECT_US);
	if (ret)
		goto err_conn;
	imp->length = r->conn->length;
	if (r->conn->transcript.grant.flags & RSM_GRANT_OWNER)
		imp->owner = make_kuid(&init_user_ns, be32_to_cpu(r->conn->transcript.owner));
	return 0;

err_conn:
	conn_close(r->conn);
	rsm_conn_put(r->conn);
	return ret;
}

/*
 * Connects.  Asks again until @end, in jiffies, if the exporter is busy or the connection ends
 * during the handshake.  An exporter that ends the connection may, for example, have withdrawn the
 * segment, evicted this importer, or run out of resources.  If the reason persists, the answer to a
 * new request contains the reason.  Returns -ENOSPC at @end, -ERESTARTNOHAND after a signal, or
 * another result of conn_connect() or rsm_conn_make().
 */
static int remote_ask(struct rsm_import *imp, const struct dat_rsm_connect *arg, unsigned long end)
{
	unsigned int ms = BUSY_MS_FIRST;
	int ret;

	for (;;) {
		ret = remote_try(imp, arg);
		if (ret != -EBUSY && ret != -EAGAIN)
			return ret;
		if (time_after(jiffies, end))
			return -ENOSPC;
		if (msleep_interruptible(ms))
			return -ERESTARTNOHAND;
		ms = min(2 * ms, BUSY_MS_LONGEST);
	}
}

static int remote_open(struct rsm_import *imp, struct rsm_node *node,
		       const struct dat_rsm_connect *arg)
{
	struct rsm_peer peer = { .node = arg->node, .segid = arg->segid, .exports = true };
	unsigned long end = jiffies + usecs_to_jiffies(BUSY_TIME);
	struct rsm_remote *r = imp->remote;
	int ret;

	ret = rsm_auth_ready(node);
	if (ret) {
		rsm_handshake_end(&peer, RSM_WHY_NOT_READY, ret);
		return ret;
	}
	ret = rsm_ctlr_get(node, arg->ctlr, &r->ctlr);
	if (ret)
		return ret;
	ret = remote_ask(imp, arg, end);
	/*
	 * Ask again after a timeout.  The exporter may have ended the connection, and the
	 * disconnect, which is sent only once, may have been lost.
	 */
	if (ret == -ETIMEDOUT)
		ret = remote_ask(imp, arg, end);
	if (ret == -ETIMEDOUT)
		ret = -EHOSTUNREACH;
	if (ret)
		rsm_ctlr_put(r->ctlr);
	return ret;
}

/*
 * Connects a new import, which no lookup finds yet, to the segment that @arg names.  After success,
 * the caller ends the import by rsm_remote_end() and rsm_remote_release().
 *
 * Context: sleeps until the exporter has answered, or until two attempts have timed out.  Returns
 * -ERESTARTNOHAND after a signal, or an errno of rsm/error.c.  -ENOSPC may mean that for ten
 * seconds the exporter was busy or each connection ended during the handshake.
 */
int rsm_remote_connect(struct rsm_import *imp, struct rsm_node *node,
		       const struct dat_rsm_connect *arg)
{
	int ret;

	imp->remote = remote_alloc();
	if (!imp->remote)
		return -ENOMEM;
	ret = remote_open(imp, node, arg);
	if (ret) {
		kfree(imp->remote);
		imp->remote = NULL;
	}
	return ret;
}

/* Ends the connection of a stopped import.  Context: may sleep. */
void rsm_remote_end(struct rsm_import *imp)
{
	struct rsm_remote *r = imp->remote;
	struct rsm_ctx *ctx = imp->obj.ctx;

	/* Wait for a limited time until the exporter has acknowledged all posted events. */
	rsm_msg_drain(r->conn, test_bit(0, &ctx->ended) ? ctx->drain_deadline : jiffies + HZ);
	conn_close(r->conn);
	rsm_ctlr_put(r->ctlr);
}

/* Frees imp->remote after the last reference to the import is gone. */
void rsm_remote_release(struct rsm_import *imp)
{
	rsm_ring_free(imp->remote->conn);
	rsm_conn_put(imp->remote->conn);
	kfree(imp->remote);
}

int rsm_remote_probe(struct rsm_ctlr *ctlr, u32 node)
{
	struct rsm_conn *conn;
	int ret;

	ret = rsm_conn_make(ctlr, &probe_ops, NULL, 0, &conn);
	if (ret)
		return ret;
	/* Ask for segment 0, which never exists, so that the node refuses the request. */
	rsm_auth_greet(conn, node, 0, 0);
	ret = conn_connect(conn, PROBE_US);
	/*
	 * A rejection by a host without a listener also counts as an answer, because RSM listens
	 * only while the host exports or imports.
	 */
	if (READ_ONCE(conn->answered))
		ret = 0;
	conn_close(conn);
	rsm_conn_put(conn);
	return ret;
}

/* Sends an event from an import to its exporter. */
int rsm_remote_post(struct rsm_import *imp, bool single)
{
	return rsm_msg_tell(imp->remote->conn, single) ? -ECONNABORTED : 0;
}
