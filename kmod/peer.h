/* SPDX-License-Identifier: GPL-2.0 */
/* Ends of a connection, and special traits of endpoints.  Both modules use them. */
#ifndef _DAT_PEER_H
#define _DAT_PEER_H

#include <rdma/ib_verbs.h>

/**
 * struct dat_path - the two queue pairs of a connection
 * @local: GID of this end; with iWARP built from its IP address
 * @remote: GID of the peer; with iWARP built from its IP address
 * @local_qpn: number of this end's queue pair; 0 with iWARP, which does not exchange the numbers
 * @remote_qpn: number of the peer's queue pair; 0 with iWARP
 */
struct dat_path {
	union ib_gid	local;
	union ib_gid	remote;
	u32		local_qpn;
	u32		remote_qpn;
};

/**
 * enum dat_ep_trait - traits of an endpoint that only RSM can request
 * @DAT_EP_PEER_WAITS: an accepted peer cannot access memory before dat_ep_allow_peer()
 * @DAT_EP_STRANGER: a disconnect does not wait for the peer's CM, unless dat_ep_allow_peer() was
 *	called
 * @DAT_EP_KERNEL_PORT: connects from a port that processes cannot get, which shows the peer that
 *	a kernel connects; the credentials of the caller must allow such a port
 */
enum dat_ep_trait {
	DAT_EP_PEER_WAITS	= 1,
	DAT_EP_KERNEL_PORT	= 2,
	DAT_EP_STRANGER		= 4,
};

/* First port for DAT_EP_KERNEL_PORT, of those below PROT_SOCK; lower ones have known uses. */
#define DAT_FIRST_PORT	512

#endif /* _DAT_PEER_H */
