/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Interface between the core and a transport: limits, quirks and operations of a device. */
#ifndef _DAT_XPORT_H
#define _DAT_XPORT_H

#include <linux/bits.h>
#include <linux/socket.h>
#include <linux/types.h>

#include "core/abi.h"

struct dat_binding;
struct dat_conn;
struct dat_cq;
struct dat_cr;
struct dat_dev;
struct dat_ep;
struct dat_evd;
struct dat_kmem;
struct dat_lmr;
struct dat_path;
struct dat_psp;
struct dat_pz;
struct dat_rmr;
struct dat_srq;
struct ib_recv_wr;
struct ib_send_wr;
struct net;
union dat_send_wr;

/**
 * enum dat_quirk - deviations of a device or its driver from the specifications
 * @DAT_QUIRK_CQ_GRACE: the driver may still access a CQ for a moment after ib_destroy_cq()
 * @DAT_QUIRK_NO_LAST_WQE: a QP with an SRQ reports no "last WQE reached" event
 * @DAT_QUIRK_LONG_IS_QP_OP: a receive whose buffer is too short for the message completes with a QP
 *	operation error
 * @DAT_QUIRK_UNORDERED: a request may complete before an RDMA read that was posted earlier
 * @DAT_QUIRK_REG_PAGES: IB_WR_REG_MR uses the page size in the request; a device without this flag
 *	may always use the same page size
 * @DAT_QUIRK_MR_SPARE: an MR must be allocated for one page more than the registration has
 * @DAT_QUIRK_REJECT_IS_RESET: the CM reports a peer's reject with the same status as a lost
 *	connection
 * @DAT_QUIRK_REPLAYS: the device executes a peer's request twice if the QP enters the error state
 *	between the completion and the acknowledgment of the request
 * @DAT_QUIRK_NO_SOLICITED: a CQ that is armed for solicited messages never notifies
 * @DAT_QUIRK_OPEN_INVALIDATE: a send with invalidate ends any registration that was made by work
 *	request, also one of another protection domain
 * @DAT_QUIRK_NO_INVALIDATE: the device has no request that invalidates a registration, or access
 *	that has begun goes on after the request, so only the destruction of an MR ends the access
 * @DAT_QUIRK_FLUSH_ALL: the driver flushes in software, and then also completes, as flushed,
 *	unsignalled requests that have succeeded; or this is unknown
 * @DAT_QUIRK_OPEN_ACCESS: DAT_EP_PEER_WAITS has no effect, because the device ignores the access
 *	flags of a QP, or cannot change the flags of a connected QP
 * @DAT_QUIRK_RELAXED: writes through the key of a registration that was made by work request, or
 *	through the key for DMA addresses, may become visible out of order
 * @DAT_QUIRK_NOTIFIES_IN_POST: the driver may call the handler of a CQ inside a post
 * @DAT_QUIRK_LATE_FENCE: a request with a fence that the device sends again waits also for RDMA
 *	reads behind it, which in turn wait for that request
 */
enum dat_quirk {
	DAT_QUIRK_CQ_GRACE	= BIT(0),
	DAT_QUIRK_NO_LAST_WQE	= BIT(1),
	DAT_QUIRK_LONG_IS_QP_OP	= BIT(2),
	DAT_QUIRK_UNORDERED	= BIT(3),
	DAT_QUIRK_REJECT_IS_RESET = BIT(4),
	DAT_QUIRK_REG_PAGES	= BIT(5),
	DAT_QUIRK_MR_SPARE	= BIT(6),
	DAT_QUIRK_REPLAYS	= BIT(7),
	DAT_QUIRK_NO_SOLICITED	= BIT(8),
	DAT_QUIRK_OPEN_INVALIDATE = BIT(9),
	DAT_QUIRK_OPEN_ACCESS	= BIT(10),
	DAT_QUIRK_RELAXED	= BIT(11),
	DAT_QUIRK_FLUSH_ALL	= BIT(12),
	DAT_QUIRK_NO_INVALIDATE	= BIT(13),
	DAT_QUIRK_NOTIFIES_IN_POST = BIT(14),
	DAT_QUIRK_LATE_FENCE	= BIT(15),
};

#define DAT_FW_SIZE	32

/* Limits and identity of a device.  A limit is the largest possible value. */
struct dat_limits {
	u32	max_qp;
	u32	max_pd;
	u32	max_mr;
	u32	max_srq;	/* 0: SRQs are not supported */
	u64	max_mr_size;	/* largest registration in bytes */
	u32	max_dto;	/* entries of a send or receive queue */
	u32	max_srq_dto;
	u32	max_recvs;	/* receives of a queue at the device; others wait in the ring */
	u32	send_sge;	/* segments of a request; each *_sge is at most DAT_MAX_SGE */
	u32	recv_sge;
	u32	read_sge;	/* segments of an RDMA read */
	u32	srq_sge;
	u32	max_inline;	/* bytes of inline data of a request; at most DAT_MAX_INLINE */
	u32	read_in;	/* the peer's RDMA reads in flight; at most U8_MAX */
	u32	read_out;	/* own RDMA reads in flight; at most U8_MAX */
	/* Bytes of private data; at most DAT_MAX_PRIVATE_DATA. */
	u32	pd_request;	/* of a connect */
	u32	pd_reply;	/* of an accept */
	u32	pd_reject;	/* of a reject, behind the 4 bytes of dat_cr_reject() */
	u32	fast_reg_pages;	/* pages that a work request can register; 0: not supported */
	u32	vendor_id;
	u32	vendor_part_id;
	u32	hw_ver;
	u32	caps;		/* DAT_IA_CAP_* bits */
	char	fw[DAT_FW_SIZE];	/* firmware version; may be empty */
	u32	max_seg;	/* largest scatterlist entry in bytes */
	bool	virt_dma;	/* the CPU copies instead of DMA: no cache needs a sync */
	bool	local;		/* the device reaches this host only; at most one such device */
};

/* Current properties of a port. */
struct dat_port {
	u32	msg_max;	/* bytes */
	u32	mtu;		/* payload of a packet in bytes; 0: unknown, or the port is down */
	bool	active;
	bool	iwarp;
};

/* Keys that give access to a registration. */
struct dat_keys {
	u32	lkey;
	u32	rkey;		/* 0: peers have no access */
};

/**
 * struct dat_request - a peer's connection request, as a transport reports it
 * @handle: transport's request; dat_cr_create() makes a CR that owns the handle
 * @local: address to which the peer connects
 * @remote: address of the peer.  On RoCE, this is the address from which the request came, because
 *	the transport refuses a request that states another address.  With iWARP, this is the
 *	address of the TCP connection.  On InfiniBand, only the request states the address.
 * @place: number that the gate of the listener's EVD has returned, or 0; set by dat_psp_request()
 * @gone: flag: the peer has given up, or the device is removed
 * @read_in: number of RDMA reads that the peer wants to have in flight
 * @read_out: number of RDMA reads of this end that the peer can answer at the same time
 * @qpn: queue pair number of the peer; 0 with iWARP
 * @pd: private data from the peer
 * @pd_len: bytes of @pd
 */
struct dat_request {
	void				*handle;
	struct sockaddr_storage		local;
	struct sockaddr_storage		remote;
	int				place;
	bool				gone;
	u32				read_in;
	u32				read_out;
	u32				qpn;
	const void			*pd;
	u32				pd_len;
};

/* Result of a successful handshake. */
struct dat_handshake {
	const struct sockaddr_storage	*local;
	const struct sockaddr_storage	*remote;
	u32				read_in;	/* negotiated RDMA reads of the peer */
	u32				read_out;	/* negotiated own RDMA reads */
	const void			*pd;		/* peer's data; NULL if this end accepts */
	u32				pd_len;
};

/**
 * struct dat_xport_ops - operations of a transport
 * @obj_size: size of the transport's structure for each object type, whose first member is the
 *	core's structure; 0 if the transport adds no members
 * @conn_size: size of the transport's structure for a connection, whose first member is struct
 *	dat_conn
 * @binding_size: size of the transport's structure for a binding, whose first member is struct
 *	dat_binding
 * @hold: keep the driver of a device from going away until @drop; return false if it goes already;
 *	dat_dev_lock held
 * @drop: undo @hold
 * @name: write the current name of the device; the name may change between calls
 * @port_visible: return whether a network namespace may use a port
 * @port_query: read the current properties of a port
 * @addr: find a usable address of a port in a network namespace.  The addresses are numbered; take
 *	the first address from number *@nr on, and set *@nr to the number of that address.  Return
 *	false if there is no such address.  The same address may have several numbers.  The caller
 *	looks only for the address @only, unless its family is AF_UNSPEC; the transport may skip
 *	other addresses.
 * @evd_init: initialize the transport's part of an EVD
 * @pz_init: create the transport's protection zone and set pz->dma_key; may sleep
 * @pz_exit: destroy the transport's protection zone; idempotent; allowed without @pz_init; may
 *	sleep
 * @mem_map: map kernel memory for DMA, unless mem->foreign is set; the DAT_PRIV_* bits give the
 *	direction
 * @mem_unmap: undo @mem_map; do nothing if the memory is not mapped; must not sleep
 * @mem_sync: sync caches of mapped memory for the CPU or for the device; ignore bytes beyond the
 *	memory; lmr->lock held
 * @lmr_user: register memory of the current process, and set lmr->lkey and lmr->rkey, or
 *	lmr->chunks; may sleep
 * @lmr_kernel: register lmr->mem, which is mapped, and set the LMR's lkey, rkey and shift; may
 *	sleep; the first call for a protection zone may take as long as making a connection.  Return
 *	-EINVAL if the memory has holes, -E2BIG if the memory has too many pages, -EOPNOTSUPP if the
 *	device has no such registrations or the DMA mapping has holes, -ENETUNREACH if the adapter
 *	cannot connect to itself, -EIO if the registration fails or takes too long, -ENODEV if the
 *	IA is closing, or -ENOMEM.
 * @lmr_empty: replace the LMR's registration, if any, by a registration without memory; may sleep
 * @lmr_map: give a registration without memory the mapped memory and new keys; the request that
 *	@lmr_build builds puts both into effect
 * @lmr_build: build the transport's request for DAT_KOP_LMR_FMR or DAT_KOP_LMR_INVALIDATE
 * @lmr_exit: end the registration of an LMR; idempotent; allowed without a registration; may sleep
 * @bind_init: prepare a registration for a binding, which may be one that @bind_exit has kept; set
 *	the keys, by_request and live of the binding; may sleep
 * @bind_exit: end the registration of a binding, or keep the registration for another binding of
 *	the RMR if it is not live; allowed without @bind_init; may sleep
 * @rmr_exit: destroy the registration that @bind_exit has kept; the RMR is dead; idempotent; may
 *	sleep
 * @srq_init: create the transport's SRQ; may sleep
 * @srq_exit: destroy the transport's SRQ; idempotent; allowed without @srq_init; may sleep
 * @srq_post: post a buffer to the SRQ; srq->lock held
 * @listen: listen at a port, or at any free one if the argument is 0, on each address of
 *	the IA's port that psp->addr allows.  Follow these addresses as they come and go.  Call
 *	dat_psp_bound(), then report connection requests to dat_psp_request().  After an error there
 *	is no listener.
 * @unlisten: stop listening.  Refuse the requests that have no CR yet, and report no more requests.
 * @request_lock: lock a request against the handler of its events; held around dat_psp_request()
 * @request_unlock: release the lock of @request_lock
 * @request_own: make a CR the owner of a request: if the peer gives up, call dat_cr_gone() for that
 *	CR; @request_lock held
 * @reject: the consumer rejects a request: send the peer a refusal with private data, then release
 *	the request
 * @abandon: refuse a request that the consumer has not answered, then release the request
 * @connect: begin to connect from the address of the IA that the route to the peer prefers.  The EP
 *	has claimed the connection.  Do work that grows with the length of the queues in the
 *	caller's thread.  Events may arrive before the call returns.  Return 0, -ENETUNREACH,
 *	-EINVAL, -EPERM or -ENOMEM.
 * @accept: accept a request and call dat_conn_accepted().  The EP has claimed the connection.  Undo
 *	the claim with dat_ep_unclaim() before an error is returned.  After an error the caller owns
 *	the request again.  If the request cannot be given back, close the connection with
 *	DAT_EV_ACCEPT_ERROR instead, and return 0.
 * @conn_init: initialize the transport's part of a connection
 * @implied_established: data may have arrived, which implies that the handshake of an accepted
 *	connection has succeeded: call dat_conn_established(), which does nothing unless the
 *	handshake is in progress.  Do nothing for a connection that this end has begun.  Runs in a
 *	work item.
 * @conn_quiesce: carry out steps of the teardown: disconnect and drain.  Return 0 when the device
 *	has none of the connection's work requests any more, and no event has an effect.  Return a
 *	number of jiffies if a step has to wait; the core calls again after that time or after
 *	dat_conn_resume_close(), and the teardown occupies no worker of dat_close_wq meanwhile.  A
 *	step may sleep only for a call of the driver, not for a completion, a peer or a time.
 * @conn_unbind: release the CM's part of the connection, with the local address and the connection
 *	request; idempotent; may sleep
 * @conn_exit: release the remaining resources of a connection that has left its EP.  Call
 *	dat_conn_gone() when no handler of the transport runs any more; @conn_exit may return before
 *	that.  If the driver cannot release a resource, call dat_conn_keep() instead.
 * @path: read the GIDs and queue pair numbers of a connection; ep->lock held
 * @allow_peer: give the peer read access to memory, and if the argument write is true, write access
 *	as well; only for a connection accepted with DAT_EP_PEER_WAITS; may sleep
 * @bind_start: post the work requests that register a binding and end the registration with the
 *	rkey b->ends, if any; set live.  No request is in flight.  Return 1 if dat_conn_bind_done()
 *	will be called, 0 if there is nothing to post, or an error.  ep->lock held.
 * @send_waits: return true if the request in ep->wr must wait until no request is in flight; @n is
 *	the number of requests in the chain before that request; only with DAT_QUIRK_UNORDERED;
 *	ep->lock held
 * @post_send: post a chain of requests; ep->lock held
 * @mark: post a marker to the SQ, which is executed after all earlier requests; call
 *	dat_queue_mark_done() when it has completed; one marker at a time; ep->lock held
 * @post_recv: post a chain of receives; ep->lock held
 * @run: carry on after a kick, if conn->runs is set or if threads poll the CQ of the connection's
 *	requests; @ep may have another connection or none by now; may sleep; no lock held
 * @look: poll a CQ that has joined busy polling, unless another thread polls it: report completions
 *	with dat_complete(), call dat_conn_completed() for their connections, and set cq->seen if
 *	there were completions; more may be left; RCU read lock held, no other lock
 * @take_unsolicited: poll for receives of a solicited connection, report the receives and return
 *	the number of receives; no lock held; NULL if the transport reports such receives at once
 * @rearm: schedule a handler that polls for completions until there are none, then arms the CQ,
 *	unless the CQ joins busy polling again; only for a CQ that dat_busy_leave() has removed;
 *	cq->lock held
 *
 * The driver of the device cannot go away during a call.  The caller holds the device with @hold,
 * has locked an IA of the device with dat_ia_lock_live(), is counted in ia->pinning, or works for
 * an object or a connection for whose end the removal waits.
 */
struct dat_xport_ops {
	size_t	obj_size[DAT_OBJ_LAST];
	size_t	conn_size;
	size_t	binding_size;

	bool (*hold)(struct dat_dev *dev);
	void (*drop)(struct dat_dev *dev);
	void (*name)(const struct dat_dev *dev, char *name, size_t len);
	bool (*port_visible)(const struct dat_dev *dev, u32 port, struct net *net);
	void (*port_query)(const struct dat_dev *dev, u32 port, struct dat_port *out);
	bool (*addr)(const struct dat_dev *dev, u32 port, struct net *net,
		     const struct sockaddr_storage *only, u32 *nr, struct sockaddr_storage *ss);
	void (*evd_init)(struct dat_evd *evd);
	int  (*pz_init)(struct dat_pz *pz);
	void (*pz_exit)(struct dat_pz *pz);
	int  (*mem_map)(struct dat_dev *dev, struct dat_kmem *mem, u32 priv);
	void (*mem_unmap)(struct dat_dev *dev, struct dat_kmem *mem);
	void (*mem_sync)(struct dat_dev *dev, struct dat_kmem *mem, u64 offset, u64 length,
			 bool for_cpu);
	int  (*lmr_user)(struct dat_lmr *lmr);
	int  (*lmr_kernel)(struct dat_lmr *lmr);
	int  (*lmr_empty)(struct dat_lmr *lmr, u32 max_pages);
	int  (*lmr_map)(struct dat_lmr *lmr, struct dat_kmem *mem, u32 max_pages, u64 start,
			u32 priv, struct dat_keys *keys);
	void (*lmr_build)(struct dat_lmr *lmr, u8 op, union dat_send_wr *out);
	void (*lmr_exit)(struct dat_lmr *lmr);
	int  (*bind_init)(struct dat_binding *b);
	void (*bind_exit)(struct dat_binding *b);
	void (*rmr_exit)(struct dat_rmr *rmr);
	int  (*srq_init)(struct dat_srq *srq, u32 max_recv, u32 max_iov);
	void (*srq_exit)(struct dat_srq *srq);
	int  (*srq_post)(struct dat_srq *srq, const struct ib_recv_wr *wr);
	int  (*listen)(struct dat_psp *psp, u16 port);
	void (*unlisten)(struct dat_psp *psp);
	void (*request_lock)(void *request);
	void (*request_unlock)(void *request);
	void (*request_own)(void *request, struct dat_cr *cr);
	void (*reject)(void *request, const void *pd, u32 pd_len);
	void (*abandon)(void *request);
	int  (*connect)(struct dat_conn *conn, const struct sockaddr_storage *dst, u32 qos);
	int  (*accept)(struct dat_conn *conn, struct dat_cr *cr, void *request);
	void (*conn_init)(struct dat_conn *conn);
	void (*implied_established)(struct dat_conn *conn);
	unsigned long (*conn_quiesce)(struct dat_conn *conn);
	void (*conn_unbind)(struct dat_conn *conn);
	void (*conn_exit)(struct dat_conn *conn);
	void (*path)(struct dat_conn *conn, struct dat_path *path);
	int  (*allow_peer)(struct dat_conn *conn, bool write);
	int  (*bind_start)(struct dat_conn *conn, struct dat_binding *b);
	bool (*send_waits)(struct dat_conn *conn, unsigned int n);
	int  (*post_send)(struct dat_conn *conn, struct ib_send_wr *wr,
			  const struct ib_send_wr **bad);
	int  (*mark)(struct dat_conn *conn);
	int  (*post_recv)(struct dat_conn *conn, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad);
	void (*run)(struct dat_ep *ep);
	void (*look)(struct dat_cq *cq);
	int  (*take_unsolicited)(struct dat_conn *conn);
	void (*rearm)(struct dat_cq *cq);
};

#endif /* _DAT_XPORT_H */
