/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * RSM peers that are programs with librdmacm and libibverbs.  A peer can send what an RSM kernel
 * would never send.  The wire format is defined here a second time, as a check of the driver's
 * definition in kmod/rsm/wire.h.
 */
#ifndef RSM_PEER_H
#define RSM_PEER_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define PEER_PORT	341		/* parameter "port" of the module dat_rsm */
#define PEER_MAGIC	0x44525331
#define PEER_VERSION	2
#define PEER_LITTLE	1
#define PEER_BIG	2
#define PEER_MEM	65536		/* bytes that the remote side may read and write */
#define PEER_RECVS	4
#define PEER_MSG	4096		/* size of each receive, and of the largest send */

#define PEER_NONCE	32
#define PEER_MAC	32
#define PEER_KEY	32		/* size of the tests' cluster key */
#define PEER_TRUSTS	1		/* flag of a greeting: no proofs */
#define PEER_CAPABLE	1		/* flag of a proof: may override permissions */
#define PEER_WANTS_OWNER 2		/* flag of a proof: understands struct peer_owner_grant */
#define PEER_OWNER	1		/* flag of a grant: is a struct peer_owner_grant */

/* The fields of all messages are big-endian: use htobe32() to fill them in. */
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

struct peer_owner_grant {
	struct peer_grant	grant;
	uint32_t		owner;
	uint32_t		rsvd;
};

/* Data that each side signs: all messages of the handshake, and the queue pairs. */
struct peer_transcript {
	char			label[16];
	uint8_t			importer_gid[16];
	uint8_t			exporter_gid[16];
	uint32_t		importer_qpn;
	uint32_t		exporter_qpn;
	struct peer_greeting	greeting;
	struct peer_answer	answer;
	struct peer_proof	proof;
	uint32_t		owner;
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
#define PEER_OLD_PUTS	3	/* reserved message type */
#define PEER_OLD_DONE	4	/* reserved message type */
#define PEER_SINGLE	1
#define PEER_REBIND	2

/*
 * struct peer - one end of a connection
 * @process: connect from an unprivileged port, like a process that is no kernel
 * @channel: event channel
 * @listener: listening id of an exporter
 * @id: id of the connection
 * @mr: registration of @mem
 * @mem: PEER_MEM bytes for the remote side, followed by message buffers
 * @patience_ms: timeout for completions
 * @exporter: nonzero if this end is the exporter
 * @key: cluster key of this end
 * @said: handshake messages that this end has sent and received
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
 * A function with a result of type int returns 0 or more on success, and -1 on failure.
 * peer_event() returns the type of the next event, or -1 if no event arrives within @ms.
 * peer_thrown_out() returns 1 if the next event is the end of the connection.
 */
int peer_open(struct peer *p);
void peer_close(struct peer *p);
int peer_event(struct peer *p, int ms);
int peer_thrown_out(struct peer *p, int ms);

/* Importer: peer_connect() only sends the request.  An event reports the result. */
int peer_connect(struct peer *p, const char *addr, const void *pd, size_t len);
void peer_greeting(struct peer_greeting *g, uint32_t segid);

/* Set peer_key as the cluster key of the driver; needs root.  peer_open() uses the same key. */
int peer_key_set(void);
extern const uint8_t peer_key[PEER_KEY];

/*
 * Importer: peer_mac() computes a MAC over @said: the MAC of the importer's proof if @importer is
 * set, else the MAC of the exporter's grant.  peer_proof() fills in @said.proof with the user and
 * group id of this process, and asks for no owner.  peer_prove() signs and sends @said.proof.
 * peer_granted() waits for the grant, which may have an owner, and returns the error in the grant
 * (0: granted), or -1 if no grant arrives or if the MAC of the grant is wrong.
 */
void peer_mac(struct peer *p, int importer, uint8_t *mac);
void peer_proof(struct peer *p);
int peer_prove(struct peer *p);
int peer_granted(struct peer *p);

/*
 * Exporter: peer_proven() waits for the importer's proof and returns 0 if its MAC is right.
 * peer_grant() signs and sends @said.grant.
 */
int peer_proven(struct peer *p);
int peer_grant(struct peer *p);

/* Exporter: listen, and answer connection requests. */
int peer_listen(struct peer *p, const char *addr);
int peer_accept(struct peer *p, const void *pd, size_t len);
int peer_reject(struct peer *p, const void *pd, size_t len);
void peer_answer(struct peer_answer *a, struct peer *p);

int peer_send(struct peer *p, const void *msg, size_t len);

/*
 * Send without waiting for the completion.  If the message makes the receiver disconnect, the
 * receiver may be gone before the transport acknowledges the message.
 */
int peer_say(struct peer *p, const void *msg, size_t len);
/*
 * Write @len bytes of @mem with immediate data.  Like peer_say(), this function does not wait for
 * the completion.
 */
int peer_write_imm(struct peer *p, uint64_t addr, uint32_t rkey, size_t len);
/* Wait for a message, and copy the message to @msg.  Returns its length, or -1. */
int peer_receive(struct peer *p, void *msg, int ms);
/* Read remote memory into @mem, or write @mem to remote memory.  Returns the completion status. */
int peer_rdma(struct peer *p, int write, uint64_t addr, uint32_t rkey, size_t len);

#endif /* RSM_PEER_H */
