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

/* State of an adapter. */
enum rsm_ctlr_state {
	RSM_CTLR_OPENING,	/* one caller opens the adapter; other callers wait */
	RSM_CTLR_OPEN,
	/* The device is gone or its address has changed: users stay, and no new user comes. */
	RSM_CTLR_DEAD,
	/* The last user has gone.  New users wait, because the port is still in use. */
	RSM_CTLR_CLOSING,
	RSM_CTLR_GONE,		/* closed and about to be freed */
	RSM_CTLR_NR_STATES,
};

/* Importers that have proven nothing yet, of one node or of all unknown nodes. */
struct rsm_lane {
	/* Places in use, by requests and by connections without a verified proof, also closing. */
	atomic_t		places;
	/*
	 * struct rsm_conn without a verified proof, oldest first; empty in the lane of a node;
	 * node->lock.
	 */
	struct list_head	unproven;
	unsigned int		nr_unproven;	/* node->lock */
};

/* An adapter that RSM uses. */
struct rsm_ctlr {
	struct rsm_node		*node;
	struct list_head	entry;		/* in node->ctlrs; node->ctlr_lock */
	unsigned int		refs;		/* mainly of exports and imports; node->ctlr_lock */
	u32			number;		/* in user space, from 1 */
	char			name[DAT_NAME_SIZE];	/* of the adapter */
	enum rsm_ctlr_state	state;	/* only ctlr_set_state() writes it; node->ctlr_lock */
	DAT_IA_HANDLE		ia;
	/* Connection events.  Upcalls, of rsm_conn_upcall(), run one at a time and may sleep. */
	DAT_EVD_HANDLE		evd;
	/* Connection requests, apart from @evd: a flood of them delays no connection event. */
	DAT_EVD_HANDLE		cr_evd;
	DAT_PSP_HANDLE		psp;
	bool			iwarp;
	DAT_MEM_PRIV_FLAGS	read_priv;	/* needed by the destination of an RDMA read */
	u32			reads;		/* maximum RDMA reads in flight of an endpoint */
	struct sockaddr_storage	addr;		/* at the open, where @psp listens */
	struct dat_gate		gate;		/* of @cr_evd; gives the places of @lanes */
	/* Indexed by the importer's node id; unknown nodes share RSM_LANE_OTHERS. */
	struct rsm_lane		lanes[RSM_LANES];
	struct xarray		conns;		/* by id; looked up under RCU */
	u32			next_conn;	/* where the search for a free id begins */
};

/* rsm/ctlr.c, rsm/node.c */

/*
 * Opens the adapter with controller number @number, which is unchecked, or gets a reference to the
 * open one.  Context: may sleep; waits for an open or close in progress.  Returns -EINTR if the
 * process is being killed.
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

/*
 * Looks up the address, without port, that node @id has at an adapter.  The local node has the
 * address of the adapter.  Returns -EHOSTUNREACH if the table does not have the node.
 */
int rsm_node_addr(struct rsm_ctlr *ctlr, u32 id, struct sockaddr_storage *out);

/*
 * Returns false if the address of node @id is known, and @addr is another one.  Sets *@known if @id
 * is the local node or in the table.
 *
 * A node may have another address at each controller.  Only the address at @ctlr counts, because a
 * stranger may have the same address in the network of another controller.  Context: any.
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

/* The other side of a handshake, as far as it is known. */
struct rsm_peer {
	struct sockaddr_storage	addr;		/* without a port */
	u32			node;
	u32			segid;
	bool			exports;	/* the peer is the exporter */
};

/*
 * How a handshake has ended.  Those from RSM_WHY_GREETING on are logged, since an administrator has
 * to know them.  Programs cause the others every day, for example when they ask for a segment that
 * is not published yet.
 */
enum rsm_why {
	RSM_WHY_DONE,
	RSM_WHY_REFUSED,	/* decided by the exporter for the segment, or it lacks resources */
	RSM_WHY_BUSY,		/* the exporter has no place; the importer asks again */
	RSM_WHY_LEFT,		/* the exporter has disconnected; the importer asks again */
	RSM_WHY_UNREACHABLE,	/* no answer, or nothing listens */
	RSM_WHY_GREETING,	/* no RSM kernel of this version, or not from a port of kernels */
	RSM_WHY_NODE,		/* the importer asks for a node id that this host does not have */
	RSM_WHY_ADDRESS,	/* the importer's node has another address at this adapter */
	RSM_WHY_TRUST,		/* only one of the two nodes requires proofs */
	RSM_WHY_NO_KEY,		/* this node has no valid key */
	RSM_WHY_KEY,		/* the peer's HMAC is wrong */
	RSM_WHY_CONF,		/* the exporter answers with BAD_CONF */
	RSM_WHY_SILENT,		/* no PROOF or GRANT has arrived in time */
	RSM_WHY_MESSAGE,	/* a malformed message */
};

/* State of a connection, in the order in which a connection passes them. */
enum rsm_conn_state {
	RSM_CONN_CONNECTING,
	RSM_CONN_LINKED,	/* the transport is connected; the handshake goes on by messages */
	RSM_CONN_UP,		/* the handshake has succeeded; requests can be posted */
	/* A request has failed or this side has hung up; the transport has not ended yet. */
	RSM_CONN_DOWN,
	RSM_CONN_LOST,		/* the connection has ended, or was not established */
	/* The endpoint is being freed; no function of struct rsm_conn_ops is called any more. */
	RSM_CONN_ENDED,
	RSM_CONN_NR_STATES,
};

/*
 * Operations of one side of a connection.  @proven, @events and @lost run in process context with
 * end_lock held, so conn->owner is valid.
 */
struct rsm_conn_ops {
	bool	importer;	/* of the importer's side, which receives the key */
	/*
	 * Exporter: fills in transcript.grant for an importer whose proof is valid or not required.
	 * Returns false to end the connection.
	 */
	bool	(*proven)(struct rsm_conn *conn);
	/* Adds @events events of the peer.  With @single, first adds one if no event is pending. */
	void	(*events)(struct rsm_conn *conn, bool single, u32 events);
	/*
	 * The connection has ended, or was not established.  Called once, and not after
	 * rsm_conn_end().
	 */
	void	(*lost)(struct rsm_conn *conn);
	/* Exporter: conn->rebind_pending has become false; conn->lock held. */
	void	(*rebound)(struct rsm_conn *conn);
};

/*
 * Handles the completion of a request on a channel.  @seq is the request's seq; requests complete
 * in the order of their posts.  @ok is false if the request failed: the connection is then about to
 * end.  Context: softirq, no lock.
 */
typedef void (*rsm_done_fn)(struct rsm_conn *conn, u32 seq, bool ok);

/* A completed receive whose message has not been processed. */
struct rsm_received {
	u32	slot;		/* of the buffer */
	u32	len;		/* bytes received */
};

/* One side of a connection between an import and its segment. */
struct rsm_conn {
	struct rsm_ctlr			*ctlr;		/* valid until the connection has ended */
	DAT_IA_HANDLE			ia;	/* of @ctlr; a stale handle fails without harm */
	const struct rsm_conn_ops	*ops;		/* constant */
	void				*owner;		/* struct rsm_import or struct rsm_export */
	struct kref			ref;
	struct rcu_head			rcu;		/* lookups run under RCU */
	u32				id;		/* in ctlr->conns */
	struct rsm_peer			peer;		/* set before the handshake begins */
	struct list_head		entry;		/* exporter: in export->peers; node->lock */
	struct rsm_lane			*lane;		/* exporter: of the importer; constant */
	/* Exporter: in lane->unproven, or empty; node->lock. */
	struct list_head		unproven;
	/* Exporter: the importer's node is this one or in the table; constant. */
	bool				known;
	/*
	 * Exporter: the connection has a place in @lane.  Written under node->lock; @end_work reads
	 * it without a lock.
	 */
	bool				placed;
	/* Exporter: the importer has got the key; node->lock. */
	bool				granted;
	bool				trusts;		/* the peers need no proofs; constant */
	/* Messages of the handshake; @end_lock; the proof does not change once sent. */
	struct rsm_transcript		transcript;
	/*
	 * The transport was connected, or the peer's host has refused.  Written under @end_lock;
	 * remote.c reads it without a lock.
	 */
	bool				answered;
	/*
	 * Exporter: a PROOF has arrived.  Written under @end_lock; conn_beat() reads it without
	 * that lock.
	 */
	bool				proof_received;
	/*
	 * Exporter: ends a connection that has left export->peers.  Queues itself again, until
	 * @drain_deadline, while the peer has events to acknowledge.
	 */
	struct delayed_work		end_work;
	unsigned long			drain_deadline;	/* jiffies */
	struct mutex			end_lock;	/* RSM_CONN_ENDED, ep */
	DAT_EP_HANDLE			ep;		/* or NULL */
	DAT_EVD_HANDLE			evd;		/* of requests and receives */
	DAT_PZ_HANDLE			pz;		/* importer: of @mem, @ring and @ep */
	void				*mem;	/* for messages, then the stage of an import */
	u32				mem_size;	/* bytes */
	DAT_LMR_HANDLE			lmr;		/* of @mem */
	DAT_LMR_CONTEXT			context;	/* of @lmr */
	rsm_done_fn			done[RSM_CHANNELS];	/* by channel */
	struct mutex			ring_lock;	/* ring */
	struct rsm_ring			*ring;	/* or NULL; set once, by smp_store_release() */
	struct work_struct		inbox_work;	/* processes @inbox */
	spinlock_t			lock;		/* protects all members below */
	/* Only conn_set_state() writes it.  RSM_CONN_ENDED is set under @end_lock, too. */
	enum rsm_conn_state		state;
	/*
	 * Result of the handshake: 0 once the connection has been up; -EINPROGRESS before, and if
	 * rsm_conn_end() comes first; or why it was not established, with -EBUSY if the exporter
	 * had no place.
	 */
	int				result;
	/* Importer: the exporter has the other byte order. */
	bool				swapped;
	/* Remote key of the segment; exporter: valid only after a rebind. */
	u32				rkey;
	u64				addr;		/* of the segment's first byte, for @rkey */
	u64				length;		/* importer: bytes of the segment */
	u32				posted;	/* importer: requests with a key of the segment */
	u32				completed;	/* how many of @posted have completed */
	u32				acks;		/* sent, but not completed */
	/* Time of the last completion, or of a post while none was in flight, in jiffies. */
	unsigned long			progress;
	/* Value of @completed at which the due ACK is sent. */
	u32				ack_after;
	bool				ack_due;	/* this side must acknowledge a TELL */
	/* The peer has not acknowledged the last TELL. */
	bool				tell_in_flight;
	unsigned long			tell_sent_at;	/* jiffies */
	bool				tell_rebinds;	/* that TELL carries a new key */
	/* The next TELL carries an event that the peer drops if one is pending. */
	bool				want_single;
	u32				want_events;	/* of the next TELL */
	/* Exporter: the next TELL carries the new key. */
	bool				want_rebind;
	bool				want_beat;	/* a TELL is due as a heartbeat */
	/* Exporter: the peer has not acknowledged the new key. */
	bool				rebind_pending;
	/* Ring buffer of completed receives. */
	struct rsm_received		inbox[RSM_CONN_RECVS];
	u32				inbox_head;	/* entries taken */
	u32				inbox_tail;	/* entries put */
	unsigned long			last_rx;	/* time of the last receive; no lock */
	/* Woken at the end of the handshake, by completions of the stage, and by ACKs. */
	wait_queue_head_t		wq;
	/*
	 * Heartbeat.  During the handshake: the exporter's deadline for the proof, or the
	 * importer's repetition of it.
	 */
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

/*
 * Allocates a connection without an endpoint.  @owner is NULL if it is not known yet, and for a
 * probe.  @stage: bytes of memory for transfers, beside that for messages.  Context: may sleep.
 */
int rsm_conn_make(struct rsm_ctlr *ctlr, const struct rsm_conn_ops *ops, void *owner,
		  u32 stage, struct rsm_conn **out);

/*
 * Makes the endpoint, with bits of enum dat_ep_trait.  After an error, the caller must call
 * rsm_conn_end(), which frees what this function has made.
 * Context: may sleep; the caller prevents a concurrent rsm_conn_end().
 */
int rsm_conn_make_ep(struct rsm_conn *conn, DAT_PZ_HANDLE pz, u32 traits);

/*
 * Tears a connection down; the caller keeps its reference.  After the return, no bytes are
 * transferred, and no upcall of conn->evd runs.
 * Context: may sleep; not with node->lock held, nor in an upcall of conn->evd.
 */
void rsm_conn_end(struct rsm_conn *conn);
void rsm_conn_put(struct rsm_conn *conn);

/* Disconnects, and does not wait for the teardown.  Context: may sleep. */
void rsm_conn_hang_up(struct rsm_conn *conn);

/* A transfer between local memory and the segment. */
struct rsm_request {
	bool			put;	/* or a get */
	/*
	 * A put that reports its completion only if it fails.  The success of a later request of
	 * the channel implies that the put has succeeded.  The caller must post that request at
	 * once.
	 */
	bool			silent;
	/* Offset in the segment; the caller has checked that the transfer is in the segment. */
	u64			offset;
	DAT_LMR_TRIPLET		local;	/* in the zone of the connection */
	enum rsm_channel	channel;	/* gets the completion */
	u32			seq;	/* for the channel's handler */
};

/*
 * Posts a transfer of an import.  The send queue has room: callers respect RSM_STAGE_WRS and
 * RSM_RING_WRS.  Context: any but hard interrupt.  Returns -ENOTCONN if the connection is lost;
 * -EIO if the device is gone, or if a bug made the post fail.
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

/* State of an import that connects through an adapter. */
struct rsm_remote {
	struct rsm_ctlr		*ctlr;	/* reference held until the import ends */
	struct rsm_conn		*conn;	/* reference held */
	struct mutex		io_lock;	/* stage, posted */
	u32			posted;	/* requests of the stage */
	/* Part of @posted known to have succeeded; only rsm_stage_done() writes it. */
	u32			done;
	/* The request with number @done has failed; only rsm_stage_done() writes it. */
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

/*
 * Returns 0 if a node accepts or refuses a connection request, or an errno if it does not answer.
 * Context: sleeps up to two seconds, or four if the node accepts and then sends nothing.
 */
int rsm_remote_probe(struct rsm_ctlr *ctlr, u32 node);

#endif /* _DAT_RSM_RDMA_H */
