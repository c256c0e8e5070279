/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Functions that dat.ko exports to dat_rsm.ko alone, in the symbol namespace DAT_INTERNAL.  These
 * functions are not part of <linux/kdat.h>.
 */
#ifndef _DAT_KDAPL_INTERNAL_H
#define _DAT_KDAPL_INTERNAL_H

/* The public names of <linux/kdat.h> clash with functions of the object layer. */
#define KDAT_NO_PUBLIC_NAMES

#include <rdma/dat_ioctl.h>
/* <rdma/dat_ioctl.h> defines DAT_LMR_COOKIE as a size; in kDAPL, DAT_LMR_COOKIE is a type. */
#undef DAT_LMR_COOKIE
#include <linux/kdat.h>

#include "core/peer.h"

#define KDAT_MAX_EVD_QLEN	65536

struct module;
struct net;

/* Limits and state of an adapter. */
struct kdat_adapter {
	char	name[DAT_NAME_SIZE];
	u64	max_mr_size;	/* in bytes */
	u32	max_mr;
	u32	max_qp;
	bool	active;		/* flag: the port is up */
};

/**
 * struct kdat_ia_traits - properties of an open adapter
 * @addr: address that dat_dev_addr() chose when the IA was opened
 * @reads: maximum number of RDMA reads that an endpoint may have in flight in each direction
 * @iwarp: flag: connections run over TCP, and an RDMA read discloses the rkey of its sink buffer to
 *	the peer
 * @open_access: flag: DAT_EP_PEER_WAITS has no effect
 */
struct kdat_ia_traits {
	struct sockaddr_storage	addr;
	u32			reads;
	bool			iwarp;
	bool			open_access;
};

/**
 * kdat_adapter_next() - enumerate the adapters that a network namespace may use
 * @net: network namespace
 * @cursor: position of the enumeration; 0 for the first adapter; set to the value for the next call
 * @name: buffer of DAT_NAME_SIZE bytes for the IA name
 * @local: set to whether the adapter reaches this host only
 *
 * Context: may sleep.  Return: 0; -ENOENT after the last adapter.
 */
int kdat_adapter_next(struct net *net, u64 *cursor, char *name, bool *local);

/**
 * kdat_adapter_present() - find an adapter without a query of its port
 * @net: network namespace
 * @name: IA name
 *
 * Context: may sleep.  Return: true if kdat_adapter_find() would find the adapter.
 */
bool kdat_adapter_present(struct net *net, const char *name);

/**
 * kdat_adapter_find() - query an adapter of a network namespace
 * @net: network namespace
 * @name: IA name
 * @out: limits and state of the adapter
 *
 * Context: may sleep.  Return: 0; -ENOENT if @net has no adapter @name; -EOPNOTSUPP if DAT does not
 * support the driver of the adapter.
 */
int kdat_adapter_find(struct net *net, const char *name, struct kdat_adapter *out);

DAT_RETURN kdat_ia_open_net(struct net *net, const char *name, struct module *owner,
			    DAT_IA_HANDLE *ia);
bool kdat_ia_good(DAT_IA_HANDLE ia);
DAT_RETURN kdat_ia_traits(DAT_IA_HANDLE ia, struct kdat_ia_traits *out);

/**
 * kdat_lmr_of_user() - register memory of the current process
 * @pz: protection zone
 * @addr: address of the first byte, page-aligned
 * @length: number of bytes, whole pages
 * @priv: DAT_MEM_PRIV_* bits
 * @lmr: set to the handle of the new LMR
 * @rkey: set to the key that a peer uses to access the memory
 *
 * The pages are pinned and charged to RLIMIT_MEMLOCK.  No lock of this module is held while the
 * pages are faulted in, because the process can delay its page faults without limit.
 *
 * Context: may sleep; takes mmap_lock.  Return: 0; -ENODEV if the zone or the adapter is gone;
 * -EMSGSIZE if the adapter registers less; -EFAULT; -EINTR; -ENOMEM if memory is short or
 * RLIMIT_MEMLOCK would be exceeded; or another error of the registration.
 */
int kdat_lmr_of_user(DAT_PZ_HANDLE pz, u64 addr, u64 length, DAT_MEM_PRIV_FLAGS priv,
		     DAT_LMR_HANDLE *lmr, u32 *rkey);

DAT_RETURN kdat_ep_set_traits(DAT_EP_HANDLE ep_handle, u32 traits);
DAT_RETURN kdat_ep_path(DAT_EP_HANDLE ep_handle, struct dat_path *path);
DAT_RETURN kdat_ep_allow_peer(DAT_EP_HANDLE ep_handle, bool write);

/**
 * kdat_evd_set_gate() - limit the connection requests that may wait in an EVD
 * @evd_handle: EVD that no service point uses yet
 * @gate: gate; must exist as long as the IA
 *
 * Context: may sleep.  Return: DAT_SUCCESS; DAT_INVALID_HANDLE if there is no such EVD; or another
 * error of kdat_get().
 */
DAT_RETURN kdat_evd_set_gate(DAT_EVD_HANDLE evd_handle, const struct dat_gate *gate);

/*
 * Returns the value that dat_gate.enter() has returned for a request; 0 if the EVD had no gate; or
 * -1 if there is no such request.  Context: may sleep.
 */
int kdat_cr_place(DAT_CR_HANDLE cr_handle);

/*
 * Returns how the peer's host refused the last connect, or DAT_REFUSAL_NONE if there is no such EP.
 * May sleep.
 */
enum dat_refusal kdat_ep_refusal(DAT_EP_HANDLE ep_handle);
DAT_RETURN kdat_cr_refuse(DAT_CR_HANDLE cr_handle, const void *pd, u32 pd_len);

#endif /* _DAT_KDAPL_INTERNAL_H */
