/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rings of imports: transfers that a process posts without a system call.  The protocol is
 * at the top of <rdma/dat_rsm.h>; rsm/ring.c is the only file that reads the pages.
 *
 * A ring is made when the process first asks for it.  It ends with the connection; its memory lives
 * as long as the import.
 *
 *   ring->lock            BH spinlock, outside of conn->lock
 */
#ifndef _DAT_RSM_RING_H
#define _DAT_RSM_RING_H

#include "rsm/rdma.h"

#define RSM_RING_ENTRIES	128
/* Offset and stride of the entries in the submit region. */
#define RSM_RING_ENTRY_OFFSET	sizeof(struct dat_rsm_submit)
#define RSM_RING_ENTRY_SHIFT	5
#define RSM_RING_DATA		262144
/*
 * Sizes of the contiguous chunks of the data area, in whole pages.  The larger size is tried first.
 */
#define RSM_RING_CHUNK_MOST	(PAGE_SIZE > 65536 ? PAGE_SIZE : 65536)
#define RSM_RING_CHUNK_LEAST	(PAGE_SIZE > 32768 ? PAGE_SIZE : 32768)
#define RSM_RING_CHUNKS		(RSM_RING_DATA / RSM_RING_CHUNK_LEAST)	/* largest number */

/**
 * struct rsm_ring - the ring of an import
 * @imp: import
 * @conn: connection of @imp; reference held
 * @submit: struct dat_rsm_submit and the entries, written by the process
 * @status: struct dat_rsm_status, written by the driver
 * @data: data area; only its pages, in contiguous chunks
 * @chunk: bytes of a chunk, which no transfer crosses; a power of two
 * @lmr: registrations of the chunks
 * @context: lmr_contexts of the chunks
 * @node: entry in ctx->rings
 * @lock: lock of all members below
 * @head: number of entries taken; those from @done on are in flight
 * @done: number of entries known to have completed; silent puts complete with a later entry
 * @got: memory that GETs in flight write to, by index modulo the array's length; length 0 for
 *	other entries
 * @dead: flag: no more entries are taken
 * @armed: flag: NEED_KICK is set
 * @waiting: flag: a thread sleeps until entry @wake_at is done
 * @wake_at: lowest index that a thread sleeps for
 * @cut: work that ends the import of a dead ring
 */
struct rsm_ring {
	struct rsm_import	*imp;
	struct rsm_conn		*conn;
	struct dat_region	submit;
	struct dat_region	status;
	struct dat_region	data;
	u32			chunk;
	DAT_LMR_HANDLE		lmr[RSM_RING_CHUNKS];
	DAT_LMR_CONTEXT		context[RSM_RING_CHUNKS];
	struct list_head	node;
	spinlock_t		lock;		/* protects all members below */
	u32			head;
	u32			done;
	DAT_LMR_TRIPLET		got[RSM_RING_WRS];
	bool			dead;
	bool			armed;
	bool			waiting;
	u32			wake_at;
	struct work_struct	cut;
};

/* ring.c; the rest is in rsm.h */
bool rsm_ring_look(struct rsm_ring *ring);
void rsm_ring_rearm(struct rsm_ring *ring);

/**
 * rsm_ring_end() - end the ring of a connection, if it has one
 * @conn: connection of an import, after rsm_conn_end()
 *
 * Context: may sleep; no lock that a cut of the import takes.
 */
void rsm_ring_end(struct rsm_conn *conn);

/* Frees the ring of a connection, if it has one.  Context: may sleep. */
void rsm_ring_free(struct rsm_conn *conn);

#endif /* _DAT_RSM_RING_H */
