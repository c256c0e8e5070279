// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Connections of RSM, on the importer's and the exporter's side.  Each connection has a kDAPL
 * endpoint.  This file creates the endpoint, handles connection events, posts transfers, and tears
 * the endpoint down.  struct rsm_conn_ops has the operations that differ between the two sides.
 */
#include <linux/jiffies.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "lib/state.h"
#include "rsm/msg.h"
#include "rsm/trace.h"

/* Time limit for an expected ACK or completion, after which a connection ends. */
#define PEER_TIMEOUT	(30 * HZ)

static unsigned int rsm_heartbeat = 2;
module_param_named(heartbeat, rsm_heartbeat, uint, 0644);
MODULE_PARM_DESC(heartbeat, "Seconds between looks whether an RSM peer is alive (2)");

static unsigned long beat_period(void)
{
	return clamp(READ_ONCE(rsm_heartbeat), 1U, 3600U) * HZ;
}

static const u8 conn_next[RSM_CONN_NR_STATES] = {
	[RSM_CONN_CONNECTING]	= BIT(RSM_CONN_LINKED) | BIT(RSM_CONN_DOWN) | BIT(RSM_CONN_LOST),
	[RSM_CONN_LINKED]	= BIT(RSM_CONN_UP) | BIT(RSM_CONN_DOWN) | BIT(RSM_CONN_LOST),
	[RSM_CONN_UP]		= BIT(RSM_CONN_DOWN) | BIT(RSM_CONN_LOST),
	[RSM_CONN_DOWN]		= BIT(RSM_CONN_LOST),
	[RSM_CONN_LOST]		= BIT(RSM_CONN_ENDED),
};

/*
 * Sets conn->state and wakes the threads that wait for a change.  Only this function sets the
 * state.  Returns false and changes nothing if the connection has already reached or passed @state,
 * because events of the transport, messages, and the end of an import or of a segment come in any
 * order.
 */
static bool conn_set_state(struct rsm_conn *conn, enum rsm_conn_state state)
{
	lockdep_assert_held(&conn->lock);
	if (conn->state >= state || !dat_state_may(conn_next, conn->state, state))
		return false;
	trace_rsm_conn_state(conn, state);
	WRITE_ONCE(conn->state, state);
	wake_up_all(&conn->wq);
	return true;
}

static void conn_free(struct kref *ref)
{
	struct rsm_conn *conn = container_of(ref, struct rsm_conn, ref);

	if (conn->mem)
		free_pages_exact(conn->mem, conn->mem_size);
	mutex_destroy(&conn->ring_lock);
	mutex_destroy(&conn->end_lock);
	kfree_rcu(conn, rcu);
}

/* Drops a reference.  The last put frees the memory of the connection.  Context: does not sleep. */
void rsm_conn_put(struct rsm_conn *conn)
{
	kref_put(&conn->ref, conn_free);
}

static struct rsm_conn *conn_find(struct rsm_ctlr *ctlr, u32 id)
{
	struct rsm_conn *conn;

	rcu_read_lock();
	conn = xa_load(&ctlr->conns, id);
	if (conn && !kref_get_unless_zero(&conn->ref))
		conn = NULL;
	rcu_read_unlock();
	return conn;
}

/* Returns true, once for each connection, if the caller must report the end of the handshake. */
static bool conn_must_report(struct rsm_conn *conn)
{
	bool first = !conn->reported;

	lockdep_assert_held(&conn->lock);
	conn->reported = true;
	return first;
}

void rsm_conn_report(struct rsm_conn *conn, enum rsm_why why, int err)
{
	bool report;

	spin_lock_bh(&conn->lock);
	report = conn_must_report(conn);
	spin_unlock_bh(&conn->lock);
	if (report)
		rsm_handshake_end(&conn->peer, why, err);
}

void rsm_conn_hang_up(struct rsm_conn *conn)
{
	bool report;

	spin_lock_bh(&conn->lock);
	conn_set_state(conn, RSM_CONN_DOWN);
	report = conn_must_report(conn);
	spin_unlock_bh(&conn->lock);
	if (report)
		rsm_handshake_end(&conn->peer, RSM_WHY_ENDED, -ECONNABORTED);
	/* The handle of a freed endpoint is stale, and the call then fails without harm. */
	kdat_ep_disconnect(READ_ONCE(conn->ep), DAT_CLOSE_ABRUPT_FLAG);
}

/* Returns true if an expected ACK or completion has not arrived within PEER_TIMEOUT. */
static bool conn_stuck(const struct rsm_conn *conn)
{
	if (conn->tell_in_flight && time_after(jiffies, conn->tell_sent_at + PEER_TIMEOUT))
		return true;
	return (conn->posted != conn->completed || conn->acks) &&
	       time_after(jiffies, conn->progress + PEER_TIMEOUT);
}

/*
 * Work function of conn->beat.  Sends heartbeats, because an idle queue pair does not notice that
 * the peer is gone.  Hangs up if conn_stuck() returns true.  During the handshake, an importer
 * sends the proof once more, and this work does not run again before rsm_conn_up().  An exporter
 * whose handshake has not succeeded hangs up, because RSM_PROOF_TIMEOUT has passed.
 */
static void conn_beat(struct work_struct *work)
{
	struct rsm_conn *conn = container_of(to_delayed_work(work), struct rsm_conn, beat);
	bool stuck, silent;

	spin_lock_bh(&conn->lock);
	if (conn->result && conn->ops->importer) {
		rsm_auth_prove_again(conn);
		spin_unlock_bh(&conn->lock);
		return;
	}
	/* A nonzero result means here that the handshake of an exporter has not succeeded. */
	stuck = conn->result || conn_stuck(conn);
	silent = conn->state == RSM_CONN_LINKED && !READ_ONCE(conn->proof_received);
	if (time_after_eq(jiffies, READ_ONCE(conn->last_rx) + beat_period())) {
		conn->want_beat = true;
		rsm_msg_push(conn);
	}
	/* rsm_conn_end() sets RSM_CONN_LOST, then cancels conn->beat: do not queue it again. */
	if (conn->state < RSM_CONN_LOST)
		queue_delayed_work(rsm_wq, &conn->beat, beat_period());
	spin_unlock_bh(&conn->lock);
	if (silent)
		rsm_conn_report(conn, RSM_WHY_SILENT, -ETIMEDOUT);
	if (stuck)
		rsm_conn_hang_up(conn);
}

/* Posts a transfer.  conn->lock is held and the connection is up. */
static DAT_RETURN request_post(struct rsm_conn *conn, struct rsm_request *req)
{
	DAT_RMR_TRIPLET remote = {
		.virtual_address = conn->addr + req->offset,
		.segment_length = req->local.segment_length, .rmr_context = conn->rkey,
	};
	DAT_DTO_COOKIE cookie = {
		.as_64 = (u64)req->channel << COOKIE_CHANNEL |
			 (u64)(conn->posted & COOKIE_MASK) << COOKIE_BEFORE | req->seq,
	};

	lockdep_assert_held(&conn->lock);
	if (!req->put)
		return kdat_ep_post_rdma_read(conn->ep, 1, &req->local, cookie, &remote,
					      DAT_COMPLETION_DEFAULT_FLAG);
	kdat_lmr_sync_rdma_read(conn->ia, &req->local, 1);
	return kdat_ep_post_rdma_write(conn->ep, 1, &req->local, cookie, &remote,
				       req->silent ? DAT_COMPLETION_SUPPRESS_FLAG :
						     DAT_COMPLETION_DEFAULT_FLAG);
}

int rsm_conn_rdma(struct rsm_conn *conn, struct rsm_request *req)
{
	DAT_RETURN rc;
	int ret = 0;

	spin_lock_bh(&conn->lock);
	rc = conn->state == RSM_CONN_UP ? request_post(conn, req) : DAT_INVALID_STATE;
	if (rc)
		ret = DAT_GET_TYPE(rc) == DAT_INVALID_STATE ? -ENOTCONN : -EIO;
	else if (conn->posted++ == conn->completed)
		conn->progress = jiffies;
	spin_unlock_bh(&conn->lock);
	return ret;
}

int rsm_conn_flush(struct rsm_conn *conn, enum rsm_channel channel, u32 seq)
{
	struct rsm_request req = {
		.local = rsm_msg_scratch(conn, channel), .channel = channel, .seq = seq,
	};

	return rsm_conn_rdma(conn, &req);
}

/* Upcall of conn->evd, in softirq.  Calls do not overlap; rsm_conn_end() waits for the last. */
static void conn_completed(void *arg, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	u64 cookie = dto->user_cookie.as_64;
	unsigned int channel = cookie >> COOKIE_CHANNEL;
	bool ok = dto->status == DAT_DTO_SUCCESS;
	struct rsm_conn *conn = arg;

	if (channel == RSM_CHANNEL_RECV) {
		rsm_msg_received(conn, dto);
		return;
	}
	if (channel == RSM_CHANNEL_MSG) {
		rsm_msg_sent(conn, (u32)cookie);
		return;
	}
	spin_lock(&conn->lock);
	/* All silent requests before this request have also completed. */
	conn->completed += ((cookie >> COOKIE_BEFORE) - conn->completed + 1) & COOKIE_MASK;
	conn->progress = jiffies;
	if (!ok)
		conn_set_state(conn, RSM_CONN_DOWN);
	rsm_msg_completed(conn);
	spin_unlock(&conn->lock);
	conn->done[channel](conn, (u32)cookie, ok);
}

static DAT_RETURN conn_make_evd(struct rsm_conn *conn)
{
	DAT_UPCALL_OBJECT upcall = { conn, conn_completed };

	return kdat_evd_kcreate(conn->ia, RSM_CONN_WRS + RSM_CONN_RECVS, DAT_UPCALL_SINGLE_INSTANCE,
				&upcall, DAT_EVD_DTO_FLAG, &conn->evd);
}

static void conn_init(struct rsm_conn *conn)
{
	kref_init(&conn->ref);
	INIT_LIST_HEAD(&conn->entry);
	INIT_LIST_HEAD(&conn->unproven);
	mutex_init(&conn->end_lock);
	mutex_init(&conn->ring_lock);
	spin_lock_init(&conn->lock);
	init_waitqueue_head(&conn->wq);
	INIT_DELAYED_WORK(&conn->beat, conn_beat);
	INIT_WORK(&conn->inbox_work, rsm_msg_inbox);
	conn->result = -EINPROGRESS;
	conn->last_rx = jiffies;
}

int rsm_conn_make(struct rsm_ctlr *ctlr, const struct rsm_conn_ops *ops, void *owner,
		  u32 stage, struct rsm_conn **out)
{
	struct rsm_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL_ACCOUNT);
	u32 last = ops->importer ? RSM_MAX_CONNS : RSM_MAX_SERVED;
	DAT_RETURN rc;
	int ret;

	if (!conn)
		return -ENOMEM;
	conn_init(conn);
	conn->ctlr = ctlr;
	conn->ia = ctlr->ia;
	conn->ops = ops;
	conn->owner = owner;
	conn->trusts = READ_ONCE(ctlr->node->trusts);
	conn->mem_size = PAGE_SIZE + PAGE_ALIGN(stage);
	conn->mem = alloc_pages_exact(conn->mem_size,
				      GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	if (!conn->mem) {
		ret = -ENOMEM;
		goto err_put;
	}
	rc = conn_make_evd(conn);
	if (rc) {
		ret = rsm_dat_error(rc);
		goto err_put;
	}
	ret = xa_alloc_cyclic(&ctlr->conns, &conn->id, conn, XA_LIMIT(1, last),
			      &ctlr->next_conn, GFP_KERNEL_ACCOUNT);
	if (ret < 0) {
		ret = ret == -EBUSY ? -ENOSPC : -ENOMEM;
		goto err_evd;
	}
	*out = conn;
	return 0;

err_evd:
	kdat_evd_free(conn->evd);
err_put:
	rsm_conn_put(conn);
	return ret;
}

int rsm_conn_register(struct rsm_ctlr *ctlr, DAT_PZ_HANDLE pz, void *va, u32 size, bool reads,
		      DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context)
{
	DAT_MEM_PRIV_FLAGS priv = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
				  (reads ? ctlr->read_priv : 0);
	DAT_REGION_DESCRIPTION region = { .for_va = va };
	DAT_RETURN rc;

	rc = kdat_lmr_kcreate(ctlr->ia, DAT_MEM_TYPE_VIRTUAL, region, size, pz, priv,
			      DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, lmr, context, NULL,
			      NULL, NULL);
	return rc ? rsm_dat_error(rc) : 0;
}

static DAT_RETURN conn_make_ep(struct rsm_conn *conn, DAT_PZ_HANDLE pz, u32 traits)
{
	struct rsm_ctlr *ctlr = conn->ctlr;
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC, .qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = RSM_CONN_RECVS, .max_request_dtos = RSM_CONN_WRS,
		.max_recv_iov = 1, .max_request_iov = 1,
		.max_rdma_read_in = ctlr->reads, .max_rdma_read_out = ctlr->reads,
	};
	DAT_EP_HANDLE ep;
	unsigned int i;
	DAT_RETURN rc;

	rc = kdat_ep_create(ctlr->ia, pz, conn->evd, conn->evd, ctlr->evd, &attr, &ep);
	if (rc)
		return rc;
	WRITE_ONCE(conn->ep, ep);
	kdat_ep_set_traits(ep, traits);
	kdat_set_consumer_context(ep, (DAT_CONTEXT) { .as_64 = conn->id });
	for (i = 0; i < RSM_CONN_RECVS; i++)
		if (!rsm_msg_receive(conn, i))
			return DAT_INSUFFICIENT_RESOURCES;
	return DAT_SUCCESS;
}

int rsm_conn_make_ep(struct rsm_conn *conn, DAT_PZ_HANDLE pz, u32 traits)
{
	DAT_RETURN rc;
	int ret;

	/*
	 * With iWARP, a peer may write to the destination of RDMA reads.  Exporters post no reads,
	 * so only an importer registers its memory as such a destination.
	 */
	ret = rsm_conn_register(conn->ctlr, pz, conn->mem, conn->mem_size, conn->ops->importer,
				&conn->lmr, &conn->context);
	if (ret)
		return ret;
	rc = conn_make_ep(conn, pz, traits);
	return rc ? rsm_dat_error(rc) : 0;
}

void rsm_conn_up(struct rsm_conn *conn)
{
	const struct rsm_grant *grant = &conn->transcript.grant;

	lockdep_assert_held(&conn->lock);
	if (!conn_set_state(conn, RSM_CONN_UP))
		return;
	conn->result = 0;
	/* A success is traced but not logged, so the report is short enough for conn->lock. */
	if (conn_must_report(conn))
		rsm_handshake_end(&conn->peer, RSM_WHY_DONE, 0);
	if (conn->ops->importer) {
		conn->rkey = be32_to_cpu(grant->rkey);
		conn->addr = be64_to_cpu(grant->addr);
		conn->length = be64_to_cpu(grant->length);
		conn->swapped = conn->transcript.answer.endian != RSM_ENDIAN;
	}
	rsm_msg_push(conn);
	mod_delayed_work(rsm_wq, &conn->beat, beat_period());
}

/* Starts the exchange of PROOF and GRANT once the transport is connected.  end_lock is held. */
static void conn_link(struct rsm_conn *conn)
{
	lockdep_assert_held(&conn->end_lock);

	WRITE_ONCE(conn->answered, true);
	if (!rsm_auth_link(conn)) {
		rsm_conn_lost(conn, RSM_WHY_LEFT, -ECONNABORTED);
		return;
	}
	spin_lock_bh(&conn->lock);
	conn_set_state(conn, RSM_CONN_LINKED);
	spin_unlock_bh(&conn->lock);
	if (conn->ops->importer) {
		rsm_auth_prove(conn);
		/* conn_beat() sends the proof again if no GRANT arrives within a second. */
		spin_lock_bh(&conn->lock);
		if (conn->state < RSM_CONN_LOST)
			queue_delayed_work(rsm_wq, &conn->beat, HZ);
		spin_unlock_bh(&conn->lock);
	}
	queue_work(rsm_wq, &conn->inbox_work);
}

static bool answer_good(const struct rsm_answer *a, DAT_COUNT len)
{
	return a && len >= (DAT_COUNT)sizeof(*a) && a->magic == cpu_to_be32(RSM_MAGIC) &&
	       a->version == RSM_VERSION;
}

void rsm_conn_lost(struct rsm_conn *conn, enum rsm_why why, int err)
{
	bool first, report;

	lockdep_assert_held(&conn->end_lock);
	spin_lock_bh(&conn->lock);
	first = conn_set_state(conn, RSM_CONN_LOST);
	if (first && conn->result == -EINPROGRESS)
		conn->result = err;
	report = conn_must_report(conn);
	rsm_msg_rebind_done(conn);
	spin_unlock_bh(&conn->lock);
	if (report)
		rsm_handshake_end(&conn->peer, why, err);
	if (first)
		conn->ops->lost(conn);
}

static void conn_established(struct rsm_conn *conn, const DAT_CONNECTION_EVENT_DATA *data)
{
	const struct rsm_answer *answer = data->private_data;

	if (!conn->ops->importer) {
		conn_link(conn);
	} else if (answer_good(answer, data->private_data_size) && !answer->err) {
		conn->transcript.answer = *answer;
		conn_link(conn);
	} else {
		/* Another program, or an RSM kernel of another version, listens at the port. */
		rsm_conn_lost(conn, RSM_WHY_GREETING, -EHOSTUNREACH);
	}
}

/*
 * Handles a rejection that is not from an RSM kernel of this version.  For example, nothing or
 * another program listens at the port, the exporter's lane is full, or the exporter's kernel lacks
 * resources.  If the peer's host has not refused, this host could not send the request.
 */
static void conn_refused(struct rsm_conn *conn, const DAT_CONNECTION_EVENT_DATA *data)
{
	enum dat_refusal refusal = kdat_ep_refusal(conn->ep);

	if (refusal != DAT_REFUSAL_NONE)
		WRITE_ONCE(conn->answered, true);
	if (refusal == DAT_REFUSAL_BUSY)
		rsm_conn_lost(conn, RSM_WHY_BUSY, -EBUSY);
	else
		rsm_conn_lost(conn, RSM_WHY_UNREACHABLE, -EHOSTUNREACH);
}

static void conn_rejected(struct rsm_conn *conn, const DAT_CONNECTION_EVENT_DATA *data)
{
	const struct rsm_answer *answer = data->private_data;
	int err;

	if (!answer_good(answer, data->private_data_size)) {
		conn_refused(conn, data);
		return;
	}
	err = rsm_error_of_wire(answer->err);
	/* A host that has another node id, or that rejects the greeting, sends UNREACHABLE. */
	if (err != -EHOSTUNREACH)
		WRITE_ONCE(conn->answered, true);
	rsm_conn_lost(conn, rsm_why_refused(err), err);
}

static void conn_unreachable(struct rsm_conn *conn, const DAT_CONNECTION_EVENT_DATA *data)
{
	rsm_conn_lost(conn, RSM_WHY_UNREACHABLE, -EHOSTUNREACH);
}

static void conn_ended(struct rsm_conn *conn, const DAT_CONNECTION_EVENT_DATA *data)
{
	rsm_conn_lost(conn, RSM_WHY_LEFT, -ECONNABORTED);
}

static const struct {
	DAT_EVENT_NUMBER	event;
	void			(*fn)(struct rsm_conn *conn,
				      const DAT_CONNECTION_EVENT_DATA *data);
} conn_events[] = {
	{ DAT_CONNECTION_EVENT_ESTABLISHED,		conn_established },
	{ DAT_CONNECTION_EVENT_PEER_REJECTED,		conn_rejected },
	{ DAT_CONNECTION_EVENT_NON_PEER_REJECTED,	conn_refused },
	{ DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,	conn_ended },
	{ DAT_CONNECTION_EVENT_DISCONNECTED,		conn_ended },
	{ DAT_CONNECTION_EVENT_BROKEN,			conn_ended },
	{ DAT_CONNECTION_EVENT_TIMED_OUT,		conn_unreachable },
	{ DAT_CONNECTION_EVENT_UNREACHABLE,		conn_unreachable },
};

static void conn_connection(struct rsm_conn *conn, const DAT_EVENT *event)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(conn_events); i++)
		if (conn_events[i].event == event->event_number)
			conn_events[i].fn(conn, &event->event_data.connect_event_data);
}

/*
 * Handles a connection event.  conn->owner and the data of the event stay valid while end_lock is
 * held and the state is not RSM_CONN_ENDED.
 *
 * The lookup may find a later connection, because ids are reused.  A handle is not reused soon, so
 * conn->ep shows whether the event belongs to the connection.
 */
void rsm_conn_upcall(void *arg, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	DAT_EP_HANDLE ep = event->event_data.connect_event_data.ep_handle;
	struct rsm_conn *conn;
	DAT_CONTEXT context;

	if (kdat_get_consumer_context(ep, &context))
		return;
	conn = conn_find(arg, context.as_64);
	if (!conn)
		return;
	mutex_lock(&conn->end_lock);
	if (READ_ONCE(conn->state) != RSM_CONN_ENDED && conn->ep == ep)
		conn_connection(conn, event);
	mutex_unlock(&conn->end_lock);
	rsm_conn_put(conn);
}

static void conn_free_ep(struct rsm_conn *conn)
{
	if (conn->ep) {
		kdat_ep_disconnect(conn->ep, DAT_CLOSE_ABRUPT_FLAG);
		kdat_ep_free(conn->ep);
	}
	if (conn->lmr)
		kdat_lmr_free(conn->lmr);
	/* kdat_evd_free() waits for a running conn_completed() and prevents further calls. */
	kdat_evd_free(conn->evd);
}

void rsm_conn_end(struct rsm_conn *conn)
{
	bool report;

	spin_lock_bh(&conn->lock);
	conn_set_state(conn, RSM_CONN_LOST);
	report = conn_must_report(conn);
	spin_unlock_bh(&conn->lock);
	if (report)
		rsm_handshake_end(&conn->peer, RSM_WHY_ENDED, -ECONNABORTED);
	cancel_delayed_work_sync(&conn->beat);
	/* Taking end_lock waits for calls of conn->ops that are in progress. */
	mutex_lock(&conn->end_lock);
	spin_lock_bh(&conn->lock);
	conn_set_state(conn, RSM_CONN_ENDED);
	spin_unlock_bh(&conn->lock);
	mutex_unlock(&conn->end_lock);
	conn_free_ep(conn);
	/* Erase the id after the endpoint was freed, because the endpoint's context is the id. */
	xa_erase(&conn->ctlr->conns, conn->id);
	cancel_work_sync(&conn->inbox_work);
	/* Without the endpoint, the peer can no longer use the segment's old key. */
	spin_lock_bh(&conn->lock);
	rsm_msg_rebind_done(conn);
	spin_unlock_bh(&conn->lock);
}
