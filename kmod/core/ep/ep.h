/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Endpoints. */
#ifndef _DAT_EP_H
#define _DAT_EP_H

#include <linux/socket.h>

#include "core/ep/queue.h"

struct dat_conn;
struct dat_evd;
struct dat_path;
struct dat_pz;
struct dat_srq;

/* EP states.  The values are those of DAT_EP_STATE in the DAT API. */
enum dat_ep_state {
	DAT_EP_UNCONNECTED	= 0,
	DAT_EP_ACTIVE_PENDING	= 6,
	DAT_EP_CONNECTED	= 9,
	DAT_EP_DISC_PENDING	= 10,
	DAT_EP_DISCONNECTED	= 11,
	DAT_EP_COMPL_PENDING	= 12,
	DAT_EP_NR_STATES
};

/**
 * struct dat_ep_attr - attributes of an EP
 * @max_recv: largest number of receives that are posted and not completed
 * @max_request: largest number of requests that are posted and not completed
 * @max_recv_iov: largest number of segments of a receive
 * @max_request_iov: largest number of segments of a request
 * @read_in: largest number of the peer's RDMA reads that may be in flight
 * @read_out: largest number of own RDMA reads that may be in flight
 * @recv_flags: DAT_COMPLETION_FLAGS of receives
 * @request_flags: DAT_COMPLETION_FLAGS of requests
 */
struct dat_ep_attr {
	u32	max_recv;
	u32	max_request;
	u32	max_recv_iov;
	u32	max_request_iov;
	u32	read_in;
	u32	read_out;
	u32	recv_flags;
	u32	request_flags;
};

/**
 * struct dat_ep - endpoint
 * @obj: base object
 * @pz: protection zone, held with dat_obj_use(); NULL in an EP that the kernel face has made for a
 *	connection request, until the consumer sets the zone
 * @recv_evd: EVD for receives, held with dat_obj_use(); or NULL
 * @request_evd: EVD for requests, held with dat_obj_use(); or NULL
 * @connect_evd: EVD for connection events, held with dat_obj_use(); or NULL
 * @srq: SRQ that supplies the receives, held with dat_obj_use(); or NULL
 * @attr: attributes; constant while @conn is set
 * @traits: enum dat_ep_trait bits; constant while @conn is set
 * @lock: lock of all members from @state to @sge, except @next and @generation; also held to change
 *	a member above @lock
 * @state: DAT state; written only by dat_ep_set_state()
 * @dead: flag: the EP is being shut down, so no connection may begin
 * @freed: flag: the owner has freed the EP, so no more events about the EP are queued; implies
 *	@dead
 * @version: number of modifications so far; dat_ep_claim() refuses a connection that was allocated
 *	before the last modification
 * @conn: current connection, from connect or accept until the end of the connection is reported; or
 *	NULL
 * @open: equal to @conn while posts of a kernel consumer may bypass the ring, else NULL; see
 *	dat_ep_update_open().  The poster also checks that the ring is empty and that the device
 *	has room.
 * @sq: send queue
 * @rq: receive queue; has no entries if @srq is set
 * @completed: number of requests and receives that have completed
 * @failed: number of these that have completed with an error other than a flush
 * @flushed: number of these that were flushed
 * @ring: memory of the rings, which the owner may map; also holds the EP state and the peer's
 *	private data
 * @nconns: number of connections whose ep points to this EP; a shutdown waits until @nconns is 0
 * @local: address of this end of the connection
 * @remote: address of the peer's end of the connection
 * @read_in: negotiated number of the peer's RDMA reads in flight
 * @read_out: negotiated number of own RDMA reads in flight
 * @peer_busy: flag: the peer's listener has refused the last connect, because it had no place; read
 *	without @lock
 * @next: prepared ring, not in use yet; protected by ia->resize_lock
 * @generation: generation number of the ring that was prepared last; protected by ia->resize_lock
 * @wr: copy of the work request that is being posted or pumped
 * @sge: resolved segments of the work request that is being posted
 */
struct dat_ep {
	struct dat_obj		obj;
	struct dat_pz		*pz;
	struct dat_evd		*recv_evd;
	struct dat_evd		*request_evd;
	struct dat_evd		*connect_evd;
	struct dat_srq		*srq;
	struct dat_ep_attr	attr;
	u32			traits;
	spinlock_t		lock;		/* state to sge, see above */
	enum dat_ep_state	state;
	bool			dead;
	bool			freed;
	u32			version;
	struct dat_conn		*conn;
	struct dat_conn		*open;
	struct dat_queue	sq;
	struct dat_queue	rq;
	u64			completed;
	u64			failed;
	u64			flushed;
	struct dat_epring	ring;
	atomic_t		nconns;
	struct sockaddr_storage	local;
	struct sockaddr_storage	remote;
	u32			read_in;
	u32			read_out;
	bool			peer_busy;
	struct dat_epring	next;
	u32			generation;
	struct dat_wr		wr;
	struct ib_sge		sge[DAT_MAX_SGE];
};

DAT_OBJ_CAST(ep)

static inline bool dat_ep_posting(enum dat_ep_state state)
{
	return state == DAT_EP_CONNECTED || state == DAT_EP_DISC_PENDING;
}

struct dat_ep_parents {
	struct dat_pz *pz;
	struct dat_evd *recv_evd, *request_evd, *connect_evd;
	struct dat_srq *srq;
};

void dat_ep_set_state(struct dat_ep *ep, enum dat_ep_state state);
void dat_ep_update_open(struct dat_ep *ep);
int dat_ep_claim(struct dat_ep *ep, enum dat_ep_state state, struct dat_conn *conn);
bool dat_ep_unclaim(struct dat_ep *ep);
int dat_ep_disconnect(struct dat_ep *ep, bool graceful);
int dat_ep_reset(struct dat_ep *ep);
void dat_ep_kick(struct dat_ep *ep, struct dat_queue *q);
void dat_ep_process(struct dat_ep *ep, struct dat_queue *q);
void dat_ep_kick_locked(struct dat_ep *ep, struct dat_queue *q);
void dat_ep_cond_resched(struct dat_ep *ep);

/* ep_make.c */
bool dat_ep_attr_fits(const struct dat_ia *ia, const struct dat_ep_attr *attr);
struct dat_ep *dat_ep_create(struct dat_ia *ia, const struct dat_ep_parents *parents,
			     const struct dat_ep_attr *attr, u64 user_data);
int dat_ep_modify(struct dat_ep *ep, const struct dat_ep_parents *parents,
		  const struct dat_ep_attr *attr, struct dat_step *step);
void dat_ep_put_parents(const struct dat_ep_parents *p);
void dat_ep_drop_parents(struct dat_ep *ep);

#endif /* _DAT_EP_H */
