/* SPDX-License-Identifier: GPL-2.0 */
/* Connections of endpoints, from connect or accept to the last completion. */
#ifndef _DAT_CONN_H
#define _DAT_CONN_H

#include "core/ep.h"
#include "core/evd.h"

struct dat_binding;
struct dat_cr;
struct dat_handshake;
struct dat_psp;

#define DAT_MAX_PD_REQUEST	56	/* private data of an IB CM REQ, less rdma_cm's header */
#define DAT_MAX_PD_REPLY	196
#define DAT_MAX_PD_REJECT	148

/**
 * struct dat_bind - a bind request that has been taken from the queue
 * @set: flag: there is such a request; nothing else is posted until it completes
 * @started: flag: the registration has begun, or conn->bind_work is queued or runs; keeps the
 *	bind from being started twice
 * @failed: flag: the registration failed
 * @cookie: cookie of the request
 * @flags: flags of the request
 * @rmr: id of the RMR, or 0
 * @ticket: ticket of the prepared binding
 * @taken: the prepared binding once the bind has started; owned
 */
struct dat_bind {
	bool			set;
	bool			started;
	bool			failed;
	u64			cookie;
	u8			flags;
	u32			rmr;
	u32			ticket;
	struct dat_binding	*taken;
};

/**
 * struct dat_failure - a work request that failed before it reached the device
 * @set: flag: there is such a request
 * @cookie: cookie of the request
 * @flags: flags of the request
 * @status: enum dat_dto_status to report
 * @bind: copy of the request, if it is a bind
 * @lmr: LMR of an FMR request, else NULL
 * @op: enum dat_kop of the request, if @lmr is set
 */
struct dat_failure {
	bool		set;
	u64		cookie;
	u8		flags;
	u8		status;
	struct dat_bind	bind;
	struct dat_lmr	*lmr;
	u8		op;
};

/* A request in the transport's format. */
union dat_send_wr {
	struct ib_send_wr	wr;
	struct ib_rdma_wr	rdma;
	struct ib_reg_wr	reg;
};

/**
 * enum dat_conn_state - state of a connection
 * @DAT_CONN_CONNECTING: from connect or accept to the end of the handshake
 * @DAT_CONN_ABORTING: closing, and the handshake did not succeed
 * @DAT_CONN_ESTABLISHED: the handshake has succeeded
 * @DAT_CONN_DRAINING: graceful disconnect: closes when all requests have completed
 * @DAT_CONN_HUNG_UP: closing, because the peer has disconnected
 * @DAT_CONN_CLOSING: closing for any other reason
 *
 * dat_conn_was_established() and dat_conn_is_closing() compare states, so their order matters.
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
 * @ep: EP; reference held until the end is reported, then NULL
 * @version: ep->version when the connection was made
 * @dev: device; kept by @ep, later by a reference that conn_close_work() takes
 * @sink: where events of the EP go; constant
 * @rcu: delays the free, since a poll of an EVD finds the connection under RCU
 * @solicited: flag: only solicited and failed receives notify; constant
 * @sol: state of a @solicited connection
 * @unordered: flag: the device completes requests before earlier RDMA reads; constant
 * @sq_slots: slots, one per SQ entry
 * @rq_slots: slots, one per RQ entry
 * @close_work: work that tears the connection down; queued once
 * @early_work: work of the transport; queued when data arrives before ESTABLISHED and implies it
 * @pump_work: work that posts the receives that one slice has left
 * @bind_work: work that carries out @bind once no request is in flight
 * @timer: connect timeout of the consumer, or deadline of an accepted connection
 * @psp: listener whose backlog counts an accepted connection until it is established;
 *	reference held; xchg()ed to NULL by the release
 * @read_in: number of the peer's RDMA reads in flight that this end asks for or agrees to
 * @read_out: number of own RDMA reads in flight that this end asks for or agrees to
 * @pd: private data to send
 * @pd_len: bytes of @pd
 *
 * Under ep->lock:
 *
 * @early: receives that completed before @live, oldest first
 * @sq_failed: request that failed before the device; reported after all earlier ones complete
 * @rq_failed: receive that failed before the device; reported when the queue is flushed
 * @bind: bind request that all later requests wait for
 * @fenced: flag: the next entry waits until no request is in flight
 * @reads: RDMA reads posted since the device last had no request, if @unordered
 * @inflight: number of requests in flight
 * @passive: flag: accepted, not connected
 * @state: connection state; written by conn_set_state() alone
 * @live: flag: the events of all early receives are queued, so receives are reported at once
 * @held: flag: a thread uses the transport's part, so @close_work waits for dat_conn_unhold()
 * @end_event: connection event that reports the end
 * @end_pd: bytes of private data that came with @end_event; for kernel consumers
 * @busy: entries in the lists of recv_evd and of a different request_evd
 * @busy_seen: flag: a poll has found completions since the timer last ran
 * @send_wr: scratch of the pump
 * @recv_wr: scratch of the pump
 * @sge: scratch of the pump, DAT_BATCH times the larger max_iov
 */
struct dat_conn {
	struct dat_ep		*ep;
	u32			version;
	struct dat_dev		*dev;
	const struct dat_sink	*sink;
	struct rcu_head		rcu;
	bool			solicited;
	struct dat_solicited_conn sol;
	bool			unordered;
	struct dat_slot		*sq_slots;
	struct dat_slot		*rq_slots;
	struct work_struct	close_work;
	struct work_struct	early_work;
	struct work_struct	pump_work;
	struct work_struct	bind_work;
	struct delayed_work	timer;
	struct dat_psp		*psp;
	u32			read_in;
	u32			read_out;
	u8			pd[DAT_MAX_PRIVATE_DATA];
	u32			pd_len;

	/* Under ep->lock. */
	struct list_head	early;
	struct dat_failure	sq_failed;
	struct dat_failure	rq_failed;
	struct dat_bind		bind;
	bool			fenced;
	u32			reads;
	u32			inflight;
	bool			passive;
	enum dat_conn_state	state;
	bool			live;
	bool			held;
	u32			end_event;
	u32			end_pd;
	struct dat_busy_link	busy[2];
	bool			busy_seen;
	union {
		union dat_send_wr	send_wr[DAT_BATCH];
		struct ib_recv_wr	recv_wr[DAT_BATCH];
	};
	struct ib_sge		*sge;
};

/* True from the end of a successful handshake on, also while the connection closes. */
static inline bool dat_conn_was_established(const struct dat_conn *conn)
{
	return READ_ONCE(conn->state) >= DAT_CONN_ESTABLISHED;
}

/* True once no more is posted: conn->close_work is queued, or dat_conn_unhold() will queue it. */
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
void dat_conn_gone(struct dat_conn *conn);
void dat_conn_bind_done(struct dat_conn *conn, bool failed);
int dat_ep_path(struct dat_ep *ep, struct dat_path *path);
int dat_ep_allow_peer(struct dat_ep *ep, bool write);
void dat_conn_drain(struct dat_conn *conn);
void dat_conn_unhold(struct dat_conn *conn);
void dat_conn_close(struct dat_conn *conn, u32 event);
void dat_conn_fail(struct dat_conn *conn, u32 event);
void dat_conn_hung_up(struct dat_conn *conn);
void dat_conn_established(struct dat_conn *conn, const struct dat_handshake *h);
void dat_conn_progress(struct dat_conn *conn);

/**
 * dat_queue_stopped() - check whether requests must wait for those in flight
 * @conn: connection
 *
 * Context: ep->lock held.  Return: true if a failed request, a bind or a fenced request stops
 * the queue.
 */
static inline bool dat_queue_stopped(const struct dat_conn *conn)
{
	return conn->sq_failed.set || conn->bind.set || conn->fenced;
}

/**
 * dat_queue_idle() - check whether the pumps and dat_conn_progress() have nothing to do
 * @conn: established connection
 *
 * This check is cheap and may return false although there is nothing to do.
 *
 * Context: ep->lock held.  Return: true if the calls may be skipped.
 */
static inline bool dat_queue_idle(const struct dat_conn *conn)
{
	const struct dat_ep *ep = conn->ep;

	/* ep->open is NULL while the queue is stopped or the connection is closing. */
	return dat_kring_idle(&ep->sq) && dat_kring_idle(&ep->rq) &&
	       (likely(ep->open == conn) ||
		(conn->state == DAT_CONN_ESTABLISHED && !dat_queue_stopped(conn)));
}

/* complete.c */

/*
 * A batch of completions begins, in softirq.  The IA may be freed before the batch has ended, so
 * this reads the connection alone, which its transport keeps as long as handlers run.
 */
static __always_inline void dat_complete_begin(const struct dat_conn *conn)
{
	if (conn->sink->begin)
		conn->sink->begin();
}

/* The batch has ended: the upcalls of its events run here, with no lock held. */
static __always_inline void dat_complete_end(const struct dat_conn *conn)
{
	if (conn->sink->release)
		conn->sink->release();
}

void dat_complete(struct dat_conn *conn, const struct dat_completion *c, u32 n);
void dat_complete_requests(struct dat_conn *conn, u32 n, u8 status, u8 last);
void dat_complete_recv(struct dat_conn *conn, struct dat_slot *slot, u8 status);
void dat_report_dto(struct dat_ep *ep, bool recv, u64 cookie, u8 flags, u8 status, u32 len,
		    u32 imm);
void dat_report_bind(struct dat_ep *ep, const struct dat_bind *bind, u8 status);

/* connect.c */
int dat_ep_connect(struct dat_ep *ep, const struct sockaddr_storage *dst, u64 timeout_us,
		   u32 qos, const void *pd, u32 pd_len);
int dat_ep_accept(struct dat_ep *ep, struct dat_cr *cr, const void *pd, u32 pd_len);
void dat_conn_accepted(struct dat_conn *conn, struct dat_cr *cr);
void dat_conn_rejected(struct dat_conn *conn, const void *pd, u32 pd_len);

#endif /* _DAT_CONN_H */
