// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/*
 * Messages between the two kernels of a connection.
 *
 * Each side has at most one TELL in flight, and collects new events for the next TELL.  So a side
 * receives at most four messages at a time: a TELL, an ACK, and the messages of the handshake,
 * which are one GRANT or two equal PROOFs.  RSM_CONN_RECVS posted receives are always enough.
 */
#include <linux/jiffies.h>

#include "rsm/msg.h"

/*
 * The first page of conn->mem is divided into slots of MSG_SLOT bytes: one for each posted receive,
 * one for a sent TELL, one for a sent ACK, one for the sent message of the handshake, and a scratch
 * slot for each channel.
 */
#define MSG_SLOT	256
#define MSG_TELL	RSM_CONN_RECVS
#define MSG_ACK		(RSM_CONN_RECVS + 1)
#define MSG_HANDSHAKE	(RSM_CONN_RECVS + 2)
#define MSG_SCRATCH	(RSM_CONN_RECVS + 3)

static_assert((MSG_SCRATCH + RSM_CHANNELS) * MSG_SLOT <= PAGE_SIZE);
static_assert(sizeof(struct rsm_proof) <= MSG_SLOT && sizeof(struct rsm_owner_grant) <= MSG_SLOT);

static void *msg_slot(const struct rsm_conn *conn, unsigned int n)
{
	return conn->mem + n * MSG_SLOT;
}

static DAT_LMR_TRIPLET mem_triplet(const struct rsm_conn *conn, void *va, u32 n)
{
	return (DAT_LMR_TRIPLET) {
		.virtual_address = (uintptr_t)va, .segment_length = n,
		.lmr_context = conn->context,
	};
}

/*
 * Returns the buffer of a receive.  The buffer is large enough for every message type, and
 * msg_read() and rsm_auth_receive() check the length of a received message.
 */
static DAT_LMR_TRIPLET recv_triplet(const struct rsm_conn *conn, unsigned int n)
{
	return mem_triplet(conn, msg_slot(conn, n), MSG_SLOT);
}

DAT_LMR_TRIPLET rsm_msg_scratch(const struct rsm_conn *conn, enum rsm_channel channel)
{
	return mem_triplet(conn, msg_slot(conn, MSG_SCRATCH + channel), 1);
}

static DAT_RETURN msg_send(struct rsm_conn *conn, unsigned int slot, const void *msg, u32 len,
			   DAT_COMPLETION_FLAGS flags)
{
	DAT_DTO_COOKIE cookie = { .as_64 = (u64)RSM_CHANNEL_MSG << COOKIE_CHANNEL | slot };
	DAT_LMR_TRIPLET seg = mem_triplet(conn, msg_slot(conn, slot), len);

	lockdep_assert_held(&conn->lock);
	memcpy(msg_slot(conn, slot), msg, len);
	kdat_lmr_sync_rdma_read(conn->ia, &seg, 1);
	/*
	 * Callers may ignore a failure.  Either the connection is ending, or the time limit for an
	 * answer to the missing message ends the connection.
	 */
	return kdat_ep_post_send(conn->ep, 1, &seg, cookie, flags);
}

void rsm_msg_handshake(struct rsm_conn *conn, const void *msg, u32 len)
{
	msg_send(conn, MSG_HANDSHAKE, msg, len, DAT_COMPLETION_SUPPRESS_FLAG);
}

static void msg_ack(struct rsm_conn *conn)
{
	struct rsm_msg msg = { .magic = cpu_to_be32(RSM_MAGIC), .type = RSM_MSG_ACK };

	lockdep_assert_held(&conn->lock);
	conn->ack_due = false;
	if (conn->state != RSM_CONN_UP)
		return;
	if (!conn->acks)
		conn->progress = jiffies;
	if (!msg_send(conn, MSG_ACK, &msg, sizeof(msg), DAT_COMPLETION_DEFAULT_FLAG))
		conn->acks++;
}

static bool msg_pending(const struct rsm_conn *conn)
{
	return conn->want_single || conn->want_events || conn->want_rebind || conn->want_beat;
}

void rsm_msg_push(struct rsm_conn *conn)
{
	struct rsm_msg msg = {
		.magic = cpu_to_be32(RSM_MAGIC), .type = RSM_MSG_TELL,
		.events = cpu_to_be32(conn->want_events),
	};

	lockdep_assert_held(&conn->lock);
	if (conn->state != RSM_CONN_UP || conn->tell_in_flight || !msg_pending(conn))
		return;
	if (conn->want_single)
		msg.flags |= RSM_TELL_SINGLE;
	if (conn->want_rebind) {
		msg.flags |= RSM_TELL_REBIND;
		msg.rkey = cpu_to_be32(conn->rkey);
		msg.addr = cpu_to_be64(conn->addr);
	}
	conn->tell_rebinds = conn->want_rebind;
	conn->want_single = false;
	conn->want_events = 0;
	conn->want_rebind = false;
	conn->want_beat = false;
	conn->tell_in_flight = true;
	conn->tell_sent_at = jiffies;
	msg_send(conn, MSG_TELL, &msg, sizeof(msg), DAT_COMPLETION_SUPPRESS_FLAG);
}

int rsm_msg_tell(struct rsm_conn *conn, bool single)
{
	int ret = 0;

	spin_lock_bh(&conn->lock);
	if (conn->state >= RSM_CONN_LOST)
		ret = -ENOTCONN;
	else if (!single && conn->want_events != U32_MAX)
		conn->want_events++;
	else if (!conn->want_events)
		conn->want_single = true;
	rsm_msg_push(conn);
	spin_unlock_bh(&conn->lock);
	return ret;
}

void rsm_msg_rebind_done(struct rsm_conn *conn)
{
	lockdep_assert_held(&conn->lock);

	if (!conn->rebind_pending)
		return;
	conn->rebind_pending = false;
	conn->ops->rebound(conn);
}

bool rsm_msg_rebind(struct rsm_conn *conn, u32 rkey, u64 addr)
{
	bool begun = false;

	spin_lock_bh(&conn->lock);
	conn->rkey = rkey;
	conn->addr = addr;
	if (conn->state < RSM_CONN_LOST) {
		conn->want_rebind = true;
		begun = !conn->rebind_pending;
		conn->rebind_pending = true;
		rsm_msg_push(conn);
	}
	spin_unlock_bh(&conn->lock);
	return begun;
}

bool rsm_msg_rebind_pending(struct rsm_conn *conn)
{
	return READ_ONCE(conn->rebind_pending);
}

bool rsm_msg_drained(struct rsm_conn *conn)
{
	bool settled;

	spin_lock_bh(&conn->lock);
	settled = conn->state != RSM_CONN_UP || (!conn->tell_in_flight && !msg_pending(conn));
	spin_unlock_bh(&conn->lock);
	return settled;
}

void rsm_msg_drain(struct rsm_conn *conn, unsigned long until)
{
	long left = until - jiffies;

	if (left > 0)
		wait_event_timeout(conn->wq, rsm_msg_drained(conn), left);
}

void rsm_msg_completed(struct rsm_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	/* After a new key, ack_after delays the ACK until requests with the old key complete. */
	if (conn->ack_due && (s32)(conn->completed - conn->ack_after) >= 0)
		msg_ack(conn);
}

static void msg_take_tell(struct rsm_conn *conn, const struct rsm_msg *msg)
{
	conn->ops->events(conn, msg->flags & RSM_TELL_SINGLE, be32_to_cpu(msg->events));
	spin_lock_bh(&conn->lock);
	conn->ack_due = true;
	conn->ack_after = conn->completed;
	if (msg->flags & RSM_TELL_REBIND) {
		conn->rkey = be32_to_cpu(msg->rkey);
		conn->addr = be64_to_cpu(msg->addr);
		/* Delay the ACK until the requests in flight, which use the old key, complete. */
		conn->ack_after = conn->posted;
	}
	rsm_msg_completed(conn);
	spin_unlock_bh(&conn->lock);
}

static void msg_acked(struct rsm_conn *conn)
{
	spin_lock_bh(&conn->lock);
	conn->tell_in_flight = false;
	if (conn->tell_rebinds && !conn->want_rebind)
		rsm_msg_rebind_done(conn);
	conn->tell_rebinds = false;
	rsm_msg_push(conn);
	spin_unlock_bh(&conn->lock);
	wake_up_all(&conn->wq);
}

/*
 * Returns true if the send queue has room for an ACK.  A peer may send the next TELL before the
 * last ACK has completed here, so ACKs in flight may fill the queue.
 */
static bool can_answer(const struct rsm_conn *conn)
{
	return READ_ONCE(conn->acks) < (conn->ops->importer ? RSM_ACK_WRS : RSM_SERVE_ACK_WRS);
}

/*
 * Copies a message from the receive buffer to *@msg and checks the copy.  The buffer is not
 * trusted, because with iWARP an exporter's adapter may write to the buffer at any time.  Returns
 * false if the message is invalid, or if the protocol forbids the message now.
 */
static bool msg_read(const struct rsm_conn *conn, const struct rsm_received *r,
		     struct rsm_msg *msg)
{
	if (r->len != sizeof(*msg))
		return false;
	memcpy(msg, msg_slot(conn, r->slot), sizeof(*msg));
	/* Keep the compiler from reading the receive buffer again instead of the copy. */
	barrier();
	if (msg->magic != cpu_to_be32(RSM_MAGIC))
		return false;
	if (msg->type == RSM_MSG_ACK)
		return conn->tell_in_flight;
	if (msg->type != RSM_MSG_TELL || conn->ack_due || !can_answer(conn))
		return false;
	return conn->ops->importer || !(msg->flags & RSM_TELL_REBIND);
}

bool rsm_msg_receive(struct rsm_conn *conn, u32 slot)
{
	DAT_DTO_COOKIE cookie = { .as_64 = (u64)RSM_CHANNEL_RECV << COOKIE_CHANNEL | slot };
	DAT_LMR_TRIPLET seg = recv_triplet(conn, slot);

	return !kdat_ep_post_recv(conn->ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

/* Passes a received PROOF or GRANT to rsm/auth.c.  Returns false if the connection must end. */
static bool msg_process_handshake(struct rsm_conn *conn, const struct rsm_received *r)
{
	union {
		struct rsm_proof	proof;
		struct rsm_owner_grant	grant;
	} msg;

	memcpy(&msg, msg_slot(conn, r->slot), min_t(u32, r->len, sizeof(msg)));
	/* Keep the compiler from reading the receive buffer again instead of the copy. */
	barrier();
	return rsm_msg_receive(conn, r->slot) && rsm_auth_receive(conn, &msg, r->len);
}

/*
 * Processes a received message.  end_lock is held and the state is not RSM_CONN_ENDED.  Returns
 * false if the connection must end.
 */
static bool msg_process(struct rsm_conn *conn, const struct rsm_received *r)
{
	struct rsm_msg msg;
	bool posted;

	lockdep_assert_held(&conn->end_lock);
	if (READ_ONCE(conn->result) || r->len == sizeof(struct rsm_proof))
		return msg_process_handshake(conn, r);
	if (!msg_read(conn, r, &msg))
		return false;
	/*
	 * Post the receive again before the ACK, because the peer may send the next message after
	 * the ACK.  If the post fails, the connection must end, but process this message first.
	 */
	posted = rsm_msg_receive(conn, r->slot);
	if (msg.type == RSM_MSG_ACK)
		msg_acked(conn);
	else
		msg_take_tell(conn, &msg);
	return posted;
}

static bool msg_next(struct rsm_conn *conn, struct rsm_received *r)
{
	bool any;

	spin_lock_bh(&conn->lock);
	/* A message that arrives before the ESTABLISHED event waits in the inbox for the event. */
	any = conn->answered && conn->inbox_head != conn->inbox_tail;
	if (any)
		*r = conn->inbox[conn->inbox_head++ % RSM_CONN_RECVS];
	spin_unlock_bh(&conn->lock);
	return any;
}

/* Processes the messages in conn->inbox.  end_lock keeps conn->owner valid. */
void rsm_msg_inbox(struct work_struct *work)
{
	struct rsm_conn *conn = container_of(work, struct rsm_conn, inbox_work);
	unsigned int left = RSM_CONN_RECVS;
	struct rsm_received r;

	mutex_lock(&conn->end_lock);
	while (left && READ_ONCE(conn->state) != RSM_CONN_ENDED && msg_next(conn, &r)) {
		if (!msg_process(conn, &r))
			rsm_conn_hang_up(conn);
		left--;
	}
	mutex_unlock(&conn->end_lock);
	/* A peer that goes on sending must not occupy a worker. */
	if (!left)
		queue_work(rsm_wq, &conn->inbox_work);
}

/*
 * Adds a completed receive to conn->inbox.  The inbox cannot overflow, because the inbox has an
 * entry for each receive, and a receive is posted again only after the entry has been taken.
 */
void rsm_msg_received(struct rsm_conn *conn, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct rsm_received r = { (u32)dto->user_cookie.as_64, dto->transfered_length };
	DAT_LMR_TRIPLET seg = recv_triplet(conn, r.slot);

	if (dto->status != DAT_DTO_SUCCESS)
		return;
	/*
	 * kDAPL has already checked the length.  If the length is too large nevertheless, set the
	 * length to 0, which later checks reject.
	 */
	if (r.len > seg.segment_length)
		r.len = 0;
	kdat_lmr_sync_rdma_write(conn->ia, &seg, 1);
	WRITE_ONCE(conn->last_rx, jiffies);
	spin_lock(&conn->lock);
	conn->inbox[conn->inbox_tail++ % RSM_CONN_RECVS] = r;
	spin_unlock(&conn->lock);
	queue_work(rsm_wq, &conn->inbox_work);
}

void rsm_msg_sent(struct rsm_conn *conn, unsigned int slot)
{
	spin_lock(&conn->lock);
	conn->progress = jiffies;
	if (slot == MSG_ACK)
		conn->acks--;
	spin_unlock(&conn->lock);
}

