/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * librsm: RSMAPI over /dev/rsm.
 *
 * Handles are slots of the arena (../common/arena.h), which recognises invalid ones.  A process
 * has one context, the open device, made at the first call that needs it.  A forked child makes
 * its own; the handles that it has inherited are "foreign" and cannot be used.
 *
 * The driver checks permissions.  The library checks arguments, in the order in which RSMAPI
 * ranks errors.  It reads and writes the window of an import, the mapping of its segment, without
 * a system call.
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

/* A symbol that librsm.map exports. */
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
 * @fd: open /dev/rsm
 * @foreign: the context is that of the parent process
 * @slots: array of struct dat_rsm_slot, written by the driver
 * @mem: the slot of the address space
 * @poller: poller thread that RSM_POLLER_US asks for
 * @poller_asked: RSM_POLLER_US has been evaluated; lock of ctx.c
 */
struct rsm_ctx {
	int		fd;
	int		foreign;
	struct du_map	slots;
	const struct dat_rsm_slot *mem;
	struct du_poller poller;
	int		poller_asked;
};

/*
 * struct rsm_ctlr - a controller; never freed
 * @refs: number of rsm_get_controller() calls that were not released
 * @id: number of the controller at the driver
 * @next: next in the list of all controllers
 */
struct rsm_ctlr {
	struct du_slot	slot;
	unsigned long	refs;
	uint32_t	id;
	struct rsm_ctlr	*next;
};

/*
 * struct rsm_seg - common part of exports and imports
 * @ctx: context in which it was made
 * @ctlr: controller on which it was made
 * @id: number of the segment at the driver
 * @lock: protects the fields below, and others that name it
 * @poll_refs: number of references to @poll_fd that the program holds
 * @poll_fd: descriptor for events, while @poll_refs is not 0
 * @poll_next: next in the bucket of segments that have descriptors
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
 * @serial: unique among all imports of the process
 * @view: generation and events, written by the driver
 * @generation: generation of the connection
 * @perm: permissions of the connection
 * @length: bytes of the segment
 * @map_offset: mmap offset of the window; 0: there is none
 * @mode: rsm_barrier_mode_t
 * @implicit: barrier of implicit transfers; seg.lock to change
 * @barriers: all barriers of the import; seg.lock
 * @window: mapping of the whole segment, or NULL; set once, under seg.lock
 * @no_window: the segment has no window
 * @ring: ring for transfers without a window, or NULL; set once, under seg.lock
 * @no_ring: the import cannot have a ring
 * @swapped: the byte order of the exporter differs
 * @map: memory that the program has mapped; seg.lock to change
 * @map_off: offset of @map in the segment
 * @map_len: bytes of @map; 0: nothing is mapped
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
 * @ctx: context in which it was made
 * @id: number of the memory at the driver
 * @addr: address of the memory when it was locked
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

/* Get the context of this process, made at the first call.  Returns RSM_SUCCESS or RSMERR_*. */
int rsm_ctx_get(struct rsm_ctx **ctx);

/* Start the poller if RSM_POLLER_US asks for one, because the first ring was made. */
void rsm_ctx_start_poller(struct rsm_ctx *ctx);

/*
 * A counter that changes whenever a mapping of the process is removed or changed.  Memory that was
 * valid when the counter was read stays valid while the counter does not change.
 */
static inline uint32_t rsm_mem_generation(const struct rsm_ctx *ctx)
{
	return __atomic_load_n(&ctx->mem->generation, __ATOMIC_SEQ_CST);
}

/* An ioctl whose argument begins with size and err.  Returns RSM_SUCCESS or RSMERR_*. */
int rsm_call(const struct rsm_ctx *ctx, unsigned long cmd, void *arg);

/* Log what an administrator has to do about RSMERR_BAD_CONF of an adapter. */
void rsm_explain_key(void);

/* ctlr.c */

/* Held around fork(). */
void rsm_ctlr_lock(void);
void rsm_ctlr_unlock(void);

/* Returns the controller of a handle; NULL unless the program holds a reference. */
struct rsm_ctlr *rsm_ctlr_of(rsmapi_controller_handle_t handle);

/* seg.c */
void rsm_seg_init(struct rsm_seg *seg, struct rsm_ctx *ctx, struct rsm_ctlr *ctlr, uint32_t id);
int rsm_seg_revoke(struct rsm_seg *seg, uint32_t type);
int rsm_seg_end(struct rsm_seg *seg, uint32_t driver_type);
int rsm_seg_free(struct rsm_seg *seg, uint32_t type, uint32_t driver_type);

/* Held around fork(). */
void rsm_poll_lock(void);
void rsm_poll_unlock(void);

/* Returns an export or import of this process, or NULL. */
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
 * @put: 1 for a put, 0 for a get
 * @data: memory of the caller
 * @offset: offset in the segment
 * @count: number of elements
 * @width: bytes of an element
 * @whole: elements are copied whole; then all addresses are aligned
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

/* Copy @n bytes for @x; whole elements are converted from or to the exporter's byte order. */
void rsm_copy(void *to, const void *from, uint64_t n, const struct rsm_xfer *x);

/*
 * struct rsm_part - an entry of a vector that is not empty
 * @data: memory of the caller
 * @offset: offset in the segment
 * @n: bytes
 * @localmem: local memory that @data must be in, or 0
 */
struct rsm_part {
	char		*data;
	uint64_t	offset;
	uint64_t	n;
	uint32_t	localmem;
};

/* ring.c */

/*
 * Returns the ring of an import without a window, made at the first call; NULL if it cannot be
 * made.
 */
struct rsm_ring *rsm_ring_make(struct rsm_import *imp);

/* Free a ring that no thread uses; @ring may be NULL. */
void rsm_ring_free(struct rsm_ring *ring);

/*
 * Wait until all earlier puts are in the segment.  Returns RSM_SUCCESS, RSMERR_CONN_ABORTED, or,
 * if @interruptible, RSMERR_INTERRUPTED after a signal.
 */
int rsm_ring_drain(struct rsm_import *imp, int interruptible);

/* ring_xfer.c; of imports that have a ring */

/* Carry out a transfer whose arguments are checked. */
int rsm_ring_xfer(const struct rsm_xfer *x);

#define RSM_BY_DRIVER	(-1)

/*
 * Put or get @count parts, whose ranges are checked.  @done: out: number of parts transferred.
 * Returns RSM_SUCCESS, RSMERR_CONN_ABORTED or RSMERR_INTERRUPTED.  RSM_BY_DRIVER: the driver has to
 * carry out the other parts, which are too long, or not known to be valid memory.
 */
int rsm_ring_parts(struct rsm_import *imp, const struct rsm_part *part, uint32_t count,
		   int is_put, uint32_t *done);

/* Note that the driver has transferred the parts; @generation was read before that. */
void rsm_ring_vouch(const struct rsm_import *imp, uint32_t generation,
		    const struct rsm_part *part, uint32_t count, int is_put);

/* barrier.c */

/* Free the barriers of an import that is about to be freed.  Under seg.lock. */
void rsm_barriers_free(struct rsm_import *imp);

#endif /* LIBRSM_H */
