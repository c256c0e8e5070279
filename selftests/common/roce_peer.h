/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A RoCE v2 peer made of a UDP socket, in a process and a network namespace of its own.
 *
 * The peer needs no RDMA device.  It sends connection requests and completes none of them unless
 * a test orders it to.
 */
#ifndef ROCE_PEER_H
#define ROCE_PEER_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ROCE_MAX	8192	/* largest number of requests of one peer */
#define ROCE_PAYLOAD	8	/* bytes of a message from roce_talk() */
#define ROCE_PD_REQ	56	/* largest private data of a request */
#define ROCE_PD_REJ	148	/* size of the private data of every reject */
#define ROCE_ADDR	"10.9.0.3"	/* address of the peer */

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
 * struct roce_ask - contents of a connection request
 * @qual: port to connect to
 * @port: source port; 0: a different one for each request
 * @claims: source address in the header of rdma_cm; 0: the true one.  The address of the path,
 *	where answers go, is always true.
 * @pd: private data behind the header of rdma_cm
 */
struct roce_ask {
	uint16_t	qual;
	uint16_t	port;
	struct in_addr	claims;
	uint8_t		pd[ROCE_PD_REQ];
};

/*
 * Return 0 or -errno; -ENODEV: the adapter is not soft-RoCE on v0, one end of a veth pair.
 * @addr points to the struct sockaddr_in of the adapter.
 */
int roce_start(struct roce_peer *r, const void *addr);
void roce_end(struct roce_peer *r);

/* Send @n requests to @qual.  All functions below return 0 or a negative errno. */
int roce_request(struct roce_peer *r, uint16_t qual, uint32_t n);
int roce_ask(struct roce_peer *r, const struct roce_ask *ask, uint32_t n);

/* Wait for at most @ms until @n requests have an answer. */
int roce_answers(struct roce_peer *r, uint32_t n, unsigned int ms, struct roce_answers *a);

/* Send a message on the connection of request @i, which has a reply, without an RTU before it. */
int roce_talk(struct roce_peer *r, uint32_t i);

/*
 * Send @n requests as fast as they are answered, and a message on each connection as soon as its
 * reply arrives, like roce_talk().  @ms limits the whole; -ETIMEDOUT: the rest is not done.
 */
int roce_flood(struct roce_peer *r, const struct roce_ask *ask, uint32_t n, unsigned int ms,
	       struct roce_answers *a);

#endif /* ROCE_PEER_H */
