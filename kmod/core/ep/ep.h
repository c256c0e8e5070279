/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Endpoints. */
#ifndef _DAT_EP_H
#define _DAT_EP_H

#include <linux/socket.h>

#include "core/ep/queue.h"

struct dat_conn;
struct dat_evd;
struct dat_ia;
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

/* Attributes of an EP, as DAT defines them. */
struct dat_ep_attr {
	u32	max_recv;		/* receives that are posted and not completed */
	u32	max_request;		/* requests that are posted and not completed */
	u32	max_recv_iov;		/* segments of a receive */
	u32	max_request_iov;	/* segments of a request */
	u32	read_in;		/* the peer's RDMA reads in flight */
	u32	read_out;		/* own RDMA reads in flight */
	u32	recv_flags;		/* DAT_COMPLETION_FLAGS of receives */
	u32	request_flags;		/* DAT_COMPLETION_FLAGS of requests */
	u32	max_inline;		/* bytes of inline data of a request */
	u32	flags;			/* DAT_EP_FLAG_* bits */
};

/*
 * Endpoint.  @lock protects all members from @state to @sge, except @nconns, @refusal, and @next
 * and @generation, which ia->resize_lock protects.  Changes of members above @lock also need @lock.
 * @attr and @traits are constant while @conn is set.  The zone, the EVDs and the SRQ are held with
 * dat_obj_use(), and are NULL after the shutdown.
 */
struct dat_ep {
	struct dat_obj		obj;
	/* NULL in an EP that the face made for a request, until the consumer sets @pz. */
	struct dat_pz		*pz;
	struct dat_evd		*recv_evd;	/* each EVD may be NULL */
	struct dat_evd		*request_evd;
	struct dat_evd		*connect_evd;
	struct dat_srq		*srq;		/* SRQ that supplies the receives, or NULL */
	struct dat_ep_attr	attr;
	u32			traits;		/* enum dat_ep_trait bits */
	spinlock_t		lock;		/* lock of @state to @sge, see above */
	enum dat_ep_state	state;		/* written only by dat_ep_set_state() */
	bool			dead;		/* shutting down: no connection may begin */
	/* Freed by the owner: no events, except of receives from @srq; implies @dead. */
	bool			freed;
	/*
	 * Number of modifications.  dat_ep_claim() refuses a connection that was allocated before
	 * the last modification.
	 */
	u32			version;
	struct dat_conn		*conn;		/* connection whose end is not reported; or NULL */
	/*
	 * Equal to @conn while posts of a kernel consumer may bypass the ring, else NULL; see
	 * dat_queue_update_open().  The poster also checks that the ring is empty and that the
	 * device has room.
	 */
	struct dat_conn		*open;
	bool			runner;		/* the pump's caller will run; see dat_conn.runs */
	struct dat_queue	sq;
	struct dat_queue	rq;		/* has no entries if @srq is set */
	u64			completed;	/* requests and receives that have completed */
	u64			failed;		/* part of @completed: failed, not flushed */
	u64			flushed;	/* part of @completed: flushed */
	struct dat_epring	ring;		/* queues in memory that the owner may map */
	/* Number of connections whose dat_conn.ep is this EP.  A shutdown waits until it is 0. */
	atomic_t		nconns;
	struct sockaddr_storage	local;
	struct sockaddr_storage	remote;
	u32			read_in;	/* negotiated RDMA reads of the peer in flight */
	u32			read_out;	/* negotiated own RDMA reads in flight */
	u8			refusal;	/* enum dat_refusal of the last connect; no lock */
	struct dat_epring	next;		/* prepared ring, not in use yet */
	u32			generation;	/* generation of the ring that was prepared last */
	struct dat_wr		wr;		/* copy of the entry that is posted or pumped */
	struct ib_sge		sge[DAT_MAX_SGE]; /* resolved segments of @wr */
};

DAT_OBJ_CAST(ep)

static inline bool dat_ep_posting(enum dat_ep_state state)
{
	return state == DAT_EP_CONNECTED || state == DAT_EP_DISC_PENDING;
}

/* Returns true if the EP has immediate data.  Constant while the EP has a connection. */
static inline bool dat_ep_has_imm(const struct dat_ep *ep)
{
	return ep->attr.flags & DAT_EP_FLAG_IMMEDIATE;
}

struct dat_ep_parents {
	struct dat_pz *pz;
	struct dat_evd *recv_evd, *request_evd, *connect_evd;
	struct dat_srq *srq;
};

void dat_ep_set_state(struct dat_ep *ep, enum dat_ep_state state);
int dat_ep_claim(struct dat_ep *ep, enum dat_ep_state state, struct dat_conn *conn);
bool dat_ep_unclaim(struct dat_ep *ep);
int dat_ep_disconnect(struct dat_ep *ep, bool graceful);
int dat_ep_reset(struct dat_ep *ep);
void dat_ep_cond_resched(struct dat_ep *ep);

bool dat_ep_attr_fits(const struct dat_ia *ia, const struct dat_ep_attr *attr);
struct dat_ep *dat_ep_create(struct dat_ia *ia, const struct dat_ep_parents *parents,
			     const struct dat_ep_attr *attr, u64 user_data);
int dat_ep_modify(struct dat_ep *ep, const struct dat_ep_parents *parents,
		  const struct dat_ep_attr *attr, struct dat_step *step);
void dat_ep_put_parents(const struct dat_ep_parents *p);
void dat_ep_drop_parents(struct dat_ep *ep);

#endif /* _DAT_EP_H */
