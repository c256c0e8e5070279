/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * A RoCE v2 peer that uses a UDP socket.  The peer is a process in a network namespace of its own.
 *
 * The peer needs no RDMA device.  It sends connection requests but never an RTU.  A connection is
 * established only if the test makes the peer send a message by roce_talk() or roce_flood().
 */
#ifndef ROCE_PEER_H
#define ROCE_PEER_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ROCE_MAX	16384	/* maximum number of requests that one peer can send */
#define ROCE_PAYLOAD	8	/* size of a message from roce_talk(), in bytes */
#define ROCE_PD_REQ	56	/* maximum size of the private data of a request */
#define ROCE_PD_REJ	148	/* size of the private data of every reject */
#define ROCE_NO_RESOURCES	3	/* IB_CM_REJ_NO_RESOURCES */
#define ROCE_ADDR	"10.9.0.3"	/* address of the peer */

struct roce_peer {
	pid_t	pid;
	int	order[2];
	int	report[2];
};

/* Answers that the peer has received to all its requests so far. */
struct roce_answers {
	uint32_t	replies;
	uint32_t	rejects;
	uint32_t	busy;		/* rejects with the reason ROCE_NO_RESOURCES */
	uint32_t	reason;		/* reason of the last reject; enum ib_cm_rej_reason */
	uint8_t		pd[ROCE_PD_REJ];	/* private data of the last reject */
};

/*
 * struct roce_ask - contents of a connection request
 * @qual: port to connect to
 * @port: source port; 0: a different one for each request
 * @claims: source address in the rdma_cm header of the private data; 0: the true address of the
 *	peer.  The path record, to which answers are sent, always has the true address.
 * @pd: private data that follows the rdma_cm header
 */
struct roce_ask {
	uint16_t	qual;
	uint16_t	port;
	struct in_addr	claims;
	uint8_t		pd[ROCE_PD_REQ];
};

/*
 * Start the peer.  @addr points to the struct sockaddr_in of the adapter.  Return 0 or a negative
 * errno; -ENODEV if the adapter is not soft-RoCE on interface v0, which is one end of a veth pair.
 */
int roce_start(struct roce_peer *r, const void *addr);
void roce_end(struct roce_peer *r);

/*
 * Send @n connection requests to the port @qual.  All functions below return 0 or a negative errno.
 */
int roce_request(struct roce_peer *r, uint16_t qual, uint32_t n);
int roce_ask(struct roce_peer *r, const struct roce_ask *ask, uint32_t n);

/* Wait until @n requests have an answer, for at most @ms milliseconds. */
int roce_answers(struct roce_peer *r, uint32_t n, unsigned int ms, struct roce_answers *a);

/*
 * Send a message on the connection of request @i, without sending an RTU first.  Request @i must
 * have been answered by a reply.
 */
int roce_talk(struct roce_peer *r, uint32_t i);

/* Like roce_talk(), but the message also invalidates the key @rkey. */
int roce_invalidate(struct roce_peer *r, uint32_t i, uint32_t rkey);

/*
 * Send @n requests, with at most WINDOW unanswered requests at a time.  When a reply arrives, send
 * a message on that connection, like roce_talk().  Return -ETIMEDOUT if this takes longer than @ms
 * milliseconds; the remaining requests are then not sent.
 */
int roce_flood(struct roce_peer *r, const struct roce_ask *ask, uint32_t n, unsigned int ms,
	       struct roce_answers *a);

#endif /* ROCE_PEER_H */
