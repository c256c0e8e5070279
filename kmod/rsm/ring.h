/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rings of imports: transfers that a process posts without a system call.  The protocol is
 * at the top of <rdma/dat_rsm.h>; rsm/ring.c is the only file that looks at the pages.
 *
 * A ring is made when the process first asks for it, and ends with the connection; its memory
 * lives as long as the import's.
 *
 *   ring->lock            BH spinlock, outside of conn->lock
 */
#ifndef _DAT_RSM_RING_H
#define _DAT_RSM_RING_H

#include "rsm/rdma.h"

#define RSM_RING_ENTRIES	128
#define RSM_RING_DATA		262144
/* Of it, each contiguous: the larger ones if there are such, and no chunk is part of a page. */
#define RSM_RING_CHUNK_MOST	(PAGE_SIZE > 65536 ? PAGE_SIZE : 65536)
#define RSM_RING_CHUNK_LEAST	(PAGE_SIZE > 32768 ? PAGE_SIZE : 32768)
#define RSM_RING_CHUNKS		(RSM_RING_DATA / RSM_RING_CHUNK_LEAST)	/* at most */

/**
 * struct rsm_ring - the ring of an import
 * @imp: whose
 * @conn: of @imp; reference held
 * @submit: struct dat_rsm_submit and the entries
 * @status: struct dat_rsm_status
 * @data: the data area; only its pages, in contiguous chunks
 * @chunk: bytes of one, which no transfer crosses; a power of two
 * @lmr: of the chunks
 * @context: likewise
 * @node: in ctx->rings
 * @lock: everything below
 * @head: entries taken; so many behind @done are under way
 * @done: entries known to be complete; silent puts are when a later entry is
 * @got: where a GET that is under way writes, at its index modulo their number; others: length 0
 * @dead: no entry is taken any more
 * @armed: the process is asked to kick
 * @waiting: somebody sleeps until @wake_at is done
 * @wake_at: the first that somebody sleeps for
 * @cut: end of an import whose ring is dead
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
	spinlock_t		lock;		/* of all that follows */
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
 * rsm_ring_end() - its connection has ended
 * @conn: of an import; rsm_conn_end() has returned
 *
 * Context: sleeps; nothing held that cutting the import takes.
 */
void rsm_ring_end(struct rsm_conn *conn);

/* The import's memory goes.  Context: sleeps. */
void rsm_ring_free(struct rsm_conn *conn);

#endif /* _DAT_RSM_RING_H */
