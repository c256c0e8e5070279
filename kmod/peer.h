/* SPDX-License-Identifier: GPL-2.0 */
/* The ends of a connection and what they may do; for both modules. */
#ifndef _DAT_PEER_H
#define _DAT_PEER_H

#include <rdma/ib_verbs.h>

/**
 * struct dat_path - between which queue pairs a connection is
 * @local: GID of this end; with iWARP made of its IP address
 * @remote: GID of the peer; likewise
 * @local_qpn: number of this end's queue pair; 0 with iWARP, which does not tell the peer
 * @remote_qpn: number of the peer's queue pair; likewise
 */
struct dat_path {
	union ib_gid	local;
	union ib_gid	remote;
	u32		local_qpn;
	u32		remote_qpn;
};

/**
 * enum dat_ep_trait - what RSM wants of its connections, and nobody else can ask for
 * @DAT_EP_PEER_WAITS: a peer that is accepted reaches no memory before dat_ep_let_peer()
 * @DAT_EP_STRANGER: the end of the connection does not wait for the peer's CM, unless
 *	dat_ep_let_peer() was called
 * @DAT_EP_KERNEL_PORT: connect from a port that processes don't get, by which the peer sees
 *	that a kernel asks
 */
enum dat_ep_trait {
	DAT_EP_PEER_WAITS	= 1,
	DAT_EP_KERNEL_PORT	= 2,
	DAT_EP_STRANGER		= 4,
};

/* DAT_EP_KERNEL_PORT: the first of the ports, up to PROT_SOCK; those below have known uses. */
#define DAT_FIRST_PORT	512

#endif /* _DAT_PEER_H */
