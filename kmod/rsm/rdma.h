/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Segments across adapters: RSM as a consumer of kDAPL.
 *
 *   rsm_ctlr              an adapter that RSM uses: IA, EVD, service point
 *    └ rsm_conn           a connection of an import to its segment, seen from one side
 *
 * Each segment has a protection zone and a registration of its own.  Each of its importers has an
 * endpoint in that zone, so the key of one segment cannot be used on a connection to another.  Each
 * import has a zone of its own, too: with iWARP the exporter may write to memory that reads go to,
 * and it must not reach the memory of another import.
 *
 * The exporter's kernel checks the importer's permissions before it sends the key.  The queue pair
 * of an import without DAT_RSM_WRITE accepts no writes.
 *
 * A connection ends with its endpoint.  After rsm_conn_end() no byte is transferred any more.  When
 * the peer ends the connection, an event cuts the import; the endpoint stays until the import is
 * freed.
 *
 * Locks, outer to inner, beside those of rsm.h:
 *
 *   conn->end_lock        mutex, also outside node->lock: calls to the owner, creation of the
 *                         endpoint
 *   remote->io_lock       mutex: one call at a time transfers through the stage
 *   conn->ring_lock       mutex: one call at a time makes the ring
 *   conn->lock            BH spinlock; kDAPL posts are made under it
 *
 * The free of an EVD waits for its upcalls, so an upcall takes no lock but conn->lock.
 */
#ifndef _DAT_RSM_RDMA_H
#define _DAT_RSM_RDMA_H

#include "kdapl/internal.h"
#include "rsm/rsm.h"
#include "rsm/wire.h"

/* Largest numbers of requests of a connection in flight. */
#define RSM_STAGE_SLOTS		8	/* of DAT_IOC_RSM_IO */
#define RSM_STAGE_GROUP		4	/* chunks that are posted together */
#define RSM_STAGE_WRS		(RSM_STAGE_SLOTS + 1)	/* also a flush */
#define RSM_RING_WRS		32	/* of the mapped ring */
#define RSM_RING_TELL		8	/* every 8th put of a ring is signalled */
#define RSM_ACK_WRS		8	/* ACKs that have not completed */
#define RSM_MSG_WRS		(RSM_ACK_WRS + 4)	/* also TELLs */
#define RSM_CONN_WRS		(RSM_STAGE_WRS + RSM_RING_WRS + RSM_MSG_WRS)
#define RSM_SERVE_ACK_WRS	(RSM_CONN_WRS - 4)	/* of an exporter: no transfers */
#define RSM_CONN_RECVS		4

/*
 * Largest number of an adapter's importers without a verified proof.  The next importer evicts the
 * oldest: an honest handshake takes a few messages, so silent peers cannot keep importers out.
 */
#define RSM_MAX_UNPROVEN	64
#define RSM_MAX_STRANGERS	512	/* including connections that are ending */
#define RSM_PROOF_TIMEOUT	(10 * HZ)	/* from the accept to the importer's proof */

#define RSM_SLOT_SIZE		16384	/* bytes of a slot of the stage */
#define RSM_MAX_CONNS		4096	/* of an adapter */
#define RSM_MAX_SERVED		3072	/* of them to local segments; imports use the others */

/**
 * enum rsm_ctlr_state - state of an adapter
 * @RSM_CTLR_OPENING: one caller opens the adapter; others wait
 * @RSM_CTLR_OPEN: usable
 * @RSM_CTLR_DEAD: the device is gone or its address has changed; only present users keep it
 * @RSM_CTLR_CLOSING: no users are left; new users wait, since the port is still in use
 * @RSM_CTLR_GONE: about to be freed
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
 * struct rsm_ctlr - an adapter that RSM uses
 * @node: node that uses the adapter
 * @entry: entry in node->ctlrs; node->ctlr_lock
 * @refs: number of exports and imports; node->ctlr_lock
 * @number: controller number in user space, from 1
 * @name: adapter name
 * @state: state; written by ctlr_set_state() alone; node->ctlr_lock
 * @ia: open IA
 * @evd: EVD of connection events; its upcalls, rsm_conn_upcall(), run one at a time and may sleep
 * @cr_evd: EVD of connection requests; its upcalls, rsm_serve_upcall(), run one at a time, apart
 *	from those of @evd, so that a flood of requests does not delay established connections
 * @psp: service point
 * @iwarp: flag: the adapter speaks iWARP
 * @read_priv: privileges that the sink of an RDMA read needs
 * @reads: number of RDMA reads that an endpoint may have in flight, at most 16
 * @addr: address of the adapter when it was opened, and of the service point
 * @unproven: struct rsm_conn of importers without a verified proof, oldest first; node->lock
 * @nr_unproven: length of @unproven; node->lock
 * @strangers: number of served connections, also ending ones, of nodes that are in no table and
 *	have no verified proof; grows under node->lock
 * @conns: connections by id; looked up under RCU
 * @next_conn: id at which the search for a free one begins
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
 * rsm_ctlr_get() - get a reference to an open adapter
 * @node: node
 * @number: controller number, from 1, unchecked
 * @out: result; released by rsm_ctlr_put()
 *
 * Context: may sleep; opens the adapter if it is not open, and waits for an open or close in
 * progress.
 * Return: DAT_RSM_OK, DAT_RSM_CTLR_NOT_PRESENT, DAT_RSM_NO_MEM, DAT_RSM_NO_RESOURCES;
 * DAT_RSM_INTERRUPTED: the process is being killed.
 */
int rsm_ctlr_get(struct rsm_node *node, u32 number, struct rsm_ctlr **out);

/*
 * Drops a reference; the caller's connections have ended.  Context: may sleep; not in an upcall of
 * the adapter.
 */
void rsm_ctlr_put(struct rsm_ctlr *ctlr);

int rsm_dat_error(DAT_RETURN rc);

/**
 * rsm_node_addr() - look up the address of a node
 * @ctlr: adapter that leads to the node
 * @id: node id; this node's own id gives the adapter's address
 * @out: result, without port
 *
 * Return: DAT_RSM_OK, or DAT_RSM_UNREACHABLE if no table has the node.
 */
int rsm_node_addr(struct rsm_ctlr *ctlr, u32 id, struct sockaddr_storage *out);

/**
 * rsm_node_is_at() - compare the source address of a request with that of a node
 * @ctlr: adapter at which the request arrived
 * @id: node id that the request claims
 * @addr: source address
 * @known: result: false if @id is neither this node nor in the table, so its address proves nothing
 */
bool rsm_node_is_at(struct rsm_ctlr *ctlr, u32 id, const struct sockaddr *addr, bool *known);

extern unsigned int rsm_port;	/* port number of service points, host order */

/* Receiver of a request's completion; a part of the cookie, see rsm/msg.h. */
enum rsm_channel {
	RSM_CHANNEL_MSG,
	RSM_CHANNEL_STAGE,
	RSM_CHANNEL_RING,
	RSM_CHANNELS,
	RSM_CHANNEL_RECV = RSM_CHANNELS		/* a receive, which has no channel */
};

struct rsm_conn;
struct rsm_ring;

/**
 * struct rsm_conn_ops - operations of one side of a connection
 * @importer: flag: the importer's side, which receives the segment's key and its changes
 * @proven: exporter: handle an importer whose proof is verified or not required, and fill in
 *	conn->transcript.grant; return false to end the connection
 * @events: add events of the peer: one unless one is pending if @single, then @events
 * @lost: handle the end of the connection or of its establishment, for the reason conn->err; called
 *	once, and not after rsm_conn_end()
 * @rebound: exporter: handle the end of conn->rebind_pending; conn->lock held
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
 * Handles a completion on a channel.  Completions come in the order of the requests; @seq is that
 * of the request.  With @ok false the connection is about to end.  Context: softirq, no lock.
 */
typedef void (*rsm_done_fn)(struct rsm_conn *conn, u32 seq, bool ok);

/**
 * struct rsm_received - a completed receive that has not been posted again
 * @slot: number of the receive's buffer
 * @len: bytes received
 */
struct rsm_received {
	u32	slot;
	u32	len;
};

/**
 * struct rsm_conn - a connection of an import to its segment, seen from one side
 * @ctlr: adapter; valid until the connection has ended
 * @ia: IA handle of @ctlr; harmless once it is stale
 * @ops: operations of this side; constant
 * @owner: struct rsm_import or struct rsm_export
 * @ref: reference count; the last put frees the memory
 * @rcu: head for the deferred free, since lookups run under RCU
 * @id: id in ctlr->conns
 * @entry: exporter: entry in export->peers; node->lock
 * @unproven: exporter: entry in ctlr->unproven; node->lock
 * @known: exporter: flag: the importer's node is in the table; constant
 * @stranger: exporter: flag: counted in ctlr->strangers; node->lock, then @end_work
 * @granted: exporter: flag: the importer has been sent the key; node->lock
 * @trusts: flag: the node trusts the network, so there are no proofs; constant
 * @transcript: messages of the handshake; @end_lock; the importer's proof is final once it was sent
 * @proof_received: exporter: flag: a PROOF has arrived; @end_lock
 * @end_work: exporter: work that ends the connection after it has left export->peers
 * @end_lock: lock of @ended, and of the creation of @ep
 * @ended: flag: the owner is not called any more
 * @ep: endpoint, or NULL
 * @evd: EVD of the endpoint's requests and receives
 * @pz: importer: zone of @mem, @ring and @ep
 * @mem: memory of the messages, and of an import's stage
 * @mem_size: bytes of @mem
 * @lmr: registration of @mem
 * @context: lmr_context of @lmr
 * @done: handlers of completions, by channel
 * @ring_lock: lock of the creation of @ring
 * @ring: importer: ring that the process maps, or NULL; set once, with release
 * @inbox_work: work that processes @inbox
 * @lock: lock of all members below
 * @linked: flag: the transport is connected, and the handshake continues
 * @up: flag: requests can be posted, since the handshake has succeeded
 * @was_up: flag: @up is or was set
 * @lost: flag: the connection has ended, or will not be established
 * @err: enum dat_rsm_err, the reason of @lost
 * @refused: flag: the host has answered that it has no listener
 * @swapped: importer: flag: the exporter has the other byte order
 * @rkey: importer: key of the segment
 * @addr: importer: address of the segment's first byte, for @rkey
 * @length: importer: bytes of the segment
 * @posted: importer: number of requests posted that use @rkey
 * @completed: importer: number of those that are known to have completed
 * @acks: number of ACKs that have not completed
 * @progress: time of the last completion, or of a post while no request was in flight, in jiffies
 * @ack_after: importer: value of @completed at which the due ACK is sent
 * @ack_due: flag: an ACK is due
 * @tell_in_flight: flag: a TELL has not been answered
 * @tell_sent_at: time of that TELL, in jiffies
 * @tell_rebinds: flag: that TELL carries a new key
 * @want_single: flag: the next TELL carries an event unless one is pending
 * @want_events: number of events that the next TELL carries
 * @want_rebind: exporter: flag: the next TELL carries the new key
 * @want_beat: flag: a TELL is due as a heartbeat
 * @rebind_pending: exporter: flag: the peer has not acknowledged the new key
 * @inbox: ring of completed receives for @inbox_work
 * @inbox_head: number of entries taken from @inbox
 * @inbox_tail: number of entries put into @inbox
 * @last_rx: time of the last receive, in jiffies; no lock
 * @wq: waiters for the connection, for room, or for an answer
 * @beat: heartbeat; before the end of the handshake, an exporter's deadline for the proof, and the
 *	time after which an importer repeats its proof
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
	spinlock_t			lock;		/* protects all members below */
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

/* Importer: fill in the greeting and the unsigned proof of the calling process. */
void rsm_auth_greet(struct rsm_conn *conn, u32 node, u32 segid, u32 perm);

/* Exporter: check that the importer and this node agree on proofs.  Return: enum dat_rsm_err. */
int rsm_auth_agree(struct rsm_node *node, const struct rsm_greeting *g);

/* rsm/conn.c */

/**
 * rsm_conn_make() - allocate a connection
 * @ctlr: adapter
 * @ops: operations of this side
 * @owner: import or export
 * @stage: bytes of memory for transfers, in addition to the messages
 * @out: result, with a reference; no endpoint yet
 *
 * Context: may sleep.  Return: DAT_RSM_OK, DAT_RSM_NO_MEM, DAT_RSM_NO_RESOURCES.
 */
int rsm_conn_make(struct rsm_ctlr *ctlr, const struct rsm_conn_ops *ops, void *owner,
		  u32 stage, struct rsm_conn **out);

/**
 * rsm_conn_make_ep() - make the endpoint
 * @conn: connection without endpoint
 * @pz: zone of the endpoint
 * @traits: enum dat_ep_trait bits
 *
 * After an error, rsm_conn_end() undoes what was done.
 *
 * Context: may sleep; the caller prevents a concurrent rsm_conn_end().  Return: enum dat_rsm_err.
 */
int rsm_conn_make_ep(struct rsm_conn *conn, DAT_PZ_HANDLE pz, u32 traits);

/**
 * rsm_conn_end() - tear a connection down
 * @conn: connection; the caller keeps its reference
 *
 * After the return no byte is transferred, and no upcall of conn->evd runs.
 *
 * Context: may sleep; not with node->lock held, nor in an upcall of conn->evd.
 */
void rsm_conn_end(struct rsm_conn *conn);
void rsm_conn_put(struct rsm_conn *conn);

/* Disconnects without waiting for the teardown.  Context: may sleep. */
void rsm_conn_hang_up(struct rsm_conn *conn);

/**
 * struct rsm_request - a transfer between local memory and the segment
 * @put: flag: a put, not a get
 * @silent: flag: a put that completes by itself only if it fails; the next request of the channel,
 *	which the caller posts without a wait, reports its success
 * @offset: offset in the segment, checked with the length
 * @local: local memory, in the zone of the connection
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
 * The send queue has room for as many requests of each channel as the limits at the top allow.
 *
 * Context: any but hard interrupt.  Return: 0; -ENOTCONN if the connection is lost; -EIO if the
 * device is gone, or for a bug.
 */
int rsm_conn_rdma(struct rsm_conn *conn, struct rsm_request *req);

/* rsm_conn_rdma() for a read of one byte, which completes after all earlier puts have arrived. */
int rsm_conn_flush(struct rsm_conn *conn, enum rsm_channel channel, u32 seq);

/*
 * Registers contiguous memory in the zone @pz; it may be the sink of RDMA reads if @reads.
 * Context: may sleep.
 */
int rsm_conn_register(struct rsm_ctlr *ctlr, DAT_PZ_HANDLE pz, void *va, u32 size, bool reads,
		      DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context);

/* Upcall of ctlr->evd; @ctlr: struct rsm_ctlr. */
void rsm_conn_upcall(void *ctlr, const DAT_EVENT *event, DAT_BOOLEAN more);

/* Upcall of ctlr->cr_evd: a connection request; @ctlr: struct rsm_ctlr. */
void rsm_serve_upcall(void *ctlr, const DAT_EVENT *event, DAT_BOOLEAN more);

/* rsm/msg.c */

/* Sends an event.  Context: any but hard interrupt.  Return: 0, or -ENOTCONN if @conn is lost. */
int rsm_msg_tell(struct rsm_conn *conn, bool single);

/* Exporter: sends a new key.  Return: true if this call has set conn->rebind_pending. */
bool rsm_msg_rebind(struct rsm_conn *conn, u32 rkey, u64 addr);
bool rsm_msg_rebind_pending(struct rsm_conn *conn);

/* Waits until the peer has acknowledged all events, at most until @until, in jiffies. */
void rsm_msg_drain(struct rsm_conn *conn, unsigned long until);

/**
 * struct rsm_remote - the adapter's part of an import
 * @ctlr: adapter; reference held until the import ends
 * @conn: connection; reference held
 * @io_lock: lock of the stage and of @posted
 * @posted: number of requests of the stage posted so far
 * @done: number of those that are known to have succeeded; written by the upcall alone
 * @failed: flag: request @done has failed; written by the upcall alone
 */
struct rsm_remote {
	struct rsm_ctlr		*ctlr;
	struct rsm_conn		*conn;
	struct mutex		io_lock;	/* protects the stage and posted */
	u32			posted;
	u32			done;
	bool			failed;
};

/* rsm/stage.c; completions of the stage */
void rsm_stage_done(struct rsm_conn *conn, u32 seq, bool ok);

/* Workqueue of heartbeats and messages.  Teardown of connections has workqueues of its own. */
extern struct workqueue_struct *rsm_wq;

/* rsm/remote.c */

/**
 * rsm_remote_probe() - find out whether a node answers
 * @ctlr: adapter that leads to the node
 * @node: node id
 *
 * A refusal is an answer.
 *
 * Context: sleeps up to two seconds, or four if the node accepts and then sends nothing.
 * Return: DAT_RSM_OK, DAT_RSM_UNREACHABLE, or the error that prevented the probe.
 */
int rsm_remote_probe(struct rsm_ctlr *ctlr, u32 node);

#endif /* _DAT_RSM_RDMA_H */
