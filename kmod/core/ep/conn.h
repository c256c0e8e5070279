/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Connections of endpoints.  A connection exists from connect or accept until the end of its
 * teardown.
 */
#ifndef _DAT_CONN_H
#define _DAT_CONN_H

#include "core/ep/ep.h"
#include "core/event/evd.h"
#include "core/locked.h"

struct dat_binding;
struct dat_cr;
struct dat_handshake;
struct dat_psp;

/* A bind request from the send queue.  Until the bind completes, no later request is posted. */
struct dat_bind {
	bool			set;		/* the structure holds a bind request */
	bool			started;	/* dat_bind_start() has started the bind */
	bool			ended;		/* bind_work does the rest */
	u64			cookie;
	u8			flags;
	u32			rmr;		/* id of the RMR; 0 if the request had none */
	u32			ticket;		/* number that names the prepared binding */
	/* Binding, owned; NULL: not started, not found, or in effect. */
	struct dat_binding	*taken;
};

/* A work request that failed before it reached the device. */
struct dat_failure {
	bool		set;	/* the structure holds a failed request */
	u64		cookie;
	u8		flags;
	u8		status;	/* enum dat_dto_status for the event */
	struct dat_bind	bind;	/* copy of the request if it is a bind; else @bind.set is false */
	struct dat_lmr	*lmr;	/* LMR of an FMR request, else NULL */
	u8		op;	/* enum dat_kop of the request, if @lmr is set */
};

/* A send queue request in the format of verbs, which the transport posts. */
union dat_send_wr {
	struct ib_send_wr	wr;
	struct ib_rdma_wr	rdma;
	struct ib_reg_wr	reg;
};

/**
 * enum dat_conn_state - state of a connection
 * @DAT_CONN_CONNECTING: the handshake has not ended
 * @DAT_CONN_ABORTING: the connection is closing; the handshake did not succeed
 * @DAT_CONN_ESTABLISHED: the handshake has succeeded
 * @DAT_CONN_DRAINING: graceful disconnect: the connection closes when all requests have completed
 * @DAT_CONN_HUNG_UP: the connection is closing, because the peer has disconnected
 * @DAT_CONN_CLOSING: the connection is closing for any other reason
 *
 * dat_conn_was_established() and dat_conn_is_closing() compare states by value, so the order of the
 * states matters.
 */
enum dat_conn_state {
	DAT_CONN_CONNECTING,
	DAT_CONN_ABORTING,
	DAT_CONN_ESTABLISHED,
	DAT_CONN_DRAINING,
	DAT_CONN_HUNG_UP,
	DAT_CONN_CLOSING,
	DAT_CONN_NR_STATES
};

/**
 * struct dat_conn - one connection of an EP
 * @ep: endpoint, with a reference; NULL once the end of the connection has been reported
 * @version: value of ep->version when the connection was made
 * @dev: device; kept by a reference of the IA while @ep is set, and after that by a reference that
 *	conn_close_work() takes
 * @sink: operations of the face that receives the events; constant
 * @rcu: head for the deferred free, because a thread that polls an EVD finds connections under RCU
 * @comp_vector: completion vector of the CQ of the requests, which stands for an interrupt of the
 *	device
 * @solicited: flag: only solicited and failed receives notify the consumer; constant
 * @sol: additional state, used if @solicited is set
 * @unordered: flag: the device may complete a request before an RDMA read that was posted earlier;
 *	constant
 * @runs: flag: requests are carried out by threads of this host, not by a device.  A thread that
 *	kicks a queue sets ep->runner while it pumps, and then calls ops->run().  Other posts leave
 *	ep->runner clear, so the transport must find a thread.  Constant; set by ops->conn_init().
 * @pulls_recvs: flag: once @live is set, the transport pumps the receive queue when a message needs
 *	a receive.  Constant; set by ops->conn_init().
 * @sq_slots: array of the kernel's records of posted requests, one per SQ entry
 * @rq_slots: array of the kernel's records of posted receives, one per RQ entry
 * @close_work: work that tears the connection down; queued once; queues itself again while
 *	ops->conn_quiesce() returns a delay, which dat_conn_resume_close() may end early
 * @early_work: work that lets the transport report ESTABLISHED, see dat_conn_imply_established(),
 *	and reports the receives in @early that dat_conn_established() has left
 * @bind_work: work that starts the bind in @bind if it had to wait for another EP, or puts its
 *	binding into effect if that may sleep
 * @timer: timeout of the handshake: at the end that connects, the consumer's timeout; at the end
 *	that accepts, the module parameter accept_timeout
 * @psp: listener whose backlog counts an accepted connection until the handshake ends; reference
 *	held; dat_psp_leave() takes the pointer with xchg() and drops the reference
 * @peer: address of the peer, for the log
 * @locked: charge of the queue pair
 * @read_in: offered number of the peer's RDMA reads in flight
 * @read_out: offered number of own RDMA reads in flight
 * @pd: private data that the handshake sends to the peer
 * @pd_len: bytes of @pd
 *
 * Members that ep->lock protects:
 *
 * @early: list of receives that completed before @live was set, oldest first
 * @nr_early: number of receives in @early
 * @sq_failed: request that failed before it reached the device; reported when all earlier requests
 *	have completed
 * @rq_failed: receive that failed before it reached the device; reported when the receive queue is
 *	flushed
 * @bind: bind request that is in progress; all later requests wait for its end
 * @fenced: flag: the next request waits until no request is in flight
 * @inflight: number of requests in flight
 * @silent: number of the newest requests in flight that are unsignalled; their end is unknown until
 *	a signalled one after them completes
 * @mark_at: index of the first request after the marker of dat_queue_mark()
 * @marked: flag: the marker is in flight
 * @report_at: index of the first request after the last dat_queue_report()
 * @report: flag: the consumer wants to know that the requests before @report_at have completed
 * @drained: flag: the drain is complete: each request that the device has flushed has completed
 * @flushed: flag: the device has flushed a request, so its queue pair has failed
 * @takes_recv: flag: the transport has made the queue pair, so receives can be posted
 * @passive: flag: this end has accepted the connection; false if this end has called connect
 * @state: connection state; written only by conn_set_state()
 * @live: flag: ESTABLISHED and all receives in @early have been reported, so a receive is reported
 *	when it completes
 * @hungry: flag: a message waits for a receive, so the next post of one has to run the pump; set by
 *	a transport that sets @pulls_recvs
 * @held: flag: a thread connects, accepts or changes the QP, so @close_work waits for
 *	dat_conn_unhold()
 * @end_event: DAT_EV_* that reports the end of the connection
 * @end_pd: bytes of private data of the peer's reject, if the consumer gets that data; else 0
 * @cq: CQ of the requests; NULL until the transport has made the queue pair; never cleared; also
 *	read under RCU
 * @puller: CQ of the peer's receives if the transport makes threads that poll it pump this end's
 *	send queue, else NULL; set by the transport; valid as long as the connection
 * @send_wr: chain of requests that the pump builds and posts
 * @recv_wr: chain of receives that the pump builds and posts
 * @sge: segments of @send_wr or @recv_wr: DAT_BATCH times the larger of the EP's max_iov values
 */
struct dat_conn {
	struct dat_ep		*ep;
	u32			version;
	struct dat_dev		*dev;
	const struct dat_sink	*sink;
	struct rcu_head		rcu;
	u32			comp_vector;
	bool			solicited;
	struct dat_solicited_conn sol;
	bool			unordered;
	bool			runs;
	bool			pulls_recvs;
	struct dat_slot		*sq_slots;
	struct dat_slot		*rq_slots;
	struct delayed_work	close_work;
	struct work_struct	early_work;
	struct delayed_work	bind_work;
	struct delayed_work	timer;
	struct dat_psp		*psp;
	struct sockaddr_storage	peer;
	struct dat_locked	locked;
	u32			read_in;
	u32			read_out;
	u8			pd[DAT_MAX_PRIVATE_DATA];
	u32			pd_len;

	/* Protected by ep->lock. */
	struct list_head	early;
	u32			nr_early;
	struct dat_failure	sq_failed;
	struct dat_failure	rq_failed;
	struct dat_bind		bind;
	bool			fenced;
	u32			inflight;
	u32			silent;
	u32			mark_at;
	bool			marked;
	u32			report_at;
	bool			report;
	bool			drained;
	bool			flushed;
	bool			takes_recv;
	bool			passive;
	enum dat_conn_state	state;
	bool			live;
	bool			hungry;
	bool			held;
	u32			end_event;
	u32			end_pd;
	struct dat_cq		*cq;
	const struct dat_cq	*puller;
	union {
		union dat_send_wr	send_wr[DAT_BATCH];
		struct ib_recv_wr	recv_wr[DAT_BATCH];
	};
	struct ib_sge		*sge;
};

/* Returns true once the handshake has succeeded, and stays true while the connection closes. */
static inline bool dat_conn_was_established(const struct dat_conn *conn)
{
	return READ_ONCE(conn->state) >= DAT_CONN_ESTABLISHED;
}

/*
 * Returns true once the teardown has begun, after which no work request may be posted.
 * conn->close_work is queued, or dat_conn_unhold() will queue it.
 */
static inline bool dat_conn_is_closing(const struct dat_conn *conn)
{
	enum dat_conn_state state = READ_ONCE(conn->state);

	return state >= DAT_CONN_HUNG_UP || state == DAT_CONN_ABORTING;
}

static inline bool dat_conn_is_open(const struct dat_conn *conn)
{
	enum dat_conn_state state = READ_ONCE(conn->state);

	return state == DAT_CONN_ESTABLISHED || state == DAT_CONN_DRAINING;
}

/* conn.c */
struct dat_conn *dat_conn_alloc(struct dat_ep *ep);
void dat_conn_free(struct dat_conn *conn);
u32 dat_conn_max_recvs(const struct dat_conn *conn);
void dat_conn_set_windows(struct dat_conn *conn, u32 max_send, struct dat_cq *cq);
int dat_conn_charge(const struct dat_conn *conn, struct dat_locked *l, u64 bytes);
int dat_conn_charge_optional(const struct dat_conn *conn, struct dat_locked *l, u64 bytes);
u32 dat_conn_recvs(const struct dat_conn *conn);
void dat_conn_resume_close(struct dat_conn *conn);
void dat_conn_keep(struct dat_conn *conn);
void dat_conn_gone(struct dat_conn *conn);
int dat_ep_path(struct dat_ep *ep, struct dat_path *path);
int dat_ep_allow_peer(struct dat_ep *ep, bool write);
void dat_conn_drain(struct dat_conn *conn);
void dat_conn_unhold(struct dat_conn *conn);
void dat_conn_close(struct dat_conn *conn, u32 event);
void dat_conn_fail(struct dat_conn *conn, u32 event);
void dat_conn_hung_up(struct dat_conn *conn);
void dat_conn_established(struct dat_conn *conn, const struct dat_handshake *h);
void dat_conn_progress(struct dat_conn *conn);

/*
 * Returns true if a failed request, a bind or a fenced request stops the send queue.  ep->lock is
 * held.
 */
static inline bool dat_queue_stopped(const struct dat_conn *conn)
{
	return conn->sq_failed.set || conn->bind.set || conn->fenced;
}

/*
 * Returns true if a request in flight will complete, and so run the pump, without a later post.
 * ep->lock is held.
 */
static inline bool dat_conn_awaits(const struct dat_conn *conn)
{
	return conn->inflight > conn->silent || conn->marked;
}

/*
 * Returns true if the rings of a kernel consumer hold no entries and the send queue is not stopped.
 * A result of false may be wrong; the pump then finds nothing to do.  ep->lock is held.
 */
static inline bool dat_conn_idle(const struct dat_conn *conn)
{
	const struct dat_ep *ep = conn->ep;

	/* If ep->open is set, the connection is established and the queue not stopped. */
	return dat_kring_idle(&ep->sq) && dat_kring_idle(&ep->rq) &&
	       (likely(ep->open == conn) ||
		(conn->state == DAT_CONN_ESTABLISHED && !dat_queue_stopped(conn)));
}

/*
 * Moves entries from the rings to the device, after the transport has reported a batch of
 * completions with dat_complete().  @sq_done and @rq_done: indices of the oldest entries in flight
 * before the batch.  A queue of which the batch has completed nothing has no more room than before,
 * so its ring is not looked at.  Context: ep->lock held, softirqs disabled.
 */
static inline void dat_conn_completed(struct dat_conn *conn, u32 sq_done, u32 rq_done)
{
	const struct dat_ep *ep = conn->ep;

	if (!conn->live || dat_conn_idle(conn))
		return;
	if (ep->rq.done != rq_done)
		dat_queue_pump_rq(conn);
	if (ep->sq.done != sq_done)
		dat_conn_progress(conn);
}

/*
 * Returns true if threads of the peer pump the send queue, so the producer need not kick.  When
 * they have stopped, ops->rearm() makes the pump run again.  ep->lock is held.
 */
static inline bool dat_conn_is_pulled(const struct dat_conn *conn)
{
	return conn->puller && READ_ONCE(conn->puller->link.round);
}

/*
 * Returns true if threads poll the CQ of the connection's requests.  The result may be outdated.
 * ep->lock is held.
 */
static inline bool dat_busy_joined(const struct dat_conn *conn)
{
	return conn->cq && READ_ONCE(conn->cq->link.round);
}

/*
 * Lets the transport report ESTABLISHED, because data has arrived, which implies that the handshake
 * has succeeded.  Context: any, also hard interrupt.
 */
static inline void dat_conn_imply_established(struct dat_conn *conn)
{
	queue_work(dat_wq, &conn->early_work);
}

/* complete.c */

/*
 * Tells the face that a batch of completions begins, in softirq.  The IA may be freed before the
 * batch ends, so this function reads only the CQ, which exists while its handlers run.
 */
static __always_inline void dat_complete_begin(const struct dat_cq *cq)
{
	if (cq->sink->begin)
		cq->sink->begin();
}

/* Tells the face that a batch has ended, so that the face runs the upcalls.  No lock is held. */
static __always_inline void dat_complete_end(const struct dat_cq *cq)
{
	if (cq->sink->release)
		cq->sink->release();
}

void dat_complete(struct dat_conn *conn, const struct dat_completion *c, u32 n);
void dat_complete_requests(struct dat_conn *conn, u32 n, u8 status, u8 last);
void dat_complete_recv(struct dat_conn *conn, struct dat_slot *slot, u8 status);
void dat_report_bind(struct dat_ep *ep, const struct dat_bind *bind, u8 status);
void dat_report_dto(struct dat_ep *ep, bool recv, u64 cookie, u8 flags, u8 status, u32 len,
		    const struct dat_extra *extra);

/* bind.c */
void dat_bind_init(struct dat_conn *conn);
void dat_bind_start(struct dat_conn *conn);
void dat_conn_bind_done(struct dat_conn *conn, u8 status);

/* connect.c */
int dat_ep_connect(struct dat_ep *ep, const struct sockaddr_storage *dst, u64 timeout_us,
		   u32 qos, const void *pd, u32 pd_len);
int dat_ep_accept(struct dat_ep *ep, struct dat_cr *cr, const void *pd, u32 pd_len);
void dat_conn_accepted(struct dat_conn *conn, struct dat_cr *cr);
void dat_conn_rejected(struct dat_conn *conn, const void *pd, u32 pd_len);

#endif /* _DAT_CONN_H */
