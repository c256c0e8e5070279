/* SPDX-License-Identifier: GPL-2.0 */
/* Endpoints. */
#ifndef _DAT_EP_H
#define _DAT_EP_H

#include <linux/socket.h>

#include "core/queue.h"

struct dat_conn;
struct dat_evd;
struct dat_path;
struct dat_pz;
struct dat_srq;

/* EP states, with the numbers of DAT_EP_STATE. */
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
 * @max_recv: largest number of outstanding receives
 * @max_request: largest number of outstanding requests
 * @max_recv_iov: largest number of segments of a receive
 * @max_request_iov: largest number of segments of a request
 * @read_in: largest number of the peer's RDMA reads in flight
 * @read_out: largest number of own RDMA reads in flight
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
 * @pz: zone; reference and use held
 * @recv_evd: EVD for receives; reference and use held; or NULL
 * @request_evd: EVD for requests; reference and use held; or NULL
 * @connect_evd: EVD for connection events; reference and use held; or NULL
 * @srq: SRQ; reference and use held; or NULL
 * @attr: attributes; constant while there is a connection
 * @traits: enum dat_ep_trait bits; constant while there is a connection
 * @lock: lock of @state to @sge, except @next and @generation, and of changes of the members above
 * @state: DAT state; written by dat_ep_set_state() alone
 * @dead: flag: the EP is being shut down, so no connection may begin
 * @freed: flag: the owner has freed the EP, so it gets no more events; implies @dead
 * @version: number of modifications; dat_ep_claim() refuses a connection made before the last one
 * @conn: current connection, from connect or accept to DISCONNECTED
 * @open: @conn while a kernel consumer may post past the ring, given room at the device and an
 *	empty ring; else NULL; see dat_ep_update_open()
 * @sq: queue of requests
 * @rq: queue of receives, empty with an SRQ
 * @ring: memory of the rings, which the owner may map; also shows state and private data
 * @nconns: number of connections that refer to the EP; shutdown waits for 0
 * @local: address of the connection
 * @remote: address of the connection's peer
 * @read_in: negotiated number of the peer's RDMA reads in flight
 * @read_out: negotiated number of own RDMA reads in flight
 * @next: prepared ring, not in use yet; ia->resize_lock
 * @generation: generation of the ring prepared last; ia->resize_lock
 * @wr: request being posted or pumped
 * @sge: resolved segments of a request being posted
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
	spinlock_t		lock;		/* protects state to sge, see above */
	enum dat_ep_state	state;
	bool			dead;
	bool			freed;
	u32			version;
	struct dat_conn		*conn;
	struct dat_conn		*open;
	struct dat_queue	sq;
	struct dat_queue	rq;
	struct dat_epring	ring;
	atomic_t		nconns;
	struct sockaddr_storage	local;
	struct sockaddr_storage	remote;
	u32			read_in;
	u32			read_out;
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
void dat_ep_kick_locked(struct dat_ep *ep, struct dat_queue *q);
void dat_ep_cond_resched(struct dat_ep *ep);

/* ep_make.c */
bool dat_ep_attr_fits(const struct dat_ia *ia, const struct dat_ep_attr *attr);
struct dat_ep *dat_ep_create(const struct dat_ep_parents *parents,
			     const struct dat_ep_attr *attr, u64 user_data);
int dat_ep_modify(struct dat_ep *ep, const struct dat_ep_parents *parents,
		  const struct dat_ep_attr *attr, struct dat_step *step);
void dat_ep_drop_parents(struct dat_ep *ep);

#endif /* _DAT_EP_H */
