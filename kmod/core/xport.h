/* SPDX-License-Identifier: GPL-2.0 */
/* Interface between the core and a transport: limits, quirks and operations of a device. */
#ifndef _DAT_XPORT_H
#define _DAT_XPORT_H

#include <linux/bits.h>
#include <linux/socket.h>
#include <linux/types.h>

#include "core/abi.h"

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
 * enum dat_quirk - deviations of a device from the specifications
 * @DAT_QUIRK_CQ_GRACE: the driver may access a CQ for a moment after its destruction
 * @DAT_QUIRK_NO_LAST_WQE: the device reports no last WQE of a QP with an SRQ
 * @DAT_QUIRK_LONG_IS_QP_OP: a message longer than its receive completes with a QP operation error
 * @DAT_QUIRK_UNORDERED: requests may complete before RDMA reads that were posted earlier
 * @DAT_QUIRK_REG_PAGES: a registration by work request uses the page size of the request; devices
 *	without this flag always use PAGE_SIZE
 * @DAT_QUIRK_MR_SPARE: a registration needs one entry more than it has pages
 * @DAT_QUIRK_REJECT_IS_RESET: a reject has the same status as a lost connection
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
 * struct dat_limits - limits and properties of a device
 * @max_qp: largest number of endpoints
 * @max_pd: largest number of protection zones
 * @max_mr: largest number of registrations
 * @max_srq: largest number of shared receive queues; 0: not supported
 * @max_mr_size: largest number of bytes of a registration
 * @max_dto: largest number of work requests in a queue of an endpoint; a power of two
 * @max_srq_dto: largest number of receives in an SRQ; a power of two
 * @send_sge: largest number of segments of a request; at most DAT_MAX_SGE
 * @recv_sge: largest number of segments of a receive; at most DAT_MAX_SGE
 * @read_sge: largest number of segments of an RDMA read; at most DAT_MAX_SGE
 * @srq_sge: largest number of segments of a receive of an SRQ; at most DAT_MAX_SGE
 * @read_in: largest number of the peer's RDMA reads in flight; at most U8_MAX
 * @read_out: largest number of own RDMA reads in flight; at most U8_MAX
 * @fast_reg_pages: largest number of pages of a registration by work request; 0: not supported
 * @vendor_id: vendor id, as in verbs
 * @vendor_part_id: vendor's part id, as in verbs
 * @hw_ver: hardware version, as in verbs
 * @fw: firmware version; may be empty
 * @max_seg: largest number of bytes of a scatterlist entry
 * @virt_dma: flag: the processor copies the data, so memory needs no syncs
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
 * struct dat_port - current properties of a port
 * @msg_max: largest number of bytes of a message
 * @active: flag: the port is up
 * @iwarp: flag: the port speaks iWARP
 */
struct dat_port {
	u32	msg_max;
	bool	active;
	bool	iwarp;
};

/**
 * struct dat_keys - keys of a registration
 * @lkey: key for segments
 * @rkey: key for peers; 0: peers have no access
 */
struct dat_keys {
	u32	lkey;
	u32	rkey;
};

/**
 * struct dat_request - a peer's connection request, as a transport reports it
 * @handle: request of the transport; owned by the CR that is made for it
 * @remote: address that the peer claims
 * @off_path: flag: @remote is not the address of the path
 * @gone: flag: the peer has given up
 * @read_in: number of RDMA reads that the peer wants to have in flight
 * @read_out: number of RDMA reads that the peer answers at a time
 * @qpn: queue pair number of the peer; 0 with iWARP
 * @pd: private data
 * @pd_len: bytes of @pd
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
 * struct dat_handshake - result of a connection's handshake
 * @local: address of this end
 * @remote: address of the peer
 * @read_in: negotiated number of the peer's RDMA reads in flight
 * @read_out: negotiated number of own RDMA reads in flight
 * @pd: private data of the peer's answer; none on the accepting side
 * @pd_len: bytes of @pd
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
 * struct dat_xport_ops - operations of a transport
 * @obj_size: sizes of the transport's objects, by type; each begins with the core's object; 0: the
 *	transport adds no members
 * @conn_size: size of the transport's connection, whose first member is struct dat_conn
 * @binding_size: size of the transport's binding, whose first member is struct dat_binding
 * @name: write the current name of the device, which may change
 * @port_visible: return whether a network namespace may use a port
 * @port_query: read the current properties of a port
 * @addr: find the address of a port in a network namespace: of family AF_INET or AF_INET6, or the
 *	best for AF_UNSPEC; set AF_UNSPEC if there is none
 * @pz_init: create the transport's zone and set pz->dma_key; may sleep
 * @pz_exit: destroy the transport's zone; idempotent, also without @pz_init
 * @mem_map: map kernel memory for DMA, for use with DAT_PRIV_* rights
 * @mem_unmap: undo @mem_map; does nothing if the memory is not mapped
 * @mem_sync: sync the memory for CPU or device; bytes beyond the memory are ignored
 * @lmr_user: register memory of the current process and set @lkey and @rkey; may sleep
 * @lmr_kernel: register lmr->mem, which is mapped, and set @lkey, @rkey and @shift; may sleep, in
 *	a zone's first call for as long as a connection takes; return -EINVAL if the memory has
 *	holes, -E2BIG if it has too many pages, -EOPNOTSUPP if the device has no such registrations
 *	or the mapping has holes, -ENETUNREACH if the adapter cannot reach itself, -EIO if the
 *	device refuses it, -ENODEV if the IA is closing, or -ENOMEM
 * @lmr_empty: replace the LMR's registration by an empty one; may sleep
 * @lmr_map: set the memory, which is mapped, and new keys of an empty registration; the request
 *	from @lmr_build brings them into effect
 * @lmr_build: build a request of op DAT_KOP_LMR_FMR or DAT_KOP_LMR_INVALIDATE
 * @lmr_exit: end the registration; idempotent, also without a registration; may sleep
 * @bind_init: make a registration for a binding and set its keys; may sleep
 * @bind_exit: end the registration of a binding; allowed without @bind_init; may sleep
 * @srq_init: create the transport's SRQ; may sleep
 * @srq_exit: destroy the transport's SRQ; idempotent, also without @srq_init; may sleep
 * @srq_post: post a buffer to the SRQ; srq->lock held
 * @listen: listen at a port, 0 for any: call dat_psp_bound(), then report requests to
 *	dat_psp_request(); after an error there is no listener
 * @unlisten: stop listening: refuse requests without a CR and report no more of them
 * @request_lock: keep out the events of a request; held around dat_psp_request()
 * @request_unlock: undo @request_lock
 * @request_own: report the end of the request by dat_cr_gone() of this CR; @request_lock held
 * @reject: refuse a request with private data, as the consumer's decision, and release it
 * @abandon: refuse a request that has no consumer any more, and release it
 * @connect: begin to connect a connection that the EP has claimed; events may arrive before it
 *	returns; return -ENETUNREACH or -ENOMEM; the port of @src may change
 * @accept: accept a request with a connection that the EP has claimed, and call
 *	dat_conn_accepted(); after an error the claim is undone, and @cr owns the request again
 * @conn_init: initialize the transport's part of a connection, including conn->early_work
 * @conn_quiesce: disconnect; on return no event can arrive and all work requests have completed
 * @conn_unbind: release the address, the peer and the request; idempotent
 * @conn_exit: release the rest of a connection that has left its EP, then call dat_conn_gone()
 *	when no handler of the transport runs, possibly after it returns
 * @path: read the GIDs and queue pair numbers of a connection; ep->lock held
 * @allow_peer: allow the peer of a connection accepted with DAT_EP_PEER_WAITS to read memory, and
 *	with @write to write it
 * @bind_start: start the registration of a binding that has its turn; return 1 if
 *	dat_conn_bind_done() follows, 0 if there is nothing to do, or an error; ep->lock held
 * @post_send: post a chain of requests; ep->lock held
 * @post_recv: post a receive; ep->lock held
 * @take: poll for completions and report them by dat_complete(); return their number, more may
 *	follow; ep->lock held
 * @take_unsolicited: poll for receives of a solicited connection, like @take
 * @rearm: poll for completions soon, and arm the CQ when there are none; only for a connection
 *	whose completions have been notified before; ep->lock held
 *
 * The device stays during a call, since the caller holds dat_dev_lock, or has locked an IA of the
 * device that is not dead.
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
	int  (*allow_peer)(struct dat_conn *conn, bool write);
	int  (*bind_start)(struct dat_conn *conn, struct dat_binding *b);
	int  (*post_send)(struct dat_conn *conn, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad);
	int  (*post_recv)(struct dat_conn *conn, const struct ib_recv_wr *wr);
	int  (*take)(struct dat_conn *conn);
	int  (*take_unsolicited)(struct dat_conn *conn);
	void (*rearm)(struct dat_conn *conn);
};

#endif /* _DAT_XPORT_H */
