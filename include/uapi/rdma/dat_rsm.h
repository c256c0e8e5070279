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
 *   ioctl                  @err
 *   --------------------   ----------------------------------------------------------
 *   returns 0              0; all results are valid
 *   fails with EREMOTEIO   error number, not 0; other results are valid only if the
 *                          comment of a field says so
 *   fails otherwise        not written
 *
 *   errno        means, if not EREMOTEIO
 *   ----------   --------------------------------------------------------------------
 *   ENOTTY       unknown ioctl number
 *   E2BIG        bytes of the structure that the kernel does not know are not 0, or the
 *                structure is larger than 4,096 bytes
 *   EINVAL       a size is too small; the call needs an earlier DAT_IOC_RSM_OPEN
 *   EFAULT       the argument itself is not accessible
 *   EOPNOTSUPP   the kernel does not know a flag or another value, or a field that must
 *                be 0 is not 0
 *   ENOPKG       DAT_IOC_RSM_NODES: the kernel has no hmac(sha256), which uses the key
 *   EINTR        a signal handler ran
 *
 * An argument may contain the address of an array.  @entry_size is the size of the array's entries
 * in bytes, as compiled into the caller.  This size may differ from the size that the kernel knows.
 * EINVAL: the size is smaller than in version 1.  E2BIG: the size is over 4,096 bytes, or an entry
 * contains bytes other than 0 that the kernel does not know.  In results, the kernel sets such
 * bytes to 0.  If the array has no entries, the kernel ignores @entry_size.
 *
 * Only DAT_IOC_RSM_CONNECT, DAT_IOC_RSM_WAIT and DAT_IOC_RSM_KICK return EINTR.  When a stop, a
 * freeze or a tracer interrupts one of these calls, the kernel restarts the call with the same
 * deadline.
 *
 * A call that fails has no effect.  The exception is DAT_IOC_RSM_IO with EREMOTEIO, which reports
 * its progress.  If the kernel cannot write the results to the argument, it frees new objects, but
 * does not undo a publication, a post, the consumption of an event, an open, or a change of the
 * node table.
 *
 * DAT_IOC_RSM_OPEN must precede all other calls except DAT_IOC_RSM_NODES, DAT_IOC_RSM_CTLR and
 * DAT_IOC_RSM_TOPOLOGY.  The file belongs to the address space that opened it.  Calls from
 * another address space fail with DAT_RSM_NOT_CREATOR.  When the address space ends, by exit or by
 * exec, all objects of the file end, even if other processes have the file open.
 *
 * The file also accepts three calls of <rdma/dat_ioctl.h>.  DAT_IOC_ABI works from any address
 * space.  After DAT_IOC_RSM_OPEN, DAT_IOC_POLLER_SET and DAT_IOC_POLLER_RUN control a poller for
 * the rings of all imports.  <rdma/dat_ioctl.h> describes the errno values of these calls.  The
 * poller calls also fail with EINVAL before DAT_IOC_RSM_OPEN, and with EPERM from another address
 * space.  Only DAT_IOC_POLLER_SET, a signal, or the end of the process ends a poller.
 *
 * A node is a network namespace.  A segment id is unique in a node.  An object id is unique in a
 * file.
 *
 * Mapped memory
 * =============
 *
 * The status page array (struct dat_rsm_slot, read-only) has a slot for each object.  If the
 * generation in the slot of an import differs from the generation that DAT_IOC_RSM_CONNECT
 * returned, the connection was cut.  Generations are not reused.
 *
 * One more slot, @mem_slot of DAT_IOC_RSM_OPEN, belongs to the address space.  If a system call
 * unmaps memory, makes memory inaccessible, or replaces memory, the kernel changes this slot's
 * generation before the system call returns.  The generation may also change at other times.  A
 * change of protection keys does not change the generation.
 *
 * DAT_IOC_RSM_IO reports whether the transferred memory is mapped.  The memory stays mapped as long
 * as the generation has the value that the process read before that call.
 *
 * DAT_IOC_RSM_CONNECT may return a window of the import.  The window is the memory of the segment.
 * A process can map the window shared, whole or in part, many times.  After a cut, the window shows
 * memory private to the import, and writes are lost.  Only the generation reports the cut.
 *
 * If a controller provides no windows, its imports have rings.  A ring has three regions.  A
 * process maps each region as a whole.
 *
 *   region   content                                          writer
 *   ------   -------                                          ------
 *   submit   struct dat_rsm_submit, struct dat_rsm_entry[]    the process
 *   status   struct dat_rsm_status                            the kernel; read-only
 *   data     data of puts and of gets                         process for puts, kernel for gets
 *
 * For a put, the process copies the data into the data area and writes an entry with the position
 * of the data.  Only the kernel knows the address and the key of the segment.  The kernel reads an
 * entry once and checks the copy against the import.
 *
 * Indices are free-running 32-bit counters.  With the results of DAT_IOC_RSM_RING, entry i is in
 * the submit region at "entry_offset + ((i & (entries - 1)) << entry_shift)".  Entries are executed
 * in order and complete in order.
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
 *   (A)/(D) release/acquire: if the kernel sees the new tail, it sees the whole entry and
 *       the data of a put.
 *   (B)/(E) store-barrier-load on both sides: the process sees NEED_KICK and calls the
 *       kernel, or the kernel sees the new tail, or both.
 *   (F)/(G) acquire/release: if the process sees that done is greater than the index of an
 *       entry, the data of a get are in the data area, and the data of a put may be overwritten.
 *
 * The process need not call the kernel while requests are in flight, because their completions
 * drain the ring.  Also, the process need not call the kernel while one of its threads is inside
 * DAT_IOC_POLLER_RUN and awake.
 */
#ifndef _UAPI_RDMA_DAT_RSM_H
#define _UAPI_RDMA_DAT_RSM_H

#include <rdma/dat_ioctl.h>

#define DAT_RSM_IOC_MAGIC	0xDB
#define DAT_RSM_CTLR_NAME	64	/* bytes, with the NUL */
#define DAT_RSM_LOOPBACK	0	/* always present */
/* Largest node id, and largest number of entries in an access list. */
#define DAT_RSM_MAX_NODE	64
#define DAT_RSM_MAX_IO		16	/* per DAT_IOC_RSM_IO */

/* Result of a call.  RSMERR_* in <rsmapi.h> have the same numbers. */
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

/* @flags of struct dat_rsm_connect, out.  SWAPPED: the exporter has the opposite byte order. */
#define DAT_RSM_SWAPPED		0x1

/* Permissions that an importer requests, in @perm of struct dat_rsm_connect. */
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
 * @generation: changes when the slot gets a new object, and when an import is cut
 * @pending: number of events of the object that have not been consumed
 */
struct dat_rsm_slot {
	__u32 generation;
	__u32 pending;
};

/**
 * struct dat_rsm_open - prepare a file for objects of RSM
 * @size: size of this structure, in bytes
 * @err: out: NO_MEM; BAD_CTLR the file is already prepared
 * @flags: 0; reserved for flags of later versions
 * @node: out: id of this node
 * @slots_offset: out: mmap() offset of the status page array
 * @slots_size: out: bytes of the status page array
 * @features: out: 0; reserved for features of later kernels
 * @nr_slots: out: maximum number of objects of the file; all their slots have indices below this
 *	number
 * @mem_slot: out: index of the address space's slot in the status page array
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
 * @size: size of this structure, in bytes
 * @err: out: CTLR_NOT_PRESENT
 * @ctlr: number of the controller: DAT_RSM_LOOPBACK, or 1, 2, ... for an adapter; an adapter that
 *	is removed and added again keeps its number
 * @name: out: NUL-terminated name: "loopback", or "rdmaN" for the adapter with number N + 1
 * @direct_sizes: out: bit n: a window can be accessed 2^n bytes at a time; 0: the controller
 *	provides no windows
 * @atomic_sizes: out: bit n: aligned transfers of 2^n bytes are not torn
 * @page_sizes: out: bit n: the controller supports pages of 2^n KiB
 * @max_exports: out: maximum number of segments of this node
 * @max_imports: out: maximum number of imports of this node
 * @max_export_size: out: maximum bytes of a segment; 0: no limit
 * @tot_export_size: out: maximum bytes of all segments; 0: no limit
 * @max_map_size: out: maximum bytes of a window; 0: no limit
 * @tot_map_size: out: maximum bytes of all windows; 0: no limit
 * @device: out: name of the adapter, as in struct dat_adapter; empty for loopback
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

/* @flags of struct dat_rsm_export.  A segment with DAT_RSM_LOCK_OPS cannot be published. */
#define DAT_RSM_REBINDABLE	0x1
#define DAT_RSM_DONT_WAIT	0x2
#define DAT_RSM_LOCK_OPS	0x4

/**
 * struct dat_rsm_export - make memory of the caller a segment
 * @size: size of this structure, in bytes
 * @err: out: CTLR_NOT_PRESENT; BAD_CONF @ctlr is an adapter, and this node neither has a cluster
 *	key nor trusts its peers (see struct dat_rsm_nodes), or the node does not trust its peers
 *	and @ctlr cannot deny a peer access before the peer's proof; BAD_ADDR the memory is not
 *	mapped; BAD_LENGTH @length is 0, over 1 TiB, or more than the adapter registers at once;
 *	BAD_ALIGNMENT @addr or @length is not a multiple of the page size; PERM_DENIED the memory is
 *	not writable; NO_MEM no memory, or the segment would exceed RLIMIT_MEMLOCK or the host's
 *	limit on exported memory; NO_RESOURCES too many segments
 * @ctlr: number of the controller
 * @flags: DAT_RSM_REBINDABLE, DAT_RSM_DONT_WAIT, DAT_RSM_LOCK_OPS
 * @addr: address of the first byte
 * @length: bytes of the segment
 * @id: out: id of the export
 * @slot: out: index of the export's slot in the status page array
 *
 * If the segment is published without an access list, the permissions are 0666 without the bits of
 * the caller's umask.
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
 * struct dat_rsm_rebind - replace the memory of a segment; importers need not connect again
 * @size: size of this structure, in bytes
 * @err: out: BAD_SEG; REBIND_NOT_ALLOWED; BAD_LENGTH @length is not the length of the segment;
 *	BAD_ADDR the new memory is not mapped or not page-aligned; PERM_DENIED and NO_MEM as for
 *	DAT_IOC_RSM_EXPORT
 * @id: id of the export
 * @rsvd: 0
 * @addr: address of the first byte of the new memory
 * @length: bytes of the segment
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
 * @perm: three octal digits: for the exporter's user, for the exporter's group, and for others; in
 *	a digit, 4 means read and 2 means write
 */
struct dat_rsm_access {
	__u32 node;
	__u32 perm;
};

/**
 * struct dat_rsm_publish - publish a segment, or replace its access list by DAT_IOC_RSM_REPUBLISH
 * @size: size of this structure, in bytes
 * @err: out: BAD_SEG; BAD_ACL; BAD_ADDR @list is not accessible; ALREADY_PUBLISHED; NOT_PUBLISHED
 *	(REPUBLISH); RESERVED_SEGID; SEGID_IN_USE; LOCKS_NOT_SUPPORTED; NO_MEM; NO_RESOURCES no
 *	automatic segment id is left
 * @id: id of the export
 * @segid: segment id; 0: the kernel chooses an id; out: the segment id.  REPUBLISH: 0
 * @list: address of an array of struct dat_rsm_access, the access list
 * @count: number of entries of @list; 0: all nodes may import, with permissions from the umask
 * @entry_size: bytes of an entry of @list
 * @key: 0; reserved for a key that importers of the segment must have
 * @auth: 0; reserved for the method by which importers prove that they have the key
 *
 * If @list has several entries for a node, the first entry counts.  REPUBLISH affects only later
 * imports.
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
 * @size: size of this structure, in bytes
 * @err: out: BAD_SEG, NOT_PUBLISHED
 * @id: id of the export
 * @rsvd: 0
 *
 * When the call returns, importers can no longer read or write the segment.
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
 * @size: size of this structure, in bytes
 * @err: out: CTLR_NOT_PRESENT the controller does not exist, or does not lead to @node;
 *	NOT_PUBLISHED; NOT_PUBLISHED_TO_NODE; PERM_DENIED; UNREACHABLE; NO_MEM; NO_RESOURCES too
 *	many imports, or the exporter had no place for the request for at least ten seconds;
 *	INTERRUPTED by a fatal signal; BAD_CONF @ctlr is an adapter, and this node and @node do not
 *	have the same cluster key, or @node does not export on its adapter any more (see struct
 *	dat_rsm_export)
 * @ctlr: number of the controller
 * @node: id of the node that exports the segment
 * @segid: segment id
 * @perm: DAT_RSM_READ, DAT_RSM_WRITE; 0: only post and receive events, for which the exporter must
 *	permit reading or writing
 * @id: out: id of the import
 * @slot: out: index of the import's slot in the status page array
 * @generation: out: generation of the slot while the import is connected
 * @flags: 0; out: DAT_RSM_SWAPPED
 * @length: out: bytes of the segment
 * @map_offset: out: mmap() offset of the window, 2^42 to 2^43; 0: the import has no window, because
 *	the controller provides no windows, or because this range has no room for the window
 * @key: 0; reserved for a key of the segment
 * @auth: 0; reserved for the method by which the caller proves that it has the key
 * @owner: out: effective user id of the process that exported the segment, as the exporter's kernel
 *	says; 0 if @owned is 0
 * @owned: out: 1 if @owner is valid; 0 if the exporter's kernel does not know this member, or the
 *	caller's user namespace does not have that user; not written if this kernel does not know it
 *
 * mmap() of a window fails with EOPNOTSUPP if @perm lacks DAT_RSM_READ, because no MMU has
 * write-only mappings; with EACCES if a writable mapping is requested and @perm lacks
 * DAT_RSM_WRITE; with ENODEV after a cut; and with ENOMEM if the window already has 1,024 mappings,
 * where a split mapping counts as two.
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
	__u32 owner;
	__u32 owned;
};

#define DAT_IOC_RSM_CONNECT	DAT_RSM_IOC(CONNECT)

/**
 * struct dat_rsm_localmem - lock memory of the caller for transfers
 * @size: size of this structure, in bytes
 * @err: out: CTLR_NOT_PRESENT; BAD_ADDR the memory is not mapped or not page-aligned; BAD_LENGTH
 *	@length is 0 or over 1 TiB; NO_MEM; NO_RESOURCES
 * @ctlr: number of the controller
 * @id: out: id of the local memory
 * @addr: address of the first byte
 * @length: bytes; the whole last page is locked
 *
 * Local memory that is read-only can be used only for puts.
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
 * @size: size of this structure, in bytes
 * @err: out: no such object: BAD_LOCALMEM if @type is DAT_RSM_TYPE_LOCALMEM, else BAD_SEG
 * @type: enum dat_rsm_type
 * @id: id of the object
 *
 * The call also unpublishes an export that is published.  When the call returns, transfers no
 * longer read or write the object's memory.
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
 * struct dat_rsm_ioent - an entry of DAT_IOC_RSM_IO, which describes one transfer
 * @addr: address of the caller's memory; with @localmem, offset in the local memory
 * @offset: offset in the segment
 * @length: bytes; 0: nothing is transferred
 * @localmem: id of local memory, or 0
 * @width: bytes of an element: 1, 2, 4 or 8; @offset and @length are multiples of @width.  An
 *	aligned element is not torn if the adapter writes aligned words as a whole
 */
struct dat_rsm_ioent {
	__u64 addr;
	__u64 offset;
	__u64 length;
	__u32 localmem;
	__u32 width;
};

/*
 * @flags of struct dat_rsm_io.  SIGPOST: post an event to the exporter after the last transfer.
 * NO_ACCUMULATE: post no event if the receiver has a pending event; struct dat_rsm_post has this
 * flag, too.  INTERRUPTIBLE: any signal, not only a fatal one, may end long transfers.
 */
#define DAT_RSM_SIGPOST		0x1
#define DAT_RSM_NO_ACCUMULATE	0x2
#define DAT_RSM_INTERRUPTIBLE	0x4

/**
 * struct dat_rsm_io - transfer data between a segment and the caller's memory, entry by entry
 * @size: size of this structure, in bytes
 * @err: out: BAD_SEG; BAD_SGIO @count or an entry is invalid; CONN_ABORTED; PERM_DENIED;
 *	BAD_LOCALMEM; BAD_OFFSET and BAD_LENGTH the transfer exceeds the segment or the local
 *	memory; BAD_ADDR the caller's memory is not accessible, or not writable for a get;
 *	BAD_ALIGNMENT; INTERRUPTED by a fatal signal, or by any signal with DAT_RSM_INTERRUPTIBLE
 * @id: id of the import
 * @op: enum dat_rsm_op
 * @flags: DAT_RSM_SIGPOST, DAT_RSM_NO_ACCUMULATE, DAT_RSM_INTERRUPTIBLE
 * @count: number of @entries, 1 to DAT_RSM_MAX_IO
 * @entries: address of an array of struct dat_rsm_ioent
 * @entry_size: bytes of an entry of @entries
 * @rsvd: 0
 * @done: out, also after an error: number of entries whose transfers are complete; the entry after
 *	these may have been transferred in part
 * @mapped: out: 1: the memory of all entries is mapped ordinary memory with the access that @op
 *	needs, local memory is still mapped where it was locked, and the total length fits in the
 *	data area of a ring.  0: a condition is false or was not checked
 *
 * If the imports of a controller have rings, a process needs this call only for memory that may be
 * invalid, and for transfers that do not fit in the ring.
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
 * @size: size of this structure, in bytes
 * @err: out: BAD_SEG, CONN_ABORTED
 * @id: id of an import or an export
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
 * struct dat_rsm_wait - wait until an event is pending, and consume one event
 * @size: size of this structure, in bytes
 * @err: out: BAD_SEG; TIMEOUT; CONN_ABORTED the import was cut, and no events are pending
 * @id: id of an import or an export
 * @rsvd: 0
 * @deadline_ns: time in ns of CLOCK_MONOTONIC until which to wait; DAT_RSM_FOREVER: no deadline; a
 *	time in the past: do not wait
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
 * struct dat_rsm_fd - get a file descriptor that poll() reports readable while events are pending
 * @size: size of this structure, in bytes
 * @err: out: BAD_SEG; NO_RESOURCES too many open files; NO_MEM
 * @id: id of an import or an export
 * @fd: out: file descriptor, which is closed on exec
 *
 * poll() reports POLLHUP after the object was freed or the import was cut.  Only DAT_IOC_RSM_WAIT
 * consumes events.  DAT_IOC_ABI works on the descriptor; all descriptors of an object have the same
 * number.
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
 * @ctlr: number, from 1, of the local controller that leads to the node; the controller need not
 *	exist
 * @family: AF_INET or AF_INET6
 * @scope: interface index for a link-local IPv6 address, else 0
 * @addr: IP address of the node's adapter, in network byte order; an IPv4 address is in the first 4
 *	bytes, and the other bytes are 0
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

/*
 * @state of struct dat_rsm_nodes.  KEYED: this node has a cluster key.  TRUSTS: this node sends no
 * proof of the cluster key to peers and requires no proof from peers.
 */
#define DAT_RSM_NODE_KEYED	0x1
#define DAT_RSM_NODE_TRUSTS	0x2

/**
 * struct dat_rsm_nodes - set this node's id, table, cluster key or trust; without flags, read them
 * @size: size of this structure, in bytes
 * @err: out: BAD_ADDR @list is not accessible; NO_MEM.  With flags also: PERM_DENIED the caller has
 *	no CAP_NET_ADMIN in the user namespace of the network namespace or, for DAT_RSM_NODES_KEY
 *	and DAT_RSM_NODES_TRUST, no CAP_SYS_ADMIN in the initial user namespace; BAD_CONF @count,
 *	@local, @key or an entry of @list is invalid, or @list has two entries for a node and a
 *	controller; ALREADY_PUBLISHED @local changes while exports or imports exist
 * @flags: DAT_RSM_NODES_TABLE: @list replaces the table.  DAT_RSM_NODES_LOCAL: @local becomes
 *	the id of this node.  If the call has both flags and fails, neither takes effect.
 *	DAT_RSM_NODES_KEY, without other flags: @key becomes the cluster key.
 *	DAT_RSM_NODES_TRUST, without other flags: DAT_RSM_NODE_TRUSTS of @state takes effect
 * @local: id of this node; out if @flags is 0; must be 0 if @flags is not 0 and has no
 *	DAT_RSM_NODES_LOCAL
 * @list: address of an array of struct dat_rsm_node; if @flags is 0, the kernel writes as many
 *	entries of the table as fit
 * @count: number of entries of @list; if @flags is 0, out: number of entries of the table
 * @entry_size: bytes of an entry of @list; like @list and @count, must be 0 if @flags is not 0 and
 *	has no DAT_RSM_NODES_TABLE
 * @key: with DAT_RSM_NODES_KEY: serial number of a key of type "logon" with the name "rsm:cluster"
 *	and a payload of 32 bytes or more, which the caller may search; or 0, which removes the
 *	cluster key.  Without DAT_RSM_NODES_KEY: 0
 * @state: DAT_RSM_NODE_*; out if @flags is 0.  The caller sets it to 0 unless @flags is
 *	DAT_RSM_NODES_TRUST
 *
 * EOPNOTSUPP: unknown flags or other combinations of flags, or a field that must be 0 is not 0.
 * ENOPKG: with DAT_RSM_NODES_KEY, the kernel cannot compute hmac(sha256).
 *
 * The driver holds a reference to the key.  A revoked or expired key counts as no key.  A
 * connection to a node does not end when the node is removed from the table.  The driver ignores an
 * entry for the local node, because it knows the addresses of the local adapters.
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

/* @flags of struct dat_rsm_link: the entry describes the controller itself, not a link to a node */
#define DAT_RSM_LINK_LOCAL	0x1

enum dat_rsm_link_state {
	DAT_RSM_LINK_DOWN	= 1,
	DAT_RSM_LINK_ACTIVE	= 3
};

/**
 * struct dat_rsm_link - a node to which a controller leads
 * @ctlr: number of the controller
 * @node: id of the node; with DAT_RSM_LINK_LOCAL, id of this node
 * @flags: 0 or DAT_RSM_LINK_LOCAL
 * @state: enum dat_rsm_link_state.  ACTIVE: the node's host answers, even if RSM refuses the
 *	request or the host has no listener.  Only DAT_IOC_RSM_CONNECT shows whether an import is
 *	permitted
 * @hwaddr: number derived from the IP address of the node's adapter, in host byte order: the IPv4
 *	address, or the lower half of the IPv6 address; 0: unknown
 */
struct dat_rsm_link {
	__u32 ctlr;
	__u32 node;
	__u32 flags;
	__u32 state;
	__u64 hwaddr;
};

/**
 * struct dat_rsm_topology - list the controllers, and the nodes to which the controllers lead
 * @size: size of this structure, in bytes
 * @err: out: BAD_ADDR @list is not accessible; NO_MEM; INTERRUPTED by a fatal signal
 * @node: out: id of this node
 * @count: number of entries of @list; out: number of links
 * @list: address of an array of struct dat_rsm_link.  If all links fit, the kernel writes for each
 *	adapter: an entry with DAT_RSM_LINK_LOCAL, a link to the local node, and links to the
 *	other nodes of the table
 * @entry_size: bytes of an entry of @list
 * @rsvd: 0
 *
 * If @count is 0, the call probes no nodes.  Otherwise the call probes all nodes, up to 512 nodes
 * in parallel.  512 probes take up to two seconds if a node is down, and up to four seconds if a
 * node accepts the request and then does not respond.
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

/* Values start at 1, so an entry of zeros is malformed.  FLUSH waits for all earlier puts. */
enum dat_rsm_ring_op {
	DAT_RSM_RING_PUT	= 1,
	DAT_RSM_RING_GET	= 2,
	DAT_RSM_RING_FLUSH	= 3
};

/**
 * struct dat_rsm_entry - an entry of a ring: a put, a get or a flush
 * @offset: offset in the segment; FLUSH: 0
 * @length: bytes, 1 to the ring's @chunk; FLUSH: 0
 * @data: offset in the data area; the data must be within one chunk; FLUSH: 0
 * @op: enum dat_rsm_ring_op
 * @rsvd: 0
 *
 * The kernel cuts the import if an entry is malformed, exceeds the segment, or needs a permission
 * that the import does not have.  The kernel also cuts the import if, according to the tail, more
 * entries are waiting than the ring has.
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
 * @tail: index after the last entry posted; the kernel writes the initial value
 * @rsvd: padding, so that the entries start in another cache line
 */
struct dat_rsm_submit {
	__u32 tail;
	__u32 rsvd[31];
};

#define DAT_RSM_NEED_KICK	0x1

/**
 * struct dat_rsm_status - status region, written by the kernel
 * @done: index after the last entry that has completed without an error
 * @flags: DAT_RSM_NEED_KICK: the process must call DAT_IOC_RSM_KICK after the next entry
 * @bad: 1 if the process wrote an invalid entry or tail, which has cut the import; else 0
 * @rsvd: 0
 */
struct dat_rsm_status {
	__u32 done;
	__u32 flags;
	__u32 bad;
	__u32 rsvd;
};

/**
 * struct dat_rsm_ring - create the ring of an import, or describe the existing ring
 * @size: size of this structure, in bytes
 * @err: out: BAD_SEG; BAD_CTLR the imports of the controller have no rings; CONN_ABORTED; NO_MEM;
 *	NO_RESOURCES
 * @id: id of the import
 * @rsvd: 0
 * @entries: out: number of entries, a power of two
 * @chunk: out: bytes of a chunk, a power of two; the data of an entry must not cross a multiple of
 *	@chunk in the data area
 * @entry_offset: out: offset of the first entry in the submit region
 * @entry_shift: out: entries are 2^entry_shift bytes apart, which is at least the size of struct
 *	dat_rsm_entry; the bytes between entries must stay 0
 * @submit_offset: out: mmap() offset of the submit region
 * @submit_size: out: bytes of the submit region
 * @status_offset: out: mmap() offset of the status region, which can only be mapped read-only
 * @status_size: out: bytes of the status region
 * @data_offset: out: mmap() offset of the data area
 * @data_size: out: bytes of the data area
 *
 * Mapped pages of the ring stay mapped when the import ends, but the kernel no longer reads them.
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
 * struct dat_rsm_kick - make the kernel take the entries of a ring, and wait for one entry
 * @size: size of this structure, in bytes
 * @err: out: BAD_SEG; BAD_CTLR the import has no ring; CONN_ABORTED; TIMEOUT
 * @id: id of the import
 * @index: index of the entry to wait for; the wait ends when (int)(done - index) > 0
 * @deadline_ns: time in ns of CLOCK_MONOTONIC until which to wait; DAT_RSM_FOREVER: no deadline; a
 *	time in the past: do not wait
 */
struct dat_rsm_kick {
	__u32 size;
	__u32 err;
	__u32 id;
	__u32 index;
	__u64 deadline_ns;
};

#define DAT_IOC_RSM_KICK	DAT_RSM_IOC(KICK)

/* The layout is part of the ABI: if a member moves, these assertions fail to compile. */
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
DAT_RING_ASSERT(sizeof(struct dat_rsm_connect) == 72);
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
DAT_RING_OFFSET(dat_rsm_connect, owner, 64);
DAT_RING_OFFSET(dat_rsm_connect, owned, 68);
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
