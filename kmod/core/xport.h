/* SPDX-License-Identifier: GPL-2.0 */
/* The seam to transports: what a device can do, what is odd about it, and how it is asked. */
#ifndef _DAT_XPORT_H
#define _DAT_XPORT_H

#include <linux/bits.h>
#include <linux/socket.h>
#include <linux/types.h>

struct dat_dev;
struct net;

/**
 * enum dat_quirk - what a device does otherwise than the specifications say
 * @DAT_QUIRK_CQ_GRACE: a CQ may be looked at for a moment after it was freed
 * @DAT_QUIRK_NO_LAST_WQE: there is no event for the last receive of a QP with an SRQ
 * @DAT_QUIRK_LONG_IS_QP_OP: a message longer than its receive ends that as a QP operation error
 * @DAT_QUIRK_UNORDERED: requests may complete before RDMA reads that were posted before them
 * @DAT_QUIRK_REJECT_IS_RESET: a reply that rejects has the same status as a lost connection
 */
enum dat_quirk {
	DAT_QUIRK_CQ_GRACE	= BIT(0),
	DAT_QUIRK_NO_LAST_WQE	= BIT(1),
	DAT_QUIRK_LONG_IS_QP_OP	= BIT(2),
	DAT_QUIRK_UNORDERED	= BIT(3),
	DAT_QUIRK_REJECT_IS_RESET = BIT(4),
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
 * struct dat_xport_ops - how a transport is asked
 * @name: write the name of the device, which may change
 * @port_visible: whether a port is for the network namespace
 * @port_query: tell what a port is like
 * @addr: find the address of a port in a network namespace: of family AF_INET or AF_INET6, or the
 *	best for AF_UNSPEC; of no family while there is none
 *
 * The device is there during a call: dat_dev_lock is held, or an IA of it is locked and not dead.
 */
struct dat_xport_ops {
	void (*name)(const struct dat_dev *dev, char *name, size_t len);
	bool (*port_visible)(const struct dat_dev *dev, u32 port, struct net *net);
	void (*port_query)(const struct dat_dev *dev, u32 port, struct dat_port *out);
	void (*addr)(const struct dat_dev *dev, u32 port, const struct net *net,
		     sa_family_t family, struct sockaddr_storage *ss);
};

#endif /* _DAT_XPORT_H */
