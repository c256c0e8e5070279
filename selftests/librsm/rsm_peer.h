/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Peers of RSM that are none: programs on librdmacm and libibverbs that say what no kernel
 * of ours would.  What goes over the wire is written down here once more, in bytes; the
 * driver's own definitions are in kmod/rsm/rdma.h.
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
#define PEER_MSG	4096		/* bytes of a receive; of a send, the most */

#define PEER_NONCE	32
#define PEER_MAC	32
#define PEER_KEY	32		/* bytes of the cluster key of these tests */
#define PEER_TRUSTS	1		/* flag of a greeting: there are no proofs */
#define PEER_CAPABLE	1		/* flag of a proof */

/* All are big-endian; whoever fills one in says so by htobe32(). */
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

/* What both sides prove: all that was said, and between which queue pairs. */
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

#define PEER_OLD_FLAG	1	/* reserved, of an answer */
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
 * @listener: of an exporter
 * @mem: PEER_MEM bytes, then room for messages
 * @patience_ms: with completions
 * @exporter: this end exports
 * @key: cluster key by which it proves
 * @said: the handshake as this end knows it
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
	int				exporter;
	uint8_t				key[PEER_KEY];
	struct peer_transcript		said;
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

/* The key of these tests, which peer_open() takes, as that of the driver; needs root. */
int peer_key_set(void);
extern const uint8_t peer_key[PEER_KEY];

/*
 * The proof of an importer (or of an exporter) over @said, whichever end this is, in @mac.
 * peer_proof(): fill @said.proof with the ids of this process.  peer_prove(): sign and send it.
 * peer_granted(): wait for the grant: its error, 0 or more; -1: there is none, or the exporter
 * does not know the key.
 */
void peer_mac(struct peer *p, int importer, uint8_t *mac);
void peer_proof(struct peer *p);
int peer_prove(struct peer *p);
int peer_granted(struct peer *p);

/* As an exporter: wait for the importer's proof, 0 if it is right; sign and send @said.grant. */
int peer_proven(struct peer *p);
int peer_grant(struct peer *p);

/* As an exporter. */
int peer_listen(struct peer *p, const char *addr);
int peer_accept(struct peer *p, const void *pd, size_t len);
int peer_reject(struct peer *p, const void *pd, size_t len);
void peer_answer(struct peer_answer *a, struct peer *p);

int peer_send(struct peer *p, const void *msg, size_t len);

/*
 * Likewise, but what becomes of it is not waited for: who hangs up on hearing it may be gone
 * before the transport has said that it arrived.
 */
int peer_say(struct peer *p, const void *msg, size_t len);
/* Likewise, an RDMA write with immediate data of @len bytes of @mem. */
int peer_write_imm(struct peer *p, uint64_t addr, uint32_t rkey, size_t len);
/* A message that was received: its length. */
int peer_receive(struct peer *p, void *msg, int ms);
/* A transfer between @mem and somewhere: its status. */
int peer_rdma(struct peer *p, int write, uint64_t addr, uint32_t rkey, size_t len);

#endif /* RSM_PEER_H */
