/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copyright (c) The dat authors */
/*
 * librsm: RSMAPI over /dev/rsm.
 *
 * A handle is the address of a slot of the arena (../common/arena.h), so the library recognizes
 * invalid handles.  A process has one context, which is the open device.  The first call that needs
 * the context creates it.  A forked child creates a context of its own.  The handles that the child
 * has inherited belong to the parent's "foreign" context, and cannot be used in the child.
 *
 * The driver checks permissions.  The library checks arguments, in the order in which RSMAPI ranks
 * errors.  The window of an import is a mapping of the segment.  The library reads and writes the
 * window without a system call.
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

/* Marks a function that librsm.map exports. */
#define RSM_API __attribute__((visibility("default")))

enum rsm_type {
	RSM_CTLR	= 0x52534d01,
	RSM_EXPORT,
	RSM_IMPORT,
	RSM_LOCALMEM,
	RSM_BARRIER,
};

/*
 * struct rsm_ctx - the context: the open device of a process
 * @file: open /dev/rsm
 * @foreign: flag: the context belongs to the parent process
 * @slots: mapped array of struct dat_rsm_slot, which the driver writes
 * @mem: slot in @slots that contains the generation of the address space
 * @poller: poller thread, started if RSM_POLLER_US is set
 * @poller_asked: flag: RSM_POLLER_US has been evaluated; protected by ctx_lock
 */
struct rsm_ctx {
	struct du_file	file;
	int		foreign;
	struct du_map	slots;
	const struct dat_rsm_slot *mem;
	struct du_poller poller;
	int		poller_asked;
};

/*
 * struct rsm_ctlr - a controller; never freed
 * @slot: head of the slot
 * @refs: number of rsm_get_controller() calls minus number of rsm_release_controller() calls
 * @id: number of the controller in the driver
 * @next: next in the list of all controllers
 */
struct rsm_ctlr {
	struct du_slot	slot;
	unsigned long	refs;
	uint32_t	id;
	struct rsm_ctlr	*next;
};

/*
 * struct rsm_seg - common part of an export and an import
 * @slot: head of the slot
 * @ctx: context in which the object was created
 * @ctlr: controller on which the object was created
 * @id: number of the export or import in the driver
 * @lock: lock that protects the fields below, and the fields whose description says "seg.lock"
 * @poll_refs: number of references to @poll that the program holds
 * @poll: file for events; its descriptor is -1 while @poll_refs is 0
 * @poll_next: next segment with a descriptor in the same hash bucket
 */
struct rsm_seg {
	struct du_slot	slot;
	struct rsm_ctx	*ctx;
	struct rsm_ctlr	*ctlr;
	uint32_t	id;
	pthread_mutex_t	lock;
	unsigned long	poll_refs;
	struct du_file	poll;
	struct rsm_seg	*poll_next;
};

struct rsm_export {
	struct rsm_seg	seg;
};

struct rsm_barrier;
struct rsm_ring;

/*
 * struct rsm_import - a connection to a segment
 * @seg: common part
 * @serial: number that is unique among all imports of the process
 * @view: slot with the generation and the events; written by the driver
 * @generation: generation when the connection was made; @view shows another generation if the
 *	connection has been cut
 * @perm: permissions of the connection
 * @length: length of the segment in bytes
 * @map_offset: mmap() offset of the window; 0 if there is no window
 * @mode: barrier mode, an rsm_barrier_mode_t
 * @implicit: barrier of implicit transfers, or NULL; changed under seg.lock
 * @barriers: list of all barriers of the import; protected by seg.lock
 * @window: mapping of the whole segment, or NULL; set once, under seg.lock
 * @no_window: flag: the segment cannot have a window
 * @ring: ring for transfers without a window, or NULL; set once, under seg.lock
 * @no_ring: flag: the import cannot have a ring
 * @swapped: flag: the byte order of the exporter differs
 * @owned: flag: @owner is known
 * @owner: user of the exporter, in the user namespace of this process when it connected
 * @map: mapping that the program has made; changed under seg.lock
 * @map_off: offset of @map in the segment
 * @map_len: length of @map in bytes; 0 if the program has no mapping
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
	int				owned;
	uid_t				owner;
	void				*map;
	uint64_t			map_off;
	uint64_t			map_len;
};

/*
 * struct rsm_localmem - memory that is locked for transfers
 * @slot: head of the slot
 * @ctx: context in which the memory was locked
 * @id: number of the local memory in the driver
 * @addr: address of the memory when it was locked
 * @length: length of the memory in bytes
 */
struct rsm_localmem {
	struct du_slot	slot;
	struct rsm_ctx	*ctx;
	uint32_t	id;
	uint64_t	addr;
	uint64_t	length;
};

/* ctx.c */

/*
 * Get the context of this process.  The first call creates the context.  Returns RSM_SUCCESS or an
 * RSMERR_* code.
 */
int rsm_ctx_get(struct rsm_ctx **ctx);

/*
 * Start the poller if RSM_POLLER_US is set.  Called whenever a ring was made; only the first call
 * has an effect.
 */
void rsm_ctx_start_poller(struct rsm_ctx *ctx);

/*
 * Returns the generation of the address space, a counter.  The counter changes whenever a mapping
 * of the process is removed or changed.  Memory that was valid when the counter was read stays
 * valid until the counter changes.
 */
static inline uint32_t rsm_mem_generation(const struct rsm_ctx *ctx)
{
	return __atomic_load_n(&ctx->mem->generation, __ATOMIC_SEQ_CST);
}

/*
 * Make an ioctl.  @arg begins with the fields size and err.  Returns RSM_SUCCESS or an RSMERR_*
 * code.
 */
int rsm_call(const struct rsm_ctx *ctx, unsigned long cmd, void *arg);

/* Wait for an event.  A cancellation point; see du_file_wait(). */
int rsm_wait(const struct rsm_ctx *ctx, struct dat_rsm_wait *arg);

/*
 * Returns whether the program has closed the open device, and logs that.  Checked before a mapping,
 * which would otherwise map a file of the program.
 */
static inline int rsm_ctx_closed(const struct rsm_ctx *ctx)
{
	return du_file_check(&ctx->file);
}

/* Log what an administrator has to do after RSMERR_BAD_CONF from an adapter. */
void rsm_explain_conf(const struct rsm_ctx *ctx);

/* ctlr.c */

/* fork() runs while this lock is held, so that the child inherits consistent data. */
void rsm_ctlr_lock(void);
void rsm_ctlr_unlock(void);

/*
 * Returns the controller of a handle, or NULL if the program holds no reference to the controller.
 */
struct rsm_ctlr *rsm_ctlr_of(rsmapi_controller_handle_t handle);

/* seg.c */
void rsm_seg_init(struct rsm_seg *seg, struct rsm_ctx *ctx, struct rsm_ctlr *ctlr, uint32_t id);
int rsm_seg_revoke(struct rsm_seg *seg, uint32_t type);
int rsm_seg_end(struct rsm_seg *seg, uint32_t driver_type);
int rsm_seg_free(struct rsm_seg *seg, uint32_t type, uint32_t driver_type);

/* fork() runs while this lock is held, so that the child inherits consistent data. */
void rsm_poll_lock(void);
void rsm_poll_unlock(void);

/* Returns the common part of an export or import of this process, or NULL. */
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
 * @width: size of an element in bytes
 * @whole: flag: each element is copied by one access; all addresses are then aligned
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

/*
 * Copy @n bytes for the transfer @x.  If @x->whole is set, elements are also converted between the
 * byte orders of this host and the exporter.
 */
void rsm_copy(void *to, const void *from, uint64_t n, const struct rsm_xfer *x);

/*
 * struct rsm_part - a non-empty entry of a vector
 * @data: memory of the caller
 * @offset: offset in the segment
 * @n: length in bytes
 * @localmem: driver's number of the local memory that must contain @data, or 0
 */
struct rsm_part {
	char		*data;
	uint64_t	offset;
	uint64_t	n;
	uint32_t	localmem;
};

/* ring.c */

/*
 * Returns the ring of an import without a window, or NULL if no ring can be made.  The first call
 * makes the ring.
 */
struct rsm_ring *rsm_ring_make(struct rsm_import *imp);

/* Free a ring that no thread uses.  @ring may be NULL. */
void rsm_ring_free(struct rsm_ring *ring);

/*
 * Wait until all earlier puts are in the segment.  Returns RSM_SUCCESS or RSMERR_CONN_ABORTED.  If
 * @interruptible is set, a signal ends the wait, and the result is RSMERR_INTERRUPTED.
 */
int rsm_ring_drain(struct rsm_import *imp, int interruptible);

/* Functions in ring_xfer.c, for imports that have a ring */

/* Perform a transfer whose arguments have been checked. */
int rsm_ring_xfer(const struct rsm_xfer *x);

#define RSM_BY_DRIVER	(-1)

/*
 * Put or get @count parts, whose ranges in the segment have been checked.  *@done is set to the
 * number of parts transferred.  Returns RSM_SUCCESS, RSMERR_CONN_ABORTED, RSMERR_INTERRUPTED or
 * RSM_BY_DRIVER.  RSM_BY_DRIVER means that the driver must transfer the remaining parts, because
 * they are too long, or because their memory may be invalid.
 */
int rsm_ring_parts(struct rsm_import *imp, const struct rsm_part *part, uint32_t count,
		   int is_put, uint32_t *done);

/*
 * Note that the driver has transferred the parts, so their memory is valid.  The caller has read
 * @generation before the transfer.
 */
void rsm_ring_add_known(const struct rsm_import *imp, uint32_t generation,
			const struct rsm_part *part, uint32_t count, int is_put);

/* barrier.c */

/* Free the barriers of an import that is about to be freed.  The caller holds seg.lock. */
void rsm_barriers_free(struct rsm_import *imp);

#endif /* LIBRSM_H */
