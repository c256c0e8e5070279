/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Functions that rsm/conn.c, rsm/msg.c and rsm/auth.c share: connections, messages, handshakes. */
#ifndef _DAT_RSM_MSG_H
#define _DAT_RSM_MSG_H

#include "rsm/rdma.h"

/*
 * The cookie of a transfer or flush has three parts, from the highest bits down: the channel, the
 * number of transfers and flushes that the connection had posted before, modulo 2^24, and the
 * argument of the channel's handler.  The cookie of a message or receive has only the channel and
 * the slot.
 */
#define COOKIE_CHANNEL	56
#define COOKIE_BEFORE	32
#define COOKIE_MASK	GENMASK(COOKIE_CHANNEL - COOKIE_BEFORE - 1, 0)

/* rsm/msg.c */

/* Sends a TELL if @conn is up, a TELL is due, and no TELL is in flight.  conn->lock is held. */
void rsm_msg_push(struct rsm_conn *conn);

/*
 * Sends the ACK if an ACK is due.  The ACK of a new key waits until all requests have completed
 * that were in flight when the new key replaced the old key.  conn->lock is held.
 */
void rsm_msg_completed(struct rsm_conn *conn);

/*
 * Clears conn->rebind_pending and calls ops->rebound(), after the peer has acknowledged the new key
 * or the connection has ended.  Does nothing if the flag is not set.  conn->lock is held.
 */
void rsm_msg_rebind_done(struct rsm_conn *conn);

/*
 * Handles the completion of the message in @slot.  Each ACK reports a completion, but a TELL, a
 * PROOF or a GRANT only if the send fails.  Context: softirq.
 */
void rsm_msg_sent(struct rsm_conn *conn, unsigned int slot);

/* Handles the completion of a receive.  Context: softirq. */
void rsm_msg_received(struct rsm_conn *conn, const DAT_DTO_COMPLETION_EVENT_DATA *dto);

/* Posts the receive buffer @slot.  Returns false if the endpoint refuses the receive. */
bool rsm_msg_receive(struct rsm_conn *conn, u32 slot);

/* Sends a PROOF or a GRANT on a linked connection.  conn->lock is held. */
void rsm_msg_handshake(struct rsm_conn *conn, const void *msg, u32 len);

/* Work function of conn->inbox_work. */
void rsm_msg_inbox(struct work_struct *work);

/* Returns the destination of a flush of @channel.  A flush is an RDMA read of one byte. */
DAT_LMR_TRIPLET rsm_msg_scratch(const struct rsm_conn *conn, enum rsm_channel channel);

/* Returns the reason for the end of a handshake whose answer or GRANT contains the error @err. */
static inline enum rsm_why rsm_why_refused(int err)
{
	return err == -EKEYREJECTED ? RSM_WHY_CONF : RSM_WHY_REFUSED;
}

/* rsm/auth.c: functions for process context with end_lock held, unless a comment differs */

/*
 * Stores the GIDs and queue pair numbers of both sides in conn->transcript.  Returns false if the
 * connection is ending.
 */
bool rsm_auth_link(struct rsm_conn *conn);

/* Importer: sends the proof after the exporter's accept. */
void rsm_auth_prove(struct rsm_conn *conn);

/* Importer: sends the proof again.  conn->lock is held instead of end_lock. */
void rsm_auth_prove_again(struct rsm_conn *conn);

/*
 * Handles a message of the handshake.  @msg: private copy, which may be shorter than the message.
 * @len: length of the received message.  Returns false if the connection must end.
 */
bool rsm_auth_receive(struct rsm_conn *conn, const void *msg, u32 len);

/* rsm/conn.c */

/*
 * Completes a handshake after the exporter has sent the GRANT, or after the importer has received
 * the GRANT.  conn->lock is held.
 */
void rsm_conn_up(struct rsm_conn *conn);

/*
 * Marks a connection lost.  @why and @err: reason and result of the handshake, if the handshake has
 * not ended before.  Context: may sleep; end_lock is held.
 */
void rsm_conn_lost(struct rsm_conn *conn, enum rsm_why why, int err);

#endif /* _DAT_RSM_MSG_H */
