/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Peers of RSM that are programs on librdmacm and libibverbs.  They send what a kernel with RSM
 * would not send.  The wire format is repeated here as a check; the driver's own definitions are
 * in kmod/rsm/wire.h.
 */
#ifndef RSM_PEER_H
#define RSM_PEER_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define PEER_PORT	341		/* rsm_port of the module */
#define PEER_MAGIC	0x44525331
#define PEER_VERSION	2
#define PEER_LITTLE	1
#define PEER_BIG	2
#define PEER_MEM	65536		/* bytes that the other side may read and write */
#define PEER_RECVS	4
#define PEER_MSG	4096		/* size of a receive, and largest send */

#define PEER_NONCE	32
#define PEER_MAC	32
#define PEER_KEY	32		/* bytes of the cluster key of these tests */
#define PEER_TRUSTS	1		/* flag of a greeting: no proofs */
#define PEER_CAPABLE	1		/* flag of a proof */

/* All fields are big-endian; fill them in by htobe32(). */
struct peer_greeting {
	uint32_t	magic;
	uint8_t		version;
	uint8_t		endian;
	uint16_t	flags;
	uint32_t	node;
	uint32_t	to;
	uint32_t	segid;
	uint32_t	perm;
	uint8_t		nonce[PEER_NONCE];
};

struct peer_answer {
	uint32_t	magic;
	uint8_t		version;
	uint8_t		endian;
	uint16_t	rsvd;
	uint32_t	err;
	uint8_t		nonce[PEER_NONCE];
};

struct peer_proof {
	uint32_t	magic;
	uint8_t		type;
	uint8_t		flags;
	uint16_t	ngroups;
	uint32_t	uid;
	uint32_t	gid;
	uint32_t	groups[32];
	uint8_t		mac[PEER_MAC];
};

struct peer_grant {
	uint32_t	magic;
	uint8_t		type;
	uint8_t		flags;
	uint16_t	rsvd;
	uint32_t	err;
	uint32_t	rkey;
	uint64_t	addr;
	uint64_t	length;
	uint8_t		mac[PEER_MAC];
};

/* What both sides sign: the whole handshake, and the queue pairs. */
struct peer_transcript {
	char			label[16];
	uint8_t			importer_gid[16];
	uint8_t			exporter_gid[16];
	uint32_t		importer_qpn;
	uint32_t		exporter_qpn;
	struct peer_greeting	greeting;
	struct peer_answer	answer;
	struct peer_proof	proof;
	uint32_t		zero;
	struct peer_grant	grant;
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

#define PEER_OLD_FLAG	1	/* reserved flag of an answer */
#define PEER_ACK	1
#define PEER_TELL	2
#define PEER_PROOF	5
#define PEER_GRANT	6
#define PEER_OLD_PUTS	3	/* reserved */
#define PEER_OLD_DONE	4	/* reserved */
#define PEER_SINGLE	1
#define PEER_REBIND	2

/*
 * struct peer - one end of a connection
 * @process: connect from a port that any user can get
 * @channel: event channel
 * @listener: listening id of an exporter
 * @id: id of the connection
 * @mr: registration of @mem
 * @mem: PEER_MEM bytes, then room for messages
 * @patience_ms: timeout of completions
 * @exporter: this end exports
 * @key: cluster key of this end
 * @said: transcript of the handshake at this end
 * @pd: private data of the last event
 * @pd_len: length of @pd
 */
struct peer {
	int				process;	/* use a port above 1023 */
	struct rdma_event_channel	*channel;
	struct rdma_cm_id		*listener;
	struct rdma_cm_id		*id;
	struct ibv_mr			*mr;
	char				*mem;
	int				patience_ms;
	int				exporter;
	uint8_t				key[PEER_KEY];
	struct peer_transcript		said;
	char				pd[256];
	size_t				pd_len;
};

/*
 * Functions that return int return 0 or more for success, -1 if something in the machine fails.
 * peer_event() returns the next event, or -1 after @ms.
 */
int peer_open(struct peer *p);
void peer_close(struct peer *p);
int peer_event(struct peer *p, int ms);

/* Importer: peer_connect() only sends the request; its result is an event. */
int peer_connect(struct peer *p, const char *addr, const void *pd, size_t len);
void peer_greeting(struct peer_greeting *g, uint32_t segid);

/* Set the key of these tests, which peer_open() uses, in the driver; needs root. */
int peer_key_set(void);
extern const uint8_t peer_key[PEER_KEY];

/*
 * Importer: peer_mac() computes the proof of the importer, or of the exporter, over @said in
 * @mac.  peer_proof() fills @said.proof with the ids of this process.  peer_prove() signs and
 * sends it.  peer_granted() waits for the grant and returns its error, 0 or more; -1: no grant,
 * or the exporter does not know the key.
 */
void peer_mac(struct peer *p, int importer, uint8_t *mac);
void peer_proof(struct peer *p);
int peer_prove(struct peer *p);
int peer_granted(struct peer *p);

/*
 * Exporter: peer_proven() waits for the importer's proof and returns 0 if it is right.
 * peer_grant() signs and sends @said.grant.
 */
int peer_proven(struct peer *p);
int peer_grant(struct peer *p);

/* Exporter: listen, and answer requests. */
int peer_listen(struct peer *p, const char *addr);
int peer_accept(struct peer *p, const void *pd, size_t len);
int peer_reject(struct peer *p, const void *pd, size_t len);
void peer_answer(struct peer_answer *a, struct peer *p);

int peer_send(struct peer *p, const void *msg, size_t len);

/*
 * Send without waiting for the completion: a receiver that disconnects on the message may be
 * gone before the transport acknowledges it.
 */
int peer_say(struct peer *p, const void *msg, size_t len);
/* Like peer_say(), for an RDMA write of @len bytes of @mem with immediate data. */
int peer_write_imm(struct peer *p, uint64_t addr, uint32_t rkey, size_t len);
/* Wait for a message and return its length. */
int peer_receive(struct peer *p, void *msg, int ms);
/* Read or write remote memory from @mem; return the completion status. */
int peer_rdma(struct peer *p, int write, uint64_t addr, uint32_t rkey, size_t len);

#endif /* RSM_PEER_H */
