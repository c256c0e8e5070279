/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Addresses of a connection, traits of an endpoint, and the gate of a listener.  dat_rsm.ko uses
 * this header as well.
 */
#ifndef _DAT_PEER_H
#define _DAT_PEER_H

#include <linux/socket.h>
#include <rdma/ib_verbs.h>

/**
 * struct dat_path - addresses of the two queue pairs of a connection
 * @local: GID of this end; with iWARP, the IP address of this end in GID form
 * @remote: GID of the peer; with iWARP, the IP address of the peer in GID form
 * @local_qpn: number of this end's queue pair; 0 with iWARP, which does not exchange these numbers
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
 * @DAT_EP_PEER_WAITS: after the EP accepts a connection, the peer cannot access memory until
 *	dat_ep_allow_peer() is called; no effect on a device with DAT_QUIRK_OPEN_ACCESS
 * @DAT_EP_STRANGER: the peer is not authenticated yet; until dat_ep_allow_peer() has succeeded, a
 *	teardown waits neither for a CM event that ends the handshake nor for the NAK of a request
 *	that the device has refused
 * @DAT_EP_KERNEL_PORT: the EP connects from a privileged port, which tells the peer that no
 *	unprivileged process has sent the request; the caller's credentials must include
 *	CAP_NET_BIND_SERVICE; no effect with iWARP
 * @DAT_EP_CHARGED: the queues of the EP's connections are charged to the users of the process that
 *	connects, even if a thread of that process uses other credentials meanwhile
 */
enum dat_ep_trait {
	DAT_EP_PEER_WAITS	= 1,
	DAT_EP_KERNEL_PORT	= 2,
	DAT_EP_STRANGER		= 4,
	DAT_EP_CHARGED		= 8,
};

/**
 * enum dat_refusal - refusal of a connect by the host of the peer
 * @DAT_REFUSAL_NONE: the host has not refused; a connect may also fail at this end
 * @DAT_REFUSAL_BUSY: the peer's dat.ko has refused for lack of resources; with iWARP, for any
 *	reason
 * @DAT_REFUSAL_OTHER: the host has refused for another reason
 */
enum dat_refusal {
	DAT_REFUSAL_NONE,
	DAT_REFUSAL_BUSY,
	DAT_REFUSAL_OTHER,
};

/* DAT_EP_KERNEL_PORT uses ports from here to PROT_SOCK - 1; lower ports are for services. */
#define DAT_FIRST_PORT	512

/**
 * struct dat_gate - limit that a kernel consumer sets on the connection requests at its listeners
 * @enter: count a request from the address and port @remote, and return a number (0 or more) that
 *	tells @leave what was counted; or return a negative errno if the request must be refused;
 *	must not sleep
 * @leave: undo @enter for a request that is refused after @enter; @place: number that @enter has
 *	returned; must not sleep
 * @arg: argument of both functions
 *
 * Both functions run in the CM's handler, which serves all connections of the host, or in a thread
 * that connects over lo0 or calls dat_cr_handoff(); several calls may run at the same time.
 */
struct dat_gate {
	int	(*enter)(void *arg, const struct sockaddr *remote, const void *pd, u32 pd_len);
	void	(*leave)(void *arg, int place);
	void	*arg;
};

#endif /* _DAT_PEER_H */
