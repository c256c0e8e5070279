/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Segments on other hosts: RSM as a consumer of kDAPL.
 *
 *   rsm_ctlr              an adapter that RSM uses: IA, EVD, service point
 *    └ rsm_conn           one side of a connection between an import and its segment
 *
 * Each segment has its own protection zone and its own memory registration.  The exporter creates
 * the endpoint for each importer of a segment in that segment's zone.  So an importer cannot use
 * the key of one segment on its connection to another segment.
 *
 * Each import has its own protection zone, too.  With iWARP the exporter may write to the memory
 * into which the import reads.  The separate zone keeps the exporter from the memory of other
 * imports.
 *
 * The exporter's kernel checks the importer's permissions before it sends the key.  The exporter's
 * queue pair accepts no writes if the import has no DAT_RSM_WRITE.
 *
 * A connection ends with its endpoint: after rsm_conn_end(), no byte is transferred.  When the peer
 * ends the connection, an event cuts the import.  The endpoint stays until the import is freed.
 *
 * Locks, outer to inner, beside those of rsm.h:
 *
 *   conn->end_lock        mutex, also outside node->lock: calls of conn->ops, creation of the
 *                         endpoint
 *   remote->io_lock       mutex: one call at a time transfers through the stage
 *   conn->ring_lock       mutex: one call at a time makes the ring
 *   conn->lock            BH spinlock; kDAPL posts are made under it
 *
 * rsm_conn_end() frees conn->evd, and the free waits for upcalls of that EVD.  So such an upcall
 * takes only conn->lock and ring->lock.
 */
#ifndef _DAT_RSM_RDMA_H
#define _DAT_RSM_RDMA_H

#include "kdapl/internal.h"
#include "rsm/rsm.h"
#include "rsm/wire.h"

/* Largest numbers of requests that a connection may have in flight, by use. */
#define RSM_STAGE_SLOTS		8	/* of DAT_IOC_RSM_IO */
#define RSM_STAGE_GROUP		4	/* chunks posted at once */
#define RSM_STAGE_WRS		(RSM_STAGE_SLOTS + 1)	/* also a flush */
#define RSM_RING_WRS		32	/* of the mapped ring */
#define RSM_RING_SIGNAL_EVERY		8	/* signal every 8th put */
#define RSM_ACK_WRS		8	/* incomplete ACKs */
#define RSM_MSG_WRS		(RSM_ACK_WRS + 4)	/* ACKs, and TELLs */
#define RSM_CONN_WRS		(RSM_STAGE_WRS + RSM_RING_WRS + RSM_MSG_WRS)
#define RSM_SERVE_ACK_WRS	(RSM_CONN_WRS - 4)	/* ACKs of an exporter */
#define RSM_CONN_RECVS		4

/*
 * Every importer is a stranger until its proof has been verified.  A connection request takes a
 * place in a lane, and the connection keeps the place until the proof or the end of the teardown.
 * Each node of node->table has a lane, and this node.  All other importers share the last lane.  So
 * no peer takes the places of another node.  While a lane is full, requests are refused, and their
 * importers try again.
 */
#define RSM_LANE_OTHERS		(DAT_RSM_MAX_NODE + 1)
#define RSM_LANES		(RSM_LANE_OTHERS + 1)
#define RSM_NODE_PLACES		14
#define RSM_OTHER_PLACES	112
/*
 * Largest number of connections in the last lane whose importers have not proven anything.  At this
 * limit, a new importer evicts the oldest one.  So peers that never send a proof cannot keep others
 * out.  An importer that is evicted during its handshake asks again.
 *
 * In the lane of a node nobody is evicted, because many importers of one node may ask at once.
 */
#define RSM_OTHER_UNPROVEN	64
/* Longest time between the exporter's accept and the arrival of the importer's proof. */
#define RSM_PROOF_TIMEOUT	(10 * HZ)

#define RSM_SLOT_SIZE		16384	/* bytes of a stage slot */
#define RSM_MAX_CONNS		4096	/* of an adapter */
/*
 * Largest number of connections to local segments, out of an adapter's RSM_MAX_CONNS.  The others
 * are reserved for imports.
 */
#define RSM_MAX_SERVED		3072

/**
 * enum rsm_ctlr_state - state of an adapter
 * @RSM_CTLR_OPENING: one caller opens the adapter; other callers wait
 * @RSM_CTLR_OPEN: usable
 * @RSM_CTLR_DEAD: the device is gone or its address has changed; existing users keep their
 *	reference, and no new user gets one
 * @RSM_CTLR_CLOSING: the last user has put its reference; new users wait, because the port is still
 *	in use
 * @RSM_CTLR_GONE: closed and about to be freed
 * @RSM_CTLR_NR_STATES: number of states
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
 * struct rsm_lane - importers that have proven nothing yet, of one node or of all unknown nodes
 * @places: number of places in use: by requests, and by connections without a verified proof, also
 *	while these close
 * @unproven: struct rsm_conn without a verified proof, oldest first; empty in the lane of a node;
 *	node->lock
 * @nr_unproven: length of @unproven; node->lock
 */
struct rsm_lane {
	atomic_t		places;
	struct list_head	unproven;
	unsigned int		nr_unproven;
};

/**
 * struct rsm_ctlr - an adapter that RSM uses
 * @node: node that uses the adapter
 * @entry: entry in node->ctlrs; node->ctlr_lock
 * @refs: number of references, mainly of exports and imports; node->ctlr_lock
 * @number: controller number in user space, from 1
 * @name: adapter name
 * @state: state; only ctlr_set_state() writes it; node->ctlr_lock
 * @ia: open IA
 * @evd: EVD of connection events; its upcalls, rsm_conn_upcall(), run one at a time and may sleep
 * @cr_evd: EVD of connection requests; its upcalls, rsm_serve_upcall(), run one at a time; a
 *	separate EVD, so that a flood of requests does not delay the upcalls of @evd
 * @psp: service point
 * @iwarp: flag: the adapter speaks iWARP
 * @read_priv: memory privileges that the destination of an RDMA read needs
 * @reads: number of RDMA reads that an endpoint may have in flight, at most 16
 * @addr: address of the adapter at the open; @psp listens at this address
 * @gate: gate of @cr_evd, which gives the places of @lanes
 * @lanes: lanes by the importer's node id; RSM_LANE_OTHERS for nodes that are not in node->table
 * @conns: connections by id; looked up under RCU
 * @next_conn: id at which the search for a free connection id begins
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
	struct dat_gate		gate;
	struct rsm_lane		lanes[RSM_LANES];
	struct xarray		conns;
	u32			next_conn;
};

/* rsm/ctlr.c, rsm/node.c */

/**
 * rsm_ctlr_get() - get a reference to an open adapter
 * @node: node
 * @number: controller number, from 1, unchecked
 * @out: result; released by rsm_ctlr_put()
 *
 * Context: may sleep; opens the adapter if it is not open, and waits for an open or close in
 * progress.
 * Return: 0, -ENODEV, -ENOMEM, -ENOSPC;
 * -EINTR: the process is being killed.
 */
int rsm_ctlr_get(struct rsm_node *node, u32 number, struct rsm_ctlr **out);

/*
 * Drops a reference.  Before this call, the caller must have ended its connections.  Context: may
 * sleep; not in an upcall of the adapter.
 */
void rsm_ctlr_put(struct rsm_ctlr *ctlr);

int rsm_dat_error(DAT_RETURN rc);

/* rsm/error.c */

/* Converts 0 or an errno to the error in an answer or a GRANT. */
__be32 rsm_error_to_wire(int err);

/*
 * Returns the errno of an error, not 0, that a peer has sent.  The peer may send any value: those
 * that an exporter does not send become -EHOSTUNREACH.
 */
int rsm_error_of_wire(__be32 code);

/**
 * rsm_node_addr() - look up the address of a node
 * @ctlr: adapter that leads to the node
 * @id: node id; the local node's id yields the address of @ctlr
 * @out: result, without port
 *
 * Return: 0, or -EHOSTUNREACH if the node is not in the table.
 */
int rsm_node_addr(struct rsm_ctlr *ctlr, u32 id, struct sockaddr_storage *out);

/**
 * rsm_node_is_at() - check that a connection request came from the address of a node
 * @ctlr: adapter at which the request arrived
 * @id: node id that the request claims
 * @addr: source address of the request
 * @known: result: true if @id is the local node or in the table, so that its address is known
 *
 * A node may have another address at each controller.  Only the address at @ctlr counts, because a
 * stranger may have the same address in the network of another controller.
 *
 * Context: any.  Return: false if @known is true and @addr is not the address of the node at @ctlr,
 * else true.
 */
bool rsm_node_is_at(struct rsm_ctlr *ctlr, u32 id, const struct sockaddr *addr, bool *known);

/* Port at which service points listen, in host byte order. */
extern unsigned int rsm_port;

/* The part of RSM that posts a request and handles its completion; in the cookie, see rsm/msg.h. */
enum rsm_channel {
	RSM_CHANNEL_MSG,
	RSM_CHANNEL_STAGE,
	RSM_CHANNEL_RING,
	RSM_CHANNELS,
	RSM_CHANNEL_RECV = RSM_CHANNELS		/* receives; has no handler */
};

struct rsm_conn;
struct rsm_ring;

/**
 * struct rsm_peer - the other side of a handshake, as far as it is known
 * @addr: IP address; its port means nothing
 * @node: node id
 * @segid: segment id
 * @exports: flag: the peer is the exporter
 */
struct rsm_peer {
	struct sockaddr_storage	addr;
	u32			node;
	u32			segid;
	bool			exports;
};

/**
 * enum rsm_why - how a handshake has ended
 * @RSM_WHY_DONE: it has succeeded
 * @RSM_WHY_REFUSED: the exporter refuses access to the segment, or lacks resources
 * @RSM_WHY_BUSY: the exporter has no place; the importer asks again
 * @RSM_WHY_LEFT: the exporter has disconnected; the importer asks again
 * @RSM_WHY_UNREACHABLE: no answer, or nothing listens
 * @RSM_WHY_GREETING: the peer is no RSM kernel of this version, or sends from another port than one
 *	of kernels
 * @RSM_WHY_NODE: the importer asks for a node id that this host does not have
 * @RSM_WHY_ADDRESS: the importer's node has another address at this adapter
 * @RSM_WHY_TRUST: only one of the two nodes requires proofs
 * @RSM_WHY_NO_KEY: this node has no valid key
 * @RSM_WHY_KEY: the peer's HMAC is wrong
 * @RSM_WHY_CONF: the exporter answers with BAD_CONF
 * @RSM_WHY_SILENT: the transport is connected, but no PROOF or GRANT has arrived in time
 * @RSM_WHY_MESSAGE: a message of the handshake is malformed
 *
 * Those from RSM_WHY_GREETING on are logged, since an administrator has to know them.  A process
 * causes the others every day, for example by asking for a segment before it is published.
 */
enum rsm_why {
	RSM_WHY_DONE,
	RSM_WHY_REFUSED,
	RSM_WHY_BUSY,
	RSM_WHY_LEFT,
	RSM_WHY_UNREACHABLE,
	RSM_WHY_GREETING,
	RSM_WHY_NODE,
	RSM_WHY_ADDRESS,
	RSM_WHY_TRUST,
	RSM_WHY_NO_KEY,
	RSM_WHY_KEY,
	RSM_WHY_CONF,
	RSM_WHY_SILENT,
	RSM_WHY_MESSAGE,
};

/**
 * enum rsm_conn_state - state of a connection, in the order in which a connection passes them
 * @RSM_CONN_CONNECTING: the transport is not connected yet
 * @RSM_CONN_LINKED: the transport is connected, and the handshake continues by messages
 * @RSM_CONN_UP: the handshake has succeeded, and requests can be posted
 * @RSM_CONN_DOWN: a request has failed or this side has hung up; the end of the transport has not
 *	been reported yet
 * @RSM_CONN_LOST: the connection has ended, or was not established
 * @RSM_CONN_ENDED: rsm_conn_end() frees the endpoint; the functions of struct rsm_conn_ops are no
 *	longer called
 * @RSM_CONN_NR_STATES: number of states
 */
enum rsm_conn_state {
	RSM_CONN_CONNECTING,
	RSM_CONN_LINKED,
	RSM_CONN_UP,
	RSM_CONN_DOWN,
	RSM_CONN_LOST,
	RSM_CONN_ENDED,
	RSM_CONN_NR_STATES,
};

/**
 * struct rsm_conn_ops - operations of one side of a connection
 * @importer: flag: the operations are for the importer's side, which receives the segment's key
 * @proven: exporter only: fill in conn->transcript.grant for an importer whose proof is valid or
 *	not required; return false to end the connection
 * @events: add the events that the peer has sent.  If @single is set, first add one event, but only
 *	if no event is pending.  Then add @events further events
 * @lost: handle a connection that has ended or was not established; called once, and not after
 *	rsm_conn_end()
 * @rebound: exporter only: handle the change of conn->rebind_pending to false; conn->lock held
 *
 * @proven, @events and @lost run in process context with end_lock held, so conn->owner is valid.
 */
struct rsm_conn_ops {
	bool	importer;
	bool	(*proven)(struct rsm_conn *conn);
	void	(*events)(struct rsm_conn *conn, bool single, u32 events);
	void	(*lost)(struct rsm_conn *conn);
	void	(*rebound)(struct rsm_conn *conn);
};

/*
 * Handles the completion of a request on a channel.  @seq is the request's seq; requests complete
 * in the order of their posts.  @ok is false if the request failed: the connection is then about to
 * end.  Context: softirq, no lock.
 */
typedef void (*rsm_done_fn)(struct rsm_conn *conn, u32 seq, bool ok);

/**
 * struct rsm_received - a completed receive whose message has not been processed
 * @slot: number of the receive's buffer
 * @len: bytes received
 */
struct rsm_received {
	u32	slot;
	u32	len;
};

/**
 * struct rsm_conn - one side of a connection between an import and its segment
 * @ctlr: adapter; valid until the connection has ended
 * @ia: IA handle of @ctlr; calls with a stale handle fail without harm
 * @ops: operations of this side; constant
 * @owner: struct rsm_import or struct rsm_export
 * @ref: reference count; the last put frees the memory
 * @rcu: head for the deferred free, since lookups run under RCU
 * @id: id in ctlr->conns
 * @peer: the other side; constant once the importer has begun, or the exporter has accepted
 * @entry: exporter: entry in export->peers; node->lock
 * @lane: exporter: lane of the importer; constant
 * @unproven: exporter: entry in lane->unproven, or empty; node->lock
 * @known: exporter: flag: the importer's node is this node or in the table; constant
 * @placed: exporter: flag: the connection has a place in @lane; node->lock, but @end_work reads the
 *	flag without the lock
 * @granted: exporter: flag: the importer has been sent the key; node->lock
 * @trusts: flag: the node trusts the network, so the peers need no proofs; constant
 * @transcript: messages of the handshake; @end_lock; the importer's proof does not change once sent
 * @answered: flag: the transport was connected, or the peer's host has rejected the connection;
 *	@end_lock, but rsm/remote.c reads the flag without the lock
 * @proof_received: exporter: flag: a PROOF has arrived; @end_lock
 * @end_work: exporter: work that ends a connection which has been removed from export->peers;
 *	queues itself again while the peer has events to acknowledge
 * @drain_deadline: exporter: time until which @end_work waits for these acknowledgments, in jiffies
 * @end_lock: mutex of the transition to RSM_CONN_ENDED, and of the creation of @ep
 * @ep: endpoint, or NULL
 * @evd: EVD of the endpoint's requests and receives
 * @pz: importer: protection zone of @mem, @ring and @ep
 * @mem: memory for messages, followed by the stage of an import
 * @mem_size: bytes of @mem
 * @lmr: registration of @mem
 * @context: lmr_context of @lmr
 * @done: completion handlers, by channel
 * @ring_lock: mutex of the creation of @ring
 * @ring: importer: ring that the process maps, or NULL; set once, by smp_store_release()
 * @inbox_work: work that processes @inbox
 * @lock: spinlock of all members below
 * @state: state; only conn_set_state() writes it; RSM_CONN_ENDED is set under @end_lock, too
 * @result: result of the handshake: -EINPROGRESS, 0 once the connection has been up, or
 *	the reason why it was not established; -EBUSY if the exporter had no place
 *	for the request; -EINPROGRESS if rsm_conn_end() comes first
 * @swapped: importer: flag: the exporter's byte order differs from this host's
 * @rkey: remote key of the segment; on the exporter's side valid only after a rebind
 * @addr: address of the segment's first byte, for use with @rkey
 * @length: importer: bytes of the segment
 * @posted: importer: number of requests posted with a key of the segment
 * @completed: importer: number of requests out of @posted that are known to have completed
 * @acks: number of sent ACKs that have not completed
 * @progress: time of the last completion, or of a post while no request was in flight, in jiffies
 * @ack_after: value of @completed at which the due ACK is sent
 * @ack_due: flag: this side must acknowledge a TELL
 * @tell_in_flight: flag: the peer has not acknowledged the last TELL
 * @tell_sent_at: time at which the last TELL was sent, in jiffies
 * @tell_rebinds: flag: the TELL in flight carries a new key
 * @want_single: flag: the next TELL carries an event that the peer drops if one is pending
 * @want_events: number of events that the next TELL carries
 * @want_rebind: exporter: flag: the next TELL carries the new key
 * @want_beat: flag: a TELL is due as a heartbeat, even if there are no events to send
 * @rebind_pending: exporter: flag: the peer has not acknowledged the new key
 * @inbox: ring buffer of completed receives for @inbox_work
 * @inbox_head: number of entries taken from @inbox
 * @inbox_tail: number of entries put into @inbox
 * @last_rx: time of the last receive, in jiffies; no lock
 * @wq: wait queue for the end of the handshake, for completions of the stage, and for ACKs
 * @beat: heartbeat work; during the handshake, the exporter's deadline for the proof, or the
 *	importer's repetition of the proof
 */
struct rsm_conn {
	struct rsm_ctlr			*ctlr;
	DAT_IA_HANDLE			ia;
	const struct rsm_conn_ops	*ops;
	void				*owner;
	struct kref			ref;
	struct rcu_head			rcu;
	u32				id;
	struct rsm_peer			peer;
	struct list_head		entry;
	struct rsm_lane			*lane;
	struct list_head		unproven;
	bool				known;
	bool				placed;
	bool				granted;
	bool				trusts;
	struct rsm_transcript		transcript;
	bool				answered;
	bool				proof_received;
	struct delayed_work		end_work;
	unsigned long			drain_deadline;
	struct mutex			end_lock;	/* RSM_CONN_ENDED, ep */
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
	spinlock_t			lock;		/* protects all members below */
	enum rsm_conn_state		state;
	int				result;
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

/* Importer: fills in the greeting, and the proof of the calling process except its HMAC. */
void rsm_auth_greet(struct rsm_conn *conn, u32 node, u32 segid, u32 perm);

/*
 * Exporter: checks that the importer and this node both require proofs, or both trust the network.
 * Return: 0, or -EKEYREJECTED with the reason in *@why.
 */
int rsm_auth_agree(struct rsm_node *node, const struct rsm_greeting *g, enum rsm_why *why);

/*
 * Reports the end of a handshake: in the trace, and in the kernel's log if @why is for the
 * administrator.  @err is what the importing process gets, or -EBUSY or -ETIMEDOUT.
 * Context: any but hard interrupt.
 */
void rsm_handshake_end(const struct rsm_peer *peer, enum rsm_why why, int err);

/* rsm/conn.c */

/**
 * rsm_conn_make() - allocate a connection
 * @ctlr: adapter
 * @ops: operations of this side
 * @owner: struct rsm_import or struct rsm_export; NULL if not known yet, or for a probe
 * @stage: bytes of memory for transfers, in addition to the memory for messages
 * @out: result, with a reference and without an endpoint
 *
 * Context: may sleep.  Return: 0, -ENOMEM, -ENOSPC.
 */
int rsm_conn_make(struct rsm_ctlr *ctlr, const struct rsm_conn_ops *ops, void *owner,
		  u32 stage, struct rsm_conn **out);

/**
 * rsm_conn_make_ep() - make the endpoint
 * @conn: connection without endpoint
 * @pz: protection zone of the endpoint
 * @traits: enum dat_ep_trait bits
 *
 * After an error, the caller must call rsm_conn_end(), which frees what this function has made.
 *
 * Context: may sleep; the caller prevents a concurrent rsm_conn_end().
 */
int rsm_conn_make_ep(struct rsm_conn *conn, DAT_PZ_HANDLE pz, u32 traits);

/**
 * rsm_conn_end() - tear a connection down
 * @conn: connection; the caller keeps its reference
 *
 * After the return, no bytes are transferred, and no upcall of conn->evd runs.
 *
 * Context: may sleep; not with node->lock held, nor in an upcall of conn->evd.
 */
void rsm_conn_end(struct rsm_conn *conn);
void rsm_conn_put(struct rsm_conn *conn);

/* Disconnects, and does not wait for the teardown.  Context: may sleep. */
void rsm_conn_hang_up(struct rsm_conn *conn);

/**
 * struct rsm_request - a transfer between local memory and the segment
 * @put: flag: a put; false: a get
 * @silent: flag: the request is a put that reports no completion of its own if it succeeds; a later
 *	request of the channel, which the caller must post at once, reports its success
 * @offset: offset in the segment; the caller has checked the offset and the length
 * @local: local memory, in the protection zone of the connection
 * @channel: channel that gets the completion
 * @seq: argument for the channel's handler
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
 * @conn: connection of an import
 * @req: request; not used after the return
 *
 * The send queue has room for the request: callers respect the limits RSM_STAGE_WRS and
 * RSM_RING_WRS.
 *
 * Context: any but hard interrupt.  Return: 0; -ENOTCONN if the connection is lost; -EIO if the
 * device is gone, or if a bug made the post fail.
 */
int rsm_conn_rdma(struct rsm_conn *conn, struct rsm_request *req);

/*
 * Posts an RDMA read of one byte, with results like those of rsm_conn_rdma().  The read completes
 * after all earlier puts have arrived in the segment.
 */
int rsm_conn_flush(struct rsm_conn *conn, enum rsm_channel channel, u32 seq);

/*
 * Registers contiguous memory in the protection zone @pz.  With @reads, the memory may be the
 * destination of RDMA reads.
 * Context: may sleep.
 */
int rsm_conn_register(struct rsm_ctlr *ctlr, DAT_PZ_HANDLE pz, void *va, u32 size, bool reads,
		      DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context);

/* Upcall of ctlr->evd for connection events; @ctlr is a struct rsm_ctlr. */
void rsm_conn_upcall(void *ctlr, const DAT_EVENT *event, DAT_BOOLEAN more);

/* Prepares the lanes and the gate of an adapter that is not open yet. */
void rsm_serve_init_lanes(struct rsm_ctlr *ctlr);

/* Upcall of ctlr->cr_evd for connection requests; @ctlr is a struct rsm_ctlr. */
void rsm_serve_upcall(void *ctlr, const DAT_EVENT *event, DAT_BOOLEAN more);

/* rsm/msg.c */

/*
 * Sends an event to the peer.  With @single, the peer drops the event if an event is pending.
 * Context: any but hard interrupt.  Return: 0, or -ENOTCONN if @conn is lost.
 */
int rsm_msg_tell(struct rsm_conn *conn, bool single);

/*
 * Exporter: sends the key @rkey of a segment's new memory to the peer.  Return: true if this call
 * has set conn->rebind_pending.
 */
bool rsm_msg_rebind(struct rsm_conn *conn, u32 rkey, u64 addr);
bool rsm_msg_rebind_pending(struct rsm_conn *conn);

/* Returns true if the peer has acknowledged all events, or if the connection is not up. */
bool rsm_msg_drained(struct rsm_conn *conn);

/* Waits until rsm_msg_drained() returns true, or until @until, a time in jiffies. */
void rsm_msg_drain(struct rsm_conn *conn, unsigned long until);

/**
 * struct rsm_remote - state of an import that connects through an adapter
 * @ctlr: adapter; reference held until the import ends
 * @conn: connection; reference held
 * @io_lock: mutex of the stage and of @posted
 * @posted: number of stage requests posted so far
 * @done: number of stage requests that are known to have succeeded; only rsm_stage_done() writes it
 * @failed: flag: the stage request with number @done has failed; only rsm_stage_done() writes it
 */
struct rsm_remote {
	struct rsm_ctlr		*ctlr;
	struct rsm_conn		*conn;
	struct mutex		io_lock;	/* stage, posted */
	u32			posted;
	u32			done;
	bool			failed;
};

/* rsm/stage.c: completion handler of the stage */
void rsm_stage_done(struct rsm_conn *conn, u32 seq, bool ok);

/*
 * Workqueue of heartbeats and messages.  The teardown of connections waits for these works, so it
 * runs on other workqueues.
 */
extern struct workqueue_struct *rsm_wq;

/* rsm/remote.c */

/**
 * rsm_remote_probe() - find out whether a node answers a connection request
 * @ctlr: adapter that leads to the node
 * @node: node id
 *
 * Context: sleeps up to two seconds, or four if the node accepts the request and then sends
 * nothing.  Return: 0 if the node has accepted or refused the request,
 * -EHOSTUNREACH; -EAGAIN: the connection was lost; or the error that prevented the probe.
 */
int rsm_remote_probe(struct rsm_ctlr *ctlr, u32 node);

#endif /* _DAT_RSM_RDMA_H */
