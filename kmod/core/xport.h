/* SPDX-License-Identifier: GPL-2.0 */
/* The seam to transports: what a device can do, what is odd about it, and how it is asked. */
#ifndef _DAT_XPORT_H
#define _DAT_XPORT_H

#include <linux/bits.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <rdma/dat_ioctl.h>

struct dat_binding;
struct dat_conn;
struct dat_cr;
struct dat_dev;
struct dat_kmem;
struct dat_lmr;
struct dat_path;
struct dat_psp;
struct dat_pz;
struct dat_srq;
struct ib_recv_wr;
struct ib_send_wr;
struct net;
union dat_send_wr;

/**
 * enum dat_quirk - what a device does otherwise than the specifications say
 * @DAT_QUIRK_CQ_GRACE: a CQ may be looked at for a moment after it was freed
 * @DAT_QUIRK_NO_LAST_WQE: there is no event for the last receive of a QP with an SRQ
 * @DAT_QUIRK_LONG_IS_QP_OP: a message longer than its receive ends that as a QP operation error
 * @DAT_QUIRK_UNORDERED: requests may complete before RDMA reads that were posted before them
 * @DAT_QUIRK_REG_PAGES: a registration by work request heeds the size of its pages; one without
 *	this flag takes them for PAGE_SIZE, whatever the request says
 * @DAT_QUIRK_MR_SPARE: a registration needs an entry more than it has pages
 * @DAT_QUIRK_REJECT_IS_RESET: a reply that rejects has the same status as a lost connection
 */
enum dat_quirk {
	DAT_QUIRK_CQ_GRACE	= BIT(0),
	DAT_QUIRK_NO_LAST_WQE	= BIT(1),
	DAT_QUIRK_LONG_IS_QP_OP	= BIT(2),
	DAT_QUIRK_UNORDERED	= BIT(3),
	DAT_QUIRK_REJECT_IS_RESET = BIT(4),
	DAT_QUIRK_REG_PAGES	= BIT(5),
	DAT_QUIRK_MR_SPARE	= BIT(6),
};

#define DAT_FW_SIZE	32

/**
 * struct dat_limits - what a device can do
 * @max_qp: endpoints
 * @max_pd: protection zones
 * @max_mr: registrations
 * @max_srq: shared receive queues; 0: there are none
 * @max_mr_size: bytes of a registration
 * @max_dto: work requests of a queue of an endpoint; a power of two
 * @max_srq_dto: receives of an SRQ; likewise
 * @send_sge: segments of a request, at most DAT_MAX_SGE, as are the others
 * @recv_sge: segments of a receive
 * @read_sge: segments of an RDMA read
 * @srq_sge: segments of a receive of an SRQ
 * @read_in: RDMA reads of the peer in flight, at most U8_MAX
 * @read_out: own RDMA reads in flight, at most U8_MAX
 * @fast_reg_pages: pages of a registration by work request; 0: the device has no such requests
 * @vendor_id: of the device, as in verbs
 * @vendor_part_id: likewise
 * @hw_ver: likewise
 * @fw: version of the firmware; may be empty
 * @max_seg: bytes of an entry of a scatterlist
 * @virt_dma: the device copies by the processor, so memory needs no syncs
 */
struct dat_limits {
	u32	max_qp;
	u32	max_pd;
	u32	max_mr;
	u32	max_srq;
	u64	max_mr_size;
	u32	max_dto;
	u32	max_srq_dto;
	u32	send_sge;
	u32	recv_sge;
	u32	read_sge;
	u32	srq_sge;
	u32	read_in;
	u32	read_out;
	u32	fast_reg_pages;
	u32	vendor_id;
	u32	vendor_part_id;
	u32	hw_ver;
	char	fw[DAT_FW_SIZE];
	u32	max_seg;
	bool	virt_dma;
};

/**
 * struct dat_port - what a port is like now
 * @msg_max: bytes of a message
 * @active: the port is up
 * @iwarp: it speaks iWARP
 */
struct dat_port {
	u32	msg_max;
	bool	active;
	bool	iwarp;
};

/**
 * struct dat_keys - keys of a registration
 * @lkey: for segments
 * @rkey: for peers; 0: they may do nothing
 */
struct dat_keys {
	u32	lkey;
	u32	rkey;
};

/**
 * struct dat_request - a peer's connection request, as a transport reports it
 * @handle: the transport's own; the CR that is made of it owns it
 * @remote: address that the peer claims
 * @off_path: @remote is not the address of the path
 * @gone: the peer has given up
 * @read_in: RDMA reads that the peer wants to have in flight
 * @read_out: RDMA reads that the peer answers at a time
 * @qpn: number of the peer's queue pair; 0 with iWARP
 * @pd: private data
 * @pd_len: bytes of it
 */
struct dat_request {
	void				*handle;
	struct sockaddr_storage		remote;
	bool				off_path;
	bool				gone;
	u32				read_in;
	u32				read_out;
	u32				qpn;
	const void			*pd;
	u32				pd_len;
};

/**
 * struct dat_handshake - what the handshake of a connection has led to
 * @local: address of this end
 * @remote: address of the peer
 * @read_in: RDMA reads of the peer in flight
 * @read_out: own RDMA reads in flight
 * @pd: private data of the peer's answer; none on the accepting side
 * @pd_len: bytes of it
 */
struct dat_handshake {
	const struct sockaddr_storage	*local;
	const struct sockaddr_storage	*remote;
	u32				read_in;
	u32				read_out;
	const void			*pd;
	u32				pd_len;
};

/**
 * struct dat_xport_ops - how a transport is asked
 * @obj_size: size of the transport's object, by type; its first member is the object layer's, or 0:
 *	it adds nothing
 * @conn_size: size of the transport's connection, whose first member is struct dat_conn
 * @binding_size: size of the transport's binding, whose first member is struct dat_binding
 * @name: write the name of the device, which may change
 * @port_visible: whether a port is for the network namespace
 * @port_query: tell what a port is like
 * @addr: find the address of a port in a network namespace: of family AF_INET or AF_INET6, or the
 *	best for AF_UNSPEC; of no family while there is none
 * @pz_init: make a zone, and set pz->dma_key; may sleep
 * @pz_exit: end it; may be called again, and without @pz_init
 * @mem_map: get DMA addresses of kernel memory that is to be used with DAT_PRIV_* rights
 * @mem_unmap: give them back, if there are some
 * @mem_sync: let CPU and device see the same; bytes beyond the memory are ignored
 * @lmr_user: register memory of the current process, and set @lkey and @rkey; may sleep
 * @lmr_kernel: register lmr->mem, which is mapped, and set @lkey, @rkey and @shift; may sleep,
 *	the first time in a zone for as long as a connection takes; -EINVAL there are holes in the
 *	memory, -E2BIG too many pages, -EOPNOTSUPP no such registrations, or the mapping has holes,
 *	-ENETUNREACH, -EIO the device refused it, -ENODEV the IA is closing, -ENOMEM
 * @lmr_empty: make a registration without memory, in place of the present one; may sleep
 * @lmr_map: tell it of memory, which is mapped, and choose new keys; the request of @lmr_build
 *	brings it into effect
 * @lmr_build: make a request of op DAT_KOP_LMR_FMR or DAT_KOP_LMR_INVALIDATE
 * @lmr_exit: end the registration; may be called again, and without one; may sleep
 * @bind_init: make a registration of a binding, and set its keys; may sleep
 * @bind_exit: end it; may be called without @bind_init; may sleep
 * @srq_init: make the transport's SRQ; may sleep
 * @srq_exit: end it; may be called again, and without @srq_init; may sleep
 * @srq_post: give it a buffer; srq->lock held
 * @listen: listen at a port, 0 for any: call dat_psp_bound(), then report requests to
 *	dat_psp_request(); after an error there is no listener
 * @unlisten: end that; no request is reported afterwards, and those that were not taken are refused
 * @request_lock: keep the events of a request out; dat_psp_request() is called with this lock
 * @request_unlock: let them come
 * @request_own: the end of a request is reported by dat_cr_gone() of this CR; @request_lock held
 * @reject: refuse a request as a consumer does, with private data, and let go of it
 * @abandon: refuse a request that no consumer is left for, and let go of it
 * @connect: begin to connect a connection that the EP has claimed; events may come before it
 *	returns; -ENETUNREACH, -ENOMEM; it may change the port of the source
 * @accept: accept a request with a connection that the EP has claimed, and call
 *	dat_conn_accepted(); after an error the claim is undone, and the request is @cr's again
 * @conn_init: prepare the transport's part of a connection, conn->early_work among it
 * @conn_quiesce: disconnect; afterwards no event comes, and every work request has completed
 * @conn_unbind: let go of the address, the peer and the request; may be called again
 * @conn_exit: let go of the rest of a connection that has left its EP, and call dat_conn_gone()
 *	when no handler of the transport runs, perhaps later
 * @path: tell between which queue pairs a connection is; ep->lock held
 * @let_peer: let the peer of a connection that was accepted with DAT_EP_PEER_WAITS read memory, and
 *	write it
 * @bind_start: register a binding in its turn: 1, and dat_conn_bind_done() follows, 0 nothing is
 *	to be done, or an error; ep->lock held
 * @post_send: post a chain of requests; ep->lock held
 * @post_recv: post a receive; ep->lock held
 * @take: report completions without having been notified, by dat_complete(); ep->lock held;
 *	returns how many, and there may be more
 * @take_unsolicited: the same for receives of a solicited connection
 * @rearm: look at completions soon, and be notified when there are none; of a connection whose
 *	completions have been notified before; ep->lock held
 *
 * The device exists during a call that makes or uses something of it: dat_dev_lock is held, an IA
 * of the device is locked and not dead, or the object of the call has not been shut down.
 * @pz_exit, @mem_unmap, @lmr_exit and @srq_exit are also called after the device has gone, for an
 * object that was shut down before: they must not touch the device when nothing is left to undo.
 */
struct dat_xport_ops {
	size_t	obj_size[DAT_OBJ_LAST];
	size_t	conn_size;
	size_t	binding_size;

	void (*name)(const struct dat_dev *dev, char *name, size_t len);
	bool (*port_visible)(const struct dat_dev *dev, u32 port, struct net *net);
	void (*port_query)(const struct dat_dev *dev, u32 port, struct dat_port *out);
	void (*addr)(const struct dat_dev *dev, u32 port, const struct net *net,
		     sa_family_t family, struct sockaddr_storage *ss);
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
	int  (*connect)(struct dat_conn *conn, struct sockaddr_storage *src,
			const struct sockaddr_storage *dst, u32 qos);
	int  (*accept)(struct dat_conn *conn, struct dat_cr *cr, void *request);
	void (*conn_init)(struct dat_conn *conn);
	void (*conn_quiesce)(struct dat_conn *conn);
	void (*conn_unbind)(struct dat_conn *conn);
	void (*conn_exit)(struct dat_conn *conn);
	void (*path)(struct dat_conn *conn, struct dat_path *path);
	int  (*let_peer)(struct dat_conn *conn, bool write);
	int  (*bind_start)(struct dat_conn *conn, struct dat_binding *b);
	int  (*post_send)(struct dat_conn *conn, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad);
	int  (*post_recv)(struct dat_conn *conn, const struct ib_recv_wr *wr);
	int  (*take)(struct dat_conn *conn);
	int  (*take_unsolicited)(struct dat_conn *conn);
	void (*rearm)(struct dat_conn *conn);
};

#endif /* _DAT_XPORT_H */
