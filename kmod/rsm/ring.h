/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) The dat authors */
/*
 * Rings of imports: a process posts transfers to a ring without a system call.  The protocol is
 * described at the top of <rdma/dat_rsm.h>.  Only rsm/ring.c accesses the shared pages.
 *
 * DAT_IOC_RSM_RING makes the ring of an import.  The ring ends with the connection, but the memory
 * of the ring stays as long as the import.
 *
 *   ring->lock            BH spinlock, outside of conn->lock
 */
#ifndef _DAT_RSM_RING_H
#define _DAT_RSM_RING_H

#include "rsm/rdma.h"

#define RSM_RING_ENTRIES	128	/* number of entries of a ring */
/* Offset of the first entry in the submit region, and log2 of the size of an entry. */
#define RSM_RING_ENTRY_OFFSET	sizeof(struct dat_rsm_submit)
#define RSM_RING_ENTRY_SHIFT	5
#define RSM_RING_DATA		262144	/* size of the data area in bytes */
/*
 * Sizes in bytes of the contiguous chunks of the data area; at least a page.  ring_alloc_data()
 * tries the larger size first.
 */
#define RSM_RING_CHUNK_MOST	(PAGE_SIZE > 65536 ? PAGE_SIZE : 65536)
#define RSM_RING_CHUNK_LEAST	(PAGE_SIZE > 32768 ? PAGE_SIZE : 32768)
/* Largest number of chunks of a data area. */
#define RSM_RING_CHUNKS		(RSM_RING_DATA / RSM_RING_CHUNK_LEAST)

/* The ring of an import. */
struct rsm_ring {
	struct rsm_import	*imp;
	struct rsm_conn		*conn;		/* connection of @imp, with a reference */
	/* struct dat_rsm_submit and the entries, written by the process. */
	struct dat_region	submit;
	struct dat_region	status;		/* struct dat_rsm_status, written by the kernel */
	struct dat_region	data;		/* data area of contiguous chunks; va is NULL */
	/* Size of a chunk in bytes, a power of two; no transfer crosses the end of a chunk. */
	u32			chunk;
	DAT_LMR_HANDLE		lmr[RSM_RING_CHUNKS];	/* LMRs of the chunks */
	DAT_LMR_CONTEXT		context[RSM_RING_CHUNKS];	/* local keys of the chunks */
	struct list_head	node;		/* entry in ctx->rings */
	spinlock_t		lock;		/* protects all members below */
	/* Index of the next entry to take; entries from @done to @head - 1 are in flight. */
	u32			head;
	/* Index of the first entry that is not known to have completed. */
	u32			done;
	/*
	 * Memory of GETs in flight, by index modulo RSM_RING_WRS; segment_length is 0 for other
	 * entries.
	 */
	DAT_LMR_TRIPLET		got[RSM_RING_WRS];
	bool			dead;		/* flag: the kernel takes no more entries */
	bool			armed;		/* flag: DAT_RSM_NEED_KICK is set */
	/* Flag: a thread waits for an entry, or has ended its wait before the entry completed. */
	bool			waiting;
	/* Lowest index for which a thread has set @waiting; valid if @waiting is set. */
	u32			wake_at;
	struct work_struct	cut;		/* work that cuts the import after an error */
};

/* ring.c; see also rsm.h */
bool rsm_ring_poll(struct rsm_ring *ring);
void rsm_ring_pump(struct rsm_ring *ring);

/*
 * Ends the ring of an import's connection, after rsm_conn_end(); does nothing without a ring.
 * Context: may sleep; the caller holds no lock that rsm_obj_cut() or rsm_conn_hang_up() takes.
 */
void rsm_ring_end(struct rsm_conn *conn);

/* Frees the ring of a connection; does nothing without a ring.  Context: may sleep. */
void rsm_ring_free(struct rsm_conn *conn);

#endif /* _DAT_RSM_RING_H */
