/* SPDX-License-Identifier: GPL-2.0 */
/* Interface between rsm/conn.c, rsm/msg.c and rsm/auth.c: connections, messages, handshakes. */
#ifndef _DAT_RSM_MSG_H
#define _DAT_RSM_MSG_H

#include "rsm/rdma.h"

/*
 * The cookie of a request: its channel, the number of transfers that the connection posted before
 * it, and the argument for the channel's handler.
 */
#define COOKIE_CHANNEL	56
#define COOKIE_BEFORE	32
#define COOKIE_MASK	GENMASK(COOKIE_CHANNEL - COOKIE_BEFORE - 1, 0)

/* rsm/msg.c */

/* Sends a TELL if the connection is up, one is due, and none is in flight.  conn->lock held. */
void rsm_msg_push(struct rsm_conn *conn);

/* Sends an ACK if enough requests have completed for it.  conn->lock held. */
void rsm_msg_completed(struct rsm_conn *conn);

/* Ends the wait for the peer's acknowledgment of a new key.  conn->lock held. */
void rsm_msg_rebind_done(struct rsm_conn *conn);

/* Handles the completion of a message; a TELL completes only if it fails.  Context: softirq. */
void rsm_msg_sent(struct rsm_conn *conn, unsigned int slot);

/* Handles the completion of a receive.  Context: softirq. */
void rsm_msg_received(struct rsm_conn *conn, const DAT_DTO_COMPLETION_EVENT_DATA *dto);

/* Posts a receive.  Returns false if the endpoint refuses it. */
bool rsm_msg_receive(struct rsm_conn *conn, u32 slot);

/**
 * rsm_msg_handshake() - send a message of the handshake
 * @conn: linked; conn->lock held
 * @msg: struct rsm_proof or struct rsm_grant
 * @len: bytes of @msg
 */
void rsm_msg_handshake(struct rsm_conn *conn, const void *msg, u32 len);

/* Work function of conn->inbox_work. */
void rsm_msg_inbox(struct work_struct *work);

/* Returns the byte into which the flushes of a channel read. */
DAT_LMR_TRIPLET rsm_msg_scratch(const struct rsm_conn *conn, enum rsm_channel channel);

/* rsm/auth.c; process context, end_lock held */

/* Stores GIDs and queue pairs in the transcript.  Returns false if the connection is ending. */
bool rsm_auth_link(struct rsm_conn *conn);

/* Importer: sends the proof after the exporter's accept. */
void rsm_auth_prove(struct rsm_conn *conn);

/* Importer: repeats the proof.  Only conn->lock held. */
void rsm_auth_prove_again(struct rsm_conn *conn);

/**
 * rsm_auth_receive() - handle a message of the handshake
 * @conn: linked connection
 * @msg: private copy of the message
 * @len: bytes of @msg
 *
 * Return: false if the connection must end.
 */
bool rsm_auth_receive(struct rsm_conn *conn, const void *msg, u32 len);

/* rsm/conn.c */

/* Ends a successful handshake, after its last message was sent.  conn->lock held. */
void rsm_conn_up(struct rsm_conn *conn);

/* Returns the error for an importing process; @err comes from the peer and may be any number. */
int rsm_conn_refusal(u32 err);

/* Handles the loss of a connection.  Context: may sleep; end_lock held. */
void rsm_conn_lost(struct rsm_conn *conn, int err);

#endif /* _DAT_RSM_MSG_H */
