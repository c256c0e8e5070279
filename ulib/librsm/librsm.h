/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * librsm: RSMAPI over /dev/rsm.
 *
 * Handles are slots of the arena (../common/arena.h), so that a wrong one is recognised.
 * A process has one context, the open device, made when first needed.  A child by fork()
 * makes its own; handles that it has inherited are "foreign" and good for nothing.
 *
 * Who may do what is up to the driver.  Here arguments are checked, in the order in which
 * RSMAPI says which error comes first, and the window of an import, its segment in our
 * address space, is written and read without a system call.
 */
#ifndef LIBRSM_H
#define LIBRSM_H

#include <pthread.h>
#include <stdint.h>

#include <rdma/dat_rsm.h>
#include <rsmapi.h>

#include "../common/arena.h"
#include "../common/dev.h"
#include "../common/poller.h"

/* In librsm.map. */
#define RSM_API __attribute__((visibility("default")))

enum rsm_type {
	RSM_CTLR	= 0x52534d01,
	RSM_EXPORT,
	RSM_IMPORT,
	RSM_LOCALMEM,
	RSM_BARRIER,
};

/*
 * struct rsm_ctx - the open device
 * @fd: of it
 * @foreign: it is that of the parent
 * @slots: struct dat_rsm_slot, written by the driver
 * @poller: of RSM_POLLER_US
 * @poller_asked: whether there is to be one was found out; lock of ctx.c
 */
struct rsm_ctx {
	int		fd;
	int		foreign;
	struct du_map	slots;
	struct du_poller poller;
	int		poller_asked;
};

/*
 * struct rsm_ctlr - a controller; never freed
 * @refs: of programs
 * @id: of the driver
 * @next: in the list of all
 */
struct rsm_ctlr {
	struct du_slot	slot;
	unsigned long	refs;
	uint32_t	id;
	struct rsm_ctlr	*next;
};

/*
 * struct rsm_seg - what exports and imports have in common
 * @ctx: that it was made in
 * @ctlr: likewise
 * @id: of the driver
 * @lock: everything below, and what is said of it elsewhere
 * @poll_refs: of programs on the descriptor
 * @poll_fd: while there are any
 * @poll_next: in a list of those that have descriptors
 */
struct rsm_seg {
	struct du_slot	slot;
	struct rsm_ctx	*ctx;
	struct rsm_ctlr	*ctlr;
	uint32_t	id;
	pthread_mutex_t	lock;
	unsigned long	poll_refs;
	int		poll_fd;
	struct rsm_seg	*poll_next;
};

struct rsm_export {
	struct rsm_seg	seg;
};

struct rsm_barrier;
struct rsm_ring;

/*
 * struct rsm_import - a connection to a segment
 * @serial: nobody else ever has it
 * @view: generation and events, by the driver
 * @generation: of the connection
 * @perm: as connected
 * @length: of the segment
 * @map_offset: of the window; 0: there is none
 * @mode: rsm_barrier_mode_t
 * @implicit: barrier of implicit transfers; seg.lock to change
 * @barriers: all of them; seg.lock
 * @window: all of the segment, or NULL; set once, under seg.lock
 * @no_window: it can't be had
 * @ring: for what goes without a window, or NULL; set once, under seg.lock
 * @no_ring: it can't be had
 * @swapped: the exporter's byte order is the other one
 * @map: what the program has mapped; @map_len 0: nothing; seg.lock to change
 * @map_off: its offset in the segment
 * @map_len: bytes
 */
struct rsm_import {
	struct rsm_seg			seg;
	uint64_t			serial;
	const struct dat_rsm_slot	*view;
	uint32_t			generation;
	uint32_t			perm;
	uint64_t			length;
	uint64_t			map_offset;
	int				mode;
	struct rsm_barrier		*implicit;
	struct rsm_barrier		*barriers;
	char				*window;
	int				no_window;
	struct rsm_ring			*ring;
	int				no_ring;
	int				swapped;
	void				*map;
	uint64_t			map_off;
	uint64_t			map_len;
};

/*
 * struct rsm_localmem - memory that is locked for transfers
 * @ctx: that it was made in
 * @id: of the driver
 * @addr: where it was mapped then
 * @length: bytes
 */
struct rsm_localmem {
	struct du_slot	slot;
	struct rsm_ctx	*ctx;
	uint32_t	id;
	uint64_t	addr;
	uint64_t	length;
};

/* ctx.c */

/* The context of this process.  Returns RSM_SUCCESS or what is wrong. */
int rsm_ctx_get(struct rsm_ctx **ctx);

/* There is something for the poller of RSM_POLLER_US to look at. */
void rsm_ctx_start_poller(struct rsm_ctx *ctx);

/*
 * Changes whenever memory of the process is mapped no more, or otherwise.  What was memory
 * when it was read, and when it was read again later, was so in between.
 */
static inline uint32_t rsm_mem_generation(const struct rsm_ctx *ctx)
{
	const struct dat_rsm_slot *slots = ctx->slots.va;

	return __atomic_load_n(&slots[DAT_RSM_MEM_SLOT].generation, __ATOMIC_SEQ_CST);
}

/* An ioctl whose argument begins with size and err.  Returns RSM_SUCCESS or RSMERR_*. */
int rsm_call(const struct rsm_ctx *ctx, unsigned long cmd, void *arg);

/* Say on stderr what an administrator has to do about RSMERR_BAD_CONF of an adapter. */
void rsm_explain_key(void);

/* ctlr.c */

/* Around fork(). */
void rsm_ctlr_lock(void);
void rsm_ctlr_unlock(void);

/* NULL unless the program holds it. */
struct rsm_ctlr *rsm_ctlr_of(rsmapi_controller_handle_t handle);

/* seg.c */
void rsm_seg_init(struct rsm_seg *seg, struct rsm_ctx *ctx, struct rsm_ctlr *ctlr, uint32_t id);
int rsm_seg_revoke(struct rsm_seg *seg, uint32_t type);
int rsm_seg_end(struct rsm_seg *seg, uint32_t driver_type);
int rsm_seg_free(struct rsm_seg *seg, uint32_t type, uint32_t driver_type);

/* Around fork(). */
void rsm_poll_lock(void);
void rsm_poll_unlock(void);

/* An export or import of this process, or NULL. */
struct rsm_seg *rsm_seg_of(void *handle);

/* import.c */
struct rsm_import *rsm_import_of(rsm_memseg_import_handle_t handle);

static inline int rsm_import_cut(const struct rsm_import *imp)
{
	return __atomic_load_n(&imp->view->generation, __ATOMIC_ACQUIRE) != imp->generation;
}

static inline int rsm_import_implicit(const struct rsm_import *imp)
{
	return __atomic_load_n(&imp->mode, __ATOMIC_RELAXED) == RSM_BARRIER_MODE_IMPLICIT;
}

/* io.c */

/*
 * struct rsm_xfer - a put or get
 * @imp: import
 * @put: or a get
 * @data: the caller's
 * @offset: in the segment
 * @count: of elements
 * @width: bytes of one
 * @whole: no element may be seen half written; then all is aligned
 */
struct rsm_xfer {
	struct rsm_import	*imp;
	int			put;
	void			*data;
	off_t			offset;
	uint64_t		count;
	uint32_t		width;
	int			whole;
};

/* Copy @n bytes of @x; elements are put into the exporter's byte order, or ours. */
void rsm_copy(void *to, const void *from, uint64_t n, const struct rsm_xfer *x);

/*
 * struct rsm_part - an entry of a vector that is not empty, by what it names
 * @data: the caller's
 * @offset: in the segment
 * @n: bytes
 * @localmem: whose memory @data is to be; or 0
 */
struct rsm_part {
	char		*data;
	uint64_t	offset;
	uint64_t	n;
	uint32_t	localmem;
};

/* ring.c */

/* The ring of an import that has no window, made if need be; or NULL. */
struct rsm_ring *rsm_ring_make(struct rsm_import *imp);

/* Nobody uses it any more; it may be NULL. */
void rsm_ring_free(struct rsm_ring *ring);

/*
 * Until all that was put is in the segment, or RSMERR_CONN_ABORTED.  RSMERR_INTERRUPTED by
 * signals, if the caller may be.
 */
int rsm_ring_settle(struct rsm_import *imp, int interruptible);

/* ring_xfer.c; of imports that have a ring */

/* A transfer that was checked. */
int rsm_ring_xfer(const struct rsm_xfer *x);

#define RSM_BY_DRIVER	(-1)

/*
 * Put or get @count parts, ranges that were checked.  @done: out: parts that were.  Returns
 * RSM_SUCCESS, RSMERR_CONN_ABORTED, RSMERR_INTERRUPTED; RSM_BY_DRIVER: the others are to be
 * carried out by the driver, as they are too long, or not known to be memory, or no more.
 */
int rsm_ring_parts(struct rsm_import *imp, const struct rsm_part *part, uint32_t count,
		   int is_put, uint32_t *done);

/* The driver has transferred it, and the generation was @generation before. */
void rsm_ring_vouch(const struct rsm_import *imp, uint32_t generation,
		    const struct rsm_part *part, uint32_t count, int is_put);

/* barrier.c */

/* The import is about to go: so do its barriers.  Under seg.lock. */
void rsm_barriers_free(struct rsm_import *imp);

#endif /* LIBRSM_H */
