/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause) */
/* Copyright (c) The dat authors */
/*
 * ioctls of /dev/rsm, the device of Remote Shared Memory.
 *
 * Rules for all calls
 * ===================
 *
 * Arguments and their sizes follow the rules at the top of <rdma/dat_ioctl.h>.  @err is the
 * result of a call, an enum dat_rsm_err:
 *
 *   ioctl              @err
 *   ----------------   --------------------------------------------------------------
 *   returns 0          0; all results are valid
 *   fails, EREMOTEIO   why, not 0.  Other results are valid only if a field's comment says so
 *   fails, otherwise   not written: ENOTTY, E2BIG, EINVAL (a size), EFAULT (the argument
 *                      itself); EOPNOTSUPP the kernel does not know a flag or another value, or
 *                      a field that must be 0 isn't; EINTR a signal handler ran
 *
 * Arrays to which an argument points have entries of @entry_size bytes, as compiled into the
 * caller.  An entry may be shorter or longer than the kernel's, as an argument may: EINVAL if it
 * is shorter than in version 1; E2BIG if the excess of an entry is not zero, or an entry is larger
 * than 4,096 bytes.  In results the excess is zeroed.  Without entries @entry_size has no meaning.
 *
 * DAT_IOC_RSM_CONNECT, DAT_IOC_RSM_WAIT and DAT_IOC_RSM_KICK return EINTR.  A stop, a freeze and
 * a tracer don't end them: they begin again, with the same deadline.
 *
 * A call that fails has no effect, except DAT_IOC_RSM_IO with EREMOTEIO, which reports its
 * progress.  If the results cannot be written to the argument, new objects are freed, but a
 * publication, a post, a consumed event, an open and changes of the node table are not undone.
 *
 * DAT_IOC_RSM_OPEN must precede all other calls except DAT_IOC_RSM_NODES, DAT_IOC_RSM_CTLR and
 * DAT_IOC_RSM_TOPOLOGY.  The file belongs to the address space that opened it.  Calls from
 * another one fail with DAT_RSM_NOT_CREATOR.  When the address space ends, by exit or by exec,
 * all objects of the file end, even if other processes have the file open.
 *
 * The file also answers three calls of <rdma/dat_ioctl.h>: DAT_IOC_ABI, from any address
 * space; and, after DAT_IOC_RSM_OPEN, DAT_IOC_POLLER_SET and DAT_IOC_POLLER_RUN, for the rings
 * of all imports.  They return errnos as described there, also EINVAL before DAT_IOC_RSM_OPEN
 * and EPERM to another address space.  Only DAT_IOC_POLLER_SET, a signal, or the end of the
 * process ends a poller.
 *
 * A node is a network namespace.  Segment ids are unique in a node, object ids in a file.
 *
 * Mapped memory
 * =============
 *
 * The status page array (struct dat_rsm_slot, read-only) has a slot for each object.  The
 * connection of an import was cut if the generation in its slot differs from the one that
 * DAT_IOC_RSM_CONNECT returned.  A generation never returns.
 *
 * One more slot, @mem_slot of DAT_IOC_RSM_OPEN, belongs to the address space.  Its generation
 * has changed when a call returns that has unmapped memory, made it inaccessible, or replaced
 * it.  It may change at other times, but protection keys don't change it.  Memory that
 * DAT_IOC_RSM_IO has transferred and reported as mapped stays valid while the generation from
 * before that call does not change.
 *
 * The window of an import, if DAT_IOC_RSM_CONNECT returned one, is the segment itself.  It can
 * be mapped shared, whole or in part, many times.  After a cut it shows memory private to the
 * import, and writes are lost; only the generation reports that.
 *
 * Imports of controllers without windows have a ring: three regions, each mapped as a whole.
 * The first two have one writer each:
 *
 *   submit   struct dat_rsm_submit, struct dat_rsm_entry[]    the process
 *   status   struct dat_rsm_status                            the kernel; read-only
 *   data     data of puts and of gets                         both, slot by slot
 *
 * For a put the process copies into the data area and writes an entry that names it.  Only
 * the kernel knows the address and the key of the segment.  The kernel reads an entry once
 * and checks the copy against the import.  Indices are free-running 32-bit counters.  With the
 * results of DAT_IOC_RSM_RING, entry i is in the submit region at
 * "entry_offset + ((i & (entries - 1)) << entry_shift)".  Entries are executed, and complete, in
 * order.
 *
 *   process                                  kernel: drains the ring
 *   -------                                  -----------------------
 *   write data, entry[tail]                  status.flags = 0
 *   submit.tail = tail + 1        (A)        n = submit.tail - head       (D)
 *   full barrier                  (B)        copy, check, post n entries
 *   if status.flags & NEED_KICK              if requests are in flight, or the
 *     ioctl(DAT_IOC_RSM_KICK)                  poller is awake: leave
 *                                            status.flags = NEED_KICK
 *   use data of entries before               full barrier                 (E)
 *     status.done                 (F)        if submit.tail != head: again (D)
 *
 *                                            a request completes:
 *                                              status.done = its index + 1 (G)
 *                                              drain
 *
 *   (A)/(D) release/acquire: the entry and its data are complete when the tail shows them.
 *   (B)/(E) store-barrier-load on both sides: either the process sees NEED_KICK and
 *       enters, or the kernel sees the new tail.  Never neither.
 *   (F)/(G) acquire/release: when done shows it, data of a get are in the data area, and
 *       data of a put have been read from there.
 *
 * No call is needed while requests are in flight, since their completion drains the ring;
 * nor while a thread of the process is inside DAT_IOC_POLLER_RUN and awake.
 */
#ifndef _UAPI_RDMA_DAT_RSM_H
#define _UAPI_RDMA_DAT_RSM_H

#include <rdma/dat_ioctl.h>

#define DAT_RSM_IOC_MAGIC	0xDB
#define DAT_RSM_CTLR_NAME	64	/* bytes of a controller's name with its NUL */
#define DAT_RSM_LOOPBACK	0	/* the controller that always exists */
#define DAT_RSM_MAX_NODE	64	/* largest node id, and longest access list */
#define DAT_RSM_MAX_IO		16	/* entries of one DAT_IOC_RSM_IO */

/* Result of a call; numbers of RSMERR_*. */
enum dat_rsm_err {
	DAT_RSM_OK			= 0,
	DAT_RSM_BAD_CTLR		= 3,
	DAT_RSM_CTLR_NOT_PRESENT	= 4,
	DAT_RSM_BAD_SEG			= 5,
	DAT_RSM_ALREADY_PUBLISHED	= 6,
	DAT_RSM_NOT_PUBLISHED		= 7,
	DAT_RSM_NOT_PUBLISHED_TO_NODE	= 8,
	DAT_RSM_NOT_CREATOR		= 12,
	DAT_RSM_BAD_SGIO		= 14,
	DAT_RSM_BAD_LOCALMEM		= 15,
	DAT_RSM_BAD_ADDR		= 16,
	DAT_RSM_BAD_ALIGNMENT		= 17,
	DAT_RSM_BAD_OFFSET		= 18,
	DAT_RSM_BAD_LENGTH		= 20,
	DAT_RSM_BAD_ACL			= 21,
	DAT_RSM_RESERVED_SEGID		= 23,
	DAT_RSM_SEGID_IN_USE		= 24,
	DAT_RSM_PERM_DENIED		= 27,
	DAT_RSM_LOCKS_NOT_SUPPORTED	= 28,
	DAT_RSM_REBIND_NOT_ALLOWED	= 30,
	DAT_RSM_NO_RESOURCES		= 31,
	DAT_RSM_NO_MEM			= 32,
	DAT_RSM_UNREACHABLE		= 39,
	DAT_RSM_CONN_ABORTED		= 40,
	DAT_RSM_INTERRUPTED		= 41,
	DAT_RSM_TIMEOUT			= 42,
	DAT_RSM_BAD_CONF		= 44
};

/* Flags of struct dat_rsm_connect, out. */
#define DAT_RSM_SWAPPED		0x1	/* the exporter has the opposite byte order */

/* Permissions that an import asks for. */
#define DAT_RSM_READ	0400
#define DAT_RSM_WRITE	0200

/* Numbers of the ioctls. */
enum {
	DAT_NR_RSM_OPEN		= 0,
	DAT_NR_RSM_CTLR		= 1,
	DAT_NR_RSM_EXPORT	= 2,
	DAT_NR_RSM_REBIND	= 3,
	DAT_NR_RSM_PUBLISH	= 4,
	DAT_NR_RSM_REPUBLISH	= 5,
	DAT_NR_RSM_UNPUBLISH	= 6,
	DAT_NR_RSM_CONNECT	= 7,
	DAT_NR_RSM_LOCALMEM	= 8,
	DAT_NR_RSM_FREE		= 9,
	DAT_NR_RSM_IO		= 10,
	DAT_NR_RSM_POST		= 11,
	DAT_NR_RSM_WAIT		= 12,
	DAT_NR_RSM_FD		= 13,
	DAT_NR_RSM_NODES	= 14,
	DAT_NR_RSM_TOPOLOGY	= 15,
	DAT_NR_RSM_RING		= 16,
	DAT_NR_RSM_KICK		= 17
};

#define DAT_RSM_IOC(nr)		_IO(DAT_RSM_IOC_MAGIC, DAT_NR_RSM_##nr)

/**
 * struct dat_rsm_slot - state of an object in the status page array
 * @generation: of the connection; changes when an import is cut
 * @pending: number of events that were not consumed
 */
struct dat_rsm_slot {
	__u32 generation;
	__u32 pending;
};

/**
 * struct dat_rsm_open - prepare a file for objects of RSM
 * @size: of this structure
 * @err: out: NO_MEM; BAD_CTLR: this was done before
 * @flags: bits to be defined; 0
 * @node: out: id of this node
 * @slots_offset: out: of the status page array, for mmap()
 * @slots_size: out: bytes of it
 * @features: out: bits to be defined, for what later kernels can do; 0 today
 * @nr_slots: out: objects that the file can have; their slots are those below
 * @mem_slot: out: index in the status page array of the slot of the address space
 */
struct dat_rsm_open {
	__u32 size;
	__u32 err;
	__u32 flags;
	__u32 node;
	__u64 slots_offset;
	__u64 slots_size;
	__u64 features;
	__u32 nr_slots;
	__u32 mem_slot;
};

#define DAT_IOC_RSM_OPEN	DAT_RSM_IOC(OPEN)

/**
 * struct dat_rsm_ctlr - attributes of a controller
 * @size: of this structure
 * @err: out: CTLR_NOT_PRESENT
 * @ctlr: DAT_RSM_LOOPBACK, or 1, 2, ... for the adapters; an adapter that returns keeps its
 *	number
 * @name: out: NUL-terminated: "loopback", or "rdma0" of number 1
 * @direct_sizes: out: bit n: a mapping can be accessed 2^n bytes at a time
 * @atomic_sizes: out: bit n: aligned transfers of 2^n bytes are not torn
 * @page_sizes: out: bit n: pages of 2^n KiB
 * @max_exports: out: segments of this node
 * @max_imports: out: imports of this node
 * @max_export_size: out: bytes of a segment; 0 here and below: no limit
 * @tot_export_size: out: bytes of all segments
 * @max_map_size: out: bytes of a window; with @direct_sizes 0 there are no windows
 * @tot_map_size: out: bytes of all windows
 * @device: out: name of the adapter, see struct dat_adapter; empty: none
 */
struct dat_rsm_ctlr {
	__u32 size;
	__u32 err;
	__u32 ctlr;
	char  name[DAT_RSM_CTLR_NAME];
	__u32 direct_sizes;
	__u32 atomic_sizes;
	__u32 page_sizes;
	__u32 max_exports;
	__u32 max_imports;
	__u64 max_export_size;
	__u64 tot_export_size;
	__u64 max_map_size;
	__u64 tot_map_size;
	__u8  device[DAT_NAME_SIZE];
};

#define DAT_IOC_RSM_CTLR	DAT_RSM_IOC(CTLR)

/* Flags of struct dat_rsm_export. */
#define DAT_RSM_REBINDABLE	0x1
#define DAT_RSM_DONT_WAIT	0x2
#define DAT_RSM_LOCK_OPS	0x4	/* the segment can't be published */

/**
 * struct dat_rsm_export - make a segment of memory of the caller
 * @size: of this structure
 * @err: out: CTLR_NOT_PRESENT; BAD_CONF @ctlr is an adapter, and this node has no cluster key
 *	(see struct dat_rsm_nodes); BAD_ADDR not mapped; BAD_LENGTH 0 or over 1 TiB;
 *	BAD_ALIGNMENT @addr or @length is no multiple of a page; PERM_DENIED the memory is not
 *	writable; NO_MEM also over RLIMIT_MEMLOCK or the node's budget; NO_RESOURCES too many
 *	segments
 * @ctlr: controller
 * @flags: DAT_RSM_REBINDABLE, ...
 * @addr: first byte
 * @length: bytes
 * @id: out: of the object
 * @slot: out: index in the status page array
 *
 * Without an access list the umask of the caller gives the permissions.
 */
struct dat_rsm_export {
	__u32 size;
	__u32 err;
	__u32 ctlr;
	__u32 flags;
	__u64 addr;
	__u64 length;
	__u32 id;
	__u32 slot;
};

#define DAT_IOC_RSM_EXPORT	DAT_RSM_IOC(EXPORT)

/**
 * struct dat_rsm_rebind - replace the memory of a segment, transparent to importers
 * @size: of this structure
 * @err: out: BAD_SEG; REBIND_NOT_ALLOWED; BAD_LENGTH not that of the segment; BAD_ADDR not
 *	mapped or not page-aligned; PERM_DENIED and NO_MEM as for DAT_IOC_RSM_EXPORT
 * @id: of the export
 * @rsvd: 0
 * @addr: first byte
 * @length: bytes
 */
struct dat_rsm_rebind {
	__u32 size;
	__u32 err;
	__u32 id;
	__u32 rsvd;
	__u64 addr;
	__u64 length;
};

#define DAT_IOC_RSM_REBIND	DAT_RSM_IOC(REBIND)

/**
 * struct dat_rsm_access - entry of an access list
 * @node: id of the importer's node
 * @perm: octal digits for the exporter's user, its group, and others: 4 read, 2 write
 */
struct dat_rsm_access {
	__u32 node;
	__u32 perm;
};

/**
 * struct dat_rsm_publish - publish a segment for import; also DAT_IOC_RSM_REPUBLISH
 * @size: of this structure
 * @err: out: BAD_SEG; BAD_ACL; BAD_ADDR @list; ALREADY_PUBLISHED (REPUBLISH: NOT_PUBLISHED);
 *	RESERVED_SEGID; SEGID_IN_USE; LOCKS_NOT_SUPPORTED; NO_MEM; NO_RESOURCES no
 *	automatic id is left
 * @id: of the export
 * @segid: id to publish; 0: the kernel chooses one; out: the id.  REPUBLISH: 0
 * @list: address of struct dat_rsm_access
 * @count: entries of @list; 0: all nodes, with permissions from the umask
 * @entry_size: bytes of an entry of @list
 * @key: 0; for a key of the segment, which an importer must have
 * @auth: 0; for the way in which an importer proves that
 *
 * The first entry for a node counts.  REPUBLISH affects later imports only.
 */
struct dat_rsm_publish {
	__u32 size;
	__u32 err;
	__u32 id;
	__u32 segid;
	__u64 list;
	__u32 count;
	__u32 entry_size;
	__s32 key;
	__u32 auth;
};

#define DAT_IOC_RSM_PUBLISH	DAT_RSM_IOC(PUBLISH)
#define DAT_IOC_RSM_REPUBLISH	DAT_RSM_IOC(REPUBLISH)

/**
 * struct dat_rsm_unpublish - withdraw a segment and cut all its imports
 * @size: of this structure
 * @err: out: BAD_SEG, NOT_PUBLISHED
 * @id: of the export
 * @rsvd: 0
 *
 * When this returns, no importer can read or write the segment any more.
 */
struct dat_rsm_unpublish {
	__u32 size;
	__u32 err;
	__u32 id;
	__u32 rsvd;
};

#define DAT_IOC_RSM_UNPUBLISH	DAT_RSM_IOC(UNPUBLISH)

/**
 * struct dat_rsm_connect - import a segment
 * @size: of this structure
 * @err: out: CTLR_NOT_PRESENT also: @ctlr does not lead to @node; NOT_PUBLISHED;
 *	NOT_PUBLISHED_TO_NODE; PERM_DENIED; UNREACHABLE; NO_MEM; NO_RESOURCES too many imports;
 *	INTERRUPTED fatal signal; BAD_CONF @ctlr is an adapter, and this node has no cluster key
 *	or the other node has another one
 * @ctlr: controller
 * @node: of the segment
 * @segid: of the segment
 * @perm: DAT_RSM_READ, DAT_RSM_WRITE; 0: events only, which requires either right
 * @id: out: of the object
 * @slot: out: index in the status page array
 * @generation: out: of the connection
 * @flags: 0; out: DAT_RSM_SWAPPED
 * @length: out: bytes of the segment
 * @map_offset: out: of the window, for mmap(), 2^42 to 2^43; 0: no window.  The windows of a
 *	file have 4 TiB at most: an import beyond that has none.  mmap() fails without
 *	DAT_RSM_READ (EOPNOTSUPP: no MMU has write-only mappings), for writing without
 *	DAT_RSM_WRITE (EACCES), after a cut (ENODEV), and beyond 1,024 mappings (ENOMEM), where
 *	a split mapping counts as two
 * @key: 0; for a key of the segment
 * @auth: 0; for the way in which the caller proves that it has the key
 */
struct dat_rsm_connect {
	__u32 size;
	__u32 err;
	__u32 ctlr;
	__u32 node;
	__u32 segid;
	__u32 perm;
	__u32 id;
	__u32 slot;
	__u32 generation;
	__u32 flags;
	__u64 length;
	__u64 map_offset;
	__s32 key;
	__u32 auth;
};

#define DAT_IOC_RSM_CONNECT	DAT_RSM_IOC(CONNECT)

/**
 * struct dat_rsm_localmem - lock memory of the caller for transfers
 * @size: of this structure
 * @err: out: CTLR_NOT_PRESENT; BAD_ADDR not mapped or not page-aligned; BAD_LENGTH 0 or over
 *	1 TiB; NO_MEM; NO_RESOURCES
 * @ctlr: controller
 * @id: out: of the object
 * @addr: first byte
 * @length: bytes; all of the last page is locked
 *
 * Read-only memory may be the source of puts only.
 */
struct dat_rsm_localmem {
	__u32 size;
	__u32 err;
	__u32 ctlr;
	__u32 id;
	__u64 addr;
	__u64 length;
};

#define DAT_IOC_RSM_LOCALMEM	DAT_RSM_IOC(LOCALMEM)

enum dat_rsm_type {
	DAT_RSM_TYPE_EXPORT	= 1,
	DAT_RSM_TYPE_IMPORT	= 2,
	DAT_RSM_TYPE_LOCALMEM	= 3
};

/**
 * struct dat_rsm_free - free an object
 * @size: of this structure
 * @err: out: BAD_SEG; for local memory BAD_LOCALMEM
 * @type: enum dat_rsm_type
 * @id: of the object
 *
 * Unpublishes a published export first.  When this returns, no transfer reads or writes the
 * memory any more.
 */
struct dat_rsm_free {
	__u32 size;
	__u32 err;
	__u32 type;
	__u32 id;
};

#define DAT_IOC_RSM_FREE	DAT_RSM_IOC(FREE)

enum dat_rsm_op {
	DAT_RSM_PUT	= 0,
	DAT_RSM_GET	= 1
};

/**
 * struct dat_rsm_ioent - one of the transfers of DAT_IOC_RSM_IO
 * @addr: address of the caller's memory; with @localmem: offset in that
 * @offset: in the segment
 * @length: bytes; 0: no transfer
 * @localmem: id of local memory, or 0
 * @width: bytes of an element: 1, 2, 4 or 8; @offset and @length are multiples of it.  An
 *	aligned element is not torn, provided that the adapter writes aligned words whole
 */
struct dat_rsm_ioent {
	__u64 addr;
	__u64 offset;
	__u64 length;
	__u32 localmem;
	__u32 width;
};

/* Flags of struct dat_rsm_io; the second also of struct dat_rsm_post. */
#define DAT_RSM_SIGPOST		0x1	/* signal the exporter after the last transfer */
#define DAT_RSM_NO_ACCUMULATE	0x2	/* unless an event is pending there */
#define DAT_RSM_INTERRUPTIBLE	0x4	/* any signal may end long transfers */

/**
 * struct dat_rsm_io - transfers between a segment and memory, in order
 * @size: of this structure
 * @err: out: BAD_SEG; BAD_SGIO @count; CONN_ABORTED; PERM_DENIED; BAD_LOCALMEM; BAD_OFFSET,
 *	BAD_LENGTH beyond the segment or the local memory; BAD_ADDR also: not writable;
 *	BAD_ALIGNMENT; INTERRUPTED fatal signal, or any with DAT_RSM_INTERRUPTIBLE
 * @id: of the import
 * @op: enum dat_rsm_op
 * @flags: DAT_RSM_SIGPOST, ...
 * @count: of entries, 1 to DAT_RSM_MAX_IO
 * @entries: address of struct dat_rsm_ioent
 * @entry_size: bytes of an entry of @entries
 * @rsvd: 0
 * @done: out, also after an error: number of entries carried out; the next one may be carried
 *	out in part
 * @mapped: out: 1: all entries name ordinary memory with the access that @op needs, and local
 *	memory is still mapped where it was locked.  0: not so, or not checked, or more bytes
 *	than the data area of a ring
 *
 * On a controller whose imports have rings, this call is for vectors whose memory may be
 * invalid.
 */
struct dat_rsm_io {
	__u32 size;
	__u32 err;
	__u32 id;
	__u32 op;
	__u32 flags;
	__u32 count;
	__u64 entries;
	__u32 entry_size;
	__u32 rsvd;
	__u32 done;
	__u32 mapped;
};

#define DAT_IOC_RSM_IO		DAT_RSM_IOC(IO)

/**
 * struct dat_rsm_post - post an event to the exporter, or to every importer
 * @size: of this structure
 * @err: out: BAD_SEG, CONN_ABORTED
 * @id: of an import or an export
 * @flags: 0 or DAT_RSM_NO_ACCUMULATE
 */
struct dat_rsm_post {
	__u32 size;
	__u32 err;
	__u32 id;
	__u32 flags;
};

#define DAT_IOC_RSM_POST	DAT_RSM_IOC(POST)

#define DAT_RSM_FOREVER		(~0ULL)

/**
 * struct dat_rsm_wait - consume one event
 * @size: of this structure
 * @err: out: BAD_SEG; TIMEOUT; CONN_ABORTED the import was cut, and all events are consumed
 * @id: of an import or an export
 * @rsvd: 0
 * @deadline_ns: CLOCK_MONOTONIC; DAT_RSM_FOREVER: none; in the past: no wait
 */
struct dat_rsm_wait {
	__u32 size;
	__u32 err;
	__u32 id;
	__u32 rsvd;
	__u64 deadline_ns;
};

#define DAT_IOC_RSM_WAIT	DAT_RSM_IOC(WAIT)

/**
 * struct dat_rsm_fd - get a descriptor that is readable while events are pending
 * @size: of this structure
 * @err: out: BAD_SEG; NO_RESOURCES too many open files; NO_MEM
 * @id: of an import or an export
 * @fd: out: closed on exec
 *
 * POLLHUP: the object was freed or the import cut.  Only DAT_IOC_RSM_WAIT consumes.
 */
struct dat_rsm_fd {
	__u32 size;
	__u32 err;
	__u32 id;
	__s32 fd;
};

#define DAT_IOC_RSM_FD		DAT_RSM_IOC(FD)

/**
 * struct dat_rsm_node - address of a node
 * @node: id of the node, 0 to DAT_RSM_MAX_NODE
 * @ctlr: number, from 1, of the controller that leads there; the controller may be absent
 * @family: AF_INET or AF_INET6
 * @scope: index of the interface of a link-local IPv6 address; else 0
 * @addr: address of the node's adapter, network order; IPv4: the first 4 bytes, then 0
 */
struct dat_rsm_node {
	__u32 node;
	__u32 ctlr;
	__u32 family;
	__u32 scope;
	__u8  addr[16];
};

/* Flags of struct dat_rsm_nodes. */
#define DAT_RSM_NODES_TABLE	0x1
#define DAT_RSM_NODES_LOCAL	0x2
#define DAT_RSM_NODES_KEY	0x4
#define DAT_RSM_NODES_TRUST	0x8

/* State of a node, in struct dat_rsm_nodes. */
#define DAT_RSM_NODE_KEYED	0x1	/* it has a cluster key */
#define DAT_RSM_NODE_TRUSTS	0x2	/* it neither gives nor requires a proof */

/**
 * struct dat_rsm_nodes - set id, key or table of this node; without flags, read them
 * @size: of this structure
 * @err: out: BAD_ADDR @list; NO_MEM.  With flags also: PERM_DENIED no CAP_NET_ADMIN in the user
 *	namespace of the network namespace, or for DAT_RSM_NODES_KEY and DAT_RSM_NODES_TRUST no
 *	CAP_SYS_ADMIN in the first user namespace; BAD_CONF an entry, their number or @local is
 *	wrong, one controller leads twice to a node, or @key is invalid;
 *	ALREADY_PUBLISHED exports or imports exist, and @local changes
 * @flags: DAT_RSM_NODES_TABLE: @list replaces the table.  DAT_RSM_NODES_LOCAL: @local becomes
 *	the id of this node.  With both flags, both take effect or none.  DAT_RSM_NODES_KEY,
 *	alone: @key becomes the cluster key.  DAT_RSM_NODES_TRUST, alone: DAT_RSM_NODE_TRUSTS of
 *	@state takes effect
 * @local: id; out, without flags
 * @list: address of struct dat_rsm_node.  Without flags: out, as many entries as fit
 * @count: number of entries of @list; out, without flags: number of entries of the table
 * @entry_size: bytes of an entry of @list
 * @key: serial number of a key of the type "logon", searchable by the caller, named
 *	"rsm:cluster", with a payload of 32 bytes or more; 0: drop the present key.  0 without
 *	DAT_RSM_NODES_KEY.
 * @state: DAT_RSM_NODE_*; out, without flags.  In: 0 without DAT_RSM_NODES_TRUST, that is,
 *	also without flags.
 *
 * EOPNOTSUPP: other flags or combinations, or a field that must be 0 isn't.
 *
 * The driver holds a reference to the key.  A revoked or expired key counts as none.
 * Existing connections don't end when a node leaves the table.  An entry for the local node
 * has no effect: that node is at its adapters' own addresses.
 */
struct dat_rsm_nodes {
	__u32 size;
	__u32 err;
	__u32 flags;
	__u32 local;
	__u64 list;
	__u32 count;
	__u32 entry_size;
	__s32 key;
	__u32 state;
};

#define DAT_IOC_RSM_NODES	DAT_RSM_IOC(NODES)

#define DAT_RSM_LINK_LOCAL	0x1	/* the controller itself, not a link */

enum dat_rsm_link_state {
	DAT_RSM_LINK_DOWN	= 1,
	DAT_RSM_LINK_ACTIVE	= 3	/* answered this survey; see below */
};

/**
 * struct dat_rsm_link - a node to which a controller leads
 * @ctlr: number of the controller
 * @node: id of this node, or of the other
 * @flags: DAT_RSM_LINK_LOCAL
 * @state: enum dat_rsm_link_state.  ACTIVE: the host answers, if only with a refusal by RSM or
 *	for lack of a listener.  CONNECT reports whether an import is permitted: BAD_CONF
 *	without a common key
 * @hwaddr: number derived from the network address of the adapter at that end, host order:
 *	IPv4: the address; IPv6: its lower half; 0: unknown
 */
struct dat_rsm_link {
	__u32 ctlr;
	__u32 node;
	__u32 flags;
	__u32 state;
	__u64 hwaddr;
};

/**
 * struct dat_rsm_topology - list controllers and the nodes they lead to
 * @size: of this structure
 * @err: out: BAD_ADDR @list; NO_MEM; INTERRUPTED fatal signal
 * @node: out: id of this node
 * @count: entries of @list; out: number of links
 * @list: address of struct dat_rsm_link: out, if all fit: each adapter with
 *	DAT_RSM_LINK_LOCAL, followed by the local node and the other nodes of the table
 * @entry_size: bytes of an entry of @list
 * @rsvd: 0
 *
 * Unless @count is 0 the call probes all nodes, 512 at once.  Each 512 take up to two seconds
 * if a node is down, and up to four if a node accepts the request and then stays silent.
 */
struct dat_rsm_topology {
	__u32 size;
	__u32 err;
	__u32 node;
	__u32 count;
	__u64 list;
	__u32 entry_size;
	__u32 rsvd;
};

#define DAT_IOC_RSM_TOPOLOGY	DAT_RSM_IOC(TOPOLOGY)

/* Rings of imports; see the top of this file. */

enum dat_rsm_ring_op {
	DAT_RSM_RING_PUT	= 1,	/* an entry of zeros is malformed */
	DAT_RSM_RING_GET	= 2,
	DAT_RSM_RING_FLUSH	= 3	/* done when all earlier puts are in the segment */
};

/**
 * struct dat_rsm_entry - a transfer
 * @offset: in the segment; FLUSH: 0
 * @length: bytes, 1 to the ring's @chunk; FLUSH: 0
 * @data: offset in the data area, all within one chunk; FLUSH: 0
 * @op: enum dat_rsm_ring_op
 * @rsvd: 0
 *
 * An entry that is malformed, lacks the right, or goes beyond the segment cuts the import.  So
 * does a tail beyond the ring.
 */
struct dat_rsm_entry {
	__u64 offset;
	__u32 length;
	__u32 data;
	__u32 op;
	__u32 rsvd[3];
};

/**
 * struct dat_rsm_submit - submit region, written by the process
 * @tail: entries posted; the kernel writes the first value
 * @rsvd: padding to the cache lines of the entries
 */
struct dat_rsm_submit {
	__u32 tail;
	__u32 rsvd[31];
};

#define DAT_RSM_NEED_KICK	0x1

/**
 * struct dat_rsm_status - status region, written by the kernel
 * @done: index up to which entries are complete; stops at an error
 * @flags: DAT_RSM_NEED_KICK: the next entry needs a kick
 * @bad: number of entries that have cut the import; the bad one follows the last entry taken
 * @rsvd: 0
 */
struct dat_rsm_status {
	__u32 done;
	__u32 flags;
	__u32 bad;
	__u32 rsvd;
};

/**
 * struct dat_rsm_ring - create the ring of an import, or get its regions again
 * @size: of this structure
 * @err: out: BAD_SEG; BAD_CTLR imports of its controller have no rings; CONN_ABORTED; NO_MEM;
 *	NO_RESOURCES
 * @id: of the import
 * @rsvd: 0
 * @entries: out: a power of two
 * @chunk: out: a power of two; transfers don't cross its multiples in the data area
 * @entry_offset: out: of the entries, in the submit region
 * @entry_shift: out: entries are 2^entry_shift bytes apart, at least the size of struct
 *	dat_rsm_entry.  The bytes behind it stay 0
 * @submit_offset: out: for mmap()
 * @submit_size: out: bytes
 * @status_offset: out: for mmap(); can't be mapped for writing
 * @status_size: out: bytes
 * @data_offset: out: for mmap()
 * @data_size: out: bytes
 *
 * Mapped pages stay when the import ends; the kernel no longer reads them.
 */
struct dat_rsm_ring {
	__u32 size;
	__u32 err;
	__u32 id;
	__u32 rsvd;
	__u32 entries;
	__u32 chunk;
	__u32 entry_offset;
	__u32 entry_shift;
	__u64 submit_offset;
	__u64 submit_size;
	__u64 status_offset;
	__u64 status_size;
	__u64 data_offset;
	__u64 data_size;
};

#define DAT_IOC_RSM_RING	DAT_RSM_IOC(RING)

/**
 * struct dat_rsm_kick - drain a ring, and wait for an entry of it
 * @size: of this structure
 * @err: out: BAD_SEG; BAD_CTLR there is no ring; CONN_ABORTED; TIMEOUT
 * @id: of the import
 * @index: entry to wait for, until (int)(done - index) > 0
 * @deadline_ns: CLOCK_MONOTONIC; DAT_RSM_FOREVER: none; in the past: no wait
 */
struct dat_rsm_kick {
	__u32 size;
	__u32 err;
	__u32 id;
	__u32 index;
	__u64 deadline_ns;
};

#define DAT_IOC_RSM_KICK	DAT_RSM_IOC(KICK)

/* The layout is fixed: a change of it fails to compile. */
DAT_RING_ASSERT(sizeof(struct dat_rsm_slot) == 8);
DAT_RING_OFFSET(dat_rsm_slot, generation, 0);
DAT_RING_OFFSET(dat_rsm_slot, pending, 4);
DAT_RING_ASSERT(sizeof(struct dat_rsm_open) == 48);
DAT_RING_OFFSET(dat_rsm_open, size, 0);
DAT_RING_OFFSET(dat_rsm_open, err, 4);
DAT_RING_OFFSET(dat_rsm_open, flags, 8);
DAT_RING_OFFSET(dat_rsm_open, node, 12);
DAT_RING_OFFSET(dat_rsm_open, slots_offset, 16);
DAT_RING_OFFSET(dat_rsm_open, slots_size, 24);
DAT_RING_OFFSET(dat_rsm_open, features, 32);
DAT_RING_OFFSET(dat_rsm_open, nr_slots, 40);
DAT_RING_OFFSET(dat_rsm_open, mem_slot, 44);
DAT_RING_ASSERT(sizeof(struct dat_rsm_ctlr) == 200);
DAT_RING_OFFSET(dat_rsm_ctlr, size, 0);
DAT_RING_OFFSET(dat_rsm_ctlr, err, 4);
DAT_RING_OFFSET(dat_rsm_ctlr, ctlr, 8);
DAT_RING_OFFSET(dat_rsm_ctlr, name, 12);
DAT_RING_OFFSET(dat_rsm_ctlr, direct_sizes, 76);
DAT_RING_OFFSET(dat_rsm_ctlr, atomic_sizes, 80);
DAT_RING_OFFSET(dat_rsm_ctlr, page_sizes, 84);
DAT_RING_OFFSET(dat_rsm_ctlr, max_exports, 88);
DAT_RING_OFFSET(dat_rsm_ctlr, max_imports, 92);
DAT_RING_OFFSET(dat_rsm_ctlr, max_export_size, 96);
DAT_RING_OFFSET(dat_rsm_ctlr, tot_export_size, 104);
DAT_RING_OFFSET(dat_rsm_ctlr, max_map_size, 112);
DAT_RING_OFFSET(dat_rsm_ctlr, tot_map_size, 120);
DAT_RING_OFFSET(dat_rsm_ctlr, device, 128);
DAT_RING_ASSERT(sizeof(struct dat_rsm_export) == 40);
DAT_RING_OFFSET(dat_rsm_export, size, 0);
DAT_RING_OFFSET(dat_rsm_export, err, 4);
DAT_RING_OFFSET(dat_rsm_export, ctlr, 8);
DAT_RING_OFFSET(dat_rsm_export, flags, 12);
DAT_RING_OFFSET(dat_rsm_export, addr, 16);
DAT_RING_OFFSET(dat_rsm_export, length, 24);
DAT_RING_OFFSET(dat_rsm_export, id, 32);
DAT_RING_OFFSET(dat_rsm_export, slot, 36);
DAT_RING_ASSERT(sizeof(struct dat_rsm_rebind) == 32);
DAT_RING_OFFSET(dat_rsm_rebind, size, 0);
DAT_RING_OFFSET(dat_rsm_rebind, err, 4);
DAT_RING_OFFSET(dat_rsm_rebind, id, 8);
DAT_RING_OFFSET(dat_rsm_rebind, rsvd, 12);
DAT_RING_OFFSET(dat_rsm_rebind, addr, 16);
DAT_RING_OFFSET(dat_rsm_rebind, length, 24);
DAT_RING_ASSERT(sizeof(struct dat_rsm_access) == 8);
DAT_RING_OFFSET(dat_rsm_access, node, 0);
DAT_RING_OFFSET(dat_rsm_access, perm, 4);
DAT_RING_ASSERT(sizeof(struct dat_rsm_publish) == 40);
DAT_RING_OFFSET(dat_rsm_publish, size, 0);
DAT_RING_OFFSET(dat_rsm_publish, err, 4);
DAT_RING_OFFSET(dat_rsm_publish, id, 8);
DAT_RING_OFFSET(dat_rsm_publish, segid, 12);
DAT_RING_OFFSET(dat_rsm_publish, list, 16);
DAT_RING_OFFSET(dat_rsm_publish, count, 24);
DAT_RING_OFFSET(dat_rsm_publish, entry_size, 28);
DAT_RING_OFFSET(dat_rsm_publish, key, 32);
DAT_RING_OFFSET(dat_rsm_publish, auth, 36);
DAT_RING_ASSERT(sizeof(struct dat_rsm_unpublish) == 16);
DAT_RING_OFFSET(dat_rsm_unpublish, size, 0);
DAT_RING_OFFSET(dat_rsm_unpublish, err, 4);
DAT_RING_OFFSET(dat_rsm_unpublish, id, 8);
DAT_RING_OFFSET(dat_rsm_unpublish, rsvd, 12);
DAT_RING_ASSERT(sizeof(struct dat_rsm_connect) == 64);
DAT_RING_OFFSET(dat_rsm_connect, size, 0);
DAT_RING_OFFSET(dat_rsm_connect, err, 4);
DAT_RING_OFFSET(dat_rsm_connect, ctlr, 8);
DAT_RING_OFFSET(dat_rsm_connect, node, 12);
DAT_RING_OFFSET(dat_rsm_connect, segid, 16);
DAT_RING_OFFSET(dat_rsm_connect, perm, 20);
DAT_RING_OFFSET(dat_rsm_connect, id, 24);
DAT_RING_OFFSET(dat_rsm_connect, slot, 28);
DAT_RING_OFFSET(dat_rsm_connect, generation, 32);
DAT_RING_OFFSET(dat_rsm_connect, flags, 36);
DAT_RING_OFFSET(dat_rsm_connect, length, 40);
DAT_RING_OFFSET(dat_rsm_connect, map_offset, 48);
DAT_RING_OFFSET(dat_rsm_connect, key, 56);
DAT_RING_OFFSET(dat_rsm_connect, auth, 60);
DAT_RING_ASSERT(sizeof(struct dat_rsm_localmem) == 32);
DAT_RING_OFFSET(dat_rsm_localmem, size, 0);
DAT_RING_OFFSET(dat_rsm_localmem, err, 4);
DAT_RING_OFFSET(dat_rsm_localmem, ctlr, 8);
DAT_RING_OFFSET(dat_rsm_localmem, id, 12);
DAT_RING_OFFSET(dat_rsm_localmem, addr, 16);
DAT_RING_OFFSET(dat_rsm_localmem, length, 24);
DAT_RING_ASSERT(sizeof(struct dat_rsm_free) == 16);
DAT_RING_OFFSET(dat_rsm_free, size, 0);
DAT_RING_OFFSET(dat_rsm_free, err, 4);
DAT_RING_OFFSET(dat_rsm_free, type, 8);
DAT_RING_OFFSET(dat_rsm_free, id, 12);
DAT_RING_ASSERT(sizeof(struct dat_rsm_ioent) == 32);
DAT_RING_OFFSET(dat_rsm_ioent, addr, 0);
DAT_RING_OFFSET(dat_rsm_ioent, offset, 8);
DAT_RING_OFFSET(dat_rsm_ioent, length, 16);
DAT_RING_OFFSET(dat_rsm_ioent, localmem, 24);
DAT_RING_OFFSET(dat_rsm_ioent, width, 28);
DAT_RING_ASSERT(sizeof(struct dat_rsm_io) == 48);
DAT_RING_OFFSET(dat_rsm_io, size, 0);
DAT_RING_OFFSET(dat_rsm_io, err, 4);
DAT_RING_OFFSET(dat_rsm_io, id, 8);
DAT_RING_OFFSET(dat_rsm_io, op, 12);
DAT_RING_OFFSET(dat_rsm_io, flags, 16);
DAT_RING_OFFSET(dat_rsm_io, count, 20);
DAT_RING_OFFSET(dat_rsm_io, entries, 24);
DAT_RING_OFFSET(dat_rsm_io, entry_size, 32);
DAT_RING_OFFSET(dat_rsm_io, rsvd, 36);
DAT_RING_OFFSET(dat_rsm_io, done, 40);
DAT_RING_OFFSET(dat_rsm_io, mapped, 44);
DAT_RING_ASSERT(sizeof(struct dat_rsm_post) == 16);
DAT_RING_OFFSET(dat_rsm_post, size, 0);
DAT_RING_OFFSET(dat_rsm_post, err, 4);
DAT_RING_OFFSET(dat_rsm_post, id, 8);
DAT_RING_OFFSET(dat_rsm_post, flags, 12);
DAT_RING_ASSERT(sizeof(struct dat_rsm_wait) == 24);
DAT_RING_OFFSET(dat_rsm_wait, size, 0);
DAT_RING_OFFSET(dat_rsm_wait, err, 4);
DAT_RING_OFFSET(dat_rsm_wait, id, 8);
DAT_RING_OFFSET(dat_rsm_wait, rsvd, 12);
DAT_RING_OFFSET(dat_rsm_wait, deadline_ns, 16);
DAT_RING_ASSERT(sizeof(struct dat_rsm_fd) == 16);
DAT_RING_OFFSET(dat_rsm_fd, size, 0);
DAT_RING_OFFSET(dat_rsm_fd, err, 4);
DAT_RING_OFFSET(dat_rsm_fd, id, 8);
DAT_RING_OFFSET(dat_rsm_fd, fd, 12);
DAT_RING_ASSERT(sizeof(struct dat_rsm_node) == 32);
DAT_RING_OFFSET(dat_rsm_node, node, 0);
DAT_RING_OFFSET(dat_rsm_node, ctlr, 4);
DAT_RING_OFFSET(dat_rsm_node, family, 8);
DAT_RING_OFFSET(dat_rsm_node, scope, 12);
DAT_RING_OFFSET(dat_rsm_node, addr, 16);
DAT_RING_ASSERT(sizeof(struct dat_rsm_nodes) == 40);
DAT_RING_OFFSET(dat_rsm_nodes, size, 0);
DAT_RING_OFFSET(dat_rsm_nodes, err, 4);
DAT_RING_OFFSET(dat_rsm_nodes, flags, 8);
DAT_RING_OFFSET(dat_rsm_nodes, local, 12);
DAT_RING_OFFSET(dat_rsm_nodes, list, 16);
DAT_RING_OFFSET(dat_rsm_nodes, count, 24);
DAT_RING_OFFSET(dat_rsm_nodes, entry_size, 28);
DAT_RING_OFFSET(dat_rsm_nodes, key, 32);
DAT_RING_OFFSET(dat_rsm_nodes, state, 36);
DAT_RING_ASSERT(sizeof(struct dat_rsm_link) == 24);
DAT_RING_OFFSET(dat_rsm_link, ctlr, 0);
DAT_RING_OFFSET(dat_rsm_link, node, 4);
DAT_RING_OFFSET(dat_rsm_link, flags, 8);
DAT_RING_OFFSET(dat_rsm_link, state, 12);
DAT_RING_OFFSET(dat_rsm_link, hwaddr, 16);
DAT_RING_ASSERT(sizeof(struct dat_rsm_topology) == 32);
DAT_RING_OFFSET(dat_rsm_topology, size, 0);
DAT_RING_OFFSET(dat_rsm_topology, err, 4);
DAT_RING_OFFSET(dat_rsm_topology, node, 8);
DAT_RING_OFFSET(dat_rsm_topology, count, 12);
DAT_RING_OFFSET(dat_rsm_topology, list, 16);
DAT_RING_OFFSET(dat_rsm_topology, entry_size, 24);
DAT_RING_OFFSET(dat_rsm_topology, rsvd, 28);
DAT_RING_ASSERT(sizeof(struct dat_rsm_entry) == 32);
DAT_RING_OFFSET(dat_rsm_entry, offset, 0);
DAT_RING_OFFSET(dat_rsm_entry, length, 8);
DAT_RING_OFFSET(dat_rsm_entry, data, 12);
DAT_RING_OFFSET(dat_rsm_entry, op, 16);
DAT_RING_OFFSET(dat_rsm_entry, rsvd, 20);
DAT_RING_ASSERT(sizeof(struct dat_rsm_submit) == 128);
DAT_RING_OFFSET(dat_rsm_submit, tail, 0);
DAT_RING_OFFSET(dat_rsm_submit, rsvd, 4);
DAT_RING_ASSERT(sizeof(struct dat_rsm_status) == 16);
DAT_RING_OFFSET(dat_rsm_status, done, 0);
DAT_RING_OFFSET(dat_rsm_status, flags, 4);
DAT_RING_OFFSET(dat_rsm_status, bad, 8);
DAT_RING_OFFSET(dat_rsm_status, rsvd, 12);
DAT_RING_ASSERT(sizeof(struct dat_rsm_ring) == 80);
DAT_RING_OFFSET(dat_rsm_ring, size, 0);
DAT_RING_OFFSET(dat_rsm_ring, err, 4);
DAT_RING_OFFSET(dat_rsm_ring, id, 8);
DAT_RING_OFFSET(dat_rsm_ring, rsvd, 12);
DAT_RING_OFFSET(dat_rsm_ring, entries, 16);
DAT_RING_OFFSET(dat_rsm_ring, chunk, 20);
DAT_RING_OFFSET(dat_rsm_ring, entry_offset, 24);
DAT_RING_OFFSET(dat_rsm_ring, entry_shift, 28);
DAT_RING_OFFSET(dat_rsm_ring, submit_offset, 32);
DAT_RING_OFFSET(dat_rsm_ring, submit_size, 40);
DAT_RING_OFFSET(dat_rsm_ring, status_offset, 48);
DAT_RING_OFFSET(dat_rsm_ring, status_size, 56);
DAT_RING_OFFSET(dat_rsm_ring, data_offset, 64);
DAT_RING_OFFSET(dat_rsm_ring, data_size, 72);
DAT_RING_ASSERT(sizeof(struct dat_rsm_kick) == 24);
DAT_RING_OFFSET(dat_rsm_kick, size, 0);
DAT_RING_OFFSET(dat_rsm_kick, err, 4);
DAT_RING_OFFSET(dat_rsm_kick, id, 8);
DAT_RING_OFFSET(dat_rsm_kick, index, 12);
DAT_RING_OFFSET(dat_rsm_kick, deadline_ns, 16);

#endif /* _UAPI_RDMA_DAT_RSM_H */
