/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What rsm/msg.c and rsm/conn.c have of each other: the words of a connection, and the
 * connection.
 */
#ifndef _DAT_RSM_MSG_H
#define _DAT_RSM_MSG_H

#include "rsm/rdma.h"

/*
 * The cookie of a request: whose it is, how many transfers of the connection were posted
 * before, and what its owner wants to be told.
 */
#define COOKIE_CHANNEL	56
#define COOKIE_BEFORE	32
#define COOKIE_MASK	GENMASK(COOKIE_CHANNEL - COOKIE_BEFORE - 1, 0)

/* rsm/msg.c; what is "under conn->lock" posts, unless the connection is not up */

/* Tell what there is to tell, unless the peer has not answered the last time.  Under conn->lock. */
void rsm_msg_push(struct rsm_conn *conn);

/* More requests have completed: an ACK may be due.  Under conn->lock. */
void rsm_msg_completed(struct rsm_conn *conn);

/* Nobody waits for the peer's word about the new key any more.  Under conn->lock. */
void rsm_msg_rebind_done(struct rsm_conn *conn);

/* The transport is done with a message; of TELLs only failures are told.  In softirq. */
void rsm_msg_sent(struct rsm_conn *conn, unsigned int slot);

/* A receive has completed.  In softirq. */
void rsm_msg_received(struct rsm_conn *conn, const DAT_DTO_COMPLETION_EVENT_DATA *dto);

/* Post a receive; false: the endpoint does not take it. */
bool rsm_msg_receive(struct rsm_conn *conn, u32 slot);

/**
 * rsm_msg_handshake() - send a message of the handshake
 * @conn: linked; conn->lock held
 * @msg: struct rsm_proof or struct rsm_grant
 * @len: bytes of @msg
 */
void rsm_msg_handshake(struct rsm_conn *conn, const void *msg, u32 len);

/* conn->inbox_work */
void rsm_msg_inbox(struct work_struct *work);

/* A byte that flushes of a channel are read into. */
DAT_LMR_TRIPLET rsm_msg_scratch(const struct rsm_conn *conn, enum rsm_channel channel);

/* rsm/auth.c; under end_lock, in process context */

/* Note between which queue pairs the connection is.  Return: false: it is ending already. */
bool rsm_auth_link(struct rsm_conn *conn);

/* Importer: the exporter has accepted.  Prove what was greeted. */
void rsm_auth_prove(struct rsm_conn *conn);

/* Once more; under conn->lock. */
void rsm_auth_prove_again(struct rsm_conn *conn);

/**
 * rsm_auth_receive() - take a message of a connection whose handshake is not over
 * @conn: linked
 * @msg: private copy
 * @len: bytes of @msg
 *
 * Return: false: the connection is of no use any more.
 */
bool rsm_auth_receive(struct rsm_conn *conn, const void *msg, u32 len);

/* rsm/conn.c */

/* The handshake is over; conn->lock held, all that the peer needs has been sent. */
void rsm_conn_up(struct rsm_conn *conn);

/* What an importer tells its process of an exporter's error, which may be any number. */
int rsm_conn_refusal(u32 err);

/* The connection has come to nothing.  Under end_lock, in process context. */
void rsm_conn_lost(struct rsm_conn *conn, int err);

#endif /* _DAT_RSM_MSG_H */
