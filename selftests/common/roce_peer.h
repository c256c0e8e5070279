/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A RoCE v2 peer made of a UDP socket, in a process and a network namespace of its own.
 *
 * The peer needs no RDMA device.  It sends connection requests and completes none of them
 * unless a test orders it to.
 */
#ifndef ROCE_PEER_H
#define ROCE_PEER_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ROCE_MAX	8192	/* requests of one peer */
#define ROCE_PAYLOAD	8	/* bytes of a message from roce_talk() */
#define ROCE_PD_REQ	56	/* private data of a request, at most */
#define ROCE_PD_REJ	148	/* and of a reject, always */
#define ROCE_ADDR	"10.9.0.3"	/* where the peer is */

struct roce_peer {
	pid_t	pid;
	int	order[2];
	int	report[2];
};

/* Answers to the requests so far. */
struct roce_answers {
	uint32_t	replies;
	uint32_t	rejects;
	uint32_t	reason;		/* of the last reject; enum ib_cm_rej_reason */
	uint8_t		pd[ROCE_PD_REJ];	/* of the last reject */
};

/*
 * struct roce_ask - what a request says
 * @qual: port that is asked for
 * @port: own port; 0: each request has one of its own
 * @claims: own address; 0: the true one.  That of the path, where answers go, is always true.
 * @pd: private data, behind rdma_cm's header
 */
struct roce_ask {
	uint16_t	qual;
	uint16_t	port;
	struct in_addr	claims;
	uint8_t		pd[ROCE_PD_REQ];
};

/*
 * 0, or -errno; -ENODEV: the adapter is no soft-RoCE on one end, v0, of a veth pair.
 * @addr is the struct sockaddr_in of the adapter.
 */
int roce_start(struct roce_peer *r, const void *addr);
void roce_end(struct roce_peer *r);

/* Send @n requests to @qual.  All functions below return 0 or a negative errno. */
int roce_request(struct roce_peer *r, uint16_t qual, uint32_t n);
int roce_ask(struct roce_peer *r, const struct roce_ask *ask, uint32_t n);

/* Wait until @n requests have an answer, or for @ms. */
int roce_answers(struct roce_peer *r, uint32_t n, unsigned int ms, struct roce_answers *a);

/* Send a message over the connection of request @i, which has a reply, and no RTU before it. */
int roce_talk(struct roce_peer *r, uint32_t i);

/*
 * Send @n requests as fast as they are answered, and at once a message over each connection, as
 * by roce_talk().  @ms: for all of them; -ETIMEDOUT: the rest had to do without.
 */
int roce_flood(struct roce_peer *r, const struct roce_ask *ask, uint32_t n, unsigned int ms,
	       struct roce_answers *a);

#endif /* ROCE_PEER_H */
