/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/* Charges of device queues to users. */
#ifndef _DAT_LOCKED_H
#define _DAT_LOCKED_H

#include <linux/types.h>

struct cred;
struct dat_ia;

/* Bytes of a queue entry without its segments, in the format of common devices. */
#define DAT_LOCKED_REQUEST	128
#define DAT_LOCKED_RECV		64
#define DAT_LOCKED_CQE		64
/* Bytes of the largest page list that the transport keeps for an RMR between two bindings. */
#define DAT_LOCKED_RMR		4096

/* Charge of queues to users. */
struct dat_locked {
	const struct cred	*cred;	/* for dat_payers(), reference held; NULL: no charge */
	unsigned long		pages;	/* charge of each payer */
};

u64 dat_locked_bytes(u32 entries, u32 size, u32 iov);
int dat_locked_charge(struct dat_locked *l, u64 bytes);
int dat_locked_charge_optional(struct dat_locked *l, u64 bytes);
void dat_locked_uncharge(struct dat_locked *l);

#endif /* _DAT_LOCKED_H */
