/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Peers of RSM that are none: programs on librdmacm and libibverbs that say what no kernel
 * of ours would.  What goes over the wire is written down here once more, in bytes; the
 * driver's own definitions are in kmod/rsm_rdma.h.
 */
#ifndef RSM_PEER_H
#define RSM_PEER_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define PEER_PORT	21075		/* rsm_port of the module */
#define PEER_MAGIC	0x44525331
#define PEER_VERSION	1
#define PEER_LITTLE	1
#define PEER_BIG	2
#define PEER_MEM	65536		/* bytes that the other side may read and write */
#define PEER_RECVS	4
#define PEER_MSG	4096		/* bytes of a receive; of a send, the most */

/* All are big-endian; whoever fills one in says so by htobe32(). */
struct peer_greeting {
	uint32_t	magic;
	uint8_t		version;
	uint8_t		endian;
	uint8_t		flags;
	uint8_t		ngroups;
	uint32_t	node;
	uint32_t	to;
	uint32_t	segid;
	uint32_t	perm;
	uint32_t	uid;
	uint32_t	gid;
	uint32_t	groups[6];
};

struct peer_answer {
	uint32_t	magic;
	uint8_t		version;
	uint8_t		endian;
	uint16_t	flags;
	uint32_t	err;
	uint32_t	rkey;
	uint64_t	addr;
	uint64_t	length;
};

struct peer_msg {
	uint32_t	magic;
	uint8_t		type;
	uint8_t		flags;
	uint16_t	rsvd;
	uint32_t	events;
	uint32_t	rkey;
	uint64_t	addr;
};

/* A put of a SCATTER, which its data follows, filled up to a multiple of 8. */
struct peer_piece {
	uint64_t	offset;
	uint32_t	length;
	uint32_t	rsvd;
};

#define PEER_SCATTERS	1	/* of an answer */
#define PEER_ACK	1
#define PEER_TELL	2
#define PEER_SCATTER	3
#define PEER_DONE	4
#define PEER_SINGLE	1
#define PEER_REBIND	2

/*
 * struct peer - one end of a connection
 * @listener: of an exporter
 * @mem: PEER_MEM bytes, then room for messages
 * @patience_ms: with completions
 * @pd: private data of the last event
 * @pd_len: bytes of it
 */
struct peer {
	int				process;	/* connects from a port that anybody gets */
	struct rdma_event_channel	*channel;
	struct rdma_cm_id		*listener;
	struct rdma_cm_id		*id;
	struct ibv_mr			*mr;
	char				*mem;
	int				patience_ms;
	char				pd[256];
	size_t				pd_len;
};

/*
 * Those that return int: 0 or more if all went well, -1 if the machine doesn't play along.
 * peer_event(): the next event, or -1 after @ms.
 */
int peer_open(struct peer *p);
void peer_close(struct peer *p);
int peer_event(struct peer *p, int ms);

/* As an importer: peer_connect() only sends the request; what comes of it is an event. */
int peer_connect(struct peer *p, const char *addr, const void *pd, size_t len);
void peer_greeting(struct peer_greeting *g, uint32_t segid);

/* As an exporter. */
int peer_listen(struct peer *p, const char *addr);
int peer_accept(struct peer *p, const void *pd, size_t len);
int peer_reject(struct peer *p, const void *pd, size_t len);
void peer_answer(struct peer_answer *a, struct peer *p);

int peer_send(struct peer *p, const void *msg, size_t len);

/* In @buf, of PEER_MSG bytes: a SCATTER without a piece, and one more; its length. */
size_t peer_scatter(void *buf, uint32_t rkey);
size_t peer_piece(void *buf, size_t len, uint64_t offset, const void *data, size_t n);

/*
 * Likewise, but what becomes of it is not waited for: who hangs up on hearing it may be gone
 * before the transport has said that it arrived.
 */
int peer_say(struct peer *p, const void *msg, size_t len);
/* A message that was received: its length. */
int peer_receive(struct peer *p, void *msg, int ms);
/* A transfer between @mem and somewhere: its status. */
int peer_rdma(struct peer *p, int write, uint64_t addr, uint32_t rkey, size_t len);

#endif /* RSM_PEER_H */
