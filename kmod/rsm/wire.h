/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* The wire format of RSM: the handshake and the messages between two kernels. */
#ifndef _DAT_RSM_WIRE_H
#define _DAT_RSM_WIRE_H

#include <linux/build_bug.h>
#include <linux/types.h>

/*
 * The handshake of version 2, in which both kernels prove that they know the cluster key:
 *
 *   importer                          exporter
 *   --------                          --------
 *   greeting, in the request    ->    finds the segment; accepts, but grants no memory access
 *                               <-    answer, in the reply
 *   PROOF, a message            ->    checks the proof and the permissions; grants memory access
 *                               <-    GRANT, a message with the key of the memory
 *   checks the GRANT, then
 *   uses the key
 *
 * PROOF and GRANT contain an HMAC-SHA256 over struct rsm_transcript, which contains all messages of
 * the handshake, and the GIDs and queue pair numbers of both sides.  If both sides trust the
 * network, there is no HMAC.  Each side sends a nonce, which prevents a replay.  The two sides use
 * different labels, so a peer cannot send a received HMAC back as the peer's own.  See rsm/auth.c.
 */

#define RSM_NONCE	32
#define RSM_MAC		32	/* bytes of an HMAC-SHA256 */
#define RSM_KEY_MIN	32	/* shortest key, in bytes */

/**
 * struct rsm_greeting - private data of a connection request
 * @magic: RSM_MAGIC
 * @version: RSM_VERSION
 * @endian: RSM_ENDIAN of the importer
 * @flags: 0, or RSM_GREETING_TRUSTS if the importer trusts the network; the importer then neither
 *	makes nor checks an HMAC
 * @node: node id of the importer
 * @to: node id of the exporter
 * @segid: segment id
 * @perm: DAT_RSM_READ, DAT_RSM_WRITE
 * @nonce: random bytes
 */
struct rsm_greeting {
	__be32	magic;
	u8	version;
	u8	endian;
	__be16	flags;
	__be32	node;
	__be32	to;
	__be32	segid;
	__be32	perm;
	u8	nonce[RSM_NONCE];
};

static_assert(sizeof(struct rsm_greeting) == 56);

#define RSM_MAGIC		0x44525331	/* "DRS1" */
#define RSM_VERSION		2
#define RSM_GREETING_TRUSTS	0x1

#ifdef __LITTLE_ENDIAN
#define RSM_ENDIAN		1
#else
#define RSM_ENDIAN		2
#endif

/**
 * struct rsm_answer - private data of an accept or a rejection
 * @magic: RSM_MAGIC
 * @version: RSM_VERSION
 * @endian: RSM_ENDIAN of the exporter
 * @rsvd: 0
 * @err: enum dat_rsm_err; 0 in an accept
 * @nonce: random bytes; 0 in a rejection
 */
struct rsm_answer {
	__be32	magic;
	u8	version;
	u8	endian;
	__be16	rsvd;
	__be32	err;
	u8	nonce[RSM_NONCE];
};

/**
 * enum rsm_msg_type - types of messages between the kernels of a connection
 * @RSM_MSG_ACK: struct rsm_msg; the sender of the ACK has processed the last TELL of its peer
 * @RSM_MSG_TELL: struct rsm_msg with events or a rebind; an empty TELL is a heartbeat
 * @RSM_MSG_PROOF: struct rsm_proof; first message of an importer, which may send the message again
 * @RSM_MSG_GRANT: struct rsm_grant or struct rsm_owner_grant; first message of an exporter, sent
 *	once
 *
 * Each side has at most one TELL in flight and answers each TELL by one ACK.  Types 3 and 4 are
 * reserved, because an earlier version used these types.  A message of a reserved or unknown type
 * ends the connection.
 */
enum rsm_msg_type {
	RSM_MSG_ACK	= 1,
	RSM_MSG_TELL	= 2,
	RSM_MSG_PROOF	= 5,
	RSM_MSG_GRANT	= 6,
};

#define RSM_PROOF_GROUPS	32

/**
 * struct rsm_proof - the importer's proof, and the credentials of the importing process
 * @magic: RSM_MAGIC
 * @type: RSM_MSG_PROOF
 * @flags: RSM_PROOF_CAPABLE if the process may override permissions; RSM_PROOF_WANTS_OWNER; an
 *	exporter ignores other flags
 * @ngroups: number of @groups
 * @uid: effective user id, in the initial user namespace of the importer's kernel
 * @gid: effective group id, in the initial user namespace
 * @groups: first RSM_PROOF_GROUPS supplementary groups, in the initial user namespace
 * @mac: HMAC with the cluster key over the transcript, in which @mac, the owner and the grant are
 *	zeros; not used if both sides trust the network
 */
struct rsm_proof {
	__be32	magic;
	u8	type;
	u8	flags;
	__be16	ngroups;
	__be32	uid;
	__be32	gid;
	__be32	groups[RSM_PROOF_GROUPS];
	u8	mac[RSM_MAC];
};

#define RSM_PROOF_CAPABLE	0x1
#define RSM_PROOF_WANTS_OWNER	0x2	/* the importer understands struct rsm_owner_grant */

/**
 * struct rsm_grant - the exporter's proof, and the key of the segment
 * @magic: RSM_MAGIC
 * @type: RSM_MSG_GRANT
 * @flags: 0, or RSM_GRANT_OWNER: the message is a struct rsm_owner_grant
 * @rsvd: 0
 * @err: enum dat_rsm_err; @rkey, @addr and @length are valid only if @err is 0
 * @rkey: remote key of the segment
 * @addr: address of the segment's first byte, for use with @rkey
 * @length: bytes of the segment
 * @mac: HMAC with the cluster key over the transcript, in which @mac is zeros.  If the exporter
 *	finds the importer's proof wrong or cannot check the proof, or if both sides trust the
 *	network, the exporter sends zeros instead of the HMAC
 */
struct rsm_grant {
	__be32	magic;
	u8	type;
	u8	flags;
	__be16	rsvd;
	__be32	err;
	__be32	rkey;
	__be64	addr;
	__be64	length;
	u8	mac[RSM_MAC];
};

#define RSM_GRANT_OWNER	0x1

/**
 * struct rsm_owner_grant - a GRANT that also names the exporter's user
 * @grant: key of the segment
 * @owner: effective user id of the exporting process, in the initial user namespace of the
 *	exporter's kernel; covered by @grant.mac
 * @rsvd: 0
 *
 * An exporter sends this message instead of a struct rsm_grant if it grants access and the
 * importer's PROOF has the flag RSM_PROOF_WANTS_OWNER.  Older kernels neither set nor read the
 * flag.
 */
struct rsm_owner_grant {
	struct rsm_grant	grant;
	__be32			owner;
	__be32			rsvd;
};

static_assert(sizeof(struct rsm_owner_grant) == 72);
static_assert(sizeof(struct rsm_answer) == 44);
static_assert(sizeof(struct rsm_proof) == 176);
static_assert(sizeof(struct rsm_grant) == 64);

/**
 * struct rsm_transcript - input of the HMACs of both sides
 * @label: name of the side that makes the HMAC, so that each side's HMAC is different
 * @importer_gid: importer's GID of the path; with iWARP made from the IP address
 * @exporter_gid: exporter's GID of the path; with iWARP made from the IP address
 * @importer_qpn: importer's queue pair number; 0 with iWARP
 * @exporter_qpn: exporter's queue pair number; 0 with iWARP
 * @greeting: copy of the importer's greeting
 * @answer: copy of the exporter's answer
 * @proof: copy of the importer's PROOF message
 * @owner: copy of rsm_owner_grant.owner; 0 without that message, and in the importer's HMAC
 * @grant: copy of the exporter's GRANT message
 */
struct rsm_transcript {
	char			label[16];
	u8			importer_gid[16];
	u8			exporter_gid[16];
	__be32			importer_qpn;
	__be32			exporter_qpn;
	struct rsm_greeting	greeting;
	struct rsm_answer	answer;
	struct rsm_proof	proof;
	__be32			owner;
	struct rsm_grant	grant;
};

/* struct rsm_transcript must have no padding, because the HMAC covers all of its bytes. */
static_assert(sizeof(struct rsm_transcript) == 3 * 16 + 2 * 4 + 56 + 44 + 176 + 4 + 64);

/*
 * Flags of a TELL.  RSM_TELL_SINGLE: before the receiver adds rsm_msg.events events, it adds one
 * event unless an event is pending.  RSM_TELL_REBIND: the segment has a new key and address.
 */
#define RSM_TELL_SINGLE	0x1
#define RSM_TELL_REBIND	0x2

/**
 * struct rsm_msg - a TELL or ACK message
 * @magic: RSM_MAGIC
 * @type: RSM_MSG_TELL or RSM_MSG_ACK
 * @flags: RSM_TELL_SINGLE, RSM_TELL_REBIND
 * @rsvd: 0
 * @events: number of events to add
 * @rkey: new key of the segment, with RSM_TELL_REBIND
 * @addr: address of the segment's first byte for @rkey, with RSM_TELL_REBIND
 */
struct rsm_msg {
	__be32	magic;
	u8	type;
	u8	flags;
	__be16	rsvd;
	__be32	events;
	__be32	rkey;
	__be64	addr;
};

#endif /* _DAT_RSM_WIRE_H */
