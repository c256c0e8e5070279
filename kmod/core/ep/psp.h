/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Public service points (PSPs), which are listeners, and their connection requests. */
#ifndef _DAT_PSP_H
#define _DAT_PSP_H

#include <linux/mutex.h>
#include <linux/socket.h>

#include "core/dat.h"

struct dat_ep;
struct dat_evd;
struct dat_request;
struct mem_cgroup;
struct mm_struct;

#define DAT_MAX_BACKLOG		1024

/* Flags of dat_psp_create(). */
#define DAT_LISTEN_ONE_SHOT	BIT(0)	/* take one request and refuse all others */
#define DAT_LISTEN_MAKES_EP	BIT(1)	/* the face makes an EP for each request */

/**
 * struct dat_psp - public service point
 * @obj: base object
 * @evd: EVD for connection requests, held with dat_obj_use(); NULL after shutdown.  A handler of
 *	@listener reads @evd without a lock, because a shutdown stops @listener before it clears
 *	@evd.  Other threads read @evd under @lock.
 * @lock: lock of @evd; not taken by handlers of @listener
 * @listener: listener of the transport; NULL after shutdown
 * @conn_qual: connection qualifier, as the consumer gave it
 * @port: port number to which @conn_qual maps; see dat_qual_port()
 * @addr: only address at which the PSP listens; family AF_UNSPEC: all addresses of the adapter;
 *	constant
 * @any_port: flag: the consumer has asked for any free port number, so @conn_qual is @port;
 *	constant
 * @one_shot: flag: the PSP takes only one request
 * @makes_ep: flag: the face makes an EP for each request
 * @spent: flag: a @one_shot PSP has taken its request
 * @pending: length of the backlog: number of requests without an answer, plus accepted connections
 *	whose handshake has not ended
 * @memcg: memory cgroup to which requests are charged; reference held; NULL for a kernel consumer
 * @node: entry in the hash table of all listeners; see psp.c
 */
struct dat_psp {
	struct dat_obj		obj;
	struct dat_evd		*evd;
	struct mutex		lock;		/* lock of @evd */
	void			*listener;
	u64			conn_qual;
	u16			port;
	struct sockaddr_storage	addr;
	bool			any_port;
	bool			one_shot;
	bool			makes_ep;
	atomic_t		spent;
	atomic_t		pending;
	struct mem_cgroup	*memcg;
	struct hlist_node	node;
};

/**
 * struct dat_cr - connection request
 * @obj: base object
 * @request: transport's request, which the CR owns; NULL after a thread has taken the request over
 *	with xchg()
 * @gone: flag: the peer has given up, or the device is removed; protected by the transport's lock
 *	of the request
 * @ep: EP that the kernel face has reserved for the request, held with dat_obj_use(); or NULL.  A
 *	thread takes the EP with xchg(), which leaves NULL.  The thread then accepts the request
 *	with that EP, stores the pointer again, or calls face->unreserve().
 * @makes_ep: flag: the face has to make @ep; constant
 * @ep_made: flag: the face has made @ep; written under a lock of the face, after @ep
 * @psp: listener whose backlog counts the request; reference held; dat_psp_leave() takes the
 *	pointer with xchg() and drops the reference
 * @local: address to which the peer connects
 * @remote: address of the peer; see struct dat_request
 * @place: number that the gate of the listener's EVD has returned, or 0
 * @read_in: number of RDMA reads that the peer wants to have in flight
 * @read_out: number of RDMA reads of this end that the peer can answer at the same time
 * @qpn: queue pair number of the peer; 0 with iWARP
 * @pd_len: bytes of @pd
 * @pd: private data that came with the request
 */
struct dat_cr {
	struct dat_obj		obj;
	void			*request;
	bool			gone;
	struct dat_ep		*ep;
	bool			makes_ep;
	bool			ep_made;
	struct dat_psp		*psp;
	struct sockaddr_storage	local;
	struct sockaddr_storage	remote;
	int			place;
	u32			read_in;
	u32			read_out;
	u32			qpn;
	u32			pd_len;
	u8			pd[DAT_MAX_PRIVATE_DATA];
};

DAT_OBJ_CAST(cr)
DAT_OBJ_CAST(psp)

struct dat_psp *dat_psp_create(struct dat_evd *evd, const struct sockaddr_storage *addr,
			       u64 conn_qual, u32 flags, struct mm_struct *mm, u64 user_data);
struct dat_psp *dat_psp_find(const struct dat_ia *ia, const struct sockaddr_storage *local,
			     u64 conn_qual);
void dat_psp_bound(struct dat_psp *psp, u16 port);
int dat_psp_add(struct dat_psp *psp);
int dat_psp_request(struct dat_psp *psp, struct dat_request *req);
void dat_psp_leave(struct dat_psp **psp);
int dat_cr_create(struct dat_psp *psp, const struct dat_request *req);
void dat_cr_gone(struct dat_cr *cr);
void dat_cr_reject(struct dat_cr *cr, const void *pd, u32 pd_len);
void dat_cr_refuse(struct dat_cr *cr, const void *pd, u32 pd_len);
bool dat_cr_reject_data(const void **pd, u32 *pd_len);
bool dat_cr_reject_is_empty(const void *pd, u32 pd_len);
int dat_cr_handoff(struct dat_cr *cr, u64 conn_qual);
void dat_cr_give_back(struct dat_cr *cr, void *request);

#endif /* _DAT_PSP_H */
