/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions of dat.ko for dat_rsm.ko that are not part of <linux/kdat.h>.  They are exported in the
 * namespace DAT_INTERNAL, and no other module may rely on them.
 */
#ifndef _DAT_KDAPL_INTERNAL_H
#define _DAT_KDAPL_INTERNAL_H

/* Hides the API's names for consumers: functions of the object layer have the same names. */
#define KDAT_NO_PUBLIC_NAMES

#include <rdma/dat_ioctl.h>
/* The user face defines this as the size of a cookie; in kDAPL it is a type. */
#undef DAT_LMR_COOKIE
#include <linux/kdat.h>

#include "peer.h"

#define KDAT_MAX_EVD_QLEN	65536

struct module;
struct net;

/**
 * struct kdat_adapter - limits and state of an adapter
 * @name: IA name
 * @max_mr_size: maximum size of a registration, in bytes
 * @max_mr: maximum number of registrations
 * @max_qp: maximum number of queue pairs
 * @active: true if the port is up
 */
struct kdat_adapter {
	char	name[DAT_NAME_SIZE];
	u64	max_mr_size;
	u32	max_mr;
	u32	max_qp;
	bool	active;
};

/**
 * struct kdat_ia_traits - properties of an open adapter
 * @addr: address of the port at the time of the open
 * @reads: maximum number of RDMA reads in flight of an endpoint, for either direction
 * @iwarp: true if connections run over TCP, and a read gives the peer a key of its sink buffer
 */
struct kdat_ia_traits {
	struct sockaddr_storage	addr;
	u32			reads;
	bool			iwarp;
};

/**
 * kdat_adapter_next() - enumerate the adapters that a network namespace may use
 * @net: network namespace
 * @cursor: 0 for the first adapter; result: value for the next call
 * @name: result, of DAT_NAME_SIZE bytes
 *
 * Context: may sleep.  Return: 0; -ENOENT after the last adapter.
 */
int kdat_adapter_next(struct net *net, u64 *cursor, char *name);

/**
 * kdat_adapter_find() - query an adapter of a network namespace
 * @net: network namespace
 * @name: IA name
 * @out: result
 *
 * Context: may sleep.  Return: 0; -ENOENT if there is no such adapter; -EOPNOTSUPP if its driver
 * is not known to work.
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
 * @priv: DAT_MEM_PRIV_*
 * @lmr: result: handle
 * @rkey: result: key for peers
 *
 * The pages are pinned and charged to RLIMIT_MEMLOCK.  They are faulted in without any lock,
 * because the process can delay its page faults without limit.
 *
 * Context: may sleep; takes mmap_lock.  Return: 0; -ENODEV if the adapter is gone; -EFAULT;
 * -EINTR; -ENOMEM if out of memory or over RLIMIT_MEMLOCK.
 */
int kdat_lmr_of_user(DAT_PZ_HANDLE pz, u64 addr, u64 length, DAT_MEM_PRIV_FLAGS priv,
		     DAT_LMR_HANDLE *lmr, u32 *rkey);

DAT_RETURN kdat_ep_set_traits(DAT_EP_HANDLE ep_handle, u32 traits);
DAT_RETURN kdat_ep_path(DAT_EP_HANDLE ep_handle, struct dat_path *path);
DAT_RETURN kdat_ep_allow_peer(DAT_EP_HANDLE ep_handle, bool write);
bool kdat_cr_off_path(DAT_CR_HANDLE cr_handle);
DAT_RETURN kdat_cr_refuse(DAT_CR_HANDLE cr_handle, const void *pd, u32 pd_len);

#endif /* _DAT_KDAPL_INTERNAL_H */
