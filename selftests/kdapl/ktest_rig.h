/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Two EPs of this module that are connected over the loopback of the adapter, and memory whose data
 * they transfer.
 */
#ifndef _KTEST_RIG_H
#define _KTEST_RIG_H

#include <linux/scatterlist.h>

#include "ktest.h"

#define RIG_SIZE	(5 * PAGE_SIZE)
#define ALL		DAT_MEM_PRIV_ALL_FLAG
#define LOCAL		(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

/**
 * struct rig_mem - memory with an LMR
 * @va: kernel virtual address, if the memory is virtually contiguous
 * @lmr: LMR that registers the memory
 * @context: LMR context of @lmr
 * @rkey: RMR context of @lmr
 * @addr: address of the first byte, as segments must contain it
 * @length: length in bytes
 */
struct rig_mem {
	u8		*va;
	DAT_LMR_HANDLE	lmr;
	DAT_LMR_CONTEXT	context;
	DAT_RMR_CONTEXT	rkey;
	DAT_VADDR	addr;
	DAT_VLEN	length;
};

/**
 * struct rig - two connected EPs
 * @pz: protection zone of both EPs
 * @evd: EVD for DTO and bind events of both EPs
 * @conn: EVD for connection events of both EPs
 * @cr: EVD for connection requests
 * @a: EP that connects
 * @b: EP that accepts
 * @box: memory of RIG_SIZE bytes that @a reads into and writes from
 */
struct rig {
	DAT_PZ_HANDLE	pz;
	DAT_EVD_HANDLE	evd;
	DAT_EVD_HANDLE	conn;
	DAT_EVD_HANDLE	cr;
	DAT_EP_HANDLE	a;
	DAT_EP_HANDLE	b;
	struct rig_mem	box;
};

/* Six pages that are not contiguous, as struct page, as physical addresses and as a scatterlist. */
struct rig_pages {
	struct page		*page[6];
	DAT_PADDR		addr[6];
	struct scatterlist	sg[6];
	u8			*va;
};

int rig_status(struct rig *r, u64 cookie);
bool rig_make(struct ktest *t, struct rig *r);
bool rig_connect(struct ktest *t, struct rig *r);
bool rig_reconnect(struct ktest *t, struct rig *r);
DAT_RETURN rig_reg(struct ktest *t, struct rig *r, DAT_MEM_TYPE type,
		   DAT_REGION_DESCRIPTION region, u64 length, u32 priv, struct rig_mem *m);
DAT_RETURN rig_reg_va(struct ktest *t, struct rig *r, void *va, u64 length, u32 priv,
		      struct rig_mem *m);
void rig_fill(u8 *va, size_t length, u8 seed);
int rig_reads(struct rig *r, u64 addr, u64 length, DAT_RMR_CONTEXT key);
int rig_writes(struct rig *r, u64 addr, u64 length, DAT_RMR_CONTEXT key);
bool rig_over_iwarp(struct ktest *t);
bool rig_arrives(struct ktest *t, const void *to, const void *from, size_t len);
void rig_traffic(struct ktest *t, struct rig *r, struct rig_mem *m);
void with_rig(struct ktest *t, void (*fn)(struct ktest *t, struct rig *r));
struct rig_pages *rig_pages_make(void);
void rig_pages_free(struct rig_pages *p);

#endif /* _KTEST_RIG_H */
