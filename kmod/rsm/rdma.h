/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Segments across adapters: RSM as a consumer of kDAPL.
 *
 *   rsm_ctlr              an adapter that RSM uses: IA, EVD, service point
 *    └ rsm_conn           a connection of an import to its segment, seen from one side
 *
 * A segment has a zone and a registration of its own; each importer has an endpoint in that
 * zone, so a key of one segment is worth nothing on a connection to another.  An import has a
 * zone of its own, too: with iWARP its exporter may write to the memory that reads go to, and
 * must not reach that of another import.  The exporter's kernel settles who may import before it
 * tells the key; the queue pair of an import without DAT_RSM_WRITE takes no writes.
 *
 * A connection ends with its endpoint.  Who ends it (rsm_conn_end()) knows afterwards that
 * no byte moves any more.  That the peer has ended it is an event, and cuts the import; its
 * endpoint stays until the import is freed.
 *
 * Locks, outer to inner, beside those of rsm.h:
 *
 *   conn->end_lock        mutex, also outside node->lock: the owner is told, the endpoint made
 *   remote->io_lock       mutex: one call at a time transfers through the stage
 *   conn->ring_lock       mutex: one call at a time makes the ring
 *   conn->lock            BH spinlock; kDAPL posts are made under it
 *
 * None of them but conn->lock is taken in an upcall that frees could wait for.
 */
#ifndef _DAT_RSM_RDMA_H
#define _DAT_RSM_RDMA_H

#include "kdapl/internal.h"
#include "rsm/rsm.h"

/* Requests of a connection that are under way at most. */
#define RSM_STAGE_SLOTS		8	/* of DAT_IOC_RSM_IO */
#define RSM_STAGE_GROUP		4	/* chunks that are posted together */
#define RSM_STAGE_WRS		(RSM_STAGE_SLOTS + 1)	/* also a flush */
#define RSM_RING_WRS		32	/* of the mapped ring */
#define RSM_RING_TELL		8	/* one in so many puts of it is not silent */
#define RSM_ACK_WRS		8	/* answers that the transport is not done with */
#define RSM_MSG_WRS		(RSM_ACK_WRS + 4)	/* also TELLs */
#define RSM_CONN_WRS		(RSM_STAGE_WRS + RSM_RING_WRS + RSM_MSG_WRS)
#define RSM_SERVE_ACK_WRS	(RSM_CONN_WRS - 4)	/* of an exporter, who transfers nothing */
#define RSM_CONN_RECVS		4

/*
 * Importers of an adapter that have proven nothing yet.  When there are more, the oldest goes:
 * silent strangers keep nobody out, since an honest handshake is a matter of a few messages.
 */
#define RSM_MAX_UNPROVEN	64
#define RSM_MAX_STRANGERS	512	/* also those that are ending */
#define RSM_PROOF_TIMEOUT	(10 * HZ)	/* of an exporter, from the accept on */

#define RSM_SLOT_SIZE		16384	/* bytes of a slot of the stage */
#define RSM_MAX_CONNS		4096	/* of an adapter */
#define RSM_MAX_SERVED		3072	/* of them, those of others: the own ones find room */

/**
 * enum rsm_ctlr_state - how far an adapter is
 * @RSM_CTLR_OPENING: by one caller, who alone has it; others who want it wait
 * @RSM_CTLR_OPEN: whoever wants it gets it
 * @RSM_CTLR_DEAD: its device went, or its address changed: left to those who have it
 * @RSM_CTLR_CLOSING: nobody has it any more; who wants it waits, since the port is not free
 * @RSM_CTLR_GONE: about to be freed
 * @RSM_CTLR_NR_STATES: how many there are
 */
enum rsm_ctlr_state {
	RSM_CTLR_OPENING,
	RSM_CTLR_OPEN,
	RSM_CTLR_DEAD,
	RSM_CTLR_CLOSING,
	RSM_CTLR_GONE,
	RSM_CTLR_NR_STATES,
};

/**
 * struct rsm_ctlr - an adapter that RSM uses
 * @node: whose
 * @entry: in node->ctlrs; node->ctlr_lock
 * @refs: exports and imports; node->ctlr_lock
 * @number: for user space, from 1
 * @name: of the adapter
 * @state: changed by ctlr_set_state() alone; node->ctlr_lock
 * @ia: opened
 * @evd: connections; its upcalls, rsm_conn_upcall(), come one at a time and may sleep
 * @cr_evd: requests; likewise rsm_serve_upcall(), beside those of @evd, so that a flood of
 *	requests holds up nobody who is connected
 * @psp: service point
 * @iwarp: TCP carries its connections
 * @read_priv: what memory that is read into needs
 * @reads: RDMA reads that an endpoint may have under way, at most 16
 * @addr: of the adapter, as it was when it was opened; where the service point is
 * @unproven: struct rsm_conn, those of importers that have proven nothing yet, oldest first;
 *	node->lock
 * @nr_unproven: length of @unproven; node->lock
 * @strangers: served connections of nodes that are in no table and have proven nothing, also those
 *	that are ending; grows under node->lock
 * @conns: by id; found under RCU
 * @next_conn: where the search for an id begins
 */
struct rsm_ctlr {
	struct rsm_node		*node;
	struct list_head	entry;
	unsigned int		refs;
	u32			number;
	char			name[DAT_NAME_SIZE];
	enum rsm_ctlr_state	state;
	DAT_IA_HANDLE		ia;
	DAT_EVD_HANDLE		evd;
	DAT_EVD_HANDLE		cr_evd;
	DAT_PSP_HANDLE		psp;
	bool			iwarp;
	DAT_MEM_PRIV_FLAGS	read_priv;
	u32			reads;
	struct sockaddr_storage	addr;
	struct list_head	unproven;
	unsigned int		nr_unproven;
	atomic_t		strangers;
	struct xarray		conns;
	u32			next_conn;
};

/* rsm/ctlr.c, rsm/node.c */

/**
 * rsm_ctlr_get() - have an adapter open
 * @node: node
 * @number: of the controller, from 1, from anybody
 * @out: result, to be given back by rsm_ctlr_put()
 *
 * Context: sleeps; opens the adapter if nobody has, and waits for who is opening or closing it.
 * Return: DAT_RSM_OK, DAT_RSM_CTLR_NOT_PRESENT, DAT_RSM_NO_MEM, DAT_RSM_NO_RESOURCES;
 * DAT_RSM_INTERRUPTED: the process is being killed.
 */
int rsm_ctlr_get(struct rsm_node *node, u32 number, struct rsm_ctlr **out);

/* Context: sleeps; not in an upcall of the adapter.  All its connections were ended. */
void rsm_ctlr_put(struct rsm_ctlr *ctlr);

int rsm_dat_error(DAT_RETURN rc);

/**
 * rsm_node_addr() - where a node is
 * @ctlr: by way of which adapter
 * @id: of the node; the own one is at the adapter's own address
 * @out: result, without port
 *
 * Return: DAT_RSM_OK; DAT_RSM_UNREACHABLE: it is in no table.
 */
int rsm_node_addr(struct rsm_ctlr *ctlr, u32 id, struct sockaddr_storage *out);

/**
 * rsm_node_is_at() - whether a node is where a request came from
 * @ctlr: by way of which adapter it came
 * @id: that it claims to be
 * @addr: where it came from
 * @known: result: this is the own node, or the table knows of it; if not it may be anybody
 */
bool rsm_node_is_at(struct rsm_ctlr *ctlr, u32 id, const struct sockaddr *addr, bool *known);

extern unsigned int rsm_port;	/* of service points, host order */

/*
 * The handshake of version 2, in which both kernels prove that they know the cluster key:
 *
 *   importer                          exporter
 *   --------                          --------
 *   greeting, in the request    ->    finds the segment; accepts, without access to memory
 *                               <-    answer, in the reply
 *   PROOF, a message            ->    checks it, then the permissions; gives access to memory
 *                               <-    GRANT, a message: the key of the memory
 *   checks it, uses the key
 *
 * The proofs are HMAC-SHA256 over struct rsm_transcript, which has all that was said, and between
 * which queue pairs.  Nonces of both sides make it fresh, and labels keep the one side's proof from
 * being the other's.  See rsm/auth.c.
 */

#define RSM_NONCE	32
#define RSM_MAC		32	/* of SHA-256 */
#define RSM_KEY_MIN	32	/* bytes of a cluster key, at least */

/**
 * struct rsm_greeting - private data of a connection request: 56 bytes
 * @magic: RSM_MAGIC
 * @version: RSM_VERSION
 * @endian: RSM_ENDIAN of the importer
 * @flags: RSM_GREETING_TRUSTS: the importer trusts the network: it neither gives nor wants a proof
 * @node: of the importer
 * @to: node that is meant
 * @segid: of the segment
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
 * struct rsm_answer - private data of the answer, also when that is a rejection
 * @magic: RSM_MAGIC
 * @version: RSM_VERSION
 * @endian: RSM_ENDIAN of the exporter
 * @rsvd: 0
 * @err: enum dat_rsm_err; 0 in an answer that accepts
 * @nonce: random bytes; of a rejection 0
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
 * enum rsm_msg_type - what kernels say to each other on a connection
 * @RSM_MSG_ACK: the last message that was none was received, and what it asked for done
 * @RSM_MSG_TELL: events, a heartbeat if there are none, or a rebind
 * @RSM_MSG_PROOF: struct rsm_proof; the first message of an importer; it may be said again
 * @RSM_MSG_GRANT: struct rsm_grant; the first message of an exporter, once
 *
 * Each side has at most one TELL under way, and answers one by one ACK.  Types 3 and 4 were used
 * once and stay reserved: like any other type they end the connection.
 */
enum rsm_msg_type {
	RSM_MSG_ACK	= 1,
	RSM_MSG_TELL	= 2,
	RSM_MSG_PROOF	= 5,
	RSM_MSG_GRANT	= 6,
};

/**
 * struct rsm_proof - the importer's side of the proof, and for whom it imports
 * @magic: RSM_MAGIC
 * @type: RSM_MSG_PROOF
 * @flags: RSM_PROOF_CAPABLE: may override permissions
 * @ngroups: number of @groups
 * @uid: effective, by the importer's kernel, in its first user namespace
 * @gid: effective, likewise
 * @groups: supplementary groups, likewise; those beyond the last place do not count
 * @mac: with the cluster key, over the transcript with this field, and the grant, zero
 */
#define RSM_PROOF_GROUPS	32
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

/**
 * struct rsm_grant - the exporter's side of the proof, and what the importer needs
 * @magic: RSM_MAGIC
 * @type: RSM_MSG_GRANT
 * @flags: 0
 * @rsvd: 0
 * @err: enum dat_rsm_err; the rest counts if it is 0
 * @rkey: of the segment
 * @addr: of its first byte, for that key
 * @length: bytes of the segment
 * @mac: with the cluster key, over the transcript with this field zero; zero if the importer's
 *	proof is wrong
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

static_assert(sizeof(struct rsm_answer) == 44);
static_assert(sizeof(struct rsm_proof) == 176);
static_assert(sizeof(struct rsm_grant) == 64);

/**
 * struct rsm_transcript - what both kernels prove to each other
 * @label: which of them proves, so that nobody can send a proof back to its maker
 * @importer_gid: of the path; with iWARP made of the IP address
 * @exporter_gid: of the path, likewise
 * @importer_qpn: number of the queue pair; 0 with iWARP
 * @exporter_qpn: number of the queue pair; 0 with iWARP
 * @greeting: as sent
 * @answer: as sent
 * @proof: as sent
 * @zero: 0
 * @grant: as sent
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
	__be32			zero;
	struct rsm_grant	grant;
};

/* There is no padding, whose bytes nobody sets. */
static_assert(sizeof(struct rsm_transcript) == 3 * 16 + 2 * 4 + 56 + 44 + 176 + 4 + 64);

#define RSM_TELL_SINGLE	0x1	/* an event unless one is pending; comes before the others */
#define RSM_TELL_REBIND	0x2	/* the segment has moved */

/**
 * struct rsm_msg - a message
 * @magic: RSM_MAGIC
 * @type: enum rsm_msg_type
 * @flags: RSM_TELL_*
 * @rsvd: 0
 * @events: how many
 * @rkey: RSM_TELL_REBIND: as in struct rsm_grant
 * @addr: likewise
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

/* Who gets the completion of a request: a part of its cookie, see rsm/msg.h. */
enum rsm_channel {
	RSM_CHANNEL_MSG,
	RSM_CHANNEL_STAGE,
	RSM_CHANNEL_RING,
	RSM_CHANNELS,
	RSM_CHANNEL_RECV = RSM_CHANNELS		/* none: a receive */
};

struct rsm_conn;
struct rsm_ring;

/**
 * struct rsm_conn_ops - which side of a connection this is
 * @importer: the importer's: it is told of the segment's key, and when that changes
 * @proven: exporter: the importer has proven that it is a kernel of the cluster, or need not; fills
 *	conn->transcript.grant.  Return: false: the connection is of no use any more
 * @events: events came from the peer: one unless one is pending if @single, then @events
 * @lost: there is no connection any more, or it has come to none: conn->err says why.  Once,
 *	unless rsm_conn_end() came before
 * @rebound: exporter: conn->rebind_pending is over; conn->lock held
 *
 * @proven, @events and @lost are called in process context, under end_lock, where conn->owner is
 * valid.
 */
struct rsm_conn_ops {
	bool	importer;
	bool	(*proven)(struct rsm_conn *conn);
	void	(*events)(struct rsm_conn *conn, bool single, u32 events);
	void	(*lost)(struct rsm_conn *conn);
	void	(*rebound)(struct rsm_conn *conn);
};

/*
 * Told of a completion on a channel, in the order of the requests: @seq is what the request
 * was posted with.  In softirq, nothing held.  With @ok false the connection is about to
 * end.
 */
typedef void (*rsm_done_fn)(struct rsm_conn *conn, u32 seq, bool ok);

/**
 * struct rsm_received - a receive that has completed, and was not posted again
 * @slot: which
 * @len: bytes
 */
struct rsm_received {
	u32	slot;
	u32	len;
};

/**
 * struct rsm_conn - a connection of an import to its segment, seen from one side
 * @ctlr: adapter; there until the connection has ended
 * @ia: of @ctlr; as a handle is, good or harmless
 * @ops: which side
 * @owner: the import, or the export
 * @ref: memory lives while it is held
 * @rcu: lookups are under RCU
 * @id: in ctlr->conns
 * @entry: exporter: in export->peers; node->lock
 * @unproven: exporter: in ctlr->unproven; node->lock
 * @known: exporter: the importer's node is in the table; constant
 * @stranger: exporter: counts in ctlr->strangers; node->lock, then @end_work
 * @granted: exporter: the importer is told the key, or was; node->lock
 * @trusts: the node trusts the network, so there are no proofs; constant
 * @transcript: what was said in the handshake; @end_lock
 * @proof_received: exporter: a PROOF came; @end_lock
 * @end_work: exporter: ends it, once it is in that list no more
 * @end_lock: @ended, and making of @ep
 * @ended: nobody is told anything any more
 * @ep: endpoint, or NULL
 * @evd: of its requests and receives
 * @pz: zone of an importer's side: @mem, its ring and @ep
 * @mem: messages, and the stage of an import
 * @mem_size: bytes of @mem
 * @lmr: of @mem
 * @context: of @lmr
 * @done: who is told of completions
 * @ring_lock: making of @ring
 * @ring: importer: mapped by the process, or NULL; set once, under @ring_lock, with release
 * @inbox_work: looks at @inbox
 * @lock: everything below
 * @linked: the transport's connection is there, and the handshake goes on
 * @up: requests can be posted: the handshake is over
 * @was_up: @up is or was set
 * @lost: there is no connection any more, and there will be none
 * @err: why, enum dat_rsm_err
 * @refused: nobody listens there, but the host has said so
 * @swapped: importer: the exporter's byte order is the other one
 * @rkey: importer: of the segment
 * @addr: importer: of its first byte, for @rkey
 * @length: importer: of the segment
 * @posted: importer: requests that name @rkey
 * @completed: of them, those known to have completed
 * @acks: answers that the transport is not done with
 * @progress: in jiffies, when a request completed, or one was posted while there was none
 * @ack_after: importer: an ACK is due when as many are @completed
 * @ack_due: there is such an ACK
 * @tell_in_flight: a TELL is under way
 * @tell_sent_at: since then, in jiffies
 * @tell_rebinds: with a new key
 * @want_single: tell of an event unless one is pending
 * @want_events: tell of so many
 * @want_rebind: exporter: tell of the new key
 * @want_beat: tell anything
 * @rebind_pending: exporter: the peer has not said yet that it uses the new key
 * @inbox: completed receives that @inbox_work is to take, a ring
 * @inbox_head: of them, those that were taken
 * @inbox_tail: and put there
 * @last_rx: in jiffies, when something came from the peer; no lock
 * @wq: those who wait for the connection, for room, or for the peer
 * @beat: heartbeat; before, of an exporter, the end of its patience with an unproven peer
 */
struct rsm_conn {
	struct rsm_ctlr			*ctlr;
	DAT_IA_HANDLE			ia;
	const struct rsm_conn_ops	*ops;
	void				*owner;
	struct kref			ref;
	struct rcu_head			rcu;
	u32				id;
	struct list_head		entry;
	struct list_head		unproven;
	bool				known;
	bool				stranger;
	bool				granted;
	bool				trusts;
	struct rsm_transcript		transcript;
	bool				proof_received;
	struct work_struct		end_work;
	struct mutex			end_lock;	/* ended, ep */
	bool				ended;
	DAT_EP_HANDLE			ep;
	DAT_EVD_HANDLE			evd;
	DAT_PZ_HANDLE			pz;
	void				*mem;
	u32				mem_size;
	DAT_LMR_HANDLE			lmr;
	DAT_LMR_CONTEXT			context;
	rsm_done_fn			done[RSM_CHANNELS];
	struct mutex			ring_lock;	/* ring */
	struct rsm_ring			*ring;
	struct work_struct		inbox_work;
	spinlock_t			lock;		/* of all that follows */
	bool				linked;
	bool				up;
	bool				was_up;
	bool				lost;
	int				err;
	bool				refused;
	bool				swapped;
	u32				rkey;
	u64				addr;
	u64				length;
	u32				posted;
	u32				completed;
	u32				acks;
	unsigned long			progress;
	u32				ack_after;
	bool				ack_due;
	bool				tell_in_flight;
	unsigned long			tell_sent_at;
	bool				tell_rebinds;
	bool				want_single;
	u32				want_events;
	bool				want_rebind;
	bool				want_beat;
	bool				rebind_pending;
	struct rsm_received		inbox[RSM_CONN_RECVS];
	u32				inbox_head;
	u32				inbox_tail;
	unsigned long			last_rx;
	wait_queue_head_t		wq;
	struct delayed_work		beat;
};

/* rsm/auth.c */

/* Importer: fill the greeting and the unsigned proof, of the caller who imports from @node. */
void rsm_auth_greet(struct rsm_conn *conn, u32 node, u32 segid, u32 perm);

/* Exporter: whether the importer and this node agree on proofs.  Return: enum dat_rsm_err. */
int rsm_auth_agree(struct rsm_node *node, const struct rsm_greeting *g);

/* rsm/conn.c */

/**
 * rsm_conn_make() - begin a connection
 * @ctlr: adapter
 * @ops: which side
 * @owner: of it
 * @stage: bytes of memory for transfers, beside that for messages
 * @out: result, with a reference; no endpoint yet
 *
 * Context: sleeps.  Return: DAT_RSM_OK, DAT_RSM_NO_MEM, DAT_RSM_NO_RESOURCES.
 */
int rsm_conn_make(struct rsm_ctlr *ctlr, const struct rsm_conn_ops *ops, void *owner,
		  u32 stage, struct rsm_conn **out);

/**
 * rsm_conn_make_ep() - make the endpoint
 * @conn: without one
 * @pz: its zone
 * @traits: enum dat_ep_trait bits
 *
 * Context: sleeps; nobody else ends the connection meanwhile.  Return: enum dat_rsm_err.
 */
int rsm_conn_make_ep(struct rsm_conn *conn, DAT_PZ_HANDLE pz, u32 traits);

/**
 * rsm_conn_end() - end a connection
 * @conn: reference held, which stays
 *
 * Context: sleeps; not under node->lock, nor in an upcall that only one connection's request
 * EVD makes.  Afterwards no byte moves, and no upcall of its requests runs.
 */
void rsm_conn_end(struct rsm_conn *conn);
void rsm_conn_put(struct rsm_conn *conn);

/* Hang up, without waiting.  Context: sleeps. */
void rsm_conn_hang_up(struct rsm_conn *conn);

/**
 * struct rsm_request - a transfer between memory and the segment
 * @put: or a get
 * @silent: a put of whose success only a later request of the channel tells, which is posted
 *	at once, with no wait in between; of its failure it tells itself
 * @offset: in the segment; it and the length were checked
 * @local: the memory; its context of this adapter's zone
 * @channel: who is told
 * @seq: what he is told
 */
struct rsm_request {
	bool			put;
	bool			silent;
	u64			offset;
	DAT_LMR_TRIPLET		local;
	enum rsm_channel	channel;
	u32			seq;
};

/**
 * rsm_conn_rdma() - post a transfer
 * @conn: of an import
 * @req: what; not needed afterwards
 *
 * There is always room for as many of each channel as the limits at the top say.
 *
 * Context: BH.  Return: 0; -ENOTCONN: it is lost; -EIO: a bug, or the device is gone.
 */
int rsm_conn_rdma(struct rsm_conn *conn, struct rsm_request *req);

/* Likewise: read a byte of the segment, so that all that was put before it is there. */
int rsm_conn_flush(struct rsm_conn *conn, enum rsm_channel channel, u32 seq);

/* Register @va, contiguous, in the zone @pz; reads may go there if @reads.  Context: sleeps. */
int rsm_conn_register(struct rsm_ctlr *ctlr, DAT_PZ_HANDLE pz, void *va, u32 size, bool reads,
		      DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context);

/* Upcall of ctlr->evd; @ctlr: struct rsm_ctlr. */
void rsm_conn_upcall(void *ctlr, const DAT_EVENT *event, DAT_BOOLEAN more);

/* Upcall of ctlr->cr_evd: a peer asks for a connection; @ctlr: struct rsm_ctlr. */
void rsm_serve_upcall(void *ctlr, const DAT_EVENT *event, DAT_BOOLEAN more);

/* rsm/msg.c */

/* Have the peer told of an event.  Context: any.  Return: -ENOTCONN: it is lost. */
int rsm_msg_tell(struct rsm_conn *conn, bool single);

/* Exporter: have the peer told of a new key.  Return: true if conn->rebind_pending begins. */
bool rsm_msg_rebind(struct rsm_conn *conn, u32 rkey, u64 addr);
bool rsm_msg_rebind_pending(struct rsm_conn *conn);

/* Wait until the peer has been told all, but not longer than until @until, in jiffies. */
void rsm_msg_drain(struct rsm_conn *conn, unsigned long until);

/**
 * struct rsm_remote - what an import across an adapter has
 * @ctlr: reference held until it ends
 * @conn: connection, reference held
 * @io_lock: one call at a time uses the stage; @posted
 * @posted: requests of the stage, so far
 * @done: of them, those known to have succeeded; one writer, the upcall
 * @failed: the next one has not; likewise
 */
struct rsm_remote {
	struct rsm_ctlr		*ctlr;
	struct rsm_conn		*conn;
	struct mutex		io_lock;	/* the stage, posted */
	u32			posted;
	u32			done;
	bool			failed;
};

/* rsm/stage.c; completions of the stage */
void rsm_stage_done(struct rsm_conn *conn, u32 seq, bool ok);

/* Heartbeats and messages of connections; ends of them have queues of their own. */
extern struct workqueue_struct *rsm_wq;

/* rsm/remote.c */

/**
 * rsm_remote_probe() - ask whether a node answers, if only to refuse us
 * @ctlr: by way of which adapter
 * @node: its id
 *
 * Context: sleeps, up to two seconds, or four if the node accepts and then says nothing.
 * Return: DAT_RSM_OK, DAT_RSM_UNREACHABLE, or why it was not found out.
 */
int rsm_remote_probe(struct rsm_ctlr *ctlr, u32 node);

#endif /* _DAT_RSM_RDMA_H */
