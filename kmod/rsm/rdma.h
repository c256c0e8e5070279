/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Segments on other hosts: RSM as a consumer of kDAPL.
 *
 *   rsm_ctlr              an adapter that RSM uses: IA, two EVDs, service point
 *    └ rsm_conn           one side of a connection between an import and its segment, or a probe
 *
 * Each segment has its own protection zone and its own memory registration.  The exporter creates
 * the endpoint for each importer of a segment in that segment's zone.  So an importer cannot use
 * the key of one segment on its connection to another segment.
 *
 * Each import also has its own protection zone.  With iWARP the exporter may write to the memory
 * into which the import reads.  The separate zone keeps the exporter from the memory of other
 * imports.
 *
 * The exporter's kernel checks the importer's permissions before it sends the key.  Except on an
 * adapter with ctlr->open_access, the exporter's queue pair accepts no writes if the import has no
 * DAT_RSM_WRITE.
 *
 * rsm_conn_end() frees the endpoint of a connection, and no byte is transferred after that.  If the
 * exporter ends the connection, an event cuts the import, but the importer's endpoint stays until
 * the import ends.
 *
 * Locks, outer to inner, beside the locks of rsm.h:
 *
 *   conn->end_lock        mutex, outside node->lock: calls of conn->ops except rebound();
 *                         creation of an exporter's endpoint
 *   remote->io_lock       mutex: one call at a time transfers through the stage
 *   conn->ring_lock       mutex: one call at a time makes the ring
 *   conn->lock            BH spinlock: kDAPL posts, and members of struct rsm_conn
 *
 * rsm_conn_end() frees conn->evd, and the free waits for upcalls of that EVD.  So such an upcall
 * takes only conn->lock and ring->lock.
 */
#ifndef _DAT_RSM_RDMA_H
#define _DAT_RSM_RDMA_H

#include "kdapl/internal.h"
#include "rsm/rsm.h"
#include "rsm/wire.h"

/*
 * Queue sizes of a connection.  RSM_STAGE_SLOTS and each RSM_*_WRS are the largest number of
 * requests that may be in flight for the use in its comment.
 */
#define RSM_STAGE_SLOTS		8	/* transfers of DAT_IOC_RSM_IO */
#define RSM_STAGE_GROUP		4	/* largest number of transfers that are posted at once */
#define RSM_STAGE_WRS		(RSM_STAGE_SLOTS + 1)	/* transfers and a flush */
#define RSM_RING_WRS		32	/* entries of the mapped ring that are posted */
#define RSM_RING_SIGNAL_EVERY		8	/* interval of signalled puts */
#define RSM_ACK_WRS		8	/* ACKs of an importer that have not completed */
#define RSM_MSG_WRS		(RSM_ACK_WRS + 4)	/* ACKs and other messages */
#define RSM_CONN_WRS		(RSM_STAGE_WRS + RSM_RING_WRS + RSM_MSG_WRS)	/* all uses */
#define RSM_SERVE_ACK_WRS	(RSM_CONN_WRS - 4)	/* ACKs of an exporter */
#define RSM_CONN_RECVS		4	/* number of receives */

/*
 * Limits on connection requests.  A lane counts requests and unproven connections.  A connection is
 * unproven until serve_grant() grants access, after a check of the importer's proof unless the
 * network is trusted.  Each node of node->table and this node have a lane each.  All other
 * importers share the last lane with requests from unprivileged ports.  While a lane is full, new
 * requests are refused, and the importers ask again.
 *
 * So with RoCE, neither an unknown peer nor an unprivileged process of a node can fill the lane of
 * a node.  With iWARP, a process of a node can fill the lane of that node, because RSM accepts
 * every port number.  On InfiniBand, a process that uses AF_IB can fill any lane, because it writes
 * the address and the port into the request itself.
 */
#define RSM_LANE_OTHERS		(DAT_RSM_MAX_NODE + 1)
#define RSM_LANES		(RSM_LANE_OTHERS + 1)
#define RSM_NODE_PLACES		14	/* limit of a node's lane */
#define RSM_OTHER_PLACES	112	/* limit of the lane RSM_LANE_OTHERS */
/*
 * Largest number of unproven connections in the lane RSM_LANE_OTHERS.  At this limit, a new
 * connection evicts the oldest connection, so peers that never send a proof cannot keep other
 * importers out.  An importer that is evicted during the handshake asks again.
 *
 * No connection is evicted from the lane of a node, because many importers of one node may ask at
 * once.
 */
#define RSM_OTHER_UNPROVEN	64
/* Longest time between the exporter's accept and the success of the handshake. */
#define RSM_PROOF_TIMEOUT	(10 * HZ)

#define RSM_SLOT_SIZE		16384	/* size of a stage slot in bytes */
#define RSM_MAX_CONNS		4096	/* largest number of connections of an adapter */
/*
 * Largest number of connections to local segments, out of an adapter's RSM_MAX_CONNS.  The other
 * connections are reserved for imports.
 */
#define RSM_MAX_SERVED		3072

/* State of an adapter. */
enum rsm_ctlr_state {
	RSM_CTLR_OPENING,	/* one caller opens the adapter; other callers wait */
	RSM_CTLR_OPEN,
	/*
	 * rsm_ctlr_get() has found that the device is gone or that its address has changed.  A new
	 * user opens the adapter anew.
	 */
	RSM_CTLR_DEAD,
	/* The last user is gone.  New users wait until the listener's port number is free. */
	RSM_CTLR_CLOSING,
	RSM_CTLR_GONE,		/* closed and about to be freed */
	RSM_CTLR_NR_STATES,
};

/* Requests and unproven connections of one node, or of all importers without a lane of a node. */
struct rsm_lane {
	/* Number of requests and of unproven connections, including connections in teardown. */
	atomic_t		places;
	/*
	 * List of struct rsm_conn that are unproven and not in teardown, oldest first; always empty
	 * in the lane of a node; protected by node->lock.
	 */
	struct list_head	unproven;
	unsigned int		nr_unproven;	/* length of @unproven; node->lock */
};

/* An adapter that RSM uses. */
struct rsm_ctlr {
	struct rsm_node		*node;
	struct list_head	entry;		/* in node->ctlrs; node->ctlr_lock */
	unsigned int		refs;		/* number of references; node->ctlr_lock */
	u32			number;		/* controller number in user space, from 1 */
	char			name[DAT_NAME_SIZE];	/* name of the adapter */
	enum rsm_ctlr_state	state;	/* changed by ctlr_set_state() only; node->ctlr_lock */
	DAT_IA_HANDLE		ia;
	/* EVD of connection events.  Calls of rsm_conn_upcall() do not overlap, and may sleep. */
	DAT_EVD_HANDLE		evd;
	/* EVD of connection requests; separate, so that many requests delay no event of @evd. */
	DAT_EVD_HANDLE		cr_evd;
	DAT_PSP_HANDLE		psp;
	bool			iwarp;
	bool			open_access;	/* flag: a peer has access before its proof */
	/* Privileges that the destination of an RDMA read needs. */
	DAT_MEM_PRIV_FLAGS	read_priv;
	u32			reads;		/* limit of RDMA reads in flight of an EP */
	struct sockaddr_storage	addr;		/* address at which @psp listens */
	struct dat_gate		gate;		/* gate of @cr_evd; counts requests in @lanes */
	/* Lanes of nodes, by node id; then the lane RSM_LANE_OTHERS of all other importers. */
	struct rsm_lane		lanes[RSM_LANES];
	struct xarray		conns;		/* struct rsm_conn by id; read under RCU */
	u32			next_conn;	/* start of the search for a free id */
};

/* rsm/error.c */

/* Converts an error of a kDAPL call to an errno of rsm/error.c. */
int rsm_dat_error(DAT_RETURN rc);

/* Converts 0 or an errno to the error in an answer or a GRANT. */
__be32 rsm_error_to_wire(int err);

/*
 * Converts a nonzero error that a peer has sent to an errno.  The peer may send any value.  A value
 * that the table in rsm/error.c does not mark with .wire becomes -EHOSTUNREACH.
 */
int rsm_error_of_wire(__be32 code);

/* rsm/ctlr.c, rsm/node.c */

/*
 * Gets a reference to the adapter with controller number @number, which is unchecked, and opens the
 * adapter if necessary.  Context: may sleep; waits for an open or close in progress.  Return: 0;
 * -EINTR if the process is killed during that wait; -ENODEV if there is no such adapter; -ENOMEM;
 * or another error of rsm_dat_error().
 */
int rsm_ctlr_get(struct rsm_node *node, u32 number, struct rsm_ctlr **out);

/*
 * Drops a reference.  The last put closes the adapter.  All connections of the caller's import,
 * export or probes must have ended.  Context: may sleep; not in an upcall of the adapter.
 */
void rsm_ctlr_put(struct rsm_ctlr *ctlr);

/*
 * Looks up the address, without port, of node @id at an adapter.  The local node has the address of
 * the adapter.  Returns -EHOSTUNREACH if the table has no entry for the node at this controller.
 */
int rsm_node_addr(struct rsm_ctlr *ctlr, u32 id, struct sockaddr_storage *out);

/*
 * Returns false if node @id is known and @addr is not the address of that node at @ctlr.  Sets
 * *@known to true if @id is known, that is, if @id is the local node or is in the table.
 *
 * A node may have another address at each controller.  Only the address at @ctlr counts, because an
 * unrelated host may have the same address in the network of another controller.  Context: any.
 */
bool rsm_node_is_at(struct rsm_ctlr *ctlr, u32 id, const struct sockaddr *addr, bool *known);

/* Port at which new service points listen and to which importers connect; in host byte order. */
extern unsigned int rsm_port;

/* Parts of RSM that post requests and handle completions.  A cookie contains the channel. */
enum rsm_channel {
	RSM_CHANNEL_MSG,
	RSM_CHANNEL_STAGE,
	RSM_CHANNEL_RING,
	RSM_CHANNELS,
	RSM_CHANNEL_RECV = RSM_CHANNELS		/* receives; no entry in conn->done */
};

struct rsm_conn;
struct rsm_ring;

/* The other side of a handshake.  A field is 0 as long as its value is unknown. */
struct rsm_peer {
	struct sockaddr_storage	addr;		/* address without a port */
	u32			node;
	u32			segid;
	bool			exports;	/* flag: the peer is the exporter */
};

/*
 * Results of a handshake.  Results from RSM_WHY_GREETING on are logged, because an administrator
 * has to know them.  Programs often cause the other results, for example when a program asks for a
 * segment that is not published yet.
 */
enum rsm_why {
	RSM_WHY_DONE,
	RSM_WHY_REFUSED,	/* the exporter refuses access, or one side lacks resources */
	/* The exporter is busy; see kdat_ep_peer_is_busy().  The importer asks again. */
	RSM_WHY_BUSY,
	/* The peer has disconnected, or the connection broke; an importer asks again. */
	RSM_WHY_LEFT,
	RSM_WHY_ENDED,		/* this side has disconnected, or could not connect */
	RSM_WHY_UNREACHABLE,	/* no host answers, or the refusal is not from RSM */
	RSM_WHY_NO_ADDRESS,	/* the exporter's node is not in node->table for this adapter */
	/*
	 * A process exports or imports while this node has no valid key.  The process gets the
	 * error, and librsm prints what to do, so the kernel logs nothing.
	 */
	RSM_WHY_NOT_READY,
	/* The peer is no RSM kernel of this version, or does not use a privileged source port. */
	RSM_WHY_GREETING,
	RSM_WHY_NODE,		/* the importer asks for a node id that this host does not have */
	RSM_WHY_ADDRESS,	/* the importer's node has another address at this adapter */
	RSM_WHY_TRUST,		/* only one of the two nodes requires proofs */
	RSM_WHY_NO_KEY,		/* this node has no valid key in a handshake with a peer */
	RSM_WHY_OPEN_ACCESS,	/* the exporter's adapter cannot deny access before the proof */
	RSM_WHY_KEY,		/* the peer's HMAC is wrong */
	RSM_WHY_CONF,		/* the exporter's error is BAD_CONF, or has no valid HMAC */
	RSM_WHY_SILENT,		/* no PROOF or GRANT has arrived in time */
	RSM_WHY_MESSAGE,	/* a malformed message, or a second proof with other content */
	RSM_NR_WHYS
};

/* States of a connection, in the order of its life.  A connection may skip states. */
enum rsm_conn_state {
	RSM_CONN_CONNECTING,
	RSM_CONN_LINKED,	/* the transport is connected; PROOF and GRANT are exchanged */
	RSM_CONN_UP,		/* the handshake has succeeded; requests can be posted */
	/* A request has failed or this side has hung up; no event has reported the end yet. */
	RSM_CONN_DOWN,
	/* An event has reported the end, the handshake has failed, or rsm_conn_end() has begun. */
	RSM_CONN_LOST,
	/* The endpoint is being freed.  Of conn->ops, only rebound() may be called. */
	RSM_CONN_ENDED,
	RSM_CONN_NR_STATES,
};

/*
 * Operations of one side of a connection.  @proven, @events and @lost run in process context with
 * end_lock held, so conn->owner is valid.
 */
struct rsm_conn_ops {
	bool	importer;	/* flag: this side is the importer, which receives the key */
	/*
	 * Exporter: fills in transcript.grant for an importer whose proof is valid or not required.
	 * Returns false to end the connection.
	 */
	bool	(*proven)(struct rsm_conn *conn);
	/* Adds @events events.  With @single, first adds an event if no event is pending. */
	void	(*events)(struct rsm_conn *conn, bool single, u32 events);
	/*
	 * Handles the end of a connection, or a failed handshake.  Called at most once, and not
	 * after rsm_conn_end().
	 */
	void	(*lost)(struct rsm_conn *conn);
	/* Exporter: called after conn->rebind_pending was cleared.  conn->lock is held. */
	void	(*rebound)(struct rsm_conn *conn);
};

/*
 * Handles the completion of a request on a channel.  @seq: seq of the request; requests complete in
 * the order of the posts.  @ok: false if the request has failed, and the connection is about to
 * end.  Context: softirq, no lock.
 */
typedef void (*rsm_done_fn)(struct rsm_conn *conn, u32 seq, bool ok);

/* A completed receive whose message has not been processed. */
struct rsm_received {
	u32	slot;		/* index of the receive buffer */
	u32	len;		/* number of received bytes */
};

/* One side of a connection between an import and its segment. */
struct rsm_conn {
	struct rsm_ctlr			*ctlr;		/* valid until the connection has ended */
	DAT_IA_HANDLE			ia;	/* IA of @ctlr; a stale handle fails harmlessly */
	const struct rsm_conn_ops	*ops;		/* constant */
	/* Import or export; NULL for a probe, and for an exporter before serve_attach(). */
	void				*owner;
	struct kref			ref;
	struct rcu_head			rcu;		/* delays the free, for lookups */
	u32				id;		/* index in ctlr->conns */
	struct rsm_peer			peer;		/* set before the handshake begins */
	struct list_head		entry;		/* exporter: in export->peers; node->lock */
	struct rsm_lane			*lane;		/* exporter: importer's lane; constant */
	/* Exporter: entry in lane->unproven, or empty; protected by node->lock. */
	struct list_head		unproven;
	/* Flag of an exporter: the importer's node is this node or in the table; constant. */
	bool				known;
	/*
	 * Flag of an exporter: the connection counts in lane->places.  Written under node->lock;
	 * @end_work reads @placed without a lock.
	 */
	bool				placed;
	/*
	 * Flag of an exporter: the importer may have the key.  Written under node->lock; @end_work
	 * reads @granted without a lock.
	 */
	bool				granted;
	bool				trusts;	/* flag: the network is trusted; constant */
	/*
	 * Messages of the handshake; protected by @end_lock.  A sent proof is constant, so
	 * rsm_auth_prove_again() reads the proof without @end_lock.  After a success of the
	 * handshake, @transcript is constant, and readers need no lock.
	 */
	struct rsm_transcript		transcript;
	/*
	 * Flag: the transport was connected, or the request was refused; see conn_refused() and
	 * conn_rejected().  Written under @end_lock; remote.c reads @answered without a lock.
	 */
	bool				answered;
	/*
	 * Flag of an exporter: a PROOF has arrived.  Written under @end_lock; conn_beat() reads
	 * @proof_received without @end_lock.
	 */
	bool				proof_received;
	/*
	 * Exporter: work that ends a connection which has left export->peers.  The work queues
	 * itself again, until @drain_deadline or until rsm_msg_drained() returns true.
	 */
	struct delayed_work		end_work;
	unsigned long			drain_deadline;	/* time in jiffies */
	struct mutex			end_lock;	/* see the top of this file */
	DAT_EP_HANDLE			ep;		/* NULL before rsm_conn_make_ep() */
	DAT_EVD_HANDLE			evd;		/* EVD of requests and receives */
	DAT_PZ_HANDLE			pz;		/* importer: PZ of @mem, @ring and @ep */
	void				*mem;	/* page for messages, then the importer's stage */
	u32				mem_size;	/* size of @mem in bytes */
	DAT_LMR_HANDLE			lmr;		/* LMR of @mem */
	DAT_LMR_CONTEXT			context;	/* local key of @lmr */
	rsm_done_fn			done[RSM_CHANNELS];	/* handlers, by channel */
	struct mutex			ring_lock;	/* protects the creation of @ring */
	struct rsm_ring			*ring;	/* NULL, or set once by smp_store_release() */
	struct work_struct		inbox_work;	/* work that processes @inbox */
	spinlock_t			lock;		/* protects all members below */
	/* Written by conn_set_state() only; set to RSM_CONN_ENDED under @end_lock and @lock. */
	enum rsm_conn_state		state;
	/*
	 * Result of the handshake: 0 after a success; -EINPROGRESS before the end of the handshake,
	 * and if rsm_conn_end() comes before that end; else the error, -EBUSY with RSM_WHY_BUSY.
	 */
	int				result;
	bool				reported;	/* flag: the handshake's end is reported */
	/* Flag of an importer: the exporter has the other byte order. */
	bool				swapped;
	/* Remote key of the segment; on the exporter's side valid only after a rebind. */
	u32				rkey;
	u64				addr;	/* address of the segment's first byte, for @rkey */
	u64				length;		/* importer: size of the segment in bytes */
	u32				posted;		/* importer: posted transfers and flushes */
	u32				completed;	/* completed transfers and flushes */
	u32				acks;	/* number of sent ACKs that have not completed */
	/*
	 * Time in jiffies at which the wait for a completion began, for conn_stuck().  Set by each
	 * completion of a request, by a post of a transfer or flush while none is in flight, and by
	 * a post of an ACK while none is in flight.
	 */
	unsigned long			progress;
	/* Value of @completed at which the due ACK is sent. */
	u32				ack_after;
	bool				ack_due;	/* flag: this side must send an ACK */
	/* Flag: the peer has not acknowledged the last TELL. */
	bool				tell_in_flight;
	unsigned long			tell_sent_at;	/* time of the last TELL in jiffies */
	bool				tell_rebinds;	/* flag: the TELL in flight has a new key */
	/* Flag: the next TELL carries an event that the peer drops if an event is pending. */
	bool				want_single;
	u32				want_events;	/* number of events for the next TELL */
	/* Flag of an exporter: the next TELL carries the new key. */
	bool				want_rebind;
	bool				want_beat;	/* flag: a heartbeat is due */
	/* Flag of an exporter: the peer has not acknowledged the new key. */
	bool				rebind_pending;
	/* Ring buffer of completed receives. */
	struct rsm_received		inbox[RSM_CONN_RECVS];
	u32				inbox_head;	/* number of entries taken */
	u32				inbox_tail;	/* number of entries added */
	/* Time in jiffies of the last receive; written and read without a lock. */
	unsigned long			last_rx;
	/* Woken by changes of @state, by completions of the stage, and by ACKs. */
	wait_queue_head_t		wq;
	/*
	 * Work that sends heartbeats, and disconnects from a peer that does not answer.  During the
	 * handshake, the work of an importer sends the proof once more.  The work of an exporter
	 * disconnects if the handshake has not succeeded in time.
	 */
	struct delayed_work		beat;
};

/* rsm/auth.c */

/*
 * Importer: fills in the greeting and the proof.  The proof gets the credentials of the calling
 * process, but not the HMAC, which rsm_auth_prove() adds.
 */
void rsm_auth_greet(struct rsm_conn *conn, u32 node, u32 segid, u32 perm);

/*
 * Exporter: checks that the importer and this node both require proofs, or both trust the network.
 * If they require proofs, also checks that this node has a valid key.  Return: 0, or -EKEYREJECTED
 * with the reason in *@why.
 */
int rsm_auth_agree(struct rsm_node *node, const struct rsm_greeting *g, enum rsm_why *why);

/*
 * Reports the end of a handshake to the trace.  If @why is RSM_WHY_GREETING or a later value, also
 * logs @why and peer->addr.  @err: 0, an errno of rsm/error.c, or -EBUSY.  For the handshake of a
 * connection, rsm_conn_report() ensures that only one end is reported.  Context: any but hard
 * interrupt.
 */
void rsm_handshake_end(const struct rsm_peer *peer, enum rsm_why why, int err);

/* rsm/conn.c */

/*
 * Allocates a connection without an endpoint.  @owner: import of an importer; NULL for a probe, and
 * for an exporter, which sets the owner later.  @stage: size in bytes of the memory for transfers.
 * The caller gets a reference.  Context: may sleep.
 */
int rsm_conn_make(struct rsm_ctlr *ctlr, const struct rsm_conn_ops *ops, void *owner,
		  u32 stage, struct rsm_conn **out);

/*
 * Makes the endpoint in the zone @pz.  @traits: bits of enum dat_ep_trait.  After an error, the
 * caller must call rsm_conn_end(), which frees what this function has made.
 * Context: may sleep; the caller prevents a concurrent rsm_conn_end().
 */
int rsm_conn_make_ep(struct rsm_conn *conn, DAT_PZ_HANDLE pz, u32 traits);

/*
 * Tears a connection down.  The caller keeps the reference.  After the return, no bytes are
 * transferred, and no upcall of conn->evd runs.  Context: may sleep; node->lock and end_lock must
 * not be held; not in an upcall of conn->evd, and not in a work item of rsm_wq.
 */
void rsm_conn_end(struct rsm_conn *conn);
void rsm_conn_put(struct rsm_conn *conn);

/*
 * Reports the end of the handshake, unless the end has been reported already.  @why and @err: see
 * rsm_handshake_end().  Context: conn->lock must not be held.
 */
void rsm_conn_report(struct rsm_conn *conn, enum rsm_why why, int err);

/* Disconnects without waiting for the teardown.  Context: may sleep; conn->lock not held. */
void rsm_conn_hang_up(struct rsm_conn *conn);

/* A transfer between local memory and the segment. */
struct rsm_request {
	bool			put;	/* flag: put, else get */
	/*
	 * Flag: the put reports a completion only after a failure.  The caller must at once post
	 * another request of the channel that is not silent.  The success of that request implies
	 * that the put has succeeded.
	 */
	bool			silent;
	/* Offset in the segment; the caller has checked that the transfer is in the segment. */
	u64			offset;
	DAT_LMR_TRIPLET		local;	/* local memory, in the zone of the connection */
	enum rsm_channel	channel;	/* channel that handles the completion */
	u32			seq;	/* argument for the handler of the channel */
};

/*
 * Posts a transfer of an import.  The send queue has room, because callers respect RSM_STAGE_WRS
 * and RSM_RING_WRS.  Context: any but hard interrupt.  Returns -ENOTCONN if the connection is not
 * up, or -EIO if the post fails, because the device is gone or because of a bug.
 */
int rsm_conn_rdma(struct rsm_conn *conn, struct rsm_request *req);

/*
 * Posts an RDMA read of one byte, which completes after all earlier puts have arrived in the
 * segment.  Context and results: see rsm_conn_rdma().
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
 * Sends an event to the peer, with the next TELL.  With @single, the peer drops the event if an
 * event is pending.  Context: any but hard interrupt.  Return: 0, or -ENOTCONN if @conn is lost.
 */
int rsm_msg_tell(struct rsm_conn *conn, bool single);

/*
 * Exporter: sends the key @rkey of a segment's new memory to the peer, with the next TELL.  Returns
 * true if this call has set conn->rebind_pending, false if the flag was set before or if @conn is
 * lost.  Context: any but hard interrupt.
 */
bool rsm_msg_rebind(struct rsm_conn *conn, u32 rkey, u64 addr);
bool rsm_msg_rebind_pending(struct rsm_conn *conn);

/* Returns true if the peer has acknowledged all TELLs and none is due, or if @conn is not up. */
bool rsm_msg_drained(struct rsm_conn *conn);

/* Waits until rsm_msg_drained() returns true, or until @until, a time in jiffies. */
void rsm_msg_drain(struct rsm_conn *conn, unsigned long until);

/* State of an import that connects through an adapter. */
struct rsm_remote {
	struct rsm_ctlr		*ctlr;	/* adapter, with a reference until the import ends */
	struct rsm_conn		*conn;	/* connection, with a reference */
	struct mutex		io_lock;	/* protects the stage and @posted */
	u32			posted;	/* number of posted requests of the stage */
	/* Number of requests known to have succeeded; written by rsm_stage_done() only. */
	u32			done;
	/* Flag: the request with number @done has failed; written by rsm_stage_done() only. */
	bool			failed;
};

/* rsm/stage.c: completion handler of the stage */
void rsm_stage_done(struct rsm_conn *conn, u32 seq, bool ok);

/*
 * Workqueue of heartbeats, messages and cuts of rings.  The teardown of a connection waits for work
 * items of this workqueue, so the teardown must not run on this workqueue.
 */
extern struct workqueue_struct *rsm_wq;

/* rsm/remote.c */

/*
 * Probes a node.  Returns 0 if the node accepts or refuses a connection request, or if rdma_cm
 * fails to send the request.  Returns an errno if the node does not answer, if another node answers
 * at the address, or if kDAPL cannot begin to connect.  Context: sleeps for up to two seconds, or
 * up to four seconds if the node accepts and then sends nothing.
 */
int rsm_remote_probe(struct rsm_ctlr *ctlr, u32 node);

#endif /* _DAT_RSM_RDMA_H */
