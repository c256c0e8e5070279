/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Functions that rsm/conn.c, rsm/msg.c and rsm/auth.c share: connections, messages, handshakes. */
#ifndef _DAT_RSM_MSG_H
#define _DAT_RSM_MSG_H

#include "rsm/rdma.h"

/*
 * The cookie of a request has three parts, from the highest bits down: the channel, the number of
 * transfers that the connection had posted before this request, and the argument of the channel's
 * handler.
 */
#define COOKIE_CHANNEL	56
#define COOKIE_BEFORE	32
#define COOKIE_MASK	GENMASK(COOKIE_CHANNEL - COOKIE_BEFORE - 1, 0)

/* rsm/msg.c */

/* Sends a TELL if @conn is up, a TELL is due, and no TELL is in flight.  conn->lock held. */
void rsm_msg_push(struct rsm_conn *conn);

/*
 * Sends the ACK if one is due.  An ACK of a new key has to wait until the requests that were in
 * flight when the TELL arrived have completed.  conn->lock held.
 */
void rsm_msg_completed(struct rsm_conn *conn);

/* Ends the wait for the peer's acknowledgment of a new key.  conn->lock held. */
void rsm_msg_rebind_done(struct rsm_conn *conn);

/*
 * Handles the completion of the message in @slot.  A TELL reports a completion only if the send
 * fails.  Context: softirq.
 */
void rsm_msg_sent(struct rsm_conn *conn, unsigned int slot);

/* Handles the completion of a receive.  Context: softirq. */
void rsm_msg_received(struct rsm_conn *conn, const DAT_DTO_COMPLETION_EVENT_DATA *dto);

/* Posts the receive buffer @slot.  Returns false if the endpoint refuses the receive. */
bool rsm_msg_receive(struct rsm_conn *conn, u32 slot);

/* Sends a struct rsm_proof or struct rsm_grant on a linked connection.  conn->lock held. */
void rsm_msg_handshake(struct rsm_conn *conn, const void *msg, u32 len);

/* Work function of conn->inbox_work. */
void rsm_msg_inbox(struct work_struct *work);

/* Returns the byte into which a flush of @channel reads.  A flush is an RDMA read of one byte. */
DAT_LMR_TRIPLET rsm_msg_scratch(const struct rsm_conn *conn, enum rsm_channel channel);

/* The reason why a handshake ends for which the exporter has sent the error @err. */
static inline enum rsm_why rsm_why_refused(int err)
{
	return err == -EKEYREJECTED ? RSM_WHY_CONF : RSM_WHY_REFUSED;
}

/* rsm/auth.c; process context, end_lock held */

/*
 * Stores the GIDs and queue pair numbers of both sides in conn->transcript.  Returns false if the
 * connection is ending.
 */
bool rsm_auth_link(struct rsm_conn *conn);

/* Importer: sends the proof after the exporter's accept. */
void rsm_auth_prove(struct rsm_conn *conn);

/* Importer: sends the proof again.  conn->lock held; end_lock is not needed. */
void rsm_auth_prove_again(struct rsm_conn *conn);

/*
 * Handles a message of the handshake.  @msg is a private copy, and may be shorter than the @len
 * bytes that were received.  Returns false if the connection must end.
 */
bool rsm_auth_receive(struct rsm_conn *conn, const void *msg, u32 len);

/* rsm/conn.c */

/*
 * Completes a successful handshake: the exporter has sent the GRANT, or the importer has received
 * the GRANT.  conn->lock held.
 */
void rsm_conn_up(struct rsm_conn *conn);

/*
 * Marks a connection lost.  During the handshake, @why and @err are its end.
 * Context: may sleep; end_lock held.
 */
void rsm_conn_lost(struct rsm_conn *conn, enum rsm_why why, int err);

#endif /* _DAT_RSM_MSG_H */
